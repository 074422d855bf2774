// What a scene says of rigid bodies among position-based ones.
#include "plenum/solvers/pbd/body_spec.h"

namespace plenum::inline PLENUM_ABI {
namespace {
constexpr double far = 1e6;  // [m] positions of things in a scene
constexpr const char* how_named = "a body's name, or its number counted from 0";
}  // namespace

void PbdBody::describe(Describer& d) {
  d("name", name, {.doc = "for attachments and joints; two bodies cannot share one"});
  d("shape", shape, {.doc = "what it is"});
  const Info length{.unit = "m", .min = 1e-4, .max = 1e4};
  const auto with = [&](const char* text) {
    Info info = length;
    info.doc = text;
    return info;
  };
  const bool capsule = shape == Form::capsule, cylinder = shape == Form::cylinder;
  if (d.when("shape", "sphere", shape == Form::sphere) || d.when("shape", "capsule", capsule) ||
      d.when("shape", "cylinder", cylinder))
    d("radius", radius, with("of the sphere, about the axis y of the others"));
  if (d.when("shape", "box", shape == Form::box)) d("half_extents", half_extents, with("half of each side"));
  if (d.when("shape", "capsule", capsule) || d.when("shape", "cylinder", cylinder))
    d("half_height", half_height, with("half the length of the axis, without a capsule's ends"));
  if (d.when("shape", "hull", shape == Form::hull))
    d("mesh", mesh, {.doc = "whose convex hull it is, drawn as well", .required = true});
  d("motion", motion, {.doc = "dynamic: by forces; led: by a group of params.pins, or standing still"});
  if (d.when("motion", "led", motion == Motion::led))
    d("group", group, {.min = 0, .max = 255, .doc = "of params.pins, which moves it"});
  if (d.when("motion", "dynamic", motion == Motion::dynamic)) {
    d("density", density, {.unit = "kg/m^3", .min = 1e-3, .max = 1e6, .doc = "of the body"});
    d("velocity", velocity, {.unit = "m/s", .min = -1e5, .max = 1e5, .doc = "at the start"});
    d("angular_velocity", angular_velocity,
      {.unit = "rad/s", .min = -1e4, .max = 1e4, .doc = "at the start, in the world"});
  }
  d("position", position, {.unit = "m", .min = -far, .max = far, .doc = "of the shape's origin"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("friction", friction,
    {.min = 0, .max = 10, .doc = "Coulomb coefficient; contacts take the geometric mean of two"});
  d("restitution", restitution,
    {.min = 0, .max = 1, .doc = "part of the speed kept in a bounce; contacts take the larger"});
  d("palette", palette, {.min = -1, .max = 1000, .doc = "which of the palette's colours; -1: its own"});
}

void PbdAttachment::describe(Describer& d) {
  particles.describe_which(d);
  d("system", system,
    {.doc = "that the body is of: a rigid one, which is pulled in return, or an obstacle; empty: this one"});
  d("body", body, {.doc = "a body's name, or its number counted from 0; of an obstacle, empty: all of it"});
  d("compliance", compliance, {.unit = "m/N", .min = 0, .max = 1e9, .doc = "of the hold; 0: rigid"});
  d("collide", collide, {.doc = "whether the rest of the part touches the body"});
}

void PbdJoint::describe(Describer& d) {
  d("type", type, {.doc = "what it keeps", .required = true});
  d("body_a", body_a, {.doc = how_named, .required = true});
  d("body_b", body_b, {.doc = "the other body, likewise; the world if empty"});
  d("anchor", anchor,
    {.unit = "m", .min = -far, .max = far, .doc = "where it sits at the start, in the world"});
  if (d.when("type", "rope", type == Type::rope)) {
    d("anchor_b", anchor_b, {.unit = "m", .min = -far, .max = far, .doc = "its end on body_b, in the world"});
    d("length", length,
      {.unit = "m", .min = 0, .max = far, .doc = "of the rope; 0: as far as its ends are apart"});
  }
  if (d.when("type", "hinge", type == Type::hinge))
    d("axis", axis, {.min = -far, .max = far, .doc = "that it turns about, in the world"});
  d("compliance", compliance, {.unit = "m/N", .min = 0, .max = 1e9, .doc = "of the anchors' hold; 0: rigid"});
}

}  // namespace plenum::inline PLENUM_ABI
