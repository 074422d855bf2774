// Debug drawing of rigid bodies: marks are where they should be and say what they should.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/solvers/rigid/debug.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::ContactMark;
using rigid::Form;
using std::numbers::pi;
using validation::RigidScene;

/// Keeps what it is shown.
struct Recorder final : DrawableSink {
  struct Lines {
    Look look;
    int palette;
    std::string quantity;
    std::vector<std::pair<Vec3, Vec3>> ends;
    std::vector<Real> values;
  };
  std::vector<Lines> lines_seen;
  std::vector<Vec3> points;
  std::vector<std::pair<int, Vec3>> tints;  ///< palette, place
  int calls = 0;

  void triangles(const TriangleView& view) override {
    ++calls;
    tints.emplace_back(view.palette, view.pose.position);
    EXPECT_EQ(view.look, Look::mark);
  }
  void spheres(const SphereView& view) override {
    ++calls;
    points.insert(points.end(), view.x.begin(), view.x.end());
  }
  void lines(const LineView& view) override {
    ++calls;
    Lines seen{view.look, view.palette, std::string(view.colour.quantity), {}, {}};
    for (const Index2& s : view.segments) seen.ends.emplace_back(view.x[s[0]], view.x[s[1]]);
    seen.values.assign(view.colour.values.begin(), view.colour.values.end());
    lines_seen.push_back(seen);
  }
  const Lines* of(const std::string& quantity) const {
    for (const Lines& l : lines_seen)
      if (l.quantity == quantity) return &l;
    return nullptr;
  }
  const Lines* of(MarkColour colour) const {
    for (const Lines& l : lines_seen)
      if (l.palette == colour && l.quantity.empty()) return &l;
    return nullptr;
  }
};

Recorder shown(const RigidScene& scene, const DebugDraw& wanted) {
  Recorder seen;
  Rigid::debug(scene.model, scene.state, scene.params, wanted, seen);
  return seen;
}

BodySpec plane(double tilt = 0) {
  BodySpec body;
  body.shapes[0].shape = Form::plane;
  body.motion = rigid::Motion::fixed;
  body.rotation = Vec3(0, 0, Real(tilt));
  return body;
}

/// At rest a body's speed is what rounding of a sub-step's changes leaves, and forces are right to that part:
/// some tens of eps for the few sums of a sub-step, of which the largest is the weight's.
constexpr double resting = 1e-3;

/// The marks of one contact of four points between a box of 2 x 1 x 1 m, 2000 kg, and a plane at y = 0.
void expect_box_stands(const RigidScene& scene, Index box, bool asleep) {
  const std::vector<ContactMark> marks = rigid::contact_marks(scene.model, scene.state, scene.params);
  ASSERT_EQ(marks.size(), 1u);
  const ContactMark& m = marks[0];
  EXPECT_EQ(m.body, box);
  EXPECT_EQ(m.asleep, asleep);
  ASSERT_EQ(m.count, 4);
  EXPECT_NEAR(m.normal.y(), 1, 1e-5);
  double total = 0;
  bool corner[4] = {};
  for (int q = 0; q < 4; ++q) {
    EXPECT_NEAR(std::abs(m.x[q].x()), 1, 0.01);
    EXPECT_NEAR(std::abs(m.x[q].z()), 0.5, 0.01);
    EXPECT_NEAR(m.x[q].y(), 0, 0.002);  // contacts leave an overlap of 1e-4 of the size
    corner[(m.x[q].x() > 0) + 2 * (m.x[q].z() > 0)] = true;
    EXPECT_GT(m.force[q], 0);
    total += double(m.force[q]);
  }
  EXPECT_TRUE(std::all_of(corner, corner + 4, [](bool seen) { return seen; }));
  const double weight = 2000 * 9.81;
  EXPECT_NEAR(total, weight, resting * weight);
  EXPECT_LT(m.friction.norm(), resting * weight);
  EXPECT_NEAR(m.centre.x(), 0, 0.01);
  EXPECT_NEAR(m.centre.z(), 0, 0.01);
}

