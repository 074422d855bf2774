#include "plenum/solvers/rigid/detail/narrow.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/geometry/collide/time_of_impact.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/broad.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr std::size_t contacts_per_block = 64;
constexpr std::uint32_t first_touch_id = 0x7ffffef0u;  ///< of the point of first_touch()
constexpr std::uint32_t guard_id = 0x7fffff00u;        ///< of the points of guards, four from here

/// starts[k] = first item whose key is at least k, of items sorted by key in [0, n).
template <class Key>
void index_by(std::size_t items, std::size_t n, Key&& key, std::vector<Index>& starts) {
  starts.assign(n + 1, 0);
  for (std::size_t i = 0; i < items; ++i) ++starts[static_cast<std::size_t>(key(i)) + 1];
  for (std::size_t k = 0; k < n; ++k) starts[k + 1] += starts[k];
}

bool is_surface(const Shape& shape) {
  return std::holds_alternative<MeshShape>(shape.variant()) ||
         std::holds_alternative<HeightFieldShape>(shape.variant());
}
/// [m] radius about a middle or an axis, at a contact of this normal, of what keeps its distance while it
/// rolls: a ball, a capsule, a cylinder that lies on its side.
Real round_at(const Rigid::Model& model, const Rigid::Collider& c, const Pose& pose, const Vec3& normal) {
  constexpr Real lies = Real(0.01);  // sine
  if (c.round > 0) return c.round;
  const auto* cylinder = std::get_if<CylinderShape>(&model.shapes[c.shape].variant());
  return cylinder && std::abs(normal.dot(pose.rotation * Vec3::UnitY())) < lies ? cylinder->radius : 0;
}
bool is_plane(const Shape& shape) {
  return std::holds_alternative<PlaneShape>(shape.variant());
}

/// Points take over the impulses of the last step's points on the same features. Where features trade places
/// without moving, as the corners of two aligned boxes do, the nearest of those left within `reach` [m].
void inherit(const Rigid::Contacts& old, Index contact, const Manifold& m, Real reach, ContactInput& c) {
  bool given[4] = {}, taken[4] = {};
  const int count = old.count[contact];
  for (int q = 0; q < m.count; ++q)
    for (int o = 0; o < count && !given[q]; ++o)
      if (!taken[o] && old.id[contact][o] == m.points[q].id) {
        c.points[q].impulse = old.impulse[contact][o];
        c.points[q].carried = old.carried[contact][o];
        given[q] = taken[o] = true;
      }
  for (int q = 0; q < m.count; ++q) {
    int nearest = -1;
    Real least = reach * reach;
    for (int o = 0; o < count && !given[q]; ++o) {
      const Real apart = (old.point[4 * std::size_t(contact) + std::size_t(o)] - m.points[q].x).squaredNorm();
      if (!taken[o] && apart < least) least = apart, nearest = o;
    }
    if (nearest < 0) continue;
    c.points[q].impulse = old.impulse[contact][nearest];
    c.points[q].carried = old.carried[contact][nearest];
    taken[nearest] = true;
  }
}

/// A contact of the last step for each of the manifolds of a pair with a surface: the one that shares most
/// points with it, and where none does the one whose points are nearest. previous [count]; contacts first to
/// end are the pair's, none of which is given twice.
void match(const Rigid::Contacts& old, Index first, Index end, const Manifold* manifolds, int count,
           Index* previous) {
  std::uint32_t taken = 0;
  for (const bool by_id : {true, false})
    for (int s = 0; s < count; ++s) {
      if (previous[s] >= 0) continue;
      int most = 0;
      Real least = std::numeric_limits<Real>::max();
      for (Index c = first; c < std::min(end, first + 32); ++c) {
        if (taken >> (c - first) & 1u) continue;
        int shared = 0;
        Real nearest = std::numeric_limits<Real>::max();
        for (int q = 0; q < manifolds[s].count; ++q)
          for (int o = 0; o < old.count[c]; ++o) {
            shared += old.id[c][o] == manifolds[s].points[q].id;
            nearest = std::min(
                nearest,
                (old.point[4 * std::size_t(c) + std::size_t(o)] - manifolds[s].points[q].x).squaredNorm());
          }
        if (by_id ? shared <= most : nearest >= least) continue;
        most = shared, least = nearest, previous[s] = c;
      }
      if (previous[s] >= 0) taken |= 1u << (previous[s] - first);
    }
}

