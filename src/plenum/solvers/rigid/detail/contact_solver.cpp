#include "plenum/solvers/rigid/detail/contact_solver.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr Index batches_per_block = 8;

/// Contacts of a light body under one of more than `heavy` times its mass bear a weight that their springs,
/// of a frequency with the light one, are too soft for, and pass on in each round a part of about the ratio
/// of the masses. They are this much firmer, as far as the rounds that they take still bring to rest (a
/// thousand times the mass sinks 28 mm with neither, 22 mm with the rounds alone, 7 mm with both, and dances
/// if 10 times as firm: `validate rigid/mass-ratio`).
constexpr Real heavy = 10, most_firm = 4;
constexpr int strained_rounds = 4;

/// Part of what its points hold that a contact may have left where it lets go of the bodies.
constexpr Real released = Real(1e-3);

constexpr int hard_rounds = 4;
constexpr Real hard_slop = Real(0.1);  ///< part of the size

/// Part of the difference that carried impulses follow in a step. A tenth of a second's memory lets tall
/// stacks swing; several seconds do not (twenty and forty boxes, tests/rigid).
constexpr Real carry_rate = Real(0.003);

/// Most passes of impacts through contacts in a sub-step; what then still closes is stopped as without a
/// bounce. A blow goes through a row of twice as many balls.
constexpr int most_impacts = 32;

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

/// [m] between the surfaces at a point, after the motions a and b. Of the cores: what is round keeps its
/// distance while it turns.
template <class Batch, class Points>
[[gnu::always_inline]] inline Wide separation_of(const Batch& batch, const Points& point, const WideMotion& a,
                                                 const WideMotion& b) {
  const Wide3 moved = b.dx - a.dx + rotate(b.u, b.w, point.rb + batch.round_b * batch.normal) -
                      rotate(a.u, a.w, point.ra - batch.round_a * batch.normal);
  return point.gap + dot(batch.normal, moved);
}

/// Place of row i, column j <= i of a lower triangle stored by rows.
constexpr int low(int i, int j) {
  return i * (i + 1) / 2 + j;
}

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
  k22 = m * length2 + dot(a2, ia.inverse * a2) + dot(b2, ib.inverse * b2) + (length2 > zero ? zero : fill(1));
  k12 = dot(a2, ia1) + dot(b2, ib1);
}
/// Inverts a symmetric 2x2 matrix.
[[gnu::always_inline]] inline void invert(Wide& k11, Wide& k12, Wide& k22) {
  const Wide inverse = inverse_or_zero(k11 * k22 - k12 * k12), first = k11;
  k11 = k22 * inverse, k12 = -k12 * inverse, k22 = first * inverse;
}

template <class Mask>
[[gnu::always_inline]] inline Wide3 choose(const Mask& mask, const Wide3& a, const Wide3& b) {
  return {mask ? a.x : b.x, mask ? a.y : b.y, mask ? a.z : b.z};
}

void set(Wide3& a, int lane, const Vec3& b) {
  a.x[lane] = b.x(), a.y[lane] = b.y(), a.z[lane] = b.z();
}
Vec3 get(const Wide3& a, int lane) {
  return {a.x[lane], a.y[lane], a.z[lane]};
}

}  // namespace

template <class F>
void ContactSolver::each_batch(F&& f) const {
  for (const Colour& colour : colours_) {
    const std::size_t n = colour.end - colour.first;
    if (colour.serial)
      for (std::size_t i = colour.first; i < colour.end; ++i) f(i);
    else
      parallel_for(n, batches_per_block, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) f(colour.first + i);
      });
  }
}

