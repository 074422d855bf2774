#include "plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "style.h"

namespace plenum::figures {
namespace {

constexpr std::string_view faint = "#e4e4e0", ground = "#fcfcfa";

/// A tenth of a pixel, without trailing zeros; far-off values are held near enough to stay short.
std::string number(double value) {
  const double held = std::round(std::clamp(value, -3000.0, 3000.0) * 10) / 10;
  return fmt::format("{}", held == 0 ? 0.0 : held);
}

std::string path(const std::vector<Point>& points) {
  std::string d;
  for (const Point& p : points) d += fmt::format("{}{} {}", d.empty() ? "M" : "L", number(p.x), number(p.y));
  return d;
}

std::string pen(const Stroke& s) {
  std::string out = fmt::format("stroke=\"{}\" stroke-width=\"{}\"", s.colour, s.width);
  if (!s.dash.empty()) out += fmt::format(" stroke-dasharray=\"{}\"", s.dash);
  return out;
}

}  // namespace

Drawing::Drawing(double width, double height, std::string_view title) : width_(width), height_(height) {
  body_ = fmt::format("<title>{}</title>\n", title);
  rectangle({0, 0}, width, height, ground);
}

void Drawing::text(Point at, std::string_view text, const TextStyle& style) {
  constexpr std::string_view anchors[] = {"start", "middle", "end"};
  const std::string x = number(at.x), y = number(at.y);
  body_ +=
      fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", x, y, style.size, style.colour);
  if (style.anchor != Anchor::start) body_ += fmt::format(" text-anchor=\"{}\"", anchors[int(style.anchor)]);
  if (style.bold) body_ += " font-weight=\"600\"";
  if (style.turn != 0) body_ += fmt::format(" transform=\"rotate({} {} {})\"", style.turn, x, y);
  body_ += fmt::format(">{}</text>\n", text);
}

void Drawing::line(Point a, Point b, const Stroke& stroke) {
  body_ += fmt::format("<path d=\"{}\" {}/>\n", path({a, b}), pen(stroke));
}

void Drawing::rectangle(Point corner, double width, double height, std::string_view fill,
                        std::string_view stroke) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n",
                       number(corner.x), number(corner.y), number(width), number(height), fill, stroke);
}

void Drawing::curve(const std::vector<Point>& points, const Stroke& stroke) {
  body_ +=
      fmt::format("<path d=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", path(points), pen(stroke));
}

void Drawing::region(const std::vector<Point>& outline, std::string_view fill, double opacity) {
  body_ += fmt::format("<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"{}\"/>\n", path(outline), fill, opacity);
}

void Drawing::dots(const std::vector<Point>& points, std::string_view colour, double diameter) {
  std::string d;  // segments of no length with round ends, which are shorter to write than circles
  for (const Point& p : points) d += fmt::format("M{} {}h0", number(p.x), number(p.y));
  body_ += fmt::format("<path d=\"{}\" stroke-linecap=\"round\" stroke=\"{}\" stroke-width=\"{}\"/>\n", d,
                       colour, diameter);
}

void Drawing::begin_clip(Point corner, double width, double height) {
  body_ += fmt::format("<clipPath id=\"c{}\">", clips_);
  rectangle(corner, width, height, "none");
  body_ += fmt::format("</clipPath>\n<g clip-path=\"url(#c{})\">\n", clips_++);
}

void Drawing::end_clip() {
  body_ += "</g>\n";
}

std::string Drawing::finish() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\">\n{2}</svg>\n",
      number(width_), number(height_), body_);
}

