// Position-based bodies in contact: scenes in which nothing may cross, counted exactly in every frame.
#include <fmt/format.h>

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plenum/geometry/crossings.h"
#include "plenum/geometry/feature_distance.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/world/world.h"
#include "validation.h"

namespace plenum::validation { namespace {

constexpr const char* no_crossing = "a surface that passes through none, counted exactly";

/// Bodies among solids.
class Touching {
 public:
  /// Six hundred substeps a second, looked at `fps` times.
  Touching(const std::vector<PbdPart>& parts, const std::vector<Obstacle::Part>& solids, Real thickness,
           int fps = 60)
      : world_({.fps = Real(fps)}), fps_(fps) {
    if (!solids.empty()) {
      Obstacle::Model model;
      Obstacle::State state;
      Obstacle::build({.parts = solids}, model, state);
      solids_ = &world_.add<Obstacle>("solids", std::move(model), std::move(state), {});
    }
    Pbd::Model model;
    Pbd::State state;
    Pbd::build({.parts = parts}, model, state);
    Pbd::Params params;
    params.contact = Pbd::Contact::conservative;
    params.thickness = thickness;
    params.substeps = 600 / fps;
    bodies_ = &world_.add<Pbd>("bodies", std::move(model), std::move(state), params);
  }
  /// Begins with particles at x, held ones too.
  void place(const std::vector<Vec3>& x) {
    bodies_->state.particles.x = x;
    for (std::size_t p = 0; p < bodies_->model.pinned.size(); ++p)
      bodies_->model.pin_position[p] = x[std::size_t(bodies_->model.pinned[p])];
    Pbd::update(bodies_->model);
  }
  const std::vector<Vec3>& places() const { return bodies_->state.particles.x; }
  /// Pairs of an edge and a triangle that cross, the most in any frame of ten seconds; move(t) before each.
  template <class Move>
  void run(Rows& rows, const std::string& name, Move&& move) {
    run(rows, name, move, [](const std::vector<Vec3>&) {});
  }
  /// look(x) after each frame. How deep particles are in solids is asked of these, too.
  template <class Move, class Look>
  void run(Rows& rows, const std::string& name, Move&& move, Look&& look) {
    std::size_t most = 0;
    double fastest = 0, deepest = -std::numeric_limits<double>::infinity();
    for (int k = 0; k < 10 * fps_; ++k) {
      move(k / double(fps_), bodies_->parameters);
      world_.step_frame();
      const Particles& p = bodies_->state.particles;
      most = std::max(most, crossings(p.x, bodies_->model.surface_edges, bodies_->model.surface).size());
      if (const double depth = deepest_in_solids(); !(depth <= deepest)) deepest = depth;
      look(p.x);
      fastest = 0;
      for (const Vec3& v : p.v) fastest = std::max(fastest, double(v.norm()));
    }
    if (std::any_of(bodies_->model.surface.begin(), bodies_->model.surface.end(),
                    [](const Index3& t) { return t[1] != t[2]; }))
      rows.near(fmt::format("{}: most pairs that cross in a frame of 10 s", name), double(most), 0, 0, "1",
                no_crossing);
    if (solids_)
      rows.at_most(fmt::format("{}: deepest that a particle is in a solid in a frame of 10 s", name), deepest,
                   double(bodies_->parameters.thickness), "m", "surfaces lie within the thickness about it");
    rows.report(fmt::format("{}: fastest particle at the end", name), fastest, "m/s", "no reference");
  }

 private:
  /// [m] By the distances of solids, none of which moves; < 0: none is in any.
  double deepest_in_solids() const {
    double deepest = -std::numeric_limits<double>::infinity();
    if (!solids_) return deepest;
    std::vector<Real> distance(places().size());
    for (std::size_t k = 0; k < solids_->model.shapes.size(); ++k) {
      solids_->model.shapes[k].signed_distances(solids_->model.local[k], places(), distance);
      for (const Real d : distance)
        if (!(-double(d) <= deepest)) deepest = -double(d);
    }
    return deepest;
  }

