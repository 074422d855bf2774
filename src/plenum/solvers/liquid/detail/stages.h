#pragma once
// The stages of a step of liquid, in order.
#include <algorithm>
#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/solvers/liquid/liquid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Takes up the bodies that the liquid was told of, for a step of dt [s].
void begin_bodies(const Liquid::Model& m, const Liquid::State& s, Liquid::Workspace& w, Real dt);
/// How many parts of them may be thinner than two cells.
std::int64_t count_thin_parts(const Liquid::Workspace& w);
/// [m/s] of their fastest point.
double fastest_body(const Liquid::Workspace& w, Real dt);
/// Puts bodies on given ways where they are at the part `s` of the step, moves those that are pushed on by
/// half of a part of dt [s], and takes all out of the grid's faces and capacities.
void place_bodies(const Liquid::Model& m, Liquid::Workspace& w, Real s, Real dt);
/// Takes particles out of bodies: at time zero altogether, later to their surfaces.
void clear_bodies(const Liquid::Model& m, Liquid::State& s, Liquid::Workspace& w);
/// Cells within bodies that border on liquid are of the liquid too.
void find_sunk_cells(const Liquid::Model& m, Liquid::Workspace& w);
/// Velocities of bodies on given ways in the part of a step of dt [s] from s0 to s1.
void find_led_velocities(Liquid::Workspace& w, Real dt, Real s0, Real s1);
/// Lets gravity act on bodies in a part of a step of dt [s], and ties the pressure to them: b gets what they
/// drive out of cells.
void tie_bodies(const Liquid::Model& m, const Liquid::Params& params, Liquid::Workspace& w, Real dt);
/// Gives bodies what the solved pressure does to them.
void push_bodies(const Liquid::Model& m, const Liquid::Params& params, Liquid::Workspace& w);
/// Moves those that are pushed on.
void move_bodies(Liquid::Workspace& w, Real dt);
/// Makes `pushes`.
void end_bodies(Liquid::State& s, Liquid::Workspace& w);

/// Puts bodies on given ways where they are at the part `s` of the step.
void lead_bodies(Liquid::Workspace& w, Real s);
/// Takes particles along where thin parts of bodies went through them, from `before` to `pose`.
void sweep_thin_bodies(const Liquid::Model& m, Liquid::State& s, Liquid::Workspace& w);
/// Thin parts where they stand, behind the model's walls: w.walls, w.wall_parts.
void find_wall_parts(const Liquid::Model& m, Liquid::Workspace& w);

/// The cell that x is in; false if it is in none of the box.
inline bool find_cell(const Liquid::Model& m, const Vec3& x, std::array<Index, 3>& cell) {
  cell = {0, 0, 0};
  for (int c = 0; c < m.shape.dimensions(); ++c) {
    const auto a = static_cast<std::size_t>(c);
    const Real g = (x[c] - m.low[c]) / m.h;
    if (!(g >= 0 && g < static_cast<Real>(m.shape.cells[a]))) return false;
    cell[a] = static_cast<Index>(g);
  }
  return true;
}

/// Particles are kept off walls by this part of a cell, and of solids' surfaces.
inline constexpr Real wall_gap = Real(1e-3);

/// What solids and bodies leave open: of faces (no items: all are open), and around cells.
inline const FaceField& open_faces(const Liquid::Model& m, const Liquid::Workspace& w) {
  return w.immersed.any() ? w.immersed.open : m.open;
}
inline const std::vector<Real>& capacities(const Liquid::Model& m, const Liquid::Workspace& w) {
  return w.immersed.any() ? w.immersed.capacity : m.capacity;
}

/// Sorts particles into cells: workspace.order, cell_end, liquid, occupied and window. Those outside of the
/// box, which left through open sides, are not in `order`; slab_begin.back() is the number of those that are.
void sort_particles(const Liquid::Model& m, const Liquid::State& s, Liquid::Workspace& w, Index margin);
/// Cells around those that have liquid: w.occupied, solved and window, `margin` cells farther, and wraps.
void set_windows(const Liquid::Model& m, const CellWindow& occupied, Index margin, Liquid::Workspace& w);
/// Particles of a cell in w.order, from the first to behind the last.
std::array<std::uint32_t, 2> particles_in(const Liquid::Model& m, const Liquid::Workspace& w, Index i,
                                          Index j, Index k);
