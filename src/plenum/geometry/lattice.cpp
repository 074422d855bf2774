#include "plenum/geometry/lattice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

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
  Vec3 spacing;  // edges of a cube, which fit the box

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
    return low + spacing.cwiseProduct(is_corner ? at : Vec3(at + Vec3::Constant(Real(0.5))));
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

/// Tetrahedra of the lattice's nodes as a mesh, and which nodes its vertices are.
TetMesh mesh_of(std::span<const Index4> tetrahedra, const Lattice& lattice, std::vector<Index>& nodes) {
  TetMesh mesh;
  mesh.tetrahedra.assign(tetrahedra.begin(), tetrahedra.end());
  nodes.clear();
  std::vector<Index> number(lattice.num_nodes(), -1);
  for (const Index4& t : mesh.tetrahedra)
    for (int k = 0; k < 4; ++k) number[t[k]] = 0;
  for (std::size_t n = 0; n < number.size(); ++n) {
    if (number[n] < 0) continue;
    number[n] = static_cast<Index>(mesh.x.size());
    mesh.x.push_back(lattice.position(Index(n))), nodes.push_back(Index(n));
  }
  for (Index4& t : mesh.tetrahedra)
    for (int k = 0; k < 4; ++k) t[k] = number[t[k]];
  return mesh;
}

/// Spikes of a snapped mesh: vertices from outside of the surface, in few tetrahedra, which snapping has left
/// next to no volume. Masses are lumped by that, down to a five hundredth of what is behind, and each hangs
/// on a cell or two that the rest of the body turns inside out and lets snap back: of jellies that fell over
/// an edge such particles flew at up to 87 m/s, twice as fast as sound is in them.
class Spikes {
 public:
  /// distance: of the lattice's nodes; nodes: which of them the vertices are.
  Spikes(const TetMesh& mesh, std::span<const Index> nodes, std::span<const Real> distance, Real spacing)
      : mesh_(mesh), nodes_(nodes), distance_(distance), spacing_(spacing), volume_(mesh.x.size(), 0) {
    around_.resize(mesh.x.size());
    const std::vector<Real> volumes = tetrahedron_volumes(mesh.x, mesh.tetrahedra);
    for (std::size_t t = 0; t < volumes.size(); ++t)
      for (const Index v : mesh.tetrahedra[t])
        volume_[std::size_t(v)] += double(volumes[t]) / 4, around_[std::size_t(v)].push_back(Index(t));
  }

  /// Takes them away from the tetrahedra that the mesh was made of, one after the other; whether there were
  /// any.
  bool cut(std::vector<Index4>& tetrahedra) {
    std::vector<std::uint8_t> is_cut(tetrahedra.size(), 0);
    for (std::size_t v = 0; v < mesh_.x.size(); ++v) {
      if (!is_spike(Index(v)) || !may_go(Index(v))) continue;
      const std::vector<Index> cells = around_[v];
      for (const Index t : cells) {
        is_cut[std::size_t(t)] = 1;
        for (const Index u : mesh_.tetrahedra[std::size_t(t)]) std::erase(around_[std::size_t(u)], t);
      }
    }
    std::size_t t = 0;
    return std::erase_if(tetrahedra, [&](const Index4&) { return is_cut[t++] != 0; }) > 0;
  }

 private:
  static constexpr std::size_t most_cells = 4;    ///< of a spike; within the lattice a vertex has 24
  static constexpr double most_volume = 0.05;     ///< of a spike, as a part of that within the lattice
  static constexpr Real on_surface = Real(0.01);  ///< [spacing] as near to it is on it, and not inside

  bool is_inside(Index v) const {
    return distance_[std::size_t(nodes_[std::size_t(v)])] < -on_surface * spacing_;
  }
  bool is_spike(Index v) const {
    const double within = std::pow(double(spacing_), 3) / 2;
    return !is_inside(v) && !around_[std::size_t(v)].empty() &&
           around_[std::size_t(v)].size() <= most_cells && volume_[std::size_t(v)] <= most_volume * within;
  }
  /// What is inside keeps more cells than a spike has; and what has nothing inside, as in thin bodies, stays.
  bool may_go(Index v) const {
    const std::vector<Index>& cells = around_[std::size_t(v)];
    const auto keeps_enough = [&](Index u) {
      const auto lost = std::count_if(cells.begin(), cells.end(), [&](Index t) {
        return (mesh_.tetrahedra[std::size_t(t)].array() == u).any();
      });
      return around_[std::size_t(u)].size() > most_cells + std::size_t(lost);
    };
    return std::all_of(cells.begin(), cells.end(), [&](Index t) {
      const Index4& c = mesh_.tetrahedra[std::size_t(t)];
      const bool has_inside = std::any_of(c.begin(), c.end(), [&](Index u) { return is_inside(u); });
      return has_inside &&
             std::all_of(c.begin(), c.end(), [&](Index u) { return !is_inside(u) || keeps_enough(u); });
    });
  }

