// Particles on rigid bodies among position-based ones.
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {

using D3 = Vector3<double>;

namespace {

/// Sine of the angle of two planes, between which nothing is squeezed out if it is less. By a push across one
/// of them a particle would go along the other by the gap over that sine, farther than either is a plane:
/// so a soft balloon that a slab pressed to the ground was thrown out from below it.
constexpr double least_wedge = 0.1;

/// The tangent of the angle of two planes up to which what is between them stays, by friction on both: that
/// of the sum of their angles of friction.
double wedge_held_by(double friction_above, double friction_below) {
  const double less = 1 - friction_above * friction_below;
  return less > 0 ? std::max(least_wedge, (friction_above + friction_below) / less)
                  : std::numeric_limits<double>::infinity();
}

/// [m] Above what rounding makes of places.
constexpr double least_lifted = 1e-5;

D3 place_in(const detail::Place& place) {
  return {double(place.x[0]), double(place.x[1]), double(place.x[2])};
}

/// The part of an impulse that moves a particle which goes along the plane across m, unit, only; m = 0: all.
/// None, if it is by less than `wedge` of what is against m.
D3 let_along(const D3& m, const D3& impulse, double wedge) {
  const double against = m.dot(impulse);
  const D3 along = impulse - against * m;
  return along.norm() < wedge * std::abs(against) ? D3(D3::Zero()) : along;
}

/// Whether a particle between a body of the normal n and what bears it stays there.
bool is_jammed(const D3& m, const D3& n, double wedge) {
  return !m.isZero(0) && let_along(m, n, wedge).isZero(0);
}

/// The largest part s in [0, 1] with which |from + s by| <= most, if |from| <= most. What friction does to a
/// particle between two things leaves it between where it went by itself, where the one has gone, and where
/// it was, as near to what bears it as it may be: particles of a balloon under a slab went 100 m.
double part_within(const D3& from, const D3& by, double most) {
  const double a = by.squaredNorm(), b = from.dot(by), c = from.squaredNorm() - most * most;
  if (!(a + 2 * b + c > 0)) return 1;
  return std::clamp((std::sqrt(std::max(0.0, b * b - a * c)) - b) / a, 0.0, 1.0);
}

}  // namespace

/// Particles that may come to bodies within the step.
void PbdBodies::find_near(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params,
                          Real dt) {
  near_.clear();
  const std::vector<Vec3>&x = state.particles.x, &v = state.particles.v;
  const Real fall = dt * dt * params.gravity.norm();
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    const Pbd::Part& part = model.parts[p];
    const auto first = std::size_t(part.first_particle), end = first + std::size_t(part.num_particles);
    const auto each_particle = [&](auto&& visit) {
      for (std::size_t i = first; i < end; ++i) visit(i);
      // And what tearing has made of them.
      const std::size_t made = model.torn_from.size(), whole = x.size() - made;
      for (std::size_t k = 0; k < made; ++k)
        if (const auto from = std::size_t(model.torn_from[k]); from >= first && from < end) visit(whole + k);
    };
    Aabb box;
    Real fastest = 0;
    each_particle([&](std::size_t i) {
      box.extend(x[i]);
      fastest = std::max(fastest, v[i].squaredNorm());
    });
    fastest = std::sqrt(fastest);
    for (std::size_t b = 0; b < own_; ++b) {
      if (stay_apart(model.apart, Index(p), Index(b))) continue;
      const Body& body = bodies_[b];
      const Vec3 centre = body.x.cast<Real>();
      const Real speed = Real(body.v.norm() + body.w.norm() * body.reach);
      const auto within = [&](Real particle_speed) {
        return Real(body.reach) + params.thickness + dt * (2 * (particle_speed + speed) + pbd_sped_up) + fall;
      };
      const Real most = within(fastest);
      if (box.squared_distance(centre) > most * most) continue;
      each_particle([&](std::size_t i) {
        const Real apart2 = (x[i] - centre).squaredNorm();
        if (apart2 > most * most) return;
        const Real near = within(v[i].norm());
        if (apart2 <= near * near) near_.push_back({.particle = Index(i), .body = Index(b)});
      });
    }
  }
}

