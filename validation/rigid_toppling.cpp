// Blocks that rock, topple and lean over an edge, against closed forms.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "rigid_body.h"
#include "rigid_scenes.h"
#include "validation.h"

namespace plenum::validation { namespace {

using rigid::BodySpec;
using D3 = Vector3<double>;

using std::numbers::pi;

/// A block of width 0.2 m and height 1 m, turned by `angle` [rad] about its lower edge at the origin, on a
/// floor that it does not slide on.
RigidScene leaning_block(double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  BodySpec block =
      box(Vec3(Real(0.1), Real(0.5), Real(0.1)), Vec3(Real(-0.1 * c + 0.5 * s), Real(0.1 * s + 0.5 * c), 0));
  block.rotation = Vec3(0, 0, Real(-angle * 180 / pi));
  BodySpec floor = floor_box();
  block.friction = floor.friction = 2;
  return RigidScene({.bodies = {floor, block}});
}
double lean_of(const RigidScene& scene) {
  const D3 up = scene.state.frames.rotation(1).cast<double>() * D3(0, 1, 0);
  return std::atan2(up.x(), up.y());
}

void critical_lean(Rows& rows) {
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    double returns = 10 * pi / 180, falls = 13 * pi / 180;
    while (falls - returns > 0.01 * pi / 180) {
      const double angle = (returns + falls) / 2;
      RigidScene scene = leaning_block(angle);
      double now = angle;
      for (double t = 0; t < 5 && now > angle / 2 && now < 2 * angle; t += dt)
        scene.step(dt), now = lean_of(scene);
      (now > angle ? falls : returns) = angle;
    }
    const double exact = expected("toppling_domino_critical_angle", "deg");
    row("domino: lean at which it topples", (returns + falls) / 2 * 180 / pi, exact, 0.01 * exact, "deg");
  });
}

void rocking(Rows& rows) {
  at_both_steps(rows, 1.0 / 2400, [](double dt, auto&& row) {
    const double slenderness = std::atan(0.2), start = slenderness / 2;
    RigidScene scene = leaning_block(start);
    double lean = start, upright_at = 0, before = 0, t = 0;
    for (; t < 2 && upright_at == 0; t += dt) {
      before =
          std::max(before, double(scene.state.frames.w[1].z()));  // it turns ever faster until it strikes
      const double last = lean;
      scene.step(dt);
      lean = lean_of(scene);
      if (lean <= 0) upright_at = t + dt * last / (last - lean);
    }
    // Then it turns about its other edge, ever slower; how fast at first follows from two steps later.
    const double first = scene.state.frames.w[1].z();
    scene.step(dt);
    const double second = scene.state.frames.w[1].z(),
                 after = first + (first - second) * (t - upright_at) / dt;
    const double p = expected("rocking_block_frequency", "p (1/s)"),
                 ratio = expected("rocking_block_restitution", "omega+/omega-");
    row("rocking block: acosh(1/(1 - th0/alpha)) over a quarter period",
        std::acosh(1 / (1 - start / slenderness)) / upright_at, p, 0.02 * p, "1/s");
    row("rocking block: part of its turning that it keeps as it changes edges", after / before, ratio,
        0.03 * ratio, "1");
  });
}

/// `bricks` of 1 m leaning over the edge of a table by `part` of what the harmonic series allows. By how much
/// the top one has come down after five seconds [m].
double overhang_lost(double dt, int bricks, double part) {
  Rigid::Spec spec{.bodies = {fixed_box(Vec3(2, Real(0.5), 2), Vec3(-2, Real(-0.5), 0))}};
  double end = 0;  // of the brick below
  for (int i = 0; i < bricks; ++i) {
    end += part * 0.5 / (bricks - i);
    spec.bodies.push_back(
        box(Vec3(Real(0.5), Real(0.1), Real(0.25)), Vec3(Real(end - 0.5), Real(0.1 + 0.2 * i), 0)));
  }
  RigidScene scene(spec);
  const double before = scene.state.frames.x.back().y();
  for (double t = 0; t < 5; t += dt) scene.step(dt);
  return before - scene.state.frames.x.back().y();
}

void overhang(Rows& rows) {
  const std::string source = "harmonic series, rigid_body.csv";
  for (int bricks = 1; bricks <= 4; ++bricks) {
    const std::string name = std::to_string(bricks) + " bricks over an edge by ";
    rows.at_most(name + "0.98 of the limit: top lowered in 5 s", overhang_lost(1.0 / 600, bricks, 0.98), 0.01,
                 "m", source);
    rows.at_least(name + "1.02 of the limit: top lowered in 5 s", overhang_lost(1.0 / 600, bricks, 1.02), 0.1,
                  "m", source);
    rows.report(name + "0.98, at 1/60 s", overhang_lost(1.0 / 60, bricks, 0.98), "m", source);
    rows.report(name + "1.02, at 1/60 s", overhang_lost(1.0 / 60, bricks, 1.02), "m", source);
  }
}

/// A heavy box on a light one, both of 1 m, for 10 s.
void mass_ratios(Rows& rows) {
  for (const double ratio : {10.0, 100.0, 1000.0}) {
    Rigid::Spec spec = stack(2);
    spec.bodies[2].density = Real(1000 * ratio);
    RigidScene scene(spec);
    double deepest = 0;
    for (int k = 0; k < 600; ++k) {
      scene.step();
      deepest = std::max(deepest, stack_errors(scene).height_loss);
    }
    const std::string name =
        "box of " + std::to_string(int(ratio)) + " times the mass on a light one, at 1/60 s: ";
    rows.report(name + "most it sinks", deepest, "m", "rigid_body.csv: report");
    rows.report(name + "sunk after 10 s", stack_errors(scene).height_loss, "m", "rigid_body.csv: report");
  }
}

void toppling(Rows& rows) {
  for (const auto part : {critical_lean, rocking, overhang, mass_ratios}) part(rows);
}
const Register register_toppling("rigid/toppling", Effort::quick, toppling);

}}  // namespace plenum::validation
