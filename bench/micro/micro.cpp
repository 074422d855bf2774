// Kernels by themselves. `plenum_microbench --benchmark_filter=spmv` runs some; --help lists what else there
// is. Arguments of a benchmark are its size and its number of threads.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "lennard_jones_box.h"
#include "plenum/base/parallel.h"
#include "plenum/base/random.h"
#include "plenum/geometry/distance.h"
#include "plenum/integrate/runge_kutta.h"
#include "plenum/integrate/symplectic.h"
#include "plenum/linear/jacobi.h"
#include "plenum/linear/vector_ops.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/solvers/springs/spring_system.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum { namespace {

using benchmark::State;

/// The benchmark's loop, with its parallel loops on as many threads as its second argument says.
template <class F>
void repeat(State& state, F&& f) {
  with_threads(static_cast<int>(state.range(1)), [&] {
    f();  // lays out what is laid out once
    for (auto _ : state) {
      f();
      benchmark::ClobberMemory();
    }
  });
}

/// Sizes and threads: in the caches and far beyond them, one and two threads.
void sizes(benchmark::internal::Benchmark* b) {
  for (const int n : {30000, 3000000})
    for (const int threads : {1, 2}) b->Args({n, threads});
  b->UseRealTime();
}

std::vector<Real> numbers(std::size_t n, std::uint64_t seed) {
  std::vector<Real> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = uniform4(seed, i, 0)[0] - Real(0.5);
  return x;
}

// Vector passes of conjugate gradients.

void pcg_dot(State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<Real> x = numbers(n, 1), y = numbers(n, 2);
  repeat(state, [&] { benchmark::DoNotOptimize(dot(std::span<const Real>(x), std::span<const Real>(y))); });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * n * sizeof(Real)));
}
BENCHMARK(pcg_dot)->Apply(sizes);

void pcg_xpay(State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<Real> x = numbers(n, 1);
  std::vector<Real> y = numbers(n, 2);
  repeat(state, [&] { xpay(std::span<const Real>(x), Real(0.5), std::span<Real>(y)); });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(3 * n * sizeof(Real)));
}
BENCHMARK(pcg_xpay)->Apply(sizes);

void pcg_step_and_residual(State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<Real> p = numbers(n, 1), q = numbers(n, 2);
  std::vector<Real> x = numbers(n, 3), r = numbers(n, 4);
  repeat(state, [&] {
    benchmark::DoNotOptimize(step_and_residual(Real(1e-6), std::span<const Real>(p), std::span<const Real>(q),
                                               std::span<Real>(x), std::span<Real>(r)));
  });
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(6 * n * sizeof(Real)));
}
BENCHMARK(pcg_step_and_residual)->Apply(sizes);

// Matrices of a cloth of n x n particles.

struct Cloth {
  Springs::Model model;
  Springs::State state;
  SpringSystem<Real> system;
  std::vector<Vec3> rhs;

  explicit Cloth(Index n) {
    SpringsPart part;
    part.cells_x = part.cells_z = n - 1;
    Springs::build({.parts = {part}}, model, state);
    system =
        SpringSystem<Real>(model.mass.size(), model.edges, std::span<const Real>(model.stiffness),
                           std::span<const Real>(model.rest_length), std::span<const Real>(model.damping));
    rhs.resize(model.mass.size());
    assemble();
  }
  void assemble() {
    system.assemble(state.particles.x, state.particles.v, model.mass, Real(1) / 60, 1, 1, rhs,
                    std::numeric_limits<Real>::max(), Real(1) / 60);
  }
};

void cloths(benchmark::internal::Benchmark* b) {
  for (const int n : {100, 300})
    for (const int threads : {1, 2}) b->Args({n, threads});
  b->UseRealTime();
}

void spring_assembly(State& state) {
  Cloth cloth(static_cast<Index>(state.range(0)));
  repeat(state, [&] { cloth.assemble(); });
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(cloth.model.edges.size()));
}
BENCHMARK(spring_assembly)->Apply(cloths);

void spmv(State& state) {
  Cloth cloth(static_cast<Index>(state.range(0)));
  const std::vector<Real> x = numbers(3 * cloth.rhs.size(), 1);
  std::vector<Real> y(x.size());
  repeat(state, [&] { cloth.system.matrix()(std::span<const Real>(x), std::span<Real>(y)); });
  const auto& matrix = cloth.system.matrix();
  state.SetBytesProcessed(
      state.iterations() *
      static_cast<std::int64_t>((matrix.values().size() + matrix.diagonal_values().size() + 3 * x.size()) *
                                sizeof(Real)));
}
BENCHMARK(spmv)->Apply(cloths);

