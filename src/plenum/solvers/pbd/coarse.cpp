// Coarse levels of cloth: the hierarchy of its patches, and their projection.
#include "plenum/solvers/pbd/detail/coarse.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::HatAxis;
using detail::Place;

// Of 100 x 100 particles this is where the cloth over a ball, the one over a rod and the one held at corners
// stretch least at equal cost, of 2 to 6 cells and one to four sweeps.
constexpr double points_per_patch = 3;  ///< along each axis
constexpr std::size_t rows_per_block = 8;

/// A place as one vector.
typedef Real Four __attribute__((vector_size(4 * sizeof(Real))));
Four load_four(const Place& place) {
  Four out;
  std::memcpy(&out, &place, sizeof out);
  return out;
}
void store_four(Place& place, const Four& of) {
  std::memcpy(static_cast<void*>(&place), &of, sizeof of);
}

/// How a row of points hangs on coarser ones.
struct RowHats {
  HatAxis axis;
  std::vector<double> mass;       ///< [coarse], of a cell of particles
  std::vector<double> mean;       ///< [coarse] cells from the first particle to the mean
  std::vector<Index> begin, end;  ///< [coarse] particles that are in the mean
};

/// A row of particles, each its own mean; those at the ends have half a cell.
RowHats particles_of_row(Index n) {
  RowHats out;
  for (Index k = 0; k < n; ++k) {
    out.mass.push_back(k == 0 || k + 1 == n ? 0.5 : 1), out.mean.push_back(k);
    out.begin.push_back(k), out.end.push_back(k + 1);
  }
  return out;
}

RowHats hats_over(const RowHats& fine) {
  const std::size_t n = fine.mass.size();
  const auto cells = std::max<std::size_t>(1, std::size_t(std::lround(double(n - 1) / points_per_patch)));
  RowHats out;
  HatAxis& a = out.axis;
  for (std::size_t k = 0; k < n; ++k) {
    const double at = double(k) * double(cells) / double(n - 1);
    const std::size_t lower = std::min(cells - 1, std::size_t(at));
    a.lower.push_back(Index(lower)), a.part.push_back(Real(at - double(lower)));
  }
  a.first.assign(1, 0);
  for (std::size_t c = 0; c <= cells; ++c) {
    const auto share = [&](std::size_t k) {
      const auto lower = std::size_t(a.lower[k]);
      return lower == c ? 1 - double(a.part[k]) : lower + 1 == c ? double(a.part[k]) : 0;
    };
    std::size_t first = 0, last = n;
    while (!(share(first) > 0)) ++first;
    while (!(share(last - 1) > 0)) --last;
    double mass = 0, mean = 0;
    for (std::size_t k = first; k < last; ++k)
      mass += share(k) * fine.mass[k], mean += share(k) * fine.mass[k] * fine.mean[k];
    for (std::size_t k = first; k < last; ++k) a.weight.push_back(Real(share(k) * fine.mass[k] / mass));
    a.from.push_back(Index(first)), a.first.push_back(Index(a.weight.size()));
    out.mass.push_back(mass), out.mean.push_back(mean / mass);
    out.begin.push_back(fine.begin[first]), out.end.push_back(fine.end[last - 1]);
  }
  return out;
}

/// What is whole of cloth on a grid, and whether its diagonals keep their lengths.
class GridEdges {
 public:
  GridEdges(const Pbd::Model& model, const Pbd::Part& part) : nx_(part.cells_x + 1) {
    const Index nz = part.cells_z + 1, first = part.first_particle, count = nx_ * nz;
    // How many edges particles lack along their row and column.
    std::vector<Index> missing(std::size_t(count), 0);
    for (Index k = 0; k < count; ++k)
      missing[std::size_t(k)] = Index(k % nx_ + 1 < nx_) + Index(k / nx_ + 1 < nz);
    for (std::size_t e = 0; e < model.edges.size(); ++e) {
      const Index a = std::min(model.edges[e][0], model.edges[e][1]) - first,
                  b = std::max(model.edges[e][0], model.edges[e][1]) - first;
      if (a < 0 || b >= count) continue;
      if (b == a + nx_ || (b == a + 1 && b % nx_ > 0))
        --missing[std::size_t(a)];
      else
        keeps_diagonals_ = keeps_diagonals_ && !(model.stretch_compliance[e] > 0);
    }
    for (const Index from : model.torn_from)
      if (from >= first && from < first + count) missing[std::size_t(from - first)] = 1;
    // Those that do in each rectangle from the first one.
    torn_.assign(std::size_t((nx_ + 1) * (nz + 1)), 0);
    for (Index j = 0; j < nz; ++j)
      for (Index i = 0; i < nx_; ++i)
        torn_[at(i + 1, j + 1)] = torn_[at(i, j + 1)] + torn_[at(i + 1, j)] - torn_[at(i, j)] +
                                  Index(missing[std::size_t(j * nx_ + i)] > 0);
  }
  bool keeps_diagonals() const { return keeps_diagonals_; }
  bool is_whole(Index i0, Index j0, Index i1, Index j1) const {
    return torn_[at(i1, j1)] - torn_[at(i0, j1)] - torn_[at(i1, j0)] + torn_[at(i0, j0)] == 0;
  }

