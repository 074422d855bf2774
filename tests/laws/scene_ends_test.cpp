// Scenes go on until what they tell of is over.
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/scene/scene.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum { namespace {

/// The scene's rigid bodies at the end of its duration.
class AtItsEnd {
 public:
  explicit AtItsEnd(const std::string& name)
      : scene_(load_scene(PLENUM_SOURCE_DIR "/scenes/" + name + ".json")) {
    const auto frames = std::lround(double(scene_.settings.duration) * double(scene_.world.settings().fps));
    for (long f = 0; f < frames; ++f) EXPECT_TRUE(scene_.world.step_frame().ok);
  }
  const SystemOf<Rigid>& rigid() { return dynamic_cast<SystemOf<Rigid>&>(scene_.world.system(0)); }

 private:
  Scene scene_;
};

TEST(SlowSceneEnds, AllMarblesHaveRunDown) {
  AtItsEnd scene("marble-run");
  const SystemOf<Rigid>& run = scene.rigid();
  for (std::size_t i = 0; i < run.model.motion.size(); ++i) {
    if (run.model.motion[i] != rigid::Motion::dynamic) continue;
    const Vec3& x = run.state.frames.x[i];
    EXPECT_LT(x.y(), 0.1) << i;                                       // the largest has a radius of 0.07
    EXPECT_LT(std::max(std::abs(x.x()), std::abs(x.z())), 1.2) << i;  // inside of the tray
  }
}

TEST(SlowSceneEnds, TheBallThatWasThrownAtTheHouseOfCardsLies) {
  AtItsEnd scene("card-house");
  EXPECT_LT(scene.rigid().state.frames.v[1].norm(), 0.01);
}

}}  // namespace plenum
