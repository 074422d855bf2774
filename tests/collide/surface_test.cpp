// Convex shapes on triangle meshes and height fields.
#include <gtest/gtest.h>

#include <numbers>
#include <set>

#include "collide/solids.h"
#include "plenum/geometry/collide/epa.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using namespace test;

Shape solid(const TriangleMesh& mesh) {
  return MeshShape{std::make_shared<const SolidMesh>(mesh, DistanceFieldOptions{.resolution = 8})};
}

template <class Height>
Shape ground(Index n, double spacing, Height&& height) {
  std::vector<Real> y;
  const double half = 0.5 * (n - 1);
  for (Index k = 0; k < n; ++k)
    for (Index i = 0; i < n; ++i)
      y.push_back(static_cast<Real>(height((i - half) * spacing, (k - half) * spacing)));
  return HeightFieldShape{std::make_shared<const HeightField>(n, n, static_cast<Real>(spacing), y)};
}

TriangleMesh mesh_of(const Shape& ground) {
  return height_field_mesh(*std::get<HeightFieldShape>(ground.variant()).field);
}

SurfaceManifolds touch(const Shape& surface, const Shape& b, const Pose& pose, double margin) {
  SurfaceManifolds out;
  collide_surface(surface, b, pose, static_cast<Real>(margin), out);
  return out;
}

struct Deepest {
  double separation = infinity;
  Point normal = Point::Zero();
  int points = 0;
};
Deepest deepest_of(const SurfaceManifolds& s) {
  Deepest d;
  for (int i = 0; i < s.count; ++i)
    for (int k = 0; k < s.manifolds[i].count; ++k) {
      ++d.points;
      const double here = static_cast<double>(s.manifolds[i].points[k].separation);
      if (here < d.separation) {
        d.separation = here;
        d.normal = s.manifolds[i].normal.cast<double>();
      }
    }
  return d;
}

Pose spun(const Point& at, double angle, const Point& axis) {
  return {at.cast<Real>(),
          Quat(Eigen::AngleAxis<Real>(static_cast<Real>(angle), axis.cast<Real>().normalized()))};
}

TEST(Surface, NothingThatSlidesOverAFlatPlaneFeelsItsEdges) {
  const auto flat = [](double, double) { return 0.25; };
  const Shape field = ground(41, 0.1, flat), mesh = solid(mesh_of(field));
  // The same plane tilted: its corners are rounded to Real.
  const Quat tilt = Quat(Eigen::AngleAxis<Real>(Real(0.3), Vec3(1, Real(0.2), Real(0.5)).normalized()));
  TriangleMesh leaning = mesh_of(field);
  for (Vec3& x : leaning.x) x = tilt * x;
  const Shape slope = solid(leaning);
  Dice dice(51);
  for (int kind = 0; kind < num_kinds; ++kind)
    for (int run = 0; run < 6; ++run) {
      const Shape body = random_shape(Kind(kind), dice, 0.4);
      const bool upright = run % 2 == 0;
      const Quat q =
          upright ? Quat(Eigen::AngleAxis<Real>(Real(dice.uniform()), Vec3::UnitY())) : dice.rotation();
      const Point start(dice.between(-1, 0), 0, dice.between(-1, 0)),
          along(dice.between(0.2, 1), 0, dice.uniform());
      const double gap = dice.between(-0.004, 0.004);
      const double low = solid_of(body, {Vec3::Zero(), q}).support(-Point::UnitY())[1];
      for (int i = 0; i < 60; ++i) {
        Pose pose{(start + i / 60.0 * along).cast<Real>(), q};
        pose.position[1] = static_cast<Real>(0.25 + gap - low);
        for (const Shape* surface : {&field, &mesh, &slope}) {
          SCOPED_TRACE(std::string(name_of(Kind(kind))) + " " + std::to_string(run) + " " +
                       std::to_string(i));
          Pose placed = pose;
          Point up = Point::UnitY();
          if (surface == &slope) {
            placed = {tilt * pose.position, tilt * q};
            up = (tilt * Vec3::UnitY()).cast<double>();
          }
          const SurfaceManifolds s = touch(*surface, body, placed, 0.01);
          ASSERT_EQ(s.count, 1);
          const Manifold& m = s.manifolds[0];
          ASSERT_LT(std::acos(std::min(1.0, m.normal.cast<double>().normalized().dot(up))),
                    sizeof(Real) == 4 ? 1e-4 : 1e-7);
          ASSERT_LT((m.normal.cast<double>() - up).norm(), 1e-4);
          ASSERT_NEAR(deepest_of(s).separation, gap, 2e-6);
          if (upright && (kind == box || kind == cylinder || kind == cone)) {
            ASSERT_EQ(m.count, 4);
          }
        }
      }
    }
}

