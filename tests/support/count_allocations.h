#pragma once
// Counts heap allocations, by standing in front of malloc (operator new and Eigen end
// there); weak, so that several files of a program may include it. Without glibc, or under a sanitizer that
// brings its own allocator, `can_count_allocations` is false and the count stays zero.
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define PLENUM_COUNT_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PLENUM_COUNT_ALLOCATIONS 0
#endif
#endif
#ifndef PLENUM_COUNT_ALLOCATIONS
#define PLENUM_COUNT_ALLOCATIONS 1
#endif

namespace plenum_test {
inline constexpr bool can_count_allocations = PLENUM_COUNT_ALLOCATIONS;
/// Of each thread by itself: the threads of oneTBB come and go in their own time, and allocate when they do.
inline constinit thread_local long allocations = 0;

/// Allocations of the calling thread while f runs; outside of with_threads that is all of f.
template <class F>
long count_allocations(F&& f) {
  const long before = allocations;
  f();
  return allocations - before;
}
}  // namespace plenum_test

#if PLENUM_COUNT_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
[[gnu::weak]] void* malloc(std::size_t n) {
  ++plenum_test::allocations;
  return __libc_malloc(n);
}
[[gnu::weak]] void* calloc(std::size_t n, std::size_t size) {
  ++plenum_test::allocations;
  return __libc_calloc(n, size);
}
[[gnu::weak]] void* realloc(void* p, std::size_t n) {
  ++plenum_test::allocations;
  return __libc_realloc(p, n);
}
[[gnu::weak]] void* memalign(std::size_t alignment, std::size_t n) {
  ++plenum_test::allocations;
  return __libc_memalign(alignment, n);
}
[[gnu::weak]] void* aligned_alloc(std::size_t alignment, std::size_t n) {
  return memalign(alignment, n);
}
[[gnu::weak]] int posix_memalign(void** out, std::size_t alignment, std::size_t n) {
  *out = memalign(alignment, n);
  return *out ? 0 : ENOMEM;
}
}
#endif
