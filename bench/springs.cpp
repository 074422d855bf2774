// Mass-spring nets: the implicit cloth at two sizes, and explicit stepping.
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>
#include <string>

#include "bench.h"
#include "plenum/linear/jacobi.h"
#include "plenum/linear/pcg.h"
#include "plenum/solvers/springs/spring_system.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::bench { namespace {

constexpr Real dt = Real(1) / 60;
constexpr Real no_limit = std::numeric_limits<Real>::max();
constexpr int steps = 120;

/// 10 x 10 m of n x n particles, 0.2 kg/m^2, flat and horizontal, two corners pinned, no air.
SpringsPart cloth(int n) {
  SpringsPart part;
  part.size_x = part.size_z = 10;
  part.cells_x = part.cells_z = n - 1;
  part.areal_density = Real(0.2);
  part.structural_stiffness = part.shear_stiffness = 5000;
  part.bending_stiffness = 50;
  part.damping_time = 0;
  part.pins.resize(2);
  part.pins[0].where = SpringsPin::Where::back_left;
  part.pins[1].where = SpringsPin::Where::back_right;
  return part;
}

struct Net {
  Springs::Model model;
  Springs::State state;
  Springs::Workspace workspace = {};

  explicit Net(const SpringsPart& part) { Springs::build({.parts = {part}}, model, state); }
};

struct Run {
  double ms_per_step = 0, iterations = 0, max_stretch = 0, worst_residual = 0;
};

/// 120 steps from the start, the fastest of `repeats` runs: its time, and what came of it.
Run measure(Net& net, Springs::Preconditioner preconditioner, int repeats) {
  Springs::Params params;
  params.preconditioner = preconditioner;
  params.air_density = 0;
  params.tolerance = Real(1e-3);
  const Springs::State start = net.state;
  Springs::step(net.model, net.state, params, net.workspace, dt);  // lays out the workspace
  // Positions are kept beside the timed steps, and looked at when all are done.
  std::vector<std::vector<Vec3>> kept(steps, start.particles.x);
  Run best;
  best.ms_per_step = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    net.state = start;
    Run run;
    for (std::vector<Vec3>& x : kept) {
      Report report;
      run.ms_per_step += 1e3 / steps * Session::best_of(1, [&] {
                           report = Springs::step(net.model, net.state, params, net.workspace, dt);
                         });
      run.iterations += double(report.iterations) / steps;
      run.worst_residual = std::max(run.worst_residual, report.value("residual"));
      x = net.state.particles.x;
    }
    if (run.ms_per_step >= best.ms_per_step) continue;
    best = run;
    for (const std::vector<Vec3>& x : kept) {
      net.state.particles.x = x;
      for (std::size_t e = 0; e < net.model.edges.size(); ++e)
        best.max_stretch = std::max(best.max_stretch, double(Springs::strain(net.model, net.state, e)));
    }
  }
  net.state = start;
  return best;
}

void report(Session& session, const Run& run) {
  session.figure("ms_per_step", run.ms_per_step, "ms");
  session.figure("iterations", run.iterations, "1");
  session.figure("max_stretch", run.max_stretch, "1");
  session.figure("worst_residual", run.worst_residual, "1");
}

/// One assembly of tangents and right-hand side, as fractions of the triads.
void measure_assembly(Session& session, const Net& net) {
  const std::size_t n = net.model.mass.size();
  SpringSystem<Real> system(n, net.model.edges, std::span<const Real>(net.model.stiffness),
                            std::span<const Real>(net.model.rest_length),
                            std::span<const Real>(net.model.damping));
  std::vector<Vec3> rhs(n);
  const auto& particles = net.state.particles;
  const double seconds = Session::best_of(
      20, [&] { system.assemble(particles.x, particles.v, net.model.mass, dt, 1, 1, rhs, no_limit, dt); });
  // A slot: stiffness, rest length, damping read; four numbers written, which the cache reads first. A row:
  // x, v and mass read; six numbers of the diagonal and three of the right-hand side written.
  const double slot = (3 + 2 * 4) * sizeof(Real), row = (7 + 2 * 9) * sizeof(Real);
  const double bytes = slot * double(system.matrix().pattern().num_slots()) + row * double(n);
  session.figure("assembly_ms", seconds * 1e3, "ms");
  const double kept =
      double(sizeof(Real)) * (7 * double(system.matrix().pattern().num_slots()) + 16 * double(n));
  session.memory_bound(bytes, kept, seconds);
}

