#pragma once
// Symmetric matrices of 3x3 blocks whose pattern is built once, from pairs of rows (the springs of a net, the
// edges of a mesh), and whose values are refilled every step.
//
// Both triangles are stored, so that a product gathers and never scatters: rows are independent, and the
// result does not depend on the number of threads. Rows are grouped into slices as wide as a cache line (16
// floats, 8 doubles); a slice is a list of panels, one block for each of its rows, stored component by
// component, so that every instruction works on a whole slice. Source of the format: Kreutzer et al. 2014, "A
// unified sparse matrix data format for efficient general sparse matrix-vector multiply on modern processors
// with wide SIMD units" (SELL-C-sigma), with one addition: neighbours at one distance in the numbering (col -
// row the same for most rows of a slice, as in every generated grid) share a panel that needs no column
// indices and no gathers.
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/base/real.h"
#include "plenum/linear/aligned.h"

namespace plenum::inline PLENUM_ABI {

/// What is stored of an off-diagonal block.
enum class BlockKind {
  general,    ///< b00 b01 b02 b10 ... b22; the mirrored block is the transpose
  symmetric,  ///< b00 b11 b22 b01 b02 b12
  spring,  ///< w0 w1 w2 a, meaning -(a I + w w^T): every convex tangent of a force along the line of a pair
};
template <BlockKind kind>
inline constexpr int block_entries = kind == BlockKind::general     ? 9
                                     : kind == BlockKind::symmetric ? 6
                                                                    : 4;

/// The six numbers b00 b11 b22 b01 b02 b12 of a symmetric 3x3 matrix.
template <class T>
std::array<T, 6> symmetric_entries(const Matrix3<T>& m) {
  return {m(0, 0), m(1, 1), m(2, 2), m(0, 1), m(0, 2), m(1, 2)};
}

/// Where the blocks of a BlockMatrix lie. `width` rows make a slice.
class BlockPattern {
 public:
  BlockPattern() = default;
  /// pairs [P]: two different rows each, in [0, num_rows); the same two rows may be paired more than once
  /// (the blocks add up). Throws Error for a bad pair. width: 8 or 16.
  BlockPattern(Index num_rows, std::span<const Index2> pairs, int width);

  Index num_rows() const { return num_rows_; }
  Index num_pairs() const { return static_cast<Index>(pair_slots_.size() / 2); }
  Index num_slices() const { return static_cast<Index>(slice_panels_.size()) - 1; }
  int width() const { return width_; }
  /// Places for off-diagonal blocks, empty ones included; slot p width + l is lane l of panel p.
  std::size_t num_slots() const { return panel_first_.size() * static_cast<std::size_t>(width_); }
  std::size_t num_panels() const { return panel_first_.size(); }
  /// First panel of a slice; panels of slice s are [first_panel(s), first_panel(s + 1)).
  std::size_t first_panel(Index slice) const { return slice_panels_[slice]; }
  /// First column of a panel whose lanes have consecutive columns, or -1.
  Index first_column(std::size_t panel) const { return panel_first_[panel]; }
  /// Column of each slot [num_slots]; always a valid row, also for empty slots.
  std::span<const Index> columns() const { return columns_; }
  /// Pair of each slot [num_slots], -1 if empty.
  std::span<const Index> slot_pairs() const { return slot_pairs_; }
  /// Slot of pair p = (i, j) in row i (side 0) or row j (side 1).
  std::size_t slot(Index pair, int side) const {
    return pair_slots_[2 * static_cast<std::size_t>(pair) + side];
  }

  /// Copies numbers of pairs [P] to their slots [num_slots], `empty` to the empty ones.
  template <class T>
  void spread(std::span<const T> per_pair, T empty, std::span<T> per_slot) const {
    for (std::size_t s = 0; s < slot_pairs_.size(); ++s)
      per_slot[s] = slot_pairs_[s] < 0 ? empty : per_pair[slot_pairs_[s]];
  }

