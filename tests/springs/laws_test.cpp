// Conservation, energy, stability.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "plenum/geometry/shapes.h"
#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using Integrator = Springs::Integrator;

TEST(SpringsLaws, AFreeNetKeepsItsMomentumAndAngularMomentumUnderSymplecticEuler) {
  Net net = test::free_net(1);
  const Springs::Params params = test::isolated(Integrator::symplectic_euler);
  const test::Vector p = test::momentum(net), l = test::angular_momentum(net);
  for (int k = 0; k < 500; ++k) net.step(params, Real(0.005));
  // Central forces in pairs; what is left is rounding, 20 kg at 1 m/s and 1 m over 500 steps.
  const double rounding = 500 * 20 * double(std::numeric_limits<Real>::epsilon());
  EXPECT_LT((test::momentum(net) - p).norm(), rounding);
  EXPECT_LT((test::angular_momentum(net) - l).norm(), rounding);
}

TEST(SpringsLaws, AFreeNetKeepsItsMomentumUnderImplicitEuler) {
  Net net = test::free_net(2);
  Springs::Params params = test::isolated(Integrator::implicit_euler);
  params.tolerance = Real(1e-6);
  const test::Vector p = test::momentum(net);
  for (int k = 0; k < 200; ++k) net.step(params, Real(0.01));
  // Each solve leaves a residual of 1e-6 of h f, of which there is at most 40 springs' worth of 50 N.
  EXPECT_LT((test::momentum(net) - p).norm(), 200 * 1e-6 * 0.01 * 40 * 50);
}

TEST(SlowSpringsLaws, WhateverIsMadeFallsFreelyUnderEveryImplicitMethod) {
  std::vector<std::pair<std::string, SpringsPart>> parts;
  for (const double spacing : {0.04, 0.05, 0.06, 0.08}) {
    SpringsPart part;
    part.type = SpringsPart::Type::soft_body;
    part.mesh = torus_mesh(Real(0.3), Real(0.13), 48, 24);
    part.spacing = Real(spacing);
    parts.emplace_back(fmt::format("torus {}", spacing), part);
  }
  for (const int cells : {7, 16, 20}) {
    SpringsPart part;
    part.cells_x = part.cells_z = cells;
    parts.emplace_back(fmt::format("cloth {}", cells), part);
  }
  for (const Index n : {6, 10}) {
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.mass = Real(0.01);
    const auto at = [&](Index i, Index j, Index k) { return (i * n + j) * n + k; };
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        for (Index k = 0; k < n; ++k) {
          part.points.push_back(Real(0.1) * Vec3(Real(i), Real(j), Real(k)));
          for (Index d = 14; d < 27; ++d) {
            const Index a = i + d / 9 - 1, b = j + d / 3 % 3 - 1, c = k + d % 3 - 1;
            if (a < n && b >= 0 && b < n && c >= 0 && c < n)
              part.springs.push_back(Index2(at(i, j, k), at(a, b, c)));
          }
        }
    parts.emplace_back(fmt::format("block {}", n), part);
  }
  for (auto& [name, part] : parts) {
    part.rotation = Vec3(20, 30, 40);
    for (const Real stiffness : {Real(300), Real(1e4), Real(1e5)})
      for (const auto integrator :
           {Integrator::implicit_euler, Integrator::backward_euler, Integrator::local_global}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, stiffness, int(integrator)));
        part.structural_stiffness = stiffness;
        Net net = test::net_of(part);
        const double h = 1.0 / 30;
        const int steps = 10;
        const auto height = [&] {
          double sum = 0;
          for (std::size_t i = 0; i < net.model.mass.size(); ++i)
            sum += double(net.model.mass[i]) * double(net.state.particles.x[i].y());
          return sum / test::total_mass(net);
        };
        const double start = height();
        const Springs::Params params{.integrator = integrator, .air_density = 0, .tolerance = Real(1e-4)};
        for (int k = 0; k < steps; ++k) net.step(params, static_cast<Real>(h));
        // Euler's way is h^2 g for each step, of every step before. A residual of 1e-4 of |b|, in which the
        // rounding of stiff springs is up to a hundred times the weight.
        const double way = 9.81 * h * h * steps * (steps + 1) / 2;
        EXPECT_NEAR(start - height(), way, 0.01 * way);
        for (std::size_t e = 0; e < net.model.edges.size(); ++e)
          ASSERT_LT(std::abs(double(Springs::strain(net.model, net.state, e))), 0.01);
      }
  }
}