TEST(Surface, BoxOnAFlatPlaneTouchesWithItsFourCornersWhoseIdsLast) {
  const Shape field = ground(41, 0.1, [](double, double) { return 0.0; }), mesh = solid(mesh_of(field)),
              body = BoxShape{{Real(0.33), Real(0.2), Real(0.27)}};
  for (const Shape* surface : {&field, &mesh}) {
    std::set<std::uint32_t> first;
    for (int i = 0; i < 100; ++i) {
      const Pose pose = spun({-0.9 + 0.0173 * i, 0.199, 0.4 - 0.0057 * i}, 0.4, Point::UnitY());
      const SurfaceManifolds s = touch(*surface, body, pose, 0.01);
      ASSERT_EQ(s.count, 1);
      const Manifold& m = s.manifolds[0];
      ASSERT_EQ(m.count, 4);
      std::set<std::uint32_t> ids;
      for (int k = 0; k < 4; ++k) {
        ids.insert(m.points[k].id);
        ASSERT_NEAR(m.points[k].separation, -0.001, 1e-6);
        const Vec3 corner = pose.to_local(m.points[k].x);
        ASSERT_NEAR(std::abs(corner[0]), 0.33, 1e-5);
        ASSERT_NEAR(std::abs(corner[2]), 0.27, 1e-5);
        ASSERT_NEAR(m.points[k].x[1], -0.0005, 1e-6);
      }
      if (i == 0) first = ids;
      ASSERT_EQ(ids, first);
    }
  }
}

TEST(Surface, BallOverARidgeAndInAValleyAgreesWithTheWedge) {
  // y = -+slope |x|: a ridge or a valley along z.
  Dice dice(52);
  for (const double slope : {0.3, 1.0, 3.0})
    for (const bool is_ridge : {true, false}) {
      const Shape field =
          ground(41, 0.1, [&](double x, double) { return (is_ridge ? -slope : slope) * std::abs(x); });
      const Shape mesh = solid(mesh_of(field));
      const double steep = std::hypot(1, slope);
      for (int i = 0; i < 400; ++i) {
        const double r = dice.between(0.05, 0.4), x = dice.between(-0.6, 0.6);
        // Signed distances to the two planes; the solid is their intersection (ridge) or union (valley).
        const double ground_height = (is_ridge ? -slope : slope) * std::abs(x);
        const double y = ground_height + dice.between(0.3, 1.1) * r * steep, margin = 0.02;
        Point n[2];
        double plane[2];
        for (int side = 0; side < 2; ++side) {
          const double sign = side ? 1 : -1;
          n[side] = Point((is_ridge ? sign : -sign) * slope, 1, 0) / steep;
          plane[side] = n[side].dot(Point(x, y, 0));
        }
        const Pose pose{Vec3(Real(x), Real(y), Real(0.3 * dice.uniform())), dice.rotation()};
        for (const Shape* surface : {&field, &mesh}) {
          const SurfaceManifolds s = touch(*surface, SphereShape{Real(r)}, pose, margin);
          SCOPED_TRACE(std::to_string(slope) + (is_ridge ? " ridge " : " valley ") + std::to_string(i));
          if (is_ridge) {
            // The foot on the nearer slope lies beyond the ridge: the ridge itself is nearest.
            const int side = x > 0 ? 1 : 0;
            const Point p(x, y, 0);
            const double foot = p[0] - plane[side] * n[side][0];
            const bool on_edge = side ? foot < 0 : foot > 0;
            const double truth = (on_edge ? std::hypot(x, y) : plane[side]) - r;
            if (std::abs(truth - margin) < 1e-5) continue;
            ASSERT_EQ(s.count > 0, truth < margin);
            if (s.count == 0) continue;
            const Deepest d = deepest_of(s);
            EXPECT_NEAR(d.separation, truth, 3e-6);
            EXPECT_LT((d.normal - (on_edge ? Point(p.normalized()) : n[side])).norm(), 1e-4);
            if (on_edge) {
              EXPECT_EQ(d.points, 1);
            }
          } else {
            // Each slope is touched where its foot lies on it.
            int expected = 0;
            bool unsure = false;
            for (int side = 0; side < 2; ++side) {
              const double foot = x - plane[side] * n[side][0];
              unsure |= std::abs(plane[side] - r - margin) < 1e-5 || std::abs(foot) < 1e-5;
              if ((side ? foot < 0 : foot > 0) || plane[side] - r > margin) continue;
              ++expected;
              bool found = false;
              for (int m = 0; m < s.count; ++m)
                found |= (s.manifolds[m].normal.cast<double>() - n[side]).norm() < 1e-4 &&
                         std::abs(static_cast<double>(s.manifolds[m].points[0].separation) -
                                  (plane[side] - r)) < 3e-6;
              EXPECT_TRUE(found || unsure);
            }
            if (!unsure) {
              EXPECT_EQ(s.count, expected);
            }
          }
        }
      }
    }
}

