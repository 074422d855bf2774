// Bounding volumes and hierarchies of them: how tight they are, what a test costs, and how long two meshes
// take that are a tenth of their size apart, a hundredth, or cross. docs/theory/bounding-volumes.md reads the
// figures.
//
// hull_volume: the volume around the whole mesh over that of its convex hull. node_area: mean over the inner
// nodes of a tree of the surface of the volume over that of the convex hull of what it holds, nodes without
// thickness left out; surfaces, since volumes of nearly flat nodes have no scale. tests: pairs of volumes
// tested in a query; pairs: of triangles that are left; us: of the whole, with GJK for each of these pairs.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "bench.h"
#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/bvh.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/mesh_distance.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/volumes/volume_tree.h"
#include "plenum/io/mesh_reader.h"
#include "plenum/math/pose.h"

namespace plenum::bench { namespace {

TriangleMesh ball() {
  return icosphere_mesh(1, 4);
}
TriangleMesh torus() {
  return torus_mesh(1, Real(0.3), 96, 32);
}
TriangleMesh run() {
  return read_mesh(PLENUM_SOURCE_DIR "/scenes/marble-run.obj");
}

Real size_of(const TriangleMesh& mesh) {
  return bounds_of(mesh.x).size().norm();
}

/// Twisted about its longest axis by two radians in all, and dented at random by a hundredth of its size.
TriangleMesh deformed(TriangleMesh mesh) {
  const Aabb box = bounds_of(mesh.x);
  int axis;
  box.size().maxCoeff(&axis);
  const Real size = size_of(mesh);
  for (std::size_t i = 0; i < mesh.x.size(); ++i) {
    Vec3& p = mesh.x[i];
    const Eigen::AngleAxis<Real> turn(2 * (p[axis] - box.centre()[axis]) / box.size()[axis],
                                      Vec3::Unit(axis));
    p = box.centre() + turn * (p - box.centre()) +
        Real(0.02) * size * (uniform4(31, i, 1).head<3>() - Vec3::Constant(Real(0.5)));
  }
  return mesh;
}

/// The mesh turned, and moved along a line until its corners are as near to the other as `gap`; less than 0:
/// as far beyond where they touch.
TriangleMesh placed(const TriangleMesh& other, TriangleMesh mesh, Real gap) {
  const MeshDistance distance(other);
  const Quat turn = rotation_from_degrees(Vec3(30, 50, 70));
  const Vec3 along = Vec3(1, Real(0.3), Real(0.2)).normalized();
  const Real size = size_of(other);
  for (Vec3& p : mesh.x) p = turn * p;
  Real low = 0, high = 3 * size;
  for (int k = 0; k < 20; ++k) {
    const Real middle = Real(0.5) * (low + high);
    const Real wanted = std::max(gap, Real(1e-3) * size);
    const bool near = std::any_of(mesh.x.begin(), mesh.x.end(), [&](const Vec3& p) {
      return distance.closest(p + middle * along, wanted).triangle >= 0;
    });
    (near ? low : high) = middle;
  }
  for (Vec3& p : mesh.x) p += (high + std::min(gap, Real(0))) * along;
  return mesh;
}

bool triangles_meet(const TriangleMesh& a, Index s, const TriangleMesh& b, Index t) {
  const auto support = [](const TriangleMesh& mesh, const Index3& corners) {
    return [&mesh, corners](const Vec3& d) {
      Index best = corners[0];
      for (int k = 1; k < 3; ++k)
        if (mesh.x[corners[k]].dot(d) > mesh.x[best].dot(d)) best = corners[k];
      return mesh.x[best];
    };
  };
  const Vec3 between = a.x[a.triangles[s][0]] - b.x[b.triangles[t][0]];
  return gjk<Real>(support(a, a.triangles[s]), support(b, b.triangles[t]), between, Real(1e-6), 0, 0).overlap;
}

/// Convex hulls of what each inner node of a tree holds; none for flat ones. Those of over 256 corners are a
/// little too small.
struct Hulls {
  std::vector<std::optional<double>> area;  // by node
  double volume = 0;                        // of the root's

