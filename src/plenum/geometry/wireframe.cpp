#include "plenum/geometry/wireframe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr Real pi = std::numbers::pi_v<Real>;
constexpr Real crease = Real(0.966);  // cosine of 15 degrees

/// Lines in a shape's frame, put where the shape is.
struct Placed {
  const Pose& pose;
  Wireframe& out;

  void line(const Vec3& a, const Vec3& b) const { out.add(pose * a, pose * b); }
  void arc(const Vec3& centre, const Vec3& axis, const Vec3& start, Real angle) const {
    add_arc(pose * centre, pose.rotation * axis, pose.rotation * start, angle, out);
  }
  void ring(Real radius, Real height) const {
    arc(Vec3(0, height, 0), Vec3::UnitY(), Vec3(radius, 0, 0), 2 * pi);
  }
  /// Four lines down the side, from one radius at the bottom to another at the top.
  void sides(Real bottom, Real top, Real half_height) const {
    for (const Vec3& d : {Vec3(1, 0, 0), Vec3(0, 0, 1), Vec3(-1, 0, 0), Vec3(0, 0, -1)})
      line(bottom * d - half_height * Vec3::UnitY(), top * d + half_height * Vec3::UnitY());
  }

  void operator()(const PlaneShape&) const {}
  void operator()(const SphereShape& s) const {
    arc(Vec3::Zero(), Vec3::UnitX(), Vec3(0, s.radius, 0), 2 * pi);
    arc(Vec3::Zero(), Vec3::UnitY(), Vec3(0, 0, s.radius), 2 * pi);
    arc(Vec3::Zero(), Vec3::UnitZ(), Vec3(s.radius, 0, 0), 2 * pi);
  }
  void operator()(const BoxShape& s) const {
    for (int axis = 0; axis < 3; ++axis)
      for (int k = 0; k < 4; ++k) {
        Vec3 a = s.half_extents;
        if (k & 1) a[(axis + 1) % 3] *= -1;
        if (k & 2) a[(axis + 2) % 3] *= -1;
        Vec3 b = a;
        b[axis] *= -1;
        line(a, b);
      }
  }
  void operator()(const CapsuleShape& s) const {
    ring(s.radius, s.half_height), ring(s.radius, -s.half_height);
    sides(s.radius, s.radius, s.half_height);
    for (const Real end : {Real(1), Real(-1)}) {
      const Vec3 centre(0, end * s.half_height, 0);
      arc(centre, Vec3::UnitZ(), Vec3(s.radius, 0, 0), end * pi);
      arc(centre, Vec3::UnitX(), Vec3(0, 0, -s.radius), end * pi);
    }
  }
  void operator()(const CylinderShape& s) const {
    ring(s.radius, s.half_height), ring(s.radius, -s.half_height);
    sides(s.radius, s.radius, s.half_height);
  }
  void operator()(const ConeShape& s) const {
    ring(s.radius, -s.half_height);
    sides(s.radius, 0, s.half_height);
  }
  void operator()(const TorusShape& s) const {
    ring(s.major_radius + s.minor_radius, 0), ring(s.major_radius - s.minor_radius, 0);
    ring(s.major_radius, s.minor_radius), ring(s.major_radius, -s.minor_radius);
    for (const Vec3& d : {Vec3(1, 0, 0), Vec3(0, 0, 1), Vec3(-1, 0, 0), Vec3(0, 0, -1)})
      arc(s.major_radius * d, d.cross(Vec3::UnitY()), s.minor_radius * d, 2 * pi);
  }
  void operator()(const ConvexHullShape& s) const {
    for (const ConvexHull::Edge& e : s.hull->edges) line(s.hull->vertices[e.a], s.hull->vertices[e.b]);
  }
  void operator()(const MeshShape& s) const {
    const TriangleMesh& mesh = s.solid->mesh;
    struct Side {
      Index a, b, triangle;  // a < b
    };
    std::vector<Side> sides;
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
      for (int k = 0; k < 3; ++k) {
        const Index a = mesh.triangles[t][k], b = mesh.triangles[t][(k + 1) % 3];
        sides.push_back({std::min(a, b), std::max(a, b), static_cast<Index>(t)});
      }
    std::sort(sides.begin(), sides.end(), [](const Side& l, const Side& r) {
      return std::array{l.a, l.b, l.triangle} < std::array{r.a, r.b, r.triangle};
    });
    const auto normal = [&](Index t) {
      const Index3& v = mesh.triangles[t];
      return Vec3((mesh.x[v[1]] - mesh.x[v[0]]).cross(mesh.x[v[2]] - mesh.x[v[0]]).normalized());
    };
    for (std::size_t k = 0, end = 0; k < sides.size(); k = end) {
      while (end < sides.size() && sides[end].a == sides[k].a && sides[end].b == sides[k].b) ++end;
      if (end - k == 2 && normal(sides[k].triangle).dot(normal(sides[k + 1].triangle)) > crease) continue;
      line(s.scale * mesh.x[sides[k].a], s.scale * mesh.x[sides[k].b]);
    }
  }
  void operator()(const HeightFieldShape& s) const {
    const HeightField& f = *s.field;
    const auto at = [&](Index i, Index k) { return Vec3(s.scale * f.vertex(i, k)); };
    for (Index k = 0; k < f.rows(); ++k)
      for (Index i = 0; i < f.columns(); ++i) {
        if (i + 1 < f.columns()) line(at(i, k), at(i + 1, k));
        if (k + 1 < f.rows()) line(at(i, k), at(i, k + 1));
      }
  }
};

}  // namespace

void Wireframe::add(const Vec3& a, const Vec3& b) {
  const auto n = static_cast<Index>(x.size());
  x.push_back(a), x.push_back(b);
  segments.emplace_back(n, n + 1);
}

void add_arc(const Vec3& centre, const Vec3& axis, const Vec3& start, Real angle, Wireframe& out) {
  const int chords = std::max(1, static_cast<int>(std::ceil(std::abs(angle) * 16 / pi - Real(1e-3))));
  Vec3 before = centre + start;
  for (int k = 1; k <= chords; ++k) {
    const Real turned = angle * static_cast<Real>(k) / static_cast<Real>(chords);
    const Vec3 x = centre + Eigen::AngleAxis<Real>(turned, axis) * start;
    out.add(before, x);
    before = x;
  }
}

void add_box(const Aabb& box, Wireframe& out) {
  const Pose pose{.position = box.centre()};
  Placed{pose, out}(BoxShape{Real(0.5) * box.size()});
}

void add_wireframe(const Shape& shape, const Pose& pose, Wireframe& out) {
  std::visit(Placed{pose, out}, shape.variant());
}

}  // namespace plenum::inline PLENUM_ABI