 private:
  std::size_t at(Index i, Index j) const { return std::size_t(j * (nx_ + 1) + i); }
  Index nx_;
  std::vector<Index> torn_;
  bool keeps_diagonals_ = true;
};

/// Pairs of neighbouring patches that are whole.
struct PatchPairs {
  std::vector<Index2> patches;
  std::vector<Real> length;  ///< [m] apart in flat cloth
};

PatchPairs patch_pairs(const RowHats& x, const RowHats& z, const GridEdges& edges, double hx, double hz) {
  PatchPairs out;
  const std::size_t mx = x.mass.size(), mz = z.mass.size();
  const auto add = [&](std::size_t i0, std::size_t j0, std::size_t i1, std::size_t j1) {
    const auto [low, high] = std::minmax(i0, i1);
    if (!edges.is_whole(x.begin[low], z.begin[j0], x.end[high], z.end[j1])) return;
    out.patches.push_back(Index2(Index(j0 * mx + i0), Index(j1 * mx + i1)));
    out.length.push_back(Real(std::hypot(hx * (x.mean[i1] - x.mean[i0]), hz * (z.mean[j1] - z.mean[j0]))));
  };
  for (std::size_t j = 0; j < mz; ++j)
    for (std::size_t i = 0; i < mx; ++i) {
      if (i + 1 < mx) add(i, j, i + 1, j);
      if (j + 1 < mz) add(i, j, i, j + 1);
      if (!edges.keeps_diagonals() || i + 1 == mx || j + 1 == mz) continue;
      add(i, j, i + 1, j + 1), add(i + 1, j, i, j + 1);
    }
  return out;
}

}  // namespace

void PbdCoarse::lay_out(const Pbd::Model& model, int levels) {
  grids_.clear(), levels_ = levels;
  for (const Pbd::Part& part : model.parts) {
    if (part.cells_x < 1 || part.cells_z < 1 || levels < 1) continue;
    const Index nx = part.cells_x + 1, nz = part.cells_z + 1;
    if (model.rest_position.size() < std::size_t(part.first_particle + nx * nz)) continue;
    const GridEdges edges(model, part);
    Grid grid;
    grid.first = part.first_particle, grid.gives = part.gives;
    RowHats x = particles_of_row(nx), z = particles_of_row(nz);
    // Of the particles at the corners of cells as they were before anything tore.
    const Pbd::Model& whole = model.whole ? *model.whole : model;
    double mass = 0;
    for (Index k = 0; k < nx * nz; ++k) mass += double(whole.mass[std::size_t(part.first_particle + k)]);
    const double of_cell = mass / (double(part.cells_x) * double(part.cells_z));
    for (const double mz : z.mass)
      for (const double mx : x.mass) grid.mass.push_back(Real(of_cell * mx * mz));
    const Vec3 origin = model.rest_position[std::size_t(part.first_particle)];
    const double hx = double((model.rest_position[std::size_t(part.first_particle + 1)] - origin).norm()),
                 hz = double((model.rest_position[std::size_t(part.first_particle + nx)] - origin).norm());
    while (Index(grid.levels.size()) < levels && std::max(x.mass.size(), z.mass.size()) > 3) {
      x = hats_over(x), z = hats_over(z);
      Level& level = grid.levels.emplace_back();
      level.x = x.axis, level.z = z.axis;
      const std::size_t mx = x.mass.size(), count = mx * z.mass.size();
      level.places.resize(count), level.ways.resize(count);
      level.rows.resize(mx * std::size_t(level.z.num_points()));
      for (std::size_t k = 0; k < count; ++k)
        level.ways[k].inverse_mass = Real(1 / (of_cell * x.mass[k % mx] * z.mass[k / mx]));
      const PatchPairs pairs = patch_pairs(x, z, edges, hx, hz);
      const std::vector<std::uint8_t> still(count, 0);
      level.constraints.lay_out(
          pairs.patches.empty() ? std::span<const Index>()
                                : std::span(pairs.patches[0].data(), 2 * pairs.patches.size()),
          still, {}, [&](auto& pack, int lane, std::size_t c) { pack.length[lane] = pairs.length[c]; });
    }
    if (!grid.levels.empty() && !grid.levels[0].constraints.empty()) grids_.push_back(std::move(grid));
  }
}

