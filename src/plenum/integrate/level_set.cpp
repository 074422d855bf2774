#include "plenum/integrate/level_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {
namespace {

Real smaller_of_one_sign(Real a, Real b) {  // minmod
  return a * b <= 0 ? Real(0) : std::abs(a) < std::abs(b) ? a : b;
}

constexpr std::size_t items_a_block = 1024;
constexpr Real at_rest = Real(1e-4);  // of a cell, that the distance may still change in a step

/// One axis of a node: how far its neighbours are, and what is known beyond them.
struct Line {
  std::ptrdiff_t stride;
  Index at, count;  // of the node, of nodes

  /// Second difference at the node `offset` farther; none at ghosts, beyond which all goes straight on.
  Real second(const Real* p, int offset) const {
    const Index i = at + offset;
    if (i < 0 || i >= count) return 0;
    const Real* q = p + offset * stride;
    return q[-stride] - 2 * q[0] + q[stride];
  }
};

/// Share of the way from a node to its neighbour `side` (-1 or 1) at which phi0 is zero, if it changes sign
/// there: of the parabola through them whose curvature is the smaller of both nodes'.
Real way_to_zero(const Line& line, const Real* phi0, int side) {
  const Real a = phi0[0], b = phi0[side * line.stride];
  const Real curved = smaller_of_one_sign(line.second(phi0, 0), line.second(phi0, side));
  Real share = a / (a - b);
  if (std::abs(curved) > Real(1e-6) * std::abs(a - b)) {
    const Real half = curved / 2, linear = b - a - half;
    // half s^2 + linear s + a = 0, its root in [0, 1], in the form that does not cancel.
    const Real root = std::sqrt(std::max(linear * linear - 4 * half * a, Real(0)));
    share = 2 * a / (-linear + (a > 0 ? root : -root));
  }
  return std::clamp(share, Real(1e-3), Real(1));
}

/// d phi / d tau of a node, and the longest step that keeps it stable.
struct Rate {
  Real value, step;
};
template <int D>
Rate rate_of(const GridShape& shape, Real h, const Real* phi0, const Real* phi, const Index (&at)[3]) {
  const Real sign = phi0[0] > 0 ? Real(1) : Real(-1);
  Real sum = 0, least = 1;
  for (int axis = 0; axis < D; ++axis) {
    const Line line{shape.stride(axis), at[axis], shape.cells[static_cast<std::size_t>(axis)]};
    const Real here = line.second(phi, 0);
    const auto slope = [&](int side) {  // towards the neighbour, times h
      const Real curved = smaller_of_one_sign(here, line.second(phi, side)) / 2;
      const Real other = phi0[side * line.stride];
      if (phi0[0] * other < 0) {
        const Real s = way_to_zero(line, phi0, side);
        least = std::min(least, s);
        return -phi[0] / s - s * curved;
      }
      return phi[side * line.stride] - phi[0] - curved;
    };
    const Real forward = slope(1), backward = -slope(-1);
    // Godunov: of what comes from the side of the surface.
    const Real a = std::max(sign * backward, Real(0)), b = std::min(sign * forward, Real(0));
    sum += std::max(a * a, b * b);
  }
  return {-sign * (std::sqrt(sum) / h - 1), Real(0.9) / D * h * least};
}

/// A distance is the smallest of those around it nowhere but beside the surface. This holds what a step may
/// make of values that were far from a distance, so that it cannot make a surface where there is none.
template <int D>
Real least_of(const GridShape& shape, const Real* phi0, const Real* phi) {
  Real least = std::numeric_limits<Real>::max();
  for (int axis = 0; axis < D; ++axis)
    for (const std::ptrdiff_t to : {-shape.stride(axis), shape.stride(axis)}) {
      if (phi0[0] * phi0[to] <= 0) return 0;
      least = std::min(least, std::abs(phi[to]));
    }
  return least;
}

template <int D>
void march(const GridShape& shape, Real h, int num_steps, Beyond beyond, std::span<Real> phi,
           RedistanceWorkspace& work) {
  const auto sy = static_cast<std::size_t>(shape.stride(1)), sz = static_cast<std::size_t>(shape.stride(2));
  const auto each = [&](auto&& f) {
    parallel_for(work.band.size(), items_a_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t m = begin; m < end; ++m) {
        const std::size_t item = work.band[m];
        const Index at[3] = {static_cast<Index>(item % sy) - 1,
                             static_cast<Index>((D == 3 ? item % sz : item) / sy) - 1,
                             D == 3 ? static_cast<Index>(item / sz) - 1 : 0};
        f(item, at);
      }
    });
  };
  const Real* start = work.start.data();
  Real *stage = work.stage.data(), *next = work.next.data();
  for (int step = 0; step < num_steps; ++step) {
    // Both stages of Heun's method step by the first one's length.
    each([&](std::size_t item, const Index(&at)[3]) {
      if (start[item] == 0) {
        stage[item] = 0;
        return;
      }
      const Rate r = rate_of<D>(shape, h, start + item, phi.data() + item, at);
      stage[item] = phi[item] + r.step * r.value;
    });
    extend(shape, beyond, work.stage);
    each([&](std::size_t item, const Index(&at)[3]) {
      if (start[item] == 0) {
        next[item] = 0;
        return;
      }
      const Rate r = rate_of<D>(shape, h, start + item, stage + item, at);
      const Real to = (phi[item] + stage[item] + r.step * r.value) / 2;
      next[item] = start[item] > 0 ? std::max(to, least_of<D>(shape, start + item, phi.data() + item))
                                   : std::min(to, -least_of<D>(shape, start + item, phi.data() + item));
    });
    const Real change = ordered_reduce(
        work.band.size(), items_a_block, Real(0),
        [&](std::size_t begin, std::size_t end) {
          Real most = 0;
          for (std::size_t m = begin; m < end; ++m) {
            const std::size_t item = work.band[m];
            // The surface stays between the same nodes.
            const Real to = start[item] > 0 ? std::max(next[item], Real(0)) : std::min(next[item], Real(0));
            most = std::max(most, std::abs(to - phi[item]));
            phi[item] = to;
          }
          return most;
        },
        [](Real a, Real b) { return std::max(a, b); });
    extend(shape, beyond, phi);
    if (change < at_rest * h) break;
  }
}

}  // namespace

