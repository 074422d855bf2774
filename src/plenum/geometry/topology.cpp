#include "plenum/geometry/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <unordered_map>

#include "plenum/base/disjoint_sets.h"
#include "plenum/base/error.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/detail/require.h"
#include "plenum/geometry/measures.h"

namespace plenum::inline PLENUM_ABI {
namespace {

bool repeats_a_vertex(const Index3& t) {
  return t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
}

/// No area within the rounding of the coordinates: the height over the longest side is below a few units in
/// the last place of the largest coordinate involved.
bool is_degenerate(std::span<const Vec3> x, const Index3& t) {
  if (repeats_a_vertex(t)) return true;
  const Vector3<double> a = x[t[0]].cast<double>(), b = x[t[1]].cast<double>(), c = x[t[2]].cast<double>();
  const double longest =
      std::sqrt(std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()}));
  const double height = longest > 0 ? (b - a).cross(c - a).norm() / longest : 0;
  const double largest =
      std::max({a.cwiseAbs().maxCoeff(), b.cwiseAbs().maxCoeff(), c.cwiseAbs().maxCoeff()});
  return height <= 2 * std::numeric_limits<Real>::epsilon() * largest;
}

std::array<Index, 3> sorted(const Index3& t) {
  std::array<Index, 3> s = {t[0], t[1], t[2]};
  std::sort(s.begin(), s.end());
  return s;
}

/// Whether each triple [T] is the same as an earlier one.
std::vector<char> repeated(std::span<const std::array<Index, 3>> triples) {
  std::vector<Index> order(triples.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return triples[a] != triples[b] ? triples[a] < triples[b] : a < b; });
  std::vector<char> result(triples.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i)
    if (triples[order[i]] == triples[order[i - 1]]) result[order[i]] = 1;
  return result;
}

/// Whether each triangle [T] has the vertices of an earlier one.
std::vector<char> duplicates(std::span<const Index3> triangles) {
  std::vector<std::array<Index, 3>> keys(triangles.size());
  for (std::size_t t = 0; t < triangles.size(); ++t) keys[t] = sorted(triangles[t]);
  return repeated(keys);
}

template <class T>
void list(std::vector<T>& first, const T& item) {
  if (first.size() < TopologyReport::most_listed) first.push_back(item);
}
void list(std::vector<Index>& first, std::size_t number) {
  list(first, static_cast<Index>(number));
}

/// Number of fans the triangles around a vertex form when joined across edges at the vertex.
std::size_t fans(std::span<const Index3> triangles, std::span<const Index> around, Index vertex,
                 std::vector<std::array<Index, 2>>& spokes) {
  // A spoke: (other end of an edge at the vertex, local number of a triangle with that edge).
  spokes.clear();
  DisjointSets sets(around.size());
  for (std::size_t i = 0; i < around.size(); ++i)
    for (int k = 0; k < 3; ++k)
      if (triangles[around[i]][k] != vertex)
        spokes.push_back({triangles[around[i]][k], static_cast<Index>(i)});
  std::sort(spokes.begin(), spokes.end());
  for (std::size_t i = 1; i < spokes.size(); ++i)
    if (spokes[i][0] == spokes[i - 1][0]) sets.join(spokes[i][1], spokes[i - 1][1]);
  std::size_t count = 0;
  for (std::size_t i = 0; i < around.size(); ++i) count += sets.find(static_cast<Index>(i)) == Index(i);
  return count;
}

}  // namespace

std::string TopologyReport::complaint() const {
  std::vector<std::string> parts;
  const auto text = [](const auto& place) {
    if constexpr (std::is_same_v<decltype(place), const Index2&>)
      return fmt::format("{}-{}", place[0], place[1]);
    else
      return std::to_string(place);
  };
  const auto add = [&](std::size_t count, const char* one, const char* many, const auto& first) {
    if (count == 0) return;
    std::string part = fmt::format("{} {} (", count, count == 1 ? one : many);
    for (std::size_t i = 0; i < first.size(); ++i) part += (i > 0 ? ", " : "") + text(first[i]);
    parts.push_back(part + (count > first.size() ? ", ...)" : ")"));
  };
  add(boundary_edges, "boundary edge", "boundary edges", first_boundary);
  add(non_manifold_edges, "edge of three triangles or more", "edges of three triangles or more",
      first_non_manifold);
  add(inconsistent_edges, "edge with a flipped triangle", "edges with a flipped triangle",
      first_inconsistent);
  add(bow_tie_vertices, "bow-tie vertex", "bow-tie vertices", first_bow_ties);
  add(duplicate_triangles, "duplicate triangle", "duplicate triangles", first_duplicates);
  add(degenerate_triangles, "degenerate triangle", "degenerate triangles", first_degenerates);
  add(unreferenced_vertices, "unreferenced vertex", "unreferenced vertices", first_unreferenced);
  if (parts.empty()) return {};
  std::string all = "has " + parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) all += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return all;
}

