#pragma once
// A progress line on standard error: a bar on a terminal, a line every tenth of the work elsewhere.
#include <chrono>
#include <string>

namespace plenum::app {

class Progress {
 public:
  Progress(int total, bool quiet);
  ~Progress();
  /// `done` frames of total; `milliseconds` the last one took.
  void update(int done, double milliseconds);

 private:
  int total_, tenth_ = -1;
  bool quiet_, terminal_, line_open_ = false;
  double smoothed_ = 0;
  std::chrono::steady_clock::time_point start_, shown_;
};

}  // namespace plenum::app
