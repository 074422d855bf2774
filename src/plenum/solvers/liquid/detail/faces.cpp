// Velocities of faces: from what particles gave, and beyond those that liquid has.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

void wrap_liquid(const Liquid::Model& m, Liquid::Workspace& w) {
  if (any(w.wraps)) wrap_items<1>(m.shape, w.wraps, grown(m.shape, w.window, 1, 2), w.liquid.data());
}

void wrap_velocities(const Liquid::Model& m, Liquid::Workspace& w) {
  if (!any(w.wraps)) return;
  const ItemBox all = grown(m.shape, w.window, 1, 2);
  for (std::size_t c = 0; c < static_cast<std::size_t>(m.shape.dimensions()); ++c) {
    wrap_items<2>(m.shape, w.wraps, all, w.pairs[c].data());
    wrap_items<1>(m.shape, w.wraps, all, w.known[c].data());
  }
}

void close_holes(const Liquid::Model& m, Liquid::Workspace& w) {
  // A chance gap between particles is no bubble, which would have a surface without pressure.
  for_rows(ItemBox{w.solved.low, w.solved.high}, [&](Index j, Index k) {
    const std::size_t row = m.shape.index(0, j, k);
    std::uint8_t* liquid = w.liquid.data() + row;
    const Real *crowd = w.crowd.data() + row, *capacity = capacities(m, w).data() + row;
    if (w.walls.empty()) {
      for (Index i = w.solved.low[0]; i < w.solved.high[0]; ++i)
        liquid[i] |=
            static_cast<std::uint8_t>((capacity[i] > least_capacity) & (crowd[i] >= capacity[i] / 2));
      return;
    }
    // What crowds beside a cell that is cut may do so behind the wall.
    for (Index i = w.solved.low[0]; i < w.solved.high[0]; ++i)
      if (capacity[i] > least_capacity && crowd[i] >= capacity[i] / 2 &&
          !may_be_cut(m, w, row + static_cast<std::size_t>(i)))
        liquid[i] = 1;
  });
  wrap_liquid(m, w);
}

void leave_shallow_cells(const Liquid::Model& m, Liquid::Workspace& w) {
  // Their pressure is that of the air, and the surface stands between them and a cell of the liquid. With an
  // unknown of their own it would stand at their centres at least, up to half a cell too high: an eighth on
  // average. Films and drops, beside which no centre is below the surface, keep theirs.
  const GridShape& shape = m.shape;
  const FaceField& open_parts = open_faces(m, w);
  const std::vector<Real>& capacity = capacities(m, w);
  if (w.shallow.size() != shape.size()) w.shallow.resize(shape.size());
  const auto is_shallow = [&](std::ptrdiff_t at) {
    const auto cell = static_cast<std::size_t>(at);
    return w.crowd[cell] < std::max(capacity[cell], least_capacity) / 2;
  };
  const ItemBox box{w.occupied.low, w.occupied.high};
  for_rows(box, [&](Index j, Index k) {
    for (Index i = box.low[0]; i < box.high[0]; ++i) {
      const auto cell = static_cast<std::ptrdiff_t>(shape.index(i, j, k));
      std::uint8_t& shallow = w.shallow[static_cast<std::size_t>(cell)];
      shallow = 0;
      if (!w.liquid[static_cast<std::size_t>(cell)] || !is_shallow(cell)) continue;
      bool by_air = false, by_liquid = false;
      const std::array<Index, 3> item = {i, j, k};
      for (int c = 0; c < shape.dimensions(); ++c)
        for (int upper = 0; upper < 2; ++upper) {
          const auto a = static_cast<std::size_t>(c);
          const Index along = item[a] + upper;
          const std::ptrdiff_t stride = shape.stride(c), face = cell + (upper ? stride : 0);
          if (on_closed_side(m, c, along)) continue;
          if (!open_parts[c].empty() && !(open_parts[c][static_cast<std::size_t>(face)] > 0)) continue;
          if (!w.wraps[a] && (along == 0 || along == shape.cells[a])) {
            by_air = true;
            continue;
          }
          const std::ptrdiff_t other = cell + (upper ? stride : -stride);
          if (w.liquid[static_cast<std::size_t>(other)])
            by_liquid |= !is_shallow(other);
          else
            by_air |= capacity[static_cast<std::size_t>(other)] > Real(0.5);
        }
      shallow = by_air && by_liquid;
    }
  });
  for_rows(box, [&](Index j, Index k) {
    const std::size_t row = shape.index(0, j, k);
    for (Index i = box.low[0]; i < box.high[0]; ++i)
      if (w.shallow[row + static_cast<std::size_t>(i)]) w.liquid[row + static_cast<std::size_t>(i)] = 0;
  });
  wrap_liquid(m, w);
}

