#pragma once
// The two concepts through which systems meet: Boundary, a surface that is touched; Medium, a continuum that
// is probed and pushed. Systems know of each other nothing but these.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/base/real.h"
#include "plenum/geometry/aabb.h"
#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI {

class Shape;

/// Samples of a surface over the current substep, by reference. Arrays are [N], or empty where said.
struct Samples {
  std::span<const Vec3> x0;  ///< [m] at the start of the substep
  std::span<const Vec3> x;   ///< [m] at its end
  std::span<const Vec3> v;   ///< [m/s] at its end
  /// [m/s] at the start; empty: x0, x and v lie on one parabola, as those of methods of second order do.
  std::span<const Vec3> v0 = {};
  std::span<const Vec3> normal = {};   ///< unit, outward; empty: points without orientation
  std::span<const Real> area = {};     ///< [m^2]; empty: unknown
  std::span<const Real> inverse_mass;  ///< [1/kg]; zero: kinematic
  Real radius = 0;                     ///< [m] kept between a sample and what it touches
  std::span<const Real> radii = {};    ///< [m] per sample, instead of `radius`
  Real friction = 0;                   ///< Coulomb coefficient, >= 0
  Real restitution = 0;                ///< in [0, 1]
  /// Numbers that rise in the order of birth and stay with samples whose indices change; empty: they do not.
  std::span<const std::uint32_t> id = {};
  bool has_air = false;  ///< whether their own step drags them through air already
  /// [m] a sample may travel past a solid in one step; for surfaces whose points pull on each other, the
  /// distance between them. A step that would go beyond it near a solid is divided.
  Real reach = std::numeric_limits<Real>::infinity();
  /// Triangles between samples, and edges, whose last two are alike: what is small beside them is met by
  /// these too.
  std::span<const Index3> faces = {};

  /// Between the start (s = 0) and the end (s = 1) of the substep.
  Vec3 position(std::size_t i, Real s) const { return x0[i] + s * (x[i] - x0[i]); }
};

/// A rigid part of a boundary, known by its signed distance.
struct SolidBody {
  const Shape* shape = nullptr;
  Pose pose0, pose;                      ///< at the start and the end of the substep
  Vec3 velocity = Vec3::Zero();          ///< [m/s] of the pose's origin
  Vec3 angular_velocity = Vec3::Zero();  ///< [rad/s] in the world
  Real inverse_mass = 0;                 ///< [1/kg]; zero: kinematic
  Vec3 free = Vec3::Ones();              ///< 1 along axes of the world, 0 along those that it is locked along
  Mat3 inverse_inertia = Mat3::Zero();   ///< [1/(kg m^2)] in the world about the centre of mass
  Vec3 centre = Vec3::Zero();            ///< [m] centre of mass in the world
  Vec3 acceleration = Vec3::Zero();      ///< [m/s^2] of the centre in the next step, by gravity
  Vec3 gained = Vec3::Zero();            ///< [m/s] by its centre, from pose0 to pose
  Vec3 gained_spin = Vec3::Zero();       ///< [rad/s] by it
  Index owner = -1;                      ///< body that it is a part of, with others; -1: by itself
  Real friction = 0;
  Real restitution = 0;

  Vec3 velocity_at(const Vec3& x) const { return velocity + angular_velocity.cross(x - pose.position); }
};

/// What a contact does to a sample: an impulse and the displacement that keeps the sample outside.
struct SampleImpulse {
  Index sample;
  Vec3 impulse;       ///< [N s]
  Vec3 displacement;  ///< [m]
};
/// The opposite of it, on a body.
struct BodyImpulse {
  Index body;
  Vec3 impulse;                ///< [N s]
  Vec3 point;                  ///< [m] in the world
  Real lead = 0;               ///< [s] for which the body has been on its way since, and is to be moved on by
  Vec3 couple = Vec3::Zero();  ///< [N m s] besides, as of the friction of a face that turns
  Vec3 shift = Vec3::Zero();   ///< [m] by which the body's centre is to be moved on besides,
  Vec3 turn = Vec3::Zero();    ///< [rad] and the body turned, of an impulse that came as it went
  /// Whether it is a force's over the body's next step, as gravity's is, if its solver has a way for that.
  bool spread = false;
};

/// A free body as supports are pushed along with it; none, where they are not.
struct Bearer {
  Real inverse_mass = 0;     ///< [1/kg]
  Vec3 free = Vec3::Ones();  ///< as of SolidBody
  Mat3 inverse_inertia =
      Mat3::Zero();                  ///< [1/(kg m^2)] in the world about the centre of mass, as the step ends
  Vec3 centre = Vec3::Zero();        ///< [m] that, as the step begins
  Vec3 velocity = Vec3::Zero();      ///< [m/s] of the centre then, less the mean of its way in the step
  Vec3 acceleration = Vec3::Zero();  ///< [m/s^2] of the centre through the step, if supports do not push it
  Vec3 angular_velocity = Vec3::Zero();      ///< [rad/s] as the step begins
  Vec3 angular_acceleration = Vec3::Zero();  ///< [rad/s^2] through the step, the same
};

