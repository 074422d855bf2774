#include "warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "log.h"

namespace plenum::app {

std::string Warning::sentence() const {
  return fmt::format("{}{}{}{}", system, system.empty() ? "" : ": ", text,
                     times > 1 ? fmt::format(" ({} times)", times) : "");
}

std::vector<Warning> first_warnings(const World& world) {
  constexpr double many = 10;
  const WorldSettings& settings = world.settings();
  const double h = 1 / (static_cast<double>(settings.fps) * settings.substeps);
  std::vector<Warning> warnings;
  for (const std::string& doubt : world.doubts()) warnings.push_back({"", doubt});
  for (std::size_t i = 0; i < world.size(); ++i) {
    for (const std::string& doubt : world.system(i).doubts())
      warnings.push_back({world.system(i).name(), doubt});
    const auto limit = static_cast<double>(world.system(i).max_dt());
    const double parts = limit > 0 ? std::ceil(h / limit) : std::numeric_limits<double>::infinity();
    if (parts < many) continue;
    const double allowed = std::min(parts, double(settings.max_substeps));
    std::string too_few;
    if (parts > allowed) {
      too_few = allowed > 1 ? ", as many as world.max_substeps allows" : ", as world.max_substeps has it";
      if (std::isfinite(parts)) too_few += fmt::format(" and fewer than the {:.0f} that it needs", parts);
    }
    const std::string taken = allowed > 1 ? fmt::format("divided into {:.0f}", allowed) : "taken whole";
    warnings.push_back(
        {world.system(i).name(),
         fmt::format("each step of {:.3g} s is {}{}; its method is stable up to {:.2g} s only; {}", h, taken,
                     too_few, limit, world.system(i).remedy_of_small_steps())});
  }
  return warnings;
}

void append_warnings(std::span<const Report> reports, const World& world, std::vector<Warning>& warnings) {
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const Report::Warning& w : reports[i].warnings())
      warnings.push_back({world.system(i).name(), w.sentence(), w.count});
}

std::vector<Warning> remarks_of(const FrameReport& report, const World& world) {
  std::vector<Warning> remarks;
  for (const Remark& remark : report.remarks)
    remarks.push_back({world.system(remark.system).name(), remark.text});
  return remarks;
}

void print(const std::vector<Warning>& warnings) {
  for (const Warning& w : warnings) warn(w.sentence());
}

}  // namespace plenum::app
