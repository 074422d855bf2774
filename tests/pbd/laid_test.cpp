// Rigid bodies on cloth that lies on what does not yield: borne at once, and drawn along as Coulomb says.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "pbd/built.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

constexpr Real thickness = Real(0.003), dt = Real(1) / 60;
constexpr double g = 9.81;

PbdBody ware(PbdBody::Form form, Real radius, Real height) {
  PbdBody body;
  body.shape = form;
  body.radius = radius, body.half_height = height / 2;
  body.half_extents = Vec3(radius, height / 2, radius);
  body.position = Vec3(0, 2 * thickness + height / 2, 0);
  body.density = 800, body.friction = Real(0.2);
  return body;
}

/// A table top, a cloth on it that a hand draws along x by its right edge, and a body on the cloth.
struct Laid : plenum_test::Built {
  double speed;  ///< [m/s]
  int frames = 0;

  explicit Laid(const PbdBody& body, Real of_cloth, int substeps = 16) : speed(double(of_cloth)) {
    PbdBody table;
    table.half_extents = Vec3(4, Real(0.5), 1), table.position = Vec3(0, Real(-0.5), 0);
    table.motion = PbdBody::Motion::led, table.group = 1, table.friction = Real(0.1);
    PbdPart cloth;
    cloth.size_x = Real(1.2), cloth.size_z = Real(0.5), cloth.cells_x = 54, cloth.cells_z = 23;
    cloth.position = Vec3(0, thickness, 0), cloth.velocity = Vec3(of_cloth, 0, 0);
    cloth.bending_stiffness = Real(2e-5);
    cloth.pins = {{.where = ParticlePin::Where::right}};
    Pbd::build({.parts = {cloth}, .bodies = {table, body}}, model, state);
    params.air_density = 0, params.substeps = substeps;
    params.thickness = thickness, params.friction = Real(0.2);
    params.pins.resize(1);
  }
  void step() {
    ++frames;
    params.pins[0].offset = Vec3(Real(frames) * dt * Real(speed), 0, 0);
    Pbd::step(model, state, params, workspace, dt);
  }
  const Vec3& at() const { return state.frames.x[1]; }
  const Vec3& v() const { return state.frames.v[1]; }
  double upright() const { return double((state.frames.rotation(1) * Vec3::UnitY()).y()); }
};

const PbdBody plate = ware(PbdBody::Form::cylinder, Real(0.13), Real(0.02)),
              candlestick = ware(PbdBody::Form::cylinder, Real(0.06), Real(0.24)),
              crate = ware(PbdBody::Form::box, Real(0.06), Real(0.05));

TEST(PbdLaid, LieStill) {
  // A plate weighs five thousand times as much as a particle of the cloth under it.
  for (const PbdBody& body : {plate, candlestick, crate}) {
    Laid laid(body, 0);
    const Vec3 from = laid.at();
    for (int k = 0; k < 120; ++k) laid.step();
    // What gravity moves in a substep, h^2 g.
    const double fall = g * std::pow(double(dt) / 16, 2);
    EXPECT_LT(double((laid.at() - from).norm()), fall);
    EXPECT_GT(laid.upright(), 1 - 1e-6);
  }
}

TEST(PbdLaid, AreDrawnAlongByFriction) {
  // v = mu g t and s = mu g t^2 / 2 while the cloth is faster, and nothing tips: mu is less than the ratio of
  // radius to height of the middle. A step ends with what its substeps have gone with: s is larger by half
  // of a substep.
  for (const PbdBody& body : {plate, candlestick, crate}) {
    Laid laid(body, 4);
    const Vec3 from = laid.at();
    for (int k = 0; k < 6; ++k) laid.step();
    const double t = 6 * double(dt), v = 0.2 * g * t;
    EXPECT_NEAR(double(laid.v().x()), v, 0.01 * v);
    EXPECT_NEAR(double((laid.at() - from).x()), v * (t + double(dt) / 16) / 2, 0.01 * v * t / 2);
    EXPECT_LT(std::abs(double((laid.at() - from).y())), 1e-4);
    EXPECT_GT(laid.upright(), 1 - 1e-5);
  }
}

