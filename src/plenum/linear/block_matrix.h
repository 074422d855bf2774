#pragma once
// Symmetric matrices of 3x3 blocks whose pattern is built once, from pairs of rows (the springs of a net, the
// edges of a mesh), and whose values are refilled every step.
//
// Every row lists all its blocks, so that a product gathers and never scatters: rows are independent, and the
// result does not depend on the number of threads. Rows are grouped into slices as wide as a cache line (16
// floats, 8 doubles); a slice is a list of panels, one block for each of its rows, stored component by
// component, so that every instruction works on a whole slice. Source of the format: Kreutzer et al. 2014, "A
// unified sparse matrix data format for efficient general sparse matrix-vector multiply on modern processors
// with wide SIMD units" (SELL-C-sigma). Two additions serve neighbours at one distance in the numbering (col
// - row the same for most rows of a slice, as in every generated grid): they share a panel that needs no
// column indices and no gathers; and where such panels line up over the whole matrix their values lie in one
// plane, a diagonal of the matrix, which the mirrored panels below the diagonal read too, from a shifted
// place. That halves the memory of a grid's matrix.
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
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
  /// Where the values of a panel lie, for blocks of E numbers: number e of lane l is at E unit + e width + l.
  /// The lanes of a mirrored panel are those of panels above the diagonal, from lane `shift` of the one at
  /// `unit` on and then of the one at unit + next_unit(); their blocks are the transposes of its own.
  struct Place {
    std::size_t unit;
    Index shift;
    bool mirrored;
  };
  const Place& place(std::size_t panel) const { return places_[panel]; }
  std::size_t next_unit() const { return next_unit_; }
  /// Numbers to store for blocks of one number; E times that for blocks of E.
  std::size_t num_units() const { return num_units_; }
  /// Where the values of a slot lie, for blocks of E: number e is that many numbers plus e width after the
  /// first.
  std::size_t value_of(std::size_t slot, int entries) const {
    const Place& place = places_[slot / width_];
    const std::size_t lane = slot % width_ + place.shift, w = width_;
    return lane < w ? entries * place.unit + lane : entries * (place.unit + next_unit_) + lane - w;
  }

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
  void place_values();

  Index num_rows_ = 0;
  int width_ = 0;
  std::vector<std::size_t> slice_panels_ = {0};  // [num_slices + 1]
  std::vector<Index> panel_first_;               // [num_panels]
  AlignedVector<Index> columns_;                 // [num_slots]
  std::vector<Index> slot_pairs_;                // [num_slots]
  std::vector<std::size_t> pair_slots_;          // [P][2]
  std::vector<Place> places_;                    // [num_panels]
  std::size_t num_units_ = 0, next_unit_ = 0;
};

/// What one spring gives to a spring matrix and to the force, seen from its row i towards its column j.
template <class T>
struct SpringTerm {
  T a, w0, w1, w2;  ///< tangent block a I + w w^T, a >= 0
  T f0, f1, f2;     ///< force on row i (row j receives the opposite)
};

/// y = A x for a symmetric A of n x n blocks. T is float or double. Vectors are flat, [3 n], x0 y0 z0 x1 ...
/// Nothing allocates after construction. One product or assembly of a matrix at a time: they share its
/// scratch.
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

  // Smoothing for multigrid. Its iterates x are kept by component, x0 x1 ..., y0 y1 ..., z0 z1 ..., each in
  // `plane()` numbers of which those past the last row are zero: rows are then loaded without shuffles.
  std::size_t plane() const { return plane_; }
  /// r = b - A x after x = damping D^-1 b, without reading D: (1 - damping) b - (A - D) x.
  void residual_after_jacobi(std::span<const T> b, T damping, std::span<const T> x_planes,
                             std::span<T> r) const;
  /// One sweep of damped block-Jacobi, y = x + damping D^-1 (b - A x), without reading D: (1 - damping) x +
  /// inverse (b - (A - D) x), with inverse = damping D^-1 as BlockJacobiPreconditioner::values(). Returns b .
  /// y.
  double jacobi_sweep(std::span<const T> inverse, T damping, std::span<const T> b,
                      std::span<const T> x_planes, std::span<T> y) const;

  void set_zero();
  /// Diagonal block of row i, symmetric. Setting different rows from different threads is safe.
  Matrix3<T> diagonal(Index i) const;
  void set_diagonal(Index i, const Matrix3<T>& block);
  void add_diagonal(Index i, const Matrix3<T>& block);
  /// Off-diagonal block of pair p = (i, j), the one in row i and column j; sets the mirrored one too. Setting
  /// different pairs from different threads is safe.
  Block pair_block(Index pair) const;
  void set_pair_block(Index pair, const Block& block);
  /// Blocks as matrices, by slot: in the slot's row, in column columns()[slot]. Setting a mirrored slot sets
  /// the one it mirrors.
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
  /// Values of the off-diagonal blocks; number e of a slot is at pattern().value_of(slot, entries) + e width.
  std::span<const T> values() const { return values_; }
  std::span<T> values() { return values_; }

 private:
  static constexpr Index slices_per_block = 512 / width;
  /// planes = x0 x1 ..., then y0 y1 ..., then z0 z1 ... of the vectors x0 y0 z0 x1 ...
  void split(const T* x, T* planes) const;
  void gather_panel(std::size_t panel, const T* planes, T (*out)[width]) const;
  template <int mode>
  double product(const T* inverse, T damping, const T* b, const T* planes, T* y) const;

  BlockPattern pattern_;
  AlignedVector<T> diagonal_;
  AlignedVector<T> values_;
  // Scratch of a product or an assembly: its vectors by component, [6][plane_], so that panels load without
  // shuffles.
  std::size_t plane_ = 0;
  mutable AlignedVector<T> planes_;
};

