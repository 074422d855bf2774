#pragma once
// Solids of a boundary on their way through a part of the substep, with what tells quickly who is far away.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// Samples that a parallel loop takes at a time.
inline constexpr std::size_t samples_per_block = 512;

struct SweptSolid {
  SolidBody body = {};         ///< with its poses at the start and the end of the part
  Aabb bounds = {};            ///< of the whole motion
  bool is_half_space = false;  ///< a plane that does not move: near are points x with normal . x < offset
  Vec3 normal = Vec3::Zero();
  Real offset = 0;                     ///< [m]
  Vec3 start_velocity = Vec3::Zero();  ///< [m/s] of the centre of mass, of what yields
  Vec3 start_spin = Vec3::Zero();      ///< [rad/s] of it
  Real width = 0;                      ///< [m] its least, where it is asked for

  /// Whether a straight path from x0 to x1 may come near. Most samples of a cloud of many are far from
  /// everything, and to find that out must cost no more than to read them.
  bool is_near(const Vec3& x0, const Vec3& x1) const {
    if (is_half_space)  // a straight path between points outside of it stays outside
      return std::min(normal.dot(x0), normal.dot(x1)) < offset;
    return bounds.overlaps({x0.cwiseMin(x1), x0.cwiseMax(x1)});
  }
  /// The same of any path in a box.
  bool is_near(const Aabb& box) const {
    if (!is_half_space) return bounds.overlaps(box);
    return normal.dot(Vec3((normal.array() > 0).select(box.low, box.high))) < offset;
  }
};

/// Solids that may be near neighbouring samples, so that of hundreds each sample is asked for few.
class NearSolids {
 public:
  /// Calls f(first, last, box, near) for parts of the samples [begin, end), which are no more than a block;
  /// `near` are those solids, in their order, that paths in `box` may come near, as are all of the part's;
  /// box_of(i): of the path of sample i. Few solids are near all, and the box has no bounds.
  template <class BoxOf, class F>
  void each_part(std::span<const SweptSolid> solids, std::size_t begin, std::size_t end, BoxOf&& box_of,
                 F&& f) {
    if (solids.size() <= few) {
      f(begin, end, unbounded(), all_of(solids.size()));
      return;
    }
    constexpr std::size_t most_parts = (samples_per_block + per_part - 1) / per_part;
    Aabb boxes[most_parts], whole;
    for (std::size_t i = begin; i < end; ++i) boxes[(i - begin) / per_part].extend(box_of(i));
    for (const Aabb& box : boxes) whole.extend(box);
    find(solids, all_of(solids.size()), whole, of_block_);
    if (of_block_.empty()) return;
    for (std::size_t first = begin, part = 0; first < end; first += per_part, ++part) {
      find(solids, of_block_, boxes[part], of_part_);
      if (!of_part_.empty())
        f(first, std::min(end, first + per_part), boxes[part], std::span<const Index>(of_part_));
    }
  }
  /// 0 ... n - 1.
  std::span<const Index> all_of(std::size_t n);

 private:
  static constexpr std::size_t few = 4, per_part = 32;
  static Aabb unbounded() {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    return {Vec3::Constant(-infinity), Vec3::Constant(infinity)};
  }
  static void find(std::span<const SweptSolid> solids, std::span<const Index> of, const Aabb& box,
                   std::vector<Index>& out);
  std::vector<Index> all_, of_block_, of_part_;
};

/// A free body as what it bears pushes it along, on its way through a step of h [s].
Bearer bearer_of(const SweptSolid& solid, Real h);

/// Says how a body that goes through a step of h [s] yields to a support by it.
void bear_by(const SweptSolid& solid, Real h, Support& support);

/// Fills `out` with the bodies' motions in the part [s0, s1] of the substep, near being within `margin` [m].
void sweep(std::span<const SolidBody> bodies, Real s0, Real s1, Real margin, std::vector<SweptSolid>& out);

}  // namespace plenum::inline PLENUM_ABI
