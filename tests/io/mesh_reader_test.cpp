#include "plenum/io/mesh_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "io/temporary_folder.h"
#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/geometry/topology.h"
#include "plenum/io/mesh_writer.h"

namespace plenum { namespace {

namespace fs = std::filesystem;
using Parse = TriangleMesh (*)(std::string_view, std::string_view);

/// The message with which a text is refused; empty if it is not.
std::string refusal(Parse parse, std::string_view text) {
  try {
    parse(text, "m");
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}
testing::AssertionResult refused(Parse parse, std::string_view text, std::string_view because) {
  const std::string message = refusal(parse, text);
  if (message.find(because) != std::string::npos && message.starts_with("m"))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected a refusal with '" << because << "', got '" << message
                                     << "'";
}

void expect_valid(const TriangleMesh& mesh) {
  ASSERT_FALSE(mesh.triangles.empty());
  for (const Vec3& p : mesh.x) ASSERT_TRUE(p.allFinite());
  for (const Index3& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) ASSERT_TRUE(t[k] >= 0 && std::size_t(t[k]) < mesh.x.size());
}

// Small files of each kind, written by hand so that the readers are not tested against the writers alone.

const std::string obj_pyramid =
    "# a pyramid\n"
    "v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nv 0 1.5e0 0\n"
    "vt 0 0\nvn 0 1 0\ng sides\nusemtl none\ns off\n"
    "f 1 2 3 4\n"
    "f 2/1 1/1 5/1\nf 3//1 2//1 5//1\nf 4/1/1 3/1/1 5/1/1\nf -5 -2 -1\n";

std::string ply_tetrahedron_header(const std::string& format) {
  return "ply\nformat " + format +
         " 1.0\ncomment made by hand\nelement vertex 4\nproperty float x\nproperty double y\nproperty short "
         "z\n"
         "property uchar red\nelement edge 1\nproperty int vertex1\nproperty int vertex2\n"
         "element face 4\nproperty uchar flags\nproperty list uchar int vertex_indices\n"
         "property list ushort float texcoord\nend_header\n";
}
const std::string ply_ascii = ply_tetrahedron_header("ascii") +
                              "0 0 0 255\n1 0 0 255\n0 1 0 255\n0 0 1 255\n0 1\n"
                              "0 3 0 2 1 2 .5 .5\n0 3 0 1 3 0\n0 3 1 2 3 0\n0 3 2 0 3 0\n";

template <class T>
void put(std::string& out, T value, bool big) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof value);
  if (big == (std::endian::native == std::endian::little)) std::reverse(bytes, bytes + sizeof bytes);
  out.append(bytes, sizeof bytes);
}

std::string ply_binary(bool big) {
  std::string out = ply_tetrahedron_header(big ? "binary_big_endian" : "binary_little_endian");
  const int corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (const auto& c : corners) {
    put(out, float(c[0]), big);
    put(out, double(c[1]), big);
    put(out, std::int16_t(c[2]), big);
    put(out, std::uint8_t(255), big);
  }
  put(out, 0, big);
  put(out, 1, big);
  const int faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
  for (const auto& f : faces) {
    put(out, std::uint8_t(0), big);
    put(out, std::uint8_t(3), big);
    for (const int v : f) put(out, v, big);
    put(out, std::uint16_t(2), big);
    put(out, 0.5f, big);
    put(out, 0.25f, big);
  }
  return out;
}

std::string stl_binary(const TriangleMesh& mesh, const std::string& title = "made by hand") {
  std::string out = title;
  out.resize(80, ' ');
  put(out, std::uint32_t(mesh.triangles.size()), false);
  for (const Index3& t : mesh.triangles) {
    for (int k = 0; k < 3; ++k) put(out, 0.f, false);
    for (int c = 0; c < 3; ++c)
      for (int k = 0; k < 3; ++k) put(out, float(mesh.x[t[c]][k]), false);
    put(out, std::uint16_t(0), false);
  }
  return out;
}

const std::string stl_ascii =
    "solid tetrahedron\n"
    "facet normal 0 0 -1\n outer loop\n  vertex 0 0 0\n  vertex 0 1 0\n  vertex 1 0 0\n endloop\nendfacet\n"
    "facet normal 0 -1 0\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n  vertex 0 0 1\n endloop\nendfacet\n"
    "facet normal 1 1 1\n outer loop\n  vertex 1 0 0\n  vertex 0 1 0\n  vertex 0 0 1\n endloop\nendfacet\n"
    "facet normal -1 0 0\n outer loop\n  vertex 0 1 0\n  vertex 0 0 0\n  vertex 0 0 1\n endloop\nendfacet\n"
    "endsolid tetrahedron\n";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string with_crlf(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

TEST(MeshReader, HandWrittenFilesOfEveryKindAreRead) {
  const TriangleMesh pyramid = parse_obj(obj_pyramid, "m");
  EXPECT_EQ(pyramid.x.size(), 5u);
  EXPECT_EQ(pyramid.triangles.size(), 6u);
  EXPECT_TRUE(topology(pyramid).solid()) << topology(pyramid).complaint();
  EXPECT_NEAR(enclosed_volume(pyramid.x, pyramid.triangles), 2, 1e-6);  // base 4, height 1.5
  for (const std::string& text : {ply_ascii, ply_binary(false), ply_binary(true)}) {
    const TriangleMesh mesh = parse_ply(text, "m");
    EXPECT_EQ(mesh.triangles.size(), 4u);
    EXPECT_NEAR(enclosed_volume(mesh.x, mesh.triangles), 1 / 6.0, 1e-6);
  }
  const TriangleMesh tetrahedron = parse_stl(stl_ascii, "m");
  EXPECT_EQ(tetrahedron.x.size(), 4u);
  EXPECT_NEAR(enclosed_volume(tetrahedron.x, tetrahedron.triangles), 1 / 6.0, 1e-6);
  const TriangleMesh ball = icosphere_mesh(1, 2);
  for (const char* title : {"ball", "solid ball"}) {  // binary files may begin with "solid" too
    const TriangleMesh mesh = parse_stl(stl_binary(ball, title), "m");
    EXPECT_EQ(mesh.x.size(), ball.x.size());
    EXPECT_TRUE(topology(mesh).solid());
  }
}

TEST(MeshReader, LineEndsByteOrderMarksAndContinuedLinesMakeNoDifference) {
  const TriangleMesh expected = parse_obj(obj_pyramid, "m");
  std::string cr = obj_pyramid;
  std::replace(cr.begin(), cr.end(), '\n', '\r');
  for (const std::string& text : {with_crlf(obj_pyramid), cr, "\xEF\xBB\xBF" + obj_pyramid,
                                  obj_pyramid.substr(0, obj_pyramid.size() - 1),
                                  replaced(obj_pyramid, "f 1 2 3 4", "f 1 2 \\\n3\\\n 4"),
                                  replaced(obj_pyramid, "f 1 2 3 4", "f\t1  2 3 4 # x")}) {
    const TriangleMesh mesh = parse_obj(text, "m");
    EXPECT_EQ(mesh.x, expected.x);
    EXPECT_EQ(mesh.triangles, expected.triangles);
  }
  EXPECT_EQ(parse_ply(with_crlf(ply_ascii), "m").triangles.size(), 4u);
  EXPECT_EQ(parse_stl(with_crlf(stl_ascii), "m").triangles.size(), 4u);
  EXPECT_EQ(parse_stl("\n  " + stl_ascii, "m").triangles.size(), 4u);
  // CRLF in the header, before a binary block.
  const std::string binary = ply_binary(false);
  const std::size_t body = binary.find("end_header\n") + 11;
  EXPECT_EQ(parse_ply(with_crlf(binary.substr(0, body)) + binary.substr(body), "m").triangles.size(), 4u);
}

TEST(MeshReader, CoordinatesThatAreNotFiniteAreRefusedWithTheirPlace) {
  for (const char* bad : {"nan", "-nan", "inf", "-Infinity", "1e400", "0x10", "1,5", "1.2.3", "--1", "+-1",
                          "1e", "99999999999999999999999999999999999999999999e999"}) {
    EXPECT_TRUE(refused(parse_obj, replaced(obj_pyramid, "1.5e0", bad), "m:6")) << bad;
    EXPECT_TRUE(
        refused(parse_stl, replaced(stl_ascii, "vertex 1 0 0", std::string("vertex 1 0 ") + bad), "m:6"));
    EXPECT_TRUE(
        refused(parse_ply, replaced(ply_ascii, "1 0 0 255", std::string(bad) + " 0 0 255"), "vertex 1"));
  }
  if (std::is_same_v<Real, float>) {
    EXPECT_TRUE(refused(parse_obj, replaced(obj_pyramid, "1.5e0", "1e39"), "m:6"));
    EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "1 0 0 255", "1 -1e39 0 255"), "vertex 1"));
  }
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::string ply = ply_binary(true);
    std::string bytes;
    put(bytes, bad, true);
    ply.replace(ply.find("end_header\n") + 11, 4, bytes);
    EXPECT_TRUE(refused(parse_ply, ply, "vertex 0 (byte"));
    std::string stl = stl_binary(icosphere_mesh(1, 0));
    bytes.clear();
    put(bytes, bad, false);
    stl.replace(84 + 50 * 7 + 12 + 4, 4, bytes);
    EXPECT_TRUE(refused(parse_stl, stl, "triangle 7 (byte 450)"));
  }
}