void extend(const GridShape& shape, Beyond beyond, std::span<Real> phi) {
  for (int axis = 0; axis < shape.dimensions(); ++axis) {
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    const std::ptrdiff_t s = shape.stride(axis);
    const Index n = shape.cells[static_cast<std::size_t>(axis)];
    const Index na = shape.cells[static_cast<std::size_t>(a)] + 3,
                nb = b == 2 && shape.is_flat() ? 1 : shape.cells[static_cast<std::size_t>(b)] + 3;
    parallel_for(static_cast<std::size_t>(nb), 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t m = begin; m < end; ++m)
        for (Index l = 0; l < na; ++l) {
          Real* x = phi.data() + static_cast<std::ptrdiff_t>(m) * shape.stride(b) + l * shape.stride(a);
          if (beyond == Beyond::mirrored) {
            x[0] = x[s];
            x[(n + 1) * s] = x[n * s];
            x[(n + 2) * s] = x[std::max(n - 1, Index{1}) * s];
            continue;
          }
          const Real first = n > 1 ? x[s] - x[2 * s] : Real(0),
                     last = n > 1 ? x[n * s] - x[(n - 1) * s] : Real(0);
          x[0] = x[s] + first;
          x[(n + 1) * s] = x[n * s] + last;
          x[(n + 2) * s] = x[n * s] + 2 * last;
        }
    });
  }
}

