// The pressure of a liquid with a free surface, and what spreads particles that crowd.
//
// Cells that have particles have an unknown. Between a cell c of the liquid and one of air the surface stands
// at the part theta of the way where the depth, linear between their centres, is zero; the pressure is zero
// there, so that the face's coefficient is A / theta and adds to the diagonal alone: second order, and
// symmetric (Gibou, Fedkiw, Cheng & Kang 2002, "A second-order-accurate symmetric discretization of the
// Poisson equation on irregular domains"; Enright, Nguyen, Gibou & Fedkiw 2003, "Using the particle level set
// method and a second order accurate pressure boundary condition for free surface flows").
#include <bit>
#include <cstring>
#include <limits>

#include "plenum/solvers/liquid/detail/level_set.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Model = Liquid::Model;
using Workspace = Liquid::Workspace;

/// The least theta: below it a surface cell's pressure is as good as zero, while the matrix grows as 1/theta.
constexpr Real least_theta = Real(0.05);

/// How much faster a volume that is wrong is put right than crowds are spread.
constexpr Real volume_gain = 4;

/// What the faces of cells let through, and where the surface is.
class Faces {
 public:
  Faces(const Model& m, const Liquid::State& s, const Workspace& w)
      : m_(m),
        w_(w),
        phi_(m.has_level_set() ? s.phi.data() : nullptr),
        open_(open_faces(m, w)),
        capacity_(capacities(m, w)) {}
  bool is_liquid(std::ptrdiff_t cell) const { return w_.liquid[static_cast<std::size_t>(cell)] != 0; }
  /// Open part of the face across axis c, number `along` of its line.
  Real open(int c, std::ptrdiff_t face, Index along) const {
    if (on_closed_side(m_, c, along)) return 0;
    return open_[c].empty() ? Real(1) : open_[c][static_cast<std::size_t>(face)];
  }
  /// Whether eight cells one after the other are of the liquid, and whether none is.
  bool all_liquid(std::ptrdiff_t cell) const { return eight(cell) == 0x0101010101010101u; }
  bool none_liquid(std::ptrdiff_t cell) const { return eight(cell) == 0; }
  /// Whether three cells around one along x are.
  bool three_liquid(std::ptrdiff_t cell) const {
    std::uint32_t four;
    std::memcpy(&four, w_.liquid.data() + cell - 1, 4);
    return (four & three_bytes) == three_ones;
  }
  bool has_solids() const { return !open_[0].empty(); }
  Real capacity(std::ptrdiff_t cell) const { return capacity_[static_cast<std::size_t>(cell)]; }
  /// [cells] of its centre under the surface.
  Real depth(std::ptrdiff_t cell) const { return phi_ ? -phi_[cell] / m_.h : depth_of(full(cell)); }
  Real full(std::ptrdiff_t cell) const {
    return w_.crowd[static_cast<std::size_t>(cell)] / std::max(capacity(cell), least_capacity);
  }
  /// Part of the way from a cell of the liquid to the surface towards a cell of air. Beyond the box's open
  /// sides the face is the surface.
  Real theta(std::ptrdiff_t cell, std::ptrdiff_t air, int c, Index along) const {
    const auto a = static_cast<std::size_t>(c);
    if (!w_.wraps[a] && (along == 0 || along == m_.shape.cells[a])) return Real(0.5);
    const Real in = std::max(depth(cell), Real(0)), out = std::min(depth(air), Real(0));
    return in - out > 0 ? std::max(in / (in - out), least_theta) : least_theta;
  }

 private:
  static constexpr bool little = std::endian::native == std::endian::little;
  static constexpr std::uint32_t three_bytes = little ? 0x00ffffffu : 0xffffff00u;
  static constexpr std::uint32_t three_ones = little ? 0x00010101u : 0x01010100u;
  std::uint64_t eight(std::ptrdiff_t cell) const {
    std::uint64_t word;
    std::memcpy(&word, w_.liquid.data() + cell, 8);
    return word;
  }
  const Model& m_;
  const Workspace& w_;
  const Real* const phi_;
  const FaceField& open_;
  const std::vector<Real>& capacity_;
};

