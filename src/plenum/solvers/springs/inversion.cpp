// Tetrahedra of soft bodies stay the right way out. A spring does not know on which side of a face its
// particle is, so a lattice that is hit hard would be pushed through itself and rest there. Source: the
// volume constraint of Mueller et al. 2007, "Position based dynamics", section 3.3, as an inequality.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t block = 4096;

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

}  // namespace

std::size_t undo_inversion(const Springs::Model& model, Springs::State& state, SpringsWorkspace& w) {
  const std::size_t n = model.tetrahedra.size();
  auto& x = state.particles.x;
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  w.flat.resize(n);
  parallel_for(n, block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      w.flat[k] = volume_of(x, model.tetrahedra[k]).value < least_volume * model.rest_volume[k];
  });
  w.inverted.clear();
  for (std::size_t k = 0; k < n; ++k)
    if (w.flat[k]) w.inverted.push_back(static_cast<Index>(k));
  // They share particles, so one after the other, in their order; few are flat at a time.
  constexpr int sweeps = 8;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    bool moved = false;
    for (const Index k : w.inverted) {
      const Index4& t = model.tetrahedra[std::size_t(k)];
      const Volume volume = volume_of(x, t);
      const Real lacking = least_volume * model.rest_volume[std::size_t(k)] - volume.value;
      if (!(lacking > 0)) continue;
      Real response = 0, closing = 0;
      for (int c = 0; c < 4; ++c) {
        response += inverse_mass[std::size_t(t[c])] * volume.gradient[c].squaredNorm();
        closing += volume.gradient[c].dot(v[std::size_t(t[c])]);
      }
      // A tetrahedron squeezed to a line or point has no gradient: its springs open it.
      const Real edge = std::cbrt(model.rest_volume[std::size_t(k)]);
      const Real tiny = Real(1e-4) * edge * edge * edge * edge;
      Real heaviest = 0;
      for (int c = 0; c < 4; ++c) heaviest = std::max(heaviest, inverse_mass[std::size_t(t[c])]);
      if (!(response > tiny * heaviest) || heaviest == 0) continue;
      // Positions by no more than a fifth of an edge a sweep; velocities only as far as they close it, so
      // that it does not spring open. Both are along the gradients over the masses, which keeps momentum and
      // angular momentum.
      Real longest = 0;
      for (int c = 0; c < 4; ++c)
        longest = std::max(longest, inverse_mass[std::size_t(t[c])] * volume.gradient[c].norm());
      const Real push = std::min(lacking / response, Real(0.2) * edge / longest);
      const Real brake = std::max(Real(0), -closing) / response;
      for (int c = 0; c < 4; ++c) {
        const std::size_t i = std::size_t(t[c]);
        const Vec3 along = inverse_mass[i] * volume.gradient[c];
        x[i] += push * along;
        v[i] += brake * along;
      }
      moved = true;
    }
    if (!moved) break;
  }
  return w.inverted.size();
}

}  // namespace plenum::inline PLENUM_ABI
