#pragma once
// What holds particles up within an implicit step: non-penetration and Coulomb friction as constraints on the
// directions in which they may move, switched on and off until all push and none is gone through.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// The supports of one step and which of them act. A particle with one acting support keeps two directions,
/// with two one; a particle that sticks to it none.
///
/// A body that yields is divided among the particles that it supports, and each has its part of the mass to
/// push along: a body so divided and put together again has no more energy than its parts, which one that did
/// not yield within the solve and were given the sum of all pushes after it would have. A body that is far
/// heavier than what rests on it is held as if it did not yield. (Mass splitting: Tonge, Benevolenski &
/// Voroshilov 2012, "Mass splitting for jitter-free parallel rigid body simulation".) Sources: Baraff &
/// Witkin 1998, "Large steps in cloth simulation", section 5 (constrained directions in conjugate gradients,
/// released when they would pull); Murty 1988, "Linear complementarity, linear and nonlinear programming",
/// section 2 (switching by the signs of both sides).
class SupportSet {
 public:
  /// Supports of a step that starts at x [N] m. Keeps the span until clear().
  void take(std::span<Support> supports, std::span<const Vec3> x);
  void clear() { take({}, {}); }
  bool empty() const { return supports_.empty(); }
  /// Whether any is of a body that its pushes move.
  bool movable() const {
    return std::any_of(supports_.begin(), supports_.end(),
                       [](const Support& s) { return s.mass < std::numeric_limits<Real>::infinity(); });
  }

  /// Which of them a part of the step is to act with that begins `elapsed` [s] into it at x, v [N] and takes
  /// h [s]: those that particles touch or would pass. `pressed` [N] N is
  /// what was on each in the step before, for a first guess of friction. A particle without slip sticks. Not
  /// so between rods: of what holds a rigid chain at many points no solve can tell how much each bears, so
  /// there friction is a drag, which lets it creep.
  void begin(std::span<const Vec3> x, std::span<const Vec3> v, std::span<const Real> inverse_mass,
             std::span<const Real> pressed, const Vec3& gravity, Real elapsed, Real h, bool rods);

  /// Particles that supports hold, with the projections on the directions they are free in, and the velocity
  /// [m/s] that they are to have in the others.
  std::span<const Index> held() const { return held_; }
  std::span<const Mat3> free() const { return free_; }
  std::span<const Vec3> target() const { return target_; }
  /// y [N] = P y.
  void hold(std::span<Vec3> y) const {
    for (std::size_t k = 0; k < held_.size(); ++k) {
      Vec3& here = y[std::size_t(held_[k])];
      here = free_[k] * here;
    }
  }
  /// v [N] with what is not free replaced by the targets.
  void lead(std::span<Vec3> v) const {
    for (std::size_t k = 0; k < held_.size(); ++k) {
      Vec3& here = v[std::size_t(held_[k])];
      here = free_[k] * here + target_[k];
    }
  }

