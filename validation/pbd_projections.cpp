// Position-based dynamics: what one projection of an internal constraint leaves of momenta. The packs that
// the solver sweeps are projected themselves, in every kind of sweep, not what they are made from. Tethers
// alone are not internal: what a pin takes of them is left of the sums, and they are asked for their way.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "plenum/elements/linear_constraints.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/detail/coarse.h"
#include "plenum/solvers/pbd/detail/enclosures.h"
#include "plenum/solvers/pbd/detail/joint_pack.h"
#include "plenum/solvers/pbd/detail/packs.h"
#include "plenum/solvers/pbd/detail/shapes.h"
#include "plenum/solvers/pbd/detail/workspace.h"
#include "plenum/solvers/pbd/detail/woven_pack.h"
#include "plenum/solvers/pbd/pbd.h"
#include "validation.h"

namespace plenum::validation { namespace {

using detail::Place;
using detail::ScalarPack;
using D3 = Vector3<double>;

/// Sums of m dx and of x cross m dx as parts of the sums of what they are of.
struct Momenta {
  D3 push = D3::Zero(), turn = D3::Zero();
  double moves = 0, pushes = 0, turns = 0;
  /// `way` [m]: how far what dx is taken from goes, which is rounded with it.
  void add(const D3& x, const D3& dx, double mass, double way = 0) {
    push += mass * dx, turn += mass * x.cross(dx), moves += mass * dx.norm();
    pushes += mass * (way + dx.norm()), turns += mass * x.norm() * (way + dx.norm());
  }
};
/// The largest of all trials.
struct Worst {
  double push = 0, turn = 0;
  int moved = 0;  ///< trials that moved anything, or took a hundredth of ways
  void take(const Momenta& of) {
    if (!(of.pushes > 0)) return;
    moved += of.moves > 0.01 * of.pushes;
    push = std::max(push, of.push.norm() / of.pushes), turn = std::max(turn, of.turn.norm() / of.turns);
  }
};

constexpr int trials = 200;
/// Some sixty roundings from places to ways, each of a part of the largest of them.
constexpr double sixty_roundings = 64 * double(std::numeric_limits<Real>::epsilon());
constexpr const char* but_rounding = "none, but for rounding";

D3 way_of(const Place& place) {
  return D3(double(place.x[0]), double(place.x[1]), double(place.x[2]));
}
void show_momenta(Rows& rows, const std::string& name, double push, double turn, double rounding,
                  bool turns = true) {
  rows.at_most(name + ": sum of m dx", push, rounding, "1", but_rounding);
  if (turns) rows.at_most(name + ": sum of x cross m dx", turn, rounding, "1", but_rounding);
}

/// Points at random by up to `spread` about the corners of a tetrahedron, or of its mirror image, with masses
/// from 0.6 to 5 kg: where they are, for projections, and as these see them.
struct Points {
  std::vector<Place> at, places;
  Points(int n, double spread, bool is_mirrored, std::mt19937& random) : at(std::size_t(n)) {
    std::uniform_real_distribution<double> number(-1, 1);
    const D3 corner[4] = {D3(0, 0, 0), D3(is_mirrored ? -1 : 1, 0, 0), D3(0, 1, 0), D3(0, 0, 1)};
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (int c = 0; c < 3; ++c) at[i].x[c] = Real(corner[i][c] + spread * number(random));
      at[i].inverse_mass = Real(1 + 0.8 * number(random));
    }
    places = at;
    for (Place& p : places) p.x[0] = p.x[1] = p.x[2] = 0;
  }
  Momenta momenta(const std::vector<Place>& ways) const {
    Momenta out;
    for (std::size_t i = 0; i < at.size(); ++i)
      out.add(way_of(at[i]), way_of(ways[i]), 1 / double(at[i].inverse_mass));
    return out;
  }
};
std::vector<Index> numbers_below(int n) {
  std::vector<Index> out;
  for (int i = 0; i < n; ++i) out.push_back(i);
  return out;
}

/// Ways of a substep at random, less what damping takes of them there and back. Its gradients, of all that a
/// pack holds, are those halfway: it pushes nothing, and about there turns nothing, whatever it damps.
template <class Pack, class Set>
void damp_one_pack(Rows& rows, const std::string& name, Set&& set, bool is_mirrored) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-0.05, 0.05);
  const std::vector<Real> damping_time(std::size_t(Pack::points), Real(0.01));
  Worst worst;
  for (int trial = 0; trial < trials; ++trial) {
    Points points(Pack::points, 0.25, is_mirrored, random);
    detail::Batch<Pack> batch;
    batch.lay_out(numbers_below(Pack::points), std::vector<std::uint8_t>(Pack::points, 0), damping_time, set);
    batch.begin(points.at.data());
    std::vector<Place> ways = points.places, middle = points.places;
    for (std::size_t i = 0; i < ways.size(); ++i)
      for (int c = 0; c < 3; ++c) ways[i].x[c] = Real(number(random)), middle[i].x[c] = ways[i].x[c] / 2;
    const std::vector<Place> before = ways;
    detail::Damping how{Real(3.6e5), 600, middle.data(), true};
    batch.damp(ways.data(), how, false);
    how.is_first = false, batch.damp(ways.data(), how, true);
    Momenta sums;
    for (std::size_t i = 0; i < ways.size(); ++i)
      sums.add(way_of(points.at[i]) + way_of(middle[i]), way_of(ways[i]) - way_of(before[i]),
               1 / double(points.at[i].inverse_mass), way_of(before[i]).norm());
    worst.take(sums);
  }
  rows.at_least(name + ", damped: trials in which it is", worst.moved, trials / 4, "1", "");
  show_momenta(rows, name + ", damped", worst.push, worst.turn, sixty_roundings);
}

