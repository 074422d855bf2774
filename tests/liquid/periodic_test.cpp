// Periodic sides of the box: what leaves through one comes in through the other.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "../../validation/liquid_periodic.h"
#include "plenum/base/error.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/liquid/detail/seam.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using validation::Water;
using Kind = Liquid::Side::Kind;

/// A box of n x ny x nz cells, a metre long, that goes on along x and, if it is not flat, along z.
Liquid::Spec endless(int n, int ny, int nz) {
  Liquid::Spec spec;
  spec.cells_x = n, spec.cells_y = ny, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(1.0 / n);
  spec.left.kind = spec.right.kind = Kind::periodic;
  if (nz > 1) spec.back.kind = spec.front.kind = Kind::periodic;
  return spec;
}
LiquidFill filled(const Vec3& low, const Vec3& high) {
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = (high - low) / 2;
  fill.position = (high + low) / 2;
  return fill;
}

/// Moves a liquid by whole cells along its periodic axes. Places are rounded before, to what both sums are
/// exact for.
void shift(Water& water, const std::array<Index, 3>& cells) {
  for (Vec3& x : water.state.x)
    for (int c = 0; c < water.model.shape.dimensions(); ++c)
      x[c] += static_cast<Real>(cells[static_cast<std::size_t>(c)]) * water.model.h;
  for (Vec3& x : water.state.x) x = detail::wrapped(water.model, x);
}
void round_places(Water& water) {
  for (Vec3& x : water.state.x)
    x = detail::wrapped(water.model, (x * Real(1 << 20)).array().round() / Real(1 << 20));
}
/// Shortest way from a to b along axes that may be periodic.
Vec3 between(const Liquid::Model& m, const Vec3& a, const Vec3& b) {
  Vec3 d = b - a;
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    const Real length = m.h * static_cast<Real>(m.shape.cells[axis]);
    if (m.is_periodic(axis)) d[c] -= length * std::round(d[c] / length);
  }
  return d;
}

struct Difference {
  double place = 0, velocity = 0;  ///< [m], [m/s] largest over the particles
};
/// Of two liquids, each particle against the nearest of the other.
Difference difference(const Water& a, const Water& b) {
  const GridShape& shape = a.model.shape;
  std::vector<std::vector<std::size_t>> in(shape.size());
  std::array<Index, 3> cell;
  for (std::size_t q = 0; q < b.state.x.size(); ++q)
    if (detail::find_cell(b.model, b.state.x[q], cell))
      in[shape.index(cell[0], cell[1], cell[2])].push_back(q);
  Difference most;
  for (std::size_t p = 0; p < a.state.x.size(); ++p) {
    Real nearest = std::numeric_limits<Real>::max();
    std::size_t other = 0;
    for (int corner = 0; corner < 8; ++corner) {
      // Half of a cell to all sides.
      Vec3 x = a.state.x[p];
      for (int c = 0; c < shape.dimensions(); ++c) x[c] += (corner >> c & 1 ? 1 : -1) * a.model.h / 2;
      if (!detail::find_cell(a.model, detail::wrapped(a.model, x), cell)) continue;
      for (const std::size_t q : in[shape.index(cell[0], cell[1], cell[2])]) {
        const Real d = between(a.model, a.state.x[p], b.state.x[q]).squaredNorm();
        if (d < nearest) nearest = d, other = q;
      }
    }
    most.place = std::max(most.place, std::sqrt(static_cast<double>(nearest)));
    most.velocity = std::max(most.velocity, static_cast<double>((a.state.v[p] - b.state.v[other]).norm()));
  }
  return most;
}

/// Steps a liquid and the same moved by `cells`, moves it back, and compares. Multigrid's coarser cells go
/// along with shifts of four. Two pressures that are found to a tolerance differ by no more than it of what a
/// step changes: velocities by its part of `change` [m/s] a step, and places by what that sums up to; and by
/// what `slack` [m] says of places.
void expect_same(Water& a, Water& b, const std::array<Index, 3>& cells, int steps, double dt, double change,
                 double slack, FunctionRef<void(Water&)> step) {
  round_places(a), round_places(b);
  shift(b, cells);
  for (int k = 0; k < steps; ++k) step(a), step(b);
  ASSERT_EQ(a.state.x.size(), b.state.x.size());
  shift(b, {-cells[0], -cells[1], -cells[2]});
  const Difference d = difference(a, b);
  const double velocity = steps * static_cast<double>(a.params.pressure_tolerance) * change;
  EXPECT_LT(d.velocity, velocity + slack / dt);
  EXPECT_LT(d.place, velocity * steps * dt / 2 + slack);
  EXPECT_GT(a.largest_speed(), 0.1) << "it moves";
}
void expect_same(const Liquid::Spec& spec, const Liquid::Params& params, const std::array<Index, 3>& cells,
                 int steps) {
  const double dt = 1.0 / 120;
  Water a(spec), b(spec);
  a.params = b.params = params;
  expect_same(a, b, cells, steps, dt, 9.81 * dt, 0, [&](Water& water) { water.step(dt); });
}

