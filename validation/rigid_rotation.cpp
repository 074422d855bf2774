// Bodies that turn freely and about a pivot, against closed forms.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/integrate/free_rotation.h"
#include "rigid_body.h"
#include "rigid_scenes.h"
#include "rounding.h"
#include "validation.h"

namespace plenum::validation {
namespace {

using rigid::BodySpec;
using D3 = Vector3<double>;

using std::numbers::pi;

const char* const closed_form = "closed form, rigid_body.csv";

/// A body of these principal moments about the origin [kg m^2].
RigidScene free_top(const D3& inertia, const D3& spin) {
  RigidScene scene({.bodies = {sphere(0.1, D3::Zero())}});
  scene.set_inertia(0, inertia);
  scene.state.frames.w[0] = spin.cast<Real>();
  scene.params.gravity.setZero();
  return scene;
}

/// Adds up an angle [rad] that turns by less than half a circle from one look to the next.
struct TurnCounter {
  double angle = 0, last = 0;
  void look(double now) { angle += std::remainder(now - last, 2 * pi), last = now; }
};

void symmetric_top(Rows& rows) {
  const std::string name = "torque_free_symmetric_top";
  at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
    RigidScene scene = free_top(D3(1, 1, 2), D3(0.1, 0, 1));
    const double rate = expected(name, "body precession rate (rad/s)"),
                 period = expected(name, "body precession period (s)"),
                 space = expected(name, "space precession rate (rad/s)");
    const D3 momentum = D3(0.1, 0, 2).normalized(), across(0, 1, 0), along = across.cross(momentum);
    TurnCounter in_body, in_space;
    const auto look = [&] {
      const D3 w = scene.body_spin(), axis = scene.state.frames.rotation(0).cast<double>() * D3(0, 0, 1);
      in_body.look(std::atan2(w.y(), w.x()));
      in_space.look(std::atan2(axis.dot(across), axis.dot(along)));
    };
    look();
    in_body.angle = in_space.angle = 0;
    const int steps = static_cast<int>(std::lround(10 / dt));
    for (int k = 0; k < steps; ++k) scene.step(dt), look();
    row("symmetric top: precession in the body", std::abs(in_body.angle) / 10, rate, 1e-3 * rate, "rad/s");
    row("symmetric top: its period", 2 * pi * 10 / std::abs(in_body.angle), period, 1e-3 * period, "s");
    row("symmetric top: precession in space", std::abs(in_space.angle) / 10, space, 1e-3 * space, "rad/s");
  });
}

/// Little disturbances of a body about its middle axis, along the way on which they grow.
void middle_axis(Rows& rows) {
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    const double rate = expected("intermediate_axis_growth_rate", "(1/s)"), little = 1e-3, seconds = 4;
    RigidScene scene = free_top(D3(1, 2, 3), D3(little, 1, -rate * little));  // w1' = -w3, w3' = -w1/3
    for (double t = 0; t < seconds - dt / 2; t += dt) scene.step(dt);
    row("free body about its middle axis: growth of disturbances",
        std::log(std::abs(scene.body_spin().x()) / little) / seconds, rate, 0.01 * rate, "1/s");
  });
}

const D3 racket_inertia(1, 2, 3), racket_spin(0.01, 1, 0.01);

struct Conserved {
  double energy;  ///< [J], twice
  D3 momentum;    ///< [kg m^2/s] in space
  double error(const Conserved& start) const {
    return std::max(std::abs(energy / start.energy - 1),
                    std::abs(momentum.squaredNorm() / start.momentum.squaredNorm() - 1));
  }
};
Conserved conserved(const Quaternion<double>& q, const D3& body_spin) {
  const D3 l = racket_inertia.cwiseProduct(body_spin);
  return {body_spin.dot(l), q * l};
}

