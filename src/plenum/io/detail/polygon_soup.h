#pragma once
// Vertices and polygons as a file lists them, on their way to a triangle mesh.
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/geometry/mesh.h"
#include "plenum/geometry/polygon.h"

namespace plenum::inline PLENUM_ABI::detail {

constexpr std::size_t most_items = std::size_t(std::numeric_limits<Index>::max());

/// Faces may name vertices that come later in the file, so they are checked and cut once all are known.
class PolygonSoup {
 public:
  std::vector<Vec3> x;

  /// Adds a corner, a 0-based vertex number, to the polygon being built.
  void add_corner(std::int64_t vertex) { corners_.push_back(vertex); }
  std::size_t open_corners() const { return corners_.size() - (ends_.empty() ? 0 : ends_.back().end); }
  /// Ends the polygon. `where` is its line, or its number for formats without lines.
  void end_polygon(int where) { ends_.push_back({corners_.size(), where}); }
  void reserve(std::size_t polygons, std::size_t corners) {
    ends_.reserve(polygons);
    corners_.reserve(corners);
  }

  /// Throws Error for corners without a vertex and for a soup without triangles. first_index: what the format
  /// calls the first vertex, for messages; by_line: `where` are lines.
  TriangleMesh to_mesh(std::string_view name, std::int64_t first_index, bool by_line) {
    const auto refuse = [&](int where, const std::string& what, const std::string& value,
                            const std::string& allowed) {
      return Error(Problem{.file = std::string(name),
                           .line = by_line ? where : 0,
                           .what = by_line ? what : fmt::format("face {} {}", where, what),
                           .value = value,
                           .allowed = allowed});
    };
    TriangleMesh mesh;
    if (x.empty()) throw Error(Problem{.file = std::string(name), .what = "has no vertices"});
    if (ends_.empty()) throw Error(Problem{.file = std::string(name), .what = "has no faces"});
    mesh.triangles.reserve(corners_.size() - 2 * ends_.size());
    PolygonTriangulator triangulator;
    std::vector<Vec3> places;
    std::size_t begin = 0;
    for (const End& polygon : ends_) {
      const std::size_t count = polygon.end - begin;
      for (std::size_t i = begin; i < polygon.end; ++i)
        if (corners_[i] < 0 || std::uint64_t(corners_[i]) >= x.size())
          throw refuse(polygon.where, "names a vertex that is not there",
                       fmt::format("{}", corners_[i] + first_index),
                       fmt::format("{} to {}", first_index, std::int64_t(x.size()) - 1 + first_index));
      const auto vertex = [&](Index i) { return static_cast<Index>(corners_[begin + std::size_t(i)]); };
      if (count == 3) {
        mesh.triangles.emplace_back(vertex(0), vertex(1), vertex(2));
      } else {
        places.clear();
        for (std::size_t i = begin; i < polygon.end; ++i) places.push_back(x[std::size_t(corners_[i])]);
        const auto triangles = triangulator.triangulate(places);
        if (triangles.empty())
          throw refuse(polygon.where, "is too intricate a polygon to cut into triangles",
                       fmt::format("{} corners", count), "");
        for (const Index3& t : triangles)
          mesh.triangles.emplace_back(vertex(t[0]), vertex(t[1]), vertex(t[2]));
      }
      begin = polygon.end;
    }
    mesh.x = std::move(x);
    return mesh;
  }

 private:
  struct End {
    std::size_t end;
    int where;
  };
  std::vector<std::int64_t> corners_;
  std::vector<End> ends_;
};

}  // namespace plenum::inline PLENUM_ABI::detail
