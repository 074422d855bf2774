// Least volumes of tetrahedra: which are flat, what they resist with, and their share of linear steps.
#include "plenum/solvers/springs/detail/least_volumes.h"

#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <utility>

#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

struct Volume {
  Real value;        ///< [m^3] with its sign
  Vec3 gradient[4];  ///< [m^2] with respect to the corners
};

/// V = (x1 - x0) . (x2 - x0) x (x3 - x0) / 6 and its gradients, which sum to zero.
Volume volume_of(std::span<const Vec3> x, const Index4& t) {
  const Vec3 a = x[t[1]] - x[t[0]], b = x[t[2]] - x[t[0]], c = x[t[3]] - x[t[0]];
  Volume v;
  v.gradient[1] = b.cross(c) / 6;
  v.gradient[2] = c.cross(a) / 6;
  v.gradient[3] = a.cross(b) / 6;
  v.gradient[0] = -(v.gradient[1] + v.gradient[2] + v.gradient[3]);
  v.value = a.dot(v.gradient[1]);
  return v;
}

Real volume_alone(const Vec3& x0, const Vec3& x1, const Vec3& x2, const Vec3& x3) {
  return (x1 - x0).dot((x2 - x0).cross(x3 - x0)) / 6;
}

}  // namespace

void LeastVolumes::lay_out(const Springs::Model& model) {
  all_.clear();
  const auto between = [](Index a, Index b) { return std::pair(std::min(a, b), std::max(a, b)); };
  std::vector<std::pair<std::pair<Index, Index>, std::size_t>> springs;
  if (!model.tetrahedra.empty()) springs.reserve(model.edges.size());
  if (!model.tetrahedra.empty())
    for (std::size_t e = 0; e < model.edges.size(); ++e)
      springs.emplace_back(between(model.edges[e][0], model.edges[e][1]), e);
  std::sort(springs.begin(), springs.end());
  for (std::size_t k = 0; k < model.tetrahedra.size(); ++k) {
    const Index4& t = model.tetrahedra[k];
    double stiffness = 0;
    double square[4][4] = {};  // of rest lengths
    bool whole = true;
    for (int a = 0; a < 4; ++a)
      for (int b = a + 1; b < 4; ++b) {
        const auto pair = between(t[a], t[b]);
        const auto at = std::lower_bound(springs.begin(), springs.end(), std::pair(pair, std::size_t(0)));
        whole = whole && at != springs.end() && at->first == pair;
        if (!whole) continue;
        stiffness += double(model.stiffness[at->second]) / 6;
        square[a][b] = square[b][a] = std::pow(double(model.rest_length[at->second]), 2);
      }
    if (!whole) continue;
    // |grad V| of a corner is a third of the area A of the face across; 16 A^2 by Heron's formula.
    double gradients = 0;
    for (int c = 0; c < 4; ++c) {
      const double p = square[(c + 1) % 4][(c + 2) % 4], q = square[(c + 2) % 4][(c + 3) % 4],
                   r = square[(c + 3) % 4][(c + 1) % 4];
      gradients += (2 * (p * q + q * r + r * p) - p * p - q * q - r * r) / (16 * 9 * 4);
    }
    if (!(gradients > 0)) continue;
    all_.push_back({t, least_volume * model.rest_volume[k], static_cast<Real>(3 * stiffness / gradients),
                    static_cast<Real>(gradients)});
  }
  flat_.resize(all_.size());
  found_.clear();
  terms_.clear();
  found_.reserve(all_.size());
  terms_.reserve(all_.size());
}

void LeastVolumes::find(std::span<const Vec3> x, std::span<const Vec3> v, Real h) {
  found_.clear();
  if (all_.empty() || !(scale_ > 0)) return;
  parallel_for(all_.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Index4& t = all_[k].corners;
      const Vec3 &x0 = x[t[0]], &x1 = x[t[1]], &x2 = x[t[2]], &x3 = x[t[3]];
      flat_[k] = volume_alone(x0, x1, x2, x3) < all_[k].least;
      if (!v.empty() && !flat_[k])
        flat_[k] = volume_alone(x0 + h * v[t[0]], x1 + h * v[t[1]], x2 + h * v[t[2]], x3 + h * v[t[3]]) <
                   all_[k].least;
    }
  });
  for (std::size_t k = 0; k < all_.size(); ++k)
    if (flat_[k]) found_.push_back(static_cast<Index>(k));
}

double LeastVolumes::energy(std::span<const Vec3> x) const {
  double sum = 0;
  for (const Index k : found_) {
    const Tetrahedron& tet = all_[std::size_t(k)];
    const Index4& t = tet.corners;
    const double volume = double(volume_alone(x[t[0]], x[t[1]], x[t[2]], x[t[3]]));
    const double lacking = std::max(0.0, double(tet.least) - volume);
    sum += 0.5 * double(scale_ * tet.stiffness) * lacking * lacking;
  }
  return sum;
}

