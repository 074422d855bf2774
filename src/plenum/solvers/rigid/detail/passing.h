#pragma once
// Speculative contacts of bodies that pass each other within a step.
#include <span>

#include "plenum/geometry/collide/manifold.h"
#include "plenum/geometry/collide/surface_contacts.h"
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
    as_found,   ///< at the start
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

/// Sets manifolds right in which bodies press that pass each other within the step, or first meet otherwise:
/// such are dropped or, if there is room, replaced. collide_there(place of A, of B, margin, manifolds): what
/// touches at other places. pressed(normal): whether that contact has been pressing. True if any changed.
template <class CollideThere, class Pressed>
bool let_pass(Passing& passing, std::span<Manifold> room, int& count, CollideThere&& collide_there,
              Pressed&& pressed) {
  std::uint32_t wrong = 0;
  for (int k = 0; k < count; ++k)
    if (passing.will_press(room[std::size_t(k)]) && !pressed(room[std::size_t(k)].normal)) wrong |= 1u << k;
  if (wrong == 0) return false;
  const Passing::Meeting meeting = passing.find_meeting();
  if (meeting == Passing::Meeting::as_found) return false;
  if (meeting == Passing::Meeting::elsewhere)
    for (int k = 0; k < count; ++k)
      if ((wrong >> k & 1u) && passing.is_right(room[std::size_t(k)])) return false;
  int kept = 0;
  for (int k = 0; k < count; ++k)
    if (!(wrong >> k & 1u)) room[std::size_t(kept++)] = room[std::size_t(k)];
  count = kept;
  if (meeting == Passing::Meeting::elsewhere) {
    SurfaceManifolds there;
    collide_there(passing.place_a(), passing.place_b(), passing.reach(), there);
    for (int k = 0; k < there.count && std::size_t(count) < room.size(); ++k) {
      passing.take_back(there.manifolds[k]);
      if (there.manifolds[k].count > 0) room[std::size_t(count++)] = there.manifolds[k];
    }
  }
  for (std::size_t k = std::size_t(count); k < room.size(); ++k) room[k].count = 0;
  return true;
}

}}  // namespace plenum::PLENUM_ABI::detail