/// Takes `order` to the particles, and their velocities to the faces: pairs of momentum and weight, crowd.
void particles_to_faces(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
                        Liquid::Workspace& w);
/// Cells that a thin wall cuts are of the liquid only if they have particles on their centre's side of it.
void leave_far_sides(const Liquid::Model& m, const Liquid::State& s, Liquid::Workspace& w);
/// Faces that thin walls close go with these.
void set_wall_faces(const Liquid::Model& m, Liquid::Workspace& w);
/// Those of thin parts of bodies: f(component, face, velocity [m/s]).
void for_wall_faces(const Liquid::Model& m, const Liquid::Workspace& w,
                    FunctionRef<void(int, std::size_t, Real)> f);
/// Whether a thin wall may cut a cell.
inline bool may_be_cut(const Liquid::Model& m, const Liquid::Workspace& w, std::size_t cell) {
  return (!m.near_walls.empty() && m.near_walls[cell] == 2) ||
         (!w.wall_parts.empty() && w.immersed.part_at[cell] != 0);
}
/// Copies to the ghosts of axes that wrap (detail/seam.h): which cells are of the liquid; velocities, and
/// which faces have one.
void wrap_liquid(const Liquid::Model& m, Liquid::Workspace& w);
void wrap_velocities(const Liquid::Model& m, Liquid::Workspace& w);
/// Cells without particles, but in the midst of them, are of the liquid too.
void close_holes(const Liquid::Model& m, Liquid::Workspace& w);
/// Cells whose centres the surface passes below have no pressure: the air does.
void leave_shallow_cells(const Liquid::Model& m, Liquid::Workspace& w);
/// Pairs become (velocity with forces, velocity before); `known` are the faces of cells with liquid.
void find_velocities(const Liquid::Model& m, const Liquid::Params& params, Liquid::Workspace& w, Real dt);
/// Which parts of inlets' velocities count between t0 and t1 [s]: w.inflow.
void open_inlets(const Liquid::Model& m, const Liquid::Params& params, Liquid::Workspace& w, double t0,
                 double t1);
/// [m/s] of what comes in the fastest.
double fastest_inlet(const Liquid::Model& m, const Liquid::Params& params);
/// Part of an inlet's face that is covered by its window and not by bodies.
inline Real part_let_through(const Liquid::Model& m, const Liquid::Workspace& w,
                             const Liquid::InletFace& face) {
  if (!w.immersed.any()) return face.part;
  const std::vector<Real>& solids = m.open.along[face.axis];
  const Real before = solids.empty() ? Real(1) : solids[face.face];
  return before > 0 ? face.part * w.immersed.open.along[face.axis][face.face] / before : Real(0);
}
/// What comes in is known: at faces of inlets, once velocities have been found.
void set_inlet_faces(const Liquid::Model& m, Liquid::Workspace& w);
/// The same in what moves particles, once sides have been filled beyond.
void fill_inlet_faces(const Liquid::Model& m, Liquid::Workspace& w);
/// Adds it to the right-hand side of the pressure. Returns how much, in areas of cells' sides [m/s].
double add_inflow(const Liquid::Model& m, Liquid::Workspace& w);
/// Whether a side holds what flows along it, and at which velocity [m/s].
struct SideHold {
  bool holds = false;
  Real velocity = 0;
};
/// Of component c at an item of its faces next to a side across another axis: the side's wall, or an inlet
/// whose window it is in.
SideHold hold_beside(const Liquid::Model& m, const Liquid::Workspace& w, std::size_t side, int c,
                     std::array<Index, 3> item);
/// Viscosity over a part of a step.
void diffuse_liquid(const Liquid::Model& m, const Liquid::Params& params, Liquid::Workspace& w, Real dt,
                    Report& report);
/// Makes velocities free of divergence; pairs become (velocity, change of it).
void project_liquid(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
                    Liquid::Workspace& w, Real dt, Report& report);
/// `carry` becomes velocities, with what spreads crowded particles.
void spread_crowds(const Liquid::Model& m, const Liquid::State& s, const Liquid::Params& params,
                   Liquid::Workspace& w, Real dt, Report& report);
/// The same, with what brings the volume of a level set back to what is wanted.
void restore_volume(const Liquid::Model& m, const Liquid::State& s, const Liquid::Params& params,
                    Liquid::Workspace& w, Real dt, Report& report);
