#pragma once
// How many sub-steps a step of rigid bodies takes.
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// How many sub-steps the contacts of this step, with the impulses that they have inherited, ask for: at
/// least params.substeps, at most max_substeps, more than the least only where small bodies bear each other
/// or what touches spins fast.
///
/// Gauss-Seidel with warm starting brings a load h^2 / m of compliance (a body that lacks an impulse m g h
/// falls on by g h^2 until its contact takes over), and soft contacts, at a fifth of the sub-steps' rate 1 /
/// h, yield about as much. Boxes of width a on such springs are a column that bends, and N of them buckle
/// under their own weight (Greenhill 1881, "Determination of the height consistent with stability that a
/// vertical pole or mast can be made"): q L^3 / (E I) = 7.84 with q = m g / a, L = N a, and E I = a (k a^2 /
/// 4) of springs k = (m / 2) (pi / 2 / h)^2 (both together), is N^3 g h^2 / a = 2.4. So what counts is the
/// Froude number g h^2 / a, and bodies of a centimetre behave as those of a metre do when their sub-steps are
/// as much shorter as their fall over their own width is.
///
/// And what touches is to turn by no more than half a radian in one, up to four times params.substeps: a rod
/// of 3 cm that rolled at 500 rad/s lay by 0.7 of its radius in the floor, and gained energy by it.
int count_substeps(const Rigid::Model& model, const Rigid::Params& params, const RigidWorkspace& w, Real dt);

}}  // namespace plenum::PLENUM_ABI::detail
