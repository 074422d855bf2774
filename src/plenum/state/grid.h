#pragma once
// Fluids on a staggered grid: velocities at faces, all else at cell centres, and what the sides of the box
// do.
#include <span>
#include <vector>

#include "plenum/linear/grid_poisson.h"
#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

class Shape;
struct Pose;

/// One array for each axis, in the layout of a GridShape: component c stands at the lower face along c.
/// Source: Harlow & Welch 1965, "Numerical calculation of time-dependent viscous incompressible flow of fluid
/// with free surface" (the marker-and-cell grid). A flat grid has no third array.
struct FaceField {
  std::array<std::vector<Real>, 3> along;
  void assign(const GridShape& shape, Real value) {
    for (int c = 0; c < 3; ++c)
      along[static_cast<std::size_t>(c)].assign(c < shape.dimensions() ? shape.size() : 0, value);
  }
  std::span<const Real> operator[](int c) const { return along[static_cast<std::size_t>(c)]; }
};

/// What a side of the box does to the fluid.
enum class GridSide : int { no_slip, free_slip, inflow, outflow, periodic };
constexpr std::array<const char*, 5> names_of(GridSide) {
  return {"no_slip", "free_slip", "inflow", "outflow", "periodic"};
}

/// The box: sides in the order low x, high x, low y, high y, low z, high z, each with the velocity [m/s] of
/// its wall or of what flows in.
struct GridBox {
  std::array<GridSide, 6> sides = {};
  std::array<Vec3, 6> velocity = {Vec3::Zero(), Vec3::Zero(), Vec3::Zero(),
                                  Vec3::Zero(), Vec3::Zero(), Vec3::Zero()};
  /// Of inflows: the velocity across the side is that of its middle times 4 s (1 - s) along each of its axes
  /// that is not periodic, s from 0 to 1: as between plates (Poiseuille).
  std::array<bool, 6> parabolic = {};
  PressureSides pressure_sides() const;
};

/// Sets the velocity's ghosts, and the faces on the box's sides whose velocity is given, so that
/// interpolation and differences need to know of no side. Beyond a wall a tangential component is mirrored,
/// such that half-way, at the wall, it is the wall's (no slip) or has no slope (free slip); beyond an outflow
/// it goes on unchanged. Source: Griebel, Dornseifer & Neunhoeffer 1998, "Numerical simulation in fluid
/// dynamics", section 3.1.2.
void fill_velocity_ghosts(const GridShape& shape, const GridBox& box, FaceField& velocity);
/// The same for one component.
void fill_component_ghosts(const GridShape& shape, const GridBox& box, int component, std::span<Real> u);
/// Ghosts of a quantity at cell centres: no slope at walls and outflows; `ambient` comes in with an inflow.
void fill_cell_ghosts(const GridShape& shape, const GridBox& box, Real ambient, std::span<Real> q);

/// Part of a square (triangle by triangle around its middle) in which a function that is linear on each is
/// positive, from its values at the corners in order around the square; in [0, 1].
Real positive_area(Real a, Real b, Real c, Real d);
/// Part of an edge where it is.
Real positive_length(Real a, Real b);

/// Takes the solid placed at `pose` out of the open fractions of the faces of a grid whose low corner is
/// `low`, with cells of side h [m]: areas by the signed distance at the corners (Batty, Bertails & Bridson
/// 2007). A flat grid is the section of the solid at z = low.z + h / 2. Fractions below `sliver` count as
/// closed. Solids that overlap in a cell are joined by the smaller of their fractions.
void close_faces(const GridShape& shape, const Vec3& low, Real h, const Shape& solid, const Pose& pose,
                 FaceField& open);
inline constexpr Real sliver = Real(0.01);

/// Items of an array without a value of the fluid (faces that are closed, cells in solids), in layers of
/// growing distance from those that have one; what is farther is left as it is.
struct Extrapolation {
  struct Item {
    std::uint32_t item;
    std::uint8_t neighbours;  ///< bit 2 c + s: the neighbour along c below (s = 0) or above has a value
  };
  std::vector<Item> items;
  std::vector<std::uint32_t> layers;  ///< ends of layers in items
};
/// known [shape.size()] 0 or 1; of items (0, 0, 0) to cells + extra.
Extrapolation find_extrapolation(const GridShape& shape, std::span<const std::uint8_t> known,
                                 const std::array<Index, 3>& items, int num_layers);
/// Sets the items to the mean of their known neighbours, layer by layer.
void extrapolate(const GridShape& shape, const Extrapolation& where, std::span<Real> q);

}  // namespace plenum::inline PLENUM_ABI
