#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plenum/geometry/chains.h"

namespace {

using namespace plenum;
using D3 = Vector3<double>;

constexpr double joint_error = sizeof(Real) == 4 ? 3e-6 : 1e-11;  // [m]

void expect_chain(const std::vector<Vec3>& x, const Vec3& from, const Vec3& to, int links, Real link) {
  ASSERT_EQ(x.size(), std::size_t(links) + 1);
  EXPECT_EQ(x.front(), from);
  EXPECT_LT(double((x.back() - to).norm()), joint_error);
  for (std::size_t i = 1; i < x.size(); ++i)
    EXPECT_NEAR(double((x[i] - x[i - 1]).norm()), double(link), joint_error) << i;
}

// Tensions along the links of a chain at rest balance the weight of each joint: across, all links pull alike,
// and along gravity each by one weight more than the one before.
TEST(Chains, HangAtRest) {
  const Vec3 from(-1, 2, Real(0.5)), down(0, -1, 0);
  for (const Vec3& to : {Vec3(1, 2, Real(0.5)), Vec3(Real(0.5), 1, -1), Vec3(0, 4, 1)})
    for (const double slack : {1e-3, 0.06, 1.0, 10.0})
      for (const int links : {2, 3, 7, 64}) {
        const Real link = Real(double((to - from).norm()) * (1 + slack) / links);
        const std::vector<Vec3> x = hanging_chain(from, to, links, link, down);
        expect_chain(x, from, to, links, link);
        if (slack > 1 || (slack == 1 && links < 7)) continue;  // upright links have no slope, and few fold
        const auto slope = [&](std::size_t i) {
          const D3 along = (x[i + 1] - x[i]).cast<double>();
          return -along.y() / std::hypot(along.x(), along.z());
        };
        const double fall = (slope(0) - slope(x.size() - 2)) / (links - 1);
        EXPECT_GT(fall, 0);
        for (std::size_t i = 1; i + 1 < x.size(); ++i)
          EXPECT_NEAR(slope(i - 1) - slope(i), fall, 0.02 * fall + 20 * joint_error / double(link))
              << links << " " << slack;
      }
}

// A thread of length L between ends at one height, D apart, sags by A (cosh(D / 2A) - 1), L = 2A sinh(D /
// 2A).
TEST(Chains, OfManyLinksSagAsThreadsDo) {
  const double a = 0.7, length = 2 * a * std::sinh(1 / a);
  const int links = 400;
  const std::vector<Vec3> x =
      hanging_chain(Vec3(-1, 0, 0), Vec3(1, 0, 0), links, Real(length / links), Vec3(0, -1, 0));
  double lowest = 0;
  for (const Vec3& at : x) lowest = std::min(lowest, double(at.y()));
  EXPECT_NEAR(-lowest, a * (std::cosh(1 / a) - 1), 1e-4);
}

TEST(Chains, BetweenEndsAboveEachOtherHangBeside) {
  for (const Vec3& to : {Vec3(0, 1, 0), Vec3(0, -1, 0), Vec3(Real(0.01), -1, 0)}) {
    const Real link = (to.norm() * Real(1.1)) / 20;
    const std::vector<Vec3> x = hanging_chain(Vec3::Zero(), to, 20, link, Vec3(0, -1, 0));
    expect_chain(x, Vec3::Zero(), to, 20, link);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = i + 2; j < x.size(); ++j) EXPECT_GT((x[i] - x[j]).norm(), link) << i << " " << j;
  }
}

TEST(Chains, LieOnArcs) {
  const Vec3 from(0, 1, 0), to(2, 1, 0), side(0, 0, 1);
  for (const double slack : {1e-4, 0.1, 2.0})
    for (const int links : {2, 9}) {
      const Real link = Real(2 * (1 + slack) / links);
      const std::vector<Vec3> x = arc_chain(from, to, links, link, side);
      expect_chain(x, from, to, links, link);
      // Equal chords of a circle turn by equal angles, and all to one side.
      for (std::size_t i = 1; i + 1 < x.size(); ++i) {
        const D3 a = (x[i] - x[i - 1]).cast<double>(), b = (x[i + 1] - x[i]).cast<double>();
        const D3 first = (x[1] - x[0]).cast<double>(), second = (x[2] - x[1]).cast<double>();
        EXPECT_NEAR(std::atan2(a.cross(b).y(), a.dot(b)),
                    std::atan2(first.cross(second).y(), first.dot(second)), 100 * joint_error);
        EXPECT_GT(double(x[i].z()), 0);
      }
    }
}

}  // namespace
