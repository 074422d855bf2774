#pragma once
// A small kit for line plots as SVG text: panels with linear or logarithmic axes, curves, and labels that
// stand at the curves instead of in a legend.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plenum::figures {

struct Point {
  double x = 0, y = 0;
};

struct Stroke {
  std::string_view colour = "#333333";
  double width = 1.8;
  std::string_view dash = "";  ///< as stroke-dasharray
};

enum class Anchor { start, middle, end };

struct TextStyle {
  std::string_view colour = "#333333";
  double size = 12;
  Anchor anchor = Anchor::start;
  bool bold = false;
  double turn = 0;  ///< [degrees]
};

/// One drawing of a fixed size in pixels, on an opaque ground so that it reads on dark pages too.
class Drawing {
 public:
  Drawing(double width, double height, std::string_view title);
  /// text may hold tspan elements.
  void text(Point at, std::string_view text, const TextStyle& style = {});
  void line(Point a, Point b, const Stroke& stroke);
  void rectangle(Point corner, double width, double height, std::string_view fill,
                 std::string_view stroke = "none");
  void curve(const std::vector<Point>& points, const Stroke& stroke);
  void region(const std::vector<Point>& outline, std::string_view fill, double opacity);
  void dots(const std::vector<Point>& points, std::string_view colour, double diameter);
  /// What follows is cut off outside of the rectangle, until end_clip().
  void begin_clip(Point corner, double width, double height);
  void end_clip();
  std::string finish() const;

 private:
  std::string body_;
  double width_, height_;
  int clips_ = 0;
};

struct Tick {
  double value;
  std::string text;
};

struct Axis {
  double low, high;
  bool logarithmic = false;
  std::vector<Tick> ticks;
  std::string title;
  double place(double value) const;  ///< 0 at low, 1 at high
};

/// Powers of ten from 10^first to 10^last, every `stride`-th.
std::vector<Tick> decades(int first, int last, int stride = 1);

/// A rectangle of a drawing with axes. Points given to it are in the units of its axes.
class Panel {
 public:
  Panel(Drawing& drawing, Point corner, double width, double height, Axis x, Axis y, std::string_view title);
  Point at(Point p) const;
  void curve(const std::vector<Point>& points, const Stroke& stroke);
  void region(const std::vector<Point>& outline, std::string_view fill, double opacity);
  void dots(const std::vector<Point>& points, std::string_view colour, double diameter);
  void note(Point p, std::string_view text, const TextStyle& style = {});
  /// A label to the right of the panel for a curve that leaves it at height y.
  void label(double y, std::string_view text, std::string_view colour);
  /// Puts the labels, moved apart where they would meet.
  void place_labels(double spacing = 15);

 private:
  std::vector<Point> all_at(const std::vector<Point>& points) const;
  struct Label {
    double wanted;
    std::string text, colour;
  };
  Drawing& drawing_;
  Point corner_;
  double width_, height_;
  Axis x_, y_;
  std::vector<Label> labels_;
};

}  // namespace plenum::figures
