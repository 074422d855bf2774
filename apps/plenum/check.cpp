// plenum check: all that is wrong with a scene file, and what its first frame tells.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "log.h"
#include "plenum/base/error.h"
#include "plenum/scene/scene.h"
#include "usage.h"
#include "warnings.h"

namespace plenum::app {
namespace {

/// The first frame, unless it takes longer than `seconds`. Nothing stops a step once it has begun, so that it
/// then goes on in a thread, and the program has to end by leave().
std::optional<FrameReport> first_frame(World& world, double seconds) {
  std::packaged_task<FrameReport()> task([&world] { return world.step_frame(); });
  std::future<FrameReport> frame = task.get_future();
  std::thread thread(std::move(task));
  const std::chrono::duration<double> limit(seconds), unnoticed(std::min(seconds, 2.0));
  if (frame.wait_for(unnoticed) == std::future_status::timeout) {
    note(fmt::format("taking the first frame, for at most {:g} s", seconds));
    if (frame.wait_for(limit - unnoticed) == std::future_status::timeout) {
      thread.detach();
      return {};
    }
  }
  thread.join();
  return frame.get();
}

/// Ends the program while a thread of it still works.
[[noreturn]] void leave(int status) {
  if (std::fflush(stdout) != 0 && status == 0) status = 1;
  std::_Exit(status);
}

nlohmann::ordered_json json_of(const Problem& p) {
  return {{"file", p.file},   {"line", p.line},       {"key", p.key},         {"what", p.what},
          {"value", p.value}, {"allowed", p.allowed}, {"nearest", p.nearest}, {"remedy", p.remedy}};
}

/// What check found, so far.
struct Findings {
  std::vector<Problem> problems;
  std::vector<Warning> warnings;
  const char* first_frame = "not taken";
  double milliseconds = 0;

  void print(const std::string& scene, bool json) const {
    if (!json) {
      for (const Warning& w : warnings) warn(w.sentence());
      for (const Problem& p : problems) complain(sentence(p));
      if (problems.empty()) fmt::print("{}: no problems\n", scene);
      return;
    }
    nlohmann::ordered_json j = {{"scene", scene},
                                {"ok", problems.empty()},
                                {"problems", nlohmann::ordered_json::array()},
                                {"warnings", nlohmann::ordered_json::array()},
                                {"first_frame", {{"state", first_frame}, {"milliseconds", milliseconds}}}};
    for (const Problem& p : problems) j["problems"].push_back(json_of(p));
    for (const Warning& w : warnings)
      j["warnings"].push_back({{"system", w.system}, {"what", w.text}, {"times", w.times}});
    fmt::print("{}\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
};

}  // namespace

int check(const CheckOptions& options) {
  Findings found;
  std::optional<Scene> scene;
  found.problems = check_scene(find_scene(options.scene), {.overrides = options.set}, &scene);
  if (!scene) {
    found.print(options.scene, options.json);
    return !found.problems.empty() && is_of_option(found.problems.front()) ? 2 : 1;
  }
  World& world = scene->world;
  found.warnings = first_warnings(world);
  // What only shows when things move is told by the first frame.
  if (options.seconds > 0) {
    const std::optional<FrameReport> frame = first_frame(world, options.seconds);
    if (!frame) {
      found.warnings.push_back(
          {"", fmt::format("the first frame takes longer than {:g} s and was not waited for; raise --seconds",
                           options.seconds)});
      found.print(options.scene, options.json);
      leave(0);
    }
    append_warnings(frame->systems, world, found.warnings);
    found.milliseconds = frame->milliseconds;
    found.first_frame = frame->ok ? "good" : "not finite";
    if (!frame->ok)
      found.problems.push_back({.file = scene->file,
                                .key = fmt::format("{}: {}[{}]", frame->not_finite.system,
                                                   frame->not_finite.field, frame->not_finite.index),
                                .what = "is not finite after the first frame",
                                .remedy = NotFinite::remedy});
  }
  found.print(options.scene, options.json);
  return found.problems.empty() ? 0 : 1;
}

}  // namespace plenum::app
