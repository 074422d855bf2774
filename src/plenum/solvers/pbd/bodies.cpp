#include "plenum/solvers/pbd/detail/bodies.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plenum/integrate/free_rotation.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using D3 = Vector3<double>;
using M3 = Matrix3<double>;
using Qd = Quaternion<double>;

/// Part of the diagonal that is added to it.
constexpr double regularization = 1e-6;
/// Of friction and pushes in a sweep. But for stand_still() a box on a slope of 20 degrees creeps by 2.4, 0.8
/// and 0.3 mm/s with 1, 2 and 3, at ten substeps.
constexpr int friction_rounds = 3;
/// [rad] by which a push turns a body at most: its linearization says nothing of more (section 3.3).
constexpr double most_turned = 0.5;
/// [rad] by which a body turns by itself in a substep at most, as far as rotate_freely() follows it.
constexpr double most_led = 8;

}  // namespace

void PbdBodies::begin_step(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params,
                           Real dt) {
  own_ = model.bodies.size(), first_guest_ = own_ + model.rides.size();
  bodies_.resize(first_guest_ + model.guests.size());
  multipliers_.resize(model.holds.size());
  const Frames& f = state.frames;
  for (std::size_t i = 0; i < own_; ++i) {
    const Pbd::Body& of = model.bodies[i];
    Body& body = bodies_[i];
    body.x = f.x[i].cast<double>(), body.q = f.rotation(i).cast<double>().normalized();
    body.v = f.v[i].cast<double>(), body.w = f.w[i].cast<double>();
    body.moments = of.inertia.cast<double>();
    body.inverse_mass = of.is_led ? 0 : 1 / double(of.mass);
    body.reach = double(of.reach);
    if (!of.is_led) continue;
    body.from = body.to = f.pose(i);
    const auto group = std::size_t(of.group);
    if (group >= params.pins.size()) continue;
    const PinMotion& motion = params.pins[group];
    body.to = {motion(of.start.position), rotation_from_degrees(motion.rotation) * of.start.rotation};
  }
  for (std::size_t g = 0; g < model.guests.size(); ++g) {
    Body& body = bodies_[first_guest_ + g];
    body = Body{};
    body.from = model.guests[g].from, body.to = model.guests[g].to;
    body.x = body.from.position.cast<double>(), body.q = body.from.rotation.cast<double>();
  }
  for (Body& body : bodies_) {
    body.inverse_inertia.setZero();
    if (body.inverse_mass > 0) continue;
    body.v = ((body.to.position - body.from.position) / dt).cast<double>();
    body.w = rotation_vector((body.to.rotation * body.from.rotation.conjugate()).cast<double>()) / double(dt);
  }
  begin_carriers(model, dt);
  if (std::exchange(holds_revision_, model.revision) != model.revision)
    tethers_.lay_out(model), find_leashes(model), find_bundles(model);
  strain_limit_ = params.strain_limit;
  given_impulse_.assign(model.guests.size(), D3::Zero());
  given_moment_.assign(model.guests.size(), D3::Zero());
  find_pairs(model, state, params, dt);
  find_near(model, state, params, dt);
  find_near_faces(model, state, params, dt);
}

void PbdBodies::predict(const Pbd::Model& model, const Pbd::Params& params, Real h) {
  std::fill(multipliers_.begin(), multipliers_.end(), D3::Zero());
  h_ = double(h);
  const double kept = 1 / (1 + double(h) * double(params.damping));
  for (Body& body : bodies_) {
    body.x0 = body.x, body.q0 = body.q;
    if (body.inverse_mass == 0) {
      // end_step() puts it where it is led, so that rounding does not add up.
      body.x += double(h) * body.v;
      if (!body.w.isZero(0)) body.q = turned<double>(body.q, D3(double(h) * body.w));
    } else if (is_carrier(Index(&body - bodies_.data()))) {
      // Its own system has let forces act on it.
      body.x += double(h) * body.v;
      body.q = turned<double>(body.q, D3(double(h) * body.w));
      body.inverse_inertia = inverse_inertia_of(body);
    } else {
      body.v = kept * body.v + double(h) * params.gravity.cast<double>();
      body.w *= kept;
      const double turn = double(h) * body.w.norm();
      if (turn > most_led) body.w *= most_led / turn;
      body.x += double(h) * body.v;
      rotate_freely<double>(body.q, body.moments, body.w, double(h));
      body.inverse_inertia = world_inertia<double>(body.q, D3(body.moments.cwiseInverse()));
    }
    body.led_x = body.x, body.led_q = body.q;
  }
  patches_.clear(), face_touches_.clear();
  touch_bodies(model);
  are_touches_found_ = false;
}

