#pragma once
// What the cases of rigid bodies share.
#include <string>

#include "validation.h"

namespace plenum::validation {

/// Value of the row of a case and quantity in rigid_body.csv. Throws Error if there is none.
double expected(const std::string& name, const std::string& quantity);

/// Runs `measure(dt, row)` at the row's own step `fine` [s] and, reported only, at 1/60 s.
/// row(quantity, value, reference, tolerance, unit).
template <class Measure>
void at_both_steps(Rows& rows, double fine, Measure&& measure) {
  const std::string source = "closed form, rigid_body.csv";
  measure(fine,
          [&](const std::string& quantity, double value, double reference, double tolerance,
              const std::string& unit) { rows.near(quantity, value, reference, tolerance, unit, source); });
  measure(1.0 / 60, [&](const std::string& quantity, double value, double, double, const std::string& unit) {
    rows.report(quantity + ", at 1/60 s", value, unit, source);
  });
}

/// Bodies that turn with no torque on them.
void free_tops(Rows& rows);

/// Heavy symmetric tops on ball joints: in steady precession, and upright.
void tops_on_pivots(Rows& rows);

/// Balls hit a rod that hangs from a hinge, and do not bounce.
void impact(Rows& rows);

}  // namespace plenum::validation
