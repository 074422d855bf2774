// Gradients of position constraints against finite differences, what they leave unmoved, and lanes.
#include "plenum/elements/position_constraints.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <limits>
#include <random>

#include "plenum/elements/linear_constraints.h"
#include "plenum/elements/strain_constraints.h"

namespace plenum { namespace {

using namespace detail;  // NOLINT: what is tested

V3<double> random_point(std::mt19937& random) {
  std::uniform_real_distribution<double> u(-1, 1);
  const double x = u(random), y = u(random), z = u(random);
  return {x, y, z};
}

template <class C>
class PositionConstraints : public testing::Test {};
using Kinds = testing::Types<DistanceConstraint, VolumeConstraint, DihedralConstraint, DeviatoricConstraint,
                             HydrostaticConstraint, TriangleStretchConstraint<0>,
                             TriangleStretchConstraint<1>, TriangleShearConstraint, TriangleAreaConstraint,
                             TetrahedronStretchConstraint<0>, TetrahedronStretchConstraint<2>,
                             TetrahedronShearConstraint<1, 2>, TetrahedronShearConstraint<0, 1>>;

/// Numbers that describe a rest state: some of no particular kind.
template <class T, std::size_t n>
void describe_rest(T (&rest)[n]) {
  for (std::size_t k = 0; k < n; ++k) rest[k] = T{} + Real(0.3) + Real((k * k) % 5) * Real(0.2);
}
TYPED_TEST_SUITE(PositionConstraints, Kinds);

TYPED_TEST(PositionConstraints, GradientsAreThoseOfTheValue) {
  std::mt19937 random(7);
  constexpr int n = TypeParam::points;
  for (int trial = 0; trial < 200; ++trial) {
    V3<double> x[n], g[n], unused[n];
    for (V3<double>& p : x) p = random_point(random);
    double rest[TypeParam::numbers];
    describe_rest(rest);
    TypeParam::value(x, rest, g);
    constexpr double step = 1e-6;
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < 3; ++c) {
        double V3<double>::*const axes[] = {&V3<double>::x, &V3<double>::y, &V3<double>::z};
        double V3<double>::*const axis = axes[c];
        const double at = x[i].*axis;
        x[i].*axis = at + step;
        const double after = TypeParam::value(x, rest, unused);
        x[i].*axis = at - step;
        const double before = TypeParam::value(x, rest, unused);
        x[i].*axis = at;
        if (std::abs(after) > 2.7) continue;  // near pi, where angles are least exact, and jump to -pi
        // Second differences grow as the cube of what a thin triangle's height divides.
        double steep = 1;
        for (int k = 0; k < n; ++k) steep = std::max(steep, std::sqrt(dot(g[k], g[k])));
        EXPECT_NEAR((after - before) / (2 * step), g[i].*axis, 1e-8 * steep * steep * steep);
      }
  }
}

TYPED_TEST(PositionConstraints, PushAndTurnNothingAsAWhole) {
  std::mt19937 random(8);
  constexpr int n = TypeParam::points;
  for (int trial = 0; trial < 200; ++trial) {
    V3<double> x[n], g[n], push{}, turn{};
    for (V3<double>& p : x) p = random_point(random);
    double rest[TypeParam::numbers];
    describe_rest(rest);
    TypeParam::value(x, rest, g);
    double size = 0;
    for (int i = 0; i < n; ++i) push += g[i], turn += cross(x[i], g[i]), size += std::sqrt(dot(g[i], g[i]));
    EXPECT_LT(std::sqrt(dot(push, push)), 1e-14 * size);
    EXPECT_LT(std::sqrt(dot(turn, turn)), 1e-13 * size);
  }
}

TYPED_TEST(PositionConstraints, AreTheSameOverLanes) {
  std::mt19937 random(9);
  constexpr int n = TypeParam::points;
  V3<Real> x[wide][n], g[n];
  Wide3 many[n], gradients[n];
  for (int l = 0; l < wide; ++l)
    for (int i = 0; i < n; ++i) {
      const V3<double> p = random_point(random);
      x[l][i] = {Real(p.x), Real(p.y), Real(p.z)};
      many[i].x[l] = x[l][i].x, many[i].y[l] = x[l][i].y, many[i].z[l] = x[l][i].z;
    }
  Wide rest[TypeParam::numbers];
  Real same[TypeParam::numbers];
  describe_rest(rest), describe_rest(same);
  const Wide value = TypeParam::value(many, rest, gradients);
  for (int l = 0; l < wide; ++l) {
    const Real one = TypeParam::value(x[l], same, g);
    const Real eps = 64 * std::numeric_limits<Real>::epsilon();
    EXPECT_NEAR(value[l], one, eps);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(gradients[i].y[l], g[i].y, eps * (1 + std::abs(g[i].y)));
  }
}

TYPED_TEST(PositionConstraints, AreFiniteWhereTheyDegenerate) {
  constexpr int n = TypeParam::points;
  V3<double> x[n], g[n];
  for (V3<double>& p : x) p = {0.5, 0.5, 0.5};
  double rest[TypeParam::numbers];
  describe_rest(rest);
  EXPECT_TRUE(std::isfinite(TypeParam::value(x, rest, g)));
  for (const V3<double>& u : g) EXPECT_EQ(dot(u, u), 0);
}

/// Rods, cells of plates and isometric hinges: a vector C = sum k_i x_i, moved by dx_i = w_i k_i lambda with
/// lambda along C.
template <std::size_t n>
void expect_of_a_weighted_sum(const LinearConstraint<int(n)>& of) {
  std::mt19937 random(11);
  const auto& k = of.weights;
  for (int trial = 0; trial < 100; ++trial) {
    Vector3<double> x[n];
    for (Vector3<double>& p : x) {
      const V3<double> u = random_point(random);
      p = {u.x, u.y, u.z};
    }
    const auto sum_of = [&] {
      Vector3<double> sum = Vector3<double>::Zero();
      for (std::size_t i = 0; i < n; ++i) sum += k[i] * x[i];
      return sum;
    };
    const auto energy = [&] { return sum_of().squaredNorm() / (2 * of.compliance); };
    const Vector3<double> sum = sum_of();
    Vector3<double> push = Vector3<double>::Zero(), turn = push;
    double size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Vector3<double> force = k[i] / of.compliance * sum;
      push += force, turn += x[i].cross(force), size += force.norm();
      for (int c = 0; c < 3; ++c) {
        const double at = x[i][c], step = 1e-6;
        x[i][c] = at + step;
        const double after = energy();
        x[i][c] = at - step;
        const double before = energy();
        x[i][c] = at;
        EXPECT_NEAR((after - before) / (2 * step), force[c], 1e-7 * (size + energy()));
      }
    }
    EXPECT_LT(push.norm(), 1e-13 * size);
    EXPECT_LT(turn.norm(), 1e-13 * size);
  }
}
TEST(LinearConstraints, AreGradientsOfTheirEnergyAndPushAndTurnNothing) {
  using P = Vector3<double>;
  expect_of_a_weighted_sum<3>(rod_bending(0.3, 0.2, 2));
  expect_of_a_weighted_sum<4>(cell_twist(0.3, 0.2, 2));
  expect_of_a_weighted_sum<4>(
      isometric_bending(P(0, 0, 0), P(1, 0.1, 0), P(0.4, 0.8, 0), P(0.3, -0.7, 0), 2.0));
}

