// Ropes that are longer than the way between their ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "built.h"
#include "plenum/base/error.h"

namespace {

using namespace plenum;
using plenum_test::Built;

constexpr double gravity = 9.81;

PbdPart slack_rope(bool first, bool last) {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3(-1, 2, 0), rope.to = Vec3(1, 2, 0);
  rope.segments = 40, rope.slack = Real(0.06), rope.linear_density = Real(0.5);
  for (const auto& [is_held, where] :
       {std::pair(first, ParticlePin::Where::first), {last, ParticlePin::Where::last}})
    if (is_held) rope.pins.push_back({.where = where});
  return rope;
}

/// How far segments are from their rest length at most, relative to it.
double stretched_by(const Built& b) {
  double most = 0;
  for (std::size_t e = 0; e < b.model.edges.size(); ++e) {
    const double length =
        (b.x(std::size_t(b.model.edges[e][1])) - b.x(std::size_t(b.model.edges[e][0]))).norm();
    most = std::max(most, std::abs(length / double(b.model.rest_length[e]) - 1));
  }
  return most;
}

double fastest_of(const Built& b) {
  double most = 0;
  for (const Vec3& v : b.state.particles.v) most = std::max(most, double(v.norm()));
  return most;
}

constexpr double length_error = sizeof(Real) == 4 ? 2e-5 : 1e-9;

// Nothing is faster than what falls freely: built straight, ropes were shot out by as much more as steps were
// short.
TEST(Slack, RopesAreNotShotOut) {
  for (const bool first : {false, true})
    for (const bool last : {false, true})
      for (const Real turn : {Real(0), Real(40)}) {
        PbdPart rope = slack_rope(first, last);
        rope.rotation = Vec3(0, turn, 0);
        for (const int fps : {60, 1000}) {
          Built b(rope);
          EXPECT_LT(stretched_by(b), length_error);
          for (int k = 1; k * 20 <= fps; ++k) {
            b.step(1 / Real(fps));
            EXPECT_LT(fastest_of(b), 1.05 * gravity * k / fps) << first << last << " " << fps << " " << k;
          }
        }
      }
}

// Hung by both ends they begin where they come to rest.
TEST(Slack, HungRopesBeginAtRest) {
  Built b(slack_rope(true, true));
  const std::vector<Vec3> start = b.state.particles.x;
  b.params.damping = 1, b.params.substeps = 40;
  b.run(600);
  double moved = 0;
  for (std::size_t i = 0; i < b.model.mass.size(); ++i)
    moved = std::max(moved, (b.x(i) - start[i].cast<double>()).norm());
  EXPECT_LT(moved, 0.01);  // of a sag of 0.3 m
}

// What is held stays on the way, where bodies are put for it: they have no levers.
TEST(Slack, RopesStayOnTheirWayWhereTheyAreHeld) {
  PbdSpec spec{.parts = {slack_rope(true, true)}};
  PbdPart& rope = spec.parts[0];
  for (int k = 0; k < 4; ++k) {
    const Index i = Index(5 + 10 * k);
    spec.bodies.push_back({.name = "plank" + std::to_string(k)});
    PbdBody& plank = spec.bodies.back();
    plank.half_extents = Vec3(Real(0.04), Real(0.01), Real(0.2)),
    plank.position = Vec3(Real(-1 + 0.05 * (i + 0.5)), 2, 0);
    rope.attachments.push_back(
        {.particles = {.where = ParticlePin::Where::indices, .indices = {i, i + 1}}, .body = plank.name});
  }
  Built b(spec);
  EXPECT_LT(stretched_by(b), length_error);
  for (int k = 0; k < 4; ++k) {
    const std::size_t i = std::size_t(5 + 10 * k);
    for (const std::size_t j : {i, i + 1}) {
      EXPECT_NEAR(b.x(j).y(), 2, 1e-6);
      EXPECT_NEAR(b.x(j).x(), -1 + 0.05 * (double(i) + 0.5), 0.03);
    }
  }
  for (int k = 1; k <= 50; ++k) {
    b.step(Real(0.001));
    EXPECT_LT(fastest_of(b), 1.2 * gravity * k / 1000) << k;  // heavy planks draw what is between them along
  }
}

// Along curves they wind about them; and where everything is held, or there are few segments, lengths hold.
TEST(Slack, RopesAreAsLongAsTheyAreWhateverHoldsThem) {
  PbdPart curve = slack_rope(true, true);
  curve.through = {Vec3(0, 0, 0), Vec3(1, 1, 0), Vec3(2, 0, 1), Vec3(2, 3, 1)};
  EXPECT_LT(stretched_by(Built(curve)), length_error);
  PbdPart held = slack_rope(false, false);
  held.pins.push_back({.where = ParticlePin::Where::all});
  EXPECT_LT(stretched_by(Built(held)), length_error);
  for (const int segments : {2, 3, 9}) {
    PbdPart few = slack_rope(true, segments > 2);
    few.segments = segments;
    EXPECT_LT(stretched_by(Built(few)), length_error) << segments;
  }
  PbdPart upright = slack_rope(true, true);
  upright.rotation = Vec3(0, 0, 90);
  EXPECT_LT(stretched_by(Built(upright)), length_error);
  PbdPart coiled = slack_rope(false, false);
  coiled.slack = 10;
  EXPECT_LT(stretched_by(Built(coiled)), length_error);
}

PbdBody led_box(const Vec3& half_extents, const Vec3& position) {
  PbdBody box{.name = "box"};
  box.half_extents = half_extents, box.position = position, box.motion = PbdBody::Motion::led;
  return box;
}

/// [m] from a box, negative inside: the least of many points of each segment.
double least_distance(const Built& b, const PbdBody& box) {
  constexpr int points = 200;
  double least = 1e9;
  for (const Index2& e : b.model.edges)
    for (int k = 0; k <= points; ++k) {
      const Vector3<double> x =
          b.x(std::size_t(e[0])) + (b.x(std::size_t(e[1])) - b.x(std::size_t(e[0]))) * (double(k) / points);
      const Vector3<double> out =
          (x - box.position.cast<double>()).cwiseAbs() - box.half_extents.cast<double>();
      least = std::min(least, out.cwiseMax(0).norm() + std::min(out.maxCoeff(), 0.0));
    }
  return least;
}

/// Where it hangs with nothing in its way.
std::vector<Vec3> hung_free(const PbdPart& rope) {
  return Built(rope).state.particles.x;
}

// Table tops thinner than segments are long, posts, and what is beneath ends that lie on it.
TEST(Slack, RopesBeginClearOfBodies) {
  const double radius = double(slack_rope(true, true).line_radius);
  struct Case {
    PbdBody box;
    double room;  // [m] of the ends
  };
  for (const auto& [box, room] : {Case{led_box({2, Real(0.005), 2}, {0, Real(1.8), 0}), radius},
                                  Case{led_box({2, Real(0.5), 2}, {0, Real(1.5), 0}), 0},
                                  Case{led_box({Real(0.05), 1, Real(0.05)}, {0, Real(0.9), 0}), radius}})
    for (const bool last : {true, false})
      for (const Real turn : {Real(0), Real(30)}) {
        PbdPart rope = slack_rope(true, last);
        rope.rotation = Vec3(0, turn, 0), rope.position = Vec3(Real(0.1), 0, 0);
        Built b(PbdSpec{.parts = {rope}, .bodies = {box}});
        EXPECT_GT(least_distance(b, box), room - 1e-4);
        EXPECT_LT(stretched_by(b), length_error);
      }
}

TEST(Slack, RopesFallOntoTablesThatTheyBeginAbove) {
  const PbdBody box = led_box({2, Real(0.02), 2}, {0, Real(1.8), 0});
  Built b(PbdSpec{.parts = {slack_rope(true, true)}, .bodies = {box}});
  b.params.damping = 1;
  for (int k = 1; k <= 120; ++k) {
    b.step();
    EXPECT_LT(fastest_of(b), std::sqrt(2 * gravity * 0.2) * 1.2) << k;
    for (std::size_t i = 0; i < b.model.mass.size(); ++i) ASSERT_GT(b.x(i).y(), 1.82) << k << " " << i;
  }
}

// Down, if that is free, if nothing is, and through what it hangs on.
TEST(Slack, RopesHangDownElse) {
  const PbdPart rope = slack_rope(true, true);
  const std::vector<Vec3> down = hung_free(rope);
  const auto with = [&](const PbdBody& body, const PbdPart& part) {
    return Built(PbdSpec{.parts = {part}, .bodies = {body}}).state.particles.x;
  };
  EXPECT_EQ(with(led_box({2, Real(0.5), 2}, {0, Real(1), 0}), rope), down);
  PbdBody ball{.name = "ball", .shape = PbdBody::Form::sphere, .position = Vec3(0, 2, 0)};
  ball.radius = Real(0.9);
  EXPECT_EQ(with(ball, rope), down);
  PbdPart hung = rope;
  hung.pins.pop_back();
  hung.attachments.push_back({.particles = {.where = ParticlePin::Where::last}, .body = "box"});
  EXPECT_EQ(with(led_box({2, Real(0.005), 2}, {0, Real(1.8), 0}), hung), down);
}

// It would begin pressed together, and throw what it holds.
TEST(Slack, OneSegmentHasNone) {
  PbdPart rope = slack_rope(true, true);
  rope.segments = 1;
  try {
    Built b(rope);
    ADD_FAILURE() << "was built, with segments off their length by " << stretched_by(b);
  } catch (const Error& error) {
    EXPECT_EQ(error.problem().key, "parts[0].segments");
    EXPECT_EQ(error.problem().value, "1");
    EXPECT_FALSE(error.problem().allowed.empty());
    EXPECT_FALSE(error.problem().remedy.empty());
  }
  for (const Real slack : {Real(0), Real(-0.5)}) {
    rope.slack = slack;
    EXPECT_NO_THROW(Built{rope});
  }
}

}  // namespace
