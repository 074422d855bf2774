// Speed of the narrow phase, one pair at a time: nanoseconds per collide() over a thousand placements.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "plenum/base/random.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/convex_hull.h"

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

/// The shapes of the bin that the rigid bodies' bench fills, and a cylinder.
Shape shape(const std::string& name) {
  if (name == "box") return BoxShape{{Real(0.3), Real(0.2), Real(0.25)}};
  if (name == "capsule") return CapsuleShape{Real(0.2), Real(0.2)};
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
  constexpr const char* names[] = {"box", "capsule", "cylinder", "hull"};
  const Shape a = shape(names[kind_a]), b = shape(names[kind_b]);
  auto touching = placements(a, b, true), apart = placements(a, b, false);
  session.figure("ns_touching", nanoseconds(a, b, touching, false), "ns");
  session.figure("ns_touching_cached", nanoseconds(a, b, touching, true), "ns");
  session.figure("ns_apart_cached", nanoseconds(a, b, apart, true), "ns");
}

const Register box_box("collide/box-box", measure<0, 0>);
const Register box_capsule("collide/box-capsule", measure<0, 1>);
const Register box_cylinder("collide/box-cylinder", measure<0, 2>);
const Register box_hull("collide/box-hull", measure<0, 3>);
const Register hull_hull("collide/hull-hull", measure<3, 3>);

/// Unit boxes as in a pyramid: each face overlaps half of the next.
void stacked(Session& session) {
  const Shape box = BoxShape{{Real(0.5), Real(0.5), Real(0.5)}};
  std::vector<Pair> pairs(1000);
  for (std::uint64_t i = 0; i < pairs.size(); ++i)
    pairs[i].pose.position =
        Vec3(i % 2 ? Real(0.55) : Real(-0.55), Real(0.999), 0) + Real(1e-4) * direction(i, 2);
  session.figure("ns_touching_cached", nanoseconds(box, box, pairs, true), "ns");
}
const Register stack("collide/box-stack", stacked);

}}  // namespace plenum::bench
