// What rigid bodies among position-based ones touch: each other and others' solids.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/geometry/collide/time_of_impact.h"
#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/state/grid_walls.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using D3 = Vector3<double>;

/// Cosine between a normal and the one of the substep before, below which it points to the other side.
constexpr double turned_over = -0.3;

}  // namespace

/// Whether the sorted list holds the pair.
bool PbdBodies::stay_apart(const std::vector<Index2>& sorted, Index a, Index b) {
  return std::binary_search(sorted.begin(), sorted.end(), Index2(a, b), is_before);
}

const Shape& PbdBodies::shape_of(const Pbd::Model& model, Index body) const {
  const auto i = std::size_t(body);
  return i < own_ ? model.bodies[i].shape : model.guests[i - first_guest_].shape;
}

/// Of its shape, where the body now is.
Pose PbdBodies::pose_of(const Pbd::Model& model, Index body) const {
  const Body& b = bodies_[std::size_t(body)];
  const Pose frame{b.x.cast<Real>(), b.q.cast<Real>()};
  if (std::size_t(body) >= own_) return frame;
  const Pose& in = model.bodies[std::size_t(body)].shape_in;
  return {frame * in.position, frame.rotation * in.rotation};
}

/// Pairs whose boxes may meet within the step, by a sweep along x.
void PbdBodies::find_pairs(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params,
                           Real dt) {
  pairs_.clear();
  if (bodies_.size() < 2) return;
  boxes_.clear();
  const double fall = double(dt) * double(dt) * params.gravity.cast<double>().norm();
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (is_carrier(Index(i))) continue;
    Aabb box = shape_of(model, Index(i)).bounds(pose_of(model, Index(i)));
    const Body& b = bodies_[i];
    const Real way =
        Real(double(dt) * (2 * (b.v.norm() + b.w.norm() * b.reach) + double(pbd_sped_up)) + fall);
    if (b.inverse_mass > 0) box = box.grown(way);
    // Others' solids go their way.
    if (b.inverse_mass == 0 && !(b.v.isZero(0) && b.w.isZero(0))) {
      const Pose in = i < own_ ? model.bodies[i].shape_in : Pose{};
      box.extend(shape_of(model, Index(i)).bounds({b.to * in.position, b.to.rotation * in.rotation}));
    }
    boxes_.push_back({box, Index(i)});
  }
  // Deterministic: bodies decide between boxes that begin at one place.
  std::sort(boxes_.begin(), boxes_.end(), [](const Box& a, const Box& b) {
    return a.box.low.x() != b.box.low.x() ? a.box.low.x() < b.box.low.x() : a.body < b.body;
  });
  for (std::size_t i = 0; i < boxes_.size(); ++i)
    for (std::size_t j = i + 1; j < boxes_.size() && boxes_[j].box.low.x() <= boxes_[i].box.high.x(); ++j) {
      const Index a = std::min(boxes_[i].body, boxes_[j].body), b = std::max(boxes_[i].body, boxes_[j].body);
      if (bodies_[std::size_t(a)].inverse_mass == 0 && bodies_[std::size_t(b)].inverse_mass == 0) continue;
      if (!boxes_[i].box.overlaps(boxes_[j].box) || stay_apart(model.bodies_apart, a, b)) continue;
      const auto friction_of = [&](Index k) {
        return std::size_t(k) < own_ ? model.bodies[std::size_t(k)].friction
                                     : model.guests[std::size_t(k) - first_guest_].friction;
      };
      const auto restitution_of = [&](Index k) {
        return std::size_t(k) < own_ ? model.bodies[std::size_t(k)].restitution
                                     : model.guests[std::size_t(k) - first_guest_].restitution;
      };
      pairs_.push_back({a,
                        b,
                        std::sqrt(double(friction_of(a)) * double(friction_of(b))),
                        double(std::max(restitution_of(a), restitution_of(b))),
                        {}});
      // Half as far as to where the smaller one's middle is at the other's surface, if that is met head-on.
      pairs_.back().far = std::min(least_width(shape_of(model, a)), least_width(shape_of(model, b))) / 4;
    }
  sort_pairs();
  // Both lists are sorted.
  std::size_t k = 0;
  for (Pair& pair : pairs_) {
    while (k < state.touching.size() && is_before(state.touching[k], Index2(pair.a, pair.b))) ++k;
    if (k == state.touching.size() || state.touching[k] != Index2(pair.a, pair.b)) continue;
    pair.touches = true, pair.normal = state.touch_normal[k];
  }
  // From the top down, and what cannot move last (compare the contact graph of Guendelman, Bridson & Fedkiw
  // 2003, section 4): the weight of a stack comes to its foot in one sweep. From the foot up, each body is
  // left pushed into what it stands on, to be lifted out in the next substep by a push from nowhere, and
  // boxes on each other rocked by that until they fell.
  const D3 up = -params.gravity.cast<double>();
  const auto height = [&](const Pair& pair) {
    const Body &a = bodies_[std::size_t(pair.a)], &b = bodies_[std::size_t(pair.b)];
    if (a.inverse_mass == 0 || b.inverse_mass == 0) return -std::numeric_limits<double>::infinity();
    return up.dot(a.x + b.x);
  };
  std::sort(pairs_.begin(), pairs_.end(), [&](const Pair& a, const Pair& b) {
    const double ha = height(a), hb = height(b);
    return ha != hb ? ha > hb : is_before(Index2(a.a, a.b), Index2(b.a, b.b));
  });
}

