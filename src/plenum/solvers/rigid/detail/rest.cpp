#include "plenum/solvers/rigid/detail/rest.h"

#include <algorithm>
#include <cmath>

#include "plenum/solvers/rigid/detail/broad.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using Motion = Rigid::Motion;

void clear(Rigid::Contacts& c) {
  c.pair.clear(), c.impulse.clear(), c.carried.clear(), c.id.clear(), c.point.clear();
  c.friction.clear(), c.twist.clear(), c.count.clear(), c.cache.clear();
  c.normal.clear(), c.separation.clear(), c.seen.clear();
}
/// With its impulses times `scale`.
void append(const Rigid::Contacts& from, std::size_t k, Rigid::Contacts& to, Real scale = 1) {
  to.pair.push_back(from.pair[k]);
  to.impulse.push_back(scale * from.impulse[k]);
  to.carried.push_back(scale * from.carried[k]);
  to.id.push_back(from.id[k]);
  for (std::size_t q = 0; q < 4; ++q) to.point.push_back(from.point[4 * k + q]);
  to.friction.push_back(scale * from.friction[k]);
  to.twist.push_back(scale * from.twist[k]);
  to.count.push_back(from.count[k]);
  to.cache.push_back(from.cache[k]);
  to.normal.push_back(from.normal[k]);
  to.separation.push_back(from.separation[k]);
  to.seen.push_back(from.seen[k]);
}

/// [s] of the steps that the impulses of sleeping contacts are those of.
constexpr Real step_asleep = Real(1.0 / 60);

/// Moves the contacts for which move(pair) holds from one list to the other, their impulses times `scale`;
/// both stay in order.
template <class Move>
void move_contacts(Rigid::Contacts& from, Rigid::Contacts& to, Real scale, RigidWorkspace& w, Move&& move) {
  Rigid::Contacts &kept = w.kept, &joined = w.joined;
  clear(kept), clear(joined);
  std::size_t t = 0;
  for (std::size_t k = 0; k < from.pair.size(); ++k) {
    if (!move(from.pair[k])) {
      append(from, k, kept);
      continue;
    }
    while (t < to.pair.size() && is_before(to.pair[t], from.pair[k])) append(to, t++, joined);
    append(from, k, joined, scale);
  }
  if (joined.pair.empty()) return;
  while (t < to.pair.size()) append(to, t++, joined);
  std::swap(from, kept);
  std::swap(to, joined);
}

void list_active(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w) {
  const std::size_t n = model.motion.size();
  w.active.clear();
  w.stirs.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool dynamic = model.motion[i] == Motion::dynamic && state.rest.island[i] < 0;
    const bool kinematic = model.motion[i] == Motion::kinematic;
    if (dynamic || kinematic) w.active.push_back(static_cast<Index>(i));
    w.stirs[i] =
        dynamic ||
        (kinematic && (w.was_moved[i] || !state.frames.v[i].isZero(0) || !state.frames.w[i].isZero(0)));
  }
}

/// Falls from a part of its size give a body a speed that goes with the root of its size (Froude).
Real speed_limit(const Rigid::Model& model, const Rigid::Params& params, std::size_t i) {
  return params.sleep_speed * std::sqrt(model.reach[i]);
}
/// What is jammed or bobs is faster than it gets on, by no more than this.
constexpr Real most_rattle = 20;

Vec3 coming(const std::vector<Vec3>& a, std::size_t i) {
  return a.empty() ? Vec3(Vec3::Zero()) : a[i];
}

/// Adds up what others' forces would have changed in the velocities of a body that sleeps, over what they
/// were when it fell asleep; of the sum the part `kept` of the step before is left: it is forgotten within
/// sleep_time, so that ripples do not wake it, and a blow or a lasting change does.
void add_strays(Rigid::State& state, Real kept, Real dt, std::size_t i) {
  Rigid::Rest& rest = state.rest;
  rest.stray_v[i] = kept * rest.stray_v[i] + coming(state.coming_v, i) - dt * rest.push_v[i];
  rest.stray_w[i] = kept * rest.stray_w[i] + coming(state.coming_w, i) - dt * rest.push_w[i];
}

/// Whether one of the vectors is not zero.
bool any(const std::vector<Vec3>& vectors) {
  const Real* x = vectors.empty() ? nullptr : vectors.front().data();
  int found = 0;
  for (std::size_t k = 0; k < 3 * vectors.size(); ++k) found |= x[k] != 0;
  return found != 0;
}

/// Whether an impulse is on a body that slept, or what forces of others' would have done to it is more than
/// one at rest may do.
bool is_pushed(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params,
               bool any_strays, std::size_t i) {
  const Vec3 *v = state.frames.v.data() + i, *w = state.frames.w.data() + i, zero = Vec3::Zero();
  if (!is_same(*v, zero) || !is_same(*w, zero)) return true;
  const Rigid::Rest& rest = state.rest;
  return any_strays && rest.stray_v[i].norm() + model.reach[i] * rest.stray_w[i].norm() >
                           most_rattle * speed_limit(model, params, i);
}

