// Debug drawing of rigid bodies: what debug.h finds, as lines, points and tinted surfaces.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "plenum/geometry/wireframe.h"
#include "plenum/solvers/rigid/debug.h"
#include "plenum/solvers/rigid/detail/joint_rows.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using rigid::AxisMode;
using rigid::ContactMark;
using rigid::JointType;
using rigid::MarkScale;

constexpr Real pi = std::numbers::pi_v<Real>;

/// 1, 2 or 5 times a power of ten, at least x > 0.
Real round_up(Real x) {
  const double power = std::pow(10.0, std::floor(std::log10(double(x))));
  const double part = double(x) / power;
  return static_cast<Real>(power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10));
}

/// Draws with lines and points whose sizes go with those of the bodies.
struct Pen {
  const DebugDraw& wanted;
  MarkScale scale;
  DrawableSink& sink;

  Real thin() const { return Real(0.01) * scale.reach; }
  void lines(const Wireframe& w, int colour, Look look = Look::mark, Real thickness = 1) const {
    if (!w.segments.empty())
      sink.lines(
          {.x = w.x, .segments = w.segments, .radius = thickness * thin(), .look = look, .palette = colour});
  }
  void points(const std::vector<Vec3>& x, int colour) const {
    if (!x.empty()) sink.spheres({.x = x, .radius = 3 * thin(), .look = Look::mark, .palette = colour});
  }
  /// The line for a force, no longer than six bodies reach.
  Vec3 length_of(const Vec3& force) const {
    const Real per_newton = wanted.force_scale > 0 ? wanted.force_scale : scale.reach / scale.weight;
    const Vec3 line = per_newton * force;
    const Real most = 6 * scale.reach, norm = line.norm();
    return norm > most ? Vec3(most / norm * line) : line;
  }
};

Pose pose_of(const Rigid::State& state, const Rigid::Collider& c) {
  const Pose body = state.frames.pose(c.body);
  return {body * c.local.position, (body.rotation * c.local.rotation).normalized()};
}

void draw_shapes(const Rigid::Model& model, const Rigid::State& state, const Pen& pen) {
  Wireframe awake, quiet, driven, sensors;
  for (const Rigid::Collider& c : model.colliders) {
    Wireframe& lines = c.sensor                                           ? sensors
                       : model.motion[c.body] == Rigid::Motion::kinematic ? driven
                       : model.motion[c.body] == Rigid::Motion::fixed || state.rest.island[c.body] >= 0
                           ? quiet
                           : awake;
    add_wireframe(model.shapes[c.shape], pose_of(state, c), lines);
  }
  pen.lines(awake, mark_black, Look::outline);
  pen.lines(quiet, mark_grey, Look::outline);
  pen.lines(driven, mark_magenta, Look::outline);
  pen.lines(sensors, mark_green, Look::outline);
}

void draw_boxes(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params,
                const Pen& pen) {
  Wireframe lines;
  for (const Aabb& box : rigid::broad_boxes(model, state, params))
    if (box.low.allFinite() && box.high.allFinite()) add_box(box, lines);
  pen.lines(lines, mark_blue, Look::outline);
}

void draw_islands(const Rigid::Model& model, const Rigid::State& state, const Pen& pen) {
  constexpr int hues = mark_sleeping_island - mark_island;
  const std::vector<Index> island = rigid::islands(model, state);
  for (std::size_t k = 0; k < model.own_colliders(); ++k) {
    const Rigid::Collider& c = model.colliders[k];
    const TriangleMesh& mesh = *model.meshes[k].mesh;
    if (island[c.body] < 0 || mesh.triangles.empty()) continue;
    const int first = state.rest.island[c.body] >= 0 ? mark_sleeping_island : mark_island;
    pen.sink.triangles({.x = mesh.x,
                        .triangles = mesh.triangles,
                        .pose = pose_of(state, c),
                        .scale = model.meshes[k].scale,
                        .lasts = true,
                        .look = Look::mark,
                        .palette = first + island[c.body] % hues});
  }
}

