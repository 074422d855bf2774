#include "plenum/state/grid.h"

#include <algorithm>

#include "plenum/base/independent.h"
#include "plenum/base/parallel.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Parallel lines of a grid: the first items of `count` of them, `step` apart.
struct Lines {
  Real* x;
  std::ptrdiff_t step;
  Index count;
};
/// Calls f(lines) for all lines along `axis`, ghosts of the other axes included, those together that are
/// neighbours in memory.
template <class F>
void for_lines(const GridShape& shape, int axis, std::span<Real> q, F&& f) {
  const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
  const Index na = shape.cells[static_cast<std::size_t>(a)] + 3,
              nb = b == 2 && shape.is_flat() ? 1 : shape.cells[static_cast<std::size_t>(b)] + 3;
  parallel_for(static_cast<std::size_t>(nb), std::max<std::size_t>(1, 4096 / static_cast<std::size_t>(na)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t m = begin; m < end; ++m)
                   f(Lines{q.data() + static_cast<std::ptrdiff_t>(m) * shape.stride(b), shape.stride(a), na});
               });
}
/// f(x) for the first item of each line; what f writes must not be read for another line.
template <class F>
[[gnu::always_inline]] inline void each_line(const Lines& lines, F&& f) {
  if (lines.step == 1) {
    PLENUM_INDEPENDENT
    for (Index p = 0; p < lines.count; ++p) f(lines.x + p);
  } else {
    for (Index p = 0; p < lines.count; ++p) f(lines.x + p * lines.step);
  }
}

/// Ghosts of a quantity that stands half-way between faces along the axis: x[m s] is that of cell m - 1.
void fill_between(const Lines& lines, std::ptrdiff_t s, Index n, GridSide low, GridSide high, Real at_low,
                  Real at_high) {
  const std::ptrdiff_t last = n * s, up = last + s, top = up + s;
  if (low == GridSide::periodic) {
    const std::ptrdiff_t second = (n > 1 ? 2 : 1) * s;
    each_line(lines, [&](Real* x) {
      x[0] = x[last];
      x[up] = x[s];
      x[top] = x[second];
    });
    return;
  }
  const auto is_given = [](GridSide side) { return side == GridSide::no_slip || side == GridSide::inflow; };
  const bool low_given = is_given(low), high_given = is_given(high);
  const std::ptrdiff_t mirrored = high == GridSide::outflow || n == 1 ? last : last - s;
  each_line(lines, [&](Real* x) {
    const Real below = x[s], inside = x[last], farther = x[mirrored];
    x[0] = low_given ? 2 * at_low - below : below;
    x[up] = high_given ? 2 * at_high - inside : inside;
    x[top] = high_given ? 2 * at_high - farther : farther;
  });
}

/// Ghosts of the component along the axis itself, which stands on the faces: x[m s] is that of face m - 1.
void fill_on_faces(const Lines& lines, std::ptrdiff_t s, Index n, GridSide low, GridSide high, Real at_low,
                   Real at_high) {
  const std::ptrdiff_t last = n * s, up = last + s, top = up + s;
  if (low == GridSide::periodic) {
    each_line(lines, [&](Real* x) {
      const Real first = x[s];
      x[0] = x[last];
      x[top] = n > 1 ? x[2 * s] : first;
      x[up] = first;
    });
    return;
  }
  const bool low_open = low == GridSide::outflow, high_open = high == GridSide::outflow;
  each_line(lines, [&](Real* x) {
    const Real first = low_open ? x[s] : at_low, end = high_open ? x[up] : at_high;
    const Real second = n > 1 ? x[2 * s] : end, before = n > 1 ? x[last] : first;
    x[s] = first;
    x[up] = end;
    x[0] = low_open ? first : 2 * first - second;
    x[top] = high_open ? end : 2 * end - before;
  });
}

/// Gives what flows in through a side its profile.
void shape_inflow(const GridShape& shape, const GridBox& box, std::size_t side, std::span<Real> u) {
  const std::size_t axis = side / 2;
  const Index n = shape.cells[axis];
  const auto c = static_cast<int>(axis);
  const std::ptrdiff_t stride = shape.stride(c), outward = side % 2 ? stride : -stride;
  const Real middle = box.velocity[side][c];
  std::array<Index, 3> low = {-1, -1, shape.is_flat() ? 0 : -1}, high = shape.cells;
  for (int a = 0; a < shape.dimensions(); ++a) ++high[static_cast<std::size_t>(a)];
  low[axis] = side % 2 ? n : 0, high[axis] = low[axis] + 1;
  for (Index k = low[2]; k < high[2]; ++k)
    for (Index j = low[1]; j < high[1]; ++j)
      for (Index i = low[0]; i < high[0]; ++i) {
        const std::array<Index, 3> item = {i, j, k};
        Real value = middle;
        for (int a = 0; a < shape.dimensions(); ++a) {
          const auto b = static_cast<std::size_t>(a);
          if (b == axis || box.sides[2 * b] == GridSide::periodic) continue;
          const Real s = (static_cast<Real>(item[b]) + Real(0.5)) / static_cast<Real>(shape.cells[b]);
          value *= 4 * s * (1 - s);
        }
        const auto at = static_cast<std::ptrdiff_t>(shape.index(i, j, k));
        u[static_cast<std::size_t>(at)] = value;
        u[static_cast<std::size_t>(at + outward)] = 2 * value - u[static_cast<std::size_t>(at - outward)];
      }
}

