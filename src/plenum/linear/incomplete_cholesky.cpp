#include "plenum/linear/incomplete_cholesky.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Inverse of a symmetric positive definite block by L D L^T; false if a pivot is below its rounding error.
template <class T>
bool invert(const Matrix3<T>& a, Matrix3<T>& inverse) {
  const T least = 4 * std::numeric_limits<T>::epsilon() * std::max(std::max(a(0, 0), a(1, 1)), a(2, 2));
  const T d0 = a(0, 0);
  if (!(d0 > least)) return false;
  const T l10 = a(1, 0) / d0, l20 = a(2, 0) / d0;
  const T d1 = a(1, 1) - l10 * a(1, 0);
  if (!(d1 > least)) return false;
  const T l21 = (a(2, 1) - l20 * a(1, 0)) / d1;
  const T d2 = a(2, 2) - l20 * a(2, 0) - l21 * (a(2, 1) - l20 * a(1, 0));
  if (!(d2 > least) || !std::isfinite(d2)) return false;
  const T i0 = 1 / d0, i1 = 1 / d1, i2 = 1 / d2, m = l10 * l21 - l20;
  inverse(0, 0) = i0 + l10 * l10 * i1 + m * m * i2;
  inverse(1, 1) = i1 + l21 * l21 * i2;
  inverse(2, 2) = i2;
  inverse(0, 1) = inverse(1, 0) = -l10 * i1 - m * l21 * i2;
  inverse(0, 2) = inverse(2, 0) = m * i2;
  inverse(1, 2) = inverse(2, 1) = -l21 * i2;
  return true;
}

}  // namespace

template <class T>
IncompleteCholesky<T>::IncompleteCholesky(const BlockPattern& pattern)
    : n_(pattern.num_rows()), row_begin_(static_cast<std::size_t>(pattern.num_rows()) + 1, 0) {
  struct Entry {
    Index row, column;
    std::size_t slot;
  };
  std::vector<Entry> entries;
  const int width = pattern.width();
  for (Index slice = 0; slice < pattern.num_slices(); ++slice)
    for (std::size_t p = pattern.first_panel(slice); p < pattern.first_panel(slice + 1); ++p)
      for (int l = 0; l < width; ++l) {
        const std::size_t slot = p * width + l;
        const Index row = slice * width + l, column = pattern.columns()[slot];
        if (pattern.slot_pairs()[slot] >= 0 && column < row) entries.push_back({row, column, slot});
      }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  for (const Entry& e : entries) {
    const bool repeated = !column_.empty() && column_.back() == e.column && row_begin_[e.row + 1] > 0;
    if (!repeated) {
      slot_begin_.push_back(slots_.size());
      column_.push_back(e.column);
      ++row_begin_[e.row + 1];
    }
    slots_.push_back(e.slot);
  }
  slot_begin_.push_back(slots_.size());
  for (Index i = 0; i < n_; ++i) row_begin_[i + 1] += row_begin_[i];
  product_begin_.push_back(0);
  for (Index i = 0; i < n_; ++i)
    for (Index e = row_begin_[i]; e < row_begin_[i + 1]; ++e) {
      const Index k = column_[e];
      for (Index a = row_begin_[i], b = row_begin_[k]; a < e && b < row_begin_[k + 1];) {
        if (column_[a] < column_[b]) {
          ++a;
        } else if (column_[a] > column_[b]) {
          ++b;
        } else {
          products_.push_back({a++, b++});
        }
      }
      product_begin_.push_back(products_.size());
    }
  original_.resize(column_.size());
  lower_.resize(column_.size());
  diagonal_.resize(n_);
  inverse_.resize(n_);
}

template <class T>
bool IncompleteCholesky<T>::factor(double shift) {
  const T scale = static_cast<T>(1 + shift);
  for (Index i = 0; i < n_; ++i) {
    const auto confine = [&](Matrix3<T>& block, Index row, Index column) {
      if (!projection_.empty()) block = (projection_[row] * block * projection_[column]).eval();
    };
    Matrix3<T> pivot = scale * diagonal_[i];
    if (!projection_.empty()) {
      const T held = pivot.trace() / 3;
      confine(pivot, i, i);
      pivot += held * (Matrix3<T>::Identity() - projection_[i]);
    }
    for (Index e = row_begin_[i]; e < row_begin_[i + 1]; ++e) {
      Matrix3<T> sum = original_[e];
      confine(sum, i, column_[e]);
      for (std::size_t p = product_begin_[e]; p < product_begin_[e + 1]; ++p) {
        const auto [left, right] = products_[p];
        sum.noalias() -= lower_[left] * (inverse_[column_[left]] * lower_[right].transpose());
      }
      lower_[e] = sum;
      pivot.noalias() -= sum * (inverse_[column_[e]] * sum.transpose());
    }
    if (!invert<T>(pivot, inverse_[i])) return false;
  }
  return true;
}

