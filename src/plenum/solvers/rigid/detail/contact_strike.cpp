// What strikes, and so hard that the passes of a sub-step would make a bounce of it.
#include <algorithm>
#include <atomic>
#include <limits>

#include "plenum/solvers/rigid/detail/contact_batch.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// The passes stop a blow well enough by themselves if no more than this times the lighter body's mass is
/// behind it: they leave a rebound of about a tenth.
constexpr Real light = Real(2.75);
/// [kg] Behind what rests on something that does not move.
constexpr Real held = std::numeric_limits<Real>::max() / 4;

}  // namespace

bool ContactSolver::find_blows(const SolverBodies& bodies, bool first) {
  const Wide zero{}, strike = fill(-settings_.strike), h = fill(settings_.h);
  if (first) {
    first_.behind.clear();
    // Only what moves strikes: most steps end here.
    bool any_fast = false;
    moved_.resize(bodies.velocity.size());
    const Real least = settings_.strike * settings_.strike / 8, still = Real(1e-4);  // [rad^2/s^2]
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const BodyVelocity& u = bodies.velocity[i];
      const BodyInertia& k = bodies.inertia[i];
      const Real v2 = u.v[0] * u.v[0] + u.v[1] * u.v[1] + u.v[2] * u.v[2],
                 w2 = u.w[0] * u.w[0] + u.w[1] * u.w[1] + u.w[2] * u.w[2];
      moved_[i] = v2 > least ? 1 : 0;
      if (moved_[i] || w2 < still) {
        any_fast |= moved_[i] != 0;
        continue;
      }
      // No point of a body is much farther than twice the radius of gyration from its centre.
      const Real slow = std::min({k.inverse[0], k.inverse[1], k.inverse[2]});
      const bool fast = v2 * slow + 4 * w2 * k.inverse_mass > least * slow || (slow == 0 && v2 + w2 > 0);
      moved_[i] = fast ? 1 : 0;
      any_fast |= moved_[i] != 0;
    }
    if (!any_fast) return false;
  } else if (!any_near_) {
    return false;
  }
  std::atomic<bool> found = false;
  parallel_for(batches_.size(), batches_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      Batch& batch = batches_[b];
      batch.struck = 0;
      if (batch.chained == 0) continue;
      if (first) {
        if (!any(moves(batch) > zero)) continue;
      } else if (!batch.near) {
        continue;
      }
      view(batch, [&](const auto& at) {
        const WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
        const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
        const Wide3 n = at.normal();
        Wide hits{};
        for (int p = 0; p < batch.count; ++p) {
          const Wide speed = dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p)));
          const auto strikes =
              (at.mass(p) > zero) & (speed < strike) & (at.separation(p, ma, mb) + h * speed < zero);
          hits = strikes ? fill(1) : hits;
        }
        for (int l = 0; l < wide; ++l) batch.struck |= unsigned(hits[l] != 0) << l;
        batch.struck &= batch.chained;
        if (batch.struck != 0) found.store(true, std::memory_order_relaxed);
      });
    }
  });
  return found && keep_squeezed(bodies);
}

bool ContactSolver::keep_squeezed(const SolverBodies& bodies) {
  // Also by what rested on each other when the first blow of the step came: what is about to come up from
  // behind in it is not at rest any more.
  weigh_together(bodies, now_);
  if (first_.behind.empty()) first_ = now_;
  const auto mass_of = [&](Index i) {
    const Real k = bodies.inertia[i].inverse_mass;
    return k > 0 ? 1 / k : held;
  };
  const auto strikes = [&](const Heaps& heaps, Index a, Index b) {
    const Real behind_a = heaps.behind[heaps.of[a]], behind_b = heaps.behind[heaps.of[b]];
    // What is one with the other, or held as well, does not come with all that rests on it.
    const bool comes = heaps.of[a] != heaps.of[b] && std::min(behind_a, behind_b) < held;
    return comes ? std::min(behind_a, behind_b) : std::max(mass_of(a), mass_of(b));
  };
  bool any_kept = false;
  for (Batch& batch : batches_)
    for (int l = 0; batch.struck >> l != 0; ++l) {
      if (!(batch.struck >> l & 1)) continue;
      const Index a = batch.a[l], b = batch.b[l];
      if (std::max(strikes(now_, a, b), strikes(first_, a, b)) > light * std::min(mass_of(a), mass_of(b)))
        any_kept = true;
      else
        batch.struck &= ~(1U << l);
    }
  return any_kept;
}

void ContactSolver::weigh_together(const SolverBodies& bodies, Heaps& heaps) {
  std::vector<Index>& together = heaps.of;
  std::vector<Real>& behind = heaps.behind;
  const std::size_t n = bodies.velocity.size();
  together.resize(n);
  for (std::size_t i = 0; i < n; ++i) together[i] = Index(i);
  const auto root = [&](Index i) {
    while (together[i] != i) i = together[i] = together[together[i]];
    return i;
  };
  behind.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Real k = bodies.inertia[i].inverse_mass;
    behind[i] = k > 0 ? 1 / k : held;
  }
  const Wide zero{}, slow = fill(settings_.strike * settings_.strike), strike = fill(settings_.strike),
                     h = fill(settings_.h);
  for (const Batch& batch : batches_)
    view(batch, [&](const auto& at) {
      const WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
      const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
      const Wide3 passes = velocity_at(vb, at.patch_b()) - velocity_at(va, at.patch_a());
      // What is so near that it will have come up before the sub-step is over, if the other is stopped.
      const Wide fastest = max(dot(va.v, va.v), dot(vb.v, vb.v)), near = h * max(strike, sqrt(fastest));
      Wide touches{};
      for (int p = 0; p < batch.count; ++p)
        touches = (at.mass(p) > zero) & (at.separation(p, ma, mb) < near) ? fill(1) : touches;
      const Wide rests = dot(passes, passes) < slow ? touches : zero;
      for (int l = 0; l < wide; ++l) {
        if (rests[l] == 0) continue;
        const bool moves_a = batch.writes_a >> l & 1, moves_b = batch.writes_b >> l & 1;
        if (!moves_a && !moves_b) continue;
        const Index a = root(batch.a[l]), b = root(batch.b[l]);
        if (a == b) continue;
        // What does not move holds what rests on it, and connects nothing.
        const Real both = std::min(held, behind[a] + behind[b]);
        if (moves_a) behind[a] = both;
        if (moves_b) behind[b] = both;
        if (moves_a && moves_b) together[std::max(a, b)] = std::min(a, b), behind[std::min(a, b)] = both;
      }
    });
  for (std::size_t i = 0; i < n; ++i) together[i] = root(Index(i));
}

}}  // namespace plenum::PLENUM_ABI::detail
