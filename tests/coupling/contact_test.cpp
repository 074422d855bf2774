// Contact of samples with moving solids, against closed forms of mechanics.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/particles/particles.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"
#include "world/test_solver.h"

namespace plenum { namespace {

/// Free points under gravity (no springs), with a radius and friction of their own.
struct Drops : test::Orbits {
  static Samples samples(const Model& m, const State& s, const Params& p, const Workspace& w) {
    Samples samples = Orbits::samples(m, s, p, w);
    samples.radius = Real(0.01);
    samples.friction = 1;
    return samples;
  }
};

Drops::State point(const Vec3& x, const Vec3& v = Vec3::Zero()) {
  Drops::State s;
  s.particles.resize(1);
  s.particles.x[0] = x;
  s.particles.v[0] = v;
  return s;
}

SystemOf<Obstacle>& add_obstacle(World& world, const Obstacle::Part& part,
                                 const Obstacle::Params& params = {}) {
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = {part}}, model, state);
  return world.add<Obstacle>("obstacle" + std::to_string(world.size()), model, state, params);
}

const Drops::Params falling{.stiffness = 0, .gravity = Vec3(0, Real(-9.81), 0)};
const Drops::Params floating{.stiffness = 0, .gravity = Vec3::Zero()};

TEST(Contact, ADropComesToRestAtItsRadiusAboveThePlane) {
  World world;
  add_obstacle(world, {.shape = Obstacle::Kind::plane});
  auto& drop = world.add<Drops>("drop", {}, point(Vec3(Real(0.3), 1, 0)), falling);
  for (int f = 0; f < 120; ++f) world.step_frame();
  EXPECT_NEAR(drop.state.particles.x[0].y(), 0.01, 1e-5);
  EXPECT_LT(drop.state.particles.v[0].norm(), 1e-5);
  EXPECT_NEAR(drop.state.particles.x[0].x(), 0.3, 1e-6);
}

/// Apex heights above the plane between bounces, as seen at the ends of frames, of what falls 1 m.
std::vector<Real> apexes(const std::function<Real()>& height_after_frame, int frames) {
  std::vector<Real> heights;
  Real now = 1;
  bool rising = false;
  for (int f = 0; f < frames; ++f) {
    const Real next = height_after_frame();
    if (rising && next < now) heights.push_back(now);
    rising = next > now;
    now = next;
  }
  return heights;
}

/// Heights after a fall of 1 m are e^2k, and the frames miss an apex by g h^2 / 8 at most. Symplectic Euler's
/// positions follow an exact parabola that starts at the speed g h / 2, which is as much again, upwards.
/// Single precision loses an ulp of the height (6e-8 m) in each of the frames, and the first contact is found
/// within 1e-6 m + 1e-5 of a frame's way.
void expect_heights(const std::vector<Real>& heights, Real e, Real fps, const std::string& what) {
  const Real g = Real(9.81), h = 1 / fps, step = g * h * h / 8, slack = Real(2e-4);
  Real exact = 1;
  std::size_t tested = 0;
  for (std::size_t k = 0; k < heights.size(); ++k) {
    exact *= e * e;
    if (exact < Real(4.5) * g * h * h) break;  // near the restitution threshold, sqrt(2 g H) = 2 g h
    EXPECT_GE(heights[k], exact - step - slack) << what << ", bounce " << k;
    EXPECT_LE(heights[k], exact * (1 + step) + slack) << what << ", bounce " << k;
    ++tested;
  }
  EXPECT_GE(tested, e < Real(0.6) ? 2u : 4u) << what;
}

