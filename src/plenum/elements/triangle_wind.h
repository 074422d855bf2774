#pragma once
// Moving air over a surface of triangles.
#include <algorithm>
#include <array>
#include <span>

#include "plenum/base/parallel.h"
#include "plenum/elements/curl_noise.h"
#include "plenum/elements/wind.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// Calls meet(t, area, u) for every triangle, in parallel: its area vector [m^2], and the velocity of the air
/// seen from its middle [m/s], `wind`, the eddies there and a gust, if not null. triangles [T][3] < N; x [N]
/// m; v [N] m/s.
template <class Meet>
void each_triangle_in_wind(std::span<const Index3> triangles, std::span<const Vec3> x,
                           std::span<const Vec3> v, const Vec3& wind, const CurlNoise& eddies,
                           const Gust* gust, Meet&& meet) {
  parallel_for(triangles.size(), 1024, [&](std::size_t begin, std::size_t end) {
    constexpr std::size_t batch = 64;
    std::array<Vec3, batch> centroids, air;
    for (std::size_t first = begin; first < end; first += batch) {
      const std::size_t n = std::min(batch, end - first);
      air.fill(wind);
      if (eddies.octaves > 0 || gust)
        for (std::size_t k = 0; k < n; ++k) {
          const Index3 c = triangles[first + k];
          centroids[k] = (x[c[0]] + x[c[1]] + x[c[2]]) / 3;
        }
      if (eddies.octaves > 0) {
        curl_noise(eddies, std::span(centroids).first(n), std::span(air).first(n));
        for (std::size_t k = 0; k < n; ++k) air[k] += wind;
      }
      if (gust)
        for (std::size_t k = 0; k < n; ++k) air[k] += gust->at(centroids[k]);
      for (std::size_t k = 0; k < n; ++k) {
        const Index3 c = triangles[first + k];
        const Vec3 area = Real(0.5) * (x[c[1]] - x[c[0]]).cross(x[c[2]] - x[c[0]]);
        const Vec3 velocity = (v[c[0]] + v[c[1]] + v[c[2]]) / 3;
        meet(first + k, area, Vec3(air[k] - velocity));
      }
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
