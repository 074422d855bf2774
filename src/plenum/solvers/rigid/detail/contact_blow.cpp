// Blows without a bounce.
#include <algorithm>
#include <limits>

#include "plenum/solvers/rigid/detail/block_ldlt.h"
#include "plenum/solvers/rigid/detail/contact_batch.h"
#include "plenum/solvers/rigid/detail/joint_solver.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Most rounds over what a blow reaches, in a heap; and batches and joints that may be gone through in rounds
/// beyond these: a column needs as many as it has bodies, and costs little.
constexpr int rounds_of_heap = 3;
constexpr std::size_t most_visits = 600;
/// A blow is through once a round and its search change velocities by this part of what one has changed, in
/// the measure of energy.
constexpr double through = 0.06;
/// Part of the energy of what contacts change, of which joints leave no more if they allow none of it.
constexpr double taken_back = 1e-6;
/// A contact that a round gives less than this part of the speed of a strike passes nothing on.
constexpr Real passed_on = 1;

BodyVelocity difference(const BodyVelocity& a, const BodyVelocity& b) {
  BodyVelocity out = a;
  for (int c = 0; c < 3; ++c) out.v[c] -= b.v[c], out.w[c] -= b.w[c];
  return out;
}

/// a + s b
BodyVelocity moved_along(const BodyVelocity& a, Real s, const BodyVelocity& b) {
  BodyVelocity out = a;
  for (int c = 0; c < 3; ++c) out.v[c] += s * b.v[c], out.w[c] += s * b.w[c];
  return out;
}

/// [J] twice the kinetic energy that a body has by this velocity.
double energy_twice(const BodyInertia& body, const BodyVelocity& of) {
  if (!(body.inverse_mass > 0)) return 0;
  const Eigen::Vector3d v(of.v[0], of.v[1], of.v[2]), w(of.w[0], of.w[1], of.w[2]);
  return v.squaredNorm() / double(body.inverse_mass) + w.dot(inverse_of<3>(inverse_inertia_of(body)) * w);
}

}  // namespace

void ContactSolver::absorb(SolverBodies& bodies, bool first, const JointScene& scene, JointSolver& joints) {
  if (!any_chained_ || !find_blows(bodies, first, joints)) return;
  const std::size_t n = bodies.velocity.size();
  moved_.assign(n, 0);
  blows_.resize(points_.size());
  rubs_.resize(batches_.size());
  reached_.clear();
  before_.resize(n);
  way_.assign(n, BodyVelocity{});
  for (Batch& batch : batches_) {
    for (int l = 0; batch.struck >> l != 0; ++l) {
      if (!(batch.struck >> l & 1)) continue;
      if (batch.writes_a >> l & 1) moved_[batch.a[l]] = 1;
      if (batch.writes_b >> l & 1) moved_[batch.b[l]] = 1;
    }
    batch.struck = 0;
  }
  start_ = before_ = bodies.velocity;
  const bool any_joints = !joints.empty();
  joints.begin_blow();
  double largest = 0, stiff = 0;
  for (int round = 0;; ++round) {
    each_batch([&](std::size_t b) { absorb_batch(bodies, b); });
    // Joints are kept exactly, so that they do no work along the direction that is searched.
    if (any_joints) joints.absorb(scene, bodies, passed_on * settings_.strike, moved_);
    list_reached(joints);
    const std::size_t visits = std::size_t(round + 1) * (reached_.size() + joints.num_reached());
    if (round + 1 >= rounds_of_heap && visits >= most_visits) break;
    // What the round has changed is a direction of descent. Along it and the last one the energy is least
    // where both derivatives vanish: the method of conjugate gradients.
    for (const Index i : carried_) before_[i] = difference(bodies.velocity[i], before_[i]);
    each_reached([&](std::size_t b) { measure_batch(bodies, b); });
    double changed = 0, fe = 0, we = 0, ff = 0, fw = 0;
    for (const std::uint32_t b : reached_) {
      const Rub& rub = rubs_[b];
      changed += rub.changed, fe += rub.fe, we += rub.we, ff += rub.ff, fw += rub.fw;
    }
    // Where the last direction would count for more than the new one the search begins anew: it would grow
    // from round to round, and its rounding with it (Silcowitz et al. 2010).
    const double keep = stiff > 0 && -fw <= stiff ? -fw / stiff : 0;
    const double slope = fe + keep * we;
    double bend = ff + keep * fw;
    // This counts what contacts see of the direction. Joints see none of it if both ends of a round fit them,
    // which they do but for what these were already off, and what rounding and dead points leave of it: a way
    // that contacts hardly see would be gone far beyond what the joints can bear. All that moves bends it.
    if (any_joints && slope < 0) {
      double whole = 0;
      for (const Index i : carried_)
        whole += energy_twice(bodies.inertia[i], moved_along(before_[i], Real(keep), way_[i]));
      // What joints take back whole is no way to go: only rounding would.
      if (whole <= taken_back * changed) break;
      bend = std::max(bend, whole);
    }
    const double gain = slope < 0 && bend > 0 ? slope * slope / bend : 0;
    largest = std::max({largest, changed, gain});
    if (std::max(changed, gain) <= through * through * largest) break;
    const Real k = Real(keep);
    each_reached([&](std::size_t b) { turn_way(b, k); });
    // Not so far that a point would pull, nor a joint's bound.
    double step = std::min(gain > 0 ? -slope / bend : 0, joints.turn_way(double(k)));
    for (const std::uint32_t b : reached_) step = std::min(step, double(rubs_[b].limit));
    // A direction in which a point would pull at once is left: kept, it would grow from round to round, and
    // its rounding with it.
    stiff = step > 0 ? bend : 0;
    const Real s = Real(step);
    for (const Index i : carried_) {
      way_[i] = moved_along(before_[i], k, way_[i]);
      before_[i] = bodies.velocity[i] = moved_along(bodies.velocity[i], s, way_[i]);
    }
    each_reached([&](std::size_t b) { go_way(b, s); });
    joints.go_way(double(s));
  }
  // What friction's bound and rounding leave undone must not give energy: then all is left to the passes.
  const auto restore = [&](const AlignedVector<BodyVelocity>& from) {
    for (const Index i : carried_) bodies.velocity[i] = from[i];
  };
  for (const Index i : carried_) {
    before_[i] = bodies.velocity[i];
    bodies.velocity[i] = moved_along(start_[i], Real(0.5), difference(bodies.velocity[i], start_[i]));
  }
  each_reached([&](std::size_t b) { work_of_batch(bodies, b); });
  double given = 0;
  for (const std::uint32_t b : reached_) given += rubs_[b].fe;
  if (given <= 0)
    restore(before_), book_blows(bodies);
  else
    restore(start_), joints.forget_blow();
}