/// How a collider moves in dt [s] if nothing holds its body.
Sweep sweep_of(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
               const Rigid::Collider& c) {
  const Pose from = state.frames.pose(c.body);
  Pose to = from;
  to.position += dt * state.frames.v[c.body];
  if (state.frames.inverse_mass[c.body] > 0) to.position += dt * dt * model.gravity_scale[c.body] * gravity;
  const Vec3 turn = dt * state.frames.w[c.body];
  to.rotation = turned(from.rotation, turn);
  const Pose start{from * c.local.position, (from.rotation * c.local.rotation).normalized()};
  return {start, to * c.local.position - start.position, turn};
}

/// A unit vector normal to the unit vector n, without a jump where n does not change much. Source: Duff et
/// al. 2017, "Building an orthonormal basis, revisited".
Vec3 tangent_to(const Vec3& n) {
  const Real sign = n.z() >= 0 ? Real(1) : Real(-1);
  const Real a = -1 / (sign + n.z()), b = n.x() * n.y() * a;
  return {1 + sign * n.x() * n.x() * a, sign * b, -sign * n.x()};
}

/// The direction along a surface of normal n in which its friction axis lies, in the world; zero if there is
/// none.
Vec3 grain(const Rigid::State& state, const Rigid::Collider& c, const Vec3& n) {
  if (c.friction_axis.isZero(0)) return Vec3::Zero();
  const Vec3 axis = state.frames.rotation(c.body) * c.friction_axis, along = axis - n.dot(axis) * n;
  const Real length = along.norm();
  return length > Real(1e-3) ? Vec3(along / length) : Vec3(Vec3::Zero());
}

/// Part of a surface's friction that acts in the tangential direction t: the radius of its ellipse.
Real friction_part(const Rigid::Collider& c, const Vec3& grain, const Vec3& t) {
  if (grain.isZero(0)) return 1;
  const Real along = grain.dot(t), across = std::sqrt(std::max(Real(0), 1 - along * along));
  const Real length = std::hypot(c.friction_across * along, c.friction_along * across);
  return c.friction_along * c.friction_across / std::max(length, std::numeric_limits<Real>::min());
}

/// Friction of two surfaces: geometric means along the axes of the one whose friction depends more on the
/// direction.
void set_friction(const Rigid::State& state, const Rigid::Collider& a, const Rigid::Collider& b,
                  ContactInput& c) {
  c.friction = std::sqrt(a.friction * b.friction);
  c.static_friction = std::sqrt(a.static_friction * b.static_friction);
  c.friction_ratio = 1;
  const Vec3 of_a = grain(state, a, c.normal), of_b = grain(state, b, c.normal);
  if (of_a.isZero(0) && of_b.isZero(0)) {
    c.friction_axis = tangent_to(c.normal);
    return;
  }
  const auto least_part = [](const Rigid::Collider& s) {
    return std::min(s.friction_along, s.friction_across);
  };
  const bool by_a = !of_a.isZero(0) && (of_b.isZero(0) || least_part(a) <= least_part(b));
  const auto mean = [&](const Vec3& t) {
    return std::sqrt(friction_part(a, of_a, t) * friction_part(b, of_b, t));
  };
  Vec3 t = by_a ? of_a : of_b, other = c.normal.cross(t);
  Real most = mean(t), least = mean(other);
  if (most < least) std::swap(most, least), t = other;
  c.friction_axis = t;
  c.friction *= most, c.static_friction *= most;
  c.friction_ratio = most > 0 ? least / most : 1;
}

