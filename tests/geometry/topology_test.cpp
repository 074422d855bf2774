#include "plenum/geometry/topology.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum { namespace {

/// One vertex for each corner, as STL files have it.
TriangleMesh exploded(const TriangleMesh& mesh) {
  TriangleMesh result;
  for (const Index3& t : mesh.triangles) {
    const auto first = Index(result.x.size());
    for (int k = 0; k < 3; ++k) result.x.push_back(mesh.x[t[k]]);
    result.triangles.emplace_back(first, first + 1, first + 2);
  }
  return result;
}

TEST(Topology, OfClosedShapes) {
  for (const auto& [mesh, genus] :
       {std::pair{icosphere_mesh(1, 2), 0}, {torus_mesh(1, Real(0.3), 12, 8), 1}}) {
    const TopologyReport r = topology(mesh);
    EXPECT_TRUE(r.solid());
    EXPECT_EQ(r.euler_characteristic(), 2 - 2 * genus);
    EXPECT_EQ(r.components, 1u);
    EXPECT_EQ(r.complaint(), "");
  }
}

TEST(Topology, OfAnOpenGridCountsItsBoundary) {
  const TopologyReport r = topology(grid_mesh({1, 1}, 4, 3));
  EXPECT_FALSE(r.closed());
  EXPECT_TRUE(r.manifold());
  EXPECT_TRUE(r.oriented());
  EXPECT_EQ(r.boundary_edges, 14u);
  EXPECT_EQ(r.complaint(), "has 14 boundary edges (0-1, 0-5, 1-2, 2-3, 3-4, 4-9, 5-10, 9-14, ...)");
}

TEST(Topology, FindsEachDefect) {
  const TriangleMesh sphere = icosphere_mesh(1, 1);
  {
    TriangleMesh mesh = sphere;
    std::swap(mesh.triangles[3][0], mesh.triangles[3][1]);
    const TopologyReport r = topology(mesh);
    EXPECT_EQ(r.inconsistent_edges, 3u);
    EXPECT_EQ(r.first_inconsistent.size(), 3u);
    EXPECT_FALSE(r.solid());
  }
  {
    TriangleMesh mesh = sphere;  // a fin on an edge
    mesh.x.emplace_back(2, 2, 2);
    mesh.triangles.emplace_back(mesh.triangles[0][0], mesh.triangles[0][1], Index(mesh.x.size() - 1));
    const TopologyReport r = topology(mesh);
    EXPECT_EQ(r.non_manifold_edges, 1u);
    EXPECT_EQ(r.unbalanced_edges, 1u);
    ASSERT_EQ(r.first_non_manifold.size(), 1u);
    Index2 edge(mesh.triangles[0][0], mesh.triangles[0][1]);
    if (edge[0] > edge[1]) std::swap(edge[0], edge[1]);
    EXPECT_EQ(r.first_non_manifold[0], edge);
    EXPECT_EQ(r.boundary_edges, 2u);
    EXPECT_FALSE(r.manifold());
  }
  {
    TriangleMesh mesh = sphere;
    mesh.triangles.push_back(Index3(mesh.triangles[5][1], mesh.triangles[5][2], mesh.triangles[5][0]));
    const TopologyReport r = topology(mesh);
    EXPECT_EQ(r.duplicate_triangles, 1u);
    EXPECT_EQ(r.first_duplicates, std::vector<Index>{80});
  }
  {
    TriangleMesh mesh = sphere;
    mesh.triangles.emplace_back(1, 1, 2);
    mesh.x.push_back(Real(0.5) * (mesh.x[0] + mesh.x[1]));  // collinear with two others
    mesh.triangles.emplace_back(0, 1, Index(mesh.x.size() - 1));
    mesh.x.emplace_back(9, 9, 9);
    const TopologyReport r = topology(mesh);
    EXPECT_EQ(r.first_degenerates, (std::vector<Index>{80, 81}));
    EXPECT_EQ(r.unreferenced_vertices, 1u);
    EXPECT_NE(r.complaint().find("2 degenerate triangles (80, 81)"), std::string::npos) << r.complaint();
    EXPECT_NE(r.complaint().find("1 unreferenced vertex (43)"), std::string::npos) << r.complaint();
  }
  {
    // Two spheres that share one vertex.
    TriangleMesh mesh = sphere;
    const auto offset = Index(mesh.x.size());
    for (const Vec3& p : sphere.x) mesh.x.push_back(p + Real(2) * sphere.x[0]);
    for (const Index3& t : sphere.triangles) mesh.triangles.emplace_back(t + Index3::Constant(offset));
    EXPECT_EQ(topology(mesh).components, 2u);
    Index opposite = 0;
    for (Index v = 0; v < offset; ++v)
      if (sphere.x[v].dot(sphere.x[0]) < sphere.x[opposite].dot(sphere.x[0])) opposite = v;
    for (Index3& t : mesh.triangles)
      for (int k = 0; k < 3; ++k)
        if (t[k] == opposite + offset) t[k] = 0;
    const TopologyReport r = topology(mesh);
    EXPECT_EQ(r.components, 1u);
    EXPECT_EQ(r.bow_tie_vertices, 1u);
    EXPECT_EQ(r.first_bow_ties, std::vector<Index>{0});
    EXPECT_TRUE(r.closed());
    EXPECT_FALSE(r.manifold());
  }
}

