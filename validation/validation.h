#pragma once
// Cases with a published or closed-form answer. A file of this folder defines functions that append rows and
// registers each with one line; the program finds them by the registry.
#include <string>
#include <vector>

namespace plenum::validation {

/// [m/s^2], as in the tables of validation/reference.
inline constexpr double g = 9.81;

enum class Relation { near, at_most, at_least };
enum class Status { pass, fail, report };

struct Row {
  std::string quantity;
  double measured = 0, reference = 0;
  Relation relation = Relation::near;
  double tolerance = 0;  ///< absolute
  std::string unit, source;

  /// near: |measured - reference| <= tolerance; at_most: measured <= reference + tolerance; at_least:
  /// measured >= reference - tolerance. A value that is not finite fails; with neither reference nor
  /// tolerance, both not a number, the row only reports.
  Status status() const;
};

/// What a case measured, in order.
class Rows {
 public:
  void near(std::string quantity, double measured, double reference, double tolerance, std::string unit,
            std::string source);
  void at_most(std::string quantity, double measured, double bound, std::string unit, std::string source);
  void at_least(std::string quantity, double measured, double bound, std::string unit, std::string source);
  void report(std::string quantity, double measured, std::string unit, std::string source);
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

enum class Effort { quick, thorough };  ///< thorough cases run with --all

/// The case by which a solver answers for a file of validation/reference is named file/solver, every other
/// one solver/what. No name begins with another's, so that an argument of `plenum validate` can choose any
/// alone.
struct Case {
  std::string name;
  Effort effort;
  void (*run)(Rows&);
};

/// `static const Register pendulum("pendulum_period/integrate", Effort::quick, run_pendulum);`
struct Register {
  Register(const char* name, Effort effort, void (*run)(Rows&));
};

/// All cases, by name.
std::vector<Case> all_cases();

/// A table of validation/reference, built into the program: header names and rows of cells. Throws Error if
/// there is no file NAME.csv or no such column.
class Reference {
 public:
  explicit Reference(const std::string& name);
  std::size_t size() const { return rows_.size(); }
  double number(std::size_t row, const std::string& column) const;
  const std::string& text(std::size_t row, const std::string& column) const;
  /// Row whose `column` holds `value`.
  std::size_t find(const std::string& column, const std::string& value) const;

 private:
  std::size_t column_of(const std::string& column) const;
  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace plenum::validation
