#pragma once
// The stages of a step of smoke that have files of their own, and what they share.
#include <algorithm>

#include "plenum/base/parallel.h"
#include "plenum/solvers/smoke/smoke.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// f(j, k, first item) for all rows of items of component c (-1: cells), in parallel.
template <class F>
void for_item_rows(const GridShape& shape, int c, F&& f) {
  std::array<Index, 3> n = shape.cells;
  if (c >= 0) ++n[static_cast<std::size_t>(c)];
  const auto ny = static_cast<std::size_t>(n[1]);
  parallel_for(ny * static_cast<std::size_t>(n[2]),
               std::max<std::size_t>(1, 4096 / static_cast<std::size_t>(n[0])),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row) {
                   const auto j = static_cast<Index>(row % ny), k = static_cast<Index>(row / ny);
                   f(j, k, static_cast<std::ptrdiff_t>(shape.index(0, j, k)), n[0]);
                 }
               });
}

/// Where item (i, j, k) of component c stands [m].
inline Vec3 place(const Smoke::Model& m, int c, Index i, Index j, Index k) {
  const auto at = [&](int axis, Index n) {
    return m.low[axis] + m.h * (static_cast<Real>(n) + (axis == c ? Real(0) : Real(0.5)));
  };
  return {at(0, i), at(1, j), at(2, k)};
}

/// Draws what is within sources towards their values.
void add_sources(const Smoke::Model& m, Smoke::State& s, const Smoke::Params& params, Real dt);
/// Lets brushes, strokes of a hand and gusts act.
void stir_gas(const Smoke::Model& m, Smoke::State& s, const Smoke::Params& params, Smoke::Workspace& w,
              Real dt);

/// Takes up the bodies that the gas was told of and that come near its box, for a step of dt [s].
void begin_bodies(const Smoke::Model& m, const Smoke::State& s, Smoke::Workspace& w, Real dt);
/// Keeps what the next step is to know of them.
void end_bodies(Smoke::State& s, const Smoke::Workspace& w);
/// Takes them out of the faces, where they are as the step begins or ends, and finds what lies in them: cells
/// at the beginning, faces at the end.
void place_bodies(const Smoke::Model& m, Smoke::Workspace& w, bool at_end);
/// Nothing of a quantity of cells is in bodies.
void clear_bodies(const Smoke::Model& m, const Smoke::Workspace& w, std::vector<Real>& q);
/// Velocities within bodies: theirs where the gas sticks to solids, else, near their surface, those of the
/// gas beside.
void fill_bodies(const Smoke::Model& m, const Smoke::Workspace& w, FaceField& velocity);
/// Which faces of the gas cling to bodies, where these are as the step ends.
void find_grip(const Smoke::Model& m, Smoke::Workspace& w);
/// Gives faces across c in bodies the velocities of these.
void hold_gas(const Smoke::Workspace& w, int c, std::span<Real> u);
/// Adds to `to` what surfaces of bodies do to faces across c that see them, in diffusion by number = nu dt /
/// h^2: to what it starts from, or if that is explicit to its result. u as it starts.
void pull_gas(const Smoke::Workspace& w, int c, Real number, std::span<const Real> u, std::span<Real> to,
              bool is_explicit);
/// Lets bodies go along with gas of that velocity as far as its friction will take them.
void expect_rubbing(const Smoke::Model& m, const Smoke::Params& params, Smoke::Workspace& w, Real number,
                    const FaceField& velocity);
/// Sums up what diffusion did to bodies, of velocities across c that the neighbours' difference was taken of
/// (`before`) and those after the step.
void rub_bodies(const Smoke::Model& m, const Smoke::Params& params, Smoke::Workspace& w, int c, Real number,
                std::span<const Real> before, std::span<const Real> u);
/// Gives it to them, less what they had expected.
void take_rubbing(Smoke::Workspace& w);
/// The operator of the pressure between solids and bodies.
PressureSolver& pressure_around_bodies(const Smoke::Model& m, Smoke::Workspace& w);
/// Gives bodies that forces move the weight of the gas that they displace, over a step of dt [s].
void lift_bodies(const Smoke::Model& m, const Smoke::Params& params, Smoke::Workspace& w, Real dt);
/// Ties the pressure to bodies: b gets what they drive out of cells.
void tie_bodies(const Smoke::Model& m, const Smoke::Params& params, Smoke::Workspace& w);
/// Gives bodies what the solved pressure does to them.
void push_bodies(const Smoke::Model& m, const Smoke::Params& params, Smoke::Workspace& w);

}}  // namespace plenum::inline PLENUM_ABI::detail