void redistance(const GridShape& shape, Real h, Real band, std::span<Real> phi, RedistanceWorkspace& work,
                int most_steps, Beyond beyond) {
  for (std::vector<Real>* v : {&work.start, &work.stage, &work.next}) v->resize(shape.size());
  extend(shape, beyond, phi);
  // Who is near the surface: those that steps along axes reach from nodes beside it; across, they take
  // sqrt(D) times as many.
  const int D = shape.dimensions();
  const int layers = static_cast<int>(std::ceil(band / h * std::sqrt(static_cast<Real>(D)))) + 1;
  std::vector<std::uint32_t>& found = work.band;
  found.clear();
  std::fill(work.stage.begin(), work.stage.end(), Real(0));
  const auto each_cell = [&](auto&& f) {
    for (Index k = 0; k < shape.cells[2]; ++k)
      for (Index j = 0; j < shape.cells[1]; ++j)
        for (Index i = 0; i < shape.cells[0]; ++i) f(shape.index(i, j, k), i, j, k);
  };
  const auto each_neighbour = [&](std::size_t item, auto&& f) {
    for (int c = 0; c < D; ++c)
      f(item + static_cast<std::size_t>(shape.stride(c))),
          f(item - static_cast<std::size_t>(shape.stride(c)));
  };
  each_cell([&](std::size_t item, Index, Index, Index) {
    bool beside = phi[item] == 0;
    each_neighbour(item, [&](std::size_t to) { beside |= (phi[item] < 0) != (phi[to] < 0); });
    if (beside) found.push_back(static_cast<std::uint32_t>(item)), work.stage[item] = 1;
  });
  const auto is_cell = [&](std::size_t item) {
    const auto sy = static_cast<std::size_t>(shape.stride(1)), sz = static_cast<std::size_t>(shape.stride(2));
    const auto within = [](std::size_t i, Index n) { return i >= 1 && i <= static_cast<std::size_t>(n); };
    return within(item % sy, shape.cells[0]) && within((D == 3 ? item % sz : item) / sy, shape.cells[1]) &&
           (D == 2 || within(item / sz, shape.cells[2]));
  };
  for (std::size_t begin = 0, layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    const std::size_t end = found.size();
    for (; begin < end; ++begin)
      each_neighbour(found[begin], [&](std::size_t to) {
        if (work.stage[to] != 0 || !is_cell(to)) return;
        work.stage[to] = 1;
        found.push_back(static_cast<std::uint32_t>(to));
      });
  }
  std::sort(found.begin(), found.end());
  // What is not is that far.
  each_cell([&](std::size_t item, Index, Index, Index) {
    phi[item] = work.stage[item] == 0 ? std::copysign(band, phi[item]) : std::clamp(phi[item], -band, band);
  });
  extend(shape, beyond, phi);
  std::copy(phi.begin(), phi.end(), work.start.begin());
  std::copy(phi.begin(), phi.end(), work.stage.begin());
  // Each step brings the right values on by 0.9 h / D along an axis; as many again settle what is beside the
  // surface, whose steps are shorter.
  const int num_steps =
      most_steps > 0 ? most_steps
                     : 2 * static_cast<int>(std::ceil(band / h * static_cast<Real>(D) / Real(0.9))) + 8;
  if (D == 3)
    march<3>(shape, h, num_steps, beyond, phi, work);
  else
    march<2>(shape, h, num_steps, beyond, phi, work);
}

double enclosed_measure(const GridShape& shape, Real h, std::span<const Real> phi) {
  // Every cell is cut into 2^D parts between its centre and its corners; corners are means of centres.
  const int D = shape.dimensions();
  const Index n[3] = {shape.cells[0], shape.cells[1], shape.cells[2]};
  constexpr int samples = 8;  // along each axis of a cell
  const auto rows = static_cast<std::size_t>(n[1]) * static_cast<std::size_t>(n[2]);
  const double inside = ordered_sum(rows, 4, [&](std::size_t begin, std::size_t end) {
    double count = 0;
    for (std::size_t row = begin; row < end; ++row) {
      const auto j = static_cast<Index>(row % static_cast<std::size_t>(n[1])),
                 k = static_cast<Index>(row / static_cast<std::size_t>(n[1]));
      for (Index i = 0; i < n[0]; ++i) {
        const Real* p = phi.data() + shape.index(i, j, k);
        // Far from the surface a cell is all or nothing.
        if (std::abs(*p) > 2 * h) {
          count += *p < 0 ? 1 : 0;
          continue;
        }
        int hits = 0;
        const int nz = D == 3 ? samples : 1;
        for (int c = 0; c < nz; ++c)
          for (int b = 0; b < samples; ++b)
            for (int a = 0; a < samples; ++a) {
              // Linear between the centres around the sample.
              Real value = 0;
              const Real off[3] = {
                  (static_cast<Real>(a) + Real(0.5)) / samples - Real(0.5),
                  (static_cast<Real>(b) + Real(0.5)) / samples - Real(0.5),
                  D == 3 ? (static_cast<Real>(c) + Real(0.5)) / samples - Real(0.5) : Real(0)};
              for (int corner = 0; corner < 1 << D; ++corner) {
                Real w = 1;
                std::ptrdiff_t to = 0;
                for (int axis = 0; axis < D; ++axis) {
                  const bool far = (corner >> axis & 1) != 0;
                  w *= far ? std::abs(off[axis]) : 1 - std::abs(off[axis]);
                  if (far) to += off[axis] < 0 ? -shape.stride(axis) : shape.stride(axis);
                }
                value += w * p[to];
              }
              hits += value < 0;
            }
        count += static_cast<double>(hits) / (samples * samples * nz);
      }
    }
    return count;
  });
  return inside * std::pow(static_cast<double>(h), D);
}

}  // namespace plenum::inline PLENUM_ABI
