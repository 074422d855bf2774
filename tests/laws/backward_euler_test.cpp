// Nets by backward Euler as a minimization: it takes energy and never makes any, and what falls on solids is
// held up within the minimum, so that it neither bounces nor stays crushed.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/geometry/shapes.h"
#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"
#include "springs/nets.h"
#include "support/constants.h"

namespace plenum { namespace {

using Integrator = Springs::Integrator;
using plenum_test::gravity;

const char* name_of(Integrator integrator) {
  return integrator == Integrator::backward_euler ? "backward_euler" : "local_global";
}

/// [J] kinetic and in springs and penalties; [J] of weight, to which the deepest fall adds nothing.
double energy(const test::Net& net, double penalty) {
  const auto& x = net.state.particles.x;
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (net.state.particles.inverse_mass[i] > 0)
      sum += double(net.model.mass[i]) *
             (0.5 * double(net.state.particles.v[i].squaredNorm()) + gravity * double(x[i].y()));
  const auto stretched = [&](const Index2& e, double length, double stiffness) {
    const double stretch = double((x[std::size_t(e[1])] - x[std::size_t(e[0])]).norm()) - length;
    sum += 0.5 * stiffness * stretch * stretch;
  };
  for (std::size_t e = 0; e < net.model.edges.size(); ++e)
    stretched(net.model.edges[e], double(net.model.rest_length[e]), double(net.model.stiffness[e]));
  for (std::size_t r = 0; r < net.model.constraints.rods.size(); ++r)
    stretched(net.model.constraints.rods[r], double(net.model.constraints.rod_length[r]), penalty);
  return sum;
}

SpringsPart double_pendulum(double stiffness, bool rods) {
  SpringsPart part;
  part.type = SpringsPart::Type::points;
  part.points = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(2, 0, 0)};
  part.mass = 1;
  for (const Index i : {0, 1}) (rods ? part.rods : part.springs).push_back(Index2(i, i + 1));
  part.structural_stiffness = Real(stiffness);
  part.pins = {{.where = SpringsPin::Where::indices, .indices = {0}}};
  return part;
}

SpringsPart rope(double stiffness) {
  SpringsPart part;
  part.type = SpringsPart::Type::rope;
  part.segments = 20;
  part.to = Vec3(2, 0, 0);
  part.structural_stiffness = Real(stiffness);
  part.pins = {{.where = SpringsPin::Where::first}};
  return part;
}

SpringsPart cloth(double stiffness) {
  SpringsPart part;
  part.cells_x = part.cells_z = 12;
  part.structural_stiffness = part.shear_stiffness = Real(stiffness);
  part.bending_stiffness = 1;
  part.pins = {{.where = SpringsPin::Where::back_left}};
  return part;
}

TEST(SlowBackwardEuler, NetsThatSwingGainNoEnergyHoweverStiff) {
  for (const Integrator integrator : {Integrator::backward_euler, Integrator::local_global})
    for (const double fps : {30.0, 60.0})
      for (const double stiffness : {1e3, 1e5, 1e6, 1e7})
        for (const std::string net_name : {"springs", "rods", "rope", "cloth"}) {
          SCOPED_TRACE(fmt::format("{} {} {} N/m {} Hz", name_of(integrator), net_name, stiffness, fps));
          test::Net net =
              test::net_of(net_name == "rope"    ? rope(stiffness)
                           : net_name == "cloth" ? cloth(stiffness)
                                                 : double_pendulum(stiffness, net_name == "rods"));
          const Springs::Params params{.integrator = integrator,
                                       .air_density = 0,
                                       .constraints = Springs::Constraints::penalty,
                                       .penalty_stiffness = Real(stiffness)};
          // What a fall by one metre gives to it; coordinates of a metre are known to 1e-7, which rods of 1e7
          // N/m turn into joules.
          const double fall = test::total_mass(net) * gravity;
          const double start = energy(net, stiffness);
          double gain = -1e9, deepest = 0;
          bool warned = false;
          for (int frame = 0; frame < int(3 * fps); ++frame) {
            const Report report = net.step(params, static_cast<Real>(1 / fps));
            warned = warned || !report.warnings().empty();
            gain = std::max(gain, energy(net, stiffness) - start);
            deepest = std::min(deepest, double(net.state.particles.x.back().y()));
          }
          EXPECT_LT(gain, 1e-3 * fall);
          // It has not been stopped in the air. The fixed matrix resists turning as springs resist stretch,
          // and stiff nets turn too slowly in the rounds they have; that is told.
          EXPECT_TRUE(deepest < -0.5 || (integrator == Integrator::local_global && warned)) << deepest;
        }
}

/// A ball of tetrahedra above a floor.
struct DroppedBall {
  World world;
  SystemOf<Springs>& ball;
};
DroppedBall dropped_ball(Integrator integrator, double stiffness, double fps) {
  World world({.fps = static_cast<Real>(fps)});
  Obstacle::Model model;
  Obstacle::State state;
  Obstacle::build({.parts = {{.shape = Obstacle::Kind::plane}}}, model, state);
  world.add<Obstacle>("floor", std::move(model), std::move(state), {.friction = Real(0.3)});
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = icosphere_mesh(Real(0.3), 2);
  part.spacing = Real(0.1);
  part.density = 200;
  part.structural_stiffness = Real(stiffness);
  part.position = Vec3(0, 1, 0);
  Springs::Model net;
  Springs::State at;
  Springs::build({.parts = {part}}, net, at);
  auto& ball = world.add<Springs>("ball", std::move(net), std::move(at), {.integrator = integrator});
  return {std::move(world), ball};
}

TEST(SlowBackwardEuler, ABallThatFallsIsNeitherThrownUpNorLeftCrushed) {
  for (const Integrator integrator :
       {Integrator::implicit_euler, Integrator::backward_euler, Integrator::local_global})
    for (const double fps : {30.0, 60.0})
      for (const double stiffness : {1e4, 1e5, 1e6, 1e7}) {
        SCOPED_TRACE(fmt::format("{} {} N/m {} Hz", int(integrator), stiffness, fps));
        DroppedBall falls = dropped_ball(integrator, stiffness, fps);
        const auto& x = falls.ball.state.particles.x;
        const auto height = [&] {
          const auto [low, high] = std::minmax_element(
              x.begin(), x.end(), [](const Vec3& a, const Vec3& b) { return a.y() < b.y(); });
          return std::pair(double(low->y()), double(high->y()));
        };
        const double tall = height().second - height().first;
        double lowest = 1e9, back = 0;  // of its upper end, and how far that came back from there
        for (int f = 0; f < int(2 * fps); ++f) {
          ASSERT_TRUE(falls.world.step_frame().ok);
          const double top = height().second;
          lowest = std::min(lowest, top);
          back = std::max(back, top - lowest);
        }
        // Backward Euler takes most of a blow: no higher than its own shape gives back, and a little.
        EXPECT_LT(back, tall / 2);
        // Its weight on as much of it as touches the floor is less than a tenth of what would crush it.
        EXPECT_GT(height().second - height().first, 0.8 * tall);
        for (const auto& t : falls.ball.model.tetrahedra) {
          const auto at = [&](int c) -> const Vec3& { return x[std::size_t(t[c])]; };
          EXPECT_GT((at(1) - at(0)).cross(at(2) - at(0)).dot(at(3) - at(0)), 0);
        }
      }
}

TEST(BackwardEuler, AnInextensibleRopeStaysAtItsPin) {
  for (const Integrator integrator : {Integrator::backward_euler, Integrator::local_global}) {
    SpringsPart part = test::rope_of(100, 2);
    part.pins = {{.where = SpringsPin::Where::first}};
    test::Net net = test::net_of(part);
    for (int frame = 0; frame < 90; ++frame) {
      net.step({.integrator = integrator}, Real(1) / 30);
      const auto& x = net.state.particles.x;
      ASSERT_EQ(x[0], Vec3(0, 0, 0));
      for (std::size_t i = 0; i < 100; ++i)
        ASSERT_NEAR(double((x[i + 1] - x[i]).norm()), 0.02, 2e-5) << name_of(integrator) << frame;
    }
  }
}

TEST(BackwardEuler, ABeadKeptByPenaltySlidesDownItsWire) {
  constexpr double slope = 0.5, stiffness = 1e5, mass = 0.1;
  for (const Integrator integrator : {Integrator::backward_euler, Integrator::local_global}) {
    SpringsPart part;
    part.type = SpringsPart::Type::points;
    part.points = {Vec3(0, 0, 0)};
    part.mass = Real(mass);
    part.wires = {{.shape = WireShape::line, .beads = {0}, .axis = Vec3(1, Real(-slope), 0)}};
    test::Net net = test::net_of(part);
    const Springs::Params params{.integrator = integrator,
                                 .constraints = Springs::Constraints::penalty,
                                 .penalty_stiffness = Real(stiffness)};
    const int frames = 60;
    const double h = 1.0 / 60;
    for (int frame = 0; frame < frames; ++frame) net.step(params, static_cast<Real>(h));
    // a = g sin along the wire; backward Euler goes sum of k h^2 a.
    const double sine = slope / std::hypot(1, slope),
                 along = gravity * sine * h * h * frames * (frames + 1) / 2;
    const Vec3& x = net.state.particles.x[0];
    EXPECT_NEAR(double(x.norm()), along, 1e-3 * along) << name_of(integrator);
    // m g cos / k off the wire.
    const double off = std::abs(slope * double(x.x()) + double(x.y())) / std::hypot(1, slope);
    EXPECT_LT(off, 2 * mass * gravity / stiffness + 1e-6 * along) << name_of(integrator);
  }
}

}}  // namespace plenum
