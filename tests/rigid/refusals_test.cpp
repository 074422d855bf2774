// Settings that nothing would come of are refused in one sentence that names the remedy.
#include <gtest/gtest.h>

#include "joints.h"
#include "plenum/scene/scene.h"
#include "scene_laws.h"

namespace plenum { namespace {

using rigid::AxisMode;
using rigid::BodySpec;
using rigid::Drive;
using rigid::JointSpec;
using rigid::JointType;
using rigid::Motion;
using test::message;

BodySpec cube() {
  return validation::unit_box(0, 0, 0);
}

/// What is said of a joint between two boxes, after `key`.
std::string said_of(const JointSpec& joint) {
  return message(test::pair(joint));
}
JointSpec hinge(AxisMode mode, Drive drive) {
  JointSpec j = test::joint(JointType::hinge, "left", "right", Vec3::Zero());
  j.motion.mode = mode, j.motion.drive = drive;
  return j;
}

TEST(RigidRefusals, DrivesOfLockedAxes) {
  EXPECT_EQ(said_of(hinge(AxisMode::locked, Drive::velocity)),
            "joints[0].motion.drive: is given to an axis that is locked; write \"mode\": \"free\" or "
            "\"limited\", or leave the drive out");
  JointSpec six = test::joint(JointType::six_axes, "left", "right", Vec3::Zero());
  for (rigid::AxisSpec* axis : {&six.x, &six.y, &six.z, &six.turn_x, &six.turn_y, &six.turn_z})
    axis->mode = AxisMode::locked;
  EXPECT_EQ(said_of(six), "");
  six.turn_y.drive = Drive::velocity;
  EXPECT_EQ(said_of(six).substr(0, 24), "joints[0].turn_y.drive: ");
  EXPECT_EQ(said_of(hinge(AxisMode::free, Drive::velocity)), "");
}

TEST(RigidRefusals, SystemsWithoutBodies) {
  EXPECT_EQ(message({}),
            "bodies: has no body (allowed: at least one, here or in `assemblies`); add one, as {\"shapes\": "
            "[{\"shape\": \"box\"}]}, or leave the system out");
}

TEST(RigidRefusals, SpringsWithoutStiffness) {
  JointSpec j = hinge(AxisMode::free, Drive::spring);
  EXPECT_EQ(said_of(j),
            "joints[0].motion.stiffness: is not given, nor is damping: the spring would not pull (allowed: "
            "above 0)");
  j.motion.damping = 1;  // a damper
  EXPECT_EQ(said_of(j), "");
  j.motion.target = 30;
  EXPECT_EQ(said_of(j),
            "joints[0].motion.target: is given to a spring without stiffness, which damps alone; give "
            "stiffness, or leave the target out");
  j.motion.stiffness = 1;
  EXPECT_EQ(said_of(j), "");
}

TEST(RigidRefusals, DampingOfRigidRods) {
  JointSpec j = test::joint(JointType::distance, "left", "right", Vec3::Zero());
  EXPECT_EQ(said_of(j), "");
  j.damping = 2;
  EXPECT_EQ(said_of(j),
            "joints[0].damping: is given to a rod that is rigid, as it has no stiffness; give stiffness, or "
            "leave the damping out");
  j.stiffness = 100;
  EXPECT_EQ(said_of(j), "");
}

TEST(RigidRefusals, FrictionAcrossNoAxis) {
  BodySpec body = cube();
  body.friction_across = Real(0.2);
  EXPECT_EQ(message({.bodies = {body}}),
            "bodies[0].friction_across: is given without a friction_axis to act across; give friction_axis, "
            "or `friction` alone, which acts in all directions");
  body.friction_across = 0;
  EXPECT_NE(message({.bodies = {body}}), "");
  body.friction_axis = Vec3::UnitX();
  EXPECT_EQ(message({.bodies = {body}}), "");
}

TEST(RigidRefusals, LessFrictionAtRestThanInSliding) {
  BodySpec body = cube();
  body.static_friction = Real(0.25);
  EXPECT_EQ(message({.bodies = {body}}),
            "bodies[0].static_friction: is below the friction of what slides: 0.25 (allowed: 0.5 or more); "
            "leave it out where rest bears no more than sliding");
  body.friction = Real(0.2);
  EXPECT_EQ(message({.bodies = {body}}), "");
  rigid::Material felt{.name = "felt", .friction = Real(0.75), .static_friction = Real(0.5)};
  EXPECT_EQ(
      message({.bodies = {cube()}, .materials = {felt}}),
      "materials[0].static_friction: is below the friction of what slides: 0.5 (allowed: 0.75 or more); "
      "leave it out where rest bears no more than sliding");
  // A body that takes another friction than its material takes what that bears at rest too, if it is less.
  felt.static_friction = Real(0.8);
  BodySpec rough = cube();
  rough.material = "felt", rough.friction = 1;
  const validation::RigidScene scene({.bodies = {rough}, .materials = {felt}});
  EXPECT_EQ(scene.model.colliders[0].static_friction, 1);
}

TEST(RigidRefusals, VelocitiesThatMotionOrLocksTake) {
  BodySpec body = cube();
  body.motion = Motion::fixed;
  body.velocity = Vec3(0, 1, 0);
  EXPECT_EQ(
      message({.bodies = {body}}),
      "bodies[0].velocity: is given to a body whose motion is fixed; write \"motion\": \"kinematic\" for "
      "one that moves by its velocities");
  body.motion = Motion::kinematic;
  EXPECT_EQ(message({.bodies = {body}}), "");
  body.motion = Motion::dynamic;
  body.lock_x = true, body.lock_y = false;
  EXPECT_EQ(message({.bodies = {body}}), "");
  body.lock_y = true;
  EXPECT_EQ(message({.bodies = {body}}),
            "bodies[0].velocity: is not 0 along an axis that lock_y holds; leave one of both out");
  BodySpec turning = cube();
  turning.angular_velocity = Vec3(0, 0, 1), turning.lock_turn_z = true;
  EXPECT_EQ(
      message({.bodies = {turning}}),
      "bodies[0].angular_velocity: is not 0 along an axis that lock_turn_z holds; leave one of both out");
  turning.lock_turn_z = false, turning.motion = Motion::fixed;
  EXPECT_EQ(message({.bodies = {turning}}).substr(0, 28), "bodies[0].angular_velocity: ");
}

TEST(RigidRefusals, WhatForcesDoToBodiesThatTheyDoNotMove) {
  using Setting = std::pair<std::string, void (*)(BodySpec&)>;
  const std::vector<Setting> settings = {
      {"mass", [](BodySpec& b) { b.mass = 2; }},
      {"density", [](BodySpec& b) { b.density = 500; }},
      {"inertia", [](BodySpec& b) { b.inertia = Vec3::Ones(); }},
      {"lock_x", [](BodySpec& b) { b.lock_x = true; }},
      {"lock_turn_z", [](BodySpec& b) { b.lock_turn_z = true; }},
      {"gravity_scale", [](BodySpec& b) { b.gravity_scale = 0; }},
      {"linear_damping", [](BodySpec& b) { b.linear_damping = 0; }},
      {"angular_damping", [](BodySpec& b) { b.angular_damping = 1; }},
  };
  const std::string remedy = "; leave it out, or write \"motion\": \"dynamic\" for one that forces move";
  for (const auto& [name, give] : settings) {
    BodySpec body = cube();
    give(body);
    EXPECT_EQ(message({.bodies = {body}}), "");
    body.motion = Motion::fixed;
    EXPECT_EQ(
        message({.bodies = {body}}),
        "bodies[0]." + name + ": is given to a body that nothing moves, as its motion is fixed" + remedy);
    body.motion = Motion::kinematic;
    EXPECT_EQ(message({.bodies = {body}}),
              "bodies[0]." + name +
                  ": is given to a body that its velocities alone move, as its motion is kinematic" + remedy);
  }
  // A material's density is its own affair, and where a kinematic body's masses are says about what it turns.
  BodySpec wheel = cube();
  wheel.motion = Motion::kinematic, wheel.material = "iron";
  const rigid::Material iron{.name = "iron", .density = 7800};
  EXPECT_EQ(message({.bodies = {wheel}, .materials = {iron}}), "");
  wheel.shapes.push_back({.position = Vec3(2, 0, 0), .material = "iron"});
  wheel.density = 10;
  EXPECT_EQ(message({.bodies = {wheel}, .materials = {iron}}), "");
  wheel.density = rigid::not_given, wheel.point_masses = {{.position = Vec3(1, 0, 0), .mass = 1}};
  const validation::RigidScene scene({.bodies = {wheel}, .materials = {iron}});
  EXPECT_EQ(scene.state.frames.x[0], Vec3(1, 0, 0));
  wheel.motion = Motion::fixed;
  EXPECT_EQ(message({.bodies = {wheel}, .materials = {iron}}).substr(0, 24), "bodies[0].point_masses: ");
}

TEST(RigidRefusals, HowSensorsWouldPush) {
  using Setting = std::pair<std::string, void (*)(BodySpec&)>;
  const std::vector<Setting> settings = {
      {"friction", [](BodySpec& b) { b.friction = 1; }},
      {"static_friction", [](BodySpec& b) { b.static_friction = 1; }},
      {"friction_axis", [](BodySpec& b) { b.friction_axis = Vec3::UnitX(); }},
      {"restitution", [](BodySpec& b) { b.restitution = 0; }},
      {"rolling_resistance", [](BodySpec& b) { b.rolling_resistance = 1; }},
      {"spinning_friction", [](BodySpec& b) { b.spinning_friction = 1; }},
      {"surface_velocity", [](BodySpec& b) { b.surface_velocity = Vec3::UnitX(); }},
  };
  for (const auto& [name, give] : settings) {
    BodySpec body = cube();
    give(body);
    EXPECT_EQ(message({.bodies = {body}}), "");
    body.sensor = true;
    EXPECT_EQ(message({.bodies = {body}}),
              "bodies[0]." + name +
                  ": is given to a sensor, which pushes nothing; leave it out, or leave `sensor` out");
  }
  BodySpec body = cube();  // what it weighs moves it
  body.sensor = true, body.mass = 3, body.material = "iron";
  EXPECT_EQ(message({.bodies = {body}, .materials = {{.name = "iron", .friction = 1}}}), "");
}

TEST(RigidRefusals, DrivesWithoutStrength) {
  for (const Drive drive : {Drive::velocity, Drive::spring}) {
    JointSpec j = hinge(AxisMode::free, drive);
    j.motion.stiffness = 1, j.motion.strength = 0;
    EXPECT_EQ(
        said_of(j),
        "joints[0].motion.strength: is 0: the drive would not push (allowed: above 0); leave it out for "
        "a drive of any strength, or leave the drive out");
    j.motion.strength = 1;
    EXPECT_EQ(said_of(j), "");
  }
  JointSpec mouse = test::joint(JointType::mouse, "", "right", Vec3::Zero());
  EXPECT_EQ(said_of(mouse), "");
  mouse.strength = 0;
  EXPECT_EQ(said_of(mouse), "joints[0].strength: is 0: the mouse would not pull (allowed: above 0)");
  mouse.strength = 1, mouse.frequency = 0;
  EXPECT_EQ(said_of(mouse), "joints[0].frequency: is 0: the mouse would not pull (allowed: above 0)");
}

TEST(RigidRefusals, SpringsToWhereLimitsDoNotLet) {
  JointSpec j = hinge(AxisMode::limited, Drive::spring);
  j.motion.lower = -30, j.motion.upper = 45, j.motion.stiffness = 10;
  for (const double target : {-30, 0, 45}) {
    j.motion.target = Real(target);
    EXPECT_EQ(said_of(j), "");
  }
  j.motion.target = 60;
  EXPECT_EQ(said_of(j),
            "joints[0].motion.target: is beyond the limits of its axis, where the spring never gets: 60 "
            "(allowed: -30 to 45); widen the limits, or press against one by a motor of limited strength");
  j.motion.target = -31;
  EXPECT_NE(said_of(j), "");
  j.motion.mode = AxisMode::free;
  EXPECT_EQ(said_of(j), "");
}

// As they are written, and with all digits by which they are too large.
TEST(RigidRefusals, SayNumbersAsTheyAreWritten) {
  JointSpec j = hinge(AxisMode::limited, Drive::none);
  j.motion.lower = 10, j.motion.upper = Real(-0.5);
  EXPECT_EQ(said_of(j), "joints[0].motion.lower: is above upper: 10 (allowed: at most -0.5)");
  BodySpec body = cube();
  body.mass = 1, body.inertia = Vec3(1, 1, Real(2.00001));
  EXPECT_EQ(
      message({.bodies = {body}}),
      "bodies[0].inertia: has a moment that is larger than the sum of the other two: 2.00001 (allowed: at "
      "most 2)");
}

TEST(RigidRefusals, TwoSourcesOfAMass) {
  BodySpec body = cube();
  body.density = 100, body.mass = 3;
  EXPECT_EQ(message({.bodies = {body}}), "bodies[0].density: is given, and mass too (allowed: one of both)");
  body.mass = rigid::not_given;
  EXPECT_EQ(message({.bodies = {body}}), "");
  body.point_masses = {{.position = Vec3::Zero(), .mass = 1}};
  body.inertia = Vec3::Ones();
  EXPECT_EQ(message({.bodies = {body}}),
            "bodies[0].density: is given, and point_masses too (allowed: one of both)");
}

TEST(RigidRefusals, NamesThatCallTwoBodies) {
  BodySpec grid = cube(), other = cube();
  grid.name = "g", grid.count_x = 3;
  other.position = Vec3(0, 5, 0);
  const auto said = [&](const std::string& name, std::vector<rigid::AssemblySpec> assemblies = {}) {
    other.name = name;
    return message({.bodies = {grid, other}, .assemblies = std::move(assemblies)});
  };
  const std::string own = " (allowed: a name of its own, as joints find bodies by it)";
  EXPECT_EQ(said("g"), "bodies[1].name: calls a body as another body is called: g" + own);
  EXPECT_EQ(said("g[1]"), "bodies[1].name: calls a body as body 1 of `g` is called: g[1]" + own);
  EXPECT_EQ(said("g[3]"), "");
  EXPECT_EQ(said("1"), "bodies[1].name: calls a body as the body of that number is called: 1" + own);
  EXPECT_EQ(said("3"), "");  // its own number
  rigid::AssemblySpec row;
  row.type = rigid::AssemblyType::pyramid, row.name = "g", row.count = 2, row.position = Vec3(20, 0, 0);
  EXPECT_EQ(said("b", {row}), "assemblies[0].name: calls a body as body 0 of `g` is called: g[0]" + own);
  row.name = "h";
  EXPECT_EQ(said("b", {row}), "");
  EXPECT_EQ(said("h[2]", {row}), "assemblies[0].name: calls a body as another body is called: h[2]" + own);
  EXPECT_EQ(said("b", {row, row}), "assemblies[1].name: calls a body as another body is called: h[0]" + own);
}

TEST(RigidRefusals, GridsWhereOneBodyIsMeant) {
  BodySpec grid = cube();
  grid.name = "g", grid.count_x = 3;
  rigid::JointSpec joint;
  joint.body_b = "g";
  EXPECT_EQ(message({.bodies = {grid}, .joints = {joint}}),
            "joints[0].body_b: names 3 bodies: g (allowed: one of them: g[0] to g[2])");
  joint.body_b = "g[2]";
  EXPECT_EQ(message({.bodies = {grid}, .joints = {joint}}), "");
}

TEST(RigidRefusals, WhatAppliesToNoDriveAndNoEndInSceneFiles) {
  const auto complaint = [](const std::string& model) {
    const auto problems = check_scene_text(
        "{\"systems\": [{\"type\": \"rigid\", \"name\": \"r\", \"model\": {" + model + "}}]}", "s.json");
    return problems.empty() ? std::string() : problems[0].key + ": " + problems[0].what;
  };
  EXPECT_EQ(complaint(R"("bodies": [{"name": "a", "shapes": [{"shape": "box"}]}],
                         "joints": [{"type": "hinge", "body_b": "a", "motion": {"strength": 5}}])"),
            "systems[0].model.joints[0].motion.strength: applies only when drive is velocity or spring");
  const std::string hook =
      R"("bodies": [{"name": "hook", "motion": "fixed", "shapes": [{"shape": "box"}]}],)";
  EXPECT_EQ(complaint(hook + R"("assemblies": [{"type": "chain", "end_body": "hook"}])").substr(0, 80),
            "systems[0].model.assemblies[0].end_body: applies only when type is chain and end");
  EXPECT_EQ(complaint(hook + R"("assemblies": [{"type": "chain", "end_held": true, "end_body": "hook"}])"),
            "");
}

TEST(RigidRefusals, WordsOfOtherProgramsHaveAWordHere) {
  const auto nearest = [](const std::string& body) {
    const auto problems = check_scene_text(
        "{\"systems\": [{\"type\": \"rigid\", \"name\": \"r\", \"model\": {\"bodies\": [{" + body + "}]}}]}",
        "s.json");
    return problems.empty() ? std::string() : problems[0].nearest + problems[0].remedy;
  };
  EXPECT_EQ(nearest(R"("motion": "static", "shapes": [{"shape": "box"}])"), "fixed");
  EXPECT_EQ(nearest(R"("shapes": [{"shape": "cube"}])"), "box");
  EXPECT_EQ(nearest(R"("shapes": [{"shape": "ball"}])"), "sphere");
  EXPECT_EQ(nearest(R"("shapes": [{"shape": "box"}], "quaternion": [0, 0, 0, 1])"), "rotation");
  EXPECT_EQ(nearest(R"("shapes": [{"shape": "box", "orientation": [0, 0, 0, 1]}])"), "rotation");
  EXPECT_EQ(nearest(R"("shapes": [{"shape": "mesh", "mesh": "bunny.obj"}])"),
            R"(write {"file": "bunny.obj"})");
  EXPECT_EQ(nearest(R"("shapes": [{"shape": "mesh", "mesh": "torus"}])"), R"(write {"shape": "torus"})");
}

}}  // namespace plenum
