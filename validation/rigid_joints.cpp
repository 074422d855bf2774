// Joints of rigid bodies against closed forms.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "double_pendulum.h"
#include "rigid_body.h"
#include "rigid_scenes.h"
#include "rounding.h"
#include "validation.h"

namespace plenum::validation {
namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::JointSpec;
using rigid::JointType;
using D3 = Vector3<double>;

using std::numbers::pi;

JointSpec to_world(JointType type, const std::string& body, const Vec3& anchor,
                   const Vec3& axis = Vec3::UnitZ()) {
  JointSpec joint;
  joint.type = type, joint.body_b = body, joint.anchor = anchor, joint.axis = axis;
  return joint;
}
double turn_about_z(const RigidScene& scene, std::size_t i) {
  const D3 down = scene.state.frames.rotation(i).cast<double>() * D3(0, -1, 0);
  return std::atan2(down.x(), -down.y());
}

/// Lets the scene go from rest. In sub-steps of h it has velocities of their middles (SHAKE), which begin at
/// -h/2 times the acceleration; from zero the motion would be h/2 ahead.
void let_go(RigidScene& scene, double h) {
  RigidScene once = scene;
  once.params.substeps = 1;
  once.step(h);
  for (std::size_t i = 0; i < scene.state.frames.x.size(); ++i) {
    scene.state.frames.v[i] = Real(-0.5) * once.state.frames.v[i];
    scene.state.frames.w[i] = Real(-0.5) * once.state.frames.w[i];
  }
}

constexpr double epsilon = std::numeric_limits<Real>::epsilon();

/// A rod of 1 m on a hinge at its end, released from rest.
RigidScene rod_on_hinge(double angle) {
  BodySpec rod = box(Vec3(Real(0.02), Real(0.5), Real(0.02)),
                     Vec3(Real(0.5 * std::sin(angle)), Real(-0.5 * std::cos(angle)), 0));
  rod.rotation = Vec3(0, 0, Real(angle / pi * 180));
  return RigidScene({.bodies = {rod}, .joints = {to_world(JointType::hinge, "0", Vec3::Zero())}});
}
/// Times [s] at which it passes its lowest point from the right.
std::vector<double> passages(RigidScene& scene, double dt, std::size_t count) {
  std::vector<double> times;
  double before = turn_about_z(scene, 0);
  for (int k = 0; times.size() < count && k < 100000; ++k) {
    scene.step(dt);
    const double now = turn_about_z(scene, 0);
    if (before > 0 && now <= 0) times.push_back((k + before / (before - now)) * dt);
    before = now;
  }
  times.resize(count, std::nan(""));
  return times;
}

void compound_pendulum(Rows& rows) {
  const Reference reference("pendulum_period");
  const double moment = (1.0 + 0.04 * 0.04) / 12 + 0.25;  // I / m about the pivot
  const double small = 2 * pi * std::sqrt(moment / (g * 0.5));
  const char* const source = "pendulum_period.csv";
  for (std::size_t row = 0; row < reference.size(); ++row) {
    const double degrees = reference.number(row, "theta0_deg"), ratio = reference.number(row, "T_over_T0");
    RigidScene scene = rod_on_hinge(degrees * pi / 180);
    const double dt = ratio * small / 2000, substeps = scene.params.substeps;
    let_go(scene, dt / substeps);
    // A quarter period takes the phase by pi/2. Near the top a shift of the start by what rounding leaves of
    // it changes the period by more; between 1 and 179 degrees dT/T is below 40 a radian.
    const double rounding = rounding_of(static_cast<int>(500 * substeps), epsilon) / (pi / 2) + 40 * epsilon;
    rows.near("rod on a hinge from " + reference.text(row, "theta0_deg") + " deg: T/T0, steps of T/2000",
              4 * passages(scene, dt, 1)[0] / small, ratio,
              ((degrees <= 150 ? 1e-6 : 1e-5) + rounding) * ratio, "1", source);
  }
  for (const char* const degrees : {"10", "45", "90"}) {
    RigidScene scene = rod_on_hinge(std::stod(degrees) * pi / 180);
    const std::vector<double> times = passages(scene, 1.0 / 60, 11);
    const double period = small * reference.number(reference.find("theta0_deg", degrees), "T_over_T0");
    rows.near(std::string("rod on a hinge from ") + degrees + " deg: period, at 1/60 s",
              (times.back() - times.front()) / 10, period, 0.01 * period, "s", source);
  }
}
const Register register_pendulum("pendulum_period/rigid", Effort::quick, compound_pendulum);

/// Two balls on massless rods: distance joints at their centres.
RigidScene two_balls(double first, double second) {
  const D3 x1(std::sin(first), -std::cos(first), 0), x2 = x1 + D3(std::sin(second), -std::cos(second), 0);
  Rigid::Spec spec;
  for (const D3& x : {x1, x2}) {
    BodySpec ball;
    ball.shapes[0].shape = Form::sphere, ball.shapes[0].radius = Real(0.1);
    ball.position = x.cast<Real>();
    spec.bodies.push_back(ball);
  }
  JointSpec upper = to_world(JointType::distance, "0", Vec3::Zero()), lower = upper;
  upper.anchor_b = x1.cast<Real>();
  lower.body_a = "0", lower.body_b = "1", lower.anchor = x1.cast<Real>(), lower.anchor_b = x2.cast<Real>();
  upper.length = lower.length = 1;
  spec.joints = {upper, lower};
  return RigidScene(spec);
}

void double_pendulum(Rows& rows) {
  const Reference reference("double_pendulum_golden");
  const double dt = 1e-3, degree = pi / 180;
  RigidScene scene = two_balls(0, 0);
  std::string name;
  double time = 0, fastest = 0;
  DoublePendulum::Vector start{};
  for (std::size_t row = 0; row < reference.size(); ++row) {
    if (reference.text(row, "case") != name) {
      name = reference.text(row, "case");
      const double first = name == "10deg_10deg" ? 10 * degree : 90 * degree,
                   second = name == "90deg_0deg" ? 0 : first;
      scene = two_balls(first, second);
      let_go(scene, dt / scene.params.substeps);
      start = {first, second, 0, 0};
      time = fastest = 0;
    }
    const double t = reference.number(row, "t");
    for (long k = std::lround((t - time) / dt); k > 0; --k) {
      scene.step(dt);
      for (const Vec3& v : scene.state.frames.v) fastest = std::max(fastest, double(v.norm()));
    }
    time = t;
    // Rounding disturbs places, up to 2 m from the origin, and velocities, and so each angle and rate, of
    // rods of 1 m, by as much; what comes of that is a property of the pendulum.
    const double disturbed =
        rounding_of(static_cast<int>(std::lround(t / dt)) * scene.params.substeps, epsilon);
    const Growth growth = DoublePendulum::growth(start, t, 20);
    const double rounding = disturbed * (2 * growth.of_angle + fastest * growth.of_rate);
    const D3 x1 = scene.state.frames.x[0].cast<double>(), d = scene.state.frames.x[1].cast<double>() - x1;
    const double angles[] = {std::atan2(x1.x(), -x1.y()), std::atan2(d.x(), -d.y())};
    for (const int i : {0, 1}) {
      const double exact = reference.number(row, "theta" + std::to_string(i + 1));
      const double measured = exact + std::remainder(angles[i] - exact, 2 * pi);
      const std::string quantity =
          name + ", t = " + reference.text(row, "t") + " s, theta" + std::to_string(i + 1);
      if (name == "10deg_10deg" || t <= 3)
        rows.near(quantity, measured, exact, 1e-6 + rounding, "rad", "double_pendulum_golden.csv");
      else
        rows.report(quantity, measured, "rad", "double_pendulum_golden.csv");  // chaotic, as the table says
    }
  }
}
const Register register_double_pendulum("double_pendulum_golden/rigid", Effort::quick, double_pendulum);

}  // namespace

