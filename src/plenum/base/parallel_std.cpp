// The std::thread backend of parallel.h: a pool for each thread count, fully visible to ThreadSanitizer.
#ifndef PLENUM_THREADS_TBB
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/base/parallel_team.h"

namespace plenum::inline PLENUM_ABI {
namespace {

thread_local int current_threads = 1;

/// One loop at a time: callers of the same thread count take turns.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void run(std::size_t num_blocks, FunctionRef<void(std::size_t)> f) {
    const std::lock_guard turn(turn_);
    {
      const std::lock_guard lock(mutex_);
      function_ = &f;
      num_blocks_ = num_blocks;
      next_ = 0;
      busy_ = workers_.size();
      ++generation_;
    }
    wake_.notify_all();
    take_blocks(f, num_blocks);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void take_blocks(const FunctionRef<void(std::size_t)>& f, std::size_t num_blocks) {
    const int saved = std::exchange(current_threads, 1);
    for (std::size_t b = next_.fetch_add(1); b < num_blocks; b = next_.fetch_add(1)) f(b);
    current_threads = saved;
  }

  void work() {
    const FlushDenormals flush;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
      const FunctionRef<void(std::size_t)>* f = function_;
      const std::size_t num_blocks = num_blocks_;
      lock.unlock();
      take_blocks(*f, num_blocks);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable wake_, done_;
  const FunctionRef<void(std::size_t)>* function_ = nullptr;
  std::size_t num_blocks_ = 0, busy_ = 0;
  std::uint64_t generation_ = 0;
  std::atomic<std::size_t> next_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

Pool& pool_of(int threads) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<Pool>> pools;
  const std::lock_guard lock(mutex);
  auto& pool = pools[threads];
  if (!pool) pool = std::make_unique<Pool>(threads);
  return *pool;
}

}  // namespace

void with_threads(int threads, FunctionRef<void()> f) {
  if (threads <= 0) threads = num_cores();
  const FlushDenormals flush;
  struct Restore {
    int threads = current_threads;
    detail::Team* team = detail::current_team;
    ~Restore() { current_threads = threads, detail::current_team = team; }
  } restore;
  current_threads = threads, detail::current_team = nullptr;
  f();
}

int num_threads() {
  return current_threads;
}

void parallel_blocks(std::size_t num_blocks, FunctionRef<void(std::size_t)> f) {
  if (current_threads == 1 || num_blocks <= 1) {
    for (std::size_t b = 0; b < num_blocks; ++b) f(b);
    return;
  }
  if (detail::current_team && num_blocks <= detail::Team::most_blocks) {
    const int saved = std::exchange(current_threads, 1);
    detail::current_team->run(num_blocks, f);
    current_threads = saved;
    return;
  }
  pool_of(current_threads).run(num_blocks, f);
}

void with_ready_threads(FunctionRef<void()> f) {
  const int threads = current_threads;
  if (threads == 1 || threads > detail::Team::most_threads || detail::current_team) return f();
  detail::Team team(threads);
  const std::thread::id leader = std::this_thread::get_id();
  bool led = false;
  // The leader takes a block as soon as it can, and finds the team dismissed in all others that it takes.
  pool_of(threads).run(static_cast<std::size_t>(threads), [&](std::size_t) {
    if (std::this_thread::get_id() != leader || led) return team.work();
    led = true;
    current_threads = threads;
    detail::lead(team, f);
    current_threads = 1;
  });
}

}  // namespace plenum::inline PLENUM_ABI
#endif
