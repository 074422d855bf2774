#include "plenum/io/image_text.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plenum::inline PLENUM_ABI {

namespace {

// A glyph is its advance and its strokes, in tenths of the height of capitals, y up from the baseline:
//   P x y x y ...          polyline
//   A cx cy rx ry a0 a1    arc of an ellipse from angle a0 to a1 [degrees]
//   D x y                  dot
struct Glyph {
  char32_t code;
  double advance;
  const char* strokes;
};

constexpr Glyph glyphs[] = {
    {U' ', 4.2, ""},
    {U'!', 3, "P 1.5 3 1.5 10 D 1.5 0.1"},
    {U'"', 4.4, "P 1.2 10 1.2 7.4 P 3.2 10 3.2 7.4"},
    {U'#', 8.4, "P 2.2 0 3.4 10 P 5.2 0 6.4 10 P 0.8 3.2 7.4 3.2 P 1.2 6.8 7.8 6.8"},
    {U'%', 11.6, "A 2.7 7.6 1.9 2.4 0 360 A 8.9 2.4 1.9 2.4 0 360 P 8.6 10 3 0"},
    {U'&', 9.6,
     "P 8.8 0 2.6 6.4 A 3.9 7.9 2 2.1 220 -30 P 5.7 6.9 2 4.6 A 3.5 2.6 2.6 2.6 128 300 P 4.8 0.35 8.2 4.6"},
    {U'\'', 2.4, "P 1.2 10 1.2 7.4"},
    {U'(', 4, "A 6.6 4.3 5.4 8.4 135 225"},
    {U')', 4, "A -2.6 4.3 5.4 8.4 45 -45"},
    {U'*', 5.6, "P 2.8 10 2.8 5.6 P 0.9 8.9 4.7 6.7 P 0.9 6.7 4.7 8.9"},
    {U'+', 8, "P 1 4.6 7 4.6 P 4 1.6 4 7.6"},
    {U',', 2.8, "P 1.5 0.3 0.8 -1.7"},
    {U'-', 5, "P 0.9 4.1 4.1 4.1"},
    {U'.', 2.8, "D 1.4 0.1"},
    {U'/', 5, "P 0.6 -1.4 4.4 11"},
    {U'0', 8, "A 4 6.8 3 3.2 0 180 P 1 6.8 1 3.2 A 4 3.2 3 3.2 180 360 P 7 3.2 7 6.8"},
    {U'1', 8, "P 2.2 8 4.8 10 4.8 0"},
    {U'2', 8, "A 4 7.1 2.9 2.9 165 -38 P 6.285 5.315 1 0 7.1 0"},
    {U'3', 8, "A 3.8 7.6 2.6 2.4 150 -90 A 3.8 2.6 3 2.6 90 -150"},
    {U'4', 8, "P 5.6 0 5.6 10 0.7 2.9 7.5 2.9"},
    {U'5', 8, "P 6.5 10 2.1 10 1.75 5.55 A 3.9 3.15 3.1 3.15 134 -148"},
    {U'6', 8, "A 4 3.2 3 3.2 0 360 A 7.2 3.2 6.2 6.9 180 102"},
    {U'7', 8, "P 1 10 7 10 2.9 0"},
    {U'8', 8, "A 4 7.6 2.5 2.4 0 360 A 4 2.6 3 2.6 0 360"},
    {U'9', 8, "A 4 6.8 3 3.2 0 360 A 0.8 6.8 6.2 6.9 0 -78"},
    {U':', 2.8, "D 1.4 0.1 D 1.4 5.6"},
    {U';', 2.8, "P 1.5 0.3 0.8 -1.7 D 1.5 5.6"},
    {U'<', 8, "P 6.8 1.4 1.2 4.6 6.8 7.8"},
    {U'=', 8, "P 1 3.2 7 3.2 P 1 6.2 7 6.2"},
    {U'>', 8, "P 1.2 1.4 6.8 4.6 1.2 7.8"},
    {U'?', 6.8, "A 3.3 7.5 2.5 2.5 160 -50 P 4.9 5.58 3.3 3.6 3.3 2.8 D 3.3 0.1"},
    {U'A', 8.8, "P 0.6 0 4.4 10 8.2 0 P 1.9 3.3 6.9 3.3"},
    {U'B', 8, "P 4 5.2 1.2 5.2 P 4.2 0 1.2 0 1.2 10 4 10 A 4 7.6 2.5 2.4 90 -90 A 4.2 2.6 2.9 2.6 90 -90"},
    {U'C', 9.4, "A 5.4 5 4.5 5 48 312"},
    {U'D', 9.4, "P 3.6 0 1.2 0 1.2 10 3.6 10 A 3.6 5 4.8 5 90 -90"},
    {U'E', 7.2, "P 6.4 10 1.2 10 1.2 0 6.4 0 P 1.2 5.2 5.8 5.2"},
    {U'F', 6.8, "P 6.4 10 1.2 10 1.2 0 P 1.2 5 5.7 5"},
    {U'G', 10.6, "A 5.4 5 4.5 5 48 360 P 9.9 5 6 5"},
    {U'H', 9.2, "P 1.2 0 1.2 10 P 8 0 8 10 P 1.2 5.2 8 5.2"},
    {U'I', 2.8, "P 1.4 0 1.4 10"},
    {U'J', 6.4, "P 5.2 10 5.2 2.5 A 2.8 2.5 2.4 2.5 0 -165"},
    {U'K', 7.8, "P 1.2 0 1.2 10 P 7 10 1.2 4 P 3.2 6.07 7.4 0"},
    {U'L', 6.8, "P 1.2 10 1.2 0 6.2 0"},
    {U'M', 11.2, "P 1.2 0 1.2 10 5.6 2.6 10 10 10 0"},
    {U'N', 9.4, "P 1.2 0 1.2 10 8.2 0 8.2 10"},
    {U'O', 11.2, "A 5.6 5 4.7 5 0 360"},
    {U'P', 7.8, "P 1.2 0 1.2 10 4.2 10 A 4.2 7.2 2.8 2.8 90 -90 P 4.2 4.4 1.2 4.4"},
    {U'Q', 11.2, "A 5.6 5 4.7 5 0 360 P 6.6 2.6 9.6 -0.6"},
    {U'R', 8.2, "P 1.2 0 1.2 10 4.2 10 A 4.2 7.2 2.8 2.8 90 -90 P 4.2 4.4 1.2 4.4 P 4.2 4.4 7.4 0"},
    {U'S', 8, "A 4 7.6 2.7 2.4 38 270 A 4 2.6 3 2.6 90 -148"},
    {U'T', 8, "P 0.6 10 7.4 10 P 4 10 4 0"},
    {U'U', 9.2, "P 1.2 10 1.2 3.5 A 4.6 3.5 3.4 3.5 180 360 P 8 3.5 8 10"},
    {U'V', 8.8, "P 0.6 10 4.4 0 8.2 10"},
    {U'W', 13.2, "P 0.6 10 3.6 0 6.6 9.4 9.6 0 12.6 10"},
    {U'X', 8.2, "P 0.8 0 7.4 10 P 0.8 10 7.4 0"},
    {U'Y', 8.4, "P 0.6 10 4.2 4.8 7.8 10 P 4.2 4.8 4.2 0"},
    {U'Z', 8, "P 1 10 7 10 0.8 0 7.2 0"},
    {U'[', 4, "P 3.2 -1.8 1.2 -1.8 1.2 10.8 3.2 10.8"},
    {U'\\', 5, "P 0.6 11 4.4 -1.4"},
    {U']', 4, "P 0.8 -1.8 2.8 -1.8 2.8 10.8 0.8 10.8"},
    {U'_', 7, "P 0.4 -1.4 6.6 -1.4"},
    {U'a', 8.4, "A 4 3.5 3.1 3.5 0 360 P 7.1 7 7.1 0"},
    {U'b', 8.4, "P 1.3 10.4 1.3 0 A 4.4 3.5 3.1 3.5 0 360"},
    {U'c', 7, "A 4.1 3.5 3.2 3.5 48 312"},
    {U'd', 8.4, "A 4 3.5 3.1 3.5 0 360 P 7.1 10.4 7.1 0"},
    {U'e', 8, "P 0.95 3.6 7.2 3.6 A 4.1 3.5 3.15 3.5 2 312"},
    {U'f', 4.6, "P 2 0 2 8.2 A 4 8.2 2 2.2 180 80 P 0.6 7 4 7"},
    {U'g', 8.4, "A 4 3.5 3.1 3.5 0 360 P 7.1 7 7.1 -0.4 A 4.1 -0.4 3 2.7 0 -150"},
    {U'h', 8, "P 1.3 10.4 1.3 0 A 4.05 4.2 2.75 2.8 180 0 P 6.8 4.2 6.8 0"},
    {U'i', 2.8, "P 1.4 0 1.4 7 D 1.4 9.6"},
    {U'j', 3.2, "P 1.8 7 1.8 -1.2 A 0.2 -1.2 1.6 1.9 0 -80 D 1.8 9.6"},
    {U'k', 6.8, "P 1.3 0 1.3 10.4 P 5.9 7 1.3 2.8 P 3 4.4 6.3 0"},
    {U'l', 2.8, "P 1.4 0 1.4 10.4"},
    {U'm', 12.4,
     "P 1.3 0 1.3 7 A 3.8 4.5 2.5 2.5 180 0 P 6.3 4.5 6.3 0 A 8.8 4.5 2.5 2.5 180 0 P 11.3 4.5 11.3 0"},
    {U'n', 8, "P 1.3 0 1.3 7 A 4.05 4.2 2.75 2.8 180 0 P 6.8 4.2 6.8 0"},
    {U'o', 8.2, "A 4.1 3.5 3.3 3.5 0 360"},
    {U'p', 8.4, "P 1.3 7 1.3 -3.1 A 4.4 3.5 3.1 3.5 0 360"},
    {U'q', 8.4, "A 4 3.5 3.1 3.5 0 360 P 7.1 7 7.1 -3.1"},
    {U'r', 5, "P 1.3 0 1.3 7 A 4.1 4.2 2.8 2.8 180 72"},
    {U's', 6.6, "A 3.3 5.25 2.2 1.75 40 270 A 3.3 1.75 2.4 1.75 90 -148"},
    {U't', 4.8, "P 2 9.4 2 2 A 3.9 2 1.9 2 180 282 P 0.5 7 4.2 7"},
    {U'u', 8, "P 1.2 7 1.2 2.8 A 3.95 2.8 2.75 2.8 180 360 P 6.7 7 6.7 0"},
    {U'v', 7, "P 0.5 7 3.5 0 6.5 7"},
    {U'w', 10.6, "P 0.5 7 2.9 0 5.3 6.8 7.7 0 10.1 7"},
    {U'x', 6.8, "P 0.7 0 6.1 7 P 0.7 7 6.1 0"},
    {U'y', 7.2, "P 0.5 7 3.62 0.15 P 6.7 7 2.2 -3.1"},
    {U'z', 7, "P 0.9 7 6 7 0.7 0 6.2 0"},
    {U'|', 3, "P 1.5 -2 1.5 11"},
    {U'~', 8, "A 2.6 4.2 1.6 1.2 180 0 A 5.8 4.2 1.6 1.2 180 360"},
    {U'\u00b0', 4.4, "A 2.2 8.6 1.4 1.4 0 360"},
    {U'\u00b5', 8, "P 1.2 7 1.2 -3.1 P 1.2 7 1.2 2.8 A 3.95 2.8 2.75 2.8 180 360 P 6.7 7 6.7 0"},
    {U'\u00b7', 2.8, "D 1.4 4.4"},
    {U'\u00d7', 8, "P 1.6 2.2 6.4 7 P 1.6 7 6.4 2.2"},
    {U'\u2013', 6.6, "P 0.8 4.1 5.8 4.1"},
    {U'\u2212', 8, "P 1 4.6 7 4.6"},
};
constexpr Glyph unknown_glyph = {0, 7, "P 1 0 6 0 6 10 1 10 1 0"};
constexpr double superscript_scale = 0.62, superscript_rise = 4.6;

const Glyph& glyph_of(char32_t code) {
  if (code == U'\u03bc') code = U'\u00b5';  // Greek mu and the micro sign look the same
  const auto* found = std::lower_bound(std::begin(glyphs), std::end(glyphs), code,
                                       [](const Glyph& g, char32_t c) { return g.code < c; });
  return found != std::end(glyphs) && found->code == code ? *found : unknown_glyph;
}

// Decodes one code point; malformed bytes become U+FFFD.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at++]);
  if (byte < 0x80) return byte;
  const int more = byte >= 0xf0 && byte < 0xf8 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
  if (more == 0 || byte >= 0xf8) return 0xfffd;
  char32_t code = byte & (0x3f >> more);
  for (int k = 0; k < more; ++k) {
    if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80) return 0xfffd;
    code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
  }
  return code;
}

