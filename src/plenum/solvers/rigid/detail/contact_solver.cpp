#include "plenum/solvers/rigid/detail/contact_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/solvers/rigid/detail/contact_batch.h"
#include "plenum/solvers/rigid/detail/joint_solver.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Part of what its points hold that a contact may have left where it lets go of the bodies.
constexpr Real released = Real(1e-3);

constexpr int hard_rounds = 4;

/// Times that friction and normals are solved again where friction was solved too early: before the normals
/// of what has just met, or against a tilt that they then took back. On a slope that just holds it, nothing
/// stops what was let slip by that: a block slid 13 mm in 10 s with none, 0.5 to 2.3 mm with one, 0.2 to
/// 0.6 mm with two, at 1/60 to 1/600 s.
/// What is fast gives way to that anyway, and what turns does so from sub-step to sub-step: neither is asked.
constexpr int slip_rounds = 2;
/// Part of the square of its bound by which friction, or of what presses that this, has to change for that.
constexpr Real barely = Real(1e-3);

/// Round before which columns are solved at once: the one before it finds what presses, those after it what
/// lets go or slides.
constexpr int column_round = 1;

/// What overlaps is pushed apart by velocities of its own where they take more than the load once more.
/// Less is needed to find a load that grows (tall stacks of small boxes: tests/rigid/size_test.cpp).
constexpr Real pushed_hard = Real(0.5);
/// Part of the difference that carried impulses follow in a step, and part of the load that they take.
///
/// All points of a face carry the same, what the least laden bears: to hold bodies up needs no overlap
/// then, to keep them from tilting does. A tilt that was carried too would be answered late, by the seconds
/// that carrying takes, which drives towers and walls to sway. The tenth that overlap holds decides how
/// bodies that press each other in more ways than weight asks for come to rest; without it what they carry
/// wanders until they let go of each other and rattle. What strained joints hold is kept from tilting by
/// these: there each point carries what is its own, for a heavy table that comes down aslant would sink on
/// the feet of which one corner bears nothing.
///
/// Towers let go sooner of a load that goes: what they carried would throw them up. Others rattle, where a
/// load that goes comes back.
constexpr Real carry_rate = Real(0.005), carry_part = Real(0.9), let_go_rate = Real(0.2);

/// [rad] in a sub-step, from where on impulses are not those of the next.
constexpr Real turned_far = Real(0.5);

/// Times the mean of several points' speeds that the largest is where they strike alike.
constexpr Real strikes_alike = Real(1.05);

/// Times what a contact bore that a blow gives at least.
constexpr Real blow_over_load = 4;

/// Bits of the lanes below a bound.
std::uint16_t lanes_below(const Wide& a, Real bound) {
  unsigned lanes = 0;
  for (int l = 0; l < wide; ++l) lanes |= unsigned(a[l] < bound) << l;
  return static_cast<std::uint16_t>(lanes);
}

}  // namespace

void ContactSolver::forget_blow(Batch& batch) {
  if (!std::exchange(batch.near, false)) return;
  unsigned over = 0;
  for (std::size_t p = 0; p < batch.came.size(); ++p) {
    over |= batch.strikes[p] & batch.came[p] & ~batch.comes[p];
    batch.came[p] &= batch.comes[p];
  }
  batch.comes = batch.strikes = {};
  if (over == 0) return;
  Points* points = points_.data() + batch.first_point;
  for (int l = 0; l < wide; ++l) {
    if (!(over >> l & 1)) continue;
    Real load = 0, given = 0;
    for (int p = 0; p < batch.count; ++p) load += points[p].start[l], given += points[p].impulse[l];
    if (given < blow_over_load * load) continue;
    for (int p = 0; p < batch.count; ++p) points[p].impulse[l] = 0;
    batch.along[l] = batch.across[l] = batch.twist[l] = 0;
    set(batch.roll, l, Vec3::Zero());
  }
}

