// The making of the operator of grid_poisson.h.
#include <algorithm>
#include <numeric>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/linear/detail/grid_assembly.h"
#include "plenum/linear/detail/grid_rows.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace detail {

bool can_coarsen(const RowLayout& layout) {
  return *std::max_element(layout.cells.begin(), layout.cells.end()) > 1;
}

RowLayout coarser_layout(const RowLayout& layout) {
  std::array<Index, 3> cells;
  for (std::size_t c = 0; c < 3; ++c) cells[c] = (layout.cells[c] + 1) / 2;
  return RowLayout(cells, layout.periodic);
}

}  // namespace detail

namespace {

constexpr std::size_t record_size = GridPoisson::fields * lanes;
constexpr std::size_t to_other = to_open + 1;  // fields that a row is filled with

/// Coefficients of a row, field by field, whole chunks, in memory of a plane.
struct RowFields {
  std::array<Real*, to_other> f;
  Real *near, *blend;
  RowFields(AlignedVector<Real>& memory, std::size_t items) {
    memory.assign((to_other + 2) * items + 2 * lanes, 0);
    for (std::size_t k = 0; k < to_other; ++k) f[k] = memory.data() + k * items;
    near = memory.data() + to_other * items;
    blend = near + items;
  }
  Real diagonal(std::size_t i) const {
    Real sum = 0;
    for (const Real* field : f) sum += field[i];
    return sum;
  }
};

/// Records that every operator has: no unknown, all open, wall at low x, at high x, at both.
constexpr std::uint32_t shared = 5;

/// Coefficients `scale` everywhere, but at walls.
void write_uniform(Real* w, std::uint32_t kind, int dimensions, Real scale, bool coarsens) {
  for (std::size_t l = 0; l < lanes; ++l) {
    const bool low = (kind == 2 || kind == 4) && l == 0, high = (kind == 3 || kind == 4) && l == lanes - 1;
    Real sum = 0;
    for (std::size_t f = to_xm; f <= to_open; ++f) {
      const bool none = kind == 0 || f == to_open || (f == to_xm && low) || (f == to_xp && high) ||
                        (dimensions == 2 && (f == to_zm || f == to_zp));
      sum += w[f * lanes + l] = none ? Real(0) : scale;
    }
    w[inverse * lanes + l] = sum > 0 ? 1 / sum : Real(0);
    w[spread * lanes + l] = kind == 0 ? Real(0) : coarsens && (low || high) ? Real(1) / Real(0.75) : Real(1);
  }
}

/// The operator whose rows fill(j, k, fields) tells; `scale` is the coefficient of an open face.
template <class Fill>
void assemble(GridPoisson& a, const RowLayout& layout, int dimensions, Real scale, PoissonScratch& scratch,
              Fill&& fill_row) {
  a.layout = layout;
  a.dimensions = dimensions;
  const std::size_t chunks = layout.chunks(), items = chunks * lanes;
  const auto nx = static_cast<std::size_t>(layout.cells[0]), nz = static_cast<std::size_t>(layout.cells[2]);
  const bool coarsens = can_coarsen(layout);

  // Which cells of the next coarser grid have an unknown: any of its eight (four) does.
  const RowLayout coarse = coarser_layout(layout);
  std::vector<Real>& coarse_mask = scratch.coarse_mask;
  coarse_mask.assign(coarsens ? coarse.size() : 0, 0);
  if (scratch.planes.size() < nz) scratch.planes.resize(nz);
  std::vector<PoissonScratch::Plane>& planes = scratch.planes;
  if (coarsens)
    parallel_for(static_cast<std::size_t>(coarse.cells[2]), 1, [&](std::size_t begin, std::size_t end) {
      RowFields row(planes[begin].fields, items);
      for (std::size_t kk = begin; kk < end; ++kk)
        for (Index k = 2 * static_cast<Index>(kk);
             k < std::min<Index>(2 * static_cast<Index>(kk) + 2, layout.cells[2]); ++k)
          for (Index j = 0; j < layout.cells[1]; ++j) {
            fill_row(j, k, row);
            Real* mask = coarse_mask.data() + coarse.row(j / 2, static_cast<Index>(kk));
            for (std::size_t i = 0; i < nx; ++i)
              if (row.diagonal(i) > 0) mask[i / 2] = 1;
          }
    });
  if (coarsens) fill_row_ghosts(coarse, std::span<Real>(coarse_mask));

  a.coefficients.assign(shared * record_size, 0);
  for (std::uint32_t kind = 0; kind < shared; ++kind)
    write_uniform(a.coefficients.data() + kind * record_size, kind, dimensions, scale, coarsens);

  parallel_for(nz, 1, [&](std::size_t begin, std::size_t end) {
    RowFields row(planes[begin].fields, items);
    std::array<Real, record_size> now;
    for (std::size_t k = begin; k < end; ++k) {
      PoissonScratch::Plane& plane = planes[k];
      plane.records.clear();
      plane.record.clear();
      if (scratch.changes) {
        plane.records.reserve(static_cast<std::size_t>(layout.cells[1]) * chunks * record_size);
        plane.record.reserve(static_cast<std::size_t>(layout.cells[1]) * chunks);
      }
      for (Index j = 0; j < layout.cells[1]; ++j) {
        fill_row(j, static_cast<Index>(k), row);
        if (coarsens) {
          const auto plane_index = static_cast<Index>(k);
          Real* blend = row.blend + lanes;
          if (dimensions == 2)
            interpolate_row<2>(coarse, coarse_mask.data(), j, plane_index, blend, row.near, chunks);
          else
            interpolate_row<3>(coarse, coarse_mask.data(), j, plane_index, blend, row.near, chunks);
        }
        for (std::size_t c = 0; c < chunks; ++c) {
          for (std::size_t l = 0; l < lanes; ++l) {
            const std::size_t i = c * lanes + l;
            for (std::size_t f = to_xm; f <= to_open; ++f) now[f * lanes + l] = row.f[f][i];
            // In pairs: a sum that mirror images do not change.
            const auto pair = [&](std::size_t f) { return row.f[f][i] + row.f[f + 1][i]; };
            const Real sum = pair(to_xm) + pair(to_ym) + pair(to_zm) + row.f[to_open][i];
            now[inverse * lanes + l] = sum > 0 ? 1 / sum : Real(0);
            const Real near = coarsens ? row.near[i] : Real(1);
            now[spread * lanes + l] = sum > 0 && near > 0 ? 1 / near : Real(0);
          }
          const auto is = [&](const Real* w) { return std::memcmp(w, now.data(), sizeof now) == 0; };
          std::uint32_t found = shared;
          for (std::uint32_t kind = 0; kind < shared && found == shared; ++kind)
            if (is(a.coefficients.data() + kind * record_size)) found = kind;
          if (found == shared) {
            const std::size_t last = plane.records.size() / record_size;
            if (last == 0 || !is(plane.records.data() + (last - 1) * record_size)) {
              plane.records.insert(plane.records.end(), now.begin(), now.end());
              found = static_cast<std::uint32_t>(shared + last);
            } else {
              found = static_cast<std::uint32_t>(shared + last - 1);
            }
          }
          plane.record.push_back(found);
        }
      }
    }
  });
  std::size_t total = shared;
  for (std::size_t k = 0; k < nz; ++k) total += planes[k].records.size() / record_size;
  a.coefficients.reserve((scratch.changes ? shared + layout.rows() * chunks : total) * record_size);
  a.record.clear();
  a.record.reserve(layout.rows() * chunks);
  for (std::size_t k = 0; k < nz; ++k) {
    const PoissonScratch::Plane& plane = planes[k];
    const auto before = static_cast<std::uint32_t>(a.coefficients.size() / record_size) - shared;
    for (const std::uint32_t r : plane.record) a.record.push_back(r < shared ? r : r + before);
    a.coefficients.insert(a.coefficients.end(), plane.records.begin(), plane.records.end());
  }
}

void check_sides(const PressureSides& sides, int dimensions) {
  static constexpr const char* axes[] = {"x", "y", "z"};
  for (int c = 0; c < dimensions; ++c) {
    const auto low = static_cast<std::size_t>(2 * c);
    if ((sides[low] == PressureSide::periodic) != (sides[low + 1] == PressureSide::periodic))
      throw Error(Problem{.key = axes[c],
                          .what = "only one of its two sides is periodic",
                          .remedy = "make both periodic, or neither"});
  }
}

}  // namespace

