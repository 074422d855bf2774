#include "plenum/solvers/rigid/detail/whole_step.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Part of overlap and gaps that a step takes back (Catto 2005, "Iterative dynamics with temporal
/// coherence").
constexpr double taken_back = 0.2;
constexpr double slop = 1e-4;     ///< part of the size that overlap may be
constexpr double push_speed = 4;  ///< sizes a second at which overlap is taken back at most

DirectReport run(const WholeStep::Settings& settings, VelocityProblem& problem) {
  if (settings.directly) return solve_directly(problem);
  solve_by_gauss_seidel(settings.iterations, problem);
  return {};
}

}  // namespace

DirectReport WholeStep::solve(const JointScene& scene, const Settings& settings,
                              std::span<ContactInput> contacts, SolverBodies& bodies) {
  const double h = scene.h, warm = settings.directly ? 0 : settings.substeps;
  make_problem(scene, contacts, h, warm, problem_);
  const std::vector<RowBody> before = problem_.bodies;
  std::vector<double> approach;
  for (const VelocityRow& row : problem_.rows) approach.push_back(problem_.rate(row));
  DirectReport report = run(settings, problem_);
  // What has struck is thrown back, in a second solution.
  bool bounces = false;
  for (std::size_t c = 0; c < contacts.size(); ++c)
    for (Index k = problem_.first_normal[c]; k < problem_.first_normal[c + 1]; ++k) {
      VelocityRow& row = problem_.rows[k];
      if (!(contacts[c].restitution > 0 && row.impulse > 0 &&
            approach[std::size_t(k)] < -double(settings.restitution_threshold)))
        continue;
      row.target = -double(contacts[c].restitution) * approach[std::size_t(k)];
      bounces = true;
    }
  if (bounces) {
    problem_.bodies = before;
    report = run(settings, problem_);
  }
  for (std::size_t i = 0; i + 1 < problem_.bodies.size(); ++i) {
    const RowBody& from = problem_.bodies[i];
    if (!from.moves()) continue;
    for (int k = 0; k < 3; ++k)
      bodies.velocity[i].v[k] = Real(from.v[k]), bodies.velocity[i].w[k] = Real(from.w[k]);
  }

  gifts_.assign(contacts.size(), {Vec3::Zero(), Vec3::Zero(), Vec3::Zero()});
  const double unit = 1.0 / settings.substeps;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    ContactInput& contact = contacts[c];
    Vector3<double> push = Vector3<double>::Zero(), friction = push, turn = push;
    for (int p = 0; p < contact.count; ++p) {
      const VelocityRow& row = problem_.rows[problem_.first_normal[c] + p];
      contact.points[p].impulse = contact.points[p].carried = Real(unit * row.impulse);
      push += row.impulse * row.n, turn += row.impulse * row.on_a;
    }
    for (Index k = problem_.first_cone[c]; k < problem_.first_cone[c + 1]; ++k)
      for (Index r = problem_.cones[k].row; r < problem_.cones[k].row + problem_.cones[k].size; ++r) {
        const VelocityRow& row = problem_.rows[r];
        friction += row.impulse * row.n, turn += row.impulse * row.on_a;
      }
    contact.friction_impulse = (unit * friction).cast<Real>();
    contact.twist_impulse = 0;
    contact.bounced = false;
    gifts_[c].impulse = (push + friction).cast<Real>();
    gifts_[c].couple = turn.cast<Real>();  // about a's centre of mass
  }
  const std::size_t joints = scene.model.joints.size();
  force_.assign(joints, Vector3<double>::Zero()), torque_.assign(joints, Vector3<double>::Zero());
  for (Index r = 0; r < problem_.num_joint_rows; ++r) {
    const VelocityRow& row = problem_.rows[r];
    force_[row.joint] += row.impulse * row.n;
    if (row.freedom >= 3) torque_[row.joint] += row.impulse * row.on_b;
  }
  separate(settings, contacts, h);
  return report;
}

void WholeStep::separate(const Settings& settings, std::span<const ContactInput> contacts, double h) {
  for (RowBody& body : problem_.bodies) body.v.setZero(), body.w.setZero();
  problem_.rows.resize(std::size_t(problem_.num_plain));
  problem_.cones.clear();
  std::size_t c = 0;
  for (Index k = 0; k < problem_.num_plain; ++k) {
    VelocityRow& row = problem_.rows[k];
    row.impulse = 0;
    // Overlap and gaps are taken back in part; what is apart may come as near as it is.
    row.target = -(row.lower == 0 && row.gap > 0 ? 1 : taken_back) * row.gap / h;
    if (k < problem_.num_joint_rows) {
      if (row.softness > 0 || std::isfinite(row.upper)) row.lower = row.upper = 0;  // a drive
      continue;
    }
    while (problem_.first_normal[c + 1] <= k) ++c;
    const double size = double(contacts[c].size);
    if (row.gap < 0)
      row.target = std::min(taken_back * std::max(-row.gap - slop * size, 0.0) / h, push_speed * size);
  }
  std::erase_if(problem_.rows, [](const VelocityRow& row) { return row.lower == 0 && row.upper == 0; });
  problem_.num_joint_rows = static_cast<Index>(std::count_if(
      problem_.rows.begin(), problem_.rows.end(), [](const VelocityRow& row) { return row.joint >= 0; }));
  problem_.num_plain = static_cast<Index>(problem_.rows.size());
  run(settings, problem_);
}

void WholeStep::given(std::span<ContactGift> out) const {
  std::copy(gifts_.begin(), gifts_.end(), out.begin());
}

void WholeStep::store(const JointScene& scene, Rigid::Joints& out) const {
  for (std::size_t k = 0; k < force_.size(); ++k) {
    out.force[k] = (force_[k] / scene.h).cast<Real>();
    out.torque[k] = (torque_[k] / scene.h).cast<Real>();
    out.pull[k] = Vec3::Zero();
    out.owed[k] = 0;
    const Rigid::Joint& joint = scene.model.joints[k];
    const int first = first_to_wind(joint);
    if (first >= 6 || out.broken[k]) continue;
    // Where the bodies are now.
    const auto pose = [&](Index body) -> JointPose {
      if (body < 0) return {};
      const BodyMotion& motion = scene.bodies.motion[body];
      const bool stirs = scene.stirs[body];
      const Vec3 x = scene.state.frames.x[body] +
                     (stirs ? Vec3(motion.dx[0], motion.dx[1], motion.dx[2]) : Vec3(Vec3::Zero()));
      const Vec4 q = stirs ? scene.q[body] : scene.state.frames.q[body];
      return {x.cast<double>(), Quaternion<double>(double(q[3]), double(q[0]), double(q[1]), double(q[2]))};
    };
    double value[6];
    joint_values(joint, pose(joint.a), pose(joint.b), value);
    for (int r = first; r < 6; ++r) out.turn[k][r - 4] = Real(wound(value[r], double(out.turn[k][r - 4])));
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
