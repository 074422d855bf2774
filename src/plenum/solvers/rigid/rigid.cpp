#include "plenum/solvers/rigid/rigid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numbers>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/integrate/body_impulse.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/rigid/detail/body_names.h"
#include "plenum/solvers/rigid/detail/broad.h"
#include "plenum/solvers/rigid/detail/driven.h"
#include "plenum/solvers/rigid/detail/guests.h"
#include "plenum/solvers/rigid/detail/islands.h"
#include "plenum/solvers/rigid/detail/joined_faces.h"
#include "plenum/solvers/rigid/detail/locks.h"
#include "plenum/solvers/rigid/detail/narrow.h"
#include "plenum/solvers/rigid/detail/pace.h"
#include "plenum/solvers/rigid/detail/rest.h"
#include "plenum/solvers/rigid/detail/substeps.h"
#include "plenum/solvers/rigid/detail/touch.h"
#include "plenum/solvers/rigid/detail/turning.h"
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::BodyInertia;
using detail::BodyMotion;
using detail::BodyVelocity;

void set_inertia(BodyInertia& row, const Quat& q, const Vec3& inverse, std::uint8_t locks) {
  locks &= detail::turning_locks;
  if (inverse.x() == inverse.y() && inverse.y() == inverse.z() && locks == 0) {
    row.inverse[0] = row.inverse[1] = row.inverse[2] = inverse.x();
    return;
  }
  Mat3 m = world_inertia<Real>(q, inverse);
  if (locks != 0) m = detail::turning_freely(m, locks);
  row.inverse[0] = m(0, 0), row.inverse[1] = m(1, 1), row.inverse[2] = m(2, 2);
  row.inverse[3] = m(0, 1), row.inverse[4] = m(0, 2), row.inverse[5] = m(1, 2);
}

/// 1 along axes of the world that a body moves along, 0 along those that it is locked along.
Vec3 free_axes(const Rigid::Model& model, std::size_t i) {
  Vec3 free = Vec3::Ones();
  if (model.any_locks)
    for (int c = 0; c < 3; ++c) free[c] = model.locks[i] >> c & 1 ? Real(0) : Real(1);
  return free;
}

/// [1/(kg m^2)] In the world, of what a body turns about.
Mat3 free_inertia(const Rigid::Model& model, const Rigid::State& state, std::size_t i) {
  const Mat3 inverse = world_inertia<Real>(state.frames.rotation(i), state.frames.inverse_inertia[i]);
  const bool turns_freely = !model.any_locks || (model.locks[i] & detail::turning_locks) == 0;
  return turns_freely ? inverse : detail::turning_freely(inverse, model.locks[i]);
}

/// f(begin, end) for ranges of n bodies, nanoseconds each.
template <class F>
void share_bodies(std::size_t n, F&& f) {
  constexpr std::size_t least = 512, bodies_per_block = 64;
  parallel_for(n, bodies_per_block, least, f);
}

/// f(body) for every body that the step moves, in parallel.
template <class F>
void for_active(const RigidWorkspace& w, F&& f) {
  share_bodies(w.active.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) f(w.active[k]);
  });
}

void load_bodies(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w) {
  w.q.resize(state.frames.size());
  for_active(w, [&](Index i) {
    BodyVelocity& velocity = w.bodies.velocity[i];
    w.bodies.motion[i] = {{0, 0, 0}, {0, 0, 0, 1}, 0};
    w.bodies.inertia[i] = {};
    for (int c = 0; c < 3; ++c) velocity.v[c] = state.frames.v[i][c], velocity.w[c] = state.frames.w[i][c];
    w.q[i] = state.frames.q[i];
    w.bodies.inertia[i].inverse_mass = state.frames.inverse_mass[i];
    if (model.motion[i] == Rigid::Motion::dynamic)
      set_inertia(w.bodies.inertia[i], state.frames.rotation(i), state.frames.inverse_inertia[i],
                  model.locks[i]);
  });
}

/// Gravity and the part of others' forces that falls on h [s] of the step.
void push_bodies(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params, Real h,
                 Real part, RigidWorkspace& w) {
  const auto kept = [&](Real rate) { return 1 / (1 + h * rate); };
  const Real slow_most = kept(params.linear_damping), turn_most = kept(params.angular_damping);
  for_active(w, [&](Index i) {
    if (model.motion[i] != Rigid::Motion::dynamic) return;
    BodyVelocity& velocity = w.bodies.velocity[i];
    const Vec2& own = model.damping[i];
    const Real slow = own[0] < 0 ? slow_most : kept(own[0]), turn = own[1] < 0 ? turn_most : kept(own[1]);
    if (!state.coming_v.empty())
      for (int c = 0; c < 3; ++c) {
        velocity.v[c] += part * state.coming_v[i][c];
        velocity.w[c] += part * state.coming_w[i][c];
      }
    for (int c = 0; c < 3; ++c) {
      velocity.v[c] = slow * (velocity.v[c] + h * model.gravity_scale[i] * params.gravity[c]);
      velocity.w[c] *= turn;
    }
  });
}

