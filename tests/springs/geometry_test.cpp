// What nets show: surfaces, springs as threads, and what they are coloured by.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "plenum/base/error.h"
#include "plenum/geometry/shapes.h"
#include "plenum/solvers/springs/springs.h"
#include "springs/nets.h"

namespace plenum { namespace {

using test::Net;
using test::net_of;
using Show = SpringsPart::Show;
using Colour = SpringsPart::Colour;

// Lengths are roots of sums of three squares of differences: a few roundings each.
constexpr double rounding = 32 * double(std::numeric_limits<Real>::epsilon());

/// What one kind of drawable was shown with last.
struct Shown {
  int views = 0;
  std::vector<Vec3> x;
  std::vector<Index2> segments;
  std::vector<Real> values;
  std::string quantity, unit;
  bool is_signed = false, of_segments = false;
  Real low = 0, high = 0, trail = 0;

  void note(std::span<const Vec3> points, const ColourBy& colour) {
    ++views;
    x.assign(points.begin(), points.end());
    values.assign(colour.values.begin(), colour.values.end());
    quantity = colour.quantity, unit = colour.unit;
    is_signed = colour.is_signed;
    low = colour.low, high = colour.high;
  }
};
struct Notes final : DrawableSink {
  Shown surface, threads, balls;
  void triangles(const TriangleView& view) override { surface.note(view.x, view.colour); }
  void spheres(const SphereView& view) override {
    balls.note(view.x, view.colour);
    balls.trail = view.trail;
  }
  void lines(const LineView& view) override {
    threads.note(view.x, view.colour);
    threads.segments.assign(view.segments.begin(), view.segments.end());
    threads.of_segments = view.colours_segments;
  }
};
Notes shown(const Net& net) {
  Notes notes;
  Springs::geometry(net.model, net.state, notes);
  return notes;
}

TEST(SpringsGeometry, StrainAtAVertexIsTheMeanOfItsStructuralAndShearSprings) {
  constexpr int nx = 4, nz = 3;
  SpringsPart part;
  part.cells_x = nx, part.cells_z = nz, part.size_x = 2, part.size_z = 3;
  part.bending_stiffness = 10;
  part.show = Show::both;
  part.colour = Colour::strain;
  part.colour_low = Real(-0.2), part.colour_high = Real(0.3);
  Net net = net_of(part);
  // Affinely: the cells, 0.5 by 1 m, become 0.55 by 0.95 m.
  for (Vec3& x : net.state.particles.x) x = Vec3(Real(1.1) * x[0], x[1], Real(0.95) * x[2]);
  const double along_x = 0.1, along_z = -0.05, across = std::hypot(0.55, 0.95) / std::hypot(0.5, 1.0) - 1;
  const Notes notes = shown(net);
  ASSERT_EQ(notes.surface.values.size(), std::size_t((nx + 1) * (nz + 1)));
  for (int j = 0; j <= nz; ++j)
    for (int i = 0; i <= nx; ++i) {
      const int in_x = (i > 0) + (i < nx), in_z = (j > 0) + (j < nz), cells = in_x * in_z;
      EXPECT_NEAR(notes.surface.values[std::size_t(j * (nx + 1) + i)],
                  (in_x * along_x + in_z * along_z + cells * across) / (in_x + in_z + cells), rounding)
          << i << ", " << j;
    }
  EXPECT_EQ(notes.surface.quantity, "strain");
  EXPECT_EQ(notes.surface.unit, "1");
  EXPECT_TRUE(notes.surface.is_signed);
  EXPECT_EQ(notes.surface.low, Real(-0.2));
  EXPECT_EQ(notes.surface.high, Real(0.3));
  // Threads show each spring's own, and no bending springs.
  ASSERT_EQ(notes.threads.segments.size(), std::size_t(nx * (nz + 1) + nz * (nx + 1) + 2 * nx * nz));
  ASSERT_EQ(notes.threads.values.size(), notes.threads.segments.size());
  EXPECT_TRUE(notes.threads.of_segments);
  EXPECT_EQ(notes.threads.quantity, "strain");
  for (std::size_t e = 0; e < notes.threads.segments.size(); ++e) {
    const int apart = std::abs(notes.threads.segments[e][1] - notes.threads.segments[e][0]);
    EXPECT_NEAR(notes.threads.values[e], apart == 1 ? along_x : apart == nx + 1 ? along_z : across, rounding);
  }
}

TEST(SpringsGeometry, AVisualMeshIsColouredByWhatItRidesOn) {
  SpringsPart part;
  part.type = SpringsPart::Type::soft_body;
  part.mesh = icosphere_mesh(Real(0.5), 2);
  part.spacing = Real(0.2);
  part.colour = Colour::strain;
  Net net = net_of(part);
  for (Vec3& x : net.state.particles.x) x *= Real(1.25);
  for (const Real strain : shown(net).surface.values) EXPECT_NEAR(strain, 0.25, 4 * rounding);

  // A linear field of velocities is reproduced: it spins about y and drifts along z.
  part.colour = Colour::speed;
  net = net_of(part);
  for (std::size_t i = 0; i < net.state.particles.size(); ++i)
    net.state.particles.v[i] = Vec3(0, 3, 0).cross(net.state.particles.x[i]) + Vec3(0, 0, 2);
  const Notes notes = shown(net);
  ASSERT_EQ(notes.surface.values.size(), part.mesh.x.size());
  EXPECT_EQ(notes.surface.unit, "m/s");
  EXPECT_FALSE(notes.surface.is_signed);
  for (std::size_t i = 0; i < part.mesh.x.size(); ++i)
    EXPECT_NEAR(notes.surface.values[i], (Vec3(0, 3, 0).cross(notes.surface.x[i]) + Vec3(0, 0, 2)).norm(),
                1e-5);
}

TEST(SpringsGeometry, ShowsSurfaceOrSpringsOrBoth) {
  SpringsPart cloth, rope = test::rope_of(4, 1), body;
  body.type = SpringsPart::Type::soft_body;
  body.mesh = icosphere_mesh(Real(0.5), 1);
  body.spacing = Real(0.3);
  rope.inextensible = false;
  for (SpringsPart part : {cloth, body, rope})
    for (const Show show : {Show::surface, Show::springs, Show::both}) {
      part.show = show;
      const Notes notes = shown(net_of(part));
      const bool has_surface = part.type != SpringsPart::Type::rope;
      EXPECT_EQ(notes.surface.views, has_surface && show != Show::springs ? 1 : 0);
      EXPECT_EQ(notes.threads.views, !has_surface || show != Show::surface ? 1 : 0);
      EXPECT_TRUE(notes.surface.values.empty() && notes.threads.values.empty());
    }
}

TEST(SpringsGeometry, RodsAndBallsAreColouredToo) {
  SpringsPart part = test::rope_of(4, 1);
  part.ball_radius = Real(0.1);
  part.trail = 3;
  part.colour = Colour::speed;
  Net net = net_of(part);
  for (std::size_t i = 0; i < 5; ++i) net.state.particles.v[i] = Vec3(0, 0, Real(i));
  Notes notes = shown(net);
  EXPECT_EQ(notes.balls.trail, 3);
  EXPECT_EQ(notes.balls.values, (std::vector<Real>{0, 1, 2, 3, 4}));
  EXPECT_EQ(notes.threads.values, notes.balls.values);
  EXPECT_FALSE(notes.threads.of_segments);
  part.colour = Colour::strain;
  net = net_of(part);
  net.state.particles.x[4].x() += Real(0.05);
  notes = shown(net);
  ASSERT_EQ(notes.threads.values.size(), 4u);
  EXPECT_NEAR(notes.threads.values[2], 0, rounding);
  EXPECT_NEAR(notes.threads.values[3], 0.2, rounding);
}

TEST(SpringsGeometry, ARangeOfColoursIsRefusedUpsideDown) {
  SpringsPart part;
  part.colour_low = 1;
  try {
    net_of(part);
    ADD_FAILURE() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.problem().key, "parts[0].colour_high");
    EXPECT_EQ(e.problem().allowed, "at least 1");
  }
}

}}  // namespace plenum