struct PackCase {
  /// Each pack is one constraint, which turns nothing; of several in turn, those after the first are
  /// projected from elsewhere.
  bool turns = true;
  bool is_mirrored = false;
  Real strain_limit = 0;
};

/// set(pack, lane, item) for the material.
template <class Pack, class Set>
void project_one_pack(Rows& rows, const std::string& name, Set&& set, const PackCase& of = {}) {
  for (const bool at_once : {false, true}) {
    if constexpr (requires { &Pack::project; })
      if (at_once) continue;
    std::mt19937 random(3);
    Worst worst;
    for (int trial = 0; trial < trials; ++trial) {
      Points points(Pack::points, 0.25, of.is_mirrored, random);
      const std::vector<Index> items = numbers_below(Pack::points);
      detail::Batch<Pack> batch;
      batch.lay_out(items, std::vector<std::uint8_t>(items.size(), 0), {}, set);
      batch.begin(points.at.data());
      detail::Projection how;
      how.compliance_scale = Real(3.6e5), how.is_first = true, how.strain_limit = of.strain_limit;
      std::vector<Place> ways(items.size(), Place{});
      if constexpr (!requires { &Pack::project; })
        if (at_once) how.sums = ways.data(), batch.sweep_at_once(points.places.data(), how);
      if (!at_once) batch.sweep(points.places.data(), how), ways = points.places;
      worst.take(points.momenta(ways));
    }
    const std::string what = name + (at_once ? ", all at once" : "");
    rows.at_least(what + ": trials in which it moves", worst.moved, trials / 4, "1", "");
    show_momenta(rows, what, worst.push, worst.turn, sixty_roundings, of.turns || at_once);
  }
  if constexpr (requires { Pack::rates; })
    if (!(of.strain_limit > 0)) damp_one_pack<Pack>(rows, name, set, of.is_mirrored);
}

template <class Weights>
auto of_weights(const Weights& constraint, double alpha) {
  return [=](auto& pack, int l, std::size_t) {
    for (int i = 0; i < pack.points; ++i) pack.weight[i][l] = Real(constraint.weights[std::size_t(i)]);
    pack.compliance[l] = Real(alpha);
  };
}
auto of_number(double rest, double alpha) {
  return
      [=](auto& pack, int l, std::size_t) { pack.rest[0][l] = Real(rest), pack.compliance[l] = Real(alpha); };
}
/// Of strains of triangles and tetrahedra all, or `only` one.
auto of_strain(int only, double shear, double alpha) {
  return [=](auto& pack, int l, std::size_t) {
    constexpr int k = sizeof(pack.rest) / sizeof(pack.rest[0]) == 9 ? 3 : 2;
    for (int c = 0; c < k * k; ++c) pack.rest[c][l] = Real(c % (k + 1) == 0 ? 1 : shear);
    for (int c = 0; c < pack.count; ++c) pack.compliance[c][l] = only < 0 || c == only ? Real(alpha) : -1;
  };
}
/// Of skins, which may shrink to half: as `set` says, besides.
template <class Set>
auto of_skin(Set set) {
  return [=](auto& pack, int l, std::size_t item) {
    set(pack, l, item);
    pack.rest[std::size(pack.rest) - 1][l] = Real(0.5);
  };
}
template <class Weights>
auto of_woven(const Weights& constraint, double alpha) {
  return [=, bend = of_weights(constraint, alpha)](auto& pack, int l, std::size_t item) {
    bend(pack, l, item);
    for (int k = 0; k < 2; ++k) pack.rest[k][l] = Real(0.9), pack.give[k][l] = Real(alpha);
  };
}
using WovenRow = detail::WovenPack<3, 0, 1, 1, 2>;
using WovenCell = detail::WovenPack<4, 0, 3, 1, 2>;

