#pragma once
// The vector passes of iterative solvers, for float and double. Sums are accumulated in double, in fixed
// blocks that are joined in order, so they are the same bits for any number of threads. All spans of a call
// have one size; outputs may be inputs, but spans must not overlap otherwise.
#include <span>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Items of a block of the loops below and of solvers that must join sums in the same way.
inline constexpr std::size_t vector_block = 8192;

/// x . y
template <class T>
double dot(std::span<const T> x, std::span<const T> y);
/// sqrt(x . x)
template <class T>
double norm(std::span<const T> x);
/// x = 0
template <class T>
void set_zero(std::span<T> x);
/// y = x
template <class T>
void copy(std::span<const T> x, std::span<T> y);
/// y += a x
template <class T>
void axpy(T a, std::span<const T> x, std::span<T> y);
/// y = x + a y
template <class T>
void xpay(std::span<const T> x, T a, std::span<T> y);
/// r = b - r; returns r . r
template <class T>
double residual_from_product(std::span<const T> b, std::span<T> r);
/// x += a p, r -= a q; returns r . r
template <class T>
double step_and_residual(T a, std::span<const T> p, std::span<const T> q, std::span<T> x, std::span<T> r);

}  // namespace plenum::inline PLENUM_ABI
