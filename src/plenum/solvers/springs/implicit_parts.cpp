// Implicit Euler in as many parts as one linearization each can answer for (Baraff & Witkin 1998, "Large
// steps in cloth simulation", section 6: a step that stretches too much is taken back and halved).
#include <algorithm>
#include <cmath>

#include "plenum/solvers/springs/detail/block.h"
#include "plenum/solvers/springs/detail/implicit_part.h"
#include "plenum/solvers/springs/detail/steps.h"
#include "plenum/solvers/springs/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Takes a step in parts of `most`, most / 2, most / 4, ... of the smallest, each beginning at a multiple of
/// its own size: the largest that fits(size) as the net moves now, and of which attempt(done, size) says that
/// it did well; else it is taken back and halved. Returns how many there were.
template <class Fits, class Attempt>
int in_parts(const Springs::Model& model, int most, Springs::State& state, SpringsWorkspace& w, Real h,
             Fits&& fits, Attempt&& attempt) {
  int parts = 0;
  for (int done = 0, size = most; done < most; done += size, ++parts) {
    find_frames(model, state, w);
    while (done % (2 * size) == 0 && 2 * size <= most - done && fits(2 * size)) size *= 2;
    while (size > 1 && !fits(size)) size /= 2;
    w.part_x = state.particles.x;
    w.part_v = state.particles.v;
    while (!attempt(done, size) && size > 1) {
      state.particles.x = w.part_x;
      state.particles.v = w.part_v;
      set_zero(flat(state.velocity_change));
      find_frames(model, state, w);
      size /= 2;
    }
    w.supports.accept(h * static_cast<Real>(size) / static_cast<Real>(most), state.pressed);
  }
  return parts;
}

/// By how much a straight step from `x` with velocities v makes springs longer than it was linearized to, as
/// part of their rest length: t^2 / 2 for one that turns by t. The most of all, each weighted with what of it
/// an implicit step would answer, k h^2 w / (1 + k h^2 w), w [1/kg] of its ends.
Real turning_error(const Springs::Model& model, std::span<const Vec3> x, std::span<const Vec3> v,
                   std::span<const Real> inverse_mass, Real stiffness_scale, Real h) {
  const Real hhk = h * h * stiffness_scale;
  return ordered_reduce(
      model.edges.size(), net_block, Real(0),
      [&](std::size_t begin, std::size_t end) {
        Real most = 0;
        for (std::size_t e = begin; e < end; ++e) {
          const auto i = std::size_t(model.edges[e][0]), j = std::size_t(model.edges[e][1]);
          const Vec3 d = x[j] - x[i], move = h * (v[j] - v[i]);
          const Real length = d.norm();
          const Real stiff = hhk * model.stiffness[e] * (inverse_mass[i] + inverse_mass[j]);
          const Real error = length > 0 ? (d + move).norm() - length - d.dot(move) / length : 0;
          most = std::max(most, error / std::max(length, model.rest_length[e]) * stiff / (1 + stiff));
        }
        return most;
      },
      [](Real a, Real b) { return std::max(a, b); });
}

/// [J] that pins gave, as they moved, in the part of length h that implicit_part() has just taken. They feel
/// what springs left of its system, without their own weight, drag and air.
double work_of_pins_in_part(const Springs::Model& model, const Springs::State& state,
                            const Springs::Params& params, SpringsWorkspace& w, Real h) {
  if (model.pinned.empty()) return 0;
  const auto& v = state.particles.v;
  const bool air = has_air(model, params);
  w.matrix().residual(flat(std::as_const(w.rhs)), flat(std::as_const(state.velocity_change)),
                      flat(w.reaction));
  return work_of_pins(model, state.particles.inverse_mass, v, [&](std::size_t i) -> Vec3 {
    Vec3 own = h * model.mass[i] * (params.gravity - params.point_damping * v[i]);
    if (air) own += h * air_on(w, i);
    return own - w.reaction[i];
  });
}

/// Lets what struck solids in that part bounce.
void bounce_after_part(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                       SpringsWorkspace& w, Real h, Report& report) {
  if (!w.supports.struck(h)) return;
  const double work = work_of_pins_in_part(model, state, params, w, h);
  bounce(model, state, params, w, w.part_x, w.part_v, h, work, report);
}

