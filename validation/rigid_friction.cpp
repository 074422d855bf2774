// Rolling and sliding of rigid bodies against closed forms, and the same in all sizes and densities.
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

/// A round body of radius 0.1 m with a moment `gyration` m r^2 about the axis that it rolls about.
struct Roller {
  const char* name;
  double gyration;
  bool ball;
};
constexpr Roller solid_ball{"ball", 0.4, true}, shell{"shell", 2.0 / 3, true}, disk{"disk", 0.5, false},
    hoop{"hoop", 1, false};

/// The roller, its middle at `at`, on `floor`.
RigidScene rolling(const Roller& roller, const BodySpec& floor, const D3& at, const D3& velocity) {
  BodySpec body = sphere(0.1, at);
  if (!roller.ball) {
    body.shapes[0].shape = rigid::Form::cylinder;
    body.shapes[0].half_height = Real(0.05);
    body.rotation = Vec3(90, 0, 0);
  }
  body.friction = floor.friction;
  body.velocity = velocity.cast<Real>();
  RigidScene scene({.bodies = {floor, body}});
  // About every axis as about the one that turns.
  scene.set_inertia(1, D3::Constant(roller.gyration * 0.01 / double(scene.state.frames.inverse_mass[1])));
  return scene;
}
double slip_of(const RigidScene& scene, const D3& along) {
  const D3 v = scene.state.frames.v[1].cast<double>();
  return v.dot(along) + 0.1 * double(scene.state.frames.w[1].z());
}

void slide_until_roll(Rows& rows) {
  for (const Roller& roller : {disk, hoop})
    at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
      BodySpec floor = floor_box();
      floor.friction = Real(0.2);
      RigidScene scene = rolling(roller, floor, D3(0, 0.1, 0), D3(2, 0, 0));
      for (double t = 0; t < 1; t += dt) scene.step(dt);
      // 2/3 of the speed of the disk, 1/2 of the hoop's.
      const double v = roller.gyration == 1 ? 0.5 * 2 : expected("cylinder_slide_to_roll", "final v (m/s)");
      row(std::string(roller.name) + " sliding at 2 m/s: speed once it rolls", scene.state.frames.v[1].x(), v,
          0.01 * v, "m/s");
    });
}

RigidScene on_slope(const Roller& roller, double angle, double friction) {
  return rolling(roller, slope(angle, friction), D3(0.1 * std::sin(angle), 0.1 * std::cos(angle), 0),
                 D3::Zero());
}

void roll_down(Rows& rows) {
  for (const Roller& roller : {shell, disk, hoop})
    at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
      const double angle = 20 * pi / 180, part = 1 / (1 + roller.gyration);
      RigidScene scene = on_slope(roller, angle, 0.5);
      for (double t = 0; t < 1 - dt / 2; t += dt) scene.step(dt);
      const double v = scene.state.frames.v[1].cast<double>().dot(down(angle));
      row(std::string(roller.name) + " rolling down 20 degrees: part of g sin(th)", v / (g * std::sin(angle)),
          part, 0.005 * part, "1");
    });
  // It slips where tan(th) > (1 + 1/gyration) mu: by g cos(th) (tan(th) - that) t.
  for (const Roller& roller : {solid_ball, shell, disk, hoop})
    at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
      constexpr double friction = 0.1;
      const double limit = (1 + 1 / roller.gyration) * friction;
      double rolls = 0.9 * limit, slips = 1.1 * limit;
      while (slips - rolls > 1e-3 * limit) {
        const double middle = (rolls + slips) / 2, angle = std::atan(middle);
        RigidScene scene = on_slope(roller, angle, friction);
        for (double t = 0; t < 0.5; t += dt) scene.step(dt);
        (slip_of(scene, down(angle)) > 1e-3 ? slips : rolls) = middle;
      }
      row(std::string(roller.name) + " on a slope, mu 0.1: tangent at which it slips", slips, limit,
          0.005 * limit, "1");
    });
}

