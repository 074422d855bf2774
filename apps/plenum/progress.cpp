#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace plenum::app {
namespace {

using Clock = std::chrono::steady_clock;

std::string duration(double seconds) {
  const auto s = static_cast<long>(seconds + 0.5);
  return s < 60 ? fmt::format("{} s", s) : fmt::format("{}:{:02d} min", s / 60, s % 60);
}

}  // namespace

Progress::Progress(int total, bool quiet)
    : total_(total), quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0), start_(Clock::now()) {}

Progress::~Progress() {
  if (line_open_) fmt::print(stderr, "\n");
}

void Progress::update(int done, double milliseconds) {
  if (quiet_) return;
  smoothed_ = done <= 1 ? milliseconds : 0.9 * smoothed_ + 0.1 * milliseconds;
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = done > 0 ? elapsed / done * (total_ - done) : 0;
  const std::string text =
      fmt::format("frame {:>5}/{}  {:7.2f} ms/frame  {} left", done, total_, smoothed_, duration(left));
  if (terminal_) {
    if (done < total_ && now - shown_ < std::chrono::milliseconds(50)) return;
    shown_ = now;
    constexpr int width = 28;
    const int filled = total_ > 0 ? width * done / total_ : width;
    fmt::print(stderr, "\r[{}{}] {}   ", std::string(static_cast<std::size_t>(filled), '#'),
               std::string(static_cast<std::size_t>(width - filled), '.'), text);
    std::fflush(stderr);
    line_open_ = true;
  } else {
    const int tenth = total_ > 0 ? 10 * done / total_ : 10;
    if (tenth == tenth_) return;
    tenth_ = tenth;
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace plenum::app
