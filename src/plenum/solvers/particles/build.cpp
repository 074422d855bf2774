// Descriptions of particle systems, and the making of one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/measures.h"
#include "plenum/solvers/particles/particles.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr double far = 1e6;  // [m] positions of things in a scene
constexpr double most_particles = 1e8;
constexpr std::uint64_t block_stream = std::uint64_t{1} << 32;  // beyond the streams of any emitter

/// The block's own part of every lattice cell, in cell sides.
std::span<const Vector3<double>> basis_of(ParticleBlock::Lattice lattice) {
  static const std::array<Vector3<double>, 4> fcc = {Vector3<double>(0, 0, 0), Vector3<double>(0, .5, .5),
                                                     Vector3<double>(.5, 0, .5), Vector3<double>(.5, .5, 0)};
  return {fcc.data(), lattice == ParticleBlock::Lattice::fcc ? fcc.size() : 1};
}

struct BlockExtent {
  Vector3<double> low, size;
  std::array<std::int64_t, 3> cells;
  double bound;  ///< particles at most
};

BlockExtent extent_of(const ParticleBlock& block) {
  BlockExtent e;
  const bool ball = block.shape == ParticleBlock::Shape::ball;
  const Vec3 low = ball ? Vec3(block.centre - Vec3::Constant(block.radius)) : block.low;
  const Vec3 high = ball ? Vec3(block.centre + Vec3::Constant(block.radius)) : block.high;
  e.low = low.cast<double>();
  e.size = (high - low).cast<double>().cwiseMax(0.0);
  if (block.lattice == ParticleBlock::Lattice::random) {
    e.cells = {0, 0, 0};
    e.bound = static_cast<double>(block.count);
    return e;
  }
  e.bound = static_cast<double>(basis_of(block.lattice).size());
  for (int c = 0; c < 3; ++c) {
    // Whole cells; a box meant as a multiple of the spacing keeps its last layer in spite of rounding.
    const double cells = std::floor(e.size[c] / static_cast<double>(block.spacing) + 1e-4);
    e.cells[static_cast<std::size_t>(c)] = static_cast<std::int64_t>(std::clamp(cells, 1.0, most_particles));
    e.bound *= std::clamp(cells, 1.0, most_particles);
  }
  return e;
}

/// Particles of all blocks and lists at most.
double bound_of(const ParticleSystem::Spec& spec) {
  double bound = static_cast<double>(spec.positions.size());
  for (const ParticleBlock& block : spec.blocks) bound += extent_of(block).bound;
  return bound;
}

/// Calls f(x) for each place of the block.
template <class F>
void for_each_place(const ParticleBlock& block, std::uint64_t seed, std::uint64_t stream, F&& f) {
  const BlockExtent e = extent_of(block);
  const Vector3<double> centre = block.centre.cast<double>();
  const double radius = static_cast<double>(block.radius);
  const bool ball = block.shape == ParticleBlock::Shape::ball;
  if (block.lattice == ParticleBlock::Lattice::random) {
    for (std::int64_t k = 0; k < block.count; ++k) {
      const Vec4 u = uniform4(seed, static_cast<std::uint64_t>(k), stream);
      if (ball) {
        const double height = 1 - 2 * static_cast<double>(u[0]),
                     angle = 2 * std::numbers::pi * static_cast<double>(u[1]);
        const double r = radius * std::cbrt(static_cast<double>(u[2])), s = std::sqrt(1 - height * height);
        f(Vector3<double>(centre + r * Vector3<double>(s * std::cos(angle), height, s * std::sin(angle))));
      } else {
        f(Vector3<double>(e.low + e.size.cwiseProduct(u.head<3>().cast<double>())));
      }
    }
    return;
  }
  const double side = static_cast<double>(block.spacing);
  for (std::int64_t i = 0; i < e.cells[0]; ++i)
    for (std::int64_t j = 0; j < e.cells[1]; ++j)
      for (std::int64_t k = 0; k < e.cells[2]; ++k)
        for (const Vector3<double>& b : basis_of(block.lattice)) {
          // Particles sit inside of their cells, so that a periodic box filled to its faces has none twice.
          const Vector3<double> x = e.low + side * (Vector3<double>(double(i), double(j), double(k)) + b +
                                                    Vector3<double>::Constant(0.25));
          if (!ball || (x - centre).squaredNorm() <= radius * radius) f(x);
        }
}