// A sheet of equilateral triangles bent to a cylinder has the energy D kappa^2 / 2 of its area, about every
// direction: Seung & Nelson 1988, "Defects in flexible membranes with crystalline order".
TEST(LinearConstraints, BendSheetsOfEquilateralTrianglesByTheirRigidity) {
  using P = Vector3<double>;
  constexpr double side = 0.3, rigidity = 2, curvature = 0.7;
  const double height = side * std::sqrt(0.75);
  for (int degrees = 0; degrees < 180; degrees += 15) {
    const double turn = degrees * 3.14159265358979 / 180;
    double energy = 0;
    // One edge of each family, and the points beyond it on both sides.
    for (const double along : {0.0, 1.04719755119660, 2.09439510239320}) {
      const P u(std::cos(along), std::sin(along), 0), n(-std::sin(along), std::cos(along), 0);
      const P x[4] = {P::Zero(), side * u, side / 2 * u + height * n, side / 2 * u - height * n};
      const LinearConstraint<4> bend = isometric_bending(x[0], x[1], x[2], x[3], rigidity);
      double c = 0;
      for (int i = 0; i < 4; ++i) {
        const double s = x[i].x() * std::cos(turn) + x[i].y() * std::sin(turn);
        c += bend.weights[i] * curvature * s * s / 2;
      }
      energy += c * c / (2 * bend.compliance);
    }
    const double area = side * height;  // of the two triangles that three edges stand for
    EXPECT_NEAR(energy / (rigidity * curvature * curvature / 2 * area), 1, 1e-12) << degrees;
  }
}