/// Whether a net is so stiff that strains of its last digits are worth more than it moves with.
bool is_stiff(const Springs::Params& params, const SpringsWorkspace& w, Real h) {
  constexpr double precise = 0.01;  // softer ones than this share of the stiffest that the digits carry
  return double(w.stiffest * params.stiffness_scale) >= precise * double(largest_stiffness(w, h));
}

/// Whether a net is so stiff that what tangents add to its springs may show in how it moves: softer ones than
/// this need not pay for the energies.
bool turns_stiffly(const Springs::Params& params, const SpringsWorkspace& w, Real h) {
  constexpr double stiff = 2500;  // h^2 k / m
  return double(h * h * w.stiffest * params.stiffness_scale) >= stiff * double(w.heaviest);
}

/// [J] that the air gave in it, at most.
double work_of_air(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
                   const SpringsWorkspace& w, Real h) {
  if (!has_air(model, params)) return 0;
  return ordered_sum(model.mass.size(), net_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum += std::max(double((h * air_on(w, i)).dot(state.particles.v[i])), 0.0);
    return sum;
  });
}

/// Whether that part has made energy near solids or is about to, of a net so stiff that strains of its last
/// digits are worth more than it moves with. A part that ends what turned bends its way otherwise than it was
/// foreseen, and puts a little of the net beyond a solid.
bool makes_energy(const Springs::Model& model, const Springs::State& state, const Springs::Params& params,
                  SpringsWorkspace& w, Real elapsed, Real h) {
  constexpr double allowed = 0.01;
  if (w.supports.empty() || !is_stiff(params, w, h)) return false;  // softer ones need not pay for it
  const double given =
      work_of_pins_in_part(model, state, params, w, h) + work_of_air(model, state, params, w, h);
  const PartEnergy energy = energy_of_part(model, state, params, w, w.part_x, w.part_v, h, given);
  // What is beyond a solid will be put back alone, against its springs.
  double back = 0;
  w.supports.for_each_passed(state.particles.x, elapsed, [&](Index i, const Vec3& normal, Real depth) {
    const Real stiffness = normal.dot(w.system.matrix().diagonal(i) * normal) / (h * h);
    back += 0.5 * double(stiffness * depth * depth);
  });
  return energy.now + back > energy.before + allowed * std::abs(energy.before);
}

/// [J] of a net on the parabola of free flight, v + h g / 2 at x. The stretch of springs counts as what
/// SpringSystem::assemble() takes for tension: what a way along tangents has added, the next step takes back.
double energy_without_turns(const Springs::Model& model, const Springs::State& state,
                            const Springs::Params& params, SpringsWorkspace& w, Real h) {
  const auto& x = state.particles.x;
  w.rigid.take_from(x, state.particles.v, h, w.deviation);
  const double elastic = ordered_sum(model.edges.size(), net_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t e = begin; e < end; ++e) {
      const auto i = std::size_t(model.edges[e][0]), j = std::size_t(model.edges[e][1]);
      const Vector3<double> d = (x[j] - x[i]).cast<double>();
      const Vector3<double> move = double(h) * (w.deviation[j] - w.deviation[i]).cast<double>();
      const double square = d.squaredNorm(), rest = double(model.rest_length[e]);
      double stretch = std::sqrt(square) - rest;
      if (stretch > 0) {
        const double advance = d.dot(move), way = move.squaredNorm();
        const double turned = square * way - advance * advance;
        const double left = std::max(square * (square - rest * rest) - turned, 0.0);
        const double taken = std::max(turned + square * std::min(0.0, way - 2 * advance), 0.0);
        stretch *= left / std::max(left + taken, std::numeric_limits<double>::min());
      }
      sum += 0.5 * double(model.stiffness[e]) * stretch * stretch;
    }
    return sum;
  });
  const Vec3 half = h / 2 * params.gravity;
  return double(params.stiffness_scale) * elastic +
         mass_sum(model, state.particles.inverse_mass, [&](std::size_t i) {
           return (state.particles.v[i] + half).squaredNorm() / 2 - params.gravity.dot(x[i]);
         });
}

