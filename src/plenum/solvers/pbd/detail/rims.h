#pragma once
// What has just torn is set apart, so that there is a gap for contact to keep.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Of the shortest edge of a model, how far a copy of a divided particle is set from the others: twice what
/// contact never lets a gap shrink below.
inline constexpr Real parted = Real(0.01);

/// The way from a vertex into the triangles `around` it, unit, or 0 if there is none: in the plane along the
/// bisector of the angle that they fill. Of an edge by itself, (a, b, b), it is along the edge.
Vec3 inward(std::span<const Vec3> x, std::span<const Index3> triangles, std::span<const Index> around,
            Index i);

/// Moves particles that lie on each other since what they were has been `divided` into them, all of these and
/// no more, each into what hangs on it; their centre of mass stays. Unless they `may_cross`, less far where
/// rims would otherwise cross anything. `model` is torn already; divided [D] < N in any order. Returns [D]
/// which cross something all the same (none if they may). What is held is where its pins hold it.
std::vector<std::uint8_t> part_rims(const Pbd::Model& model, std::vector<Vec3>& x,
                                    std::span<const Index> divided, bool may_cross);

}}  // namespace plenum::PLENUM_ABI::detail
