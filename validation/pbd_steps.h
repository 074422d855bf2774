#pragma once
// One step of position-based dynamics beside differences of what its constraints are: of tethers,
// attachments, joints, contacts and grasps, which only the whole solver projects. Of validate and of
// tests/pbd.
//
// A step of one substep and one sweep, of what is at rest and without gravity, is one projection: of
// constraints C on coordinates q of particles (places) and bodies (places, and turns about the world's axes)
// it is dq = -W J^T (J W J^T)^-1 C, J = dC/dq, W the inverse masses and moments (Macklin, Mueller & Chentanez
// 2016, eq. 17, without compliance; Mueller et al. 2020, section 3.3, of bodies).
//
// By Taylor's theorem, the errors are, of a body of size L and C = e:
// - of central differences with a step d in double: d^2 / 6 |C'''| + eps |C| / d, least for d = eps^(1/3) L,
//   some eps^(2/3) = 4e-11;
// - of one projection of what curves: e / L of it, as where it ends the gradient has turned by that;
// - of places, which are rounded: eps_Real L / e of it.
// With e = sqrt(eps_Real) L the last two are sqrt(eps_Real), 3e-4 in float and 1.5e-8 in double. Each comes
// some times: a place is the sum of three numbers, normals come of differences of two.
#include <Eigen/Cholesky>
#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/solvers/pbd/detail/workspace.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::pbd_steps {

using D3 = Vector3<double>;
using Qd = Quaternion<double>;
using Column = Eigen::VectorXd;
using Rectangle = Eigen::MatrixXd;

inline const double off = std::sqrt(double(std::numeric_limits<Real>::epsilon()));  ///< e / L
constexpr double times = 8;

inline Qd turned_by(const D3& by, const Qd& q) {
  const double angle = by.norm();
  return angle > 0 ? Qd((Qd(Eigen::AngleAxis<double>(angle, by / angle)) * q).normalized()) : q;
}
inline D3 turn_between(const Qd& from, const Qd& to) {
  const Eigen::AngleAxis<double> turn((to * from.conjugate()).normalized());
  return (turn.angle() > 3.14159265358979 ? turn.angle() - 2 * 3.14159265358979323846 : turn.angle()) *
         turn.axis();
}

/// Where everything is.
struct Places {
  std::vector<D3> x;  ///< of particles
  std::vector<D3> c;  ///< of bodies, then of carriers
  std::vector<Qd> q;
  D3 on_body(std::size_t b, const D3& at) const { return c[b] + q[b] * at; }
  D3 in_body(std::size_t b, const D3& at) const { return q[b].conjugate() * (at - c[b]); }
  D3 of(const Pbd::Anchor& a) const {
    if (a.body >= 0) return on_body(std::size_t(a.body), a.at.cast<double>());
    return a.particle < 0 ? D3(a.at.cast<double>()) : x[std::size_t(a.particle)];
  }
  std::size_t size() const { return 3 * x.size() + 6 * c.size(); }
  /// The same with one coordinate changed.
  Places moved(std::size_t k, double by) const {
    Places out = *this;
    if (k < 3 * x.size()) {
      out.x[k / 3][Eigen::Index(k % 3)] += by;
      return out;
    }
    const std::size_t b = (k - 3 * x.size()) / 6, of = (k - 3 * x.size()) % 6;
    if (of < 3)
      out.c[b][Eigen::Index(of)] += by;
    else
      out.q[b] = turned_by(by * D3::Unit(Eigen::Index(of - 3)), q[b]);
    return out;
  }
};
using Constraint = std::function<Column(const Places&)>;
inline Column one(double c) {
  return Column::Constant(1, c);
}

struct Scene {
  Pbd::Model model;
  Pbd::State state;
  Pbd::Params params = {};
  Pbd::Workspace workspace = {};
  Report last;  ///< of the step

