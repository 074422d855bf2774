#pragma once
// The figure of docs/theory/mass-spring-nets.md, and what it is drawn from.
#include <string>
#include <vector>

#include "plot.h"

namespace plenum::figures {

/// Points [links + 1] of an inextensible rope of length `length` between two level points at distance 1, the
/// middle of which is the origin, once it hangs still; stepped by the solver. x across, y up.
std::vector<Point> rope_at_rest(int links, double length);

/// The catenary of that length, y = a (cosh(x/a) - cosh(1/(2a))) with 2 a sinh(1/(2a)) = length > 1, at x.
double catenary(double length, double x);

std::string draw_nets();

}  // namespace plenum::figures
