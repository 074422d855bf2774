// Speed of the narrow phase, one pair at a time: nanoseconds per collide() over a thousand placements.
// ns_per_item is that of pairs that touch and are known from the step before; ns_first that of pairs met for
// the first time; ns_apart that of pairs 5 to 15 cm apart, as a broad phase hands over in vain.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "plenum/base/random.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/surface_contacts.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/height_field.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::bench { namespace {

struct Pair {
  Pose pose;
  ManifoldCache cache;
};

Vec3 direction(std::uint64_t i, std::uint64_t stream) {
  const Vec4 r = uniform4(1, i, stream);
  return Vec3(r[0] - Real(0.5), r[1] - Real(0.5), r[2] - Real(0.5) + Real(1e-3)).normalized();
}

/// Turned at random and moved along a random line until it touches, up to 5 mm deep, or stays apart by 5 to
/// 15 cm.
std::vector<Pair> placements(const Shape& a, const Shape& b, bool touching) {
  std::vector<Pair> pairs(1000);
  for (std::uint64_t i = 0; i < pairs.size(); ++i) {
    Pose& pose = pairs[i].pose;
    const Vec4 r = uniform4(2, i, 0);
    pose.rotation =
        Quat(r[0] - Real(0.5), r[1] - Real(0.5), r[2] - Real(0.5), r[3] + Real(0.01)).normalized();
    const Vec3 along = direction(i, 1);
    Real low = 0, high = 3;
    for (int k = 0; k < 16; ++k) {
      const Real middle = Real(0.5) * (low + high);
      pose.position = middle * along;
      ManifoldCache cache;
      (collide(a, b, pose, 0, cache).count > 0 ? low : high) = middle;
    }
    const Real u = uniform4(3, i, 0)[0];
    pose.position = (touching ? low - Real(0.005) * u : high + Real(0.05) + Real(0.1) * u) * along;
  }
  return pairs;
}

double nanoseconds(const Shape& a, const Shape& b, std::vector<Pair>& pairs, bool with_cache) {
  int points = 0;
  const double seconds = Session::best_of(20, [&] {
    for (Pair& p : pairs) {
      if (!with_cache) p.cache = {};
      points += collide(a, b, p.pose, Real(0.02), p.cache).count;
    }
  });
  return points < 0 ? 0 : 1e9 * seconds / static_cast<double>(pairs.size());
}

/// The shapes of the bin that the rigid bodies' bench fills, a cylinder and a cone.
Shape shape(const std::string& name) {
  if (name == "box") return BoxShape{{Real(0.3), Real(0.2), Real(0.25)}};
  if (name == "capsule") return CapsuleShape{Real(0.2), Real(0.2)};
  if (name == "cone") return ConeShape{Real(0.25), Real(0.25)};
  if (name == "cylinder") return CylinderShape{Real(0.2), Real(0.3)};
  std::vector<Vec3> x;
  for (const Vec3& p : {Vec3(Real(0.35), Real(0.02), 0), Vec3(Real(0.02), Real(0.3), Real(0.05)),
                        Vec3(Real(0.03), Real(-0.02), Real(0.33)), Vec3(Real(0.2), Real(0.2), Real(0.18))}) {
    x.push_back(p);
    x.push_back(-p);
  }
  return ConvexHullShape{std::make_shared<const ConvexHull>(convex_hull(x))};
}

template <int kind_a, int kind_b>
void measure(Session& session) {
  constexpr const char* names[] = {"box", "capsule", "cylinder", "hull", "cone"};
  const Shape a = shape(names[kind_a]), b = shape(names[kind_b]);
  auto touching = placements(a, b, true), apart = placements(a, b, false);
  session.figure("ns_per_item", nanoseconds(a, b, touching, true), "ns");
  session.figure("ns_first", nanoseconds(a, b, touching, false), "ns");
  session.figure("ns_apart", nanoseconds(a, b, apart, true), "ns");
}

