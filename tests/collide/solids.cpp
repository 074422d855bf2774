#include "collide/solids.h"

namespace plenum { namespace test {

Shape random_shape(Kind kind, Dice& dice, double size) {
  const auto length = [&] { return static_cast<Real>(size * dice.between(0.3, 1)); };
  switch (kind) {
    case sphere:
      return SphereShape{length()};
    case capsule: {
      const Real r = length();
      return CapsuleShape{r, length()};
    }
    case box: {
      const Real x = length(), y = length();
      return BoxShape{{x, y, length()}};
    }
    case cylinder: {
      const Real r = length();
      return CylinderShape{r, length()};
    }
    case cone: {
      const Real r = length();
      return ConeShape{r, length()};
    }
    default: {
      std::vector<Vec3> x;
      for (;;) {  // around the centre, so that none is thin
        x.clear();
        for (int i = 0; i < 12; ++i)
          x.push_back((size * dice.between(0.6, 1) * dice.direction()).cast<Real>());
        const ConvexHull h = convex_hull(x);
        if (hull_distance(h, Vec3::Zero()).distance < Real(-0.15 * size))
          return ConvexHullShape{std::make_shared<const ConvexHull>(h)};
      }
    }
  }
}

double least_half_extent(const Shape& shape) {
  const Aabb b = shape.bounds();
  return 0.5 * static_cast<double>(b.size().minCoeff());
}

Solid solid_of(const Shape& shape, const Pose& pose) {
  const Matrix3<double> r = pose.rotation.cast<double>().normalized().toRotationMatrix();
  const Point t = pose.position.cast<double>();
  Solid s;
  const auto turned = [r, t](auto local) {
    return [r, t, local](const Point& d) { return Point(r * local(Point(r.transpose() * d)) + t); };
  };
  const auto disc = [](const Point& d, double radius) {
    const double across = std::sqrt(d[0] * d[0] + d[2] * d[2]);
    return across > 0 ? Point(radius * d[0] / across, 0, radius * d[2] / across) : Point(radius, 0, 0);
  };
  if (const auto* p = std::get_if<SphereShape>(&shape.variant())) {
    const double radius = p->radius;
    s.support = turned([=](const Point& d) { return Point(radius * d.normalized()); });
  } else if (const auto* p = std::get_if<CapsuleShape>(&shape.variant())) {
    const double radius = p->radius, h = p->half_height;
    s.support = turned(
        [=](const Point& d) { return Point(radius * d.normalized() + Point(0, d[1] > 0 ? h : -h, 0)); });
  } else if (const auto* p = std::get_if<CylinderShape>(&shape.variant())) {
    const double radius = p->radius, h = p->half_height;
    s.support =
        turned([=](const Point& d) { return Point(disc(d, radius) + Point(0, d[1] > 0 ? h : -h, 0)); });
  } else if (const auto* p = std::get_if<ConeShape>(&shape.variant())) {
    const double radius = p->radius, h = p->half_height;
    s.support = turned([=](const Point& d) {
      const Point rim = disc(d, radius) - Point(0, h, 0), apex(0, h, 0);
      return d.dot(rim) > d.dot(apex) ? rim : apex;
    });
  } else {
    s.is_polyhedron = true;
    if (const auto* p = std::get_if<BoxShape>(&shape.variant())) {
      for (int i = 0; i < 8; ++i)
        s.vertices.push_back(Point(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1)
                                 .cwiseProduct(p->half_extents.cast<double>()));
    } else {
      for (const Vec3& v : std::get<ConvexHullShape>(shape.variant()).hull->vertices)
        s.vertices.push_back(v.cast<double>());
    }
    for (Point& v : s.vertices) v = r * v + t;
    const int n = static_cast<int>(s.vertices.size());
    const auto at = [&](int i) -> const Point& { return s.vertices[static_cast<std::size_t>(i)]; };
    double size = 0;
    for (int i = 0; i < n; ++i) size = std::max(size, (at(i) - at(0)).norm());
    std::vector<int> seen(static_cast<std::size_t>(n * n), 0);
    std::vector<Point> first(static_cast<std::size_t>(n * n));
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j)
        for (int k = j + 1; k < n; ++k) {
          Point normal = (at(j) - at(i)).cross(at(k) - at(i));
          if (normal.norm() < 1e-9 * size * size) continue;
          normal.normalize();
          double low = 0, high = 0;
          for (int l = 0; l < n; ++l) {
            low = std::min(low, normal.dot(at(l) - at(i)));
            high = std::max(high, normal.dot(at(l) - at(i)));
          }
          const double flat = 2e-6 * size;
          if (low < -flat && high > flat) continue;
          if (high > flat) normal = -normal;
          s.normals.push_back(normal);
          s.triangles.push_back({i, j, k});
          for (const auto& [a, b] : {std::pair{i, j}, {j, k}, {i, k}}) {
            const auto slot = static_cast<std::size_t>(a * n + b);
            if (seen[slot] == 0) {
              first[slot] = normal;
              seen[slot] = 1;
            } else if (seen[slot] == 1 && first[slot].cross(normal).norm() > 1e-5) {
              seen[slot] = 2;
              s.edges.push_back({a, b});
            }
          }
        }
    const std::vector<Point> x = s.vertices;
    s.support = [x](const Point& d) {
      return *std::max_element(x.begin(), x.end(),
                               [&](const Point& p, const Point& q) { return p.dot(d) < q.dot(d); });
    };
  }
  return s;
}

double separation(const Solid& a, const Solid& b, const Point& n) {
  return n.dot(b.support(-n)) - n.dot(a.support(n));
}

double segment_distance(const Point& p0, const Point& p1, const Point& q0, const Point& q1) {
  // Both interior, or an end against a segment.
  const Point u = p1 - p0, v = q1 - q0, w = q0 - p0;
  const double uu = u.dot(u), vv = v.dot(v), uv = u.dot(v), det = uu * vv - uv * uv;
  double best = infinity;
  const auto end = [&](const Point& x, const Point& a, const Point& d) {
    const double t = std::clamp((x - a).dot(d) / d.dot(d), 0.0, 1.0);
    best = std::min(best, (x - a - t * d).norm());
  };
  if (det > 1e-12 * uu * vv) {
    const double s = (w.dot(u) * vv - w.dot(v) * uv) / det, t = (w.dot(u) * uv - w.dot(v) * uu) / det;
    if (s >= 0 && s <= 1 && t >= 0 && t <= 1) best = (w + t * v - s * u).norm();
  }
  end(p0, q0, v);
  end(p1, q0, v);
  end(q0, p0, u);
  end(q1, p0, u);
  return best;
}

double triangle_height(const Point& p, const Point& a, const Point& b, const Point& c) {
  // Distance if the foot is inside, else infinite (edges answer then).
  const Point n = (b - a).cross(c - a);
  const double n2 = n.squaredNorm();
  const double u = (p - a).cross(c - a).dot(n) / n2, v = (b - a).cross(p - a).dot(n) / n2;
  return u >= 0 && v >= 0 && u + v <= 1 ? std::abs((p - a).dot(n)) / std::sqrt(n2) : infinity;
}

double polyhedra_separation(const Solid& a, const Solid& b) {
  double most = -infinity;
  for (const Point& n : a.normals) most = std::max(most, separation(a, b, n));
  for (const Point& n : b.normals) most = std::max(most, separation(a, b, -n));
  for (const auto& e : a.edges)
    for (const auto& f : b.edges) {
      const auto at = [](const Solid& s, int i) -> const Point& {
        return s.vertices[static_cast<std::size_t>(i)];
      };
      const Point u = at(a, e[1]) - at(a, e[0]), v = at(b, f[1]) - at(b, f[0]);
      const Point n = u.cross(v);
      if (n.norm() < 1e-6 * u.norm() * v.norm()) continue;
      most = std::max({most, separation(a, b, n.normalized()), separation(a, b, -n.normalized())});
    }
  if (most <= 0) return most;
  double least = infinity;
  const auto corners_to_faces = [&](const Solid& p, const Solid& q) {
    for (const Point& x : p.vertices)
      for (const auto& t : q.triangles)
        least = std::min(least, triangle_height(x, q.vertices[static_cast<std::size_t>(t[0])],
                                                q.vertices[static_cast<std::size_t>(t[1])],
                                                q.vertices[static_cast<std::size_t>(t[2])]));
  };
  corners_to_faces(a, b);
  corners_to_faces(b, a);
  for (const auto& e : a.edges)
    for (const auto& f : b.edges)
      least = std::min(least, segment_distance(a.vertices[static_cast<std::size_t>(e[0])],
                                               a.vertices[static_cast<std::size_t>(e[1])],
                                               b.vertices[static_cast<std::size_t>(f[0])],
                                               b.vertices[static_cast<std::size_t>(f[1])]));
  return least;
}

double sampled_separation(const Solid& a, const Solid& b, int samples) {
  std::vector<std::pair<double, Point>> seeds;
  for (int i = 0; i < samples; ++i) {  // Fibonacci points
    const double y = 1 - (2 * i + 1.0) / samples, r = std::sqrt(1 - y * y), phi = 2.399963229728653 * i;
    const Point n(r * std::cos(phi), y, r * std::sin(phi));
    seeds.emplace_back(separation(a, b, n), n);
  }
  std::partial_sort(seeds.begin(), seeds.begin() + 4, seeds.end(),
                    [](const auto& p, const auto& q) { return p.first > q.first; });
  double best = seeds[0].first;
  for (int k = 0; k < 4; ++k) {
    auto [value, n] = seeds[static_cast<std::size_t>(k)];
    for (double step = 0.1; step > 1e-5;) {
      const Point u = n.unitOrthogonal(), v = n.cross(u);
      bool better = false;
      for (int d = 0; d < 8 && !better; ++d) {
        const double angle = 0.7853981633974483 * d;
        const Point m = (n + step * (std::cos(angle) * u + std::sin(angle) * v)).normalized();
        const double s = separation(a, b, m);
        if (s > value) {
          value = s;
          n = m;
          better = true;
        }
      }
      if (!better) step *= 0.5;
    }
    best = std::max(best, value);
  }
  return best;
}

}}  // namespace plenum::test