/// Stops what moves along locked axes; what turns about them has no inverse inertia there, but may have been
/// set going.
void hold_axes(const Rigid::Model& model, RigidWorkspace& w) {
  if (!model.any_locks) return;
  for_active(w, [&](Index i) {
    for (int c = 0; c < 3; ++c) {
      if (model.locks[i] >> c & 1) w.bodies.velocity[i].v[c] = 0;
      if (model.locks[i] >> (3 + c) & 1) w.bodies.velocity[i].w[c] = 0;
    }
  });
}

/// [rad] How far contacts may make a slender body turn in a sub-step, unless it has turned farther before
/// the step. They are solved where it is at the start: what lands on needles gives them any spin, their far
/// ends strike where they are not, and each blow is larger than the last.
constexpr Real most_turn = Real(0.5 * std::numbers::pi);

/// Largest over least moment of inertia from where on a body is slender: a marble may roll as fast as it
/// goes.
constexpr Real slender = Real(1.5);

void remember_spins(RigidWorkspace& w) {
  w.spins.resize(w.bodies.velocity.size());
  for_active(w, [&](Index i) { std::copy_n(w.bodies.velocity[i].w, 3, w.spins[i].data()); });
}

void bound_spins(const Rigid::Model& model, Real h, RigidWorkspace& w) {
  for_active(w, [&](Index i) {
    if (model.inertia[i].maxCoeff() <= slender * model.inertia[i].minCoeff() || model.jointed[i]) return;
    Eigen::Map<Vec3> spin(w.bodies.velocity[i].w);
    const Real now = spin.norm(), most = std::max(most_turn / h, w.spins[i].norm());
    if (now > most) spin *= most / now;
  });
}

/// Keeps where body i has been turned to.
void take_attitude(const Rigid::State& state, Index i, const Vec4& q, RigidWorkspace& w) {
  w.q[i] = q;
  const Vec4 c = (Quat(q) * state.frames.rotation(i).conjugate()).coeffs();
  for (int k = 0; k < 4; ++k) w.bodies.motion[i].dq[k] = c[k];
}

void take_free(const Rigid::Model& model, const Rigid::State& state, Index i, const Vec4& q, const Vec3& spin,
               RigidWorkspace& w) {
  for (int c = 0; c < 3; ++c) w.bodies.velocity[i].w[c] = spin[c];
  set_inertia(w.bodies.inertia[i], Quat(q), state.frames.inverse_inertia[i], model.locks[i]);
  take_attitude(state, i, q, w);
}

void move_bodies(const Rigid::Model& model, const Rigid::State& state, Real h, RigidWorkspace& w) {
  share_bodies(w.active.size(), [&](std::size_t begin, std::size_t end) {
    detail::TurningBatch even, about_axes, uneven;
    const auto take = [&](detail::TurningBatch& batch, bool is_even) {
      for (std::size_t l = 0; l < batch.size(); ++l) {
        const Index i = batch.body(l);
        const Vec4 q = batch.attitude(l), turned = batch.turned(l);
        const Vec3 spin = batch.velocity(l);
        w.q[i] = q;
        for (int c = 0; c < 4; ++c) w.bodies.motion[i].dq[c] = turned[c];
        for (int c = 0; c < 3; ++c) w.bodies.velocity[i].w[c] = spin[c];
        if (!is_even) std::ranges::copy(batch.inverse_inertia(l), w.bodies.inertia[i].inverse);
      }
      batch.clear();
    };
    const auto take_even = [&] { even.turn_evenly(h), take(even, true); };
    const auto take_about_axes = [&] { about_axes.turn_about_axes(h), take(about_axes, false); };
    const auto take_uneven = [&] { uneven.turn(h), take(uneven, false); };
    for (std::size_t k = begin; k < end; ++k) {
      const Index i = w.active[k];
      if (model.motion[i] == Rigid::Motion::fixed) continue;
      const BodyVelocity& velocity = w.bodies.velocity[i];
      BodyMotion& motion = w.bodies.motion[i];
      for (int c = 0; c < 3; ++c) motion.dx[c] += h * velocity.v[c];
      const Vec3 spin(velocity.w[0], velocity.w[1], velocity.w[2]);
      if (spin.isZero()) continue;
      const Quat q(w.q[i]);
      if (model.motion[i] == Rigid::Motion::kinematic) {
        take_attitude(state, i, turned(q, Vec3(h * spin)).coeffs(), w);
        continue;
      }
      const Vec3& inertia = model.inertia[i];
      if (model.locks[i] & detail::turning_locks) {
        Quaternion<double> fine = q.cast<double>();
        Vector3<double> rate = spin.cast<double>();
        detail::turn_with_locks(fine, inertia.cast<double>(), model.locks[i], rate, static_cast<double>(h));
        take_free(model, state, i, fine.cast<Real>().coeffs(), rate.cast<Real>(), w);
        continue;
      }
      const Real largest = inertia.maxCoeff();
      const int same = alike(inertia.x(), inertia.y(), largest) + alike(inertia.y(), inertia.z(), largest) +
                       alike(inertia.z(), inertia.x(), largest);
      detail::TurningBatch& batch = same == 3 ? even : same > 0 ? about_axes : uneven;
      batch.add(i, w.q[i], state.frames.q[i], inertia, spin);
      if (even.full()) take_even();
      if (about_axes.full()) take_about_axes();
      if (uneven.full()) take_uneven();
    }
    if (even.size() > 0) take_even();
    if (about_axes.size() > 0) take_about_axes();
    if (uneven.size() > 0) take_uneven();
  });
}

