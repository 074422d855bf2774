// Cloth in moving air.
#include <gtest/gtest.h>

#include "plenum/elements/wind.h"
#include "springs/nets.h"

namespace plenum { namespace {

TEST(SpringsAir, EddiesPushOnEachTriangleWhereItIs) {
  test::Net net = test::net_of({.cells_x = 6, .cells_z = 6});
  Springs::Params params = test::isolated(Springs::Integrator::symplectic_euler);
  params.air_density = Real(1.2), params.drag = 1, params.lift = Real(0.5);
  params.wind = Vec3(3, 1, -2);
  params.turbulence = {.speed = 4, .size = Real(0.5), .time = Real(0.3), .octaves = 2, .seed = 7};
  const Real h = Real(1e-3);
  // The second step feels the eddies as they have become by then.
  for (int step = 0; step < 2; ++step) {
    const std::vector<Vec3> x = net.state.particles.x, v = net.state.particles.v;
    const CurlNoise eddies = curl_noise_at(params.turbulence, step * double(h));
    test::Vector impulse = test::Vector::Zero();
    for (const Index3& t : net.model.triangles) {
      const std::vector<Vec3> centroid = {(x[t[0]] + x[t[1]] + x[t[2]]) / 3};
      std::vector<Vec3> u(1);
      curl_noise(eddies, centroid, u);
      const Vec3 area = Real(0.5) * (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]);
      const Vec3 relative = params.wind + u[0] - (v[t[0]] + v[t[1]] + v[t[2]]) / 3;
      impulse +=
          double(h) *
          air_force<Real>(area, relative, params.air_density, params.drag, params.lift).force.cast<double>();
    }
    const test::Vector before = test::momentum(net);
    net.step(params, h);
    // The net may move before it is pushed: by 1 cm, 2 % of an eddy, and the force grows as the square.
    EXPECT_LT((test::momentum(net) - before - impulse).norm(), 0.05 * impulse.norm()) << step;
    EXPECT_GT(impulse.norm(), 0);
  }
}

}}  // namespace plenum