void leave_far_sides(const Liquid::Model& m, const Liquid::State& s, Liquid::Workspace& w) {
  const bool flat = m.shape.is_flat();
  const Real gap = Real(0.01) * m.h;
  for_rows(ItemBox{w.occupied.low, w.occupied.high}, [&](Index j, Index k) {
    for (Index i = w.occupied.low[0]; i < w.occupied.high[0]; ++i) {
      const std::size_t cell = m.shape.index(i, j, k);
      if (!w.liquid[cell] || !may_be_cut(m, w, cell)) continue;
      Vec3 from = m.low + m.h * Vec3(static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                                     static_cast<Real>(k) + Real(0.5));
      for (const GridWall& wall : w.walls) from = wall.beside(from, gap, flat);
      const auto [begin, end] = particles_in(m, w, i, j, k);
      bool seen = false;
      for (std::uint32_t q = begin; q < end && !seen; ++q) {
        seen = true;
        for (const GridWall& wall : w.walls) seen = seen && !wall.blocks(from, s.x[w.order[q]]);
      }
      w.liquid[cell] = seen;
    }
  });
}

void set_wall_faces(const Liquid::Model& m, Liquid::Workspace& w) {
  // Across them there is nothing to continue velocities from. Only where find_velocities() has begun afresh:
  // what is marked elsewhere would stay so in later steps.
  const GridShape& shape = m.shape;
  const auto origin = static_cast<std::ptrdiff_t>(shape.index(0, 0, 0));
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.is_flat() ? 0 : shape.stride(2);
  const auto set = [&](int c, std::size_t face, Real velocity) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(face) - origin, k = sz > 0 ? at / sz : 0,
                         j = (at - k * sz) / sy, i = at - k * sz - j * sy;
    const ItemBox faces = faces_of(w, w.window, c);
    if (i < faces.low[0] || i >= faces.high[0] || j < faces.low[1] || j >= faces.high[1] ||
        k < faces.low[2] || k >= faces.high[2])
      return;
    const auto a = static_cast<std::size_t>(c);
    w.known[a][face] = 1;
    w.pairs[a][2 * face] = w.pairs[a][2 * face + 1] = velocity;
  };
  for (int c = 0; c < m.shape.dimensions(); ++c)
    for (const std::uint32_t face : m.wall_faces[static_cast<std::size_t>(c)]) set(c, face, 0);
  for_wall_faces(m, w, set);
}

