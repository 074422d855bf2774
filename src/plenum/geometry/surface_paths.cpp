#include "plenum/geometry/surface_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

namespace plenum::inline PLENUM_ABI {
namespace {

struct Way {
  Index from, to;
  Real length;
};

/// From c to d over the edge from a to b, with both triangles in one plane; negative: the straight line
/// misses the edge.
double unfolded(const Vector3<double>& a, const Vector3<double>& b, const Vector3<double>& c,
                const Vector3<double>& d) {
  const double length = (b - a).norm();
  if (!(length > 0)) return -1;
  const Vector3<double> along = (b - a) / length;
  const double at_c = along.dot(c - a), at_d = along.dot(d - a);
  const double high = (c - a - at_c * along).norm(), low = (d - a - at_d * along).norm();
  if (!(high + low > 0)) return -1;
  const double crossing = at_c + (at_d - at_c) * high / (high + low);
  return crossing >= 0 && crossing <= length ? std::hypot(at_c - at_d, high + low) : -1;
}

}  // namespace

SurfacePaths::SurfacePaths(std::span<const Vec3> x, std::span<const Index3> triangles) {
  const auto at = [&](Index i) -> Vector3<double> { return x[std::size_t(i)].cast<double>(); };
  const std::vector<Index2> edges = unique_edges(triangles);
  edges_ = vertex_neighbours(x.size(), edges);
  std::vector<Way> ways;
  const auto add = [&](Index i, Index j, double length) {
    ways.push_back({i, j, Real(length)}), ways.push_back({j, i, Real(length)});
  };
  for (const Index2& e : edges) add(e[0], e[1], (at(e[1]) - at(e[0])).norm());
  for (const Index4& h : hinges(triangles))
    if (const double length = unfolded(at(h[0]), at(h[1]), at(h[2]), at(h[3])); length >= 0)
      add(h[2], h[3], length);
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return std::tie(a.from, a.to, a.length) < std::tie(b.from, b.to, b.length);
  });
  ways_.offsets.assign(x.size() + 1, 0);
  for (const Way& w : ways) {
    ++ways_.offsets[std::size_t(w.from) + 1];
    ways_.items.push_back(w.to), length_.push_back(w.length);
  }
  std::partial_sum(ways_.offsets.begin(), ways_.offsets.end(), ways_.offsets.begin());
}

SurfacePaths::Distances SurfacePaths::from(std::span<const Index> sources) const {
  Distances out;
  out.distance.assign(ways_.size(), std::numeric_limits<Real>::infinity());
  out.source.assign(ways_.size(), -1);
  using Open = std::tuple<Real, Index>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  for (const Index s : sources) {
    out.distance[std::size_t(s)] = 0, out.source[std::size_t(s)] = s;
    open.push({0, s});
  }
  while (!open.empty()) {
    const auto [far, v] = open.top();
    open.pop();
    if (far > out.distance[std::size_t(v)]) continue;
    for (Index k = ways_.offsets[std::size_t(v)]; k < ways_.offsets[std::size_t(v) + 1]; ++k) {
      const Index next = ways_.items[std::size_t(k)];
      const Real farther = far + length_[std::size_t(k)];
      if (!(farther < out.distance[std::size_t(next)])) continue;
      out.distance[std::size_t(next)] = farther;
      out.source[std::size_t(next)] = out.source[std::size_t(v)];
      open.push({farther, next});
    }
  }
  return out;
}

}  // namespace plenum::inline PLENUM_ABI