void run_packs(Rows& rows, const std::string& hardness, double alpha) {
  const auto number = of_number(0.2, alpha);
  project_one_pack<ScalarPack<detail::DistanceConstraint>>(rows, "distance" + hardness, number);
  project_one_pack<ScalarPack<detail::VolumeConstraint>>(rows, "volume" + hardness, number);
  project_one_pack<ScalarPack<detail::DihedralConstraint>>(rows, "dihedral angle" + hardness, number);
  project_one_pack<ScalarPack<detail::TriangleAreaConstraint>>(rows, "area" + hardness, number);
  using detail::FoldingConstraint;
  for (const double rest : {0.2, 5.0}) {
    const std::string state = std::string(rest < 1 ? ", stretched" : ", pressed") + hardness;
    const auto skin = of_skin(of_number(rest, alpha));
    project_one_pack<ScalarPack<FoldingConstraint<detail::DistanceConstraint>>>(
        rows, "distance of a skin" + state, skin);
    project_one_pack<ScalarPack<FoldingConstraint<detail::TriangleAreaConstraint>>>(
        rows, "area of a skin" + state, skin);
  }
  for (int only = 0; only < 3; ++only)
    project_one_pack<detail::SkinStrainPack>(rows, fmt::format("strain {} of a skin", only) + hardness,
                                             of_skin(of_strain(only, 0.2, alpha)));
  const auto solid = [=](auto& pack, int l, std::size_t) {
    for (int c = 0; c < 9; ++c) pack.rest[c][l] = Real(c % 4 == 0 ? 1 : 0.2);
    pack.compliance[0][l] = Real(alpha + 1e-9), pack.compliance[1][l] = Real(alpha);
  };
  project_one_pack<detail::SolidPack>(rows, "neo-Hookean" + hardness, solid);
  project_one_pack<detail::SolidPack>(rows, "neo-Hookean, inside out" + hardness, solid,
                                      {.is_mirrored = true});
  for (int only = -1; only < 3; ++only)
    project_one_pack<detail::TriangleStrainPack>(
        rows, (only < 0 ? "strain of a triangle" : fmt::format("strain {} of a triangle", only)) + hardness,
        of_strain(only, 0.2, alpha), {.turns = only >= 0});
  for (int only = -1; only < 6; ++only)
    project_one_pack<detail::TetrahedronStrainPack>(
        rows,
        (only < 0 ? "strain of a tetrahedron" : fmt::format("strain {} of a tetrahedron", only)) + hardness,
        of_strain(only, 0.2, alpha), {.turns = only >= 0});
  project_one_pack<detail::TetrahedronStrainPack>(rows, "strain of a tetrahedron, inside out" + hardness,
                                                  of_strain(0, 0, alpha), {.is_mirrored = true});
  project_one_pack<detail::LinearPack<3>>(rows, "bend of a rope" + hardness,
                                          of_weights(rod_bending(0.3, 0.2, 2), alpha));
  project_one_pack<detail::LinearPack<4>>(rows, "twist of a cell" + hardness,
                                          of_weights(cell_twist(0.3, 0.2, 2), alpha));
  project_one_pack<detail::LinearPack<4>>(
      rows, "isometric bend" + hardness,
      of_weights(isometric_bending(D3(0, 0, 0), D3(1, 0.1, 0), D3(0.4, 0.8, 0), D3(0.3, -0.7, 0), 2), alpha));
  // Their distances follow in the same projection, from elsewhere; with lengths as they are these do nothing.
  project_one_pack<WovenRow>(rows, "bend and lengths of a row" + hardness,
                             of_woven(rod_bending(0.3, 0.2, 2), alpha), {.turns = false});
  project_one_pack<WovenCell>(rows, "twist and diagonals of a cell" + hardness,
                              of_woven(cell_twist(0.3, 0.2, 2), alpha), {.turns = false});
}

