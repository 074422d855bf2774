// The point of a triangle that is nearest to a shape.
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/geometry/nearest_on_triangle.h"

namespace plenum { namespace {

constexpr Real thickness = Real(0.01);

Shape unit_box() {
  return Shape(BoxShape{Vec3(1, 1, 1)});
}

// By a brute-force search over the triangle: the depth that is found is the deepest, but for the pull to the
// middle of 1/40 of an edge at most.
TEST(NearestOnTriangle, IsAsDeepAsASearchFinds) {
  const Shape shapes[] = {unit_box(), Shape(SphereShape{1}), Shape(CapsuleShape{1, Real(0.5)})};
  for (const Shape& shape : shapes)
    for (int k = 0; k < 50; ++k) {
      const auto any = [&](int i) { return Real(std::sin(12.9898 * (k * 9 + i) + 1) * 1.2); };
      TriangleCorners t;
      for (int j = 0; j < 3; ++j) t.x[j] = Vec3(any(3 * j), 1 + any(3 * j + 1) / 2, any(3 * j + 2));
      const Vec3 found = nearest_weights(shape, t, thickness, pull_to_middle);
      EXPECT_NEAR(found.sum(), 1, 1e-5);
      EXPECT_GE(found.minCoeff(), 0);
      Real least = 10, longest = 0;
      for (int j = 0; j < 3; ++j) longest = std::max(longest, (t.x[(j + 1) % 3] - t.x[j]).norm());
      constexpr int n = 200;
      for (int a = 0; a <= n; ++a)
        for (int b = 0; a + b <= n; ++b) {
          const Vec3 weight = Vec3(Real(a), Real(b), Real(n - a - b)) / Real(n);
          least = std::min(least, shape.signed_distance(t.at(weight)).distance);
        }
      EXPECT_LT(shape.signed_distance(t.at(found)).distance, least + longest / 40 + 2 * thickness)
          << k << " of " << shape.variant().index();
    }
}

// A triangle that lies along a face has no nearest point, and one that a box's edge crosses has a line of
// them: what is found moves as little as the triangle does.
TEST(NearestOnTriangle, OfPointsAsNearItIsTheMiddle) {
  TriangleCorners flat;
  flat.x[0] = Vec3(0, 1, 0), flat.x[1] = Vec3(Real(0.3), 1, 0), flat.x[2] = Vec3(0, 1, Real(0.3));
  EXPECT_LT(
      (nearest_weights(unit_box(), flat, thickness, pull_to_middle) - Vec3::Constant(Real(1) / 3)).norm(),
      1e-3);
  const auto place = [](Real tilt) {
    TriangleCorners t;
    // Its first edge along the box's, inside; its third corner far outside.
    t.x[0] = Vec3(Real(0.99), Real(1 - tilt), Real(-0.2));
    t.x[1] = Vec3(Real(0.99), Real(1 + tilt), Real(0.2));
    t.x[2] = Vec3(Real(1.3), Real(1.1), 0);
    return t.at(nearest_weights(unit_box(), t, thickness, pull_to_middle)).eval();
  };
  // By 0.1 mm each way; without a pull it is at one end or the other, 0.4 m apart.
  EXPECT_LT((place(Real(1e-4)) - place(Real(-1e-4))).norm(), 0.01);
}

}}  // namespace plenum