void racket_period(Rows& rows) {
  RigidScene scene = free_top(racket_inertia, racket_spin);
  const double period = expected("dzhanibekov", "period of omega2 (s)"), dt = 1.0 / 60;
  const auto now = [&] {
    return conserved(scene.state.frames.rotation(0).cast<double>(), scene.body_spin());
  };
  const Conserved start = now();
  double crossed = 0, first = 0, before = 1, energy_error = 0, momentum_error = 0;
  for (int k = 0; k < 6000; ++k) {
    scene.step(dt);
    const Conserved then = now();
    energy_error = std::max(energy_error, std::abs(then.energy / start.energy - 1));
    momentum_error =
        std::max(momentum_error, (then.momentum - start.momentum).norm() / start.momentum.norm());
    const double w = scene.body_spin().y();
    if (before > 0 && w <= 0) {
      const double at = (k + 1 + w / (before - w)) * dt;
      if (first == 0)
        first = at;
      else if (crossed == 0)
        crossed = at - first;
    }
    before = w;
  }
  rows.near("tennis racket: period, at 1/60 s", crossed, period, 0.01 * period, "s", closed_form);
  rows.at_most("tennis racket: energy error over 100 s, at 1/60 s", energy_error, 1e-3, "1", closed_form);
  rows.at_most("tennis racket: error of angular momentum over 100 s, at 1/60 s", momentum_error, 1e-3, "1",
               closed_form);
}

/// By how much a little disturbance of the racket's spin, at any time before `time` [s], has grown until
/// then: root mean square over its time.
double growth(double time) {
  const auto advance = [](D3 w, double seconds) {
    Quaternion<double> q = Quaternion<double>::Identity();
    for (double t = 0; t < seconds - 1e-9; t += 0.01) {
      D3 in_space = q * w;
      rotate_freely<double>(q, racket_inertia, in_space, 0.01);
      w = q.conjugate() * in_space;
    }
    return w;
  };
  constexpr int moments = 20;
  constexpr double little = 1e-6;
  double squares = 0;
  D3 before = racket_spin;
  for (int m = 0; m < moments; ++m) {
    const double left = time * (moments - m) / moments;
    const D3 plain = advance(before, left);
    for (int c = 0; c < 3; ++c)
      squares += ((advance(before + little * D3::Unit(c), left) - plain) / little).squaredNorm() / moments;
    before = advance(before, time / moments);
  }
  return std::sqrt(squares);
}

/// The racket at 1 ms, by the method in double and by the solver, which keeps attitude and spin as Real.
void racket_golden(Rows& rows) {
  const Reference golden("dzhanibekov_golden");
  const double dt = 1e-3, epsilon = std::numeric_limits<Real>::epsilon();
  RigidScene scene = free_top(racket_inertia, racket_spin);
  scene.params.substeps = 1;
  Quaternion<double> q = Quaternion<double>::Identity();
  D3 spin = racket_spin;
  const Conserved start = conserved(q, racket_spin);
  double by_method = 0, drift_of_method = 0, drift = 0;
  int step = 0;
  for (std::size_t r = 0; r < golden.size(); ++r) {
    const double t = golden.number(r, "t");
    for (const int end = static_cast<int>(std::lround(t / dt)); step < end; ++step) {
      rotate_freely<double>(q, racket_inertia, spin, dt);
      scene.step(dt);
      drift_of_method = std::max(drift_of_method, conserved(q, q.conjugate() * spin).error(start));
      drift = std::max(
          drift, conserved(scene.state.frames.rotation(0).cast<double>(), scene.body_spin()).error(start));
    }
    const D3 w(golden.number(r, "w1"), golden.number(r, "w2"), golden.number(r, "w3"));
    const double error = (scene.body_spin() - w).cwiseAbs().maxCoeff();
    if (t <= 20) {
      by_method = std::max(by_method, (D3(q.conjugate() * spin) - w).cwiseAbs().maxCoeff());
      // Rounding turns the attitude and changes the spin; both change the spin that the body sees.
      rows.near("tennis racket, 1 ms: spin at " + golden.text(r, "t") + " s", error, 0,
                1e-4 + rounding_of(step, epsilon) * growth(t), "rad/s", "dzhanibekov_golden.csv");
    }
  }
  rows.at_most("tennis racket, 1 ms, in double: largest error of spin until 20 s", by_method, 1e-4, "rad/s",
               "dzhanibekov_golden.csv");
  rows.at_most("tennis racket, 1 ms, in double: change of 2E and |L|^2 over 40 s", drift_of_method, 1e-6, "1",
               closed_form);
  rows.at_most("tennis racket, 1 ms: change of 2E and |L|^2 over 40 s", drift,
               1e-6 + 2 * rounding_of(step, epsilon), "1", closed_form);

  RigidScene frames = free_top(racket_inertia, racket_spin);
  double spin_error = 0, change = 0;
  int frame = 0;
  for (std::size_t r = 0; r < golden.size(); ++r) {
    const double t = golden.number(r, "t");
    for (const int end = static_cast<int>(std::lround(60 * t)); frame < end; ++frame) {
      frames.step();
      change = std::max(
          change, conserved(frames.state.frames.rotation(0).cast<double>(), frames.body_spin()).error(start));
    }
    const D3 w(golden.number(r, "w1"), golden.number(r, "w2"), golden.number(r, "w3"));
    // Of the table's times those that a frame ends with.
    if (t <= 20 && std::abs(60 * t - frame) < 1e-6)
      spin_error = std::max(spin_error, (frames.body_spin() - w).cwiseAbs().maxCoeff());
  }
  rows.report("tennis racket: largest error of spin until 20 s, at 1/60 s", spin_error, "rad/s",
              "dzhanibekov_golden.csv");
  rows.report("tennis racket: change of 2E and |L|^2 over 40 s, at 1/60 s", change, "1", closed_form);
}
const Register register_racket_golden("dzhanibekov_golden/rigid", Effort::quick, racket_golden);