Real positive_triangle(Real a, Real b, Real c) {
  const int positive = (a > 0) + (b > 0) + (c > 0);
  if (positive == 0) return 0;
  if (positive == 3) return 1;
  // The corner that is alone, first.
  if ((a > 0) == (c > 0) && (a > 0) != (b > 0))
    std::swap(a, b);
  else if ((a > 0) == (b > 0))
    std::swap(a, c);
  const Real alone = a / (a - b) * (a / (a - c));
  return positive == 1 ? alone : 1 - alone;
}

}  // namespace

PressureSides GridBox::pressure_sides() const {
  PressureSides out;
  for (std::size_t s = 0; s < 6; ++s)
    out[s] = sides[s] == GridSide::outflow    ? PressureSide::open
             : sides[s] == GridSide::periodic ? PressureSide::periodic
                                              : PressureSide::closed;
  return out;
}

void fill_component_ghosts(const GridShape& shape, const GridBox& box, int component, std::span<Real> u) {
  for (int axis = 0; axis < shape.dimensions(); ++axis) {
    const auto side = static_cast<std::size_t>(2 * axis);
    const Index n = shape.cells[static_cast<std::size_t>(axis)];
    const Real low = box.velocity[side][component], high = box.velocity[side + 1][component];
    for_lines(shape, axis, u, [&](const Lines& lines) {
      const auto fill = axis == component ? fill_on_faces : fill_between;
      fill(lines, shape.stride(axis), n, box.sides[side], box.sides[side + 1], low, high);
    });
    if (axis != component) continue;
    for (const std::size_t s : {side, side + 1})
      if (box.parabolic[s] && box.sides[s] == GridSide::inflow) shape_inflow(shape, box, s, u);
  }
}

void fill_velocity_ghosts(const GridShape& shape, const GridBox& box, FaceField& velocity) {
  for (int c = 0; c < shape.dimensions(); ++c)
    fill_component_ghosts(shape, box, c, velocity.along[static_cast<std::size_t>(c)]);
}

void fill_cell_ghosts(const GridShape& shape, const GridBox& box, Real ambient, std::span<Real> q) {
  const auto of_cells = [](GridSide side) { return side == GridSide::no_slip ? GridSide::free_slip : side; };
  for (int axis = 0; axis < shape.dimensions(); ++axis) {
    const auto side = static_cast<std::size_t>(2 * axis);
    const Index n = shape.cells[static_cast<std::size_t>(axis)];
    for_lines(shape, axis, q, [&](const Lines& lines) {
      fill_between(lines, shape.stride(axis), n, of_cells(box.sides[side]), of_cells(box.sides[side + 1]),
                   ambient, ambient);
    });
  }
}

Real positive_length(Real a, Real b) {
  if (a > 0) return b > 0 ? Real(1) : a / (a - b);
  return b > 0 ? b / (b - a) : Real(0);
}

Real positive_area(Real a, Real b, Real c, Real d) {
  // Summed such that a mirror image has the same bits.
  const Real middle = ((a + c) + (b + d)) / 4;
  return ((positive_triangle(a, b, middle) + positive_triangle(c, d, middle)) +
          (positive_triangle(b, c, middle) + positive_triangle(d, a, middle))) /
         4;
}