TEST(Contact, ABounceKeepsTheRestitutionsPartOfTheEnergyAtAnyFrameRate) {
  for (const Real fps : {Real(30), Real(60), Real(240)})
    for (const Real e : {Real(1), Real(0.8), Real(0.5)}) {
      const std::string what = fmt::format("e = {}, {} fps", e, fps);
      {
        World world({.fps = fps});
        add_obstacle(world, {.shape = Obstacle::Kind::plane}, {.restitution = e});
        auto& drop = world.add<Drops>("drop", {}, point(Vec3(0, Real(1.01), 0)), falling);
        const Real h = 1 / fps;
        Real energy = std::numeric_limits<Real>::infinity();  // over mass and g, of the method's parabola
        const auto frame = [&] {
          world.step_frame();
          const Real y = drop.state.particles.x[0].y() - Real(0.01);
          const Real u = drop.state.particles.v[0].y() - Real(9.81) * h / 2;
          const Real now = y + u * u / Real(2 * 9.81);
          if (y > Real(1e-3)) {
            EXPECT_LE(now, energy + Real(1e-5)) << what;
            energy = now;
          }
          return y;
        };
        expect_heights(apexes(frame, static_cast<int>(20 * fps)), e, fps, what + ", symplectic Euler");
      }
      {
        World world({.fps = fps});
        add_obstacle(world, {.shape = Obstacle::Kind::plane}, {.restitution = e});
        ParticleSystem::Model model;
        ParticleSystem::State state;
        ParticleSystem::build({.radius = Real(0.01), .positions = {Vec3(0, Real(1.01), 0)}}, model, state);
        auto& drop = world.add<ParticleSystem>("drop", model, state, {});
        ASSERT_EQ(drop.state.particles.size(), 1u);
        const auto frame = [&] {
          world.step_frame();
          return drop.state.particles.x[0].y() - Real(0.01);
        };
        expect_heights(apexes(frame, static_cast<int>(20 * fps)), e, fps, what + ", exact flight");
      }
    }
}

TEST(Contact, ABounceOfANetsParticleKeepsItsEnergyWithEveryIntegrator) {
  using Integrator = Springs::Integrator;
  for (const Integrator method : {Integrator::symplectic_euler, Integrator::velocity_verlet,
                                  Integrator::leapfrog, Integrator::implicit_euler, Integrator::rk4}) {
    const Real fps = 60;
    World world({.fps = 60});
    add_obstacle(world, {.shape = Obstacle::Kind::plane}, {.restitution = 1});
    Springs::Model model;
    model.mass = {1};
    Springs::update(model);
    Springs::State state;
    state.particles.resize(1);
    state.particles.x[0] = Vec3(0, Real(1.01), 0);
    state.velocity_change.assign(1, Vec3::Zero());
    state.pressed.assign(1, 0);
    Springs::Params params;
    params.integrator = method;
    params.thickness = Real(0.01);
    auto& drop = world.add<Springs>("drop", model, state, params);
    const auto frame = [&] {
      world.step_frame();
      return drop.state.particles.x[0].y() - Real(0.01);
    };
    expect_heights(apexes(frame, 1200), 1, fps, fmt::format("integrator {}", static_cast<int>(method)));
  }
}

/// How far a point slides down a slope of `angle` [degrees] within t seconds.
Real slide(Real angle, Real mu, Real seconds) {
  World world({.fps = 240});
  add_obstacle(world, {.shape = Obstacle::Kind::plane}, {.rotation = Vec3(0, 0, angle), .friction = mu * mu});
  const Quat q = rotation_from_degrees(Vec3(0, 0, angle));
  auto& drop = world.add<Drops>("drop", {}, point(q * Vec3(0, Real(0.01), 0)), falling);
  const Vec3 start = drop.state.particles.x[0];
  for (int f = 0; f < static_cast<int>(240 * seconds); ++f) world.step_frame();
  return (drop.state.particles.x[0] - start).norm();
}

TEST(Contact, CoulombFrictionHoldsBelowItsAngleAndSlidesAboveIt) {
  // tan 26.565 degrees = 1/2. The friction of the pair is the geometric mean of 1 and mu^2.
  EXPECT_LT(slide(Real(26.5), Real(0.5), 5), 1e-4);
  const double g = 9.81, a = 30 * M_PI / 180, acceleration = g * (std::sin(a) - 0.5 * std::cos(a));
  EXPECT_NEAR(slide(30, Real(0.5), 2), acceleration * 2 * 2 / 2, 0.01 * acceleration * 2);
}

TEST(Contact, NothingPassesAThinWallHoweverFast) {
  for (const Real speed : {Real(10), Real(300), Real(3000)}) {
    World world;
    add_obstacle(world, {.shape = Obstacle::Kind::box, .half_extents = Vec3(Real(0.0005), 10, 10)});
    auto& drop = world.add<Drops>("drop", {}, point(Vec3(-3, 0, 0), Vec3(speed, 0, 0)), floating);
    for (int f = 0; f < 60; ++f) world.step_frame();
    EXPECT_LE(drop.state.particles.x[0].x(), -0.0105 + 1e-4) << speed;
  }
}

