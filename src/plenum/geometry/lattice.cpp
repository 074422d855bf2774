#include "plenum/geometry/lattice.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <unordered_map>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/topology.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// The lattice around a box: nodes at the corners of nx ny nz cubes, numbered x fastest, then one in the
/// middle of each cube.
struct Lattice {
  Index nx, ny, nz;  // cubes
  Vec3 low;
  Real spacing;

  std::size_t num_corners() const { return std::size_t(nx + 1) * std::size_t(ny + 1) * std::size_t(nz + 1); }
  std::size_t num_nodes() const {
    return num_corners() + std::size_t(nx) * std::size_t(ny) * std::size_t(nz);
  }
  Index corner(Index i, Index j, Index k) const { return (k * (ny + 1) + j) * (nx + 1) + i; }
  Index middle(Index i, Index j, Index k) const { return Index(num_corners()) + (k * ny + j) * nx + i; }
  Vec3 position(Index node) const {
    const bool is_corner = std::size_t(node) < num_corners();
    const Index n = is_corner ? node : node - Index(num_corners());
    const Index row = is_corner ? nx + 1 : nx, column = is_corner ? ny + 1 : ny;
    const Vec3 at(Real(n % row), Real(n / row % column), Real(n / row / column));
    return low + spacing * (is_corner ? at : Vec3(at + Vec3::Constant(Real(0.5))));
  }
};

/// Calls visit(tetrahedron) for all of the lattice: around each face between two cubes, the two middles with
/// each side of the face.
template <class Visit>
void each_tetrahedron(const Lattice& lattice, Visit&& visit) {
  const Index3 n(lattice.nx, lattice.ny, lattice.nz);
  for (Index k = 0; k < n[2]; ++k)
    for (Index j = 0; j < n[1]; ++j)
      for (Index i = 0; i < n[0]; ++i)
        for (int axis = 0; axis < 3; ++axis) {
          const Index3 here(i, j, k);
          if (here[axis] + 1 >= n[axis]) continue;
          const int u = (axis + 1) % 3, v = (axis + 2) % 3;
          Index3 next = here;
          ++next[axis];
          const Index a = lattice.middle(i, j, k), b = lattice.middle(next[0], next[1], next[2]);
          const auto face = [&](Index du, Index dv) {
            Index3 p = next;
            p[u] += du;
            p[v] += dv;
            return lattice.corner(p[0], p[1], p[2]);
          };
          const std::array<Index, 4> ring = {face(0, 0), face(1, 0), face(1, 1), face(0, 1)};
          for (int s = 0; s < 4; ++s) visit(Index4(a, ring[(s + 1) % 4], b, ring[s]));
        }
}

/// Moves boundary vertices towards the surface, one after the other.
void snap_boundary(TetMesh& mesh, const MeshDistance& surface) {
  const Real least_quality = Real(0.1) * [] {
    // Of the lattice's own tetrahedron.
    return tetrahedron_quality(Vec3(0, 0, 0), Vec3(Real(0.5), Real(0.5), Real(-0.5)), Vec3(1, 0, 0),
                               Vec3(Real(0.5), Real(-0.5), Real(-0.5)));
  }();
  std::vector<char> on_boundary(mesh.x.size(), 0);
  for (const Index3& t : boundary_triangles(mesh.tetrahedra))
    for (int k = 0; k < 3; ++k) on_boundary[t[k]] = 1;
  std::vector<Vec3> target(mesh.x);
  parallel_for(mesh.x.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      if (on_boundary[v]) target[v] = surface.closest(mesh.x[v]).point;
  });
  std::vector<std::vector<Index>> around(mesh.x.size());
  for (std::size_t t = 0; t < mesh.tetrahedra.size(); ++t)
    for (int k = 0; k < 4; ++k) around[mesh.tetrahedra[t][k]].push_back(static_cast<Index>(t));
  for (std::size_t v = 0; v < mesh.x.size(); ++v) {
    if (!on_boundary[v]) continue;
    const Vec3 before = mesh.x[v];
    for (const Real step : {Real(1), Real(0.5), Real(0.25), Real(0.125), Real(0)}) {
      mesh.x[v] = before + step * (target[v] - before);
      bool good = true;
      for (const Index t : around[v]) {
        const Index4& c = mesh.tetrahedra[t];
        good = good &&
               tetrahedron_quality(mesh.x[c[0]], mesh.x[c[1]], mesh.x[c[2]], mesh.x[c[3]]) >= least_quality;
      }
      if (good) break;
    }
  }
}

}  // namespace

