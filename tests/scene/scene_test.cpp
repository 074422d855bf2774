// Scene files: what they set, and the sentence with which each kind of mistake is refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "support.h"

namespace plenum { namespace {

TEST(Scene, SetsEveryKindOfValue) {
  Scene scene = load_toy(R"({
    "name": "all", "description": "every kind", "duration": 2.5, "gravity": [0, -3.7, 0],
    "world": {"fps": 30, "substeps": 4, "max_substeps": 10},
    "camera": {"automatic": false, "eye": [1, 2, 3], "target": [0, 1, 0], "field_of_view": 40},
    "light": {"direction": [0, 1, 0], "follows_camera": false}, "stage": {"floor": false},
    "systems": [
      {"type": "toy", "name": "a", "model": {
         "count": 3, "shape": "brick", "half_extents": [1, 2, 3], "label": "\u00e9", "needed": 2,
         "positions": [[1, 2, 3], [4, 5, 6]], "masses": [1, 2], "edges": [[0, 1], [1, 2]],
         "parts": [{"mass": 3, "pins": [0, 2]}],
         "mesh": {"shape": "box", "half_extents": [1, 1, 1], "cells_x": 1, "cells_y": 1, "cells_z": 1,
                  "scale": 2, "rotate": [0, 90, 0], "translate": [0, 0, 5]}},
       "params": {"gravity": [1, 0, 0], "stiffness": 1e3, "iterations": 7.0, "active": false, "mode": "brick",
                  "nested": {"mass": 9}}},
      {"type": "toy", "name": "b", "model": {"needed": 1}}
    ]})");
  EXPECT_EQ(scene.settings.name, "all");
  EXPECT_EQ(scene.settings.description, "every kind");
  EXPECT_EQ(scene.frames(), 75);
  EXPECT_EQ(scene.world.settings().substeps, 4);
  EXPECT_EQ(scene.world.settings().max_substeps, 10);
  EXPECT_FALSE(scene.settings.camera.automatic);
  EXPECT_EQ(scene.settings.camera.eye, Vec3(1, 2, 3));
  EXPECT_EQ(scene.settings.camera.field_of_view, 40);
  EXPECT_EQ(scene.settings.light.direction, Vec3(0, 1, 0));
  EXPECT_FALSE(scene.settings.stage.floor);
  const auto& a = toy(scene, "a");
  ASSERT_EQ(a.state.x.size(), 3u);
  EXPECT_EQ(a.state.x[1], Vec3(4, 5, 6));
  EXPECT_EQ(a.parameters.gravity, Vec3(1, 0, 0));  // its own, not the scene's
  EXPECT_EQ(a.parameters.stiffness, 1000);
  EXPECT_EQ(a.parameters.iterations, 7);
  EXPECT_FALSE(a.parameters.active);
  EXPECT_EQ(a.parameters.mode, Toy::Shape::brick);
  EXPECT_EQ(a.parameters.nested.mass, 9);
  ASSERT_EQ(a.model.mesh.x.size(), 8u);
  Vec3 low = a.model.mesh.x[0], high = low;
  for (const Vec3& x : a.model.mesh.x) low = low.cwiseMin(x), high = high.cwiseMax(x);
  EXPECT_LT((low - Vec3(-2, -2, 3)).norm(), 1e-5);
  EXPECT_LT((high - Vec3(2, 2, 7)).norm(), 1e-5);
  EXPECT_EQ(toy(scene, "b").parameters.gravity, Vec3(0, Real(-3.7), 0));
  EXPECT_EQ(toy(scene, "b").parameters.stiffness, 10);
}

TEST(Scene, ReportsUnknownKeysWithTheNearest) {
  EXPECT_EQ(first_complaint(scene_text("\"wrold\": {}")),
            "s.json:1: wrold: is not a key that is known here; did you mean 'world'?");
  EXPECT_EQ(
      first_complaint(scene_text("", "", "\"stifness\": 3")),
      "s.json:4: systems[0].params.stifness: is not a key that is known here; did you mean 'stiffness'?");
  EXPECT_EQ(
      first_complaint(scene_text("", "", "\"nested\": {\"density\": 3}")),
      "s.json:4: systems[0].params.nested.density: is not a key that is known here (allowed: mass, pins)");
  EXPECT_EQ(first_complaint(scene_text("", "\"half_extents\": [1, 1, 1]")),
            "s.json:3: systems[0].model.half_extents: applies only when shape is brick");
  EXPECT_EQ(first_complaint(scene_text("", "", "", "\"modle\": 1")),
            "s.json:2: systems[0].modle: is not a key that is known here; did you mean 'model'?");
  EXPECT_EQ(first_complaint(scene_text("\"a b\\n\": 1")).substr(0, 51),
            "s.json:1: \"a b\\u000a\": is not a key that is known h");
}

// Nothing is said of keys that a default would want or would not know.
TEST(Scene, ReportsAMistypedChoiceByItself) {
  EXPECT_EQ(
      complaints(scene_text("", "\"mesh\": {\"shape\": \"torrus\", \"major_radius\": 2, \"sides\": 9}")),
      std::vector<std::string>{
          "s.json:3: systems[0].model.mesh.shape: is none of the names to choose from: \"torrus\" "
          "(allowed: file, grid, box, icosphere, cylinder, capsule, cone, torus); did you mean 'torus'?"});
  // A key that none of them has is.
  EXPECT_EQ(complaints(scene_text("", "\"mesh\": {\"shape\": \"torrus\", \"majr_radius\": 2}")).size(), 2U);
}

TEST(Scene, ReportsWrongTypesAndLengths) {
  const auto model = [](const char* text) { return first_complaint(scene_text("", text)); };
  const auto params = [](const char* text) { return first_complaint(scene_text("", "", text)); };
  EXPECT_EQ(params("\"stiffness\": \"high\""),
            "s.json:4: systems[0].params.stiffness: must be a number: \"high\" (allowed: 0 to 1e9 N/m)");
  EXPECT_EQ(params("\"stiffness\": null"),
            "s.json:4: systems[0].params.stiffness: must be a number: null (allowed: 0 to 1e9 N/m)");
  EXPECT_EQ(params("\"active\": 1"), "s.json:4: systems[0].params.active: must be true or false: 1");
  EXPECT_EQ(params("\"iterations\": 2.5"),
            "s.json:4: systems[0].params.iterations: must be a whole number: 2.5 (allowed: 1 to 100)");
  EXPECT_EQ(params("\"gravity\": [0, 1]"),
            "s.json:4: systems[0].params.gravity: must be a list of 3 numbers: [2 values]");
  EXPECT_EQ(params("\"gravity\": -9.81"),
            "s.json:4: systems[0].params.gravity: must be a list of 3 numbers: -9.81");
  EXPECT_EQ(params("\"gravity\": [0, true, 0]"),
            "s.json:4: systems[0].params.gravity[1]: must be a number: true (allowed: -100 to 100 m/s^2)");
  EXPECT_EQ(
      params("\"mode\": true"),
      "s.json:4: systems[0].params.mode: is none of the names to choose from: true (allowed: ball, brick)");
  EXPECT_EQ(
      params("\"mode\": \"birck\""),
      "s.json:4: systems[0].params.mode: is none of the names to choose from: \"birck\" (allowed: ball, "
      "brick); did you mean 'brick'?");
  EXPECT_EQ(params("\"nested\": []"), "s.json:4: systems[0].params.nested: must be an object: [0 values]");
  EXPECT_EQ(model("\"edges\": [[0, 1], [1]]"),
            "s.json:3: systems[0].model.edges[1]: must be a list of 2 whole numbers: [1 value]");
  EXPECT_EQ(model("\"edges\": [[0, -1]]"),
            "s.json:3: systems[0].model.edges[0][1]: is out of range: -1 (allowed: 0 to 2147483647)");
  EXPECT_EQ(model("\"positions\": [[0, 0, 0], 1]"),
            "s.json:3: systems[0].model.positions[1]: must be a list of 3 numbers: 1");
  EXPECT_EQ(model("\"masses\": [1, 1, 1, 1, 1]"),
            "s.json:3: systems[0].model.masses: has too many entries: [5 values] (allowed: at most 4)");
  EXPECT_EQ(model("\"parts\": {}"), "s.json:3: systems[0].model.parts: must be a list: {0 keys}");
  EXPECT_EQ(model("\"label\": \"a\\u0000b\""),
            "s.json:3: systems[0].model.label: has a control character in it: \"a\\u0000b\"");
  EXPECT_EQ(first_complaint("[]"), "s.json:1: must be an object: [0 values]");
}

TEST(Scene, ReportsRangesWithTheirUnits) {
  const auto model = [](const char* text) { return first_complaint(scene_text("", text)); };
  const auto params = [](const char* text) { return first_complaint(scene_text("", "", text)); };
  EXPECT_EQ(params("\"stiffness\": -3"),
            "s.json:4: systems[0].params.stiffness: is out of range: -3 (allowed: 0 to 1e9 N/m)");
  EXPECT_EQ(params("\"iterations\": 0"),
            "s.json:4: systems[0].params.iterations: is out of range: 0 (allowed: 1 to 100)");
  EXPECT_EQ(params("\"gravity\": [0, -1000, 0]"),
            "s.json:4: systems[0].params.gravity[1]: is out of range: -1000 (allowed: -100 to 100 m/s^2)");
  EXPECT_EQ(params("\"nested\": {\"mass\": 0}"),
            "s.json:4: systems[0].params.nested.mass: is out of range: 0 (allowed: 1e-6 to 1e6 kg)");
  EXPECT_EQ(model("\"masses\": [1, -1]"),
            "s.json:3: systems[0].model.masses[1]: is out of range: -1 (allowed: at least 0 kg)");
  if (sizeof(Real) == 4) {
    EXPECT_EQ(params("\"anything\": 1e39"),
              "s.json:4: systems[0].params.anything: is beyond what a number of this build can hold: 1e39 "
              "(allowed: 0, or sizes from 1.401298464324817e-45 to 3.4028234663852886e38)");
    EXPECT_NE(params("\"anything\": 1e-46"), "");
    EXPECT_EQ(params("\"anything\": 1e-44"), "");  // denormal
  } else {
    EXPECT_EQ(params("\"anything\": 1e39"), "");
  }
  const std::pair<const char*, const char*> worlds[] = {
      {"\"fps\": 0", "1: world.fps: is out of range: 0 (allowed: 1 to 10000 1/s)"},
      {"\"fps\": 1e-300", "1: world.fps: is out of range: 1e-300 (allowed: 1 to 10000 1/s)"},
      {"\"substeps\": 0", "1: world.substeps: is out of range: 0 (allowed: 1 to 1000)"},
      {"\"substeps\": 1000000000", "1: world.substeps: is out of range: 1000000000 (allowed: 1 to 1000)"},
  };
  for (const auto& [text, sentence] : worlds)
    EXPECT_EQ(first_complaint(scene_text(std::string("\"world\": {") + text + "}")),
              std::string("s.json:") + sentence);
  EXPECT_EQ(first_complaint(scene_text("\"duration\": -1")),
            "s.json:1: duration: is out of range: -1 (allowed: 0 to 86400 s)");
}

TEST(Scene, GravityOfTheSceneMustSuitItsSystems) {
  EXPECT_EQ(first_complaint(scene_text("\"gravity\": [0, -1000, 0]")),
            "s.json:1: gravity[1]: is out of range: -1000 (allowed: -100 to 100 m/s^2)");
  EXPECT_EQ(first_complaint(scene_text("\"gravity\": [0, -1000, 0]", "", "\"gravity\": [0, 0, 0]")), "");
}

TEST(Scene, ReportsWhatIsMissing) {
  EXPECT_EQ(first_complaint("{}"), "s.json:1: systems: is missing");
  EXPECT_EQ(first_complaint("{\"systems\": []}"),
            "s.json:1: systems: must hold at least one system: [0 values]");
  EXPECT_EQ(complaints("{\"systems\": [{}]}"),
            (std::vector<std::string>{
                "s.json:1: systems[0].name: is missing (of the system: letters, digits, '_' and '-')",
                "s.json:1: systems[0].type: is missing"}));
  const char* const needed =
      "s.json:1: systems[0].model.needed: is missing (a value that must be given) (allowed: at least 1)";
  EXPECT_EQ(first_complaint("{\"systems\": [{\"type\": \"toy\", \"name\": \"a\", \"model\": {}}]}"), needed);
  EXPECT_EQ(first_complaint("{\"systems\": [{\"type\": \"toy\", \"name\": \"a\"}]}"), needed);
}

TEST(Scene, ReportsNamesAndTypesOfSystems) {
  EXPECT_EQ(first_complaint("{\"systems\": [{\"type\": \"tony\", \"name\": \"a\"}]}"),
            "s.json:1: systems[0].type: is no solver: \"tony\" (allowed: toy); did you mean 'toy'?");
  const std::string good = "\"type\": \"toy\", \"model\": {\"needed\": 1}";
  EXPECT_EQ(
      first_complaint("{\"systems\": [{\"name\": \"a\", " + good + "},\n{\"name\": \"a\", " + good + "}]}"),
      "s.json:2: systems[1].name: is the name of two systems: \"a\"");
  EXPECT_EQ(first_complaint("{\"systems\": [{\"name\": \"\", " + good + "}]}"),
            "s.json:1: systems[0].name: must not be empty: \"\"");
  EXPECT_EQ(first_complaint("{\"systems\": [{\"name\": \"../a\", " + good + "}]}"),
            "s.json:1: systems[0].name: is not a name for a system: \"../a\" (allowed: at most 60 letters, "
            "digits, '_' and '-')");
}

TEST(Scene, ListsAllProblemsInTheOrderOfTheFile) {
  const std::vector<std::string> all = complaints(
      scene_text("\"duration\": \"x\"", "\"count\": 0, \"colour\": 1", "\"stiffness\": -1, \"active\": 0"));
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].substr(0, 9), "s.json:1:");
  EXPECT_EQ(all[1].substr(0, 9), "s.json:3:");
  EXPECT_EQ(all[2].substr(0, 9), "s.json:3:");
  EXPECT_EQ(all[3].substr(0, 9), "s.json:4:");
  EXPECT_EQ(all[4].substr(0, 9), "s.json:4:");
  std::string many;
  for (int i = 0; i < 100000; ++i) many += (i ? ",\"key" : "\"key") + std::to_string(i) + "\":0";
  EXPECT_EQ(complaints(scene_text(many)).size(), 100u);
}