GridPoisson grid_poisson(const GridShape& shape, const PressureSides& sides, const FaceFractions& faces) {
  const int dimensions = shape.dimensions();
  check_sides(sides, dimensions);
  std::array<bool, 3> wraps = {};
  for (std::size_t c = 0; c < static_cast<std::size_t>(dimensions); ++c)
    wraps[c] = sides[2 * c] == PressureSide::periodic;
  const RowLayout layout(shape.cells, wraps);
  const std::array<std::span<const Real>, 3> fractions = {faces.x, faces.y, faces.z};

  GridPoisson a;
  PoissonScratch scratch;
  assemble(a, layout, dimensions, 1, scratch, [&](Index j, Index k, RowFields& row) {
    const auto nx = static_cast<std::size_t>(layout.cells[0]);
    std::fill_n(row.f[to_open], nx, Real(0));
    for (int axis = 0; axis < 3; ++axis) {
      const auto c = static_cast<std::size_t>(axis);
      for (std::size_t upper = 0; upper < 2; ++upper) {
        Real* out = row.f[2 * c + upper];
        if (axis >= dimensions || (layout.cells[c] == 1 && wraps[c])) continue;  // it stays zero
        const std::span<const Real> f = fractions[c];
        // The face beyond the last cell of a periodic axis is the first one.
        const auto fraction = [&](Index i, Index jj, Index kk) {
          return f.empty() ? Real(1) : f[shape.index(i, jj, kk)];
        };
        const Index last = layout.cells[c] - 1;
        if (axis == 0) {
          for (std::size_t i = 0; i < nx; ++i) {
            const Index face = static_cast<Index>(i + upper);
            out[i] = fraction(wraps[0] && face > last ? 0 : face, j, k);
          }
          const std::size_t end = upper ? nx - 1 : 0;
          const PressureSide side = sides[upper];
          if (side == PressureSide::open) row.f[to_open][end] += 2 * out[end];
          if (side != PressureSide::periodic) out[end] = 0;
          continue;
        }
        const Index at = axis == 1 ? j : k, face = at + static_cast<Index>(upper);
        const PressureSide side = sides[2 * c + upper];
        const bool outer = at == (upper ? last : 0);
        const Index used = wraps[c] && face > last ? 0 : face;
        for (std::size_t i = 0; i < nx; ++i)
          out[i] = fraction(static_cast<Index>(i), axis == 1 ? used : j, axis == 1 ? k : used);
        if (outer && side == PressureSide::open)
          for (std::size_t i = 0; i < nx; ++i) row.f[to_open][i] += 2 * out[i];
        if (outer && side != PressureSide::periodic) std::fill_n(out, nx, Real(0));
      }
    }
  });
  find_regions(a, scratch);
  return a;
}

