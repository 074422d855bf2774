#include "plenum/solvers/rigid/detail/joint_island.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/linear/sparse_ldlt.h"
#include "plenum/solvers/rigid/detail/row_status.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using rigid::AxisMode;
using rigid::Drive;
using JointAxis = Rigid::JointAxis;

/// Part of the diagonal added to it: of the impulses that do the same the smallest act. What joints give for
/// it is this part of their load's free fall in a sub-step. In loops solve_for_least() keeps out of impulses
/// what no body can follow, to the square of this over the rounding of a double.
constexpr double regularization = 1e-7, regularization_of_loops = 1e-6;
/// The same for joints of bodies with locked axes, of the diagonal as it would be without locks, where bodies
/// are led: one that is led and a lock may want what cannot be, and close to where they bar each other a
/// small way asks for any speed. With this, a lever l that is left gives l / (l^2 + 0.01) of the leader's
/// speed: at most five times as much.
constexpr double locked_regularization = 1e-2;
/// Where a body turns by more than this [rad] in a sub-step, Newton's method takes two steps: one leaves of a
/// turn by x errors that give x^4 of the energy, of one sign. 480 times a second this is 0.3 % a minute.
constexpr double brisk_turn = 0.01;
/// And from here on it starts from rates that the joints allow.
constexpr double fast_turn = 0.05;
constexpr double slid_fast = 0.005;  ///< likewise where others are out along it by its size

/// Likewise where a rod or a taut rope does; from the second on four. Rows pull along the rod as it was:
/// where it turns by x, a step leaves x^2 / 2 of what it corrects, always of one sign, and that gave energy.
constexpr double span_fast = 0.01, span_faster = 0.03;

/// Of the energy of bodies that turn far, what keeping them in their joints may take: a chord of a turn by
/// one radian has it.
constexpr double work_most = 0.25;

/// Whether the joint's point is one of both bodies.
bool joint_pins(rigid::JointType type) {
  using enum rigid::JointType;
  return type == ball || type == hinge || type == universal || type == fixed;
}
/// Of the rows 3 to 5 those of freedoms that a joint does not use are made to turn about what the others
/// leave: to be damped in.
template <class Rows>
void complete(const Rigid::Joint& joint, Rows& on_a, Rows& on_b) {
  using D3 = Eigen::Vector3d;
  D3 basis[3];
  int n = 0;
  const auto rest_of = [&](const D3& v) {
    D3 rest = v;
    for (int i = 0; i < n; ++i) rest -= rest.dot(basis[i]) * basis[i];
    return rest;
  };
  for (int r = 3; r < 6; ++r) {
    if (!joint.axes[std::size_t(r)].is_used()) continue;
    const D3 row = on_b.col(r), rest = rest_of(row);
    if (rest.squaredNorm() > 1e-12 * row.squaredNorm()) basis[n++] = rest.normalized();
  }
  for (int r = 3; r < 6; ++r) {
    if (joint.axes[std::size_t(r)].is_used() || n == 3) continue;
    D3 best = D3::Zero();
    for (int k = 0; k < 3; ++k)
      if (const D3 rest = rest_of(D3::Unit(k)); rest.squaredNorm() > best.squaredNorm()) best = rest;
    basis[n++] = best.normalized();
    on_a.col(r) = on_b.col(r) = basis[n - 1];
  }
}

// With [r] the matrix of r x:
/// m [r]
[[gnu::always_inline]] inline Eigen::Matrix3d times_cross(const Eigen::Matrix3d& m,
                                                          const Eigen::Vector3d& r) {
  Eigen::Matrix3d out;
  for (int i = 0; i < 3; ++i) {
    out(i, 0) = m(i, 1) * r.z() - m(i, 2) * r.y();
    out(i, 1) = m(i, 2) * r.x() - m(i, 0) * r.z();
    out(i, 2) = m(i, 0) * r.y() - m(i, 1) * r.x();
  }
  return out;
}
/// out += s [r]^T m
[[gnu::always_inline]] inline void add_cross_times(double s, const Eigen::Vector3d& r,
                                                   const Eigen::Matrix3d& m, Eigen::Matrix3d& out) {
  const Eigen::Vector3d f = s * r;
  for (int j = 0; j < 3; ++j) {
    out(0, j) += f.z() * m(1, j) - f.y() * m(2, j);
    out(1, j) += f.x() * m(2, j) - f.z() * m(0, j);
    out(2, j) += f.y() * m(0, j) - f.x() * m(1, j);
  }
}

}  // namespace

