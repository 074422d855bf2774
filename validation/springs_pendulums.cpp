// Pendulums as nets of rods: strict constraints by Lagrange multipliers. The solver answers for them as
// scenes run it; the templates it is made of, in double.
#include <array>
#include <limits>
#include <numbers>

#include "double_pendulum.h"
#include "rod_chain.h"
#include "rounding.h"
#include "validation.h"

namespace plenum::validation { namespace {

const double small = 2 * std::numbers::pi / std::sqrt(g);  // period of small swings of 1 m [s]
constexpr double degree = std::numbers::pi / 180;
constexpr double net_epsilon = std::numeric_limits<Real>::epsilon();
const char* const in_real = sizeof(Real) == sizeof(float) ? ", float" : ", double";
const char* const templates = ", templates in double";

using Method = Springs::Integrator;
using Stabilization = Springs::Stabilization;

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

/// T/T0 of a chain of one rod that `step` advances by h, from the time of its first passage through the
/// lowest point.
template <class Chain, class Step>
double period_ratio(const Chain& chain, const Step& step, double h) {
  const auto now = chain.now();
  const double quarter = time_of_first_zero(
      step, [&] { return now.angle(0); }, [&] { return now.rate(0); }, h, 6000);
  return 4 * quarter / small;
}

/// The same of the solver. Its step is h as Real has it.
double period_ratio(double start, Method method, Stabilization stabilization, double h) {
  RodNet net({start}, method, stabilization);
  const Real step = static_cast<Real>(h);
  return period_ratio(
      net, [&] { net.step(step); }, double(step));
}

/// A pendulum in its angle and rate, by the classical Runge-Kutta method in double: q' = dH/dp, p' = -dH/dq,
/// with
///   H = p^2/2 + V + h^2 (p^4/24 + p^2 V''/12 - V'^2/24),   V = -g cos q.
/// With h = 0 it is the pendulum's own; else RATTLE's up to (omega h)^4. Along a rod of 1 m its step is one
/// of velocity Verlet in q and p whose move by h turns by asin(h p) instead of h p, since it keeps h p across
/// the rod as it was; so its kinetic energy is p^2/2 + h^2 p^4/24, and what it follows exactly but for terms
/// in h^4 is that H (Hairer, Lubich & Wanner 2006, section IX.3, example 3.4).
class Swing {
 public:
  Swing(double angle, double rate, double h = 0) : y{angle, rate}, h_(h) {}

  void step(double dt) {
    runge_kutta_step<double>(
        rk4, [this](double, std::span<const double> at, std::span<double> out) { flow(at, out); }, 0, dt,
        std::span<double>(y), work_);
  }
  double turning() const {
    std::array<double, 2> out;
    flow(y, out);
    return out[0];
  }
  double time_to_bottom(double dt) {
    return time_of_first_zero([&] { step(dt); }, [&] { return y[0]; }, [&] { return turning(); }, dt, 6000);
  }

  std::array<double, 2> y;