  explicit Scene(const PbdSpec& spec) {
    Pbd::build(spec, model, state);
    params.air_density = 0;
    params.gravity.setZero();
    params.substeps = params.iterations = 1;
    params.friction = 0;
    for (Pbd::Body& body : model.bodies) body.friction = 0;
  }
  Places places() const {
    Places out;
    for (const Vec3& x : state.particles.x) out.x.push_back(x.cast<double>());
    for (std::size_t i = 0; i < state.frames.size(); ++i) {
      out.c.push_back(state.frames.x[i].cast<double>());
      out.q.push_back(state.frames.rotation(i).cast<double>().normalized());
    }
    for (const Pbd::Model::Ride& ride : model.rides) {
      out.c.push_back(ride.from.position.cast<double>());
      out.q.push_back(ride.from.rotation.cast<double>().normalized());
    }
    return out;
  }
  /// Inverse masses, and moments of bodies where they are.
  Rectangle yields(const Places& at) const {
    Rectangle w = Rectangle::Zero(Eigen::Index(at.size()), Eigen::Index(at.size()));
    const auto particles = Eigen::Index(3 * at.x.size());
    for (Eigen::Index k = 0; k < particles; ++k)
      w(k, k) = double(state.particles.inverse_mass[std::size_t(k / 3)]);
    for (std::size_t b = 0; b < at.c.size(); ++b) {
      const Matrix3<double> r = at.q[b].toRotationMatrix();
      Matrix3<double> moments = Matrix3<double>::Zero();
      double inverse_mass = 0;
      if (b < model.bodies.size()) {
        const Pbd::Body& body = model.bodies[b];
        if (!body.is_led) {
          inverse_mass = 1 / double(body.mass);
          moments.diagonal() = body.inertia.cast<double>().cwiseInverse();
        }
      } else {
        const Pbd::Model::Ride& ride = model.rides[b - model.bodies.size()];
        inverse_mass = double(ride.inverse_mass), moments = ride.inverse_inertia.cast<double>();
      }
      const Eigen::Index k = particles + 6 * Eigen::Index(b);
      w.block<3, 3>(k, k) = inverse_mass * Matrix3<double>::Identity();
      w.block<3, 3>(k + 3, k + 3) = r * moments * r.transpose();
    }
    return w;
  }
  void step() { last = Pbd::step(model, state, params, workspace, Real(1) / 60); }
};

/// Of all coordinates, turns [rad] as ways [m] of what is a metre off.
struct Ways {
  Column went, wanted;
  double most() const { return wanted.cwiseAbs().maxCoeff(); }
  /// The largest difference, as a part of the largest way; no number if there is none.
  double error() const { return (went - wanted).cwiseAbs().maxCoeff() / most(); }
};

/// Where a step goes, and where differences of C lead. `size` [m]: L. Of a `field`, whose gradient has not
/// quite the length one of a distance, only its direction counts; as its distances have Real's digits, and
/// its second derivatives jump from cell to cell, differences with a step d are off by eps_Real L / d and d /
/// L, so that d is a few sqrt(eps_Real) L.
inline Ways step_along(Scene& scene, const Constraint& constraint, double size, bool field = false) {
  const Places before = scene.places();
  const Column c = constraint(before);
  const auto n = Eigen::Index(before.size());
  const double d = (field ? 4 * off : std::cbrt(std::numeric_limits<double>::epsilon())) * size;
  Rectangle j(c.size(), n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const bool turns =
        k >= Eigen::Index(3 * before.x.size()) && (k - 3 * Eigen::Index(before.x.size())) % 6 > 2;
    const double by = turns ? d / size : d;
    j.col(k) =
        (constraint(before.moved(std::size_t(k), by)) - constraint(before.moved(std::size_t(k), -by))) /
        (2 * by);
  }
  if (field) j /= j.leftCols<3>().norm();
  const Rectangle w = scene.yields(before), response = j * w * j.transpose();
  Ways ways;
  ways.wanted = -w * j.transpose() * response.ldlt().solve(c);
  scene.step();
  Places after = scene.places();
  for (const BodyImpulse& pull : scene.workspace.impl->bodies.pulls()) {
    const std::size_t b = scene.model.bodies.size() + std::size_t(pull.body);
    after.c[b] += pull.shift.cast<double>();
    after.q[b] = turned_by(pull.turn.cast<double>(), after.q[b]);
  }
  ways.went.resize(n);
  for (std::size_t i = 0; i < before.x.size(); ++i)
    ways.went.segment<3>(Eigen::Index(3 * i)) = after.x[i] - before.x[i];
  for (std::size_t b = 0; b < before.c.size(); ++b) {
    const auto k = Eigen::Index(3 * before.x.size() + 6 * b);
    ways.went.segment<3>(k) = after.c[b] - before.c[b];
    ways.went.segment<3>(k + 3) = turn_between(before.q[b], after.q[b]);
  }
  return ways;
}

