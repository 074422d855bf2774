// Casts and overlaps against every triangle in turn: the signed distance of a convex solid is a convex
// function, whose least value over a triangle is found by golden sections, and inside is where the solid
// angles of all triangles sum up to 4 pi.
#include "plenum/geometry/collide/surface_cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "collide/solids.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum { namespace {

using namespace test;

// Shapes are placed with single precision, some metres from the origin, to about a micrometre.
constexpr double rounding = 1e-5;

double distance_from(const Shape& shape, const Point& x) {
  struct Of {
    const Point& x;
    double operator()(const SphereShape& s) const { return sphere_distance(x, double(s.radius)).distance; }
    double operator()(const BoxShape& s) const {
      return box_distance(x, Point(s.half_extents.cast<double>())).distance;
    }
    double operator()(const CapsuleShape& s) const {
      return capsule_distance(x, double(s.radius), double(s.half_height)).distance;
    }
    double operator()(const CylinderShape& s) const {
      return cylinder_distance(x, double(s.radius), double(s.half_height)).distance;
    }
    double operator()(const ConeShape& s) const {
      return cone_distance(x, double(s.radius), double(s.half_height)).distance;
    }
    double operator()(const ConvexHullShape& s) const {
      return double(hull_distance(*s.hull, x.cast<Real>()).distance);
    }
    double operator()(const PlaneShape&) const { return infinity; }
    double operator()(const TorusShape&) const { return infinity; }
    double operator()(const MeshShape&) const { return infinity; }
    double operator()(const HeightFieldShape&) const { return infinity; }
  };
  return std::visit(Of{x}, shape.variant());
}

/// Least value of a convex function between low and high.
template <class F>
double least_between(double low, double high, F&& f) {
  constexpr double g = 0.6180339887498949;
  double a = high - g * (high - low), b = low + g * (high - low), fa = f(a), fb = f(b);
  double least = std::min({f(low), f(high), fa, fb});
  for (int i = 0; i < 28; ++i) {
    if (fa < fb) {
      high = b, b = a, fb = fa, a = high - g * (high - low), fa = f(a);
    } else {
      low = a, a = b, fa = fb, b = low + g * (high - low), fb = f(b);
    }
    least = std::min({least, fa, fb});
  }
  return least;
}

/// A placement in double precision.
struct Place {
  Point x;
  Eigen::Quaterniond q;
};
Place moved(const Sweep& sweep, double s) {
  const Point turn = sweep.turn.cast<double>();
  const Eigen::Quaterniond q = sweep.start.rotation.cast<double>().normalized();
  const double angle = turn.norm();
  return {sweep.start.position.cast<double>() + s * sweep.way.cast<double>(),
          angle > 0 ? Eigen::Quaterniond(Eigen::AngleAxisd(s * angle, turn / angle)) * q : q};
}

/// Least signed distance of the points of all triangles from a shape, or `most` if none is below that; any
/// one below 0 by more than rounding where there is one.
double gap(const TriangleMesh& mesh, const Shape& shape, const Place& place, double most) {
  for (const Index3& t : mesh.triangles) {
    Point x[3];
    for (int k = 0; k < 3; ++k)
      x[k] = place.q.conjugate() * (mesh.x[std::size_t(t[k])].cast<double>() - place.x);
    const Point u = x[1] - x[0], v = x[2] - x[0], middle = (x[0] + x[1] + x[2]) / 3;
    const double size = std::max({(x[0] - middle).norm(), (x[1] - middle).norm(), (x[2] - middle).norm()});
    if (distance_from(shape, middle) - size >= most) continue;  // it is 1-Lipschitz
    if (most < -2 * rounding) break;
    most = std::min(most, least_between(0, 1, [&](double a) {
                      return least_between(
                          0, 1 - a, [&](double b) { return distance_from(shape, x[0] + a * u + b * v); });
                    }));
  }
  return most;
}

