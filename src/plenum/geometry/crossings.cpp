#include "plenum/geometry/crossings.h"

#include <algorithm>
#include <cmath>

#include "plenum/geometry/bvh.h"

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

std::vector<Index2> crossings(std::span<const Vec3> x, std::span<const Index2> edges,
                              std::span<const Index3> triangles) {
  const std::vector<Aabb> boxes = triangle_boxes(x, triangles);
  const Bvh tree(boxes);
  constexpr std::size_t block = 256;
  std::vector<std::vector<Index2>> found((edges.size() + block - 1) / block);
  parallel_for(edges.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      const Index p = edges[e][0], q = edges[e][1];
      Aabb box;
      box.extend(x[std::size_t(p)]), box.extend(x[std::size_t(q)]);
      tree.overlapping(box, [&](Index t) {
        const Index3& of = triangles[std::size_t(t)];
        for (const Index v : of)
          if (v == p || v == q) return;
        if (of[1] == of[2] || !boxes[std::size_t(t)].overlaps(box)) return;
        if (crosses(x[std::size_t(p)], x[std::size_t(q)], x[std::size_t(of[0])], x[std::size_t(of[1])],
                    x[std::size_t(of[2])]))
          found[e / block].push_back({Index(e), t});
      });
    }
  });
  std::vector<Index2> out;
  for (std::vector<Index2>& list : found) {
    std::sort(list.begin(), list.end(),
              [](const Index2& a, const Index2& b) { return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1]; });
    out.insert(out.end(), list.begin(), list.end());
  }
  return out;
}

}  // namespace plenum::inline PLENUM_ABI
