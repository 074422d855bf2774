#pragma once
// What a mass-spring net is made from: a list of parts, each with its placement, springs and pins.
#include <array>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/elements/constraint.h"
#include "plenum/geometry/mesh.h"
#include "plenum/state/pins.h"

namespace plenum::inline PLENUM_ABI {

using SpringsPin = ParticlePin;

/// A curve that particles of a part slide on.
struct SpringsWire {
  WireShape shape = WireShape::line;
  std::vector<Index> beads = {};  ///< of the part's own particles
  Vec3 origin = Vec3::Zero();     ///< [m] in the world: on the line, or the centre
  Vec3 axis = Vec3(0, 1, 0);      ///< of the line or the helix; normal of the circle's plane
  Vec3 radial = Vec3(1, 0, 0);    ///< from a helix' axis to the curve, at the height of the origin
  Real radius = 1;                ///< [m]
  Real pitch = 1;                 ///< [m] rise of a helix in one turn, right-handed

  void describe(Describer& d);
};

struct SpringsPart {
  enum class Type : int { cloth, rope, soft_body, points };
  /// What the numbers for stiffness mean.
  enum class StiffnessOf : int {
    length,      ///< force per length, k [N/m]
    elongation,  ///< force per relative elongation [N], k = stiffness / rest length
  };
  enum class Show : int { surface, springs, both };
  enum class Colour : int {
    plain,
    speed,   ///< [m/s]
    strain,  ///< l / l0 - 1 of springs but bending ones, which tell folds; of vertices the mean of theirs
  };
  Type type = Type::cloth;

  // Cloth: a rectangle in the plane y = 0 about the origin, normal +y.
  Real size_x = 1, size_z = 1;     ///< [m]
  int cells_x = 20, cells_z = 20;  ///< (cells_x + 1)(cells_z + 1) particles
  Real areal_density = Real(0.2);  ///< [kg/m^2]

  // Rope: from one point to another.
  Vec3 from = Vec3::Zero(), to = Vec3(1, 0, 0);  ///< [m]
  int segments = 32;
  Real slack = 0;                   ///< rest length over distance, less one
  Real linear_density = Real(0.1);  ///< [kg/m]

  // Soft body: a closed mesh filled with a tetrahedral lattice; the mesh itself is drawn.
  TriangleMesh mesh = {};
  Real spacing = Real(0.1);  ///< [m] of the lattice
  Real density = 200;        ///< [kg/m^3]

  // Points: a net of one's own.
  std::vector<Vec3> points = {};        ///< [N] m
  std::vector<Index2> springs = {};     ///< [S][2] < N
  std::vector<Index3> faces = {};       // filled by programs; drawn and pushed by the air
  std::vector<Real> masses = {};        ///< [N] kg; empty: `mass` each
  Real mass = Real(0.1);                ///< [kg]
  std::vector<Real> rest_lengths = {};  ///< [S] m; empty: as placed

  std::vector<Index2> rods = {};  ///< [R][2] < N points that stay as far apart as they are placed
  bool inextensible = false;      ///< a rope's neighbours stay at their rest distance, without springs
  std::vector<SpringsWire> wires = {};

  StiffnessOf stiffness_of = StiffnessOf::length;
  Real structural_stiffness = 1000;  ///< [N/m] or [N]
  Real shear_stiffness = 500;        ///< [N/m] or [N], of cloth
  Real bending_stiffness = 1;        ///< [N/m] or [N], of cloth and rope
  Real damping_time = Real(1e-3);    ///< [s] damping along a spring over its stiffness, c = damping_time k

  Real ball_radius = 0;            ///< [m] of balls drawn at the particles of ropes and points
  Real line_radius = Real(0.006);  ///< [m] of threads drawn for springs and rods
  Show show = Show::surface;       ///< of cloth and soft bodies; what has no surface shows its springs
  Colour colour = Colour::plain;
  Real colour_low = 0, colour_high = 0;  ///< range of the colour map; equal: of what has been seen
  Real trail = 0;                        ///< [s] of their way drawn behind the balls
  int palette = -1;                      ///< of the palette's colours; -1: the picture's choice
  std::string label = {};                ///< words drawn above the first particle; empty: none
  Vec3 position = Vec3::Zero();          ///< [m]
  Vec3 rotation = Vec3::Zero();          ///< [deg] intrinsic angles about x, then y, then z
  Vec3 velocity = Vec3::Zero();          ///< [m/s]
  std::vector<SpringsPin> pins = {};

  void describe(Describer& d);
};
constexpr std::array<const char*, 4> names_of(SpringsPart::Type) {
  return {"cloth", "rope", "soft_body", "points"};
}
constexpr std::array<const char*, 2> names_of(SpringsPart::StiffnessOf) {
  return {"length", "elongation"};
}
constexpr std::array<const char*, 3> names_of(SpringsPart::Show) {
  return {"surface", "springs", "both"};
}
constexpr std::array<const char*, 3> names_of(SpringsPart::Colour) {
  return {"plain", "speed", "strain"};
}

struct SpringsSpec {
  std::vector<SpringsPart> parts = {};

  void describe(Describer& d);
};

}  // namespace plenum::inline PLENUM_ABI
