#include "plenum/solvers/rigid/pushes.h"

#include "plenum/base/error.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/locks.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

void add_impulse(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& impulse,
                 const Vec3& point) {
  add_impulse(model, state, body, impulse);
  add_angular_impulse(model, state, body, (point - state.frames.x[std::size_t(body)]).cross(impulse));
}

void add_impulse(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& impulse) {
  if (body < 0 || std::size_t(body) >= model.own_bodies())
    throw Error(Problem{.key = "body",
                        .what = "names no body",
                        .value = std::to_string(body),
                        .allowed = model.own_bodies() == 0
                                       ? std::string("none, as there are no bodies")
                                       : "0 to " + std::to_string(model.own_bodies() - 1)});
  const auto i = std::size_t(body);
  for (int c = 0; c < 3; ++c)
    if (!(model.locks[i] >> c & 1)) state.frames.v[i][c] += state.frames.inverse_mass[i] * impulse[c];
}

void add_angular_impulse(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& impulse) {
  add_impulse(model, state, body, Vec3::Zero());  // if there is such a body
  const auto i = std::size_t(body);
  const Mat3 inverse = world_inertia<Real>(state.frames.rotation(i), state.frames.inverse_inertia[i]);
  state.frames.w[i] += detail::turning_freely(inverse, model.locks[i]) * impulse;
}

void add_force(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& force,
               const Vec3& point, Real dt) {
  add_impulse(model, state, body, dt * force, point);
}
void add_force(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& force, Real dt) {
  add_impulse(model, state, body, dt * force);
}
void add_torque(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& torque, Real dt) {
  add_angular_impulse(model, state, body, dt * torque);
}

}}  // namespace plenum::PLENUM_ABI::rigid