template <int D>
void JointIsland<D>::build(const JointScene& scene, std::span<const Index> joints) {
  const auto n = static_cast<Index>(joints.size());
  const auto& model = scene.model;
  const auto moves = [&](Index body) {
    return body >= 0 && model.motion[std::size_t(body)] == rigid::Motion::dynamic;
  };
  // Joints of each moving body, by body.
  std::vector<std::pair<Index, Index>> incidences;
  for (Index k = 0; k < n; ++k)
    for (const Index body : {model.joints[std::size_t(joints[std::size_t(k)])].a,
                             model.joints[std::size_t(joints[std::size_t(k)])].b})
      if (moves(body)) incidences.emplace_back(body, k);
  std::sort(incidences.begin(), incidences.end());
  std::vector<Index2> edges;
  for (std::size_t i = 0; i < incidences.size(); ++i)
    for (std::size_t j = i + 1; j < incidences.size() && incidences[j].first == incidences[i].first; ++j)
      edges.push_back({incidences[i].second, incidences[j].second});
  // Named from both ends, so that of rows of equal degree the order takes one from the front and one from the
  // back in turn: two short lines of dependent blocks, which a processor works on at once, for one long.
  const auto name = [n](Index k) { return k < (n + 1) / 2 ? 2 * k : 2 * (n - 1 - k) + 1; };
  std::vector<Index2> named = edges;
  for (Index2& e : named) e = {name(e[0]), name(e[1])};
  const std::vector<Index> place_of_name = elimination_order(n, named);
  std::vector<Index> place;
  for (Index k = 0; k < n; ++k) place.push_back(place_of_name[std::size_t(name(k))]);
  for (Index2& e : edges) {
    const Index p = place[std::size_t(e[0])], q = place[std::size_t(e[1])];
    e = {std::max(p, q), std::min(p, q)};
  }
  pattern_.analyze(n, edges);
  factors_.resize(pattern_);

  joints_.assign(std::size_t(n), Joint{});
  bodies_.clear();
  std::vector<std::pair<Index, Index>> local;  // global, here; sorted at the end of each search
  const auto body_of = [&](Index index) {
    const auto at = std::lower_bound(local.begin(), local.end(), std::pair(index, Index(0)));
    if (at != local.end() && at->first == index) return at->second;
    Body body;
    body.index = index;
    body.moves = moves(index);
    body.fixed = index < 0 || model.motion[std::size_t(index)] == rigid::Motion::fixed;
    if (body.moves) {
      body.locks = model.locks[std::size_t(index)];
      body.inertia = model.inertia[std::size_t(index)].template cast<double>();
      body.inverse_moments = body.inertia.cwiseInverse();
      body.gyrates = body.inertia.maxCoeff() - body.inertia.minCoeff() > 1e-5 * body.inertia.maxCoeff();
    }
    const auto here = static_cast<Index>(bodies_.size());
    bodies_.push_back(body);
    local.insert(at, {index, here});
    return here;
  };
  std::vector<Index> at(std::size_t(n), 0);
  for (Index k = 0; k < n; ++k) at[std::size_t(place[std::size_t(k)])] = joints[std::size_t(k)];
  has_bounds_ = has_drives_ = has_springs_ = has_spans_ = false;
  for (Index k = 0; k < n; ++k) {
    Joint& joint = joints_[std::size_t(k)];
    joint.joint = at[std::size_t(k)];
    const Rigid::Joint& of = model.joints[std::size_t(joint.joint)];
    joint.a = body_of(of.a), joint.b = body_of(of.b);
    joint.winds = first_to_wind(of);
    joint.is_span = of.type == rigid::JointType::distance || of.type == rigid::JointType::rope;
    has_spans_ |= joint.is_span;
    joint.is_pinned = (!moves(of.a) || !moves(of.b)) && joint_pins(of.type);
    joint.slides = of.type == rigid::JointType::slider || of.type == rigid::JointType::six_axes;
    joint.size = std::numeric_limits<double>::max();
    for (const Index body : {of.a, of.b})
      if (moves(body)) joint.size = std::min(joint.size, double(model.reach[std::size_t(body)]));
    joint.is_locked = (bodies_[std::size_t(joint.a)].locks | bodies_[std::size_t(joint.b)].locks) != 0;
    joint.is_mouse = of.type == rigid::JointType::mouse && has_drive(of.axes[0]);
    for (std::size_t r = 0; r < 6; ++r) {
      const JointAxis& axis = of.axes[r];
      joint.has_bounds |= axis.mode == AxisMode::limited || has_drive(axis);
      has_drives_ |= has_drive(axis);
      joint.is_spring[r] = axis.drive == Drive::spring && has_drive(axis);
      joint.has_springs |= joint.is_spring[r];
    }
    has_bounds_ |= joint.has_bounds;
    has_springs_ |= joint.has_springs;
  }
  shared_.clear();
  for (std::size_t i = 0; i < incidences.size(); ++i)
    for (std::size_t j = i + 1; j < incidences.size() && incidences[j].first == incidences[i].first; ++j) {
      const Index p = place[std::size_t(incidences[i].second)], q = place[std::size_t(incidences[j].second)];
      const Index later = std::max(p, q), earlier = std::min(p, q);
      const Index body = body_of(incidences[i].first);
      const bool later_b = joints_[std::size_t(later)].b == body,
                 earlier_b = joints_[std::size_t(earlier)].b == body;
      shared_.push_back({pattern_.find(later, earlier), later, earlier, body,
                         later_b == earlier_b ? 1.0 : -1.0, later_b, earlier_b});
    }
  change_.assign(std::size_t(n), Vector::Zero());
  value_ = rate_ = before_ = given_ = wanted_ = change_;
  start_.resize(bodies_.size()), kept_.resize(bodies_.size());
  const auto is_locked = [](const Joint& j) { return j.is_locked; };
  const auto is_led = [](const Body& b) { return !b.moves && !b.fixed; };
  may_conflict_ = std::any_of(joints_.begin(), joints_.end(), is_locked) &&
                  std::any_of(bodies_.begin(), bodies_.end(), is_led);
  const auto num_moving =
      std::count_if(bodies_.begin(), bodies_.end(), [](const Body& b) { return b.moves; });
  const bool is_held = num_moving < std::ptrdiff_t(bodies_.size());
  has_loops_ = n > num_moving - (is_held ? 0 : 1);
  is_redundant_ = !may_conflict_ && (has_loops_ || std::any_of(joints_.begin(), joints_.end(), is_locked));
  find_driven(scene);
  if constexpr (general) full_ = joints_;
}

