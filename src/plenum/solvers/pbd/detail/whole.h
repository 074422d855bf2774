#pragma once
// What tears, and what it was before.
#include <cstddef>

#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Whole cloth is kept, before anything of it tears.
void keep_whole(Pbd::Model& model);

inline bool is_rope(const Pbd::Part& part) {
  return part.type == PbdPart::Type::rope;
}

/// Calls f(part, segment, edge) for the segments of ropes in their order.
template <class F>
void each_segment(const Pbd::Model& model, F&& f) {
  for (std::size_t part = 0; part < model.parts.size(); ++part) {
    const Pbd::Part& of = model.parts[part];
    for (std::size_t k = 0; is_rope(of) && k < std::size_t(of.num_edges); ++k)
      f(part, k, model.edges[std::size_t(of.first_edge) + k]);
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
