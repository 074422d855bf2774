#pragma once
// Runs the program plenum as its users do, in a folder of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace fs = std::filesystem;

inline std::string quoted(const std::string& word) {
  std::string q = "'";
  q.append(word).append("'");
  return q;
}

struct Result {
  int status = -1;
  std::string out, err;
  /// The last line of the output as JSON.
  nlohmann::json last() const {
    std::string text = out;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return nlohmann::json::parse(text.substr(text.rfind('\n') + 1));
  }
};

class Program : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("plenum_program_" + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// `within`: a command that runs what follows it, e.g. on a display of its own.
  Result run(const std::string& arguments, const std::string& within = "") const {
    const std::string out = folder / "stdout", err = folder / "stderr";
    std::string command = within + " " + quoted(PLENUM_BINARY_DIR "/bin/plenum") + " ";
    command.append(arguments)
        .append(" >")
        .append(quoted(out))
        .append(" 2>")
        .append(quoted(err))
        .append(" </dev/null");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out), read(err)};
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string out(const std::string& name) const { return "--out " + quoted(folder / name); }

  fs::path folder;
};

/// A scene that is quick to simulate.
inline const char* const drops = R"({
  "name": "drops", "duration": 1,
  "systems": [
    {"type": "obstacle", "name": "floor", "model": {"parts": [{"shape": "plane"}]}},
    {"type": "particles", "name": "drops",
     "model": {"max_particles": 1000, "blocks": [{"low": [-0.4, 1, -0.4], "high": [0.4, 1.8, 0.4], "spacing": 0.1}]}}
  ]})";
