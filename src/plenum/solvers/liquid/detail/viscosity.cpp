// Viscosity: each component of the velocity diffuses from face to face, implicitly.
//
// The surface gives no traction across it: what is beyond has no difference. That is exact for flows that are
// the same along it; a rotation of the surface itself it slows, since grad u stands for grad u + grad u^T
// (Batty & Bridson 2008, "Accurate viscous free surfaces for buckling, coiling, and rotating liquids",
// section 3). Sides and solids that let it slip do the same; those that hold it have the wall's velocity, of
// solids zero, at their surface: half a cell beyond the last face along a side, and where cling says of
// solids (integrate/grid_diffusion.h).
#include <limits>

#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr int most_sweeps = 300;

}  // namespace

void diffuse_liquid(const Liquid::Model& m, const Liquid::Params& params, Liquid::Workspace& w, Real dt,
                    Report& report) {
  const StageTimer timer(report.stages, "viscosity");
  const GridShape& shape = m.shape;
  const Real number = params.viscosity * dt / (m.h * m.h);
  const FaceField& open_parts = open_faces(m, w);
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    const ItemBox faces = faces_of(w, w.window, c);
    Real* const pair = w.pairs[axis].data();
    // What it starts from, where later velocities that move particles are.
    Real* const start = w.carry[axis].data();
    const std::uint8_t* const known = w.known[axis].data();
    const Real* const open = open_parts[c].empty() ? nullptr : open_parts[c].data();
    const Real* const cling = m.cling[axis].empty() ? nullptr : m.cling[axis].data();
    const auto moves = [&](std::ptrdiff_t at, Index along) {
      return known[at] && !on_closed_side(m, c, along) && !(open && !(open[at] > 0));
    };
    const auto maximum = [&](auto&& of_row) {
      return ordered_reduce(
          faces.rows(), faces.block(), Real(0),
          [&](std::size_t begin, std::size_t end) {
            Real most = 0;
            for (std::size_t row = begin; row < end; ++row)
              most = std::max(most, of_row(faces.low[1] + static_cast<Index>(row % faces.rows_y()),
                                           faces.low[2] + static_cast<Index>(row / faces.rows_y())));
            return most;
          },
          [](Real a, Real b) { return std::max(a, b); });
    };
    Real fastest_wall = 0;
    for (std::size_t side = 0; side < 2 * static_cast<std::size_t>(shape.dimensions()); ++side)
      fastest_wall = std::max(fastest_wall, std::abs(m.sides[side].velocity[c]));
    for (const LiquidInlet& inlet : m.inlets)
      fastest_wall = std::max(fastest_wall, params.inflow * std::abs(inlet.velocity[c]));
    const Real fastest_face = maximum([&](Index j, Index k) {
      Real most = 0;
      for (Index i = faces.low[0]; i < faces.high[0]; ++i) {
        const std::size_t at = shape.index(i, j, k);
        // In a solid that holds it, it stands, though the rest of the face is open.
        if (cling && cling[at] < 0) pair[2 * at] = 0;
        start[at] = pair[2 * at];
        most = std::max(most, std::abs(start[at]));
      }
      return most;
    });
    // A checkerboard does not close around an axis of an odd number of cells: what is beyond the seam is of
    // the half of a sweep before.
    const bool wraps = any(w.wraps);
    const auto wrap = [&] {
      if (wraps) wrap_items<2>(shape, w.wraps, grown(shape, w.window, 1, 2), pair);
    };
    wrap();
    const Real size = std::max(fastest_face, fastest_wall);
    const Real tolerance = size * 10 * std::numeric_limits<Real>::epsilon();
    Real change = 0;
    const auto sweep = [&](int colour) {
      const Real change_of_all = maximum([&](Index j, Index k) {
        Real most = 0;
        for (Index i = faces.low[0] + ((faces.low[0] + j + k + colour) & 1); i < faces.high[0]; i += 2) {
          const auto at = static_cast<std::ptrdiff_t>(shape.index(i, j, k));
          const std::array<Index, 3> item = {i, j, k};
          if (!moves(at, item[axis]) || (cling && cling[at] < 0)) continue;
          Real sum = 0, diagonal = cling ? cling[at] : Real(0);
          for (int a = 0; a < shape.dimensions(); ++a) {
            const auto b = static_cast<std::size_t>(a);
            // Of an axis that wraps none is the last.
            const Index first = w.wraps[b] ? -1 : 0,
                        last = w.wraps[b] ? shape.cells[b] : shape.cells[b] - (a == c ? 0 : 1);
            Real pairs_of = 0;
            for (int upper = 0; upper < 2; ++upper) {
              if (upper ? item[b] == last : item[b] == first) {
                const std::size_t side = 2 * b + static_cast<std::size_t>(upper);
                if (a == c) continue;
                const SideHold hold = m.inlet_faces.empty()
                                          ? SideHold{!m.has_slip(side), m.sides[side].velocity[c]}
                                          : hold_beside(m, w, side, c, item);
                if (!hold.holds) continue;
                diagonal += 2;
                pairs_of += 2 * hold.velocity;
                continue;
              }
              const std::ptrdiff_t other = at + (upper ? shape.stride(a) : -shape.stride(a));
              const bool held = cling && cling[other] < 0;
              if (held) diagonal += 1;
              if (held || !known[other]) continue;
              // Walls that let it slip hold back nothing along them.
              if (a != c && open && !(open[other] > 0)) continue;
              diagonal += 1;
              pairs_of += pair[2 * other];
            }
            sum += pairs_of;
          }
          const Real now = (start[at] + number * sum) / (1 + number * diagonal);
          most = std::max(most, std::abs(now - pair[2 * at]));
          pair[2 * at] = now;
        }
        return most;
      });
      wrap();
      return change_of_all;
    };
    int sweeps = 0;
    do {
      change = std::max(sweep(0), sweep(1));
    } while (++sweeps < most_sweeps && change > tolerance);
    report.iterations += sweeps;
    if (sweeps == most_sweeps && change > Real(1e-4) * size)
      report.warn("viscosity did not converge in its sweeps; lower viscosity or shorten the step");
  }
}

}}  // namespace plenum::inline PLENUM_ABI::detail
