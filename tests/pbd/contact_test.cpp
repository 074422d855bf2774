// Position-based bodies that touch each other and themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <Eigen/Geometry>

#include "pbd/built.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/crossings.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/pbd/detail/planes.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

using Contact = Pbd::Contact;

struct Touching : plenum_test::Built {
  explicit Touching(const std::vector<PbdPart>& parts, Contact contact = Contact::conservative)
      : Built(parts) {
    params.contact = contact;
    params.thickness = Real(0.005);
  }
  std::size_t crossed() const {
    return crossings(state.particles.x, model.surface_edges, model.surface).size();
  }
};

PbdPart sheet(int cells, Real size, const Vec3& position, const Vec3& rotation = Vec3::Zero()) {
  PbdPart part;
  part.size_x = part.size_z = size;
  part.cells_x = part.cells_z = cells;
  part.bending_stiffness = Real(1e-5);
  part.position = position, part.rotation = rotation;
  return part;
}

/// A sheet that falls onto one that is held by its corners, and a rope and a block that fall on both.
std::vector<PbdPart> heap() {
  PbdPart held = sheet(24, Real(1.6), Vec3::Zero());
  held.pins.resize(1);
  held.pins[0].where = ParticlePin::Where::corners;
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3(Real(-0.3), Real(0.3), Real(0.1)), rope.to = Vec3(Real(0.3), Real(0.35), 0);
  rope.segments = 20;
  PbdPart block{.type = PbdPart::Type::bar};
  block.half_extents = Vec3(Real(0.1), Real(0.08), Real(0.1));
  block.cells_x = block.cells_y = block.cells_z = 3;
  block.position = Vec3(0, Real(0.55), 0), block.rotation = Vec3(20, 30, 10);
  block.youngs_modulus = Real(2e4), block.density = 100;
  return {held, sheet(14, Real(0.8), Vec3(0, Real(0.1), 0), Vec3(5, 30, 0)), rope, block};
}

// Rims of a tear: edges that are all but parallel, and much nearer to each other than they are long. Their
// distance is known, as edges at heights 0 and z that cross each other seen from above are z apart.
TEST(PbdContact, PlanesLieBetweenNearlyParallelEdges) {
  std::mt19937 random(11);
  const auto u = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  for (int k = 0; k < 4000; ++k) {
    const double z = std::pow(10, u(-5, -2)), angle = std::pow(10, u(-5, -1)), turn = u(0, 6),
                 tilt = u(-1, 1);
    // Of 0.1 m, past each other at parts of their lengths.
    const Vector3<double> along(1, 0, 0), other(std::cos(angle), std::sin(angle), 0), up(0, 0, z);
    Vector3<double> at[4] = {-u(0.01, 0.09) * along, {}, up - u(0.01, 0.09) * other, {}};
    at[1] = at[0] + 0.1 * along, at[3] = at[2] + 0.1 * other;
    const Eigen::Matrix3d rotation = (Eigen::AngleAxisd(turn, Vector3<double>(tilt, 1, 0.3).normalized()) *
                                      Eigen::AngleAxisd(tilt, Vector3<double>::UnitX()))
                                         .toRotationMatrix();
    detail::Wide3 x[4];
    for (int i = 0; i < 4; ++i) {
      const Vec3 turned = (rotation * (at[i] - at[0])).cast<Real>();
      x[i] = {detail::fill(turned.x()), detail::fill(turned.y()), detail::fill(turned.z())};
    }
    const detail::Planes planes = detail::planes_between(true, x);
    // Places are off by a rounding of 0.1 m each.
    const double rounding = 4 * 0.1 * double(std::numeric_limits<Real>::epsilon());
    EXPECT_LE(double(planes.gap[0]), z + rounding) << k;
    EXPECT_GE(double(planes.gap[0]), 0.5 * z - rounding) << k;
  }
}

