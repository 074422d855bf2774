#pragma once
// The program's subcommands. Each returns the exit status; bad input is thrown as plenum::Error.
#include <optional>
#include <string>
#include <vector>

namespace plenum::app {

struct RunOptions {
  std::string scene;
  std::optional<int> frames;
  std::optional<double> fps;
  std::string out;  ///< empty: out/SCENE
  bool images = false;
  std::string movie;
  std::string export_format;  ///< obj, ply, vtu, or empty
  int threads = 0;
  int checkpoint_every = 0;
  std::string resume;
  std::vector<std::string> set;
  std::string size = "1280x720";
  std::string quality = "normal";
  bool json = false, quiet = false;
};
int run(const RunOptions& options);

struct ViewOptions {
  std::string scene;
  int threads = 0;
  std::vector<std::string> set;
  std::string screenshot;  ///< written after `frames` frames, then the window closes
  int frames = 60;
};
int view(const ViewOptions& options);

struct CheckOptions {
  std::string scene;
  std::vector<std::string> set;
  double seconds = 20;  ///< that the first frame may take; 0: it is left out
  bool json = false;
};
int check(const CheckOptions& options);
int list(const std::string& what);
int info();
int schema();

struct ValidateOptions {
  std::vector<std::string> cases;
  bool all = false, json = false;
  int threads = 0;
};
int validate(const ValidateOptions& options);

struct BenchOptions {
  std::vector<std::string> cases;
  bool json = false;
  int threads = 0;  ///< 0: one and two
};
int bench(const BenchOptions& options);

/// The file of a scene given by name or path: PATH itself if it is a file, else NAME.json in the folder of
/// scenes. Throws UsageError with the nearest scene's name.
std::string find_scene(const std::string& name_or_path);
/// The folder of scenes: PLENUM_SCENES from the environment, beside the program, or the source tree's. Throws
/// Error if PLENUM_SCENES is no folder.
std::string scenes_folder();
std::vector<std::string> scene_names();

}  // namespace plenum::app
