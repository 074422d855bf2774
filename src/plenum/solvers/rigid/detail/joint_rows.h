#pragma once
// What a joint constrains, and how fast it changes: values and Jacobians of its freedoms.
//
// A joint has a frame on each of its bodies, A and B, whose origins and axes coincide at the start. With d
// the vector from A's origin to B's, its six freedoms are
//   ball        d in the world; angle between the x axes; twist about them; none
//   hinge       d in the world; xB.yA, xB.zA; twist about x
//   slider      d in A's axes; twice the vector part of the quaternion from A to B
//   fixed       d in the world; likewise
//   distance, rope   |d|
//   universal   d in the world; xA.yB; the angle about xA from yA to yB, that about yB from xA to xB
//   six_axes    d in A's axes; the intrinsic angles about x, y, z (or, all locked, as a fixed joint's)
//   mouse       d in A's axes; none. Its origin on A is where it pulls to, that on B what it pulls: they
//               begin apart
// The rate of freedom k is
//   n_k . (v_b - v_a) + on_b_k . w_b - on_a_k . w_a
// with v of the centres of mass. Sources: Cline & Pai 2003, "Post-stabilization for rigid body simulation
// with contact and constraints" (equality joints); Dobrowolski 2015, "Swing-twist decomposition in Clifford
// algebra" (twist); Goldstein, "Classical Mechanics", appendix A (rates of intrinsic angles). Each row is
// compared with finite differences in tests/rigid.
#include <cmath>
#include <numbers>

#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

struct JointPose {
  Vector3<double> x = Vector3<double>::Zero();            ///< [m] centre of mass
  Quaternion<double> q = Quaternion<double>::Identity();  ///< unit
};

struct JointRows {
  Vector3<double> n[6], on_a[6], on_b[6];
};

/// The first of its freedoms, from which on all are angles that are followed over turns; 6: none is. Their
/// values are unique up to full turns only.
int first_to_wind(const Rigid::Joint& joint);

/// Of the angles that differ from this one by full turns the nearest to `about`. [rad]
inline double wound(double angle, double about) {
  return about + std::remainder(angle - about, 2 * std::numbers::pi);
}

/// Values of the freedoms that are used, at the poses of a and b; [m], [rad]; others are 0.
void joint_values(const Rigid::Joint& joint, const JointPose& a, const JointPose& b, double (&value)[6]);

/// And their Jacobians; of those not used, zero.
void joint_rows(const Rigid::Joint& joint, const JointPose& a, const JointPose& b, double (&value)[6],
                JointRows& rows);

}}  // namespace plenum::PLENUM_ABI::detail
