// What runs in every frame must not touch the heap.
#include <gtest/gtest.h>

#include "plenum/base/parallel.h"
#include "plenum/geometry/embedding.h"
#include "plenum/geometry/lattice.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shape.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

TEST(Allocation, NoneInQueriesNormalsRefitsAndEmbeddings) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations cannot be counted in this build";
  const TriangleMesh ball = icosphere_mesh(1, 3);
  const TetMesh body = lattice_tetrahedra(ball, Real(0.3));
  const TetEmbedding in_body = embed_in_tetrahedra(ball.x, body.x, body.tetrahedra);
  const TriangleEmbedding on_ball = embed_in_triangles(body.x, ball.x, ball.triangles);
  const Rows incident = vertex_triangles(ball.x.size(), ball.triangles);
  const std::vector<Aabb> boxes = triangle_boxes(ball.x, ball.triangles);
  Bvh bvh(boxes);
  const Shape shapes[] = {
      PlaneShape{},
      SphereShape{1},
      BoxShape{{1, 1, 1}},
      CapsuleShape{1, 1},
      CylinderShape{1, 1},
      ConeShape{1, 1},
      TorusShape{1, Real(0.5)},
      MeshShape{std::make_shared<const SolidMesh>(ball, DistanceFieldOptions{.resolution = 16})}};
  const MeshDistance exact(ball);
  std::vector<Vec3> normals(ball.x.size()), areas(ball.triangles.size()), points(ball.x.size()),
      others(body.x.size());
  std::vector<Real> distance(ball.x.size());
  Real sum = 0;
  const auto frame = [&] {
    vertex_normals(ball.x, ball.triangles, incident, areas, normals);
    for (const Shape& shape : shapes) {
      shape.signed_distances({}, ball.x, distance);
      shape.signed_distances({}, ball.x, distance, normals);
      shape.closest_points({}, ball.x, points);
      sum += first_contact(shape, {}, {}, Vec3(0, 5, 0), Vec3(0, -5, 0), 0, Real(1e-3)).value_or(0);
      if (const auto hit = shape.intersect({}, {Vec3(0, 5, 0), Vec3(0, -1, 0)})) sum += hit->t;
    }
    bvh.refit([&](Index t) { return boxes[t]; });
    update_embedded(in_body, body.x, points);
    update_embedded(on_ball, ball.x, others);
    sum += exact.closest(Vec3(2, 0, 0)).distance + Real(exact.winding_number(Vec3(0, 0, 0)));
  };
  // One thread: with more, the backend's own tasks are counted.
  frame();
  EXPECT_EQ(plenum_test::count_allocations(frame), 0);
  EXPECT_GT(sum, 0);
}

}}  // namespace plenum
