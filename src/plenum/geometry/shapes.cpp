#include "plenum/geometry/shapes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <unordered_map>

#include "plenum/base/error.h"
#include "plenum/geometry/detail/require.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::require_count, detail::require_length;

/// Indices are 32-bit; refuse before allocating what they cannot number.
void require_vertices(double count) {
  if (count > double(std::numeric_limits<Index>::max()) / 8)
    throw Error(Problem{.what = "the mesh would have too many vertices",
                        .value = fmt::format("{:.3g}", count),
                        .allowed = "up to 2.7e8"});
}

constexpr std::int64_t most_cells = 1 << 24;

/// A point of a profile to be turned about the y axis.
struct ProfilePoint {
  double radius, height;
};

/// Surface swept by a profile turned about the y axis. The profile runs so that the outside is to its right
/// when radius points right and height up, i.e. from the bottom pole along the outside to the top pole;
/// points of radius zero become one vertex. A closed profile (torus) joins its last point to its first.
TriangleMesh revolve(const std::vector<ProfilePoint>& profile, Index segments, bool closed) {
  require_vertices(double(profile.size()) * double(segments));
  TriangleMesh mesh;
  std::vector<Index> first(profile.size());
  for (std::size_t i = 0; i < profile.size(); ++i) {
    first[i] = static_cast<Index>(mesh.x.size());
    const auto [radius, height] = profile[i];
    if (radius == 0) {
      mesh.x.emplace_back(Real(0), Real(height), Real(0));
      continue;
    }
    for (Index j = 0; j < segments; ++j) {
      const double angle = 2 * std::numbers::pi * j / segments;
      mesh.x.emplace_back(Real(radius * std::cos(angle)), Real(height), Real(-radius * std::sin(angle)));
    }
  }
  const auto vertex = [&](std::size_t i, Index j) {
    return profile[i].radius == 0 ? first[i] : first[i] + j % segments;
  };
  const std::size_t bands = closed ? profile.size() : profile.size() - 1;
  for (std::size_t i = 0; i < bands; ++i) {
    const std::size_t above = (i + 1) % profile.size();
    for (Index j = 0; j < segments; ++j) {
      const Index a = vertex(i, j), b = vertex(i, j + 1), c = vertex(above, j + 1), d = vertex(above, j);
      if (a != b) mesh.triangles.emplace_back(a, b, c);
      if (c != d) mesh.triangles.emplace_back(a, c, d);
    }
  }
  return mesh;
}

void append_disc(std::vector<ProfilePoint>& profile, double radius, double height, Index rings,
                 bool outward) {
  for (Index i = 0; i < rings; ++i) {
    const Index step = outward ? i : rings - 1 - i;
    profile.push_back({radius * step / rings, height});
  }
}

}  // namespace

TriangleMesh grid_mesh(const Vec2& size, Index nx, Index nz, Diagonals diagonals) {
  require_length("size[0]", size[0]);
  require_length("size[1]", size[1]);
  require_count("nx", nx, 1, most_cells);
  require_count("nz", nz, 1, most_cells);
  require_vertices(double(nx + 1) * double(nz + 1));
  TriangleMesh mesh;
  mesh.x.reserve(std::size_t(nx + 1) * std::size_t(nz + 1));
  mesh.triangles.reserve(std::size_t(nx) * std::size_t(nz) * 2);
  for (Index j = 0; j <= nz; ++j)
    for (Index i = 0; i <= nx; ++i)
      mesh.x.emplace_back(Real(size[0] * (double(i) / nx - 0.5)), Real(0),
                          Real(size[1] * (double(j) / nz - 0.5)));
  for (Index j = 0; j < nz; ++j)
    for (Index i = 0; i < nx; ++i) {
      const Index a = j * (nx + 1) + i, b = a + 1, d = a + nx + 1, c = d + 1;
      if (diagonals == Diagonals::same || (i + j) % 2 == 0) {
        mesh.triangles.emplace_back(a, d, c);
        mesh.triangles.emplace_back(a, c, b);
      } else {
        mesh.triangles.emplace_back(a, d, b);
        mesh.triangles.emplace_back(b, d, c);
      }
    }
  return mesh;
}