void find_velocities(const Liquid::Model& m, const Liquid::Params& params, Liquid::Workspace& w, Real dt) {
  const GridShape& shape = m.shape;
  const FaceField& open_parts = open_faces(m, w);
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    for (auto* known : {&w.known[a], &w.later[a]})
      if (known->size() != shape.size()) known->resize(shape.size());
    const Real gain = params.gravity[c] * dt;
    const ItemBox faces = faces_of(w, w.window, c), all = grown(shape, w.window, 1, 2);
    const std::ptrdiff_t stride = shape.stride(c);
    for_rows(all, [&](Index j, Index k) {
      const auto row = static_cast<std::ptrdiff_t>(shape.index(0, j, k));
      std::uint8_t* known = w.known[a].data() + row;
      const auto count = static_cast<std::size_t>(all.high[0] - all.low[0]);
      std::memset(known + all.low[0], 0, count);
      std::memset(w.later[a].data() + row + all.low[0], 0, count);
      if (j < faces.low[1] || j >= faces.high[1] || k < faces.low[2] || k >= faces.high[2]) return;
      Real* pair = w.pairs[a].data() + 2 * row;
      const std::uint8_t* liquid = w.liquid.data() + row;
      const Real* open = open_parts[c].empty() ? nullptr : open_parts[c].data() + row;
      const Index along = c == 1 ? j : k;  // but for c = 0
      for (Index i = faces.low[0]; i < faces.high[0]; ++i) {
        const bool has = (liquid[i] | liquid[i - stride]) != 0 && !(open && !(open[i] > 0));
        known[i] = has;
        if (!has) {
          pair[2 * i] = pair[2 * i + 1] = 0;
          continue;
        }
        // The least weight that matters is that of a particle on the far side of the cell.
        const Real weight = pair[2 * i + 1];
        const Real before = weight > Real(1e-6) ? pair[2 * i] / weight : Real(0);
        pair[2 * i] = on_closed_side(m, c, c == 0 ? i : along) ? Real(0) : before + gain;
        pair[2 * i + 1] = before;
      }
    });
  }
}

namespace {

/// Means of known neighbours at the faces of one row that have any and are not known.
void extrapolate_row(const GridShape& shape, const ItemBox& faces, const std::uint8_t* known,
                     std::uint8_t* later, Real* pair, Real* carry, Index j, Index k) {
  const auto row = static_cast<std::ptrdiff_t>(shape.index(0, j, k));
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.is_flat() ? 0 : shape.stride(2);
  const std::ptrdiff_t begin = row + faces.low[0], end = row + faces.high[0];
  for (std::ptrdiff_t i = begin; i < end; ++i)
    later[i] = static_cast<std::uint8_t>(known[i] | known[i - 1] | known[i + 1] | known[i - sy] |
                                         known[i + sy] | known[i - sz] | known[i + sz]);
  const std::array<std::ptrdiff_t, 6> steps = {-1, 1, -sy, sy, -sz, sz};
  const std::size_t num_steps = sz == 0 ? 4 : 6;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    if (i + 8 <= end && std::memcmp(known + i, later + i, 8) == 0) {
      i += 7;
      continue;
    }
    if (known[i] || !later[i]) continue;
    Real u = 0, change = 0, moving = 0, count = 0;
    for (std::size_t n = 0; n < num_steps; ++n) {
      const std::ptrdiff_t at = i + steps[n];
      if (!known[at]) continue;
      u += pair[2 * at];
      change += pair[2 * at + 1];
      moving += carry[at];
      count += 1;
    }
    pair[2 * i] = u / count;
    pair[2 * i + 1] = change / count;
    carry[i] = moving / count;
  }
}

/// Faces on closed sides hold nothing that passes them; beyond sides along the other axes a component is
/// mirrored: without slope (free slip), or such that it is the wall's on the side (no slip; Griebel,
/// Dornseifer & Neunhoeffer 1998, section 3.1.2).
void fill_beyond_sides(const Liquid::Model& m, Liquid::Workspace& w) {
  const GridShape& shape = m.shape;
  for (int c = 0; c < shape.dimensions(); ++c)
    for (int axis = 0; axis < shape.dimensions(); ++axis)
      for (int high = 0; high < 2; ++high) {
        const auto a = static_cast<std::size_t>(axis), comp = static_cast<std::size_t>(c);
        const Index n = shape.cells[a];
        if (w.wraps[a]) continue;
        if (high ? w.window.high[a] < n : w.window.low[a] > 0) continue;
        const std::size_t side = 2 * a + static_cast<std::size_t>(high);
        ItemBox plane = grown(shape, w.window, 1, 2);
        const Index at = axis == c ? (high ? n : 0) : (high ? n : -1);
        plane.low[a] = at, plane.high[a] = at + 1;
        if (axis == c && m.is_open(side)) continue;
        const std::ptrdiff_t inside = (high ? -1 : 1) * shape.stride(axis);
        const SideHold wall = {!m.has_slip(side), m.sides[side].velocity[c]};
        Real *pair = w.pairs[comp].data(), *carry = w.carry[comp].data();
        for_rows(plane, [&](Index j, Index k) {
          for (Index i = plane.low[0]; i < plane.high[0]; ++i) {
            const auto to = static_cast<std::ptrdiff_t>(shape.index(i, j, k)), from = to + inside;
            const SideHold hold =
                axis == c || m.inlet_faces.empty() ? wall : hold_beside(m, w, side, c, {i, j, k});
            const Real factor = axis == c ? Real(0) : hold.holds ? Real(-1) : Real(1);
            const Real twice = axis != c && hold.holds ? 2 * hold.velocity : Real(0);
            pair[2 * to] = twice + factor * pair[2 * from];
            // Particles that flip keep what the side takes away.
            if (axis != c) pair[2 * to + 1] = factor * pair[2 * from + 1];
            carry[to] = twice + factor * carry[from];
          }
        });
      }
}

}  // namespace