/// Slows a net down, about its pins or its centre of mass, that has `excess` [J] too much.
void slow_down(const Springs::Model& model, Springs::State& state, double excess) {
  auto& v = state.particles.v;
  Vector3<double> carried = Vector3<double>::Zero();
  double mass = 0, motion = 0;
  bool held = false;
  for (std::size_t i = 0; i < v.size(); ++i) {
    held = held || state.particles.inverse_mass[i] == 0;
    mass += double(model.mass[i]);
    carried += double(model.mass[i]) * v[i].cast<double>();
  }
  const Vec3 mean = held ? Vec3(Vec3::Zero()) : Vec3((carried / mass).cast<Real>());
  for (std::size_t i = 0; i < v.size(); ++i)
    if (state.particles.inverse_mass[i] > 0)
      motion += 0.5 * double(model.mass[i] * (v[i] - mean).squaredNorm());
  if (!(motion > 0)) return;
  const auto left = static_cast<Real>(std::sqrt(std::max(1 - excess / motion, 0.0)));
  for (std::size_t i = 0; i < v.size(); ++i)
    if (state.particles.inverse_mass[i] > 0) v[i] = mean + left * (v[i] - mean);
}

/// The step of a net of springs. One that turns by an angle t leaves its place along a tangent and is longer
/// by t^2 / 2 then, and a stiff one would throw about what that stretches.
void spring_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                 SpringsWorkspace& w, Real h, Report& report) {
  // What bounces is flattened in the same step: one linearization would dent it by what is of second order,
  // and a shorter step would throw back what struck, not the net.
  w.supports.begin(state.particles.x, state.particles.v, state.particles.inverse_mass, state.pressed,
                   params.gravity, 0, h, false);
  if (w.supports.struck(h)) {
    backward_euler_step(model, state, params, w, h, report);
    return;
  }
  // A body that the net pushes moves on after the step, not between its parts.
  const int most = w.supports.movable() ? 1 : 8;
  constexpr Real allowed = Real(0.05);  // a turn of 18 degrees
  const auto part = [&](int of) { return h * static_cast<Real>(of) / static_cast<Real>(most); };
  w.rigid.begin(params.gravity, h, part(1));
  const auto fits_from = [&](std::span<const Vec3> x, int size) {
    return part(size) * w.rigid.fastest() <= Real(RigidMotions::farthest) &&
           turning_error(model, x, w.deviation, state.particles.inverse_mass, params.stiffness_scale,
                         part(size)) <= allowed;
  };
  // Frames are found from rounded places and solves: what they add to the energy of stiff nets, they may not.
  const bool still =
      w.supports.empty() && std::all_of(model.pinned.begin(), model.pinned.end(), [&](Index i) {
        return state.particles.inverse_mass[std::size_t(i)] > 0 || state.particles.v[std::size_t(i)].isZero();
      });
  bool fast = false;
  const int parts = in_parts(
      model, most, state, w, h, [&](int size) { return fits_from(state.particles.x, size); },
      [&](int done, int size) {
        const bool bounded = still && w.rigid.any() && turns_stiffly(params, w, part(size));
        const double before = bounded ? energy_without_turns(model, state, params, w, part(size)) : 0;
        implicit_part(model, state, params, w, part(done), part(size), false, report);
        const bool fits = most == 1 || fits_from(w.part_x, size);
        if (bounded && w.supports.empty()) {
          const double given = work_of_air(model, state, params, w, part(size));
          const double after = energy_without_turns(model, state, params, w, part(size));
          if (after > before + given) slow_down(model, state, after - before - given);
        }
        if (size > 1 && (!fits || makes_energy(model, state, params, w, part(done + size), part(size))))
          return false;
        fast = fast || !fits;
        bounce_after_part(model, state, params, w, part(size), report);
        return true;
      });
  if (fast) report.warn("springs turn too fast for the step, which stretches them; raise substeps");
  report.measure("parts", parts);
}

