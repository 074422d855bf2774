#include "plenum/solvers/rigid/spec.h"

#include <tuple>

#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {
namespace rigid {

void Material::describe(Describer& d) {
  d("name", name, {.doc = "by which bodies and shapes find it", .required = true});
  d("density", density, {.unit = "kg/m^3", .min = 1e-3, .max = 1e6, .doc = "of it", .logarithmic = true});
  d("friction", friction,
    {.min = 0, .max = 10, .doc = "Coulomb coefficient; contacts take the geometric mean of two"});
  d("static_friction", static_friction,
    {.min = 0,
     .max = 10,
     .doc = "of what does not slide yet, if given; no less than `friction`, which it else is"});
  d("restitution", restitution,
    {.min = 0, .max = 1, .doc = "part of the speed kept in a bounce; contacts take the larger"});
  d("rolling_resistance", rolling_resistance,
    {.unit = "m",
     .min = 0,
     .max = 1e3,
     .doc = "lever of the pressure that rolling works against; contacts take the larger"});
  d("spinning_friction", spinning_friction,
    {.unit = "m",
     .min = 0,
     .max = 1e3,
     .doc = "lever of the pressure that spinning about the contact's normal works against, besides what "
            "`friction` gives a face; contacts take the larger"});
}

void ShapeSpec::describe_form(Describer& d) {
  const auto length = [](const char* text) {
    return Info{.unit = "m", .min = 1e-4, .max = 1e4, .doc = text};
  };
  d("shape", shape, {.doc = "what it is", .required = true});
  if (d.when("shape", "sphere", shape == Form::sphere)) d("radius", radius, length("of the sphere"));
  if (d.when("shape", "box", shape == Form::box))
    d("half_extents", half_extents, length("half of each side"));
  if (d.when("shape", "capsule", shape == Form::capsule)) {
    d("radius", radius, length("of the capsule"));
    d("half_height", half_height, length("half the length of the axis, which is y"));
  }
  if (d.when("shape", "cylinder", shape == Form::cylinder)) {
    d("radius", radius, length("of the cylinder"));
    d("half_height", half_height, length("half the height along y"));
  }
  if (d.when("shape", "cone", shape == Form::cone)) {
    d("radius", radius, length("of the base"));
    d("half_height", half_height, length("half the height along y"));
  }
  if (d.when("shape", "hull", shape == Form::hull))
    d("points", points,
      {.unit = "m",
       .min = -1e4,
       .max = 1e4,
       .doc = "whose convex hull it is",
       .required = true,
       .max_count = 4096});
  if (d.when("shape", "plane", shape == Form::plane))
    d("radius", radius, length("half the side that is drawn when it is tilted"));
  if (d.when("shape", "mesh", shape == Form::mesh)) {
    d("mesh", mesh,
      {.doc = "a surface, solid behind its triangles; of a dynamic body it must enclose a volume",
       .required = true});
    d("resolution", resolution,
      {.min = 4, .max = 512, .doc = "cells of its distance field along the longest side"});
  }
  if (d.when("shape", "height_field", shape == Form::height_field)) {
    d("columns", columns, {.min = 2, .max = 10000, .doc = "heights along x"});
    d("grid_spacing", grid_spacing, length("between neighbouring heights"));
    d("heights", heights,
      {.unit = "m",
       .min = -1e4,
       .max = 1e4,
       .doc = "along y, row by row of `columns`, about the y axis; the ground below is solid; only of bodies "
              "that are not dynamic",
       .required = true});
  }
  if (d.when("shape", "instance", shape == Form::instance)) {
    d("of", of, {.doc = "name of the geometry", .required = true});
    d("scale", scale,
      {.min = 1e-4,
       .max = 1e4,
       .doc =
           "sizes of it along its axes; alike of spheres and capsules, along x and z of cylinders, cones and "
           "height fields; meshes and height fields of one copy if all three are alike"});
  }
}

void GeometrySpec::describe(Describer& d) {
  d("name", name, {.doc = "by which instances find it", .required = true});
  shape.describe_form(d);
}

void ShapeSpec::describe(Describer& d) {
  describe_form(d);
  d("position", position, {.unit = "m", .min = -1e4, .max = 1e4, .doc = "of the shape in the body"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("material", material, {.doc = "name of what it is made of, in place of its body's"});
  d("palette", palette,
    {.min = -1,
     .max = 15,
     .doc = "which colour of the palette; -1: by turns, and neutral of what forces do not move"});
}

void PointMass::describe(Describer& d) {
  d("position", position, {.unit = "m", .min = -1e4, .max = 1e4, .doc = "in the body's frame"});
  d("mass", mass, {.unit = "kg", .min = 1e-9, .max = 1e12, .doc = "of the point", .logarithmic = true});
}

void BodySpec::describe(Describer& d) {
  d("name", name, {.doc = "by which joints find it"});
  d("shapes", shapes,
    {.doc = "what the body is made of, fixed to each other", .required = true, .max_count = 4096});
  d("motion", motion,
    {.doc =
         "dynamic: moved by forces, as they and its mass, locks, damping and gravity say; kinematic: by its "
         "velocities; fixed: not at all"});
  d("position", position, {.unit = "m", .min = -1e5, .max = 1e5, .doc = "of the body's frame"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("velocity", velocity,
    {.unit = "m/s",
     .min = -1e4,
     .max = 1e4,
     .doc = "of the centre of mass; 0 of what is fixed, and along axes that are locked"});
  d("angular_velocity", angular_velocity, {.unit = "rad/s", .min = -1e4, .max = 1e4, .doc = "in the world"});
  d("material", material, {.doc = "name of what it is made of; what is not given otherwise is as there"});
  d("density", density,
    {.unit = "kg/m^3",
     .min = 1e-3,
     .max = 1e6,
     .doc = "of its shapes, if given, in place of their materials'; then `mass` is not",
     .logarithmic = true});
  d("mass", mass,
    {.unit = "kg",
     .min = 1e-12,
     .max = 1e12,
     .doc = "of the whole, if given; then `density` is not; what does not move has a `motion`",
     .logarithmic = true});
  d("inertia", inertia,
    {.unit = "kg m^2",
     .min = 1e-12,
     .max = 1e12,
     .doc = "moments, if given, about the body's own axes through its centre of mass, in place of its "
            "shapes'"});
  d("point_masses", point_masses,
    {.doc = "what its mass, centre and inertia come from, if given, in place of its shapes",
     .max_count = 100000});
  for (const auto& [key, lock, text] :
       {std::tuple("lock_x", &lock_x, "whether it never moves along the world's x axis"),
        std::tuple("lock_y", &lock_y, "the same of y"), std::tuple("lock_z", &lock_z, "the same of z"),
        std::tuple("lock_turn_x", &lock_turn_x, "whether it never turns about the world's x axis"),
        std::tuple("lock_turn_y", &lock_turn_y, "the same of y"),
        std::tuple("lock_turn_z", &lock_turn_z, "the same of z")})
    d(key, *lock, {.doc = text});
  d("friction", friction,
    {.min = 0,
     .max = 10,
     .doc = "as of materials, if given, in place of theirs; above their static_friction it is that too"});
  d("static_friction", static_friction, {.min = 0, .max = 10, .doc = "likewise; no less than `friction`"});
  d("friction_axis", friction_axis,
    {.min = -1e4,
     .max = 1e4,
     .doc = "direction in the body's frame along which `friction` acts; 0 0 0: in all alike"});
  d("friction_across", friction_across,
    {.min = 0,
     .max = 10,
     .doc = "coefficient across `friction_axis`, without which it is refused; 0 if not given"});
  d("restitution", restitution, {.min = 0, .max = 1, .doc = "as of materials, if given, in place of theirs"});
  d("rolling_resistance", rolling_resistance, {.unit = "m", .min = 0, .max = 1e3, .doc = "likewise"});
  d("spinning_friction", spinning_friction, {.unit = "m", .min = 0, .max = 1e3, .doc = "likewise"});
  d("surface_velocity", surface_velocity,
    {.unit = "m/s",
     .min = -1e3,
     .max = 1e3,
     .doc = "of its surface past itself, as of a conveyor, in the body's frame"});
  d("gravity_scale", gravity_scale, {.min = -100, .max = 100, .doc = "part of gravity that acts on it"});
  d("linear_damping", linear_damping,
    {.unit = "1/s",
     .min = 0,
     .max = 1e3,
     .doc = "rate at which its speed decays, if given, in place of the system's"});
  d("angular_damping", angular_damping,
    {.unit = "1/s",
     .min = 0,
     .max = 1e3,
     .doc = "rate at which its turning decays, if given, in place of the system's"});
  d("layer", layer,
    {.min = 0, .max = 31, .doc = "that it is in, for `passes` and queries; obstacles are in 0"});
  d("passes", passes, {.min = 0, .max = 31, .doc = "layers whose bodies it passes through", .max_count = 32});
  d("sensor", sensor,
    {.doc = "feels what overlaps it, as touches begin and end, and pushes nothing; so it has no friction, "
            "restitution or surface velocity of its own"});
  d("count_x", count_x, {.min = 1, .max = 10000, .doc = "bodies along x"});
  d("count_y", count_y, {.min = 1, .max = 10000, .doc = "bodies along y"});
  d("count_z", count_z, {.min = 1, .max = 10000, .doc = "bodies along z"});
  d("spacing", spacing, {.unit = "m", .min = 1e-4, .max = 1e4, .doc = "of them"});
}

void Spec::describe(Describer& d) {
  d("bodies", bodies, {.doc = "bodies, or grids of them", .max_count = 100000});
  d("joints", joints, {.doc = "between bodies, or a body and the world", .max_count = 1000000});
  d("assemblies", assemblies, {.doc = "things of many bodies, built from a few numbers", .max_count = 10000});
  d("materials", materials,
    {.doc = "that bodies and their shapes name; the defaults are those of bodies without",
     .max_count = 10000});
  d("geometries", geometries,
    {.doc = "shapes (but planes and instances) that shapes of type instance share", .max_count = 10000});
  d("colour", colour, {.doc = "what bodies that forces move are coloured by"});
}

}  // namespace rigid

void Rigid::Params::describe(Describer& d) {
  d("gravity", gravity,
    {.unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "acceleration of everything that moves"});
  d("solver", solver,
    {.doc =
         "of contacts and joints: soft_steps, sub-steps with soft contacts and joints solved directly; for "
         "comparison gauss_seidel, projected Gauss-Seidel on the whole step's velocities, or direct, a "
         "complementarity problem for each island; with these two, long or loaded chains need more "
         "`world.substeps`, or their joints tear"});
  d("iterations", iterations, {.min = 1, .max = 10000, .doc = "of gauss_seidel"});
  d("substeps", substeps,
    {.min = 1, .max = 64, .doc = "parts of a step of soft_steps; more make stacks and joints stiffer"});
  d("max_substeps", max_substeps,
    {.min = 1,
     .max = 1000,
     .doc =
         "to which their number is raised where small bodies bear each other, which gravity drives faster "
         "through their own size, and where what touches spins fast; substeps, or less, keeps it as it is"});
  d("linear_damping", linear_damping,
    {.unit = "1/s",
     .min = 0,
     .max = 1e3,
     .doc = "rate at which speed decays, of bodies that give none",
     .usual = 10});
  d("angular_damping", angular_damping,
    {.unit = "1/s",
     .min = 0,
     .max = 1e3,
     .doc = "rate at which turning decays, of bodies that give none",
     .usual = 10});
  d("contact_frequency", contact_frequency,
    {.unit = "Hz",
     .min = 1,
     .max = 1e4,
     .doc = "of the springs that push overlap apart, at most 0.19 of the sub-steps' rate",
     .logarithmic = true});
  d("contact_damping", contact_damping,
    {.min = 0.1, .max = 100, .doc = "damping ratio of these springs", .usual = 20});
  d("restitution_threshold", restitution_threshold,
    {.unit = "m/s",
     .min = 0,
     .max = 100,
     .doc = "speed of approach below which nothing bounces",
     .usual = 5});
  d("broad_phase", broad_phase,
    {.doc =
         "how pairs that may touch are found: tree, a hierarchy of fat boxes; sweep, along an axis; grid, by "
         "hashed cells; all with the same result"});
  d("sleeping", sleeping,
    {.doc = "whether bodies that have come to rest are left alone until something stirs them"});
  d("sleep_speed", sleep_speed,
    {.unit = "m/s",
     .min = 0,
     .max = 10,
     .doc = "mean speed below which a body that reaches 1 m from its centre counts as at rest; of others it "
            "goes with the root of their reach",
     .usual = 0.2});
  d("sleep_time", sleep_time,
    {.unit = "s",
     .min = 0.02,
     .max = 100,
     .doc = "over which that mean is taken, and after which a body and all it touches may sleep",
     .usual = 5});
}

}  // namespace plenum::inline PLENUM_ABI
