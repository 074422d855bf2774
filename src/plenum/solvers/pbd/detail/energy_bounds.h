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
/// the impulses J of gravity, air, hands, pins and what touches, with velocities v at the substep's end. A
/// step of implicit Euler's method has no more, since |J - m dv|^2 / 2m is lost. What touch takes is not
/// counted: its impulses are large, and mostly answered by the solid's, so that the difference would be
/// rounding's. What is not there any more as motion or as stored energy is forgotten with time.
class PbdEnergyBounds {
 public:
  void lay_out(const Pbd::Model& model, std::span<const TetBody> bodies);
  bool empty() const { return bodies_.empty(); }
  /// `stored` [bodies] J, which it makes anew if it has not as many items; x0 [N] m: where the step begins.
  void begin_step(std::vector<Real>& stored, std::span<const Vec3> x0);
  /// v [N] m/s as a substep begins, and what gravity and air have made of them.
  void begin_substep(const Pbd::Model& model, const Particles& p);
  void note_alone(const Particles& p);
  /// From pause() to resume() something else moves them in a substep of h [s]: what touches, or a hand.
  void pause(std::span<const detail::Place> places);
  void resume(std::span<const detail::Place> places, Real h, bool is_hand = false);
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
    std::size_t first, last;  ///< of particle_
    std::size_t first_piece, last_piece;
    std::size_t first_pack, last_pack;
    bool is_led = false;  ///< in the step, by pins that go several ways, whose work is not known
  };
  /// Particles of a body, of which a thread takes several pieces at a time.
  struct Piece {
    std::size_t first, last;
  };
  struct Sums {
    double before = 0, after = 0;                     ///< [J] kinetic energy
    double work = 0, touch = 0;                       ///< [J]
    Vector3<double> inner = Vector3<double>::Zero();  ///< [N s] by the solid itself on what is not held
    bool is_held = false, are_several = false;
    Vec3 led = Vec3::Zero();  ///< [m/s] of pins, if these are not several
    void add(const Sums& b);
  };
  template <class F>
  void each_piece(F&& f) const;
  /// [J] that a body stores where ways have led it; no ways: at x0.
  double stored_by(const Body& body, std::span<const Vec3> x0, std::span<const Vec3> gone) const;

  std::vector<Index> particle_;  ///< of one body after the other
  std::vector<Vec3> before_;     ///< [as particle_] m/s as the substep began
  std::vector<Vec3> alone_;      ///< [as particle_] m/s by gravity, air and hands then
  std::vector<Vec3> touch_;      ///< [as particle_] m/s that what touches adds
  std::vector<Vec3> paused_;     ///< [as particle_] m
  std::vector<Piece> pieces_;
  std::vector<std::size_t> tasks_;  ///< the first piece of each
  std::vector<Sums> sums_;          ///< [pieces]
  std::vector<Body> bodies_;
  AlignedVector<Pack> packs_;
};

}  // namespace plenum::inline PLENUM_ABI
