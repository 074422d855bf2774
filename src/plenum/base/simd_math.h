#pragma once
// Highway's elementary functions of vectors, exp() and the like.
#include "plenum/base/simd.h"

// clang-format off: after simd.h, which says for which target
#include <hwy/contrib/math/math-inl.h>
// clang-format on