/// Rains particles of radius r on what lies about y = 0; how many are below it after a second.
int count_fallen(World& world, std::vector<Vec3> positions, Real speed, Real r) {
  ParticleSystem::Model model;
  ParticleSystem::State state;
  const std::vector<Vec3> velocities(positions.size(), Vec3(0, -speed, 0));
  ParticleSystem::build({.radius = r, .positions = std::move(positions), .velocities = velocities}, model,
                        state);
  auto& rain = world.add<ParticleSystem>("rain", model, state, {});
  for (int f = 0; f < 60; ++f) world.step_frame();
  int fallen = 0;
  for (const Vec3& x : rain.state.particles.x) fallen += x.y() < 0;
  return fallen;
}

TEST(Contact, NothingPassesAMeshHoweverThin) {
  // 1 m at the default resolution of 64 has cells of 16 mm. The sheet is still, and the friction holds what
  // lands on it; the outermost particles are 5 cm from the edge.
  for (const Real thickness : {Real(1e-4), Real(1e-3), Real(2e-3), Real(6e-3)})
    for (const Real speed : {Real(0), Real(60)}) {
      World world;
      const Vec3 half(Real(0.5), thickness / 2, Real(0.5));
      add_obstacle(world, {.shape = Obstacle::Kind::mesh, .mesh = box_mesh(half)}, {.friction = 1});
      std::vector<Vec3> positions;
      for (int i = 0; i < 20; ++i)
        for (int k = 0; k < 20; ++k)
          positions.emplace_back(Real(0.9) * (Real(i) / 19 - Real(0.5)), speed > 0 ? Real(0.6) : Real(0.02),
                                 Real(0.9) * (Real(k) / 19 - Real(0.5)));
      EXPECT_EQ(count_fallen(world, positions, speed, Real(0.001)), 0)
          << thickness << " m, " << speed << " m/s";
    }
}

TEST(Contact, NothingPassesAThinTorusOfTriangles) {
  // Each particle is aimed at the middle of the tube: all of them are struck out of their straight way.
  const Real tube = Real(0.002);
  for (const Real speed : {Real(1), Real(60)}) {
    World world;
    add_obstacle(world, {.shape = Obstacle::Kind::mesh, .mesh = torus_mesh(Real(0.5), tube, 128, 12)});
    std::vector<Vec3> positions;
    for (int i = 0; i < 100; ++i) {
      // The middles of the mesh's 128 straight pieces, so that the aim is the same at all of them.
      const Real a = Real(2 * M_PI) * (Real(i) + Real(0.5)) / 128;
      const Real r = Real(0.5) * std::cos(Real(M_PI) / 128);
      positions.emplace_back(r * std::cos(a), Real(0.05), r * std::sin(a));
    }
    ParticleSystem::Model model;
    ParticleSystem::State state;
    const std::vector<Vec3> velocities(positions.size(), Vec3(0, -speed, 0));
    ParticleSystem::build({.radius = Real(0.001), .positions = positions, .velocities = velocities}, model,
                          state);
    auto& rain = world.add<ParticleSystem>("rain", model, state, {});
    // What is struck is slowed: free flight would be at 0.05 - speed t - g t^2/2 after a tenth of a second.
    std::size_t contacts = 0;
    for (int f = 0; f < 6; ++f) contacts += world.step_frame().contacts;
    EXPECT_GE(contacts, positions.size()) << speed;
    for (const Vec3& x : rain.state.particles.x)
      EXPECT_GT(x.y(), Real(0.05) - speed * Real(0.1)) << speed << " m/s";
  }
}

TEST(Contact, RainThatBouncesOffOneSolidIsNotLeftInsideAnother) {
  // Between a ring and the floor below it, drops bounce off one into the other within a frame.
  const Obstacle::Part ring{.shape = Obstacle::Kind::torus,
                            .radius = 1,
                            .minor_radius = Real(0.3),
                            .position = Vec3(0, Real(0.4), 0)};
  ParticleSystem::Spec spec;
  spec.radius = Real(0.02);
  spec.blocks.resize(1);
  spec.blocks[0].lattice = ParticleBlock::Lattice::random;
  spec.blocks[0].count = 3000;
  spec.blocks[0].low = Vec3(Real(-1.5), 2, Real(-1.5));
  spec.blocks[0].high = Vec3(Real(1.5), 3, Real(1.5));
  for (const bool floor_first : {false, true})
    for (const double fps : {30.0, 60.0})
      for (const double restitution : {0.0, 0.5, 1.0}) {
        World world({.fps = Real(fps)});
        Obstacle::Model model;
        Obstacle::State state;
        std::vector<Obstacle::Part> parts{ring, {.shape = Obstacle::Kind::plane}};
        if (floor_first) std::swap(parts[0], parts[1]);
        Obstacle::build({parts}, model, state);
        const Shape torus = model.shapes[floor_first ? 1 : 0];
        world.add<Obstacle>("solids", model, state, {.friction = 0, .restitution = Real(restitution)});
        ParticleSystem::Model rain;
        ParticleSystem::State drops;
        ParticleSystem::build(spec, rain, drops);
        auto& system = world.add<ParticleSystem>("rain", rain, drops);
        Real lowest = 1, nearest = 1;
        for (int f = 0; f < int(3 * fps); ++f) {
          ASSERT_TRUE(world.step_frame().ok);
          for (const Vec3& x : system.state.particles.x) {
            lowest = std::min(lowest, x.y());
            nearest = std::min(nearest, torus.signed_distance(x - ring.position).distance);
          }
        }
        // Paths are followed to a thousandth of a millimetre or 1e-5 of their length (contact.cpp).
        EXPECT_GT(lowest, 0.02 - 1e-4) << floor_first << " " << fps << " " << restitution;
        EXPECT_GT(nearest, 0.02 - 1e-4) << floor_first << " " << fps << " " << restitution;
      }
}

