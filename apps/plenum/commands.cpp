// plenum list, info, schema; and where scenes are found.
#include "commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench.h"
#include "log.h"
#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/draw/headless.h"
#include "plenum/io/checkpoint.h"
#include "plenum/io/grid_writer.h"
#include "plenum/io/movie.h"
#include "plenum/scene/registry.h"
#include "plenum/scene/scene.h"
#include "plenum/scene/schema.h"
#include "usage.h"
#include "validation.h"

namespace plenum::app {
namespace fs = std::filesystem;

namespace {

/// What a scene file says of itself, without building it.
std::string description_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_regular_file(path, std::size_t{1} << 26);
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  const nlohmann::json scene =
      nlohmann::json::parse(text, text + bytes.size(), nullptr, true, /*ignore_comments=*/true);
  const auto found = scene.is_object() ? scene.find("description") : scene.end();
  if (!scene.is_object()) return "not a scene: it holds no object";
  return found != scene.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string scenes_folder() {
  std::error_code error;
  if (const char* given = std::getenv("PLENUM_SCENES"); given && *given != 0) {
    if (fs::is_directory(given, error)) return given;
    throw Error(Problem{.key = "the environment's PLENUM_SCENES",
                        .what = "is not a folder",
                        .value = given,
                        .remedy = "name a folder of scenes, or unset it"});
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path().parent_path() / "share" / "plenum" / "scenes";
    if (fs::is_directory(installed, error)) return installed;
  }
  return PLENUM_SOURCE_DIR "/scenes";
}

std::vector<std::string> scene_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(scenes_folder(), error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string find_scene(const std::string& name_or_path) {
  std::error_code error;
  if (fs::is_directory(name_or_path, error) && name_or_path.find('/') != std::string::npos)
    throw UsageError(Problem{.what = "is a folder, not a scene file",
                             .value = name_or_path,
                             .remedy = "name a file in it that ends in .json"});
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json");
  if (fs::exists(name_or_path, error) && !fs::is_directory(name_or_path, error)) return name_or_path;
  const fs::path named = fs::path(scenes_folder()) / (name_or_path + ".json");
  if (!is_path && fs::exists(named, error)) return named;
  throw UsageError(Problem{.what = is_path ? "no such scene file" : "no such scene",
                           .value = name_or_path,
                           .nearest = nearest_name(fs::path(name_or_path).stem().string(), scene_names()),
                           .remedy = "see 'plenum list scenes'"});
}

int list(const std::string& what) {
  if (what.empty() || what == "solvers") {
    if (what.empty()) fmt::print("solvers\n");
    for (const SolverEntry& solver : all_solvers()) fmt::print("  {:<16} {}\n", solver.name, solver.doc);
  }
  if (what.empty() || what == "scenes") {
    if (what.empty()) fmt::print("scenes\n");
    for (const std::string& name : scene_names()) {
      std::string description;
      try {
        description = description_of(find_scene(name));
      } catch (const nlohmann::json::exception&) {
        description = fmt::format("not a scene: see 'plenum check {}'", name);
      } catch (const std::exception& error) {
        description = error.what();
      }
      fmt::print("  {:<16} {}\n", name, description);
    }
  }
  if (what.empty() || what == "cases") {
    if (what.empty()) fmt::print("cases\n");
    for (const validation::Case& c : validation::all_cases())
      fmt::print("  validate  {:<38} {}\n", c.name,
                 c.effort == validation::Effort::quick ? "quick" : "thorough: with --all or by name");
    for (const plenum::bench::Case& c : plenum::bench::all_cases()) fmt::print("  bench     {}\n", c.name);
  }
  return 0;
}

int info() {
  fmt::print("plenum {}\n", PLENUM_VERSION);
  fmt::print("precision  {}\n", sizeof(Real) == 4 ? "float" : "double");
  fmt::print("compiler   {}\n", __VERSION__);
  fmt::print("cores      {}\n", num_cores());
  fmt::print("scenes     {}\n", scenes_folder());
  std::string drawing;
  try {
    drawing = HeadlessContext().description();
  } catch (const Error& error) {
    drawing = error.what();
  }
  fmt::print("drawing    {}\n", drawing);
  fmt::print("movies     {}\n", movie_available() ? "ffmpeg" : movie_unavailable_note);
  fmt::print("VDB files  {}\n", vdb_available() ? "yes" : vdb_unavailable_note);
  return 0;
}

int schema() {
  fmt::print("{}\n", schema_text());
  return 0;
}

}  // namespace plenum::app
