// Queries of still worlds: Bvh beside a plain octree. Rays are cast between random points of the world's box;
// boxes are small (2 % of the world's size) or large (20 %). Both give the same answers (checked).
#include <cmath>
#include <string>
#include <vector>

#include "bench.h"
#include "octree_peer.h"
#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/bvh.h"
#include "plenum/geometry/shapes.h"
#include "plenum/io/mesh_reader.h"

namespace plenum::bench { namespace {

/// Hills, 250 cells a side.
TriangleMesh hills() {
  TriangleMesh mesh = grid_mesh(Vec2(20, 20), 250, 250);
  for (Vec3& p : mesh.x) p[1] = std::sin(p[0]) * std::cos(Real(0.7) * p[2]);
  return mesh;
}
TriangleMesh marble_run() {
  return read_mesh(PLENUM_SOURCE_DIR "/scenes/marble-run.obj");
}
/// Triangles of one size spread evenly over a cube, as suits cells of one size.
TriangleMesh soup() {
  TriangleMesh mesh;
  for (Index i = 0; i < 100000; ++i) {
    const Vec3 p = 20 * uniform4(41, static_cast<std::uint64_t>(i), 1).head<3>();
    for (std::uint64_t k = 0; k < 3; ++k)
      mesh.x.push_back(p + Real(0.3) * uniform4(41, static_cast<std::uint64_t>(i), 2 + k).head<3>());
    mesh.triangles.emplace_back(3 * i, 3 * i + 1, 3 * i + 2);
  }
  return mesh;
}

/// The first of each two of `figures` is Bvh's, the second the octree's.
template <TriangleMesh make()>
void measure(Session& session) {
  const TriangleMesh mesh = make();
  const auto boxes = triangle_boxes(mesh.x, mesh.triangles);
  const Aabb world = bounds_of(mesh.x);
  constexpr std::uint64_t queries = 1000;
  const auto point = [&](std::uint64_t i, std::uint64_t stream) -> Vec3 {
    return world.low + world.size().cwiseProduct(uniform4(42, i, stream).head<3>());
  };
  const auto compare = [&](const std::string& what, double per, const std::string& unit, auto&& ours,
                           auto&& octrees) {
    double a = 0, b = 0;
    const double mine = Session::best_of(15, [&] { a = ours(); });
    const double its = Session::best_of(15, [&] { b = octrees(); });
    if (a != b) throw Error("the octree of the bench and Bvh differ in " + what);
    session.figure({what, mine * per, unit, "octree", its * per});
  };
  Bvh bvh;
  compare(
      "build_ms", 1e3, "ms", [&] { return bvh = Bvh(boxes), 0; }, [&] { return Octree(boxes), 0; });
  Octree octree(boxes);
  const auto hit = [&](const WatertightRay& ray, Index item, Real t_max) {
    const Index3& t = mesh.triangles[item];
    const auto found = ray.intersect(mesh.x[t[0]], mesh.x[t[1]], mesh.x[t[2]], t_max);
    return found ? found->t : std::numeric_limits<Real>::quiet_NaN();
  };
  const auto rays = [&](const auto& cast) {
    double sum = 0;
    for (std::uint64_t i = 0; i < queries; ++i) {
      const Vec3 from = point(i, 1), to = point(i, 2);
      const WatertightRay ray(Ray{from, to - from});
      Real t = 10;
      cast(ray, t);
      sum += t;
    }
    return sum;
  };
  const double each = 1e9 / static_cast<double>(queries);
  compare(
      "ns_per_ray", each, "ns",
      [&] {
        return rays([&](const WatertightRay& ray, Real& t) {
          bvh.first_hit(ray, t, [&](Index slot, Real most) { return hit(ray, bvh.order()[slot], most); });
        });
      },
      [&] {
        return rays([&](const WatertightRay& ray, Real& t) {
          octree.first_hit(ray, t, [&](Index item, Real most) { return hit(ray, item, most); });
        });
      });
  for (const Real part : {Real(0.02), Real(0.2)}) {
    const auto overlaps = [&](const auto& ask) {
      double sum = 0;
      const Vec3 half = Vec3::Constant(Real(0.5) * part * world.size().maxCoeff());
      for (std::uint64_t i = 0; i < queries; ++i) {
        const Vec3 p = point(i, 3);
        const Aabb box{p - half, p + half};
        ask(box, [&](Index item) { sum += boxes[item].overlaps(box); });
      }
      return sum;
    };
    compare(
        part < Real(0.1) ? "ns_per_small_box" : "ns_per_large_box", each, "ns",
        [&] { return overlaps([&](const Aabb& box, auto&& count) { bvh.overlapping(box, count); }); },
        [&] { return overlaps([&](const Aabb& box, auto&& count) { octree.overlapping(box, count); }); });
  }
}

const Register still_hills("geometry/still-hills", measure<hills>);
const Register still_run("geometry/still-marble-run", measure<marble_run>);
const Register still_soup("geometry/still-soup", measure<soup>);

}}  // namespace plenum::bench
