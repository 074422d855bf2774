#include "plenum/draw/detail/corners.h"

#include <gtest/gtest.h>

namespace plenum { namespace {

using detail::DrawMesh;

TEST(Corners, ABoxKeepsItsEdges) {
  std::vector<Vec3> x;
  for (int k = 0; k < 8; ++k) x.emplace_back(Real(k & 1), Real(k >> 1 & 1), Real(k >> 2));
  std::vector<Index3> triangles;
  for (const auto& q :
       {std::array{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}}) {
    triangles.emplace_back(q[0], q[1], q[2]);
    triangles.emplace_back(q[0], q[2], q[3]);
  }
  DrawMesh mesh;
  build_draw_mesh({.x = x, .triangles = triangles}, 0.87f, mesh);
  EXPECT_EQ(mesh.vertices.size(), 24u);  // three faces meet at each of eight corners
  ASSERT_EQ(mesh.indices.size(), 36u);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    const Vec3 n =
        (x[triangles[t][1]] - x[triangles[t][0]]).cross(x[triangles[t][2]] - x[triangles[t][0]]).normalized();
    for (int k = 0; k < 3; ++k) {
      const detail::DrawVertex& v = mesh.vertices[mesh.indices[3 * t + k]];
      for (int c = 0; c < 3; ++c) {
        EXPECT_FLOAT_EQ(v.normal[c], float(n[c]));
        EXPECT_EQ(v.position[c], float(x[triangles[t][k]][c]));
      }
    }
  }
  build_draw_mesh({.x = x, .triangles = triangles}, 3.2f, mesh);
  EXPECT_EQ(mesh.vertices.size(), 8u);  // as cloth: smooth all over
}

TEST(Corners, GivenNormalsAndValuesAreKept) {
  const std::vector<Vec3> x = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)};
  const std::vector<Vec3> normals(3, Vec3(Real(0.6), 0, Real(0.8)));
  const std::vector<Real> values = {1, 2, 3};
  const std::vector<Index3> triangles = {Index3(0, 1, 2)};
  DrawMesh mesh;
  build_draw_mesh({.x = x, .triangles = triangles, .normals = normals, .colour = {.values = values}}, 0.87f,
                  mesh);
  ASSERT_EQ(mesh.vertices.size(), 3u);
  for (int k = 0; k < 3; ++k) {
    EXPECT_FLOAT_EQ(mesh.vertices[k].normal[0], 0.6f);
    EXPECT_EQ(mesh.vertices[k].value, float(k + 1));
  }
}

}}  // namespace plenum
