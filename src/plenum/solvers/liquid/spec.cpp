// Descriptions of a liquid, and the making of one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/solvers/liquid/detail/emit.h"
#include "plenum/solvers/liquid/detail/level_set.h"
#include "plenum/solvers/liquid/detail/seam.h"
#include "plenum/solvers/liquid/liquid.h"
#include "plenum/state/grid_cling.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

void LiquidFill::describe(Describer& d) {
  GridSolid::describe(d);
  d("velocity", velocity, {.unit = "m/s", .min = -1e3, .max = 1e3, .doc = "of the liquid at the start"});
}

void LiquidSource::describe(Describer& d) {
  GridSolid::describe(d);
  d("velocity", velocity, {.unit = "m/s", .min = -1e3, .max = 1e3, .doc = "of the liquid in it"});
  d("start", start, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it begins"});
  d("stop", stop, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it ends"});
}

void LiquidInlet::describe(Describer& d) {
  GridSolid::describe(d);
  d("velocity", velocity, {.unit = "m/s", .min = -1e3, .max = 1e3, .doc = "of what comes in"});
  d("start", start, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it begins"});
  d("stop", stop, {.unit = "s", .min = -1e9, .max = 1e9, .doc = "when it ends"});
}

void Liquid::Side::describe(Describer& d) {
  d("kind", kind,
    {.doc = "what it does to the flow; outflow: the liquid leaves; periodic: the opposite one leads on"});
  d("velocity", velocity,
    {.unit = "m/s", .min = -1e3, .max = 1e3, .doc = "of a wall without slip, along itself"});
}

void Liquid::Spec::describe(Describer& d) {
  const auto count = [](const char* doc) { return Info{.min = 2, .max = 1024, .doc = doc}; };
  d("cells_x", cells_x, count("cells along x"));
  d("cells_y", cells_y, count("cells along y"));
  d("cells_z", cells_z, {.min = 1, .max = 1024, .doc = "cells along z; 1: two dimensions"});
  d("spacing", spacing, {.unit = "m", .min = 1e-6, .max = 1e4, .doc = "side of a cell"});
  d("low", low, {.unit = "m", .min = -1e5, .max = 1e5, .doc = "corner of the box"});
  d("left", left, {.doc = "side of the least x"});
  d("right", right, {.doc = "side of the largest x"});
  d("bottom", bottom, {.doc = "side of the least y"});
  d("top", top, {.doc = "side of the largest y"});
  d("back", back, {.doc = "side of the least z"});
  d("front", front, {.doc = "side of the largest z"});
  d("tracker", tracker,
    {.doc = "what says where the liquid is; a level set is smooth, and has no periodic sides"});
  d("particles_per_side", particles_per_side,
    {.min = 1, .max = 4, .doc = "of a full cell, or beside a corrected level set: squared, or cubed"});
  d("jitter", jitter, {.min = 0, .max = 1, .doc = "of particles at the start, in parts of their distance"});
  d("solids", solids, {.doc = "what the liquid flows around", .max_count = 10000});
  d("solids_grip", solids_grip, {.doc = "whether a viscous liquid sticks to solids or slides along them"});
  d("fill", fill, {.doc = "liquid that is there at the start", .max_count = 10000});
  d("inlets", inlets,
    {.doc = "windows in sides, where their shapes are: liquid comes in", .max_count = 1000});
  d("show", show, {.doc = "what a picture shows; surface: of particles in two dimensions these themselves"});
  const auto optical = [](const char* doc) { return Info{.unit = "1/m", .min = 0, .max = 1e6, .doc = doc}; };
  d("absorption", absorption, optical("of red, green and blue light on its way through the liquid"));
  d("scattering", scattering, optical("of red, green and blue light; some of it comes back"));
  d("palette", palette, {.min = -1, .max = 1000, .doc = "which of the palette's colours the solids have"});
}

void Liquid::Params::describe(Describer& d) {
  d("gravity", gravity, {.unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "of the surroundings"});
  d("transfer", transfer, {.doc = "how particles take the grid's velocity"});
  d("advection", advection, {.doc = "how the flow carries itself beside a level set"});
  d("trace", trace, {.doc = "how ways are traced back for that"});
  d("flip", flip, {.min = 0, .max = 1, .doc = "part of flip in its blend with pic: lively, but noisy"});
  d("density", density, {.unit = "kg/m^3", .min = 1e-6, .max = 1e6, .doc = "of the liquid", .usual = 5000});
  d("viscosity", viscosity, {.unit = "m^2/s", .min = 0, .max = 1e4, .doc = "kinematic; of water 1e-6"});
  d("reseed", reseed, {.doc = "particles from where they crowd to where the liquid has too few"});
  d("volume_rate", volume_rate,
    {.unit = "1/s",
     .min = 0,
     .max = 1e4,
     .doc = "at which crowded particles are spread, or a level set wins back volume; 0: not",
     .usual = 50});
  d("cfl", cfl,
    {.min = 0.1,
     .max = 100,
     .doc = "cells that the fastest particle crosses in a part of a step",
     .usual = 10});
  d("most_parts", most_parts, {.min = 1, .max = 1000, .doc = "of a step, however fast the liquid is"});
  d("pressure_solver", pressure_solver, {.doc = "of the projection; automatic: multigrid"});
  d("pressure_tolerance", pressure_tolerance,
    {.min = 1e-12, .max = 1, .doc = "residual of the projection, relative", .logarithmic = true});
  d("pressure_iterations", pressure_iterations, {.min = 1, .max = 100000, .doc = "of it at most"});
  d("sphere_drag", sphere_drag,
    {.min = 0, .max = 100, .doc = "coefficient of particles, over their section", .usual = 2});
  d("plate_drag", plate_drag,
    {.min = 0, .max = 100, .doc = "coefficient of cloth across the flow, over its area", .usual = 2});
  d("measure", measure, {.doc = "energy and volume in reports"});
  d("inflow", inflow,
    {.min = 0, .max = 100, .doc = "what inlets' velocities are multiplied by; 0: shut", .usual = 5});
  d("sources", sources, {.doc = "where liquid comes from", .max_count = 1000});
}

std::size_t Liquid::memory(const Spec& spec) {
  const GridShape shape{{spec.cells_x, spec.cells_y, spec.cells_z}};
  // Grid: pairs 6, carry 3, crowd, capacity, pressure, openings 3, distance; the solver's 9 counting doubles
  // twice. Particles: position, velocity, gradients and their copies. For the surface another 5, and 3
  // places.
  const auto per_side = static_cast<std::size_t>(spec.particles_per_side);
  const std::size_t per_cell = per_side * per_side * (shape.is_flat() ? 1 : per_side);
  double filled = 0;
  for (const LiquidFill& fill : spec.fill) {
    const Vec3 size = fill.size();
    const auto h = static_cast<double>(spec.spacing);
    const double area = static_cast<double>(size.x()) * static_cast<double>(size.y()) / (h * h);
    filled += area * (shape.is_flat() ? 1 : static_cast<double>(size.z()) / h);
  }
  filled = std::min(filled, static_cast<double>(shape.num_cells()));
  const bool surface = spec.show == Show::surface && !shape.is_flat();
  std::size_t meshes = 0;
  for (const GridSolid& solid : spec.solids) meshes += solid.memory();
  for (const LiquidFill& fill : spec.fill) meshes += fill.memory();
  for (const LiquidInlet& inlet : spec.inlets) meshes += inlet.memory();
  return meshes + shape.size() * sizeof(Real) * (surface ? 36 : 31) +
         static_cast<std::size_t>(filled) * per_cell * ((surface ? 13 : 10) * sizeof(Vec3) + 12);
}

namespace {

Vec3 centre_of(const Liquid::Model& m, Index i, Index j, Index k) {
  return m.low + m.h * Vec3(static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                            static_cast<Real>(k) + Real(0.5));
}

/// Signed distance to all solids at the corners of cells.
void find_distance(Liquid::Model& m) {
  const GridShape& shape = m.shape;
  m.distance.assign(shape.size(), std::numeric_limits<Real>::max());
  const Index nz = shape.is_flat() ? 0 : shape.cells[2];
  std::vector<Vec3> corner(static_cast<std::size_t>(shape.cells[0] + 1));
  std::vector<Real> d(corner.size());
  for (const GridSolid& solid : m.solids) {
    const Shape geometry = solid.solid();
    for (Index k = 0; k <= nz; ++k)
      for (Index j = 0; j <= shape.cells[1]; ++j) {
        for (Index i = 0; i <= shape.cells[0]; ++i)
          corner[static_cast<std::size_t>(i)] =
              m.low + m.h * Vec3(static_cast<Real>(i), static_cast<Real>(j),
                                 shape.is_flat() ? Real(0.5) : static_cast<Real>(k));
        geometry.signed_distances(solid.pose(), corner, d);
        Real* to = m.distance.data() + shape.index(0, j, k);
        for (std::size_t i = 0; i < d.size(); ++i) to[i] = std::min(to[i], d[i]);
      }
  }
}

/// Of the corners' distances, at a point in cells; beyond sides that are not periodic that of the nearest
/// point in the box.
Real distance_at(const Liquid::Model& m, std::array<Real, 3> g) {
  const GridShape& shape = m.shape;
  std::array<Index, 3> low{};
  std::array<Real, 3> t{};
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const auto n = static_cast<Real>(shape.cells[a]);
    if (m.is_periodic(a)) g[a] -= std::floor(g[a] / n) * n;
    g[a] = std::clamp(g[a], Real(0), n);
    low[a] = std::min(static_cast<Index>(g[a]), shape.cells[a] - 1);
    t[a] = g[a] - static_cast<Real>(low[a]);
  }
  Real sum = 0;
  for (Index k = 0; k < (shape.is_flat() ? 1 : 2); ++k)
    for (Index j = 0; j < 2; ++j)
      for (Index i = 0; i < 2; ++i)
        sum += m.distance[shape.index(low[0] + i, low[1] + j, low[2] + k)] * (i ? t[0] : 1 - t[0]) *
               (j ? t[1] : 1 - t[1]) * (k ? t[2] : 1 - t[2]);
  return sum;
}

/// Solids as walls, and the cells near those that may be thin.
void find_walls(Liquid::Model& m) {
  const GridShape& shape = m.shape;
  const FaceField before = m.open;
  for (const GridSolid& solid : m.solids) {
    const GridWall wall(solid.solid(), solid.pose());
    if (!may_be_thin(wall.shape, m.h)) continue;
    close_walls(shape, m.low, m.h, wall, m.open, periodic_axes(m));
    if (m.near_walls.empty()) m.near_walls.assign(shape.size(), 0);
    // Farther than the corners of the hat function around a cell's centre, and than its own.
    const Real reach = Real(1.8) * m.h, within = Real(0.9) * m.h;
    parallel_for(shape.num_cells() / static_cast<std::size_t>(shape.cells[0]), 16,
                 [&](std::size_t begin, std::size_t end) {
                   const auto ny = static_cast<std::size_t>(shape.cells[1]);
                   for (std::size_t row = begin; row < end; ++row)
                     for (Index i = 0; i < shape.cells[0]; ++i) {
                       const auto j = static_cast<Index>(row % ny), k = static_cast<Index>(row / ny);
                       const Vec3 x = wall.pose.to_local(centre_of(m, i, j, k));
                       const Real distance = std::abs(wall.shape.signed_distance(x).distance);
                       std::uint8_t& near = m.near_walls[shape.index(i, j, k)];
                       if (distance < reach) near = std::max<std::uint8_t>(near, distance < within ? 2 : 1);
                     }
                 });
  }
  if (m.near_walls.empty()) return;
  if (any(periodic_axes(m))) join_sides(m, m.open);
  for (const GridSolid& solid : m.solids) m.walls.emplace_back(solid.solid(), solid.pose());
  m.clearance.find(shape, m.low, m.h, m.walls, m.near_walls);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t at = 0; at < before.along[c].size(); ++at)
      if (before.along[c][at] > 0 && m.open.along[c][at] == 0)
        m.wall_faces[c].push_back(static_cast<std::uint32_t>(at));
}

/// How much of the hat function around a cell's centre is open and not behind a wall, by points.
Real seen_around(const Liquid::Model& m, Index i, Index j, Index k) {
  constexpr int points = 4;  // along an axis
  const bool flat = m.shape.is_flat();
  Vec3 from = centre_of(m, i, j, k);
  const Vec3 centre = from;
  for (const GridWall& wall : m.walls) from = wall.beside(from, Real(0.01) * m.h, flat);
  Real sum = 0;
  for (int c = 0; c < (flat ? 1 : points); ++c)
    for (int b = 0; b < points; ++b)
      for (int a = 0; a < points; ++a) {
        const auto offset = [](int p) { return (static_cast<Real>(p) + Real(0.5)) * 2 / points - 1; };
        const auto weight = [&](int p) { return (1 - std::abs(offset(p))) * 2 / points; };
        const Vec3 x = centre + m.h * Vec3(offset(a), offset(b), flat ? Real(0) : offset(c));
        bool seen = true;
        for (const GridWall& wall : m.walls)
          seen =
              seen && wall.shape.signed_distance(wall.pose.to_local(x)).distance > 0 && !wall.blocks(from, x);
        if (seen) sum += weight(a) * weight(b) * (flat ? Real(1) : weight(c));
      }
  return sum;
}

/// How much of the hat function around each cell's centre is open: beside a side of the box 7/8, and less
/// beside solids, by points.
void find_capacity(Liquid::Model& m) {
  const GridShape& shape = m.shape;
  m.capacity.assign(shape.size(), 0);
  constexpr int points = 6;  // along an axis
  std::array<Real, points> offset, weight;
  for (int p = 0; p < points; ++p) {
    const auto a = static_cast<std::size_t>(p);
    offset[a] = (static_cast<Real>(p) + Real(0.5)) * 2 / points - 1;
    weight[a] = (1 - std::abs(offset[a])) * 2 / points;
  }
  const bool flat = shape.is_flat();
  // Beside closed sides and beyond; open and periodic ones go on.
  const auto of_axis = [&](Index i, std::size_t axis) {
    const Index n = shape.cells[axis];
    Real part = 1;
    for (const std::size_t high : {0, 1}) {
      if (!m.is_closed(2 * axis + high)) continue;
      const Index beside = high ? n - 1 : 0, beyond = high ? n : -1;
      if (i == beside) part -= Real(1) / 8;
      if (i == beyond) part = Real(1) / 8;
    }
    return part;
  };
  for (Index k = flat ? 0 : -1; k < (flat ? 1 : shape.cells[2] + 1); ++k)
    for (Index j = -1; j <= shape.cells[1]; ++j)
      for (Index i = -1; i <= shape.cells[0]; ++i) {
        Real part = of_axis(i, 0) * of_axis(j, 1) * (flat ? Real(1) : of_axis(k, 2));
        const bool inside = i >= 0 && j >= 0 && k >= 0 && i < shape.cells[0] && j < shape.cells[1] &&
                            (flat || k < shape.cells[2]);
        if (inside && !m.walls.empty() && m.near_walls[shape.index(i, j, k)]) {
          part *= std::min(seen_around(m, i, j, k), Real(1));
        } else if (!m.distance.empty()) {
          const std::array<Real, 3> g = {static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                                         static_cast<Real>(k) + Real(0.5)};
          // A distance beyond the corners of the hat's square.
          if (distance_at(m, g) < 2 * m.h) {
            Real sum = 0;
            for (std::size_t c = 0; c < (flat ? 1u : std::size_t{points}); ++c)
              for (std::size_t b = 0; b < points; ++b)
                for (std::size_t a = 0; a < points; ++a)
                  if (distance_at(m, {g[0] + offset[a], g[1] + offset[b], flat ? g[2] : g[2] + offset[c]}) >
                      0)
                    sum += weight[a] * weight[b] * (flat ? Real(1) : weight[c]);
            part *= std::min(sum, Real(1));
          }
        }
        m.capacity[shape.index(i, j, k)] = part;
      }
  wrap_items<1>(shape, periodic_axes(m), all_items(shape), m.capacity.data());
}

/// Whether x is in a solid.
bool in_walls(const Liquid::Model& m, const Vec3& x) {
  for (const GridWall& wall : m.walls)
    if (!(wall.shape.exact_distance(wall.pose.to_local(x)).distance > 0)) return true;
  return false;
}

void fill_with_particles(const Liquid::Spec& spec, const Liquid::Model& m, Liquid::State& s) {
  const int n = m.per_side, layers = m.shape.is_flat() ? 1 : n;
  std::vector<std::uint8_t> taken;
  if (spec.fill.size() > 1 || any(periodic_axes(m)))
    taken.assign(m.shape.num_cells() * static_cast<std::size_t>(m.per_cell()), 0);
  for (std::size_t f = 0; f < spec.fill.size(); ++f) {
    const LiquidFill& fill = spec.fill[f];
    const Shape solid = fill.solid();
    const Aabb bounds = solid.bounds(fill.pose());
    std::size_t added = 0;
    const auto fill_image = [&](const Vec3& shift) {
      const Pose pose = moved(fill.pose(), shift);
      const ItemBox box = cells_around(m, {bounds.low + shift, bounds.high + shift});
      for (Index k = box.low[2]; k < box.high[2]; ++k)
        for (Index j = box.low[1]; j < box.high[1]; ++j)
          for (Index i = box.low[0]; i < box.high[0]; ++i)
            for (int seed = 0; seed < n * n * layers; ++seed) {
              const std::array<int, 3> at = {seed % n, seed / n % n, seed / (n * n)};
              std::array<Real, 3> g;
              const std::array<Index, 3> cell = {i, j, k};
              for (std::size_t c = 0; c < 3; ++c)
                g[c] = static_cast<Real>(cell[c]) +
                       (static_cast<Real>(at[c]) + Real(0.5)) / static_cast<Real>(n);
              if (m.shape.is_flat()) g[2] = Real(0.5);
              const Vec3 place = m.low + m.h * Vec3(g[0], g[1], g[2]);
              if (solid.signed_distance(pose.to_local(place)).distance > 0) continue;
              const bool by_walls = !m.walls.empty() && m.near_walls[m.shape.index(i, j, k)];
              if (!by_walls && !m.distance.empty() && distance_at(m, g) < 0) continue;
              if (by_walls && in_walls(m, place)) continue;
              if (!taken.empty()) {
                const std::size_t number =
                    (static_cast<std::size_t>(i) +
                     static_cast<std::size_t>(m.shape.cells[0]) *
                         (static_cast<std::size_t>(j) +
                          static_cast<std::size_t>(m.shape.cells[1]) * static_cast<std::size_t>(k))) *
                        static_cast<std::size_t>(m.per_cell()) +
                    static_cast<std::size_t>(seed);
                if (taken[number]) continue;
                taken[number] = 1;
              }
              const Vec3 seeded = seed_place(m, cell, seed, s.num_emitted++);
              // What is jittered goes through no wall.
              s.x.push_back(by_walls
                                ? stop_at_walls(m.walls, place, seeded, wall_gap * m.h, m.shape.is_flat()).x
                                : seeded);
              s.v.push_back(fill.velocity);
              if (m.shape.is_flat()) s.v.back().z() = 0;
              ++added;
            }
    };
    for_images(m, bounds, 0, fill_image);
    if (added == 0)
      throw Error(Problem{.key = fmt::format("fill[{}]", f),
                          .what = "holds no place of the box that is not filled or solid already",
                          .remedy = "move it into the box, make it larger, or take it out"});
  }
}

}  // namespace

namespace {

void refuse_sides(const Liquid::Model& m, Refusals& refusals) {
  static constexpr const char* names[] = {"left", "right", "bottom", "top", "back", "front"};
  for (std::size_t side = 0; side < 6; ++side) {
    const Vec3& velocity = m.sides[side].velocity;
    if (static_cast<int>(side / 2) >= m.shape.dimensions()) continue;
    const std::size_t other = side ^ 1;
    if (m.sides[side].kind != Liquid::Side::Kind::periodic &&
        m.sides[other].kind == Liquid::Side::Kind::periodic)
      refusals.keep(
          Problem{.key = fmt::format("{}.kind", names[side]),
                  .what = fmt::format("{} is periodic and the side opposite to it is not", names[other]),
                  .value = names_of(Liquid::Side::Kind{})[static_cast<std::size_t>(m.sides[side].kind)],
                  .remedy = "make both periodic, or neither"});
    if (velocity.isZero(0)) continue;
    const std::string key = fmt::format("{}.velocity", names[side]);
    if (m.has_slip(side))
      refusals.keep(Problem{.key = key,
                            .what = "only a wall without slip takes the liquid along",
                            .remedy = "make its kind no_slip, or take the velocity out"});
    else if (velocity[static_cast<Index>(side / 2)] != 0)
      refusals.keep(Problem{.key = key,
                            .what = "a wall cannot move out of its plane",
                            .remedy = "give it a velocity along itself"});
  }
}

}  // namespace

void Liquid::build(const Spec& spec, Model& m, State& s) {
  m = {};
  s = {};
  m.shape.cells = {spec.cells_x, spec.cells_y, spec.cells_z};
  m.h = spec.spacing;
  m.low = spec.low;
  m.sides = {spec.left, spec.right, spec.bottom, spec.top, spec.back, spec.front};
  m.tracker = spec.tracker;
  m.per_side = spec.particles_per_side;
  m.jitter = spec.jitter;
  m.solids = spec.solids;
  m.num_solids = spec.solids.size();
  m.inlets = spec.inlets;
  m.show = spec.show;
  m.absorption = spec.absorption;
  m.scattering = spec.scattering;
  m.palette = spec.palette;
  const GridShape& shape = m.shape;
  Refusals refusals;
  refuse_sides(m, refusals);
  if (m.has_level_set())
    for (int c = 0; c < shape.dimensions(); ++c)
      if (m.is_periodic(static_cast<std::size_t>(c))) {
        refusals.keep(Problem{.key = "tracker",
                              .what = "a level set does not go on across periodic sides",
                              .value = names_of(Tracker{})[static_cast<std::size_t>(m.tracker)],
                              .remedy = "make the tracker particles, or the sides walls"});
        break;
      }
  if (shape.num_cells() > (std::size_t{1} << 28))
    refusals.keep(Problem{.key = "cells_x",
                          .what = "the box has too many cells",
                          .value = fmt::format("{}", shape.num_cells()),
                          .allowed = "at most 268435456 altogether"});
  refusals.refuse();
  if (!spec.solids.empty()) {
    m.open.assign(shape, 1);
    for (std::size_t k = 0; k < spec.solids.size(); ++k)
      under(fmt::format("solids[{}]", k), [&] {
        m.solids[k].require_closed();
        close_faces(shape, m.low, m.h, m.solids[k].solid(), m.solids[k].pose(), m.open);
        // Those that reach across a periodic side, or as near to it as what is stopped by them may come from.
        for_images(m, m.solids[k].solid().bounds(m.solids[k].pose()), seam_reach * m.h,
                   [&](const Vec3& shift) {
                     if (shift.isZero(0)) return;
                     GridSolid image = m.solids[k];
                     image.position += shift;
                     close_faces(shape, m.low, m.h, image.solid(), image.pose(), m.open);
                     m.solids.push_back(std::move(image));
                   });
      });
    if (any(periodic_axes(m))) join_sides(m, m.open);
    find_distance(m);
    find_walls(m);
    if (m.has_level_set())
      for (std::size_t k = 0; k < m.num_solids; ++k)
        if (may_be_thin(m.solids[k].solid(), m.h))
          throw Error(Problem{.key = fmt::format("solids[{}]", k),
                              .what = "may be thinner than two cells, and a level set goes through it",
                              .remedy = "make it thicker, the cells smaller, or the tracker particles"});
    if (spec.solids_grip)
      for (int c = 0; c < shape.dimensions(); ++c) {
        std::vector<Real>& cling = m.cling[static_cast<std::size_t>(c)];
        cling = find_cling(shape, m.low, m.h, m.solids, c);
        wrap_items<1>(shape, periodic_axes(m), all_items(shape), cling.data());
      }
  }
  find_inlets(m, refusals);
  refusals.refuse();
  find_capacity(m);
  s.pressure.assign(shape.size(), 0);
  if (m.has_level_set())
    fill_level_set(spec, m, s);
  else
    fill_with_particles(spec, m, s);
}

void Liquid::check(const Model& m, const State& s) {
  const auto fits = [&](const char* key, std::size_t size, std::size_t wanted, const char* of) {
    if (size != wanted)
      throw Error(Problem{.key = key,
                          .what = fmt::format("has another number of items than {}", of),
                          .value = fmt::format("{}", size),
                          .allowed = fmt::format("{}", wanted)});
  };
  fits("velocity", s.v.size(), s.x.size(), "position");
  fits("pressure", s.pressure.size(), m.shape.size(), "the grid");
  const std::size_t affine = s.du.empty() && s.dv.empty() && s.dw.empty() ? 0 : s.x.size();
  fits("gradient_of_u", s.du.size(), affine, "position");
  fits("gradient_of_v", s.dv.size(), affine, "position");
  fits("gradient_of_w", s.dw.size(), affine, "position");
  const std::size_t level_set = m.has_level_set() ? m.shape.size() : 0;
  fits("phi", s.phi.size(), level_set, "the grid");
  for (int c = 0; c < m.shape.dimensions(); ++c)
    fits(c == 0   ? "face_velocity_x"
         : c == 1 ? "face_velocity_y"
                  : "face_velocity_z",
         s.velocity[c].size(), level_set, "the grid");
  fits("correction_radius", s.correction.radius.size(), s.correction.x.size(), "correction_position");
  fits("correction_sign", s.correction.sign.size(), s.correction.x.size(), "correction_position");
  s.holds.check(fits);
  fits("part_position", s.part_position.size(), s.part.size(), "part");
  fits("part_rotation", s.part_rotation.size(), s.part.size(), "part");
}

static_assert(Buildable<Liquid>);

}  // namespace plenum::inline PLENUM_ABI
