#include "plenum/integrate/grid_projection.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plenum/base/independent.h"
#include "plenum/base/parallel.h"
#include "plenum/base/unfused.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI {

using detail::load_wide, detail::max, detail::store_wide, detail::wide, detail::Wide;

namespace {

/// The first lanes only; zero in the others.
Wide load_part(const Real* p, std::size_t count) {
  if (count == wide) return load_wide(p);
  Wide a{};
  std::memcpy(&a, p, count * sizeof(Real));
  return a;
}

}  // namespace

DivergenceMeasure negative_divergence(const GridShape& shape, const FaceField& velocity,
                                      const FaceField& open, const RowLayout& layout, std::span<Real> b) {
  const auto ny = static_cast<std::size_t>(shape.cells[1]);
  const auto nx = static_cast<std::size_t>(shape.cells[0]);
  const int dimensions = shape.dimensions();
  return ordered_reduce(
      layout.rows(), std::max<std::size_t>(1, 8192 / nx), DivergenceMeasure{},
      [&](std::size_t begin, std::size_t end) {
        DivergenceMeasure part;
        for (std::size_t row = begin; row < end; ++row) {
          const auto j = static_cast<Index>(row % ny), k = static_cast<Index>(row / ny);
          Real* out = b.data() + layout.row(j, k);
          const std::size_t first = shape.index(0, j, k);
          // What a row of the solver's layout holds beyond its cells is zero, as lanes beyond the row are.
          Wide most{}, squares{};
          for (std::size_t i = 0; i < nx; i += wide) {
            const std::size_t count = std::min<std::size_t>(wide, nx - i);
            Wide sum{};
            for (int c = 0; c < dimensions; ++c) {
              const std::size_t low = first + i;
              const std::size_t high = low + static_cast<std::size_t>(shape.stride(c));
              const Wide in = load_part(&velocity[c][low], count),
                         out_of = load_part(&velocity[c][high], count);
              if (open[c].empty())
                sum += in - out_of;
              else
                sum += unfused(load_part(&open[c][low], count) * in) -
                       unfused(load_part(&open[c][high], count) * out_of);
            }
            store_wide(out + i, sum);
            most = max(max(sum, -sum), most);
            squares += sum * sum;
          }
          for (int l = 0; l < wide; ++l) {
            part.most = std::max(part.most, static_cast<double>(most[l]));
            part.squares += static_cast<double>(squares[l]);
          }
        }
        return part;
      },
      [](const DivergenceMeasure& p, const DivergenceMeasure& q) {
        return DivergenceMeasure{std::max(p.most, q.most), p.squares + q.squares};
      });
}

void subtract_gradient(const GridShape& shape, const GridBox& box, const FaceField& open,
                       const GridPoisson& a, std::span<const double> q, FaceField& velocity) {
  const RowLayout& layout = a.layout;
  for (int c = 0; c < shape.dimensions(); ++c) {
    const auto axis = static_cast<std::size_t>(c);
    const GridSide low = box.sides[2 * axis], high = box.sides[2 * axis + 1];
    std::array<Index, 3> faces = shape.cells;
    ++faces[axis];
    const auto ny = static_cast<std::size_t>(faces[1]);
    std::vector<Real>& u = velocity.along[axis];
    const std::span<const Real> f = open[c];
    const Index last = shape.cells[axis];
    parallel_for(ny * static_cast<std::size_t>(faces[2]),
                 std::max<std::size_t>(1, 8192 / static_cast<std::size_t>(faces[0])),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t row = begin; row < end; ++row) {
                     const auto j = static_cast<Index>(row % ny), k = static_cast<Index>(row / ny);
                     const std::size_t item = shape.index(0, j, k);
                     const auto subtract = [&](Index i, double below, double above, double factor) {
                       const std::size_t at = item + static_cast<std::size_t>(i);
                       if (f.empty() || f[at] > 0) u[at] -= static_cast<Real>(factor * (above - below));
                     };
                     // n faces between cells, vectors of them at a time.
                     const auto subtract_all = [&](Index i, Index n, const double* below,
                                                   const double* above) {
                       Real* to = u.data() + item + i;
                       if (f.empty()) {
                         PLENUM_INDEPENDENT
                         for (Index m = 0; m < n; ++m) to[m] -= static_cast<Real>(above[m] - below[m]);
                         return;
                       }
                       const Real* part = f.data() + item + i;
                       PLENUM_INDEPENDENT
                       for (Index m = 0; m < n; ++m) {
                         const Real change = static_cast<Real>(above[m] - below[m]);
                         to[m] -= part[m] > 0 ? change : Real(0);
                       }
                     };
                     // A face of the side: q beyond an outflow is zero at half the distance.
                     const auto on_low = [&](Index i, double inside, double other) {
                       if (low == GridSide::outflow) subtract(i, 0, inside, 2);
                       if (low == GridSide::periodic) subtract(i, other, inside, 1);
                     };
                     const auto on_high = [&](Index i, double inside, double other) {
                       if (high == GridSide::outflow) subtract(i, inside, 0, 2);
                       if (high == GridSide::periodic) subtract(i, inside, other, 1);
                     };
                     if (c == 0) {
                       const double* x = q.data() + layout.row(j, k);
                       on_low(0, x[0], x[last - 1]);
                       subtract_all(1, last - 1, x, x + 1);
                       on_high(last, x[last - 1], x[0]);
                       continue;
                     }
                     const Index at = c == 1 ? j : k;
                     const auto line = [&](Index m) {
                       return q.data() + (c == 1 ? layout.row(m, k) : layout.row(j, m));
                     };
                     if (at == 0) {
                       const double *inside = line(0), *other = line(last - 1);
                       for (Index i = 0; i < faces[0]; ++i) on_low(i, inside[i], other[i]);
                     } else if (at == last) {
                       const double *inside = line(last - 1), *other = line(0);
                       for (Index i = 0; i < faces[0]; ++i) on_high(i, inside[i], other[i]);
                     } else {
                       subtract_all(0, faces[0], line(at - 1), line(at));
                     }
                   }
                 });
  }
}

}  // namespace plenum::inline PLENUM_ABI
