#include "plenum/solvers/springs/rigid_motion.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/integrate/free_rotation.h"
#include "plenum/solvers/springs/detail/block.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// How much of the turning's energy the rest of the motion may have, before the frame's share of it begins
/// to fade, and where it has faded.
constexpr double rigid_share = 0.25;
/// Extents and velocities of pins below so much of the piece's are rounding.
constexpr double rounding = 1e-3;
/// Principal moments of inertia below so much of the largest are those of a line about itself.
constexpr double slender = 1e-6;

Matrix3<double> inertia(const Matrix3<double>& second_moment) {
  return second_moment.trace() * Matrix3<double>::Identity() - second_moment;
}

using Principal = Eigen::SelfAdjointEigenSolver<Matrix3<double>>;

Principal principal(const Matrix3<double>& symmetric) {
  Principal solver;
  solver.computeDirect(symmetric);
  return solver;
}

/// I^-1 L, without what would turn a line about itself.
Vector3<double> spin_of(const Principal& inertia, const Vector3<double>& momentum) {
  Vector3<double> spin = Vector3<double>::Zero();
  for (int k = 0; k < 3; ++k) {
    if (!(inertia.eigenvalues()[k] > slender * inertia.eigenvalues()[2])) continue;
    const Vector3<double> axis = inertia.eigenvectors().col(k);
    spin += axis.dot(momentum) / inertia.eigenvalues()[k] * axis;
  }
  return spin;
}

/// Sum of m r x v, of that of m v r^T.
Vector3<double> axial(const Matrix3<double>& outer) {
  return {outer(2, 1) - outer(1, 2), outer(0, 2) - outer(2, 0), outer(1, 0) - outer(0, 1)};
}

/// What is left of a share that fades as `part` grows from 0 to the most.
double fade(double part, double most) {
  return std::clamp(1 - part / most, 0.0, 1.0);
}

}  // namespace

void RigidMotions::Sums::add(double m, const V& r, const V& v) {
  const Eigen::Matrix<double, 4, 1> q(r.x(), r.y(), r.z(), 1), mq = m * q, u(v.x(), v.y(), v.z(), 0);
  qq += q * mq.transpose();
  vq += u * mq.transpose();
  energy += 0.5 * m * v.squaredNorm();
}

void RigidMotions::Sums::move_to(const V& r, const V& v) {
  M4 move = M4::Identity();
  move.col(3).head<3>() = -r;
  energy += 0.5 * weight() * v.squaredNorm() - vq.col(3).head<3>().dot(v);
  vq.topRows<3>() -= v * qq.row(3);
  vq = (vq * move.transpose()).eval();
  qq = (move * qq * move.transpose()).eval();
}

RigidMotions::RigidMotions(std::span<const Index> piece_of, std::span<const Index> guided,
                           std::span<const Index> pinned)
    : of_(piece_of.begin(), piece_of.end()), pinned_(pinned.begin(), pinned.end()) {
  Index count = 0;
  for (const Index piece : of_) count = std::max(count, piece + 1);
  frames_.resize(std::size_t(count));
  body_.resize(frames_.size());
  pins_.resize(frames_.size());
  passing_.resize(frames_.size());
  for (std::size_t i = of_.size(); i-- > 0;) frames_[std::size_t(of_[i])].first = Index(i);
  for (const Index i : guided) frames_[std::size_t(of_[std::size_t(i)])].guided = true;
}

void RigidMotions::begin(const Vec3& gravity, Real h, Real shortest) {
  gravity_ = gravity.cast<double>();
  step_ = double(h);
  shortest_ = double(shortest);
}

void RigidMotions::find_spin(Frame& frame, const Sums& body, const Sums& pins) const {
  frame.axis.setZero();
  const V momentum = frame.angular_momentum = axial(body.outer());
  // The second-order part of so small a turn, of all the motion there is, is lost in the places' own
  // rounding.
  constexpr double least = 4 * double(std::numeric_limits<Real>::epsilon());
  if (2 * body.energy * step_ * step_ <= least * body.second_moment().trace()) return;
  if (pins.weight() > 0) {
    const double extent = body.second_moment().trace() / body.weight(), speed = body.energy / body.weight();
    constexpr double small = rounding * rounding;
    if (pins.energy > small * speed * pins.weight()) return;  // they turn it themselves
    const Principal scatter = principal(pins.second_moment() / pins.weight());
    if (scatter.eigenvalues()[1] > small * extent) return;
    if (scatter.eigenvalues()[2] > small * extent) frame.axis = scatter.eigenvectors().col(2);
  }
  const M moments = inertia(body.second_moment());
  if (frame.axis != V::Zero()) {
    const double about = frame.axis.dot(moments * frame.axis);
    if (about > 0) frame.spin = frame.axis.dot(momentum) / about * frame.axis;
  } else {
    frame.spin = spin_of(principal(moments), momentum);
  }
  const double turning = 0.5 * frame.spin.dot(moments * frame.spin);
  if (turning > 0) frame.share = fade(body.energy - turning, rigid_share * turning);
  frame.share *= fade(std::max(frame.spin.norm() * shortest_ - farthest, 0.0), farthest);
  frame.spin *= frame.share;
}