Real tetrahedron_quality(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  const Real mean_square = ((b - a).squaredNorm() + (c - a).squaredNorm() + (d - a).squaredNorm() +
                            (c - b).squaredNorm() + (d - b).squaredNorm() + (d - c).squaredNorm()) /
                           6;
  if (!(mean_square > 0)) return 0;
  return Real(6 * std::sqrt(2.0)) * tetrahedron_volume(a, b, c, d) / (mean_square * std::sqrt(mean_square));
}

TetMesh lattice_tetrahedra(const TriangleMesh& surface, Real spacing, const LatticeOptions& options) {
  const MeshDistance exact(surface);
  const Aabb box = exact.bounds();
  const Real longest = box.size().maxCoeff();
  if (!(spacing > 0) || !std::isfinite(spacing) || !(spacing >= longest / 1000))
    throw Error(
        Problem{.key = "spacing",
                .what = "is out of range",
                .value = fmt::format("{}", spacing),
                .allowed = fmt::format("{:.4g} m (a thousandth of the mesh) and up", longest / 1000)});
  if (enclosed_volume(surface.x, surface.triangles) <= 0)
    throw Error(Problem{.key = "mesh",
                        .what = "does not face outward, so it has no inside to fill",
                        .remedy = "turn its triangles"});
  // A margin of more than half a cube all around, so that no tetrahedron that could be kept is missing.
  Lattice lattice;
  lattice.spacing = spacing;
  Index* const counts[3] = {&lattice.nx, &lattice.ny, &lattice.nz};
  double nodes = 2;
  for (int axis = 0; axis < 3; ++axis) {
    *counts[axis] = static_cast<Index>(std::ceil(box.size()[axis] / spacing)) + 2;
    nodes *= *counts[axis] + 1;
    lattice.low[axis] = box.centre()[axis] - Real(0.5) * Real(*counts[axis]) * spacing;
  }
  constexpr double most_nodes = 1e8;
  if (nodes > most_nodes)
    throw Error(Problem{.key = "spacing",
                        .what = "gives too many lattice nodes",
                        .value = fmt::format("{:.2g}", nodes),
                        .allowed = fmt::format("up to {:.0g}", most_nodes),
                        .remedy = "enlarge the spacing"});
  const bool by_winding = options.inside == Inside::winding_number ||
                          (options.inside == Inside::automatic && !topology(surface).solid());
  const auto signed_distance = [&](const Vec3& x) {
    if (!by_winding) return exact.signed_distance(x).distance;
    const Real d = exact.closest(x).distance;
    return exact.winding_number(x) > 0.5 ? -d : d;
  };
  std::vector<Real> distance(lattice.num_nodes());
  parallel_for(distance.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) distance[n] = signed_distance(lattice.position(Index(n)));
  });
  TetMesh mesh;
  const Real reach = spacing;  // no point of a tetrahedron is farther from a vertex than its longest edge
  each_tetrahedron(lattice, [&](const Index4& t) {
    Real deepest = 0, highest = 0;
    for (int k = 0; k < 4; ++k) {
      deepest = std::min(deepest, distance[t[k]]);
      highest = std::max(highest, distance[t[k]]);
    }
    bool keep = deepest < -reach;
    if (!keep && highest <= reach && deepest < 0) {
      const Vec3 centroid = Real(0.25) * (lattice.position(t[0]) + lattice.position(t[1]) +
                                          lattice.position(t[2]) + lattice.position(t[3]));
      keep = signed_distance(centroid) < 0;
    }
    if (keep) mesh.tetrahedra.push_back(t);
  });
  if (mesh.tetrahedra.empty())
    throw Error(Problem{.key = "spacing",
                        .what = "is so coarse that no tetrahedron lies inside the mesh",
                        .value = fmt::format("{} m", spacing),
                        .remedy = "make it smaller than the mesh is thick"});
  std::vector<Index> number(lattice.num_nodes(), -1);
  for (const Index4& t : mesh.tetrahedra)
    for (int k = 0; k < 4; ++k) number[t[k]] = 0;
  for (std::size_t n = 0; n < number.size(); ++n) {
    if (number[n] < 0) continue;
    number[n] = static_cast<Index>(mesh.x.size());
    mesh.x.push_back(lattice.position(Index(n)));
  }
  for (Index4& t : mesh.tetrahedra)
    for (int k = 0; k < 4; ++k) t[k] = number[t[k]];
  if (options.snap) snap_boundary(mesh, exact);
  return mesh;
}

}  // namespace plenum::inline PLENUM_ABI