inline PbdBody body(PbdBody::Form form, const Vec3& position, const std::string& name,
                    const Vec3& degrees = Vec3(25, 40, -15)) {
  PbdBody out;
  out.shape = form, out.position = position, out.rotation = degrees, out.name = name;
  out.radius = Real(0.2), out.half_height = Real(0.3),
  out.half_extents = Vec3(Real(0.2), Real(0.3), Real(0.25));
  out.mesh = icosphere_mesh(Real(0.3), 1);
  out.density = 10;
  return out;
}
/// Two particles of unlike masses, or one more than the segments, and nothing between them.
inline PbdPart loose_particles(int segments = 1) {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3(-1, 0, 0), rope.to = Vec3(1, 0, 0), rope.segments = segments;
  rope.tethers = false;
  return rope;
}
inline void set_free(Scene& scene) {
  Pbd::Model& m = scene.model;
  m.edges.clear(), m.rest_length.clear(), m.stretch_compliance.clear();
  for (Pbd::Part& part : m.parts) part.first_edge = part.num_edges = 0;
  for (std::size_t i = 0; i < m.mass.size(); ++i) {
    m.mass[i] = Real(0.7) + Real(0.4) * Real(i % 3);
    if (scene.state.particles.inverse_mass[i] > 0) scene.state.particles.inverse_mass[i] = 1 / m.mass[i];
  }
}
/// A tether from a pin at (-1 0 0) m, too short to let a particle be at x.
inline Ways step_of_tether(const Vec3& x) {
  Scene scene(PbdSpec{.parts = {loose_particles()}});
  set_free(scene);
  scene.model.pinned = {0}, scene.model.pin_group = {0}, scene.model.pin_position = {Vec3(-1, 0, 0)};
  scene.state.particles.inverse_mass[0] = 0;
  scene.state.particles.x[1] = x;
  const Places at = scene.places();
  const double length = double(Real((at.x[1] - at.x[0]).norm() - off));
  scene.model.tethers = {Index2(1, 0)}, scene.model.tether_length = {Real(length)};
  Pbd::update(scene.model);
  return step_along(
      scene, [&](const Places& p) { return one((p.x[1] - p.x[0]).norm() - length); }, 1);
}

/// Nothing touches a body.
inline void let_through(Scene& scene) {
  const auto bodies = Index(scene.model.bodies.size());
  for (Index a = 0; a < bodies; ++a) {
    scene.model.apart.push_back(Index2(0, a));
    for (Index b = 0; b < a; ++b) scene.model.bodies_apart.push_back(Index2(b, a));
  }
  Pbd::update(scene.model);
}