void ContactSolver::list_reached(JointSolver& joints) {
  reached_.clear(), carried_.clear();
  for (std::size_t b = 0; b < batches_.size(); ++b)
    if (batches_[b].struck != 0) reached_.push_back(static_cast<std::uint32_t>(b));
  // Also what the blow gets to and not beyond.
  touched_.assign(moved_.size(), 0);
  for (const std::uint32_t b : reached_) {
    const Batch& batch = batches_[b];
    for (int l = 0; l < wide; ++l) {
      touched_[batch.a[l]] |= batch.struck & batch.writes_a & 1U << l ? 1 : 0;
      touched_[batch.b[l]] |= batch.struck & batch.writes_b & 1U << l ? 1 : 0;
    }
  }
  joints.mark_reached(touched_);
  for (std::size_t i = 0; i < touched_.size(); ++i)
    if (touched_[i] != 0) carried_.push_back(static_cast<Index>(i));
}

void ContactSolver::turn_way(std::size_t b, Real keep) {
  const Batch& batch = batches_[b];
  Rub& rub = rubs_[b];
  const Wide zero{}, one = fill(1), k = fill(keep);
  Wide least = fill(std::numeric_limits<Real>::max());
  const auto turn = [&](Effort& e) { e.way = e.change + k * e.way; };
  for (int p = 0; p < batch.count; ++p) {
    Effort& e = blows_[batch.first_point + p];
    turn(e);
    least = e.way < zero ? min(least, e.impulse / (e.way < zero ? -e.way : one)) : least;
  }
  turn(rub.along), turn(rub.across), turn(rub.twist);
  rub.limit = least[0];
  for (int l = 1; l < wide; ++l) rub.limit = std::min(rub.limit, least[l]);
}

void ContactSolver::go_way(std::size_t b, Real step) {
  const Batch& batch = batches_[b];
  const Wide s = fill(step);
  const auto advance = [&](Effort& e) { e.impulse += s * e.way; };
  for (int p = 0; p < batch.count; ++p) {
    Effort& e = blows_[batch.first_point + p];
    advance(e);
    e.impulse = max(Wide{}, e.impulse);
  }
  advance(rubs_[b].along), advance(rubs_[b].across), advance(rubs_[b].twist);
}

void ContactSolver::book_blows(const SolverBodies& bodies) {
  if (sums_.empty()) return;
  for (const std::uint32_t b : reached_) {
    const Batch& batch = batches_[b];
    if (!batch.booked) continue;
    const Wide3 centre = gather_motion(bodies, batch.a).dx;
    view(batch, [&](const auto& at) {
      const auto add = [&](const Wide3& arm, const Wide3& impulse) {
        sums_[b].impulse += impulse;
        sums_[b].couple += cross(centre + arm, impulse);
      };
      for (int p = 0; p < batch.count; ++p)
        add(at.ra(p), blows_[batch.first_point + p].impulse * at.normal());
      add(at.patch_a(),
          rubs_[b].along.impulse * at.tangent() + rubs_[b].across.impulse * across_axis(batch, at));
      sums_[b].couple += rubs_[b].twist.impulse * at.normal();
    });
  }
}

