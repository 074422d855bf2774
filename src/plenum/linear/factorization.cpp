#include "plenum/linear/factorization.h"

#include <Eigen/SparseCholesky>
#include <cassert>
#include <cmath>
#include <vector>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI {

template <class T>
struct Factorization<T>::Impl {
  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, Index>;
  Index n = 0;
  Matrix lower;                    // the matrix, lower triangle
  std::vector<std::size_t> place;  // of each position, in lower's values
  Eigen::SimplicialLDLT<Matrix, Eigen::Lower> solver;
  // The factors in the layout that solve() reads: strictly lower L by columns, 1 / D, and the order.
  std::vector<Index> column_begin, row, order;
  std::vector<T> value, inverse_pivot, permuted;
  bool positive = false;

  template <int columns>
  void solve(T* x) {
    T* p = permuted.data();
    for (Index i = 0; i < n; ++i)
      for (int c = 0; c < columns; ++c) p[columns * order[i] + c] = x[columns * i + c];
    for (Index j = 0; j < n; ++j) {
      T xj[columns];
      for (int c = 0; c < columns; ++c) xj[c] = p[columns * j + c];
      for (Index k = column_begin[j]; k < column_begin[j + 1]; ++k)
        for (int c = 0; c < columns; ++c) p[columns * row[k] + c] -= value[k] * xj[c];
    }
    for (Index j = n - 1; j >= 0; --j) {
      T xj[columns];
      for (int c = 0; c < columns; ++c) xj[c] = p[columns * j + c] * inverse_pivot[j];
      for (Index k = column_begin[j]; k < column_begin[j + 1]; ++k)
        for (int c = 0; c < columns; ++c) xj[c] -= value[k] * p[columns * row[k] + c];
      for (int c = 0; c < columns; ++c) p[columns * j + c] = xj[c];
    }
    for (Index i = 0; i < n; ++i)
      for (int c = 0; c < columns; ++c) x[columns * i + c] = p[columns * order[i] + c];
  }
};

template <class T>
Factorization<T>::Factorization() : impl_(std::make_unique<Impl>()) {}
template <class T>
Factorization<T>::~Factorization() = default;
template <class T>
Factorization<T>::Factorization(Factorization&&) noexcept = default;
template <class T>
Factorization<T>& Factorization<T>::operator=(Factorization&&) noexcept = default;

template <class T>
void Factorization<T>::analyze(Index n, std::span<const Index2> positions) {
  impl_ = std::make_unique<Impl>();
  Impl& f = *impl_;
  f.n = n;
  std::vector<Eigen::Triplet<double, Index>> triplets;
  triplets.reserve(positions.size() + n);
  for (Index i = 0; i < n; ++i) triplets.emplace_back(i, i, 1.0);
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const Index i = positions[k][0], j = positions[k][1];
    if (i < 0 || j < 0 || i >= n || j >= n)
      throw Error(Problem{.key = "positions[" + std::to_string(k) + "]",
                          .what = "lies outside of the matrix",
                          .value = std::to_string(i) + ", " + std::to_string(j),
                          .allowed = "0 to " + std::to_string(n - 1)});
    triplets.emplace_back(std::max(i, j), std::min(i, j), 1.0);
  }
  f.lower.resize(n, n);
  f.lower.setFromTriplets(triplets.begin(), triplets.end());
  f.lower.makeCompressed();
  f.place.resize(positions.size());
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const Index i = std::max(positions[k][0], positions[k][1]),
                j = std::min(positions[k][0], positions[k][1]);
    const Index* begin = f.lower.innerIndexPtr() + f.lower.outerIndexPtr()[j];
    const Index* end = f.lower.innerIndexPtr() + f.lower.outerIndexPtr()[j + 1];
    f.place[k] = static_cast<std::size_t>(std::lower_bound(begin, end, i) - f.lower.innerIndexPtr());
  }
  f.solver.analyzePattern(f.lower);
}

template <class T>
bool Factorization<T>::factorize(std::span<const T> values) {
  Impl& f = *impl_;
  assert(values.size() == f.place.size());
  double* entries = f.lower.valuePtr();
  std::fill(entries, entries + f.lower.nonZeros(), 0.0);
  for (std::size_t k = 0; k < values.size(); ++k) entries[f.place[k]] += static_cast<double>(values[k]);
  f.positive = false;
  f.solver.factorize(f.lower);
  if (f.solver.info() != Eigen::Success) return false;
  const auto& l = f.solver.matrixL().nestedExpression();
  const auto& d = f.solver.vectorD();
  f.column_begin.assign(f.n + 1, 0);
  f.row.clear();
  f.value.clear();
  f.inverse_pivot.resize(f.n);
  f.permuted.resize(3 * static_cast<std::size_t>(f.n));
  f.order.resize(f.n);
  for (Index i = 0; i < f.n; ++i)
    f.order[i] = f.solver.permutationP().size() ? f.solver.permutationP().indices()[i] : i;
  bool positive = true, usable = true;
  for (Index j = 0; j < f.n; ++j) {
    for (typename std::decay_t<decltype(l)>::InnerIterator it(l, j); it; ++it)
      if (it.row() > j) {
        f.row.push_back(it.row());
        f.value.push_back(static_cast<T>(it.value()));
      }
    f.column_begin[j + 1] = static_cast<Index>(f.row.size());
    f.inverse_pivot[j] = static_cast<T>(1 / d[j]);
    usable &= d[j] != 0 && std::isfinite(d[j]) && std::isfinite(f.inverse_pivot[j]);
    positive &= d[j] > 0;
  }
  f.positive = usable && positive;
  return usable;
}

template <class T>
bool Factorization<T>::positive_definite() const {
  return impl_->positive;
}

template <class T>
Index Factorization<T>::size() const {
  return impl_->n;
}

template <class T>
std::size_t Factorization<T>::fill() const {
  return impl_->row.size();
}

template <class T>
void Factorization<T>::solve(std::span<T> x, int columns) {
  assert(x.size() == static_cast<std::size_t>(impl_->n) * columns && columns >= 1 && columns <= 3);
  if (columns == 1) impl_->template solve<1>(x.data());
  if (columns == 2) impl_->template solve<2>(x.data());
  if (columns == 3) impl_->template solve<3>(x.data());
}

template class Factorization<float>;
template class Factorization<double>;

}  // namespace plenum::inline PLENUM_ABI
