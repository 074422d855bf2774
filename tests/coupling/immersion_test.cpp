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

/// Samples by their numbers, which keeps what it is given.
struct Numbered : Boundary {
  std::vector<std::uint32_t> id;
  std::vector<Vec3> x, given;
  std::vector<Real> inverse_mass;
  void become(std::vector<std::uint32_t> now) {
    id = std::move(now);
    x.assign(id.size(), Vec3::Zero()), given = x;
    inverse_mass.assign(id.size(), 1);
  }
  Samples samples() const override {
    return {.x0 = x, .x = x, .v = x, .inverse_mass = inverse_mass, .id = id};
  }
  void absorb(std::span<const SampleImpulse> impulses) override {
    for (const SampleImpulse& j : impulses) given[static_cast<std::size_t>(j.sample)] += j.impulse;
  }
};

/// Gives the sample that was immersed as number n the impulse n + 1.
struct Counting : Medium {
  std::size_t count = 0;
  void probe(std::span<const Vec3>, std::span<MediumProbe>) const override {}
  void immerse(std::size_t, const Samples& samples, Real) override { count = samples.x.size(); }
  void reaction(std::size_t, std::span<Vec3> out) const override {
    ASSERT_EQ(out.size(), count);
    for (std::size_t i = 0; i < count; ++i) out[i].x() = static_cast<Real>(i + 1);
  }
};

TEST(Immersion, ImpulsesFollowSamplesWhoseIndicesChange) {
  Numbered boundary;
  Counting medium;
  ImmersionWorkspace workspace;
  const auto given = [&](std::vector<std::uint32_t> before, std::vector<std::uint32_t> now) {
    boundary.become(std::move(before));
    immerse(medium, 2, boundary, Real(0.1), workspace);
    boundary.become(std::move(now));
    immersion_reaction(medium, 2, boundary, workspace);
    std::vector<int> of;
    for (const Vec3& j : boundary.given) of.push_back(static_cast<int>(j.x()));
    return of;
  };
  using Of = std::vector<int>;
  EXPECT_EQ(given({0, 1, 2, 3}, {0, 1, 2, 3, 4}), (Of{1, 2, 3, 4, 0}));
  // 1 and 2 die, the last takes a place, two are born.
  EXPECT_EQ(given({0, 1, 2, 3, 4}, {0, 4, 3, 5, 6}), (Of{1, 5, 4, 0, 0}));
  EXPECT_EQ(given({7, 3, 9}, {9}), (Of{3}));
  EXPECT_EQ(given({0, 1}, {}), (Of{}));
  EXPECT_EQ(given({}, {0, 1}), (Of{0, 0}));
}

}  // namespace
}  // namespace plenum