TEST(PbdContact, NothingCrosses) {
  Touching bodies(heap());
  ASSERT_EQ(bodies.crossed(), 0U);
  for (int k = 0; k < 150; ++k) {
    const Report report = bodies.step();
    ASSERT_EQ(bodies.crossed(), 0U) << k;
    for (const Vec3& x : bodies.state.particles.x) ASSERT_TRUE(x.allFinite());
    EXPECT_GE(report.value("contact_pairs"), 0);
    if (k != 100) continue;
    // It has all come to lie on the sheet that is held, which without contact falls by 14 m. The block slides
    // over its edge later.
    Real lowest = 0;
    for (const Vec3& x : bodies.state.particles.x) lowest = std::min(lowest, x.y());
    EXPECT_GT(lowest, -1);
  }
  Touching through(heap(), Contact::none);
  std::size_t most = 0;
  for (int k = 0; k < 60; ++k) through.step(), most = std::max(most, through.crossed());
  EXPECT_GT(most, 0U);
}

// What contact after a step pushes out of solids is not pushed through itself. Long steps, and a hand that
// tears a sheet off a ball, leave much to it.
TEST(PbdContact, NothingIsPushedThroughItselfOutOfSolids) {
  const auto most_crossings = [](Contact contact) {
    World world({.fps = 20});
    Obstacle::Part ground, ball;
    ground.shape = Obstacle::Kind::plane;
    ball.radius = Real(0.3), ball.position = Vec3(0, Real(0.3), 0);
    world.add<Obstacle>("solids", {.parts = {ground, ball}});
    Touching bodies({sheet(20, 1, Vec3(0, Real(0.7), 0)), sheet(14, Real(0.7), Vec3(0, Real(0.9), 0))},
                    contact);
    auto& added = world.add<Pbd>("bodies", bodies.model, bodies.state, bodies.params);
    std::size_t most = 0;
    for (int k = 0; k < 60; ++k) {
      if (k >= 25 && k < 35) world.drag(1, 0, Vec3(k < 30 ? 3 : -3, 1, 1));
      if (k == 35) world.release();
      world.step_frame();
      most = std::max(
          most, crossings(added.state.particles.x, added.model.surface_edges, added.model.surface).size());
    }
    return most;
  };
  EXPECT_EQ(most_crossings(Contact::conservative), 0U);
  EXPECT_GT(most_crossings(Contact::fast), 0U);
}

// Steps of a second, in which all may meet all: what there is no room for slows bodies down and is told of.
TEST(PbdContact, StepsOfASecondHaveRoom) {
  for (const Contact mode : {Contact::conservative, Contact::fast}) {
    std::vector<PbdPart> parts;
    for (int k = 0; k < 3; ++k)
      parts.push_back(sheet(40, 1, Vec3(0, Real(0.1 * k), 0), Vec3(Real(3 * k), Real(25 * k), 0)));
    parts[0].pins.resize(1);
    parts[0].pins[0].where = ParticlePin::Where::corners;
    Touching bodies(parts, mode);
    const double n = double(bodies.state.particles.size());
    bool any = false;
    for (int k = 0; k < 4; ++k) {
      const Report report = bodies.step(1);
      for (const auto& warning : report.warnings())
        any |= warning.sentence().find("no room") != std::string::npos;
      EXPECT_LE(report.value("contact_pairs"), 64 * n + 65536) << k;
      for (const Vec3& x : bodies.state.particles.x) ASSERT_TRUE(x.allFinite());
      if (mode == Contact::conservative) {
        ASSERT_EQ(bodies.crossed(), 0U) << k;
      }
    }
    EXPECT_TRUE(any);
  }
  // None of it in usual steps.
  Touching usual(heap());
  for (int k = 0; k < 30; ++k)
    for (const auto& warning : usual.step().warnings())
      EXPECT_EQ(warning.sentence().find("no room"), std::string::npos);
}

