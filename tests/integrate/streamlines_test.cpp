// Streamlines of flows whose lines are known.
#include "plenum/integrate/streamlines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace plenum { namespace {

/// Faces of a flow u(x), ghosts included.
template <class F>
FaceField sampled(const GridShape& shape, const Vec3& low, Real h, F&& u) {
  FaceField faces;
  faces.assign(shape, 0);
  for (int c = 0; c < shape.dimensions(); ++c)
    for (Index k = shape.is_flat() ? 0 : -1; k <= (shape.is_flat() ? 0 : shape.cells[2] + 1); ++k)
      for (Index j = -1; j <= shape.cells[1] + 1; ++j)
        for (Index i = -1; i <= shape.cells[0] + 1; ++i) {
          Vec3 x = low + h * Vec3(Real(i) + Real(0.5), Real(j) + Real(0.5), Real(k) + Real(0.5));
          x[c] -= h / 2;
          faces.along[std::size_t(c)][shape.index(i, j, k)] = u(x)[c];
        }
  return faces;
}

template <class F>
void for_points(const Streamlines& lines, F&& visit) {
  Index first = 0, line = 0;
  for (const Index end : lines.ends) {
    for (Index k = first; k < end; ++k) visit(line, k, first, end);
    first = end, ++line;
  }
}

TEST(GridFlow, IsExactForLinearFlows) {
  const GridShape shape{{6, 5, 4}};
  const Vec3 low(Real(-1), Real(0.5), 2);
  const auto u = [](const Vec3& x) {
    return Vec3(x.y() - 2 * x.z(), 1 + x.x(), Real(0.5) * x.x() + x.y() + 3 * x.z());
  };
  const FaceField faces = sampled(shape, low, Real(0.3), u);
  const GridFlow flow{.shape = shape, .low = low, .h = Real(0.3), .velocity = faces};
  for (const Vec3& part : {Vec3(0, 0, 0), Vec3(Real(0.2), Real(0.9), Real(0.4)), Vec3(1, 1, 1)}) {
    const Vec3 x = low + Real(0.3) * Vec3(6, 5, 4).cwiseProduct(part);
    EXPECT_LT((flow.velocity_at(x) - u(x)).norm(), 1e-5 * u(x).norm());
  }
  EXPECT_TRUE(flow.holds(low + Vec3::Constant(Real(0.01))));
  EXPECT_FALSE(flow.holds(low - Vec3::Constant(Real(0.01))));
}

// Of a rigid rotation, which linear interpolation has exactly, the lines are circles: the method's error is
// of the fourth order in its step, a thousandth of the radius over a turn at most.
TEST(Streamlines, OfARotationAreCircles) {
  const GridShape shape{{40, 40, 1}};
  const FaceField faces =
      sampled(shape, Vec3(-1, -1, 0), Real(0.05), [](const Vec3& x) { return Vec3(-x.y(), x.x(), 0); });
  const GridFlow flow{.shape = shape, .low = Vec3(-1, -1, 0), .h = Real(0.05), .velocity = faces};
  const Real apart = Real(0.1);
  const Streamlines lines = evenly_spaced_streamlines(flow, apart);
  ASSERT_GT(lines.ends.size(), 8u);
  Real start = 0;
  for_points(lines, [&](Index, Index k, Index first, Index end) {
    const Vec3& x = lines.x[std::size_t(k)];
    const Real radius = x.head<2>().norm();
    if (k == first) start = radius;
    EXPECT_NEAR(radius, start, 1e-3 * start);
    // No more than once around, but for the end's distance from the beginning.
    EXPECT_LE(Real(end - first - 1) * Real(0.0125), 2 * std::numbers::pi_v<Real> * start + apart);
  });
}

// Lines of a Taylor-Green vortex keep its stream function to the interpolation's error, (pi h)^2 / 8 of its
// largest value, and a distance from each other, and leave no large gap.
TEST(Streamlines, AreEvenlyApartAndFollowTheStreamFunction) {
  const Real pi = std::numbers::pi_v<Real>;
  for (const bool flat : {true, false}) {
    const GridShape shape{{32, 32, flat ? 1 : 8}};
    const Real h = Real(1) / 32;
    const FaceField faces = sampled(shape, Vec3::Zero(), h, [&](const Vec3& x) {
      return Vec3(std::sin(pi * x.x()) * std::cos(pi * x.y()), -std::cos(pi * x.x()) * std::sin(pi * x.y()),
                  0);
    });
    const auto stream = [&](const Vec3& x) { return std::sin(pi * x.x()) * std::sin(pi * x.y()); };
    const GridFlow flow{.shape = shape, .low = Vec3::Zero(), .h = h, .velocity = faces};
    const Real apart = Real(0.08);
    const Streamlines lines = evenly_spaced_streamlines(flow, apart);
    std::vector<Index> line_of;
    Real value = 0;
    for_points(lines, [&](Index line, Index k, Index first, Index) {
      line_of.push_back(line);
      if (k == first) value = stream(lines.x[std::size_t(k)]);
      EXPECT_NEAR(stream(lines.x[std::size_t(k)]), value, 2 * (pi * h) * (pi * h) / 8 + 2e-3);
    });
    for (std::size_t a = 0; a < lines.x.size(); a += 7)
      for (std::size_t b = 0; b < lines.x.size(); ++b)
        if (line_of[a] != line_of[b]) {
          ASSERT_GT((lines.x[a] - lines.x[b]).norm(), Real(0.499) * apart) << flat;
        }
    // Away from where the flow rests and lines would be too short.
    for (Real y = Real(0.15); y < Real(0.9); y += Real(0.05))
      for (Real x = Real(0.15); x < Real(0.9); x += Real(0.05)) {
        const Vec3 at(x, y, flat ? h / 2 : Real(0.125));
        if (std::hypot(x - Real(0.5), y - Real(0.5)) < 2 * apart) continue;
        Real least = 1;
        for (const Vec3& p : lines.x) least = std::min(least, (p - at).norm());
        EXPECT_LT(least, Real(flat ? 1.5 : 2) * apart) << flat << ' ' << x << ' ' << y;
      }
  }
}

TEST(Streamlines, KeepToTheFluid) {
  const GridShape shape{{20, 20, 1}};
  const FaceField faces = sampled(shape, Vec3::Zero(), Real(0.05), [](const Vec3&) { return Vec3(1, 0, 0); });
  std::vector<std::uint8_t> fluid(shape.size(), 0);
  for (Index j = 0; j < 20; ++j)
    for (Index i = 0; i < 10; ++i) fluid[shape.index(i, j, 0)] = 1;
  const GridFlow flow{
      .shape = shape, .low = Vec3::Zero(), .h = Real(0.05), .velocity = faces, .fluid = fluid};
  const Streamlines lines = evenly_spaced_streamlines(flow, Real(0.1));
  ASSERT_FALSE(lines.x.empty());
  for (const Vec3& x : lines.x) EXPECT_LT(x.x(), 0.5);
  FaceField still;
  still.assign(shape, 0);
  const GridFlow rest{.shape = shape, .low = Vec3::Zero(), .h = Real(0.05), .velocity = still};
  EXPECT_TRUE(evenly_spaced_streamlines(rest, Real(0.1)).x.empty());
}

}}  // namespace plenum
