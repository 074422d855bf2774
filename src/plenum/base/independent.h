#pragma once
// PLENUM_INDEPENDENT before a loop: no iteration reads what another writes, so that the compiler may take
// several at a time.
#if defined(__clang__)
#define PLENUM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PLENUM_INDEPENDENT _Pragma("GCC ivdep")
#endif
