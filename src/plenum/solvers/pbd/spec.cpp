// What a scene says of position-based bodies, and their parameters.
#include "plenum/solvers/pbd/spec.h"

#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {
namespace {
constexpr double far = 1e6;  // [m] positions of things in a scene
}

void PbdPart::describe(Describer& d) {
  d("type", type, {.doc = "what is generated"});
  const bool cloth = type == Type::cloth, rope = type == Type::rope, bar = type == Type::bar,
             mesh_cloth = type == Type::mesh_cloth, soft_body = type == Type::soft_body;
  const auto compliance = [&] {
    d("stretch_compliance", stretch_compliance,
      {.unit = "m/N", .min = 0, .max = 1e9, .doc = "of distances between neighbours; 0: they stay"});
  };
  if (d.when("type", "cloth", cloth)) {
    d("size_x", size_x, {.unit = "m", .min = 1e-3, .max = 1e4, .doc = "of the rectangle, before placement"});
    d("size_z", size_z, {.unit = "m", .min = 1e-3, .max = 1e4, .doc = "of the rectangle, before placement"});
    d("bending", bending, {.doc = "how it resists bending: as a plate, or by its pairs of triangles"});
  }
  if (d.when("type", "rope", rope)) {
    d("from", from, {.unit = "m", .min = -far, .max = far, .doc = "one end, before placement"});
    d("to", to, {.unit = "m", .min = -far, .max = far, .doc = "other end, before placement"});
    d("through", through,
      {.unit = "m",
       .min = -far,
       .max = far,
       .doc = "points of a smooth curve that it lies along at the start, instead of `from` and `to`"});
    d("segments", segments, {.min = 1, .max = 1000000, .doc = "of the rope"});
    d("slack", slack,
      {.min = -0.9,
       .max = 10,
       .doc = "rest length over distance, less one; where there is some, it has two segments or more, and "
              "begins hanging, under -y, from particle to particle that pins or attachments hold, or winding "
              "about its way, swung to where it is clear of the bodies here"});
    d("linear_density", linear_density, {.unit = "kg/m", .min = 1e-6, .max = 1e4, .doc = "of the rope"});
    d("line_radius", line_radius,
      {.unit = "m", .min = 1e-5, .max = 100, .doc = "of the thread it is drawn as"});
    compliance();
  }
  if (d.when("type", "soft_body", soft_body)) {
    d("mesh", mesh,
      {.doc = "surface that is filled, and drawn: closed, facing outward, without duplicate or degenerate "
              "triangles",
       .required = true});
    d("spacing", spacing, {.unit = "m", .min = 1e-4, .max = 1e4, .doc = "of the lattice that fills it"});
  }
  if (d.when("type", "mesh_cloth", mesh_cloth)) {
    d("mesh", mesh,
      {.doc =
           "of the cloth: a manifold without duplicate or degenerate triangles; to be inflated, closed and "
           "facing outward",
       .required = true});
    d("inflated", inflated, {.doc = "whether it holds what it encloses: a balloon"});
    if (d.when("inflated", "true", inflated)) {
      d("filling", filling, {.doc = "a volume that it is given, or a gas that presses"});
      if (d.when("filling", "volume", filling == Filling::volume)) {
        d("volume_ratio", volume_ratio,
          {.min = 0.01, .max = 1000, .doc = "of the volume that it is given to that of the mesh"});
        d("volume_compliance", volume_compliance,
          {.unit = "m^6/J", .min = 0, .max = 1e9, .doc = "of the volume: dV / dp; 0: it is kept"});
      }
      if (d.when("filling", "gas", filling == Filling::gas)) {
        d("overpressure", overpressure,
          {.unit = "Pa",
           .min = 0,
           .max = 1e9,
           .doc = "of the gas, if it were as large as the mesh; it falls as the balloon grows"});
        d("ambient_pressure", ambient_pressure,
          {.unit = "Pa", .min = 0, .max = 1e9, .doc = "outside, against the gas; 101325: the air's"});
      }
      d("gas_density", gas_density,
        {.unit = "kg/m^3",
         .min = 0,
         .max = 1e5,
         .doc = "of what fills it, if as large as the mesh: air's is 1.2, helium's 0.17"});
    }
  }
  if (d.when("type", "cloth", cloth) || d.when("type", "mesh_cloth", mesh_cloth)) {
    d("areal_density", areal_density, {.unit = "kg/m^2", .min = 1e-6, .max = 1e4, .doc = "of the cloth"});
    d("stretching", stretching,
      {.doc = "how it resists it: by distances between neighbours, or along warp and weft of its triangles"});
    if (d.when("stretching", "distances", stretching == Stretching::distances)) {
      compliance();
      if (d.when("type", "cloth", cloth))
        d("shear_compliance", shear_compliance,
          {.unit = "m/N",
           .min = 0,
           .max = 1e9,
           .doc = "of the cells' diagonals; 0: they keep their lengths"});
    }
    if (d.when("stretching", "strain", stretching == Stretching::strain)) {
      d("warp_stiffness", warp_stiffness,
        {.unit = "N/m",
         .min = 0,
         .max = 1e9,
         .doc = "force per width and strain along the warp, which runs along x; 0: none",
         .logarithmic = true});
      d("weft_stiffness", weft_stiffness,
        {.unit = "N/m",
         .min = 0,
         .max = 1e9,
         .doc = "the same along the weft, at right angles to the warp",
         .logarithmic = true});
      d("shear_stiffness", shear_stiffness,
        {.unit = "N/m",
         .min = 0,
         .max = 1e9,
         .doc = "of the angle between warp and weft; half of theirs: alike in every direction",
         .logarithmic = true});
      if (d.when("type", "mesh_cloth", mesh_cloth))
        d("warp", warp,
          {.min = -far,
           .max = far,
           .doc = "direction of the warp before placement, laid onto each triangle"});
    }
    d("area_stiffness", area_stiffness,
      {.unit = "N/m",
       .min = 0,
       .max = 1e9,
       .doc = "against changes of triangles' areas, per area; 0: none",
       .logarithmic = true});
  }
  if (d.when("type", "bar", bar)) {
    d("half_extents", half_extents, {.unit = "m", .min = 1e-4, .max = 1e4, .doc = "of the box"});
    d("cells_y", cells_y, {.min = 1, .max = 1000, .doc = "cells along y, of five tetrahedra each"});
  }
  if (d.when("type", "cloth", cloth) || d.when("type", "bar", bar)) {
    d("cells_x", cells_x, {.min = 1, .max = 4000, .doc = "cells along x"});
    d("cells_z", cells_z, {.min = 1, .max = 4000, .doc = "cells along z"});
  }
  const auto damped = [&] {
    d("damping_time", damping_time,
      {.unit = "s",
       .min = 0,
       .max = 1000,
       .doc =
           "damping over stiffness, of stretching, shear, areas and volumes; motion of frequency f fades at "
           "the rate 2 pi^2 f^2 damping_time [1/s], at less where substeps and iterations are too few to "
           "pass it on"});
  };
  if (d.when("type", "soft_body", soft_body) || d.when("type", "bar", bar)) {
    d("density", density, {.unit = "kg/m^3", .min = 1e-3, .max = 1e5, .doc = "of the body"});
    d("material", material,
      {.doc = "an elastic solid, distances and volumes, strains along axes, or a shape to be found back to"});
    const bool strains = material == Material::strain, matches = material == Material::shape_matching;
    if (d.when("material", "neo_hookean", material == Material::neo_hookean)) {
      d("youngs_modulus", youngs_modulus,
        {.unit = "Pa", .min = 1, .max = 1e12, .doc = "of the solid", .logarithmic = true});
      d("poissons_ratio", poissons_ratio,
        // Of less, nothing at all costs hardly more than what is at rest.
        {.min = 0.05,
         .max = 0.499,
         .doc = "of the solid: how far it thins while it is stretched; material strain: by nothing"});
    }
    if (d.when("material", "distances", material == Material::distances)) compliance();
    if (d.when("material", "strain", strains)) {
      d("axis_stiffness", axis_stiffness,
        {.unit = "Pa", .min = 0, .max = 1e12, .doc = "along x, y and z, before placement; 0: none"});
      d("axis_shear_stiffness", axis_shear_stiffness,
        {.unit = "Pa", .min = 0, .max = 1e12, .doc = "of the angles of yz, zx and xy; 0: none"});
    }
    if (d.when("material", "shape_matching", matches)) {
      d("shape_mode", shape_mode,
        {.doc = "what shapes may be: as at rest, and also stretched and sheared, and also bent and twisted"});
      const bool flexible = shape_mode != ShapeMode::rigid;
      if (d.when("shape_mode", "linear", flexible) || d.when("shape_mode", "quadratic", flexible))
        d("flexibility", flexibility,
          {.min = 0,
           .max = 0.999,
           .doc = "how far shapes are what fits best instead of what they are at rest"});
      d("cluster_radius", cluster_radius,
        {.unit = "m",
         .min = 0,
         .max = 1e4,
         .doc = "of overlapping pieces with a shape of their own; 0: one"});
      d("shape_frequency", shape_frequency,
        {.unit = "Hz", .min = 0, .max = 1e6, .doc = "at which it springs back to its shape; 0: at once"});
    }
    if (d.when("material", "distances", material == Material::distances) ||
        d.when("material", "strain", strains) || d.when("material", "shape_matching", matches))
      d("volume_compliance", volume_compliance,
        {.unit = "m^6/J", .min = 0, .max = 1e9, .doc = "of each tetrahedron's volume; 0: it stays"});
    // Clusters find back to their shape at once: what damps volumes would undo that.
    if (d.when("material", "distances", material == Material::distances) ||
        d.when("material", "neo_hookean", material == Material::neo_hookean) ||
        d.when("material", "strain", strains))
      damped();
  }
  if (d.when("type", "cloth", cloth) || d.when("type", "rope", rope) ||
      d.when("type", "mesh_cloth", mesh_cloth))
    d("bending_stiffness", bending_stiffness,
      {.min = 0,
       .max = 1e12,
       .doc = "flexural rigidity: of cloth D = E h^3 / (12 (1 - nu^2)) [N m], of ropes E I [N m^2]; 0: none",
       .logarithmic = true});
  if (d.when("type", "cloth", cloth) || d.when("type", "rope", rope) ||
      d.when("type", "mesh_cloth", mesh_cloth))
    damped();
  if (d.when("type", "cloth", cloth) || d.when("type", "rope", rope) ||
      d.when("type", "mesh_cloth", mesh_cloth))
    d("bending_damping_time", bending_damping_time,
      {.unit = "s", .min = 0, .max = 1000, .doc = "the same of bending"});
  if (d.when("type", "cloth", cloth) || d.when("type", "rope", rope) ||
      (d.when("type", "mesh_cloth", mesh_cloth) && d.when("inflated", "false", !inflated)))
    d("tethers", tethers,
      {.doc = "nothing gets farther from pins than it is at rest, without compliance, or than strain_limit "
              "allows"});
  d("palette", palette,
    {.min = -1, .max = 1000, .doc = "which of the palette's colours; -1: one that no other part has"});
  d("position", position, {.unit = "m", .min = -far, .max = far, .doc = "of the part's origin"});
  d("rotation", rotation,
    {.unit = "deg", .min = -3600, .max = 3600, .doc = "intrinsic angles about x, then y, then z"});
  d("velocity", velocity, {.unit = "m/s", .min = -1e5, .max = 1e5, .doc = "at the start"});
  d("pins", pins, {.doc = "particles that are held, each by the first pin that names it"});
  d("attachments", attachments, {.doc = "particles that hang on rigid bodies"});
}

