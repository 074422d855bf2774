#pragma once
// Diffusion on a grid: du/dt = nu lap u, explicitly or implicitly.
#include <span>

#include "plenum/base/parallel.h"
#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

/// Largest nu dt / h^2 at which the explicit step is stable: 1 / (2 dimensions) (von Neumann; Griebel et al.
/// 1998, equation 3.50).
inline Real largest_diffusion_number(const GridShape& shape) {
  return Real(1) / static_cast<Real>(2 * shape.dimensions());
}

/// Items [0, items) of u that diffuse; moves[shape.size()] is 0 for those that stay (faces in solids), empty
/// if none do.
struct DiffusedItems {
  std::array<Index, 3> begin = {0, 0, 0}, end = {0, 0, 0};
  std::span<const std::uint8_t> moves = {};
};

/// out = u + number lap u, with number = nu dt / h^2 and the ghosts of u; explicit Euler.
void diffuse_explicitly(const GridShape& shape, const DiffusedItems& items, Real number,
                        std::span<const Real> u, std::span<Real> out);

/// Solves (1 - number lap) u = u0 from the guess u, both with ghosts, by Gauss-Seidel in the two colours of a
/// checkerboard; fill(u) sets the ghosts, which are part of the equations. Backward Euler: stable for any
/// number. Ends when no item changes by more than `tolerance` [of u], or after max_sweeps; returns the
/// sweeps, and the last change through `change`.
int diffuse_implicitly(const GridShape& shape, const DiffusedItems& items, Real number,
                       std::span<const Real> u0, std::span<Real> u, FunctionRef<void(std::span<Real>)> fill,
                       Real tolerance, int max_sweeps, Real& change);

}  // namespace plenum::inline PLENUM_ABI
