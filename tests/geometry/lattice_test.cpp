#include "plenum/geometry/lattice.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/distance.h"
#include "plenum/geometry/embedding.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"

namespace plenum { namespace {

using std::numbers::pi;

double total_volume(const TetMesh& mesh) {
  double sum = 0;
  for (const Real v : tetrahedron_volumes(mesh.x, mesh.tetrahedra)) sum += v;
  return sum;
}

TEST(Lattice, TetrahedraAreTheKnownOnesOfTheBodyCentredLattice) {
  const TetMesh mesh = lattice_tetrahedra(icosphere_mesh(1, 3), Real(0.25), {.snap = false});
  for (const Index4& t : mesh.tetrahedra) {
    // Two edges of the cube's length, four of sqrt(3)/2 of it; a twelfth of the cube's volume.
    std::vector<Real> edges;
    for (int i = 0; i < 4; ++i)
      for (int j = i + 1; j < 4; ++j) edges.push_back((mesh.x[t[i]] - mesh.x[t[j]]).norm() / Real(0.25));
    std::sort(edges.begin(), edges.end());
    for (int i = 0; i < 4; ++i) ASSERT_NEAR(edges[i], std::sqrt(3.0) / 2, 1e-5);
    for (int i = 4; i < 6; ++i) ASSERT_NEAR(edges[i], 1, 1e-5);
    ASSERT_NEAR(tetrahedron_volume(mesh.x[t[0]], mesh.x[t[1]], mesh.x[t[2]], mesh.x[t[3]]),
                0.25 * 0.25 * 0.25 / 12, 1e-7);
  }
}

TEST(Lattice, FacesMatch) {
  const TetMesh mesh = lattice_tetrahedra(torus_mesh(1, Real(0.4), 32, 16), Real(0.15));
  // The hull of matching tetrahedra has no free edges, and encloses exactly their volume.
  const TopologyReport r = topology(mesh.x, boundary_triangles(mesh.tetrahedra));
  EXPECT_EQ(r.boundary_edges, 0u);
  EXPECT_EQ(r.inconsistent_edges, 0u);
  EXPECT_NEAR(enclosed_volume(mesh.x, boundary_triangles(mesh.tetrahedra)), total_volume(mesh), 1e-5);
}

TEST(Lattice, VolumeConvergesToTheSolids) {
  // Snapped boundaries lie on the surface: their chords miss O(h^2) of the volume. A corner-cutting
  // tetrahedron that keeps its shape instead of reaching the surface is allowed for by the factor.
  const TriangleMesh sphere = icosphere_mesh(1, 5);
  const double exact = 4 * pi / 3;
  const double coarse = std::abs(total_volume(lattice_tetrahedra(sphere, Real(0.25))) - exact),
               fine = std::abs(total_volume(lattice_tetrahedra(sphere, Real(0.125))) - exact);
  EXPECT_LT(coarse, exact * 0.25 * 0.25);
  EXPECT_LT(fine, exact * 0.125 * 0.125 * 1.5);
}

TEST(Lattice, StaysWellShapedAndNearTheSurface) {
  for (const TriangleMesh& surface : {icosphere_mesh(1, 4), torus_mesh(1, Real(0.4), 48, 24),
                                      box_mesh({1, Real(0.3), Real(0.6)}), cone_mesh(1, 1, 24)}) {
    const Real h = Real(0.13);
    const TetMesh mesh = lattice_tetrahedra(surface, h);
    const double volume = enclosed_volume(surface.x, surface.triangles);
    EXPECT_NEAR(total_volume(mesh), volume, 0.06 * volume);
    Real worst = 1;
    for (const Index4& t : mesh.tetrahedra)
      worst = std::min(worst, tetrahedron_quality(mesh.x[t[0]], mesh.x[t[1]], mesh.x[t[2]], mesh.x[t[3]]));
    EXPECT_GE(worst, 0.08);  // a tenth of the lattice's own
  }
}

// What is drawn over a box without its corners stands on one, or has it in the ground.
TEST(Lattice, FillsBoxesWhole) {
  for (const Real spacing : {Real(0.12), Real(0.1), Real(0.08), Real(0.06), Real(0.05), Real(0.043)})
    for (const Vec3& half : {Vec3(Real(0.15), Real(0.15), Real(0.15)), Vec3(Real(0.3), Real(0.1), Real(0.2)),
                             Vec3(Real(0.11), Real(0.27), Real(0.16))}) {
      const TetMesh mesh = lattice_tetrahedra(box_mesh(half), spacing);
      const double volume = 8 * double(half.prod());
      EXPECT_NEAR(total_volume(mesh), volume, 1e-5 * volume) << spacing << " " << half.transpose();
      for (int corner = 0; corner < 8; ++corner) {
        const Vec3 at((corner & 1) != 0 ? half[0] : -half[0], (corner & 2) != 0 ? half[1] : -half[1],
                      (corner & 4) != 0 ? half[2] : -half[2]);
        Real nearest = 1;
        for (const Vec3& x : mesh.x) nearest = std::min(nearest, (x - at).norm());
        EXPECT_LT(nearest, 1e-5) << spacing << " " << half.transpose();
      }
      for (const Index4& t : mesh.tetrahedra)
        ASSERT_GT(tetrahedron_quality(mesh.x[t[0]], mesh.x[t[1]], mesh.x[t[2]], mesh.x[t[3]]), 0.5);
    }
}

// Masses are lumped by volumes, and what is a hundredth as heavy as its neighbours tears itself loose from
// them. Within the lattice a vertex has half a cube. Spikes that snapping flattens have had a five hundredth
// of that, and their edges three and four triangles.
TEST(Lattice, HasNoSpikes) {
  for (const TriangleMesh& surface :
       {icosphere_mesh(Real(0.3), 4), torus_mesh(Real(0.28), Real(0.13), 48, 24)})
    for (const Real h : {Real(0.03), Real(0.05), Real(0.07), Real(0.1), Real(0.13)}) {
      const TetMesh mesh = lattice_tetrahedra(surface, h);
      double lightest = 1;
      for (const Real m : lumped_masses(mesh.x, mesh.tetrahedra, 1)) lightest = std::min(lightest, double(m));
      EXPECT_GT(lightest, 0.01 * std::pow(double(h), 3) / 2) << h;
      EXPECT_TRUE(topology(mesh.x, boundary_triangles(mesh.tetrahedra)).solid()) << h;
      const double volume = enclosed_volume(surface.x, surface.triangles);
      EXPECT_NEAR(total_volume(mesh), volume, 0.1 * volume) << h;
    }
}

// What is hardly thicker than a cube stays in one piece, and as long as it was to a cube.
TEST(Lattice, ThinBodiesStayWhole) {
  const Real h = Real(0.05);
  for (const Vec3& half : {Vec3(Real(0.5), Real(0.02), Real(0.3)), Vec3(Real(0.5), Real(0.03), Real(0.3)),
                           Vec3(Real(0.5), Real(0.04), Real(0.04))}) {
    const TetMesh mesh = lattice_tetrahedra(box_mesh(half), h);
    EXPECT_EQ(topology(mesh.x, boundary_triangles(mesh.tetrahedra)).components, 1u) << half[1];
    Aabb box;
    for (const Vec3& x : mesh.x) box.extend(x);
    for (const int axis : {0, 2}) EXPECT_GT(box.size()[axis], 2 * half[axis] - h) << half[1];
  }
}

TEST(Lattice, QualityIsOneForTheRegularTetrahedronAndChangesSignWithIt) {
  const Vec3 a(1, 1, 1), b(1, -1, -1), c(-1, 1, -1), d(-1, -1, 1);
  EXPECT_NEAR(std::abs(tetrahedron_quality(a, b, c, d)), 1, 1e-6);
  EXPECT_NEAR(tetrahedron_quality(a, b, c, d), -tetrahedron_quality(b, a, c, d), 1e-6);
  EXPECT_EQ(tetrahedron_quality(a, a, a, a), 0);
}

TEST(Lattice, RefusesWhatItCannotFill) {
  const TriangleMesh sphere = icosphere_mesh(1, 2);
  EXPECT_THROW(lattice_tetrahedra(sphere, 0), Error);
  EXPECT_THROW(lattice_tetrahedra(sphere, Real(1e-5)), Error);
  EXPECT_THROW(lattice_tetrahedra(sphere, 100), Error);
  TriangleMesh inside_out = sphere;
  for (Index3& t : inside_out.triangles) std::swap(t[0], t[1]);
  EXPECT_THROW(lattice_tetrahedra(inside_out, Real(0.2)), Error);
}

TEST(Lattice, HasTheSameBitsForEveryThreadCount) {
  const TriangleMesh sphere = icosphere_mesh(1, 3);
  const TetMesh one = lattice_tetrahedra(sphere, Real(0.2));
  with_threads(3, [&] {
    const TetMesh three = lattice_tetrahedra(sphere, Real(0.2));
    EXPECT_EQ(one.x, three.x);
    EXPECT_EQ(one.tetrahedra, three.tetrahedra);
  });
}

TEST(Embedding, FollowsAffineMotionExactly) {
  const TriangleMesh visual = icosphere_mesh(1, 4);
  TetMesh body = lattice_tetrahedra(icosphere_mesh(1, 3), Real(0.3));
  const TetEmbedding embedding = embed_in_tetrahedra(visual.x, body.x, body.tetrahedra);
  Mat3 a;
  a << Real(1.2), Real(0.3), Real(-0.1), Real(0.2), Real(0.8), Real(0.4), Real(-0.3), Real(0.1), Real(1.1);
  const auto move = [&](const Vec3& p) { return Vec3(a * p + Vec3(1, 2, 3)); };
  for (Vec3& p : body.x) p = move(p);
  std::vector<Vec3> moved(visual.x.size());
  for (const int threads : {1, 3})
    with_threads(threads, [&] {
      update_embedded(embedding, body.x, moved);
      for (std::size_t i = 0; i < moved.size(); ++i) ASSERT_LE((moved[i] - move(visual.x[i])).norm(), 2e-5);
    });
}

TEST(Embedding, ChoosesTheTetrahedronThatHoldsThePoint) {
  const TetMesh body = box_tetrahedra({1, 1, 1}, {4, 4, 4});
  std::vector<Vec3> points;
  for (int i = 0; i < 1000; ++i)
    points.push_back(Real(1.9) * uniform4(1, i, 1).head<3>() - Vec3::Constant(Real(0.95)));
  const TetEmbedding embedding = embed_in_tetrahedra(points, body.x, body.tetrahedra);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_GE(embedding.weights[i].minCoeff(), -1e-5);
    ASSERT_NEAR(embedding.weights[i].sum(), 1, 1e-5);
  }
  EXPECT_THROW(embed_in_tetrahedra(points, body.x, {}), Error);
  const std::vector<Index4> flat = {{0, 1, 2, 3}};
  EXPECT_THROW(embed_in_tetrahedra(points, body.x, flat), Error);  // the first four lie on a line
}

TEST(Embedding, OnClothKeepsOffsetsUnderRigidMotion) {
  TriangleMesh cloth = grid_mesh({2, 2}, 8, 8);
  for (Vec3& p : cloth.x) p[1] = Real(0.1) * std::sin(3 * p[0]);
  std::vector<Vec3> points;
  for (int i = 0; i < 500; ++i) {
    const Vec4 u = uniform4(4, i, 1);
    points.emplace_back(Real(2.2) * (u[0] - Real(0.5)), Real(0.2) * (u[1] - Real(0.5)),
                        Real(2.2) * (u[2] - Real(0.5)));
  }
  const TriangleEmbedding embedding = embed_in_triangles(points, cloth.x, cloth.triangles);
  std::vector<Vec3> moved(points.size());
  update_embedded(embedding, cloth.x, moved);
  for (std::size_t i = 0; i < points.size(); ++i) ASSERT_LE((moved[i] - points[i]).norm(), 1e-5);
  const Mat3 r = Eigen::AngleAxis<Real>(Real(1.1), Vec3(1, -2, 3).normalized()).toRotationMatrix();
  for (Vec3& p : cloth.x) p = r * p + Vec3(3, 2, 1);
  update_embedded(embedding, cloth.x, moved);
  for (std::size_t i = 0; i < points.size(); ++i)
    ASSERT_LE((moved[i] - (r * points[i] + Vec3(3, 2, 1))).norm(), 1e-5);
  EXPECT_THROW(embed_in_triangles(points, cloth.x, {}), Error);
}

}}  // namespace plenum
