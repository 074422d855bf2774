#pragma once
// What ties unknowns of pressure together through rigid bodies that they push.
//
// A body of mass M that moves with the generalized velocity V (of its centre, and of turning) drives the
// volume g_c . V out of cell c, and the pressures x give it the generalized impulse sum over c of g_c x_c, so
// that its velocity after the step is V + S G^T x, S the inverse of M in units of the unknowns. That no cell
// gains volume then reads (A + G S G^T) x = b - G V: six numbers for each cell beside a body, symmetric, and
// positive definite. Source: Batty, Bertails & Bridson 2007, "A fast variational framework for accurate
// solid-fluid coupling", section 4. What light bodies add to A's spectrum is bounded by the added mass over
// their own, so that A's preconditioner serves for the sum.
#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

struct BodyTies {
  using Six = Eigen::Matrix<double, 6, 1, Eigen::DontAlign>;
  struct Tie {
    std::uint32_t item;     ///< of the operator's layout
    std::array<Real, 6> g;  ///< volume driven out of the cell by each generalized velocity
  };
  struct Body {
    std::size_t begin = 0, end = 0;                   ///< its ties
    Eigen::Matrix<double, 6, 6, Eigen::DontAlign> s;  ///< symmetric, >= 0
    Six sum = Six::Zero();                            ///< S G^T x of the last energy()
  };
  std::vector<Tie> ties;  ///< a cell may be tied to several bodies, and to each once
  std::vector<Body> bodies;

  bool empty() const { return ties.empty(); }
  void clear() { ties.clear(), bodies.clear(); }

  /// G^T x of a body.
  template <class T>
  Six gather(const Body& body, std::span<const T> x) const;
  /// x . G S G^T x, from which subtract() goes on.
  template <class T>
  double energy(std::span<const T> x);
  /// r -= scale G S G^T x
  void subtract(double scale, std::span<Real> r) const;
};

}  // namespace plenum::inline PLENUM_ABI