TEST(LiquidPeriodic, IsTheSameWhereverTheSeamIs) {
  Liquid::Spec spec = endless(32, 24, 1);
  spec.fill = {filled(Vec3::Zero(), Vec3(1, Real(0.2), 1)),
               filled(Vec3(Real(0.25), 0, 0), Vec3(Real(0.5), Real(0.6), 1))};
  const Liquid::Params apic;
  for (const Index cells : {4, 12, 20}) expect_same(spec, apic, {cells, 0, 0}, 30);
  Liquid::Params oily = apic;
  oily.transfer = Liquid::Transfer::flip, oily.viscosity = Real(0.01), oily.reseed = true;
  spec.bottom.kind = Kind::no_slip;
  expect_same(spec, oily, {16, 0, 0}, 30);
  // Along both axes, without gravity.
  spec.bottom.kind = spec.top.kind = Kind::periodic;
  spec.cells_y = 32;
  spec.fill = {filled(Vec3(Real(0.3), Real(0.25), 0), Vec3(Real(0.8), Real(0.75), 1))};
  spec.fill[0].velocity = Vec3(2, 1, 0);
  Liquid::Params free = apic;
  free.gravity.setZero();
  expect_same(spec, free, {12, 20, 0}, 30);
  Liquid::Spec deep = endless(16, 16, 16);
  deep.fill = {filled(Vec3::Zero(), Vec3(1, Real(0.2), 1)),
               filled(Vec3(Real(0.25), 0, Real(0.25)), Vec3(Real(0.75), Real(0.8), Real(0.75)))};
  expect_same(deep, apic, {4, 0, 8}, 15);
}

TEST(LiquidPeriodic, GoesAroundSolidsAtTheSeamAsElsewhere) {
  Liquid::Spec spec = endless(32, 24, 1);
  spec.fill = {filled(Vec3::Zero(), Vec3(1, Real(0.3), 1))};
  spec.fill[0].velocity = Vec3(1, 0, 0);
  for (const bool thin : {false, true}) {
    GridSolid solid;
    if (thin) {
      solid.shape = GridSolid::Kind::box;
      solid.half_extents = Vec3(Real(0.011), Real(0.15), 1);
      solid.rotation.z() = 20;
    } else {
      solid.radius = Real(0.13);
    }
    solid.position = Vec3(Real(0.5), Real(0.15), 0);
    spec.solids = {solid};
    spec.solids_grip = !thin;
    Water a(spec);
    spec.solids[0].position.x() = 0;
    Water b(spec);
    a.params.viscosity = b.params.viscosity = Real(0.002);
    // Particles are jittered by their numbers.
    b.state = a.state;
    const double dt = 1.0 / 120;
    // Particles stop a gap before walls, or do not quite meet them. Sooner or later one is met by one liquid
    // and missed by the other by rounding, which differs from build to build, so the run is short.
    const double slack = thin ? 4 * static_cast<double>(detail::wall_gap * a.model.h) : 0;
    expect_same(a, b, {16, 0, 0}, 15, dt, 9.81 * dt, slack, [&](Water& water) { water.step(dt); });
  }
}

