// What each constraint of position-based dynamics does to its points, by the library's own gradients, and by
// its solver where bodies take part.
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
#include "plenum/solvers/pbd/pbd.h"
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
  /// Marks the first `marked` points only, if given.
  void draw(const Points& x, const Lines& lines, const Points& to, const std::vector<int>& held = {},
            std::size_t marked = 1000) {
    marked = std::min(marked, x.size());
    for (const auto& [a, b] : lines)
      d_.line(at(to[std::size_t(a)]), at(to[std::size_t(b)]), {sky, 1.4, "4 3"});
    for (const auto& [a, b] : lines) d_.line(at(x[std::size_t(a)]), at(x[std::size_t(b)]), {ink, 1.8, ""});
    for (std::size_t i = 0; i < marked; ++i) arrow(at(x[i]), at(to[i]));
    std::vector<Point> free, pins;
    for (std::size_t i = 0; i < marked; ++i)
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
  Cell(d, 0, 3, "Enclosed volume", "C = Σ x₀ · (x₁ × x₂)/6 − V").draw(x, lines, to);
}

/// Particles and boxes that nothing pulls but what is to be drawn.
struct Things {
  Pbd::Model model;
  Pbd::State state;
  Pbd::Params params;

  Things(int num_particles, const std::vector<PbdBody>& boxes) {
    PbdSpec spec;
    spec.bodies = boxes;
    if (num_particles > 0) {
      PbdPart rope{.type = PbdPart::Type::rope};
      rope.segments = num_particles - 1;
      spec.parts = {rope};
    }
    Pbd::build(spec, model, state);
    model.edges.clear(), model.rest_length.clear(), model.stretch_compliance.clear();
    model.bends.clear(), model.bend_weights.clear(), model.rod_compliance.clear();
    model.tethers.clear(), model.tether_length.clear();
    for (std::size_t i = 0; i < state.particles.size(); ++i)
      model.mass[i] = state.particles.inverse_mass[i] = 1;
    params.gravity.setZero(), params.air_density = 0, params.substeps = 1;
  }
  void place(const Points& x) {
    for (std::size_t i = 0; i < state.particles.size(); ++i) state.particles.x[i] = x[i].cast<Real>();
  }
  /// Particles, then what is at these anchors, then the eight corners of each box.
  Points shown(const std::vector<Pbd::Anchor>& anchors, D3 half) const {
    Points out;
    for (const Vec3& x : state.particles.x) out.push_back(x.cast<double>());
    const auto on = [&](std::size_t body, const Vec3& at) {
      out.push_back((state.frames.pose(body) * at).cast<double>());
    };
    for (const Pbd::Anchor& a : anchors) on(std::size_t(a.body), a.at);
    for (std::size_t b = 0; b < state.frames.x.size(); ++b)
      for (int c = 0; c < 8; ++c)
        on(b, Vec3(Real(c & 1 ? half[0] : -half[0]), Real(c & 2 ? half[1] : -half[1]),
                   Real(c & 4 ? half[2] : -half[2])));
    return out;
  }
  Lines outlines(std::size_t first) const {
    Lines out;
    for (std::size_t b = 0; b < state.frames.x.size(); ++b)
      for (int c = 0; c < 8; ++c)
        for (const int side : {1, 2, 4})
          if ((c & side) == 0) out.push_back({int(first + 8 * b) + c, int(first + 8 * b) + (c | side)});
    return out;
  }
  /// One projection: a step of one substep and sweep of what is at rest, on what is offered to the workspace.
  void project(Pbd::Workspace&& workspace = {}) {
    for (std::size_t b = 0; b < model.bodies.size(); ++b) {
      if (!state.particles.x.empty()) model.apart.push_back(Index2(0, Index(b)));
      for (std::size_t c = 0; c < b; ++c) model.bodies_apart.push_back(Index2(Index(c), Index(b)));
    }
    Pbd::update(model);
    Pbd::step(model, state, params, workspace, 1);
  }
};

const D3 half_box(0.24, 0.2, 0.12);

PbdBody box(const char* name, const Vec3& position, const Vec3& rotation) {
  PbdBody out{.name = name, .shape = PbdBody::Form::box, .half_extents = half_box.cast<Real>()};
  out.density = Real(1.5 / (8 * half_box.prod()));
  out.position = position, out.rotation = rotation;
  return out;
}

