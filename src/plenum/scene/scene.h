#pragma once
// Scene files: a world, what it is seen with, and how long it lasts, from JSON with comments.
// docs/scene-files.md describes them; `plenum schema` prints their JSON Schema.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/scene/registry.h"
#include "plenum/world/world.h"

namespace plenum::inline PLENUM_ABI {

/// Where the picture is taken from. Automatic: it holds the moving subject in view from a direction.
struct SceneCamera {
  bool automatic = true;
  Real azimuth = 35;                ///< [deg] of the eye about +y, from +z towards +x
  Real elevation = 17;              ///< [deg] of the eye above the horizontal
  Real margin = Real(0.25);         ///< room around the subject, as a fraction of its size
  Vec3 eye = Vec3(3, 2, 4);         ///< [m]
  Vec3 target = Vec3::Zero();       ///< [m]
  Vec3 up = Vec3::UnitY();          ///< need not be unit
  Real field_of_view = Real(31.5);  ///< [deg] vertical
  void describe(Describer& d);
};

/// The key light.
struct SceneLight {
  Vec3 direction = Vec3(Real(-0.52), Real(0.76), Real(0.39));  ///< towards the light; need not be unit
  bool follows_camera = true;  ///< `direction` is relative to the camera: x right, z towards the viewer
  Real size = Real(4.3);       ///< [deg] half the angle it fills; 0: a point
  Real exposure = 1;           ///< factor on all light
  void describe(Describer& d);
};

/// What stands behind and below the subject.
struct SceneStage {
  bool floor = true;      ///< drawn, catching shadows; nothing collides with it
  Real floor_height = 0;  ///< [m]
  bool grid = false;      ///< faint lines on the floor
  Real grid_spacing = 0;  ///< [m]; 0: a round number that suits the picture
  Vec3 background_top = Vec3(Real(0.79), Real(0.81), Real(0.835));     ///< sRGB
  Vec3 background_bottom = Vec3(Real(0.925), Real(0.92), Real(0.91));  ///< sRGB
  bool legend = true;  ///< names quantity and unit of coloured fields
  void describe(Describer& d);
};

/// What a scene file says besides gravity and its systems.
struct SceneSettings {
  std::string schema;       ///< where editors find the schema of the file; not read
  std::string name;         ///< for titles and lists; default: the file's
  std::string description;  ///< one or two sentences
  Real duration = 5;        ///< [s] simulated when nobody says otherwise
  int budget_mib = 4096;    ///< memory the scene may take
  WorldSettings world;
  SceneCamera camera;
  SceneLight light;
  SceneStage stage;
  DebugDraw debug;
  void describe(Describer& d);
};

/// Most systems of a scene, and most keyframes of a parameter.
inline constexpr std::size_t max_systems = 10000, max_keyframes = 100000;

struct Scene {
  SceneSettings settings;
  std::vector<Keyframes> keyframes;  ///< of camera, light and stage, e.g. "camera.azimuth"
  std::string file;                  ///< as given; empty for a text
  World world;
  double memory = 0;  ///< [bytes] estimated

  int frames() const;  ///< of the duration
  /// The settings, with camera, light and stage as the keyframes have them at a time [s].
  SceneSettings settings_at(double time) const;
};

struct SceneOptions {
  std::vector<std::string> roots = {};      ///< folders besides the scene's that its mesh files may lie in
  std::vector<std::string> overrides = {};  ///< "path.to.value=value", each as by --set
  std::span<const SolverEntry> solvers = all_solvers();
  std::function<void()> before_build = {};  ///< called when the text is good and building begins
  std::size_t memory_limit = SIZE_MAX;      ///< [bytes] that budget_mib cannot raise, for scenes of strangers
};

/// Reads and builds a scene. Throws Error with the first problem, in the order of the file. Nothing large is
/// allocated before the whole file has been checked and its memory needs compared with the budget.
Scene load_scene(const std::string& file, const SceneOptions& options = {});

/// The same from a text; `name` stands for the file in messages, and mesh files lie in options.roots alone.
Scene load_scene_text(std::string text, const std::string& name, const SceneOptions& options = {});

/// All problems of a scene (at most 100), in the order of the file; none if it can be loaded. Builds the
/// scene if its text is good, and hands it over where it is asked for.
std::vector<Problem> check_scene(const std::string& file, const SceneOptions& options = {},
                                 std::optional<Scene>* built = nullptr);
std::vector<Problem> check_scene_text(std::string text, const std::string& name,
                                      const SceneOptions& options = {});

}  // namespace plenum::inline PLENUM_ABI
