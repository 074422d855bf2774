#pragma once
// The quantities that drawables are coloured by, and the ranges their colours mean.
#include <limits>
#include <string>
#include <vector>

#include "plenum/draw/legend.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

struct Quantity {
  std::string name, unit;
  ColourMap map = ColourMap::viridis;
  bool is_fixed = false;  ///< a view gave the range
  bool is_seen = false;   ///< in this frame
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();

  /// Of the colour map: as given, or the values seen so far, rounded outwards; even about zero for signed
  /// fields.
  std::pair<double, double> range() const;
};

class Quantities {
 public:
  void begin_frame() {
    for (Quantity& q : all_) q.is_seen = false;
  }
  void reset() { all_.clear(); }
  /// Takes in the values of a view of `count` items; the index of its quantity, or -1 if it is not coloured.
  int note(const ColourBy& colour, std::size_t count);
  const Quantity& operator[](int index) const { return all_[index]; }
  /// Of the quantities of this frame that have a name.
  std::vector<LegendEntry> legend() const;

 private:
  std::vector<Quantity> all_;
};

}}  // namespace plenum::PLENUM_ABI::detail