 private:
  Index num_rows_ = 0;
  int width_ = 0;
  std::vector<std::size_t> slice_panels_ = {0};  // [num_slices + 1]
  std::vector<Index> panel_first_;               // [num_panels]
  AlignedVector<Index> columns_;                 // [num_slots]
  std::vector<Index> slot_pairs_;                // [num_slots]
  std::vector<std::size_t> pair_slots_;          // [P][2]
};

/// What one spring gives to a spring matrix and to the force, seen from its row i towards its column j.
template <class T>
struct SpringTerm {
  T a, w0, w1, w2;  ///< tangent block a I + w w^T, a >= 0
  T f0, f1, f2;     ///< force on row i (row j receives the opposite)
};

/// y = A x for a symmetric A of n x n blocks. T is float or double. Vectors are flat, [3 n], x0 y0 z0 x1 ...
/// Nothing allocates after construction.
template <class T, BlockKind kind>
class BlockMatrix {
 public:
  static constexpr int width = 64 / sizeof(T);
  static constexpr int entries = block_entries<kind>;
  using Block = std::array<T, entries>;

  BlockMatrix() = default;
  /// See BlockPattern. All values are zero at first.
  BlockMatrix(Index num_rows, std::span<const Index2> pairs);

  Index num_rows() const { return pattern_.num_rows(); }  ///< block rows n
  const BlockPattern& pattern() const { return pattern_; }

  /// y = A x. x, y [3 n], different arrays.
  void operator()(std::span<const T> x, std::span<T> y) const;
  /// y = A x; returns x . y, summed as dot() would but in one pass.
  double apply_dot(std::span<const T> x, std::span<T> y) const;
  /// r = b - A x; returns r . r.
  double residual(std::span<const T> b, std::span<const T> x, std::span<T> r) const;

  /// One sweep of block-Jacobi, y = x + inverse (b - A x), with `inverse` as
  /// BlockJacobiPreconditioner::values() (damping included); returns b . y. y must not be x.
  double jacobi_sweep(std::span<const T> inverse, std::span<const T> b, std::span<const T> x,
                      std::span<T> y) const;

  void set_zero();
  /// Diagonal block of row i, symmetric. Setting different rows from different threads is safe.
  Matrix3<T> diagonal(Index i) const;
  void set_diagonal(Index i, const Matrix3<T>& block);
  void add_diagonal(Index i, const Matrix3<T>& block);
  /// Off-diagonal block of pair p = (i, j), the one in row i and column j; sets the mirrored one too. Setting
  /// different pairs from different threads is safe.
  Block pair_block(Index pair) const;
  void set_pair_block(Index pair, const Block& block);
  /// Blocks as matrices: slot (row i's own, column columns()[slot]).
  Matrix3<T> slot_block(std::size_t slot) const;
  void set_slot_block(std::size_t slot, const Matrix3<T>& block) requires(kind != BlockKind::spring);

  /// Refills a spring matrix and sums the springs' forces in one pass over rows, each spring evaluated from
  /// both its ends: off-diagonal blocks -(a I + w w^T), diagonal blocks base[i] I plus the sum over the row
  /// of a I + w w^T, f[i] the sum over the row of `f`. Every thread writes its own rows only. x [n] m; v [n]
  /// m/s, or empty; base [n] (masses, say); f [n] out, or empty; kernel(slot, d0, d1, d2, v0, v1, v2) ->
  /// SpringTerm<T> is given d = x_j - x_i and v_j - v_i. It is called for every slot, and the compiler makes
  /// vector instructions of it if it is free of branches (std::max, ?: of values and std::sqrt are fine) and
  /// reads its own data per slot (spread() copies it there). Empty slots must yield zeros even where d = 0:
  /// spread() a stiffness of zero to them and guard the division by the length.
  template <class Kernel>
  void assemble_springs(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v, std::span<const T> base,
                        std::span<Vector3<T>> f, const Kernel& kernel) requires(kind == BlockKind::spring);

  /// Diagonal blocks = base[i] I minus the sum of the row's other blocks: a net of springs with masses. base
  /// [n].
  void set_diagonal_from_rows(std::span<const T> base) requires(kind == BlockKind::symmetric);

