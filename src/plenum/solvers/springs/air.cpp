// Wind and drag on the triangles of cloth.
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

void blow(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
          const Springs::Params& params, SpringsWorkspace& w) {
  parallel_for(model.triangles.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      const Index3 c = model.triangles[t];
      const Vec3 area = Real(0.5) * (x[c[1]] - x[c[0]]).cross(x[c[2]] - x[c[0]]);
      const Vec3 velocity = (v[c[0]] + v[c[1]] + v[c[2]]) / 3;
      w.air[t] = air_force<Real>(area, params.wind - velocity, params.air_density, params.drag, params.lift);
    }
  });
}

}  // namespace plenum::inline PLENUM_ABI
