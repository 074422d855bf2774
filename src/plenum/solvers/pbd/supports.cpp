// Particles on solids: planes that the world offers before a step, held to in every substep.
#include <algorithm>
#include <cmath>
#include <utility>

#include "plenum/geometry/nearest_on_triangle.h"
#include "plenum/geometry/shape.h"
#include "plenum/solvers/pbd/detail/workspace.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t supports_per_block = 256;
/// From a triangle's nearest point in one substep to that in the next.
constexpr int steps_from_last = 4;
/// Of the distance at which a triangle touches, by which it moves before its nearest point is found anew.
constexpr Real least_move = Real(1e-3);
/// Of what overlaps between particles, that a substep parts, and how fast [m/s] at most: there nothing puts
/// it apart after the step, and what is parted at once is thrown.
constexpr Real parted = Real(0.3), parting_speed = Real(0.3);
/// Of a body's angular momentum, that its own step changes where others turn it and not it itself.
constexpr Real turned_by_others = Real(0.1);
/// [m/s] by which what yields may be sped up in a step, beyond what was fast before it.
constexpr Real most_sped_up = Real(10. / 3);

/// f(s) for all supports in order of their samples, in parallel for different ones.
template <class F>
void each_sample(std::span<const Support> supports, std::span<const Index> order, F&& f) {
  const auto sample = [&](std::size_t k) { return supports[std::size_t(order[k])].sample; };
  parallel_for(order.size(), supports_per_block, [&](std::size_t begin, std::size_t end) {
    const auto at_border = [&](std::size_t k) {
      while (k > 0 && k < order.size() && sample(k) == sample(k - 1)) ++k;
      return k;
    };
    for (std::size_t k = at_border(begin), last = at_border(end); k < last; ++k) f(std::size_t(order[k]));
  });
}

/// Of a support's sample, or of its point between samples.
Vec3 at(const Support& support, std::span<const Vec3> of) {
  if (!support.is_of_face()) return of[std::size_t(support.sample)];
  Vec3 sum = Vec3::Zero();
  for (int i = 0; i < 3; ++i) sum += support.weight[i] * of[support.corner(i)];
  return sum;
}
Vec3 at(const Support& support, std::span<const detail::Place> places) {
  Vec3 sum = Vec3::Zero();
  const int corners = support.is_of_face() ? 3 : 1;
  for (int i = 0; i < corners; ++i) {
    const detail::Place& place = places[support.corner(i)];
    sum += support.weight[i] * Vec3(place.x[0], place.x[1], place.x[2]);
  }
  return sum;
}
/// [1/kg] that a push of it meets, without what supports it.
template <class InverseMass>
Real inverse_mass_at(const Support& support, InverseMass&& of) {
  if (!support.is_of_face()) return of(std::size_t(support.sample));
  Real sum = 0;
  for (int i = 0; i < 3; ++i) sum += support.weight[i] * support.weight[i] * of(support.corner(i));
  return sum;
}

/// Turns q by the rotation vector [rad].
Quat turned_by(const Vec3& by, const Quat& q) {
  const Real angle = by.norm();
  if (!(angle > 0)) return q;
  return (Quat(Eigen::AngleAxis<Real>(angle, by / angle)) * q).normalized();
}

Mat3 in_world(const Quat& q, const Mat3& local) {
  const Mat3 r = q.toRotationMatrix();
  return r * local * r.transpose();
}

}  // namespace

Mat3 PbdSupports::Group::inverse_inertia_at(const Quat& q) const {
  return is_locked() ? bearer.inverse_inertia : in_world(q, local_inertia);
}

/// [kg m^2/s] By its own step, as the part s of the step has gone. What strikes something in its own step
/// does so at once, and not all along: between momenta before and after, in attitudes that fit neither, what
/// is slender spun about its length. So far as it is turned it has the momentum of its attitudes' way.
Vec3 PbdSupports::Group::own_momentum(Real s) const {
  if (is_locked()) return Vec3::Zero();
  const Vec3 by_itself = start + s * added;
  if (!(is_turned > 0)) return by_itself;
  const Vec3 turned = in_world(own_attitude(s), local_inertia.inverse()) * own_turn_rate;
  return by_itself + is_turned * (turned - by_itself);
}