void close_faces(const GridShape& shape, const Vec3& low, Real h, const Shape& solid, const Pose& pose,
                 FaceField& open) {
  const Index nx = shape.cells[0], ny = shape.cells[1], nz = shape.is_flat() ? 0 : shape.cells[2];
  const auto width = static_cast<std::size_t>(nx + 1);
  const auto plane = width * static_cast<std::size_t>(ny + 1);
  // Distances at the corners of cells, two planes at a time.
  std::vector<Vec3> corner(plane);
  std::vector<Real> below(plane), above(plane);
  const auto distances = [&](Index k, std::vector<Real>& out) {
    const Real z = low.z() + h * (shape.is_flat() ? Real(0.5) : static_cast<Real>(k));
    for (Index j = 0; j <= ny; ++j)
      for (Index i = 0; i <= nx; ++i)
        corner[static_cast<std::size_t>(i) + width * static_cast<std::size_t>(j)] =
            Vec3(low.x() + h * static_cast<Real>(i), low.y() + h * static_cast<Real>(j), z);
    solid.signed_distances(pose, corner, out);
  };
  const auto close = [&](int c, Index i, Index j, Index k, Real fraction) {
    Real& f = open.along[static_cast<std::size_t>(c)][shape.index(i, j, k)];
    f = std::min(f, fraction < sliver ? Real(0) : fraction);
  };
  distances(0, below);
  const auto at = [&](const std::vector<Real>& d, Index i, Index j) {
    return d[static_cast<std::size_t>(i) + width * static_cast<std::size_t>(j)];
  };
  if (shape.is_flat()) {
    for (Index j = 0; j <= ny; ++j)
      for (Index i = 0; i <= nx; ++i) {
        if (j < ny) close(0, i, j, 0, positive_length(at(below, i, j), at(below, i, j + 1)));
        if (i < nx) close(1, i, j, 0, positive_length(at(below, i, j), at(below, i + 1, j)));
      }
    return;
  }
  for (Index k = 0; k <= nz; ++k) {
    if (k < nz) distances(k + 1, above);
    for (Index j = 0; j <= ny; ++j)
      for (Index i = 0; i <= nx; ++i) {
        if (k < nz && j < ny)
          close(0, i, j, k,
                positive_area(at(below, i, j), at(below, i, j + 1), at(above, i, j + 1), at(above, i, j)));
        if (k < nz && i < nx)
          close(1, i, j, k,
                positive_area(at(below, i, j), at(below, i + 1, j), at(above, i + 1, j), at(above, i, j)));
        if (i < nx && j < ny)
          close(2, i, j, k,
                positive_area(at(below, i, j), at(below, i + 1, j), at(below, i + 1, j + 1),
                              at(below, i, j + 1)));
      }
    std::swap(below, above);
  }
}

Extrapolation find_extrapolation(const GridShape& shape, std::span<const std::uint8_t> known,
                                 const std::array<Index, 3>& items, int num_layers) {
  Extrapolation out;
  std::vector<std::uint8_t> has(known.begin(), known.end());
  std::vector<std::uint32_t> waiting;
  for (Index k = 0; k < items[2]; ++k)
    for (Index j = 0; j < items[1]; ++j)
      for (Index i = 0; i < items[0]; ++i)
        if (const std::size_t at = shape.index(i, j, k); !has[at])
          waiting.push_back(static_cast<std::uint32_t>(at));
  for (int layer = 0; layer < num_layers && !waiting.empty(); ++layer) {
    const std::size_t before = out.items.size();
    std::vector<std::uint32_t> later;
    for (const std::uint32_t at : waiting) {
      unsigned neighbours = 0;
      for (int c = 0; c < shape.dimensions(); ++c)
        for (int s = 0; s < 2; ++s) {
          const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(at) + (s ? 1 : -1) * shape.stride(c);
          if (has[static_cast<std::size_t>(to)]) neighbours |= 1u << (2 * c + s);
        }
      if (neighbours != 0)
        out.items.push_back({at, static_cast<std::uint8_t>(neighbours)});
      else
        later.push_back(at);
    }
    for (std::size_t q = before; q < out.items.size(); ++q) has[out.items[q].item] = 1;
    out.layers.push_back(static_cast<std::uint32_t>(out.items.size()));
    std::swap(waiting, later);
  }
  return out;
}

void extrapolate(const GridShape& shape, const Extrapolation& where, std::span<Real> q) {
  std::uint32_t begin = 0;
  for (const std::uint32_t end : where.layers) {
    parallel_for(end - begin, 2048, [&](std::size_t first, std::size_t last) {
      for (std::size_t m = begin + first; m < begin + last; ++m) {
        const Extrapolation::Item& item = where.items[m];
        Real sum = 0;
        int count = 0;
        for (int c = 0; c < shape.dimensions(); ++c) {
          // Opposite neighbours first, as mirror images need.
          Real pair = 0;
          for (int s = 0; s < 2; ++s)
            if (item.neighbours >> (2 * c + s) & 1) {
              const std::ptrdiff_t to =
                  static_cast<std::ptrdiff_t>(item.item) + (s ? 1 : -1) * shape.stride(c);
              pair += q[static_cast<std::size_t>(to)];
              ++count;
            }
          sum += pair;
        }
        q[item.item] = sum / static_cast<Real>(count);
      }
    });
    begin = end;
  }
}

}  // namespace plenum::inline PLENUM_ABI
