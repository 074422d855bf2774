// Memory that runs out at any moment of loading is told, and leaves nothing behind.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "support.h"

// ThreadSanitizer brings its own operator new and lets no other stand beside it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLENUM_OPERATOR_NEW_IS_TAKEN
#endif
#endif
#ifndef PLENUM_OPERATOR_NEW_IS_TAKEN

namespace {

// Allocations of this thread until the next fails; negative: none does.
thread_local long allocations_left = -1;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined, so that GCC does not take free() of what operator new returned for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace plenum { namespace {

TEST(Allocation, FailureAtAnyMomentOfLoadingIsAnError) {
  const std::string text =
      scene_text("\"gravity\": [0, -1, 0]",
                 "\"positions\": [[1, 2, 3]], \"mesh\": {\"shape\": \"icosphere\", \"subdivisions\": 1}",
                 "\"stiffness\": 3",
                 "\"keyframes\": [{\"path\": \"stiffness\", \"times\": [0, 1], \"values\": [1, 2]}]");
  const SceneOptions options = toy_options({"one.count=3"});
  long successes = 0, failures = 0;
  for (long n = 0; successes == 0; ++n) {
    ASSERT_LT(n, 100000);
    try {
      allocations_left = n;
      const Scene scene = load_scene_text(text, "s.json", options);
      allocations_left = -1;
      EXPECT_EQ(scene.world.size(), 1u);
      ++successes;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      ++failures;
    } catch (const Error& error) {
      allocations_left = -1;
      EXPECT_NE(std::string(error.what()).find("not enough memory"), std::string::npos) << error.what();
      ++failures;
    }
  }
  EXPECT_GT(failures, 100);  // it does allocate, and each allocation failed once
}

}}  // namespace plenum

#endif