auto PbdBodies::arm_of(const Anchor& a) const -> D3 {
  return bodies_[std::size_t(a.body)].q * a.at.cast<double>();
}

auto PbdBodies::place_of(const Anchor& a, const PbdParticles& p) const -> D3 {
  if (a.body >= 0) return bodies_[std::size_t(a.body)].x + arm_of(a);
  if (a.particle < 0) return a.at.cast<double>();
  const detail::Place& place = p.places[std::size_t(a.particle)];
  return p.x0[std::size_t(a.particle)].cast<double>() +
         D3(double(place.x[0]), double(place.x[1]), double(place.x[2]));
}

auto PbdBodies::start_of(const Anchor& a, const PbdParticles& p) const -> D3 {
  if (a.body >= 0) {
    const Body& body = bodies_[std::size_t(a.body)];
    return body.x0 + body.q0 * a.at.cast<double>();
  }
  if (a.particle < 0) return a.at.cast<double>();
  return p.x0[std::size_t(a.particle)].cast<double>() + p.gone[std::size_t(a.particle)].cast<double>();
}

/// What it moves by for an impulse, [1/kg].
auto PbdBodies::response_of(const Anchor& a, const PbdParticles& p) const -> M3 {
  if (a.body >= 0) {
    const Body& body = bodies_[std::size_t(a.body)];
    const M3 r = cross_of(arm_of(a));
    return body.inverse_mass * M3::Identity() - r * body.inverse_inertia * r;
  }
  if (a.particle < 0) return M3::Zero();
  return double(p.places[std::size_t(a.particle)].inverse_mass) * M3::Identity();
}

/// The same along the unit vector n.
double PbdBodies::response_of(const Anchor& a, const PbdParticles& p, const D3& n) const {
  if (a.body >= 0) {
    const Body& body = bodies_[std::size_t(a.body)];
    const D3 turn = arm_of(a).cross(n);
    return body.inverse_mass + turn.dot(body.inverse_inertia * turn);
  }
  return a.particle < 0 ? 0 : double(p.places[std::size_t(a.particle)].inverse_mass);
}

void PbdBodies::turn(Index body, const D3& by) {
  Body& b = bodies_[std::size_t(body)];
  const double angle = by.norm();
  if (!std::isfinite(angle)) return;
  b.q = turned<double>(b.q, angle > most_turned ? D3((most_turned / angle) * by) : by);
}

/// By an impulse [kg m], and turned by [rad].
void PbdBodies::move(Index body, const D3& impulse, const D3& by) {
  Body& b = bodies_[std::size_t(body)];
  if (is_carrier(body)) b.pull += impulse / h_;
  b.x += b.inverse_mass * impulse;
  turn(body, by);
}

/// impulse: [kg m]
void PbdBodies::push(const Anchor& a, const PbdParticles& p, const D3& impulse) {
  if (!impulse.allFinite()) return;
  if (a.body >= 0) {
    const Body& body = bodies_[std::size_t(a.body)];
    if (body.inverse_mass == 0) return;
    move(a.body, impulse, D3(body.inverse_inertia * arm_of(a).cross(impulse)));
  } else if (a.particle >= 0) {
    detail::Place& place = p.places[std::size_t(a.particle)];
    for (int c = 0; c < 3; ++c) place.x[c] += Real(double(place.inverse_mass) * impulse[c]);
  }
}