  Hulls(const TriangleMesh& mesh, const TreeShape& shape) : area(shape.size()) {
    std::vector<std::vector<Index>> below(shape.size());
    for (std::size_t n = shape.size(); n-- > 0;) {
      if (shape[n] < 0) {
        const Index3& t = mesh.triangles[~shape[n]];
        below[n] = {t[0], t[1], t[2]};
        continue;
      }
      std::vector<Index>& all = below[n];
      for (Index child : {shape[n], shape[n] + 1})
        all.insert(all.end(), below[child].begin(), below[child].end());
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      std::vector<Vec3> points;
      for (Index v : all) points.push_back(mesh.x[v]);
      try {
        const TriangleMesh hull = triangulate(convex_hull(points));
        area[n] = surface_area(hull.x, hull.triangles);
        if (n == 0) volume = enclosed_volume(hull.x, hull.triangles);
      } catch (const Error&) {  // no thickness
      }
    }
  }
};

template <class Volume>
double mean_node_area(const VolumeTree<Volume>& tree, const Hulls& hulls) {
  double sum = 0;
  int count = 0;
  for (std::size_t n = 0; n < tree.nodes().size(); ++n)
    if (hulls.area[n]) {
      sum += surface_area(tree.nodes()[n].volume) / *hulls.area[n];
      ++count;
    }
  return sum / count;
}

template <class Volume>
void query(Session& session, const std::string& name, const TriangleMesh& a, const VolumeTree<Volume>& ta,
           const TriangleMesh& b, const VolumeTree<Volume>& tb) {
  std::vector<Index2> stack;
  std::int64_t tests = 0, pairs = 0, meet = 0;
  const double bare = Session::best_of(7, [&] {
    pairs = 0;
    tests = overlapping_pairs(ta, tb, stack, [&](Index, Index) { ++pairs; });
  });
  const double whole = Session::best_of(7, [&] {
    meet = 0;
    overlapping_pairs(ta, tb, stack, [&](Index s, Index t) { meet += triangles_meet(a, s, b, t); });
  });
  session.figure(name + "us", 1e6 * whole, "us");
  session.figure(name + "tests", static_cast<double>(tests), "1");
  session.figure(name + "pairs", static_cast<double>(pairs), "1");
  session.figure(name + "meet", static_cast<double>(meet), "1");
  session.figure(name + "ns_per_test", 1e9 * bare / static_cast<double>(tests), "ns");
}

template <class Volume, TriangleMesh make()>
void measure(Session& session) {
  const TriangleMesh mesh = make();
  const Real size = size_of(mesh);
  const auto tree = [](const TriangleMesh& m, const TreeShape& shape) {
    return VolumeTree<Volume>(m.x, m.triangles, shape);
  };
  const TriangleMesh far = placed(mesh, mesh, Real(0.1) * size), near = placed(mesh, mesh, Real(0.01) * size),
                     crossing = placed(mesh, mesh, Real(-0.1) * size);
  const TriangleMesh bent = deformed(mesh), near_bent = placed(bent, bent, Real(0.01) * size);
  for (const bool top_down : {true, false}) {
    const std::string name = top_down ? "top_down_" : "bottom_up_";
    const auto shape_of = [&](const TriangleMesh& m) {
      const auto boxes = triangle_boxes(m.x, m.triangles);
      return top_down ? top_down_tree(boxes) : bottom_up_tree(boxes);
    };
    const TreeShape shape = shape_of(mesh);
    VolumeTree<Volume> still = tree(mesh, shape);
    const Hulls hulls(mesh, shape);
    if (top_down) session.figure("hull_volume", volume(still.nodes()[0].volume) / hulls.volume, "1");
    session.figure(name + "build_ms", 1e3 * Session::best_of(3, [&] { tree(mesh, shape_of(mesh)); }), "ms");
    session.figure(name + "node_area", mean_node_area(still, hulls), "1");
    query(session, name + "far_", mesh, still, far, tree(far, shape_of(far)));
    query(session, name + "near_", mesh, still, near, tree(near, shape_of(near)));
    query(session, name + "crossing_", mesh, still, crossing, tree(crossing, shape_of(crossing)));
    // After a deformation: the tree fitted to it, and one built anew.
    VolumeTree<Volume> fitted = still, other = tree(near, shape_of(near));
    const double seconds = Session::best_of(5, [&] { fitted.refit(bent.x, bent.triangles); });
    session.figure(name + "refit_ms", 1e3 * seconds, "ms");
    session.figure(name + "refit_node_area", mean_node_area(fitted, Hulls(bent, shape)), "1");
    other.refit(near_bent.x, near_bent.triangles);
    query(session, name + "refit_near_", bent, fitted, near_bent, other);
    const TreeShape anew = shape_of(bent);
    session.figure(name + "anew_node_area", mean_node_area(tree(bent, anew), Hulls(bent, anew)), "1");
    query(session, name + "anew_near_", bent, tree(bent, anew), near_bent,
          tree(near_bent, shape_of(near_bent)));
  }
}

template <TriangleMesh make()>
struct RegisterKinds {
  std::string name;
  Register aabb{(name + "-aabb").c_str(), measure<Aabb, make>};
  Register sphere{(name + "-sphere").c_str(), measure<Sphere, make>};
  Register obb{(name + "-obb").c_str(), measure<Obb, make>};
  Register kdop14{(name + "-14-dop").c_str(), measure<Kdop<14>, make>};
  Register kdop18{(name + "-18-dop").c_str(), measure<Kdop<18>, make>};
  Register kdop26{(name + "-26-dop").c_str(), measure<Kdop<26>, make>};
};
const RegisterKinds<ball> balls{"geometry/volumes-ball"};
const RegisterKinds<torus> tori{"geometry/volumes-torus"};
const RegisterKinds<run> runs{"geometry/volumes-marble-run"};

}}  // namespace plenum::bench
