#include "plenum/solvers/rigid/detail/broad.h"

#include <algorithm>
#include <numeric>

#include "plenum/base/parallel.h"
#include "plenum/geometry/collide/collide.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr std::size_t items_per_block = 64;

bool is_movable(const Rigid::State& state, Index body) {
  return state.frames.inverse_mass[body] > 0 || (state.frames.inverse_inertia[body].array() > 0).any();
}

/// starts[k] = first item whose key is at least k, of items sorted by key in [0, n).
template <class Key>
void index_by(std::size_t items, std::size_t n, Key&& key, std::vector<Index>& starts) {
  starts.assign(n + 1, 0);
  for (std::size_t i = 0; i < items; ++i) ++starts[static_cast<std::size_t>(key(i)) + 1];
  for (std::size_t k = 0; k < n; ++k) starts[k + 1] += starts[k];
}

}  // namespace

void find_pairs(const Rigid::Model& model, const Rigid::State& state, Real gain, Real dt, RigidWorkspace& w) {
  const std::size_t n = model.colliders.size();
  w.poses.resize(n), w.boxes.resize(n), w.margins.resize(n);
  parallel_for(n, items_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Rigid::Collider& c = model.colliders[k];
      const Pose body = state.frames.pose(c.body);
      w.poses[k] = {body * c.local.position, (body.rotation * c.local.rotation).normalized()};
      const Real size = std::min(c.size, Real(1e4));
      const Real way =
          dt *
          (gain + state.frames.v[c.body].norm() +
           (state.frames.w[c.body].isZero() ? Real(0) : state.frames.w[c.body].norm() * model.reach[c.body]));
      // Speculative contacts reach as far as the body may come, but not so far that it stops at what it
      // passes.
      w.margins[k] =
          is_movable(state, c.body) ? Real(0.005) * size + std::min(way, Real(0.5) * size) : Real(0);
      w.boxes[k] = model.shapes[c.shape].bounds(w.poses[k]).grown(w.margins[k]);
    }
  });

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
    const bool moves = is_movable(state, ci.body);
    for (std::size_t t = s + 1; t < n; ++t) {
      const Index j = w.order[t];
      const Aabb& with = w.boxes[j];
      if (with.low[axis] > box.high[axis]) break;
      if (with.low[other] > box.high[other] || with.high[other] < box.low[other] ||
          with.low[third] > box.high[third] || with.high[third] < box.low[third])
        continue;
      const Rigid::Collider& cj = model.colliders[j];
      if (ci.body == cj.body || (!moves && !is_movable(state, cj.body))) continue;
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

namespace {

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

}  // namespace

void find_contacts(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w) {
  const Rigid::Contacts& old = state.contacts;
  const std::size_t n = w.pairs.size();
  index_by(
      old.pair.size(), model.colliders.size(), [&](std::size_t c) { return old.pair[c][0]; }, w.old_starts);
  w.manifolds.resize(n), w.caches.resize(n), w.previous.resize(n);
  parallel_for(n, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const auto [i, j] = std::pair(w.pairs[p][0], w.pairs[p][1]);
      w.previous[p] = -1;
      w.caches[p] = {};
      for (Index c = w.old_starts[i]; c < w.old_starts[i + 1]; ++c)
        if (old.pair[c][1] == j) {
          w.previous[p] = c;
          std::memcpy(&w.caches[p], old.cache[c].data(), sizeof(ManifoldCache));
        }
      const Pose &a = w.poses[i], &b = w.poses[j];
      const Pose b_in_a{a.to_local(b.position), (a.rotation.conjugate() * b.rotation).normalized()};
      w.manifolds[p] = collide(model.shapes[model.colliders[i].shape], model.shapes[model.colliders[j].shape],
                               b_in_a, w.margins[i] + w.margins[j], w.caches[p]);
    }
  });
  w.contact_pair.clear();
  for (std::size_t p = 0; p < n; ++p)
    if (w.manifolds[p].count > 0) w.contact_pair.push_back(static_cast<Index>(p));
  w.contacts.resize(w.contact_pair.size());
  const Index world = w.bodies.world();
  parallel_for(w.contacts.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Index p = w.contact_pair[k];
      const Manifold& m = w.manifolds[p];
      const Index i = w.pairs[p][0], j = w.pairs[p][1];
      const Rigid::Collider &ca = model.colliders[i], &cb = model.colliders[j];
      const Pose& a = w.poses[i];
      ContactInput& c = w.contacts[k];
      const auto row = [&](Index body) { return model.motion[body] == Rigid::Motion::fixed ? world : body; };
      c.body_a = row(ca.body), c.body_b = row(cb.body);
      c.normal = (a.rotation * m.normal).normalized();
      c.count = m.count;
      const Vec3 from_a = a.position - state.frames.x[ca.body], from_b = a.position - state.frames.x[cb.body];
      const Index before = w.previous[p];
      for (int q = 0; q < m.count; ++q) {
        const Vec3 x = a.rotation * m.points[q].x;
        c.points[q] = {from_a + x, from_b + x, m.points[q].separation, 0, 0};
      }
      if (before >= 0) inherit(old, before, m, Real(0.1) * std::min(ca.size, cb.size), c);
      c.friction_impulse = Vec3::Zero();
      c.twist_impulse = 0;
      if (before >= 0) {
        const Vec3& f = old.friction[before];
        c.friction_impulse = f - c.normal.dot(f) * c.normal;
        c.twist_impulse = old.twist[before];
      }
      c.friction = std::sqrt(ca.friction * cb.friction);
      c.restitution = std::max(ca.restitution, cb.restitution);
      c.rolling = std::max(ca.rolling, cb.rolling);
      c.surface_velocity = Vec3::Zero();
      if (!ca.surface_velocity.isZero())
        c.surface_velocity += state.frames.rotation(ca.body) * ca.surface_velocity;
      if (!cb.surface_velocity.isZero())
        c.surface_velocity -= state.frames.rotation(cb.body) * cb.surface_velocity;
      c.size = std::min(ca.size, cb.size);
      c.round_a = ca.round, c.round_b = cb.round;
    }
  });
}

void keep_contacts(const RigidWorkspace& w, Rigid::Contacts& kept) {
  const std::size_t n = w.contacts.size();
  kept.pair.resize(n), kept.impulse.resize(n), kept.id.resize(n), kept.friction.resize(n),
      kept.twist.resize(n);
  kept.carried.resize(n), kept.count.resize(n), kept.cache.resize(n), kept.point.resize(4 * n);
  parallel_for(n, items_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const ContactInput& c = w.contacts[k];
      const Index p = w.contact_pair[k];
      kept.pair[k] = w.pairs[p];
      kept.count[k] = static_cast<std::uint8_t>(c.count);
      kept.impulse[k].setZero();
      kept.carried[k].setZero();
      kept.id[k].setZero();
      for (int q = 0; q < c.count; ++q)
        kept.impulse[k][q] = c.points[q].impulse, kept.carried[k][q] = c.points[q].carried,
        kept.id[k][q] = w.manifolds[p].points[q].id;
      for (std::size_t q = 0; q < 4; ++q)
        kept.point[4 * k + q] = int(q) < c.count ? w.manifolds[p].points[q].x : Vec3(Vec3::Zero());
      kept.friction[k] = c.friction_impulse;
      kept.twist[k] = c.twist_impulse;
      static_assert(sizeof(ManifoldCache) == 10);
      std::memcpy(kept.cache[k].data(), &w.caches[p], sizeof(ManifoldCache));
    }
  });
}

}}  // namespace plenum::PLENUM_ABI::detail
