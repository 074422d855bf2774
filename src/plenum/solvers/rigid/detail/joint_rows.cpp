#include "plenum/solvers/rigid/detail/joint_rows.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

using rigid::AxisMode;
using rigid::JointType;
using D3 = Vector3<double>;
using M3 = Matrix3<double>;
using Q = Quaternion<double>;

/// The joint's frames in the world.
struct Place {
  D3 ra, rb, d;  ///< arms from the centres of mass, and from A's origin to B's
  Q a, b;
};
Place place_of(const Rigid::Joint& joint, const JointPose& a, const JointPose& b) {
  Place p;
  p.ra = a.q * joint.in_a.position.cast<double>();
  p.rb = b.q * joint.in_b.position.cast<double>();
  p.d = (b.x - a.x) + (p.rb - p.ra);
  p.a = a.q * joint.in_a.rotation.cast<double>();
  p.b = b.q * joint.in_b.rotation.cast<double>();
  return p;
}

bool turns_as_fixed(const Rigid::Joint& joint) {
  return joint.type == JointType::fixed || joint.type == JointType::slider ||
         (joint.type == JointType::six_axes &&
          std::all_of(joint.axes.begin() + 3, joint.axes.end(),
                      [](const Rigid::JointAxis& axis) { return axis.mode == AxisMode::locked; }));
}
bool is_along_a(const Rigid::Joint& joint) {
  return joint.type == JointType::slider || joint.type == JointType::six_axes ||
         joint.type == JointType::mouse;
}
bool is_span(const Rigid::Joint& joint) {
  return joint.type == JointType::distance || joint.type == JointType::rope;
}
/// The quaternion from A to B, of the half sphere about 1.
Q relative(const Place& p) {
  Q q = p.a.conjugate() * p.b;
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  return q;
}
double twist(const Place& p) {
  const Q q = relative(p);
  return 2 * std::atan2(q.x(), q.w());
}

/// Angular values [3..5] and the axes w.r.t. which they change: rate = axis . (w_b - w_a).
void angular(const Rigid::Joint& joint, const Place& p, double (&value)[6], D3* axes) {
  const auto used = [&](int k) { return joint.axes[std::size_t(k)].is_used(); };
  if (turns_as_fixed(joint)) {
    const Q q = relative(p);
    for (int k = 0; k < 3; ++k) {
      value[3 + k] = 2 * q.vec()[k];
      if (axes) axes[k] = p.a * (q.w() * D3::Unit(k) + q.vec().cross(D3::Unit(k)));
    }
    return;
  }
  switch (joint.type) {
    case JointType::ball:
    case JointType::hinge: {
      const D3 xa = p.a * D3::UnitX(), xb = p.b * D3::UnitX();
      if (joint.type == JointType::hinge) {
        const D3 ya = p.a * D3::UnitY(), za = p.a * D3::UnitZ();
        value[3] = xb.dot(ya), value[4] = xb.dot(za);
        if (axes) axes[0] = xb.cross(ya), axes[1] = xb.cross(za);
      } else if (used(3)) {
        const D3 across = xa.cross(xb);
        const double sine = across.norm();
        value[3] = std::atan2(sine, xa.dot(xb));
        // Straight on, any direction is as good: the limit is far.
        if (axes) axes[0] = sine > 1e-9 ? D3(across / sine) : D3(p.a * D3::UnitY());
      }
      const int k = joint.type == JointType::hinge ? 5 : 4;
      if (used(k)) {
        value[k] = twist(p);
        // Undefined where the axes are opposite; bounded there.
        if (axes) axes[k - 3] = (xa + xb) / std::max(1 + xa.dot(xb), 1e-3);
      }
      break;
    }
    case JointType::universal: {
      const D3 xa = p.a * D3::UnitX(), yb = p.b * D3::UnitY();
      value[3] = xa.dot(yb);
      if (axes) axes[0] = yb.cross(xa);
      // With xA.yB = 0 the turn from A to B is one about xA, then one about yB. Of a vector r of A or B, the
      // angle atan2(r.z, r.y) changes by (c ds - s dc) / (c^2 + s^2) with c = r.y, s = r.z.
      const double least = 1e-3;  // of the square; where xA lies along yB, no angle is defined
      if (used(4)) {
        const D3 ya = p.a * D3::UnitY(), za = p.a * D3::UnitZ();
        const double c = yb.dot(ya), s = yb.dot(za);
        value[4] = std::atan2(s, c);
        if (axes) axes[1] = yb.cross(c * za - s * ya) / std::max(c * c + s * s, least);
      }
      if (used(5)) {
        const D3 xb = p.b * D3::UnitX(), zb = p.b * D3::UnitZ();
        const double c = xb.dot(xa), s = zb.dot(xa);
        value[5] = std::atan2(s, c);
        if (axes) axes[2] = (c * zb - s * xb).cross(xa) / std::max(c * c + s * s, least);
      }
      break;
    }
    case JointType::six_axes: {
      if (!used(3) && !used(4) && !used(5)) break;
      // R = Rx(a) Ry(b) Rz(c) from A to B.
      const M3 r = (p.a.conjugate() * p.b).toRotationMatrix();
      value[3] = std::atan2(-r(1, 2), r(2, 2));
      value[4] = std::asin(std::clamp(r(0, 2), -1.0, 1.0));
      value[5] = std::atan2(-r(0, 1), r(0, 0));
      if (!axes) break;
      // w = a' x + b' y' + c' z' with y' normal to both others; rates by the dual basis.
      const D3 x = p.a * D3::UnitX(), z = p.b * D3::UnitZ();
      const D3 y = p.a * D3(0, std::cos(value[3]), std::sin(value[3]));
      const double scale = 1 / std::max(x.dot(y.cross(z)), 0.05);  // cos b; unbounded at 90 degrees
      axes[0] = scale * y.cross(z);
      axes[1] = y;
      axes[2] = scale * x.cross(y);
      break;
    }
    default:
      break;
  }
}

