// The only file that includes spdlog's headers, which take longer to compile than it does.
#include "log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace plenum::app {
namespace {

/// Writes to the standard error, in colours where it is a terminal. One thread at a time: commands report
/// between steps, never from within parallel loops.
spdlog::logger& logger() {
  static spdlog::logger standard_error = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_st>();
    sink->set_color(spdlog::level::info, "");  // notes are plain
    spdlog::logger made("plenum", std::move(sink));
    made.set_pattern("%^%v%$");
    return made;
  }();
  return standard_error;
}

}  // namespace

void be_quiet() {
  logger().set_level(spdlog::level::warn);
}

void note(const std::string& text) {
  logger().info(text);
}
void warn(const std::string& text) {
  logger().warn("plenum: warning: {}", text);
}
void complain(const std::string& text) {
  logger().error("plenum: {}", text);
}

}  // namespace plenum::app
