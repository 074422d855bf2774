// Rigid bodies at the ends of what scenes ask for: a thousand times heavier than what they stand on or hang
// from, faster than a wall is thick, two thousand in a bin.
#include <algorithm>
#include <cmath>

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
