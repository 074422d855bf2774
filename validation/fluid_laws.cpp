// What holds of every fluid on a grid, whatever its numbers: the solver of its pressure does not matter, nor
// the number of threads, and no step and no force is too large.
#include <cmath>
#include <string>

#include "liquid_scenes.h"
#include "plenum/base/hash.h"
#include "plenum/base/parallel.h"
#include "plenum/solvers/smoke/smoke.h"
#include "validation.h"

namespace plenum::validation { namespace {

/// Warm smoke that rises in a box, past a ball if `around`.
struct Plume {
  Smoke::Model model;
  Smoke::State state;
  Smoke::Params params;
  Smoke::Workspace workspace;
  Plume(int n, int nz, bool around) {
    Smoke::Spec spec;
    spec.cells_x = n, spec.cells_y = n, spec.cells_z = nz;
    spec.spacing = static_cast<Real>(1.0 / n);
    const Vec3 middle(Real(0.5), Real(0.55), static_cast<Real>(nz) / static_cast<Real>(2 * n));
    if (around) {
      SmokeShape ball;
      ball.shape = GridSolid::Kind::sphere;
      ball.radius = Real(0.15), ball.position = middle;
      spec.solids = {ball};
    }
    Smoke::build(spec, model, state);
    SmokeSource source;
    source.shape = GridSolid::Kind::sphere;
    source.radius = Real(0.12);
    source.position = middle - Vec3(Real(0.03), Real(0.35), 0);
    params.sources = {source};
  }
  Report step(double dt) { return Smoke::step(model, state, params, workspace, static_cast<Real>(dt)); }
  double largest_speed() const {
    double most = 0;
    for (const std::vector<Real>& u : state.velocity.along)
      for (const Real v : u) most = std::max(most, std::abs(static_cast<double>(v)));
    return most;
  }
};

Liquid::Spec dam(int n, int nz) {
  Liquid::Spec spec;
  spec.cells_x = spec.cells_y = n, spec.cells_z = nz;
  spec.spacing = static_cast<Real>(1.0 / n);
  LiquidFill fill;
  fill.shape = GridSolid::Kind::box;
  fill.half_extents = Vec3(Real(0.2), Real(0.3), static_cast<Real>(nz) / static_cast<Real>(2 * n));
  fill.position = fill.half_extents;
  spec.fill = {fill};
  GridSolid pillar;
  pillar.shape = GridSolid::Kind::sphere;
  pillar.radius = Real(0.12);
  pillar.position = Vec3(Real(0.65), Real(0.1), fill.position.z());
  spec.solids = {pillar};
  return spec;
}

void solvers(Rows& rows) {
  for (const bool around : {true, false}) {
    std::vector<std::vector<Real>> first;
    double speed = 0;
    const auto run = [&](PressureMethod method) {
      Plume plume(20, 16, around);
      plume.params.pressure_solver = method;
      plume.params.pressure_tolerance = Real(1e-6);
      plume.params.pressure_iterations = 100000;
      for (int k = 0; k < 10; ++k) plume.step(1.0 / 30);
      speed = plume.largest_speed();
      return plume.state.velocity.along;
    };
    const auto reference = run(PressureMethod::multigrid);
    const std::string where = around ? ", around a ball" : ", in a box";
    std::vector<PressureMethod> methods = {PressureMethod::jacobi, PressureMethod::gauss_seidel,
                                           PressureMethod::sor, PressureMethod::cg, PressureMethod::mic0};
    if (!around) methods.push_back(PressureMethod::cosine);
    for (const PressureMethod method : methods) {
      const auto other = run(method);
      double most = 0;
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < other[c].size(); ++i)
          most = std::max(most, std::abs(static_cast<double>(other[c][i] - reference[c][i])));
      rows.at_most(std::string("largest difference from multigrid's velocity over the largest, ") +
                       names_of(method)[static_cast<std::size_t>(method)] + where,
                   most / speed, 1e-4, "1",
                   "ten projections of 1e-6, amplified by the flow's strain in a third of a second");
    }
  }
}
const Register solver_case("smoke/solvers", Effort::quick, solvers);

void threads(Rows& rows) {
  const auto differing = [](auto&& hash_of) {
    Hash128 first;
    int others = 0;
    for (int n = 1; n <= 8; ++n)
      with_threads(n, [&] {
        const Hash128 hash = hash_of();
        if (n == 1) first = hash;
        others += hash != first;
      });
    return others;
  };
  const auto add = [](Hasher& hasher, const auto& values) {
    hasher.add(values.data(), values.size() * sizeof(values[0]));
  };
  rows.near("hashes of smoke with 2 to 8 threads that differ from that with one", differing([&] {
              Plume plume(32, 24, true);
              for (int k = 0; k < 10; ++k) plume.step(1.0 / 30);
              Hasher hasher;
              for (const std::vector<Real>& u : plume.state.velocity.along) add(hasher, u);
              add(hasher, plume.state.density);
              return hasher.digest();
            }),
            0, 0, "1", "same input, same bits");
  rows.near("hashes of a liquid with 2 to 8 threads that differ from that with one", differing([&] {
              Water water(dam(32, 16));
              for (int k = 0; k < 20; ++k) water.step(1.0 / 60);
              Hasher hasher;
              add(hasher, water.state.x);
              add(hasher, water.state.v);
              return hasher.digest();
            }),
            0, 0, "1", "same input, same bits");
}
const Register thread_case("smoke/threads", Effort::quick, threads);

/// Steps of a CFL number; the largest speed in them over `speed0` and what the force gives in the longest
/// step, of which the splitting may leave a part: what is stable does not grow beyond.
template <class F>
double largest_of(double cfl, int n, double force, double speed0, F&& step_and_speed) {
  double dt = 0.01, most = 0, longest = 0;
  for (int k = 0; k < 60; ++k) {
    longest = std::max(longest, dt);
    const double speed = step_and_speed(dt);
    if (!std::isfinite(speed)) return speed;
    most = std::max(most, speed);
    dt = std::min(0.5, cfl / n / std::max(speed, 1e-3));
  }
  return most / (speed0 + force * longest);
}

/// A dam that breaks, thrown against a wall by a force, in steps of a CFL number.
void stable_liquid(Rows& rows, int n, double cfl, double force, Liquid::Tracker tracker,
                   const std::string& label) {
  Liquid::Spec spec = dam(n, 8);
  spec.tracker = tracker;
  Water water(spec);
  water.params.gravity = Vec3(static_cast<Real>(force), Real(-9.81), 0);
  water.step(1e-3);
  const auto before = static_cast<double>(water.state.x.size());
  const double splash = largest_of(cfl, n, force, std::sqrt(2 * (force + 9.81)), [&](double dt) {
    water.step(dt);
    return water.largest_speed();
  });
  // What falls through the box and runs up in its corner: some times sqrt(2 f L).
  rows.at_most("liquid: largest speed over that of a fall across the box and of the force in a step" + label,
               splash, 10, "1", "bounded");
  if (tracker != Liquid::Tracker::particles) return;
  rows.near("liquid: particles left over those at the start" + label,
            static_cast<double>(water.state.x.size()) / before, 1, 0, "1", "none is lost");
}

void stable(Rows& rows) {
  const int n = 20;
  for (const double cfl : {0.5, 5.0, 50.0})
    for (const double force : {9.81, 9810.0}) {
      const std::string label = ", CFL " + std::to_string(cfl).substr(0, 4) + ", force " +
                                std::to_string(static_cast<int>(force)) + " m/s^2";
      Plume plume(n, 16, true);
      plume.params.vorticity_confinement = 100;
      plume.params.acceleration = Vec3(static_cast<Real>(force), 0, 0);
      double soot = 0;
      const double fast = largest_of(cfl, n, force, std::sqrt(2 * 9.81 * 100 / 293.0), [&](double dt) {
        plume.step(dt);
        for (const Real q : plume.state.density) soot = std::max(soot, static_cast<double>(q));
        return plume.largest_speed();
      });
      // A force that is the same everywhere moves nothing in a closed box; what does is heat and the
      // confinement.
      rows.at_most("smoke: largest speed over that of free rise and of the force in a step" + label, fast, 10,
                   "1", "bounded");
      rows.at_most("smoke: largest density over its source's" + label, soot, 1.001, "1", "nothing is made");
      for (const Liquid::Tracker tracker :
           {Liquid::Tracker::particles, Liquid::Tracker::level_set, Liquid::Tracker::particle_level_set})
        stable_liquid(rows, n, cfl, force, tracker,
                      ", " + std::string(names_of(tracker)[static_cast<std::size_t>(tracker)]) + label);
    }
}
const Register stable_case("smoke/stable", Effort::thorough, stable);

}}  // namespace plenum::validation