/// [rad/s] In an attitude, as the part s of the step has gone.
Vec3 PbdSupports::Group::spin_of(const Quat& q, const Vec3& of, Real s) const {
  const Vec3 spin = inverse_inertia_at(q) * of;
  return is_locked() ? Vec3(bearer.angular_velocity + s * spin_added + spin) : spin;
}

/// [kg m^2/s] By its own step, turned on with it.
Vec3 PbdSupports::Group::gained(Real s0, Real s1) const {
  return turned_on(s0) * (own_momentum(s1) - own_momentum(s0));
}

/// The attitude after a substep of h [s] in which nothing pushes it: midpoint rule, by its spin and by what
/// makes what nothing pushes go as its own step says.
Quat PbdSupports::Group::turned_freely(Real s0, Real s1, Real h) const {
  const auto rate = [&](const Quat& q, const Vec3& of, Real s) {
    const Quat own = own_attitude(s);
    const Vec3 besides = own_turn_rate - inverse_inertia_at(own) * own_momentum(s);
    return Vec3(inverse_inertia_at(q) * of + (is_locked() ? besides : Vec3(q * (own.conjugate() * besides))));
  };
  const Real s = (s0 + s1) / 2;
  const Quat middle = turned_by(h / 2 * rate(from, momentum, s0), from);
  return turned_by(h * rate(middle, momentum + gained(s0, s), s), from);
}

/// [kg m^2/s] By the step's end, beyond what its own step says and what it was given: of what that step gave
/// it, what goes with its turn; but no more of a blow than what gives it the energy that it had after it and
/// that of what pushed it: a blow that its own step took from it as it went alone was given once more.
Vec3 PbdSupports::Group::turned_momentum() const {
  if (is_locked()) return Vec3::Zero();
  const Vec3 own = start + added, blow = turned_on(1) * Vec3(own - own_momentum(1));
  const auto energy = [&](const Quat& q, const Vec3& of) { return of.dot(inverse_inertia_at(q) * of) / 2; };
  Real taken = 1;
  if (is_turned > 0) {
    const Real moves = (own_velocity.squaredNorm() - velocity.squaredNorm()) / (2 * bearer.inverse_mass);
    const Real without = energy(from, momentum);
    const Real most = std::max(without, energy(end, own) + moves + work);
    // energy(momentum + taken * blow) <= most
    const Real a = energy(from, blow), b = momentum.dot(inverse_inertia_at(from) * blow), c = without - most;
    if (a + b + c > 0)
      taken = std::clamp((std::sqrt(std::max(b * b - 4 * a * c, Real(0))) - b) / (2 * a), Real(0), Real(1));
  }
  return taken * blow + momentum - own - given;
}

/// [1/kg] At an arm and along a unit vector.
Real PbdSupports::Group::answers(const Vec3& arm, const Vec3& direction) const {
  const Vec3 turn = arm.cross(direction);
  return bearer.inverse_mass * direction.dot(bearer.free.cwiseProduct(direction)) +
         turn.dot(inverse_inertia * turn);
}

/// [1/kg] Of a share of it.
Real PbdSupports::Group::yields(const Vec3& arm, const Vec3& direction) const {
  return gives * Real(std::max(sharers, Index(1))) * answers(arm, direction);
}

void PbdSupports::begin_group(Group& group, const Bearer& bearer, const Pose& pose0, const Pose& pose,
                              Real dt) {
  group.bearer = bearer;
  group.velocity = group.own_velocity = bearer.velocity;
  const Quat &q0 = pose0.rotation, &q1 = pose.rotation;
  group.gone = pose * pose0.to_local(bearer.centre) - bearer.centre;
  group.begin = q0, group.end = q1;
  group.own_turn_rate = rotation_vector((q1 * q0.conjugate()).cast<double>()).cast<Real>() / dt;
  group.spin_added = dt * bearer.angular_acceleration;
  const Vec3 w0 = bearer.angular_velocity, w1 = w0 + group.spin_added;
  // Locked about an axis, it has no inertia in its own frame.
  const Mat3 inertia = bearer.inverse_inertia.inverse();
  if (bearer.inverse_inertia.diagonal().minCoeff() > 0 && inertia.allFinite()) {
    group.local_inertia = in_world(q1.conjugate(), bearer.inverse_inertia);
    group.start = in_world(q0 * q1.conjugate(), inertia) * w0;
    group.added = inertia * w1 - group.start;
    const Real added = group.added.norm(), most = turned_by_others * group.start.norm();
    group.is_turned = added < most ? added / most : added > 0 ? Real(1) : Real(0);
  } else {
    group.inverse_inertia = bearer.inverse_inertia;
  }
  group.from = q0, group.momentum = group.own_momentum(0);
}

