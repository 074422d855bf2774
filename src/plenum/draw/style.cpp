#include "plenum/draw/style.h"

#include "plenum/state/debug_draw.h"

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

Rgb8 mark_colour(int index) {
  static constexpr Rgb8 colours[] = {
      {228, 38, 30},    // red
      {28, 160, 50},    // green
      {28, 92, 230},    // blue
      {255, 200, 0},    // yellow
      {214, 30, 190},   // magenta
      {255, 255, 255},  // white
      {120, 124, 130},  // grey
      {22, 24, 30},     // black
      // Islands: hues far from their neighbours', and the same at a third of the light.
      {250, 90, 60},
      {40, 190, 240},
      {250, 205, 40},
      {150, 90, 250},
      {70, 220, 110},
      {250, 90, 200},
      {30, 110, 250},
      {190, 230, 60},
      {112, 50, 40},
      {28, 88, 108},
      {112, 94, 30},
      {70, 46, 112},
      {38, 100, 56},
      {112, 48, 92},
      {24, 56, 112},
      {88, 104, 36},
  };
  static_assert(std::size(colours) == num_mark_colours);
  return colours[((index % num_mark_colours) + num_mark_colours) % num_mark_colours];
}

}  // namespace plenum::inline PLENUM_ABI
