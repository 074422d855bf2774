#include "plenum/solvers/rigid/detail/flush.h"

#include <algorithm>
#include <limits>

#include "plenum/solvers/rigid/detail/broad.h"

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

}  // namespace

void drop_ghosts(const Rigid::Model& model, RigidWorkspace& w) {
  const auto body_of = [&](Index collider) { return model.colliders[collider].body; };
  const auto stands = [&](Index body) {
    return model.motion[body] != Rigid::Motion::dynamic && !w.stirs[body];
  };
  // On whom there may be a neighbour of who is touched: what stands, and what has several parts.
  const auto may_bear = [&](Index body) {
    return stands(body) || model.first[body + 1] - model.first[body] > 1;
  };
  w.borne.clear();
  for (std::size_t k = 0; k < w.contact_slot.size(); ++k) {
    const Index2& pair = w.pairs[w.pair_of[w.contact_slot[k]]];
    for (const int side : {0, 1})
      if (!stands(body_of(pair[side])) && may_bear(body_of(pair[1 - side])))
        w.borne.push_back({pair[side], static_cast<Index>(k)});
  }
  if (w.borne.size() < 2) return;
  std::sort(w.borne.begin(), w.borne.end(), is_before);

  const auto normal_to = [&](Index mover, Index slot) {
    const Index i = w.pairs[w.pair_of[slot]][0];
    const Vec3 n = w.poses[i].rotation * w.manifolds[slot].normal;
    return mover == i ? Vec3(-n) : n;
  };
  const auto ground_of = [&](Index mover, Index slot) {
    const Index2& pair = w.pairs[w.pair_of[slot]];
    return pair[0] == mover ? pair[1] : pair[0];
  };
  // Whether the contact in `slot`, of `mover`, is kept from coming about by another one.
  const auto is_parted = [&](Index mover, Index slot, Index by) {
    const Index b = ground_of(mover, slot), c = ground_of(mover, by);
    if (b == c || (body_of(b) != body_of(c) && !(stands(body_of(b)) && stands(body_of(c))))) return false;
    const Vec3 m = normal_to(mover, by);
    if (m.dot(normal_to(mover, slot)) > same_normal) return false;
    const Rigid::Collider &moved = model.colliders[mover], &of_b = model.colliders[b];
    if (!is_bounded_and_convex(model.shapes[of_b.shape])) return false;
    const Real size = std::min({moved.size, of_b.size, model.colliders[c].size});
    // Where C ends: for what is convex, at the plane that it touches with.
    const bool round_c = is_bounded_and_convex(model.shapes[model.colliders[c].shape]);
    Real top = round_c ? span_along(model, w, c, m).high : -std::numeric_limits<Real>::max();
    if (!round_c) {
      const Pose& a = w.poses[w.pairs[w.pair_of[by]][0]];
      const Manifold& at = w.manifolds[by];
      for (int q = 0; q < at.count; ++q)
        top = std::max(top, m.dot(a * at.points[q].x) - at.points[q].separation / 2);
    }
    if (m.dot(w.poses[b] * of_b.core) + of_b.core_radius > top + flush_height * size)
      return false;  // is quick
    const Real high = span_along(model, w, b, m).high;
    return high <= top + flush_height * size &&
           span_along(model, w, mover, m).low >= high - bearing_depth * size;
  };
  bool any = false;
  for (std::size_t first = 0, end = 0; first < w.borne.size(); first = end) {
    const Index mover = w.borne[first][0];
    while (end < w.borne.size() && w.borne[end][0] == mover) ++end;
    for (std::size_t p = first; p < end; ++p)
      for (std::size_t q = first; q < end; ++q) {
        Index& slot = w.contact_slot[w.borne[p][1]];
        const Index by = w.contact_slot[w.borne[q][1]];
        if (p == q || by < 0 || slot < 0 || !is_parted(mover, slot, by)) continue;
        Manifold& found = w.manifolds[slot];
        const Vec3 m = normal_to(mover, by);
        const Real cosine = m.dot(normal_to(mover, slot));
        if (found.count < 3 || cosine < faces_meet || found.points[0].id == guard_id) {
          slot = -1, any = true;
          continue;
        }
        // All of a face comes down on both at once, and must not fall between: it is felt along m.
        const Index i = w.pairs[w.pair_of[slot]][0];
        found.normal = w.poses[i].rotation.conjugate() * (mover == i ? Vec3(-m) : m);
        for (int k = 0; k < found.count; ++k) found.points[k].separation *= cosine;
      }
  }
  if (any) std::erase(w.contact_slot, -1);
}

}}  // namespace plenum::PLENUM_ABI::detail