const Register box_box("collide/box-box", measure<0, 0>);
const Register box_capsule("collide/box-capsule", measure<0, 1>);
const Register box_cylinder("collide/box-cylinder", measure<0, 2>);
const Register box_hull("collide/box-hull", measure<0, 3>);
const Register hull_hull("collide/hull-hull", measure<3, 3>);
const Register capsule_cylinder("collide/capsule-cylinder", measure<1, 2>);
const Register capsule_hull("collide/capsule-hull", measure<1, 3>);
const Register cylinder_cylinder("collide/cylinder-cylinder", measure<2, 2>);
const Register cylinder_hull("collide/cylinder-hull", measure<2, 3>);
const Register cylinder_cone("collide/cylinder-cone", measure<2, 4>);
const Register box_cone("collide/box-cone", measure<0, 4>);
const Register cone_cone("collide/cone-cone", measure<4, 4>);

/// Unit boxes as in a pyramid: each face overlaps half of the next.
void stacked(Session& session) {
  const Shape box = BoxShape{{Real(0.5), Real(0.5), Real(0.5)}};
  std::vector<Pair> pairs(1000);
  for (std::uint64_t i = 0; i < pairs.size(); ++i)
    pairs[i].pose.position =
        Vec3(i % 2 ? Real(0.55) : Real(-0.55), Real(0.999), 0) + Real(1e-4) * direction(i, 2);
  session.figure("ns_per_item", nanoseconds(box, box, pairs, true), "ns");
}
const Register stack("collide/box-stack", stacked);

/// Rolling ground of 10 cm cells, as a height field and as a mesh; shapes of the bin rest on it at random.
template <bool as_mesh, int kind>
void on_ground(Session& session) {
  constexpr Index points = 101;
  constexpr Real spacing = Real(0.1);
  std::vector<Real> y;
  for (Index k = 0; k < points; ++k)
    for (Index i = 0; i < points; ++i)
      y.push_back(Real(0.2) * std::sin(Real(0.13) * Real(i)) * std::cos(Real(0.11) * Real(k)));
  const auto field = std::make_shared<const HeightField>(points, points, spacing, y);
  const Shape ground = as_mesh ? Shape(MeshShape{std::make_shared<const SolidMesh>(
                                     height_field_mesh(*field), DistanceFieldOptions{.resolution = 16})})
                               : Shape(HeightFieldShape{field});
  constexpr const char* names[] = {"box", "capsule", "cylinder", "hull", "ball"};
  const Shape body = kind == 4 ? Shape(SphereShape{Real(0.3)}) : shape(names[kind]);
  std::vector<Pose> poses(1000);
  for (std::uint64_t i = 0; i < poses.size(); ++i) {
    const Vec4 r = uniform4(4, i, 0), q = uniform4(5, i, 0);
    Pose& pose = poses[i];
    // Upright, as what has come to rest; a third lies as it fell.
    pose.rotation = i % 3
                        ? Quat(Eigen::AngleAxis<Real>(6 * r[2], Vec3::UnitY()))
                        : Quat(Quat(q[0] - Real(0.5), q[1] - Real(0.5), q[2] - Real(0.5), q[3]).normalized());
    // Let down until it touches, then up to 5 mm more.
    pose.position = Vec3(8 * r[0] - 4, 1, 8 * r[1] - 4);
    SurfaceManifolds m;
    while (collide_surface(ground, body, pose, 0, m), m.count == 0) pose.position[1] -= Real(0.005);
    pose.position[1] += Real(0.005) * r[3];
  }
  int manifolds = 0;
  const double seconds = Session::best_of(10, [&] {
    manifolds = 0;
    for (const Pose& pose : poses) {
      SurfaceManifolds m;
      collide_surface(ground, body, pose, Real(0.02), m);
      manifolds += m.count;
    }
  });
  session.figure("ns_per_item", 1e9 * seconds / double(poses.size()), "ns");
  session.figure("manifolds_per_item", double(manifolds) / double(poses.size()), "1");
}
const Register box_on_field("collide/field-box", on_ground<false, 0>);
const Register ball_on_field("collide/field-ball", on_ground<false, 4>);
const Register hull_on_field("collide/field-hull", on_ground<false, 3>);
const Register box_on_mesh("collide/mesh-box", on_ground<true, 0>);
const Register ball_on_mesh("collide/mesh-ball", on_ground<true, 4>);
const Register capsule_on_mesh("collide/mesh-capsule", on_ground<true, 1>);

}}  // namespace plenum::bench