/// Whether what goes straight from one place to another, of the shape's frame, comes as near to it as
/// `near` [m] on the way: there `here` is the distance, and `on` the place on the shape. Conservative
/// advancement, as first_contact() in shape.h.
bool PbdBodies::meets_on_way(const Shape& shape, const Vec3& from, const Vec3& to,
                             const SignedDistance<Real>& start, Real near, SignedDistance<Real>& here,
                             Vec3& on) {
  constexpr int steps = 32;
  const Vec3 way = to - from;
  const Real length = way.norm();
  Real s = 0;
  Vec3 place = from;
  here = start;
  for (int k = 0; k < steps && s < 1 && here.distance > near; ++k) {
    s = std::min(Real(1), s + here.distance / length);
    place = from + s * way;
    here = shape.signed_distance(place);
  }
  on = place - here.distance * here.normal;
  return s < 1;
}

void PbdBodies::touch_particles(const Pbd::Model& model, const Pbd::Params& params, const PbdParticles& p) {
  touches_.clear(), led_touches_.clear();
  for (Near& near : near_) {
    const auto i = std::size_t(near.particle);
    const Body& body = bodies_[std::size_t(near.body)];
    const Pbd::Body& of = model.bodies[std::size_t(near.body)];
    const D3 at = p.x0[i].cast<double>() +
                  D3(double(p.places[i].x[0]), double(p.places[i].x[1]), double(p.places[i].x[2]));
    const Pose in = of.shape_in;
    const Vec3 there = in.to_local(Vec3((body.q.conjugate() * (at - body.x)).cast<Real>()));
    SignedDistance<Real> d = of.shape.signed_distance(there);
    Vec3 on = there - d.distance * d.normal;
    // What would go past a body within a substep stays on the side that it comes from.
    const D3 start = p.x0[i].cast<double>() + p.gone[i].cast<double>();
    const Vec3 from = in.to_local(Vec3((body.q0.conjugate() * (start - body.x0)).cast<Real>()));
    near.from = from, near.at = there, near.distance = d;
    if (p.places[i].inverse_mass == 0 && body.inverse_mass == 0) continue;
    const Vec3 way = there - from;
    const SignedDistance<Real> d0 = of.shape.signed_distance(from);
    SignedDistance<Real> met{};
    Vec3 met_on;
    if (d0.distance > 0 && way.norm() > d0.distance &&
        meets_on_way(of.shape, from, there, d0, Real(1e-3) * params.thickness, met, met_on))
      d = {met.normal.dot(there - met_on), met.normal}, on = met_on;
    // And so does what is in it already, drawn past its middle.
    else if (!(d0.distance > 0) && d0.normal.dot(d.normal) < 0)
      on = from - d0.distance * d0.normal, d = {d0.normal.dot(there - on), d0.normal};
    if (d.distance > params.thickness + pbd_looked_ahead * Real(body.reach)) continue;
    Touch touch{};
    touch.particle = near.particle, touch.body = near.body;
    touch.n = (body.q * (in.rotation * d.normal).cast<double>()).normalized();
    touch.on = (in * on).cast<double>();
    touch.friction = std::sqrt(double(params.friction) * double(of.friction));
    touch.restitution = double(std::max(params.restitution, of.restitution));
    touch.gap = double(params.thickness);
    touch.approach = -approach_of(touch, p);
    const bool is_led = body.inverse_mass == 0;
    if (is_led) touch.at = body.x + body.q * touch.on, touch.from = body.x0 + body.q0 * touch.on;
    (is_led ? led_touches_ : touches_).push_back(touch);
  }
}

/// [m/s] at which the particle leaves the body along the normal.
double PbdBodies::approach_of(const Touch& touch, const PbdParticles& p) const {
  const Body& body = bodies_[std::size_t(touch.body)];
  return touch.n.dot(p.v[std::size_t(touch.particle)].cast<double>() - body.v -
                     body.w.cross(body.q * touch.on));
}