/// Slope [rad] at which a block slides more than 5 cm in 5 s, at 1/60 s.
double slide_angle(double size = 1, double density = 1000) {
  constexpr double friction = 0.5;
  double sticks = 25 * pi / 180, slides = 28 * pi / 180;
  while (slides - sticks > 0.002 * pi / 180) {
    const double angle = (sticks + slides) / 2;
    const BodySpec plane = slope(angle, friction, size);
    BodySpec block = box(Vec3(Real(0.5), Real(0.25), Real(0.5)) * Real(size),
                         Vec3(Real(0.25 * std::sin(angle)), Real(0.25 * std::cos(angle)), 0) * Real(size));
    block.rotation = plane.rotation;
    block.friction = plane.friction;
    block.density = Real(density);
    RigidScene scene({.bodies = {plane, block}});
    const D3 start = scene.state.frames.x[1].cast<double>();
    double slid = 0;
    for (int k = 0; k < 300 && slid <= 0.05; ++k) {
      scene.step();
      slid = (scene.state.frames.x[1].cast<double>() - start).dot(down(angle));
    }
    (slid > 0.05 ? slides : sticks) = angle;
  }
  return (sticks + slides) / 2;
}
/// The same by Coulomb's friction: g (sin - 0.5 cos) (5 s)^2/2 = 5 cm, about atan(0.5).
double exact_slide_angle() {
  const double a = 2 * 0.05 / 25;
  return std::asin(a / (g * std::sqrt(1.25))) + std::atan(0.5);
}

void critical_slope(Rows& rows) {
  rows.near("block, mu 0.5: slope at which it slides 5 cm in 5 s, at 1/60 s", slide_angle() * 180 / pi,
            exact_slide_angle() * 180 / pi, 0.05, "deg", "Coulomb; g (sin(th) - mu cos(th)) t^2/2");
}

/// The test of another engine, with its tolerances: from 20 m/s, after 1 s, at 60 Hz.
void slow_down(Rows& rows) {
  BodySpec block = box(Vec3::Constant(Real(0.1)), Vec3(0, Real(0.1), 0));
  block.velocity = Vec3(20, 0, 0);
  BodySpec floor = floor_box();
  floor.friction = block.friction = Real(0.3);
  RigidScene scene({.bodies = {floor, block}});
  for (int k = 0; k < 60; ++k) scene.step();
  const char* const source = "rigid_body.csv; Jolt TestFriction";
  rows.near("block at 20 m/s, mu 0.3: way in 1 s, at 1/60 s", scene.state.frames.x[1].x(), 20 - 0.3 * g / 2,
            1e-2, "m", source);
  rows.near("block at 20 m/s, mu 0.3: speed after 1 s, at 1/60 s", scene.state.frames.v[1].x(), 20 - 0.3 * g,
            2e-2, "m/s", source);
}

/// The slope [rad] at which a box of width 0.5 m and height 1 m that stands across a plane, raised by a
/// degree a second from 10 degrees, slides by 1 cm or leans by a degree. Gravity turns instead of the plane.
double gives_way(double dt, double friction, bool& slid) {
  BodySpec block = box(Vec3(Real(0.25), Real(0.5), Real(0.25)), Vec3(0, Real(0.5), 0)), floor = floor_box();
  block.friction = floor.friction = Real(friction);
  RigidScene scene({.bodies = {floor, block}});
  double angle = 10 * pi / 180;
  for (; angle < 0.8; angle += dt * pi / 180) {
    scene.params.gravity = Vec3(Real(g * std::sin(angle)), Real(-g * std::cos(angle)), 0);
    scene.step(dt);
    const double lean = std::abs(2 * scene.state.frames.q[1].z());
    slid = scene.state.frames.x[1].x() - 0.5 * lean > 0.01;
    if (slid || lean > pi / 180) break;
  }
  return angle;
}

void tip_or_slide(Rows& rows) {
  for (const double friction : {0.3, 0.45, 0.55, 0.8})
    at_both_steps(rows, 1.0 / 600, [&](double dt, auto&& row) {
      bool slid = false;
      const double angle = gives_way(dt, friction, slid);
      const std::string name =
          "box 0.5 x 1 m on a plane that is raised, mu " + std::to_string(friction).substr(0, 4);
      row(name + ": gives way at", angle * 180 / pi, std::atan(std::min(friction, 0.5)) * 180 / pi, 2, "deg");
      row(name + ": slides (1) or tips (0)", slid, friction < 0.5, 0, "1");
    });
}

