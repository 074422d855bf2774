#include "plenum/geometry/cell_grid.h"

#include <gtest/gtest.h>

#include <limits>

#include "plenum/base/parallel.h"
#include "plenum/base/random.h"

namespace plenum { namespace {

TEST(CellGrid, HoldsEveryPointOnceInItsCellInOrder) {
  std::vector<Vec3> x;
  for (std::uint64_t i = 0; i < 30000; ++i)
    x.push_back(Real(4) * uniform4(1, i, 0).head<3>() - Vec3(1, 1, 1));
  const CellLayout layout =
      CellLayout::fit({0, 0, 0}, {2, 2, 2}, Vec3(Real(0.3), Real(0.5), Real(0.105)), 1 << 20);
  EXPECT_EQ(layout.dims, Index3(6, 4, 19));  // sides are at least those asked for
  CellGrid grid;
  std::vector<Index> expected;
  for (const int threads : {1, 2, 5})
    with_threads(threads, [&] {
      grid.sort(layout, x);
      if (threads == 1) expected = grid.order;
      EXPECT_EQ(grid.order, expected);
    });
  std::vector<int> seen(x.size(), 0);
  for (std::size_t c = 0; c < layout.size(); ++c) {
    Index last = -1;
    for (const Index i : grid.points_of(c)) {
      EXPECT_EQ(layout.index_of(layout.cell_of(x[static_cast<std::size_t>(i)])), c);
      EXPECT_GT(i, last);
      last = i;
      ++seen[static_cast<std::size_t>(i)];
    }
  }
  for (const int s : seen) ASSERT_EQ(s, 1);
}

TEST(CellGrid, GrowsItsCellsRatherThanTheirNumber) {
  const CellLayout layout = CellLayout::fit({0, 0, 0}, {1000, 1, 0}, Vec3::Constant(Real(1e-3)), 5000);
  EXPECT_LE(layout.size(), 5000u);
  EXPECT_GT(layout.size(), 2000u);
  EXPECT_EQ(layout.dims[2], 1);
}

TEST(CellGrid, OfBoundsThatAreNotFiniteIsOneCell) {
  const Real inf = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
  const CellLayout layout = CellLayout::fit({-inf, nan, 0}, {inf, 1, 1}, Vec3::Constant(Real(0.25)), 1000);
  EXPECT_EQ(layout.dims, Index3(1, 1, 4));
  EXPECT_EQ(layout.cell_of({nan, inf, nan}), Index3(0, 0, 0));
}

TEST(CellGrid, PutsWhatIsOutsideAtTheBorder) {
  const CellLayout layout = CellLayout::fit({0, 0, 0}, {1, 1, 1}, Vec3::Constant(Real(0.25)), 1000);
  EXPECT_EQ(layout.cell_of({-5, Real(0.3), 1e9f}), Index3(0, 1, 3));
  CellGrid grid;
  grid.sort(layout, {});
  EXPECT_EQ(grid.start.back(), 0);
}

}}  // namespace plenum
