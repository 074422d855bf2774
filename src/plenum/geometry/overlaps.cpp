#include "plenum/geometry/overlaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plenum/geometry/nearest_on_triangle.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t per_run = 64;

bool is_edge(const Index3& face) {
  return face[1] == face[2];
}

std::vector<Aabb> tetrahedron_boxes(std::span<const Vec3> x, std::span<const Index4> tetrahedra) {
  std::vector<Aabb> boxes;
  boxes.reserve(tetrahedra.size());
  for (const Index4& t : tetrahedra) {
    Aabb& box = boxes.emplace_back();
    for (const Index i : t) box.extend(x[std::size_t(i)]);
  }
  return boxes;
}

/// Of each per_run boxes. A tree over faces takes longer to build than many solids take to be asked for.
std::vector<Aabb> boxes_of_runs(std::span<const Aabb> boxes) {
  std::vector<Aabb> runs((boxes.size() + per_run - 1) / per_run);
  for (std::size_t i = 0; i < boxes.size(); ++i) runs[i / per_run].extend(boxes[i]);
  return runs;
}

bool is_in(std::span<const Vec3> x, const Index4& t, const Vec3& at, Real slack) {
  const auto side = [&](int i, int j, int k, const Vec3& d) {
    const Vec3& a = x[std::size_t(t[i])];
    return (x[std::size_t(t[j])] - a).cross(x[std::size_t(t[k])] - a).dot(d - a);
  };
  for (int l = 0; l < 4; ++l) {
    const int i = (l + 1) % 4, j = (l + 2) % 4, k = (l + 3) % 4;
    const Real height = side(i, j, k, x[std::size_t(t[l])]);
    if (!(side(i, j, k, at) * height > -slack * height * height)) return false;
  }
  return true;
}

/// A point of the shape placed at `pose`, the middle of its box where that is one; none of what has no
/// bounds.
std::optional<Vec3> place_inside(const Shape& shape, const Pose& pose) {
  const Aabb box = shape.bounds();
  if (!(box.size().maxCoeff() < std::numeric_limits<Real>::infinity()))
    return {};  // allFinite() takes inf - inf, which traps
  const Vec3 middle = box.centre();
  const SignedDistance<Real> off = shape.signed_distance(middle);
  return pose * (off.distance > 0 ? Vec3(middle - off.distance * off.normal) : middle);
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

void FacesInside::add(const Index3& face, Real deep, const Vec3& where) {
  ++(is_edge(face) ? edges : triangles);
  if (deep > depth) depth = deep, at = where;
}

void FacesInside::add(const FacesInside& others) {
  triangles += others.triangles, edges += others.edges;
  if (others.depth > depth) depth = others.depth, at = others.at;
}

std::string told_of_faces(const FacesInside& faces, const std::string& of, const std::string& solid) {
  std::string what;
  if (faces.triangles > 0) what = counted(faces.triangles, "triangle");
  if (faces.edges > 0) what += (what.empty() ? "" : " and ") + counted(faces.edges, "segment");
  const bool is_one = faces.triangles + faces.edges == 1;
  // To about a tenth of the depth: then what is zero but for rounding is told as zero.
  const Real unit = std::pow(Real(10), std::round(std::log10(faces.depth)) - 1);
  const auto rounded = [&](Real c) { return unit * std::round(c / unit) + Real(0); };
  return fmt::format(
      "{}{}{} start{} up to {:.2g} m deep inside {} between {} particles, at [{:.4g}, {:.4g}, {:.4g}]", what,
      of.empty() ? "" : " ", of, is_one ? "s" : "", faces.depth, solid, is_one ? "its" : "their",
      rounded(faces.at.x()), rounded(faces.at.y()), rounded(faces.at.z()));
}

MeshOverlaps::MeshOverlaps(std::span<const Vec3> x, std::span<const Index3> faces,
                           std::span<const Index4> tetrahedra)
    : x_(x),
      faces_(faces),
      tetrahedra_(tetrahedra),
      face_boxes_(triangle_boxes(x, faces)),
      run_boxes_(boxes_of_runs(face_boxes_)),
      tetrahedron_tree_(tetrahedron_boxes(x, tetrahedra)) {}

void MeshOverlaps::faces_inside(const Shape& shape, const Pose& pose, Real least,
                                FunctionRef<void(Index, Real, const Vec3&)> visit) const {
  const auto distance = [&](const Vec3& x) { return shape.signed_distance(x).distance; };
  const Aabb bounds = shape.bounds(pose);
  const auto look_at = [&](std::size_t f) {
    const Index3& face = faces_[f];
    TriangleCorners corners;
    corners.count = is_edge(face) ? 2 : 3;
    for (int i = 0; i < 3; ++i) corners.x[i] = pose.to_local(x_[std::size_t(face[i])]);
    // The distance is 1-Lipschitz: most faces are too far off for any point of theirs, seen from one of them.
    Real farthest = 0;
    for (int i = 1; i < 3; ++i) farthest = std::max(farthest, (corners.x[i] - corners.x[0]).norm());
    if (distance(corners.x[0]) - farthest > -least) return;
    for (int i = 0; i < corners.count; ++i)
      if (distance(corners.x[i]) < -least) return;
    const Vec3 place = corners.at(nearest_weights(shape, corners, least));
    const Real depth = -distance(place);
    if (depth > least) visit(Index(f), depth, pose * place);
  };
  for (std::size_t run = 0; run < run_boxes_.size(); ++run) {
    if (!bounds.overlaps(run_boxes_[run])) continue;
    const std::size_t end = std::min(faces_.size(), (run + 1) * per_run);
    for (std::size_t f = run * per_run; f < end; ++f)
      if (bounds.overlaps(face_boxes_[f])) look_at(f);
  }
}

Index MeshOverlaps::tetrahedron_around(const Vec3& at, Real slack, FunctionRef<bool(Index)> counts) const {
  Index around = -1;
  tetrahedron_tree_.overlapping({at, at}, [&](Index t) {
    if (around < 0 && counts(t) && is_in(x_, tetrahedra_[std::size_t(t)], at, slack)) around = t;
  });
  return around;
}

Index MeshOverlaps::tetrahedron_around(const Shape& shape, const Pose& pose,
                                       FunctionRef<bool(Index)> counts) const {
  constexpr Real slack = Real(1e-4);
  const std::optional<Vec3> place = place_inside(shape, pose);
  return place ? tetrahedron_around(*place, slack, counts) : Index(-1);
}

}  // namespace plenum::inline PLENUM_ABI