/// A step of the solvers for comparison.
void step_whole(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params,
                const detail::JointScene& scene, Real h, RigidWorkspace& w, Report& report) {
  push_bodies(model, state, params, h, 1, w);
  hold_axes(model, w);
  const detail::DirectReport direct = w.whole.solve(scene,
                                                    {.directly = params.solver == Rigid::Method::direct,
                                                     .iterations = params.iterations,
                                                     .substeps = params.substeps,
                                                     .restitution_threshold = params.restitution_threshold},
                                                    w.contacts, w.bodies);
  hold_axes(model, w);
  move_bodies(model, state, h, w);
  for_active(w, [&](Index i) {
    const detail::RowBody& apart = w.whole.separating(i);
    if (!apart.moves()) return;
    for (int c = 0; c < 3; ++c)
      if (!(model.locks[i] >> c & 1)) w.bodies.motion[i].dx[c] += h * Real(apart.v[c]);
    if (!apart.w.isZero(0))
      take_attitude(state, i, turned(Quat(w.q[i]), Vec3((double(h) * apart.w).cast<Real>())).coeffs(), w);
  });
  if (direct.refused > 0) report.measure("islands too large for the direct solver", direct.refused);
}

void store_bodies(RigidWorkspace& w, Rigid::State& state) {
  // Where still bodies were put from outside, they have been from now on.
  for (std::size_t i = 0; i < state.frames.size(); ++i)
    if (w.was_moved[i]) state.start_x[i] = state.frames.x[i], state.start_q[i] = state.frames.q[i];
  for_active(w, [&](Index i) {
    state.start_x[i] = state.frames.x[i];
    state.start_q[i] = state.frames.q[i];
    const BodyVelocity& velocity = w.bodies.velocity[i];
    const BodyMotion& motion = w.bodies.motion[i];
    state.frames.x[i] += Vec3(motion.dx[0], motion.dx[1], motion.dx[2]);
    state.frames.q[i] = w.q[i];
    state.frames.v[i] = Vec3(velocity.v[0], velocity.v[1], velocity.v[2]);
    state.frames.w[i] = Vec3(velocity.w[0], velocity.w[1], velocity.w[2]);
  });
}

/// Drops pairs of bodies that a joint keeps from touching.
void keep_apart(const Rigid::Model& model, std::vector<Index2>& pairs) {
  std::erase_if(pairs, [&](const Index2& pair) {
    const Index a = model.colliders[pair[0]].body, b = model.colliders[pair[1]].body;
    return std::binary_search(model.apart.begin(), model.apart.end(), Index2(std::min(a, b), std::max(a, b)),
                              is_before);
  });
}

/// Whether a motor turns or slides its joint, however slowly, at half of the speed that it wants or more: a
/// minute hand does not fall asleep, what a motor cannot move does.
bool is_run(const Rigid::Joint& joint, const Frames& f) {
  for (std::size_t r = 0; r < 6; ++r) {
    const Rigid::JointAxis& axis = joint.axes[r];
    if (axis.drive != rigid::Drive::velocity || axis.speed == 0) continue;
    const auto turn = [&](Index i) { return i < 0 ? Vec3(Vec3::Zero()) : f.w[i]; };
    const auto speed = [&](Index i, const Pose& at) {
      return i < 0 ? Vec3(Vec3::Zero()) : Vec3(f.v[i] + f.w[i].cross(f.rotation(i) * at.position));
    };
    const Vec3 relative =
        r >= 3 ? turn(joint.b) - turn(joint.a) : speed(joint.b, joint.in_b) - speed(joint.a, joint.in_a);
    if (2 * relative.norm() >= std::abs(axis.speed)) return true;
  }
  return false;
}