/// Two particles, a box (0), a capsule (1), and a box that is led (2), and bodies of another system, which
/// can be moved (3) and cannot (4).
inline Scene scene_of_holds() {
  PbdBody third = body(PbdBody::Form::box, Vec3(0, 1, 0), "led");
  third.motion = PbdBody::Motion::led;
  Scene scene(PbdSpec{.parts = {loose_particles()},
                      .bodies = {body(PbdBody::Form::box, Vec3(1, 0, 0), "a"),
                                 body(PbdBody::Form::capsule, Vec3(0, 0, 1), "b"), third}});
  set_free(scene);
  scene.model.carriers = {{"s", "c", ""}, {"s", "d", ""}}, scene.model.rides.resize(2);
  for (Pbd::Model::Ride& ride : scene.model.rides)
    ride.from = ride.to = {Vec3(-1, -1, 0), turned_by(D3(0.3, -0.5, 0.2), Qd::Identity()).cast<Real>()};
  scene.model.rides[0].inverse_mass = Real(0.4);
  scene.model.rides[0].inverse_inertia.diagonal() = Vec3(3, 5, 4);
  scene.model.is_hung = true;
  return scene;
}
/// Holds `a`, of a particle or of a body of the solver's own, and `b`: of the length 0 or, by a rope, 0.8 m,
/// but for an error along `direction`, a unit vector.
inline Ways step_of_hold(Scene& scene, const Pbd::Anchor& a, const Pbd::Anchor& b, bool is_rope,
                         const D3& direction) {
  const Places at = scene.places();
  const double length = is_rope ? 0.8 : 0;
  const Vec3 way = (at.of(b) + (length + off) * direction - at.of(a)).cast<Real>();
  if (a.particle >= 0)
    scene.state.particles.x[std::size_t(a.particle)] += way;
  else
    scene.state.frames.x[std::size_t(a.body)] += way;
  scene.model.holds = {{a, b, Real(length), 0}};
  let_through(scene);
  return step_along(
      scene,
      [&](const Places& p) -> Column {
        const D3 apart = p.of(a) - p.of(b);
        if (is_rope) return one(apart.norm() - double(Real(length)));
        return apart;
      },
      0.3);
}
/// What hangs on one body is held at once: four particles and a box, three of them held at places of it, but
/// for errors [m].
inline Ways step_of_holds(const Vec3 (&at)[3], const D3 (&error)[3]) {
  Scene scene(
      PbdSpec{.parts = {loose_particles(3)}, .bodies = {body(PbdBody::Form::box, Vec3(0, 1, 0), "a")}});
  set_free(scene);
  const Places before = scene.places();
  for (std::size_t i = 0; i < 3; ++i) {
    scene.model.holds.push_back({{Index(i), -1, Vec3::Zero()}, {-1, 0, at[i]}, 0, 0});
    scene.state.particles.x[i] = (before.on_body(0, at[i].cast<double>()) + error[i]).cast<Real>();
  }
  let_through(scene);
  return step_along(
      scene,
      [&](const Places& p) {
        Column c(9);
        for (std::size_t i = 0; i < 3; ++i)
          c.segment<3>(Eigen::Index(3 * i)) = p.x[i] - p.on_body(0, at[i].cast<double>());
        return c;
      },
      0.3);
}

/// Angles of joints: of the axes of hinges, and all of fixed ones, whose Jacobian by turns of the world is
/// the unit matrix but for half the angle. An angle has a kink where it is none: differences with a step d
/// are off by d^2 / 6 e^2, so e is as large as in float in either precision.
inline const double aside = std::max(off, 3e-4);
inline Ways step_of_alignment(bool about_axis, bool to_world, const D3& axis, const D3& turned) {
  Scene scene(PbdSpec{.bodies = {body(PbdBody::Form::box, Vec3(1, 0, 0), "a"),
                                 body(PbdBody::Form::capsule, Vec3(0, 0, 1), "b")}});
  const Places at = scene.places();
  const Qd b = to_world ? Qd(Qd::Identity()) : Qd(at.q[1]);
  Pbd::Alignment alignment{.a = 0, .b = to_world ? -1 : 1, .about_axis = about_axis};
  alignment.axis_a = (at.q[0].conjugate() * axis).cast<Real>();
  alignment.axis_b = (b.conjugate() * (turned_by(aside * turned, Qd::Identity()) * axis)).cast<Real>();
  alignment.turn = (at.q[0].conjugate() * turned_by(aside * turned, b)).cast<Real>();
  scene.model.alignments = {alignment};
  Pbd::update(scene.model);
  return step_along(
      scene,
      [&](const Places& p) -> Column {
        const Qd on_b = to_world ? Qd(Qd::Identity()) : Qd(p.q[1]);
        if (about_axis) {
          const D3 from = p.q[0] * alignment.axis_a.cast<double>(),
                   to = on_b * alignment.axis_b.cast<double>();
          // Across the axis, by both directions that there are.
          const D3 turn = from.cross(to);
          const D3 s = axis.unitOrthogonal(), t = axis.cross(s);
          Column both(2);
          both << s.dot(turn), t.dot(turn);
          return both;
        }
        return turn_between(p.q[0] * alignment.turn.cast<double>().normalized(), on_b);
      },
      1);
}

