#pragma once
// How particles that belong together move as a whole, and in themselves.
#include <Eigen/Cholesky>

#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// A body's motion as a whole, and the energy of its motion in itself.
struct Motion {
  using D3 = Vector3<double>;
  double mass = 0;
  D3 centre = D3::Zero(), velocity = D3::Zero(), spin = D3::Zero();
  Eigen::LDLT<Matrix3<double>> inertia;  ///< of what is not on one line
  bool turns = false;
  double energy = 0;  ///< [J]; no less, where it is no more than `enough`

  /// [m/s] At x [m].
  D3 whole_at(const Vec3& x) const { return velocity + spin.cross(D3(x.cast<double>() - centre)); }
};

/// Of `members` that nothing holds.
template <class Members>
Motion motion_of(const Members& members, const Pbd::Model& model, const Particles& p, double enough) {
  using D3 = Motion::D3;
  Motion out;
  double &mass = out.mass, all = 0;
  for (const Index k : members)
    if (const auto i = std::size_t(k); p.inverse_mass[i] > 0)
      all += double(model.mass[i]) * p.v[i].cast<double>().squaredNorm() / 2;
  out.energy = all;
  if (!(all > enough)) return out;
  for (const Index k : members) {
    const auto i = std::size_t(k);
    if (p.inverse_mass[i] == 0) continue;
    const double m = double(model.mass[i]);
    mass += m, out.centre += m * p.x[i].cast<double>(), out.velocity += m * p.v[i].cast<double>();
  }
  out.centre /= mass, out.velocity /= mass;
  D3 momentum = D3::Zero();
  Matrix3<double> inertia = Matrix3<double>::Zero();
  for (const Index k : members) {
    const auto i = std::size_t(k);
    if (p.inverse_mass[i] == 0) continue;
    const double m = double(model.mass[i]);
    const D3 r = p.x[i].cast<double>() - out.centre;
    momentum += m * r.cross(p.v[i].cast<double>() - out.velocity);
    inertia += m * (r.squaredNorm() * Matrix3<double>::Identity() - r * r.transpose());
  }
  out.inertia.compute(inertia);
  out.turns = out.inertia.isPositive() && out.inertia.rcond() > 1e-9;
  if (out.turns) out.spin = out.inertia.solve(momentum);
  out.energy = all - mass * out.velocity.squaredNorm() / 2 - out.spin.dot(momentum) / 2;
  return out;
}

}}  // namespace plenum::PLENUM_ABI::detail
