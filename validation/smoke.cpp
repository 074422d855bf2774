// Smoke against closed forms and the lid-driven cavity of Ghia, Ghia & Shin.
#include "plenum/solvers/smoke/smoke.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/base/parallel.h"
#include "plenum/integrate/grid_projection.h"
#include "validation.h"

namespace plenum::validation { namespace {

constexpr double half_turn = std::numbers::pi;

struct Gas {
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  explicit Gas(const Smoke::Spec& spec) {
    Smoke::build(spec, model, state);
    params.gravity.setZero();
    params.pressure_tolerance = Real(1e-6);
  }
  Report step(double dt) { return Smoke::step(model, state, params, workspace, static_cast<Real>(dt)); }
  /// Calls f(item, x, y, z) for all faces across axis c.
  template <class F>
  void for_faces(int c, F&& f) {
    std::array<Index, 3> n = model.shape.cells;
    ++n[static_cast<std::size_t>(c)];
    for (Index k = 0; k < n[2]; ++k)
      for (Index j = 0; j < n[1]; ++j)
        for (Index i = 0; i < n[0]; ++i) {
          const auto at = [&](int axis, Index m) {
            return static_cast<double>(model.h) * (m + (axis == c ? 0.0 : 0.5));
          };
          f(state.velocity.along[static_cast<std::size_t>(c)][model.shape.index(i, j, k)], at(0, i), at(1, j),
            at(2, k));
        }
  }
  double energy() const { return Smoke::kinetic_energy(model, state, params.air_density); }
};

Smoke::Spec square(int n, GridSide side) {
  Smoke::Spec spec;
  spec.cells_x = spec.cells_y = n;
  spec.cells_z = 1;
  spec.spacing = static_cast<Real>(1.0 / n);
  for (Smoke::Side* s : {&spec.left, &spec.right, &spec.bottom, &spec.top}) s->kind = side;
  return spec;
}

/// A periodic square with the vortices of Taylor and Green, one wave along each side, U0 = 1.
Gas taylor_green(int n, double viscosity) {
  Gas gas(square(n, GridSide::periodic));
  gas.params.viscosity = static_cast<Real>(viscosity);
  gas.for_faces(0, [](Real& u, double x, double y, double) {
    u = static_cast<Real>(-std::cos(2 * half_turn * x) * std::sin(2 * half_turn * y));
  });
  gas.for_faces(1, [](Real& v, double x, double y, double) {
    v = static_cast<Real>(std::sin(2 * half_turn * x) * std::cos(2 * half_turn * y));
  });
  return gas;
}

/// Root mean square error of the velocity after `time`, with the flow crossing half a cell a step.
double taylor_green_error(int n, AdvectionScheme scheme, Trace trace, double time) {
  Gas gas = taylor_green(n, 0);
  gas.params.advection = scheme;
  gas.params.trace = trace;
  const int steps = static_cast<int>(std::lround(time * 2 * n));
  for (int k = 0; k < steps; ++k) gas.step(time / steps);
  double sum = 0, count = 0;
  gas.for_faces(0, [&](Real& u, double x, double y, double) {
    const double e = static_cast<double>(u) + std::cos(2 * half_turn * x) * std::sin(2 * half_turn * y);
    sum += e * e, ++count;
  });
  return std::sqrt(sum / count);
}

/// Mean error of a quantity that the steady vortices carry for half a turn at CFL 0.5, without any
/// projection.
double carried_error(int n, AdvectionScheme scheme, Trace trace) {
  Gas gas = taylor_green(n, 0);
  const GridShape& shape = gas.model.shape;
  fill_velocity_ghosts(shape, gas.model.box, gas.state.velocity);
  const auto exact = [&](Index i, Index j) {
    const double s = std::sin(2 * half_turn * (i + 0.5) / n) * std::sin(2 * half_turn * (j + 0.5) / n);
    return std::exp(s);
  };
  const auto fill = [&](std::span<Real> q) { fill_cell_ghosts(shape, gas.model.box, 0, q); };
  // Velocities (-cos sin, sin cos) have the stream function cos cos: the quantity, of a wave's quarter away,
  // is sin sin.
  std::vector<Real> q(shape.size()), out(shape.size());
  const auto shifted = [&](Index i, Index j) { return exact(i + n / 4, j + n / 4); };
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) q[shape.index(i, j, 0)] = static_cast<Real>(shifted(i, j));
  AdvectionWorkspace work;
  for (int k = 0; k < n; ++k) {
    fill(q);
    advect(shape, gas.model.box, gas.state.velocity, Real(0.5), scheme, trace, {-1, q, out}, work, fill);
    std::swap(q, out);
  }
  double sum = 0;
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i)
      sum += std::abs(static_cast<double>(q[shape.index(i, j, 0)]) - shifted(i, j));
  return sum / (n * n);
}