  World world_;
  int fps_;
  SystemOf<Obstacle>* solids_ = nullptr;
  SystemOf<Pbd>* bodies_;
};

PbdPart cloth(Real size_x, Real size_z, int cells_x, int cells_z, const Vec3& position, Real turn = 0) {
  PbdPart part;
  part.size_x = size_x, part.size_z = size_z;
  part.cells_x = cells_x, part.cells_z = cells_z;
  part.bending_stiffness = Real(1e-5);
  part.position = position, part.rotation = Vec3(0, turn, 0);
  return part;
}

void run_towel(Rows& rows) {
  PbdPart towel = cloth(Real(1.2), Real(0.24), 80, 16, Vec3::Zero());
  towel.stretch_compliance = Real(1e-5), towel.shear_compliance = Real(1e-4);
  towel.pins.resize(2);
  towel.pins[0].where = ParticlePin::Where::left, towel.pins[1].where = ParticlePin::Where::right;
  towel.pins[1].group = 1;
  Touching(std::vector{towel}, {}, Real(0.004))
      .run(rows, "towel of four turns", [](double t, Pbd::Params& p) {
        const Real part = Real(std::min(t / 8, 1.0));
        p.pins.resize(2);
        for (int end = 0; end < 2; ++end) {
          const Real sign = end == 0 ? Real(1) : Real(-1);
          p.pins[std::size_t(end)].rotation = Vec3(sign * 720 * part, 0, 0);
          p.pins[std::size_t(end)].offset = Vec3(sign * Real(0.16) * part, 0, 0);
        }
      });
}
const Register register_towel("pbd/towel", Effort::quick, run_towel);

void run_sheets(Rows& rows) {
  std::vector<PbdPart> sheets;
  for (int k = 0; k < 5; ++k)
    sheets.push_back(cloth(Real(1.3), Real(1.3), 26, 26, Vec3(0, Real(1 + 0.12 * k), 0), Real(20 * k)));
  Obstacle::Part ground, ball;
  ground.shape = Obstacle::Kind::plane;
  ball.radius = Real(0.4), ball.position = Vec3(0, Real(0.5), 0);
  Touching(sheets, {ground, ball}, Real(0.005)).run(rows, "five cloths on a ball", [](double, Pbd::Params&) {
  });
}
const Register register_sheets("pbd/sheets", Effort::quick, run_sheets);

/// Soft blocks that fall between four walls.
void run_blocks(Rows& rows) {
  std::vector<PbdPart> blocks;
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        PbdPart block{.type = PbdPart::Type::bar};
        block.half_extents = Vec3(Real(0.12), Real(0.08), Real(0.1));
        block.cells_x = 5, block.cells_y = block.cells_z = 4;
        block.youngs_modulus = Real(3e4), block.poissons_ratio = Real(0.4), block.density = 300;
        block.position = Vec3(Real(-0.22 + 0.45 * i + 0.03 * k), Real(0.4 + 0.4 * k), Real(-0.22 + 0.45 * j));
        block.rotation = Vec3(Real(20 * k), Real(30 * i + 10 * k), Real(15 * j));
        blocks.push_back(block);
      }
  std::vector<Obstacle::Part> room(5);
  room[0].shape = Obstacle::Kind::plane;
  for (std::size_t k = 0; k < 4; ++k) {
    Obstacle::Part& wall = room[k + 1];
    const Real side = k % 2 ? Real(-0.6) : Real(0.6);
    wall.shape = Obstacle::Kind::box;
    wall.half_extents = k < 2 ? Vec3(Real(0.05), 1, Real(0.7)) : Vec3(Real(0.7), 1, Real(0.05));
    wall.position = k < 2 ? Vec3(side, 1, 0) : Vec3(0, 1, side);
  }
  Touching(blocks, room, Real(0.01)).run(rows, "soft blocks in a box", [](double, Pbd::Params&) {});
}
const Register register_blocks("pbd/blocks", Effort::quick, run_blocks);

/// What is thick, and heavier than the cloth that it lands on, drives that through what is thin.
void run_thrown(Rows& rows) {
  Obstacle::Part plate;
  plate.shape = Obstacle::Kind::box;
  plate.half_extents = Vec3(20, Real(0.01), 20), plate.position = Vec3(0, Real(-0.01), 0);
  PbdPart sheet = cloth(Real(0.9), Real(0.9), 14, 14, Vec3(0, Real(0.02), 0));
  sheet.bending_stiffness = Real(1e-4);
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.15), Real(0.1), Real(0.12));
  bar.cells_x = 4, bar.cells_y = bar.cells_z = 3;
  bar.position = Vec3(0, Real(0.4), 0), bar.rotation = Vec3(20, 30, 40), bar.velocity = Vec3(0, -10, 0);
  Touching thrown({sheet, bar}, {plate}, Real(0.01));
  const std::string name = "bar thrown at cloth on a plate";
  thrown.run(rows, name, [](double, Pbd::Params&) {});
  const auto under = std::count_if(thrown.places().begin(), thrown.places().end(),
                                   [&](const Vec3& x) { return !(x.y() >= plate.position.y()); });
  rows.near(name + ": particles under it at the end, of " + std::to_string(thrown.places().size()),
            double(under), 0, 0, "1", "what is held up stays above");
}
const Register register_thrown("pbd/thrown", Effort::quick, run_thrown);

