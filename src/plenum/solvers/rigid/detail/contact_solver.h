#pragma once
// Contacts between rigid bodies, eight at a time.
//
// Each contact has up to four points that push along one normal (speculative while they are apart, soft where
// they overlap), and one patch of friction at their centre of pressure: two tangential directions, bounded
// together by the Coulomb cone, and a twist about the normal, bounded by the lever of the pressure about the
// patch and by spinning friction: what the small face gives that a point stands for, of radius a at most
// 2/3 mu a under even pressure and 3 pi/16 mu a under Hertz's (Lubkin 1951, "The torsion of elastic spheres
// in contact"). Sliding does not lessen it, as it would (Leine & Glocker 2003, "A set-valued force law for
// spatial Coulomb-Contensou friction"). Sub-stepped, warm-started and relaxed as in
// Catto 2024, "Solver2D" ("soft step"); soft constraints as in Catto 2011, "Soft constraints", but about the
// impulse that a point has carried over the last seconds instead of about zero: the multiplier method of
// Hestenes 1969 and Powell 1969, under which a load at rest needs no overlap to hold it. The points of a
// contact are solved together while all of them press, and in turn where one lets go. Friction that depends
// on the direction has an elliptic cone (Goyal, Ruina & Papadopoulos 1991, "Planar sliding with dry
// friction"; the slip is normal to the ellipse where the force is). Contacts are coloured so that those of
// one colour share no movable body, and eight of one colour make a batch: a batch is solved by vector
// instructions, the batches of a colour in parallel.
#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plenum/geometry/collide/manifold.h"
#include "plenum/solvers/rigid/detail/islands.h"
#include "plenum/solvers/rigid/detail/solver_bodies.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// A contact to solve. Normal and anchors are in the world, anchors relative to the centres of mass at the
/// start of the step; impulses are those of the last sub-step of the last step, and then of this one, had
/// they lasted ContactSettings::impulse_time.
struct ContactInput {
  Index body_a, body_b;  ///< the world is SolverBodies::world()
  Vec3 normal;           ///< unit, from a to b
  int count;             ///< of points, 1 to 4
  struct Point {
    Vec3 ra, rb;      ///< [m] anchors
    Real separation;  ///< [m]
    Real impulse;     ///< [N s] along the normal, in/out
    Real carried;     ///< [N s] what it carries on average, which overlap need not hold up, in/out
  } points[4];
  Vec3 friction_impulse;  ///< [N s] on b, tangential, in/out
  Real twist_impulse;     ///< [N m s] about the normal, in/out
  Real friction;          ///< Coulomb coefficient of what slides
  Real static_friction;   ///< of what rests, >= friction
  Vec3 friction_axis;     ///< tangential unit vector along which both act
  Real friction_ratio;    ///< in [0, 1]: part of them that acts across it
  Real restitution;       ///< in [0, 1]
  Real rolling;           ///< [m] of rolling resistance
  Real spinning;          ///< [m] of spinning friction
  Real lever_part = 1;    ///< of the points' way from the middle, that friction twists with
  Vec3 surface_velocity;  ///< [m/s] of a's surface past itself (conveyors), minus b's
  Real size;              ///< [m] of the smaller body; lengths below are parts of it
  Real round_a,
      round_b;   ///< [m] radius of what is round there, whose surface slides under the point as it rolls
  bool jointed;  ///< whether a joint holds one of the bodies, which is not moved then by hold()
  bool hard;     ///< whether nothing may be overlapped at the end of a sub-step: see hold()
  bool deep;     ///< whether the bodies are in each other by more than a tenth of `size`
  bool booked;   ///< whether ContactSolver::given() is to be asked of it
  bool bounced;  ///< in the step, out
  Manifold::Turns turns;  ///< with what the normal turns in the step
  Vec3 edge_a, edge_b;    ///< as in Manifold
  /// Unit axes through the centres of mass about which the bodies are alike all round, 0 where there is none:
  /// what rolls touches with another place all the time, which turns only as the axis does.
  Vec3 axis_a = Vec3::Zero(), axis_b = Vec3::Zero();
  bool rolls_round = false;  ///< whether the place where one of these touches goes round: see foresee()
  Real spin = 0;             ///< [rad/s] >= 0, of the faster body; balls, whose arms stay, do not count
  /// [N s] of all points.
  Real presses() const {
    Real sum = 0;
    for (int p = 0; p < count; ++p) sum += points[p].impulse;
    return sum;
  }
  Real carries() const {
    Real sum = 0;
    for (int p = 0; p < count; ++p) sum += points[p].carried;
    return sum;
  }
  void scale_impulses(Real by) {
    for (int p = 0; p < count; ++p) points[p].impulse *= by, points[p].carried *= by;
    friction_impulse *= by, twist_impulse *= by;
  }
  /// Whether normal, places or arms change in the step.
  bool changes() const {
    return hard || turns != Manifold::Turns::with_neither || !axis_a.isZero() || !axis_b.isZero();
  }
};

