#include "plenum/solvers/rigid/detail/pace.h"

#include <algorithm>
#include <cmath>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// [s] Contacts are looked for once a step; in a longer one bodies turn and slide past what was found. A
/// frame at 30 Hz is one step, its rounding included.
constexpr Real longest_step = Real(1.0001) / 30;

/// Of what is in a crowd and fast for its size, contacts are looked for before it has gone so many times its
/// size past its neighbours: what one of them turns aside meets others than those it went for. 80 bodies of a
/// centimetre that fall by a metre into a bin were by half their size in each other at 1/60 s, and by 0.001
/// of it at 1/240 s.
constexpr Real most_sizes = 1;
/// [s] but no more often than that.
constexpr Real shortest_step = Real(1.0001) / 480;

/// Of a part of a step, the same together with what it turns: 27 cubes of 10 cm in a drum of 80 cm that turns
/// at 3/s were by 0.33 of their size in each other, or by more than 0.01 in 479 of 1200 frames, in whole
/// steps.
constexpr Real sizes_of_part = Real(0.2);

bool is_dynamic(const Rigid::Model& model, const Rigid::Collider& c) {
  return model.motion[std::size_t(c.body)] == Rigid::Motion::dynamic;
}

/// [1/s] How many times the smaller one's size the two go past each other.
Real sizes_passed(const Rigid::State& state, const Rigid::Collider& a, const Rigid::Collider& b) {
  return (state.frames.v[std::size_t(b.body)] - state.frames.v[std::size_t(a.body)]).norm() /
         std::min(a.size, b.size);
}

/// The same of what turns: the corners go round on half a size. Balls have none.
Real sizes_turned(const Rigid::State& state, const Rigid::Collider& a, const Rigid::Collider& b) {
  const auto spin_of = [&](const Rigid::Collider& c) -> Vec3 {
    return c.spread > 0 ? state.frames.w[std::size_t(c.body)] : Vec3(Vec3::Zero());
  };
  return Real(0.5) * (spin_of(b) - spin_of(a)).norm();
}

/// The largest pace(pair) of those that touch or are near.
template <class Pace>
Real fastest_of(const Rigid::State& state, Pace&& pace) {
  constexpr std::size_t pairs_per_block = 256;
  const auto larger = [](Real a, Real b) { return std::max(a, b); };
  const auto of = [&](const std::vector<Index2>& pairs) {
    return ordered_reduce(
        pairs.size(), pairs_per_block, Real(0),
        [&](std::size_t begin, std::size_t end) {
          Real fastest = 0;
          for (std::size_t k = begin; k < end; ++k) fastest = larger(fastest, pace(pairs[k]));
          return fastest;
        },
        larger);
  };
  return larger(of(state.contacts.pair), of(state.near.pair));
}

}  // namespace

Real Rigid::max_dt(const Model& model, const State& state, const Params&) {
  const Real fastest = fastest_of(state, [&](const Index2& pair) {
    const Collider &a = model.colliders[pair[0]], &b = model.colliders[pair[1]];
    return is_dynamic(model, a) && is_dynamic(model, b) ? sizes_passed(state, a, b) : Real(0);
  });
  Real limit = fastest * longest_step > most_sizes ? most_sizes / fastest : longest_step;
  // After short steps, step by step: those have not seen what is farther away.
  if (state.dt > 0 && !state.contacts.pair.empty()) limit = std::min(limit, Real(2.0001) * state.dt);
  return std::max(limit, shortest_step);
}

int detail::substeps_of_part(const Rigid::Model& model, const Rigid::State& state,
                             const Rigid::Params& params, Real dt, int left) {
  if (params.solver != Rigid::Method::soft_steps || left < 2) return left;
  const Real fastest = fastest_of(state, [&](const Index2& pair) {
    const Rigid::Collider &a = model.colliders[pair[0]], &b = model.colliders[pair[1]];
    const bool moves_a = is_dynamic(model, a), moves_b = is_dynamic(model, b);
    if (!moves_a && !moves_b) return Real(0);
    // Along what stands or is moved as one wishes bodies may slide and roll as fast as they like.
    const Real passed = moves_a && moves_b ? sizes_passed(state, a, b) : Real(0);
    return passed + sizes_turned(state, a, b);
  });
  const Real in_substep = fastest * dt / static_cast<Real>(params.substeps);
  if (!(in_substep * static_cast<Real>(left) > sizes_of_part)) return left;
  return std::clamp(static_cast<int>(sizes_of_part / in_substep), 1, left);
}

}  // namespace plenum::inline PLENUM_ABI
