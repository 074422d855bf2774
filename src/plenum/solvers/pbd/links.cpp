// What ties bodies that supports push, as it answers these pushes: projected Gauss-Seidel over rows of
// contacts and joints. Source: Erleben 2007, "Velocity-based shock propagation for multibody dynamics
// animation", for the splitting; Tasora & Anitescu 2011, "A matrix-free cone complementarity
// approach for solving large-scale, nonsmooth, rigid body dynamics", for the cone.
#include <algorithm>
#include <cmath>

#include "plenum/solvers/pbd/detail/workspace.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// How often rows are solved in each round of what pushes, from where they were after the last: few often,
/// so that a plank on a joint bears ten times its mass, thousands as seldom as still holds stacks of three.
constexpr std::size_t solved_in_round = 3000, least_sweeps = 1, most_sweeps = 40;
/// What is tied counts as so many times heavier at most as what pushes it finds it.
constexpr Real least_gives = Real(1e-3);
/// From round to round it counts as so many times heavier at most.
constexpr Real falls_to = 4;
/// Of the weight of a body, by which it is probed.
constexpr Real weak = Real(1e-3);
/// Part of the work of what pushes from where on what it changes by tells something.
constexpr Real least_change = Real(1e-2);

/// [rad] From one attitude to another.
Vec3 turn_between(const Quat& from, const Quat& to) {
  return rotation_vector((to * from.conjugate()).cast<double>()).cast<Real>();
}

/// [kg m^2] Of pushes and moments on what they move and turn.
Real work(const std::array<Vec3, 4>& answer) {
  return answer[0].dot(answer[2]) + answer[1].dot(answer[3]);
}

}  // namespace

void PbdSupports::take_links(Real dt) {
  for (LinkedBody& linked : links_->bodies)
    if (std::size_t(linked.group) >= groups_.size()) groups_.resize(std::size_t(linked.group) + 1);
  for (const LinkRow& of : links_->rows)
    for (const Index g : {of.a, of.b})
      if (g >= 0) groups_[std::size_t(g)].is_linked = true;
  for (const LinkedBody& linked : links_->bodies)
    if (Group& group = groups_[std::size_t(linked.group)]; group.is_linked)
      begin_group(group, linked.bearer, linked.pose0, linked.pose, dt);
  rows_.assign(links_->rows.size(), Row{});
  for (std::size_t r = 0; r < rows_.size(); ++r) rows_[r].room = links_->rows[r].room;
}

/// With the arms as bodies have turned beyond their own step, as the part s of it has gone. A straight chain
/// that is held at both ends gives way across, and is held there by what turns it out of the straight.
void PbdSupports::turn_arms(LinkRow& of, Real s) const {
  const auto turn = [&](Index g, const Vec3& arm, Vec3& about) {
    if (g >= 0) about = (groups_[std::size_t(g)].turned_on(s) * arm).cross(of.along);
  };
  turn(of.a, of.arm_a, of.about_a), turn(of.b, of.arm_b, of.about_b);
}

void PbdSupports::begin_rows(const Substep& sub) {
  const Real part = sub.s1 - sub.s0;
  for (Group& group : groups_) {
    if (!group.is_linked) continue;
    // What pushed in the last substep is no change in this one.
    for (Answer* of : {&group.last, &group.last_alone}) of->fill(Vec3::Zero());
    group.own_go = part * group.gone + sub.h * group.own_velocity;
    group.more = sub.h * (group.velocity - group.own_velocity);
    group.more_turn =
        turn_between(group.turned_on(sub.s0), group.to * group.own_attitude(sub.s1).conjugate());
    group.own_turn = part * turn_between(group.begin, group.end);
  }
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    LinkRow& of = links_->rows[r];
    Row& row = rows_[r];
    Real inverse = 0;
    if (of.is_of_point) turn_arms(of, sub.s0);
    row.opens = 0;
    const auto add = [&](Index g, Real side, const Vec3& about) {
      if (g < 0) return;
      const Group& group = groups_[std::size_t(g)];
      inverse += group.bearer.inverse_mass * of.along.dot(group.bearer.free.cwiseProduct(of.along)) +
                 about.dot(group.inverse_inertia * about);
      row.opens += side * (of.along.dot(group.more) + about.dot(group.more_turn));
    };
    add(of.a, -1, of.about_a), add(of.b, 1, of.about_b);
    row.mass = inverse > 0 ? 1 / inverse : Real(0);
    row.given = part * sub.h * of.given;
  }
  if (sub.s0 == 0) probe_rows(sub.h);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const LinkRow& of = links_->rows[r];
    const auto slides = [&](Index g, const Vec3& about) {
      if (g < 0) return Real(0);
      const Group& group = groups_[std::size_t(g)];
      return of.along.dot(group.own_go) + about.dot(group.own_turn);
    };
    Row& row = rows_[r];
    row.slides = slides(of.b, of.about_b) - slides(of.a, of.about_a) + part * of.drift;
    // On their own way they come nearer, and part.
    if (of.kind == LinkRow::Kind::contact) row.room = std::max(row.room + row.slides, Real(0));
  }
}

