#pragma once
// Geometry and fields of each frame as OBJ, PLY or VTU files, one for each set of points that a system shows;
// its rigid bodies are one set. Grids as VTI beside VTU, or as VDB beside PLY.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plenum/io/mesh_writer.h"
#include "plenum/world/world.h"

namespace plenum::app {

class Exporter {
 public:
  /// format: obj, ply, vtu or vdb.
  Exporter(std::string folder, std::string format);
  /// Files FOLDER/SYSTEM_FRAME.FORMAT (SYSTEM-2_FRAME.FORMAT for its second set of points, and so
  /// on, leaving out names of other systems), and of its grid FOLDER/SYSTEM_FRAME.vti or .vdb.
  void add(World& world);
  /// Writes the ParaView collection of VTU files; returns a line that says what was written.
  std::string finish();

 private:
  /// Of a set of points of a system: the same in every frame, and no other's.
  const std::string& name_of(const World& world, std::size_t system, std::size_t set);

  std::string folder_;
  std::string format_;       ///< of sets of points
  std::string grid_format_;  ///< empty: grids are left out
  std::map<std::pair<std::size_t, std::size_t>, std::string> names_;
  std::set<std::string> taken_;
  std::vector<TimedFile> files_;
};

}  // namespace plenum::app
