#include "plenum/solvers/pbd/detail/sweeps.h"

#include <algorithm>
#include <cmath>

#include "plenum/base/parallel_evenly.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

namespace {

constexpr std::size_t particles_per_block = 1024;

// What sweeps leave of an error e is p(t) e, with t in [1 - r, 1] the part that a Jacobi sweep leaves. A
// substep takes what it has moved by as its velocity, x_n+1 = p (2 x_n - x_n-1): z^2 - 2 p z + p = 0. For p
// in [0, 1] both |z|^2 = p. Where the error changes its sign, p < 0, one is p - sqrt(p^2 - p), and stays
// above -1 only as long as p > -1/3: what oversteps by more than that swings up from substep to substep.
constexpr Real most_overstepped = Real(1) / 3;

constexpr int delay = 10;  ///< sweeps before Chebyshev's method begins

void hold_by_tethers(PbdWorkspace& w, Projection how) {
  if (how.strain_limit > 0) w.giving_tethers.sweep(w.places.data(), how);
  how.strain_limit = 0;
  w.tethers.sweep(w.places.data(), how);
}

/// The part of classic PBD's error that each of `taken` sweeps takes away, as much in all as the `asked`
/// ones.
Real part_of_each(Real part, int asked, int taken) {
  return part < 1 ? 1 - std::pow(1 - part, Real(asked) / Real(taken)) : part;
}

/// sweep(how, is it the first, is it the last) as often back as there, `sweeps` times or one more.
///
/// Meshes have about as many distances as ways to move, lattices more, so that a sweep takes much of some
/// errors and little of others. What it leaves, e -> G e, is in one order alone complex in part. A substep
/// takes its way for its velocity, z^2 = g (2 z - 1) for each eigenvalue g of G: near 1, |z| > 1 as soon as
/// the imaginary part of g is more than about (1 - |g|)^(3/2). Shells grew by 1 to 3 % a substep from
/// rounding and trembled for ever; bars that something pushed swung up to thousands of joules. Back and there
/// the multipliers are those of the symmetric Gauss-Seidel method (Sheldon 1955, "On the numerical solution
/// of elliptic difference equations"), N^-1 of N = (D + L) D^-1 (D + L^T) >= A, G is I - W J^T N^-1 J with
/// eigenvalues in [0, 1], and |z|^2 = g. So it is with n sweeps back and then n there. In turn, a sweep
/// begins with what the one before has just done, and hung meshes stretched twice as far.
template <class Sweep>
void back_and_there(Projection how, int sweeps, Sweep&& sweep) {
  const int even = sweeps + sweeps % 2;
  how.part = part_of_each(how.part, sweeps, even);
  const bool is_first = how.is_first, is_last = how.is_last;
  for (int k = 0; k < even; ++k) {
    const bool begins = k == 0, ends = k + 1 == even;
    how.is_first = is_first && begins, how.is_last = is_last && ends, how.is_back = 2 * k < even;
    sweep(how, begins, ends);
  }
}

/// Lengths of ropes and meshes, threads and areas; and what keeps these from bending, if that is asked for,
/// first and last.
void sweep_meshes(PbdWorkspace& w, const Projection& how, int sweeps, bool with_bending) {
  PbdMeshes& m = w.meshes;
  Place* const places = w.places.data();
  back_and_there(how, sweeps, [&](const Projection& now, bool begins, bool ends) {
    Projection bending = now;
    bending.part = part_of_each(how.part, 1, 2);
    if (with_bending && begins)
      m.rods.sweep(places, bending), m.plates.sweep(places, bending), m.angles.sweep(places, bending);
    const auto stretch = [&](auto& of) {
      if (now.is_back)
        of.areas.sweep(places, now), of.strains.sweep(places, now), of.distances.sweep(places, now);
      else
        of.distances.sweep(places, now), of.strains.sweep(places, now), of.areas.sweep(places, now);
    };
    stretch(m), stretch(w.skins);
    if (with_bending && ends)
      m.angles.sweep(places, bending), m.plates.sweep(places, bending), m.rods.sweep(places, bending);
  });
}

/// With lengths last, or colours there first, crushed lattices tremble, or single volumes are twice as far
/// off.
void sweep_lattices(PbdWorkspace& w, const Projection& how, int sweeps) {
  Place* const places = w.places.data();
  back_and_there(how, sweeps, [&](const Projection& now, bool, bool) {
    if (now.is_back) w.volumes.sweep(places, now);
    w.lattices.sweep(places, now);
    if (!now.is_back) w.volumes.sweep(places, now);
  });
}

/// In one order alone slender bars gained energy from rest, as of 1 m and a hundred cells of 10^7 Pa, which
/// burst within seconds.
void sweep_solids(PbdWorkspace& w, const Projection& how) {
  Place* const places = w.places.data();
  back_and_there(how, 1, [&](const Projection& now, bool, bool) {
    if (now.is_back) w.solid_strains.sweep(places, now);
    w.solids.sweep(places, now);
    if (!now.is_back) w.solid_strains.sweep(places, now);
  });
}

}  // namespace

