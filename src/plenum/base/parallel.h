#pragma once
// Parallel loops whose results do not depend on the number of threads.
//
// Work is cut into blocks whose bounds depend only on the amount of work; threads take blocks, and reductions
// join the blocks' results in order. The backend is oneTBB (or plain std::thread, for ThreadSanitizer); which
// one, and its headers, are known to parallel.cpp alone.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Reference to a callable that outlives the call it is passed to; allocates nothing.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: implicit by intent
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Runs `f` with its parallel loops on `threads` threads, the caller one of them. `threads` >= 1 is honoured
/// even beyond the number of cores; 0 means the number of cores. Nested calls use the innermost count.
/// Denormals are flushed to zero on every one of these threads for the duration of their work. Outside of any
/// with_threads, loops run on the calling thread.
void with_threads(int threads, FunctionRef<void()> f);

/// Runs `f` while the threads of its parallel loops stand by between them, so that loops of a few
/// microseconds pay: for what is full of these and takes no longer than a frame, since each thread takes a
/// processor meanwhile. Nested calls are one.
void with_ready_threads(FunctionRef<void()> f);

/// Threads that loops of the calling thread run on.
int num_threads();

/// Cores this process may use.
int num_cores();

/// Calls f(block) for every block in [0, num_blocks), in any order and on any thread of the current scope. f
/// must not throw. Blocks must not write what other blocks touch.
void parallel_blocks(std::size_t num_blocks, FunctionRef<void(std::size_t)> f);

/// Calls f(begin, end) for consecutive ranges of at most `block` items that cover [0, n).
template <class F>
void parallel_for(std::size_t n, std::size_t block, F&& f) {
  const std::size_t num_blocks = (n + block - 1) / block;
  if (num_blocks == 0) return;
  if (num_blocks == 1) return f(std::size_t{0}, n);
  parallel_blocks(num_blocks, [&](std::size_t b) { f(b * block, std::min(n, (b + 1) * block)); });
}

/// The same by the calling thread alone, if there are fewer than `least` items: that there is a loop, and
/// what others wrote in the one before, takes 1 to 1.5 microseconds to come over from another core.
template <class F>
void parallel_for(std::size_t n, std::size_t block, std::size_t least, F&& f) {
  if (n < least)
    f(std::size_t{0}, n);
  else
    parallel_for(n, block, f);
}

/// join(...join(join(identity, map(block 0)), map(block 1))...), with map(begin, end) evaluated in parallel
/// and the results joined in order. Blocks hold at least `block` items and there are at most 256 of them, so
/// that the result depends on n and `block` alone, and nothing is allocated.
template <class T, class Map, class Join>
T ordered_reduce(std::size_t n, std::size_t block, T identity, Map&& map, Join&& join) {
  constexpr std::size_t max_blocks = 256;
  block = std::max(block, (n + max_blocks - 1) / max_blocks);
  const std::size_t num_blocks = (n + block - 1) / block;
  std::array<T, max_blocks> partial;
  const auto run = [&](std::size_t b) { partial[b] = map(b * block, std::min(n, (b + 1) * block)); };
  if (num_blocks == 1)
    run(0);
  else
    parallel_blocks(num_blocks, run);
  T result = identity;
  for (std::size_t b = 0; b < num_blocks; ++b) result = join(result, partial[b]);
  return result;
}

/// Sum of map(begin, end) over blocks, in order. Accumulate in double: the error of a float sum over a
/// million items is larger than the tolerances of the solvers that ask.
template <class Map>
double ordered_sum(std::size_t n, std::size_t block, Map&& map) {
  return ordered_reduce(n, block, 0.0, map, [](double a, double b) { return a + b; });
}

/// Flushes denormals to zero on this thread while it lives (damped motion decays into denormals, which are
/// slow and differ between machines).
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace plenum::inline PLENUM_ABI