/// Three independent normal numbers. Source: Box & Muller 1958.
Vec3 normal3(std::uint64_t seed, std::uint64_t index, std::uint64_t stream) {
  const Vec4 u = uniform4(seed, index, stream), w = uniform4(seed, index, stream + 1);
  const Real r0 = std::sqrt(-2 * std::log(1 - u[0])), r1 = std::sqrt(-2 * std::log(1 - u[2]));
  const Real angle0 = 2 * std::numbers::pi_v<Real> * u[1],
             angle1 = 2 * std::numbers::pi_v<Real> * (u[3] + w[0]);
  return {r0 * std::cos(angle0), r0 * std::sin(angle0), r1 * std::cos(angle1)};
}

void check_mesh(const TriangleMesh& mesh, const std::string& key) {
  for (const Index3& t : mesh.triangles)
    for (int c = 0; c < 3; ++c)
      if (t[c] < 0 || static_cast<std::size_t>(t[c]) >= mesh.x.size())
        throw Error(Problem{.key = key, .what = "a triangle names a vertex that is not there"});
  if (!(surface_area(mesh.x, mesh.triangles) > 0))
    throw Error(
        Problem{.key = key, .what = "has no area to emit from", .remedy = "give a mesh with triangles"});
}

}  // namespace

void ParticleEmitter::describe(Describer& d) {
  d("shape", shape, {.doc = "what particles come out of"});
  d("position", position,
    {.unit = "m", .min = -far, .max = far, .doc = "centre; of a mesh: where its origin is"});
  d("direction", direction,
    {.min = -far, .max = far, .doc = "axis of the cone of a point or disc; a mesh emits along its normals"});
  if (d.when("shape", "disc", shape == Shape::disc))
    d("radius", radius, {.unit = "m", .min = 0, .max = far, .doc = "of the disc"});
  if (d.when("shape", "mesh", shape == Shape::mesh))
    d("surface", surface, {.min = 0, .max = 1e6, .doc = "index into the list of surfaces"});
  d("rate", rate, {.unit = "1/s", .min = 0, .max = 1e8, .doc = "particles a second"});
  d("speed", speed, {.unit = "m/s", .min = 0, .max = 1e5, .doc = "of emitted particles"});
  d("speed_variation", speed_variation,
    {.min = 0, .max = 1, .doc = "relative; speeds are uniform within it"});
  d("spread", spread, {.unit = "deg", .min = 0, .max = 180, .doc = "half-angle of the cone of directions"});
  d("lifetime", lifetime, {.unit = "s", .min = 0, .max = 1e9, .doc = "0: forever"});
  d("lifetime_variation", lifetime_variation,
    {.min = 0, .max = 1, .doc = "relative; lifetimes are uniform within it"});
  d("start", start, {.unit = "s", .min = 0, .max = 1e9, .doc = "emits from then"});
  d("stop", stop, {.unit = "s", .min = 0, .max = 1e9, .doc = "emits until then"});
  d("count", count, {.min = 0, .max = 1e15, .doc = "emits at most this many; 0: no limit"});
}

void Attractor::describe(Describer& d) {
  d("position", position, {.unit = "m", .min = -far, .max = far, .doc = "centre"});
  d("strength", strength,
    {.unit = "m^3/s^2", .min = -1e9, .max = 1e9, .doc = "pull times squared distance; negative repels"});
  d("radius", radius, {.unit = "m", .min = 1e-6, .max = far, .doc = "softening: the pull is bounded within"});
}