TEST(MeshReader, DenormalAndVanishingCoordinatesAreAccepted) {
  for (const char* tiny : {"1e-39", "1e-45", "4.9e-324", "1e-400", "-1E-999", "0.0e5", "+1", ".5", "5."}) {
    const TriangleMesh mesh = parse_obj(replaced(obj_pyramid, "1.5e0", tiny), "m");
    EXPECT_LE(std::abs(mesh.x[4][1]), 5) << tiny;
  }
  EXPECT_EQ(parse_obj(replaced(obj_pyramid, "1.5e0", "0." + std::string(400, '0') + "1"), "m").x[4][1], 0);
}

TEST(MeshReader, IndicesOutOfRangeAreRefusedWithTheirElement) {
  for (const char* bad : {"6", "2147483647", "2147483648", "4294967295", "4611686018427387904",
                          "9223372036854775807", "-6", "-2147483648", "-9223372036854775808", "0"})
    EXPECT_TRUE(refused(parse_obj, replaced(obj_pyramid, "f 1 2 3 4", std::string("f 1 2 ") + bad), "m:12"))
        << bad;
  for (const char* bad : {"9223372036854775808", "x", "1.0", "1//", "/1", "1/2/3/4", "1/x", "1/1/", "1/"})
    EXPECT_TRUE(refused(parse_obj, replaced(obj_pyramid, "f 1 2 3 4", std::string("f 1 2 ") + bad), "m:12"))
        << bad;
  for (const char* bad : {"4", "2147483647", "4611686018427387904", "-1"})
    EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "3 0 1 3", std::string("3 0 1 ") + bad), "face 1"))
        << bad;
  EXPECT_NE(refusal(parse_obj, replaced(obj_pyramid, "f 1 2 3 4", "f 1 2 6")).find("(allowed: 1 to 5)"),
            std::string::npos);
  // A face may come before its vertices.
  EXPECT_EQ(parse_obj("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n", "m").triangles.size(), 1u);
}