/// Bodies of every kind that have a surface, above each other.
std::vector<PbdPart> every_kind() {
  std::vector<PbdPart> parts;
  const auto add = [&](PbdPart part) {
    part.position = Vec3(Real(0.02) * Real(parts.size() % 2), Real(0.2) + Real(0.26) * Real(parts.size()), 0);
    part.rotation = Vec3(Real(17 * parts.size()), Real(31 * parts.size()), 5);
    parts.push_back(part);
  };
  for (const PbdPart::Material material : {PbdPart::Material::shape_matching, PbdPart::Material::neo_hookean,
                                           PbdPart::Material::strain, PbdPart::Material::distances}) {
    PbdPart bar{.type = PbdPart::Type::bar};
    bar.half_extents = Vec3::Constant(Real(0.08));
    bar.cells_x = bar.cells_y = bar.cells_z = 2;
    bar.material = material, bar.density = 150, bar.youngs_modulus = Real(2e4);
    add(bar);
  }
  for (const PbdPart::ShapeMode mode : {PbdPart::ShapeMode::linear, PbdPart::ShapeMode::quadratic}) {
    PbdPart ball{.type = PbdPart::Type::soft_body};
    ball.mesh = icosphere_mesh(Real(0.1), 2), ball.spacing = Real(0.05), ball.density = 150;
    ball.material = PbdPart::Material::shape_matching, ball.shape_mode = mode, ball.shape_frequency = 10;
    add(ball);
  }
  for (const PbdPart::Filling filling : {PbdPart::Filling::gas, PbdPart::Filling::volume}) {
    PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
    balloon.mesh = icosphere_mesh(Real(0.1), 2), balloon.areal_density = 2;
    balloon.inflated = true, balloon.filling = filling, balloon.stretch_compliance = Real(1e-3);
    add(balloon);
  }
  PbdPart cloth = sheet(8, Real(0.3), Vec3::Zero());
  cloth.stretching = PbdPart::Stretching::strain;
  add(cloth);
  return parts;
}

// Whatever they are made of: each has its surface among what touches, and the one it falls on stops it.
TEST(PbdContact, BodiesOfEveryKindTouchEachOther) {
  Touching bodies(every_kind());
  const Pbd::Model& m = bodies.model;
  for (const Pbd::Part& part : m.parts)
    EXPECT_TRUE(std::any_of(m.surface.begin(), m.surface.end(), [&](const Index3& t) {
      return t[0] >= part.first_particle && t[0] < part.first_particle + part.num_particles;
    })) << part.first_particle;
  ASSERT_EQ(bodies.crossed(), 0U);
  // A floor of the lowest body's particles.
  for (Index i = 0; i < m.parts[0].num_particles; ++i)
    bodies.state.particles.inverse_mass[std::size_t(i)] = 0;
  for (int k = 0; k < 60; ++k) {
    bodies.step();
    ASSERT_EQ(bodies.crossed(), 0U) << k;
  }
  for (const Vec3& x : bodies.state.particles.x) ASSERT_TRUE(x.allFinite());
  const Pbd::Part& second = m.parts[1];
  for (Index i = second.first_particle; i < second.first_particle + second.num_particles; ++i)
    EXPECT_GT(bodies.state.particles.x[std::size_t(i)].y(), Real(0.2)) << "fell into what is held";
}

// The shortest edge, which bounds the distance of contact, is also that of cloth without distances.
TEST(PbdContact, ClothWithAWarpHasEdges) {
  PbdPart cloth = sheet(10, 1, Vec3::Zero());
  cloth.stretching = PbdPart::Stretching::strain;
  const Touching bodies({cloth});
  EXPECT_TRUE(bodies.model.edges.empty());
  EXPECT_NEAR(bodies.model.shortest_edge, 0.1, 1e-6);
}

// As fast as 60 m/s, and with steps of 1 to 50 ms.
TEST(PbdContact, NothingCrossesHoweverFast) {
  for (const Real dt : {Real(1e-3), Real(1) / 60, Real(0.05)})
    for (const Real speed : {Real(5), Real(60)}) {
      PbdPart held = sheet(10, 1, Vec3::Zero());
      held.pins.resize(1);
      held.pins[0].where = ParticlePin::Where::corners;
      PbdPart thrown = sheet(6, Real(0.3), Vec3(0, Real(0.3), 0), Vec3(40, 20, 70));
      thrown.velocity = Vec3(0, -speed, 0);
      Touching bodies({held, thrown});
      for (int k = 0; k < 40; ++k) {
        bodies.step(dt);
        ASSERT_EQ(bodies.crossed(), 0U) << dt << " " << speed << " " << k;
      }
    }
}

