// Rigid bodies on the solids of other systems: they meet them as they meet bodies that no force moves.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "../../validation/rigid_scenes.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/rigid/queries.h"
#include "plenum/world/world.h"
#include "rigid/scene_laws.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using test::ball;
using test::D3;

Obstacle::Part part(Obstacle::Kind shape) {
  Obstacle::Part p;
  p.shape = shape;
  return p;
}
Obstacle::Part plate(const Vec3& half_extents, const Vec3& position) {
  Obstacle::Part p = part(Obstacle::Kind::box);
  p.half_extents = half_extents;
  p.position = position;
  return p;
}

/// Bodies and one obstacle, in either order.
struct Stage {
  World world;
  SystemOf<Rigid>* bodies = nullptr;
  SystemOf<Obstacle>* obstacle = nullptr;

  Stage(const std::vector<BodySpec>& specs, const std::vector<Obstacle::Part>& parts,
        const Obstacle::Params& params = {}, bool bodies_first = false, WorldSettings settings = {})
      : world(settings) {
    if (!bodies_first) add(parts, params);
    Rigid::Model model;
    Rigid::State state;
    Rigid::build({.bodies = specs}, model, state);
    bodies = &world.add<Rigid>("bodies", model, state);
    if (bodies_first) add(parts, params);
  }
  void add(const std::vector<Obstacle::Part>& parts, const Obstacle::Params& params) {
    Obstacle::Model model;
    Obstacle::State state;
    Obstacle::build({parts}, model, state);
    obstacle = &world.add<Obstacle>("obstacle", model, state, params);
  }
  void move(const char* path, std::vector<double> times, std::vector<double> values) {
    world.add_keyframes("obstacle",
                        {path, Keyframes::Interpolation::linear, std::move(times), std::move(values)});
  }
  void run(double seconds) {
    for (int k = int(std::lround(seconds * double(world.settings().fps))); k > 0; --k)
      ASSERT_TRUE(world.step_frame().ok);
  }
  const Vec3& x(std::size_t i = 0) const { return bodies->state.frames.x[i]; }
  const Vec3& v(std::size_t i = 0) const { return bodies->state.frames.v[i]; }
  bool sleeps(std::size_t i = 0) const { return bodies->state.rest.island[i] >= 0; }
  const LedgerEntry* given() const {
    const auto at = world.ledger().find({"obstacle", "bodies"});
    return at == world.ledger().end() ? nullptr : &at->second;
  }
};

// Overlap left alone is a ten-thousandth of a body's width (ContactSettings::slop); a millimetre is ample.
constexpr Real rest_error = Real(1e-3);

TEST(RigidGuests, ABoxComesToRestOnEveryKindOfObstacle) {
  const Real top = Real(0.3);
  std::vector<Obstacle::Part> floors;
  floors.push_back(part(Obstacle::Kind::plane));
  floors.back().position.y() = top;
  floors.push_back(plate(Vec3(2, Real(0.1), 2), Vec3(0, top - Real(0.1), 0)));
  floors.push_back(part(Obstacle::Kind::cylinder));
  floors.back().radius = 2, floors.back().half_height = Real(0.2), floors.back().position.y() = Real(0.1);
  floors.push_back(part(Obstacle::Kind::cone));  // upside down
  floors.back().radius = 2, floors.back().half_height = 1, floors.back().position.y() = top - 1;
  floors.back().rotation = Vec3(180, 0, 0);
  floors.push_back(part(Obstacle::Kind::mesh));
  floors.back().mesh = box_mesh(Vec3(2, Real(0.3), 2));
  floors.push_back(part(Obstacle::Kind::mesh));  // open
  floors.back().mesh = grid_mesh(Vec2(4, 4), 7, 9);
  floors.back().position.y() = top;
  for (const Obstacle::Part& floor : floors)
    for (const bool bodies_first : {false, true}) {
      SCOPED_TRACE(int(floor.shape));
      Stage stage({validation::box(Vec3(Real(0.4), Real(0.25), Real(0.3)), Vec3(Real(0.1), 1, 0))}, {floor},
                  {}, bodies_first);
      stage.run(3);
      EXPECT_NEAR(stage.x().y(), top + Real(0.25), rest_error);
      EXPECT_TRUE(stage.sleeps());
      EXPECT_EQ(stage.bodies->state.touch.asleep, (std::vector<Index2>{{0, 1}}));
    }
}