/// Islands hang together by joints that are not broken.
void connect_joints(const Rigid::Model& model, const Rigid::State& state, const RigidWorkspace& w,
                    detail::Islands& islands) {
  const auto is_dynamic = [&](Index i) { return i >= 0 && model.motion[i] == Rigid::Motion::dynamic; };
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const Rigid::Joint& joint = model.joints[k];
    if (state.joints.broken[k]) continue;
    const bool a = is_dynamic(joint.a), b = is_dynamic(joint.b);
    if ((a || b) && is_run(joint, state.frames)) islands.stir(a ? joint.a : joint.b);
    if (a && b) {
      islands.connect(joint.a, joint.b);
    } else if (a || b) {
      const Index on = a ? joint.a : joint.b, other = a ? joint.b : joint.a;
      if (other >= 0 && w.stirs[other])
        islands.stir(on);
      else
        islands.lean(on);
    }
  }
}

}  // namespace

namespace {

/// A part of a step, of dt [s], with `params` of its own, from `begin` to `end` of 1 in the whole; returns
/// the number of its sub-steps.
int take_part(const Rigid::Model& model, Rigid::State& state, const Rigid::Params& params,
              Rigid::Workspace& workspace, Real dt, Real begin, Real end, Report& report) {
  RigidWorkspace& w = *workspace.data;
  {
    const StageTimer timer(report.stages, "rest");
    detail::stir(model, state, params, dt, w);
    w.bodies.resize(state.frames.size());
  }
  for (bool again = true; again;) {
    {
      const StageTimer timer(report.stages, "broad phase");
      detail::find_pairs(model, state, params.gravity, dt, params.broad_phase, w);
      if (!model.apart.empty()) keep_apart(model, w.pairs);
    }
    const StageTimer timer(report.stages, "narrow phase");
    detail::find_manifolds(model, state, params.gravity, dt, params.substeps, w);
    again = detail::wake_touched(model, state, w);
  }
  detail::wake_touch(model, state, w);
  detail::make_contacts(model, state, dt, w);
  load_bodies(model, state, w);
  const bool softly = params.solver == Rigid::Method::soft_steps;
  if (softly) detail::join_faces(model, state, w);
  const int substeps = softly ? detail::count_substeps(model, params, w, dt) : 1;
  const Real h = dt / static_cast<Real>(substeps);
  const detail::JointScene scene{model, state, w.bodies, w.q, w.stirs, static_cast<double>(h)};
  {
    const StageTimer timer(report.stages, "prepare");
    detail::ContactSettings settings{.h = h, .impulse_time = dt / static_cast<Real>(params.substeps)};
    // Shorter sub-steps for smaller bodies are as many times firmer.
    settings.hertz =
        params.contact_frequency * static_cast<Real>(substeps) / static_cast<Real>(params.substeps);
    settings.damping_ratio = params.contact_damping;
    settings.restitution_threshold = params.restitution_threshold;
    settings.gravity = params.gravity.norm();
    settings.up = -params.gravity.normalized();  // zero of zero
    if (softly) {
      w.joints.start(scene, w.bodies);
      w.solver.prepare(w.contacts, w.bodies, settings, w.joints.groups().of);
      w.joints.mark_strained(w.solver.strained_groups());
    }
  }
  if (!softly) {
    const StageTimer timer(report.stages, "solve");
    step_whole(model, state, params, scene, h, w, report);
  } else {
    const StageTimer timer(report.stages, "solve");
    const bool contacts = !w.contacts.empty(), joints = !w.joints.empty();
    if (contacts) remember_spins(w);
    w.solver.restitute(w.bodies);
    w.solver.absorb(w.bodies, true, scene, w.joints);
    for (int k = 0; k < substeps; ++k) {
      const Real now = (Real(k) + Real(0.5)) / Real(substeps);
      detail::drive(begin + now * (end - begin) - Real(0.5), w);
      push_bodies(model, state, params, h, 1 / static_cast<Real>(substeps), w);
      if (k > 0) w.solver.collect(w.bodies);
      w.solver.warm_start(w.bodies);
      hold_axes(model, w);
      if (joints) w.joints.begin(scene, w.bodies, contacts);
      w.solver.solve(w.bodies, true, scene, w.joints);
      if (joints) w.joints.solve(scene, w.bodies);
      hold_axes(model, w);
      if (contacts) bound_spins(model, h, w);
      move_bodies(model, state, h, w);
      w.solver.take_back(w.bodies);
      w.solver.hold(w.bodies);
      w.solver.turn(w.bodies);
      if (joints) {
        w.joints.update(scene, w.bodies);
        if (w.joints.changed_inertia()) w.solver.respond_anew(w.bodies);
      }
      // What joints have answered to pushes that were taken back is no speed for contacts to meet.
      if (joints && w.any_deep_in_joints) w.joints.relax(scene, w.bodies, true);
      w.solver.restitute(w.bodies);
      w.solver.absorb(w.bodies, false, scene, w.joints);
      w.solver.solve(w.bodies, false, scene, w.joints);
      if (joints) {
        w.joints.relax(scene, w.bodies, contacts || k + 1 == substeps);
        w.joints.collect();
      }
      hold_axes(model, w);
      if (contacts) bound_spins(model, h, w);
    }
    w.solver.collect(w.bodies);
    if (joints && contacts) w.joints.relax(scene, w.bodies, true);
    hold_axes(model, w);
  }
  {
    const StageTimer timer(report.stages, "finish");
    if (softly) w.solver.store(w.contacts);
    w.gifts.resize(w.contacts.size());
    if (softly)
      w.solver.given(w.gifts), detail::part_faces(w);
    else
      w.whole.given(w.gifts), w.whole.store(scene, state.joints);
    detail::keep_contacts(state.contacts, w, w.next);
    std::swap(state.contacts, w.next);
    detail::keep_near(w, state.near);
    detail::drive(0, w);
    store_bodies(w, state);
    detail::find_pushes(model, state, w, workspace.pushes);
    detail::find_touch(model, state, w);
    if (softly)
      w.joints.store(model, static_cast<double>(dt), state.joints);
    else
      detail::JointSolver::break_joints(model, state.joints);
    detail::settle(
        model, state, params, dt, [&](detail::Islands& islands) { connect_joints(model, state, w, islands); },
        w);
    state.coming_v.clear(), state.coming_w.clear();
    detail::rest_touch(model, state, w);
    state.time += static_cast<double>(dt);
  }
  return substeps;
}

/// What has happened before this step, and belongs to the same events.
void begin_events(const Rigid::State& state, RigidWorkspace& w) {
  w.begun.clear(), w.ended.clear(), w.just_broken.clear();
  if (!state.gathers_events) return;
  w.begun = state.touch.begun, w.ended = state.touch.ended, w.just_broken = state.joints.just_broken;
}

/// Adds those of a part of a step to those before it.
void add_events(Rigid::State& state, RigidWorkspace& w) {
  const auto add = [](auto& sum, auto& now, auto& scratch, auto before) {
    scratch.clear();
    std::set_union(sum.begin(), sum.end(), now.begin(), now.end(), std::back_inserter(scratch), before);
    std::swap(sum, scratch);
    now = sum;
  };
  add(w.begun, state.touch.begun, w.shared, is_before);
  add(w.ended, state.touch.ended, w.shared, is_before);
  add(w.just_broken, state.joints.just_broken, w.broke, std::less());
}

/// What joints carried in a part of a step that is `share` of it counts as much in the mean.
void add_forces(bool first, bool last, Real share, Rigid::Joints& j, RigidWorkspace& w) {
  const std::size_t joints = j.force.size();
  if (first) w.pulled.assign(joints, Vec3::Zero()), w.turned.assign(joints, Vec3::Zero());
  for (std::size_t k = 0; k < joints; ++k)
    w.pulled[k] += share * j.force[k], w.turned[k] += share * j.torque[k];
  if (!last) return;
  for (std::size_t k = 0; k < joints; ++k)
    if (!j.broken[k]) j.force[k] = w.pulled[k], j.torque[k] = w.turned[k];
}

/// In parts that share the sub-steps, each of which looks for contacts anew.
void take_step(const Rigid::Model& model, Rigid::State& state, const Rigid::Params& params,
               Rigid::Workspace& workspace, Real dt, Report& report) {
  if (!workspace.data) workspace.data = std::make_shared<RigidWorkspace>();
  RigidWorkspace& w = *workspace.data;
  w.whole_dt = dt;
  workspace.start_v = state.frames.v, workspace.start_w = state.frames.w;
  workspace.pushes.clear();
  detail::find_driven(model, state, dt, w);
  begin_events(state, w);
  const int all = params.substeps;
  int substeps = 0, parts = 0;
  for (int done = 0; done < all; ++parts) {
    const int next = detail::substeps_of_part(model, state, params, dt, all - done);
    const bool first = done == 0, last = done + next == all;
    if (first && last) {
      substeps = take_part(model, state, params, workspace, dt, 0, 1, report);
    } else {
      Rigid::Params of_part = params;
      of_part.substeps = next;
      of_part.max_substeps = (params.max_substeps * next + all - 1) / all;
      const Real whole = static_cast<Real>(all), share = static_cast<Real>(next) / whole,
                 begin = static_cast<Real>(done) / whole;
      substeps += take_part(model, state, of_part, workspace, dt * share, begin, begin + share, report);
      if (first) w.step_x = state.start_x, w.step_q = state.start_q;
      add_forces(first, last, share, state.joints, w);
      if (last) state.start_x = w.step_x, state.start_q = w.step_q;
    }
    add_events(state, w);
    state.dt = dt;
    done += next;
  }
  detail::keep_driven(model, dt, state);
  report.measure("contacts", static_cast<double>(w.contacts.size()));
  report.measure("awake", static_cast<double>(w.active.size()));
  report.measure("pairs", static_cast<double>(w.pairs.size()));
  report.measure("sub-steps", substeps);
  report.measure("parts", parts);
  if (const std::size_t broke = state.joints.just_broken.size(); broke > 0)
    report.measure("joints broken", static_cast<double>(broke));
}

}  // namespace

