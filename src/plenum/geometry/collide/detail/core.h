#pragma once
// Convex shapes as GJK sees them: a core known by its support function, rounded by a radius; and the features
// of the core, for clipping. In double precision, in which GJK and EPA resolve gaps far below what contacts
// need, so that float shapes never meet the limits of the algorithms.
#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <optional>

#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI::detail {

using Point = Vector3<double>;

/// A face, edge or corner of a core: a polygon, counter-clockwise from outside, a segment or a point.
struct Feature {
  static constexpr int most_corners = static_cast<int>(ConvexHull::max_vertices) + 8;
  int count = 0;
  std::uint32_t id = 0;  ///< of the feature in its shape
  Point x[most_corners];
};

class Core {
 public:
  enum class Kind { point, segment, box, cylinder, cone, hull };

  /// The core of a sphere, box, capsule, cylinder, cone or hull placed at `pose`; none of other shapes.
  static std::optional<Core> of(const Shape& shape, const Pose& pose) {
    Core c;
    c.is_turned_ = !pose.rotation.vec().isZero(0);
    if (c.is_turned_) c.rotation_ = pose.rotation.cast<double>().toRotationMatrix();
    c.position_ = pose.position.cast<double>();
    struct Take {
      Core& c;
      bool operator()(const SphereShape& s) const { return c.take(Kind::point, s.radius, Point::Zero()); }
      bool operator()(const CapsuleShape& s) const {
        return c.take(s.half_height > 0 ? Kind::segment : Kind::point, s.radius,
                      Point(0, static_cast<double>(s.half_height), 0));
      }
      bool operator()(const BoxShape& s) const { return c.take(Kind::box, 0, s.half_extents.cast<double>()); }
      bool operator()(const CylinderShape& s) const {
        return c.take(Kind::cylinder, 0, Vec3(s.radius, s.half_height, s.radius).cast<double>());
      }
      bool operator()(const ConeShape& s) const {
        return c.take(Kind::cone, 0, Vec3(s.radius, s.half_height, s.radius).cast<double>());
      }
      bool operator()(const ConvexHullShape& s) const {
        c.hull_ = s.hull.get();
        return c.take(Kind::hull, 0, Real(0.5) * s.hull->bounds.size().cast<double>());
      }
      bool operator()(const PlaneShape&) const { return false; }
      bool operator()(const TorusShape&) const { return false; }
      bool operator()(const MeshShape&) const { return false; }
      bool operator()(const HeightFieldShape&) const { return false; }
    };
    if (!std::visit(Take{c}, shape.variant())) return std::nullopt;
    return c;
  }

  /// Moves the core elsewhere.
  void place(const Quaternion<double>& rotation, const Point& position) {
    is_turned_ = true;
    rotation_ = rotation.toRotationMatrix();
    position_ = position;
  }

  Kind kind() const { return kind_; }
  double radius() const { return radius_; }
  /// Least half extent of the shape [m].
  double least_extent() const {
    return kind_ == Kind::point || kind_ == Kind::segment ? radius_ : half_.minCoeff();
  }
  /// Largest distance of a point of the core from the pose's origin [m].
  double reach() const {
    if (kind_ == Kind::hull) {
      double reach2 = 0;
      for (const Vec3& v : hull_->vertices) reach2 = std::max(reach2, static_cast<double>(v.squaredNorm()));
      return std::sqrt(reach2);
    }
    if (kind_ == Kind::cylinder || kind_ == Kind::cone) return std::hypot(half_[0], half_[1]);
    return half_.norm();
  }
  Point centre() const {
    return kind_ == Kind::hull ? Point(rotation_ * hull_->centre.cast<double>() + position_) : position_;
  }

  /// Whether points lie beyond one side of the shape's box in its own frame by more than `margin` [m].
  bool is_beyond(const Point* x, int count, double margin) const {
    const Point middle =
        kind_ == Kind::hull ? Point(hull_->bounds.centre().cast<double>()) : Point(Point::Zero());
    Point half = half_;
    if (kind_ == Kind::segment) half = Point(0, half_[1], 0);
    half.array() += radius_ + margin;
    Point low = Point::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (int i = 0; i < count; ++i) {
      const Point local = rotation_.transpose() * (x[i] - position_) - middle;
      low = low.cwiseMin(local);
      high = high.cwiseMax(local);
    }
    return (low.array() > half.array()).any() || (high.array() < -half.array()).any();
  }

  Point support(const Point& direction) const {
    const Point d = is_turned_ ? Point(rotation_.transpose() * direction) : direction;
    Point x = Point::Zero();
    switch (kind_) {
      case Kind::point:
        break;
      case Kind::segment:
        x[1] = std::copysign(half_[1], d[1]);
        break;
      case Kind::box:
        x = Point(std::copysign(half_[0], d[0]), std::copysign(half_[1], d[1]),
                  std::copysign(half_[2], d[2]));
        break;
      case Kind::cylinder:
        x = rim(d, std::copysign(half_[1], d[1]));
        break;
      case Kind::cone: {
        x = rim(d, -half_[1]);
        if (d.dot(x) < d[1] * half_[1]) x = Point(0, half_[1], 0);
        break;
      }
      case Kind::hull:
        x = hull_support(d);
        break;
    }
    return is_turned_ ? Point(rotation_ * x + position_) : Point(x + position_);
  }