TEST(Topology, OfNothing) {
  const TopologyReport r = topology(TriangleMesh{});
  EXPECT_FALSE(r.closed());
  EXPECT_FALSE(r.solid());
  EXPECT_EQ(r.components, 0u);
}

TEST(Require, RefusesWithCountsAndPlaces) {
  const auto message = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  TriangleMesh mesh = icosphere_mesh(1, 1);
  EXPECT_EQ(message([&] { require_solid(mesh, "ball"); }), "");
  EXPECT_EQ(message([&] { require_surface(mesh, "ball"); }), "");
  for (Index3& t : mesh.triangles) std::swap(t[0], t[1]);
  EXPECT_EQ(message([&] { require_solid(mesh, "ball"); }),
            "ball: faces inward; turn its triangles, or repair it (\"repair\": true beside a file)");
  EXPECT_EQ(message([&] { require_surface(mesh, "ball"); }), "");
  mesh.triangles.pop_back();
  EXPECT_NE(message([&] { require_solid(mesh, "ball"); }).find("3 boundary edges"), std::string::npos);
  EXPECT_EQ(message([&] { require_surface(mesh, "ball"); }), "");
  mesh.triangles.emplace_back(3, 3, 5);
  EXPECT_NE(message([&] { require_surface(mesh, "ball"); }).find("1 degenerate triangle (79)"),
            std::string::npos);
  EXPECT_THROW(require_solid(TriangleMesh{}, "nothing"), Error);
  EXPECT_THROW(require_surface(TriangleMesh{}, "nothing"), Error);
}

TEST(Topology, WithoutRepeatsKeepsWhatTurnsTheOtherWay) {
  const TriangleMesh mesh = {{Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)},
                             {{0, 1, 2}, {1, 2, 0}, {0, 2, 1}, {0, 1, 3}, {2, 0, 1}, {1, 3, 0}, {2, 1, 0}}};
  const TriangleMesh once = without_repeats(mesh);
  EXPECT_EQ(once.x, mesh.x);
  EXPECT_EQ(once.triangles, (std::vector<Index3>{{0, 1, 2}, {0, 2, 1}, {0, 1, 3}}));
  // Also where each triangle has vertices of its own.
  EXPECT_EQ(without_repeats(exploded(mesh)).triangles,
            (std::vector<Index3>{{0, 1, 2}, {6, 7, 8}, {9, 10, 11}}));
}

TEST(Topology, SolidsMayHaveVerticesThatNoTriangleHas) {
  const TriangleMesh sphere = icosphere_mesh(1, 1);
  TriangleMesh mesh = sphere;
  mesh.x.insert(mesh.x.begin(), 2, Vec3(9, 9, 9));
  mesh.x.push_back(Vec3(9, 9, 9));
  for (Index3& t : mesh.triangles) t.array() += 2;
  EXPECT_NO_THROW(require_solid(mesh, "ball"));
  EXPECT_THROW(require_surface(mesh, "ball"), Error);
  const TriangleMesh dropped = without_loose_vertices(mesh);
  EXPECT_EQ(dropped.x, sphere.x);
  EXPECT_EQ(dropped.triangles, sphere.triangles);
}

