#include <gtest/gtest.h>

#include "plenum/base/error.h"
#include "plenum/base/hash.h"
#include "plenum/base/random.h"

namespace plenum { namespace {

TEST(Random, PhiloxMeetsTheKnownAnswers) {
  // Known-answer vectors published with Random123 (Salmon et al. 2011).
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, UniformNumbersFillTheUnitInterval) {
  double mean = 0, square = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const Vec4 u = uniform4(7, i, 1);
    ASSERT_GE(u.minCoeff(), 0);
    ASSERT_LT(u.maxCoeff(), 1);
    mean += u.sum() / 4;
    square += u.squaredNorm() / 4;
  }
  // Standard errors of the two means of 4e5 numbers are 4.6e-4 and 4.7e-4; five of them.
  EXPECT_NEAR(mean / n, 0.5, 2.3e-3);
  EXPECT_NEAR(square / n, 1.0 / 3, 2.4e-3);
}

TEST(Error, SaysWhereWhatAllowedNearestAndRemedy) {
  const Problem p{.file = "a.json",
                  .line = 3,
                  .key = "x.y",
                  .what = "unknown key",
                  .value = "stifness",
                  .nearest = "stiffness",
                  .remedy = "see 'plenum schema'"};
  EXPECT_EQ(sentence(p),
            "a.json:3: x.y: unknown key: stifness; did you mean 'stiffness'?; see 'plenum schema'");
}

TEST(Error, NearestNameToleratesTyposAndRefusesStrangers) {
  const std::vector<std::string> names = {"stiffness", "damping", "gravity"};
  EXPECT_EQ(nearest_name("stifness", names), "stiffness");
  EXPECT_EQ(nearest_name("dmaping", names), "damping");
  EXPECT_EQ(nearest_name("Gravity", names), "gravity");
  EXPECT_EQ(nearest_name("colour", names), "");
  // Words of other programs.
  const std::vector<std::string> motions = {"dynamic", "kinematic", "fixed"},
                                 forms = {"sphere", "box", "hull"},
                                 keys = {"position", "rotation", "restitution"};
  EXPECT_EQ(nearest_name("static", motions), "fixed");
  EXPECT_EQ(nearest_name("cube", forms), "box");
  EXPECT_EQ(nearest_name("Ball", forms), "sphere");
  EXPECT_EQ(nearest_name("quaternion", keys), "rotation");
  EXPECT_EQ(nearest_name("orientation", keys), "rotation");
  EXPECT_EQ(nearest_name("static", keys), "");
  const std::vector<std::string> of_systems = {"name", "type", "model", "params", "keyframes"};
  EXPECT_EQ(nearest_name("parameters", of_systems), "params");
  EXPECT_EQ(nearest_name("settings", of_systems), "params");
  const std::vector<std::string> formats = {"obj", "ply", "vtu"};
  EXPECT_EQ(nearest_name("OBJ", formats), "obj");
  EXPECT_EQ(nearest_name("vtk", formats), "vtu");
  EXPECT_EQ(nearest_name("stl", formats), "");  // shares one letter of three with vtu
}

TEST(Error, NearestNameKnowsBeginningsAndWordsOfNames) {
  const std::vector<std::string> options = {"--frames", "--fps",     "--out",    "--export",
                                            "--resume", "--threads", "--images", "--checkpoint-every"};
  EXPECT_EQ(nearest_name("--exp", options), "--export");
  EXPECT_EQ(nearest_name("--res", options), "--resume");
  EXPECT_EQ(nearest_name("--thr", options), "--threads");
  EXPECT_EQ(nearest_name("--checkpoint", options), "--checkpoint-every");
  EXPECT_EQ(nearest_name("--output", options), "--out");
  EXPECT_EQ(nearest_name("--fram", options), "--frames");
  const std::vector<std::string> keys = {"stiffness_scale", "stiff", "thickness", "mass", "mass_density"};
  EXPECT_EQ(nearest_name("stiffness", keys), "stiffness_scale");
  EXPECT_EQ(nearest_name("mass_desnitty", keys), "mass_density");  // not its beginning, mass
  const std::vector<std::string> scenes = {"arch", "cloth-sphere", "cloth-mesh", "cloth-pile", "soft-body"};
  EXPECT_EQ(nearest_name("cloth", scenes), "cloth-mesh");  // the shortest of three
  EXPECT_EQ(nearest_name("body", scenes), "soft-body");
  const std::vector<std::string> paths = {"flag.air.wind", "flag.pins.0.at"};
  EXPECT_EQ(nearest_name("pins", paths), "flag.pins.0.at");
  EXPECT_EQ(nearest_name("pin", paths), "");
  EXPECT_EQ(nearest_name("", keys), "");
  EXPECT_EQ(nearest_name("---", options), "");
}

TEST(Hash, MatchesThePublishedEmptyDigestAndDependsOnEveryByte) {
  EXPECT_EQ(Hasher().digest().hex(), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing, seed 0
  std::vector<unsigned char> data(1000, 1);
  const auto digest = [&] {
    Hasher h;
    h.add(data.data(), 400);
    h.add(data.data() + 400, 600);
    return h.digest();
  };
  const Hash128 first = digest();
  data[999] ^= 1;
  EXPECT_NE(digest(), first);
  EXPECT_EQ(crc32_of("123456789", 9), 0xCBF43926u);  // the check value of CRC-32/ISO-HDLC
}

}}  // namespace plenum
