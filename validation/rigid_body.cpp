// Rigid bodies against closed forms: each at a step fine enough for the row, and at 1/60 s beside it,
// unjudged.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "plenum/base/error.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/world/world.h"
#include "rigid_body.h"
#include "rigid_scenes.h"
#include "validation.h"

namespace plenum::validation {

double expected(const std::string& name, const std::string& quantity) {
  static const Reference table("rigid_body");
  for (std::size_t r = 0; r < table.size(); ++r)
    if (table.text(r, "case") == name && table.text(r, "quantity") == quantity)
      return table.number(r, "value");
  throw Error("no row " + name + ", " + quantity + " in rigid_body.csv");
}

namespace {

using rigid::BodySpec;
using rigid::Form;
using D3 = Vector3<double>;

using std::numbers::pi;

/// A body that slides until it rolls: speed then, time and way.
void slide_to_roll(Rows& rows) {
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    BodySpec ball = sphere(0.1, D3(0, 0.1, 0));
    ball.velocity = Vec3(2, 0, 0);
    BodySpec floor = floor_box();
    ball.friction = floor.friction = Real(0.2);
    RigidScene scene({.bodies = {floor, ball}});
    double rolls_at = 0, way = 0;
    for (double t = 0; t < 1; t += dt) {
      scene.step(dt);
      const double slip = scene.state.frames.v[1].x() + 0.1 * scene.state.frames.w[1].z();
      if (rolls_at == 0 && slip < 0.002) rolls_at = t + dt, way = scene.state.frames.x[1].x();
    }
    const std::string name = "sphere_slide_to_roll";
    const double v = expected(name, "final v (m/s)"), time = expected(name, "time (s)"),
                 distance = expected(name, "distance (m)");
    row("sphere sliding at 2 m/s: speed once it rolls", scene.state.frames.v[1].x(), v, 0.01 * v, "m/s");
    row("sphere sliding at 2 m/s: time until it rolls", rolls_at, time, 0.02 * time, "s");
    row("sphere sliding at 2 m/s: way until it rolls", way, distance, 0.02 * distance, "m");
  });
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    BodySpec ball = sphere(0.1, D3(0, 0.1, 0));
    ball.angular_velocity = Vec3(0, 0, -10);
    RigidScene scene({.bodies = {floor_box(), ball}});
    for (double t = 0; t < 1; t += dt) scene.step(dt);
    const double v = expected("sphere_topspin", "final v (m/s)");
    row("sphere spinning at 10 rad/s: speed once it rolls", scene.state.frames.v[1].x(), v, 0.01 * v, "m/s");
  });
}

/// The acceleration of a block down `what`, with mu 0.3: from rest, by the velocity [m/s] that
/// after_a_second(dt, block, degrees) takes it to.
template <class After>
void block_down(Rows& rows, const std::string& what, After&& after_a_second) {
  at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
    constexpr double degrees = 30, angle = degrees * pi / 180;
    BodySpec block =
        box(Vec3::Constant(Real(0.1)), Vec3(Real(0.1 * std::sin(angle)), Real(0.1 * std::cos(angle)), 0));
    block.rotation = Vec3(0, 0, Real(-degrees));
    block.friction = Real(0.3);
    const double a = after_a_second(dt, block, degrees).template cast<double>().dot(down(angle));
    const double reference = expected("block_slope_acceleration", "a (m/s^2)");
    row("block down " + what + ", mu 0.3: acceleration", a, reference, 0.01 * reference, "m/s^2");
  });
}

