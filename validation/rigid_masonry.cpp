// Structures that stand by friction and weight alone.
#include "rigid_scenes.h"
#include "validation.h"

namespace plenum::validation { namespace {

rigid::Spec on_ground(const rigid::AssemblySpec& assembly) {
  rigid::BodySpec ground;
  ground.motion = rigid::Motion::fixed;
  ground.shapes[0].shape = rigid::Form::plane;
  ground.friction = assembly.friction;
  rigid::Spec spec;
  spec.bodies = {ground};
  spec.assemblies = {assembly};
  return spec;
}

double top_of(const RigidScene& scene) {
  Real highest = 0;
  for (const Vec3& x : scene.state.frames.x) highest = std::max(highest, x.y());
  return double(highest);
}

/// By how much of its height the highest middle of a body comes down in 20 s.
double comes_down(const rigid::AssemblySpec& assembly, int substeps = Rigid::Params{}.substeps) {
  RigidScene scene(on_ground(assembly));
  scene.params.sleeping = false;
  scene.params.substeps = substeps;
  scene.params.contact_frequency *= Real(substeps) / Real(Rigid::Params{}.substeps);
  const double before = top_of(scene);
  for (int k = 0; k < 1200; ++k) scene.step();
  return 1 - top_of(scene) / before;
}

void card_house(Rows& rows) {
  rigid::AssemblySpec house;
  house.type = rigid::AssemblyType::card_house;
  house.rows = 5;
  house.half_extents = Vec3(Real(0.006), Real(0.17), Real(0.12));
  house.lean = 22;
  house.density = 600;
  house.friction = Real(0.7);
  rows.at_most("house of five levels, friction 0.7: part of its height lost in 20 s", comes_down(house), 0.01,
               "1", "stands: friction exceeds the tangent of the lean, 0.404");
  house.friction = Real(0.1);
  rows.at_least("the same, friction 0.1", comes_down(house), 0.5, "1",
                "falls: friction below half that tangent");
}
const Register register_card_house("rigid/card-house", Effort::quick, card_house);

/// A half ring stands if it is thicker than 0.1075 of its middle radius, whatever the friction above what
/// keeps stones from sliding. Source: Milankovitch 1907, "Theorie der Druckkurven"; Heyman 1969, "The safety
/// of masonry arches", has 0.106 for the thrust line without its couples.
void arch(Rows& rows) {
  rigid::AssemblySpec ring;
  ring.type = rigid::AssemblyType::arch;
  ring.count = 25;
  ring.density = 2200;
  ring.friction = Real(0.8);
  const auto lost = [&](double thickness, auto... substeps) {
    ring.radius = Real(1 - thickness / 2), ring.thickness = Real(thickness);
    return comes_down(ring, substeps...);
  };
  // Stones settle by what contacts give before they bear, which shorter sub-steps make small.
  rows.at_most(
      "25 stones, thickness 0.115 of the middle radius, 32 sub-steps: part of the height lost in 20 s",
      lost(0.115, 32), 0.01, "1", "stands above 0.1075, Milankovitch 1907");
  rows.at_least("25 stones, thickness 0.1, 32 sub-steps", lost(0.1, 32), 0.3, "1",
                "falls below 0.1075, Milankovitch 1907");
  rows.report("25 stones, thickness 0.115, default sub-steps", lost(0.115), "1", "stands above 0.1075");
  rows.report("25 stones, thickness 0.15, default sub-steps", lost(0.15), "1", "stands above 0.1075");
}
const Register register_arch("rigid/arch", Effort::quick, arch);

}}  // namespace plenum::validation