class JointSolver;
struct JointScene;

/// What a contact gave its second body in a whole step, in the world.
struct ContactGift {
  Vec3 impulse;  ///< [N s]
  Vec3 arm;      ///< [m] where, from the first body's centre of mass at the start of the step
  Vec3 couple;   ///< [N m s] besides
};

struct ContactSettings {
  Real h;                                ///< [s] of a sub-step
  Real impulse_time;                     ///< [s] over which the impulses of ContactInput act
  Real hertz = 240;                      ///< [1/s] of soft contacts, at most 0.19 of the sub-steps' rate
  Real damping_ratio = 10;               ///< of soft contacts
  Real slop = Real(1e-4);                ///< overlap left alone, as part of the size
  Real push_speed = 4;                   ///< [1/s] most sizes a second that overlap is pushed apart at
  Real restitution_threshold = Real(1);  ///< [m/s] approach below which nothing bounces
  Real gravity = Real(9.81);             ///< [m/s^2]
  Vec3 up = Vec3::UnitY();               ///< against it, or none
  Real strike = Real(0.3);               ///< [m/s] approach above which absorb() sees a blow
};

/// Contacts of one step. Memory is kept from step to step.
class ContactSolver {
 public:
  /// [N + 1] Groups, by their least bodies (JointSolver::Groups), of which a body carries what is heavy.
  std::span<const std::uint8_t> strained_groups() const { return strained_groups_; }
  /// Colours the contacts and takes them in. The order of the contacts decides the result, the number of
  /// threads does not.
  void prepare(std::span<const ContactInput> contacts, const SolverBodies& bodies,
               const ContactSettings& settings, std::span<const Index> groups = {});
  /// Applies the impulses held.
  void warm_start(SolverBodies& bodies);
  /// One pass over all contacts; `with_bias` pushes overlap apart, and relaxation is without. Those of light
  /// bodies that carry heavy ones are gone over several times, in turn with the joints that hold such bodies.
  void solve(SolverBodies& bodies, bool with_bias, const JointScene& scene, JointSolver& joints);
  /// After the bodies have moved: where the pass with bias gave much more than the load to what overlaps,
  /// takes that back. It was to move them apart, not to set them going; relaxation alone, one pass against
  /// another, leaves a row of bodies about half of the speed at which it is pushed apart. So the velocities
  /// of the pass are the second, "split" ones of Guendelman, Bridson & Fedkiw 2003, "Nonconvex rigid bodies
  /// with stacking" (section 4: what moves bodies out of contact is not kept as velocity).
  void take_back(SolverBodies& bodies);
  /// Before a sub-step: what would strike within it bounces, v' = -e v along the normal, with Coulomb's bound
  /// on what rubs. Blows are taken one after the other, colour by colour, until nothing closes any more
  /// faster than the threshold: so they go through rows of touching bodies as through rows with small gaps
  /// (Newton's cradle). Points of one contact are struck together, in the ratio of what would stop each
  /// alone: a reflection of the pair's velocities, scaled by e, which gives no energy. Source: Smith,
  /// Kaufman, Vouga, Tamstorf & Grinspun 2012, "Reflections on simultaneous impact", sections 3 and 4;
  /// friction as of hard spheres, Walton & Braun 1986, with no tangential restitution.
  void restitute(SolverBodies& bodies);
  /// Before a sub-step, after restitute(): what would still strike within it, faster than
  /// ContactSettings::strike, is stopped together with all that the blow goes on to, by velocities alone: no
  /// contact closes farther than its gap, and friction keeps within Coulomb's cone. The passes of the
  /// sub-steps would take tens of them to stop a heavy body by a light one, add up impulses meanwhile, and
  /// give these back as a bounce. Rounds over the contacts are sped up by the method of conjugate gradients;
  /// compare Silcowitz, Niebe & Erleben 2010, "A nonsmooth nonlinear conjugate gradient method for
  /// interactive contact force problems". What a blow gives is no load: the next sub-step does not begin with
  /// it. `first`: of the step; what moves is asked then, else what the last pass with bias saw come near.
  void absorb(SolverBodies& bodies, bool first, const JointScene& scene, JointSolver& joints);
  /// After the bodies have moved: turns the normals that turn (ContactInput::turns) with what they belong to,
  /// and takes the contacts to where they have slid. A normal of the start of the step would push a little
  /// along the way that the contact turns: a frame that swings on a peg would be driven by that to over and
  /// over, by as much as explicit Euler steps drive a pendulum.
  void turn(const SolverBodies& bodies);
  /// After joints have changed moments of inertia: what contacts of those bodies answer to impulses.
  void respond_anew(const SolverBodies& bodies);
  /// Moves what overlaps at hard contacts straight apart, after the bodies have moved. Bodies that turn by
  /// radians in a sub-step would not be held by velocities alone.
  void hold(SolverBodies& bodies) const;
  /// Ends a sub-step for given(): adds up what the booked contacts have given in it.
  void collect(const SolverBodies& bodies);
  /// out [C]; only that of booked contacts means anything.
  void given(std::span<ContactGift> out) const;
  /// Writes back the impulses that the next step begins with.
  void store(std::span<ContactInput> contacts);

