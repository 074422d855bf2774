#include "plenum/io/mesh_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "plenum/base/error.h"
#include "plenum/base/random.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/shapes.h"
#include "plenum/io/mesh_reader.h"

namespace plenum { namespace {

namespace fs = std::filesystem;

TriangleMesh odd_mesh() {
  TriangleMesh mesh = icosphere_mesh(1, 2);
  for (std::size_t i = 0; i < mesh.x.size(); ++i) mesh.x[i] *= 1 + Real(0.3) * uniform4(1, i, 1)[0];
  mesh.x[0] = Vec3(Real(1e-39), Real(-3.0e38), Real(1) / 3);
  return mesh;
}

TEST(MeshWriter, ObjAndPlyReadBackToTheSameBits) {
  const TriangleMesh mesh = odd_mesh();
  std::vector<TriangleMesh> copies = {parse_obj(format_obj(mesh.x, mesh.triangles), "m"),
                                      parse_obj(format_obj(mesh.x, mesh.triangles, mesh.x), "m")};
  for (const auto encoding :
       {PlyEncoding::ascii, PlyEncoding::binary_little_endian, PlyEncoding::binary_big_endian})
    copies.push_back(parse_ply(format_ply(mesh.x, mesh.triangles, {}, encoding), "m"));
  for (const TriangleMesh& copy : copies) {
    EXPECT_EQ(copy.x, mesh.x);
    EXPECT_EQ(copy.triangles, mesh.triangles);
  }
}

TEST(MeshWriter, LinesAreWritten) {
  const std::vector<Vec3> x = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(2, 0, 0)};
  const std::vector<Index2> lines = {Index2(0, 1), Index2(1, 2)};
  EXPECT_EQ(format_obj(x, {}, {}, lines), "v 0 0 0\nv 1 0 0\nv 2 0 0\nl 1 2\nl 2 3\n");
  const std::string ply = format_ply(x, {}, {}, PlyEncoding::ascii, lines);
  EXPECT_NE(ply.find("element edge 2\nproperty int vertex1\nproperty int vertex2\nend_header\n"),
            std::string::npos)
      << ply;
  EXPECT_TRUE(ply.ends_with("2 0 0\n0 1\n1 2\n")) << ply;
  const std::vector<Index2> beyond = {Index2(0, 3)};
  EXPECT_THROW(format_obj(x, {}, {}, beyond), Error);
  EXPECT_THROW(format_ply(x, {}, {}, PlyEncoding::ascii, beyond), Error);
}

TEST(MeshWriter, ObjectsOfObjStandBeforeTheirFaces) {
  const std::vector<Vec3> x = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)};
  const std::vector<Index3> triangles = {Index3(0, 1, 2), Index3(0, 2, 3), Index3(0, 3, 1)};
  const std::vector<ObjObject> objects = {{"body_0", 0}, {"body_4", 2}};
  const std::string text = format_obj(x, triangles, {}, {}, objects);
  EXPECT_TRUE(text.ends_with("v 0 0 1\no body_0\nf 1 2 3\nf 1 3 4\no body_4\nf 1 4 2\n")) << text;
  EXPECT_EQ(parse_obj(text, "m").triangles, triangles);
}

TEST(MeshWriter, PlyCarriesFieldsOfEveryType) {
  const TriangleMesh mesh = icosphere_mesh(1, 1);
  const std::size_t n = mesh.x.size();
  const std::vector<Vec3> normal = vertex_normals(mesh);
  const std::vector<double> temperature(n, 293.25);
  const std::vector<std::int32_t> group(n, -7);
  const std::vector<std::uint64_t> number(n, 1ull << 40);
  const std::vector<NamedArray> data = {named_array("normal", normal),
                                        named_array("temperature", temperature),
                                        named_array("my group", group), named_array("number", number)};
  const std::string ascii = format_ply(mesh.x, mesh.triangles, data, PlyEncoding::ascii);
  for (const char* line : {"property double temperature\n", "property int my_group\n",
                           "property double number\n", " 293.25 -7 1099511627776\n"})
    EXPECT_NE(ascii.find(line), std::string::npos) << line;
  EXPECT_NE(ascii.find(std::is_same_v<Real, float> ? "property float nx\n" : "property double nx\n"),
            std::string::npos);
  for (const auto encoding :
       {PlyEncoding::ascii, PlyEncoding::binary_little_endian, PlyEncoding::binary_big_endian})
    EXPECT_EQ(parse_ply(format_ply(mesh.x, mesh.triangles, data, encoding), "m").x, mesh.x);
  const std::vector<double> short_array(n - 1);
  const std::vector<NamedArray> wrong = {named_array("t", short_array)};
  EXPECT_THROW(format_ply(mesh.x, mesh.triangles, wrong), Error);
  EXPECT_EQ(format_ply(mesh.x, {}, {}, PlyEncoding::ascii).find("element face"), std::string::npos);
}

