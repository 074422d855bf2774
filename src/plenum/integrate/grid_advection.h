#pragma once
// Advection on a grid: every item takes the value that the flow brings from where it was a step before.
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/state/grid.h"

namespace plenum::inline PLENUM_ABI {

/// How values between items are had, and whether the step is corrected.
enum class AdvectionScheme : int {
  semi_lagrangian,  ///< linear interpolation: never overshoots, first order, blurs (Stam 1999, "Stable
                    ///< fluids")
  cubic,            ///< cubic interpolation with limited slopes (Fedkiw, Stam & Jensen 2001, appendix B)
  maccormack,       ///< corrected by going there and back, limited: second order (Selle et al. 2008)
};
constexpr std::array<const char*, 3> names_of(AdvectionScheme) {
  return {"semi_lagrangian", "cubic", "maccormack"};
}

/// How the way of an item is traced back through the flow.
enum class Trace : int { euler, rk2, rk3 };
constexpr std::array<const char*, 3> names_of(Trace) {
  return {"euler", "rk2", "rk3"};
}

struct AdvectionWorkspace {
  std::vector<Real> forward, low, high;  ///< [shape.size()]
};

/// Advects one quantity.
struct AdvectedQuantity {
  int component = -1;       ///< axis along which it stands on lower faces; -1: at cell centres
  std::span<const Real> q;  ///< with ghosts
  std::span<Real> out;      ///< without ghosts; another array
};

/// out = q at the departure points of a step in which the flow goes `velocity` (with ghosts) times `step`
/// cells per unit of it, step = dt / h [s/m]. Points that leave the box stop at its side, or come in again at
/// the other one along periodic axes. fill(array) sets ghosts of the quantity, as MacCormack's way back
/// needs. Allocates nothing once the workspace has its size.
void advect(const GridShape& shape, const GridBox& box, const FaceField& velocity, Real step,
            AdvectionScheme scheme, Trace trace, const AdvectedQuantity& quantity, AdvectionWorkspace& work,
            FunctionRef<void(std::span<Real>)> fill);

}  // namespace plenum::inline PLENUM_ABI
