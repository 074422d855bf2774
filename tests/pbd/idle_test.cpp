// What is set and means nothing is told.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "built.h"
#include "plenum/geometry/shapes.h"

namespace {

using namespace plenum;
using plenum_test::Built;

PbdPart idle_rope() {
  PbdPart rope{.type = PbdPart::Type::rope};
  rope.pins.push_back({.where = ParticlePin::Where::first});
  return rope;
}
PbdPart idle_bar() {
  PbdPart bar{.type = PbdPart::Type::bar};
  bar.cells_x = 2, bar.cells_y = bar.cells_z = 1;
  return bar;
}
PbdPart idle_balloon() {
  PbdPart balloon{.type = PbdPart::Type::mesh_cloth};
  balloon.mesh = icosphere_mesh(Real(0.5), 1), balloon.inflated = true;
  return balloon;
}

/// Whether the next step of it says what has this in it.
bool warns(Built& b, const std::string& text) {
  for (const auto& warning : b.step().warnings())
    if (warning.sentence().find(text) != std::string::npos) return true;
  return false;
}
bool doubts(const Built& b, const std::string& text) {
  for (const std::string& doubt : Pbd::doubts(b.model))
    if (doubt.find(text) != std::string::npos) return true;
  return false;
}

TEST(Idle, StiffnessOfXpbdAndCompliancesOfPbdAreTold) {
  for (const bool is_classic : {false, true})
    for (const Real compliance : {Real(0), Real(1e-3)})
      for (const Real stiffness : {Real(1), Real(0.5)}) {
        PbdPart part = idle_rope();
        part.stretch_compliance = compliance;
        Built b(part);
        b.params.method = is_classic ? Pbd::Method::pbd : Pbd::Method::xpbd;
        b.params.stiffness = stiffness;
        EXPECT_EQ(warns(b, "compliances"), is_classic && compliance > 0);
        EXPECT_EQ(warns(b, "stiffness is of the method pbd"), !is_classic && stiffness < 1);
      }
}

TEST(Idle, TearStrainOfWhatDoesNotTearIsTold) {
  for (const auto& [part, tears] :
       {std::pair(idle_rope(), true), {PbdPart{}, true}, {idle_bar(), false}, {idle_balloon(), false}}) {
    Built b(part);
    EXPECT_FALSE(warns(b, "tear_strain"));
    b.params.tear_strain = 1;
    EXPECT_EQ(warns(b, "tear_strain"), !tears);
  }
}

TEST(Idle, InflationWithoutABalloonIsTold) {
  Built bare(idle_rope()), with(idle_balloon());
  for (const Real inflation : {Real(1), Real(2)}) {
    bare.params.inflation = with.params.inflation = inflation;
    EXPECT_EQ(warns(bare, "inflation"), inflation != 1);
    EXPECT_FALSE(warns(with, "inflation"));
  }
}

// In one iteration Chebyshev's method is Jacobi's, to the bit.
TEST(Idle, WindWithoutClothIsTold) {
  for (const auto type : {PbdPart::Type::bar, PbdPart::Type::cloth}) {
    PbdPart part;
    part.type = type;
    Built b(part);
    EXPECT_FALSE(warns(b, "wind blows"));
    b.params.wind = Vec3(1, 0, 0);
    EXPECT_EQ(warns(b, "wind blows"), type == PbdPart::Type::bar);
  }
}

TEST(Idle, ChebyshevOfOneIterationIsTold) {
  Built jacobi(idle_rope()), chebyshev(idle_rope());
  jacobi.params.solver = Pbd::Solver::jacobi, chebyshev.params.solver = Pbd::Solver::chebyshev;
  jacobi.params.iterations = chebyshev.params.iterations = 1;
  EXPECT_FALSE(warns(jacobi, "chebyshev"));
  EXPECT_TRUE(warns(chebyshev, "chebyshev"));
  jacobi.run(20), chebyshev.run(20);
  EXPECT_EQ(jacobi.state.particles.x, chebyshev.state.particles.x);
  chebyshev.params.iterations = 2;
  EXPECT_FALSE(warns(chebyshev, "chebyshev"));
}

TEST(Idle, AttachmentsOfWhatIsPinnedOrFarAreTold) {
  PbdSpec spec{.parts = {idle_rope()}, .bodies = {{.name = "ball"}}};
  spec.bodies[0].position = Vec3(Real(1.2), 0, 0);
  spec.parts[0].attachments.push_back({.particles = {.where = ParticlePin::Where::last}, .body = "ball"});
  EXPECT_TRUE(Pbd::doubts(Built(spec).model).empty());
  PbdSpec pinned = spec;
  pinned.parts[0].pins.push_back({.where = ParticlePin::Where::last});
  EXPECT_TRUE(doubts(Built(pinned), "parts[0].attachments[0]: 1 particle is pinned too"));
  PbdSpec far = spec;
  far.bodies[0].position = Vec3(4, 0, 0);
  EXPECT_TRUE(doubts(Built(far), "parts[0].attachments[0] holds what is"));
}

}  // namespace