namespace {

/// What `layer` says of cells that no layer has reached.
constexpr std::uint8_t beyond_layers = 255;
/// Of the least that outer faces of a cell leave open, where their flow is told by what its others bring.
constexpr Real least_outlet = Real(0.5);

/// Layers in which flow may be faster than the liquid itself, as above the surface of a short wave. Where it
/// converges each layer is faster than the one before, by what fewer faces there are for it; steps that cross
/// more than these bring it into the liquid, which then fed itself: sixty times its energy in four seconds.
constexpr int free_layers = 2;

/// The largest component [m/s] of the liquid's own flow, and of what moves it.
struct Fastest {
  Real flow = 0, moving = 0;
};
Fastest fastest_of(const Liquid::Model& m, const Liquid::Workspace& w) {
  Fastest most;
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const ItemBox faces = faces_of(w, w.window, c);
    const auto planes = static_cast<std::size_t>(faces.high[2] - faces.low[2]);
    const Fastest along = ordered_reduce(
        planes, 1, Fastest{},
        [&](std::size_t begin, std::size_t end) {
          Fastest here;
          for (std::size_t plane = begin; plane < end; ++plane)
            for (Index j = faces.low[1]; j < faces.high[1]; ++j) {
              const std::size_t row = m.shape.index(0, j, faces.low[2] + static_cast<Index>(plane));
              for (auto face = row + static_cast<std::size_t>(faces.low[0]);
                   face < row + static_cast<std::size_t>(faces.high[0]); ++face) {
                if (!w.known[a][face]) continue;
                here.flow = std::max(here.flow, std::abs(w.pairs[a][2 * face]));
                here.moving = std::max(here.moving, std::abs(w.carry[a][face]));
              }
            }
          return here;
        },
        [](const Fastest& p, const Fastest& q) {
          return Fastest{std::max(p.flow, q.flow), std::max(p.moving, q.moving)};
        });
    most = {std::max(most.flow, along.flow), std::max(most.moving, along.moving)};
  }
  return most;
}