TopologyReport topology(std::span<const Vec3> x, std::span<const Index3> triangles) {
  TopologyReport report;
  report.vertices = x.size();
  report.triangles = triangles.size();
  const std::vector<HalfEdge> halves = sorted_half_edges(triangles);
  for (std::size_t i = 0; i < halves.size();) {
    std::size_t end = i + 1, forward = halves[i].forward;
    while (end < halves.size() && halves[end].low == halves[i].low && halves[end].high == halves[i].high)
      forward += halves[end++].forward;
    const std::size_t count = end - i;
    if (halves[i].low != halves[i].high) {
      ++report.edges;
      report.boundary_edges += count == 1;
      report.non_manifold_edges += count > 2;
      report.unbalanced_edges += count > 2 && 2 * forward != count;
      report.inconsistent_edges += count == 2 && forward != 1;
      const Index2 edge(halves[i].low, halves[i].high);
      if (count == 1) list(report.first_boundary, edge);
      if (count > 2) list(report.first_non_manifold, edge);
      if (count == 2 && forward != 1) list(report.first_inconsistent, edge);
    }
    i = end;
  }
  const std::vector<char> is_duplicate = duplicates(triangles);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    if (is_duplicate[t]) {
      ++report.duplicate_triangles;
      list(report.first_duplicates, t);
    }
    if (is_degenerate(x, triangles[t])) {
      ++report.degenerate_triangles;
      list(report.first_degenerates, t);
    }
  }
  const Rows incident = vertex_triangles(x.size(), triangles);
  std::vector<std::array<Index, 2>> spokes;
  for (std::size_t v = 0; v < x.size(); ++v) {
    if (incident[v].empty()) {
      ++report.unreferenced_vertices;
      list(report.first_unreferenced, v);
    } else if (fans(triangles, incident[v], static_cast<Index>(v), spokes) > 1) {
      ++report.bow_tie_vertices;
      list(report.first_bow_ties, v);
    }
  }
  const std::vector<Index> welded_to = weld_map(x, 0);
  for (std::size_t v = 0; v < x.size(); ++v) report.coincident_vertices += welded_to[v] != Index(v);
  for (const Index c : triangle_components(x.size(), triangles))
    report.components = std::max(report.components, std::size_t(c) + 1);
  return report;
}

namespace {

/// What each user of a mesh cannot bear of what was found.
TopologyReport of_solids(TopologyReport found) {
  found.unreferenced_vertices = 0;
  return found;
}
TopologyReport of_surfaces(TopologyReport found) {
  found.boundary_edges = found.inconsistent_edges = 0;
  return found;
}
TopologyReport of_colliders(TopologyReport found) {
  found.boundary_edges = found.bow_tie_vertices = found.unreferenced_vertices = 0;
  if (found.unbalanced_edges == 0) found.non_manifold_edges = 0;
  return found;
}

/// The complaint about what `unbearable` keeps of the report, and what to do about it; both empty: nothing.
struct Complaint {
  std::string what, remedy;
};
Complaint complaint_about(const TriangleMesh& mesh, TopologyReport (*unbearable)(TopologyReport)) {
  const std::string what = unbearable(topology(mesh)).complaint();
  if (what.empty()) return {};
  const TopologyReport left = unbearable(topology(repaired(welded(mesh))));
  const std::string rest = left.triangles == 0 ? "has no triangles" : left.complaint();
  if (rest.empty()) return {what, "repair it (\"repair\": true beside a file)"};
  if (rest == what) return {what, "mend it where it was made, for repairing does not"};
  return {what, "mend it where it was made, for repairing leaves a mesh that " + rest};
}

void require(const TriangleMesh& mesh, const std::string& name, const char* what,
             TopologyReport (*unbearable)(TopologyReport)) {
  if (mesh.triangles.empty())
    throw Error(Problem{.key = name, .what = "has no triangles", .remedy = "give a mesh with triangles"});
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    for (const Index corner : {mesh.triangles[t][0], mesh.triangles[t][1], mesh.triangles[t][2]})
      if (corner < 0 || std::size_t(corner) >= mesh.x.size())
        throw Error(Problem{.key = name,
                            .what = fmt::format("has a triangle ({}) with a vertex that is not there", t),
                            .value = std::to_string(corner),
                            .allowed = fmt::format("0 to {}", std::ptrdiff_t(mesh.x.size()) - 1)});
  const Complaint complaint = complaint_about(mesh, unbearable);
  if (!complaint.what.empty())
    throw Error(Problem{
        .key = name, .what = fmt::format("{}: it {}", what, complaint.what), .remedy = complaint.remedy});
}

}  // namespace

