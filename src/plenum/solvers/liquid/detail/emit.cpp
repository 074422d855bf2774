// Sources of liquid.
#include "plenum/base/random.h"
#include "plenum/geometry/aabb.h"
#include "plenum/solvers/liquid/detail/emit.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

Vec3 seed_place(const Liquid::Model& m, const std::array<Index, 3>& cell, int seed, std::uint64_t index) {
  const int n = m.per_side;
  const std::array<int, 3> at = {seed % n, seed / n % n, seed / (n * n)};
  const Vec4 random = uniform4(0, index, 0);
  Vec3 x;
  for (int c = 0; c < 3; ++c) {
    const auto a = static_cast<std::size_t>(c);
    const Real in_cell = c == 2 && m.shape.is_flat()
                             ? Real(0.5)
                             : (static_cast<Real>(at[a]) + Real(0.5) + m.jitter * (random[c] - Real(0.5))) /
                                   static_cast<Real>(n);
    x[c] = m.low[c] + m.h * (static_cast<Real>(cell[a]) + in_cell);
  }
  return x;
}

ItemBox cells_around(const Liquid::Model& m, const GridSolid& solid) {
  const Aabb bounds = solid.solid().bounds(solid.pose());
  ItemBox box{{0, 0, 0}, {1, 1, 1}};
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const Real n = static_cast<Real>(m.shape.cells[a]);
    box.low[a] = static_cast<Index>(std::clamp(std::floor((bounds.low[c] - m.low[c]) / m.h), Real(0), n));
    box.high[a] = static_cast<Index>(std::clamp(std::ceil((bounds.high[c] - m.low[c]) / m.h), Real(0), n));
  }
  return box;
}

bool emit_liquid(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params, Liquid::Workspace& w) {
  const GridShape& shape = m.shape;
  const bool flat = shape.is_flat();
  const auto nx = static_cast<std::size_t>(shape.cells[0]), ny = static_cast<std::size_t>(shape.cells[1]);
  bool any = false;
  for (const LiquidSource& source : params.sources) {
    if (s.time < static_cast<double>(source.start) || s.time >= static_cast<double>(source.stop)) continue;
    const Shape solid = source.solid();
    const Pose pose = source.pose();
    const ItemBox box = cells_around(m, source);
    for (Index k = box.low[2]; k < box.high[2]; ++k)
      for (Index j = box.low[1]; j < box.high[1]; ++j)
        for (Index i = box.low[0]; i < box.high[0]; ++i) {
          const Vec3 centre = m.low + m.h * Vec3(static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                                                 static_cast<Real>(k) + Real(0.5));
          if (solid.signed_distance(pose.to_local(centre)).distance > 0) continue;
          if (m.capacity[shape.index(i, j, k)] < Real(0.5)) continue;  // in a solid
          std::uint32_t begin = 0, end = 0;
          if (w.liquid.size() == shape.size() && !w.window.is_empty() && i >= w.occupied.low[0] &&
              i < w.occupied.high[0] && j >= w.occupied.low[1] && j < w.occupied.high[1] &&
              k >= w.occupied.low[2] && k < w.occupied.high[2] && w.liquid[shape.index(i, j, k)]) {
            const std::size_t cell =
                static_cast<std::size_t>(i) + nx * (static_cast<std::size_t>(j) + ny * static_cast<std::size_t>(k));
            const auto slab = static_cast<std::size_t>(flat ? j : k);
            const std::size_t slab_cells = flat ? nx : nx * ny;
            const std::size_t first =
                slab * slab_cells + (flat ? 0 : nx * static_cast<std::size_t>(w.occupied.low[1]));
            begin = cell == first ? w.slab_begin[slab] : w.cell_end[cell - 1];
            end = w.cell_end[cell];
          }
          for (std::uint32_t q = begin; q < end; ++q) {
            const std::uint32_t p = w.order[q];
            s.v[p] = source.velocity;
            if (flat) s.v[p].z() = 0;
            for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw})
              if (p < a->size()) (*a)[p].setZero();
          }
          for (int seed = static_cast<int>(end - begin); seed < m.per_cell(); ++seed) {
            s.x.push_back(seed_place(m, {i, j, k}, seed, s.num_emitted++));
            s.v.push_back(source.velocity);
            if (flat) s.v.back().z() = 0;
            any = true;
          }
        }
  }
  for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw})
    if (!a->empty()) a->resize(s.x.size(), Vec3::Zero());
  return any;
}

}}  // namespace plenum::inline PLENUM_ABI::detail
