// Position-based dynamics: what one projection of an internal constraint leaves of momenta. The packs that
// the solver sweeps are projected themselves, in every kind of sweep, not what they are made from.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "plenum/elements/linear_constraints.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/detail/joint_pack.h"
#include "plenum/solvers/pbd/detail/packs.h"
#include "plenum/solvers/pbd/detail/shapes.h"
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
  double pushes = 0, turns = 0;
  void add(const D3& x, const D3& dx, double mass) {
    push += mass * dx, turn += mass * x.cross(dx);
    pushes += mass * dx.norm(), turns += mass * x.norm() * dx.norm();
  }
};
/// The largest of all trials.
struct Worst {
  double push = 0, turn = 0;
  int moved = 0;  ///< trials that moved anything
  void take(const Momenta& of) {
    if (!(of.pushes > 0)) return;
    ++moved;
    push = std::max(push, of.push.norm() / of.pushes), turn = std::max(turn, of.turn.norm() / of.turns);
  }
};

constexpr int trials = 200;

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
      out.add({at[i].x[0], at[i].x[1], at[i].x[2]}, {ways[i].x[0], ways[i].x[1], ways[i].x[2]},
              1 / double(at[i].inverse_mass));
    return out;
  }
};

/// set(pack, lane, item) for the material. `turns`: each pack is one constraint, which turns nothing; of
/// several in turn, those after the first are projected from elsewhere.
template <class Pack, class Set>
void project_one_pack(Rows& rows, const std::string& name, Set&& set, bool turns = true,
                      bool is_mirrored = false) {
  for (const bool at_once : {false, true}) {
    if constexpr (requires { &Pack::project; })
      if (at_once) continue;
    std::mt19937 random(3);
    Worst worst;
    for (int trial = 0; trial < trials; ++trial) {
      Points points(Pack::points, 0.25, is_mirrored, random);
      std::vector<Index> items;
      for (int i = 0; i < Pack::points; ++i) items.push_back(i);
      detail::Batch<Pack> batch;
      batch.lay_out(items, std::vector<std::uint8_t>(items.size(), 0), {}, set);
      batch.begin(points.at.data());
      detail::Projection how;
      how.compliance_scale = Real(3.6e5), how.is_first = true;
      std::vector<Place> ways(items.size(), Place{});
      if constexpr (!requires { &Pack::project; })
        if (at_once) how.sums = ways.data(), batch.sweep_at_once(points.places.data(), how);
      if (!at_once) batch.sweep(points.places.data(), how), ways = points.places;
      worst.take(points.momenta(ways));
    }
    const std::string what = name + (at_once ? ", all at once" : "");
    // Some sixty roundings from places to ways, each of a part of the largest of them.
    const double rounding = 64 * double(std::numeric_limits<Real>::epsilon());
    rows.at_least(what + ": trials in which it moves", worst.moved, trials / 4, "1", "");
    rows.at_most(what + ": sum of m dx", worst.push, rounding, "1", "none, but for rounding");
    if (turns || at_once)
      rows.at_most(what + ": sum of x cross m dx", worst.turn, rounding, "1", "none, but for rounding");
  }
}

template <class Weights>
auto of_weights(const Weights& constraint, double alpha) {
  return [=](auto& pack, int l, std::size_t) {
    for (int i = 0; i < pack.points; ++i) pack.weight[i][l] = Real(constraint.weights[std::size_t(i)]);
    pack.compliance[l] = Real(alpha);
  };
}