TEST(Scene, LoadThrowsTheFirstProblem) {
  try {
    load_toy(scene_text("", "", "\"stiffness\": -3"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.problem().file, "s.json");
    EXPECT_EQ(error.problem().line, 4);
    EXPECT_EQ(error.problem().key, "systems[0].params.stiffness");
    EXPECT_EQ(error.problem().value, "-3");
    EXPECT_EQ(error.problem().allowed, "0 to 1e9 N/m");
  }
}

TEST(Scene, ErrorsOfBuildingNameTheirLine) {
  EXPECT_EQ(first_complaint(scene_text("", "\"parts\": [\n{},\n{\"pins\": [0,\n 5]}]")),
            "s.json:6: systems[0].model.parts[1].pins[1]: is no particle: 5 (allowed: 0 to 1)");
}

TEST(Scene, ListsWhatEverySolverFindsWhileItIsBuilt) {
  const std::string text = R"({"systems": [
    {"type": "springs", "name": "nets", "params": {"pins": [{}, {}, {"released": true}]}, "model": {"parts": [
      {"type": "points", "points": [[0, 0, 0], [1, 0, 0]], "mass": 1,
       "springs": [
         [0, 2],
         [1, 1],
         [0, 1]]},
      {"type": "cloth", "pins": [
        {"where": "indices"},
        {"where": "box", "box_min": [8, 8, 8], "box_max": [9, 9, 9]}]}]}},
    {"type": "rigid", "name": "bodies", "model": {"bodies": [
      {"shapes": [{"shape": "hull", "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]}]},
      {"motion": "dynamic", "shapes": [{"shape": "plane"}]}]}},
    {"type": "particles", "name": "dust", "params": {"emitters": [
      {"direction": [0, 0, 0]},
      {"shape": "mesh", "surface": 3}]}}]})";
  std::vector<std::string> keys;
  for (const Problem& problem : check_scene_text(text, "s.json")) keys.push_back(problem.key);
  const std::vector<std::string> expected{
      "systems[0].params.pins[2]",
      "systems[0].model.parts[0].springs[0]",
      "systems[0].model.parts[0].springs[1]",
      "systems[0].model.parts[1].pins[0].indices",
      "systems[0].model.parts[1].pins[1]",
      "systems[1].model.bodies[0].shapes[0].points",
      "systems[1].model.bodies[1].motion",
      "systems[2].params.emitters[0].direction",
      "systems[2].params.emitters[1].surface",
  };
  EXPECT_EQ(keys, expected);
}

TEST(Scene, RefusesMemoryBeyondTheBudgetBeforeItBuilds) {
  const int before = Toy::builds;
  const std::string n = std::to_string(std::lround(1e8 * 2 * sizeof(Vec3) / 1048576));
  EXPECT_EQ(first_complaint(scene_text("\"budget_mib\": 100", "\"count\": 100000000")),
            "s.json:2: systems[0]: the scene needs " + n + " MiB of memory, " + n +
                " of them for 'one' (allowed: 100 MiB); make that system smaller or raise budget_mib");
  EXPECT_NE(first_complaint(scene_text("\"budget_mib\": 16000000", "\"count\": 1000000000000")), "");
  EXPECT_EQ(Toy::builds, before);
  // Two triangles a cell, a vertex for each triangle at most, twice over.
  const double mesh = 2 * 2e8 * (sizeof(Index3) + sizeof(Vec3)) / 1048576;
  EXPECT_EQ(
      first_complaint(scene_text("\"budget_mib\": 100",
                                 "\"mesh\": {\"shape\": \"grid\", \"cells_x\": 10000, \"cells_z\": 10000}")),
      "s.json:3: systems[0].model.mesh: needs " + std::to_string(std::lround(mesh)) +
          " MiB of memory (allowed: 100 MiB for the whole scene); make it coarser or raise budget_mib");
}

TEST(Scene, KeyframesMoveParameters) {
  Scene scene = load_toy(scene_text("\"world\": {\"fps\": 10}", "", "",
                                    R"("keyframes": [
      {"path": "params.gravity", "interpolation": "linear", "times": [0, 1], "values": [[0, 0, 0], [0, 10, 0]]},
      {"path": "active", "interpolation": "step", "times": [0, 0.25], "values": [true, false]},
      {"path": "mode", "interpolation": "step", "times": [0.25], "values": ["brick"]},
      {"path": "nested.mass", "times": [0, 2], "values": [1, 5]}])"));
  for (int i = 0; i < 5; ++i) scene.world.step_frame();
  const auto& params = toy(scene).parameters;
  EXPECT_NEAR(params.gravity[1], 5, 1e-5);
  EXPECT_FALSE(params.active);
  EXPECT_EQ(params.mode, Toy::Shape::brick);
  EXPECT_GT(params.nested.mass, 1);
  EXPECT_LT(params.nested.mass, 3);
}

TEST(Scene, KeyframesMoveCameraLightAndStage) {
  const std::string keys = R"("camera": {"automatic": false, "eye": [0, 1, 5]}, "keyframes": [
      {"path": "camera.eye", "interpolation": "linear", "times": [0, 2], "values": [[0, 1, 5], [4, 1, 5]]},
      {"path": "light.exposure", "times": [1], "values": [0.5]},
      {"path": "stage.grid", "interpolation": "step", "times": [0, 1], "values": [false, true]}])";
  const Scene scene = load_toy(scene_text(keys, "", "", ""));
  const SceneSettings then = scene.settings_at(1);
  EXPECT_NEAR(then.camera.eye[0], 2, 1e-6);
  EXPECT_NEAR(then.camera.eye[2], 5, 1e-6);
  EXPECT_EQ(then.light.exposure, Real(0.5));
  EXPECT_TRUE(then.stage.grid);
  EXPECT_FALSE(scene.settings_at(0.9).stage.grid);
  EXPECT_EQ(scene.settings.camera.eye, Vec3(0, 1, 5));
  const Scene set = load_toy(scene_text(keys, "", "", ""), {"camera.eye=7,8,9"});
  EXPECT_EQ(set.settings_at(1).camera.eye, Vec3(7, 8, 9));
  // The camera frames by itself unless told otherwise, and has no eye then.
  EXPECT_EQ(first_complaint(scene_text(
                R"("keyframes": [{"path": "camera.eye", "times": [0], "values": [[0, 1, 5]]}])", "", "", "")),
            "s.json:1: keyframes[0].path: applies only when automatic is false: \"camera.eye\"; set "
            "camera.automatic to false");
  EXPECT_EQ(first_complaint(scene_text(
                R"("camera": {"automatic": false}, "keyframes": [{"path": "camera.margin", "times": [0],
      "values": [1]}])",
                "", "", "")),
            "s.json:1: keyframes[0].path: applies only when automatic is true: \"camera.margin\"; set "
            "camera.automatic to true");
  EXPECT_EQ(
      first_complaint(scene_text(
          R"("keyframes": [{"path": "camera.automatic", "times": [0], "values": [true]}])", "", "", "")),
      "s.json:1: keyframes[0].path: decides which values a camera has, and cannot be moved by keyframes: "
      "\"camera.automatic\"; set it once, and move camera.azimuth and the like, or camera.eye and the "
      "like");
  EXPECT_EQ(first_complaint(scene_text(
                R"("keyframes": [{"path": "light.exposur", "times": [0], "values": [1]}])", "", "", "")),
            "s.json:1: keyframes[0].path: is no value of camera, light or stage: \"light.exposur\"; did you "
            "mean 'light.exposure'?");
}

