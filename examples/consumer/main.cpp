// A program of somebody else: particles poured onto a sphere.
#include <plenum/geometry/solid_mesh.h>
#include <plenum/solvers/obstacle/obstacle.h>
#include <plenum/solvers/particles/particles.h>
#include <plenum/world/world.h>

#include <cstdio>

int main() {
  plenum::World world;

  plenum::Obstacle::Model ball;
  plenum::Obstacle::State ball_state;
  plenum::Obstacle::build({.parts = {{.shape = plenum::Obstacle::Kind::sphere, .radius = 0.5f}}}, ball,
                          ball_state);
  world.add<plenum::Obstacle>("ball", ball, ball_state);

  plenum::ParticleSystem::Model model;
  plenum::ParticleSystem::State state;
  plenum::ParticleSystem::build(
      {.blocks = {{.low = {-0.2f, 1, -0.2f}, .high = {0.2f, 1.4f, 0.2f}, .spacing = 0.05f}}}, model, state);
  auto& sand = world.add<plenum::ParticleSystem>("sand", model, state);

  for (int frame = 0; frame < 60; ++frame) world.step_frame();
  for (const plenum::Vec3& x : sand.state.particles.x)
    if (x.norm() < 0.5f) return 1;  // inside of the ball
  std::printf("%zu particles after one second, hash %s\n", sand.state.size(), world.hash().hex().c_str());
  return 0;
}
