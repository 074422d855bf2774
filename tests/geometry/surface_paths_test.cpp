// Paths along surfaces: never shorter than the true distance, and not much longer.
#include "plenum/geometry/surface_paths.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plenum/geometry/shapes.h"

namespace plenum { namespace {

TEST(SurfacePaths, OnASphereAreGreatCirclesButForLittle) {
  const TriangleMesh sphere = icosphere_mesh(1, 4);
  const std::vector<Index> sources = {0, 7};
  const SurfacePaths::Distances far = SurfacePaths(sphere.x, sphere.triangles).from(sources);
  double longest = 0;
  for (std::size_t i = 0; i < sphere.x.size(); ++i) {
    const double a = std::acos(std::clamp(double(sphere.x[i].dot(sphere.x[0])), -1.0, 1.0)),
                 b = std::acos(std::clamp(double(sphere.x[i].dot(sphere.x[7])), -1.0, 1.0));
    // The mesh is inside of the sphere by (edge/2)^2/2 of its radius.
    EXPECT_GT(double(far.distance[i]), 0.998 * std::min(a, b) - 1e-3);
    EXPECT_LT(double(far.distance[i]), 1.05 * std::min(a, b) + 1e-6);
    EXPECT_TRUE(far.source[i] == 0 || far.source[i] == 7);
    longest = std::max(longest, double(far.distance[i]));
  }
  EXPECT_GT(longest, 1);
}

TEST(SurfacePaths, GoOverPairsOfTriangles) {
  // Across the diagonal of a square.
  const std::vector<Vec3> x = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(1, 1, 0), Vec3(0, 1, 0), Vec3(9, 9, 9)};
  const std::vector<Index3> triangles = {Index3(0, 1, 3), Index3(1, 2, 3)};
  const SurfacePaths paths(x, triangles);
  const SurfacePaths::Distances far = paths.from(std::vector<Index>{0});
  EXPECT_NEAR(far.distance[2], std::sqrt(2.0), 1e-6);
  EXPECT_EQ(far.source[4], -1);
  EXPECT_TRUE(std::isinf(far.distance[4]));
  EXPECT_EQ(paths.neighbours(0).size(), 2U);
}

}}  // namespace plenum
