// plenum validate: every case's rows with a verdict computed from the figures alone.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "selection.h"
#include "validation.h"

namespace plenum::app {
namespace {

using validation::Relation;
using validation::Row;
using validation::Status;

const char* name_of(Relation relation) {
  switch (relation) {
    case Relation::near:
      return "near";
    case Relation::at_most:
      return "at_most";
    case Relation::at_least:
      return "at_least";
  }
  return "";
}

const char* status_of(const Row& row) {
  constexpr const char* names[] = {"pass", "fail", "report"};
  return names[static_cast<int>(row.status())];
}

void print_json(const std::string& name, const Row& row) {
  // JSON has no infinity; a measured value that is not finite is written as null and fails.
  const auto number = [](double x) {
    return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json();
  };
  const nlohmann::ordered_json line = {{"case", name},
                                       {"quantity", row.quantity},
                                       {"measured", number(row.measured)},
                                       {"reference", number(row.reference)},
                                       {"relation", name_of(row.relation)},
                                       {"tolerance", number(row.tolerance)},
                                       {"unit", row.unit},
                                       {"source", row.source},
                                       {"status", status_of(row)}};
  fmt::print("{}\n", line.dump());
}

/// `width` of the column of quantities.
void print_row(const std::string& name, const Row& row, std::size_t width) {
  const char* sign = row.relation == Relation::near ? "=" : row.relation == Relation::at_most ? "<" : ">";
  const std::string bound = row.status() == Status::report ? std::string(27, ' ')
                            : row.relation == Relation::near
                                ? fmt::format("{} {:<12.6g} +-{:<9.2g}", sign, row.reference, row.tolerance)
                                : fmt::format("{} {:<24.6g}", sign, row.reference);
  fmt::print("{:<38} {:<{}} {:>13.7g} {} {:<8} {:<6}  {}\n", name, row.quantity, width, row.measured, bound,
             row.unit, status_of(row), row.source);
}

}  // namespace

int validate(const ValidateOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto cases = select(validation::all_cases(), options.cases, "case");
  int passed = 0, failed = 0, reported = 0;
  constexpr std::size_t narrow = 44;
  if (!options.json)
    fmt::print("{:<38} {:<{}} {:>13} {:<27} {:<8} {:<6}  {}\n", "case", "quantity", narrow, "measured",
               "reference", "unit", "status", "source");
  for (const validation::Case& c : cases) {
    // What is asked for runs, however long it takes.
    if (c.effort == validation::Effort::thorough && !options.all && options.cases.empty()) continue;
    validation::Rows rows;
    with_threads(options.threads, [&] { c.run(rows); });
    std::size_t width = narrow;  // a case's rows stand in line, wide or not
    for (const Row& row : rows.rows()) width = std::max(width, row.quantity.size());
    for (const Row& row : rows.rows()) {
      if (options.json)
        print_json(c.name, row);
      else
        print_row(c.name, row, width);
      ++(row.status() == Status::pass ? passed : row.status() == Status::fail ? failed : reported);
    }
    std::fflush(stdout);
  }
  if (!options.json)
    fmt::print("{} passed, {} failed, {} reported in {:.1f} s\n", passed, failed, reported,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return failed == 0 ? 0 : 1;
}

}  // namespace plenum::app
