// What ties bodies to each other, for those that push them after their step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "plenum/solvers/rigid/detail/continuous.h"
#include "plenum/solvers/rigid/detail/friction.h"
#include "plenum/solvers/rigid/detail/joint_rows.h"
#include "plenum/solvers/rigid/detail/last_contacts.h"
#include "plenum/solvers/rigid/detail/workspace.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// How many contacts and joints away, and how many in all, bodies are looked for: what is beyond goes where
/// its own step says. So a heap of thousands on jelly costs no more than what lies near it.
constexpr int most_hops = 8;
constexpr std::size_t most_linked = 2048;

/// Of the smaller one's width: farther apart than that, bodies do not come to touch in the step.
constexpr Real near = Real(0.02);

/// [rad] What turns farther in the step has other levers than rows say; but for what rolls, whose contact
/// stays where it is: it goes by less than `rolls` of the smaller one's width along the normal.
constexpr Real turns_far = Real(0.1), rolls = Real(0.02);

/// Mean way from the middle of a face that presses evenly, over that of its corners, and of a line's ends.
constexpr Real lever_of_face = Real(0.54), lever_of_line = Real(0.5);

/// [rad] Farther from its limit, a joint does not come to it in the step.
constexpr Real most_turn_in_step = Real(0.5);

/// Whether its first three freedoms are those of a point in the world (joint_rows.h).
bool holds_a_point(rigid::JointType type) {
  using enum rigid::JointType;
  return type == ball || type == hinge || type == fixed || type == universal;
}

struct Links {
  const Rigid::Model& model;
  const Rigid::State& state;
  const Rigid::Params& params;
  RigidWorkspace& w;
  BodyLinks& out;

  /// Its group, or -1.
  Index group(Index body) const { return body >= 0 && w.is_linked[std::size_t(body)] ? body : Index(-1); }
  bool yields(Index body) const {
    return body >= 0 && model.motion[std::size_t(body)] == Rigid::Motion::dynamic &&
           state.frames.inverse_mass[std::size_t(body)] > 0;
  }

  /// Free, and too far away: what it would be pushed by is not known, nor how it would answer.
  bool is_beyond(Index body) const { return yields(body) && group(body) < 0; }
  /// [m/s] of a point that goes with the body, at an arm from its centre
  Vec3 velocity(Index body, const Vec3& arm) const {
    const auto i = std::size_t(body);
    return state.frames.v[i] + state.frames.w[i].cross(arm);
  }

  void find_bodies(std::span<const Index> solids);
  void add_contacts(const Rigid::Contacts& contacts, Real rate);
  void add_contact(const Rigid::Contacts& contacts, std::size_t k, Real rate);
  Vec3 led(Index body, const Vec3& x) const;
  void add_joint(std::size_t k);
};

/// Breadth first along contacts and joints.
void Links::find_bodies(std::span<const Index> solids) {
  const std::size_t n = model.motion.size();
  const auto each_tie = [&](auto&& f) {
    const auto tie = [&](Index one, Index other) {
      if (one != other && yields(one) && yields(other))
        f(std::size_t(one), other), f(std::size_t(other), one);
    };
    for (const Rigid::Contacts* contacts : {&state.contacts, &state.rest.contacts})
      for (const Index2& pair : contacts->pair)
        tie(model.colliders[pair[0]].body, model.colliders[pair[1]].body);
    for (std::size_t k = 0; k < model.joints.size(); ++k)
      if (!state.joints.broken[k]) tie(model.joints[k].a, model.joints[k].b);
  };
  // Neighbours of each body, one after the other.
  std::vector<Index>&ends = w.link_ends, &others = w.link_others;
  ends.assign(n + 1, 0);
  each_tie([&](std::size_t one, Index) { ++ends[one + 1]; });
  for (std::size_t i = 0; i < n; ++i) ends[i + 1] += ends[i];
  others.resize(std::size_t(ends[n]));
  each_tie([&](std::size_t one, Index other) { others[std::size_t(ends[one]++)] = other; });
  std::vector<Index>& found = w.linked;
  found.clear();
  w.is_linked.assign(n, 0);
  const auto add = [&](Index body) {
    if (!yields(body) || w.is_linked[std::size_t(body)] || found.size() >= most_linked) return;
    w.is_linked[std::size_t(body)] = 1, found.push_back(body);
  };
  for (const Index solid : solids) add(model.colliders[model.solids[std::size_t(solid)]].body);
  std::size_t next = 0;
  for (int hop = 0; hop < most_hops && next < found.size(); ++hop)
    for (const std::size_t end = found.size(); next < end; ++next) {
      const auto body = std::size_t(found[next]);
      for (Index k = body > 0 ? ends[body - 1] : Index(0); k < ends[body]; ++k) add(others[std::size_t(k)]);
    }
  std::vector<Index>& solid_of = w.link_ends;
  solid_of.assign(n, -1);
  for (std::size_t k = model.solids.size(); k-- > 0;)
    solid_of[std::size_t(model.colliders[model.solids[k]].body)] = Index(k);
  for (const Index body : found) {
    const Index solid = solid_of[std::size_t(body)];
    if (solid >= 0)
      out.bodies.push_back({.body = solid, .group = body});
    else
      w.is_linked[std::size_t(body)] = 0;  // others do not know where it goes
  }
}