void PbdBodies::sort_pairs() {
  std::sort(pairs_.begin(), pairs_.end(),
            [](const Pair& a, const Pair& b) { return is_before(Index2(a.a, a.b), Index2(b.a, b.b)); });
}

/// [m] by which the pair's shapes overlap along n, unit, from a to b.
double PbdBodies::overlap_along(const Pbd::Model& model, const Pair& pair, const D3& n) const {
  const Quat turn = Quat::FromTwoVectors(n.cast<Real>(), Vec3::UnitX());
  const D3 middle = bodies_[std::size_t(pair.a)].x;
  const auto extent = [&](Index body) {
    const Pose at = pose_of(model, body);
    return shape_of(model, body).bounds({turn * Vec3(at.position - middle.cast<Real>()), turn * at.rotation});
  };
  return double(extent(pair.a).high.x() - extent(pair.b).low.x());
}

/// As seen from where the first one is: far from the origin what coordinates are rounded by is as much as
/// bodies fall by in a substep, and pushes that only took that back were borne as a weight by friction.
auto PbdBodies::here(const Pbd::Model& model, const Pair& pair) const -> Meeting {
  const Body &a = bodies_[std::size_t(pair.a)], &b = bodies_[std::size_t(pair.b)];
  const auto seen = [&](Index body) {
    const Body& of = bodies_[std::size_t(body)];
    const Pose in = std::size_t(body) < own_ ? model.bodies[std::size_t(body)].shape_in : Pose{};
    return Pose{(of.x - a.x + of.q * in.position.cast<double>()).cast<Real>(),
                of.q.cast<Real>() * in.rotation};
  };
  return {{D3::Zero(), a.q}, {b.x - a.x, b.q}, seen(pair.a), seen(pair.b)};
}

/// Where two that go far in the substep meet on their way, apart as it began: they are held by what touches
/// there, as where they end they are deep in each other, or past it.
auto PbdBodies::meeting_on_way(const Pbd::Model& model, const Pair& pair, Real margin) const
    -> std::optional<Meeting> {
  const Body &a = bodies_[std::size_t(pair.a)], &b = bodies_[std::size_t(pair.b)];
  const auto turning = [&](const Body& body) { return body.q.angularDistance(body.q0) * body.reach; };
  const double way = (a.x - a.x0 - b.x + b.x0).norm() + turning(a) + turning(b);
  if (!(way > double(std::max(pair.far, margin)))) return std::nullopt;
  const Meeting end = {{a.x, a.q}, {b.x, b.q}, pose_of(model, pair.a), pose_of(model, pair.b)};
  const auto began = [](const Body& body, const Pose& shape) {
    const Qd turn = body.q0 * body.q.conjugate();
    const D3 arm = shape.position.cast<double>() - body.x;
    return Pose{(body.x0 + turn * arm).cast<Real>(), turn.cast<Real>() * shape.rotation};
  };
  const Sweep sweep_a = Sweep::between(began(a, end.shape_a), end.shape_a),
              sweep_b = Sweep::between(began(b, end.shape_b), end.shape_b);
  const Real near = margin / 8;
  const std::optional<Impact> impact =
      time_of_impact(shape_of(model, pair.a), sweep_a, shape_of(model, pair.b), sweep_b, near, near);
  if (!impact || !(impact->s > 0)) return std::nullopt;
  // Arms are as they touch: a ball is not to be spun by how it would have turned afterwards.
  const auto frame_at = [](const Body& body, const Pose& shape, const Pose& then) {
    const Qd turn = (then.rotation * shape.rotation.conjugate()).cast<double>().normalized();
    const D3 arm = body.x - shape.position.cast<double>();
    return Meeting::Frame{then.position.cast<double>() + turn * arm, body.q};
  };
  const Pose at_a = sweep_a.at(impact->s), at_b = sweep_b.at(impact->s);
  return Meeting{frame_at(a, end.shape_a, at_a), frame_at(b, end.shape_b, at_b), at_a, at_b, true};
}

