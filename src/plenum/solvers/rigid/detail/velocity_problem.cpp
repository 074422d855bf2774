#include "plenum/solvers/rigid/detail/velocity_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using rigid::AxisMode;
using rigid::Drive;
using D3 = Vector3<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

void add_joint(const JointScene& scene, Index k, double h, VelocityProblem& problem) {
  const Rigid::Joint& joint = scene.model.joints[k];
  const Index world = scene.bodies.world();
  const auto pose = [&](Index body) -> JointPose {
    if (body < 0) return {};
    return {scene.state.frames.x[body].cast<double>(),
            scene.state.frames.rotation(std::size_t(body)).cast<double>().normalized()};
  };
  double value[6];
  JointRows at;
  joint_rows(joint, pose(joint.a), pose(joint.b), value, at);
  for (int r = first_to_wind(joint); r < 6; ++r)
    value[r] = wound(value[r], double(scene.state.joints.turn[k][r - 4]));
  for (int r = 0; r < 6; ++r) {
    const Rigid::JointAxis& axis = joint.axes[std::size_t(r)];
    if (!axis.is_used()) continue;
    VelocityRow row{.a = joint.a < 0 ? world : joint.a,
                    .b = joint.b < 0 ? world : joint.b,
                    .n = at.n[r],
                    .on_a = at.on_a[r],
                    .on_b = at.on_b[r],
                    .lower = -infinity,
                    .upper = infinity};
    row.joint = k, row.freedom = r;
    if (axis.mode == AxisMode::locked) {
      row.gap = value[r] - double(axis.lower);
      problem.rows.push_back(row);
      continue;
    }
    if (axis.mode == AxisMode::limited) {
      // Where it may come in this step, and what it has passed.
      const double near = 4 * h * std::abs(problem.rate(row)) + 0.02;
      VelocityRow limit = row;
      limit.lower = 0;
      limit.gap = value[r] - double(axis.lower);
      limit.target = -std::max(limit.gap, 0.0) / h;
      if (limit.gap < near) problem.rows.push_back(limit);
      limit.n = -row.n, limit.on_a = -row.on_a, limit.on_b = -row.on_b;
      limit.gap = double(axis.upper) - value[r];
      limit.target = -std::max(limit.gap, 0.0) / h;
      if (limit.gap < near) problem.rows.push_back(limit);
    }
    if (axis.drive == Drive::none) continue;
    row.upper = h * double(axis.strength), row.lower = -row.upper;
    row.target = double(axis.speed);
    if (axis.drive == Drive::spring) {
      const double stiffness = double(axis.stiffness), damping = double(axis.damping);
      if (!(stiffness > 0 || damping > 0)) continue;
      row.softness = 1 / (h * (h * stiffness + damping));
      row.target = -stiffness * (value[r] - double(axis.target)) * h * row.softness;
    }
    problem.rows.push_back(row);
  }
  if (!(joint.turn_damping > 0)) return;
  for (int c = 0; c < 3; ++c) {
    VelocityRow row{.a = joint.a < 0 ? world : joint.a,
                    .b = joint.b < 0 ? world : joint.b,
                    .n = D3::Zero(),
                    .on_a = D3::Unit(c),
                    .on_b = D3::Unit(c),
                    .lower = -infinity,
                    .upper = infinity};
    row.joint = k, row.freedom = 3 + c;
    row.softness = 1 / (h * double(joint.turn_damping));
    problem.rows.push_back(row);
  }
}

}  // namespace

double VelocityProblem::rate(const VelocityRow& row) const {
  const RowBody &a = bodies[row.a], &b = bodies[row.b];
  return row.n.dot(b.v - a.v) + row.on_b.dot(b.w) - row.on_a.dot(a.w);
}

void VelocityProblem::push(const VelocityRow& row, double impulse) {
  RowBody &a = bodies[row.a], &b = bodies[row.b];
  a.v -= a.inverse_mass * impulse * row.n, a.w -= a.inverse_inertia * (impulse * row.on_a);
  b.v += b.inverse_mass * impulse * row.n, b.w += b.inverse_inertia * (impulse * row.on_b);
}

double VelocityProblem::response(const VelocityRow& row) const {
  const RowBody &a = bodies[row.a], &b = bodies[row.b];
  return (a.inverse_mass + b.inverse_mass) * row.n.squaredNorm() +
         row.on_a.dot(a.inverse_inertia * row.on_a) + row.on_b.dot(b.inverse_inertia * row.on_b);
}