/// Anew where arms have turned far, or may have: with other arms than they were given with, impulses of a
/// sub-step turn the bodies ever faster. Turning about an arm, as a top about its tip, leaves it as it is,
/// and so does turning about an axis of symmetry.
void ContactSolver::forget_far(Batch& batch, const Wide3& wa, const Wide3& wb) {
  const Wide zero{}, far = fill(turned_far * turned_far / (settings_.h * settings_.h));
  auto turned =
      ((dot(wa, wa) > far) | (dot(wb, wb) > far)) & (batch.round_a == zero) & (batch.round_b == zero);
  if (!batch.hard && !any(turned)) return;
  Points* points = points_.data() + batch.first_point;
  view(batch, [&](const auto& at) {
    const auto turns_far = [&](const Wide3& arm, const Wide3& spin, const Wide3& axis) {
      const Wide3 by = cross(spin - dot(spin, axis) * axis, arm);
      return dot(by, by) > far * dot(arm, arm);
    };
    const Wide3 none{zero, zero, zero};
    Wide3 axis_a = none, axis_b = none;
    if (batch.turning != never)
      axis_a = turning_[batch.turning].axis_a, axis_b = turning_[batch.turning].axis_b;
    auto arms = turned & (zero > zero);
    for (int p = 0; p < batch.count; ++p)
      arms = arms |
             ((points[p].mass > zero) & (turns_far(at.ra(p), wa, axis_a) | turns_far(at.rb(p), wb, axis_b)));
    turned = turned & arms;
  });
  const auto anew = turned | (batch.soft_impulse == zero);
  for (int p = 0; p < batch.count; ++p) points[p].impulse = anew ? zero : points[p].impulse;
  batch.along = anew ? zero : batch.along, batch.across = anew ? zero : batch.across;
  batch.twist = anew ? zero : batch.twist;
  batch.roll = choose(anew, Wide3{zero, zero, zero}, batch.roll);
}

void ContactSolver::warm_start(SolverBodies& bodies) {
  if (std::exchange(any_pass_, true)) forget_blows_on_columns();
  each_batch([&](std::size_t b) {
    Batch& batch = batches_[b];
    Points* points = points_.data() + batch.first_point;
    WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
    const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
    forget_far(batch, va.w, vb.w);
    forget_blow(batch);
    view(batch, [&](const auto& at) {
      const Wide3 n = at.normal();
      for (int p = 0; p < batch.count; ++p) {
        points[p].start = points[p].impulse;
        const Wide3 impulse = points[p].impulse * n;
        push<-1>(va, ia, at.ra(p), impulse);
        push<1>(vb, ib, at.rb(p), impulse);
      }
      const Wide3 slip = batch.along * at.tangent() + batch.across * across_axis(batch, at);
      push<-1>(va, ia, at.patch_a(), slip);
      push<1>(vb, ib, at.patch_b(), slip);
      const Wide3 twist = batch.twist * n + batch.roll;
      va.w -= ia.inverse * twist;
      vb.w += ib.inverse * twist;
    });
    scatter_velocity(bodies, batch.a, batch.writes_a, va);
    scatter_velocity(bodies, batch.b, batch.writes_b, vb);
  });
}

/// [m/s] What the surface of A, which turns whatever B does, is to be taken for faster at the patch than
/// at its anchor. B has taken the patch along since the start of the step, and over the next sub-step, h, a
/// turning surface takes along what sticks to it on a chord, by h/2 w x (w x r) inwards of the tangent at its
/// start, r from A's centre to B's. Else all that turntables carry would creep outwards, by w^2 h/2 of its
/// radius a second. 0 in other lanes; of what rolls the chord is none.
template <bool with_bias, class Batch>
[[gnu::always_inline]] inline Wide3 carries_on(const Batch& batch, const WideInertia& of_a,
                                               const WideInertia& of_b, const Wide3& w, const Wide3& arm_a,
                                               const Wide3& arm_b, const Wide3& gone, const Wide3& rolls,
                                               Real h) {
  const Wide zero{};
  Wide3 faster = cross(w, gone);
  if constexpr (with_bias) {
    const auto sticks = (batch.round_a == zero) & (batch.round_b == zero) & (dot(rolls, rolls) == zero);
    const Wide part = sticks ? fill(h / 2) : zero;
    faster += part * cross(w, cross(w, arm_a + gone - arm_b));
  }
  const auto leads = fill(turns_on_from) * of_a.inverse_mass < of_b.inverse_mass;
  return choose(leads, faster, Wide3{zero, zero, zero});
}

