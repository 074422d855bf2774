#include "plenum/integrate/minimize.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <limits>
#include <random>

#include "linear/cases.h"
#include "plenum/base/hash.h"
#include "plenum/integrate/projective_springs.h"
#include "plenum/linear/jacobi.h"
#include "plenum/linear/pcg.h"
#include "support/algebra.h"

namespace plenum { namespace {

template <class T>
class MinimizeOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(MinimizeOf, Scalars);

/// Rosenbrock's valley in 2 n variables, with its exact Hessian, which is indefinite off the valley floor.
template <class T>
struct Rosenbrock {
  double value(std::span<const T> x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); i += 2) {
      const double a = double(x[i + 1]) - double(x[i]) * double(x[i]), b = 1 - double(x[i]);
      sum += 100 * a * a + b * b;
    }
    return sum;
  }
  void gradient(std::span<const T> x, std::span<T> g) {
    for (std::size_t i = 0; i < x.size(); i += 2) {
      const T a = x[i + 1] - x[i] * x[i];
      g[i] = -400 * a * x[i] - 2 * (1 - x[i]);
      g[i + 1] = 200 * a;
    }
  }
  bool direction(std::span<const T> x, std::span<const T> g, std::span<T> d) {
    for (std::size_t i = 0; i < x.size(); i += 2) {
      Eigen::Matrix2d h;
      h << 1200 * double(x[i]) * double(x[i]) - 400 * double(x[i + 1]) + 2, -400 * double(x[i]),
          -400 * double(x[i]), 200;
      const Eigen::Vector2d s = -h.fullPivLu().solve(Eigen::Vector2d(double(g[i]), double(g[i + 1])));
      d[i] = T(s[0]), d[i + 1] = T(s[1]);
    }
    return true;
  }
};

TYPED_TEST(MinimizeOf, BothMethodsFindTheEndOfRosenbrocksValley) {
  using T = TypeParam;
  const MinimizeOptions options{.max_iterations = 300,
                                .gradient_tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12};
  MinimizeWorkspace<T> work;
  Rosenbrock<T> objective;
  const std::vector<T> start = {T(-1.2), 1, 2, T(-1)};
  // Distance to (1, 1) <= |gradient| / least eigenvalue of the Hessian there (0.399), gradient <= tol * 233.
  const double reach = options.gradient_tolerance * 5000 / 0.39;
  std::vector<T> x = start;
  const MinimizeReport newton = newton_minimize<T>(objective, x, work, options);
  EXPECT_TRUE(newton.converged);
  EXPECT_LT(newton.iterations, 40);
  EXPECT_GT(newton.backtracks, 0);
  for (const T v : x) EXPECT_NEAR(v, 1, reach);
  x = start;
  const MinimizeReport lbfgs = lbfgs_minimize<T>(objective, x, work, options);
  EXPECT_TRUE(lbfgs.converged);
  for (const T v : x) EXPECT_NEAR(v, 1, reach);
  EXPECT_NEAR(lbfgs.value, objective.value(x), 1e-12);
}

TYPED_TEST(MinimizeOf, NewtonSolvesAQuadraticInOneStepAndLbfgsInAFewMoreThanItHasEigenvalues) {
  using T = TypeParam;
  struct Quadratic {
    double value(std::span<const T> x) {
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        sum += 0.5 * scale(i) * double(x[i]) * double(x[i]) - double(x[i]);
      return sum;
    }
    void gradient(std::span<const T> x, std::span<T> g) {
      for (std::size_t i = 0; i < x.size(); ++i) g[i] = T(scale(i)) * x[i] - 1;
    }
    bool direction(std::span<const T>, std::span<const T> g, std::span<T> d) {
      for (std::size_t i = 0; i < g.size(); ++i) d[i] = -g[i] / T(scale(i));
      return true;
    }
    static double scale(std::size_t i) { return double(1 << (i % 5)); }
  } objective;
  MinimizeWorkspace<T> work;
  const MinimizeOptions options{.gradient_tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-10};
  std::vector<T> x(50, T(3));
  EXPECT_EQ(newton_minimize<T>(objective, x, work, options).iterations, 1);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], 1 / Quadratic::scale(i), 1e-5);
  x.assign(50, T(3));
  const MinimizeReport report = lbfgs_minimize<T>(objective, x, work, options);
  EXPECT_TRUE(report.converged);
  EXPECT_LT(report.iterations, 40);
}