/// What cannot move bears particles as planes bear them (supports.cpp): no more is taken back than was given,
/// and friction takes what has slid within Coulomb's bound.
void PbdBodies::hold_on_led(const PbdParticles& p) {
  for (FaceTouch& touch : face_touches_)
    if (bodies_[std::size_t(touch.body)].inverse_mass == 0) hold_apart(touch, p);
  for (std::size_t k = 0; k < led_touches_.size(); ++k) {
    Touch& touch = led_touches_[k];
    const auto i = std::size_t(touch.particle);
    detail::Place& place = p.places[i];
    if (place.inverse_mass == 0) continue;
    const D3 &at = touch.at, &came_from = touch.from, x0 = p.x0[i].cast<double>();
    D3 x = x0 + D3(double(place.x[0]), double(place.x[1]), double(place.x[2]));
    PbdRest& rest = p.rests[i];
    const Index self = -2 - Index(k);
    if (rest.on == self) touch.pushed += double(std::exchange(rest.load, Real(0)));
    const double push = std::max(touch.gap - touch.n.dot(x - at), -touch.pushed);
    if (push == 0 && touch.pushed == 0) continue;
    touch.pushed += push;
    x += push * touch.n;
    const D3 way = x - x0 - p.gone[i].cast<double>() - (at - came_from);
    const D3 holds = touch.rubbed - (way - touch.n.dot(way) * touch.n);
    D3 rub = holds;
    const double bound = touch.friction * touch.pushed, length = rub.norm();
    if (length > bound) rub *= length > 0 ? bound / length : 0.0;
    x += rub - touch.rubbed;
    touch.rubbed = rub;
    if (!x.allFinite()) continue;
    const D3 gone = x - x0;
    for (int c = 0; c < 3; ++c) place.x[c] = Real(gone[c]);
    // What has been lifted off again, as by the volume of a balloon, bears nothing: as if it did, a gram of
    // wall drew up a box of 50 kg, at 190 m/s.
    if (!(touch.pushed > 0) && rest.on == self) rest = PbdRest{};
    if (touch.pushed > 0 && (rest.on == -1 || rest.on == self))
      rest = {touch.n.cast<Real>(),
              self,
              rest.load,
              Real(touch.pushed),
              Real(touch.friction),
              rub.cast<Real>(),
              (rub - holds).cast<Real>(),
              (at - came_from).cast<Real>(),
              Real(touch.n.dot(gone))};
  }
}

/// There and back, lest what stands on many particles be turned by those that come first.
void PbdBodies::hold_touches(const PbdParticles& p) {
  for (Touch& touch : touches_) hold_apart(touch, p);
  for (FaceTouch& touch : face_touches_) hold_apart(touch, p);
  for (std::size_t k = touches_.size(); k-- > 0;) hold_apart(touches_[k], p);
}

/// Cloth that a bar was thrown onto was pushed by that, half of it, through the plate on which both landed.
void PbdBodies::hold_again(const PbdParticles& p) {
  hold_touches(p);
  hold_on_led(p);
}

void PbdBodies::add_limits(const PbdParticles& p, std::vector<PbdLimit>& out) const {
  for (const std::vector<Touch>* const touches : {&led_touches_, &touches_})
    for (std::size_t k = 0; k < touches->size(); ++k) {
      const Touch& touch = (*touches)[k];
      const Body& body = bodies_[std::size_t(touch.body)];
      const D3 arm = body.q * touch.on, at = body.x + arm, from = body.x0 + body.q0 * touch.on;
      const D3 x0 = p.x0[std::size_t(touch.particle)].cast<double>();
      out.push_back({.particle = touch.particle,
                     .normal = touch.n.cast<Real>(),
                     .least = Real(touch.gap + touch.n.dot(at - x0)),
                     .goes = Real(touch.n.dot(at - from)),
                     .yields = body.inverse_mass > 0,
                     .by = touches == &touches_ ? Index(k) : Index(-1)});
    }
}

