// Opening meshes along their edges: they stay manifolds, with the same triangles.
#include "plenum/geometry/surface_tear.h"

#include <gtest/gtest.h>

#include <random>

#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"

namespace plenum { namespace {

struct Sheet {
  TriangleMesh mesh;
  std::vector<Index> held = {}, from = {};

  SurfaceTear tear() {
    return SurfaceTear(mesh.x, mesh.triangles, held,
                       [this](Index a, Index b, std::span<const Index> kept, std::span<const Index> moved) {
                         EXPECT_EQ(std::size_t(b), mesh.x.size());
                         EXPECT_FALSE(kept.empty());
                         EXPECT_FALSE(moved.empty());
                         mesh.x.push_back(Vec3(mesh.x[std::size_t(a)]));
                         from.push_back(a);
                       });
  }
};

TEST(SurfaceTear, AnEdgeInsideOpensASlitOfTwoEdges) {
  Sheet sheet{grid_mesh(Vec2(4, 4), 4, 4)};
  const TopologyReport before = topology(sheet.mesh);
  SurfaceTear tear = sheet.tear();
  const Index middle = 2 * 5 + 2;
  ASSERT_TRUE(tear.open_edge(middle, middle + 1));
  const TopologyReport after = topology(sheet.mesh);
  EXPECT_EQ(sheet.from.size(), 1U);
  EXPECT_EQ(after.triangles, before.triangles);
  EXPECT_EQ(after.edges, before.edges + 2);
  EXPECT_EQ(after.boundary_edges, before.boundary_edges + 4);
  EXPECT_TRUE(after.manifold() && after.oriented());
  // A hole: V - E + F falls by one.
  EXPECT_EQ(after.euler_characteristic(), before.euler_characteristic() - 1);
  // The edge itself and what lies across it stay where they were.
  EXPECT_TRUE(tear.is_touched(sheet.from[0]));
  EXPECT_FALSE(tear.is_touched(0));
}

TEST(SurfaceTear, ASlitFromBorderToBorderTakesThePiecesApart) {
  Sheet sheet{grid_mesh(Vec2(4, 4), 4, 4)};
  SurfaceTear tear = sheet.tear();
  // The last vertex comes apart by itself, as its triangles hang together by it alone.
  for (Index row = 0; row < 4; ++row)
    EXPECT_TRUE(tear.open(row * 5 + 2, [&](Index t) { return tear.centroid(t).x() > 0; }));
  const TopologyReport after = topology(sheet.mesh);
  EXPECT_EQ(after.components, 2U);
  EXPECT_EQ(after.vertices, 30U);
  EXPECT_TRUE(after.manifold() && after.oriented());
}

TEST(SurfaceTear, WhatIsHeldIsDividedOnlyWhereATearHasComeToIt) {
  Sheet sheet{grid_mesh(Vec2(2, 2), 2, 2), {4}};
  SurfaceTear tear = sheet.tear();
  EXPECT_FALSE(tear.open(4, [&](Index t) { return tear.centroid(t).x() > 0; }));
  EXPECT_TRUE(tear.open(1, [&](Index t) { return tear.centroid(t).x() > 0; }));
  EXPECT_TRUE(tear.open(7, [&](Index t) { return tear.centroid(t).x() > 0; }));
  const TopologyReport after = topology(sheet.mesh);
  EXPECT_EQ(after.components, 2U);
  EXPECT_EQ(after.bow_tie_vertices, 0U);
  EXPECT_EQ(sheet.from.size(), 3U);
}

TEST(SurfaceTear, RandomTearsLeaveAManifold) {
  std::mt19937 random(7);
  for (Sheet sheet : {Sheet{grid_mesh(Vec2(1, 1), 8, 8)}, Sheet{icosphere_mesh(1, 2)}}) {
    const std::size_t triangles = sheet.mesh.triangles.size();
    for (int round = 0; round < 60; ++round) {
      SurfaceTear tear = sheet.tear();
      const Index3 t = sheet.mesh.triangles[random() % triangles];
      const auto k = int(random() % 3);
      tear.open_edge(t[k], t[(k + 1) % 3]);
      const TopologyReport after = topology(sheet.mesh);
      ASSERT_TRUE(after.manifold()) << after.complaint();
      ASSERT_TRUE(after.oriented()) << after.complaint();
      ASSERT_EQ(after.triangles, triangles);
      ASSERT_EQ(after.unreferenced_vertices, 0U);
      ASSERT_EQ(after.degenerate_triangles, 0U);
    }
    EXPECT_GT(sheet.from.size(), 30U);
  }
}

}}  // namespace plenum
