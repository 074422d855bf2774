// Pendulums as nets of rods: strict constraints by Lagrange multipliers, in double and float, and the
// solver itself at 60 Hz.
#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <numbers>

#include "plenum/integrate/integrators.h"
#include "plenum/solvers/springs/multipliers.h"
#include "plenum/solvers/springs/springs.h"
#include "rounding.h"
#include "validation.h"

namespace plenum::validation { namespace {

const double small = 2 * std::numbers::pi / std::sqrt(g);  // period of small swings of 1 m [s]

/// Point masses of 1 kg on massless rods of 1 m, below a fixed point, in float or double. Angles and energies
/// are read in double.
template <class T>
class RodChain {
  using V = Vector3<T>;

 public:
  explicit RodChain(const std::vector<double>& angles)  // from the downward vertical [rad]
      : x(angles.size() + 1, V::Zero()),
        v(x.size(), V::Zero()),
        inverse_mass(x.size(), 1),
        multipliers(set_of(angles.size())) {
    inverse_mass[0] = 0;
    for (std::size_t i = 0; i < angles.size(); ++i)
      x[i + 1] = x[i] + Vector3<double>(std::sin(angles[i]), -std::cos(angles[i]), 0).template cast<T>();
    for (auto* scratch : {&before_, &moved_, &a_}) scratch->resize(x.size());
  }

  void rattle_step(double h) {
    shake_step<T>([&](auto, auto, std::span<V> a) { fall(a); }, multipliers, h / 2, h, h / 2, true, x, v,
                  inverse_mass, before_, moved_, a_);
  }
  /// Accelerations under the multipliers' forces, as the integrators ask for them.
  auto accelerate() {
    return [this](double, std::span<const T> at, std::span<const T> moving, std::span<T> out) {
      const auto read = [](std::span<const T> n) {
        return std::span(reinterpret_cast<const V*>(n.data()), n.size() / 3);
      };
      const std::span<V> a(reinterpret_cast<V*>(out.data()), out.size() / 3);
      fall(a);
      multipliers.accelerate(read(at), read(moving), inverse_mass, 0, a);
    };
  }

  // With multipliers found from accelerations, and what is left projected away after the step.
  void verlet_step(double h) {
    velocity_verlet_step(accelerate(), 0, h, flat(x), flat(v), work_);
    project();
  }
  void rk4_step(double h) {
    runge_kutta_step(rk4, accelerate(), 0, h, flat(x), flat(v), work_);
    project();
  }

  double angle(std::size_t i) const {
    const Vector3<double> d = link(i, x);
    return std::atan2(d[0], -d[1]);
  }
  double rate(std::size_t i) const {
    const Vector3<double> d = link(i, x);
    return d.cross(link(i, v))[2] / d.squaredNorm();
  }
  double energy() const {
    double sum = 0;
    for (std::size_t i = 1; i < x.size(); ++i)
      sum += 0.5 * v[i].template cast<double>().squaredNorm() + g * double(x[i][1]);
    return sum;
  }

  std::vector<V> x, v;
  std::vector<T> inverse_mass;
  Multipliers<T> multipliers;