TEST(Scene, SwitchesAndChoicesChangeAtTheirTimes) {
  Scene scene = load_toy(scene_text(
      R"("world": {"fps": 10}, "keyframes": [{"path": "stage.grid", "times": [0, 1], "values": [false, true]},
      {"path": "stage.legend", "interpolation": "linear", "times": [0, 1], "values": [true, false]}])",
      "", "",
      R"("keyframes": [{"path": "active", "times": [0, 0.5], "values": [true, false]},
      {"path": "mode", "interpolation": "linear", "times": [0, 0.5], "values": ["ball", "brick"]}])"));
  for (const double t : {0.0, 0.4, 0.6, 0.999}) {
    EXPECT_FALSE(scene.settings_at(t).stage.grid) << t;
    EXPECT_TRUE(scene.settings_at(t).stage.legend) << t;
  }
  EXPECT_TRUE(scene.settings_at(1).stage.grid);
  EXPECT_FALSE(scene.settings_at(1).stage.legend);
  for (int f = 1; f <= 4; ++f) {
    scene.world.step_frame();
    EXPECT_TRUE(toy(scene).parameters.active) << f;
    EXPECT_EQ(toy(scene).parameters.mode, Toy::Shape::ball) << f;
  }
  scene.world.step_frame();
  EXPECT_FALSE(toy(scene).parameters.active);
  EXPECT_EQ(toy(scene).parameters.mode, Toy::Shape::brick);
}