void fill_row(const Model& m, const Workspace& w, const Faces& faces, Index j, Index k,
              const PoissonRow& row) {
  const GridShape& shape = m.shape;
  const Index n = w.solved.high[0] - w.solved.low[0];
  for (Real* to : row.to) std::fill_n(to, n, Real(0));
  const auto first = static_cast<std::ptrdiff_t>(shape.index(w.solved.low[0], j, k));
  const bool inner_row = !faces.has_solids() && j > 0 && j + 1 < shape.cells[1] &&
                         (shape.is_flat() || (k > 0 && k + 1 < shape.cells[2]));
  for (Index i = 0; i < n; ++i) {
    const std::ptrdiff_t cell = first + i;
    const Index x = w.solved.low[0] + i;
    if (i + 8 <= n && faces.none_liquid(cell)) {
      i += 7;
      continue;
    }
    // Most cells are like all those around them.
    if (i + 8 <= n && inner_row && x > 0 && x + 8 < shape.cells[0] && faces.all_liquid(cell)) {
      bool inner = true;
      for (int c = 0; c < shape.dimensions(); ++c)
        inner = inner && faces.all_liquid(cell - shape.stride(c)) && faces.all_liquid(cell + shape.stride(c));
      if (inner) {
        for (std::size_t field = 0; field < static_cast<std::size_t>(2 * shape.dimensions()); ++field)
          std::fill_n(row.to[field] + i, 8, Real(1));
        i += 7;
        continue;
      }
    }
    if (!faces.is_liquid(cell)) continue;
    for (int c = 0; c < shape.dimensions(); ++c) {
      const std::ptrdiff_t stride = shape.stride(c);
      const Index along = c == 0 ? w.solved.low[0] + i : c == 1 ? j : k;
      for (int upper = 0; upper < 2; ++upper) {
        const Real a = faces.open(c, cell + (upper ? stride : 0), along + upper);
        if (a == 0) continue;
        const std::ptrdiff_t other = cell + (upper ? stride : -stride);
        if (faces.is_liquid(other))
          row.to[static_cast<std::size_t>(2 * c + upper)][i] = a;
        else
          row.to[6][i] += a / faces.theta(cell, other, c, along + upper);
      }
    }
  }
}

/// f(face item, difference of q across it) for the faces of liquid that something passes.
template <class F>
void for_differences(const Model& m, const Faces& faces, const Workspace& w, F&& f) {
  const GridShape& shape = m.shape;
  const RowLayout& layout = w.pressure.poisson().layout;
  const double* x = w.pressure.x.data();
  for (int c = 0; c < shape.dimensions(); ++c) {
    const CellWindow& solved = w.solved;
    const std::ptrdiff_t stride = shape.stride(c);
    const ItemBox box = faces_of(w, solved, c);
    for_rows(box, [&](Index j, Index k) {
      const auto row = static_cast<std::ptrdiff_t>(shape.index(0, j, k));
      const auto row_of = [&](Index jj, Index kk) -> const double* {
        const Index y = w.wraps[1] && jj < 0 ? shape.cells[1] - 1 : jj - solved.low[1],
                    z = w.wraps[2] && kk < 0 ? shape.cells[2] - 1 : kk - solved.low[2];
        if (y < 0 || z < 0 || y >= layout.cells[1] || z >= layout.cells[2]) return nullptr;
        return x + layout.row(y, z) - solved.low[0];
      };
      const double *above = row_of(j, k), *below = c == 0 ? above - 1 : row_of(j - (c == 1), k - (c == 2));
      const Index line = c == 1 ? j : k, cells_along = shape.cells[static_cast<std::size_t>(c)];
      for (Index i = box.low[0]; i < box.high[0]; ++i) {
        const std::ptrdiff_t face = row + i, under = face - stride;
        if (i + 8 <= box.high[0]) {
          if (faces.none_liquid(face) && faces.none_liquid(under)) {
            i += 7;
            continue;
          }
          const bool inner = c == 0 ? i > 0 && i + 8 <= cells_along : line > 0 && line < cells_along;
          if (inner && !faces.has_solids() && faces.all_liquid(face) && faces.all_liquid(under)) {
            for (Index n = i; n < i + 8; ++n) f(c, row + n, static_cast<Real>(above[n] - below[n]));
            i += 7;
            continue;
          }
        }
        const bool up = faces.is_liquid(face), low = faces.is_liquid(under);
        if (!(up | low)) continue;
        const Index along = c == 0 ? i : c == 1 ? j : k;
        if (faces.open(c, face, along) == 0) continue;
        double difference;
        if (up && low)
          difference = above[i] - below[i];
        else if (up)
          difference = above[i] / static_cast<double>(faces.theta(face, under, c, along));
        else
          difference = -below[i] / static_cast<double>(faces.theta(under, face, c, along));
        f(c, face, static_cast<Real>(difference));
      }
    });
  }
}

}  // namespace

