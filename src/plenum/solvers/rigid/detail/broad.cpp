#include "plenum/solvers/rigid/detail/broad.h"

#include <algorithm>
#include <limits>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr std::size_t items_per_block = 64;

bool is_movable(const Rigid::State& state, Index body) {
  return state.frames.inverse_mass[body] > 0 || (state.frames.inverse_inertia[body].array() > 0).any();
}

/// Pose, way, margin and box of a collider.
void find_box(const Rigid::Model& model, const Rigid::State& state, Index k, const Vec3& gravity, Real dt,
              RigidWorkspace& w) {
  const Rigid::Collider& c = model.colliders[k];
  const ColliderWay way = way_of(model, state, c, w.stirs[c.body], gravity, dt);
  w.poses[k] = way.pose, w.ways[k] = way.length, w.margins[k] = way.margin, w.tilts[k] = way.tilt;
  w.boxes[k] = way.box;
}

/// Whether collider `plane` is a plane that the box of the other one is all above: a plane's own box is
/// everywhere.
bool is_above(const Rigid::Model& model, const RigidWorkspace& w, Index plane, Index other) {
  if (!std::holds_alternative<PlaneShape>(model.shapes[model.colliders[plane].shape].variant())) return false;
  const Vec3 up = w.poses[plane].rotation * Vec3::UnitY();
  const Aabb& box = w.boxes[other];
  return up.dot(box.centre() - w.poses[plane].position) >
         Real(0.5) * up.cwiseAbs().dot(box.size()) + way_towards(w, plane, other);
}

}  // namespace

ColliderWay way_of(const Rigid::Model& model, const Rigid::State& state, const Rigid::Collider& c, bool stirs,
                   const Vec3& gravity, Real dt) {
  ColliderWay way;
  const Real gain = dt * dt * gravity.norm();
  const Pose body = state.frames.pose(c.body);
  way.pose = {body * c.local.position, (body.rotation * c.local.rotation).normalized()};
  const Real size = std::min(c.size, Real(1e4));
  const Vec3& v = state.frames.v[c.body];
  const Vec3& spin = state.frames.w[c.body];
  const bool awake = stirs && is_movable(state, c.body);
  const Real turning = spin.isZero() ? Real(0) : dt * spin.norm() * model.reach[c.body];
  way.length = (awake ? gain : Real(0)) + dt * v.norm() + turning;
  // Speculative contacts reach as far as the body may come; of what goes farther a guard is made.
  way.margin =
      (is_movable(state, c.body) ? Real(0.005) * size : Real(0)) + std::min(way.length, Real(0.5) * size);
  const Shape& shape = model.shapes[c.shape];
  const bool tilts = !spin.isZero() && std::holds_alternative<PlaneShape>(shape.variant());
  way.tilt = tilts ? dt * spin.cross(way.pose.rotation * Vec3::UnitY()).norm() : Real(0);
  way.box = shape.bounds(way.pose).grown(way.margin);
  if (std::holds_alternative<HeightFieldShape>(shape.variant())) {
    // The ground is solid below.
    const Vec3 down = way.pose.rotation * Vec3(0, -way.box.size().maxCoeff(), 0);
    way.box.extend(Aabb{way.box.low + down, way.box.high + down});
  }
  if (is_swift(way.length, c)) {
    const Vec3 along = dt * (v + (awake ? dt : Real(0)) * gravity);
    const Aabb ahead = way.box.grown(turning);
    way.box.extend(Aabb{ahead.low + along, ahead.high + along});
  }
  return way;
}

void find_pairs(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
                Rigid::BroadMethod method, RigidWorkspace& w) {
  const std::size_t n = model.colliders.size();
  const std::size_t bodies = model.motion.size();
  // Of what stands still, boxes are kept; whether they are right is asked of the state, not remembered.
  if (w.boxes.size() != n || w.x.size() != bodies) {
    w.poses.resize(n), w.boxes.resize(n), w.margins.resize(n), w.ways.resize(n), w.tilts.resize(n);
    w.x.assign(bodies, Vec3::Constant(std::numeric_limits<Real>::max()));  // nowhere
    w.turn.resize(bodies), w.awake.assign(bodies, 0);
    w.way.resize(bodies), w.turn_way.resize(bodies);
  }
  parallel_for(bodies, items_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!w.stirs[i] && !w.awake[i] && is_same(w.x[i], state.frames.x[i]) &&
          is_same(w.turn[i], state.frames.q[i]))
        continue;
      w.x[i] = state.frames.x[i], w.turn[i] = state.frames.q[i], w.awake[i] = w.stirs[i];
      w.way[i] = dt * state.frames.v[i], w.turn_way[i] = dt * state.frames.w[i];
      for (Index k = model.first[i]; k < model.first[i + 1]; ++k) find_box(model, state, k, gravity, dt, w);
    }
  });
  w.pairs.clear();
  if (std::none_of(w.stirs.begin(), w.stirs.end(), [](std::uint8_t s) { return s != 0; })) return;

  w.active_colliders.resize(n);
  for (std::size_t k = 0; k < n; ++k) w.active_colliders[k] = w.stirs[model.colliders[k].body];
  const BoxItems items{w.boxes, w.active_colliders};
  const auto wanted = [&](Index i, Index j) {
    const Rigid::Collider &a = model.colliders[i], &b = model.colliders[j];
    return a.body != b.body && !(a.sensor && b.sensor) &&
           (is_movable(state, a.body) || is_movable(state, b.body)) && (a.layer & b.mask) &&
           (b.layer & a.mask) && !is_above(model, w, i, j) && !is_above(model, w, j, i);
  };
  switch (method) {
    case Rigid::BroadMethod::sweep:
      return w.sweep.find(items, wanted, w.pairs);
    case Rigid::BroadMethod::tree:
      return w.tree.find(items, wanted, w.pairs);
    case Rigid::BroadMethod::grid:
      return w.grid.find(items, wanted, w.pairs);
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
