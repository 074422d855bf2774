#include "plenum/solvers/rigid/assemblies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/geometry/spline.h"
#include "plenum/math/pose.h"
#include "plenum/solvers/rigid/materials.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {
namespace {

/// Of assemblies without a material: card houses with the default lean stand.
constexpr Real usual_friction = Real(0.6);
constexpr double degree = std::numbers::pi / 180;

Quat turn(double angle, const Vec3& axis) {
  return Quat(Eigen::AngleAxis<Real>(Real(angle), axis));
}

ShapeSpec box(const Vec3& half_extents) {
  return {.shape = Form::box, .half_extents = half_extents};
}
/// Along x.
ShapeSpec capsule(Real radius, Real half_length) {
  return {.shape = Form::capsule,
          .radius = radius,
          .half_height = std::max(half_length - radius, Real(1e-4)),
          .rotation = Vec3(0, 0, 90)};
}

/// [m^3] of a box or a capsule.
Real volume_of(const ShapeSpec& s) {
  if (s.shape == Form::box) return 8 * s.half_extents.prod();
  const Real end = s.radius * s.radius * std::numbers::pi_v<Real>;
  return end * (2 * s.half_height + s.radius * 4 / 3);
}

/// Adds bodies and joints that are given in the assembly's frame.
class Builder {
 public:
  Builder(const AssemblySpec& assembly, const std::string& key, Spec& spec)
      : assembly_(assembly),
        key_(key),
        start_(key + "start_body"),
        end_(key + "end_body"),
        spec_(spec),
        frame_{assembly.position, rotation_from_degrees(assembly.rotation)} {
    for (const BodySpec& b : spec.bodies) next_ += b.count_x * b.count_y * b.count_z;
  }

  /// Returns what joints call the body. part: of its name; "[k]" of the k-th if empty.
  std::string body(ShapeSpec shape, const Vec3& at, const Quat& rotation = Quat::Identity(),
                   const std::string& part = {}) {
    if (assembly_.palette >= 0) shape.palette = assembly_.palette;
    BodySpec b;
    if (!assembly_.name.empty())
      b.name = assembly_.name + (part.empty() ? '[' + std::to_string(made_) + ']' : '.' + part);
    b.shapes = {std::move(shape)};
    b.position = frame_ * at;
    b.orientation = (frame_.rotation * rotation).normalized().coeffs();
    b.velocity = assembly_.velocity;
    b.material = assembly_.material;
    b.density = assembly_.density;
    b.friction = assembly_.friction;
    if (b.friction == not_given && b.material.empty()) b.friction = usual_friction;
    b.restitution = assembly_.restitution;
    b.layer = assembly_.layer;
    spec_.bodies.push_back(std::move(b));
    ++made_;
    return std::to_string(next_++);
  }

  JointSpec& joint(JointType type, const std::string& a, const std::string& b, const Vec3& anchor,
                   const Vec3& axis = Vec3::UnitX()) {
    spec_.joints.push_back({.type = type,
                            .body_a = a,
                            .body_b = b,
                            .anchor = frame_ * anchor,
                            .axis = frame_.rotation * axis,
                            .second_axis = frame_.rotation * Vec3(Vec3::UnitY()),
                            .key_a = start_,
                            .key_b = end_});
    return spec_.joints.back();
  }

  /// [kg m^2] of a body that body() has made last or before, about a place far from its middle: as of a rod.
  Real inertia_about(const std::string& name, const Vec3& place) const {
    const BodySpec& b = spec_.bodies[spec_.bodies.size() - std::size_t(next_ - std::stoi(name))];
    const Real mass = material_of(spec_, b, 0, key_).density * volume_of(b.shapes[0]);
    return mass * (b.position - frame_ * place).squaredNorm() * 4 / 3;
  }