void ContactSolver::prepare(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                            const ContactSettings& settings) {
  settings_ = settings;
  const std::size_t n = contacts.size();
  // Colours, greedily. Contacts with what cannot move take the last ones, so that they have the last word.
  used_.assign(bodies.velocity.size(), 0);
  load_.assign(bodies.velocity.size(), Real(1));
  colour_of_.resize(n);
  std::array<std::array<std::size_t, 5>, num_colours> histogram{};
  constexpr std::uint32_t all = (1u << (num_colours - 1)) - 1;
  any_restitution_ = any_rolling_ = any_grain_ = any_strained_ = false;
  bool any_booked = false;
  for (std::size_t i = 0; i < n; ++i) {
    const ContactInput& c = contacts[i];
    const bool moves_a = bodies.is_movable(c.body_a), moves_b = bodies.is_movable(c.body_b);
    const std::uint32_t taken = (moves_a ? used_[c.body_a] : 0) | (moves_b ? used_[c.body_b] : 0);
    const std::uint32_t free = all & ~taken;
    int colour = num_colours - 1;
    if (free != 0) {
      colour = moves_a && moves_b ? std::countr_zero(free) : std::bit_width(free) - 1;
      if (moves_a) used_[c.body_a] |= 1u << colour;
      if (moves_b) used_[c.body_b] |= 1u << colour;
    }
    if (moves_a && moves_b) {
      const Real ka = bodies.inertia[c.body_a].inverse_mass, kb = bodies.inertia[c.body_b].inverse_mass;
      if (ka > heavy * kb) load_[c.body_a] = std::max(load_[c.body_a], ka / kb), any_strained_ = true;
      if (kb > heavy * ka) load_[c.body_b] = std::max(load_[c.body_b], kb / ka), any_strained_ = true;
    }
    colour_of_[i] = static_cast<std::uint8_t>(colour);
    ++histogram[colour][c.count];
    any_restitution_ |= c.restitution > 0;
    any_rolling_ |= c.rolling > 0;
    any_grain_ |= c.friction_ratio < 1;
    any_booked |= c.booked;
  }
  // Contacts of a colour in order of their number of points, so that those of a batch have about as many.
  std::array<std::array<std::size_t, 5>, num_colours> place{};
  std::size_t at = 0;
  for (int c = 0; c < num_colours; ++c)
    for (int k = 1; k <= 4; ++k) place[c][k] = at, at += histogram[c][k];
  order_.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    order_[place[colour_of_[i]][contacts[i].count]++] = static_cast<Index>(i);

  colours_.clear();
  std::size_t num_batches = 0, first = 0;
  for (int c = 0; c < num_colours; ++c) {
    std::size_t size = 0;
    for (int k = 1; k <= 4; ++k) size += histogram[c][k];
    if (size == 0) continue;
    const bool serial = c == num_colours - 1;
    const std::size_t count = serial ? size : (size + wide - 1) / wide;
    colours_.push_back({num_batches, num_batches + count, serial});
    num_batches += count;
  }
  batches_.resize(num_batches);
  std::uint32_t num_points = 0;
  for (const Colour& colour : colours_) {
    for (std::size_t b = colour.first; b < colour.end; ++b) {
      const std::size_t lanes = colour.serial ? 1 : wide;
      Batch& batch = batches_[b];
      batch.count = 0;
      batch.booked = batch.hard = batch.strained = false;
      std::size_t size = 0;
      // The next contacts of this colour.
      for (; size < lanes && first < n; ++size) {
        const Index i = order_[first];
        if (size > 0 && colour_of_[i] != colour_of_[order_[first - 1]]) break;
        batch.contact[size] = i;
        batch.count = std::max(batch.count, contacts[i].count);
        batch.booked |= contacts[i].booked;
        batch.hard |= contacts[i].hard;
        batch.strained |= std::max(load_[contacts[i].body_a], load_[contacts[i].body_b]) > 1;
        ++first;
      }
      for (; size < wide; ++size) batch.contact[size] = -1;
      batch.first_point = num_points;
      num_points += static_cast<std::uint32_t>(batch.count);
    }
  }
  points_.resize(num_points);
  sums_.assign(any_booked ? num_batches : 0, Sums{});

  const Real h = settings.h, unit = h / settings.impulse_time;
  const auto softness = [&](Real hertz, Real& bias, Real& mass, Real& impulse) {
    const Real omega = 2 * Real(std::numbers::pi) * std::min(hertz, Real(0.25) / h);
    const Real a1 = 2 * settings.damping_ratio + h * omega, a2 = h * omega * a1, a3 = 1 / (1 + a2);
    bias = omega / a1, mass = a2 * a3, impulse = a3;
  };
  Real bias, mass, impulse;
  softness(settings.hertz, bias, mass, impulse);

  parallel_for(batches_.size(), batches_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      Batch& batch = batches_[b];
      Points* points = points_.data() + batch.first_point;
      const Wide zero{};
      batch.writes_a = batch.writes_b = batch.bounced = 0;
      batch.bounces = false;
      batch.normal = {zero, fill(1), zero};
      batch.tangent = {fill(1), zero, zero};
      batch.soft_bias = batch.soft_mass = batch.slop = batch.push = zero;
      batch.soft_impulse = fill(1);
      batch.round_a = batch.round_b = batch.friction = batch.static_friction = batch.restitution =
          batch.rolling = zero;
      batch.slide = batch.slide_across = zero;
      batch.across_part = fill(1);
      batch.ra = batch.rb = batch.roll = {zero, zero, zero};
      batch.along = batch.across = batch.twist = zero;
      for (int p = 0; p < batch.count; ++p) points[p] = Points{};
      Wide present[4] = {};
      for (int l = 0; l < wide; ++l) {
        const Index i = batch.contact[l];
        if (i < 0) {
          batch.a[l] = batch.b[l] = bodies.world();
          continue;
        }
        const ContactInput& c = contacts[i];
        batch.a[l] = c.body_a, batch.b[l] = c.body_b;
        const bool moves_a = bodies.is_movable(c.body_a), moves_b = bodies.is_movable(c.body_b);
        batch.writes_a |= unsigned(moves_a) << l;
        batch.writes_b |= unsigned(moves_b) << l;
        const Vec3 tangent = c.friction_axis, other = c.friction_ratio * c.normal.cross(tangent);
        set(batch.normal, l, c.normal);
        set(batch.tangent, l, tangent);
        const Real load = std::min(most_firm, std::max(load_[c.body_a], load_[c.body_b])),
                   firm = mass / impulse * load;
        batch.soft_bias[l] = bias;
        batch.soft_mass[l] = load > 1 ? firm / (1 + firm) : mass;
        batch.soft_impulse[l] = load > 1 ? 1 / (1 + firm) : impulse;
        batch.slop[l] = settings.slop * c.size;
        batch.push[l] = settings.push_speed * c.size;
        if (c.hard) {
          batch.soft_bias[l] = 1 / h, batch.soft_mass[l] = 1, batch.soft_impulse[l] = 0;
          batch.slop[l] = c.jointed ? std::numeric_limits<Real>::max() : hard_slop * c.size;
        }
        batch.across_part[l] = c.friction_ratio;
        batch.friction[l] = c.friction, batch.static_friction[l] = c.static_friction;
        batch.restitution[l] = c.restitution;
        batch.bounces |= c.restitution > 0;
        batch.rolling[l] = c.rolling;
        batch.round_a[l] = c.round_a, batch.round_b[l] = c.round_b;
        batch.slide[l] = c.surface_velocity.dot(tangent);
        batch.slide_across[l] = c.surface_velocity.dot(other);
        batch.along[l] = unit * c.friction_impulse.dot(tangent);
        batch.across[l] = c.friction_ratio > 0
                              ? unit * c.friction_impulse.dot(other) / (c.friction_ratio * c.friction_ratio)
                              : 0;
        batch.twist[l] = unit * c.twist_impulse;
        // The patch: the centre of pressure, or of the points while nothing presses.
        Real sum = 0;
        for (int p = 0; p < c.count; ++p) sum += c.points[p].impulse;
        const Real even = sum > 0 ? Real(0) : Real(1);
        Vec3 ra = Vec3::Zero(), rb = Vec3::Zero();
        for (int p = 0; p < c.count; ++p) {
          const Real weight = sum > 0 ? c.points[p].impulse / sum : even / Real(c.count);
          ra += weight * c.points[p].ra;
          rb += weight * c.points[p].rb;
        }
        set(batch.ra, l, ra);
        set(batch.rb, l, rb);
        for (int p = 0; p < c.count; ++p) {
          const ContactInput::Point& from = c.points[p];
          Points& to = points[p];
          set(to.ra, l, from.ra);
          set(to.rb, l, from.rb);
          to.gap[l] = from.separation - (from.rb - from.ra).dot(c.normal) - c.round_a - c.round_b;
          to.impulse[l] = unit * from.impulse;
          to.carried[l] = unit * from.carried;
          to.lever[l] = c.friction * (from.ra - ra).norm() + c.spinning;
          present[p][l] = 1;
        }
      }
      const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
      for (int p = 0; p < batch.count; ++p) {
        Points& point = points[p];
        const Wide k = response(ia, point.ra, batch.normal) + response(ib, point.rb, batch.normal);
        point.mass = present[p] * inverse_or_zero(k);
      }
      respond_tangentially(ia, ib, batch.ra, batch.rb, batch.tangent, batch.across_axis(), batch.k11,
                           batch.k12, batch.k22);
      if (batch.count > 1) {
        // All points at once. Four points in a plane hold each other in one way more than there are ways to
        // move; a small part of the diagonal shares the load out evenly.
        Wide m[10] = {};
        Wide3 arm_a[4], arm_b[4], moved_a[4], moved_b[4];
        for (int p = 0; p < batch.count; ++p) {
          arm_a[p] = cross(points[p].ra, batch.normal), arm_b[p] = cross(points[p].rb, batch.normal);
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
        invert(m, batch.block);
        for (int p = 0; p < 4; ++p)
          for (int q = 0; q <= p; ++q)
            batch.block[low(p, q)] = batch.block[low(p, q)] * present[p] * present[q];

        // Friction that has not been felt yet is to stop at once what slides while all points hold it from
        // tilting (a Schur complement). If it were left to tilt, and were put right by the points, 0.6 of
        // the slip of a cube would be left over, which on a slope that just holds it slides on for seconds.
        Wide pressed{};
        for (int p = 0; p < batch.count; ++p) pressed += points[p].impulse;
        const auto is_new = (pressed == zero) & (present[0] > zero);
        if (any(is_new)) {
          const Wide3 other = batch.across_axis();
          const Wide3 a1 = cross(batch.ra, batch.tangent), a2 = cross(batch.ra, other),
                      b1 = cross(batch.rb, batch.tangent), b2 = cross(batch.rb, other);
          Wide tilt1[4], tilt2[4], k11 = batch.k11, k12 = batch.k12, k22 = batch.k22;
          for (int p = 0; p < batch.count; ++p) {
            tilt1[p] = dot(moved_a[p], a1) + dot(moved_b[p], b1);
            tilt2[p] = dot(moved_a[p], a2) + dot(moved_b[p], b2);
          }
          for (int p = 0; p < batch.count; ++p) {
            Wide held1{}, held2{};
            for (int q = 0; q < batch.count; ++q) {
              const Wide& held = batch.block[p > q ? low(p, q) : low(q, p)];
              held1 += held * tilt1[q], held2 += held * tilt2[q];
            }
            k11 -= tilt1[p] * held1, k12 -= tilt1[p] * held2, k22 -= tilt2[p] * held2;
          }
          batch.k11 = is_new ? k11 : batch.k11, batch.k12 = is_new ? k12 : batch.k12;
          batch.k22 = is_new ? k22 : batch.k22;
        }
      }
      invert(batch.k11, batch.k12, batch.k22);
      batch.twist_mass = inverse_or_zero(dot(batch.normal, ia.inverse * batch.normal) +
                                         dot(batch.normal, ib.inverse * batch.normal));
    }
  });
}

