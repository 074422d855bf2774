#pragma once
// What position-based bodies are made from: a list of parts, each with its placement, material and pins.
#include <array>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/geometry/mesh.h"
#include "plenum/solvers/pbd/body_spec.h"
#include "plenum/state/pins.h"

namespace plenum::inline PLENUM_ABI {

struct PbdPart {
  enum class Type : int { cloth, rope, soft_body, bar, mesh_cloth };
  /// How cloth resists bending.
  enum class Bending : int {
    plate,      ///< as a plate, by finite differences over its grid
    isometric,  ///< a quadratic energy of pairs of triangles (Bergou et al. 2006)
    dihedral,   ///< angles between triangles
  };
  /// How cloth resists stretching.
  enum class Stretching : int {
    distances,  ///< between neighbours
    strain,     ///< along warp and weft, and by their angle, in each triangle
  };
  Type type = Type::cloth;

  // Cloth: a rectangle in the plane y = 0 about the origin, normal +y.
  Real size_x = 1, size_z = 1;     ///< [m]
  int cells_x = 20, cells_z = 20;  ///< (cells_x + 1)(cells_z + 1) particles
  Real areal_density = Real(0.2);  ///< [kg/m^2]
  Real shear_compliance = 0;       ///< [m/N] of the cells' diagonals
  Bending bending = Bending::plate;

  // Both kinds of cloth.
  Stretching stretching = Stretching::distances;
  Real warp_stiffness = 1000, weft_stiffness = 1000;  ///< [N/m] of threads along x and z, or as `warp` says
  Real shear_stiffness = 100;                         ///< [N/m] of their angle; 0: none
  Vec3 warp = Vec3(1, 0, 0);  ///< along which threads of meshes run, laid onto each triangle
  Real area_stiffness = 0;    ///< [N/m] of triangles' areas; 0: none

  // Rope: from one point to another, or along a smooth curve through points.
  Vec3 from = Vec3::Zero(), to = Vec3(1, 0, 0);  ///< [m]
  std::vector<Vec3> through = {};                ///< [m] instead of both, if there are any
  int segments = 32;
  /// Rest length over distance, less one; it begins hanging, or winding about its way, clear of bodies. Some
  /// takes two segments.
  Real slack = 0;
  Real linear_density = Real(0.1);  ///< [kg/m]

  // Soft body: a closed mesh filled with a tetrahedral lattice; the mesh itself is drawn.
  // Cloth of a mesh: its edges and triangles; if it is inflated, a balloon.
  TriangleMesh mesh = {};
  bool inflated = false;  ///< it holds what it encloses, Params::inflation times of it
  /// What balloons are filled with.
  enum class Filling : int {
    volume,  ///< so much of what hardly yields
    gas,     ///< an ideal gas at a constant temperature, p V = n R T
  };
  Filling filling = Filling::volume;
  Real volume_ratio = 1;           ///< of the volume that it is given to the mesh's own
  Real overpressure = 0;           ///< [Pa] of the gas over ambient_pressure, if as large as the mesh
  Real ambient_pressure = 101325;  ///< [Pa]
  Real gas_density = Real(1.2);    ///< [kg/m^3] of what fills it, if as large as the mesh

  Real spacing = Real(0.1);  ///< [m] of the lattice
  // Bar: a box about the origin, of five tetrahedra a cell.
  Vec3 half_extents = Vec3(Real(0.5), Real(0.1), Real(0.1));  ///< [m]
  int cells_y = 4;
  Real density = 200;  ///< [kg/m^3] of both
  /// What soft bodies and bars resist with.
  enum class Material : int {
    distances,       ///< distances between neighbours and volumes of tetrahedra, each with a compliance
    neo_hookean,     ///< an elastic solid (Macklin & Mueller 2021)
    strain,          ///< along axes of its own, and by their angles
    shape_matching,  ///< clusters that find back to their shape, and volumes (Mueller et al. 2005)
  };
  Material material = Material::neo_hookean;
  Real youngs_modulus = Real(1e5);  ///< [Pa]
  Real poissons_ratio = Real(0.45);
  Vec3 axis_stiffness = Vec3::Constant(Real(1e5));        ///< [Pa] along x, y, z, before placement
  Vec3 axis_shear_stiffness = Vec3::Constant(Real(3e4));  ///< [Pa] of the angles of yz, zx, xy; 0: none
  /// What clusters may be of their shape.
  enum class ShapeMode : int { rigid, linear, quadratic };
  ShapeMode shape_mode = ShapeMode::rigid;
  Real flexibility = Real(0.5);  ///< of linear and quadratic ones
  Real cluster_radius = 0;       ///< [m]; 0: one cluster
  Real shape_frequency = 0;      ///< [Hz]; 0: at once
  Real volume_compliance = 0;    ///< [m^6/J] of their tetrahedra's volumes, or of what a mesh encloses

  Real stretch_compliance = 0;  ///< [m/N] of distances between neighbours
  Real bending_stiffness = 0;   ///< [N m] flexural rigidity of cloth, [N m^2] of ropes; 0: none

  Real damping_time = 0;          ///< [s] damping over stiffness, of all but bending
  Real bending_damping_time = 0;  ///< [s] of bending

  /// Particles of cloth and ropes get no farther from what is held than they are at rest, if
  /// stretch_compliance is 0.
  bool tethers = true;

  Real line_radius = Real(0.01);  ///< [m] of the thread that a rope is drawn as
  int palette = -1;               ///< of the palette's colours; -1: the picture's choice
  Vec3 position = Vec3::Zero();   ///< [m]
  Vec3 rotation = Vec3::Zero();   ///< [deg] intrinsic angles about x, then y, then z
  Vec3 velocity = Vec3::Zero();   ///< [m/s]
  std::vector<ParticlePin> pins = {};
  std::vector<PbdAttachment> attachments = {};

  void describe(Describer& d);
};
constexpr std::array<const char*, 5> names_of(PbdPart::Type) {
  return {"cloth", "rope", "soft_body", "bar", "mesh_cloth"};
}

constexpr std::array<const char*, 2> names_of(PbdPart::Filling) {
  return {"volume", "gas"};
}
constexpr std::array<const char*, 4> names_of(PbdPart::Material) {
  return {"distances", "neo_hookean", "strain", "shape_matching"};
}
constexpr std::array<const char*, 2> names_of(PbdPart::Stretching) {
  return {"distances", "strain"};
}
constexpr std::array<const char*, 3> names_of(PbdPart::ShapeMode) {
  return {"rigid", "linear", "quadratic"};
}
constexpr std::array<const char*, 3> names_of(PbdPart::Bending) {
  return {"plate", "isometric", "dihedral"};
}

struct PbdSpec {
  std::vector<PbdPart> parts = {};
  std::vector<PbdBody> bodies = {};
  std::vector<PbdJoint> joints = {};

  void describe(Describer& d);
};

}  // namespace plenum::inline PLENUM_ABI
