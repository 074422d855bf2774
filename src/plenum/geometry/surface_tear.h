#pragma once
// Opening a triangle mesh along its edges, so that it stays a manifold with a boundary.
#include <functional>
#include <span>
#include <vector>

#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

/// Divides vertices between the triangles around them. Triangles are never cut: a tear follows the edges.
///
/// An edge that gives way opens the mesh at one of its ends, a: the triangles around a beyond the plane
/// through a across the edge get a vertex of their own (the plane of separation is that of O'Brien & Hodgins
/// 1999, "Graphical modeling and animation of brittle fracture", section 4). Wherever the triangles around a
/// vertex then hang together by the vertex alone, it is divided too, so that a tear that reaches the border,
/// or another tear, comes apart. No triangle ever loses an edge, and no edge gets another triangle.
class SurfaceTear {
 public:
  /// Told of each new vertex b, at the place of a, that has taken over the triangles `moved` of a; those that
  /// a has kept hang on it as before. The owner of x appends b's.
  using Divided =
      std::function<void(Index a, Index b, std::span<const Index> kept, std::span<const Index> moved)>;

  /// x [N] m and triangles [T][3] < N stay the caller's, who lets them live on; vertices `held` are opened by
  /// no edge, though divided where a tear has come to them.
  SurfaceTear(const std::vector<Vec3>& x, std::vector<Index3>& triangles, std::span<const Index> held,
              Divided divided);

  /// Opens the mesh across the edge between a and b, at the end with more triangles if that can be; false if
  /// at neither.
  bool open_edge(Index a, Index b);
  /// Gives the triangles around `a` that `moves` chooses a vertex of their own; false if a is held, or if
  /// that would be none or all of them.
  bool open(Index a, const std::function<bool(Index triangle)>& moves);

  std::span<const Index> triangles_at(Index i) const { return triangles_at_[std::size_t(i)]; }
  bool has(Index t, Index i) const { return (triangles_[std::size_t(t)].array() == i).any(); }
  bool is_held(Index i) const { return is_held_[std::size_t(i)]; }
  /// Whether the mesh has been opened there: what was measured of it before no longer holds.
  bool is_touched(Index i) const { return is_touched_[std::size_t(i)]; }
  Vec3 centroid(Index t) const;

 private:
  std::vector<Index> neighbours(Index i) const;
  Index divide(Index a, const std::vector<Index>& moved);
  void separate_fans(Index i);
  bool share_side(Index t, Index u) const;

  const std::vector<Vec3>& x_;
  std::vector<Index3>& triangles_;
  Divided divided_;
  std::vector<std::vector<Index>> triangles_at_;
  std::vector<bool> is_held_, is_touched_;
};

}  // namespace plenum::inline PLENUM_ABI