TEST(PbdLaid, PressTheClothOnTheTable) {
  // A hand that draws a cloth with a body on it steadily: the cloth's own friction on the table and that of
  // the body's weight on both sides. Without the body 0.1414 g of the cloth slows a cloth that is let go.
  const auto speed_after = [](double density) {
    PbdBody body = plate;
    body.density = Real(density);
    Laid laid(body, 2);
    laid.params.pins[0].released = true;
    const double before = double(laid.state.particles.v[700].x());
    for (int k = 0; k < 3; ++k) laid.step();
    double momentum = 0, mass = 0;
    for (std::size_t i = 0; i < laid.model.mass.size(); ++i) {
      momentum += double(laid.model.mass[i] * laid.state.particles.v[i].x());
      mass += double(laid.model.mass[i]);
    }
    return std::array{before - momentum / mass, mass, double(laid.model.bodies[1].mass)};
  };
  const double on_table = std::sqrt(0.2 * 0.1), t = 3 * double(dt);
  for (const double density : {100.0, 200.0}) {
    const auto [lost, cloth, body] = speed_after(density);
    const double wanted = g * t * (on_table * (cloth + body) + 0.2 * body) / cloth;
    EXPECT_NEAR(lost, wanted, 0.05 * wanted) << density;
  }
}

/// A heavy crate that glides over a light cloth, which lies on a table by itself.
struct Gliding : Laid {
  /// friction_below: of the cloth on the table.
  Gliding(Real density, Real speed, double friction_below, double slope = 0, int substeps = 16)
      : Laid(heavy(density, speed), 0, substeps) {
    model.pinned.clear(), model.pin_group.clear(), model.pin_position.clear();
    for (std::size_t i = 0; i < model.mass.size(); ++i) state.particles.inverse_mass[i] = 1 / model.mass[i];
    model.tethers.clear(), model.tether_length.clear();
    model.bodies[0].friction = Real(friction_below * friction_below / 0.2);
    params.gravity = Real(g) * Vec3(Real(std::sin(slope)), -Real(std::cos(slope)), 0);
    Pbd::update(model);
  }
  void run(int steps) {
    for (int k = 0; k < steps; ++k) step();
  }
  double cloth_mass() const {
    double sum = 0;
    for (const Real m : model.mass) sum += double(m);
    return sum;
  }
  /// [N s] along x, of crate and cloth.
  double momentum() const {
    double sum = double(model.bodies[1].mass) * double(v().x());
    for (std::size_t i = 0; i < model.mass.size(); ++i)
      sum += double(model.mass[i]) * double(state.particles.v[i].x());
    return sum;
  }
  static PbdBody heavy(Real density, Real speed) {
    PbdBody body = ware(PbdBody::Form::box, Real(0.08), Real(0.04));
    body.position.x() = Real(-0.3), body.velocity = Vec3(speed, 0, 0);
    body.density = density;
    return body;
  }
};

TEST(PbdLaid, GlideByCoulombHoweverHeavyAndSlow) {
  // The crate on the cloth has a friction of 0.2, the cloth on the table more: it stays, and the crate loses
  // mu g t.
  constexpr int steps = 10;
  for (const Real density : {Real(800), Real(8000), Real(80000)})
    for (const double speed : {0.5, 1.0, 2.0}) {
      Gliding gliding(density, Real(speed), 0.4);
      gliding.run(2);
      const double from = double(gliding.v().x());
      gliding.run(steps);
      const double wanted = 0.2 * g * steps * double(dt);
      EXPECT_NEAR(from - double(gliding.v().x()), wanted, 0.03 * wanted) << density << ' ' << speed;
    }
}

TEST(PbdLaid, GlideWithAClothThatSlides) {
  // The table holds less than the crate rubs: the cloth is drawn along, and what both lose is the friction of
  // the crate's weight on the table, and of as much of the cloth's as slides.
  constexpr int steps = 10;
  const double below = 0.1;
  for (const Real density : {Real(800), Real(8000), Real(80000)})
    for (const double speed : {0.5, 1.0, 2.0}) {
      Gliding gliding(density, Real(speed), below);
      gliding.run(2);
      const double from = gliding.momentum();
      gliding.run(steps);
      const double crate = double(gliding.model.bodies[1].mass) * g * steps * double(dt),
                   cloth = gliding.cloth_mass() * g * steps * double(dt);
      const double lost = from - gliding.momentum();
      EXPECT_GT(lost, 0.97 * below * crate) << density << ' ' << speed;
      EXPECT_LT(lost, 1.03 * below * (crate + cloth)) << density << ' ' << speed;
    }
}

TEST(PbdLaid, HoldAndSlideOnSlopesByCoulomb) {
  for (const Real density : {Real(800), Real(8000), Real(80000)}) {
    // Less than the friction holds: 0.15 of 0.2.
    Gliding held(density, 0, 0.4, std::atan(0.15));
    held.run(60);
    EXPECT_LT(std::abs(double(held.v().x())), 0.002) << density;
    // More does not: g (sin - mu cos).
    const double slope = std::atan(0.3);
    Gliding slides(density, 0, 0.4, slope);
    const int steps = 20;
    slides.run(steps);
    const double wanted = g * (std::sin(slope) - 0.2 * std::cos(slope)) * steps * double(dt);
    EXPECT_NEAR(double(slides.v().x()), wanted, 0.03 * wanted) << density;
  }
}

