#include "warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "log.h"

namespace plenum::app {

void warn_of_small_steps(const World& world) {
  constexpr double many = 10;
  const WorldSettings& settings = world.settings();
  const double h = 1 / (static_cast<double>(settings.fps) * settings.substeps);
  for (std::size_t i = 0; i < world.size(); ++i) {
    const auto limit = static_cast<double>(world.system(i).max_dt());
    const double parts = limit > 0 ? std::ceil(h / limit) : std::numeric_limits<double>::infinity();
    if (parts < many) continue;
    warn(fmt::format(
        "{}: each step of {:.3g} s is divided into {:.0f}, because its method is stable up to {:.2g} s "
        "only; take an implicit method, lower the stiffness or raise the masses",
        world.system(i).name(), h, std::min(parts, double(settings.max_substeps)), limit));
  }
}

void print_warnings(std::span<const Report> reports, const World& world) {
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const Report::Warning& w : reports[i].warnings())
      warn(fmt::format("{}: {}{}", world.system(i).name(), w.text,
                       w.count > 1 ? fmt::format(" ({} times)", w.count) : ""));
}

}  // namespace plenum::app
