#pragma once
// A surface tracked as the zero of a signed distance on a grid.
#include <span>
#include <vector>

#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

struct RedistanceWorkspace {
  std::vector<Real> start, stage, next;  ///< [shape.size()]
  std::vector<std::uint32_t> band;       ///< items within the band, in order
};

/// How phi goes on beyond the sides of the box.
enum class Beyond {
  straight,  ///< as a straight line: a surface meets sides at any angle
  mirrored,  ///< as in a mirror: it meets them squarely, and a side itself is none
};

/// Makes phi [shape.size()] at cell centres the signed distance [m] to where it is zero, out to `band` [m] on
/// both sides, without moving that; what is farther keeps its sign and becomes `band` or more. h [m] is the
/// side of a cell, in two dimensions or three. Ghosts are set before and after.
///
/// Solves d phi / d tau + sign(phi0) (|grad phi| - 1) = 0 (Sussman, Smereka & Osher 1994) to its steady state
/// near the surface: Godunov's Hamiltonian with one-sided differences of second order (ENO), which beside the
/// surface reach to the surface itself and not across it, so that it stays: Russo & Smereka 2000, "A remark
/// on computing distance functions", in the form of du Chene, Min & Gibou 2008, "Second-order accurate
/// computation of curvatures in a level set framework", section 2; steps of Heun, of a length of each node's
/// own, as only the steady state counts, until none changes phi by more than 1e-4 h. Second order in h where
/// the distance is smooth. A field that is nearly a distance takes few steps. Work grows with the band;
/// allocates only to grow.
void redistance(const GridShape& shape, Real h, Real band, std::span<Real> phi, RedistanceWorkspace& work,
                int most_steps = 0, Beyond beyond = Beyond::straight);

/// Sets the ghosts of a signed distance.
void extend(const GridShape& shape, Beyond beyond, std::span<Real> phi);
inline void extend_linearly(const GridShape& shape, std::span<Real> phi) {
  extend(shape, Beyond::straight, phi);
}

/// Area [m^2] or volume [m^3] where phi < 0, of cells with side h [m]: of the piecewise linear function
/// between cell centres and the faces beyond them, by an even number of samples of a cell.
double enclosed_measure(const GridShape& shape, Real h, std::span<const Real> phi);

}  // namespace plenum::inline PLENUM_ABI