  static constexpr int num_colours = 64;  ///< the last holds what found no colour, solved one by one
  std::size_t num_batches() const { return batches_.size(); }
  /// Bytes that the passes of a sub-step go through.
  std::size_t bytes() const {
    return batches_.size() * sizeof(Batch) + points_.size() * sizeof(Points) +
           turning_.size() * sizeof(Turning);
  }

 private:
  static constexpr std::uint32_t never = ~0u;
  /// What a contact answers to impulses: inverses of the matrices of velocities that they give.
  struct alignas(sizeof(Wide)) Response {
    Wide block[10];      ///< [kg] of the points' normal 4x4 matrix, lower triangle by rows
    Wide k11, k12, k22;  ///< [kg] of the tangential 2x2 matrix
    Wide twist;          ///< [kg m^2]
  };
  /// Eight or sixteen contacts of one colour.
  struct alignas(sizeof(Wide)) Batch {
    Index a[wide], b[wide];       ///< bodies; empty lanes have the world's
    Index contact[wide];          ///< -1 for an empty lane
    unsigned writes_a, writes_b;  ///< bits of the lanes whose body moves
    std::uint32_t first_point;    ///< in points_
    std::uint32_t turning;        ///< in turning_; never: no lane's normal turns, or is hard
    int count;                    ///< most points of any lane
    bool booked, bounces, hard;   ///< whether any lane is, or does if it is struck
    int rounds;                   ///< in a pass; more where light bodies carry heavy ones
    unsigned bounced;             ///< bits of the lanes that have, in this step
    unsigned chained;             ///< bits of the lanes that a blow may go on from
    unsigned struck;              ///< bits of the lanes that the last blow reached
    unsigned strained;            ///< bits of the lanes of bodies in strained joints
    bool near;                    ///< whether a lane has come fast in the sub-step
    bool on_turning;              ///< whether a lane's body is on one that turns whatever it does
    /// Bits of the lanes whose points have: struck in the sub-step; come fast at its start, or borne nothing
    /// in the last step; come fast at its end.
    std::array<std::uint16_t, 4> strikes, came, comes;
    unsigned pushed;                          ///< bits of the lanes of which take_back() speaks
    Wide3 normal, tangent;                    ///< from a to b; the other tangent is across_axis()
    Wide across_part;                         ///< part of friction that acts across the tangent
    Wide soft_bias, soft_mass, soft_impulse;  ///< of overlap: [1/s], and parts of 1
    /// What soft_mass and soft_impulse lack for what all points of a face have in common: see find_towers().
    /// Nothing but in towers.
    Wide even_mass, even_impulse;
    bool of_tower;
    Wide slop, push;  ///< [m], [m/s]
    Wide friction, static_friction, rolling, restitution;
    Wide round_a, round_b;      ///< [m]
    Wide3 ra, rb;               ///< [m] anchors of the friction patch
    Wide slide, slide_across;   ///< [m/s] wanted along the tangents
    Response response;          ///< at the start of the step
    Wide along, across, twist;  ///< impulses [N s], [N m s]
    Wide3 roll;                 ///< [N m s]
  };
  /// One point of each of a batch's contacts.
  struct alignas(sizeof(Wide)) Points {
    Wide3 ra, rb;
    Wide gap;      ///< [m] separation less that of the anchors' cores at the start
    Wide mass;     ///< [kg] effective; 0 for an absent point
    Wide impulse;  ///< [N s] >= 0
    Wide carried;  ///< [N s] >= 0
    Wide lever;    ///< [m] of its pressure against a twist: friction times the way from the patch's centre,
                   ///< and spinning friction
    Wide start;    ///< [N s] impulse at the start of the sub-step
  };
  /// Of a batch of which some normals turn or contacts are hard, how it stands now. Anchors turn with their
  /// bodies, and masses are those of the inertia there; of its other lanes as at the step's start.
  struct alignas(sizeof(Wide)) Turning {
    Wide with_a, with_b, with_edges, with_centres;  ///< 1 or 0
    Wide is_new;                                    ///< 1 or 0: see respond()
    Wide3 edge_a, edge_b;                           ///< unit, at the start of the step
    Wide3 axis_a, axis_b;                           ///< as in ContactInput
    Wide reach;                                     ///< [m] that a contact may slide and be followed