TEST(LiquidPeriodic, CarriesAndIsPushedByBodiesAtTheSeamAsElsewhere) {
  for (const bool flat : {true, false}) {
    Liquid::Spec spec = flat ? endless(32, 24, 1) : endless(16, 16, 16);
    spec.fill = {filled(Vec3::Zero(), Vec3(1, Real(0.5), 1))};
    const Shape box = BoxShape{Vec3(Real(0.15), Real(0.1), Real(0.2))},
                plate = BoxShape{Vec3(Real(0.01), Real(0.12), Real(0.2))};
    const Real z = flat ? Real(0.5) / 32 : Real(0.5);
    std::array<SolidBody, 2> bodies;
    SolidBody& floats = bodies[0];
    floats.shape = &box;
    floats.pose0.position = Vec3(Real(0.5), Real(0.45), z);
    floats.pose0.rotation = rotation_from_degrees(Vec3(0, 0, 20));
    floats.pose = floats.pose0;
    floats.centre = floats.pose0.position;
    const double mass = 300 * 0.3 * 0.2 * (flat ? 1 : 0.4);
    floats.inverse_mass = static_cast<Real>(1 / mass);
    floats.inverse_inertia = Mat3::Identity() * static_cast<Real>(1 / (mass * 0.02));
    floats.acceleration = Vec3(0, Real(-9.81), 0);
    SolidBody& stirs = bodies[1];
    stirs.shape = &plate;
    // Clear of the ground: what flows through slits below it would be known to the tolerance over their
    // width.
    stirs.pose0.position = Vec3(Real(0.46875), Real(0.22), z);
    stirs.pose0.rotation = rotation_from_degrees(flat ? Vec3(0, 0, 10) : Vec3(15, 20, 10));
    stirs.pose = stirs.pose0;
    stirs.inverse_mass = 0;
    stirs.inverse_inertia.setZero();
    Water a(spec), b(spec);
    const double dt = 1.0 / 120;
    // The second is moved by half of the box, or by as much and two boxes besides.
    for (const Real boxes : {Real(0), Real(2)}) {
      a = Water(spec), b = Water(spec);
      a.params.pressure_tolerance = b.params.pressure_tolerance = Real(1e-5);
      std::array<std::array<SolidBody, 2>, 2> both = {bodies, bodies};
      for (SolidBody& body : both[1])
        for (Pose* pose : {&body.pose0, &body.pose}) pose->position.x() += boxes + Real(0.5);
      both[1][0].centre = both[1][0].pose.position;
      std::array<Vec3, 2> pushed = {Vec3::Zero(), Vec3::Zero()}, turned = pushed;
      const double gaps = 4 * static_cast<double>(detail::wall_gap * a.model.h);
      expect_same(a, b, {static_cast<Index>(spec.cells_x / 2), 0, 0}, 15, dt, 1.0 / 256 / dt, gaps,
                  [&](Water& water) {
                    const std::size_t which = &water == &b ? 1 : 0;
                    SolidBody& led = both[which][1];
                    led.pose0 = led.pose;
                    led.pose.position.x() += Real(1) / 256;
                    Liquid::meet(water.workspace, both[which]);
                    water.step(dt);
                    for (const BodyImpulse& push : Liquid::pushes(water.workspace))
                      pushed[which] += push.impulse, turned[which] += push.couple;
                  });
      EXPECT_GT(pushed[0].norm(), 1);
      EXPECT_LT((pushed[0] - pushed[1]).norm(), 1e-3 * pushed[0].norm());
      EXPECT_LT((turned[0] - turned[1]).norm(), 1e-3 * pushed[0].norm());
    }
  }
}

TEST(LiquidPeriodic, WhatFliesComesAroundUnchanged) {
  // Galilei: a drop that moves as a whole goes around the box, and keeps its shape and momentum to rounding:
  // half a bit of every sum.
  for (const bool flat : {true, false}) {
    Liquid::Spec spec = flat ? endless(32, 32, 1) : endless(16, 16, 16);
    spec.bottom.kind = spec.top.kind = Kind::periodic;
    LiquidFill drop;
    drop.radius = Real(0.2);
    drop.position = Vec3(Real(0.9), Real(0.95), flat ? 0 : Real(0.1));
    drop.velocity = Vec3(2, 1, flat ? 0 : -1);
    spec.fill = {drop};
    Water water(spec), before(spec);
    EXPECT_NEAR(static_cast<double>(water.state.x.size()) / water.model.per_cell() *
                    std::pow(1.0 / spec.cells_x, flat ? 2 : 3),
                flat ? std::numbers::pi * 0.04 : 4 * std::numbers::pi / 3 * 0.008, flat ? 0.002 : 0.001);
    water.params.gravity.setZero();
    water.params.volume_rate = 0;
    for (int k = 0; k < 60; ++k) water.step(1.0 / 60);
    const Difference d = difference(before, water);
    const double rounding = static_cast<double>(std::numeric_limits<Real>::epsilon());
    EXPECT_LT(d.place, 60 * 2 * 2 * rounding);
    EXPECT_LT(d.velocity, 60 * 2 * rounding);
  }
}

TEST(LiquidPeriodic, AForceAlongAChannelDrivesPoiseuillesFlow) {
  for (const bool flat : {true, false}) {
    const validation::Poiseuille flow(flat ? 20 : 12, flat);
    EXPECT_EQ(flow.particles_left, flow.particles);
    EXPECT_LT(flow.error, flow.bound) << flat;
  }
}

