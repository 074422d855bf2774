// Blows without a bounce.
#include <algorithm>
#include <atomic>
#include <limits>

#include "plenum/solvers/rigid/detail/contact_batch.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Most rounds over what a blow reaches.
constexpr int most_rounds = 8;
/// A blow is through once a round and its search change velocities by this part of what one has changed, in
/// the measure of energy.
constexpr double through = 0.03;
/// A contact that a round gives less than this part of the speed of a strike passes nothing on.
constexpr Real passed_on = 1;

}  // namespace

bool ContactSolver::find_blows(const SolverBodies& bodies, bool first) {
  const Wide zero{}, strike = fill(-settings_.strike), h = fill(settings_.h);
  if (first) {
    // Only what moves strikes: most steps end here.
    bool any_fast = false;
    moved_.resize(bodies.velocity.size());
    const Real least = settings_.strike * settings_.strike / 8, still = Real(1e-4);  // [rad^2/s^2]
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const BodyVelocity& u = bodies.velocity[i];
      const BodyInertia& k = bodies.inertia[i];
      const Real v2 = u.v[0] * u.v[0] + u.v[1] * u.v[1] + u.v[2] * u.v[2],
                 w2 = u.w[0] * u.w[0] + u.w[1] * u.w[1] + u.w[2] * u.w[2];
      moved_[i] = v2 > least;
      if (moved_[i] || w2 < still) {
        any_fast |= moved_[i] != 0;
        continue;
      }
      // No point of a body is much farther than twice the radius of gyration from its centre.
      const Real slow = std::min({k.inverse[0], k.inverse[1], k.inverse[2]});
      moved_[i] = v2 * slow + 4 * w2 * k.inverse_mass > least * slow || (slow == 0 && v2 + w2 > 0);
      any_fast |= moved_[i] != 0;
    }
    if (!any_fast) return false;
  } else if (!any_near_) {
    return false;
  }
  std::atomic<bool> found = false;
  parallel_for(batches_.size(), batches_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      Batch& batch = batches_[b];
      batch.struck = 0;
      if (batch.chained == 0) continue;
      if (first) {
        unsigned fast = 0;
        for (int l = 0; l < wide; ++l) fast |= moved_[batch.a[l]] | moved_[batch.b[l]];
        if (fast == 0) continue;
      } else if (!batch.near) {
        continue;
      }
      view(batch, [&](const auto& at) {
        const WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
        const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
        const Wide3 n = at.normal();
        Wide hits{};
        for (int p = 0; p < batch.count; ++p) {
          const Wide speed = dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p)));
          const auto strikes =
              (at.mass(p) > zero) & (speed < strike) & (at.separation(p, ma, mb) + h * speed < zero);
          hits = strikes ? fill(1) : hits;
        }
        for (int l = 0; l < wide; ++l) batch.struck |= unsigned(hits[l] != 0) << l;
        batch.struck &= batch.chained;
        if (batch.struck != 0) found.store(true, std::memory_order_relaxed);
      });
    }
  });
  return found;
}

