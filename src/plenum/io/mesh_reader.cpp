#include "plenum/io/mesh_reader.h"

#include <cctype>

#include "plenum/base/error.h"
#include "plenum/io/checkpoint.h"

namespace plenum::inline PLENUM_ABI {

TriangleMesh read_mesh(const std::string& path, std::size_t max_bytes) {
  const std::size_t slash = path.rfind('/'), dot = path.rfind('.');
  std::string extension;
  if (dot != std::string::npos && (slash == std::string::npos || dot > slash)) extension = path.substr(dot);
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  TriangleMesh (*parse)(std::string_view, std::string_view) = nullptr;
  if (extension == ".obj") parse = parse_obj;
  if (extension == ".ply") parse = parse_ply;
  if (extension == ".stl") parse = parse_stl;
  if (!parse)
    throw Error(Problem{.file = path,
                        .what = "has no extension of a mesh format",
                        .value = extension,
                        .allowed = ".obj, .ply, .stl"});
  const std::vector<std::byte> bytes = read_regular_file(path, max_bytes);
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace plenum::inline PLENUM_ABI
