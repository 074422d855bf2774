#include "plenum/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <zlib.h>

#include <new>

namespace plenum::inline PLENUM_ABI {

std::string Hash128::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

struct Hasher::Impl {
  XXH3_state_t* state = XXH3_createState();
  ~Impl() { XXH3_freeState(state); }
};

Hasher::Hasher() : impl_(std::make_unique<Impl>()) {
  if (!impl_->state) throw std::bad_alloc();
  XXH3_128bits_reset(impl_->state);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;

void Hasher::add(const void* data, std::size_t bytes) {
  XXH3_128bits_update(impl_->state, data, bytes);
}

Hash128 Hasher::digest() const {
  const XXH128_hash_t h = XXH3_128bits_digest(impl_->state);
  return {h.high64, h.low64};
}

std::uint32_t crc32_of(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(crc32_z(crc32_z(0, nullptr, 0), static_cast<const Bytef*>(data), bytes));
}

}  // namespace plenum::inline PLENUM_ABI
