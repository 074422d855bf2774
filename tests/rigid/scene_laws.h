#pragma once
// What the tests of rigid bodies share: sums over a scene, in double, a ball, and why a scene is refused.
#include <string>

#include "../../validation/rigid_scenes.h"
#include "plenum/base/error.h"

namespace plenum::test {

using D3 = Vector3<double>;

inline D3 momentum(const validation::RigidScene& scene) {
  D3 sum = D3::Zero();
  const Frames& f = scene.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i)
    if (f.inverse_mass[i] > 0) sum += f.v[i].cast<double>() / double(f.inverse_mass[i]);
  return sum;
}

/// About the origin.
inline D3 angular_momentum(const validation::RigidScene& scene) {
  D3 sum = D3::Zero();
  const Frames& f = scene.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (!(f.inverse_mass[i] > 0)) continue;
    const Quaternion<double> q = f.rotation(i).cast<double>().normalized();
    const D3 spin = q.conjugate() * f.w[i].cast<double>();
    sum += q * scene.model.inertia[i].cast<double>().cwiseProduct(spin).eval();
    sum += f.x[i].cast<double>().cross(f.v[i].cast<double>()) / double(f.inverse_mass[i]);
  }
  return sum;
}

/// Kinetic, and potential in the scene's gravity.
inline double energy(const validation::RigidScene& scene) {
  double sum = 0;
  const Frames& f = scene.state.frames;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (!(f.inverse_mass[i] > 0)) continue;
    const D3 spin = f.rotation(i).cast<double>().conjugate() * f.w[i].cast<double>();
    const double m = 1 / double(f.inverse_mass[i]);
    sum += (m * f.v[i].cast<double>().squaredNorm() +
            scene.model.inertia[i].cast<double>().dot(spin.cwiseProduct(spin))) /
               2 -
           m * scene.params.gravity.cast<double>().dot(f.x[i].cast<double>());
  }
  return sum;
}

inline rigid::BodySpec ball(double radius, const Vec3& at, const Vec3& velocity = Vec3::Zero()) {
  rigid::BodySpec body;
  body.shapes[0].shape = rigid::Form::sphere;
  body.shapes[0].radius = Real(radius);
  body.position = at;
  body.velocity = velocity;
  return body;
}

/// Why `spec` is refused; empty if it is not.
inline std::string message(const rigid::Spec& spec) {
  try {
    validation::RigidScene{spec};
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace plenum::test
