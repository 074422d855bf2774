// Laws that hold for every scene of scenes/: determinism, resumption, disposable workspaces, finite states.
#include <gtest/gtest.h>

#include "laws/scene_files.h"
#include "plenum/scene/scene.h"

namespace plenum { namespace {

class EveryScene : public testing::TestWithParam<std::string> {};

constexpr int frames = 12;

World load(const std::string& file, int threads) {
  Scene scene = load_scene(file);
  scene.world.set_threads(threads);
  return std::move(scene.world);
}

TEST_P(EveryScene, HashIsTheSameForEveryThreadCount) {
  const auto run = [](int threads) {
    World world = load(GetParam(), threads);
    for (int f = 0; f < frames; ++f) EXPECT_TRUE(world.step_frame().ok);
    return world.hash();
  };
  const Hash128 one = run(1);
  for (const int threads : {3, 8}) EXPECT_EQ(run(threads), one) << threads;
}

TEST_P(EveryScene, PoisonedWorkspacesAndResumptionChangeNothing) {
  World whole = load(GetParam(), 2), poisoned = load(GetParam(), 2), resumed = load(GetParam(), 2);
  for (int f = 0; f < frames; ++f) {
    whole.step_frame();
    for (std::size_t s = 0; s < poisoned.size(); ++s) poisoned.system(s).poison_workspace();
    poisoned.step_frame();
    if (f == frames / 2) {
      const std::vector<std::byte> saved = whole.snapshot();
      resumed.restore(saved, "snapshot");
      EXPECT_EQ(resumed.snapshot(), saved);
    }
  }
  while (resumed.frame() < whole.frame()) resumed.step_frame();
  EXPECT_EQ(poisoned.hash(), whole.hash());
  EXPECT_EQ(resumed.hash(), whole.hash());
}

INSTANTIATE_TEST_SUITE_P(Slow, EveryScene, testing::ValuesIn(scenes()), [](const auto& info) {
  std::string name = std::filesystem::path(info.param).stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace plenum
