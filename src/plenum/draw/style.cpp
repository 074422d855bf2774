#include "plenum/draw/style.h"

namespace plenum::inline PLENUM_ABI {

Rgb8 palette_colour(int index) {
  // Six dyes of one family: similar lightness and moderate chroma, spread in hue.
  static constexpr Rgb8 colours[] = {
      {194, 102, 80},   // terracotta
      {62, 122, 128},   // deep teal
      {212, 166, 88},   // ochre
      {92, 107, 148},   // slate blue
      {134, 157, 112},  // sage
      {152, 106, 136},  // heather
  };
  constexpr int count = static_cast<int>(std::size(colours));
  return colours[((index % count) + count) % count];
}

}  // namespace plenum::inline PLENUM_ABI
