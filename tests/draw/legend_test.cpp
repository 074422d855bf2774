#include "plenum/draw/legend.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plenum { namespace {

double lightness(const Vector3<double>& srgb) {
  const double y = 0.2126 * linear_from_srgb(srgb[0]) + 0.7152 * linear_from_srgb(srgb[1]) +
                   0.0722 * linear_from_srgb(srgb[2]);
  return y > 216.0 / 24389 ? 116 * std::cbrt(y) - 16 : 24389.0 / 27 * y;
}

TEST(ColourMap, MagnitudesGrowLighterEvenly) {
  for (const ColourMap map : {ColourMap::viridis, ColourMap::cividis}) {
    const double low = lightness(map_colour(map, 0)), high = lightness(map_colour(map, 1));
    EXPECT_GT(high - low, 70);
    for (int i = 1; i <= 64; ++i) {
      const double step = lightness(map_colour(map, i / 64.0)) - lightness(map_colour(map, (i - 1) / 64.0));
      EXPECT_NEAR(step, (high - low) / 64, 0.8 * (high - low) / 64) << i;
    }
  }
}

TEST(ColourMap, HasThePublishedEndsAndMiddle) {
  const auto is = [](ColourMap map, double u, int r, int g, int b) {
    const Vector3<double> c = map_colour(map, u) * 255;
    EXPECT_NEAR(c[0], r, 1.6) << u;
    EXPECT_NEAR(c[1], g, 1.6) << u;
    EXPECT_NEAR(c[2], b, 1.6) << u;
  };
  is(ColourMap::viridis, 0, 68, 1, 84);  // van der Walt and Smith 2015
  is(ColourMap::viridis, 0.5, 33, 145, 140);
  is(ColourMap::viridis, 1, 253, 231, 37);
  is(ColourMap::cool_warm, 0, 59, 76, 192);  // Moreland 2009, table of the cool to warm map
  is(ColourMap::cool_warm, 0.5, 221, 221, 221);
  is(ColourMap::cool_warm, 0.25, 141, 176, 254);
  is(ColourMap::cool_warm, 0.75, 244, 154, 123);
  is(ColourMap::cool_warm, 1, 180, 4, 38);
}

TEST(Legend, TicksAreRoundAndFew) {
  EXPECT_EQ(ticks(0, 5), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ticks(0, 1).size(), 6u);
  EXPECT_EQ(ticks(-0.02, 0.02, 5), (std::vector<double>{-0.02, -0.01, 0, 0.01, 0.02}));
  EXPECT_EQ(ticks(3, 3), (std::vector<double>{3}));
  for (const double high : {0.37, 4.2, 17.0, 930.0, 5e6, 3e-7}) {
    const std::vector<double> marks = ticks(-0.1 * high, high);
    EXPECT_GE(marks.size(), 2u);
    EXPECT_LE(marks.size(), 6u);
    for (const double mark : marks) {
      EXPECT_GE(mark, -0.1 * high);
      EXPECT_LE(mark, high * (1 + 1e-9));
    }
  }
}

TEST(Legend, LabelsSayNoMoreThanTheyNeed) {
  EXPECT_EQ(tick_label(0, 1), "0");
  EXPECT_EQ(tick_label(2, 1), "2");
  EXPECT_EQ(tick_label(0.25, 0.05), "0.25");
  EXPECT_EQ(tick_label(-0.5, 0.5), "\u22120.5");
  EXPECT_EQ(tick_label(1500, 500), "1500");
  EXPECT_EQ(tick_label(2e6, 1e6), "2\u00b710^6");
  EXPECT_EQ(tick_label(1.5e-5, 5e-6), "1.5\u00b710^\u22125");
}

TEST(Legend, RangesHoldTheValuesWithRoundEnds) {
  using Range = std::pair<double, double>;
  EXPECT_EQ(rounded_range(0, 4.7), (Range{0, 5}));
  EXPECT_EQ(rounded_range(0.3, 4.7), (Range{0, 5}));
  EXPECT_EQ(rounded_range(1000, 1010), (Range{1000, 1010}));
  const Range same = rounded_range(2, 2);
  EXPECT_LT(same.first, 2);
  EXPECT_GT(same.second, 2);
  EXPECT_EQ(rounded_range(1, -1), (Range{0, 1}));  // no values
  for (const double a : {-3.3, 0.1, 42.0})
    for (const double b : {0.017, 2.2, 999.0}) {
      const auto [low, high] = rounded_range(a, a + b);
      EXPECT_LE(low, a + 1e-9);
      EXPECT_GE(high, a + b - 1e-9);
    }
}

TEST(Legend, StaysInsideThePicture) {
  const std::vector<LegendEntry> entries = {{"speed", "m/s", 0, 5, ColourMap::viridis},
                                            {"vorticity", "1/s", -40, 40, ColourMap::cool_warm}};
  const std::vector<OverlayLabel> labels = {{.x = 30, .y = 20, .text = "inside"},
                                            {.x = -5, .y = 1e6, .text = "outside"}};
  for (const auto& [width, height] : {std::pair{1280, 720}, {320, 180}, {64, 36}, {1920, 1080}}) {
    const Overlay overlay = make_overlay(entries, "t = 1.25 s", labels, width, height);
    EXPECT_GT(overlay.width, 0);
    EXPECT_GE(overlay.x, 0);
    EXPECT_GE(overlay.y, 0);
    EXPECT_LE(overlay.x + overlay.width, width);
    EXPECT_LE(overlay.y + overlay.height, height);
    EXPECT_EQ(overlay.rgba.size(), std::size_t(overlay.width) * overlay.height * 4);
  }
  EXPECT_EQ(make_overlay({}, "", {}, 640, 360).width, 0);
}

TEST(Legend, BeginsRightOfWhatAPanelCovers) {
  const std::vector<LegendEntry> entries = {{"speed", "m/s", 0, 5, ColourMap::viridis}};
  const Overlay whole = make_overlay(entries, "t = 1.25 s", {}, 1280, 720);
  const Overlay beside = make_overlay(entries, "t = 1.25 s", {}, 1280, 720, 0.3);
  EXPECT_LT(whole.x, 0.3 * 1280);
  EXPECT_GE(beside.x, 0.3 * 1280);
  EXPECT_LE(beside.x + beside.width, 1280);
  EXPECT_EQ(beside.rgba, whole.rgba);  // moved, not changed: 0.3 of 1280 is a whole number of pixels
}

}}  // namespace plenum
