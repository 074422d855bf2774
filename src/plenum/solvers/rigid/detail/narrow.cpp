#include "plenum/solvers/rigid/detail/narrow.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/mesh_contacts.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/solvers/rigid/detail/broad.h"
#include "plenum/solvers/rigid/detail/continuous.h"
#include "plenum/solvers/rigid/detail/flush.h"
#include "plenum/solvers/rigid/detail/friction.h"
#include "plenum/solvers/rigid/detail/last_contacts.h"
#include "plenum/solvers/rigid/detail/passing.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr std::size_t contacts_per_block = 64;

/// starts[k] = first item whose key is at least k, of items sorted by key in [0, n).
template <class Key>
void index_by(std::size_t items, std::size_t n, Key&& key, std::vector<Index>& starts) {
  starts.assign(n + 1, 0);
  for (std::size_t i = 0; i < items; ++i) ++starts[static_cast<std::size_t>(key(i)) + 1];
  for (std::size_t k = 0; k < n; ++k) starts[k + 1] += starts[k];
}

bool is_mesh(const Shape& shape) {
  return std::holds_alternative<MeshShape>(shape.variant());
}
bool is_surface(const Shape& shape) {
  return is_mesh(shape) || std::holds_alternative<HeightFieldShape>(shape.variant());
}
/// [m] radius about a middle or an axis, at a contact of this normal, of what keeps its distance while it
/// rolls: a ball, a capsule, a cylinder that lies on its side.
Real round_at(const Rigid::Model& model, const Rigid::Collider& c, const Pose& pose, const Vec3& normal) {
  constexpr Real lies = Real(0.01);  // sine
  if (c.round > 0) return c.round;
  const auto* cylinder = std::get_if<CylinderShape>(&model.shapes[c.shape].variant());
  return cylinder && std::abs(normal.dot(pose.rotation * Vec3::UnitY())) < lies ? cylinder->radius : 0;
}
/// [m] radius of a round face that a collider turns to this normal; 0: none.
Real rim_at(const Rigid::Model& model, const Rigid::Collider& c, const Pose& pose, const Vec3& normal) {
  constexpr Real stands = Real(0.99);  // cosine
  const Shape::Variant& v = model.shapes[c.shape].variant();
  const auto* cylinder = std::get_if<CylinderShape>(&v);
  const auto* cone = std::get_if<ConeShape>(&v);
  if ((!cylinder && !cone) || std::abs(normal.dot(pose.rotation * Vec3::UnitY())) < stands) return 0;
  return cylinder ? cylinder->radius : cone->radius;
}
/// Axis through the centre of mass, in the world, about which a collider is alike all round; 0 if there is
/// none, or if its body does not turn by much in the step.
Vec3 axis_of(const Rigid::Model& model, const Frames& frames, const Rigid::Collider& c, const Pose& pose,
             const Vec3& normal, Real dt) {
  const Shape::Variant& v = model.shapes[c.shape].variant();
  if (!std::holds_alternative<CylinderShape>(v) && !std::holds_alternative<ConeShape>(v)) return Vec3::Zero();
  const Vec3 axis = pose.rotation * Vec3::UnitY(), from = pose.position - frames.x[c.body];
  const bool is_through = from.cross(axis).squaredNorm() < Real(1e-6) * c.size * c.size;
  if (!is_through) return Vec3::Zero();
  // What is oblique and goes round may turn about other axes only, and touch with another place all the same.
  const Vec3& w = frames.w[c.body];
  const bool turns = std::abs(axis.dot(normal)) < Real(0.98) ? dt * w.norm() > Real(1e-3)
                                                             : dt * std::abs(w.dot(axis)) > Real(0.02);
  return turns ? axis : Vec3(Vec3::Zero());
}
/// Whether what touches by a line or one place of a rim, oblique to this axis, goes round as it rolls. Places
/// of a rim that are high above the one that touches do not count. What tilts or goes round too far in the
/// step, as what rocks on its foot or has been tossed, does not roll on one place.
bool rolls_round(const Vec3& axis, const Vec3& w, Real dt, const ContactInput& c) {
  constexpr Real most_climb = Real(0.05);  // of a line that lies on something: its rise over its length
  constexpr Real most_round = Real(0.5);   // [rad] that the place goes round in the step
  const Real cosine = std::abs(axis.dot(c.normal)), sine2 = axis.cross(c.normal).squaredNorm();
  const Vec3 swing = w.cross(axis);
  if (!(cosine > Real(0.02) && cosine < Real(0.98)) || 2 * dt * std::abs(swing.dot(c.normal)) > sine2 ||
      dt * dt * swing.squaredNorm() > most_round * most_round * sine2)
    return false;
  const auto deepest = std::min_element(
      c.points, c.points + c.count, [](const auto& p, const auto& q) { return p.separation < q.separation; });
  const auto low = std::count_if(c.points, c.points + c.count, [&](const auto& p) {
    return p.separation - deepest->separation <= most_climb * (p.ra - deepest->ra).norm();
  });
  return low == 1 || c.count == 2;
}
bool is_height_field(const Shape& shape) {
  return std::holds_alternative<HeightFieldShape>(shape.variant());
}
bool is_ball(const Shape& shape) {
  return std::holds_alternative<SphereShape>(shape.variant());
}
bool is_plane(const Shape& shape) {
  return std::holds_alternative<PlaneShape>(shape.variant());
}

