#pragma once
// Refusing what a net cannot be made from.
#include <fmt/format.h>

#include <string>
#include <type_traits>

#include "plenum/base/error.h"
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Refuses input unless `holds`; the value is made text only then.
inline void require(bool holds, const std::string& key, const char* what) {
  if (!holds) throw Error(Problem{.key = key, .what = what});
}
template <class V>
void require(bool holds, const std::string& key, const char* what, const V& value) {
  if (holds) return;
  if constexpr (std::is_same_v<V, Index2>)
    throw Error(Problem{.key = key, .what = what, .value = fmt::format("[{}, {}]", value[0], value[1])});
  else
    throw Error(Problem{.key = key, .what = what, .value = fmt::format("{}", value)});
}

}  // namespace plenum::inline PLENUM_ABI
