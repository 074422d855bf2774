#include "plenum/solvers/rigid/detail/build_joints.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/solvers/rigid/detail/body_names.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using rigid::AxisMode;
using rigid::AxisSpec;
using rigid::Drive;
using rigid::JointSpec;
using rigid::JointType;
using JointAxis = Rigid::JointAxis;
using D3 = Vector3<double>;
using Q = Quaternion<double>;

constexpr double degree = std::numbers::pi / 180;

/// The joint's axes in the world: x along `axis`, y towards `second`, or any if that is parallel.
Q axes_of(const JointSpec& spec, const std::string& key) {
  const double length = spec.axis.cast<double>().norm();
  if (!(length > 1e-9)) throw Error(Problem{.key = key + "axis", .what = "must not be zero"});
  const D3 x = spec.axis.cast<double>() / length;
  D3 second = spec.second_axis.cast<double>();
  D3 y = second - x.dot(second) * x;
  if (!(y.norm() > 1e-6 * second.norm()) || second.isZero()) {
    if (spec.type == JointType::universal || spec.type == JointType::six_axes)
      throw Error(Problem{.key = key + "second_axis", .what = "must not be parallel to axis"});
    second = D3::Unit(std::abs(x.y()) < 0.7 ? 1 : 2);
    y = second - x.dot(second) * x;
  }
  y.normalize();
  Matrix3<double> r;
  r << x, y, x.cross(y);
  return Q(r).normalized();
}

JointAxis locked() {
  JointAxis axis;
  axis.mode = AxisMode::locked;
  return axis;
}
JointAxis limited(double lower, double upper) {
  JointAxis axis;
  axis.mode = AxisMode::limited;
  axis.lower = Real(lower), axis.upper = Real(upper);
  return axis;
}
JointAxis spring(double target, Real stiffness, Real damping, Real strength = Real(1e30)) {
  JointAxis axis;
  axis.drive = Drive::spring;
  axis.target = Real(target), axis.stiffness = stiffness, axis.damping = damping;
  axis.strength = strength;
  return axis;
}
/// Throws Error for a drive that could not push, or that nothing would come of.
void check_drive(const AxisSpec& spec, const std::string& key) {
  if (spec.drive == Drive::none) return;
  if (spec.mode == AxisMode::locked)
    throw Error(Problem{.key = key + ".drive",
                        .what = "is given to an axis that is locked",
                        .remedy = "write \"mode\": \"free\" or \"limited\", or leave the drive out"});
  if (!(spec.strength > 0))
    throw Error(Problem{.key = key + ".strength",
                        .what = "is 0: the drive would not push",
                        .allowed = "above 0",
                        .remedy = "leave it out for a drive of any strength, or leave the drive out"});
  if (spec.drive != Drive::spring || spec.stiffness > 0) return;
  if (!(spec.damping > 0))
    throw Error(Problem{.key = key + ".stiffness",
                        .what = "is not given, nor is damping: the spring would not pull",
                        .allowed = "above 0"});
  if (spec.target != 0)
    throw Error(Problem{.key = key + ".target",
                        .what = "is given to a spring without stiffness, which damps alone",
                        .remedy = "give stiffness, or leave the target out"});
}

/// `unit`: 1 for lengths, a degree for angles.
JointAxis axis_of(const AxisSpec& spec, double unit, const std::string& key) {
  JointAxis axis;
  check_drive(spec, key);
  axis.mode = spec.mode, axis.drive = spec.drive;
  if (spec.mode == AxisMode::limited) {
    if (spec.lower > spec.upper)
      throw Error(Problem{.key = key + ".lower",
                          .what = "is above upper",
                          .value = fmt::format("{}", spec.lower),
                          .allowed = "at most " + fmt::format("{}", spec.upper)});
    if (spec.drive == Drive::spring && (spec.target < spec.lower || spec.target > spec.upper))
      throw Error(Problem{.key = key + ".target",
                          .what = "is beyond the limits of its axis, where the spring never gets",
                          .value = fmt::format("{}", spec.target),
                          .allowed = fmt::format("{} to {}", spec.lower, spec.upper),
                          .remedy = "widen the limits, or press against one by a motor of limited strength"});
    axis.lower = Real(unit * spec.lower), axis.upper = Real(unit * spec.upper);
  }
  axis.speed = spec.speed, axis.target = Real(unit * spec.target);
  axis.stiffness = spec.stiffness, axis.damping = spec.damping, axis.strength = spec.strength;
  return axis;
}