void ContactSolver::warm_start(SolverBodies& bodies) {
  each_batch([&](std::size_t b) {
    Batch& batch = batches_[b];
    Points* points = points_.data() + batch.first_point;
    WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
    const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
    if (batch.hard) {
      // Anew in every sub-step: bodies may have turned far.
      const Wide zero{};
      const auto hard = batch.soft_impulse == zero;
      for (int p = 0; p < batch.count; ++p) points[p].impulse = hard ? zero : points[p].impulse;
      batch.along = hard ? zero : batch.along, batch.across = hard ? zero : batch.across;
      batch.twist = hard ? zero : batch.twist;
      batch.roll = choose(hard, Wide3{zero, zero, zero}, batch.roll);
    }
    for (int p = 0; p < batch.count; ++p) {
      points[p].start = points[p].impulse;
      const Wide3 impulse = points[p].impulse * batch.normal;
      push<-1>(va, ia, points[p].ra, impulse);
      push<1>(vb, ib, points[p].rb, impulse);
    }
    const Wide3 slip = batch.along * batch.tangent + batch.across * batch.across_axis();
    push<-1>(va, ia, batch.ra, slip);
    push<1>(vb, ib, batch.rb, slip);
    const Wide3 twist = batch.twist * batch.normal + batch.roll;
    va.w -= ia.inverse * twist;
    vb.w += ib.inverse * twist;
    scatter_velocity(bodies, batch.a, batch.writes_a, va);
    scatter_velocity(bodies, batch.b, batch.writes_b, vb);
  });
}