/// Energy of a net for IncrementalPotential, in flat coordinates; Newton's systems by a dense factorization.
template <class T>
struct NetPotential {
  const Net<T>& net;
  const std::vector<T>& mass;
  double value(std::span<const T> x) {
    double sum = 0;
    for (std::size_t s = 0; s < net.pairs.size(); ++s) {
      const double stretch = length(x, s) - double(net.rest_length[s]);
      sum += 0.5 * double(net.stiffness[s]) * stretch * stretch;
    }
    return sum;
  }
  Eigen::Vector3d difference(std::span<const T> x, std::size_t s) const {
    const T *a = &x[3 * net.pairs[s][0]], *b = &x[3 * net.pairs[s][1]];
    return {double(a[0]) - double(b[0]), double(a[1]) - double(b[1]), double(a[2]) - double(b[2])};
  }
  double length(std::span<const T> x, std::size_t s) const { return difference(x, s).norm(); }
  void gradient(std::span<const T> x, std::span<T> g) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(Eigen::Index(x.size()));
    for (std::size_t s = 0; s < net.pairs.size(); ++s) {
      const Eigen::Vector3d d = difference(x, s);
      const Eigen::Vector3d f = double(net.stiffness[s]) * (1 - double(net.rest_length[s]) / d.norm()) * d;
      sum.segment<3>(3 * net.pairs[s][0]) += f;
      sum.segment<3>(3 * net.pairs[s][1]) -= f;
    }
    for (std::size_t i = 0; i < x.size(); ++i) g[i] = T(sum[Eigen::Index(i)]);
  }
  bool solve(std::span<const T> x, double c, std::span<const T> r, std::span<T> d) {
    const auto n = Eigen::Index(x.size());
    Eigen::MatrixXd h = Eigen::MatrixXd::Zero(n, n);
    for (Eigen::Index i = 0; i < n; ++i) h(i, i) = c * double(mass[std::size_t(i)]);
    for (std::size_t s = 0; s < net.pairs.size(); ++s) {
      const Index i = 3 * net.pairs[s][0], j = 3 * net.pairs[s][1];
      const Eigen::Matrix3d k =
          spring_tangent<double>(difference(x, s), double(net.stiffness[s]), double(net.rest_length[s]));
      h.block<3, 3>(i, i) += k, h.block<3, 3>(j, j) += k;
      h.block<3, 3>(i, j) -= k, h.block<3, 3>(j, i) -= k;
    }
    Eigen::VectorXd rhs(n);
    for (Eigen::Index i = 0; i < n; ++i) rhs[i] = double(r[std::size_t(i)]);
    const Eigen::VectorXd solution = plenum_test::solve_symmetric(h, rhs);
    for (Eigen::Index i = 0; i < n; ++i) d[std::size_t(i)] = T(solution[i]);
    return true;
  }
};

/// A stretched, shaken net one step ahead: y from random velocities and gravity.
template <class T>
struct Step {
  Net<T> net = make_net<T>(7, T(0.1));
  double h = 1.0 / 60;
  std::vector<T> mass, y, x;
  Step() {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    for (const auto& p : net.x)
      for (int c = 0; c < 3; ++c) {
        mass.push_back(net.mass);
        x.push_back(p[c]);
        y.push_back(T(double(p[c]) + h * 2 * normal(random) - (c == 1 ? 9.81 * h * h : 0)));
      }
  }
};

template <class T>
std::span<Vector3<T>> as_vectors(std::vector<T>& v) {
  return {reinterpret_cast<Vector3<T>*>(v.data()), v.size() / 3};
}

TYPED_TEST(MinimizeOf, AllMethodsAgreeOnAStepOfANet) {
  using T = TypeParam;
  Step<T> step;
  NetPotential<T> potential{step.net, step.mass};
  IncrementalPotential<T, NetPotential<T>> objective(potential, step.mass, step.y, step.h);
  MinimizeWorkspace<T> work;
  const double precision = std::is_same_v<T, float> ? 1e-4 : 1e-9;
  const MinimizeOptions options{.max_iterations = 500, .gradient_tolerance = precision};
  std::vector<T> newton = step.x, lbfgs = step.x, projective = step.x, quasi = step.x;
  const MinimizeReport by_newton = newton_minimize<T>(objective, newton, work, options);
  EXPECT_TRUE(by_newton.converged);
  EXPECT_LT(by_newton.iterations, 30);
  // The result is backward Euler's: M (x - y) / h^2 = forces(x), by forces computed apart.
  std::vector<T> g(newton.size());
  potential.gradient(newton, g);
  double worst = 0, scale = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double inertia = double(step.mass[i]) * (double(newton[i]) - double(step.y[i])) / (step.h * step.h);
    worst = std::max(worst, std::abs(inertia + double(g[i])));
    scale = std::max(scale, std::abs(double(g[i])));
  }
  EXPECT_LT(worst, 50 * precision * scale);

  EXPECT_TRUE(lbfgs_minimize<T>(objective, lbfgs, work, options).converged);
  const std::vector<T> w(step.net.x.size(), 1 / step.net.mass);
  ProjectiveSprings<T> springs(w, step.net.pairs, step.net.rest_length, step.net.stiffness, step.h);
  const MinimizeReport by_quasi = lbfgs_minimize<T>(objective, quasi, work, options, [&](std::span<T> v) {
    springs.precondition({reinterpret_cast<Vector3<T>*>(v.data()), v.size() / 3});
  });
  EXPECT_TRUE(by_quasi.converged);
  const auto report = springs.solve(as_vectors(step.y), as_vectors(projective),
                                    {.max_iterations = 3000, .gradient_tolerance = precision});
  EXPECT_TRUE(report.converged);
  // What L-BFGS remembers accelerates the fixed-point iteration that local/global is.
  EXPECT_LT(3 * by_quasi.iterations, report.iterations);
  // Gradients of precision * |g0|, Hessian at least M / h^2.
  const double reach = 2 * precision * 5000 * 10 * step.h * step.h / double(step.net.mass);
  for (std::size_t i = 0; i < newton.size(); ++i) {
    EXPECT_NEAR(lbfgs[i], newton[i], reach);
    EXPECT_NEAR(quasi[i], newton[i], reach);
    EXPECT_NEAR(projective[i], newton[i], reach);
  }
  EXPECT_NEAR(springs.value(as_vectors(step.y), as_vectors(newton)), objective.value(newton),
              1e-5 * objective.value(newton));
}