/// The three turns of six axes are one after the other, x, y and z (Cardan angles): at 90 degrees about y the
/// other two are the same, and those end at half a turn. Throws Error for what asks for more.
void check_turns(const JointSpec& s, const std::string& key) {
  const auto within = [&](const AxisSpec& axis, const char* name, Real most) {
    if (axis.mode == AxisMode::limited && (axis.lower < -most || axis.upper > most))
      throw Error(Problem{.key = key + name,
                          .what = "is limited beyond what the turns of six axes can tell apart",
                          .value = fmt::format("{}", axis.lower < -most ? axis.lower : axis.upper),
                          .allowed = "-" + std::to_string(int(most)) + " to " + std::to_string(int(most)) +
                                     " degrees; a hinge or universal joint turns farther"});
  };
  const auto is_used = [](const AxisSpec& axis) {
    return axis.mode != AxisMode::free || axis.drive != rigid::Drive::none;
  };
  within(s.turn_x, "turn_x", 180), within(s.turn_y, "turn_y", 80), within(s.turn_z, "turn_z", 180);
  if (s.turn_y.mode == AxisMode::free && (is_used(s.turn_x) || is_used(s.turn_y) || is_used(s.turn_z)))
    throw Error(Problem{.key = key + "turn_y",
                        .what = "is free while another of the three turns is not, or it is driven",
                        .allowed =
                            "locked, or limited to within -80 to 80 degrees; for a turn without limits a "
                            "hinge, or this joint's `axis` along it with turn_x free"});
}

Pose local(const Rigid::State& state, Index body, const D3& x, const Q& q) {
  if (body < 0) return {x.cast<Real>(), q.cast<Real>()};
  const Q of = state.frames.rotation(std::size_t(body)).cast<double>().normalized();
  const D3 at = of.conjugate() * (x - state.frames.x[std::size_t(body)].cast<double>());
  return {at.cast<Real>(), (of.conjugate() * q).normalized().cast<Real>()};
}

}  // namespace

