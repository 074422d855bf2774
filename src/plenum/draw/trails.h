#pragma once
// Trails: lines along the way that spheres have gone, as pictures remember it. No part of any state: neither
// hashes nor checkpoints know of them, and a resumed run begins them anew.
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI {

/// Where a sphere was.
struct TrailPoint {
  std::uint32_t id = 0;        ///< of what leaves the trail
  Vec3 x = Vec3::Zero();       ///< [m]
  Real radius = 0, value = 0;  ///< [m] of the sphere; what it was coloured by
};

/// What has been seen of one set of spheres.
class TrailTrack {
 public:
  /// Adds the spheres of a view at `time` [s], no earlier than the last one's; at the same time they replace
  /// the last. Forgets what is over `view.trail` old, and pictures between others that are no more than
  /// `spacing` [s] apart. Of the spheres those are followed whose id is a multiple of `stride`.
  void add(const SphereView& view, double time, double spacing, std::uint32_t stride);
  /// Draws lines through all that is known, thinning towards their ends; `view` says how.
  void draw(const SphereView& view, DrawableSink& sink) const;

  std::size_t num_points() const;
  std::size_t num_pictures() const { return pictures_.size(); }
  void forget_oldest() { pictures_.pop_front(); }

 private:
  struct Picture {
    double time = 0;
    std::vector<TrailPoint> points;
  };
  std::deque<Picture> pictures_;
};

/// Remembers where spheres with a trail have been. In bounds: at most `most_pictures` places of each and
/// `most_points` of all. The more spheres, the fewer places; beyond most_points / 16 spheres only every
/// second one, every fourth one and so on is followed.
class Trails {
 public:
  static constexpr std::size_t most_pictures = 256;
  explicit Trails(std::size_t most_points = std::size_t(1) << 20) : most_points_(most_points) {}

  /// Begins a picture of the world at `time` [s]. An earlier time than before begins everything anew.
  void begin_picture(double time);
  /// The next set of spheres of the picture that has a trail, in an order that is the same in each picture.
  void follow(const SphereView& view, DrawableSink& sink);
  void clear();

  std::size_t num_points() const;

 private:
  std::size_t most_points_;
  std::vector<TrailTrack> tracks_;
  std::size_t next_ = 0;            // set of this picture
  std::size_t spheres_ = 0;         // seen in this picture
  std::size_t spheres_before_ = 0;  // in the one before
  double time_ = 0;
};

/// Passes drawables on to another sink, and draws trails behind spheres that ask for them. One for each
/// picture.
class TrailSink final : public DrawableSink {
 public:
  /// The world is as at `time` [s].
  TrailSink(Trails& trails, DrawableSink& sink, double time) : trails_(trails), sink_(sink) {
    trails_.begin_picture(time);
  }
  void triangles(const TriangleView& view) override { sink_.triangles(view); }
  void spheres(const SphereView& view) override {
    sink_.spheres(view);
    if (view.trail > 0) trails_.follow(view, sink_);
  }
  void lines(const LineView& view) override { sink_.lines(view); }
  void volume(const VolumeView& view) override { sink_.volume(view); }
  void liquid(const LiquidView& view) override { sink_.liquid(view); }
  void label(const LabelView& view) override { sink_.label(view); }

 private:
  Trails& trails_;
  DrawableSink& sink_;
};

}  // namespace plenum::inline PLENUM_ABI
