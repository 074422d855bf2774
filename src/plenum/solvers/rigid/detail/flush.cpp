#include "plenum/solvers/rigid/detail/flush.h"

#include <algorithm>
#include <limits>
#include <span>

#include "plenum/solvers/rigid/detail/broad.h"
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Parts of the size: by how much one may stand out beside the other and count as flush, and how deep what
/// lies on both may be in it, as deep as contacts let anything be.
constexpr Real flush_height = Real(1e-3), bearing_depth = Real(0.01);
/// Cosine above which two normals are one: turned aside by 0.001 rad, what falls loses as small a part of its
/// speed.
constexpr Real same_normal = Real(1 - 5e-7);
/// Cosine above which faces that look at each other meet as they turn: within 0.1 rad.
constexpr Real faces_meet = Real(0.995);

bool is_bounded_and_convex(const Shape& shape) {
  const Shape::Variant& v = shape.variant();
  return !std::holds_alternative<PlaneShape>(v) && !std::holds_alternative<MeshShape>(v) &&
         !std::holds_alternative<HeightFieldShape>(v) && !std::holds_alternative<TorusShape>(v);
}

/// Whether no force moves a body, and it does not move by itself.
bool stands(const Rigid::Model& model, const RigidWorkspace& w, Index body) {
  return model.motion[body] != Rigid::Motion::dynamic && !w.stirs[body];
}

/// What a collider spans along a direction of the world [m].
struct Span {
  Real low, high;
};
Span span_along(const Rigid::Model& model, const RigidWorkspace& w, Index k, const Vec3& m) {
  const Pose& pose = w.poses[k];
  const Quat upright = (Quat::FromTwoVectors(m, Vec3::UnitY()) * pose.rotation).normalized();
  const Aabb box = model.shapes[model.colliders[k].shape].bounds({Vec3::Zero(), upright});
  const Real height = m.dot(pose.position);
  return {height + box.low.y(), height + box.high.y()};
}

/// Where a collider ends along a direction m in which its contact `slot` bears `mover` [m]. For what is
/// convex that is the plane that it touches with.
Real top_along(const Rigid::Model& model, const RigidWorkspace& w, Index ground, Index slot, const Vec3& m) {
  if (is_bounded_and_convex(model.shapes[model.colliders[ground].shape]))
    return span_along(model, w, ground, m).high;
  const Pose& a = w.poses[w.pairs[w.pair_of[slot]][0]];
  const Manifold& at = w.manifolds[slot];
  Real top = -std::numeric_limits<Real>::max();
  for (int q = 0; q < at.count; ++q)
    top = std::max(top, m.dot(a * at.points[q].x) - at.points[q].separation / 2);
  return top;
}