TEST(RigidGuests, ABallSettlesInATorusAndBetweenRoundThings) {
  Obstacle::Part ring = part(Obstacle::Kind::torus);
  ring.radius = Real(0.5), ring.minor_radius = Real(0.1);
  Stage in_ring({ball(0.6, Vec3(0, 1, 0))}, {ring});
  in_ring.run(3);
  // The centres of ball and tube are as far apart as their radii together. The mesh that stands for the tube
  // lies within 0.5 % of its radius in it.
  EXPECT_NEAR(in_ring.x().y(), std::sqrt(Real(0.7 * 0.7 - 0.5 * 0.5)), 2e-3);

  std::vector<Obstacle::Part> rails(2, part(Obstacle::Kind::capsule));
  for (const int side : {0, 1}) {
    rails[std::size_t(side)].radius = Real(0.2), rails[std::size_t(side)].half_height = 1;
    rails[std::size_t(side)].rotation = Vec3(90, 0, 0);
    rails[std::size_t(side)].position.x() = side == 0 ? Real(-0.3) : Real(0.3);
  }
  Stage on_rails({ball(0.3, Vec3(0, 1, 0))}, rails);
  on_rails.run(3);
  EXPECT_NEAR(on_rails.x().y(), std::sqrt(Real(0.5 * 0.5 - 0.3 * 0.3)), rest_error);
}

TEST(RigidGuests, APlatformThatRisesCarriesABallAndWakesIt) {
  for (const Obstacle::Kind kind : {Obstacle::Kind::plane, Obstacle::Kind::box}) {
    Obstacle::Part floor = part(kind);
    if (kind == Obstacle::Kind::box) floor = plate(Vec3(2, Real(0.05), 2), Vec3(0, Real(-0.05), 0));
    Stage stage({ball(0.2, Vec3(0, Real(0.2), 0))}, {floor});
    stage.move("position", {2, 4, 5}, {0, 0, 0, 0.4, 1, 0, 0.4, 1, 0});
    stage.run(2);
    EXPECT_TRUE(stage.sleeps());
    stage.run(1);
    EXPECT_FALSE(stage.sleeps());
    EXPECT_NEAR(stage.x().y(), 0.7, rest_error);
    EXPECT_NEAR(stage.v().y(), 0.5, 1e-3);
    stage.run(1);
    EXPECT_NEAR(stage.x().y(), 1.2, rest_error);
  }
}

TEST(RigidGuests, ASlowPlatformLeavesNobodyBehind) {
  // A micrometre a frame; what sleeps must not stay in the air.
  Stage stage({ball(0.2, Vec3(0, Real(0.2), 0))}, {part(Obstacle::Kind::plane)});
  stage.move("position", {2, 52}, {0, 0, 0, 0, -0.003, 0});
  stage.run(52);
  EXPECT_NEAR(stage.x().y(), 0.197, 1e-4);
  // And what has stopped lets bodies sleep again.
  stage.run(2);
  EXPECT_TRUE(stage.sleeps());
}

TEST(RigidGuests, AFloorThatTiltsLetsABoxGoWhereTheSlopeIsFriction) {
  // mu = 0.5 holds to 26.57 degrees. Turning about the axis under the box, so that it is not thrown.
  Obstacle::Params params;
  params.friction = Real(0.5);
  Stage stage({validation::box(Vec3(Real(0.3), Real(0.05), Real(0.3)), Vec3(0, Real(0.05), 0))},
              {part(Obstacle::Kind::plane)}, params);
  stage.move("rotation", {1, 31}, {0, 0, 0, 0, 0, -30});
  double slid_at = 0;
  for (int k = 0; k < 31 * 60 && slid_at == 0; ++k) {
    ASSERT_TRUE(stage.world.step_frame().ok);
    const double angle = std::max(stage.world.time() - 1, 0.0) * std::numbers::pi / 180;
    const D3 along(std::cos(angle), -std::sin(angle), 0);
    if (along.dot(stage.x().cast<double>()) > 5e-3) slid_at = angle;
  }
  // Where a friction within 5 % of mu lets go, and 0.54 s later: 5 mm down a slope that steepens by k = 1
  // degree a second take (6 s / (g k (cos + mu sin)))^(1/3).
  EXPECT_GT(slid_at * 180 / std::numbers::pi, 25.4);
  EXPECT_LT(slid_at * 180 / std::numbers::pi, 27.7 + 0.6);
}