auto PbdBodies::misalignment(const Pbd::Alignment& alignment) const -> Misalignment {
  const Qd& a = bodies_[std::size_t(alignment.a)].q;
  const Qd b = alignment.b < 0 ? Qd(Qd::Identity()) : bodies_[std::size_t(alignment.b)].q;
  // q_b = q_a turn at the start.
  if (!alignment.about_axis) return {rotation_vector(b * (a * alignment.turn.cast<double>()).conjugate())};
  const D3 from = a * alignment.axis_a.cast<double>(), to = b * alignment.axis_b.cast<double>();
  const D3 wrong = from.cross(to);
  const double sine = wrong.norm();
  if (!(sine > 0)) return {D3::Zero(), from};
  return {(std::atan2(sine, from.dot(to)) / sine) * wrong, from};
}

void PbdBodies::align(const Pbd::Alignment& alignment) {
  const D3 wrong = misalignment(alignment).wrong;
  const double angle = wrong.norm();
  if (!(angle > 0)) return;
  M3 k = bodies_[std::size_t(alignment.a)].inverse_inertia;
  if (alignment.b >= 0) k += bodies_[std::size_t(alignment.b)].inverse_inertia;
  D3 impulse;
  if (alignment.about_axis) {
    const D3 n = wrong / angle;
    const double answer = n.dot(k * n);
    if (!(answer > 0)) return;
    impulse = (angle / answer) * n;
  } else {
    if (!(k.trace() > 0)) return;
    impulse = k.ldlt().solve(wrong);
  }
  const auto turned_by = [&](Index body) { return D3(bodies_[std::size_t(body)].inverse_inertia * impulse); };
  turn(alignment.a, turned_by(alignment.a));
  if (alignment.b >= 0) turn(alignment.b, D3(-turned_by(alignment.b)));
}

/// [1/kg] by which the points part along the normal for a push at each of them; 1 for those that there are
/// not.
Eigen::Matrix4d PbdBodies::response_of(const Patch& patch, const PbdParticles& p) const {
  Eigen::Matrix4d k = Eigen::Matrix4d::Identity();
  const auto inverse_mass_of = [&](const Anchor& a) {
    if (a.body >= 0) return bodies_[std::size_t(a.body)].inverse_mass;
    return a.particle < 0 ? 0.0 : double(p.places[std::size_t(a.particle)].inverse_mass);
  };
  const double w = inverse_mass_of(patch.points[0].a) + inverse_mass_of(patch.points[0].b);
  for (int i = 0; i < patch.count; ++i)
    for (int j = 0; j < patch.count; ++j) k(i, j) = w;
  for (const bool second : {false, true}) {
    D3 lever[4];
    const auto anchor = [&](int i) { return second ? patch.points[i].b : patch.points[i].a; };
    const Index on = anchor(0).body;
    if (on < 0 || bodies_[std::size_t(on)].inverse_mass == 0) continue;
    for (int i = 0; i < patch.count; ++i) lever[i] = arm_of(anchor(i)).cross(patch.n);
    for (int i = 0; i < patch.count; ++i) {
      const D3 turns = bodies_[std::size_t(on)].inverse_inertia * lever[i];
      for (int j = 0; j < patch.count; ++j) k(i, j) += turns.dot(lever[j]);
    }
  }
  // Four points of a face say one thing more than three directions hold; of the pushes that do the same the
  // least act.
  for (int i = 0; i < patch.count; ++i) k(i, i) *= 1 + regularization;
  return k;
}

