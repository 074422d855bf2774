// What a scene says of a net.
#include "plenum/solvers/springs/spec.h"

namespace plenum::inline PLENUM_ABI {
namespace {
constexpr double far = 1e6;  // [m] positions of things in a scene
}

void SpringsWire::describe(Describer& d) {
  d("shape", shape, {.doc = "of the curve"});
  d("beads", beads, {.min = 0, .doc = "particles of the part that slide on it", .required = true});
  d("origin", origin,
    {.unit = "m", .min = -far, .max = far, .doc = "in the world: a point of the line, or the centre"});
  d("axis", axis, {.min = -far, .max = far, .doc = "of a line or a helix; normal of a circle's plane"});
  d("radius", radius, {.unit = "m", .min = 1e-4, .max = 1e4, .doc = "of the circle or the helix"});
  if (d.when("shape", "helix", shape == WireShape::helix)) {
    d("radial", radial,
      {.min = -far, .max = far, .doc = "from the axis to the curve, at the height of the origin"});
    d("pitch", pitch,
      {.unit = "m", .min = -1e4, .max = 1e4, .doc = "rise in one turn, right-handed if positive"});
  }
}

void SpringsPart::describe(Describer& d) {
  d("type", type, {.doc = "what is generated"});
  if (d.when("type", "cloth", type == Type::cloth)) {
    d("size_x", size_x, {.unit = "m", .min = 1e-3, .max = 1e4, .doc = "of the rectangle, before placement"});
    d("size_z", size_z, {.unit = "m", .min = 1e-3, .max = 1e4, .doc = "of the rectangle, before placement"});
    d("cells_x", cells_x, {.min = 1, .max = 4000, .doc = "cells along x"});
    d("cells_z", cells_z, {.min = 1, .max = 4000, .doc = "cells along z"});
    d("areal_density", areal_density, {.unit = "kg/m^2", .min = 1e-6, .max = 1e4, .doc = "of the cloth"});
    d("shear_stiffness", shear_stiffness,
      {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of springs across the cells", .logarithmic = true});
  }
  if (d.when("type", "rope", type == Type::rope)) {
    d("from", from, {.unit = "m", .min = -far, .max = far, .doc = "one end, before placement"});
    d("to", to, {.unit = "m", .min = -far, .max = far, .doc = "other end, before placement"});
    d("segments", segments, {.min = 1, .max = 1000000, .doc = "springs along the rope"});
    d("inextensible", inextensible, {.doc = "neighbours stay at their rest distance, as if joined by rods"});
    d("slack", slack, {.min = -0.9, .max = 10, .doc = "rest length over distance, less one"});
    d("linear_density", linear_density, {.unit = "kg/m", .min = 1e-6, .max = 1e4, .doc = "of the rope"});
  }
  if (d.when("type", "soft_body", type == Type::soft_body)) {
    d("mesh", mesh,
      {.doc = "surface that is filled, and drawn: closed, facing outward, without duplicate or degenerate "
              "triangles",
       .required = true});
    d("spacing", spacing, {.unit = "m", .min = 1e-4, .max = 1e4, .doc = "of the lattice that fills it"});
    d("density", density, {.unit = "kg/m^3", .min = 1e-3, .max = 1e5, .doc = "of the body"});
  }
  if (d.when("type", "points", type == Type::points)) {
    d("points", points,
      {.unit = "m", .min = -far, .max = far, .doc = "positions, before placement", .required = true});
    d("springs", springs, {.min = 0, .doc = "pairs of points joined by springs"});
    d("rods", rods, {.min = 0, .doc = "pairs of points that stay as far apart as they are placed"});
    d("masses", masses, {.unit = "kg", .min = 1e-9, .max = 1e9, .doc = "of the points; none: mass each"});
    d("mass", mass, {.unit = "kg", .min = 1e-9, .max = 1e9, .doc = "of each point without one in masses"});
    d("rest_lengths", rest_lengths,
      {.unit = "m", .min = 0, .max = 1e6, .doc = "of the springs; none: as placed"});
  }
  d("stiffness_of", stiffness_of,
    {.doc = "whether stiffness is per length [N/m] or per relative elongation [N]"});
  d("structural_stiffness", structural_stiffness,
    {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of springs between neighbours", .logarithmic = true});
  d("bending_stiffness", bending_stiffness,
    {.unit = "N/m", .min = 0, .max = 1e9, .doc = "of springs between next neighbours", .logarithmic = true});
  d("damping_time", damping_time,
    {.unit = "s", .min = 0, .max = 10, .doc = "damping along a spring over its stiffness"});
  d("ball_radius", ball_radius,
    {.unit = "m",
     .min = 0,
     .max = 100,
     .doc = "of balls drawn at the particles, a third of it at pinned ones; 0: none"});
  d("line_radius", line_radius,
    {.unit = "m", .min = 0, .max = 100, .doc = "of threads drawn for springs and rods"});
  d("show", show,
    {.doc =
         "of cloth and soft bodies; what has no surface shows its springs. Bending springs are not drawn"});
  d("colour", colour,
    {.doc = "what the part is coloured by: strain is the relative elongation of each spring drawn, and on "
            "surfaces the mean of those at a vertex"});
  d("colour_low", colour_low,
    {.min = -1e6,
     .max = 1e6,
     .doc = "lower end of the colours' range [m/s or 1]; strain's is even about zero"});
  d("colour_high", colour_high,
    {.min = -1e6, .max = 1e6, .doc = "upper end; equal to colour_low: the range of what has been seen"});
  d("trail", trail,
    {.unit = "s", .min = 0, .max = 60, .doc = "of their way drawn behind the balls; 0: none"});
  d("label", label, {.doc = "words drawn above the part's first particle; empty: none"});
  d("palette", palette,
    {.min = -1, .max = 1000, .doc = "which of the palette's colours; -1: one that no other part has"});
  d("position", position, {.unit = "m", .min = -far, .max = far, .doc = "of the part's origin"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("velocity", velocity, {.unit = "m/s", .min = -1e5, .max = 1e5, .doc = "at the start"});
  d("pins", pins, {.doc = "particles that are held, each by the first pin that names it"});
  d("wires", wires, {.doc = "curves that particles slide on"});
}

void SpringsSpec::describe(Describer& d) {
  d("parts", parts, {.doc = "of the net", .required = true, .max_count = 4096});
}

}  // namespace plenum::inline PLENUM_ABI