/// Stops what has struck bodies by way of what lies on them, pair by pair, and then that: without a bounce,
/// by impulses that only push and stop the two at their meeting point, so that no energy is gained.
void PbdBodies::stop(std::span<const PbdStrike> strikes, const PbdParticles& p) {
  if (strikes.empty()) return;
  const auto answer_of = [&](const Touch& touch, const D3& n) {
    const Body& body = bodies_[std::size_t(touch.body)];
    const D3 turn = (body.q * touch.on).cross(n);
    return body.inverse_mass + turn.dot(body.inverse_inertia * turn);
  };
  const auto speed_of = [&](const Touch& touch) {
    const Body& body = bodies_[std::size_t(touch.body)];
    return D3(body.v + body.w.cross(body.q * touch.on));
  };
  const auto push_back = [&](const Touch& touch, const D3& impulse) {
    Body& body = bodies_[std::size_t(touch.body)];
    body.v -= body.inverse_mass * impulse;
    body.w -= body.inverse_inertia * (body.q * touch.on).cross(impulse);
  };
  for (const PbdStrike& strike : strikes) {
    const Touch& touch = touches_[std::size_t(strike.by)];
    const D3 n = strike.normal.cast<double>();
    D3 momentum = D3::Zero();
    double mass = 0;
    for (int k = 0; k < strike.count; ++k) {
      const auto i = std::size_t(strike.particles[k]);
      const double m = 1 / double(p.places[i].inverse_mass);
      momentum += m * p.v[i].cast<double>(), mass += m;
    }
    const double closing = n.dot(speed_of(touch) - momentum / mass);
    if (!(closing > 0) || !(n.dot(touch.n) > 0)) continue;
    const D3 impulse = closing / (1 / mass + answer_of(touch, n)) * n;
    for (int k = 0; k < strike.count; ++k)
      p.v[std::size_t(strike.particles[k])] += (impulse / mass).cast<Real>();
    push_back(touch, impulse);
  }
  for (const Touch& touch : touches_) {
    const auto i = std::size_t(touch.particle);
    const double w = double(p.places[i].inverse_mass);
    const double closing = touch.n.dot(speed_of(touch) - p.v[i].cast<double>());
    if (!(closing > 0) || !(touch.pushed > 0)) continue;
    const D3 impulse = closing / (w + answer_of(touch, touch.n)) * touch.n;
    p.v[i] += (w * impulse).cast<Real>();
    push_back(touch, impulse);
  }
}

/// What bears the particle against a push along n, unit: a normal that it cannot go against, or none. What
/// its constraints have lifted off since is not borne: crushed balloons threw up boxes with 85 times their
/// energy by particles in their midst that a floor had held before.
auto PbdBodies::borne(const Touch& touch, const PbdParticles& p) -> D3 {
  const PbdRest& rest = p.rests[std::size_t(touch.particle)];
  const D3 m = rest.normal.cast<double>();
  if (rest.on == -1 || !(m.dot(touch.n) < 0)) return D3::Zero();
  const detail::Place& place = p.places[std::size_t(touch.particle)];
  const double lifted = m.dot(place_in(place)) - double(rest.at);
  return lifted <= touch.gap + least_lifted ? m : D3(D3::Zero());
}

/// [1/kg] by which the two part for an impulse. A particle that lies on what does not yield moves along it
/// only, so that what lies on the particle is borne by all that is below at once; in turn, a heavy body would
/// sink through cloth on a table by the ratio of their masses.
auto PbdBodies::response_of(const Touch& touch, const PbdParticles& p, const D3& m) const -> M3 {
  const Body& body = bodies_[std::size_t(touch.body)];
  const double w = double(p.places[std::size_t(touch.particle)].inverse_mass);
  const D3 r = body.q * touch.on;
  M3 cross;
  cross << 0, -r.z(), r.y(), r.z(), 0, -r.x(), -r.y(), r.x(), 0;
  return (w + body.inverse_mass) * M3::Identity() - w * m * m.transpose() -
         cross * body.inverse_inertia * cross;
}