TEST(PbdContact, FastModeCountsWhatItLeaves) {
  PbdPart held = sheet(10, 1, Vec3::Zero());
  held.pins.resize(1);
  held.pins[0].where = ParticlePin::Where::corners;
  PbdPart thrown = sheet(6, Real(0.3), Vec3(0, Real(0.05), 0), Vec3(80, 20, 70));
  thrown.velocity = Vec3(0, -60, 0);
  Touching bodies({held, thrown}, Contact::fast);
  for (int k = 0; k < 5; ++k) {
    const Report report = bodies.step(Real(0.05));
    EXPECT_EQ(report.value("crossings", -1), double(bodies.crossed())) << k;
  }
}

// Between sheets that come at each other nothing but contact acts: equal and opposite pushes.
TEST(PbdContact, KeepsMomentum) {
  for (const Contact contact : {Contact::fast, Contact::conservative}) {
    PbdPart a = sheet(8, Real(0.5), Vec3::Zero()),
            b = sheet(6, Real(0.4), Vec3(0, Real(0.08), 0), Vec3(8, 30, 0));
    a.velocity = Vec3(0, 1, 0), b.velocity = Vec3(Real(0.5), -3, 0), b.areal_density = Real(0.5);
    Touching bodies({a, b}, contact);
    bodies.params.gravity = Vec3::Zero();
    const auto momentum = [&] {
      Vector3<double> sum = Vector3<double>::Zero();
      for (std::size_t i = 0; i < bodies.model.mass.size(); ++i)
        sum += double(bodies.model.mass[i]) * bodies.state.particles.v[i].cast<double>();
      return sum;
    };
    const Vector3<double> before = momentum();
    double mass = 0;
    for (const Real m : bodies.model.mass) mass += double(m);
    for (int k = 0; k < 30; ++k) bodies.step();
    // Velocities are differences of positions of 1 m over h.
    const double rounding = 8 * double(std::numeric_limits<Real>::epsilon()) * 600;
    EXPECT_LT((momentum() - before).norm(), rounding * mass) << int(contact);
    // They have met: the lower one has been pushed down.
    EXPECT_LT(bodies.state.particles.v[40].y(), 0);
  }
}

// Sheets that lie on each other keep the contact's distance.
TEST(PbdContact, StackedSheetsStayStacked) {
  PbdPart ground = sheet(10, 1, Vec3::Zero());
  ground.pins.resize(1);
  ground.pins[0].where = ParticlePin::Where::all;
  std::vector<PbdPart> parts = {ground};
  for (int k = 1; k <= 3; ++k)
    parts.push_back(sheet(8, Real(0.7), Vec3(0, Real(0.02) * Real(k), 0), Vec3(0, Real(15 * k), 0)));
  Touching bodies(parts);
  for (int k = 0; k < 300; ++k) bodies.step();
  const double distance = double(Pbd::contact_distance(bodies.model, bodies.params));
  EXPECT_DOUBLE_EQ(distance, double(Real(0.01)));
  for (int k = 1; k <= 3; ++k) {
    const Pbd::Part& part = bodies.model.parts[std::size_t(k)];
    double mean = 0;
    for (Index i = part.first_particle; i < part.first_particle + part.num_particles; ++i)
      mean += double(bodies.state.particles.x[std::size_t(i)].y()) / part.num_particles;
    // No nearer than a hundredth less, the limit of contacts that are pushed on by turns; edges that cross
    // above faces may lie a little higher.
    EXPECT_GT(mean, 0.97 * distance * k) << k;
    EXPECT_LT(mean, 1.1 * distance * k) << k;
  }
  for (const Vec3& v : bodies.state.particles.v) EXPECT_LT(v.norm(), 0.02);
  EXPECT_EQ(bodies.crossed(), 0U);
}

