#pragma once
// Every transfer between systems is booked here once, as +j on one side and -j on the other at one point;
// what a side took and gave can so be checked for any pair by one test.

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Sums over the transfers of one substep, in double.
struct LedgerEntry {
  Vector3<double> impulse = Vector3<double>::Zero();  ///< [N s] given to `to`, taken from `from`
  Vector3<double> moment = Vector3<double>::Zero();   ///< [N m s] of it about the world's origin
  std::size_t transfers = 0;

  void book(const Vec3& point, const Vec3& j, const Vec3& couple = Vec3::Zero()) {
    const Vector3<double> wide = j.cast<double>();
    impulse += wide;
    moment += point.cast<double>().cross(wide) + couple.cast<double>();
    ++transfers;
  }
  void add(const LedgerEntry& other) {
    impulse += other.impulse;
    moment += other.moment;
    transfers += other.transfers;
  }
};

}  // namespace plenum::inline PLENUM_ABI