// Calls place(glyph, x, y, scale) for each glyph, in tenths of the cap height; returns the width.
template <class Place>
double lay_out(std::string_view text, Place&& place) {
  double x = 0;
  bool raised = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t code = next_code_point(text, at);
    if (code == U'^') {
      raised = true;
      continue;
    }
    if (raised && !(code >= U'0' && code <= U'9') && code != U'-' && code != U'+' && code != U'\u2212')
      raised = false;
    const double scale = raised ? superscript_scale : 1;
    const Glyph& glyph = glyph_of(code);
    place(glyph, x, raised ? superscript_rise : 0.0, scale);
    x += glyph.advance * scale;
  }
  return x;
}

struct Stroke {
  double x0, y0, x1, y1, widen;
};

// The straight strokes of a glyph; arcs in steps of at most 12 degrees.
void append_strokes(const Glyph& glyph, double x, double y, double scale, std::vector<Stroke>& out) {
  const char* s = glyph.strokes;
  const auto number = [&] {
    char* end = nullptr;
    const double value = std::strtod(s, &end);
    s = end;
    return value;
  };
  const auto add = [&](double x0, double y0, double x1, double y1, double widen) {
    out.push_back({x + scale * x0, y + scale * y0, x + scale * x1, y + scale * y1, widen});
  };
  const auto skip = [&] {
    while (*s == ' ') ++s;
  };
  for (skip(); *s; skip()) {
    const char kind = *s++;
    if (kind == 'D') {
      const double px = number(), py = number();
      add(px, py, px, py, 1.3);
    } else if (kind == 'A') {
      const double cx = number(), cy = number(), rx = number(), ry = number(), a0 = number(), a1 = number();
      const int steps = std::max(2, static_cast<int>(std::ceil(std::abs(a1 - a0) / 12)));
      double px = 0, py = 0;
      for (int k = 0; k <= steps; ++k) {
        const double a = (a0 + (a1 - a0) * k / steps) * std::numbers::pi / 180;
        const double qx = cx + rx * std::cos(a), qy = cy + ry * std::sin(a);
        if (k > 0) add(px, py, qx, qy, 1);
        px = qx, py = qy;
      }
    } else {
      double px = number(), py = number();
      for (skip(); *s && (*s == '-' || *s == '.' || (*s >= '0' && *s <= '9')); skip()) {
        const double qx = number(), qy = number();
        add(px, py, qx, qy, 1);
        px = qx, py = qy;
      }
    }
  }
}

