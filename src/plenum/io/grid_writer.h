#pragma once
// Grids and their fields to VTI files, as meshes to others (io/mesh_writer.h).
#include "plenum/io/mesh_writer.h"
#include "plenum/math/grid_shape.h"

namespace plenum::inline PLENUM_ABI {

/// A regular grid of cubic cells and what stands at their centres.
struct VtiContent {
  GridShape shape;
  Vec3 low = Vec3::Zero();                     ///< [m] corner of the box of cells
  Real spacing = 1;                            ///< [m] side of a cell, > 0
  std::span<const NamedArray> cell_data = {};  ///< each of shape.size() items; ghosts are not written
  double time = 0;                             ///< [s]
};

/// VTK's XML format for image data (version 1.0, appended base64, 64-bit headers), for ParaView. A grid of
/// two dimensions has one layer of cells. Throws Error for arrays of another size.
std::string format_vti(const VtiContent& content);
void write_vti(const std::string& path, const VtiContent& content);

}  // namespace plenum::inline PLENUM_ABI
