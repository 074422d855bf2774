// Damping as part of constraints: closed forms, the equations of motion that it stands for, rigid motion.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "pbd/built.h"
#include "plenum/elements/position_constraints.h"
#include "plenum/elements/strain_constraints.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum { namespace {

using D3 = Vector3<double>;

struct Damped : plenum_test::Built {
  Damped() = default;
  explicit Damped(const PbdPart& part) : Built(part) { params.gravity.setZero(); }
  void run(double seconds, int steps, int substeps) {
    params.substeps = substeps;
    for (int k = 0; k < steps; ++k)
      Pbd::step(model, state, params, workspace, static_cast<Real>(seconds / steps));
  }
};

/// Two particles of 1 kg on a spring of 1000 N/m that is 1 m long.
PbdPart spring_of_two(double damping_time) {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.segments = 1, rope.linear_density = 2;
  rope.stretch_compliance = Real(1e-3);
  rope.damping_time = static_cast<Real>(damping_time);
  return rope;
}

// With the reduced mass of 1/2 kg, w^2 = 2000 / s^2, and the extension x is that of x'' + tau w^2 x' + w^2 x
// = 0. Steps are implicit Euler's of the spring, (1 + w^2 h^2) v = v0 - h w^2 x0, x1 = x0 + h v, and then of
// its damping, (1 + tau w^2 h) v1 = v, for any number of sweeps.
TEST(PbdDamping, OfASpringTakesImplicitEulersSteps) {
  for (const int iterations : {1, 3}) {
    Damped two(spring_of_two(0.01));
    two.params.iterations = iterations;
    two.state.particles.x[1].x() += Real(0.1);
    double e = 0.1, v = 0;
    const double h = 1.0 / 240, square = 2000, tau = 0.01;
    for (int k = 0; k < 40; ++k) {
      v = (v - h * square * e) / (1 + square * h * h), e += h * v, v /= 1 + tau * square * h;
      two.run(h, 1, 1);
      EXPECT_NEAR((two.x(1) - two.x(0)).norm() - 1, e, sizeof(Real) == 4 ? 1e-6 : 1e-12) << k;
    }
  }
}

// And of small steps the closed form: a exp(-d t) (cos wd t + d / wd sin wd t) with d = tau w^2 / 2 and wd^2
// = w^2 - d^2. Implicit Euler's own damping is w^2 h / 2, and its frequency is off by the order of w (w h)^2
// + d w h.
TEST(PbdDamping, OfASpringDecaysAsTheClosedForm) {
  const double square = 2000, amplitude = 0.1, tau = 0.01;
  Damped two(spring_of_two(tau));
  two.state.particles.x[1].x() += Real(amplitude);
  const int steps = 12, substeps = 1000;
  const double seconds = 0.12, h = seconds / steps / substeps, d = tau * square / 2,
               wd = std::sqrt(square - d * d);
  for (int k = 1; k <= steps; ++k) {
    two.run(seconds / steps, 1, substeps);
    const double t = k * seconds / steps;
    const double wanted = amplitude * std::exp(-d * t) * (std::cos(wd * t) + d / wd * std::sin(wd * t));
    const double bound = amplitude * std::exp(-d * t) * (square * h / 2 * t + d * std::sqrt(square) * h * t) +
                         (sizeof(Real) == 4 ? 2e-5 : 1e-9);
    EXPECT_NEAR((two.x(1) - two.x(0)).norm() - 1, wanted, 2 * bound) << t;
  }
}

/// m x'' = force(x, x') for `seconds` by the classic method of Runge and Kutta. x [n] m, v [n] m/s.
template <class Force>
void runge_kutta(std::vector<D3>& x, std::vector<D3>& v, const std::vector<double>& mass, double seconds,
                 int steps, Force&& force) {
  const std::size_t n = x.size();
  const double h = seconds / steps;
  const auto rate = [&](const std::vector<D3>& at, const std::vector<D3>& with) {
    std::vector<D3> a = force(at, with);
    for (std::size_t i = 0; i < n; ++i) a[i] /= mass[i];
    return a;
  };
  const auto moved = [n](const std::vector<D3>& a, double s, const std::vector<D3>& b) {
    std::vector<D3> out = a;
    for (std::size_t i = 0; i < n; ++i) out[i] += s * b[i];
    return out;
  };
  for (int k = 0; k < steps; ++k) {
    const auto a1 = rate(x, v);
    const auto v2 = moved(v, h / 2, a1), a2 = rate(moved(x, h / 2, v), v2);
    const auto v3 = moved(v, h / 2, a2), a3 = rate(moved(x, h / 2, v2), v3);
    const auto v4 = moved(v, h, a3), a4 = rate(moved(x, h, v3), v4);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += h / 6 * (v[i] + 2 * v2[i] + 2 * v3[i] + v4[i]);
      v[i] += h / 6 * (a1[i] + 2 * a2[i] + 2 * a3[i] + a4[i]);
    }
  }
}

