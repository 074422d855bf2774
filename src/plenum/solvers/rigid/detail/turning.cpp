#include "plenum/solvers/rigid/detail/turning.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plenum/integrate/free_rotation.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using namespace free_rotation;

typedef double Lanes __attribute__((vector_size(TurningBatch::lanes * sizeof(double))));

template <std::size_t n>
std::array<Lanes, n> load(const std::array<std::array<double, TurningBatch::lanes>, n>& from) {
  std::array<Lanes, n> to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
template <std::size_t n>
void store(const std::array<Lanes, n>& from, std::array<std::array<double, TurningBatch::lanes>, n>& to) {
  std::memcpy(&to, &from, sizeof to);
}

Lanes inverse_root(const Lanes& a) {
  std::array<double, TurningBatch::lanes> numbers;
  std::memcpy(&numbers, &a, sizeof a);
  for (double& r : numbers) r = 1 / std::sqrt(r);
  Lanes root;
  std::memcpy(&root, &numbers, sizeof a);
  return root;
}

void make_unit(std::array<Lanes, 4>& q) {
  const Lanes scale = inverse_root(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (Lanes& c : q) c *= scale;
}

}  // namespace

void TurningBatch::add(Index i, const Vec4& q, const Vec3& inertia, const Vec3& w) {
  const std::size_t lane = size_++;
  body_[lane] = i;
  for (std::size_t c = 0; c < 4; ++c) q_[c][lane] = double(q[Eigen::Index(c)]);
  for (std::size_t c = 0; c < 3; ++c) {
    inertia_[c][lane] = double(inertia[Eigen::Index(c)]);
    w_[c][lane] = double(w[Eigen::Index(c)]);
  }
}

/// Empty lanes do as the first.
void TurningBatch::fill_up() {
  for (std::size_t lane = size_; lane < lanes; ++lane) {
    for (Numbers& q : q_) q[lane] = q[0];
    for (Numbers& i : inertia_) i[lane] = i[0];
    for (Numbers& w : w_) w[lane] = w[0];
  }
}

void TurningBatch::turn_evenly(Real h) {
  fill_up();
  const std::array<Lanes, 4> q = load(q_);
  std::array<Lanes, 3> by = load(w_);
  for (Lanes& c : by) c *= double(h);
  const Lanes x = 0.25 * (by[0] * by[0] + by[1] * by[1] + by[2] * by[2]);
  Lanes cosine = cosine_of_half<Lanes>(x), sine = sine_of_half<Lanes>(x);
  for (std::size_t lane = 0; lane < size_; ++lane) {
    if (x[lane] < small_turn) continue;
    const double half = std::sqrt(x[lane]);
    cosine[lane] = std::cos(half), sine[lane] = std::sin(half) / (2 * half);
  }
  const Three<Lanes> s{sine * by[0], sine * by[1], sine * by[2]}, u{q[0], q[1], q[2]},
      across = free_rotation::cross<Lanes>(s, u);
  std::array<Lanes, 4> turned;
  for (std::size_t c = 0; c < 3; ++c) turned[c] = cosine * u[c] + q[3] * s[c] + across[c];
  turned[3] = cosine * q[3] - (s[0] * u[0] + s[1] * u[1] + s[2] * u[2]);
  make_unit(turned);
  store(turned, q_);
}

void TurningBatch::turn(Real h) {
  fill_up();
  std::array<Lanes, 4> q = load(q_);
  const std::array<Lanes, 3> inertia = load(inertia_), w = load(w_);
  make_unit(q);
  const Three<Lanes> momentum = applied<Lanes>(q, inertia, w);
  const Lanes square = momentum[0] * momentum[0] + momentum[1] * momentum[1] + momentum[2] * momentum[2];
  Three<Lanes> inverse;
  Numbers steps;
  std::array<int, lanes> parts;
  int most = 1;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const double least = std::min({inertia_[0][lane], inertia_[1][lane], inertia_[2][lane]});
    parts[lane] = parts_of(double(h), std::sqrt(square[lane]) / least);
    most = std::max(most, parts[lane]);
    steps[lane] = double(h) / parts[lane];
  }
  Lanes step;
  std::memcpy(&step, &steps, sizeof step);
  for (std::size_t c = 0; c < 3; ++c) inverse[c] = 1.0 / inertia[c];
  const Three<Lanes> half_inverse{0.5 * inverse[0], 0.5 * inverse[1], 0.5 * inverse[2]};
  for (int k = 0; k < most; ++k) {
    const std::array<Lanes, 4> before = q;
    turn_part<Lanes>(q, momentum, half_inverse, step, 0.5 * step, step * (1.0 / 6));
    make_unit(q);
    // Those that have arrived stay.
    if (k > 0)
      for (std::size_t lane = 0; lane < lanes; ++lane)
        if (k >= parts[lane])
          for (std::size_t c = 0; c < 4; ++c) q[c][lane] = before[c][lane];
  }
  store(q, q_);
  store(applied<Lanes>(q, inverse, momentum), w_);
}

Vec4 TurningBatch::attitude(std::size_t lane) const {
  return Vec4(Real(q_[0][lane]), Real(q_[1][lane]), Real(q_[2][lane]), Real(q_[3][lane]));
}

Vec3 TurningBatch::velocity(std::size_t lane) const {
  return Vec3(Real(w_[0][lane]), Real(w_[1][lane]), Real(w_[2][lane]));
}

}}  // namespace plenum::PLENUM_ABI::detail
