#pragma once
// Particles on solids, for one step.
#include <span>
#include <vector>

#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

class PbdSupports {
 public:
  bool empty() const { return supports_.empty(); }
  /// Supports in order of their samples, to be filled in; they must live until the step ends.
  void take(std::span<Support> offered);
  /// Ways are counted from `shift` [N] m farther on, and time from `since` [s] later.
  void count_anew(std::span<const Vec3> shift, Real since);
  void begin_substep();
  /// Puts what is beyond its planes back and takes what friction can of what has slid. places [N]; gone [N]
  /// m: where the substep of h [s] began; since [s]: from where ways are counted to the end of the substep;
  /// rests [N], or none: what bears whom, to be filled in, and what others have pressed onto it.
  void hold(std::span<detail::Place> places, std::span<const Vec3> gone, Real since, Real h,
            std::span<PbdRest> rests);
  /// At the end of a substep: books its impulses, and gives v [N] m/s back what was `before` it, times the
  /// restitution, where it struck.
  void bounce(std::vector<Vec3>& v, std::span<const Vec3> before, std::span<const Real> inverse_mass, Real h);

 private:
  std::span<Support> supports_;
  std::vector<Real> gaps_;    ///< [S] m where ways are counted from
  std::vector<Real> pushed_;  ///< [S] m along the normals, in the substep
  std::vector<Vec3> rubbed_;  ///< [S] m across them
};

}  // namespace plenum::inline PLENUM_ABI