/// The contact that a surface A and a convex collider will have if nothing holds them, as one point that is
/// still apart: on the plane of the first touch. False if they pass each other.
bool first_touch(const Shape& surface, const Shape& shape, const Rigid::Collider& b, const Sweep& sweep_a,
                 const Sweep& sweep_b, Manifold& m) {
  // A ball inside the body stands for it: what stays outside is left to the contacts of the next step.
  if (!(b.core_radius > 0)) return false;
  const Pose &a0 = sweep_a.start, &b0 = sweep_b.start, a1 = sweep_a.at(1), b1 = sweep_b.at(1);
  const auto hit =
      first_contact(surface, a0, a1, b0 * b.core, b1 * b.core, b.core_radius, Real(0.1) * b.core_radius);
  if (!hit || !(*hit > 0)) return false;
  const Pose at{a0.position + *hit * (a1.position - a0.position), a0.rotation.slerp(*hit, a1.rotation)};
  const Vec3 centre = b0 * b.core + *hit * (b1 * b.core - b0 * b.core);
  const SignedDistance<Real> d = surface.exact_distance(at.to_local(centre));
  // Open meshes have no inside; what comes from behind is let through.
  if (d.distance < 0) return false;
  const Vec3 x = centre - d.distance * (at.rotation * d.normal);
  // The plane's place in A does not change; what of the body is nearest to it at the start.
  m.normal = d.normal;
  const Vec3 start = a0.to_local(b0 * b.core);
  const Quat upright = Quat::FromTwoVectors(d.normal, Vec3::UnitY()) * a0.rotation.conjugate() * b0.rotation;
  const Real reach = -shape.bounds({upright * -b.core, upright.normalized()}).low.y();
  const Real height = d.normal.dot(start - at.to_local(x)), gap = height - reach;
  m.count = 1;
  m.points[0] = {start - (reach + Real(0.5) * gap) * d.normal, gap, first_touch_id};
  return height > 0;
}

/// Points that stand for a convex shape where contacts at its features do not reach, in its frame: the middle
/// of a ball, the ends of a capsule, else the corners of the middle of its box, between its largest sides.
/// Kept `room` [m] away from a plane, they keep the shape's middle off it however it turns.
struct Guard {
  Vec3 points[4];
  int count;
  Real room;
};
Guard guard_of(const Shape& shape) {
  if (const auto* ball = std::get_if<SphereShape>(&shape.variant())) return {{Vec3::Zero()}, 1, ball->radius};
  if (const auto* capsule = std::get_if<CapsuleShape>(&shape.variant()))
    return {{Vec3(0, capsule->half_height, 0), Vec3(0, -capsule->half_height, 0)}, 2, capsule->radius};
  const Aabb box = shape.bounds();
  const Vec3 centre = box.centre(), half = box.size() / 2;
  int thin = 0;
  half.minCoeff(&thin);
  const Vec3 u = half[(thin + 1) % 3] * Vec3::Unit((thin + 1) % 3),
             v = half[(thin + 2) % 3] * Vec3::Unit((thin + 2) % 3);
  return {{centre + u + v, centre - u + v, centre - u - v, centre + u - v}, 4, half[thin]};
}

