#include "plenum/solvers/rigid/debug.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/solvers/rigid/detail/broad.h"
#include "plenum/solvers/rigid/detail/islands.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {
namespace {

bool is_dynamic(const Rigid::Model& model, Index body) {
  return body >= 0 && model.motion[body] == Rigid::Motion::dynamic;
}

bool is_surface(const Shape& shape) {
  return std::holds_alternative<MeshShape>(shape.variant()) ||
         std::holds_alternative<HeightFieldShape>(shape.variant());
}

Pose placed(const Pose& body, const Rigid::Collider& c) {
  return {body * c.local.position, (body.rotation * c.local.rotation).normalized()};
}
Pose pose_now(const Rigid::State& state, const Rigid::Collider& c) {
  return placed(state.frames.pose(c.body), c);
}
Pose pose_at_start(const Rigid::State& state, const Rigid::Collider& c) {
  return placed({state.start_x[c.body], Quat(state.start_q[c.body])}, c);
}

/// The manifold among some in the first collider's frame that shares most points with contact k; where none
/// does, that whose points are nearest.
const Manifold* alike(const Rigid::Contacts& contacts, std::size_t k, std::span<const Manifold> manifolds) {
  const Manifold* best = nullptr;
  int most = -1;
  Real least = std::numeric_limits<Real>::max();
  for (const Manifold& m : manifolds) {
    int shared = 0;
    Real nearest = std::numeric_limits<Real>::max();
    for (int q = 0; q < m.count; ++q)
      for (int o = 0; o < contacts.count[k]; ++o) {
        shared += contacts.id[k][o] == m.points[q].id;
        nearest = std::min(nearest, (contacts.point[4 * k + std::size_t(o)] - m.points[q].x).squaredNorm());
      }
    if (m.count == 0 || shared < most || (shared == most && nearest >= least)) continue;
    best = &m, most = shared, least = nearest;
  }
  return best;
}

/// Normal of contact k in the first collider's frame, from first to second, with the colliders at a and b;
/// zero if they are nowhere near each other.
Vec3 find_normal(const Rigid::Model& model, const Rigid::Contacts& contacts, std::size_t k, const Pose& a,
                 const Pose& b) {
  const Rigid::Collider &ca = model.colliders[contacts.pair[k][0]],
                        &cb = model.colliders[contacts.pair[k][1]];
  const Shape &shape_a = model.shapes[ca.shape], &shape_b = model.shapes[cb.shape];
  const Real margin = std::min(ca.size, cb.size);
  const auto seen_from = [](const Pose& from, const Pose& x) {
    return Pose{from.to_local(x.position), (from.rotation.conjugate() * x.rotation).normalized()};
  };
  SurfaceManifolds found;
  if (can_collide(shape_a, shape_b)) {
    ManifoldCache cache;
    std::memcpy(&cache, contacts.cache[k].data(), sizeof cache);
    found.manifolds[0] = collide(shape_a, shape_b, seen_from(a, b), margin, cache);
    found.count = 1;
  } else if (is_surface(shape_a)) {
    collide_surface(shape_a, shape_b, seen_from(a, b), margin, found);
  } else {
    collide_surface(shape_b, shape_a, seen_from(b, a), margin, found);
    const Pose b_in_a = seen_from(a, b);
    for (int s = 0; s < found.count; ++s) {
      Manifold& m = found.manifolds[s];
      m.normal = -(b_in_a.rotation * m.normal);
      for (int q = 0; q < m.count; ++q) m.points[q].x = b_in_a * m.points[q].x;
    }
  }
  const Manifold* m = alike(contacts, k, {found.manifolds, std::size_t(found.count)});
  return m ? m->normal : Vec3(Vec3::Zero());
}

void add_contacts(const Rigid::Model& model, const Rigid::State& state, const Rigid::Contacts& contacts,
                  Real rate, bool asleep, std::vector<ContactMark>& out) {
  for (std::size_t k = 0; k < contacts.pair.size(); ++k) {
    const Rigid::Collider &ca = model.colliders[contacts.pair[k][0]],
                          &cb = model.colliders[contacts.pair[k][1]];
    const bool on_first = !is_dynamic(model, cb.body) && is_dynamic(model, ca.body);
    ContactMark mark;
    mark.body = on_first ? ca.body : cb.body;
    mark.asleep = asleep;
    mark.count = contacts.count[k];
    mark.centre.setZero();
    // Contacts go along with the body; a ball turns under them.
    const Pose start = pose_at_start(state, ca);
    const Vec3 way = state.frames.x[mark.body] - state.start_x[mark.body];
    Real total = 0;
    for (int q = 0; q < mark.count; ++q) {
      mark.x[q] = start * contacts.point[4 * k + std::size_t(q)] + way;
      mark.force[q] = rate * contacts.impulse[k][q];
      mark.centre += mark.force[q] * mark.x[q];
      total += mark.force[q];
    }
    if (total > 0)
      mark.centre /= total;
    else if (mark.count > 0)
      mark.centre = mark.x[0];
    Vec3 normal = start.rotation * find_normal(model, contacts, k, start, pose_at_start(state, cb));
    if (normal.isZero()) {
      // What was apart when a fast body's step began is in touch when it has ended.
      const Pose now = pose_now(state, ca);
      normal = now.rotation * find_normal(model, contacts, k, now, pose_now(state, cb));
    }
    const Real side = on_first ? Real(-1) : Real(1);
    mark.normal = side * normal;
    mark.friction = side * rate * contacts.friction[k];
    out.push_back(mark);
  }
}

}  // namespace