void PbdSupports::begin_plane(Plane& plane, const Support& support, const Vec3& x, Real dt) {
  plane.normal = support.normal, plane.velocity = support.velocity, plane.gap = support.gap;
  plane.arm = support.point - support.bearer.centre;
  const Group* const group = group_of(support);
  if (!support.shape && !group) return;
  plane.local_normal = support.pose0.rotation.conjugate() * support.normal;
  plane.local_point = support.pose0.to_local(support.point);
  if (group) plane.frame = group->begin.conjugate() * support.pose0.rotation;
  const Vec3 goes = (support.pose * plane.local_point - support.pose0 * plane.local_point) / dt;
  plane.besides = support.shape ? Vec3(Vec3::Zero()) : Vec3(support.velocity - goes);
  plane.radius = support.normal.dot(x - support.point) - support.gap;
  plane.clear = 0;
}

void PbdSupports::take(std::span<Support> offered, BodyLinks* links, std::span<const Vec3> x,
                       std::span<const Vec3> v, Real dt) {
  supports_ = offered;
  groups_.clear();
  links_ = links && !links->rows.empty() ? links : nullptr;
  if (links_) take_links(dt);
  for (const Support& support : offered) {
    if (!can_yield(support)) continue;
    groups_.resize(std::max(groups_.size(), std::size_t(support.group) + 1));
    if (Group& group = *group_of(support); !group.is_free())
      begin_group(group, support.bearer, support.pose0, support.pose, dt);
  }
  pushed_.assign(offered.size(), 0);
  rubbed_.assign(offered.size(), Vec3::Zero());
  held_.assign(offered.size(), Vec3::Zero());
  planes_.resize(offered.size());
  for (std::size_t s = 0; s < offered.size(); ++s) begin_plane(planes_[s], offered[s], at(offered[s], x), dt);
  if (!groups_.empty()) find_fastest(v, dt);
  // Those of one system are in order of their samples; what lies on two systems has some in each.
  order_.clear(), faces_.clear();
  for (std::size_t s = 0; s < offered.size(); ++s)
    (offered[s].is_of_face() ? faces_ : order_).push_back(Index(s));
  std::sort(order_.begin(), order_.end(), [&](Index a, Index b) {
    const Index of_a = offered[std::size_t(a)].sample, of_b = offered[std::size_t(b)].sample;
    return of_a != of_b ? of_a < of_b : a < b;
  });
}

void PbdSupports::end_step() {
  if (links_) tell_linked();
  // With the last of a body's: levers of those before are from where it was.
  for (std::size_t s = supports_.size(); s-- > 0;) {
    Support& support = supports_[s];
    Group* const group = group_of(support);
    if (!group || support.impulse.isZero(0) || std::exchange(group->is_told, true)) continue;
    support.shift = group->way - group->own_way;
    support.turn = rotation_vector(group->turned_on(1).cast<double>()).cast<Real>();
    support.couple -= group->turned_momentum();
  }
  supports_ = {}, links_ = nullptr, tethers_ = nullptr, groups_.clear();
}

void PbdSupports::count_anew(std::span<const Vec3> shift, Real since) {
  for (std::size_t s = 0; s < supports_.size(); ++s)
    planes_[s].gap += planes_[s].normal.dot(at(supports_[s], shift) - since * planes_[s].velocity);
}

/// The point of a triangle that is nearest to its solid at the substep's end, for a body that rolls is
/// nearest to another one in each. What has moved too little to touch, or for it to matter, keeps it: false.
bool PbdSupports::find_point(Plane& plane, Support& support, const Substep& sub, const Pose& to,
                             const Vec3& led) {
  TriangleCorners corners;
  bool has_moved = false;
  for (int i = 0; i < 3; ++i) {
    corners.x[i] = to.to_local(sub.x0[support.corner(i)] + sub.gone[support.corner(i)] + led);
    has_moved = has_moved || !((corners.x[i] - plane.seen[std::size_t(i)]).norm() < plane.clear);
  }
  if (!has_moved) return false;
  corners.count = support.others[0] == support.others[1] ? 2 : 3;
  for (int i = 0; i < 3; ++i) plane.seen[std::size_t(i)] = corners.x[i];
  support.weight = nearest_weights(*support.shape, corners, std::max(plane.radius, Real(1e-3)),
                                   support.weight, steps_from_last, pull_to_middle);
  return true;
}

