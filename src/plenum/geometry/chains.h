#pragma once
// Chains of equal links that are longer than the way between their ends.
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// The joints, ends included, of a chain of `links` links, two at least, of length `link` [m] that hangs
/// between two places, at rest under its weight where that acts along the unit vector `down`; for ends above
/// each other within 20 degrees, where it acts 20 degrees off the way between them, so that the chain is no
/// fold; and if it would fold within a link, on an arc. It must be longer than that way.
std::vector<Vec3> hanging_chain(const Vec3& from, const Vec3& to, int links, Real link, const Vec3& down);

/// The same of a chain that lies on an arc of a circle, bent to `side`, a unit vector across the way.
std::vector<Vec3> arc_chain(const Vec3& from, const Vec3& to, int links, Real link, const Vec3& side);

}  // namespace plenum::inline PLENUM_ABI
