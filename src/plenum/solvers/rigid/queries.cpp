#include "plenum/solvers/rigid/queries.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/error.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/surface_cast.h"
#include "plenum/geometry/collide/time_of_impact.h"
#include "plenum/geometry/swept_box.h"

namespace plenum::inline PLENUM_ABI {
namespace {

bool is_surface(const Shape& shape) {
  return std::holds_alternative<MeshShape>(shape.variant()) ||
         std::holds_alternative<HeightFieldShape>(shape.variant());
}
bool is_plane(const Shape& shape) {
  return std::holds_alternative<PlaneShape>(shape.variant());
}
/// The ground below a height field is solid without end, too.
bool is_infinite(const Shape& shape) {
  return is_plane(shape) || std::holds_alternative<HeightFieldShape>(shape.variant());
}
void require_convex(const Shape& shape) {
  if (is_plane(shape) || !can_collide(shape, SphereShape{1}))
    throw Error(
        Problem{.key = "shape", .what = "cannot be asked with", .allowed = "convex shapes but planes"});
}

/// Of these, the lowest collider of equally near ones.
template <class Hit>
bool is_nearer(const Hit& hit, const std::optional<Hit>& best) {
  return !best || hit.t < best->t || (hit.t == best->t && hit.collider < best->collider);
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
    if (is_infinite(shape)) {
      infinite_.push_back(Index(k));
      continue;
    }
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
  const Sweep sweep = Sweep::between(from, to);
  // Wherever it turns on its way, it stays within its reach of the line.
  const Aabb own = shape.bounds({});
  const double reach =
      static_cast<double>(own.low.cwiseAbs().cwiseMax(own.high.cwiseAbs()).norm() + tolerance);
  SweptBox way{from.position.cast<double>(), to.position.cast<double>() - from.position.cast<double>(),
               Vector3<double>::Constant(reach)};
  way.half.array() += 4 * static_cast<double>(std::numeric_limits<Real>::epsilon()) *
                      (way.centre.cwiseAbs() + way.way.cwiseAbs() + way.half).maxCoeff();
  std::optional<Hit> best;
  double end = 1;
  const auto meet = [&](Index k) {
    if (!counts(k, filter)) return;
    const Rigid::Collider& c = model_->colliders[std::size_t(k)];
    const Shape& other = model_->shapes[std::size_t(c.shape)];
    const Pose& at = poses_[std::size_t(k)];
    std::optional<Impact> impact;
    if (is_surface(other))
      // Not later than the best, and still when it is just as late.
      impact = cast_at_surface(other, at, shape, sweep, tolerance,
                               best ? std::min(Real(1), std::nextafter(best->t, Real(2))) : Real(1));
    else if (can_collide(other, shape))
      impact = time_of_impact(other, Sweep::between(at, at), shape, sweep, 0, tolerance);
    if (!impact) return;
    const Hit hit{k, c.body, impact->s, impact->x, impact->normal};
    if (!is_nearer(hit, best)) return;
    best = hit;
    end = static_cast<double>(hit.t);
  };
  for (const Index k : infinite_) meet(k);
  tree_.front_to_back(
      end, [&](const Aabb& box) { return way.meets(box, end); },
      [&](Index b) {
        if (way.meets(boxes_[std::size_t(b)], end) <= end) meet(bounded_[std::size_t(b)]);
      });
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
      if (overlaps_surface(other, at, shape, pose)) colliders.push_back(k);
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
    const Shape& shape = model_->shapes[std::size_t(c.shape)];
    const Vec3 here = at.to_local(x);
    const SignedDistance<Real> d =
        is_surface(shape) ? surface_distance(shape, here) : shape.exact_distance(here);
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