template <int D>
void JointIsland<D>::start(const JointScene& scene, SolverBodies& bodies) {
  sleeps_ = std::any_of(bodies_.begin(), bodies_.end(),
                        [&](const Body& b) { return b.moves && !scene.stirs[std::size_t(b.index)]; });
  if (sleeps_) return;
  const Rigid::Joints& last = scene.state.joints;
  for (Joint& joint : joints_) {
    const auto k = static_cast<std::size_t>(joint.joint);
    joint.force = joint.torque = D3::Zero();
    const Rigid::Joint& of = scene.model.joints[k];
    // The world's frame may be anywhere.
    const auto arm = [](Index body, const Pose& in) { return body < 0 ? 0 : double(in.position.norm()); };
    joint.most = gap_part * (arm(of.a, of.in_a) + arm(of.b, of.in_b)) + gap_speed * scene.h;
    joint.pull = last.pull[k].template cast<double>();
    for (int r = joint.winds; r < 6; ++r) joint.turn[r - 4] = double(last.turn[k][r - 4]);
    joint.turn_damping = double(of.turn_damping);
    for (std::size_t r = 0; r < 6; ++r) {
      const JointAxis& axis = scene.model.joints[k].axes[r];
      joint.status[r] = static_cast<RowStatus>(last.status[k][Eigen::Index(r)]);
      // A status that the axis cannot have, as before the first step: at rest.
      const bool limit = joint.status[r] == RowStatus::at_lower || joint.status[r] == RowStatus::at_upper;
      const bool drive = joint.status[r] == RowStatus::driven || pushes_fully(joint.status[r]);
      if (!(limit && axis.mode == AxisMode::limited) &&
          !(drive && has_drive(axis) && axis.mode != AxisMode::locked))
        joint.status[r] = at_rest(axis);
    }
  }
  find_strength(scene);
  for (Body& body : bodies_) body.is_heavier = false;
  borrowed_ = owed_ = 0;
  for (const Joint& joint : joints_) owed_ += double(last.owed[std::size_t(joint.joint)]);
  update(scene, bodies);
}

