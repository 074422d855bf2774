// VDB files, read back by OpenVDB itself.
#include <gtest/gtest.h>

#include "plenum/base/error.h"
#include "plenum/io/grid_writer.h"

#ifdef PLENUM_OPENVDB
#include <openvdb/openvdb.h>

#include <filesystem>
#include <map>
#endif

namespace plenum { namespace {

#ifndef PLENUM_OPENVDB

TEST(VdbWriter, SaysWhatIsMissing) {
  EXPECT_FALSE(vdb_available());
  try {
    write_vdb("smoke.vdb", {.shape = {{2, 2, 2}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), std::string("smoke.vdb: ") + vdb_unavailable_note);
  }
}

#else

/// What a file holds, by name.
struct Read {
  std::map<std::string, openvdb::GridBase::Ptr> grids;
  double time = 0;
  bool in_parts = false;  ///< whether it may be read grid by grid

  template <class Grid>
  typename Grid::ValueType at(const std::string& name, Index i, Index j, Index k) const {
    const auto grid = openvdb::gridPtrCast<Grid>(grids.at(name));
    return grid->tree().getValue(openvdb::Coord(i, j, k));
  }
};

class File final : public openvdb::io::File {
 public:
  using openvdb::io::File::File;
  using openvdb::io::File::inputHasGridOffsets;
};

Read written_and_read(const GridContent& content) {
  const std::string path =
      testing::TempDir() + "plenum_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".vdb";
  write_vdb(path, content);
  Read read;
  openvdb::initialize();
  File file(path);
  file.open(false);
  read.in_parts = file.inputHasGridOffsets();
  for (auto name = file.beginName(); name != file.endName(); ++name)
    read.grids[name.gridName()] = file.readGrid(name.gridName());
  read.time = file.getMetadata()->metaValue<double>("time");
  file.close();
  std::filesystem::remove(path);
  return read;
}

TEST(VdbWriter, HoldsScalarsVectorsAndWhatStandsOnFaces) {
  // More than the blocks of 8^3 voxels in which OpenVDB keeps them, and no multiple of these.
  for (const Index depth : {Index{1}, Index{9}}) {
    const GridShape shape{{13, 7, depth}};
    const auto number = [](Index i, Index j, Index k) { return static_cast<Real>(1 + i + 20 * j + 400 * k); };
    std::vector<Real> density(shape.size(), -1), half(shape.size(), -1);
    std::vector<Vec3> force(shape.size(), Vec3::Constant(-1));
    std::vector<std::int32_t> count(shape.size(), -1);
    std::array<std::vector<Real>, 3> velocity;
    velocity.fill(std::vector<Real>(shape.size(), -1));
    for (Index k = 0; k <= shape.cells[2]; ++k)
      for (Index j = 0; j <= shape.cells[1]; ++j)
        for (Index i = 0; i <= shape.cells[0]; ++i) {
          const std::array<Index, 3> item = {i, j, k};
          if (depth == 1 && k == 1) continue;
          const std::size_t at = shape.index(i, j, k);
          bool is_cell = true;
          for (std::size_t a = 0; a < 3; ++a) is_cell = is_cell && item[a] < shape.cells[a];
          for (std::size_t c = 0; c < 3; ++c) {
            bool is_face = true;
            for (std::size_t a = 0; a < 3; ++a) is_face = is_face && (a == c || item[a] < shape.cells[a]);
            if (is_face) velocity[c][at] = number(i, j, k) + static_cast<Real>(c) / 4;
          }
          if (!is_cell) continue;
          density[at] = number(i, j, k);
          half[at] = i < 4 ? number(i, j, k) : 0;
          force[at] = Vec3(number(i, j, k), 2, 3);
          count[at] = i - j;
        }
    std::vector<NamedArray> data = {named_array("density", density),
                                    named_array("velocity_x", velocity[0]),
                                    named_array("velocity_y", velocity[1]),
                                    named_array("force", force),
                                    named_array("half", half),
                                    named_array("count", count),
                                    named_array("lone_y", density)};
    if (depth > 1) data.push_back(named_array("velocity_z", velocity[2]));
    const Read read = written_and_read({.shape = shape,
                                        .low = Vec3(-1, 2, Real(0.5)),
                                        .spacing = Real(0.25),
                                        .cell_data = data,
                                        .time = 1.5});
    ASSERT_EQ(read.grids.size(), 6u);
    EXPECT_EQ(read.time, 1.5);
    EXPECT_TRUE(read.in_parts);
    for (const auto& [name, grid] : read.grids) {
      EXPECT_EQ(grid->transform().indexToWorld(openvdb::Coord(0, 0, 0)),
                openvdb::Vec3d(-0.875, 2.125, 0.625));
      EXPECT_EQ(grid->transform().indexToWorld(openvdb::Coord(12, 6, 0)),
                openvdb::Vec3d(2.125, 3.625, 0.625));
      EXPECT_EQ(grid->getGridClass() == openvdb::GRID_STAGGERED, name == "velocity") << name;
    }
    for (Index k = 0; k < depth; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i) {
          const auto value = static_cast<float>(number(i, j, k));
          for (const char* name : {"density", "lone_y"})
            ASSERT_EQ((read.at<openvdb::FloatGrid>(name, i, j, k)), value);
          ASSERT_EQ((read.at<openvdb::FloatGrid>("half", i, j, k)), i < 4 ? value : 0);
          ASSERT_EQ((read.at<openvdb::FloatGrid>("count", i, j, k)), static_cast<float>(i - j));
          ASSERT_EQ((read.at<openvdb::Vec3SGrid>("force", i, j, k)), openvdb::Vec3s(value, 2, 3));
          ASSERT_EQ((read.at<openvdb::Vec3SGrid>("velocity", i, j, k)),
                    openvdb::Vec3s(value, value + 0.25f, depth > 1 ? value + 0.5f : 0));
        }
    // The last faces, and nothing beyond.
    EXPECT_EQ((read.at<openvdb::Vec3SGrid>("velocity", 13, 2, 0)),
              openvdb::Vec3s(static_cast<float>(number(13, 2, 0)), 0, 0));
    EXPECT_EQ((read.at<openvdb::Vec3SGrid>("velocity", 3, 7, 0)),
              openvdb::Vec3s(0, static_cast<float>(number(3, 7, 0)) + 0.25f, 0));
    EXPECT_EQ((read.at<openvdb::FloatGrid>("density", 13, 0, 0)), 0);
    EXPECT_EQ((read.at<openvdb::FloatGrid>("density", -1, 0, 0)), 0);
    EXPECT_EQ(read.grids.at("density")->activeVoxelCount(), shape.num_cells());
    EXPECT_EQ(read.grids.at("half")->activeVoxelCount(), 4u * 7u * static_cast<std::size_t>(depth));
  }
}

TEST(VdbWriter, RefusesArraysThatDoNotFit) {
  const GridShape shape{{2, 2, 2}};
  const std::vector<Real> few(3);
  const std::vector<Eigen::Vector2f> pairs(shape.size());
  const std::vector<NamedArray> wrong = {named_array("few", few)},
                                odd = {{"pairs", ScalarType::f32, 2, shape.size(), pairs.data()}};
  EXPECT_THROW(format_vdb({.shape = shape, .cell_data = wrong}), Error);
  EXPECT_THROW(format_vdb({.shape = shape, .cell_data = odd}), Error);
}

#endif

}}  // namespace plenum