  const TetMesh& mesh_;
  std::span<const Index> nodes_;
  std::span<const Real> distance_;
  Real spacing_;
  std::vector<double> volume_;              ///< [m^3] of each vertex, a quarter of its tetrahedra's
  std::vector<std::vector<Index>> around_;  ///< tetrahedra that are left of each vertex
};

/// Which ends of a surface's box are sides of it, for a fifth of one at least: those of boxes along the axes,
/// cylinders, slabs.
std::array<bool, 3> flat_ends(const TriangleMesh& surface, const Aabb& box) {
  constexpr double least_part = 0.2;
  constexpr Real rounding = Real(1e-5);  // of the box
  const Vec3 size = box.size();
  std::array<double, 3> area = {0, 0, 0};
  for (const Index3& t : surface.triangles)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto c = static_cast<Eigen::Index>(axis);
      const auto is_on = [&](Real end) {
        return std::all_of(t.begin(), t.end(), [&](Index v) {
          return std::abs(surface.x[std::size_t(v)][c] - end) <= rounding * size.maxCoeff();
        });
      };
      if (!is_on(box.low[c]) && !is_on(box.high[c])) continue;
      const Vec3& a = surface.x[std::size_t(t[0])];
      area[axis] +=
          double((surface.x[std::size_t(t[1])] - a).cross(surface.x[std::size_t(t[2])] - a).norm()) / 2;
    }
  std::array<bool, 3> flat{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    flat[axis] = area[axis] >= least_part * double(size[(axis + 1) % 3]) * double(size[(axis + 2) % 3]);
  return flat;
}

/// Of a box's length, so that its ends are planes of nodes: what has its sides there is filled as far as they
/// go, edges and corners. 0 where that would take cubes of another shape than qualities are meant for.
Real fitted_spacing(Real length, Real spacing) {
  constexpr Real most_stretch = Real(1.2501);
  const Real fitted = length / std::max(Real(1), std::round(length / spacing));
  return fitted <= most_stretch * spacing && spacing <= most_stretch * fitted ? fitted : 0;
}

/// Of cutting spikes and snapping what is behind them; most bodies take three, and a few of them seven.
constexpr int most_rounds = 8;

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
  // Nodes that are meant to be on sides are so but for rounding, and so are centroids between them,
  // whose tetrahedra are kept, all of them, and halved by snapping.
  constexpr Real on_plane = Real(1e-3);  // [spacing]
  // A margin of more than half a cube all around, so that no tetrahedron that could be kept is missing.
  Lattice lattice;
  std::array<bool, 3> flat = flat_ends(surface, box);
  const auto fits = [&](std::size_t axis) {
    const Real length = box.size()[Eigen::Index(axis)];
    return !flat[axis] || fitted_spacing(length, spacing) > 0;
  };
  // All or none: slabs that are filled to their sides, but not to their faces, are the thinner for it.
  if (!(fits(0) && fits(1) && fits(2))) flat = {};
  Index* const counts[3] = {&lattice.nx, &lattice.ny, &lattice.nz};
  double nodes = 2;
  for (int axis = 0; axis < 3; ++axis) {
    const Real length = box.size()[axis];
    const bool is_flat = flat[std::size_t(axis)];
    const Real fitted = is_flat ? fitted_spacing(length, spacing) : spacing;
    lattice.spacing[axis] = fitted;
    *counts[axis] = static_cast<Index>(std::ceil(length / fitted - (is_flat ? on_plane : 0))) + 2;
    nodes *= *counts[axis] + 1;
    lattice.low[axis] = box.centre()[axis] - Real(0.5) * Real(*counts[axis]) * fitted;
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
  const auto is_on_side = [&](const Vec3& x) {
    for (int axis = 0; axis < 3; ++axis)
      if (flat[std::size_t(axis)] && std::min(std::abs(x[axis] - box.low[axis]),
                                              std::abs(x[axis] - box.high[axis])) < on_plane * spacing)
        return true;
    return false;
  };
  std::vector<Index4> kept;
  const Real reach =
      lattice.spacing.maxCoeff();  // no point of a tetrahedron is farther from a vertex than its longest edge
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
      keep = signed_distance(centroid) < (is_on_side(centroid) ? on_plane * spacing : 0);
    }
    if (keep) kept.push_back(t);
  });
  if (kept.empty())
    throw Error(Problem{.key = "spacing",
                        .what = "is so coarse that no tetrahedron lies inside the mesh",
                        .value = fmt::format("{} m", spacing),
                        .remedy = "make it smaller than the mesh is thick"});
  TetMesh mesh;
  std::vector<Index> node_of;
  for (int round = 0;; ++round) {
    mesh = mesh_of(kept, lattice, node_of);
    if (!options.snap) break;
    snap_boundary(mesh, exact);
    if (round == most_rounds || !Spikes(mesh, node_of, distance, std::cbrt(lattice.spacing.prod())).cut(kept))
      break;
  }
  return mesh;
}

}  // namespace plenum::inline PLENUM_ABI
