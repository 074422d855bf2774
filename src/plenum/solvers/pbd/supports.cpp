// Particles on solids: planes that the world offers before a step, held to in every substep.
#include <algorithm>
#include <cmath>
#include <utility>

#include "plenum/solvers/pbd/detail/workspace.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t supports_per_block = 256;
/// [m/s^2] by which what yields may be sped up: twenty times gravity.
constexpr Real strongest = Real(200);

/// f(first, last) for ranges of supports that begin and end with those of one sample.
template <class F>
void each_sample(std::span<const Support> supports, F&& f) {
  parallel_for(supports.size(), supports_per_block, [&](std::size_t begin, std::size_t end) {
    const auto at_border = [&](std::size_t s) {
      while (s > 0 && s < supports.size() && supports[s].sample == supports[s - 1].sample) ++s;
      return s;
    };
    f(at_border(begin), at_border(end));
  });
}

}  // namespace

void PbdSupports::take(std::span<Support> offered, std::span<const Vec3> v, Real dt) {
  supports_ = offered;
  groups_.clear();
  for (Support& support : offered) {
    if (!can_yield(support)) continue;
    groups_.resize(std::max(groups_.size(), std::size_t(support.group) + 1));
    Group& group = *group_of(support);
    group.bearer = support.bearer, group.velocity = group.own_velocity = support.bearer.velocity;
    support.yielded = true;
  }
  pushed_.assign(offered.size(), 0), yields_.assign(offered.size(), 0);
  rubbed_.assign(offered.size(), Vec3::Zero());
  gaps_.resize(offered.size());
  for (std::size_t s = 0; s < offered.size(); ++s) gaps_[s] = offered[s].gap;
  if (!groups_.empty()) find_fastest(v, dt);
}

void PbdSupports::end_step(Real dt) {
  for (Group& group : groups_) group.pushed.setZero(), group.moment.setZero();
  for (const Support& support : supports_) {
    Group* const group = group_of(support);
    if (!group) continue;
    group->pushed -= support.impulse;
    group->moment -= (support.point - group->bearer.centre).cross(support.impulse);
  }
  for (Support& support : supports_) {
    Group* const group = group_of(support);
    if (!group || support.impulse.isZero(0) || std::exchange(group->is_told, true)) continue;
    const Bearer& bearer = group->bearer;
    support.shift = group->way - group->own_way - dt * bearer.inverse_mass * group->pushed;
    support.turn = group->turn - dt * bearer.inverse_inertia * group->moment;
  }
  supports_ = {}, groups_.clear();
}

void PbdSupports::count_anew(std::span<const Vec3> shift, Real since) {
  for (std::size_t s = 0; s < supports_.size(); ++s)
    gaps_[s] +=
        supports_[s].normal.dot(shift[std::size_t(supports_[s].sample)] - since * supports_[s].velocity);
}

/// [m] From the step's start to the end of the substep of h [s].
Vec3 PbdSupports::way_besides(const Support& support, const Group& group, Real h) const {
  const Vec3 arm = support.point - group.bearer.centre;
  return group.way + h * group.velocity + group.moved +
         (group.turn + h * group.spin + group.turned).cross(arm);
}

void PbdSupports::begin_substep(std::span<const detail::Place> places, Real since, Real h) {
  for (Group& group : groups_) {
    group.velocity += h * group.bearer.acceleration, group.own_velocity += h * group.bearer.acceleration;
    group.moved.setZero(), group.turned.setZero(), group.sharers = 0;
  }
  for (std::size_t s = 0; s < supports_.size() && !groups_.empty(); ++s) {
    const Support& support = supports_[s];
    Group* const group = group_of(support);
    if (!group) continue;
    const detail::Place& place = places[std::size_t(support.sample)];
    const Vec3 x(place.x[0], place.x[1], place.x[2]);
    const Vec3 gone = since * support.velocity + way_besides(support, *group, h);
    group->sharers += pushed_[s] > 0 || gaps_[s] + support.normal.dot(x - gone) < 0;
  }
  for (std::size_t s = 0; s < supports_.size() && !groups_.empty(); ++s) {
    const Support& support = supports_[s];
    const Group* const group = group_of(support);
    if (!group) continue;
    const Vec3 turn = (support.point - group->bearer.centre).cross(support.normal);
    yields_[s] = Real(std::max(group->sharers, Index(1))) *
                 (group->bearer.inverse_mass + turn.dot(group->bearer.inverse_inertia * turn));
  }
  std::fill(pushed_.begin(), pushed_.end(), Real(0));
  std::fill(rubbed_.begin(), rubbed_.end(), Vec3::Zero());
}

/// By what all have pushed and rubbed.
void PbdSupports::move_groups(std::span<const detail::Place> places) {
  for (Group& group : groups_) group.pushed.setZero(), group.moment.setZero();
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    const Support& support = supports_[s];
    Group* const group = group_of(support);
    if (!group || !(pushed_[s] > 0)) continue;
    const Vec3 by =
        -(pushed_[s] * support.normal + rubbed_[s]) / places[std::size_t(support.sample)].inverse_mass;
    group->pushed += by, group->moment += (support.point - group->bearer.centre).cross(by);
  }
  for (Group& group : groups_) {
    group.moved = group.bearer.inverse_mass * group.pushed;
    group.turned = group.bearer.inverse_inertia * group.moment;
  }
}

