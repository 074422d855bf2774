#include "plenum/solvers/rigid/detail/passing.h"

#include <algorithm>

#include "plenum/solvers/rigid/detail/last_contacts.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Of the smaller size: how near the shapes come to count as touching.
constexpr Real counts_as_touching = Real(2e-3);

Sweep times(Real part, const Sweep& sweep) {
  return {sweep.start, part * sweep.way, part * sweep.turn};
}

}  // namespace

Passing::Passing(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b, Real size,
                 Real ahead)
    : a_(a),
      b_(b),
      sweep_a_(times(ahead, sweep_a)),
      sweep_b_(times(ahead, sweep_b)),
      end_a_(sweep_a_.at(1)),
      end_b_(sweep_b_.at(1)),
      tolerance_(counts_as_touching * size),
      ball_a_(std::holds_alternative<SphereShape>(a.variant())),
      ball_b_(std::holds_alternative<SphereShape>(b.variant())) {}

bool Passing::will_press(const Manifold& m) const {
  const Pose &a = sweep_a_.start, &b = sweep_b_.start;
  const Vec3 n = a.rotation * m.normal;
  bool presses = false;
  for (const Manifold::Point* p = m.points; p != m.points + m.count; ++p) {
    if (!(p->separation > 0)) return false;
    const Vec3 x = a * p->x;
    const Vec3 way = (end_b_ * b.to_local(x) - x) - (end_a_ * a.to_local(x) - x);
    presses |= p->separation + n.dot(way) < 0;
  }
  return presses;
}

Passing::Meeting Passing::find_meeting() {
  const auto impact = time_of_impact(a_, sweep_a_, b_, sweep_b_, 0, tolerance_);
  if (!impact) return Meeting::never;
  if (!(impact->s > 0)) return Meeting::as_found;
  impact_s_ = impact->s;
  normal_ = place_a().rotation.conjugate() * impact->normal;
  return Meeting::elsewhere;
}

bool Passing::is_right(const Manifold& m) const {
  return normal_.dot(m.normal) > same_plane_cosine;
}

void Passing::take_back(Manifold& m) const {
  const Pose a = place_a(), b = place_b();
  const Pose &a0 = sweep_a_.start, &b0 = sweep_b_.start;
  const Vec3 n = a0.rotation * m.normal;
  // A ball's surface stays where it is while it spins.
  const auto back = [](const Vec3& x, const Pose& then, const Pose& start, bool ball) {
    return ball ? Vec3(start.position + (x - then.position)) : Vec3(start * then.to_local(x));
  };
  int count = 0;
  for (int k = 0; k < m.count; ++k) {
    const Manifold::Point& p = m.points[k];
    const Vec3 half = a.rotation * (Real(0.5) * p.separation * m.normal), x = a * p.x;
    const Vec3 on_a = back(x - half, a, a0, ball_a_), on_b = back(x + half, b, b0, ball_b_);
    const Real gap = n.dot(on_b - on_a);
    if (gap < p.separation) continue;
    // Where the lighter one meets it: anchors are told by one point.
    m.points[count++] = {a0.to_local(on_b - Real(0.5) * gap * n), gap, p.id};
  }
  m.count = count;
  m.turns = Manifold::Turns::with_neither;
}

}}  // namespace plenum::PLENUM_ABI::detail
