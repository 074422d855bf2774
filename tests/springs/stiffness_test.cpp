// What the springs of cloth amount to as a sheet.
#include <gtest/gtest.h>

#include "plenum/elements/spring.h"
#include "springs/nets.h"

namespace plenum { namespace {

using test::Vector;

/// Elastic energy per area [J/m^2] of flat cloth strained by exx, ezz and the angle gamma, about the middle
/// particle: half of each of its springs, over the area of a cell.
double energy_density(const test::Net& net, Index middle, double cell, double exx, double ezz, double gamma) {
  const auto strained = [&](Index i) {
    const Vector x = net.state.particles.x[std::size_t(i)].cast<double>();
    return Vector((1 + exx) * x[0] + gamma * x[2], x[1], (1 + ezz) * x[2]);
  };
  double sum = 0;
  for (std::size_t e = 0; e < net.model.edges.size(); ++e) {
    const Index2 ends = net.model.edges[e];
    if (ends[0] != middle && ends[1] != middle) continue;
    // Rest lengths anew in double, from the same places.
    const double rest = (net.state.particles.x[std::size_t(ends[1])].cast<double>() -
                         net.state.particles.x[std::size_t(ends[0])].cast<double>())
                            .norm();
    sum += 0.5 *
           spring_energy<double>(strained(ends[1]) - strained(ends[0]), double(net.model.stiffness[e]), rest);
  }
  return sum / (cell * cell);
}

TEST(SpringsStiffness, ClothIsASheetOfKnownModuliWhateverItsCells) {
  // Per width [N/m]: C11 = k_s + k_d + 4 k_b, C12 = C66 = k_d, from the elongations a e of structural
  // springs, a (e1 + e2 +- gamma) / sqrt 2 of diagonals and 2 a e of bending springs of a cell of side a.
  const double ks = 800, kd = 300, kb = 20, c11 = ks + kd + 4 * kb, c12 = kd, c66 = kd, e = 1e-4;
  for (const int cells : {6, 10}) {
    SpringsPart part;
    part.cells_x = part.cells_z = cells;
    part.structural_stiffness = Real(ks), part.shear_stiffness = Real(kd), part.bending_stiffness = Real(kb);
    const test::Net net = test::net_of(part);
    const Index middle = (cells / 2) * (cells + 1) + cells / 2;
    const auto density = [&](double exx, double ezz, double gamma) {
      return energy_density(net, middle, 1.0 / cells, exx, ezz, gamma);
    };
    // Lengths are quadratic in the strain, so energies agree to the order of the strain itself.
    EXPECT_NEAR(density(e, 0, 0), 0.5 * c11 * e * e, 10 * e * c11 * e * e);
    EXPECT_NEAR(density(0, e, 0), 0.5 * c11 * e * e, 10 * e * c11 * e * e);
    EXPECT_NEAR(density(e, e, 0), (c11 + c12) * e * e, 10 * e * c11 * e * e);
    EXPECT_NEAR(density(0, 0, e), 0.5 * c66 * e * e, 10 * e * c11 * e * e);
  }
}

TEST(SpringsStiffness, ARopesElongationStiffnessDoesNotDependOnItsSegments) {
  for (const int segments : {4, 64}) {
    SpringsPart part;
    part.type = SpringsPart::Type::rope;
    part.segments = segments;
    part.stiffness_of = SpringsPart::StiffnessOf::elongation;
    part.structural_stiffness = 500;  // EA [N]
    part.bending_stiffness = 0;
    const test::Net net = test::net_of(part);
    double compliance = 0;  // springs in series
    for (const Real k : net.model.stiffness) compliance += 1 / double(k);
    EXPECT_NEAR(1 / compliance, 500, 500 * 1e-5) << segments;
  }
}

using Integrator = Springs::Integrator;

/// Two points on a spring of 100 N/m at rest, drawn out along it by `stretch` [m].
test::Net pair_of_points(double mass, double damping_time, double stretch) {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3::Zero(), Vec3(1, 0, 0)};
  part.springs = {Index2(0, 1)};
  part.mass = Real(mass);
  part.structural_stiffness = 100;
  part.damping_time = Real(damping_time);
  test::Net net = test::net_of(part);
  net.state.particles.x[0].x() -= Real(stretch / 2);
  net.state.particles.x[1].x() += Real(stretch / 2);
  return net;
}
double stretch_of(const test::Net& net) {
  return double(net.state.particles.x[1].x()) - double(net.state.particles.x[0].x()) - 1;
}

TEST(SpringsStiffness, ItsScaleKeepsTheDampingRatio) {
  // Of the relative motion, with omega^2 = 2 k/m, c = 2 m/2 omega is critical: stretch falls as
  // (1 + omega t) exp(-omega t) and never changes its sign. Every method follows to its first order in omega
  // h.
  constexpr double mass = 2, omega = 10, start = 0.2, turn = 0.01;
  for (std::size_t i = 0; i < names_of(Integrator{}).size(); ++i)
    for (const double scale : {1.0 / 16, 1.0, 16.0}) {
      test::Net net = pair_of_points(mass, mass * omega / 100, start);
      Springs::Params params = test::isolated(static_cast<Integrator>(i));
      params.stiffness_scale = Real(scale);
      params.tolerance = params.nonlinear_tolerance = Real(1e-6);
      const double h = turn / (omega * std::sqrt(scale));
      for (int step = 1; step <= 600; ++step) {
        net.step(params, Real(h));
        const double angle = turn * step, exact = start * (1 + angle) * std::exp(-angle);
        ASSERT_NEAR(stretch_of(net), exact, turn * start)
            << names_of(Integrator{})[i] << " at " << scale << ", " << step;
      }
    }
}

TEST(SpringsStiffness, ItsScaleIsPartOfTheLongestStep) {
  // Frequencies and rates of decay rise with the root of the scale: where the limit is a multiple of their
  // inverse, so does the number of steps.
  const test::Net net = test::free_net(3);
  for (const Integrator integrator : {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                      Integrator::position_verlet, Integrator::leapfrog, Integrator::rk4}) {
    Springs::Params params = test::isolated(integrator);
    const double once = double(Springs::max_dt(net.model, net.state, params));
    params.stiffness_scale = 16;
    EXPECT_NEAR(4 * double(Springs::max_dt(net.model, net.state, params)), once, 1e-5 * once);
  }
  // Where it is what holds growth to a factor e in a second, so it does here: energies grow by e^2.
  test::Net light = pair_of_points(1, 1e-3, 0.1);
  Springs::Params params = test::isolated(Integrator::explicit_euler);
  params.stiffness_scale = 16;
  const double stiffness = 16 * double(light.model.stiffness[0]);
  const auto energy = [&] {
    const double v = double(light.state.particles.v[1].x());  // both move alike
    return v * v + stiffness * std::pow(stretch_of(light), 2) / 2;
  };
  const double start = energy();
  const Real h = Springs::max_dt(light.model, light.state, params);
  for (double time = 0; time < 1; time += double(h)) light.step(params, h);
  EXPECT_LT(energy(), start * std::exp(2.1));
  EXPECT_GT(energy(), start * std::exp(1.0));  // it is not held to less either
}

TEST(SpringsStiffness, TheLongestStepHoldsWhatNoSpringDamps) {
  // Two points on a spring, drawn out by a fifth, that swing across it with omega^2 = 2 T/(m L): damping
  // along the spring takes none of that, and explicit Euler amplifies it by h omega^2 / 2 a second.
  constexpr double mass = 0.01, stretch = 0.25;
  test::Net net = pair_of_points(mass, 0.05, stretch);
  const Springs::Params params = test::isolated(Integrator::explicit_euler);
  const double across = 2 * double(net.model.stiffness[0]) * stretch / (1 + stretch) / mass;
  EXPECT_LE(double(Springs::max_dt(net.model, net.state, params)) * across / 2, 1 + 1e-5);

  // Nor is what a penalty keeps damped by it.
  test::Net slack = pair_of_points(mass, 0.05, 0);
  const Real free = Springs::max_dt(slack.model, slack.state, params);
  EXPECT_GT(double(free), double(Springs::max_dt(net.model, net.state, params)));
  slack.model.constraints.rods = {Index2(0, 1)};
  slack.model.constraints.rod_length = {1};
  Springs::update(slack.model);
  Springs::Params kept = params;
  kept.constraints = Springs::Constraints::penalty;
  kept.penalty_stiffness = 100;
  // Of one rod alone: omega^2 = 2 k/m.
  EXPECT_LE(double(Springs::max_dt(slack.model, slack.state, kept)) * (2 * 100 / mass) / 2, 1 + 1e-5);
}

}}  // namespace plenum