void draw_contacts(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params,
                   const Pen& pen) {
  Wireframe forces, frictions;
  std::vector<Vec3> points;
  std::vector<Real> values;
  for (const ContactMark& c : rigid::contact_marks(model, state, params)) {
    for (int q = 0; q < c.count; ++q) {
      forces.add(c.x[q], c.x[q] + pen.length_of(c.force[q] * c.normal));
      points.push_back(c.x[q]);
      values.push_back(c.force[q]);
    }
    if (!c.friction.isZero()) frictions.add(c.centre, c.centre + pen.length_of(c.friction));
  }
  if (pen.wanted.contacts && !points.empty()) {
    const ColourBy colour{.values = values,
                          .quantity = "contact force",
                          .unit = "N",
                          .low = 0,
                          .high = round_up(2 * pen.scale.weight)};
    pen.sink.lines({.x = forces.x,
                    .segments = forces.segments,
                    .radius = 2 * pen.thin(),
                    .look = Look::mark,
                    .colour = colour,
                    .colours_segments = true});
    pen.sink.spheres({.x = points, .radius = 4 * pen.thin(), .look = Look::mark, .colour = colour});
  }
  if (pen.wanted.friction) pen.lines(frictions, mark_red, Look::mark, 2);
}

/// A joint's frames where its bodies are.
struct JointPlace {
  Vec3 centre_a, centre_b;  ///< [m] of the bodies; of the world, the anchor
  Vec3 a, b;                ///< [m] anchors
  Quat turn_a, turn_b;
  double value[6];
};
JointPlace place_of(const Rigid::Joint& joint, const Rigid::State& state) {
  const auto body = [&](Index i) { return i < 0 ? Pose{} : state.frames.pose(static_cast<std::size_t>(i)); };
  const auto precise = [&](Index i) {
    const Pose p = body(i);
    return detail::JointPose{p.position.cast<double>(), p.rotation.cast<double>().normalized()};
  };
  const Pose a = body(joint.a), b = body(joint.b);
  JointPlace place;
  place.a = a * joint.in_a.position, place.b = b * joint.in_b.position;
  place.turn_a = a.rotation * joint.in_a.rotation, place.turn_b = b.rotation * joint.in_b.rotation;
  place.centre_a = joint.a < 0 ? place.a : a.position;
  place.centre_b = joint.b < 0 ? place.b : b.position;
  detail::joint_values(joint, precise(joint.a), precise(joint.b), place.value);
  return place;
}

/// A sector from `lower` to `upper` [rad] about an axis, 0 being along `zero`, and a needle at `value`.
void add_dial(const Vec3& centre, const Vec3& axis, const Vec3& zero, Real lower, Real upper, Real value,
              Real radius, Wireframe& limits, Wireframe& needles) {
  const auto at = [&](Real angle) -> Vec3 { return radius * (Eigen::AngleAxis<Real>(angle, axis) * zero); };
  add_arc(centre, axis, at(lower), std::min(upper - lower, 2 * pi), limits);
  limits.add(centre, centre + at(lower)), limits.add(centre, centre + at(upper));
  needles.add(centre, centre + at(value));
}

/// What a joint's limits leave, and where it stands (joint_rows.h says what its freedoms are).
void add_limits(const Rigid::Joint& joint, const JointPlace& p, Real radius, Wireframe& limits,
                Wireframe& needles) {
  const auto axis = [&](int k) -> const Rigid::JointAxis& { return joint.axes[std::size_t(k)]; };
  const auto value = [&](int k) { return static_cast<Real>(p.value[k]); };
  const Vec3 xa = p.turn_a * Vec3::UnitX(), ya = p.turn_a * Vec3::UnitY();
  if (joint.type == JointType::distance || joint.type == JointType::rope) {
    limits.add(p.a, p.b);
    return;
  }
  const bool slides = joint.type == JointType::slider || joint.type == JointType::six_axes;
  for (int k = 0; k < 3 && slides; ++k) {
    if (axis(k).mode != AxisMode::limited) continue;
    const Vec3 along = p.turn_a * Vec3::Unit(k),
               tick = Real(0.3) * radius * (p.turn_a * Vec3::Unit((k + 1) % 3));
    limits.add(p.a + axis(k).lower * along, p.a + axis(k).upper * along);
    for (const Real end : {axis(k).lower, axis(k).upper})
      limits.add(p.a + end * along - tick, p.a + end * along + tick);
  }
  const auto dial = [&](int k, const Vec3& about, const Vec3& zero) {
    if (axis(k).mode == AxisMode::limited)
      add_dial(p.a, about, zero, axis(k).lower, axis(k).upper, value(k), radius, limits, needles);
  };
  if (joint.type == JointType::hinge) dial(5, xa, ya);
  if (joint.type == JointType::ball) {
    const Vec3 xb = p.turn_b * Vec3::UnitX(), yb = p.turn_b * Vec3::UnitY();
    if (axis(3).mode == AxisMode::limited) {
      const Real cone = axis(3).upper;
      const Vec3 rim = radius * (std::cos(cone) * xa + std::sin(cone) * ya);
      const Vec3 middle = radius * std::cos(cone) * xa;
      add_arc(p.a + middle, xa, rim - middle, 2 * pi, limits);
      for (int k = 0; k < 4; ++k) limits.add(p.a, p.a + Eigen::AngleAxis<Real>(Real(k) * pi / 2, xa) * rim);
      needles.add(p.a, p.a + radius * xb);
    }
    // About B's axis, so that no twist is where A's other axis comes to lie by the shortest turn.
    if (axis(4).mode == AxisMode::limited)
      add_dial(p.a, xb, Eigen::AngleAxis<Real>(-value(4), xb) * yb, axis(4).lower, axis(4).upper, value(4),
               Real(0.6) * radius, limits, needles);
  }
  if (joint.type == JointType::six_axes) {
    const Vec3 y = Eigen::AngleAxis<Real>(value(3), xa) * ya, z = p.turn_b * Vec3::UnitZ();
    dial(3, xa, ya);
    dial(4, y, xa);
    dial(5, z, Eigen::AngleAxis<Real>(value(4), y) * xa);
  }
}

