#include "plenum/draw/detail/quantities.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI { namespace detail {

std::pair<double, double> Quantity::range() const {
  auto [a, b] = is_fixed ? std::pair(low, high) : rounded_range(low, high);
  if (map == ColourMap::cool_warm) b = std::max(std::abs(a), std::abs(b)), a = -b;
  return {a, b};
}

int Quantities::note(const ColourBy& colour, std::size_t count) {
  if (count == 0 || colour.values.size() < count) return -1;
  std::size_t index = 0;
  while (index < all_.size() && (all_[index].name != colour.quantity || all_[index].unit != colour.unit))
    ++index;
  if (index == all_.size()) {
    // Magnitudes take turns between two maps, so that two of them in one picture are told apart.
    const auto magnitudes = std::count_if(all_.begin(), all_.end(),
                                          [](const Quantity& q) { return q.map != ColourMap::cool_warm; });
    Quantity quantity;
    quantity.name = colour.quantity, quantity.unit = colour.unit;
    quantity.map = colour.is_signed      ? ColourMap::cool_warm
                   : magnitudes % 2 == 0 ? ColourMap::viridis
                                         : ColourMap::cividis;
    all_.push_back(std::move(quantity));
  }
  Quantity& quantity = all_[index];
  quantity.is_seen = true;
  if (colour.low < colour.high) {
    quantity.is_fixed = true;
    quantity.low = colour.low, quantity.high = colour.high;
  } else if (!quantity.is_fixed) {
    for (std::size_t i = 0; i < count; ++i) {
      const double value = colour.values[i];
      if (!std::isfinite(value)) continue;
      quantity.low = std::min(quantity.low, value);
      quantity.high = std::max(quantity.high, value);
    }
  }
  return static_cast<int>(index);
}

std::vector<LegendEntry> Quantities::legend() const {
  std::vector<LegendEntry> entries;
  for (const Quantity& q : all_)
    if (q.is_seen && !q.name.empty()) {
      const auto [low, high] = q.range();
      entries.push_back({q.name, q.unit, low, high, q.map});
    }
  return entries;
}

}}  // namespace plenum::PLENUM_ABI::detail
