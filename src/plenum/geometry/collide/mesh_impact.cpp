// First touch of meshes: the least over pairs of triangles, each of which is convex, found by branch and
// bound. Boxes of the hierarchies move as their triangles do, so the moment at which two of them touch bounds
// that of all that is in them. As in Redon, Kheddar & Coquillart 2002, "Fast continuous collision detection
// between rigid bodies", with conservative advancement in place of interval arithmetic.
#include "plenum/geometry/collide/detail/mesh_impact.h"
#include "plenum/geometry/collide/detail/advancement.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/solid_mesh.h"

namespace plenum::inline PLENUM_ABI::detail {
namespace {

/// A convex part of a body: points in the body's frame, or a core of its own.
struct Part {
  Point local[8], x[8];
  int count = 0;
  Core* core = nullptr;  // instead of points
  double reach = 0;      // [m] from the body's origin
  double size = 0;       // [m]

  void add(const Vec3& p, double scale) {
    local[count++] = scale * p.cast<double>();
    reach = std::max(reach, local[count - 1].norm());
  }
  void place(const Quaternion<double>& rotation, const Point& position) {
    if (core) return core->place(rotation, position);
    const Matrix3<double> turn = rotation.toRotationMatrix();
    for (int k = 0; k < count; ++k) x[k] = turn * local[k] + position;
  }
  Point support(const Point& d) const {
    if (core) return core->support(d);
    int best = 0;
    for (int k = 1; k < count; ++k)
      if (d.dot(x[k]) > d.dot(x[best])) best = k;
    return x[best];
  }
  Point centre() const {
    if (core) return core->centre();
    Point sum = Point::Zero();
    for (int k = 0; k < count; ++k) sum += x[k];
    return sum / count;
  }
  double radius() const { return core ? core->radius() : 0; }
};

/// A mesh, with its hierarchy; a convex shape; or a plane.
struct Body {
  const SolidMesh* mesh = nullptr;
  double scale = 1;  // of the mesh
  std::optional<Core> core;
  bool is_plane = false;
  Motion motion;

  Body(const Shape& shape, const Sweep& sweep, const Point& origin) : motion(sweep, origin) {
    if (const auto* m = std::get_if<MeshShape>(&shape.variant()))
      mesh = m->solid.get(), scale = static_cast<double>(m->scale);
    else
      core = Core::of(shape, Pose{});
    is_plane = std::holds_alternative<PlaneShape>(shape.variant());
  }
  bool is_known() const { return mesh || core || is_plane; }
  bool is_open() const { return mesh && !mesh->features.is_closed; }
  const Bvh::Node& node(Index n) const { return mesh->exact.bvh().nodes()[static_cast<std::size_t>(n)]; }
  bool is_leaf(Index n) const { return !mesh || node(n).count > 0; }
  int num_parts(Index n) const { return mesh ? node(n).count : 1; }

  /// The box of node n, or all that there is.
  Part around(Index n) {
    if (!mesh) return whole();
    Part part;
    const Bvh::Node& box = node(n);
    for (int k = 0; k < 8; ++k)
      part.add({k & 1 ? box.high[0] : box.low[0], k & 2 ? box.high[1] : box.low[1],
                k & 4 ? box.high[2] : box.low[2]},
               scale);
    part.size = scale * static_cast<double>((box.high - box.low).norm());
    return part;
  }
  /// Triangle k of leaf n, or all that there is.
  Part part(Index n, int k) {
    if (!mesh) return whole();
    Part part;
    const Index t = mesh->exact.bvh().order()[static_cast<std::size_t>(node(n).first + k)];
    for (const Index v : mesh->mesh.triangles[static_cast<std::size_t>(t)])
      part.add(mesh->mesh.x[static_cast<std::size_t>(v)], scale);
    return part;
  }

 private:
  Part whole() {
    Part part;
    if (!core) return part;  // a plane
    part.core = &*core;
    part.reach = core->reach();
    return part;
  }
};

class FirstTouch {
 public:
  FirstTouch(Body& a, Body& b, double separation, double tolerance)
      : a_(a), b_(b), separation_(separation), tolerance_(tolerance) {}

  std::optional<Advance> find() {
    push(0, 0);
    while (size_ > 0) {
      const Task task = stack_[--size_];
      if (task.s >= end_) continue;
      const bool leaf_a = a_.is_leaf(task.a), leaf_b = b_.is_leaf(task.b);
      if (leaf_a && leaf_b) {
        try_parts(task.a, task.b);
        continue;
      }
      // Into the larger one; what is touched first is looked at first.
      const bool into_a = !leaf_a && (leaf_b || task.size_a >= task.size_b);
      const Index child = into_a ? a_.node(task.a).first : b_.node(task.b).first;
      const int before = size_;
      for (Index k = child; k < child + 2; ++k) into_a ? push(k, task.b) : push(task.a, k);
      if (size_ == before + 2 && stack_[before].s < stack_[before + 1].s)
        std::swap(stack_[before], stack_[before + 1]);
    }
    return first_;
  }

 private:
  struct Task {
    Index a, b;             // nodes
    double s;               // nothing in them touches earlier
    double size_a, size_b;  // [m]
  };