// A sheet on another that is held and tilted by atan 0.3 stays where it bears more at rest, and else slides
// with g (sin - mu cos); one that has been pushed slides where it would have stayed.
TEST(PbdContact, FrictionHoldsUpToCoulombsAngle) {
  struct Case {
    double mu, at_rest, pushed;
  };
  for (const Case c : {Case{0.2, -1, 0}, {0.45, -1, 0}, {0.2, 0.45, 0}, {0.2, 0.25, 0}, {0.2, 0.45, 0.5}}) {
    const Real tilt = Real(std::atan(0.3) * 180 / 3.14159265358979);
    PbdPart slope = sheet(12, 2, Vec3::Zero(), Vec3(0, 0, tilt));
    slope.pins.resize(1);
    slope.pins[0].where = ParticlePin::Where::all;
    const Real cosine = Real(1 / std::sqrt(1.09)), sine = Real(0.3 / std::sqrt(1.09));
    PbdPart lying = sheet(6, Real(0.4), Vec3(-sine, cosine, 0) * Real(0.0105), Vec3(0, 0, tilt));
    lying.velocity = Vec3(-cosine, -sine, 0) * Real(c.pushed);
    Touching bodies({slope, lying});
    bodies.params.friction = Real(c.mu), bodies.params.static_friction = Real(c.at_rest);
    const auto place = [&] {
      const Pbd::Part& part = bodies.model.parts[1];
      Vec3 sum = Vec3::Zero();
      for (Index i = part.first_particle; i < part.first_particle + part.num_particles; ++i)
        sum += bodies.state.particles.x[std::size_t(i)] / Real(part.num_particles);
      return sum;
    };
    const Vec3 before = place();
    for (int k = 0; k < 60; ++k) bodies.step();
    const double slid = double((place() - before).dot(Vec3(-cosine, -sine, 0)));
    if (std::max(c.mu, c.at_rest) > 0.3 && c.pushed == 0)
      EXPECT_LT(slid, 0.005);
    else
      EXPECT_NEAR(slid, c.pushed + 0.5 * 9.81 * double(sine - Real(c.mu) * cosine), 0.02) << c.pushed;
  }
}

TEST(PbdContact, RefusesLessFrictionAtRest) {
  Pbd::Params params;
  params.friction = Real(0.5), params.static_friction = Real(0.25);
  try {
    Pbd::check({}, params);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "params.static_friction: is below the friction of what slides: 0.25 (allowed: 0.5 or more, or -1); "
        "leave it out where rest bears no more than sliding");
  }
  params.static_friction = -1, Pbd::check({}, params);
  params.static_friction = Real(0.5), Pbd::check({}, params);
}

// What slides along a surface is not what comes nearer: at 12 m/s, 2 cm a substep, no speed is lost.
TEST(PbdContact, WhatSlidesIsNotHeldBack) {
  PbdPart ground = sheet(40, 4, Vec3::Zero());
  ground.pins.resize(1);
  ground.pins[0].where = ParticlePin::Where::all;
  PbdPart thrown = sheet(6, Real(0.4), Vec3(-1, Real(0.0105), 0), Vec3(0, 20, 0));
  thrown.velocity = Vec3(12, 0, 0);
  Touching bodies({ground, thrown});
  bodies.params.friction = 0;
  bodies.params.gravity = Vec3(0, -1, 0);
  for (int k = 0; k < 8; ++k) bodies.step();
  const auto first = std::size_t(bodies.model.parts[1].first_particle);
  Real mean = 0;
  for (std::size_t i = first; i < bodies.model.mass.size(); ++i)
    mean += bodies.state.particles.v[i].x() / Real(bodies.model.mass.size() - first);
  // As far as the sheet stays flat: pushes of a crease would be along.
  EXPECT_NEAR(double(mean), 12, 0.12);
  EXPECT_EQ(bodies.crossed(), 0U);
}

