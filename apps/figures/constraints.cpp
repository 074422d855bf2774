// What each constraint of position-based dynamics does to its points, by the library's own gradients.
#include "constraints.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "plenum/elements/linear_constraints.h"
#include "plenum/elements/position_constraints.h"
#include "plenum/elements/strain_constraints.h"
#include "plenum/math/polar.h"
#include "style.h"

namespace plenum::figures {
namespace {

using D3 = Vector3<double>;
using Points = std::vector<D3>;
using Lines = std::vector<std::pair<int, int>>;

constexpr double cell_width = 200, cell_height = 178;

/// Where points go in one projection without compliance, all of them of unit mass: dx_i = -C g_i / sum |g|^2.
template <class C, std::size_t numbers>
Points projected(const Points& x, const double (&rest)[numbers]) {
  constexpr int n = C::points;
  detail::V3<double> at[n], g[n];
  for (int i = 0; i < n; ++i) at[i] = {x[std::size_t(i)][0], x[std::size_t(i)][1], x[std::size_t(i)][2]};
  const double error = C::value(at, rest, g);
  double response = 0;
  for (const auto& u : g) response += dot(u, u);
  Points out = x;
  for (int i = 0; i < n; ++i) out[std::size_t(i)] -= error / response * D3(g[i].x, g[i].y, g[i].z);
  return out;
}
template <std::size_t n>
Points straightened(const Points& x, const std::array<double, n>& weights) {
  D3 sum = D3::Zero();
  double response = 0;
  for (std::size_t i = 0; i < n; ++i) sum += weights[i] * x[i], response += weights[i] * weights[i];
  Points out = x;
  for (std::size_t i = 0; i < n; ++i) out[i] -= weights[i] / response * sum;
  return out;
}

/// Points as they are, with their lines, and arrows to where they go.
class Cell {
 public:
  Cell(Drawing& d, int column, int row, std::string_view title, std::string_view formula) : d_(d) {
    corner_ = {14 + column * cell_width, 34 + row * cell_height};
    d.text({corner_.x, corner_.y}, title, {ink, 13, Anchor::start, true});
    d.text({corner_.x, corner_.y + 17}, formula, {grey, 12});
  }
  /// [pixels] x to the right, y up, z into the picture.
  Point at(const D3& p) const {
    return {corner_.x + 34 + 100 * (p[0] + 0.35 * p[2]), corner_.y + 132 - 92 * (p[1] + 0.28 * p[2])};
  }
  void draw(const Points& x, const Lines& lines, const Points& to, const std::vector<int>& held = {}) {
    for (const auto& [a, b] : lines)
      d_.line(at(to[std::size_t(a)]), at(to[std::size_t(b)]), {sky, 1.4, "4 3"});
    for (const auto& [a, b] : lines) d_.line(at(x[std::size_t(a)]), at(x[std::size_t(b)]), {ink, 1.8, ""});
    for (std::size_t i = 0; i < x.size(); ++i) arrow(at(x[i]), at(to[i]));
    std::vector<Point> free, pins;
    for (std::size_t i = 0; i < x.size(); ++i)
      (std::find(held.begin(), held.end(), int(i)) == held.end() ? free : pins).push_back(at(x[i]));
    d_.dots(free, ink, 6);
    d_.dots(pins, green, 9);
  }
  void arrow(Point a, Point b) {
    const double x = b.x - a.x, y = b.y - a.y, length = std::hypot(x, y);
    if (length < 3) return;
    const double ux = x / length, uy = y / length, head = std::min(6.0, 0.6 * length);
    d_.line(a, b, {vermilion, 2.2, ""});
    for (const double side : {-0.45, 0.45})
      d_.line(b, {b.x - head * (ux - side * uy), b.y - head * (uy + side * ux)}, {vermilion, 2.2, ""});
  }

 private:
  Drawing& d_;
  Point corner_;
};

const Lines tetrahedron = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}},
            triangle = {{0, 1}, {1, 2}, {2, 0}};
constexpr double unit_axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

void draw_lines(Drawing& d) {
  const Points pair = {{0, 0.15, 0}, {1.25, 0.65, 0}};
  Cell(d, 0, 0, "Distance", "C = |x₁ − x₀| − l")
      .draw(pair, {{0, 1}}, projected<detail::DistanceConstraint>(pair, {1.0}));
  Points tethered = {{1.25, 0.1, 0}, {0, 0.8, 0}};
  Points back = tethered;
  back[0] = tethered[1] + 1.1 * (tethered[0] - tethered[1]).normalized();
  Cell(d, 1, 0, "Tether", "|x − pin| ≤ l, the pin stays").draw(tethered, {{0, 1}}, back, {1});
  const Points rod = {{0, 0.1, 0}, {0.65, 0.75, 0}, {1.3, 0.05, 0}};
  Cell(d, 2, 0, "Rod", "C = (x₂ − x₁)/l₂ − (x₁ − x₀)/l₁")
      .draw(rod, {{0, 1}, {1, 2}}, straightened(rod, rod_bending(0.7, 0.7, 1).weights));
  const Points twisted = {{0, 0.3, 0}, {0.85, 0, 0}, {0, 0, 1}, {0.85, 0.3, 1}};
  Cell(d, 3, 0, "Twist of a cell", "C = x₀₀ − x₁₀ − x₀₁ + x₁₁")
      .draw(twisted, {{0, 1}, {1, 3}, {3, 2}, {2, 0}}, straightened(twisted, cell_twist(1, 1, 1).weights));
}

