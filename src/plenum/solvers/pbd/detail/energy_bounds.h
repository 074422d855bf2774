#pragma once
// What elastic solids may move with at most.
#include <span>
#include <vector>

#include "plenum/linear/aligned.h"
#include "plenum/math/wide.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

struct TetBody;

/// Bodies of neo-Hookean tetrahedra alone move with no more energy than they have been given.
///
/// A sweep leaves errors, and a substep takes what sweeps move for velocity: bars of a hundredth of their
/// length that hung by one particle burst, of 10^7 Pa at ten substeps, and beams of flat cells trembled at 16
/// m/s. What a body stores cannot tell of it: after a sweep that is mostly what the sweep has left. So it is
/// counted from outside. Kinetic energy is at most what it was and what was stored to begin with, and the
/// work of all that is not the solid itself, of which each substep's is the sum of J . v over particles: of
/// the impulses J of gravity, air and what touches, with velocities v at the substep's end. A step of
/// implicit Euler's method has no more, since |J - m dv|^2 / 2m is lost. What is not there any more as motion
/// or as stored energy is forgotten with time.
class PbdEnergyBounds {
 public:
  void lay_out(const Pbd::Model& model, std::span<const TetBody> bodies);
  bool empty() const { return bodies_.empty(); }
  /// `stored` [bodies] J, which it makes anew if it has not as many items; x0 [N] m: where the step begins.
  void begin_step(std::vector<Real>& stored, std::span<const Vec3> x0);
  /// v [N] m/s as a substep begins, and what gravity and air have made of them.
  void begin_substep(const Pbd::Model& model, const Particles& p);
  void note_alone(const Particles& p);
  /// From pause() to resume() something else moves them in a substep of h [s].
  void pause(std::span<const detail::Place> places);
  void resume(std::span<const detail::Place> places, Real h);
  /// Takes motion that nothing has given: of what is free in itself, so that momenta stay.
  void end_substep(const Pbd::Model& model, Particles& p, std::span<const detail::Place> places,
                   std::span<Real> stored);
  /// After a step of dt [s] to x0 + gone [N] m.
  void end_step(std::span<Real> stored, std::span<const Vec3> x0, std::span<const Vec3> gone, Real dt);

 private:
  struct alignas(64) Pack {
    Index particle[4][detail::wide];
    detail::Wide rest[9];
    detail::Wide mu, lambda;  ///< [J] times the volume; 0 in lanes left over
  };
  struct Body {
    std::size_t first_block, last_block;
    std::size_t first_pack, last_pack;
    double motion = 0;    ///< [J] kinetic energy as the substep began
    bool is_led = false;  ///< by a pin or a hand in the step, whose work is not counted
  };
  struct Block {
    std::size_t body, first, last;  ///< of particle_
  };
  struct Sums {
    double motion, work;  ///< [J]
    bool is_held, is_led;
  };
  std::span<const Index> particles_of(const Body& body) const;
  /// [J] that a body stores where ways have led it; no ways: at x0.
  double stored_by(const Body& body, std::span<const Vec3> x0, std::span<const Vec3> gone) const;

  std::vector<Index> particle_;  ///< of one body after the other
  std::vector<Vec3> outer_;      ///< [as particle_] m/s by all that is not the solid itself
  std::vector<Vec3> paused_;     ///< [as particle_] m
  std::vector<Block> blocks_;
  std::vector<Sums> sums_;  ///< [blocks]
  std::vector<Body> bodies_;
  AlignedVector<Pack> packs_;
};

}  // namespace plenum::inline PLENUM_ABI
