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

enum class Moments { different, two_equal, equal };

struct Body {
  Vec4 q, from;
  Vec3 inertia, w;
};

// Slow and fast ones, whose turns take from one to all of the parts there may be.
std::vector<Body> bodies(Moments moments) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<Body> all;
  for (std::size_t k = 0; k < TurningBatch::lanes; ++k) {
    Body b;
    for (Vec4* const q : {&b.q, &b.from})
      *q = Quat(Quaternion<double>(u(random), u(random), u(random), u(random)).normalized().cast<Real>())
               .coeffs();
    b.inertia = moments == Moments::equal ? Vec3(2, 2, 2) : Vec3(1, Real(2 + u(random) / 2), Real(2.7));
    // About each axis in turn, of more and of less than the others.
    if (moments == Moments::two_equal)
      b.inertia = Vec3(2, 2, 2), b.inertia[Eigen::Index(k % 3)] = k % 2 ? Real(0.5) : Real(3.5);
    b.w = Vec3(Vector3<double>(u(random), u(random), u(random)).cast<Real>()) *
          std::pow(Real(10), Real(int(k) - 4));
    all.push_back(b);
  }
  return all;
}

// Places and velocities are rounded to Real, and a quaternion in Real is off one by as much.
TEST(TurningBatch, TurnsEachBodyAsItWouldAloneWhateverElseIsInIt) {
  const double h = 1. / 240, rounding = 20 * double(std::numeric_limits<Real>::epsilon());
  for (const Moments moments : {Moments::different, Moments::two_equal, Moments::equal}) {
    const std::vector<Body> all = bodies(moments);
    const auto turn = [&](TurningBatch& batch) {
      switch (moments) {
        case Moments::different:
          return batch.turn(Real(h));
        case Moments::two_equal:
          return batch.turn_about_axes(Real(h));
        case Moments::equal:
          return batch.turn_evenly(Real(h));
      }
    };
    const auto add = [&](std::size_t k, TurningBatch& batch) {
      batch.add(Index(k), all[k].q, all[k].from, all[k].inertia, all[k].w);
    };
    TurningBatch together;
    for (std::size_t k = 0; k < all.size(); ++k) add(k, together);
    turn(together);
    for (std::size_t k = 0; k < all.size(); ++k) {
      TurningBatch alone;
      add(k, alone);
      turn(alone);
      EXPECT_EQ(together.body(k), Index(k));
      EXPECT_EQ(together.attitude(k), alone.attitude(0)) << k;
      EXPECT_EQ(together.velocity(k), alone.velocity(0)) << k;
      EXPECT_EQ(together.turned(k), alone.turned(0)) << k;
      Quaternion<double> q = Quat(all[k].q).cast<double>().normalized();
      Vector3<double> w = all[k].w.cast<double>();
      rotate_freely<double>(q, all[k].inertia.cast<double>(), w, h);
      EXPECT_LT((together.attitude(k).cast<double>() - q.coeffs()).norm(), rounding) << k;
      EXPECT_LT((together.velocity(k).cast<double>() - w).norm(), rounding * w.norm()) << k;
      const Quaternion<double> from = Quat(all[k].from).cast<double>();
      EXPECT_LT((together.turned(k).cast<double>() - (q * from.conjugate()).coeffs()).norm(), rounding) << k;
      if (moments == Moments::equal) continue;
      EXPECT_EQ(together.inverse_inertia(k), alone.inverse_inertia(0)) << k;
      const auto m = world_inertia<double>(q, all[k].inertia.cast<double>().cwiseInverse());
      const double expected[6] = {m(0, 0), m(1, 1), m(2, 2), m(0, 1), m(0, 2), m(1, 2)};
      for (std::size_t c = 0; c < 6; ++c)
        EXPECT_NEAR(double(together.inverse_inertia(k)[c]), expected[c], rounding) << k;
    }
  }
}

}}  // namespace plenum