  void push(Index a, Index b) {
    Part p = a_.around(a), q = b_.around(b);
    // As good as boxes bound triangles.
    const double slack = std::max(tolerance_, 0.1 * std::max(p.size, q.size));
    if (const auto hit = advance_parts(p, q, slack)) stack_[size_++] = {a, b, hit->s, p.size, q.size};
  }

  void try_parts(Index a, Index b) {
    for (int i = 0; i < a_.num_parts(a); ++i)
      for (int j = 0; j < b_.num_parts(b); ++j) {
        Part p = a_.part(a, i), q = b_.part(b, j);
        const auto hit = advance_parts(p, q, tolerance_);
        if (!hit || (first_ && hit->s >= first_->s)) continue;
        if (a_.is_open() && !(face(p).dot(hit->gap.normal) > 0)) continue;
        if (b_.is_open() && !(face(q).dot(hit->gap.normal) < 0)) continue;
        first_ = hit;
        end_ = hit->s;
        if (!a_.is_plane && !(a_.mesh && b_.mesh)) prefer_face(p, q, *first_);
      }
  }

  static Point face(const Part& triangle) {
    return (triangle.x[1] - triangle.x[0]).cross(triangle.x[2] - triangle.x[0]);
  }

  /// Within the tolerance t what is round, or long and leans, meets a neighbour's edge before the face that
  /// it comes down on, with a normal that leans by about sqrt(2 t / radius): the face's is taken where it
  /// separates as well. Not of two meshes, whose edges meet as often, and to which a plane beside the points
  /// that touch would give energy.
  void prefer_face(const Part& p, const Part& q, Advance& hit) const {
    const auto separates = [&](const Part& triangle, const Part& other, const Point& m) {
      return m.dot(other.support(-m) - triangle.x[0]) - other.radius() >= -tolerance_;
    };
    Point& n = hit.gap.normal;
    if (const Point m = a_.mesh ? Point(face(p).normalized()) : Point(Point::Zero());
        n.dot(m) > 0 && separates(p, q, m))
      n = m;
    else if (const Point m = b_.mesh ? Point(face(q).normalized()) : Point(Point::Zero());
             n.dot(m) < 0 && separates(q, p, m))
      n = -m;
  }

  std::optional<Advance> advance_parts(Part& p, Part& q, double slack) const {
    const double radius = p.radius() + q.radius();
    const double lever = a_.is_plane ? lever_of(a_.motion, b_.motion, q.reach) : 0;
    const auto measure = [&](double s) -> Gap {
      q.place(b_.motion.rotation(s), b_.motion.position(s));
      if (a_.is_plane) {
        const Point n = a_.motion.rotation(s) * Point::UnitY(), deepest = q.support(-n);
        const double height = n.dot(deepest - a_.motion.position(s));
        return {height, height, n, deepest - 0.5 * height * n};
      }
      p.place(a_.motion.rotation(s), a_.motion.position(s));
      const Point apart = q.centre() - p.centre();
      const auto g = gjk<double>([&](const Point& d) { return p.support(d); },
                                 [&](const Point& d) { return q.support(d); }, apart, 1e-6, 0.01 * slack);
      if (g.overlap)
        return {0, 0, apart.norm() > 0 ? Point(apart.normalized()) : Point::UnitY(), g.simplex.v[0].a};
      return {g.distance, g.lower_bound, g.normal,
              0.5 * (g.a + p.radius() * g.normal + g.b - q.radius() * g.normal)};
    };
    const auto closing = [&](const Point& n) {
      return a_.is_plane ? closing_on_plane(n, a_.motion, lever, b_.motion, q.reach)
                         : closing_along(n, a_.motion, p.reach, b_.motion, q.reach);
    };
    return advance(measure, closing, radius + separation_, slack, end_);
  }

  Body &a_, &b_;
  double separation_, tolerance_;
  double end_ = 1;
  std::optional<Advance> first_;
  /// One is left behind at each level of each hierarchy.
  Task stack_[2 * Bvh::max_depth + 2];
  int size_ = 0;
};

}  // namespace

std::optional<Impact> mesh_time_of_impact(const Shape& shape_a, const Sweep& sweep_a, const Shape& shape_b,
                                          const Sweep& sweep_b, Real separation, Real tolerance) {
  if (std::holds_alternative<PlaneShape>(shape_b.variant())) {
    auto impact = mesh_time_of_impact(shape_b, sweep_b, shape_a, sweep_a, separation, tolerance);
    if (impact) impact->normal = -impact->normal;
    return impact;
  }
  const Point origin = sweep_b.start.position.cast<double>();
  Body a(shape_a, sweep_a, origin), b(shape_b, sweep_b, origin);
  if (!a.is_known() || !b.is_known()) return std::nullopt;
  const auto hit = FirstTouch(a, b, static_cast<double>(separation), static_cast<double>(tolerance)).find();
  if (!hit) return std::nullopt;
  return Impact{static_cast<Real>(hit->s), hit->gap.normal.cast<Real>(), (hit->gap.x + origin).cast<Real>()};
}

}  // namespace plenum::inline PLENUM_ABI::detail
