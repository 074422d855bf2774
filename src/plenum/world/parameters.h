#pragma once
// The numbers of a system's parameters by name, so that those of one scene are found again in another.
#include <map>
#include <string>
#include <vector>

#include "plenum/world/system.h"

namespace plenum::inline PLENUM_ABI {

inline std::vector<Leaf> params_of(System& system) {
  return leaves_of([&](Describer& d) { system.params(d); });
}

/// Of every component of every parameter, in order.
inline std::vector<double> numbers_of(const std::vector<Leaf>& leaves) {
  std::vector<double> numbers;
  for (const Leaf& leaf : leaves)
    for (int c = 0; c < leaf.components(); ++c) numbers.push_back(leaf.get(c));
  return numbers;
}

/// Numbers of parameters by their paths.
using NumbersByPath = std::map<std::string, std::vector<double>>;
inline NumbersByPath numbers_by_path(System& system) {
  NumbersByPath numbers;
  for (const Leaf& leaf : params_of(system)) numbers[leaf.path] = numbers_of({leaf});
  return numbers;
}

/// numbers_of(), with those that `given` has, which may have been before a list grew.
inline std::vector<double> numbers_of(const std::vector<Leaf>& leaves, const NumbersByPath& given) {
  std::vector<double> numbers;
  for (const Leaf& leaf : leaves) {
    const auto found = given.find(leaf.path);
    const std::vector<double> own = found == given.end() ? numbers_of({leaf}) : found->second;
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  return numbers;
}

/// A line for each of numbers_of(): the path of its parameter.
inline std::string paths_of(const std::vector<Leaf>& leaves) {
  std::string paths;
  for (const Leaf& leaf : leaves)
    for (int c = 0; c < leaf.components(); ++c) paths += leaf.path + "\n";
  return paths;
}

}  // namespace plenum::inline PLENUM_ABI