TEST(LiquidPeriodic, AWaveStandsAtTheFrequencyOfItsDepth) {
  for (const int axis : {0, 2}) {
    const validation::StandingWave wave(32, axis);
    EXPECT_NEAR(wave.frequency, wave.expected, wave.tolerance) << axis;
  }
}

TEST(LiquidPeriodic, GivesTheSameBitsForEveryNumberOfThreads) {
  // A number of cells that cannot be halved, so that no checkerboard closes around the seam.
  for (const bool flat : {true, false}) {
    std::string first;
    for (const int threads : {1, 3, 8}) {
      World world({.fps = 60});
      world.set_threads(threads);
      Liquid::Spec spec = flat ? endless(31, 31, 1) : endless(15, 16, 15);
      if (flat) spec.bottom.kind = spec.top.kind = Kind::periodic;
      spec.fill = {filled(Vec3::Zero(), Vec3(1, Real(0.3), 1))};
      spec.fill[0].velocity = Vec3(3, 0, 1);
      GridSolid pillar;
      pillar.shape = GridSolid::Kind::cylinder;
      pillar.radius = Real(0.15), pillar.half_height = Real(0.2);
      spec.solids = {pillar};
      spec.solids_grip = true;
      if (!flat) {
        LiquidInlet pipe;
        pipe.radius = Real(0.2), pipe.position = Vec3(Real(0.9), Real(16.0 / 15), Real(0.1));
        pipe.velocity = Vec3(1, -2, 0);
        spec.inlets = {pipe};
      }
      Water water(spec);
      water.params.viscosity = Real(0.01);
      water.params.reseed = true;
      LiquidSource source;
      source.position = Vec3(1, Real(0.6), 0);
      water.params.sources = {source};
      world.add<Liquid>("water", std::move(water.model), std::move(water.state), water.params);
      for (int k = 0; k < 10; ++k) ASSERT_TRUE(world.step_frame().ok);
      if (first.empty()) first = world.hash().hex();
      EXPECT_EQ(world.hash().hex(), first) << flat << " " << threads;
    }
  }
}

TEST(LiquidPeriodic, AllocatesNothingInSteadyState) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer has a heap of its own";
  Liquid::Spec spec = endless(16, 16, 16);
  spec.fill = {filled(Vec3::Zero(), Vec3(1, Real(0.4), 1))};
  spec.fill[0].velocity = Vec3(2, 0, 1);
  Water water(spec);
  water.params.viscosity = Real(0.01);
  water.params.reseed = true;
  for (int k = 0; k < 60; ++k) water.step(1.0 / 60);
  EXPECT_EQ(plenum_test::count_allocations([&] {
              for (int k = 0; k < 5; ++k) water.step(1.0 / 60);
            }),
            0);
}

TEST(LiquidPeriodic, EmptySpaceCostsNothing) {
  // A drop far from the seam is solved for in a window around it, one at the seam in the whole length.
  Liquid::Spec spec = endless(128, 32, 1);
  for (const bool at_seam : {false, true}) {
    LiquidFill drop;
    drop.radius = Real(0.06);
    drop.position = Vec3(at_seam ? 1 : Real(0.5), Real(0.125), 0);
    spec.fill = {drop};
    Water water(spec);
    water.step(1.0 / 120);
    EXPECT_EQ(water.workspace.wraps[0], at_seam);
    EXPECT_LE(water.workspace.solved.high[0] - water.workspace.solved.low[0], at_seam ? 128 : 24);
  }
}

