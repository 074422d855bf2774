#pragma once
// Scoped stage timers of a step, summed into a fixed-size table.
#include <array>
#include <chrono>
#include <span>
#include <string_view>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Milliseconds per stage. Stage names are string literals; a step has at most `capacity` of them.
class StageTimes {
 public:
  static constexpr std::size_t capacity = 16;
  struct Stage {
    const char* name = nullptr;
    double milliseconds = 0;
  };
  void add(const char* name, double milliseconds) {
    for (std::size_t i = 0; i < size_; ++i)
      if (std::string_view(stages_[i].name) == name) {
        stages_[i].milliseconds += milliseconds;
        return;
      }
    if (size_ < capacity) stages_[size_++] = {name, milliseconds};
  }
  void add(const StageTimes& other) {
    for (const Stage& s : other.stages()) add(s.name, s.milliseconds);
  }
  std::span<const Stage> stages() const { return {stages_.data(), size_}; }

 private:
  std::array<Stage, capacity> stages_;
  std::size_t size_ = 0;
};

/// Adds the time between construction and destruction to a stage.
class StageTimer {
 public:
  StageTimer(StageTimes& times, const char* name)
      : times_(times), name_(name), start_(std::chrono::steady_clock::now()) {}
  ~StageTimer() {
    times_.add(name_,
               std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count());
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  StageTimes& times_;
  const char* name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace plenum::inline PLENUM_ABI
