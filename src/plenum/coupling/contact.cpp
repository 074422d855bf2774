#include "plenum/coupling/contact.h"

#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/coupling/mobility.h"
#include "plenum/geometry/shape.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// A sample on its way through the step; contacts change it one after the other.
struct Traveller {
  Vec3 x0, x1, v;
  Vec3 u, a;   // velocity at x1 and acceleration of the parabola through the positions
  Real share;  // of the step's change of velocity that is part of its way already
  Real inverse_mass, radius, friction, restitution;
};

/// A step as the parabola that it follows if the acceleration a [m/s^2] is constant: it ends at the velocity
/// u = (x - x0)/h + h a/2. Methods of first order keep their positions on such a parabola too and merely
/// report a velocity beside it (symplectic Euler v = u - h a/2, explicit Euler v = u + h a/2), so that
/// |u|^2/2 - a . x is what each of them conserves exactly, and v - u what a bounce has to leave alone.
void set_parabola(Traveller& p, const Vec3* v0, Real h) {
  const Vec3 mean = (p.x1 - p.x0) / h;
  p.a = v0 ? Vec3((p.v - *v0) / h) : Vec3(2 / h * (p.v - mean));
  p.u = v0 ? Vec3(mean + h / 2 * p.a) : p.v;
  // x1 = x0 + h (v - (1 - share) h a): 1 for symplectic and implicit Euler, 1/2 on a parabola, 0 for explicit
  // Euler.
  const Real change = h * p.a.squaredNorm();
  p.share = change > 0 ? std::clamp(1 - p.a.dot(p.v - mean) / change, Real(0), Real(1)) : Real(1);
}

/// A bounce off a plane in the midst of a step that ends `depth` [m] beyond it at the normal velocity u < 0
/// under the normal acceleration a, all along the plane's normal and relative to it. With w the speed at the
/// plane and t the time since,
///
///   u^2 = w^2 - 2 a depth,   depth = (w + |u|) t / 2,
///
/// and from there the point goes on at e w: to e w t + a t^2/2 at the velocity e w + a t. Its energy is then
/// e^2 w^2/2 above the plane's for any a: a bounce with e = 1 changes none.
struct Bounce {
  Real speed;   // w [m/s]; 0: no bounce
  Real height;  // [m] at the end of the step
};
Bounce bounce(Real depth, Real u, Real a, Real e, Real h) {
  depth = std::max(depth, Real(0));
  const Real w = std::sqrt(std::max(u * u + 2 * a * depth, Real(0)));
  const Real t = depth > 0 ? std::min(2 * depth / (w - u), h) : Real(0);
  return {w, e * w * t + a * t * t / 2};
}

/// What friction takes from the way of a sample within a step, whose tangential velocity along the unit
/// vector t it has lowered by `change` [m/s] and which has slipped by `slip` [m] in the `left` [s] since it
/// touched. What it holds stays where it touched. What slides felt the part `struck` of the friction at the
/// touch, and the rest of it evenly ever since, as the rest of what presses: of that, as of any other
/// acceleration, the method's way has the sample's share. None is pushed back beyond where it touched.
Vec3 held_back(const Traveller& p, const Vec3& slip, const Vec3& t, Real change, Real struck, bool holds,
               Real left) {
  if (holds) return slip;
  const Real part = struck + (1 - struck) * p.share;
  return std::clamp(part * left * change, Real(0), std::max(slip.dot(t), Real(0))) * t;
}

struct Touch {
  Vec3 impulse, displacement, point;
};

