#pragma once
// Particles on solids, for one step.
#include <span>
#include <vector>

#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// What does not yield is where it goes. A free body is as heavy to each particle as its share of it, and
/// goes on in the next substep by what all have given: offered as if it could not be stopped for a step, a
/// crate of half a kilogram that was put onto jelly was flung 70 m. It begins without the speed that gravity
/// gives it in the step, and gets that substep by substep, as the particles do, so that what it lies on does
/// not feel steps.
class PbdSupports {
 public:
  bool empty() const { return supports_.empty(); }
  /// Supports in order of their samples, to be filled in; they must live until the step of dt [s] ends.
  void take(std::span<Support> offered, const Vec3& gravity = Vec3::Zero(), Real dt = 0);
  /// Ways are counted from `shift` [N] m farther on, and time from `since` [s] later.
  void count_anew(std::span<const Vec3> shift, Real since);
  /// places [N]: where particles of the substep of h [s] go by themselves; since: as of hold().
  void begin_substep(std::span<const detail::Place> places, const Vec3& gravity, Real since, Real h);
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
  /// A body that yields.
  struct Group {
    Vec3 way = Vec3::Zero(), velocity = Vec3::Zero();  ///< [m], [m/s] besides what its supports say
    Vec3 given = Vec3::Zero();                         ///< [N s] in the substep
    double pressed = 0, weighed = 0;  ///< [kg m], [kg^2 m] in it, by the masses that they meet
    Index sharers = 0;
  };
  /// [1/kg] of its share of what it presses; 0: it does not yield.
  Real yields(std::size_t s) const;
  std::vector<Group> groups_;  ///< none, if nothing yields
};

}  // namespace plenum::inline PLENUM_ABI
