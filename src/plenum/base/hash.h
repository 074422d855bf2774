#pragma once
// 128-bit state hashes and block checksums, by xxHash and zlib.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

struct Hash128 {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Hash128&) const = default;
  std::string hex() const;  ///< 32 hexadecimal digits
};

/// XXH3-128 of everything added, in order.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  void add(const void* data, std::size_t bytes);
  Hash128 digest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// CRC-32 (ISO-HDLC, zlib's) of a block.
std::uint32_t crc32_of(const void* data, std::size_t bytes);

}  // namespace plenum::inline PLENUM_ABI