void taylor_green_case(Rows& rows) {
  // The vortices decay as exp(-2 nu (kx^2 + ky^2) t) in energy, by a third in the time of this row.
  const Reference reference("taylor_green_2d");
  const std::size_t row = reference.find("t", "500");
  // The table's lattice units: N = 64, U0 = 0.05, nu = 0.02, so t in turns L / U0 and nu in U0 L.
  const double t = reference.number(row, "t") * 0.05 / 64, nu = 0.02 / (0.05 * 64);
  for (const AdvectionScheme scheme : {AdvectionScheme::maccormack, AdvectionScheme::cubic}) {
    Gas gas = taylor_green(64, nu);
    gas.params.advection = scheme;
    gas.params.trace = Trace::rk3;
    gas.step(1e-9);
    const double start = gas.energy();
    // The splitting is of first order in time: a sixteenth of a cell a step leaves it less than is asked.
    const int steps = static_cast<int>(std::ceil(t * 64 * 16));
    for (int k = 0; k < steps; ++k) gas.step(t / steps);
    rows.near(std::string("energy factor, 64^2, ") + names_of(scheme)[static_cast<std::size_t>(scheme)],
              gas.energy() / start, reference.number(row, "energy_factor"),
              0.01 * reference.number(row, "energy_factor"), "1",
              "exp(-2 nu (kx^2 + ky^2) t); 1 % at 64^2 is what good codes reach (fluid_closed_forms)");
  }
}
const Register register_taylor_green("taylor_green_2d/smoke", Effort::quick, taylor_green_case);

/// Steady without viscosity: all that changes is error.
void advection_orders(Rows& rows) {
  struct Expected {
    AdvectionScheme scheme;
    Trace trace;
    double order;
    const char* source;
  };
  for (const Expected& e :
       {Expected{AdvectionScheme::semi_lagrangian, Trace::rk2, 1,
                 "Stam 1999: linear interpolation, O(h^2 / dt)"},
        Expected{AdvectionScheme::maccormack, Trace::rk2, 1,
                 "projection splits in first order (Chorin 1969)"},
        Expected{AdvectionScheme::cubic, Trace::rk3, 1, "projection splits in first order (Chorin 1969)"}}) {
    const double coarse = taylor_green_error(32, e.scheme, e.trace, 0.5),
                 middle = taylor_green_error(64, e.scheme, e.trace, 0.5),
                 fine = taylor_green_error(128, e.scheme, e.trace, 0.5);
    const std::string name = names_of(e.scheme)[static_cast<std::size_t>(e.scheme)];
    rows.report(name + ", error at 128^2", fine, "U0", "root mean square after half a turn, CFL 0.5");
    rows.at_least(name + ", order 32 to 64", std::log2(coarse / middle), e.order - 0.25, "1", e.source);
    rows.at_least(name + ", order 64 to 128", std::log2(middle / fine), e.order - 0.25, "1", e.source);
  }
  // Advection alone: what is a function of the stream function stays where it is.
  for (const Expected& e :
       {Expected{AdvectionScheme::semi_lagrangian, Trace::rk2, 1,
                 "linear interpolation at a constant CFL number"},
        Expected{AdvectionScheme::maccormack, Trace::rk2, 2,
                 "Selle et al. 2008: second order in space and time"},
        Expected{AdvectionScheme::cubic, Trace::rk3, 2, "limited slopes: second order at extrema"}}) {
    const double coarse = carried_error(32, e.scheme, e.trace), fine = carried_error(128, e.scheme, e.trace);
    rows.at_least(std::string(names_of(e.scheme)[static_cast<std::size_t>(e.scheme)]) +
                      ", order of a carried quantity, 32 to 128",
                  std::log2(coarse / fine) / 2, e.order - 0.3, "1", e.source);
  }
}
const Register register_orders("smoke/advection-orders", Effort::quick, advection_orders);