/// The contact of one sample with one body, if there is one.
bool touches(const Traveller& p, const SolidBody& body, Real h, Touch& touch) {
  const Shape& shape = *body.shape;
  const Vec3 q0 = body.pose0.to_local(p.x0), q1 = body.pose.to_local(p.x1);
  const SignedDistance<Real> start = shape.signed_distance(q0);
  const Real end = shape.signed_distance(q1).distance - p.radius;
  const Real path = (q1 - q0).norm();
  // Outside at the end, and the path is too short to have dipped in: the distance is 1-Lipschitz. (A turning
  // body's points move on arcs; first_contact, not this test, is exact for them, and the arc's height is
  // second order.)
  const Real error = shape.thin_wall_error();
  if (end >= 0 && (start.distance - p.radius) + end - 2 * error >= path) return false;

  const Real tolerance = Real(1e-4) * std::max(p.radius, Real(1e-2)) + Real(1e-5) * path;
  Real s = 0;
  if (start.distance > p.radius) {
    const std::optional<Real> first =
        first_contact(shape, body.pose0, body.pose, p.x0, p.x1, p.radius, tolerance);
    if (first)
      s = *first;
    else if (end >= 0)
      return false;
    else
      s = 1;  // touched within the tolerance of the end
  }
  // The surface at the moment of first touch, carried along with the body to the end of the step.
  const Pose at = between(body.pose0, body.pose, s);
  const Vec3 q = at.to_local(p.x0 + s * (p.x1 - p.x0));
  const SignedDistance<Real> surface = shape.signed_distance(q);
  const Vec3 n = body.pose.rotation * surface.normal;
  const Vec3 hit = body.pose * q + std::max(p.radius - surface.distance, Real(0)) * n;
  const Vec3 point = hit - p.radius * n;

  const Vec3 slip = p.v - body.velocity_at(point);
  const Real vn = n.dot(slip);
  const Real depth = -n.dot(p.x1 - hit);
  if (vn >= 0 && depth <= 0) return false;

  touch.impulse.setZero();
  touch.point = point;
  Vec3 dx = Vec3::Zero();
  const Real left = 1 - s;  // part of the step after the touch
  if (vn < 0) {
    const Mat3 mobility = p.inverse_mass * Mat3::Identity() + inverse_mass_at(body, point);
    Real e = std::max(p.restitution, body.restitution);
    if (!bounces(-vn, e, h)) e = 0;
    const Real normal_mobility = n.dot(mobility * n);
    Real change = -vn;  // of the normal velocity: come to rest on the surface
    if (e > 0) {
      // Where the acceleration turned the point back before the step's end, the parabola says nothing of the
      // way in: take the end's velocity for all of the step's.
      const Real u = n.dot(p.u - body.velocity_at(point));
      const bool on_parabola = u < 0;
      const Bounce b = bounce(depth, on_parabola ? u : vn, on_parabola ? n.dot(p.a) : Real(0), e, h);
      // One that would fall back within the step rests.
      if (b.height >= 0) {
        change = (1 + e) * b.speed;
        if (depth > 0) dx += b.height * n;
      }
    }
    const Real jn = change / normal_mobility;
    touch.impulse = jn * n;
    const Vec3 vt = slip - vn * n;
    const Real speed = vt.norm();
    const Real mu = std::sqrt(p.friction * body.friction);
    if (speed > 0 && mu > 0) {
      const Vec3 t = vt / speed;
      const Real stick = speed / t.dot(mobility * t);
      const Real jt = std::min(mu * jn, stick);
      touch.impulse -= jt * t;
      // A moving body yields the rest of what friction takes.
      const Real yields = p.inverse_mass * stick / speed;
      const Vec3 way = p.x1 - hit, slipped = way - n.dot(way) * n;
      const Real before = n.dot(p.v - left * h * p.a - body.velocity_at(point));  // as it touched
      dx -= yields * held_back(p, slipped, t, jt / stick * speed, std::clamp(before / vn, Real(0), Real(1)),
                               jt == stick, left * h);
    }
  }
  if (depth > 0) dx += depth * n;
  // The tangent plane is not the surface: leave no rest.
  const SignedDistance<Real> rest = shape.signed_distance(body.pose.to_local(p.x1 + dx));
  if (rest.distance < p.radius) dx += (p.radius - rest.distance) * (body.pose.rotation * rest.normal);
  touch.displacement = dx;
  return true;
}

}  // namespace

Real approach(const Boundary& a, const Boundary& b, Real h) {
  const Samples samples = a.samples();
  Real longest = 0;
  for (const SolidBody& body : b.bodies()) {
    Aabb swept = body.shape->bounds(body.pose0);
    swept.extend(body.shape->bounds(body.pose));
    swept = swept.grown(samples.radius + std::min(samples.reach, Real(1)));
    longest = ordered_reduce(
        samples.x.size(), samples_per_block, longest,
        [&](std::size_t begin, std::size_t end) {
          Real most = 0;
          for (std::size_t i = begin; i < end; ++i) {
            if (!(samples.inverse_mass[i] > 0)) continue;
            const Vec3 &from = samples.x[i], to = from + h * samples.v[i];
            if (!swept.overlaps({from.cwiseMin(to), from.cwiseMax(to)})) continue;
            most = std::max(most, h * (samples.v[i] - body.velocity_at(from)).norm());
          }
          return most;
        },
        [](Real one, Real other) { return std::max(one, other); });
  }
  return longest;
}

