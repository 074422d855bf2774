// Isosurfaces of grids: closed whatever the field, where they should be, the same for every number of
// threads.
#include "plenum/geometry/isosurface.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include "plenum/base/hash.h"
#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/mesh_smoothing.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

/// f(x, y, z) at the centres of the cells of a box from the origin; ghosts are outside.
template <class F>
std::vector<Real> sampled(const GridShape& shape, double h, F&& f) {
  std::vector<Real> phi(shape.size(), 1);
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i)
        phi[shape.index(i, j, k)] = static_cast<Real>(f((i + .5) * h, (j + .5) * h, (k + .5) * h));
  return phi;
}

SurfaceMesh mesh_of(const GridShape& shape, double h, const std::vector<Real>& phi) {
  IsosurfaceWorkspace work;
  SurfaceMesh mesh;
  isosurface(shape, Vec3::Zero(), static_cast<Real>(h), phi, work, mesh);
  return mesh;
}

double volume_of(const SurfaceMesh& mesh) {
  double sum = 0;
  for (const Index3& t : mesh.triangles) {
    const auto x = [&](int c) { return mesh.x[static_cast<std::size_t>(t[c])].cast<double>().eval(); };
    sum += x(0).dot(x(1).cross(x(2))) / 6;
  }
  return sum;
}

/// Every edge once in each direction; every vertex with one fan of triangles around it.
void expect_closed(const SurfaceMesh& mesh) {
  std::set<std::pair<Index, Index>> edges;
  std::vector<std::map<Index, Index>> next(mesh.x.size());
  for (const Index3& t : mesh.triangles)
    for (int c = 0; c < 3; ++c) {
      const Index a = t[c], b = t[(c + 1) % 3];
      ASSERT_NE(a, b);
      ASSERT_TRUE(edges.emplace(a, b).second) << "an edge has two triangles on one side";
      next[static_cast<std::size_t>(a)][b] = t[(c + 2) % 3];
    }
  for (const auto& [a, b] : edges) ASSERT_TRUE(edges.contains({b, a})) << "an edge has one triangle";
  for (const auto& around : next) {
    ASSERT_FALSE(around.empty()) << "a vertex without triangles";
    std::size_t length = 0;
    Index at = around.begin()->first;
    do {
      at = around.at(at);
      ++length;
    } while (at != around.begin()->first && length <= around.size());
    ASSERT_EQ(length, around.size()) << "a vertex with several fans";
  }
}

/// Components of what is inside among the corners of a cell (dims 3), face (2) or edge (1), by its edges.
int components(const bool* inside, int dims) {
  const int n = 1 << dims;
  std::vector<int> label(static_cast<std::size_t>(n));
  std::iota(label.begin(), label.end(), 0);
  for (int round = 0; round < n; ++round)
    for (int a = 0; a < n; ++a)
      for (int c = 0; c < dims; ++c)
        if (const int b = a ^ (1 << c); inside[a] && inside[b])
          label[static_cast<std::size_t>(a)] = label[static_cast<std::size_t>(b)] =
              std::min(label[static_cast<std::size_t>(a)], label[static_cast<std::size_t>(b)]);
  int count = 0;
  for (int a = 0; a < n; ++a) count += inside[a] && label[static_cast<std::size_t>(a)] == a;
  return count;
}

/// Euler characteristic of the boundary of what is inside, from the signs alone: pieces in cells are balls,
/// so that of the solid is the alternating sum of the pieces in cells, faces, edges and nodes, and that of
/// its boundary is twice as much.
long boundary_characteristic(const GridShape& shape, const std::vector<Real>& phi) {
  long sum = 0;
  for (Index k = -1; k <= shape.cells[2]; ++k)
    for (Index j = -1; j <= shape.cells[1]; ++j)
      for (Index i = -1; i <= shape.cells[0]; ++i)
        for (int axes = 0; axes < 8; ++axes) {
          // The piece from this node along the axes of a set.
          bool inside[8];
          int count = 0, dims = 0;
          for (int c = 0; c < 3; ++c) dims += axes >> c & 1;
          bool is_there = true;
          for (int corner = 0; corner < 8; ++corner) {
            if ((corner & ~axes) != 0) continue;
            const Index to[3] = {i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2)};
            for (int c = 0; c < 3; ++c) is_there &= to[c] <= shape.cells[static_cast<std::size_t>(c)];
            if (is_there) inside[count++] = phi[shape.index(to[0], to[1], to[2])] < 0;
          }
          if (is_there) sum += (dims % 2 == 1 ? 1 : -1) * components(inside, dims);
        }
  return 2 * sum;
}

