#pragma once
// Rigid bodies among position-based ones.
//
// In a substep bodies go where their velocities lead, turning as free bodies do, and are moved until their
// constraints hold: an impulse p [kg m] at r from the centre of mass moves by w p and turns by I^-1 (r x p).
// Velocities are those that led them, and what constraints have moved them by over the substep. Source:
// Mueller, Macklin, Chentanez, Jeschke & Kim 2020, "Detailed rigid body simulation with extended position
// based dynamics", sections 3.3 to 3.6. Otherwise than there, anchors are held by all three directions at
// once, friction is Coulomb's on the cone in the projection itself, and torque-free motion is exact.
#include <Eigen/LU>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "plenum/geometry/collide/collide.h"
#include "plenum/linear/sparse_ldlt.h"
#include "plenum/solvers/pbd/detail/coulomb.h"
#include "plenum/solvers/pbd/detail/limits.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/solvers/pbd/detail/tethers.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

/// What a particle lies on in a substep, and does not yield.
struct PbdRest {
  Vec3 normal = Vec3::Zero();  ///< unit, out of it
  Index on = -1;               ///< -1: nothing; else which of the supports, or -2 - which touch of a led body
  Real load = 0;  ///< [m] by which others have pressed the particle onto it since it was last held
  Real pushed = 0, friction = 0;  ///< [m] by which it has pushed, and the coefficient
  Vec3 rubbed = Vec3::Zero();     ///< [m] that friction has taken back in the substep
  Vec3 slid = Vec3::Zero();       ///< [m] that is left of what the particle slides on it in the substep
  Vec3 way = Vec3::Zero();        ///< [m] of what it lies on in the substep
  Real at = 0;  ///< [m] along the normal, from where ways are counted: where it was put on it
};

/// Particles of a substep, as bodies see them.
struct PbdParticles {
  std::span<detail::Place> places;     ///< [N]
  std::span<const Vec3> gone, x0;      ///< [N] m: where the substep began, from where ways are counted
  std::span<Vec3> v;                   ///< [N] m/s
  std::span<const Real> inverse_mass;  ///< [N] 1/kg
  std::span<PbdRest> rests;            ///< [N]
};

/// Part of a body's reach within which contacts are looked for, over what it may go in a substep.
inline constexpr Real pbd_looked_ahead = Real(0.02);
/// [m/s] by which constraints may speed up what comes near in a step, besides doubling its speed.
inline constexpr Real pbd_sped_up = 1;

/// [m/s] that constraints make nothing faster than. Ten times a rifle's bullet. As Jolt's largest velocity is
/// 500 m/s, but of what goes wrong only.
inline constexpr Real pbd_fastest = 10'000;

/// The impulse of friction [kg m, or N s] in the plane of the columns of t, at what has slid, or slides,
/// after `rubbed` of it; k: what it is answered by there.
inline Vector3<double> rub_within(const Eigen::Matrix2d& k, const Eigen::Matrix<double, 3, 2>& t,
                                  const Vector3<double>& rubbed, const Vector3<double>& slides,
                                  double bound) {
  const Eigen::Vector2d sticks = t.transpose() * rubbed - k.inverse() * (t.transpose() * slides);
  return t * detail::coulomb(k, sticks, bound);
}

/// [rad] of a unit quaternion, the shorter way.
inline Vector3<double> rotation_vector(const Quaternion<double>& q) {
  const double sign = q.w() < 0 ? -1 : 1, sine = q.vec().norm();
  if (!(sine > 0)) return Vector3<double>::Zero();
  return (sign * 2 * std::atan2(sine, sign * q.w()) / sine) * q.vec();
}

/// [r x]
inline Matrix3<double> cross_of(const Vector3<double>& r) {
  Matrix3<double> m;
  m << 0, -r.z(), r.y(), r.z(), 0, -r.x(), -r.y(), r.x(), 0;
  return m;
}

class PbdBodies {
 public:
  using D3 = Vector3<double>;
  using M3 = Matrix3<double>;
  using Qd = Quaternion<double>;
  using Vector6 = Eigen::Matrix<double, 6, 1>;
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Anchor = Pbd::Anchor;