void project_liquid(const Model& m, Liquid::State& s, const Liquid::Params& params, Workspace& w, Real dt,
                    Report& report) {
  const GridShape& shape = m.shape;
  const CellWindow& solved = w.solved;
  const Faces faces(m, s, w);
  std::array<Index, 3> cells;
  for (std::size_t c = 0; c < 3; ++c) cells[c] = solved.high[c] - solved.low[c];
  {
    const StageTimer timer(report.stages, "assembly");
    // Once, for memory of the whole box.
    if (!w.pressure.is_made())
      w.pressure.remake(shape.cells, shape.dimensions(), [](Index, Index, const PoissonRow&) {});
    w.pressure.remake(
        cells, shape.dimensions(),
        [&](Index j, Index k, const PoissonRow& row) {
          fill_row(m, w, faces, j + solved.low[1], k + solved.low[2], row);
        },
        w.wraps);
  }
  const StageTimer timer(report.stages, "pressure");
  const RowLayout& layout = w.pressure.poisson().layout;
  const ItemBox box{solved.low, solved.high};
  const double scale =
      static_cast<double>(dt) / (static_cast<double>(params.density) * static_cast<double>(m.h));
  // -div u, and where the last pressure leads; the sum of squares of the velocities.
  const double squares = sum_over_rows(box, [&](Index j, Index k) {
    const auto row = static_cast<std::ptrdiff_t>(shape.index(0, j, k));
    const auto to = layout.row(j - solved.low[1], k - solved.low[2]);
    Real* b = w.pressure.b.data() + to - solved.low[0];
    double* x = w.pressure.x.data() + to - solved.low[0];
    double sum = 0;
    for (Index i = solved.low[0]; i < solved.high[0]; ++i) {
      const std::ptrdiff_t cell = row + i;
      if (!faces.is_liquid(cell)) {
        s.pressure[static_cast<std::size_t>(cell)] = 0;
        continue;
      }
      Real out = 0, square = 0;
      for (int c = 0; c < shape.dimensions(); ++c) {
        const std::ptrdiff_t stride = shape.stride(c);
        const Index along = c == 0 ? i : c == 1 ? j : k;
        const Real* u = w.pairs[static_cast<std::size_t>(c)].data();
        const Real low = faces.open(c, cell, along) * u[2 * cell],
                   high = faces.open(c, cell + stride, along + 1) * u[2 * (cell + stride)];
        out += high - low;
        square += low * low + high * high;
      }
      b[i] = -out;
      x[i] = scale * static_cast<double>(s.pressure[static_cast<std::size_t>(cell)]);
      sum += static_cast<double>(square);
    }
    return sum;
  });
  const double inflow = m.inlet_faces.empty() ? 0 : add_inflow(m, w);
  if (w.immersed.any()) tie_bodies(m, params, w, dt);
  // Velocities are known to a rounding each, and so is their divergence.
  const double rounding = static_cast<double>(std::numeric_limits<Real>::epsilon()) / 4 * std::sqrt(squares);
  const SolveReport solve = w.pressure.solve(
      params.pressure_solver, {.relative_tolerance = static_cast<double>(params.pressure_tolerance),
                               .absolute_tolerance = rounding,
                               .max_iterations = params.pressure_iterations});
  report.iterations += solve.iterations;
  report.measure("pressure_iterations", solve.iterations);
  report.measure("pressure_residual", solve.residual);
  if (const char* misfit = misfit_of(params.pressure_solver, w.pressure.method_for(params.pressure_solver)))
    report.warn(misfit);
  const bool sweeps = params.pressure_solver == PressureMethod::jacobi ||
                      params.pressure_solver == PressureMethod::gauss_seidel ||
                      params.pressure_solver == PressureMethod::sor;
  if (!solve.converged() && !sweeps && solve.residual > 10 * static_cast<double>(params.pressure_tolerance))
    report.warn("the projection did not converge; raise pressure_iterations or pressure_tolerance");
  // The mean of a region without surface or open side, which is none of the inflow elsewhere.
  if (inflow > 0 && w.pressure.imbalance() > inflow / (2 * static_cast<double>(shape.num_cells())))
    report.warn("inlets press liquid into a closed region that is full; give it an outflow, or stop them");
  if (w.immersed.any()) {
    push_bodies(m, params, w);
    if (!w.wall_parts.empty()) set_wall_faces(m, w);
  }
  for_rows(box, [&](Index j, Index k) {
    const std::size_t row = shape.index(0, j, k);
    const double* x = w.pressure.x.data() + layout.row(j - solved.low[1], k - solved.low[2]) - solved.low[0];
    for (Index i = solved.low[0]; i < solved.high[0]; ++i)
      if (w.liquid[row + static_cast<std::size_t>(i)])
        s.pressure[row + static_cast<std::size_t>(i)] = static_cast<Real>(x[i] / scale);
  });
  for_differences(m, faces, w, [&](int c, std::ptrdiff_t face, Real difference) {
    w.pairs[static_cast<std::size_t>(c)][static_cast<std::size_t>(2 * face)] -= difference;
  });
  for (int c = 0; c < shape.dimensions(); ++c) {
    const ItemBox all = faces_of(w, w.window, c);
    for_rows(all, [&](Index j, Index k) {
      const std::size_t row = shape.index(0, j, k);
      Real* pair = w.pairs[static_cast<std::size_t>(c)].data() + 2 * row;
      Real* carry = w.carry[static_cast<std::size_t>(c)].data() + row;
      for (Index i = all.low[0]; i < all.high[0]; ++i) {
        const Real u = pair[2 * i], before = pair[2 * i + 1];
        pair[2 * i + 1] = u - before;
        carry[i] = u;
      }
    });
  }
}