long mesh_characteristic(const SurfaceMesh& mesh) {
  return static_cast<long>(mesh.x.size()) - static_cast<long>(unique_edges(mesh.triangles).size()) +
         static_cast<long>(mesh.triangles.size());
}

TEST(Isosurface, EveryCellIsCutIntoTrianglesWithoutAnEdgeInAFace) {
  const detail::CellCut* cuts = detail::cell_cuts();
  for (unsigned inside = 0; inside < 256; ++inside) {
    std::set<int> used, crossed;
    for (int m = 0; m < cuts[inside].num_triangles; ++m)
      for (int c = 0; c < 3; ++c) used.insert(cuts[inside].edges[m][c]);
    for (int axis = 0; axis < 3; ++axis)
      for (int o = 0; o < 2; ++o)
        for (int p = 0; p < 2; ++p) {
          const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
          const unsigned corner = static_cast<unsigned>(o << a | p << b);
          if ((inside >> corner & 1) != (inside >> (corner | 1u << axis) & 1))
            crossed.insert(4 * axis + o + 2 * p);
        }
    EXPECT_EQ(used, crossed) << inside;
  }
}

TEST(Isosurface, IsClosedWithTheCharacteristicOfTheSignsOfRandomFields) {
  // Rows shorter and longer than a word of signs, and just as long.
  const std::array<Index, 3> sizes[] = {{2, 2, 2},  {9, 8, 7},   {62, 5, 6},
                                        {61, 4, 5}, {130, 5, 4}, {7, 31, 9}};
  std::uint64_t seed = 0;
  for (const auto& cells : sizes)
    for (const double share : {0.1, 0.3, 0.5, 0.7, 0.95}) {
      const GridShape shape{cells};
      ++seed;
      std::uint64_t item = 0;
      const std::vector<Real> phi = sampled(shape, 1, [&](double, double, double) {
        return static_cast<double>(uniform4(seed, static_cast<std::uint32_t>(item++), 0)[0]) - share;
      });
      const SurfaceMesh mesh = mesh_of(shape, 1, phi);
      expect_closed(mesh);
      EXPECT_EQ(mesh_characteristic(mesh), boundary_characteristic(shape, phi)) << share;
      EXPECT_EQ(volume_of(mesh) > 0, !mesh.triangles.empty());
    }
}

TEST(Isosurface, OfASphereIsASphereOfSecondOrder) {
  double before[3] = {};
  for (const int n : {16, 32, 64}) {
    const double h = 1.0 / n, r = 0.35;
    const Vector3<double> centre(0.51, 0.48, 0.5);
    const SurfaceMesh mesh =
        mesh_of({{n, n, n}}, h, sampled({{n, n, n}}, h, [&](double x, double y, double z) {
                  return (Vector3<double>(x, y, z) - centre).norm() - r;
                }));
    expect_closed(mesh);
    EXPECT_EQ(mesh_characteristic(mesh), 2);
    double off = 0, turned = 0;
    for (std::size_t v = 0; v < mesh.x.size(); ++v) {
      const Vector3<double> d = mesh.x[v].cast<double>() - centre;
      off = std::max(off, std::abs(d.norm() - r));
      turned = std::max(turned, (mesh.normals[v].cast<double>() - d.normalized()).norm());
    }
    // Along an edge of length h the distance bends by at most 1 / r, so a crossing is off by h^2 / (8 r);
    // central differences of it by h^2 / (6 r^2) times two thirds of it at most, and as much by
    // interpolation.
    EXPECT_LT(off, 1.1 * h * h / (8 * r));
    EXPECT_LT(turned, h * h / (r * r));
    const double missing = 4 * std::numbers::pi / 3 * r * r * r - volume_of(mesh);
    const double errors[3] = {off, turned, std::abs(missing)};
    for (int e = 0; e < 3; ++e) {
      if (n > 16) {
        EXPECT_GT(std::log2(before[e] / errors[e]), 1.7) << e << " at " << n;
      }
      before[e] = errors[e];
    }
  }
}