/// [m] The way in the step of a point of what does not yield.
Vec3 Links::led(Index body, const Vec3& x) const {
  if (group(body) >= 0) return Vec3::Zero();
  const Pose start{state.start_x[std::size_t(body)], Quat(state.start_q[std::size_t(body)])};
  return state.frames.pose(body) * start.to_local(x) - x;
}

void Links::add_contact(const Rigid::Contacts& contacts, std::size_t k, Real rate) {
  const Rigid::Collider &ca = model.colliders[contacts.pair[k][0]],
                        &cb = model.colliders[contacts.pair[k][1]];
  const Index a = group(ca.body), b = group(cb.body);
  if (a == b || is_beyond(ca.body) || is_beyond(cb.body)) return;
  const auto placed = [](const Pose& body, const Rigid::Collider& c) {
    return Pose{body * c.local.position, (body.rotation * c.local.rotation).normalized()};
  };
  const auto seen_from = [](const Pose& from, const Pose& x) {
    return Pose{from.to_local(x.position), (from.rotation.conjugate() * x.rotation).normalized()};
  };
  const auto at_start = [&](Index body) {
    return Pose{state.start_x[std::size_t(body)], Quat(state.start_q[std::size_t(body)])};
  };
  const Pose start = placed(at_start(ca.body), ca);
  const Pose then = seen_from(start, placed(at_start(cb.body), cb));
  const Pose now = seen_from(placed(state.frames.pose(ca.body), ca), placed(state.frames.pose(cb.body), cb));
  Manifold m;
  const ManifoldSeen seen = detail::seen_of(contacts, Index(k), m);
  const auto gap_at = [&](const Pose& b_in_a, const Manifold::Point& point) {
    const Quat by = b_in_a.rotation * seen.b_in_a.rotation.conjugate();
    const Vec3 turned = (by.w() < 0 ? Real(-2) : Real(2)) * by.vec();
    const Vec3 moved = b_in_a.position - seen.b_in_a.position + turned.cross(point.x - seen.b_in_a.position);
    return point.separation + m.normal.dot(moved);
  };
  const Real size = std::min(ca.size, cb.size);
  detail::ContactInput rubs{};
  rubs.normal = start.rotation * m.normal;
  detail::set_friction(state, ca, cb, rubs);
  const Vec3& n = rubs.normal;
  const auto arm = [&](Index body, const Vec3& x) { return Vec3(x - state.start_x[std::size_t(body)]); };
  const auto drift = [&](const Vec3& x) { return Vec3(led(cb.body, x) - led(ca.body, x)); };
  const auto add = [&](LinkRow row, const Vec3& x) -> LinkRow& {
    row.a = a, row.b = b;
    row.about_a = arm(ca.body, x).cross(row.along), row.about_b = arm(cb.body, x).cross(row.along);
    out.rows.push_back(row);
    return out.rows.back();
  };
  // Of what rolls the point stays, and of what tumbles its lever does not.
  const auto tumbles = [&](Index body, const Vec3& x) {
    const Quat by = state.frames.rotation(std::size_t(body)) * at_start(body).rotation.conjugate();
    const Vec3 turned = (by.w() < 0 ? Real(-2) : Real(2)) * by.vec();
    return group(body) >= 0 && turned.norm() > turns_far &&
           std::abs(n.dot(turned.cross(arm(body, x)))) > rolls * size;
  };
  const std::size_t first = out.rows.size();
  Vec3 middle = Vec3::Zero(), places[4];
  Real pressed = 0;
  for (int q = 0; q < m.count; ++q) {
    const Manifold::Point& point = m.points[q];
    const Vec3 x = start * point.x;
    if (tumbles(ca.body, x) || tumbles(cb.body, x)) continue;
    // What has struck and parts again is not pressed any more.
    const Real apart = n.dot(velocity(cb.body, arm(cb.body, x)) - velocity(ca.body, arm(ca.body, x)));
    const Real given = apart > params.gravity.norm() * state.dt ? Real(0) : contacts.impulse[k][q];
    const Real gap = std::max(gap_at(then, point), Real(0));
    if (!(given > 0) && std::min(gap, gap_at(now, point)) > near * size) continue;
    if (point.id - detail::guard_id < 4 && !(given > 0)) continue;
    add({.along = n,
         .room = given > 0 ? Real(0) : gap,
         .drift = n.dot(drift(x)),
         .given = rate * given,
         .friction = rubs.friction},
        x);
    places[out.rows.size() - first - 1] = x;
    middle += std::max(given, Real(1e-30)) * x, pressed += std::max(given, Real(1e-30));
  }
  const auto count = Index(out.rows.size() - first);
  if (count == 0 || !(rubs.friction > 0 || rubs.static_friction > 0)) return;
  middle /= pressed;
  const Real part = m.count > 2 ? lever_of_face : m.count == 2 ? lever_of_line : Real(0);
  for (std::size_t r = 0; r < std::size_t(count); ++r) {
    const Vec3 from = places[r] - middle;
    out.rows[first + r].lever = part * (from - n.dot(from) * n).norm();
  }
  const Vec3 &t = rubs.friction_axis, other = n.cross(t);
  Vec3 passes = drift(middle);
  if (!ca.surface_velocity.isZero())
    passes -= state.dt * (state.frames.rotation(std::size_t(ca.body)) * ca.surface_velocity);
  if (!cb.surface_velocity.isZero())
    passes += state.dt * (state.frames.rotation(std::size_t(cb.body)) * cb.surface_velocity);
  const Vec3 rubbed = rate * contacts.friction[k];
  add({.kind = LinkRow::Kind::friction,
       .along = t,
       .drift = t.dot(passes),
       .given = t.dot(rubbed),
       .friction = rubs.friction,
       .static_friction = rubs.static_friction,
       .contacts = count},
      middle);
  add({.kind = LinkRow::Kind::across,
       .along = other,
       .drift = other.dot(passes),
       .given = other.dot(rubbed),
       .friction = rubs.friction_ratio},
      middle);
  if (m.count < 2) return;
  const auto turns = [&](Index body) {
    const Quat by = state.frames.rotation(std::size_t(body)) * at_start(body).rotation.conjugate();
    return group(body) >= 0 ? Real(0) : n.dot((by.w() < 0 ? Real(-2) : Real(2)) * by.vec());
  };
  LinkRow& twist = add({.kind = LinkRow::Kind::twist,
                        .drift = turns(cb.body) - turns(ca.body),
                        .given = rate * contacts.twist[k],
                        .contacts = count},
                       middle);
  twist.about_a = twist.about_b = n;
}

