#pragma once
// The projection that makes a velocity on a grid free of divergence (Chorin 1967; Helmholtz-Hodge).
#include "plenum/linear/pressure_solver.h"
#include "plenum/state/grid.h"

namespace plenum::inline PLENUM_ABI {

/// How much flows out of cells.
struct DivergenceMeasure {
  double most = 0;     ///< [m/s] largest sum over the open faces of a cell
  double squares = 0;  ///< [m^2/s^2] sum over cells
};

/// Writes minus what flows out of each cell through the open parts of its faces [m/s] to `b`, in the layout
/// of the operator: the right-hand side of A q = -div u for q = dt p / (rho h). Faces on the box's sides
/// included.
DivergenceMeasure negative_divergence(const GridShape& shape, const FaceField& velocity,
                                      const FaceField& open, const RowLayout& layout, std::span<Real> b);

/// u -= difference of q across each face that lets anything through; outflow sides have q = 0 half a cell
/// away. Faces that are closed and faces on closed sides stay as they are.
void subtract_gradient(const GridShape& shape, const GridBox& box, const FaceField& open,
                       const GridPoisson& a, std::span<const double> q, FaceField& velocity);

}  // namespace plenum::inline PLENUM_ABI
