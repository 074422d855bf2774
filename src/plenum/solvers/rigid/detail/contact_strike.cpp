// What strikes, and so hard that the passes of a sub-step would make a bounce of it.
#include <algorithm>
#include <atomic>
#include <limits>

#include "plenum/solvers/rigid/detail/contact_batch.h"
#include "plenum/solvers/rigid/detail/joint_solver.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// The passes stop a blow well enough by themselves if no more than this times the lighter body's mass is
/// behind it: they leave a rebound of about a tenth.
constexpr Real light = Real(2.75);
/// [kg] Behind what rests on something that does not move.
constexpr Real held = std::numeric_limits<Real>::max() / 4;

/// [m/s] at r.
Vec3 velocity_of(const BodyVelocity& u, const Vec3& r) {
  return Vec3(u.v[0], u.v[1], u.v[2]) + Vec3(u.w[0], u.w[1], u.w[2]).cross(r);
}

}  // namespace

Wide ContactSolver::least_separation(const SolverBodies& bodies, std::size_t b) const {
  const Batch& batch = batches_[b];
  const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
  Wide least = fill(std::numeric_limits<Real>::max());
  view(batch, [&](const auto& at) {
    for (int p = 0; p < batch.count; ++p)
      least = at.mass(p) > Wide{} ? min(least, at.separation(p, ma, mb)) : least;
  });
  return least;
}

bool ContactSolver::find_blows(const SolverBodies& bodies, bool first, const JointSolver& joints) {
  const Wide zero{}, strike = fill(-settings_.strike), h = fill(settings_.h);
  if (first) {
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
  share_batches(batches_.size(), [&](std::size_t begin, std::size_t end) {
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
  return found && keep_squeezed(bodies, joints);
}

bool ContactSolver::keep_squeezed(const SolverBodies& bodies, const JointSolver& joints) {
  list_meetings();
  const auto mass_of = [&](Index i) {
    const Real k = bodies.inertia[i].inverse_mass;
    return k > 0 ? 1 / k : held;
  };
  const auto meetings_of = [&](Index i) { return first_meeting_[i + 1] - first_meeting_[i]; };
  bool any_kept = false;
  for (std::size_t b = 0; b < batches_.size(); ++b) {
    Batch& batch = batches_[b];
    for (int l = 0; batch.struck >> l != 0; ++l) {
      if (!(batch.struck >> l & 1)) continue;
      // Of a body that falls on others, least is to be gone through.
      Index first = batch.a[l], second = batch.b[l];
      if (meetings_of(first) > meetings_of(second)) std::swap(first, second);
      const Real enough = light * std::min(mass_of(first), mass_of(second));
      if (behind(bodies, joints, b, l, first, enough) >= enough &&
          behind(bodies, joints, b, l, second, enough) >= enough)
        any_kept = true;
      else
        batch.struck &= ~(1U << l);
    }
  }
  return any_kept;
}

void ContactSolver::list_meetings() {
  if (!meeting_.empty()) return;
  const std::size_t n = meets_.size();
  first_meeting_.assign(n + 1, 0);
  const auto each = [&](auto&& visit) {
    for (std::size_t b = 0; b < batches_.size(); ++b)
      for (int l = 0; l < wide; ++l) {
        if (batches_[b].contact[l] < 0) continue;
        if (batches_[b].writes_a >> l & 1) visit(batches_[b].a[l], b * wide + std::size_t(l));
        if (batches_[b].writes_b >> l & 1) visit(batches_[b].b[l], b * wide + std::size_t(l));
      }
  };
  each([&](Index body, std::size_t) { ++first_meeting_[std::size_t(body) + 1]; });
  for (std::size_t i = 0; i < n; ++i) first_meeting_[i + 1] += first_meeting_[i];
  meeting_.resize(first_meeting_[n]);
  each([&](Index body, std::size_t at) {
    meeting_[first_meeting_[std::size_t(body)]++] = static_cast<std::uint32_t>(at);
  });
  for (std::size_t i = n; i > 0; --i) first_meeting_[i] = first_meeting_[i - 1];
  first_meeting_[0] = 0;
}

Real ContactSolver::behind(const SolverBodies& bodies, const JointSolver& joints, std::size_t b, int lane,
                           Index body, Real enough) {
  const Batch& batch = batches_[b];
  const bool is_b = batch.b[lane] == body;
  const Index other = is_b ? batch.a[lane] : batch.b[lane];
  // Stopped, it goes as the other does where they meet.
  Vec3 stopped;
  view(batch, [&](const auto& at) {
    stopped = velocity_of(bodies.velocity[other], get(is_b ? at.patch_a() : at.patch_b(), lane));
  });
  Real sum = 0;
  const JointSolver::Groups& groups = joints.groups();
  const auto group_of = [&](Index i) { return std::size_t(i) < groups.of.size() ? groups.of[i] : Index(-1); };
  groups_met_.clear();
  const auto add = [&](Index i) {
    visited_.push_back(i);
    if (const Index group = group_of(i); group >= 0) {
      if (std::find(groups_met_.begin(), groups_met_.end(), group) != groups_met_.end()) return;
      groups_met_.push_back(group);
      sum += std::min(held, groups.mass[group]);
      for (Index k = groups.next[i]; k != i; k = groups.next[k]) visited_.push_back(k);
    } else {
      const Real k = bodies.inertia[i].inverse_mass;
      sum += k > 0 ? 1 / k : held;
    }
  };
  visited_.assign(1, other);
  add(body);
  for (std::size_t k = 1; k < visited_.size() && sum < enough; ++k) {
    const Index at_front = visited_[k];
    for (std::uint32_t m = first_meeting_[at_front]; m < first_meeting_[at_front + 1] && sum < enough; ++m) {
      const Batch& of = batches_[meeting_[m] / wide];
      const int l = int(meeting_[m] % wide);
      const bool front_is_b = of.b[l] == at_front;
      const Index next = front_is_b ? of.a[l] : of.b[l];
      if (std::find(visited_.begin(), visited_.end(), next) != visited_.end()) continue;
      view(of, [&](const auto& at) {
        const Vec3 n = (front_is_b ? Real(1) : Real(-1)) * get(at.normal(), l);
        const Vec3 comes =
            velocity_of(bodies.velocity[next], get(front_is_b ? at.patch_a() : at.patch_b(), l)) - stopped;
        const Real speed = n.dot(comes);
        if (speed < settings_.strike) return;
        if (least_separation(bodies, meeting_[m] / wide)[l] < settings_.h * speed) add(next);
      });
    }
  }
  return sum;
}

}}  // namespace plenum::PLENUM_ABI::detail