ContactSolver::Arms::Arms(const Batch& batch, const Points* points, const SolverBodies& bodies,
                          const WideInertia& ia, const WideInertia& ib) {
  const Wide zero{};
  const auto hard = batch.soft_impulse == zero;
  const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
  // What is round pushes with its surface, wherever that is.
  const Wide3 skin_a = batch.round_a * batch.normal, skin_b = batch.round_b * batch.normal;
  const auto turn_a = [&](const Wide3& r) {
    return choose(hard, rotate(ma.u, ma.w, r - skin_a) + skin_a, r);
  };
  const auto turn_b = [&](const Wide3& r) {
    return choose(hard, rotate(mb.u, mb.w, r + skin_b) - skin_b, r);
  };
  for (int p = 0; p < batch.count; ++p) {
    ra[p] = turn_a(points[p].ra), rb[p] = turn_b(points[p].rb);
    const Wide k = response(ia, ra[p], batch.normal) + response(ib, rb[p], batch.normal);
    mass[p] = hard ? (points[p].mass > zero ? inverse_or_zero(k) : zero) : points[p].mass;
  }
  patch_a = turn_a(batch.ra), patch_b = turn_b(batch.rb);
  respond_tangentially(ia, ib, patch_a, patch_b, batch.tangent, batch.across_axis(), k11, k12, k22);
  invert(k11, k12, k22);
  k11 = hard ? k11 : batch.k11, k12 = hard ? k12 : batch.k12, k22 = hard ? k22 : batch.k22;
}

