#pragma once
// A folder for one test, removed with all that is in it.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plenum_test {

struct TemporaryFolder {
  TemporaryFolder()
      : path(std::filesystem::temp_directory_path() / ("plenum-io-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// Writes a file of that name, and says where.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
  const std::filesystem::path path;
};

}  // namespace plenum_test
