// What the figures of docs/theory are drawn from, against closed forms; and the committed figures against
// what the code draws today.
#include "figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "integrate/reference.h"
#include "nets.h"
#include "study.h"

namespace plenum { namespace {

using namespace plenum::figures;
using std::numbers::pi;

/// Whether R is within the unit disc, but for rounding.
auto stable(Integrator method) {
  return [method](Complex z) { return growth(method, z) <= 1 + 1e-9; };
}

TEST(Figures, StabilityFunctionsAreThoseOfTheTextbooks) {
  // Hairer & Wanner 1996, sections IV.2 (explicit: the exponential series cut at the order), IV.3 and table
  // IV.5.5 of it; SDIRK2 and TR-BDF2 share the one function of order 2 with R(infinity) = 0 and a double pole
  // at 1/gamma.
  const double gamma = 1 - 1 / std::numbers::sqrt2;
  for (const Complex z : {Complex(-1.3, 0.7), Complex(0.2, -2.1), Complex(-7, 3), Complex(1.5, 4)}) {
    const std::pair<Integrator, Complex> expected[] = {
        {Integrator::explicit_euler, 1.0 + z},
        {Integrator::explicit_midpoint, 1.0 + z + z * z / 2.0},
        {Integrator::heun, 1.0 + z + z * z / 2.0},
        {Integrator::rk3_kutta, 1.0 + z + z * z / 2.0 + z * z * z / 6.0},
        {Integrator::rk3_ssp, 1.0 + z + z * z / 2.0 + z * z * z / 6.0},
        {Integrator::rk4, 1.0 + z + z * z / 2.0 + z * z * z / 6.0 + z * z * z * z / 24.0},
        {Integrator::backward_euler, 1.0 / (1.0 - z)},
        {Integrator::linearly_implicit_euler, 1.0 / (1.0 - z)},
        {Integrator::implicit_midpoint, (1.0 + z / 2.0) / (1.0 - z / 2.0)},
        {Integrator::trapezoid, (1.0 + z / 2.0) / (1.0 - z / 2.0)},
        {Integrator::sdirk2, (1.0 + (1 - 2 * gamma) * z) / ((1.0 - gamma * z) * (1.0 - gamma * z))},
        {Integrator::tr_bdf2, (1.0 + (1 - 2 * gamma) * z) / ((1.0 - gamma * z) * (1.0 - gamma * z))},
        {Integrator::radau_iia2, (1.0 + z / 3.0) / (1.0 - 2.0 * z / 3.0 + z * z / 6.0)}};
    for (const auto& [method, r] : expected)
      EXPECT_NEAR(growth(method, z), std::abs(r), 1e-11 * (1 + std::abs(r))) << info(method).name << z;
    // BDF2: (3/2 - z) r^2 - 2 r + 1/2 = 0.
    const Complex root = std::sqrt(1.0 + 2.0 * z);
    const double bdf2 =
        std::max(std::abs((2.0 + root) / (3.0 - 2.0 * z)), std::abs((2.0 - root) / (3.0 - 2.0 * z)));
    EXPECT_NEAR(growth(Integrator::bdf2, z), bdf2, 1e-11 * (1 + bdf2)) << z;
  }
}

TEST(Figures, EdgesOfTheRegionsStandAtTheKnownLimits) {
  for (const IntegratorInfo& method : integrator_table) {
    if (!steps_first_order(method.id)) continue;
    if (!method.implicit) {
      EXPECT_NEAR(distance_to_edge(stable(method.id), -1, pi, 6, 0.02), method.real_limit - 1, 1e-6)
          << method.name;
      continue;
    }
    // A-stable: nothing of the left half-plane grows, on rays out to a thousand.
    for (double angle = 0.5 * pi + 1e-3; angle < 1.5 * pi; angle += 0.01)
      EXPECT_EQ(distance_to_edge(stable(method.id), 0, angle, 1000, 7.3), 1000) << method.name << angle;
  }
  // Roots of |R| = 1 on the axes: RK4's real and imaginary ones, and where the islands of the implicit
  // methods end on the right: z = 2, 4 (r = -1 in BDF2's equation), 1/gamma^2, 6.
  EXPECT_NEAR(distance_to_edge(stable(Integrator::rk4), -1, pi, 6, 0.02), 1.78529356340528, 1e-6);
  EXPECT_NEAR(distance_to_edge(stable(Integrator::rk4), Complex(0, 1), pi / 2, 6, 0.02),
              2 * std::sqrt(2.0) - 1, 1e-6);
  const double gamma = 1 - 1 / std::numbers::sqrt2;
  const std::pair<Integrator, double> ends[] = {{Integrator::backward_euler, 2},
                                                {Integrator::bdf2, 4},
                                                {Integrator::sdirk2, 1 / (gamma * gamma)},
                                                {Integrator::radau_iia2, 6}};
  for (const auto& [method, end] : ends) {
    const auto grows = [m = method](Complex z) { return growth(m, z) > 1 + 1e-9; };
    EXPECT_NEAR(distance_to_edge(grows, 1, 0, 20, 0.02), end - 1, 1e-5) << info(method).name;
  }
}

TEST(Figures, SymplecticMethodsAreStableUpToTwoAndLessWithDrag) {
  const auto limit = [](Integrator method, double xi) {
    return distance_to_edge([&](Complex z) { return oscillator_growth(method, z.real(), xi) <= 1 + 1e-6; }, 0,
                            0, 6, 0.01);
  };
  for (const IntegratorInfo& method : integrator_table) {
    using enum Integrator;
    if (!method.symplectic || method.implicit || method.id == stoermer_verlet || method.id == leapfrog)
      continue;
    EXPECT_NEAR(limit(method.id, 0), 2, 1e-4) << method.name;
  }
  // Belytschko, Liu & Moran 2000, eq. 6.6.12: h w = 2 (sqrt(1 + xi^2) - xi) with the drag at the old
  // velocity.
  for (const double xi : {0.05, 0.2, 0.5, 0.9})
    EXPECT_NEAR(limit(Integrator::symplectic_euler, xi), 2 * (std::sqrt(1 + xi * xi) - xi), 1e-5) << xi;
}

TEST(Figures, AmplificationOfAnOscillationIsThatOfTheStabilityFunction) {
  for (const double z : {0.05, 0.7, 1.9, 30.0}) {
    EXPECT_NEAR(oscillator_growth(Integrator::backward_euler, z), 1 / std::sqrt(1 + z * z), 1e-9);
    EXPECT_NEAR(oscillator_growth(Integrator::explicit_euler, z), std::sqrt(1 + z * z), 1e-9 * z);
    for (const Integrator method :
         {Integrator::implicit_midpoint, Integrator::trapezoid, Integrator::newmark})
      EXPECT_NEAR(oscillator_growth(method, z), 1, 1e-9) << info(method).name << z;
    for (const Integrator method :
         {Integrator::bdf2, Integrator::sdirk2, Integrator::radau_iia2, Integrator::rk4})
      EXPECT_NEAR(oscillator_growth(method, z), growth(method, Complex(0, z)), 1e-9 * (1 + z * z * z * z))
          << info(method).name << z;
  }
}

TEST(Figures, TheExactPendulumObeysItsEquationAndItsPeriod) {
  for (const Row& row : read_reference("pendulum_period.csv")) {
    const double amplitude = number(row, "theta0_deg") * pi / 180, period = exact_period(amplitude);
    EXPECT_NEAR(period / (2 * pi), number(row, "T_over_T0"), 1e-12 * period);
    EXPECT_NEAR(exact_swing(amplitude, 0).x, amplitude, 1e-7);  // asin near 1
    EXPECT_NEAR(exact_swing(amplitude, period).v, 0, 1e-10);
    for (const double t : {0.3, 1.0, 2.7, 10.0}) {
      const Phase p = exact_swing(amplitude, t);
      EXPECT_NEAR(energy(p), 1 - std::cos(amplitude), 1e-12);
      const double d = 1e-5;
      const Phase after = exact_swing(amplitude, t + d), before = exact_swing(amplitude, t - d);
      EXPECT_NEAR((after.x - before.x) / (2 * d), p.v, 1e-8);
      EXPECT_NEAR((after.v - before.v) / (2 * d), -std::sin(p.x), 1e-8);
    }
  }
}

TEST(Figures, MethodsConvergeToTheExactPendulumAtTheirOrder) {
  const Phase exact = exact_swing(pi / 2, 10);
  for (const IntegratorInfo& method : integrator_table) {
    if (method.id == Integrator::stoermer_verlet || method.id == Integrator::leapfrog) continue;
    const auto error = [&](int steps) {
      const Swing s = swing(method.id, {pi / 2, 0}, 10.0 / steps, steps);
      EXPECT_TRUE(s.converged) << method.name;
      EXPECT_EQ(s.orbit.size(), std::size_t(steps) + 1);
      return std::hypot(s.orbit.back().x - exact.x, s.orbit.back().v - exact.v);
    };
    const int steps = method.order == 1 ? 8000 : 800;
    EXPECT_NEAR(std::log2(error(steps) / error(2 * steps)), method.order, 0.1) << method.name;
  }
}

TEST(Figures, RopesHangLikeTheCatenary) {
  for (const Row& row : read_reference("catenary.csv"))
    EXPECT_NEAR(-catenary(number(row, "L_over_d"), 0), number(row, "sag_over_d"), 1e-12);
  const std::vector<Point> rope = rope_at_rest(32, 1.5);
  ASSERT_EQ(rope.size(), 33u);
  for (const Point& p : rope) {
    const double slope = (catenary(1.5, p.x + 1e-5) - catenary(1.5, p.x - 1e-5)) / 2e-5;
    const double distance = (p.y - catenary(1.5, p.x)) / std::hypot(1, slope);
    EXPECT_NEAR(distance, 0, 0.005 * 0.5026);  // catenary.csv: 0.5 % of the sag
  }
}

/// The words of a drawing between its numbers, and its numbers.
struct Content {
  std::string words;
  std::vector<double> numbers;
};
Content content_of(const std::string& text) {
  Content content;
  for (const char* c = text.c_str(); *c;) {
    const bool starts = std::isdigit(static_cast<unsigned char>(*c)) ||
                        (*c == '-' && std::isdigit(static_cast<unsigned char>(c[1])));
    if (!starts) {
      content.words += *c++;
      continue;
    }
    char* end = nullptr;
    content.numbers.push_back(std::strtod(c, &end));
    content.words += '#';
    c = end;
  }
  return content;
}

TEST(SlowFigures, TheCommittedOnesAreWhatTheCodeDraws) {
  for (const Figure& figure : all_figures()) {
    std::ifstream in(PLENUM_SOURCE_DIR "/docs/pictures/" + std::string(figure.file));
    ASSERT_TRUE(in.good()) << figure.file;
    std::stringstream committed;
    committed << in.rdbuf();
    EXPECT_LT(committed.str().size(), 60'000u) << figure.file;
    const Content old = content_of(committed.str()), now = content_of(figure.draw());
    ASSERT_EQ(now.words, old.words) << figure.file << ": draw it again with plenum_figures docs/pictures";
    ASSERT_EQ(now.numbers.size(), old.numbers.size()) << figure.file;
    // Other compilers round differently, by less than a third of a pixel.
    for (std::size_t k = 0; k < now.numbers.size(); ++k)
      ASSERT_NEAR(now.numbers[k], old.numbers[k], 0.35) << figure.file << ", number " << k;
  }
}

}}  // namespace plenum