void make_poisson(GridPoisson& a, const std::array<Index, 3>& cells, const std::array<bool, 3>& periodic,
                  int dimensions, Real scale, FillPoissonRow fill, PoissonScratch& scratch) {
  assemble(a, RowLayout(cells, periodic), dimensions, scale, scratch,
           [&](Index j, Index k, RowFields& row) { fill(j, k, PoissonRow{row.f}); });
  find_regions(a, scratch);
}

GridPoisson coarser_poisson(const GridPoisson& fine) {
  GridPoisson coarse;
  PoissonScratch scratch;
  make_coarser_poisson(coarse, fine, scratch);
  return coarse;
}

void make_coarser_poisson(GridPoisson& coarse, const GridPoisson& fine, PoissonScratch& scratch) {
  const RowLayout layout = coarser_layout(fine.layout);
  const int dimensions = fine.dimensions;
  // Of four (two) faces the mean, by the square of the ratio of the cells' sizes.
  const Real share = dimensions == 3 ? Real(1) / 16 : Real(1) / 8;
  const Real scale = fine.coefficients[record_size + to_yp * lanes] / 4;
  assemble(coarse, layout, dimensions, scale, scratch, [&](Index j, Index k, RowFields& row) {
    const auto nx = static_cast<std::size_t>(layout.cells[0]);
    for (Real* field : row.f) std::fill_n(field, nx, Real(0));
    for (Index kk = 2 * k; kk < std::min<Index>(2 * k + 2, fine.layout.cells[2]); ++kk)
      for (Index jj = 2 * j; jj < std::min<Index>(2 * j + 2, fine.layout.cells[1]); ++jj) {
        const RowRecords records = records_of(fine, jj, kk);
        const auto fine_nx = static_cast<std::size_t>(fine.layout.cells[0]);
        for (std::size_t i = 0; i < fine_nx; ++i) {
          if (i % lanes == 0 && records.is_empty(i / lanes)) {
            i += lanes - 1;
            continue;
          }
          const Real* w = records[i / lanes] + i % lanes;
          if (!(w[inverse * lanes] > 0)) continue;
          const auto add = [&](std::size_t field) { row.f[field][i / 2] += share * w[field * lanes]; };
          if (i % 2 == 0) add(to_xm);
          if (i % 2 == 1 || i + 1 == fine_nx) add(to_xp);
          if (jj % 2 == 0) add(to_ym);
          if (jj % 2 == 1 || jj + 1 == fine.layout.cells[1]) add(to_yp);
          if (dimensions == 3) {
            if (kk % 2 == 0) add(to_zm);
            if (kk % 2 == 1 || kk + 1 == fine.layout.cells[2]) add(to_zp);
          }
          add(to_open);
        }
      }
    // An axis with a single cell leads to itself.
    for (std::size_t c = 0; c < 3; ++c)
      if (layout.cells[c] == 1 && fine.layout.periodic[c])
        for (std::size_t f : {2 * c, 2 * c + 1}) std::fill_n(row.f[f], nx, Real(0));
  });
}