constexpr double limit_of_strain = 0.05;
constexpr double soft_compliance = 1;  ///< with which nothing is held but by the limit

/// One projection takes what is drawn out beyond the limit to it, however soft it is: |x1 - x0| and |F e| are
/// lengths of what moves along itself.
template <class C, class Pack, class Set>
void limit_one_pack(Rows& rows, const std::string& name, const std::array<double, C::numbers>& rest,
                    Set&& set) {
  project_one_pack<Pack>(rows, name + " under a limit", set, {.strain_limit = Real(limit_of_strain)});
  std::mt19937 random(11);
  double numbers[C::numbers];
  std::copy(rest.begin(), rest.end(), numbers);
  const auto beyond = [&](const std::vector<Place>& at, const std::vector<Place>& ways) {
    detail::V3<double> x[C::points], g[C::points];
    for (int i = 0; i < C::points; ++i) {
      const D3 place = way_of(at[std::size_t(i)]) + way_of(ways[std::size_t(i)]);
      x[i] = {place.x(), place.y(), place.z()};
    }
    return C::value(x, numbers, g) - C::elongated(limit_of_strain, numbers);
  };
  int drawn = 0;
  double left = -std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < trials; ++trial) {
    Points points(Pack::points, 0.25, false, random);
    detail::Batch<Pack> batch;
    batch.lay_out(numbers_below(Pack::points), std::vector<std::uint8_t>(Pack::points, 0), {}, set);
    batch.begin(points.at.data());
    if (!(beyond(points.at, points.places) > 0.01)) continue;
    ++drawn;
    batch.sweep(points.places.data(),
                {.compliance_scale = Real(3.6e5), .is_first = true, .strain_limit = Real(limit_of_strain)});
    left = std::max(left, beyond(points.at, points.places));
  }
  rows.at_least(name + " under a limit: trials that begin beyond it", drawn, trials / 4, "1", "");
  rows.at_most(name + " under a limit: beyond it after a projection", left, sixty_roundings, "1",
               but_rounding);
}

void run_limits(Rows& rows) {
  using namespace detail;
  limit_one_pack<DistanceConstraint, ScalarPack<DistanceConstraint>>(rows, "soft distance", {0.9},
                                                                     of_number(0.9, soft_compliance));
  const std::array<double, 4> sides = {1, 0.2, 0.2, 1};
  limit_one_pack<TriangleStretchConstraint<0>, TriangleStrainPack>(rows, "soft warp of a triangle", sides,
                                                                   of_strain(0, 0.2, soft_compliance));
  limit_one_pack<TriangleStretchConstraint<1>, TriangleStrainPack>(rows, "soft weft of a triangle", sides,
                                                                   of_strain(1, 0.2, soft_compliance));
  const PackCase in_turn{.turns = false, .strain_limit = Real(limit_of_strain)};
  project_one_pack<WovenRow>(rows, "soft lengths of a row under a limit",
                             of_woven(rod_bending(0.3, 0.2, 2), soft_compliance), in_turn);
  project_one_pack<WovenCell>(rows, "soft diagonals of a cell under a limit",
                              of_woven(cell_twist(0.3, 0.2, 2), soft_compliance), in_turn);
}

/// How tethers of all trials did; those of pins that have let go do not hold.
struct Tethered {
  int taut = 0, slack = 0;
  double across = 0;  ///< of the way of what is taut, from the line to the pin, of how far it was from there
  double off = 0;     ///< by how much it ends off the tether's reach, likewise
  double slack_way = 0, let_go_way = 0, pin_way = 0;  ///< [m]
};