void draw_joints(const Rigid::Model& model, const Rigid::State& state, const Pen& pen) {
  Wireframe arms, limits, needles, forces;
  std::array<Wireframe, 3> axes;
  std::vector<Vec3> anchors;
  std::vector<Real> values;
  const Real radius = Real(0.4) * pen.scale.reach;
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const Rigid::Joint& joint = model.joints[k];
    if (state.joints.broken[k]) continue;
    const JointPlace p = place_of(joint, state);
    arms.add(p.centre_a, p.a), arms.add(p.centre_b, p.b);
    anchors.push_back(p.a), anchors.push_back(p.b);
    // Only directions that mean something: a ball without limits and a rope have none.
    const bool turns = joint.type != JointType::distance && joint.type != JointType::rope;
    const bool one =
        joint.type == JointType::hinge || joint.type == JointType::slider || joint.type == JointType::ball;
    for (int c = 0; turns && c < (one ? 1 : 3); ++c)
      axes[std::size_t(c)].add(p.a, p.a + radius * (p.turn_a * Vec3::Unit(c)));
    add_limits(joint, p, radius, limits, needles);
    forces.add(p.b, p.b + pen.length_of(state.joints.force[k]));
    values.push_back(state.joints.force[k].norm());
  }
  pen.lines(arms, mark_white);
  constexpr std::array<MarkColour, 3> colours = {mark_red, mark_green, mark_blue};
  for (std::size_t c = 0; c < 3; ++c) pen.lines(axes[c], colours[c]);
  pen.lines(limits, mark_yellow);
  pen.lines(needles, mark_magenta, Look::mark, 2);
  pen.points(anchors, mark_yellow);
  if (!values.empty())
    pen.sink.lines({.x = forces.x,
                    .segments = forces.segments,
                    .radius = 2 * pen.thin(),
                    .look = Look::mark,
                    .colour = {.values = values, .quantity = "joint force", .unit = "N"},
                    .colours_segments = true});
}

void draw_centres(const Rigid::Model& model, const Rigid::State& state, const Pen& pen) {
  std::array<Wireframe, 3> axes;
  std::vector<Vec3> centres;
  for (std::size_t i = 0; i < model.own_bodies(); ++i) {
    if (model.motion[i] != Rigid::Motion::dynamic) continue;
    const Pose body = state.frames.pose(i);
    const Real length = Real(0.5) * model.reach[i];
    for (int c = 0; c < 3; ++c) axes[std::size_t(c)].add(body.position, body * Vec3(length * Vec3::Unit(c)));
    centres.push_back(body.position);
  }
  constexpr std::array<MarkColour, 3> colours = {mark_red, mark_green, mark_blue};
  for (std::size_t c = 0; c < 3; ++c) pen.lines(axes[c], colours[c]);
  pen.points(centres, mark_white);
}

}  // namespace

void Rigid::debug(const Model& model, const State& state, const Params& params, const DebugDraw& wanted,
                  DrawableSink& sink) {
  if (!wanted.any()) return;
  const Pen pen{wanted, rigid::mark_scale(model, state, params), sink};
  if (wanted.islands) draw_islands(model, state, pen);
  if (wanted.shapes) draw_shapes(model, state, pen);
  if (wanted.boxes) draw_boxes(model, state, params, pen);
  if (wanted.centres) draw_centres(model, state, pen);
  if (wanted.joints) draw_joints(model, state, pen);
  if (wanted.contacts || wanted.friction) draw_contacts(model, state, params, pen);
}

}  // namespace plenum::inline PLENUM_ABI
