#pragma once
// Real roots of a polynomial in an interval, found between its extrema.
#include <array>
#include <cmath>
#include <cstddef>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI::detail {

/// Roots in [low, high], in increasing order.
template <std::size_t degree>
struct Roots {
  std::array<double, degree> values;
  std::size_t count = 0;
  void add(double root) {
    if (count < degree) values[count++] = root;
  }
};

/// Real roots in [low, high] of sum_i c[i] t^i. The polynomial is monotone between neighbouring roots of its
/// derivative, so that each such interval holds at most one root, which bisection with Newton's steps finds
/// to rounding. A root where the polynomial touches zero without crossing it may be missed.
template <std::size_t degree>
Roots<degree> polynomial_roots(const std::array<double, degree + 1>& c, double low, double high) {
  Roots<degree> roots;
  const auto value = [&](double t) {
    double sum = 0;
    for (std::size_t i = degree + 1; i-- > 0;) sum = sum * t + c[i];
    return sum;
  };
  std::array<double, degree + 1> ends;  // low, the extrema, high
  std::size_t num_ends = 0;
  std::array<double, degree> slope{};
  for (std::size_t i = 0; i < degree; ++i) slope[i] = double(i + 1) * c[i + 1];
  ends[num_ends++] = low;
  if constexpr (degree > 1) {
    const auto extrema = polynomial_roots<degree - 1>(slope, low, high);
    for (std::size_t i = 0; i < extrema.count; ++i) ends[num_ends++] = extrema.values[i];
  }
  ends[num_ends++] = high;
  for (std::size_t i = 0; i + 1 < num_ends; ++i) {
    double a = ends[i], b = ends[i + 1];
    const double fa = value(a), fb = value(b);
    if (fa == 0) {
      if (roots.count == 0 || roots.values[roots.count - 1] != a) roots.add(a);
      continue;
    }
    if (fb == 0 || (fa < 0) == (fb < 0)) {
      if (fb == 0 && i + 2 == num_ends) roots.add(b);
      continue;
    }
    double t = 0.5 * (a + b);
    constexpr int most_steps = 100;  // bisection alone exhausts a double's bits in fewer than 70
    for (int step = 0; step < most_steps; ++step) {
      const double f = value(t);
      if (f == 0) break;
      ((f < 0) == (fa < 0) ? a : b) = t;
      double df = 0;
      for (std::size_t k = degree; k-- > 0;) df = df * t + slope[k];
      double next = t - f / df;
      if (!(next > a && next < b)) next = 0.5 * (a + b);
      if (next == t || next == a || next == b) break;
      t = next;
    }
    roots.add(t);
  }
  return roots;
}

}  // namespace plenum::inline PLENUM_ABI::detail