TEST(Surface, ConvexMeshesAgreeWithTheirHulls) {
  // A closed convex mesh, cut finely, and the hull of its corners are one solid; GJK and EPA judge.
  Dice dice(53);
  const TriangleMesh meshes[] = {icosphere_mesh(1, 2), box_mesh({1, Real(0.7), Real(0.8)}, Index3(5, 4, 3)),
                                 cone_mesh(1, 1, 12, 3, 2)};
  int touching = 0;
  for (const TriangleMesh& mesh : meshes) {
    const Shape surface = solid(mesh),
                hull_shape = ConvexHullShape{std::make_shared<const ConvexHull>(convex_hull(mesh.x))};
    std::vector<Point> x;
    for (const Vec3& v : mesh.x) x.push_back(v.cast<double>());
    Solid a;
    a.support = [&](const Point& d) {
      return *std::max_element(x.begin(), x.end(),
                               [&](const Point& p, const Point& q) { return p.dot(d) < q.dot(d); });
    };
    for (int kind = 0; kind < num_kinds; ++kind)
      for (int i = 0; i < 60; ++i) {
        const Shape body = random_shape(Kind(kind), dice, 0.5);
        SCOPED_TRACE(std::to_string(mesh.x.size()) + " " + name_of(Kind(kind)) + " " + std::to_string(i));
        const double least = least_half_extent(body), margin = 0.05;
        Pose pose{Vec3::Zero(), dice.rotation()};
        // Along a random line until the wanted separation.
        const Point along = dice.direction();
        const double wanted = dice.between(-0.12 * least, 0.06);
        double low = 0, high = 4, truth = 0;
        for (int k = 0; k < 30; ++k) {
          const double s = 0.5 * (low + high);
          pose.position = (s * along).cast<Real>();
          const Solid b = solid_of(body, pose);
          const auto g = gjk<double>(a.support, b.support, along, 1e-6);
          truth = g.overlap ? -epa<double>(a.support, b.support, g.simplex, 1e-5).depth : g.distance;
          (truth > wanted ? high : low) = s;
        }
        const Solid b = solid_of(body, pose);
        const SurfaceManifolds s = touch(surface, body, pose, margin);
        const double tolerance = 6e-3 * least + 1e-5;
        if (std::abs(truth - margin) < tolerance) continue;
        ASSERT_EQ(s.count > 0, truth < margin) << truth;
        if (s.count == 0) continue;
        ++touching;
        const Deepest d = deepest_of(s);
        // Every manifold's normal belongs to the surface: it separates no less than its deepest point says.
        double best = -infinity;
        for (int m = 0; m < s.count; ++m) {
          const Manifold& one = s.manifolds[m];
          const Point n = one.normal.cast<double>().normalized();
          EXPECT_NEAR(one.normal.norm(), 1, 1e-5);
          best = std::max(best, separation(a, b, n));
          for (int k = 0; k < one.count; ++k) {
            const Vec3& p = one.points[k].x;
            const double half = 0.5 * std::abs(static_cast<double>(one.points[k].separation));
            // Points are midway between the surfaces; capsules count as level up to a sine of 0.1, and the
            // points of one manifold have normals within 5 degrees of each other.
            const double slack = 3e-3 * least + (kind == capsule ? 5e-3 : 0) + 0.1 * half + 1e-5;
            EXPECT_LE(std::abs(static_cast<double>(body.signed_distance(pose.to_local(p)).distance)),
                      half + slack);
            EXPECT_LE(std::abs(static_cast<double>(hull_shape.signed_distance(p).distance)), half + slack);
          }
        }
        // Beyond the depth up to which a face is kept (pairs.h) the triangles around may agree on a direction
        // that is not the best.
        const double shallow = -0.05 * least;
        EXPECT_GE(best, (truth < shallow ? 1.5 * truth : truth) - tolerance);
        EXPECT_LE(best, truth + tolerance);
        if (truth > 0) {
          EXPECT_NEAR(d.separation, truth, tolerance);
        } else {
          EXPECT_LE(d.separation, truth + tolerance);
        }
      }
  }
  EXPECT_GT(touching, 700);
}