  const std::vector<BodyImpulse>& pushes() const { return pushes_; }
  /// What the step gave to carriers, sorted by these.
  const std::vector<BodyImpulse>& pulls() const { return pulls_; }

  /// At the start of a step of dt [s].
  void begin_step(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, Real dt);
  /// Predicts bodies through a substep of h [s], and finds which of them touch each other.
  void predict(const Pbd::Model& model, const Pbd::Params& params, Real h);
  /// One sweep over all that bodies take part in.
  void sweep(const Pbd::Model& model, const Pbd::Params& params, const PbdParticles& p,
             const detail::Projection& how);
  /// Once more, after others have moved particles in the substep: parts what touches.
  void hold_again(const PbdParticles& p);
  /// Adds the limits of where bodies are.
  void add_limits(const PbdParticles& p, std::vector<PbdLimit>& out) const;
  /// Velocities from where bodies have gone; those of particles are there already. What touches comes apart
  /// at no more than it bounces with.
  /// True if something was held back that would have gone faster than pbd_fastest. `strikes`: of what limits
  /// of bodies kept out.
  bool keep(const PbdParticles& p, Real h, std::span<const PbdStrike> strikes);
  void end_step(const Pbd::Model& model, Pbd::State& state);

  /// [m] by which anchors of rigid holds are apart at most.
  double largest_gap(const Pbd::Model& model, const Pbd::State& state) const;

