// What contacts answer to impulses, and how their normals turn.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/solvers/rigid/detail/block_ldlt.h"
#include "plenum/solvers/rigid/detail/contact_batch.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// The inverse of a symmetric positive definite 4x4 matrix, both as lower triangles, from M = L D L^T.
[[gnu::always_inline]] inline void invert(const Wide (&m)[10], Wide (&out)[10]) {
  Wide l[10], u[10], d[4], r[4];
  for (int j = 0; j < 4; ++j) {
    d[j] = m[low(j, j)];
    for (int k = 0; k < j; ++k) d[j] -= l[low(j, k)] * l[low(j, k)] * d[k];
    r[j] = inverse_or_zero(d[j]);
    for (int i = j + 1; i < 4; ++i) {
      Wide sum = m[low(i, j)];
      for (int k = 0; k < j; ++k) sum -= l[low(i, k)] * l[low(j, k)] * d[k];
      l[low(i, j)] = sum * r[j];
    }
  }
  for (int j = 0; j < 4; ++j) {
    u[low(j, j)] = fill(1);
    for (int i = j + 1; i < 4; ++i) {
      Wide sum{};
      for (int k = j; k < i; ++k) sum -= l[low(i, k)] * u[low(k, j)];
      u[low(i, j)] = sum;
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j <= i; ++j) {
      Wide sum{};
      for (int k = i; k < 4; ++k) sum += u[low(k, i)] * u[low(k, j)] * r[k];
      out[low(i, j)] = sum;
    }
}

/// The 2x2 matrix of velocities along t1 and t2 that impulses along them give, at ra and rb.
[[gnu::always_inline]] inline void respond_tangentially(const WideInertia& ia, const WideInertia& ib,
                                                        const Wide3& ra, const Wide3& rb, const Wide3& t1,
                                                        const Wide3& t2, Wide& k11, Wide& k12, Wide& k22) {
  const Wide zero{};
  const Wide3 a1 = cross(ra, t1), a2 = cross(ra, t2), b1 = cross(rb, t1), b2 = cross(rb, t2);
  const Wide3 ia1 = ia.inverse * a1, ib1 = ib.inverse * b1;
  const Wide m = ia.inverse_mass + ib.inverse_mass, length2 = dot(t2, t2);
  k11 = m + dot(a1, ia1) + dot(b1, ib1);
  // Where t2 is 0 nothing acts along it, and nothing is asked for.
  k22 = m * length2 + dot(a2, ia.inverse * a2) + dot(b2, ib.inverse * b2) + (length2 > zero ? zero : k11);
  k12 = dot(a2, ia1) + dot(b2, ib1);
}
/// A motion less its turning about the axis at the start (a unit vector, or 0 for none): of q = swing twist
/// the swing, which takes the axis along.
[[gnu::always_inline]] inline WideMotion without_twist(const WideMotion& m, const Wide3& axis) {
  const Wide along = dot(axis, m.u), length2 = along * along + m.w * m.w;
  const auto turns = (along * along > Wide{}) & (length2 > fill(Real(1e-6)));
  const Wide inverse = fill(1) / sqrt(turns ? length2 : fill(1));
  const Wide c = m.w * inverse, s = along * inverse;
  return {m.dx, choose(turns, c * m.u - (s * m.w) * axis - s * cross(m.u, axis), m.u),
          turns ? c * m.w + s * along : m.w};
}
/// A swing with as much twist as keeps what touches as far round the axis from the normal as it was: the
/// lowest place of a cone's rim stays the lowest. Where the normal is nearly along the axis there is no such
/// place, as of a cylinder that stands.
[[gnu::always_inline]] inline WideMotion with_normal(const WideMotion& m, const Wide3& axis,
                                                     const Wide3& normal0, const Wide3& normal) {
  const Wide zero{}, one = fill(1), half = fill(Real(0.5));
  const Wide3 to = rotate(m.u, m.w, axis), turned = rotate(m.u, m.w, normal0);
  const Wide3 p0 = turned - dot(turned, to) * to, p1 = normal - dot(normal, to) * to;
  const Wide lengths2 = dot(p0, p0) * dot(p1, p1), cosine0 = dot(p0, p1);
  const auto tilts = (dot(axis, axis) > zero) & (lengths2 > fill(Real(1e-4))) & (cosine0 > zero);
  const Wide inverse = one / sqrt(tilts ? lengths2 : one);
  const Wide w = sqrt(half + half * (tilts ? cosine0 * inverse : one));
  const Wide s = (tilts ? dot(to, cross(p0, p1)) * inverse : zero) * half / w;
  const Wide3 u = s * to;
  return {m.dx, w * m.u + m.w * u + cross(u, m.u), w * m.w - dot(u, m.u)};
}
/// Inverts a symmetric 2x2 matrix.
[[gnu::always_inline]] inline void invert(Wide& k11, Wide& k12, Wide& k22) {
  const Wide inverse = inverse_or_zero(k11 * k22 - k12 * k12), first = k11;
  k11 = k22 * inverse, k12 = -k12 * inverse, k22 = first * inverse;
}

}  // namespace