ContactResult contact(Boundary& a, Boundary& b, Real h, Real s0, Real s1, ContactWorkspace& w,
                      std::span<const Buried> buried) {
  const Samples samples = a.samples();
  const std::span<const SolidBody> bodies = b.bodies();
  const std::size_t n = samples.x.size();
  ContactResult result;
  if (n == 0 || bodies.empty()) return result;

  Real largest = samples.radius;
  for (const Real r : samples.radii) largest = std::max(largest, r);
  sweep(bodies, s0, s1, largest, w.solids);
  const std::size_t num_blocks = (n + samples_per_block - 1) / samples_per_block;
  if (w.blocks.size() < num_blocks) w.blocks.resize(num_blocks), w.near.resize(num_blocks);

  // One sample after the other of those that may touch `near`, which is all that paths in `box` may.
  const auto find = [&](std::size_t i, const Aabb& box, std::span<const Index> near,
                        std::span<const Index> all, std::vector<ContactWorkspace::Contact>& found) {
    if (!(samples.inverse_mass[i] > 0)) return;
    const auto may_touch = [&](Index k) {
      return w.solids[std::size_t(k)].is_near(samples.x0[i], samples.x[i]);
    };
    if (std::ranges::none_of(near, may_touch)) return;
    Traveller p{samples.x0[i],
                samples.x[i],
                samples.v[i],
                Vec3::Zero(),
                Vec3::Zero(),
                1,
                samples.inverse_mass[i],
                samples.radii.empty() ? samples.radius : samples.radii[i],
                samples.friction,
                samples.restitution};
    set_parabola(p, samples.v0.empty() ? nullptr : &samples.v0[i], h);
    // A sample pushed by one body may be pushed into another, as in a corner, or bounce off one into
    // another that had been asked before. A few rounds settle it: until none but the last to push is
    // touched.
    constexpr int rounds = 4;
    Index last = -1;
    bool settled = false;
    for (int round = 0; round < rounds && !settled; ++round) {
      settled = true;
      for (std::size_t j = 0; j < near.size() && near[j] != last; ++j) {
        const Index k = near[j];
        const SweptSolid& solid = w.solids[std::size_t(k)];
        Touch touch;
        if (!solid.is_near(p.x0, p.x1) || is_buried(buried, Index(i), k) || !touches(p, solid.body, h, touch))
          continue;
        last = k, settled = false;
        p.v += p.inverse_mass * touch.impulse;
        p.u += p.inverse_mass * touch.impulse;
        p.x1 += touch.displacement;
        found.push_back({static_cast<Index>(i), k, touch.impulse, touch.displacement, touch.point});
        if (!box.contains(p.x1)) near = all, j = std::size_t(k);
      }
    }
  };
  const auto box_of = [&](std::size_t i) {
    return Aabb{samples.x0[i].cwiseMin(samples.x[i]), samples.x0[i].cwiseMax(samples.x[i])};
  };
  parallel_blocks(num_blocks, [&](std::size_t block) {
    std::vector<ContactWorkspace::Contact>& found = w.blocks[block];
    found.clear();
    NearSolids& near_solids = w.near[block];
    const std::span<const Index> all = near_solids.all_of(w.solids.size());
    const std::size_t begin = block * samples_per_block;
    near_solids.each_part(
        w.solids, begin, std::min(n, begin + samples_per_block), box_of,
        [&](std::size_t first, std::size_t last, const Aabb& box, std::span<const Index> near) {
          for (std::size_t i = first; i < last; ++i) find(i, box, near, all, found);
        });
  });

  // Bodies have gone through all of the substep already: those that are pushed in one of its parts are moved
  // on for the rest of it, so that the next part does not push them again for being where they would not be.
  const Real lead = h * (1 - s1) / (s1 - s0);
  w.on_samples.clear();
  w.on_bodies.clear();
  for (std::size_t block = 0; block < num_blocks; ++block)
    for (const ContactWorkspace::Contact& c : w.blocks[block]) {
      w.on_samples.push_back({c.sample, c.impulse, c.displacement});
      w.on_bodies.push_back({c.body, -c.impulse, c.point, lead});
      result.ledger.book(c.point, c.impulse);
      ++result.contacts;
    }
  a.absorb(w.on_samples);
  b.absorb(w.on_bodies);
  return result;
}

}  // namespace plenum::inline PLENUM_ABI
