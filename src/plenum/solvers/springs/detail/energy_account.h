#pragma once
// What explicit methods make of nothing where springs are pushed together, and how it is taken back.
//
// A spring pushes what is beside its line away with the tangent -k (l0/l - 1): shorter than half its rest
// length, with more than its stiffness, which is all that the stable step knows of; and through no length at
// all, its force turns round within no time. No step is short enough for either. Symplectic methods wander up
// and down in energy there and, as there is more room above, up in the long run: an undamped net that falls
// together would reach thousands of times its energy.
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

/// Books one step. `State::energy_made` sums what such steps added to kinetic and elastic energy beyond the
/// work done on the net, so that energy which an undisturbed method gives back a step later is left alone.
/// What dampers took counts as lost by the method: neither that nor a loss of its own lets it make more later
/// than a twentieth of the energy, which is the highest of late: what swings has none left where it turns.
class EnergyAccount {
 public:
  /// Before a step. x0, v0 [N] m, m/s: copies of the state, but for the velocities of what is held.
  EnergyAccount(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
                SpringsWorkspace& w, std::span<const Vec3> x0, std::span<const Vec3> v0);

  /// After it, of length h [s]: whether more was made by now than may be, and much of it by this step.
  bool overdrawn(const Springs::State& state, Real h);

  /// Then: enters the step, and slows the net by what is overdrawn, as far as it moves.
  void enter(Springs::State& state) const;

 private:
  double elastic(const Springs::State& state);
  double work_of_air(const Springs::State& state) const;
  double work_of_pins(const Springs::State& state, Real h);

  const Springs::Model& model_;
  const Springs::Params& params_;
  SpringsWorkspace& w_;
  std::span<const Vec3> x0_, v0_;
  double before_ = 0;              // [J] elastic
  double kinetic_ = 0, seen_ = 0;  // [J] after it
  double made_ = 0, taken_ = 0;    // [J]
};

}  // namespace plenum::inline PLENUM_ABI
