// Walls thinner than cells: faces that they close, and particles that they stop.
#include <gtest/gtest.h>

#include <numbers>

#include "../../validation/liquid_cups.h"
#include "../../validation/liquid_scenes.h"
#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/state/grid_walls.h"

namespace plenum { namespace {

using validation::content_of, validation::Vessel, validation::Water;

constexpr int cells = 24;

Vessel vessel_of(bool has_lid) {
  return {.radius = 0.27, .height = 0.5, .wall = 0.2 / cells, .segments = 40, .has_lid = has_lid};
}
GridSolid solid_of(const Vessel& vessel, const Vec3& position, const Vec3& degrees) {
  GridSolid solid;
  solid.shape = GridSolid::Kind::mesh;
  solid.surface = vessel.mesh();
  solid.position = position, solid.rotation = degrees;
  return solid;
}
std::size_t count_out(const Vessel& vessel, const Pose& pose, const Liquid::State& s) {
  std::size_t out = 0;
  for (const Vec3& x : s.x) out += !(x.allFinite() && vessel.holds(pose.to_local(x)));
  return out;
}
double mean_height(const Liquid::State& s) {
  double sum = 0;
  for (const Vec3& x : s.x) sum += static_cast<double>(x.y());
  return sum / static_cast<double>(s.x.size());
}

TEST(GridWalls, NoOpenFaceLeadsOutOfAClosedVessel) {
  // Flood fill through open faces from the middle: it ends at the wall, wherever that stands in the cells.
  for (const double wall : {0.02, 0.3, 0.9})
    for (const double turn : {0.0, 33.0}) {
      const GridShape shape{{20, 20, 20}};
      const Real h = Real(0.05);
      const Vessel vessel{.radius = 0.22,
                          .height = 0.42,
                          .wall = wall * static_cast<double>(h),
                          .segments = 40,
                          .has_lid = true};
      const Vec3 degrees(static_cast<Real>(turn), 0, static_cast<Real>(turn / 2));
      const GridSolid solid = solid_of(vessel, Vec3(Real(0.55), Real(0.27), Real(0.4)), degrees);
      FaceField open;
      open.assign(shape, 1);
      const GridWall at(solid.solid(), solid.pose());
      close_faces(shape, Vec3::Zero(), h, at.shape, at.pose, open);
      close_walls(shape, Vec3::Zero(), h, at, open);
      std::vector<std::uint8_t> reached(shape.size(), 0);
      const Vec3 middle = at.pose * Vec3(0, Real(0.21), 0) / h;
      std::vector<std::array<Index, 3>> front = {
          {static_cast<Index>(middle.x()), static_cast<Index>(middle.y()), static_cast<Index>(middle.z())}};
      std::size_t count = 0;
      bool leaked = false;
      while (!front.empty()) {
        const auto cell = front.back();
        front.pop_back();
        std::uint8_t& here = reached[shape.index(cell[0], cell[1], cell[2])];
        if (here) continue;
        here = 1;
        ++count;
        for (std::size_t c = 0; c < 3; ++c)
          for (const Index up : {0, 1}) {
            auto face = cell, other = cell;
            face[c] += up, other[c] += 2 * up - 1;
            if (!(open.along[c][shape.index(face[0], face[1], face[2])] > 0)) continue;
            if (other[c] < 0 || other[c] >= shape.cells[c])
              leaked = true;
            else
              front.push_back(other);
          }
      }
      EXPECT_FALSE(leaked) << wall << " " << turn;
      const double room = std::numbers::pi * std::pow(vessel.radius, 2) * vessel.height / std::pow(0.05, 3);
      EXPECT_NEAR(static_cast<double>(count), room, 0.35 * room) << wall << " " << turn;
    }
}

TEST(GridWalls, AThickSolidKeepsItsFractionsButAroundEdges) {
  // A wall that is seen at the corners separates nothing besides: a box of several cells as a mesh. Around
  // its edges a cell whose centre is within belongs to one of two sides.
  const GridShape shape{{16, 16, 16}};
  const Real h = Real(1) / 16;
  const Vec3 half(Real(0.21), Real(0.26), Real(0.17)), middle = Vec3::Constant(Real(0.5));
  GridSolid solid;
  solid.shape = GridSolid::Kind::mesh;
  solid.surface = box_mesh(half);
  solid.position = middle;
  FaceField open;
  open.assign(shape, 1);
  const GridWall wall(solid.solid(), solid.pose());
  close_faces(shape, Vec3::Zero(), h, wall.shape, wall.pose, open);
  const FaceField before = open;
  close_walls(shape, Vec3::Zero(), h, wall, open);
  int cut = 0, beside_faces = 0;
  for (Index k = 0; k < 16; ++k)
    for (Index j = 0; j < 16; ++j)
      for (Index i = 0; i < 16; ++i)
        for (int c = 0; c < 3; ++c) {
          const std::size_t at = shape.index(i, j, k);
          cut += before[c][at] > 0 && before[c][at] < 1;
          if (before[c][at] == open[c][at]) continue;
          Vec3 x = h * (Vec3(static_cast<Real>(i), static_cast<Real>(j), static_cast<Real>(k)) +
                        Vec3::Constant(Real(0.5)));
          x[c] -= h / 2;
          int near = 0;
          for (int d = 0; d < 3; ++d) near += std::abs(std::abs(x[d] - middle[d]) - half[d]) < h;
          beside_faces += near < 2;
        }
  EXPECT_GT(cut, 0);
  EXPECT_EQ(beside_faces, 0);
}

TEST(GridWalls, WaysStopBeforeWallsAndSlideAlongThem) {
  const GridWall wall(BoxShape{Vec3(1, Real(0.001), 1)}, Pose{});
  const Real gap = Real(1e-4);
  const WallStop stop =
      stop_at_walls({&wall, 1}, Vec3(0, Real(0.1), 0), Vec3(Real(0.3), Real(-0.2), 0), gap, false);
  EXPECT_EQ(stop.num_met, 1);
  EXPECT_LT((stop.normal[0] - Vec3(0, 1, 0)).norm(), 1e-6);
  EXPECT_LT((stop.x - Vec3(Real(0.3), Real(0.0011), 0)).norm(), 1e-5);
  // What misses it goes on.
  const Vec3 past(2, -1, 0);
  EXPECT_EQ(stop_at_walls({&wall, 1}, Vec3(2, 1, 0), past, gap, false).x, past);
}

TEST(GridWalls, NoSurfaceIsNearerThanTheClearance) {
  for (const bool flat : {true, false}) {
    const GridShape shape{{20, 20, flat ? 1 : 20}};
    const Real h = Real(0.05);
    const Vec3 low = flat ? Vec3(0, 0, Real(0.4)) : Vec3(Vec3::Zero());
    const Vessel vessel{.radius = 0.22, .height = 0.42, .wall = 0.015, .segments = 40, .has_lid = false};
    const GridSolid solid = solid_of(vessel, Vec3(Real(0.5), Real(0.27), Real(0.42)), Vec3(20, 0, 11));
    const GridWall wall(solid.solid(), solid.pose());
    std::vector<std::uint8_t> near(shape.size(), 1);
    near[shape.index(0, 0, 0)] = 0;
    WallClearance clearance;
    clearance.find(shape, low, h, {&wall, 1}, near);
    EXPECT_LT(clearance.at(shape.index(0, 0, 0), {0, 0, 0}), 0);
    double shy = 0;
    int close = 0, in = 0;
    for (std::uint64_t n = 0; n < 40000; ++n) {
      const Vec4 number = uniform4(7, n, 0);
      std::array<Index, 3> cell{};
      std::array<Real, 3> t{};
      Vec3 x;
      for (std::size_t a = 0; a < 3; ++a) {
        const Real g =
            flat && a == 2 ? Real(0.5) : number[static_cast<int>(a)] * static_cast<Real>(shape.cells[a]);
        cell[a] = std::min(static_cast<Index>(g), shape.cells[a] - 1);
        t[a] = g - static_cast<Real>(cell[a]);
        x[static_cast<int>(a)] = low[static_cast<int>(a)] + h * g;
      }
      if (cell == std::array<Index, 3>{0, 0, 0}) continue;
      const Real least = clearance.at(shape.index(cell[0], cell[1], cell[2]), t),
                 exact = wall.shape.exact_distance(wall.pose.to_local(x)).distance / h;
      ASSERT_GE(least, 0);
      ASSERT_LE(least, std::max(exact, Real(0))) << x.transpose();
      in += exact < 0;
      if (exact < 0 || exact > Real(0.5)) continue;
      shy += static_cast<double>(exact - least);
      ++close;
    }
    // In the mean no farther from the truth than a part's middle is from its corners, and a 64th.
    EXPECT_GT(in, 100);
    EXPECT_GT(close, 1000);
    EXPECT_LT(shy / close, std::sqrt(flat ? 2.0 : 3.0) / 8 + 1.0 / 64 + 1e-3);
  }
}

TEST(LiquidWalls, NothingLeaksFromAClosedVesselThatStands) {
  for (const bool flat : {true, false}) {
    const Vessel vessel = vessel_of(true);
    const Vec3 position(Real(0.1), Real(0.2), 0), degrees(0, 0, 23);
    Liquid::Spec spec = content_of(vessel, position, degrees, 0.25, cells, flat);
    spec.solids = {solid_of(vessel, position, degrees)};
    Water water(spec);
    const Pose pose = spec.solids[0].pose();
    ASSERT_EQ(count_out(vessel, pose, water.state), 0u);
    for (int step = 0; step < 60; ++step) {
      water.step(1.0 / 60);
      ASSERT_EQ(count_out(vessel, pose, water.state), 0u) << step;
    }
  }
}

TEST(LiquidWalls, ACupHoldsItsContentAtRest) {
  // Wherever the ground stands in its cells. The surface is known to half a cell (liquid/hydrostatic), and
  // what is in cells whose centres are beyond the ground sinks to it: another half.
  for (const bool flat : {true, false})
    for (const double part : {0.0, 0.3, 0.6, 0.9}) {
      if (!flat && part != 0.6) continue;
      const Vessel vessel = vessel_of(false);
      const Vec3 position(0, static_cast<Real>((5 + part) / cells), 0);
      Liquid::Spec spec = content_of(vessel, position, Vec3::Zero(), 0.25, cells, flat);
      spec.solids = {solid_of(vessel, position, Vec3::Zero())};
      Water water(spec);
      for (int step = 0; step < 120; ++step) water.step(1.0 / 60);
      EXPECT_EQ(count_out(vessel, spec.solids[0].pose(), water.state), 0u);
      // Of as much water as there are particles, in the room's section or on its polygon.
      const double in = vessel.radius - vessel.wall, sides = vessel.segments,
                   area = flat ? 2 * in : sides / 2 * std::sin(2 * std::numbers::pi / sides) * in * in,
                   volume = static_cast<double>(water.state.x.size()) / water.model.per_cell() *
                            std::pow(1.0 / cells, flat ? 2 : 3),
                   rest = static_cast<double>(position.y()) + vessel.wall + volume / area / 2;
      EXPECT_NEAR((mean_height(water.state) - rest) * cells, 0, 0.5) << flat << part;
      EXPECT_LT(water.largest_speed(), std::sqrt(2 * 9.81 / cells)) << flat << part;  // a cell's fall
    }
}

TEST(LiquidWalls, NothingLeaksFromAClosedVesselThatIsJerked) {
  for (const bool flat : {true, false}) {
    const Vessel vessel = vessel_of(true);
    const auto at = [](int step) {
      const int turn = step % 4;
      return Pose{Vec3(turn == 1   ? Real(0.15)
                       : turn == 3 ? Real(-0.15)
                                   : Real(0),
                       Real(0.25), 0),
                  rotation_from_degrees(Vec3(0, 0, static_cast<Real>(20 * (turn % 2))))};
    };
    Water water(content_of(vessel, at(0).position, Vec3::Zero(), 0.2, cells, flat));
    const Shape shape = MeshShape{std::make_shared<const SolidMesh>(vessel.mesh())};
    ASSERT_EQ(count_out(vessel, at(0), water.state), 0u);
    for (int step = 0; step < (flat ? 40 : 12); ++step) {
      SolidBody body;
      body.shape = &shape;
      body.pose0 = at(step), body.pose = at(step + 1);
      Liquid::meet(water.workspace, {&body, 1});
      water.step(1.0 / 60);
      ASSERT_EQ(count_out(vessel, at(step + 1), water.state), 0u) << step << flat;
    }
  }
}

TEST(LiquidWalls, NothingLeaksFromOneThatIsLargerThanTheBlocksItIsLookedForIn) {
  // Forty cells across, of which only blocks of eight cells near its surface are looked at.
  const int n = 72;
  const Vessel vessel{.radius = 0.28, .height = 0.56, .wall = 0.2 / n, .segments = 48, .has_lid = true};
  const auto at = [](int step) {
    return Pose{Vec3(Real(0.06) * static_cast<Real>(step % 2), Real(0.2), 0),
                rotation_from_degrees(Vec3(0, 0, static_cast<Real>(10 * (step % 2))))};
  };
  Water water(content_of(vessel, at(0).position, Vec3::Zero(), 0.2, n, false));
  const Shape shape = MeshShape{std::make_shared<const SolidMesh>(vessel.mesh())};
  ASSERT_GT(2 * vessel.radius * n, 32);
  for (int step = 0; step < 4; ++step) {
    SolidBody body;
    body.shape = &shape;
    body.pose0 = at(step), body.pose = at(step + 1);
    Liquid::meet(water.workspace, {&body, 1});
    water.step(1.0 / 60);
    ASSERT_EQ(count_out(vessel, at(step + 1), water.state), 0u) << step;
  }
}

TEST(LiquidWalls, NothingLeaksFromAClosedVesselThatGoesAnotherWay) {
  // A free vessel falls, is stopped and turned by what the liquid knows nothing of, and lies on the ground.
  for (const bool flat : {true, false}) {
    const Vessel vessel = vessel_of(true);
    Pose pose{Vec3(0, Real(0.3), 0), Quat::Identity()};
    Water water(content_of(vessel, pose.position, Vec3::Zero(), 0.2, cells, flat));
    const Shape shape = MeshShape{std::make_shared<const SolidMesh>(vessel.mesh())};
    Vec3 v = Vec3::Zero();
    const Real dt = Real(1) / 60, mass = 20;
    for (int step = 0; step < (flat ? 60 : 24); ++step) {
      SolidBody body;
      body.shape = &shape;
      body.pose0 = body.pose = pose;
      body.centre = pose.position;
      body.velocity = v;
      body.acceleration = Vec3(0, Real(-9.81), 0);
      body.inverse_mass = 1 / mass;
      body.inverse_inertia = Mat3::Identity();
      Liquid::meet(water.workspace, {&body, 1});
      water.step(1.0 / 60);
      v += dt * body.acceleration;
      for (const BodyImpulse& push : Liquid::pushes(water.workspace)) v += push.impulse / mass;
      v.x() = Real(0.3) * std::sin(Real(step));
      pose.position += dt * v;
      pose.rotation = rotation_from_degrees(Vec3(0, 0, 4 * std::sin(Real(0.7) * static_cast<Real>(step))));
      if (pose.position.y() < Real(0.1)) pose.position.y() = Real(0.1), v.y() = 0;
      // What the step after it begins with.
      SolidBody still;
      still.shape = &shape;
      still.pose0 = still.pose = pose;
      Liquid::State next = water.state;
      Liquid::Workspace scratch;
      Liquid::meet(scratch, {&still, 1});
      Liquid::step(water.model, next, water.params, scratch, Real(1e-4));
      ASSERT_EQ(count_out(vessel, pose, next), 0u) << step << flat;
    }
  }
}

TEST(LiquidWalls, AMeshThatEnclosesNothingIsRefused) {
  Liquid::Spec spec = content_of(vessel_of(false), Vec3::Zero(), Vec3::Zero(), 0.2, 8, true);
  GridSolid solid;
  solid.shape = GridSolid::Kind::mesh;
  solid.surface = grid_mesh(Vec2(1, 1), 2, 2);
  spec.solids = {solid};
  try {
    Water water(spec);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("solids[0]"), std::string::npos) << error.what();
  }
}

}}  // namespace plenum
