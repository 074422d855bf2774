#include "plenum/scene/registry.h"

#include "plenum/solvers/liquid/liquid.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/solvers/rigid/rigid.h"
#include "plenum/solvers/smoke/smoke.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/solvers/stable_fluids/stable_fluids.h"

namespace plenum::inline PLENUM_ABI {

std::span<const SolverEntry> all_solvers() {
  static constexpr SolverEntry solvers[] = {
      entry<Liquid>(), entry<Obstacle>(), entry<ParticleSystem>(), entry<Pbd>(),
      entry<Rigid>(),  entry<Smoke>(),    entry<Springs>(),        entry<StableFluids>(),
  };
  return solvers;
}

const SolverEntry* find_solver(std::span<const SolverEntry> solvers, std::string_view name) {
  for (const SolverEntry& solver : solvers)
    if (solver.name == name) return &solver;
  return nullptr;
}

}  // namespace plenum::inline PLENUM_ABI
