// VTI files, read back by a decoder of their own.
#include "plenum/io/grid_writer.h"

#include <gtest/gtest.h>

#include "plenum/base/error.h"
#include "support/vti_text.h"

namespace plenum { namespace {

TEST(GridWriter, VtiHoldsTheCellsWithoutTheirGhosts) {
  for (const Index depth : {Index{1}, Index{4}}) {
    const GridShape shape{{5, 3, depth}};
    std::vector<Real> density(shape.size(), -1);
    std::vector<Vec3> velocity(shape.size(), Vec3::Constant(-1));
    std::vector<Real> in_order;
    for (Index k = 0; k < depth; ++k)
      for (Index j = 0; j < 3; ++j)
        for (Index i = 0; i < 5; ++i) {
          const auto value = static_cast<Real>(i + 10 * j + 100 * k) / 7;
          density[shape.index(i, j, k)] = value;
          velocity[shape.index(i, j, k)] = Vec3(value, 2 * value, -value);
          in_order.push_back(value);
        }
    const std::vector<NamedArray> data = {named_array("density", density), named_array("velocity", velocity)};
    const std::string xml = format_vti({.shape = shape,
                                        .low = Vec3(-1, 2, Real(0.5)),
                                        .spacing = Real(0.25),
                                        .cell_data = data,
                                        .time = 1.5});
    EXPECT_EQ(value_of(xml, "VTKFile", "type"), "ImageData");
    EXPECT_EQ(value_of(xml, "ImageData", "WholeExtent"), "0 5 0 3 0 " + std::to_string(depth));
    EXPECT_EQ(value_of(xml, "Piece", "Extent"), "0 5 0 3 0 " + std::to_string(depth));
    EXPECT_EQ(value_of(xml, "ImageData", "Origin"), "-1 2 0.5");
    EXPECT_EQ(value_of(xml, "ImageData", "Spacing"), "0.25 0.25 0.25");
    EXPECT_NE(xml.find(">1.5</DataArray>"), std::string::npos);
    EXPECT_EQ(array_of<Real>(xml, "density"), in_order);
    const std::vector<Real> vectors = array_of<Real>(xml, "velocity");
    ASSERT_EQ(vectors.size(), 3 * in_order.size());
    for (std::size_t c = 0; c < in_order.size(); ++c) EXPECT_EQ(vectors[3 * c + 1], 2 * in_order[c]);
  }
  const std::vector<Real> few(3);
  const std::vector<NamedArray> wrong = {named_array("few", few)};
  EXPECT_THROW(format_vti({.shape = {{2, 2, 2}}, .cell_data = wrong}), Error);
}

}}  // namespace plenum
