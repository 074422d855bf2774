#pragma once
// Counter-based random numbers: a pure function of (seed, stream, counter), so that any thread may draw any
// number and a resumed run draws the same ones. Source: Salmon et al. 2011, "Parallel random numbers: as easy
// as 1, 2, 3", Philox-4x32-10.
#include <array>
#include <cstdint>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Ten Philox rounds of the 128-bit counter under the 64-bit key.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Four independent numbers uniform in [0, 1), 24 bits each, for item `index` of `stream` under `seed`.
inline Vec4 uniform4(std::uint64_t seed, std::uint64_t index, std::uint64_t stream) {
  const auto r = philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                             static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                            {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  constexpr Real scale = Real(1) / Real(1 << 24);
  return {Real(r[0] >> 8) * scale, Real(r[1] >> 8) * scale, Real(r[2] >> 8) * scale, Real(r[3] >> 8) * scale};
}

}  // namespace plenum::inline PLENUM_ABI