/// A ball that spins about the vertical, c = 2 mm: its spin falls by c g/(0.4 r^2) a second, to rest.
void spin_down(Rows& rows) {
  for (const double dt : {1.0 / 600, 1.0 / 60}) {
    constexpr double c = 0.002, start = 10, rate = c * g / (0.4 * 0.1 * 0.1);
    BodySpec ball = sphere(0.1, D3(0, 0.1, 0));
    ball.spinning_friction = Real(c);
    ball.angular_velocity = Vec3(0, Real(start), 0);
    RigidScene scene({.bodies = {floor_box(), ball}});
    const auto spin_at = [&](double t) {
      while (scene.state.time < t - dt / 2) scene.step(dt);
      return double(scene.state.frames.w[1].y());
    };
    const std::string name = "ball spinning at 10 rad/s, 2 mm of spinning friction, steps of 1/" +
                             std::to_string(std::lround(1 / dt)) + " s: ";
    const char* const source = "c m g/I";
    rows.near(name + "spin lost a second", (start - spin_at(1.5)) / 1.5, rate, 0.005 * rate, "rad/s^2",
              source);
    // It stops after 2.04 s.
    rows.near(name + "spin after 3 s", spin_at(3), 0, 1e-4 * start, "rad/s", source);
    rows.near(name + "way in 3 s", scene.state.frames.x[1].cast<double>().cwiseProduct(D3(1, 0, 1)).norm(), 0,
              1e-4, "m", "symmetry");
  }
}

void friction(Rows& rows) {
  for (const auto part : {slide_until_roll, roll_down, critical_slope, slow_down, tip_or_slide, spin_down})
    part(rows);
}
const Register register_friction("rigid/friction", Effort::quick, friction);

/// Stacks, slopes and bounces of sizes and densities that differ by 10^4, at 1/60 s.
void scales(Rows& rows) {
  struct Scale {
    double size, density;
  };
  for (const Scale& scale :
       {Scale{0.01, 1000}, {0.1, 1000}, {10, 1000}, {100, 1000}, {1, 1}, {1, 1e4}, {0.01, 1e4}, {100, 1}}) {
    const double size = scale.size;
    char name[60];
    std::snprintf(name, sizeof name, "%g m, %g kg/m^3: ", size, scale.density);
    const auto resized = [&](BodySpec body) {
      body.shapes[0].half_extents *= Real(size), body.shapes[0].radius *= Real(size);
      body.position *= Real(size);
      if (body.motion == rigid::Motion::dynamic) body.density = Real(scale.density);
      return body;
    };
    const auto stand = [&](int boxes) {
      Rigid::Spec spec = stack(boxes);
      for (BodySpec& body : spec.bodies) body = resized(body);
      RigidScene scene(spec);
      for (int k = 0; k < 600; ++k) scene.step();
      for (Vec3& x : scene.state.frames.x) x /= Real(size);
      return stack_errors(scene);
    };
    const StackErrors five = stand(5), ten = stand(10);
    const std::string sunk = " boxes, part of a box sunk in 10 s", drifted = " boxes, part of a box drifted";
    rows.at_most(std::string(name) + "five" + sunk, five.height_loss, 0.01, "1", "bar: as of boxes of 1 m");
    rows.at_most(std::string(name) + "five" + drifted, five.drift, 0.003, "1", "bar: as of boxes of 1 m");
    rows.at_most(std::string(name) + "ten" + sunk, ten.height_loss, 0.01, "1", "bar: as of boxes of 1 m");
    rows.at_most(std::string(name) + "ten" + drifted, ten.drift, 0.003, "1", "bar: as of boxes of 1 m");
    rows.near(std::string(name) + "block, mu 0.5: slope at which it slides",
              slide_angle(size, scale.density) * 180 / pi, exact_slide_angle() * 180 / pi, 0.05, "deg",
              "Coulomb");
    BodySpec ball = resized(sphere(0.1, D3(0, 1.1, 0)));
    ball.restitution = Real(0.8);
    RigidScene drop({.bodies = {resized(floor_box()), ball}});
    drop.params.restitution_threshold = Real(0.01 * std::sqrt(size));
    const double dt = std::min(std::sqrt(size) / 1200, 1.0 / 60);
    double top = 0, before = 0;
    for (double t = 0; t < 2 * std::sqrt(size) && top == 0; t += dt) {
      drop.step(dt);
      const double v = drop.state.frames.v[1].y();
      if (before > 0 && v <= 0) top = drop.state.frames.x[1].y() / size - 0.1;
      before = v;
    }
    rows.near(std::string(name) + "ball, e = 0.8: part of its height that it comes back to", top, 0.64,
              0.0064, "1", "e^2");
  }
}
const Register register_scales("rigid/scales", Effort::quick, scales);

}}  // namespace plenum::validation
