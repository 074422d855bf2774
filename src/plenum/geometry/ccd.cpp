#include "plenum/geometry/ccd.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace plenum::inline PLENUM_ABI {
namespace {

using Point = Vector3<double>;
using Points = std::array<Point, 4>;

/// A box of (t, u, v) whose sides are powers of two, so that its corners are exact. [m]
struct Box {
  double low[3], size[3];
};

/// Which box to look at first: the earliest; of those the smallest.
bool later(const Box& a, const Box& b) {
  if (a.low[0] != b.low[0]) return a.low[0] > b.low[0];
  return a.size[0] * a.size[1] * a.size[2] > b.size[0] * b.size[1] * b.size[2];
}

template <bool vertex_face>
Point difference(const Points& x, double u, double v) {
  if constexpr (vertex_face) return x[0] - ((1 - u - v) * x[1] + u * x[2] + v * x[3]);
  return ((1 - u) * x[0] + u * x[1]) - ((1 - v) * x[2] + v * x[3]);
}

template <bool vertex_face>
std::optional<double> first_root(const Points& x0, const Points& x1, const CcdOptions& options) {
  Point largest = Point::Zero();
  for (const Points* x : {&x0, &x1})
    for (const Point& p : *x) largest = largest.cwiseMax(p.cwiseAbs());
  // A corner is a sum of at most four products of positions (each x0 + t (x1 - x0), three roundings of values
  // up to 2 M) with weights of at most two roundings: fewer than 50 roundings of values up to 2 M, half an
  // epsilon each.
  const Point margin =
      50 * std::numeric_limits<double>::epsilon() * largest + Point::Constant(options.separation);

  // A heap of boxes still open. Halving the earliest, smallest one first keeps it short; full, it gives up.
  constexpr int most_open = 2048;
  Box heap[most_open];
  int open = 0;
  const auto push = [&](const Box& box) {
    heap[open++] = box;
    std::push_heap(heap, heap + open, later);
  };
  push({{0, 0, 0}, {1, 1, 1}});
  for (int looked = 0; open > 0; ++looked) {
    std::pop_heap(heap, heap + open, later);
    const Box box = heap[--open];
    if (looked >= options.most_boxes || open + 2 > most_open) return box.low[0];

    Point low = Point::Constant(std::numeric_limits<double>::infinity()), high = -low;
    Point corner[8];
    Points at[2];
    for (int k = 0; k < 2; ++k) {
      const double t = box.low[0] + k * box.size[0];
      for (std::size_t i = 0; i < 4; ++i) at[k][i] = x0[i] + t * (x1[i] - x0[i]);
      if (t == 1) at[k] = x1;
    }
    for (int k = 0; k < 8; ++k) {
      corner[k] = difference<vertex_face>(at[k & 1], box.low[1] + (k >> 1 & 1) * box.size[1],
                                          box.low[2] + (k >> 2) * box.size[2]);
      low = low.cwiseMin(corner[k]);
      high = high.cwiseMax(corner[k]);
    }
    if ((low.array() > margin.array()).any() || (high.array() < -margin.array()).any()) continue;
    if ((high - low).maxCoeff() <= options.tolerance) return box.low[0];
    // Halve the side along which the function changes most.
    double change[3] = {0, 0, 0};
    for (int axis = 0; axis < 3; ++axis)
      for (int k = 0; k < 8; ++k)
        if (!(k & 1 << axis))
          change[axis] =
              std::max(change[axis], (corner[k | 1 << axis] - corner[k]).lpNorm<Eigen::Infinity>());
    int axis = 0;
    for (int k = 1; k < 3; ++k)
      if (change[k] > change[axis]) axis = k;
    // A side below the resolution of numbers cannot be halved; what is left is rounding.
    if (box.size[axis] < 0x1p-50) return box.low[0];
    Box half = box;
    half.size[axis] *= 0.5;
    Box other = half;
    other.low[axis] += half.size[axis];
    push(half);
    // A triangle's points have u + v <= 1.
    if (!vertex_face || other.low[1] + other.low[2] <= 1) push(other);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> vertex_face_ccd(const Points& x0, const Points& x1, const CcdOptions& options) {
  return first_root<true>(x0, x1, options);
}

std::optional<double> edge_edge_ccd(const Points& x0, const Points& x1, const CcdOptions& options) {
  return first_root<false>(x0, x1, options);
}

}  // namespace plenum::inline PLENUM_ABI
