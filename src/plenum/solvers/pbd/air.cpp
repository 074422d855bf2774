// Wind and drag on the triangles of cloth.
#include <algorithm>
#include <array>

#include "plenum/elements/wind.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

void blow(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, PbdWorkspace& w,
          Real h) {
  const std::vector<Vec3>&x = state.particles.x, &v = state.particles.v;
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
        const Real mass = model.air_mass[first + k];
        const Vec3 area = Real(0.5) * (x[c[1]] - x[c[0]]).cross(x[c[2]] - x[c[0]]);
        const Vec3 velocity = (v[c[0]] + v[c[1]] + v[c[2]]) / 3;
        const AirForce<Real> a =
            air_force<Real>(area, air[k] - velocity, params.air_density, params.drag, params.lift, h / mass);
        // (m/h + across I + w w^T) dv = F, by Sherman & Morrison's formula.
        const Real s = mass / h + a.across;
        const Vec3 dv = (a.force - (a.w.dot(a.force) / (s + a.w.squaredNorm())) * a.w) / s;
        w.air[first + k] = mass * dv;
      }
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
