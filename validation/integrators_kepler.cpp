// A circular orbit by Verlet's methods: conserved quantities of the Kepler problem.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "plenum/integrate/integrators.h"
#include "validation.h"

namespace plenum::validation { namespace {

/// GM = 1, r = 1, v = 1: 100 orbits in 200 steps each, the rows of rigid_body.csv, case kepler_circular.
void kepler(Rows& rows) {
  const auto attraction = [](double, std::span<const double> x, std::span<const double>,
                             std::span<double> out) {
    const double r = std::hypot(x[0], x[1]);
    for (int c : {0, 1}) out[c] = -x[c] / (r * r * r);
  };
  const double h = 2 * std::numbers::pi / 200;
  for (const Integrator method : {Integrator::velocity_verlet, Integrator::position_verlet}) {
    std::array<double, 2> x = {1, 0}, v = {0, 1};
    IntegratorWorkspace<double> work;
    double energy = 0, momentum = 0;
    for (int k = 0; k < 100 * 200; ++k) {
      explicit_step<double>(method, attraction, k * h, h, x, v, work);
      energy = std::max(energy, std::abs((v[0] * v[0] + v[1] * v[1]) / 2 - 1 / std::hypot(x[0], x[1]) + 0.5));
      momentum = std::max(momentum, std::abs(x[0] * v[1] - x[1] * v[0] - 1));
    }
    const std::string name(info(method).name);
    rows.at_most(name + ", 100 circular orbits of 200 steps: largest error of E", energy, 1e-6, "1",
                 "rigid_body.csv, kepler_circular");
    rows.at_most(name + ", 100 circular orbits of 200 steps: largest error of L", momentum, 1e-12, "1",
                 "rigid_body.csv, kepler_circular");
  }
}
const Register register_kepler("integrate/kepler", Effort::quick, kepler);

}}  // namespace plenum::validation