void make_problem(const JointScene& scene, std::span<const ContactInput> contacts, double h, double warm,
                  VelocityProblem& problem) {
  const std::size_t n = scene.bodies.velocity.size();
  problem.bodies.assign(n, RowBody{});
  for (std::size_t i = 0; i + 1 < n; ++i) {
    if (!scene.stirs[i]) continue;
    const BodyVelocity& from = scene.bodies.velocity[i];
    const BodyInertia& inertia = scene.bodies.inertia[i];
    RowBody& to = problem.bodies[i];
    to.v = D3(double(from.v[0]), double(from.v[1]), double(from.v[2]));
    to.w = D3(double(from.w[0]), double(from.w[1]), double(from.w[2]));
    to.inverse_mass = double(inertia.inverse_mass);
    to.inverse_inertia = inverse_inertia_of(inertia);
  }
  problem.rows.clear(), problem.cones.clear(), problem.first_normal.clear(), problem.first_cone.clear();
  for (std::size_t k = 0; k < scene.model.joints.size(); ++k) {
    const Rigid::Joint& joint = scene.model.joints[k];
    const auto awake = [&](Index body) { return body >= 0 && problem.bodies[body].moves(); };
    if (!scene.state.joints.broken[k] && (awake(joint.a) || awake(joint.b)))
      add_joint(scene, static_cast<Index>(k), h, problem);
  }
  problem.num_joint_rows = static_cast<Index>(problem.rows.size());
  const auto row_at = [](const ContactInput& c, const D3& n, const D3& ra, const D3& rb) {
    return VelocityRow{.a = c.body_a,
                       .b = c.body_b,
                       .n = n,
                       .on_a = ra.cross(n),
                       .on_b = rb.cross(n),
                       .lower = -infinity,
                       .upper = infinity};
  };
  for (const ContactInput& c : contacts) {
    problem.first_normal.push_back(static_cast<Index>(problem.rows.size()));
    for (int p = 0; p < c.count; ++p) {
      const ContactInput::Point& point = c.points[p];
      VelocityRow row = row_at(c, c.normal.cast<double>(), point.ra.cast<double>(), point.rb.cast<double>());
      row.lower = 0;
      row.gap = double(point.separation);
      row.target = -std::max(row.gap, 0.0) / h;
      row.impulse = warm * double(point.impulse);
      problem.rows.push_back(row);
    }
  }
  problem.num_plain = static_cast<Index>(problem.rows.size());
  problem.first_normal.push_back(problem.num_plain);
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    const ContactInput& c = contacts[k];
    problem.first_cone.push_back(static_cast<Index>(problem.cones.size()));
    const D3 n = c.normal.cast<double>(), along = c.friction_axis.cast<double>(),
             across = double(c.friction_ratio) * n.cross(along);
    const Index first = problem.first_normal[k];
    double pressed = 0;
    for (int p = 0; p < c.count; ++p) pressed += double(c.points[p].impulse);
    const auto add_cone = [&](std::span<const VelocityRow> rows, Index from, Index count,
                              double coefficient) {
      problem.cones.push_back({static_cast<Index>(problem.rows.size()), static_cast<Index>(rows.size()), from,
                               count, coefficient});
      problem.rows.insert(problem.rows.end(), rows.begin(), rows.end());
    };
    const auto about = [&](const D3& axis) {
      VelocityRow row = row_at(c, D3::Zero(), D3::Zero(), D3::Zero());
      row.on_a = row.on_b = axis;
      return row;
    };
    for (int p = 0; p < c.count && c.friction > 0; ++p) {
      const D3 ra = c.points[p].ra.cast<double>(), rb = c.points[p].rb.cast<double>();
      VelocityRow rows[2] = {row_at(c, along, ra, rb), row_at(c, across, ra, rb)};
      const double part = pressed > 0 ? double(c.points[p].impulse) / pressed : 0;
      for (VelocityRow& row : rows) {
        row.target = c.surface_velocity.cast<double>().dot(row.n);
        const double length2 = row.n.squaredNorm();
        row.impulse =
            length2 > 0 ? warm * part * c.friction_impulse.cast<double>().dot(row.n) / length2 : 0.0;
      }
      add_cone({rows, c.friction_ratio > 0 ? 2u : 1u}, first + p, 1, double(c.friction));
    }
    if (c.rolling > 0) {
      const VelocityRow rows[2] = {about(along), about(n.cross(along))};
      add_cone(rows, first, c.count, double(c.rolling));
    }
    if (c.spinning > 0) {
      const VelocityRow row = about(n);
      add_cone({&row, 1}, first, c.count, double(c.spinning));
    }
  }
  problem.first_cone.push_back(static_cast<Index>(problem.cones.size()));
}

}}  // namespace plenum::PLENUM_ABI::detail
