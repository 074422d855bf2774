#include "plenum/scene/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "plenum/scene/json.h"

namespace plenum::inline PLENUM_ABI {
namespace {

namespace fs = std::filesystem;

Error refusal(const std::string& name, std::string what, std::string allowed = {}, std::string remedy = {}) {
  std::string shown = name.size() > 200 ? name.substr(0, 200) + "..." : name;
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  return Error(Problem{.what = std::move(what),
                       .value = json_text(shown),
                       .allowed = std::move(allowed),
                       .remedy = std::move(remedy)});
}

constexpr const char* relative = "a path relative to the scene's folder, without '..'";

void check_name(const std::string& name) {
  if (name.empty()) throw refusal(name, "names no file");
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    throw refusal(name, "has a control character in a file name", relative);
  if (name[0] == '/') throw refusal(name, "is an absolute path", relative);
  if (name.find("://") != name.npos || name.rfind("file:", 0) == 0)
    throw refusal(name, "is a URL, not a file name", relative);
  if (name.size() > 1 && std::isalpha(static_cast<unsigned char>(name[0])) && name[1] == ':')
    throw refusal(name, "begins with a drive letter", relative);
  if (name.find('\\') != name.npos)
    throw refusal(name, "has a backslash in a file name", relative, "write '/' between folders");
  for (std::size_t i = 0; i + 2 < name.size(); ++i)
    if (name[i] == '%' && std::isxdigit(static_cast<unsigned char>(name[i + 1])) &&
        std::isxdigit(static_cast<unsigned char>(name[i + 2])))
      throw refusal(name, "has a percent escape in a file name", relative);
  for (const fs::path& part : fs::path(name))
    if (part == "..") throw refusal(name, "leaves the scene's folder", relative);
}

bool is_below(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

}  // namespace

std::string resolve_file(const std::string& name, const std::vector<std::string>& roots, std::size_t limit) {
  check_name(name);
  std::error_code error;
  std::vector<fs::path> folders;
  for (const std::string& root : roots) {
    const fs::path folder = fs::canonical(root.empty() ? fs::path(".") : fs::path(root), error);
    if (!error) folders.push_back(folder);
  }
  for (const fs::path& folder : folders) {
    const fs::path path = fs::canonical(folder / name, error);
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) continue;
    if (error) throw refusal(name, "cannot be reached (" + error.message() + ")");
    if (std::none_of(folders.begin(), folders.end(), [&](const fs::path& f) { return is_below(path, f); }))
      throw refusal(name, "is a link that leads out of the scene's folder",
                    "files below the scene's folder and the folders allowed besides");
    const fs::file_status status = fs::status(path, error);
    if (error) throw refusal(name, "cannot be examined (" + error.message() + ")");
    if (fs::is_directory(status)) throw refusal(name, "is a folder, not a file");
    if (!fs::is_regular_file(status)) throw refusal(name, "is not a regular file");
    const auto size = fs::file_size(path, error);
    if (error) throw refusal(name, "cannot be examined (" + error.message() + ")");
    if (size > limit)
      throw refusal(name, fmt::format("is too large with {} bytes", size),
                    fmt::format("at most {} bytes", limit));
    return path.string();
  }
  std::string searched;
  for (const std::string& folder : roots) searched += (searched.empty() ? "" : ", ") + json_text(folder);
  throw refusal(name, "does not exist", {}, "searched in " + searched);
}

}  // namespace plenum::inline PLENUM_ABI