/// -grad C (spring C + tau dC/dt) / alpha of one constraint of `points` particles.
template <class C>
void add_force(const std::vector<D3>& x, const std::vector<D3>& v, const double (&rest)[C::numbers],
               double compliance, double tau, std::vector<D3>& force, double spring = 1) {
  detail::V3<double> at[C::points], g[C::points];
  for (int i = 0; i < C::points; ++i) {
    const D3 p = x[std::size_t(i)] - x[0];
    at[i] = {p.x(), p.y(), p.z()};
  }
  double value = C::value(at, rest, g), speed = 0;
  for (int i = 0; i < C::points; ++i) speed += D3(g[i].x, g[i].y, g[i].z).dot(v[std::size_t(i)]);
  for (int i = 0; i < C::points; ++i)
    force[std::size_t(i)] -= (spring * value + tau * speed) / compliance * D3(g[i].x, g[i].y, g[i].z);
}

/// Particles of `masses` [kg] at x [m] with velocities v [m/s], all of one part that is damped by tau [s].
Damped of_particles(const std::vector<double>& masses, const std::vector<D3>& x, const std::vector<D3>& v,
                    double tau) {
  Damped body;
  const std::size_t n = masses.size();
  for (std::size_t i = 0; i < n; ++i) {
    body.model.mass.push_back(static_cast<Real>(masses[i]));
    body.state.particles.x.push_back(x[i].cast<Real>());
    body.state.particles.v.push_back(v[i].cast<Real>());
    body.state.particles.inverse_mass.push_back(static_cast<Real>(1 / masses[i]));
  }
  Pbd::Part part;
  part.num_particles = static_cast<Index>(n);
  part.damping_time = part.bending_damping_time = static_cast<Real>(tau);
  body.model.parts.push_back(part);
  body.params.air_density = 0, body.params.gravity.setZero();
  return body;
}

/// That the largest distance of any particle from where these equations lead halves with the substep: the
/// method is of the first order, and nothing is left in the limit. What is not damped must end elsewhere.
template <class Force>
void expect_first_order(const Damped& start, double seconds, Force&& force) {
  const std::size_t n = start.model.mass.size();
  std::vector<D3> x(n), v(n);
  std::vector<double> mass(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = start.x(i), v[i] = start.state.particles.v[i].cast<double>();
    mass[i] = double(start.model.mass[i]);
  }
  runge_kutta(x, v, mass, seconds, 20000, force);
  const auto error = [&](double damped, int substeps) {
    Damped body;
    body.model = start.model, body.state = start.state, body.params = start.params;
    for (Pbd::Part& part : body.model.parts)
      part.damping_time *= static_cast<Real>(damped), part.bending_damping_time *= static_cast<Real>(damped);
    Pbd::update(body.model);
    body.run(seconds, 10, substeps);
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, (body.x(i) - x[i]).norm());
    return most;
  };
  const double errors[3] = {error(1, 20), error(1, 40), error(1, 80)};
  EXPECT_GT(error(0, 80), 10 * errors[2]);
  EXPECT_NEAR(errors[0] / errors[1], 2, 0.25);
  EXPECT_NEAR(errors[1] / errors[2], 2, 0.25);
}

const std::vector<D3> four = {D3(0, 0, 0), D3(1, 0, 0), D3(0.2, 0.9, 0.1), D3(0.3, -0.7, 0.4)};
const std::vector<D3> four_ways = {D3(0.3, 0, 0), D3(-0.2, 0.5, 0.1), D3(0, 0.4, 0.9), D3(0.1, -0.2, -0.5)};
const std::vector<double> four_masses = {1, 2, 0.5, 1.5};

