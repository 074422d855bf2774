// Cloth in moving air.
#include <gtest/gtest.h>

#include <algorithm>

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

double largest_speed(const test::Net& net) {
  double most = 0;
  for (const Vec3& v : net.state.particles.v) most = std::max(most, double(v.norm()));
  return most;
}

/// A cloth of 2 m held along a side.
SpringsPart banner(double areal_density) {
  SpringsPart part;
  part.size_x = part.size_z = 2;
  part.cells_x = part.cells_z = 12;
  part.areal_density = Real(areal_density);
  part.pins = {{.where = SpringsPin::Where::left}};
  return part;
}

// Air turns what it lifts and takes it along, no faster than it goes itself; what springs back is as fast
// again.
TEST(SpringsAir, NoImplicitMethodMakesEnergyOfLift) {
  struct Storm {
    double areal_density, drag, lift;
    Vec3 wind;
    Real h;
  };
  const Storm storms[] = {{0.2, 0, 2, Vec3(30, 5, 10), Real(1) / 30},
                          {0.2, 0, 0.5, Vec3(100, 20, 30), Real(1) / 30},
                          {0.2, 0.1, 2, Vec3(60, 5, 30), Real(1) / 60},
                          {0.02, 1, 10, Vec3(30, 5, 10), Real(1) / 30}};
  for (const auto integrator : {Springs::Integrator::implicit_euler, Springs::Integrator::backward_euler,
                                Springs::Integrator::local_global})
    for (const Storm& storm : storms) {
      test::Net net = test::net_of(banner(storm.areal_density));
      Springs::Params params;
      params.integrator = integrator;
      params.wind = storm.wind, params.drag = Real(storm.drag), params.lift = Real(storm.lift);
      for (int step = 0; step < 40; ++step) {
        net.step(params, storm.h);
        ASSERT_LT(largest_speed(net), 2 * double(storm.wind.norm())) << int(integrator) << ' ' << step;
      }
    }
}

// The air's own rate bounds the step: of light cloth in a wind it is far above the springs'.
TEST(SpringsAir, ExplicitStepsOfMaxDtStayBoundedInTheWind) {
  for (const auto integrator : {Springs::Integrator::rk4, Springs::Integrator::symplectic_euler,
                                Springs::Integrator::explicit_midpoint})
    for (const Vec3& wind : {Vec3(5, 10, 0), Vec3(5, 30, 0)}) {
      SpringsPart part = banner(0.02);
      part.structural_stiffness = part.shear_stiffness = 1, part.bending_stiffness = 0;
      test::Net net = test::net_of(part);
      Springs::Params params;
      params.integrator = integrator;
      params.wind = wind;
      for (double t = 0; t < 1;) {
        const Real h = std::min(Springs::max_dt(net.model, net.state, params), Real(1) / 30);
        net.step(params, h);
        t += double(h);
        ASSERT_LT(largest_speed(net), 2 * double(wind.norm())) << int(integrator) << ' ' << t;
      }
    }
}

}}  // namespace plenum