/// Wakes the islands whose lowest body is marked in w.wakes.
void wake_marked(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w) {
  w.any_woke = true;
  Rigid::Rest& rest = state.rest;
  const auto wakes = [&](Index body) { return rest.island[body] >= 0 && w.wakes[rest.island[body]]; };
  const Real scale = state.dt > 0 ? state.dt / step_asleep : Real(1);
  move_contacts(rest.contacts, state.contacts, scale, w, [&](const Index2& pair) {
    return wakes(model.colliders[pair[0]].body) || wakes(model.colliders[pair[1]].body);
  });
  for (std::size_t i = 0; i < rest.island.size(); ++i)
    if (wakes(static_cast<Index>(i))) {
      rest.quiet[i] = 0;
      rest.stray_v[i].setZero(), rest.stray_w[i].setZero();
    }
  // Names last: the test above needs them.
  for (Index& name : rest.island)
    if (name >= 0 && w.wakes[name]) name = -1;
}

}  // namespace

void stir(const Rigid::Model& model, Rigid::State& state, const Rigid::Params& params, Real dt,
          RigidWorkspace& w) {
  Rigid::Rest& rest = state.rest;
  const Frames& f = state.frames;
  const std::size_t n = f.size();
  w.was_moved.resize(n);
  w.any_woke = false;
  bool any_sleeps = false, any_moved = false, any_pushed = false;
  const Real kept = std::exp(-dt / params.sleep_time);
  const bool any_strays = any(state.coming_v) || any(state.coming_w) || any(rest.push_v) ||
                          any(rest.push_w) || any(rest.stray_v) || any(rest.stray_w);
  // Nothing but this is done for thousands that sleep: plain pointers, which flags do not alias.
  const Index* island = rest.island.data();
  const Motion* motion = model.motion.data();
  const Vec3 *x = f.x.data(), *start_x = state.start_x.data();
  const Vec4 *q = f.q.data(), *start_q = state.start_q.data();
  std::uint8_t* was_moved = w.was_moved.data();
  for (std::size_t i = 0; i < n; ++i) {
    const bool sleeps = island[i] >= 0;
    const bool moved =
        (sleeps || motion[i] != Motion::dynamic) && !(is_same(x[i], start_x[i]) && is_same(q[i], start_q[i]));
    was_moved[i] = moved;
    any_sleeps |= sleeps;
    any_moved |= moved;
    if (!sleeps) continue;
    if (any_strays) add_strays(state, kept, dt, i);
    any_pushed |= is_pushed(model, state, params, any_strays, i);
  }
  if (any_sleeps && (!params.sleeping || rest.gravity != params.gravity)) {
    wake_all(model, state, w);
  } else if (any_sleeps && (any_moved || any_pushed)) {
    w.wakes.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (rest.island[i] >= 0 && (w.was_moved[i] || is_pushed(model, state, params, any_strays, i)))
        w.wakes[rest.island[i]] = 1;
    if (any_moved)
      for (const Index2& pair : rest.contacts.pair) {
        const Index a = model.colliders[pair[0]].body, b = model.colliders[pair[1]].body;
        if (w.was_moved[a] && rest.island[b] >= 0) w.wakes[rest.island[b]] = 1;
        if (w.was_moved[b] && rest.island[a] >= 0) w.wakes[rest.island[a]] = 1;
      }
    if (any_moved)
      for (const Rigid::Joint& joint : model.joints) {
        if (joint.a < 0 || joint.b < 0) continue;
        if (w.was_moved[joint.a] && rest.island[joint.b] >= 0) w.wakes[rest.island[joint.b]] = 1;
        if (w.was_moved[joint.b] && rest.island[joint.a] >= 0) w.wakes[rest.island[joint.a]] = 1;
      }
    wake_marked(model, state, w);
  }
  rest.gravity = params.gravity;
  list_active(model, state, w);
}

bool wake_touched(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w) {
  const Rigid::Rest& rest = state.rest;
  bool any = false;
  for (const Index s : w.contact_slot) {
    const Index i = w.pairs[w.pair_of[s]][0], j = w.pairs[w.pair_of[s]][1];
    const Index a = model.colliders[i].body, b = model.colliders[j].body;
    const Index sleeper = rest.island[a] >= 0 ? a : b;
    if (rest.island[sleeper] < 0 || model.colliders[i].sensor || model.colliders[j].sensor) continue;
    const Manifold& m = w.manifolds[s];
    Real least = m.points[0].separation;
    for (int q = 1; q < m.count; ++q) least = std::min(least, m.points[q].separation);
    // Nearer than what makes an island of two bodies, so that what sleeps apart does not wake each other.
    if (least > way_between(w, i, j)) continue;
    if (!any) w.wakes.assign(rest.island.size(), 0);
    any = true;
    w.wakes[rest.island[sleeper]] = 1;
  }
  if (!any) return false;
  wake_marked(model, state, w);
  list_active(model, state, w);
  return true;
}