TEST(SpringsLaws, ImplicitEulerTakesEnergyFromAPassiveNet) {
  for (const Real stiffness : {Real(100), Real(1000), Real(1e4)}) {
    SpringsPart part = test::hanging_cloth(12);
    part.structural_stiffness = part.shear_stiffness = stiffness;
    Net net = test::net_of(part);
    Springs::Params params;
    params.tolerance = Real(1e-5);
    double before = test::energy(net, params.gravity), start = before, lowest = before;
    for (int k = 0; k < 240; ++k) {
      net.step(params, Real(1) / 60);
      const double now = test::energy(net, params.gravity);
      EXPECT_LT(now, before + 1e-4) << "stiffness " << stiffness << " step " << k;
      before = now;
      lowest = std::min(lowest, now);
    }
    EXPECT_LT(lowest, start - 0.1);  // it did fall: 0.2 kg by more than 5 cm
  }
}

TEST(SpringsLaws, ImplicitEulerIsStableAtALongStepForStiffnessOverSixDecades) {
  for (Real stiffness = 10; stiffness < Real(2e7); stiffness *= 10) {
    SpringsPart part = test::hanging_cloth(20);
    part.structural_stiffness = part.shear_stiffness = stiffness;
    part.bending_stiffness = stiffness / 100;
    Net net = test::net_of(part);
    double largest = 0, fastest = 0, static_strain = 0.2 * 9.81 / double(stiffness) / 0.05;
    for (int k = 0; k < 120; ++k) {
      net.step({}, Real(1) / 30);
      largest = std::max(largest, test::largest_strain(net));
      for (const Vec3& v : net.state.particles.v) fastest = std::max(fastest, double(v.norm()));
    }
    // A linearized step moves the ends of a spring that turns at omega along its tangent, which stretches it
    // by (h omega)^2 / 2: 15 % at 16 rad/s. And the whole weight, 2 N, on one spring, ten times over for the
    // swing.
    EXPECT_LT(largest, 0.15 + 10 * static_strain) << stiffness;
    EXPECT_LT(fastest, 30) << stiffness;
  }
}

TEST(SpringsLaws, ImplicitEulerLetsStiffLightRopesSwingWithoutGainingEnergy) {
  // Its weight holds each particle by a millionth of what its springs do: a linear solve that stops at a
  // thousandth of the springs' forces would throw them about.
  for (const double fps : {30.0, 60.0})
    for (const int segments : {5, 20, 60, 200})
      for (const double stiffness : {1e2, 1e4, 1e5, 1e6, 1e7}) {
        SpringsPart part;
        part.type = SpringsPart::Type::rope;
        part.from = Vec3(0, 0, 0);
        part.to = Vec3(2, 0, 0);
        part.segments = segments;
        part.structural_stiffness = Real(stiffness);
        part.pins = {{.where = SpringsPin::Where::first}};
        Net net = test::net_of(part);
        double mass = 0;
        for (const Real m : net.model.mass) mass += double(m);
        // Kinetic and of height, 0 at the start. Not that of springs: a linearized step moves a link's ends
        // along its tangent and so stretches it for one step by (h omega)^2 / 2, which is taken back in the
        // next.
        double most = 0;
        for (int k = 0; k < int(3 * fps); ++k) {
          net.step({}, Real(1 / fps));
          double energy = 0;
          for (std::size_t i = 0; i < net.model.mass.size(); ++i)
            energy += double(net.model.mass[i]) * (double(net.state.particles.v[i].squaredNorm()) / 2 +
                                                   9.81 * double(net.state.particles.x[i].y()));
          most = std::max(most, energy);
        }
        EXPECT_LT(most, 0.01 * mass * 9.81 * 2)
            << stiffness << " N/m, " << segments << " segments, " << fps << " Hz";
      }
}

TEST(SpringsLaws, ExplicitStepsOfMaxDtAreStableForStiffnessOverSixDecades) {
  for (Real stiffness = 10; stiffness < Real(2e7); stiffness *= 10) {
    SpringsPart part = test::hanging_cloth(6);
    part.structural_stiffness = part.shear_stiffness = stiffness;
    part.bending_stiffness = stiffness / 100;
    Net net = test::net_of(part);
    Springs::Params params;
    params.integrator = Integrator::symplectic_euler;
    const Real dt = std::min(Real(1) / 30, Springs::max_dt(net.model, net.state, params));
    const double start = test::energy(net, params.gravity);
    for (int k = 0; k < 2000; ++k) net.step(params, dt);
    EXPECT_LT(test::energy(net, params.gravity), start + 0.2) << stiffness;
    for (const Vec3& x : net.state.particles.x) ASSERT_TRUE(x.allFinite()) << stiffness;
  }
}

}}  // namespace plenum
