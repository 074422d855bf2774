// Bounces of rigid bodies against closed forms.
#include <algorithm>
#include <array>
#include <cmath>

#include "rigid_body.h"
#include "rigid_scenes.h"
#include "validation.h"

namespace plenum::validation { namespace {

using rigid::BodySpec;
using D3 = Vector3<double>;

/// Free fall by symplectic Euler, one part a step, and a throw.
void flights(Rows& rows) {
  RigidScene fall({.bodies = {sphere(0.1, D3::Zero())}});
  fall.params.substeps = 1;
  double worst = 0;
  constexpr double dt = 1.0 / 60;
  for (int n = 1; n <= 60; ++n) {
    fall.step(dt);
    const double exact = -g * dt * dt * n * (n + 1) / 2;
    worst = std::max(worst, std::abs(fall.state.frames.x[0].y() / exact - 1));
  }
  rows.at_most("free fall for 1 s, one part a step: error of -g dt^2 n(n+1)/2", worst, 1e-5, "1",
               "closed form, rigid_body.csv");
  RigidScene parts({.bodies = {sphere(0.1, D3::Zero())}});
  for (int n = 0; n < 60; ++n) parts.step(dt);
  rows.report("the same by the default sub-steps: what it fell in 1 s, over g t^2/2",
              -parts.state.frames.x[0].y() / (g / 2), "1", "one part a step: 1 + 1/60");
  at_both_steps(rows, 1.0 / 1200, [](double step, auto&& row) {
    BodySpec ball = sphere(0.1, D3::Zero());
    ball.velocity = Vec3(1, 1, 0) * std::sqrt(Real(2));
    RigidScene scene({.bodies = {ball}});
    double range = 0;
    D3 before = D3::Zero();
    for (double t = 0; t < 1 && range == 0; t += step) {
      scene.step(step);
      const D3 now = scene.state.frames.x[0].cast<double>();
      if (now.y() <= 0) range = before.x() + (now.x() - before.x()) * before.y() / (before.y() - now.y());
      before = now;
    }
    const double reference = expected("projectile_range", "R (m)");
    row("thrown at 45 degrees and 2 m/s: range", range, reference, 1e-3 * reference, "m");
  });
}

/// A ball dropped from 1 m with e = 0.8, until it rests.
void until_rest(Rows& rows) {
  at_both_steps(rows, 1.0 / 1200, [](double dt, auto&& row) {
    BodySpec ball = sphere(0.1, D3(0, 1.1, 0));
    ball.restitution = Real(0.8);
    RigidScene scene({.bodies = {floor_box(), ball}});
    scene.params.restitution_threshold = Real(0.002);
    double moved = 0, way = 0, height = scene.state.frames.x[1].y();
    for (double t = 0; t < 6; t += dt) {
      scene.step(dt);
      way += std::abs(scene.state.frames.x[1].y() - height), height = scene.state.frames.x[1].y();
      // Bounces slower than that take 0.02 s in all.
      if (std::abs(scene.state.frames.v[1].y()) > 0.02) moved = t + dt;
    }
    const double time = expected("bouncing_ball_total_time", "s"),
                 path = expected("bouncing_ball_total_path", "m");
    row("ball, e = 0.8: time until it rests", moved, time, 0.02 * time, "s");
    row("ball, e = 0.8: way until it rests", way, path, 0.02 * path, "m");
  });
}

/// Five equal balls, `gap` apart, of which the first `moving` go at 1 m/s; e = 1.
void cradle(Rows& rows, int moving, double gap, double tolerance) {
  at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
    Rigid::Spec spec;
    for (int i = 0; i < 5; ++i) {
      BodySpec ball = sphere(0.1, D3((0.2 + gap) * i - (i < moving ? 0.05 : 0), 0, 0));
      ball.velocity = Vec3(i < moving, 0, 0);
      ball.restitution = 1;
      spec.bodies.push_back(ball);
    }
    RigidScene scene(spec);
    scene.params.gravity.setZero();
    scene.params.restitution_threshold = Real(0.01);
    for (double t = 0; t < 0.2; t += dt) scene.step(dt);
    const std::string name =
        "cradle, " + std::to_string(moving) + " in" + (gap > 0 ? ", with small gaps: " : ": ");
    double energy = 0, error = 0;
    for (int i = 0; i < 5; ++i) {
      const double v = scene.state.frames.v[i].x();
      error = std::max(error, std::abs(v - (i >= 5 - moving)));
      energy += scene.state.frames.v[i].cast<double>().squaredNorm();
    }
    row(name + "largest error of the five speeds", error, 0, tolerance, "m/s");
    row(name + "energy left", energy / moving, 1, 0.01, "1");
  });
}

void impacts(Rows& rows) {
  flights(rows);
  until_rest(rows);
  for (const double gap : {0.0, 1e-4}) {
    cradle(rows, 1, gap, 0.01);
    cradle(rows, 2, gap, 0.02);
  }
}
const Register register_impacts("rigid/impacts", Effort::quick, impacts);

}}  // namespace plenum::validation