namespace {

struct RodHit {
  double spin;      ///< [rad/s] of the rod after
  double reaction;  ///< [N s] of the hinge on the rod, along the ball's way
  double exact;     ///< [rad/s] m v d / (I + m d^2); for a thin rod, 3 m v d / (M L^2 + 3 m d^2)
  double centre;    ///< [m] of percussion: I / (M L/2); for a thin rod 2 L/3
};
/// A ball of 2 m/s hits a rod of 1 m at `distance` from its hinge.
RodHit hit_rod(double dt, double distance, double half_width) {
  const double speed = 2, radius = 0.1;
  BodySpec rod = box(Vec3(Real(half_width), Real(0.5), Real(half_width)), Vec3(0, Real(-0.5), 0));
  BodySpec ball = sphere(radius, D3(-0.15 - half_width, -distance, 0));
  ball.velocity = Vec3(Real(speed), 0, 0);
  ball.friction = rod.friction = 0;
  RigidScene scene({.bodies = {rod, ball}, .joints = {to_world(JointType::hinge, "0", Vec3::Zero())}});
  scene.params.gravity.setZero();
  const double m = 4.0 / 3 * pi * radius * radius * radius * 1000, mass = 4000 * half_width * half_width;
  const double moment = mass * (1 + 4 * half_width * half_width) / 12 + mass / 4;
  RodHit hit{0, 0, m * speed * distance / (moment + m * distance * distance), moment / (mass / 2)};
  for (double t = 0; t < 0.04; t += dt) {
    scene.step(dt);
    hit.spin = scene.state.frames.w[0].z();
    hit.reaction += scene.state.joints.force[0].x() * dt;
  }
  return hit;
}

}  // namespace