 private:
  void flow(std::span<const double> at, std::span<double> out) const {
    const double p = at[1], v1 = g * std::sin(at[0]), v2 = g * std::cos(at[0]), v3 = -v1;
    out[0] = p + h_ * h_ * (p * p * p / 6 + p * v2 / 6);
    out[1] = -v1 - h_ * h_ * (p * p * v3 / 12 - v1 * v2 / 12);
  }
  double h_;
  IntegratorWorkspace<double> work_;
};

double ratio_of_rattle(double start, double h) {
  return 4 / small * Swing(start, 0, h).time_to_bottom(h);
}
/// What its terms in h^4 may add, with the highest rate there is.
double rest_of_rattle(double start, double h) {
  return 2 * std::pow(std::max(2 * std::sin(start / 2), 1.0) * std::sqrt(g) * h, 4);
}

/// What rounding in the `steps` steps of a quarter period from `start` leaves of T/T0, relative, by numbers
/// with `epsilon`. Coordinates of a point at the angle q round by parts of sin q and cos q, which turns it by
/// up to sin 2q times that; its velocity rounds by parts of itself. What a step did shifts the time at which
/// the pendulum will pass its lowest point, the more the nearer it was to the top; the errors of the steps
/// are independent, so that their squares add up, as rounding_of() has it.
double rounding_of_period(double start, int steps) {
  constexpr int moments = 20;
  const double quarter = Swing(start, 0).time_to_bottom(small / 2000), dt = quarter / 500;
  Swing swing(start, 0);
  double squares = 0;
  for (int m = 0; m < moments; ++m) {
    const double plain = Swing(swing.y[0], swing.y[1]).time_to_bottom(dt);
    const std::array<double, 2> size = {std::sin(2 * swing.y[0]), swing.y[1]};
    for (const std::size_t d : {0, 1}) {
      const double little = 1e-6 * start;
      std::array<double, 2> y = swing.y;
      y[d] += little;
      const double shift = (Swing(y[0], y[1]).time_to_bottom(dt) - plain) / little;
      squares += std::pow(shift * size[d] / quarter, 2) / moments;
    }
    for (int k = 0; k < 500 / moments; ++k) swing.step(dt);
  }
  return rounding_of(steps, net_epsilon) * std::sqrt(squares);
}

/// The solver at fine steps, by the table's tolerances and what rounding adds.
void judge_period(Rows& rows, const std::string& degrees, double ratio, double tolerance) {
  const char* const source = "pendulum_period.csv, (2/pi) K(sin(theta0/2))";
  const double start = std::stod(degrees) * degree, h = ratio * small / 2000;
  const double rounding = rounding_of_period(start, 500) * ratio;
  const std::string from = "T/T0 from " + degrees + " deg, ";
  rows.near(from + "rk4" + in_real, period_ratio(start, Method::rk4, Stabilization::shake, h), ratio,
            tolerance + rounding, "1", source);
  rows.near(from + "velocity_verlet, stabilization projection" + in_real,
            period_ratio(start, Method::velocity_verlet, Stabilization::projection, h), ratio,
            tolerance + rounding, "1", source);
  // RATTLE is symplectic: its energy stays bounded, at the price of a longer error constant. It is off by
  // what it is known to be off.
  rows.near(from + "velocity_verlet with RATTLE, as its own energy has it" + in_real,
            period_ratio(start, Method::velocity_verlet, Stabilization::shake, h), ratio_of_rattle(start, h),
            rest_of_rattle(start, h) + rounding, "1",
            "modified equation: Hairer, Lubich & Wanner 2006, section IX.3");
}

void judge_templates(Rows& rows, const std::string& degrees, double ratio, double tolerance) {
  const char* const source = "pendulum_period.csv, (2/pi) K(sin(theta0/2))";
  const double start = std::stod(degrees) * degree, h = ratio * small / 2000;
  const std::string from = "T/T0 from " + degrees + " deg, ";
  using Step = void (RodTemplates::*)(double);
  const auto measured = [&](Step step, double by) {
    RodTemplates chain({start});
    return period_ratio(
        chain, [&] { (chain.*step)(by); }, by);
  };
  rows.near(from + "velocity_verlet, projected" + templates, measured(&RodTemplates::verlet_step, h), ratio,
            tolerance, "1", source);
  rows.near(from + "rk4" + templates, measured(&RodTemplates::rk4_step, h), ratio, tolerance, "1", source);
  if (degrees != "90") return;
  rows.near(from + "velocity_verlet with RATTLE, as its own energy has it" + templates,
            measured(&RodTemplates::rattle_step, h), ratio_of_rattle(start, h), rest_of_rattle(start, h), "1",
            "modified equation: Hairer, Lubich & Wanner 2006, section IX.3");
  rows.near(from + "velocity_verlet with RATTLE, steps of T/4000" + templates,
            measured(&RodTemplates::rattle_step, h / 2), ratio, tolerance, "1", source);
}

template <class Chain, class Step>
double worst_energy(const Chain& chain, const Step& step, int steps) {
  const auto now = chain.now();
  const double start = now.energy();
  double worst = 0;
  for (int k = 0; k < steps; ++k) {
    step();
    worst = std::max(worst, std::abs(now.energy() - start));
  }
  return worst;
}

/// 100 periods from 90 degrees by RATTLE.
void judge_energy(Rows& rows, double ratio) {
  constexpr int steps = 100 * 2000;
  const double h = ratio * small / 2000;
  const std::string quantity = "energy error over 100 periods from 90 deg, velocity_verlet with RATTLE";
  const char* const source = "Hairer, Lubich & Wanner 2006, IX.8: bounded, of size (omega h)^2";
  RodTemplates chain({90 * degree});
  rows.at_most(quantity + templates,
               worst_energy(
                   chain, [&] { chain.rattle_step(h); }, steps) /
                   g,
               1e-5, "m g L", source);
  // Rounding changes heights, up to 1 m, and speeds, up to v^2 = 2 g L, each by parts of itself.
  RodNet net({90 * degree}, Method::velocity_verlet);
  rows.at_most(quantity + in_real,
               worst_energy(
                   net, [&] { net.step(static_cast<Real>(h)); }, steps) /
                   g,
               1e-5 + (1 + 2) * rounding_of(steps, net_epsilon), "m g L", source);
}

void run_pendulum(Rows& rows) {
  const Reference reference("pendulum_period");
  for (std::size_t row = 0; row < reference.size(); ++row) {
    const std::string& degrees = reference.text(row, "theta0_deg");
    const double ratio = reference.number(row, "T_over_T0");
    const double tolerance = (std::stod(degrees) <= 150 ? 1e-6 : 1e-5) * ratio;
    judge_period(rows, degrees, ratio, tolerance);
    judge_templates(rows, degrees, ratio, tolerance);
  }
  judge_energy(rows, reference.number(reference.find("theta0_deg", "90"), "T_over_T0"));
  // At 60 steps a second, rod of 1 m.
  for (const std::string degrees : {"10", "45", "90"}) {
    const double ratio = reference.number(reference.find("theta0_deg", degrees), "T_over_T0");
    for (const Method method : {Method::velocity_verlet, Method::rk4})
      rows.near("T/T0 from " + degrees + " deg at 60 Hz, " + names_of(method)[std::size_t(method)] + in_real,
                period_ratio(std::stod(degrees) * degree, method, Stabilization::shake, 1.0 / 60), ratio,
                0.01 * ratio, "1", "pendulum_period.csv, (2/pi) K(sin(theta0/2))");
  }
}

/// A row's angles and rates, measured by `now`; beyond 3 s chaotic ones are only reported, as the table says.
/// allowed: rad and rad/s.
template <class Readings>
void compare(Rows& rows, const Reference& reference, std::size_t row, const Readings& now,
             const DoublePendulum::Vector& allowed, const char* by) {
  const std::string& name = reference.text(row, "case");
  const std::string at = name + ", t = " + reference.text(row, "t") + " s, ";
  const bool judged = name == "10deg_10deg" || reference.number(row, "t") <= 3;
  const char* const source = "double_pendulum_golden.csv";
  for (const std::size_t i : {0, 1}) {
    const std::string number = std::to_string(i + 1), theta = at + "theta" + number + by,
                      omega = at + "omega" + number + by;
    const double angle = reference.number(row, "theta" + number);
    const double measured = angle + std::remainder(now.angle(i) - angle, 2 * std::numbers::pi);
    if (judged) {
      rows.near(theta, measured, angle, allowed[i], "rad", source);
      rows.near(omega, now.rate(i), reference.number(row, "omega" + number), allowed[2 + i], "rad/s", source);
    } else {
      rows.report(theta, measured, "rad", source);
      rows.report(omega, now.rate(i), "rad/s", source);
    }
  }
}

void run_double_pendulum(Rows& rows) {
  const Reference reference("double_pendulum_golden");
  constexpr double tolerance = 1e-6;
  constexpr int per_second = 5000;  // steps of the templates
  // The solver's are those that end on the table's times in any precision. Fewer steps round less often: of a
  // mode of omega they turn by (omega h)^4 / 120 of a radian a radian too far, 1e-10 for the fast
  // mode's 5.787 rad/s.
  constexpr int net_per_second = 512;
  for (std::size_t row = 0; row < reference.size();) {
    const std::string name = reference.text(row, "case");
    const double first = (name == "10deg_10deg" ? 10 : 90) * degree,
                 second = name == "90deg_0deg" ? 0 : first;
    RodTemplates chain({first, second});
    RodNet net({first, second}, Method::rk4);
    const double energy = chain.now().energy();
    for (double time = 0; row < reference.size() && reference.text(row, "case") == name; ++row) {
      const double t = reference.number(row, "t");
      for (long k = std::lround((t - time) * per_second); k > 0; --k) chain.rk4_step(1.0 / per_second);
      for (long k = std::lround((t - time) * net_per_second); k > 0; --k) net.step(Real(1) / net_per_second);
      time = t;
      const int steps = static_cast<int>(std::lround(t * net_per_second));
      // Of gravity, lengths and the start, which are rounded once, comes less than a twentieth of it.
      DoublePendulum::Vector allowed = DoublePendulum::rounding({first, second, 0, 0}, t, steps, net_epsilon);
      for (double& a : allowed) a += tolerance;
      compare(rows, reference, row, net.now(), allowed, in_real);
      compare(rows, reference, row, chain.now(), {tolerance, tolerance, tolerance, tolerance}, templates);
      if (t != 5) continue;
      const std::string quantity = name + ", t = 5 s, energy";
      // Rounding changes heights, up to 2 m, and speeds, up to v^2 = 2 (E + 3 g), each by parts of itself.
      rows.near(quantity + in_real, net.now().energy(), energy,
                tolerance + (2 * g + 2 * (energy + 3 * g)) * rounding_of(steps, net_epsilon), "J",
                "conservation");
      rows.near(quantity + templates, chain.now().energy(), energy, tolerance, "J", "conservation");
    }
  }
}

const Register register_springs_pendulum("pendulum_period/springs", Effort::quick, run_pendulum);
const Register register_springs_double_pendulum("double_pendulum_golden/springs", Effort::quick,
                                                run_double_pendulum);

}  // namespace
}  // namespace plenum::validation