template <bool with_bias, class View>
[[gnu::always_inline]] inline bool ContactSolver::solve_batch(SolverBodies& bodies, Batch& batch,
                                                              const View& at) {
  const Wide zero{}, one = fill(1), rate = fill(1 / settings_.h),
                     tiny = fill(std::numeric_limits<Real>::min());
  const bool rolling = any_rolling_;
  Points* points = points_.data() + batch.first_point;
  WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
  const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
  const Wide3 n = at.normal(), t1 = at.tangent(), t2 = across_axis(batch, at);
  const Response& answer = at.response();

  // Friction first: what keeps bodies apart has the last word.
  Wide pressed{}, levered{};
  // What pushes overlap apart changes the impulse for a moment; friction does not follow it. Those that the
  // sub-steps end with add up to the load.
  const auto presses = [&](int p) { return points[p].start > zero ? points[p].start : points[p].impulse; };
  for (int p = 0; p < batch.count; ++p) {
    pressed += presses(p);
    levered += presses(p) * points[p].lever;
  }
  Wide early = zero;  // 1: friction was bounded, and may have been by too little; 2: it let go of its bound
  {
    const Wide rate_of_twist = dot(n, vb.w - va.w);
    const Wide wanted = batch.twist - answer.twist * rate_of_twist;
    const Wide twist = max(-levered, min(levered, wanted));
    const Wide3 change = (twist - batch.twist) * n;
    batch.twist = twist;
    va.w -= ia.inverse * change;
    vb.w += ib.inverse * change;
  }
  if (rolling) {
    // Only what rolls: turning about the tangents.
    const Wide3 turning = vb.w - va.w;
    const Wide3 tangential = turning - dot(n, turning) * n;
    // A bound on the stiffest direction keeps the step a descent whatever the inertia's axes.
    const Wide stiffest =
        ia.inverse.xx + ia.inverse.yy + ia.inverse.zz + ib.inverse.xx + ib.inverse.yy + ib.inverse.zz;
    const Wide3 wanted = batch.roll - inverse_or_zero(stiffest) * tangential;
    const Wide limit = batch.rolling * pressed, length = sqrt(dot(wanted, wanted) + tiny);
    const Wide scale = min(fill(1), limit / length);
    const Wide3 roll = scale * wanted, change = roll - batch.roll;
    batch.roll = roll;
    va.w -= ia.inverse * change;
    vb.w += ib.inverse * change;
  }
  {
    Wide3 slip = velocity_at(vb, at.patch_b()) - velocity_at(va, at.patch_a());
    if constexpr (View::turns) slip += fill(with_bias ? 1 : -1) * at.slip_to_come();
    if (batch.on_turning) {
      const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
      const Wide3 ra = at.patch_a(), rb = at.patch_b(), between = mb.dx - ma.dx;
      Wide3 rolls{zero, zero, zero};
      if constexpr (View::turns) rolls = at.slip_to_come();
      slip -=
          carries_on<with_bias>(batch, ia, ib, va.w, ra, rb, between - (ra - batch.ra), rolls, settings_.h);
      slip +=
          carries_on<with_bias>(batch, ib, ia, vb.w, rb, ra, -between - (rb - batch.rb), rolls, settings_.h);
    }
    const Wide s1 = dot(t1, slip) - batch.slide, s2 = dot(t2, slip) - batch.slide_across;
    const Wide wanted1 = batch.along - (answer.k11 * s1 + answer.k12 * s2);
    const Wide wanted2 = batch.across - (answer.k12 * s1 + answer.k22 * s2);
    const Wide length = sqrt(wanted1 * wanted1 + wanted2 * wanted2 + tiny);
    const auto sticks = length <= batch.static_friction * pressed;
    const Wide limit = batch.friction * pressed;
    // What slides is rubbed against its slip: a step that way, as long as the stiffest direction allows (the
    // lesser eigenvalue), and back onto the cone, ends where the slip is normal to that. What stops the slip
    // at once and is then cut to the cone points elsewhere where the body answers in one direction more than
    // in the other, as a capsule does that rolls while it slides.
    const Wide apart = answer.k11 - answer.k22, twice = answer.k12 + answer.k12;
    const Wide step = fill(Real(0.5)) * (answer.k11 + answer.k22 - sqrt(apart * apart + twice * twice));
    const Wide slide1 = batch.along - step * s1, slide2 = batch.across - step * s2;
    const Wide part = min(one, limit / sqrt(slide1 * slide1 + slide2 * slide2 + tiny));
    const Wide along = sticks ? wanted1 : part * slide1, across = sticks ? wanted2 : part * slide2;
    const Wide3 change = (along - batch.along) * t1 + (across - batch.across) * t2;
    if constexpr (!with_bias && !View::turns) {
      const Wide had2 = batch.along * batch.along + batch.across * batch.across;
      const Wide has2 = along * along + across * across, most2 = limit * limit;
      const auto lets_go = (had2 >= fill(1 - barely) * most2) & (had2 - has2 > fill(barely) * most2);
      const auto slow = s1 * s1 + s2 * s2 < fill(settings_.strike * settings_.strike);
      early = ~slow ? zero : lets_go & (limit > zero) ? fill(2) : sticks ? zero : one;
    }
    batch.along = along, batch.across = across;
    push<-1>(va, ia, at.patch_a(), change);
    push<1>(vb, ib, at.patch_b(), change);
  }

  const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
  Wide bias[4], scale[4], keep[4], change[4], speed[4], deepest = zero, slowest = zero;
  for (int p = 0; p < batch.count; ++p) {
    speed[p] = dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p)));
    const Wide separation = at.separation(p, ma, mb);
    const auto open = separation > zero;
    deepest = min(deepest, separation + batch.slop);
    scale[p] = one, keep[p] = zero;
    bias[p] = open ? separation * rate : zero;
    if constexpr (with_bias) {
      slowest = min(slowest, speed[p]);
      // What is soft is so on both sides of the overlap that is left alone: bodies that are laden aslant
      // lean, and were they let go where they overlap less, the corner that bears least would rise until
      // it is off.
      const Wide lifted = separation + batch.slop;
      const Wide from = batch.soft_impulse > zero ? lifted : min(zero, lifted);
      bias[p] = open ? bias[p] : max(batch.soft_bias * from, -batch.push);
      scale[p] = open ? one : batch.soft_mass;
      keep[p] = open ? zero : batch.soft_impulse;
    }
    if constexpr (View::turns) bias[p] += fill(with_bias ? 1 : -1) * at.curve(p);
  }
  // First as if all points kept pressing, which at rest they do: exact for the pair, and the same for each
  // point. Where one would have to pull, they are taken in turn.
  bool in_turn = batch.count == 1;
  if (!in_turn) {
    Wide error[4], least = zero;
    Wide kept[4];
    for (int p = 0; p < batch.count; ++p) {
      error[p] = scale[p] * (speed[p] + bias[p]);
      kept[p] = keep[p] * (points[p].impulse - points[p].carried);
    }
    if (with_bias && batch.of_tower) {
      // Firmer against tilting only, where all points touch.
      Wide even_error = zero, even_kept = zero, present = zero;
      auto touch = batch.even_impulse > zero;
      for (int p = 0; p < batch.count; ++p) {
        const auto is_there = at.mass(p) > zero;
        touch = touch & ((keep[p] > zero) | ~is_there);
        present += is_there ? one : zero;
        even_error += is_there ? speed[p] + bias[p] : zero;
        even_kept += is_there ? points[p].impulse - points[p].carried : zero;
      }
      const Wide part = touch ? one / max(present, one) : zero;
      even_error *= part * batch.even_mass, even_kept *= part * batch.even_impulse;
      for (int p = 0; p < batch.count; ++p) error[p] += even_error, kept[p] += even_kept;
    }
    for (int p = 0; p < batch.count; ++p) {
      Wide sum = kept[p];
      for (int q = 0; q < batch.count; ++q) sum += answer.block[p > q ? low(p, q) : low(q, p)] * error[q];
      change[p] = -sum;
      least = min(least, points[p].impulse - sum);
    }
    // What is hard asks for more than a matrix bears whose points are close together.
    const auto is_hard = batch.soft_impulse == zero;
    const auto pulls = (least < zero) | is_hard;
    in_turn = any(pulls);
    if (in_turn) {
      // Where all would, rounding apart, all let go at first: in turn the first to do so would turn the
      // bodies, and the others hold on to some of what pushed overlap apart.
      Wide most = zero, held = zero, largest = zero;
      for (int p = 0; p < batch.count; ++p) {
        most = max(most, points[p].impulse + change[p]);
        held += points[p].impulse, largest = max(largest, points[p].impulse);
      }
      const auto lets_go = (held > largest) & (least < zero) & (most <= fill(released) * held) & ~is_hard;
      for (int p = 0; p < batch.count; ++p)
        change[p] = lets_go ? -points[p].impulse : pulls ? zero : change[p];
    }
    Wide sum{};
    Wide3 ra{zero, zero, zero}, rb = ra;
    for (int p = 0; p < batch.count; ++p) {
      points[p].impulse += change[p];
      sum += change[p];
      ra += change[p] * at.ra(p), rb += change[p] * at.rb(p);
    }
    va.v -= (ia.inverse_mass * sum) * n, vb.v += (ib.inverse_mass * sum) * n;
    va.w -= ia.inverse * cross(ra, n), vb.w += ib.inverse * cross(rb, n);
    if (in_turn)
      for (int p = 0; p < batch.count; ++p)
        scale[p] = pulls ? scale[p] : zero, keep[p] = pulls ? keep[p] : zero;
  }
  if (batch.hard) {
    // What strikes in several points alike is stopped in their middle first: in turn, the first of a tall
    // body's would bear all and turn it over before the next one is asked.
    const auto is_hard = batch.soft_impulse == zero;
    Wide strikes[4], count = zero, closes = zero, most = zero;
    Wide3 ra{zero, zero, zero}, rb = ra;
    for (int p = 0; p < batch.count; ++p) {
      const Wide error = speed[p] + bias[p];
      strikes[p] = is_hard & (at.mass(p) > zero) & (error < zero) ? one : zero;
      count += strikes[p], closes -= strikes[p] * error, most = max(most, -strikes[p] * error);
      ra += strikes[p] * at.ra(p), rb += strikes[p] * at.rb(p);
    }
    const Wide part = one / max(count, one);
    ra = part * ra, rb = part * rb, closes *= part;
    const auto alike = (count > one) & (most <= fill(strikes_alike) * closes);
    const Wide given = (alike ? closes : zero) * inverse_or_zero(response(ia, ra, n) + response(ib, rb, n));
    for (int p = 0; p < batch.count; ++p) points[p].impulse += strikes[p] * part * given;
    push<-1>(va, ia, ra, given * n);
    push<1>(vb, ib, rb, given * n);
  }
  // What bodies turn far about settles in no single round.
  for (int round = 0; in_turn && round < (batch.hard ? hard_rounds : 1); ++round)
    for (int p = 0; p < batch.count; ++p) {
      Points& point = points[p];
      const Wide normal_velocity = dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p)));
      const Wide impulse = max(zero, point.impulse - at.mass(p) * scale[p] * (normal_velocity + bias[p]) -
                                         keep[p] * (point.impulse - point.carried));
      const Wide3 push_by = (impulse - point.impulse) * n;
      point.impulse = impulse;
      push<-1>(va, ia, at.ra(p), push_by);
      push<1>(vb, ib, at.rb(p), push_by);
    }
  if constexpr (with_bias) {
    Wide began{}, now{};
    for (int p = 0; p < batch.count; ++p) began += points[p].start, now += points[p].impulse;
    const auto pushed =
        (deepest < zero) & (now > fill(1 + pushed_hard) * began) & (batch.soft_impulse > zero);
    const auto nears = slowest < fill(-settings_.strike);
    batch.pushed = 0;
    if (any(pushed | nears)) {
      for (int l = 0; l < wide; ++l) batch.pushed |= unsigned(pushed[l] != 0) << l;
      if (batch.pushed != 0) any_pushed_.store(true, std::memory_order_relaxed);
      if (any(nears)) {
        batch.near = true;
        any_near_.store(true, std::memory_order_relaxed);
        for (int p = 0; p < batch.count; ++p)
          batch.strikes[std::size_t(p)] |= lanes_below(speed[p], -settings_.strike);
      }
    }
  } else if (batch.near) {
    for (int p = 0; p < batch.count; ++p)
      batch.comes[std::size_t(p)] =
          lanes_below(dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p))), -settings_.strike);
  }
  scatter_velocity(bodies, batch.a, batch.writes_a, va);
  scatter_velocity(bodies, batch.b, batch.writes_b, vb);
  if constexpr (with_bias || View::turns) return false;
  Wide presses_now{};
  for (int p = 0; p < batch.count; ++p) presses_now += presses(p);
  return any((early > one) | ((early > zero) & (presses_now > fill(1 + barely) * pressed)));
}