 private:
  const AssemblySpec& assembly_;
  std::string key_, start_, end_;
  Spec& spec_;
  Pose frame_;
  Index next_ = 0, made_ = 0;
};

/// Refuses gaps that leave nothing of what is between them.
void require_gap(const AssemblySpec& a, const std::string& key, Real most, const char* what) {
  if (a.gap < most) return;
  throw Error(Problem{.key = key + "gap",
                      .what = what,
                      .value = fmt::format("{:g}", double(a.gap)),
                      .allowed = fmt::format("less than {:g}", double(most)),
                      .remedy = "take a smaller gap or larger half_extents"});
}

/// Bricks in courses, each half a brick aside of the one below, with half bricks at its ends.
void wall(const AssemblySpec& a, const std::string& key, Builder& build) {
  const Vec3& e = a.half_extents;
  require_gap(a, key, e.x(), "leaves too little of half a brick, at the ends of every second course");
  const Real pitch = 2 * e.x() + a.gap, half_x = (e.x() - a.gap / 2) / 2;
  for (int r = 0; r < a.rows; ++r) {
    const Real y = e.y() * Real(2 * r + 1);
    const bool aside = r % 2 == 1;
    const int whole = aside ? a.count - 1 : a.count;
    for (int c = 0; c < whole; ++c) build.body(box(e), {pitch * (Real(c) - Real(whole - 1) / 2), y, 0});
    if (!aside) continue;
    const Real end = pitch * Real(a.count) / 2 - a.gap / 2 - half_x;
    for (const Real x : {-end, end}) build.body(box({half_x, e.y(), e.z()}), {x, y, 0});
  }
}

void pyramid(const AssemblySpec& a, Builder& build) {
  const Vec3& e = a.half_extents;
  const Real pitch = 2 * e.x() + a.gap;
  for (int r = 0; r < a.count; ++r)
    for (int c = 0; c < a.count - r; ++c)
      build.body(box(e), {pitch * (Real(c) - Real(a.count - r - 1) / 2), e.y() * Real(2 * r + 1), 0});
}

/// Evenly along the path, each across it.
void dominoes(const AssemblySpec& a, const std::string& key, Builder& build) {
  const Vec3& e = a.half_extents;
  std::vector<Vec3> path = a.path;
  const Real pitch = 2 * e.x() + a.gap;
  // Of one domino, too, a path that leads somewhere.
  const Real half = pitch * Real(std::max(a.count - 1, 1)) / 2, start = a.count > 1 ? -half : 0;
  if (path.empty()) path = {Vec3(start, 0, 0), Vec3(half, 0, 0)};
  const Spline curve(path);
  const Real room = 2 * e.x() * Real(a.count - 1);
  if (!(curve.length() > 0) || curve.length() < room * Real(1 - 1e-5))
    throw Error(Problem{.key = key + "path",
                        .what = curve.length() > 0 ? "is too short for its dominoes to stand apart [m]"
                                                   : "has no length: its points are all the same",
                        .value = curve.length() > 0 ? fmt::format("{:.4g}", curve.length()) : "",
                        .allowed = room > 0 ? fmt::format("{:.4g} m or more", room) : "",
                        .remedy = "draw it longer, or lower count"});
  for (int i = 0; i < a.count; ++i) {
    const Real s = a.count > 1 ? curve.length() * Real(i) / Real(a.count - 1) : 0;
    const auto [x, way] = curve.at(s);
    build.body(box(e), x + Vec3(0, e.y(), 0),
               turn(std::atan2(double(-way.z()), double(way.x())), Vec3::UnitY()));
  }
}

/// Tents of two cards that lean on each other, and a card from top to top of each two neighbours, on which
/// the next level's tent stands. half_extents: of a card, half its thickness along x, its length along y.
void card_house(const AssemblySpec& a, const std::string& key, Builder& build) {
  const Vec3& e = a.half_extents;
  const double lean = degree * double(a.lean);
  const auto s = Real(std::sin(lean)), c = Real(std::cos(lean));
  // From a leaning card's middle to its lowest and highest edge, to the edge by which it touches its partner,
  // and to the outermost.
  const Real rise = e.x() * s + e.y() * c, inner = e.x() * c + e.y() * s, outer = e.x() * c + e.y() * s;
  // Neighbouring tents leave a thickness of room, so that what lies on them reaches both tops.
  const Real pitch = 2 * (inner + outer) + 4 * e.x();
  require_gap(a, key, pitch / 2, "leaves too little of the cards that lie on the tents");
  Real ground = 0;
  for (int level = 0; level < a.rows; ++level) {
    const int tents = a.rows - level;
    for (int k = 0; k < tents; ++k) {
      const Real apex = pitch * (Real(k) - Real(tents - 1) / 2);
      for (const Real side : {Real(-1), Real(1)})
        build.body(box(e), {apex + side * (inner + a.gap / 2), ground + rise, 0},
                   turn(double(side) * lean, Vec3::UnitZ()));
    }
    ground += 2 * rise;
    for (int k = 0; k + 1 < tents; ++k)
      build.body(box({(pitch - a.gap) / 2, e.x(), e.z()}),
                 {pitch * (Real(k) - Real(tents - 2) / 2), ground + e.x(), 0});
    ground += 2 * e.x();
  }
}

/// Half a ring of wedges, cut along its radii.
void arch(const AssemblySpec& a, const std::string& key, Builder& build) {
  if (a.count < 2)
    throw Error(Problem{.key = key + "count",
                        .what = "makes half a ring of one stone, which would be flat",
                        .value = std::to_string(a.count),
                        .allowed = "2 or more"});
  const Real outer = a.radius + a.thickness;
  const double part = std::numbers::pi / a.count;
  for (int k = 0; k < a.count; ++k) {
    const double low = part * k, high = part * (k + 1), middle = (low + high) / 2;
    const auto on = [&](Real r, double angle) {
      return Vec3(r * Real(std::cos(angle)), r * Real(std::sin(angle)), 0);
    };
    const Vec3 centre = on((a.radius + outer) / 2, middle);
    ShapeSpec stone{.shape = Form::hull};
    for (const Real r : {a.radius, outer})
      for (const double angle : {low, high})
        for (const Real z : {-a.depth / 2, a.depth / 2})
          stone.points.push_back(on(r, angle) + Vec3(0, 0, z) - centre);
    build.body(std::move(stone), centre);
  }
}

/// Links along x, the first one's end at the origin.
void chain(const AssemblySpec& a, const std::string& key, Builder& build) {
  if (a.half_extents.y() > a.half_extents.x())
    throw Error(Problem{
        .key = key + "half_extents",
        .what = "makes links thicker than they are long",
        .value = fmt::format("[{}, {}, {}]", a.half_extents.x(), a.half_extents.y(), a.half_extents.z()),
        .allowed = fmt::format("a radius, along y, of at most {}", a.half_extents.x())});
  const Real length = 2 * a.half_extents.x() + a.gap;
  std::string last;
  for (int k = 0; k <= a.count; ++k) {
    const Vec3 between(length * Real(k), 0, 0);
    const bool is_start = k == 0, is_end = k == a.count;
    const std::string next = is_end ? a.end_body
                                    : build.body(capsule(a.half_extents.y(), a.half_extents.x()),
                                                 between + Vec3(length / 2, 0, 0));
    if (is_start ? a.start_held : is_end ? a.end_held : true)
      build.joint(JointType::ball, is_start ? a.start_body : last, next, between);
    last = next;
  }
}

/// Planks hinged to each other along a parabola from one bank to the other, each of the same length.
void bridge(const AssemblySpec& a, const std::string& key, Builder& build) {
  const auto at = [&](Real u) {  // u in [-1, 1]
    return Vec3(u * a.span / 2, a.sag * (u * u - 1), 0);
  };
  // Ends of planks, evenly along the parabola.
  constexpr int parts = 4096;
  std::vector<Real> length(parts + 1, 0);
  const auto u_of = [&](int k) { return Real(2 * k - parts) / parts; };
  for (int k = 1; k <= parts; ++k)
    length[std::size_t(k)] = length[std::size_t(k - 1)] + (at(u_of(k)) - at(u_of(k - 1))).norm();
  std::vector<Vec3> ends;
  for (int i = 0; i <= a.count; ++i) {
    const Real s = length.back() * Real(i) / Real(a.count);
    const auto k = std::clamp<std::ptrdiff_t>(
        std::lower_bound(length.begin(), length.end(), s) - length.begin(), 0, parts);
    ends.push_back(at(u_of(int(k))));
  }
  require_gap(a, key, length.back() / Real(2 * a.count),
              "leaves too little of its planks, which are as long as span and count say");
  std::string last = a.start_body;
  for (int i = 0; i < a.count; ++i) {
    const Vec3 &from = ends[std::size_t(i)], &to = ends[std::size_t(i + 1)], way = to - from;
    const Real half = (way.norm() - a.gap) / 2;
    const std::string plank =
        build.body(box({std::max(half, Real(1e-4)), a.half_extents.y(), a.half_extents.z()}), (from + to) / 2,
                   turn(std::atan2(double(way.y()), double(way.x())), Vec3::UnitZ()));
    if (i > 0 || a.start_held) build.joint(JointType::hinge, last, plank, from, Vec3::UnitZ());
    last = plank;
  }
  if (a.end_held) build.joint(JointType::hinge, last, a.end_body, ends.back(), Vec3::UnitZ());
}

/// A standing person that faces z, arms hanging a little aside. Lengths of segments as shares of the height:
/// Drillis & Contini 1966, "Body segment parameters", as in Winter 2009, "Biomechanics and motor control of
/// human movement", figure 4.1. Ranges of motion are rounded from the same chapter's normal ranges. Joints
/// are damped as a relaxed knee is in Wartenberg's pendulum test: of swings of 1.1 s each is about 0.64 of
/// the one before, which is a couple of 0.8/s times the limb's moment of inertia times its rate.
void ragdoll(const AssemblySpec& a, Builder& build) {
  const Real h = a.height;
  const auto at = [&](double x, double y, double z = 0) {
    return Vec3(h * Real(x), h * Real(y), h * Real(z));
  };
  const auto limb = [&](const char* part, const Vec3& from, const Vec3& to, double radius) {
    const Vec3 way = to - from;
    return build.body(capsule(h * Real(radius), way.norm() / 2), (from + to) / 2,
                      Quat::FromTwoVectors(Vec3(Vec3::UnitX()), way), part);
  };
  const Real slow_down = 3 * std::sqrt(h / Real(9.81));  // [s]; of children less, as of swings
  const auto damping = [&](const std::string& part, const Vec3& where) {
    return build.inertia_about(part, where) / slow_down;
  };
  const auto ball = [&](const std::string& of, const std::string& part, const Vec3& where, const Vec3& axis,
                        Real cone, Real twist) {
    JointSpec& j = build.joint(JointType::ball, of, part, where, axis);
    j.cone = cone, j.twist = twist;
    j.turn_damping = damping(part, where);
  };
  const auto hinge = [&](const std::string& of, const std::string& part, const Vec3& where, Real lower,
                         Real upper) {
    JointSpec& j = build.joint(JointType::hinge, of, part, where, Vec3::UnitX());
    j.motion.mode = AxisMode::limited, j.motion.lower = lower, j.motion.upper = upper;
    j.turn_damping = damping(part, where);
  };
  const Vec3 down = -Vec3::UnitY();
  const std::string pelvis =
      build.body(box(at(0.085, 0.045, 0.055)), at(0, 0.555), Quat::Identity(), "pelvis");
  const std::string chest = build.body(box(at(0.1, 0.1, 0.06)), at(0, 0.72), Quat::Identity(), "chest");
  const std::string head = limb("head", at(0, 0.845), at(0, 0.995), 0.055);
  ball(pelvis, chest, at(0, 0.61), Vec3::UnitY(), 35, 30);
  ball(chest, head, at(0, 0.835), Vec3::UnitY(), 45, 50);
  for (const double side : {-1.0, 1.0}) {
    const bool left = side > 0;
    const auto name = [&](const char* part) { return std::string(left ? "left_" : "right_") + part; };
    // Arms leave the body at 15 degrees.
    const double s = std::sin(15 * degree), c = std::cos(15 * degree);
    const Vec3 shoulder = at(side * 0.129, 0.8), elbow = shoulder + at(side * 0.186 * s, -0.186 * c),
               hand = elbow + at(side * 0.2 * s, -0.2 * c);
    const std::string upper_arm = limb(name("upper_arm").c_str(), shoulder, elbow, 0.028);
    const std::string forearm = limb(name("forearm").c_str(), elbow, hand, 0.024);
    ball(chest, upper_arm, shoulder, (elbow - shoulder).normalized(), 100, 60);
    hinge(upper_arm, forearm, elbow, -145, 0);
    const Vec3 hip = at(side * 0.055, 0.525), knee = at(side * 0.055, 0.285), ankle = at(side * 0.055, 0.039);
    const std::string thigh = limb(name("thigh").c_str(), hip, knee, 0.042);
    const std::string shank = limb(name("shank").c_str(), knee, ankle, 0.032);
    const std::string foot = build.body(box(at(0.028, 0.0195, 0.076)), at(side * 0.055, 0.0195, 0.035),
                                        Quat::Identity(), name("foot"));
    ball(pelvis, thigh, hip, down, 70, 40);
    hinge(thigh, shank, knee, 0, 140);
    ball(shank, foot, ankle, down, 35, 20);
  }
}

}  // namespace

