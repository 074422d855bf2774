// What hangs on bodies of other systems: momentum over both, pendulums, mass ratios, what turns, resumption.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "plenum/base/error.h"
#include "plenum/geometry/crossings.h"
#include "plenum/geometry/shapes.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/pbd/pbd.h"
#include "plenum/solvers/rigid/rigid.h"
#include "plenum/world/world.h"
#include "support/count_allocations.h"

namespace plenum { namespace {

using D3 = Vector3<double>;
using Where = ParticlePin::Where;

rigid::BodySpec ball(const std::string& name, const Vec3& position, Real mass, Real radius = Real(0.05)) {
  rigid::BodySpec body;
  body.name = name, body.position = position, body.mass = mass;
  body.shapes[0].shape = rigid::Form::sphere, body.shapes[0].radius = radius;
  return body;
}
rigid::BodySpec box(const std::string& name, const Vec3& half_extents, const Vec3& position, Real mass) {
  rigid::BodySpec body;
  body.name = name, body.position = position, body.mass = mass;
  body.shapes[0].half_extents = half_extents;
  return body;
}
PbdAttachment on(const std::string& system, const std::string& body, Where where) {
  PbdAttachment a;
  a.particles.where = where, a.system = system, a.body = body;
  return a;
}
PbdPart rope(const Vec3& from, const Vec3& to, int segments = 16) {
  PbdPart part;
  part.type = PbdPart::Type::rope;
  part.from = from, part.to = to, part.segments = segments;
  return part;
}

/// A world of one rigid system, one obstacle and one position-based system.
struct Hung {
  World world;
  SystemOf<Rigid>* rigid = nullptr;
  SystemOf<Obstacle>* obstacle = nullptr;
  SystemOf<Pbd>* pbd = nullptr;

  explicit Hung(WorldSettings settings = {}) : world(settings) {}
  void add(const rigid::Spec& spec, const Vec3& gravity = Vec3(0, Real(-9.81), 0)) {
    Rigid::Model model;
    Rigid::State state;
    Rigid::build(spec, model, state);
    Rigid::Params params;
    params.gravity = gravity;
    rigid = &world.add<Rigid>("bodies", std::move(model), std::move(state), params);
  }
  void add(const PbdSpec& spec, const Vec3& gravity = Vec3(0, Real(-9.81), 0), int substeps = 10) {
    Pbd::Model model;
    Pbd::State state;
    Pbd::build(spec, model, state);
    Pbd::Params params;
    params.gravity = gravity, params.substeps = substeps, params.air_density = 0;
    pbd = &world.add<Pbd>("cloth", std::move(model), std::move(state), params);
  }
  void add(const std::vector<Obstacle::Part>& parts) {
    Obstacle::Model model;
    Obstacle::State state;
    Obstacle::build({.parts = parts}, model, state);
    obstacle = &world.add<Obstacle>("figure", std::move(model), std::move(state));
  }
  void run(int frames) {
    for (int k = 0; k < frames; ++k) ASSERT_TRUE(world.step_frame().ok);
  }