template <int D>
void JointIsland<D>::load(const SolverBodies& bodies) {
  for (Body& body : bodies_) {
    if (body.fixed) continue;
    const BodyVelocity& from = bodies.velocity[std::size_t(body.index < 0 ? bodies.world() : body.index)];
    body.v = D3(double(from.v[0]), double(from.v[1]), double(from.v[2]));
    body.w = D3(double(from.w[0]), double(from.w[1]), double(from.w[2]));
    for (int c = 0; c < 3 && body.locks != 0; ++c) {
      if (body.locks >> c & 1) body.v[c] = 0;
      if (body.locks >> (3 + c) & 1) body.w[c] = 0;
    }
  }
}

template <int D>
void JointIsland<D>::save(SolverBodies& bodies) const {
  for (const Body& body : bodies_) {
    if (!body.moves) continue;
    BodyVelocity& to = bodies.velocity[std::size_t(body.index)];
    for (int c = 0; c < 3; ++c) to.v[c] = Real(body.v[c]), to.w[c] = Real(body.w[c]);
  }
}

template <int D>
double JointIsland<D>::predict(double h) {
  double fastest = 0;
  for (Body& body : bodies_) {
    body.turn = h * body.w;
    // Of what turns by less than 1e-6 rad it is less than a millionth of that: nothing in Real.
    constexpr double slow = 1e-12;
    if (body.gyrates && body.turn.squaredNorm() > slow) {
      // dw/dt of a free body, Euler's equations, in its frame.
      const D3 w = body.rotation.transpose() * body.w, l = body.inertia.cwiseProduct(w);
      const D3 change = l.cross(w).cwiseProduct(body.inverse_moments);
      body.turn += (h * h / 2) * (body.rotation * change);
    }
    const double x = body.turn.squaredNorm();
    fastest = std::max(fastest, x);
    if constexpr (!general) {
      if (x < 0.04) {
        // Their series in x.
        body.sine = 1 + x * (-1. / 6 + x * (1. / 120 + x * (-1. / 5040 + x * (1. / 362880))));
        body.cosine = 1. / 2 + x * (-1. / 24 + x * (1. / 720 + x * (-1. / 40320 + x * (1. / 3628800))));
      } else {
        const double angle = std::sqrt(x);
        body.sine = std::sin(angle) / angle, body.cosine = (1 - std::cos(angle)) / x;
      }
    }
  }
  return fastest;
}

/// Where the arm's end will have moved to, by Rodrigues' formula. [m]
template <int D>
auto JointIsland<D>::ahead(const Body& body, const D3& arm) const -> D3 {
  const D3 across = body.turn.cross(arm);
  return body.sine * across + body.cosine * body.turn.cross(across);
}

