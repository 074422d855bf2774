#pragma once
// Point masses of 1 kg on massless rods of 1 m, below a fixed point: once by the library's templates in
// double, once as scenes run them.
#include <Eigen/Geometry>
#include <cmath>
#include <vector>

#include "plenum/integrate/integrators.h"
#include "plenum/solvers/springs/multipliers.h"
#include "plenum/solvers/springs/springs.h"
#include "validation.h"

namespace plenum::validation {

/// What is read of such a chain, in double, whatever its positions [m] and velocities [m/s] are in.
template <class V>
struct RodReadings {
  const std::vector<V>& x;
  const std::vector<V>& v;

  /// Of rod i from the downward vertical [rad].
  double angle(std::size_t i) const {
    const Vector3<double> d = difference(x, i);
    return std::atan2(d[0], -d[1]);
  }
  double rate(std::size_t i) const {  ///< [rad/s]
    const Vector3<double> d = difference(x, i);
    return d.cross(difference(v, i))[2] / d.squaredNorm();
  }
  double energy() const {  ///< [J]
    double sum = 0;
    for (std::size_t i = 1; i < x.size(); ++i)
      sum += 0.5 * v[i].template cast<double>().squaredNorm() + g * double(x[i][1]);
    return sum;
  }

 private:
  static Vector3<double> difference(const std::vector<V>& of, std::size_t i) {
    return of[i + 1].template cast<double>() - of[i].template cast<double>();
  }
};

/// Where the points are while the rods stand at `angles` from the downward vertical [rad].
inline std::vector<Vector3<double>> rod_ends(const std::vector<double>& angles) {
  std::vector<Vector3<double>> x = {Vector3<double>::Zero()};
  for (const double angle : angles)
    x.push_back(x.back() + Vector3<double>(std::sin(angle), -std::cos(angle), 0));
  return x;
}

/// The templates: multipliers and integrators.
class RodTemplates {
  using V = Vector3<double>;

  /// Accelerations under the multipliers' forces, as the integrators ask for them.
  auto accelerate() {
    return [this](double, std::span<const double> at, std::span<const double> moving, std::span<double> out) {
      const auto read = [](std::span<const double> n) {
        return std::span(reinterpret_cast<const V*>(n.data()), n.size() / 3);
      };
      const std::span<V> a(reinterpret_cast<V*>(out.data()), out.size() / 3);
      fall(a);
      multipliers_.accelerate(read(at), read(moving), inverse_mass_, 0, a);
    };
  }

 public:
  explicit RodTemplates(const std::vector<double>& angles)
      : x_(rod_ends(angles)),
        v_(x_.size(), V::Zero()),
        inverse_mass_(x_.size(), 1),
        multipliers_(set_of(angles.size())) {
    inverse_mass_[0] = 0;
    for (auto* scratch : {&before_, &moved_, &a_}) scratch->resize(x_.size());
  }

  void rattle_step(double h) {
    shake_step<double>([&](auto, auto, std::span<V> a) { fall(a); }, multipliers_, h / 2, h, h / 2, true, x_,
                       v_, inverse_mass_, before_, moved_, a_);
  }
  // With multipliers found from accelerations, and what is left projected away after the step.
  void verlet_step(double h) {
    velocity_verlet_step(accelerate(), 0, h, flat(x_), flat(v_), work_);
    project();
  }
  void rk4_step(double h) {
    runge_kutta_step(rk4, accelerate(), 0, h, flat(x_), flat(v_), work_);
    project();
  }

  RodReadings<V> now() const { return {x_, v_}; }

 private:
  static Multipliers<double> set_of(std::size_t links) {
    ConstraintSet<double> set;
    for (std::size_t i = 0; i < links; ++i) set.rods.push_back(Index2(Index(i), Index(i) + 1));
    set.rod_length.assign(links, 1);
    return Multipliers<double>(links + 1, set);
  }
  void fall(std::span<V> a) const {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = inverse_mass_[i] > 0 ? V(0, -g, 0) : V(V::Zero());
  }
  void project() {
    multipliers_.project_positions(x_, inverse_mass_, 8);
    multipliers_.project_velocities(x_, inverse_mass_, v_);
  }
  static std::span<double> flat(std::vector<V>& vectors) { return {vectors[0].data(), 3 * vectors.size()}; }

  std::vector<V> x_, v_;
  std::vector<double> inverse_mass_;
  Multipliers<double> multipliers_;
  std::vector<V> before_, moved_, a_;
  IntegratorWorkspace<double> work_;
};

/// The solver, on a part of points with rods and a pin, in the precision of the build.
class RodNet {
 public:
  RodNet(const std::vector<double>& angles, Springs::Integrator integrator,
         Springs::Stabilization stabilization = Springs::Stabilization::shake) {
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    for (const Vector3<double>& x : rod_ends(angles)) part.points.push_back(x.cast<Real>());
    for (Index i = 0; i < Index(angles.size()); ++i) part.rods.push_back(Index2(i, i + 1));
    part.mass = 1;
    part.pins.resize(1);
    part.pins[0].indices = {0};
    params_.integrator = integrator;
    params_.stabilization = stabilization;
    Springs::build({.parts = {part}}, model_, state_);
  }

  void step(Real h) { Springs::step(model_, state_, params_, workspace_, h); }
  RodReadings<Vec3> now() const { return {state_.particles.x, state_.particles.v}; }

 private:
  Springs::Model model_;
  Springs::State state_;
  Springs::Params params_;
  Springs::Workspace workspace_;
};

}  // namespace plenum::validation