void poiseuille(Rows& rows) {
  const Reference reference("poiseuille");
  for (const Smoke::Diffusion diffusion :
       {Smoke::Diffusion::implicit_euler, Smoke::Diffusion::explicit_euler}) {
    constexpr int n = 20;
    Smoke::Spec spec = square(n, GridSide::no_slip);
    spec.cells_x = 4;
    spec.left.kind = spec.right.kind = GridSide::periodic;
    Gas gas(spec);
    gas.params.viscosity = 1;
    gas.params.acceleration = Vec3(8, 0, 0);  // the largest speed is G H^2 / (8 nu) = 1
    gas.params.diffusion = diffusion;
    const double dt = diffusion == Smoke::Diffusion::explicit_euler ? 0.2 / (n * n) : 0.02;
    for (double t = 0; t < 2; t += dt) gas.step(dt);
    double most = 0;
    for (std::size_t r = 0; r < reference.size(); ++r) {
      // Between cells, by the parabola through three of them: exact for the profile.
      const double y = reference.number(r, "y_over_H") * n - 0.5;
      const Index j = std::min(std::max(static_cast<Index>(std::lround(y)), Index{1}), Index{n - 2});
      const auto u = [&](Index jj) {
        return static_cast<double>(gas.state.velocity[0][gas.model.shape.index(1, jj, 0)]);
      };
      const double s = y - j;
      const double value =
          u(j) + s * (u(j + 1) - u(j - 1)) / 2 + s * s * (u(j + 1) - 2 * u(j) + u(j - 1)) / 2;
      most = std::max(most, std::abs(value - reference.number(r, "u_over_umax")));
    }
    // A ghost as far beyond the wall as the cell is before it sets a linear profile between them: the
    // parabola's own middle is h^2 u'' / 8 off, which is u_max / n^2.
    rows.at_most(
        std::string("largest error, 20 cells, ") + names_of(diffusion)[static_cast<std::size_t>(diffusion)],
        most, 1.05 / (n * n), "u_max", "u = 4 u_max y (H - y) / H^2; h^2 u'' / 8 of the ghost cells");
  }
}
const Register register_poiseuille("poiseuille/smoke", Effort::quick, poiseuille);

