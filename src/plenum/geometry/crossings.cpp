#include "plenum/geometry/crossings.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

__extension__ typedef __float128 Quad;

template <class T>
T determinant(const T (&a)[3], const T (&b)[3], const T (&c)[3]) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) +
         a[2] * (b[0] * c[1] - b[1] * c[0]);
}

template <class T>
void differences(const Vec3& from, const Vec3& to, T (&out)[3]) {
  for (int c = 0; c < 3; ++c) out[c] = T(to[c]) - T(from[c]);
}

}  // namespace

int side_of_plane(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  double u[3], v[3], w[3];
  differences(a, b, u), differences(a, c, v), differences(a, d, w);
  const double value = determinant(u, v, w);
  // Seven operations deep, each with a relative error of 2^-53 of a term; Shewchuk 1997, "Adaptive precision
  // floating-point arithmetic and fast robust geometric predicates", has 7.77e-16 of the permanent.
  double permanent = 0;
  for (int c0 = 0; c0 < 3; ++c0) {
    const int c1 = (c0 + 1) % 3, c2 = (c0 + 2) % 3;
    permanent += std::abs(u[c0]) * (std::abs(v[c1] * w[c2]) + std::abs(v[c2] * w[c1]));
  }
  if (std::abs(value) > 8e-16 * permanent) return value > 0 ? 1 : -1;
  Quad p[3], q[3], r[3];
  differences(a, b, p), differences(a, c, q), differences(a, d, r);
  const Quad exact = determinant(p, q, r);
  return exact > 0 ? 1 : exact < 0 ? -1 : 0;
}

bool crosses(const Vec3& p, const Vec3& q, const Vec3& a, const Vec3& b, const Vec3& c) {
  if (side_of_plane(a, b, c, p) * side_of_plane(a, b, c, q) > 0) return false;
  const int s = side_of_plane(p, q, a, b), t = side_of_plane(p, q, b, c), u = side_of_plane(p, q, c, a);
  // All on one side, or none: all in one plane.
  return (s >= 0 && t >= 0 && u >= 0 && s + t + u > 0) || (s <= 0 && t <= 0 && u <= 0 && s + t + u < 0);
}

std::span<const Index2> Crossings::find(std::span<const Vec3> x, std::span<const Index2> edges,
                                        std::span<const Index3> triangles) {
  constexpr std::size_t block = 256;
  boxes_.resize(triangles.size());
  parallel_for(triangles.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      boxes_[t] = {};
      for (const Index v : triangles[t]) boxes_[t].extend(x[std::size_t(v)]);
    }
  });
  tree_.rebuild(boxes_, Bvh::default_leaf_size, scratch_);
  const std::size_t blocks = (edges.size() + block - 1) / block;
  if (found_.size() < blocks) found_.resize(blocks);
  parallel_blocks(blocks, [&](std::size_t b) {
    std::vector<Index2>& found = found_[b];
    found.clear();
    for (std::size_t e = b * block; e < std::min(edges.size(), (b + 1) * block); ++e) {
      const Index p = edges[e][0], q = edges[e][1];
      Aabb box;
      box.extend(x[std::size_t(p)]), box.extend(x[std::size_t(q)]);
      tree_.overlapping(box, [&](Index t) {
        const Index3& of = triangles[std::size_t(t)];
        for (const Index v : of)
          if (v == p || v == q) return;
        if (of[1] == of[2] || !boxes_[std::size_t(t)].overlaps(box)) return;
        if (crosses(x[std::size_t(p)], x[std::size_t(q)], x[std::size_t(of[0])], x[std::size_t(of[1])],
                    x[std::size_t(of[2])]))
          found.push_back({Index(e), t});
      });
    }
    std::sort(found.begin(), found.end(),
              [](const Index2& a, const Index2& b) { return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1]; });
  });
  out_.clear();
  for (std::size_t b = 0; b < blocks; ++b) out_.insert(out_.end(), found_[b].begin(), found_[b].end());
  return out_;
}

std::vector<Index2> crossings(std::span<const Vec3> x, std::span<const Index2> edges,
                              std::span<const Index3> triangles) {
  Crossings finder;
  const std::span<const Index2> found = finder.find(x, edges, triangles);
  return {found.begin(), found.end()};
}

}  // namespace plenum::inline PLENUM_ABI