/// Faces beside known ones, layer by layer, and beyond the sides. In as many layers of cells as are
/// `balanced` what flows in flows out, as in surface cells of the marker-and-cell method (Harlow & Welch
/// 1965; Foster & Metaxas 1996, "Realistic animation of liquids"): a surface that the flow
/// carries through them keeps its volume. Velocities that go on as they are let it fall behind where it rises
/// and not where it falls, and a wave loses a part of itself in every period, however fine the grid.
void extrapolate_velocities(const Liquid::Model& m, Liquid::Workspace& w, int layers, int balanced = 0);
/// Where particles of a cell are in w.order, or in the state once they have been put in order: from the first
/// to behind the last.
std::array<std::uint32_t, 2> range_of(const Liquid::Model& m, const Liquid::Workspace& w, Index i, Index j,
                                      Index k);
/// The least number of particles that a cell within the liquid should have: a quarter of a full one's.
inline int least_particles(const Liquid::Model& m) {
  return std::max(1, m.per_cell() / 4);
}
/// Moves particles from the fullest cells to those within the liquid that have fewer than that. Returns how
/// many.
int reseed_particles(const Liquid::Model& m, Liquid::State& s, Liquid::Workspace& w);
/// Velocities back to the particles, which move.
void faces_to_particles(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
                        Liquid::Workspace& w, Real dt);

/// Depth [cells] of a cell's centre under a flat surface across an axis, from what part of the hat function
/// around it is full: 1/2 + s - s |s| / 2, turned around; in [-1, 1].
inline Real depth_of(Real full) {
  const Real a = std::min(std::abs(2 * full - 1), Real(1)), s = 1 - std::sqrt(1 - a);
  return full < Real(0.5) ? -s : s;
}

/// The other way around: how full the hat function around a centre is, at a depth [cells] of that.
inline Real fullness_of(Real depth) {
  const Real s = std::clamp(depth, Real(-1), Real(1));
  return Real(0.5) + s - s * std::abs(s) / 2;
}

/// Of a cell whose surroundings are solid but for this part little can be said.
inline constexpr Real least_capacity = Real(0.05);

/// Items low <= (i, j, k) < high.
struct ItemBox {
  std::array<Index, 3> low, high;
  std::size_t rows_y() const { return static_cast<std::size_t>(high[1] - low[1]); }
  std::size_t rows() const { return rows_y() * static_cast<std::size_t>(high[2] - low[2]); }
  /// Rows that are taken at a time.
  std::size_t block() const {
    return std::max<std::size_t>(1, 4096 / static_cast<std::size_t>(std::max<Index>(1, high[0] - low[0])));
  }
};
/// Of a window's cells, `below` more layers at low ends and `above` at high ends.
inline ItemBox grown(const GridShape& shape, const CellWindow& w, Index below, Index above) {
  ItemBox box{w.low, w.high};
  for (int c = 0; c < shape.dimensions(); ++c) {
    box.low[static_cast<std::size_t>(c)] -= below;
    box.high[static_cast<std::size_t>(c)] += above;
  }
  return box;
}
/// The faces across axis c of a window's cells; those of two sides that are one place are the lower ones.
inline ItemBox faces_of(const Liquid::Workspace& w, const CellWindow& of, int c) {
  ItemBox box{of.low, of.high};
  if (!w.wraps[static_cast<std::size_t>(c)]) ++box.high[static_cast<std::size_t>(c)];
  return box;
}
/// f(j, k) for rows of items, in parallel.
template <class F>
void for_rows(const ItemBox& box, F&& f) {
  parallel_for(box.rows(), box.block(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row)
      f(box.low[1] + static_cast<Index>(row % box.rows_y()),
        box.low[2] + static_cast<Index>(row / box.rows_y()));
  });
}
/// The sum of what f returns.
template <class F>
double sum_over_rows(const ItemBox& box, F&& f) {
  return ordered_sum(box.rows(), box.block(), [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t row = begin; row < end; ++row)
      sum += f(box.low[1] + static_cast<Index>(row % box.rows_y()),
               box.low[2] + static_cast<Index>(row / box.rows_y()));
    return sum;
  });
}

/// Whether the face across axis c with number `along` is closed by a side of the box.
inline bool on_closed_side(const Liquid::Model& m, int c, Index along) {
  const auto a = static_cast<std::size_t>(c);
  return (along == 0 && m.is_closed(2 * a)) || (along == m.shape.cells[a] && m.is_closed(2 * a + 1));
}

}}  // namespace plenum::inline PLENUM_ABI::detail
