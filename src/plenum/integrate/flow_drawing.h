#pragma once
// What pictures show of a flow on a grid besides what it carries: arrows, streamlines, slices.
#include <functional>

#include "plenum/base/parallel.h"
#include "plenum/integrate/streamlines.h"
#include "plenum/state/debug_draw.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI {

/// A sheet across the box in the colours of a quantity.
struct GridSlice {
  int axis = 2;          ///< that it is normal to: 0, 1, 2
  Real at = Real(0.5);   ///< in [0, 1] where, from the box's low side to its high one
  ColourBy colour = {};  ///< without values
  std::function<Real(Index, Index, Index)> value = {};  ///< of a cell
  std::function<Vec3(Index, Index, Index)> dye = {};    ///< its colour, linear, if not by `value`
};

/// A corner at each cell's centre and the sides' corners at the box's own; only of cells that hold fluid.
void draw_slice(const GridFlow& flow, const GridSlice& slice, DrawableSink& sink);

/// Arrows and streamlines, as wanted; through a slice of three dimensions, arrows on it alone. `over`: drawn
/// over all else, in white, as on what has colours of its own or hides what is in it; else by their speed.
void draw_flow(const GridFlow& flow, const DebugDraw& wanted, bool over, DrawableSink& sink);

}  // namespace plenum::inline PLENUM_ABI
