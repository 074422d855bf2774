// Speed of rigid bodies on the scenes that engines are compared by.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>

#include "bench.h"
#include "bullet_peer.h"
#include "plenum/solvers/rigid/detail/workspace.h"
#include "referee.h"
#include "rigid_scenes.h"

namespace plenum::bench { namespace {

using validation::RigidScene;
using validation::StackErrors;
using Clock = std::chrono::steady_clock;

using Poses = std::vector<BodyPose>;

Poses poses_of(const RigidScene& scene) {
  Poses poses;
  for (const Pose& pose : scene.poses())
    poses.push_back({pose.position.cast<double>(), pose.rotation.cast<double>().normalized()});
  return poses;
}

/// What the referee says of a scene, from bodies' poses alone.
struct Judgement {
  struct Column {
    std::string metric, unit;
    double target = none;
    bool any_step = false;  ///< the largest of all steps counts, not the last step's
  };
  std::vector<Column> columns;
  std::function<std::vector<double>(const Poses&)> judge;  ///< as many values
};

/// A run's judgement, step by step.
class Judge {
 public:
  Judge(const Judgement& of, int steps) : of_(of), steps_(steps), values(of.columns.size(), 0) {}
  bool looks(int step) const {
    return step + 1 == steps_ || std::any_of(of_.columns.begin(), of_.columns.end(),
                                             [](const Judgement::Column& c) { return c.any_step; });
  }
  void look(int step, const Poses& poses) {
    if (!looks(step)) return;
    const std::vector<double> now = of_.judge(poses);
    for (std::size_t i = 0; i < now.size(); ++i)
      if (!of_.columns[i].any_step || !(now[i] <= values[i])) values[i] = now[i];  // what is no number shows
  }

 private:
  const Judgement& of_;
  int steps_;