void run_packs(Rows& rows, const std::string& hardness, double alpha) {
  const auto number = [=](auto& pack, int l, std::size_t) {
    pack.rest[0][l] = Real(0.2), pack.compliance[l] = Real(alpha);
  };
  project_one_pack<ScalarPack<detail::DistanceConstraint>>(rows, "distance" + hardness, number);
  project_one_pack<ScalarPack<detail::VolumeConstraint>>(rows, "volume" + hardness, number);
  project_one_pack<ScalarPack<detail::DihedralConstraint>>(rows, "dihedral angle" + hardness, number);
  project_one_pack<ScalarPack<detail::TriangleAreaConstraint>>(rows, "area" + hardness, number);
  const auto solid = [=](auto& pack, int l, std::size_t) {
    for (int c = 0; c < 9; ++c) pack.rest[c][l] = Real(c % 4 == 0 ? 1 : 0.2);
    pack.compliance[0][l] = Real(alpha + 1e-9), pack.compliance[1][l] = Real(alpha);
  };
  project_one_pack<detail::SolidPack>(rows, "neo-Hookean" + hardness, solid);
  project_one_pack<detail::SolidPack>(rows, "neo-Hookean, inside out" + hardness, solid, true, true);
  const auto strain = [=](int only, double shear) {
    return [=](auto& pack, int l, std::size_t) {
      constexpr int k = sizeof(pack.rest) / sizeof(pack.rest[0]) == 9 ? 3 : 2;
      for (int c = 0; c < k * k; ++c) pack.rest[c][l] = Real(c % (k + 1) == 0 ? 1 : shear);
      for (int c = 0; c < pack.count; ++c) pack.compliance[c][l] = only < 0 || c == only ? Real(alpha) : -1;
    };
  };
  for (int only = -1; only < 3; ++only)
    project_one_pack<detail::TriangleStrainPack>(
        rows, (only < 0 ? "strain of a triangle" : fmt::format("strain {} of a triangle", only)) + hardness,
        strain(only, 0.2), only >= 0);
  for (int only = -1; only < 6; ++only)
    project_one_pack<detail::TetrahedronStrainPack>(
        rows,
        (only < 0 ? "strain of a tetrahedron" : fmt::format("strain {} of a tetrahedron", only)) + hardness,
        strain(only, 0.2), only >= 0);
  project_one_pack<detail::TetrahedronStrainPack>(rows, "strain of a tetrahedron, inside out" + hardness,
                                                  strain(0, 0), true, true);
  project_one_pack<detail::LinearPack<3>>(rows, "bend of a rope" + hardness,
                                          of_weights(rod_bending(0.3, 0.2, 2), alpha));
  project_one_pack<detail::LinearPack<4>>(rows, "twist of a cell" + hardness,
                                          of_weights(cell_twist(0.3, 0.2, 2), alpha));
  project_one_pack<detail::LinearPack<4>>(
      rows, "isometric bend" + hardness,
      of_weights(isometric_bending(D3(0, 0, 0), D3(1, 0.1, 0), D3(0.4, 0.8, 0), D3(0.3, -0.7, 0), 2), alpha));
  // Their distances follow in the same projection, from elsewhere; with lengths as they are these do nothing.
  const auto woven = [=](const auto& constraint) {
    return [=, bend = of_weights(constraint, alpha)](auto& pack, int l, std::size_t item) {
      bend(pack, l, item);
      for (int k = 0; k < 2; ++k) pack.rest[k][l] = Real(0.9), pack.give[k][l] = Real(alpha);
    };
  };
  project_one_pack<detail::WovenPack<3, 0, 1, 1, 2>>(rows, "bend and lengths of a row" + hardness,
                                                     woven(rod_bending(0.3, 0.2, 2)), false);
  project_one_pack<detail::WovenPack<4, 0, 3, 1, 2>>(rows, "twist and diagonals of a cell" + hardness,
                                                     woven(cell_twist(0.3, 0.2, 2)), false);
}

/// Clusters and balloons, as the solver lays them out: from points that are moved by a tenth of an edge.
void run_wholes(Rows& rows) {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.4), Real(0.1), Real(0.1)), bar.cells_x = 8, bar.cells_y = bar.cells_z = 2;
  bar.material = PbdPart::Material::shape_matching;
  for (const PbdPart::ShapeMode mode :
       {PbdPart::ShapeMode::rigid, PbdPart::ShapeMode::linear, PbdPart::ShapeMode::quadratic})
    for (const double radius : {0.0, 0.15}) {
      bar.shape_mode = mode, bar.cluster_radius = Real(radius);
      Pbd::Model model;
      Pbd::State state;
      Pbd::build({.parts = {bar}}, model, state);
      std::vector<Vec3>& x = state.particles.x;
      std::mt19937 random(5);
      std::uniform_real_distribution<double> number(-0.01, 0.01);
      for (Vec3& p : x) p += Vec3(Real(number(random)), Real(number(random)), Real(number(random)));
      PbdShapes shapes;
      shapes.lay_out(model), shapes.begin(x);
      std::vector<Place> places(x.size(), Place{});
      for (std::size_t i = 0; i < x.size(); ++i) places[i].inverse_mass = 1 / model.mass[i];
      shapes.project(places, x, {});
      Momenta sums;
      for (std::size_t i = 0; i < x.size(); ++i)
        sums.add(x[i].cast<double>(), {places[i].x[0], places[i].x[1], places[i].x[2]},
                 double(model.mass[i]));
      const std::string name = fmt::format("{} shape matching{}",
                                           mode == PbdPart::ShapeMode::rigid    ? "rigid"
                                           : mode == PbdPart::ShapeMode::linear ? "linear"
                                                                                : "quadratic",
                                           radius > 0 ? " of clusters" : "");
      // Goals are rounded by an ulp of the body's size, ways are as long as a fiftieth of it.
      const double rounding = 64 * 50 * double(std::numeric_limits<Real>::epsilon());
      rows.at_most(name + ": sum of m dx", sums.push.norm() / sums.pushes, rounding, "1",
                   "none, but for rounding");
      rows.at_most(name + ": sum of x cross m dx", sums.turn.norm() / sums.turns, rounding, "1",
                   "none, but for rounding");
    }
}

void run_projections(Rows& rows) {
  run_packs(rows, "", 0), run_packs(rows, " with compliance", 1e-6), run_wholes(rows);
}
const Register register_projections("pbd/projections", Effort::quick, run_projections);

}}  // namespace plenum::validation