TriangleMesh box_mesh(const Vec3& half_extents, const Index3& cells) {
  for (int axis = 0; axis < 3; ++axis) {
    require_length("half_extents", half_extents[axis]);
    require_count("cells", cells[axis], 1, most_cells);
  }
  const auto area = [&](int a, int b) { return double(cells[a] + 1) * double(cells[b] + 1); };
  require_vertices(2 * (area(0, 1) + area(1, 2) + area(2, 0)));
  TriangleMesh mesh;
  std::unordered_map<std::uint64_t, Index> numbers;  // of lattice points on the surface
  // Each pair of axes has under 2^28 lattice points by the check above, so all three have under 2^42.
  const std::uint64_t nx = std::uint64_t(cells[0]) + 1, ny = std::uint64_t(cells[1]) + 1;
  const auto vertex = [&](const Index3& p) {
    const std::uint64_t key = (std::uint64_t(p[2]) * ny + std::uint64_t(p[1])) * nx + std::uint64_t(p[0]);
    const auto [at, is_new] = numbers.try_emplace(key, static_cast<Index>(mesh.x.size()));
    if (is_new) {
      Vec3 x;
      for (int axis = 0; axis < 3; ++axis)
        x[axis] = Real(half_extents[axis] * (2.0 * p[axis] / cells[axis] - 1));
      mesh.x.push_back(x);
    }
    return at->second;
  };
  for (int axis = 0; axis < 3; ++axis) {
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;  // u x v = axis
    for (const bool high : {false, true})
      for (Index j = 0; j < cells[v]; ++j)
        for (Index i = 0; i < cells[u]; ++i) {
          const auto corner = [&](Index di, Index dj) {
            Index3 p;
            p[axis] = high ? cells[axis] : 0;
            p[u] = i + di;
            p[v] = j + dj;
            return vertex(p);
          };
          const Index a = corner(0, 0), b = corner(1, 0), c = corner(1, 1), d = corner(0, 1);
          if (high) {
            mesh.triangles.emplace_back(a, b, c);
            mesh.triangles.emplace_back(a, c, d);
          } else {
            mesh.triangles.emplace_back(a, c, b);
            mesh.triangles.emplace_back(a, d, c);
          }
        }
  }
  return mesh;
}

