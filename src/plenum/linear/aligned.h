#pragma once
// Arrays that start on a cache line, so that a vector load of 64 bytes touches one line and not two.
#include <cstddef>
#include <new>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};
  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT: implicit by the allocator requirements
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, alignment); }
  bool operator==(const CacheLineAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace plenum::inline PLENUM_ABI