void Vortex::describe(Describer& d) {
  d("position", position, {.unit = "m", .min = -far, .max = far, .doc = "a point of the axis"});
  d("axis", axis, {.min = -far, .max = far, .doc = "the air turns about it by the right hand"});
  d("circulation", circulation,
    {.unit = "m^2/s", .min = -1e6, .max = 1e6, .doc = "2 pi r times the swirl speed far outside"});
  d("radius", radius,
    {.unit = "m", .min = 1e-6, .max = far, .doc = "of the core, where the swirl is fastest"});
  d("updraught", updraught, {.unit = "m/s", .min = -1e4, .max = 1e4, .doc = "along the axis, at its centre"});
}

void LennardJones::describe(Describer& d) {
  d("epsilon", epsilon,
    {.unit = "J", .min = 0, .max = 1e12, .doc = "depth of the potential; 0: no forces between particles"});
  d("sigma", sigma, {.unit = "m", .min = 1e-12, .max = far, .doc = "distance where the potential is zero"});
  d("n", n, {.min = 4, .max = 100, .doc = "exponent of the repulsion, above m"});
  d("m", m, {.min = 3.1, .max = 99, .doc = "exponent of the attraction"});
  d("cutoff", cutoff,
    {.unit = "sigma", .min = 0.6, .max = 100, .doc = "beyond which pairs do not feel each other"});
  d("truncation", truncation, {.doc = "what becomes of the potential at the cut-off"});
  d("skin", skin,
    {.unit = "sigma",
     .min = 0.01,
     .max = 10,
     .doc = "neighbours are kept that far beyond the cut-off; changes speed, not forces"});
}

void ParticleBlock::describe(Describer& d) {
  d("shape", shape, {.doc = "of the block"});
  if (d.when("shape", "box", shape == Shape::box)) {
    d("low", low, {.unit = "m", .min = -far, .max = far, .doc = "lowest corner"});
    d("high", high, {.unit = "m", .min = -far, .max = far, .doc = "highest corner"});
  }
  if (d.when("shape", "ball", shape == Shape::ball)) {
    d("centre", centre, {.unit = "m", .min = -far, .max = far, .doc = "of the ball"});
    d("radius", radius, {.unit = "m", .min = 0, .max = far, .doc = "of the ball"});
  }
  d("lattice", lattice, {.doc = "how places are chosen"});
  if (d.when("lattice", "cubic", lattice == Lattice::cubic) ||
      d.when("lattice", "fcc", lattice == Lattice::fcc))
    d("spacing", spacing,
      {.unit = "m", .min = 1e-12, .max = far, .doc = "side of the cubic cell (fcc: four particles each)"});
  if (d.when("lattice", "random", lattice == Lattice::random))
    d("count", count, {.min = 0, .max = most_particles, .doc = "of random places"});
  d("velocity", velocity, {.unit = "m/s", .min = -1e6, .max = 1e6, .doc = "of the block"});
  d("thermal_speed", thermal_speed,
    {.unit = "m/s",
     .min = 0,
     .max = 1e6,
     .doc = "standard deviation of each velocity component, about the block's"});
  d("lifetime", lifetime, {.unit = "s", .min = 0, .max = 1e9, .doc = "0: forever"});
}

void ParticleSystem::Surface::describe(Describer& d) {
  d("mesh", mesh, {.doc = "triangles to emit from, by area", .required = true});
}

