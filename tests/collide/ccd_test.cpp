#include "plenum/geometry/ccd.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "collide/solids.h"
#include "plenum/geometry/triangle_distance.h"

namespace plenum { namespace {

using namespace test;
using Points = std::array<Point, 4>;

TEST(Ccd, EveryReferenceCase) {
  std::ifstream file(PLENUM_SOURCE_DIR "/validation/reference/ccd_cases.csv");
  ASSERT_TRUE(file);
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line.rfind("kind", 0) == 0) continue;
    std::stringstream cells(line);
    std::string cell, kind, name;
    std::getline(cells, kind, ',');
    std::getline(cells, name, ',');
    Points x0, x1;
    for (Points* x : {&x0, &x1})
      for (Point& p : *x)
        for (int i = 0; i < 3; ++i) {
          std::getline(cells, cell, ',');
          p[i] = std::stod(cell);
        }
    std::string hit, toi;
    std::getline(cells, hit, ',');
    std::getline(cells, toi, ',');
    SCOPED_TRACE(kind + " " + name);
    CcdOptions options;
    options.tolerance = 1e-9;
    const auto found = kind == "VF" ? vertex_face_ccd(x0, x1, options) : edge_edge_ccd(x0, x1, options);
    ASSERT_EQ(found.has_value(), hit == "1");
    if (found) {
      EXPECT_LE(*found, std::stod(toi));
      const bool along_a_line = name == "parallel_hit" || name == "degenerate_face_segment";
      EXPECT_GE(*found, std::stod(toi) - (along_a_line ? 1e-3 : 1e-6));
    }
    ++cases;
  }
  EXPECT_EQ(cases, 26);
}

/// Distance of the parts at time t.
double distance_at(bool vertex_face, const Points& x0, const Points& x1, double t) {
  Points x;
  for (std::size_t i = 0; i < 4; ++i) x[i] = x0[i] + t * (x1[i] - x0[i]);
  if (vertex_face) return (closest_on_triangle<double>(x[0], x[1], x[2], x[3]).point - x[0]).norm();
  return segment_distance(x[0], x[1], x[2], x[3]);
}

TEST(Ccd, ContactsMadeOnPurposeAreAllFound) {
  Dice dice(41);
  int near = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const bool vertex_face = trial % 2 == 0;
    const double scale = std::pow(10, dice.between(-3, 3));
    Points x0, x1;
    for (Points* x : {&x0, &x1})
      for (Point& p : *x) p = scale * dice.uniform() * dice.direction();
    // Move the first part's end so that it meets the second at time t, now and then on a border or at the
    // end.
    const auto fraction = [&](double high) {
      return dice.below(4) ? dice.between(0, high) : high * dice.below(2);
    };
    const double t = dice.below(6) ? dice.between(0.05, 1) : 1, u = fraction(1),
                 v = fraction(vertex_face ? 1 - u : 1);
    const auto mid = [&](std::size_t i) { return Point(x0[i] + t * (x1[i] - x0[i])); };
    if (vertex_face) {
      const Point target = (1 - u - v) * mid(1) + u * mid(2) + v * mid(3);
      x1[0] = x0[0] + (target - x0[0]) / t;
    } else {
      const Point target = (1 - v) * mid(2) + v * mid(3);
      const Point shift = (target - ((1 - u) * mid(0) + u * mid(1))) / t;
      x1[0] += shift;
      x1[1] += shift;
    }
    // The construction itself rounds: contacts on borders may miss by a few units in the last place.
    CcdOptions options;
    double largest = 0;
    for (const Points* x : {&x0, &x1})
      for (const Point& p : *x) largest = std::max(largest, p.lpNorm<Eigen::Infinity>());
    options.separation = 1e-14 * largest / t;
    options.tolerance = 1e-6 * scale;
    const auto found = vertex_face ? vertex_face_ccd(x0, x1, options) : edge_edge_ccd(x0, x1, options);
    ASSERT_TRUE(found) << trial;
    ASSERT_LE(*found, t * (1 + 1e-12)) << trial;
    // What is reported is a contact within the tolerance, but for the few that nearly slide along each other.
    near += distance_at(vertex_face, x0, x1, *found) <= 2 * options.tolerance;
  }
  EXPECT_GE(near, 5970);
}

TEST(Ccd, WhatIsNotReportedDoesNotTouch) {
  Dice dice(42);
  int none = 0, found = 0, near = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const bool vertex_face = trial % 2 == 0;
    Points x0, x1;
    for (Points* x : {&x0, &x1})
      for (Point& p : *x) {
        p = dice.direction();
        if (trial % 3 == 0)
          p = Point(std::round(2 * p[0]), std::round(2 * p[1]), std::round(2 * p[2]));  // degenerate
      }
    const auto time = vertex_face ? vertex_face_ccd(x0, x1) : edge_edge_ccd(x0, x1);
    (time ? found : none) += 1;
    double least = infinity, when = 0;
    const double until = time ? *time : 1;
    for (int i = 0; i <= 200; ++i) {
      const double d = distance_at(vertex_face, x0, x1, until * i / 200);
      if (i == 200 && time) {
        near += d <= 2e-6;
      } else if (d < least) {
        least = d;
        when = until * i / 200;
      }
    }
    if (until > 0) {
      EXPECT_GT(least, 0) << trial << " touches at " << when << " before " << until;
    }
  }
  EXPECT_GT(none, 500);
  EXPECT_GT(found, 200);
  EXPECT_GT(near, 0.97 * found);
}

}}  // namespace plenum
