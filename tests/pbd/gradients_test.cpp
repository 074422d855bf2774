// Tethers, attachments, joints and contacts are moved along the gradients of their constraints, found by
// central differences, by as much as takes the error away. (Those of internal constraints: tests/elements.)
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
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "geometry/reference.h"
#include "pbd/built.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum { namespace {

using D3 = Vector3<double>;
using Qd = Quaternion<double>;
using Column = Eigen::VectorXd;
using Rectangle = Eigen::MatrixXd;

const double off = std::sqrt(double(std::numeric_limits<Real>::epsilon()));  ///< e / L
constexpr double times = 8;

Qd turned_by(const D3& by, const Qd& q) {
  const double angle = by.norm();
  return angle > 0 ? Qd((Qd(Eigen::AngleAxis<double>(angle, by / angle)) * q).normalized()) : q;
}
D3 turn_between(const Qd& from, const Qd& to) {
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
Column one(double c) {
  return Column::Constant(1, c);
}

struct Scene : plenum_test::Built {
  explicit Scene(const PbdSpec& spec) : Built(spec) {
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
};

/// That a step goes where differences of C lead. `size` [m]: L. Of a `field`, whose distances have Real's
/// digits, and whose gradient has not quite the length one of a distance, only its direction counts.
void expect_along_gradients(Scene& scene, const Constraint& constraint, double size, bool field = false,
                            double tolerance = times * off) {
  const Places before = scene.places();
  const Column c = constraint(before);
  const auto n = Eigen::Index(before.size());
  const double d = (field ? std::cbrt(off * off) : std::cbrt(std::numeric_limits<double>::epsilon())) * size;
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
  const Column wanted = -w * j.transpose() * response.ldlt().solve(c);
  scene.step();
  Places after = scene.places();
  for (const BodyImpulse& pull : scene.workspace.impl->bodies.pulls()) {
    const std::size_t b = scene.model.bodies.size() + std::size_t(pull.body);
    after.c[b] += pull.shift.cast<double>();
    after.q[b] = turned_by(pull.turn.cast<double>(), after.q[b]);
  }
  Column went(n);
  for (std::size_t i = 0; i < before.x.size(); ++i)
    went.segment<3>(Eigen::Index(3 * i)) = after.x[i] - before.x[i];
  for (std::size_t b = 0; b < before.c.size(); ++b) {
    const auto k = Eigen::Index(3 * before.x.size() + 6 * b);
    went.segment<3>(k) = after.c[b] - before.c[b];
    went.segment<3>(k + 3) = turn_between(before.q[b], after.q[b]);
  }
  // Turns, in radians, as the ways of what is a metre off; the largest counts.
  const double most = wanted.cwiseAbs().maxCoeff();
  ASSERT_GT(most, 0);
  for (Eigen::Index k = 0; k < n; ++k)
    EXPECT_NEAR(went[k], wanted[k], tolerance * most) << "coordinate " << k << " of " << n;
}

Qd some_turn(double x, double y, double z) {
  return turned_by(D3(x, y, z), Qd::Identity());
}
Vec3 degrees_of_some_turn() {
  return Vec3(25, 40, -15);
}
PbdBody body(PbdBody::Form form, const Vec3& position, const std::string& name) {
  PbdBody out;
  out.shape = form, out.position = position, out.rotation = degrees_of_some_turn(), out.name = name;
  out.radius = Real(0.2), out.half_height = Real(0.3),
  out.half_extents = Vec3(Real(0.2), Real(0.3), Real(0.25));
  out.mesh = icosphere_mesh(Real(0.3), 1);
  out.density = 10;
  return out;
}
/// Two particles of unlike masses, and nothing between them.
PbdPart two_particles() {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3(-1, 0, 0), rope.to = Vec3(1, 0, 0), rope.segments = 1;
  rope.tethers = false;
  return rope;
}
void set_free(Scene& scene) {
  Pbd::Model& m = scene.model;
  m.edges.clear(), m.rest_length.clear(), m.stretch_compliance.clear();
  for (Pbd::Part& part : m.parts) part.first_edge = part.num_edges = 0;
  for (std::size_t i = 0; i < m.mass.size(); ++i) {
    m.mass[i] = Real(0.7) + Real(0.4) * Real(i % 3);
    if (scene.state.particles.inverse_mass[i] > 0) scene.state.particles.inverse_mass[i] = 1 / m.mass[i];
  }
}

TEST(PbdGradients, OfATether) {
  Scene scene(PbdSpec{.parts = {two_particles()}});
  set_free(scene);
  scene.model.pinned = {0}, scene.model.pin_group = {0}, scene.model.pin_position = {Vec3(-1, 0, 0)};
  scene.state.particles.inverse_mass[0] = 0;
  scene.state.particles.x[1] = Vec3(Real(0.3), Real(-0.8), Real(0.4));
  const double length = (scene.x(1) - scene.x(0)).norm() - off;
  scene.model.tethers = {Index2(1, 0)}, scene.model.tether_length = {Real(length)};
  Pbd::update(scene.model);
  expect_along_gradients(
      scene, [&](const Places& p) { return one((p.x[1] - p.x[0]).norm() - double(Real(length))); }, 1);
}

/// Nothing touches a body.
void let_through(Scene& scene) {
  const auto bodies = Index(scene.model.bodies.size());
  for (Index a = 0; a < bodies; ++a) {
    scene.model.apart.push_back(Index2(0, a));
    for (Index b = 0; b < a; ++b) scene.model.bodies_apart.push_back(Index2(b, a));
  }
  Pbd::update(scene.model);
}
/// A hold of `a` and `b`, whose anchors are apart by `length` and an error.
struct Ends {
  Pbd::Anchor a, b;
};
D3 place_of(const Pbd::Anchor& a, const Places& p) {
  if (a.body >= 0) return p.on_body(std::size_t(a.body), a.at.cast<double>());
  return a.particle < 0 ? D3(a.at.cast<double>()) : p.x[std::size_t(a.particle)];
}

TEST(PbdGradients, OfAttachmentsAndAnchorsOfJoints) {
  const Pbd::Anchor particle{0, -1, Vec3::Zero()}, world{-1, -1, Vec3(Real(0.1), Real(0.2), Real(-0.3))},
      first{-1, 0, Vec3(Real(0.1), Real(0.25), Real(-0.2))}, second{-1, 1, Vec3(Real(-0.15), 0, Real(0.2))},
      led{-1, 2, Vec3(Real(0.2), Real(0.1), 0)}, carrier{-1, 3, Vec3(0, Real(0.3), Real(-0.1))},
      still_carrier{-1, 4, Vec3(0, Real(0.3), Real(-0.1))};
  for (const Ends& ends :
       {Ends{particle, first}, Ends{particle, led}, Ends{particle, carrier}, Ends{particle, still_carrier},
        Ends{first, second}, Ends{first, led}, Ends{first, world}, Ends{second, carrier}})
    for (const bool is_rope : {false, true}) {
      PbdBody third = body(PbdBody::Form::box, Vec3(0, 1, 0), "led");
      third.motion = PbdBody::Motion::led;
      Scene scene(PbdSpec{.parts = {two_particles()},
                          .bodies = {body(PbdBody::Form::box, Vec3(1, 0, 0), "a"),
                                     body(PbdBody::Form::capsule, Vec3(0, 0, 1), "b"), third}});
      set_free(scene);
      scene.model.carriers = {{"s", "c", ""}, {"s", "d", ""}}, scene.model.rides.resize(2);
      for (Pbd::Model::Ride& ride : scene.model.rides)
        ride.from = ride.to = {Vec3(-1, -1, 0), some_turn(0.3, -0.5, 0.2).cast<Real>()};
      scene.model.rides[0].inverse_mass = Real(0.4);
      scene.model.rides[0].inverse_inertia.diagonal() = Vec3(3, 5, 4);
      scene.model.is_hung = true;
      // The second end is brought to the first one, but for an error.
      const Places at = scene.places();
      const double length = is_rope ? 0.8 : 0;
      const D3 direction = D3(0.6, 0.64, -0.48);
      const Vec3 way =
          (place_of(ends.b, at) + (length + off) * direction - place_of(ends.a, at)).cast<Real>();
      if (ends.a.particle >= 0)
        scene.state.particles.x[0] += way;
      else
        scene.state.frames.x[std::size_t(ends.a.body)] += way;
      scene.model.holds = {{ends.a, ends.b, Real(length), 0}};
      let_through(scene);
      expect_along_gradients(
          scene,
          [&](const Places& p) -> Column {
            const D3 apart = place_of(ends.a, p) - place_of(ends.b, p);
            if (is_rope) return one(apart.norm() - double(Real(length)));
            return apart;
          },
          0.3);
    }
}

// What hangs on one body is held at once.
TEST(PbdGradients, OfSeveralAttachmentsToABody) {
  PbdPart rope = two_particles();
  rope.segments = 3;
  Scene scene(PbdSpec{.parts = {rope}, .bodies = {body(PbdBody::Form::box, Vec3(0, 1, 0), "a")}});
  set_free(scene);
  const Vec3 at[3] = {Vec3(Real(0.2), 0, Real(0.1)), Vec3(Real(-0.2), Real(0.1), 0),
                      Vec3(0, Real(-0.1), Real(0.2))};
  const Places before = scene.places();
  for (std::size_t i = 0; i < 3; ++i) {
    scene.model.holds.push_back({{Index(i), -1, Vec3::Zero()}, {-1, 0, at[i]}, 0, 0});
    const D3 error = off * D3(std::sin(1.0 + double(i)), std::cos(3.0 * double(i)), 0.4);
    scene.state.particles.x[i] = (before.on_body(0, at[i].cast<double>()) + error).cast<Real>();
  }
  let_through(scene);
  expect_along_gradients(
      scene,
      [&](const Places& p) {
        Column c(9);
        for (std::size_t i = 0; i < 3; ++i)
          c.segment<3>(Eigen::Index(3 * i)) = p.x[i] - p.on_body(0, at[i].cast<double>());
        return c;
      },
      0.3);
}

// Angles of joints: of the axes of hinges, and all of fixed ones, whose Jacobian by turns of the world is the
// unit matrix but for half the angle.
// An angle has a kink where it is none: differences with a step d are off by d^2 / 6 e^2, so e is as large as
// in float in either precision.
TEST(PbdGradients, OfAnglesOfJoints) {
  const double aside = std::max(off, 3e-4);
  for (const bool about_axis : {true, false})
    for (const bool to_world : {true, false}) {
      Scene scene(PbdSpec{.bodies = {body(PbdBody::Form::box, Vec3(1, 0, 0), "a"),
                                     body(PbdBody::Form::capsule, Vec3(0, 0, 1), "b")}});
      const Places at = scene.places();
      const Qd b = to_world ? Qd(Qd::Identity()) : Qd(at.q[1]);
      Pbd::Alignment alignment{.a = 0, .b = to_world ? -1 : 1, .about_axis = about_axis};
      const D3 axis = D3(1, 2, -2) / 3;
      alignment.axis_a = (at.q[0].conjugate() * axis).cast<Real>();
      alignment.axis_b =
          (b.conjugate() * (turned_by(aside * D3(0.6, 0.5, 0.8), Qd::Identity()) * axis)).cast<Real>();
      alignment.turn = (at.q[0].conjugate() * turned_by(aside * D3(0.3, -0.7, 0.4), b)).cast<Real>();
      scene.model.alignments = {alignment};
      Pbd::update(scene.model);
      expect_along_gradients(
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
          1, false, times* aside);
    }
}

/// Two squares of two triangles each, at rest, with corners at 4 k + (0 0, 1 0, 0 1, 1 1).
Scene two_squares(const D3 (&corner)[2], const D3 (&u)[2], const D3 (&v)[2]) {
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

// A corner over the inside of a triangle, whichever that is: the constraint is the distance of all of it.
TEST(PbdGradients, OfContactOfAVertexAndAFace) {
  const double distance = 2 * double(Real(0.01));
  for (const auto& [s, t] : {std::pair(0.6, 0.15), std::pair(0.2, 0.7)}) {
    const D3 up = D3(0.2, 0.9, -0.1).normalized(), u = D3(1, 0, 0) - up.x() * up, v = up.cross(u);
    const D3 tip = s * u + t * v + (distance - off) * up;
    Scene scene = two_squares({D3::Zero(), tip}, {u, D3(0.5, 0.8, 0.1)}, {v, D3(-0.4, 0.9, 0.2)});
    ASSERT_GT(scene.model.shortest_edge, 4 * distance);
    expect_along_gradients(
        scene,
        [&](const Places& p) {
          double least = 1;
          for (std::size_t k = 0; k < 2; ++k) {
            const Index3& c = scene.model.triangles[k];
            least = std::min(least, test::triangle_distance(p.x[4], p.x[std::size_t(c[0])],
                                                            p.x[std::size_t(c[1])], p.x[std::size_t(c[2])]));
          }
          return one(least - distance);
        },
        1);
    EXPECT_EQ(scene.last.value("crossings"), 0);
  }
}

// A square that hangs from an edge and one that stands on an edge across it: of lines, the distance is the
// way between them along what is at right angles to both.
TEST(PbdGradients, OfContactOfTwoEdges) {
  const double distance = 2 * double(Real(0.01));
  const D3 u = D3(1, 0.1, 0.2), w = D3(0.3, -0.1, 1), up = w.cross(u).normalized();
  Scene scene = two_squares({D3::Zero(), 0.3 * u + (distance - off) * up - 0.6 * w}, {u, w},
                            {-up + 0.1 * w, up + 0.2 * u});
  expect_along_gradients(
      scene,
      [&](const Places& p) {
        const D3 n = (p.x[5] - p.x[4]).cross(p.x[1] - p.x[0]).normalized();
        return one(n.dot(p.x[4] - p.x[0]) - distance);
      },
      1);
}

/// A solid, and its signed distance in its own frame.
struct Solid {
  const char* name;
  Shape shape;
  std::function<double(const D3&)> distance;
  D3 inside = D3::Zero();  ///< [m] where rays begin
};
std::vector<Solid> solids() {
  return {{"sphere", SphereShape{Real(0.3)},
           [](const D3& x) { return sphere_distance(x, double(Real(0.3))).distance; }},
          {"box", BoxShape{Vec3(Real(0.2), Real(0.3), Real(0.25))},
           [](const D3& x) {
             return box_distance(x, D3(Vec3(Real(0.2), Real(0.3), Real(0.25)).cast<double>())).distance;
           }},
          {"capsule", CapsuleShape{Real(0.2), Real(0.3)},
           [](const D3& x) { return capsule_distance(x, double(Real(0.2)), double(Real(0.3))).distance; }},
          {"cylinder", CylinderShape{Real(0.2), Real(0.3)},
           [](const D3& x) { return cylinder_distance(x, double(Real(0.2)), double(Real(0.3))).distance; }},
          {"cone", ConeShape{Real(0.2), Real(0.3)},
           [](const D3& x) { return cone_distance(x, double(Real(0.2)), double(Real(0.3))).distance; }},
          {"torus", TorusShape{Real(0.25), Real(0.1)},
           [](const D3& x) { return torus_distance(x, double(Real(0.25)), double(Real(0.1))).distance; },
           D3(0.25, 0, 0)}};
}
/// Along a ray from inside, where the distance comes to be `at`.
D3 beside(const Solid& solid, const D3& ray, double at) {
  double s = 0;
  // Of steps no longer than the distance, none misses it.
  for (int k = 0; k < 400; ++k) s += at - solid.distance(solid.inside + s * ray);
  return solid.inside + s * ray;
}

/// A particle beside a body of any shape, at a place in its frame.
Scene particle_on(const Shape& shape, bool is_led, const D3& beside_it) {
  PbdBody of = body(PbdBody::Form::box, Vec3(Real(0.1), Real(0.2), Real(-0.1)), "a");
  if (is_led) of.motion = PbdBody::Motion::led;
  Scene scene(PbdSpec{.parts = {two_particles()}, .bodies = {of}});
  set_free(scene);
  Pbd::update(scene.model);
  scene.model.bodies[0].shape = shape, scene.model.bodies[0].reach = Real(0.5);
  scene.model.bodies[0].shape_in = {};
  scene.params.thickness = Real(0.02);
  scene.state.particles.x[0] = scene.places().on_body(0, beside_it).cast<Real>();
  scene.state.particles.x[1] = Vec3(5, 5, 5);
  return scene;
}

TEST(PbdGradients, OfContactWithPrimitives) {
  const double thickness = double(Real(0.02));
  for (const Solid& solid : solids())
    for (const bool is_led : {false, true})
      for (int trial = 0; trial < 8; ++trial) {
        SCOPED_TRACE(solid.name);
        const D3 ray = test::random_point<31>(std::uint64_t(trial), 1).cast<double>().normalized();
        Scene scene = particle_on(solid.shape, is_led, beside(solid, ray, thickness - off * 0.3));
        expect_along_gradients(
            scene, [&](const Places& p) { return one(solid.distance(p.in_body(0, p.x[0])) - thickness); },
            0.3);
      }
}

// The field of an egg.
TEST(PbdGradients, OfContactWithAField) {
  TriangleMesh mesh = icosphere_mesh(Real(0.3), 3);
  for (Vec3& x : mesh.x) x.x() *= 1 + x.y();
  const auto egg = std::make_shared<const SolidMesh>(mesh, DistanceFieldOptions{.resolution = 16});
  const Solid solid{"egg", MeshShape{egg},
                    [&](const D3& x) { return double(egg->signed_distance(x.cast<Real>()).distance); }};
  const double thickness = double(Real(0.02));
  for (const bool is_led : {false, true})
    for (int trial = 0; trial < 8; ++trial) {
      const D3 ray = test::random_point<32>(std::uint64_t(trial), 1).cast<double>().normalized();
      Scene scene = particle_on(solid.shape, is_led, beside(solid, ray, thickness - off * 0.3));
      expect_along_gradients(
          scene, [&](const Places& p) { return one(solid.distance(p.in_body(0, p.x[0])) - thickness); }, 0.3,
          true);
    }
}

// Bodies on each other, and on solids of other systems.
TEST(PbdGradients, OfContactOfBodies) {
  PbdBody ball = body(PbdBody::Form::sphere, Vec3::Zero(), "ball");
  const double radius = double(ball.radius);
  for (const Solid& solid : solids()) {
    const std::string_view name = solid.name;
    if (name == "cone" || name == "torus") continue;  // no forms of these bodies
    SCOPED_TRACE(name);
    for (int trial = 0; trial < 4; ++trial)
      for (const bool is_guest : {false, true}) {
        const D3 ray = test::random_point<33>(std::uint64_t(trial), 1).cast<double>().normalized();
        Scene scene(PbdSpec{.bodies = {ball, body(PbdBody::Form::box, Vec3(0, Real(0.1), 0), "b")}});
        scene.model.bodies[1].shape = solid.shape, scene.model.bodies[1].shape_in = {};
        scene.model.bodies[1].reach = Real(0.5);
        scene.state.frames.x[0] =
            scene.places().on_body(1, beside(solid, ray, radius - off * 0.3)).cast<Real>();
        const Places at = scene.places();
        if (is_guest) {
          scene.model.guests = {{solid.shape, scene.state.frames.pose(1), scene.state.frames.pose(1), 0, 0}};
          scene.model.bodies.pop_back(), scene.state.frames.resize(1);
        }
        expect_along_gradients(
            scene,
            [&](const Places& p) {
              return one(solid.distance((is_guest ? at : p).in_body(1, p.c[0])) - radius);
            },
            0.3);
      }
  }
}

// Bodies on the insides of triangles, at a point that is nearest but for a thousandth of the thickness, g: as
// distances of a ball's middle R off grow by a^2 / (2 R) a way off, that may be a = (2 R g)^(1/2) off.
TEST(PbdGradients, OfContactOfABodyAndAFace) {
  const PbdBody ball = body(PbdBody::Form::sphere, Vec3::Zero(), "ball");
  PbdPart square;
  square.cells_x = square.cells_z = 1;
  square.tethers = false;
  for (const auto& [s, t] : {std::pair(0.5, 0.2), std::pair(0.3, 0.6)}) {
    Scene scene(PbdSpec{.parts = {square}, .bodies = {ball}});
    set_free(scene);
    scene.params.thickness = Real(0.02);
    const D3 up = D3(0.2, 0.9, -0.1).normalized(), u = D3(1, 0, 0) - up.x() * up, v = up.cross(u);
    for (std::size_t i = 0; i < 4; ++i)
      scene.state.particles.x[i] = (double(i % 2) * u + double(i / 2) * v).cast<Real>();
    const double thickness = double(Real(0.02)), distance = double(ball.radius) + thickness;
    const double too_near = thickness / 10, g = 1e-3 * thickness;
    scene.state.frames.x[0] = (s * u + t * v + (distance - too_near) * up).cast<Real>();
    expect_along_gradients(
        scene,
        [&](const Places& p) {
          double least = 1;
          for (const Index3& c : scene.model.triangles)
            least = std::min(least, test::triangle_distance(p.c[0], p.x[std::size_t(c[0])],
                                                            p.x[std::size_t(c[1])], p.x[std::size_t(c[2])]));
          return one(least - distance);
        },
        1, false, g / too_near + std::sqrt(2 * distance * g) / distance + too_near / distance);
  }
}

// Planes of solids that go along: C = gap + n . (x - x0 - s v), s [s] since the step began.
TEST(PbdGradients, OfSupports) {
  const D3 normal = D3(0.48, 0.8, -0.36), velocity = D3(-0.3, 0.2, -0.5);
  Support support{};
  support.normal = normal.cast<Real>(), support.velocity = velocity.cast<Real>();
  support.gap = Real(off);
  PbdSupports supports;
  supports.take({&support, 1});
  supports.begin_substep();
  const double since = 0.02;
  std::vector<detail::Place> places = {{{Real(off), Real(-2 * off), 0}, Real(0.7)}};
  const std::vector<Vec3> gone = {Vec3::Zero()};
  const D3 before(double(places[0].x[0]), double(places[0].x[1]), 0);
  const auto value = [&](const D3& x) { return off + normal.dot(x) - since * normal.dot(velocity); };
  supports.hold(places, gone, Real(since), Real(0.01), {});
  D3 gradient;
  for (int c = 0; c < 3; ++c) gradient[c] = (value(before + D3::Unit(c)) - value(before - D3::Unit(c))) / 2;
  const D3 went = D3(double(places[0].x[0]), double(places[0].x[1]), double(places[0].x[2])) - before;
  ASSERT_LT(value(before), 0);
  EXPECT_LT((went + value(before) / gradient.squaredNorm() * gradient).norm(), times * off * off);
}

}}  // namespace plenum
