#pragma once
// Where particles begin.
#include "plenum/base/error.h"
#include "plenum/solvers/liquid/detail/stages.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Of particle `seed` of a cell [m]: on a lattice, jittered by numbers that follow from `index`.
Vec3 seed_place(const Liquid::Model& m, const std::array<Index, 3>& cell, int seed, std::uint64_t index);
/// The box's cells that a solid can reach.
ItemBox cells_around(const Liquid::Model& m, const Aabb& bounds);
/// Faces of inlets; refuses those that let nothing in.
void find_inlets(Liquid::Model& m, Refusals& refusals);
/// Particles that have come in through inlets between t0 and t1 [s], where they are at t1; none where a body
/// is on the side.
void let_in(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
            const Liquid::Workspace& w, double t0, double t1);
/// Fills up the cells of sources, after particles were sorted; true if there are new ones, which are not.
bool emit_liquid(const Liquid::Model& m, Liquid::State& s, const Liquid::Params& params,
                 Liquid::Workspace& w);

}}  // namespace plenum::inline PLENUM_ABI::detail
