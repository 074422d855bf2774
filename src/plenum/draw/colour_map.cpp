#include "plenum/draw/colour_map.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <span>

namespace plenum::inline PLENUM_ABI {

namespace {

using Colour = Vector3<double>;

// The maps' published colours at even steps; between them a cubic in sRGB stays within a step of 8 bits.
constexpr std::uint32_t viridis_stops[] = {0x440154, 0x482576, 0x414487, 0x35608d, 0x2a788e, 0x21908c,
                                           0x22a884, 0x43bf71, 0x7ad151, 0xbbdf27, 0xfde725};
constexpr std::uint32_t cividis_stops[] = {0x00204d, 0x31446b, 0x666970, 0x958f78, 0xcbba69, 0xffea46};

Colour unpack(std::uint32_t rgb) {
  return Colour((rgb >> 16) & 0xff, (rgb >> 8) & 0xff, rgb & 0xff) / 255.0;
}

Colour along(std::span<const std::uint32_t> stops, double u) {
  const int last = static_cast<int>(stops.size()) - 1;
  const double at = std::clamp(u, 0.0, 1.0) * last;
  const int i = std::min(static_cast<int>(at), last - 1);
  const auto stop = [&](int k) -> Colour {  // continued straight past both ends
    if (k < 0) return 2 * unpack(stops[0]) - unpack(stops[1]);
    if (k > last) return 2 * unpack(stops[last]) - unpack(stops[last - 1]);
    return unpack(stops[k]);
  };
  // Catmull and Rom 1974.
  const double t = at - i;
  const Colour p0 = stop(i - 1), p1 = stop(i), p2 = stop(i + 1), p3 = stop(i + 2);
  const Colour c =
      p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
  return c.cwiseMax(0).cwiseMin(1);
}

// Between sRGB and CIELAB under D65 (IEC 61966-2-1; CIE 15).
Colour lab_of(const Colour& srgb) {
  Colour rgb;
  for (int k = 0; k < 3; ++k) rgb[k] = linear_from_srgb(srgb[k]);
  const double x = (0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.9505;
  const double y = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
  const double z = (0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.089;
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}
Colour srgb_of_lab(const Colour& lab) {
  const double fy = (lab[0] + 16) / 116, fx = fy + lab[1] / 500, fz = fy - lab[2] / 200;
  const auto g = [](double f) { return f > 6.0 / 29 ? f * f * f : (116 * f - 16) * 27 / 24389; };
  const double x = 0.9505 * g(fx), y = g(fy), z = 1.089 * g(fz);
  return {srgb_from_linear(3.2406 * x - 1.5372 * y - 0.4986 * z),
          srgb_from_linear(-0.9689 * x + 1.8758 * y + 0.0415 * z),
          srgb_from_linear(0.0557 * x - 0.2040 * y + 1.0570 * z)};
}

// Moreland 2009, "Diverging color maps for scientific visualization": from a saturated colour to an
// unsaturated middle straight in Msh (polar CIELAB: magnitude, saturation angle, hue), hue spun so that the
// step from the middle stays even.
Colour cool_warm(double u) {
  const auto msh_of = [](const Colour& lab) -> Colour {
    const double m = lab.norm();
    return {m, m > 1e-3 ? std::acos(lab[0] / m) : 0.0, std::atan2(lab[2], lab[1])};
  };
  const bool warm = u > 0.5;
  const Colour end = msh_of(lab_of(warm ? Colour(180, 4, 38) / 255 : Colour(59, 76, 192) / 255));
  const double middle = 88;  // the magnitude, here lightness, of the grey; section 5
  // Section 5, listing "AdjustHue".
  double hue = end[2];
  if (end[0] < middle) {
    const double spin = end[1] * std::sqrt(middle * middle - end[0] * end[0]) / (end[0] * std::sin(end[1]));
    hue += end[2] > -std::numbers::pi / 3 ? spin : -spin;
  }
  const double t = std::abs(2 * std::clamp(u, 0.0, 1.0) - 1);  // 0 in the middle
  const double m = (1 - t) * middle + t * end[0], s = t * end[1], h = (1 - t) * hue + t * end[2];
  const Colour lab = m * Colour(std::cos(s), std::sin(s) * std::cos(h), std::sin(s) * std::sin(h));
  return srgb_of_lab(lab).cwiseMax(0).cwiseMin(1);
}

}  // namespace

Vector3<double> map_colour(ColourMap map, double u) {
  switch (map) {
    case ColourMap::viridis:
      return along(viridis_stops, u);
    case ColourMap::cividis:
      return along(cividis_stops, u);
    case ColourMap::cool_warm:
      break;
  }
  return cool_warm(u);
}

}  // namespace plenum::inline PLENUM_ABI