TriangleMesh icosphere_mesh(Real radius, int subdivisions) {
  require_length("radius", radius);
  require_count("subdivisions", subdivisions, 0, 9);
  using Point = Vector3<double>;
  const double g = std::numbers::phi;
  std::vector<Point> x = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                          {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  for (Point& p : x) p.normalize();
  std::vector<Index3> triangles = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                   {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                   {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                   {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
  for (int level = 0; level < subdivisions; ++level) {
    std::unordered_map<std::uint64_t, Index> middles;
    middles.reserve(triangles.size() * 3 / 2);
    const auto middle = [&](Index a, Index b) {
      const auto key = (std::uint64_t(std::min(a, b)) << 32) | std::uint64_t(std::max(a, b));
      const auto [at, is_new] = middles.try_emplace(key, static_cast<Index>(x.size()));
      if (is_new) x.push_back((x[a] + x[b]).normalized());
      return at->second;
    };
    std::vector<Index3> finer;
    finer.reserve(triangles.size() * 4);
    for (const Index3& t : triangles) {
      const Index ab = middle(t[0], t[1]), bc = middle(t[1], t[2]), ca = middle(t[2], t[0]);
      finer.emplace_back(t[0], ab, ca);
      finer.emplace_back(t[1], bc, ab);
      finer.emplace_back(t[2], ca, bc);
      finer.emplace_back(ab, bc, ca);
    }
    triangles = std::move(finer);
  }
  TriangleMesh mesh;
  mesh.triangles = std::move(triangles);
  mesh.x.reserve(x.size());
  for (const Point& p : x) mesh.x.push_back((double(radius) * p).cast<Real>());
  return mesh;
}

TriangleMesh cylinder_mesh(Real radius, Real half_height, Index segments, Index rings, Index cap_rings) {
  require_length("radius", radius);
  require_length("half_height", half_height);
  require_count("segments", segments, 3, most_cells);
  require_count("rings", rings, 1, most_cells);
  require_count("cap_rings", cap_rings, 1, most_cells);
  std::vector<ProfilePoint> profile;
  append_disc(profile, radius, -half_height, cap_rings, true);
  for (Index i = 0; i <= rings; ++i) profile.push_back({double(radius), half_height * (2.0 * i / rings - 1)});
  append_disc(profile, radius, half_height, cap_rings, false);
  return revolve(profile, segments, false);
}

TriangleMesh capsule_mesh(Real radius, Real half_height, Index segments, Index rings, Index cap_rings) {
  require_length("radius", radius);
  require_length("half_height", half_height);
  require_count("segments", segments, 3, most_cells);
  require_count("rings", rings, 1, most_cells);
  require_count("cap_rings", cap_rings, 1, most_cells);
  std::vector<ProfilePoint> profile;
  const auto on_cap = [&](Index i, double sign) {  // i = 0 at the rim, cap_rings at the pole
    const double angle = 0.5 * std::numbers::pi * i / cap_rings;
    const double r = i == cap_rings ? 0 : radius * std::cos(angle);
    profile.push_back({r, sign * (half_height + radius * std::sin(angle))});
  };
  for (Index i = cap_rings; i >= 1; --i) on_cap(i, -1);
  for (Index i = 0; i <= rings; ++i) profile.push_back({double(radius), half_height * (2.0 * i / rings - 1)});
  for (Index i = 1; i <= cap_rings; ++i) on_cap(i, 1);
  return revolve(profile, segments, false);
}

TriangleMesh cone_mesh(Real radius, Real half_height, Index segments, Index rings, Index cap_rings) {
  require_length("radius", radius);
  require_length("half_height", half_height);
  require_count("segments", segments, 3, most_cells);
  require_count("rings", rings, 1, most_cells);
  require_count("cap_rings", cap_rings, 1, most_cells);
  std::vector<ProfilePoint> profile;
  append_disc(profile, radius, -half_height, cap_rings, true);
  for (Index i = 0; i <= rings; ++i)
    profile.push_back({radius * double(rings - i) / rings, half_height * (2.0 * i / rings - 1)});
  return revolve(profile, segments, false);
}

TriangleMesh revolved_mesh(std::span<const Vec2> profile, Index segments) {
  require_count("segments", segments, 3, most_cells);
  require_count("points of the profile", static_cast<Index>(profile.size()), 3, most_cells);
  std::vector<ProfilePoint> points;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const bool on_axis = i == 0 || i + 1 == profile.size();
    if (!profile[i].allFinite() || (on_axis ? profile[i].x() != 0 : !(profile[i].x() > 0)))
      throw Error(Problem{.key = fmt::format("profile[{}]", i),
                          .what = on_axis ? "must be on the axis" : "must be off the axis, and finite",
                          .value = fmt::format("({}, {})", profile[i].x(), profile[i].y())});
    points.push_back({double(profile[i].x()), double(profile[i].y())});
  }
  return revolve(points, segments, false);
}

TriangleMesh torus_mesh(Real major_radius, Real minor_radius, Index segments, Index sides) {
  require_length("major_radius", major_radius);
  require_length("minor_radius", minor_radius);
  require_count("segments", segments, 3, most_cells);
  require_count("sides", sides, 3, most_cells);
  if (!(minor_radius < major_radius))
    throw Error(Problem{.key = "minor_radius",
                        .what = "is not below the radius from the axis to the middle of the tube",
                        .value = fmt::format("{}", minor_radius),
                        .allowed = fmt::format("0 to {} m", major_radius)});
  std::vector<ProfilePoint> profile;
  for (Index i = 0; i < sides; ++i) {
    const double angle = 2 * std::numbers::pi * i / sides;
    profile.push_back({major_radius + minor_radius * std::cos(angle), minor_radius * std::sin(angle)});
  }
  return revolve(profile, segments, true);
}

TetMesh box_tetrahedra(const Vec3& half_extents, const Index3& cells) {
  for (int axis = 0; axis < 3; ++axis) {
    require_length("half_extents", half_extents[axis]);
    require_count("cells", cells[axis], 1, most_cells);
  }
  const Index nx = cells[0], ny = cells[1], nz = cells[2];
  require_vertices(double(nx + 1) * double(ny + 1) * double(nz + 1));
  TetMesh mesh;
  mesh.x.reserve(std::size_t(nx + 1) * std::size_t(ny + 1) * std::size_t(nz + 1));
  mesh.tetrahedra.reserve(std::size_t(nx) * std::size_t(ny) * std::size_t(nz) * 5);
  for (Index k = 0; k <= nz; ++k)
    for (Index j = 0; j <= ny; ++j)
      for (Index i = 0; i <= nx; ++i)
        mesh.x.emplace_back(Real(half_extents[0] * (2.0 * i / nx - 1)),
                            Real(half_extents[1] * (2.0 * j / ny - 1)),
                            Real(half_extents[2] * (2.0 * k / nz - 1)));
  // Corners are numbered by bits x, y, z. Even cells have the tetrahedron 0-3-5-6 in the middle; in odd ones
  // x is mirrored, which flips the orientation, so two corners are exchanged.
  constexpr std::array<std::array<int, 4>, 5> five = {
      {{0, 3, 6, 5}, {1, 0, 5, 3}, {2, 0, 3, 6}, {4, 0, 6, 5}, {7, 3, 5, 6}}};
  for (Index k = 0; k < nz; ++k)
    for (Index j = 0; j < ny; ++j)
      for (Index i = 0; i < nx; ++i) {
        const bool mirrored = (i + j + k) % 2 != 0;
        const auto vertex = [&](int corner) {
          if (mirrored) corner ^= 1;
          return ((k + (corner >> 2)) * (ny + 1) + j + (corner >> 1 & 1)) * (nx + 1) + i + (corner & 1);
        };
        for (const auto& t : five) {
          Index4 tet(vertex(t[0]), vertex(t[1]), vertex(t[2]), vertex(t[3]));
          if (mirrored) std::swap(tet[2], tet[3]);
          mesh.tetrahedra.push_back(tet);
        }
      }
  return mesh;
}

}  // namespace plenum::inline PLENUM_ABI
