// The OBJ reader beside tinyobjloader, an independent reader of the same format: the same vertices, and faces
// cut into triangles that cover the same polygons.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#define TINYOBJLOADER_USE_DOUBLE
#define TINYOBJLOADER_IMPLEMENTATION
#include <tiny_obj_loader.h>

#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/shapes.h"
#include "plenum/io/checkpoint.h"
#include "plenum/io/mesh_reader.h"
#include "plenum/io/mesh_writer.h"

namespace plenum { namespace {

/// What tinyobjloader makes of a text: polygons as they stand, in the order of the file.
struct Reference {
  std::vector<double> vertices;
  std::vector<std::vector<int>> polygons;

  explicit Reference(const std::string& text) {
    tinyobj::ObjReaderConfig config;
    config.triangulate = false;
    config.vertex_color = false;
    tinyobj::ObjReader reader;
    if (!reader.ParseFromString(text, "", config)) throw std::runtime_error(reader.Error());
    vertices = reader.GetAttrib().vertices;
    for (const tinyobj::shape_t& shape : reader.GetShapes()) {
      std::size_t at = 0;
      for (const std::size_t corners : shape.mesh.num_face_vertices) {
        std::vector<int>& polygon = polygons.emplace_back();
        for (std::size_t k = 0; k < corners; ++k) polygon.push_back(shape.mesh.indices[at++].vertex_index);
      }
    }
  }
};

/// How often each directed edge a -> b stands, less how often b -> a does: the outline of a set of polygons,
/// whichever way it is cut.
class Outline {
 public:
  void add(int a, int b) {
    if (a == b) return;
    int& count = counts_[{std::min(a, b), std::max(a, b)}];
    count += a < b ? 1 : -1;
    if (count == 0) counts_.erase({std::min(a, b), std::max(a, b)});
  }
  template <class Corners>
  void add_polygon(const Corners& corners, int n) {
    for (int k = 0; k < n; ++k) add(corners[k], corners[(k + 1) % n]);
  }
  bool operator==(const Outline&) const = default;

 private:
  std::map<std::pair<int, int>, int> counts_;
};

void expect_agreement(const std::string& text) {
  const TriangleMesh mesh = parse_obj(text, "m.obj");
  const Reference reference(text);
  ASSERT_EQ(mesh.x.size(), reference.vertices.size() / 3);
  // tinyobjloader scales by powers of ten, which costs it some units in the last place of a double, and
  // vanishing numbers; rounding to our precision is half a unit.
  constexpr double relative = std::max(double(std::numeric_limits<Real>::epsilon()), 1e-14);
  constexpr double tiny = double(std::numeric_limits<Real>::min());
  for (std::size_t i = 0; i < mesh.x.size(); ++i)
    for (int k = 0; k < 3; ++k) {
      const double theirs = reference.vertices[3 * i + std::size_t(k)];
      EXPECT_NEAR(double(mesh.x[i][k]), theirs, relative * std::abs(theirs) + tiny) << "vertex " << i + 1;
    }
  // A polygon of n corners is n - 2 triangles, in the order of the file.
  std::size_t triangle = 0;
  for (std::size_t p = 0; p < reference.polygons.size(); ++p) {
    const std::vector<int>& polygon = reference.polygons[p];
    ASSERT_LE(triangle + polygon.size() - 2, mesh.triangles.size()) << "face " << p + 1;
    Outline theirs, ours;
    theirs.add_polygon(polygon, int(polygon.size()));
    for (std::size_t k = 0; k + 2 < polygon.size(); ++k) ours.add_polygon(mesh.triangles[triangle++], 3);
    EXPECT_TRUE(ours == theirs) << "face " << p + 1;
  }
  EXPECT_EQ(triangle, mesh.triangles.size());
}

TEST(ObjReference, HandWrittenFilesOfEveryKind) {
  const char* const vertices = "v 0 0 0\nv 1.25 0 0\nv 1.5 -1e-3 2e2\nv +0.1 1 .5\nv -3 4e0 1\nv 0 2 0\n";
  for (const std::string faces : {
           "f 1 2 3\n",                           // a triangle
           "f 1 2 3\nf 4 3 2\nf 3 3 1\n",         // one of them without an area
           "f -6 -5 -4\nf -1 -2 -3\nf 1 -1 2\n",  // counted from the end
           "f 1 2 3 4\nf 2 3 4 5 6\n",            // polygons
           "vt 0 0\nvn 0 1 0\nf 1/1 2/1 3/1\nf 1//1 2//1 3//1\nf 1/1/1 2/1/1 4/1/1\nf 1/-1/-1 5/-1/-1 "
           "6/-1/-1\n",
           "o a\nf 1 2 3\ng b\nf 3 4 5\nusemtl c\nf 4 5 6\ns 1\ng b\nf 1 5 6\n",  // groups
           "# c\n\n   f   1   2\t3  \n#\nf 4 5 6\n",                              // spaces and comments
       }) {
    SCOPED_TRACE(faces);
    expect_agreement(vertices + faces);
    std::string crlf;
    for (const char c : vertices + faces) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    expect_agreement(crlf);
  }
  expect_agreement(
      "v 0 0 0 1\nv 1 0 0 1\nv 0 1 0 1\nf 1 2 3\nv 5 5 5\nf 4 -2 -3\n");  // weights; late vertices
}

TEST(ObjReference, PolygonsOfEveryForm) {
  // Star-shaped polygons of 4 to 40 corners, convex and not, in planes of every direction.
  for (int sides = 4; sides <= 40; ++sides) {
    std::string text, face = "f";
    for (int k = 0; k < sides; ++k) {
      const auto at = static_cast<std::uint64_t>(100 * sides + k);
      const double radius = 0.3 + 0.7 * double(uniform4(7, at, 0)[0]), angle = 2 * M_PI * k / sides;
      const double a = radius * std::cos(angle), b = radius * std::sin(angle);
      text += fmt::format("v {} {} {}\n", a, b * std::cos(sides), b * std::sin(sides));
      face += fmt::format(" {}", k - sides);
    }
    SCOPED_TRACE(sides);
    expect_agreement(text + face + "\n");
  }
}

TEST(ObjReference, MeshesThatWeWrite) {
  for (const TriangleMesh& mesh : {icosphere_mesh(Real(0.37), 4), torus_mesh(3, Real(1e-3), 40, 20),
                                   cone_mesh(Real(1e6), Real(2e6), 24, 5, 3)})
    expect_agreement(format_obj(mesh.x, mesh.triangles));
}

TEST(ObjReference, EverySeedOfTheFuzzerThatIsRead) {
  int read = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLENUM_SOURCE_DIR "/tests/fuzz/corpus/fuzz_obj")) {
    const auto bytes = read_regular_file(entry.path());
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    try {
      parse_obj(text, "m.obj");
    } catch (const Error&) {
      continue;  // what we refuse tinyobjloader often takes, with indices out of range
    }
    // Lines that continue, and ends of lines by CR alone, are beyond tinyobjloader.
    const std::string name = entry.path().stem();
    if (name == "continued" || name == "cr" || name == "crlf_bom") continue;
    SCOPED_TRACE(entry.path());
    expect_agreement(text);
    ++read;
  }
  EXPECT_GE(read, 8);
}

}}  // namespace plenum