constexpr double cloth_distance = 2 * double(Real(0.01));  ///< [m] at which two sheets touch
/// Two squares of two triangles each, at rest, with corners at 4 k + (0 0, 1 0, 0 1, 1 1).
inline Scene two_squares(const D3 (&corner)[2], const D3 (&u)[2], const D3 (&v)[2]) {
  PbdPart square;
  square.cells_x = square.cells_z = 1;
  square.tethers = false;
  Scene scene(PbdSpec{.parts = {square, square}});
  set_free(scene);
  scene.model.shortest_edge = 1;
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < 4; ++i)
      scene.state.particles.x[4 * k + i] =
          (corner[k] + double(i % 2) * u[k] + double(i / 2) * v[k]).cast<Real>();
  scene.params.thickness = Real(0.01), scene.params.contact = Pbd::Contact::fast;
  return scene;
}
/// Of the triangles of the first square, the number of the one whose inside p is over.
inline std::size_t triangle_below(const Scene& scene, const Places& at, const D3& p) {
  for (std::size_t k = 0; k < 2; ++k) {
    const Index3& c = scene.model.triangles[k];
    const auto corner = [&](int i) { return at.x[std::size_t(c[i % 3])]; };
    const D3 n = (corner(1) - corner(0)).cross(corner(2) - corner(0));
    bool inside = true;
    for (int i = 0; i < 3; ++i) inside &= n.cross(corner(i + 1) - corner(i)).dot(p - corner(i)) > 0;
    if (inside) return k;
  }
  return 0;
}
/// [m] From the plane of a triangle, which is the distance of what is over its inside.
inline double distance_over(const Scene& scene, const Places& at, std::size_t triangle, const D3& p) {
  const Index3& c = scene.model.triangles[triangle];
  const D3 &a = at.x[std::size_t(c[0])], n = (at.x[std::size_t(c[1])] - a).cross(at.x[std::size_t(c[2])] - a);
  return std::abs(n.normalized().dot(p - a));
}
/// A corner over the inside of a square, at (s, t) in it.
inline Ways step_of_vertex_and_face(double s, double t, const D3& up) {
  const D3 u = D3(1, 0, 0) - up.x() * up, v = up.cross(u);
  const D3 tip = s * u + t * v + (cloth_distance - off) * up;
  Scene scene = two_squares({D3::Zero(), tip}, {u, u + 0.8 * up}, {v, v + 0.9 * up});
  const Places at = scene.places();
  const std::size_t below = triangle_below(scene, at, at.x[4]);
  return step_along(
      scene, [&](const Places& p) { return one(distance_over(scene, p, below, p.x[4]) - cloth_distance); },
      1);
}
/// A square that hangs from an edge along u and one that stands on an edge along w, which cross at s of the
/// one and t of the other: of lines, the distance is the way between them along what is at right angles to
/// both.
inline Ways step_of_two_edges(const D3& u, const D3& w, double s, double t) {
  const D3 up = w.cross(u).normalized();
  Scene scene = two_squares({D3::Zero(), s * u + (cloth_distance - off) * up - t * w}, {u, w},
                            {-up + 0.1 * w, up + 0.2 * u});
  return step_along(
      scene,
      [&](const Places& p) {
        const D3 n = (p.x[5] - p.x[4]).cross(p.x[1] - p.x[0]).normalized();
        return one(n.dot(p.x[4] - p.x[0]) - cloth_distance);
      },
      1);
}