TEST(Surface, InTheCornerOfARoomThreeWallsTouch) {
  TriangleMesh room = box_mesh({1, 1, 1}, Index3(7, 7, 7));
  for (Index3& t : room.triangles) std::swap(t[1], t[2]);
  const Shape walls = solid(room);
  Dice dice(54);
  for (int kind = 0; kind < num_kinds; ++kind)
    for (int i = 0; i < 40; ++i) {
      const Shape body = random_shape(Kind(kind), dice, 0.4);
      Pose pose{Vec3::Zero(), i % 2 ? dice.rotation() : Quat(Quat::Identity())};
      double gap[3];
      for (int axis = 0; axis < 3; ++axis) {
        const double low = solid_of(body, {Vec3::Zero(), pose.rotation}).support(-Point::Unit(axis))[axis];
        gap[axis] = dice.between(-0.01, 0.01);
        pose.position[axis] = static_cast<Real>(-1 - low + gap[axis]);
      }
      const SurfaceManifolds s = touch(walls, body, pose, 0.02);
      SCOPED_TRACE(std::string(name_of(Kind(kind))) + " " + std::to_string(i));
      ASSERT_EQ(s.count, 3);
      for (int axis = 0; axis < 3; ++axis) {
        double found = infinity;
        for (int m = 0; m < 3; ++m) {
          if ((s.manifolds[m].normal.cast<double>() - Point::Unit(axis)).norm() > 1e-4) continue;
          for (int k = 0; k < s.manifolds[m].count; ++k)
            found = std::min(found, static_cast<double>(s.manifolds[m].points[k].separation));
        }
        EXPECT_NEAR(found, gap[axis], 2e-6);
      }
    }
}

