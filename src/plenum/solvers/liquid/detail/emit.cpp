// Sources of liquid.
#include "plenum/solvers/liquid/detail/emit.h"

#include "plenum/base/random.h"
#include "plenum/geometry/aabb.h"
#include "plenum/solvers/liquid/detail/seam.h"

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
  return wrapped(m, x);
}

ItemBox cells_around(const Liquid::Model& m, const Aabb& bounds) {
  ItemBox box{{0, 0, 0}, {1, 1, 1}};
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const Real n = static_cast<Real>(m.shape.cells[a]);
    box.low[a] = static_cast<Index>(std::clamp(std::floor((bounds.low[c] - m.low[c]) / m.h), Real(0), n));
    box.high[a] = static_cast<Index>(std::clamp(std::ceil((bounds.high[c] - m.low[c]) / m.h), Real(0), n));
  }
  return box;
}

namespace {

/// Those of the source's cells that are not solid, and how many particles each has, which take the source's
/// velocity. Returns how many particles they lack altogether.
int find_source_cells(const Liquid::Model& m, const LiquidSource& source, Liquid::State& s,
                      Liquid::Workspace& w) {
  const Shape solid = source.solid();
  const Aabb bounds = solid.bounds(source.pose());
  w.source_cells.clear();
  int lacking = 0;
  // A cell that two images cover is the first one's.
  const auto is_taken = [&](const Vec3& centre, const Vec3& by) {
    bool taken = false, earlier = true;
    for_images(m, bounds, 0, [&](const Vec3& shift) {
      earlier = earlier && shift != by;
      if (earlier && !taken)
        taken = solid.signed_distance(moved(source.pose(), shift).to_local(centre)).distance <= 0;
    });
    return taken;
  };
  const auto find_cells = [&](const Vec3& shift) {
    const Pose pose = moved(source.pose(), shift);
    const ItemBox box = cells_around(m, {bounds.low + shift, bounds.high + shift});
    for (Index k = box.low[2]; k < box.high[2]; ++k)
      for (Index j = box.low[1]; j < box.high[1]; ++j)
        for (Index i = box.low[0]; i < box.high[0]; ++i) {
          const Vec3 centre =
              m.low + m.h * Vec3(static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                                 static_cast<Real>(k) + Real(0.5));
          if (solid.signed_distance(pose.to_local(centre)).distance > 0) continue;
          if (is_taken(centre, shift)) continue;
          if (m.capacity[m.shape.index(i, j, k)] < Real(0.5)) continue;
          const auto [begin, end] = particles_in(m, w, i, j, k);
          for (std::uint32_t q = begin; q < end; ++q) {
            const std::uint32_t p = w.order[q];
            s.v[p] = source.velocity;
            if (m.shape.is_flat()) s.v[p].z() = 0;
            for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw})
              if (p < a->size()) (*a)[p].setZero();
          }
          const int count = static_cast<int>(end - begin);
          w.source_cells.push_back({{i, j, k}, count});
          lacking += m.per_cell() - count;
        }
  };
  for_images(m, bounds, 0, find_cells);
  return lacking;
}

/// A seed on the side of walls that the cell's centre is on.
Vec3 seed_beside_walls(const Liquid::Model& m, const std::array<Index, 3>& cell, int seed,
                       std::uint64_t index) {
  const Vec3 x = seed_place(m, cell, seed, index);
  if (m.walls.empty() || !m.near_walls[m.shape.index(cell[0], cell[1], cell[2])]) return x;
  const Vec3 centre =
      m.low + m.h * Vec3(static_cast<Real>(cell[0]) + Real(0.5), static_cast<Real>(cell[1]) + Real(0.5),
                         static_cast<Real>(cell[2]) + Real(0.5));
  const Real gap = wall_gap * m.h;
  const bool flat = m.shape.is_flat();
  Vec3 from = centre;
  for (const GridWall& wall : m.walls) from = wall.beside(from, gap, flat);
  return stop_at_walls(m.walls, from, x, gap, flat).x;
}

}  // namespace

bool emit_liquid(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
                 Liquid::Workspace& w) {
  const std::size_t before = s.x.size();
  for (const LiquidSource& source : params.sources) {
    if (s.time < static_cast<double>(source.start) || s.time >= static_cast<double>(source.stop)) continue;
    // As many as all its cells together lack, the emptiest first: a source is full, and not crowded because
    // chance left some of its cells with fewer than others.
    int lacking = find_source_cells(m, source, s, w);
    for (int level = 0; level < m.per_cell() && lacking > 0; ++level)
      for (Liquid::Workspace::SourceCell& cell : w.source_cells) {
        if (cell.count > level || lacking <= 0) continue;
        s.x.push_back(seed_beside_walls(m, cell.cell, cell.count, s.num_emitted++));
        s.v.push_back(source.velocity);
        if (m.shape.is_flat()) s.v.back().z() = 0;
        ++cell.count;
        --lacking;
      }
  }
  for (std::vector<Vec3>* a : {&s.du, &s.dv, &s.dw})
    if (!a->empty()) a->resize(s.x.size(), Vec3::Zero());
  return s.x.size() > before;
}

}}  // namespace plenum::inline PLENUM_ABI::detail
