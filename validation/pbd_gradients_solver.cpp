// Position-based dynamics: what the solver moves by a step or a projection, against differences of what is
// constrained, which are found here from places alone; of gas, shapes and what a hand holds, of their
// energies.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "pbd_gradients.h"
#include "pbd_steps.h"
#include "plenum/solvers/pbd/detail/coarse.h"
#include "plenum/solvers/pbd/detail/enclosures.h"
#include "plenum/solvers/pbd/detail/shapes.h"

namespace plenum::pbd_steps { namespace {

using validation::anywhere, validation::between, validation::Rows, validation::take;

constexpr int steps_of_each = 20;
const char* const by_one_projection = "central differences, one projection";

void add_step_row(Rows& rows, const std::string& name, double worst, double bound = times * off) {
  rows.at_most(name + ": largest error of the way", worst, bound, "1", by_one_projection);
}
/// step(random): error. The largest of all.
template <class Step>
void check_steps(Rows& rows, const std::string& name, Step&& step, double bound = times * off) {
  std::mt19937 random(23);
  double worst = 0;
  for (int k = 0; k < steps_of_each; ++k) take(worst, step(random));
  add_step_row(rows, name, worst, bound);
}
D3 some_direction(std::mt19937& random) {
  return anywhere(random, 1).normalized();
}
Vec3 some_place(std::mt19937& random, double range) {
  return anywhere(random, range).cast<Real>();
}

void check_holds(Rows& rows) {
  check_steps(rows, "tether",
              [](std::mt19937& random) { return step_of_tether(some_place(random, 0.5)).error(); });
  constexpr Index carrier = 3, still_carrier = 4, world = -1;
  for (const bool is_rope : {false, true}) {
    const auto check_ends = [&](const std::string& name, Index a, std::initializer_list<Index> others) {
      check_steps(rows, name + (is_rope ? ", of a length" : ", held all ways"), [&](std::mt19937& random) {
        double worst = 0;
        for (const Index b : others) {
          Scene scene = scene_of_holds();
          const Pbd::Anchor first =
              a < 0 ? Pbd::Anchor{0, -1, Vec3::Zero()} : Pbd::Anchor{-1, a, some_place(random, 0.3)};
          take(worst,
               step_of_hold(scene, first, {-1, b, some_place(random, 0.3)}, is_rope, some_direction(random))
                   .error());
        }
        return worst;
      });
    };
    check_ends("attachment of a particle to a body", -1, {0, 1});
    check_ends("attachment of a particle to what is led", -1, {2});
    check_ends("attachment of a particle to a body of another system", -1, {carrier, still_carrier});
    check_ends("joint of two bodies", 0, {1, 2, carrier});
    check_ends("joint of a body and the world", 0, {world});
  }
  check_steps(rows, "three attachments to a body", [](std::mt19937& random) {
    // In three directions, so that they hold it well.
    Vec3 at[3];
    D3 error[3];
    for (int i = 0; i < 3; ++i)
      at[i] = Vec3(Real(0.25) * Vec3::Unit(i)) + some_place(random, 0.05),
      error[i] = off * anywhere(random, 1);
    return step_of_holds(at, error).error();
  });
  for (const bool about_axis : {true, false})
    check_steps(
        rows, about_axis ? "axes of a hinge" : "turns of a fixed joint",
        [&](std::mt19937& random) {
          const D3 axis = some_direction(random), turned = some_direction(random);
          double worst = 0;
          for (const bool to_world : {false, true})
            take(worst, step_of_alignment(about_axis, to_world, axis,
                                          about_axis ? D3(axis.cross(turned).normalized()) : turned)
                            .error());
          return worst;
        },
        times * aside);
}

/// Upward within half a radian or so.
D3 some_way_up(std::mt19937& random) {
  return (D3(0, 1, 0) + anywhere(random, 0.3)).normalized();
}
void check_contacts(Rows& rows) {
  const auto inside = [](std::mt19937& random) {
    // Of either triangle of a square, at least some hundredths from its sides.
    const double s = between(random, 0.15, 0.6), t = between(random, 0.1, 0.75 - s);
    return between(random, 0, 1) < 0.5 ? std::pair(s, t) : std::pair(1 - s, 1 - t);
  };
  check_steps(rows, "contact of a vertex and a face", [&](std::mt19937& random) {
    const auto [s, t] = inside(random);
    return step_of_vertex_and_face(s, t, some_way_up(random)).error();
  });
  check_steps(rows, "contact of two edges", [](std::mt19937& random) {
    const D3 u = D3(1, 0, 0) + anywhere(random, 0.2), w = D3(0, 0, 1) + anywhere(random, 0.2);
    const double s = between(random, 0.25, 0.75);
    return step_of_two_edges(u, w, s, between(random, 0.25, 0.75)).error();
  });
  std::vector<Solid> solids = primitives();
  solids.push_back(egg());
  for (const Solid& solid : solids)
    check_steps(rows, "contact of a particle and a body, " + solid.name, [&](std::mt19937& random) {
      const D3 ray = some_direction(random);
      double worst = 0;
      for (const bool is_led : {false, true}) take(worst, step_of_particle_on(solid, is_led, ray).error());
      return worst;
    });
  for (const Solid& solid : solids)
    if (solid.is_form)
      check_steps(rows, "contact of two bodies, ball and " + solid.name, [&](std::mt19937& random) {
        const D3 ray = some_direction(random);
        double worst = 0;
        for (const bool is_guest : {false, true}) take(worst, step_of_ball_on(solid, is_guest, ray).error());
        return worst;
      });
  // The nearest point of a face is found to a thousandth of the thickness within ten steps, mostly at once;
  // to a hundredth after as many.
  std::mt19937 random(29);
  std::vector<double> errors;
  double worst = 0;
  for (int k = 0; k < steps_of_each; ++k) {
    const auto [s, t] = inside(random);
    errors.push_back(step_of_ball_on_face(s, t, some_way_up(random)).error());
    take(worst, errors.back());
  }
  std::sort(errors.begin(), errors.end());
  rows.at_most("contact of a body and a face: error of the way, of half of them",
               std::isfinite(worst) ? errors[errors.size() / 2] : worst, times * off, "1", by_one_projection);
  add_step_row(rows, "contact of a body and a face", worst, tolerance_on_face(1e-2));
  check_steps(
      rows, "plane of a solid that goes along",
      [](std::mt19937& dice) {
        const D3 normal = some_direction(dice), velocity = anywhere(dice, 0.3);
        return step_of_support(
                   normal, velocity + (0.1 + std::abs(velocity.dot(normal)) - velocity.dot(normal)) * normal)
            .error();
      },
      few_roundings);
}

void check_grasps(Rows& rows) {
  check_steps(
      rows, "what a hand holds, and how heavy it is in it",
      [](std::mt19937& random) {
        const D3 from = anywhere(random, 0.5), began = anywhere(random, 0.1);
        // From springs that hardly turn a substep's way to those that take all of it: w h from 0.03 to 3.
        return step_of_grasp(from, from + anywhere(random, 0.1), began, began + anywhere(random, 0.1),
                             std::pow(10, between(random, 1, 3)))
            .error();
      },
      2 * few_roundings);
}

/// Places of a part that are off those at rest, as projections of it see them.
struct Displaced {
  Pbd::Model model;
  Pbd::State state;
  std::vector<detail::Place> places;
  explicit Displaced(const PbdPart& part) {
    Pbd::build({.parts = {part}}, model, state);
    for (const Real mass : model.mass) places.push_back({{0, 0, 0}, 1 / mass});
  }
  std::vector<D3> x() const {
    std::vector<D3> out;
    for (std::size_t i = 0; i < places.size(); ++i)
      out.push_back(state.particles.x[i].cast<double>() + way(i));
    return out;
  }
  D3 way(std::size_t i) const {
    return {double(places[i].x[0]), double(places[i].x[1]), double(places[i].x[2])};
  }
};
/// The gradient of value(x) by central differences.
template <class Value>
std::vector<D3> differences(std::vector<D3> x, double step, Value&& value) {
  std::vector<D3> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    for (Eigen::Index c = 0; c < 3; ++c) {
      const double at = x[i][c], after = at + step, before = at - step;
      x[i][c] = after;
      const double above = value(x);
      x[i][c] = before;
      out[i][c] = (above - value(x)) / (after - before);
      x[i][c] = at;
    }
  return out;
}
/// The largest difference of ways from those wanted, as a part of the largest of these.
double error_of_ways(const Displaced& of, const std::vector<D3>& wanted) {
  double most = 0, error = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    take(most, wanted[i].norm()), take(error, (of.way(i) - wanted[i]).norm());
  return error / most;
}

/// What closed surfaces hold: a pressure p moves particles by w grad V h^2 p, and V, to first order, by as
/// much as their response times that. Of a gas p V = n R T there, less the pressure outside; a volume with a
/// compliance alpha has p = (V0 - V) / alpha. Differences of V, which each coordinate is linear in, are
/// exact. Some sixty numbers are rounded from places to ways; a pressure is what is left of two up to six
/// times as large, and what a volume is off by of one a thousand times as large, of sums whose terms are
/// rounded eight times.
void check_surfaces(Rows& rows) {
  for (const bool has_gas : {true, false}) {
    std::mt19937 random(31);
    double worst = 0;
    for (int trial = 0; trial < steps_of_each; ++trial) {
      PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
      balloon.mesh = icosphere_mesh(Real(0.3), 1), balloon.inflated = true,
      balloon.filling = PbdPart::Filling::gas;
      balloon.overpressure = 50;
      Displaced of(balloon);
      for (Vec3& x : of.state.particles.x) x += some_place(random, 0.03);
      Pbd::Model::Enclosure& e = of.model.enclosures[0];
      const auto volume_of = [&](const std::vector<D3>& x) {
        double volume = 0;
        for (const Index3& t : of.model.triangles)
          volume += x[std::size_t(t[0])].dot(x[std::size_t(t[1])].cross(x[std::size_t(t[2])])) / 6;
        return volume;
      };
      const std::vector<D3> x = of.x();
      const double volume = volume_of(x), stiffness = 3.6e5;  // 1 / h^2
      std::vector<D3> wanted = differences(x, 0.3, volume_of);
      double response = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        response += double(of.places[i].inverse_mass) * wanted[i].squaredNorm();
      // As much as would change the volume by up to four thousandths of it, so that it is projected once.
      const double part = between(random, 0.001, 0.004) * (trial % 2 == 0 ? 1 : -1),
                   pressure = part * volume * stiffness / response;
      double multiplier = 0;
      e.has_gas = has_gas;
      if (has_gas) {
        e.outside = Real(between(random, 0.5, 5) * std::abs(pressure) + std::max(0.0, -pressure));
        e.amount = (double(e.outside) + pressure) * volume;
        // p (V + response multiplier) = n R T by halves.
        double low = -0.01 * volume / response, high = -low;
        for (int k = 0; k < 200; ++k) {
          multiplier = (low + high) / 2;
          const double p = e.amount / (volume + response * multiplier) - double(e.outside);
          (p < multiplier * stiffness ? high : low) = multiplier;
        }
      } else {
        e.ratio = 1, e.rest_volume = Real((1 + part) * volume);
        e.compliance = Real(between(random, 0, 2) * response / stiffness);
        multiplier = (double(e.rest_volume) - volume) / (response + double(e.compliance) * stiffness);
      }
      for (std::size_t i = 0; i < x.size(); ++i) wanted[i] *= double(of.places[i].inverse_mass) * multiplier;
      PbdEnclosures enclosures;
      enclosures.lay_out(of.model), enclosures.begin(of.state.particles.x), enclosures.reset();
      detail::Projection how;
      how.compliance_scale = Real(stiffness);
      enclosures.project(of.places, how);
      take(worst, error_of_ways(of, wanted));
    }
    constexpr double eps_of_real = std::numeric_limits<Real>::epsilon();
    add_step_row(rows, has_gas ? "gas in a surface, p V = n R T" : "volume of a surface, projected", worst,
                 (has_gas ? 6 * 64 : 1000 * 8) * eps_of_real);
  }
}

/// A cluster goes to goals that are the nearest to its places, by their masses, of what it may be: its energy
/// sum m |x - goal|^2 / 2 is the least of all these, does not change to first order as goals do, and has the
/// gradients m (x - goal). Of flexible ones it is (1 - b) times that of a rigid shape and b times that of the
/// best linear or quadratic map whose linear part keeps the volume; of several clusters, with shares of
/// masses in each, the sum.
struct ClusterEnergy {
  std::vector<std::size_t> member;
  std::vector<double> mass;
  std::vector<D3> q;  ///< [m] at rest, from their centre
  Rectangle fit;      ///< takes places, times the roots of masses, to those of the best map
  Matrix3<double> spread;
  double flexibility = 0;