template <class View>
void ContactSolver::respond(const Batch& batch, const View& at, const Wide& is_new,
                            const SolverBodies& bodies, Wide* mass, Response& out) const {
  const Points* points = points_.data() + batch.first_point;
  const Wide zero{};
  const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
  const Wide3 n = at.normal(), t1 = at.tangent(), t2 = across_axis(batch, at);
  Wide present[4];
  for (int p = 0; p < batch.count; ++p) present[p] = points[p].mass > zero ? fill(1) : zero;
  for (int p = 0; p < batch.count; ++p)
    mass[p] = present[p] * inverse_or_zero(response(ia, at.ra(p), n) + response(ib, at.rb(p), n));
  Wide k11, k12, k22;
  respond_tangentially(ia, ib, at.patch_a(), at.patch_b(), t1, t2, k11, k12, k22);
  if (batch.count > 1) {
    // All points at once. Four points in a plane hold each other in one way more than there are ways to
    // move; a small part of the diagonal shares the load out evenly.
    Wide m[10] = {};
    Wide3 arm_a[4], arm_b[4], moved_a[4], moved_b[4];
    for (int p = 0; p < batch.count; ++p) {
      arm_a[p] = cross(at.ra(p), n), arm_b[p] = cross(at.rb(p), n);
      moved_a[p] = ia.inverse * arm_a[p], moved_b[p] = ib.inverse * arm_b[p];
    }
    const Wide straight = ia.inverse_mass + ib.inverse_mass;
    for (int p = 0; p < 4; ++p)
      for (int q = 0; q <= p; ++q) {
        const Wide both = p < batch.count ? present[p] * present[q] : zero;
        if (p < batch.count)
          m[low(p, q)] = both * (straight + dot(arm_a[p], moved_a[q]) + dot(arm_b[p], moved_b[q]));
        if (p == q) m[low(p, q)] = m[low(p, q)] * fill(Real(1.003)) + (both > zero ? zero : fill(1));
      }
    invert(m, out.block);
    for (int p = 0; p < 4; ++p)
      for (int q = 0; q <= p; ++q)
        out.block[low(p, q)] = p < batch.count ? out.block[low(p, q)] * present[p] * present[q] : zero;

    // Friction that has not been felt yet is to stop at once what slides while all points hold it from
    // tilting (a Schur complement). If it were left to tilt, and were put right by the points, 0.6 of the
    // slip of a cube would be left over, which on a slope that just holds it slides on for seconds. Points
    // can hold it only as far out as the lever of friction asks, which tips what is high over a small base.
    Wide spread2{};
    for (int p = 0; p < batch.count; ++p) {
      const Wide3 off = at.ra(p) - at.patch_a();
      spread2 = max(spread2, present[p] * dot(off, off));
    }
    const Wide high_a = batch.friction * dot(at.patch_a(), n), high_b = batch.friction * dot(at.patch_b(), n);
    const auto holds = ((ia.inverse_mass == zero) | (high_a * high_a <= spread2)) &
                       ((ib.inverse_mass == zero) | (high_b * high_b <= spread2));
    if (const auto fresh = (is_new > zero) & holds; any(fresh)) {
      const Wide3 a1 = cross(at.patch_a(), t1), a2 = cross(at.patch_a(), t2), b1 = cross(at.patch_b(), t1),
                  b2 = cross(at.patch_b(), t2);
      Wide tilt1[4], tilt2[4], h11 = k11, h12 = k12, h22 = k22;
      for (int p = 0; p < batch.count; ++p) {
        tilt1[p] = dot(moved_a[p], a1) + dot(moved_b[p], b1);
        tilt2[p] = dot(moved_a[p], a2) + dot(moved_b[p], b2);
      }
      for (int p = 0; p < batch.count; ++p) {
        Wide held1{}, held2{};
        for (int q = 0; q < batch.count; ++q) {
          const Wide& held = out.block[p > q ? low(p, q) : low(q, p)];
          held1 += held * tilt1[q], held2 += held * tilt2[q];
        }
        h11 -= tilt1[p] * held1, h12 -= tilt1[p] * held2, h22 -= tilt2[p] * held2;
      }
      // All that the points hold is turning, so no less than the masses is left; in Real that may be all that
      // is known, where bodies of very different size are inside each other.
      const Wide m = ia.inverse_mass + ib.inverse_mass, m2 = m * dot(t2, t2);
      const Wide more1 = max(h11 - m, zero), more2 = max(h22 - m2, zero), most = sqrt(more1 * more2);
      k11 = fresh ? m + more1 : k11, k22 = fresh ? m2 + more2 : k22;
      k12 = fresh ? max(-most, min(most, h12)) : k12;
    }
  }
  invert(k11, k12, k22);
  out.k11 = k11, out.k12 = k12, out.k22 = k22;
  out.twist = inverse_or_zero(dot(n, ia.inverse * n) + dot(n, ib.inverse * n));
}