/// The plane by the solid where it is as the substep begins, as it will be at its end.
void PbdSupports::find_plane(Plane& plane, Support& support, const Substep& sub) {
  Vec3 gone = at(support, sub.gone), x = at(support, sub.x0) + gone;
  Pose from, to;
  Vec3 centre = Vec3::Zero();
  if (const Group* const group = group_of(support)) {
    const Vec3 local = support.pose0.to_local(support.bearer.centre);
    from.rotation = group->from * plane.frame, to.rotation = group->to * plane.frame;
    centre = support.bearer.centre + sub.s0 * group->gone + group->way;
    from.position = centre - from.rotation * local;
    const Vec3 way = (sub.s1 - sub.s0) * group->gone + sub.h * group->velocity;
    to.position = centre + way - to.rotation * local;
  } else {
    from = between(support.pose0, support.pose, sub.s0), to = between(support.pose0, support.pose, sub.s1);
  }
  const Real whole = sub.h / (sub.s1 - sub.s0);
  from.position += sub.s0 * whole * plane.besides, to.position += sub.s1 * whole * plane.besides;
  Real left = -std::numeric_limits<Real>::infinity();
  if (support.shape) {
    // Where it will be by its solid: of a round one that spins, the point that will be nearest then, or it
    // would be pushed along with the spin, by what turns the normal.
    const Vec3 now = from.rotation * plane.local_normal;
    const Vec3 led = now.dot(to * plane.local_point - from * plane.local_point) * now;
    if (!support.is_of_face() || find_point(plane, support, sub, to, led)) {
      gone = at(support, sub.gone), x = at(support, sub.x0) + gone;
      const Vec3 q = to.to_local(x + led);
      const SignedDistance<Real> surface = support.shape->signed_distance(q);
      plane.clear = std::max((surface.distance - plane.radius) / 2, least_move * plane.radius);
      // What is deep inside is led out where it came in.
      if (surface.distance > -std::max(plane.radius, Real(1e-4))) {
        if (!support.is_of_face())
          left = std::min(now.dot(x - from * plane.local_point) - plane.radius, Real(0));
        plane.local_normal = surface.normal;
        plane.local_point = q - surface.distance * surface.normal;
      }
    }
  }
  const Vec3 p0 = from * plane.local_point, p1 = to * plane.local_point;
  plane.normal = to.rotation * plane.local_normal;
  plane.velocity = (p1 - p0) / sub.h;
  // What a particle gets in a substep changes x cross m v as if it acted where the particle was as that
  // began, since it ends at x + h v; with that arm for both, angular momentum stays.
  plane.arm = x - centre;
  // An overlap that is left is not made deeper by a plane that is new.
  Real gap = std::max(plane.normal.dot(x - p0) - plane.radius, left);
  if (support.is_of_face() && gap < 0) gap = std::max(parted * gap, -parting_speed * sub.h);
  plane.gap = gap - plane.normal.dot(gone - (sub.since - sub.h) * plane.velocity);
}

void PbdSupports::begin_substep(const Substep& sub) {
  step_part_ = sub.s1 - sub.s0, step_done_ = sub.s1;
  for (Group& group : groups_) {
    if (!group.is_free()) continue;
    group.velocity += sub.h * group.bearer.acceleration;
    group.own_velocity += sub.h * group.bearer.acceleration;
    group.to = group.turned_freely(sub.s0, sub.s1, sub.h);
    group.inverse_inertia = group.inverse_inertia_at(group.to);
    group.moved.setZero(), group.turned.setZero();
  }
  parallel_for(supports_.size(), supports_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s)
      if (supports_[s].shape || can_yield(supports_[s])) find_plane(planes_[s], supports_[s], sub);
  });
  std::fill(pushed_.begin(), pushed_.end(), Real(0));
  std::fill(rubbed_.begin(), rubbed_.end(), Vec3::Zero());
  std::fill(held_.begin(), held_.end(), Vec3::Zero());
  if (links_) begin_rows(sub);
}