/// Conjugate gradients with block-Jacobi, whose iterations do little but move memory: one iteration, and the
/// bytes it must move as fractions of the triads.
void measure_iteration(Session& session, const Net& net) {
  const std::size_t n = net.model.mass.size();
  SpringSystem<Real> system(n, net.model.edges, std::span<const Real>(net.model.stiffness),
                            std::span<const Real>(net.model.rest_length),
                            std::span<const Real>(net.model.damping));
  std::vector<Vec3> rhs(n);
  system.assemble(net.state.particles.x, net.state.particles.v, net.model.mass, dt, 1, 1, rhs);
  for (std::size_t i = 0; i < n; ++i) rhs[i] -= dt * net.model.mass[i] * Vec3(0, Real(9.81), 0);
  const auto& matrix = system.matrix();
  BlockJacobiPreconditioner<Real> by_blocks;
  by_blocks.update(matrix);
  PcgWorkspace<Real> work;
  std::vector<Real> x(3 * n);
  constexpr int count = 40;
  const auto solve = [&](int iterations) {
    pcg<Real>(matrix, by_blocks, std::span<const Real>(rhs[0].data(), 3 * n), std::span<Real>(x), work,
              {.relative_tolerance = 0, .max_iterations = iterations});
  };
  const auto restart = [&] { std::fill(x.begin(), x.end(), Real(0)); };
  solve(1);
  const double seconds = (Session::best_of(
                              10, [&] { solve(1 + count); }, restart) -
                          Session::best_of(
                              10, [&] { solve(1); }, restart)) /
                         count;
  // Of the matrix every stored number once, and the columns of panels that gather. Of vectors, with what is
  // written counted twice because the cache reads it first: p and its components 3, q 2 and components 1,
  // x, r, p, q of the step 6, r and z of the preconditioner 3 and its blocks, z and p of the direction 3.
  const BlockPattern& pattern = matrix.pattern();
  std::size_t gathers = 0;
  for (std::size_t p = 0; p < pattern.num_panels(); ++p) gathers += pattern.first_column(p) < 0;
  const double bytes = double(sizeof(Real)) *
                           double(matrix.values().size() + 2 * matrix.diagonal_values().size() + 18 * 3 * n) +
                       double(sizeof(Index)) * double(gathers) * pattern.width();
  session.figure("pcg_iteration_ms", seconds * 1e3, "ms");
  // Seven vectors of its own: x, r, p, q, z, the right-hand side and p by components.
  const double kept =
      double(sizeof(Real)) * double(matrix.values().size() + 2 * matrix.diagonal_values().size() + 7 * 3 * n);
  session.memory_bound(bytes, kept, seconds, "pcg_");
}

/// The linear system of a step in the middle of the fall, solved by us and by Eigen's conjugate gradients
/// with its diagonal preconditioner, to the same residual from the same guess, in turn.
void compare_with_eigen(Session& session, const Net& net) {
  using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
  const std::size_t n = net.model.mass.size();
  SpringSystem<Real> system(n, net.model.edges, std::span<const Real>(net.model.stiffness),
                            std::span<const Real>(net.model.rest_length),
                            std::span<const Real>(net.model.damping));
  const auto& particles = net.state.particles;
  std::vector<Vec3> rhs(n);
  system.assemble(particles.x, particles.v, net.model.mass, dt, 1, 1, rhs, no_limit, dt);
  const auto& matrix = system.matrix();
  std::vector<Eigen::Triplet<Real>> triplets;
  const auto add = [&](Index i, Index j, const Mat3& block) {
    if (particles.inverse_mass[std::size_t(i)] == 0 || particles.inverse_mass[std::size_t(j)] == 0) return;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) triplets.emplace_back(3 * i + r, 3 * j + c, block(r, c));
  };
  for (Index i = 0; i < Index(n); ++i) {
    add(i, i, matrix.diagonal(i));
    rhs[std::size_t(i)] += dt * net.model.mass[std::size_t(i)] * Vec3(0, Real(-9.81), 0);
    if (particles.inverse_mass[std::size_t(i)] > 0) continue;
    rhs[std::size_t(i)].setZero();
    for (int c = 0; c < 3; ++c) triplets.emplace_back(3 * i + c, 3 * i + c, Real(1));
  }
  for (std::size_t e = 0; e < net.model.edges.size(); ++e) {
    const Index2 ends = net.model.edges[e];
    const Mat3 block = matrix.slot_block(matrix.pattern().slot(Index(e), 0));
    add(ends[0], ends[1], block);
    add(ends[1], ends[0], block.transpose());
  }
  Eigen::SparseMatrix<Real, Eigen::RowMajor> eigen_matrix(Eigen::Index(3 * n), Eigen::Index(3 * n));
  eigen_matrix.setFromTriplets(triplets.begin(), triplets.end());
  const Vector b = Eigen::Map<const Vector>(rhs[0].data(), Eigen::Index(3 * n));
  Eigen::ConjugateGradient<Eigen::SparseMatrix<Real, Eigen::RowMajor>, Eigen::Lower | Eigen::Upper> eigen;
  eigen.setTolerance(Real(1e-3));
  eigen.compute(eigen_matrix);

  BlockJacobiPreconditioner<Real> by_blocks;
  PcgWorkspace<Real> work;
  std::vector<Real> x(3 * n);
  const auto pinned = [&](std::span<Real> y) {
    for (const Index i : net.model.pinned) y[3 * i] = y[3 * i + 1] = y[3 * i + 2] = 0;
  };
  const std::span<const Real> flat_rhs(rhs[0].data(), 3 * n);
  double ours = std::numeric_limits<double>::infinity(), theirs = ours;
  for (int repeat = 0; repeat < 5; ++repeat) {
    ours = std::min(ours, Session::best_of(1, [&] {
                      std::fill(x.begin(), x.end(), Real(0));
                      by_blocks.update(matrix);
                      pcg<Real>(matrix, by_blocks, flat_rhs, std::span<Real>(x), work,
                                {.relative_tolerance = 1e-3, .max_iterations = 10000}, pinned);
                    }));
    theirs = std::min(theirs, Session::best_of(1, [&] { const Vector solution = eigen.solve(b); }));
  }
  session.figure({"solve_ms", ours * 1e3, "ms", "Eigen CG", theirs * 1e3});
}

