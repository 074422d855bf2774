// Speed of rigid bodies on the scenes that engines are compared by.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench.h"
#include "rigid_scenes.h"

namespace plenum::bench { namespace {

using validation::RigidScene;
using Clock = std::chrono::steady_clock;

/// Least mean [ms] of three runs of `steps` steps from the start, and the worst step of the best run.
RigidScene run(Session& session, const Rigid::Spec& spec, int steps) {
  double best = 1e30, worst = 0;
  RigidScene scene(spec);
  for (int repeat = 0; repeat < 3; ++repeat) {
    scene = RigidScene(spec);
    double total = 0, longest = 0;
    for (int k = 0; k < steps; ++k) {
      const auto start = Clock::now();
      scene.step();
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      total += ms, longest = std::max(longest, ms);
    }
    if (total < best) best = total, worst = longest;
  }
  session.figure("ms_per_step", best / steps, "ms");
  session.figure("worst_ms", worst, "ms");
  return scene;
}

/// Farthest that a body has moved.
double displacement(const RigidScene& scene, const Rigid::Spec& spec) {
  double largest = 0;
  for (std::size_t i = 0; i < spec.bodies.size(); ++i)
    largest = std::max<double>(largest, (scene.state.frames.x[i] - spec.bodies[i].position).norm());
  return largest;
}

void a(Session& session) {
  const Rigid::Spec spec = validation::pyramid();
  session.figure("max_displacement_m", displacement(run(session, spec, 600), spec), "m");
}
const Register register_a("rigid/A", a);

void b(Session& session) {
  run(session, validation::cube(), 600);
}
const Register register_b("rigid/B", b);

void c(Session& session) {
  run(session, validation::bin(), 600);
}
const Register register_c("rigid/C", c);

void d(Session& session) {
  const RigidScene scene = run(session, validation::stack(), 1200);
  const validation::StackErrors errors = validation::stack_errors(scene);
  session.figure("height_loss_m", errors.height_loss, "m");
  session.figure("drift_m", errors.drift, "m");
}
const Register register_d("rigid/D", d);

void large_pyramid(Session& session) {
  const Rigid::Spec spec = validation::pyramid(100);
  session.figure("max_displacement_m", displacement(run(session, spec, 200), spec), "m");
}
const Register register_large_pyramid("rigid/pyramid-5050", large_pyramid);

}}  // namespace plenum::bench