/// Keeps what touches apart: all points together, without those that would pull.
void PbdBodies::hold_apart(Patch& patch, const PbdParticles& p) {
  Eigen::Vector4d wrong = Eigen::Vector4d::Zero();
  bool any = false;
  for (int i = 0; i < patch.count; ++i) {
    const Point& point = patch.points[i];
    wrong[i] = patch.n.dot(place_of(point.b, p) - place_of(point.a, p)) - point.gap;
    any |= wrong[i] < 0 || point.pushed > 0;
  }
  if (!any) return;
  const Eigen::Matrix4d k = response_of(patch, p);
  if (!(k(0, 0) > 0)) return;
  // An active set: what pulls lets go of what it has, one point after the other.
  Eigen::Vector4d change = Eigen::Vector4d::Zero();
  bool lets_go[4] = {};
  for (int round = 0; round < patch.count; ++round) {
    Eigen::Matrix4d m = k;
    Eigen::Vector4d right = -wrong;
    for (int i = 0; i < patch.count; ++i)
      if (lets_go[i]) {
        for (int j = 0; j < patch.count; ++j)
          if (!lets_go[j]) right[j] += k(j, i) * patch.points[i].pushed;
        m.row(i).setZero(), m.col(i).setZero(), m(i, i) = 1;
        right[i] = -patch.points[i].pushed;
      }
    change = m.ldlt().solve(right);
    int worst = -1;
    double least = 0;
    for (int i = 0; i < patch.count; ++i)
      if (!lets_go[i] && patch.points[i].pushed + change[i] < least)
        least = patch.points[i].pushed + change[i], worst = i;
    if (worst < 0) break;
    lets_go[worst] = true;
    change[worst] = -patch.points[worst].pushed;
  }
  for (int i = 0; i < patch.count; ++i) {
    Point& point = patch.points[i];
    change[i] = std::isfinite(change[i]) ? std::max(change[i], -point.pushed) : 0;
    point.pushed += change[i];
  }
  push_all(patch, p, change);
}

/// Pushes [kg m] at the points of a patch. What they turn a body by is summed first: one after the other, as
/// turns about several axes do not commute, they would spin it about the normal too. A level box that fell
/// on four corners at 4 m/s so had 0.3 rad/s, which friction made into more.
void PbdBodies::push_all(const Patch& patch, const PbdParticles& p, const Eigen::Vector4d& by) {
  for (const bool second : {true, false}) {
    D3 impulse = D3::Zero(), moment = D3::Zero();
    Index body = -1;
    for (int i = 0; i < patch.count; ++i) {
      const Anchor& at = second ? patch.points[i].b : patch.points[i].a;
      const D3 one = (second ? by[i] : -by[i]) * patch.n;
      if (at.body < 0) {
        push(at, p, one);
        continue;
      }
      body = at.body;
      impulse += one, moment += arm_of(at).cross(one);
    }
    if (body < 0 || bodies_[std::size_t(body)].inverse_mass == 0 || !impulse.allFinite()) continue;
    move(body, impulse, D3(bodies_[std::size_t(body)].inverse_inertia * moment));
  }
}

/// The part of what is pushed at the points that stops what comes together in the substep, with what slow()
/// is to add to it: the rest has only pushed overlap apart, and is no speed. Friction is bounded by this
/// part. Where a body falls by no more in a substep than its places are rounded by, most of what pushes is
/// such overlap, and boxes slid at half their speed.
double PbdBodies::part_borne(const Patch& patch, const PbdParticles& p) const {
  if (patch.laid > 0) return 1;
  Eigen::Vector4d parted = Eigen::Vector4d::Zero();
  double pressed = 0;
  for (int i = 0; i < patch.count; ++i) {
    const Point& point = patch.points[i];
    if (!(point.pushed > 0)) continue;
    pressed += point.pushed;
    parted[i] = patch.n.dot(place_of(point.b, p) - start_of(point.b, p) - place_of(point.a, p) +
                            start_of(point.a, p));
  }
  if (!(pressed > 0) || parted.isZero(0)) return 1;
  Eigen::Matrix4d k = response_of(patch, p);
  for (int i = 0; i < patch.count; ++i)
    if (!(patch.points[i].pushed > 0)) k.row(i).setZero(), k.col(i).setZero(), k(i, i) = 1;
  const double only_parts = k.ldlt().solve(parted).sum();
  return std::isfinite(only_parts) ? std::max(0.0, 1 - only_parts / pressed) : 1;
}