template <bool with_bias>
void ContactSolver::solve_batches(SolverBodies& bodies, const JointScene& scene, JointSolver& joints) {
  for (int round = 0; round < rounds_; ++round) {
    if (round > 0 && any_joint_strained_) joints.keep_strained(scene, bodies);
    if (round == column_round && !columns_.empty()) bear_columns(bodies, with_bias);
    each_batch([&](std::size_t b) {
      Batch& batch = batches_[b];
      if (round >= batch.rounds) return;
      view(batch, [&](const auto& at) {
        if (solve_batch<with_bias>(bodies, batch, at))
          for (int again = 0; again < slip_rounds; ++again) solve_batch<with_bias>(bodies, batch, at);
      });
    });
  }
}

void ContactSolver::solve(SolverBodies& bodies, bool with_bias, const JointScene& scene,
                          JointSolver& joints) {
  if (with_bias)
    any_pushed_ = any_near_ = false, solve_batches<true>(bodies, scene, joints);
  else
    solve_batches<false>(bodies, scene, joints);
}

void ContactSolver::take_back(SolverBodies& bodies) {
  if (!any_pushed_) return;
  each_batch([&](std::size_t b) {
    Batch& batch = batches_[b];
    if (batch.pushed == 0) return;
    Points* points = points_.data() + batch.first_point;
    WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
    const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
    view(batch, [&](const auto& at) {
      for (int p = 0; p < batch.count; ++p) {
        const Wide3 given = (points[p].impulse - points[p].start) * at.normal();
        push<1>(va, ia, at.ra(p), given);
        push<-1>(vb, ib, at.rb(p), given);
        for (int l = 0; l < wide; ++l)
          if (batch.pushed >> l & 1) points[p].impulse[l] = points[p].start[l];
      }
    });
    scatter_velocity(bodies, batch.a, batch.writes_a & batch.pushed, va);
    scatter_velocity(bodies, batch.b, batch.writes_b & batch.pushed, vb);
  });
}