/// Points [n + 1] m, about equally far from each other, along an open trefoil knot: t^3 - 3 t, t^4 - 4 t^2,
/// t^5 - 10 t (Shastri 1992, "Polynomial representations of knots"), in tenths of a metre and less deep.
std::vector<Vec3> trefoil(int n) {
  const auto at = [](double t) {
    return Vector3<double>(0.1 * (t * t * t - 3 * t), 0.1 * (t * t * t * t - 4 * t * t),
                           0.01 * (t * t * t * t * t - 10 * t));
  };
  constexpr int fine = 20000;
  constexpr double end = 2.3;
  std::vector<double> length = {0};
  for (int k = 1; k <= fine; ++k)
    length.push_back(length.back() +
                     (at(end * (2.0 * k / fine - 1)) - at(end * (2.0 * (k - 1) / fine - 1))).norm());
  std::vector<Vec3> out;
  for (int i = 0, k = 0; i <= n; ++i) {
    while (k < fine && length[std::size_t(k)] < length.back() * i / n) ++k;
    out.push_back(at(end * (2.0 * k / fine - 1)).cast<Real>());
  }
  return out;
}

/// Writhe of an open line of segments: Gauss's integral over all pairs of them, each the solid angle of the
/// directions from which they are seen to cross, over 2 pi. Where segments pass through each other it jumps
/// by two. Source: Klenin & Langowski 2000, "Computation of writhe in modeling of supercoiled DNA",
/// Biopolymers 54, method 1a.
double writhe(const std::vector<Vec3>& places) {
  using D3 = Vector3<double>;
  std::vector<D3> x;
  for (const Vec3& p : places) x.push_back(p.cast<double>());
  const auto unit = [](const D3& a) -> D3 { return a / std::max(a.norm(), 1e-300); };
  const auto angle = [](const D3& a, const D3& b) { return std::asin(std::clamp(a.dot(b), -1.0, 1.0)); };
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    for (std::size_t j = i + 2; j + 1 < x.size(); ++j) {
      const D3 r13 = x[j] - x[i], r14 = x[j + 1] - x[i], r23 = x[j] - x[i + 1], r24 = x[j + 1] - x[i + 1];
      const D3 n[4] = {unit(r13.cross(r14)), unit(r14.cross(r24)), unit(r24.cross(r23)),
                       unit(r23.cross(r13))};
      const double seen = angle(n[0], n[1]) + angle(n[1], n[2]) + angle(n[2], n[3]) + angle(n[3], n[0]);
      const double turn = (x[j + 1] - x[j]).cross(x[i + 1] - x[i]).dot(r13);
      sum += turn > 0 ? seen : turn < 0 ? -seen : 0;
    }
  return sum / (2 * 3.14159265358979323846);
}