// Held sheets that are led through each other cross; what is free falls on undisturbed, and what lies on one
// of them gives way to the other.
TEST(PbdContact, HeldThingsLedThroughHeldThings) {
  PbdPart still = sheet(8, Real(0.8), Vec3::Zero()), led = sheet(4, Real(0.4), Vec3(0, Real(-0.3), 0));
  PbdPart lying = sheet(5, Real(0.4), Vec3(Real(0.02), Real(0.015), Real(0.01)));
  PbdPart falling = sheet(5, Real(0.4), Vec3(2, 0, 0));
  still.pins.resize(1), led.pins.resize(1);
  still.pins[0].where = led.pins[0].where = ParticlePin::Where::all;
  led.pins[0].group = 1, led.rotation = Vec3(10, 0, 20);
  Touching bodies({still, lying, led, falling});
  bodies.params.pins.resize(2);
  for (int k = 1; k <= 30; ++k) {
    bodies.params.pins[1].offset = Vec3(0, Real(k) * Real(0.0105), 0);
    bodies.step();
    for (const Vec3& x : bodies.state.particles.x) ASSERT_TRUE(x.allFinite()) << k;
  }
  EXPECT_GT(bodies.crossed(), 0U);
  // Ten substeps of h: h^2 g n (n + 1) / 2.
  const Pbd::Part& part = bodies.model.parts[3];
  const double h = 1.0 / 600;
  for (Index i = part.first_particle; i < part.first_particle + part.num_particles; ++i)
    EXPECT_NEAR(double(bodies.state.particles.x[std::size_t(i)].y()), -9.81 * h * h * 300 * 301 / 2, 1e-4);
  // Nothing free has gone through anything.
  const auto free = [&](Index i) { return bodies.state.particles.inverse_mass[std::size_t(i)] > 0; };
  for (const Index2& c :
       crossings(bodies.state.particles.x, bodies.model.surface_edges, bodies.model.surface)) {
    const Index2& e = bodies.model.surface_edges[std::size_t(c[0])];
    EXPECT_FALSE(free(e[0])) << "particle " << e[0];
  }
}

// A held edge that is led through a sheet which hangs by its corners takes the sheet along.
// Two hems of a sheet led onto each other, and past: what hangs between them is neither thrown nor stuck.
TEST(PbdContact, HemsLedThroughEachOtherThrowNothing) {
  PbdPart cloth = sheet(20, 1, Vec3::Zero());
  cloth.pins.resize(2);
  cloth.pins[0].where = ParticlePin::Where::left, cloth.pins[1].where = ParticlePin::Where::right;
  cloth.pins[1].group = 1;
  Touching bodies({cloth});
  bodies.params.thickness = Real(0.01);
  bodies.params.pins.resize(2);
  for (int k = 0; k < 180; ++k) {
    bodies.params.pins[0].offset.x() = std::min(Real(1), Real(k) / 100) * Real(1.2);
    bodies.step();
    for (const Vec3& x : bodies.state.particles.x) ASSERT_LT(x.norm(), 2) << k;
  }
  Real fastest = 0;
  for (const Vec3& v : bodies.state.particles.v) fastest = std::max(fastest, v.norm());
  EXPECT_GT(fastest, 0);
}

TEST(PbdContact, HeldThingsPushWhatIsFree) {
  PbdPart hanging = sheet(16, Real(0.8), Vec3::Zero());
  hanging.pins.resize(1);
  hanging.pins[0].where = ParticlePin::Where::corners;
  PbdPart led = sheet(4, Real(0.2), Vec3(0, Real(0.14), 0), Vec3(80, 30, 0));
  led.pins.resize(1);
  led.pins[0].where = ParticlePin::Where::all, led.pins[0].group = 1;
  Touching bodies({hanging, led});
  bodies.params.pins.resize(2);
  ASSERT_EQ(bodies.crossed(), 0U);
  for (int k = 1; k <= 40; ++k) {
    // Down by 24 cm at 0.4 m/s, and up again.
    bodies.params.pins[1].offset = Vec3(0, -Real(k <= 36 ? k : 72 - k) * Real(0.4 / 60), 0);
    bodies.step();
    ASSERT_EQ(bodies.crossed(), 0U) << k;
  }
}

