#include "plenum/linear/box_poisson.h"

#include <algorithm>

#include "plenum/base/parallel.h"
#include "plenum/linear/detail/grid_rows.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

/// Loops are cut into so many parts at most, each with scratch memory of its own.
constexpr std::size_t most_parts = 64;

/// Lanes and items exchanged: each of log2(lanes) perfect shuffles moves one bit from one number to the
/// other (Stone 1971, "Parallel processing with the perfect shuffle").
[[gnu::always_inline]] inline void transpose_square(Wide (&r)[lanes]) {
  for (std::size_t bits = 1; bits < lanes; bits *= 2) {
    Wide s[lanes];
    for (std::size_t l = 0; l < lanes / 2; ++l) {
      s[2 * l] = interleave<0>(r[l], r[l + lanes / 2]);
      s[2 * l + 1] = interleave<wide / 2>(r[l], r[l + lanes / 2]);
    }
    for (std::size_t l = 0; l < lanes; ++l) r[l] = s[l];
  }
}

struct Scratch {
  Lines lines, other;
  Scratch(Real* memory, std::size_t longest) {
    Wide* w = reinterpret_cast<Wide*>(memory);
    lines = {w, w + longest}, other = {w + 2 * longest, w + 3 * longest};
  }
};

}  // namespace

std::optional<UniformBox> find_uniform_box(const GridPoisson& a) {
  const std::array<Index, 3>& n = a.layout.cells;
  std::size_t cells = 0;
  for (const GridPoisson::Run& run : a.runs) cells += run.end - run.begin;
  if (cells == 0 || cells != static_cast<std::size_t>(n[0]) * static_cast<std::size_t>(n[1]) *
                                 static_cast<std::size_t>(n[2]))
    return {};
  UniformBox box;
  const std::array<Index, 3> last = {n[0] - 1, n[1] - 1, n[2] - 1};
  for (std::size_t c = 0; c < 3; ++c) {
    if (static_cast<int>(c) < a.dimensions && n[c] < 2) return {};
    if (!a.layout.periodic[c]) continue;
    box.sides[2 * c] = box.sides[2 * c + 1] = PressureSide::periodic;
    box.has_periodic_axis = true;
  }
  const Real w = a.coefficient(0, 0, 0, to_xp);
  if (!(w > 0)) return {};
  box.coefficient = w;
  const auto open_at = [&](const std::array<Index, 3>& at) {
    return a.coefficient(at[0], at[1], at[2], to_open);
  };
  // What cells at corners hold is the sum of what their sides do: all ways of opening sides are tried.
  // Corners rule out most of them, and every cell the rest.
  for (int sides = 0; sides < 64; ++sides) {
    bool sensible = true;
    for (std::size_t c = 0; c < 3; ++c) {
      const bool opens = (sides >> (2 * c) & 3) != 0;
      if (opens && (a.layout.periodic[c] || static_cast<int>(c) >= a.dimensions)) sensible = false;
    }
    if (!sensible) continue;
    const auto expected = [&](const std::array<Index, 3>& at) {
      Real sum = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        if (at[c] == 0 && (sides >> (2 * c) & 1)) sum += 2 * w;
        if (at[c] == last[c] && (sides >> (2 * c + 1) & 1)) sum += 2 * w;
      }
      return sum;
    };
    bool fits = true;
    for (int corner = 0; corner < 8 && fits; ++corner) {
      std::array<Index, 3> at = {};
      for (std::size_t c = 0; c < 3; ++c) at[c] = corner >> c & 1 ? last[c] : 0;
      fits = open_at(at) == expected(at);
    }
    for (Index k = 0; k < n[2] && fits; ++k)
      for (Index j = 0; j < n[1] && fits; ++j)
        for (Index i = 0; i < n[0] && fits; ++i) {
          const std::array<Index, 3> at = {i, j, k};
          fits = open_at(at) == expected(at);
          for (std::size_t c = 0; c < 3 && fits; ++c) {
            const bool wraps = a.layout.periodic[c];
            const Real low = at[c] > 0 || wraps ? w : Real(0), high = at[c] < last[c] || wraps ? w : Real(0);
            fits =
                a.coefficient(i, j, k, to_xm + 2 * c) == low && a.coefficient(i, j, k, to_xp + 2 * c) == high;
          }
        }
    if (!fits) continue;
    for (std::size_t s = 0; s < 6; ++s)
      if (sides >> s & 1) box.sides[s] = PressureSide::open;
    return box;
  }
  return {};
}

