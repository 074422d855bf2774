#include "plenum/solvers/rigid/detail/broad.h"

#include <algorithm>
#include <numeric>

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
  const Real gain = dt * dt * gravity.norm();
  const Rigid::Collider& c = model.colliders[k];
  const Pose body = state.frames.pose(c.body);
  w.poses[k] = {body * c.local.position, (body.rotation * c.local.rotation).normalized()};
  const Real size = std::min(c.size, Real(1e4));
  const Vec3& v = state.frames.v[c.body];
  const Vec3& spin = state.frames.w[c.body];
  const bool awake = w.stirs[c.body] && is_movable(state, c.body);
  const Real turning = spin.isZero() ? Real(0) : dt * spin.norm() * model.reach[c.body];
  w.ways[k] = (awake ? gain : Real(0)) + dt * v.norm() + turning;
  // Speculative contacts reach as far as the body may come, but not so far that it stops at what it
  // passes.
  w.margins[k] =
      (is_movable(state, c.body) ? Real(0.005) * size : Real(0)) + std::min(w.ways[k], Real(0.5) * size);
  const Shape& shape = model.shapes[c.shape];
  w.boxes[k] = shape.bounds(w.poses[k]).grown(w.margins[k]);
  if (std::holds_alternative<HeightFieldShape>(shape.variant())) {
    // The ground is solid below.
    const Vec3 down = w.poses[k].rotation * Vec3(0, -w.boxes[k].size().maxCoeff(), 0);
    w.boxes[k].extend(Aabb{w.boxes[k].low + down, w.boxes[k].high + down});
  }
  if (is_swift(w.ways[k], c)) {
    const Vec3 way = dt * (v + (awake ? dt : Real(0)) * gravity);
    const Aabb ahead = w.boxes[k].grown(turning);
    w.boxes[k].extend(Aabb{ahead.low + way, ahead.high + way});
  }
}

}  // namespace

void find_pairs(const Rigid::Model& model, const Rigid::State& state, const Vec3& gravity, Real dt,
                RigidWorkspace& w) {
  const std::size_t n = model.colliders.size();
  const std::size_t bodies = model.motion.size();
  // Of what stands still, boxes are kept; whether they are right is asked of the state, not remembered.
  if (w.boxes.size() != n || w.x.size() != bodies) {
    w.poses.resize(n), w.boxes.resize(n), w.margins.resize(n), w.ways.resize(n);
    w.x.assign(bodies, Vec3::Constant(std::numeric_limits<Real>::quiet_NaN()));
    w.turn.resize(bodies), w.awake.assign(bodies, 0);
  }
  parallel_for(bodies, items_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!w.stirs[i] && !w.awake[i] && w.x[i] == state.frames.x[i] && w.turn[i] == state.frames.q[i])
        continue;
      w.x[i] = state.frames.x[i], w.turn[i] = state.frames.q[i], w.awake[i] = w.stirs[i];
      for (Index k = model.first[i]; k < model.first[i + 1]; ++k) find_box(model, state, k, gravity, dt, w);
    }
  });
  w.pairs.clear();
  if (std::none_of(w.stirs.begin(), w.stirs.end(), [](std::uint8_t s) { return s != 0; })) return;

  // Sweep along the axis of the largest variance (Baraff 1992). Order from the last step, nearly sorted.
  int axis = 0;
  {
    Vector3<double> sum = Vector3<double>::Zero(), square = sum;
    double count = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (!is_movable(state, model.colliders[k].body)) continue;
      const Vector3<double> p = w.poses[k].position.cast<double>();
      sum += p, square += p.cwiseProduct(p), count += 1;
    }
    if (count > 0) (square - sum.cwiseProduct(sum) / count).maxCoeff(&axis);
  }
  if (w.order.size() != n) {
    w.order.resize(n);
    std::iota(w.order.begin(), w.order.end(), Index(0));
  }
  std::sort(w.order.begin(), w.order.end(), [&](Index a, Index b) {
    const Real la = w.boxes[a].low[axis], lb = w.boxes[b].low[axis];
    return la < lb || (la == lb && a < b);
  });
  w.unsorted_pairs.clear();
  const int other = (axis + 1) % 3, third = (axis + 2) % 3;
  for (std::size_t s = 0; s < n; ++s) {
    const Index i = w.order[s];
    const Aabb& box = w.boxes[i];
    const Rigid::Collider& ci = model.colliders[i];
    const bool moves = is_movable(state, ci.body), stirs = w.stirs[ci.body];
    for (std::size_t t = s + 1; t < n; ++t) {
      const Index j = w.order[t];
      const Aabb& with = w.boxes[j];
      if (with.low[axis] > box.high[axis]) break;
      if (with.low[other] > box.high[other] || with.high[other] < box.low[other] ||
          with.low[third] > box.high[third] || with.high[third] < box.low[third])
        continue;
      const Rigid::Collider& cj = model.colliders[j];
      if (ci.body == cj.body || (!moves && !is_movable(state, cj.body)) || (!stirs && !w.stirs[cj.body]))
        continue;
      if (!(ci.layer & cj.mask) || !(cj.layer & ci.mask)) continue;
      w.unsorted_pairs.push_back({std::min(i, j), std::max(i, j)});
    }
  }
  // Sorted by counting on the first, then each short list by the second.
  w.starts.assign(n + 1, 0);
  for (const Index2& p : w.unsorted_pairs) ++w.starts[p[0] + 1];
  for (std::size_t k = 0; k < n; ++k) w.starts[k + 1] += w.starts[k];
  w.pairs.resize(w.unsorted_pairs.size());
  for (std::size_t p = w.unsorted_pairs.size(); p-- > 0;) {
    const Index2& pair = w.unsorted_pairs[p];
    w.pairs[--w.starts[pair[0] + 1]] = pair;
  }
  for (std::size_t k = 0; k < n; ++k) {
    const Index first = w.starts[k + 1];
    const Index end = k + 1 < n ? w.starts[k + 2] : static_cast<Index>(w.pairs.size());
    std::sort(w.pairs.begin() + first, w.pairs.begin() + end,
              [](const Index2& a, const Index2& b) { return a[1] < b[1]; });
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
