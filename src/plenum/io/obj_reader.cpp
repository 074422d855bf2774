// Wavefront OBJ. Source: "Object files (.obj)", Appendix B1 of the Advanced Visualizer manual. A reader of
// our own, because every count and index is checked with its line, which tinyobjloader 2.0 does not offer.
#include "plenum/io/detail/polygon_soup.h"
#include "plenum/io/detail/text_reader.h"
#include "plenum/io/mesh_reader.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::LineReader;
using detail::next_token;
using detail::PolygonSoup;

void read_vertex(LineReader& lines, std::string_view line, PolygonSoup& soup) {
  Vec3 p;
  for (int k = 0; k < 3; ++k) {
    const std::string_view token = next_token(line);
    if (token.empty()) lines.fail("has a vertex with fewer than three coordinates");
    if (!detail::parse_real(token, p[k])) lines.fail("is not a coordinate", token, detail::finite_range());
  }
  // A weight or a colour may follow; neither moves the vertex, but both must be numbers.
  for (std::string_view token = next_token(line); !token.empty(); token = next_token(line)) {
    Real ignored;
    if (!detail::parse_real(token, ignored)) lines.fail("is not a number", token, detail::finite_range());
  }
  if (soup.x.size() >= detail::most_items) lines.fail("has too many vertices");
  soup.x.push_back(p);
}

void read_face(LineReader& lines, std::string_view line, PolygonSoup& soup) {
  for (std::string_view token = next_token(line); !token.empty(); token = next_token(line)) {
    // v, v/vt, v//vn or v/vt/vn
    const std::string_view corner = token;
    std::int64_t vertex = 0;
    std::size_t slash = token.find('/');
    if (!detail::parse_integer(token.substr(0, slash), vertex)) lines.fail("is not a vertex number", corner);
    int part = 0;
    while (slash != std::string_view::npos) {
      token.remove_prefix(slash + 1);
      slash = token.find('/');
      std::int64_t ignored;
      const std::string_view number = token.substr(0, slash);
      const bool may_be_empty = part == 0 && slash != std::string_view::npos;
      if (++part > 2 || !(detail::parse_integer(number, ignored) || (number.empty() && may_be_empty)))
        lines.fail("is not a corner of a face", corner, "v, v/vt, v//vn or v/vt/vn");
    }
    if (vertex == 0) lines.fail("names vertex 0, but OBJ counts from 1", corner);
    if (vertex < 0 && std::uint64_t(-(vertex + 1)) >= soup.x.size())
      lines.fail("names a vertex before the first", corner, fmt::format("-{} to -1", soup.x.size()));
    soup.add_corner(vertex > 0 ? vertex - 1 : std::int64_t(soup.x.size()) + vertex);
  }
  if (soup.open_corners() < 3)
    lines.fail("has a face with fewer than three corners", fmt::format("{}", soup.open_corners()));
  soup.end_polygon(lines.number());
}

}  // namespace

TriangleMesh parse_obj(std::string_view bytes, std::string_view name) {
  PolygonSoup soup;
  LineReader lines(bytes, name);
  std::string_view line;
  std::string joined;
  while (lines.next(line)) {
    if (!line.empty() && line.back() == '\\') {
      joined.assign(line.substr(0, line.size() - 1));
      std::string_view more;
      while (lines.next(more)) {
        const bool goes_on = !more.empty() && more.back() == '\\';
        joined.append(" ").append(goes_on ? more.substr(0, more.size() - 1) : more);
        if (!goes_on) break;
      }
      line = joined;
    }
    line = line.substr(0, line.find('#'));
    const std::string_view keyword = next_token(line);
    if (keyword == "v")
      read_vertex(lines, line, soup);
    else if (keyword == "f")
      read_face(lines, line, soup);
  }
  return soup.to_mesh(name, 1, true);
}

}  // namespace plenum::inline PLENUM_ABI
