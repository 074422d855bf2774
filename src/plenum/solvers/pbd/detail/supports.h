#pragma once
// Particles on solids, for one step.
#include <array>
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
///
/// Planes are found anew in each substep where the body then is, and it turns by its angular momentum: planes
/// and inertia of the step's start, of a plank that turns by a third of a radian in it, gave it energy
/// without bound.
///
/// What ties bodies to each other, to the ground and to what is led answers pushes in the same rounds, by
/// projected Gauss-Seidel over rows that their own step left (links.cpp): without it a box under jelly was
/// pressed into the ground, and a stack on jelly into itself, for a step at a time.
class PbdSupports {
 public:
  bool empty() const { return supports_.empty(); }
  /// Supports, to be filled in; they must live until end_step(). x [N] m and
  /// v [N] m/s of samples as the step of dt [s] begins.
  /// What ties bodies is filled in too; nullptr: nothing does.
  void take(std::span<Support> offered, BodyLinks* links, std::span<const Vec3> x, std::span<const Vec3> v,
            Real dt);
  /// What holds what bodies that yield press; they must live until end_step(). Without, nothing does.
  void hang(const detail::PressedTethers& tethers, Real strain_limit) {
    tethers_ = &tethers, strain_limit_ = strain_limit;
  }
  /// Ways are counted from `shift` [N] m farther on, and time from `since` [s] later.
  void count_anew(std::span<const Vec3> shift, Real since);
  /// Where particles are as a substep begins, and when.
  struct Substep {
    std::span<const Vec3> x0, gone;  ///< [N] m from where ways are counted; these
    Real since;                      ///< [s] from when ways are counted to its end
    Real h;                          ///< [s]
    Real s0, s1;                     ///< its part of the step
  };
  /// Finds planes.
  void begin_substep(const Substep& substep);
  /// Puts what is beyond its planes back and takes what friction can of what has slid. places [N]; rests [N],
  /// or none: what bears whom, to be filled in, and what others have pressed onto it.
  void hold(const Substep& substep, std::span<detail::Place> places, std::span<PbdRest> rests);
  /// Adds the limits of what does not yield.
  void add_limits(const Substep& substep, std::vector<PbdLimit>& out) const;
  /// At the end of a substep: books its impulses, and gives v [N] m/s back what was `before` it, times the
  /// restitution, where it struck.
  void bounce(std::vector<Vec3>& v, std::span<const Vec3> before, std::span<const Real> inverse_mass, Real h);
  /// Says how far bodies that yield have gone, and forgets all.
  void end_step();

