#include "plenum/world/last_good.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "plenum/base/simd.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t chunk = 1 << 14;  // [bytes], of which a thread takes several at once
/// [bytes] from which on a field is not to be found in a cache again before its next check, so that its copy
/// is written past them.
constexpr std::size_t large = 4 << 20;

/// True if all `count` scalars at `from` are finite; copies them to `to`, at the beginning of a line, unless
/// that is null. All bits of the exponent set means infinite or not a number.
template <class Bits>
bool scan(const Bits* from, Bits* to, std::size_t count, Bits exponent, bool past_caches) {
  const hn::ScalableTag<Bits> d;
  const auto mask = hn::Set(d, exponent);
  auto bad = hn::Zero(d);
  std::size_t i = 0;
  const auto run = [&](auto&& store) {
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      const auto value = hn::LoadU(d, from + i);
      bad = hn::Or(bad, hn::VecFromMask(d, hn::Eq(hn::And(value, mask), mask)));
      store(value);
    }
  };
  if (!to)
    run([](auto) {});
  else if (past_caches)
    run([&](auto value) { hn::Stream(value, d, to + i); });
  else
    run([&](auto value) { hn::Store(value, d, to + i); });
  bool ok = hn::AllTrue(d, hn::Eq(bad, hn::Zero(d)));
  for (; i < count; ++i) {
    ok = ok && (from[i] & exponent) != exponent;
    if (to) to[i] = from[i];
  }
  if (past_caches) hwy::FlushStream();
  return ok;
}

/// The same of `bytes` bytes of a field, a multiple of its scalars.
bool scan(ScalarType type, const std::byte* from, std::byte* to, std::size_t bytes, bool past_caches) {
  if (type == ScalarType::f32)
    return scan(reinterpret_cast<const std::uint32_t*>(from), reinterpret_cast<std::uint32_t*>(to), bytes / 4,
                0x7f800000u, past_caches);
  if (type == ScalarType::f64)
    return scan(reinterpret_cast<const std::uint64_t*>(from), reinterpret_cast<std::uint64_t*>(to), bytes / 8,
                std::uint64_t{0x7ff0000000000000}, past_caches);
  if (to) std::memcpy(to, from, bytes);
  return true;
}

/// Checks a field and copies it to `to` unless that is null. Returns the first item that is not finite, or
/// the number of items.
std::size_t first_not_finite(const FieldRef& field, std::byte* to) {
  const auto* const from = static_cast<const std::byte*>(field.data);
  const std::size_t bytes = field.bytes(), chunks = (bytes + chunk - 1) / chunk;
  const std::size_t bad = ordered_reduce(
      chunks, 16, chunks,
      [&](std::size_t begin, std::size_t end) {
        std::size_t first = chunks;
        for (std::size_t k = begin; k < end; ++k) {
          const std::size_t at = k * chunk;
          const bool ok = scan(field.type, from + at, to ? to + at : nullptr, std::min(chunk, bytes - at),
                               to && bytes >= large);
          if (!ok) first = std::min(first, k);
        }
        return first;
      },
      [](std::size_t a, std::size_t b) { return std::min(a, b); });
  if (bad == chunks) return field.count;
  const std::size_t scalar = size_of(field.type);
  std::size_t at = bad * chunk;
  while (scan(field.type, from + at, nullptr, scalar, false)) at += scalar;
  return at / (scalar * static_cast<std::size_t>(field.components));
}

/// Calls f(system, field) for every stored field.
template <class F>
void for_each_field(std::span<const std::unique_ptr<System>> systems, F&& f) {
  for (const auto& system : systems)
    for_each_stored([&](FieldVisitor& visit) { system->stored_fields(visit); },
                    [&](const FieldRef& field) { f(*system, field); });
}

}  // namespace

std::string NotFinite::remedy() const {
  return warned.empty() ? "raise world.substeps, or look for an input that is out of proportion"
                        : "it had warned: " + warned;
}

std::string NotFinite::sentence() const {
  return fmt::format("{}: {}[{}] is not finite; the world was put back to its last good frame; {}", system,
                     field, index, remedy());
}

bool all_finite(std::span<const std::unique_ptr<System>> systems, NotFinite& where) {
  bool ok = true;
  for_each_field(systems, [&](const System& system, const FieldRef& field) {
    if (!ok) return;
    const std::size_t at = first_not_finite(field, nullptr);
    if (at == field.count) return;
    ok = false;
    where = {system.name(), field.info.name, at};
  });
  return ok;
}

bool LastGood::keep(std::span<const std::unique_ptr<System>> systems, NotFinite& where) {
  Copy& copy = copies_[1 - newest_];
  std::size_t lines = 0;
  copy.counts.clear();
  for_each_field(systems, [&](const System&, const FieldRef& field) {
    copy.counts.push_back(field.count);
    lines += (field.bytes() + line - 1) / line;
  });
  if (copy.lines.size() < lines) copy.lines.resize(lines);
  bool ok = true;
  std::size_t at = 0;
  for_each_field(systems, [&](const System& system, const FieldRef& field) {
    if (!ok) return;
    const std::size_t bad = first_not_finite(field, copy.bytes() + at * line);
    at += (field.bytes() + line - 1) / line;
    if (bad == field.count) return;
    ok = false;
    where = {system.name(), field.info.name, bad};
  });
  if (!ok) return false;
  newest_ = 1 - newest_;
  return holds_ = true;
}

void LastGood::recall(std::span<const std::unique_ptr<System>> systems) const {
  const Copy& copy = copies_[newest_];
  std::size_t at = 0, k = 0;
  for_each_field(systems, [&](const System&, FieldRef field) {
    field.count = copy.counts[k++];
    field.resize(field.owner, field.count);
    if (field.bytes() > 0) std::memcpy(field.data_of(field.owner), copy.bytes() + at * line, field.bytes());
    at += (field.bytes() + line - 1) / line;
  });
  for (const auto& system : systems) system->resume();
}

}  // namespace plenum::inline PLENUM_ABI
