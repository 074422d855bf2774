#include "plenum/solvers/rigid/detail/touch.h"

#include <algorithm>
#include <iterator>

#include "plenum/solvers/rigid/detail/broad.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Moves the pairs for which move(pair) holds from one sorted list to the other.
template <class Move>
void move_pairs(std::vector<Index2>& from, std::vector<Index2>& to, RigidWorkspace& w, Move&& move) {
  w.shared.clear(), w.sleeping_touch.clear();
  std::erase_if(from, [&](const Index2& pair) {
    if (!move(pair)) return false;
    w.shared.push_back(pair);
    return true;
  });
  if (w.shared.empty()) return;
  std::set_union(to.begin(), to.end(), w.shared.begin(), w.shared.end(), std::back_inserter(w.sleeping_touch),
                 is_before);
  std::swap(to, w.sleeping_touch);
}

/// Whether one of a pair moves, so that the step looks at it.
auto looked_at(const Rigid::Model& model, const Rigid::State& state, const RigidWorkspace& w) {
  return [&](const Index2& pair) {
    for (const Index k : {pair[0], pair[1]}) {
      const Index body = model.colliders[k].body;
      if (model.motion[body] == Rigid::Motion::dynamic ? state.rest.island[body] < 0 : w.stirs[body] != 0)
        return true;
    }
    return false;
  };
}

}  // namespace

void wake_touch(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w) {
  if (state.touch.asleep.empty()) return;
  const bool any_kinematic = std::any_of(w.active.begin(), w.active.end(), [&](Index i) {
    return model.motion[i] == Rigid::Motion::kinematic && w.stirs[i];
  });
  if (w.any_woke || any_kinematic)
    move_pairs(state.touch.asleep, state.touch.pairs, w, looked_at(model, state, w));
}

void find_touch(const Rigid::Model&, Rigid::State& state, RigidWorkspace& w) {
  Rigid::Touch& touch = state.touch;
  w.shared.clear();
  for (std::size_t k = 0; k < w.contacts.size(); ++k) {
    const ContactInput& c = w.contacts[k];
    const bool touches =
        c.bounced || std::any_of(c.points, c.points + c.count, [](const ContactInput::Point& p) {
          return p.impulse > 0 || p.separation <= 0;
        });
    const Index2& pair = w.pairs[w.pair_of[w.contact_slot[k]]];
    if (touches && (w.shared.empty() || w.shared.back() != pair)) w.shared.push_back(pair);
  }
  const auto gather = [](const std::vector<Index2>& a, const std::vector<Index2>& b, auto&& algorithm,
                         std::vector<Index2>& out) {
    out.clear();
    algorithm(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), is_before);
  };
  const auto both = [](auto... x) { std::set_union(x...); };
  const auto without = [](auto... x) { std::set_difference(x...); };
  gather(w.shared, w.sensed, both, w.touching);
  gather(w.touching, touch.pairs, without, touch.begun);
  gather(touch.pairs, w.touching, without, touch.ended);
  std::swap(touch.pairs, w.touching);
}

void rest_touch(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w) {
  const auto is_looked_at = looked_at(model, state, w);
  move_pairs(state.touch.pairs, state.touch.asleep, w,
             [&](const Index2& pair) { return !is_looked_at(pair); });
}

}}  // namespace plenum::PLENUM_ABI::detail