TEST(Scene, ViewsThatShowNothingAreRefusedAtTheirKeyframes) {
  const auto keys = [](const std::string& keyframes, const std::string& eye = "[0, 1, 5]") {
    return complaints(scene_text("\"camera\": {\"automatic\": false, \"eye\": " + eye +
                                     ", \"target\": [0, 1, 0]}, \"keyframes\": [" + keyframes + "]",
                                 "", "", ""));
  };
  using All = std::vector<std::string>;
  EXPECT_EQ(keys(R"({"path": "camera.up", "times": [0, 1], "values": [[0, 1, 0], [0, 0, 0]]})"),
            All{"s.json:1: keyframes[0].values[1]: must not be the zero vector: [3 values]"});
  EXPECT_EQ(keys(R"({"path": "light.exposure", "times": [0], "values": [1]},
                    {"path": "light.direction", "times": [3], "values": [[0, 0, 0]]})"),
            All{"s.json:2: keyframes[1].values[0]: must not be the zero vector: [3 values]"});
  EXPECT_EQ(keys(R"({"path": "camera.eye", "times": [0, 2], "values": [[0, 1, 5], [0, 1, 0]]})"),
            All{"s.json:1: keyframes[0].values[1]: eye and target are the same place: [3 values]"});
  // At the target's time the eye is half its way, where the target is.
  EXPECT_EQ(keys(R"({"path": "camera.eye", "interpolation": "linear", "times": [0, 2],
                     "values": [[0, 1, 4], [0, 1, -4]]},
                    {"path": "camera.target", "times": [1], "values": [[0, 1, 0]]})"),
            All{"s.json:3: keyframes[1].values[0]: eye and target are the same place: [3 values]"});
  // What keyframes move away from the first moment on is never seen.
  EXPECT_EQ(keys(R"({"path": "camera.eye", "times": [0], "values": [[0, 1, 5]]})", "[0, 1, 0]"), All{});
}