/// A solid, and its signed distance in its own frame.
struct Solid {
  std::string name;
  Shape shape;
  std::function<double(const D3&)> distance;
  D3 inside = D3::Zero();  ///< [m] where rays begin
  bool is_field = false;
  bool is_form = false;  ///< of bodies of the solver
};
/// [m] Of the convex polygon counter-clockwise through `corners`.
inline double polygon_distance(const Vector2<double>& p, const std::vector<Vector2<double>>& corners) {
  double outside = std::numeric_limits<double>::infinity(), inside = -outside;
  for (std::size_t k = 0; k < corners.size(); ++k) {
    const Vector2<double>&a = corners[k], e = corners[(k + 1) % corners.size()] - a;
    outside = std::min(outside, (p - a - std::clamp((p - a).dot(e) / e.squaredNorm(), 0.0, 1.0) * e).norm());
    inside = std::max(inside, Vector2<double>(e.y(), -e.x()).normalized().dot(p - a));
  }
  return inside > 0 ? outside : inside;
}
/// All about the y axis.
inline std::vector<Solid> primitives() {
  const double radius = double(Real(0.2)), half = double(Real(0.3)), ring = double(Real(0.25)),
               wire = double(Real(0.1));
  const auto radial = [](const D3& x) { return std::hypot(x.x(), x.z()); };
  const auto turned = [=](std::vector<Vector2<double>> corners) {
    return [=](const D3& x) { return polygon_distance({radial(x), x.y()}, corners); };
  };
  return {{.name = "sphere",
           .shape = SphereShape{Real(half)},
           .distance = [=](const D3& x) { return x.norm() - half; },
           .is_form = true},
          {.name = "box",
           .shape = BoxShape{Vec3(Real(radius), Real(half), Real(ring))},
           .distance =
               [=](const D3& x) {
                 const D3 beyond = x.cwiseAbs() - D3(radius, half, ring);
                 return beyond.maxCoeff() < 0 ? beyond.maxCoeff() : beyond.cwiseMax(0).norm();
               },
           .is_form = true},
          {.name = "capsule",
           .shape = CapsuleShape{Real(radius), Real(half)},
           .distance =
               [=](const D3& x) { return (x - D3(0, std::clamp(x.y(), -half, half), 0)).norm() - radius; },
           .is_form = true},
          {.name = "cylinder",
           .shape = CylinderShape{Real(radius), Real(half)},
           .distance = turned({{-radius, -half}, {radius, -half}, {radius, half}, {-radius, half}}),
           .is_form = true},
          {.name = "cone",
           .shape = ConeShape{Real(radius), Real(half)},
           .distance = turned({{-radius, -half}, {radius, -half}, {0, half}})},
          {.name = "torus",
           .shape = TorusShape{Real(ring), Real(wire)},
           .distance = [=](const D3& x) { return std::hypot(radial(x) - ring, x.y()) - wire; },
           .inside = D3(ring, 0, 0)}};
}
/// Of an egg, its own field.
inline Solid egg() {
  TriangleMesh mesh = icosphere_mesh(Real(0.3), 3);
  for (Vec3& x : mesh.x) x.x() *= 1 + x.y();
  const auto egg = std::make_shared<const SolidMesh>(mesh, DistanceFieldOptions{.resolution = 16});
  return {.name = "egg",
          .shape = MeshShape{egg},
          .distance = [=](const D3& x) { return double(egg->signed_distance(x.cast<Real>()).distance); },
          .is_field = true};
}
/// Along a ray from inside, where the distance comes to be `at`.
inline D3 beside(const Solid& solid, const D3& ray, double at) {
  double s = 0;
  // Of steps no longer than the distance, none misses it.
  for (int k = 0; k < 400; ++k) s += at - solid.distance(solid.inside + s * ray);
  return solid.inside + s * ray;
}

