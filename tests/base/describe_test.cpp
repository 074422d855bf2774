#include "plenum/base/describe.h"

#include <gtest/gtest.h>

namespace plenum { namespace {

enum class Mood : int { calm, wild };
constexpr std::array<const char*, 2> names_of(Mood) {
  return {"calm", "wild"};
}

struct Part {
  Vec3 position = Vec3::Zero();
  void describe(Describer& d) { d("position", position, {.unit = "m", .min = -5, .max = 5}); }
};

struct Whole {
  bool on = false;
  int count = 3;
  std::int64_t seed = 1;
  Real stiffness = 10;
  Mood mood = Mood::calm;
  std::string label;
  std::vector<Real> weights;
  Part first;
  std::vector<Part> parts = std::vector<Part>(2);
  void describe(Describer& d) {
    d("on", on);
    d("count", count, {.min = 1, .max = 7});
    d("seed", seed, {.min = 0});
    d("stiffness", stiffness, {.unit = "N/m", .min = 0, .max = 100});
    d("mood", mood);
    d("label", label);
    d("weights", weights);
    d("first", first);
    if (d.when("mood", "wild", mood == Mood::wild)) d("parts", parts);
  }
};

TEST(Describe, LeavesAreNamedByTheirPathsInOrder) {
  Whole whole;
  std::vector<std::string> paths;
  for (const Leaf& leaf : leaves_of(whole)) paths.push_back(leaf.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"on", "count", "seed", "stiffness", "mood", "first.position"}));
  whole.mood = Mood::wild;
  EXPECT_EQ(leaves_of(whole).back().path, "parts[1].position");
}

TEST(Describe, LeavesAreReadAndSetWithinTheirRanges) {
  Whole whole;
  const std::vector<Leaf> leaves = leaves_of(whole);
  leaves[0].set(1);
  leaves[1].set(99.6);
  leaves[2].set(12);
  leaves[3].set(-4);
  leaves[4].set(5);
  leaves[5].set(2.5, 1);
  EXPECT_TRUE(whole.on);
  EXPECT_EQ(whole.count, 7);
  EXPECT_EQ(whole.seed, 12);
  EXPECT_EQ(whole.stiffness, 0);
  EXPECT_EQ(whole.mood, Mood::wild);
  EXPECT_EQ(whole.first.position, Vec3(0, Real(2.5), 0));
  EXPECT_EQ(leaves[5].components(), 3);
  EXPECT_EQ(leaves[5].get(1), 2.5);
  leaves[3].set(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(whole.stiffness, 0);
}

}  // namespace
}  // namespace plenum
