#pragma once
// Choosing cases by the beginnings of their names.
#include <algorithm>
#include <string>
#include <vector>

#include "usage.h"

namespace plenum::app {

/// Cases whose name begins with one of `beginnings`, or all if there are none. Throws UsageError for a
/// beginning that selects nothing.
template <class Case>
std::vector<Case> select(const std::vector<Case>& all, const std::vector<std::string>& beginnings,
                         const char* kind) {
  if (beginnings.empty()) return all;
  std::vector<bool> chosen(all.size(), false);
  for (const std::string& beginning : beginnings) {
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].name.starts_with(beginning)) any = chosen[i] = true;
    if (any) continue;
    std::vector<std::string> names;
    for (const Case& c : all) {
      names.push_back(c.name);
      names.push_back(c.name.substr(0, c.name.find('/')));
    }
    throw UsageError(Problem{.what = std::string("no ") + kind + " begins with",
                             .value = beginning,
                             .nearest = nearest_name(beginning, names),
                             .remedy = "see 'plenum list cases'"});
  }
  std::vector<Case> selected;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i]) selected.push_back(all[i]);
  return selected;
}

}  // namespace plenum::app
