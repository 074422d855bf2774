// Free bodies of a `rigid` system on what another solver moves: they come to lie, and gain nothing.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "plenum/scene/scene.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum { namespace {

struct Carried {
  double highest = 0;  ///< [m] that the body gets, after it has touched
  double at_the_end = 0;
  double speed_at_the_end = 0;  ///< [m/s]
};
/// A body above (0, 0, 0), at default settings but for `params`.
Carried carry(const std::string& shape, double density, double y, const std::string& part,
              const std::string& params, int frames = 120) {
  Scene scene = load_scene_text(fmt::format(R"({{"systems": [
            {{"type": "obstacle", "name": "ground", "model": {{"parts": [{{"shape": "plane"}}]}}}},
            {{"type": "rigid", "name": "body",
              "model": {{"bodies": [{{"name": "b", "density": {1}, "position": [0, {2}, 0], "shapes": [{0}]}}]}}}},
            {{"type": "pbd", "name": "soft", "model": {{"parts": [{3}]}}, "params": {{{4}}}}}]}})",
                                            shape, density, y, part, params),
                                "carried.json");
  const auto& rigid = dynamic_cast<const SystemOf<Rigid>&>(scene.world.system(1));
  Carried out;
  bool has_touched = false;
  for (int k = 0; k < frames; ++k) {
    const auto report = scene.world.step_frame();
    EXPECT_TRUE(report.ok);
    has_touched |= report.contacts > 0;
    out.at_the_end = double(rigid.state.frames.x[0].y());
    out.speed_at_the_end = double(rigid.state.frames.v[0].norm());
    if (has_touched) out.highest = std::max(out.highest, out.at_the_end);
  }
  EXPECT_TRUE(has_touched);
  return out;
}

// Offered to the soft body as if it could not be stopped for a frame, a crate of half a kilogram that was put
// onto jelly was flung 70 m. By planes that did not know how they turn, it hopped by 3 m on what is hard, and
// said that it moved, at 0.07 m/s: four substeps' worth of gravity, of which one is left; of what is lighter
// than the particles under it, less than three.
TEST(Carried, CratesPutOnJellyLieOnIt) {
  for (const char* material : {"neo_hookean", "strain", "distances", "shape_matching"})
    for (const double density : {20.0, 200.0, 1000.0}) {
      SCOPED_TRACE(fmt::format("{} {}", material, density));
      const std::string part = fmt::format(
          R"({{"type": "bar", "half_extents": [0.4, 0.15, 0.4], "cells_x": 8, "cells_y": 3, "cells_z": 8,
               "material": "{}", "position": [0, 0.155, 0]}})",
          material);
      const Carried crate = carry(R"({"shape": "box", "half_extents": [0.15, 0.15, 0.15]})", density, 0.4655,
                                  part, R"("thickness": 0.005)", 240);
      EXPECT_LT(crate.highest, 0.4655 + 0.02);
      EXPECT_GT(crate.at_the_end, 0.35);
      EXPECT_LT(crate.speed_at_the_end, (density < 200 ? 3 : 1) * 9.81 / 600);
    }
}

// What it goes by itself is its own solver's to say: told how pbd thinks that it falls, a box on the ground
// was pressed through it by what fell onto it.
TEST(Carried, BoxesUnderJellyAndRopesStayOnTheGround) {
  for (const double density : {50.0, 200.0, 1000.0})
    for (const char* part :
         {R"({"type": "bar", "half_extents": [0.12, 0.1, 0.12], "cells_x": 3, "cells_y": 2, "cells_z": 3,
              "material": "neo_hookean", "position": [0, 0.42, 0]})",
          R"({"type": "rope", "from": [-1, 0.4, 0], "to": [1, 0.4, 0], "segments": 40,
              "linear_density": 0.5})"}) {
      const Carried box =
          carry(R"({"shape": "box", "half_extents": [0.15, 0.15, 0.15]})", density, 0.15, part, "", 180);
      EXPECT_NEAR(box.at_the_end, 0.15, 0.015) << density << part;
    }
}

// Apexes rose from bounce to bounce, with more substeps faster.
TEST(Carried, BallsThatBounceOnJellyGainNothing) {
  for (const int substeps : {10, 40})
    for (const double density : {100.0, 2000.0}) {
      SCOPED_TRACE(fmt::format("{} {}", substeps, density));
      const Carried ball =
          carry(R"({"shape": "sphere", "radius": 0.15})", density, 1.5,
                R"({"type": "bar", "half_extents": [0.4, 0.15, 0.4], "cells_x": 8, "cells_y": 3, "cells_z": 8,
              "youngs_modulus": 1e5, "poissons_ratio": 0.4, "position": [0, 0.16, 0]})",
                fmt::format(R"("substeps": {})", substeps));
      EXPECT_LT(ball.highest, 1.5);
    }
}

TEST(Carried, BallsOnHeldClothAndBalloonsGainNothing) {
  for (const int substeps : {10, 40}) {
    SCOPED_TRACE(substeps);
    const std::string params = fmt::format(R"("substeps": {})", substeps),
                      sphere = R"({"shape": "sphere", "radius": 0.15})";
    const Carried on_cloth =
        carry(sphere, 100, 2,
              R"({"type": "cloth", "size_x": 2, "size_z": 2, "cells_x": 20, "cells_z": 20, "areal_density": 1,
                  "position": [0, 1, 0], "pins": [{"where": "left"}, {"where": "right"}]})",
              params);
    EXPECT_LT(on_cloth.highest, 2);
    const Carried on_balloon = carry(sphere, 100, 1.6,
                                     R"({"type": "mesh_cloth", "inflated": true, "position": [0, 0.32, 0],
                  "mesh": {"shape": "icosphere", "radius": 0.3, "subdivisions": 3}})",
                                     params);
    EXPECT_LT(on_balloon.highest, 1.6);
  }
}

}}  // namespace plenum
