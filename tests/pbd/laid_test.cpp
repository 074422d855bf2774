// Rigid bodies on cloth that lies on what does not yield: borne at once, and drawn along as Coulomb says.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "pbd/built.h"
#include "plenum/solvers/pbd/pbd.h"

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

}}  // namespace plenum
