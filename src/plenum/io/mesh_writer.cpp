#include "plenum/io/mesh_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "plenum/base/error.h"
#include "plenum/io/checkpoint.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Calls visit(const T&) for one scalar of an array.
template <class Visit>
void visit_scalar(ScalarType type, const std::byte* at, Visit&& visit) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    visit(value);
  };
  switch (type) {
    case ScalarType::f32:
      return as(float{});
    case ScalarType::f64:
      return as(double{});
    case ScalarType::i32:
      return as(std::int32_t{});
    case ScalarType::i64:
      return as(std::int64_t{});
    case ScalarType::u8:
      return as(std::uint8_t{});
    case ScalarType::u32:
      return as(std::uint32_t{});
    case ScalarType::u64:
      return as(std::uint64_t{});
  }
}

void require_count(const NamedArray& array, std::size_t expected, const char* of) {
  if (array.count != expected)
    throw Error(Problem{.key = std::string(array.name),
                        .what = fmt::format("has a wrong number of items for the {}", of),
                        .value = fmt::format("{}", array.count),
                        .allowed = fmt::format("{}", expected)});
}

template <class T>
void require_indices(const char* key, std::span<const T> cells, std::size_t num_points) {
  for (const T& t : cells)
    for (int k = 0; k < t.size(); ++k)
      if (t[k] < 0 || std::size_t(t[k]) >= num_points)
        throw Error(Problem{.key = key,
                            .what = "name a vertex that is not there",
                            .value = fmt::format("{}", t[k]),
                            .allowed = fmt::format("0 to {}", std::int64_t(num_points) - 1)});
}

/// PLY has no 64-bit integers: they become doubles.
const char* ply_type(ScalarType type) {
  constexpr const char* names[] = {"float", "double", "int", "double", "uchar", "uint", "double"};
  return names[static_cast<int>(type)];
}

class PlyBody {
 public:
  PlyBody(std::string& out, PlyEncoding encoding) : out_(out), encoding_(encoding) {}
  template <class T>
  void number(T value) {
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) return number(static_cast<double>(value));
    if (encoding_ == PlyEncoding::ascii) {
      if (!at_line_start_) out_ += ' ';
      at_line_start_ = false;
      fmt::format_to(std::back_inserter(out_), "{}", value);
      return;
    }
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    const bool is_little = std::endian::native == std::endian::little;
    if (is_little != (encoding_ == PlyEncoding::binary_little_endian))
      std::reverse(bytes, bytes + sizeof bytes);
    out_.append(bytes, sizeof bytes);
  }
  void end_line() {
    if (encoding_ == PlyEncoding::ascii) out_ += '\n';
    at_line_start_ = true;
  }

 private:
  std::string& out_;
  PlyEncoding encoding_;
  bool at_line_start_ = true;
};

}  // namespace

std::string format_obj(std::span<const Vec3> x, std::span<const Index3> triangles,
                       std::span<const Vec3> normals, std::span<const Index2> lines,
                       std::span<const ObjObject> objects) {
  require_indices("triangles", triangles, x.size());
  require_indices("lines", lines, x.size());
  if (!normals.empty()) require_count(named_array("normals", normals), x.size(), "vertices");
  std::string out;
  out.reserve(40 * (x.size() + normals.size() + triangles.size()) + 64);
  auto end = std::back_inserter(out);
  for (const Vec3& p : x) fmt::format_to(end, "v {} {} {}\n", p[0], p[1], p[2]);
  for (const Vec3& n : normals) fmt::format_to(end, "vn {} {} {}\n", n[0], n[1], n[2]);
  auto object = objects.begin();
  for (std::size_t k = 0; k < triangles.size(); ++k) {
    for (; object != objects.end() && object->first_triangle <= k; ++object)
      fmt::format_to(end, "o {}\n", object->name);
    const Index3& t = triangles[k];
    const std::int64_t a = std::int64_t{t[0]} + 1, b = std::int64_t{t[1]} + 1, c = std::int64_t{t[2]} + 1;
    if (normals.empty())
      fmt::format_to(end, "f {} {} {}\n", a, b, c);
    else
      fmt::format_to(end, "f {}//{} {}//{} {}//{}\n", a, a, b, b, c, c);
  }
  for (const Index2& l : lines)
    fmt::format_to(end, "l {} {}\n", std::int64_t{l[0]} + 1, std::int64_t{l[1]} + 1);
  return out;
}

std::string format_ply(std::span<const Vec3> x, std::span<const Index3> triangles,
                       std::span<const NamedArray> point_data, PlyEncoding encoding,
                       std::span<const Index2> lines) {
  require_indices("triangles", triangles, x.size());
  require_indices("lines", lines, x.size());
  constexpr const char* encodings[] = {"ascii", "binary_little_endian", "binary_big_endian"};
  std::string out =
      fmt::format("ply\nformat {} 1.0\nelement vertex {}\n", encodings[static_cast<int>(encoding)], x.size());
  const char* const real = ply_type(scalar_type_of<Real>());
  for (const char axis : {'x', 'y', 'z'}) out += fmt::format("property {} {}\n", real, axis);
  for (const NamedArray& array : point_data) {
    require_count(array, x.size(), "vertices");
    for (int k = 0; k < array.components; ++k) {
      std::string name(array.name);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c <= ' ' || c == 127; }, '_');
      if (name == "normal" && array.components == 3)
        name = std::string("n") + "xyz"[k];
      else if (array.components > 1)
        name += fmt::format("_{}", k);
      out += fmt::format("property {} {}\n", ply_type(array.type), name);
    }
  }
  if (!triangles.empty())
    out += fmt::format("element face {}\nproperty list uchar int vertex_indices\n", triangles.size());
  if (!lines.empty())
    out += fmt::format("element edge {}\nproperty int vertex1\nproperty int vertex2\n", lines.size());
  out += "end_header\n";
  PlyBody body(out, encoding);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int k = 0; k < 3; ++k) body.number(x[i][k]);
    for (const NamedArray& array : point_data)
      for (int k = 0; k < array.components; ++k) {
        const std::size_t scalar = i * std::size_t(array.components) + std::size_t(k);
        visit_scalar(array.type, static_cast<const std::byte*>(array.data) + scalar * size_of(array.type),
                     [&](auto value) { body.number(value); });
      }
    body.end_line();
  }
  for (const Index3& t : triangles) {
    body.number(std::uint8_t{3});
    for (int k = 0; k < 3; ++k) body.number(t[k]);
    body.end_line();
  }
  for (const Index2& l : lines) {
    for (int k = 0; k < 2; ++k) body.number(l[k]);
    body.end_line();
  }
  return out;
}

void write_text_safely(const std::string& path, std::string_view text) {
  write_file_safely(path, std::as_bytes(std::span(text)));
}

void write_obj(const std::string& path, const TriangleMesh& mesh, std::span<const Vec3> normals) {
  write_text_safely(path, format_obj(mesh.x, mesh.triangles, normals));
}

void write_ply(const std::string& path, const TriangleMesh& mesh, std::span<const NamedArray> point_data,
               PlyEncoding encoding) {
  write_text_safely(path, format_ply(mesh.x, mesh.triangles, point_data, encoding));
}

void write_vtu(const std::string& path, const VtuContent& content) {
  write_text_safely(path, format_vtu(content));
}

}  // namespace plenum::inline PLENUM_ABI