Report Rigid::step(const Model& model, State& state, const Params& params, Workspace& workspace, Real dt) {
  Report report;
  report.substeps = 1;
  // A pass over the contacts of a colour takes microseconds; of few bodies and contacts it is not worth a
  // second thread, nor is what threads take to come.
  constexpr std::size_t few = 256;
  const auto take = [&] { take_step(model, state, params, workspace, dt, report); };
  if (state.frames.size() + state.contacts.pair.size() < few)
    with_threads(1, take);
  else
    with_ready_threads(take);
  return report;
}

void Rigid::begin_frame(State& state) {
  state.touch.begun.clear(), state.touch.ended.clear(), state.joints.just_broken.clear();
  state.gathers_events = true;
}

void Rigid::fields(const Model& model, State& s, FieldVisitor& visit) {
  visit({"position", "m", Centring::particle}, s.frames.x);
  visit({"rotation", "1", Centring::particle}, s.frames.q);
  visit({"velocity", "m/s", Centring::particle}, s.frames.v);
  visit({"angular_velocity", "rad/s", Centring::particle}, s.frames.w);
  visit({"inverse_mass", "1/kg", Centring::particle}, s.frames.inverse_mass);
  visit({"inverse_inertia", "1/(kg m^2)", Centring::particle}, s.frames.inverse_inertia);
  visit({"start_position", "m", Centring::particle}, s.start_x);
  visit({"start_rotation", "1", Centring::particle}, s.start_q);
  const auto visit_contacts = [&](Contacts& c, const std::array<const char*, 12>& names) {
    visit({names[0], "1", Centring::edge}, c.pair);
    visit({names[1], "N s", Centring::edge}, c.impulse);
    visit({names[2], "N s", Centring::edge}, c.carried);
    visit({names[3], "1", Centring::edge}, c.id);
    visit({names[4], "m", Centring::edge}, c.point);
    visit({names[5], "N s", Centring::edge}, c.friction);
    visit({names[6], "N m s", Centring::edge}, c.twist);
    visit({names[7], "1", Centring::edge}, c.count);
    visit({names[8], "1", Centring::edge}, c.cache);
    visit({names[9], "1", Centring::edge}, c.normal);
    visit({names[10], "m", Centring::edge}, c.separation);
    visit({names[11], "1", Centring::edge}, c.seen);
  };
  visit_contacts(s.contacts, {"contact_pair", "contact_impulse", "contact_carried", "contact_id",
                              "contact_point", "contact_friction", "contact_twist", "contact_count",
                              "contact_cache", "contact_normal", "contact_separation", "contact_seen"});
  visit({"near_pair", "1", Centring::edge}, s.near.pair);
  visit({"near_seen", "1", Centring::edge}, s.near.seen);
  visit({"near_cache", "1", Centring::edge}, s.near.cache);
  visit({"joint_status", "1", Centring::edge}, s.joints.status);
  visit({"joint_pull", "N s", Centring::edge}, s.joints.pull);
  visit({"joint_force", "N", Centring::edge}, s.joints.force);
  visit({"joint_torque", "N m", Centring::edge}, s.joints.torque);
  visit({"joint_owed", "J", Centring::edge}, s.joints.owed);
  visit({"joint_turn", "rad", Centring::edge}, s.joints.turn);
  visit({"joint_broken", "1", Centring::edge}, s.joints.broken);
  visit({"joint_just_broken", "1", Centring::edge}, s.joints.just_broken);
  visit({"rest_island", "1", Centring::particle}, s.rest.island);
  visit({"rest_time", "s", Centring::particle}, s.rest.quiet);
  visit({"rest_position", "m", Centring::particle}, s.rest.x);
  visit({"rest_rotation", "1", Centring::particle}, s.rest.q);
  visit({"rest_gravity", "m/s^2", Centring::global}, s.rest.gravity);
  visit({"rest_push", "m/s^2", Centring::particle}, s.rest.push_v);
  visit({"rest_push_turn", "rad/s^2", Centring::particle}, s.rest.push_w);
  visit({"rest_stray", "m/s", Centring::particle}, s.rest.stray_v);
  visit({"rest_stray_turn", "rad/s", Centring::particle}, s.rest.stray_w);
  visit_contacts(s.rest.contacts, {"rest_contact_pair", "rest_contact_impulse", "rest_contact_carried",
                                   "rest_contact_id", "rest_contact_point", "rest_contact_friction",
                                   "rest_contact_twist", "rest_contact_count", "rest_contact_cache",
                                   "rest_contact_normal", "rest_contact_separation", "rest_contact_seen"});
  visit({"driven_velocity", "m/s", Centring::particle}, s.driven.v);
  visit({"driven_angular_velocity", "rad/s", Centring::particle}, s.driven.w);
  visit({"driven_acceleration", "m/s^2", Centring::particle}, s.driven.a);
  visit({"driven_angular_acceleration", "rad/s^2", Centring::particle}, s.driven.turn_a);
  visit({"touch_pair", "1", Centring::edge}, s.touch.pairs);
  visit({"touch_begun", "1", Centring::edge}, s.touch.begun);
  visit({"touch_ended", "1", Centring::edge}, s.touch.ended);
  visit({"touch_asleep", "1", Centring::edge}, s.touch.asleep);
  visit({"time", "s", Centring::global}, s.time);
  visit({"step", "s", Centring::global}, s.dt);
  visit.derived({"speed", "m/s", Centring::particle}, [&](std::vector<Real>& out) {
    out.resize(model.motion.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = s.frames.v[i].norm();
  });
}

void Rigid::geometry(const Model& model, const State& state, DrawableSink& sink) {
  std::vector<Real> speeds;
  for (std::size_t k = 0; k < model.own_colliders(); ++k) {
    const TriangleMesh& mesh = *model.meshes[k].mesh;
    if (mesh.triangles.empty()) continue;
    const Collider& c = model.colliders[k];
    const Pose body = state.frames.pose(c.body);
    const bool moves = model.motion[c.body] == Motion::dynamic;
    TriangleView view{.x = mesh.x,
                      .triangles = mesh.triangles,
                      .pose = {body * c.local.position, body.rotation * c.local.rotation},
                      .scale = model.meshes[k].scale,
                      .lasts = true,
                      .look = moves ? Look::body : Look::obstacle,
                      .palette = model.palette[k],
                      .body = c.body};
    if (moves && model.colour == rigid::Colour::speed) {
      const Frames& f = state.frames;
      speeds.clear();
      for (const Vec3& x : mesh.x)
        speeds.push_back((f.v[c.body] + f.w[c.body].cross(view.place(x) - f.x[c.body])).norm());
      view.colour = {.values = speeds, .quantity = "speed", .unit = "m/s"};
    }
    sink.triangles(view);
  }
  // Ropes and rods have no bodies of their own; they are drawn straight.
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const Joint& joint = model.joints[k];
    const bool ties = joint.type == rigid::JointType::rope || joint.type == rigid::JointType::distance;
    if (!ties || state.joints.broken[k]) continue;
    const auto end = [&](Index body, const Pose& in) {
      return body < 0 ? in.position : Vec3(state.frames.pose(body) * in.position);
    };
    const auto reach = [&](Index body) {
      return body < 0 ? std::numeric_limits<Real>::max() : model.reach[body];
    };
    const Vec3 ends[2] = {end(joint.a, joint.in_a), end(joint.b, joint.in_b)};
    const Index2 segment(0, 1);
    sink.lines({.x = ends,
                .segments = {&segment, 1},
                .radius = std::min(Real(0.03) * std::min(reach(joint.a), reach(joint.b)), Real(0.02)),
                .palette = 3});
  }
}

