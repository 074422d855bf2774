// STL. Source: 3D Systems, "StereoLithography interface specification" (1989).
#include <algorithm>
#include <bit>
#include <cstring>

#include "plenum/geometry/topology.h"
#include "plenum/io/detail/polygon_soup.h"
#include "plenum/io/detail/text_reader.h"
#include "plenum/io/mesh_reader.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t header_bytes = 80, prefix_bytes = 84, triangle_bytes = 50;

std::uint32_t little_u32(const char* p) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(p[i]);
  return value;
}

float little_f32(const char* p) {
  return std::bit_cast<float>(little_u32(p));
}

[[noreturn]] void refuse(std::string_view name, std::string what, std::string value = {},
                         std::string allowed = {}) {
  throw Error(Problem{.file = std::string(name),
                      .what = std::move(what),
                      .value = std::move(value),
                      .allowed = std::move(allowed)});
}

TriangleMesh parse_binary(std::string_view bytes, std::string_view name) {
  if (bytes.size() < prefix_bytes)
    refuse(name, "is too short to be an STL file", fmt::format("{} bytes", bytes.size()));
  const std::size_t count = little_u32(bytes.data() + header_bytes);
  const std::size_t room = (bytes.size() - prefix_bytes) / triangle_bytes;
  if (count > room)
    refuse(name, "is cut off: its header promises more triangles than it has room for",
           fmt::format("{}", count), fmt::format("at most {}", room));
  if (count == 0) refuse(name, "has no triangles");
  if (count > detail::most_items / 3) refuse(name, "has too many triangles", fmt::format("{}", count));
  TriangleMesh mesh;
  mesh.x.reserve(3 * count);
  mesh.triangles.reserve(count);
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t at = prefix_bytes + t * triangle_bytes + 12;  // after the normal
    const auto first = static_cast<Index>(mesh.x.size());
    for (int i = 0; i < 9; ++i) {
      const float value = little_f32(bytes.data() + at + 4 * i);
      if (!std::isfinite(value))
        refuse(name, fmt::format("triangle {} (byte {}) has a coordinate that is not finite", t, at + 4 * i),
               fmt::format("{}", value));
      if (i % 3 == 0) mesh.x.emplace_back(Vec3::Zero());
      mesh.x.back()[i % 3] = value;
    }
    mesh.triangles.emplace_back(first, first + 1, first + 2);
  }
  return mesh;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
    return lower(x) == lower(y);
  });
}

TriangleMesh parse_ascii(std::string_view bytes, std::string_view name) {
  TriangleMesh mesh;
  detail::LineReader lines(bytes, name);
  std::string_view line;
  bool in_solid = false, in_facet = false;
  int corners = 0;
  while (lines.next(line)) {
    const std::string_view whole = line;
    const std::string_view keyword = detail::next_token(line);
    const auto is = [&](std::string_view word) { return equal_ignoring_case(keyword, word); };
    if (keyword.empty()) continue;
    if (is("vertex")) {
      if (!in_facet || corners == 3) lines.fail("has a vertex that belongs to no facet, or a fourth one");
      Vec3 p;
      for (int k = 0; k < 3; ++k) {
        const std::string_view token = detail::next_token(line);
        if (token.empty()) lines.fail("has a vertex with fewer than three coordinates");
        if (!detail::parse_real(token, p[k]))
          lines.fail("is not a coordinate", token, detail::finite_range());
      }
      if (mesh.x.size() >= detail::most_items) lines.fail("has too many vertices");
      mesh.x.push_back(p);
      ++corners;
    } else if (is("facet")) {
      if (!in_solid || in_facet) lines.fail("begins a facet out of place");
      in_facet = true;
      corners = 0;
    } else if (is("endfacet")) {
      if (!in_facet || corners != 3) lines.fail("ends a facet without three vertices");
      const auto end = static_cast<Index>(mesh.x.size());
      mesh.triangles.emplace_back(end - 3, end - 2, end - 1);
      in_facet = false;
    } else if (is("solid")) {
      if (in_solid) lines.fail("begins a solid inside another");
      in_solid = true;
    } else if (is("endsolid")) {
      if (!in_solid || in_facet) lines.fail("ends a solid out of place");
      in_solid = false;
    } else if (!is("outer") && !is("endloop")) {
      lines.fail("is not a line of an ASCII STL file", whole,
                 "solid, facet, outer loop, vertex, endloop, endfacet, endsolid");
    }
  }
  if (in_solid) lines.fail("is cut off: endsolid is missing");
  if (mesh.triangles.empty()) refuse(name, "has no triangles");
  return mesh;
}

}  // namespace

TriangleMesh parse_stl(std::string_view bytes, std::string_view name) {
  // Some binary files begin with "solid" too; the size that their count implies gives them away.
  const bool size_fits =
      bytes.size() >= prefix_bytes &&
      bytes.size() == prefix_bytes + triangle_bytes * std::size_t{little_u32(bytes.data() + header_bytes)};
  std::string_view text = bytes;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  while (!text.empty() && (detail::is_blank(text[0]) || text[0] == '\r' || text[0] == '\n'))
    text.remove_prefix(1);
  // So does a zero byte, which the count and the numbers of a file that is cut off hold, and no text.
  const bool has_zero = text.substr(0, prefix_bytes + triangle_bytes).find('\0') != std::string_view::npos;
  const bool is_ascii = !size_fits && !has_zero && equal_ignoring_case(text.substr(0, 5), "solid");
  TriangleMesh mesh = is_ascii ? parse_ascii(bytes, name) : parse_binary(bytes, name);
  // Every triangle brought its own corners; join those at the same place, and drop no triangle.
  const std::vector<Index> to = weld_map(mesh.x, 0);
  std::vector<Index> number(mesh.x.size());
  std::size_t kept = 0;
  for (std::size_t v = 0; v < mesh.x.size(); ++v) {
    if (to[v] == static_cast<Index>(v)) {
      number[v] = static_cast<Index>(kept);
      mesh.x[kept++] = mesh.x[v];
    } else {
      number[v] = number[to[v]];
    }
  }
  mesh.x.resize(kept, Vec3::Zero());
  mesh.x.shrink_to_fit();
  for (Index3& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) t[k] = number[t[k]];
  return mesh;
}

}  // namespace plenum::inline PLENUM_ABI