void Links::add_contacts(const Rigid::Contacts& contacts, Real rate) {
  for (std::size_t k = 0; k < contacts.pair.size(); ++k) add_contact(contacts, k, rate);
}

void Links::add_joint(std::size_t k) {
  const Rigid::Joint& joint = model.joints[k];
  const Index a = group(joint.a), b = group(joint.b);
  if (a == b || is_beyond(joint.a) || is_beyond(joint.b)) return;
  if (joint.type == rigid::JointType::mouse) return;
  const auto place = [&](Index body) {
    if (body < 0) return detail::JointPose{};
    const Pose pose = state.frames.pose(body);
    return detail::JointPose{pose.position.cast<double>(), pose.rotation.cast<double>()};
  };
  double value[6] = {};
  detail::JointRows rows;
  detail::joint_rows(joint, place(joint.a), place(joint.b), value, rows);
  const int winds = detail::first_to_wind(joint);
  const auto set_arms = [&](LinkRow& row) {
    row.is_of_point = true;
    if (joint.a >= 0) row.arm_a = state.frames.pose(joint.a).rotation * joint.in_a.position;
    if (joint.b >= 0) row.arm_b = state.frames.pose(joint.b).rotation * joint.in_b.position;
  };
  for (std::size_t r = 0; r < 6; ++r) {
    const Rigid::JointAxis& axis = joint.axes[r];
    const auto add = [&](LinkRow::Kind kind, Real side, Real room) {
      out.rows.push_back({.kind = kind,
                          .a = a,
                          .b = b,
                          .along = side * rows.n[r].cast<Real>(),
                          .about_a = side * rows.on_a[r].cast<Real>(),
                          .about_b = side * rows.on_b[r].cast<Real>(),
                          .room = std::max(room, Real(0)),
                          .source = Index(k)});
    };
    if (axis.mode == rigid::AxisMode::locked) {
      add(LinkRow::Kind::joint, 1, 0);
      if (r < 3 && holds_a_point(joint.type)) set_arms(out.rows.back());
    } else if (axis.mode == rigid::AxisMode::limited) {
      const bool turns = r >= 3;
      double at = value[r];
      if (int(r) >= winds) at = detail::wound(at, 0.5 * (double(axis.lower) + double(axis.upper)));
      for (const Real side : {Real(1), Real(-1)}) {
        const Real room = side > 0 ? Real(at) - axis.lower : axis.upper - Real(at);
        if (!turns || room < most_turn_in_step) add(LinkRow::Kind::limit, side, room);
      }
    }
  }
}

}  // namespace