/// How far patches have gone: first means along rows, then of these along columns.
void PbdCoarse::restrict(const Place* from, Level& level) {
  const auto nx = std::size_t(level.x.num_points()), nz = std::size_t(level.z.num_points());
  const auto mx = std::size_t(level.x.num_coarse()), mz = std::size_t(level.z.num_coarse());
  // The weighted sum of the points of a mean; its fourth number means nothing.
  const auto mean = [](const HatAxis& axis, std::size_t c, const Place* at, std::size_t stride, Place& out) {
    Four sum{};
    at += std::size_t(axis.from[c]) * stride;
    for (Index k = axis.first[c]; k < axis.first[c + 1]; ++k, at += stride)
      sum += axis.weight[std::size_t(k)] * load_four(*at);
    store_four(out, sum);
  };
  parallel_for(nz, rows_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t i = 0; i < mx; ++i) mean(level.x, i, from + j * nx, 1, level.rows[j * mx + i]);
  });
  parallel_for(mz, rows_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t i = 0; i < mx; ++i) mean(level.z, j, &level.rows[i], mx, level.places[j * mx + i]);
  });
}

/// Adds the ways of patches to those of the points between them; `mass` of particles, whose inverse masses
/// say how much of it they have: none of what is held. Null: to finer patches.
void PbdCoarse::spread(Level& level, const Real* mass, Place* to) {
  const auto nx = std::size_t(level.x.num_points()), nz = std::size_t(level.z.num_points());
  const auto mx = std::size_t(level.x.num_coarse());
  constexpr Four moved = {1, 1, 1, 0};
  parallel_for(nz, rows_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const Place* const low = &level.ways[std::size_t(level.z.lower[j]) * mx];
      Place* const row = &level.rows[j * mx];
      const Real v = level.z.part[j];
      for (std::size_t i = 0; i < mx; ++i)
        store_four(row[i], moved * ((1 - v) * load_four(low[i]) + v * load_four(low[mx + i])));
      for (std::size_t i = 0; i < nx; ++i) {
        const Place* const a = row + level.x.lower[i];
        const Real u = level.x.part[i];
        Place& p = to[j * nx + i];
        const Real scale = mass ? mass[j * nx + i] * p.inverse_mass : Real(1);
        store_four(p, load_four(p) + scale * ((1 - u) * load_four(a[0]) + u * load_four(a[1])));
      }
    }
  });
}

void PbdCoarse::begin(std::span<const Place> places) {
  for (Grid& grid : grids_) {
    const Place* from = &places[std::size_t(grid.first)];
    for (Level& level : grid.levels) {
      restrict(from, level);
      const Place* const at = level.places.data();
      level.constraints.begin(at);
      from = at;
    }
  }
}

void PbdCoarse::project(std::span<Place> places, const detail::Projection& how) {
  for (Grid& grid : grids_) {
    if (grid.gives && !(how.strain_limit > 0)) continue;
    const Real reach = grid.gives ? 1 + how.strain_limit : Real(1);
    Place* const particles = &places[std::size_t(grid.first)];
    const Place* from = particles;
    for (Level& level : grid.levels) {
      restrict(from, level);
      const Place* const at = level.places.data();
      level.constraints.each([&](detail::PatchPack& pack) { pack.aim(at, reach); });
      for (Place& way : level.ways) way.x[0] = way.x[1] = way.x[2] = 0;
      from = at;
    }
    for (std::size_t l = grid.levels.size(); l-- > 0;) {
      Level& level = grid.levels[l];
      level.constraints.sweep(level.ways.data(), how);
      if (l > 0)
        spread(level, nullptr, grid.levels[l - 1].ways.data());
      else
        spread(level, grid.mass.data(), particles);
    }
  }
}

}  // namespace plenum::inline PLENUM_ABI