void PbdSupports::hold(std::span<detail::Place> places, std::span<const Vec3> gone, Real since, Real h,
                       std::span<PbdRest> rests) {
  each_sample(supports_, [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s) {
      const Support& support = supports_[s];
      const auto i = static_cast<std::size_t>(support.sample);
      detail::Place& place = places[i];
      if (place.inverse_mass == 0) continue;
      const Vec3& n = support.normal;
      Vec3 x(place.x[0], place.x[1], place.x[2]);
      // Of what particle and body part by, what the particle goes.
      const Real part = 1 / (1 + yields_[s] / place.inverse_mass);
      Vec3 led = h * support.velocity, besides = Vec3::Zero();
      if (const Group* const group = group_of(support)) {
        besides = way_besides(support, *group, h);
        led += besides - group->way - group->turn.cross(support.point - group->bearer.centre);
      }
      const Real open = gaps_[s] + n.dot(x) - since * n.dot(support.velocity) - n.dot(besides);
      PbdRest* const rest = rests.empty() ? nullptr : &rests[i];
      if (rest && rest->on == Index(s)) pushed_[s] += std::exchange(rest->load, Real(0));
      // No more is taken back than was given.
      const Real push = std::max(-part * open, -pushed_[s]);
      if (push == 0 && pushed_[s] == 0) continue;
      pushed_[s] += push;
      x += push * n;
      // What has slid in the substep, within Coulomb's bound on all that friction takes back in it. Source:
      // Macklin, Mueller, Chentanez & Kim 2014, "Unified particle physics for real-time applications",
      // eq. 24.
      const Vec3 way = x - gone[i] - led, slid = way - n.dot(way) * n;
      const Vec3 holds = rubbed_[s] - part * slid;
      Vec3 rub = holds;
      const Real bound = support.friction * pushed_[s], length = rub.norm();
      if (length > bound) rub *= length > 0 ? bound / length : Real(0);
      x += rub - rubbed_[s];
      rubbed_[s] = rub;
      for (int c = 0; c < 3; ++c) place.x[c] = x[c];
      // What has been lifted off again bears nothing.
      if (rest && !(pushed_[s] > 0) && rest->on == Index(s)) *rest = PbdRest{};
      if (rest && pushed_[s] > 0 && (rest->on == -1 || rest->on == Index(s)))
        *rest = {n, Index(s), rest->load, pushed_[s], support.friction, rub, rub - holds, led, n.dot(x)};
    }
  });
  if (!groups_.empty()) move_groups(places);
}

/// In a step a body gets no faster, where it is pressed, than what is near it was as the step began, or than
/// it was, but by what a strong spring makes it: what has pushed overlap apart is no speed. Jelly that closed
/// on both faces of a plank threw it by its overlaps, from 54 J to 1.5 GJ.
void PbdSupports::find_fastest(std::span<const Vec3> v, Real dt) {
  const auto each = [&](auto&& f) {
    for (const Support& support : supports_)
      if (Group* const group = group_of(support)) f(*group, support, v[std::size_t(support.sample)]);
  };
  each([](Group& group, const Support&, const Vec3& of) { group.mean += of, group.near += 1; });
  for (Group& group : groups_)
    if (group.near > 0) group.mean /= group.near;
  each([](Group& group, const Support& support, const Vec3& of) {
    const Vec3 body = support.velocity + group.velocity;
    group.fastest = std::max({group.fastest, (of - group.mean).norm(), (body - group.mean).norm()});
  });
  for (Group& group : groups_) group.fastest += dt * strongest;
}

void PbdSupports::bound_speeds(Real h) {
  for (Group& group : groups_) group.part = 1;
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    Group* const group = group_of(supports_[s]);
    if (!group || !(pushed_[s] > 0)) continue;
    const Vec3 arm = supports_[s].point - group->bearer.centre;
    const Vec3 from = supports_[s].velocity + group->velocity + group->spin.cross(arm) - group->mean,
               by = (group->moved + group->turned.cross(arm)) / h;
    const Real a = by.squaredNorm(), b = from.dot(by),
               c = from.squaredNorm() - group->fastest * group->fastest;
    if (!(a + 2 * b + c > 0) || !(a > 0)) continue;
    const Real most = (std::sqrt(std::max(Real(0), b * b - a * c)) - b) / a;
    group->part = std::min(group->part, std::clamp(most, Real(0), Real(1)));
  }
}

void PbdSupports::bounce(std::vector<Vec3>& v, std::span<const Vec3> before,
                         std::span<const Real> inverse_mass, Real h) {
  if (!groups_.empty()) bound_speeds(h);
  each_sample(supports_, [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s) {
      Support& support = supports_[s];
      if (!(pushed_[s] > 0)) continue;
      const auto i = static_cast<std::size_t>(support.sample);
      const Real mass = 1 / inverse_mass[i];
      const Group* const group = group_of(support);
      const Real taken = (group ? group->part : Real(1)) * mass / h;
      support.impulse += taken * (pushed_[s] * support.normal + rubbed_[s]);
      // What a body that yields bounces off is not offered (coupling/support.cpp).
      if (can_yield(support)) continue;
      const Real approach = -support.normal.dot(before[i] - support.velocity);
      if (!bounces(approach, support.restitution, h)) continue;
      const Real now = support.normal.dot(v[i] - support.velocity);
      const Real change = support.restitution * approach - now;
      if (change <= 0) continue;
      v[i] += change * support.normal;
      support.impulse += mass * change * support.normal;
    }
  });
  for (Group& group : groups_) {
    group.way += h * group.velocity + group.moved, group.turn += h * group.spin + group.turned;
    group.own_way += h * group.own_velocity;
    group.velocity += (group.part / h) * group.moved, group.spin += (group.part / h) * group.turned;
  }
}

}  // namespace plenum::inline PLENUM_ABI