TEST(Surface, BoxTippingOverTheEdgeOfATable) {
  // It turns about the table's edge, on which its bottom lies: there the normal is the box's, and the two
  // points lie on the edge, whatever triangles are near.
  const Shape table = solid(box_mesh({1, Real(0.5), 1}, Index3(9, 3, 9)));
  const Vec3 h(Real(0.3), Real(0.2), Real(0.25));
  for (int i = 0; i <= 40; ++i) {
    const double angle = 0.1 + 0.02 * i;  // more than the 5 degrees within which normals share a manifold
    const Quat q = Quat(Eigen::AngleAxis<Real>(Real(-angle), Vec3::UnitZ()));
    // The edge (1, .5) touches the bottom at offset `along` from the box's middle, 0.5 mm deep.
    const double along = 0.01 * (i % 7), depth = 0.0005;
    const Vec3 normal = q * Vec3::UnitY(), side = q * Vec3::UnitX();
    const Vec3 edge(1, Real(0.5), Real(0.03));
    const Pose pose{edge - Real(along) * side + (h[1] - Real(depth)) * normal, q};
    const SurfaceManifolds s = touch(table, BoxShape{h}, pose, 0.001);
    SCOPED_TRACE(i);
    ASSERT_EQ(s.count, 1);
    const Manifold& m = s.manifolds[0];
    std::string points;
    for (int k = 0; k < m.count; ++k)
      points += std::to_string(m.points[k].x[0]) + " " + std::to_string(m.points[k].x[1]) + " " +
                std::to_string(m.points[k].x[2]) + ": " + std::to_string(m.points[k].separation) + "\n";
    ASSERT_EQ(m.count, 2) << points;
    EXPECT_LT((m.normal - normal).norm(), 1e-4);
    double low = infinity, high = -infinity;
    for (int k = 0; k < 2; ++k) {
      EXPECT_NEAR(m.points[k].separation, -depth, 1e-6);
      EXPECT_NEAR(m.points[k].x[0], 1, 1e-3);
      low = std::min(low, static_cast<double>(m.points[k].x[2]));
      high = std::max(high, static_cast<double>(m.points[k].x[2]));
    }
    EXPECT_NEAR(low, 0.03 - 0.25, 1e-3);
    EXPECT_NEAR(high, 0.03 + 0.25, 1e-3);
  }
}

TEST(Surface, BoxBesideAWallOfATableIsNotLifted) {
  // 1 mm into the side of the table, its top far above the box's bottom: the top's triangles must not lift
  // it.
  const Shape table = solid(box_mesh({1, Real(0.5), 1}, Index3(6, 3, 6)));
  Dice dice(55);
  for (int i = 0; i < 400; ++i) {
    const double y = dice.between(0.1, 1.0);
    // Now and then the box's side all but coincides with an inner edge of the mesh.
    const double z =
        i % 2 ? dice.between(-0.9, 0.9) : dice.below(4) / 3.0 - 0.6333 + dice.between(-1e-3, 1e-3);
    const Pose pose{{Real(1.299), Real(y), Real(z)}, Quat::Identity()};
    const SurfaceManifolds s = touch(table, BoxShape{{Real(0.3), Real(0.6), Real(0.3)}}, pose, 0.01);
    ASSERT_EQ(s.count, 1);
    EXPECT_LT((s.manifolds[0].normal - Vec3::UnitX()).norm(), 1e-4);
    EXPECT_NEAR(deepest_of(s).separation, -0.001, 1e-5);
    EXPECT_EQ(s.manifolds[0].count, 4);
  }
}

