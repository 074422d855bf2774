#include "plenum/draw/trails.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plenum::inline PLENUM_ABI {

namespace {

/// Of the sphere's radius, where the trail leaves it.
constexpr Real trail_width = Real(0.25);
/// A step that is so much faster than all before it in the trail, and so many radii long, is no motion.
constexpr Real jump_factor = 10, jump_radii = 20;
/// Turns up to this one are rounded, sharper ones are bounces.
constexpr Real sharpest_turn = Real(std::numbers::pi / 3);
/// [rad] of the turn between parts of a rounded segment.
constexpr Real smooth_turn = Real(0.06);
constexpr std::size_t least_pictures = 16;

/// A place on a trail at a time.
struct Stop {
  std::size_t picture = 0;
  double time = 0;
  const TrailPoint* at = nullptr;
};

/// Whether two stops are of one sphere that went from one to the other between two pictures: not through a
/// side of a periodic box, and not at a bound.
bool is_step(const Stop& p, const Stop& q, const Vec3& period, Real fastest) {
  if (p.at->id != q.at->id || q.picture != p.picture + 1) return false;
  const Vec3 step = q.at->x - p.at->x;
  for (int c = 0; c < 3; ++c)
    if (period[c] > 0 && std::abs(step[c]) > period[c] / 2) return false;
  const Real length = step.norm(), speed = length / Real(q.time - p.time);
  return !(fastest > 0 && length > jump_radii * q.at->radius && speed > jump_factor * fastest);
}

/// Segments with what there is at their points.
struct Strokes {
  std::vector<Vec3> x;
  std::vector<Real> radii, values;
  std::vector<Index2> segments;

  void put(const Vec3& at, Real radius, Real value, bool goes_on) {
    if (goes_on) segments.emplace_back(Index(x.size()) - 1, Index(x.size()));
    x.push_back(at), radii.push_back(radius), values.push_back(value);
  }
};

/// The line through stops that one sphere went to without a jump, from `begin` [s] on, thinner the longer ago
/// of `trail` [s].
void draw_way(std::span<const Stop> way, double now, double trail, Strokes& strokes) {
  const double begin = now - trail;
  if (way.size() < 2) return;
  const auto velocity = [&](std::size_t i, std::size_t j) -> Vec3 {
    return (way[j].at->x - way[i].at->x) / Real(way[j].time - way[i].time);
  };
  // Turn of the way at a stop.
  const auto turn = [&](std::size_t i) -> Real {
    if (i == 0 || i + 1 == way.size()) return 0;
    const Vec3 a = way[i].at->x - way[i - 1].at->x, b = way[i + 1].at->x - way[i].at->x;
    return std::atan2(a.cross(b).norm(), a.dot(b));
  };
  // Tangent at an end of segment i: of the parabola through three stops, but of the segment alone at bounces.
  const auto within = [&](std::size_t stop) -> Vec3 {
    const Real before = Real(way[stop].time - way[stop - 1].time),
               after = Real(way[stop + 1].time - way[stop].time);
    return (after * velocity(stop - 1, stop) + before * velocity(stop, stop + 1)) / (before + after);
  };
  const auto tangent = [&](std::size_t i, std::size_t stop) -> Vec3 {
    const Vec3 straight = velocity(i, i + 1);
    if (stop > 0 && stop + 1 < way.size()) return turn(stop) > sharpest_turn ? straight : within(stop);
    const std::size_t other = stop == i ? i + 1 : i;
    if (way.size() < 3 || turn(other) > sharpest_turn) return straight;
    return 2 * straight - within(other);
  };
  bool goes_on = false;
  const auto put = [&](const Vec3& x, double time, Real radius, Real value) {
    const Real age = Real((now - time) / trail);
    strokes.put(x, trail_width * radius * std::max(1 - age, Real(0)), value, goes_on);
    goes_on = true;
  };
  for (std::size_t i = 0; i + 1 < way.size(); ++i) {
    const Stop &p = way[i], &q = way[i + 1];
    if (q.time <= begin) continue;
    const auto rounded = [&](std::size_t stop) { return turn(stop) > sharpest_turn ? Real(0) : turn(stop); };
    const int parts = std::clamp(int(std::ceil(std::max(rounded(i), rounded(i + 1)) / smooth_turn)), 1, 8);
    const Real h = Real(q.time - p.time);
    const Vec3 m0 = h * tangent(i, i), m1 = h * tangent(i, i + 1);
    const auto at = [&](Real s) {
      // Cubic Hermite interpolation.
      const Real r = 1 - s;
      const Vec3 x =
          r * r * (1 + 2 * s) * p.at->x + s * s * (1 + 2 * r) * q.at->x + r * s * (r * m0 - s * m1);
      put(x, p.time + double(s) * (q.time - p.time), (1 - s) * p.at->radius + s * q.at->radius,
          (1 - s) * p.at->value + s * q.at->value);
    };
    const Real first = Real(std::max(0.0, (begin - p.time) / (q.time - p.time)));
    if (!goes_on) at(first);
    for (int k = 1; k <= parts; ++k)
      if (const Real s = Real(k) / Real(parts); s > first) at(s);
  }
}

}  // namespace

