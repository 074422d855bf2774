#pragma once
// What holds bodies that a fluid flows around.
//
// A fluid moves bodies by gravity and its pressure alone. Contacts and joints come after it, in the bodies'
// own solver, and would stop in every step what it had begun to move; fluid would be gone where a body was to
// go. So what they changed in the last two steps is reckoned with as a known force. Of a body at rest that
// comes to be all that holds it, since the error of its velocity shrinks by m_a / (m_a + m), with the mass
// m_a of the fluid that goes along with it. A blow is in one step only, and is not taken for a force.
#include <algorithm>
#include <cmath>
#include <vector>

#include "plenum/state/field.h"

namespace plenum::inline PLENUM_ABI {

/// What is known of a body in a step, of its velocity [m/s] and its turning [rad/s].
struct BodyHold {
  Vec3 seen = Vec3::Zero(), seen_turn = Vec3::Zero();          ///< changed by others in the step before
  Vec3 reckoned = Vec3::Zero(), reckoned_turn = Vec3::Zero();  ///< will be changed in this one
};

/// A part of a fluid's state, for bodies that move by themselves.
struct BodyHolds {
  std::vector<Index> body;              ///< [B] increasing, the first numbers as they are told
  std::vector<Vec3> velocity, turning;  ///< [B] as gravity and the fluid would have left them
  std::vector<Vec3> seen, seen_turn;    ///< [B] as above, in the step before that

  /// What to reckon with for the body of that number, which has those velocities as the step begins.
  BodyHold of(Index number, const Vec3& now, const Vec3& turning_now) const {
    BodyHold hold;
    const auto at = std::lower_bound(body.begin(), body.end(), number);
    if (at == body.end() || *at != number) return hold;
    const auto q = static_cast<std::size_t>(at - body.begin());
    hold.seen = now - velocity[q];
    hold.seen_turn = turning_now - turning[q];
    hold.reckoned = common(hold.seen, seen[q]);
    hold.reckoned_turn = common(hold.seen_turn, seen_turn[q]);
    return hold;
  }
  void clear() { body.clear(), velocity.clear(), turning.clear(), seen.clear(), seen_turn.clear(); }
  /// As the step ends, which gave the body those velocities; in the order of numbers.
  void add(Index number, const Vec3& then, const Vec3& turning_then, const BodyHold& hold) {
    body.push_back(number);
    velocity.push_back(then - hold.reckoned);
    turning.push_back(turning_then - hold.reckoned_turn);
    seen.push_back(hold.seen);
    seen_turn.push_back(hold.seen_turn);
  }
  void fields(FieldVisitor& visit) {
    visit({"body", "", Centring::global}, body);
    visit({"body_velocity", "m/s", Centring::global}, velocity);
    visit({"body_turning", "rad/s", Centring::global}, turning);
    visit({"body_held", "m/s", Centring::global}, seen);
    visit({"body_held_turn", "rad/s", Centring::global}, seen_turn);
  }
  /// fits(name, items, items that there should be, what has as many).
  template <class F>
  void check(F&& fits) const {
    fits("body_velocity", velocity.size(), body.size(), "body");
    fits("body_turning", turning.size(), body.size(), "body");
    fits("body_held", seen.size(), body.size(), "body");
    fits("body_held_turn", seen_turn.size(), body.size(), "body");
  }

 private:
  /// Of two changes the one that both go by: the smaller where they agree in sign, else none.
  static Vec3 common(const Vec3& a, const Vec3& b) {
    Vec3 out;
    for (int c = 0; c < 3; ++c)
      out[c] = a[c] * b[c] > 0 ? (std::abs(a[c]) < std::abs(b[c]) ? a[c] : b[c]) : Real(0);
    return out;
  }
};

}  // namespace plenum::inline PLENUM_ABI
