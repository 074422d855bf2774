#include "plenum/world/pointer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {

namespace {

/// The sample that is seen nearest to a ray, within `angle` [rad]; of those that can move.
struct Seen {
  std::size_t system = 0;
  Index sample = -1;
  Vec3 x = Vec3::Zero();
};
Seen seen_nearest(World& world, const PointerRay& ray, Real angle) {
  Seen found;
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
      found = {s, static_cast<Index>(i), samples.x[i]};
    }
  }
  return found;
}

Real size_of_samples(World& world, std::size_t system) {
  const Boundary* const boundary = world.system(system).boundary();
  return boundary ? bounds_of(boundary->samples().x).size().norm() : Real(0);
}

/// Where a ray is at a depth along the camera's way; the eye if it looks aside.
Vec3 at_depth(const PointerRay& ray, Real depth) {
  const Real along = ray.direction.dot(ray.forward);
  return along > Real(1e-3) ? Vec3(ray.eye + ray.direction * (depth / along)) : ray.eye;
}

}  // namespace

void PointerSettings::describe(Describer& d) {
  d("tool", tool, {.doc = "what the mouse does where it is pressed"});
  d("radius", radius,
    {.min = 0,
     .max = 1,
     .doc = "of what is pulled along, or blown on, as part of the system's size; 0: one particle"});
  d("wind_speed", wind_speed,
    {.unit = "m/s", .min = 0, .max = 100, .doc = "of the wind that the mouse makes"});
}

bool Pointer::press(World& world, const PointerRay& ray, Real angle) {
  release(world);
  if (settings.tool == PointerSettings::Tool::pull) {
    if (const Seen seen = seen_nearest(world, ray, angle); seen.sample >= 0)
      grip_ = Grip{.system = seen.system, .sample = seen.sample, .x = seen.x};
    grab_solid(world, ray);
    return holds();
  }
  // As deep as what is near the ray, however far beside it.
  const Seen seen = seen_nearest(world, ray, std::numeric_limits<Real>::max());
  if (seen.sample < 0) return false;
  const Real depth = (seen.x - ray.eye).dot(ray.forward);
  brush_ = Brush{.depth = depth,
                 .radius = settings.radius * size_of_samples(world, seen.system),
                 .direction = ray.direction,
                 .x = at_depth(ray, depth)};
  return true;
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

void Pointer::move(World& world, const PointerRay& ray, double seconds) {
  if (grip_) {
    // A firm hand: it has to lift a net by the mass of the few particles it holds.
    constexpr Real frequency = 25;
    if (!(ray.direction.dot(ray.forward) > Real(1e-3))) return;
    const Vec3 target = at_depth(ray, (grip_->x - ray.eye).dot(ray.forward));
    if (grip_->body >= 0)
      world.drag_body(grip_->system, grip_->body, grip_->place, target);
    else
      world.drag(grip_->system, grip_->sample, target, frequency,
                 settings.radius * size_of_samples(world, grip_->system));
  }
  if (!brush_) return;
  const Vec3 x = at_depth(ray, brush_->depth), way = x - brush_->x;
  if (settings.tool == PointerSettings::Tool::cut) {
    world.open({.eye = ray.eye, .from = brush_->direction, .to = ray.direction});
  } else {
    const bool goes = Real(seconds) * settings.wind_speed < 10 * way.norm();
    const Vec3 direction = goes ? Vec3(way.normalized()) : ray.direction;
    world.blow(Gust{.point = ray.eye,
                    .along = ray.direction,
                    .radius = std::max(brush_->radius, std::numeric_limits<Real>::min()),
                    .velocity = settings.wind_speed * direction});
  }
  brush_->x = x, brush_->direction = ray.direction;
}

void Pointer::release(World& world) {
  grip_.reset(), brush_.reset();
  world.release();
  world.blow({});
}

bool Pointer::pin(World& world) {
  if (!world.dragging()) return false;
  world.pin();
  grip_.reset();
  return true;
}

std::size_t leading_system(World& world) {
  for (std::size_t s = 0; s < world.size(); ++s) {
    Boundary* const boundary = world.system(s).boundary();
    if (!boundary || boundary->bodies().empty() || !boundary->samples().x.empty()) return s;
  }
  return 0;
}

}  // namespace plenum::inline PLENUM_ABI