void ContactSolver::respond_anew(const SolverBodies& bodies) {
  const auto is_enlarged = [&](Index i) { return bodies.inertia[i].enlarged != 0; };
  share_batches(batches_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      Batch& batch = batches_[b];
      bool any = false;
      for (int l = 0; l < wide; ++l) any |= is_enlarged(batch.a[l]) || is_enlarged(batch.b[l]);
      if (!any) continue;
      Points* points = points_.data() + batch.first_point;
      const Wide no{};
      Wide mass[4];
      if (batch.turning == never) {
        respond(batch, Still(*this, batch), no, bodies, mass, batch.response);
        for (int p = 0; p < batch.count; ++p) points[p].mass = mass[p];
      } else {
        Turning& now = turning_[batch.turning];
        respond(batch, Moved(*this, batch), now.is_new, bodies, now.mass, now.response);
      }
    }
  });
}

template void ContactSolver::respond(const Batch&, const Still&, const Wide&, const SolverBodies&, Wide*,
                                     Response&) const;

void ContactSolver::turn(const SolverBodies& bodies) {
  // What has been given so far was along the normals as they were; collect() takes all as along new ones.
  const bool books = !sums_.empty();
  if (books)
    for (const std::uint32_t b : turned_) book(b, bodies, 1);
  turn_batches(bodies);
  if (books)
    for (const std::uint32_t b : turned_) book(b, bodies, -1);
}

void ContactSolver::turn_batches(const SolverBodies& bodies) {
  share_batches(turned_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) turn_batch(batches_[turned_[k]], bodies);
  });
}

void ContactSolver::turn_batch(const Batch& batch, const SolverBodies& bodies) {
  Turning& now = turning_[batch.turning];
  const Wide is_other = place(batch, gather_motion(bodies, batch.a), gather_motion(bodies, batch.b), now);
  if (any(now.rolls_round > Wide{})) foresee(batch, bodies, now);
  if (any(is_other > Wide{})) respond(batch, Moved(*this, batch), now.is_new, bodies, now.mass, now.response);
}

