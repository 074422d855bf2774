#include "plenum/geometry/surface_tear.h"

#include <algorithm>
#include <utility>

namespace plenum::inline PLENUM_ABI {
namespace {

bool holds(std::span<const Index> list, Index value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

SurfaceTear::SurfaceTear(const std::vector<Vec3>& x, std::vector<Index3>& triangles,
                         std::span<const Index> held, Divided divided)
    : x_(x), triangles_(triangles), divided_(std::move(divided)) {
  triangles_at_.resize(x.size());
  is_held_.resize(x.size(), false);
  is_touched_.resize(x.size(), false);
  for (const Index i : held) is_held_[std::size_t(i)] = true;
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (const Index i : triangles[t]) triangles_at_[std::size_t(i)].push_back(Index(t));
}

Vec3 SurfaceTear::centroid(Index t) const {
  const Index3& c = triangles_[std::size_t(t)];
  return (x_[std::size_t(c[0])] + x_[std::size_t(c[1])] + x_[std::size_t(c[2])]) / 3;
}

bool SurfaceTear::open_edge(Index a, Index b) {
  const auto across = [&](Index at, Index other) {
    const Vec3 normal = x_[std::size_t(other)] - x_[std::size_t(at)];
    return open(
        at, [&](Index t) { return !has(t, other) && (centroid(t) - x_[std::size_t(at)]).dot(normal) < 0; });
  };
  // The end with more triangles opens first, because the other may be a corner.
  if (triangles_at(b).size() > triangles_at(a).size()) std::swap(a, b);
  return across(a, b) || across(b, a);
}

bool SurfaceTear::open(Index a, const std::function<bool(Index)>& moves) {
  if (is_held(a)) return false;
  std::vector<Index> moved;
  for (const Index t : triangles_at(a))
    if (moves(t)) moved.push_back(t);
  if (moved.empty() || moved.size() == triangles_at(a).size()) return false;
  const std::vector<Index> around = neighbours(a);
  const Index b = divide(a, moved);
  separate_fans(a);
  separate_fans(b);
  for (const Index i : around) separate_fans(i);
  return true;
}

std::vector<Index> SurfaceTear::neighbours(Index i) const {
  std::vector<Index> found;
  for (const Index t : triangles_at(i))
    for (const Index j : triangles_[std::size_t(t)])
      if (j != i && !holds(found, j)) found.push_back(j);
  return found;
}

/// Gives some of the triangles around `a` a vertex of their own, and returns it.
Index SurfaceTear::divide(Index a, const std::vector<Index>& moved) {
  const auto at = static_cast<std::size_t>(a);
  const Index b = Index(triangles_at_.size());
  is_held_.push_back(bool(is_held_[at]));
  is_touched_.push_back(true);
  is_touched_[at] = true;
  triangles_at_.push_back(moved);
  std::erase_if(triangles_at_[at], [&](Index t) { return holds(moved, t); });
  for (const Index t : moved)
    for (Index& i : triangles_[std::size_t(t)])
      if (i == a) i = b;
  divided_(a, b, triangles_at_[at], triangles_at_.back());
  return b;
}

/// Divides a vertex whose triangles do not all hang together by their sides.
void SurfaceTear::separate_fans(Index i) {
  for (;;) {
    const std::span<const Index> here = triangles_at(i);
    if (here.size() < 2) return;
    std::vector<Index> fan = {here[0]};
    for (std::size_t k = 0; k < fan.size(); ++k)
      for (const Index t : here)
        if (!holds(fan, t) && share_side(fan[k], t)) fan.push_back(t);
    if (fan.size() == here.size()) return;
    std::vector<Index> rest;
    for (const Index t : here)
      if (!holds(fan, t)) rest.push_back(t);
    i = divide(i, rest);  // and look at what went in turn
  }
}

bool SurfaceTear::share_side(Index t, Index u) const {
  int shared = 0;
  for (const Index i : triangles_[std::size_t(t)]) shared += has(u, i);
  return shared >= 2;
}

}  // namespace plenum::inline PLENUM_ABI