 public:
  std::vector<double> values;
};

/// A scene to be measured and what is asked of one thread [ms a step], and of two, as a part of that.
struct Task {
  Rigid::Spec spec;
  int steps;
  Judgement judgement;
  double target_ms = none, target_of_two_threads = none;
  std::string suffix = {};  ///< of the figures' names
};

/// Reports the least mean [ms] of three runs from the start, and the worst step of the best run; with one
/// thread beside Bullet, the two in turn. Both are judged by the same referee.
void run(Session& session, const Task& task) {
  const bool with_peer = session.threads() == 1 && has_bullet();
  say_if_bullet_is_missing();
  double best = 1e30, worst = 0;
  PeerRun peer;
  peer.ms_per_step = 1e30;
  std::vector<double> ours, theirs(task.judgement.columns.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    RigidScene scene(task.spec);
    Judge judge(task.judgement, task.steps);
    double total = 0, longest = 0;
    for (int k = 0; k < task.steps; ++k) {
      const auto start = Clock::now();
      scene.step();
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      total += ms, longest = std::max(longest, ms);
      if (judge.looks(k)) judge.look(k, poses_of(scene));
    }
    if (total < best) best = total, worst = longest;
    ours = judge.values;  // every run gives the same
    if (!with_peer) continue;
    Judge peers(task.judgement, task.steps);
    const PeerRun again =
        run_bullet(task.spec, task.steps, [&](int k, const Poses& poses) { peers.look(k, poses); });
    if (again.ms_per_step < peer.ms_per_step) peer = again;
    theirs = peers.values;
  }
  const auto figure = [&](const std::string& metric, double value, const std::string& unit, double its,
                          double target) {
    session.figure({metric + task.suffix, value, unit, with_peer ? "Bullet 3.24" : "", its, target});
  };
  const double ms = best / task.steps;
  figure("ms_per_step", ms, "ms", peer.ms_per_step, session.threads() == 1 ? task.target_ms : none);
  figure("worst_ms", worst, "ms", peer.worst_ms, none);
  session.part_of_one_thread(ms, task.target_of_two_threads, task.suffix);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Judgement::Column& column = task.judgement.columns[i];
    figure(column.metric, ours[i], column.unit, theirs[i], column.target);
  }
}

/// The farthest that a body has gone [m], or, `sideways`, gone along the floor.
double displacement(const Rigid::Spec& spec, const Poses& poses, bool sideways) {
  double most = 0;
  for (std::size_t i = 0; i < poses.size(); ++i) {
    Vector3<double> way = poses[i].position - spec.bodies[i].position.cast<double>();
    if (sideways) way.y() = 0;
    if (!(way.norm() <= most)) most = way.norm();
  }
  return most;
}

/// Overlap at the end, no deeper on average than `peers` [mm].
Judgement overlap_of(const Rigid::Spec& spec, double peers = none) {
  return {{{"mean_penetration_mm", "mm", peers}, {"max_penetration_mm", "mm"}}, [&spec](const Poses& poses) {
            const Overlaps o = overlaps(spec, poses);
            return std::vector<double>{1e3 * o.mean, 1e3 * o.largest};
          }};
}
/// And how far bodies are then from where they began.
Judgement with_displacement(const Rigid::Spec& spec, bool sideways, double peers = none) {
  Judgement judgement = overlap_of(spec, peers);
  judgement.columns.push_back({"max_displacement_m", "m"});
  judgement.judge = [&spec, sideways, overlap = judgement.judge](const Poses& poses) {
    std::vector<double> values = overlap(poses);
    values.push_back(displacement(spec, poses, sideways));
    return values;
  };
  return judgement;
}

// Targets in ms are those of the project; of overlap, what Box3D leaves in the same scene (README).
void a(Session& session) {
  const Rigid::Spec spec = validation::pyramid();
  run(session, {spec, 600, with_displacement(spec, false, 1.6), 0.23, 1});
}
const Register register_a("rigid/A", a);

// Its boxes begin above each other by 2 cm, so only what they go sideways counts.
void b(Session& session) {
  const Rigid::Spec spec = validation::cube();
  run(session, {spec, 600, with_displacement(spec, true, 2.6), 2.9, 0.6});
}
const Register register_b("rigid/B", b);

void c(Session& session) {
  const Rigid::Spec spec = validation::bin();
  run(session, {spec, 600, overlap_of(spec, 2.8), 5.2, 0.6});
}
const Register register_c("rigid/C", c);

void d(Session& session) {
  for (const int boxes : {20, 40}) {
    const Rigid::Spec spec = validation::stack(boxes);
    Judgement judgement = overlap_of(spec);
    judgement.columns.push_back({"height_loss_m", "m", 0.01});
    judgement.columns.push_back({"drift_m", "m", boxes == 20 ? 0.003 : none});
    judgement.judge = [overlap = judgement.judge](const Poses& poses) {
      std::vector<double> values = overlap(poses);
      const StackErrors errors = validation::stack_errors(poses);
      values.insert(values.end(), {errors.height_loss, errors.drift});
      return values;
    };
    run(session, {spec, 1200, judgement, boxes == 20 ? 0.019 : none, none, boxes == 20 ? "" : "_of_40"});
  }
}
const Register register_d("rigid/D", d);

/// "Zero" is what rounding may leave: poses of 30 m are known to half a last place along each axis, and so
/// is each of 100 joints.
void chain(Session& session, bool level) {
  const double last_place = 16 * double(std::numeric_limits<Real>::epsilon());
  const double rounding = 100 * std::sqrt(3.0) * last_place / 2 / (99 * 0.2 + 0.25);
  Judgement judgement{
      {{"stretch", "1", rounding}, {"max_stretch", "1", rounding, true}, {"joint_gap_m", "m", none, true}},
      [](const Poses& poses) {
        const validation::ChainErrors errors = validation::chain_errors(poses);
        return std::vector<double>{errors.stretch, errors.stretch, errors.gap};
      }};
  run(session, {validation::chain(level), 600, judgement, level ? none : 0.10, none});
}
const Register register_e1("rigid/E1", [](Session& session) { chain(session, false); });
const Register register_e2("rigid/E2", [](Session& session) { chain(session, true); });

void large_pyramid(Session& session) {
  const Rigid::Spec spec = validation::large_pyramid();
  run(session, {spec, 200, with_displacement(spec, false), none, 0.6});
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
  session.figure("awake", awake, "1", 0);
  const int steps = 200;
  session.figure("ms_per_step",
                 1e3 *
                     Session::best_of(5,
                                      [&] {
                                        for (int k = 0; k < steps; ++k) scene.step();
                                      }) /
                     steps,
                 "ms", 0.1);
}
const Register register_sleeping("rigid/sleeping-5000", sleeping);

/// Bytes that a step goes through: the state, what stands for pairs and contacts until the next step, and
/// what is solved.
double working_set(RigidScene& scene) {
  double bytes = 0;
  for_each_stored([&](FieldVisitor& visit) { Rigid::fields(scene.model, scene.state, visit); },
                  [&](const FieldRef& field) { bytes += static_cast<double>(field.bytes()); });
  const RigidWorkspace& w = *scene.workspace.data;
  const auto add = [&](const auto&... lists) {
    ((bytes += static_cast<double>(lists.size() * sizeof(lists[0]))), ...);
  };
  add(w.x, w.turn, w.awake, w.way, w.turn_way, w.poses, w.boxes, w.margins, w.ways, w.tilts, w.pairs,
      w.first_slot, w.pair_of, w.manifolds, w.caches, w.seen, w.carried_over, w.apart, w.guard_round,
      w.previous, w.old_starts, w.contact_slot, w.contacts, w.bodies.velocity, w.bodies.inertia,
      w.bodies.motion, w.q);
  return bytes + static_cast<double>(w.solver.bytes());
}

/// What a body costs in piles like C's, of 1000 to 20 000: the least mean of five times 20 steps after 4 s,
/// when all have come down. By the triad at the same working set, it is as many bytes as could be moved in
/// that time; `growth` is how many times that of the smallest pile the dearest costs, which may be 1.3.
void scaling(Session& session) {
  struct Bin {
    int columns_x, columns_z;
  };
  double first = 0, most = 0, ms = 0;
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
    if (first == 0) first = cost;
    most = std::max(most, cost);
    const std::string name = fmt::format("_{}", bodies);
    session.figure("us_per_body" + name, 1e3 * ms / bodies, "us");
    session.figure("working_set" + name, 1e-6 * working_set(scene), "MB");
    session.figure("triad" + name, triad, "GB/s");
    session.figure("triad_bytes_per_body" + name, cost, "B");
  }
  session.figure("ms_per_step", ms, "ms");  // of the last, 20 000
  session.figure("growth", most / first, "1", 1.3);
}
const Register register_scaling("rigid/scaling", scaling);

}}  // namespace plenum::bench
