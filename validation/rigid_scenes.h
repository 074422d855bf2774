#pragma once
// The benchmark scenes of rigid bodies that engines are compared by: y up, g = 9.81 m/s^2, steps of 1/60 s,
// 1000 kg/m^3, friction 0.5, no restitution, no damping, a floor box whose top is y = 0.
#include <algorithm>
#include <cmath>

#include "plenum/solvers/rigid/rigid.h"

namespace plenum::validation {

/// A model of rigid bodies that steps by itself.
struct RigidScene {
  Rigid::Model model;
  Rigid::State state;
  Rigid::Params params;
  Rigid::Workspace workspace;

  /// Without sleep, which would stop what is to be measured.
  explicit RigidScene(const Rigid::Spec& spec) {
    Rigid::build(spec, model, state);
    params.sleeping = false;
  }
  Report step(double dt = 1.0 / 60) {
    return Rigid::step(model, state, params, workspace, static_cast<Real>(dt));
  }
  /// Of the frames that shapes are given in.
  std::vector<Pose> poses() const {
    std::vector<Pose> poses;
    for (std::size_t i = 0; i < state.frames.size(); ++i) {
      const Pose pose = state.frames.pose(static_cast<Index>(i));
      const Pose& origin = model.origin[i];
      poses.push_back({pose * origin.position, pose.rotation * origin.rotation});
    }
    return poses;
  }
  /// About the principal axes [kg m^2].
  void set_inertia(std::size_t body, const Vector3<double>& moments) {
    model.inertia[body] = moments.cast<Real>();
    state.frames.inverse_inertia[body] = moments.cwiseInverse().cast<Real>();
  }
  /// [rad/s] about the principal axes.
  Vector3<double> body_spin(std::size_t body = 0) const {
    return state.frames.rotation(body).cast<double>().conjugate() * state.frames.w[body].cast<double>();
  }
};

inline rigid::BodySpec box(const Vec3& half_extents, const Vec3& position) {
  rigid::BodySpec body;
  body.shapes[0].half_extents = half_extents;
  body.position = position;
  return body;
}
inline rigid::BodySpec fixed_box(const Vec3& half_extents, const Vec3& position) {
  rigid::BodySpec body = box(half_extents, position);
  body.motion = rigid::Motion::fixed;
  return body;
}
inline rigid::BodySpec floor_box() {
  return fixed_box(Vec3(50, Real(0.5), 50), Vec3(0, Real(-0.5), 0));
}
inline rigid::BodySpec sphere(double radius, const Vector3<double>& at) {
  rigid::BodySpec body;
  body.shapes[0].shape = rigid::Form::sphere;
  body.shapes[0].radius = Real(radius);
  body.position = at.cast<Real>();
  return body;
}
/// A floor tilted by `angle` [rad] down the x axis, through the origin.
inline rigid::BodySpec slope(double angle, double friction, double size = 1) {
  rigid::BodySpec body = fixed_box(Real(size) * Vec3(500, 1, 50),
                                   Real(size) * Vec3(Real(-std::sin(angle)), Real(-std::cos(angle)), 0));
  body.rotation = Vec3(0, 0, Real(-angle * 180 / 3.14159265358979));
  body.friction = Real(friction);
  return body;
}
/// The way down it.
inline Vector3<double> down(double angle) {
  return {std::cos(angle), -std::sin(angle), 0};
}
inline rigid::BodySpec unit_box(double x, double y, double z) {
  return box(Vec3::Constant(Real(0.5)), Vec3(Real(x), Real(y), Real(z)));
}

/// A box of whole extents `size` [m] as a compound of four, flush beside each other.
inline rigid::BodySpec box_of_four(const Vec3& size, const Vec3& at) {
  rigid::BodySpec body;
  body.position = at;
  body.shapes.resize(4);
  for (std::size_t k = 0; k < 4; ++k) {
    body.shapes[k].half_extents = Vec3(size.x() / 4, size.y() / 2, size.z() / 4);
    body.shapes[k].position = Vec3((k & 1 ? 1 : -1) * size.x() / 4, 0, (k & 2 ? 1 : -1) * size.z() / 4);
  }
  return body;
}
/// A tower of cubes of four boxes each.
inline Rigid::Spec crates_of_four(int count, double width) {
  Rigid::Spec spec{.bodies = {floor_box()}};
  for (int i = 0; i < count; ++i)
    spec.bodies.push_back(box_of_four(Vec3::Constant(Real(width)), Vec3(0, Real((i + 0.5) * width), 0)));
  return spec;
}
/// Four crates of `ratio` times the density of a pallet of this width [m] that is one body, with four feet.
inline Rigid::Spec laden_pallet(double width, double ratio) {
  const auto at = [&](double x, double y, double z) {
    return Vec3(Real(x * width), Real(y * width), Real(z * width));
  };
  Rigid::Spec spec{.bodies = {floor_box(), box(at(0.5, 0.1, 0.5), at(0, 0.2, 0))}};
  rigid::BodySpec& pallet = spec.bodies.back();
  pallet.shapes[0].position = at(0, 0.1, 0);
  pallet.density = Real(1000 / ratio);
  for (int k = 0; k < 4; ++k) {
    pallet.shapes.push_back(pallet.shapes[0]);
    pallet.shapes.back().half_extents = at(0.08, 0.1, 0.08);
    pallet.shapes.back().position = at(k & 1 ? 0.4 : -0.4, -0.1, k & 2 ? 0.4 : -0.4);
  }
  for (int k = 0; k < 4; ++k)
    spec.bodies.push_back(box(at(0.23, 0.5, 0.23), at(k & 1 ? 0.25 : -0.25, 0.9, k & 2 ? 0.25 : -0.25)));
  return spec;
}
/// Slabs of a square metre, `height` [m] each, exactly on each other.
inline Rigid::Spec slabs(int count, double height) {
  Rigid::Spec spec{.bodies = {floor_box()}};
  for (int i = 0; i < count; ++i)
    spec.bodies.push_back(
        box(Vec3(Real(0.5), Real(height / 2), Real(0.5)), Vec3(0, Real((i + 0.5) * height), 0)));
  return spec;
}

/// A: a wall of `rows` rows of unit boxes, row i of rows - i boxes `spacing` [m] apart, on a floor that
/// reaches beyond it.
inline Rigid::Spec pyramid(int rows = 20, double spacing = 1.1) {
  rigid::BodySpec floor = floor_box();
  floor.shapes[0].half_extents.x() = std::max(floor.shapes[0].half_extents.x(), Real(rows * spacing));
  Rigid::Spec spec{.bodies = {floor}};
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < rows - i; ++j)
      spec.bodies.push_back(unit_box((j - (rows - 1 - i) / 2.0) * spacing, 0.5 + i, 0));
  return spec;
}
/// The 5050 touching boxes of Box3D's own benchmark "large_pyramid".
inline Rigid::Spec large_pyramid() {
  return pyramid(100, 1);
}