TEST(Scene, DirectionsThatPassThroughZeroHoldOnTheWay) {
  const Scene scene = load_toy(scene_text(
      R"("camera": {"automatic": false, "target": [0, 1, 0]}, "keyframes": [
      {"path": "light.direction", "interpolation": "linear", "times": [0, 2], "values": [[0, 3, 0], [0, -3, 0]]},
      {"path": "camera.up", "interpolation": "linear", "times": [0, 2], "values": [[1, 0, 0], [-1, 0, 0]]},
      {"path": "camera.eye", "interpolation": "linear", "times": [0, 2], "values": [[0, 1, 5], [0, 1, -5]]}])",
      "", "", ""));
  const SceneSettings now = scene.settings_at(1);
  EXPECT_EQ(now.light.direction, Vec3(0, 3, 0));
  EXPECT_EQ(now.camera.up, Vec3(1, 0, 0));
  EXPECT_EQ(now.camera.eye, Vec3(0, 1, 0));
  EXPECT_EQ(now.camera.target, Vec3(0, 1, -5));  // on the way that it looked
  for (double t = 0; t <= 2; t += 1.0 / 64) {
    const SceneSettings at = scene.settings_at(t);
    EXPECT_EQ(at.light.direction.normalized(), Vec3(0, t <= 1 ? 1 : -1, 0)) << t;
    EXPECT_EQ(Vec3(at.camera.target - at.camera.eye).normalized(), Vec3(0, 0, t <= 1 ? -1 : 1)) << t;
  }
}