TEST(SolidMesh, TrianglesThatRepeatOthersCountOnce) {
  // A tree of boxes cannot tell equal triangles apart: a million of them would be asked one by one.
  const TriangleMesh box = box_mesh(Vec3(1, 1, 1));
  TriangleMesh often = box;
  for (int k = 0; k < 100'000; ++k) often.triangles.push_back(box.triangles[std::size_t(k) % 3]);
  const SolidMesh once(box), many(often);
  EXPECT_EQ(many.mesh.triangles, box.triangles);
  EXPECT_TRUE(once.doubts.empty());
  EXPECT_NE(many.doubts.find("100000 duplicate triangles"), std::string::npos) << many.doubts;
  for (const Vec3& x : {Vec3(0, 0, 0), Vec3(Real(0.9), 0, 0), Vec3(0, Real(1.4), Real(0.2))})
    EXPECT_EQ(many.signed_distance(x).distance, once.signed_distance(x).distance);
}

TEST(Require, NamesRepairingWhereItMends) {
  const auto refusal = [](const TriangleMesh& mesh) {
    try {
      require_solid(mesh, "ball");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const TriangleMesh sphere = icosphere_mesh(1, 1);
  const std::string start = "ball: does not enclose a volume cleanly: it has ",
                    repair = "; repair it (\"repair\": true beside a file)";
  TriangleMesh mesh = sphere;
  std::swap(mesh.triangles[3][0], mesh.triangles[3][1]);
  EXPECT_TRUE(refusal(mesh).starts_with(start + "3 edges with a flipped triangle (")) << refusal(mesh);
  EXPECT_TRUE(refusal(mesh).ends_with(repair)) << refusal(mesh);
  mesh = sphere;
  mesh.triangles.push_back(mesh.triangles[5]);
  EXPECT_NE(refusal(mesh).find("1 duplicate triangle (80)" + repair), std::string::npos) << refusal(mesh);
  mesh = exploded(sphere);
  EXPECT_TRUE(refusal(mesh).starts_with(start + "240 boundary edges (0-1, 0-2, ")) << refusal(mesh);
  EXPECT_TRUE(refusal(mesh).ends_with(repair)) << refusal(mesh);
  // A hole it leaves, and says so; the rest it mends.
  mesh = sphere;
  mesh.triangles.pop_back();
  EXPECT_TRUE(refusal(mesh).ends_with("; mend it where it was made, for repairing does not"))
      << refusal(mesh);
  mesh.triangles.push_back(mesh.triangles[5]);
  EXPECT_NE(refusal(mesh).find("for repairing leaves a mesh that has 3 boundary edges ("), std::string::npos)
      << refusal(mesh);
  mesh.triangles.back()[2] = 42;
  EXPECT_EQ(refusal(mesh),
            "ball: has a triangle (79) with a vertex that is not there: 42 (allowed: 0 to 41)");
}

TEST(CollisionDoubts, AreAboutWhatMixesUpTheSidesAndNotAboutHoles) {
  const TriangleMesh sphere = icosphere_mesh(1, 1);
  EXPECT_EQ(collision_doubts(sphere), "");
  TriangleMesh mesh = sphere;
  for (Index3& t : mesh.triangles) std::swap(t[0], t[1]);
  EXPECT_TRUE(collision_doubts(mesh).starts_with("faces inward, so that it is a room"))
      << collision_doubts(mesh);
  mesh = sphere;
  mesh.triangles.pop_back();
  mesh.x.emplace_back(9, 9, 9);
  EXPECT_EQ(collision_doubts(mesh), "");
  mesh.triangles.push_back(mesh.triangles[5]);
  EXPECT_NE(collision_doubts(mesh).find("1 duplicate triangle (79), beside which collisions may err; repair"),
            std::string::npos)
      << collision_doubts(mesh);
  // A wall inside of a box, whose two ends are edges of three triangles.
  mesh = box_mesh(Vec3(1, 1, 1), Index3(2, 1, 1));
  std::vector<Index> ring;
  for (Index v = 0; v < Index(mesh.x.size()); ++v)
    if (mesh.x[std::size_t(v)][0] == 0) ring.push_back(v);
  ASSERT_EQ(ring.size(), 4u);
  mesh.triangles.emplace_back(ring[0], ring[1], ring[2]);
  EXPECT_GT(topology(mesh).unbalanced_edges, 0u);
  EXPECT_NE(collision_doubts(mesh).find("of three triangles or more ("), std::string::npos);
  // Two boxes side by side that share an edge are closed and consistent: four triangles, two each way.
  mesh = box_mesh(Vec3(1, 1, 1));
  TriangleMesh two = mesh;
  for (const Index3& t : mesh.triangles) two.triangles.emplace_back(t.array() + Index(mesh.x.size()));
  for (const Vec3& x : mesh.x) two.x.push_back(x + Vec3(2, 2, 0));
  two = welded(two);
  EXPECT_EQ(topology(two).non_manifold_edges, 1u);
  EXPECT_EQ(topology(two).unbalanced_edges, 0u);
  EXPECT_EQ(collision_doubts(two), "");
}

TEST(Weld, JoinsCornersIntoTheOriginalSurface) {
  const TriangleMesh mesh = torus_mesh(1, Real(0.3), 24, 12);
  const TriangleMesh loose = exploded(mesh);
  EXPECT_FALSE(topology(loose).closed());
  EXPECT_GT(topology(loose).coincident_vertices, 0u);
  const TriangleMesh exact = welded(loose);
  EXPECT_EQ(exact.x.size(), mesh.x.size());
  EXPECT_TRUE(topology(exact).solid());
  TriangleMesh jittered = loose;
  for (std::size_t i = 0; i < jittered.x.size(); ++i)
    jittered.x[i] += Real(1e-4) * (uniform4(1, i, 1).head<3>() - Vec3::Constant(Real(0.5)));
  EXPECT_FALSE(topology(welded(jittered)).closed());
  const TriangleMesh near = welded(jittered, Real(3e-4));
  EXPECT_EQ(near.x.size(), mesh.x.size());
  EXPECT_TRUE(topology(near).solid());
  EXPECT_NEAR(enclosed_volume(near.x, near.triangles), enclosed_volume(mesh.x, mesh.triangles), 1e-3);
}

TEST(Weld, MovesNoVertexFartherThanTheTolerance) {
  std::vector<Vec3> x;
  for (int i = 0; i < 3000; ++i) x.push_back(uniform4(2, i, 1).head<3>());
  x.emplace_back(Real(-0.0), 0, 0);
  x.emplace_back(0, Real(-0.0), 0);
  for (const Real tolerance : {Real(0), Real(0.01), Real(0.1), Real(10)}) {
    const std::vector<Index> to = weld_map(x, tolerance);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(to[i], Index(i));
      ASSERT_EQ(to[to[i]], to[i]);
      ASSERT_LE((x[i] - x[to[i]]).norm(), tolerance * Real(1.0001));
    }
    // What is kept apart is farther apart than the tolerance.
    std::vector<Index> kept;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (to[i] == Index(i)) kept.push_back(Index(i));
    for (std::size_t a = 0; a < kept.size(); ++a)
      for (std::size_t b = a + 1; b < kept.size() && tolerance > Real(0.05); ++b)
        ASSERT_GT((x[kept[a]] - x[kept[b]]).norm(), tolerance * Real(0.9999));
  }
  EXPECT_EQ(weld_map(x, 0)[3001], 3000);  // minus zero is zero
  EXPECT_THROW(weld_map(x, -1), Error);
}

TEST(Repair, OrientsDropsAndCompacts) {
  TriangleMesh mesh = torus_mesh(1, Real(0.3), 24, 12);
  const double volume = enclosed_volume(mesh.x, mesh.triangles);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    if (uniform4(3, t, 1)[0] < Real(0.6)) std::swap(mesh.triangles[t][0], mesh.triangles[t][2]);
  mesh.triangles.push_back(mesh.triangles[7]);
  mesh.triangles.emplace_back(4, 4, 9);
  mesh.x.emplace_back(5, 5, 5);
  const TriangleMesh fixed = repaired(mesh);
  const TopologyReport r = topology(fixed);
  EXPECT_TRUE(r.solid()) << r.complaint();
  EXPECT_EQ(r.unreferenced_vertices, 0u);
  EXPECT_NEAR(enclosed_volume(fixed.x, fixed.triangles), volume, 1e-6);
}

TEST(Repair, KeepsWhatItIsToldToKeep) {
  TriangleMesh mesh = icosphere_mesh(1, 1);
  mesh.triangles.emplace_back(4, 4, 9);
  mesh.triangles.push_back(mesh.triangles[7]);
  mesh.x.emplace_back(5, 5, 5);
  const TriangleMesh same = repaired(mesh, {false, false, false, false});
  EXPECT_EQ(same.x.size(), mesh.x.size());
  EXPECT_EQ(same.triangles, mesh.triangles);
}

TEST(Repair, TurnsTheFewOfAnOpenSurface) {
  TriangleMesh mesh = grid_mesh({1, 1}, 6, 6);
  for (const int t : {0, 7, 20}) std::swap(mesh.triangles[t][0], mesh.triangles[t][1]);
  const TriangleMesh fixed = repaired(mesh);
  EXPECT_TRUE(topology(fixed).oriented());
  for (const Index3& t : fixed.triangles)
    EXPECT_GT(area_vector(fixed.x[t[0]], fixed.x[t[1]], fixed.x[t[2]])[1], 0);
}

TEST(Repair, OfAMoebiusStripLeavesASeam) {
  const Index n = 20;
  TriangleMesh mesh;
  for (Index i = 0; i < n; ++i) {
    const Real angle = Real(2 * 3.14159265358979) * Real(i) / Real(n);
    for (const Real s : {Real(-0.2), Real(0.2)})
      mesh.x.emplace_back((1 + s * std::cos(angle / 2)) * std::cos(angle), s * std::sin(angle / 2),
                          (1 + s * std::cos(angle / 2)) * std::sin(angle));
  }
  for (Index i = 0; i < n; ++i) {
    const Index a = 2 * i, b = a + 1;
    const Index c = i + 1 < n ? a + 2 : 1, d = i + 1 < n ? a + 3 : 0;  // the last joins the first upside down
    mesh.triangles.emplace_back(a, b, c);
    mesh.triangles.emplace_back(c, b, d);
  }
  const TopologyReport r = topology(repaired(mesh));
  EXPECT_TRUE(r.manifold());
  EXPECT_GE(r.inconsistent_edges, 1u);
}

}}  // namespace plenum