/// Among how many each body is shared: those that press on it now. Counted as the substep began, they left
/// out what a light body was pushed into, which pushed it back by many times what was to be.
void PbdSupports::share(const Substep& sub, std::span<const detail::Place> places) {
  for (Group& group : groups_) group.sharers = 0;
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    const Support& support = supports_[s];
    Group* const group = group_of(support);
    if (!group) continue;
    const Plane& plane = planes_[s];
    const Vec3 x = at(support, places);
    group->sharers +=
        pushed_[s] > 0 ||
        plane.gap + plane.normal.dot(x - sub.since * plane.velocity - group->pushed_by(plane.arm)) < 0;
  }
}

void PbdSupports::move_untied() {
  for (Group& group : groups_) {
    group.moved = group.bearer.inverse_mass * group.bearer.free.cwiseProduct(group.pushed);
    group.turned = group.inverse_inertia * group.moment;
  }
}

/// Of what tethers take of a body, impulse [kg m].
void PbdSupports::pull(Group& group, std::size_t s, const Vec3& impulse) {
  const Vec3 moment = planes_[s].arm.cross(impulse);
  held_[s] += impulse;
  group.pushed -= impulse, group.moment -= moment;
  group.moved -= group.bearer.inverse_mass * group.bearer.free.cwiseProduct(impulse);
  group.turned -= group.inverse_inertia * moment;
}

/// As in PbdBodies::hold_by_tethers(), but at the point that presses.
void PbdSupports::hold_by_tethers(const Substep& sub, std::span<const detail::Place> places) {
  const auto way = [&](Index i) {
    const detail::Place& place = places[std::size_t(i)];
    return Vec3(place.x[0], place.x[1], place.x[2]);
  };
  const auto at = [&](Index i) { return Vector3<double>((sub.x0[std::size_t(i)] + way(i)).cast<double>()); };
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    const Support& support = supports_[s];
    Group* const group = group_of(support);
    if (!group || !(pushed_[s] > 0)) continue;
    const Plane& plane = planes_[s];
    const Vec3& n = plane.normal;
    const Real inverse_mass = group->answers(plane.arm, n);
    if (!(inverse_mass > 0)) continue;
    for (int i = 0; i < (support.is_of_face() ? 3 : 1); ++i) {
      const auto hold = [&](Index pin, double back) {
        const Vec3 pin_goes = way(pin) - sub.gone[std::size_t(pin)];
        const auto past = [&] {
          return Vec3(sub.h * plane.velocity + group->pushed_by(plane.arm) - pin_goes);
        };
        const Real by = std::min(Real(back), n.dot(past())) / inverse_mass;
        if (!(by > 0)) return;
        pull(*group, s, by * n);
        // What is held so slides on what is taut.
        const Vec3 slid = past() - n.dot(past()) * n;
        const Real far = slid.norm();
        if (!(far > 0) || !(support.friction > 0)) return;
        const Vec3 along = slid / far;
        pull(*group, s, std::min(support.friction * by, far / group->answers(plane.arm, along)) * along);
      };
      if (support.weight[i] > 0)
        tethers_->each_taut(Index(support.corner(i)), n.cast<double>(), strain_limit_, places, at, hold);
    }
  }
}

/// By what all have pushed and rubbed.
void PbdSupports::move_groups(const Substep& sub, std::span<const detail::Place> places) {
  for (Group& group : groups_) group.pushed.setZero(), group.moment.setZero();
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    const Support& support = supports_[s];
    Group* const group = group_of(support);
    if (!group || !(pushed_[s] > 0)) continue;
    const Real inverse_mass = inverse_mass_at(support, [&](std::size_t i) { return places[i].inverse_mass; });
    const Vec3 by = -(pushed_[s] * planes_[s].normal + rubbed_[s]) / inverse_mass - held_[s];
    group->pushed += by, group->moment += planes_[s].arm.cross(by);
  }
  move_untied();
  if (tethers_) hold_by_tethers(sub, places);
  if (links_) solve_rows();
}