  /// Diagonal blocks [num_slices][6][width]: entries as symmetric_entries().
  std::span<const T> diagonal_values() const { return diagonal_; }
  std::span<T> diagonal_values() { return diagonal_; }
  /// Off-diagonal blocks [num_panels][entries][width].
  std::span<const T> values() const { return values_; }
  std::span<T> values() { return values_; }

 private:
  static constexpr Index slices_per_block = 512 / width;
  void load_panel(std::size_t panel, const T* x, T (*out)[width]) const;
  template <int mode>
  double product(const T* inverse, const T* b, const T* x, T* y) const;

  BlockPattern pattern_;
  AlignedVector<T> diagonal_;
  AlignedVector<T> values_;
};

using SpringMatrix = BlockMatrix<Real, BlockKind::spring>;

template <class T, BlockKind kind>
template <class Kernel>
void BlockMatrix<T, kind>::assemble_springs(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v,
                                            std::span<const T> base, std::span<Vector3<T>> f,
                                            const Kernel& kernel) requires(kind == BlockKind::spring) {
  const auto rows = static_cast<std::size_t>(num_rows());
  parallel_for(pattern_.num_slices(), slices_per_block, [&](std::size_t begin, std::size_t end) {
    // `d` and `vd` are filled elsewhere; the rest never leaves this scope, so that the compiler knows that
    // the kernel's own arrays do not overlap it.
    alignas(64) T d[3][width], vd[3][width] = {};
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t first_row = s * width;
      const std::size_t live = std::min<std::size_t>(width, rows - first_row);
      alignas(64) T xi[3][width], vi[3][width] = {}, force[3][width] = {}, diagonal[6][width] = {};
      for (std::size_t l = 0; l < width; ++l) {
        const std::size_t i = std::min(first_row + l, rows - 1);
        for (int c = 0; c < 3; ++c) xi[c][l] = x[i][c];
        if (!v.empty())
          for (int c = 0; c < 3; ++c) vi[c][l] = v[i][c];
        for (int c = 0; c < 3; ++c) diagonal[c][l] = base[i];
      }
      for (std::size_t p = pattern_.first_panel(s); p < pattern_.first_panel(s + 1); ++p) {
        load_panel(p, x[0].data(), d);
        if (!v.empty()) load_panel(p, v[0].data(), vd);
        T out[entries][width];
        for (int l = 0; l < width; ++l) {
          const SpringTerm<T> t =
              kernel(p * width + l, d[0][l] - xi[0][l], d[1][l] - xi[1][l], d[2][l] - xi[2][l],
                     vd[0][l] - vi[0][l], vd[1][l] - vi[1][l], vd[2][l] - vi[2][l]);
          out[0][l] = t.w0, out[1][l] = t.w1, out[2][l] = t.w2, out[3][l] = t.a;
          diagonal[0][l] += t.a + t.w0 * t.w0;
          diagonal[1][l] += t.a + t.w1 * t.w1;
          diagonal[2][l] += t.a + t.w2 * t.w2;
          diagonal[3][l] += t.w0 * t.w1;
          diagonal[4][l] += t.w0 * t.w2;
          diagonal[5][l] += t.w1 * t.w2;
          force[0][l] += t.f0, force[1][l] += t.f1, force[2][l] += t.f2;
        }
        std::memcpy(values_.data() + p * entries * width, out, sizeof out);
      }
      std::memcpy(diagonal_.data() + s * 6 * width, diagonal, sizeof diagonal);
      if (!f.empty())
        for (std::size_t l = 0; l < live; ++l) f[first_row + l] = {force[0][l], force[1][l], force[2][l]};
    }
  });
}

extern template class BlockMatrix<float, BlockKind::general>;
extern template class BlockMatrix<float, BlockKind::symmetric>;
extern template class BlockMatrix<float, BlockKind::spring>;
extern template class BlockMatrix<double, BlockKind::general>;
extern template class BlockMatrix<double, BlockKind::symmetric>;
extern template class BlockMatrix<double, BlockKind::spring>;

}  // namespace plenum::inline PLENUM_ABI
