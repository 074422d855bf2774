// Scenes of rigid bodies that nothing drives never hold more energy than they were given, however long the
// sub-step: blows against joints and limits may lose some, not make any.
#include <gtest/gtest.h>

#include <filesystem>

#include "laws/scene_files.h"
#include "plenum/scene/scene.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum { namespace {

struct Energy {
  double kinetic = 0, potential = 0;  // [J]
};

Energy energy_of(const SystemOf<Rigid>& system) {
  Energy e;
  const Frames& frames = system.state.frames;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (system.model.motion[i] != Rigid::Motion::dynamic) continue;
    const double mass = 1 / double(frames.inverse_mass[i]);
    const Vector3<double> v = frames.v[i].cast<double>(),
                          w = (frames.rotation(i).conjugate() * frames.w[i]).cast<double>();
    e.kinetic += (mass * v.squaredNorm() + w.cwiseProduct(w).dot(system.model.inertia[i].cast<double>())) / 2;
    e.potential -= mass * double(system.model.gravity_scale[i]) *
                   system.parameters.gravity.cast<double>().dot(frames.x[i].cast<double>());
  }
  return e;
}

class SlowEnergy : public testing::TestWithParam<std::string> {};

TEST_P(SlowEnergy, NeverGrowsHoweverLongTheSubstep) {
  for (const int fps : {10, 30, 60})
    for (const int substeps : {1, 2, 8}) {
      Scene scene =
          load_scene(GetParam(), {.overrides = {"world.substeps=1", "world.fps=" + std::to_string(fps)}});
      auto& system = dynamic_cast<SystemOf<Rigid>&>(scene.world.system(0));
      system.parameters.substeps = substeps;
      const Energy start = energy_of(system);
      double swings = start.kinetic, most = 0;
      for (int f = 0; f < 3 * fps; ++f) {
        ASSERT_TRUE(scene.world.step_frame().ok);
        const Energy now = energy_of(system);
        swings = std::max(swings, now.kinetic);
        most = std::max(most, now.kinetic + now.potential - start.kinetic - start.potential);
      }
      EXPECT_LE(most, 0.02 * swings) << "at " << fps << " frames a second and " << substeps << " sub-steps";
    }
}

std::vector<std::string> passive_scenes() {
  std::vector<std::string> out;
  for (const char* name : {"arch", "bridge", "card-house", "dominoes", "linked-rings", "marble-run",
                           "pyramid", "ragdolls", "wrecking-ball"})
    out.push_back(PLENUM_SOURCE_DIR "/scenes/" + std::string(name) + ".json");
  return out;
}
INSTANTIATE_TEST_SUITE_P(SlowRigid, SlowEnergy, testing::ValuesIn(passive_scenes()), [](const auto& param) {
  std::string name = std::filesystem::path(param.param).stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}}  // namespace plenum::<anonymous>
