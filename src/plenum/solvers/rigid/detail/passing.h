#pragma once
// Speculative contacts of bodies that pass each other within a step.
#include <span>

#include "plenum/geometry/collide/manifold.h"
#include "plenum/geometry/collide/time_of_impact.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// A speculative contact is a plane, which goes on where the shapes do not: what flies past an edge within
/// the step would be struck by it. Finds out for manifolds of A and B, in A's frame at the start, what
/// becomes of them if nothing else moves the two.
class Passing {
 public:
  /// size [m] of the smaller shape; ahead: how far contacts look, in steps.
  Passing(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b, Real size, Real ahead);

  /// Whether all of the manifold's points are apart, and one will not be.
  bool will_press(const Manifold& m) const;

  enum class Meeting {
    as_found,   ///< at the start, or in no way that is known
    elsewhere,  ///< at place_a() and place_b()
    never       ///< as far as contacts look
  };
  /// How the shapes first meet.
  Meeting find_meeting();
  Pose place_a() const { return sweep_a_.at(impact_s_); }
  Pose place_b() const { return sweep_b_.at(impact_s_); }
  /// Within which [m] they are there.
  Real reach() const { return 2 * tolerance_; }
  /// Whether the manifold's plane is about that in which they meet.
  bool is_right(const Manifold& m) const;

  /// Turns a manifold found at place_a() and place_b(), in A's frame, into one at the start: points of the
  /// surfaces are as far apart as they come towards each other until then. Points that do not are left out.
  void take_back(Manifold& m) const;

 private:
  const Shape &a_, &b_;
  Sweep sweep_a_, sweep_b_;  ///< as far as contacts look
  Pose end_a_, end_b_;
  Real tolerance_;
  Real impact_s_ = 0;
  Vec3 normal_ = Vec3::Zero();  ///< of the impact, in A
  bool ball_a_, ball_b_;
};

}}  // namespace plenum::PLENUM_ABI::detail
