// Explicit methods.
#include "plenum/base/timing.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t block = 4096;

}  // namespace

void explicit_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                   SpringsWorkspace& w, Real h, Report& report) {
  auto& [x, v, inverse_mass] = state.particles;
  {
    const StageTimer timer(report.stages, "forces");
    w.system.forces(x, v, params.stiffness_scale, params.damping_scale, w.rhs);
    if (has_air(model, params)) {
      blow(model, x, v, params, w);
      parallel_for(model.mass.size(), block, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) w.rhs[i] += air_on(w, i);
      });
    }
  }
  const StageTimer timer(report.stages, "move");
  parallel_for(model.mass.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (inverse_mass[i] > 0)
        v[i] += h * (params.gravity - params.point_damping * v[i] + inverse_mass[i] * w.rhs[i]);
      x[i] += h * v[i];
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
