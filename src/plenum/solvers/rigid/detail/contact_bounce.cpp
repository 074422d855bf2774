// Bounces.
#include <atomic>
#include <limits>

#include "plenum/solvers/rigid/detail/contact_batch.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Most passes of impacts through contacts in a sub-step; what then still closes is stopped as without a
/// bounce. A blow goes through a row of twice as many balls.
constexpr int most_impacts = 32;

}  // namespace

void ContactSolver::restitute(SolverBodies& bodies) {
  if (!any_restitution_) return;
  const Wide zero{}, one = fill(1), threshold = fill(-settings_.restitution_threshold), h = fill(settings_.h),
                     tiny = fill(std::numeric_limits<Real>::min());
  std::atomic<bool> again = true;
  for (int pass = 0; pass < most_impacts && again; ++pass) {
    again = false;
    each_batch([&](std::size_t b) {
      Batch& batch = batches_[b];
      if (!batch.bounces) return;
      view(batch, [&](const auto& at) {
        WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
        const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
        const Wide3 n = at.normal();
        // Each point asks for what would stop it alone; of all these together, a part stops them as one, and
        // 1 + e times that part sends them back.
        Wide share[4], asked{}, taken{};
        Wide3 ra{zero, zero, zero}, rb = ra;
        for (int p = 0; p < batch.count; ++p) {
          const Wide speed = dot(n, velocity_at(vb, at.rb(p)) - velocity_at(va, at.ra(p)));
          const auto strikes = (speed < threshold) & (at.separation(p, ma, mb) + h * speed < zero) &
                               (batch.restitution > zero);
          share[p] = strikes ? -at.mass(p) * speed : zero;
          asked -= share[p] * speed, taken += share[p];
          ra += share[p] * at.ra(p), rb += share[p] * at.rb(p);
        }
        const auto struck = taken > zero;
        if (!any(struck)) return;
        again = true;
        const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
        const Wide mean = inverse_or_zero(taken);
        ra = mean * ra, rb = mean * rb;
        const Wide met = taken * taken * (response(ia, ra, n) + response(ib, rb, n));
        const Wide scale = (one + batch.restitution) * asked * inverse_or_zero(met), impulse = scale * taken;
        push<-1>(va, ia, ra, impulse * n);
        push<1>(vb, ib, rb, impulse * n);

        // Against the slip, or where friction is an ellipse where that is normal to it, as much as stops it
        // there or Coulomb's cone allows.
        const Wide3 t1 = at.tangent(), t2 = cross(n, t1);
        const Wide part = batch.across_part, whole = inverse_or_zero(part);
        const Wide3 past = velocity_at(vb, rb) - velocity_at(va, ra);
        const Wide s1 = dot(t1, past) - batch.slide, s2 = dot(t2, past) - whole * batch.slide_across;
        const Wide f1 = s1, f2 = part * part * s2;
        const Wide length = sqrt(f1 * f1 + f2 * f2 + tiny),
                   radius = sqrt(s1 * s1 + part * part * s2 * s2 + tiny);
        const Wide3 along = (one / length) * (f1 * t1 + f2 * t2);
        const Wide stop =
            (s1 * f1 + s2 * f2) / length * inverse_or_zero(response(ia, ra, along) + response(ib, rb, along));
        const Wide3 friction = -min(stop, batch.friction * impulse * length / radius) * along;
        push<-1>(va, ia, ra, friction);
        push<1>(vb, ib, rb, friction);

        unsigned lanes = 0;
        for (int l = 0; l < wide; ++l) lanes |= unsigned(struck[l] != 0) << l;
        batch.bounced |= lanes;
        scatter_velocity(bodies, batch.a, batch.writes_a & lanes, va);
        scatter_velocity(bodies, batch.b, batch.writes_b & lanes, vb);
        if (!batch.booked) return;
        const Wide3 given = impulse * n + friction;
        sums_[b].impulse += given;
        sums_[b].couple += cross(ma.dx + ra, given);
      });
    });
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
