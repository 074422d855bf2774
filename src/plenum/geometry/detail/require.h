#pragma once
// Refusing numbers that no geometry can be made from; not inlined, for the texts outweigh the callers.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "plenum/base/error.h"
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI::detail {

[[gnu::noinline]] inline void require_length(const char* name, Real value, bool zero_is_allowed = false) {
  if (!std::isfinite(value) || value < 0 || (value == 0 && !zero_is_allowed))
    throw Error(Problem{.key = name,
                        .what = "is not a length",
                        .value = fmt::format("{}", value),
                        .allowed = zero_is_allowed ? "finite, >= 0 m" : "finite, > 0 m"});
}

[[gnu::noinline]] inline void require_count(const char* name, std::int64_t value, std::int64_t least,
                                            std::int64_t most) {
  if (value < least || value > most)
    throw Error(Problem{.key = name,
                        .what = "is out of range",
                        .value = fmt::format("{}", value),
                        .allowed = fmt::format("{} to {}", least, most)});
}

}  // namespace plenum::inline PLENUM_ABI::detail
