#pragma once
// Highway for one target, that of the compiler flags: the house is built from source with -march=native, and
// a dispatch at run time would keep kernels from being inlined. Never included by a public header.
#ifndef HWY_COMPILE_ONLY_STATIC
#define HWY_COMPILE_ONLY_STATIC
#endif
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {
namespace hn = hwy::HWY_NAMESPACE;
}  // namespace plenum::inline PLENUM_ABI