 private:
  std::span<Support> supports_;
  /// A support's plane in the substep.
  struct Plane {
    Vec3 normal, velocity;  ///< in the world; [m/s] of its point, if nothing pushes its body in the substep
    Vec3 arm;               ///< [m] of its sample from its body's centre, in the world, as the substep begins
    Real gap;               ///< [m] where ways are counted from
    // Of what is free or turns, in its frame:
    Vec3 local_normal, local_point;
    Quat frame = Quat::Identity();  ///< from there to its body's
    Vec3 besides;                   ///< [m/s] that the plane is led beside its solid, in the world
    Real radius;                    ///< [m] from the solid, at which the sample touches
    // Of a triangle, as its point was found last, in the solid's frame:
    std::array<Vec3, 3> seen;  ///< [m] its corners
    Real clear = 0;            ///< [m] that they may move by before it is found anew
  };
  std::vector<Plane> planes_;  ///< [S]
  std::vector<Index> order_;   ///< supports by their samples
  std::vector<Index> faces_;   ///< those of points between samples
  std::vector<Real> pushed_;   ///< [S] m along the normals, in the substep
  std::vector<Vec3> rubbed_;   ///< [S] m across them
  std::vector<Vec3> held_;     ///< [S] kg m by which tethers hold their bodies: the opposite
  const detail::PressedTethers* tethers_ = nullptr;
  Real strain_limit_ = 0;
  Real step_part_ = 1, step_done_ = 1;  ///< of the step, in the substep and by its end
  /// What supports push a body by, [kg m] and [kg m^2], and how it answers, [m] and [rad].
  using Answer = std::array<Vec3, 4>;
  /// A body that yields.
  struct Group {
    Bearer bearer;
    /// [m], [m/s] besides what its own step says, from the step's start to the substep's
    Vec3 way = Vec3::Zero(), velocity = Vec3::Zero();
    Vec3 own_way = Vec3::Zero(), own_velocity = Vec3::Zero();  ///< the same, if nothing pushed it
    Vec3 gone = Vec3::Zero();                                  ///< [m] by its own step, through all of it
    Quat begin, end;                    ///< attitudes as the step begins and ends, as its own step says
    Quat from, to;                      ///< as the substep begins, and at its end, if nothing pushes it in it
    Vec3 own_turn_rate = Vec3::Zero();  ///< [rad/s] from `begin` to `end`
    Vec3 spin_added = Vec3::Zero();     ///< [rad/s] by its own step
    /// [kg m^2/s] As the step begins, and what its own step adds; none of what is locked about an axis
    Vec3 start = Vec3::Zero(), added = Vec3::Zero();
    Real is_turned = 0;  ///< in [0, 1], by that, and not by itself
    /// [kg m^2/s] Angular momentum, beyond its own of what is locked about an axis; what it was given
    Vec3 momentum = Vec3::Zero(), given = Vec3::Zero();
    Mat3 local_inertia = Mat3::Zero();    ///< inverse, in its frame; zero: it is locked about some axis
    Mat3 inverse_inertia = Mat3::Zero();  ///< [1/(kg m^2)] in the world, as the substep ends
    Vec3 moved = Vec3::Zero(), turned = Vec3::Zero();   ///< [m], [rad] in the substep, by what pushes it
    Vec3 pushed = Vec3::Zero(), moment = Vec3::Zero();  ///< [kg m], [kg m^2] by which it does
    Vec3 mean = Vec3::Zero();                           ///< [m/s] of what is near it, as the step began
    Real fastest = 0, near = 0;  ///< [m/s] beside that, that it may be where it is pressed; how many
    Real work = 0;               ///< [J] of what has pushed it in the step
    Real part = 1;               ///< in [0, 1], of its impulses in the substep that it takes
    Index sharers = 0;
    // Of what rows tie:
    bool is_linked = false;
    /// [m], [rad] in the substep, by its own step, and beyond that if nothing pushes it in this one
    Vec3 own_go = Vec3::Zero(), own_turn = Vec3::Zero(), more = Vec3::Zero(), more_turn = Vec3::Zero();
    Vec3 linked = Vec3::Zero(), linked_moment = Vec3::Zero();  ///< [kg m], [kg m^2] by rows in the substep
    Vec3 impulse = Vec3::Zero(), couple = Vec3::Zero();        ///< [N s], [N m s] by rows in the step
    Real gives = 1;  ///< in (0, 1], of what it would move by if nothing tied it
    Answer alone = {}, last = {}, last_alone = {};  ///< untied; after the last round
    bool is_told = false;                           ///< at the step's end
    bool is_free() const { return bearer.inverse_mass > 0; }
    bool is_locked() const { return local_inertia.isZero(0); }
    Quat own_attitude(Real s) const { return begin.slerp(s, end); }
    Vec3 own_momentum(Real s) const;
    Mat3 inverse_inertia_at(const Quat& q) const;
    Vec3 spin_of(const Quat& q, const Vec3& momentum, Real s) const;
    Quat turned_freely(Real s0, Real s1, Real h) const;
    Vec3 gained(Real s0, Real s1) const;
    /// By how much it is turned beyond its own step, as the part s of it has gone and a substep begins.
    Quat turned_on(Real s) const { return from * own_attitude(s).conjugate(); }
    Vec3 turned_momentum() const;
    Real answers(const Vec3& arm, const Vec3& direction) const;
    Real yields(const Vec3& arm, const Vec3& direction) const;
    Vec3 pushed_by(const Vec3& arm) const { return moved + turned.cross(arm); }
  };
  std::vector<Group> groups_;  ///< none, if nothing yields
  static bool can_yield(const Support& support) { return support.bearer.inverse_mass > 0; }
  Group* group_of(const Support& support) {
    return can_yield(support) ? &groups_[std::size_t(support.group)] : nullptr;
  }
  /// A row in the substep.
  struct Row {
    Real mass = 0;    ///< [kg] or [kg m^2] that it meets
    Real opens = 0;   ///< [m] or [rad] if nothing pushes
    Real slides = 0;  ///< the same, by the bodies' own step
    Real given = 0;   ///< [kg m] or [kg m^2] in the bodies' own step
    Real pushed = 0;  ///< [kg m] or [kg m^2] besides
    Real room = 0;    ///< [m] or [rad] >= 0 left
  };
  BodyLinks* links_ = nullptr;
  std::vector<Row> rows_;

  void begin_group(Group& group, const Bearer& bearer, const Pose& pose0, const Pose& pose, Real dt);
  void begin_plane(Plane& plane, const Support& support, const Vec3& x, Real dt);
  bool find_point(Plane& plane, Support& support, const Substep& substep, const Pose& to, const Vec3& led);
  void find_plane(Plane& plane, Support& support, const Substep& substep);
  bool hold_point(std::size_t s, const Substep& substep, Vec3& x, const Vec3& gone, Real inverse_mass,
                  Real share, PbdRest* rest);
  void hold_faces(const Substep& substep, std::span<detail::Place> places);
  void share(const Substep& substep, std::span<const detail::Place> places);
  void move_groups(const Substep& substep, std::span<const detail::Place> places);
  void pull(Group& group, std::size_t s, const Vec3& impulse);
  void hold_by_tethers(const Substep& substep, std::span<const detail::Place> places);
  void take_links(Real dt);
  void turn_arms(LinkRow& of, Real s) const;
  void begin_rows(const Substep& substep);
  /// [m] or [rad] By which a row opens in the substep, with all that pushes.
  Real opening(const LinkRow& of, const Row& row) const;
  void push_row(const LinkRow& of, Real by);
  void solve_row(std::size_t r);
  void solve_rows();
  void see_what_gives(Group& group);
  void probe_rows(Real h);
  void move_untied();
  void bound_linked();
  void end_rows(Real h);
  void tell_linked();
  void find_fastest(std::span<const Vec3> v, Real dt);
  void bound_speeds(Real h);
};

}  // namespace plenum::inline PLENUM_ABI
