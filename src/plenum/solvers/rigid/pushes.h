#pragma once
// Forces, torques and impulses from outside on rigid bodies. They wake what sleeps, in the next step.
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

/// Adds an impulse [N s] at a point [m] of the world. Of a body that no force moves nothing changes, and what
/// locked axes take is lost. Throws Error if there is no such body.
void add_impulse(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& impulse,
                 const Vec3& point);
/// The same at the centre of mass.
void add_impulse(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& impulse);
/// Adds an angular impulse [N m s].
void add_angular_impulse(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& impulse);

/// A force [N] at a point, or at the centre of mass, over a step of dt [s], all at its start: symplectic
/// Euler's way, as gravity's. To be called before every step in which it acts.
void add_force(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& force,
               const Vec3& point, Real dt);
void add_force(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& force, Real dt);
/// Likewise a torque [N m].
void add_torque(const Rigid::Model& model, Rigid::State& state, Index body, const Vec3& torque, Real dt);

}}  // namespace plenum::PLENUM_ABI::rigid
