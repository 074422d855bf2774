// plenum check: all that is wrong with a scene file, and what its first frame tells.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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

/// How far check has come.
enum class Phase { reading, building, stepping };
constexpr const char* doing[] = {"reading the scene", "building the scene", "taking the first frame"};

/// Does `work`, which says how far it is, unless that takes longer than `seconds`: false. Nothing stops what
/// has begun, so that it then goes on in a thread, and the program has to end by leave().
template <class Work>
bool finishes(Work&& work, double seconds, const std::atomic<Phase>& phase) {
  std::packaged_task<void()> task(std::forward<Work>(work));
  std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  const std::chrono::duration<double> limit(seconds), unnoticed(std::min(seconds, 2.0));
  if (done.wait_for(unnoticed) == std::future_status::timeout) {
    note(fmt::format("{}, for at most {:g} s", doing[static_cast<int>(phase.load())], seconds));
    if (done.wait_for(limit - unnoticed) == std::future_status::timeout) {
      thread.detach();
      return false;
    }
  }
  thread.join();
  done.get();
  return true;
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
      if (problems.empty())
        fmt::print("{}: no problems{}\n", scene,
                   warnings.empty()       ? ""
                   : warnings.size() == 1 ? ", but a warning"
                                          : fmt::format(", but {} warnings", warnings.size()));
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
  const std::string file = find_scene(options.scene);
  Findings found;
  std::optional<Scene> scene;
  std::optional<FrameReport> frame;
  std::vector<Warning> early;
  std::atomic<Phase> phase = Phase::reading;
  const auto work = [&] {
    SceneOptions how{.overrides = options.set};
    how.before_build = [&] { phase = Phase::building; };
    found.problems = check_scene(file, how, &scene);
    if (!scene) return;
    early = first_warnings(scene->world);
    // What only shows when things move is told by the first frame.
    phase = Phase::stepping;
    if (options.seconds > 0) frame = scene->world.step_frame();
  };
  if (options.seconds == 0) {
    work();
  } else if (!finishes(work, options.seconds, phase)) {
    // Of what the thread still works on only `early` is not touched any more, once it steps.
    Findings told;
    const Phase reached = phase;
    const std::string late = fmt::format("takes longer than {:g} s and was not waited for", options.seconds);
    if (reached == Phase::stepping) {
      told.warnings = early;
      told.warnings.push_back({"", fmt::format("the first frame {}; raise --seconds", late)});
    } else {
      told.problems.push_back({.file = file,
                               .what = fmt::format("{} {}", doing[static_cast<int>(reached)], late),
                               .remedy = "make it smaller or raise --seconds"});
    }
    told.print(options.scene, options.json);
    leave(told.problems.empty() ? 0 : 1);
  }
  if (!scene) {
    found.print(options.scene, options.json);
    return !found.problems.empty() && is_of_option(found.problems.front()) ? 2 : 1;
  }
  found.warnings = early;
  if (frame) {
    for (const Warning& remark : remarks_of(*frame, scene->world)) found.warnings.push_back(remark);
    append_warnings(frame->systems, scene->world, found.warnings);
    found.milliseconds = frame->milliseconds;
    found.first_frame = frame->ok ? "good" : "not finite";
    if (!frame->ok)
      found.problems.push_back({.file = scene->file,
                                .key = fmt::format("{}: {}[{}]", frame->not_finite.system,
                                                   frame->not_finite.field, frame->not_finite.index),
                                .what = "is not finite after the first frame",
                                .remedy = frame->not_finite.remedy()});
  }
  found.print(options.scene, options.json);
  return found.problems.empty() ? 0 : 1;
}

}  // namespace plenum::app
