#pragma once
// Small lettering for legends and captions: a monoline sans serif of our own, drawn from strokes, so that no
// font file is needed at run time.
#include <string_view>

#include "plenum/io/image.h"

namespace plenum::inline PLENUM_ABI {

/// Width [px] of a line of text whose capitals are `cap_height` px high. Text is UTF-8; letters the font
/// lacks show as an empty box. "^" raises the sign and digits that follow it: "kg/m^3".
double text_width(std::string_view text, double cap_height);

/// How a line of text covers pixels, for drawing over anything.
struct TextMask {
  int x = 0, y = 0, width = 0,
      height = 0;                      ///< [px] of the covered rectangle, from the top left of the picture
  std::vector<std::uint8_t> coverage;  ///< [height][width], 255 is full
};

enum class TextAnchor { left, centre, right };

/// The mask of a line of text whose baseline passes through (x, y) [px].
/// `weight` is the width of the pen over cap_height.
TextMask text_mask(std::string_view text, double x, double y, double cap_height,
                   TextAnchor anchor = TextAnchor::left, double weight = 0.115);

/// Draws a line of text, mixed in linear light.
void draw_text(Image& image, std::string_view text, double x, double y, double cap_height, Rgb8 colour,
               TextAnchor anchor = TextAnchor::left);

}  // namespace plenum::inline PLENUM_ABI