namespace {

/// Adds to what moves the liquid the displacements whose divergence has been put on the right-hand side.
void move_by_divergence(const Model& m, const Faces& faces, Workspace& w, Real dt, Report& report) {
  // A tenth of the excess may stay for the next step.
  const SolveReport solve =
      w.pressure.solve(PressureMethod::multigrid, {.relative_tolerance = 0.1, .max_iterations = 20});
  report.iterations += solve.iterations;
  report.measure("spread_iterations", solve.iterations);
  const Real per_time = m.h / dt;
  for_differences(m, faces, w, [&](int c, std::ptrdiff_t face, Real difference) {
    w.carry[static_cast<std::size_t>(c)][static_cast<std::size_t>(face)] -= per_time * difference;
  });
}

}  // namespace

void spread_crowds(const Model& m, const Liquid::State& s, const Liquid::Params& params, Workspace& w,
                   Real dt, Report& report) {
  const StageTimer timer(report.stages, "spreading");
  const GridShape& shape = m.shape;
  const CellWindow& solved = w.solved;
  const Faces faces(m, s, w);
  const RowLayout& layout = w.pressure.poisson().layout;
  // Displacements d [cells] whose divergence takes a part of what is too much: -div d = part (full - 1) as in
  // Kugelstadt, Longva, Thuerey & Bender 2019, "Implicit density projection for volume conserving liquids",
  // with the pressure's own operator. They move particles and do not change their velocities, so that no
  // energy comes of them. Where the surroundings hold air, fewer particles are no lack.
  const Real part = -std::expm1(-params.volume_rate * dt);
  const std::ptrdiff_t sy = shape.stride(1), sz = shape.is_flat() ? 0 : shape.stride(2);
  const auto is_air = [&](std::ptrdiff_t cell) {
    return !faces.is_liquid(cell) && faces.capacity(cell) > least_capacity;
  };
  const auto lacks = [&](std::ptrdiff_t cell) {
    for (std::ptrdiff_t z = -sz; z <= sz; z += std::max<std::ptrdiff_t>(sz, 1))
      for (std::ptrdiff_t y = -sy; y <= sy; y += sy) {
        const std::ptrdiff_t at = cell + y + z;
        if (!faces.three_liquid(at) && (is_air(at - 1) || is_air(at) || is_air(at + 1))) return false;
      }
    return true;
  };
  // Only what is too much is taken from cells at the surface, so that chance alone would swell the liquid:
  // what its volume is over its particles' is taken back from all cells alike (Kim, Liu, Llamas, Jiao &
  // Rossignac 2007, "Simulation of bubbles in foam with the volume control method").
  const double cells = sum_over_rows(grown(shape, solved, 0, 0), [&](Index j, Index k) {
    const auto row = static_cast<std::ptrdiff_t>(shape.index(0, j, k));
    Real sum = 0;
    for (std::ptrdiff_t cell = row + solved.low[0]; cell < row + solved.high[0]; ++cell) {
      if (w.crowd[static_cast<std::size_t>(cell)] == 0) continue;
      const Real full = faces.full(cell);
      if (faces.capacity(cell) >= Real(0.5))
        sum += full >= 1 ? Real(1) : std::clamp(depth_of(full) + Real(0.5), Real(0), Real(1));
    }
    return static_cast<double>(sum);
  });
  const double wanted = static_cast<double>(w.slab_begin.back()) / m.per_cell();
  report.measure("volume_excess", cells / wanted - 1);
  const Real shrink =
      part * volume_gain * static_cast<Real>(std::clamp(cells / wanted - 1, 0.0, most_volume_excess));
  std::fill(w.pressure.x.begin(), w.pressure.x.end(), 0.0);
  const double squares = sum_over_rows(ItemBox{solved.low, solved.high}, [&](Index j, Index k) {
    const auto row = static_cast<std::ptrdiff_t>(shape.index(0, j, k));
    Real* b = w.pressure.b.data() + layout.row(j - solved.low[1], k - solved.low[2]) - solved.low[0];
    double sum = 0;
    for (Index i = solved.low[0]; i < solved.high[0]; ++i) {
      const std::ptrdiff_t cell = row + i;
      b[i] = 0;
      // Within solids there is nothing to be spread.
      if (!faces.is_liquid(cell) || !(faces.capacity(cell) > least_capacity)) continue;
      // At most half a cell's content at a time, which moves particles by no more than that.
      const Real excess = std::clamp(faces.full(cell) - 1, Real(-0.5), Real(0.5));
      if (excess > 0 || (excess < 0 && lacks(cell))) b[i] = part * excess;
      b[i] -= shrink;
      sum += static_cast<double>(b[i] * b[i]);
    }
    return sum;
  });
  if (squares > 0) move_by_divergence(m, faces, w, dt, report);
}

