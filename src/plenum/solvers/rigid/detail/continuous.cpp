#include "plenum/solvers/rigid/detail/continuous.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plenum/geometry/collide/mesh_contacts.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/broad.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

bool is_plane(const Shape& shape) {
  return std::holds_alternative<PlaneShape>(shape.variant());
}
bool is_mesh(const Shape& shape) {
  return std::holds_alternative<MeshShape>(shape.variant());
}
bool is_height_field(const Shape& shape) {
  return std::holds_alternative<HeightFieldShape>(shape.variant());
}

/// How far [m] a shape turned by q reaches down from its origin.
Real reach_down(const Shape& shape, const Quat& q) {
  if (std::holds_alternative<MeshShape>(shape.variant()))
    return -least_along(shape, q.conjugate() * Vec3::UnitY());
  return -shape.bounds({Vec3::Zero(), q}).low.y();
}

/// Earliest first_contact() of a ball inside b with solid a, as part s of the step; centre: of the ball, in
/// b.
std::optional<Real> first_of_cores(const Shape& shape_a, const Pose& a0, const Pose& a1,
                                   const Rigid::Collider& b, const Shape& shape_b, const Pose& b0,
                                   const Pose& b1, Vec3& centre) {
  std::optional<Real> first;
  const auto consider = [&](const Vec3& x, Real radius) {
    const auto s = first_contact(shape_a, a0, a1, b0 * x, b1 * x, radius, Real(0.1) * radius);
    if (!s || (first && *s >= *first)) return;
    first = s;
    centre = x;
  };
  if (const auto* mesh = std::get_if<MeshShape>(&shape_b.variant()))
    for (const DistanceField::Ball& ball : mesh->solid->cores)
      consider(mesh->scale * ball.centre, mesh->scale * ball.radius / 2);
  else
    consider(b.core, b.core_radius);
  return first;
}

/// A point that stands for a part of a shape, in its frame. Kept `room` [m] away from a plane, it keeps its
/// part off it however the shape turns.
struct GuardPoint {
  Vec3 x;
  Real room;
};
struct Guard {
  GuardPoint points[4 * most_guards];
  int count = 0;

  void add(const Vec3& x, Real room) { points[count++] = {x, room}; }
};

/// Of a mesh, besides: where it touches, and of the balls inside it those that leave the others farthest.
void add_spread(const MeshShape& mesh, const Vec3& touch, Guard& g) {
  const int first = g.count;
  g.add(touch, 0);
  while (g.count < first + 4) {
    const DistanceField::Ball* farthest = nullptr;
    Real most = 0;
    for (const DistanceField::Ball& ball : mesh.solid->cores) {
      Real least = std::numeric_limits<Real>::max();
      for (int k = first; k < g.count; ++k)
        least = std::min(least, (mesh.scale * ball.centre - g.points[k].x).squaredNorm());
      if (least > most) most = least, farthest = &ball;
    }
    if (!farthest) return;
    g.add(mesh.scale * farthest->centre, mesh.scale * farthest->radius);
  }
}

/// Of a hull's corners that which reaches farthest `down`, and those that leave the others farthest, as many
/// as there is room for: a rock that is met at four would turn about these, and others go through.
void add_corners(const ConvexHull& hull, const Vec3& down, Guard& g) {
  const int most = static_cast<int>(std::min<std::size_t>(hull.vertices.size(), 4 * most_guards));
  g.add(hull.vertices[hull.support(down)], 0);
  while (g.count < most) {
    const Vec3* farthest = nullptr;
    Real most = 0;
    for (const Vec3& v : hull.vertices) {
      Real least = std::numeric_limits<Real>::max();
      for (int k = 0; k < g.count; ++k) least = std::min(least, (v - g.points[k].x).squaredNorm());
      if (least > most) most = least, farthest = &v;
    }
    if (!farthest) return;
    g.add(*farthest, 0);
  }
}

/// Apex and three places of the rim, one of them where it reaches farthest `down`.
void add_corners(const ConeShape& cone, const Vec3& down, Guard& g) {
  const Vec3 across(down.x(), 0, down.z());
  const Real length = across.norm();
  const Vec3 e = length > Real(1e-6) ? Vec3(across / length) : Vec3(Vec3::UnitX()),
             f = e.cross(Vec3::UnitY());
  constexpr Real cosine = Real(-0.5), sine = Real(0.866025403784438647);
  g.add(cone.half_height * Vec3::UnitY(), 0);
  for (const Vec3& x : {e, Vec3(cosine * e + sine * f), Vec3(cosine * e - sine * f)})
    g.add(cone.radius * x - cone.half_height * Vec3::UnitY(), 0);
}

