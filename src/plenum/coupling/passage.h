#pragma once
// How a solid passes through a net that it has drawn out farther than a net can be.
#include <span>
#include <vector>

#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// Times its rest length to which a link may be drawn out before what draws it is let through.
inline constexpr Real most_drawn = 3;

/// Scratch memory of let_through, reusable.
struct PassageWorkspace {
  std::vector<Index> overdrawn;
  std::vector<SampleImpulse> moves;
};

/// Lets bodies of `b` that nothing stops through the net of `a`: those that press on an end of a link longer
/// than most_drawn times its rest length, if they go past samples' reach in a substep, or `overtaken` says
/// that the net does. `supports` is what they were to samples of `a` in the part of the substep that ends at
/// s1. Returns the number of samples that were moved.
///
/// All samples that such a body pushes before it are at once set down behind it, against the sum of its
/// pushes. What they had drawn out then comes free, and the links among them keep their lengths beside a
/// ball, since its back is the mirror of its front. Nothing is set down outside of the net's own bounds,
/// where no link would draw it: that has to wait until the body has gone on.
///
/// Why: a body of unbounded force goes where it is sent. A cloth would have to stretch without end to stay
/// before it; its particles, which alone collide, let the body through between them, but for the one or two
/// that are caught on its front and draw all others after them. What draws a net out slowly is not let
/// through, however far.
std::size_t let_through(Boundary& a, const Boundary& b, std::span<const Support> supports, Real s1,
                        bool overtaken, PassageWorkspace& w);

}  // namespace plenum::inline PLENUM_ABI