void draw_holds(Drawing& d) {
  {
    Things things(2, {box("a", Vec3(Real(0.25), Real(0.2), Real(0.2)), Vec3(0, 0, 10))});
    things.place({{1.05, 0.8, 0.2}, {5, 5, 5}});
    const Pbd::Anchor corner{-1, 0, Vec3(Real(half_box[0]), Real(half_box[1]), 0)};
    things.model.holds = {{{0, -1, Vec3::Zero()}, corner, 0, 0}};
    const auto all = [&] {
      Points out = things.shown({corner}, half_box);
      out.erase(out.begin() + 1);
      return out;
    };
    const Points before = all();
    things.project();
    Cell(d, 3, 3, "Attachment", "C = x − (x₁ + R₁ r)").draw(before, things.outlines(2), all(), {}, 2);
  }
  const auto show = [&](int column, int row, const char* title, const char* formula, Things& things,
                        const std::vector<Pbd::Anchor>& anchors, const Lines& between) {
    const Points before = things.shown(anchors, half_box);
    things.project();
    Lines lines = things.outlines(anchors.size());
    lines.insert(lines.end(), between.begin(), between.end());
    Cell(d, column, row, title, formula)
        .draw(before, lines, things.shown(anchors, half_box), {}, anchors.size());
  };
  const auto two = [&](const Vec3& turn_a, const Vec3& turn_b, Real apart) {
    return Things(0, {box("a", Vec3(Real(0.15), Real(0.25), Real(0.2)), turn_a),
                      box("b", Vec3(Real(0.15) + apart, Real(0.45), Real(0.2)), turn_b)});
  };
  const Pbd::Anchor right{-1, 0, Vec3(Real(half_box[0]), 0, 0)}, left{-1, 1, Vec3(Real(-half_box[0]), 0, 0)};
  Things ball = two(Vec3(0, 0, 15), Vec3(0, 0, -20), Real(0.85));
  ball.model.holds = {{right, left, 0, 0}};
  show(0, 4, "Ball joint", "C = x₁ + R₁ r₁ − (x₂ + R₂ r₂)", ball, {right, left}, {});
  Things hinge = two(Vec3(35, 0, 0), Vec3(-35, 0, 0), Real(0.75));
  hinge.model.alignments = {
      {.a = 0, .b = 1, .about_axis = true, .axis_a = Vec3::UnitZ(), .axis_b = Vec3::UnitZ()}};
  std::vector<Pbd::Anchor> ends;
  for (const Index body : {0, 1})
    for (const Real z : {Real(-0.45), Real(0.45)}) ends.push_back({-1, body, Vec3(0, 0, z)});
  show(1, 4, "Axes of a hinge", "C = angle of R₁ e₁ and R₂ e₂", hinge, ends, {{0, 1}, {2, 3}});
  Things fixed = two(Vec3(0, 0, 25), Vec3(30, 0, -35), Real(0.85));
  fixed.model.alignments = {{.a = 0, .b = 1}};
  show(2, 5, "Turn of a fixed joint", "C = angle of R₂ to R₁", fixed, {}, {});
  Things rope = two(Vec3(0, 0, 25), Vec3(0, 0, 30), Real(0.9));
  rope.model.holds = {{right, left, Real(0.25), 0}};
  show(2, 4, "Rope between bodies", "|a − b| ≤ l", rope, {right, left}, {{0, 1}});
}

void draw_limits(Drawing& d) {
  const Points squashed = {{0, 0, 0}, {1.15, 0, 0}, {0.2, 0.55, 0}, {0.3, 0.15, 0.9}};
  Cell(d, 1, 3, "Neo-Hookean, hydrostatic", "C = J − 1, J = det F")
      .draw(squashed, tetrahedron, projected<detail::HydrostaticConstraint>(squashed, unit_axes));
  Things spring(2, {});
  const Points pulled = {{0, 0.15, 0}, {1.25, 0.65, 0}};
  spring.place(pulled);
  spring.model.edges = {Index2(0, 1)}, spring.model.rest_length = {Real(0.7)};
  spring.model.stretch_compliance = {Real(1e3)}, spring.params.strain_limit = Real(0.4);
  spring.project();
  Cell(d, 2, 3, "Limit of strain", "|x₁ − x₀| ≤ (1 + s) l")
      .draw(pulled, {{0, 1}}, spring.shown({}, half_box));
  // A vertex near a face, which both give way, by their weights.
  const D3 a(0, 0.1, 0), b(1.2, 0, 0), c(0.5, 0.55, 1.1), w(0.3, 0.35, 0.35);
  const D3 n = (c - a).cross(b - a).normalized(), foot = w[0] * a + w[1] * b + w[2] * c;
  const double distance = 0.6, near = 0.3;
  const Points x = {foot + near * n, a, b, c};
  const double weights[4] = {1, -w[0], -w[1], -w[2]};
  double response = 0;
  for (const double k : weights) response += k * k;
  Points to = x;
  for (std::size_t i = 0; i < 4; ++i) to[i] += weights[i] / response * (distance - near) * n;
  Cell(d, 3, 4, "Contact of vertex and face", "n · Σ wᵢ xᵢ ≥ d").draw(x, {{1, 2}, {2, 3}, {3, 1}}, to);
}