TEST(RigidDebug, ABoxAtRestHasAMarkAtEachCornerAndTheirForcesAreItsWeight) {
  const BodySpec box = validation::box(Vec3(1, Real(0.5), Real(0.5)), Vec3(0, Real(0.5), 0));
  for (const bool box_first : {false, true}) {
    RigidScene scene(box_first ? Rigid::Spec{.bodies = {box, plane()}}
                               : Rigid::Spec{.bodies = {plane(), box}});
    EXPECT_TRUE(rigid::contact_marks(scene.model, scene.state, scene.params).empty());  // nothing yet
    for (int k = 0; k < 120; ++k) scene.step();
    expect_box_stands(scene, box_first ? 0 : 1, false);
    // What is drawn: four points, and lines upwards that are together as long as the weight asks for.
    const Recorder seen = shown(scene, {.contacts = true, .force_scale = Real(1e-4)});
    EXPECT_EQ(seen.points.size(), 4u);
    const Recorder::Lines* lines = seen.of("contact force");
    ASSERT_TRUE(lines && lines->ends.size() == 4 && lines->values.size() == 4);
    EXPECT_EQ(lines->look, Look::mark);
    double length = 0;
    for (const auto& [from, to] : lines->ends) length += double(to.y() - from.y());
    EXPECT_NEAR(length, 1e-4 * 2000 * 9.81, resting * 2);
  }
}

TEST(RigidDebug, ContactsOfSleepingBodiesAreShownToo) {
  RigidScene scene(
      {.bodies = {plane(), validation::box(Vec3(1, Real(0.5), Real(0.5)), Vec3(0, Real(0.5), 0))}});
  scene.params.sleeping = true;
  for (int k = 0; k < 180; ++k) scene.step();
  ASSERT_GE(scene.state.rest.island[1], 0);
  expect_box_stands(scene, 1, true);
}

TEST(RigidDebug, FrictionHoldsABoxOnASlope) {
  // tan 20 degrees is 0.36, friction 0.5.
  const double angle = 20 * pi / 180;
  BodySpec box = validation::box(Vec3::Constant(Real(0.5)),
                                 Vec3(Real(-0.5 * std::sin(angle)), Real(0.5 * std::cos(angle)), 0));
  box.rotation = Vec3(0, 0, 20);
  RigidScene scene({.bodies = {plane(20), box}});
  for (int k = 0; k < 120; ++k) scene.step();
  const std::vector<ContactMark> marks = rigid::contact_marks(scene.model, scene.state, scene.params);
  ASSERT_EQ(marks.size(), 1u);
  const double weight = 1000 * 9.81;
  const Vec3 up_the_slope(Real(std::cos(angle)), Real(std::sin(angle)), 0);
  EXPECT_NEAR(marks[0].friction.dot(up_the_slope), weight * std::sin(angle), resting * weight);
  double pressure = 0;
  for (int q = 0; q < marks[0].count; ++q) pressure += double(marks[0].force[q]);
  EXPECT_NEAR(pressure, weight * std::cos(angle), resting * weight);
  const Recorder seen = shown(scene, {.friction = true, .force_scale = Real(1e-4)});
  ASSERT_EQ(seen.lines_seen.size(), 1u);
  ASSERT_EQ(seen.lines_seen[0].ends.size(), 1u);
  const auto& [from, to] = seen.lines_seen[0].ends[0];
  EXPECT_NEAR((to - from).dot(up_the_slope), 1e-4 * weight * std::sin(angle), resting);
}