void build_joints(const Rigid::Spec& spec, Rigid::Model& model, Rigid::State& state) {
  const BodyNames names(spec);
  const auto add = [&](std::size_t k) {
    const JointSpec& s = spec.joints[k];
    const std::string key = "joints[" + std::to_string(k) + "].";
    Rigid::Joint joint;
    joint.type = s.type;
    joint.a = names.find(s.key_a.empty() ? key + "body_a" : s.key_a, s.body_a);
    joint.b = names.find(s.key_b.empty() ? key + "body_b" : s.key_b, s.body_b);
    const auto moves = [&](Index i) {
      return i >= 0 && model.motion[std::size_t(i)] == rigid::Motion::dynamic;
    };
    if (joint.a == joint.b)
      throw Error(Problem{
          .key = key + "body_b",
          .what = joint.a < 0 ? "is not given, nor is body_a: a joint needs a body" : "is body_a itself",
          .value = s.body_b});
    if (!moves(joint.a) && !moves(joint.b))
      throw Error(Problem{.key = key + "body_b", .what = "cannot move, and neither can body_a"});
    if (s.type == JointType::mouse && joint.b < 0)
      throw Error(Problem{.key = key + "body_b", .what = "is not given: a mouse pulls a body"});
    const bool spans = s.type == JointType::distance || s.type == JointType::rope,
               pulls = s.type == JointType::mouse;
    const D3 anchor = s.anchor.cast<double>(), at = pulls ? D3(s.target.cast<double>()) : anchor,
             end = spans ? D3(s.anchor_b.cast<double>()) : anchor;
    const Q q = spans || pulls ? Q(1, 0, 0, 0) : axes_of(s, key);
    joint.in_a = local(state, joint.a, at, q);
    joint.in_b = local(state, joint.b, end, q);
    for (int i = 0; i < 6; ++i)
      if (!spans && !pulls && (i < 3 || s.type == JointType::slider || s.type == JointType::fixed))
        joint.axes[i] = locked();
    switch (s.type) {
      case JointType::ball:
        if (s.cone < 180) joint.axes[3] = limited(-1e9, degree * s.cone);
        if (s.twist < 180) joint.axes[4] = limited(-degree * s.twist, degree * s.twist);
        break;
      case JointType::hinge:
        joint.axes[3] = joint.axes[4] = locked();
        joint.axes[5] = axis_of(s.motion, degree, key + "motion");
        break;
      case JointType::slider:
        joint.axes[0] = axis_of(s.motion, 1, key + "motion");
        break;
      case JointType::universal:
        joint.axes[3] = locked();
        joint.axes[4] = axis_of(s.turn_x, degree, key + "turn_x");
        joint.axes[5] = axis_of(s.turn_y, degree, key + "turn_y");
        break;
      case JointType::six_axes:
        check_turns(s, key);
        joint.axes = {axis_of(s.x, 1, key + "x"),
                      axis_of(s.y, 1, key + "y"),
                      axis_of(s.z, 1, key + "z"),
                      axis_of(s.turn_x, degree, key + "turn_x"),
                      axis_of(s.turn_y, degree, key + "turn_y"),
                      axis_of(s.turn_z, degree, key + "turn_z")};
        break;
      case JointType::distance:
      case JointType::rope: {
        const double length = s.length > 0 ? double(s.length) : (end - at).norm();
        if (!(length > 0))
          throw Error(Problem{.key = key + "length", .what = "must be given where both ends coincide"});
        if (s.type == JointType::distance && s.damping > 0 && !(s.stiffness > 0))
          throw Error(Problem{.key = key + "damping",
                              .what = "is given to a rod that is rigid, as it has no stiffness",
                              .remedy = "give stiffness, or leave the damping out"});
        if (s.type == JointType::rope)
          joint.axes[0] = limited(-1e9, length);
        else if (s.stiffness > 0)
          joint.axes[0] = spring(length, s.stiffness, s.damping);
        else
          joint.axes[0] = locked(), joint.axes[0].lower = Real(length);
        break;
      }
      case JointType::mouse: {
        for (const auto& [name, value] :
             {std::pair("strength", s.strength), std::pair("frequency", s.frequency)})
          if (!(value > 0))
            throw Error(
                Problem{.key = key + name, .what = "is 0: the mouse would not pull", .allowed = "above 0"});
        // The reduced mass: two bodies' centres on a spring swing like one on a wall (Landau & Lifshitz,
        // "Mechanics", 13).
        const auto inverse_mass = [&](Index i) {
          return i < 0 ? 0.0 : double(state.frames.inverse_mass[std::size_t(i)]);
        };
        const double mass = 1 / (inverse_mass(joint.a) + inverse_mass(joint.b)),
                     omega = 2 * std::numbers::pi * double(s.frequency);
        for (std::size_t i = 0; i < 3; ++i)
          joint.axes[i] = spring(0, Real(mass * omega * omega),
                                 Real(2 * double(s.damping_ratio) * omega * mass), s.strength);
        break;
      }
      case JointType::fixed:
        break;
    }
    joint.turn_damping = s.turn_damping;
    joint.break_force = s.break_force, joint.break_torque = s.break_torque;
    model.joints.push_back(joint);
    if (!s.collide && joint.a >= 0 && joint.b >= 0)
      model.apart.push_back({std::min(joint.a, joint.b), std::max(joint.a, joint.b)});
  };
  Refusals refusals;
  for (std::size_t k = 0; k < spec.joints.size(); ++k) refusals.keep([&] { add(k); });
  refusals.refuse();
  const auto order = [](const Index2& a, const Index2& b) {
    return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
  };
  std::sort(model.apart.begin(), model.apart.end(), order);
  model.apart.erase(std::unique(model.apart.begin(), model.apart.end()), model.apart.end());
  const std::size_t n = model.joints.size();
  Rigid::Joints& j = state.joints;
  j.status.assign(n, decltype(j.status)::value_type::Zero());
  j.pull.assign(n, Vec3::Zero());
  j.owed.assign(n, 0);
  j.force.assign(n, Vec3::Zero());
  j.torque.assign(n, Vec3::Zero());
  j.turn.assign(n, Vec2::Zero());
  j.broken.assign(n, 0);
  j.just_broken.reserve(n);
}

}}  // namespace plenum::PLENUM_ABI::detail
