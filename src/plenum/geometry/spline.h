#pragma once
// Smooth curves through points.
#include <utility>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// A curve through points [m], of two at least, known by the length along it. Source: Catmull & Rom 1974, "A
/// class of local interpolating splines".
class Spline {
 public:
  explicit Spline(std::vector<Vec3> points);
  /// [m], by chords of a small part of the way between two points.
  Real length() const { return length_.back(); }
  /// The place at s [m] from the first point, and the direction there, of any length.
  std::pair<Vec3, Vec3> at(Real s) const;

 private:
  std::pair<Vec3, Vec3> place(Real t) const;
  std::vector<Vec3> points_;
  std::vector<Real> length_;  ///< to the ends of the parts
};

}  // namespace plenum::inline PLENUM_ABI