  static D3 momentum(const Pbd::Model& model, const Pbd::State& state) {
    D3 sum = D3::Zero();
    for (std::size_t i = 0; i < state.particles.size(); ++i)
      if (state.particles.inverse_mass[i] > 0)
        sum += double(model.mass[i]) * state.particles.v[i].cast<double>();
    return sum;
  }
  static D3 momentum(const Frames& f) {
    D3 sum = D3::Zero();
    for (std::size_t i = 0; i < f.size(); ++i)
      if (f.inverse_mass[i] > 0) sum += f.v[i].cast<double>() / double(f.inverse_mass[i]);
    return sum;
  }
  D3 momentum() const { return momentum(pbd->model, pbd->state) + momentum(rigid->state.frames); }
  /// About the origin.
  D3 spin() const {
    D3 sum = D3::Zero();
    const Particles& p = pbd->state.particles;
    for (std::size_t i = 0; i < p.size(); ++i)
      sum += double(pbd->model.mass[i]) * p.x[i].cast<double>().cross(p.v[i].cast<double>());
    const Frames& f = rigid->state.frames;
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (!(f.inverse_mass[i] > 0)) continue;
      const auto q = f.rotation(i).cast<double>();
      const D3 w = q.conjugate() * f.w[i].cast<double>();
      sum += q * D3(w.cwiseQuotient(f.inverse_inertia[i].cast<double>()));
      sum += f.x[i].cast<double>().cross(f.v[i].cast<double>()) / double(f.inverse_mass[i]);
    }
    return sum;
  }
  /// [m] by which a hold on a carrier is apart.
  double gap(std::size_t hold) const {
    const Pbd::Hold& h = pbd->model.holds[hold];
    const Rigid::State& s = rigid->state;
    const auto body = std::size_t(h.b.body) - pbd->model.bodies.size();
    // Spheres and boxes have their principal frames at their shapes' origins.
    return double((s.frames.pose(body) * h.b.at - pbd->state.particles.x[std::size_t(h.a.particle)]).norm());
  }
};

/// A box that turns and flies, with a rope that trails behind from one of its corners and a ball at its end.
Hung tumbling(int fps = 60) {
  Hung scene({.fps = Real(fps)});
  rigid::BodySpec crate = box("crate", Vec3(Real(0.2), Real(0.1), Real(0.15)), Vec3::Zero(), 2);
  crate.velocity = Vec3(1, Real(0.5), 0), crate.angular_velocity = Vec3(1, 2, -3);
  scene.add({.bodies = {crate, ball("ball", Vec3(Real(1.2), 0, 0), Real(0.5))}}, Vec3::Zero());
  PbdPart part = rope(Vec3(Real(0.2), Real(0.1), Real(0.15)), Vec3(Real(1.2), 0, 0));
  part.attachments = {on("bodies", "crate", Where::first), on("bodies", "ball", Where::last)};
  scene.add(PbdSpec{.parts = {part}}, Vec3::Zero());
  return scene;
}

TEST(PbdCarriers, KeepMomentumOverBothSystems) {
  Hung scene = tumbling();
  scene.world.connect();
  const D3 momentum = scene.momentum(), spin = scene.spin();
  double given = 0;
  for (int k = 0; k < 300; ++k) {
    const D3 before = Hung::momentum(scene.pbd->model, scene.pbd->state);
    scene.run(1);
    const D3 gained = Hung::momentum(scene.pbd->model, scene.pbd->state) - before;
    const D3 booked = scene.world.ledger().at({"bodies", "cloth"}).impulse;
    // Velocities come from places of up to 5 m after h: eps 5 m / h of the rope's 0.1 kg.
    EXPECT_LT((gained - booked).norm(), 4e-5);
    given += booked.norm();
  }
  EXPECT_GT(given, 0.5);  // it does pull
  // Each frame rounds it once.
  const double eps = std::numeric_limits<Real>::epsilon();
  EXPECT_LT((scene.momentum() - momentum).norm(), 300 * eps * momentum.norm());
  // Of first order in the substep: what a rope that is whipped by a box loses as well within one solver.
  EXPECT_LT((scene.spin() - spin).norm(), 0.2 * spin.norm());
}

TEST(PbdCarriers, LoseSpinAsWithinOneSolver) {
  const auto lost = [](int fps) {
    Hung scene = tumbling(fps);
    scene.world.connect();
    const D3 spin = scene.spin();
    scene.run(fps);
    return (scene.spin() - spin).norm() / spin.norm();
  };
  const double coarse = lost(15), fine = lost(240);
  // At 15 frames a second the bodies take two steps, and the rope goes with them on all of their way; when it
  // knew of the last alone, it lost twice as much and more.
  EXPECT_LT(coarse, 0.005);
  EXPECT_LT(fine, coarse);
}

// A ball on a light rope is a pendulum: T = 2 pi sqrt(L / g) (1 + a^2 / 16).
TEST(PbdCarriers, SwingAsPendulumsDo) {
  constexpr double length = 1, angle = 0.2;
  Hung scene({.fps = 120});
  const Vec3 bob(Real(length * std::sin(angle)), Real(-length * std::cos(angle)), 0);
  scene.add({.bodies = {ball("ball", bob, 5)}});
  PbdPart part = rope(Vec3::Zero(), bob);
  part.linear_density = Real(0.01);
  part.pins.push_back({.where = Where::first});
  part.attachments = {on("bodies", "ball", Where::last)};
  scene.add(PbdSpec{.parts = {part}});
  std::vector<double> crossings;
  double before = double(bob.x());
  for (int k = 1; k <= 120 * 6; ++k) {
    scene.run(1);
    const double x = double(scene.rigid->state.frames.x[0].x());
    if ((x > 0) != (before > 0)) crossings.push_back((k - 1 + before / (before - x)) / 120.0);
    before = x;
    ASSERT_LT(scene.gap(0), 1e-4);
    ASSERT_NEAR(double(scene.rigid->state.frames.x[0].norm()), length, 1e-3);
  }
  ASSERT_GE(crossings.size(), 5u);
  const double period = 2 * (crossings.back() - crossings.front()) / double(crossings.size() - 1);
  // Half of the rope's mass of 0.2 % pulls at half of its length: 0.05 % of the period, at most.
  EXPECT_NEAR(period, 2 * std::numbers::pi * std::sqrt(length / 9.81) * (1 + angle * angle / 16),
              0.002 * period);
}

/// The same with the ball as a body of the position-based system, where nothing is one step late.
TEST(PbdCarriers, SwingAsWithinOneSolver) {
  const Vec3 top = Vec3::Zero(), bob(1, 0, 0);
  const auto difference = [&](int fps) {
    Hung scene({.fps = Real(fps)});
    scene.add({.bodies = {ball("ball", bob, 1)}});
    PbdPart part = rope(top, bob);
    part.pins.push_back({.where = Where::first});
    part.attachments = {on("bodies", "ball", Where::last)};
    scene.add(PbdSpec{.parts = {part}});
    PbdBody own;
    own.name = "ball", own.shape = PbdBody::Form::sphere, own.radius = Real(0.05), own.position = bob;
    own.density = Real(1 / (4.0 / 3 * std::numbers::pi * 0.05 * 0.05 * 0.05));
    part.attachments[0].system.clear();
    Pbd::Model model;
    Pbd::State state;
    Pbd::build({.parts = {part}, .bodies = {own}}, model, state);
    Pbd::Params params = scene.pbd->parameters;
    Pbd::Workspace workspace;
    for (int k = 0; k < fps / 2; ++k) {
      scene.run(1);
      Pbd::step(model, state, params, workspace, 1 / Real(fps));
    }
    return double((scene.rigid->state.frames.x[0] - state.frames.x[0]).norm());
  };
  // Gravity acts on the ball once a frame instead of once a substep: g dt^2 n / 2 over n frames, at most
  // g t dt / 2, which is 4 cm of 1.2 m at 60 frames a second.
  const double coarse = difference(60), fine = difference(240);
  EXPECT_LT(coarse, 9.81 * 0.5 / 60 / 2);
  EXPECT_LT(fine, 9.81 * 0.5 / 240 / 2);
}

/// 2 m long, hanging from its back.
PbdPart hanging_cloth(double mass) {
  PbdPart part;
  part.position = Vec3(0, -1, 0), part.rotation = Vec3(90, 0, 0);
  part.size_z = 2, part.cells_x = 10, part.cells_z = 20;
  part.areal_density = Real(mass / 2);
  part.pins.push_back({.where = Where::back});
  return part;
}

// A heavy cloth with a light body at its edge, and the converse.
TEST(PbdCarriers, BearAllRatiosOfMasses) {
  for (const auto& [cloth, body] : {std::pair{10.0, 0.01}, {0.1, 100.0}, {1.0, 1.0}}) {
    Hung scene;
    scene.add({.bodies = {box("bar", Vec3(Real(0.5), Real(0.02), Real(0.02)), Vec3(0, -2, 0), Real(body))}});
    PbdPart part = hanging_cloth(cloth);
    part.attachments = {on("bodies", "bar", Where::front)};
    scene.add(PbdSpec{.parts = {part}});
    // The body falls by g dt^2 in a frame before the cloth draws it back.
    const double fall = 9.81 / 60 / 60;
    for (int k = 0; k < 240; ++k) {
      const FrameReport report = scene.world.step_frame();
      ASSERT_TRUE(report.ok);
      ASSERT_LT(report.systems[1].value("max_stretch"), fall / 0.1) << cloth << ' ' << body << ' ' << k;
      for (std::size_t h = 0; h < scene.pbd->model.holds.size(); ++h)
        ASSERT_LT(scene.gap(h), fall / 10) << cloth << ' ' << body << ' ' << k;
      ASSERT_NEAR(double(scene.rigid->state.frames.x[0].y()), -2, fall) << cloth << ' ' << body << ' ' << k;
      ASSERT_LT(double(scene.rigid->state.frames.v[0].norm()), 9.81 / 60) << cloth << ' ' << body;
    }
  }
}

// The same within one solver, where the body falls by g h^2 in a substep before the cloth draws it back.
TEST(PbdCarriers, BearAllRatiosOfMassesOfTheirOwnSystem) {
  for (const auto& [cloth, body] : {std::pair{10.0, 0.01}, {0.1, 100.0}, {1.0, 1.0}})
    for (const bool is_mesh : {false, true}) {
      PbdBody bar;
      bar.name = "bar", bar.half_extents = Vec3(Real(0.5), Real(0.02), Real(0.02));
      bar.position = Vec3(0, -2, 0), bar.density = Real(body / (1 * 0.04 * 0.04));
      PbdPart part = hanging_cloth(cloth);
      part.attachments = {on("", "bar", Where::front)};
      if (is_mesh) {
        part.type = PbdPart::Type::mesh_cloth;
        part.mesh = grid_mesh(Vec2(part.size_x, part.size_z), part.cells_x, part.cells_z);
        ParticlePin& top = part.pins[0] = {.where = Where::box};
        ParticlePin& bottom = part.attachments[0].particles = {.where = Where::box};
        top.box_min = Vec3(-1, Real(-0.01), -1), top.box_max = Vec3(1, 1, 1);
        bottom.box_min = Vec3(-1, -3, -1), bottom.box_max = Vec3(1, Real(-1.99), 1);
      }
      Pbd::Model model;
      Pbd::State state;
      Pbd::build({.parts = {part}, .bodies = {bar}}, model, state);
      Pbd::Params params;
      params.air_density = 0;
      Pbd::Workspace workspace;
      const double fall = 9.81 / 600 / 600;
      for (int k = 0; k < 240; ++k) {
        const Report report = Pbd::step(model, state, params, workspace, 1 / Real(60));
        ASSERT_LT(report.value("max_stretch"), 0.01) << cloth << ' ' << body << ' ' << k;
        ASSERT_LT(report.value("largest_gap"), fall) << cloth << ' ' << body << ' ' << k;
        ASSERT_NEAR(double(state.frames.x[0].y()), -2, 0.01) << cloth << ' ' << body << ' ' << k;
      }
    }
}

// Eleven particles of 45 g on a body of 10 g of the same system.
TEST(PbdCarriers, HangManyOnALightBody) {
  PbdBody bar;
  bar.name = "bar", bar.half_extents = Vec3(Real(0.5), Real(0.02), Real(0.02));
  bar.position = Vec3(0, -2, 0), bar.density = Real(0.01 / (1 * 0.04 * 0.04));
  PbdPart part = hanging_cloth(10);
  part.attachments = {on("", "bar", Where::front)};
  Pbd::Model model;
  Pbd::State state;
  Pbd::build({.parts = {part}, .bodies = {bar}}, model, state);
  Pbd::Params params;
  params.air_density = 0;
  Pbd::Workspace workspace;
  for (int k = 0; k < 240; ++k) {
    const Report report = Pbd::step(model, state, params, workspace, 1 / Real(60));
    // What gravity does in a substep, g h^2.
    ASSERT_LT(report.value("largest_gap"), 9.81 / 600 / 600) << k;
    ASSERT_LT(double(state.frames.v[0].norm()), 9.81 / 600) << k;
  }
}

// What turns leads along its circle in every substep, and not along the frame's chord.
TEST(PbdCarriers, FollowWhatTurnsThroughSubsteps) {
  Hung scene;
  Obstacle::Part torso;
  torso.shape = Obstacle::Kind::capsule, torso.radius = Real(0.2), torso.name = "torso";
  torso.position = Vec3(0, 1, 0);
  scene.add({torso});
  PbdPart cape;
  cape.position = Vec3(0, Real(1.5), Real(-0.5));
  cape.pins.clear();
  cape.attachments = {on("figure", "torso", Where::front)};
  scene.add(PbdSpec{.parts = {cape}}, Vec3(0, Real(-9.81), 0), 4);
  ASSERT_TRUE(scene.world.connect().empty());
  const std::vector<Vec3> at = scene.pbd->model.pin_position;
  ASSERT_EQ(at.size(), 21u);
  EXPECT_TRUE(scene.pbd->model.holds.empty());
  EXPECT_FALSE(scene.pbd->model.tethers.empty());  // as to pins
  const double eps = std::numeric_limits<Real>::epsilon();
  for (int k = 0; k < 60; ++k) {
    const Pose before{scene.obstacle->parameters.position,
                      rotation_from_degrees(scene.obstacle->parameters.rotation)};
    scene.obstacle->parameters.rotation.y() += 20;
    scene.obstacle->parameters.position.x() += Real(0.05);
    const Pose now{scene.obstacle->parameters.position,
                   rotation_from_degrees(scene.obstacle->parameters.rotation)};
    scene.run(1);
    for (std::size_t p = 0; p < at.size(); ++p) {
      const auto i = std::size_t(scene.pbd->model.pinned[p]);
      const Vec3& x = scene.pbd->state.particles.x[i];
      const auto place = [&](double s) -> D3 {
        const Pose frame = between(before, now, Real(s));
        return (frame * (Vec3(0, 1, 0) + at[p])).cast<double>();
      };
      const double size = double(x.norm());
      ASSERT_LT((x.cast<double>() - place(1)).norm(), 16 * eps * size);
      // Its velocity is the way through the last substep.
      const double h = 1.0 / 60 / 4;
      ASSERT_LT((scene.pbd->state.particles.v[i].cast<double>() - (place(1) - place(0.75)) / h).norm(),
                32 * eps * size / h);
    }
  }
  // The rest hangs on.
  for (const Vec3& x : scene.pbd->state.particles.x) EXPECT_LT((x - Vec3(3, 1, 0)).norm(), 2);
}

// Parts go through what they hang on, unless they collide with it.
TEST(PbdCarriers, PassOrTouchWhatTheyHangOn) {
  for (const bool collides : {false, true}) {
    Hung scene;
    Obstacle::Part bar;
    bar.shape = Obstacle::Kind::box, bar.half_extents = Vec3(1, Real(0.1), Real(0.3));
    scene.add({bar});
    PbdPart cloth;  // over the bar from its middle, where it is held at one edge
    cloth.position = Vec3(0, Real(0.12), Real(0.5));
    PbdAttachment hold = on("figure", "0", Where::back);
    hold.collide = collides;
    cloth.attachments = {hold};
    scene.add(PbdSpec{.parts = {cloth}});
    scene.pbd->parameters.damping = 3;
    scene.run(180);
    double lowest = 1;
    int inside = 0;
    for (const Vec3& x : scene.pbd->state.particles.x) {
      lowest = std::min(lowest, double(x.y()));
      inside += std::abs(x.y()) < Real(0.09) && std::abs(x.z()) < Real(0.29);
    }
    if (collides)
      EXPECT_EQ(inside, 0);
    else
      EXPECT_GT(inside, 20);
    EXPECT_LT(lowest, collides ? -0.2 : -0.6);
  }
}

/// Cloth that can be cut, by its back on a bar along x, which has been turned to lie so.
void hang_cloth(Hung& scene, const Vec3& half_extents, const Vec3& rotation) {
  Obstacle::Part bar;
  bar.shape = Obstacle::Kind::box, bar.half_extents = half_extents, bar.rotation = rotation;
  scene.add({bar});
  PbdPart cloth;
  cloth.position = Vec3(0, 0, Real(0.5));
  cloth.attachments = {on("figure", "0", Where::back)};
  scene.add(PbdSpec{.parts = {cloth}});
  scene.pbd->parameters.tear_strain = 10;
}

TEST(PbdCarriers, LetTornClothHangOn) {
  Hung scene;
  hang_cloth(scene, Vec3(1, Real(0.05), Real(0.05)), Vec3::Zero());
  scene.run(30);
  // From above, a cut through the line that it hangs by.
  const Vec3 eye(0, 2, 0);
  ASSERT_TRUE(scene.world.open(
      {eye, Vec3(Real(0.02), -2, Real(-0.2)).normalized(), Vec3(Real(0.02), -2, Real(0.6)).normalized()}));
  ASSERT_FALSE(scene.pbd->model.torn_from.empty());
  for (int k = 0; k < 60; ++k) scene.obstacle->parameters.position.y() += Real(0.02), scene.run(1);
  const Pbd::Model& model = scene.pbd->model;
  EXPECT_GE(model.pinned.size(), 21u);
  for (std::size_t p = 0; p < model.pinned.size(); ++p)
    EXPECT_NEAR(double(scene.pbd->state.particles.x[std::size_t(model.pinned[p])].y()), 1.2, 1e-5);
  for (const Vec3& x : scene.pbd->state.particles.x) EXPECT_GT(x.y(), Real(-0.2));
}

// Pieces of what hangs on a body whose frame is not that of the cloth lie apart there.
TEST(PbdCarriers, HoldPiecesOfTornClothApart) {
  Hung scene;
  hang_cloth(scene, Vec3(Real(0.05), 1, Real(0.05)), Vec3(0, 0, 90));
  scene.pbd->parameters.contact = Pbd::Contact::conservative;
  scene.run(30);
  const Vec3 eye(0, 2, 0);
  for (const Real at : {Real(-0.23), Real(0.02), Real(0.27)})
    scene.world.open({eye, Vec3(at, -2, Real(-0.2)).normalized(), Vec3(at, -2, Real(0.6)).normalized()});
  const Pbd::Model& model = scene.pbd->model;
  ASSERT_GT(model.pinned.size(), model.whole->pinned.size());
  const auto crossed = [&] {
    return crossings(scene.pbd->state.particles.x, model.surface_edges, model.surface).size();
  };
  EXPECT_EQ(crossed(), 0U);
  for (int k = 0; k < 60; ++k) {
    scene.obstacle->parameters.position.y() += Real(0.02), scene.run(1);
    EXPECT_EQ(crossed(), 0U) << k;
  }
}

/// Both kinds of carriers.
Hung mixed(int threads) {
  Hung scene({.threads = threads});
  Obstacle::Part crane;
  crane.shape = Obstacle::Kind::box, crane.half_extents = Vec3(1, Real(0.1), Real(0.1)), crane.name = "jib";
  crane.position = Vec3(0, 3, 0);
  scene.add({crane});
  scene.add({.bodies = {box("crate", Vec3::Constant(Real(0.3)), Vec3(0, 1, 0), 50)}});
  PbdPart cable = rope(Vec3(0, Real(2.9), 0), Vec3(0, Real(1.3), 0), 24);
  cable.attachments = {on("figure", "jib", Where::first), on("bodies", "crate", Where::last)};
  PbdPart flag;
  flag.position = Vec3(Real(0.3), 1, Real(0.8)), flag.cells_x = flag.cells_z = 60;
  flag.attachments = {on("bodies", "crate", Where::back_left), on("bodies", "crate", Where::front_left)};
  scene.add(PbdSpec{.parts = {cable, flag}});
  scene.world.add_keyframes(
      "figure", {.path = "position", .times = {0, 1, 2}, .values = {0, 0, 0, 1, 0.5, 0, 0, 1, 0}});
  scene.world.add_keyframes("figure", {.path = "rotation", .times = {0, 2}, .values = {0, 0, 0, 0, 90, 0}});
  return scene;
}

TEST(PbdCarriers, AreTheSameForAnyNumberOfThreads) {
  const auto hash = [](int threads) {
    Hung scene = mixed(threads);
    scene.run(40);
    return scene.world.hash();
  };
  const Hash128 one = hash(1);
  for (const int threads : {2, 3, 5, 8}) EXPECT_EQ(hash(threads), one) << threads;
}

TEST(PbdCarriers, ResumeFromCheckpoints) {
  Hung whole = mixed(2);
  whole.run(30);
  const std::vector<std::byte> snapshot = whole.world.snapshot();
  whole.run(30);
  Hung resumed = mixed(2);
  resumed.world.restore(snapshot);
  resumed.run(10);
  resumed.pbd->poison_workspace(), resumed.rigid->poison_workspace();
  resumed.run(20);
  EXPECT_EQ(resumed.world.hash(), whole.world.hash());
  // And in a world that has gone elsewhere meanwhile.
  whole.world.restore(snapshot);
  whole.run(30);
  EXPECT_EQ(resumed.world.hash(), whole.world.hash());
}

TEST(PbdCarriers, AllocateNothing) {
  if (!plenum_test::can_count_allocations) GTEST_SKIP() << "the sanitizer allocates itself";
  Hung scene = mixed(1);
  scene.world.set_keep_last_good(false);
  scene.run(5);
  Pbd::Model& model = scene.pbd->model;
  const Real dt = Real(1) / 60;
  std::vector<Passing> passing;
  Pbd::find_passing(model, passing);
  EXPECT_EQ(plenum_test::count_allocations([&] {
              Pbd::step(model, scene.pbd->state, scene.pbd->parameters, scene.pbd->workspace, dt);
              Pbd::find_passing(model, passing);
            }),
            0);
}

std::string complaint(const std::string& system, const std::string& body) {
  const std::string text = R"({"systems": [
    {"type": "obstacle", "name": "figure", "model": {"parts": [
       {"name": "shoulders", "shape": "sphere"}, {"name": "head", "shape": "sphere"}]}},
    {"type": "rigid", "name": "freight", "model": {"bodies": [
       {"name": "crate", "shapes": [{"shape": "box"}]}]}},
    {"type": "pbd", "name": "net", "model": {"parts": [{"type": "cloth"}]}},
    {"type": "pbd", "name": "cape", "model": {"parts": [{"type": "cloth", "attachments": [
       {"where": "back", "system": ")" +
                           system + R"(", "body": ")" + body + R"("}]}]}}]})";
  try {
    load_scene_text(text, "s.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PbdCarriers, SayWhatIsNamedWrongly) {
  EXPECT_EQ(complaint("figure", "shoulders"), "");
  EXPECT_EQ(complaint("figure", ""), "");
  EXPECT_EQ(complaint("freight", "crate"), "");
  const auto says = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << text << "\n" << part;
  };
  says(complaint("figur", "head"), {"s.json", "attachments[0].system", "names no system", "figure"});
  says(complaint("figure", "sholders"), {"attachments[0].body", "names no part", "shoulders"});
  says(complaint("freight", "krate"), {"attachments[0].body", "names no body", "crate"});
  says(complaint("freight", ""), {"attachments[0].body", "names no body"});
  says(complaint("net", "0"), {"attachments[0].system", "has nothing to hang on", "rigid"});
  says(complaint("cape", "0"), {"attachments[0].system", "is the system itself", "leave it out"});
  // Without a scene file the first frame says so.
  Hung scene;
  PbdPart part = rope(Vec3::Zero(), Vec3(1, 0, 0));
  part.attachments = {on("nobody", "0", Where::first)};
  scene.add(PbdSpec{.parts = {part}});
  EXPECT_THROW(scene.world.step_frame(), Error);
}