void Rigid::find_links(const Model& model, const State& state, const Params& params, Workspace& workspace,
                       std::span<const Index> bodies, BodyLinks& out) {
  if (!(state.dt > 0) || !workspace.data) return;
  // Of several steps that are one for others, the last is taken for all.
  const auto parts = static_cast<Real>(workspace.parts);
  Links links{model, state, params, *workspace.data, out};
  links.find_bodies(bodies);
  const std::size_t first = out.rows.size();
  links.add_contacts(state.contacts, parts * Real(params.substeps));
  // Those of what sleeps are a sixtieth of a second's.
  links.add_contacts(state.rest.contacts, parts * Real(params.substeps) * 60 * state.dt);
  for (std::size_t k = 0; k < model.joints.size(); ++k)
    if (!state.joints.broken[k]) links.add_joint(k);
  for (std::size_t r = first; r < out.rows.size(); ++r) out.rows[r].drift *= parts;
}

void Rigid::absorb(const Model& model, State& state, const Workspace& workspace,
                   std::span<const LinkRow> rows) {
  bool any = false;
  for (const LinkRow& row : rows) {
    if (row.source < 0 || row.impulse == 0 || !(state.dt > 0)) continue;
    const auto k = std::size_t(row.source);
    const Joint& joint = model.joints[k];
    // Of the moment what the force does not have about the joint.
    const bool on_b = joint.b >= 0;
    const Pose pose = state.frames.pose(on_b ? joint.b : joint.a);
    const Vec3 arm = pose.rotation * (on_b ? joint.in_b : joint.in_a).position;
    const Real rate = row.impulse / (static_cast<Real>(workspace.parts) * state.dt);
    state.joints.force[k] += rate * row.along;
    state.joints.torque[k] += rate * ((on_b ? row.about_b : row.about_a) - arm.cross(row.along));
    any = true;
  }
  if (!any) return;
  // Those that broke in the step stay told.
  const std::vector<Index> before = state.joints.just_broken;
  detail::JointSolver::break_joints(model, state.joints);
  std::vector<Index>& all = state.joints.just_broken;
  all.insert(all.end(), before.begin(), before.end());
  std::sort(all.begin(), all.end());
}

}  // namespace plenum::inline PLENUM_ABI