BoxPoisson::BoxPoisson(const GridPoisson& a, const UniformBox& box)
    : layout_(a.layout), dimensions_(a.dimensions) {
  double scale = 1 / static_cast<double>(box.coefficient);
  for (std::size_t c = 0; c < static_cast<std::size_t>(dimensions_); ++c) {
    const auto n = static_cast<std::size_t>(layout_.cells[c]);
    const PressureSide low = box.sides[2 * c], high = box.sides[2 * c + 1];
    const bool open_low = low == PressureSide::open, open_high = high == PressureSide::open;
    const LineBasis basis = low == PressureSide::periodic ? LineBasis::fourier
                            : open_low && open_high       ? LineBasis::sine
                            : open_low || open_high       ? LineBasis::quarter
                                                          : LineBasis::cosine;
    along_[c] = LineTransform(n, basis, open_low);
    scale *= along_[c].scale();
    for (const std::size_t factor : fourier_factors(n)) largest_factor_ = std::max(largest_factor_, factor);
    longest_ = std::max(longest_, (n + lanes - 1) / lanes * lanes);
  }
  scale_ = scale;
  eigenvalues_x_ = along_[0].eigenvalues();
  eigenvalues_x_.resize(layout_.chunks() * lanes, 1);
  scratch_.assign(most_parts * 4 * longest_ * lanes, 0);
}

/// f(item, scratch) for items 0 to n, in parallel.
template <class F>
void BoxPoisson::for_items(std::size_t n, F&& f) {
  const std::size_t parts = std::min(n, most_parts);
  parallel_for(parts, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t part = first; part < last; ++part)
      for (std::size_t item = part * n / parts; item < (part + 1) * n / parts; ++item)
        f(item, scratch_.data() + part * 4 * longest_ * lanes);
  });
}

/// Rows begin to end, a vector's lanes of them twice at a time.
void BoxPoisson::transform_rows(std::span<const Real> from, std::span<Real> to, std::size_t begin,
                                std::size_t end, bool forward, Real* memory) const {
  const auto n = static_cast<std::size_t>(layout_.cells[0]);
  const Real* in = from.data() + lanes;
  Real* out = to.data() + lanes;
  for (std::size_t row = begin; row < end; row += 2 * lanes) {
    Scratch s(memory, longest_);
    for (std::size_t half = 0; half < 2; ++half) {
      Wide* line = half == 0 ? s.lines.re : s.lines.im;
      for (std::size_t c = 0; c < layout_.chunks(); ++c) {
        Wide square[lanes] = {};
        for (std::size_t l = 0; l < lanes; ++l)
          if (const std::size_t r = row + half * lanes + l; r < end)
            square[l] = load_wide(in + layout_.pitch * r + c * lanes);
        transpose_square(square);
        for (std::size_t l = 0; l < lanes; ++l) line[c * lanes + l] = square[l];
      }
    }
    if (forward)
      along_[0].forward(s.lines, s.other);
    else
      along_[0].inverse(s.lines, s.other);
    for (std::size_t half = 0; half < 2; ++half) {
      Wide* line = half == 0 ? s.lines.re : s.lines.im;
      for (std::size_t i = n; i < layout_.chunks() * lanes; ++i) line[i] = Wide{};
      for (std::size_t c = 0; c < layout_.chunks(); ++c) {
        Wide square[lanes];
        for (std::size_t l = 0; l < lanes; ++l) square[l] = line[c * lanes + l];
        transpose_square(square);
        for (std::size_t l = 0; l < lanes; ++l)
          if (const std::size_t r = row + half * lanes + l; r < end)
            store_wide(out + layout_.pitch * r + c * lanes, square[l]);
      }
    }
  }
}