// Two systems of ropes in one world are told of where one may fall on the other, and not where they hang side
// by side.
TEST(PbdSystems, AreSaidToPassEachOtherWhereTheyCanMeet) {
  for (const Real aside : {Real(0), Real(3)}) {
    World world;
    const char* const names[] = {"above", "below"};
    for (const char* const name : names) {
      const bool above = name == names[0];
      Pbd::Model model;
      Pbd::State state;
      const Vec3 from = above ? Vec3(aside, 2, 0) : Vec3::Zero();
      Pbd::build({.parts = {rope(from, from + Vec3(1, 0, 0))}}, model, state);
      world.add<Pbd>(name, std::move(model), std::move(state), {});
      if (above) {
        EXPECT_TRUE(world.doubts().empty());
      }
    }
    const std::vector<std::string> doubts = world.doubts();
    ASSERT_EQ(doubts.size(), aside > 0 ? 0 : 1);
    if (!doubts.empty()) {
      EXPECT_EQ(doubts[0],
                "cloth, ropes and soft bodies of above and below pass through each other, since they touch "
                "those of their own system alone; put what is to touch into one system, with contact");
    }
  }
}

// The hand's springs hold M g / (M w^2) of all that hangs on what it holds, bodies of other systems and what
// joints hold to these among it, and twice that as it is hung at once. Gravity gives a body the speed g dt in
// one go, by which a spring of frequency w is drawn out by no more than g dt / w besides. A particle of 3 g,
// which gave no more than its inertia m / h^2, was drawn out by 0.7 m.
TEST(PbdCarriers, AHandHoldsWhatHangsOnThem) {
  for (const bool jointed : {false, true})
    for (const int fps : {60, 240}) {
      Hung scene({.fps = Real(fps)});
      rigid::Spec spec;
      spec.bodies = {ball("hook", Vec3(0, Real(1.2), 0), jointed ? 10 : 38)};
      if (jointed) {
        spec.bodies.push_back(box("crate", Vec3::Constant(Real(0.2)), Vec3(0, Real(0.9), 0), 28));
        rigid::JointSpec joint;
        joint.body_a = "hook", joint.body_b = "crate", joint.anchor = Vec3(0, Real(1.15), 0);
        spec.joints = {joint};
      }
      scene.add(spec);
      PbdPart part = rope(Vec3(0, 2, 0), Vec3(0, Real(1.2), 0));
      part.linear_density = Real(0.125);
      part.attachments = {on("bodies", "hook", Where::last)};
      scene.add(PbdSpec{.parts = {part}});
      constexpr double w = 2 * std::numbers::pi * 25, sag = 9.81 / (w * w);
      const auto sunk = [&] { return 2 - double(scene.pbd->state.particles.x[0].y()); };
      for (int k = 0; k < 3 * fps; ++k) {
        scene.world.drag(1, 0, Vec3(0, 2, 0), Real(25), 0);
        scene.run(1);
        ASSERT_LT(std::abs(sunk()), 2 * sag + 9.81 / fps / w) << jointed << ' ' << fps << ' ' << k;
      }
      // As a frame ends in which it was drawn out; in one of 240 of a second the spring hardly moves.
      if (fps == 240) {
        EXPECT_NEAR(sunk(), sag, 0.2 * sag) << jointed;
      }
    }
}

}}  // namespace plenum