namespace detail {

void find_regions(GridPoisson& a, PoissonScratch& scratch) {
  const RowLayout& layout = a.layout;
  const auto nx = static_cast<std::size_t>(layout.cells[0]);
  if (scratch.changes) {
    const std::size_t most = layout.rows() * ((nx + 1) / 2);
    a.runs.reserve(most), a.closed_cells.reserve(most);
    scratch.parent.reserve(most), scratch.number.reserve(most), scratch.open.reserve(most);
  }
  std::vector<std::uint32_t>& first = scratch.first;  // runs of each row
  first.resize(layout.rows() + 1);
  std::vector<std::uint8_t>& open = scratch.open;  // [runs] at an open side
  open.clear();
  a.runs.clear();
  std::vector<Index>& parent = scratch.parent;
  parent.clear();
  const auto root = [&](Index r) {
    while (parent[static_cast<std::size_t>(r)] != r)
      r = parent[static_cast<std::size_t>(r)] =
          parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(r)])];
    return r;
  };
  const auto join = [&](std::size_t p, std::size_t q) {
    const Index x = root(static_cast<Index>(p)), y = root(static_cast<Index>(q));
    parent[static_cast<std::size_t>(std::max(x, y))] = std::min(x, y);
  };
  for (std::size_t r = 0; r < layout.rows(); ++r) {
    const auto j = static_cast<Index>(r % static_cast<std::size_t>(layout.cells[1])),
               k = static_cast<Index>(r / static_cast<std::size_t>(layout.cells[1]));
    const std::size_t base = layout.row(j, k);
    const RowRecords records = records_of(a, j, k);
    first[r] = static_cast<std::uint32_t>(a.runs.size());
    bool going = false;
    for (std::size_t c = 0; c < layout.chunks(); ++c) {
      const std::size_t end = std::min(nx, (c + 1) * lanes);
      if (going && records.is_open(c)) continue;
      if (records.is_empty(c)) {
        if (going) a.runs.back().end = static_cast<std::uint32_t>(base + c * lanes);
        going = false;
        continue;
      }
      const Real* w = records[c];
      for (std::size_t i = c * lanes; i < end; ++i) {
        const std::size_t l = i % lanes;
        const auto here = static_cast<std::uint32_t>(base + i);
        const bool unknown = w[inverse * lanes + l] > 0;
        if (going && (!unknown || !(w[to_xm * lanes + l] > 0))) {
          a.runs.back().end = here;
          going = false;
        }
        if (unknown && !going) {
          a.runs.push_back({here, here, 0});
          parent.push_back(static_cast<Index>(a.runs.size() - 1));
          open.push_back(0);
          going = true;
        }
        if (unknown && w[to_open * lanes + l] > 0) open.back() = 1;
      }
    }
    if (going) a.runs.back().end = static_cast<std::uint32_t>(base + nx);
  }
  first[layout.rows()] = static_cast<std::uint32_t>(a.runs.size());
  // Runs of two rows that touch through a face along `field`.
  const auto join_rows = [&](Index j, Index k, Index to_j, Index to_k, GridField field) {
    const auto number = [&](Index jj, Index kk) {
      return static_cast<std::size_t>(jj) +
             static_cast<std::size_t>(layout.cells[1]) * static_cast<std::size_t>(kk);
    };
    const RowRecords records = records_of(a, j, k);
    const auto base = static_cast<std::uint32_t>(layout.row(j, k)),
               other = static_cast<std::uint32_t>(layout.row(to_j, to_k));
    std::uint32_t p = first[number(j, k)], q = first[number(to_j, to_k)];
    const std::uint32_t p_end = first[number(j, k) + 1], q_end = first[number(to_j, to_k) + 1];
    while (p < p_end && q < q_end) {
      const std::uint32_t low = std::max(a.runs[p].begin - base, a.runs[q].begin - other),
                          high = std::min(a.runs[p].end - base, a.runs[q].end - other);
      for (std::uint32_t i = low; i < high; ++i)
        if (records[i / lanes][field * lanes + i % lanes] > 0) {
          join(p, q);
          break;
        }
      if (a.runs[p].end - base < a.runs[q].end - other)
        ++p;
      else
        ++q;
    }
  };
  for (Index k = 0; k < layout.cells[2]; ++k)
    for (Index j = 0; j < layout.cells[1]; ++j) {
      join_rows(j, k, neighbour(j, -1, layout.cells[1], layout.periodic[1]), k, to_ym);
      if (a.dimensions == 3) join_rows(j, k, j, neighbour(k, -1, layout.cells[2], layout.periodic[2]), to_zm);
      const std::size_t r = static_cast<std::size_t>(j) +
                            static_cast<std::size_t>(layout.cells[1]) * static_cast<std::size_t>(k);
      if (layout.periodic[0] && first[r + 1] > first[r] && a.coefficient(0, j, k, to_xm) > 0)
        join(first[r], first[r + 1] - 1);
    }
  // Regions are numbered in the order of their first runs.
  a.closed_cells.clear();
  std::vector<Index>& number = scratch.number;
  number.assign(a.runs.size(), -1);
  for (std::size_t q = 0; q < a.runs.size(); ++q) {
    const auto r = static_cast<std::size_t>(root(static_cast<Index>(q)));
    if (number[r] < 0) {
      number[r] = static_cast<Index>(a.closed_cells.size());
      a.closed_cells.push_back(0);
    }
    a.runs[q].region = number[r];
    a.closed_cells[static_cast<std::size_t>(number[r])] +=
        static_cast<Index>(a.runs[q].end - a.runs[q].begin);
  }
  for (std::size_t q = 0; q < a.runs.size(); ++q)
    if (open[q]) a.closed_cells[static_cast<std::size_t>(a.runs[q].region)] = 0;
}

}  // namespace detail

}  // namespace plenum::inline PLENUM_ABI