/// drop_ghosts() for one mover, whose contacts `borne` are.
bool drop_ghosts_of(const Rigid::Model& model, Index mover, std::span<const Index2> borne,
                    RigidWorkspace& w) {
  using Contact = FlushScratch::Contact;
  using Plane = FlushScratch::Plane;
  std::vector<Contact>& contacts = w.flush.contacts;
  std::vector<Plane>& planes = w.flush.planes;
  contacts.clear(), planes.clear();
  for (const Index2& b : borne) {
    const Index slot = w.contact_slot[b[1]];
    if (slot < 0) continue;  // dropped for the other one of the two
    const Index2& pair = w.pairs[w.pair_of[slot]];
    const bool first = pair[0] == mover;
    const Vec3 n = w.poses[pair[0]].rotation * w.manifolds[slot].normal;
    Contact c{slot, b[1], pair[first ? 1 : 0], first ? Vec3(-n) : n};
    const Index body = model.colliders[c.ground].body;
    c.owner = stands(model, w, body) ? -1 : body;
    const auto same = [&](const Plane& p) { return p.owner == c.owner && p.m.dot(c.normal) > same_normal; };
    const auto at = std::find_if(planes.begin(), planes.end(), same);
    c.plane = static_cast<Index>(at - planes.begin());
    if (at == planes.end()) planes.push_back({c.normal, c.owner, 0, 0, 0});
    contacts.push_back(c);
  }
  if (planes.size() < 2) return false;
  for (Plane& p : planes) p.low = span_along(model, w, mover, p.m).low;
  std::vector<Index>& order = w.flush.order;
  order.clear();
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    Contact& c = contacts[k];
    c.top = top_along(model, w, c.ground, c.slot, planes[c.plane].m);
    order.push_back(static_cast<Index>(k));
  }
  std::sort(order.begin(), order.end(), [&](Index i, Index j) {
    const Contact &a = contacts[i], &b = contacts[j];
    return a.plane != b.plane ? a.plane < b.plane : a.top != b.top ? a.top > b.top : i < j;
  });
  for (std::size_t k = order.size(); k-- > 0;) planes[contacts[order[k]].plane].first = static_cast<Index>(k);
  for (std::size_t p = 0; p < planes.size(); ++p)
    planes[p].end = p + 1 < planes.size() ? planes[p + 1].first : static_cast<Index>(order.size());

  /// The contact that bears `mover` highest along p, of other colliders than c's; null if there is none.
  const auto highest = [&](Plane& p, const Contact& c) -> const Contact* {
    while (p.first < p.end && contacts[order[p.first]].gone) ++p.first;
    for (Index k = p.first; k < p.end; ++k) {
      const Contact& by = contacts[order[k]];
      if (!by.gone && by.ground != c.ground) return &by;
    }
    return nullptr;
  };
  const auto is_parted = [&](const Contact& c, const Plane& p, const Contact& by) {
    const Rigid::Collider &moved = model.colliders[mover], &of = model.colliders[c.ground];
    const Real size = std::min({moved.size, of.size, model.colliders[by.ground].size});
    const Real flush = by.top + flush_height * size;
    if (p.m.dot(w.poses[c.ground] * of.core) + of.core_radius > flush) return false;  // is quick
    const Real high = span_along(model, w, c.ground, p.m).high;
    return high <= flush && p.low >= high - bearing_depth * size;
  };
  bool any = false;
  for (Contact& c : contacts) {
    if (!is_bounded_and_convex(model.shapes[model.colliders[c.ground].shape])) continue;
    for (Plane& p : planes) {
      const Real cosine = p.m.dot(c.normal);
      if (p.owner != c.owner || cosine > same_normal) continue;
      const Contact* const by = highest(p, c);
      if (!by || !is_parted(c, p, *by)) continue;
      c.gone = true;
      Manifold& found = w.manifolds[c.slot];
      if (found.count < 3 || cosine < faces_meet || found.points[0].id == guard_id) {
        w.contact_slot[c.contact] = -1, any = true;
        break;
      }
      // All of a face comes down on both at once, and must not fall between: it is felt along m.
      const Index2& pair = w.pairs[w.pair_of[c.slot]];
      found.normal = w.poses[pair[0]].rotation.conjugate() * (mover == pair[0] ? Vec3(-p.m) : p.m);
      for (int k = 0; k < found.count; ++k) found.points[k].separation *= cosine;
      c.normal = p.m;
    }
  }
  return any;
}

}  // namespace

void drop_ghosts(const Rigid::Model& model, RigidWorkspace& w) {
  const auto body_of = [&](Index collider) { return model.colliders[collider].body; };
  // On whom there may be a neighbour of who is touched: what stands, and what has several parts.
  const auto may_bear = [&](Index body) {
    return stands(model, w, body) || model.first[body + 1] - model.first[body] > 1;
  };
  std::vector<Index2>& borne = w.flush.borne;
  borne.clear();
  for (std::size_t k = 0; k < w.contact_slot.size(); ++k) {
    const Index2& pair = w.pairs[w.pair_of[w.contact_slot[k]]];
    for (const int side : {0, 1})
      if (!stands(model, w, body_of(pair[side])) && may_bear(body_of(pair[1 - side])))
        borne.push_back({pair[side], static_cast<Index>(k)});
  }
  std::sort(borne.begin(), borne.end(), is_before);
  bool any = false;
  for (std::size_t first = 0, end = 0; first < borne.size(); first = end) {
    while (end < borne.size() && borne[end][0] == borne[first][0]) ++end;
    if (end - first > 1)
      any |= drop_ghosts_of(model, borne[first][0], {borne.data() + first, end - first}, w);
  }
  if (any) std::erase(w.contact_slot, -1);
}

}}  // namespace plenum::PLENUM_ABI::detail
