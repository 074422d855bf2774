#pragma once
// Colours and ticks that all figures share.
#include <fmt/format.h>

#include <initializer_list>
#include <numbers>
#include <string_view>
#include <vector>

#include "plot.h"

namespace plenum::figures {

inline constexpr double pi = std::numbers::pi;

// Okabe & Ito 2008, "Color universal design", some darkened so that text in them reads on white.
inline constexpr std::string_view vermilion = "#c14e00", orange = "#b97700", blue = "#0067a8",
                                  sky = "#2b8cc4", green = "#007f5c", purple = "#a5487f", grey = "#5a5a58",
                                  ink = "#333333", pale = "#8a8a86";

inline std::vector<Tick> ticks(std::initializer_list<double> values) {
  std::vector<Tick> out;
  for (const double v : values) out.push_back({v, v < 0 ? fmt::format("−{}", -v) : fmt::format("{}", v)});
  return out;
}

}  // namespace plenum::figures
