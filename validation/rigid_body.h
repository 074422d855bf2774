#pragma once
// What the case rigid_body/rigid looks at besides: bodies in joints.
#include <string>

#include "validation.h"

namespace plenum::validation {

/// Value of the row of a case and quantity in rigid_body.csv. Throws Error if there is none.
double expected(const std::string& name, const std::string& quantity);

/// A heavy symmetric top on a ball joint, in steady precession: m = 1 kg, its centre 0.1 m from the tip.
void gyroscope(Rows& rows);

/// A ball hits a rod that hangs from a hinge, and does not bounce.
void impact(Rows& rows);

}  // namespace plenum::validation