TEST(Surface, IsOneSidedAndPushesOutWhatIsInside) {
  const Shape field = ground(11, 0.2, [](double x, double) { return 0.5 * x; });
  const Point up = Point(-0.5, 1, 0).normalized();
  for (int kind = 0; kind < num_kinds; ++kind) {
    Dice dice(56);
    const Shape body = random_shape(Kind(kind), dice, 0.2);
    // Wholly below the ground.
    const Pose buried = spun({0.1, -0.6, 0.05}, 0.7, {1, 2, 3});
    const SurfaceManifolds s = touch(field, body, buried, 0.01);
    ASSERT_EQ(s.count, 1);
    EXPECT_LT((s.manifolds[0].normal.cast<double>() - up).norm(), 1e-5);
    const double truth = up.dot(solid_of(body, buried).support(-up));
    EXPECT_NEAR(deepest_of(s).separation, truth, 1e-5);
    // Beside the field there is nothing.
    EXPECT_EQ(touch(field, body, spun({1.5, -0.6, 0}, 0.7, {1, 2, 3}), 0.01).count, 0);
    // An open mesh lets what comes from behind pass, and touches what comes from the front.
    const Shape sheet = solid(mesh_of(field));
    EXPECT_EQ(touch(sheet, body, buried, 0.01).count, 0);
    const Solid b = solid_of(body, {Vec3::Zero(), buried.rotation});
    const double above = -up.dot(b.support(-up)) - 0.001, below = -up.dot(b.support(up)) + 0.001;
    EXPECT_EQ(touch(sheet, body, {(above * up).cast<Real>(), buried.rotation}, 0.01).count, 1);
    EXPECT_EQ(touch(sheet, body, {(below * up).cast<Real>(), buried.rotation}, 0.01).count, 0);
  }
  // A closed mesh: inside, the nearest face pushes; the far side of a thin plate never does.
  const Shape block = solid(box_mesh({1, 1, 1}, Index3(4, 4, 4)));
  const SurfaceManifolds inside =
      touch(block, SphereShape{Real(0.05)}, {{Real(0.1), Real(0.8), 0}, Quat::Identity()}, 0);
  ASSERT_EQ(inside.count, 1);
  EXPECT_LT((inside.manifolds[0].normal - Vec3::UnitY()).norm(), 1e-4);
  EXPECT_NEAR(deepest_of(inside).separation, -0.25, 1e-5);
  const Shape plate = solid(box_mesh({1, Real(0.002), 1}, Index3(8, 1, 8)));
  for (const double side : {-1.0, 1.0}) {
    const SurfaceManifolds s = touch(plate, BoxShape{{Real(0.1), Real(0.1), Real(0.1)}},
                                     {{0, Real(side * 0.095), 0}, Quat::Identity()}, 0.01);
    ASSERT_EQ(s.count, 1);
    EXPECT_LT((s.manifolds[0].normal.cast<double>() - side * Point::UnitY()).norm(), 1e-5);
    EXPECT_NEAR(deepest_of(s).separation, -0.007, 1e-5);
  }
}

TEST(Surface, HoldsBothEndsOfWhatIsSlender) {
  // A cone that lies on a side has its middle half a radius above the ground. Deeper, and tilted a little, it
  // must still be held at both ends, or it turns about one of them and sinks.
  const double r = 0.03, h = 0.35;
  const Shape block = solid(box_mesh({2, 1, 2}, Index3(5, 1, 5))),
              field = ground(11, 0.4, [](double, double) { return 0.0; });
  for (const double depth : {0.01, 0.04, 0.3})
    for (const double tilt : {-0.02, 0.0, 0.02}) {
      const Pose at{{Real(0.13), Real(-depth), Real(0.21)},
                    Quat(Eigen::AngleAxis<Real>(Real(M_PI / 2 + tilt), Vec3::UnitZ()))};
      const Shape cone = ConeShape{Real(r), Real(h)};
      for (const bool closed : {true, false}) {
        Pose pose = at;
        if (closed) pose.position[1] += 1;
        const SurfaceManifolds s = touch(closed ? block : field, cone, pose, 0.001);
        SCOPED_TRACE(depth);
        ASSERT_EQ(s.count, 1);
        const Manifold& m = s.manifolds[0];
        EXPECT_LT((m.normal - Vec3::UnitY()).norm(), 1e-4);
        EXPECT_NEAR(deepest_of(s).separation, solid_of(cone, at).support(-Point::UnitY())[1], 1e-5);
        double low = infinity, high = -infinity;
        for (int k = 0; k < m.count; ++k) {
          low = std::min(low, static_cast<double>(m.points[k].x[0]));
          high = std::max(high, static_cast<double>(m.points[k].x[0]));
        }
        EXPECT_GT(high - low, 1.9 * h);
      }
    }
}