 private:
  struct Body {
    D3 x, v = D3::Zero(), w = D3::Zero();  ///< v, w: without what constraints do in the substep
    Qd q;
    D3 x0, led_x;  ///< where the substep began, and where it would have led by itself
    Qd q0, led_q;
    double inverse_mass = 0;
    D3 moments = D3::Ones();
    M3 inverse_inertia = M3::Zero();  ///< where the substep would have led
    Pose from, to;                    ///< of what is led, over the step
    double reach = 0;
    M3 inverse_inertia_in = M3::Zero();  ///< of carriers, in their frame
    D3 pull = D3::Zero();                ///< on carriers in the step, [N s]
  };
  /// Two anchors that may not come nearer to each other along a patch's normal than `gap` [m].
  struct Point {
    Anchor a, b;
    double gap;
    double approach;    ///< [m/s] before the substep's projections
    double pushed = 0;  ///< [kg m]
  };
  /// Particles that a body lies on and that lie on what does not yield, as one: between the body's friction
  /// and that of what bears them. Impulses of friction are [kg m].
  struct Bed {
    double yields = 0;       ///< [1/kg] by which an impulse moves them
    D3 way = D3::Zero();     ///< [m] that they go in the substep, without what the body rubs
    D3 slid = D3::Zero();    ///< [m] of it that they slide on what bears them
    D3 rubbed = D3::Zero();  ///< what bears them has given against that
    double bound = 0;        ///< that it can give, but for what the body presses
    double friction_below = 0;
    double turn = 0;  ///< [rad] about the patch's normal that they go round in the substep
  };
  /// Of particles that a body lies on, as one: [m] a way, or [m/s] a velocity.
  struct BedMotion {
    D3 centre = D3::Zero(), mean = D3::Zero(), spin = D3::Zero();
    D3 at(const D3& x) const { return mean + spin.cross(x - centre); }
  };
  /// Up to four points that two bodies touch at, with friction at their centre of pressure and about the
  /// normal.
  struct Patch {
    D3 n;  ///< unit, from a to b
    int count = 0;
    Point points[4];
    double friction, restitution;
    D3 rubbed = D3::Zero();  ///< [kg m] on b
    double twisted = 0;      ///< [kg m^2]
    std::size_t first = 0,
                laid = 0;    ///< if it is no body that it lies on: particles laid_[first, first + laid)
    Bed bed;                 ///< which these are
    D3 given = D3::Zero();   ///< of rubbed, to those particles
    double pressed = 0;      ///< [kg m] on them
    bool slides = true;      ///< the bed, on what bears it
    bool is_on_way = false;  ///< where the bodies meet within the substep
  };
  /// A patch that sticks, on bodies that stand. What it holds b by against a: up to four points along the
  /// normal, their centre of pressure along two tangents, and the turn about the normal.
  struct Grip {
    using Vector7 = Eigen::Matrix<double, 7, 1>;
    Index a, b;
    bool yields_a = false, yields_b = false;  ///< which of them it moves
    Eigen::Matrix<double, 6, 7> on_a, on_b;   ///< force and moment about the body's centre, by unit impulses
    Eigen::Matrix<double, 7, 7> inverse;      ///< of the response to these [kg, kg m^2]
    Vector7 crept = Vector7::Zero();          ///< [m, rad] in the substep
    double scale = 0;                         ///< [m] that what presses it could move it by
  };
  /// A particle on a body.
  struct Touch {
    Index particle, body;
    D3 n;         ///< unit, out of the body
    D3 on;        ///< [m] of the surface, in the body's frame
    D3 at, from;  ///< [m] of that, where the substep ends and began, if the body is led
    double gap;
    double friction, restitution;
    double approach;         ///< [m/s] before the substep's projections
    double pushed = 0;       ///< [kg m], of led bodies [m]
    D3 rubbed = D3::Zero();  ///< the same, on the particle
    bool is_laid = false;    ///< a patch has its part
    bool slides = true;      ///< the particle, on what bears it
  };
  /// The inside of a triangle, or of an edge, on a body.
  struct FaceTouch {
    Index3 particle;
    D3 weight;  ///< of the particles, whose sum is the point that touches
    Index body;
    D3 n, on;  ///< as of a particle
    double gap;
    double friction, restitution;
    double approach;
    double lacked = 0;       ///< [m] of the gap, when it first pushed
    double pushed = 0;       ///< [kg m]
    D3 rubbed = D3::Zero();  ///< [kg m] on the triangle
  };
  struct Pair {
    Index a, b;  ///< bodies, or a body and a guest
    double friction, restitution;
    ManifoldCache cache;
    bool touches = false;  ///< in the last substep
    Real far = 0;          ///< [m] that they go in a substep, from which on they are to meet on their way
    Vec3 normal = Vec3::Zero();  ///< then, from a to b, in a's frame
  };
  struct Box {
    Aabb box;
    Index body;
  };
  /// Three directions in which two bodies, or a body and the world (b < 0), are held: a hold's or an
  /// alignment's.
  struct Joint {
    Index hold, alignment;  ///< which; one is -1
    Index a, b;
  };
  /// As bodies are: what is wrong [m or rad], what it changes by as they turn [m or 1 per rad], and what
  /// gives besides.
  struct JointState {
    D3 wrong;
    M3 turn_a = M3::Zero(), turn_b = M3::Zero(), diagonal = M3::Zero();
  };
  struct Coupling {
    Index body, x, y;  ///< joints on it
  };
  /// Joints that hang together by bodies.
  struct Mechanism {
    std::vector<Joint> joints;
    std::vector<JointState> states;   ///< [joints]
    std::vector<Index> bodies;        ///< that forces move
    std::vector<Coupling> couplings;  ///< in the order of the matrix' entries, after the joints' own
    SparseLdlt matrix;
    double softened = 1;  ///< the diagonal, by
    std::vector<double> values, right;
  };
  /// What one body is to turn by against another, and the axis about which it may besides.
  struct Misalignment {
    D3 wrong, axis = D3::Zero();
  };
  struct Near {
    Index particle, body;
    // [m] In the shape's frame, where the substep began and where the sweep has taken it, and how far that
    // is.
    Vec3 from = Vec3::Zero(), at = Vec3::Zero();
    SignedDistance<Real> distance = {};
  };
  struct NearFace {
    Index3 particle;
    Index body;
    Index near[3];  ///< which of near_ its particles are; -1: none
  };
  void find_pairs(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, Real dt);
  void sort_pairs();
  static bool stay_apart(const std::vector<Index2>& sorted, Index a, Index b);
  void find_near(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, Real dt);
  void touch_bodies(const Pbd::Model& model);
  /// Where the bodies of a pair, and their shapes, are as they touch.
  struct Meeting {
    struct Frame {
      D3 x;
      Qd q;
    } a, b;
    Pose shape_a, shape_b;
    bool is_on_way = false;
  };
  Meeting here(const Pbd::Model& model, const Pair& pair) const;
  std::optional<Meeting> meeting_on_way(const Pbd::Model& model, const Pair& pair, Real margin) const;
  void touch_pair(const Pair& pair, const Manifold& manifold, const Meeting& at, bool swapped);
  double overlap_along(const Pbd::Model& model, const Pair& pair, const D3& n) const;
  static bool meets_on_way(const Shape& shape, const Vec3& from, const Vec3& to,
                           const SignedDistance<Real>& start, Real near, SignedDistance<Real>& here,
                           Vec3& on);
  void touch_particles(const Pbd::Model& model, const Pbd::Params& params, const PbdParticles& p);
  void find_near_faces(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, Real dt);
  void touch_faces(const Pbd::Model& model, const Pbd::Params& params, const PbdParticles& p);
  double approach_of(const FaceTouch& touch, const PbdParticles& p) const;
  double response_of(const FaceTouch& touch, const PbdParticles& p, const D3& along) const;
  void part(const FaceTouch& touch, const PbdParticles& p, const D3& impulse);
  void hold_apart(FaceTouch& touch, const PbdParticles& p);
  void rub(FaceTouch& touch, const PbdParticles& p);
  void slow(const FaceTouch& touch, const PbdParticles& p, Real h);
  void lay_bodies(const PbdParticles& p);
  void lay_body(std::size_t first, std::size_t last, const PbdParticles& p);
  void find_bed(Patch& patch, const PbdParticles& p) const;
  void press_laid(const PbdParticles& p);
  template <class Of>
  BedMotion motion_of_bed(const Patch& patch, const PbdParticles& p, Of&& of) const;
  BedMotion velocity_of_bed(const Patch& patch, const PbdParticles& p, Real h) const;
  static D3 rub_on_bed(const Bed& bed, double pressed, const D3& rubbed, const Eigen::Matrix<double, 3, 2>& t,
                       const M3& response, const D3& way, double bound, bool& slides);
  double approach_of(const Touch& touch, const PbdParticles& p) const;
  static D3 velocity_on_rest(std::size_t particle, const PbdParticles& p, Real h);
  static D3 borne(const Touch& touch, const PbdParticles& p);
  M3 response_of(const Touch& touch, const PbdParticles& p, const D3& m) const;
  void part(const Touch& touch, const PbdParticles& p, const D3& m, const D3& impulse, double wedge);
  void hold_apart(Touch& touch, const PbdParticles& p);
  void stop(std::span<const PbdStrike> strikes, const PbdParticles& p);
  void hold_touches(const PbdParticles& p);
  void hold_on_led(const PbdParticles& p);
  void rub(Touch& touch, const PbdParticles& p);
  void slow(const Touch& touch, const PbdParticles& p, Real h);
  const Shape& shape_of(const Pbd::Model& model, Index body) const;
  Pose pose_of(const Pbd::Model& model, Index body) const;

