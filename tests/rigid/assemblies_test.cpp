#include "plenum/solvers/rigid/assemblies.h"

#include <gtest/gtest.h>

#include "plenum/base/error.h"
#include "referee.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::AssemblySpec;
using rigid::AssemblyType;
using validation::RigidScene;

rigid::Spec on_ground(AssemblySpec assembly) {
  rigid::BodySpec ground;
  ground.motion = rigid::Motion::fixed;
  ground.shapes[0].shape = rigid::Form::plane;
  rigid::Spec spec;
  spec.bodies = {ground};
  spec.assemblies = {std::move(assembly)};
  return spec;
}

AssemblySpec an(AssemblyType type) {
  AssemblySpec a;
  a.type = type;
  a.name = "it";
  a.count = 7, a.rows = 4;
  if (type == AssemblyType::dominoes) a.path = {Vec3(0, 0, 0), Vec3(1, 0, Real(0.3)), Vec3(Real(1.5), 0, 1)};
  return a;
}

TEST(Assemblies, HaveAsManyBodiesAndJointsAsTheySay) {
  for (std::size_t k = 0; k < names_of(AssemblyType{}).size(); ++k) {
    AssemblySpec a = an(AssemblyType(k));
    a.end_held = k % 2 == 0;
    rigid::Spec whole;
    rigid::assemble(a, "", whole);
    EXPECT_EQ(whole.bodies.size(), std::size_t(a.num_bodies())) << names_of(AssemblyType{})[k];
    EXPECT_EQ(whole.joints.size(), std::size_t(a.num_joints())) << names_of(AssemblyType{})[k];
  }
}

TEST(Assemblies, BeginWithoutOverlap) {
  for (const AssemblyType type : {AssemblyType::wall, AssemblyType::pyramid, AssemblyType::dominoes,
                                  AssemblyType::card_house, AssemblyType::arch}) {
    rigid::Spec whole;
    rigid::assemble(an(type), "", whole);
    std::vector<bench::BodyPose> poses;
    for (const rigid::BodySpec& b : whole.bodies) {
      const Vec4& q = b.orientation;
      poses.push_back({b.position.cast<double>(), Quaternion<double>(q[3], q[0], q[1], q[2])});
      // Nothing below the ground.
      const bench::Solid solid = bench::solid_of(b.shapes[0]);
      for (const auto& p : solid.points)
        EXPECT_GT((poses.back().position + poses.back().rotation * p).y() - solid.radius, -1e-6);
    }
    // Positions of single precision, some metres from the origin.
    EXPECT_LT(bench::overlaps(whole, poses).largest, 2e-6) << names_of(AssemblyType{})[std::size_t(type)];
  }
}

TEST(Assemblies, StandInAnyFrame) {
  AssemblySpec a = an(AssemblyType::wall);
  a.position = Vec3(3, 2, 1);
  a.rotation = Vec3(0, 90, 0);
  rigid::Spec whole;
  rigid::assemble(a, "", whole);
  for (const rigid::BodySpec& b : whole.bodies) {
    EXPECT_NEAR(b.position.x(), 3, 1e-5);  // it stretches along z now
    EXPECT_GT(b.position.y(), 2);
  }
  EXPECT_EQ(whole.bodies[2].name, "it[2]");
}

TEST(Assemblies, ChainsHoldOnToBodies) {
  rigid::Spec spec = on_ground(an(AssemblyType::chain));
  AssemblySpec& chain = spec.assemblies[0];
  chain.position = Vec3(0, 5, 0);
  chain.end_held = true;
  const Real length = Real(chain.count) * (2 * chain.completed().half_extents.x() + chain.completed().gap);
  rigid::BodySpec weight = test::ball(0.3, chain.position + Vec3(length, 0, 0));
  weight.name = "weight";
  spec.bodies.push_back(weight);
  chain.end_body = "weight";
  RigidScene scene(spec);
  for (int k = 0; k < 240; ++k) scene.step();
  // It swings below its hook, never farther away than the chain is long.
  const Vec3 from = scene.state.frames.x[1] - chain.position;
  EXPECT_LT(from.norm(), 1.001 * length);
  EXPECT_LT(scene.state.frames.x[1].y(), 5);
  chain.end_body = "wieght";
  try {
    RigidScene wrong(spec);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("assemblies[0].end_body"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("weight"), std::string::npos) << e.what();
  }
}