/// impulse: [kg m] on the particle, and its opposite on the body.
void PbdBodies::part(const Touch& touch, const PbdParticles& p, const D3& m, const D3& impulse,
                     double wedge) {
  if (!impulse.allFinite()) return;
  detail::Place& place = p.places[std::size_t(touch.particle)];
  const double w = double(place.inverse_mass);
  PbdRest& rest = p.rests[std::size_t(touch.particle)];
  const Vec3 by = (w * let_along(m, impulse, wedge)).cast<Real>();
  for (int c = 0; c < 3; ++c) place.x[c] += by[c];
  rest.slid += by;
  rest.load -= Real(w * m.dot(impulse));
  push({-1, touch.body, touch.on.cast<Real>()}, p, D3(-impulse));
}

void PbdBodies::hold_apart(Touch& touch, const PbdParticles& p) {
  if (touch.is_laid) return;
  const auto i = std::size_t(touch.particle);
  const Body& body = bodies_[std::size_t(touch.body)];
  const detail::Place& place = p.places[i];
  const D3 x = p.x0[i].cast<double>() + D3(double(place.x[0]), double(place.x[1]), double(place.x[2]));
  const double wrong = touch.n.dot(x - body.x - body.q * touch.on) - touch.gap;
  if (!(wrong < 0) && touch.pushed == 0) return;
  const D3 m = borne(touch, p), turn = (body.q * touch.on).cross(touch.n);
  const double wedge = wedge_held_by(touch.friction, double(p.rests[i].friction));
  const auto push_by = [&](double off, double within) {
    const double answer = double(place.inverse_mass) * let_along(m, touch.n, within).squaredNorm() +
                          body.inverse_mass + turn.dot(body.inverse_inertia * turn);
    if (!(answer > 0)) return;
    const double by = std::max(-off / answer, -touch.pushed);
    if (!std::isfinite(by)) return;
    touch.pushed += by;
    part(touch, p, m, D3(by * touch.n), within);
  };
  // What is jammed moves the body by how far that has come, not by how far its own constraints have slid it
  // into the body: boxes on balloons were thrown aside by that, at 155 m/s.
  double slid = 0;
  if (is_jammed(m, touch.n, wedge) && !is_jammed(m, touch.n, least_wedge)) {
    const D3 way = place_in(place) - p.gone[i].cast<double>() - p.rests[i].way.cast<double>();
    slid = std::clamp(touch.n.dot(way - m.dot(way) * m), std::min(wrong, 0.0), 0.0);
  }
  if (slid < 0) push_by(slid, least_wedge);
  push_by(wrong - slid, wedge);
}

/// As for faces, about one point.
void PbdBodies::rub(Touch& touch, const PbdParticles& p) {
  if (touch.pushed == 0 && touch.rubbed.isZero(0)) return;
  const auto i = std::size_t(touch.particle);
  const Body& body = bodies_[std::size_t(touch.body)];
  const detail::Place& place = p.places[i];
  const D3 gone = D3(double(place.x[0]), double(place.x[1]), double(place.x[2])) - p.gone[i].cast<double>();
  const D3 way = body.x + body.q * touch.on - body.x0 - body.q0 * touch.on, m = borne(touch, p);
  Eigen::Matrix<double, 3, 2> t;
  t.col(0) = touch.n.unitOrthogonal(), t.col(1) = touch.n.cross(t.col(0));
  const double bound = touch.friction * touch.pushed, w = double(place.inverse_mass);
  D3 rubbed = touch.rubbed;
  if (w > 0 && !m.isZero(0)) {
    const PbdRest& rest = p.rests[i];
    const Bed bed{.yields = w,
                  .way = gone - w * rubbed,
                  .slid = rest.slid.cast<double>() - w * rubbed,
                  .rubbed = rest.rubbed.cast<double>() / w,
                  .bound = double(rest.friction) * double(rest.pushed + rest.load) / w,
                  .friction_below = double(rest.friction)};
    const M3 cross = cross_of(body.q * touch.on);
    const M3 response = body.inverse_mass * M3::Identity() - cross * body.inverse_inertia * cross;
    rubbed = -rub_on_bed(bed, 0, D3(-rubbed), t, response, way, bound, touch.slides);
    const D3 by = rubbed - touch.rubbed;
    rubbed = touch.rubbed +
             part_within(gone, D3(w * let_along(m, by, least_wedge)), std::max(gone.norm(), way.norm())) * by;
  } else {
    const Eigen::Matrix2d k = t.transpose() * response_of(touch, p, m) * t;
    if (k.determinant() > 0) rubbed -= t * (k.inverse() * (t.transpose() * (gone - way)));
    const double length = rubbed.norm();
    if (length > bound) rubbed *= bound / length;
  }
  const D3 more = rubbed - touch.rubbed;
  touch.rubbed = rubbed;
  part(touch, p, m, more, least_wedge);
}