  /// What a look at a solve asks for: nothing; better friction; or another solve, since supports came to act
  /// or ceased to.
  enum class Verdict : char { settled, friction, unsettled };
  /// Looks at what a solve has come to: velocities v [N] m/s, and impulses `on_held` [N s] on the held
  /// particles that keep them there. Releases what pulls, holds what would pass, lets slide what needs more
  /// friction than there is, and gives what slides the drag that at its slip is the friction of what
  /// presses on it now. What was released and would then pass is held for good: which of a stiff body's
  /// supports push, rounding may decide.
  Verdict review(std::span<const Vec3> v, std::span<const Vec3> on_held, std::span<const Real> inverse_mass);
  /// Looks once more at what the last solve has come to, v [N] m/s: holds what passes, and says whether any
  /// does.
  bool catch_passing(std::span<const Vec3> v);
  /// Calls with(particle, D [kg], j [N s]) for what slides and what pushes bodies along: its impulse is
  /// j - D v at the velocity v [m/s].
  template <class With>
  void for_each_friction(With&& with) const {
    for (const Particle& p : particles_) {
      if (p.held < 0 || p.friction != Friction::slides) continue;
      const auto held = std::size_t(p.held);
      const Vec3& ground = supports_[std::size_t(normals_[held].support[0])].velocity;
      Mat3 drag = p.drag * free_[held];
      const Vec3 along = along_push(p);
      drag -= p.drag * along * along.transpose();
      with(p.sample, drag, Vec3(p.push + drag * ground));
    }
    for (const Particle& p : particles_)
      for (Index k = p.first; k < p.end; ++k) {
        const Index s = order_[std::size_t(k)];
        if (!yields(s)) continue;
        const Mat3 normal = supports_[std::size_t(s)].normal * supports_[std::size_t(s)].normal.transpose();
        const Real mass = share(s), drag = drag_with(s);
        with(p.sample, Mat3((mass - drag) * normal + drag * Mat3::Identity()),
             Vec3((mass * least_[std::size_t(s)]) * supports_[std::size_t(s)].normal +
                  drag * (ground_of(s) - normal * ground_of(s))));
      }
  }
  /// Calls with(particle, normal, depth [m]) for what is beyond a support at x [N] m, `elapsed` [s] after the
  /// step's start.
  template <class With>
  void for_each_passed(std::span<const Vec3> x, Real elapsed, With&& with) const {
    for (std::size_t p = 0; p < particles_.size(); ++p)
      for (Index k = particles_[p].first; k < particles_[p].end; ++k) {
        const Support& s = supports_[std::size_t(order_[std::size_t(k)])];
        const Index i = particles_[p].sample;
        const Real gap = s.gap + s.normal.dot(x[std::size_t(i)] - start_[p] - elapsed * s.velocity);
        if (gap < 0) with(i, s.normal, -gap);
      }
  }
  /// Lets stick what a drag would all but stop: where it is beyond `stiff` times what weight(particle) [kg]
  /// says that the rest of the system resists with. Of a system with both, single precision solves neither.
  /// True if that is any.
  template <class Weight>
  bool stick(Real stiff, Weight&& weight) {
    bool any = false;
    for (Particle& p : particles_) {
      if (p.held < 0 || p.friction != Friction::slides || p.push != Vec3::Zero()) continue;
      if (!(p.drag > stiff * weight(p.sample))) continue;
      p.friction = Friction::sticks;
      any = true;
    }
    for (const Particle& p : particles_)
      for (Index k = p.first; k < p.end; ++k) {
        const Index s = order_[std::size_t(k)];
        if (!yields(s) || !(share(s) > stiff * weight(p.sample))) continue;
        firm_[std::size_t(s)] = 1;
        any = true;
      }
    if (any) rebuild();
    return any;
  }
  /// Before the last solve: turns every push into the drag that is as much at the slip it has come to. A push
  /// that was found from a rough solve may drive what it acts on; a drag never does.
  void settle(std::span<const Vec3> v);
  /// [J] that they give at velocities v [N] m/s with impulses as in review(), what still pulls left out.
  double work(std::span<const Vec3> on_held, std::span<const Vec3> v) const;
  /// Ends a part with what is solved: finds the impulses at velocities v [N] m/s.
  void finish(std::span<const Vec3> on_held, std::span<const Vec3> v);
  /// Whether any that acts was struck and bounces, in a part of h [s].
  bool struck(Real h) const;
  /// After finish(): lets act alone those solids that were struck and bounce, each with the jump of velocity
  /// along its normal that takes what struck it to `restitution` times the speed it came with; held() and
  /// target() are then of jumps. v [N] m/s is what the part of length h [s] ended with.
  void strike(std::span<const Vec3> v, const Vec3& gravity, Real h);
  /// [J] that the solids, as they move, gave with the impulses of the part.
  double work_of_motion() const;
  /// The same with impulses on_held [N s] on what strike() holds.
  double work_of_motion(std::span<const Vec3> on_held) const;
  /// Adds `share` of these to the impulses of the part.
  void add_jump(std::span<const Vec3> on_held, Real share);
  /// Adds the impulses of the part of length h [s], now taken, to those of the supports, and keeps in
  /// `pressed` [N] the force [N] on each particle along the normals.
  void accept(Real h, std::span<Real> pressed);