/// The farthest turn [rad] of rods and of beads about their wires, as their velocities tell, in a step of h.
double turn_ahead(const Springs::Model& model, const Springs::State& state, Real h) {
  const auto& v = state.particles.v;
  const ConstraintSet<Real>& set = model.constraints;
  Real most = 0;
  for (std::size_t r = 0; r < set.rods.size(); ++r) {
    const Vec3 apart = v[std::size_t(set.rods[r][1])] - v[std::size_t(set.rods[r][0])];
    most = std::max(most, h * apart.norm() / set.rod_length[r]);
  }
  for (std::size_t b = 0; b < set.beads.size(); ++b) {
    const Wire<Real>& wire = set.wires[std::size_t(set.bead_wire[b])];
    if (wire.shape != WireShape::line)
      most = std::max(most, h * v[std::size_t(set.beads[b])].norm() / wire.radius);
  }
  return double(most);
}

/// Whether rods that turned by more than half of `most` [rad] in a part of h, from `before` [N] m, ended no
/// longer than they began, or than a turn by `most` along the tangent makes them. By speeds alone that is not
/// told: a frame that turns has tangents of its own, and what was too long may not have been drawn back.
bool holds_lengths(const Springs::Model& model, std::span<const Vec3> before, const Particles& now, Real h,
                   Real most) {
  const ConstraintSet<Real>& set = model.constraints;
  for (std::size_t r = 0; r < set.rods.size(); ++r) {
    const auto i = std::size_t(set.rods[r][0]), j = std::size_t(set.rods[r][1]);
    const Real length = set.rod_length[r];
    if (!(h * (now.v[j] - now.v[i]).norm() > most / 2 * length)) continue;
    const Real longest = std::max((before[j] - before[i]).norm(), std::hypot(Real(1), most) * length);
    if ((now.x[j] - now.x[i]).norm() > longest) return false;
  }
  return true;
}

/// The step with constraints kept by penalty. A rod that turns by t is drawn back in the next step with t/2
/// times the speed it turned at: it gains energy for t > 2, without end if it is stiff. The step is divided
/// until nothing turns by more than a quarter of a radian by its speed at the start, and half of one by that
/// at the end, nor is longer than that makes it. A part that is so many times shorter than the one before
/// would draw back as many times faster: it takes that share of the way.
void penalty_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                  SpringsWorkspace& w, Real h, Report& report) {
  constexpr int most = 128;
  constexpr double turn = 0.25;
  const ConstraintSet<Real>& set = model.constraints;
  w.rod_stiffness.assign(set.rods.size(), w.penalty_stiffness);
  w.rod_rest = set.rod_length;
  const auto draw = [&](Real share) {
    if (set.rods.empty()) return;
    for (std::size_t r = 0; r < set.rods.size(); ++r) {
      const Vec3 d =
          state.particles.x[std::size_t(set.rods[r][1])] - state.particles.x[std::size_t(set.rods[r][0])];
      w.rod_rest[r] = d.norm() + share * (set.rod_length[r] - d.norm());
    }
    w.system.set_springs(w.rod_stiffness, share < 1 ? w.rod_rest : set.rod_length);
  };
  const auto part = [&](int of) { return h * static_cast<Real>(of) / static_cast<Real>(most); };
  w.rigid.begin(params.gravity, h, part(1));
  int pace = most, from = 0;
  bool fast = false;
  const int parts = in_parts(
      model, most, state, w, h,
      [&](int size) {
        return part(size) * w.rigid.fastest() <= Real(RigidMotions::farthest) &&
               turn_ahead(model, state, part(size)) <= turn;
      },
      [&](int done, int size) {
        if (done > from) pace = std::max(done - from, pace / 2);
        from = done;
        draw(Real(size) / Real(std::max(size, pace)));
        implicit_part(model, state, params, w, part(done), part(size), false, report);
        // By the velocities it ended with, which took it there.
        const bool within = turn_ahead(model, state, part(size)) <= 2 * turn &&
                            holds_lengths(model, w.part_x, state.particles, part(size), Real(2 * turn));
        fast = fast || (size == 1 && !within);
        if (within || size == 1) bounce_after_part(model, state, params, w, part(size), report);
        return within;
      });
  if (parts > 1) draw(1);
  if (fast)
    report.warn(
        "constraints kept by penalty turn too fast for the step; raise the sub-steps, or keep them by "
        "multipliers");
  report.measure("parts", parts);
}