/// Of what rolls round on a line, places go round too: a speed that is none where they are at the start of a
/// sub-step sinks them by its end, a cone's rim by its half h^2 w x (dr/dt), which contacts would push out
/// again and so give energy. What the surfaces will have come nearer by then, where free bodies would go,
/// beyond what speeds say, is asked for besides.
void ContactSolver::foresee(const Batch& batch, const SolverBodies& bodies, Turning& now) const {
  const Real h = settings_.h;
  // Motions at the end of the sub-step, and velocities there: free bodies gyrate.
  const auto ahead = [&](WideMotion& m, WideVelocity& v, const Index* index) {
    for (int l = 0; l < wide; ++l) {
      const BodyInertia& body = bodies.inertia[index[l]];
      const Eigen::Vector3d w(v.w.x[l], v.w.y[l], v.w.z[l]);
      Eigen::Vector3d change = Eigen::Vector3d::Zero();
      if (body.inverse_mass > 0) {
        const Eigen::Matrix3d inverse = inverse_inertia_of(body);
        change = double(h) * (inverse * (inverse_of<3>(inverse) * w).cross(w));
      }
      const Eigen::Vector3d turn = double(h) * (w + change / 2);
      const double angle = turn.norm(), part = angle > 1e-12 ? std::sin(angle / 2) / angle : 0.5;
      const Eigen::Quaterniond by(std::cos(angle / 2), part * turn.x(), part * turn.y(), part * turn.z()),
          q = by * Eigen::Quaterniond(double(m.w[l]), double(m.u.x[l]), double(m.u.y[l]), double(m.u.z[l]));
      m.u.x[l] = Real(q.x()), m.u.y[l] = Real(q.y()), m.u.z[l] = Real(q.z()), m.w[l] = Real(q.w());
      v.w.x[l] += Real(change.x()), v.w.y[l] += Real(change.y()), v.w.z[l] += Real(change.z());
    }
    m.dx += fill(h) * v.v;
  };
  WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
  const WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
  WideVelocity to_a = va, to_b = vb;
  ahead(ma, to_a, batch.a), ahead(mb, to_b, batch.b);
  Turning next = now;
  place(batch, ma, mb, next);
  for (int p = 0; p < batch.count; ++p) {
    const Wide speed = dot(now.normal, velocity_at(vb, now.rb[p]) - velocity_at(va, now.ra[p]));
    now.curve[p] = now.rolls_round * ((next.separation[p] - now.separation[p]) * fill(1 / h) - speed);
  }
  const Wide3 slip = velocity_at(vb, now.patch_b) - velocity_at(va, now.patch_a),
              to_slip = velocity_at(to_b, next.patch_b) - velocity_at(to_a, next.patch_a);
  now.slip_to_come = (fill(Real(0.5)) * now.rolls_round) * (to_slip - slip);
}

