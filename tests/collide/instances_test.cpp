// Meshes and height fields with a scale of their own: as their copies, scaled beforehand.
#include <gtest/gtest.h>

#include <cmath>

#include "collide/solids.h"
#include "plenum/base/error.h"
#include "plenum/geometry/collide/mesh_contacts.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "plenum/geometry/wireframe.h"

namespace plenum { namespace instances { namespace {

using namespace test;

/// A shape of size about 1, `scale` times as large: by its scale, and as a copy.
struct Pair {
  Shape scaled, copy;
};
Pair ring(Real scale) {
  TriangleMesh mesh = torus_mesh(Real(0.6), Real(0.25), 20, 10);
  const DistanceFieldOptions options{.resolution = 16};
  const auto one = std::make_shared<const SolidMesh>(mesh, options);
  for (Vec3& x : mesh.x) x *= scale;
  return {MeshShape{one, scale}, MeshShape{std::make_shared<const SolidMesh>(mesh, options)}};
}
Pair hills(Real scale) {
  std::vector<Real> heights;
  for (int k = 0; k < 13; ++k)
    for (int i = 0; i < 13; ++i) heights.push_back(Real(0.15 * std::sin(0.9 * i) * std::cos(0.7 * k)));
  const auto one = std::make_shared<const HeightField>(13, 13, Real(0.2), heights);
  for (Real& h : heights) h *= scale;
  return {HeightFieldShape{one, scale},
          HeightFieldShape{std::make_shared<const HeightField>(13, 13, scale * Real(0.2), heights)}};
}
/// Of powers of two nothing is rounded: everything is the same. Of others to some roundings of the size.
const double scales[] = {2, 0.25, 1.7, 0.03, 37};
bool is_exact(double scale) {
  return scale == 2 || scale == 0.25;
}
double slack(double scale) {
  return is_exact(scale) ? 0 : 1e-6 * scale;
}

Pose random_pose(Dice& dice, double reach) {
  return {(reach * dice.direction()).cast<Real>(), dice.rotation()};
}

TEST(Instances, DistancesNormalsBoxesAndRaysAreThoseOfCopies) {
  for (const auto make : {ring, hills})
    for (const double scale : scales) {
      const Pair pair = make(Real(scale));
      const double near = slack(scale);
      // Where sizes are rounded, fields may have one cell more or less: between nodes each errs by less than
      // half its spacing (surface_source.h).
      const auto* mesh = std::get_if<MeshShape>(&pair.copy.variant());
      const double sampled = mesh && !is_exact(scale) ? double(mesh->solid->field.spacing()) : near;
      Dice dice(7);
      std::vector<Vec3> x;
      for (int k = 0; k < 200; ++k)
        x.push_back((scale * 1.2 * dice.uniform() * dice.direction()).cast<Real>());
      const Pose pose = random_pose(dice, 0);
      std::vector<Real> distance[2];
      std::vector<Vec3> normal(x.size());
      for (const int copy : {0, 1}) {
        distance[copy].resize(x.size());
        (copy ? pair.copy : pair.scaled).signed_distances(pose, x, distance[copy], normal);
      }
      for (std::size_t k = 0; k < x.size(); ++k) {
        EXPECT_NEAR(distance[0][k], distance[1][k], sampled);
        EXPECT_NEAR(pair.scaled.signed_distance(x[k]).distance, pair.copy.signed_distance(x[k]).distance,
                    sampled);
        EXPECT_NEAR(pair.scaled.exact_distance(x[k]).distance, pair.copy.exact_distance(x[k]).distance, near);
        const Vec3 to = dice.direction().cast<Real>();
        const auto a = pair.scaled.intersect(pose, {x[k], to}), b = pair.copy.intersect(pose, {x[k], to});
        // Rays that graze an edge may meet one and not the other.
        if (is_exact(scale)) {
          ASSERT_EQ(a.has_value(), b.has_value());
        }
        if (a && b && std::abs(a->normal.dot(to)) > 0.1) {
          EXPECT_NEAR(a->t, b->t, 20 * near);
        }
      }
      const Aabb a = pair.scaled.bounds(pose), b = pair.copy.bounds(pose);
      EXPECT_LE((a.low - b.low).norm() + (a.high - b.high).norm(), 4 * near);
      EXPECT_NEAR(pair.scaled.thin_wall_error(), pair.copy.thin_wall_error(), near);
      Wireframe lines[2];
      add_wireframe(pair.scaled, {}, lines[0]), add_wireframe(pair.copy, {}, lines[1]);
      ASSERT_EQ(lines[0].x.size(), lines[1].x.size());
      for (std::size_t k = 0; k < lines[0].x.size(); ++k)
        EXPECT_LE((lines[0].x[k] - lines[1].x[k]).norm(), 2 * near);
    }
}

double least_of(const SurfaceManifolds& s) {
  double least = infinity;
  for (int i = 0; i < s.count; ++i)
    for (int k = 0; k < s.manifolds[i].count; ++k)
      least = std::min(least, double(s.manifolds[i].points[k].separation));
  return least;
}
/// The same contacts, to the last bit where nothing is rounded; else as deep.
void expect_alike(const SurfaceManifolds& a, const SurfaceManifolds& b, double scale, int& met) {
  met += b.count > 0;
  if (!is_exact(scale)) {
    if (a.count > 0 && b.count > 0) {
      EXPECT_NEAR(least_of(a), least_of(b), 20 * slack(scale));
    }
    return;
  }
  ASSERT_EQ(a.count, b.count);
  for (int i = 0; i < a.count; ++i) {
    const Manifold &p = a.manifolds[i], &q = b.manifolds[i];
    EXPECT_EQ(p.normal, q.normal);
    ASSERT_EQ(p.count, q.count);
    for (int k = 0; k < p.count; ++k) {
      EXPECT_EQ(p.points[k].x, q.points[k].x);
      EXPECT_EQ(p.points[k].separation, q.points[k].separation);
      EXPECT_EQ(p.points[k].id, q.points[k].id);
    }
  }
}

TEST(Instances, ConvexShapesMeetThemAsTheyMeetCopies) {
  for (const auto make : {ring, hills})
    for (const double scale : scales) {
      const Pair pair = make(Real(scale));
      Dice dice(11);
      int met = 0;
      for (int run = 0; run < 120; ++run) {
        const Shape body = random_shape(Kind(run % num_kinds), dice, 0.4 * scale);
        const Pose pose = random_pose(dice, 0.8 * scale);
        SurfaceManifolds a, b;
        collide_surface(pair.scaled, body, pose, Real(0.05 * scale), a);
        collide_surface(pair.copy, body, pose, Real(0.05 * scale), b);
        expect_alike(a, b, scale, met);
      }
      EXPECT_GT(met, 30) << scale;
    }
}

TEST(Instances, MeshesMeetThemAsTheyMeetCopies) {
  for (const double scale : scales) {
    const Pair a = ring(Real(scale)), b = ring(Real(scale / 2)), ground = hills(Real(scale));
    const Shape box = BoxShape{Vec3(Real(0.3 * scale), Real(0.2 * scale), Real(0.4 * scale))};
    Dice dice(13);
    int met = 0;
    for (int run = 0; run < 60; ++run) {
      const Pose pose = random_pose(dice, 0.8 * scale);
      const std::pair<Shape, Shape> others[] = {{b.scaled, b.copy}, {box, box}, {ground.scaled, ground.copy}};
      for (const auto& [by_scale, by_copy] : others) {
        SurfaceManifolds p, q;
        collide_mesh(a.scaled, by_scale, pose, Real(0.05 * scale), p);
        collide_mesh(a.copy, by_copy, pose, Real(0.05 * scale), q);
        expect_alike(p, q, scale, met);
      }
      SurfaceManifolds p, q;
      collide_mesh_plane(a.scaled, pose, Real(0.05 * scale), p);
      collide_mesh_plane(a.copy, pose, Real(0.05 * scale), q);
      expect_alike(p, q, scale, met);
      EXPECT_NEAR(least_along(a.scaled, pose.position.normalized()),
                  least_along(a.copy, pose.position.normalized()), slack(scale));
    }
    EXPECT_GT(met, 60) << scale;
  }
}

TEST(Instances, ScalesThatAreNoneAreRefused) {
  const Pair pair = ring(1);
  const auto solid = std::get<MeshShape>(pair.scaled.variant()).solid;
  for (const Real scale : {Real(0), Real(-1), std::numeric_limits<Real>::quiet_NaN()})
    EXPECT_THROW(Shape(MeshShape{solid, scale}), Error);
}

}}}  // namespace plenum::instances
