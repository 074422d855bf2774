#pragma once
// Triangle meshes from OBJ, PLY and STL files.
#include <cstddef>
#include <string>
#include <string_view>

#include "plenum/geometry/mesh.h"

namespace plenum::inline PLENUM_ABI {

/// Reads a mesh by the file's extension (.obj, .ply, .stl, in any case). Only regular files of at most
/// `max_bytes`. Coordinates are taken as metres. Throws Error that names the file, the line or byte, and what
/// is wrong, for any file that is damaged, truncated, without triangles, or has coordinates that are not
/// finite; nothing larger than a small multiple of the file's size is ever allocated.
///
/// What the file says is kept: vertices without a triangle, degenerate and duplicate triangles. topology.h
/// finds and mends them; require_solid() and require_surface() refuse them.
TriangleMesh read_mesh(const std::string& path, std::size_t max_bytes = std::size_t{1} << 30);

/// Wavefront OBJ: v and f, absolute and negative indices, polygons of any form (cut into triangles by ear
/// clipping), v/vt/vn corners, comments, continued lines; everything else is passed over. `name` is for
/// messages.
TriangleMesh parse_obj(std::string_view bytes, std::string_view name);

/// Stanford PLY 1.0, ascii, binary_little_endian or binary_big_endian: element vertex with x, y, z, element
/// face with the list vertex_indices or vertex_index; other elements and properties are passed over.
TriangleMesh parse_ply(std::string_view bytes, std::string_view name);

/// STL, binary or ASCII. Corners at equal places become one vertex.
TriangleMesh parse_stl(std::string_view bytes, std::string_view name);

}  // namespace plenum::inline PLENUM_ABI
