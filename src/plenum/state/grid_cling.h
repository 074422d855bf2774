#pragma once
// How near the surfaces of solids are to the faces of a grid, where a fluid clings to them.
#include <span>
#include <vector>

#include "plenum/math/grid_shape.h"
#include "plenum/state/grid_solid.h"

namespace plenum::inline PLENUM_ABI {

/// Of faces across axis c [shape.size()]: the sum of 1 / theta - 1 over the neighbours that are in a solid,
/// whose surface is at the part theta of the way to them; -1 for those that are in one themselves. The
/// distance is taken for linear in between. What diffuses with it is in integrate/grid_diffusion.h.
std::vector<Real> find_cling(const GridShape& shape, const Vec3& low, Real h,
                             std::span<const GridSolid> solids, int c);

}  // namespace plenum::inline PLENUM_ABI
