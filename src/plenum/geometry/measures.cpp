#include "plenum/geometry/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;
constexpr std::size_t elements_per_block = 1024;

Point point(std::span<const Vec3> x, Index i) {
  return x[i].cast<double>();
}

/// Volume, first and second moments of a solid about an origin.
struct Moments {
  double volume = 0;
  Point first = Point::Zero();                       // integral of x
  Matrix3<double> second = Matrix3<double>::Zero();  // integral of x x^T
};

Moments operator+(const Moments& a, const Moments& b) {
  return {a.volume + b.volume, a.first + b.first, a.second + b.second};
}

/// Moments of a tetrahedron. With the mean of products of barycentric coordinates, (1 + [i == j]) / 20, the
/// integral of x x^T is V/20 (sum_i x_i x_i^T + s s^T) where s is the sum of the corners (Eberly 2002, sec.
/// 2).
void add_tetrahedron(Moments& m, const Point& a, const Point& b, const Point& c, const Point& d) {
  const double volume = (b - a).cross(c - a).dot(d - a) / 6;
  const Point sum = a + b + c + d;
  m.volume += volume;
  m.first += volume / 4 * sum;
  m.second +=
      volume / 20 *
      (a * a.transpose() + b * b.transpose() + c * c.transpose() + d * d.transpose() + sum * sum.transpose());
}

MassProperties from_moments(const Moments& m, const Point& origin, double density) {
  MassProperties result;
  result.volume = m.volume;
  result.mass = density * m.volume;
  if (m.volume == 0) {
    result.centre = origin;
    return result;
  }
  const Point offset = m.first / m.volume;
  result.centre = origin + offset;
  const Matrix3<double> second = density * (m.second - m.volume * offset * offset.transpose());
  result.inertia = second.trace() * Matrix3<double>::Identity() - second;
  return result;
}

/// A point near the mesh, so that the moments suffer no cancellation far from the world's origin.
Point reference_point(std::span<const Vec3> x) {
  return x.empty() ? Point(Point::Zero()) : Point(bounds_of(x).centre().cast<double>());
}

}  // namespace

std::vector<Real> triangle_areas(std::span<const Vec3> x, std::span<const Index3> triangles) {
  std::vector<Real> areas(triangles.size());
  parallel_for(triangles.size(), elements_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t)
      areas[t] = area_vector(x[triangles[t][0]], x[triangles[t][1]], x[triangles[t][2]]).norm();
  });
  return areas;
}

std::vector<Real> tetrahedron_volumes(std::span<const Vec3> x, std::span<const Index4> tetrahedra) {
  std::vector<Real> volumes(tetrahedra.size());
  parallel_for(tetrahedra.size(), elements_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      const Index4& v = tetrahedra[t];
      volumes[t] = tetrahedron_volume(x[v[0]], x[v[1]], x[v[2]], x[v[3]]);
    }
  });
  return volumes;
}

double surface_area(std::span<const Vec3> x, std::span<const Index3> triangles) {
  return ordered_sum(triangles.size(), elements_per_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t t = begin; t < end; ++t) {
      const Point a = point(x, triangles[t][0]), b = point(x, triangles[t][1]), c = point(x, triangles[t][2]);
      sum += 0.5 * (b - a).cross(c - a).norm();
    }
    return sum;
  });
}

double enclosed_volume(std::span<const Vec3> x, std::span<const Index3> triangles) {
  const Point origin = reference_point(x);
  return ordered_sum(triangles.size(), elements_per_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t t = begin; t < end; ++t) {
      const Point a = point(x, triangles[t][0]) - origin, b = point(x, triangles[t][1]) - origin,
                  c = point(x, triangles[t][2]) - origin;
      sum += a.cross(b).dot(c) / 6;
    }
    return sum;
  });
}

Vector3<double> surface_centroid(std::span<const Vec3> x, std::span<const Index3> triangles) {
  double area = 0;
  Point sum = Point::Zero();
  for (const Index3& t : triangles) {
    const Point a = point(x, t[0]), b = point(x, t[1]), c = point(x, t[2]);
    const double part = 0.5 * (b - a).cross(c - a).norm();
    area += part;
    sum += part / 3 * (a + b + c);
  }
  return area > 0 ? Point(sum / area) : reference_point(x);
}