  /// Unit outward normal of the flat face that looks most along `direction`; none if the core has no face.
  std::optional<Point> face_normal(const Point& direction) const {
    const Point d = rotation_.transpose() * direction;
    switch (kind_) {
      case Kind::point:
      case Kind::segment:
        return std::nullopt;
      case Kind::box: {
        int axis;
        d.cwiseAbs().maxCoeff(&axis);
        return Point(rotation_.col(axis) * std::copysign(1.0, d[axis]));
      }
      case Kind::cylinder:
        return Point(rotation_.col(1) * std::copysign(1.0, d[1]));
      case Kind::cone:
        return Point(-rotation_.col(1));
      case Kind::hull: {
        const Vec3 n = hull_->faces[hull_face(d)].normal;
        return Point((rotation_ * n.cast<double>()).normalized());
      }
    }
    return std::nullopt;
  }

  /// Unit outward normal of the flat face that feature() numbers `id`.
  std::optional<Point> normal_of_face(std::uint32_t id) const {
    switch (kind_) {
      case Kind::point:
      case Kind::segment:
        return std::nullopt;
      case Kind::box:
        if (id >= 6) return std::nullopt;
        return Point(rotation_.col(static_cast<int>(id / 2)) * (id % 2 ? 1.0 : -1.0));
      case Kind::cylinder:
      case Kind::cone:
        if (id != 2 && !(id == 1 && kind_ == Kind::cylinder)) return std::nullopt;
        return Point(rotation_.col(1) * (id == 1 ? 1.0 : -1.0));
      case Kind::hull:
        if (id >= hull_->faces.size()) return std::nullopt;
        return Point((rotation_ * hull_->faces[id].normal.cast<double>()).normalized());
    }
    return std::nullopt;
  }

  /// The face whose normal face_normal(direction) is (`flat`), or the feature that looks most along
  /// `direction`, which may be a line of a round side.
  void feature(const Point& direction, bool flat, Feature& f) const {
    const Point d = rotation_.transpose() * direction;
    f.count = 0;
    f.id = 0;
    switch (kind_) {
      case Kind::point:
        add(f, Point::Zero());
        break;
      case Kind::segment:
        add(f, Point(0, -half_[1], 0));
        add(f, Point(0, half_[1], 0));
        break;
      case Kind::box: {
        int axis;
        d.cwiseAbs().maxCoeff(&axis);
        const int u = (axis + 1) % 3, v = (axis + 2) % 3;
        const double side = std::copysign(1.0, d[axis]);
        constexpr double su[4] = {1, -1, -1, 1}, sv[4] = {1, 1, -1, -1};
        for (int k = 0; k < 4; ++k) {
          const int i = side > 0 ? k : 3 - k;
          Point x;
          x[axis] = side * half_[axis];
          x[u] = su[i] * half_[u];
          x[v] = sv[i] * half_[v];
          add(f, x);
        }
        f.id = static_cast<std::uint32_t>(2 * axis + (side > 0));
        break;
      }
      case Kind::cylinder:
        if (flat || d[1] * d[1] > 0.5 * d.squaredNorm())
          add_disc(f, d, std::copysign(1.0, d[1]));
        else
          add_line(f, d, half_[0]);
        break;
      case Kind::cone: {
        // The slope's normal is (h, r) / |(h, r)| in the half-plane (radius, y), the base's (0, -1).
        const double h = 2 * half_[1], r = half_[0], across = std::hypot(d[0], d[2]);
        if (flat || (h * across + r * d[1]) / std::hypot(h, r) < -d[1])
          add_disc(f, d, -1);
        else
          add_line(f, d, 0);
        break;
      }
      case Kind::hull: {
        const std::size_t number = flat ? hull_face(d) : hull_face_at_support(d);
        const ConvexHull::Face& face = hull_->faces[number];
        for (std::size_t k = 0; k < face.count; ++k)
          add(f, hull_->vertices[hull_->corners[face.first + k]].cast<double>());
        f.id = static_cast<std::uint32_t>(number);
        break;
      }
    }
  }

 private:
  bool take(Kind kind, Real radius, const Point& half) {
    kind_ = kind;
    radius_ = static_cast<double>(radius);
    half_ = half;
    return true;
  }

  Point rim(const Point& d, double y) const {
    const double across2 = d[0] * d[0] + d[2] * d[2];
    if (!(across2 > 0)) return Point(half_[0], y, 0);
    const double scale = half_[0] / std::sqrt(across2);
    return Point(scale * d[0], y, scale * d[2]);
  }