TEST(RigidDebug, MarksOfARollingBallAreWhereItTouches) {
  // A ball rolls down either slope of a roof, a mesh: the normal is the roof's, and does not turn with it.
  BodySpec roof;
  roof.motion = rigid::Motion::fixed;
  roof.shapes[0].shape = Form::mesh;
  roof.shapes[0].mesh.x = {{-4, 0, -4}, {4, 0, -4},   {4, 0, 4},   {-4, 0, 4}, {0, 1, -4},
                           {0, 1, 4},   {-4, -2, -4}, {4, -2, -4}, {4, -2, 4}, {-4, -2, 4}};
  roof.shapes[0].mesh.triangles = {{0, 3, 5}, {0, 5, 4}, {1, 4, 5}, {1, 5, 2}, {0, 4, 1}, {3, 2, 5},
                                   {6, 7, 8}, {6, 8, 9}, {0, 1, 7}, {0, 7, 6}, {1, 2, 8}, {1, 8, 7},
                                   {2, 3, 9}, {2, 9, 8}, {3, 0, 6}, {3, 6, 9}};
  for (const bool ball_first : {false, true})
    for (const double side : {-1.0, 1.0}) {
      const Vec3 normal = Vec3(Real(side), 4, 0).normalized();
      const BodySpec ball = test::ball(0.5, Vec3(Real(2 * side), Real(0.5), 0) + Real(0.5) * normal);
      RigidScene scene(ball_first ? Rigid::Spec{.bodies = {ball, roof}}
                                  : Rigid::Spec{.bodies = {roof, ball}});
      for (int k = 0; k < 30; ++k) scene.step();
      const auto b = static_cast<std::size_t>(ball_first ? 0 : 1);
      EXPECT_GT(scene.state.frames.w[b].norm(), 1);
      const std::vector<ContactMark> marks = rigid::contact_marks(scene.model, scene.state, scene.params);
      ASSERT_EQ(marks.size(), 1u);
      EXPECT_LT((marks[0].normal - normal).norm(), 1e-4);
      EXPECT_EQ(marks[0].body, Index(b));
      // Half the overlap or gap from the ball's lowest point; the slope is the same all along its way.
      EXPECT_LT((marks[0].x[0] - (scene.state.frames.x[b] - Real(0.5) * normal)).norm(), 0.002);
    }
}

TEST(RigidDebug, IslandsHangTogetherByContactsAndJoints) {
  // Two stacks, two bodies on a hinge in the air, and one alone.
  Rigid::Spec spec{.bodies = {plane()}};
  for (const double x : {0.0, 5.0})
    for (const double y : {0.5, 1.5}) spec.bodies.push_back(validation::unit_box(x, y, 0));
  for (const double x : {10.0, 12.0}) spec.bodies.push_back(validation::unit_box(x, 40, 0));
  spec.bodies.push_back(validation::unit_box(20, 60, 0));
  rigid::JointSpec hinge;
  hinge.type = rigid::JointType::hinge;
  hinge.body_a = "5", hinge.body_b = "6";
  hinge.anchor = Vec3(11, 40, 0);
  spec.joints = {hinge};
  RigidScene scene(spec);
  scene.params.sleeping = true;
  for (int k = 0; k < 20; ++k) scene.step();  // less than it takes to fall asleep
  const std::vector<Index> wanted = {-1, 1, 1, 3, 3, 5, 5, 7};
  EXPECT_EQ(rigid::islands(scene.model, scene.state), wanted);
  Recorder seen = shown(scene, {.islands = true});
  ASSERT_EQ(seen.tints.size(), 7u);
  for (std::size_t k = 0; k < 7; ++k) {
    EXPECT_GE(seen.tints[k].first, mark_island);
    EXPECT_LT(seen.tints[k].first, mark_sleeping_island);
    EXPECT_LT((seen.tints[k].second - scene.state.frames.x[k + 1]).norm(), 1e-6);
    for (std::size_t l = 0; l < 7; ++l)
      EXPECT_EQ(seen.tints[k].first == seen.tints[l].first, wanted[k + 1] == wanted[l + 1]);
  }
  // The stacks fall asleep: the same hues, darker. What falls stays awake.
  const std::vector<std::pair<int, Vec3>> before = seen.tints;
  for (int k = 0; k < 120; ++k) scene.step();
  EXPECT_EQ(rigid::islands(scene.model, scene.state), wanted);
  seen = shown(scene, {.islands = true});
  for (std::size_t k = 0; k < 7; ++k)
    EXPECT_EQ(seen.tints[k].first, before[k].first + (k < 4 ? mark_sleeping_island - mark_island : 0));
}

