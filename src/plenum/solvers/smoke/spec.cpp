// Descriptions of smoke, and the making of one.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/solvers/smoke/smoke.h"
#include "plenum/state/grid_cling.h"
#include "plenum/state/grid_walls.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double far = 1e5;  // [m]

Info albedo() {
  return {.min = 0,
          .max = 1,
          .doc = "of the soot, if it is coloured: the part of light that it scatters, linear"};
}

std::array<Smoke::Side, 6> sides_of(const Smoke::Spec& s) {
  return {s.left, s.right, s.bottom, s.top, s.back, s.front};
}

}  // namespace

void SmokeSource::describe(Describer& d) {
  GridSolid::describe(d);
  d("density", density, {.unit = "kg/m^3", .min = 0, .max = 1e3, .doc = "of soot in it", .usual = 5});
  d("temperature", temperature, {.unit = "K", .min = -300, .max = 1e4, .doc = "above the surroundings"});
  d("moves", moves, {.doc = "whether it gives the gas its velocity too"});
  d("velocity", velocity, {.unit = "m/s", .min = -1e3, .max = 1e3, .doc = "of the gas in it, if it moves"});
  d("rate", rate,
    {.unit = "1/s", .min = 0, .max = 1e6, .doc = "at which its values are approached", .usual = 200});
  d("start", start, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it begins"});
  d("stop", stop, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it ends"});
  d("colour", colour, albedo());
}

void SmokeBrush::describe(Describer& d) {
  d("position", position, {.unit = "m", .min = -far, .max = far, .doc = "of its middle"});
  d("radius", radius, {.unit = "m", .min = 1e-6, .max = 1e4, .doc = "at which it ends, smoothly"});
  d("density", density,
    {.unit = "kg/m^3", .min = 0, .max = 1e3, .doc = "of soot that it leaves; 0: it stirs alone", .usual = 5});
  d("temperature", temperature,
    {.unit = "K", .min = -300, .max = 1e4, .doc = "of that, above the surroundings"});
  d("colour", colour, albedo());
  d("rate", rate,
    {.unit = "1/s", .min = 0, .max = 1e6, .doc = "at which its values are approached", .usual = 200});
  d("start", start, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it begins"});
  d("stop", stop, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it ends"});
}

void Smoke::Side::describe(Describer& d) {
  d("kind", kind, {.doc = "what it does to the flow; periodic sides come in pairs"});
  d("velocity", velocity,
    {.unit = "m/s", .min = -1e3, .max = 1e3, .doc = "of the wall along itself, or of what flows in"});
  if (d.when("kind", "inflow", kind == GridSide::inflow))
    d("profile", profile,
      {.doc = "of what flows in; parabolic: as between plates, velocity is the middle's"});
}

void Smoke::Spec::describe(Describer& d) {
  const auto count = [](const char* doc) { return Info{.min = 2, .max = 4096, .doc = doc}; };
  d("cells_x", cells_x, count("cells along x"));
  d("cells_y", cells_y, count("cells along y"));
  d("cells_z", cells_z, {.min = 1, .max = 4096, .doc = "cells along z; 1: two dimensions"});
  d("spacing", spacing, {.unit = "m", .min = 1e-6, .max = 1e4, .doc = "side of a cell"});
  d("low", low, {.unit = "m", .min = -far, .max = far, .doc = "corner of the box"});
  d("left", left, {.doc = "side of the least x"});
  d("right", right, {.doc = "side of the largest x"});
  d("bottom", bottom, {.doc = "side of the least y"});
  d("top", top, {.doc = "side of the largest y"});
  d("back", back, {.doc = "side of the least z"});
  d("front", front, {.doc = "side of the largest z"});
  d("solids", solids, {.doc = "what the gas flows around", .max_count = 10000});
  d("solids_grip", solids_grip, {.doc = "whether the gas sticks to solids and bodies or slides along them"});
  d("show", show, {.doc = "what a picture of two dimensions is coloured by"});
  d("show_low", show_low, {.min = -1e9, .max = 1e9, .doc = "lower end of its colours"});
  d("show_high", show_high, {.min = -1e9, .max = 1e9, .doc = "upper end; equal: of what there is"});
  d("extinction", extinction,
    {.unit = "m^2/kg",
     .min = 1e-3,
     .max = 1e5,
     .doc = "how much soot dims light in pictures; a sheet of ink is as deep as a metre"});
  d("coloured", coloured, {.doc = "whether soot has colours, which mix"});
  d("palette", palette, {.min = -1, .max = 1000, .doc = "which of the palette's colours the solids have"});
}

void Smoke::Params::describe(Describer& d) {
  d("gravity", gravity, {.unit = "m/s^2", .min = -1e3, .max = 1e3, .doc = "of the surroundings"});
  d("thermal_expansion", thermal_expansion,
    {.unit = "1/K",
     .min = 0,
     .max = 10,
     .doc = "warm gas rises by this part of gravity for each degree",
     .usual = 0.02});
  d("soot_weight", soot_weight,
    {.unit = "m^3/kg",
     .min = -1e3,
     .max = 1e3,
     .doc = "soot sinks by this part of gravity for its density",
     .usual = 2});
  d("acceleration", acceleration, {.unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "of all of the gas"});
  d("vorticity_confinement", vorticity_confinement,
    {.min = 0, .max = 100, .doc = "gives back swirls that the grid blurs", .usual = 2});
  d("viscosity", viscosity, {.unit = "m^2/s", .min = 0, .max = 1e4, .doc = "kinematic; of air 1.5e-5"});
  d("diffusion", diffusion, {.doc = "how viscosity is integrated"});
  d("air_density", air_density, {.unit = "kg/m^3", .min = 1e-6, .max = 1e5, .doc = "of the gas"});
  d("sphere_drag", sphere_drag,
    {.min = 0, .max = 100, .doc = "coefficient of particles, over their section", .usual = 2});
  d("plate_drag", plate_drag,
    {.min = 0,
     .max = 100,
     .doc = "coefficient of cloth across the flow; give cloth an air_density of 0 here",
     .usual = 2});
  d("cooling", cooling, {.unit = "1/s", .min = 0, .max = 1e3, .doc = "decay of its temperature", .usual = 5});
  d("settling", settling, {.unit = "1/s", .min = 0, .max = 1e3, .doc = "decay of the soot", .usual = 5});
  d("advection", advection, {.doc = "how the flow carries what is in it"});
  d("trace", trace, {.doc = "how ways are traced back"});
  d("pressure_solver", pressure_solver,
    {.doc = "of the projection; automatic: transforms if there are no solids, else multigrid"});
  d("pressure_tolerance", pressure_tolerance,
    {.min = 1e-12, .max = 1, .doc = "residual of the projection, relative", .logarithmic = true});
  d("pressure_iterations", pressure_iterations, {.min = 1, .max = 100000, .doc = "of it at most"});
  d("report_energy", report_energy, {.doc = "kinetic energy in reports"});
  d("sources", sources, {.doc = "where smoke comes from", .max_count = 1000});
  d("brushes", brushes, {.doc = "hands that stir the gas where keyframes move them", .max_count = 1000});
  d("stroke_density", stroke_density,
    {.unit = "kg/m^3",
     .min = 0,
     .max = 1e3,
     .doc = "of ink that strokes of the mouse leave; 0: none",
     .usual = 5});
}

std::size_t Smoke::memory(const Spec& spec) {
  const GridShape shape{{spec.cells_x, spec.cells_y, spec.cells_z}};
  // State 6 and colours 3, scratch 12, the pressure's 9 counting doubles twice, its coarser grids a seventh,
  // faces 3.
  std::size_t bytes = shape.size() * sizeof(Real) * (spec.coloured ? 35 : 32);
  for (const SmokeShape& solid : spec.solids) bytes += solid.memory();
  return bytes;
}

void Smoke::build(const Spec& spec, Model& m, State& s) {
  m = {};
  s = {};
  m.shape.cells = {spec.cells_x, spec.cells_y, spec.cells_z};
  m.h = spec.spacing;
  m.low = spec.low;
  m.solids = spec.solids;
  m.solids_grip = spec.solids_grip;
  m.show = spec.show;
  m.show_low = spec.show_low;
  m.show_high = spec.show_high;
  m.extinction = spec.extinction;
  m.coloured = spec.coloured;
  m.palette = spec.palette;
  const GridShape& shape = m.shape;
  Refusals refusals;
  static constexpr const char* names[] = {"left", "right", "bottom", "top", "back", "front"};
  const std::array<Side, 6> sides = sides_of(spec);
  for (std::size_t k = 0; k < 6; ++k) {
    m.box.sides[k] = sides[k].kind;
    m.box.velocity[k] = sides[k].velocity;
    m.box.parabolic[k] = sides[k].profile == Side::Profile::parabolic;
    const std::size_t axis = k / 2, other = k ^ 1;
    if (static_cast<int>(axis) >= shape.dimensions()) continue;
    if (sides[k].kind == GridSide::periodic && sides[other].kind != GridSide::periodic)
      refusals.keep(Problem{.key = fmt::format("{}.kind", names[other]),
                            .what = "the opposite side is periodic and this one is not",
                            .remedy = "make both periodic, or neither"});
    const bool wall = sides[k].kind == GridSide::no_slip || sides[k].kind == GridSide::free_slip;
    if (wall && sides[k].velocity[static_cast<Index>(axis)] != 0)
      refusals.keep(Problem{.key = fmt::format("{}.velocity", names[k]),
                            .what = "a wall cannot move out of its plane",
                            .remedy = "give it a velocity along itself, or make it an inflow"});
  }
  if (shape.num_cells() > (std::size_t{1} << 30))
    refusals.keep(Problem{.key = "cells_x",
                          .what = "the box has too many cells",
                          .value = fmt::format("{}", shape.num_cells()),
                          .allowed = "at most 1073741824 altogether"});
  refusals.refuse();

  if (!spec.solids.empty()) {
    m.open.assign(shape, 1);
    for (std::size_t k = 0; k < spec.solids.size(); ++k)
      under(fmt::format("solids[{}]", k), [&] {
        m.solids[k].require_closed();
        const GridWall wall(m.solids[k].solid(), m.solids[k].pose());
        close_faces(shape, m.low, m.h, wall.shape, wall.pose, m.open);
        if (may_be_thin(wall.shape, m.h)) close_walls(shape, m.low, m.h, wall, m.open);
      });
    for (int c = 0; c < shape.dimensions(); ++c) {
      // Sides of a periodic axis are one face.
      const auto axis = static_cast<std::size_t>(c);
      if (m.box.sides[2 * axis] != GridSide::periodic) continue;
      std::array<Index, 3> n = shape.cells;
      n[axis] = 1;
      for (Index k = 0; k < n[2]; ++k)
        for (Index j = 0; j < n[1]; ++j)
          for (Index i = 0; i < n[0]; ++i) {
            Real& f = m.open.along[axis][shape.index(i, j, k)];
            Real& g = m.open.along[axis][shape.index(i + (c == 0 ? shape.cells[0] : 0),
                                                     j + (c == 1 ? shape.cells[1] : 0),
                                                     k + (c == 2 ? shape.cells[2] : 0))];
            f = g = std::min(f, g);
          }
    }
    std::vector<std::uint8_t>& cells = m.known[3];
    cells.assign(shape.size(), 0);
    for (int c = 0; c < shape.dimensions(); ++c) {
      std::vector<std::uint8_t>& known = m.known[static_cast<std::size_t>(c)];
      known.assign(shape.size(), 0);
      std::array<Index, 3> n = shape.cells;
      ++n[static_cast<std::size_t>(c)];
      for (Index k = 0; k < n[2]; ++k)
        for (Index j = 0; j < n[1]; ++j)
          for (Index i = 0; i < n[0]; ++i) {
            const std::size_t at = shape.index(i, j, k);
            if (!(m.open[c][at] > 0)) continue;
            known[at] = 1;
            // Both cells beside the face hold fluid.
            cells[at] = 1;
            cells[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) - shape.stride(c))] = 1;
          }
      m.extrapolation[static_cast<std::size_t>(c)] = find_extrapolation(shape, known, n, 3);
    }
    std::vector<std::uint8_t> inside(shape.size(), 0);
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i) inside[shape.index(i, j, k)] = cells[shape.index(i, j, k)];
    cells = inside;
    if (m.solids_grip)
      for (int c = 0; c < shape.dimensions(); ++c)
        m.cling[static_cast<std::size_t>(c)] = find_cling(shape, m.low, m.h, m.solids, c);
    m.extrapolation[3] = find_extrapolation(shape, cells, shape.cells, 3);
    if (std::find(cells.begin(), cells.end(), 1) == cells.end())
      throw Error(Problem{.key = "solids",
                          .what = "the solids fill the whole box",
                          .remedy = "make them smaller, or the box larger"});
  }
  s.velocity.assign(shape, 0);
  s.density.assign(shape.size(), 0);
  s.temperature.assign(shape.size(), 0);
  if (m.coloured)
    for (std::vector<Real>& channel : s.scattered) channel.assign(shape.size(), 0);
  s.pressure.assign(shape.size(), 0);
  fill_velocity_ghosts(shape, m.box, s.velocity);
}

void Smoke::check(const Model& m, const State& s) {
  const auto fits = [&](const char* key, std::size_t size, std::size_t wanted) {
    if (size != wanted)
      throw Error(Problem{.key = key,
                          .what = "has another number of items than the grid",
                          .value = fmt::format("{}", size),
                          .allowed = fmt::format("{}", wanted)});
  };
  const std::size_t n = m.shape.size();
  fits("velocity_x", s.velocity[0].size(), n);
  fits("velocity_y", s.velocity[1].size(), n);
  fits("velocity_z", s.velocity[2].size(), m.shape.is_flat() ? 0 : n);
  fits("density", s.density.size(), n);
  for (const std::vector<Real>& channel : s.scattered) fits("scattered", channel.size(), m.coloured ? n : 0);
  fits("temperature", s.temperature.size(), n);
  fits("pressure", s.pressure.size(), n);
  s.holds.check([&](const char* key, std::size_t size, std::size_t wanted, const char* of) {
    if (size != wanted)
      throw Error(Problem{.key = key,
                          .what = fmt::format("has another number of items than {}", of),
                          .value = fmt::format("{}", size),
                          .allowed = fmt::format("{}", wanted)});
  });
}

static_assert(Buildable<Smoke>);

}  // namespace plenum::inline PLENUM_ABI
