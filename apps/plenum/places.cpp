#include "places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "usage.h"

namespace plenum::app {
namespace {

namespace fs = std::filesystem;

Problem refusal(const std::string& option, const std::string& what, const std::string& value,
                const std::string& remedy = {}) {
  return {.key = option, .what = what, .value = value, .remedy = remedy};
}

/// Throws Error unless files can be made in the first part of `folder` that exists.
void check_way(const fs::path& folder, const std::string& option, const std::string& value) {
  std::error_code error;
  fs::path part = folder.empty() ? "." : folder;
  while (true) {
    const fs::file_status status = fs::status(part, error);
    if (fs::exists(status)) {
      if (!fs::is_directory(status))
        throw UsageError(refusal(option, part.string() + " is a file, not a folder", value));
      break;
    }
    if (status.type() != fs::file_type::not_found && error)
      throw Error(refusal(option, part.string() + " cannot be reached (" + error.message() + ")", value));
    const fs::path above = part.parent_path();
    if (above == part) break;
    part = above.empty() ? "." : above;
  }
  // Only the attempt tells: to root every folder seems open, those of /proc too.
  std::string probe = (part / ".plenum-XXXXXX").string();
  const int file = ::mkstemp(probe.data());
  if (file >= 0) {
    ::close(file);
    ::unlink(probe.c_str());
  } else {
    throw Error(refusal(option,
                        "nothing can be written in " + part.string() + " (" + std::strerror(errno) + ")",
                        value, "choose another place"));
  }
}

}  // namespace

void check_folder(const std::string& folder, const std::string& option) {
  check_way(folder, option, folder);
}

void check_file(const std::string& path, std::span<const char* const> endings, const std::string& option) {
  const std::string allowed = fmt::format("names that end in {}", fmt::join(endings, ", "));
  std::error_code error;
  const fs::path file = path;
  if (fs::is_directory(file, error) || !file.has_filename())
    throw UsageError(refusal(option, "is a folder, not a file", path,
                             fmt::format("name a file in it that ends in {}", endings[0])));
  std::string given = file.extension().string();
  std::transform(given.begin(), given.end(), given.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::find(endings.begin(), endings.end(), given) == endings.end())
    throw UsageError(Problem{.key = option,
                             .what = "is not the name of such a file",
                             .value = path,
                             .allowed = allowed,
                             .nearest = fs::path(file).replace_extension(endings[0]).string()});
  check_way(file.parent_path(), option, path);
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(Problem{.file = folder, .what = "the folder cannot be made: " + error.message()});
}

}  // namespace plenum::app
