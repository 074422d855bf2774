#include "plenum/base/parallel.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace plenum { namespace {

TEST(Parallel, EveryItemIsVisitedOnce) {
  for (const int threads : {1, 2, 3, 8})
    with_threads(threads, [&] {
      std::vector<int> count(10007, 0);
      parallel_for(count.size(), 64, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++count[i];
      });
      for (const int c : count) ASSERT_EQ(c, 1);
    });
}

TEST(Parallel, MakesAsManyThreadsAsAskedEvenBeyondTheCores) {
  with_threads(2, [] { parallel_blocks(8, [](std::size_t) {}); });  // an earlier, smaller count sets no limit
  const int threads = num_cores() + 3;
  std::mutex mutex;
  std::condition_variable all_here;
  std::set<std::thread::id> ids;
  with_threads(threads, [&] {
    EXPECT_EQ(num_threads(), threads);
    parallel_blocks(static_cast<std::size_t>(threads), [&](std::size_t) {
      std::unique_lock lock(mutex);
      ids.insert(std::this_thread::get_id());
      all_here.notify_all();
      all_here.wait_for(lock, std::chrono::seconds(20),
                        [&] { return ids.size() == static_cast<std::size_t>(threads); });
    });
  });
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(threads));
}

TEST(Parallel, ReductionHasTheSameBitsForEveryThreadCount) {
  std::vector<float> values(100003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i)) * 1e3f;
  const auto sum = [&] {
    return ordered_reduce(
        values.size(), 128, 0.f,
        [&](std::size_t begin, std::size_t end) {
          return std::accumulate(values.begin() + begin, values.begin() + end, 0.f);
        },
        [](float a, float b) { return a + b; });
  };
  const float expected = sum();
  for (const int threads : {1, 2, 3, 5, 8})
    with_threads(threads, [&] {
      for (int repeat = 0; repeat < 3; ++repeat) ASSERT_EQ(sum(), expected);
    });
}

TEST(Parallel, DenormalsAreFlushedOnEveryThreadAndTheCallerGetsItsOwnModeBack) {
  volatile float tiny = std::numeric_limits<float>::min();
  with_threads(3, [&] {
    std::vector<float> halves(3000);
    parallel_for(halves.size(), 1, [&](std::size_t i, std::size_t) { halves[i] = tiny * 0.5f; });
    for (const float h : halves) ASSERT_EQ(h, 0.f);
  });
  EXPECT_NE(tiny * 0.5f, 0.f);
}

TEST(Parallel, ReadyThreadsVisitEveryItemOnceInLoopAfterLoop) {
  for (const int threads : {1, 2, 3, 8})
    with_threads(threads, [&] {
      std::vector<int> count(1000, 0);
      for (int repeat = 0; repeat < 20; ++repeat) {
        with_ready_threads([&] {
          EXPECT_EQ(num_threads(), threads);
          for (std::size_t n = 1; n < 100; ++n)
            parallel_for(10 * n, n % 7 + 1, [&](std::size_t begin, std::size_t end) {
              // Loops within blocks stay on their thread, and so do teams.
              with_ready_threads([&] {
                parallel_for(end - begin, 1, [&](std::size_t i, std::size_t) { ++count[begin + i]; });
              });
            });
        });
        for (std::size_t i = 0; i < count.size(); ++i) ASSERT_EQ(count[i], (repeat + 1) * (99 - int(i) / 10));
      }
    });
}

TEST(Parallel, ReadyThreadsAreLetGoByWhatIsThrown) {
  with_threads(3, [] {
    EXPECT_THROW(with_ready_threads([] { throw 1; }), int);
    int sum = 0;
    for (int i = 0; i < 3; ++i)
      sum +=
          static_cast<int>(ordered_sum(100, 10, [](std::size_t a, std::size_t b) { return double(b - a); }));
    EXPECT_EQ(sum, 300);
  });
}

TEST(Parallel, ReadyThreadsWorkWithinOtherCountsOfThreads) {
  with_threads(2, [] {
    with_ready_threads([] {
      with_threads(3, [] {
        EXPECT_EQ(num_threads(), 3);
        std::vector<int> count(100, 0);
        parallel_for(count.size(), 1, [&](std::size_t i, std::size_t) { ++count[i]; });
        for (const int c : count) EXPECT_EQ(c, 1);
      });
      EXPECT_EQ(num_threads(), 2);
      std::vector<int> count(100, 0);
      parallel_for(count.size(), 1, [&](std::size_t i, std::size_t) { ++count[i]; });
      for (const int c : count) EXPECT_EQ(c, 1);
    });
  });
}

TEST(Parallel, NestedLoopsRun) {
  with_threads(2, [] {
    std::vector<int> count(64 * 64, 0);
    parallel_for(64, 1, [&](std::size_t i, std::size_t) {
      parallel_for(64, 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j) ++count[i * 64 + j];
      });
    });
    for (const int c : count) ASSERT_EQ(c, 1);
  });
}

}}  // namespace plenum