TEST(RigidGuests, AnInclinedPlaneHoldsBelowItsAngleAndLetsGoAbove) {
  for (const double mu : {0.2, 0.5, 0.9})
    for (const double part_of_angle : {0.97, 1.05}) {
      const double angle = part_of_angle * std::atan(mu);
      Obstacle::Params params;
      params.friction = Real(mu);
      params.rotation = Vec3(0, 0, Real(-angle * 180 / std::numbers::pi));
      BodySpec block = validation::box(Vec3(Real(0.3), Real(0.05), Real(0.3)),
                                       Vec3(Real(0.05 * std::sin(angle)), Real(0.05 * std::cos(angle)), 0));
      block.rotation = params.rotation;
      block.friction = Real(mu);
      Stage stage({block}, {part(Obstacle::Kind::plane)}, params);
      stage.bodies->parameters.sleeping = false;  // it begins slowly
      const D3 start = stage.x().cast<double>();
      stage.run(2);
      const double slid = (stage.x().cast<double>() - start).norm();
      const double a = 9.81 * (std::sin(angle) - mu * std::cos(angle));
      if (part_of_angle < 1)
        EXPECT_LT(slid, 1e-4) << mu;
      else
        EXPECT_NEAR(slid, a / 2 * 4, 0.02 * a / 2 * 4) << mu;
    }
}

TEST(RigidGuests, AFastBallDoesNotPassAThinPlate) {
  // 2 m a frame against 2 mm; standing, and coming the other way.
  for (const bool mesh : {false, true})
    for (const double plate_speed : {0.0, 20.0})
      for (const double fps : {60.0, 24.0}) {
        Obstacle::Part wall = plate(Vec3(2, Real(0.001), 2), Vec3::Zero());
        if (mesh) {
          wall = part(Obstacle::Kind::mesh);
          wall.mesh = box_mesh(Vec3(2, Real(0.001), 2));
        }
        Stage stage({ball(0.05, Vec3(Real(0.3), 10, Real(0.2)), Vec3(0, -120, 0))}, {wall}, {}, false,
                    {.fps = Real(fps)});
        if (plate_speed > 0) stage.move("position", {0, 1}, {0, 0, 0, 0, plate_speed, 0});
        for (int k = 0; k < int(fps); ++k) {
          stage.run(1 / fps);
          ASSERT_GT(stage.x().y() - stage.obstacle->state.position.y(), 0.04)
              << mesh << " " << plate_speed << " " << fps;
        }
      }
}

TEST(RigidGuests, AnObstacleThatStrikesGivesItsSpeed) {
  // A wall at 3 m/s, e = 1, against a ball at rest, which leaves at twice that.
  Obstacle::Params params;
  params.restitution = 1;
  Stage stage({ball(0.1, Vec3(1, 0, 0))}, {plate(Vec3(Real(0.1), 1, 1), Vec3(0, 0, 0))}, params);
  stage.bodies->parameters.gravity.setZero();
  stage.move("position", {0, 1}, {0, 0, 0, 3, 0, 0});
  stage.run(0.5);
  EXPECT_NEAR(stage.v().x(), 6, 0.06);
}

