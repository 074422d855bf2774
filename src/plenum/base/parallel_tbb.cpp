// The oneTBB backend of parallel.h.
#ifdef PLENUM_THREADS_TBB
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "plenum/base/parallel.h"
#include "plenum/base/parallel_team.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Sets flush-to-zero on each thread that enters an arena; a worker keeps it, the caller gets its own back.
class FlushObserver : public tbb::task_scheduler_observer {
 public:
  explicit FlushObserver(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~FlushObserver() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) {
      thread_local std::optional<FlushDenormals> flush;
      if (!flush) flush.emplace();
    }
  }
};

struct Arena {
  explicit Arena(int threads) : arena(threads), observer((arena.initialize(), arena)) {}
  tbb::task_arena arena;
  FlushObserver observer;
};

thread_local int current_threads = 1;

/// Arenas live as long as the process: making one costs more than a frame of a small scene.
Arena& arena_of(int threads) {
  // Without a limit of its own oneTBB makes no more threads than there are cores. The least of all limits
  // holds, so there is one for every arena.
  constexpr std::size_t most_threads = 1024;
  static auto& limit = *new tbb::global_control(tbb::global_control::max_allowed_parallelism, most_threads);
  static_cast<void>(limit);
  static std::mutex mutex;
  static auto& arenas = *new std::map<int, std::unique_ptr<Arena>>;
  const std::lock_guard lock(mutex);
  auto& arena = arenas[threads];
  if (!arena) arena = std::make_unique<Arena>(threads);
  return *arena;
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
  if (threads == 1)
    f();
  else
    arena_of(threads).arena.execute([&] { f(); });
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
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, num_blocks, 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        // A worker's own loops inside a block stay on it: nesting adds tasks, not speed.
        const int saved = std::exchange(current_threads, 1);
        for (std::size_t b = range.begin(); b != range.end(); ++b) f(b);
        current_threads = saved;
      },
      tbb::simple_partitioner());
}

void with_ready_threads(FunctionRef<void()> f) {
  if (current_threads == 1 || current_threads > detail::Team::most_threads || detail::current_team)
    return f();
  detail::Team team(current_threads);
  tbb::task_group others;
  // Those that come late, or not at all, find the team dismissed.
  struct Wait {
    tbb::task_group& group;
    ~Wait() { group.wait(); }
  } wait{others};
  for (int t = 1; t < current_threads; ++t) others.run([&] { team.work(); });
  detail::lead(team, f);
}

}  // namespace plenum::inline PLENUM_ABI
#endif
