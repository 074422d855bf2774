#pragma once
// Bad input is refused at the edge with one sentence: where, what, allowed range, nearest valid name, remedy.
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

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

/// Thrown for every input that is refused; what() is sentence(problem).
class Error : public std::runtime_error {
 public:
  explicit Error(Problem problem);
  explicit Error(std::string what) : Error(Problem{.what = std::move(what)}) {}
  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
};

/// Edit distance with transpositions (Damerau 1964), for suggesting names. Bytes, case-insensitive.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate within the fewest edits: at most a third of `name` or 2, and half of the longer; or empty.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace plenum::inline PLENUM_ABI