TEST(MeshWriter, RefusesIndicesOutOfRange) {
  const TriangleMesh bad{{{0, 0, 0}}, {{0, 0, 1}}};
  EXPECT_THROW(format_obj(bad.x, bad.triangles), Error);
  EXPECT_THROW(format_ply(bad.x, bad.triangles), Error);
  EXPECT_THROW(format_vtu({.x = bad.x, .triangles = bad.triangles}), Error);
}

/// A reader of VTU, as far as the tests need one: the data arrays by name.
struct Vtu {
  struct Array {
    std::string type;
    int components = 0;
    std::string bytes;
    template <class T>
    std::vector<T> as() const {
      std::vector<T> values(bytes.size() / sizeof(T));
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
      return values;
    }
  };
  std::map<std::string, Array> arrays;
  std::size_t points = 0, cells = 0;
};

std::string attribute(const std::string& tag, const std::string& name) {
  const std::size_t at = tag.find(" " + name + "=\"");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 3;
  return tag.substr(begin, tag.find('"', begin) - begin);
}

std::string decode_base64(const std::string& text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t value = digits.find(c);
    if (value == std::string::npos) break;
    bits = bits << 6 | std::uint32_t(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += char(bits >> count & 255);
    }
  }
  return out;
}

Vtu read_vtu(const std::string& xml) {
  Vtu vtu;
  const std::size_t data = xml.find('_', xml.find("<AppendedData")) + 1;
  EXPECT_EQ(attribute(xml.substr(xml.find("<AppendedData"), 60), "encoding"), "base64");
  EXPECT_EQ(attribute(xml.substr(xml.find("<VTKFile"), 200), "header_type"), "UInt64");
  const std::string piece = xml.substr(xml.find("<Piece"), 200);
  vtu.points = std::stoul(attribute(piece, "NumberOfPoints"));
  vtu.cells = std::stoul(attribute(piece, "NumberOfCells"));
  for (std::size_t at = xml.find("<DataArray"); at != std::string::npos;
       at = xml.find("<DataArray", at + 1)) {
    const std::string tag = xml.substr(at, xml.find('>', at) - at);
    if (attribute(tag, "format") != "appended") continue;
    const std::size_t offset = data + std::stoul(attribute(tag, "offset"));
    // The length, 8 bytes, shares its base64 with the data; 12 digits hold it and a byte of data.
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, decode_base64(xml.substr(offset, 12)).data(), 8);
    const std::string all = decode_base64(xml.substr(offset, ((bytes + 8 + 2) / 3) * 4));
    EXPECT_EQ(all.size(), bytes + 8);
    vtu.arrays[attribute(tag, "Name")] = {attribute(tag, "type"),
                                          std::stoi(attribute(tag, "NumberOfComponents")), all.substr(8)};
  }
  return vtu;
}

