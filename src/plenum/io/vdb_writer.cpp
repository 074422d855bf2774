// OpenVDB's files. The only file that sees its headers, compiled by itself for their size.
#include "plenum/io/detail/grid_array.h"
#include "plenum/io/grid_writer.h"

#ifdef PLENUM_OPENVDB
#include <openvdb/io/Archive.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/Dense.h>

#include <algorithm>
#include <array>
#include <sstream>
#endif

namespace plenum::inline PLENUM_ABI {

#ifndef PLENUM_OPENVDB

bool vdb_available() {
  return false;
}

std::string format_vdb(const GridContent&) {
  throw Error(Problem{.what = vdb_unavailable_note});
}

void write_vdb(const std::string& path, const GridContent&) {
  throw Error(Problem{.file = path, .what = vdb_unavailable_note});
}

#else

namespace {

/// Writes an archive that can be read in parts to any stream; OpenVDB's own classes do so to files that they
/// open themselves, and would leave half of one where the disk is full.
class Archive final : public openvdb::io::Archive {
 public:
  void write_to(std::ostream& to, const openvdb::GridPtrVec& grids, const openvdb::MetaMap& metadata) const {
    constexpr bool is_seekable = true;
    openvdb::io::Archive::write(to, grids, is_seekable, metadata);
  }
};

/// Component c of the item `at`.
float value(const NamedArray& a, std::size_t at, int c) {
  const std::size_t scalar = at * static_cast<std::size_t>(a.components) + static_cast<std::size_t>(c);
  const auto read = [&](auto type) {
    return static_cast<float>(static_cast<const decltype(type)*>(a.data)[scalar]);
  };
  switch (a.type) {
    case ScalarType::f32:
      return read(float());
    case ScalarType::f64:
      return read(double());
    case ScalarType::i32:
      return read(std::int32_t());
    case ScalarType::i64:
      return read(std::int64_t());
    case ScalarType::u8:
      return read(std::uint8_t());
    case ScalarType::u32:
      return read(std::uint32_t());
    case ScalarType::u64:
      return read(std::uint64_t());
  }
  return 0;
}

/// A grid of values of voxels 0 <= (i, j, k) < n; of(i, j, k) may differ from zero where it is active.
template <class Grid, class Of>
openvdb::GridBase::Ptr grid_of(const std::string& name, const GridContent& content, std::array<Index, 3> n,
                               Of&& of) {
  using Value = typename Grid::ValueType;
  const Value zero = openvdb::zeroVal<Value>();
  const openvdb::CoordBBox box(openvdb::Coord(0), openvdb::Coord(n[0] - 1, n[1] - 1, n[2] - 1));
  openvdb::tools::Dense<Value, openvdb::tools::LayoutXYZ> dense(box);
  Value* to = dense.data();
  for (Index k = 0; k < n[2]; ++k)
    for (Index j = 0; j < n[1]; ++j)
      for (Index i = 0; i < n[0]; ++i) *to++ = of(i, j, k);
  const auto grid = Grid::create(zero);
  openvdb::tools::copyFromDense(dense, grid->tree(), zero);
  const auto h = static_cast<double>(content.spacing);
  const Vector3<double> first = content.low.cast<double>() + Vector3<double>::Constant(h / 2);
  const auto transform = openvdb::math::Transform::createLinearTransform(h);
  transform->postTranslate({first.x(), first.y(), first.z()});
  grid->setTransform(transform);
  grid->setName(name);
  return grid;
}

openvdb::GridBase::Ptr scalars(const GridContent& content, const NamedArray& a) {
  return grid_of<openvdb::FloatGrid>(
      std::string(a.name), content, content.shape.cells,
      [&](Index i, Index j, Index k) { return value(a, content.shape.index(i, j, k), 0); });
}

openvdb::GridBase::Ptr vectors(const GridContent& content, const NamedArray& a) {
  return grid_of<openvdb::Vec3SGrid>(
      std::string(a.name), content, content.shape.cells, [&](Index i, Index j, Index k) {
        const std::size_t at = content.shape.index(i, j, k);
        return openvdb::Vec3s(value(a, at, 0), value(a, at, 1), value(a, at, 2));
      });
}

/// Components on the faces across each axis, of which there is one more than of cells; null: zero.
openvdb::GridBase::Ptr staggered(const GridContent& content, const std::string& name,
                                 const std::array<const NamedArray*, 3>& along) {
  const GridShape& shape = content.shape;
  std::array<Index, 3> n = shape.cells;
  for (int c = 0; c < shape.dimensions(); ++c) ++n[static_cast<std::size_t>(c)];
  const openvdb::GridBase::Ptr grid =
      grid_of<openvdb::Vec3SGrid>(name, content, n, [&](Index i, Index j, Index k) {
        const std::array<Index, 3> item = {i, j, k};
        openvdb::Vec3s v(0);
        for (std::size_t c = 0; c < 3; ++c) {
          bool is_face = along[c] != nullptr;
          for (std::size_t a = 0; a < 3; ++a) is_face = is_face && (a == c || item[a] < shape.cells[a]);
          if (is_face) v[static_cast<int>(c)] = value(*along[c], shape.index(i, j, k), 0);
        }
        return v;
      });
  grid->setGridClass(openvdb::GRID_STAGGERED);
  grid->setVectorType(openvdb::VEC_CONTRAVARIANT_RELATIVE);
  return grid;
}

openvdb::GridPtrVec grids_of(const GridContent& content) {
  openvdb::GridPtrVec grids;
  const auto find = [&](const std::string& name) -> const NamedArray* {
    for (const NamedArray& a : content.cell_data)
      if (a.name == name && a.components == 1) return &a;
    return nullptr;
  };
  for (const NamedArray& a : content.cell_data) {
    detail::check_count(a, content.shape);
    if (a.components != 1 && a.components != 3)
      throw Error(Problem{.key = std::string(a.name),
                          .what = "has a number of components that VDB files do not hold",
                          .value = fmt::format("{}", a.components),
                          .allowed = "1 or 3"});
    const std::string name(a.name),
        stem = name.substr(0, name.size() - std::min<std::size_t>(2, name.size()));
    const std::array<const NamedArray*, 3> along = {find(stem + "_x"), find(stem + "_y"), find(stem + "_z")};
    const bool is_staggered = along[0] && along[1] && (along[2] || content.shape.is_flat());
    if (is_staggered && &a == along[0])
      grids.push_back(staggered(content, stem, along));
    else if (!is_staggered || std::find(along.begin(), along.end(), &a) == along.end())
      grids.push_back(a.components == 1 ? scalars(content, a) : vectors(content, a));
  }
  return grids;
}

}  // namespace

bool vdb_available() {
  return true;
}

std::string format_vdb(const GridContent& content) {
  try {
    openvdb::initialize();
    const openvdb::GridPtrVec grids = grids_of(content);
    openvdb::MetaMap metadata;
    metadata.insertMeta("creator", openvdb::StringMetadata("plenum"));
    metadata.insertMeta("time", openvdb::DoubleMetadata(content.time));
    std::ostringstream text;
    Archive().write_to(text, grids, metadata);
    return std::move(text).str();
  } catch (const openvdb::Exception& error) {
    throw Error(Problem{.what = fmt::format("OpenVDB refuses the grid: {}", error.what())});
  }
}

void write_vdb(const std::string& path, const GridContent& content) {
  write_text_safely(path, format_vdb(content));
}

#endif

}  // namespace plenum::inline PLENUM_ABI