void Rigid::begin_parts(const State& state, Workspace& w, int parts) {
  w.parts = parts;
  if (parts == 1) return;
  w.first.x = state.frames.x, w.first.q = state.frames.q;
  w.first.v = state.frames.v, w.first.w = state.frames.w;
}

std::span<const SolidBody> Rigid::bodies(const Model& model, const State& state, const Params& params,
                                         Workspace& w) {
  const bool in_parts = w.parts > 1 && w.first.x.size() == state.frames.size();
  const std::vector<Vec3>& start_x = in_parts ? w.first.x : state.start_x;
  const std::vector<Vec4>& start_q = in_parts ? w.first.q : state.start_q;
  const std::vector<Vec3>&start_v = in_parts ? w.first.v : w.start_v,
        &start_w = in_parts ? w.first.w : w.start_w;
  w.bodies.resize(model.solids.size());
  for (std::size_t k = 0; k < w.bodies.size(); ++k) {
    const Collider& c = model.colliders[model.solids[k]];
    const auto pose_of = [&](const Vec3& x, const Vec4& q) {
      const Pose body{x, Quat(q[3], q[0], q[1], q[2])};
      return Pose{body * c.local.position, (body.rotation * c.local.rotation).normalized()};
    };
    SolidBody& b = w.bodies[k];
    b.shape = &model.shapes[c.shape];
    b.pose0 = pose_of(start_x[c.body], start_q[c.body]);
    b.pose = pose_of(state.frames.x[c.body], state.frames.q[c.body]);
    b.angular_velocity = state.frames.w[c.body];
    b.velocity =
        state.frames.v[c.body] + state.frames.w[c.body].cross(b.pose.position - state.frames.x[c.body]);
    b.inverse_mass = state.frames.inverse_mass[c.body];
    b.free = free_axes(model, c.body);
    b.inverse_inertia = free_inertia(model, state, c.body);
    b.centre = state.frames.x[c.body];
    b.acceleration = b.inverse_mass > 0
                         ? Vec3(model.gravity_scale[c.body] * b.free.cwiseProduct(params.gravity))
                         : Vec3::Zero();
    if (b.inverse_mass > 0 && start_v.size() == state.frames.size())
      b.gained = state.frames.v[c.body] - start_v[c.body],
      b.gained_spin = state.frames.w[c.body] - start_w[c.body];
    b.owner = c.body;
    b.friction = c.friction;
    b.restitution = c.restitution;
  }
  return w.bodies;
}