/// The manifold is in the frame of the first body's shape or, swapped, of the second's.
void PbdBodies::touch_pair(const Pair& pair, const Manifold& manifold, const Meeting& at, bool swapped) {
  if (manifold.count == 0) return;
  const Pose& of = swapped ? at.shape_b : at.shape_a;
  Patch patch{};
  patch.n = (swapped ? -1.0 : 1.0) * (of.rotation * manifold.normal).cast<double>().normalized();
  patch.count = manifold.count, patch.is_on_way = at.is_on_way;
  patch.friction = pair.friction, patch.restitution = pair.restitution;
  patch.rubbed.setZero();
  const auto anchor = [](Index body, const Meeting::Frame& frame, const D3& x) {
    return Anchor{-1, body, Vec3((frame.q.conjugate() * (x - frame.x)).cast<Real>())};
  };
  const D3 from = of.position.cast<double>();
  const Qd turned = of.rotation.cast<double>();
  for (int k = 0; k < manifold.count; ++k) {
    const D3 half = ((manifold.points[k].separation / 2) * manifold.normal).cast<double>(),
             x = manifold.points[k].x.cast<double>();
    D3 on_a = from + turned * (x - half), on_b = from + turned * (x + half);
    if (swapped) std::swap(on_a, on_b);
    Point& point = patch.points[k];
    point.a = anchor(pair.a, at.a, on_a), point.b = anchor(pair.b, at.b, on_b);
    point.gap = 0;
    point.approach = -patch.n.dot(velocity_of(point.b, {}) - velocity_of(point.a, {}));
  }
  patches_.push_back(patch);
}

void PbdBodies::touch_bodies(const Pbd::Model& model) {
  for (Pair& pair : pairs_) {
    const Shape &a = shape_of(model, pair.a), &b = shape_of(model, pair.b);
    const Body& body = bodies_[std::size_t(pair.a)];
    const Real margin = pbd_looked_ahead * Real(std::max(body.reach, bodies_[std::size_t(pair.b)].reach));
    const auto seen_from = [](const Pose& from, const Pose& pose) {
      const Qd back = from.rotation.cast<double>().conjugate();
      return Pose{(back * (pose.position - from.position).cast<double>()).cast<Real>(),
                  (back * pose.rotation.cast<double>()).cast<Real>()};
    };
    const bool at_surface = can_collide_surface(b, a);
    if (!at_surface && !can_collide(a, b)) continue;
    const std::size_t before = patches_.size();
    const auto touch = [&](const Meeting& at) {
      if (at_surface) {
        SurfaceManifolds found;
        collide_surface(b, a, seen_from(at.shape_b, at.shape_a), margin, found);
        for (int k = 0; k < found.count; ++k) touch_pair(pair, found.manifolds[k], at, true);
      } else {
        touch_pair(pair, collide(a, b, seen_from(at.shape_a, at.shape_b), margin, pair.cache), at, false);
      }
    };
    // What has touched in the last substep, and does so still, is where it was.
    if (pair.touches) touch(here(model, pair));
    if (patches_.size() == before)
      if (const std::optional<Meeting> met = meeting_on_way(model, pair, margin)) touch(*met);
    if (patches_.size() == before && !pair.touches) touch(here(model, pair));
    if (at_surface) continue;  // its sides are known
    const bool touched = std::exchange(pair.touches, patches_.size() > before);
    if (!pair.touches) continue;
    Patch& patch = patches_.back();
    const D3 last = body.q * pair.normal.cast<double>();
    // What has been pressed past the middle of something thin is not let out on its other side.
    if (touched && patch.n.dot(last) < turned_over) {
      const double overlap = overlap_along(model, pair, last);
      patch.n = last;
      for (int k = 0; k < patch.count; ++k) {
        Point& point = patch.points[k];
        point.gap = overlap + last.dot(place_of(point.b, {}) - place_of(point.a, {}));
        point.approach = 0;
      }
    }
    pair.normal = (body.q.conjugate() * patch.n).cast<Real>();
  }
}

}  // namespace plenum::inline PLENUM_ABI