void slopes(Rows& rows) {
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    const double angle = 20 * pi / 180;
    BodySpec ball = sphere(0.1, D3(0.1 * std::sin(angle), 0.1 * std::cos(angle), 0));
    RigidScene scene({.bodies = {slope(angle, 0.5), ball}});
    for (double t = 0; t < 1 - dt / 2; t += dt) scene.step(dt);
    const double part = scene.state.frames.v[1].cast<double>().dot(down(angle)) / (g * std::sin(angle));
    const double reference = expected("sphere_rolling_incline", "a/(g sin th)");
    row("sphere rolling down 20 degrees: part of g sin(th)", part, reference, 0.005 * reference, "1");
  });
  block_down(rows, "30 degrees", [](double dt, const BodySpec& block, double degrees) -> Vec3 {
    RigidScene scene({.bodies = {slope(degrees * pi / 180, 0.3), block}});
    for (double t = 0; t < 1 - dt / 2; t += dt) scene.step(dt);
    return scene.state.frames.v[1];
  });
  // On the border itself nothing slows what has begun to slide: what a block gets of speed while it settles,
  // it keeps.
  for (const double dt : {1.0 / 60, 1.0 / 600})
    for (const double friction : {0.5, 0.49}) {
      const double angle = std::atan(0.5);
      BodySpec block = box(Vec3(Real(0.5), Real(0.25), Real(0.5)),
                           Vec3(Real(0.25 * std::sin(angle)), Real(0.25 * std::cos(angle)), 0));
      block.rotation = Vec3(0, 0, Real(-angle * 180 / pi));
      block.friction = Real(friction);
      RigidScene scene({.bodies = {slope(angle, friction), block}});
      const auto run = [&](double seconds) {
        for (int k = 0; k < std::lround(seconds / dt); ++k) scene.step(dt);
      };
      run(1);
      const D3 start = scene.state.frames.x[1].cast<double>();
      run(10);
      const double slid = (scene.state.frames.x[1].cast<double>() - start).norm();
      const std::string at = dt > 0.01 ? ", at 1/60 s" : ", at 1/600 s";
      if (friction == 0.5 && dt < 0.01)  // the row names no step; by this one 2.1 mm in double
        rows.report("block at atan(0.5), mu 0.5: slid in 10 s" + at, slid, "m", "rigid_body.csv: 1e-3");
      else if (friction == 0.5)
        rows.at_most("block at atan(0.5), mu 0.5: slid in 10 s" + at, slid, 1e-3, "m", "rigid_body.csv");
      else
        rows.at_least("block at atan(0.5), mu 0.49: slid in 10 s" + at, slid, 0.05, "m", "rigid_body.csv");
    }
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    BodySpec block = box(Vec3::Constant(Real(0.1)), Vec3(0, Real(0.1), 0));
    block.velocity = Vec3(2, 0, 0);
    BodySpec floor = floor_box();
    floor.friction = block.friction = Real(0.3);
    RigidScene scene({.bodies = {floor, block}});
    for (double t = 0; t < 2; t += dt) scene.step(dt);
    const double reference = expected("block_stop_distance", "d (m)");
    row("block at 2 m/s, mu 0.3: stops after", scene.state.frames.x[1].x(), reference, 0.01 * reference, "m");
  });
}

/// Floors that are flat but cut into triangles, whose inner edges must not be felt.
BodySpec triangulated(bool as_heights, double friction) {
  BodySpec floor;
  floor.motion = rigid::Motion::fixed;
  floor.friction = Real(friction);
  rigid::ShapeSpec& shape = floor.shapes[0];
  if (as_heights) {
    shape.shape = Form::height_field;
    shape.columns = 38;
    shape.grid_spacing = Real(0.27);
    shape.heights.assign(38 * 38, 0);
  } else {
    shape.shape = Form::mesh;
    shape.mesh = grid_mesh(Vec2(10, 10), 37, 37);
  }
  return floor;
}

