#pragma once
// Sweeps over all constraints of a substep.
#include <limits>

#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Where constraints begin to count, from w.x0.
void begin_constraints(const Pbd::State& state, PbdWorkspace& w);

/// One sweep over all constraints, and some more over what keeps things from stretching (Gauss-Seidel).
void sweep(PbdWorkspace& w, const Projection& how, int stretch_sweeps);

/// Once more over what keeps walls of balloons from stretching, and solids' volumes: back, or there. With
/// lengths of lattices too, these tremble in contact.
void hold_walls(PbdWorkspace& w, Projection how, bool is_back);

/// The same as sweep() with what has packs projected all at once (Jacobi); the rest follows from where that
/// leads. What the rest and others move since the last sweep is not accelerated in this one. Returns by how
/// much constraints fail to hold as it begins.
double sweep_at_once(PbdWorkspace& w, Projection how);

/// The relaxation with which so many sweeps of sweep_at_once() do not overstep by too much.
Real stable_relaxation(Real relaxation, int sweeps);

/// Chebyshev's factors omega in the sweeps of a substep: 1 in the first ten, while what a substep begins with
/// makes errors go their own ways (Wang 2015, section 5.1). From then on the residual cannot exceed what it
/// was if all is linear, as Chebyshev's polynomials are at most 1 where eigenvalues are; where it does, what
/// is not linear has taken over, and it begins anew.
class ChebyshevFactors {
 public:
  /// radius: of what a sweep leaves, in [0, 1).
  ChebyshevFactors(Real radius, int sweeps) : radius_(radius), left_(sweeps) { begin(); }
  Real factor() const { return factor_; }
  /// After a sweep that began with this residual.
  void advance(double residual);

 private:
  void begin();
  Real radius_, square_ = 0, factor_ = 1;
  int sweeps_ = 0, left_;  ///< since it began, and to the end of the substep
  double limit_ = std::numeric_limits<double>::infinity();
};

/// The ways of particles in a substep of h [s], w.ways, less what damping takes of them in so many sweeps
/// back and as many there.
void damp(PbdWorkspace& w, Real h, int sweeps);

}}  // namespace plenum::PLENUM_ABI::detail
