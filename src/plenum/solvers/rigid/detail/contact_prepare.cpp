// Contacts are coloured and taken into batches.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/solvers/rigid/detail/contact_batch.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Where no column is made of them (contact_loads.cpp):
/// contacts of a light body under one of more than `heavy` times its mass, or under as much of many, bear a
/// weight that their springs, of a frequency with the light one, are too soft for, and pass on in each round
/// a part of about the ratio of the masses. They are this much firmer, as far as the rounds that they take
/// still bring to rest (a thousand times the mass sinks 28 mm with neither, 22 mm with the rounds alone, 7 mm
/// with both, and dances if 10 times as firm: `validate rigid/mass-ratio`).
constexpr Real heavy = 10, most_firm = 4;
constexpr int strained_rounds = 4;
/// All that lies on a body (its contact's normal rises so much) loads it like one body of this part of its
/// mass: a plate under twenty-five cubes passes on no more of each of them, and one under five does so well.
/// A cube in a pyramid bears four.
constexpr Real like_one = Real(2) / 3, upright = Real(0.5);
/// Rounds of a pass bring springs of as many times this stiffness to rest (contact_towers.cpp).
constexpr Real firm_of_round = Real(1.3);
/// The same of bodies in joints, which between the rounds take from them what they do not allow.
constexpr int joint_rounds = 8;
/// A body in joints is laden from this many times its own weight on. Less the rounds of its contacts and
/// joints in turn, one in each sub-step, bring to rest.
constexpr Real laden = 30;
/// Of a cone that rolls about its apex: its rim's friction turns it round, in every sub-step anew, and what a
/// round of friction and normals leaves of each other does work of one sign, a tenth of its energy in a
/// minute.
constexpr int rolling_rounds = 6;
constexpr Real hard_slop = Real(0.1);  ///< part of the size
/// Part of the size over which a contact is followed that slides. What slides farther in a step leaves it.
constexpr Real slide_followed = Real(0.25);

/// Puts the batches of a colour, each the next `wide` contacts in `order`, in the order of their first
/// contacts. Threads that share a colour out so find in each of them bodies that they have seen in the one
/// before; what is sorted by numbers of points alone sends most of them from one core to the other. What is
/// left at the end stays the last batch.
void order_batches(std::span<Index> order, std::vector<Index>& first, std::vector<Index>& before) {
  constexpr auto size = static_cast<std::size_t>(wide);
  const std::size_t whole = order.size() / size;
  if (std::is_sorted(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(whole * size))) return;
  before.assign(order.begin(), order.end());
  first.resize(whole);
  for (std::size_t b = 0; b < whole; ++b) first[b] = static_cast<Index>(b * size);
  std::sort(first.begin(), first.end(), [&](Index a, Index b) { return before[a] < before[b]; });
  for (std::size_t b = 0; b < whole; ++b)
    std::copy_n(before.begin() + first[b], size, order.begin() + static_cast<std::ptrdiff_t>(b * size));
}

}  // namespace

void ContactSolver::find_loads(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                               std::span<const Index> groups) {
  load_.assign(bodies.velocity.size(), Real(1));
  laid_on_.assign(bodies.velocity.size(), Real(0));
  strained_groups_.assign(bodies.velocity.size(), 0);
  any_joint_strained_ = false;
  const auto group_of = [&](Index i) { return std::size_t(i) < groups.size() ? groups[i] : Index(-1); };
  for (const ContactInput& c : contacts) {
    if (c.count == 0) continue;
    const Real ka = bodies.inertia[c.body_a].inverse_mass, kb = bodies.inertia[c.body_b].inverse_mass;
    if (kb > 0 && ka > heavy * kb) load_[c.body_a] = std::max(load_[c.body_a], ka / kb);
    if (ka > 0 && kb > heavy * ka) load_[c.body_b] = std::max(load_[c.body_b], kb / ka);
    const Real rises = c.normal.dot(settings_.up);  // from a to b
    if (ka > 0 && kb > 0 && rises > upright) laid_on_[c.body_a] += like_one * ka / kb;
    if (ka > 0 && kb > 0 && rises < -upright) laid_on_[c.body_b] += like_one * kb / ka;
    if (group_of(c.body_a) < 0 && group_of(c.body_b) < 0) continue;
    // What joints hang on a body is seen by what presses it. A blow does, too: it is gone over as often, but
    // firm is only what has borne the load for long.
    const Real presses = c.presses(), carries = c.carries();
    const Real own = settings_.gravity * settings_.impulse_time;  // [m/s] that a body's weight gives it
    for (const Index i : {c.body_a, c.body_b}) {
      const Real k = bodies.inertia[i].inverse_mass;
      if (group_of(i) < 0 || !(k * presses > laden * own)) continue;
      const Real firm = std::clamp(k * carries / (heavy * own), Real(1), most_firm);
      load_[i] = std::max(load_[i], 1 + (firm - 1) * std::min(Real(1), carries / presses));
      strained_groups_[group_of(i)] = 1;
      any_joint_strained_ = true;
    }
  }
  for (std::size_t i = 0; i < load_.size(); ++i)
    if (laid_on_[i] > heavy) load_[i] = std::max(load_[i], laid_on_[i]);
}