  ClusterEnergy(const Pbd::Model& model, std::size_t number, const std::vector<double>& shares) {
    D3 centre = D3::Zero();
    double total = 0;
    for (const Index i : model.cluster_members[number]) {
      member.push_back(std::size_t(i));
      mass.push_back(double(model.mass[std::size_t(i)]) / shares[std::size_t(i)]);
      q.push_back(model.rest_position[std::size_t(i)].cast<double>());
      centre += mass.back() * q.back(), total += mass.back();
    }
    spread.setZero();
    for (std::size_t j = 0; j < q.size(); ++j)
      q[j] -= centre / total, spread += mass[j] * q[j] * q[j].transpose();
    const Pbd::Matching& matching = model.cluster_matching[number];
    if (matching.mode == PbdPart::ShapeMode::rigid) return;
    flexibility = double(matching.flexibility);
    const bool is_quadratic = matching.mode == PbdPart::ShapeMode::quadratic;
    Rectangle basis(Eigen::Index(q.size()), is_quadratic ? 10 : 4);
    for (std::size_t j = 0; j < q.size(); ++j) {
      // In tenths of a metre, about as large as they are.
      const D3 u = 10 * q[j];
      basis.row(Eigen::Index(j)).head<4>() << 1, u.x(), u.y(), u.z();
      if (is_quadratic)
        basis.row(Eigen::Index(j)).tail<6>() << u.x() * u.x(), u.y() * u.y(), u.z() * u.z(), u.x() * u.y(),
            u.y() * u.z(), u.z() * u.x();
      basis.row(Eigen::Index(j)) *= std::sqrt(mass[j]);
    }
    const Eigen::JacobiSVD<Rectangle> svd(basis, Eigen::ComputeThinU);
    // What few points do not tell apart has singular values of rounding.
    Rectangle directions = svd.matrixU();
    for (Eigen::Index c = 0; c < directions.cols(); ++c)
      if (svd.singularValues()[c] < 1e-5 * svd.singularValues()[0]) directions.col(c).setZero();
    fit = directions * directions.transpose();
  }
  double at(const std::vector<D3>& x) const {
    D3 centre = D3::Zero();
    double total = 0;
    for (std::size_t j = 0; j < q.size(); ++j) centre += mass[j] * x[member[j]], total += mass[j];
    centre /= total;
    Matrix3<double> moments = Matrix3<double>::Zero();
    for (std::size_t j = 0; j < q.size(); ++j)
      moments += mass[j] * (x[member[j]] - centre) * q[j].transpose();
    const Eigen::JacobiSVD<Eigen::Matrix3d> svd(moments, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Matrix3<double> turn = svd.matrixU() * svd.matrixV().transpose();
    double rigid = 0;
    for (std::size_t j = 0; j < q.size(); ++j)
      rigid += mass[j] * (x[member[j]] - centre - turn * q[j]).squaredNorm() / 2;
    if (!(flexibility > 0)) return rigid;
    Rectangle weighed(Eigen::Index(q.size()), 3);
    for (std::size_t j = 0; j < q.size(); ++j)
      weighed.row(Eigen::Index(j)) = std::sqrt(mass[j]) * (x[member[j]] - centre).transpose();
    const double beside_map = (weighed - fit * weighed).squaredNorm() / 2;
    // The nearest map T of a volume of 1 to the best linear one: T = A + mu cof(T) spread^-1, by Newton.
    const Matrix3<double> inverse = spread.inverse(), best = moments * inverse;
    Matrix3<double> map = best;
    double mu = 0;
    for (int k = 0; k < 20; ++k) {
      const Matrix3<double> cofactors = map.determinant() * map.inverse().transpose();
      mu += (1 - map.determinant()) / cofactors.cwiseProduct(cofactors * inverse).sum();
      map = best + mu * cofactors * inverse;
    }
    const Matrix3<double> away = map - best;
    return (1 - flexibility) * rigid +
           flexibility * (beside_map + (away * spread * away.transpose()).trace() / 2);
  }
};

void check_shapes(Rows& rows) {
  using Mode = PbdPart::ShapeMode;
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.half_extents = Vec3(Real(0.4), Real(0.1), Real(0.1)), bar.cells_x = 6, bar.cells_y = bar.cells_z = 2;
  bar.material = PbdPart::Material::shape_matching;
  bar.flexibility = Real(0.6);
  for (const Mode mode : {Mode::rigid, Mode::linear, Mode::quadratic})
    for (const double radius : {0.0, 0.21}) {
      bar.shape_mode = mode, bar.cluster_radius = Real(radius);
      std::mt19937 random(37);
      double worst = 0;
      for (int trial = 0; trial < 4; ++trial) {
        Displaced of(bar);
        // Off by about e = off times a metre: drawn out and sheared, bent, and at random.
        const Qd turn = turned_by(anywhere(random, 0.6), Qd::Identity());
        Matrix3<double> shear;
        for (int c = 0; c < 3; ++c) shear.col(c) = anywhere(random, 2 * off);
        const D3 bend = anywhere(random, 4 * off);
        for (std::size_t i = 0; i < of.places.size(); ++i) {
          const D3 x = of.state.particles.x[i].cast<double>();
          of.state.particles.x[i] =
              (turn * D3(x + shear * x + x.x() * x.x() * bend + anywhere(random, off / 2))).cast<Real>();
        }
        std::vector<double> shares(of.places.size(), 0);
        for (std::size_t c = 0; c < of.model.cluster_members.size(); ++c)
          for (const Index i : of.model.cluster_members[c]) ++shares[std::size_t(i)];
        std::vector<ClusterEnergy> energies;
        for (std::size_t c = 0; c < of.model.cluster_members.size(); ++c)
          energies.emplace_back(of.model, c, shares);
        std::vector<D3> wanted = differences(of.x(), off / 8, [&](const std::vector<D3>& x) {
          double sum = 0;
          for (const ClusterEnergy& energy : energies) sum += energy.at(x);
          return sum;
        });
        for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] *= -double(of.places[i].inverse_mass);
        PbdShapes shapes;
        shapes.lay_out(of.model), shapes.begin(of.state.particles.x), shapes.reset();
        shapes.project(of.places, of.state.particles.x, {});
        take(worst, error_of_ways(of, wanted));
      }
      const std::string name = mode == Mode::rigid ? "rigid" : mode == Mode::linear ? "linear" : "quadratic";
      add_step_row(rows, name + (radius > 0 ? " shapes, of clusters" : " shape"), worst);
    }
}

/// Patches of cloth on a grid, of a level: means of particles by hats about points of a grid that is three
/// times as coarse as that of the level below it, of no fewer than two along an axis.
struct Patches {
  Rectangle weight;          ///< [patches][particles] whose rows have the sum 1
  std::vector<double> mass;  ///< [patches]
  Index across = 0;          ///< patches along x
  bool keeps_corners;