TEST(Contact, AMovingWallSweepsThePointAlong) {
  World world;
  auto& wall = add_obstacle(world, {.shape = Obstacle::Kind::box, .half_extents = Vec3(Real(0.01), 1, 1)});
  world.add_keyframes(wall.name(), {.path = "position",
                                    .interpolation = Keyframes::Interpolation::linear,
                                    .times = {0, 1},
                                    .values = {-5, 0, 0, 15, 0, 0}});
  auto& drop = world.add<Drops>("drop", {}, point(Vec3(1, Real(0.2), 0)), floating);
  for (int f = 0; f < 60; ++f) world.step_frame();
  EXPECT_GE(drop.state.particles.x[0].x(), 15 + 0.02 - 1e-3);
  EXPECT_NEAR(drop.state.particles.v[0].x(), 20, 0.05);
}

TEST(Contact, APointRidesATurningDiscWithoutSlipping) {
  World world({.fps = 240});
  auto& disc = add_obstacle(world, {.shape = Obstacle::Kind::cylinder, .radius = 2, .half_height = Real(0.1)},
                            {.friction = 4});
  world.add_keyframes(disc.name(), {.path = "rotation",
                                    .interpolation = Keyframes::Interpolation::smooth,
                                    .times = {0, 4},
                                    .values = {0, 0, 0, 0, 360, 0}});
  auto& drop = world.add<Drops>("drop", {}, point(Vec3(1, Real(0.11), 0)), falling);
  for (int f = 0; f < 480; ++f) world.step_frame();
  // Half a turn; the path's curvature adds a drift of second order in the step, w^2 h^2 / 2 of the radius
  // each step.
  EXPECT_NEAR(drop.state.particles.x[0].x(), -1, 0.02);
  EXPECT_NEAR(drop.state.particles.x[0].z(), 0, 0.06);
}

TEST(Contact, TheLedgerHoldsWhatTheSamplesWereGiven) {
  World world;
  add_obstacle(world, {.shape = Obstacle::Kind::plane});
  auto& drops = world.add<Drops>("drops", {}, test::ring(200), falling);
  for (int f = 0; f < 60; ++f) {
    Vector3<double> before = Vector3<double>::Zero(), after = before;
    for (const Vec3& v : drops.state.particles.v) before += v.cast<double>();
    world.step_frame();
    for (const Vec3& v : drops.state.particles.v) after += v.cast<double>();
    Vector3<double> given = Vector3<double>::Zero();
    for (const auto& [pair, entry] : world.ledger()) given += entry.impulse;
    const Vector3<double> gravity = 200 * (1.0 / 60) * falling.gravity.cast<double>();
    EXPECT_LT((after - before - gravity - given).norm(), 1e-3) << f;
  }
}

TEST(Contact, HashIsTheSameForEveryThreadCount) {
  const auto run = [](int threads) {
    World world;
    world.set_threads(threads);
    add_obstacle(world, {.shape = Obstacle::Kind::plane});
    add_obstacle(world, {.shape = Obstacle::Kind::sphere, .radius = Real(0.3)});
    world.add<Drops>("drops", {}, test::ring(3000), falling);
    for (int f = 0; f < 60; ++f) world.step_frame();
    return world.hash();
  };
  const Hash128 one = run(1);
  for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(run(threads), one) << threads;
}

}  // namespace
}  // namespace plenum