// What is not finite is not put back unseen.
TEST(PbdContact, WhatIsNotFiniteStaysSo) {
  for (const Contact contact : {Contact::fast, Contact::conservative}) {
    Touching bodies({sheet(6, Real(0.4), Vec3::Zero()), sheet(6, Real(0.4), Vec3(0, Real(0.02), 0))},
                    contact);
    bodies.step();
    bodies.state.particles.v[5].y() = std::numeric_limits<Real>::quiet_NaN();
    bodies.step();
    EXPECT_FALSE(bodies.state.particles.x[5].allFinite());
  }
}

// As fast as bodies may be thrown: no more pairs than of what may touch.
TEST(PbdContact, HowFastAllGoIsOfNoConcern) {
  PbdPart a = sheet(20, 1, Vec3::Zero(), Vec3(30, 20, 0));
  a.velocity = Vec3(3e4F, 1e4F, 0);
  Touching bodies({a});
  bodies.params.gravity = Vec3::Zero();
  const Report report = bodies.step();
  EXPECT_LT(report.value("contact_pairs"), 1000);
  EXPECT_EQ(report.value("contact_zones"), 0);
}

// Sheets that meet flat part at e times the speed: all of it is within the contacts' normals, and four rounds
// leave a few hundredths of it.
TEST(PbdContact, RestitutionKeepsItsPartOfTheSpeed) {
  // They meet within a substep: from 0.1 m away at 3 m/s it would be at the end of the 19th but for rounding,
  // which struck some of their corners a substep before the others.
  for (const double e : {0.0, 0.5, 0.9}) {
    PbdPart a = sheet(6, Real(0.4), Vec3::Zero()),
            b = sheet(7, Real(0.4), Vec3(Real(0.01), Real(0.102), Real(0.02)), Vec3(0, 10, 0));
    a.velocity = Vec3(0, 1, 0), b.velocity = Vec3(0, -2, 0), b.areal_density = Real(0.4);
    Touching bodies({a, b});
    bodies.params.gravity = Vec3::Zero();
    bodies.params.restitution = Real(e), bodies.params.friction = 0;
    const auto velocity = [&](std::size_t part) {
      const Pbd::Part& of = bodies.model.parts[part];
      double momentum = 0, mass = 0;
      for (auto i = std::size_t(of.first_particle); i < std::size_t(of.first_particle + of.num_particles);
           ++i) {
        momentum += double(bodies.model.mass[i]) * double(bodies.state.particles.v[i].y());
        mass += double(bodies.model.mass[i]);
      }
      return std::pair(momentum / mass, mass);
    };
    for (int k = 0; k < 12; ++k) bodies.step();
    const auto [va, ma] = velocity(0);
    const auto [vb, mb] = velocity(1);
    EXPECT_NEAR(vb - va, 3 * e, 0.15) << e;
    // As KeepsMomentum.
    const double rounding = 8 * double(std::numeric_limits<Real>::epsilon()) * 600;
    EXPECT_NEAR(ma * va + mb * vb, ma - 2 * mb, rounding * (ma + mb)) << e;
  }
}

TEST(PbdContact, TheSameForAnyNumberOfThreadsAndAfterForgetting) {
  const auto run = [](int threads, bool forget) {
    Touching bodies(heap());
    bodies.params.restitution = Real(0.3);
    with_threads(threads, [&] {
      for (int k = 0; k < 50; ++k) {
        bodies.step();
        if (forget) bodies.workspace = {};
      }
    });
    return bodies.state.particles.x;
  };
  const std::vector<Vec3> one = run(1, false);
  for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(run(threads, false), one) << threads;
  EXPECT_EQ(run(1, true), one);
}