template <bool with_bias, bool hard>
[[gnu::always_inline]] inline void ContactSolver::solve_batch(SolverBodies& bodies, Batch& batch) {
  const Wide zero{}, one = fill(1), rate = fill(1 / settings_.h),
                     tiny = fill(std::numeric_limits<Real>::min());
  const bool rolling = any_rolling_;
  Points* points = points_.data() + batch.first_point;
  WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
  const WideInertia ia = gather_inertia(bodies, batch.a), ib = gather_inertia(bodies, batch.b);
  const Wide3 n = batch.normal, t1 = batch.tangent, t2 = batch.across_axis();
  std::conditional_t<hard, Arms, int> turned = [&] {
    if constexpr (hard)
      return Arms(batch, points, bodies, ia, ib);
    else
      return 0;
  }();
  // Where points and the patch push.
  const auto arm_a = [&](int p) -> const Wide3& {
    if constexpr (hard)
      return turned.ra[p];
    else
      return points[p].ra;
  };
  const auto arm_b = [&](int p) -> const Wide3& {
    if constexpr (hard)
      return turned.rb[p];
    else
      return points[p].rb;
  };
  const auto mass_at = [&](int p) -> const Wide& {
    if constexpr (hard)
      return turned.mass[p];
    else
      return points[p].mass;
  };
  const auto& patch = [&]() -> const auto& {
    if constexpr (hard)
      return turned;
    else
      return batch;
  }
  ();
  const auto patch_arms = [&]() -> std::pair<const Wide3&, const Wide3&> {
    if constexpr (hard)
      return {turned.patch_a, turned.patch_b};
    else
      return {batch.ra, batch.rb};
  }();

  // Friction first: what keeps bodies apart has the last word.
  Wide pressed{}, levered{};
  for (int p = 0; p < batch.count; ++p) {
    // What pushes overlap apart changes the impulse for a moment; friction does not follow it. Those that the
    // sub-steps end with add up to the load.
    const Wide presses = points[p].start > zero ? points[p].start : points[p].impulse;
    pressed += presses;
    levered += presses * points[p].lever;
  }
  {
    const Wide rate_of_twist = dot(n, vb.w - va.w);
    const Wide wanted = batch.twist - batch.twist_mass * rate_of_twist;
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
    const Wide3 slip = velocity_at(vb, patch_arms.second) - velocity_at(va, patch_arms.first);
    const Wide s1 = dot(t1, slip) - batch.slide, s2 = dot(t2, slip) - batch.slide_across;
    const Wide wanted1 = batch.along - (patch.k11 * s1 + patch.k12 * s2);
    const Wide wanted2 = batch.across - (patch.k12 * s1 + patch.k22 * s2);
    const Wide length = sqrt(wanted1 * wanted1 + wanted2 * wanted2 + tiny);
    const auto sticks = length <= batch.static_friction * pressed;
    const Wide limit = batch.friction * pressed;
    const Wide scale = sticks ? one : min(one, limit / length);
    Wide along = scale * wanted1, across = scale * wanted2;
    if (any_grain_) {
      // Along an ellipse force and slip are not parallel: a step against the slip, at most as long as the
      // stiffest direction allows, and back onto the cone, ends where the slip is normal to it.
      const Wide step =
          (patch.k11 * patch.k22 - patch.k12 * patch.k12) * inverse_or_zero(patch.k11 + patch.k22);
      const Wide slide1 = batch.along - step * s1, slide2 = batch.across - step * s2;
      const Wide part = min(one, limit / sqrt(slide1 * slide1 + slide2 * slide2 + tiny));
      const auto slides = (batch.across_part < one) & (length > batch.static_friction * pressed);
      along = slides ? part * slide1 : along, across = slides ? part * slide2 : across;
    }
    const Wide3 change = (along - batch.along) * t1 + (across - batch.across) * t2;
    batch.along = along, batch.across = across;
    push<-1>(va, ia, patch_arms.first, change);
    push<1>(vb, ib, patch_arms.second, change);
  }

  const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
  Wide bias[4], scale[4], keep[4], change[4], speed[4];
  for (int p = 0; p < batch.count; ++p) {
    Points& point = points[p];
    speed[p] = dot(n, velocity_at(vb, arm_b(p)) - velocity_at(va, arm_a(p)));
    const Wide separation = separation_of(batch, point, ma, mb);
    const auto open = separation > zero;
    scale[p] = one, keep[p] = zero;
    bias[p] = open ? separation * rate : zero;
    if constexpr (with_bias) {
      bias[p] = open ? bias[p] : max(batch.soft_bias * min(zero, separation + batch.slop), -batch.push);
      scale[p] = open ? one : batch.soft_mass;
      keep[p] = open ? zero : batch.soft_impulse;
    }
  }
  // First as if all points kept pressing, which at rest they do: exact for the pair, and the same for each
  // point. Where one would have to pull, they are taken in turn.
  bool in_turn = batch.count == 1;
  if (!in_turn) {
    Wide error[4], least = zero;
    for (int p = 0; p < batch.count; ++p) error[p] = scale[p] * (speed[p] + bias[p]);
    for (int p = 0; p < batch.count; ++p) {
      Wide sum = keep[p] * (points[p].impulse - points[p].carried);
      for (int q = 0; q < batch.count; ++q) sum += batch.block[p > q ? low(p, q) : low(q, p)] * error[q];
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
      ra += change[p] * points[p].ra, rb += change[p] * points[p].rb;
    }
    va.v -= (ia.inverse_mass * sum) * n, vb.v += (ib.inverse_mass * sum) * n;
    va.w -= ia.inverse * cross(ra, n), vb.w += ib.inverse * cross(rb, n);
    if (in_turn)
      for (int p = 0; p < batch.count; ++p)
        scale[p] = pulls ? scale[p] : zero, keep[p] = pulls ? keep[p] : zero;
  }
  // What bodies turn far about settles in no single round.
  for (int round = 0; in_turn && round < (hard ? hard_rounds : 1); ++round)
    for (int p = 0; p < batch.count; ++p) {
      Points& point = points[p];
      const Wide normal_velocity = dot(n, velocity_at(vb, arm_b(p)) - velocity_at(va, arm_a(p)));
      const Wide impulse = max(zero, point.impulse - mass_at(p) * scale[p] * (normal_velocity + bias[p]) -
                                         keep[p] * (point.impulse - point.carried));
      const Wide3 push_by = (impulse - point.impulse) * n;
      point.impulse = impulse;
      push<-1>(va, ia, arm_a(p), push_by);
      push<1>(vb, ib, arm_b(p), push_by);
    }
  scatter_velocity(bodies, batch.a, batch.writes_a, va);
  scatter_velocity(bodies, batch.b, batch.writes_b, vb);
}