/// What stands for a shape where contacts at its features do not reach: the middle of a ball, the ends of the
/// axis of a capsule or cylinder, corners of hulls, places of a cone, of boxes and meshes the corners of the
/// middle of the box, between its largest sides. A mesh need not come near these, as a ring does not, and has
/// more. touch [m]: where it is touched; down: towards the plane at the end of the step.
Guard guard_of(const Shape& shape, const Vec3& touch, const Vec3& down) {
  Guard g;
  if (const auto* ball = std::get_if<SphereShape>(&shape.variant())) {
    g.add(Vec3::Zero(), ball->radius);
  } else if (const auto* capsule = std::get_if<CapsuleShape>(&shape.variant())) {
    for (const Real end : {capsule->half_height, -capsule->half_height})
      g.add(Vec3(0, end, 0), capsule->radius);
  } else if (const auto* cylinder = std::get_if<CylinderShape>(&shape.variant())) {
    for (const Real end : {cylinder->half_height, -cylinder->half_height})
      g.add(Vec3(0, end, 0), cylinder->radius);
  } else if (const auto* hull = std::get_if<ConvexHullShape>(&shape.variant())) {
    add_corners(*hull->hull, down, g);
  } else if (const auto* cone = std::get_if<ConeShape>(&shape.variant())) {
    add_corners(*cone, down, g);
  } else {
    const Aabb box = shape.bounds();
    const Vec3 centre = box.centre(), half = box.size() / 2;
    int thin = 0;
    half.minCoeff(&thin);
    const Vec3 u = half[(thin + 1) % 3] * Vec3::Unit((thin + 1) % 3),
               v = half[(thin + 2) % 3] * Vec3::Unit((thin + 2) % 3);
    for (const Vec3& corner : {Vec3(u + v), Vec3(v - u), Vec3(-u - v), Vec3(u - v)})
      g.add(centre + corner, half[thin]);
  }
  if (const auto* mesh = std::get_if<MeshShape>(&shape.variant())) add_spread(*mesh, touch, g);
  return g;
}

/// Whether a point of a solid's surface, in its frame, is one, to a part of `size` [m]: beyond a face's
/// border its plane goes on, but nothing is there.
bool is_on(const Shape& shape, const Vec3& x, Real size) {
  return !is_mesh(shape) && !is_height_field(shape) &&
         std::abs(shape.signed_distance(x).distance) < Real(1e-3) * size;
}

}  // namespace

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

/// Part of the size within which what comes down is flat.
constexpr Real flat = Real(0.01);
/// Steps beyond this one in which a ball's touch is looked for.
constexpr Real most_beyond = 16;