TEST(RigidGuests, TheLedgerHoldsAllThatBodiesGet) {
  // Boxes tumble onto a floor that moves and turns. What momentum they get besides gravity's is in the ledger
  // to rounding; moments up to how far bodies go within a step.
  std::vector<BodySpec> specs;
  for (int i = 0; i < 8; ++i) {
    specs.push_back(validation::box(Vec3(Real(0.2), Real(0.1), Real(0.15)), Vec3(0, Real(1 + 0.5 * i), 0)));
    specs.back().rotation = Vec3(Real(20 * i), Real(31 * i), 0);
    specs.back().restitution = Real(0.3);
  }
  std::vector<Obstacle::Part> parts{plate(Vec3(1, Real(0.1), 1), Vec3(0, Real(-0.1), 0)),
                                    part(Obstacle::Kind::plane)};
  parts[1].position.y() = Real(-0.5);
  Stage stage(specs, parts);
  stage.move("position", {0, 4}, {0, 0, 0, 0.5, 0.5, 0});
  stage.move("rotation", {0, 4}, {0, 0, 0, 0, 120, 10});
  const auto momentum = [&](D3& moment) {
    D3 p = D3::Zero();
    moment.setZero();
    const Frames& f = stage.bodies->state.frames;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const double m = 1 / double(f.inverse_mass[i]);
      const D3 mv = m * f.v[i].cast<double>();
      const Quaternion<double> q = f.rotation(i).cast<double>().normalized();
      const D3 spin = q.conjugate() * f.w[i].cast<double>();
      p += mv;
      moment += f.x[i].cast<double>().cross(mv) +
                q * D3(stage.bodies->model.inertia[i].cast<double>().cwiseProduct(spin));
    }
    return p;
  };
  double mass = 0;
  for (std::size_t i = 0; i < specs.size(); ++i)
    mass += 1 / double(stage.bodies->state.frames.inverse_mass[i]);
  D3 before, after;
  double given = 0, turned = 0, off = 0;
  for (int k = 0; k < 240; ++k) {
    const D3 p = momentum(before);
    D3 weight = D3::Zero();  // moment of gravity about the origin, at the step's middle
    const auto add_weight = [&](double part_of_step) {
      const Frames& f = stage.bodies->state.frames;
      for (std::size_t i = 0; i < specs.size(); ++i)
        weight += part_of_step * f.x[i].cast<double>().cross(D3(0, -9.81 / double(f.inverse_mass[i]), 0));
    };
    add_weight(0.5 / 60);
    ASSERT_TRUE(stage.world.step_frame().ok);
    add_weight(0.5 / 60);
    const LedgerEntry* entry = stage.given();
    const D3 j = entry ? entry->impulse : D3(D3::Zero());
    const D3 change = momentum(after) - p;
    ASSERT_NEAR((change - D3(0, -9.81 * mass / 60, 0) - j).norm(), 0, 1e-4 * mass) << k;
    given += j.norm();
    turned += (after - before).norm();
    off += (after - before - weight - (entry ? entry->moment : D3(D3::Zero()))).norm();
  }
  EXPECT_GT(given, mass * 9.81);
  EXPECT_LT(off, 0.05 * turned);
}

TEST(RigidGuests, ASpinningTopGivesItsCoupleToTheFloor) {
  // A disc that turns on its face is slowed by the couple of friction alone.
  BodySpec disc;
  disc.shapes[0].shape = Form::cylinder;
  disc.shapes[0].radius = Real(0.3), disc.shapes[0].half_height = Real(0.05);
  disc.position.y() = Real(0.05);
  disc.angular_velocity.y() = 20;
  Stage stage({disc}, {part(Obstacle::Kind::plane)});
  const double inertia = double(stage.bodies->model.inertia[0].y());
  for (int k = 0; k < 30; ++k) {
    const double before = double(stage.bodies->state.frames.w[0].y());
    ASSERT_TRUE(stage.world.step_frame().ok);
    const double change = inertia * (double(stage.bodies->state.frames.w[0].y()) - before);
    ASSERT_TRUE(stage.given());
    EXPECT_LT(change, 0);
    EXPECT_NEAR(stage.given()->moment.y(), change, 1e-3 * std::abs(change) + 1e-4 * inertia) << k;
  }
}

/// A pile on a floor, a mesh, a torus and a plate that moves.
Stage pile_on_solids(int threads, double fps = 60) {
  std::vector<BodySpec> specs;
  for (int i = 0; i < 60; ++i) {
    const Vec3 x(Real(0.3 * (i % 4) - 0.45), Real(0.6 + 0.3 * (i / 12)), Real(0.3 * (i / 4 % 3) - 0.3));
    specs.push_back(i % 2 ? ball(0.1, x) : validation::box(Vec3::Constant(Real(0.1)), x));
    specs.back().rotation = Vec3(Real(7 * i), 0, Real(13 * i));
  }
  std::vector<Obstacle::Part> parts{part(Obstacle::Kind::plane), part(Obstacle::Kind::mesh),
                                    part(Obstacle::Kind::torus),
                                    plate(Vec3(1, Real(0.02), 1), Vec3(0, Real(-0.3), 0))};
  parts[0].position.y() = Real(-0.4);
  parts[1].mesh = icosphere_mesh(Real(0.3), 3);
  parts[2].radius = Real(0.6), parts[2].minor_radius = Real(0.1);
  Stage stage(specs, parts, {}, false, {.fps = Real(fps), .threads = threads});
  stage.move("rotation", {1, 2, 3}, {0, 0, 0, 0, 20, 0, 0, 20, 0});
  return stage;
}

TEST(SlowRigidGuests, TheHashIsTheSameForEveryThreadCount) {
  const auto hash_of = [&](int threads) {
    Stage stage = pile_on_solids(threads);
    stage.run(2);
    return stage.world.hash();
  };
  const auto one = hash_of(1);
  for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(hash_of(threads), one) << threads;
}

