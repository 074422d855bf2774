// Tetrahedra of soft bodies resist being flattened, and come back from inside out: by a potential, so that
// what is pressed rests, momentum is kept and no energy comes in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/springs/detail/workspace.h"
#include "springs/nets.h"

namespace plenum { namespace {

test::Net jelly_ball(Real spacing = Real(0.08), Real damping_time = Real(0.004)) {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = icosphere_mesh(Real(0.3), 3);
  part.spacing = spacing;
  part.density = 200;
  part.structural_stiffness = 7000;
  part.damping_time = damping_time;
  return test::net_of(part);
}
void fold_inwards(test::Net& net) {
  for (Vec3& x : net.state.particles.x)
    if (x.y() < Real(-0.1)) x.y() = Real(-0.2) - x.y();
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

using Vectors = std::vector<test::Vector>;

Vectors in_double(std::span<const Vec3> x) {
  Vectors out;
  for (const Vec3& p : x) out.push_back(p.cast<double>());
  return out;
}
double volume_of(const Vectors& x, const Index4& t) {
  const auto at = [&](int c) -> const test::Vector& { return x[std::size_t(t[c])]; };
  return (at(1) - at(0)).dot((at(2) - at(0)).cross(at(3) - at(0))) / 6;
}
/// Energy of the least volumes at x [J], in double and from the shape at rest: 3 k / (2 |grad V|^2) by the
/// square of what is lacking of a fifth, for k that all springs have.
double resistance(const test::Net& net, const Vectors& rest, const Vectors& x) {
  double sum = 0;
  for (const Index4& t : net.model.tetrahedra) {
    const double lacking = 0.2 * volume_of(rest, t) - volume_of(x, t);
    if (!(lacking > 0)) continue;
    double gradients = 0;
    for (int c = 0; c < 4; ++c) {
      const test::Vector &p = rest[std::size_t(t[(c + 1) % 4])], &q = rest[std::size_t(t[(c + 2) % 4])],
                         &r = rest[std::size_t(t[(c + 3) % 4])];
      gradients += (q - p).cross(r - p).squaredNorm() / 36 / 4;
    }
    sum += 1.5 * double(net.model.stiffness[0]) / gradients * lacking * lacking;
  }
  return sum;
}

TEST(SlowSpringsInversion, ABallPushedThroughItselfComesBack) {
  using enum Springs::Integrator;
  for (const auto& [integrator, spacing] :
       {std::pair(implicit_euler, 0.08), std::pair(backward_euler, 0.12), std::pair(local_global, 0.12),
        std::pair(velocity_verlet, 0.12)}) {
    SCOPED_TRACE(names_of(integrator)[std::size_t(integrator)]);
    test::Net net = jelly_ball(Real(spacing));
    const double rest = volume(net);
    fold_inwards(net);
    ASSERT_LT(least_part(net), -0.5);
    const Springs::Params params = test::isolated(integrator);
    const Real frame = Real(1) / 120, longest = Springs::max_dt(net.model, net.state, params);
    const int steps = static_cast<int>(std::ceil(frame / std::min(frame, longest)));
    for (int k = 0; k < 240 * steps; ++k) net.step(params, frame / static_cast<Real>(steps));
    EXPECT_GT(least_part(net), 0.8);
    EXPECT_NEAR(volume(net), rest, 0.02 * rest);
  }
}

TEST(SpringsInversion, SpringsAloneDoNotBringItBack) {
  test::Net net = jelly_ball();
  fold_inwards(net);
  Springs::Params params = test::isolated(Springs::Integrator::implicit_euler);
  params.tear_strain = 1000;  // what may tear is left to its springs
  for (int k = 0; k < 240; ++k) net.step(params, Real(1) / 120);
  EXPECT_LT(least_part(net), 0);
}

TEST(SpringsInversion, ForcesAreTheGradientOfAnEnergy) {
  test::Net net = jelly_ball(Real(0.15));
  const Vectors rest = in_double(net.state.particles.x);
  LeastVolumes volumes;
  volumes.lay_out(net.model);
  fold_inwards(net);
  const auto& x = net.state.particles.x;
  const Vectors at = in_double(x);
  volumes.find(x);
  ASSERT_GT(volumes.num_found(), 10u);
  constexpr auto epsilon = double(std::numeric_limits<Real>::epsilon());
  const double energy = resistance(net, rest, at);
  EXPECT_NEAR(volumes.energy(x), energy, 100 * epsilon * energy);
  std::vector<Vec3> force(x.size(), Vec3::Zero());
  volumes.add_forces(x, force);
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (Index c = 0; c < 3; ++c) {
      const auto moved = [&](double by) {
        Vectors y = at;
        y[i][c] += by;
        return resistance(net, rest, y);
      };
      constexpr double d = 1e-6;
      const double slope = (moved(d) - moved(-d)) / (2 * d);
      largest = std::max(largest, std::abs(slope));
      worst = std::max(worst, std::abs(double(force[i][c]) + slope));
    }
  // Of the difference, d^2 E''' / E' and 1e-16 E / (d E'), both some 1e-9; and rounding of sums of tens.
  EXPECT_LT(worst, (1e-7 + 100 * epsilon) * largest);
}

TEST(SpringsInversion, TheMatrixIsThatOfGaussAndNewton) {
  test::Net net = jelly_ball(Real(0.15));
  const Vectors rest = in_double(net.state.particles.x);
  fold_inwards(net);
  const auto& x = net.state.particles.x;
  const std::size_t n = x.size();
  // The system of a net whose springs are not filled in holds nothing else.
  SpringsWorkspace w;
  w.system = SpringSystem<Real>(n, net.model.edges, std::span<const Real>(net.model.stiffness),
                                std::span<const Real>(net.model.rest_length),
                                std::span<const Real>(net.model.damping));
  w.volumes.lay_out(net.model);
  w.volumes.find(x);
  const Real h = Real(0.01);
  w.volumes.assemble(x, {}, h, std::numeric_limits<Real>::max(), w.system.matrix(), {});
  ASSERT_TRUE(w.volumes.has_terms());
  std::vector<Vec3> u(n), y(n);
  for (std::size_t i = 0; i < n; ++i)
    u[i] = Vec3(std::sin(Real(i)), std::cos(Real(2 * i)), std::sin(Real(3 * i) + 1));
  const double curvature = w.matrix().apply_dot(flat(std::as_const(u)), flat(y));
  double expected = 0;
  const Vectors at = in_double(x);
  for (const Index4& t : net.model.tetrahedra) {
    if (!(volume_of(at, t) < 0.2 * volume_of(rest, t))) continue;
    double gradients = 0, along = 0;
    for (int c = 0; c < 4; ++c) {
      const auto face = [&](const Vectors& of) -> test::Vector {
        const test::Vector &p = of[std::size_t(t[(c + 1) % 4])], &q = of[std::size_t(t[(c + 2) % 4])],
                           &r = of[std::size_t(t[(c + 3) % 4])];
        return (q - p).cross(r - p) / 6;
      };
      gradients += face(rest).squaredNorm() / 4;
      along += (c % 2 == 0 ? -1 : 1) * face(at).dot(u[std::size_t(t[c])].cast<double>());
    }
    expected += double(h * h) * 3 * double(net.model.stiffness[0]) / gradients * along * along;
  }
  constexpr auto epsilon = double(std::numeric_limits<Real>::epsilon());
  EXPECT_NEAR(curvature, expected, 1000 * epsilon * expected);
  std::vector<Vec3> r(n);
  w.matrix().residual(flat(std::as_const(y)), flat(std::as_const(u)), flat(r));
  EXPECT_LT(norm(flat(std::as_const(r))), 100 * epsilon * norm(flat(std::as_const(y))));
}

TEST(SpringsInversion, ComingBackKeepsMomentumAndAngularMomentum) {
  test::Net net = jelly_ball();
  unsigned k = 0;
  for (Vec3& x : net.state.particles.x) {
    if (x.y() < Real(-0.1)) x.y() = Real(-0.2) - x.y();
    net.state.particles.v[k] = Vec3(x.y(), Real(0.3) - x.x(), x.z() * x.y());
    ++k;
  }
  const Springs::Params params = test::isolated(Springs::Integrator::symplectic_euler);
  const test::Vector p = test::momentum(net), l = test::angular_momentum(net);
  const double mass = test::total_mass(net);
  const Real dt = Springs::max_dt(net.model, net.state, params) / 2;
  constexpr int steps = 100;
  for (int step = 0; step < steps; ++step) ASSERT_GT(net.step(params, dt).value("flat"), 0);
  // Rounding of velocities of some 10 m/s once a step and part of it, as if all had one sign.
  const double rounding = 2 * steps * 10 * mass * double(std::numeric_limits<Real>::epsilon());
  EXPECT_LT((test::momentum(net) - p).norm(), rounding);
  EXPECT_LT((test::angular_momentum(net) - l).norm(), rounding * 0.3);
}

TEST(SpringsInversion, ComingBackMakesNoEnergy) {
  // All of it, that of the least volumes too. Symplectic Euler's own is off by a share h omega / 2 of what
  // its fastest modes hold, here at a twentieth of the step that is stable, h omega = 0.1.
  test::Net net = jelly_ball(Real(0.15), 0);
  const Vectors rest = in_double(net.state.particles.x);
  fold_inwards(net);
  const auto total = [&] {
    return test::energy(net, Vec3::Zero()) + resistance(net, rest, in_double(net.state.particles.x));
  };
  const double before = total();
  const Springs::Params params = test::isolated(Springs::Integrator::symplectic_euler);
  const Real dt = Springs::max_dt(net.model, net.state, params) / 20;
  const double stored = resistance(net, rest, in_double(net.state.particles.x));
  double least = before, most = before, emptied = stored;
  for (int step = 0; step < 2000; ++step) {
    net.step(params, dt);
    const double now = total();
    least = std::min(least, now);
    most = std::max(most, now);
    emptied = std::min(emptied, resistance(net, rest, in_double(net.state.particles.x)));
  }
  EXPECT_LT(emptied, 0.3 * stored);  // which has become motion
  EXPECT_LT(most, 1.05 * before);
  EXPECT_GT(least, 0.95 * before);
  // Methods that damp lose it.
  for (const auto integrator : {Springs::Integrator::implicit_euler, Springs::Integrator::backward_euler,
                                Springs::Integrator::local_global}) {
    net = jelly_ball(Real(0.15), 0);
    fold_inwards(net);
    for (int step = 0; step < 120; ++step) {
      net.step(test::isolated(integrator), Real(1) / 60);
      EXPECT_LT(total(), 1.001 * before) << names_of(integrator)[std::size_t(integrator)] << " " << step;
    }
  }
}

TEST(SlowSpringsInversion, ExplicitStepsThatTheNetAllowsStayStable) {
  // At the longest step of the net's springs: what is flat divides it, and no longer when it is out.
  for (const auto integrator : {Springs::Integrator::symplectic_euler, Springs::Integrator::velocity_verlet,
                                Springs::Integrator::leapfrog}) {
    SCOPED_TRACE(names_of(integrator)[std::size_t(integrator)]);
    test::Net net = jelly_ball(Real(0.15));
    const Vectors rest = in_double(net.state.particles.x);
    fold_inwards(net);
    const auto total = [&] {
      return test::energy(net, Vec3::Zero()) + resistance(net, rest, in_double(net.state.particles.x));
    };
    const double before = total();
    const Springs::Params params = test::isolated(integrator);
    const Real dt = Springs::max_dt(net.model, net.state, params);
    double most = 0, parts = net.step(params, dt).value("parts");
    EXPECT_GT(parts, 1);
    for (Real time = 0; time < 1; time += dt) {
      parts = net.step(params, dt).value("parts");
      most = std::max(most, total());
    }
    EXPECT_EQ(parts, 1);
    EXPECT_LT(most, 1.01 * before);
    EXPECT_LT(total(), 0.01 * before);
  }
}

TEST(SlowSpringsInversion, APressedBoxComesToRest) {
  // Between two plates of pins that press it to 70 % of its height within half a second, a little askew so
  // that it buckles, and then stay where they are.
  using enum Springs::Integrator;
  for (const auto integrator : {implicit_euler, backward_euler, local_global, symplectic_euler, rk4}) {
    SCOPED_TRACE(names_of(integrator)[std::size_t(integrator)]);
    constexpr Real half = Real(0.25);
    SpringsPart part;
    part.type = SpringsPart::Type::soft_body;
    part.mesh = box_mesh(Vec3(half, half, half), Index3(4, 4, 4));
    part.spacing = Real(0.1);
    part.structural_stiffness = 1000;
    part.damping_time = Real(0.004);
    for (const int side : {-1, 1})
      part.pins.push_back({.where = SpringsPin::Where::box,
                           .box_min = Vec3(-1, Real(side) * half - Real(0.01), -1),
                           .box_max = Vec3(1, Real(side) * half + Real(0.01), 1),
                           .group = (side + 1) / 2});
    test::Net net = test::net_of(part);
    ASSERT_GT(net.model.pinned.size(), 20u);
    Springs::Params params = test::isolated(integrator);
    params.pins.resize(2);
    const Real frame = Real(1) / 60, longest = Springs::max_dt(net.model, net.state, params);
    const int steps = static_cast<int>(std::ceil(frame / std::min(frame, longest)));
    bool flat = false;
    // It may buckle late: so it does in double precision after three seconds.
    for (int k = 0; k < 60 * 6; ++k)
      for (int step = 0; step < steps; ++step) {
        const Real time = frame * (Real(k) + Real(step + 1) / Real(steps));
        const Real pressed = std::min(Real(1), 2 * time);
        params.pins[1].offset = pressed * Vec3(Real(0.02), Real(-0.15), Real(0.01));
        flat = net.step(params, frame / static_cast<Real>(steps)).value("flat") > 0;
      }
    EXPECT_TRUE(flat);
    // Motion that damps: what is left of it is less than a millionth of what the springs hold.
    double kinetic = 0;
    for (std::size_t i = 0; i < net.model.mass.size(); ++i)
      if (net.state.particles.inverse_mass[i] > 0)
        kinetic += 0.5 * double(net.model.mass[i]) * double(net.state.particles.v[i].squaredNorm());
    EXPECT_LT(kinetic, 1e-6 * test::energy(net, Vec3::Zero()));
  }
}

TEST(SpringsInversion, IsTheSameForEveryNumberOfThreads) {
  const auto run = [](int threads) {
    test::Net net = jelly_ball(Real(0.05));
    fold_inwards(net);
    with_threads(threads, [&] {
      for (int k = 0; k < 5; ++k) net.step(test::isolated(Springs::Integrator::implicit_euler), Real(1) / 60);
    });
    return net.state.particles.x;
  };
  EXPECT_EQ(run(1), run(2));
}

}}  // namespace plenum