void ParticleSystem::Spec::describe(Describer& d) {
  d("max_particles", max_particles,
    {.min = 0, .max = most_particles, .doc = "capacity; emitters stop at it"});
  d("mass", mass, {.unit = "kg", .min = 1e-30, .max = 1e12, .doc = "of each particle"});
  d("radius", radius,
    {.unit = "m", .min = 0, .max = far, .doc = "of each particle, in pictures and in contact"});
  d("seed", seed, {.min = 0, .max = 9e15, .doc = "of the random numbers"});
  d("blocks", blocks, {.doc = "particles placed at the start", .max_count = 1000});
  d("positions", positions, {.unit = "m", .min = -far, .max = far, .doc = "of further particles"});
  d("velocities", velocities,
    {.unit = "m/s", .min = -1e6, .max = 1e6, .doc = "of those, one for each; empty: at rest"});
  d("surfaces", surfaces, {.doc = "meshes that emitters may use", .max_count = 1000});
  d("periodic_low", periodic_low,
    {.unit = "m",
     .min = -far,
     .max = far,
     .doc = "lowest corner of the box that repeats for forces between particles"});
  d("periodic_high", periodic_high,
    {.unit = "m",
     .min = -far,
     .max = far,
     .doc = "highest corner; not above the lowest along an axis: open there"});
  d("colour", colour, {.doc = "what the spheres are coloured by"});
  d("colour_low", colour_low, {.min = -1e6, .max = 1e6, .doc = "lower end of the colours' range [m/s or s]"});
  d("colour_high", colour_high,
    {.min = -1e6, .max = 1e6, .doc = "upper end; equal to colour_low: the range of what has been seen"});
  d("trail", trail, {.unit = "s", .min = 0, .max = 60, .doc = "of its way drawn behind each; 0: none"});
  d("palette", palette,
    {.min = -1, .max = 1000, .doc = "which of the palette's colours; -1: one that no other part has"});
}

void ParticleSystem::Params::describe(Describer& d) {
  d("gravity", gravity, {.unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "acceleration of all particles"});
  d("linear_drag", linear_drag,
    {.unit = "kg/s", .min = 0, .max = 1e12, .doc = "force per speed relative to the air"});
  d("quadratic_drag", quadratic_drag,
    {.unit = "kg/m", .min = 0, .max = 1e12, .doc = "force per squared speed relative to the air"});
  d("wind", wind, {.unit = "m/s", .min = -1e4, .max = 1e4, .doc = "velocity of the air, felt through drag"});
  d("turbulence", turbulence, {.doc = "eddies in the air, felt through drag"});
  d("restitution", restitution, {.min = 0, .max = 1, .doc = "of contacts: rebound over approach speed"});
  d("friction", friction, {.min = 0, .max = 10, .doc = "Coulomb coefficient of contacts", .usual = 2});
  d("emitters", emitters, {.doc = "where particles come from", .max_count = 1000});
  d("attractors", attractors, {.doc = "points that pull", .max_count = 1000});
  d("pair", pair, {.doc = "forces between particles: Lennard-Jones, or Mie with other exponents"});
  d("report_energy", report_energy, {.doc = "energies, and the pressure of a periodic box, in reports"});
  d("vortices", vortices, {.doc = "swirls in the air, felt through drag", .max_count = 1000});
}

std::size_t ParticleSystem::memory(const Spec& spec) {
  const double n = std::max(static_cast<double>(spec.max_particles), bound_of(spec));
  // Position twice (state and workspace), velocity, inverse mass, birth, lifetime, serial number.
  constexpr double each = 3 * sizeof(Vec3) + 2 * sizeof(Real) + sizeof(double) + sizeof(std::uint32_t);
  double bytes = n * each;
  for (const Surface& s : spec.surfaces)
    bytes +=
        static_cast<double>(s.mesh.x.size() * sizeof(Vec3) + s.mesh.triangles.size() * (sizeof(Index3) + 8));
  return static_cast<std::size_t>(std::min(bytes, 1e18));
}

std::size_t ParticleSystem::scratch_memory(const Spec& spec, const Params& params) {
  const double n = std::max(static_cast<double>(spec.max_particles), bound_of(spec));
  // The world keeps two copies of the state: position, velocity, inverse mass, age, lifetime and number.
  const double copies = n * 2 * (2 * sizeof(Vec3) + 3 * sizeof(Real) + sizeof(std::uint64_t));
  if (!(params.pair.epsilon > 0)) return static_cast<std::size_t>(std::min(copies, 1e18));
  // Accelerations and the places of the list; copies in the order of its cells; and half of the neighbours
  // within the list's reach at the density of the densest block, at most that of closest packing.
  double density = 0;  // [1/sigma^3]
  const double sigma = static_cast<double>(params.pair.sigma);
  for (const ParticleBlock& block : spec.blocks) {
    const BlockExtent e = extent_of(block);
    const double side = sigma / static_cast<double>(block.spacing);
    density =
        std::max(density, block.lattice == ParticleBlock::Lattice::random
                              ? e.bound * sigma * sigma * sigma / std::max(e.size.prod(), 1e-30)
                              : static_cast<double>(basis_of(block.lattice).size()) * side * side * side);
  }
  density = std::min(density, std::numbers::sqrt2);
  const double reach = static_cast<double>(params.pair.cutoff + params.pair.skin);
  const double neighbours = std::min(2.0 / 3 * std::numbers::pi * reach * reach * reach * density, n / 2);
  return static_cast<std::size_t>(
      std::min(copies + n * (7.5 * sizeof(Vec3) + neighbours * sizeof(Index)), 1e18));
}

