// Edges that slide past each other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "plenum/solvers/rigid/assemblies.h"
#include "plenum/solvers/rigid/detail/contact_batch.h"
#include "rigid/scene_laws.h"

namespace plenum { namespace {

using detail::Wide;
using detail::Wide3;
using test::D3;

Wide3 wide(const Vec3& a) {
  return {detail::fill(a.x()), detail::fill(a.y()), detail::fill(a.z())};
}

// From one crossing to the next it is along A's edge and then along B's.
TEST(Crossing, IsWhereBothEdgesHaveGone) {
  std::mt19937 random(5);
  std::uniform_real_distribution<Real> u(-1, 1);
  int crossed = 0;
  for (int k = 0; k < 1000; ++k) {
    const Vec3 a = Vec3(u(random), u(random), u(random)).normalized(),
               b = Vec3(u(random), u(random), u(random)).normalized();
    const Vec3 across = a.cross(b);
    if (across.norm() < Real(0.02)) continue;
    const Vec3 n = (k % 2 ? 1 : -1) * across.normalized();
    Vec3 slid(u(random), u(random), u(random));
    slid -= slid.dot(n) * n;
    const auto [along_a, along_b] =
        detail::follow_crossing(wide(n), wide(a), wide(b), wide(slid), detail::fill(Real(1e3)));
    const Vec3 met = along_a[0] * a + along_b[0] * b;
    // Ways along edges are slid / sine, and their error is rounding / sine of what slid was cut from.
    EXPECT_LT((met - slid).norm(), 16 * std::numeric_limits<Real>::epsilon() / across.squaredNorm()) << k;
    ++crossed;
  }
  EXPECT_GT(crossed, 900);
}

TEST(Crossing, GoesNoFartherThanItsReachHoweverFlatItIs) {
  const Vec3 a(1, 0, 0), n(0, 0, 1), slid(Real(0.1), Real(0.1), 0);
  for (const Real angle :
       {Real(0), Real(1e-30), Real(1e-12), Real(1e-4), Real(0.011), Real(-0.011), Real(3.1)}) {
    const Vec3 b(std::cos(angle), std::sin(angle), 0);
    const auto [along_a, along_b] =
        detail::follow_crossing(wide(n), wide(a), wide(b), wide(slid), detail::fill(Real(0.5)));
    EXPECT_LE(std::abs(along_a[0]), Real(0.5)) << angle;
    EXPECT_LE(std::abs(along_b[0]), Real(0.5)) << angle;
  }
}

// Cards cross and slide along each other where a ball strikes their house: 30 houses, struck at 4 to 64 m/s.
TEST(Crossing, HousesOfCardsAreStruckAndGainNothing) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> u(-1, 1);
  for (int k = 0; k < 30; ++k) {
    rigid::AssemblySpec house;
    house.type = rigid::AssemblyType::card_house;
    house.rows = 3 + k % 3;
    house.half_extents = Vec3(Real(0.006), Real(0.17), Real(0.12));
    house.lean = 22, house.density = 600, house.friction = Real(0.7);
    rigid::Spec spec = rigid::assembled({.bodies = {validation::floor_box()}, .assemblies = {house}});
    rigid::BodySpec thrown =
        test::ball(0.11, Vec3(Real(-1.5), Real(0.6 + 0.3 * u(random)), Real(0.2 * u(random))),
                   Vec3(Real(4 + 10 * (k % 7)), 1, Real(u(random))));
    thrown.angular_velocity = Vec3(Real(20 * u(random)), Real(20 * u(random)), Real(20 * u(random)));
    spec.bodies.push_back(thrown);
    validation::RigidScene scene(spec);
    const double start = test::energy(scene);
    for (int step = 0; step < 120; ++step) {
      scene.step();
      ASSERT_LE(test::energy(scene), 1.001 * start) << "house " << k << ", step " << step;
    }
  }
}

}}  // namespace plenum
