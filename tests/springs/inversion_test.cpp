// Soft bodies that were turned inside out come back, and what brings them back keeps momentum.
#include <gtest/gtest.h>

#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "springs/nets.h"

namespace plenum { namespace {

test::Net jelly_ball() {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = icosphere_mesh(Real(0.3), 3);
  part.spacing = Real(0.08);
  part.density = 200;
  part.structural_stiffness = 7000;
  part.damping_time = Real(0.004);
  return test::net_of(part);
}

double volume(const test::Net& net) {
  double sum = 0;
  for (const Real v : tetrahedron_volumes(net.state.particles.x, net.model.tetrahedra)) sum += double(v);
  return sum;
}
double least_part(const test::Net& net) {
  const std::vector<Real> now = tetrahedron_volumes(net.state.particles.x, net.model.tetrahedra);
  double least = 1;
  for (std::size_t k = 0; k < now.size(); ++k)
    least = std::min(least, double(now[k]) / double(net.model.rest_volume[k]));
  return least;
}

TEST(SpringsInversion, ABallPushedThroughItselfComesBack) {
  test::Net net = jelly_ball();
  const double rest = volume(net);
  for (Vec3& x : net.state.particles.x)
    if (x.y() < Real(-0.1)) x.y() = Real(-0.2) - x.y();  // its bottom folded inwards
  ASSERT_LT(least_part(net), -0.5);
  const Springs::Params params = test::isolated(Springs::Integrator::implicit_euler);
  for (int k = 0; k < 240; ++k) net.step(params, Real(1) / 120);
  EXPECT_GT(least_part(net), 0.8);
  EXPECT_NEAR(volume(net), rest, 0.02 * rest);
}

TEST(SpringsInversion, SpringsAloneDoNotBringItBack) {
  test::Net net = jelly_ball();
  for (Vec3& x : net.state.particles.x)
    if (x.y() < Real(-0.1)) x.y() = Real(-0.2) - x.y();
  Springs::Params params = test::isolated(Springs::Integrator::implicit_euler);
  params.tear_strain = 1000;  // what may tear is left to its springs
  for (int k = 0; k < 240; ++k) net.step(params, Real(1) / 120);
  EXPECT_LT(least_part(net), 0);
}

TEST(SpringsInversion, ComingBackKeepsMomentumAndAngularMomentum) {
  test::Net net = jelly_ball();
  unsigned k = 0;
  for (Vec3& x : net.state.particles.x) {
    if (x.y() < Real(-0.1)) x.y() = Real(-0.2) - x.y();
    net.state.particles.v[k] = Vec3(x.y(), Real(0.3) - x.x(), x.z() * x.y());
    ++k;
  }
  Springs::Params params = test::isolated(Springs::Integrator::symplectic_euler);
  params.stiffness_scale = params.damping_scale = 0;  // nothing else acts
  const test::Vector p = test::momentum(net), l = test::angular_momentum(net);
  double mass = 0;
  for (const Real m : net.model.mass) mass += double(m);
  ASSERT_GT(net.step(params, Real(1e-4)).value("inverted"), 0);
  // Rounding of some thousand corrections of metres a second and tenths of a metre.
  const double rounding = 1000 * mass * double(std::numeric_limits<Real>::epsilon());
  EXPECT_LT((test::momentum(net) - p).norm(), rounding);
  // Positions and velocities are corrected in turn: x x m v changes by dx x m v of each correction, which its
  // own gradient does not cancel; it is bounded by the way pushed, here a fifth of an edge, times what moves.
  EXPECT_LT((test::angular_momentum(net) - l).norm(), 0.2 * 0.08 * mass * 0.5);
}

}}  // namespace plenum
