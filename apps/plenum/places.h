#pragma once
// Folders and files that a command will write to, examined before the work begins, so that a long run does
// not end in a place that nothing can be written to.
#include <span>
#include <string>

namespace plenum::app {

/// Throws Error unless `folder` is a folder that can be written to, or can be made. Leaves nothing there.
/// `option` is named in the message.
void check_folder(const std::string& folder, const std::string& option);

/// Throws Error unless `path` ends in one of `endings` (".mp4", ...; upper case counts as lower), is no
/// folder, and stands in a folder that can be written to or made.
void check_file(const std::string& path, std::span<const char* const> endings, const std::string& option);

/// Makes a folder and those above it.
void make_folder(const std::string& folder);

}  // namespace plenum::app
