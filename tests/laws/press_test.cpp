// A soft box under a plate that presses it to 72 % of its height and stays there. It is turned a little: one
// that stands just so is pressed straight, and buckles only seconds later.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/scene/scene.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum { namespace {

void expect_rest_under_a_plate(int cells) {
  for (const char* integrator : {"implicit_euler", "backward_euler", "local_global"}) {
    SCOPED_TRACE(integrator);
    Scene scene = load_scene_text(fmt::format(R"({{"world": {{"fps": 30}}, "systems": [
            {{"type": "obstacle", "name": "floor", "model": {{"parts": [{{"shape": "plane"}}]}}}},
            {{"type": "obstacle", "name": "plate",
              "model": {{"parts": [{{"shape": "box", "half_extents": [0.5, 0.1, 0.5]}}]}},
              "keyframes": [{{"path": "position", "interpolation": "smooth", "times": [0, 0.2, 1],
                              "values": [[0, 0.75, 0], [0, 0.75, 0], [0, 0.45, 0]]}}]}},
            {{"type": "springs", "name": "net",
              "model": {{"parts": [{{"type": "soft_body", "structural_stiffness": 1000, "position": [0, 0.26, 0],
                                     "rotation": [1, 7, 0.5],
                                     "mesh": {{"shape": "box", "half_extents": [0.25, 0.25, 0.25],
                                               "cells_x": {0}, "cells_y": {0}, "cells_z": {0}}}}}]}},
              "params": {{"integrator": "{1}"}}}}]}})",
                                              cells, integrator),
                                  "press.json");
    scene.world.set_threads(1);
    auto& net = dynamic_cast<SystemOf<Springs>&>(*scene.world.find("net"));
    double flat = 0;
    for (int f = 0; f < 90; ++f) {
      const FrameReport report = scene.world.step_frame();
      ASSERT_TRUE(report.ok);
      flat = report.systems.back().value("flat");
      double kinetic = 0, held = 0, top = 0;
      for (std::size_t i = 0; i < net.state.particles.size(); ++i) {
        kinetic += 0.5 * double(net.model.mass[i]) * double(net.state.particles.v[i].squaredNorm());
        top = std::max(top, double(net.state.particles.x[i].y()));
      }
      for (std::size_t e = 0; e < net.model.edges.size(); ++e)
        held +=
            0.5 * double(net.model.stiffness[e]) *
            std::pow(double(Springs::strain(net.model, net.state, e)) * double(net.model.rest_length[e]), 2);
      if (f < 60) continue;
      EXPECT_LT(top, 0.36);
      // Slower than a hundredth of what the springs' energy would make it.
      EXPECT_LT(kinetic, 1e-4 * held) << f;
    }
    EXPECT_GT(flat, 0);
  }
}

TEST(Press, ABoxThatIsHeldUnderAPlateComesToRest) {
  expect_rest_under_a_plate(2);
}

TEST(SlowPress, AFinerBoxThatIsHeldUnderAPlateComesToRest) {
  expect_rest_under_a_plate(4);
}

}}  // namespace plenum
