#pragma once
// Lengths, areas, volumes, normals and mass properties of meshes.
#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

/// Half the cross product of two sides: the area [m^2] times the unit normal.
inline Vec3 area_vector(const Vec3& a, const Vec3& b, const Vec3& c) {
  return Real(0.5) * (b - a).cross(c - a);
}

/// Signed volume [m^3]; positive if d is on the side of (a, b, c) that its normal points to.
inline Real tetrahedron_volume(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  return (b - a).cross(c - a).dot(d - a) / Real(6);
}

/// Areas [T] m^2 of triangles.
std::vector<Real> triangle_areas(std::span<const Vec3> x, std::span<const Index3> triangles);

/// Signed volumes [T] m^3 of tetrahedra.
std::vector<Real> tetrahedron_volumes(std::span<const Vec3> x, std::span<const Index4> tetrahedra);

double surface_area(std::span<const Vec3> x, std::span<const Index3> triangles);  ///< [m^2]

/// Volume [m^3] that a closed mesh encloses; positive for outward orientation. Meaningless for an open mesh.
double enclosed_volume(std::span<const Vec3> x, std::span<const Index3> triangles);

/// Mean point [m] of a surface, weighted by area.
Vector3<double> surface_centroid(std::span<const Vec3> x, std::span<const Index3> triangles);

struct MassProperties {
  double volume = 0;                                  ///< [m^3]
  double mass = 0;                                    ///< [kg]
  Vector3<double> centre = Vector3<double>::Zero();   ///< centre of mass [m]
  Matrix3<double> inertia = Matrix3<double>::Zero();  ///< about the centre of mass [kg m^2]
};

/// Mass properties of the solid inside a closed, outward mesh, exact up to rounding (in double). density
/// [kg/m^3]. Source: Mirtich 1996, "Fast and accurate computation of polyhedral mass properties", reduced to
/// triangles as in Eberly 2002, "Polyhedral mass properties (revisited)": each triangle spans a signed
/// tetrahedron with a point near the mesh, whose moments are polynomials of its corners.
MassProperties mass_properties(std::span<const Vec3> x, std::span<const Index3> triangles,
                               double density = 1);

/// The same for the sum of tetrahedra.
MassProperties mass_properties(std::span<const Vec3> x, std::span<const Index4> tetrahedra,
                               double density = 1);

/// Masses [N] kg of the vertices when each triangle's mass goes in equal parts to its corners.
/// areal_density [kg/m^2]. Vertices without a triangle get 0.
std::vector<Real> lumped_masses(std::span<const Vec3> x, std::span<const Index3> triangles,
                                double areal_density);

/// Masses [T] kg that may be moved by what pushes on each triangle, three times what its lightest corner has
/// for it if each corner's mass is divided among the triangles around it. mass [N] kg.
std::vector<Real> least_corner_masses(std::span<const Real> mass, std::span<const Index3> triangles);

/// Masses [N] kg of the vertices when each tetrahedron's mass goes in equal parts to its corners.
/// density [kg/m^3].
std::vector<Real> lumped_masses(std::span<const Vec3> x, std::span<const Index4> tetrahedra, double density);

/// Unit normals [N] of the vertices: the normalized sum of the area vectors of their triangles; zero for a
/// vertex with none. Sums run in the order of `incident`, so the bits do not depend on threads. Parallel,
/// allocates nothing: for use in every frame. incident = vertex_triangles(N, triangles); area_vectors [T] is
/// scratch; normals [N] is the result.
void vertex_normals(std::span<const Vec3> x, std::span<const Index3> triangles, const Rows& incident,
                    std::span<Vec3> area_vectors, std::span<Vec3> normals);

/// The same, self-contained.
std::vector<Vec3> vertex_normals(const TriangleMesh& mesh);

/// out [N] = a third of the vector areas [m^2] of the triangles around each point.
void area_thirds(std::span<const Index3> triangles, std::span<const Vec3> x, std::vector<Vec3>& out);

}  // namespace plenum::inline PLENUM_ABI