void triangles(Rows& rows) {
  for (const bool as_heights : {false, true}) {
    const std::string floor = as_heights ? " over a height field" : " over a mesh";
    at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
      BodySpec ball = sphere(0.1, D3(-2, 0.1, -1.01));
      ball.velocity = Vec3(2, 0, 1);
      ball.angular_velocity = Vec3(10, 0, -20);  // rolls already
      RigidScene scene({.bodies = {triangulated(as_heights, 0.5), ball}});
      double jump = 0;
      for (double t = 0; t < 1.5; t += dt) {
        scene.step(dt);
        jump = std::max<double>(jump, std::abs(scene.state.frames.x[1].y() - Real(0.1)));
      }
      const double speed = scene.state.frames.v[1].norm();
      row("ball rolling" + floor + ": speed", speed, std::sqrt(5.0), 1e-3 * std::sqrt(5.0), "m/s");
      row("ball rolling" + floor + ": most it leaves its height", jump, 0, 1e-4, "m");
    });
    at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
      BodySpec block = box(Vec3::Constant(Real(0.1)), Vec3(0, Real(0.1), Real(0.01)));
      block.velocity = Vec3(2, 0, 0);
      block.friction = Real(0.3);
      RigidScene scene({.bodies = {triangulated(as_heights, 0.3), block}});
      for (double t = 0; t < 2; t += dt) scene.step(dt);
      const double reference = expected("block_stop_distance", "d (m)");
      row("block at 2 m/s, mu 0.3," + floor + ": stops after", scene.state.frames.x[1].x(), reference,
          0.01 * reference, "m");
    });
  }
}

/// A block on an obstacle's plane, mu 0.3, in a world: another system's solid instead of a body's.
struct OnObstacle {
  World world;
  SystemOf<Rigid>* bodies;

  OnObstacle(double dt, const BodySpec& block, double degrees)
      : world({.fps = static_cast<Real>(std::round(1 / dt))}) {
    Obstacle::Part plane;
    plane.shape = Obstacle::Kind::plane;
    Obstacle::Model solids;
    Obstacle::State where;
    Obstacle::build({{plane}}, solids, where);
    world.add<Obstacle>("floor", solids, where,
                        {.rotation = Vec3(0, 0, Real(-degrees)), .friction = Real(0.3)});
    Rigid::Model model;
    Rigid::State state;
    Rigid::build({.bodies = {block}}, model, state);
    bodies = &world.add<Rigid>("bodies", model, state);
    bodies->parameters.sleeping = false;
  }
  void run(double seconds) {
    while (world.time() < seconds - 1e-9) world.step_frame();
  }
};

void on_obstacles(Rows& rows) {
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    BodySpec block = box(Vec3::Constant(Real(0.1)), Vec3(0, Real(0.1), 0));
    block.velocity = Vec3(2, 0, 0);
    block.friction = Real(0.3);
    OnObstacle scene(dt, block, 0);
    scene.run(0.5);
    const double slowed = (2 - scene.bodies->state.frames.v[0].x()) / 0.5;
    row("block sliding on an obstacle, mu 0.3: deceleration", slowed, 0.3 * g, 0.01 * 0.3 * g, "m/s^2");
    scene.run(2);
    const double reference = expected("block_stop_distance", "d (m)");
    row("block at 2 m/s on an obstacle, mu 0.3: stops after", scene.bodies->state.frames.x[0].x(), reference,
        0.01 * reference, "m");
  });
  block_down(rows, "an obstacle of 30 degrees", [](double dt, const BodySpec& block, double degrees) -> Vec3 {
    OnObstacle scene(dt, block, degrees);
    scene.run(1);
    return scene.bodies->state.frames.v[0];
  });
  at_both_steps(rows, 1.0 / 600, [](double dt, auto&& row) {
    // A floor that moves on at 2 m/s drags the block along, which falls back by as much as it would slide.
    BodySpec block = box(Vec3::Constant(Real(0.1)), Vec3(0, Real(0.1), 0));
    block.friction = Real(0.3);
    OnObstacle scene(dt, block, 0);
    scene.world.add_keyframes("floor",
                              {"position", Keyframes::Interpolation::linear, {0, 2}, {0, 0, 0, 4, 0, 0}});
    scene.run(1.5);
    const double reference = expected("block_stop_distance", "d (m)");
    row("block on an obstacle that goes at 2 m/s, mu 0.3: falls back by",
        3 - scene.bodies->state.frames.x[0].x(), reference, 0.01 * reference, "m");
  });
}