std::vector<ContactMark> contact_marks(const Rigid::Model& model, const Rigid::State& state,
                                       const Rigid::Params& params) {
  std::vector<ContactMark> marks;
  if (!(state.dt > 0)) return marks;
  const Real rate = static_cast<Real>(params.substeps) / state.dt;
  add_contacts(model, state, state.contacts, rate, false, marks);
  add_contacts(model, state, state.rest.contacts, rate, true, marks);
  return marks;
}

std::vector<Index> islands(const Rigid::Model& model, const Rigid::State& state) {
  const std::size_t n = model.motion.size();
  detail::Islands sets;
  sets.reset(n);
  const auto connect = [&](Index a, Index b) {
    if (is_dynamic(model, a) && is_dynamic(model, b)) sets.connect(a, b);
  };
  for (const Rigid::Contacts* contacts : {&state.contacts, &state.rest.contacts})
    for (const Index2& pair : contacts->pair)
      connect(model.colliders[pair[0]].body, model.colliders[pair[1]].body);
  for (std::size_t k = 0; k < model.joints.size(); ++k)
    if (!state.joints.broken[k]) connect(model.joints[k].a, model.joints[k].b);
  std::vector<Index> island(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto body = static_cast<Index>(i);
    island[i] = !is_dynamic(model, body)    ? -1
                : state.rest.island[i] >= 0 ? state.rest.island[i]
                                            : sets.island(body);
  }
  return island;
}

std::vector<Aabb> broad_boxes(const Rigid::Model& model, const Rigid::State& state,
                              const Rigid::Params& params) {
  std::vector<Aabb> boxes;
  for (const Rigid::Collider& c : model.colliders) {
    const bool asleep = state.rest.island[c.body] >= 0;
    const bool stirs = !asleep && (is_dynamic(model, c.body) || !state.frames.v[c.body].isZero() ||
                                   !state.frames.w[c.body].isZero());
    boxes.push_back(detail::way_of(model, state, c, stirs, params.gravity, state.dt).box);
  }
  return boxes;
}

MarkScale mark_scale(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params) {
  std::vector<Real> reach, mass;
  for (std::size_t i = 0; i < model.own_bodies(); ++i)
    if (state.frames.inverse_mass[i] > 0)
      reach.push_back(model.reach[i]), mass.push_back(1 / state.frames.inverse_mass[i]);
  if (reach.empty()) return {};
  const auto median = [](std::vector<Real>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  const Real gravity = params.gravity.norm();
  return {median(reach), median(mass) * (gravity > 0 ? gravity : Real(9.81))};
}

}}  // namespace plenum::PLENUM_ABI::rigid