/// Puts a `share` of a point x [m] that is beyond its plane back; false: it is not, and has not been pushed.
bool PbdSupports::hold_point(std::size_t s, const Substep& sub, Vec3& x, const Vec3& gone, Real inverse_mass,
                             Real share, PbdRest* rest) {
  const Support& support = supports_[s];
  const Plane& plane = planes_[s];
  const Vec3& n = plane.normal;
  const Group* const group = group_of(support);
  // Of what particle and body part by along a unit vector, what the particle goes.
  const auto part = [&](const Vec3& along) {
    return share * (group ? 1 / (1 + group->yields(plane.arm, along) / inverse_mass) : Real(1));
  };
  const Vec3 by = group ? group->pushed_by(plane.arm) : Vec3(Vec3::Zero());
  const Vec3 led = sub.h * plane.velocity + by;
  const Real open = plane.gap + n.dot(x) - sub.since * n.dot(plane.velocity) - n.dot(by);
  if (rest && rest->on == Index(s)) pushed_[s] += std::exchange(rest->load, Real(0));
  if (open >= 0 && pushed_[s] == 0) return false;
  // No more is taken back than was given.
  const Real push = std::max(-part(n) * open, -pushed_[s]);
  if (push == 0 && pushed_[s] == 0) return false;
  pushed_[s] += push;
  x += push * n;
  // What has slid in the substep, within Coulomb's bound on all that friction takes back in it. Source:
  // Macklin, Mueller, Chentanez & Kim 2014, "Unified particle physics for real-time applications", eq. 24.
  const Vec3 way = x - gone - led, slid = way - n.dot(way) * n;
  const Real far = slid.norm();
  const Vec3 holds = rubbed_[s] - (far > 0 ? part(slid / far) : Real(1)) * slid;
  Vec3 rub = holds;
  const Real bound = support.friction * pushed_[s], length = rub.norm();
  if (length > bound) rub *= length > 0 ? bound / length : Real(0);
  x += rub - rubbed_[s];
  rubbed_[s] = rub;
  // What has been lifted off again bears nothing.
  if (rest && !(pushed_[s] > 0) && rest->on == Index(s)) *rest = PbdRest{};
  if (rest && pushed_[s] > 0 && (rest->on == -1 || rest->on == Index(s)))
    *rest = {n, Index(s), rest->load, pushed_[s], support.friction, rub, rub - holds, led, n.dot(x)};
  return true;
}

/// Each corner goes by its share of the impulse, and none farther than the point: where others are held, one
/// with little weight would go many times as far.
void PbdSupports::hold_faces(const Substep& sub, std::span<detail::Place> places) {
  for (const Index of : faces_) {
    const auto s = std::size_t(of);
    const Support& support = supports_[s];
    const Real inverse_mass = inverse_mass_at(support, [&](std::size_t i) { return places[i].inverse_mass; });
    if (!(inverse_mass > 0)) continue;
    const Vec3 before = at(support, places);
    Vec3 x = before;
    Real most = 1;  // of the point's way, that a corner goes
    for (int i = 0; i < 3; ++i)
      most = std::max(most, support.weight[i] * places[support.corner(i)].inverse_mass / inverse_mass);
    if (!hold_point(s, sub, x, at(support, sub.gone), inverse_mass, 1 / most, nullptr)) continue;
    for (int i = 0; i < 3; ++i) {
      detail::Place& place = places[support.corner(i)];
      const Vec3 way = support.weight[i] * place.inverse_mass / inverse_mass * (x - before);
      for (int c = 0; c < 3; ++c) place.x[c] += way[c];
    }
  }
}

void PbdSupports::hold(const Substep& sub, std::span<detail::Place> places, std::span<PbdRest> rests) {
  if (!groups_.empty()) share(sub, places);
  each_sample(supports_, order_, [&](std::size_t s) {
    const auto i = static_cast<std::size_t>(supports_[s].sample);
    detail::Place& place = places[i];
    if (place.inverse_mass == 0) return;
    Vec3 x(place.x[0], place.x[1], place.x[2]);
    if (!hold_point(s, sub, x, sub.gone[i], place.inverse_mass, 1, rests.empty() ? nullptr : &rests[i]))
      return;
    for (int c = 0; c < 3; ++c) place.x[c] = x[c];
  });
  hold_faces(sub, places);
  if (!groups_.empty()) move_groups(sub, places);
}

void PbdSupports::add_limits(const Substep& sub, std::vector<PbdLimit>& out) const {
  for (const Index s : order_) {
    const Support& support = supports_[std::size_t(s)];
    const Plane& plane = planes_[std::size_t(s)];
    if (can_yield(support)) continue;
    const Real speed = plane.normal.dot(plane.velocity);
    out.push_back({support.sample, plane.normal, sub.since * speed - plane.gap, sub.h * speed});
  }
}

