#include "plenum/solvers/rigid/detail/driven.h"

#include <algorithm>

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// The shorter of two changes, along the first; none where they are not in one direction.
Vec3 minmod(const Vec3& now, const Vec3& before) {
  if (!(now.dot(before) > 0)) return Vec3::Zero();
  return std::min(Real(1), before.norm() / now.norm()) * now;
}

bool is_driven(const Rigid::Model& model, std::size_t i) {
  return model.motion[i] == Rigid::Motion::kinematic;
}

}  // namespace

void find_driven(const Rigid::Model& model, const Rigid::State& state, Real dt, RigidWorkspace& w) {
  w.driven.clear();
  const Rigid::Driven& last = state.driven;
  for (std::size_t i = 0; i < model.motion.size(); ++i) {
    if (!is_driven(model, i)) continue;
    const Vec3 &v = state.frames.v[i], &spin = state.frames.w[i];
    if (v.isZero(0) && spin.isZero(0)) continue;  // it is not seen to move
    const Vec3 change = minmod(v - last.v[i], dt * last.a[i]),
               turn_change = minmod(spin - last.w[i], dt * last.turn_a[i]);
    if (change.isZero(0) && turn_change.isZero(0)) continue;
    w.driven.push_back({static_cast<Index>(i), v, spin, change, turn_change});
  }
}

void drive(Real when, RigidWorkspace& w) {
  for (const DrivenBody& d : w.driven) {
    BodyVelocity& velocity = w.bodies.velocity[std::size_t(d.body)];
    const Vec3 v = d.v + when * d.change, spin = d.w + when * d.turn_change;
    std::copy_n(v.data(), 3, velocity.v);
    std::copy_n(spin.data(), 3, velocity.w);
  }
}

void keep_driven(const Rigid::Model& model, Real dt, Rigid::State& state) {
  Rigid::Driven& d = state.driven;
  for (std::size_t i = 0; i < model.motion.size(); ++i) {
    if (!is_driven(model, i)) continue;
    d.a[i] = (state.frames.v[i] - d.v[i]) / dt, d.turn_a[i] = (state.frames.w[i] - d.w[i]) / dt;
    d.v[i] = state.frames.v[i], d.w[i] = state.frames.w[i];
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