constexpr double cloth_thickness = double(Real(0.02));  ///< [m] at which a particle touches a body
/// A particle that touches a body of any shape where a ray leaves it.
inline Ways step_of_particle_on(const Solid& solid, bool is_led, const D3& ray) {
  PbdBody of = body(PbdBody::Form::box, Vec3(Real(0.1), Real(0.2), Real(-0.1)), "a");
  if (is_led) of.motion = PbdBody::Motion::led;
  Scene scene(PbdSpec{.parts = {loose_particles()}, .bodies = {of}});
  set_free(scene);
  Pbd::update(scene.model);
  scene.model.bodies[0].shape = solid.shape, scene.model.bodies[0].reach = Real(0.5);
  scene.model.bodies[0].shape_in = {};
  scene.params.thickness = Real(cloth_thickness);
  scene.state.particles.x[0] =
      scene.places().on_body(0, beside(solid, ray, cloth_thickness - off * 0.3)).cast<Real>();
  scene.state.particles.x[1] = Vec3(5, 5, 5);
  return step_along(
      scene, [&](const Places& p) { return one(solid.distance(p.in_body(0, p.x[0])) - cloth_thickness); },
      0.3, solid.is_field);
}
/// A ball that touches a body, or a solid of another system.
inline Ways step_of_ball_on(const Solid& solid, bool is_guest, const D3& ray) {
  const PbdBody ball = body(PbdBody::Form::sphere, Vec3::Zero(), "ball");
  const double radius = double(ball.radius);
  Scene scene(PbdSpec{.bodies = {ball, body(PbdBody::Form::box, Vec3(0, Real(0.1), 0), "b")}});
  scene.model.bodies[1].shape = solid.shape, scene.model.bodies[1].shape_in = {};
  scene.model.bodies[1].reach = Real(0.5);
  scene.state.frames.x[0] = scene.places().on_body(1, beside(solid, ray, radius - off * 0.3)).cast<Real>();
  const Places at = scene.places();
  if (is_guest) {
    scene.model.guests = {{solid.shape, scene.state.frames.pose(1), scene.state.frames.pose(1), 0, 0}};
    scene.model.bodies.pop_back(), scene.state.frames.resize(1);
  }
  return step_along(
      scene,
      [&](const Places& p) { return one(solid.distance((is_guest ? at : p).in_body(1, p.c[0])) - radius); },
      0.3);
}

/// A ball pressed onto the inside of a face by `too_near` [m], at (s, t) of a square.
constexpr double too_near = cloth_thickness / 10;
/// The solver finds the point of a face that is nearest, but for a gap g: as distances of a ball's middle R
/// off grow by a^2 / (2 R) a way off, that may be a = (2 R g)^(1/2) off. `part`: g, of the thickness.
inline double tolerance_on_face(double part) {
  const double distance = 0.2 + cloth_thickness, g = part * cloth_thickness;
  return g / too_near + std::sqrt(2 * distance * g) / distance + too_near / distance;
}
inline Ways step_of_ball_on_face(double s, double t, const D3& up) {
  const PbdBody ball = body(PbdBody::Form::sphere, Vec3::Zero(), "ball");
  PbdPart square;
  square.cells_x = square.cells_z = 1;
  square.tethers = false;
  Scene scene(PbdSpec{.parts = {square}, .bodies = {ball}});
  set_free(scene);
  scene.params.thickness = Real(cloth_thickness);
  const D3 u = D3(1, 0, 0) - up.x() * up, v = up.cross(u);
  for (std::size_t i = 0; i < 4; ++i)
    scene.state.particles.x[i] = (double(i % 2) * u + double(i / 2) * v).cast<Real>();
  const double distance = double(ball.radius) + cloth_thickness;
  scene.state.frames.x[0] = (s * u + t * v + (distance - too_near) * up).cast<Real>();
  const Places at = scene.places();
  const std::size_t below = triangle_below(scene, at, at.c[0]);
  return step_along(
      scene, [&](const Places& p) { return one(distance_over(scene, p, below, p.c[0]) - distance); }, 1);
}

