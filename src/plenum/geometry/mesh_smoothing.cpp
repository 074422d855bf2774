#include "plenum/geometry/mesh_smoothing.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <utility>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {
namespace {

void find_incident(const SurfaceMesh& mesh, MeshSmoothingWorkspace& work) {
  work.first.assign(mesh.x.size() + 1, 0);
  work.incident.resize(3 * mesh.triangles.size());
  for (const Index3& t : mesh.triangles)
    for (int c = 0; c < 3; ++c) ++work.first[static_cast<std::size_t>(t[c])];
  Index sum = 0;
  for (Index& f : work.first) sum += std::exchange(f, sum);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    for (int c = 0; c < 3; ++c)
      work.incident[static_cast<std::size_t>(work.first[static_cast<std::size_t>(mesh.triangles[t][c])]++)] =
          static_cast<Index>(t);
  std::copy_backward(work.first.begin(), work.first.end() - 1, work.first.end());
  work.first[0] = 0;
}

/// f(vertex, its triangles) for all vertices.
template <class F>
void each_vertex(const SurfaceMesh& mesh, const MeshSmoothingWorkspace& work, F&& f) {
  parallel_for(mesh.x.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      f(v, std::span<const Index>(work.incident.data() + work.first[v],
                                  work.incident.data() + work.first[v + 1]));
  });
}

}  // namespace

void smooth_mesh(SurfaceMesh& mesh, int rounds, MeshSmoothingWorkspace& work, Real lambda) {
  if (rounds <= 0 || mesh.triangles.empty()) return;
  find_incident(mesh, work);
  work.moved.resize(mesh.x.size());
  const Real mu = 1 / (Real(0.1) - 1 / lambda);
  const auto corner = [&](Index t, int c) -> const Vec3& {
    return mesh.x[static_cast<std::size_t>(mesh.triangles[static_cast<std::size_t>(t)][c])];
  };
  for (int step = 0; step < 2 * rounds; ++step) {
    const Real share = step % 2 == 0 ? lambda : mu;
    // Both neighbours of each triangle: on a closed mesh every neighbour is counted twice.
    each_vertex(mesh, work, [&](std::size_t v, std::span<const Index> triangles) {
      Vec3 sum = Vec3::Zero();
      for (const Index t : triangles) sum += corner(t, 0) + corner(t, 1) + corner(t, 2) - mesh.x[v];
      work.moved[v] =
          triangles.empty()
              ? mesh.x[v]
              : Vec3(mesh.x[v] + share * (sum / static_cast<Real>(2 * triangles.size()) - mesh.x[v]));
    });
    std::swap(mesh.x, work.moved);
  }
  each_vertex(mesh, work, [&](std::size_t v, std::span<const Index> triangles) {
    Vec3 sum = Vec3::Zero();
    for (const Index t : triangles) sum += (corner(t, 1) - corner(t, 0)).cross(corner(t, 2) - corner(t, 0));
    const Real length = sum.norm();
    if (length > 0) mesh.normals[v] = sum / length;
  });
}

}  // namespace plenum::inline PLENUM_ABI