Tethered swing_tethers(double limit) {
  std::mt19937 random(13);
  std::uniform_real_distribution<double> number(-0.1, 0.1);
  Tethered out;
  for (int trial = 0; trial < trials; ++trial)
    for (const bool holds : {true, false}) {
      Points points(2, 0.25, false, random);
      std::vector<Place>& places = points.places;
      if (holds) points.at[1].inverse_mass = places[1].inverse_mass = 0;
      for (Place& p : places)
        for (Real& c : p.x) c = Real(number(random));
      const std::vector<Place> before = places;
      const D3 line = way_of(points.at[1]) + way_of(before[1]) - way_of(points.at[0]) - way_of(before[0]);
      const Real length = Real(line.norm() * (1 + 4 * number(random)));
      detail::TetherBatch batch;
      batch.lay_out(numbers_below(2), std::vector<std::uint8_t>{0, 1}, {},
                    [=](auto& pack, int l, std::size_t) { pack.length[l] = length; });
      batch.begin(points.at.data());
      batch.sweep(places.data(), {.is_first = true, .strain_limit = Real(limit)});
      const D3 way = way_of(places[0]) - way_of(before[0]);
      const double far = line.norm(), reach = (1 + limit) * double(length);
      out.pin_way = std::max(out.pin_way, (way_of(places[1]) - way_of(before[1])).norm());
      if (!holds) {
        out.let_go_way = std::max(out.let_go_way, way.norm());
      } else if (far > reach * (1 + sixty_roundings)) {
        ++out.taut;
        out.across = std::max(out.across, way.cross(line).norm() / (far * far));
        out.off = std::max(out.off, std::abs((line - way).norm() - reach) / far);
      } else if (far < reach * (1 - sixty_roundings)) {
        ++out.slack, out.slack_way = std::max(out.slack_way, way.norm());
      }
    }
  return out;
}

void run_tethers(Rows& rows) {
  for (const double limit : {0.0, limit_of_strain}) {
    const Tethered of = swing_tethers(limit);
    const std::string name = limit > 0 ? "tether under a limit" : "tether";
    rows.at_least(name + ": trials that begin taut", of.taut, trials / 4, "1", "");
    rows.at_most(name + ", taut: way across its line, of its length", of.across, sixty_roundings, "1",
                 but_rounding);
    rows.at_most(name + ", taut: ends off its reach, of its length", of.off, sixty_roundings, "1",
                 but_rounding);
    rows.at_least(name + ": trials that begin slack", of.slack, trials / 4, "1", "");
    rows.at_most(name + ", slack: way", of.slack_way, 0, "m", "none");
    rows.at_most(name + " of a pin that has let go: way", of.let_go_way, 0, "m", "none");
    rows.at_most(name + ": way of the pin, or of what it was", of.pin_way, 0, "m", "none");
  }
}

/// A part as the solver lays it out, from points that are moved off their places at random.
struct Whole {
  Pbd::Model model;
  Pbd::State state;
  std::vector<Place> places;

  /// `spread` [m]
  Whole(const PbdPart& part, double spread) {
    Pbd::build({.parts = {part}}, model, state);
    std::mt19937 random(5);
    std::uniform_real_distribution<double> number(-spread, spread);
    for (Vec3& p : state.particles.x)
      p += Vec3(Real(number(random)), Real(number(random)), Real(number(random)));
    places.assign(state.particles.x.size(), Place{});
    for (std::size_t i = 0; i < places.size(); ++i) places[i].inverse_mass = 1 / model.mass[i];
  }
  /// Positions, as what constrains them begins with.
  std::vector<Place> starts() const {
    std::vector<Place> out = places;
    for (std::size_t i = 0; i < out.size(); ++i)
      for (int c = 0; c < 3; ++c) out[i].x[c] = state.particles.x[i][c];
    return out;
  }
  /// Of what has moved nothing the sums are not numbers, and fail.
  void show(Rows& rows, const std::string& name, double rounding, bool turns = true) const {
    Momenta sums;
    for (std::size_t i = 0; i < places.size(); ++i)
      sums.add(state.particles.x[i].cast<double>(), way_of(places[i]), 1 / double(places[i].inverse_mass));
    show_momenta(rows, name, sums.push.norm() / sums.pushes, sums.turn.norm() / sums.turns, rounding, turns);
  }
};
PbdPart bar_of(PbdPart::Material material) {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.4), Real(0.1), Real(0.1)), bar.cells_x = 8, bar.cells_y = bar.cells_z = 2;
  bar.material = material;
  return bar;
}
constexpr double tenth_of_an_edge = 0.01;  ///< [m]

