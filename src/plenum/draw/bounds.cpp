#include "plenum/draw/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace plenum::inline PLENUM_ABI {

namespace {

void include(Aabb& box, const Vec3& x, Real radius = 0) {
  if (x.allFinite()) box.extend(Aabb{x, x}.grown(radius));
}

/// What is not far from most of the points: beyond the 5th and 95th percentiles along each axis by less than
/// half of the widest of these three ranges (Tukey 1977's fences, for the tails of a spray instead of
/// quartiles; the widest, because what leaps out of a flat layer is not far for that). All points if they are
/// few.
Aabb bulk_of(std::span<const Vec3> x) {
  Aabb all;
  all.low.setConstant(std::numeric_limits<Real>::lowest());
  all.high.setConstant(std::numeric_limits<Real>::max());
  constexpr std::size_t few = 64;
  if (x.size() < few) return all;
  Aabb bulk;
  std::vector<Real> at;
  at.reserve(x.size());
  for (int axis = 0; axis < 3; ++axis) {
    at.clear();
    for (const Vec3& p : x)
      if (std::isfinite(p[axis])) at.push_back(p[axis]);
    if (at.size() < few) return all;
    const auto percentile = [&](std::size_t percent) {
      const auto nth = at.begin() + static_cast<std::ptrdiff_t>((at.size() - 1) * percent / 100);
      std::nth_element(at.begin(), nth, at.end());
      return *nth;
    };
    bulk.low[axis] = percentile(5);
    bulk.high[axis] = percentile(95);
  }
  return bulk.grown(bulk.size().maxCoeff() / 2);
}

/// What hangs together by triangles or segments: a forest whose trees are its pieces.
class Pieces {
 public:
  explicit Pieces(std::size_t points) : parent_(points) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t i, std::size_t j) { parent_[find(i)] = find(j); }

 private:
  std::vector<std::size_t> parent_;
};

/// Adds the corners of triangles or segments: those of the largest piece, and of others that do not lie
/// wholly outside of the bulk.
template <class Items, class Place>
void include_pieces(std::span<const Vec3> x, const Items& items, int corners, Place&& place, Real radius,
                    Aabb& box) {
  // A part of a system has a range of its points.
  std::size_t first = x.size(), end = 0;
  const auto for_each_corner = [&](auto&& f) {
    for (const auto& item : items)
      for (int k = 0; k < corners; ++k)
        if (const Index i = item[k]; i >= 0 && static_cast<std::size_t>(i) < x.size())
          f(static_cast<std::size_t>(i));
  };
  for_each_corner([&](std::size_t i) { first = std::min(first, i), end = std::max(end, i + 1); });
  if (first >= end) return;
  std::vector<char> used(end - first, 0);
  for_each_corner([&](std::size_t i) { used[i - first] = 1; });
  std::vector<Vec3> points;
  Aabb all;
  for (std::size_t i = first; i < end; ++i)
    if (used[i - first] != 0 && x[i].allFinite()) {
      points.push_back(place(x[i]));
      include(all, points.back(), radius);
    }
  const Aabb bulk = bulk_of(points).grown(radius);
  if (all.empty() || (bulk.contains(all.low) && bulk.contains(all.high))) return box.extend(all);

  Pieces pieces(end - first);
  for (const auto& item : items) {
    const auto is_known = [&](Index i) { return i >= 0 && static_cast<std::size_t>(i) < x.size(); };
    for (int k = 1; k < corners; ++k)
      if (is_known(item[0]) && is_known(item[k]))
        pieces.join(static_cast<std::size_t>(item[0]) - first, static_cast<std::size_t>(item[k]) - first);
  }
  std::vector<std::size_t> size(end - first, 0);
  std::vector<char> near(end - first, 0);
  for (std::size_t i = first; i < end; ++i) {
    if (used[i - first] == 0) continue;
    const std::size_t piece = pieces.find(i - first);
    ++size[piece];
    if (bulk.contains(place(x[i]))) near[piece] = 1;
  }
  near[static_cast<std::size_t>(std::max_element(size.begin(), size.end()) - size.begin())] = 1;
  for (std::size_t i = first; i < end; ++i)
    if (used[i - first] != 0 && near[pieces.find(i - first)] != 0) include(box, place(x[i]), radius);
}

}  // namespace

void BoundsSink::triangles(const TriangleView& view) {
  const auto place = [&](const Vec3& p) { return view.place(p); };
  include_pieces(view.x, view.triangles, 3, place, 0, view.look == Look::obstacle ? obstacles : subject);
}
void BoundsSink::spheres(const SphereView& view) {
  Aabb& box = view.look == Look::obstacle ? obstacles : subject;
  const Aabb bulk = bulk_of(view.x);
  for (std::size_t i = 0; i < view.x.size(); ++i)
    if (bulk.contains(view.x[i]))
      include(box, view.x[i], i < view.radii.size() ? view.radii[i] : view.radius);
}
void BoundsSink::lines(const LineView& view) {
  const auto place = [](const Vec3& p) { return p; };
  include_pieces(view.x, view.segments, 2, place, view.radius,
                 view.look == Look::obstacle ? obstacles : subject);
}

void BoundsSink::volume(const VolumeView& view) {
  include(subject, view.low);
  include(subject, view.high());
}

}  // namespace plenum::inline PLENUM_ABI
