// Position-based dynamics: gradients of internal constraints against differences of their values, in double;
// those of all others: pbd_gradients_solver.cpp.
//
// Of central differences with a step d, of a constraint on points about s apart, the error is d^2 / 6 |C'''|
// + n eps |C| / d, n being the roundings in a value (Press et al. 2007, "Numerical recipes", section 5.7).
// Third derivatives are gradients over squares of the lengths over which they turn, heights of triangles,
// which are at least s / 5 here, and times factors of a few: |C'''| < 200 |g| / s^2. With d = eps^(1/3) s
// both terms are times eps^(2/3) = 3.7e-11: the first at most 33, the second n |C| / (|g| s), thirty times
// five at most. The sum is below 1e-8. Where C depends on each single coordinate by a straight line,
// differences are exact for any step, and d = s leaves n eps |C| / (|g| s).
#include <Eigen/Geometry>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "pbd_gradients.h"
#include "plenum/elements/closed_surface.h"
#include "plenum/elements/folding_constraints.h"
#include "plenum/elements/linear_constraints.h"
#include "plenum/elements/strain_constraints.h"
#include "plenum/geometry/shapes.h"

namespace plenum::validation { namespace {

using D3 = Vector3<double>;
using Corners = std::vector<D3>;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr int configurations = 50;
/// Steps in units of s, and bounds as parts of the gradient: of what is curved, of what is straight along
/// each coordinate, and of a surface, whose sum of 80 terms is rounded 80 times and is 14 |g| s.
const double fine = std::cbrt(eps), fine_bound = 1e-8;
constexpr double coarse = 1, coarse_bound = 128 * eps, surface_bound = 80 * 14 * eps;

/// Points about corners of a tetrahedron or, every other time, of its mirror image, turned and moved. Those
/// of a hinge are folded by up to 2.2 rad instead: it jumps at pi, near which its angle has the fewest
/// digits.
Corners spread(int count, bool is_hinge, int trial, std::mt19937& random) {
  Corners x = {D3::Zero(), D3::UnitX(), D3::UnitY(), D3::UnitZ()};
  const double fold = between(random, -2.2, 2.2);
  if (is_hinge) x[3] = D3(0, -std::cos(fold), -std::sin(fold));
  x.resize(std::size_t(count));
  const Eigen::AngleAxis<double> turn(between(random, 0, 3), anywhere(random, 1).normalized());
  const D3 shift = anywhere(random, 1);
  for (D3& p : x) {
    p += anywhere(random, 0.15);
    if (trial % 2 == 1) p.x() = -p.x();
    p = turn * p + shift;
  }
  return x;
}

/// The largest difference between `gradient` [points] at x and central differences of value(x), as a part of
/// the largest of the gradient; no number, which fails, where there is none.
template <class Value>
double error_of(const Corners& gradient, Corners x, double step, Value&& value) {
  double most = 0, error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    take(most, gradient[i].norm());
    for (Eigen::Index c = 0; c < 3; ++c) {
      const double at = x[i][c], after = at + step, before = at - step;
      x[i][c] = after;
      const double above = value(x);
      x[i][c] = before;
      const double below = value(x);
      x[i][c] = at;
      // By the step as it is rounded.
      take(error, std::abs((above - below) / (after - before) - gradient[i][c]));
    }
  }
  return error / most;
}
void add_row(Rows& rows, const std::string& name, double worst, double bound = coarse_bound) {
  rows.at_most(name + ": largest error of the gradient", worst, bound, "1",
               bound < fine_bound ? "central differences, exact but for rounding"
                                  : "central differences, step eps^(1/3)");
}

/// A structure of elements/position_constraints.h, strain_constraints.h or folding_constraints.h.
template <class Constraint>
void check(Rows& rows, const std::string& name, bool is_straight = false) {
  constexpr std::size_t n = Constraint::points;
  constexpr bool is_hinge = requires {
    Constraint::period;
  };
  std::mt19937 random(13);
  double worst = 0;
  for (int trial = 0; trial < configurations; ++trial) {
    const Corners x = spread(int(n), is_hinge, trial, random);
    // A length, an area, a volume or an angle; or a square matrix, by which all is a fifth smaller.
    double rest[Constraint::numbers];
    constexpr int k = Constraint::numbers == 9 ? 3 : Constraint::numbers >= 4 ? 2 : 1;
    for (int c = 0; c < k * k; ++c) rest[c] = (c % (k + 1) == 0 ? 0.8 : 0) + between(random, -0.05, 0.05);
    if constexpr (Constraint::numbers == k * k + 1) {
      // What may shrink to half of its size holds in between only: it is larger than at rest, or smaller.
      const double to = k == 1 ? (trial / 2 % 2 == 0 ? 0.25 : 6) : (trial / 2 % 2 == 0 ? 2 : 0.3);
      for (int c = 0; c < k * k; ++c) rest[c] *= to;
      rest[k * k] = 0.5;
    }
    const auto evaluate = [&](const Corners& at, detail::V3<double>(&gradient)[n]) {
      detail::V3<double> points[n];
      for (std::size_t i = 0; i < n; ++i) points[i] = {at[i].x(), at[i].y(), at[i].z()};
      return Constraint::value(points, rest, gradient);
    };
    detail::V3<double> g[n], unused[n];
    evaluate(x, g);
    Corners gradient;
    for (const detail::V3<double>& u : g) gradient.push_back({u.x, u.y, u.z});
    take(worst, error_of(gradient, x, is_straight ? coarse : fine,
                         [&](const Corners& at) { return evaluate(at, unused); }));
  }
  add_row(rows, name, worst, is_straight ? coarse_bound : fine_bound);
}

/// A weighted sum: dC_c / dx_i is k_i along c. value(x): C, from what it stands for.
template <int n, class Value>
double error_of_weights(const LinearConstraint<n>& constraint, Value&& value, std::mt19937& random) {
  Corners x;
  for (int i = 0; i < n; ++i) x.push_back(anywhere(random, 1));
  double worst = 0;
  for (Eigen::Index c = 0; c < 3; ++c) {
    Corners gradient;
    for (const double weight : constraint.weights) gradient.push_back(weight * D3::Unit(c));
    take(worst, error_of(gradient, x, coarse, [&](const Corners& at) { return value(at)[c]; }));
  }
  return worst;
}

void check_weighted_sums(Rows& rows) {
  std::mt19937 random(17);
  double rod = 0, twist = 0, hinge = 0;
  for (int trial = 0; trial < configurations; ++trial) {
    const double l1 = between(random, 0.5, 1.5), l2 = between(random, 0.5, 1.5);
    take(rod, error_of_weights(
                  rod_bending(l1, l2, 2),
                  [&](const Corners& x) { return D3((x[2] - x[1]) / l2 - (x[1] - x[0]) / l1); }, random));
    take(twist, error_of_weights(
                    cell_twist(l1, l2, 2),
                    [&](const Corners& x) { return D3((x[3] - x[2]) - (x[1] - x[0])); }, random));
    // The jump of the slope across the edge from a to b of what is linear on each of two flat triangles,
    // times its length; ways across are from the corners opposite to it to their feet on it.
    const D3 a = D3::Zero(), b = D3(between(random, 0.8, 1.2), between(random, -0.2, 0.2), 0);
    const D3 c = D3(between(random, 0.3, 0.7), between(random, 0.6, 1), 0),
             d = D3(between(random, 0.3, 0.7), between(random, -1, -0.6), 0);
    const double edge = (b - a).norm();
    const auto slope = [&](const Corners& x, std::size_t tip, const D3& at) {
      const double along = (at - a).dot(b - a) / (edge * edge);
      const double height = (at - a - along * (b - a)).norm();
      return D3(((1 - along) * x[0] + along * x[1] - x[tip]) / height);
    };
    take(hinge, error_of_weights(
                    isometric_bending(a, b, c, d, 2),
                    [&](const Corners& x) { return D3(edge * (slope(x, 2, c) + slope(x, 3, d))); }, random));
  }
  add_row(rows, "bend of a rope", rod);
  add_row(rows, "twist of a cell", twist);
  add_row(rows, "isometric bend", hinge);
}

/// What a closed surface of 42 vertices encloses, as tetrahedra from the origin.
void check_enclosed_volume(Rows& rows) {
  const TriangleMesh mesh = icosphere_mesh(1, 1);
  // next[v][a] = b: of a triangle (v, a, b).
  std::vector<std::map<Index, Index>> next(mesh.x.size());
  for (const Index3& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) next[std::size_t(t[k])][t[(k + 1) % 3]] = t[(k + 2) % 3];
  std::mt19937 random(19);
  double worst = 0;
  for (int trial = 0; trial < configurations; ++trial) {
    Corners x, gradient;
    for (const Vec3& p : mesh.x) x.push_back(p.cast<double>() + anywhere(random, 0.2));
    if (trial % 2 == 1)
      for (D3& p : x) p.x() = -p.x();  // inside out
    for (std::size_t v = 0; v < x.size(); ++v) {
      std::vector<Index> ring = {next[v].begin()->first};
      while (ring.size() < next[v].size()) ring.push_back(next[v].at(ring.back()));
      gradient.push_back(volume_gradient<D3>(x[v], ring, [&](Index j) -> D3 { return x[std::size_t(j)]; }));
    }
    take(worst, error_of(gradient, x, coarse, [&](const Corners& at) {
           double volume = 0;
           for (const Index3& t : mesh.triangles)
             volume += at[std::size_t(t[0])].dot(at[std::size_t(t[1])].cross(at[std::size_t(t[2])])) / 6;
           return volume;
         }));
  }
  add_row(rows, "volume that a surface encloses", worst, surface_bound);
}

void run_gradients(Rows& rows) {
  using namespace detail;  // NOLINT: what is checked
  check<DistanceConstraint>(rows, "distance");
  check<DihedralConstraint>(rows, "dihedral angle");
  check<VolumeConstraint>(rows, "volume", true);
  check<DeviatoricConstraint>(rows, "neo-Hookean, deviatoric");
  check<HydrostaticConstraint>(rows, "neo-Hookean, hydrostatic", true);
  check<TriangleStretchConstraint<0>>(rows, "stretch of a triangle, warp");
  check<TriangleStretchConstraint<1>>(rows, "stretch of a triangle, weft");
  check<TriangleShearConstraint>(rows, "shear of a triangle");
  check<TriangleAreaConstraint>(rows, "area");
  check<FoldingConstraint<DistanceConstraint>>(rows, "distance of a skin");
  check<FoldingConstraint<TriangleStretchConstraint<0>>>(rows, "stretch of a skin, warp");
  check<FoldingConstraint<TriangleStretchConstraint<1>>>(rows, "stretch of a skin, weft");
  check<FoldingConstraint<TriangleAreaConstraint>>(rows, "area of a skin");
  check<TetrahedronStretchConstraint<0>>(rows, "stretch of a tetrahedron, x");
  check<TetrahedronStretchConstraint<1>>(rows, "stretch of a tetrahedron, y");
  check<TetrahedronStretchConstraint<2>>(rows, "stretch of a tetrahedron, z");
  check<TetrahedronShearConstraint<1, 2>>(rows, "shear of a tetrahedron, yz");
  check<TetrahedronShearConstraint<2, 0>>(rows, "shear of a tetrahedron, zx");
  check<TetrahedronShearConstraint<0, 1>>(rows, "shear of a tetrahedron, xy");
  check_weighted_sums(rows);
  check_enclosed_volume(rows);
  check_gradients_of_solver(rows);
}
const Register register_gradients("pbd/gradients", Effort::quick, run_gradients);

}}  // namespace plenum::validation
