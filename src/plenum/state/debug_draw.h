#pragma once
// What is drawn over a picture so that one sees what a solver does.
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
  Real force_scale = 0;  ///< [m/N] length of an arrow for a force; 0: chosen by the solver

  bool any() const { return shapes || boxes || contacts || friction || joints || islands || centres; }
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