/// B: 10 x 10 x 10 unit boxes, 2 cm apart.
inline Rigid::Spec cube() {
  Rigid::Spec spec{.bodies = {floor_box()}};
  for (int k = 0; k < 10; ++k)
    for (int i = 0; i < 10; ++i)
      for (int j = 0; j < 10; ++j)
        spec.bodies.push_back(unit_box((i - 4.5) * 1.02, 0.52 + 1.02 * k, (j - 4.5) * 1.02));
  return spec;
}

/// C: 2000 spheres, boxes, capsules and hulls fall into a bin. The numbers are those of a linear congruential
/// generator (Knuth, volume 2, section 3.3.4, line 16), so that every engine gets the same bodies. With other
/// columns, of 20 bodies each as well, a bin with a square metre for each of them: as high a pile.
inline Rigid::Spec bin(int columns_x = 10, int columns_z = 10) {
  using rigid::Form;
  Rigid::Spec spec;
  const Real half_x = Real(0.5 * columns_x), half_z = Real(0.5 * columns_z), half = Real(0.5);
  spec.bodies.push_back(fixed_box(Vec3(half_x + 1, half, half_z + 1), Vec3(0, -half, 0)));
  for (const Real side : {Real(-1), Real(1)}) {
    spec.bodies.push_back(fixed_box(Vec3(half, 12, half_z + 1), Vec3(side * (half_x + half), 12, 0)));
    spec.bodies.push_back(fixed_box(Vec3(half_x + 1, 12, half), Vec3(0, 12, side * (half_z + half))));
  }
  std::uint32_t seed = 12345;
  const auto uniform = [&] {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) / 16777216.0;
  };
  const int layer = columns_x * columns_z;
  const double first_x = -0.45 * (columns_x - 1), first_z = -0.45 * (columns_z - 1);
  for (int n = 0; n < 20 * layer; ++n) {
    const int k = n / layer, i = n % layer / columns_z, j = n % columns_z;
    const double jitter[3] = {0.1 * (uniform() - 0.5), 0.1 * (uniform() - 0.5), 0.1 * (uniform() - 0.5)};
    Quaternion<double> q;
    do
      for (int c = 0; c < 4; ++c) q.coeffs()[c] = 2 * uniform() - 1;
    while (q.norm() < 0.1);
    rigid::BodySpec body;
    body.position =
        Vector3<double>(first_x + 0.9 * i + jitter[0], 1 + 0.9 * k + jitter[1], first_z + 0.9 * j + jitter[2])
            .cast<Real>();
    body.orientation = q.normalized().coeffs().cast<Real>();
    rigid::ShapeSpec& shape = body.shapes[0];
    switch ((i + j + k) % 4) {
      case 0:
        shape.shape = Form::sphere;
        shape.radius = Real(0.3);
        break;
      case 1:
        shape.half_extents = Vec3(Real(0.3), Real(0.2), Real(0.25));
        break;
      case 2:
        shape.shape = Form::capsule;
        shape.radius = shape.half_height = Real(0.2);
        break;
      default:
        shape.shape = Form::hull;
        for (const Real sign : {Real(1), Real(-1)})
          for (const Vec3& x :
               {Vec3(Real(0.35), Real(0.02), 0), Vec3(Real(0.02), Real(0.3), Real(0.05)),
                Vec3(Real(0.03), Real(-0.02), Real(0.33)), Vec3(Real(0.2), Real(0.2), Real(0.18))})
            shape.points.push_back(sign * x);
    }
    spec.bodies.push_back(body);
  }
  return spec;
}

