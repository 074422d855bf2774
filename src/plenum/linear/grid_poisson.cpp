#include "plenum/linear/grid_poisson.h"

#include <algorithm>
#include <numeric>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/linear/detail/grid_assembly.h"
#include "plenum/linear/detail/grid_rows.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

std::size_t rounded_up(std::size_t n) {
  return (n + lanes - 1) / lanes * lanes;
}

/// Rows that a thread takes at a time.
std::size_t block_of(const RowLayout& layout) {
  return std::max<std::size_t>(1, 8192 / static_cast<std::size_t>(layout.cells[0]));
}

/// f(j, k) for rows begin to end, in order.
template <class F>
void for_rows(const RowLayout& layout, std::size_t begin, std::size_t end, F&& f) {
  const auto ny = static_cast<std::size_t>(layout.cells[1]);
  for (std::size_t r = begin; r < end; ++r) f(static_cast<Index>(r % ny), static_cast<Index>(r / ny));
}

template <class T>
void fill_all_ghosts(const RowLayout& layout, std::span<T> x) {
  parallel_for(layout.rows(), block_of(layout), [&](std::size_t begin, std::size_t end) {
    for_rows(layout, begin, end, [&](Index j, Index k) {
      fill_ghosts(x.data() + layout.row(j, k), static_cast<std::size_t>(layout.cells[0]), layout.periodic[0]);
    });
  });
}

/// Calls f.template operator()<D>() for the dimension of the operator.
template <class F>
decltype(auto) by_dimension(const GridPoisson& a, F&& f) {
  return a.dimensions == 2 ? f.template operator()<2>() : f.template operator()<3>();
}

}  // namespace

RowLayout::RowLayout(const std::array<Index, 3>& size, const std::array<bool, 3>& wraps) : cells(size) {
  for (std::size_t c = 0; c < 3; ++c) periodic[c] = wraps[c] && size[c] > 1;
  pitch = rounded_up(static_cast<std::size_t>(size[0])) + lanes;
}
std::size_t RowLayout::chunks() const {
  return (static_cast<std::size_t>(cells[0]) + lanes - 1) / lanes;
}
std::size_t RowLayout::size() const {
  return lanes + pitch * rows();
}
std::size_t RowLayout::row(Index j, Index k) const {
  return lanes + pitch * (static_cast<std::size_t>(j) +
                          static_cast<std::size_t>(cells[1]) * static_cast<std::size_t>(k));
}

std::span<const Real> GridPoisson::at(std::size_t row, std::size_t chunk) const {
  return {coefficients.data() + record[row * layout.chunks() + chunk] * (fields * lanes), fields * lanes};
}
Real GridPoisson::coefficient(Index i, Index j, Index k, std::size_t field) const {
  const auto x = static_cast<std::size_t>(i);
  return records_of(*this, j, k)[x / lanes][field * lanes + x % lanes];
}
Real GridPoisson::diagonal(Index i, Index j, Index k) const {
  Real sum = 0;
  for (std::size_t f = to_xm; f <= to_open; ++f) sum += coefficient(i, j, k, f);
  return sum;
}
std::size_t GridPoisson::num_unknowns() const {
  std::size_t n = 0;
  for (const Run& run : runs) n += run.end - run.begin;
  return n;
}

void fill_row_ghosts(const RowLayout& layout, std::span<Real> x) {
  fill_all_ghosts(layout, x);
}
#ifndef PLENUM_DOUBLE
void fill_row_ghosts(const RowLayout& layout, std::span<double> x) {
  fill_all_ghosts(layout, x);
}
#endif

void apply(const GridPoisson& a, std::span<const Real> x, std::span<Real> y) {
  by_dimension(a, [&]<int D>() {
    parallel_for(a.layout.rows(), block_of(a.layout), [&](std::size_t begin, std::size_t end) {
      for_rows(a.layout, begin, end, [&](Index j, Index k) {
        const RowRecords records = records_of(a, j, k);
        const Rows<Real> rows = rows_around(a.layout, x.data(), j, k);
        Real* out = y.data() + a.layout.row(j, k);
        for (std::size_t c = 0; c < a.layout.chunks(); ++c)
          store_wide(out + c * lanes, product<D>(records, c, rows));
        fill_ghosts(out, static_cast<std::size_t>(a.layout.cells[0]), a.layout.periodic[0]);
      });
    });
  });
}

