#pragma once
// Which tethers hold at their length, and which only under a limit of strain.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// [L] Whether the part of a tether may stretch: what has no compliance is no farther from a pin than it is
/// at rest; what has, by the part of it that a limit of strain allows along every way, and any distance
/// without.
inline std::vector<std::uint8_t> tethers_that_give(const Pbd::Model& model) {
  std::vector<std::uint8_t> gives(model.mass.size(), 0), out;
  for (const Pbd::Part& part : model.parts)
    std::fill_n(gives.begin() + part.first_particle, part.num_particles, std::uint8_t(part.gives));
  const std::size_t whole = model.mass.size() - model.torn_from.size();
  for (std::size_t k = 0; k < model.torn_from.size(); ++k)
    gives[whole + k] = gives[std::size_t(model.torn_from[k])];
  for (const Index2& t : model.tethers) out.push_back(gives[std::size_t(t[0])]);
  return out;
}
/// [m] How far a tether lets go.
inline Real tether_reach(Real length, bool gives, Real strain_limit) {
  if (!gives) return length;
  return strain_limit > 0 ? (1 + strain_limit) * length : std::numeric_limits<Real>::infinity();
}

}}  // namespace plenum::PLENUM_ABI::detail
