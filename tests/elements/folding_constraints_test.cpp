// Constraints of skins that give to being pressed: where they hold, where not, and their gradients.
#include "plenum/elements/folding_constraints.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plenum { namespace {

using namespace detail;  // NOLINT: what is tested

/// A triangle, or two of its points, of a size.
template <class C>
void put_folding(double size, V3<double> (&x)[C::points]) {
  const V3<double> corners[3] = {{0.2, -0.1, 0.3}, {1.1, 0.4, 0.2}, {0.1, 0.7, 0.9}};
  for (int i = 0; i < C::points; ++i) x[i] = size * corners[i];
}

/// The rest of a C that holds at size 1, and the part that it may shrink to.
template <class C>
void describe_folding(double part, double (&rest)[C::numbers + 1]) {
  V3<double> x[C::points], g[C::points];
  put_folding<C>(1, x);
  for (double& r : rest) r = 0;
  if constexpr (C::numbers == 4) {
    // Threads along the triangle's own sides, as long as these are at rest.
    const V3<double> a = x[1] - x[0], b = x[2] - x[0];
    rest[0] = 1 / std::sqrt(dot(a, a)), rest[3] = 1 / std::sqrt(dot(b, b));
  } else {
    const double none[1] = {0};
    rest[0] = C::value(x, none, g);
  }
  rest[C::numbers] = part;
}

template <class C>
class FoldingConstraints : public testing::Test {};
using FoldingKinds = testing::Types<DistanceConstraint, TriangleStretchConstraint<0>,
                                    TriangleStretchConstraint<1>, TriangleAreaConstraint>;
TYPED_TEST_SUITE(FoldingConstraints, FoldingKinds);

TYPED_TEST(FoldingConstraints, HoldFromWhatTheyShrinkToToTheirRest) {
  using C = FoldingConstraint<TypeParam>;
  for (const double part : {0.3, 0.8, 1.0}) {
    double rest[C::numbers];
    describe_folding<TypeParam>(part, rest);
    V3<double> x[C::points], g[C::points];
    const auto at = [&](double size) {
      put_folding<TypeParam>(size, x);
      return C::value(x, rest, g);
    };
    EXPECT_NEAR(at(1), 0, 1e-15) << part;
    EXPECT_NEAR(at(part), 0, 1e-15) << part;
    EXPECT_NEAR(at((1 + part) / 2), 0, 1e-15) << part;
    EXPECT_GT(at(1.01), 0) << part;
    EXPECT_LT(at(0.99 * part), 0) << part;
  }
}

TYPED_TEST(FoldingConstraints, HaveTheGradientsOfTheirValueWhereTheyDoNotHold) {
  using C = FoldingConstraint<TypeParam>;
  double rest[C::numbers];
  describe_folding<TypeParam>(0.6, rest);
  for (const double size : {0.5, 1.2}) {
    V3<double> x[C::points], g[C::points], unused[C::points];
    put_folding<TypeParam>(size, x);
    C::value(x, rest, g);
    constexpr double step = 1e-5;
    for (int i = 0; i < C::points; ++i)
      for (double V3<double>::*const axis : {&V3<double>::x, &V3<double>::y, &V3<double>::z}) {
        const double at = x[i].*axis;
        x[i].*axis = at + step;
        const double after = C::value(x, rest, unused);
        x[i].*axis = at - step;
        const double before = C::value(x, rest, unused);
        x[i].*axis = at;
        // step^2 / 6 times third derivatives of a length of half a metre.
        EXPECT_NEAR((after - before) / (2 * step), g[i].*axis, 1e-9) << size << ' ' << i;
      }
  }
}

TEST(FoldingShear, IsThatOfTheTriangle) {
  V3<double> x[3], g[3], h[3];
  put_folding<TriangleShearConstraint>(0.7, x);
  const double full[4] = {1, 0.2, 0.1, 0.9}, rest[5] = {1, 0.2, 0.1, 0.9, 0.5};
  EXPECT_EQ(FoldingConstraint<TriangleShearConstraint>::value(x, rest, g),
            TriangleShearConstraint::value(x, full, h));
}

}}  // namespace plenum
