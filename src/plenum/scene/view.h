#pragma once
// Camera, light and stage of a scene at a time, as its keyframes move them, and what no picture can be taken
// with.
#include <span>
#include <string_view>
#include <vector>

#include "plenum/scene/scene.h"

namespace plenum::inline PLENUM_ABI {

void describe_view(Describer& d, SceneSettings& settings);

/// What keyframes of the scene itself may move: every value of camera, light and stage but
/// camera.automatic, which says which values there are.
std::vector<Leaf> leaves_of_view(SceneSettings& settings);

/// The settings with camera, light and stage as keyframes have them at a time [s].
SceneSettings settings_at(const SceneSettings& settings, std::span<const Keyframes> keyframes, double time);

/// What no picture can be taken with.
struct ViewFault {
  std::vector<std::string_view> keys;  ///< the values at fault, e.g. camera.up
  const char* what;
};
std::vector<ViewFault> faults_of_view(const SceneSettings& settings);

}  // namespace plenum::inline PLENUM_ABI