Real PbdSupports::opening(const LinkRow& of, const Row& row) const {
  Real opens = row.opens;
  if (of.a >= 0) {
    const Group& a = groups_[std::size_t(of.a)];
    opens -= of.along.dot(a.moved) + of.about_a.dot(a.turned);
  }
  if (of.b >= 0) {
    const Group& b = groups_[std::size_t(of.b)];
    opens += of.along.dot(b.moved) + of.about_b.dot(b.turned);
  }
  return opens;
}

void PbdSupports::push_row(const LinkRow& of, Real by) {
  const auto push = [&](Index g, Real of_it, const Vec3& about) {
    if (g < 0) return;
    Group& group = groups_[std::size_t(g)];
    const Vec3 linear = of_it * of.along, moment = of_it * about;
    group.linked += linear, group.linked_moment += moment;
    group.moved += group.bearer.inverse_mass * group.bearer.free.cwiseProduct(linear);
    group.turned += group.inverse_inertia * moment;
  };
  push(of.a, -by, of.about_a), push(of.b, by, of.about_b);
}

void PbdSupports::solve_row(std::size_t r) {
  const LinkRow& of = links_->rows[r];
  Row& row = rows_[r];
  const auto set = [&](std::size_t k, Real pushed) {
    const Real by = pushed - rows_[k].pushed;
    rows_[k].pushed = pushed;
    if (by != 0) push_row(links_->rows[k], by);
  };
  switch (of.kind) {
    case LinkRow::Kind::joint:
      set(r, row.pushed - row.mass * opening(of, row));
      break;
    case LinkRow::Kind::contact:
    case LinkRow::Kind::limit:
      set(r, std::max(row.pushed - row.mass * (opening(of, row) + row.room), -row.given));
      break;
    case LinkRow::Kind::friction: {
      // Both directions are bounded as one, by what rests or what slides.
      const std::size_t first = r - std::size_t(of.contacts);
      const LinkRow& other = links_->rows[r + 1];
      Row& across = rows_[r + 1];
      Real pressed = 0;
      for (std::size_t k = first; k < r; ++k) pressed += std::max(rows_[k].given + rows_[k].pushed, Real(0));
      Real one = row.given + row.pushed - row.mass * (opening(of, row) + row.slides);
      Real two =
          other.friction > 0
              ? (across.given + across.pushed - across.mass * (opening(other, across) + across.slides)) /
                    other.friction
              : Real(0);
      const Real length = std::sqrt(one * one + two * two), bound = of.friction * pressed;
      if (length > of.static_friction * pressed) one *= bound / length, two *= bound / length;
      set(r, one - row.given), set(r + 1, other.friction * two - across.given);
      break;
    }
    case LinkRow::Kind::across:
      break;
    case LinkRow::Kind::twist: {
      const std::size_t end = r - 2, first = end - std::size_t(of.contacts);
      Real bound = 0;
      for (std::size_t k = first; k < end; ++k)
        bound += links_->rows[k].friction * links_->rows[k].lever *
                 std::max(rows_[k].given + rows_[k].pushed, Real(0));
      const Real wanted = row.given + row.pushed - row.mass * (opening(of, row) + row.slides);
      set(r, std::clamp(wanted, -bound, bound) - row.given);
      break;
    }
  }
}

