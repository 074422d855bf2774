#include "plenum/draw/legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plenum/io/image_text.h"

namespace plenum::inline PLENUM_ABI {

namespace {

// The smallest of 1, 2, 5 times a power of ten that is not below `value` > 0.
double round_step(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0, 10.0})
    if (step * power >= value * (1 - 1e-9)) return step * power;
  return 10 * power;
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  if (!(high > low) || !std::isfinite(high - low)) return {low};
  double step = round_step((high - low) / count);
  std::vector<double> out;
  while (true) {
    out.clear();
    const double first = std::ceil(low / step - 1e-6), last = std::floor(high / step + 1e-6);
    for (double k = first; k <= last; ++k) out.push_back(k == 0 ? 0.0 : k * step);
    if (static_cast<int>(out.size()) <= count) break;
    step = round_step(step * 1.01);
  }
  return out;
}

std::string tick_label(double value, double step) {
  std::string text;
  const double size = std::max(std::abs(value), std::abs(step));
  if (value != 0 && (size >= 1e5 || std::abs(step) < 1e-4)) {
    const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
    const int step_power = static_cast<int>(std::floor(std::log10(std::abs(step)) + 1e-9));
    text = fmt::format("{:.{}f}\u00b710^{}", value / std::pow(10.0, power),
                       std::clamp(power - step_power, 0, 6), power);
  } else {
    const int digits = std::clamp(static_cast<int>(-std::floor(std::log10(std::abs(step)) + 1e-9)), 0, 6);
    text = fmt::format("{:.{}f}", value, step == 0 ? 3 : digits);
  }
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 3)
    text.replace(at, 1, "\u2212");
  return text;
}

std::pair<double, double> rounded_range(double low, double high) {
  if (!(high >= low)) return {0, 1};
  if (low > 0 && low < 0.3 * high) low = 0;
  if (high < 0 && high > 0.3 * low) high = 0;
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= 1e-6 * size || high == low) {
    const double half = size > 0 ? 0.05 * size : 0.5;
    low -= half, high += half;
  }
  const double step = round_step((high - low) / 10);
  return {step * std::floor(low / step + 1e-6), step * std::ceil(high / step - 1e-6)};
}

namespace {

struct Painter {
  Overlay& overlay;

  // Lays `colour` over what is there (Porter and Duff 1984, "over").
  void put(int x, int y, Rgb8 colour, double alpha) {
    x -= overlay.x, y -= overlay.y;
    if (x < 0 || y < 0 || x >= overlay.width || y >= overlay.height || alpha <= 0) return;
    std::uint8_t* p = &overlay.rgba[(static_cast<std::size_t>(y) * overlay.width + x) * 4];
    const double under = p[3] / 255.0 * (1 - alpha), sum = alpha + under;
    const std::uint8_t over[3] = {colour.r, colour.g, colour.b};
    for (int k = 0; k < 3; ++k)
      p[k] = static_cast<std::uint8_t>(std::lround((over[k] * alpha + p[k] * under) / sum));
    p[3] = static_cast<std::uint8_t>(std::lround(255 * sum));
  }
  void text(std::string_view words, double x, double y, double cap, Rgb8 colour, TextAnchor anchor) {
    const TextMask mask = text_mask(words, x, y, cap, anchor, 0.13);
    for (int j = 0; j < mask.height; ++j)
      for (int i = 0; i < mask.width; ++i)
        put(mask.x + i, mask.y + j, colour,
            mask.coverage[static_cast<std::size_t>(j) * mask.width + i] / 255.0);
  }
};

}  // namespace