void begin_constraints(const Pbd::State& state, PbdWorkspace& w) {
  const Particles& p = state.particles;
  parallel_for_evenly(p.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      w.places[i] = Place{{w.x0[i].x(), w.x0[i].y(), w.x0[i].z()}, p.inverse_mass[i]};
  });
  const Place* const places = w.places.data();
  w.with_batches([&](auto&... batches) { (batches.begin(places), ...); });
  w.woven_cells.begin(places), w.woven_rods.begin(places);
  w.tethers.begin(places), w.giving_tethers.begin(places);
  w.enclosures.begin(w.x0), w.spins.begin(w.x0, p.inverse_mass);
  if (!w.coarse.empty()) w.coarse.begin(w.places);
}

void sweep(PbdWorkspace& w, const Projection& how, int stretch_sweeps) {
  Place* const places = w.places.data();
  w.plates.sweep(places, how);
  w.angles.sweep(places, how);
  w.rods.sweep(places, how);
  w.shapes.project(w.places, w.x0, how);
  sweep_solids(w, how);
  w.areas.sweep(places, how);
  Projection stretch = how;
  for (int k = 0; k < stretch_sweeps; ++k) {
    stretch.is_first = how.is_first && k == 0, stretch.is_last = how.is_last && k + 1 == stretch_sweeps;
    w.strains.sweep(places, stretch);
    if (k == 0) {
      hold_by_tethers(w, how);
      // With cells before rows hung cloth is stretched by 4 to 25 % more.
      w.woven_rods.sweep(places, how), w.woven_cells.sweep(places, how);
    }
    w.distances.sweep(places, stretch);
  }
  sweep_meshes(w, how, stretch_sweeps, true), sweep_lattices(w, how, stretch_sweeps);
}

void hold_walls(PbdWorkspace& w, Projection how, bool is_back) {
  how.is_first = how.is_last = false, how.is_back = is_back;
  w.volumes.sweep(w.places.data(), how), w.solids.sweep(w.places.data(), how);
  sweep_meshes(w, how, 1, false);
}

double sweep_at_once(PbdWorkspace& w, Projection how) {
  const std::size_t n = w.places.size();
  w.shared.resize(n), w.sums.resize(n);
  how.sums = w.sums.data();
  parallel_for_evenly(n, particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Place& p = w.places[i];
      const Real* const left = w.shared[i].x;
      const bool is_moved = !how.is_first && (p.x[0] != left[0] || p.x[1] != left[1] || p.x[2] != left[2]);
      w.shared[i] = {{p.x[0], p.x[1], p.x[2]}, w.shares[i] * p.inverse_mass};
      w.sums[i] = {{0, 0, 0}, is_moved ? Real(1) : Real(0)};
    }
  });
  Place* const places = w.shared.data();
  const double residual =
      w.with_batches([&](auto&... batches) { return (batches.sweep_at_once(places, how) + ...); });
  parallel_for_evenly(n, particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (w.shares[i] == 0) continue;
      for (int c = 0; c < 3; ++c) w.places[i].x[c] += w.sums[i].x[c] / w.shares[i];
      for (int c = 0; c < 3; ++c) w.shared[i].x[c] = w.places[i].x[c];
    }
  });
  w.shapes.project(w.places, w.x0, how);
  hold_by_tethers(w, how);
  return residual;
}

Real stable_relaxation(Real relaxation, int sweeps) {
  return std::min(relaxation, 1 + std::pow(most_overstepped, 1 / Real(sweeps)));
}

void ChebyshevFactors::advance(double residual) {
  // Until the first accelerated sweep is over, `limit_` is the residual of the sweep before.
  if (!(residual <= limit_)) begin();
  if (sweeps_ <= delay) limit_ = residual;
  ++sweeps_, --left_;
  factor_ = sweeps_ < delay ? 1 : sweeps_ == delay ? 2 / (2 - square_) : 4 / (4 - square_ * factor_);
}

// The polynomial of k sweeps, T_k(t / rho) / T_k(1 / rho), swings within 1 / T_k(1 / rho) of nothing: rho is
// no larger than with which the sweeps that are left bring that down to what may be overstepped by.
void ChebyshevFactors::begin() {
  sweeps_ = 0;
  const Real k = Real(std::max(1, left_ - delay));
  const Real radius = std::min(radius_, 1 / std::cosh(std::acosh(1 / most_overstepped) / k));
  square_ = radius * radius;
}

void damp(PbdWorkspace& w, Real h, int sweeps) {
  parallel_for_evenly(w.ways.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Place& to = w.places[i];
      const Vec3& from = w.gone[i];
      for (int c = 0; c < 3; ++c) {
        w.ways[i].x[c] = to.x[c] - from[c];
        w.middle[i].x[c] = (from[c] + to.x[c]) / 2;
      }
      w.ways[i].inverse_mass = w.middle[i].inverse_mass = to.inverse_mass;
    }
  });
  Damping how{1 / (h * h), 1 / h, w.middle.data()};
  for (int k = 0; k < 2 * sweeps; ++k) {
    how.is_first = k == 0;
    const bool is_back = k % 2 != 0;
    w.with_batches([&](auto&... batches) { (batches.damp(w.ways.data(), how, is_back), ...); });
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
