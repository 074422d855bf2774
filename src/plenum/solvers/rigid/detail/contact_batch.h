#pragma once
// What the passes over batches of contacts share. Only the contact solver's own files include this.
#include <limits>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/solvers/rigid/detail/contact_solver.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// f(begin, end) for ranges of n batches that are independent of each other, some 0.2 microseconds each.
template <class F>
void share_batches(std::size_t n, F&& f) {
  constexpr std::size_t least = 16, batches_per_block = 2;
  parallel_for(n, batches_per_block, least, f);
}

/// A pass brings springs of omega h < 1.2 to rest with the inertia of what they hold (firmer ones answer
/// later than the passes' own stiffness of 2 m/h^2 and drive what sways), and n passes springs of n times the
/// stiffness: pyramids of 20 rows stand still to 1.2 and stir from 1.3 on.
inline constexpr Real sub_steps_part = Real(0.19);
/// How many times as heavy as what lies on it a body is that turns as if nothing did.
inline constexpr Real turns_on_from = 10;

[[gnu::always_inline]] inline Wide3 velocity_at(const WideVelocity& body, const Wide3& r) {
  return body.v + cross(body.w, r);
}
/// Adds the impulse p at r, times `sign`.
template <int sign>
[[gnu::always_inline]] inline void push(WideVelocity& body, const WideInertia& inertia, const Wide3& r,
                                        const Wide3& p) {
  if constexpr (sign > 0) {
    body.v += inertia.inverse_mass * p;
    body.w += inertia.inverse * cross(r, p);
  } else {
    body.v -= inertia.inverse_mass * p;
    body.w -= inertia.inverse * cross(r, p);
  }
}

/// Inverse mass that an impulse along n at r meets.
[[gnu::always_inline]] inline Wide response(const WideInertia& inertia, const Wide3& r, const Wide3& n) {
  const Wide3 c = cross(r, n);
  return inertia.inverse_mass + dot(c, inertia.inverse * c);
}

template <class Mask>
[[gnu::always_inline]] inline Wide3 choose(const Mask& mask, const Wide3& a, const Wide3& b) {
  return {mask ? a.x : b.x, mask ? a.y : b.y, mask ? a.z : b.z};
}

inline void set(Wide3& a, int lane, const Vec3& b) {
  a.x[lane] = b.x(), a.y[lane] = b.y(), a.z[lane] = b.z();
}
inline Vec3 get(const Wide3& a, int lane) {
  return {a.x[lane], a.y[lane], a.z[lane]};
}

/// Place of row i, column j <= i of a lower triangle stored by rows.
constexpr int low(int i, int j) {
  return i * (i + 1) / 2 + j;
}

/// From A's anchors to B's [m] after the motions a and b, less what was between the bodies' centres at the
/// start. Of the cores: what is round keeps its distance while it turns.
template <class Batch, class Points>
[[gnu::always_inline]] inline Wide3 between_cores(const Batch& batch, const Points& point,
                                                  const WideMotion& a, const WideMotion& b) {
  return b.dx - a.dx + rotate(b.u, b.w, point.rb + batch.round_b * batch.normal) -
         rotate(a.u, a.w, point.ra - batch.round_a * batch.normal);
}

/// Square of the sine below which two edges count as parallel.
inline constexpr Real least_sine2 = Real(1e-4);

/// Where two edges cross, when B has slid past A by `slid` [m] in the plane of both edges, whose normal is n:
/// the place has gone on A by the first result times edge_a, on B by the second times -edge_b [m], for slid =
/// first edge_a + second edge_b. Edges are unit vectors. The flatter they cross the farther it goes, so each
/// is at most `reach` [m], and 0 where the edges are parallel.
[[gnu::always_inline]] inline std::pair<Wide, Wide> follow_crossing(const Wide3& n, const Wide3& edge_a,
                                                                    const Wide3& edge_b, const Wide3& slid,
                                                                    const Wide& reach) {
  const Wide zero{};
  const Wide3 past_a = cross(n, edge_a), past_b = cross(n, edge_b);
  const Wide sine = dot(past_a, edge_b), sine2 = sine * sine;
  const auto crosses = sine2 > fill(least_sine2);
  const Wide inverse = crosses ? sine / (crosses ? sine2 : fill(1)) : zero;
  return {max(-reach, min(reach, -inverse * dot(slid, past_b))),
          max(-reach, min(reach, inverse * dot(slid, past_a)))};
}

/// How a batch stands whose normals do not turn: as at the start of the step.
struct ContactSolver::Still {
  const Batch& batch;
  const Points* points;

  Still(const ContactSolver& solver, const Batch& b)
      : batch(b), points(solver.points_.data() + b.first_point) {}
  static constexpr bool turns = false;
  const Wide3& normal() const { return batch.normal; }
  const Wide3& tangent() const { return batch.tangent; }
  const Wide3& ra(int p) const { return points[p].ra; }
  const Wide3& rb(int p) const { return points[p].rb; }
  const Wide3& patch_a() const { return batch.ra; }
  const Wide3& patch_b() const { return batch.rb; }
  const Wide& mass(int p) const { return points[p].mass; }
  const Response& response() const { return batch.response; }
  /// [m] between the surfaces at a point, after the motions a and b.
  [[gnu::always_inline]] Wide separation(int p, const WideMotion& a, const WideMotion& b) const {
    return points[p].gap + dot(batch.normal, between_cores(batch, points[p], a, b));
  }
};

/// How a batch stands of which a normal turns, as turn() found it.
struct ContactSolver::Moved {
  const Turning& now;

  Moved(const ContactSolver& solver, const Batch& b) : now(solver.turning_[b.turning]) {}
  static constexpr bool turns = true;
  const Wide& curve(int p) const { return now.curve[p]; }
  const Wide3& slip_to_come() const { return now.slip_to_come; }
  const Wide3& normal() const { return now.normal; }
  const Wide3& tangent() const { return now.tangent; }
  const Wide3& ra(int p) const { return now.ra[p]; }
  const Wide3& rb(int p) const { return now.rb[p]; }
  const Wide3& patch_a() const { return now.patch_a; }
  const Wide3& patch_b() const { return now.patch_b; }
  const Wide& mass(int p) const { return now.mass[p]; }
  const Response& response() const { return now.response; }
  const Wide& separation(int p, const WideMotion&, const WideMotion&) const { return now.separation[p]; }
};

/// visit(view) with how a batch stands.
template <class Visit>
[[gnu::always_inline]] inline void ContactSolver::view(const Batch& batch, Visit&& visit) const {
  if (batch.turning == never)
    visit(Still(*this, batch));
  else
    visit(Moved(*this, batch));
}

template <class F>
void ContactSolver::each_batch(F&& f) const {
  for (const Colour& colour : colours_) {
    const std::size_t n = colour.end - colour.first;
    if (colour.serial)
      for (std::size_t i = colour.first; i < colour.end; ++i) f(i);
    else
      share_batches(n, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) f(colour.first + i);
      });
  }
}

template <class F>
void ContactSolver::each_reached(F&& f) const {
  share_batches(reached_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) f(reached_[k]);
  });
}

}}  // namespace plenum::PLENUM_ABI::detail