void require_solid(const TriangleMesh& mesh, const std::string& name) {
  require(mesh, name, "does not enclose a volume cleanly", of_solids);
  if (!(enclosed_volume(mesh.x, mesh.triangles) > 0))
    throw Error(Problem{.key = name,
                        .what = "faces inward",
                        .remedy = "turn its triangles, or repair it (\"repair\": true beside a file)"});
}

void require_surface(const TriangleMesh& mesh, const std::string& name) {
  require(mesh, name, "is no clean surface", of_surfaces);
}

std::string collision_doubts(const TriangleMesh& mesh) {
  const Complaint complaint = complaint_about(mesh, of_colliders);
  if (complaint.what.empty() && topology(mesh).closed() && enclosed_volume(mesh.x, mesh.triangles) < 0)
    return "faces inward, so that it is a room and everything about it counts as inside its walls; unless "
           "that is "
           "meant turn its triangles, or repair it (\"repair\": true beside a file)";
  if (complaint.what.empty()) return {};
  return fmt::format("{}, beside which collisions may err; {}", complaint.what, complaint.remedy);
}

std::vector<Index> triangle_components(std::size_t num_vertices, std::span<const Index3> triangles) {
  DisjointSets sets(num_vertices);
  for (const Index3& t : triangles) {
    sets.join(t[0], t[1]);
    sets.join(t[0], t[2]);
  }
  std::vector<Index> number(num_vertices, -1), result(triangles.size());
  Index next = 0;
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    Index& n = number[sets.find(triangles[t][0])];
    if (n < 0) n = next++;
    result[t] = n;
  }
  return result;
}

std::vector<Index> weld_map(std::span<const Vec3> x, Real tolerance) {
  detail::require_length("tolerance", tolerance, true);
  std::vector<Index> to(x.size());
  std::iota(to.begin(), to.end(), Index{0});
  if (x.empty()) return to;
  if (tolerance == 0) {
    // Coordinates are compared, not bits: minus zero is zero.
    std::vector<Index> order = to;
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      for (int k = 0; k < 3; ++k)
        if (x[a][k] != x[b][k]) return x[a][k] < x[b][k];
      return a < b;
    });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (x[order[i]] == x[order[i - 1]]) to[order[i]] = to[order[i - 1]];
    return to;
  }
  // Buckets of the tolerance's size: a vertex's partners lie in its own or a neighbouring one.
  const double scale = 1 / double(tolerance);
  const Vec3 low = bounds_of(x).low;
  struct Cell {
    std::int64_t i, j, k;
    bool operator==(const Cell&) const = default;
  };
  struct HashCell {
    std::size_t operator()(const Cell& c) const {
      return std::size_t(c.i) * 0x9E3779B97F4A7C15u ^ std::size_t(c.j) * 0xC2B2AE3D27D4EB4Fu ^
             std::size_t(c.k) * 0x165667B19E3779F9u;
    }
  };
  const auto cell_of = [&](const Vec3& p) {
    const auto number = [&](int k) {
      const double at = (double(p[k]) - double(low[k])) * scale;
      return at < 4e18 ? static_cast<std::int64_t>(at) : std::int64_t{4'000'000'000'000'000'000};
    };
    return Cell{number(0), number(1), number(2)};
  };
  std::unordered_map<Cell, std::vector<Index>, HashCell> kept;  // vertices that others are welded to
  for (std::size_t v = 0; v < x.size(); ++v) {
    const Cell cell = cell_of(x[v]);
    Index best = -1;
    for (int di = -1; di <= 1; ++di)
      for (int dj = -1; dj <= 1; ++dj)
        for (int dk = -1; dk <= 1; ++dk) {
          const auto at = kept.find({cell.i + di, cell.j + dj, cell.k + dk});
          if (at == kept.end()) continue;
          for (const Index u : at->second) {
            const double d = (x[u].cast<double>() - x[v].cast<double>()).norm();
            if (d <= double(tolerance) && (best < 0 || u < best)) best = u;
          }
        }
    if (best >= 0)
      to[v] = best;
    else
      kept[cell].push_back(static_cast<Index>(v));
  }
  return to;
}

