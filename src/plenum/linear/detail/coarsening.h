#pragma once
// The part of multigrid that depends on the net alone: aggregates, interpolation, and which fine springs make
// which coarse ones.
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Rows of numbers: entries of row i are [begin[i], begin[i + 1]).
template <class T>
struct SparseRows {
  std::vector<Index> begin = {0};
  std::vector<Index> index;
  std::vector<T> weight;
  Index num_rows() const { return static_cast<Index>(begin.size()) - 1; }
};

/// A net of springs: pairs of rows with a strength each, springs to the ground, and rows that do not move.
struct NetGraph {
  Index num_rows = 0;
  std::vector<Index2> pairs;
  std::vector<double> strength;         // [pairs]
  std::vector<Index> ground;            // rows with a spring to the ground
  std::vector<double> ground_strength;  // [ground]
  std::vector<char> pinned;             // [num_rows]
};

/// A coarse net and how its values follow from the fine one's. Elements of a net are its pairs, then its
/// grounds.
template <class T>
struct Coarsening {
  NetGraph coarse;
  SparseRows<T> prolong;    // fine row: coarse rows
  SparseRows<T> restrict_;  // the transpose
  SparseRows<T> elements;   // coarse element: fine elements
};

/// Aggregates (Vanek, Mandel & Brezina 1996, "Algebraic multigrid by smoothed aggregation for second and
/// fourth order elliptic problems", algorithm 2), piecewise constant interpolation from them, smoothed once
/// with the net's graph Laplacian in place of the matrix, so that the weights are scalars and never change;
/// and the Galerkin sums they lead to.
template <class T>
Coarsening<T> coarsen(const NetGraph& fine);

extern template Coarsening<float> coarsen<float>(const NetGraph&);
extern template Coarsening<double> coarsen<double>(const NetGraph&);

}  // namespace plenum::inline PLENUM_ABI