/// [rad] at most by which a rod, which has no mass to be followed by, turns in a sub-step.
template <int D>
double JointIsland<D>::span_turn(double h) const {
  double most = 0;
  for (const Joint& j : joints_) {
    if (!j.is_span || j.status[0] == RowStatus::idle) continue;
    const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
    const D3 way = h * (b.v - a.v + b.w.cross(j.arm_b) - a.w.cross(j.arm_a));
    most = std::max(most, way.cross(j.gap).squaredNorm() / std::max(std::pow(j.gap.squaredNorm(), 2), 1e-24));
  }
  return std::sqrt(most);
}

/// Whether bodies turn that others are far out along, on axes that turn with them: a way d out, a turn by x
/// leaves x^2 d / 2 of the error that a step corrects, which is to be little against the bodies.
template <int D>
bool JointIsland<D>::swings_far() const {
  return std::any_of(joints_.begin(), joints_.end(), [&](const Joint& j) {
    return j.slides && j.gap.norm() > j.size &&
           bodies_[std::size_t(j.a)].turn.squaredNorm() * j.gap.norm() > slid_fast * slid_fast * j.size;
  });
}

template <int D>
auto JointIsland<D>::rate(const Joint& j) const -> Vector {
  const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
  if constexpr (general)
    return j.n.transpose() * (b.v - a.v) + j.on_b.transpose() * b.w - j.on_a.transpose() * a.w;
  else
    return b.v - a.v + b.w.cross(j.arm_b) - a.w.cross(j.arm_a);
}

template <int D>
void JointIsland<D>::push(const Joint& j, const Vector& impulse) {
  Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
  D3 linear;
  if constexpr (general)
    linear = j.n * impulse;
  else
    linear = impulse;
  a.v -= a.mobility.cwiseProduct(linear), b.v += b.mobility.cwiseProduct(linear);
  a.w -= j.push_a * impulse, b.w += j.push_b * impulse;
}

template <int D>
void JointIsland<D>::find_softness(const JointScene& scene, Joint& joint) const {
  const double h = scene.h;
  for (std::size_t r = 0; r < 6; ++r) {
    const JointAxis& axis = scene.model.joints[std::size_t(joint.joint)].axes[r];
    const bool soft = joint.status[r] == RowStatus::driven && axis.drive == Drive::spring;
    const double damping = double(axis.damping) + (r >= 3 ? joint.damping[r - 3] : 0);
    joint.soft[r] = soft ? 1 / (h * (h * double(axis.stiffness) + damping)) : 0;
  }
}

/// Whether the row answers what bodies do.
template <int D>
bool JointIsland<D>::acts(const Joint& j, int r) {
  return is_active(j.status[r]) || (r >= 3 && j.damps[r - 3]);
}

/// Backward Euler of turn_damping in the rows that are free to turn. These rows R (columns) are no axes at
/// right angles: bodies turn by w = R^-T q' to each other, the couple -c w is -c (R^T R)^-1 q' in the rows,
/// and of those that are free the softness is the inverse of their part of that.
template <int D>
void JointIsland<D>::find_damping(Joint& j, const Joint& full, double h) const {
  if constexpr (general) {
    const Eigen::Matrix3d rows = full.on_b.template rightCols<3>();
    Eigen::Matrix3d metric = rows.transpose() * rows;
    metric.diagonal().array() += 1e-6 * metric.trace();  // at poses where rows coincide
    Eigen::Matrix3d m = inverse_of<3>(metric);
    for (int r = 0; r < 3; ++r) {
      const RowStatus status = j.status[3 + r];
      j.damping[r] = j.turn_damping * m(r, r);
      j.damps[r] = status == RowStatus::idle || pushes_fully(status);
    }
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s)
        if (!j.damps[r] || !j.damps[s]) m(r, s) = r == s;
    j.damp_soft = inverse_of<3>(m) / (h * j.turn_damping);
    for (int r = 0; r < 3; ++r)
      if (!j.damps[r]) j.damp_soft.row(r).setZero(), j.damp_soft.col(r).setZero();
  }
}