/// Takes what friction can of what has slid in the substep: within Coulomb's bound on all that it takes back
/// in it (Macklin, Mueller, Chentanez & Kim 2014, eq. 24); of what has turned about the normal, by the
/// points' levers about their centre.
void PbdBodies::rub(Patch& patch, const PbdParticles& p) {
  double pressed = 0;
  for (int i = 0; i < patch.count; ++i) pressed += patch.points[i].pushed;
  if (pressed == 0 && patch.rubbed.isZero(0)) return;
  const auto centre = [&](bool second) {
    Anchor at = second ? patch.points[0].b : patch.points[0].a;
    if (at.body < 0 || !(pressed > 0)) return at;
    at.at.setZero();
    for (int i = 0; i < patch.count; ++i)
      at.at += Real(patch.points[i].pushed / pressed) * (second ? patch.points[i].b : patch.points[i].a).at;
    return at;
  };
  const Anchor a = centre(false), b = centre(true);
  const D3 slid = place_of(b, p) - start_of(b, p) - (place_of(a, p) - start_of(a, p));
  const M3 k3 = response_of(a, p) + response_of(b, p);
  Eigen::Matrix<double, 3, 2> t;
  t.col(0) = patch.n.unitOrthogonal(), t.col(1) = patch.n.cross(t.col(0));
  const double friction = patch.friction * part_borne(patch, p), bound = friction * pressed;
  D3 rubbed = patch.rubbed;
  if (patch.laid > 0) {
    rubbed = rub_on_bed(patch.bed, pressed - patch.pressed, rubbed, t, k3, slid, bound, patch.slides);
  } else {
    const Eigen::Matrix2d k = t.transpose() * k3 * t;
    if (k.determinant() > 0) rubbed = rub_within(k, t, rubbed, slid, bound);
  }
  const D3 more = rubbed - patch.rubbed;
  patch.rubbed = rubbed;
  push(b, p, more);
  push(a, p, D3(-more));
  if (patch.count < 2) return;
  Body still;
  still.q = still.q0 = Qd::Identity();
  const Body &on_a = a.body < 0 ? still : bodies_[std::size_t(a.body)], &on_b = bodies_[std::size_t(b.body)];
  const double yields = patch.n.dot((on_a.inverse_inertia + on_b.inverse_inertia) * patch.n);
  if (!(yields > 0)) return;
  double lever = 0;
  for (int i = 0; i < patch.count; ++i)
    lever += patch.points[i].pushed * double((patch.points[i].b.at - b.at).norm());
  const double turned_by = patch.n.dot(rotation_vector(on_b.q * on_b.q0.conjugate()) -
                                       rotation_vector(on_a.q * on_a.q0.conjugate())) -
                           patch.bed.turn;
  const double most = friction * lever;
  const double twisted = std::clamp(patch.twisted - turned_by / yields, -most, most);
  const D3 change = (twisted - patch.twisted) * patch.n;
  patch.twisted = twisted;
  turn(b.body, D3(on_b.inverse_inertia * change));
  if (a.body >= 0) turn(a.body, D3(-(on_a.inverse_inertia * change)));
}

