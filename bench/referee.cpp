#include "referee.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <limits>

#include "plenum/base/error.h"

namespace plenum::bench {
namespace {

using Vec = Vector3<double>;
using Points = std::vector<Vec>;

Points placed(const Solid& solid, const BodyPose& pose) {
  Points points;
  for (const Vec& p : solid.points) points.push_back(pose.position + pose.rotation * p);
  return points;
}

/// The point of the affine hull of `corners` nearest to the origin, as weights that sum to one.
Eigen::VectorXd affine_weights(const Points& corners) {
  const auto n = static_cast<Eigen::Index>(corners.size());
  Eigen::MatrixXd sides(3, n - 1);
  for (Eigen::Index k = 1; k < n; ++k) sides.col(k - 1) = corners[std::size_t(k)] - corners[0];
  const Eigen::VectorXd rest =
      n > 1 ? Eigen::VectorXd((sides.transpose() * sides).ldlt().solve(-sides.transpose() * corners[0]))
            : Eigen::VectorXd(0);
  Eigen::VectorXd weights(n);
  weights << 1 - rest.sum(), rest;
  return weights;
}

/// Distance of the origin from the hull of points.
double distance_of_hull(const Points& points) {
  const auto lowest = [&](const Vec& x) {
    return *std::min_element(points.begin(), points.end(),
                             [&](const Vec& p, const Vec& q) { return x.dot(p) < x.dot(q); });
  };
  double size = 0;
  for (const Vec& p : points) size = std::max(size, p.squaredNorm());
  Points corners = {lowest(points[0])};
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(1);
  Vec x = corners[0];
  for (int step = 0; step < 200; ++step) {
    const Vec p = lowest(x);
    if (x.squaredNorm() - x.dot(p) <= 1e-14 * size || corners.size() == 4) break;
    corners.push_back(p);
    weights.conservativeResize(weights.size() + 1);
    weights[weights.size() - 1] = 0;
    for (;;) {
      const Eigen::VectorXd wanted = affine_weights(corners);
      if (wanted.minCoeff() > 0) {
        weights = wanted;
        break;
      }
      // Towards it, until a corner is used up.
      double t = 1;
      Eigen::Index first = 0;
      for (Eigen::Index k = 0; k < wanted.size(); ++k)
        if (wanted[k] <= 0 && weights[k] / (weights[k] - wanted[k]) < t) {
          t = weights[k] / (weights[k] - wanted[k]);
          first = k;
        }
      weights += t * (wanted - weights);
      weights[first] = 0;
      Points kept;
      std::vector<double> values;
      for (Eigen::Index k = 0; k < weights.size(); ++k)
        if (k != first && weights[k] > 0)
          kept.push_back(corners[std::size_t(k)]), values.push_back(weights[k]);
      if (kept.empty()) break;
      corners = kept;
      weights = Eigen::Map<Eigen::VectorXd>(values.data(), Eigen::Index(values.size()));
      weights /= weights.sum();
    }
    x.setZero();
    for (std::size_t k = 0; k < corners.size(); ++k) x += weights[Eigen::Index(k)] * corners[k];
  }
  return x.norm();
}

/// Normals of the planes through three points that have all others on one side.
void add_face_normals(const Points& points, Points& axes) {
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size(); ++j)
      for (std::size_t k = j + 1; k < points.size(); ++k) {
        const Vec n = (points[j] - points[i]).cross(points[k] - points[i]);
        if (n.norm() < 1e-12) continue;
        double low = 0, high = 0;
        for (const Vec& p : points)
          low = std::min(low, n.dot(p - points[i])), high = std::max(high, n.dot(p - points[i]));
        if (std::min(-low, high) <= 1e-9 * n.norm()) axes.push_back(n.normalized());
      }
}

/// How deep the hulls of points overlap. Lines between corners that are no edges give axes too many, along
/// which the overlap is only larger.
double depth_of_hulls(const Points& a, const Points& b) {
  Points axes;
  add_face_normals(a, axes);
  add_face_normals(b, axes);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k)
        for (std::size_t l = k + 1; l < b.size(); ++l) {
          const Vec n = (a[j] - a[i]).cross(b[l] - b[k]);
          if (n.norm() > 1e-9) axes.push_back(n.normalized());
        }
  double least = std::numeric_limits<double>::infinity();
  for (const Vec& n : axes) {
    double low_a = 1e300, high_a = -1e300, low_b = 1e300, high_b = -1e300;
    for (const Vec& p : a) low_a = std::min(low_a, n.dot(p)), high_a = std::max(high_a, n.dot(p));
    for (const Vec& p : b) low_b = std::min(low_b, n.dot(p)), high_b = std::max(high_b, n.dot(p));
    least = std::min({least, high_a - low_b, high_b - low_a});
  }
  return least;
}

