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
/// Rounds to Real.
template <std::size_t n>
void store(const std::array<Lanes, n>& from, std::array<std::array<Real, TurningBatch::lanes>, n>& to) {
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t l = 0; l < TurningBatch::lanes; ++l) to[c][l] = Real(from[c][l]);
}

Lanes inverse_root(const Lanes& a) {
  std::array<double, TurningBatch::lanes> numbers;
  std::memcpy(&numbers, &a, sizeof a);
  for (double& r : numbers) r = 1 / std::sqrt(r);
  Lanes root;
  std::memcpy(&root, &numbers, sizeof a);
  return root;
}

[[gnu::always_inline]] inline void make_unit(std::array<Lanes, 4>& q) {
  const Lanes scale = inverse_root(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (Lanes& c : q) c *= scale;
}

/// a b of quaternions x y z w.
[[gnu::always_inline]] inline std::array<Lanes, 4> product(const std::array<Lanes, 4>& a,
                                                           const std::array<Lanes, 4>& b) {
  const Three<Lanes> u{a[0], a[1], a[2]}, v{b[0], b[1], b[2]}, across = free_rotation::cross<Lanes>(u, v);
  std::array<Lanes, 4> c;
  for (std::size_t k = 0; k < 3; ++k) c[k] = a[3] * v[k] + b[3] * u[k] + across[k];
  c[3] = a[3] * b[3] - (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]);
  return c;
}

/// The unit quaternions of the rotation vectors `by` [rad], of the first `size` lanes.
[[gnu::always_inline]] inline std::array<Lanes, 4> rotation_by(const Three<Lanes>& by, std::size_t size) {
  const Lanes x = 0.25 * (by[0] * by[0] + by[1] * by[1] + by[2] * by[2]);
  Lanes cosine = cosine_of_half<Lanes>(x), sine = sine_of_half<Lanes>(x);
  for (std::size_t lane = 0; lane < size; ++lane) {
    if (x[lane] < small_turn) continue;
    const double half = std::sqrt(x[lane]);
    cosine[lane] = std::cos(half), sine[lane] = std::sin(half) / (2 * half);
  }
  return {sine * by[0], sine * by[1], sine * by[2], cosine};
}

/// R diag(d) R^T of unit quaternions: xx yy zz xy xz yz.
[[gnu::always_inline]] inline std::array<Lanes, 6> in_the_world(const std::array<Lanes, 4>& q,
                                                                const Three<Lanes>& d) {
  const auto& [x, y, z, w] = q;
  const Lanes r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                         {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                         {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
  const auto entry = [&](int i, int j) {
    return r[i][0] * r[j][0] * d[0] + r[i][1] * r[j][1] * d[1] + r[i][2] * r[j][2] * d[2];
  };
  return {entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)};
}

[[gnu::always_inline]] inline std::array<Lanes, 4> conjugate(const std::array<Lanes, 4>& q) {
  return {-q[0], -q[1], -q[2], q[3]};
}

}  // namespace

void TurningBatch::add(Index i, const Vec4& q, const Vec4& from, const Vec3& inertia, const Vec3& w) {
  const std::size_t lane = size_++;
  body_[lane] = i;
  for (std::size_t c = 0; c < 4; ++c) {
    q_[c][lane] = double(q[Eigen::Index(c)]);
    from_[c][lane] = double(from[Eigen::Index(c)]);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    inertia_[c][lane] = double(inertia[Eigen::Index(c)]);
    w_[c][lane] = double(w[Eigen::Index(c)]);
  }
}

/// Empty lanes do as the first.
void TurningBatch::fill_up() {
  for (std::size_t lane = size_; lane < lanes; ++lane) {
    for (Numbers& q : q_) q[lane] = q[0];
    for (Numbers& q : from_) q[lane] = q[0];
    for (Numbers& i : inertia_) i[lane] = i[0];
    for (Numbers& w : w_) w[lane] = w[0];
  }
}

void TurningBatch::turn_evenly(Real h) {
  fill_up();
  const std::array<Lanes, 3> w = load(w_);
  std::array<Lanes, 4> q =
      product(rotation_by({double(h) * w[0], double(h) * w[1], double(h) * w[2]}, size_), load(q_));
  make_unit(q);
  store(q, attitude_);
  store(w, velocity_);
  store(product(q, conjugate(load(from_))), turned_);
}

void TurningBatch::turn_about_axes(Real h) {
  fill_up();
  std::array<Lanes, 4> q = load(q_);
  const std::array<Lanes, 3> inertia = load(inertia_);
  make_unit(q);
  const Three<Lanes> momentum = applied<Lanes>(q, inertia, load(w_));
  // The axis is that of the moment which is farthest from the mean of the other two.
  Three<Lanes> axis;
  Lanes transverse, axial;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const double i[3] = {inertia_[0][lane], inertia_[1][lane], inertia_[2][lane]};
    const double apart[3] = {std::abs(i[1] - i[2]), std::abs(i[2] - i[0]), std::abs(i[0] - i[1])};
    const int k = int(std::min_element(apart, apart + 3) - apart);
    for (int c = 0; c < 3; ++c) axis[std::size_t(c)][lane] = c == k;
    transverse[lane] = 2 / (i[(k + 1) % 3] + i[(k + 2) % 3]);
    axial[lane] = 1 / i[k] - transverse[lane];
  }
  // L . u stays; the body turns about u, and u about L, both evenly.
  Three<Lanes> u = turned_by<Lanes>(q, axis);
  const Lanes along = axial * (momentum[0] * u[0] + momentum[1] * u[1] + momentum[2] * u[2]);
  const auto by = [&](const Lanes& rate, const Three<Lanes>& a) {
    const Lanes angle = double(h) * rate;
    return rotation_by({angle * a[0], angle * a[1], angle * a[2]}, size_);
  };
  q = product(by(transverse, momentum), product(by(along, u), q));
  make_unit(q);
  u = turned_by<Lanes>(q, axis);
  store(q, attitude_);
  store({transverse * momentum[0] + along * u[0], transverse * momentum[1] + along * u[1],
         transverse * momentum[2] + along * u[2]},
        velocity_);
  store(product(q, conjugate(load(from_))), turned_);
  store(in_the_world(q, {1.0 / inertia[0], 1.0 / inertia[1], 1.0 / inertia[2]}), inverse_);
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
  store(q, attitude_);
  store(applied<Lanes>(q, inverse, momentum), velocity_);
  store(product(q, conjugate(load(from_))), turned_);
  store(in_the_world(q, inverse), inverse_);
}

}}  // namespace plenum::PLENUM_ABI::detail
