#pragma once
// What a hand holds of position-based bodies: compliant constraints of each sweep.
#include <span>
#include <vector>

#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// A grasp draws its particle to a target by a spring k = m w^2 with the damping 2 m w, as the constraint
/// C = x - target of compliance 1 / k; target and particle move through the step.
class PbdGrasps {
 public:
  /// For the next step.
  void take(std::span<const Grasp> grasps) { grasps_.assign(grasps.begin(), grasps.end()); }
  void clear() { grasps_.clear(); }
  bool empty() const { return grasps_.empty(); }
  /// Before the sweeps of the substep of h [s] that goes from part f0 to part f1 of the step: particles go
  /// where springs lead them by themselves, and are as heavy in it as these make them. places [N], which
  /// began it at gone [N]; x0 [N] m where ways are counted from.
  void hold(std::span<detail::Place> places, std::span<const Vec3> gone, std::span<const Vec3> x0, Real f0,
            Real f1, Real h);

 private:
  std::vector<Grasp> grasps_;
};

}  // namespace plenum::inline PLENUM_ABI
