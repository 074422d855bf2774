// Bounces of a net off solids. Particles that bounce one by one make energy in long steps: each is thrown
// against springs that do not yield. Here all that struck jump at once, and the net with them, by the mass
// that an impulse meets in an implicit step, M + h^2 K; with it Newton's restitution takes energy for every e
// <= 1, as it does for rigid bodies without friction (Moreau 1988, "Unilateral contact and dry friction in
// finite freedom dynamics"). What is not linear is bounded by the energy that there was.
#include <cmath>

#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// The largest share in [0, 1] for which a share^2 + b share + c <= 0; 0 if there is none.
double largest_share(double a, double b, double c) {
  if (a + b + c <= 0) return 1;
  const double discriminant = b * b - 4 * a * c;
  if (!(a > 0 && discriminant > 0)) return 0;
  return std::clamp((-b + std::sqrt(discriminant)) / (2 * a), 0.0, 1.0);
}

/// m |v + beside|^2 / 2 of all [J].
double kinetic(const Springs::Model& model, std::span<const Real> inverse_mass, std::span<const Vec3> v,
               const Vec3& beside) {
  return 0.5 * mass_sum(model, inverse_mass, [&](std::size_t i) { return (v[i] + beside).squaredNorm(); });
}

}  // namespace

PartEnergy energy_of_part(const Springs::Model& model, const Springs::State& state,
                          const Springs::Params& params, SpringsWorkspace& w, std::span<const Vec3> x0,
                          std::span<const Vec3> v0, Real h, double from_pins) {
  const auto& x = state.particles.x;
  const auto& inverse_mass = state.particles.inverse_mass;
  const Vec3 half = h / 2 * params.gravity;
  const double before =
      kinetic(model, inverse_mass, v0, half) + elastic_energy(w, x0, params.stiffness_scale) +
      mass_sum(model, inverse_mass, [&](std::size_t i) { return params.gravity.dot(x[i] - x0[i]); }) +
      w.supports.work_of_motion() + from_pins;
  return {before, kinetic(model, inverse_mass, state.particles.v, half) +
                      elastic_energy(w, x, params.stiffness_scale)};
}

void bounce(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
            SpringsWorkspace& w, std::span<const Vec3> x0, std::span<const Vec3> v0, Real h, double from_pins,
            Report& report) {
  // Named one by one: clang 14 captures no structured bindings.
  auto& v = state.particles.v;
  const auto& inverse_mass = state.particles.inverse_mass;
  const PartEnergy energy = energy_of_part(model, state, params, w, x0, v0, h, from_pins);
  w.supports.strike(v, params.gravity, h);
  std::vector<Vec3>&jump = w.jump, &rest = w.reaction;

  // A (jump + y) = 0 but for what struck.
  set_zero(flat(jump));
  set_zero(flat(w.rhs));
  const auto held = w.supports.held();
  const auto target = w.supports.target();
  for (std::size_t k = 0; k < held.size(); ++k) jump[std::size_t(held[k])] = target[k];
  const NetMatrix matrix = w.matrix();
  matrix.residual(flat(std::as_const(w.rhs)), flat(std::as_const(jump)), flat(rest));
  std::swap(w.rhs, rest);
  set_zero(flat(rest));
  const SolveReport solve = solve_linear(model, params, inverse_mass, w, flat(std::as_const(w.rhs)),
                                         flat(rest), double(params.tolerance));
  report.iterations += solve.iterations;
  if (!(solve.residual <= 1)) {
    report.warn(
        "a net that struck a solid does not bounce, since the solve for it failed; raise max_iterations or "
        "substeps");
    return;
  }
  axpy<Real>(1, flat(std::as_const(rest)), flat(jump));
  set_zero(flat(w.rhs));
  matrix.residual(flat(std::as_const(w.rhs)), flat(std::as_const(jump)), flat(rest));
  w.on_held.clear();
  for (const Index i : w.supports.held()) w.on_held.push_back(-rest[std::size_t(i)]);

  const Vec3 half = h / 2 * params.gravity;
  const double along =
      mass_sum(model, inverse_mass, [&](std::size_t i) { return (v[i] + half).dot(jump[i]); }) -
      w.supports.work_of_motion(w.on_held) -
      work_of_pins(model, inverse_mass, v, [&](std::size_t i) -> Vec3 { return -rest[i]; });
  constexpr double rounding = 1e-5;
  const auto share =
      static_cast<Real>(largest_share(kinetic(model, inverse_mass, jump, Vec3::Zero()), along,
                                      energy.now - energy.before - rounding * std::abs(energy.before)));
  parallel_for(jump.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (inverse_mass[i] > 0) v[i] += share * jump[i];
  });
  w.supports.add_jump(w.on_held, share);
}

}  // namespace plenum::inline PLENUM_ABI