template <int D>
void JointIsland<D>::update(const JointScene& scene, SolverBodies& bodies) {
  for (Body& body : bodies_) {
    if (body.index < 0) continue;
    const auto i = static_cast<std::size_t>(body.index);
    const BodyMotion& motion = scene.bodies.motion[i];
    const Vec3& x = scene.state.frames.x[i];
    for (int c = 0; c < 3; ++c) body.pose.x[c] = double(x[c]) + (body.fixed ? 0 : double(motion.dx[c]));
    const Vec4& q = body.fixed ? scene.state.frames.q[i] : scene.q[i];
    body.pose.q = Quaternion<double>(double(q[3]), double(q[0]), double(q[1]), double(q[2]));
    body.rotation = body.pose.q.toRotationMatrix();
    if (!body.moves) continue;
    take_inertia(body, bodies);
    for (int c = 0; c < 3; ++c) body.mobility[c] = body.locks >> c & 1 ? 0 : body.inverse_mass;
  }
  for (Joint& j : joints_) {
    const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
    const Rigid::Joint& of = scene.model.joints[std::size_t(j.joint)];
    j.arm_a = a.rotation * of.in_a.position.cast<double>();
    j.arm_b = b.rotation * of.in_b.position.cast<double>();
    j.gap = (b.pose.x - a.pose.x) + (j.arm_b - j.arm_a);
    if constexpr (!general) {
      const double gap2 = j.gap.squaredNorm();
      j.closes = gap2 > j.most * j.most ? j.most / std::sqrt(gap2) : 1;
    }
  }
  find_stiffness(scene.h);
  find_rows(scene);
  const bool is_sought = may_vibrate_less(scene, bodies);
  if (!is_sought) make_heavier();
  find_pushes();
  factorize(scene);
  if (is_sought) {
    estimate_vibration(scene.h);
    make_heavier();
    if (is_heavier_) find_pushes(), factorize(scene);
  }
  if (is_heavier_) give_inertia(bodies);
}

template <int D>
void JointIsland<D>::find_rows(const JointScene& scene) {
  if constexpr (general)
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      Joint& j = full_[k];
      const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
      JointRows rows;
      joint_rows(scene.model.joints[std::size_t(j.joint)], a.pose, b.pose, joints_[k].value, rows);
      for (int r = 0; r < 6; ++r)
        j.n.col(r) = rows.n[r], j.on_a.col(r) = rows.on_a[r], j.on_b.col(r) = rows.on_b[r];
      if (joints_[k].turn_damping > 0) complete(scene.model.joints[std::size_t(j.joint)], j.on_a, j.on_b);
      for (int r = joints_[k].winds; r < 6; ++r)
        joints_[k].value[r] = wound(joints_[k].value[r], joints_[k].turn[r - 4]);
    }
}

/// What impulses of the rows turn bodies by.
template <int D>
void JointIsland<D>::find_pushes() {
  for (Joint& j : general ? full_ : joints_) {
    const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
    if constexpr (general) {
      j.push_a.noalias() = a.inverse_inertia * j.on_a;
      j.push_b.noalias() = b.inverse_inertia * j.on_b;
    } else {
      j.push_a = times_cross(a.inverse_inertia, j.arm_a);
      j.push_b = times_cross(b.inverse_inertia, j.arm_b);
    }
  }
}

template <int D>
double JointIsland<D>::give_of_locked(const Body& a, const Body& b, const Joint& j, int r) const {
  const auto turns = [](const Body& body, const D3& on) {
    return body.moves ? body.inverse_moments.maxCoeff() * on.squaredNorm() : 0;
  };
  D3 n = D3::Unit(r % 3), on_a, on_b;
  if constexpr (general)
    n = j.n.col(r), on_a = j.on_a.col(r), on_b = j.on_b.col(r);
  else
    on_a = j.arm_a.cross(n), on_b = j.arm_b.cross(n);
  return (may_conflict_ ? locked_regularization : regularization_of_loops) *
         ((a.inverse_mass + b.inverse_mass) * n.squaredNorm() + turns(a, on_a) + turns(b, on_b));
}

