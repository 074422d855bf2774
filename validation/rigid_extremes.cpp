// Rigid bodies at the ends of what scenes ask for: a thousand times heavier than what they stand on or hang
// from, faster than a wall is thick, two thousand in a bin.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rigid_scenes.h"
#include "validation.h"

namespace plenum::validation { namespace {

/// A unit cube of one mass [kg] on another, as they settle from touching each other, for 20 s.
void two_boxes(Rows& rows, double below, double above) {
  Rigid::Spec spec = stack(2);
  spec.bodies[1].density = Real(below), spec.bodies[2].density = Real(above);
  RigidScene scene(spec);
  double most = 0, now = 0;
  for (int k = 0; k < 1200; ++k) {
    scene.step();
    const double lower = double(scene.state.frames.x[1].y()), upper = double(scene.state.frames.x[2].y());
    now = std::max(0.5 - lower, 1 - (upper - lower));
    if (!(now <= most)) most = now;
  }
  const std::string name = below < above ? "1000 kg on 1 kg: " : "1 kg on 1000 kg: ";
  const char* const standing = "one stands on the other: 1 % of the size";
  rows.at_most(name + "largest overlap in 20 s", most, 0.01, "m", standing);
  rows.at_most(name + "overlap after 20 s", now, 0.01, "m", standing);
  rows.at_most(name + "drift after 20 s", stack_errors(scene).drift, 0.003, "m",
               "bar: best engine measured on a stack, 3 mm");
}

/// Touching cubes, each `ratio` times as heavy as the one below, of 1 cm to 10 m, for 10 s.
void column(Rows& rows, int cubes, double ratio) {
  double overlap = 0, gain = 0;
  for (const double width : {0.01, 0.1, 1.0, 10.0}) {
    Rigid::Spec spec{.bodies = {fixed_box(Vec3::Constant(Real(50 * width)), Vec3(0, Real(-50 * width), 0))}};
    for (int i = 0; i < cubes; ++i) {
      spec.bodies.push_back(box(Vec3::Constant(Real(0.5 * width)), Vec3(0, Real((0.5 + i) * width), 0)));
      spec.bodies.back().density = Real(20 * std::pow(ratio, i));
    }
    RigidScene scene(spec);
    const std::vector<Vec3>& x = scene.state.frames.x;
    const auto energy = [&] {  // of what it may fall, in weights times widths
      double sum = 0, mass = 0;
      for (std::size_t i = 1; i < x.size(); ++i) {
        const double m = 1 / double(scene.state.frames.inverse_mass[i]);
        const double v2 = double(scene.state.frames.v[i].squaredNorm());
        sum += m * (9.81 * double(x[i].y()) + v2 / 2), mass += m;
      }
      return sum / (mass * 9.81 * width);
    };
    const double start = energy();
    for (int k = 0; k < 600; ++k) {
      scene.step();
      gain = std::max(gain, energy() - start);
      for (std::size_t i = 1; i < x.size(); ++i)
        overlap =
            std::max(overlap, 1 - double(x[i].y() - (i == 1 ? Real(-0.5 * width) : x[i - 1].y())) / width);
    }
  }
  const std::string name = fmt::format("{} cubes, each {:g} times as heavy as the one below: ", cubes, ratio);
  rows.at_most(name + "largest overlap, 1 cm to 10 m", overlap, 0.01, "1", "bar: 1 % of the size");
  rows.at_most(name + "largest gain of energy", gain, 1e-5, "M g s", "what falls gains nothing; rounding");
}

/// The chain of a hundred joints, a thousand times heavier at its end, for ten seconds.
void heavy_chain(Rows& rows, bool level) {
  RigidScene scene = chain_scene(level, 100, 1000);
  ChainErrors worst;
  for (int k = 0; k < 600; ++k) {
    scene.step();
    const ChainErrors now = chain_errors(scene);
    if (!(now.gap <= worst.gap)) worst.gap = now.gap;
    if (!(now.stretch <= worst.stretch)) worst.stretch = now.stretch;
  }
  const std::string name = level ? "chain with 1000 kg let go level: " : "chain with 1000 kg hanging: ";
  rows.at_most(name + "largest stretch", worst.stretch, 1e-4, "1", "bar: a chain does not stretch");
  rows.at_most(name + "largest gap of a joint", worst.gap, 1e-4, "m", "bar: joints do not gape");
}

void mass_ratio(Rows& rows) {
  two_boxes(rows, 1000, 1);
  two_boxes(rows, 1, 1000);
  column(rows, 2, 1000);
  column(rows, 2, 1e5);
  column(rows, 4, 10);
  heavy_chain(rows, false);
  heavy_chain(rows, true);
}
const Register register_mass_ratio("rigid/mass-ratio", Effort::quick, mass_ratio);

/// Balls of 1 cm at 300 m/s, 5 m a step, against a wall of 1 mm, from many places within a step.
void tunnelling(Rows& rows) {
  const double wall = 0.3, radius = 0.005, half_thickness = 0.0005;
  int passed = 0, stopped_early = 0;
  for (int k = 0; k < 100; ++k) {
    rigid::BodySpec bullet;
    bullet.shapes[0].shape = rigid::Form::sphere, bullet.shapes[0].radius = Real(radius);
    bullet.position = Vec3(Real(-3 - 0.0517 * k), Real(0.005 * k), 0);
    bullet.velocity = Vec3(300, 0, 0);
    RigidScene scene(
        {.bodies = {fixed_box(Vec3(Real(half_thickness), 1, 1), Vec3(Real(wall), 0, 0)), bullet}});
    scene.params.gravity.setZero();
    double farthest = -1e30;
    for (int n = 0; n < 10; ++n) {
      scene.step();
      farthest = std::max(farthest, double(scene.state.frames.x[1].x()));
    }
    passed += !(farthest < wall);
    stopped_early += farthest < wall - half_thickness - 2 * radius;
  }
  rows.near("of 100 balls of 1 cm at 300 m/s, pass a wall of 1 mm", passed, 0, 0, "1",
            "solids do not pass each other");
  rows.near("stop more than a radius before it", stopped_early, 0, 0, "1", "nothing is there to stop them");
}
const Register register_tunnelling("rigid/tunnelling", Effort::quick, tunnelling);

/// The bin holds what falls into it.
void holds(Rows& rows) {
  RigidScene scene(bin());
  int out = 0;
  for (int k = 0; k < 600; ++k) scene.step();
  for (std::size_t i = 5; i < scene.state.frames.size(); ++i) {
    // The middle of a body within the walls' inner faces, above the floor, below their upper ends.
    const Vec3& x = scene.state.frames.x[i];
    out += !(std::abs(x.x()) < 5 && std::abs(x.z()) < 5 && x.y() > 0 && x.y() < 24);
  }
  rows.near("of 2000 bodies in bin C, outside of it after 10 s", out, 0, 0, "1",
            "solids do not pass each other");
}
const Register register_holds("rigid/bin", Effort::quick, holds);

}}  // namespace plenum::validation
