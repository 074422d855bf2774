#pragma once
// Stam's stable fluids in two dimensions, as small as it gets: the solver to read before `smoke`.
//
// Everything stands at the centres of n x n square cells, with a rim of ghost cells around them. A step adds
// forces, diffuses, projects, and carries the flow along itself; then it does the same to the ink. Each of
// the four is one short function in stable_fluids.cpp. Sources: Stam 1999, "Stable fluids"; Stam 2003,
// "Real-time fluid dynamics for games".
//
// What it leaves to `smoke`: faces for velocities (here a checkerboard of pressures is invisible to the
// projection), solids, sides that let through, a converged pressure, second order, three dimensions, threads.
#include <vector>

#include "plenum/state/solver.h"

namespace plenum::inline PLENUM_ABI {

struct StableFluids {
  static constexpr const char* name = "stable_fluids";
  static constexpr const char* doc = "Stam's stable fluids in a square: a small solver to learn from";

  /// A round jet of ink.
  struct Jet {
    Vec3 position = Vec3(Real(0.5), Real(0.1), 0);  ///< [m]
    Real radius = Real(0.06);                       ///< [m]
    Vec3 push = Vec3(0, 3, 0);                      ///< [m/s^2]
    Real ink = 4;                                   ///< [1/s] that comes
    Real start = 0, stop = Real(1e9);               ///< [s] acts in between
    void describe(Describer& d);
  };
  struct Spec {
    int cells = 128;  ///< along each side
    Real size = 1;    ///< [m] of a side
    void describe(Describer& d);
  };

  struct Model {
    Index n = 1;  ///< cells along each side
    Real h = 1;   ///< [m] side of a cell
    /// Of cell (i, j), 1 <= i, j <= n; 0 and n + 1 are the rim.
    std::size_t at(Index i, Index j) const { return static_cast<std::size_t>(i + (n + 2) * j); }
    std::size_t size() const { return static_cast<std::size_t>(n + 2) * static_cast<std::size_t>(n + 2); }
  };
  struct State {
    std::vector<Real> u, v;  ///< [size()] m/s along x and y
    std::vector<Real> ink;   ///< [size()] 1
    double time = 0;         ///< [s]
  };
  struct Params {
    Real viscosity = 0;      ///< [m^2/s], kinematic
    Real ink_diffusion = 0;  ///< [m^2/s]
    int sweeps = 20;         ///< of Gauss and Seidel, for diffusion and for pressure
    std::vector<Jet> jets = {};
    void describe(Describer& d);
  };
  struct Workspace {
    std::vector<Real> u, v, ink, pressure, divergence;  ///< [size()]
  };

  static std::size_t memory(const Spec& spec);
  static void build(const Spec& spec, Model& model, State& state);
  /// Throws Error if arrays that checkpoints hold do not fit the model.
  static void check(const Model& model, const State& state);
  static Real max_dt(const Model& model, const State& state, const Params& params);
  static Report step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt);
  static void fields(const Model& model, State& state, FieldVisitor& visit);
  static void geometry(const Model& model, const State& state, DrawableSink& sink);
};

}  // namespace plenum::inline PLENUM_ABI