template <bool with_bias>
void ContactSolver::solve_batches(SolverBodies& bodies) {
  for (int round = 0; round < (any_strained_ ? strained_rounds : 1); ++round)
    each_batch([&](std::size_t b) {
      Batch& batch = batches_[b];
      if (round > 0 && !batch.strained) return;
      if (batch.hard)
        solve_batch<with_bias, true>(bodies, batch);
      else
        solve_batch<with_bias, false>(bodies, batch);
    });
}

void ContactSolver::solve(SolverBodies& bodies, bool with_bias) {
  if (with_bias)
    solve_batches<true>(bodies);
  else
    solve_batches<false>(bodies);
}

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
      const Points* points = points_.data() + batch.first_point;
      WideVelocity va = gather_velocity(bodies, batch.a), vb = gather_velocity(bodies, batch.b);
      const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
      const Wide3 n = batch.normal;
      // Each point asks for what would stop it alone; of all these together, a part stops them as one, and
      // 1 + e times that part sends them back.
      Wide share[4], asked{}, taken{};
      Wide3 ra{zero, zero, zero}, rb = ra;
      for (int p = 0; p < batch.count; ++p) {
        const Wide speed = dot(n, velocity_at(vb, points[p].rb) - velocity_at(va, points[p].ra));
        const auto strikes = (speed < threshold) &
                             (separation_of(batch, points[p], ma, mb) + h * speed < zero) &
                             (batch.restitution > zero);
        share[p] = strikes ? -points[p].mass * speed : zero;
        asked -= share[p] * speed, taken += share[p];
        ra += share[p] * points[p].ra, rb += share[p] * points[p].rb;
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
      const Wide3 t1 = batch.tangent, t2 = cross(n, t1);
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
      Sums& sums = sums_[b];
      for (int p = 0; p < batch.count; ++p) sums.normal[p] += scale * share[p];
      sums.along += dot(friction, t1), sums.across += whole * dot(friction, t2);
      sums.turn += cross(ra - batch.ra, friction);
    });
  }
}

