#pragma once
// Threads that stand by for one short loop after another. Only the backends of parallel.h include this.
//
// Waking a thread takes as long as thousands of instructions, more than a colour of contacts or a diagonal of
// a factor has to do. So the threads of a team look at their tickets until they are let go, as the workers of
// Box2D v3 do between the stages of a step. Each thread begins with blocks of its own, the same in every loop
// of as many blocks, which are likely still in its cache, and then takes what others have left.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "plenum/base/parallel.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace plenum::inline PLENUM_ABI { namespace detail {

class Team {
 public:
  static constexpr int most_threads = 64;
  static constexpr std::size_t most_blocks = (1u << 20) - 1;

  /// For 2 to most_threads `threads`, the caller one of them.
  explicit Team(int threads) : threads_(threads), patience_(threads <= num_cores() ? 2000 : 0) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls f(block) for every block in [0, num_blocks), at most most_blocks. Only the caller may call it, and
  /// not from within f.
  void run(std::size_t num_blocks, FunctionRef<void(std::size_t)> f) {
    done_.store(0, std::memory_order_relaxed);
    ++loop_;
    const auto share = [&](int t) { return num_blocks * std::size_t(t) / std::size_t(threads_); };
    for (int t = threads_ - 1; t >= 0; --t) {
      seats_[t].function.store(&f, std::memory_order_relaxed);
      seats_[t].ticket.store(ticket(loop_, share(t), share(t + 1)), std::memory_order_release);
    }
    take_blocks(0);
    for (int turns = 0; done_.load(std::memory_order_acquire) != num_blocks; ++turns) pause(turns);
  }

  /// What the other threads do until dismiss().
  void work() {
    const int seat = 1 + workers_.fetch_add(1, std::memory_order_relaxed);
    for (int turns = 0; !dismissed_.load(std::memory_order_acquire); ++turns)
      if (take_blocks(seat))
        turns = 0;
      else
        pause(turns);
  }
  void dismiss() { dismissed_.store(true, std::memory_order_release); }

 private:
  /// A share that has not been taken yet: number of the loop, first block, end. What it is a share of does
  /// not change as long as it is not empty, since run() waits for all blocks; so a ticket that is still the
  /// same when it is exchanged for the next is for the function that was read between.
  static std::uint64_t ticket(std::uint64_t loop, std::size_t first, std::size_t end) {
    return loop << 40 | std::uint64_t(first) << 20 | std::uint64_t(end);
  }
  struct alignas(64) Seat {
    std::atomic<std::uint64_t> ticket = 0;
    std::atomic<const FunctionRef<void(std::size_t)>*> function = nullptr;
  };

  /// Takes blocks as long as there are any; whether there were. Says so at the end alone: the threads would
  /// otherwise wait for the count to come over from each other after every block.
  bool take_blocks(int seat) {
    std::size_t taken = 0;
    for (int k = 0; k < threads_; ++k) {
      Seat& from = seats_[(seat + k) % threads_];
      std::uint64_t now = from.ticket.load(std::memory_order_acquire);
      while (true) {
        const std::size_t first = now >> 20 & most_blocks, end = now & most_blocks;
        if (first >= end) break;
        const FunctionRef<void(std::size_t)>* const f = from.function.load(std::memory_order_relaxed);
        if (!from.ticket.compare_exchange_weak(now, now + (1u << 20), std::memory_order_acq_rel,
                                               std::memory_order_acquire))
          continue;
        (*f)(first);
        ++taken;
        now = from.ticket.load(std::memory_order_acquire);
      }
    }
    if (taken > 0) done_.fetch_add(taken, std::memory_order_release);
    return taken > 0;
  }

  /// Where there are more threads than processors, or somebody else wants one, others get it.
  void pause(int turns) const {
    if (turns >= patience_) return std::this_thread::yield();
#if defined(__SSE2__)
    _mm_pause();
#endif
  }

  const int threads_, patience_;
  std::uint64_t loop_ = 0;
  std::array<Seat, most_threads> seats_;
  alignas(64) std::atomic<std::size_t> done_ = 0;
  alignas(64) std::atomic<int> workers_ = 0;
  std::atomic<bool> dismissed_ = false;
};

/// The team that the loops of this thread run on, if any.
inline thread_local Team* current_team = nullptr;

/// f with `team` as the one that the loops of this thread run on; dismisses it at the end, whatever happens.
inline void lead(Team& team, FunctionRef<void()> f) {
  struct Leave {
    Team& team;
    ~Leave() {
      current_team = nullptr;
      team.dismiss();
    }
  } leave{team};
  current_team = &team;
  f();
}

}}  // namespace plenum::PLENUM_ABI::detail
