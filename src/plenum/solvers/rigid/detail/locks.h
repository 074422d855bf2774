#pragma once
// Bodies that do not move along, or turn about, some axes of the world.
#include <cstdint>

#include "plenum/math/pose.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Bits of Rigid::Model::locks for the axes that a body does not turn about.
constexpr std::uint8_t turning_locks = 0b111000;

/// What is left of a world inverse inertia [1/(kg m^2)] while a body cannot turn about the locked axes: the
/// inverse of the inertia's part in the free ones, by the Schur complement K - K_fl K_ll^-1 K_lf. No impulse
/// makes it turn about the others.
Mat3 turning_freely(const Mat3& inverse_inertia, std::uint8_t locks);

/// Turns a body that cannot turn about some axes, over h [s]. Nothing acts along the free ones, so its
/// angular momentum there stays (a nonholonomic constraint does no work: Goldstein, "Classical
/// Mechanics", 2.4); midpoint rule. q: unit attitude; inertia [kg m^2] about the principal axes; w [rad/s] in
/// the world, with no part about locked axes.
void turn_with_locks(Quaternion<double>& q, const Vector3<double>& inertia, std::uint8_t locks,
                     Vector3<double>& w, double h);

}}  // namespace plenum::PLENUM_ABI::detail