void ContactSolver::prepare(std::span<const ContactInput> contacts, const SolverBodies& bodies,
                            const ContactSettings& settings, std::span<const Index> groups) {
  settings_ = settings;
  any_pass_ = false;
  const std::size_t n = contacts.size();
  // Colours, greedily. Contacts with what cannot move take the last ones, so that they have the last word.
  used_.assign(bodies.velocity.size(), 0);
  meets_.assign(bodies.velocity.size(), 0);
  meeting_.clear();
  // A blow goes on from what joints hold, too.
  for (std::size_t i = 0; i < groups.size(); ++i) meets_[i] = groups[i] >= 0 ? 1 : 0;
  const auto group_of = [&](Index i) { return std::size_t(i) < groups.size() ? groups[i] : Index(-1); };
  find_loads(contacts, bodies, groups);
  find_towers(contacts, bodies);
  colour_of_.resize(n);
  // By the number of points; those that turn come after the others.
  constexpr int kinds = 9;
  const auto kind_of = [](const ContactInput& c) { return c.count + (c.changes() ? 4 : 0); };
  std::array<std::array<std::size_t, kinds>, num_colours> histogram{};
  constexpr std::uint64_t one_colour = 1, all = (one_colour << (num_colours - 1)) - 1;
  any_restitution_ = any_rolling_ = any_chained_ = false;
  bool any_booked = false;
  for (std::size_t i = 0; i < n; ++i) {
    const ContactInput& c = contacts[i];
    if (c.count == 0) continue;  // one with another
    const bool moves_a = bodies.is_movable(c.body_a), moves_b = bodies.is_movable(c.body_b);
    const std::uint64_t taken = (moves_a ? used_[c.body_a] : 0) | (moves_b ? used_[c.body_b] : 0);
    const std::uint64_t free = all & ~taken;
    int colour = num_colours - 1;
    if (free != 0) {
      colour = moves_a && moves_b ? std::countr_zero(free) : std::bit_width(free) - 1;
      if (moves_a) used_[c.body_a] |= one_colour << colour;
      if (moves_b) used_[c.body_b] |= one_colour << colour;
    }
    if (moves_a && moves_b) {
      meets_[c.body_a] = meets_[c.body_b] = 1;
    }
    colour_of_[i] = static_cast<std::uint8_t>(colour);
    ++histogram[colour][kind_of(c)];
    any_restitution_ |= c.restitution > 0;
    any_rolling_ |= c.rolling > 0;
    any_chained_ |= (meets_[c.body_a] | meets_[c.body_b]) != 0;
    any_booked |= c.booked;
  }
  // Contacts of a colour in order of their number of points, so that those of a batch have about as many.
  std::array<std::array<std::size_t, kinds>, num_colours> place{};
  std::size_t at = 0;
  for (int c = 0; c < num_colours; ++c)
    for (int k = 1; k < kinds; ++k) place[c][k] = at, at += histogram[c][k];
  order_.resize(at);
  for (std::size_t i = 0; i < n; ++i)
    if (contacts[i].count > 0) order_[place[colour_of_[i]][kind_of(contacts[i])]++] = static_cast<Index>(i);

  colours_.clear();
  std::size_t num_batches = 0, first = 0;
  for (int c = 0; c < num_colours; ++c) {
    std::size_t size = 0;
    for (int k = 1; k < kinds; ++k) size += histogram[c][k];
    if (size == 0) continue;
    const bool serial = c == num_colours - 1;
    if (!serial) order_batches(std::span(order_).subspan(first, size), batch_order_, unordered_);
    first += size;
    const std::size_t count = serial ? size : (size + wide - 1) / wide;
    colours_.push_back({num_batches, num_batches + count, serial});
    num_batches += count;
  }
  batches_.resize(num_batches);
  first = 0;
  rounds_ = 1;
  turned_.clear();
  std::uint32_t num_points = 0;
  for (const Colour& colour : colours_) {
    for (std::size_t b = colour.first; b < colour.end; ++b) {
      const std::size_t lanes = colour.serial ? 1 : wide;
      Batch& batch = batches_[b];
      batch.count = 0;
      batch.booked = batch.hard = false;
      batch.rounds = 1;
      bool turns = false;
      std::size_t size = 0;
      // The next contacts of this colour.
      for (; size < lanes && first < order_.size(); ++size) {
        const Index i = order_[first];
        if (size > 0 && colour_of_[i] != colour_of_[order_[first - 1]]) break;
        batch.contact[size] = i;
        batch.count = std::max(batch.count, contacts[i].count);
        batch.booked |= contacts[i].booked;
        batch.hard |= contacts[i].hard;
        turns |= kind_of(contacts[i]) > 4;
        if (contacts[i].rolls_round) batch.rounds = std::max(batch.rounds, rolling_rounds);
        for (const Index body : {contacts[i].body_a, contacts[i].body_b}) {
          const bool in_joints = group_of(body) >= 0 && strained_groups_[group_of(body)];
          batch.rounds = std::max(batch.rounds, in_joints         ? joint_rounds
                                                : load_[body] > 1 ? strained_rounds
                                                                  : 1);
        }
        if (!firm_of_tower_.empty()) {
          const int rounds = static_cast<int>(std::ceil(firm_of_tower_[i] / firm_of_round));
          batch.rounds = std::max(batch.rounds, std::min(strained_rounds, rounds));
        }
        rounds_ = std::max(rounds_, batch.rounds);
        ++first;
      }
      for (; size < wide; ++size) batch.contact[size] = -1;
      batch.turning = turns ? static_cast<std::uint32_t>(turned_.size()) : never;
      if (turns) turned_.push_back(static_cast<std::uint32_t>(b));
      batch.first_point = num_points;
      num_points += static_cast<std::uint32_t>(batch.count);
    }
  }
  find_columns(contacts, bodies, groups);
  for (const ColumnRow& row : column_rows_) {
    batches_[row.batch].rounds = std::max(batches_[row.batch].rounds, strained_rounds);
    rounds_ = std::max(rounds_, strained_rounds);
  }
  points_.resize(num_points);
  turning_.resize(turned_.size());
  sums_.assign(any_booked ? num_batches : 0, Sums{});

  const Real h = settings.h, unit = h / settings.impulse_time;
  const auto softness = [&](Real hertz, Real& bias, Real& mass, Real& impulse) {
    const Real omega = 2 * Real(std::numbers::pi) * std::min(hertz, sub_steps_part / h);
    const Real a1 = 2 * settings.damping_ratio + h * omega, a2 = h * omega * a1, a3 = 1 / (1 + a2);
    bias = omega / a1, mass = a2 * a3, impulse = a3;
  };
  Real bias, mass, impulse;
  softness(settings.hertz, bias, mass, impulse);

  share_batches(batches_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      Batch& batch = batches_[b];
      Points* points = points_.data() + batch.first_point;
      const Wide zero{};
      batch.writes_a = batch.writes_b = batch.bounced = batch.pushed = batch.chained = batch.struck =
          batch.strained = 0;
      batch.near = batch.on_turning = false;
      batch.strikes = batch.came = batch.comes = {};
      batch.bounces = false;
      batch.normal = {zero, fill(1), zero};
      batch.tangent = {fill(1), zero, zero};
      batch.soft_bias = batch.soft_mass = batch.slop = batch.push = zero;
      batch.soft_impulse = fill(1);
      batch.even_mass = batch.even_impulse = zero;
      batch.of_tower = false;
      batch.round_a = batch.round_b = batch.friction = batch.static_friction = batch.restitution =
          batch.rolling = zero;
      batch.slide = batch.slide_across = zero;
      batch.across_part = fill(1);
      batch.ra = batch.rb = batch.roll = {zero, zero, zero};
      batch.along = batch.across = batch.twist = zero;
      for (int p = 0; p < batch.count; ++p) points[p] = Points{};
      Wide present[4] = {};
      Turning* const turning = batch.turning == never ? nullptr : &turning_[batch.turning];
      if (turning) {
        turning->with_a = turning->with_b = turning->with_edges = turning->with_centres = turning->reach =
            turning->rolls_round = zero;
        turning->edge_a = turning->edge_b = turning->axis_a = turning->axis_b =
            turning->slip_to_come = {zero, zero, zero};
        for (Wide& curve : turning->curve) curve = zero;
      }
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
        batch.chained |= unsigned(meets_[c.body_a] | meets_[c.body_b]) << l;
        const auto turns_on = [&](Index body, Index other) {
          const Real* const w = bodies.velocity[body].w;
          return turns_on_from * bodies.inertia[body].inverse_mass < bodies.inertia[other].inverse_mass &&
                 (w[0] != 0 || w[1] != 0 || w[2] != 0);
        };
        batch.on_turning |= turns_on(c.body_a, c.body_b) || turns_on(c.body_b, c.body_a);
        for (const Index body : {c.body_a, c.body_b})
          if (group_of(body) >= 0 && strained_groups_[group_of(body)]) batch.strained |= 1U << l;
        const Vec3 tangent = c.friction_axis, other = c.friction_ratio * c.normal.cross(tangent);
        set(batch.normal, l, c.normal);
        set(batch.tangent, l, tangent);
        const Real of_column = firm_of_column_.empty() ? Real(0) : firm_of_column_[i],
                   of_tower = firm_of_tower_.empty() ? Real(1) : firm_of_tower_[i],
                   load =
                       std::max(std::min(most_firm, std::max(load_[c.body_a], load_[c.body_b])), of_column);
        const auto soft_mass = [&](Real firm) {
          return firm > 1 ? firm * mass / (impulse + firm * mass) : mass;
        };
        const auto soft_impulse = [&](Real firm) {
          return firm > 1 ? impulse / (impulse + firm * mass) : impulse;
        };
        batch.soft_bias[l] = bias;
        batch.soft_mass[l] = soft_mass(std::max(load, of_tower));
        batch.soft_impulse[l] = soft_impulse(std::max(load, of_tower));
        // What is laden otherwise is to be firm in all ways at once.
        if (of_tower > 1 && load <= 1 && of_column == 0) {
          batch.even_mass[l] = soft_mass(even_firm_of_tower_[i]) - batch.soft_mass[l];
          batch.even_impulse[l] = soft_impulse(even_firm_of_tower_[i]) - batch.soft_impulse[l];
          batch.of_tower = true;
        }
        batch.slop[l] = settings.slop * c.size;
        // What a joint's group keeps deep in itself would be pushed in vain, and what such pushes leave, as
        // the bodies turn, adds up to energy.
        const bool in_vain = c.deep && group_of(c.body_a) >= 0 && group_of(c.body_a) == group_of(c.body_b);
        batch.push[l] = in_vain ? 0 : settings.push_speed * c.size;
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
        switch (c.turns) {
          case Manifold::Turns::with_neither:
            break;
          case Manifold::Turns::with_a:
            turning->with_a[l] = 1;
            break;
          case Manifold::Turns::with_b:
            turning->with_b[l] = 1;
            break;
          case Manifold::Turns::with_edges:
            turning->with_edges[l] = 1;
            set(turning->edge_a, l, c.edge_a.normalized());
            set(turning->edge_b, l, c.edge_b.normalized());
            break;
          case Manifold::Turns::with_centres:
            turning->with_centres[l] = 1;
            set(turning->edge_a, l, c.edge_a.normalized());
            set(turning->edge_b, l, c.edge_b.normalized());
        }
        if (turning) {
          turning->reach[l] = slide_followed * c.size;
          set(turning->axis_a, l, c.axis_a);
          set(turning->axis_b, l, c.axis_b);
          turning->rolls_round[l] = c.rolls_round ? 1 : 0;
        }
        // The patch: the centre of pressure, or of the points while nothing presses.
        const Real sum = c.presses();
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
          // What joints drive together strikes anew in every sub-step.
          if (from.impulse == 0 && !c.jointed)
            batch.came[std::size_t(p)] |= static_cast<std::uint16_t>(1U << l);
          to.carried[l] = unit * from.carried;
          to.lever[l] = c.friction * c.lever_part * (from.ra - ra).norm() + c.spinning;
          present[p][l] = 1;
        }
      }
      for (int p = 0; p < batch.count; ++p) points[p].mass = present[p];
      Wide pressed{}, mass[4];
      for (int p = 0; p < batch.count; ++p) pressed += points[p].impulse;
      const Wide is_new = (pressed == zero) & (present[0] > zero) ? fill(1) : zero;
      respond(batch, Still(*this, batch), is_new, bodies, mass, batch.response);
      for (int p = 0; p < batch.count; ++p) points[p].mass = mass[p];
      if (turning) {
        turning->is_new = is_new, turning->response = batch.response;
        for (int p = 0; p < batch.count; ++p) turning->mass[p] = mass[p];
      }
    }
  });
  turn_batches(bodies);
}

}}  // namespace plenum::PLENUM_ABI::detail
