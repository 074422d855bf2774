#include "plenum/world/pointer.h"

#include <cmath>

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
      grip_ = Grip{s, static_cast<Index>(i), samples.x[i]};
    }
  }
  return holds();
}

void Pointer::move(World& world, const PointerRay& ray) const {
  if (!grip_) return;
  const Real depth = (grip_->x - ray.eye).dot(ray.forward), along = ray.direction.dot(ray.forward);
  // A firm hand: it has to lift a net by the mass of the few particles it holds.
  constexpr Real frequency = 25;
  if (along > Real(1e-3))
    world.drag(grip_->system, grip_->sample, ray.eye + ray.direction * (depth / along), frequency);
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