TEST(AngleOf, IsThatOfTheUnitVector) {
  constexpr double eps = 1e-15;
  for (int k = -1000; k <= 1000; ++k) {
    const double a = 3.14159265358979 * k / 1000;
    // The sum 1 + cos(a) has lost digits near pi.
    EXPECT_NEAR(angle_of(std::cos(a), std::sin(a)), a, eps * (20 + 1 / (1e-3 + 3.1416 - std::abs(a)))) << a;
  }
}

TEST(DihedralConstraint, IsTheAngleOfAFoldedStrip) {
  for (const double fold : {-2.5, -1.0, -1e-3, 0.0, 0.5, 1.5707, 3.0}) {
    // A flat strip along x about the edge from a to b along z, folded down by `fold`.
    V3<double> x[4] = {{0, 0, 0}, {0, 0, 1}, {1, 0, 0.3}, {-std::cos(fold), -std::sin(fold), 0.6}}, g[4];
    EXPECT_NEAR(std::abs(DihedralConstraint::value(x, {0.0}, g)), std::abs(fold), 1e-7);
  }
}

/// The points of a tetrahedron whose inverse at rest is the unit matrix.
void place(const Matrix3<double>& f, V3<double> (&x)[4]) {
  x[0] = {0.3, -0.2, 0.5};
  for (int k = 0; k < 3; ++k) x[k + 1] = x[0] + V3<double>{f(0, k), f(1, k), f(2, k)};
}
constexpr double at_rest[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// The energy of Smith, de Goes & Kim 2018, eq. 13 without its logarithm, but for a constant.
TEST(SolidConstraints, HaveTheStableNeoHookeanEnergy) {
  std::mt19937 random(3);
  std::normal_distribution<double> u(0, 0.7);
  const double mu = 2, lambda = 5, mine = lambda + mu;
  V3<double> x[4], g[4];
  const double constant = mu / 2 * (3 + mu / mine);
  for (int trial = 0; trial < 200; ++trial) {
    Matrix3<double> f;
    for (int k = 0; k < 9; ++k) f(k / 3, k % 3) = u(random) + (k % 4 == 0 && trial % 2 == 0 ? 1 : 0);
    place(f, x);
    const double shape = DeviatoricConstraint::value(x, at_rest, g),
                 volume = HydrostaticConstraint::value(x, at_rest, g);
    const double j = f.determinant() - 1 - mu / mine;
    const double wanted = mu / 2 * f.squaredNorm() + mine / 2 * j * j - constant;
    EXPECT_NEAR(mu / 2 * shape * shape + lambda / 2 * volume * volume, wanted, 1e-12 * (1 + wanted));
  }
}

// Near rest C^2 = 2 e : e of the strain e, with an error of its order, though turned about; in Real's digits.
TEST(SolidConstraints, ShearIsExactNearRest) {
  const Matrix3<double> turn =
      Eigen::AngleAxis<double>(2, Vector3<double>(1, 2, -1).normalized()).toRotationMatrix();
  Matrix3<double> e;
  e << 0.3, 0.5, -0.2, 0.5, -0.4, 0.1, -0.2, 0.1, 0.6;
  V3<Real> x[4], g[4];
  Real rest[9];
  for (int k = 0; k < 9; ++k) rest[k] = Real(at_rest[k]);
  for (const double strain : {1e-2, 1e-3, 1e-4, 1e-5}) {
    const Matrix3<double> f = turn * (Matrix3<double>::Identity() + strain * e);
    x[0] = {0, 0, 0};
    for (int k = 0; k < 3; ++k) x[k + 1] = {Real(f(0, k)), Real(f(1, k)), Real(f(2, k))};
    const double wanted = strain * std::sqrt(2 * e.squaredNorm());
    // Places are rounded, six of them in each component of the strain.
    EXPECT_NEAR(double(DeviatoricConstraint::value(x, rest, g)), wanted,
                2 * strain * wanted + 6 * double(std::numeric_limits<Real>::epsilon()));
  }
}

}}  // namespace plenum
