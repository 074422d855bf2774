#include "plenum/solvers/springs/supports.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace plenum { namespace {

TEST(SupportSet, FrictionOfWhatIsHardlyTouchedIsFinite) {
  // A mass falls along a wall and comes nearer to it at 1e-10 to 1e-38 m/s. The squares of the pushes of
  // friction are below what single precision holds, the least of which is 1.4e-45.
  constexpr Real dt = Real(1) / 60, friction = Real(0.3);
  for (int exponent = -10; exponent >= -38; exponent -= 2) {
    const Real approach = static_cast<Real>(std::pow(10.0, exponent));
    Support wall;
    wall.normal = Vec3(1, 0, 0);
    wall.friction = friction;
    std::array supports = {wall};
    const std::vector<Vec3> x = {Vec3::Zero()}, v = {Vec3(-approach, -1, 0)};
    const std::vector<Real> inverse_mass = {1}, pressed = {0};
    SupportSet set;
    set.take(supports, x);
    set.begin(x, v, inverse_mass, pressed, Vec3(0, Real(-9.81), 0), 0, dt, false);
    int count = 0;
    set.for_each_friction([&](Index, const Mat3& drag, const Vec3& impulse) {
      ++count;
      EXPECT_TRUE(drag.allFinite()) << exponent;
      EXPECT_NEAR(impulse.y() / (friction * approach), 1, 1e-3) << exponent;
      // None along the push, and that of the slip across it.
      EXPECT_NEAR(drag(1, 1) / (friction * approach), 0, 1e-5) << exponent;
      EXPECT_GT(drag(2, 2) / (friction * approach), 0.5) << exponent;
    });
    EXPECT_EQ(count, 1) << exponent;
  }
}

}}  // namespace plenum
