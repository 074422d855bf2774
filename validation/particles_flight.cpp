// Particles in the air, against closed forms.
#include <array>
#include <cmath>

#include "plenum/solvers/particles/particles.h"
#include "validation.h"

namespace plenum::validation { namespace {

struct Flown {
  double y, v;
};

/// One particle of 1 kg, thrown vertically at v0, after `time` in `steps` steps.
Flown fly(double linear, double quadratic, double v0, double time, int steps) {
  ParticleSystem::Spec spec;
  spec.mass = 1;
  spec.max_particles = 1;
  spec.positions = {Vec3::Zero()};
  spec.velocities = {Vec3(0, static_cast<Real>(v0), 0)};
  ParticleSystem::Model model;
  ParticleSystem::State state;
  ParticleSystem::Workspace workspace;
  ParticleSystem::build(spec, model, state);
  ParticleSystem::Params params;
  params.linear_drag = static_cast<Real>(linear);
  params.quadratic_drag = static_cast<Real>(quadratic);
  for (int k = 0; k < steps; ++k)
    ParticleSystem::step(model, state, params, workspace, static_cast<Real>(time / steps));
  return {static_cast<double>(state.particles.x[0].y()), static_cast<double>(state.particles.v[0].y())};
}

void projectile(Rows& rows) {
  const double rounding = sizeof(Real) == 4 ? 1e-6 : 1e-12;
  // Linear drag: exact for any step.
  {
    const double k = 2, v0 = 8, t = 1, end = -g / k, e = std::exp(-k * t);
    const Flown one = fly(k, 0, v0, t, 1);
    rows.near("height after 1 s, linear drag, one step", one.y, end * t + (v0 - end) * (1 - e) / k,
              20 * rounding, "m", "closed form: y = v_inf t + (v0 - v_inf)(1 - e^-kt)/k");
    rows.near("speed after 1 s, linear drag, one step", one.v, end + (v0 - end) * e, 20 * rounding, "m/s",
              "closed form: v = v_inf + (v0 - v_inf) e^-kt");
  }
  // Quadratic drag, thrown up: v = vt tan(atan(v0/vt) - g t/vt) to the top, then v = -vt tanh(g t/vt).
  {
    const double k = 0.3, vt = std::sqrt(g / k), v0 = 12;
    const double rise = vt / g * std::atan(v0 / vt), t = rise + 1;
    const double top = vt * vt / (2 * g) * std::log(1 + v0 * v0 / (vt * vt));
    const double y = top - vt * vt / g * std::log(std::cosh(g * 1 / vt)), v = -vt * std::tanh(g * 1 / vt);
    std::array<double, 3> error_y, error_v;
    for (int level = 0; level < 3; ++level) {
      const Flown f = fly(0, k, v0, t, 32 << level);
      error_y[static_cast<std::size_t>(level)] = std::abs(f.y - y);
      error_v[static_cast<std::size_t>(level)] = std::abs(f.v - v);
    }
    // The turning point, where |v| has a kink, is met at another phase by each step; it costs some of the
    // order.
    rows.at_least("order of the height, quadratic drag, 32 to 128 steps",
                  std::log2(error_y[0] / error_y[2]) / 2, 1.6, "1",
                  "second-order scheme; closed form with atan and tanh");
    rows.at_least("order of the speed, quadratic drag, 32 to 128 steps",
                  std::log2(error_v[0] / error_v[2]) / 2, 1.6, "1",
                  "second-order scheme; closed form with atan and tanh");
    rows.near("height after the top, quadratic drag, dt = 1/60 s",
              fly(0, k, v0, t, static_cast<int>(std::ceil(60 * t))).y, y, 0.01 * top, "m",
              "closed form with atan and tanh; 1 % of the height of the throw");
  }
  // The terminal speed for a step a thousand times the time it takes to reach it.
  {
    const double k = 5, vt = std::sqrt(g / k), h = 1000 * vt / g;
    rows.near("terminal speed kept over 10 steps of 1000 relaxation times", -fly(0, k, -vt, 10 * h, 10).v, vt,
              10 * rounding * vt, "m/s", "closed form: sqrt(g/k)");
  }
}
const Register register_projectile("particles/projectile", Effort::quick, projectile);

}  // namespace
}  // namespace plenum::validation