TEST(Assemblies, PathsHaveTwoPointsOrMore) {
  AssemblySpec a = an(AssemblyType::dominoes);
  a.path.resize(1);
  rigid::Spec whole;
  EXPECT_THROW(rigid::assemble(a, "assemblies[0].", whole), Error);
}

TEST(Assemblies, PathsHaveRoomForTheirDominoes) {
  AssemblySpec a = an(AssemblyType::dominoes);
  const Vec3 here(1, 0, 2);
  a.path = {here, here};
  EXPECT_EQ(
      test::message(on_ground(a)),
      "assemblies[0].path: has no length: its points are all the same (allowed: 0.15 m or more); draw it "
      "longer, or lower count");
  a.path = {here, here + Vec3(Real(0.125), 0, 0)};
  EXPECT_EQ(test::message(on_ground(a)),
            "assemblies[0].path: is too short for its dominoes to stand apart [m]: 0.125 (allowed: 0.15 m or "
            "more); draw it longer, or lower count");
  a.path = {here, here + Vec3(Real(0.15), 0, 0)};
  EXPECT_EQ(test::message(on_ground(a)), "");
  a.path.clear(), a.count = 1;
  EXPECT_EQ(test::message(on_ground(a)), "");
}

TEST(Assemblies, LinksAreNoThickerThanLong) {
  AssemblySpec a = an(AssemblyType::chain);
  a.half_extents = Vec3(Real(0.25), Real(0.5), 1);
  EXPECT_EQ(test::message(on_ground(a)),
            "assemblies[0].half_extents: makes links thicker than they are long: [0.25, 0.5, 1] (allowed: a "
            "radius, along y, of at most 0.25)");
}

// A gap that eats the bricks, planks or cards up is refused by its own name, and so is an arch of one stone.
TEST(Assemblies, LeaveRoomForWhatIsBetweenGaps) {
  const auto problem_of = [](const AssemblySpec& assembly) -> std::string {
    Rigid::Spec spec;
    spec.assemblies = {assembly};
    Rigid::Model model;
    Rigid::State state;
    try {
      Rigid::build(spec, model, state);
    } catch (const Error& error) {
      return error.problems().size() == 1 ? error.problems()[0].key : "several";
    }
    return "";
  };
  for (const AssemblyType type : {AssemblyType::wall, AssemblyType::card_house, AssemblyType::bridge}) {
    AssemblySpec assembly{.type = type};
    EXPECT_EQ(problem_of(assembly), "");
    assembly.gap = 5;
    EXPECT_EQ(problem_of(assembly), "assemblies[0].gap");
  }
  EXPECT_EQ(problem_of({.type = AssemblyType::arch, .count = 1}), "assemblies[0].count");
}