/// D: touching unit boxes, one on the other.
inline Rigid::Spec stack(int boxes = 20) {
  Rigid::Spec spec{.bodies = {floor_box()}};
  for (int i = 0; i < boxes; ++i) spec.bodies.push_back(unit_box(0, 0.5 + i, 0));
  return spec;
}

/// Pairs of boxes in hinges that bend from -60 to 90 degrees, four side by side and the next above, falling
/// on a floor into a pile.
inline Rigid::Spec falling_hinges(int pairs = 150) {
  Rigid::Spec spec{.bodies = {floor_box()}};
  for (int i = 0; i < pairs; ++i) {
    const Vec3 at(Real(0.9 * (i % 4 - 1.5)), Real(1 + 0.6 * (i / 4)), Real(0.13 * (i % 3)));
    for (const Real side : {Real(-0.25), Real(0.25)})
      spec.bodies.push_back(box(Vec3(Real(0.25), Real(0.05), Real(0.2)), at + Vec3(side, 0, 0)));
    rigid::JointSpec hinge;
    hinge.type = rigid::JointType::hinge;
    hinge.body_a = std::to_string(2 * i + 1), hinge.body_b = std::to_string(2 * i + 2);
    hinge.anchor = at, hinge.axis = Vec3::UnitZ();
    hinge.motion.mode = rigid::AxisMode::limited, hinge.motion.lower = -60, hinge.motion.upper = 90;
    spec.joints.push_back(hinge);
  }
  return spec;
}