double Axis::place(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

std::vector<Tick> decades(int first, int last, int stride) {
  constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::vector<Tick> ticks;
  for (int e = first; e <= last; e += stride) {
    std::string text = e == 0 ? "1" : "10";
    if (e < 0) text += "⁻";
    if (e < 0 || e > 1)
      for (const char c : std::to_string(std::abs(e))) text += digits[c - '0'];
    ticks.push_back({std::pow(10.0, e), text});
  }
  return ticks;
}

Panel::Panel(Drawing& drawing, Point corner, double width, double height, Axis x, Axis y,
             std::string_view title)
    : drawing_(drawing), corner_(corner), width_(width), height_(height), x_(std::move(x)), y_(std::move(y)) {
  drawing.rectangle(corner, width, height, "#ffffff");
  const Stroke grid{faint, 1, ""};
  for (const Tick& tick : x_.ticks) {
    const double px = corner.x + width * x_.place(tick.value);
    drawing.line({px, corner.y}, {px, corner.y + height}, grid);
    drawing.text({px, corner.y + height + 16}, tick.text, {ink, 11, Anchor::middle});
  }
  for (const Tick& tick : y_.ticks) {
    const double py = corner.y + height * (1 - y_.place(tick.value));
    drawing.line({corner.x, py}, {corner.x + width, py}, grid);
    drawing.text({corner.x - 6, py + 4}, tick.text, {ink, 11, Anchor::end});
  }
  drawing.rectangle(corner, width, height, "none", pale);
  drawing.text({corner.x, corner.y - 10}, title, {ink, 13, Anchor::start, true});
  drawing.text({corner.x + width / 2, corner.y + height + 34}, x_.title, {ink, 12, Anchor::middle});
  if (!y_.title.empty())
    drawing.text({corner.x - 44, corner.y + height / 2}, y_.title, {ink, 12, Anchor::middle, false, -90});
}

Point Panel::at(Point p) const {
  return {corner_.x + width_ * x_.place(p.x), corner_.y + height_ * (1 - y_.place(p.y))};
}

std::vector<Point> Panel::all_at(const std::vector<Point>& points) const {
  std::vector<Point> out;
  for (const Point& p : points) out.push_back(at(p));
  return out;
}

void Panel::curve(const std::vector<Point>& points, const Stroke& stroke) {
  drawing_.begin_clip(corner_, width_, height_);
  drawing_.curve(all_at(points), stroke);
  drawing_.end_clip();
}

void Panel::region(const std::vector<Point>& outline, std::string_view fill, double opacity) {
  drawing_.begin_clip(corner_, width_, height_);
  drawing_.region(all_at(outline), fill, opacity);
  drawing_.end_clip();
}

void Panel::dots(const std::vector<Point>& points, std::string_view colour, double diameter) {
  drawing_.begin_clip(corner_, width_, height_);
  drawing_.dots(all_at(points), colour, diameter);
  drawing_.end_clip();
}

void Panel::note(Point p, std::string_view text, const TextStyle& style) {
  drawing_.text(at(p), text, style);
}

void Panel::label(double y, std::string_view text, std::string_view colour) {
  const double py = std::clamp(at({x_.low, y}).y, corner_.y, corner_.y + height_);
  labels_.push_back({py, std::string(text), std::string(colour)});
}

void Panel::place_labels(double spacing) {
  std::stable_sort(labels_.begin(), labels_.end(),
                   [](const Label& a, const Label& b) { return a.wanted < b.wanted; });
  // Down from the top, then up from the bottom, so that all stay beside the panel.
  std::vector<double> y;
  for (const Label& l : labels_) y.push_back(y.empty() ? l.wanted : std::max(l.wanted, y.back() + spacing));
  double limit = corner_.y + height_;
  for (std::size_t k = y.size(); k-- > 0;) {
    y[k] = std::min(y[k], limit);
    limit = y[k] - spacing;
  }
  const double x = corner_.x + width_;
  for (std::size_t k = 0; k < y.size(); ++k) {
    drawing_.line({x, labels_[k].wanted}, {x + 10, y[k]}, {labels_[k].colour, 1, ""});
    drawing_.text({x + 13, y[k] + 4}, labels_[k].text, {labels_[k].colour, 12});
  }
  labels_.clear();
}

}  // namespace plenum::figures
