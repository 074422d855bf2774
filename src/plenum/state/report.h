#pragma once
// What a step did, in a fixed size.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plenum/base/real.h"
#include "plenum/base/timing.h"

namespace plenum::inline PLENUM_ABI {

/// Measures and warnings are named by string literals; a warning's text names its remedy.
struct Report {
  struct Measure {
    const char* name = nullptr;
    const char* unit = "";
    double value = 0;
  };
  struct Warning {
    const char* text = nullptr;
    std::int64_t count = 0;
    std::int64_t needed = 0;  ///< the most that it asks for of what there is too little of; 0: no such figure
    std::string sentence() const {
      return needed > 0 ? std::string(text) + " (" + std::to_string(needed) + " needed)" : text;
    }
  };

  int substeps = 0;    ///< the step was divided into, to honour max_dt
  int iterations = 0;  ///< of linear or non-linear solves, all together
  StageTimes stages;

  /// Sets a measure (the last value of several substeps counts); beyond twelve they are dropped.
  void measure(const char* name, double value, const char* unit = "") {
    for (Measure& m : measures_)
      if (!m.name || std::string_view(m.name) == name) {
        m = {name, unit, value};
        return;
      }
  }
  void warn(const char* text, std::int64_t count = 1, std::int64_t needed = 0) {
    if (count <= 0) return;
    for (Warning& w : warnings_)
      if (!w.text || std::string_view(w.text) == text) {
        w = {text, w.count + count, std::max(w.needed, needed)};
        return;
      }
  }
  std::span<const Measure> measures() const {
    std::size_t n = 0;
    while (n < measures_.size() && measures_[n].name) ++n;
    return {measures_.data(), n};
  }
  std::span<const Warning> warnings() const {
    std::size_t n = 0;
    while (n < warnings_.size() && warnings_[n].text) ++n;
    return {warnings_.data(), n};
  }
  /// Value of a measure, or `otherwise`.
  double value(std::string_view name, double otherwise = 0) const {
    for (const Measure& m : measures())
      if (name == m.name) return m.value;
    return otherwise;
  }
  /// Joins the report of a later part of the same step.
  void add(const Report& later) {
    substeps += later.substeps;
    iterations += later.iterations;
    stages.add(later.stages);
    for (const Measure& m : later.measures()) measure(m.name, m.value, m.unit);
    for (const Warning& w : later.warnings()) warn(w.text, w.count, w.needed);
  }

 private:
  std::array<Measure, 12> measures_;
  std::array<Warning, 8> warnings_;
};

}  // namespace plenum::inline PLENUM_ABI