/// Determinant of the knot of an open line whose ends are led apart: 1 of what is not knotted, 3 of a
/// trefoil, the same from every direction and for every shape that it takes without passing through itself.
/// Seen from one side, each crossing says of the arcs between undercrossings that twice what is over is the
/// sum of those that end under it; it is any minor of these equations. Source: Livingston 1993, "Knot
/// theory", sections 3.2 to 3.4.
double knot_determinant(const std::vector<Vec3>& places) {
  using D3 = Vector3<double>;
  const D3 sight = D3(0.13, 0.21, 1).normalized(), right = sight.cross(D3::UnitY()).normalized();
  const D3 up = sight.cross(right);
  std::vector<D3> x;  // seen: to the right, up, towards the eye
  for (const Vec3& p : places) {
    const D3 at = p.cast<double>();
    x.emplace_back(at.dot(right), at.dot(up), at.dot(sight));
  }
  // Closed far away, around all of it.
  const D3 apart = x.back() - x.front();
  double size = 0;
  for (const D3& p : x) size = std::max(size, (p - x.front()).norm());
  const D3 along = D3(apart.x(), apart.y(), 0).normalized() * 10 * size, aside(-along.y(), along.x(), 0);
  const D3 first = x.front(), last = x.back();
  for (const D3& p :
       {D3(last + along), D3(last + along + aside), D3(first - along + aside), D3(first - along)})
    x.push_back(p);
  const std::size_t n = x.size();
  struct Crossing {
    double under, over;  ///< along the line, in segments
  };
  std::vector<Crossing> crossings;
  const auto turn = [](const D3& a, const D3& b) { return a.x() * b.y() - a.y() * b.x(); };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 2; j < n; ++j) {
      if (i == 0 && j + 1 == n) continue;  // neighbours
      const D3 a = x[i + 1] - x[i], b = x[(j + 1) % n] - x[j], from = x[j] - x[i];
      const double area = turn(a, b), s = turn(from, b) / area, t = turn(from, a) / area;
      if (!(s >= 0 && s < 1 && t >= 0 && t < 1)) continue;
      const double at_i = double(i) + s, at_j = double(j) + t;
      const bool is_under = x[i].z() + s * a.z() < x[j].z() + t * b.z();
      crossings.push_back(is_under ? Crossing{at_i, at_j} : Crossing{at_j, at_i});
    }
  std::sort(crossings.begin(), crossings.end(), [](auto& a, auto& b) { return a.under < b.under; });
  const auto m = static_cast<Eigen::Index>(crossings.size());
  if (m < 2) return 1;
  Eigen::MatrixXd equations = Eigen::MatrixXd::Zero(m, m);
  for (Eigen::Index k = 0; k < m; ++k) {
    const double over = crossings[std::size_t(k)].over;
    // Arc k ends where crossing k goes under.
    const auto arc = std::lower_bound(crossings.begin(), crossings.end(), over,
                                      [](const Crossing& c, double at) { return c.under < at; }) -
                     crossings.begin();
    equations(k, arc % m) += 2, equations(k, k) -= 1, equations(k, (k + 1) % m) -= 1;
  }
  return std::abs(equations.topLeftCorner(m - 1, m - 1).determinant());
}

/// [m] Of two segments with four or more between them.
double least_distance(const std::vector<Vec3>& x) {
  double least = std::numeric_limits<double>::infinity();
  const auto point = [&](std::size_t i) {
    return detail::V3<double>{double(x[i].x()), double(x[i].y()), double(x[i].z())};
  };
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    for (std::size_t j = i + 5; j + 1 < x.size(); ++j) {
      if ((x[i] - x[j]).squaredNorm() > Real(0.0016)) continue;
      const detail::V3<double> ends[4] = {point(i), point(i + 1), point(j), point(j + 1)};
      const detail::V3<double> apart = detail::edge_edge(ends).apart;
      least = std::min(least, std::sqrt(dot(apart, apart)));
    }
  return least;
}