/// van Oosterom & Strackee 1983, "The solid angle of a plane triangle".
bool is_inside(const TriangleMesh& mesh, const Point& p) {
  double sum = 0;
  for (const Index3& t : mesh.triangles) {
    const Point a = mesh.x[std::size_t(t[0])].cast<double>() - p,
                b = mesh.x[std::size_t(t[1])].cast<double>() - p,
                c = mesh.x[std::size_t(t[2])].cast<double>() - p;
    const double la = a.norm(), lb = b.norm(), lc = c.norm();
    sum += 2 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
  }
  return sum > 2 * std::numbers::pi;
}

/// A surface, and triangles that bound what it is taken for.
struct Land {
  const char* name;
  Shape shape;
  TriangleMesh bounds;
  bool is_solid;
};

Land mesh_land(const char* name, const TriangleMesh& mesh, bool is_solid) {
  return {name, MeshShape{std::make_shared<SolidMesh>(mesh, DistanceFieldOptions{16})}, mesh, is_solid};
}
/// A sheet of waves.
TriangleMesh wavy() {
  TriangleMesh mesh = grid_mesh(Vec2(4, 4), 9, 9);
  for (Vec3& x : mesh.x) x.y() = Real(0.3) * std::sin(3 * x.x()) * std::cos(2 * x.z());
  return mesh;
}
/// Of a height field, with sides and a bottom far below.
Land field_land() {
  constexpr Index n = 8;
  std::vector<Real> heights;
  for (Index k = 0; k < n; ++k)
    for (Index i = 0; i < n; ++i)
      heights.push_back(Real(0.4) * std::sin(Real(2 * i)) * std::cos(Real(3 * k)));
  const auto field = std::make_shared<HeightField>(n, n, Real(0.5), heights);
  TriangleMesh mesh = height_field_mesh(*field);
  std::vector<Index> rim;
  for (Index i = 0; i < n - 1; ++i) rim.push_back(i);
  for (Index k = 0; k < n - 1; ++k) rim.push_back(k * n + n - 1);
  for (Index i = n - 1; i > 0; --i) rim.push_back((n - 1) * n + i);
  for (Index k = n - 1; k > 0; --k) rim.push_back(k * n);
  const Index below = Index(mesh.x.size()), bottom = below + Index(rim.size());
  for (const Index v : rim)
    mesh.x.push_back(Vec3(mesh.x[std::size_t(v)].x(), -20, mesh.x[std::size_t(v)].z()));
  mesh.x.push_back(Vec3(0, -20, 0));
  for (Index i = 0; i < Index(rim.size()); ++i) {
    const Index next = (i + 1) % Index(rim.size());
    mesh.triangles.emplace_back(rim[std::size_t(i)], rim[std::size_t(next)], below + next);
    mesh.triangles.emplace_back(rim[std::size_t(i)], below + next, below + i);
    mesh.triangles.emplace_back(below + i, below + next, bottom);
  }
  return {"height field", HeightFieldShape{field}, mesh, true};
}
std::vector<Land> lands() {
  return {mesh_land("torus", torus_mesh(1, Real(0.35), 24, 12), true),
          mesh_land("box", box_mesh(Vec3(1, Real(0.5), 1)), true), mesh_land("waves", wavy(), false),
          mesh_land("sheet", grid_mesh(Vec2(4, 4), 3, 3), false), field_land()};
}
Vec3 anywhere(Dice& dice, double wide, double high) {
  return Point(dice.between(-wide, wide), dice.between(-high, high), dice.between(-wide, wide)).cast<Real>();
}