TEST(MeshReader, FacesWithFewCornersAreRefusedAndPolygonsCut) {
  EXPECT_TRUE(refused(parse_obj, replaced(obj_pyramid, "f 1 2 3 4", "f 1"),
                      "m:12: has a face with fewer than three"));
  EXPECT_TRUE(refused(parse_obj, replaced(obj_pyramid, "f 1 2 3 4", "f 1 2"), "fewer than three"));
  EXPECT_TRUE(refused(parse_obj, replaced(obj_pyramid, "f 1 2 3 4", "f"), "fewer than three"));
  EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "3 0 1 3", "2 0 1"), "face 1 has fewer than three"));
  // A concave polygon, an L of area 3: a fan from its first corner would cover more.
  const TriangleMesh l =
      parse_obj("v 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 0\nv 2 0 0\nv 2 1 0\nf 1 2 3 4 5 6\n", "m");
  EXPECT_EQ(l.triangles.size(), 4u);
  EXPECT_NEAR(surface_area(l.x, l.triangles), 3, 1e-6);
  // 10^5 corners in one face, on one line of text.
  std::string text, face = "f";
  const int n = 100'000;
  for (int i = 0; i < n; ++i) {
    const double angle = 2 * 3.14159265358979 * i / n;
    text.append("v ")
        .append(std::to_string(std::cos(angle)))
        .append(" ")
        .append(std::to_string(std::sin(angle)))
        .append(" 0\n");
    face.append(" ").append(std::to_string(i + 1));
  }
  EXPECT_EQ(parse_obj(text + face, "m").triangles.size(), std::size_t(n) - 2);
}