void ParticleSystem::build(const Spec& spec, Model& model, State& state) {
  Refusals refusals;
  if (!spec.velocities.empty() && spec.velocities.size() != spec.positions.size())
    refusals.keep(
        Problem{.key = "velocities",
                .what = "must be as many as positions, or none",
                .value = fmt::format("{} for {} positions", spec.velocities.size(), spec.positions.size())});
  if (spec.colour_low > spec.colour_high)
    refusals.keep(Problem{.key = "colour_high",
                          .what = "must not be below colour_low",
                          .value = fmt::format("{:g}", double(spec.colour_high)),
                          .allowed = fmt::format("at least {:g}", double(spec.colour_low))});
  for (std::size_t b = 0; b < spec.blocks.size(); ++b) {
    const ParticleBlock& block = spec.blocks[b];
    if (block.shape == ParticleBlock::Shape::box && (block.low.array() > block.high.array()).any())
      refusals.keep(
          Problem{.key = fmt::format("blocks[{}].high", b),
                  .what = "is below the block's lowest corner",
                  .value = fmt::format("[{}, {}, {}]", block.high.x(), block.high.y(), block.high.z()),
                  .remedy = "let no component be below that of low"});
  }
  for (std::size_t s = 0; s < spec.surfaces.size(); ++s)
    refusals.keep([&] { check_mesh(spec.surfaces[s].mesh, fmt::format("surfaces[{}].mesh", s)); });
  refusals.refuse();
  if (bound_of(spec) > most_particles)
    throw Error(Problem{.key = "blocks",
                        .what = "hold too many particles",
                        .value = fmt::format("{:.3g}", bound_of(spec)),
                        .allowed = "at most 1e8",
                        .remedy = "raise spacing or lower the block's size"});
  model = {};
  state = {};
  model.inverse_mass = 1 / spec.mass;
  model.radius = spec.radius;
  model.seed = static_cast<std::uint64_t>(spec.seed);
  model.periodic_low = spec.periodic_low;
  model.periodic_high = spec.periodic_high.cwiseMax(spec.periodic_low);
  model.colour = spec.colour;
  model.colour_low = spec.colour_low, model.colour_high = spec.colour_high;
  model.trail = spec.trail;
  model.palette = spec.palette;
  for (std::size_t s = 0; s < spec.surfaces.size(); ++s) {
    const TriangleMesh& mesh = spec.surfaces[s].mesh;
    model.surfaces.push_back(mesh);
    std::vector<double>& running = model.cumulative_area.emplace_back();
    double sum = 0;
    for (const Index3& t : mesh.triangles)
      running.push_back(sum +=
                        static_cast<double>(area_vector(mesh.x[t[0]], mesh.x[t[1]], mesh.x[t[2]]).norm()));
  }

  std::size_t n = spec.positions.size();
  for (std::size_t b = 0; b < spec.blocks.size(); ++b)
    for_each_place(spec.blocks[b], model.seed, block_stream + 8 * b, [&](const Vector3<double>&) { ++n; });
  model.capacity = std::max(static_cast<std::size_t>(spec.max_particles), n);
  Particles& p = state.particles;
  p.x.reserve(model.capacity);
  p.v.reserve(model.capacity);
  p.inverse_mass.reserve(model.capacity);
  state.birth.reserve(model.capacity);
  state.lifetime.reserve(model.capacity);
  state.id.reserve(model.capacity);

  for (std::size_t b = 0; b < spec.blocks.size(); ++b) {
    const ParticleBlock& block = spec.blocks[b];
    const std::size_t first = p.x.size();
    for_each_place(block, model.seed, block_stream + 8 * b,
                   [&](const Vector3<double>& x) { p.x.push_back(x.cast<Real>()); });
    Vector3<double> mean = Vector3<double>::Zero();
    for (std::size_t i = first; i < p.x.size(); ++i) {
      p.v.push_back(block.thermal_speed * normal3(model.seed, i - first, block_stream + 8 * b + 2));
      mean += p.v.back().cast<double>() / static_cast<double>(p.x.size() - first);
    }
    for (std::size_t i = first; i < p.x.size(); ++i) {
      p.v[i] += block.velocity - mean.cast<Real>();  // heat moves no centre of mass
      state.lifetime.push_back(block.lifetime);
    }
  }
  for (std::size_t i = 0; i < spec.positions.size(); ++i) {
    p.x.push_back(spec.positions[i]);
    p.v.push_back(spec.velocities.empty() ? Vec3(Vec3::Zero()) : spec.velocities[i]);
    state.lifetime.push_back(0);
  }
  p.inverse_mass.assign(n, model.inverse_mass);
  state.birth.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) state.id.push_back(static_cast<std::uint32_t>(i));
  state.next_id = static_cast<std::int64_t>(n);
}

