// Wind and drag on the triangles of cloth.
#include <algorithm>

#include "plenum/elements/triangle_wind.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

void blow(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
          const Springs::Params& params, SpringsWorkspace& w, Real h) {
  each_triangle_in_wind(model.triangles, x, v, params.wind, w.eddies, nullptr,
                        [&](std::size_t t, const Vec3& area, const Vec3& u) {
                          w.air[t] = air_force<Real>(area, u, params.air_density, params.drag, params.lift,
                                                     h / model.air_mass[t]);
                        });
}

double air_rate(const Springs::Model& model, const Springs::State& state, const Springs::Params& params) {
  if (!has_air(model, params)) return 0;
  const auto& x = state.particles.x;
  const auto& v = state.particles.v;
  // Eddies are rarely faster than three times their root mean square.
  const double gust = 3 * double(params.turbulence.speed);
  // F of wind.h with s <= |u|: dF/du is no larger than rho A/2 |u| (2 C_D + C_L).
  const double slope = 0.5 * double(params.air_density) * (2 * double(params.drag) + double(params.lift));
  return slope * ordered_reduce(
                     model.air_mass.size(), net_block, 0.0,
                     [&](std::size_t begin, std::size_t end) {
                       double most = 0;
                       for (std::size_t t = begin; t < end; ++t) {
                         const Index3 c = model.triangles[t];
                         const auto i = std::size_t(c[0]), j = std::size_t(c[1]), k = std::size_t(c[2]);
                         const double area = 0.5 * double((x[j] - x[i]).cross(x[k] - x[i]).norm());
                         const double speed = double((params.wind - (v[i] + v[j] + v[k]) / 3).norm());
                         most = std::max(most, area * (speed + gust) / double(model.air_mass[t]));
                       }
                       return most;
                     },
                     [](double a, double b) { return std::max(a, b); });
}

}  // namespace plenum::inline PLENUM_ABI