TEST(Assemblies, OfDefaultsStandAndFallAsTheirKindDoes) {
  // A house of four levels of default cards stands for two seconds.
  {
    RigidScene scene(on_ground(an(AssemblyType::card_house)));
    const auto before = scene.poses();
    for (int k = 0; k < 120; ++k) scene.step();
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_LT((scene.poses()[i].position - before[i].position).norm(), 0.01) << i;
  }
  // Default dominoes stand, and a pushed one fells all.
  for (const bool pushed : {false, true}) {
    AssemblySpec row = an(AssemblyType::dominoes);
    row.path.clear();
    RigidScene scene(on_ground(row));
    if (pushed) scene.state.frames.w[1] = Vec3(0, 0, -4), scene.state.frames.v[1] = Vec3(Real(0.4), 0, 0);
    for (int k = 0; k < 120; ++k) scene.step();
    for (std::size_t i = 1; i < scene.poses().size(); ++i)
      EXPECT_EQ((scene.poses()[i].rotation * Vec3::UnitY()).y() < 0.7, pushed) << i;
  }
  // A default bridge hangs between its banks.
  AssemblySpec bridge = an(AssemblyType::bridge);
  bridge.position = Vec3(0, 2, 0), bridge.end_held = true;
  RigidScene scene(on_ground(bridge));
  for (int k = 0; k < 240; ++k) scene.step();
  for (std::size_t i = 1; i < scene.poses().size(); ++i) {
    EXPECT_GT(scene.poses()[i].position.y(), 1.7) << i;
    EXPECT_LT(scene.poses()[i].position.y(), 2.05) << i;
  }
}

TEST(Assemblies, AreMadeOfNamedMaterialsButForWhatTheyGiveThemselves) {
  const rigid::Material oak{.name = "oak", .density = 700, .friction = Real(0.4), .restitution = Real(0.2)},
      felt{.name = "felt", .density = 200, .friction = Real(0.8), .rolling_resistance = Real(0.01)};
  const auto built = [&](const AssemblySpec& a) {
    rigid::Spec spec = on_ground(a);
    spec.materials = {felt, oak};
    return RigidScene(spec);
  };
  AssemblySpec a = an(AssemblyType::pyramid);
  const double volume = 8 * double(a.completed().half_extents.prod());
  const auto expect = [&](double density, Real friction, Real restitution, Real rolling) {
    const RigidScene scene = built(a);
    for (std::size_t k = 1; k < scene.model.colliders.size(); ++k) {
      const Rigid::Collider& c = scene.model.colliders[k];
      EXPECT_NEAR(1 / double(scene.state.frames.inverse_mass[k]), density * volume, 1e-6 * density * volume);
      EXPECT_EQ(c.friction, friction);
      EXPECT_EQ(c.restitution, restitution);
      EXPECT_EQ(c.rolling, rolling);
    }
  };
  expect(1000, Real(0.6), 0, 0);
  a.material = "oak";
  expect(700, oak.friction, oak.restitution, 0);
  a.density = 50, a.restitution = 0;  // the default of materials too, but given
  expect(50, oak.friction, 0, 0);
  a.material = "felt", a.friction = Real(0.1);
  expect(50, Real(0.1), 0, felt.rolling_resistance);
  a.material = "oka";
  rigid::Spec spec = on_ground(a);
  spec.materials = {felt, oak};
  const std::string said = test::message(spec);
  for (const char* part : {"assemblies[0].material", "oka", "'oak'"})
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
}

TEST(Assemblies, RagdollsStayTogether) {
  AssemblySpec a = an(AssemblyType::ragdoll);
  a.position = Vec3(0, 2, 0);
  a.rotation = Vec3(50, 20, 0);
  RigidScene scene(on_ground(a));
  ASSERT_EQ(scene.model.joints.size(), 12u);
  double worst = 0, lowest = 1;
  for (int k = 0; k < 240; ++k) {
    scene.step();
    for (const Rigid::Joint& j : scene.model.joints) {
      const auto at = [&](Index body, const Pose& in) { return scene.state.frames.pose(body) * in.position; };
      worst = std::max(worst, double((at(j.a, j.in_a) - at(j.b, j.in_b)).norm()));
    }
    for (std::size_t i = 1; i < scene.state.frames.size(); ++i)
      lowest = std::min(lowest, double(scene.state.frames.x[i].y()));
  }
  EXPECT_LT(worst, 0.005 * a.height);  // joints give less than a hundredth of a limb's length
  EXPECT_GT(lowest, 0);
}

}}  // namespace plenum
