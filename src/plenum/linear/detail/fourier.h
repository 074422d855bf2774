#pragma once
// The discrete Fourier transform of complex lines of any length, as many lines at a time as a vector has
// lanes.
#include <vector>

#include "plenum/linear/aligned.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Complex lines side by side: item j of lane l is re[j][l] + i im[j][l].
struct Lines {
  Wide* re;
  Wide* im;
};

/// Factors of n in the order in which the transform takes them: fours, then primes. Of n = 1 none.
std::vector<std::size_t> fourier_factors(std::size_t n);

class Fourier {
 public:
  Fourier() = default;
  explicit Fourier(std::size_t n);

  /// Z[k] = sum over j of z[j] exp(-2 pi i j k / n). Both lines hold n items; the result is in z when this
  /// returns, since the two may have been swapped. The inverse but for 1 / n is the transform of lines whose
  /// re and im are exchanged.
  void transform(Lines& z, Lines& scratch) const;

 private:
  struct Stage {
    std::size_t radix, rest;  ///< length of its transforms over the radix
    std::size_t before;       ///< product of the radices of the stages before
    std::size_t first;        ///< of its twiddle factors in twiddles_
    std::size_t roots;        ///< of the radix's roots of unity there
  };
  std::vector<Stage> stages_;
  AlignedVector<Real> twiddles_;  ///< cosines and sines in turn
};

}}  // namespace plenum::PLENUM_ABI::detail