  Point hull_support(const Point& d) const {
    const Vec3* best = &hull_->vertices.front();  // of no direction, too: NaN
    double most = -std::numeric_limits<double>::infinity();
    for (const Vec3& v : hull_->vertices) {
      const double along = d[0] * static_cast<double>(v[0]) + d[1] * static_cast<double>(v[1]) +
                           d[2] * static_cast<double>(v[2]);
      if (along > most) {
        most = along;
        best = &v;
      }
    }
    return best->cast<double>();
  }

  std::size_t hull_face(const Point& d) const {
    std::size_t best = 0;
    double most = -2;
    for (std::size_t f = 0; f < hull_->faces.size(); ++f) {
      const double along = hull_->faces[f].normal.cast<double>().dot(d);
      if (along > most) {
        most = along;
        best = f;
      }
    }
    return best;
  }

  /// Of the faces that hold the support point: an incident face must show the deepest corner.
  std::size_t hull_face_at_support(const Point& d) const {
    const Point v = hull_support(d);
    const double near = 1e-5 * half_.maxCoeff();
    std::size_t best = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t f = 0; f < hull_->faces.size(); ++f) {
      const Point n = hull_->faces[f].normal.cast<double>();
      if (n.dot(v) < static_cast<double>(hull_->faces[f].offset) - near) continue;
      const double along = n.dot(d);
      if (along > most) {
        most = along;
        best = f;
      }
    }
    return best;
  }

  void add(Feature& f, const Point& x) const { f.x[f.count++] = rotation_ * x + position_; }

  /// Eight points of a rim. Of one that is tilted they go round with its deepest point, so that a coin that
  /// rolls touches by a point of one number. Those of one that is not stay fixed in the body, and so do their
  /// numbers; only the one nearest to the deepest direction goes there.
  void add_disc(Feature& f, const Point& d, double side) const {
    constexpr double s = 0.70710678118654752;
    constexpr double c[8] = {1, s, 0, -s, -1, -s, 0, s}, z[8] = {0, s, 1, s, 0, -s, -1, -s};
    constexpr double least = 1e-4, tilted = 0.02;
    const double across = std::hypot(d[0], d[2]), length = d.norm();
    const double dx = across > 0 ? d[0] / across : 1, dz = across > 0 ? d[2] / across : 0;
    const bool rolls = across > tilted * length;
    int deepest = -1;
    if (across > least * length && !rolls) {
      double most = -1;
      for (int k = 0; k < 8; ++k)
        if (c[k] * dx + z[k] * dz > most) most = c[k] * dx + z[k] * dz, deepest = k;
    }
    for (int i = 0; i < 8; ++i) {
      const int k = side < 0 ? i : 7 - i;  // x -> z turns clockwise about +y
      double x = c[k], w = z[k];
      if (k == deepest) x = dx, w = dz;
      if (rolls) x = c[k] * dx - z[k] * dz, w = c[k] * dz + z[k] * dx;
      add(f, Point(half_[0] * x, side * half_[1], half_[0] * w));
    }
    f.id = (side > 0 ? 1 : 2) + (rolls ? 3 : 0);
  }

  /// The line of the round side that looks along d, from the base rim to a circle of radius `top`.
  void add_line(Feature& f, const Point& d, double top) const {
    const double across = std::hypot(d[0], d[2]);
    const double x = across > 0 ? d[0] / across : 1, z = across > 0 ? d[2] / across : 0;
    add(f, Point(half_[0] * x, -half_[1], half_[0] * z));
    add(f, Point(top * x, half_[1], top * z));
    f.id = 3;
  }

  Kind kind_ = Kind::point;
  double radius_ = 0;
  Point half_ = Point::Zero();
  const ConvexHull* hull_ = nullptr;
  bool is_turned_ = false;
  Matrix3<double> rotation_ = Matrix3<double>::Identity();
  Point position_ = Point::Zero();
};

/// Unit direction of the edge, or the line of a round side, that x is on at least `slop` [m] from its ends.
/// A cone's lines are not those of its body: others touch as it tilts.
inline std::optional<Point> line_through(const Core& core, const Feature& f, const Point& x, double slop) {
  const bool is_round = core.kind() == Core::Kind::cylinder || core.kind() == Core::Kind::cone;
  if (core.kind() == Core::Kind::cone || (is_round && f.count != 2)) return std::nullopt;
  for (int i = 0; i < (f.count == 2 ? 1 : f.count); ++i) {
    const Point from = f.x[i], side = f.x[(i + 1) % f.count] - from;
    const double length = side.norm(), along = length > 0 ? side.dot(x - from) / length : 0;
    if (along < slop || along > length - slop) continue;
    if ((x - from).cross(side).norm() <= slop * length) return Point(side / length);
  }
  return std::nullopt;
}

}  // namespace plenum::inline PLENUM_ABI::detail
