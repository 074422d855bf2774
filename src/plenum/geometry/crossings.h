#pragma once
// How often surfaces pass through themselves and each other, counted exactly.
#include <cstddef>
#include <span>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/geometry/bvh.h"

namespace plenum::inline PLENUM_ABI {

/// Side of d on the plane through a, b, c: the sign of (b - a) x (c - a) . (d - a), 1, 0 or -1. Exact for
/// coordinates that are floats of one sign of exponent range, as those of scenes are: differences of such are
/// exact, and what double cannot tell is done in 113 bits.
int side_of_plane(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d);

/// Whether the segment p q passes through the triangle a b c or touches it from both sides of its plane. What
/// merely lies in the plane does not pass.
bool crosses(const Vec3& p, const Vec3& q, const Vec3& a, const Vec3& b, const Vec3& c);

/// Finds them again and again, without allocations once it has met as many.
class Crossings {
 public:
  /// Pairs of an edge and a triangle that share no vertex and cross: the number of the edge in `edges` and of
  /// the triangle. Sorted; they stand until the next call.
  std::span<const Index2> find(std::span<const Vec3> x, std::span<const Index2> edges,
                               std::span<const Index3> triangles);

 private:
  std::vector<Aabb> boxes_;  ///< [triangles]
  Bvh tree_;
  Bvh::Scratch scratch_;
  std::vector<std::vector<Index2>> found_;  ///< of blocks of edges
  std::vector<Index2> out_;
};

/// Once.
std::vector<Index2> crossings(std::span<const Vec3> x, std::span<const Index2> edges,
                              std::span<const Index3> triangles);

}  // namespace plenum::inline PLENUM_ABI