/// In a step a body gets no faster, where it is pressed, than what is near it was as the step began, or than
/// it was, but by a little more: what has pushed overlap apart is no speed. Jelly that snapped back from
/// under a plank on its edge threw it with seven times its energy.
void PbdSupports::find_fastest(std::span<const Vec3> v, Real dt) {
  const auto each = [&](auto&& f) {
    for (const Support& support : supports_)
      if (Group* const group = group_of(support)) f(*group, support, at(support, v));
  };
  each([](Group& group, const Support&, const Vec3& of) { group.mean += of, group.near += 1; });
  for (Group& group : groups_)
    if (group.near > 0) group.mean /= group.near;
  each([&](Group& group, const Support& support, const Vec3& of) {
    // Not that of a point that turns by radians in the step, whose way is short.
    const Vec3 body = group.bearer.velocity + group.gone / dt +
                      group.bearer.angular_velocity.cross(support.point - support.bearer.centre);
    group.fastest = std::max({group.fastest, (of - group.mean).norm(), (body - group.mean).norm()});
  });
  for (Group& group : groups_) group.fastest += most_sped_up;
}

void PbdSupports::bound_speeds(Real h) {
  for (Group& group : groups_) group.part = 1;
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    Group* const group = group_of(supports_[s]);
    if (!group || !(pushed_[s] > 0)) continue;
    const Vec3 spin = group->spin_of(
        group->to, group->momentum + group->gained(step_done_ - step_part_, step_done_), step_done_);
    const Vec3 from =
        step_part_ * group->gone / h + group->velocity + spin.cross(planes_[s].arm) - group->mean;
    const Vec3 by = group->pushed_by(planes_[s].arm) / h;
    const Real a = by.squaredNorm(), b = from.dot(by),
               c = from.squaredNorm() - group->fastest * group->fastest;
    if (!(a + 2 * b + c > 0) || !(a > 0)) continue;
    const Real most = (std::sqrt(std::max(Real(0), b * b - a * c)) - b) / a;
    group->part = std::min(group->part, std::clamp(most, Real(0), Real(1)));
  }
}

void PbdSupports::bounce(std::vector<Vec3>& v, std::span<const Vec3> before,
                         std::span<const Real> inverse_mass, Real h) {
  if (!groups_.empty()) bound_speeds(h);
  if (links_) bound_linked();
  const auto book = [&](std::size_t s) {
    Support& support = supports_[s];
    if (!(pushed_[s] > 0)) return;
    const auto i = static_cast<std::size_t>(support.sample);
    const Real mass = 1 / inverse_mass_at(support, [&](std::size_t k) { return inverse_mass[k]; });
    const Plane& plane = planes_[s];
    const Group* const group = group_of(support);
    Vec3 given =
        (group ? group->part : Real(1)) / h * (mass * (pushed_[s] * plane.normal + rubbed_[s]) + held_[s]);
    // Particles that a body which yields bounces off are not offered (coupling/support.cpp); triangles are,
    // and are of such bodies alone: these do not bounce.
    const Real approach = -plane.normal.dot(before[i] - plane.velocity);
    if (!group && bounces(approach, support.restitution, h)) {
      const Real now = plane.normal.dot(v[i] - plane.velocity);
      const Real change = std::max(support.restitution * approach - now, Real(0));
      v[i] += change * plane.normal;
      given += mass * change * plane.normal;
    }
    support.impulse += given;
    if (group) support.couple += (plane.arm - (support.point - support.bearer.centre)).cross(given);
  };
  each_sample(supports_, order_, book);
  for (const Index s : faces_) book(std::size_t(s));
  for (Group& group : groups_) {
    group.own_way += h * group.own_velocity;
    group.way += h * group.velocity + group.moved;
    group.velocity += (group.part / h) * group.moved;
    const Vec3 given = (group.part / h) * (group.moment + group.linked_moment);
    if (group.is_turned > 0) {
      const Vec3 by = (group.part / h) * group.moved,
                 goes = step_part_ / h * group.gone + group.velocity - by / 2;
      const Vec3 pushed = (group.part / h) * (group.pushed + group.linked);
      const Vec3 l = group.momentum + group.gained(step_done_ - step_part_, step_done_) + given / 2;
      group.work += pushed.dot(goes) + given.dot(group.inverse_inertia * l);
    }
    group.momentum += group.gained(step_done_ - step_part_, step_done_) + given;
    group.given += given;
    group.from = turned_by(group.turned, group.to);
  }
  if (links_) end_rows(h);
}

}  // namespace plenum::inline PLENUM_ABI