TEST(MeshReader, EmptyAndNearlyEmptyFilesGetAClearSentence) {
  EXPECT_TRUE(refused(parse_obj, "", "m: has no vertices"));
  EXPECT_TRUE(refused(parse_obj, "# only a comment", "has no vertices"));
  EXPECT_TRUE(refused(parse_obj, "\xEF\xBB\xBF", "has no vertices"));
  EXPECT_TRUE(refused(parse_obj, "v 0 0 0\n", "has no faces"));
  EXPECT_TRUE(refused(parse_obj, "f 1 2 3\n", "has no vertices"));
  EXPECT_TRUE(refused(parse_ply, "", "does not begin with 'ply'"));
  EXPECT_TRUE(refused(parse_ply, "ply\n", "end_header is missing"));
  EXPECT_TRUE(refused(parse_ply, "ply\nformat ascii 1.0\nend_header\n", "has no vertices"));
  EXPECT_TRUE(refused(parse_ply, "ply\nend_header\n", "has no format line"));
  const std::string none =
      "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 0\nproperty list uchar int vertex_index\nend_header\n";
  EXPECT_TRUE(refused(parse_ply, none, "has no vertices"));
  EXPECT_TRUE(refused(parse_stl, "", "too short"));
  EXPECT_TRUE(refused(parse_stl, "solid nothing\nendsolid nothing\n", "has no triangles"));
  EXPECT_TRUE(refused(parse_stl, stl_binary({}), "has no triangles"));
}

TEST(MeshReader, HeadersThatPromiseTooMuchAreRefusedBeforeAnythingIsAllocated) {
  for (const std::uint32_t count : {13u, 1'000'000u, 0x7fffffffu, 0xffffffffu}) {
    std::string stl = stl_binary(icosphere_mesh(1, 0)).substr(0, 84 + 12 * 50);
    std::string bytes;
    put(bytes, count, false);
    stl.replace(80, 4, bytes);
    EXPECT_TRUE(refused(parse_stl, stl, "is cut off"));
  }
  for (const char* count : {"5", "4294967295", "9223372036854775807", "4611686018427387904"}) {
    for (const std::string& ply : {ply_ascii, ply_binary(false), ply_binary(true)}) {
      EXPECT_NE(refusal(parse_ply, replaced(ply, "element vertex 4", std::string("element vertex ") + count)),
                "");
      EXPECT_NE(refusal(parse_ply, replaced(ply, "element face 4", std::string("element face ") + count)),
                "");
    }
  }
  for (const char* count : {"-1", "18446744073709551616", "x", ""})
    EXPECT_TRUE(refused(parse_ply,
                        replaced(ply_ascii, "element vertex 4", std::string("element vertex ") + count),
                        "is not a number of elements"));
  // An element without properties takes no bytes, however many there are.
  EXPECT_EQ(
      parse_ply(replaced(ply_ascii, "element face", "element nothing 9223372036854775807\nelement face"), "m")
          .triangles.size(),
      4u);
}

TEST(MeshReader, PlyListsOfAnySizeAreCheckedAgainstTheBytesLeft) {
  const auto with_list = [](const char* type, auto size, int corners) {
    std::string out =
        std::string(
            "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
            "property float z\nelement face 1\nproperty list ") +
        type + " int vertex_index\nend_header\n";
    for (int i = 0; i < 9; ++i) put(out, i == 3 || i == 7 ? 1.f : 0.f, false);
    put(out, size, false);
    for (int i = 0; i < corners; ++i) put(out, i % 3, false);
    return out;
  };
  EXPECT_EQ(parse_ply(with_list("ushort", std::uint16_t(3), 3), "m").triangles.size(), 1u);
  EXPECT_TRUE(refused(parse_ply, with_list("char", std::int8_t(-1), 3), "negative size"));
  EXPECT_TRUE(refused(parse_ply, with_list("short", std::int16_t(-32768), 3), "negative size"));
  EXPECT_TRUE(refused(parse_ply, with_list("int", std::int32_t(-3), 3), "negative size"));
  EXPECT_TRUE(refused(parse_ply, with_list("ushort", std::uint16_t(65535), 3), "longer than the rest"));
  EXPECT_TRUE(refused(parse_ply, with_list("uint", std::uint32_t(0xffffffff), 3), "longer than the rest"));
  EXPECT_TRUE(refused(parse_ply, with_list("int", std::int32_t(0x7fffffff), 3), "longer than the rest"));
  EXPECT_TRUE(refused(parse_ply, with_list("float", 3.f, 3), "is not a type of list sizes"));
}