void AssemblySpec::describe(Describer& d) {
  const auto length = [](const char* text) {
    return Info{.unit = "m", .min = 1e-4, .max = 1e4, .doc = text};
  };
  d("type", type, {.doc = "what is built", .required = true});
  d("name", name, {.doc = "its bodies are name[0], name[1] ...; of a ragdoll name.head, name.left_foot ..."});
  d("position", position,
    {.unit = "m",
     .min = -1e5,
     .max = 1e5,
     .doc =
         "of its frame, in which it stands on y = 0 along x, its middle at x = 0 unless it has a path; a "
         "chain runs along x from its "
         "first end at the origin, a bridge lies about the origin with its ends at y = 0 and x = -span/2 and "
         "span/2"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  const auto is = [&](const char* text, AssemblyType kind) { return d.when("type", text, type == kind); };
  const auto bricks = [&](const char* text) { d("half_extents", half_extents, length(text)); };
  const auto room = [&](const char* text) {
    d("gap", gap, {.unit = "m", .min = 0, .max = 1e3, .doc = text});
  };
  const char* const narrow = "between neighbours; 0.001 if not given";
  const auto number = [&](const char* text, int most) {
    d("count", count, {.min = 1, .max = double(most), .doc = text});
  };
  const auto ends = [&] {
    d("start_held", start_held, {.doc = "whether its first end is held"});
    if (d.when("start_held", "true", start_held))
      d("start_body", start_body, {.doc = "by which body; the world if empty"});
    d("end_held", end_held, {.doc = "whether its last end is held"});
    if (d.when("end_held", "true", end_held))
      d("end_body", end_body, {.doc = "by which body; the world if empty"});
  };
  if (is("wall", AssemblyType::wall)) {
    number("bricks in a course", 1000);
    d("rows", rows, {.min = 1, .max = 1000, .doc = "courses"});
    bricks("half of each side of a brick; 0.2 0.1 0.1 if not given"), room(narrow);
  }
  if (is("pyramid", AssemblyType::pyramid))
    number("bricks in the lowest course", 1000),
        bricks("half of each side of a brick; 0.2 0.1 0.1 if not given"), room(narrow);
  if (is("dominoes", AssemblyType::dominoes)) {
    number("of them", 10000);
    bricks("half their thickness, height and width; 0.0125 0.1 0.05 if not given");
    room("between neighbours where there is no path; half their height if not given");
    d("path", path,
      {.unit = "m",
       .min = -1e4,
       .max = 1e4,
       .doc = "points that they follow evenly, in its frame, not nearer than they are thick; none: straight "
              "along x",
       .max_count = 1000});
  }
  if (is("card_house", AssemblyType::card_house)) {
    d("rows", rows, {.min = 1, .max = 100, .doc = "levels"});
    bricks("half the thickness, length and width of a card; 0.006 0.17 0.12 if not given"), room(narrow);
    d("lean", lean,
      {.unit = "deg",
       .min = 5,
       .max = 45,
       .doc = "of cards from the vertical; friction must exceed its tangent"});
  }
  if (is("arch", AssemblyType::arch)) {
    number("stones", 200);
    d("radius", radius, length("inside"));
    d("thickness", thickness, length("of the ring; a half circle stands above 0.1075 of the middle radius"));
    d("depth", depth, length("along z"));
  }
  if (is("chain", AssemblyType::chain)) {
    number("links", 10000);
    bricks("half the length of a link along x, and its radius along y; 0.2 0.1 if not given");
    room(narrow), ends();
  }
  if (is("bridge", AssemblyType::bridge)) {
    number("planks", 1000);
    d("span", span, length("between its ends"));
    d("sag", sag, {.unit = "m", .min = 0, .max = 1e4, .doc = "of its middle"});
    bricks(
        "half the height and width of a plank along y and z, 0.04 0.5 if not given; its length follows from "
        "the span");
    room(narrow), ends();
  }
  if (is("ragdoll", AssemblyType::ragdoll)) d("height", height, length("of a standing person, facing z"));
  d("velocity", velocity, {.unit = "m/s", .min = -1e4, .max = 1e4, .doc = "of its bodies"});
  d("material", material,
    {.doc = "name of what its bodies are made of; what is not given otherwise is as there"});
  d("density", density,
    {.unit = "kg/m^3",
     .min = 1e-3,
     .max = 1e6,
     .doc = "of its bodies, if given, in place of the material's",
     .logarithmic = true});
  d("friction", friction,
    {.min = 0, .max = 10, .doc = "as of materials, if given, in place of theirs; 0.6 without either"});
  d("restitution", restitution, {.min = 0, .max = 1, .doc = "as of materials, if given, in place of theirs"});
  d("layer", layer, {.min = 0, .max = 31, .doc = "that its bodies are in"});
  d("palette", palette, {.min = -1, .max = 15, .doc = "which colour of the palette; -1: by turns"});
}

AssemblySpec AssemblySpec::completed() const {
  AssemblySpec whole = *this;
  if (half_extents.isZero(0)) switch (type) {
      case AssemblyType::dominoes:
        whole.half_extents = Vec3(Real(0.0125), Real(0.1), Real(0.05));
        break;
      case AssemblyType::card_house:
        whole.half_extents = Vec3(Real(0.006), Real(0.17), Real(0.12));
        break;
      case AssemblyType::bridge:
        whole.half_extents = Vec3(Real(0.2), Real(0.04), Real(0.5));
        break;
      default:
        whole.half_extents = Vec3(Real(0.2), Real(0.1), Real(0.1));
    }
  // Half of what dominoes fall over, so that each strikes the next well above its middle.
  if (gap == not_given) whole.gap = type == AssemblyType::dominoes ? whole.half_extents.y() : Real(1e-3);
  return whole;
}

Index AssemblySpec::num_bodies() const {
  switch (type) {
    case AssemblyType::wall:
      return count * rows + rows / 2;
    case AssemblyType::pyramid:
      return count * (count + 1) / 2;
    case AssemblyType::card_house:
      return rows * (rows + 1) + rows * (rows - 1) / 2;
    case AssemblyType::dominoes:
    case AssemblyType::arch:
    case AssemblyType::chain:
    case AssemblyType::bridge:
      return count;
    case AssemblyType::ragdoll:
      return 13;
  }
  return 0;
}

Index AssemblySpec::num_joints() const {
  if (type == AssemblyType::ragdoll) return 12;
  if (type != AssemblyType::chain && type != AssemblyType::bridge) return 0;
  return count - 1 + Index(start_held) + Index(end_held);
}

void assemble(const AssemblySpec& given, const std::string& key, Spec& spec) {
  const AssemblySpec assembly = given.completed();
  if (assembly.path.size() == 1)
    throw Error(Problem{.key = key + "path", .what = "must be two points or more", .value = "1"});
  if (!assembly.material.empty()) material_named(spec, assembly.material, key + "material");
  Builder build(assembly, key, spec);
  switch (assembly.type) {
    case AssemblyType::wall:
      return wall(assembly, key, build);
    case AssemblyType::pyramid:
      return pyramid(assembly, build);
    case AssemblyType::dominoes:
      return dominoes(assembly, key, build);
    case AssemblyType::card_house:
      return card_house(assembly, key, build);
    case AssemblyType::arch:
      return arch(assembly, key, build);
    case AssemblyType::chain:
      return chain(assembly, key, build);
    case AssemblyType::bridge:
      return bridge(assembly, key, build);
    case AssemblyType::ragdoll:
      return ragdoll(assembly, build);
  }
}

Spec assembled(const Spec& spec) {
  Spec whole{.bodies = spec.bodies, .materials = spec.materials, .geometries = spec.geometries};
  for (std::size_t k = 0; k < spec.assemblies.size(); ++k)
    assemble(spec.assemblies[k], "assemblies[" + std::to_string(k) + "].", whole);
  // The scene's own joints first: that is how they are numbered.
  whole.joints.insert(whole.joints.begin(), spec.joints.begin(), spec.joints.end());
  return whole;
}

}}  // namespace plenum::PLENUM_ABI::rigid
