#pragma once
// Particles on solids, for one step.
#include <span>
#include <vector>

#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// What does not yield is where it goes. A free body goes on within the step, and turns, by what all push it:
/// offered as if it could not be stopped for a step, a crate of half a kilogram that was put onto jelly was
/// flung 70 m. To each particle it is as heavy as its share (mass splitting: Tonge, Benevolenski & Voroshilov
/// 2012, "Mass splitting for jitter-free parallel rigid body simulation"), and after each round all of it has
/// moved by what all have given. What its own step has made it faster by, it gets
/// substep by substep, as the particles do, so that what it lies on does not feel steps.
class PbdSupports {
 public:
  bool empty() const { return supports_.empty(); }
  /// Supports in order of their samples, to be filled in; they must live until end_step(). v [N] m/s of
  /// samples as the step of dt [s] begins.
  void take(std::span<Support> offered, std::span<const Vec3> v, Real dt);
  /// Ways are counted from `shift` [N] m farther on, and time from `since` [s] later.
  void count_anew(std::span<const Vec3> shift, Real since);
  /// places [N]: where particles of the substep of h [s] go by themselves; since: as of hold().
  void begin_substep(std::span<const detail::Place> places, Real since, Real h);
  /// Puts what is beyond its planes back and takes what friction can of what has slid. places [N]; gone [N]
  /// m: where the substep of h [s] began; since [s]: from where ways are counted to the end of the substep;
  /// rests [N], or none: what bears whom, to be filled in, and what others have pressed onto it.
  void hold(std::span<detail::Place> places, std::span<const Vec3> gone, Real since, Real h,
            std::span<PbdRest> rests);
  /// At the end of a substep: books its impulses, and gives v [N] m/s back what was `before` it, times the
  /// restitution, where it struck.
  void bounce(std::vector<Vec3>& v, std::span<const Vec3> before, std::span<const Real> inverse_mass, Real h);
  /// Says how far bodies that yield have gone in the step of dt [s], and forgets all.
  void end_step(Real dt);

 private:
  std::span<Support> supports_;
  std::vector<Real> gaps_;    ///< [S] m where ways are counted from
  std::vector<Real> pushed_;  ///< [S] m along the normals, in the substep
  std::vector<Vec3> rubbed_;  ///< [S] m across them
  /// A body that yields.
  struct Group {
    Bearer bearer;
    /// [m], [rad], [m/s], [rad/s] besides what its supports say, from the step's start to the substep's
    Vec3 way = Vec3::Zero(), turn = Vec3::Zero(), velocity = Vec3::Zero(), spin = Vec3::Zero();
    Vec3 own_velocity = Vec3::Zero(), own_way = Vec3::Zero();  ///< the same, if nothing pushed it
    Vec3 moved = Vec3::Zero(), turned = Vec3::Zero();   ///< [m], [rad] in the substep, by what pushes it
    Vec3 pushed = Vec3::Zero(), moment = Vec3::Zero();  ///< [kg m], [kg m^2] by which it does
    Vec3 mean = Vec3::Zero();                           ///< [m/s] of what is near it, as the step began
    Real fastest = 0, near = 0;  ///< [m/s] beside that, that it may be where it is pressed; how many
    Real part = 1;               ///< in [0, 1], of its impulses in the substep that it takes
    Index sharers = 0;
    bool is_told = false;  ///< at the step's end
  };
  bool can_yield(const Support& support) const { return support.bearer.inverse_mass > 0; }
  Group* group_of(const Support& support) {
    return can_yield(support) ? &groups_[std::size_t(support.group)] : nullptr;
  }
  Vec3 way_besides(const Support& support, const Group& group, Real h) const;
  void move_groups(std::span<const detail::Place> places);
  void find_fastest(std::span<const Vec3> v, Real dt);
  void bound_speeds(Real h);
  std::vector<Real> yields_;   ///< [S] 1/kg of a body's share; 0: it does not yield
  std::vector<Group> groups_;  ///< none, if nothing yields
};

}  // namespace plenum::inline PLENUM_ABI
