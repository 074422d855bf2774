// Rigid bodies among position-based ones that stand on each other by friction alone: what Coulomb's law holds
// stays where it is, and what it does not hold falls or slides.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "pbd/built.h"
#include "plenum/base/parallel.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum { namespace {

constexpr Real half = Real(0.1);  ///< [m] of a box

PbdBody box(const Vec3& position, Real friction = Real(0.5)) {
  PbdBody body;
  body.half_extents = Vec3::Constant(half), body.position = position, body.friction = friction;
  return body;
}
PbdBody ground(Real friction = Real(0.5)) {
  PbdBody body = box(Vec3(0, Real(-0.5), 0), friction);
  body.half_extents = Vec3(5, Real(0.5), 5);
  body.motion = PbdBody::Motion::led;
  return body;
}
/// Lays all on a slope about z.
PbdSpec tilted(PbdSpec spec, double degrees) {
  const Vec3 rotation(0, 0, Real(degrees));
  for (PbdBody& body : spec.bodies)
    body.position = rotation_from_degrees(rotation) * body.position, body.rotation += rotation;
  return spec;
}
/// [m] that any body goes in so many frames.
double farthest_in(plenum_test::Built& scene, int frames) {
  const std::vector<Vec3> from = scene.state.frames.x;
  scene.run(frames);
  double most = 0;
  for (std::size_t i = 0; i < from.size(); ++i)
    most = std::max(most, double((scene.state.frames.x[i] - from[i]).norm()));
  return most;
}

/// [m/s] In each substep of h gravity would move by g h^2, and a sweep leaves some percent of it. A five
/// hundredth is what may add up.
double creeps(const plenum_test::Built& scene) {
  return 0.002 * 9.81 / (60 * scene.params.substeps);
}

// Stacks of boxes beside each other's middles, each over what bears it. They crept by 0.5 to 2 mm/s at ten
// substeps and fell.
TEST(PbdGrips, StacksOfBoxesDoNotCreep) {
  for (const double beside : {0.1, 0.25, 0.4})
    for (const int substeps : {4, 10})
      for (const Real top : {Real(1), Real(10)}) {
        PbdSpec spec{.bodies = {ground()}};
        for (int k = 0; k < 3; ++k)
          spec.bodies.push_back(box(Vec3(Real(2 * half * beside * (k % 2)), half * Real(1 + 2 * k), 0)));
        spec.bodies.back().density *= top;
        plenum_test::Built stack(spec);
        stack.params.substeps = substeps;
        stack.run(60);
        EXPECT_LT(farthest_in(stack, 180), 3 * creeps(stack)) << beside << ' ' << substeps << ' ' << top;
      }
}

// Cards that lean on each other hold each other in a loop.
TEST(PbdGrips, LeaningCardsDoNotCreep) {
  const double lean = 20 * std::numbers::pi / 180, thick = 0.004, tall = 0.1;
  PbdSpec spec{.bodies = {ground(Real(0.6))}};
  for (const int side : {-1, 1}) {
    PbdBody card = box(Vec3::Zero(), Real(0.6));
    card.half_extents = Vec3(Real(thick), Real(tall), Real(0.06));
    card.position = Vec3(Real(side * (tall * std::sin(lean) + thick * std::cos(lean))),
                         Real(tall * std::cos(lean) + thick * std::sin(lean)), 0);
    card.rotation = Vec3(0, 0, Real(20 * side));
    spec.bodies.push_back(card);
  }
  plenum_test::Built cards(spec);
  cards.run(60);
  EXPECT_LT(farthest_in(cards, 180), 3 * creeps(cards));
}

// tan 26 degrees is less than 0.5, and tan 27.2 is more.
TEST(PbdGrips, SlopesHoldUpToTheAngleOfFriction) {
  for (const int boxes : {1, 2}) {
    PbdSpec spec{.bodies = {ground()}};
    for (int k = 0; k < boxes; ++k) {
      PbdBody flat = box(Vec3(0, half * Real(1 + 2 * k), 0));
      flat.half_extents = Vec3(2 * half, half, 2 * half);
      spec.bodies.push_back(flat);
    }
    plenum_test::Built holds(tilted(spec, 26));
    holds.run(30);
    EXPECT_LT(farthest_in(holds, 120), 2 * creeps(holds)) << boxes;
    if (boxes > 1) continue;
    plenum_test::Built slides(tilted(spec, 27.2));
    const double slope = 27.2 * std::numbers::pi / 180;
    const double way = 9.81 * (std::sin(slope) - 0.5 * std::cos(slope)) / 2;
    EXPECT_NEAR(farthest_in(slides, 60), way, 0.01 * way);
  }
}

