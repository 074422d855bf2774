#pragma once
// Short ways to load scenes of toys and to see what is said of bad ones.
#include <string>
#include <vector>

#include "plenum/scene/scene.h"
#include "toy_solver.h"

namespace plenum {

/// A scene with one toy called "one"; `extra` goes into the scene (line 1), `system` into the system (line
/// 2), `model` (line 3) and `params` (line 4) into its parts.
inline std::string scene_text(const std::string& extra = "", const std::string& model = "",
                              const std::string& params = "", const std::string& system = "") {
  return "{" + extra + (extra.empty() ? "" : ",") + "\n\"systems\": [{\"type\": \"toy\", \"name\": \"one\"" +
         (system.empty() ? "" : ", " + system) + ",\n\"model\": {\"needed\": 1" +
         (model.empty() ? "" : ", ") + model + "},\n\"params\": {" + params + "}}]}";
}

inline SceneOptions toy_options(std::vector<std::string> overrides = {}) {
  SceneOptions options;
  options.solvers = toy_solvers();
  options.overrides = std::move(overrides);
  return options;
}

inline std::vector<std::string> sentences(const std::vector<Problem>& problems) {
  std::vector<std::string> all;
  for (const Problem& problem : problems) all.push_back(sentence(problem));
  return all;
}

inline std::vector<std::string> complaints(const std::string& text, std::vector<std::string> overrides = {}) {
  return sentences(check_scene_text(text, "s.json", toy_options(std::move(overrides))));
}

inline std::string first_complaint(const std::string& text, std::vector<std::string> overrides = {}) {
  const std::vector<std::string> all = complaints(text, std::move(overrides));
  return all.empty() ? "" : all.front();
}

inline Scene load_toy(const std::string& text, std::vector<std::string> overrides = {}) {
  return load_scene_text(text, "s.json", toy_options(std::move(overrides)));
}

inline const SystemOf<Toy>& toy(Scene& scene, const char* name = "one") {
  return dynamic_cast<const SystemOf<Toy>&>(*scene.world.find(name));
}

}  // namespace plenum
