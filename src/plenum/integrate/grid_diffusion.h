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
///
/// Where the fluid clings to solids that stand, cling[shape.size()] is the sum of 1 / theta - 1 over an
/// item's neighbours in solids, at the part theta of the way to which the surface stands, and negative for
/// items in solids, which are zero. A neighbour's difference (0 - u) then counts 1 / theta times: the flux of
/// a value that is linear from the item to zero at the surface. Symmetric, and u is of second order (Gibou,
/// Fedkiw, Cheng & Kang 2002, "A second-order-accurate symmetric discretization of the Poisson equation on
/// irregular domains"). Empty: zero is at the solids' items.
struct DiffusedItems {
  std::array<Index, 3> begin = {0, 0, 0}, end = {0, 0, 0};
  std::span<const std::uint8_t> moves = {};
  std::span<const Real> cling = {};
};

/// out = u + number lap u, with number = nu dt / h^2 and the ghosts of u; explicit Euler, but for what
/// clings, which is implicit, since theta may be small.
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