TEST(LiquidPeriodic, FieldsAndSurfacesGoOnAcrossTheSeam) {
  Liquid::Spec spec = endless(12, 12, 12);
  spec.bottom.kind = spec.top.kind = Kind::periodic;
  spec.jitter = 0;
  spec.fill = {filled(Vec3(-1, -1, -1), Vec3(2, 2, 2))};
  spec.fill[0].velocity = Vec3(1, 2, 3);
  const Water full(spec);
  const CellFields fields = Liquid::cells(full.model, full.state);
  for (Index k = 0; k < 12; ++k)
    for (Index j = 0; j < 12; ++j)
      for (Index i = 0; i < 12; ++i) {
        const std::size_t at = fields.shape.index(i, j, k);
        ASSERT_NEAR(static_cast<double>(fields.scalars[0].values[at]), 1, 1e-5);
        ASSERT_LT((fields.vectors[0].values[at] - Vec3(1, 2, 3)).norm(), 1e-5);
      }
  EXPECT_NEAR(Liquid::volume(full.model, full.state), 1, 1e-5);
  // A drop in a corner has the distances of one in the middle, but for those that are cut off at sides.
  LiquidFill drop;
  drop.radius = Real(0.25), drop.position = Vec3::Constant(Real(0.5));
  spec.fill = {drop};
  const Water middle(spec);
  Water corner(spec);
  shift(corner, {6, 6, 6});
  Liquid::SurfaceWorkspace a, b;
  SurfaceMesh mesh;
  Liquid::surface(corner.model, corner.state, b, mesh);
  Liquid::surface(middle.model, middle.state, a, mesh);
  EXPECT_FALSE(mesh.triangles.empty());
  for (Index k = 1; k < 11; ++k)
    for (Index j = 1; j < 11; ++j)
      for (Index i = 1; i < 11; ++i)
        ASSERT_NEAR(static_cast<double>(b.mesh.phi[corner.model.shape.index(i, j, k)]),
                    static_cast<double>(
                        a.mesh.phi[corner.model.shape.index((i + 6) % 12, (j + 6) % 12, (k + 6) % 12)]),
                    1e-5)
            << i << " " << j << " " << k;
}

TEST(LiquidPeriodic, DragsWhatIsAtTheSeamAsElsewhere) {
  Liquid::Spec spec = endless(16, 16, 16);
  spec.jitter = 0;
  spec.fill = {filled(Vec3::Zero(), Vec3(1, Real(0.5), 1))};
  spec.fill[0].velocity = Vec3(1, 0, Real(0.5));
  std::array<Vec3, 3> given;
  for (std::size_t where = 0; where < 3; ++where) {
    Water water(spec);
    Medium& medium = *Liquid::medium(water.model, water.state, water.params, water.workspace);
    // In the middle, in the corner, and where that is two boxes on.
    const Real move = where == 0 ? Real(0) : where == 1 ? Real(0.5) : Real(2.5);
    const Vec3 x = Vec3(Real(0.51), Real(0.3), Real(0.52)) + Vec3(move, 0, move), v = Vec3::Zero();
    const Real inverse = 10;
    Samples samples{.x0 = {&x, 1}, .x = {&x, 1}, .v = {&v, 1}, .inverse_mass = {&inverse, 1}};
    samples.radius = Real(0.02);
    MediumProbe probe;
    medium.probe({&x, 1}, {&probe, 1});
    EXPECT_LT((probe.velocity - spec.fill[0].velocity).norm(), 1e-5);
    EXPECT_NEAR(static_cast<double>(probe.density), 1000, 0.1);
    medium.immerse(0, samples, Real(1) / 60);
    medium.reaction(0, {&given[where], 1});
  }
  EXPECT_GT(given[0].norm(), 0);
  EXPECT_LT((given[1] - given[0]).norm(), 1e-4 * given[0].norm());
  EXPECT_LT((given[2] - given[0]).norm(), 1e-4 * given[0].norm());
}

TEST(LiquidPeriodic, SidesComeInPairs) {
  Liquid::Spec spec = endless(8, 8, 1);
  spec.right.kind = Kind::outflow;
  spec.fill = {filled(Vec3::Zero(), Vec3(1, 1, 1))};
  try {
    Water water(spec);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.problem().key, "right.kind");
    EXPECT_NE(error.problem().what.find("left is periodic"), std::string::npos);
    EXPECT_NE(error.problem().remedy.find("both"), std::string::npos);
  }
  // A flat grid has no back and no front.
  spec = endless(8, 8, 1);
  spec.back.kind = Kind::periodic;
  spec.fill = {filled(Vec3::Zero(), Vec3(1, 1, 1))};
  EXPECT_NO_THROW(Water{spec});
}

TEST(LiquidPeriodic, AWordForASideIsToldWhereItGoes) {
  const auto complaint = [](const std::string& side) {
    try {
      load_scene_text(
          R"({"systems": [{"type": "liquid", "name": "w", "model": {"cells_z": 1, "left": )" + side + "}}]}",
          "s.json");
    } catch (const Error& error) {
      return error.problem().remedy;
    }
    return std::string("not refused");
  };
  EXPECT_EQ(complaint("\"no_slip\""), R"(write {"kind": "no_slip"})");
  EXPECT_EQ(complaint("\"open\""),
            R"(write {"kind": ...} with one of free_slip, no_slip, outflow, periodic)");
}

}}  // namespace plenum