    Wide rolls_round;  ///< 1 or 0: see foresee()

    Wide3 normal, tangent, ra[4], rb[4], patch_a, patch_b;
    Wide mass[4], separation[4];
    Wide curve[4];       ///< [m/s] see foresee()
    Wide3 slip_to_come;  ///< [m/s] of the patch
    Response response;
  };
  /// What a blow gives [N s]: so far, in the last round, and the direction that was searched last.
  struct alignas(sizeof(Wide)) Effort {
    Wide impulse, change, way;
  };
  /// Of a batch that a blow reaches. Sums over it [J]: `changed`, squares of what the round changed, over
  /// masses; fe and we, changes and ways times the velocities that are left to be stopped; ff and fw, changes
  /// times the velocities that changes and ways give.
  struct alignas(sizeof(Wide)) Rub {
    Effort along, across, twist;
    double changed, fe, we, ff, fw;
    Real limit;  ///< of the step that keeps impulses from pulling
  };
  /// Sums of what a batch gave over the sub-steps, as an impulse [N s] at the first body's centre of mass at
  /// the start of the step and a couple [N m s].
  struct alignas(sizeof(Wide)) Sums {
    Wide3 impulse, couple;
  };
  /// A contact of a column (contact_loads.cpp), and what conjugate gradients keep of its rows: four points
  /// along the normal, two tangents.
  struct ColumnRow {
    std::uint32_t batch;
    int lane, count;           ///< of points
    Index a, b;                ///< places in column_bodies_, -1 for what does not move
    double ka, kb;             ///< [1/kg]
    double soft;               ///< what the points yield besides, as part of what the pair does alone
    bool acts[6];              ///< presses, or rubs without sliding
    Eigen::Vector3d arm[4];    ///< [m]
    Eigen::Vector3d along[6];  ///< unit
    Eigen::Vector3d about_a[6], about_b[6];  ///< [m] arms x along
    Eigen::Vector3d turns_a[6], turns_b[6];  ///< [1/(kg m)] what an impulse of 1 N s turns the bodies by
    double mass[6];                          ///< [kg] answer of each alone
    double asked[6], left[6], given[6];      ///< [m/s] to be stopped, now, and what `way` gives
    double sum[6], way[6];                   ///< [N s] so far, and of the step
    double limit;                            ///< [N s] of friction
    double bore;                             ///< [N s] in the sub-step before
    Eigen::Vector3d own_v, own_a, own_b;     ///< what the points alone give the bodies
  };
  struct Column {
    std::size_t first, end;            ///< of column_rows_
    std::size_t first_body, end_body;  ///< of column_bodies_
    double weight;                     ///< [N s] in a sub-step
    double negligible;                 ///< [J]
  };
  struct Joined {
    Index column;  ///< its least body
    std::uint32_t batch;
    int lane;
    auto operator<=>(const Joined&) const = default;
  };
  struct ColumnChange {
    Eigen::Vector3d v, w;  ///< [m/s], [rad/s]
  };
  void join_columns(std::span<const ContactInput> contacts, const SolverBodies& bodies, Real ratio);
  void add_column(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                  std::span<const Joined> rows);
  bool stand_on_faces(std::span<const ContactInput> contacts, std::span<const Joined> rows);
  void find_columns(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                    std::span<const Index> groups);
  template <bool with_bias>
  double take_rows(const SolverBodies& bodies, const Column& column);
  template <bool with_bias>
  bool bear_column(SolverBodies& bodies, const Column& column, double enough, std::size_t& work_left);
  void forget_blows_on_columns();
  void bear_columns(SolverBodies& bodies, bool with_bias);
  struct Colour {
    std::size_t first, end;  ///< of batches
    bool serial;
  };
  struct Still;  ///< views of a batch, see contact_batch.h
  struct Moved;
  template <class Visit>
  void view(const Batch& batch, Visit&& visit) const;
  template <class F>
  void each_batch(F&& f) const;
  /// f(b) for the batches that a blow has reached.
  template <class F>
  void each_reached(F&& f) const;
  /// More than 0 in lanes of which a body is in moved_.
  Wide moves(const Batch& batch) const {
    Wide sum{};
    for (int l = 0; l < wide; ++l) sum[l] = moved_[batch.a[l]] + moved_[batch.b[l]];
    return sum;
  }
  /// The second tangent, as long as friction across is a part of that along: measured in it, an ellipse of
  /// friction is the same round cone.
  template <class View>
  static Wide3 across_axis(const Batch& batch, const View& at) {
    return batch.across_part * cross(at.normal(), at.tangent());
  }
  template <class View>
  void respond(const Batch& batch, const View& at, const Wide& is_new, const SolverBodies& bodies, Wide* mass,
               Response& out) const;
  void turn_batches(const SolverBodies& bodies);
  void turn_batch(const Batch& batch, const SolverBodies& bodies);
  Wide place(const Batch& batch, WideMotion ma, WideMotion mb, Turning& now) const;
  void foresee(const Batch& batch, const SolverBodies& bodies, Turning& now) const;
  /// Adds the impulses that batch b holds, where it now is, to its sums; sign: 1 or -1.
  void book(std::size_t b, const SolverBodies& bodies, Real sign);
  /// What strikes in a sub-step and came at its start, of itself: its blow is no load that the next would
  /// begin with. That would push away what has been stopped, and friction rub on it as hard, by which what
  /// lands on its rim gains energy.
  void forget_blow(Batch& batch);
  void forget_far(Batch& batch, const Wide3& wa, const Wide3& wb);
  bool find_blows(const SolverBodies& bodies, bool first, const JointSolver& joints);
  /// Leaves of what strikes what the passes would make a bounce of: where on both sides enough is behind.
  bool keep_squeezed(const SolverBodies& bodies, const JointSolver& joints);
  /// [kg] The mass of `body`, of the contact in this lane of batch b, and of what comes up behind it in this
  /// sub-step if the contact stops it; counted until it is enough.
  Real behind(const SolverBodies& bodies, const JointSolver& joints, std::size_t b, int lane, Index body,
              Real enough);
  Wide least_separation(const SolverBodies& bodies, std::size_t b) const;
  void list_meetings();
  void absorb_batch(SolverBodies& bodies, std::size_t b);
  void list_reached(JointSolver& joints);
  /// Turns the direction that is searched; rub.limit is then how far it goes until a point would pull.
  void turn_way(std::size_t b, Real keep);
  void go_way(std::size_t b, Real step);
  void book_blows(const SolverBodies& bodies);
  void measure_batch(const SolverBodies& bodies, std::size_t b);
  void work_of_batch(const SolverBodies& bodies, std::size_t b);
  void find_towers(std::span<const ContactInput> contacts, const SolverBodies& bodies);
  void find_loads(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                  std::span<const Index> groups);
  template <bool with_bias>
  void solve_batches(SolverBodies& bodies, const JointScene& scene, JointSolver& joints);
  /// True, without bias, if friction was solved before normals were what bounds it: see slip_rounds.
  template <bool with_bias, class View>
  bool solve_batch(SolverBodies& bodies, Batch& batch, const View& at);

