#pragma once
// Clusters of particles that find back to their shapes.
#include <span>
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/linear/aligned.h"
#include "plenum/math/wide_polar.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

/// Overlapping clusters, all matched at once: a particle goes to the mean of what its clusters ask of it,
/// with a share of its mass in each, so that nothing is pushed or turned as a whole. Source: Rivers & James
/// 2007, "FastLSM: fast lattice shape matching for robust real-time deformation", section 3.
///
/// Sums over members run in lanes, one piece of a cluster in each; those of a cluster's pieces are joined in
/// their order. k: how many coordinates a cluster's map has.
template <int k>
class ShapeBatch {
 public:
  bool empty() const { return clusters_.empty(); }
  /// The clusters of the model with these numbers.
  void lay_out(const Pbd::Model& model, std::span<const Index> numbers, std::span<const Index> clusters_of);
  /// A step begins without memory of those before it: what it does depends on the state alone.
  void forget();
  /// Ways are counted from x [N] m.
  void count_from(std::span<const Vec3> x);
  void project_clusters(std::span<const detail::Place> places);
  /// The sum over clusters of what they ask a particle to move [m].
  void add_way(std::size_t particle, const Vec3& x0, const detail::Place& place, Vec3& way) const;

 private:
  static constexpr int members_per_piece = 64;
  struct Cluster {
    Vec3 centre, start;  ///< [m] at rest; where its first member is counted from
    Real per_size;       ///< [1/m]
    std::array<Real, 6> means;
    std::array<Real, 4 * (k + 1)> map;  ///< columns of the map, and its centre from `start`; each of four
    Index first;                        ///< member
    Real size, flexibility;
    std::size_t first_piece, last_piece;
  };
  struct Slot {
    Index particle[detail::wide];
    detail::Wide3 start;  ///< [m] from the cluster's first member where ways are counted from
    detail::Wide weight;
    detail::Wide weighted[k];  ///< coordinates, times the weight
  };
  struct Pieces {
    std::size_t first_slot, last_slot;
    std::size_t piece[detail::wide];  ///< of each lane; of those left over, one that nobody reads
    std::size_t cluster[detail::wide];
  };
  struct Matching {  ///< of as many clusters as there are lanes
    std::size_t cluster[detail::wide];
    detail::WideQuat rotation;
    detail::Wide inverse[k * k], spread[9], spread_scale, flexibility, size;
    int count;
  };
  static constexpr std::size_t sums_per_piece = 3 * (std::size_t(k) + 1);

  std::vector<Cluster> clusters_;
  AlignedVector<Slot> slots_;
  std::vector<Pieces> pieces_;
  AlignedVector<Matching> matchings_;
  std::vector<Real> sums_;  ///< of each piece
  std::vector<Vec3> rest_;  ///< [N] m
  Rows asking_;             ///< clusters of each particle, by their numbers here
};

class PbdShapes {
 public:
  bool empty() const { return affine_.empty() && quadratic_.empty(); }
  void lay_out(const Pbd::Model& model);
  /// At the start of a step, with positions [N] m.
  void begin(std::span<const Vec3> x);
  /// Ways are counted from x [N] m from now on.
  void count_from(std::span<const Vec3> x);
  void reset();
  void project(std::span<detail::Place> places, std::span<const Vec3> x0, const detail::Projection& how);

 private:
  ShapeBatch<3> affine_;
  ShapeBatch<9> quadratic_;
  /// Some members of what hangs together by clusters.
  struct Block {
    std::size_t piece, first, last;
    Vector3<double> sum;  ///< [m] of their weighted ways
  };
  void find_pieces(const Pbd::Model& model);

  std::vector<Index> members_;   ///< particles of clusters, piece by piece of what hangs together by them
  std::vector<Real> per_share_;  ///< of these, one over how many clusters each is in
  std::vector<Real> rate_;       ///< [1/s], of these
  std::vector<double> weight_;   ///< of these, part of the mass of their piece
  std::vector<Vec3> way_;        ///< [m] of these, to what their clusters ask
  std::vector<Vec3> given_;      ///< [m] of these, since the substep began
  std::vector<Block> blocks_;
  std::vector<Vector3<double>> pushed_;  ///< [m] of each piece, what rounding would move it by
};

}  // namespace plenum::inline PLENUM_ABI