/// What keeps two convex colliders apart that may go far, or turn fast, in a step: the plane in which they
/// first touch, or that already is between them, and one's guard. Its points may come as near the plane as
/// they are when it is touched, or as their room. apart [count] m: from where they are to
/// meet on A, to where they are to on B, in the world now. False if the two pass each other.
bool guard(const Rigid::Model& model, const Rigid::State& state, const Rigid::Collider& a,
           const Rigid::Collider& b, const Sweep& sweep_a, const Sweep& sweep_b, const Manifold& now,
           Manifold& m, Vec3 (&apart)[4]) {
  const Shape &shape_a = model.shapes[a.shape], &shape_b = model.shapes[b.shape];
  const Pose& a0 = sweep_a.start;
  const bool touches = std::any_of(now.points, now.points + now.count,
                                   [](const Manifold::Point& p) { return p.separation <= 0; });
  std::optional<Impact> impact;
  if (!touches)
    impact = time_of_impact(shape_a, sweep_a, shape_b, sweep_b, 0, Real(0.01) * std::min(a.size, b.size));
  Real s = 0, slack = 0;
  Vec3 n, x;  // the plane, in the world, when it is touched
  if (impact && impact->s > 0) {
    s = impact->s, n = impact->normal, x = impact->x;
  } else if (now.count > 0) {
    // The contacts that there are have the first word.
    const auto* nearest = std::min_element(
        now.points, now.points + now.count,
        [](const Manifold::Point& p, const Manifold::Point& q) { return p.separation < q.separation; });
    n = a0.rotation * now.normal, x = a0 * nearest->x;
    slack = Real(0.25) * std::min(a.size, b.size);
  } else {
    return false;
  }
  // The lighter one is guarded, from a plane that moves with the other.
  const bool guards_a = state.frames.inverse_mass[a.body] > state.frames.inverse_mass[b.body];
  const Sweep &of_plane = guards_a ? sweep_b : sweep_a, &of_guard = guards_a ? sweep_a : sweep_b;
  const Pose plane = of_plane.at(s), guarded = of_guard.at(s);
  const Vec3 out = guards_a ? Vec3(-n) : n;  // towards the guarded one
  const Guard g = guard_of(guards_a ? shape_a : shape_b);
  m.normal = a0.rotation.conjugate() * n;
  m.count = g.count;
  for (int k = 0; k < g.count; ++k) {
    // What is round touches with its surface, wherever that is then; the rest with the points themselves.
    const bool is_round = (guards_a ? a : b).round > 0;
    const Vec3 inward = is_round ? Vec3(-g.room * out) : Vec3(Vec3::Zero());
    const Vec3 then = guarded * g.points[k] + inward;
    const Real height = out.dot(then - x),
               keeps = is_round ? std::min(height, Real(0)) : std::min(height, g.room);
    // Where the two that will be above each other are now.
    const Vec3 above = of_guard.start * g.points[k] + inward,
               below = of_plane.start * plane.to_local(then - height * out);
    const Real gap = std::max(out.dot(above - below) - keeps, Real(0)) + slack;
    m.points[k] = {a0.to_local(Real(0.5) * (above + below)), gap, guard_id + std::uint32_t(k)};
    apart[k] = guards_a ? Vec3(below - above) : Vec3(above - below);
  }
  return true;
}

/// Whether contacts at a step's start may not tell what the convex colliders i and j will meet in it: one of
/// them goes, past the other, farther than half its width. Nothing passes a plane, so none is stopped by it
/// in vain.
bool needs_guard(const Rigid::Model& model, const Rigid::State& state, const RigidWorkspace& w, Real dt,
                 Index i, Index j) {
  const Rigid::Collider &a = model.colliders[i], &b = model.colliders[j];
  const bool swift_a = is_swift(w.ways[i], a), swift_b = is_swift(w.ways[j], b);
  if (!(swift_a || swift_b) || is_plane(model.shapes[a.shape]) || is_plane(model.shapes[b.shape]))
    return false;
  const Frames& f = state.frames;
  const Real way = dt * ((f.v[b.body] - f.v[a.body]).norm() + f.w[a.body].norm() * model.reach[a.body] +
                         f.w[b.body].norm() * model.reach[b.body]);
  return (swift_a && is_swift(way, a)) || (swift_b && is_swift(way, b));
}

/// A manifold in the other collider's frame, seen from there; other: the pose of the frame it is in.
void turn_over(const Pose& other, Manifold& m) {
  m.normal = -(other.rotation * m.normal);
  for (int q = 0; q < m.count; ++q) m.points[q].x = other * m.points[q].x;
}

}  // namespace