 private:
  static Vector3<double> link(std::size_t i, const std::vector<V>& of) {
    return of[i + 1].template cast<double>() - of[i].template cast<double>();
  }
  static Multipliers<T> set_of(std::size_t links) {
    ConstraintSet<T> set;
    for (std::size_t i = 0; i < links; ++i) set.rods.push_back(Index2(Index(i), Index(i) + 1));
    set.rod_length.assign(links, 1);
    return Multipliers<T>(links + 1, set);
  }
  void fall(std::span<V> a) const {
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = inverse_mass[i] > 0 ? V(0, static_cast<T>(-g), 0) : V(V::Zero());
  }
  void project() {
    multipliers.project_positions(x, inverse_mass, 8);
    multipliers.project_velocities(x, inverse_mass, v);
  }
  static std::span<T> flat(std::vector<V>& vectors) { return {vectors[0].data(), 3 * vectors.size()}; }
  std::vector<V> before_, moved_, a_;
  IntegratorWorkspace<T> work_;
};

/// Time until angle(t) first falls to zero, from samples with their rates, by the root of the cubic through
/// both ends of the step in which it does. step() advances by h; angle(), rate() read.
template <class Step, class Angle, class Rate>
double time_of_first_zero(const Step& step, const Angle& angle, const Rate& rate, double h, int max_steps) {
  double before = angle(), rate_before = rate();
  for (int k = 0; k < max_steps; ++k) {
    step();
    const double after = angle(), rate_after = rate();
    if (after <= 0) {
      double low = 0, high = 1;
      for (int bisect = 0; bisect < 60; ++bisect) {
        const double s = (low + high) / 2, s2 = s * s, s3 = s2 * s;
        const double value = (2 * s3 - 3 * s2 + 1) * before + (s3 - 2 * s2 + s) * h * rate_before +
                             (3 * s2 - 2 * s3) * after + (s3 - s2) * h * rate_after;
        (value > 0 ? low : high) = s;
      }
      return (k + low) * h;
    }
    before = after, rate_before = rate_after;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// T/T0 of a pendulum let go from `start` [rad], from the time of its first passage through the lowest point.
template <class T>
double period_ratio(bool fourth_order, double start, double h) {
  RodChain<T> chain({start});
  const double quarter =
      time_of_first_zero([&] { fourth_order ? chain.rk4_step(h) : chain.verlet_step(h); },
                         [&] { return chain.angle(0); }, [&] { return chain.rate(0); }, h, 3000);
  return 4 * quarter / small;
}

/// T/T0 of RATTLE itself, let go from `start` [rad], up to (omega h)^4. Along a rod of 1 m its step is one of
/// velocity Verlet in the angle q and its rate p whose move by h turns by asin(h p) instead of h p, since it
/// keeps h p across the rod as it was; so its kinetic energy is p^2/2 + h^2 p^4/24, and what it follows
/// exactly but for terms in h^4 is (Hairer, Lubich & Wanner 2006, section IX.3, example 3.4)
///   H = p^2/2 + V + h^2 (p^4/24 + p^2 V''/12 - V'^2/24),   V = -g cos q.
double ratio_of_rattle(double start, double h) {
  std::array<double, 2> y = {start, 0};  // q, p
  const auto flow = [h](double, std::span<const double> at, std::span<double> out) {
    const double p = at[1], v1 = g * std::sin(at[0]), v2 = g * std::cos(at[0]), v3 = -v1;
    out[0] = p + h * h * (p * p * p / 6 + p * v2 / 6);
    out[1] = -v1 - h * h * (p * p * v3 / 12 - v1 * v2 / 12);
  };
  IntegratorWorkspace<double> work;
  const auto rate = [&] {
    std::array<double, 2> out;
    flow(0, y, out);
    return out[0];
  };
  const double quarter =
      time_of_first_zero([&] { runge_kutta_step<double>(rk4, flow, 0, h, std::span<double>(y), work); },
                         [&] { return y[0]; }, rate, h, 3000);
  return 4 * quarter / small;
}

void run_pendulum(Rows& rows) {
  const Reference reference("pendulum_period");
  const char* const source = "pendulum_period.csv, (2/pi) K(sin(theta0/2))";
  const auto method = [](bool fourth_order) { return fourth_order ? "rk4" : "velocity_verlet, projected"; };
  double worst_in_float[2][2] = {};  // by method, and whether beyond 150 degrees
  for (std::size_t row = 0; row < reference.size(); ++row) {
    const double degrees = reference.number(row, "theta0_deg"), ratio = reference.number(row, "T_over_T0");
    const double start = degrees * std::numbers::pi / 180, h = ratio * small / 2000;
    const double tolerance = (degrees <= 150 ? 1e-6 : 1e-5) * ratio;
    for (const bool fourth_order : {false, true}) {
      rows.near(
          std::string("T/T0 from ") + reference.text(row, "theta0_deg") + " deg, " + method(fourth_order),
          period_ratio<double>(fourth_order, start, h), ratio, tolerance, "1", source);
      double& worst = worst_in_float[fourth_order][degrees > 150];
      worst = std::max(worst, std::abs(period_ratio<float>(fourth_order, start, h) / ratio - 1));
    }
    if (degrees != 90) continue;
    // RATTLE is symplectic: its energy stays bounded, at the price of a longer error constant, which asks for
    // half the step. At the whole one it is off by what it is known to be off.
    const auto with_rattle = [&](double step) {
      RodChain<double> pendulum({start});
      return 4 / small *
             time_of_first_zero([&] { pendulum.rattle_step(step); }, [&] { return pendulum.angle(0); },
                                [&] { return pendulum.rate(0); }, step, 3000);
    };
    rows.near("T/T0 from 90 deg, velocity_verlet with RATTLE, as its own energy has it", with_rattle(h),
              ratio_of_rattle(start, h), 2 * std::pow(std::sqrt(2 * g) * h, 4), "1",
              "modified equation: Hairer, Lubich & Wanner 2006, section IX.3");
    rows.near("T/T0 from 90 deg, velocity_verlet with RATTLE, steps of T/4000", with_rattle(h / 2), ratio,
              tolerance, "1", source);
    RodChain<double> chain({start});
    double worst = 0;
    for (int k = 0; k < 100 * 2000; ++k) {
      chain.rattle_step(h);
      worst = std::max(worst, std::abs(chain.energy()));  // zero at the start
    }
    rows.at_most("energy error over 100 periods from 90 deg, velocity_verlet with RATTLE", worst / g, 1e-5,
                 "m g L", "Hairer, Lubich & Wanner 2006, IX.8: bounded, of size (omega h)^2");
  }
  // A quarter period is 500 steps and takes the phase by pi/2.
  for (const bool fourth_order : {false, true})
    for (const bool beyond : {false, true})
      rows.at_most(std::string("largest relative error of T/T0, ") + (beyond ? "beyond" : "up to") +
                       " 150 deg, " + method(fourth_order) + ", float",
                   worst_in_float[fourth_order][beyond],
                   (beyond ? 1e-5 : 1e-6) + rounding_of(500) / (std::numbers::pi / 2), "1", source);
  // The solver as scenes run it, at 60 steps a second, rod of 1 m.
  for (const double degrees : {10.0, 45.0, 90.0}) {
    const double ratio =
        reference.number(reference.find("theta0_deg", std::to_string(int(degrees))), "T_over_T0");
    for (const auto integrator : {Springs::Integrator::velocity_verlet, Springs::Integrator::rk4}) {
      const double start = degrees * std::numbers::pi / 180, h = 1.0 / 60;
      SpringsPart part;
      part.type = SpringsPart::Type::points;
      part.points = {Vec3(0, 0, 0),
                     Vec3(static_cast<Real>(std::sin(start)), static_cast<Real>(-std::cos(start)), 0)};
      part.rods = {Index2(0, 1)};
      part.pins.resize(1);
      part.pins[0].indices = {0};
      Springs::Model model;
      Springs::State state;
      Springs::Workspace workspace;
      Springs::Params params;
      params.integrator = integrator;
      Springs::build({.parts = {part}}, model, state);
      const std::vector<Vec3>& x = state.particles.x;
      const std::vector<Vec3>& v = state.particles.v;
      const double quarter =
          time_of_first_zero([&] { Springs::step(model, state, params, workspace, static_cast<Real>(h)); },
                             [&] { return std::atan2(double(x[1][0]), double(-x[1][1])); },
                             [&] { return double(x[1].cross(v[1])[2]); }, h, 600);
      rows.near("T/T0 from " + std::to_string(int(degrees)) + " deg at 60 Hz, " +
                    names_of(integrator)[std::size_t(integrator)],
                4 * quarter / small, ratio, 0.01 * ratio, "1", source);
    }
  }
}

void run_double_pendulum(Rows& rows) {
  const Reference reference("double_pendulum_golden");
  const double h = 2e-4;
  constexpr int coarsening = 10;  // of the steps in float
  std::string name;
  RodChain<double> chain({0, 0});
  RodChain<float> rough({0, 0});
  double time = 0, energy = 0;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    if (reference.text(row, "case") != name) {
      name = reference.text(row, "case");
      const double degree = std::numbers::pi / 180;
      const std::vector<double> start = name == "10deg_10deg"   ? std::vector{10 * degree, 10 * degree}
                                        : name == "90deg_90deg" ? std::vector{90 * degree, 90 * degree}
                                                                : std::vector{90 * degree, 0.0};
      chain = RodChain<double>(start);
      rough = RodChain<float>(start);
      time = 0;
      energy = chain.energy();
    }
    const double t = reference.number(row, "t");
    const long steps = std::lround((t - time) / h);
    for (long k = 0; k < steps; ++k) chain.rk4_step(h);
    const bool regular = name == "10deg_10deg";
    for (long k = 0; regular && k < steps / coarsening; ++k) rough.rk4_step(coarsening * h);
    time = t;
    const std::string at = name + ", t = " + reference.text(row, "t") + " s, ";
    const bool chaotic = !regular && t > 3;
    for (const std::size_t i : {0, 1}) {
      const std::string number = std::to_string(i + 1);
      const double angle = reference.number(row, "theta" + number),
                   rate = reference.number(row, "omega" + number);
      const double measured = angle + std::remainder(chain.angle(i) - angle, 2 * std::numbers::pi);
      const char* const source = "double_pendulum_golden.csv";
      if (chaotic) {
        rows.report(at + "theta" + number, measured, "rad", source);
        rows.report(at + "omega" + number, chain.rate(i), "rad/s", source);
      } else {
        rows.near(at + "theta" + number, measured, angle, 1e-6, "rad", source);
        rows.near(at + "omega" + number, chain.rate(i), rate, 1e-6, "rad/s", source);
      }
    }
    if (regular) {
      // Float coordinates round up to |x| = 2, the length of the pendulum; an error in an angle swings on, at
      // most at the fast mode's 5.787 rad/s (head of the table). Fewer steps than in double, which round less
      // often: their own error is (5.787 h)^4 / 120 of a radian a radian, below 1e-9.
      double angle = 0, rate = 0;
      for (const std::size_t i : {0, 1}) {
        const std::string number = std::to_string(i + 1);
        angle = std::max(angle, std::abs(rough.angle(i) - reference.number(row, "theta" + number)));
        rate = std::max(rate, std::abs(rough.rate(i) - reference.number(row, "omega" + number)));
      }
      const double rounding = 2 * rounding_of(static_cast<int>(std::lround(t / (coarsening * h))));
      const char* const source = "double_pendulum_golden.csv";
      rows.at_most(at + "error of the angles, float", angle, 1e-6 + rounding, "rad", source);
      rows.at_most(at + "error of the rates, float", rate, 1e-6 + 5.787 * rounding, "rad/s", source);
    }
    if (t == 5) rows.near(at + "energy", chain.energy(), energy, 1e-6, "J", "conservation");
  }
}

const Register register_springs_pendulum("pendulum_period/springs", Effort::quick, run_pendulum);
const Register register_springs_double_pendulum("double_pendulum_golden/springs", Effort::quick,
                                                run_double_pendulum);

}  // namespace
}  // namespace plenum::validation
