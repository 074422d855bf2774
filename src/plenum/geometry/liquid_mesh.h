#pragma once
// From particles of a liquid to the mesh of its surface.
#include "plenum/geometry/mesh_smoothing.h"
#include "plenum/geometry/particle_surface.h"

namespace plenum::inline PLENUM_ABI {

struct LiquidMeshWorkspace {
  std::vector<Real> phi;  ///< [shape.size()]
  ParticleSurfaceWorkspace particles;
  IsosurfaceWorkspace isosurface;
  MeshSmoothingWorkspace smoothing;
};

/// The closed mesh of particle_distance(), whose arguments these are, after `smoothing` rounds of
/// smooth_mesh(). Allocates only to grow.
inline void liquid_mesh(const GridShape& shape, const Vec3& low, Real h, std::span<const Vec3> x, Real reach,
                        bool walled, int smoothing, LiquidMeshWorkspace& work, SurfaceMesh& out,
                        const std::array<bool, 3>& periodic = {}) {
  work.phi.resize(shape.size());
  particle_distance(shape, low, h, x, reach, walled, work.particles, work.phi, periodic);
  isosurface(shape, low, h, work.phi, work.isosurface, out);
  smooth_mesh(out, smoothing, work.smoothing);
}

}  // namespace plenum::inline PLENUM_ABI
