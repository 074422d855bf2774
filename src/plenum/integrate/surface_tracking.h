#pragma once
// A step of a surface that a flow carries along.
#include "plenum/integrate/grid_advection.h"
#include "plenum/integrate/tracker_particles.h"

namespace plenum::inline PLENUM_ABI {

struct SurfaceTracking {
  Beyond beyond = Beyond::straight;  ///< of sides
  Outside outside = Outside::fluid;  ///< for particles
  Real band = 4;                     ///< [cells] on both sides of the surface where phi is a distance
};
/// Scratch memory; grows only.
struct SurfaceTrackingWorkspace {
  std::vector<Real> next;  ///< [shape.size()]
  AdvectionWorkspace advection;
  RedistanceWorkspace redistancing;
  TrackerWorkspace particles;
};

/// Carries phi [shape.size()], a signed distance with ghosts [m], and the particles that correct it, if there
/// are any, along for dt [s]. velocity with ghosts [m/s].
///
/// The order is that of Enright, Fedkiw, Ferziger & Mitchell 2002, sections 3.3 and 3.4. Their second
/// correction, after redistancing, is left out where outside is `empty`: what it leaves is no distance, which
/// the pressure at the surface of a liquid asks for. Radii are left as they are, for fit_radii() when phi is
/// final.
void carry_surface(const LevelSetBox& box, const GridBox& sides, const FaceField& velocity, Real dt,
                   const SurfaceTracking& how, std::vector<Real>& phi, TrackerParticles* particles,
                   SurfaceTrackingWorkspace& work);

}  // namespace plenum::inline PLENUM_ABI
