#pragma once
// Which files a scene may name: regular files below its own folder or below folders the caller allows, and no
// others.
#include <string>
#include <vector>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI {

/// The file `name` of a scene, searched below each of `roots` in turn. The name is taken as it stands:
/// nothing in it is expanded or decoded. Throws Error (with only `what`, `value`, `allowed`, `remedy` set)
/// for names that are empty, absolute, have a "..", a drive letter, a backslash, a URL scheme, a percent
/// escape or a control character, for links that lead out of the root, for what does not exist or is no
/// regular file, and for more than `limit` bytes.
std::string resolve_file(const std::string& name, const std::vector<std::string>& roots, std::size_t limit);

}  // namespace plenum::inline PLENUM_ABI
