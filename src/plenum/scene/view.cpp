#include "plenum/scene/view.h"

#include <algorithm>

namespace plenum::inline PLENUM_ABI {

void SceneCamera::describe(Describer& d) {
  d("automatic", automatic, {.doc = "holds the moving subject in view by itself"});
  if (d.when("automatic", "true", automatic)) {
    d("azimuth", azimuth,
      {.unit = "deg", .min = -360, .max = 360, .doc = "of the eye about +y, from +z towards +x"});
    d("elevation", elevation,
      {.unit = "deg", .min = -85, .max = 85, .doc = "of the eye above the horizontal"});
    d("margin", margin, {.min = 0, .max = 10, .doc = "room around the subject, as a fraction of its size"});
  }
  if (d.when("automatic", "false", !automatic)) {
    d("eye", eye, {.unit = "m", .min = -1e6, .max = 1e6, .doc = "where the camera stands"});
    d("target", target, {.unit = "m", .min = -1e6, .max = 1e6, .doc = "what it looks at"});
    d("up", up, {.min = -1e6, .max = 1e6, .doc = "roughly upwards in the picture, of any length"});
  }
  d("field_of_view", field_of_view, {.unit = "deg", .min = 1, .max = 150, .doc = "vertical"});
}

void SceneLight::describe(Describer& d) {
  d("direction", direction, {.min = -1e6, .max = 1e6, .doc = "towards the light, of any length"});
  d("follows_camera", follows_camera,
    {.doc = "the direction is relative to the camera, x to the right and z towards the viewer"});
  d("size", size, {.unit = "deg", .min = 0, .max = 45, .doc = "half the angle it fills; 0 is a point"});
  d("exposure", exposure, {.min = 0.01, .max = 100, .doc = "factor on all light", .logarithmic = true});
}

void SceneStage::describe(Describer& d) {
  d("floor", floor, {.doc = "draws a floor that catches shadows; for something to fall on, add an obstacle"});
  d("floor_height", floor_height, {.unit = "m", .min = -1e6, .max = 1e6, .doc = "along y"});
  d("grid", grid, {.doc = "draws faint lines on the floor"});
  d("grid_spacing", grid_spacing,
    {.unit = "m",
     .min = 0,
     .max = 1e6,
     .doc = "between the lines; 0 is a round number that suits the picture"});
  d("background_top", background_top, {.min = 0, .max = 1, .doc = "red, green and blue, sRGB"});
  d("background_bottom", background_bottom, {.min = 0, .max = 1, .doc = "red, green and blue, sRGB"});
  d("legend", legend, {.doc = "names quantity and unit of what colours show"});
}

void describe_view(Describer& d, SceneSettings& settings) {
  d("camera", settings.camera, {.doc = "where the picture is taken from"});
  d("light", settings.light, {.doc = "the key light"});
  d("stage", settings.stage, {.doc = "what stands behind and below the subject"});
}

std::vector<Leaf> leaves_of_view(SceneSettings& settings) {
  std::vector<Leaf> leaves = leaves_of([&](Describer& d) { describe_view(d, settings); });
  std::erase_if(leaves, [](const Leaf& leaf) { return leaf.path == "camera.automatic"; });
  return leaves;
}

namespace {

/// How small a part of its length a vector may become on the way between keyframes before rounding decides
/// where it points.
constexpr Real vanishing = Real(1e-4);

const Keyframes* find(std::span<const Keyframes> keyframes, std::string_view path) {
  const auto found =
      std::find_if(keyframes.begin(), keyframes.end(), [&](const Keyframes& k) { return k.path == path; });
  return found == keyframes.end() ? nullptr : &*found;
}

/// The last of the keyframes' times up to `time`, or the first one.
double time_before(const Keyframes& keyframes, double time) {
  const auto after = std::upper_bound(keyframes.times.begin(), keyframes.times.end(), time);
  return after == keyframes.times.begin() ? keyframes.times.front() : *(after - 1);
}

Vec3 vector_at(const Keyframes* keyframes, const Vec3& fixed, double time) {
  if (!keyframes) return fixed;
  Vec3 value;
  for (int c = 0; c < 3; ++c) value[c] = static_cast<Real>(interpolate(*keyframes, 3, c, time));
  return value;
}

/// Between opposite directions lies none: the one before holds until the other can be told.
void keep_direction(const Keyframes* keyframes, double time, Vec3& value) {
  if (!keyframes) return;
  const Vec3 before = vector_at(keyframes, value, time_before(*keyframes, time));
  if (value.norm() < vanishing * before.norm()) value = before;
}

/// A camera that passes through its target goes on looking the way it did at the keyframe before.
void keep_view(std::span<const Keyframes> keyframes, double time, const SceneCamera& fixed,
               SceneCamera& now) {
  const Keyframes *const eye = find(keyframes, "camera.eye"), *const target =
                                                                  find(keyframes, "camera.target");
  if (!eye && !target) return;
  double before = eye ? time_before(*eye, time) : time_before(*target, time);
  if (eye && target) before = std::max(before, time_before(*target, time));
  const Vec3 view = vector_at(target, fixed.target, before) - vector_at(eye, fixed.eye, before);
  if ((now.target - now.eye).norm() < vanishing * view.norm()) now.target = now.eye + view;
}

}  // namespace

SceneSettings settings_at(const SceneSettings& settings, std::span<const Keyframes> keyframes, double time) {
  SceneSettings now = settings;
  if (keyframes.empty()) return now;
  const std::vector<Leaf> leaves = leaves_of_view(now);
  for (const Keyframes& k : keyframes)
    for (const Leaf& leaf : leaves)
      if (leaf.path == k.path)
        for (int c = 0; c < leaf.components(); ++c) leaf.set(interpolate(k, leaf.components(), c, time), c);
  keep_direction(find(keyframes, "light.direction"), time, now.light.direction);
  keep_direction(find(keyframes, "camera.up"), time, now.camera.up);
  if (!now.camera.automatic) keep_view(keyframes, time, settings.camera, now.camera);
  return now;
}

std::vector<ViewFault> faults_of_view(const SceneSettings& settings) {
  std::vector<ViewFault> faults;
  const SceneCamera& camera = settings.camera;
  if (!(settings.light.direction.norm() > 0))
    faults.push_back({{"light.direction"}, "must not be the zero vector"});
  if (camera.automatic) return faults;
  if (!(camera.up.norm() > 0)) faults.push_back({{"camera.up"}, "must not be the zero vector"});
  if (!((camera.target - camera.eye).norm() > 0))
    faults.push_back({{"camera.eye", "camera.target"}, "eye and target are the same place"});
  return faults;
}

}  // namespace plenum::inline PLENUM_ABI