/// A liquid surface of many sheets and holes.
std::vector<Real> gyroid(const GridShape& shape) {
  return sampled(shape, 0.25, [](double x, double y, double z) {
    return std::sin(x) * std::cos(y) + std::sin(y) * std::cos(z) + std::sin(z) * std::cos(x) - 0.2;
  });
}

TEST(Isosurface, IsTheSameForEveryNumberOfThreads) {
  const GridShape shape{{70, 50, 40}};
  const std::vector<Real> phi = gyroid(shape);
  Hash128 first;
  for (int threads = 1; threads <= 8; ++threads)
    with_threads(threads, [&] {
      SurfaceMesh mesh = mesh_of(shape, 0.25, phi);
      MeshSmoothingWorkspace work;
      smooth_mesh(mesh, 3, work);
      Hasher hasher;
      hasher.add(mesh.x.data(), mesh.x.size() * sizeof(Vec3));
      hasher.add(mesh.normals.data(), mesh.normals.size() * sizeof(Vec3));
      hasher.add(mesh.triangles.data(), mesh.triangles.size() * sizeof(Index3));
      if (threads == 1) first = hasher.digest();
      EXPECT_EQ(hasher.digest(), first) << threads;
    });
}

TEST(Isosurface, AllocatesNothingTheSecondTime) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations cannot be counted in this build";
  const GridShape shape{{40, 30, 20}};
  const std::vector<Real> phi = gyroid(shape);
  IsosurfaceWorkspace work;
  MeshSmoothingWorkspace smoothing;
  SurfaceMesh mesh;
  const auto frame = [&] {
    isosurface(shape, Vec3::Zero(), Real(0.25), phi, work, mesh);
    smooth_mesh(mesh, 2, smoothing);
  };
  frame();
  EXPECT_EQ(plenum_test::count_allocations(frame), 0);
}

TEST(SmoothMesh, TakesRoughnessOutAndKeepsTheVolume) {
  const int n = 48;
  const double h = 1.0 / n, r = 0.35;
  std::uint32_t item = 0;
  // Noise of a fifth of a cell in the field.
  SurfaceMesh mesh = mesh_of({{n, n, n}}, h, sampled({{n, n, n}}, h, [&](double x, double y, double z) {
                               return (Vector3<double>(x, y, z) - Vector3<double>::Constant(0.5)).norm() - r +
                                      0.4 * h * (static_cast<double>(uniform4(3, item++, 0)[0]) - 0.5);
                             }));
  const auto roughness = [&] {
    double sum = 0;
    for (const Vec3& x : mesh.x) {
      const double off = (x.cast<double>() - Vector3<double>::Constant(0.5)).norm() - r;
      sum += off * off;
    }
    return std::sqrt(sum / static_cast<double>(mesh.x.size()));
  };
  const double rough = roughness(), volume = volume_of(mesh);
  MeshSmoothingWorkspace work;
  smooth_mesh(mesh, 10, work);
  expect_closed(mesh);
  EXPECT_LT(roughness(), 0.6 * rough);
  // Plain smoothing moves a sphere inwards by about lambda times the mean of (edge)^2 / (2 r) each step: h^2
  // / (4 r) in ten steps of one half makes 10 h^2 / (8 r), and 3 / r times that of the volume, 1.3 %. Little
  // of it must be left.
  EXPECT_NEAR(volume_of(mesh) / volume, 1, 0.0013);
  for (std::size_t v = 0; v < mesh.x.size(); ++v)
    EXPECT_GT(mesh.normals[v].dot((mesh.x[v] - Vec3::Constant(Real(0.5))).normalized()), Real(0.8));
}

}}  // namespace plenum