bool core_touch(const Shape& shape_a, const Sweep& sweep_a, const Rigid::Collider& b, const Shape& shape_b,
                const Sweep& sweep_b, Manifold& m) {
  if (!(b.core_radius > 0)) return false;
  // As far beyond the step as the body reaches beyond the ball, for its surface comes down before that does.
  const Real way = (sweep_b.way - sweep_a.way).norm(), beyond = std::max(b.spread - b.core_radius, Real(0)),
             end = 1 + std::min(beyond / std::max(way, std::numeric_limits<Real>::min()), most_beyond);
  const auto until = [&](const Sweep& sweep) {
    return Pose{sweep.start.position + end * sweep.way, sweep.at(1).rotation};
  };
  const Pose &a0 = sweep_a.start, &b0 = sweep_b.start, a1 = until(sweep_a), b1 = until(sweep_b);
  Vec3 core;
  const auto hit = first_of_cores(shape_a, a0, a1, b, shape_b, b0, b1, core);
  if (!hit || !(*hit > 0)) return false;
  const Pose at{a0.position + *hit * (a1.position - a0.position), a0.rotation.slerp(*hit, a1.rotation)};
  const Vec3 centre = b0 * core + *hit * (b1 * core - b0 * core);
  const SignedDistance<Real> d = shape_a.exact_distance(at.to_local(centre));
  // Open meshes have no inside; what comes from behind is let through.
  if (d.distance < 0) return false;
  const Vec3 x = centre - d.distance * (at.rotation * d.normal);
  // The plane's place in A does not change; what of the body is nearest to it at the start.
  m.normal = d.normal;
  m.turns = Manifold::Turns::with_neither;
  const Vec3 start = a0.to_local(b0.position), on_plane = at.to_local(x);
  const Quat upright = Quat::FromTwoVectors(d.normal, Vec3::UnitY()) * a0.rotation.conjugate() * b0.rotation;
  const Real reach = reach_down(shape_b, upright.normalized());
  const Real gap = d.normal.dot(start - on_plane) - reach;
  // Beyond the step only what is under the body: planes go on where nothing is.
  const auto is_there = [&](const Vec3& x) {
    return std::abs(shape_a.exact_distance(x).distance) <= Real(0.05) * b.size;
  };
  if (*hit * end > 1 && (gap < 0 || !is_there(start - (reach + gap) * d.normal))) return false;
  m.count = 1;
  m.points[0] = {start - (reach + Real(0.5) * gap) * d.normal, gap, core_touch_id};
  // What is touched at one end turns about that, and would swing its other end and then its middle through:
  // so what else of it comes down on the surface is stopped there, too.
  if (!is_mesh(shape_b)) {
    const Guard g = guard_of(shape_b, Vec3::Zero(), -(b1.rotation.conjugate() * (at.rotation * d.normal)));
    const auto place = [&](int k) { return a0.to_local(b0 * g.points[k].x); };
    int nearest = -1;  // which the first point stands for
    Real least = std::numeric_limits<Real>::max(), highest = 0;
    for (int k = 0; g.count >= 4 && k < 4; ++k) {
      if (const Real apart = (place(k) - m.points[0].x).squaredNorm(); apart < least)
        least = apart, nearest = k;
      highest = std::max(highest, d.normal.dot(place(k) - on_plane) - g.points[k].room - gap);
    }
    // Four that all come down at once stand for themselves: what is flat would turn about three of them.
    if (g.count >= 4 && highest <= flat * b.size) nearest = -1, m.count = 0;
    for (int k = 0; k < g.count && m.count < 4; ++k) {
      // As near the plane as it is when that is touched, or as its room.
      const Real height = d.normal.dot(place(k) - on_plane),
                 room = std::min(g.points[k].room, std::max(height - gap, Real(0)));
      const Vec3 end = at.to_local(b1 * g.points[k].x);
      const Vec3 foot = end - d.normal.dot(end - on_plane) * d.normal;
      if (k == nearest || height < 0 || !is_there(foot)) continue;
      const Real way = height - room;
      m.points[m.count] = {place(k) - (room + Real(0.5) * way) * d.normal, way,
                           core_touch_id + std::uint32_t(m.count)};
      ++m.count;
    }
    m.count = std::max(m.count, 1);
  }
  return d.normal.dot(a0.to_local(b0 * core) - on_plane) > 0;
}

bool needs_guard(const Rigid::Model& model, const Rigid::State& state, const RigidWorkspace& w, Real dt,
                 Index i, Index j) {
  const Rigid::Collider &a = model.colliders[i], &b = model.colliders[j];
  const bool swift_a = is_swift(w.ways[i], a), swift_b = is_swift(w.ways[j], b);
  if (!(swift_a || swift_b)) return false;
  const Shape &shape_a = model.shapes[a.shape], &shape_b = model.shapes[b.shape];
  // Below height fields all is solid.
  if (is_height_field(shape_a) || is_height_field(shape_b)) return false;
  // Planes are met by all that what is round has, but by four of the corners that others have.
  if ((is_plane(shape_a) && b.round > 0) || (is_plane(shape_b) && a.round > 0)) return false;
  const Frames& f = state.frames;
  const Real way = dt * ((f.v[b.body] - f.v[a.body]).norm() + f.w[a.body].norm() * model.reach[a.body] +
                         f.w[b.body].norm() * model.reach[b.body]);
  return (swift_a && is_swift(way, a)) || (swift_b && is_swift(way, b));
}

int num_guards(const Shape& a, const Shape& b) {
  const auto many = [](const Shape& shape) {
    return is_mesh(shape) || std::holds_alternative<ConvexHullShape>(shape.variant());
  };
  return many(a) || many(b) ? most_guards : 1;
}

