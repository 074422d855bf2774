#pragma once
#include <string>

namespace plenum::figures {

/// Constraints of position-based dynamics, each with where one projection moves its points.
std::string draw_constraints();

}  // namespace plenum::figures