/// Lines across rows, of two vectors of cells beside each other.
struct BoxPoisson::Columns {
  enum class Task { forward, inverse, solve };
  Task task;
  std::size_t axis;
  std::size_t first, stride;  ///< items
  std::size_t chunk;          ///< first of the two
  Real eigenvalue;            ///< of the axis that is neither x nor this one, for Task::solve
};

void BoxPoisson::transform_columns(std::span<Real> x, const Columns& columns, Real* memory) const {
  const LineTransform& transform = along_[columns.axis];
  const auto n = static_cast<std::size_t>(layout_.cells[columns.axis]);
  Scratch s(memory, longest_);
  Real* at = x.data() + columns.first + columns.chunk * lanes;
  const bool both = columns.chunk + 1 < layout_.chunks();
  for (std::size_t j = 0; j < n; ++j) {
    s.lines.re[j] = load_wide(at + j * columns.stride);
    s.lines.im[j] = both ? load_wide(at + j * columns.stride + lanes) : Wide{};
  }
  if (columns.task != Columns::Task::inverse) transform.forward(s.lines, s.other);
  if (columns.task == Columns::Task::solve) {
    // The constant, whose eigenvalue is zero, becomes zero.
    const Real* ex = eigenvalues_x_.data() + columns.chunk * lanes;
    const Wide a = load_wide(ex), b = both ? load_wide(ex + lanes) : Wide{};
    const Wide scale = fill(static_cast<Real>(scale_));
    for (std::size_t j = 0; j < n; ++j) {
      const Wide others = fill(columns.eigenvalue + transform.eigenvalues()[j]);
      s.lines.re[j] *= scale * inverse_or_zero(a + others);
      s.lines.im[j] *= scale * inverse_or_zero(b + others);
    }
  }
  if (columns.task != Columns::Task::forward) transform.inverse(s.lines, s.other);
  for (std::size_t j = 0; j < n; ++j) {
    store_wide(at + j * columns.stride, s.lines.re[j]);
    if (both) store_wide(at + j * columns.stride + lanes, s.lines.im[j]);
  }
}

void BoxPoisson::solve(std::span<const Real> r, std::span<Real> z) {
  using Task = Columns::Task;
  const auto ny = static_cast<std::size_t>(layout_.cells[1]), nz = static_cast<std::size_t>(layout_.cells[2]);
  const std::size_t pairs = (layout_.chunks() + 1) / 2, batch = 2 * lanes;
  if (dimensions_ == 2) {
    const auto rows = [&](std::span<const Real> from, bool forward) {
      for_items((ny + batch - 1) / batch, [&](std::size_t q, Real* memory) {
        transform_rows(from, z, q * batch, std::min(ny, (q + 1) * batch), forward, memory);
      });
    };
    rows(r, true);
    for_items(pairs, [&](std::size_t q, Real* memory) {
      transform_columns(z, {Task::solve, 1, lanes, layout_.pitch, 2 * q, 0}, memory);
    });
    rows(z, false);
    return;
  }
  // Plane by plane along x and y, so that a plane is taken from memory once.
  const auto plane_columns = [&](std::size_t k, Task task, Real* memory) {
    for (std::size_t q = 0; q < pairs; ++q)
      transform_columns(z, {task, 1, lanes + layout_.pitch * ny * k, layout_.pitch, 2 * q, 0}, memory);
  };
  for_items(nz, [&](std::size_t k, Real* memory) {
    transform_rows(r, z, k * ny, (k + 1) * ny, true, memory);
    plane_columns(k, Task::forward, memory);
  });
  for_items(ny * pairs, [&](std::size_t item, Real* memory) {
    const std::size_t j = item / pairs;
    transform_columns(z,
                      {Task::solve, 2, lanes + layout_.pitch * j, layout_.pitch * ny, 2 * (item % pairs),
                       along_[1].eigenvalues()[j]},
                      memory);
  });
  for_items(nz, [&](std::size_t k, Real* memory) {
    plane_columns(k, Task::inverse, memory);
    transform_rows(z, z, k * ny, (k + 1) * ny, false, memory);
  });
}

}  // namespace plenum::inline PLENUM_ABI