void ContactSolver::hold(SolverBodies& bodies) const {
  for (const Batch& batch : batches_) {
    if (!batch.hard) continue;
    const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
    const Still at(*this, batch);
    const Wide zero{};
    Wide deepest = zero;
    for (int p = 0; p < batch.count; ++p) {
      const Wide separation = at.separation(p, ma, mb) + batch.slop;
      deepest = min(deepest, at.mass(p) > zero ? separation : zero);
    }
    for (int l = 0; l < wide; ++l) {
      if (!(batch.soft_impulse[l] == 0 && deepest[l] < 0)) continue;
      const Real ka = bodies.inertia[batch.a[l]].inverse_mass, kb = bodies.inertia[batch.b[l]].inverse_mass;
      const Vec3 apart = (deepest[l] / (ka + kb)) * get(batch.normal, l);
      for (int c = 0; c < 3; ++c) {
        if (batch.writes_a >> l & 1) bodies.motion[batch.a[l]].dx[c] += ka * apart[c];
        if (batch.writes_b >> l & 1) bodies.motion[batch.b[l]].dx[c] -= kb * apart[c];
      }
      // What is lifted by this pays with the speed at which it comes.
      if (batch.booked || (ka > 0 && kb > 0)) continue;
      BodyVelocity& u = bodies.velocity[ka > 0 ? batch.a[l] : batch.b[l]];
      const Vec3 n = (ka > 0 ? Real(1) : Real(-1)) * get(batch.normal, l);
      const Real comes = n.x() * u.v[0] + n.y() * u.v[1] + n.z() * u.v[2];
      if (comes <= 0) continue;
      const Real left = std::sqrt(std::max(Real(0), comes * comes + 2 * settings_.gravity * deepest[l]));
      for (int c = 0; c < 3; ++c) u.v[c] -= (comes - left) * n[c];
    }
  }
}