/// [m/s] Of a particle that may lie on something: along its normal, that of what it lies on. It has come down
/// there in the substep, which is no speed that it could give to others: what lies on it was thrown by that.
auto PbdBodies::velocity_on_rest(std::size_t particle, const PbdParticles& p, Real h) -> D3 {
  const D3 v = p.v[particle].cast<double>();
  const PbdRest& rest = p.rests[particle];
  if (rest.on == -1) return v;
  const D3 m = rest.normal.cast<double>();
  return v + m.dot(rest.way.cast<double>() / double(h) - v) * m;
}

/// Section 3.6, as for faces.
void PbdBodies::slow(const Touch& touch, const PbdParticles& p, Real h) {
  if (!(touch.pushed > 0)) return;
  const auto i = std::size_t(touch.particle);
  Body& body = bodies_[std::size_t(touch.body)];
  const D3 m = borne(touch, p), r = body.q * touch.on;
  const M3 k = response_of(touch, p, m);
  double w = double(p.inverse_mass[i]);
  const auto change = [&](const D3& impulse, double wedge) {
    if (!impulse.allFinite()) return;
    p.v[i] += (w * let_along(m, impulse, wedge)).cast<Real>();
    body.v -= body.inverse_mass * impulse;
    body.w -= body.inverse_inertia * r.cross(impulse);
  };
  const D3 turn = r.cross(touch.n);
  const double wedge = wedge_held_by(touch.friction, double(p.rests[i].friction));
  const double answer = w * let_along(m, touch.n, wedge).squaredNorm() + body.inverse_mass +
                        turn.dot(body.inverse_inertia * turn);
  if (!(answer > 0)) return;
  const bool bounced = bounces(Real(touch.approach), Real(touch.restitution), h);
  const auto slip_of = [&](const D3& v) -> D3 { return v - body.v - body.w.cross(r); };
  const auto own = [&]() -> D3 { return m.isZero(0) ? p.v[i].cast<double>() : velocity_on_rest(i, p, h); };
  // What is jammed goes with what bears it.
  const D3 jammed = p.rests[i].way.cast<double>() / double(h);
  const double parts = touch.n.dot(slip_of(is_jammed(m, touch.n, wedge) ? jammed : own()));
  change(((bounced ? touch.restitution * touch.approach : 0) - parts) / answer * touch.n, wedge);
  const double left = (touch.friction * touch.pushed - touch.rubbed.norm()) / double(h);
  if (!(left > 0)) return;
  const D3 slip = slip_of(own());
  Eigen::Matrix<double, 3, 2> t;
  t.col(0) = touch.n.unitOrthogonal(), t.col(1) = touch.n.cross(t.col(0));
  // What is held by what bears it does not yield.
  M3 across = k;
  if (!touch.slides) across -= w * (M3::Identity() - m * m.transpose()), w = 0;
  const Eigen::Matrix2d yields = t.transpose() * across * t;
  if (!(yields.determinant() > 0)) return;
  D3 impulse = -(t * (yields.inverse() * (t.transpose() * slip)));
  if (impulse.norm() > left) impulse *= left / impulse.norm();
  change(impulse, least_wedge);
}

}  // namespace plenum::inline PLENUM_ABI
