// Normals that turn with what touches, beside the normals found anew, and their edges.
#include <gtest/gtest.h>

#include <map>

#include "collide/solids.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum { namespace {

using namespace test;
using Turns = Manifold::Turns;

/// What Manifold::turns says of the normal after A has been turned by qa and B by qb about their origins and
/// B has gone by `way`.
Vec3 turned_normal(const Manifold& m, const Quat& qa, const Quat& qb, Real radii, const Vec3& way) {
  switch (m.turns) {
    case Turns::with_a:
      return qa * m.normal;
    case Turns::with_b:
      return qb * m.normal;
    case Turns::with_edges: {
      const Vec3 n = (qa * m.edge_a).cross(qb * m.edge_b).normalized();
      return n.dot(m.normal) < 0 ? Vec3(-n) : n;
    }
    case Turns::with_centres: {
      Vec3 between = (m.points[0].separation + radii) * m.normal + way;
      for (const Vec3& line : {Vec3(qa * m.edge_a.normalized()), Vec3(qb * m.edge_b.normalized())})
        between -= line.dot(between) * line;
      return between.normalized();
    }
    default:
      return m.normal;
  }
}

TEST(TurningNormals, AreThoseFoundAnewWhileTheSameFeaturesTouch) {
  constexpr double angle = 2e-3;
  std::map<Turns, int> compared;
  Dice dice(77);
  for (int ka = 0; ka < num_kinds; ++ka)
    for (int kb = 0; kb < num_kinds; ++kb)
      for (int i = 0; i < 60; ++i) {
        const Shape a = random_shape(Kind(ka), dice, 1), b = random_shape(Kind(kb), dice, 1);
        Pose pose{Vec3::Zero(), dice.rotation()};
        const Solid solid = solid_of(a, Pose{});
        const Point out = dice.direction();
        double near = 0, far = 4;
        for (int k = 0; k < 40; ++k) {
          const double middle = (near + far) / 2;
          pose.position = (middle * out).cast<Real>();
          const Solid other = solid_of(b, pose);
          (gjk<double>(solid.support, other.support, out, 1e-6).overlap ? near : far) = middle;
        }
        pose.position = ((far + 0.01) * out).cast<Real>();
        ManifoldCache cache;
        const Real margin = Real(0.05);
        const Manifold m = collide(a, b, pose, margin, cache);
        if (m.count == 0 || m.turns == Turns::with_neither) continue;
        const Point axis_a = dice.direction(), axis_b = dice.direction();
        const Quat qa = turn(angle, axis_a.cast<Real>()), qb = turn(angle, axis_b.cast<Real>());
        const Vec3 way = (0.5 * angle * dice.direction()).cast<Real>();
        const Pose to{qa.conjugate() * Vec3(pose.position + way),
                      (qa.conjugate() * qb * pose.rotation).normalized()};
        const Manifold next = collide(a, b, to, margin, cache);
        if (next.count == 0 || next.turns != m.turns || next.points[0].id != m.points[0].id) continue;
        // Balls have one number, whether they touch an edge or its end.
        if (m.turns == Turns::with_centres &&
            (m.edge_a.isZero() != next.edge_a.isZero() || m.edge_b.isZero() != next.edge_b.isZero()))
          continue;
        SCOPED_TRACE(std::string(name_of(Kind(ka))) + " " + name_of(Kind(kb)) + " " + std::to_string(i));
        const auto radius = [](const Shape& s) {
          if (const auto* ball = std::get_if<SphereShape>(&s.variant())) return ball->radius;
          if (const auto* cylinder = std::get_if<CylinderShape>(&s.variant())) return cylinder->radius;
          const auto* capsule = std::get_if<CapsuleShape>(&s.variant());
          return capsule ? capsule->radius : Real(0);
        };
        Vec3 gone = way;
        if (m.turns == Turns::with_centres) {
          // Of the ends of capsules.
          const auto core = [&](const Vec3& x, Real r, Real sign) {
            return Vec3(x - sign * (m.points[0].separation / 2 + r) * m.normal);
          };
          const Vec3 on_a = core(m.points[0].x, radius(a), 1),
                     on_b = core(m.points[0].x, radius(b), -1) - pose.position;
          gone += (qb * on_b - on_b) - (qa * on_a - on_a);
        }
        const Vec3 expected = turned_normal(m, qa, qb, radius(a) + radius(b), gone);
        // Rounding of poses and unit vectors, and EPA's and GJK's 1e-5.
        EXPECT_LT((qa * next.normal - expected).norm(), 3e-5) << int(m.turns);
        ++compared[m.turns];
      }
  for (const Turns turns : {Turns::with_a, Turns::with_b, Turns::with_edges, Turns::with_centres})
    EXPECT_GT(compared[turns], 30) << int(turns);
}

// Edges that turn a normal are across it: it is their cross product. What is round touches a ridge with a
// line of its side, or with an end or a rim, whose line is not across the normal.
TEST(TurningNormals, AreAcrossTheEdgesOfRoughGround) {
  constexpr Index n = 9;
  Dice dice(78);
  std::vector<Real> heights;
  for (Index i = 0; i < n * n; ++i) heights.push_back(Real(dice.between(0, 0.15)));
  const Shape field = HeightFieldShape{std::make_shared<const HeightField>(n, n, Real(0.5), heights)};
  const Shape mesh = MeshShape{
      std::make_shared<const SolidMesh>(height_field_mesh(*std::get<HeightFieldShape>(field.variant()).field),
                                        DistanceFieldOptions{.resolution = 8})};
  SurfaceManifolds found;
  std::map<Kind, int> compared;
  for (int kind = 0; kind < num_kinds; ++kind)
    for (int i = 0; i < 400; ++i) {
      const Shape b = random_shape(Kind(kind), dice, 0.5);
      Pose pose{Vec3(Real(dice.uniform()), 0, Real(dice.uniform())), dice.rotation()};
      pose.position.y() = Real(dice.between(0, 0.15)) - b.bounds(pose).low.y();
      for (const Shape* surface : {&field, &mesh}) {
        collide_surface(*surface, b, pose, Real(0.05), found);
        for (int k = 0; k < found.count; ++k) {
          const Manifold& m = found.manifolds[k];
          if (m.turns != Turns::with_edges) continue;
          ++compared[Kind(kind)];
          ASSERT_LT(std::abs(m.normal.dot(m.edge_a.normalized())), 0.002) << name_of(Kind(kind)) << ' ' << i;
          ASSERT_LT(std::abs(m.normal.dot(m.edge_b.normalized())), 0.002) << name_of(Kind(kind)) << ' ' << i;
        }
      }
    }
  EXPECT_GT(compared[capsule], 20);
  EXPECT_GT(compared[cylinder], 10);
}

}}  // namespace plenum::<anonymous>