/// Points of the two that are as near to each other as may be give way by their weights.
void draw_crossed_edges(Drawing& d) {
  const D3 a(0, 0.1, 0.2), b(1.2, 0.2, 0.2), c(0.3, 0.3, -0.4), e(0.75, 0.4, 1.1);
  const D3 u = b - a, v = e - c, n = v.cross(u).normalized();
  Matrix3<double> ways;
  ways << u, -v, n;
  const D3 at = ways.inverse() * (c - a);  // a + s u + z n = c + t v
  const double s = at[0], t = at[1], near = -n.dot(a + s * u - c - t * v), distance = 0.5;
  const double weights[4] = {-(1 - s), -s, 1 - t, t};
  double response = 0;
  for (const double k : weights) response += k * k;
  const Points x = {a, b, c, e};
  Points to = x;
  for (std::size_t i = 0; i < 4; ++i) to[i] += weights[i] / response * (distance - near) * n;
  Cell(d, 0, 5, "Contact of two edges", "n · Σ wᵢ xᵢ ≥ d").draw(x, {{0, 1}, {2, 3}}, to);
}

void draw_floor(Drawing& d) {
  Things ball(2, {});
  const D3 from(0.1, 0.45, 0), end(1.05, -0.25, 0);
  ball.place({from, {5, 5, 5}});
  ball.state.particles.v[0] = (end - from).cast<Real>();
  Support floor;
  floor.normal = Vec3::UnitY(), floor.gap = Real(from[1]), floor.friction = Real(0.5);
  Pbd::Workspace workspace;
  Pbd::rest_on(workspace, {&floor, 1});
  ball.project(std::move(workspace));
  const D3 to = ball.state.particles.x[0].cast<double>();
  // Where it goes by itself, from where, and the floor.
  const Points x = {end, from, {-0.15, 0, 0}, {1.35, 0, 0}};
  Cell(d, 1, 5, "Contact with friction", "x · n ≥ d, rub ≤ μ push")
      .draw(x, {{1, 0}, {2, 3}}, {to, from, x[2], x[3]}, {1}, 2);
}

void draw_hand(Drawing& d) {
  const Points x = {{0.75, 0.1, 0}, {0.1, 0.2, 0.2}, {0.4, 0.1, 0.9}, {1.2, 0.75, 0}};
  Things net(4, {});
  net.place(x);
  Pbd::Workspace workspace;
  const Vec3 target = x[3].cast<Real>();
  const Grasp grasp{.sample = 0, .from = target, .to = target, .rate = Real(1.2)};
  Pbd::grasp(workspace, {&grasp, 1});
  net.project(std::move(workspace));
  Points to = x;
  to[0] = net.state.particles.x[0].cast<double>();
  Cell(d, 3, 5, "A hand, through a spring", "C = x − target, α = 1/(m ω²)")
      .draw(x, {{0, 1}, {1, 2}, {2, 0}, {0, 3}}, to, {3});
}

}  // namespace

std::string draw_constraints() {
  Drawing d(14 + 4 * cell_width, 62 + 6 * cell_height,
            "Constraints of position-based dynamics and where they move points");
  draw_lines(d), draw_surfaces(d), draw_solids(d), draw_balloon(d), draw_limits(d), draw_holds(d);
  draw_crossed_edges(d), draw_floor(d), draw_hand(d);
  d.text({14, 34 + 6 * cell_height},
         "Black: points as they are, of equal mass, and bodies of one and a half; of a balloon a cut.",
         {grey, 12});
  d.text({14, 34 + 6 * cell_height + 18},
         "Arrows: one projection without compliance, along the gradients. Dashed: where that leads. "
         "Green: held.",
         {grey, 12});
  return d.finish();
}

}  // namespace plenum::figures