void PbdSupports::solve_rows() {
  for (Group& group : groups_)
    if (group.is_linked) {
      group.linked.setZero(), group.linked_moment.setZero();
      group.alone = {group.pushed, group.moment, group.moved, group.turned};
    }
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (rows_[r].pushed != 0) push_row(links_->rows[r], rows_[r].pushed);
  const std::size_t sweeps = std::clamp(solved_in_round / rows_.size(), least_sweeps, most_sweeps);
  for (std::size_t k = 0; k < sweeps; ++k)
    for (std::size_t r = 0; r < rows_.size(); ++r) solve_row(r);
  for (Group& group : groups_)
    if (group.is_linked) see_what_gives(group);
}

/// How the step begins, before anything pushes: by the answer to a push along all that bears particles.
void PbdSupports::probe_rows(Real h) {
  for (Group& group : groups_) group.pushed.setZero(), group.moment.setZero();
  for (std::size_t s = 0; s < supports_.size(); ++s)
    if (Group* const group = group_of(supports_[s]); group && group->is_linked) {
      // So weak that no contact lets go.
      const Vec3 by = -(weak * earth_gravity * h * h / group->bearer.inverse_mass) * planes_[s].normal;
      group->pushed += by, group->moment += planes_[s].arm.cross(by);
    }
  move_untied();
  solve_rows();
  for (Group& group : groups_) {
    if (!group.is_linked) continue;
    const Real all = work(group.alone);
    group.gives = all > 0 ? std::clamp(work(group.last) / all, least_gives, Real(1)) : Real(1);
    group.moved.setZero(), group.turned.setZero();
  }
  for (Row& row : rows_) row.pushed = 0;
}

/// By all that pushes it, and by how that has changed since the last round: where a contact has just let go,
/// a body gives by all of what is more, though what it has given is still little.
void PbdSupports::see_what_gives(Group& group) {
  const Answer now{group.pushed, group.moment, group.moved, group.turned};
  Answer more, more_alone;
  for (std::size_t c = 0; c < now.size(); ++c) {
    more[c] = now[c] - group.last[c];
    more_alone[c] = group.alone[c] - group.last_alone[c];
  }
  const Real all = work(group.alone), changed = work(more_alone);
  Real gives = group.gives / falls_to;
  if (all > 0) gives = std::max(gives, work(now) / all);
  if (changed > least_change * all) gives = std::max(gives, work(more) / changed);
  group.gives = std::clamp(gives, least_gives, Real(1));
  group.last = now, group.last_alone = group.alone;
}

/// What ties two bodies gives both the same: of it and of all else that pushes them, they take the same part.
void PbdSupports::bound_linked() {
  bool is_less = std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.part < 1; });
  while (std::exchange(is_less, false))
    for (const LinkRow& of : links_->rows) {
      if (of.a < 0 || of.b < 0) continue;
      Real &a = groups_[std::size_t(of.a)].part, &b = groups_[std::size_t(of.b)].part;
      is_less = is_less || a != b;
      a = b = std::min(a, b);
    }
}

void PbdSupports::end_rows(Real h) {
  for (Group& group : groups_) {
    group.impulse += (group.part / h) * group.linked;
    group.couple += (group.part / h) * group.linked_moment;
  }
  const auto part_of = [&](const LinkRow& of) { return groups_[std::size_t(of.a >= 0 ? of.a : of.b)].part; };
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const LinkRow& of = links_->rows[r];
    links_->rows[r].impulse += part_of(of) / h * rows_[r].pushed;
    const bool pushes = of.kind == LinkRow::Kind::contact || of.kind == LinkRow::Kind::limit;
    if (pushes) rows_[r].room = std::max(rows_[r].room + opening(of, rows_[r]), Real(0));
  }
}

void PbdSupports::tell_linked() {
  for (LinkRow& of : links_->rows)
    if (of.is_of_point) of.about_a = of.arm_a.cross(of.along), of.about_b = of.arm_b.cross(of.along);
  for (LinkedBody& linked : links_->bodies) {
    Group& group = groups_[std::size_t(linked.group)];
    if (!group.is_linked) continue;
    group.is_told = true;
    linked.impulse = group.impulse, linked.couple = group.couple;
    linked.shift = group.way - group.own_way;
    linked.turn = rotation_vector(group.turned_on(1).cast<double>()).cast<Real>();
    linked.couple += group.turned_momentum();
  }
}

}  // namespace plenum::inline PLENUM_ABI