double distance_to(const Stroke& s, double x, double y) {
  const double dx = s.x1 - s.x0, dy = s.y1 - s.y0, length2 = dx * dx + dy * dy;
  const double t = length2 > 0 ? std::clamp(((x - s.x0) * dx + (y - s.y0) * dy) / length2, 0.0, 1.0) : 0.0;
  return std::hypot(x - s.x0 - t * dx, y - s.y0 - t * dy);
}

}  // namespace

double text_width(std::string_view text, double cap_height) {
  return lay_out(text, [](const Glyph&, double, double, double) {}) * cap_height / 10;
}

TextMask text_mask(std::string_view text, double x, double y, double cap_height, TextAnchor anchor,
                   double weight) {
  std::vector<Stroke> strokes;
  const double width = lay_out(text, [&](const Glyph& glyph, double gx, double gy, double scale) {
    append_strokes(glyph, gx, gy, scale, strokes);
  });
  const double unit = cap_height / 10;
  const double left = x - (anchor == TextAnchor::left     ? 0
                           : anchor == TextAnchor::centre ? 0.5
                                                          : 1.0) *
                              width * unit;
  const double pen = std::max(weight * cap_height / 2, 0.5);  // half its width; thinner pens would only fade

  TextMask mask;
  mask.x = static_cast<int>(std::floor(left - pen - 1));
  mask.y = static_cast<int>(std::floor(y - 1.15 * cap_height - pen - 1));
  mask.width = static_cast<int>(std::ceil(left + width * unit + pen + 1)) - mask.x;
  mask.height = static_cast<int>(std::ceil(y + 0.4 * cap_height + pen + 1)) - mask.y;
  mask.coverage.assign(static_cast<std::size_t>(mask.width) * mask.height, 0);
  for (Stroke s : strokes) {
    s = {left + unit * s.x0, y - unit * s.y0, left + unit * s.x1, y - unit * s.y1, s.widen};
    const double reach = pen * s.widen + 1;
    const int i0 = std::max(0, static_cast<int>(std::floor(std::min(s.x0, s.x1) - reach)) - mask.x);
    const int i1 = std::min(mask.width, static_cast<int>(std::ceil(std::max(s.x0, s.x1) + reach)) - mask.x);
    const int j0 = std::max(0, static_cast<int>(std::floor(std::min(s.y0, s.y1) - reach)) - mask.y);
    const int j1 = std::min(mask.height, static_cast<int>(std::ceil(std::max(s.y0, s.y1) + reach)) - mask.y);
    for (int j = j0; j < j1; ++j)
      for (int i = i0; i < i1; ++i) {
        const double d = distance_to(s, mask.x + i + 0.5, mask.y + j + 0.5);
        const double covered = std::clamp(pen * s.widen - d + 0.5, 0.0, 1.0);
        std::uint8_t& c = mask.coverage[static_cast<std::size_t>(j) * mask.width + i];
        c = std::max(c, static_cast<std::uint8_t>(std::lround(255 * covered)));
      }
  }
  return mask;
}

void draw_text(Image& image, std::string_view text, double x, double y, double cap_height, Rgb8 colour,
               TextAnchor anchor) {
  const TextMask mask = text_mask(text, x, y, cap_height, anchor);
  const auto mix = [](std::uint8_t under, std::uint8_t over, double a) {
    const double light = (1 - a) * linear_from_srgb(under / 255.0) + a * linear_from_srgb(over / 255.0);
    return static_cast<std::uint8_t>(std::lround(255 * srgb_from_linear(light)));
  };
  for (int j = 0; j < mask.height; ++j)
    for (int i = 0; i < mask.width; ++i) {
      const int px = mask.x + i, py = mask.y + j;
      const std::uint8_t c = mask.coverage[static_cast<std::size_t>(j) * mask.width + i];
      if (c == 0 || px < 0 || py < 0 || px >= image.width || py >= image.height) continue;
      const Rgb8 under = image.at(px, py);
      const double a = c / 255.0;
      image.set(px, py, {mix(under.r, colour.r, a), mix(under.g, colour.g, a), mix(under.b, colour.b, a)});
    }
}

}  // namespace plenum::inline PLENUM_ABI
