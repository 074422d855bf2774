#pragma once
// What is drawn over a picture so that one sees what a solver does.
#include <array>

#include "plenum/base/describe.h"

namespace plenum::inline PLENUM_ABI {

/// Which marks are wanted. A solver draws those that it has, from its model and state alone.
struct DebugDraw {
  bool shapes = false;    ///< what collides, as lines
  bool boxes = false;     ///< of the broad phase
  bool contacts = false;  ///< points, and the force along the normal
  bool friction = false;
  bool joints = false;  ///< anchors, axes, limits, force
  bool islands = false;
  bool centres = false;  ///< of mass, with principal axes
  bool arrows = false;   ///< velocities of what flows on grids
  bool streamlines = false;
  enum class Slice : int { none, x, y, z };
  friend constexpr std::array<const char*, 4> names_of(Slice) { return {"none", "x", "y", "z"}; }
  Slice slice = Slice::none;  ///< through what flows on grids: what it is normal to
  Real slice_at = Real(0.5);  ///< in [0, 1] where, from the box's low side to its high one
  Real flow_spacing = 0;      ///< [m] between arrows and streamlines; 0: chosen by the box
  Real force_scale = 0;       ///< [m/N] length of an arrow for a force; 0: chosen by the solver

  bool any() const {
    return shapes || boxes || contacts || friction || joints || islands || centres || arrows || streamlines ||
           slice != Slice::none;
  }
  void describe(Describer& d) {
    d("shapes", shapes, {.doc = "lines of what collides; what stands still or sleeps is paler"});
    d("boxes", boxes, {.doc = "boxes of the broad phase, which reach as far as the next step may go"});
    d("contacts", contacts, {.doc = "points of contact, and along the normal the force there"});
    d("friction", friction, {.doc = "friction's force at each contact"});
    d("joints", joints, {.doc = "joints' anchors, axes, limits and what they carry"});
    d("islands", islands, {.doc = "colours bodies by the island they belong to; those asleep are dark"});
    d("centres", centres, {.doc = "centres of mass with the principal axes: x red, y green, z blue"});
    d("force_scale", force_scale,
      {.unit = "m/N",
       .min = 0,
       .max = 1e6,
       .doc = "length of the line for a force; 0: a usual body's reach for its weight"});
    d("arrows", arrows, {.doc = "velocities of smoke and liquids, as arrows"});
    d("streamlines", streamlines, {.doc = "lines that smoke and liquids flow along at the moment"});
    d("flow_spacing", flow_spacing,
      {.unit = "m", .min = 0, .max = 1e5, .doc = "between arrows and streamlines; 0: a part of the box"});
    d("slice", slice,
      {.doc = "a sheet across smoke of three dimensions, normal to an axis, coloured by its `show`"});
    d("slice_at", slice_at,
      {.min = 0, .max = 1, .doc = "where it is, from the box's low side to its high one"});
  }
};

/// Colours of Look::mark and Look::outline, by their number in `palette`. From mark_island on, hues by which
/// islands are told apart, and as many darker ones from mark_sleeping_island on.
enum MarkColour : int {
  mark_red,
  mark_green,
  mark_blue,
  mark_yellow,
  mark_magenta,
  mark_white,
  mark_grey,
  mark_black,
  mark_island,
  mark_sleeping_island = mark_island + 8,
  num_mark_colours = mark_sleeping_island + 8,
};

}  // namespace plenum::inline PLENUM_ABI
