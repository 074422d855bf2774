#pragma once
// What a step of smoke keeps of the bodies that move in the gas.
#include <array>
#include <cstdint>
#include <vector>

#include "plenum/linear/pressure_solver.h"
#include "plenum/state/body_holds.h"
#include "plenum/state/boundary.h"
#include "plenum/state/grid.h"

namespace plenum::inline PLENUM_ABI {

struct SmokeBodies {
  using Six = BodyTies::Six;
  using Matrix6 = Eigen::Matrix<double, 6, 6, Eigen::DontAlign>;
  struct Body {
    Index first;                              ///< number of its first part, of those told of
    bool is_led;                              ///< nothing moves it but its own way
    Vec3 centre, velocity, angular_velocity;  ///< [m], [m/s], [rad/s] at the end of the step
    Real inverse_mass;
    Mat3 inverse_inertia;
    Vector3<double> impulse, couple;  ///< [N s], [N m s] that the gas gave it
    Six expected = Six::Zero();       ///< [m/s], [rad/s] that its friction was thought to change it by
    Six rubbed = Six::Zero();         ///< the same of its friction, were the body's velocity as it is
    Matrix6 yield = Matrix6::Zero();  ///< [kg, ...] how much less that is for a velocity that is larger
    BodyHold hold;

    Vec3 velocity_at(const Vec3& x) const { return velocity + angular_velocity.cross(x - centre); }
  };
  struct Part {
    SolidBody solid;
    std::size_t number, body;        ///< of those told of; its body
    std::array<Index, 3> low, high;  ///< items low <= (i, j, k) < high that it may take from
    std::size_t first;               ///< in `closed`
  };
  std::vector<SolidBody> told;
  std::vector<Body> bodies;
  std::vector<Part> parts;  ///< those of a body stand together
  std::vector<BodyImpulse> pushes;

  /// What solids and bodies leave open of faces, and which faces along x, y, z and cells hold gas.
  FaceField open;
  std::array<std::vector<std::uint8_t>, 4> known;
  std::array<Extrapolation, 4> extrapolation;
  std::vector<std::array<Real, 3>> closed;  ///< [items of parts] what each takes of the lower faces
  std::vector<Vec3> corner;
  std::vector<Real> distance;
  std::vector<std::array<std::array<Index, 3>, 2>> changed;  ///< boxes of items to be put back
  // Where gas clings to bodies (grip.cpp): faces along x, y, z.
  struct Held {
    std::uint32_t item, body;  ///< a face in a body
    Vec3 x;                    ///< [m]
  };
  struct Link {
    std::uint32_t item, neighbour, body;  ///< a face of the gas, and one next to it that is in a body
    Real theta;                           ///< part of the way to which its surface stands
    Vec3 surface;                         ///< [m] there
  };
  std::array<std::vector<Real>, 3> cling;           ///< [shape.size()] as that of the model, with the bodies
  std::array<std::vector<std::uint32_t>, 3> clung;  ///< items that differ
  std::array<std::vector<Held>, 3> held;
  std::array<std::vector<Link>, 3> links;
  bool grip_known = false;  ///< whether these are of where the bodies stand
  PressureSolver pressure;
  /// Shapes (null if it moved) and poses of the parts in the last step, and whether all have stood there
  /// since it began, so that what was found of them holds on.
  std::vector<std::pair<const Shape*, Pose>> stood;
  bool still = false;

  bool any() const { return !parts.empty(); }
};

}  // namespace plenum::inline PLENUM_ABI