/// A manifold in the other collider's frame, seen from there; other: the pose of the frame it is in.
void turn_over(const Pose& other, Manifold& m) {
  m.turn_over(other.rotation);
  for (int q = 0; q < m.count; ++q) m.points[q].x = other * m.points[q].x;
}

/// [rad] by which a normal may turn in a step and count as standing still. What is lost or won of the energy
/// with it is this part of what the contact passes on in the step.
constexpr Real least_turn = Real(1e-3);
/// The same of the arms of a contact whose normal stays; and if it has a point or two, of what is in a joint,
/// which rolls about that. If its arms stayed behind by t of a step, its middle would sink by w^2 r t dt, and
/// the push that lifts it again would drive what rolls on, as the end of a limb about a shoulder, by g dt / r
/// of its speed in a second.
constexpr Real least_turn_of_arms = Real(0.02), least_turn_about_joints = Real(1e-4);

/// With what the normal turns, if it or the arms of the contact do so notably. Where arms stayed behind that
/// the body's moments of inertia go on with, a slender body that spins on a floor would be driven ever
/// faster. Sets the edges, too.
Manifold::Turns turns_in(const Frames& frames, Index a, Index b, Real dt, const Quat& rotation_a,
                         const Manifold& m, ContactInput& c) {
  const auto turns = [&](Index body, Real least) {
    return dt * dt * frames.w[body].squaredNorm() > least * least;
  };
  const Real least_of_arms = m.count > 2 || !c.jointed ? least_turn_of_arms : least_turn_about_joints;
  const auto either_turns = [&](Real least) { return turns(a, least) || turns(b, least); };
  const auto if_so = [&](bool so) { return so ? m.turns : Manifold::Turns::with_neither; };
  switch (m.turns) {
    case Manifold::Turns::with_a:
      return if_so(turns(a, least_turn) || turns(b, least_of_arms));
    case Manifold::Turns::with_b:
      return if_so(turns(b, least_turn) || turns(a, least_of_arms));
    case Manifold::Turns::with_edges:
      if (!either_turns(least_turn)) return Manifold::Turns::with_neither;
      c.edge_a = rotation_a * m.edge_a, c.edge_b = rotation_a * m.edge_b;
      return m.turns;
    case Manifold::Turns::with_centres: {
      const Vec3 past = frames.v[b] - frames.v[a];
      const Vec3 across = past - c.normal.dot(past) * c.normal;
      c.edge_a = rotation_a * m.edge_a, c.edge_b = rotation_a * m.edge_b;
      const Real apart = c.round_a + c.round_b + c.points[0].separation;
      return if_so(dt * dt * across.squaredNorm() > least_turn * least_turn * apart * apart ||
                   either_turns(least_of_arms));
    }
    default:
      return Manifold::Turns::with_neither;
  }
}

/// Overlap, as a part of the size, that no pile has by its weight.
constexpr Real deep_overlap = Real(0.1);

/// What joints hold so would otherwise push in vain, and more in each sub-step: rounding of that much more
/// than the load throws the bodies.
bool is_deep(const ContactInput& c) {
  return std::any_of(c.points, c.points + c.count,
                     [&](const ContactInput::Point& p) { return p.separation < -deep_overlap * c.size; });
}

