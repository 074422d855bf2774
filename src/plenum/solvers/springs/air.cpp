// Wind and drag on the triangles of cloth.
#include <algorithm>
#include <array>

#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

void blow(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
          const Springs::Params& params, SpringsWorkspace& w, Real h) {
  parallel_for(model.triangles.size(), 1024, [&](std::size_t begin, std::size_t end) {
    constexpr std::size_t batch = 64;
    std::array<Vec3, batch> centroids, air;
    for (std::size_t first = begin; first < end; first += batch) {
      const std::size_t n = std::min(batch, end - first);
      air.fill(params.wind);
      if (w.eddies.octaves > 0) {
        for (std::size_t k = 0; k < n; ++k) {
          const Index3 c = model.triangles[first + k];
          centroids[k] = (x[c[0]] + x[c[1]] + x[c[2]]) / 3;
        }
        curl_noise(w.eddies, std::span(centroids).first(n), std::span(air).first(n));
        for (std::size_t k = 0; k < n; ++k) air[k] += params.wind;
      }
      for (std::size_t k = 0; k < n; ++k) {
        const Index3 c = model.triangles[first + k];
        const Vec3 area = Real(0.5) * (x[c[1]] - x[c[0]]).cross(x[c[2]] - x[c[0]]);
        const Vec3 velocity = (v[c[0]] + v[c[1]] + v[c[2]]) / 3;
        w.air[first + k] = air_force<Real>(area, air[k] - velocity, params.air_density, params.drag,
                                           params.lift, h / model.air_mass[first + k]);
      }
    }
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