void PbdBodies::sweep(const Pbd::Model& model, const Pbd::Params& params, const PbdParticles& p,
                      const detail::Projection& how) {
  hold_all(model, p, double(how.compliance_scale));
  // Pushes, friction, and pushes once more, which have the last word: friction at a face turns a body into
  // what it stands on, from where the next substep would lift it out with all that stands on it, by a push
  // from nowhere. Boxes on each other rocked by that until they fell,
  // and so did candlesticks on a cloth that was drawn from under them.
  // Particles touch where their constraints have taken them: what is drawn fast, as by a hand, goes farther
  // by these than by itself. It would be through a table top before its own way shows it, and past the rim of
  // a plate, pressed by a normal that the rim had where it was.
  const bool first = !std::exchange(are_touches_found_, true);
  if (first) touch_particles(model, params, p);
  hold_on_led(p);
  if (first) touch_faces(model, params, p), lay_bodies(p);
  for (Patch& patch : patches_)
    if (patch.laid > 0) find_bed(patch, p);
  for (Patch& patch : patches_) hold_apart(patch, p);
  hold_touches(p);
  if (!model.tethers.empty()) {
    for (const Touch& touch : touches_)
      if (touch.pushed > 0) hold_by_tethers(touch.particle, touch.body, touch.n, touch.on, touch.friction, p);
    for (const FaceTouch& touch : face_touches_)
      for (int i = 0; i < 3 && touch.pushed > 0; ++i)
        if (touch.weight[i] > 0)
          hold_by_tethers(touch.particle[i], touch.body, touch.n, touch.on, touch.friction, p);
  }
  for (int round = 0; round < friction_rounds; ++round) {
    for (Patch& patch : patches_)
      if (patch.friction > 0) rub(patch, p);
    for (Touch& touch : touches_)
      if (touch.friction > 0) rub(touch, p);
    for (FaceTouch& touch : face_touches_)
      if (touch.friction > 0) rub(touch, p);
    for (Patch& patch : patches_) hold_apart(patch, p);
    hold_touches(p);
  }
  press_laid(p);
  hold_on_led(p);
}

auto PbdBodies::velocity_of(const Anchor& a, const PbdParticles& p) const -> D3 {
  if (a.body >= 0) {
    const Body& body = bodies_[std::size_t(a.body)];
    return body.v + body.w.cross(arm_of(a));
  }
  return a.particle < 0 ? D3(D3::Zero()) : D3(p.v[std::size_t(a.particle)].cast<double>());
}

/// impulse: [N s]
void PbdBodies::change_velocity(const Anchor& a, const PbdParticles& p, const D3& impulse) {
  if (a.body >= 0) {
    Body& body = bodies_[std::size_t(a.body)];
    body.v += body.inverse_mass * impulse;
    body.w += body.inverse_inertia * arm_of(a).cross(impulse);
  } else if (a.particle >= 0) {
    p.v[std::size_t(a.particle)] += p.inverse_mass[std::size_t(a.particle)] * impulse.cast<Real>();
  }
}

bool PbdBodies::keep(const PbdParticles& p, Real h, std::span<const PbdStrike> strikes) {
  bool is_held_back = false;
  for (Body& body : bodies_) {
    if (body.inverse_mass == 0) continue;
    const double led = body.v.norm(), led_spin = body.w.norm();
    body.v += (body.x - body.led_x) / double(h);
    // Turns are known but for whole ones. What turns a body back from a flight of more than half a turn would
    // only add to its spin, and planks on ropes that were jerked once boiled for ever at 12 000 rad/s. Spin
    // is then, as Mueller et al. 2020 take it always, that of the whole substep: at most half a turn.
    constexpr double most_turned = 0.5;  // [rad]
    const D3 turned = rotation_vector(body.q * body.led_q.conjugate());
    if (turned.norm() > most_turned)
      body.w = rotation_vector(body.q * body.q0.conjugate()) / double(h);
    else
      body.w += turned / double(h);
    // As of particles (pbd.cpp), and of what turns so fast at its surface.
    const auto hold_back = [&](D3& velocity, double most) {
      const double now = velocity.norm();
      if (!(now > most)) return;
      velocity *= most / now, is_held_back = true;
    };
    hold_back(body.v, std::max(double(pbd_fastest), led));
    if (body.reach > 0) hold_back(body.w, std::max(double(pbd_fastest) / body.reach, led_spin));
    // What no projection could find right stays where it was.
    if (!(body.x.allFinite() && body.q.coeffs().allFinite() && body.v.allFinite() && body.w.allFinite())) {
      body.x = body.x0, body.q = body.q0;
      body.v = body.w = D3::Zero();
    }
    body.inverse_inertia = inverse_inertia_of(body);
  }
  stop(strikes, p);
  // A large speed ends at arms as they met, not as friction has turned them since.
  const auto turn_back = [&](Anchor& a) {
    const Body& body = bodies_[std::size_t(a.body)];
    a.at = (body.q.conjugate() * body.led_q).cast<Real>() * a.at;
  };
  for (Patch& patch : patches_)
    for (int i = 0; i < patch.count && patch.is_on_way; ++i)
      turn_back(patch.points[i].a), turn_back(patch.points[i].b);
  for (std::size_t k = patches_.size(); k-- > 0;) slow(patches_[k], p, h);
  for (const Touch& touch : led_touches_) slow(touch, p, h);
  for (const Touch& touch : touches_) slow(touch, p, h);
  for (const FaceTouch& touch : face_touches_) slow(touch, p, h);
  for (std::size_t k = touches_.size(); k-- > 0;) slow(touches_[k], p, h);
  stand_still(p);
  return is_held_back;
}

