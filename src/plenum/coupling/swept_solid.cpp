#include "plenum/coupling/swept_solid.h"

#include <cmath>

#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

void sweep(std::span<const SolidBody> bodies, Real s0, Real s1, Real margin, std::vector<SweptSolid>& out) {
  out.clear();
  for (const SolidBody& body : bodies) {
    SweptSolid solid{body, {}};
    const Pose& from = solid.body.pose0 = between(body.pose0, body.pose, s0);
    const Pose& to = solid.body.pose = between(body.pose0, body.pose, s1);
    if (body.inverse_mass > 0) {
      solid.body.centre = to * body.pose.to_local(body.centre);
      solid.start_velocity = body.velocity_at(body.centre) - (1 - s0) * body.gained;
      solid.body.gained = (s1 - s0) * body.gained;
      solid.start_spin = body.angular_velocity - (1 - s0) * body.gained_spin;
      solid.body.gained_spin = (s1 - s0) * body.gained_spin;
    }
    // A turning body sweeps outside of both its boxes by at most the sagitta of its farthest point.
    const Aabb first = body.shape->bounds(from), last = body.shape->bounds(to);
    solid.bounds = first;
    solid.bounds.extend(last);
    const Real angle = from.rotation.angularDistance(to.rotation);
    const Real reach = first.size().norm();
    const Real sagitta = angle > 0 && std::isfinite(reach) ? reach * (1 - std::cos(angle / 2)) : Real(0);
    solid.bounds = solid.bounds.grown(margin + sagitta);
    const bool rests = from.position == to.position && from.rotation.coeffs() == to.rotation.coeffs();
    if (std::holds_alternative<PlaneShape>(body.shape->variant()) && rests) {
      solid.is_half_space = true;
      solid.normal = to.rotation * Vec3::UnitY();
      solid.offset = solid.normal.dot(to.position) + margin;
    }
    out.push_back(solid);
  }
}

std::span<const Index> NearSolids::all_of(std::size_t n) {
  while (all_.size() < n) all_.push_back(Index(all_.size()));
  return std::span<const Index>(all_).first(n);
}

void NearSolids::find(std::span<const SweptSolid> solids, std::span<const Index> of, const Aabb& box,
                      std::vector<Index>& out) {
  out.clear();
  for (const Index k : of)
    if (solids[std::size_t(k)].is_near(box)) out.push_back(k);
}

Bearer bearer_of(const SweptSolid& solid, Real h) {
  const SolidBody& body = solid.body;
  const Vec3 centre = body.pose0 * body.pose.to_local(body.centre);
  return {body.inverse_mass,
          body.free,
          body.inverse_inertia,
          centre,
          solid.start_velocity - (body.centre - centre) / h,
          body.gained / h,
          solid.start_spin,
          body.gained_spin / h};
}

void bear_by(const SweptSolid& solid, Real h, Support& support) {
  const SolidBody& body = solid.body;
  if (!(body.inverse_mass > 0)) return;
  support.bearer = bearer_of(solid, h);
  const Vec3 turn = (support.point - support.bearer.centre).cross(support.normal);
  support.pose0 = body.pose0, support.pose = body.pose;
  const Vec3& n = support.normal;
  support.mass =
      1 / (body.inverse_mass * n.dot(body.free.cwiseProduct(n)) + turn.dot(body.inverse_inertia * turn));
}

}  // namespace plenum::inline PLENUM_ABI