TYPED_TEST(MinimizeOf, LocalGlobalNeverRaisesTheObjectiveAndItsGradientIsThatOfTheValue) {
  using T = TypeParam;
  Step<T> step;
  const std::vector<T> w(step.net.x.size(), 1 / step.net.mass);
  ProjectiveSprings<T> springs(w, step.net.pairs, step.net.rest_length, step.net.stiffness, step.h);
  double before = springs.value(as_vectors(step.y), as_vectors(step.x));
  for (int k = 0; k < 30; ++k) {
    springs.solve(as_vectors(step.y), as_vectors(step.x), {.max_iterations = 1, .gradient_tolerance = 0});
    const double after = springs.value(as_vectors(step.y), as_vectors(step.x));
    EXPECT_LE(after, before * (1 + 1e-6));
    before = after;
  }
  if constexpr (std::is_same_v<T, double>) {
    std::vector<T> g(step.x.size()), x = step.x;
    for (T& v : x) v += 0.01 * std::sin(100 * v);
    springs.gradient(as_vectors(step.y), as_vectors(x), as_vectors(g));
    for (const std::size_t i : {0u, 10u, 77u, 146u}) {
      auto high = x, low = x;
      high[i] += 1e-6, low[i] -= 1e-6;
      const double difference = (springs.value(as_vectors(step.y), as_vectors(high)) -
                                 springs.value(as_vectors(step.y), as_vectors(low))) /
                                2e-6;
      EXPECT_NEAR(g[i], difference, 1e-5 * (1 + std::abs(difference)));
    }
  }
}

TYPED_TEST(MinimizeOf, LocalGlobalSolvesOneSpringInClosedForm) {
  using T = TypeParam;
  // Pinned end at the origin, m = 2 kg at distance r along x, y at distance s: the minimizer lies on the axis
  // where m (r - s) / h^2 + k (r - l0) = 0.
  const std::vector<T> w = {0, T(0.5)}, rest = {1}, k = {T(300)};
  const std::vector<Index2> pair = {{0, 1}};
  const double h = 0.1;
  ProjectiveSprings<T> springs(w, pair, rest, k, h);
  std::vector<Vector3<T>> x = {{0, 0, 0}, {T(1.5), 0, 0}}, y = {{0, 0, 0}, {T(1.7), 0, 0}};
  const auto report = springs.solve(y, x, {.max_iterations = 50, .gradient_tolerance = 1e-6});
  const double expected = (2 * 1.7 / (h * h) + 300) / (2 / (h * h) + 300);
  EXPECT_NEAR(x[1][0], expected, 1e-5);
  EXPECT_EQ(x[0], (Vector3<T>{0, 0, 0}));
  EXPECT_TRUE(report.converged);
}

TYPED_TEST(MinimizeOf, SameBitsForEveryThreadCount) {
  using T = TypeParam;
  const Net<T> net = make_net<T>(61, T(0.1));
  const std::vector<T> w(net.x.size(), 1 / net.mass);
  ProjectiveSprings<T> springs(w, net.pairs, net.rest_length, net.stiffness, 1.0 / 60);
  auto y = net.x;
  for (auto& p : y) p[1] -= T(0.01) * p[0] * p[0];
  const auto hash = [&] {
    auto x = net.x;
    springs.solve(y, x, {.max_iterations = 3});
    Hasher hasher;
    hasher.add(x.data(), x.size() * sizeof x[0]);
    return hasher.digest();
  };
  const Hash128 expected = hash();
  for (const int threads : {2, 3, 8}) with_threads(threads, [&] { EXPECT_EQ(hash(), expected); });
}

}}  // namespace plenum
