#pragma once
// The state after the last frame whose every value was finite.
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plenum/world/system.h"

namespace plenum::inline PLENUM_ABI {

/// A state that stopped being finite: where.
struct NotFinite {
  std::string system, field;
  std::size_t index = 0;
  std::string warned = {};  ///< the last that its system warned of in that frame; empty: of nothing
  std::string remedy() const;
  std::string sentence() const;
};

/// True if every stored value of the systems is finite; otherwise `where` names the first that is not.
bool all_finite(std::span<const std::unique_ptr<System>> systems, NotFinite& where);

/// A copy of every stored field, taken in the same pass over memory that checks it. Two buffers take turns,
/// so that a check that fails leaves the copy of the frame before untouched.
class LastGood {
 public:
  bool holds() const { return holds_; }
  void forget() { holds_ = false; }
  /// all_finite() that keeps what it saw, if that is finite.
  bool keep(std::span<const std::unique_ptr<System>> systems, NotFinite& where);
  /// Puts back what was kept last; holds() must be true, and the systems those that were kept.
  void recall(std::span<const std::unique_ptr<System>> systems) const;

 private:
  struct alignas(64) Line {
    std::byte data[64];
  };
  struct Copy {
    std::vector<Line> lines;          // each field begins on one
    std::vector<std::size_t> counts;  // items of each field
    std::byte* bytes() { return reinterpret_cast<std::byte*>(lines.data()); }
    const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(lines.data()); }
  };
  std::array<Copy, 2> copies_;
  std::size_t newest_ = 0;
  bool holds_ = false;
};

}  // namespace plenum::inline PLENUM_ABI