void find_manifolds(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
                    RigidWorkspace& w) {
  const Rigid::Contacts& old = state.contacts;
  const std::size_t n = w.pairs.size();
  w.contact_slot.clear();
  if (n == 0) return;
  index_by(
      old.pair.size(), model.colliders.size(), [&](std::size_t c) { return old.pair[c][0]; }, w.old_starts);
  // Room for the manifolds of each pair.
  w.first_slot.resize(n + 1);
  std::size_t slots = 0;
  for (std::size_t p = 0; p < n; ++p) {
    w.first_slot[p] = static_cast<Index>(slots);
    const Index i = w.pairs[p][0], j = w.pairs[p][1];
    const Shape &a = model.shapes[model.colliders[i].shape], &b = model.shapes[model.colliders[j].shape];
    if (is_surface(a) || is_surface(b))
      slots += SurfaceManifolds::most;
    else
      slots += needs_guard(model, state, w, dt, i, j) ? 2 : 1;
  }
  w.first_slot[n] = static_cast<Index>(slots);
  w.manifolds.resize(slots), w.caches.resize(slots), w.previous.resize(slots), w.pair_of.resize(slots);
  w.apart.resize(4 * slots);
  parallel_for(n, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const Index i = w.pairs[p][0], j = w.pairs[p][1];
      const Rigid::Collider &ci = model.colliders[i], &cj = model.colliders[j];
      const Shape &shape_i = model.shapes[ci.shape], &shape_j = model.shapes[cj.shape];
      const Index slot = w.first_slot[p], room = w.first_slot[p + 1] - slot;
      for (Index s = slot; s < slot + room; ++s) {
        w.pair_of[s] = static_cast<Index>(p);
        w.previous[s] = -1;
        w.caches[s] = {};
      }
      // A floor has as many contacts as bodies lie on it.
      const auto kept = old.pair.begin();
      const auto mine =
          std::equal_range(kept + w.old_starts[i], kept + w.old_starts[i + 1], w.pairs[p], is_before);
      Index first = static_cast<Index>(mine.first - kept), past = static_cast<Index>(mine.second - kept);
      const Pose &a = w.poses[i], &b = w.poses[j];
      const auto sweep = [&](const Rigid::Collider& c) { return sweep_of(model, state, gravity, dt, c); };
      Manifold* const out = &w.manifolds[slot];
      if (is_surface(shape_i) || is_surface(shape_j)) {
        const bool swap = !is_surface(shape_i);
        const Pose &f = swap ? b : a, &g = swap ? a : b;
        const Rigid::Collider &cf = swap ? cj : ci, &cg = swap ? ci : cj;
        const Pose g_in_f{f.to_local(g.position), (f.rotation.conjugate() * g.rotation).normalized()};
        SurfaceManifolds found;
        collide_surface(swap ? shape_j : shape_i, swap ? shape_i : shape_j, g_in_f,
                        w.margins[i] + w.margins[j], found);
        if ((is_swift(w.ways[i], ci) || is_swift(w.ways[j], cj)) && found.count < SurfaceManifolds::most &&
            first_touch(swap ? shape_j : shape_i, swap ? shape_i : shape_j, cg, sweep(cf), sweep(cg),
                        found.manifolds[found.count]))
          ++found.count;
        const Pose f_in_a{a.to_local(f.position), (a.rotation.conjugate() * f.rotation).normalized()};
        for (int s = 0; s < room; ++s) {
          if (s < found.count) {
            out[s] = found.manifolds[s];
            if (swap) turn_over(f_in_a, out[s]);
          } else {
            out[s].count = 0;
          }
        }
        match(old, first, past, out, found.count, &w.previous[slot]);
        continue;
      }
      // Guards are made anew in every step.
      while (first < past && old.id[first][0] == guard_id) ++first;
      if (past > first) {
        w.previous[slot] = first;
        std::memcpy(&w.caches[slot], old.cache[first].data(), sizeof(ManifoldCache));
      }
      const Pose b_in_a{a.to_local(b.position), (a.rotation.conjugate() * b.rotation).normalized()};
      const Real margin = is_plane(shape_i) || is_plane(shape_j)
                              ? Real(0.005) * std::min(ci.size, cj.size) + way_between(w, i, j)
                              : w.margins[i] + w.margins[j];
      *out = collide(shape_i, shape_j, b_in_a, margin, w.caches[slot]);
      if (room == 1) continue;
      Vec3 apart[4];
      out[1].count = 0;
      if (guard(model, state, ci, cj, sweep(ci), sweep(cj), out[0], out[1], apart))
        std::copy(apart, apart + out[1].count, &w.apart[4 * std::size_t(slot) + 4]);
    }
  });
  for (std::size_t s = 0; s < slots; ++s)
    if (w.manifolds[s].count > 0) w.contact_slot.push_back(static_cast<Index>(s));
}