 private:
  enum class Friction : char { none, sticks, slides };
  enum class Acts : char { no, yes, released, always };
  struct Particle {
    Index sample;
    Index first, end;  // in order_
    Friction friction = Friction::none;
    Index held = -1;  // in held_
    // Friction of what slides: a drag [kg] against its slip if that is about to end; else, as Coulomb's law
    // is to first order, a push [N s] against it and a drag across that.
    Vec3 push = Vec3::Zero();
    Real drag = 0;
  };
  /// Up to three normals of acting supports, made orthonormal in their order.
  struct Normals {
    std::array<Vec3, 3> direction;
    std::array<Index, 3> support;
    int count = 0;
    void add(const Vec3& n, Index from);
    Mat3 free() const;
  };
  bool bounces_off(Index s, Real h) const;
  bool hold_passing(std::span<const Vec3> v);
  void rebuild();
  /// Whether a support acts whose body moves with the push.
  bool acts(Index s) const {
    return acts_[std::size_t(s)] == Acts::yes || acts_[std::size_t(s)] == Acts::always;
  }
  bool yields(Index s) const { return acts(s) && !firm_[std::size_t(s)]; }
  /// [kg] of the body that such a support has to push along.
  Real share(Index s) const {
    const Support& support = supports_[std::size_t(s)];
    return support.mass / Real(std::max(sharers_[std::size_t(support.group)], 1));
  }
  /// [m/s] of the surface, with what it has been given in this step.
  Vec3 ground_of(Index s) const {
    const Support& support = supports_[std::size_t(s)];
    return support.velocity - support.impulse / share(s);
  }
  /// [kg] of the drag across the normal: Coulomb's, before the mass that it moves along.
  Real drag_with(Index s) const {
    const Real drag = drags_[std::size_t(s)];
    return drag > 0 ? 1 / (1 / drag + 1 / share(s)) : Real(0);
  }
  void drag_along(Index s, const Vec3& v, Real pressed);
  /// Calls with(support, impulse [N s]) for the parts of an impulse along the normals of a held particle;
  /// returns what is left across them.
  template <class With>
  Vec3 divide(const Normals& normals, Vec3 impulse, With&& with) const;

  std::span<Support> supports_;
  std::vector<Index> order_;        // of supports by particles
  std::vector<Acts> acts_;          // of supports
  std::vector<Real> least_;         // [m/s] of n . v, of supports
  std::vector<Real> approach_;      // [m/s] at which each is met, of supports
  std::vector<std::uint8_t> firm_;  // of supports: the body is as if it did not yield
  std::vector<Real> drags_;         // [kg] of supports that are not
  std::vector<Index> sharers_;      // of groups: how many such act
  /// Unit vector of the push, however small that is; zero if there is none.
  static Vec3 along_push(const Particle& particle) {
    const Real size = particle.push.cwiseAbs().maxCoeff();
    const Vec3 scaled = particle.push / (size > 0 ? size : Real(1));
    return scaled / std::max(scaled.norm(), Real(1));
  }
  static Vec3 friction_of(const Particle& particle, const Vec3& slip);
  void slide(Particle& particle, const Vec3& slip, bool ends, Real most) const;
  std::vector<Real> pressed_;        // [N s] along the normals in this part, by particles_
  std::vector<Vec3> given_;          // [N s] in this part, by supports
  std::vector<Particle> particles_;  // near supports
  std::vector<Vec3> start_;          // [m] where each began the step
  Real slack_ = 0;                   // [m/s] that is not worth another solve: 2 % of free fall
  std::vector<Index> held_;
  std::vector<Mat3> free_;
  std::vector<Vec3> target_;
  std::vector<Normals> normals_;  // of held_
};

}  // namespace plenum::inline PLENUM_ABI