// A spring that turns fast as it swings.
TEST(PbdDamping, OfDistancesIsThatOfTheEquationsOfMotion) {
  const double tau = 0.05;
  Damped two = of_particles({1, 2}, {D3(0, 0, 0), D3(1.2, 0, 0)}, {D3(0, -2, 0), D3(0, 3, 1)}, tau);
  two.model.edges = {Index2(0, 1)}, two.model.rest_length = {1}, two.model.stretch_compliance = {Real(5e-3)};
  expect_first_order(two, 0.5, [&](const std::vector<D3>& x, const std::vector<D3>& v) {
    std::vector<D3> force(2, D3::Zero());
    add_force<detail::DistanceConstraint>(x, v, {1.0}, 5e-3, tau, force);
    return force;
  });
}

TEST(PbdDamping, OfDihedralAnglesIsThatOfTheEquationsOfMotion) {
  const double tau = 0.02;
  Damped two = of_particles(four_masses, four, four_ways, tau);
  two.model.hinges = {Index4(0, 1, 2, 3)}, two.model.rest_angle = {Real(0.3)};
  two.model.angle_compliance = {Real(0.05)};
  expect_first_order(two, 0.4, [&](const std::vector<D3>& x, const std::vector<D3>& v) {
    std::vector<D3> force(4, D3::Zero());
    add_force<detail::DihedralConstraint>(x, v, {double(Real(0.3))}, double(Real(0.05)), tau, force);
    return force;
  });
}

TEST(PbdDamping, OfVolumesIsThatOfTheEquationsOfMotion) {
  const double tau = 0.05;
  Damped one = of_particles(four_masses, four, four_ways, tau);
  std::swap(one.state.particles.x[2], one.state.particles.x[3]);  // of positive volume
  one.model.tetrahedra = {Index4(0, 1, 2, 3)};
  one.model.rest_volume = {Real(0.05)}, one.model.volume_compliance = {Real(1e-3)};
  one.model.rest_inverse = {Mat3::Identity()}, one.model.lame = {Vec2(1, 1)};
  expect_first_order(one, 0.3, [&](const std::vector<D3>& x, const std::vector<D3>& v) {
    std::vector<D3> force(4, D3::Zero());
    add_force<detail::VolumeConstraint>(x, v, {double(Real(0.05))}, double(Real(1e-3)), tau, force);
    return force;
  });
}