using SpringMatrix = BlockMatrix<Real, BlockKind::spring>;

template <class T, BlockKind kind>
template <class Kernel>
void BlockMatrix<T, kind>::assemble_springs(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v,
                                            std::span<const T> base, std::span<Vector3<T>> f,
                                            const Kernel& kernel) requires(kind == BlockKind::spring) {
  const auto rows = static_cast<std::size_t>(num_rows());
  const bool with_velocity = !v.empty();
  split(x[0].data(), planes_.data());
  if (with_velocity) split(v[0].data(), planes_.data() + 3 * plane_);
  parallel_for(pattern_.num_slices(), slices_per_block, [&](std::size_t begin, std::size_t end) {
    // What is gathered is filled elsewhere; the rest never leaves this scope, so that the compiler knows that
    // the kernel's own arrays do not overlap it.
    alignas(64) T gathered[6][width] = {};
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t first_row = s * width;
      const std::size_t live = std::min<std::size_t>(width, rows - first_row);
      alignas(64) T force[3][width] = {}, diagonal[6][width] = {};
      // Of a length known to the compiler where it can be.
      if (live == width)
        for (int c = 0; c < 3; ++c) std::copy_n(base.data() + first_row, width, diagonal[c]);
      else
        for (int c = 0; c < 3; ++c) std::copy_n(base.data() + first_row, live, diagonal[c]);
      const T* own = planes_.data() + first_row;
      for (std::size_t p = pattern_.first_panel(s); p < pattern_.first_panel(s + 1); ++p) {
        const T* there = planes_.data() + pattern_.first_column(p);
        std::size_t plane = plane_;
        if (pattern_.first_column(p) < 0) {
          gather_panel(p, planes_.data(), gathered);
          if (with_velocity) gather_panel(p, planes_.data() + 3 * plane_, gathered + 3);
          there = gathered[0], plane = width;
        }
        T out[entries][width];
        const auto evaluate = [&](auto moving) {
          for (int l = 0; l < width; ++l) {
            const auto difference = [&](int c) {
              return c < 3 || moving ? there[c * plane + l] - own[c * plane_ + l] : T(0);
            };
            const SpringTerm<T> t = kernel(p * width + l, difference(0), difference(1), difference(2),
                                           difference(3), difference(4), difference(5));
            out[0][l] = t.w0, out[1][l] = t.w1, out[2][l] = t.w2, out[3][l] = t.a;
            diagonal[0][l] += t.a + t.w0 * t.w0;
            diagonal[1][l] += t.a + t.w1 * t.w1;
            diagonal[2][l] += t.a + t.w2 * t.w2;
            diagonal[3][l] += t.w0 * t.w1;
            diagonal[4][l] += t.w0 * t.w2;
            diagonal[5][l] += t.w1 * t.w2;
            force[0][l] += t.f0, force[1][l] += t.f1, force[2][l] += t.f2;
          }
        };
        if (with_velocity)
          evaluate(std::true_type{});
        else
          evaluate(std::false_type{});
        const BlockPattern::Place& place = pattern_.place(p);
        if (!place.mirrored) std::memcpy(values_.data() + entries * place.unit, out, sizeof out);
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