void ContactSolver::hold(SolverBodies& bodies) const {
  for (const Batch& batch : batches_) {
    if (!batch.hard) continue;
    const WideMotion ma = gather_motion(bodies, batch.a), mb = gather_motion(bodies, batch.b);
    const Wide zero{};
    Wide deepest = zero;
    for (int p = 0; p < batch.count; ++p) {
      const Points& point = points_[batch.first_point + std::uint32_t(p)];
      const Wide separation = separation_of(batch, point, ma, mb) + batch.slop;
      deepest = min(deepest, point.mass > zero ? separation : zero);
    }
    for (int l = 0; l < wide; ++l) {
      if (!(batch.soft_impulse[l] == 0 && deepest[l] < 0)) continue;
      const Real ka = bodies.inertia[batch.a[l]].inverse_mass, kb = bodies.inertia[batch.b[l]].inverse_mass;
      const Vec3 apart = (deepest[l] / (ka + kb)) * get(batch.normal, l);
      for (int c = 0; c < 3; ++c) {
        if (batch.writes_a >> l & 1) bodies.motion[batch.a[l]].dx[c] += ka * apart[c];
        if (batch.writes_b >> l & 1) bodies.motion[batch.b[l]].dx[c] -= kb * apart[c];
      }
    }
  }
}

