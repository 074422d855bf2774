// Speed of rigid bodies on the scenes that engines are compared by.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>

#include "bench.h"
#include "bullet_peer.h"
#include "plenum/solvers/rigid/detail/workspace.h"
#include "referee.h"
#include "rigid_scenes.h"

namespace plenum::bench { namespace {

using validation::RigidScene;
using validation::StackErrors;
using Clock = std::chrono::steady_clock;

/// A scene's bodies at the end, and how far they got.
struct Outcome {
  Overlaps overlaps;
  double displacement = 0;  // [m] sideways, of the body that moved farthest
  StackErrors stack;
};

Outcome judge(const Rigid::Spec& spec, const std::vector<BodyPose>& poses) {
  Outcome outcome{overlaps(spec, poses), 0, validation::stack_errors(poses)};
  for (std::size_t i = 0; i < poses.size(); ++i) {
    const Vector3<double> way = poses[i].position - spec.bodies[i].position.cast<double>();
    outcome.displacement = std::max(outcome.displacement, std::hypot(way.x(), way.z()));
  }
  return outcome;
}

std::vector<BodyPose> poses_of(const RigidScene& scene) {
  std::vector<BodyPose> poses;
  for (std::size_t i = 0; i < scene.state.frames.size(); ++i) {
    const Pose pose = scene.state.frames.pose(Index(i));
    // From the principal frame back to the one that the shapes are given in.
    const Pose& origin = scene.model.origin[i];
    poses.push_back({(pose * origin.position).cast<double>(),
                     (pose.rotation * origin.rotation).cast<double>().normalized()});
  }
  return poses;
}

/// Reports the least mean [ms] of three runs of `steps` steps from the start, and the worst step of the best
/// run; with one thread beside Bullet, the two in turn. Judges how both end.
void run(Session& session, const Rigid::Spec& spec, int steps,
         const std::vector<std::pair<const char*, std::function<double(const Outcome&)>>>& quality) {
  const bool with_peer = session.threads() == 1 && has_bullet();
  if (session.threads() == 1 && !has_bullet())
    std::fprintf(stderr,
                 "bench: Bullet is missing, so there is no peer (Debian: libbullet-dev, then build again)\n");
  double best = 1e30, worst = 0;
  PeerRun peer;
  peer.ms_per_step = 1e30;
  std::vector<BodyPose> poses;
  for (int repeat = 0; repeat < 3; ++repeat) {
    RigidScene scene(spec);
    double total = 0, longest = 0;
    for (int k = 0; k < steps; ++k) {
      const auto start = Clock::now();
      scene.step();
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      total += ms, longest = std::max(longest, ms);
    }
    if (total < best) best = total, worst = longest;
    poses = poses_of(scene);
    if (!with_peer) continue;
    PeerRun again = run_bullet(spec, steps);
    if (again.ms_per_step < peer.ms_per_step) peer = std::move(again);
  }
  const auto figure = [&](const char* metric, double ours, const char* unit, double theirs) {
    session.figure({metric, ours, unit, with_peer ? "Bullet 3.24" : "", theirs});
  };
  figure("ms_per_step", best / steps, "ms", peer.ms_per_step);
  figure("worst_ms", worst, "ms", peer.worst_ms);
  const Outcome ours = judge(spec, poses), theirs = with_peer ? judge(spec, peer.poses) : Outcome{};
  figure("mean_penetration_mm", 1e3 * ours.overlaps.mean, "mm", 1e3 * theirs.overlaps.mean);
  figure("max_penetration_mm", 1e3 * ours.overlaps.largest, "mm", 1e3 * theirs.overlaps.largest);
  for (const auto& [metric, of] : quality) figure(metric, of(ours), "m", of(theirs));
}

double displacement(const Outcome& outcome) {
  return outcome.displacement;
}

void a(Session& session) {
  run(session, validation::pyramid(), 600, {{"max_displacement_m", displacement}});
}
const Register register_a("rigid/A", a);

void b(Session& session) {
  run(session, validation::cube(), 600, {{"max_displacement_m", displacement}});
}
const Register register_b("rigid/B", b);

void c(Session& session) {
  run(session, validation::bin(), 600, {});
}
const Register register_c("rigid/C", c);

void d(Session& session) {
  run(session, validation::stack(), 1200,
      {{"height_loss_m", [](const Outcome& o) { return o.stack.height_loss; }},
       {"drift_m", [](const Outcome& o) { return o.stack.drift; }}});
}
const Register register_d("rigid/D", d);

void chain(Session& session, bool level) {
  validation::ChainErrors worst;
  double best = 1e30, longest = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    RigidScene scene = validation::chain_scene(level);
    double total = 0, slowest = 0;
    for (int k = 0; k < 600; ++k) {
      const auto start = Clock::now();
      scene.step();
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      total += ms, slowest = std::max(slowest, ms);
      const validation::ChainErrors now = validation::chain_errors(scene);
      // Such that what is not a number shows.
      if (!(now.gap <= worst.gap)) worst.gap = now.gap;
      if (!(now.stretch <= worst.stretch)) worst.stretch = now.stretch;
    }
    if (total < best) best = total, longest = slowest;
  }
  session.figure("ms_per_step", best / 600, "ms");
  session.figure("worst_ms", longest, "ms");
  session.figure("stretch", worst.stretch, "1");
  session.figure("joint_gap_m", worst.gap, "m");
}
const Register register_e1("rigid/E1", [](Session& session) { chain(session, false); });
const Register register_e2("rigid/E2", [](Session& session) { chain(session, true); });

void large_pyramid(Session& session) {
  run(session, validation::large_pyramid(), 200, {{"max_displacement_m", displacement}});
}
const Register register_large_pyramid("rigid/pyramid-5050", large_pyramid);

/// 1000 stacks of five boxes that have gone to sleep: what a step costs while nothing moves.
void sleeping(Session& session) {
  Rigid::Spec spec{.bodies = {validation::floor_box()}};
  for (int i = 0; i < 1000; ++i)
    for (int k = 0; k < 5; ++k)
      spec.bodies.push_back(validation::unit_box((i % 32 - 15.5) * 1.5, 0.5 + k, (i / 32 - 15.5) * 1.5));
  RigidScene scene(spec);
  scene.params.sleeping = true;
  double awake = 1;
  for (int k = 0; k < 600 && awake > 0; ++k) awake = scene.step().value("awake", 1);
  session.figure("awake", awake, "1");
  const int steps = 200;
  session.figure("ms_per_step",
                 1e3 *
                     Session::best_of(5,
                                      [&] {
                                        for (int k = 0; k < steps; ++k) scene.step();
                                      }) /
                     steps,
                 "ms");
}
const Register register_sleeping("rigid/sleeping-5000", sleeping);

/// Bytes that a step goes through: the state, and the contacts as the narrow phase hands them on.
double working_set(RigidScene& scene) {
  double bytes = 0;
  for_each_stored([&](FieldVisitor& visit) { Rigid::fields(scene.model, scene.state, visit); },
                  [&](const FieldRef& field) { bytes += static_cast<double>(field.bytes()); });
  const RigidWorkspace& w = *scene.workspace.data;
  return bytes + static_cast<double>(w.contacts.size() * sizeof(detail::ContactInput) +
                                     w.manifolds.size() * sizeof(Manifold));
}

/// What a body costs in piles like C's, of 1000 to 20 000: the least mean of five times 20 steps after 4 s,
/// when all have come down. By the triad at the same working set, it is as many bytes as could be moved in
/// that time; the bar is that the dearest takes 1.3 of the cheapest.
void scaling(Session& session) {
  struct Bin {
    int columns_x, columns_z;
  };
  double least = 1e30, most = 0, ms = 0;
  for (const Bin& bin : {Bin{5, 10}, {10, 10}, {10, 25}, {20, 25}, {25, 40}}) {
    RigidScene scene(validation::bin(bin.columns_x, bin.columns_z));
    for (int k = 0; k < 240; ++k) scene.step();
    const int steps = 20, bodies = 20 * bin.columns_x * bin.columns_z;
    ms = 1e3 *
         Session::best_of(5,
                          [&] {
                            for (int k = 0; k < steps; ++k) scene.step();
                          }) /
         steps;
    const double triad = measure_triad(static_cast<std::size_t>(working_set(scene) / 3));
    const double cost = 1e-3 * ms / bodies * triad * 1e9;
    least = std::min(least, cost), most = std::max(most, cost);
    const std::string name = fmt::format("_{}", bodies);
    session.figure("us_per_body" + name, 1e3 * ms / bodies, "us");
    session.figure("working_set" + name, 1e-6 * working_set(scene), "MB");
    session.figure("triad" + name, triad, "GB/s");
    session.figure("triad_bytes_per_body" + name, cost, "B");
  }
  session.figure("ms_per_step", ms, "ms");  // of the last, 20 000
  session.figure("growth", most / least, "1");
}
const Register register_scaling("rigid/scaling", scaling);

}}  // namespace plenum::bench