/// The step where strict constraints cannot be met from where the net is: rods that are too short come apart
/// freely, and those that would be too long are stiff springs, which in a whole step, of which h is a share,
/// draw together by no more than a quarter of a length, until all can be met again.
void give_way(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
              SpringsWorkspace& w, Real elapsed, Real h, Real share, Report& report) {
  const auto& x = state.particles.x;
  const auto& v = state.particles.v;
  const std::vector<Real>& length = model.constraints.rod_length;
  std::vector<Real>& stiffness = w.rod_stiffness;
  std::fill(stiffness.begin(), stiffness.end(), Real(0));
  if (!stiffness.empty()) w.system.set_turning(stiffness);
  w.rod_rest = length;
  // h^2 k is this many times the mass of the lighter end, so that conjugate gradients converge.
  constexpr Real stiff = 1e4;
  for (std::size_t r = 0; r < stiffness.size(); ++r) {
    const auto i = std::size_t(model.constraints.rods[r][0]), j = std::size_t(model.constraints.rods[r][1]);
    const Real inverse_mass = std::max(state.particles.inverse_mass[i], state.particles.inverse_mass[j]);
    if (!(inverse_mass > 0)) continue;
    const Vec3 d = x[j] - x[i];
    const Real now = d.norm(), then = (d + h * (v[j] - v[i])).norm();
    if (std::max(now, then) < Real(1 - strict_tolerance) * length[r]) continue;
    stiffness[r] = stiff / (inverse_mass * h * h * std::max(params.stiffness_scale, Real(1e-6)));
    w.rod_rest[r] = std::max(length[r], now - share * length[r] / 4);
  }
  if (!stiffness.empty()) w.system.set_springs(stiffness, w.rod_rest);
  w.wire_stiffness = stiff * w.heaviest / (h * h);
  find_frames(model, state, w);
  implicit_part(model, state, params, w, elapsed, h, false, report);
  w.wire_stiffness = 0;
  std::fill(stiffness.begin(), stiffness.end(), Real(0));
  if (!stiffness.empty()) w.system.set_springs(stiffness, length);
}

}  // namespace

void implicit_euler_step(const Springs::Model& model, Springs::State& state, const Springs::Params& params,
                         SpringsWorkspace& w, Real h, Report& report) {
  if (w.multipliers.empty()) {
    if (has_penalty(model, params)) {
      penalty_step(model, state, params, w, h, report);
      return;
    }
    spring_step(model, state, params, w, h, report);
    return;
  }
  // Newton's method must find its way back to the strict constraints from where inertia leads, and then from
  // where the step does. A fast rope of many short rods bends within a few of them, and what is linear there
  // ends soon: the step is divided by two, and again, until it does.
  // From where they are not met, they are tried at once: rods that are too long for their place, or that two
  // pins pull apart, are no matter of the step's length.
  constexpr int most = 32;
  int parts = 0, given_way = 0;
  for (int done = 0, size = most; done < most; done += size, ++parts) {
    const bool met = w.multipliers.largest_error(state.particles.x) <= strict_tolerance * w.shortest_rod;
    while (met && done % (2 * size) == 0 && 2 * size <= most - done) size *= 2;
    if (!met) size = most - done;
    const int least = met ? 1 : size;
    const Real elapsed = h * static_cast<Real>(done) / most;
    w.part_x = state.particles.x;
    w.part_v = state.particles.v;
    PartEnd end = PartEnd::not_met;
    for (;; size /= 2) {
      const Real part = h * static_cast<Real>(size) / most;
      find_frames(model, state, w);
      end = implicit_part(model, state, params, w, elapsed, part, true, report);
      if (end == PartEnd::met) break;
      state.particles.x = w.part_x;
      state.particles.v = w.part_v;
      set_zero(flat(state.velocity_change));
      if (size == least || end == PartEnd::stuck) break;
    }
    if (end != PartEnd::met) {
      ++given_way;
      const Real share = static_cast<Real>(size) / most;
      give_way(model, state, params, w, elapsed, share * h, share, report);
    }
    w.supports.accept(h * static_cast<Real>(size) / most, state.pressed);
  }
  if (given_way > 0)
    report.warn(
        "strict constraints gave way for a moment: they contradict each other, began off their lengths, or "
        "move too fast; let pins come closer or raise the sub-steps");
  report.measure("parts", parts);
}

}  // namespace plenum::inline PLENUM_ABI
