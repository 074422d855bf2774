#pragma once
// Named blocks of bytes in one buffer or file, each with its own checksum. A damaged file is refused with a
// reason.
//
// Layout, little-endian: magic "PLENUMCP", u32 version, u32 bytes of a Real, u64 total length, u32 number of
// blocks, u32 CRC of these 28 bytes; then for each block u32 name length, u32 scalar type, u32 components,
// u32 CRC of all the rest of the block, u64 count, name, data.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plenum/state/field.h"

namespace plenum::inline PLENUM_ABI {

class CheckpointWriter {
 public:
  /// Begins in `buffer`, which keeps its capacity from one use to the next.
  explicit CheckpointWriter(std::vector<std::byte>& buffer);
  void add(const std::string& name, ScalarType type, int components, std::size_t count, const void* data);
  void add(const std::string& name, const std::string& text) {
    add(name, ScalarType::u8, 1, text.size(), text.data());
  }
  /// Writes the header; nothing may be added afterwards.
  void finish();

 private:
  std::vector<std::byte>& buffer_;
  std::uint32_t blocks_ = 0;
};

struct CheckpointBlock {
  std::string name;
  ScalarType type;
  int components;
  std::size_t count;
  std::span<const std::byte> data;
};

/// Blocks of a buffer, in order. Throws Error (naming `name`) for anything but an undamaged checkpoint of
/// this build's precision: wrong magic, version, precision, length, or checksum.
std::vector<CheckpointBlock> read_checkpoint(std::span<const std::byte> bytes, const std::string& name);

/// Writes to a temporary file beside `path`, flushes it to the disk, keeps the old file as `path`.previous,
/// and renames: a kill at any moment leaves a whole checkpoint. Throws Error; the old file then stands. A
/// device or pipe is written to directly.
void write_file_safely(const std::string& path, std::span<const std::byte> bytes, bool keep_previous = false);

/// A regular file of at most `limit` bytes. Throws Error.
std::vector<std::byte> read_regular_file(const std::string& path, std::size_t limit = std::size_t{4} << 30);

}  // namespace plenum::inline PLENUM_ABI
