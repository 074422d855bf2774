// VTK XML image data.
#include <cstring>

#include "plenum/io/detail/grid_array.h"
#include "plenum/io/detail/vtk_xml.h"
#include "plenum/io/grid_writer.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

std::string format_vti(const GridContent& content) {
  const GridShape& shape = content.shape;
  VtkXml writer;
  const std::string extent = fmt::format("0 {} 0 {} 0 {}", shape.cells[0], shape.cells[1], shape.cells[2]);
  writer.text(
      fmt::format("<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"{}\" "
                  "header_type=\"UInt64\">\n  <ImageData WholeExtent=\"{}\" Origin=\"{} {} {}\" "
                  "Spacing=\"{} {} {}\">\n",
                  byte_order(), extent, content.low.x(), content.low.y(), content.low.z(), content.spacing,
                  content.spacing, content.spacing));
  writer.text(fmt::format(
      "    <FieldData>\n      <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
      "format=\"ascii\">{}</DataArray>\n    </FieldData>\n    <Piece Extent=\"{}\">\n"
      "      <CellData>\n",
      content.time, extent));
  std::vector<char> cells;
  for (const NamedArray& a : content.cell_data) {
    check_count(a, shape);
    const std::size_t item = size_of(a.type) * static_cast<std::size_t>(a.components),
                      row = item * static_cast<std::size_t>(shape.cells[0]);
    cells.resize(item * shape.num_cells());
    char* to = cells.data();
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j, to += row)
        std::memcpy(to, static_cast<const char*>(a.data) + item * shape.index(0, j, k), row);
    writer.array(a.name, a.type, a.components, cells.data(), shape.num_cells());
  }
  writer.text("      </CellData>\n    </Piece>\n  </ImageData>\n");
  return writer.finish();
}

void write_vti(const std::string& path, const GridContent& content) {
  write_text_safely(path, format_vti(content));
}

}  // namespace plenum::inline PLENUM_ABI