/// A cast of a shape at a land that stands somewhere against every moment before.
void compare(const Land& land, const Shape& shape, const Sweep& sweep, const std::string& where, int& hits,
             int& passes) {
  const Real tolerance = Real(1e-3);
  const auto gap_at = [&](double s) { return gap(land.bounds, shape, moved(sweep, s), 0.01); };
  const auto inside = [&](double s) { return land.is_solid && is_inside(land.bounds, moved(sweep, s).x); };
  const auto hit = cast_at_surface(land.shape, {}, shape, sweep, tolerance);
  const double begin = gap_at(0);
  if (begin < -rounding || (begin > rounding && inside(0))) {
    ASSERT_TRUE(hit) << where;
    EXPECT_EQ(hit->s, 0) << where;
    return;
  }
  (hit ? hits : passes) += 1;
  const double until = hit ? double(hit->s) : 1;
  for (int k = 1; k <= 12; ++k) {
    const double s = k / 12.0 * until;
    EXPECT_GT(gap_at(s), -rounding) << where << ", at " << s << " of " << until;
  }
  EXPECT_FALSE(inside(until)) << where;
  if (!hit) return;
  EXPECT_LE(gap_at(until), double(tolerance) + rounding) << where;
  // The point is on the surface and on the shape.
  const Place place = moved(sweep, until);
  EXPECT_LE(gap(land.bounds, SphereShape{Real(1e-6)}, {hit->x.cast<double>(), place.q}, 1), rounding)
      << where;
  EXPECT_LE(distance_from(shape, place.q.conjugate() * (hit->x.cast<double>() - place.x)),
            double(tolerance) + rounding)
      << where;
  EXPECT_NEAR(hit->normal.norm(), 1, 1e-5) << where;
}

TEST(SurfaceCast, StopsWithinTheToleranceOfTheFirstTouch) {
  for (const Land& land : lands()) {
    Dice dice(41);
    int hits = 0, passes = 0;
    for (int trial = 0; trial < 54; ++trial) {
      const Kind kind = Kind(trial % num_kinds);
      const Shape shape = random_shape(kind, dice, dice.between(0.1, 0.5));
      const Pose from{anywhere(dice, 3, 2), dice.rotation()};
      Pose to{anywhere(dice, 3, 2), dice.rotation()};
      if (trial % 3 == 0) to.rotation = from.rotation;
      compare(land, shape, Sweep::between(from, to),
              std::string(land.name) + ", " + name_of(kind) + " " + std::to_string(trial), hits, passes);
    }
    EXPECT_GT(hits, 9) << land.name;
    EXPECT_GT(passes, 4) << land.name;
  }
}

TEST(SurfaceCast, OfACapsuleThatTurnsBesideARing) {
  int hits = 0, passes = 0;
  compare(lands()[0], CapsuleShape{Real(0.171), Real(0.291)},
          Sweep::between({Vec3(Real(1.607), Real(-0.830), Real(-2.091)),
                          Quat(Real(0.6899), Real(0.3968), Real(0.4725), Real(-0.3785)).normalized()},
                         {Vec3(Real(1.445), Real(1.851), Real(1.022)),
                          Quat(Real(-0.8906), Real(0.0507), Real(-0.0332), Real(0.4508)).normalized()}),
          "ring", hits, passes);
}

// However small it is for its way.
TEST(SurfaceCast, SmallThingsAreStoppedAfterLongWays) {
  const Land sheet = mesh_land("sheet", grid_mesh(Vec2(20, 20), 9, 9), false);
  std::vector<Real> heights(81, 0);
  const Shape field = HeightFieldShape{std::make_shared<HeightField>(9, 9, Real(2.5), heights)};
  const Real tolerance = Real(1e-4);
  for (const double r : {0.1, 0.01, 0.001, 0.0001})
    for (const double way : {5.0, 50.0, 500.0})
      for (const Shape& shape : {Shape(SphereShape{Real(r)}), Shape(BoxShape{Vec3::Constant(Real(r))})})
        for (const Shape* surface : {&sheet.shape, &field}) {
          const Vec3 from(Real(0.3), Real(way) - 1, Real(0.2)), to(Real(0.3), -1, Real(0.2));
          const auto hit = cast_at_surface(*surface, {}, shape, Sweep::between({from}, {to}), tolerance);
          ASSERT_TRUE(hit) << r << " " << way;
          const double height = way - 1 - double(hit->s) * way - r;
          EXPECT_LE(height, 1e-4 + 1e-7 * way) << r << " " << way;
          EXPECT_GE(height, -1e-7 * way) << r << " " << way;
          EXPECT_GT(hit->normal.y(), 1 - 1e-5);
        }
}