/// Cells of the air beside those of the layer before, and their outer faces, which lead to what is farther
/// from the liquid: as much flows out there as comes in through the others, `fastest` at most.
void balance_layer(const Liquid::Model& m, Liquid::Workspace& w, std::uint8_t layer, const Fastest& fastest) {
  const GridShape& shape = m.shape;
  const FaceField& open_parts = open_faces(m, w);
  const ItemBox cells{w.window.low, w.window.high};
  const int dimensions = shape.dimensions();
  std::uint8_t* const layers = w.layer.data();
  /// f(component, face, cell across it, sign of what flows out, number along its line)
  const auto for_sides = [&](std::size_t cell, const std::array<Index, 3>& at, auto&& f) {
    for (int c = 0; c < dimensions; ++c)
      for (const bool high : {false, true}) {
        const auto stride = static_cast<std::size_t>(shape.stride(c));
        f(c, high ? cell + stride : cell, high ? cell + stride : cell - stride, Real(high ? 1 : -1),
          at[static_cast<std::size_t>(c)] + (high ? 1 : 0));
      }
  };
  const auto for_layer = [&](std::uint8_t of, auto&& f) {
    for_rows(cells, [&](Index j, Index k) {
      for (Index i = cells.low[0]; i < cells.high[0]; ++i) {
        const std::size_t cell = shape.index(i, j, k);
        if (layers[cell] == of) f(cell, std::array<Index, 3>{i, j, k});
      }
    });
  };
  // Rows are taken at once: who is found must not be found from.
  constexpr std::uint8_t found = beyond_layers - 1;
  for_layer(beyond_layers, [&](std::size_t cell, const std::array<Index, 3>& at) {
    bool beside = false;
    for_sides(cell, at, [&](int, std::size_t, std::size_t other, Real, Index) {
      beside = beside || layers[other] == layer - 1;
    });
    if (beside) layers[cell] = found;
  });
  for_layer(found, [&](std::size_t cell, const std::array<Index, 3>&) { layers[cell] = layer; });
  for_layer(layer, [&](std::size_t cell, const std::array<Index, 3>& at) {
    Real flow = 0, moving = 0, outlet = 0;
    const auto open_part = [&](int c, std::size_t face, Index along) {
      if (on_closed_side(m, c, along)) return Real(0);
      return open_parts[c].empty() ? Real(1) : open_parts[c][face];
    };
    for_sides(cell, at, [&](int c, std::size_t face, std::size_t other, Real sign, Index along) {
      const auto a = static_cast<std::size_t>(c);
      const Real open = open_part(c, face, along);
      flow += sign * open * w.pairs[a][2 * face];
      moving += sign * open * w.carry[a][face];
      if (layers[other] == beyond_layers) outlet += open;
    });
    if (outlet < least_outlet) return;
    for_sides(cell, at, [&](int c, std::size_t face, std::size_t other, Real sign, Index along) {
      const auto a = static_cast<std::size_t>(c);
      if (layers[other] != beyond_layers || !(open_part(c, face, along) > 0)) return;
      Real &u = w.pairs[a][2 * face], &v = w.carry[a][face];
      u = std::clamp(u - sign * flow / outlet, -fastest.flow, fastest.flow);
      v = std::clamp(v - sign * moving / outlet, -fastest.moving, fastest.moving);
    });
  });
}

}  // namespace

void extrapolate_velocities(const Liquid::Model& m, Liquid::Workspace& w, int layers, int balanced) {
  const GridShape& shape = m.shape;
  const ItemBox items = grown(shape, w.window, 1, 2);
  const auto wrap = [&](std::size_t c) {
    wrap_items<2>(shape, w.wraps, items, w.pairs[c].data());
    wrap_items<1>(shape, w.wraps, items, w.carry[c].data());
    wrap_items<1>(shape, w.wraps, items, w.known[c].data());
  };
  const bool wraps = any(w.wraps);
  Fastest fastest;
  if (balanced > 0) {
    constexpr Real unbounded = std::numeric_limits<Real>::max();
    fastest = balanced > free_layers ? fastest_of(m, w) : Fastest{unbounded, unbounded};
    w.layer.assign(shape.size(), beyond_layers);
    for (std::size_t cell = 0; cell < shape.size(); ++cell)
      if (w.liquid[cell]) w.layer[cell] = 0;
  }
  for (int layer = 0; layer < layers; ++layer) {
    for (int c = 0; c < shape.dimensions(); ++c) {
      const auto a = static_cast<std::size_t>(c);
      const ItemBox faces = faces_of(w, w.window, c);
      if (wraps) wrap(a);
      for_rows(faces, [&](Index j, Index k) {
        extrapolate_row(shape, faces, w.known[a].data(), w.later[a].data(), w.pairs[a].data(),
                        w.carry[a].data(), j, k);
      });
      std::swap(w.known[a], w.later[a]);
    }
    if (layer < balanced) balance_layer(m, w, static_cast<std::uint8_t>(layer + 1), fastest);
  }
  fill_beyond_sides(m, w);
  if (!m.inlet_faces.empty()) fill_inlet_faces(m, w);
  if (wraps)
    for (std::size_t c = 0; c < static_cast<std::size_t>(shape.dimensions()); ++c) wrap(c);
}

}}  // namespace plenum::inline PLENUM_ABI::detail