TEST(SlowRigidGuests, AResumedRunEndsAsAnUninterruptedOne) {
  for (const double fps : {60.0, 24.0})  // at 24 a frame has two parts
    for (const double cut : {0.5, 1.5}) {
      Stage stage = pile_on_solids(0, fps);
      stage.run(cut);
      const std::vector<std::byte> saved = stage.world.snapshot();
      stage.run(2 - cut);
      Stage resumed = pile_on_solids(0, fps);
      resumed.world.restore(saved);
      EXPECT_EQ(resumed.world.snapshot(), saved);
      resumed.run(2 - cut);
      EXPECT_EQ(resumed.world.hash(), stage.world.hash()) << fps << " " << cut;
    }
}

TEST(RigidGuests, PoisonedWorkspacesChangeNothing) {
  Stage stage = pile_on_solids(0), other = pile_on_solids(0);
  for (int k = 0; k < 120; ++k) {
    stage.run(1.0 / 60), other.run(1.0 / 60);
    for (std::size_t i = 0; i < other.world.size(); ++i) other.world.system(i).poison_workspace();
  }
  EXPECT_EQ(stage.world.hash(), other.world.hash());
}

TEST(RigidGuests, BodiesSleepOnObstaclesWhoseFramesAreDivided) {
  Stage stage({ball(0.2, Vec3(0, Real(0.2), 0))}, {plate(Vec3(2, 1, 2), Vec3(Real(0.1), -1, Real(0.7)))},
              {.rotation = Vec3(0, 33, 0)}, false, {.fps = 24});
  stage.run(4);
  EXPECT_TRUE(stage.sleeps());
}

TEST(RigidGuests, AnObstacleThatIsAddedLaterWakesAndCarries) {
  Stage stage({ball(0.2, Vec3(0, Real(0.2), 0)), ball(0.2, Vec3(3, 5, 0))}, {part(Obstacle::Kind::plane)});
  stage.run(3);
  EXPECT_TRUE(stage.sleeps(0));
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({{plate(Vec3(1, Real(0.1), 1), Vec3::Zero())}}, model, state);
  stage.world.add<Obstacle>("lift", model, state, {.position = Vec3(0, Real(-0.2), 0)});
  EXPECT_FALSE(stage.sleeps(0));
  stage.world.add_keyframes("lift",
                            {"position", Keyframes::Interpolation::linear, {3, 5}, {0, -0.2, 0, 0, 0.8, 0}});
  stage.run(3);
  EXPECT_NEAR(stage.x(0).y(), 0.9 + 0.2, rest_error);
  EXPECT_NEAR(stage.x(1).y(), 0.2, rest_error);
}

TEST(RigidGuests, NothingIsAllocatedInSteps) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP();
  Stage stage = pile_on_solids(1);
  stage.run(5);
  with_threads(1, [&] {
    const std::span<const SolidBody> solids =
        Obstacle::bodies(stage.obstacle->model, stage.obstacle->state, {}, stage.obstacle->workspace);
    const auto step = [&] {
      SystemOf<Rigid>& b = *stage.bodies;
      Rigid::meet(b.model, b.state, solids, Real(1) / 60);
      b.step(Real(1) / 60);
    };
    step();
    EXPECT_EQ(plenum_test::count_allocations(step), 0);
  });
}

TEST(RigidGuests, RaysAndShapesFindThem) {
  Stage stage({ball(0.2, Vec3(0, 3, 0))}, {plate(Vec3(1, Real(0.1), 1), Vec3::Zero())});
  const RigidQueries queries(stage.bodies->model, stage.bodies->state);
  const auto hit = queries.ray({Vec3(Real(0.5), 2, 0), Vec3(0, -1, 0)});
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->body, 1);
  EXPECT_NEAR(hit->x.y(), 0.1, 1e-6);
}

TEST(RigidGuests, BodiesOfTwoSystemsAreSaidToPassEachOther) {
  Stage stage({ball(0.2, Vec3(0, 3, 0))}, {part(Obstacle::Kind::plane)});
  EXPECT_TRUE(stage.world.doubts().empty());
  Rigid::Model model;
  Rigid::State state;
  Rigid::build({.bodies = {ball(0.2, Vec3(0, 5, 0))}}, model, state);
  stage.world.add<Rigid>("others", model, state);
  ASSERT_EQ(stage.world.doubts().size(), 1u);
  EXPECT_NE(stage.world.doubts()[0].find("bodies and others"), std::string::npos);
}

}}  // namespace plenum::
