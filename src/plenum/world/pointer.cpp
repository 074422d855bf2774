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

/// Where a ray meets a sheet of constant z, if it does.
std::optional<Vec3> on_sheet(const PointerRay& ray, Real z) {
  const Real t = (z - ray.eye.z()) / ray.direction.z();
  return std::isfinite(t) && t > 0 ? std::optional<Vec3>(ray.eye + t * ray.direction) : std::nullopt;
}

/// Ways [m] along a ray at which it enters a box and leaves it, if it meets it.
std::optional<std::pair<Real, Real>> crossing(const PointerRay& ray, const Aabb& box) {
  Real first = 0, last = std::numeric_limits<Real>::max();
  for (int c = 0; c < 3; ++c) {
    if (ray.direction[c] == 0) {
      if (ray.eye[c] < box.low[c] || ray.eye[c] > box.high[c]) return {};
      continue;
    }
    const Real a = (box.low[c] - ray.eye[c]) / ray.direction[c],
               b = (box.high[c] - ray.eye[c]) / ray.direction[c];
    first = std::max(first, std::min(a, b)), last = std::min(last, std::max(a, b));
  }
  if (first >= last) return {};
  return std::pair(first, last);
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
    if (!holds()) set_on_fluid(world, ray, true);
    return holds();
  }
  // As deep as what is near the ray, however far beside it.
  const Seen seen = seen_nearest(world, ray, std::numeric_limits<Real>::max());
  if (seen.sample < 0) {
    if (settings.tool == PointerSettings::Tool::wind) set_on_fluid(world, ray, false);
    return holds();
  }
  const Real depth = (seen.x - ray.eye).dot(ray.forward);
  brush_ = Brush{.depth = depth,
                 .radius = settings.radius * size_of_samples(world, seen.system),
                 .direction = ray.direction,
                 .x = at_depth(ray, depth)};
  return true;
}

void Pointer::set_on_fluid(World& world, const PointerRay& ray, bool sheets_only) {
  Real nearest = std::numeric_limits<Real>::max();
  for (std::size_t s = 0; s < world.size(); ++s) {
    const Boundary* const boundary = world.system(s).boundary();
    const std::optional<Aabb> box = boundary ? boundary->stirred_box() : std::nullopt;
    if (!box) continue;
    const Vec3 size = box->size();
    Brush brush{.depth = 0,
                .radius = settings.radius * std::min(size.x(), size.y()) / 2,
                .direction = ray.direction,
                .x = Vec3::Zero(),
                .stirs = true};
    Real near;
    if (size.z() == 0) {
      const std::optional<Vec3> x = on_sheet(ray, box->low.z());
      if (!x || x->x() < box->low.x() || x->x() > box->high.x() || x->y() < box->low.y() ||
          x->y() > box->high.y())
        continue;
      brush.sheet = box->low.z(), brush.x = *x;
      near = (*x - ray.eye).norm();
    } else {
      const auto way = crossing(ray, *box);
      if (sheets_only || !way) continue;
      brush.depth = (way->first + way->second) / 2 * ray.direction.dot(ray.forward);
      brush.x = at_depth(ray, brush.depth);
      near = way->first;
    }
    if (!(near < nearest)) continue;
    nearest = near;
    brush_ = brush;
  }
  if (brush_) ++strokes_;
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
  const Vec3 x = brush_->sheet ? on_sheet(ray, *brush_->sheet).value_or(brush_->x)
                               : at_depth(ray, brush_->depth),
             way = x - brush_->x;
  if (brush_->stirs) {
    world.stir(Stroke{.from = brush_->x,
                      .to = x,
                      .along = brush_->sheet ? Vec3(Vec3::UnitZ()) : ray.direction,
                      .radius = std::max(brush_->radius, std::numeric_limits<Real>::min()),
                      .velocity = seconds > 0 ? Vec3(way / Real(seconds)) : Vec3(Vec3::Zero()),
                      .number = strokes_});
  } else if (settings.tool == PointerSettings::Tool::cut) {
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
  world.stir({});
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
