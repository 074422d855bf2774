#pragma once
// The scenes that the program comes with.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace plenum {

/// Files of scenes/, in order.
inline std::vector<std::string> scenes() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(PLENUM_SOURCE_DIR "/scenes"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace plenum