void LeastVolumes::add_forces(std::span<const Vec3> x, std::span<Vec3> f) const {
  for (const Index k : found_) {
    const Tetrahedron& tet = all_[std::size_t(k)];
    const Volume volume = volume_of(x, tet.corners);
    const Real push = scale_ * tet.stiffness * std::max(Real(0), tet.least - volume.value);
    for (int c = 0; c < 4; ++c) f[std::size_t(tet.corners[c])] += push * volume.gradient[c];
  }
}

void LeastVolumes::assemble(std::span<const Vec3> x, std::span<const Vec3> v, Real h, Real limit,
                            SpringSystem<Real>::Matrix& matrix, std::span<Vec3> b) {
  terms_.clear();
  for (const Index k : found_) {
    const Tetrahedron& tet = all_[std::size_t(k)];
    const Volume volume = volume_of(x, tet.corners);
    const Real lacking = std::max(Real(0), tet.least - volume.value);
    Real kappa = std::min(scale_ * tet.stiffness, limit / tet.gradient_square);
    const Real push = kappa * lacking;
    Real closing = 0;  // [m^3] in the step, as velocities stand
    if (!b.empty())
      for (int c = 0; c < 4; ++c) closing -= h * volume.gradient[c].dot(v[std::size_t(tet.corners[c])]);
    if (!(lacking > 0)) {
      // One that is to become flat resists all the way there, with the force that is due at its end. So it
      // takes energy and never pulls, even where something else stops it.
      const Real past = closing + tet.least - volume.value;
      if (!(past > 0)) continue;
      kappa *= past / closing;
    }
    Term term{tet.corners, {}, h * h * kappa};
    for (int c = 0; c < 4; ++c) {
      const Vec3& g = term.gradient[c] = volume.gradient[c];
      matrix.add_diagonal(term.corners[c], term.stiffness * g * g.transpose());
      if (!b.empty()) b[std::size_t(term.corners[c])] += h * (push + kappa * closing) * g;
    }
    terms_.push_back(term);
  }
}

void LeastVolumes::add_product(Real sign, std::span<const Vec3> x, std::span<Vec3> y) const {
  for (const Term& term : terms_) {
    Real along[4];
    for (int c = 0; c < 4; ++c) along[c] = term.gradient[c].dot(x[std::size_t(term.corners[c])]);
    const Real s = sign * term.stiffness, sum = along[0] + along[1] + along[2] + along[3];
    for (int c = 0; c < 4; ++c) y[std::size_t(term.corners[c])] += s * (sum - along[c]) * term.gradient[c];
  }
}

double LeastVolumes::frequency_bound(std::span<const Vec3> x, std::span<const Real> inverse_mass,
                                     std::span<Real> scratch) const {
  if (found_.empty()) return 0;
  std::fill(scratch.begin(), scratch.end(), Real(0));
  // Each tetrahedron takes of its corners' masses the share of stiffness that it has there, as springs do in
  // Springs::update(). E'' grad V grad V^T has |grad V|^2 of a corner, and -E' Hess V, whose blocks are cross
  // products by edges over 6, no more than half of the longest edge.
  for (const Index k : found_) {
    const Tetrahedron& tet = all_[std::size_t(k)];
    const Volume volume = volume_of(x, tet.corners);
    const Real kappa = scale_ * tet.stiffness;
    Real longest = 0;
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < a; ++b)
        longest = std::max(longest, (x[std::size_t(tet.corners[a])] - x[std::size_t(tet.corners[b])]).norm());
    const Real turning = std::max(Real(0), tet.least - volume.value) * longest / 2;
    for (int c = 0; c < 4; ++c)
      scratch[std::size_t(tet.corners[c])] += kappa * (volume.gradient[c].squaredNorm() + turning);
  }
  double highest = 0;
  for (const Index k : found_) {
    double sum = 0;
    for (const Index i : all_[std::size_t(k)].corners)
      sum += double(scratch[std::size_t(i)]) * double(inverse_mass[std::size_t(i)]);
    highest = std::max(highest, sum);
  }
  return highest;
}

void NetMatrix::operator()(std::span<const Real> x, std::span<Real> y) const {
  matrix_(x, y);
  if (volumes_.has_terms()) volumes_.add_product(1, as_vectors(x), as_vectors(y));
}

double NetMatrix::apply_dot(std::span<const Real> x, std::span<Real> y) const {
  if (!volumes_.has_terms()) return matrix_.apply_dot(x, y);
  (*this)(x, y);
  return dot<Real>(x, y);
}

void NetMatrix::residual(std::span<const Real> b, std::span<const Real> x, std::span<Real> r) const {
  matrix_.residual(b, x, r);
  if (volumes_.has_terms()) volumes_.add_product(-1, as_vectors(x), as_vectors(r));
}

}  // namespace plenum::inline PLENUM_ABI