void RigidMotions::find(std::span<const Vec3> x, std::span<const Vec3> v, std::span<const Real> mass,
                        std::span<const Real> inverse_mass, const SupportSet& supports) {
  if (frames_.empty()) return;
  const auto frame_of = [&](std::size_t i) -> Frame& { return frames_[std::size_t(of_[i])]; };
  std::fill(body_.begin(), body_.end(), Sums{});
  std::fill(pins_.begin(), pins_.end(), Sums{});
  // About a point of the piece itself, so that nothing cancels far from the origin.
  const auto relative = [&](std::size_t i) -> V {
    return (x[i] - x[std::size_t(frame_of(i).first)]).cast<double>();
  };
  for (std::size_t i = 0; i < of_.size(); ++i)
    body_[std::size_t(of_[i])].add(double(mass[i]), relative(i), v[i].cast<double>());
  for (const Index pin : pinned_) {
    const auto i = std::size_t(pin);
    if (inverse_mass[i] == 0) pins_[std::size_t(of_[i])].add(1, relative(i), v[i].cast<double>());
  }
  for (std::size_t p = 0; p < frames_.size(); ++p) {
    Frame& frame = frames_[p];
    Sums &body = body_[p], &pins = pins_[p];
    frame.spin.setZero();
    frame.share = 0;
    if (frame.guided) continue;
    const Sums& held = pins.weight() > 0 ? pins : body;
    const V centre = held.centre(), velocity = held.velocity();
    body.move_to(centre, velocity);
    pins.move_to(centre, velocity);
    frame.centre = x[std::size_t(frame.first)].cast<double>() + centre;
    frame.velocity = velocity;
    find_spin(frame, body, pins);
  }
  // What supports hold would pass them if it went with a frame that does not roll on them.
  const auto held = supports.held();
  const auto free = supports.free();
  passing_.assign(frames_.size(), 0.0);
  for (std::size_t k = 0; k < held.size(); ++k) {
    const auto i = std::size_t(held[k]);
    const Frame& frame = frame_of(i);
    const V off = v[i].cast<double>() - frame.velocity - frame.spin.cross(x[i].cast<double>() - frame.centre);
    double& most = passing_[std::size_t(of_[i])];
    most = std::max(most, (off - free[k].cast<double>() * off).squaredNorm());
  }
  for (std::size_t p = 0; p < frames_.size(); ++p) {
    Frame& frame = frames_[p];
    if (frame.spin == V::Zero() || passing_[p] == 0) continue;
    const double mean = frame.spin.dot(inertia(body_[p].second_moment()) * frame.spin) / body_[p].weight();
    const double left = fade(passing_[p], rigid_share * mean);
    frame.share *= left;
    frame.spin *= left;
  }
  for (std::size_t p = 0; p < frames_.size(); ++p) {
    Frame& frame = frames_[p];
    frame.spin_rate.setZero();
    frame.gain.setZero();
    if (frame.spin == V::Zero()) continue;
    const M moments = inertia(body_[p].second_moment());
    const V torque = frame.share * body_[p].moment().cross(gravity_);
    if (frame.axis != V::Zero()) {
      frame.gain = frame.axis.dot(torque) / frame.axis.dot(moments * frame.axis) * frame.axis;
      continue;
    }
    const Principal axes = principal(moments);
    frame.spin_rate = spin_of(axes, (moments * frame.spin).cross(frame.spin));
    frame.gain = spin_of(axes, torque);
  }
}

RigidMotions::V RigidMotions::acceleration(const Frame& frame, const V& r) {
  return frame.spin.cross(frame.spin.cross(r)) + frame.spin_rate.cross(r);
}

bool RigidMotions::any() const {
  return std::any_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.spin != V::Zero(); });
}

Real RigidMotions::fastest() const {
  double most = 0;
  for (const Frame& frame : frames_) most = std::max(most, frame.spin.norm());
  return static_cast<Real>(most);
}

