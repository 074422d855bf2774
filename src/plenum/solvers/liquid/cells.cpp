// A liquid as fields at the centres of cells, for other programs.
#include <algorithm>
#include <cmath>

#include "plenum/solvers/liquid/detail/level_set.h"
#include "plenum/solvers/liquid/detail/seam.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

/// Boxes of no more cells are written whole.
constexpr std::size_t small_box = 64 * 64 * 64;
/// Cells around the liquid that are written too: behind the first the fullness has no more items.
constexpr Index margin = 2;

/// The cells to write: all, or those around particles. There is always one, and a second along each axis of
/// three dimensions, so that what is cut out of them has as many.
CellWindow window_of(const Liquid::Model& m, const Liquid::State& s) {
  CellWindow all{.high = m.shape.cells};
  if (m.shape.num_cells() <= small_box) return all;
  CellWindow found{.low = m.shape.cells, .high = {0, 0, 0}};
  std::array<Index, 3> cell;
  const auto take = [&] {
    for (std::size_t a = 0; a < 3; ++a) {
      found.low[a] = std::min(found.low[a], cell[a]);
      found.high[a] = std::max(found.high[a], cell[a] + 1);
    }
  };
  for (const Vec3& x : s.x)
    if (find_cell(m, x, cell)) take();
  if (m.has_level_set())
    for (cell[2] = 0; cell[2] < m.shape.cells[2]; ++cell[2])
      for (cell[1] = 0; cell[1] < m.shape.cells[1]; ++cell[1])
        for (cell[0] = 0; cell[0] < m.shape.cells[0]; ++cell[0])
          if (s.phi[m.shape.index(cell[0], cell[1], cell[2])] < m.h / 2) take();
  if (found.is_empty()) found = {.low = {0, 0, 0}, .high = {1, 1, 1}};
  for (std::size_t a = 0; a < 3; ++a) {
    found.low[a] = std::max(found.low[a] - margin, Index{0});
    found.high[a] = std::min(found.high[a] + margin, m.shape.cells[a]);
    // What goes on behind a seam is there too.
    if (m.is_periodic(a) && (found.low[a] == 0 || found.high[a] == m.shape.cells[a]))
      found.low[a] = 0, found.high[a] = m.shape.cells[a];
  }
  return found;
}

/// Velocities at cell centres: means over the particles around, weighted by hat functions, each with its
/// gradient if it has one (Jiang, Schroeder, Selle, Teran & Stomakhin 2015, "The affine particle-in-cell
/// method"; without, Harlow 1964). Of a level
/// set, those of the faces. None around: zero. `low`: [m] of the grid.
std::vector<Vec3> velocities(const Liquid::Model& m, const Liquid::State& s, const GridShape& shape,
                             const Vec3& low) {
  if (m.has_level_set()) {
    std::vector<Vec3> velocity(shape.size(), Vec3::Zero());
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i) {
          const Vec3 x = low + m.h * Vec3(static_cast<Real>(i) + Real(0.5), static_cast<Real>(j) + Real(0.5),
                                          static_cast<Real>(k) + Real(0.5));
          std::array<Index, 3> cell;
          if (find_cell(m, x, cell) && s.phi[m.shape.index(cell[0], cell[1], cell[2])] < m.h / 2)
            velocity[shape.index(i, j, k)] = velocity_at(m, s, x);
        }
    return velocity;
  }
  // Of three components and the weight.
  std::array<std::vector<Real>, 4> given;
  for (std::vector<Real>& of : given) of.assign(shape.size(), 0);
  const int dimensions = shape.dimensions();
  const bool has_gradients = s.du.size() == s.x.size();
  std::array<Index, 3> cell;
  for (std::size_t p = 0; p < s.x.size(); ++p) {
    if (!find_cell(m, s.x[p], cell)) continue;
    std::array<Index, 3> first = {};
    Vec3 part = Vec3::Zero();
    for (int c = 0; c < dimensions; ++c) {
      const Real place = (s.x[p][c] - low[c]) / m.h - Real(0.5), below = std::floor(place);
      first[static_cast<std::size_t>(c)] = static_cast<Index>(below), part[c] = place - below;
    }
    const std::size_t at = shape.index(first[0], first[1], first[2]);
    for (int corner = 0; corner < 1 << dimensions; ++corner) {
      Real w = 1;
      std::ptrdiff_t to = 0;
      Vec3 way = Vec3::Zero();
      for (int c = 0; c < dimensions; ++c) {
        const bool up = (corner >> c & 1) != 0;
        w *= up ? part[c] : 1 - part[c];
        way[c] = m.h * ((up ? 1 : 0) - part[c]);
        to += up ? shape.stride(c) : 0;
      }
      const std::size_t item = at + static_cast<std::size_t>(to);
      Vec3 v = s.v[p];
      if (has_gradients) v += Vec3(s.du[p].dot(way), s.dv[p].dot(way), s.dw[p].dot(way));
      for (std::size_t c = 0; c < 3; ++c) given[c][item] += w * v[static_cast<Index>(c)];
      given[3][item] += w;
    }
  }
  std::array<bool, 3> wraps = periodic_axes(m);
  for (std::size_t a = 0; a < 3; ++a) wraps[a] = wraps[a] && shape.cells[a] == m.shape.cells[a];
  const ItemBox all = grown(shape, CellWindow{.high = shape.cells}, 1, 1);
  for (std::vector<Real>& of : given) fold_items<1>(shape, wraps, all, of.data());
  std::vector<Vec3> velocity(shape.size(), Vec3::Zero());
  for (std::size_t i = 0; i < velocity.size(); ++i)
    if (given[3][i] > 0) velocity[i] = Vec3(given[0][i], given[1][i], given[2][i]) / given[3][i];
  return velocity;
}

}  // namespace

CellFields Liquid::cells(const Model& m, const State& s) {
  const CellWindow window = window_of(m, s);
  CellFields out{.shape = {}, .low = m.low, .spacing = m.h, .scalars = {}, .vectors = {}};
  for (int c = 0; c < 3; ++c) {
    const auto a = static_cast<std::size_t>(c);
    out.shape.cells[a] = window.high[a] - window.low[a];
    out.low[c] += m.h * static_cast<Real>(window.low[a]);
  }
  std::vector<Real> full;
  fullness(m, s, full);
  std::vector<Real> part(out.shape.size(), 0), pressure(out.shape.size(), 0);
  for (Index k = 0; k < out.shape.cells[2]; ++k)
    for (Index j = 0; j < out.shape.cells[1]; ++j)
      for (Index i = 0; i < out.shape.cells[0]; ++i) {
        const std::size_t from = m.shape.index(window.low[0] + i, window.low[1] + j, window.low[2] + k);
        part[out.shape.index(i, j, k)] = full[from];
        pressure[out.shape.index(i, j, k)] = s.pressure[from];
      }
  out.scalars.push_back({"fullness", std::move(part)});
  out.scalars.push_back({"pressure", std::move(pressure)});
  out.vectors.push_back({"velocity", velocities(m, s, out.shape, out.low)});
  return out;
}

}  // namespace plenum::inline PLENUM_ABI
