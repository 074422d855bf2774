#pragma once
// Direct solution of the Poisson equation in a box without solids: along each axis waves that suit its two
// sides make the operator diagonal. Source: Hockney 1965, "A fast direct solution of Poisson's equation using
// Fourier analysis"; cosines and sines for sides half a cell away: Strang 1999, "The discrete cosine
// transform".
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "plenum/linear/aligned.h"
#include "plenum/linear/detail/line_transform.h"
#include "plenum/linear/grid_poisson.h"

namespace plenum::inline PLENUM_ABI {

/// The sides of the box and the coefficient of its faces, if all cells are unknowns and all faces between
/// them alike, and each side is alike throughout.
struct UniformBox {
  PressureSides sides = {};
  Real coefficient = 1;
  bool has_periodic_axis = false;
};
std::optional<UniformBox> find_uniform_box(const GridPoisson& a);

class BoxPoisson {
 public:
  BoxPoisson(const GridPoisson& a, const UniformBox& box);

  /// z = A^-1 r, rounded as `Real` is; of boxes without any open side the solution whose mean is zero, for r
  /// without its mean. Both in the operator's layout, r with zeros where there is no cell; ghosts of z are
  /// not set. Allocates nothing; the same bits for any number of threads.
  void solve(std::span<const Real> r, std::span<Real> z);

  /// Largest prime factor of the lengths of the transforms: work grows with it.
  std::size_t largest_factor() const { return largest_factor_; }

 private:
  struct Columns;
  template <class F>
  void for_items(std::size_t n, F&& f);
  void transform_rows(std::span<const Real> from, std::span<Real> to, std::size_t begin, std::size_t end,
                      bool forward, Real* scratch) const;
  void transform_columns(std::span<Real> x, const Columns& columns, Real* scratch) const;

  RowLayout layout_;
  int dimensions_ = 3;
  std::array<detail::LineTransform, 3> along_;
  std::vector<Real> eigenvalues_x_;  ///< padded to whole vectors
  double scale_ = 1;
  std::size_t largest_factor_ = 1;
  std::size_t longest_ = 0;      ///< items of a line of scratch, in vectors
  AlignedVector<Real> scratch_;  ///< of each part that a parallel loop is cut into
};

}  // namespace plenum::inline PLENUM_ABI