namespace {

/// Drops vertices without a triangle and renumbers the others in order.
TriangleMesh compacted(std::span<const Vec3> x, std::span<const Index3> triangles) {
  std::vector<Index> number(x.size(), -1);
  for (const Index3& t : triangles)
    for (int k = 0; k < 3; ++k) number[t[k]] = 0;
  TriangleMesh mesh;
  for (std::size_t v = 0; v < x.size(); ++v) {
    if (number[v] < 0) continue;
    number[v] = static_cast<Index>(mesh.x.size());
    mesh.x.push_back(x[v]);
  }
  mesh.triangles.reserve(triangles.size());
  for (const Index3& t : triangles) mesh.triangles.emplace_back(number[t[0]], number[t[1]], number[t[2]]);
  return mesh;
}

/// Flips triangles breadth-first across shared edges until neighbours agree; then whole closed components
/// whose volume is negative.
void orient(std::span<const Vec3> x, std::vector<Index3>& triangles) {
  const std::vector<Index3> neighbours = triangle_neighbours(triangles);
  const auto runs_forward = [&](const Index3& t, Index a, Index b) {
    for (int k = 0; k < 3; ++k)
      if (t[k] == a && t[(k + 1) % 3] == b) return true;
    return false;
  };
  std::vector<char> seen(triangles.size(), 0), flip(triangles.size(), 0);
  std::vector<Index> patch;
  for (std::size_t seed = 0; seed < triangles.size(); ++seed) {
    if (seen[seed]) continue;
    patch.assign(1, static_cast<Index>(seed));
    seen[seed] = 1;
    bool closed = true;
    for (std::size_t at = 0; at < patch.size(); ++at) {
      const Index t = patch[at];
      for (int k = 0; k < 3; ++k) {
        const Index n = neighbours[t][k];
        if (n < 0) {
          closed = false;
          continue;
        }
        if (seen[n]) continue;
        const bool agree = !runs_forward(triangles[n], triangles[t][k], triangles[t][(k + 1) % 3]);
        flip[n] = agree ? flip[t] : !flip[t];
        seen[n] = 1;
        patch.push_back(n);
      }
    }
    std::vector<Index3> turned;
    turned.reserve(patch.size());
    for (const Index t : patch) {
      Index3 corners = triangles[t];
      if (flip[t]) std::swap(corners[1], corners[2]);
      turned.push_back(corners);
    }
    // An open patch keeps the orientation most of its triangles came with.
    const auto flipped = std::count_if(patch.begin(), patch.end(), [&](Index t) { return flip[t] != 0; });
    const bool inside_out = closed ? enclosed_volume(x, turned) < 0 : 2 * std::size_t(flipped) > patch.size();
    for (std::size_t i = 0; i < patch.size(); ++i) {
      if (inside_out) std::swap(turned[i][1], turned[i][2]);
      triangles[patch[i]] = turned[i];
    }
  }
}

}  // namespace

TriangleMesh welded(const TriangleMesh& mesh, Real tolerance) {
  const std::vector<Index> to = weld_map(mesh.x, tolerance);
  std::vector<Index3> triangles;
  triangles.reserve(mesh.triangles.size());
  for (const Index3& t : mesh.triangles) {
    const Index3 joined(to[t[0]], to[t[1]], to[t[2]]);
    if (!repeats_a_vertex(joined)) triangles.push_back(joined);
  }
  return compacted(mesh.x, triangles);
}

TriangleMesh without_repeats(const TriangleMesh& mesh) {
  // The first vertex of each is its least; that keeps the way it turns.
  const std::vector<Index> place = weld_map(mesh.x, 0);
  std::vector<std::array<Index, 3>> turned;
  turned.reserve(mesh.triangles.size());
  for (const Index3& t : mesh.triangles) {
    turned.push_back({place[t[0]], place[t[1]], place[t[2]]});
    std::rotate(turned.back().begin(), std::min_element(turned.back().begin(), turned.back().end()),
                turned.back().end());
  }
  const std::vector<char> repeats = repeated(turned);
  TriangleMesh once = {mesh.x, {}};
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    if (!repeats[t]) once.triangles.push_back(mesh.triangles[t]);
  return once;
}

TriangleMesh without_loose_vertices(const TriangleMesh& mesh) {
  return compacted(mesh.x, mesh.triangles);
}

TriangleMesh repaired(const TriangleMesh& mesh, const Repair& repair) {
  std::vector<Index3> triangles;
  const std::vector<char> is_duplicate =
      repair.drop_duplicates ? duplicates(mesh.triangles) : std::vector<char>(mesh.triangles.size(), 0);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    if (is_duplicate[t]) continue;
    if (repair.drop_degenerate && is_degenerate(mesh.x, mesh.triangles[t])) continue;
    triangles.push_back(mesh.triangles[t]);
  }
  if (repair.orient) orient(mesh.x, triangles);
  if (repair.drop_unreferenced) return compacted(mesh.x, triangles);
  return {mesh.x, std::move(triangles)};
}

}  // namespace plenum::inline PLENUM_ABI