/// The steady flow that a lid draws along, on the centre lines: u on the vertical one, v on the horizontal
/// one.
void cavity(Rows& rows, int re, int n, double time, double cfl, std::initializer_list<int> axes) {
  Smoke::Spec spec = square(n, GridSide::no_slip);
  spec.top.velocity = Vec3(1, 0, 0);
  Gas gas(spec);
  gas.params.viscosity = static_cast<Real>(1.0 / re);
  gas.params.pressure_tolerance = Real(1e-4);
  const double dt = cfl / n;
  const int steps = static_cast<int>(time / dt);
  for (int k = 0; k < steps; ++k) gas.step(dt);
  const std::string column = "Re" + std::to_string(re);
  for (const int axis : axes) {
    const Reference reference(axis == 0 ? "ghia_u_vertical_centerline" : "ghia_v_horizontal_centerline");
    double most = 0;
    for (std::size_t r = 0; r < reference.size(); ++r) {
      const double at = reference.number(r, axis == 0 ? "y" : "x");
      if (axis == 1 && re == 400 && std::abs(at - 0.9063) < 1e-6) continue;  // a misprint of the table
      // On the centre line faces stand for an even n; between them along it, linearly, with the wall's
      // ghosts.
      const double m = at * n - 0.5;
      const auto j = static_cast<Index>(std::floor(m));
      const double s = m - j;
      const auto u = [&](Index jj) {
        return static_cast<double>(gas.state.velocity[axis][axis == 0 ? gas.model.shape.index(n / 2, jj, 0)
                                                                      : gas.model.shape.index(jj, n / 2, 0)]);
      };
      most = std::max(most, std::abs((1 - s) * u(j) + s * u(j + 1) - reference.number(r, column)));
    }
    rows.at_most(std::string("largest difference of ") + (axis == 0 ? "u" : "v") + ", " + column + ", " +
                     std::to_string(n) + "^2",
                 most, 0.02, "U_lid", "Ghia, Ghia & Shin 1982, 129^2: 2 % of the lid's speed");
  }
}
const Register register_cavity_u("ghia_u_vertical_centerline/smoke", Effort::quick,
                                 [](Rows& rows) { cavity(rows, 100, 128, 20, 1, {0}); });
const Register register_cavity_v("ghia_v_horizontal_centerline/smoke", Effort::quick,
                                 [](Rows& rows) { cavity(rows, 100, 128, 20, 1, {1}); });
const Register register_cavity_400("smoke/cavity-400", Effort::thorough, [](Rows& rows) {
  cavity(rows, 400, 128, 50, 1, {0, 1});
});
// Here the error of the splitting, of first order in time, counts: a whole cell a step leaves 2.5 %.
const Register register_cavity_1000("smoke/cavity-1000", Effort::thorough, [](Rows& rows) {
  cavity(rows, 1000, 128, 80, 0.5, {0, 1});
});

/// A warm ball below a solid one, in a closed box.
Smoke::Spec plume_box(int n) {
  Smoke::Spec spec;
  spec.cells_x = spec.cells_y = spec.cells_z = n;
  spec.spacing = static_cast<Real>(1.0 / n);
  SmokeShape ball;
  ball.radius = Real(0.15);
  ball.position = {Real(0.5), Real(0.5), Real(0.5)};
  spec.solids = {ball};
  return spec;
}
SmokeSource warm_ball() {
  SmokeSource source;
  source.radius = Real(0.12);
  source.position = {Real(0.5), Real(0.18), Real(0.5)};
  source.temperature = 100;
  return source;
}

void divergence(Rows& rows) {
  for (const int n : {32, 64}) {
    Gas gas(plume_box(n));
    gas.params.gravity = Vec3(0, Real(-9.81), 0);
    gas.params.sources = {warm_ball()};
    double worst = 0, worst_residual = 0;
    for (int k = 0; k < 20; ++k) {
      const Report report = gas.step(0.02);
      std::vector<Real> b(gas.workspace.pressure.poisson().layout.size());
      const DivergenceMeasure after = negative_divergence(gas.model.shape, gas.state.velocity, gas.model.open,
                                                          gas.workspace.pressure.poisson().layout, b);
      worst = std::max(worst, after.most / (report.value("divergence_before") / n));
      worst_residual = std::max(worst_residual, report.value("pressure_residual"));
    }
    rows.at_most("largest divergence after over before, " + std::to_string(n) + "^3", worst, 1e-5, "1",
                 "of the velocities themselves, after the projection to 1e-6");
    rows.report("true residual", worst_residual, "1", "b - A x in double precision");
  }
}
const Register register_divergence("smoke/divergence", Effort::quick, divergence);