template <int D>
void JointIsland<D>::factorize(const JointScene& scene) {
  const double least_give = has_loops_ ? regularization_of_loops : regularization;
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    Joint& j = joints_[k];
    auto& block = factors_.diagonal[k];
    const Body &a = bodies_[std::size_t(j.a)], &b = bodies_[std::size_t(j.b)];
    if constexpr (general) {
      const Joint& full = full_[k];
      j.n = full.n, j.on_a = full.on_a, j.on_b = full.on_b, j.push_a = full.push_a, j.push_b = full.push_b;
      if (j.turn_damping > 0) find_damping(j, full, scene.h);
      for (int r = 0; r < 6; ++r) {
        if (acts(j, r)) continue;
        for (Rows* rows : {&j.n, &j.on_a, &j.on_b, &j.push_a, &j.push_b}) rows->col(r).setZero();
      }
      if (j.is_locked)
        block.noalias() = j.n.transpose() * (a.mobility + b.mobility).asDiagonal() * j.n;
      else
        block.noalias() = (a.inverse_mass + b.inverse_mass) * (j.n.transpose() * j.n);
      find_softness(scene, j);
    } else {
      block = (a.mobility + b.mobility).asDiagonal();
      add_cross_times(1, j.arm_a, j.push_a, block);
      add_cross_times(1, j.arm_b, j.push_b, block);
    }
    if constexpr (general) {
      block.noalias() += j.on_a.transpose() * j.push_a;
      block.noalias() += j.on_b.transpose() * j.push_b;
    }
    for (int r = 0; r < D; ++r) {
      j.give[r] = j.is_locked ? give_of_locked(a, b, j, r) : least_give * block(r, r);
      block(r, r) += j.give[r];
      if constexpr (general) block(r, r) = acts(j, r) ? block(r, r) + j.soft[r] : 1;
    }
    if constexpr (general) block.template bottomRightCorner<3, 3>() += j.damp_soft;
  }
  for (auto& block : factors_.lower) block.setZero();
  for (const Shared& s : shared_) {
    const Joint &l = joints_[std::size_t(s.later)], &e = joints_[std::size_t(s.earlier)];
    auto& block = factors_.lower[std::size_t(s.block)];
    const D3 mass = s.sign * bodies_[std::size_t(s.body)].mobility;
    const Rows& pushed = s.earlier_b ? e.push_b : e.push_a;
    if constexpr (general) {
      const Rows& on = s.later_b ? l.on_b : l.on_a;
      block.noalias() += s.sign * (on.transpose() * pushed);
      if (bodies_[std::size_t(s.body)].locks != 0)
        block.noalias() += l.n.transpose() * mass.asDiagonal() * e.n;
      else
        block.noalias() += mass.x() * (l.n.transpose() * e.n);
    } else {
      add_cross_times(s.sign, s.later_b ? l.arm_b : l.arm_a, pushed, block);
      block.diagonal() += mass;
    }
  }
  factors_.factorize(pattern_);
}

template <int D>
void JointIsland<D>::begin(const JointScene& scene, SolverBodies& bodies, bool contacts) {
  for (Joint& joint : joints_) joint.impulse.setZero();
  has_pushed_ = false;
  if (!contacts) return;
  load(bodies);
  push_drives(scene);
  project(scene, true);
  save(bodies);
}

