// How a liquid flows, over pictures of it.
#include <algorithm>
#include <cmath>

#include "plenum/integrate/flow_drawing.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI {

void Liquid::debug(const Model& m, const State& s, const Params&, const DebugDraw& wanted,
                   DrawableSink& sink) {
  if (!wanted.arrows && !wanted.streamlines) return;
  const GridShape& shape = m.shape;
  if (m.has_level_set()) {
    std::vector<std::uint8_t> fluid(shape.size(), 0);
    for (std::size_t item = 0; item < fluid.size(); ++item) fluid[item] = s.phi[item] < 0;
    draw_flow({.shape = shape, .low = m.low, .h = m.h, .velocity = s.velocity, .fluid = fluid}, wanted, true,
              sink);
    return;
  }
  FaceField velocity;
  velocity.assign(shape, 0);
  std::vector<Real> weight(shape.size());
  std::vector<std::uint8_t> fluid(shape.size(), 0);
  // Means over the particles around, weighted by hat functions, as PIC has them.
  for (int c = 0; c < shape.dimensions(); ++c) {
    std::vector<Real>& u = velocity.along[static_cast<std::size_t>(c)];
    std::fill(weight.begin(), weight.end(), Real(0));
    for (std::size_t p = 0; p < s.x.size(); ++p) {
      std::array<Index, 3> at = {};
      std::array<Real, 3> part = {};
      bool inside = true;
      for (int a = 0; a < shape.dimensions(); ++a) {
        const auto axis = static_cast<std::size_t>(a);
        const Real cell = (s.x[p][a] - m.low[a]) / m.h, place = cell - (a == c ? 0 : Real(0.5)),
                   below = std::floor(place);
        inside = inside && cell >= 0 && cell < static_cast<Real>(shape.cells[axis]);
        if (!inside) break;
        at[axis] = static_cast<Index>(below), part[axis] = place - below;
      }
      if (!inside) continue;
      const std::size_t first = shape.index(at[0], at[1], at[2]);
      for (int corner = 0; corner < 1 << shape.dimensions(); ++corner) {
        Real w = 1;
        std::ptrdiff_t to = 0;
        for (int a = 0; a < shape.dimensions(); ++a) {
          const bool up = (corner >> a & 1) != 0;
          const Real f = part[static_cast<std::size_t>(a)];
          w *= up ? f : 1 - f;
          to += up ? shape.stride(a) : 0;
        }
        const std::size_t item = first + static_cast<std::size_t>(to);
        u[item] += w * s.v[p][c], weight[item] += w;
      }
      if (c == 0)
        fluid[shape.index(static_cast<Index>((s.x[p].x() - m.low.x()) / m.h),
                          static_cast<Index>((s.x[p].y() - m.low.y()) / m.h),
                          shape.is_flat() ? 0 : static_cast<Index>((s.x[p].z() - m.low.z()) / m.h))] = 1;
    }
    const std::array<bool, 3> periodic = detail::periodic_axes(m);
    const detail::ItemBox inner = detail::grown(shape, CellWindow{.high = shape.cells}, 1, 1);
    for (std::vector<Real>* of : {&u, &weight}) {
      detail::fold_items<1>(shape, periodic, inner, of->data());
      detail::wrap_items<1>(shape, periodic, detail::all_items(shape), of->data());
    }
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = weight[i] > 0 ? u[i] / weight[i] : 0;
  }
  draw_flow({.shape = shape, .low = m.low, .h = m.h, .velocity = velocity, .fluid = fluid}, wanted, true,
            sink);
}

}  // namespace plenum::inline PLENUM_ABI