TEST(RigidDebug, BoxesContainWhatIsDrawnNowAndInTheNextStep) {
  Rigid::Spec spec = validation::bin();
  spec.bodies.resize(205);
  RigidScene scene(spec);
  for (int k = 0; k < 40; ++k) scene.step();
  const std::vector<Aabb> boxes = rigid::broad_boxes(scene.model, scene.state, scene.params);
  ASSERT_EQ(boxes.size(), scene.model.colliders.size());
  const auto expect_inside = [&] {
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      const Rigid::Collider& c = scene.model.colliders[k];
      const Pose body = scene.state.frames.pose(c.body);
      for (const Vec3& x : scene.model.meshes[k].mesh->x)
        EXPECT_TRUE(boxes[k].grown(Real(1e-5)).contains(body * (c.local * x))) << k;
    }
  };
  expect_inside();
  scene.step();
  expect_inside();
  const Recorder seen = shown(scene, {.boxes = true});
  ASSERT_EQ(seen.lines_seen.size(), 1u);
  EXPECT_EQ(seen.lines_seen[0].ends.size(), 12 * boxes.size());
}

TEST(RigidDebug, JointsShowAnchorsLimitsAndWhatTheyCarry) {
  // A box of 1000 kg hangs still from the world by a hinge at its top.
  Rigid::Spec spec{.bodies = {validation::unit_box(0, 2, 0)}};
  rigid::JointSpec hinge;
  hinge.type = rigid::JointType::hinge;
  hinge.body_b = "0";
  hinge.anchor = Vec3(0, Real(2.5), 0);
  hinge.axis = Vec3(0, 0, 1), hinge.second_axis = Vec3(1, 0, 0);
  hinge.motion.mode = rigid::AxisMode::limited;
  hinge.motion.lower = -30, hinge.motion.upper = 60;
  spec.joints = {hinge};
  RigidScene scene(spec);
  for (int k = 0; k < 10; ++k) scene.step();
  const Real scale = Real(1e-4);
  Recorder seen = shown(scene, {.joints = true, .force_scale = scale});
  const Vec3 anchor(0, Real(2.5), 0);
  ASSERT_EQ(seen.points.size(), 2u);
  for (const Vec3& x : seen.points) EXPECT_LT((x - anchor).norm(), 1e-4);
  const Recorder::Lines* force = seen.of("joint force");
  ASSERT_TRUE(force && force->ends.size() == 1);
  EXPECT_NEAR(force->values[0], 9810, 9810 * resting);
  EXPECT_LT((force->ends[0].second - anchor - Vec3(0, Real(9810) * scale, 0)).norm(), 1e-3);
  // The axis, then a sector from -30 to 60 degrees from x, counter-clockwise about z.
  const Recorder::Lines* axis = seen.of(mark_red);
  ASSERT_TRUE(axis && axis->ends.size() == 1);
  const Vec3 along = axis->ends[0].second - axis->ends[0].first;
  EXPECT_LT((along.normalized() - Vec3::UnitZ()).norm(), 1e-5);
  const Recorder::Lines* limits = seen.of(mark_yellow);
  ASSERT_TRUE(limits);
  double low = 1e9, high = -1e9;
  for (const auto& [a, b] : limits->ends)
    for (const Vec3& x : {a, b}) {
      const Vec3 from = x - anchor;
      if (from.norm() < 1e-4) continue;
      EXPECT_NEAR(from.norm(), along.norm(), 1e-4);
      low = std::min(low, std::atan2(double(from.y()), double(from.x())) * 180 / pi);
      high = std::max(high, std::atan2(double(from.y()), double(from.x())) * 180 / pi);
    }
  EXPECT_NEAR(low, -30, 0.01);
  EXPECT_NEAR(high, 60, 0.01);
  // The needle turns with the body.
  scene.state.frames.w[0] = Vec3(0, 0, 2);
  for (int k = 0; k < 15; ++k) scene.step();
  seen = shown(scene, {.joints = true});
  const Recorder::Lines* needle = seen.of(mark_magenta);
  ASSERT_TRUE(needle && needle->ends.size() == 1);
  const Vec3 turned = scene.state.frames.rotation(0) * Vec3::UnitX();
  EXPECT_LT(turned.x(), 0.99);  // it did turn
  EXPECT_LT(((needle->ends[0].second - needle->ends[0].first).normalized() - turned).norm(), 1e-3);
}

