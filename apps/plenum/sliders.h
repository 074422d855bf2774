#pragma once
// The panel of the window: timings, buttons, and a slider for each parameter.
#include "plenum/scene/scene.h"
#include "plenum/world/pointer.h"

namespace plenum::app {

struct PanelState {
  double time = 0;  ///< [s]
  std::int64_t frame = 0;
  double simulate_milliseconds = 0, frames_per_second = 0, dropped_seconds = 0;
  bool paused = false;
  std::string message;  ///< a trouble to show, or empty
  const FrameReport& report;
};

struct PanelActions {
  bool pause = false, step = false, reset = false, frame_camera = false;
  float covered = 0;  ///< share of the picture's width that the panel hides at its left
};

/// The slider, or switch or list, of one parameter, which changes it in place.
void leaf_widget(const Leaf& leaf);

/// Lays out the panel for this frame; sliders change the parameters of the world's systems, and what the
/// mouse does, in place.
PanelActions panel(Scene& scene, PointerSettings& pointer, const PanelState& state);

}  // namespace plenum::app
