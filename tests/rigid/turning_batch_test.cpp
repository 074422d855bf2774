// Bodies that are turned together turn as each would alone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/turning.h"

namespace plenum { namespace {

using detail::TurningBatch;

struct Body {
  Vec4 q;
  Vec3 inertia, w;
};

// Slow and fast ones, whose turns take from one to all of the parts there may be.
std::vector<Body> bodies(bool even) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<Body> all;
  for (std::size_t k = 0; k < TurningBatch::lanes; ++k) {
    Body b;
    b.q = Quat(Quaternion<double>(u(random), u(random), u(random), u(random)).normalized().cast<Real>())
              .coeffs();
    b.inertia = even ? Vec3(2, 2, 2) : Vec3(1, Real(2 + u(random) / 2), Real(2.7));
    b.w = Vec3(Vector3<double>(u(random), u(random), u(random)).cast<Real>()) *
          std::pow(Real(10), Real(int(k) - 4));
    all.push_back(b);
  }
  return all;
}

// Places and velocities are rounded to Real, and a quaternion in Real is off one by as much.
TEST(TurningBatch, TurnsEachBodyAsItWouldAloneWhateverElseIsInIt) {
  const double h = 1. / 240, rounding = 20 * double(std::numeric_limits<Real>::epsilon());
  for (const bool even : {false, true}) {
    const std::vector<Body> all = bodies(even);
    const auto turn = [&](TurningBatch& batch) {
      if (even)
        batch.turn_evenly(Real(h));
      else
        batch.turn(Real(h));
    };
    TurningBatch together;
    for (std::size_t k = 0; k < all.size(); ++k) together.add(Index(k), all[k].q, all[k].inertia, all[k].w);
    turn(together);
    for (std::size_t k = 0; k < all.size(); ++k) {
      TurningBatch alone;
      alone.add(Index(k), all[k].q, all[k].inertia, all[k].w);
      turn(alone);
      EXPECT_EQ(together.body(k), Index(k));
      EXPECT_EQ(together.attitude(k), alone.attitude(0)) << k;
      EXPECT_EQ(together.velocity(k), alone.velocity(0)) << k;
      Quaternion<double> q = Quat(all[k].q).cast<double>().normalized();
      Vector3<double> w = all[k].w.cast<double>();
      rotate_freely<double>(q, all[k].inertia.cast<double>(), w, h);
      EXPECT_LT((together.attitude(k).cast<double>() - q.coeffs()).norm(), rounding) << k;
      EXPECT_LT((together.velocity(k).cast<double>() - w).norm(), rounding * w.norm()) << k;
    }
  }
}

}}  // namespace plenum
