#include "plenum/solvers/rigid/detail/flush.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/solvers/rigid/detail/broad.h"
#include "plenum/solvers/rigid/detail/continuous.h"
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Parts of the size: by how much one may stand out beside the other and count as flush, and how deep what
/// lies on both may be in it, as deep as contacts let anything be.
constexpr Real flush_height = Real(1e-3), bearing_depth = Real(0.01);
/// Cosine above which faces that look at each other meet as they turn: within 0.1 rad.
constexpr Real faces_meet = Real(0.995);

constexpr std::size_t contacts_per_block = 64;

bool is_bounded_and_convex(const Shape& shape) {
  const Shape::Variant& v = shape.variant();
  return !std::holds_alternative<PlaneShape>(v) && !std::holds_alternative<MeshShape>(v) &&
         !std::holds_alternative<HeightFieldShape>(v) && !std::holds_alternative<TorusShape>(v);
}

/// Whether no force moves a body, and it does not move by itself.
bool stands(const Rigid::Model& model, const RigidWorkspace& w, Index body) {
  return model.motion[body] != Rigid::Motion::dynamic && !w.stirs[body];
}

/// Whether it keeps apart what may meet later in the step; its points then need not be on the surfaces.
bool is_guard(const Manifold& m) {
  return m.points[0].id == guard_id;
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

/// [m] by which a body at x moves against another one within the step.
Vec3 way_past(const RigidWorkspace& w, Index body, Index other, const Vec3& x) {
  const auto goes = [&](Index i) { return Vec3(w.way[i] + w.turn_way[i].cross(x - w.x[i])); };
  return goes(body) - goes(other);
}
/// [m] by which a body moves farther along m than another one, at the point of a contact where it does most.
Real rise(const RigidWorkspace& w, Index body, Index other, const FlushScratch::Contact& c, const Vec3& m) {
  Real most = -std::numeric_limits<Real>::max();
  for (int q = 0; q < c.count; ++q) most = std::max(most, m.dot(way_past(w, body, other, c.x[q])));
  return most;
}

/// The contacts of one mover that drop_ghosts() looks at together.
class Mover {
 public:
  /// alike: whether all that is touched moves alike.
  Mover(const Rigid::Model& model, Index mover, bool alike, RigidWorkspace& w)
      : model_(model),
        w_(w),
        mover_(mover),
        alike_(alike),
        contacts_(w.flush.contacts),
        planes_(w.flush.planes) {
    contacts_.clear(), planes_.clear();
  }

  void add(Index contact) {
    const Index slot = w_.contact_slot[contact];
    if (slot < 0) return;  // dropped before
    const Index2& pair = w_.pairs[w_.pair_of[slot]];
    const Manifold& at = w_.manifolds[slot];
    const Pose& a = w_.poses[pair[0]];
    const Vec3 n = a.rotation * at.normal;
    Contact c{.slot = slot,
              .contact = contact,
              .ground = pair[pair[0] == mover_ ? 1 : 0],
              .normal = pair[0] == mover_ ? Vec3(-n) : n};
    const auto same = [&](const Plane& p) { return p.m.dot(c.normal) > same_normal; };
    c.plane = static_cast<Index>(std::find_if(planes_.begin(), planes_.end(), same) - planes_.begin());
    if (std::size_t(c.plane) == planes_.size()) planes_.push_back({.m = c.normal});
    Plane& p = planes_[c.plane];
    c.count = at.count;
    for (int q = 0; q < at.count; ++q) {
      c.x[q] = a * at.points[q].x, c.half_gap[q] = std::abs(at.points[q].separation) / 2;
      if (!is_guard(at)) p.low = std::min(p.low, p.m.dot(c.x[q]) + c.half_gap[q]);
    }
    contacts_.push_back(c);
  }

  /// True if it drops one.
  bool drop() {
    if (planes_.size() < 2) return false;
    bool any = false;
    for (Contact& c : contacts_) {
      const Rigid::Collider& ground = model_.colliders[c.ground];
      if (!is_bounded_and_convex(model_.shapes[ground.shape])) continue;
      if (!alike_ && !w_.flush.slides[c.contact]) continue;
      for (Plane& p : planes_) {
        const Real cosine = p.m.dot(c.normal);
        if (cosine > same_normal || reaches_above(c, p)) continue;
        if (!p.is_sorted) sort(p);
        const Contact* const by = highest(p, c);
        if (!by || !is_parted(c, p, *by)) continue;
        c.gone = true;
        Manifold& found = w_.manifolds[c.slot];
        if (found.count < 3 || cosine < faces_meet || is_guard(found)) {
          w_.contact_slot[c.contact] = -1, any = true;
          break;
        }
        // All of a face comes down on both at once, and must not fall between: it is felt along m.
        const Index2& pair = w_.pairs[w_.pair_of[c.slot]];
        found.turns = Manifold::Turns::with_neither;
        found.normal = w_.poses[pair[0]].rotation.conjugate() * (mover_ == pair[0] ? Vec3(-p.m) : p.m);
        for (int k = 0; k < found.count; ++k) found.points[k].separation *= cosine;
        c.normal = p.m;
      }
    }
    return any;
  }

 private:
  using Contact = FlushScratch::Contact;
  using Plane = FlushScratch::Plane;

  /// Whether by its points alone a contact is too high above where the mover begins for a plane to part it.
  bool reaches_above(const Contact& c, const Plane& p) const {
    if (is_guard(w_.manifolds[c.slot])) return false;
    const Real least = p.low + bearing_depth * model_.colliders[c.ground].size;
    for (int q = 0; q < c.count; ++q)
      if (p.m.dot(c.x[q]) - c.half_gap[q] > least) return true;
    return false;
  }

  /// Its contacts, the highest first, and where the mover begins along it.
  void sort(Plane& p) {
    std::vector<Index>& order = w_.flush.order;
    if (planes_sorted_ == 0) order.clear();
    ++planes_sorted_;
    p.is_sorted = true;
    p.low = span_along(model_, w_, mover_, p.m).low;
    p.first = static_cast<Index>(order.size());
    const auto plane = static_cast<Index>(&p - planes_.data());
    for (std::size_t k = 0; k < contacts_.size(); ++k) {
      Contact& c = contacts_[k];
      if (c.plane != plane || c.gone) continue;
      c.top = top_along(model_, w_, c.ground, c.slot, p.m);
      order.push_back(static_cast<Index>(k));
    }
    p.end = static_cast<Index>(order.size());
    std::sort(order.begin() + p.first, order.end(), [&](Index i, Index j) {
      return contacts_[i].top != contacts_[j].top ? contacts_[i].top > contacts_[j].top : i < j;
    });
  }

  /// The contact that bears the mover highest along p, of other colliders than c's; null if there is none.
  const Contact* highest(Plane& p, const Contact& c) const {
    const std::vector<Index>& order = w_.flush.order;
    while (p.first < p.end && contacts_[order[p.first]].gone) ++p.first;
    for (Index k = p.first; k < p.end; ++k) {
      const Contact& by = contacts_[order[k]];
      if (!by.gone && by.ground != c.ground) return &by;
    }
    return nullptr;
  }

  bool is_parted(const Contact& c, const Plane& p, const Contact& by) const {
    const Rigid::Collider &moved = model_.colliders[mover_], &of = model_.colliders[c.ground],
                          &bears = model_.colliders[by.ground];
    const Real size = std::min({moved.size, of.size, bears.size});
    Real flush = by.top + flush_height * size;
    if (p.m.dot(w_.poses[c.ground] * of.core) + of.core_radius > flush) return false;  // is quick
    if (!alike_) {
      flush -= std::max(rise(w_, of.body, bears.body, c, p.m), Real(0));
      if (model_.motion[bears.body] == Rigid::Motion::dynamic &&
          rise(w_, bears.body, moved.body, by, p.m) > bearing_depth * size)
        return false;
    }
    const Real high = span_along(model_, w_, c.ground, p.m).high;
    return high <= flush && p.low >= high - bearing_depth * size;
  }

  const Rigid::Model& model_;
  RigidWorkspace& w_;
  const Index mover_;
  const bool alike_;
  std::vector<Contact>& contacts_;
  std::vector<Plane>& planes_;
  int planes_sorted_ = 0;
};

/// Of neighbours that move alike: what stands, or parts of one body.
bool drop_among_alike(const Rigid::Model& model, RigidWorkspace& w) {
  using Borne = FlushScratch::Borne;
  std::vector<Borne>& borne = w.flush.borne;
  borne.clear();
  for (std::size_t k = 0; k < w.contact_slot.size(); ++k) {
    const Index2& pair = w.pairs[w.pair_of[w.contact_slot[k]]];
    for (const int side : {0, 1}) {
      const Index body = model.colliders[pair[side]].body, other = model.colliders[pair[1 - side]].body;
      const bool other_stands = stands(model, w, other);
      if (!stands(model, w, body) && (other_stands || model.first[other + 1] - model.first[other] > 1))
        borne.push_back({pair[side], other_stands ? -1 : other, static_cast<Index>(k)});
    }
  }
  std::sort(borne.begin(), borne.end(), [](const Borne& a, const Borne& b) {
    if (a.mover != b.mover) return a.mover < b.mover;
    return a.group != b.group ? a.group < b.group : a.contact < b.contact;
  });
  bool any = false;
  for (std::size_t k = 0; k < borne.size();) {
    const Borne& first = borne[k];
    Mover mover(model, first.mover, true, w);
    for (; k < borne.size() && borne[k].mover == first.mover && borne[k].group == first.group; ++k)
      mover.add(borne[k].contact);
    any |= mover.drop();
  }
  return any;
}

/// Of neighbours that move each for itself, for what moves past them.
bool drop_among_moved(const Rigid::Model& model, RigidWorkspace& w) {
  FlushScratch& f = w.flush;
  const std::size_t n = w.contact_slot.size();
  constexpr Index none = -1;
  f.slides.resize(n), f.pairs.resize(n);
  parallel_for(n, contacts_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Index slot = w.contact_slot[k];
      f.slides[k] = 0, f.pairs[k] = Index2(none, none);
      if (slot < 0) continue;
      const Index2& pair = f.pairs[k] = w.pairs[w.pair_of[slot]];
      const Rigid::Collider &a = model.colliders[pair[0]], &b = model.colliders[pair[1]];
      const Vec3 x = w.poses[pair[0]] * w.manifolds[slot].points[0].x;
      f.slides[k] = way_past(w, a.body, b.body, x).norm() > flush_height * std::min(a.size, b.size);
    }
  });
  f.is_slider.assign(model.colliders.size(), 0);
  bool any_slider = false;
  for (std::size_t k = 0; k < n; ++k) {
    if (!f.slides[k]) continue;
    const Index2& pair = f.pairs[k];
    const auto moves = [&](Index collider) { return !stands(model, w, model.colliders[collider].body); };
    if (moves(pair[0]) && moves(pair[1])) f.is_slider[pair[0]] = f.is_slider[pair[1]] = any_slider = true;
  }
  if (!any_slider) return false;
  // Lists of the contacts of each of these, in order.
  f.heads.assign(model.colliders.size(), none), f.next.resize(2 * n);
  for (std::size_t k = n; k-- > 0;)
    for (const std::size_t side : {0u, 1u}) {
      const Index collider = f.pairs[k][static_cast<Eigen::Index>(side)];
      if (collider < 0 || !f.is_slider[collider]) continue;
      f.next[2 * k + side] = f.heads[collider], f.heads[collider] = static_cast<Index>(2 * k + side);
    }
  bool any = false;
  for (std::size_t i = 0; i < f.is_slider.size(); ++i) {
    if (!f.is_slider[i]) continue;
    Mover mover(model, static_cast<Index>(i), false, w);
    for (Index at = f.heads[i]; at != none; at = f.next[at]) mover.add(at / 2);
    any |= mover.drop();
  }
  return any;
}

}  // namespace

void drop_ghosts(const Rigid::Model& model, RigidWorkspace& w) {
  const bool among_alike = drop_among_alike(model, w), among_moved = drop_among_moved(model, w);
  if (among_alike || among_moved) std::erase(w.contact_slot, -1);
}

}}  // namespace plenum::PLENUM_ABI::detail