/// How the batch stands after the motions a and b: 1 for lanes whose answers to impulses are others now.
Wide ContactSolver::place(const Batch& batch, WideMotion ma, WideMotion mb, Turning& now) const {
  const Points* points = points_.data() + batch.first_point;
  const Wide zero{}, one = fill(1), tiny = fill(std::numeric_limits<Real>::min());
  ma = without_twist(ma, now.axis_a), mb = without_twist(mb, now.axis_b);
  const Wide3 n0 = batch.normal;
  const Wide rounds = batch.round_a + batch.round_b;
  // Of the first point: how far the surfaces were apart at the start, and where the cores have gone since.
  const auto start_of = [&](int p) {
    const Wide3 cores = points[p].rb - points[p].ra + rounds * n0;
    return std::pair<Wide, Wide3>(points[p].gap + dot(n0, cores), cores);
  };
  const auto [separation0, cores0] = start_of(0);
  const Wide3 gone0 = between_cores(batch, points[0], ma, mb) - cores0;

  // The normal. Edges: across both; centres: from one to the other, and across a line.
  Wide3 n = n0;
  n = choose(now.with_a > zero, rotate(ma.u, ma.w, n0), n);
  n = choose(now.with_b > zero, rotate(mb.u, mb.w, n0), n);
  const Wide3 edge_a = rotate(ma.u, ma.w, now.edge_a), edge_b = rotate(mb.u, mb.w, now.edge_b);
  {
    const Wide3 across = cross(edge_a, edge_b);
    const Wide sine2 = dot(across, across);
    const Wide sign = dot(across, n0) < zero ? -one : one;
    const auto crosses = (now.with_edges > zero) & (sine2 > fill(least_sine2));
    n = choose(crosses, (sign / sqrt(sine2 + tiny)) * across, n);
  }
  {
    const Wide apart = separation0 + rounds;
    Wide3 between = apart * n0 + gone0;
    between -= dot(between, edge_a) * edge_a + dot(between, edge_b) * edge_b;
    const Wide length2 = dot(between, between);
    const auto is_apart =
        (now.with_centres > zero) & (apart > zero) & (length2 > fill(Real(0.25)) * apart * apart);
    n = choose(is_apart, (one / sqrt(length2 + tiny)) * between, n);
  }
  // The least turn from one normal to the other takes the tangent along.
  const Wide cosine = dot(n0, n);
  const Wide along = dot(n, batch.tangent) / max(one + cosine, fill(Real(1e-3)));
  now.normal = n;
  now.tangent = batch.tangent - along * (n0 + n);

  if (any(dot(now.axis_a, now.axis_a) + dot(now.axis_b, now.axis_b) > zero))
    ma = with_normal(ma, now.axis_a, n0, n), mb = with_normal(mb, now.axis_b, n0, n);

  // What is round pushes with its surface, wherever that is.
  const Wide turns = now.with_a + now.with_b + now.with_edges + now.with_centres +
                     dot(now.axis_a, now.axis_a) + dot(now.axis_b, now.axis_b);
  const auto follows = (turns > zero) | (batch.soft_impulse == zero);
  const auto arms = [&](const Wide3& a, const Wide3& b, const Wide& gap, Wide3& ra, Wide3& rb) {
    ra = choose(follows, rotate(ma.u, ma.w, a - batch.round_a * n0) + batch.round_a * n, a);
    rb = choose(follows, rotate(mb.u, mb.w, b + batch.round_b * n0) - batch.round_b * n, b);
    // What has slid along A's face is met by A where it is now, and so on.
    const Wide3 between = max(gap, zero) * n0 + (mb.dx - ma.dx) + (rb - b) - (ra - a);
    Wide3 slid = between - dot(between, n) * n;
    slid = min(one, now.reach / sqrt(dot(slid, slid) + tiny)) * slid;
    const auto [part_a, part_b] = follow_crossing(n, edge_a, edge_b, slid, now.reach);
    const Wide along_a = now.with_edges * part_a + now.with_centres * dot(slid, edge_a),
               along_b = now.with_edges * part_b + now.with_centres * dot(slid, edge_b);
    ra += now.with_a * slid + along_a * edge_a;
    rb -= now.with_b * slid + along_b * edge_b;
  };
  for (int p = 0; p < batch.count; ++p) {
    const auto [separation, cores] = start_of(p);
    const Wide3 gone = between_cores(batch, points[p], ma, mb) - cores;
    now.separation[p] = separation + (cosine - one) * (max(separation, zero) + rounds) + dot(n, gone);
    arms(points[p].ra, points[p].rb, separation, now.ra[p], now.rb[p]);
  }
  arms(batch.ra, batch.rb, zero, now.patch_a, now.patch_b);
  // Until a body has turned by 0.06 rad, what a contact answers to impulses is what it was within as much.
  const Wide least = fill(Real(0.9995));
  const auto is_other = follows & ((ma.w < least) | (mb.w < least));
  return is_other ? one : zero;
}

}}  // namespace plenum::PLENUM_ABI::detail