template <class T>
template <BlockKind kind, class U>
double IncompleteCholesky<T>::update(const BlockMatrix<U, kind>& matrix) {
  assert(matrix.num_rows() == n_);
  for (Index i = 0; i < n_; ++i) diagonal_[i] = matrix.diagonal(i).template cast<T>();
  for (std::size_t e = 0; e < column_.size(); ++e) {
    original_[e] = matrix.slot_block(slots_[slot_begin_[e]]).template cast<T>();
    for (std::size_t k = slot_begin_[e] + 1; k < slot_begin_[e + 1]; ++k)
      original_[e] += matrix.slot_block(slots_[k]).template cast<T>();
  }
  if (factor(0)) return 0;
  for (double shift = 1e-3; shift < 1.1; shift *= 4)
    if (factor(shift)) return shift;
  for (Matrix3<T>& block : lower_) block.setZero();
  for (Index i = 0; i < n_; ++i)
    if (!invert<T>(diagonal_[i], inverse_[i])) inverse_[i].setIdentity();
  return -1;
}

template <class T>
void IncompleteCholesky<T>::operator()(std::span<const T> r, std::span<T> z) const {
  assert(r.size() == 3 * static_cast<std::size_t>(n_) && z.size() == r.size());
  const auto at = [&](std::span<T> v, Index i) {
    return Eigen::Map<Vector3<T>>(v.data() + 3 * std::size_t(i));
  };
  for (Index i = 0; i < n_; ++i) {  // (L + D) u = r
    Vector3<T> sum = Eigen::Map<const Vector3<T>>(r.data() + 3 * std::size_t(i));
    for (Index e = row_begin_[i]; e < row_begin_[i + 1]; ++e) sum.noalias() -= lower_[e] * at(z, column_[e]);
    at(z, i) = inverse_[i] * sum;
  }
  // D^-1 (L + D)^T z = u, column by column: L^T z of the rows below has been taken from D u when row i is
  // reached.
  for (Index i = n_ - 1; i >= 0; --i) {
    const Vector3<T> zi = at(z, i);
    for (Index e = row_begin_[i]; e < row_begin_[i + 1]; ++e)
      at(z, column_[e]).noalias() -= inverse_[column_[e]] * (lower_[e].transpose() * zi);
  }
}

template <class T>
void IncompleteCholesky<T>::multiply(std::span<const T> x, std::span<T> y) const {
  assert(x.size() == 3 * static_cast<std::size_t>(n_) && y.size() == x.size());
  const auto from = [&](Index i) { return Eigen::Map<const Vector3<T>>(x.data() + 3 * std::size_t(i)); };
  const auto to = [&](Index i) { return Eigen::Map<Vector3<T>>(y.data() + 3 * std::size_t(i)); };
  for (Index i = 0; i < n_; ++i) {
    Vector3<T> sum = diagonal_[i] * from(i);
    for (Index e = row_begin_[i]; e < row_begin_[i + 1]; ++e) {
      const Index j = column_[e];
      sum.noalias() += original_[e] * from(j);
      to(j).noalias() += original_[e].transpose() * from(i);
    }
    to(i) = sum;
  }
}

template class IncompleteCholesky<float>;
template class IncompleteCholesky<double>;
#define PLENUM_INSTANTIATE(T, U, kind) \
  template double IncompleteCholesky<T>::update(const BlockMatrix<U, BlockKind::kind>&);
PLENUM_INSTANTIATE(float, float, general)
PLENUM_INSTANTIATE(float, float, symmetric)
PLENUM_INSTANTIATE(float, float, spring)
PLENUM_INSTANTIATE(double, double, general)
PLENUM_INSTANTIATE(double, double, symmetric)
PLENUM_INSTANTIATE(double, double, spring)
PLENUM_INSTANTIATE(double, float, spring)
#undef PLENUM_INSTANTIATE

}  // namespace plenum::inline PLENUM_ABI
