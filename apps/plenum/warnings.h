#pragma once
// What solvers warn of, said to the user.
#include <span>

#include "plenum/world/world.h"

namespace plenum::app {

/// Says of each system whose stability divides the step far more than any accuracy asks for.
void warn_of_small_steps(const World& world);

/// Says what the reports of the world's systems warn of.
void print_warnings(std::span<const Report> reports, const World& world);

}  // namespace plenum::app
