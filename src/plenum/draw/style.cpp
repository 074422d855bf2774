#include "plenum/draw/style.h"

namespace plenum::inline PLENUM_ABI {

Rgb8 palette_colour(int index) {
  // Six dyes of one family: similar lightness and moderate chroma, spread in hue.
  static constexpr Rgb8 colours[] = {
      {201, 88, 62},   // terracotta
      {38, 118, 128},  // deep teal
      {222, 164, 58},  // ochre
      {78, 94, 148},   // slate blue
      {124, 154, 98},  // sage
      {150, 92, 132},  // heather
  };
  constexpr int count = static_cast<int>(std::size(colours));
  return colours[((index % count) + count) % count];
}

}  // namespace plenum::inline PLENUM_ABI
