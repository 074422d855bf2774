#pragma once
// Volumes that closed surfaces enclose, each kept by one constraint.
//
// C = V - k V0, k the inflation, with V = sum over triangles of x0 . (x1 x x2) / 6 and grad_i C the sum over
// the triangles at i of x_j x x_k / 6. Source: Mueller, Heidelberger, Hennix & Ratcliff 2007, "Position based
// dynamics", section 4.4 (cloth balloons); compliance as in XPBD. The gradients sum to zero, as do x_i cross
// grad_i C: what it encloses neither pushes nor turns a balloon.
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/solvers/pbd/detail/packs.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

class PbdEnclosures {
 public:
  /// Multipliers [J/m^3 s^2] are zero as a substep begins.
  void reset(const Pbd::Model& model) { multipliers_.assign(model.enclosures.size(), 0); }
  /// places [N] since the step began at x0 [N] m; incident: triangles of each particle.
  void project(const Pbd::Model& model, std::span<detail::Place> places, std::span<const Vec3> x0,
               const Rows& incident, Real inflation, const detail::Projection& how);

 private:
  std::vector<double> multipliers_;
  std::vector<Vec3> gradient_;  ///< [N] m^2, of one enclosure
};

/// [m^3] The volume that an enclosure has at x [N] m.
double enclosed_volume(const Pbd::Model& model, const Pbd::Model::Enclosure& enclosure,
                       std::span<const Vec3> x);

}  // namespace plenum::inline PLENUM_ABI