/// E: `links` - 1 links of 1 kg and a ball of 100 kg, hung from (0, 30, 0) by `links` ball joints, straight
/// down or, `level`, along x. Nothing collides.
inline Rigid::Spec chain(bool level, int links = 100, double ball_mass = 100) {
  Rigid::Spec spec;
  const Vec3 along = level ? Vec3(1, 0, 0) : Vec3(0, -1, 0), top(0, 30, 0);
  const auto at = [&](double length) { return Vec3(top + Real(length) * along); };
  for (int i = 0; i < links; ++i) {
    rigid::BodySpec body = box(Vec3(Real(0.025), Real(0.1), Real(0.025)), at(0.1 + 0.2 * i));
    body.density = 2000;  // 1 kg
    body.passes = {body.layer};
    if (level) body.rotation = Vec3(0, 0, 90);
    if (i + 1 == links) {
      body.shapes[0].shape = rigid::Form::sphere;
      body.shapes[0].radius = Real(0.25);
      body.density = Real(ball_mass / (4.0 / 3 * 3.14159265358979 * 0.25 * 0.25 * 0.25));
      body.position = at(0.2 * i + 0.25);
    }
    spec.bodies.push_back(body);
    rigid::JointSpec joint;
    joint.anchor = at(0.2 * i);
    if (i > 0) joint.body_a = std::to_string(i - 1);
    joint.body_b = std::to_string(i);
    spec.joints.push_back(joint);
  }
  return spec;
}
inline RigidScene chain_scene(bool level, int links = 100, double ball_mass = 100) {
  return RigidScene(chain(level, links, ball_mass));
}
/// Of a chain: the largest gap [m] of a joint, and by which part its end is farther from the anchor than it
/// can be; 0 if it is nearer.
struct ChainErrors {
  double gap = 0, stretch = 0;
};
/// By the bodies' poses [N] alone, in double: bodies meet at (0, +-0.1, 0) in their own frames, 0.25 above
/// the ball's middle.
template <class Poses>
ChainErrors chain_errors(const Poses& poses) {
  using D3 = Vector3<double>;
  const D3 top(0, 30, 0);
  ChainErrors e;
  D3 end = top;  // of the body above
  for (std::size_t i = 0; i < poses.size(); ++i) {
    const D3 middle = poses[i].position.template cast<double>();
    const D3 half =
        poses[i].rotation.template cast<double>().normalized() * D3(0, i + 1 == poses.size() ? 0.25 : 0.1, 0);
    const double gap = (middle + half - end).norm();
    if (!(gap <= e.gap)) e.gap = gap;  // such that what is not a number shows
    end = middle - half;
  }
  const double length = 0.2 * static_cast<double>(poses.size() - 1) + 0.25;
  const double over = (poses.back().position.template cast<double>() - top).norm() / length - 1;
  e.stretch = over < 0 ? 0 : over;
  return e;
}
inline ChainErrors chain_errors(const RigidScene& scene) {
  return chain_errors(scene.poses());
}

/// F: a free box about its middle axis, nearly; gravity must be switched off.
inline Rigid::Spec spinning_box() {
  rigid::BodySpec body = box(Vec3(Real(0.5), Real(0.25), Real(0.1)), Vec3::Zero());
  body.angular_velocity = Vec3(Real(0.01), 5, Real(0.01));
  return {.bodies = {body}};
}

/// [m] by which the stack D has sunk, and the farthest any of its boxes has moved sideways.
struct StackErrors {
  double height_loss = 0, drift = 0;
};
/// poses [N] with a position, the floor's first.
template <class Poses>
StackErrors stack_errors(const Poses& poses) {
  StackErrors e;
  const std::size_t top = poses.size() - 1;
  e.height_loss = (static_cast<double>(top) - 0.5) - static_cast<double>(poses[top].position.y());
  for (std::size_t i = 1; i <= top; ++i)
    e.drift =
        std::max(e.drift, static_cast<double>(std::hypot(poses[i].position.x(), poses[i].position.z())));
  return e;
}
inline StackErrors stack_errors(const RigidScene& scene) {
  return stack_errors(scene.poses());
}

}  // namespace plenum::validation