void make_contacts(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w) {
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
  w.contacts.resize(w.contact_slot.size());
  const Index world = w.bodies.world();
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
      if (before >= 0) inherit(old, before, m, Real(0.1) * std::min(ca.size, cb.size), c);
      c.friction_impulse = Vec3::Zero();
      c.twist_impulse = 0;
      if (before >= 0) {
        const Vec3& f = old.friction[before];
        c.friction_impulse = f - c.normal.dot(f) * c.normal;
        c.twist_impulse = old.twist[before];
      }
      set_friction(state, ca, cb, c);
      c.restitution = std::max(ca.restitution, cb.restitution);
      c.rolling = std::max(ca.rolling, cb.rolling);
      c.surface_velocity = Vec3::Zero();
      if (!ca.surface_velocity.isZero())
        c.surface_velocity += state.frames.rotation(ca.body) * ca.surface_velocity;
      if (!cb.surface_velocity.isZero())
        c.surface_velocity -= state.frames.rotation(cb.body) * cb.surface_velocity;
      c.round_a = guards ? ca.round : round_at(model, ca, a, c.normal);
      c.round_b = guards ? cb.round : round_at(model, cb, w.poses[j], c.normal);
      c.hard = guards;
      c.jointed = model.jointed[ca.body] || model.jointed[cb.body];
      c.booked = static_cast<std::size_t>(j) >= model.own_colliders();
    }
  });
}

void keep_contacts(const RigidWorkspace& w, Rigid::Contacts& kept) {
  const std::size_t n = w.contacts.size();
  kept.pair.resize(n), kept.impulse.resize(n), kept.id.resize(n), kept.friction.resize(n),
      kept.twist.resize(n);
  kept.carried.resize(n), kept.count.resize(n), kept.cache.resize(n), kept.point.resize(4 * n);
  parallel_for(n, contacts_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const ContactInput& c = w.contacts[k];
      const Index s = w.contact_slot[k];
      kept.pair[k] = w.pairs[w.pair_of[s]];
      kept.count[k] = static_cast<std::uint8_t>(c.count);
      kept.impulse[k].setZero();
      kept.carried[k].setZero();
      kept.id[k].setZero();
      for (int q = 0; q < c.count; ++q)
        kept.impulse[k][q] = c.points[q].impulse, kept.carried[k][q] = c.points[q].carried,
        kept.id[k][q] = w.manifolds[s].points[q].id;
      for (std::size_t q = 0; q < 4; ++q)
        kept.point[4 * k + q] = int(q) < c.count ? w.manifolds[s].points[q].x : Vec3(Vec3::Zero());
      kept.friction[k] = c.friction_impulse;
      kept.twist[k] = c.twist_impulse;
      static_assert(sizeof(ManifoldCache) == 10);
      std::memcpy(kept.cache[k].data(), &w.caches[s], sizeof(ManifoldCache));
    }
  });
}

}}  // namespace plenum::PLENUM_ABI::detail