void ContactSolver::absorb_batch(SolverBodies& bodies, std::size_t b) {
  Batch& batch = batches_[b];
  const Wide moving = moves(batch), zero{};
  if (!any(moving > zero)) return;
  const Wide one = fill(1), rate = fill(1 / settings_.h), tiny = fill(std::numeric_limits<Real>::min());
  Effort* blows = blows_.data() + batch.first_point;
  Rub& rub = rubs_[b];
  if (batch.struck == 0) {
    rub.along = rub.across = rub.twist = Effort{};
    for (int p = 0; p < batch.count; ++p) blows[p] = Effort{};
  }
  for (int l = 0; l < wide; ++l) batch.struck |= unsigned(moving[l] != 0) << l;
  Wide takes_part{};
  for (int l = 0; l < wide; ++l) takes_part[l] = Real(batch.struck >> l & 1);
  const auto part = takes_part > zero;
  WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
  const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
  const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
  const auto give = [&](Effort& e, const Wide& impulse) {
    e.change = part ? impulse - e.impulse : zero;
    e.impulse += e.change;
  };
  view(batch, [&](const auto& at) {
    const Wide3 n = at.normal(), t1 = at.tangent(), t2 = across_axis(batch, at);
    const auto& answer = at.response();
    Wide pressed{}, levered{};
    for (int p = 0; p < batch.count; ++p) {
      const Wide presses = max(zero, blows[p].impulse);
      pressed += presses, levered += presses * this->points_[batch.first_point + p].lever;
    }
    {
      const Wide wanted = rub.twist.impulse - answer.twist * dot(n, vb.w - va.w);
      give(rub.twist, max(-levered, min(levered, wanted)));
      const Wide3 change = rub.twist.change * n;
      va.w -= ia.inverse * change;
      vb.w += ib.inverse * change;
    }
    {
      const Wide3 slip = velocity_at(vb, at.patch_b()) - velocity_at(va, at.patch_a());
      const Wide s1 = dot(t1, slip) - batch.slide, s2 = dot(t2, slip) - batch.slide_across;
      const Wide wanted1 = rub.along.impulse - (answer.k11 * s1 + answer.k12 * s2);
      const Wide wanted2 = rub.across.impulse - (answer.k12 * s1 + answer.k22 * s2);
      const Wide length = sqrt(wanted1 * wanted1 + wanted2 * wanted2 + tiny);
      const Wide share =
          length <= batch.static_friction * pressed ? one : min(one, batch.friction * pressed / length);
      give(rub.along, share * wanted1), give(rub.across, share * wanted2);
      const Wide3 change = rub.along.change * t1 + rub.across.change * t2;
      push<-1>(va, ia, at.patch_a(), change);
      push<1>(vb, ib, at.patch_b(), change);
    }
    // Points together where all press, in turn where not, as in the passes of the sub-step.
    Wide bias[4], error[4], together[4], least = zero;
    for (int p = 0; p < batch.count; ++p) {
      bias[p] = max(zero, at.separation(p, ma, mb)) * rate;
      error[p] = dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p))) + bias[p];
    }
    for (int p = 0; p < batch.count; ++p) {
      Wide sum = batch.count == 1 ? at.mass(p) * error[p] : zero;
      for (int q = 0; batch.count > 1 && q < batch.count; ++q)
        sum += answer.block[p > q ? low(p, q) : low(q, p)] * error[q];
      together[p] = blows[p].impulse - sum;
      least = min(least, together[p]);
    }
    const auto in_turn = (least < zero) | (batch.soft_impulse == zero);
    Wide sum{};
    Wide3 ra{zero, zero, zero}, rb = ra;
    for (int p = 0; p < batch.count; ++p) {
      give(blows[p], in_turn ? blows[p].impulse : together[p]);
      const Wide change = blows[p].change;
      sum += change;
      ra += change * at.ra(p), rb += change * at.rb(p);
    }
    va.v -= (ia.inverse_mass * sum) * n, vb.v += (ib.inverse_mass * sum) * n;
    va.w -= ia.inverse * cross(ra, n), vb.w += ib.inverse * cross(rb, n);
    if (any(in_turn))
      for (int p = 0; p < batch.count; ++p) {
        const Wide speed = dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p)));
        const Wide wanted = max(zero, blows[p].impulse - at.mass(p) * (speed + bias[p]));
        const Wide change = in_turn ? part ? wanted - blows[p].impulse : zero : zero;
        blows[p].change += change, blows[p].impulse += change;
        push<-1>(va, ia, at.ra(p), change * n);
        push<1>(vb, ib, at.rb(p), change * n);
      }
    Wide most{}, work{};
    for (int p = 0; p < batch.count; ++p) {
      const Wide speed = blows[p].change * inverse_or_zero(at.mass(p));
      work += blows[p].change * speed;
      most = max(most, max(speed, -speed));
    }
    rub.changed = 0;
    for (int l = 0; l < wide; ++l) {
      rub.changed += double(work[l]);
      if (most[l] < passed_on * settings_.strike) continue;
      if (batch.writes_a >> l & 1) moved_[batch.a[l]] = 1;
      if (batch.writes_b >> l & 1) moved_[batch.b[l]] = 1;
    }
  });
  scatter_velocity(bodies, batch.a, batch.writes_a & batch.struck, va);
  scatter_velocity(bodies, batch.b, batch.writes_b & batch.struck, vb);
}