TEST(Scene, WhatIsSetFromOutsideKeepsItsValue) {
  const std::string keys =
      R"("keyframes": [{"path": "params.gravity", "times": [0, 1], "values": [[0, 0, 0], [0, 10, 0]]},
                       {"path": "nested.mass", "times": [0, 1], "values": [1, 5]}])";
  Scene scene = load_toy(scene_text("\"world\": {\"fps\": 10}", "", "", keys), {"one.gravity=1,2,3"});
  for (int i = 0; i < 10; ++i) scene.world.step_frame();
  EXPECT_EQ(toy(scene).parameters.gravity, Vec3(1, 2, 3));
  EXPECT_NEAR(toy(scene).parameters.nested.mass, 5, 1e-5);  // the others still move
  // So do the whole that they are part of, and a part of them.
  Scene whole = load_toy(scene_text("\"world\": {\"fps\": 10}", "", "", keys), {R"(one.nested={"mass": 7})"});
  for (int i = 0; i < 10; ++i) whole.world.step_frame();
  EXPECT_EQ(toy(whole).parameters.nested.mass, 7);
  EXPECT_NEAR(toy(whole).parameters.gravity.y(), 10, 1e-5);
}

TEST(Scene, RefusesBrokenKeyframes) {
  const auto keyframes = [](const std::string& text) {
    return first_complaint(scene_text("", "", "", "\"keyframes\": [{" + text + "}]"));
  };
  const std::string at = "s.json:2: systems[0].keyframes[0]";
  EXPECT_EQ(keyframes("\"path\": \"stifness\", \"times\": [0], \"values\": [1]"),
            at + ".path: is no parameter of this system: \"stifness\"; did you mean 'stiffness'?");
  EXPECT_EQ(keyframes("\"path\": \"stiffness\", \"times\": [0, 1, 1], \"values\": [1, 2, 3]"),
            at + ".times[2]: does not come after the time before it: 1 (allowed: more than 1 s)");
  EXPECT_EQ(keyframes("\"path\": \"stiffness\", \"times\": [0, 1], \"values\": [1]"),
            at + ".values: must hold one value for each time: [1 value] (allowed: 2 values)");
  EXPECT_EQ(keyframes("\"path\": \"stiffness\", \"times\": [0], \"values\": [-1]"),
            at + ".values[0]: is out of range: -1 (allowed: 0 to 1e9 N/m)");
  EXPECT_EQ(keyframes("\"path\": \"gravity\", \"times\": [0], \"values\": [1]"),
            at + ".values[0]: must be a list of 3 numbers: 1");
  EXPECT_EQ(keyframes("\"path\": \"stiffness\", \"times\": [], \"values\": []"),
            at + ".times: must hold at least one time: [0 values]");
  EXPECT_EQ(
      keyframes("\"path\": \"stiffness\", \"interpolation\": \"cubic\", \"times\": [0], \"values\": [1]"),
      at + ".interpolation: is none of the names to choose from: \"cubic\" (allowed: linear, smooth, step)");
  EXPECT_EQ(keyframes("\"times\": [0], \"values\": [1]"),
            at + ".path: is missing (of what moves, such as gravity or emitters[0].rate in a system, "
                 "camera.azimuth in the scene)");
}

