// Bodies of other systems that particles hang on, among the rigid bodies of a position-based step.
//
// Pulls are impulses at anchors, as all that moves bodies here, and particles get their opposites. Its own
// system has moved the carrier by then to where it would be at the end of the step by itself: it is given the
// changes of its velocities, and is moved on to where pulls have led it.
#include <Eigen/Cholesky>

#include <algorithm>
#include <utility>

#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/pbd/detail/bodies.h"

namespace plenum::inline PLENUM_ABI {

/// Of those that forces move: as they have gone by themselves, at constant velocities.
void PbdBodies::begin_carriers(const Pbd::Model& model, Real dt) {
  carrier_w_.resize(model.rides.size());
  for (std::size_t c = 0; c < model.rides.size(); ++c) {
    const Pbd::Model::Ride& ride = model.rides[c];
    Body& body = bodies_[own_ + c];
    body = Body{};
    body.from = ride.from, body.to = ride.to;
    body.x = ride.from.position.cast<double>(), body.q = ride.from.rotation.cast<double>().normalized();
    body.v = (ride.to.position.cast<double>() - body.x) / double(dt);
    body.w = rotation_vector(ride.to.rotation.cast<double>().normalized() * body.q.conjugate()) / double(dt);
    carrier_w_[c] = body.w;
    body.inverse_mass = double(ride.inverse_mass);
    body.inverse_inertia_in = ride.inverse_inertia.cast<double>();
  }
}

auto PbdBodies::inverse_inertia_of(const Body& body) const -> M3 {
  if (!is_carrier(Index(&body - bodies_.data())))
    return world_inertia<double>(body.q, D3(body.moments.cwiseInverse()));
  const M3 r = body.q.toRotationMatrix();
  return r * body.inverse_inertia_in * r.transpose();
}

/// At the end of a step. An impulse at the centre of mass changes no spin; the couple is what gives a body
/// that has turned as the carrier did by itself the change of spin that this one had.
void PbdBodies::give_pulls() {
  pulls_.clear();
  for (std::size_t c = 0; c < carrier_w_.size(); ++c) {
    const Body& body = bodies_[own_ + c];
    if (body.inverse_mass == 0 || body.pull.isZero(0)) continue;
    const D3 to = body.to.position.cast<double>();
    const Qd to_q = body.to.rotation.cast<double>().normalized();
    const M3 r = to_q.toRotationMatrix();
    const D3 couple = r * body.inverse_inertia_in.ldlt().solve(r.transpose() * (body.w - carrier_w_[c]));
    pulls_.push_back({.body = Index(c),
                      .impulse = body.pull.cast<Real>(),
                      .point = body.to.position,
                      .couple = couple.cast<Real>(),
                      .shift = (body.x - to).cast<Real>(),
                      .turn = rotation_vector(body.q * to_q.conjugate()).cast<Real>()});
  }
}

}  // namespace plenum::inline PLENUM_ABI