double overlap(const Points& a, const Points& b, double radius) {
  Points differences;
  for (const Vec& p : a)
    for (const Vec& q : b) differences.push_back(p - q);
  const double distance = distance_of_hull(differences);
  if (distance > 1e-7) return radius - distance;
  return radius + std::max(depth_of_hulls(a, b), 0.0);
}

}  // namespace

Solid solid_of(const rigid::ShapeSpec& shape) {
  const double r = double(shape.radius), h = double(shape.half_height);
  Solid solid;
  switch (shape.shape) {
    case rigid::Form::sphere:
      solid = {{Vec::Zero()}, r};
      break;
    case rigid::Form::capsule:
      solid = {{Vec(0, -h, 0), Vec(0, h, 0)}, r};
      break;
    case rigid::Form::hull:
      for (const Vec3& p : shape.points) solid.points.push_back(p.cast<double>());
      break;
    case rigid::Form::box:
      for (int k = 0; k < 8; ++k)
        solid.points.push_back(shape.half_extents.cast<double>().cwiseProduct(
            Vec(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1)));
      break;
    default:
      throw Error("the referee knows spheres, boxes, capsules and hulls");
  }
  const auto turned = rotation_from_degrees(shape.rotation).cast<double>().normalized();
  for (Vec& p : solid.points) p = shape.position.cast<double>() + turned * p;
  return solid;
}

double overlap(const Solid& a, const BodyPose& at, const Solid& b, const BodyPose& bt) {
  return overlap(placed(a, at), placed(b, bt), a.radius + b.radius);
}

Overlaps overlaps(const rigid::Spec& spec, const std::vector<BodyPose>& poses) {
  struct Placed {
    std::size_t body;
    Points points;
    double radius;
    Vec low, high;
    bool moves;
  };
  std::vector<Placed> solids;
  for (std::size_t i = 0; i < spec.bodies.size(); ++i)
    for (const rigid::ShapeSpec& shape : spec.bodies[i].shapes) {
      const Solid solid = solid_of(shape);
      Placed p{i,
               placed(solid, poses[i]),
               solid.radius,
               Vec::Constant(1e300),
               Vec::Constant(-1e300),
               spec.bodies[i].motion == rigid::Motion::dynamic};
      for (const Vec& x : p.points) p.low = p.low.cwiseMin(x), p.high = p.high.cwiseMax(x);
      p.low.array() -= p.radius, p.high.array() += p.radius;
      solids.push_back(std::move(p));
    }
  Overlaps sum;
  for (std::size_t i = 0; i < solids.size(); ++i)
    for (std::size_t j = i + 1; j < solids.size(); ++j) {
      const Placed &a = solids[i], &b = solids[j];
      if (a.body == b.body || !(a.moves || b.moves) || (a.low.array() > b.high.array()).any() ||
          (b.low.array() > a.high.array()).any())
        continue;
      const double depth = overlap(a.points, b.points, a.radius + b.radius);
      if (!(depth > 0)) continue;
      ++sum.pairs;
      sum.mean += depth;
      sum.largest = std::max(sum.largest, depth);
    }
  if (sum.pairs > 0) sum.mean /= static_cast<double>(sum.pairs);
  return sum;
}

}  // namespace plenum::bench