/// The state half way through the fall.
void fall(Net& net) {
  Springs::Params params;
  params.air_density = 0;
  params.preconditioner = Springs::Preconditioner::multigrid;
  for (int k = 0; k < steps / 2; ++k) Springs::step(net.model, net.state, params, net.workspace, dt);
}

/// What a case reports of cloth: multigrid's with the assembly, which is the same for all; block-Jacobi's
/// with what its iterations cost, beside Eigen's for the smaller one.
constexpr auto multigrid = Springs::Preconditioner::multigrid;
constexpr auto block_jacobi = Springs::Preconditioner::block_jacobi;

template <Springs::Preconditioner preconditioner>
void run_cloth_100(Session& session) {
  Net net(cloth(100));
  report(session, measure(net, preconditioner, 3));
  fall(net);
  if constexpr (preconditioner == multigrid) {
    measure_assembly(session, net);
  } else {
    measure_iteration(session, net);
    compare_with_eigen(session, net);
  }
}

template <Springs::Preconditioner preconditioner>
void run_cloth_300(Session& session) {
  Net small(cloth(100)), large(cloth(300));
  const Run of_small = measure(small, preconditioner, 3);
  const Run of_large = measure(large, preconditioner, 2);
  report(session, of_large);
  session.figure("growth_exponent",
                 std::log(of_large.ms_per_step / of_small.ms_per_step) /
                     std::log(double(large.model.mass.size()) / double(small.model.mass.size())),
                 "1");
  fall(large);
  preconditioner == multigrid ? measure_assembly(session, large) : measure_iteration(session, large);
}

void run_explicit(Session& session) {
  Net net(cloth(400));
  Springs::Params params;
  params.integrator = Springs::Integrator::symplectic_euler;
  params.air_density = 0;
  const Real h = Springs::max_dt(net.model, net.state, params) / 2;
  Springs::step(net.model, net.state, params, net.workspace, h);
  constexpr int count = 20;
  const double seconds = Session::best_of(5,
                                          [&] {
                                            for (int k = 0; k < count; ++k)
                                              Springs::step(net.model, net.state, params, net.workspace, h);
                                          }) /
                         count;
  session.figure("million_per_s", double(net.model.edges.size()) / seconds / 1e6, "1e6/s");
  // Springs are read from both ends: stiffness and rest length. A particle: x copied to components and back,
  // v, inverse mass and mass read, forces written and read, x and v written.
  const double slots = 2.0 * double(net.model.edges.size()) * 2 * sizeof(Real);
  const double particles = double(net.model.mass.size()) * (3 + 6 + 3 + 6 + 3 + 1 + 3 + 6 + 6) * sizeof(Real);
  const double kept = slots + double(net.model.mass.size()) * (3 + 3 + 3 + 3 + 1 + 1) * sizeof(Real);
  session.memory_bound(slots + particles, kept, seconds);
}

/// An inextensible rope of 256 rods and 2.56 m that swings down from the horizontal, held at one end.
void run_rope(Session& session) {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = 256;
  part.to = Vec3(Real(2.56), 0, 0);
  part.inextensible = true;
  part.bending_stiffness = 0;
  part.pins.resize(1);
  part.pins[0].where = SpringsPin::Where::first;
  Net net(part);
  Springs::Params params;
  params.air_density = 0;
  const Springs::State start = net.state;
  double iterations = 0, error = 0;
  const double seconds = Session::best_of(
      3,
      [&] {
        for (int k = 0; k < steps; ++k)
          iterations += Springs::step(net.model, net.state, params, net.workspace, dt).iterations;
      },
      [&] { net.state = start, iterations = 0; });
  const auto& x = net.state.particles.x;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    error = std::max(error, std::abs((x[i + 1] - x[i]).cast<double>().norm() - 0.01) / 0.01);
  session.figure("ms_per_step", seconds * 1e3 / steps, "ms");
  session.figure("iterations", iterations / steps, "1");
  session.figure("max_stretch", error, "1");
}

const Register cloth_100("springs/cloth-100", run_cloth_100<multigrid>);
const Register cloth_100_block_jacobi("springs/cloth-100-block-jacobi", run_cloth_100<block_jacobi>);
const Register cloth_300("springs/cloth-300", run_cloth_300<multigrid>);
const Register cloth_300_block_jacobi("springs/cloth-300-block-jacobi", run_cloth_300<block_jacobi>);
const Register rope("springs/rope", run_rope);
const Register explicit_steps("springs/explicit", run_explicit);

}  // namespace
}  // namespace plenum::bench