void ContactSolver::book(std::size_t b, const SolverBodies& bodies, Real sign) {
  const Batch& batch = batches_[b];
  if (!batch.booked) return;
  const Points* points = points_.data() + batch.first_point;
  const Wide3 centre = gather_motion(bodies, batch.a).dx;
  Sums& sums = sums_[b];
  view(batch, [&](const auto& at) {
    const auto add = [&](const Wide3& arm, const Wide3& impulse) {
      sums.impulse += fill(sign) * impulse;
      sums.couple += fill(sign) * cross(centre + arm, impulse);
    };
    for (int p = 0; p < batch.count; ++p) add(at.ra(p), points[p].impulse * at.normal());
    add(at.patch_a(), batch.along * at.tangent() + batch.across * across_axis(batch, at));
    sums.couple += fill(sign) * (batch.twist * at.normal() + batch.roll);
  });
}

void ContactSolver::collect(const SolverBodies& bodies) {
  share_batches(sums_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) book(b, bodies, 1);
  });
}

void ContactSolver::given(std::span<ContactGift> out) const {
  for (std::size_t b = 0; b < sums_.size(); ++b) {
    const Batch& batch = batches_[b];
    if (!batch.booked) continue;
    for (int l = 0; l < wide; ++l) {
      if (batch.contact[l] < 0) continue;
      ContactGift& gift = out[batch.contact[l]];
      gift.arm = get(batch.ra, l);
      gift.impulse = get(sums_[b].impulse, l);
      gift.couple = get(sums_[b].couple, l) - gift.arm.cross(gift.impulse);
    }
  }
}

