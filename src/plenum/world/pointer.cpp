#include "plenum/world/pointer.h"

#include <cmath>
#include <limits>

#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

bool Pointer::press(World& world, const PointerRay& ray, Real angle) {
  grip_.reset();
  Real best = angle;
  for (std::size_t s = 0; s < world.size(); ++s) {
    const Boundary* const boundary = world.system(s).boundary();
    if (!boundary) continue;
    const Samples samples = boundary->samples();
    for (std::size_t i = 0; i < samples.x.size(); ++i) {
      if (!(samples.inverse_mass[i] > 0)) continue;
      const Vec3 d = samples.x[i] - ray.eye;
      const Real along = d.dot(ray.direction);
      if (!(along > 0)) continue;
      const Real off = std::atan2(d.cross(ray.direction).norm(), along);
      if (off >= best) continue;
      best = off;
      grip_ = Grip{.system = s, .sample = static_cast<Index>(i), .x = samples.x[i]};
    }
  }
  grab_solid(world, ray);
  return holds();
}

void Pointer::grab_solid(World& world, const PointerRay& ray) {
  // A sample on a solid's surface is before it.
  Real nearest =
      grip_ ? Real(0.98) * (grip_->x - ray.eye).dot(ray.direction) : std::numeric_limits<Real>::max();
  for (std::size_t s = 0; s < world.size(); ++s) {
    Boundary* const boundary = world.system(s).boundary();
    if (!boundary) continue;
    const std::span<const SolidBody> bodies = boundary->bodies();
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      if (!bodies[k].shape) continue;
      const auto hit = bodies[k].shape->intersect(bodies[k].pose, {ray.eye, ray.direction});
      if (!hit || !(hit->t < nearest)) continue;
      nearest = hit->t;
      grip_.reset();
      if (!(bodies[k].inverse_mass > 0)) continue;
      const Vec3 x = ray.eye + hit->t * ray.direction;
      grip_ = Grip{.system = s,
                   .body = static_cast<Index>(k),
                   .place = bodies[k].pose.rotation.conjugate() * (x - bodies[k].pose.position),
                   .x = x};
    }
  }
}

void Pointer::move(World& world, const PointerRay& ray) const {
  if (!grip_) return;
  const Real depth = (grip_->x - ray.eye).dot(ray.forward), along = ray.direction.dot(ray.forward);
  // A firm hand: it has to lift a net by the mass of the few particles it holds.
  constexpr Real frequency = 25;
  if (!(along > Real(1e-3))) return;
  const Vec3 target = ray.eye + ray.direction * (depth / along);
  if (grip_->body >= 0)
    world.drag_body(grip_->system, grip_->body, grip_->place, target);
  else
    world.drag(grip_->system, grip_->sample, target, frequency);
}

void Pointer::release(World& world) {
  grip_.reset();
  world.release();
}

std::size_t leading_system(World& world) {
  for (std::size_t s = 0; s < world.size(); ++s) {
    Boundary* const boundary = world.system(s).boundary();
    if (!boundary || boundary->bodies().empty() || !boundary->samples().x.empty()) return s;
  }
  return 0;
}

}  // namespace plenum::inline PLENUM_ABI
