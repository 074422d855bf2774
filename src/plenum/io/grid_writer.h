#pragma once
// Grids and their fields to VTI and VDB files, as meshes to others (io/mesh_writer.h).
#include "plenum/io/mesh_writer.h"
#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

/// A regular grid of cubic cells and what stands at their centres.
struct GridContent {
  GridShape shape;
  Vec3 low = Vec3::Zero();                     ///< [m] corner of the box of cells
  Real spacing = 1;                            ///< [m] side of a cell, > 0
  std::span<const NamedArray> cell_data = {};  ///< each of shape.size() items; ghosts are not written
  double time = 0;                             ///< [s]
};

/// VTK's XML format for image data (version 1.0, appended base64, 64-bit headers), for ParaView. A grid of
/// two dimensions has one layer of cells. Throws Error for arrays of another size.
std::string format_vti(const GridContent& content);
void write_vti(const std::string& path, const GridContent& content);

/// Whether this build writes VDB files: OpenVDB is there or not when it is configured.
bool vdb_available();
inline constexpr const char* vdb_unavailable_note =
    "this build writes no VDB files; install libopenvdb-dev and libboost-dev and configure it anew, or "
    "export "
    "vtu, which writes the same grids as VTI";

/// OpenVDB's format, for Blender, Houdini and others. Each array is a grid of its own of floats, or of
/// vectors of three; cells of zeros take no memory. Arrays NAME_x, NAME_y and NAME_z of scalars, on the lower
/// faces of cells across x, y and z, are one staggered grid of vectors called NAME; in two dimensions without
/// NAME_z. Cell (i, j, k) is voxel (i, j, k), its centre at low + spacing (i + 1/2, j + 1/2, k + 1/2). The
/// file's metadata hold `time`. Throws Error for arrays of another size or of neither one nor three
/// components, and where VDB files are not available.
std::string format_vdb(const GridContent& content);
void write_vdb(const std::string& path, const GridContent& content);

}  // namespace plenum::inline PLENUM_ABI