void draw_surfaces(Drawing& d) {
  const Points fold = {{0.6, 0.75, 0}, {0.6, 0.75, 0.9}, {1.3, 0.2, 0.35}, {-0.15, 0.2, 0.45}};
  const Lines hinge = {{0, 1}, {0, 2}, {2, 1}, {0, 3}, {3, 1}};
  Cell(d, 0, 1, "Dihedral angle", "C = θ − θ₀")
      .draw(fold, hinge, projected<detail::DihedralConstraint>(fold, {0.0}));
  const D3 a(0, 0, 0), b(0, 0, 0.9), c(0.9, 0, 0.35), e(-0.9, 0, 0.45);
  Cell(d, 1, 1, "Isometric bending", "C = Σ kᵢ xᵢ, k of cotangents")
      .draw(fold, hinge, straightened(fold, isometric_bending(a, b, c, e, 1.0).weights));
  const Points sheared = {{0, 0, 0}, {1.1, 0.15, 0}, {0.65, 0.8, 0}};
  Cell(d, 2, 1, "Shear of two axes", "C = 2 tan(φ/2)")
      .draw(sheared, triangle, projected<detail::TriangleShearConstraint>(sheared, {1.0, 0, 0, 1.0}));
  Cell(d, 3, 1, "Area", "C = |a × b|/2 − A")
      .draw(sheared, triangle, projected<detail::TriangleAreaConstraint>(sheared, {0.25}));
}

void draw_solids(Drawing& d) {
  const Points squashed = {{0, 0, 0}, {1.2, 0.1, 0}, {0.25, 0.62, 0.1}, {0.2, 0.1, 0.8}};
  Cell(d, 0, 2, "Volume", "C = a · (b × c)/6 − V")
      .draw(squashed, tetrahedron, projected<detail::VolumeConstraint>(squashed, {1.0 / 6}));
  Cell(d, 1, 2, "Stretch along an axis", "C = |F e| − 1")
      .draw(squashed, tetrahedron, projected<detail::TetrahedronStretchConstraint<0>>(squashed, unit_axes));
  Cell(d, 2, 2, "Neo-Hookean, deviatoric", "C = √(tr FᵀF + J² − 4 J)")
      .draw(squashed, tetrahedron, projected<detail::DeviatoricConstraint>(squashed, unit_axes));
  const Points rest = {{0, 0, 0}, {0.9, 0, 0}, {0.9, 0.7, 0}, {0, 0.7, 0}};
  const Points bent = {{0.1, 0.1, 0}, {1.15, 0, 0}, {0.95, 0.6, 0}, {-0.1, 0.85, 0}};
  D3 middle = D3::Zero(), centre = D3::Zero();
  for (std::size_t i = 0; i < 4; ++i) middle += rest[i] / 4, centre += bent[i] / 4;
  Matrix3<double> moment = Matrix3<double>::Zero();
  for (std::size_t i = 0; i < 4; ++i) moment += (bent[i] - centre) * (rest[i] - middle).transpose();
  const Quaternion<double> turn = polar_rotation<double>(moment, Quaternion<double>::Identity());
  Points goals;
  for (const D3& q : rest) goals.push_back(centre + turn * D3(q - middle));
  Cell(d, 3, 2, "Shape", "C = x − (R q + centre)").draw(bent, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, goals);
}

/// A ring of a balloon, pressed flat: gradients are the areas around a vertex, outward.
void draw_balloon(Drawing& d) {
  Points x;
  Lines lines;
  constexpr int n = 14;
  for (int k = 0; k < n; ++k) {
    const double s = 2 * pi * k / n;
    x.push_back(D3(0.6 + 0.62 * std::cos(s), 0.4 + 0.3 * std::sin(s), 0));
    lines.push_back({k, (k + 1) % n});
  }
  Points to = x;
  for (int k = 0; k < n; ++k) {
    const D3 along = x[std::size_t((k + 1) % n)] - x[std::size_t((k + n - 1) % n)];
    to[std::size_t(k)] += 0.35 * D3(along[1], -along[0], 0);
  }
  Cell(d, 0, 3, "Enclosed volume", "C = Σ x₀ · (x₁ × x₂)/6 − V, here a cut").draw(x, lines, to);
}

}  // namespace

std::string draw_constraints() {
  Drawing d(14 + 4 * cell_width, 22 + 4 * cell_height,
            "Constraints of position-based dynamics and where they move points");
  draw_lines(d), draw_surfaces(d), draw_solids(d), draw_balloon(d);
  d.text({14 + cell_width, 34 + 3 * cell_height + 60},
         "Black: points as they are, of equal mass. Arrows: one projection without compliance,", {grey, 12});
  d.text({14 + cell_width, 34 + 3 * cell_height + 78},
         "along the gradients. Dashed: where that leads. Green: held.", {grey, 12});
  return d.finish();
}

}  // namespace plenum::figures