void ContactSolver::collect() {
  parallel_for(sums_.size(), batches_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const Batch& batch = batches_[b];
      if (!batch.booked) continue;
      Sums& sums = sums_[b];
      for (int p = 0; p < batch.count; ++p) sums.normal[p] += points_[batch.first_point + p].impulse;
      sums.along += batch.along, sums.across += batch.across;
      sums.turn += batch.twist * batch.normal + batch.roll;
    }
  });
}

void ContactSolver::given(std::span<ContactGift> out) const {
  for (std::size_t b = 0; b < sums_.size(); ++b) {
    const Batch& batch = batches_[b];
    if (!batch.booked) continue;
    const Sums& sums = sums_[b];
    for (int l = 0; l < wide; ++l) {
      if (batch.contact[l] < 0) continue;
      const Vec3 t = get(batch.tangent, l), n = get(batch.normal, l);
      const Vec3 other = batch.across_part[l] * n.cross(t);
      ContactGift& gift = out[batch.contact[l]];
      gift.arm = get(batch.ra, l);
      gift.impulse = sums.along[l] * t + sums.across[l] * other;
      gift.couple = get(sums.turn, l);
      for (int p = 0; p < batch.count; ++p) {
        const Vec3 push = sums.normal[p][l] * n;
        gift.impulse += push;
        gift.couple += (get(points_[batch.first_point + p].ra, l) - gift.arm).cross(push);
      }
    }
  }
}

void ContactSolver::store(std::span<ContactInput> contacts) const {
  const Real unit = settings_.impulse_time / settings_.h;
  parallel_for(batches_.size(), batches_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const Batch& batch = batches_[b];
      const Points* points = points_.data() + batch.first_point;
      for (int l = 0; l < wide; ++l) {
        if (batch.contact[l] < 0) continue;
        ContactInput& c = contacts[batch.contact[l]];
        for (int p = 0; p < c.count; ++p) {
          c.points[p].impulse = unit * points[p].impulse[l];
          c.points[p].carried += carry_rate * (c.points[p].impulse - c.points[p].carried);
        }
        const Vec3 n = get(batch.normal, l), t = get(batch.tangent, l);
        c.friction_impulse =
            unit * (batch.along[l] * t + (batch.across[l] * batch.across_part[l]) * n.cross(t));
        c.twist_impulse = unit * batch.twist[l];
        c.bounced = batch.bounced >> l & 1;
      }
    }
  });
}

}}  // namespace plenum::PLENUM_ABI::detail