void ContactSolver::absorb(SolverBodies& bodies, bool first) {
  if (!any_chained_ || !find_blows(bodies, first)) return;
  const std::size_t n = bodies.velocity.size();
  moved_.assign(n, 0);
  blows_.resize(points_.size());
  rubs_.resize(batches_.size());
  before_.resize(n);
  way_.assign(n, BodyVelocity{});
  for (Batch& batch : batches_) {
    for (int l = 0; l < wide; ++l)
      if (batch.struck >> l & 1) moved_[batch.a[l]] = moved_[batch.b[l]] = 1;
    batch.struck = 0;
  }
  for (Rub& rub : rubs_) rub.changed = rub.fe = rub.we = rub.ff = rub.fw = 0;
  start_ = bodies.velocity;
  double largest = 0, stiff = 0;
  for (int round = 0;; ++round) {
    before_ = bodies.velocity;
    each_batch([&](std::size_t b) { absorb_batch(bodies, b); });
    if (round + 1 == most_rounds) break;
    // What the round has changed is a direction of descent. Along it and the last one the energy is least
    // where both derivatives vanish: the method of conjugate gradients.
    for (std::size_t i = 0; i < n; ++i)
      for (int c = 0; c < 3; ++c) {
        before_[i].v[c] = bodies.velocity[i].v[c] - before_[i].v[c];
        before_[i].w[c] = bodies.velocity[i].w[c] - before_[i].w[c];
      }
    each_batch([&](std::size_t b) { measure_batch(bodies, b); });
    double changed = 0, fe = 0, we = 0, ff = 0, fw = 0;
    for (const Rub& rub : rubs_)
      changed += rub.changed, fe += rub.fe, we += rub.we, ff += rub.ff, fw += rub.fw;
    const double keep = stiff > 0 ? -fw / stiff : 0;
    const double slope = fe + keep * we, bend = ff + keep * fw;
    const double gain = slope < 0 && bend > 0 ? slope * slope / bend : 0;
    largest = std::max({largest, changed, gain});
    if (std::max(changed, gain) <= through * through * largest) break;
    // Not so far that a point would pull.
    const Real k = Real(keep);
    parallel_for(batches_.size(), batches_per_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) {
        const Batch& batch = batches_[b];
        if (batch.struck == 0) continue;
        Wide least = fill(std::numeric_limits<Real>::max());
        const auto turn_to = [&](Effort& e) { e.way = e.change + fill(k) * e.way; };
        for (int p = 0; p < batch.count; ++p) {
          Effort& e = blows_[batch.first_point + p];
          turn_to(e);
          least = e.way < Wide{} ? min(least, e.impulse / (e.way < Wide{} ? -e.way : fill(1))) : least;
        }
        turn_to(rubs_[b].along), turn_to(rubs_[b].across), turn_to(rubs_[b].twist);
        rubs_[b].limit = std::numeric_limits<Real>::max();
        for (int l = 0; l < wide; ++l) rubs_[b].limit = std::min(rubs_[b].limit, least[l]);
      }
    });
    const double wanted = gain > 0 ? -slope / bend : 0;
    double step = wanted;
    for (std::size_t b = 0; b < batches_.size(); ++b)
      if (batches_[b].struck != 0) step = std::min(step, double(rubs_[b].limit));
    stiff = bend;
    const Real s = Real(step);
    for (std::size_t i = 0; i < n; ++i)
      for (int c = 0; c < 3; ++c) {
        way_[i].v[c] = before_[i].v[c] + k * way_[i].v[c], way_[i].w[c] = before_[i].w[c] + k * way_[i].w[c];
        bodies.velocity[i].v[c] += s * way_[i].v[c], bodies.velocity[i].w[c] += s * way_[i].w[c];
      }
    parallel_for(batches_.size(), batches_per_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) {
        const Batch& batch = batches_[b];
        if (batch.struck == 0) continue;
        const auto advance = [&](Effort& e) { e.impulse += fill(s) * e.way; };
        for (int p = 0; p < batch.count; ++p) {
          Effort& e = blows_[batch.first_point + p];
          e.impulse = max(Wide{}, e.impulse + fill(s) * e.way);
        }
        advance(rubs_[b].along), advance(rubs_[b].across), advance(rubs_[b].twist);
      }
    });
  }
  // What friction's bound and rounding leave undone must not give energy: then all is left to the passes.
  for (std::size_t i = 0; i < n; ++i)
    for (int c = 0; c < 3; ++c) {
      before_[i].v[c] = Real(0.5) * (start_[i].v[c] + bodies.velocity[i].v[c]);
      before_[i].w[c] = Real(0.5) * (start_[i].w[c] + bodies.velocity[i].w[c]);
    }
  std::swap(bodies.velocity, before_);
  double given = 0;
  each_batch([&](std::size_t b) { work_of_batch(bodies, b); });
  for (std::size_t b = 0; b < batches_.size(); ++b)
    if (batches_[b].struck != 0) given += rubs_[b].fe;
  std::swap(bodies.velocity, before_);
  if (!(given <= 0)) {
    bodies.velocity = start_;
    return;
  }
  for (std::size_t b = 0; b < sums_.size(); ++b) {
    const Batch& batch = batches_[b];
    if (!batch.booked || batch.struck == 0) continue;
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
  unsigned lanes = 0;
  for (int l = 0; l < wide; ++l)
    lanes |= ((batch.writes_a >> l & moved_[batch.a[l]]) | (batch.writes_b >> l & moved_[batch.b[l]])) << l;
  if (lanes == 0) return;
  const Wide zero{}, one = fill(1), rate = fill(1 / settings_.h),
                     tiny = fill(std::numeric_limits<Real>::min());
  Effort* blows = blows_.data() + batch.first_point;
  Rub& rub = rubs_[b];
  if (batch.struck == 0) {
    rub.along = rub.across = rub.twist = Effort{};
    for (int p = 0; p < batch.count; ++p) blows[p] = Effort{};
  }
  batch.struck |= lanes;
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
