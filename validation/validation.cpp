#include "validation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "plenum/base/error.h"
#include "reference_data.h"

namespace plenum::validation {
namespace {

std::vector<Case>& registry() {
  static std::vector<Case> cases;
  return cases;
}

/// Cells of a comma-separated line; a cell in double quotes may hold commas.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

}  // namespace

Status Row::status() const {
  if (std::isnan(reference) && std::isnan(tolerance)) return Status::report;
  if (!std::isfinite(measured)) return Status::fail;
  bool holds = false;  // comparisons with a bound that is not a number
  switch (relation) {
    case Relation::near:
      holds = std::abs(measured - reference) <= tolerance;
      break;
    case Relation::at_most:
      holds = measured <= reference + tolerance;
      break;
    case Relation::at_least:
      holds = measured >= reference - tolerance;
      break;
  }
  return holds ? Status::pass : Status::fail;
}

void Rows::near(std::string quantity, double measured, double reference, double tolerance, std::string unit,
                std::string source) {
  rows_.push_back({std::move(quantity), measured, reference, Relation::near, tolerance, std::move(unit),
                   std::move(source)});
}
void Rows::at_most(std::string quantity, double measured, double bound, std::string unit,
                   std::string source) {
  rows_.push_back(
      {std::move(quantity), measured, bound, Relation::at_most, 0, std::move(unit), std::move(source)});
}
void Rows::at_least(std::string quantity, double measured, double bound, std::string unit,
                    std::string source) {
  rows_.push_back(
      {std::move(quantity), measured, bound, Relation::at_least, 0, std::move(unit), std::move(source)});
}
void Rows::report(std::string quantity, double measured, std::string unit, std::string source) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  rows_.push_back(
      {std::move(quantity), measured, none, Relation::near, none, std::move(unit), std::move(source)});
}

Register::Register(const char* name, Effort effort, void (*run)(Rows&)) {
  registry().push_back({name, effort, run});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = registry();
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

Reference::Reference(const std::string& name) : name_(name) {
  for (const ReferenceFile& file : reference_files) {
    if (name != file.name) continue;
    std::istringstream lines(std::string(file.text, file.size));
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      if (columns_.empty())
        columns_ = cells_of(line);
      else
        rows_.push_back(cells_of(line));
    }
    return;
  }
  throw Error("no reference table " + name);
}

std::size_t Reference::column_of(const std::string& column) const {
  const auto at = std::find(columns_.begin(), columns_.end(), column);
  if (at == columns_.end()) throw Error("no column " + column + " in reference table " + name_);
  return static_cast<std::size_t>(at - columns_.begin());
}

const std::string& Reference::text(std::size_t row, const std::string& column) const {
  return rows_.at(row).at(column_of(column));
}
double Reference::number(std::size_t row, const std::string& column) const {
  return std::strtod(text(row, column).c_str(), nullptr);
}
std::size_t Reference::find(const std::string& column, const std::string& value) const {
  const std::size_t c = column_of(column);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (rows_[r].at(c) == value) return r;
  throw Error("no row " + value + " in reference table " + name_);
}

}  // namespace plenum::validation