/// Section 3.6: what touches parts at what it bounces with; what has pushed overlap apart is no speed.
void PbdBodies::slow(const Patch& patch, const PbdParticles& p, Real h) {
  Eigen::Matrix4d k = response_of(patch, p);
  if (!(k(0, 0) > 0)) return;
  Eigen::Vector4d change = Eigen::Vector4d::Zero();
  bool any = false;
  const BedMotion carried = patch.laid > 0 ? velocity_of_bed(patch, p, h) : BedMotion{};
  for (int i = 0; i < patch.count; ++i) {
    const Point& point = patch.points[i];
    if (!(point.pushed > 0)) {
      k.row(i).setZero(), k.col(i).setZero(), k(i, i) = 1;
      continue;
    }
    any = true;
    const double now =
        patch.n.dot(velocity_of(point.b, p) - velocity_of(point.a, p) - carried.at(place_of(point.b, p)));
    const bool bounced = bounces(Real(point.approach), Real(patch.restitution), h);
    change[i] = (bounced ? patch.restitution * point.approach : 0) - now;
  }
  const bool rubs = patch.friction > 0 && (any || patch.twisted != 0 || !patch.rubbed.isZero(0));
  if (!(any || rubs)) return;
  change = k.ldlt().solve(change);
  if (!change.allFinite()) return;
  double pressed = 0, lever = 0;
  for (int i = 0; i < patch.count; ++i) pressed += patch.points[i].pushed;
  Anchor a = patch.points[0].a, b = patch.points[0].b;
  Vec3 at_a = Vec3::Zero(), at_b = Vec3::Zero();
  for (int i = 0; i < patch.count; ++i) {
    const Point& point = patch.points[i];
    const double part = any ? point.pushed / pressed : 1.0 / patch.count;
    at_a += Real(part) * point.a.at, at_b += Real(part) * point.b.at;
    if (!(point.pushed > 0)) continue;
    const D3 impulse = change[i] * patch.n;
    change_velocity(point.b, p, impulse);
    change_velocity(point.a, p, D3(-impulse));
    given_to_guest(point.b, p, D3(impulse + (point.pushed / double(h)) * patch.n));
  }
  if (!rubs) return;
  if (a.body >= 0) a.at = at_a;
  if (b.body >= 0) b.at = at_b;
  for (int i = 0; i < patch.count; ++i)
    lever += patch.points[i].pushed * double((patch.points[i].b.at - b.at).norm());
  // As part_borne() has it.
  const double part = any ? std::max(0.0, 1 + double(h) * change.sum() / pressed) : 0;
  // Friction that has answered to pushes out of an overlap, whose speed is taken back above, is no speed
  // either: boxes on each other rocked by it until they fell. Nor is what is beyond its bound, as pushes had
  // the last word.
  D3 rubbed = patch.rubbed / double(h);
  const D3 slip = velocity_of(b, p) - velocity_of(a, p) - carried.at(place_of(b, p));
  Eigen::Matrix<double, 3, 2> t;
  t.col(0) = patch.n.unitOrthogonal(), t.col(1) = patch.n.cross(t.col(0));
  const double bed_yields = patch.slides ? patch.bed.yields : 0;
  const Eigen::Matrix2d yields =
      t.transpose() * (response_of(a, p) + response_of(b, p) + bed_yields * M3::Identity()) * t;
  if (yields.determinant() > 0) {
    const D3 in_all = rub_within(yields, t, rubbed, slip, patch.friction * part * pressed / double(h)),
             impulse = in_all - rubbed;
    change_velocity(b, p, impulse);
    change_velocity(a, p, D3(-impulse));
    for (std::size_t k = 0; k < patch.laid; ++k)
      p.v[std::size_t(laid_[patch.first + k])] -= (bed_yields * impulse).cast<Real>();
    rubbed = in_all;
  }
  given_to_guest(b, p, rubbed);
  if (patch.count < 2) return;
  Body still, &on_a = a.body < 0 ? still : bodies_[std::size_t(a.body)], &on_b = bodies_[std::size_t(b.body)];
  const double most = patch.friction * part * lever / double(h);
  const double turns = patch.n.dot((on_a.inverse_inertia + on_b.inverse_inertia) * patch.n);
  double twisted = patch.twisted / double(h);
  if (turns > 0) {
    const double in_all =
                     std::clamp(twisted - patch.n.dot(on_b.w - on_a.w - carried.spin) / turns, -most, most),
                 twist = in_all - twisted;
    on_b.w += on_b.inverse_inertia * (twist * patch.n), on_a.w -= on_a.inverse_inertia * (twist * patch.n);
    twisted = in_all;
  }
  if (b.body >= Index(first_guest_)) given_moment_[std::size_t(b.body) - first_guest_] += twisted * patch.n;
}