void impact(Rows& rows) {
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    const RodHit hit = hit_rod(dt, 0.7, 0.05);
    row("ball into a hanging rod: speed of turning after", hit.spin, hit.exact, 0.01 * hit.exact, "rad/s");
    // Of the blow J = I w/d the hinge bears J (1 - d/centre): reaction d/w is linear in the distance d.
    const double above = 0.6, below = 0.75;
    const RodHit a = hit_rod(dt, above, 0.01), b = hit_rod(dt, below, 0.01);
    const double at_a = a.reaction * above / a.spin, at_b = b.reaction * below / b.spin;
    const double zero = above + (below - above) * at_a / (at_a - at_b);
    row("where a rod is hit and its hinge feels nothing, from it", zero, a.centre, 0.01 * a.centre, "m");
  });
}

namespace {

/// A wheel with a motor of bounded torque, and a slider on a spring.
void drives(Rows& rows) {
  {
    BodySpec wheel;
    wheel.shapes[0].shape = Form::cylinder, wheel.shapes[0].radius = Real(0.2),
    wheel.shapes[0].half_height = Real(0.05);
    JointSpec hinge = to_world(JointType::hinge, "0", Vec3::Zero(), Vec3::UnitY());
    hinge.motion.drive = rigid::Drive::velocity, hinge.motion.speed = 1000, hinge.motion.strength = 2;
    RigidScene scene({.bodies = {wheel}, .joints = {hinge}});
    const double moment = pi * 0.04 * 0.1 * 1000 * 0.04 / 2;
    for (int k = 0; k < 60; ++k) scene.step();
    rows.near("wheel, 2 N m for 1 s: speed", scene.state.frames.w[0].y(), 2 / moment, 1e-4 * 2 / moment,
              "rad/s", "M t / I");
    rows.near("its torque", scene.state.joints.torque[0].y(), 2, 1e-4, "N m", "the motor's strength");
    rows.near("weight on its bearing", scene.state.joints.force[0].y(), pi * 0.04 * 0.1 * 1000 * g, 1e-3, "N",
              "m g");
  }
  {
    // A spring of 1 Hz, hung at rest: it sinks by m g / k.
    JointSpec slider = to_world(JointType::slider, "0", Vec3::Zero(), Vec3::UnitY());
    const double mass = 1000, stiffness = mass * 4 * pi * pi;
    slider.motion.drive = rigid::Drive::spring, slider.motion.stiffness = Real(stiffness);
    slider.motion.damping = Real(2 * std::sqrt(stiffness * mass));
    RigidScene scene({.bodies = {unit_box(0, 0, 0)}, .joints = {slider}});
    for (int k = 0; k < 300; ++k) scene.step();
    const double sag = mass * g / stiffness;
    rows.near("box on a spring of 1 Hz: sinks by", -scene.state.frames.x[0].y(), sag, 1e-3 * sag, "m",
              "m g / k");
  }
  {
    // And along its rail down a slope of 30 degrees, freely.
    const double angle = pi / 6;
    JointSpec slider = to_world(JointType::slider, "0", Vec3::Zero(),
                                Vec3(Real(std::cos(angle)), Real(-std::sin(angle)), 0));
    RigidScene scene({.bodies = {unit_box(0, 0, 0)}, .joints = {slider}});
    for (int k = 0; k < 60; ++k) scene.step();
    const double v = scene.state.frames.v[0].norm();
    rows.near("box down a rail of 30 degrees for 1 s: speed", v, g * std::sin(angle), 1e-4 * g, "m/s",
              "g sin(th) t");
  }
}
const Register register_drives("rigid/drives", Effort::quick, drives);

/// The chain of a hundred joints with a hundred times heavier end, for ten seconds.
void chains(Rows& rows) {
  for (const bool level : {false, true}) {
    RigidScene scene = chain_scene(level);
    ChainErrors worst;
    for (int k = 0; k < 600; ++k) {
      scene.step();
      const ChainErrors now = chain_errors(scene);
      worst.gap = now.gap > worst.gap ? now.gap : worst.gap;
      worst.stretch = now.stretch > worst.stretch ? now.stretch : worst.stretch;
    }
    const std::string name = level ? "chain let go level: " : "chain hanging: ";
    rows.at_most(name + "largest stretch", worst.stretch, 1e-4, "1", "bar: a chain does not stretch");
    // A ten-thousandth of its length.
    rows.at_most(name + "largest gap of a joint", worst.gap, 1e-4, "m", "bar: joints do not gape");
    double height = scene.state.frames.x.back().y();
    rows.at_least(name + "height of its end", height, 9.94, "m", "no lower than its length");
  }
}
const Register register_chains("rigid/chain", Effort::quick, chains);

}
}  // namespace plenum::validation
