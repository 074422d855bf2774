#pragma once
// The strip of colour that says what a coloured field means, as a small picture laid over the frame.
#include <span>
#include <string>
#include <vector>

#include "plenum/draw/colour_map.h"

namespace plenum::inline PLENUM_ABI {

/// What one strip shows.
struct LegendEntry {
  std::string quantity, unit;
  double low = 0, high = 1;
  ColourMap map = ColourMap::viridis;
  bool operator==(const LegendEntry&) const = default;
};

/// Round numbers within [low, high], at most `count` of them (at least two when the range is not empty):
/// multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double low, double high, int count = 6);

/// The number as a tick says it: no more digits than its `step` needs, and a proper minus sign.
std::string tick_label(double value, double step);

/// The smallest range with round ends that holds [low, high]. A range from a little above zero is widened to
/// zero.
std::pair<double, double> rounded_range(double low, double high);

/// Straight (not premultiplied) sRGB with coverage, rows from the top.
struct Overlay {
  int x = 0, y = 0, width = 0, height = 0;  ///< [px] place on the picture, from its top left
  std::vector<std::uint8_t> rgba;           ///< [height][width][4]
};

/// Words centred above a point of the picture.
struct OverlayLabel {
  double x = 0, y = 0;  ///< [px] from the picture's top left
  std::string text;
  bool operator==(const OverlayLabel&) const = default;
};

/// The strips of `entries`, lower left in a picture of this size, `caption`, upper left, and `labels` where
/// they are. Letters scale with the picture's height. `covered`, from 0 to below 1: the share of the width on
/// the left that a panel hides; strips and caption begin right of it.
Overlay make_overlay(std::span<const LegendEntry> entries, std::string_view caption,
                     std::span<const OverlayLabel> labels, int width, int height, double covered = 0);

}  // namespace plenum::inline PLENUM_ABI