void run_knot(Rows& rows) {
  constexpr int n = 240;
  const std::vector<Vec3> along = trefoil(n);
  PbdPart rope{.type = PbdPart::Type::rope};
  Real length = 0;
  for (int i = 0; i < n; ++i) length += (along[std::size_t(i) + 1] - along[std::size_t(i)]).norm();
  rope.from = Vec3::Zero(), rope.to = Vec3(length, 0, 0), rope.segments = n;
  rope.bending_stiffness = Real(1e-5);
  rope.pins.resize(2);
  rope.pins[0].where = ParticlePin::Where::first, rope.pins[1].where = ParticlePin::Where::last;
  rope.pins[1].group = 1;
  // In a sixtieth of a second a loop that snaps over turns the writhe by more than one.
  Touching knot(std::vector{rope}, {}, Real(0.005), 200);
  knot.place(along);
  // Until a tenth of the rope is left in it, 38 times its thickness, of segments of 1.6 of these: friction
  // holds its loops then, and what is pulled farther is drawn out. The shortest open trefoil without friction
  // has 10.1 (Pieranski, Przybyl & Stasiak 2001, "Tight open knots").
  const Vec3 apart = along.back() - along.front();
  const Vec3 pull = (Real(0.9) * length - apart.norm()) / 2 * apart.normalized();
  double last = writhe(along), jump = 0, nearest = 1;
  knot.run(
      rows, "knot that is pulled tight",
      [&](double t, Pbd::Params& p) {
        const Real part = Real(std::min(t / 8, 1.0));
        p.pins.resize(2);
        p.pins[0].offset = -part * pull, p.pins[1].offset = part * pull;
      },
      [&](const std::vector<Vec3>& x) {
        const double now = writhe(x);
        jump = std::max(jump, std::abs(now - std::exchange(last, now)));
        nearest = std::min(nearest, least_distance(x));
      });
  const std::vector<Vec3>& end = knot.places();
  double longest = 0;
  for (int i = 0; i < n; ++i)
    longest = std::max(longest,
                       double((end[std::size_t(i) + 1] - end[std::size_t(i)]).norm()) * n / double(length));
  rows.report("knot that is pulled tight: rope left in it, over its thickness",
              double(length - (end.back() - end.front()).norm()) / 0.01, "1", "no reference");
  rows.report("knot that is pulled tight: longest segment, over what it is at rest", longest, "1",
              "no reference");
  rows.at_least("knot that is pulled tight: least distance of two segments in a frame, over its thickness",
                nearest / 0.01, 0.01, "1", "what the mode `conservative` always leaves of it");
  rows.at_most("knot that is pulled tight: largest change of its writhe in a frame", jump, 1, "1",
               "two where a rope passes through itself (Klenin & Langowski 2000)");
  constexpr const char* invariant = "determinant of a trefoil (Livingston 1993, section 3.4)";
  rows.near("knot before it is pulled tight: determinant", knot_determinant(along), 3, 1e-6, "1", invariant);
  rows.near("knot that is pulled tight: determinant", knot_determinant(knot.places()), 3, 1e-6, "1",
            invariant);
  // What rises all along is not knotted, whatever it looks like from above.
  std::vector<Vec3> rising = along;
  for (std::size_t k = 0; k < rising.size(); ++k) rising[k].z() = Real(0.01) * Real(k);
  rows.near("line that rises along the same curve: determinant", knot_determinant(rising), 1, 1e-6, "1",
            "determinant of no knot (Livingston 1993, section 3.4)");
}
const Register register_knot("pbd/knot", Effort::quick, run_knot);

}}  // namespace plenum::validation
