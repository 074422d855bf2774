// Lennard-Jones: lattice sums, the dimer, tail corrections and NIST's molecular dynamics of the liquid; and
// how well a run of constant energy keeps it. All in reduced units: lengths in sigma, energies in eps, masses
// in m.
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "lennard_jones_box.h"
#include "plenum/integrate/integrators.h"
#include "plenum/solvers/particles/particles.h"
#include "validation.h"

namespace plenum::validation { namespace {

constexpr bool is_float = sizeof(Real) == 4;
const char* const arithmetic = is_float ? " (float)" : " (double)";

struct Molecules {
  ParticleSystem::Model model;
  ParticleSystem::State state;
  ParticleSystem::Params params;
  ParticleSystem::Workspace workspace;
  Report report;

  explicit Molecules(const ParticleSystem::Spec& spec, double cutoff) {
    ParticleSystem::build(spec, model, state);
    params.gravity.setZero();
    params.pair.epsilon = params.pair.sigma = 1;
    params.pair.cutoff = static_cast<Real>(cutoff);
    params.pair.truncation = LennardJones::Truncation::cut_with_tail;
    params.report_energy = true;
  }
  void step(double h) {
    report = ParticleSystem::step(model, state, params, workspace, static_cast<Real>(h));
  }
  PairEnergy pair_energy() { return ParticleSystem::pair_energy(model, state, params, workspace); }
  double size() const { return static_cast<double>(state.size()); }
  /// With the three degrees of freedom of the centre of mass left out.
  double temperature() const { return 2 * report.value("kinetic_energy") / (3 * (size() - 1)); }
  double energy() const { return report.value("kinetic_energy") + report.value("pair_energy"); }
  /// Scales velocities about their mean, which it removes, by a factor.
  void scale_velocities(double factor) {
    Vector3<double> mean = Vector3<double>::Zero();
    for (const Vec3& v : state.particles.v) mean += v.cast<double>() / size();
    for (Vec3& v : state.particles.v) v = (factor * (v.cast<double>() - mean)).cast<Real>();
  }
};

// ---------------------------------------------------------------------------------------------------------------------

/// Sums over the fcc neighbours of an atom with from <= r/r0 < to, r0 the nearest distance: U and r U' of the
/// atom, half of each pair.
struct LatticeSum {
  double energy = 0, virial = 0;
};
LatticeSum lattice_sum(const Mie& mie, double r0, double from, double to) {
  LatticeSum sum;
  const int reach = static_cast<int>(std::ceil(to * std::numbers::sqrt2)) + 1;
  // Points of fcc with nearest distance 1: (i, j, k) / sqrt(2) with i + j + k even.
  for (int i = -reach; i <= reach; ++i)
    for (int j = -reach; j <= reach; ++j)
      for (int k = -reach; k <= reach; ++k) {
        if ((i + j + k) % 2 != 0) continue;
        const double r = std::sqrt((i * i + j * j + k * k) / 2.0);
        if (r < 0.5 || r < from || r >= to) continue;
        sum.energy += mie.energy(r * r0) / 2;
        sum.virial -= r * r0 * mie.slope(r * r0) / 2;
      }
  return sum;
}

/// Energy and virial of an atom of the infinite crystal: within the cut-off by the solver, beyond by lattice
/// sums, and beyond those by the integral.
LatticeSum crystal(double r0, std::size_t& pairs) {
  const Mie mie(12, 6);
  constexpr double near = 2.2, far = 45;  // in nearest distances; no shell lies on them
  const double a = r0 * std::numbers::sqrt2;
  Molecules m(fcc_box(5, a, 0), near * r0);
  m.params.pair.truncation = LennardJones::Truncation::cut;
  const PairEnergy sum = m.pair_energy();
  const LatticeSum rest = lattice_sum(mie, r0, near, far);
  const double rho = 4 / (a * a * a);
  pairs = static_cast<std::size_t>(sum.pairs);
  return {sum.potential / m.size() + rest.energy + mie.tail_energy(rho, far * r0),
          sum.virial / m.size() + rest.virial + 3 / rho * mie.tail_pressure(rho, far * r0)};
}

/// 2 pi over the mean time between upward passages of a velocity through zero, each by linear interpolation.
/// step() goes on by h and returns the velocity.
template <class Step>
double frequency_of(const Step& step, double h, int steps) {
  double first = 0, last = 0, before = 0;
  int crossings = 0;
  for (int k = 0; k < steps; ++k) {
    const double after = step();
    if (before < 0 && after >= 0) {
      last = (k + 1 - after / (after - before)) * h;
      if (crossings++ == 0) first = last;
    }
    before = after;
  }
  return 2 * std::numbers::pi * (crossings - 1) / (last - first);
}

void lattice(Rows& rows) {
  const Reference table("lennard_jones_lattice");
  const std::string source = "Jones & Ingham 1925" + std::string(arithmetic);
  // The table's. Rounding of float averages out over 500 atoms.
  constexpr double tolerance = 1e-6;

  const auto near = [&](const char* name, double measured, double relative) {
    const std::size_t r = table.find("case", name);
    const double reference = table.number(r, "value");
    rows.near(table.text(r, "quantity") + " of " + name, measured, reference, relative * std::abs(reference),
              "1", source);
  };
  // The spacing without pressure, by the secant method.
  std::size_t pairs;
  double r0 = 1.08, r1 = 1.1;
  double w0 = crystal(r0, pairs).virial, w1 = crystal(r1, pairs).virial;
  for (int k = 0; k < 8 && std::abs(w1 - w0) > 1e-9; ++k) {
    const double next = r1 - w1 * (r1 - r0) / (w1 - w0);
    r0 = r1, w0 = w1;
    r1 = next, w1 = crystal(r1, pairs).virial;
  }
  near("fcc_nearest_distance_min", r1, tolerance);
  near("fcc_cohesive_energy", crystal(r1, pairs).energy, tolerance);

  // The dimer: where its force vanishes, and how it swings with a small amplitude.
  ParticleSystem::Spec spec;
  spec.mass = 1;
  spec.max_particles = 2;
  spec.positions = {{0, 0, 0}, {1, 0, 0}};
  const auto force = [&](double r) {
    Molecules m(spec, 5);
    m.state.particles.x[1].x() = static_cast<Real>(r);
    m.step(1e-6);
    return static_cast<double>(m.state.acceleration[1].x());
  };
  double low = 1.0, high = 1.3;
  for (int k = 0; k < 60; ++k) (force((low + high) / 2) > 0 ? low : high) = (low + high) / 2;
  near("dimer_minimum", low, is_float ? 3e-7 : 1e-12);
  // There U = -eps; float rounds (sigma/r)^6 = 1/2 and (sigma/r)^12 = 1/4, some eight roundings behind each,
  // into 4 (1/4 - 1/2).
  {
    Molecules m(spec, 5);
    m.params.pair.truncation = LennardJones::Truncation::cut;
    m.state.particles.x[1].x() = static_cast<Real>(Mie(12, 6).minimum());
    const double tolerance =
        is_float ? 4 * (0.25 + 0.5) * 8 * double(std::numeric_limits<float>::epsilon()) / 2 : 1e-12;
    rows.near("U/eps at dimer_minimum", m.pair_energy().potential, -1, tolerance, "1",
              "closed form: U = -eps" + std::string(arithmetic));
  }

  // How it swings with a small amplitude A about r0. With U'' = 72 eps/r0^2, U''' = -1512 eps/r0^3 and
  // U'''' = 26712 eps/r0^4 the frequency falls by (5 U'''^2 / (48 U''^2) - U''''/(16 U'')) A^2 = 22.75
  // (A/r0)^2 of itself (Landau & Lifshitz 1976, "Mechanics", eq. 28.13).
  const double bond = Mie(12, 6).minimum(),
               omega = table.number(table.find("case", "dimer_frequency"), "value");
  const auto shift = [&](double amplitude) { return 22.75 * amplitude * amplitude / (bond * bond); };
  // The formulas and the integrators' template in double, to the table's 1e-6: the shift is 2e-7, and RK4's
  // error (w h)^4/120 is 1e-10.
  {
    constexpr double amplitude = 1e-4, h = 1e-3;
    const Mie mie(12, 6);
    double r = bond + amplitude, v = 0;  // U' pulls on both: the reduced mass is 1/2
    IntegratorWorkspace<double> work;
    const auto pull = [&](double, std::span<const double> at, std::span<const double>, std::span<double> a) {
      a[0] = -2 * mie.slope(at[0]);
    };
    const double frequency = frequency_of(
        [&] {
          explicit_step<double>(Integrator::rk4, pull, 0, h, {&r, 1}, {&v, 1}, work);
          return v;
        },
        h, 20000);
    rows.near("omega of dimer_frequency, rk4, double", frequency, omega, 1e-6 * omega, "1",
              "lennard_jones_lattice.csv, U''");
  }
  // The solver in its own arithmetic: Verlet's frequency is higher by (w h)^2/24 of itself; and float
  // positions near 1 round by half an eps a step, which turns the phase of a swing of size A by that over A,
  // at random, of two particles in `steps` steps, to four standard deviations.
  constexpr double amplitude = 2e-3, h = 1e-3;
  constexpr int steps = 20000;
  Molecules dimer(spec, 5);
  dimer.state.particles.x[1].x() = static_cast<Real>(bond + amplitude);
  const double frequency = frequency_of(
      [&] {
        dimer.step(h);
        return static_cast<double>(dimer.state.particles.v[1].x() - dimer.state.particles.v[0].x());
      },
      h, steps);
  const double rounding =
      is_float ? 4 * std::sqrt(2.0 * steps) * double(std::numeric_limits<float>::epsilon()) / 2 / amplitude
               : 0;
  near("dimer_frequency", frequency,
       1e-6 + shift(amplitude) + omega * omega * h * h / 24 + rounding / (omega * h * steps));
}
const Register register_lattice("lennard_jones_lattice/particles", Effort::quick, lattice);

// ---------------------------------------------------------------------------------------------------------------------

void nist_configurations(Rows& rows) {
  const Reference table("lennard_jones_nist_configs");
  for (std::size_t r = 0; r < table.size(); ++r) {
    if (table.text(r, "scheme") != "LRC") continue;
    const double n = table.number(r, "N"), side = table.number(r, "L"), rc = table.number(r, "rc");
    const double reference = table.number(r, "ULRC");
    rows.near(
        "tail energy, configuration " + table.text(r, "config") + ", rc " + table.text(r, "rc"),
        n * Mie(12, 6).tail_energy(n / (side * side * side), rc), reference, 1e-4 * std::abs(reference),
        "eps",
        "NIST LJ reference calculations, column ULRC; the coordinate files for U and W are not available");
  }
}
const Register register_configurations("lennard_jones_nist_configs/particles", Effort::quick,
                                       nist_configurations);

// ---------------------------------------------------------------------------------------------------------------------

constexpr double time_step = 0.005;

struct Averages {
  double temperature = 0, energy = 0, pressure = 0, diffusion = 0, drift = 0;
};

/// Mean temperature of a run.
double run_for(Molecules& m, double time, double thermostat = 0) {
  const int steps = static_cast<int>(std::lround(time / time_step));
  double sum = 0;
  for (int k = 0; k < steps; ++k) {
    m.step(time_step);
    sum += m.temperature() / steps;
    if (thermostat > 0 && k % 20 == 19) m.scale_velocities(std::sqrt(thermostat / m.temperature()));
  }
  return sum;
}

/// NIST's protocol: 500 particles, cut-off 3 with tails, constant energy, step 0.005; over 50 units of time
/// of equilibration, here with the crystal molten first, then 100 of production.
Averages liquid(double temperature, double density, double production) {
  Molecules m(fcc_box(5, std::cbrt(4 / density), 2 * temperature), 3);
  run_for(m, 10, 3);
  run_for(m, 20, temperature);
  // Without the thermostat now; what the mean is off is made good with the liquid's heat capacity, about 2.4
  // a particle.
  for (int round = 0; round < 3; ++round) {
    const double off = temperature - run_for(m, 10);
    m.scale_velocities(std::sqrt(1 + 2.4 / 1.5 * off / m.temperature()));
  }

  Averages mean;
  const int steps = static_cast<int>(std::lround(production / time_step));
  constexpr int every = 20;  // steps between stored positions
  std::vector<std::vector<Vec3>> path;
  double first_energy = 0;
  for (int k = 0; k < steps; ++k) {
    if (k % every == 0) path.push_back(m.state.particles.x);
    m.step(time_step);
    if (k == 0) first_energy = m.energy();
    mean.temperature += m.temperature() / steps;
    mean.energy += m.report.value("pair_energy") / m.size() / steps;
    mean.pressure += m.report.value("pressure") / steps;
  }
  mean.drift = (m.energy() - first_energy) / m.size() / production;

  // Einstein: the mean squared displacement grows as 6 D t. Least squares over lags of 2 to 6, past the
  // rattling.
  double n = 0, st = 0, sd = 0, stt = 0, std_ = 0;
  for (std::size_t lag = 20; lag <= 60; lag += 4) {
    double square = 0;
    for (std::size_t k = 0; k + lag < path.size(); ++k)
      for (std::size_t i = 0; i < path[k].size(); ++i)
        square += (path[k + lag][i] - path[k][i]).cast<double>().squaredNorm();
    square /= static_cast<double>((path.size() - lag) * path[0].size());
    const double t = static_cast<double>(lag) * every * time_step;
    n += 1, st += t, sd += square, stt += t * t, std_ += t * square;
  }
  mean.diffusion = (n * std_ - st * sd) / (n * stt - st * st) / 6;
  return mean;
}

void compare_with_nist(Rows& rows, const Reference& table, std::size_t r, double production) {
  const double temperature = table.number(r, "T"), rho = table.number(r, "rho");
  const Averages mean = liquid(temperature, rho, production);
  const std::string at = " at T* " + table.text(r, "T") + ", rho* " + table.text(r, "rho");
  const std::string source = "NIST SRSW LJ_PURE molecular dynamics" + std::string(arithmetic);
  const double energy = table.number(r, "U_per_N");
  rows.near("temperature" + at, mean.temperature, temperature, 0.005, "eps/k", source);
  rows.near("potential energy a particle" + at, mean.energy, energy, 0.005 * std::abs(energy), "eps", source);
  rows.near("pressure" + at, mean.pressure, table.number(r, "p"), 0.05, "eps/sigma^3", source);
  // Half a unit of the table's last digit, and the scatter of a mean over some 500 x 100/5 independent
  // displacements in three dimensions, whose standard error is 1 % if the particles were independent;
  // collective motion doubles it.
  const double diffusion = table.number(r, "D");
  rows.near("self-diffusion" + at, mean.diffusion, diffusion,
            0.001 + 3 * 0.02 * diffusion * std::sqrt(100 / production), "sigma^2/tau", source);
  rows.report("energy drift a particle" + at, mean.drift, "eps/tau", "plain cut-off at 3 sigma, step 0.005");
}

void nist_one_state(Rows& rows) {
  const Reference table("lennard_jones_nist_md");
  compare_with_nist(rows, table, table.find("rho", "0.820"), 100);
}
const Register register_one_state("particles/nist-liquid", Effort::quick, nist_one_state);

void nist_all_states(Rows& rows) {
  const Reference table("lennard_jones_nist_md");
  for (std::size_t r = 0; r < table.size(); ++r) compare_with_nist(rows, table, r, 100);
}
const Register register_all_states("lennard_jones_nist_md/particles", Effort::thorough, nist_all_states);

// ---------------------------------------------------------------------------------------------------------------------

/// Slope of the total energy in a run of constant energy, by least squares, and its scatter about the line.
void energy_drift(Rows& rows) {
  constexpr double density = 0.8, h = 0.004, time = 40;
  Molecules m(fcc_box(8, std::cbrt(4 / density), 2), 2.5);
  m.params.pair.truncation = LennardJones::Truncation::linear_force_shift;
  for (int k = 0; k < 2500; ++k) m.step(h);
  const int steps = static_cast<int>(std::lround(time / h));
  double n = 0, st = 0, se = 0, stt = 0, ste = 0, see = 0, temperature = 0;
  double origin = 0;
  for (int k = 0; k < steps; ++k) {
    m.step(h);
    if (k == 0) origin = m.energy();
    const double t = k * h, e = (m.energy() - origin) / m.size();
    n += 1, st += t, se += e, stt += t * t, ste += t * e, see += e * e;
    temperature += m.temperature() / steps;
  }
  const double slope = (n * ste - st * se) / (n * stt - st * st);
  const double variance = (see - se * se / n - slope * (ste - st * se / n)) / n;
  const std::string how = "2048 particles, density 0.8, cut-off 2.5 sigma with shifted force, step 0.004" +
                          std::string(arithmetic);
  // Velocity Verlet keeps a shadow energy, from which the energy strays by O(h^2) and comes back (Hairer,
  // Lubich & Wanner 2006, section IX.3). In practice it fluctuates by one part in 10^4 or less (Ercolessi
  // 1997, "A molecular dynamics primer"); so much is allowed to the scatter, and to the drift in the whole
  // run of 10 000 steps, which is a tenth of it every 1000.
  const double size = std::abs(m.energy() / m.size());
  rows.at_most("drift of the energy in 1000 steps, over it", std::abs(slope) * 1000 * h / size, 1e-5, "1",
               "one part in 10^4 over the run, Ercolessi 1997; " + how);
  rows.at_most("scatter of the energy, over it", std::sqrt(std::max(0.0, variance)) / size, 1e-4, "1",
               "one part in 10^4, Ercolessi 1997; " + how);
  rows.report("drift of the energy a particle", slope, "eps/tau", how);
  rows.report("drift of the energy a particle over kT, in 1000 tau", 1000 * slope / temperature, "1", how);
}
const Register register_drift("particles/energy-drift", Effort::quick, energy_drift);

}  // namespace
}  // namespace plenum::validation
