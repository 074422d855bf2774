// A cloth that is hit hard, at a long step.
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/solvers/obstacle/obstacle.h"
#include "plenum/solvers/springs/springs.h"
#include "plenum/world/world.h"

namespace plenum { namespace {

/// Kinetic energy, springs' energy and weight [J], measured apart from the solver.
double energy(const Springs::Model& model, const Springs::State& state) {
  double sum = 0;
  for (std::size_t i = 0; i < model.mass.size(); ++i)
    sum += double(model.mass[i]) * (0.5 * state.particles.v[i].cast<double>().squaredNorm() +
                                    9.81 * double(state.particles.x[i].y()));
  for (std::size_t e = 0; e < model.edges.size(); ++e) {
    const auto a = std::size_t(model.edges[e][0]), b = std::size_t(model.edges[e][1]);
    const double stretch =
        (state.particles.x[a] - state.particles.x[b]).cast<double>().norm() - double(model.rest_length[e]);
    sum += 0.5 * double(model.stiffness[e]) * stretch * stretch;
  }
  return sum;
}

// Cloth of 1 m, held at two corners of one side, is hit from below by a ball of 20 cm that goes through its
// middle at 20 m/s, 67 cm in a step of 1/30 s, and away to one side. A ball that moves by keyframes gives as
// much energy as it takes, so there is no bound on what happens meanwhile, but nothing may become infinite.
// Once the ball is gone nothing feeds the cloth, so it must not gain energy; and it ends as a cloth that
// hangs.
TEST(SlowClothLaws, ABallCrossingAtTwentyMetresASecondLeavesAPlausibleClothForStiffnessOverSixDecades) {
  for (double stiffness = 10; stiffness < 2e7; stiffness *= 10) {
    World world({.fps = 30});
    Obstacle::Model ball_model;
    Obstacle::State ball_state;
    Obstacle::build({.parts = {{.shape = Obstacle::Kind::sphere, .radius = Real(0.2)}}}, ball_model,
                    ball_state);
    const auto& ball = world.add<Obstacle>("ball", ball_model, ball_state, Obstacle::Params{});
    world.add_keyframes(ball.name(), {.path = "position",
                                      .interpolation = Keyframes::Interpolation::linear,
                                      .times = {0, 0.5, 1.5},
                                      .values = {0, -8, 0, 0, 2, 0, 20, 2, 0}});
    SpringsPart part;
    part.cells_x = part.cells_z = 20;
    part.structural_stiffness = part.shear_stiffness = static_cast<Real>(stiffness);
    part.bending_stiffness = static_cast<Real>(stiffness / 100);
    part.pins = {{.where = SpringsPin::Where::back_left}, {.where = SpringsPin::Where::back_right}};
    Springs::Model model;
    Springs::State state;
    Springs::build({.parts = {part}}, model, state);
    auto& cloth = world.add<Springs>("cloth", model, state, Springs::Params{});
    double at_frame_60 = 0;
    for (int f = 0; f < 150; ++f) {
      const FrameReport report = world.step_frame();
      ASSERT_TRUE(report.ok) << stiffness << " frame " << f << ": " << report.not_finite.sentence();
      const double now = energy(cloth.model, cloth.state);
      // The hundredth part of its weight times its size is for what linear solves leave, a thousandth of
      // theirs.
      if (f > 60) {
        EXPECT_LT(now, at_frame_60 + 0.01 * 0.2 * 9.81) << stiffness << " frame " << f;
      }
      if (f == 60) at_frame_60 = now;
    }
    double reach = 0, strain = 0;
    for (const Vec3& x : cloth.state.particles.x)
      reach = std::max(reach, double((x - Vec3(0, 0, Real(-0.5))).norm()));
    for (std::size_t e = 0; e < cloth.model.edges.size(); ++e)
      strain = std::max(strain, double(Springs::strain(cloth.model, cloth.state, e)));
    // The whole weight, 2 N, on one spring of 5 cm, and what a linearized step stretches springs that still
    // swing, (h w)^2 / 2 with w <= 10 rad/s.
    EXPECT_LT(strain, 0.06 + 2 * 2 / stiffness / 0.05) << stiffness;
    EXPECT_LT(reach, 1.5 + 40 / stiffness) << stiffness;
  }
}

}}  // namespace plenum