/// Contacts push at most so many of their sizes a second. Bodies of which many are deep in each other share
/// that among them: of n in one place each pair would part by as much, and so the outermost n - 1 times as
/// fast.
void share_pushes(RigidWorkspace& w) {
  const auto pushes = [](const ContactInput& c) { return !c.hard && c.deep; };
  w.deep.assign(w.bodies.velocity.size(), 0);
  for (const ContactInput& c : w.contacts)
    if (pushes(c)) ++w.deep[c.body_a], ++w.deep[c.body_b];
  w.deep[w.bodies.world()] = 0;
  for (ContactInput& c : w.contacts)
    if (pushes(c)) c.size /= static_cast<Real>(std::max(w.deep[c.body_a], w.deep[c.body_b]));
}

}  // namespace

void find_manifolds(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
                    int substeps, RigidWorkspace& w) {
  // The last sub-step is relaxed by what would come to press in another one.
  const Real ahead = 1 + 1 / static_cast<Real>(substeps);
  const Rigid::Contacts& old = state.contacts;
  const std::size_t n = w.pairs.size();
  w.contact_slot.clear();
  if (n == 0) return;
  index_by(
      old.pair.size(), model.colliders.size(), [&](std::size_t c) { return old.pair[c][0]; }, w.old_starts);
  index_by(
      state.near.pair.size(), model.colliders.size(), [&](std::size_t p) { return state.near.pair[p][0]; },
      w.near_starts);
  // Room for the manifolds of each pair.
  w.first_slot.resize(n + 1);
  std::size_t slots = 0;
  for (std::size_t p = 0; p < n; ++p) {
    w.first_slot[p] = static_cast<Index>(slots);
    const Index i = w.pairs[p][0], j = w.pairs[p][1];
    const Shape &a = model.shapes[model.colliders[i].shape], &b = model.shapes[model.colliders[j].shape];
    slots += is_surface(a) || is_surface(b) ? SurfaceManifolds::most : 1;
    if (needs_guard(model, state, w, dt, i, j)) slots += static_cast<std::size_t>(num_guards(a, b));
  }
  w.first_slot[n] = static_cast<Index>(slots);
  w.manifolds.resize(slots), w.caches.resize(slots), w.previous.resize(slots), w.pair_of.resize(slots);
  w.apart.resize(4 * slots), w.guard_round.resize(slots), w.seen.resize(slots), w.carried_over.resize(slots);
  parallel_for(n, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const Index i = w.pairs[p][0], j = w.pairs[p][1];
      const Rigid::Collider &ci = model.colliders[i], &cj = model.colliders[j];
      const Shape &shape_i = model.shapes[ci.shape], &shape_j = model.shapes[cj.shape];
      const bool with_surface = is_surface(shape_i) || is_surface(shape_j);
      const Index slot = w.first_slot[p], room = with_surface ? SurfaceManifolds::most : 1;
      const bool guarded = w.first_slot[p + 1] - slot > room;  // in the last slots
      for (Index s = slot; s < w.first_slot[p + 1]; ++s) {
        w.pair_of[s] = static_cast<Index>(p);
        w.previous[s] = -1;
        w.caches[s] = {};
        w.seen[s] = {};
        w.carried_over[s] = 0;
      }
      // A floor has as many contacts as bodies lie on it.
      const auto kept = old.pair.begin();
      const auto mine =
          std::equal_range(kept + w.old_starts[i], kept + w.old_starts[i + 1], w.pairs[p], is_before);
      Index first = static_cast<Index>(mine.first - kept), past = static_cast<Index>(mine.second - kept);
      const Pose &a = w.poses[i], &b = w.poses[j];
      const auto sweep = [&](const Rigid::Collider& c) { return sweep_of(model, state, gravity, dt, c); };
      // Nothing passes a plane, so none is stopped by it in vain.
      const Real margin = is_plane(shape_i) || is_plane(shape_j)
                              ? Real(0.005) * std::min(ci.size, cj.size) + way_between(w, i, j)
                              : w.margins[i] + w.margins[j];
      Manifold* const out = &w.manifolds[slot];
      const auto make_guard = [&](int contacts) {
        for (Index s = slot + room; s < w.first_slot[p + 1]; ++s) w.manifolds[s].count = 0;
        return guard(model, state, ci, cj, sweep(ci), sweep(cj), {out, static_cast<std::size_t>(contacts)},
                     out + room, &w.apart[4 * static_cast<std::size_t>(slot + room)],
                     &w.guard_round[static_cast<std::size_t>(slot + room)]);
      };
      const auto pressed = [&](const Vec3& normal) { return has_pressed(old, first, past, normal); };
      // Nothing passes a plane or the ground.
      const bool has_ends = !is_plane(shape_i) && !is_plane(shape_j) && !is_height_field(shape_i) &&
                            !is_height_field(shape_j) && !ci.sensor && !cj.sensor;
      const auto may_pass = [&](int count) {
        Real least = std::numeric_limits<Real>::max();
        for (const Manifold* m = out; m != out + count; ++m)
          for (int q = 0; q < m->count; ++q) least = std::min(least, m->points[q].separation);
        return has_ends && count > 0 && least > 0 && least < ahead * way_between(w, i, j);
      };
      if (with_surface) {
        // First the mesh, else the height field.
        const bool swap = is_mesh(shape_j) ? !is_mesh(shape_i) : !is_surface(shape_i);
        const auto moves = [&](const Rigid::Collider& c) { return state.frames.inverse_mass[c.body] > 0; };
        const Shape &surface = swap ? shape_j : shape_i, &other = swap ? shape_i : shape_j;
        // Manifolds in the frame of i.
        const auto collide_there = [&](const Pose& at_i, const Pose& at_j, Real within,
                                       SurfaceManifolds& found) {
          const Pose &f = swap ? at_j : at_i, &g = swap ? at_i : at_j;
          const Pose g_in_f{f.to_local(g.position), (f.rotation.conjugate() * g.rotation).normalized()};
          if (is_plane(other))
            collide_mesh_plane(surface, g_in_f, within, found);
          else if (is_surface(other) || (moves(swap ? cj : ci) && can_collide_mesh(other)))
            collide_mesh(surface, other, g_in_f, within, found);
          else {
            const Rigid::Collider& c = swap ? ci : cj;
            Vec3 centre = g_in_f * c.core;
            const bool lifts = side_of(old, first, past, swap, Real(0.5) * c.size, c.spread, centre);
            collide_surface(surface, other, g_in_f, within, found, lifts ? &centre : nullptr);
          }
          if (!swap) return;
          const Pose f_in_i{at_i.to_local(f.position), (at_i.rotation.conjugate() * f.rotation).normalized()};
          for (int s = 0; s < found.count; ++s) turn_over(f_in_i, found.manifolds[s]);
        };
        SurfaceManifolds found;
        collide_there(a, b, margin, found);
        const Pose now_in_a{a.to_local(b.position), (a.rotation.conjugate() * b.rotation).normalized()};
        for (Index s = slot; s < w.first_slot[p + 1]; ++s) w.seen[s].b_in_a = now_in_a;
        for (int s = 0; s < room; ++s)
          if (s < found.count)
            out[s] = found.manifolds[s];
          else
            out[s].count = 0;
        if (may_pass(found.count)) {
          const Sweep sweep_i = sweep(ci), sweep_j = sweep(cj);
          Passing passing(shape_i, sweep_i, shape_j, sweep_j, std::min(ci.size, cj.size), ahead);
          let_pass(passing, {out, std::size_t(room)}, found.count, collide_there, pressed);
        }
        const Guarded how = guarded ? make_guard(found.count) : Guarded::no;
        const bool swift = is_swift(w.ways[i], ci) || is_swift(w.ways[j], cj);
        if (swift && !is_plane(other) && how != Guarded::by_impact && found.count < room) {
          // Of the one that goes farther for its size the ball stands for it.
          const bool i_goes =
              ci.core_radius > 0 && (!(cj.core_radius > 0) || w.ways[i] * cj.size > w.ways[j] * ci.size);
          Manifold& m = out[found.count];
          if (i_goes ? core_touch(shape_j, sweep(cj), ci, shape_i, sweep(ci), m)
                     : core_touch(shape_i, sweep(ci), cj, shape_j, sweep(cj), m)) {
            if (i_goes) turn_over({a.to_local(b.position), a.rotation.conjugate() * b.rotation}, m);
            ++found.count;
          } else {
            m.count = 0;
          }
        }
        // Guards are made anew in every step; they come last.
        while (first < past && old.id[past - 1][0] == guard_id) --past;
        match(old, first, past, out, found.count, &w.previous[slot]);
        continue;
      }
      while (first < past && old.id[first][0] == guard_id) ++first;
      if (past > first) {
        w.previous[slot] = first;
        std::memcpy(&w.caches[slot], old.cache[first].data(), sizeof(ManifoldCache));
      }
      const Pose b_in_a{a.to_local(b.position), (a.rotation.conjugate() * b.rotation).normalized()};
      const auto passes = [&] {
        if (!may_pass(1)) return false;
        const Sweep sweep_i = sweep(ci), sweep_j = sweep(cj);
        Passing passing(shape_i, sweep_i, shape_j, sweep_j, std::min(ci.size, cj.size), ahead);
        int count = out->count > 0;
        return let_pass(
            passing, {out, 1}, count,
            [&](const Pose& at_i, const Pose& at_j, Real within, SurfaceManifolds& there) {
              ManifoldCache fresh;
              there.manifolds[0] = collide(
                  shape_i, shape_j,
                  {at_i.to_local(at_j.position), (at_i.rotation.conjugate() * at_j.rotation).normalized()},
                  within, fresh);
              there.count = there.manifolds[0].count > 0;
            },
            pressed);
      };
      // Balls turn without a change, and are quickly found.
      const bool keeps = !guarded && !is_ball(shape_i) && !is_ball(shape_j);
      if (keeps && past > first &&
          carry_over(seen_of(old, first, *out), b_in_a, margin, std::min(ci.size, cj.size), *out)) {
        if (passes())
          w.seen[slot].margin = -1;
        else
          w.carried_over[slot] = 1;
        continue;
      }
      // The distance is watched from the one of wider spread.
      const bool from_j = ci.spread < cj.spread;
      const Pose& frame = from_j ? b : a;
      const Pose& other = from_j ? a : b;
      const Pose stands = from_j ? Pose{frame.to_local(other.position),
                                        (frame.rotation.conjugate() * other.rotation).normalized()}
                                 : b_in_a;
      if (!guarded && past == first) {
        const auto near = state.near.pair.begin();
        const auto end = near + w.near_starts[i + 1];
        const auto here = std::lower_bound(near + w.near_starts[i], end, w.pairs[p], is_before);
        if (here != end && *here == w.pairs[p]) {
          const auto k = static_cast<std::size_t>(here - near);
          std::memcpy(&w.caches[slot], state.near.cache[k].data(), sizeof(ManifoldCache));
          const ManifoldSeen seen = seen_from(state.near.seen[k]);
          if (stays_apart(seen, stands, margin, std::min(ci.spread, cj.spread))) {
            out->count = 0;
            w.seen[slot] = seen;
            continue;
          }
        }
      }
      *out = collide(shape_i, shape_j, b_in_a, margin, w.caches[slot]);
      const bool changed = passes();
      if (changed) w.seen[slot].margin = -1;
      if (guarded)
        make_guard(1);
      else if (changed)
        continue;
      else if (out->count == 0)
        w.seen[slot] = {stands, std::max(out->apart, margin)};
      else if (keeps)
        w.seen[slot] = {b_in_a, margin};
    }
  });
  for (std::size_t s = 0; s < slots; ++s)
    if (w.manifolds[s].count > 0) w.contact_slot.push_back(static_cast<Index>(s));
}