MassProperties mass_properties(std::span<const Vec3> x, std::span<const Index3> triangles, double density) {
  const Point origin = reference_point(x);
  const Moments moments = ordered_reduce(
      triangles.size(), elements_per_block, Moments{},
      [&](std::size_t begin, std::size_t end) {
        Moments m;
        for (std::size_t t = begin; t < end; ++t)
          add_tetrahedron(m, Point::Zero(), point(x, triangles[t][0]) - origin,
                          point(x, triangles[t][1]) - origin, point(x, triangles[t][2]) - origin);
        return m;
      },
      [](const Moments& a, const Moments& b) { return a + b; });
  return from_moments(moments, origin, density);
}

MassProperties mass_properties(std::span<const Vec3> x, std::span<const Index4> tetrahedra, double density) {
  const Point origin = reference_point(x);
  const Moments moments = ordered_reduce(
      tetrahedra.size(), elements_per_block, Moments{},
      [&](std::size_t begin, std::size_t end) {
        Moments m;
        for (std::size_t t = begin; t < end; ++t) {
          const Index4& v = tetrahedra[t];
          add_tetrahedron(m, point(x, v[0]) - origin, point(x, v[1]) - origin, point(x, v[2]) - origin,
                          point(x, v[3]) - origin);
        }
        return m;
      },
      [](const Moments& a, const Moments& b) { return a + b; });
  return from_moments(moments, origin, density);
}

std::vector<Real> lumped_masses(std::span<const Vec3> x, std::span<const Index3> triangles,
                                double areal_density) {
  std::vector<double> masses(x.size(), 0);
  for (const Index3& t : triangles) {
    const Point a = point(x, t[0]), b = point(x, t[1]), c = point(x, t[2]);
    const double part = areal_density * 0.5 * (b - a).cross(c - a).norm() / 3;
    for (int i = 0; i < 3; ++i) masses[t[i]] += part;
  }
  return {masses.begin(), masses.end()};
}

std::vector<Real> lumped_masses(std::span<const Vec3> x, std::span<const Index4> tetrahedra, double density) {
  std::vector<double> masses(x.size(), 0);
  for (const Index4& t : tetrahedra) {
    const Point a = point(x, t[0]), b = point(x, t[1]), c = point(x, t[2]), d = point(x, t[3]);
    const double part = density * std::abs((b - a).cross(c - a).dot(d - a)) / 24;
    for (int i = 0; i < 4; ++i) masses[t[i]] += part;
  }
  return {masses.begin(), masses.end()};
}

void vertex_normals(std::span<const Vec3> x, std::span<const Index3> triangles, const Rows& incident,
                    std::span<Vec3> area_vectors, std::span<Vec3> normals) {
  parallel_for(triangles.size(), elements_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t)
      area_vectors[t] = area_vector(x[triangles[t][0]], x[triangles[t][1]], x[triangles[t][2]]);
  });
  parallel_for(x.size(), elements_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      Vec3 sum = Vec3::Zero();
      for (const Index t : incident[v]) sum += area_vectors[t];
      // Scaled by the largest component first: areas of a mesh in micrometres have squares that underflow.
      const Real largest = sum.cwiseAbs().maxCoeff();
      normals[v] = largest > 0 ? Vec3((sum / largest).normalized()) : Vec3(Vec3::Zero());
    }
  });
}

std::vector<Vec3> vertex_normals(const TriangleMesh& mesh) {
  const Rows incident = vertex_triangles(mesh.x.size(), mesh.triangles);
  std::vector<Vec3> area_vectors(mesh.triangles.size()), normals(mesh.x.size());
  vertex_normals(mesh.x, mesh.triangles, incident, area_vectors, normals);
  return normals;
}

std::vector<Real> least_corner_masses(std::span<const Real> mass, std::span<const Index3> triangles) {
  std::vector<Real> around(mass.size(), 0), out(triangles.size());
  for (const Index3& t : triangles)
    for (const Index i : t) ++around[std::size_t(i)];
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    Real least = std::numeric_limits<Real>::infinity();
    for (const Index i : triangles[t]) least = std::min(least, mass[std::size_t(i)] / around[std::size_t(i)]);
    out[t] = 3 * least;
  }
  return out;
}

void area_thirds(std::span<const Index3> triangles, std::span<const Vec3> x, std::vector<Vec3>& out) {
  out.assign(x.size(), Vec3::Zero());
  for (const Index3& t : triangles) {
    const Vec3 third = (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]) / 6;
    for (int k = 0; k < 3; ++k) out[static_cast<std::size_t>(t[k])] += third;
  }
}

}  // namespace plenum::inline PLENUM_ABI