// However little of what pushes is weight: of a box of 6 m at 80 substeps a fall of g h^2 is less than a
// place is rounded by. Counting all that pushes, friction left it 0.7 of its speed; one of 200 m at ten, 0.95
// of it.
TEST(PbdGrips, FrictionBearsWeightNotOverlap) {
  struct Case {
    Real half;
    int substeps;
    double degrees;
  };
  for (const Case& of : {Case{Real(0.1), 10, 40}, {3, 80, 40}, {Real(0.5), 160, 40}, {100, 10, 28}}) {
    PbdBody slab = ground(), on_it = box(Vec3(0, of.half, 0));
    slab.half_extents = Vec3(200 * of.half, of.half, 200 * of.half), slab.position = Vec3(0, -of.half, 0);
    on_it.half_extents = Vec3::Constant(of.half);
    plenum_test::Built slides(tilted(PbdSpec{.bodies = {slab, on_it}}, of.degrees));
    slides.params.substeps = of.substeps;
    slides.run(60);
    const double slope = of.degrees * std::numbers::pi / 180;
    const double speed = 9.81 * (std::sin(slope) - 0.5 * std::cos(slope));
    EXPECT_NEAR(double(slides.state.frames.v[1].norm()), speed, 0.005 * speed) << of.half;
  }
}

// What stands is not held where it could not stand: a box over the edge of another by a hundredth of its half
// tips off, and one that is short of it by as much stays.
TEST(PbdGrips, BoxesTipWhereTheirMiddlesAreNotBorne) {
  for (const double over : {0.99, 1.01}) {
    plenum_test::Built two(
        PbdSpec{.bodies = {ground(), box(Vec3(0, half, 0)), box(Vec3(Real(over) * half, 3 * half, 0))}});
    two.run(300);
    const double height = double(two.state.frames.x[2].y());
    if (over < 1)
      EXPECT_NEAR(height, 0.3, 1e-3);
    else
      EXPECT_LT(height, 0.2);
  }
}

// A box of 300 times the mass of what bears it, a quarter of its width off its middle, at four substeps. It
// may fall, but what it crept by is not to lift it: it had 359 J more than it began with.
TEST(PbdGrips, HeavyOnesGainNoEnergy) {
  PbdSpec spec{.bodies = {ground(), box(Vec3(0, half, 0)), box(Vec3(half / 2, 3 * half, 0))}};
  spec.bodies[1].density = 100, spec.bodies[2].density = 30000;
  plenum_test::Built two(spec);
  two.params.substeps = 4;
  const auto energy = [&] {
    const Frames& f = two.state.frames;
    double sum = 0;
    for (const std::size_t i : {1, 2}) {
      const Vec3 w = f.rotation(i).conjugate() * f.w[i];
      const double v = double(f.v[i].norm());
      sum += (v * v / 2 + 9.81 * double(f.x[i].y())) / double(f.inverse_mass[i]);
      sum += double(two.model.bodies[i].inertia.dot(w.cwiseProduct(w))) / 2;
    }
    return sum;
  };
  const double begun = energy();
  for (int k = 0; k < 90; ++k) {
    two.step();
    ASSERT_LT(energy(), begun * (1 + 1e-5)) << k;
  }
}

// Far from the origin coordinates are rounded by ten times as much as a box falls in one of 80 substeps. Its
// speed is g t (sin - mu cos) there too; pushes that took the rounding back pressed it, so that it stood.
TEST(PbdGrips, FarFromTheOriginBoxesSlideAsAtIt) {
  const double slope = 40 * std::numbers::pi / 180;
  for (const Real from : {Real(0), Real(50)}) {
    PbdSpec spec = tilted({.bodies = {ground(), box(Vec3(0, half, 0))}}, 40);
    for (PbdBody& body : spec.bodies) body.position += Vec3::Constant(from);
    plenum_test::Built slides(spec);
    slides.params.substeps = 80;
    slides.run(30);
    const double speed = 9.81 * (std::sin(slope) - 0.5 * std::cos(slope)) / 2;
    EXPECT_NEAR(double(slides.state.frames.v[1].norm()), speed, 0.03 * speed) << from;
  }
}

TEST(PbdGrips, DoNotDependOnThreadsNorOnForgottenMemory) {
  PbdSpec spec{.bodies = {ground()}};
  for (int k = 0; k < 12; ++k)
    spec.bodies.push_back(box(Vec3(Real(0.201) * Real(k % 4) + Real(0.07) * Real(k / 4 % 2),
                                   half * Real(1 + 2 * (k / 4)), Real(0.03) * Real(k % 3))));
  std::vector<Vec3> x;
  for (const int threads : {1, 2, 5}) {
    plenum_test::Built wall(spec);
    with_threads(threads, [&] {
      for (int k = 0; k < 30; ++k) {
        if (threads == 5) wall.workspace = {};
        wall.step();
      }
    });
    if (threads == 1) x = wall.state.frames.x;
    EXPECT_EQ(wall.state.frames.x, x) << threads;
  }
}

}}  // namespace plenum::