TEST(PbdLaid, GlideOnOthersSolidsAlike) {
  World world({.fps = 60});
  Obstacle::Model ground;
  Obstacle::State still;
  Obstacle::Part box;
  box.shape = Obstacle::Kind::box, box.half_extents = Vec3(4, Real(0.5), 1);
  box.position = Vec3(0, Real(-0.5), 0);
  Obstacle::build({.parts = {box}}, ground, still);
  Obstacle::Params rough;
  rough.friction = Real(0.8);
  world.add<Obstacle>("table", std::move(ground), std::move(still), rough);
  Gliding gliding(8000, 1, 0.4);
  PbdBody crate = Gliding::heavy(8000, 1);
  PbdPart cloth;
  cloth.size_x = Real(1.2), cloth.size_z = Real(0.5), cloth.cells_x = 54, cloth.cells_z = 23;
  cloth.position = Vec3(0, thickness, 0), cloth.bending_stiffness = Real(2e-5);
  Pbd::Model model;
  Pbd::State state;
  Pbd::build({.parts = {cloth}, .bodies = {crate}}, model, state);
  const auto& laid = world.add<Pbd>("laid", std::move(model), std::move(state), gliding.params);
  const auto speed = [&] { return double(laid.state.frames.v[0].x()); };
  for (int k = 0; k < 2; ++k) world.step_frame();
  const double from = speed();
  constexpr int steps = 10;
  for (int k = 0; k < steps; ++k) world.step_frame();
  const double wanted = 0.2 * g * steps * double(dt);
  EXPECT_NEAR(from - speed(), wanted, 0.03 * wanted);
}

/// A body on a cloth on a table that is led.
struct OnLedTable : plenum_test::Built {
  explicit OnLedTable(const PbdBody& body, int cells) {
    PbdBody table;
    table.half_extents = Vec3(Real(1.5), Real(0.1), Real(1.5)), table.position = Vec3(0, Real(-0.1), 0);
    table.motion = PbdBody::Motion::led, table.friction = Real(0.5);
    PbdPart cloth;
    cloth.size_x = cloth.size_z = Real(1.5), cloth.cells_x = cloth.cells_z = cells;
    cloth.position = Vec3(0, Real(0.005), 0), cloth.bending_stiffness = Real(1e-5);
    Pbd::build({.parts = {cloth}, .bodies = {body, table}}, model, state);
    params.air_density = 0, params.thickness = Real(0.005), params.friction = Real(0.5);
    params.pins.resize(1);
  }
};

// A box on a cloth on a turntable goes round with it: friction about its normal holds it to what the cloth
// does, and not to the world.
TEST(PbdLaid, GoRoundOnATurntable) {
  PbdBody box;
  box.half_extents = Vec3(Real(0.15), Real(0.05), Real(0.1)), box.position = Vec3(0, Real(0.06), 0);
  box.density = 1000, box.friction = Real(0.5);
  OnLedTable on(box, 30);
  double turned = 0;
  for (int k = 1; k <= 120; ++k) {
    turned += std::min(1.0, k / 60.0) * double(dt);
    on.params.pins[0].rotation = Vec3(0, Real(turned * 180 / std::numbers::pi), 0);
    on.step();
  }
  EXPECT_NEAR(double(on.state.frames.w[0].y()), 1, 0.01);
  const Vec3 ahead = on.state.frames.rotation(0) * Vec3::UnitX();
  EXPECT_NEAR(std::atan2(-double(ahead.z()), double(ahead.x())), turned, 0.02);
}

// A ball lies on a few particles of a coarse cloth, between it and the table as in wedges, which friction on
// both sides holds. It gained energy there, rolled at 1 m/s and spun.
TEST(PbdLaid, BallsComeToRest) {
  PbdBody ball;
  ball.shape = PbdBody::Form::sphere, ball.radius = Real(0.1);
  ball.position = Vec3(Real(0.01), Real(0.11), Real(0.007));
  ball.density = 2000, ball.friction = Real(0.5);
  OnLedTable on(ball, 30);
  const auto energy = [&] {
    const double v = double(on.state.frames.v[0].norm()), w = double(on.state.frames.w[0].norm());
    return g * double(on.state.frames.x[0].y()) + v * v / 2 + 0.4 * 0.01 * w * w / 2;
  };
  const double begun = energy();
  for (int k = 0; k < 300; ++k) {
    on.step();
    ASSERT_LT(energy(), begun) << k;
  }
  EXPECT_LT(double(on.state.frames.v[0].norm()), 1e-3);
  EXPECT_GT(double(on.state.frames.x[0].y()), 0.1);
}

}}  // namespace plenum