/// Planes of solids that go along, which are all of C = gap + n . (x - x0 - s v), s [s] since the step began.
constexpr double few_roundings = 16 * double(std::numeric_limits<Real>::epsilon());
/// `velocity` [m/s]: at least 0.1 along the normal.
inline Ways step_of_support(const D3& normal, const D3& velocity) {
  Support support;
  support.normal = normal.cast<Real>(), support.velocity = velocity.cast<Real>();
  support.gap = Real(off);
  PbdSupports supports;
  const std::vector<Vec3> gone = {Vec3::Zero()};
  supports.take({&support, 1}, nullptr, gone, gone, Real(0.05));
  const double since = 0.02;
  const PbdSupports::Substep substep{gone, gone, Real(since), Real(0.01), Real(0.2), Real(0.4)};
  std::vector<detail::Place> places = {{{Real(off), Real(-2 * off), 0}, Real(0.7)}};
  supports.begin_substep(substep);
  const auto place = [&] {
    return D3(double(places[0].x[0]), double(places[0].x[1]), double(places[0].x[2]));
  };
  const D3 before = place();
  const auto value = [&](const D3& x) {
    return double(support.gap) +
           support.normal.cast<double>().dot(x - since * support.velocity.cast<double>());
  };
  supports.hold(substep, places, {});
  D3 gradient;
  for (int c = 0; c < 3; ++c) gradient[c] = (value(before + D3::Unit(c)) - value(before - D3::Unit(c))) / 2;
  return {place() - before, -value(before) / gradient.squaredNorm() * gradient};
}

/// What a hand holds goes, of a particle that inertia leads to x~ in the substep h, to the least of
///   E(x) = m |x - x~|^2 / (2 h^2) + k |x - b|^2 / 2 + c |x - x0 - (b - a)|^2 / (2 h),
/// k = m w^2 and c = 2 m w, the target going from a to b: C = x - b of compliance 1 / k, with damping
/// (Macklin, Mueller & Chentanez 2016, eqs. 4 and 26). From x~, -H^-1 g of its gradient and second
/// derivatives leads there. What pulls besides finds H instead of m / h^2 there: the fourth coordinate is the
/// inverse mass, less what it was, times 1 kg m.
inline Ways step_of_grasp(const D3& from, const D3& to, const D3& began, const D3& led, double rate) {
  const Grasp grasp{0, from.cast<Real>(), to.cast<Real>(), Real(rate)};
  const Vec3 origin(Real(0.3), Real(-0.2), Real(0.1));
  const std::vector<Vec3> gone = {began.cast<Real>()}, starts = {origin};
  const Real f0 = Real(0.4), f1 = Real(0.6), h = Real(1) / 300;
  std::vector<detail::Place> places = {{{Real(led.x()), Real(led.y()), Real(led.z())}, Real(0.7)}};
  const auto place = [&] {
    return D3(double(places[0].x[0]), double(places[0].x[1]), double(places[0].x[2]));
  };
  const double m = 1 / double(places[0].inverse_mass), s = double(h), w = double(grasp.rate);
  const D3 inertial = place(), way = (grasp.to - grasp.from).cast<double>(), x0 = gone[0].cast<double>();
  const D3 a = (grasp.from - origin).cast<double>() + double(f0) * way, b = a + double(f1 - f0) * way;
  const auto energy = [&](const D3& x) {
    return m * (x - inertial).squaredNorm() / (2 * s * s) + m * w * w * (x - b).squaredNorm() / 2 +
           2 * m * w * (x - x0 - (b - a)).squaredNorm() / (2 * s);
  };
  PbdGrasps grasps;
  grasps.take({&grasp, 1});
  grasps.hold(places, gone, starts, f0, f1, h);
  // Differences of a quadratic function are exact for any step.
  Ways ways;
  ways.went.resize(4), ways.wanted.resize(4);
  for (int c = 0; c < 3; ++c) {
    const double after = energy(inertial + D3::Unit(c)), before = energy(inertial - D3::Unit(c));
    const double stiffness = after - 2 * energy(inertial) + before;
    ways.wanted[c] = -(after - before) / (2 * stiffness);
    ways.wanted[3] = 1 / (s * s * stiffness) - 1 / m;
  }
  ways.went << place() - inertial, double(places[0].inverse_mass) - 1 / m;
  return ways;
}

}  // namespace plenum::pbd_steps