void ContactSolver::work_of_batch(const SolverBodies& bodies, std::size_t b) {
  const Batch& batch = batches_[b];
  if (batch.struck == 0) return;
  const WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
  Wide work{};
  Rub& rub = rubs_[b];
  view(batch, [&](const auto& at) {
    const Wide3 n = at.normal();
    for (int p = 0; p < batch.count; ++p)
      work += blows_[batch.first_point + p].impulse *
              dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p)));
    const Wide3 slip = velocity_at(vb, at.patch_b()) - velocity_at(va, at.patch_a());
    work += rub.along.impulse * (dot(at.tangent(), slip) - batch.slide);
    work += rub.across.impulse * (dot(across_axis(batch, at), slip) - batch.slide_across);
    work += rub.twist.impulse * dot(n, vb.w - va.w);
  });
  rub.fe = 0;
  for (int l = 0; l < wide; ++l) rub.fe += double(work[l]);
}

void ContactSolver::measure_batch(const SolverBodies& bodies, std::size_t b) {
  const Batch& batch = batches_[b];
  if (batch.struck == 0) return;
  const Wide zero{}, rate = fill(1 / settings_.h);
  const auto gather = [](const AlignedVector<BodyVelocity>& rows, const Index* index) {
    Wide r[8];
    gather_rows(rows.data(), index, r);
    return WideVelocity{{r[0], r[1], r[2]}, {r[3], r[4], r[5]}};
  };
  const WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b),
                     fa = gather(before_, batch.a), fb = gather(before_, batch.b), wa = gather(way_, batch.a),
                     wb = gather(way_, batch.b);
  const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
  Wide fe{}, we{}, ff{}, fw{};
  view(batch, [&](const auto& at) {
    const Wide3 n = at.normal(), t1 = at.tangent(), t2 = across_axis(batch, at);
    const auto add = [&](const Effort& e, const Wide& error, const Wide& first, const Wide& second) {
      fe += e.change * error, we += e.way * error, ff += e.change * first, fw += e.change * second;
    };
    const auto at_point = [&](const Wide3& along, const WideVelocity& a, const WideVelocity& b,
                              const Wide3& ra, const Wide3& rb) {
      return dot(along, velocity_at(b, rb) - velocity_at(a, ra));
    };
    for (int p = 0; p < batch.count; ++p) {
      const Wide3 ra = at.ra(p), rb = at.rb(p);
      const Wide bias = max(zero, at.separation(p, ma, mb)) * rate;
      add(blows_[batch.first_point + p], at_point(n, va, vb, ra, rb) + bias, at_point(n, fa, fb, ra, rb),
          at_point(n, wa, wb, ra, rb));
    }
    const Rub& rub = rubs_[b];
    const Wide3 ra = at.patch_a(), rb = at.patch_b();
    add(rub.along, at_point(t1, va, vb, ra, rb) - batch.slide, at_point(t1, fa, fb, ra, rb),
        at_point(t1, wa, wb, ra, rb));
    add(rub.across, at_point(t2, va, vb, ra, rb) - batch.slide_across, at_point(t2, fa, fb, ra, rb),
        at_point(t2, wa, wb, ra, rb));
    add(rub.twist, dot(n, vb.w - va.w), dot(n, fb.w - fa.w), dot(n, wb.w - wa.w));
  });
  Rub& rub = rubs_[b];
  rub.fe = rub.we = rub.ff = rub.fw = 0;
  for (int l = 0; l < wide; ++l)
    rub.fe += double(fe[l]), rub.we += double(we[l]), rub.ff += double(ff[l]), rub.fw += double(fw[l]);
}

}}  // namespace plenum::PLENUM_ABI::detail