TEST(RigidDebug, NeedlesOfBallsAndSixAxesPointWhereTheBodiesDo) {
  for (const bool ball : {true, false}) {
    Rigid::Spec spec{.bodies = {validation::unit_box(0, 2, 0)}};
    rigid::JointSpec joint;
    joint.type = ball ? rigid::JointType::ball : rigid::JointType::six_axes;
    joint.body_b = "0";
    joint.anchor = Vec3(0, 2, 0);
    joint.cone = 100, joint.twist = 90;
    for (rigid::AxisSpec* axis : {&joint.turn_x, &joint.turn_y, &joint.turn_z}) {
      axis->mode = rigid::AxisMode::limited;
      axis->lower = -80, axis->upper = 80;
    }
    spec.joints = {joint};
    RigidScene scene(spec);
    const Quat q = rotation_from_degrees(Vec3(25, -35, 40));
    scene.state.frames.q[0] = (q * scene.state.frames.rotation(0)).coeffs();
    const Recorder seen = shown(scene, {.joints = true});
    const Recorder::Lines* needles = seen.of(mark_magenta);
    ASSERT_TRUE(needles);
    const auto direction = [&](std::size_t k) {
      return Vec3((needles->ends[k].second - needles->ends[k].first).normalized());
    };
    if (ball) {
      // B's first axis, and about it B's second.
      ASSERT_EQ(needles->ends.size(), 2u);
      EXPECT_LT((direction(0) - q * Vec3::UnitX()).norm(), 1e-5);
      EXPECT_LT((direction(1) - q * Vec3::UnitY()).norm(), 1e-5);
    } else {
      // A's second axis turned by the first angle; the last angle brings B's first axis where it is.
      ASSERT_EQ(needles->ends.size(), 3u);
      const double first = 25 * pi / 180;
      EXPECT_LT((direction(0) - Vec3(0, Real(std::cos(first)), Real(std::sin(first)))).norm(), 1e-5);
      EXPECT_LT((direction(2) - q * Vec3::UnitX()).norm(), 1e-5);
    }
  }
}

TEST(RigidDebug, ShapesAreOutlinedAndCentresHaveAxes) {
  RigidScene scene({.bodies = {plane(), validation::floor_box(), validation::unit_box(0, 3, 0)}});
  const Recorder shapes = shown(scene, {.shapes = true});
  ASSERT_TRUE(shapes.of(mark_black) && shapes.of(mark_grey));
  EXPECT_EQ(shapes.of(mark_black)->ends.size(), 12u);
  EXPECT_EQ(shapes.of(mark_grey)->ends.size(), 12u);  // planes have no end
  EXPECT_EQ(shapes.of(mark_black)->look, Look::outline);
  for (const auto& [a, b] : shapes.of(mark_black)->ends) EXPECT_NEAR((b - a).norm(), 1, 1e-5);
  const Recorder centres = shown(scene, {.centres = true});
  ASSERT_EQ(centres.points.size(), 1u);
  EXPECT_LT((centres.points[0] - Vec3(0, 3, 0)).norm(), 1e-6);
  EXPECT_EQ(centres.lines_seen.size(), 3u);
}

TEST(RigidDebug, WithoutAWishNothingIsDrawn) {
  RigidScene scene(validation::stack(3));
  for (int k = 0; k < 5; ++k) scene.step();
  EXPECT_EQ(shown(scene, {}).calls, 0);
}

}}  // namespace plenum
