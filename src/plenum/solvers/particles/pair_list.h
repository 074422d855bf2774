#pragma once
// Which pairs may feel each other: clusters of eight neighbouring particles, each with the list of particles
// that are near any of it. A vector holds a coordinate of the cluster; the listed particles are met by all
// eight, one at a time. Source: Pall & Hess 2013, "A flexible algorithm for calculating pair interactions on
// SIMD architectures" (clusters, the column grid that makes them compact, and the buffer that lets lists
// last), here with single particles on the other side: at a cut-off of 2.5 sigma, two-sided clusters would
// compute some seven pairs for each one in range.
//
// Every pair stands in the lists of both its sides and is computed twice, with opposite bits: force and
// counterforce cancel exactly, no two threads write to the same sum, and no order of summation depends on
// threads.
#include <array>
#include <span>
#include <vector>

#include "plenum/geometry/cell_grid.h"
#include "plenum/linear/aligned.h"

namespace plenum::inline PLENUM_ABI {

struct PairList {
  static constexpr std::size_t cluster = 8;              ///< particles in a cluster
  static constexpr std::size_t clusters_per_block = 64;  ///< a block is built and computed by one thread
  static constexpr Index nobody = -1;

  /// What a list is a function of, besides positions.
  struct Setting {
    Real unit = 1;                                 ///< [m] that lengths inside of the list are measured in
    Real range = 0;                                ///< [unit]
    Vec3 low = Vec3::Zero(), high = Vec3::Zero();  ///< [m] periodic box; equal along open axes
    bool operator==(const Setting&) const = default;
  };
  /// A stretch of a cluster's list, all of it seen through one periodic image.
  struct Run {
    Vec3 shift;        ///< [unit] to add to the cluster
    std::size_t size;  ///< entries
  };
  struct Block {
    std::vector<std::uint32_t>
        entries;  ///< 4 x slot of listed particles; cluster after cluster, run after run
    std::vector<Run> runs;
    std::array<std::uint32_t, clusters_per_block> num_runs;  ///< of each cluster
  };

  Setting setting;
  std::vector<Vec3> origin;   ///< [N] m, the positions the list was made of
  std::vector<Vec3> wrap;     ///< [N] m, to subtract from positions to bring them into the box
  std::vector<Index> slots;   ///< [S] particle of each slot, or nobody; S is a multiple of `cluster`
  std::vector<Block> blocks;  ///< [ceil(S / cluster / clusters_per_block)]
  AlignedVector<Real> sites;  ///< [S][4] positions of now [unit], and a pad

  std::size_t num_clusters() const { return slots.size() / cluster; }

  /// Lists all pairs of x [N] nearer than the range. A pure function of its arguments, for any number of
  /// threads. Boxes must be no shorter than the range.
  void build(std::span<const Vec3> x, const Setting& setting);
  /// Whether the list was made of exactly this.
  bool is_of(std::span<const Vec3> x, const Setting& setting) const;
  /// Brings `sites` up to date.
  void place(std::span<const Vec3> x);

 private:
  void make_slots();
  void find_neighbours(std::size_t block);
  Vec3 box_ = Vec3::Zero();  // [unit]
  CellGrid grid_;
  std::vector<Vec3> wrapped_;        // [N] unit
  std::vector<Index> column_slots_;  // [columns + 1] first slot of each
  AlignedVector<float> x_, y_, z_;   // [S] unit, of each slot when the list was made
};

}  // namespace plenum::inline PLENUM_ABI
