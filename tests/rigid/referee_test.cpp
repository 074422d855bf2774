// The bench's judge of overlap, by closed forms.
#include "referee.h"

#include <gtest/gtest.h>

#include <numbers>

#include "../../validation/rigid_scenes.h"

namespace plenum { namespace {

using bench::BodyPose;
using bench::Solid;
using Vec = Vector3<double>;

Solid box(double x, double y, double z) {
  Solid solid;
  for (int k = 0; k < 8; ++k) solid.points.push_back(Vec(k & 1 ? x : -x, k & 2 ? y : -y, k & 4 ? z : -z));
  return solid;
}
BodyPose at(double x, double y, double z, double turn = 0) {
  return {Vec(x, y, z), Quaternion<double>(Eigen::AngleAxisd(turn, Vec::UnitZ()))};
}

TEST(Referee, KnowsBallsAndCapsules) {
  const Solid ball{{Vec::Zero()}, 0.5}, capsule{{Vec(0, -1, 0), Vec(0, 1, 0)}, 0.25};
  EXPECT_NEAR(overlap(ball, at(0, 0, 0), ball, at(0.9, 0, 0)), 0.1, 1e-12);
  EXPECT_NEAR(overlap(ball, at(0, 0, 0), ball, at(0, 3, 4)), -4, 1e-12);
  EXPECT_NEAR(overlap(capsule, at(0, 0, 0), ball, at(0.7, 0.3, 0)), 0.05, 1e-12);
  EXPECT_NEAR(overlap(capsule, at(0, 0, 0), ball, at(0, 1.7, 0)), 0.05, 1e-12);
  EXPECT_NEAR(overlap(capsule, at(0, 0, 0), capsule, at(0, 0, 0.4, std::numbers::pi / 2)), 0.1, 1e-12);
}

TEST(Referee, KnowsBoxes) {
  const Solid cube = box(0.5, 0.5, 0.5);
  EXPECT_NEAR(overlap(cube, at(0, 0, 0), cube, at(0.3, 0.9, -0.2)), 0.1, 1e-12);
  EXPECT_NEAR(overlap(cube, at(0, 0, 0), cube, at(0.3, 1.25, -0.2)), -0.25, 1e-12);
  EXPECT_NEAR(overlap(cube, at(0, 0, 0), cube, at(2, 2, 0)), -std::sqrt(2.0), 1e-9);
  // An edge into a face: half the diagonal reaches down.
  const double reach = std::sqrt(0.5);
  EXPECT_NEAR(overlap(cube, at(0, 0, 0), cube, at(0, 0.5 + reach - 0.05, 0, std::numbers::pi / 4)), 0.05,
              1e-9);
  // Two edges across each other, turned by 45 degrees about z and about x: the overlap is along y.
  const BodyPose low{Vec::Zero(), Quaternion<double>(Eigen::AngleAxisd(std::numbers::pi / 4, Vec::UnitZ()))};
  const BodyPose high{Vec(0, 2 * reach - 0.03, 0),
                      Quaternion<double>(Eigen::AngleAxisd(std::numbers::pi / 4, Vec::UnitX()))};
  EXPECT_NEAR(overlap(cube, low, cube, high), 0.03, 1e-9);
}

TEST(Referee, CountsPairsThatMayMove) {
  rigid::Spec spec;
  rigid::BodySpec body;
  body.motion = rigid::Motion::fixed;
  spec.bodies = {body, body, rigid::BodySpec{}};
  const bench::Overlaps sum = bench::overlaps(spec, {at(0, 0, 0), at(0.5, 0, 0), at(0, 0.8, 0)});
  EXPECT_EQ(sum.pairs, 2u);
  EXPECT_NEAR(sum.mean, 0.2, 1e-12);
  EXPECT_NEAR(sum.largest, 0.2, 1e-12);
}

TEST(Referee, KnowsGapsAndStretchOfChains) {
  // Hanging from (0, 30, 0); three bodies, the last a ball of 0.25 m.
  std::vector<BodyPose> poses = {at(0, 29.9, 0), at(0, 29.7, 0), at(0, 29.35, 0)};
  EXPECT_NEAR(validation::chain_errors(poses).gap, 0, 1e-12);
  EXPECT_NEAR(validation::chain_errors(poses).stretch, 0, 1e-12);
  poses[2].position.y() -= 0.065;
  EXPECT_NEAR(validation::chain_errors(poses).gap, 0.065, 1e-12);
  EXPECT_NEAR(validation::chain_errors(poses).stretch, 0.1, 1e-12);
  // A link that turns by 60 degrees about its middle leaves its ends, a chord of 0.1 m, on both sides.
  poses[2].position.y() += 0.065;
  poses[1].rotation = Eigen::AngleAxisd(std::numbers::pi / 3, Vec::UnitX());
  EXPECT_NEAR(validation::chain_errors(poses).gap, 0.1, 1e-12);
  EXPECT_NEAR(validation::chain_errors(poses).stretch, 0, 1e-12);
  // The scene as it begins, in single precision.
  for (const bool level : {false, true}) {
    const validation::RigidScene scene(validation::chain(level));
    EXPECT_LT(validation::chain_errors(scene).gap, 1e-5);
    EXPECT_LT(std::abs(validation::chain_errors(scene).stretch), 1e-6);
  }
}

}  // namespace
}  // namespace plenum
