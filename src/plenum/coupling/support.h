#pragma once
// What a boundary's samples are about to rest on or to strike, told before their step.
#include <vector>

#include "plenum/coupling/depenetration.h"

namespace plenum::inline PLENUM_ABI {

/// Scratch memory of find_supports, reusable.
struct SupportWorkspace {
  std::vector<SweptSolid> solids;
  std::vector<std::vector<Support>> blocks;  ///< found by each block of samples
  std::vector<NearSolids> near;              ///< of each block
  std::vector<Index> pushed;                 ///< bodies that yield
};

/// Appends to `out` the supports that bodies of `b` are to samples of `a` in a step of length h [s], in order
/// of the samples: those that gravity could close in the step, and those that a sample
/// meets on its straight way, where they do not bounce. The bodies have gone through the substep, of which
/// the step is the part [s0, s1]. What is `buried` has none by the body that it is in.
///
/// Planes so found before the step are contacts as Anitescu & Potra 1997 linearize them ("Formulating dynamic
/// multi-rigid-body contact problems with friction as solvable linear complementarity problems", eq. 5: the
/// gap at the end of the step may not be negative).
void find_supports(const Boundary& a, const Boundary& b, Real h, Real s0, Real s1, SupportWorkspace& w,
                   std::vector<Support>& out, std::span<const Buried> buried = {});

/// Adds to `out` what ties the bodies of `b` that `supports` are by to others. They are those that
/// find_supports() has just found there, with its part of the step and its workspace.
void find_links(const Boundary& b, std::span<const Support> supports, Real h, Real s0, Real s1,
                SupportWorkspace& w, BodyLinks& out);

}  // namespace plenum::inline PLENUM_ABI