// Two sheets that begin through each other are told of, how much and where; they are let through each other
// where they are, and come no farther; and lie still there, where pushes to no side would make them tremble.
class PbdCrossing : public testing::TestWithParam<Pbd::Contact> {};
INSTANTIATE_TEST_SUITE_P(Modes, PbdCrossing, testing::Values(Pbd::Contact::conservative, Pbd::Contact::fast));
TEST_P(PbdCrossing, AtTheStartIsToldOfAndLiesStill) {
  const Vec3 middle(Real(0.3), 1, Real(-0.2));
  const Vec3 turned(0, 0, 90);
  Touching bodies({sheet(20, 1, middle), sheet(21, 1, middle + Vec3(Real(0.013), 0, 0), turned)});
  bodies.params.contact = GetParam();
  bodies.params.gravity.setZero(), bodies.params.damping = 2;
  const std::size_t at_first = bodies.crossed();
  ASSERT_GT(at_first, 20U);
  for (int k = 0; k < 180; ++k) {
    bodies.step();
    ASSERT_LE(bodies.crossed(), at_first) << k;
    // Nor is anything said of held particles, of which there are none.
    ASSERT_LE(bodies.last.warnings().size(), 1U) << bodies.last.warnings()[1].sentence();
    if (k > 0) continue;
    EXPECT_EQ(bodies.last.value("crossings"), double(at_first));
    const Vector3<double> at(bodies.last.value("crossing_x"), bodies.last.value("crossing_y"),
                             bodies.last.value("crossing_z"));
    EXPECT_LT((at - middle.cast<double>()).norm(), 0.1);
    ASSERT_EQ(bodies.last.warnings().size(), 1U);
    EXPECT_NE(bodies.last.warnings()[0].sentence().find("bodies cross"), std::string::npos);
  }
  // A millimetre in a second.
  for (const Vec3& v : bodies.state.particles.v) EXPECT_LT(v.norm(), 1e-3);
}

// Two sheets of one place have no sides for each other. What comes of it is counted and told of in every
// step.
TEST_P(PbdCrossing, OfOnePlaceIsToldOf) {
  PbdPart part = sheet(12, 1, Vec3(0, 1, 0));
  part.pins.resize(1);
  part.pins[0].where = ParticlePin::Where::back;
  Touching bodies({part, sheet(12, 1, Vec3(0, 1, 0))});
  bodies.params.contact = GetParam();
  std::size_t before = 0, most = 0;
  for (int k = 0; k < 40; ++k) {
    bodies.step();
    const std::size_t crossed = bodies.crossed();
    EXPECT_EQ(bodies.last.value("crossings"), double(crossed)) << k;
    most = std::max(most, crossed);
    std::string said;
    for (const auto& warning : bodies.last.warnings()) said += warning.sentence() + '\n';
    const bool is_told = said.find("bodies cross") != std::string::npos ||
                         said.find("exactly in each other") != std::string::npos;
    const std::size_t at_start = std::exchange(before, crossed);
    EXPECT_TRUE(is_told || at_start == 0) << k << ": " << said;
    if (k == 0) {
      EXPECT_NE(said.find("exactly in each other"), std::string::npos) << said;
    }
  }
  EXPECT_GT(most, 0U);
}

// And what is drawn apart again may touch again: nothing is told of any more.
TEST(PbdContact, WhatHasCrossedParts) {
  PbdPart first = sheet(10, 1, Vec3(0, 1, 0)), second = sheet(11, 1, Vec3(Real(0.46), 1, 0), Vec3(0, 0, 90));
  for (PbdPart* const part : {&first, &second}) {
    part->pins.resize(1);
    part->pins[0].where = ParticlePin::Where::left, part->pins[0].group = part == &second;
  }
  Touching bodies({first, second});
  bodies.params.gravity.setZero(), bodies.params.damping = 2;
  bodies.params.pins.resize(2);
  ASSERT_GT(bodies.crossed(), 0U);
  for (int k = 0; k < 120; ++k) {
    bodies.params.pins[1].offset.x() = Real(0.5) * Real(std::min(k, 60)) / 60;
    bodies.step();
  }
  EXPECT_EQ(bodies.crossed(), 0U);
  EXPECT_TRUE(bodies.last.warnings().empty());
  EXPECT_EQ(bodies.last.value("crossings", -1), 0);
}

}}  // namespace plenum
