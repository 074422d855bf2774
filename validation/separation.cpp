// Random pairs of convex solids: separating axes, GJK with EPA, and the slow referee of the bench, which
// tries every axis and shares no code with either, find the same distance or depth.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "plenum/base/random.h"
#include "plenum/geometry/collide/collide.h"
#include "plenum/geometry/collide/epa.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/convex_hull.h"
#include "referee.h"
#include "validation.h"

namespace plenum::validation { namespace {

using D3 = Vector3<double>;

/// Numbers in [0, 1), the same in every run.
class Dice {
 public:
  double uniform() { return double(uniform4(7, index_++, 23)[0]); }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  D3 direction() {
    for (;;) {
      const D3 p(between(-1, 1), between(-1, 1), between(-1, 1));
      if (p.norm() > 0.1 && p.norm() < 1) return p.normalized();
    }
  }
  Quat rotation() {
    for (;;) {
      const Vector4<double> q(between(-1, 1), between(-1, 1), between(-1, 1), between(-1, 1));
      if (q.norm() > 0.1 && q.norm() < 1) return Quat(Vec4(q.normalized().cast<Real>())).normalized();
    }
  }

 private:
  std::uint64_t index_ = 0;
};

/// A solid of random size, for the library and for the referee.
struct Body {
  Shape shape;
  bench::Solid solid;
  double least;  ///< [m] half extent
};

Body random_body(int kind, Dice& dice) {
  const auto length = [&] { return dice.between(0.3, 1); };
  switch (kind) {
    case 0: {
      const Real radius = Real(length());
      return {SphereShape{radius}, {{D3::Zero()}, double(radius)}, double(radius)};
    }
    case 1: {
      const Real radius = Real(length()), half = Real(length());
      return {
          CapsuleShape{radius, half}, {{D3(0, -half, 0), D3(0, half, 0)}, double(radius)}, double(radius)};
    }
    case 2: {
      const Vec3 half = Vector3<double>(length(), length(), length()).cast<Real>();
      bench::Solid solid;
      for (int k = 0; k < 8; ++k)
        solid.points.push_back(
            half.cast<double>().cwiseProduct(D3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1)));
      return {BoxShape{half}, solid, double(half.minCoeff())};
    }
    default: {
      // Around the middle, so that none is thin.
      std::vector<Vec3> points;
      for (int i = 0; i < 4; ++i) {
        const D3 p = dice.between(0.6, 1) * dice.direction();
        for (const int sign : {-1, 1}) points.push_back((sign * p).cast<Real>());
      }
      const ConvexHull hull = convex_hull(points);
      const double least = -double(hull_distance(hull, Vec3::Zero()).distance);
      if (least < 0.15) return random_body(kind, dice);
      bench::Solid solid;
      for (const Vec3& v : hull.vertices) solid.points.push_back(v.cast<double>());
      return {ConvexHullShape{std::make_shared<const ConvexHull>(hull)}, solid, least};
    }
  }
}

/// Separation [m] of the solids' cores by GJK, or less their depth by EPA, and less the radii.
double by_gjk(const bench::Solid& a, const bench::Solid& b, const bench::BodyPose& pose) {
  const auto farthest = [](const std::vector<D3>& points, const D3& along) {
    return *std::max_element(points.begin(), points.end(),
                             [&](const D3& p, const D3& q) { return p.dot(along) < q.dot(along); });
  };
  const auto support_a = [&](const D3& d) { return farthest(a.points, d); };
  const auto support_b = [&](const D3& d) {
    return D3(pose.position + pose.rotation * farthest(b.points, pose.rotation.conjugate() * d));
  };
  const auto found = gjk<double>(support_a, support_b, pose.position, 1e-6);
  const double cores =
      found.overlap ? -epa<double>(support_a, support_b, found.simplex, 1e-6).depth : found.distance;
  return cores - a.radius - b.radius;
}

void separation(Rows& rows) {
  constexpr std::array<const char*, 4> kinds = {"sphere", "capsule", "box", "hull"};
  constexpr int pairs = 1000;  // of each kind: 10 000
  Dice dice;
  double worst_gjk = 0, worst_shallow = 0, worst_deep = 0, touching = 0;
  int missed = 0;
  for (std::size_t ka = 0; ka < kinds.size(); ++ka)
    for (std::size_t kb = ka; kb < kinds.size(); ++kb)
      for (int n = 0; n < pairs; ++n) {
        const Body a = random_body(int(ka), dice), b = random_body(int(kb), dice);
        // From deep inside to a body's length away.
        const Pose pose{(dice.between(0, 2.6) * dice.direction()).cast<Real>(), dice.rotation()};
        const bench::BodyPose at{D3::Zero(), Quaternion<double>::Identity()},
            bt{pose.position.cast<double>(), pose.rotation.cast<double>().normalized()};
        const double truth = -bench::overlap(a.solid, at, b.solid, bt);
        const double error = std::abs(by_gjk(a.solid, b.solid, bt) - truth);
        if (!(error <= worst_gjk)) worst_gjk = error;
        ManifoldCache cache;
        const Manifold m = collide(a.shape, b.shape, pose, 3, cache);
        if (m.count == 0) {
          ++missed;
          continue;
        }
        touching += truth < 0;
        double deepest = double(m.points[0].separation);
        for (int k = 1; k < m.count; ++k) deepest = std::min(deepest, double(m.points[k].separation));
        const double off = (deepest - truth) / std::min(a.least, b.least);
        if (!(off <= worst_shallow)) worst_shallow = off;
        if (!(-off <= worst_deep)) worst_deep = -off;
      }
  const char* const source = "every axis (Gottschalk 1996) or Wolfe 1976, bench/referee";
  rows.report("of 10 000 random pairs, overlap", touching, "1", "spheres, capsules, boxes, hulls");
  // GJK and EPA stop within a millionth; the referee counts cores nearer than 1e-7 m as overlapping.
  rows.at_most("GJK and EPA: largest error, solids of 0.3 to 1 m", worst_gjk, 5e-6, "m", source);
  // What collide() promises (pairs.h): within four thousandths of the smaller's least half extent, and no
  // more than two hundredths too deep where edges nearly lie on a face.
  rows.at_most("contacts: least depth missed, by the smaller's least half extent", worst_shallow, 4e-3 + 1e-5,
               "1", source);
  rows.at_most("contacts: depth in excess, by the smaller's least half extent", worst_deep, 2.4e-2 + 1e-5,
               "1", source);
  rows.near("pairs without a contact that are nearer than its margin", missed, 0, 0, "1", source);
}
const Register register_separation("rigid/separation", Effort::quick, separation);

}}  // namespace plenum::validation
