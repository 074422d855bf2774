#pragma once
// Transforms of lines of cells that make the second difference along them diagonal, whatever their two ends
// do.
#include <cstdint>
#include <vector>

#include "plenum/linear/detail/fourier.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// What functions a line is made of. Values stand at cell centres, the ends of the line half a cell beyond
/// the first and the last. Names as in Britanak, Yip & Rao 2007, "Discrete cosine and sine transforms";
/// which ends they fit: Strang 1999, "The discrete cosine transform".
enum class LineBasis {
  cosine,   ///< cos(pi k (j + 1/2) / n): no slope at both ends; DCT-II
  sine,     ///< sin(pi k (j + 1/2) / n), k = 1 ... n: zero at both ends; DST-II
  quarter,  ///< cos(pi (k + 1/2) (j + 1/2) / n): no slope at the lower end, zero at the upper; DCT-IV
  fourier,  ///< cos(2 pi k j / n) + sin(2 pi k j / n): periodic; the transform of Hartley 1942
};

/// Cosines and sines of even n know mirror images: what a line and its mirror image have in common and what
/// not are transformed apart, so that lines that are symmetric to the bit have coefficients of zero for waves
/// that are not, and are symmetric to the bit when they come back.
///
/// Acts on two real lines in each lane: one is `re` of Lines, the other `im`. One complex transform of length
/// n serves both.
class LineTransform {
 public:
  LineTransform() = default;
  /// n >= 1 cells. `reversed` turns the line around: a quarter basis then is zero at the lower end.
  LineTransform(std::size_t n, LineBasis basis, bool reversed = false);

  /// Replaces n values by their n coefficients; the result is in `lines`, which may have been swapped with
  /// `scratch`.
  void forward(Lines& lines, Lines& scratch) const;
  /// Back, but for the factor scale().
  void inverse(Lines& lines, Lines& scratch) const;
  double scale() const { return scale_; }

  /// [n] of -(x[j - 1] - 2 x[j] + x[j + 1]), by coefficient.
  const std::vector<Real>& eigenvalues() const { return eigenvalues_; }

 private:
  LineTransform(std::size_t n, LineBasis basis, bool reversed, bool split);
  void split_forward(const Lines& lines, const Lines& scratch) const;
  void split_inverse(const Lines& lines, const Lines& scratch) const;
  void cosine_forward(Lines& lines, Lines& scratch) const;
  void cosine_inverse(Lines& lines, Lines& scratch) const;
  void hartley(Lines& lines, Lines& scratch) const;
  void quarter_of_even(Lines& lines, Lines& scratch) const;
  void turn_around(const Lines& lines) const;

  std::size_t n_ = 0;
  LineBasis basis_ = LineBasis::cosine;
  bool reversed_ = false;
  double scale_ = 1;
  Fourier fourier_;
  std::vector<Real> eigenvalues_;
  std::vector<LineTransform> halves_;  ///< cosine and quarter bases of half a line
  std::vector<Real> twiddles_;         ///< cosines and sines in turn
  /// Where a value goes to or comes from, and its sign.
  struct Place {
    std::uint32_t at;
    Real sign;
  };
  std::vector<Place> in_, out_;
  Real of_re_ = 1, of_im_ = -1;
};

}}  // namespace plenum::PLENUM_ABI::detail