std::vector<Index> Rigid::find_bodies(const Model& model, const std::string& key, const std::string& text) {
  const Index body = model.names ? model.names->find(key, text) : Index(-1);
  std::vector<Index> found;
  for (std::size_t k = 0; body >= 0 && k < model.solids.size(); ++k)
    if (model.colliders[model.solids[k]].body == body) found.push_back(static_cast<Index>(k));
  if (!found.empty()) return found;
  throw Error(Problem{.key = key,
                      .what = body < 0 ? "names no body" : "has no solid shape to hang on, only sensors",
                      .value = text,
                      .allowed = fmt::format("a body's name, or 0 to {}", model.own_bodies() - 1)});
}

double Rigid::mass_of(const Model& model, const State& state, std::span<const Index> bodies) {
  const std::size_t n = model.motion.size();
  const auto is_dynamic = [&](Index i) { return i >= 0 && model.motion[i] == Motion::dynamic; };
  detail::Islands joined;
  joined.reset(n);
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const Joint& joint = model.joints[k];
    if (!state.joints.broken[k] && is_dynamic(joint.a) && is_dynamic(joint.b))
      joined.connect(joint.a, joint.b);
  }
  std::vector<std::uint8_t> is_of_them(n, 0);
  for (const Index solid : bodies)
    is_of_them[joined.island(model.colliders[model.solids[std::size_t(solid)]].body)] = 1;
  double mass = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Real inverse_mass = state.frames.inverse_mass[i];
    if (inverse_mass > 0 && is_of_them[joined.island(Index(i))]) mass += 1 / double(inverse_mass);
  }
  return mass;
}