void make_contacts(const Rigid::Model& model, const Rigid::State& state, Real dt, RigidWorkspace& w) {
  const Rigid::Contacts& old = state.contacts;
  w.sensed.clear();
  std::erase_if(w.contact_slot, [&](Index s) {
    const Index2& pair = w.pairs[w.pair_of[s]];
    const Rigid::Collider &a = model.colliders[pair[0]], &b = model.colliders[pair[1]];
    if (a.sensor || b.sensor) {
      const Manifold& m = w.manifolds[s];
      const bool overlaps = std::any_of(m.points, m.points + m.count,
                                        [](const Manifold::Point& p) { return p.separation <= 0; });
      if (overlaps && (w.sensed.empty() || w.sensed.back() != pair)) w.sensed.push_back(pair);
      return true;
    }
    // What is near a sleeping body and does not wake it comes nowhere near in this step.
    return state.rest.island[a.body] >= 0 || state.rest.island[b.body] >= 0;
  });
  drop_ghosts(model, w);
  w.contacts.resize(w.contact_slot.size());
  const Index world = w.bodies.world();
  // Loads are forces: the impulses of a shorter step are less.
  const Real longer = state.dt > 0 ? w.whole_dt / state.dt : Real(1);
  std::atomic<bool> any_deep = false, any_deep_in_joints = false;
  parallel_for(w.contacts.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Index s = w.contact_slot[k], p = w.pair_of[s];
      const Manifold& m = w.manifolds[s];
      const Index i = w.pairs[p][0], j = w.pairs[p][1];
      const Rigid::Collider &ca = model.colliders[i], &cb = model.colliders[j];
      const Pose& a = w.poses[i];
      ContactInput& c = w.contacts[k];
      const auto row = [&](Index body) { return model.motion[body] == Rigid::Motion::fixed ? world : body; };
      c.body_a = row(ca.body), c.body_b = row(cb.body);
      c.normal = (a.rotation * m.normal).normalized();
      c.count = m.count;
      c.size = std::min(ca.size, cb.size);
      const Vec3 from_a = a.position - state.frames.x[ca.body], from_b = a.position - state.frames.x[cb.body];
      const Index before = w.previous[s];
      const bool guards = m.points[0].id == guard_id;
      for (int q = 0; q < m.count; ++q) {
        const Vec3 x = a.rotation * m.points[q].x;
        // What is apart turns about points of its own surface, and rubs there.
        const Real gap = m.points[q].separation;
        Vec3 half = std::max(gap / 2, Real(0)) * c.normal;
        if (guards) half = w.apart[4 * std::size_t(s) + std::size_t(q)] / 2;
        c.points[q] = {from_a + x - half, from_b + x + half, gap, 0, 0};
      }
      c.deep = is_deep(c);
      const bool inherits = before >= 0 && !(model.jointed[ca.body] && model.jointed[cb.body] && c.deep);
      c.axis_a = axis_of(model, state.frames, ca, a, c.normal, dt);
      c.axis_b = axis_of(model, state.frames, cb, w.poses[j], c.normal, dt);
      // Of what has been rolling, on what is led or at rest.
      const bool pressed = inherits && old.impulse[before].head(old.count[before]).maxCoeff() > 0;
      const auto rolls = [&](const Vec3& axis, Index body, Index other) {
        return pressed && model.motion[other] != Rigid::Motion::dynamic &&
               rolls_round(axis, state.frames.w[body], dt, c);
      };
      c.rolls_round = rolls(c.axis_a, ca.body, cb.body) || rolls(c.axis_b, cb.body, ca.body);
      const auto spin = [&](const Rigid::Collider& of) {
        return is_ball(model.shapes[of.shape]) ? Real(0) : state.frames.w[of.body].norm();
      };
      c.spin = std::max(spin(ca), spin(cb));
      if (inherits) inherit(old, before, m, Real(0.1) * c.size, c);
      if (inherits && c.rolls_round) roll_over(old, before, m, c);
      if (inherits && !guards) take_over(old, before, m, c);
      c.friction_impulse = Vec3::Zero();
      c.twist_impulse = 0;
      if (inherits) {
        const Vec3& f = old.friction[before];
        c.friction_impulse = f - c.normal.dot(f) * c.normal;
        c.twist_impulse = old.twist[before];
        if (longer != 1) c.scale_impulses(longer);
      }
      set_friction(state, ca, cb, c);
      const Real rim_a = rim_at(model, ca, a, c.normal), rim_b = rim_at(model, cb, w.poses[j], c.normal);
      const Pose& of_rim = rim_a > 0 && (rim_a < rim_b || rim_b == 0) ? a : w.poses[j];
      c.lever_part = lever_part(c, of_rim.position - state.frames.x[ca.body],
                                rim_a > 0 && rim_b > 0 ? std::min(rim_a, rim_b) : std::max(rim_a, rim_b));
      c.restitution = std::max(ca.restitution, cb.restitution);
      c.rolling = std::max(ca.rolling, cb.rolling);
      c.spinning = std::max(ca.spinning, cb.spinning);
      c.surface_velocity = Vec3::Zero();
      if (!ca.surface_velocity.isZero())
        c.surface_velocity += state.frames.rotation(ca.body) * ca.surface_velocity;
      if (!cb.surface_velocity.isZero())
        c.surface_velocity -= state.frames.rotation(cb.body) * cb.surface_velocity;
      c.round_a = guards ? w.guard_round[s][0] : round_at(model, ca, a, c.normal);
      c.round_b = guards ? w.guard_round[s][1] : round_at(model, cb, w.poses[j], c.normal);
      c.hard = guards;
      c.jointed = model.jointed[ca.body] || model.jointed[cb.body];
      c.booked = static_cast<std::size_t>(j) >= model.own_colliders();
      c.turns = guards ? Manifold::Turns::with_neither
                       : turns_in(state.frames, ca.body, cb.body, dt, a.rotation, m, c);
      if (guards || !c.deep) continue;
      any_deep.store(true, std::memory_order_relaxed);
      if (c.jointed) any_deep_in_joints.store(true, std::memory_order_relaxed);
    }
  });
  w.any_deep_in_joints = any_deep_in_joints;
  if (any_deep) share_pushes(w);
}

