#pragma once
// Which part each particle is of.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// part_of [N]: the part that each particle is of, those too that tears have made; -1: of none.
inline void find_parts_of_particles(const Pbd::Model& model, std::vector<Index>& part_of) {
  part_of.assign(model.mass.size(), -1);
  for (std::size_t p = 0; p < model.parts.size(); ++p)
    std::fill_n(part_of.begin() + model.parts[p].first_particle, model.parts[p].num_particles, Index(p));
  const std::size_t whole = part_of.size() - model.torn_from.size();
  for (std::size_t k = 0; k < model.torn_from.size(); ++k)
    part_of[whole + k] = part_of[std::size_t(model.torn_from[k])];
}

}}  // namespace plenum::PLENUM_ABI::detail
