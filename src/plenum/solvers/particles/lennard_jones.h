#pragma once
// The Mie potential, of which Lennard-Jones is the case n = 12, m = 6:
//
//   U(r) = C eps [(sigma/r)^n - (sigma/r)^m],   C = n/(n - m) (n/m)^(m/(n - m)),
//
// whose minimum is -eps at r0 = (n/m)^(1/(n - m)) sigma. Source: Mie 1903; Jones 1924. Pairs farther apart
// than the cut-off do not feel each other.
#include <array>
#include <cmath>
#include <numbers>

#include "plenum/base/describe.h"

namespace plenum::inline PLENUM_ABI {

struct LennardJones {
  /// cut: U as it is. cut_with_tail: the same forces; reported energies and pressures of a periodic box gain
  /// what a uniform fluid beyond the cut-off would add. linear_force_shift: U(r) - U(rc) - (r - rc) U'(rc),
  /// whose force is continuous, so that energy is conserved at the cut-off (Toxvaerd & Dyre 2011,
  /// "Communication: Shifted forces in molecular dynamics").
  enum class Truncation : int { cut, cut_with_tail, linear_force_shift };
  friend constexpr std::array<const char*, 3> names_of(Truncation) {
    return {"cut", "cut_with_tail", "linear_force_shift"};
  }

  Real epsilon = 0;         ///< [J] depth of the minimum; 0: no forces between particles
  Real sigma = Real(0.05);  ///< [m] where the potential is zero
  Real n = 12, m = 6;       ///< exponents of repulsion and attraction, n > m
  Real cutoff = Real(2.5);  ///< [sigma]
  Truncation truncation = Truncation::linear_force_shift;
  Real skin = Real(0.3);  ///< [sigma] neighbours are kept that much beyond the cut-off, so that lists last
  void describe(Describer& d);
};

/// The same in reduced units (sigma = eps = 1), in double, for references and corrections.
struct Mie {
  double n, m, prefactor;
  Mie(double n_, double m_) : n(n_), m(m_), prefactor(n / (n - m) * std::pow(n / m, m / (n - m))) {}
  explicit Mie(const LennardJones& lj) : Mie(static_cast<double>(lj.n), static_cast<double>(lj.m)) {}

  double minimum() const { return std::pow(n / m, 1 / (n - m)); }
  double energy(double r) const { return prefactor * (std::pow(r, -n) - std::pow(r, -m)); }
  double slope(double r) const {  ///< U'
    return prefactor * (m * std::pow(r, -m - 1) - n * std::pow(r, -n - 1));
  }
  double curvature(double r) const {  ///< U''
    return prefactor * (n * (n + 1) * std::pow(r, -n - 2) - m * (m + 1) * std::pow(r, -m - 2));
  }
  /// Energy of a particle that a uniform fluid of number density rho beyond rc adds, 2 pi rho int_rc^inf U
  /// r^2 dr. Source: Allen & Tildesley 1987, eq. 2.137, for general exponents > 3.
  double tail_energy(double rho, double rc) const {
    return 2 * std::numbers::pi * rho * prefactor *
           (std::pow(rc, 3 - n) / (n - 3) - std::pow(rc, 3 - m) / (m - 3));
  }
  /// Pressure that it adds, -2/3 pi rho^2 int_rc^inf U' r^3 dr. Source: Allen & Tildesley 1987, eq. 2.139.
  double tail_pressure(double rho, double rc) const {
    return 2 * std::numbers::pi / 3 * rho * rho * prefactor *
           (n * std::pow(rc, 3 - n) / (n - 3) - m * std::pow(rc, 3 - m) / (m - 3));
  }
};

/// What pairs sum up to, each counted once.
struct PairEnergy {
  double potential = 0;  ///< [J]
  double virial = 0;     ///< [J] sum of r . F, so that pressure = (N k T + virial / 3) / volume
  double pairs = 0;      ///< within the cut-off
};

}  // namespace plenum::inline PLENUM_ABI
