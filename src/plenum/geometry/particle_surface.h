#pragma once
// The surface of a liquid whose particles are all that is known of it.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

struct ParticleSurfaceWorkspace {
  std::vector<std::uint8_t> occupied, deep, near, spread;  ///< [padded cells]
  std::vector<Index> counts, slabs, cells;                 ///< where particles of blocks, slabs, cells begin
  std::vector<Vec3> by_slab, sorted;                       ///< [copies of particles], in cells
};

/// Bounds of what particle_distance gives, in units of its reach.
inline constexpr Real deepest_inside = Real(-0.4063492), farthest_outside = Real(1.2448477);

/// phi [shape.size()] at the cell centres of a box, ghosts included, such that phi = 0 is the surface of a
/// liquid that is made of the particles x [m], wherever these lie; phi < 0 is inside, in [m]. Near a flat
/// surface of evenly filled liquid, phi is the signed distance; it stays within `deepest_inside` and
/// `farthest_outside` times `reach` [m], at least h, about twice the particles' distance or more. The box has
/// its low corner at `low` and cells of side h [m], in three dimensions.
///
/// A point's distance to the weighted mean of the particles around it, less a radius: Zhu & Bridson 2005,
/// "Animating sand as a fluid", eq. 7 to 9, with weights (1 - d^2 / reach^2)^3. Both constants follow from a
/// half-space that is filled evenly, from which the mean of a point at height s reach above it is
///   c(s) = (1 - s^2)^5 / 10 / (integral from s to 1 of (1 - t^2)^4 dt)
/// times the reach away: the radius c(0) = 63/256, so that the surface is where the liquid ends, and the
/// scale 1 / c'(0) = 10 (128/315)^2, so that phi has slope one there. A particle alone is a ball of radius
/// 63/256 reach. Between two bodies of liquid the mean is in the middle, as if there were liquid; so a point
/// farther than 0.45 reach from all particles is taken to be outside, and gaps wider than twice that stay
/// open.
///
/// With `walled`, the liquid goes on beyond the sides of the box as in a mirror, so that it meets walls
/// squarely, and is cut off there; along a `periodic` axis it goes on as at the opposite side, and is cut off
/// all the same. Only what is near the surface is looked at; allocates only to grow.
void particle_distance(const GridShape& shape, const Vec3& low, Real h, std::span<const Vec3> x, Real reach,
                       bool walled, ParticleSurfaceWorkspace& work, std::span<Real> phi,
                       const std::array<bool, 3>& periodic = {});

/// Takes waves of two cells out of a field, `passes` times: each value becomes the mean of itself and of the
/// mean of the six around it; ghosts stay. scratch [shape.size()].
void smooth_field(const GridShape& shape, int passes, std::span<Real> phi, std::span<Real> scratch);

}  // namespace plenum::inline PLENUM_ABI
