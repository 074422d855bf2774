#pragma once
// Mass properties of solid primitives.
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

/// Of a primitive or a hull of density 1. Closed forms: e.g. Beer & Johnston, "Vector Mechanics for
/// Engineers", inside back cover; the capsule is a cylinder and two half balls. A volume of 0 for what has
/// none, or none that is known: planes, meshes and height fields.
MassProperties mass_properties(const Shape& shape);

}  // namespace plenum::inline PLENUM_ABI
