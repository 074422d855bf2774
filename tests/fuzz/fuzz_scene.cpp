// Reads, checks and builds any text as a scene. After a NUL byte come options as by --set, each ended by
// another.
#include <cstdint>
#include <string>

#include "plenum/scene/scene.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plenum;
  const std::string input(reinterpret_cast<const char*>(data), size);
  std::size_t at = std::min(input.find('\0'), input.size());
  const std::string text = input.substr(0, at);
  SceneOptions options;
  options.memory_limit = std::size_t{4} << 20;
  while (at < input.size() && options.overrides.size() < 4) {
    const std::size_t end = std::min(input.find('\0', at + 1), input.size());
    options.overrides.push_back(input.substr(at + 1, end - at - 1));
    at = end;
  }
  // The verdict of the check is that of loading, and every complaint is a sentence.
  const std::vector<Problem> problems = check_scene_text(text, "scene.json", options);
  for (const Problem& problem : problems)
    if (problem.what.empty()) __builtin_trap();
  bool loaded = false;
  try {
    Scene scene = load_scene_text(text, "scene.json", options);
    loaded = true;
    if (scene.world.size() == 0) __builtin_trap();
  } catch (const Error&) {
  }
  if (loaded != problems.empty()) __builtin_trap();
  return 0;
}
