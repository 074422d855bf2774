#pragma once
// What is wrong with the command line by itself: an option, its value, the name of a scene or a case. The
// exit status is then 2; it is 1 for what files hold, for places that cannot be written, for runs that fail.
#include <string>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/scene/scene.h"

namespace plenum::app {

class UsageError : public Error {
 public:
  using Error::Error;
};

/// Whether a scene's problem lies in a value that --set gave.
inline bool is_of_option(const Problem& problem) {
  return problem.file.starts_with("--set ");
}

/// load_scene() of a file with values from --set; throws UsageError for what is wrong with those.
inline Scene load_scene_with(const std::string& file, const std::vector<std::string>& overrides) {
  try {
    return load_scene(file, {.overrides = overrides});
  } catch (const Error& error) {
    if (is_of_option(error.problem())) throw UsageError(error.problem());
    throw;
  }
}

}  // namespace plenum::app