void bounces(Rows& rows) {
  at_both_steps(rows, 1.0 / 1200, [](double dt, auto&& row) {
    BodySpec ball = sphere(0.1, D3(0, 1.1, 0));
    ball.restitution = Real(0.8);
    RigidScene scene({.bodies = {floor_box(), ball}});
    scene.params.restitution_threshold = Real(0.01);
    double before = 0, top = 0, reference = 1;
    int tops = 0;
    for (double t = 0; t < 6 && tops < 4; t += dt) {
      scene.step(dt);
      const double v = scene.state.frames.v[1].y();
      if (before > 0 && v <= 0) {
        // The height that its speed would still take it to.
        top = scene.state.frames.x[1].y() - 0.1;
        reference *= 0.64;
        row("ball, e = 0.8: height of bounce " + std::to_string(++tops), top, reference, 0.01 * reference,
            "m");
      }
      before = v;
    }
  });
  {
    BodySpec a = sphere(0.1, D3(-0.3, 0, 0)), b = sphere(0.1, D3(0.3, 0, 0));
    a.velocity = Vec3(1, 0, 0);
    b.density = 500;
    a.restitution = b.restitution = Real(0.95);
    RigidScene scene({.bodies = {a, b}});
    scene.params.gravity.setZero();
    scene.params.restitution_threshold = Real(0.01);
    for (int k = 0; k < 120; ++k) scene.step();
    rows.near("spheres head on, 2:1, e = 0.95: speed of the heavy one", scene.state.frames.v[0].x(), 0.35,
              1e-3, "m/s", "closed form, rigid_body.csv");
    rows.near("spheres head on, 2:1, e = 0.95: speed of the light one", scene.state.frames.v[1].x(), 1.3,
              1e-3, "m/s", "closed form, rigid_body.csv");
  }
}

void closed_forms(Rows& rows) {
  for (const auto part :
       {slide_to_roll, slopes, triangles, on_obstacles, bounces, free_tops, tops_on_pivots, impact})
    part(rows);
}
const Register register_closed_forms("rigid_body/rigid", Effort::quick, closed_forms);

void spin_f(Rows& rows) {
  RigidScene scene(spinning_box());
  scene.params.gravity.setZero();
  int flips = 0;
  double last = 1, energy0 = 0, energy = 0;
  const D3 inertia = scene.model.inertia[0].cast<double>();
  for (int k = 0; k < 3600; ++k) {
    if (k == 0) {
      const D3 w = scene.body_spin();
      energy0 = w.dot(inertia.cwiseProduct(w)) / 2;
    }
    scene.step();
    const D3 w = scene.body_spin();
    if (w.y() * last < 0) ++flips;
    last = w.y();
    energy = w.dot(inertia.cwiseProduct(w)) / 2;
  }
  rows.near("free box about its middle axis: flips in 60 s", flips, 12, 0, "1",
            "Landau & Lifshitz, Mechanics, 37");
  rows.near("free box: energy after 60 s over that at the start", energy / energy0, 1, 2e-4, "1",
            "conserved");
}
const Register register_spin_f("rigid/spin", Effort::quick, spin_f);

void stand(Rows& rows, int boxes) {
  RigidScene scene(stack(boxes));
  for (int k = 0; k < 1200; ++k) scene.step();
  const StackErrors errors = stack_errors(scene);
  rows.at_most("height lost after 20 s", errors.height_loss, 0.01, "m", "bar: a rigid stack loses none");
  if (boxes == 20)
    rows.at_most("drift after 20 s", errors.drift, 0.003, "m", "bar: best engine measured, 3 mm");
  if (boxes == 40) rows.report("drift after 20 s", errors.drift, "m", "a rigid stack does not drift");
}
const Register register_stack_20("rigid/stack-20", Effort::quick, [](Rows& rows) { stand(rows, 20); });
const Register register_stack_40("rigid/stack-40", Effort::quick, [](Rows& rows) { stand(rows, 40); });

}
}  // namespace plenum::validation
