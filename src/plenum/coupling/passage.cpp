#include "plenum/coupling/passage.h"

#include <algorithm>
#include <optional>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Where a point x that a shape pushes against the unit vector `along` comes out of the shape in that
/// direction, kept `radius` [m] from it; none if it is not pushed so, or there is no other side.
std::optional<Vec3> other_side(const Shape& shape, const Pose& pose, const Vec3& x, const Vec3& along,
                               Real radius) {
  const SignedDistance<Real> at = shape.signed_distance(pose.to_local(x));
  const Vec3 n = pose.rotation * at.normal;
  if (!(n.dot(along) < 0)) return {};
  // From just below the surface, so that the way out is the first that the ray meets.
  const Real below = Real(1e-5) * (1 + x.norm());
  const Ray inwards{x - (at.distance + below) * n, along};
  const std::optional<RayHit> hit = shape.intersect(pose, inwards);
  if (!hit || hit->normal.dot(along) < 0) return {};
  return inwards.at(hit->t) + radius * hit->normal;
}

}  // namespace

std::size_t let_through(Boundary& a, const Boundary& b, std::span<const Support> supports, Real s1,
                        bool overtaken, PassageWorkspace& w) {
  const Samples samples = a.samples();
  const std::span<const SolidBody> bodies = b.bodies();
  std::size_t moved = 0;
  bool looked = false;
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const SolidBody& body = bodies[k];
    if (body.inverse_mass > 0) continue;
    if (!overtaken && !((body.pose.position - body.pose0.position).norm() > samples.reach)) continue;
    if (!looked) {
      a.find_overdrawn(most_drawn, w.overdrawn);
      std::sort(w.overdrawn.begin(), w.overdrawn.end());
      looked = true;
    }
    if (w.overdrawn.empty()) return 0;
    Vec3 push = Vec3::Zero();
    bool draws = false;
    for (const Support& s : supports) {
      if (s.body != Index(k) || s.impulse == Vec3::Zero()) continue;
      push += s.impulse;
      draws = draws || std::binary_search(w.overdrawn.begin(), w.overdrawn.end(), s.sample);
    }
    if (!draws || push == Vec3::Zero()) continue;
    const Vec3 along = -push.normalized();
    const Pose pose = between(body.pose0, body.pose, s1);
    const Aabb net = bounds_of(samples.x).grown(samples.reach);
    bool within = true;
    w.moves.clear();
    for (const Support& s : supports) {
      if (s.body != Index(k)) continue;
      const auto i = std::size_t(s.sample);
      const Real radius = samples.radii.empty() ? samples.radius : samples.radii[i];
      const std::optional<Vec3> to = other_side(*body.shape, pose, samples.x[i], along, radius);
      if (!to) continue;
      within = within && net.contains(*to);
      w.moves.push_back({s.sample, Vec3::Zero(), *to - samples.x[i]});
    }
    if (!within) continue;
    a.absorb(w.moves);
    moved += w.moves.size();
  }
  return moved;
}

}  // namespace plenum::inline PLENUM_ABI
