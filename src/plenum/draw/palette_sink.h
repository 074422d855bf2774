#pragma once
// Gives every part of a scene a colour of its own.
#include <algorithm>

#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI {

/// Passes drawables on to another sink and replaces palette entries left to the picture (negative ones, see
/// drawables.h) by successive entries, counted on from system to system. Call next_system() before each.
class PaletteSink final : public DrawableSink {
 public:
  explicit PaletteSink(DrawableSink& sink) : sink_(sink) {}

  void next_system() {
    first_ += used_;
    used_ = 0;
  }
  void triangles(const TriangleView& view) override {
    TriangleView coloured = view;
    coloured.palette = entry(view.palette, view.look);
    sink_.triangles(coloured);
  }
  void spheres(const SphereView& view) override {
    SphereView coloured = view;
    coloured.palette = entry(view.palette, view.look);
    sink_.spheres(coloured);
  }
  void lines(const LineView& view) override {
    LineView coloured = view;
    coloured.palette = entry(view.palette, view.look);
    sink_.lines(coloured);
  }
  void volume(const VolumeView& view) override { sink_.volume(view); }
  void liquid(const LiquidView& view) override { sink_.liquid(view); }
  void label(const LabelView& view) override { sink_.label(view); }

 private:
  int entry(int palette, Look look) {
    if (palette >= 0 || look == Look::obstacle) return palette;  // an obstacle left to the picture is neutral
    const int part = -1 - palette;
    used_ = std::max(used_, part + 1);
    return first_ + part;
  }

  DrawableSink& sink_;
  int first_ = 0, used_ = 0;
};

}  // namespace plenum::inline PLENUM_ABI