/// m = 1 kg, 0.1 m from the pivot at the origin, its axis `tilt` [rad] from the vertical; 0.02 kg m^2 about
/// the pivot and 0.005 kg m^2 about its axis. It turns about the vertical at `rate` and about itself so that
/// its spin along the axis is `spin` [rad/s].
RigidScene top_on_pivot(double tilt, double rate, double spin) {
  const D3 axis(std::sin(tilt), std::cos(tilt), 0);
  BodySpec body = sphere(0.05, 0.1 * axis);
  body.density = Real(1 / (4.0 / 3 * pi * 0.05 * 0.05 * 0.05));
  body.rotation = Vec3(0, 0, Real(-tilt * 180 / pi));
  rigid::JointSpec pivot;
  pivot.body_b = "0";
  RigidScene scene({.bodies = {body}, .joints = {pivot}});
  scene.set_inertia(0, D3(0.01, 0.005, 0.01));  // about the centre: 0.02 - m l^2 across
  const D3 w = rate * D3(0, 1, 0) + (spin - rate * std::cos(tilt)) * axis;
  scene.state.frames.w[0] = w.cast<Real>();
  scene.state.frames.v[0] = w.cross(0.1 * axis).cast<Real>();
  return scene;
}

/// Least spin [rad/s] at which an upright top sleeps: tilted by 0.1 degrees, it leans no farther than ten
/// times that in ten seconds. Growing by that much asks for 0.2 % less than the threshold, swinging as far
/// for 0.5 % more.
double sleeping_spin(double dt) {
  const double tilt = 0.1 * pi / 180;
  double falls = 40, sleeps = 80;
  while (sleeps - falls > 0.1) {
    const double spin = (falls + sleeps) / 2;
    RigidScene scene = top_on_pivot(tilt, 0, spin);
    double farthest = 0;
    for (double t = 0; t < 10 && farthest < std::sin(10 * tilt); t += dt) {
      scene.step(dt);
      const Vec3& x = scene.state.frames.x[0];
      farthest = std::max(farthest, std::hypot(double(x.x()), double(x.z())) / 0.1);
    }
    (farthest < std::sin(10 * tilt) ? sleeps : falls) = spin;
  }
  return (falls + sleeps) / 2;
}

}  // namespace

void free_tops(Rows& rows) {
  for (const auto part : {symmetric_top, middle_axis, racket_period}) part(rows);
}

void tops_on_pivots(Rows& rows) {
  for (const char* const root : {"slow", "fast"})
    at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
      const double rate = expected(std::string("gyroscope_steady_precession_") + root, "rad/s");
      RigidScene scene = top_on_pivot(pi / 3, rate, 100);
      TurnCounter turned;
      const int steps = static_cast<int>(std::lround(3 / dt));
      for (int k = 0; k < steps; ++k) {
        scene.step(dt);
        const Vec3& x = scene.state.frames.x[0];
        turned.look(std::atan2(-double(x.z()), double(x.x())));
      }
      row(std::string("top at 60 degrees, 100 rad/s: ") + root + " precession", turned.angle / 3, rate,
          0.01 * rate, "rad/s");
    });
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    const double threshold = expected("sleeping_top_threshold", "omega3 min (rad/s)");
    row("upright top: least spin at which it sleeps", sleeping_spin(dt), threshold, 0.05 * threshold,
        "rad/s");
  });
}

}  // namespace plenum::validation