/// The surface of a solid that nothing moves, where a sample rests on it or is about to strike it: a plane
/// through the step to come. A solver that solves for all its samples at once holds them there in the same
/// solve, for as long as that takes a push and no pull, and fills in the impulses. Left to the contact after
/// the step alone, stiff surfaces draw what touches through the solid, while all the rest falls on.
struct Support {
  Index sample = 0;
  /// Of a point of a triangle or an edge: the other samples, and the weights of all three
  Index others[2] = {-1, -1};
  Vec3 weight = Vec3::UnitX();
  Index body = 0;
  Vec3 normal = Vec3::Zero();    ///< unit, out of the solid
  Vec3 point = Vec3::Zero();     ///< [m] of the solid's surface, at the start of the step
  Vec3 velocity = Vec3::Zero();  ///< [m/s] of that point through the step
  /// [m] left to the sample's own surface at the start of the step: >= 0, but of a point of a triangle
  Real gap = 0;
  Real friction = 0;     ///< Coulomb coefficient of the pair
  Real restitution = 0;  ///< in [0, 1], of the pair
  /// [kg] that a push at the point meets, with all of its body; infinity: it does not yield
  Real mass = std::numeric_limits<Real>::infinity();
  Index group = 0;  ///< supports of one body have the same
  Bearer bearer = {};
  Pose pose0 = {}, pose = {};  ///< of a solid that is free or turns, as the step begins and ends
  /// Of it, by which a step of many substeps finds the plane anew in each; nullptr: the plane goes with it.
  const Shape* shape = nullptr;
  /// Whether the body was let move along with the push, and is to be moved on by that; else it stood still
  /// for it, but for `shift` and `turn`
  bool yielded = false;
  Vec3 impulse = Vec3::Zero();  ///< [N s] given to the sample by the end of the step
  /// [N m s] of it besides, where planes were found anew: beyond what it is at the point, gone with the solid
  Vec3 couple = Vec3::Zero();
  /// [m] and [rad] by which all that has pushed the body has moved it on. Of one support of each group.
  Vec3 shift = Vec3::Zero(), turn = Vec3::Zero();

  bool is_of_face() const { return others[0] >= 0; }
  std::size_t corner(int i) const { return std::size_t(i == 0 ? sample : others[i - 1]); }
};

/// A free body that supports push, or that contacts and joints tie to such a one.
struct LinkedBody {
  Index body = 0;              ///< a solid of it
  Index group = 0;             ///< as of Support
  Bearer bearer = {};          ///< filled in by coupling,
  Pose pose0 = {}, pose = {};  ///< with the body's attitude as the step begins and ends
  /// By the end of the step: [N s] and [N m s] about its centre, by rows; [m] and [rad] by which all that has
  /// pushed it has moved it on.
  Vec3 impulse = Vec3::Zero(), couple = Vec3::Zero(), shift = Vec3::Zero(), turn = Vec3::Zero();
};
/// A row of what ties bodies to each other and to what does not yield, as their own step left it: with v of
/// centres of mass, along . (v_b - v_a) + about_b . w_b - about_a . w_a is how fast they part along it.
struct LinkRow {
  enum class Kind : std::uint8_t {
    contact,   ///< pushes and does not pull; what slides is bounded by those right before it:
    friction,  ///< along one direction,
    across,    ///< right after that, along the other, in which it is `friction` of what it is in the first,
    twist,     ///< and about the normal
    limit,     ///< pushes and does not pull
    joint      ///< pushes and pulls
  };
  Kind kind = Kind::contact;
  Index a = -1, b = -1;  ///< groups; -1: does not yield
  Vec3 along = Vec3::Zero(), about_a = Vec3::Zero(), about_b = Vec3::Zero();
  /// Of a joint that holds a point of both together: [m] that from their centres, as their own step ends
  bool is_of_point = false;
  Vec3 arm_a = Vec3::Zero(), arm_b = Vec3::Zero();
  /// [m] or [rad] >= 0 by which they may come nearer: of a contact as the step begins, of a limit as it ends
  Real room = 0;
  Real drift = 0;  ///< [m] or [rad] by which what does not yield parts them in the step, and moving surfaces
  Real given = 0;  ///< [N s] or [N m s] in their own step, of which what supports give may take back
  Real friction = 0, static_friction = 0;
  Real lever = 0;      ///< [m] of a contact, with which its friction holds against a twist
  Index contacts = 0;  ///< of friction and twist: how many there are before the first of these
  Index source = -1;   ///< of a joint: its number
  Real impulse = 0;    ///< [N s] or [N m s] by the end of the step
};
struct BodyLinks {
  std::vector<LinkedBody> bodies;
  std::vector<LinkRow> rows;
  void clear() { bodies.clear(), rows.clear(); }
};