/// Books an impulse [N s], if its anchor is on a guest. Guests are the second of a pair.
void PbdBodies::given_to_guest(const Anchor& on, const PbdParticles& p, const D3& impulse) {
  if (on.body < Index(first_guest_)) return;
  const auto g = std::size_t(on.body) - first_guest_;
  given_impulse_[g] += impulse;
  given_moment_[g] += place_of(on, p).cross(impulse);
}

void PbdBodies::end_step(const Pbd::Model& model, Pbd::State& state) {
  Frames& f = state.frames;
  for (std::size_t i = 0; i < own_; ++i) {
    const Body& body = bodies_[i];
    if (model.bodies[i].is_led) {
      f.x[i] = body.to.position, f.q[i] = body.to.rotation.coeffs();
    } else {
      f.x[i] = body.x.cast<Real>(), f.q[i] = body.q.cast<Real>().coeffs();
    }
    f.v[i] = body.v.cast<Real>(), f.w[i] = body.w.cast<Real>();
  }
  state.touching.clear(), state.touch_normal.clear();
  sort_pairs();
  for (const Pair& pair : pairs_)
    if (pair.touches)
      state.touching.push_back(Index2(pair.a, pair.b)), state.touch_normal.push_back(pair.normal);
  give_pulls();
  pushes_.clear();
  for (std::size_t g = 0; g < given_impulse_.size(); ++g) {
    const D3 &impulse = given_impulse_[g], at = bodies_[first_guest_ + g].x;
    if (impulse.isZero(0) && given_moment_[g].isZero(0)) continue;
    pushes_.push_back({Index(g), impulse.cast<Real>(), at.cast<Real>(), 0,
                       (given_moment_[g] - at.cross(impulse)).cast<Real>()});
  }
}

double PbdBodies::largest_gap(const Pbd::Model& model, const Pbd::State& state) const {
  const auto place = [&](const Anchor& a) -> Vec3 {
    if (is_carrier(a.body)) {
      const Body& body = bodies_[std::size_t(a.body)];
      return (body.x + body.q * a.at.cast<double>()).cast<Real>();
    }
    if (a.body >= 0) return state.frames.pose(std::size_t(a.body)) * a.at;
    return a.particle < 0 ? a.at : state.particles.x[std::size_t(a.particle)];
  };
  double most = 0;
  for (const Pbd::Hold& hold : model.holds)
    if (hold.length == 0) most = std::max(most, double((place(hold.a) - place(hold.b)).norm()));
  return most;
}

}  // namespace plenum::inline PLENUM_ABI