  D3 place_of(const Anchor& a, const PbdParticles& p) const;
  D3 start_of(const Anchor& a, const PbdParticles& p) const;
  D3 arm_of(const Anchor& a) const;
  M3 response_of(const Anchor& a, const PbdParticles& p) const;
  double response_of(const Anchor& a, const PbdParticles& p, const D3& n) const;
  void push(const Anchor& a, const PbdParticles& p, const D3& impulse);
  void turn(Index body, const D3& by);
  void hold(const Pbd::Hold& hold, D3& multiplier, const PbdParticles& p, double scale);
  Misalignment misalignment(const Pbd::Alignment& alignment) const;
  void align(const Pbd::Alignment& alignment);
  void find_joints(const Pbd::Model& model, std::vector<Index>& singles);
  JointState state_of(const Pbd::Model& model, const Joint& joint, const PbdParticles& p, double scale) const;
  template <class IsMoved>
  bool closes_loop(std::span<const Joint> joints, IsMoved&& is_moved) const;
  void hold_joints(const Pbd::Model& model, Mechanism& m, const PbdParticles& p, double scale);
  Eigen::Matrix4d response_of(const Patch& patch, const PbdParticles& p) const;
  void hold_apart(Patch& patch, const PbdParticles& p);
  void push_all(const Patch& patch, const PbdParticles& p, const Eigen::Vector4d& by);
  double part_borne(const Patch& patch, const PbdParticles& p) const;
  void rub(Patch& patch, const PbdParticles& p);
  void slow(const Patch& patch, const PbdParticles& p, Real h);
  /// Takes back what has crept of bodies that stand by friction.
  void stand_still(const PbdParticles& p);
  void find_grips(const PbdParticles& p);
  bool find_grip(const Patch& patch, const PbdParticles& p, Grip& grip) const;
  double take_back(const Grip& grip);
  void begin_carriers(const Pbd::Model& model, Real dt);
  void find_leashes(const Pbd::Model& model);
  void find_bundles(const Pbd::Model& model);
  void hold_by_tethers(Index particle, Index on, const D3& n, const D3& at, double friction,
                       const PbdParticles& p);
  void hold_all(const Pbd::Model& model, const PbdParticles& p, double scale);
  void hold_bundle(const Pbd::Model& model, std::span<const Index> holds, const PbdParticles& p,
                   double scale);
  void move(Index body, const D3& impulse, const D3& by);
  void give_pulls();
  M3 inverse_inertia_of(const Body& body) const;
  bool is_carrier(Index body) const { return body >= Index(own_) && body < Index(first_guest_); }
  void given_to_guest(const Anchor& on, const PbdParticles& p, const D3& impulse);

