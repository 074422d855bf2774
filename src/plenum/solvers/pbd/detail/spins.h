#pragma once
// What internal constraints would turn of a body as a whole.
//
// A projection turns nothing about where its points are: sum x_k cross m dx_k = 0. The projections after it
// move these points on, and what is left at the end, sum (x - x_k) cross m dx_k, is of the second order in
// the ways of a substep, and that is nothing beside what it moves; but where lengths and a volume that
// contradict each other are projected in turn, or what is stressed at rest, ways are the same in every
// substep, however short these are: a balloon blown up by a fifth began to roll by itself, at 18 rad/s after
// four seconds in ten substeps and at 73 in forty.
//
// No internal force turns a body. So what constraints have led elsewhere is turned back about its centre of
// mass until the ways of the substep have the angular momentum that they had before: with x0 where it began,
// sum m (x - c) cross (x - x0) is what it was, or sum m (x - c) cross x0. Where one particle is held, about
// that one. Rotations change no internal constraint. What no rotation does, as for a body that comes back
// from inside out, and what damping turns, velocities get. Mueller, Heidelberger, Hennix & Ratcliff 2007,
// "Position based dynamics", section 3.5, take a body's motion as a whole out of damping likewise.
#include <span>
#include <vector>

#include "plenum/linear/aligned.h"
#include "plenum/math/wide.h"
#include "plenum/solvers/pbd/detail/projection.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {

class PbdSpins {
 public:
  void lay_out(const Pbd::Model& model);
  /// Where ways are counted from [N] m, and what is held there, of an inverse mass of 0 [N].
  void begin(std::span<const Vec3> x0, std::span<const Real> inverse_mass);
  /// Where particles are before internal constraints move them, and how heavy.
  void note(std::span<const detail::Place> places);
  /// What moves them from pause() to resume() is not internal. For several sweeps in a substep, each of which
  /// turns nothing about where its own points end, turn something about where the last one's do.
  void pause(std::span<const detail::Place> places);
  void resume(std::span<const detail::Place> places);
  /// The same for moves by what touches: of each particle the body it is of, or -1, and where moves between
  /// two of these are to be put besides; empty: nothing turns.
  struct Outside {
    std::span<const Index> body_of;
    std::span<detail::Place> places;
  };
  Outside outside() { return turning_.empty() ? Outside{} : Outside{body_of_, before_}; }
  /// Turns back what these have turned since, in a substep that began at `gone` [N] m.
  void take(std::span<detail::Place> places, std::span<const Vec3> gone);
  /// What damping of the ways from `gone` [N] to places [N] m, which are then `ways` [N] m, has turned.
  void note_damped(std::span<const detail::Place> places, std::span<const Vec3> gone,
                   std::span<const detail::Place> ways);
  /// After a substep of h [s] that has led particles to x [N] m: gives v [N] m/s what turns could not.
  void make_up(std::span<const Vec3> x, std::span<Vec3> v, Real h);

 private:
  /// Particles of a body.
  struct alignas(64) Pack {
    Index particle[detail::wide];
    detail::Wide3 from_first;  ///< [m] from the body's first particle where ways are counted from
    detail::Wide mass;         ///< [kg] 0 of those that are held, and of lanes left over
    unsigned lanes;            ///< bits of those that hold a particle
  };
  struct Block {
    std::size_t body, first, last;  ///< packs
  };
  struct Body {
    std::size_t first_block, last_block;
    Index first;  ///< particle
    /// By clusters, which know the model's masses alone: what a hand has a hold of is left as it is.
    bool is_matched = false;
    Index held = -1;                ///< the particle about which it turns, or -1
    Vec3 held_from = Vec3::Zero();  ///< [m] of it from the first particle where ways are counted from
    bool turns = false;             ///< no two of it are held
  };
  /// Of a block, from the body's first particle where ways are counted from: m, m dx, m x, m x0, m dx cross
  /// x0 and m (x + dx)_i x0_j by rows, with x before, dx the way since and x0 where the substep began. [kg,
  /// kg m, kg m^2]
  struct Sums {
    double mass, way[3], at[3], was[3], moved[3], moments[9];
    bool is_gripped;
  };

  std::vector<Index> body_of_;  ///< [N] or -1
  AlignedVector<Pack> packs_;
  std::vector<Block> blocks_;
  std::vector<Body> bodies_;
  std::vector<std::size_t> turning_;  ///< blocks of bodies that turn
  std::vector<Sums> sums_;            ///< [blocks]
  struct Turn {
    Real by[9] = {}, about[3] = {};  ///< R - I by rows; m, from the first particle
    /// [kg m^2] h times the momentum that this does not give, and what turns before the last note() did not.
    Vector3<double> left = Vector3<double>::Zero(), before = Vector3<double>::Zero();
  };
  std::vector<Turn> turns_;              ///< [bodies]
  AlignedVector<detail::Place> before_;  ///< [N] where they would be by what is not internal
  AlignedVector<detail::Place> paused_;  ///< [N]
};

}  // namespace plenum::inline PLENUM_ABI
