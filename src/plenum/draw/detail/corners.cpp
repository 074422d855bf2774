#include "plenum/draw/detail/corners.h"

#include <algorithm>
#include <cmath>

#include "plenum/io/image.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

namespace {

DrawVertex vertex_of(const TriangleView& view, std::size_t v, const Vector3<float>& normal) {
  const Vec3& x = view.x[v];
  const float value = v < view.colour.values.size() ? static_cast<float>(view.colour.values[v]) : 0.0f;
  DrawVertex out = {
      {float(x.x()), float(x.y()), float(x.z())}, {normal.x(), normal.y(), normal.z()}, value, {}};
  if (v < view.dyes.size())
    for (int c = 0; c < 3; ++c)
      out.dye[c] = static_cast<std::uint8_t>(
          std::lround(255 * srgb_from_linear(std::clamp(double(view.dyes[v][c]), 0.0, 1.0))));
  return out;
}

}  // namespace

void build_draw_mesh(const TriangleView& view, float crease, DrawMesh& mesh) {
  const std::size_t num_vertices = view.x.size();
  mesh.vertices.clear();
  mesh.indices.clear();
  mesh.good_triangles.clear();
  mesh.face_normals.clear();
  mesh.first_corner.assign(num_vertices + 1, 0);
  const bool has_normals = view.normals.size() == num_vertices;

  // Triangles that can be drawn, their area vectors, and how many touch each vertex.
  for (std::size_t t = 0; t < view.triangles.size(); ++t) {
    const Index3& f = view.triangles[t];
    if (f.minCoeff() < 0 || static_cast<std::size_t>(f.maxCoeff()) >= num_vertices) continue;
    const Vec3 &a = view.x[f[0]], &b = view.x[f[1]], &c = view.x[f[2]];
    const Vector3<float> area = (b - a).cross(c - a).cast<float>();
    if (!area.allFinite() || area.squaredNorm() == 0) continue;
    mesh.good_triangles.push_back(static_cast<std::uint32_t>(t));
    mesh.face_normals.push_back(area);
    for (int k = 0; k < 3; ++k) ++mesh.first_corner[f[k] + 1];
  }
  for (std::size_t v = 0; v < num_vertices; ++v) mesh.first_corner[v + 1] += mesh.first_corner[v];
  const std::size_t num_corners = 3 * mesh.good_triangles.size();
  mesh.indices.resize(num_corners);

  if (has_normals) {
    mesh.vertices.reserve(num_vertices);
    for (std::size_t v = 0; v < num_vertices; ++v)
      mesh.vertices.push_back(vertex_of(view, v, view.normals[v].template cast<float>()));
    for (std::size_t i = 0; i < mesh.good_triangles.size(); ++i)
      for (int k = 0; k < 3; ++k)
        mesh.indices[3 * i + k] = static_cast<std::uint32_t>(view.triangles[mesh.good_triangles[i]][k]);
    return;
  }

  // Corners (triangle * 3 + k) around each vertex, in order of triangles.
  mesh.corners.resize(num_corners);
  for (std::size_t i = 0; i < mesh.good_triangles.size(); ++i)
    for (int k = 0; k < 3; ++k)
      mesh.corners[mesh.first_corner[view.triangles[mesh.good_triangles[i]][k]]++] =
          static_cast<std::uint32_t>(3 * i + k);
  // first_corner[v] has moved to the end of v's corners, which is where v + 1 begins.
  const float least_cosine = std::cos(crease);
  mesh.vertices.reserve(num_vertices);
  for (std::size_t v = 0; v < num_vertices; ++v) {
    const std::uint32_t begin = v == 0 ? 0 : mesh.first_corner[v - 1], end = mesh.first_corner[v];
    const std::size_t first_vertex = mesh.vertices.size();
    for (std::uint32_t i = begin; i < end; ++i) {
      const Vector3<float>& own = mesh.face_normals[mesh.corners[i] / 3];
      const float own_length = own.norm();
      Vector3<float> sum = Vector3<float>::Zero();
      for (std::uint32_t j = begin; j < end; ++j) {
        const Vector3<float>& other = mesh.face_normals[mesh.corners[j] / 3];
        if (own.dot(other) >= least_cosine * own_length * other.norm()) sum += other;
      }
      const Vector3<float> normal = sum.normalized();
      // Corners with the same normal share a vertex.
      std::size_t at = first_vertex;
      for (; at < mesh.vertices.size(); ++at) {
        const float* n = mesh.vertices[at].normal;
        if (n[0] * normal.x() + n[1] * normal.y() + n[2] * normal.z() > 0.9999f) break;
      }
      if (at == mesh.vertices.size()) mesh.vertices.push_back(vertex_of(view, v, normal));
      mesh.indices[mesh.corners[i]] = static_cast<std::uint32_t>(at);
    }
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
