#include "plenum/base/parallel.h"

#include <sched.h>

#include <thread>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace plenum::inline PLENUM_ABI {

int num_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

#if defined(__SSE2__)
constexpr unsigned flush_to_zero_and_denormals_are_zero = 0x8040;
FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) {
  _mm_setcsr(saved_ | flush_to_zero_and_denormals_are_zero);
}
FlushDenormals::~FlushDenormals() {
  _mm_setcsr(saved_);
}
#elif defined(__aarch64__)
FlushDenormals::FlushDenormals() {
  std::uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  saved_ = static_cast<unsigned>(fpcr);
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | (1u << 24)));
}
FlushDenormals::~FlushDenormals() {
  __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{saved_}));
}
#else
FlushDenormals::FlushDenormals() : saved_(0) {}
FlushDenormals::~FlushDenormals() = default;
#endif

}  // namespace plenum::inline PLENUM_ABI
