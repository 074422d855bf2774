#pragma once
// Nets in worlds: one is added, and its strain measured.
#include <algorithm>
#include <utility>

#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"

namespace plenum::test {

/// A net of one part, of the name "net".
inline SystemOf<Springs>& add_net(World& world, const SpringsPart& part, const Springs::Params& params = {}) {
  Springs::Model model;
  Springs::State state;
  Springs::build({.parts = {part}}, model, state);
  return world.add<Springs>("net", std::move(model), std::move(state), params);
}

inline double largest_strain(const SystemOf<Springs>& net) {
  double most = 0;
  for (std::size_t e = 0; e < net.model.edges.size(); ++e)
    most = std::max(most, double(Springs::strain(net.model, net.state, e)));
  return most;
}

}  // namespace plenum::test