Overlay make_overlay(std::span<const LegendEntry> entries, std::string_view caption,
                     std::span<const OverlayLabel> labels, int width, int height, double covered) {
  Overlay overlay;
  if (entries.empty() && caption.empty() && labels.empty()) return overlay;
  overlay.width = width, overlay.height = height;
  overlay.rgba.assign(static_cast<std::size_t>(width) * height * 4, 0);
  Painter paint{overlay};

  const double cap = std::max(7.0, height * 0.0145);
  const double margin = 2.9 * cap;
  const Rgb8 ink = {62, 66, 73}, soft_ink = {96, 101, 108};
  const double begin = covered * width + margin;
  if (!caption.empty()) paint.text(caption, begin, margin + cap, cap, ink, TextAnchor::left);
  for (const OverlayLabel& label : labels)
    paint.text(label.text, label.x, label.y - 0.8 * cap, cap, ink, TextAnchor::centre);

  const int bar_width = std::max(60, static_cast<int>(std::lround(std::min(width * 0.21, 26.0 * cap))));
  const int bar_height = std::max(4, static_cast<int>(std::lround(0.82 * cap)));
  const double line_height = 6.6 * cap;
  const int left = static_cast<int>(std::lround(begin));
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const LegendEntry& entry = entries[e];
    const double base =
        height - margin - line_height * (entries.size() - 1 - e);  // baseline of the tick labels
    const int top = static_cast<int>(std::lround(base - 1.75 * cap - bar_height));
    const double radius = bar_height / 2.0;
    for (int j = 0; j < bar_height; ++j)
      for (int i = 0; i < bar_width; ++i) {
        const double u = (i + 0.5 - radius) / (bar_width - 2 * radius);
        const Vector3<double> c = map_colour(entry.map, u);
        // Rounded ends.
        const double cx = std::clamp(i + 0.5, radius, bar_width - radius);
        const double d = std::hypot(i + 0.5 - cx, j + 0.5 - radius);
        paint.put(left + i, top + j,
                  {static_cast<std::uint8_t>(std::lround(255 * c[0])),
                   static_cast<std::uint8_t>(std::lround(255 * c[1])),
                   static_cast<std::uint8_t>(std::lround(255 * c[2]))},
                  std::clamp(radius - d + 0.5, 0.0, 1.0));
      }
    std::string title = entry.quantity;
    if (!entry.unit.empty() && entry.unit != "1") title += " [" + entry.unit + "]";
    paint.text(title, left, top - 0.85 * cap, cap, ink, TextAnchor::left);

    const std::vector<double> marks = ticks(entry.low, entry.high);
    const double step = marks.size() > 1 ? marks[1] - marks[0] : 0;
    for (const double mark : marks) {
      const double u = entry.high > entry.low ? (mark - entry.low) / (entry.high - entry.low) : 0.5;
      const double x = left + radius + u * (bar_width - 2 * radius);
      const int first = top + bar_height + std::max(1, static_cast<int>(0.15 * cap));
      const int length = std::max(2, static_cast<int>(std::lround(0.32 * cap)));
      // One pixel wide, shared between two columns.
      const double at = x - 0.5;
      const int column = static_cast<int>(std::floor(at));
      for (int j = 0; j < length; ++j) {
        paint.put(column, first + j, soft_ink, 1 - (at - column));
        paint.put(column + 1, first + j, soft_ink, at - column);
      }
      const std::string label = tick_label(mark, step);
      const double half = text_width(label, 0.86 * cap) / 2;
      // The outermost labels stay over the strip's own width where they can.
      paint.text(label, std::max(x, left + std::min(half, radius)), base, 0.86 * cap, soft_ink,
                 TextAnchor::centre);
    }
  }

  // Crop to what is covered.
  int x0 = width, x1 = -1, y0 = height, y1 = -1;
  for (int j = 0; j < height; ++j)
    for (int i = 0; i < width; ++i)
      if (overlay.rgba[(static_cast<std::size_t>(j) * width + i) * 4 + 3])
        x0 = std::min(x0, i), x1 = std::max(x1, i), y0 = std::min(y0, j), y1 = std::max(y1, j);
  Overlay cropped;
  if (x1 < x0) return cropped;
  cropped.x = x0, cropped.y = y0, cropped.width = x1 - x0 + 1, cropped.height = y1 - y0 + 1;
  for (int j = y0; j <= y1; ++j) {
    const std::uint8_t* row = &overlay.rgba[(static_cast<std::size_t>(j) * width + x0) * 4];
    cropped.rgba.insert(cropped.rgba.end(), row, row + 4 * cropped.width);
  }
  return cropped;
}

}  // namespace plenum::inline PLENUM_ABI