void keep_contacts(const Rigid::Contacts& old, const RigidWorkspace& w, Rigid::Contacts& kept) {
  const std::size_t n = w.contacts.size();
  kept.pair.resize(n), kept.impulse.resize(n), kept.id.resize(n), kept.friction.resize(n),
      kept.twist.resize(n), kept.carried.resize(n), kept.count.resize(n), kept.cache.resize(n),
      kept.normal.resize(n), kept.point.resize(4 * n), kept.separation.resize(n), kept.seen.resize(n);
  parallel_for(n, contacts_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const ContactInput& c = w.contacts[k];
      const Index s = w.contact_slot[k];
      const Manifold& m = w.manifolds[s];
      kept.pair[k] = w.pairs[w.pair_of[s]];
      kept.count[k] = static_cast<std::uint8_t>(c.count);
      kept.impulse[k].setZero();
      kept.carried[k].setZero();
      kept.id[k].setZero();
      for (int q = 0; q < c.count; ++q)
        kept.impulse[k][q] = c.points[q].impulse, kept.carried[k][q] = c.points[q].carried,
        kept.id[k][q] = m.points[q].id;
      kept.friction[k] = c.friction_impulse;
      kept.twist[k] = c.twist_impulse;
      static_assert(sizeof(ManifoldCache) == 10);
      std::memcpy(kept.cache[k].data(), &w.caches[s], sizeof(ManifoldCache));
      if (w.carried_over[s]) {
        const auto before = static_cast<std::size_t>(w.previous[s]);
        kept.normal[k] = old.normal[before], kept.separation[k] = old.separation[before];
        kept.seen[k] = old.seen[before];
        for (std::size_t q = 0; q < 4; ++q) kept.point[4 * k + q] = old.point[4 * before + q];
        continue;
      }
      kept.normal[k] = m.normal;
      kept.separation[k].setZero();
      for (int q = 0; q < 4; ++q) {
        kept.point[4 * k + std::size_t(q)] = q < c.count ? m.points[q].x : Vec3(Vec3::Zero());
        if (q < c.count) kept.separation[k][q] = m.points[q].separation;
      }
      kept.seen[k] = kept_as(w.seen[s]);
    }
  });
}

void keep_near(const RigidWorkspace& w, Rigid::Near& near) {
  near.pair.clear(), near.seen.clear(), near.cache.clear();
  // There are no more than pairs, whose list has room to spare.
  const std::size_t room = w.pairs.capacity();
  near.pair.reserve(room), near.seen.reserve(room), near.cache.reserve(room);
  for (std::size_t p = 0; p < w.pairs.size(); ++p) {
    const auto slot = static_cast<std::size_t>(w.first_slot[p]);
    if (w.manifolds[slot].count > 0 || !(w.seen[slot].margin >= 0)) continue;
    near.pair.push_back(w.pairs[p]);
    near.seen.push_back(kept_as(w.seen[slot]));
    near.cache.emplace_back();
    std::memcpy(near.cache.back().data(), &w.caches[slot], sizeof(ManifoldCache));
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
