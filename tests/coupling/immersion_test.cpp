// A medium that pushes and is pushed: what it gives the samples it has lost itself.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "plenum/world/world.h"
#include "world/test_solver.h"

namespace plenum { namespace {

/// A well-mixed tank: a mass of fluid with one velocity, which drags every sample towards it. Closed system,
/// so its momentum and the points' together are constant, and the relative velocity decays as exp(-c t (1/m +
/// n/M)).
struct Tank {
  struct Model {
    double mass = 50;  // [kg]
    double drag = 2;   // [kg/s] of each sample
  };
  struct State {
    Vector3<double> momentum = Vector3<double>::Zero();
  };
  struct Params {
    void describe(Describer&) {}
  };
  struct Workspace : Medium {
    const Model* model = nullptr;
    State* state = nullptr;
    std::map<std::size_t, std::vector<Vec3>> impulses;  // by owner
    Vector3<double> velocity() const { return state->momentum / model->mass; }
    void probe(std::span<const Vec3> x, std::span<MediumProbe> out) const override {
      for (std::size_t i = 0; i < x.size(); ++i)
        out[i] = {.velocity = velocity().cast<Real>(), .density = 1000};
    }
    void immerse(std::size_t owner, const Samples& samples, Real h) override {
      std::vector<Vec3>& j = impulses[owner];
      j.assign(samples.x.size(), Vec3::Zero());
      const Vec3 u = velocity().cast<Real>();
      Vector3<double> given = Vector3<double>::Zero();
      for (std::size_t i = 0; i < samples.x.size(); ++i) {
        j[i] = static_cast<Real>(model->drag) * h * (u - samples.v[i]);
        given += j[i].cast<double>();
      }
      state->momentum -= given;
    }
    void reaction(std::size_t owner, std::span<Vec3> out) const override {
      std::copy(impulses.at(owner).begin(), impulses.at(owner).end(), out.begin());
    }
  };
  static Real max_dt(const Model&, const State&, const Params&) { return 1; }
  static Report step(const Model&, State&, const Params&, Workspace&, Real) { return {}; }
  static void fields(const Model&, auto&& s, FieldVisitor& visit) {
    visit({"momentum", "kg m/s", Centring::global}, s.momentum);
  }
  static void geometry(const Model&, const State&, DrawableSink&) {}
  static Medium* medium(const Model& m, State& s, const Params&, Workspace& w) {
    w.model = &m;
    w.state = &s;
    return &w;
  }
};

TEST(Immersion, MomentumGoesFromOneSideToTheOtherAndTheRelativeVelocityDecays) {
  World world({.fps = 1000});
  const auto swarm = [&](const char* name, std::size_t n, const Vec3& v) -> auto& {
    test::Orbits::State points = test::ring(n);
    for (Vec3& each : points.particles.v) each = v;
    return world.add<test::Orbits>(name, {}, points, {.stiffness = 0, .gravity = Vec3::Zero()});
  };
  auto& few = swarm("few", 5, Vec3(3, 0, 1));
  auto& many = swarm("many", 15, Vec3(3, 0, 1));
  auto& tank = world.add<Tank>("tank", {}, {});
  const auto total = [&] {
    Vector3<double> sum = tank.state.momentum;
    for (const Vec3& v : few.state.particles.v) sum += v.cast<double>();
    for (const Vec3& v : many.state.particles.v) sum += v.cast<double>();
    return sum;
  };
  const Vector3<double> before = total();
  for (int f = 0; f < 500; ++f) world.step_frame();
  EXPECT_LT((total() - before).norm(), 1e-4 * before.norm());
  const double rate = 2.0 * (1.0 + 20.0 / 50.0);
  for (const auto* system : {&few, &many}) {
    const double relative =
        static_cast<double>(system->state.particles.v[4].x()) - tank.state.momentum.x() / 50;
    EXPECT_NEAR(relative, 3 * std::exp(-rate * 0.5),
                0.01);  // explicit steps of c h = 0.002: first order, 0.4 %
  }
  EXPECT_EQ(world.ledger().size(), 2u);
  EXPECT_EQ(world.ledger().count({"tank", "many"}), 1u);
}

}  // namespace
}  // namespace plenum
