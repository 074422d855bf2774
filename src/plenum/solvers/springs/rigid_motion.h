#pragma once
// How the pieces of a net move as if each were rigid, so that a step may turn them along arcs.
#include <span>
#include <vector>

#include "plenum/solvers/springs/supports.h"
#include "plenum/state/boundary.h"

namespace plenum::inline PLENUM_ABI {

/// The rigid part of the motion of each piece: that of a body of its mass, momentum and angular momentum.
///
/// A step along tangents makes what turns by an angle t longer by t^2 / 2, which stiff springs then undo at
/// the cost of the turning itself. So positions follow the tangents of what is left of the motion in a frame
/// that moves with the piece, and the frame turns as a free body does. Source: Terzopoulos & Witkin 1988,
/// "Physically based models with rigid and deformable components", sections 3 and 4. A piece that is pinned
/// at a point or along a line turns about that, and one that is pinned otherwise does not. Where the motion
/// is not that of a rigid body the frame's share of it fades out: what is soft is left to the tangents.
class RigidMotions {
 public:
  /// How far [rad] a frame should turn in a part. Where even the shortest turns farther, its share fades,
  /// until it has none at twice that: a centrifugal force that is taken from where a part begins makes energy
  /// of turns beyond 0.79, and what stretches turns less at its end than at its beginning.
  static constexpr double farthest = 0.25;

  RigidMotions() = default;
  /// Of pieces that hang together. Those with beads are `guided` and do not turn; `pinned` may be held.
  RigidMotions(std::span<const Index> piece_of, std::span<const Index> guided, std::span<const Index> pinned);

  /// Before a step of h [s] in parts no shorter than `shortest` [s]. What turns so slowly that it does not
  /// show within the step's rounding is left to tangents, and what turns too far in the shortest part for a
  /// frame that goes on turning as it did. `gravity` [m/s^2] turns what is pinned on.
  void begin(const Vec3& gravity, Real h, Real shortest);
  /// Finds the motions of particles at x [N] m with velocities v [N] m/s. Those that `supports` hold are to
  /// move within what these leave free.
  void find(std::span<const Vec3> x, std::span<const Vec3> v, std::span<const Real> mass,
            std::span<const Real> inverse_mass, const SupportSet& supports);
  /// Whether any piece turns.
  bool any() const;
  /// The fastest spin [rad/s].
  Real fastest() const;
  /// u [N] = v less the turning after a time `ahead` [s], m/s.
  void take_from(std::span<const Vec3> x, std::span<const Vec3> v, Real ahead, std::span<Vec3> u) const;
  /// from [N] = where tangents that end where the arcs do after h [s] begin, m.
  void bend(std::span<const Vec3> x, Real h, std::span<Vec3> from) const;
  /// Adds what turns velocities with the frames, to impulse [N] N s on each particle: centrifugal forces,
  /// less what of them turns a body as a whole.
  void add_centrifugal(std::span<const Vec3> x, std::span<const Real> mass, Real h,
                       std::span<Vec3> impulse) const;
  /// Moves x and v, of which the motions have been found, on by h [s]; held particles along their velocities.
  /// Keeps momentum, and the angular momentum of what is free to turn.
  void advance(std::span<Vec3> x, std::span<Vec3> v, std::span<const Real> mass,
               std::span<const Real> inverse_mass, Real h);

 private:
  using V = Vector3<double>;
  using M = Matrix3<double>;
  using M4 = Eigen::Matrix<double, 4, 4>;
  /// Sums over some particles with places r [m], masses m [kg] and velocities v [m/s], of q = (r, 1).
  struct Sums {
    M4 qq = M4::Zero();  ///< m q q^T
    M4 vq = M4::Zero();  ///< m v q^T, and a row of zeros
    double energy = 0;   ///< m |v|^2 / 2
    void add(double m, const V& r, const V& v);
    /// As if places and velocities were relative to these.
    void move_to(const V& r, const V& v);
    double weight() const { return qq(3, 3); }
    V moment() const { return qq.col(3).head<3>(); }
    V centre() const { return qq.col(3).head<3>() / weight(); }
    V velocity() const { return vq.col(3).head<3>() / weight(); }
    M second_moment() const { return qq.topLeftCorner<3, 3>(); }
    M outer() const { return vq.topLeftCorner<3, 3>(); }
  };
  struct Frame {
    Index first = 0;  ///< one of its particles
    bool guided = false;
    V centre = V::Zero();            ///< [m] of mass, or of the pins
    V velocity = V::Zero();          ///< [m/s] there
    V axis = V::Zero();              ///< the only one about which it may turn, or zero
    V spin = V::Zero();              ///< [rad/s]
    V angular_momentum = V::Zero();  ///< [kg m^2/s] about the centre
    M turn = M::Identity();          ///< in a step
    double share = 0;                ///< of what a rigid body would spin
    V spin_rate = V::Zero();         ///< [rad/s^2] of a free body
    V gain = V::Zero();              ///< [rad/s^2] by gravity
    V spin_after = V::Zero();
  };
  void find_spin(Frame& frame, const Sums& body, const Sums& pins) const;
  /// [m/s^2] of a particle at r from the centre of a frame.
  static V acceleration(const Frame& frame, const V& r);
  static void find_turn(Frame& frame, const Sums& body, double h);

  std::vector<Index> of_;      // [N] piece of each particle
  std::vector<Index> pinned_;  // particles
  std::vector<Frame> frames_;
  std::vector<Sums> body_, pins_;
  std::vector<double> passing_;  // [m^2/s^2] of frames: at which they would pass supports, squared
  V gravity_ = V::Zero();
  double step_ = 0, shortest_ = 0;
};

}  // namespace plenum::inline PLENUM_ABI