// A rod that rolls about its axis over a sheet comes no nearer; one that tips over meets it with its end.
TEST(SurfaceCast, WhatRollsJustAboveASheetPasses) {
  const Land sheet = mesh_land("sheet", grid_mesh(Vec2(4, 4), 3, 3), false);
  const Shape rod = CapsuleShape{Real(0.1), 1};
  const Quat flat = turn(std::numbers::pi / 2, Vec3::UnitZ());
  for (const double above : {1e-3, 1e-4, 2e-5}) {
    const Pose from{Vec3(0, Real(0.1 + above), Real(-0.5)), flat},
        to{Vec3(0, Real(0.1 + above), Real(0.5)), turn(3, Vec3::UnitX()) * flat};
    EXPECT_FALSE(cast_at_surface(sheet.shape, {}, rod, Sweep::between(from, to), Real(1e-5))) << above;
  }
  const Pose from{Vec3(0, Real(0.3), 0), flat}, to{Vec3(0, Real(0.3), 0), turn(0.5, Vec3::UnitZ()) * flat};
  const auto hit = cast_at_surface(sheet.shape, {}, rod, Sweep::between(from, to), Real(1e-5));
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->s, std::asin(0.2) / 0.5, 5e-5);
}

TEST(SurfaceCast, SeesSurfacesWhereTheyStand) {
  // The same twice: the surface and the shape turned and moved together, and twice as large.
  const Land ring = lands()[0];
  const Shape twice = MeshShape{std::get<MeshShape>(ring.shape.variant()).solid, 2};
  const Pose at{Vec3(3, -2, 5), turn(1.1, Vec3(1, 2, -1))};
  Dice dice(42);
  int hits = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Real r = Real(dice.between(0.05, 0.3));
    const Pose from{anywhere(dice, 3, 2), dice.rotation()}, to{anywhere(dice, 3, 2), dice.rotation()};
    const auto placed = [&](const Pose& p) {
      return Pose{at * Vec3(2 * p.position), at.rotation * p.rotation};
    };
    const auto one = cast_at_surface(ring.shape, {}, CapsuleShape{r, 2 * r}, Sweep::between(from, to),
                                     Real(1e-4)),
               other = cast_at_surface(twice, at, CapsuleShape{2 * r, 4 * r},
                                       Sweep::between(placed(from), placed(to)), Real(2e-4));
    ASSERT_EQ(one.has_value(), other.has_value()) << trial;
    EXPECT_EQ(overlaps_surface(ring.shape, {}, CapsuleShape{r, 2 * r}, from),
              overlaps_surface(twice, at, CapsuleShape{2 * r, 4 * r}, placed(from)));
    if (!one) continue;
    ++hits;
    // Ways of up to 12 m at 2e-4 m: where it grazes, the moment is known worse than the gap.
    EXPECT_NEAR(one->s, other->s, 1e-3) << trial;
  }
  EXPECT_GT(hits, 15);
}

TEST(SurfaceCast, OverlapsAreThoseOfAllTriangles) {
  for (const Land& land : lands()) {
    Dice dice(43);
    int met = 0, apart = 0, within = 0;
    for (int trial = 0; trial < 240; ++trial) {
      const Kind kind = Kind(trial % num_kinds);
      const Shape shape = random_shape(kind, dice, dice.between(0.02, 0.5));
      const Pose pose{anywhere(dice, 2, 1), dice.rotation()};
      const double g = gap(land.bounds, shape, moved({pose, Vec3::Zero(), Vec3::Zero()}, 0), 0.01);
      if (std::abs(g) < rounding) continue;
      const bool wholly = g > 0 && land.is_solid && is_inside(land.bounds, pose.position.cast<double>());
      EXPECT_EQ(overlaps_surface(land.shape, {}, shape, pose), g < 0 || wholly)
          << land.name << ", " << name_of(kind) << " " << trial << ", gap " << g;
      (wholly ? within : g < 0 ? met : apart) += 1;
    }
    EXPECT_GT(met, 20) << land.name;
    EXPECT_GT(apart, 20) << land.name;
    EXPECT_EQ(within > 1, land.is_solid) << land.name << ", " << within;
  }
}

}}  // namespace plenum
