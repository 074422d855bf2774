#include "plenum/solvers/rigid/queries.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/geometry/collide/time_of_impact.h"

namespace plenum::inline PLENUM_ABI {
namespace {

bool is_surface(const Shape& shape) {
  return std::holds_alternative<MeshShape>(shape.variant()) ||
         std::holds_alternative<HeightFieldShape>(shape.variant());
}
bool is_plane(const Shape& shape) {
  return std::holds_alternative<PlaneShape>(shape.variant());
}
void require_convex(const Shape& shape) {
  if (is_plane(shape) || !can_collide(shape, SphereShape{1}))
    throw Error(
        Problem{.key = "shape", .what = "cannot be asked with", .allowed = "convex shapes but planes"});
}

/// Least separation of shape B at a pose from a surface within `margin`, and where.
struct Separation {
  Real distance;
  Vec3 x, normal;
};
std::optional<Separation> separation(const Shape& surface, const Pose& at, const Shape& b, const Pose& pose,
                                     Real margin) {
  SurfaceManifolds found;
  collide_surface(surface, b,
                  {at.to_local(pose.position), (at.rotation.conjugate() * pose.rotation).normalized()},
                  margin, found);
  std::optional<Separation> least;
  for (int s = 0; s < found.count; ++s)
    for (int q = 0; q < found.manifolds[s].count; ++q) {
      const Manifold::Point& p = found.manifolds[s].points[q];
      if (least && p.separation >= least->distance) continue;
      const Vec3 n = at.rotation * found.manifolds[s].normal;
      least = {p.separation, at * p.x - Real(0.5) * p.separation * n, n};
    }
  return least;
}

}  // namespace

void RigidQueries::update(const Rigid::Model& model, const Rigid::State& state) {
  model_ = &model;
  const std::size_t n = model.colliders.size();
  poses_.resize(n);
  boxes_.clear(), bounded_.clear(), infinite_.clear();
  for (std::size_t k = 0; k < n; ++k) {
    const Rigid::Collider& c = model.colliders[k];
    const Pose body = state.frames.pose(std::size_t(c.body));
    poses_[k] = {body * c.local.position, (body.rotation * c.local.rotation).normalized()};
    const Shape& shape = model.shapes[std::size_t(c.shape)];
    if (is_plane(shape)) {
      infinite_.push_back(Index(k));
      continue;
    }
    // What lies below a height field is solid, but has no surface: its box will do.
    boxes_.push_back(shape.bounds(poses_[k]));
    bounded_.push_back(Index(k));
  }
  tree_.rebuild(boxes_, 2, scratch_);
}

bool RigidQueries::counts(Index collider, const Filter& filter) const {
  const Rigid::Collider& c = model_->colliders[std::size_t(collider)];
  return (c.layer & filter.layers) != 0 && (c.mask & filter.own_layers) != 0 &&
         c.body != filter.ignored_body && (filter.sensors || !c.sensor);
}

template <class Visit>
void RigidQueries::near(const Aabb& box, Visit&& visit) const {
  for (const Index k : infinite_) visit(k);
  tree_.overlapping(box, [&](Index b) {
    if (boxes_[std::size_t(b)].overlaps(box)) visit(bounded_[std::size_t(b)]);
  });
}

std::optional<RigidQueries::Hit> RigidQueries::ray(const Ray& ray, const Filter& filter) const {
  if (!model_) return {};
  std::optional<Hit> best;
  const auto meet = [&](Index k) {
    if (!counts(k, filter)) return;
    const Rigid::Collider& c = model_->colliders[std::size_t(k)];
    const auto hit = model_->shapes[std::size_t(c.shape)].intersect(poses_[std::size_t(k)], ray);
    if (!hit || (best && (hit->t > best->t || (hit->t == best->t && k > best->collider)))) return;
    best = {k, c.body, hit->t, ray.at(hit->t), hit->normal};
  };
  for (const Index k : infinite_) meet(k);
  Real t_max = best ? best->t : ray.t_max;
  tree_.first_hit(WatertightRay(ray), t_max, [&](Index slot, Real) {
    meet(bounded_[std::size_t(tree_.order()[std::size_t(slot)])]);
    // Not nearer than what is just as far, and still to be asked.
    return best ? std::nextafter(best->t, std::numeric_limits<Real>::infinity()) : ray.t_max;
  });
  return best;
}

std::optional<RigidQueries::Hit> RigidQueries::cast(const Shape& shape, const Pose& from, const Pose& to,
                                                    Real tolerance, const Filter& filter) const {
  require_convex(shape);
  if (!model_) return {};
  // Wherever it turns on its way, it stays within its reach of the line.
  const Aabb own = shape.bounds({});
  const Real reach = own.low.cwiseAbs().cwiseMax(own.high.cwiseAbs()).norm();
  Aabb way;
  way.extend(from.position), way.extend(to.position);
  // No point of it moves faster, over the whole way.
  const Real speed =
      (to.position - from.position).norm() + reach * from.rotation.angularDistance(to.rotation);
  std::optional<Hit> best;
  const auto meet = [&](Index k) {
    if (!counts(k, filter)) return;
    const Rigid::Collider& c = model_->colliders[std::size_t(k)];
    const Shape& other = model_->shapes[std::size_t(c.shape)];
    const Pose& at = poses_[std::size_t(k)];
    std::optional<Hit> hit;
    if (is_surface(other)) {
      constexpr int most_steps = 1000;
      const Real margin = std::max(own.size().maxCoeff(), 4 * tolerance);
      Real s = 0;
      for (int step = 0; step < most_steps && s <= 1; ++step) {
        const auto d = separation(other, at, shape, between(from, to, s), margin);
        if (d && d->distance <= tolerance) {
          hit = {k, c.body, s, d->x, d->normal};
          break;
        }
        if (s == 1 || !(speed > 0)) break;
        s = std::min(Real(1), s + (d ? d->distance : margin) / speed);
      }
    } else if (can_collide(other, shape)) {
      const auto impact =
          time_of_impact(other, Sweep::between(at, at), shape, Sweep::between(from, to), 0, tolerance);
      if (impact) hit = {k, c.body, impact->s, impact->x, impact->normal};
    }
    if (hit && (!best || hit->t < best->t || (hit->t == best->t && k < best->collider))) best = hit;
  };
  near(way.grown(reach), meet);
  return best;
}

void RigidQueries::overlap(const Shape& shape, const Pose& pose, std::vector<Index>& colliders,
                           const Filter& filter) const {
  require_convex(shape);
  colliders.clear();
  if (!model_) return;
  near(shape.bounds(pose), [&](Index k) {
    if (!counts(k, filter)) return;
    const Shape& other = model_->shapes[std::size_t(model_->colliders[std::size_t(k)].shape)];
    const Pose& at = poses_[std::size_t(k)];
    if (is_surface(other)) {
      const auto d = separation(other, at, shape, pose, 0);
      if (d && d->distance <= 0) colliders.push_back(k);
    } else if (can_collide(other, shape)) {
      ManifoldCache cache;
      const Manifold m = collide(
          other, shape, {at.to_local(pose.position), (at.rotation.conjugate() * pose.rotation).normalized()},
          0, cache);
      for (int q = 0; q < m.count; ++q)
        if (m.points[q].separation <= 0) {
          colliders.push_back(k);
          break;
        }
    }
  });
  std::sort(colliders.begin(), colliders.end());
}

std::optional<RigidQueries::Nearest> RigidQueries::nearest(const Vec3& x, Real max_distance,
                                                           const Filter& filter) const {
  if (!model_) return {};
  std::optional<Nearest> best;
  // A little more than asked for, so that what is just as far is still looked at.
  Real least = max_distance * max_distance * Real(1.0001);
  const auto meet = [&](Index k) {
    if (!counts(k, filter)) return;
    const Rigid::Collider& c = model_->colliders[std::size_t(k)];
    const Pose& at = poses_[std::size_t(k)];
    const SignedDistance<Real> d = model_->shapes[std::size_t(c.shape)].exact_distance(at.to_local(x));
    if (d.distance > max_distance) return;
    const Real key = std::max(d.distance, Real(0)), kept = best ? std::max(best->distance, Real(0)) : key;
    if (best && (key > kept || (key == kept && k > best->collider))) return;
    best = {k, c.body, d.distance, x - d.distance * (at.rotation * d.normal)};
    least = std::min(least, std::max(key * key * Real(1.0001), std::numeric_limits<Real>::min()));
  };
  for (const Index k : infinite_) meet(k);
  tree_.each_near_leaf(x, least, [&](const Bvh::Node& leaf) {
    for (Index i = leaf.first; i < leaf.first + leaf.count; ++i)
      meet(bounded_[std::size_t(tree_.order()[std::size_t(i)])]);
  });
  return best;
}

}  // namespace plenum::inline PLENUM_ABI