void ContactSolver::store(std::span<ContactInput> contacts) {
  forget_blows_on_columns();
  const Real unit = settings_.impulse_time / settings_.h;
  share_batches(batches_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      Batch& batch = batches_[b];
      forget_blow(batch);
      const Points* points = points_.data() + batch.first_point;
      for (int l = 0; l < wide; ++l) {
        if (batch.contact[l] < 0) continue;
        ContactInput& c = contacts[batch.contact[l]];
        Real least = std::numeric_limits<Real>::max();
        for (int p = 0; p < c.count; ++p) {
          c.points[p].impulse = unit * points[p].impulse[l];
          least = std::min(least, c.points[p].impulse);
        }
        const bool on_a_face = c.count > 2 && !(batch.strained >> l & 1);
        for (int p = 0; p < c.count; ++p) {
          const Real load = on_a_face ? least : c.points[p].impulse;
          Real& carried = c.points[p].carried;
          carried += carry_rate * (carry_part * load - carried);
          if (carried > load && batch.even_impulse[l] > 0) carried += let_go_rate * (load - carried);
        }
        Vec3 n, t;
        view(batch, [&](const auto& at) { n = get(at.normal(), l), t = get(at.tangent(), l); });
        c.friction_impulse =
            unit * (batch.along[l] * t + (batch.across[l] * batch.across_part[l]) * n.cross(t));
        c.twist_impulse = unit * batch.twist[l];
        c.bounced = batch.bounced >> l & 1;
      }
    }
  });
}

}}  // namespace plenum::PLENUM_ABI::detail
