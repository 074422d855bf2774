#include "figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "constraints.h"
#include "nets.h"
#include "study.h"
#include "style.h"

namespace plenum::figures {
namespace {

using enum Integrator;
/// One look for a method in every figure.
struct Look {
  Integrator method;
  std::string_view name;
  Stroke stroke;
};
constexpr Look looks[] = {
    {explicit_euler, "explicit Euler", {vermilion, 1.8, ""}},
    {explicit_midpoint, "RK2 (midpoint)", {purple, 1.8, ""}},
    {rk3_kutta, "RK3", {purple, 1.8, "6 3"}},
    {rk4, "RK4", {ink, 1.8, ""}},
    {symplectic_euler, "symplectic Euler", {orange, 1.8, ""}},
    {velocity_verlet, "velocity Verlet", {blue, 1.8, ""}},
    {position_verlet, "position Verlet", {sky, 1.8, "6 3"}},
    {backward_euler, "backward Euler", {green, 1.8, ""}},
    {implicit_midpoint, "implicit midpoint", {sky, 1.8, ""}},
    {bdf2, "BDF2", {green, 1.8, "7 3"}},
    {sdirk2, "SDIRK2", {green, 1.8, "2 3"}},
    {radau_iia2, "Radau IIA", {grey, 1.8, "7 3 2 3"}},
};

const Look& look_of(Integrator method) {
  return *std::find_if(std::begin(looks), std::end(looks), [&](const Look& l) { return l.method == method; });
}

/// Points of an edge seen from `centre`, all around if `full`, else over the left half-plane from +i to -i.
std::vector<Point> edge_around(const std::function<bool(Complex)>& inside, Complex centre, double reach,
                               bool full = true) {
  constexpr int rays = 240;
  std::vector<Point> outline;
  for (int k = 0; k <= rays; ++k) {
    const double angle = full ? 2 * pi * k / rays : pi / 2 + pi * k / rays;
    const Complex p = centre + std::polar(distance_to_edge(inside, centre, angle, reach, 0.02), angle);
    outline.push_back({p.real(), p.imag()});
  }
  return outline;
}

void cross_hairs(Panel& panel, const Axis& x, const Axis& y) {
  panel.curve({{x.low, 0}, {x.high, 0}}, {pale, 1, ""});
  panel.curve({{0, y.low}, {0, y.high}}, {pale, 1, ""});
}

std::string draw_stability() {
  Drawing d(840, 400, "Stability regions of the time integrators");
  const double top = 40, height = 300, width = 230;
  const double aspect = width / height;  // one unit is as long either way
  constexpr double rounding = 1e-9;      // |R| of the methods that keep amplitudes is 1 but for this
  const std::string real_part = "Re <tspan font-style=\"italic\">hλ</tspan>",
                    imaginary_part = "Im <tspan font-style=\"italic\">hλ</tspan>";
  {
    const Axis y{-3.3, 3.3, false, ticks({-3, -2, -1, 0, 1, 2, 3}), imaginary_part};
    const Axis x{-3.7, -3.7 + 6.6 * aspect, false, ticks({-3, -2, -1, 0, 1}), real_part};
    Panel panel(d, {62, top}, width, height, x, y, "Explicit: stable inside");
    const struct {
      Integrator method;
      double centre;
      std::string_view name;
      Point label;
    } shown[] = {{rk4, -1.2, "RK4", {-2.65, 2.35}},
                 {rk3_kutta, -1.2, "RK3", {-1.35, 1.87}},
                 {explicit_midpoint, -1, "RK2", {-1.3, 1.25}},
                 {explicit_euler, -1, "Euler", {-1.35, 0.35}}};
    std::vector<std::vector<Point>> edges;
    for (const auto& s : shown)
      edges.push_back(
          edge_around([&](Complex z) { return growth(s.method, z) <= 1 + rounding; }, s.centre, 6));
    panel.region(edges[0], ink, 0.07);
    panel.region(edges[3], vermilion, 0.1);
    cross_hairs(panel, x, y);
    for (std::size_t k = 0; k < edges.size(); ++k) panel.curve(edges[k], look_of(shown[k].method).stroke);
    for (const auto& s : shown) panel.note(s.label, s.name, {look_of(s.method).stroke.colour, 12});
  }
  {
    const Axis y{-2.45, 2.45, false, ticks({-2, -1, 0, 1, 2}), ""};
    const Axis x{-2.6, -2.6 + 4.9 * aspect, false, ticks({-2, -1, 0, 1}), real_part};
    Panel panel(d, {334, top}, width, height, x, y, "Symplectic: stable inside");
    const auto edge_of = [&](Integrator method) {
      return edge_around(
          [&](Complex z) {
            const double w = std::abs(z);
            // Where both roots meet on the unit circle an eigenvalue is known to the root of the precision.
            return oscillator_growth(method, w, -z.real() / w) <= 1 + 1e-6;
          },
          0, 6, false);
    };
    const auto euler = edge_of(symplectic_euler), velocity = edge_of(velocity_verlet);
    panel.region(euler, orange, 0.14);
    cross_hairs(panel, x, y);
    panel.curve(velocity, look_of(velocity_verlet).stroke);
    panel.curve(euler, look_of(symplectic_euler).stroke);
    panel.note({-2.45, 1.85}, "velocity Verlet", {blue, 12});
    panel.note({-2.45, 0.75}, "symplectic", {orange, 12});
    panel.note({-2.45, 0.5}, "Euler", {orange, 12});
    panel.curve({{-1.78, 0.57}, {-0.76, 0.57}}, {orange, 1, ""});
  }
  {
    const Axis y{-8.6, 8.6, false, ticks({-8, -4, 0, 4, 8}), ""};
    const Axis x{-1.1, -1.1 + 17.2 * aspect, false, ticks({0, 4, 8, 12}), real_part};
    Panel panel(d, {598, top}, width, height, x, y, "Implicit: unstable inside");
    panel.region({{0, -9}, {13, -9}, {13, 9}, {0, 9}}, sky, 0.1);
    cross_hairs(panel, x, y);
    const struct {
      Integrator method;
      double centre;
      std::string_view name;
      Point label;
    } shown[] = {{sdirk2, 3.4, "SDIRK2, TR-BDF2", {2.3, 4.95}},
                 {radau_iia2, 2.6, "Radau IIA", {5.9, -2.2}},
                 {bdf2, 1.6, "BDF2", {1.35, 1.35}},
                 {backward_euler, 1, "Euler", {4.2, -0.95}}};
    for (const auto& s : shown) {
      panel.curve(edge_around([&](Complex z) { return growth(s.method, z) > 1 + rounding; }, s.centre, 20),
                  look_of(s.method).stroke);
      panel.note(s.label, s.name, {look_of(s.method).stroke.colour, 12});
    }
    panel.curve({{1.7, -0.7}, {4.05, -0.7}}, {green, 1, ""});
    panel.note({11.8, 7.7}, "midpoint, trapezoid:", {sky, 11, Anchor::end});
    panel.note({11.8, 6.9}, "all of this", {sky, 11, Anchor::end});
  }
  return d.finish();
}

std::string draw_oscillator() {
  Drawing d(840, 376, "What the integrators do to the amplitude of an undamped oscillation");
  const std::vector<Tick> heights = ticks({0, 0.25, 0.5, 0.75, 1, 1.25, 1.5});
  {
    const Axis x{4, 1000, true, ticks({4, 10, 30, 100, 300, 1000}), "steps per period"};
    const Axis y{0, 1.5, false, heights, "amplitude after one period"};
    Panel panel(d, {62, 40}, 270, 270, x, y, "How fast swinging dies");
    for (const Integrator method : {explicit_euler, explicit_midpoint, rk4, velocity_verlet, radau_iia2, bdf2,
                                    sdirk2, backward_euler}) {
      std::vector<Point> curve;
      for (int k = 0; k <= 120; ++k) {
        const double steps = 4 * std::pow(250.0, k / 120.0);
        const double kept = std::pow(oscillator_growth(method, 2 * pi / steps), steps);
        curve.push_back({steps, std::min(kept, 50.0)});
      }
      panel.curve(curve, look_of(method).stroke);
    }
    panel.note({92, 1.3}, "explicit Euler", {vermilion, 12});
    panel.note({10.5, 1.3}, "RK2", {purple, 12});
    panel.note({70, 0.6}, "backward Euler", {green, 12});
    panel.note({13, 0.78}, "BDF2", {green, 12});
    panel.note({32, 1.04}, "all others", {blue, 12});
  }
  {
    const Axis x{0.1,
                 100,
                 true,
                 {{0.1, "0.1"}, {1, "1"}, {10, "10"}, {100, "100"}},
                 "<tspan font-style=\"italic\">hω</tspan>"};
    const Axis y{0, 1.5, false, heights, "amplitude after one step"};
    Panel panel(d, {420, 40}, 270, 270, x, y, "How stiff oscillations end");
    const std::pair<Integrator, std::string_view> shown[] = {{explicit_euler, ""},
                                                             {explicit_midpoint, ""},
                                                             {rk4, ""},
                                                             {velocity_verlet, ""},
                                                             {implicit_midpoint, "midpoint, trapezoid"},
                                                             {backward_euler, "backward Euler"},
                                                             {bdf2, "BDF2"},
                                                             {sdirk2, "SDIRK2, TR-BDF2"},
                                                             {radau_iia2, "Radau IIA"}};
    for (const auto& [method, label] : shown) {
      std::vector<Point> curve;
      for (int k = 0; k <= 180; ++k) {
        const double z = 0.1 * std::pow(1000.0, k / 180.0);
        curve.push_back({z, std::min(oscillator_growth(method, z), 50.0)});
      }
      panel.curve(curve, look_of(method).stroke);
      if (!label.empty()) panel.label(curve.back().y, label, look_of(method).stroke.colour);
    }
    panel.note({0.17, 1.28}, "explicit", {vermilion, 12});
    panel.note({0.17, 1.21}, "Euler", {vermilion, 12});
    panel.note({1.18, 1.05}, "RK2", {purple, 12, Anchor::end});
    panel.note({3.4, 1.40}, "Verlet and symplectic", {blue, 12});
    panel.note({3.4, 1.33}, "Euler: up to 2", {blue, 12});
    panel.note({3.4, 1.19}, "RK4: up to 2.83", {ink, 12});
    panel.place_labels();
  }
  return d.finish();
}

std::string draw_energy() {
  Drawing d(840, 376, "Energy error of the integrators on a pendulum released at 90 degrees");
  const Phase start{pi / 2, 0};
  const double period = exact_period(pi / 2), initial = energy(start);
  {
    const double h = period / 25, end = 5;
    const Axis x{0, end, false, ticks({0, 1, 2, 3, 4, 5}), "periods"};
    const Axis y{-1.05, 1.3, false, ticks({-1, -0.5, 0, 0.5, 1}),
                 "energy error / <tspan font-style=\"italic\">mgL</tspan>"};
    Panel panel(d, {62, 40}, 218, 270, x, y, "25 steps a period");
    for (const Integrator method :
         {explicit_euler, backward_euler, explicit_midpoint, bdf2, symplectic_euler, velocity_verlet, rk4}) {
      const Swing s = swing(method, start, h, 125);
      std::vector<Point> curve;
      for (std::size_t k = 0; k < s.orbit.size(); ++k)
        curve.push_back({double(k) / 25, energy(s.orbit[k]) - initial});
      panel.curve(curve, look_of(method).stroke);
      panel.label(curve.back().y, look_of(method).name, look_of(method).stroke.colour);
    }
    panel.place_labels();
  }
  {
    const double h = period / 80;
    const Axis x{1, 1000, true, {{1, "1"}, {10, "10"}, {100, "100"}, {1000, "1000"}}, "periods"};
    const Axis y{1e-7, 10, true, decades(-7, 1, 2), ""};
    Panel panel(d, {460, 40}, 240, 270, x, y, "80 steps: the largest so far");
    for (const Integrator method : {explicit_euler, backward_euler, explicit_midpoint, bdf2, sdirk2,
                                    symplectic_euler, velocity_verlet, implicit_midpoint, radau_iia2, rk4}) {
      const Swing s = swing(method, start, h, 80000);
      std::vector<Point> curve;
      double worst = 0;
      std::size_t at = 0;
      for (int k = 0; k <= 90; ++k) {
        const double periods = std::pow(1000.0, k / 90.0);
        const auto until = static_cast<std::size_t>(std::lround(periods * 80));
        for (; at <= until; ++at) worst = std::max(worst, std::abs(energy(s.orbit[at]) - initial));
        curve.push_back({periods, worst});
      }
      panel.curve(curve, look_of(method).stroke);
      panel.label(worst, look_of(method).name, look_of(method).stroke.colour);
    }
    panel.place_labels();
  }
  return d.finish();
}

std::string draw_phase() {
  Drawing d(840, 560, "Orbits of a pendulum under six integrators");
  const Integrator shown[] = {explicit_euler,   explicit_midpoint, backward_euler,
                              symplectic_euler, velocity_verlet,   implicit_midpoint};
  constexpr double amplitudes[] = {0.7, 1.5, 2.3};
  for (int k = 0; k < 6; ++k) {
    const Look& look = look_of(shown[k]);
    const Axis x{-pi, pi, false, {{-pi, "−π"}, {0, "0"}, {pi, "π"}}, k < 3 ? "" : "angle"};
    const Axis y{-2.8, 2.8, false, ticks({-2, 0, 2}), k % 3 ? "" : "rate"};
    Panel panel(d, {62.0 + 262 * (k % 3), k < 3 ? 36.0 : 298.0}, 232, 204, x, y, look.name);
    for (const double amplitude : amplitudes) {
      std::vector<Point> level;
      for (int i = 0; i <= 80; ++i) {
        const Phase p = exact_swing(amplitude, exact_period(amplitude) * i / 80);
        level.push_back({p.x, p.v});
      }
      panel.curve(level, {"#b5b5b0", 1.2, ""});
    }
    std::vector<Point> orbit;
    for (const double amplitude : amplitudes)
      for (const Phase& p : swing(shown[k], {amplitude, 0}, 0.4, 100).orbit)
        orbit.push_back({std::remainder(p.x, 2 * pi), p.v});
    panel.dots(orbit, look.stroke.colour, 2.4);
  }
  return d.finish();
}

std::string draw_convergence() {
  Drawing d(840, 396, "Error of the integrators against step and cost");
  const double end = 10;
  const Phase exact = exact_swing(pi / 2, end);
  const Axis error{1e-10, 10, true, decades(-10, 0, 2), "error"},
      again{1e-10, 10, true, decades(-10, 0, 2), ""};
  const Axis step{0.5,
                  1.9e-3,
                  true,
                  {{0.5, "0.5"}, {0.1, "0.1"}, {0.01, "0.01"}},
                  "step <tspan font-style=\"italic\">h</tspan>"};
  const Axis cost{20, 4e4, true, decades(2, 4), "evaluations of the force"};
  Panel by_step(d, {66, 40}, 196, 290, step, error, "Step and measured order");
  Panel by_cost(d, {500, 40}, 200, 290, cost, again, "Cost");
  for (const Integrator method :
       {explicit_euler, symplectic_euler, backward_euler, explicit_midpoint, velocity_verlet,
        implicit_midpoint, bdf2, sdirk2, rk3_kutta, radau_iia2, rk4}) {
    const Look& look = look_of(method);
    std::vector<Point> over_step, over_cost;
    double before = 0, order = 0;
    for (int steps = 20; steps <= 5120; steps *= 2) {
      const Swing s = swing(method, {pi / 2, 0}, end / steps, steps);
      const Phase p = s.orbit.back();
      const double wrong = std::hypot(p.x - exact.x, p.v - exact.v);
      order = before > 0 ? std::log2(before / wrong) : 0;
      before = wrong;
      over_step.push_back({end / steps, wrong});
      over_cost.push_back({double(s.evaluations), wrong});
      if (wrong < 1e-10) break;  // rounding would show below
    }
    by_step.curve(over_step, look.stroke);
    by_step.label(over_step.back().y,
                  fmt::format("{} <tspan font-weight=\"600\">{:.2f}</tspan>", look.name, order),
                  look.stroke.colour);
    by_cost.curve(over_cost, look.stroke);
    by_cost.label(over_cost.back().y, look.name, look.stroke.colour);
  }
  by_step.place_labels();
  by_cost.place_labels();
  return d.finish();
}

}  // namespace

const std::vector<Figure>& all_figures() {
  static const std::vector<Figure> figures = {
      {"stability.svg", draw_stability},     {"oscillator.svg", draw_oscillator},
      {"energy.svg", draw_energy},           {"phase.svg", draw_phase},
      {"convergence.svg", draw_convergence}, {"nets.svg", draw_nets},
      {"constraints.svg", draw_constraints}};
  return figures;
}

}  // namespace plenum::figures