void settle(const Rigid::Model& model, Rigid::State& state, const Rigid::Params& params, Real dt,
            FunctionRef<void(Islands&)> joints, RigidWorkspace& w) {
  if (!params.sleeping) return;
  Rigid::Rest& rest = state.rest;
  Frames& f = state.frames;
  bool any = false;
  const Real newer = -std::expm1(-dt / params.sleep_time);
  const auto follow = [&](Vec3& mean, const Vec3& now) {
    mean += (mean.isZero(0) ? Real(1) : newer) * (now / dt - mean);
  };
  for (const Index i : w.active) {
    if (model.motion[i] != Motion::dynamic) continue;
    follow(rest.push_v[i], coming(state.coming_v, static_cast<std::size_t>(i)));
    follow(rest.push_w[i], coming(state.coming_w, static_cast<std::size_t>(i)));
    // By how far it gets from where it was, and not by its speed: what is jammed rattles fast and goes
    // nowhere.
    const Real limit = speed_limit(model, params, static_cast<std::size_t>(i));
    const Real speed = f.v[i].norm() + f.w[i].norm() * model.reach[i];
    const Real turn = 2 * (f.q[i] - rest.q[i]).norm();  // for small angles
    const bool stays = (f.x[i] - rest.x[i]).norm() + turn * model.reach[i] <= limit * params.sleep_time &&
                       speed <= most_rattle * limit;
    rest.quiet[i] = stays ? rest.quiet[i] + dt : Real(0);
    // Whole spans follow each other: the next one starts where the last has ended.
    const bool is_over = rest.quiet[i] >= 2 * params.sleep_time;
    if (is_over) rest.quiet[i] = params.sleep_time;
    if (!stays || is_over) rest.x[i] = f.x[i], rest.q[i] = f.q[i];
    any |= rest.quiet[i] >= params.sleep_time;
  }
  if (!any) return;

  const std::size_t n = f.size();
  w.islands.reset(n);
  for (const ContactInput& c : w.contacts) {
    const auto is_dynamic = [&](Index row) { return row < Index(n) && model.motion[row] == Motion::dynamic; };
    const bool a = is_dynamic(c.body_a), b = is_dynamic(c.body_b);
    // What a belt carries moves, however slowly.
    if (!c.surface_velocity.isZero(0) && (a || b)) w.islands.stir(a ? c.body_a : c.body_b);
    if (a && b) {
      w.islands.connect(c.body_a, c.body_b);
      continue;
    }
    const Index on = a ? c.body_a : c.body_b, other = a ? c.body_b : c.body_a;
    if (other < Index(n) && w.stirs[other])
      w.islands.stir(on);
    else
      w.islands.lean(on);
  }
  joints(w.islands);
  // Whether each island may sleep, by its name: all of it quiet, none of it stirred, one of it leaning.
  constexpr std::uint8_t restless = 1, leaning = 2, moving = 4;
  w.wakes.assign(n, 0);
  for (const Index i : w.active) {
    if (model.motion[i] != Motion::dynamic) continue;
    std::uint8_t& island = w.wakes[w.islands.island(i)];
    if (rest.quiet[i] < params.sleep_time || w.islands.is_stirred(i)) island |= restless;
    // What a liquid bears leans on it.
    if (w.islands.leans(i) || (!state.coming_v.empty() && !state.coming_v[i].isZero(0))) island |= leaning;
    if (!f.v[i].isZero(0) || !f.w[i].isZero(0)) island |= moving;
  }
  // What leans on nothing floats on, unless it is entirely at rest.
  const auto sleeps = [&](Index i) {
    const std::uint8_t island = w.wakes[w.islands.island(i)];
    return !(island & restless) && ((island & leaning) || !(island & moving));
  };
  any = false;
  for (const Index i : w.active) {
    if (model.motion[i] != Motion::dynamic || !sleeps(i)) continue;
    any = true;
    rest.island[i] = w.islands.island(i);
    f.v[i].setZero(), f.w[i].setZero();
    state.start_x[i] = f.x[i], state.start_q[i] = f.q[i];
  }
  if (!any) return;
  move_contacts(state.contacts, rest.contacts, step_asleep / dt, w, [&](const Index2& pair) {
    return rest.island[model.colliders[pair[0]].body] >= 0 || rest.island[model.colliders[pair[1]].body] >= 0;
  });
}

void forget(Index first, Rigid::State& state, RigidWorkspace& w) {
  const auto goes = [&](const Index2& pair) { return pair[1] >= first; };
  Rigid::Contacts gone;
  move_contacts(state.contacts, gone, 1, w, goes);
  for (std::vector<Index2>* pairs : {&state.touch.pairs, &state.touch.begun, &state.touch.ended})
    std::erase_if(*pairs, goes);
}

void wake_all(const Rigid::Model& model, Rigid::State& state, RigidWorkspace& w) {
  w.wakes.assign(state.rest.island.size(), 1);
  wake_marked(model, state, w);
}

}}  // namespace plenum::PLENUM_ABI::detail