double energy_product(const GridPoisson& a, std::span<const Real> x) {
  return by_dimension(a, [&]<int D>() {
    return ordered_sum(a.layout.rows(), block_of(a.layout), [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for_rows(a.layout, begin, end, [&](Index j, Index k) {
        const RowRecords records = records_of(a, j, k);
        const Rows<Real> rows = rows_around(a.layout, x.data(), j, k);
        Wide row{};
        for (std::size_t c = 0; c < a.layout.chunks(); ++c)
          row += load_wide(rows.c + c * lanes) * product<D>(records, c, rows);
        sum += sum_of(row);
      });
      return sum;
    });
  });
}

double true_residual(const GridPoisson& a, std::span<const Real> b, std::span<const double> x,
                     std::span<Real> r) {
  return by_dimension(a, [&]<int D>() {
    return ordered_sum(a.layout.rows(), block_of(a.layout), [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for_rows(a.layout, begin, end, [&](Index j, Index k) {
        const RowRecords records = records_of(a, j, k);
        const Rows<double> rows = rows_around(a.layout, x.data(), j, k);
        const Real* rhs = b.data() + a.layout.row(j, k);
        Real* out = r.data() + a.layout.row(j, k);
        Wide squares{};
        for (std::size_t c = 0; c < a.layout.chunks(); ++c) {
          const std::size_t i = c * lanes;
          const WideDouble left = __builtin_convertvector(load_wide(rhs + i), WideDouble) -
                                  product_in_double<D>(records[c], rows, i);
          const Wide rounded = __builtin_convertvector(left, Wide);
          squares += rounded * rounded;
          store_wide(out + i, rounded);
        }
        sum += sum_of(squares);
      });
      return sum;
    });
  });
}

double step_and_residual(const GridPoisson& a, double alpha, std::span<const Real> p, std::span<Real> x,
                         std::span<Real> r) {
  return by_dimension(a, [&]<int D>() {
    const Wide step = fill(static_cast<Real>(alpha));
    return ordered_sum(a.layout.rows(), block_of(a.layout), [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for_rows(a.layout, begin, end, [&](Index j, Index k) {
        const RowRecords records = records_of(a, j, k);
        const Rows<Real> rows = rows_around(a.layout, p.data(), j, k);
        Real* to = x.data() + a.layout.row(j, k);
        Real* left = r.data() + a.layout.row(j, k);
        Wide squares{};
        for (std::size_t c = 0; c < a.layout.chunks(); ++c) {
          const std::size_t i = c * lanes;
          const Wide now = load_wide(left + i) - step * product<D>(records, c, rows);
          store_wide(to + i, load_wide(to + i) + step * load_wide(rows.c + i));
          store_wide(left + i, now);
          squares += now * now;
        }
        sum += sum_of(squares);
      });
      return sum;
    });
  });
}

namespace {

template <class T>
double take_means_of_closed_regions(const GridPoisson& a, std::span<T> b) {
  // Runs are sorted by row; sums go in that order, by region.
  double largest = 0;
  for (std::size_t region = 0; region < a.closed_cells.size(); ++region) {
    if (a.closed_cells[region] == 0) continue;
    const auto of_region = [&](const GridPoisson::Run& run) {
      return static_cast<std::size_t>(run.region) == region;
    };
    const double sum = ordered_sum(a.runs.size(), 64, [&](std::size_t begin, std::size_t end) {
      double part = 0;
      for (std::size_t q = begin; q < end; ++q)
        if (of_region(a.runs[q])) {
          double run = 0;
          for (std::uint32_t i = a.runs[q].begin; i < a.runs[q].end; ++i) run += static_cast<double>(b[i]);
          part += run;
        }
      return part;
    });
    const double mean = sum / a.closed_cells[region];
    largest = std::max(largest, std::abs(mean));
    const T shift = static_cast<T>(mean);
    parallel_for(a.runs.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t q = begin; q < end; ++q)
        if (of_region(a.runs[q]))
          for (std::uint32_t i = a.runs[q].begin; i < a.runs[q].end; ++i) b[i] -= shift;
    });
  }
  return largest;
}

}  // namespace

double project_closed_regions(const GridPoisson& a, std::span<Real> b) {
  return take_means_of_closed_regions(a, b);
}
void project_closed_pressures(const GridPoisson& a, std::span<double> x) {
  take_means_of_closed_regions(a, x);
}

}  // namespace plenum::inline PLENUM_ABI