  /// Shares of `n` points of a row in those of the next coarser level.
  static Rectangle hats(Index n) {
    const auto cells = std::max<Index>(1, Index(std::lround((n - 1) / 3.0)));
    Rectangle out(cells + 1, n);
    for (Index c = 0; c <= cells; ++c)
      for (Index k = 0; k < n; ++k)
        out(c, k) = std::max(0.0, 1 - std::abs(double(k) * double(cells) / double(n - 1) - double(c)));
    return out;
  }
  /// `rho` [kg] of a cell; `level`: from 0.
  Patches(const PbdPart& sheet, double rho, int level) : keeps_corners(!(sheet.shear_compliance > 0)) {
    const Index nx = sheet.cells_x + 1, nz = sheet.cells_z + 1;
    Rectangle x = hats(nx), z = hats(nz);
    for (int l = 0; l < level; ++l) x = hats(x.rows()) * x, z = hats(z.rows()) * z;
    across = x.rows();
    weight.resize(x.rows() * z.rows(), nx * nz);
    const auto end = [](Index k, Index n) { return k == 0 || k + 1 == n ? 0.5 : 1; };
    for (Index p = 0; p < weight.rows(); ++p) {
      for (Index i = 0; i < weight.cols(); ++i)
        weight(p, i) =
            rho * end(i % nx, nx) * end(i / nx, nz) * x(p % across, i % nx) * z(p / across, i / nx);
      mass.push_back(weight.row(p).sum());
      weight.row(p) /= mass.back();
    }
  }
  D3 mean(Index p, const std::vector<D3>& x) const {
    D3 out = D3::Zero();
    for (Index i = 0; i < weight.cols(); ++i) out += weight(p, i) * x[std::size_t(i)];
    return out;
  }
  double apart(const Index2& pair, const std::vector<D3>& x) const {
    return (mean(pair[1], x) - mean(pair[0], x)).norm();
  }
  /// Neighbours, also across corners if the cloth does not give along these.
  std::vector<Index2> pairs() const {
    std::vector<Index2> out;
    for (Index p = 0; p < weight.rows(); ++p)
      for (Index q = 0; q < p; ++q) {
        const Index x = std::abs(p % across - q % across), z = p / across - q / across;
        if (x + z == 1 || (keeps_corners && x == 1 && z == 1)) out.push_back(Index2(q, p));
      }
    return out;
  }
};

/// Cloth that was at `rest`, squeezed, drawn apart somewhere, more on the one side than on
/// the other, and at random; turned; and scaled so that no pair of `patches` is farther apart than it may be
/// but for one, by `beyond` [m].
std::vector<D3> drawn_apart(const std::vector<D3>& rest, const Patches& patches, double beyond,
                            std::mt19937& random) {
  const D3 squeeze(between(random, 0.5, 0.95), 1, between(random, 0.3, 0.95));
  const D3 jump = D3(between(random, 0.05, 0.4), 0, 0) + anywhere(random, 0.05);
  const double where = between(random, -0.3, 0.3), side = between(random, -6, 6);
  const Qd turn = turned_by(anywhere(random, 2), Qd::Identity());
  std::vector<D3> x;
  for (const D3& p : rest)
    x.push_back(turn * D3(squeeze.cwiseProduct(p) + anywhere(random, 0.003) +
                          (1 + side * p.z()) * std::tanh((p.x() - where) / 0.02) * jump));
  double scale = std::numeric_limits<double>::infinity();
  for (const Index2& pair : patches.pairs())
    scale = std::min(scale, (patches.apart(pair, rest) + beyond) / patches.apart(pair, x));
  for (D3& p : x) p *= scale;
  return x;
}

/// C = |X_J - X_I| - D of two patches, the only ones of the coarsest level that are too far apart: particles
/// go by -w grad C times C / (1 / M_I + 1 / M_J), which is linear about where they begin. Of two levels, one
/// pair of finer patches is too far apart as well, as some between those must be; it is projected after them,
/// from where they have led it. All others are nearer than they may be by more than they go. Too far is a
/// hundredth of the cloth; some sixty numbers are rounded on the way from places to means and back.
void check_patches(Rows& rows) {
  constexpr double beyond = 0.01, of_differences = 1e-8;
  constexpr double rounding = 64 * double(std::numeric_limits<Real>::epsilon()) / beyond + of_differences;
  constexpr int tries = 20000;
  for (const int level : {0, 1}) {
    // Three cells of finer patches along x, about particles: one of these alone can be too long for all.
    PbdPart sheet;
    sheet.cells_x = level > 0 ? 9 : 11, sheet.cells_z = level > 0 ? 2 : 5;
    sheet.size_x = Real(0.1 * sheet.cells_x), sheet.size_z = level > 0 ? Real(0.8) : Real(0.5);
    sheet.shear_compliance = level > 0 ? Real(1e-3) : 0;
    const Displaced flat(sheet);
    const std::vector<D3> rest = flat.x();
    const double of_cell = double(sheet.areal_density) * double(sheet.size_x) * double(sheet.size_z) /
                           (sheet.cells_x * sheet.cells_z);
    const Patches patches(sheet, of_cell, level), finer(sheet, of_cell, 0);
    std::mt19937 random(41);
    double worst = 0;
    int held = 0;
    for (int k = 0; k < tries && held < steps_of_each; ++k) {
      const std::vector<D3> drawn = drawn_apart(rest, patches, beyond, random);
      const auto off_by = [&](const Patches& among, const Index2& pair, const std::vector<D3>& x) {
        return among.apart(pair, x) - among.apart(pair, rest);
      };
      // The pair that is farthest beyond; how near others are to being it.
      const auto farthest = [&](const Patches& among) {
        std::vector<Index2> pairs = among.pairs();
        std::sort(pairs.begin(), pairs.end(), [&](const Index2& a, const Index2& b) {
          return off_by(among, a, drawn) > off_by(among, b, drawn);
        });
        return std::pair(pairs[0], off_by(among, pairs[1], drawn));
      };
      const auto [own, next] = farthest(patches);
      const auto [between_them, next_finer] = farthest(finer);
      const double goes = level > 0 ? 0.55 * off_by(finer, between_them, drawn) : 0;
      if (next > -beyond || (level > 0 && next_finer > -goes)) continue;
      ++held;
      Displaced of = flat;
      std::vector<detail::Place> starts = of.places;
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        of.state.particles.x[i] = drawn[i].cast<Real>();
        for (int c = 0; c < 3; ++c) starts[i].x[c] = of.state.particles.x[i][c];
      }
      const std::vector<D3> x = of.x();
      std::vector<D3> wanted(x.size(), D3::Zero());
      // `closer` [m] by what has been projected before.
      const auto pull = [&](const Patches& among, const Index2& pair, double closer) {
        const double response = 1 / among.mass[std::size_t(pair[0])] + 1 / among.mass[std::size_t(pair[1])];
        const std::vector<D3> gradient =
            differences(x, 1e-5, [&](const std::vector<D3>& at) { return among.apart(pair, at); });
        for (std::size_t i = 0; i < x.size(); ++i)
          wanted[i] -=
              double(of.places[i].inverse_mass) * (off_by(among, pair, x) - closer) / response * gradient[i];
      };
      pull(patches, own, 0);
      if (level > 0) {
        // Between coarse patches finer ones go as the particles do that these are about.
        const auto gone = [&](Index patch) {
          const Index i = 3 * (patch % finer.across), j = sheet.cells_z * (patch / finer.across);
          return wanted[std::size_t(j * (sheet.cells_x + 1) + i)];
        };
        const D3 to_second = (finer.mean(between_them[1], x) - finer.mean(between_them[0], x)).normalized();
        pull(finer, between_them, to_second.dot(gone(between_them[0]) - gone(between_them[1])));
      }
      PbdCoarse coarse;
      coarse.lay_out(of.model, level + 1), coarse.begin(starts);
      coarse.project(of.places, {});
      take(worst, error_of_ways(of, wanted));
    }
    const std::string name = level == 0 ? "patches of cloth" : "patches of patches";
    rows.at_least(name + ": trials", held, steps_of_each, "1", "");
    add_step_row(rows, name, worst, rounding);
  }
}

void check_all(Rows& rows) {
  check_holds(rows), check_contacts(rows), check_grasps(rows);
  check_surfaces(rows), check_shapes(rows), check_patches(rows);
}

}}  // namespace plenum::pbd_steps

void plenum::validation::check_gradients_of_solver(Rows& rows) {
  pbd_steps::check_all(rows);
}
