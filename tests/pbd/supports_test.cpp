// Particles on solids of others, and bodies that lie on these particles.
#include <gtest/gtest.h>

#include <cmath>

#include "pbd/built.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum { namespace {

// What lies on a particle is borne by what the particle lies on, as long as that pushes it.
TEST(PbdSupports, BearNothingThatHasBeenLiftedOff) {
  Support floor{};
  floor.normal = Vec3::UnitY();
  PbdSupports supports;
  supports.take({&floor, 1});
  supports.begin_substep();
  const Real h = Real(0.01), deep = Real(0.01);
  std::vector<detail::Place> places = {{{0, -deep, 0}, 2}};
  const std::vector<Vec3> gone = {Vec3::Zero()};
  std::vector<PbdRest> rests(1);
  supports.hold(places, gone, h, h, rests);
  EXPECT_EQ(rests[0].on, 0);
  EXPECT_EQ(rests[0].pushed, deep);
  EXPECT_EQ(places[0].x[1], 0);
  // Lifted by more than it was pushed by: that much is taken back, and it lies on nothing.
  places[0].x[1] = 2 * deep;
  supports.hold(places, gone, h, h, rests);
  EXPECT_EQ(places[0].x[1], deep);
  EXPECT_EQ(rests[0].on, -1);
  EXPECT_EQ(rests[0].pushed, 0);
  // And lies there again once it comes down.
  places[0].x[1] = -deep;
  supports.hold(places, gone, h, h, rests);
  EXPECT_EQ(rests[0].on, 0);
  EXPECT_EQ(rests[0].pushed, deep);
}

// As Balloons.GiveNoEnergyToWhatFallsOnThem, on a floor that is offered from step to step.
TEST(PbdSupports, UnderABalloonGiveNoEnergyToWhatFallsOnIt) {
  for (const int aside : {0, 8, 16}) {
    PbdPart part{.type = PbdPart::Type::mesh_cloth};
    part.mesh = icosphere_mesh(Real(0.25), 2), part.inflated = true;
    part.position = Vec3(Real(0.004 * aside), Real(0.4), Real(0.002 * aside));
    part.bending_stiffness = Real(1e-4);
    PbdBody box;
    const Real speed = 10;
    box.half_extents = Vec3(Real(0.15), Real(0.1), Real(0.15)), box.position = Vec3(0, Real(1.15), 0);
    box.density = 500, box.velocity = Vec3(0, -speed, 0);
    plenum_test::Built b(PbdSpec{.parts = {part}, .bodies = {box}});
    b.params.friction = 1;
    std::vector<Support> floor(b.model.mass.size());
    const double begun = double(speed * speed) / 2 + 9.81 * 1.15;  // [J/kg]
    // Until it lies on the floor, which bears particles alone.
    for (int k = 0; k < 90 && b.state.frames.x[0].y() > Real(0.15); ++k) {
      for (std::size_t i = 0; i < floor.size(); ++i) {
        floor[i] = {};
        floor[i].sample = Index(i), floor[i].normal = Vec3::UnitY(), floor[i].friction = 1;
        floor[i].gap = b.state.particles.x[i].y();
      }
      Pbd::rest_on(b.workspace, floor);
      b.step();
      const double v = double(b.state.frames.v[0].norm());
      ASSERT_LT(v * v / 2 + 9.81 * double(b.state.frames.x[0].y()), 1.01 * begun) << aside << ' ' << k;
    }
  }
}

}}  // namespace plenum