void RigidMotions::take_from(std::span<const Vec3> x, std::span<const Vec3> v, Real ahead,
                             std::span<Vec3> u) const {
  if (!any()) {
    std::copy(v.begin(), v.end(), u.begin());
    return;
  }
  parallel_for(v.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Frame& frame = frames_[std::size_t(of_[i])];
      const V spin = frame.spin + double(ahead) * frame.gain;
      u[i] = v[i] - spin.cross(x[i].cast<double>() - frame.centre).cast<Real>();
    }
  });
}

void RigidMotions::bend(std::span<const Vec3> x, Real h, std::span<Vec3> from) const {
  parallel_for(x.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Frame& frame = frames_[std::size_t(of_[i])];
      from[i] = x[i] + h * h / 2 * acceleration(frame, x[i].cast<double>() - frame.centre).cast<Real>();
    }
  });
}

void RigidMotions::add_centrifugal(std::span<const Vec3> x, std::span<const Real> mass, Real h,
                                   std::span<Vec3> impulse) const {
  if (!any()) return;
  parallel_for(impulse.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Frame& frame = frames_[std::size_t(of_[i])];
      impulse[i] -= h * mass[i] * acceleration(frame, x[i].cast<double>() - frame.centre).cast<Real>();
    }
  });
}

void RigidMotions::advance(std::span<Vec3> x, std::span<Vec3> v, std::span<const Real> mass,
                           std::span<const Real> inverse_mass, Real h) {
  const auto step = double(h);
  const auto frame_of = [&](std::size_t i) -> const Frame* {
    const Frame* const frame = frames_.empty() ? nullptr : &frames_[std::size_t(of_[i])];
    return frame && frame->spin != V::Zero() ? frame : nullptr;
  };
  const auto place = [&](const Frame& frame, std::size_t i) -> V {
    return x[i].cast<double>() - frame.centre;
  };
  const auto within = [&](const Frame& frame, std::size_t i) -> V {
    return v[i].cast<double>() - frame.velocity - frame.spin.cross(place(frame, i));
  };
  if (any()) {
    // In the frame, before it has turned.
    std::fill(body_.begin(), body_.end(), Sums{});
    for (std::size_t i = 0; i < of_.size(); ++i)
      if (const Frame* const frame = frame_of(i)) {
        const V u = within(*frame, i);
        body_[std::size_t(of_[i])].add(double(mass[i]), place(*frame, i) + step * u, u);
      }
    for (std::size_t p = 0; p < frames_.size(); ++p)
      if (frames_[p].spin != V::Zero()) find_turn(frames_[p], body_[p], step);
  }
  parallel_for(v.size(), net_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Frame* const frame = frame_of(i);
      if (!frame || inverse_mass[i] == 0) {
        x[i] += h * v[i];
        continue;
      }
      // Coriolis' force turns what moves within the frame twice as far back as the frame turns.
      const V u = within(*frame, i);
      const V r = frame->turn * (place(*frame, i) + step * u);
      x[i] = (frame->centre + step * frame->velocity + r).cast<Real>();
      v[i] = (frame->velocity + frame->spin_after.cross(r) + frame->turn.transpose() * u).cast<Real>();
    }
  });
}

void RigidMotions::find_turn(Frame& frame, const Sums& then, double h) {
  const M moments = inertia(then.second_moment());
  const Principal axes = principal(moments);
  if (frame.axis != V::Zero()) {
    frame.turn = rotation_by(V(h * frame.spin)).normalized().toRotationMatrix();
  } else {
    M directions = axes.eigenvectors();
    if (directions.determinant() < 0) directions.col(2) = -directions.col(2);
    const Quaternion<double> before(directions);
    Quaternion<double> after = before;
    V spin = frame.spin;
    rotate_freely<double>(after, axes.eigenvalues().cwiseMax(slender * axes.eigenvalues()[2]), spin, h);
    frame.turn = (after * before.conjugate()).normalized().toRotationMatrix();
  }
  // The frame has what angular momentum the motion within leaves: sum of m (R r) x (R^T u) from that of m u
  // r.
  const M& turn = frame.turn;
  const V within = axial(turn.transpose() * then.outer() * turn.transpose());
  const V left = frame.angular_momentum - within;
  frame.spin_after = frame.axis != V::Zero()
                         ? V(frame.axis.dot(left) / frame.axis.dot(moments * frame.axis) * frame.axis)
                         : V(turn * spin_of(axes, turn.transpose() * left));
}

}  // namespace plenum::inline PLENUM_ABI