double hills(double x, double z) {
  return 0.3 * std::sin(2.1 * x) * std::cos(1.7 * z) + 0.05 * std::sin(9 * x + 5 * z);
}

TEST(Surface, HeightFieldAndItsMeshGiveTheSameContacts) {
  const Shape field = ground(33, 0.125, hills), mesh = solid(mesh_of(field));
  Dice dice(57);
  int touching = 0;
  for (int i = 0; i < 1500; ++i) {
    const int kind = dice.below(num_kinds);
    const Shape body = random_shape(Kind(kind), dice, 0.2);
    // Let down until it touches, and a little deeper.
    Pose pose{Vec3(Real(dice.between(-1.5, 1.5)), 0, Real(dice.between(-1.5, 1.5))), dice.rotation()};
    double high = 1;
    for (pose.position[1] = 1; touch(field, body, pose, 0).count == 0; pose.position[1] -= Real(0.01))
      high = static_cast<double>(pose.position[1]);
    double low = static_cast<double>(pose.position[1]);
    for (int k = 0; k < 24; ++k) {
      pose.position[1] = static_cast<Real>(0.5 * (low + high));
      (touch(field, body, pose, 0).count > 0 ? low : high) = 0.5 * (low + high);
    }
    pose.position[1] = static_cast<Real>(low - dice.between(-0.009, 0.03) * least_half_extent(body));
    const SurfaceManifolds a = touch(field, body, pose, 0.01);
    const SurfaceManifolds b = touch(mesh, body, pose, 0.01);
    SCOPED_TRACE(std::string(name_of(Kind(kind))) + " " + std::to_string(i));
    ASSERT_EQ(a.count > 0, b.count > 0);
    if (a.count == 0) continue;
    ++touching;
    // Points nearer than a thousandth of the least half extent to each other are one.
    EXPECT_NEAR(deepest_of(a).separation, deepest_of(b).separation, 1e-3 * least_half_extent(body));
    for (int m = 0; m < a.count; ++m) {
      EXPECT_NEAR(a.manifolds[m].normal.norm(), 1, 1e-5);
      for (int k = 0; k < a.manifolds[m].count; ++k) {
        const auto& p = a.manifolds[m].points[k];
        // On the body, half the separation from its surface; normals of one manifold differ by 5 degrees.
        const double half = 0.5 * std::abs(static_cast<double>(p.separation));
        EXPECT_LE(std::abs(static_cast<double>(body.signed_distance(pose.to_local(p.x)).distance)),
                  1.1 * half + 2e-3);
        for (int l = 0; l < k; ++l) EXPECT_NE(p.id, a.manifolds[m].points[l].id);
      }
    }
  }
  EXPECT_GT(touching, 700);
}

TEST(Surface, AllocatesNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "allocations cannot be counted here";
  const Shape field = ground(33, 0.125, hills), mesh = solid(mesh_of(field));
  Dice dice(58);
  for (int i = 0; i < 60; ++i) {
    const Shape body = random_shape(Kind(i % num_kinds), dice, 0.4);
    const Pose pose{Vec3(0, Real(0.2), 0), dice.rotation()};
    for (const Shape* surface : {&field, &mesh})
      EXPECT_EQ(plenum_test::count_allocations([&] {
                  SurfaceManifolds out;
                  collide_surface(*surface, body, pose, Real(0.05), out);
                }),
                0);
  }
}

TEST(Surface, KnowsItsPairs) {
  const Shape field = ground(3, 1, hills), mesh = solid(box_mesh({1, 1, 1})), ball = SphereShape{1};
  EXPECT_TRUE(can_collide_surface(field, ball));
  EXPECT_TRUE(can_collide_surface(mesh, BoxShape{{1, 1, 1}}));
  EXPECT_FALSE(can_collide_surface(ball, field));
  EXPECT_FALSE(can_collide_surface(field, mesh));
  EXPECT_FALSE(can_collide_surface(field, PlaneShape{}));
  EXPECT_EQ(touch(field, mesh, {}, 0.1).count, 0);
}

}}  // namespace plenum
