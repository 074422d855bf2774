// Wind and drag on the triangles of cloth.
#include "plenum/elements/triangle_wind.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

void blow(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, PbdWorkspace& w,
          Real h) {
  each_triangle_in_wind(model.triangles, state.particles.x, state.particles.v, params.wind, w.eddies,
                        w.gust ? &*w.gust : nullptr, [&](std::size_t t, const Vec3& area, const Vec3& u) {
                          const Real mass = model.air_mass[t];
                          const AirForce<Real> a = air_force<Real>(area, u, params.air_density, params.drag,
                                                                   params.lift, h / mass);
                          // (m/h + across I + w w^T) dv = F, by Sherman & Morrison's formula.
                          const Real s = mass / h + a.across;
                          const Vec3 dv = (a.force - (a.w.dot(a.force) / (s + a.w.squaredNorm())) * a.w) / s;
                          w.air[t] = mass * dv;
                        });
}

}  // namespace plenum::inline PLENUM_ABI
