// Values set from the command line.
#include <gtest/gtest.h>

#include "support.h"

namespace plenum { namespace {

TEST(Override, IsReadLikeTheFile) {
  Scene scene = load_toy(scene_text("", "", "\"stiffness\": 1"),
                         {"one.stiffness=2e3", "world.substeps=4", "systems.one.params.nested.mass=3",
                          "one.gravity=0,-1,0", "systems[0].params.iterations=9", "one.mode=brick",
                          "one.count=5", "one.model.label=two words", "camera.margin=0.5", "duration=7"});
  const auto& params = toy(scene).parameters;
  EXPECT_EQ(params.stiffness, 2000);
  EXPECT_EQ(scene.world.settings().substeps, 4);
  EXPECT_EQ(params.nested.mass, 3);
  EXPECT_EQ(params.gravity, Vec3(0, -1, 0));
  EXPECT_EQ(params.iterations, 9);
  EXPECT_EQ(params.mode, Toy::Shape::brick);
  EXPECT_EQ(toy(scene).state.x.size(), 5u);
  EXPECT_EQ(scene.settings.camera.margin, Real(0.5));
  EXPECT_EQ(scene.settings.duration, 7);
}

TEST(Override, RefusalsNameTheOption) {
  const std::string text = scene_text("", "\"positions\": [[0, 0, 0]]", "\"stiffness\": 1");
  const std::pair<const char*, const char*> cases[] = {
      {"one.stiffness=-3",
       "--set one.stiffness=-3: systems[0].params.stiffness: is out of range: -3 (allowed: 0 to 1e9 N/m)"},
      {"one.stifness=3",
       "--set one.stifness=3: names no parameter of a system of type 'toy': stifness; did you mean "
       "'stiffness'?"},
      {"systems.one.params.stifness=3",
       "--set systems.one.params.stifness=3: systems[0].params.stifness: is not a key that is known here; "
       "did "
       "you mean 'stiffness'?"},
      {"systems.two.params.stiffness=3",
       "--set systems.two.params.stiffness=3: names no system: two (allowed: one)"},
      {"wrold.substeps=3",
       "--set wrold.substeps=3: names neither a system nor a key of the scene: wrold; did you mean 'world'?"},
      {"zzz.x=3",
       "--set zzz.x=3: names neither a system nor a key of the scene: zzz (allowed: one, gravity, systems, "
       "keyframes, "
       "$schema, name, description, duration, budget_mib, world, camera, light, stage, debug)"},
      {"world.substep=3",
       "--set world.substep=3: world.substep: is not a key that is known here; did you mean 'substeps'?"},
      {"one.stiffness", "--set one.stiffness: has no 'path=value'; write for example --set world.substeps=4"},
      {"=3", "--set =3: has no 'path=value'; write for example --set world.substeps=4"},
      {"one..stiffness=3", "--set one..stiffness=3: has a malformed path: one..stiffness"},
      {"one.stiffness.=3", "--set one.stiffness.=3: has a malformed path: one.stiffness."},
      {"one.positions[x]=3", "--set one.positions[x]=3: has a malformed path: one.positions[x]"},
      {"[0].a=3", "--set [0].a=3: has a malformed path: [0].a"},
      {"one.positions[1]=1,2,3",
       "--set one.positions[1]=1,2,3: names an entry that is not there: one.positions[1] (allowed: 0 to 0)"},
      {"one.gravity[1]=3",
       "--set one.gravity[1]=3: names an entry of what the file does not give as a list: one.gravity[1]; "
       "give "
       "the whole list"},
      {"one.stiffness=nan",
       "--set one.stiffness=nan: systems[0].params.stiffness: must be a finite number that a double can "
       "hold: nan "
       "(allowed: 0 to 1e9 N/m)"},
      {"one.gravity=0,1e999,0",
       "--set one.gravity=0,1e999,0: systems[0].params.gravity[1]: must be a finite number that a double can "
       "hold: "
       "1e999 (allowed: -100 to 100 m/s^2)"},
      {"one.stiffness=",
       "--set one.stiffness=: systems[0].params.stiffness: must be a number: \"\" (allowed: 0 to 1e9 N/m)"},
      {"one.gravity=[1,2", "--set one.gravity=[1,2: one.gravity: has a list without an end: [1,2"},
      {"one=3", "--set one=3: names a whole system; name a value in it: one"},
      {"one.stiffness.x=3", "--set one.stiffness.x=3: names a key of what is no object: one.stiffness.x"},
  };
  for (const auto& [option, sentence] : cases) EXPECT_EQ(first_complaint(text, {option}), sentence);
}

}}  // namespace plenum
