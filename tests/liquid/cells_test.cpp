// A liquid as fields at cell centres, for other programs.
#include <gtest/gtest.h>

#include <limits>

#include "plenum/solvers/liquid/liquid.h"

namespace plenum { namespace {

constexpr Real h = Real(0.125);

struct Pool {
  Liquid::Model model;
  Liquid::State state;
  Pool(std::array<Index, 3> cells, const Vec3& low, const Vec3& high) {
    Liquid::Spec spec;
    spec.cells_x = cells[0], spec.cells_y = cells[1], spec.cells_z = cells[2];
    spec.spacing = h;
    spec.low = Vec3(-1, 2, Real(0.5));
    LiquidFill fill;
    fill.shape = GridSolid::Kind::box;
    fill.half_extents = h * (high - low) / 2;
    fill.position = spec.low + h * (high + low) / 2;
    spec.fill = {fill};
    Liquid::build(spec, model, state);
  }
};

/// Without or with what the particles know of how the velocity grows: means of jittered ones are off by what
/// it differs by within a cell, and exact.
TEST(LiquidCells, HaveTheVelocityOfTheParticles) {
  Mat3 slope;
  slope << Real(0.5), 2, -1, Real(1.5), -1, Real(0.25), 3, Real(0.75), Real(0.5);
  for (const Index depth : {Index{1}, Index{6}})
    for (const bool affine : {false, true}) {
      Pool pool({9, 7, depth}, Vec3(0, 0, -8), Vec3(9, 4, 8));
      Liquid::State& s = pool.state;
      Mat3 rows = slope;
      if (depth == 1) rows.row(2).setZero(), rows.col(2).setZero();
      const Vec3 mean(1, -2, depth == 1 ? Real(0) : Real(3));
      const auto velocity = [&](const Vec3& x) { return Vec3(mean + rows * (x - pool.model.low)); };
      for (std::vector<Vec3>* gradient : {&s.du, &s.dv, &s.dw}) gradient->clear();
      for (std::size_t p = 0; p < s.x.size(); ++p) {
        s.v[p] = velocity(s.x[p]);
        if (!affine) continue;
        s.du.push_back(rows.row(0)), s.dv.push_back(rows.row(1)), s.dw.push_back(rows.row(2));
      }
      const CellFields cells = Liquid::cells(pool.model, s);
      EXPECT_EQ(cells.shape, pool.model.shape);
      EXPECT_EQ(cells.low, pool.model.low);
      EXPECT_EQ(cells.spacing, h);
      ASSERT_EQ(cells.vectors.size(), 1u);
      ASSERT_EQ(cells.vectors[0].values.size(), cells.shape.size());
      const Real most = affine ? 64 * std::numeric_limits<Real>::epsilon() : h;
      for (Index k = 0; k < depth; ++k)
        for (Index j = 0; j < 7; ++j)
          for (Index i = 0; i < 9; ++i) {
            const Vec3 centre =
                cells.low + h * Vec3(Real(i) + Real(0.5), Real(j) + Real(0.5), Real(k) + Real(0.5));
            const Vec3& found = cells.vectors[0].values[cells.shape.index(i, j, k)];
            if (j > 4) {  // farther from the liquid than a cell
              EXPECT_EQ(found, Vec3::Zero());
            } else if (j < 4) {
              EXPECT_LE((found - velocity(centre)).norm(), most * slope.norm()) << i << " " << j << " " << k;
            }
          }
    }
}

TEST(LiquidCells, OfALargeBoxAreThoseAroundTheLiquid) {
  struct Case {
    std::array<Index, 3> box, low, high, first, cells;
  };
  for (const Case& c : {Case{{128, 64, 64}, {40, 20, 10}, {44, 26, 12}, {38, 18, 8}, {8, 10, 6}},
                        Case{{128, 64, 64}, {0, 61, 30}, {3, 64, 33}, {0, 59, 28}, {5, 5, 7}},
                        Case{{1024, 512, 1}, {700, 20, -9}, {708, 26, 9}, {698, 18, 0}, {12, 10, 1}}}) {
    const auto vector = [](const std::array<Index, 3>& a) {
      return Vec3(Real(a[0]), Real(a[1]), Real(a[2]));
    };
    const Pool pool(c.box, vector(c.low), vector(c.high));
    const CellFields found = Liquid::cells(pool.model, pool.state);
    EXPECT_EQ(found.shape.cells, c.cells);
    EXPECT_LE((found.low - (pool.model.low + h * vector(c.first))).norm(),
              8 * std::numeric_limits<Real>::epsilon() * found.low.norm());
    ASSERT_EQ(found.scalars.size(), 2u);
    EXPECT_STREQ(found.scalars[0].name, "fullness");
    // Each cell as in the whole box, and all of the liquid is in what is written.
    std::vector<Real> whole;
    Liquid::fullness(pool.model, pool.state, whole);
    double liquid = 0, written = 0;
    for (Index k = 0; k < c.box[2]; ++k)
      for (Index j = 0; j < c.box[1]; ++j)
        for (Index i = 0; i < c.box[0]; ++i) liquid += double(whole[pool.model.shape.index(i, j, k)]);
    for (Index k = 0; k < c.cells[2]; ++k)
      for (Index j = 0; j < c.cells[1]; ++j)
        for (Index i = 0; i < c.cells[0]; ++i) {
          const Real full = found.scalars[0].values[found.shape.index(i, j, k)];
          EXPECT_EQ(full, whole[pool.model.shape.index(c.first[0] + i, c.first[1] + j, c.first[2] + k)]);
          written += double(full);
        }
    EXPECT_GT(liquid, 1);
    EXPECT_NEAR(written, liquid, 1e-9 * liquid);
  }
}

TEST(LiquidCells, AreThereWithoutLiquid) {
  for (const std::array<Index, 3> box : {std::array<Index, 3>{128, 64, 64}, {4, 4, 4}, {1024, 512, 1}}) {
    Pool pool(box, Vec3::Zero(), Vec3::Constant(2));
    Liquid::State& s = pool.state;
    for (std::vector<Vec3>* of : {&s.x, &s.v, &s.du, &s.dv, &s.dw}) of->clear();
    const CellFields found = Liquid::cells(pool.model, pool.state);
    EXPECT_EQ(found.shape.is_flat(), pool.model.shape.is_flat());
    for (const Real full : found.scalars[0].values) EXPECT_EQ(full, 0);
    for (const Vec3& v : found.vectors[0].values) EXPECT_EQ(v, Vec3::Zero());
  }
}

}}  // namespace plenum