void PbdSpec::describe(Describer& d) {
  d("parts", parts, {.doc = "cloth, ropes and soft bodies", .max_count = 4096});
  d("bodies", bodies,
    {.doc = "rigid bodies, which touch parts, each other and obstacles", .max_count = 4096});
  d("joints", joints, {.doc = "of rigid bodies", .max_count = 4096});
}

void Pbd::Params::describe(Describer& d) {
  d("gravity", gravity, {.unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "acceleration of free fall"});
  d("method", method, {.doc = "whether compliances count, or one stiffness for all"});
  d("solver", solver,
    {.doc = "in which order sweeps project: one colour after the other, all at once, or so and accelerated, "
            "which takes many iterations to pay"});
  d("relaxation", relaxation,
    {.min = 0.1, .max = 1.9, .doc = "of jacobi and chebyshev: part of the mean that particles go"});
  d("spectral_radius", spectral_radius,
    {.min = 0,
     .max = 0.9999,
     .doc = "of chebyshev: part of an error that jacobi leaves in a sweep at worst; too large is slower"});
  d("substeps", substeps, {.min = 1, .max = 1000, .doc = "of a step; many of one sweep converge fastest"});
  d("iterations", iterations, {.min = 1, .max = 10000, .doc = "sweeps over the constraints in each substep"});
  d("stretch_sweeps", stretch_sweeps,
    {.min = 1,
     .max = 1000,
     .doc = "of gauss_seidel: how often each sweep goes over what keeps things from stretching, where all "
            "else, as contact with bodies, takes the most time"});
  d("coarse_levels", coarse_levels,
    {.min = 0,
     .max = 8,
     .doc =
         "of cloth on a grid: patches of 3, 9, 27, ... particles a side, kept within reach of each other, so "
         "that it stretches less; 0: none"});
  d("stiffness", stiffness,
    {.min = 0, .max = 1, .doc = "of method pbd: part of each error that a sweep takes away"});
  d("inflation", inflation,
    {.min = 0,
     .max = 1000,
     .doc = "times the volume or the amount of gas that balloons are given",
     .usual = 3});
  d("damping", damping, {.unit = "1/s", .min = 0, .max = 1e4, .doc = "rate at which all motion decays"});
  d("wind", wind,
    {.unit = "m/s", .min = -1e4, .max = 1e4, .doc = "velocity of the air, which pushes on triangles"});
  d("turbulence", turbulence, {.doc = "eddies in the air, which make cloth flutter"});
  d("air_density", air_density,
    {.unit = "kg/m^3", .min = 0, .max = 2000, .doc = "of the air; 0: no air", .usual = 5});
  d("drag", drag, {.min = 0, .max = 10, .doc = "drag coefficient of triangles"});
  d("lift", lift, {.min = 0, .max = 10, .doc = "lift coefficient of triangles"});
  d("contact", contact,
    {.doc = "of bodies with each other and with themselves: none, fast (what is too fast crosses, and is "
            "counted, but for ropes that pass ropes), or conservative (nothing crosses)"});
  d("thickness", thickness,
    {.unit = "m",
     .min = 0,
     .max = 10,
     .doc = "kept between particles and obstacles; between bodies twice that, at most half an edge",
     .usual = 0.1});
  d("friction", friction, {.min = 0, .max = 10, .doc = "Coulomb coefficient of contacts", .usual = 2});
  d("static_friction", static_friction,
    {.min = -1,
     .max = 10,
     .doc = "of what does not slide yet, between bodies; no less than `friction`; negative: as that",
     .usual = 2});
  d("restitution", restitution,
    {.min = 0, .max = 1, .doc = "part of the speed kept in impacts on obstacles and each other"});
  d("strain_limit", strain_limit,
    {.min = 0,
     .max = 1000,
     .doc = "relative elongation that sweeps take distances, and threads of strains, back to, however soft "
            "they are; what falls into it goes beyond by what they leave; 0: no limit",
     .usual = 0.5});
  d("tear_strain", tear_strain,
    {.min = 0,
     .max = 1000,
     .doc = "relative elongation at which cloth, but for balloons, and ropes tear; 0: never",
     .usual = 2});
  d("pins", pins, {.doc = "motions of pin groups 0, 1, ...", .max_count = 256});
}

}  // namespace plenum::inline PLENUM_ABI