void smoke_energy(Rows& rows) {
  // Eddies in a closed box without forces or viscosity can only lose energy, to the grid.
  struct Walls {
    AdvectionScheme scheme;
    GridSide side;
  };
  for (const auto& [scheme, side] : {Walls{AdvectionScheme::semi_lagrangian, GridSide::free_slip},
                                     Walls{AdvectionScheme::cubic, GridSide::free_slip},
                                     Walls{AdvectionScheme::maccormack, GridSide::free_slip},
                                     Walls{AdvectionScheme::maccormack, GridSide::no_slip}}) {
    Gas gas(square(64, side));
    gas.params.advection = scheme;
    gas.for_faces(0, [](Real& u, double x, double y, double) {
      u = static_cast<Real>(std::sin(3 * half_turn * x) * std::cos(2 * half_turn * y) +
                            std::sin(half_turn * x) * std::cos(5 * half_turn * y));
    });
    gas.for_faces(1, [](Real& v, double x, double y, double) {
      v = static_cast<Real>(std::cos(2 * half_turn * x) * std::sin(half_turn * y) -
                            std::cos(4 * half_turn * x) * std::sin(3 * half_turn * y));
    });
    gas.step(1e-9);
    const double start = gas.energy();
    double most = 0;
    for (int k = 0; k < 200; ++k) {
      gas.step(0.01);
      most = std::max(most, gas.energy() / start);
    }
    const std::string name = names_of(scheme)[static_cast<std::size_t>(scheme)] +
                             std::string(side == GridSide::no_slip ? ", no slip" : "");
    rows.at_most("largest energy over the start's, " + name, most, 1.001, "1", "no force does any work");
    rows.report("energy at the end, " + name, gas.energy() / start, "1", "lost to the grid in 2 s");
  }
}
const Register register_smoke_energy("smoke/energy", Effort::quick, smoke_energy);

void symmetry(Rows& rows) {
  // The plume is its own mirror image in x and in z, and so must the flow be. A checkerboard has no mirror
  // image, so that multigrid keeps them as well as it converges; all else keeps them to the bit, since
  // whatever rounding is let in the flow doubles every ten steps. Transforms are for a box without the ball.
  for (const PressureMethod method :
       {PressureMethod::jacobi, PressureMethod::cosine, PressureMethod::multigrid}) {
    constexpr Index n = 32;
    Smoke::Spec box = plume_box(n);
    if (method == PressureMethod::cosine) box.solids.clear();
    Gas gas(box);
    gas.params.gravity = Vec3(0, Real(-9.81), 0);
    gas.params.sources = {warm_ball()};
    gas.params.pressure_solver = method;
    gas.params.pressure_iterations = method == PressureMethod::jacobi ? 40 : 100;
    gas.params.pressure_tolerance = Real(1e-8);
    for (int k = 0; k < 100; ++k) gas.step(0.02);
    double most = 0, speed = 0;
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j <= n; ++j)
        for (Index i = 0; i < n; ++i) {
          const auto v = [&](Index ii, Index kk) {
            return static_cast<double>(gas.state.velocity[1][gas.model.shape.index(ii, j, kk)]);
          };
          speed = std::max(speed, std::abs(v(i, k)));
          most = std::max({most, std::abs(v(i, k) - v(n - 1 - i, k)), std::abs(v(i, k) - v(i, n - 1 - k))});
        }
    if (method != PressureMethod::multigrid)
      rows.at_most(
          std::string("asymmetry of the plume, ") + names_of(method)[static_cast<std::size_t>(method)],
          most / speed, static_cast<double>(std::numeric_limits<Real>::epsilon()), "of its speed",
          "one rounding; mirror images of all that is computed have the same bits");
    else
      rows.at_most("asymmetry of the plume, multigrid to 1e-8", most / speed, 1e-3, "of its speed",
                   "as well as it converges");
  }
}
const Register register_symmetry("smoke/symmetry", Effort::quick, symmetry);

}}  // namespace plenum::validation