  ContactSettings settings_;
  AlignedVector<Batch> batches_;
  AlignedVector<Points> points_;
  AlignedVector<Turning> turning_;
  std::vector<std::uint32_t> turned_;                 ///< batches that these are of
  AlignedVector<Sums> sums_;                          ///< [batches], or none if no contact is booked
  AlignedVector<Effort> blows_;                       ///< of points
  AlignedVector<Rub> rubs_;                           ///< of batches
  AlignedVector<BodyVelocity> start_, before_, way_;  ///< [N + 1] of absorb()
  AlignedVector<Real> moved_;                         ///< [N + 1] 1 for what moves, or passes a blow on
  std::vector<std::uint8_t> touched_;                 ///< [N + 1] 1 for what a blow moves
  std::vector<std::uint32_t> reached_;                ///< batches that a blow has reached
  std::vector<Index> carried_;                        ///< bodies that it moves
  std::vector<std::uint32_t> first_meeting_,
      meeting_;                              ///< [N + 2] lanes by the bodies that move, in this step
  std::vector<Index> visited_, groups_met_;  ///< by behind()
  std::vector<Colour> colours_;
  std::vector<std::uint64_t> used_;  ///< [N + 1] colours of each body
  std::vector<Real> load_;     ///< [N + 1] what presses a body, over its own weight, by masses or impulses
  std::vector<Real> laid_on_;  ///< [N + 1] mass of all that lies on a body, as of one, over its own
  std::vector<Real>
      firm_of_tower_,       ///< [C] times as firm as others against tilting, or none if no tower is slender
      even_firm_of_tower_;  ///< [C] and against what all points have in common
  Islands towers_;
  std::vector<Real> slenderness_;              ///< [N + 1] of the towers, by their least bodies
  std::vector<std::uint8_t> strained_groups_;  ///< [N + 1] see strained_groups()
  std::vector<std::uint8_t> meets_;            ///< [N + 1] whether a body touches one that moves as well
  std::vector<std::uint8_t> colour_of_;        ///< [C]
  std::vector<Column> columns_;
  std::vector<ColumnRow> column_rows_;
  std::vector<ColumnChange> column_changes_;  ///< of column_bodies_
  std::vector<Index> column_bodies_, column_of_, place_;
  std::vector<std::uint8_t> squeezed_, may_join_;
  std::vector<Joined> joined_;
  std::vector<std::pair<Index, Index>> pairs_;
  std::vector<Real> firm_of_column_;  ///< [C] times as firm as others, or 0 for those of none; or none
  std::size_t column_work_left_ = 0;  ///< in this step
  std::vector<Index> order_;          ///< contacts by colour, those of a batch by number of points
  std::vector<Index> batch_order_, unordered_;  ///< scratch
  bool any_restitution_ = false, any_rolling_ = false, any_chained_ = false;
  bool any_joint_strained_ = false;
  bool any_pass_ = false;                 ///< whether a sub-step has begun
  int rounds_ = 1;                        ///< most of any batch
  std::atomic<bool> any_pushed_ = false;  ///< whether any batch is in the last pass with bias
  std::atomic<bool> any_near_ = false;    ///< likewise
};

}}  // namespace plenum::PLENUM_ABI::detail
