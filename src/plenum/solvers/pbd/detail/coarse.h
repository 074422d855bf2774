#pragma once
// Coarse levels of cloth: patches of it that stay within reach of each other.
//
// A sweep passes a pull on by a few particles, so that cloth stretches where much hangs on little. Here means
// of particles, weighted by hats about the points of coarser and coarser grids, get no farther apart than the
// cloth between them lets them: one-sided constraints |X_J - X_I| <= D_IJ on X_I = sum_k p_Ik x_k, projected
// before each sweep, coarsest first. A hierarchy of position-based constraints is due to Mueller 2008,
// "Hierarchical position based dynamics", which takes single particles for coarse ones, so that what these
// pull is not what others are moved by, and momentum is not kept. Means keep it: a constraint's gradients are
// p_Ik n and -p_Jk n, whose sum and moment vanish as sum_k p_Ik = 1 and n is along X_J - X_I.
#include <span>
#include <vector>

#include "plenum/solvers/pbd/detail/batch.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

namespace detail {

/// Patches that get no farther apart than they are in flat cloth. All of a sweep are linear about where
/// patches were as it began, so that together they turn nothing.
struct alignas(64) PatchPack {
  static constexpr int points = 2;
  static constexpr bool in_pairs = false;
  Index particle[2][wide];
  Wide3 from_first;  ///< [m] between the patches where ways are counted from
  Wide length;       ///< [m] that they may be apart
  Wide3 normal;      ///< unit, to the second as the sweep begins
  Wide beyond;       ///< [m] by how much they are too far apart then
  Wide multiplier;   ///< >= 0, since then
  unsigned lanes;
  Real damping_time;  ///< not damped

  /// At the start of a step; places are positions [m].
  void begin(const Place* places) {
    from_first = gather_place(places, particle[1]).x - gather_place(places, particle[0]).x;
  }
  /// As a sweep begins; places are how far patches have gone [m] from there; `reach`: part of their
  /// length that they may be apart.
  void aim(const Place* places, Real reach) {
    const Wide3 d = from_first + (gather_place(places, particle[1]).x - gather_place(places, particle[0]).x);
    const Wide far = sqrt(dot(d, d));
    normal = inverse_or_nothing(far) * d;
    beyond = far - fill(reach) * length;
    multiplier = Wide{};
  }
  struct Multipliers {};
  /// ways: by how much the sweep has moved patches [m].
  void project(Place* ways, const Projection& how) {
    WidePlace a = gather_place(ways, particle[0]), b = gather_place(ways, particle[1]);
    const Wide error = beyond + dot(normal, b.x - a.x);
    const Wide response = a.inverse_mass + b.inverse_mass;
    // No more is taken back than was given.
    const Wide change = max(-multiplier, fill(how.part) * error * inverse_or_nothing(response));
    multiplier += change;
    a.x += (a.inverse_mass * change) * normal;
    b.x -= (b.inverse_mass * change) * normal;
    scatter_place(ways, particle[0], lanes, a), scatter_place(ways, particle[1], lanes, b);
  }
};

/// Hats along one axis of a grid: how points of a row are between those of a coarser one.
struct HatAxis {
  std::vector<Index> lower;  ///< [points] coarse point at or before each; the next one is the other
  std::vector<Real> part;    ///< [points] of the next one, in [0, 1]
  std::vector<Index> first;  ///< [coarse + 1] where each coarse point's weights begin
  std::vector<Index> from;   ///< [coarse] the first point that it is a mean of
  std::vector<Real> weight;  ///< of the points of each mean, whose sum is 1
  Index num_points() const { return Index(lower.size()); }
  Index num_coarse() const { return Index(from.size()); }
};

}  // namespace detail

class PbdCoarse {
 public:
  /// For as many levels as there are, no more than `levels`.
  void lay_out(const Pbd::Model& model, int levels);
  bool empty() const { return grids_.empty(); }
  int levels() const { return levels_; }
  /// At the start of a step; places [N] are positions [m].
  void begin(std::span<const detail::Place> places);
  /// Moves particles by what coarse levels ask.
  void project(std::span<detail::Place> places, const detail::Projection& how);

 private:
  struct Level {
    detail::HatAxis x, z;                 ///< from the next finer one, or the particles
    AlignedVector<detail::Place> places;  ///< [patches] how far they have gone
    AlignedVector<detail::Place> ways;    ///< [patches] in this sweep
    AlignedVector<detail::Place> rows;    ///< [rows of points][coarse columns] between the two axes
    detail::Batch<detail::PatchPack> constraints;
  };
  struct Grid {
    Index first = 0;         ///< particle
    bool gives = false;      ///< it is held under a limit of strain only
    std::vector<Real> mass;  ///< [particles] kg, as the weights of means take it
    std::vector<Level> levels;
  };
  static void restrict(const detail::Place* from, Level& level);
  static void spread(Level& level, const Real* mass, detail::Place* to);

  std::vector<Grid> grids_;
  int levels_ = 0;
};

}  // namespace plenum::inline PLENUM_ABI