TEST(Scene, ItsIdentityIsWhatItsSystemsAreMadeOf) {
  const auto snapshot_of = [](const std::string& text) { return load_toy(text).world.snapshot(); };
  Scene scene = load_toy(scene_text("", "", "\"stiffness\": 1"));
  // Pictures, names and comments may change between a checkpoint and its resumption.
  EXPECT_NO_THROW(scene.world.restore(snapshot_of(
      scene_text("\"duration\": 9, \"camera\": {\"margin\": 1}", "", "/* half */ \"stiffness\": 1.0"))));
  // So may parameters, which then are this scene's, and steps.
  EXPECT_EQ(scene.world.restore(snapshot_of(scene_text("", "", "\"stiffness\": 2"))),
            std::vector<std::string>{"one.stiffness: 1, was 2"});
  EXPECT_EQ(toy(scene).parameters.stiffness, 1);
  EXPECT_NO_THROW(
      scene.world.restore(snapshot_of(scene_text("\"world\": {\"substeps\": 2}", "", "\"stiffness\": 1"))));
  for (const std::string& text : {scene_text("\"world\": {\"fps\": 30}"), scene_text("", "\"count\": 3")})
    EXPECT_THROW(scene.world.restore(snapshot_of(text)), Error) << text;
}

TEST(Scene, EverySceneOfTheHouseLoads) {
  int scenes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLENUM_SOURCE_DIR "/scenes")) {
    if (entry.path().extension() != ".json") continue;
    ++scenes;
    EXPECT_EQ(sentences(check_scene(entry.path().string())), std::vector<std::string>());
  }
  EXPECT_GT(scenes, 0);
}

