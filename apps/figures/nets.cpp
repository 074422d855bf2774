#include "nets.h"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "hanging_rope.h"
#include "plenum/elements/spring.h"
#include "plenum/solvers/springs/springs.h"
#include "style.h"

namespace plenum::figures {
namespace {

/// Springs of a small cloth as the generator makes them; those of its middle particle stand out.
void draw_stencil(Drawing& d, Point corner, double size) {
  constexpr int cells = 6, middle = 3 * (cells + 1) + 3;
  SpringsPart part;
  part.cells_x = part.cells_z = cells;
  Springs::Model model;
  Springs::State state;
  Springs::build({.parts = {part}}, model, state);
  const auto at = [&](Index i) {
    const Vec3& x = state.particles.x[std::size_t(i)];
    return Point{corner.x + size * (0.5 + 0.86 * double(x[0])),
                 corner.y + size * (0.5 + 0.86 * double(x[2]))};
  };
  d.rectangle(corner, size, size, "#ffffff", pale);
  const auto touches = [&](std::size_t e) { return (model.edges[e].array() == middle).any(); };
  for (std::size_t e = 0; e < model.edges.size(); ++e)
    if (model.kind[e] != Springs::bend && !touches(e))
      d.line(at(model.edges[e][0]), at(model.edges[e][1]), {"#d4d4d0", 1, ""});
  for (const auto& [kind, stroke] : {std::pair{Springs::bend, Stroke{orange, 2, ""}},
                                     {Springs::shear, Stroke{sky, 2.4, ""}},
                                     {Springs::structural, Stroke{ink, 2.8, ""}}})
    for (std::size_t e = 0; e < model.edges.size(); ++e) {
      if (!touches(e) || model.kind[e] != kind) continue;
      const Point a = at(model.edges[e][0]), b = at(model.edges[e][1]);
      if (kind != Springs::bend) {
        d.line(a, b, stroke);
        continue;
      }
      std::vector<Point> arc;  // beside the line, where structural springs lie
      for (int k = 0; k <= 16; ++k) {
        const double s = k / 16.0, bow = 0.5 * s * (1 - s);
        arc.push_back({a.x + s * (b.x - a.x) - bow * (b.y - a.y), a.y + s * (b.y - a.y) + bow * (b.x - a.x)});
      }
      d.curve(arc, stroke);
    }
  std::vector<Point> points;
  for (std::size_t i = 0; i < state.particles.size(); ++i) points.push_back(at(Index(i)));
  d.dots(points, "#8a8a86", 4);
  d.dots({at(middle)}, vermilion, 8);
  d.text({corner.x, corner.y - 10}, "Springs of a particle of cloth", {ink, 13, Anchor::start, true});
  const double y = corner.y + size + 18;
  d.text({corner.x, y}, "structural", {ink, 12});
  d.text({corner.x + size / 2, y}, "shear", {sky, 12, Anchor::middle});
  d.text({corner.x + size, y}, "bending", {orange, 12, Anchor::end});
}

}  // namespace

std::vector<Point> rope_at_rest(int links, double length) {
  std::vector<Point> points;
  for (const Vec3& x : validation::HangingRope{.links = links, .length = length}.hang())
    points.push_back({double(x[0]) - 0.5, double(x[1])});
  return points;
}

double catenary(double length, double x) {
  double low = 1e-3, high = 50;  // u = 1/(2a), sinh(u)/u = length, which grows with u
  for (int k = 0; k < 100; ++k) {
    const double u = (low + high) / 2;
    (std::sinh(u) / u < length ? low : high) = u;
  }
  const double a = 1 / (low + high);
  return a * (std::cosh(x / a) - std::cosh(0.5 / a));
}

std::string draw_nets() {
  Drawing d(840, 330, "Springs of cloth, the stiffness of a spring, and ropes against the catenary");
  draw_stencil(d, {24, 40}, 230);
  {
    const Axis x{0, 2, false, ticks({0, 0.5, 1, 1.5, 2}),
                 "length <tspan font-style=\"italic\">l</tspan> / <tspan font-style=\"italic\">l</tspan>₀"};
    const Axis y{-1.5, 1.3, false, ticks({-1, 0, 1}), "stiffness / <tspan font-style=\"italic\">k</tspan>"};
    Panel panel(d, {332, 40}, 200, 230, x, y, "Stiffness of a spring");
    std::vector<Point> along, across, projected;
    for (int k = 1; k <= 100; ++k) {
      const double l = k / 50.0;
      const Vector3<double> s(l, 0, 0);
      const Matrix3<double> exact = spring_hessian<double>(s, 1, 1),
                            convex = spring_hessian_projected<double>(s, 1, 1);
      along.push_back({l, exact(0, 0)});
      across.push_back({l, exact(1, 1)});
      projected.push_back({l, convex(1, 1)});
    }
    panel.curve({{0, 0}, {2, 0}}, {pale, 1, ""});
    panel.curve(along, {ink, 2, ""});
    panel.curve(across, {vermilion, 2, "2 3"});
    panel.curve(projected, {green, 2.4, ""});
    panel.note({0.08, 1.08}, "along it", {ink, 12});
    panel.note({0.62, -0.75}, "across it, exact", {vermilion, 12});
    panel.note({1.3, 0.06}, "projected", {green, 12});
  }
  {
    const double length = 1.5;
    const Axis x{-0.58, 0.58, false, ticks({-0.5, 0, 0.5}), "ropes 1.5 times as long as the gap"};
    const Axis y{-0.56, 0.04, false, ticks({-0.5, -0.25, 0}), ""};
    Panel panel(d, {596, 40}, 220, 230, x, y, "Ropes and the catenary");
    std::vector<Point> exact;
    for (int k = 0; k <= 100; ++k) exact.push_back({k / 100.0 - 0.5, catenary(length, k / 100.0 - 0.5)});
    panel.curve(exact, {"#b5b5b0", 5, ""});
    const std::pair<int, std::string_view> ropes[] = {{3, vermilion}, {6, sky}, {32, ink}};
    double height = -0.12;
    for (const auto& [links, colour] : ropes) {
      const std::vector<Point> rope = rope_at_rest(links, length);
      panel.curve(rope, {colour, 1.6, ""});
      panel.dots(rope, colour, 5);
      panel.note({0, height}, fmt::format("{} links", links), {colour, 12, Anchor::middle});
      height -= 0.045;
    }
  }
  return d.finish();
}

}  // namespace plenum::figures
