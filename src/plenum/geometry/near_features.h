#pragma once
// Which vertices and triangles, and which edges, of one or more deforming surfaces may come near each other.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/geometry/aabb.h"
#include "plenum/geometry/broad/box_tree.h"

namespace plenum::inline PLENUM_ABI {

/// Pairs of features that share no vertex: of a vertex [0] and a triangle [1..3], and of edges [0..1] and
/// [2..3]. Two surfaces that do not cross can come to cross only through one of these (Bridson, Fedkiw &
/// Anderson 2002, "Robust treatment of collisions, contact and friction for cloth animation", section 6).
struct FeaturePairs {
  std::vector<Index4> vertex_face, edge_edge;
  void clear() { vertex_face.clear(), edge_edge.clear(); }
  void append(const FeaturePairs& more);
  std::size_t size() const { return vertex_face.size() + edge_edge.size(); }
};

/// Triangles in patches of neighbours, each vertex and each edge in the patch of one of its triangles
/// (Curtis, Tamstorf & Manocha 2008, "Fast collision detection for deformable models using
/// representative-triangles"). Patches are paired by a hierarchy, their features all with all, many at a
/// time.
class NearFeatures {
 public:
  /// triangles [T][3]; (a, b, b) is an edge by itself. Patches follow from topology, not from where things
  /// are.
  void build(std::size_t num_vertices, std::span<const Index3> triangles);
  bool empty() const { return patch_box_.empty(); }

  /// Takes from some pairs those that are not wanted; called from several threads at once.
  using Sieve = FunctionRef<void(FeaturePairs&)>;
  /// All pairs of features whose boxes overlap that the sieve leaves; boxes [N] of the vertices. The order
  /// depends on the arguments alone, nothing of it on the number of threads. False, and not all of them, if
  /// there are more than `most`, or more pairs of patches than memory should be spent on.
  bool find(std::span<const Aabb> boxes, Sieve sieve, FeaturePairs& out, std::size_t most = SIZE_MAX) {
    out.clear();
    return find(boxes, {}, sieve, out, most);
  }
  /// Adds to `out` the pairs that have a vertex that is marked in `changed` [N], whose boxes are new since
  /// the last find().
  bool find(std::span<const Aabb> boxes, std::span<const std::uint8_t> changed, Sieve sieve,
            FeaturePairs& out, std::size_t most = SIZE_MAX);

 private:
  /// Features of one kind in the order of patches, with their boxes.
  template <class Feature>
  struct Kind {
    std::vector<Feature> of;            ///< [F] vertices
    std::vector<Index> first = {0};     ///< [patches + 1]
    std::vector<Real> low[3], high[3];  ///< [F + wide] m
    std::vector<std::uint8_t> changed;  ///< [F] those that are looked for, if not all are
    void end_patch() { first.push_back(Index(of.size())); }
    void make_room();
    Aabb fit(std::span<const Aabb> boxes, std::size_t patch);
    bool mark(std::span<const std::uint8_t> vertices, std::size_t patch);
    std::size_t begin_of(Index patch) const { return std::size_t(first[std::size_t(patch)]); }
    std::size_t end_of(Index patch) const { return std::size_t(first[std::size_t(patch) + 1]); }
  };
  template <class A, class B, class Found>
  void pair_all(const Kind<A>& as, const Kind<B>& bs, const Index2& patches, Found&& found) const;
  void pair_patches(const Index2& pair, FeaturePairs& out) const;

  Kind<Index> vertices_;
  Kind<Index2> edges_;
  Kind<Index3> faces_;
  std::vector<Aabb> patch_box_;       ///< [patches]
  std::vector<std::uint8_t> active_;  ///< [patches] those that are looked at
  bool is_partial_ = false;           ///< only pairs of what has changed are looked for
  BoxTree tree_;
  std::vector<Index2> patch_pairs_;
  struct Block {
    FeaturePairs found, kept;
  };
  std::vector<Block> found_;  ///< of blocks of these, some at a time
};

}  // namespace plenum::inline PLENUM_ABI