TEST(Scene, CameraAndLightNeedDirections) {
  EXPECT_EQ(first_complaint(scene_text("\"light\": {\"direction\": [0, 0, 0]}")),
            "s.json:1: light.direction: must not be the zero vector: [3 values]");
  EXPECT_EQ(first_complaint(scene_text("\"camera\": {\"automatic\": false, \"up\": [0, 0, 0]}")),
            "s.json:1: camera.up: must not be the zero vector: [3 values]");
  EXPECT_EQ(first_complaint(
                scene_text("\"camera\": {\"automatic\": false, \"eye\": [1, 0, 0], \"target\": [1, 0, 0]}")),
            "s.json:1: camera.target: eye and target are the same place: [3 values]");
  EXPECT_EQ(first_complaint(scene_text("\"camera\": {\"eye\": [1, 0, 0]}")),
            "s.json:1: camera.eye: applies only when automatic is false");
}

TEST(Scene, DebugDrawingIsAskedForInTheFileOrByAnOption) {
  const Scene plain = load_toy(scene_text());
  EXPECT_FALSE(plain.settings.debug.any());
  const std::string text = scene_text(R"("debug": {"contacts": true, "force_scale": 0.01})");
  const Scene scene = load_toy(text, {"debug.islands=true"});
  EXPECT_TRUE(scene.settings.debug.contacts && scene.settings.debug.islands);
  EXPECT_FALSE(scene.settings.debug.shapes || scene.settings.debug.joints);
  EXPECT_FLOAT_EQ(scene.settings.debug.force_scale, 0.01f);
  EXPECT_NE(first_complaint(scene_text(R"("debug": {"contact": true})")).find("contacts"), std::string::npos);
}

}}  // namespace plenum
