// VTK XML unstructured grids. Source: "VTK file formats", VTK user's guide; kitware.github.io/vtk-examples.
#include <fmt/format.h>

#include "plenum/base/error.h"
#include "plenum/io/detail/vtk_xml.h"
#include "plenum/io/mesh_writer.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

std::string format_vtu(const VtuContent& content) {
  constexpr std::uint8_t vertex_cell = 1, line_cell = 3, triangle_cell = 5, tetrahedron_cell = 10;
  std::vector<std::int64_t> connectivity, offsets;
  std::vector<std::uint8_t> types;
  const auto add_cells = [&](const auto& cells, std::uint8_t type) {
    for (const auto& cell : cells) {
      for (int k = 0; k < cell.size(); ++k) {
        if (cell[k] < 0 || std::size_t(cell[k]) >= content.x.size())
          throw Error(Problem{.what = "a cell names a point that is not there",
                              .value = fmt::format("{}", cell[k]),
                              .allowed = fmt::format("0 to {}", std::int64_t(content.x.size()) - 1)});
        connectivity.push_back(cell[k]);
      }
      offsets.push_back(std::int64_t(connectivity.size()));
      types.push_back(type);
    }
  };
  add_cells(content.triangles, triangle_cell);
  add_cells(content.tetrahedra, tetrahedron_cell);
  add_cells(content.lines, line_cell);
  if (types.empty())
    for (std::size_t i = 0; i < content.x.size(); ++i) {
      connectivity.push_back(std::int64_t(i));
      offsets.push_back(std::int64_t(i) + 1);
      types.push_back(vertex_cell);
    }
  VtkXml writer;
  writer.text("<?xml version=\"1.0\"?>\n");
  writer.text(
      fmt::format("<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"{}\" "
                  "header_type=\"UInt64\">\n  <UnstructuredGrid>\n",
                  byte_order()));
  writer.text("    <FieldData>\n");
  writer.text(
      fmt::format("      <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
                  "format=\"ascii\">{}</DataArray>\n    </FieldData>\n",
                  content.time));
  writer.text(fmt::format("    <Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n", content.x.size(),
                          types.size()));
  const auto section = [&](const char* name, std::span<const NamedArray> arrays, std::size_t count,
                           const char* of) {
    writer.text(fmt::format("      <{}>\n", name));
    for (const NamedArray& a : arrays) {
      if (a.count != count)
        throw Error(Problem{.key = std::string(a.name),
                            .what = fmt::format("has a wrong number of items for the {}", of),
                            .value = fmt::format("{}", a.count),
                            .allowed = fmt::format("{}", count)});
      writer.array(a.name, a.type, a.components, a.data, a.count);
    }
    writer.text(fmt::format("      </{}>\n", name));
  };
  section("PointData", content.point_data, content.x.size(), "points");
  section("CellData", content.cell_data, types.size(), "cells");
  writer.text("      <Points>\n");
  writer.array("Points", scalar_type_of<Real>(), 3, content.x.data(), content.x.size());
  writer.text("      </Points>\n      <Cells>\n");
  writer.array("connectivity", connectivity);
  writer.array("offsets", offsets);
  writer.array("types", types);
  writer.text("      </Cells>\n    </Piece>\n  </UnstructuredGrid>\n");
  return writer.finish();
}

std::string format_pvd(std::span<const TimedFile> files) {
  std::string out = fmt::format(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"{}\">\n  "
      "<Collection>\n",
      byte_order());
  for (const TimedFile& f : files)
    out += fmt::format("    <DataSet timestep=\"{}\" group=\"\" part=\"0\" file=\"{}\"/>\n", f.time,
                       escaped(f.file));
  out += "  </Collection>\n</VTKFile>\n";
  return out;
}

}  // namespace plenum::inline PLENUM_ABI