  D3 velocity_of(const Anchor& a, const PbdParticles& p) const;
  void change_velocity(const Anchor& a, const PbdParticles& p, const D3& impulse);

  std::vector<Body> bodies_;  ///< own ones, then carriers, then guests
  std::size_t own_ = 0, first_guest_ = 0;
  Index holds_revision_ = -1;             ///< of the model that the following were found for
  std::vector<Index> singles_, bundled_;  ///< of the model's holds
  std::vector<std::size_t> bundles_;      ///< where each bundle ends in bundled_
  std::vector<Mechanism> mechanisms_;
  std::vector<Index> loose_alignments_;     ///< of no mechanism
  std::vector<D3> joint_way_, joint_turn_;  ///< [bodies] impulses and moments of a mechanism's joints
  std::vector<Pbd::Hold> leashes_;          ///< tethers of what hangs on bodies that yield
  detail::PressedTethers tethers_;
  Real strain_limit_ = 0;
  std::vector<D3> carrier_w_;  ///< [rad/s] of carriers, as they have gone by themselves
  /// Part of a body's response that is added to those of particles on it, of which some may be pinned.
  static constexpr double least_response = 1e-9;
  double h_ = 0;  ///< [s] of the substep
  std::vector<Pair> pairs_;
  std::vector<Near> near_;
  std::vector<Index> part_of_, near_of_;  ///< [N] parts, and which of near_ each particle is beside a body
  std::vector<NearFace> near_faces_;
  std::vector<Patch> patches_;
  bool are_touches_found_ = false;            ///< in this substep
  std::vector<Index> laid_;                   ///< particles that patches lie on
  std::vector<Touch> touches_, led_touches_;  ///< of bodies that forces move, and of those that are led
  std::vector<FaceTouch> face_touches_;
  std::vector<Grip> grips_;           ///< from the ground up
  std::vector<std::uint8_t> stands_;  ///< [bodies] whether grips bear it
  std::vector<Vector6> taken_back_;   ///< [bodies] ways and turns
  std::vector<D3> multipliers_;       ///< [holds]
  std::vector<Box> boxes_;
  std::vector<D3> given_impulse_, given_moment_;  ///< [guests] over the step, about the world's origin
  std::vector<BodyImpulse> pushes_, pulls_;
};

}  // namespace plenum::inline PLENUM_ABI
