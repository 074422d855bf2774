#pragma once
// What solvers warn of, said to the user.
#include <span>
#include <string>
#include <vector>

#include "plenum/world/world.h"

namespace plenum::app {

struct Warning {
  std::string system;  ///< empty: none in particular
  std::string text;
  std::int64_t times = 1;
  std::string sentence() const;
};

/// What can be told before the first step: what is doubtful about each system's model, and whether its
/// stability divides the step far more than any accuracy asks for.
std::vector<Warning> first_warnings(const World& world);

/// What the reports of the world's systems warn of.
void append_warnings(std::span<const Report> reports, const World& world, std::vector<Warning>& warnings);

/// What the world tells once.
std::vector<Warning> remarks_of(const FrameReport& report, const World& world);

/// Says them on the standard error.
void print(const std::vector<Warning>& warnings);

}  // namespace plenum::app
