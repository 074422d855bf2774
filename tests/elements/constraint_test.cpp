#include "plenum/elements/constraint.h"

#include <gtest/gtest.h>

#include <random>

#include "elements/vectors.h"

namespace plenum { namespace {

using test::random_vector;
using test::V;

/// Gradient and curvature against central differences of the value along a line x + s v.
template <class Value, class Terms>
void expect_derivatives(const V& x, const V& v, const Value& value, const Terms& term) {
  const double e = 1e-4;
  const double before = value(V(x - e * v)), here = value(x), after = value(V(x + e * v));
  EXPECT_NEAR(term.value, here, 1e-12);
  EXPECT_NEAR(term.gradient.dot(v), (after - before) / (2 * e), 1e-5);
  EXPECT_NEAR(term.curvature, (after - 2 * here + before) / (e * e), 1e-4);
}

TEST(Constraint, DistanceHasTheDerivativesOfItsValue) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 30; ++trial) {
    const V d = random_vector(random), v = random_vector(random);
    expect_derivatives(
        d, v, [](const V& at) { return distance_constraint<double>(at, V::Zero(), 0.7).value; },
        distance_constraint(d, v, 0.7));
  }
}

TEST(Constraint, WiresHaveTheDerivativesOfTheirValues) {
  std::mt19937 random(2);
  for (const WireShape shape : {WireShape::line, WireShape::circle, WireShape::helix})
    for (int trial = 0; trial < 30; ++trial) {
      Wire<double> wire{.shape = shape, .origin = random_vector(random), .radius = 0.8, .pitch = 1.3};
      wire.axis = random_vector(random).normalized();
      wire.radial = wire.axis.unitOrthogonal();
      const V x = random_vector(random), v = random_vector(random);
      for (std::size_t k = 0; k < 2; ++k)
        expect_derivatives(
            x, v, [&](const V& at) { return wire_constraints<double>(wire, at, V::Zero())[k].value; },
            wire_constraints(wire, x, v)[k]);
    }
}

TEST(Constraint, PointsOfTheCurvesHaveValueZero) {
  const V origin(1, 2, 3);
  for (double s = -3; s < 3; s += 0.37) {
    const Wire<double> line{
        .shape = WireShape::line, .origin = origin, .axis = V::UnitZ(), .radial = V::UnitX()};
    const Wire<double> circle{
        .shape = WireShape::circle, .origin = origin, .axis = V::UnitZ(), .radial = V::UnitX(), .radius = 2};
    const Wire<double> helix{.shape = WireShape::helix,
                             .origin = origin,
                             .axis = V::UnitZ(),
                             .radial = V::UnitX(),
                             .radius = 2,
                             .pitch = 0.5};
    const V on_line = origin + V(0, 0, s), on_circle = origin + V(2 * std::cos(s), 2 * std::sin(s), 0);
    const V on_helix = on_circle + V(0, 0, 0.5 * s / (2 * std::numbers::pi));  // right-handed
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(wire_constraints<double>(line, on_line, V::Zero())[k].value, 0, 1e-12);
      EXPECT_NEAR(wire_constraints<double>(circle, on_circle, V::Zero())[k].value, 0, 1e-12);
      EXPECT_NEAR(wire_constraints<double>(helix, on_helix, V::Zero())[k].value, 0, 1e-12);
    }
  }
}

}}  // namespace plenum
