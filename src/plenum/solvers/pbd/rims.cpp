// Rims of a fresh tear lie on each other: no plane has them on its sides, and nothing could keep them from
// crossing. Methods that keep all gaps open need one to begin with (Li et al. 2020, "Incremental potential
// contact", section 3). So each copy of a divided particle goes a little way into what hangs on it, along the
// bisector of its triangles.
#include "plenum/solvers/pbd/detail/rims.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/crossings.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Parts of the length that groups go which would cross something otherwise.
constexpr std::array<Real, 2> shorter = {Real(0.5), Real(0.125)};

}  // namespace

/// The sum over triangles of the integral of directions over the angle phi that each fills: with unit sides a
/// and b, |a + b| = 2 cos(phi / 2) and |a - b| = 2 sin(phi / 2), which is the length of the integral.
Vec3 inward(std::span<const Vec3> x, std::span<const Index3> triangles, std::span<const Index> around,
            Index i) {
  Vec3 sum = Vec3::Zero();
  const auto unit_to = [&](Index j) { return Vec3((x[std::size_t(j)] - x[std::size_t(i)]).normalized()); };
  for (const Index t : around) {
    const Index3& c = triangles[std::size_t(t)];
    if (c[1] == c[2]) {
      sum += unit_to(c[0] == i ? c[1] : c[0]);
      continue;
    }
    const int k = c[0] == i ? 0 : c[1] == i ? 1 : 2;
    const Vec3 a = unit_to(c[(k + 1) % 3]), b = unit_to(c[(k + 2) % 3]);
    const Real both = (a + b).norm();
    if (both > 0) sum += (a + b) * ((a - b).norm() / both);
  }
  const Real length = sum.norm();
  return length > 0 ? Vec3(sum / length) : Vec3(Vec3::Zero());
}

std::vector<std::uint8_t> part_rims(const Pbd::Model& model, std::vector<Vec3>& x,
                                    std::span<const Index> divided, bool may_cross) {
  const std::size_t n = x.size(), whole = n - model.torn_from.size();
  const auto origin = [&](Index i) {
    return std::size_t(i) < whole ? i : model.torn_from[std::size_t(i) - whole];
  };
  std::vector<Index> of(divided.begin(), divided.end());
  const auto is_less = [&](Index a, Index b) {
    const Index from_a = origin(a), from_b = origin(b);
    if (from_a != from_b) return from_a < from_b;
    const Vec3 &at_a = x[std::size_t(a)], &at_b = x[std::size_t(b)];
    for (int c = 0; c < 3; ++c)
      if (at_a[c] != at_b[c]) return at_a[c] < at_b[c];
    return a < b;
  };
  std::sort(of.begin(), of.end(), is_less);
  of.erase(std::unique(of.begin(), of.end()), of.end());

  const Rows around = vertex_triangles(n, model.surface);
  std::vector<Vec3> way(n, Vec3::Zero()), from(n);
  std::vector<Index> group(n, -1);  // the first of those that lie on each other
  for (std::size_t begin = 0, end; begin < of.size(); begin = end) {
    const auto first = std::size_t(of[begin]);
    Real mass = 0;
    Vec3 common = Vec3::Zero();
    for (end = begin; end < of.size(); ++end) {
      const auto i = std::size_t(of[end]);
      if (origin(of[end]) != origin(of[begin]) || x[i] != x[first]) break;
      way[i] = inward(x, model.surface, around[i], of[end]);
      mass += model.mass[i], common += model.mass[i] * way[i];
    }
    for (std::size_t k = begin; k < end; ++k) {
      const auto i = std::size_t(of[k]);
      group[i] = of[begin], from[i] = x[i];
      way[i] -= common / mass;
    }
  }
  // Pieces that had come apart before and are held go where their pins are now, with what has divided.
  std::vector<Index> group_of(whole, -1);
  for (const Index i : of) group_of[std::size_t(origin(i))] = group[std::size_t(i)];
  std::vector<Index> moves_with = group;
  for (std::size_t i = 0; i < n; ++i)
    if (moves_with[i] < 0) moves_with[i] = group_of[std::size_t(origin(Index(i)))];

  const Real length = parted * model.shortest_edge;
  std::vector<Real> part(n, 1);  // of the length that each group goes
  const auto go = [&] {
    for (const Index i : of) {
      const auto k = std::size_t(i);
      x[k] = from[k] + (part[std::size_t(group[k])] * length) * way[k];
    }
  };
  go();
  std::vector<std::uint8_t> out(divided.size(), 0);
  if (may_cross) return out;
  Crossings crossings;
  std::vector<std::uint8_t> crosses(n);  // of each group's first
  for (std::size_t pass = 0;; ++pass) {
    std::fill(crosses.begin(), crosses.end(), std::uint8_t(0));
    bool any = false;
    const auto note = [&](Index i) {
      const Index of_group = moves_with[std::size_t(i)];
      if (of_group >= 0) crosses[std::size_t(of_group)] = 1, any = true;
    };
    for (const Index2& c : crossings.find(x, model.surface_edges, model.surface)) {
      for (const Index i : model.surface_edges[std::size_t(c[0])]) note(i);
      for (const Index i : model.surface[std::size_t(c[1])]) note(i);
    }
    if (!any) return out;
    if (pass == shorter.size()) break;
    for (const Index i : of)
      if (crosses[std::size_t(group[std::size_t(i)])])
        part[std::size_t(group[std::size_t(i)])] = shorter[pass];
    go();
  }
  for (std::size_t d = 0; d < divided.size(); ++d)
    out[d] = crosses[std::size_t(group[std::size_t(divided[d])])];
  return out;
}

}}  // namespace plenum::PLENUM_ABI::detail
