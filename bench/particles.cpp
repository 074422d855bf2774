// Speed of particle systems: a Lennard-Jones liquid, and a million particles in the air.
#include <algorithm>
#include <cmath>

#include "bench.h"
#include "lennard_jones_box.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/world/world.h"

namespace plenum::bench { namespace {

struct Simulation {
  ParticleSystem::Model model;
  ParticleSystem::State state;
  ParticleSystem::Params params;
  ParticleSystem::Workspace workspace;
  Report step(double h) {
    return ParticleSystem::step(model, state, params, workspace, static_cast<Real>(h));
  }
};

/// 108 000 particles at reduced density 0.8 and temperature about 1, molten; whole steps of 0.004 tau, with
/// the lists of neighbours they renew. Pairs are those within 2.5 sigma, each counted once.
void lennard_jones(Session& session) {
  Simulation sim;
  constexpr int cells = 30;
  ParticleSystem::build(validation::fcc_box(cells, std::cbrt(4 / 0.8), 2.2), sim.model, sim.state);
  sim.params.gravity.setZero();
  sim.params.pair.epsilon = sim.params.pair.sigma = 1;
  sim.params.pair.truncation = LennardJones::Truncation::cut;

  constexpr double h = 0.004;
  for (int k = 0; k < 100; ++k) sim.step(h);
  constexpr int steps = 40;
  int lists = 0, runs = 0;
  const double seconds = Session::best_of(3, [&] {
    for (int k = 0; k < steps; ++k) lists += static_cast<int>(sim.step(h).value("lists"));
    runs += steps;
  });
  const double pairs = ParticleSystem::pair_energy(sim.model, sim.state, sim.params, sim.workspace).pairs;
  double kinetic = 0;
  for (const Vec3& v : sim.state.particles.v) kinetic += v.cast<double>().squaredNorm() / 2;
  session.figure("million_per_s", pairs * steps / seconds / 1e6, "1e6/s");
  session.figure("ms_per_step", 1e3 * seconds / steps, "ms");
  session.figure("pairs_per_particle", pairs / static_cast<double>(sim.state.size()), "1");
  session.figure("temperature", 2 * kinetic / (3 * static_cast<double>(sim.state.size())), "eps/k");
  session.figure("steps_per_list", static_cast<double>(runs) / std::max(1, lists), "1");
}
const Register register_lennard_jones("particles/lennard-jones", lennard_jones);

/// A million particles with linear and quadratic drag in a wind.
void fill_air(Simulation& sim) {
  ParticleSystem::Spec spec;
  spec.max_particles = 1000000;
  spec.blocks.resize(1);
  spec.blocks[0].lattice = ParticleBlock::Lattice::random;
  spec.blocks[0].count = 1000000;
  spec.blocks[0].low = Vec3::Constant(-5);
  spec.blocks[0].high = Vec3::Constant(5);
  spec.blocks[0].thermal_speed = 1;
  ParticleSystem::build(spec, sim.model, sim.state);
  sim.params.linear_drag = sim.params.quadratic_drag = Real(1e-3);
  sim.params.wind = {1, 0, 0};
}

double measure_steps(Session& session, Simulation& sim) {
  sim.step(1.0 / 600);
  const double seconds = Session::best_of(30, [&] { sim.step(1.0 / 600); });
  session.figure("ms_per_step", 1e3 * seconds, "ms");
  return seconds;
}

void million(Session& session) {
  Simulation sim;
  fill_air(sim);
  const double seconds = measure_steps(session, sim);
  // Position read, and written to another array with a write-allocate; velocity read and written; inverse
  // mass read.
  session.memory_bound(1e6 * (3 * sizeof(Vec3) + 2 * sizeof(Vec3) + sizeof(Real)),
                       1e6 * (3 * sizeof(Vec3) + sizeof(Real)), seconds);
}
const Register register_million("particles/million", million);

/// The same in turbulence of two octaves besides.
void turbulent_million(Session& session) {
  Simulation sim;
  fill_air(sim);
  sim.params.turbulence.speed = 2;
  sim.params.turbulence.octaves = 2;
  measure_steps(session, sim);
}
const Register register_turbulent("particles/million-turbulent", turbulent_million);

/// The first again as a frame of a world, which checks and keeps the state after each.
void million_in_world(Session& session) {
  Simulation sim;
  fill_air(sim);
  World world({.fps = 600});
  world.set_threads(session.threads());
  world.add<ParticleSystem>("particles", std::move(sim.model), std::move(sim.state), std::move(sim.params));
  world.step_frame();
  session.figure("ms_per_step", 1e3 * Session::best_of(30, [&] { world.step_frame(); }), "ms");
}
const Register register_in_world("particles/million-in-world", million_in_world);

}  // namespace
}  // namespace plenum::bench
