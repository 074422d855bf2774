#pragma once
// Making of operators: their chunks of coefficients, and which cells hang together.
#include "plenum/linear/grid_poisson.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Whether the smoother and interpolation of grid_multigrid.h can go from this grid to one twice as coarse:
/// not along periodic axes of an odd number of cells, which have no checkerboard.
bool can_coarsen(const RowLayout& layout);
RowLayout coarser_layout(const RowLayout& layout);

/// Finds runs and regions of an operator that has its coefficients.
void find_regions(GridPoisson& a, PoissonScratch& scratch);

}}  // namespace plenum::inline PLENUM_ABI::detail