void Rigid::absorb(const Model& model, State& state, std::span<const BodyImpulse> impulses) {
  for (const BodyImpulse& j : impulses) {
    const auto i = std::size_t(model.colliders[model.solids[j.body]].body);
    Frames& f = state.frames;
    if (f.inverse_mass[i] == 0 && f.inverse_inertia[i].isZero(0)) continue;
    const Vec3 inverse_masses = f.inverse_mass[i] * free_axes(model, i);
    const Mat3 inverse_inertia = free_inertia(model, state, i);
    if (!j.spread) {
      take_impulse(f, i, j, inverse_masses, inverse_inertia,
                   model.any_locks && (model.locks[i] & detail::turning_locks) != 0);
      continue;
    }
    for (std::vector<Vec3>* coming : {&state.coming_v, &state.coming_w})
      coming->resize(f.size(), Vec3::Zero());
    state.coming_v[i] += inverse_masses.cwiseProduct(j.impulse);
    state.coming_w[i] += inverse_inertia * ((j.point - f.x[i]).cross(j.impulse) + j.couple);
  }
}

void Rigid::wake(const Model& model, State& state) {
  RigidWorkspace scratch;
  scratch.stirs.assign(model.motion.size(), 0);
  detail::wake_all(model, state, scratch);
  detail::wake_touch(model, state, scratch);
}

}  // namespace plenum::inline PLENUM_ABI