void block_jacobi(State& state) {
  Cloth cloth(static_cast<Index>(state.range(0)));
  BlockJacobiPreconditioner<Real> preconditioner;
  preconditioner.update(cloth.system.matrix());
  const std::vector<Real> r = numbers(3 * cloth.rhs.size(), 1);
  std::vector<Real> z(r.size());
  repeat(state, [&] { preconditioner(std::span<const Real>(r), std::span<Real>(z)); });
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(cloth.rhs.size()));
}
BENCHMARK(block_jacobi)->Apply(cloths);

/// Forces and energies of a Lennard-Jones crystal at reduced density 0.8, n^3 cells of four; items are pairs.
void lennard_jones_pairs(State& state) {
  ParticleSystem::Model model;
  ParticleSystem::State particles;
  ParticleSystem::build(validation::fcc_box(static_cast<int>(state.range(0)), std::cbrt(4 / 0.8), 0), model,
                        particles);
  ParticleSystem::Params params;
  params.pair.epsilon = params.pair.sigma = 1;
  params.pair.truncation = LennardJones::Truncation::cut;
  ParticleSystem::Workspace workspace;
  double pairs = 0;
  repeat(state, [&] { pairs = ParticleSystem::pair_energy(model, particles, params, workspace).pairs; });
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(pairs));
}
BENCHMARK(lennard_jones_pairs)->Args({12, 1})->Args({12, 2})->Args({30, 1})->Args({30, 2})->UseRealTime();

// One step of n oscillators x'' = -x; items are numbers of x.

const auto oscillate = [](double, std::span<const Real> x, std::span<const Real>, std::span<Real> a) {
  parallel_for(x.size(), 8192, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) a[i] = -x[i];
  });
};

template <class Step>
void integrate(State& state, Step&& step) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<Real> x = numbers(n, 1), v = numbers(n, 2);
  IntegratorWorkspace<Real> work;
  repeat(state, [&] { step(std::span<Real>(x), std::span<Real>(v), work); });
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void step_symplectic_euler(State& state) {
  integrate(state,
            [](auto x, auto v, auto& work) { symplectic_euler_vx_step(oscillate, 0, 1e-3, x, v, work); });
}
BENCHMARK(step_symplectic_euler)->Apply(sizes);

void step_velocity_verlet(State& state) {
  integrate(state, [](auto x, auto v, auto& work) { velocity_verlet_step(oscillate, 0, 1e-3, x, v, work); });
}
BENCHMARK(step_velocity_verlet)->Apply(sizes);

void step_rk4(State& state) {
  integrate(state, [](auto x, auto v, auto& work) { runge_kutta_step(rk4, oscillate, 0, 1e-3, x, v, work); });
}
BENCHMARK(step_rk4)->Apply(sizes);

// Signed distances of 4096 points in a cube about each shape; items are points.

template <class Distance>
void distances(State& state, Distance&& distance) {
  constexpr std::size_t n = 4096;
  std::vector<Vec3> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 4 * uniform4(9, i, 0).template head<3>() - Vec3::Constant(2);
  std::vector<SignedDistance<Real>> out(n);
  for (auto _ : state) {
    for (std::size_t i = 0; i < n; ++i) out[i] = distance(x[i]);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

constexpr Real one = 1, half = Real(0.5);
void sphere_distance(State& state) {
  distances(state, [](const Vec3& x) { return plenum::sphere_distance(x, one); });
}
BENCHMARK(sphere_distance);
void box_distance(State& state) {
  distances(state, [](const Vec3& x) { return plenum::box_distance(x, Vec3(one, half, one)); });
}
BENCHMARK(box_distance);
void capsule_distance(State& state) {
  distances(state, [](const Vec3& x) { return plenum::capsule_distance(x, half, one); });
}
BENCHMARK(capsule_distance);
void cylinder_distance(State& state) {
  distances(state, [](const Vec3& x) { return plenum::cylinder_distance(x, half, one); });
}
BENCHMARK(cylinder_distance);
void cone_distance(State& state) {
  distances(state, [](const Vec3& x) { return plenum::cone_distance(x, half, one); });
}
BENCHMARK(cone_distance);
void torus_distance(State& state) {
  distances(state, [](const Vec3& x) { return plenum::torus_distance(x, one, half / 2); });
}
BENCHMARK(torus_distance);

}}  // namespace plenum

BENCHMARK_MAIN();