template <int D>
void JointIsland<D>::solve(const JointScene& scene, SolverBodies& bodies) {
  const double h = scene.h, fast = fast_turn * fast_turn, brisk = brisk_turn * brisk_turn;
  load(bodies);
  const bool may_work = general || is_heavier_ || has_loops_;
  has_changed_ = false;
  damp(h), limit(h);
  const double before = may_work ? kinetic_energy() : 0;
  const Common common = may_work ? motion_in_common() : Common{};
  if (may_work)
    for (std::size_t k = 0; k < joints_.size(); ++k)
      before_[k] = rate(general ? full_[k] : joints_[k]), given_[k] = joints_[k].impulse;
  // Not before: over a long arm a drive's impulse alone turns a body by any angle, which locked rows take
  // back to the last bit. What damping took of it would be missing, and turn both bodies out of nothing.
  push_drives(scene);
  // Where blows or the impulses of the last sub-step turn a body far, where it would lead says nothing:
  // Newton's method starts from rates that the joints allow.
  const bool far = predict(h) > fast || swings_far();
  if (far) project(scene, true);
  keep();
  solve_rows<true>(scene, true);
  const double turned = predict(h);
  const bool turns_far = far || turned > fast || swings_far();
  const double rods = has_spans_ ? span_turn(h) : 0;
  const int more = rods > span_faster ? 3 : turns_far || turned > brisk || rods > span_fast ? 1 : 0;
  for (int k = 0; k < more; ++k) solve_rows<true>(scene, true);
  if (turns_far || rods > span_fast) limit(h);
  // What has not been projected still holds rates that the joints take away.
  bound_work(far ? work_most : 1 + work_most);
  // Joints would do work of their own where bodies turn faster than a sub-step can follow, where rods stand
  // normal to what slides, ropes become taut and limits are met: an error that is closed over a small lever
  // is a large speed. What hangs in a tree and turns slowly keeps its energy by itself.
  const bool is_rough =
      is_heavier_ || has_drives_ || has_loops_ || has_changed_ || turns_far || rods > span_faster;
  if (may_work && is_rough) bound_energy(common, before, h);
  if constexpr (general)
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      Joint& j = joints_[k];
      if (j.winds == 6) continue;
      const Vector now = rate(full_[k]);
      for (int r = j.winds; r < 6; ++r) j.turn[r - 4] = j.value[r] + h * now[r];
    }
  save(bodies);
}
template <int D>
void JointIsland<D>::relax(const JointScene& scene, SolverBodies& bodies) {
  load(bodies);
  const bool may_work = general || has_loops_;
  const double before = may_work ? kinetic_energy() : 0;
  const Common common = borrowed_ > 0 ? motion_in_common() : Common{};
  project(scene, false);
  if (borrowed_ > 0) slow_down(common, std::max(before - borrowed_, 0.0));
  borrowed_ = 0;
  if (may_work) owed_ = std::min(owed_ + std::max(before - kinetic_energy(), 0.0), most_owed());
  save(bodies);
}

template <int D>
void JointIsland<D>::collect() {
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    Joint& j = joints_[k];
    const auto book = [&](const Vector& impulse) {
      if constexpr (general) {
        j.force += full_[k].n * impulse;
        j.torque += full_[k].on_b.template rightCols<3>() * impulse.template tail<3>();
      } else {
        j.force += impulse;
      }
    };
    if constexpr (general)
      j.pull = full_[k].n * j.impulse;
    else
      j.pull = j.impulse;
    book(j.impulse);
    if (has_blow_) book(j.blow);
  }
  if (has_blow_) forget_blow();
}

template <int D>
void JointIsland<D>::store(double dt, Rigid::Joints& out) const {
  for (const Joint& joint : joints_) {
    const auto k = static_cast<std::size_t>(joint.joint);
    for (int r = 0; r < 6; ++r) out.status[k][r] = static_cast<std::uint8_t>(joint.status[r]);
    for (int r = joint.winds; r < 6; ++r) out.turn[k][r - 4] = Real(joint.value[r]);
    out.pull[k] = joint.pull.template cast<Real>();
    out.owed[k] = &joint == joints_.data() ? Real(owed_) : 0;
    out.force[k] = (joint.force / dt).template cast<Real>();
    out.torque[k] = (joint.torque / dt).template cast<Real>();
  }
}

template class JointIsland<3>;
template class JointIsland<6>;

}}  // namespace plenum::PLENUM_ABI::detail