/// Which samples hang together, so that one cannot be moved far without the others.
struct Pieces {
  std::vector<Index> of;           ///< [N] piece of each sample, from 0; empty: each is one by itself
  std::vector<std::uint8_t> held;  ///< [pieces] whether something else holds it, so that it cannot be moved
  void clear() {
    of.clear();
    held.clear();
  }
};

/// A sample that a hand pulls towards a target on its way through a step, by a critically damped spring.
struct Grasp {
  Index sample;
  Vec3 from, to;  ///< [m] the target as the step begins and ends
  Real rate;      ///< [1/s] the spring's angular frequency with the mass of the sample
};

/// Air that moves besides, around a straight line.
struct Gust {
  Vec3 point = Vec3::Zero(), along = Vec3::UnitZ();  ///< [m] of the line; unit, its direction
  Real radius = 1;                                   ///< [m] > 0; beyond it the air stands still
  Vec3 velocity = Vec3::Zero();                      ///< [m/s] in the middle

  Vec3 at(const Vec3& x) const {
    const Real off2 = (x - point).cross(along).squaredNorm() / (radius * radius);
    return off2 < 1 ? Vec3((1 - off2) * (1 - off2) * velocity) : Vec3(Vec3::Zero());
  }
};

/// What a hand does to a fluid in a step: it draws it along on its way, and leaves ink.
struct Stroke {
  Vec3 from = Vec3::Zero(), to = Vec3::Zero();  ///< [m]
  Vec3 along = Vec3::Zero();     ///< unit, the direction that it acts through; zero: it is round
  Real radius = Real(0.1);       ///< [m] > 0, at which it ends
  Vec3 velocity = Vec3::Zero();  ///< [m/s]; zero: it does not draw along
  Index number = 0;              ///< of strokes before it

  /// Part of its strength at x: (1 - (r / radius)^2)^2 at the distance r from its way.
  Real weight(const Vec3& x) const {
    const auto across = [&](const Vec3& d) { return Vec3(d - d.dot(along) * along); };
    const Vec3 way = across(to - from), d = across(x - from);
    const Real length2 = way.squaredNorm();
    const Real s = length2 > 0 ? std::clamp(d.dot(way) / length2, Real(0), Real(1)) : Real(0);
    const Real off2 = (d - s * way).squaredNorm() / (radius * radius);
    return off2 < 1 ? (1 - off2) * (1 - off2) : Real(0);
  }
};

/// What a ray from `eye` passes over as it turns from one direction into another: a cut.
struct CutSector {
  Vec3 eye;       ///< [m]
  Vec3 from, to;  ///< unit, less than half a turn apart
};

/// What samples hang on of another system, as the user calls it.
struct Carrier {
  std::string system, body;  ///< names, or the body's number
  std::string key;           ///< where the model's specification says so, for errors
};
/// A sample that goes through a carrier of its surface untouched, as it hangs on it.
struct Passing {
  Index sample, carrier;
};