TEST(PbdDamping, OfSolidsIsThatOfTheEquationsOfMotion) {
  const double tau = 0.03, mu = 50, lambda = 120, volume = 1.0 / 6;
  Damped one = of_particles(four_masses, {D3(0, 0, 0), D3(1.2, 0, 0.1), D3(0.2, 0.9, 0.1), D3(0, 0.1, 1.1)},
                            four_ways, tau);
  one.model.tetrahedra = {Index4(0, 1, 2, 3)};
  one.model.rest_volume = {Real(volume)}, one.model.volume_compliance = {-1};
  one.model.rest_inverse = {Mat3::Identity()}, one.model.lame = {Vec2(Real(mu), Real(lambda))};
  expect_first_order(one, 0.3, [&](const std::vector<D3>& x, const std::vector<D3>& v) {
    std::vector<D3> force(4, D3::Zero());
    const double undeformed[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    add_force<detail::DeviatoricConstraint>(x, v, undeformed, 1 / (mu * volume), 0, force);
    add_force<detail::HydrostaticConstraint>(x, v, undeformed, 1 / (lambda * volume), tau, force);
    // mu V |e|^2 of the strains: mu V e_a^2 of an axis, mu V phi^2 / 2 of an angle of two.
    using namespace detail;  // NOLINT: constraints
    add_force<TetrahedronStretchConstraint<0>>(x, v, undeformed, 1 / (2 * mu * volume), tau, force, 0);
    add_force<TetrahedronStretchConstraint<1>>(x, v, undeformed, 1 / (2 * mu * volume), tau, force, 0);
    add_force<TetrahedronStretchConstraint<2>>(x, v, undeformed, 1 / (2 * mu * volume), tau, force, 0);
    add_force<TetrahedronShearConstraint<1, 2>>(x, v, undeformed, 1 / (mu * volume), tau, force, 0);
    add_force<TetrahedronShearConstraint<2, 0>>(x, v, undeformed, 1 / (mu * volume), tau, force, 0);
    add_force<TetrahedronShearConstraint<0, 1>>(x, v, undeformed, 1 / (mu * volume), tau, force, 0);
    return force;
  });
}

/// [1/s] At which what sways as `shape` says about where it rests fades, by its peaks in so many seconds, in
/// steps of 1/600 s.
template <class Shape>
double rate_of_fading(Damped& body, double seconds, int substeps, Shape&& shape) {
  std::vector<std::pair<double, double>> peaks;
  double last = 0, before = 0;
  for (int k = 0; k < seconds * 600; ++k) {
    body.run(1.0 / 600, 1, substeps);
    const double now = shape(body);
    const bool is_peak = last > before && last >= now && last > 0;
    if (is_peak && (peaks.empty() || last > 0.02 * peaks[0].second)) peaks.push_back({k / 600.0, last});
    before = last, last = now;
  }
  return std::log(peaks.front().second / peaks.back().second) / (peaks.back().first - peaks.front().first);
}

// A bar that hangs stretched by its weight fades as it twists at 2 pi^2 f^2 tau, as one that nothing
// stretches does. By the rate of the deviatoric constraint alone, one number that a twist does not change
// there, it faded at a fiftieth of that.
TEST(PbdDamping, OfStretchedSolidsThatTwist) {
  for (const Real weight : {Real(0), Real(9.81)}) {
    PbdPart bar{.type = PbdPart::Type::bar};
    bar.cells_x = 10, bar.cells_y = bar.cells_z = 2;
    bar.half_extents = Vec3(Real(0.5), Real(0.1), Real(0.1));
    bar.youngs_modulus = Real(1e5), bar.poissons_ratio = Real(0.3), bar.density = 500;
    bar.damping_time = Real(0.005);
    bar.pins.resize(1);
    bar.pins[0].where = ParticlePin::Where::box;
    bar.pins[0].box_min = Vec3(-9, -9, -9), bar.pins[0].box_max = Vec3(Real(-0.499), 9, 9);
    Damped body(bar);
    const std::vector<Vec3> flat = body.state.particles.x;
    body.params.gravity = Vec3(weight, 0, 0);
    body.params.damping = 20, body.run(4, 240, 40), body.params.damping = 0;
    const std::vector<Vec3> rest = body.state.particles.x;
    const auto part = [&](std::size_t i) { return Real(std::sin(1.57 * (double(flat[i].x()) + 0.5))); };
    for (std::size_t i = 0; i < rest.size(); ++i)
      body.state.particles.v[i] = Vec3(Real(0.3) * part(i), 0, 0).cross(rest[i]);
    const double rate = rate_of_fading(body, 2.5, 16, [&](const Damped& b) {
      double sum = 0;
      for (std::size_t i = 0; i < rest.size(); ++i)
        sum += double((b.state.particles.x[i] - rest[i]).dot(Vec3(part(i), 0, 0).cross(flat[i])));
      return sum;
    });
    const double f = 2.36, wanted = 2 * std::numbers::pi * std::numbers::pi * f * f * 0.005;
    EXPECT_NEAR(rate, wanted, 0.1 * wanted) << weight;
  }
}

// Where tau / h r / alpha~ is large, a sweep of damping hides slow motion behind what is fast; more
// iterations bring it out.
TEST(PbdDamping, OfMoreIterationsIsNearerToWhatIsAsked) {
  const auto rate = [](double tau, int iterations) {
    PbdPart rope{.type = PbdPart::Type::rope};
    rope.segments = 16, rope.stretch_compliance = Real(1e-3), rope.tethers = false;
    rope.damping_time = Real(tau);
    rope.pins.resize(1);
    rope.pins[0].where = ParticlePin::Where::first;
    Damped body(rope);
    body.params.iterations = iterations;
    const std::vector<Vec3> rest = body.state.particles.x;
    const auto part = [&](std::size_t i) {
      return Real(std::sin(1.57 * double((rest[i] - rest[0]).norm())));
    };
    const Vec3 along = (rest.back() - rest.front()).normalized();
    for (std::size_t i = 0; i < rest.size(); ++i) body.state.particles.v[i] = Real(0.05) * part(i) * along;
    return rate_of_fading(body, 1, 1, [&](const Damped& b) {
      double sum = 0;
      for (std::size_t i = 0; i < rest.size(); ++i)
        sum += double(part(i) * (b.state.particles.x[i] - rest[i]).dot(along));
      return sum;
    });
  };
  const double f = 6.4, wanted = 2 * std::numbers::pi * std::numbers::pi * f * f * 0.02;
  double before = 0;
  for (const int iterations : {1, 4, 16}) {
    const double now = rate(0.02, iterations) / wanted;
    EXPECT_GT(now, before) << iterations;
    before = now;
  }
  EXPECT_NEAR(before, 1, 0.1);
}

TEST(PbdDamping, OfStrainsAndAreasIsThatOfTheEquationsOfMotion) {
  const double tau = 0.02;
  Damped one = of_particles({1, 2, 0.5}, {D3(0, 0, 0), D3(1.1, 0, 0.1), D3(0.2, 0.9, 0.1)},
                            {D3(0.3, 0, 0), D3(-0.2, 0.5, 0.1), D3(0, 0.4, 0.9)}, tau);
  one.model.strain_triangles = {Index3(0, 1, 2)}, one.model.strain_inverse = {Vec4(1, 0, 0, 1)};
  one.model.strain_compliance = {Vec3(Real(0.0625), Real(0.03125), Real(0.125))};
  one.model.area_triangles = {Index3(0, 1, 2)}, one.model.rest_area = {Real(0.5)};
  one.model.area_compliance = {Real(0.0625)};
  expect_first_order(one, 0.3, [&](const std::vector<D3>& x, const std::vector<D3>& v) {
    std::vector<D3> force(3, D3::Zero());
    add_force<detail::TriangleStretchConstraint<0>>(x, v, {1.0, 0, 0, 1}, 0.0625, tau, force);
    add_force<detail::TriangleStretchConstraint<1>>(x, v, {1.0, 0, 0, 1}, 0.03125, tau, force);
    add_force<detail::TriangleShearConstraint>(x, v, {1.0, 0, 0, 1}, 0.125, tau, force);
    add_force<detail::TriangleAreaConstraint>(x, v, {0.5}, 0.0625, tau, force);
    return force;
  });
}

// What is bent and straight at rest has a vector for its constraint, C = sum k_i x_i; its length is what is
// damped, so that its force is along it: -k_i (C + tau d|C|/dt C / |C|) / alpha.
TEST(PbdDamping, OfBendingIsThatOfTheEquationsOfMotion) {
  const double tau = 0.05, alpha = 0.25;
  Damped three = of_particles({1, 2, 0.5}, {D3(-1, 0.4, 0), D3(0, 0, 0), D3(1, 0.3, 0.1)},
                              {D3(0, 0, 0.2), D3(0, 0.3, 0), D3(0.1, 0, -0.3)}, tau);
  const double k[3] = {1, -2, 1};
  three.model.bends = {Index3(0, 1, 2)}, three.model.bend_weights = {Vec3(1, -2, 1)};
  three.model.rod_compliance = {Real(alpha)};
  expect_first_order(three, 0.4, [&](const std::vector<D3>& x, const std::vector<D3>& v) {
    D3 c = D3::Zero(), speed = D3::Zero();
    for (std::size_t i = 0; i < 3; ++i) c += k[i] * x[i], speed += k[i] * v[i];
    const D3 along = c.normalized();
    std::vector<D3> force;
    for (const double weight : k) force.push_back(-weight / alpha * (c + tau * along.dot(speed) * along));
    return force;
  });
}

PbdPart flag(bool damped) {
  PbdPart cloth;
  cloth.cells_x = cloth.cells_z = 6;
  cloth.stretch_compliance = cloth.shear_compliance = Real(1e-3);
  cloth.bending_stiffness = Real(0.01);
  if (damped) cloth.damping_time = cloth.bending_damping_time = Real(0.01);
  return cloth;
}
D3 angular_momentum(const Damped& body) {
  D3 sum = D3::Zero();
  for (std::size_t i = 0; i < body.model.mass.size(); ++i)
    sum += double(body.model.mass[i]) * body.x(i).cross(body.state.particles.v[i].cast<double>());
  return sum;
}

// A sheet at rest that is sent turning in its own plane at w = 2 rad/s, and away, damped or not. It stretches
// by what half of its mass pulls, m/2 w^2 L/4, on seven threads of three edges each, by 4e-5 m to its border,
// and swings about that if it is not damped: twice that is how far the two may be apart.
TEST(PbdDamping, LeavesRigidMotionAlone) {
  const auto run = [](bool damped) {
    Damped sheet(flag(damped));
    for (std::size_t i = 0; i < sheet.model.mass.size(); ++i)
      sheet.state.particles.v[i] = Vec3(0, 2, 0).cross(sheet.state.particles.x[i]) + Vec3(1, 0, 0);
    sheet.params.iterations = 8;  // a sweep does not carry through the sheet what damping holds
    sheet.run(1, 60, 20);
    return sheet;
  };
  const Damped damped = run(true), free = run(false);
  double away = 0;
  for (std::size_t i = 0; i < damped.model.mass.size(); ++i)
    away = std::max(away, (damped.x(i) - free.x(i)).norm());
  const double stretch = 0.1 * 4 * 0.25 / 7 * 1e-3 * 3;
  EXPECT_LT(away, 2 * stretch);
}

// Whatever is damped keeps its momentum, and loses no more angular momentum than what is not.
TEST(PbdDamping, KeepsMomentum) {
  const auto run = [](bool damped) {
    Damped sheet(flag(damped));
    for (std::size_t i = 0; i < sheet.model.mass.size(); ++i) {
      const double s = double(i);
      sheet.state.particles.v[i] = Vec3(0, 0, 3).cross(sheet.state.particles.x[i]) +
                                   Vec3(Real(std::sin(3 * s)), Real(std::cos(5 * s)), Real(std::sin(7 * s)));
    }
    const auto momentum = [&] {
      D3 sum = D3::Zero();
      for (std::size_t i = 0; i < sheet.model.mass.size(); ++i)
        sum += double(sheet.model.mass[i]) * sheet.state.particles.v[i].cast<double>();
      return sum;
    };
    const D3 p = momentum(), l = angular_momentum(sheet);
    sheet.run(0.5, 30, 20);
    // Velocities are differences of ways over a substep: rounding of 1e-7 of what they are, each.
    EXPECT_LT((momentum() - p).norm(), 1e-4 * 0.2);
    return (angular_momentum(sheet) - l).norm() / l.norm();
  };
  EXPECT_LT(run(true), std::max(run(false), 0.01));
}

// What is damped unlike what it is beside gains no energy: of a sheet at rest that is shaken, what it is
// shaken by is the most it ever has. As part of projections, damping of lengths alone, or of bending alone,
// blew such sheets up.
TEST(PbdDamping, OfSomeConstraintsAloneGivesNoEnergy) {
  using Bending = PbdPart::Bending;
  for (const auto type : {PbdPart::Type::cloth, PbdPart::Type::mesh_cloth})
    for (const Bending bending : {Bending::plate, Bending::isometric, Bending::dihedral})
      for (const Real rigidity : {Real(0.01), Real(1)})
        for (const auto& [tau, of_bending] :
             {std::pair(Real(0.05), Real(0)), std::pair(Real(0), Real(0.1)), std::pair(Real(0), Real(1))}) {
          PbdPart part{.type = type};
          part.cells_x = part.cells_z = 8;
          if (type == PbdPart::Type::mesh_cloth) part.mesh = grid_mesh(Vec2(1, 1), 8, 8);
          part.bending = bending, part.bending_stiffness = rigidity, part.tethers = false;
          part.damping_time = tau, part.bending_damping_time = of_bending;
          Damped sheet(part);
          for (std::size_t i = 0; i < sheet.model.mass.size(); ++i) {
            const double k = double(i);
            sheet.state.particles.v[i] = Vec3(Real(0.1 * std::sin(3 * k)), Real(0.1 * std::cos(5 * k)), 0);
          }
          const auto energy = [&] {
            double sum = 0;
            for (std::size_t i = 0; i < sheet.model.mass.size(); ++i)
              sum += double(sheet.model.mass[i] * sheet.state.particles.v[i].squaredNorm()) / 2;
            return sum;
          };
          const double start = energy();
          for (int k = 0; k < 300; ++k) {
            sheet.step();
            ASSERT_LT(energy(), start) << int(type) << ' ' << int(bending) << ' ' << rigidity << ' ' << tau
                                       << ' ' << of_bending << ' ' << k;
          }
        }
}

// A crate of 4 kg on a rope of 0.1 kg that bends with damping: it hangs, where it flew off.
TEST(PbdDamping, RopesOfDampedBendingCarryBodies) {
  PbdSpec spec;
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.from = Vec3(0, 2, 0), rope.to = Vec3(0, 1, 0), rope.segments = 40, rope.linear_density = Real(0.1);
  rope.bending_stiffness = Real(0.1), rope.bending_damping_time = Real(0.1);
  rope.pins.resize(1);
  rope.pins[0].where = ParticlePin::Where::first;
  rope.attachments.resize(1);
  rope.attachments[0].particles.where = ParticlePin::Where::last, rope.attachments[0].body = "crate";
  PbdBody crate;
  crate.name = "crate", crate.shape = PbdBody::Form::box;
  crate.half_extents = Vec3::Constant(Real(0.1)), crate.position = Vec3(0, Real(0.9), 0);
  crate.density = 500;
  spec.parts = {rope}, spec.bodies = {crate};
  for (const int substeps : {10, 40}) {
    Damped b;
    Pbd::build(spec, b.model, b.state);
    b.params.air_density = 0;
    b.run(5, 300, substeps);
    for (const Vec3& v : b.state.particles.v) ASSERT_LT(v.norm(), 1) << substeps;
    EXPECT_LT((b.state.frames.x[0] - Vec3(0, Real(0.9), 0)).norm(), 0.1) << substeps;
  }
}

// Stiff, soft, without compliance at all, with damping of any strength and any step.
TEST(PbdDamping, IsFinite) {
  for (const Real compliance : {Real(0), Real(1e-6), Real(1e3)})
    for (const Real tau : {Real(1e-4), Real(1), Real(1000)})
      for (const double dt : {1e-3, 0.05}) {
        PbdPart part = flag(true);
        part.stretch_compliance = part.shear_compliance = compliance;
        part.damping_time = part.bending_damping_time = tau;
        Damped sheet(part);
        sheet.params.gravity = Vec3(0, Real(-9.81), 0);
        for (Vec3& x : sheet.state.particles.x) x = Vec3(-x.z(), x.x() * x.z(), 2 * x.x());
        sheet.run(60 * dt, 60, 5);
        for (const Vec3& x : sheet.state.particles.x) ASSERT_TRUE(x.allFinite() && x.norm() < 1000);
      }
}

// A resting body's shape does not depend on how it is damped: a weight on a spring hangs as low.
TEST(PbdDamping, ChangesNoRestingShape) {
  PbdPart part = spring_of_two(0.05);
  part.pins.resize(1);
  part.pins[0].where = ParticlePin::Where::first;
  Damped weight(part);
  weight.params.gravity = Vec3(0, Real(-9.81), 0);
  weight.state.particles.x[1] = Vec3(0, -1, 0);
  weight.run(4, 240, 10);
  EXPECT_NEAR(-weight.x(1).y() - 1, 9.81e-3, 1e-5);
}

// What is matched to its shape is not damped; and where its volumes are all the same, by hand, nothing goes
// without bound: what a flat tetrahedron is damped by counts in how far its points may go.
TEST(PbdDamping, LeavesMatchedShapesFinite) {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.3), Real(0.1), Real(0.1));
  bar.cells_x = 6, bar.cells_y = bar.cells_z = 2;
  bar.material = PbdPart::Material::shape_matching;
  bar.damping_time = Real(0.1);
  for (const bool by_hand : {false, true}) {
    Damped b(bar);
    EXPECT_EQ(b.model.parts[0].damping_time, 0);
    if (by_hand) b.model.parts[0].damping_time = Real(0.1);
    for (std::size_t i = 0; i < b.state.particles.x.size(); ++i)
      b.state.particles.v[i] = Vec3(0, b.state.particles.x[i].x() > 0 ? Real(-60) : Real(60), 0);
    b.run(2, 60, 10);
    for (const Vec3& x : b.state.particles.x) ASSERT_TRUE(x.allFinite());
  }
}

}}  // namespace plenum