void run_clusters(Rows& rows) {
  PbdPart bar = bar_of(PbdPart::Material::shape_matching);
  for (const PbdPart::ShapeMode mode :
       {PbdPart::ShapeMode::rigid, PbdPart::ShapeMode::linear, PbdPart::ShapeMode::quadratic})
    for (const double radius : {0.0, 0.15}) {
      bar.shape_mode = mode, bar.cluster_radius = Real(radius);
      Whole whole(bar, tenth_of_an_edge);
      PbdShapes shapes;
      shapes.lay_out(whole.model), shapes.begin(whole.state.particles.x);
      shapes.project(whole.places, whole.state.particles.x, {});
      const std::string name = fmt::format("{} shape matching{}",
                                           mode == PbdPart::ShapeMode::rigid    ? "rigid"
                                           : mode == PbdPart::ShapeMode::linear ? "linear"
                                                                                : "quadratic",
                                           radius > 0 ? " of clusters" : "");
      // Goals are rounded by an ulp of the body's size, ways are as long as a fiftieth of it.
      whole.show(rows, name, 50 * sixty_roundings);
    }
}

/// What a closed surface encloses.
void run_surfaces(Rows& rows) {
  using Filling = PbdPart::Filling;
  const auto show = [&](const std::string& name, Filling filling, double compliance, double inflation,
                        const detail::Projection& how, bool turns = true) {
    PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
    balloon.mesh = icosphere_mesh(Real(0.3), 2), balloon.inflated = true, balloon.filling = filling;
    balloon.overpressure = 50, balloon.volume_compliance = Real(compliance);
    Whole whole(balloon, tenth_of_an_edge);
    PbdEnclosures enclosures;
    enclosures.lay_out(whole.model), enclosures.begin(whole.state.particles.x), enclosures.reset();
    enclosures.inflate(std::vector{Real(inflation)});
    enclosures.project(whole.places, how);
    whole.show(rows, name, sixty_roundings, turns);
  };
  detail::Projection how;
  how.compliance_scale = Real(3.6e5);
  show("enclosed volume", Filling::volume, 0, 1, how);
  show("enclosed volume with compliance", Filling::volume, 1e-7, 1, how);
  show("gas", Filling::gas, 0, 1, how);
  // What is far off is projected several times, of which those after the first turn nothing about where they
  // begin; of classic stiffness once.
  show("enclosed volume, blown up by a fifth", Filling::volume, 0, 1.2, how, false);
  show("gas, blown up by a fifth", Filling::gas, 0, 1.2, how, false);
  show("enclosed volume, blown up by a fifth, classic", Filling::volume, 0, 1.2, {.part = Real(0.9)});
  show("gas, blown up by a fifth, classic", Filling::gas, 0, 1.2, {.part = Real(0.9)});

  // Off by less than a hundredth, as those of above are by a tenth of an edge, it is projected once.
  Whole solid(bar_of(PbdPart::Material::distances), tenth_of_an_edge / 5);
  PbdEnclosures outside;
  outside.lay_out(solid.model, hard_solids_of(solid.model, tet_bodies_of(solid.model)));
  outside.begin(solid.state.particles.x), outside.reset();
  outside.project(solid.places, how, PbdEnclosures::solids);
  solid.show(rows, "volume of a solid by its outside", sixty_roundings);
}

/// Cloth that is drawn out and bent, free: all patches' constraints are linear about where a sweep begins and
/// the gradients of each are there, so that together they push and turn nothing, on however many levels. What
/// is held has no way, and its pins take what it would have had.
void run_coarse_levels(Rows& rows) {
  for (const int levels : {1, 2, 3}) {
    PbdPart sheet;
    sheet.cells_x = 37, sheet.cells_z = 23, sheet.size_x = Real(0.74), sheet.size_z = Real(0.46);
    Whole whole(sheet, 0.002);
    for (Vec3& p : whole.state.particles.x)
      p = Vec3(Real(1.3) * p.x() + Real(0.3) * p.z() * p.z(), Real(0.2) * std::sin(9 * p.x()) + p.y(),
               Real(1.2) * p.z());
    PbdCoarse coarse;
    coarse.lay_out(whole.model, levels), coarse.begin(whole.starts());
    coarse.project(whole.places, {});
    // To the means of each level and back.
    whole.show(rows, fmt::format("{} coarse {} of cloth", levels, levels > 1 ? "levels" : "level"),
               levels * sixty_roundings);
  }
}

void run_projections(Rows& rows) {
  run_packs(rows, "", 0), run_packs(rows, " with compliance", 1e-6);
  run_limits(rows), run_tethers(rows);
  run_clusters(rows), run_surfaces(rows), run_coarse_levels(rows);
}
const Register register_projections("pbd/projections", Effort::quick, run_projections);

}}  // namespace plenum::validation
