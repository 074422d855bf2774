#include "plenum/integrate/surface_tracking.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Steps of redistancing after each step: phi is nearly a distance already (integrate/level_set.h).
constexpr int redistancing_steps = 5;

}  // namespace

void carry_surface(const LevelSetBox& box, const GridBox& sides, const FaceField& velocity, Real dt,
                   const SurfaceTracking& how, std::vector<Real>& phi, TrackerParticles* particles,
                   SurfaceTrackingWorkspace& work) {
  work.next.resize(phi.size());
  advect(box.shape, sides, velocity, dt / box.h, AdvectionScheme::cubic, Trace::rk3,
         {.component = -1, .q = phi, .out = work.next}, work.advection,
         [&](std::span<Real> q) { extend(box.shape, how.beyond, q); });
  std::swap(phi, work.next);
  extend(box.shape, how.beyond, phi);
  if (particles) {
    carry_along(box, sides, velocity, dt, particles->x);
    correct_by_particles(box, *particles, phi, work.particles, how.outside);
  }
  work.redistancing.band.reserve(box.shape.num_cells());
  redistance(box.shape, box.h, how.band * box.h, phi, work.redistancing, redistancing_steps, how.beyond);
  if (particles && how.outside == Outside::fluid) {
    correct_by_particles(box, *particles, phi, work.particles);
    extend(box.shape, how.beyond, phi);
  }
}

}  // namespace plenum::inline PLENUM_ABI