TEST(MeshReader, MalformedPlyHeadersAreRefused) {
  EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "ply\n", "plx\n"), "m:1: does not begin"));
  EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "ascii", "utf8"), "m:2: has an unknown format: utf8"));
  EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "1.0", "2.0"), "unknown version"));
  EXPECT_TRUE(
      refused(parse_ply, replaced(ply_ascii, "property float x", "property half x"), "is not a type: half"));
  EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "property float x\n", ""), "has no property x"));
  EXPECT_TRUE(
      refused(parse_ply, replaced(ply_ascii, "vertex_indices", "corners"), "has no list vertex_indices"));
  EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "list uchar int", "list uchar float"), "not integers"));
  EXPECT_TRUE(refused(parse_ply, replaced(ply_ascii, "element vertex 4\n", ""), "property of no element"));
  EXPECT_TRUE(
      refused(parse_ply, replaced(ply_ascii, "comment", "remark"), "is not a line of a PLY header: remark"));
  // Bytes in the wrong order make counts and numbers nonsense, which is noticed or harmless.
  for (const bool big : {false, true}) {
    const std::string wrong = replaced(ply_binary(big), big ? "binary_big_endian" : "binary_little_endian",
                                       big ? "binary_little_endian" : "binary_big_endian");
    EXPECT_NE(refusal(parse_ply, wrong), "");
  }
}

TEST(MeshReader, MalformedStlIsRefusedWithItsLine) {
  EXPECT_TRUE(refused(parse_stl, replaced(stl_ascii, "endsolid tetrahedron\n", ""), "endsolid is missing"));
  EXPECT_TRUE(
      refused(parse_stl, replaced(stl_ascii, "  vertex 1 0 0\n", ""), "m:7: ends a facet without three"));
  EXPECT_TRUE(
      refused(parse_stl, replaced(stl_ascii, "  vertex 1 0 0\n", "  vertex 1 0 0\n  vertex 1 0 0\n"), "m:7"));
  EXPECT_TRUE(
      refused(parse_stl, replaced(stl_ascii, "vertex 1 0 0", "vertex 1 0"), "fewer than three coordinates"));
  EXPECT_TRUE(refused(parse_stl, replaced(stl_ascii, "endfacet\n", "endfacet\nvertex 1 2 3\n"),
                      "belongs to no facet"));
  EXPECT_TRUE(refused(parse_stl, replaced(stl_ascii, "endfacet\n", ""), "begins a facet out of place"));
  EXPECT_TRUE(
      refused(parse_stl, replaced(stl_ascii, "outer loop", "inner loop"), "is not a line of an ASCII STL"));
  EXPECT_EQ(parse_stl(stl_ascii + stl_ascii, "m").triangles.size(), 8u);  // several solids
}

TEST(MeshReader, DegenerateTrianglesAndLooseVerticesAreKeptForTheCallerToJudge) {
  const TriangleMesh mesh =
      parse_obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 0 0\nv 9 9 9\nf 1 1 2\nf 1 2 4\nf 1 2 3\n", "m");
  const TopologyReport report = topology(mesh);
  EXPECT_EQ(report.degenerate_triangles, 2u);
  EXPECT_EQ(report.unreferenced_vertices, 1u);
  EXPECT_THROW(require_surface(mesh, "m"), Error);
  EXPECT_EQ(repaired(mesh).triangles.size(), 1u);
  EXPECT_EQ(repaired(mesh).x.size(), 3u);
}

TEST(MeshReader, ScalesFromAtomsToPlanetsAreRead) {
  for (const double scale : {1e-9, 1e9}) {
    TriangleMesh ball = icosphere_mesh(1, 2);
    for (Vec3& p : ball.x) p *= Real(scale);
    for (const std::string& text : {format_obj(ball.x, ball.triangles)}) {
      const TriangleMesh mesh = parse_obj(text, "m");
      EXPECT_TRUE(topology(mesh).solid()) << topology(mesh).complaint();
      EXPECT_NEAR(enclosed_volume(mesh.x, mesh.triangles) / (scale * scale * scale), 4.05, 0.15);
    }
  }
}

/// Every prefix either is refused or gives a mesh that is valid; binary ones are always refused.
void expect_prefixes_survive(Parse parse, const std::string& text, bool all_refused) {
  EXPECT_EQ(refusal(parse, text), "");
  for (std::size_t length = 0; length < text.size(); ++length) {
    // A copy of exactly that length, so that a read beyond the end is seen by the address sanitizer.
    const std::vector<char> prefix(text.begin(), text.begin() + std::ptrdiff_t(length));
    try {
      const TriangleMesh mesh = parse({prefix.data(), prefix.size()}, "m");
      ASSERT_FALSE(all_refused) << length;
      expect_valid(mesh);
    } catch (const Error&) {
    }
  }
}