Guarded guard(const Rigid::Model& model, const Rigid::State& state, const Rigid::Collider& a,
              const Rigid::Collider& b, const Sweep& sweep_a, const Sweep& sweep_b,
              std::span<const Manifold> now, Manifold* m, Vec3* apart, Vec2* round) {
  const Shape &shape_a = model.shapes[a.shape], &shape_b = model.shapes[b.shape];
  const Pose& a0 = sweep_a.start;
  const Manifold* nearest = nullptr;
  const Manifold::Point* nearest_point = nullptr;
  for (const Manifold& contact : now)
    for (const Manifold::Point* p = contact.points; p != contact.points + contact.count; ++p)
      if (!nearest || p->separation < nearest_point->separation) nearest = &contact, nearest_point = p;
  const Real size = std::min(a.size, b.size);
  std::optional<Impact> impact;
  if (!(nearest && nearest_point->separation <= 0))
    impact = time_of_impact(shape_a, sweep_a, shape_b, sweep_b, 0, Real(0.002) * size);
  Real s = 0, slack = 0;
  Vec3 n, x;  // the plane, in the world, when it is touched
  const Guarded how = impact && impact->s > 0 ? Guarded::by_impact : Guarded::by_contact;
  if (how == Guarded::by_impact) {
    s = impact->s, n = impact->normal, x = impact->x;
  } else if (nearest) {
    // The contacts that there are have the first word.
    n = a0.rotation * nearest->normal, x = a0 * nearest_point->x;
    slack = Real(0.25) * size;
  } else {
    return Guarded::no;
  }
  // The lighter one is guarded, from a plane that moves with the other.
  const bool guards_a = state.frames.inverse_mass[a.body] > state.frames.inverse_mass[b.body];
  const Sweep &of_plane = guards_a ? sweep_b : sweep_a, &of_guard = guards_a ? sweep_a : sweep_b;
  const Pose plane = of_plane.at(s), guarded = of_guard.at(s);
  const Shape& shape_of_plane = guards_a ? shape_b : shape_a;
  const Vec3 out = guards_a ? Vec3(-n) : n;  // towards the guarded one
  // The plane in its body's frame, and where that and the guarded one end.
  const Vec3 upright = plane.rotation.conjugate() * out, on_plane = plane.to_local(x);
  const Pose plane_then = of_plane.at(1), guarded_then = of_guard.at(1);
  const Shape& shape_of_guard = guards_a ? shape_a : shape_b;
  const Guard g = guard_of(shape_of_guard, guarded.to_local(x), -(guarded_then.rotation.conjugate() * out));
  // What is round touches with its surface, wherever that is then; the rest with the points themselves. A
  // cylinder reaches as far beyond the ends of its axis as that leans over; as it does at the end.
  const bool is_cylinder = std::holds_alternative<CylinderShape>(shape_of_guard.variant());
  const bool is_round = is_cylinder || (guards_a ? a : b).round > 0;
  const Real along = is_cylinder ? out.dot(guarded_then.rotation * Vec3::UnitY()) : Real(0);
  const Real lean = std::sqrt(std::max(1 - along * along, Real(0)));
  for (int k = 0; k < g.count; ++k) {
    const Vec3& point = g.points[k].x;
    const Real room = lean * g.points[k].room;
    const Vec3 inward = is_round ? Vec3(-room * out) : Vec3(Vec3::Zero());
    const Vec3 then = guarded * point + inward;
    const Real height = out.dot(then - x),
               keeps = is_round ? std::min(height, Real(0)) : std::min(height, room);
    // Where the two that will be above each other are now.
    const Vec3 above = of_guard.start * point + inward,
               below = of_plane.start * plane.to_local(then - height * out);
    const Real way = std::max(out.dot(above - below) - keeps, Real(0));
    // What is near is left to the contacts; what comes from afar is stopped by the surface, where that goes
    // on as far as there.
    const auto foot = [&](const Vec3& y) -> Vec3 { return y - upright.dot(y - on_plane) * upright; };
    const bool lands = slack > 0 && way > slack && is_on(shape_of_plane, foot(plane.to_local(then)), size) &&
                       is_on(shape_of_plane, foot(plane_then.to_local(guarded_then * point + inward)), size);
    const Real gap = lands ? way : way + slack;
    Manifold& points = m[k / 4];
    points.normal = a0.rotation.conjugate() * n;
    points.points[k % 4] = {a0.to_local(Real(0.5) * (above + below)), gap, guard_id + std::uint32_t(k % 4)};
    points.count = k % 4 + 1;
    apart[k] = guards_a ? Vec3(below - above) : Vec3(above - below);
    round[k / 4] = Vec2(a.round, b.round);
    if (is_cylinder) round[k / 4][guards_a ? 0 : 1] = room;
  }
  return how;
}

}}  // namespace plenum::PLENUM_ABI::detail