void restore_volume(const Model& m, const Liquid::State& s, const Liquid::Params& params, Workspace& w,
                    Real dt, Report& report) {
  const StageTimer timer(report.stages, "spreading");
  // All cells of the liquid swell alike (Kim, Liu, Llamas, Jiao & Rossignac 2007, "Simulation of bubbles in
  // foam with the volume control method"), by displacements and not by velocities, as crowds are spread.
  const double h = static_cast<double>(m.h), cell = h * h * (m.shape.is_flat() ? 1 : h);
  if (!(s.volume_wanted > cell)) return;
  const double excess = level_set_volume(m, s, &w) / s.volume_wanted - 1;
  report.measure("volume_excess", excess);
  const double part = -std::expm1(-static_cast<double>(volume_gain * params.volume_rate * dt));
  const auto shrink = static_cast<Real>(part * std::clamp(excess, -most_volume_excess, most_volume_excess));
  if (shrink == 0) return;
  const CellWindow& solved = w.solved;
  const Faces faces(m, s, w);
  const RowLayout& layout = w.pressure.poisson().layout;
  std::fill(w.pressure.x.begin(), w.pressure.x.end(), 0.0);
  for_rows(ItemBox{solved.low, solved.high}, [&](Index j, Index k) {
    const auto row = static_cast<std::ptrdiff_t>(m.shape.index(0, j, k));
    Real* b = w.pressure.b.data() + layout.row(j - solved.low[1], k - solved.low[2]) - solved.low[0];
    for (Index i = solved.low[0]; i < solved.high[0]; ++i)
      b[i] = faces.is_liquid(row + i) && faces.capacity(row + i) > least_capacity ? -shrink : Real(0);
  });
  move_by_divergence(m, faces, w, dt, report);
}

}}  // namespace plenum::inline PLENUM_ABI::detail
