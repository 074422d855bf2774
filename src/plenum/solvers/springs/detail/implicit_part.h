#pragma once
// A part of an implicit Euler step, linearized once.
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {

struct SpringsWorkspace;

/// Part of the shortest length to be kept within which strict constraints are met.
inline constexpr double strict_tolerance = 1e-3;

enum class PartEnd : char {
  met,      ///< so are strict constraints, if they are part of it
  not_met,  ///< those are not
  stuck,    ///< nor are they, since their solve does not converge, which shorter parts do not mend
};

/// [N/m] The stiffest that a spring acts in a part of h [s].
///
/// Rounding moves a particle by about epsilon times the net's size, which a spring answers by h^2 k / m times
/// as much. Beyond 1 / (8 epsilon) that answer drowns gravity. On the diagonal the mass is added to four
/// times as much for each spring, or more: in a net, which is solved in Real, it must not be lost there, or
/// what lies askew hangs in the air. The strain that a spring of this stiffness shows under its own particle,
/// 32 epsilon g h^2 / l, is far below what anyone sees. m is the largest mass, so that light particles which
/// carry a heavy one are not softened.
Real largest_stiffness(const SpringsWorkspace& w, Real h);

/// Finds w.rigid, the frames of the pieces as they move now, and w.deviation from them.
void find_frames(const Springs::Model& model, const Springs::State& state, SpringsWorkspace& w);

/// Takes the part of length h [s] that begins `elapsed` [s] into the step, with the supports that act in it;
/// if `strict`, within the constraints of w.multipliers. The frames are to have been found; they are those of
/// its end then.
PartEnd implicit_part(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                      SpringsWorkspace& w, Real elapsed, Real h, bool strict, Report& report);

}  // namespace plenum::inline PLENUM_ABI