/// A surface that others touch. A system with neither samples nor bodies touches nothing.
class Boundary {
 public:
  virtual ~Boundary() = default;
  virtual Samples samples() const { return {}; }
  virtual std::span<const SolidBody> bodies() const { return {}; }
  /// Its next so many steps are one for all others: bodies() are then to come from where they are now.
  virtual void begin_parts(int parts) { static_cast<void>(parts); }
  /// Whether its next step heeds supports.
  virtual bool takes_supports() const { return false; }
  /// Supports, to be heeded and filled in by the next step and then forgotten.
  virtual void rest_on(std::span<Support> supports) { static_cast<void>(supports); }
  /// What ties the bodies that yield as these supports to others, to be heeded and filled in likewise.
  virtual void link(BodyLinks& links) { static_cast<void>(links); }
  /// Adds what ties these of bodies() to others in the step that they have gone: groups are owners of solids.
  virtual void find_links(std::span<const Index> bodies, BodyLinks& out) const {
    static_cast<void>(bodies), static_cast<void>(out);
  }
  /// What rows of it that were told so have given.
  virtual void absorb(std::span<const LinkRow> rows) { static_cast<void>(rows); }
  /// Whether its own bodies collide with others' solids in its step, together with all else that they touch.
  virtual bool meets_solids() const { return false; }
  /// The solids of all those that do not, on their way through the next step of dt [s]: kinematic, since they
  /// have gone first, and the same ones in the same order as ever, unless systems were added.
  virtual void meet(std::span<const SolidBody> solids, Real dt) {
    static_cast<void>(solids), static_cast<void>(dt);
  }
  /// Whether it is a continuum that flows around all others' bodies and pushes them in its own step, which is
  /// before theirs: meet() is then told of every one. Those that have stepped are on their way from pose0 to
  /// pose; the others stand at pose0, and where nothing pushed them they would be at `pose`.
  virtual bool surrounds_bodies() const { return false; }
  /// What its last step gave to them, sorted by their number in that list.
  virtual std::span<const BodyImpulse> pushes() const { return {}; }
  /// Which of bodies() `text` calls: all colliders of what it names, at least one. Throws Error at `key`.
  virtual std::vector<Index> find_bodies(const std::string& key, const std::string& text) const {
    throw Error(Problem{.key = key,
                        .what = "is of a system without bodies to hang on",
                        .value = text,
                        .allowed = "a body of a rigid system, or a part of an obstacle"});
  }
  /// [kg] Of these of bodies() and of all that joints hold to them, each once, as far as forces move it.
  virtual double mass_of(std::span<const Index> bodies) const {
    static_cast<void>(bodies);
    return 0;
  }
  /// What its samples hang on of systems that step before it, the same ones in the same order as ever.
  virtual std::span<const Carrier> carriers() const { return {}; }
  /// out = samples that are not to touch what they hang on, in any order.
  virtual void find_passing(std::vector<Passing>& out) const { out.clear(); }
  /// Where carriers go in the next step; the first time also where samples begin to hang on them.
  virtual void ride(std::span<const SolidBody> carriers) { static_cast<void>(carriers); }
  /// What its last step gave to its carriers, sorted by these: BodyImpulse::body counts carriers.
  virtual std::span<const BodyImpulse> pulls() const { return {}; }
  /// out = samples at the ends of links longer than `most` times their rest length, which a solid may be let
  /// through (coupling/passage.h).
  virtual void find_overdrawn(Real most, std::vector<Index>& out) const {
    static_cast<void>(most);
    out.clear();
  }
  /// Whether its links tear between steps where they are drawn out far.
  virtual bool tears() const { return false; }
  /// Which of its samples hang together.
  virtual void find_pieces(Pieces& out) const { out.clear(); }
  /// Grasps, to be held by the next step in the same solve as all else, and then forgotten. False: it does
  /// not, and is to be pushed instead.
  virtual bool grasp(std::span<const Grasp> grasps) {
    static_cast<void>(grasps);
    return false;
  }
  /// out = a third of the vector areas [m^2] of the triangles around each sample, those of cloth and of other
  /// surfaces in the air; none if it has no triangles.
  virtual void find_areas(std::vector<Vec3>& out) const { out.clear(); }
  /// Air that moves besides in the next step.
  virtual void blow(const Gust& gust) { static_cast<void>(gust); }
  /// The box of a fluid that a hand stirs; that of a sheet has no height along z.
  virtual std::optional<Aabb> stirred_box() const { return {}; }
  /// Stirs it in the next step.
  virtual void stir(const Stroke& stroke) { static_cast<void>(stroke); }
  /// Opens the surface where a cut goes, between steps. True if it did.
  virtual bool open(const CutSector& cut) {
    static_cast<void>(cut);
    return false;
  }
  virtual void absorb(std::span<const SampleImpulse> impulses) { static_cast<void>(impulses); }
  /// After a step, when all that contact does to its samples has been absorbed: takes back of it what led
  /// them through each other.
  virtual void settle() {}
  virtual void absorb(std::span<const BodyImpulse> impulses) { static_cast<void>(impulses); }
};

/// What a medium says of a point.
struct MediumProbe {
  Vec3 velocity = Vec3::Zero();  ///< [m/s]
  Real density = 0;              ///< [kg/m^3]
  Real pressure = 0;             ///< [Pa]
  Real surface_height = 0;       ///< [m] along y; for media with a free surface
};

/// A continuum. The world immerses the samples of every boundary before the medium's step, each under a
/// number of its owner, and hands its reactions, an impulse for each sample, back afterwards.
class Medium {
 public:
  virtual ~Medium() = default;
  /// out[i] for x[i]; both [N].
  virtual void probe(std::span<const Vec3> x, std::span<MediumProbe> out) const = 0;
  /// Called once for each owner before the medium's step of length h [s].
  virtual void immerse(std::size_t owner, const Samples& samples, Real h) {
    static_cast<void>(owner), static_cast<void>(samples), static_cast<void>(h);
  }
  /// Impulses [N s] on the samples that `owner` immersed, [N]; the medium has taken their opposites.
  virtual void reaction(std::size_t owner, std::span<Vec3> impulses) const {
    static_cast<void>(owner), static_cast<void>(impulses);
  }
};

}  // namespace plenum::inline PLENUM_ABI
