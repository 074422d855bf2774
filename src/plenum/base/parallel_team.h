#pragma once
// Threads that stand by for one short loop after another. Only the backends of parallel.h include this.
//
// Waking a thread takes as long as thousands of instructions, more than a colour of contacts or a diagonal of
// a factor has to do. So the threads of a team wait for the next loop until they are let go, as the workers
// of Box2D v3 do between the stages of a step. Each thread begins with blocks of its own, the same in every
// loop of as many blocks, which are likely still in its cache, and takes what others leave lying for long.
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
    // So that none is half a round of numbers behind.
    if (loop_ % (num_loops / 4) == 0)
      for (Seat& seat : seats_) seat.ticket.store(Ticket{loop_, 0, 0}.word(), std::memory_order_relaxed);
    loop_ = (loop_ + 1) % num_loops;
    function_.store(&f, std::memory_order_relaxed);
    call_.store(Call{loop_, num_blocks}.word(), std::memory_order_release);
    const Call call{loop_, num_blocks};
    left_to_others_ += num_blocks - take_blocks_of(0, call);
    for (int turns = 0; done_by_others_.load(std::memory_order_acquire) != left_to_others_; ++turns) {
      pause(turns);
      if (turns == before_helping) left_to_others_ -= help(0, call);
    }
  }

  /// What the other threads do until dismiss(). Until the next loop they look at what the caller alone
  /// writes: where others take blocks they would slow these down, by a message there and back for each.
  void work() {
    const int seat = 1 + workers_.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t seen = 0;
    for (int turns = 0; !dismissed_.load(std::memory_order_acquire); ++turns) {
      const std::uint64_t word = call_.load(std::memory_order_acquire);
      std::size_t taken = 0;
      if (word != seen)
        seen = word, turns = 0, taken = take_blocks_of(seat, Call::of(word));
      else if (turns == before_helping && seen != 0)
        taken = help(seat, Call::of(word));
      else
        pause(turns);
      // At the end alone: threads would otherwise wait for the count to come over after every block.
      if (taken > 0) done_by_others_.fetch_add(taken, std::memory_order_release);
    }
  }
  void dismiss() { dismissed_.store(true, std::memory_order_release); }

 private:
  static constexpr int block_bits = 20;
  static constexpr std::uint64_t num_loops = 1u << 24;
  /// Turns of waiting, some microseconds, before others' blocks are taken: what these go through comes over
  /// from the other's cache, and has to go back in the next loop.
  static constexpr int before_helping = 100;
  /// A loop of run(), by its number.
  struct Call {
    std::uint64_t loop;
    std::size_t num_blocks;
    std::uint64_t word() const { return loop << block_bits | num_blocks; }
    static Call of(std::uint64_t word) {
      return {word >> block_bits, static_cast<std::size_t>(word & most_blocks)};
    }
  };
  /// What is left of the share of a seat in a loop.
  struct Ticket {
    std::uint64_t loop;
    std::size_t first, end;  ///< blocks
    std::uint64_t word() const {
      return loop << 2 * block_bits | std::uint64_t(first) << block_bits | std::uint64_t(end);
    }
    static Ticket of(std::uint64_t word) {
      return {word >> 2 * block_bits, static_cast<std::size_t>(word >> block_bits & most_blocks),
              static_cast<std::size_t>(word & most_blocks)};
    }
  };
  struct alignas(64) Seat {
    std::atomic<std::uint64_t> ticket = 0;
  };
  /// Whether loop a is a later one than b.
  static bool is_after(std::uint64_t a, std::uint64_t b) {
    return a != b && (a - b) % num_loops < num_loops / 2;
  }

  /// Takes blocks of a seat's share in the loop as long as there are any; how many.
  ///
  /// Nobody hands out shares: whose ticket is of an earlier loop has taken nothing yet. A loop is over when
  /// all of its blocks are done, and no ticket with any left is of an earlier one then. So a ticket that is
  /// the same when it is exchanged for the next is of a loop that is not over, whose function was read.
  std::size_t take_blocks_of(int seat, const Call& call) {
    const auto share = [&](int t) { return call.num_blocks * std::size_t(t) / std::size_t(threads_); };
    std::atomic<std::uint64_t>& at = seats_[seat].ticket;
    std::uint64_t word = at.load(std::memory_order_acquire);
    for (std::size_t taken = 0;;) {
      Ticket left = Ticket::of(word);
      if (is_after(left.loop, call.loop)) return taken;
      if (left.loop != call.loop) left = {call.loop, share(seat), share(seat + 1)};
      if (left.first >= left.end) return taken;
      const FunctionRef<void(std::size_t)>* const f = function_.load(std::memory_order_relaxed);
      const std::uint64_t next = Ticket{left.loop, left.first + 1, left.end}.word();
      if (!at.compare_exchange_weak(word, next, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      (*f)(left.first);
      ++taken;
      word = at.load(std::memory_order_acquire);
    }
  }
  /// Takes what others have left.
  std::size_t help(int seat, const Call& call) {
    std::size_t taken = 0;
    for (int k = 1; k < threads_; ++k) taken += take_blocks_of((seat + k) % threads_, call);
    return taken;
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
  std::size_t left_to_others_ = 0;  ///< blocks, in all loops
  // What the caller alone writes.
  alignas(64) std::atomic<std::uint64_t> call_ = 0;
  std::atomic<const FunctionRef<void(std::size_t)>*> function_ = nullptr;
  std::atomic<bool> dismissed_ = false;
  std::array<Seat, most_threads> seats_;
  alignas(64) std::atomic<std::size_t> done_by_others_ = 0;
  alignas(64) std::atomic<int> workers_ = 0;
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