TEST(VtuWriter, HoldsPointsCellsAndFieldsOfEveryKind) {
  const TetMesh tets = box_tetrahedra({1, 1, 1}, {2, 1, 1});
  const std::vector<Index3> triangles = {{0, 1, 2}};
  const std::vector<Index2> lines = {{0, 5}, {3, 4}};
  const std::vector<float> pressure(tets.x.size(), 1.5f);
  const std::vector<double> exact(tets.x.size(), 1 / 3.0);
  const std::vector<std::int32_t> kind(10 + 1 + 2, 42);
  const std::vector<NamedArray> point_data = {
      named_array("pressure", pressure), named_array("a<b & \"c\"", exact), named_array("velocity", tets.x)};
  const std::vector<NamedArray> cell_data = {named_array("kind", kind)};
  const std::string xml = format_vtu({.x = tets.x,
                                      .triangles = triangles,
                                      .tetrahedra = tets.tetrahedra,
                                      .lines = lines,
                                      .point_data = point_data,
                                      .cell_data = cell_data,
                                      .time = 0.25});
  Vtu vtu = read_vtu(xml);
  EXPECT_EQ(vtu.points, tets.x.size());
  EXPECT_EQ(vtu.cells, 13u);
  EXPECT_EQ(vtu.arrays["pressure"].as<float>(), pressure);
  EXPECT_EQ(vtu.arrays["pressure"].type, "Float32");
  EXPECT_EQ(vtu.arrays["a&lt;b &amp; &quot;c&quot;"].as<double>(), exact);
  EXPECT_EQ(vtu.arrays["kind"].as<std::int32_t>(), kind);
  EXPECT_EQ(vtu.arrays["velocity"].components, 3);
  const auto x = vtu.arrays["Points"].as<Real>();
  ASSERT_EQ(x.size(), 3 * tets.x.size());
  EXPECT_EQ(std::memcmp(x.data(), tets.x.data(), x.size() * sizeof(Real)), 0);
  const auto types = vtu.arrays["types"].as<std::uint8_t>();
  ASSERT_EQ(types.size(), 13u);
  EXPECT_EQ(types.front(), 5);
  EXPECT_EQ(types[1], 10);
  EXPECT_EQ(types.back(), 3);
  const auto offsets = vtu.arrays["offsets"].as<std::int64_t>();
  const auto connectivity = vtu.arrays["connectivity"].as<std::int64_t>();
  ASSERT_EQ(offsets.size(), 13u);
  EXPECT_EQ(offsets[0], 3);
  EXPECT_EQ(offsets[1], 7);
  EXPECT_EQ(offsets.back(), std::int64_t(connectivity.size()));
  EXPECT_EQ(connectivity[3], tets.tetrahedra[0][0]);
  EXPECT_NE(
      xml.find("<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">0.25<"),
      std::string::npos);
}

TEST(VtuWriter, PointsAloneBecomeVertices) {
  const std::vector<Vec3> x = {{0, 0, 0}, {1, 2, 3}};
  Vtu vtu = read_vtu(format_vtu({.x = x}));
  EXPECT_EQ(vtu.cells, 2u);
  EXPECT_EQ(vtu.arrays["types"].as<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1}));
  const std::vector<float> wrong(3);
  const std::vector<NamedArray> data = {named_array("wrong", wrong)};
  EXPECT_THROW(format_vtu({.x = x, .point_data = data}), Error);
  EXPECT_EQ(read_vtu(format_vtu({})).points, 0u);
}

TEST(VtuWriter, CollectionsNameTheirFilesAndTimes) {
  const std::vector<TimedFile> files = {{0, "a.vtu"}, {0.5, "b&c.vtu"}};
  const std::string xml = format_pvd(files);
  EXPECT_NE(xml.find("timestep=\"0.5\" group=\"\" part=\"0\" file=\"b&amp;c.vtu\""), std::string::npos);
}

TEST(MeshWriter, FilesArriveWholeAndFailuresAreReported) {
  const fs::path folder = fs::temp_directory_path() / ("plenum-write-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const TriangleMesh mesh = icosphere_mesh(1, 2);
  write_obj(folder / "a.obj", mesh, vertex_normals(mesh));
  write_ply(folder / "a.ply", mesh);
  write_vtu(folder / "a.vtu", {.x = mesh.x, .triangles = mesh.triangles});
  EXPECT_EQ(read_mesh(folder / "a.obj").x, mesh.x);
  EXPECT_EQ(read_mesh(folder / "a.ply").triangles, mesh.triangles);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 3);  // no temporaries
  const auto message = [&](const std::string& path) -> std::string {
    try {
      write_ply(path, mesh);
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_NE(message(folder / "missing" / "a.ply").find("a.ply"), std::string::npos);
  fs::remove_all(folder);
  // The device of the full disk is written to, not replaced.
  EXPECT_NE(message("/dev/full").find("No space left"), std::string::npos) << message("/dev/full");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

}}  // namespace plenum
