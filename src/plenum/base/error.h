#pragma once
// Bad input is refused at the edge with one sentence: where, what, allowed range, nearest valid name, remedy.
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// What is wrong with an input. Empty parts are left out of the sentence.
struct Problem {
  std::string file = {};     ///< as the user named it
  int line = 0;              ///< 1-based, 0 if unknown
  std::string key = {};      ///< path of the key, e.g. systems[0].params.stiffness
  std::string what = {};     ///< the complaint, a clause without a full stop
  std::string value = {};    ///< the offending value as written
  std::string allowed = {};  ///< the range or the names that are allowed
  std::string nearest = {};  ///< the nearest valid name
  std::string remedy = {};   ///< what to do about it
};

/// The one sentence: "flag.json:12: systems[0].params.stiffness: is out of range: -3 (allowed: 0 to 1e9
/// N/m)".
std::string sentence(const Problem& problem);

/// Thrown for every input that is refused; what() has a line, sentence(problem), for each of its problems.
class Error : public std::runtime_error {
 public:
  explicit Error(Problem problem);
  explicit Error(std::string what) : Error(Problem{.what = std::move(what)}) {}
  /// Of one problem or more.
  explicit Error(std::vector<Problem> problems);
  /// The first, of most errors the only one.
  const Problem& problem() const { return problems_.front(); }
  std::span<const Problem> problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// Throws the problems of an Error with their keys as of what is in `key`.
[[noreturn]] void rethrow_under(std::string_view key, const Error& error);

/// Calls look(); the keys of what it refuses become those of what is in `key`.
template <class Look>
void under(std::string_view key, Look&& look) {
  try {
    look();
  } catch (const Error& error) {
    rethrow_under(key, error);
  }
}

/// Gathers what is wrong with the parts of an input, so that all of it can be told at once.
class Refusals {
 public:
  /// Calls look(), and keeps the problems of the Error that it may throw.
  template <class Look>
  void keep(Look&& look) {
    try {
      look();
    } catch (const Error& error) {
      for (const Problem& problem : error.problems()) keep(problem);
    }
  }
  void keep(Problem problem) {
    if (problems_.size() < most) problems_.push_back(std::move(problem));
  }
  /// Throws all that was kept as one Error, if there is any.
  void refuse() {
    if (!problems_.empty()) throw Error(std::move(problems_));
  }

 private:
  static constexpr std::size_t most = 1000;  // of what nobody reads
  std::vector<Problem> problems_;
};

/// Edit distance with transpositions (Damerau 1964), for suggesting names. Bytes, case-insensitive.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate that `name` was most likely meant to be, or empty: one edit away; or the word here for what
/// other programs call `name` (`static` for `fixed`); or that begins with `name`; or within a third of its
/// letters (at least 2) and half of the longer; or that `name` begins with; or of which it is a whole word
/// (`pins` of `cloth.pins.0`). Names of under three letters only by edits.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace plenum::inline PLENUM_ABI
