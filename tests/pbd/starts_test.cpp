// What `check` and the first frame tell of solids that begin between particles, none of which is inside of
// them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "pbd/built.h"
#include "plenum/geometry/shapes.h"
#include "plenum/scene/scene.h"

namespace plenum { namespace {

using plenum_test::Built;
using Form = PbdBody::Form;
using Told = std::vector<std::string>;

/// 1 m, level at y = 0, of cells of 0.1 m.
PbdPart held_sheet() {
  PbdPart cloth;
  cloth.size_x = cloth.size_z = 1;
  cloth.cells_x = cloth.cells_z = 10;
  return cloth;
}
PbdPart pinned(PbdPart part, ParticlePin::Where where) {
  part.pins.resize(1);
  part.pins[0].where = where;
  return part;
}
/// Of 1 m, in cells of 0.5 m.
PbdPart block() {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3::Constant(Real(0.5));
  bar.cells_x = bar.cells_y = bar.cells_z = 2;
  return bar;
}
/// Of four segments of 0.5 m along x.
PbdPart rope() {
  PbdPart part{.type = PbdPart::Type::rope};
  part.segments = 4;
  part.from = Vec3(-1, 0, 0), part.to = Vec3(1, 0, 0);
  return part;
}
/// Upright.
PbdBody pole(Real radius, const Vec3& position) {
  PbdBody body;
  body.shape = Form::capsule;
  body.radius = radius, body.half_height = Real(0.3);
  body.position = position;
  return body;
}
PbdBody cube(Real half, const Vec3& position) {
  PbdBody body;
  body.half_extents = Vec3::Constant(half);
  body.position = position;
  return body;
}
Told told_of(const PbdPart& part, const PbdBody& body) {
  return Built(PbdSpec{.parts = {part}, .bodies = {body}}).model.doubts;
}

/// What is told, with "DEPTH" for how deep, which is to be `depth` [m] to 3 %: the search for the deepest
/// place ends short of it, by what compilers round.
Told without_depth(Told told, double depth) {
  for (std::string& what : told) {
    const std::string before = " up to ", after = " m deep";
    const std::size_t from = what.find(before) + before.size(), to = what.find(after);
    EXPECT_LT(from, to) << what;
    if (!(from < to && to != std::string::npos)) continue;
    EXPECT_NEAR(std::stod(what.substr(from, to - from)), depth, 0.03 * depth) << what;
    what.replace(from, to - from, "DEPTH");
  }
  return told;
}

const Vec3 in_a_cell(Real(0.05), 0, Real(0.05));  // on its diagonal
const std::string then = ", and will be thrown out, stay caught or pass: move one of them";

TEST(PbdStarts, BodiesThroughTrianglesAreTold) {
  const std::string through =
      "2 triangles of parts[0] start up to DEPTH m deep inside bodies[0] between their particles, at [0.05, "
      "0, 0.05]" +
      then;
  PbdBody led = pole(Real(0.01), in_a_cell);
  EXPECT_EQ(without_depth(told_of(held_sheet(), led), 0.01), Told{through});
  // A body that can be moved, by what is held.
  EXPECT_EQ(without_depth(told_of(pinned(held_sheet(), ParticlePin::Where::all), led), 0.01), Told{through});
  led.motion = PbdBody::Motion::led;
  EXPECT_EQ(without_depth(told_of(held_sheet(), led), 0.01), Told{through});
  EXPECT_EQ(told_of(pinned(held_sheet(), ParticlePin::Where::all), led), Told{});
  // The surface of a soft body, at its top.
  const Told top = told_of(block(), pole(Real(0.01), Vec3(Real(0.3), Real(0.7), Real(0.2))));
  ASSERT_EQ(top.size(), 1U);
  EXPECT_NE(top[0].find("1 triangle of parts[0] starts up to"), std::string::npos) << top[0];
}

TEST(PbdStarts, BodiesOnRopesAreTold) {
  EXPECT_EQ(told_of(rope(), cube(Real(0.1), Vec3(Real(0.25), 0, 0))),
            Told{"1 segment of parts[0] starts up to 0.1 m deep inside bodies[0] between its particles, at "
                 "[0.25, 0, 0]" +
                 then});
}

TEST(PbdStarts, BodiesInSoftBodiesAreTold) {
  const Told inside{
      "bodies[0] starts inside parts[0] between its particles, and nothing takes it out of there: move one "
      "of them"};
  // Also where it is between tetrahedra.
  for (const Vec3& at : {Vec3(Real(0.2), Real(0.2), Real(0.23)), Vec3(Real(0.25), Real(0.25), Real(0.25)),
                         Vec3(Real(0.25), 0, Real(0.25))})
    EXPECT_EQ(told_of(block(), cube(Real(0.05), at)), inside) << at.transpose();
}

TEST(PbdStarts, WhatTouchesOrIsJoinedIsNotTold) {
  // On the cloth, and as deep as contact keeps off.
  for (const Real y : {Real(0.04), Real(0.035)})
    EXPECT_EQ(told_of(held_sheet(), cube(Real(0.04), in_a_cell + Vec3(0, y, 0))), Told{}) << y;
  EXPECT_EQ(told_of(block(), cube(Real(0.05), Vec3(Real(0.2), Real(0.55), Real(0.2)))), Told{});
  // Beside the cloth, and in its box.
  PbdPart turned = held_sheet();
  turned.rotation = Vec3(0, 0, 45);
  EXPECT_EQ(told_of(turned, pole(Real(0.01), Vec3(Real(0.2), Real(-0.3), Real(0.05)))), Told{});
  // Round a drum, whose chords are in it.
  PbdPart wound = rope();
  wound.segments = 8;
  for (int k = 0; k <= 16; ++k) {
    const double angle = std::numbers::pi * k / 16;
    wound.through.push_back(Vec3(Real(0.3 * std::cos(angle)), Real(0.3 * std::sin(angle)), 0));
  }
  PbdBody drum;
  drum.shape = Form::sphere;
  drum.radius = Real(0.299);
  EXPECT_EQ(told_of(wound, drum), Told{});
  // A hem that is held inside of a rod.
  PbdBody rod = pole(Real(0.03), Vec3(Real(-0.5), 0, 0));
  rod.half_height = 1, rod.rotation = Vec3(90, 0, 0);
  EXPECT_EQ(told_of(pinned(held_sheet(), ParticlePin::Where::left), rod), Told{});
  // What hangs on it without touching it.
  for (PbdPart part : {held_sheet(), block()}) {
    PbdBody body = part.type == PbdPart::Type::bar ? cube(Real(0.05), Vec3(Real(0.2), Real(0.2), Real(0.23)))
                                                   : pole(Real(0.01), in_a_cell);
    body.name = "body";
    part.attachments = {{.particles = {.where = ParticlePin::Where::all}, .body = "body"}};
    for (const std::string& doubt : told_of(part, body))
      EXPECT_EQ(doubt.find("inside"), std::string::npos) << doubt;
  }
}

/// What the first frame tells of cloth `c` of 1 m and of a soft body, and of solids of the system before it.
Told told_by_frame(const std::string& solids, const std::string& parts) {
  Scene scene =
      load_scene_text(R"({"systems": [)" + solids + R"(, {"type": "pbd", "name": "c", "model": {"parts": [)" +
                          parts + R"(]}, "params": {"thickness": 0.005}}]})",
                      "starts.json");
  Told told;
  for (const Remark& remark : scene.world.step_frame().remarks) told.push_back(remark.text);
  for (const Remark& remark : scene.world.step_frame().remarks) ADD_FAILURE() << "again: " << remark.text;
  return told;
}
std::string obstacle(const std::string& shape) {
  return R"({"type": "obstacle", "name": "solid", "model": {"parts": [{)" + shape + "}]}}";
}
std::string rigid(const std::string& shape, const std::string& position) {
  return R"({"type": "rigid", "name": "solid", "model": {"bodies": [{"shapes": [{)" + shape +
         R"(}], "position": )" + position + "}]}}";
}

TEST(PbdStarts, RopesShorterThanTheirEndsAreApartAreTold) {
  PbdSpec spec;
  spec.bodies = {cube(Real(0.1), Vec3(0, 2, 0))};
  spec.bodies[0].name = "crate";
  PbdJoint joint;
  joint.type = PbdJoint::Type::rope, joint.body_a = "crate";
  joint.anchor = Vec3(0, 2, 0), joint.anchor_b = Vec3(0, 8, 0);
  for (const auto& [length, doubts] : {std::pair{0.1, 1}, {5.9, 0}, {0.0, 0}, {7.0, 0}}) {
    joint.length = Real(length), spec.joints = {joint};
    Pbd::Model model;
    Pbd::State state;
    Pbd::build(spec, model, state);
    ASSERT_EQ(model.doubts.size(), std::size_t(doubts)) << length;
    if (doubts > 0) EXPECT_NE(model.doubts[0].find("6 m apart"), std::string::npos) << model.doubts[0];
  }
}

TEST(PbdStarts, ParticlesOfTwoAttachmentsAreTold) {
  PbdPart sheet = held_sheet();
  sheet.attachments.resize(2);
  for (PbdAttachment& a : sheet.attachments) a.particles.where = ParticlePin::Where::left;
  sheet.attachments[0].body = "one", sheet.attachments[1].body = "two";
  PbdSpec spec;
  spec.parts = {sheet};
  spec.bodies = {cube(Real(0.1), Vec3(0, 1, 0)), cube(Real(0.1), Vec3(0, 2, 0))};
  spec.bodies[0].name = "one", spec.bodies[1].name = "two";
  Pbd::Model model;
  Pbd::State state;
  Pbd::build(spec, model, state);
  std::size_t told = 0;
  for (const std::string& doubt : model.doubts)
    told += doubt.find("11 particles are held by another") != std::string::npos;
  EXPECT_EQ(told, 1u);
}

// A layer of ten metres about a cloth of one metre threw a box three kilometres up.
TEST(PbdStarts, ThicknessIsHeldToAPartOfWhatHasIt) {
  PbdSpec spec;
  PbdPart sheet = pinned(held_sheet(), ParticlePin::Where::left);
  spec.parts = {sheet};
  spec.bodies = {cube(Real(0.1), Vec3(0, 1, 0))};
  Pbd::Model model;
  Pbd::State state;
  Pbd::build(spec, model, state);
  Pbd::Params params;
  params.contact = Pbd::Contact::conservative, params.thickness = 10;
  EXPECT_NEAR(double(Pbd::solid_distance(model, params)), std::sqrt(2.0) / 4, 1e-5);
  Pbd::Workspace workspace;
  for (int f = 0; f < 60; ++f) {
    const Report report = Pbd::step(model, state, params, workspace, Real(1.0 / 60));
    EXPECT_FALSE(report.warnings().empty());
    // No faster than what falls freely.
    ASSERT_LT(double(state.frames.v[0].norm()), 9.81 * (f + 1) / 60 + 0.01);
  }
}

TEST(PbdStarts, SolidsOfOtherSystemsAreToldOnce) {
  const std::string cloth = R"({"type": "cloth", "size_x": 1, "size_z": 1, "cells_x": 10, "cells_z": 10})";
  const std::string held =
      R"({"type": "cloth", "size_x": 1, "size_z": 1, "cells_x": 10, "cells_z": 10, "pins": [{"where": "all"}]})";
  const std::string bar =
      R"({"type": "bar", "half_extents": [0.5, 0.5, 0.5], "cells_x": 2, "cells_y": 2, "cells_z": 2})";
  const std::string capsule = R"("shape": "capsule", "radius": 0.01, "half_height": 0.5)",
                    ball = R"("shape": "sphere", "radius": 0.05)";
  const std::string through =
      "2 triangles start up to DEPTH m deep inside solid between their particles, at [0.05, 0, 0.05], and "
      "will stay caught or pass; move the particles or solid";
  EXPECT_EQ(without_depth(told_by_frame(obstacle(capsule + R"(, "position": [0.05, 0, 0.05])"), cloth), 0.01),
            Told{through});
  EXPECT_EQ(without_depth(told_by_frame(rigid(capsule, "[0.05, 0, 0.05]"), cloth), 0.01), Told{through});
  EXPECT_EQ(without_depth(told_by_frame(rigid(capsule, "[0.05, 0, 0.05]"), held), 0.01), Told{through});
  EXPECT_EQ(told_by_frame(obstacle(capsule + R"(, "position": [0.05, 0, 0.05])"), held), Told{});
  const std::string inside =
      "solid starts inside a soft body, between its particles, and nothing takes it out of there; move the "
      "particles or solid";
  EXPECT_EQ(told_by_frame(obstacle(ball + R"(, "position": [0.2, 0.2, 0.23])"), bar), Told{inside});
  EXPECT_EQ(told_by_frame(rigid(ball, "[0.2, 0.2, 0.23]"), bar), Told{inside});
  // Within the thickness, a floor below, and one that particles are in, which is told of once.
  EXPECT_EQ(told_by_frame(obstacle(ball + R"(, "position": [0.05, 0.046, 0.05])"), cloth), Told{});
  EXPECT_EQ(told_by_frame(obstacle(R"("shape": "plane")"), cloth), Told{});
  EXPECT_EQ(told_by_frame(obstacle(ball + R"(, "position": [0.04, 0, 0.04])"), cloth).size(), 1U);
  EXPECT_EQ(told_by_frame(obstacle(R"("shape": "sphere", "radius": 0.07)"), cloth).size(), 1U);
}

}}  // namespace plenum