void fill(const Rigid::Joint& joint, const JointPose& a, const JointPose& b, double (&value)[6],
          JointRows* rows) {
  const Place p = place_of(joint, a, b);
  std::fill(std::begin(value), std::end(value), 0.0);
  if (rows)
    for (int k = 0; k < 6; ++k) rows->n[k] = rows->on_a[k] = rows->on_b[k] = D3::Zero();
  if (is_span(joint)) {
    const double length = p.d.norm();
    value[0] = length;
    if (!rows) return;
    // Ends that coincide are pushed apart along any direction.
    rows->n[0] = length > 1e-12 ? D3(p.d / length) : D3(D3::UnitY());
    rows->on_a[0] = p.ra.cross(rows->n[0]);
    rows->on_b[0] = p.rb.cross(rows->n[0]);
    return;
  }
  // Axes that turn with a, or the world's.
  const bool along_a = is_along_a(joint);
  const D3 arm = along_a ? D3(p.ra + p.d) : p.ra;
  for (int k = 0; k < 3; ++k) {
    if (!joint.axes[std::size_t(k)].is_used()) continue;
    const D3 n = along_a ? D3(p.a * D3::Unit(k)) : D3(D3::Unit(k));
    value[k] = n.dot(p.d);
    if (!rows) continue;
    rows->n[k] = n;
    rows->on_a[k] = arm.cross(n);
    rows->on_b[k] = p.rb.cross(n);
  }
  D3 axes[3] = {D3::Zero(), D3::Zero(), D3::Zero()};
  angular(joint, p, value, rows ? axes : nullptr);
  for (int k = 3; k < 6; ++k) {
    if (!joint.axes[std::size_t(k)].is_used())
      value[k] = 0;
    else if (rows)
      rows->on_a[k] = rows->on_b[k] = axes[k - 3];
  }
}

}  // namespace

int first_to_wind(const Rigid::Joint& joint) {
  const bool cross =
      joint.type == JointType::universal && (joint.axes[4].is_used() || joint.axes[5].is_used());
  return cross ? 4 : joint.type == JointType::hinge && joint.axes[5].is_used() ? 5 : 6;
}

void joint_values(const Rigid::Joint& joint, const JointPose& a, const JointPose& b, double (&value)[6]) {
  fill(joint, a, b, value, nullptr);
}

void joint_rows(const Rigid::Joint& joint, const JointPose& a, const JointPose& b, double (&value)[6],
                JointRows& rows) {
  fill(joint, a, b, value, &rows);
}

}}  // namespace plenum::PLENUM_ABI::detail