std::size_t TrailTrack::num_points() const {
  std::size_t count = 0;
  for (const Picture& picture : pictures_) count += picture.points.size();
  return count;
}

void TrailTrack::add(const SphereView& view, double time, double spacing, std::uint32_t stride) {
  if (!pictures_.empty() && pictures_.back().time == time) pictures_.pop_back();
  Picture& picture = pictures_.emplace_back();
  picture.time = time;
  const bool coloured = view.colour.values.size() >= view.x.size();
  for (std::size_t i = 0; i < view.x.size(); ++i) {
    const std::uint32_t id = i < view.ids.size() ? view.ids[i] : static_cast<std::uint32_t>(i);
    if (id % stride != 0 || !view.x[i].allFinite()) continue;
    picture.points.push_back({.id = id,
                              .x = view.x[i],
                              .radius = i < view.radii.size() ? view.radii[i] : view.radius,
                              .value = coloured ? view.colour.values[i] : Real(0)});
  }
  // One that is too old is where the oldest segment comes from.
  while (pictures_.size() > 1 && pictures_[1].time <= time - double(view.trail)) pictures_.pop_front();
  for (std::size_t i = 1; i + 1 < pictures_.size();)
    if (pictures_[i + 1].time - pictures_[i - 1].time <= spacing)
      pictures_.erase(pictures_.begin() + std::ptrdiff_t(i));
    else
      ++i;
}

void TrailTrack::draw(const SphereView& view, DrawableSink& sink) const {
  if (pictures_.size() < 2) return;
  std::vector<Stop> stops;
  stops.reserve(num_points());
  for (std::size_t k = 0; k < pictures_.size(); ++k)
    for (const TrailPoint& point : pictures_[k].points) stops.push_back({k, pictures_[k].time, &point});
  std::sort(stops.begin(), stops.end(), [](const Stop& a, const Stop& b) {
    return a.at->id != b.at->id ? a.at->id < b.at->id : a.picture < b.picture;
  });
  Strokes strokes;
  const double now = pictures_.back().time;
  std::size_t first = 0;  // of the way that is being followed
  Real fastest = 0;       // [m/s] on it
  for (std::size_t i = 1; i <= stops.size(); ++i) {
    const Stop& p = stops[i - 1];
    if (i < stops.size() && is_step(p, stops[i], view.period, fastest)) {
      fastest = std::max(fastest, (stops[i].at->x - p.at->x).norm() / Real(stops[i].time - p.time));
      continue;
    }
    draw_way(std::span(stops).subspan(first, i - first), now, double(view.trail), strokes);
    first = i, fastest = 0;
  }
  if (strokes.segments.empty()) return;
  LineView lines{.x = strokes.x,
                 .segments = strokes.segments,
                 .radii = strokes.radii,
                 .look = Look::trail,
                 .palette = view.palette,
                 .colour = view.colour};
  lines.colour.values = strokes.values;
  if (view.colour.quantity.empty()) lines.colour = {};
  sink.lines(lines);
}

void Trails::begin_picture(double time) {
  if (time < time_) clear();
  time_ = time;
  next_ = 0;
  spheres_before_ = spheres_;
  spheres_ = 0;
}

void Trails::follow(const SphereView& view, DrawableSink& sink) {
  if (next_ == tracks_.size()) tracks_.emplace_back();
  TrailTrack& track = tracks_[next_++];
  spheres_ += view.x.size();
  const std::size_t spheres = std::max({spheres_, spheres_before_, std::size_t(1)});
  std::uint32_t stride = 1;
  while (spheres / stride > most_points_ / least_pictures) stride *= 2;
  const std::size_t pictures = std::min(most_pictures, most_points_ * stride / spheres);
  // Of pictures further apart than `spacing` in every two steps, so many fit in the trail.
  track.add(view, time_, 2 * double(view.trail) / double(pictures - 2), stride);
  while (num_points() > most_points_) {
    TrailTrack& largest = *std::max_element(tracks_.begin(), tracks_.end(), [](const auto& a, const auto& b) {
      return a.num_points() < b.num_points();
    });
    largest.forget_oldest();
  }
  track.draw(view, sink);
}

void Trails::clear() {
  tracks_.clear();
  next_ = spheres_ = spheres_before_ = 0;
}

std::size_t Trails::num_points() const {
  std::size_t count = 0;
  for (const TrailTrack& track : tracks_) count += track.num_points();
  return count;
}

}  // namespace plenum::inline PLENUM_ABI