void ParticleSystem::check(const Spec& spec, const Params& params) {
  Refusals refusals;
  if (!(params.pair.n > params.pair.m))
    refusals.keep(Problem{.key = "params.pair.n",
                          .what = "must be above the exponent of the attraction",
                          .value = fmt::format("{}", params.pair.n),
                          .allowed = fmt::format("above m, {}", params.pair.m)});
  for (std::size_t e = 0; e < params.emitters.size(); ++e) {
    const ParticleEmitter& emitter = params.emitters[e];
    const std::string key = fmt::format("params.emitters[{}].", e);
    const bool on_mesh = emitter.shape == ParticleEmitter::Shape::mesh;
    if (on_mesh && static_cast<std::size_t>(emitter.surface) >= spec.surfaces.size())
      refusals.keep(Problem{.key = key + "surface",
                            .what = "is not one of the surfaces of the model",
                            .value = fmt::format("{} of {}", emitter.surface, spec.surfaces.size()),
                            .remedy = "add a mesh to model.surfaces"});
    if (!on_mesh && emitter.direction == Vec3::Zero())
      refusals.keep(Problem{.key = key + "direction", .what = "must not be the zero vector"});
  }
  refusals.refuse();
}

void ParticleSystem::check(const Model& model, const State& s) {
  const std::size_t n = s.size();
  const auto require = [](bool holds, const char* key, const char* what, std::size_t count,
                          const std::string& allowed) {
    if (!holds)
      throw Error(Problem{.key = key, .what = what, .value = fmt::format("{}", count), .allowed = allowed});
  };
  require(n <= model.capacity, "position", "has more items than the system has room for", n,
          fmt::format("at most {}", model.capacity));
  const auto one_each = [&](const char* key, std::size_t count, bool or_none) {
    require(count == n || (or_none && count == 0), key, "must hold one item for each particle", count,
            fmt::format("{}{}", n, or_none ? " or none" : ""));
  };
  one_each("velocity", s.particles.v.size(), false);
  one_each("inverse_mass", s.particles.inverse_mass.size(), false);
  one_each("birth", s.birth.size(), false);
  one_each("lifetime", s.lifetime.size(), false);
  one_each("id", s.id.size(), false);
  one_each("acceleration", s.acceleration.size(), true);
  one_each("pair_origin", s.pair_origin.size(), true);
  for (const auto& [key, count] : {std::pair("emitter_count", s.emitted.size()),
                                   std::pair("emitter_position", s.emitter_position.size()),
                                   std::pair("emitter_direction", s.emitter_direction.size())})
    require(count == s.due.size(), key, "must hold one item for each emitter", count,
            fmt::format("{}", s.due.size()));
}

}  // namespace plenum::inline PLENUM_ABI
