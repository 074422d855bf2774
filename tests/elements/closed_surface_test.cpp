// The volume of closed surfaces: gradients, what they leave unmoved, and gases.
#include "plenum/elements/closed_surface.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace plenum { namespace {

using P = Vector3<double>;

/// An octahedron, bent out of shape, and the vertices around each of its own.
struct Octahedron {
  std::vector<P> x = {P(1, 0.1, 0),  P(-1.2, 0, 0.2), P(0, 0.9, 0.1),
                      P(0.1, -1, 0), P(0, 0.2, 1.3),  P(0, 0, -0.8)};
  std::vector<std::vector<int>> rings = {{2, 4, 3, 5}, {2, 5, 3, 4}, {0, 5, 1, 4},
                                         {0, 4, 1, 5}, {0, 2, 1, 3}, {0, 3, 1, 2}};
  P gradient(int v) const {
    return volume_gradient<P>(x[std::size_t(v)], rings[std::size_t(v)],
                              [&](int j) -> P { return x[std::size_t(j)]; });
  }
  double volume() const {
    const int t[8][3] = {{0, 2, 4}, {0, 4, 3}, {0, 3, 5}, {0, 5, 2},
                         {1, 4, 2}, {1, 3, 4}, {1, 5, 3}, {1, 2, 5}};
    double sum = 0;
    for (const auto& c : t)
      sum += x[std::size_t(c[0])].dot(x[std::size_t(c[1])].cross(x[std::size_t(c[2])])) / 6;
    return sum;
  }
};

TEST(ClosedSurface, GradientsAreThoseOfTheVolume) {
  Octahedron o;
  ASSERT_GT(o.volume(), 1);
  for (int v = 0; v < 6; ++v)
    for (int c = 0; c < 3; ++c) {
      constexpr double step = 1e-5;
      double& at = o.x[std::size_t(v)][c];
      const double here = at;
      at = here + step;
      const double after = o.volume();
      at = here - step;
      const double before = o.volume();
      at = here;
      EXPECT_NEAR((after - before) / (2 * step), o.gradient(v)[c], 1e-10);
    }
}

TEST(ClosedSurface, PushesAndTurnsNothingAsAWhole) {
  Octahedron o;
  P push = P::Zero(), turn = P::Zero();
  double volume = 0;
  for (int v = 0; v < 6; ++v) {
    const P g = o.gradient(v);
    push += g, turn += o.x[std::size_t(v)].cross(g), volume += o.x[std::size_t(v)].dot(g) / 3;
  }
  EXPECT_LT(push.norm(), 1e-15);
  EXPECT_LT(turn.norm(), 1e-15);
  EXPECT_NEAR(volume, o.volume(), 1e-15);
}

TEST(ClosedSurface, GasKeepsPressureTimesVolume) {
  for (const double v : {0.2, 1.0, 5.0}) EXPECT_NEAR((gas_pressure(v, 3, 1) + 1) * v, 3, 1e-14);
}

// However little yields, and from whatever volume, turned inside out too.
TEST(ClosedSurface, GasIsInBalanceWithWhatYields) {
  for (const double free : {-2.0, 0.0, 0.1, 3.0})
    for (const double yield : {1e-9, 1.0, 1e9})
      for (const double amount : {1e-3, 3.0}) {
        const double v = gas_volume(free, yield, amount, 1);
        ASSERT_GT(v, 0);
        EXPECT_NEAR(free + yield * gas_pressure(v, amount, 1), v,
                    1e-9 * (std::abs(free) + yield + yield * amount / v))
            << free << " " << yield << " " << amount;
      }
  EXPECT_EQ(gas_volume(-1, 1, 0, 1), 0);  // what presses from outside alone leaves nothing
  EXPECT_EQ(gas_volume(3, 1, 0, 1), 2);
}

}}  // namespace plenum