TEST(MeshReader, EveryPrefixOfAFileIsRefusedOrValid) {
  expect_prefixes_survive(parse_obj, obj_pyramid, false);
  expect_prefixes_survive(parse_obj, with_crlf(obj_pyramid), false);
  expect_prefixes_survive(parse_ply, ply_ascii, false);
  expect_prefixes_survive(parse_ply, ply_binary(false), true);
  expect_prefixes_survive(parse_ply, ply_binary(true), true);
  expect_prefixes_survive(parse_stl, stl_ascii, false);
  const TriangleMesh ball = icosphere_mesh(1, 1);
  expect_prefixes_survive(parse_stl, stl_binary(ball), true);
  expect_prefixes_survive(parse_stl, stl_binary(ball, "solid"), true);
}

TEST(MeshReader, RandomDamageNeverCrashes) {
  const std::vector<std::pair<Parse, std::string>> files = {
      {parse_obj, obj_pyramid}, {parse_ply, ply_ascii},        {parse_ply, ply_binary(false)},
      {parse_stl, stl_ascii},   {parse_ply, ply_binary(true)}, {parse_stl, stl_binary(icosphere_mesh(1, 0))}};
  for (const auto& [parse, text] : files)
    for (std::uint64_t trial = 0; trial < 500; ++trial) {
      std::string damaged = text;
      for (std::uint64_t k = 0; k <= trial % 4; ++k) {
        const auto r = philox4x32({std::uint32_t(trial), std::uint32_t(k), 0, 0}, {1, 2});
        const std::size_t at = r[0] % damaged.size();
        if (r[1] % 3 == 0)
          damaged[at] = char(r[2]);
        else if (r[1] % 3 == 1)
          damaged.erase(at, r[2] % 8 + 1);
        else
          damaged.insert(at, damaged.substr(r[2] % damaged.size(), r[3] % 16));
        if (damaged.empty()) break;
      }
      try {
        expect_valid(parse(damaged, "m"));
      } catch (const Error&) {
      }
    }
}

TEST(MeshReader, TenMegabytesOnALineTakeLinearTime) {
  const auto seconds = [](const std::string& text) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_NE(refusal(parse_obj, text), "");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // Quadratic time over 10^7 bytes would be hours.
  EXPECT_LT(seconds(std::string("v ").append(10'000'000, '1')), 20);
  EXPECT_LT(seconds(std::string(10'000'000, ' ')), 20);
  EXPECT_LT(seconds(std::string("v 0 0 0").append(10'000'000, '\\')), 20);
  std::string joined;
  for (int i = 0; i < 1'000'000; ++i) joined += "# \\\n";
  EXPECT_LT(seconds(joined), 20);
}

TEST(MeshReader, FilesAreReadByTheirExtensionAndOnlyRegularOnes) {
  const plenum_test::TemporaryFolder folder;
  EXPECT_EQ(read_mesh(folder.file("a.OBJ", obj_pyramid)).triangles.size(), 6u);
  EXPECT_EQ(read_mesh(folder.file("a.ply", ply_binary(true))).triangles.size(), 4u);
  EXPECT_EQ(read_mesh(folder.file("a.stl", stl_ascii)).triangles.size(), 4u);
  const auto message = [](const std::string& path, std::size_t limit = 1 << 20) -> std::string {
    try {
      read_mesh(path, limit);
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  const std::string unknown = folder.file("a.fbx", "x");
  EXPECT_NE(message(unknown).find(".obj, .ply, .stl"), std::string::npos);
  EXPECT_NE(message(folder.path / "missing.obj").find("missing.obj"), std::string::npos);
  fs::create_directory(folder.path / "folder.obj");
  EXPECT_NE(message(folder.path / "folder.obj").find("regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder.path / "fifo.obj").c_str(), 0600), 0);
  EXPECT_NE(message(folder.path / "fifo.obj").find("regular file"), std::string::npos);
  fs::create_symlink("/dev/zero", folder.path / "zero.obj");
  EXPECT_NE(message(folder.path / "zero.obj").find("regular file"), std::string::npos);
  EXPECT_NE(message(folder.file("b.obj", obj_pyramid), 100).find("too large"), std::string::npos);
  EXPECT_NE(message(folder.path / "no.extension/file").find("extension"), std::string::npos);
}

}}  // namespace plenum
