#pragma once
// Which tethers hold at their length, and which only under a limit of strain; and what presses their
// particles.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "plenum/geometry/adjacency.h"
#include "plenum/solvers/pbd/detail/projection.h"
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

/// Tethers by the particles that they hold.
///
/// What presses a particle beyond a taut tether goes no farther along its normal: light cloth brings a heavy
/// body nothing of its pins in a sweep, and would be drawn out until the body slips between its particles.
struct PressedTethers {
  std::vector<Index2> ends;         ///< [L] the particle, and what it is tied to
  std::vector<Real> length;         ///< [L] m
  std::vector<std::uint8_t> gives;  ///< [L] see tethers_that_give()
  Rows of;                          ///< of each particle

  void lay_out(const Pbd::Model& model) {
    ends = model.tethers, length = model.tether_length, gives = tethers_that_give(model);
    of.offsets.assign(model.mass.size() + 1, 0), of.items.resize(ends.size());
    for (const Index2& t : ends) ++of.offsets[std::size_t(t[0]) + 1];
    for (std::size_t i = 1; i < of.offsets.size(); ++i) of.offsets[i] += of.offsets[i - 1];
    std::vector<Index> next(of.offsets.begin(), of.offsets.end() - 1);
    for (std::size_t k = 0; k < ends.size(); ++k)
      of.items[std::size_t(next[std::size_t(ends[k][0])]++)] = Index(k);
  }
  /// f(pin, back) for each that is too long: the way [m] back along n, unit, from what presses to the
  /// particle, that makes it no longer. places [N] and at(i), m, of particles.
  template <class At, class F>
  void each_taut(Index particle, const Vector3<double>& n, Real strain_limit, std::span<const Place> places,
                 At&& at, F&& f) const {
    constexpr double least_along = 0.05;  // a cloth that is nearly flat holds nothing across it
    for (const Index k : of[std::size_t(particle)]) {
      const Index pin = ends[std::size_t(k)][1];
      if (places[std::size_t(pin)].inverse_mass > 0) continue;
      const Vector3<double> apart = at(particle) - at(pin);
      const double far = apart.norm();
      const double beyond =
          far - double(tether_reach(length[std::size_t(k)], gives[std::size_t(k)], strain_limit));
      const double along = n.dot(apart) / far;
      if (beyond > 0 && along > least_along) f(pin, beyond / along);
    }
  }
};

}}  // namespace plenum::PLENUM_ABI::detail
