#include "plenum/linear/multigrid.h"

#include <Eigen/Cholesky>
#include <cassert>
#include <deque>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"
#include "plenum/linear/detail/coarsening.h"
#include "plenum/linear/detail/lanes.h"
#include "plenum/linear/detail/shared_rows.h"
#include "plenum/linear/jacobi.h"
#include "plenum/linear/vector_ops.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr Index dense_rows = 40;  // solve nets up to this size by a dense factorization
constexpr int most_levels = 12;
constexpr std::size_t rows_per_block = 1024, elements_per_block = 512;
// Damping of block-Jacobi: 4/3 over the bound 2 of its spectrum. For a sum of springs (x_i - x_j)^T B (x_i -
// x_j) <= 2 (x_i^T B x_i + x_j^T B x_j), so A <= 2 D.
constexpr double damping = 2.0 / 3;

/// Vectors are padded, so that the last row of three can be loaded as four.
template <class T>
AlignedVector<T> padded_vector(Index rows) {
  return AlignedVector<T>(3 * static_cast<std::size_t>(rows) + 16, T(0));
}

/// Sum of weight in_index over the entries of row i.
template <class T>
[[gnu::always_inline]] inline Lanes4<T> weighted(const SharedRows<T>& rows, std::size_t i, const T* in) {
  const auto row = rows.row(i);
  const T* const first = in + 3 * static_cast<std::size_t>(row.first);
  Lanes4<T> sum{};
  for (auto *e = rows.entries() + row.begin, *end = rows.entries() + row.end; e != end; ++e)
    sum += e->weight * load_as<Lanes4<T>>(first + 3 * static_cast<std::ptrdiff_t>(e->distance));
  return sum;
}

/// out_i = sum of weight in_index over the entries of row i. in must be padded.
template <class T>
void restrict_to(const SharedRows<T>& rows, const T* in, T* out) {
  parallel_for(rows.num_rows(), rows_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Lanes4<T> sum = weighted(rows, i, in);
      for (int c = 0; c < 3; ++c) out[3 * i + c] = sum[c];
    }
  });
}

/// The same, added to an iterate by component.
template <class T>
void prolong_to(const SharedRows<T>& rows, const T* in, std::size_t plane, T* planes) {
  parallel_for(rows.num_rows(), rows_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Lanes4<T> sum = weighted(rows, i, in);
      for (int c = 0; c < 3; ++c) planes[c * plane + i] += sum[c];
    }
  });
}

}  // namespace

template <class T>
struct NetMultigrid<T>::Impl {
  struct Level {
    Index n = 0;
    // Of the next level, unused on the last: interpolation, its transpose, and the sums of elements.
    SharedRows<T> prolong, restrict_, sums;
    BlockMatrix<T, BlockKind::symmetric> matrix;  // unused on the first level
    AlignedVector<T> elements;                    // [pairs, then grounds][8] blocks of the net's springs
    std::vector<Index> ground;                    // rows of the grounds
    std::vector<T> base;                          // [n]
    BlockJacobiPreconditioner<T> smoother;
    AlignedVector<T> b;     // right-hand side, unused on the first level
    AlignedVector<T> x, y;  // iterate by component; residual or result
  };

  std::deque<Level> levels;
  const BlockMatrix<T, BlockKind::spring>* spring = nullptr;
  const BlockMatrix<T, BlockKind::symmetric>* symmetric = nullptr;
  // The last level, if it is small: dense factors, in double because they cost nothing.
  Eigen::MatrixXd dense;
  Eigen::LLT<Eigen::MatrixXd> factors;
  Eigen::VectorXd dense_x;
  bool factored = false;

  template <class F>
  auto with_matrix(std::size_t level, F&& f) const {
    if (level > 0) return f(levels[level].matrix);
    return spring ? f(*spring) : f(*symmetric);
  }

  template <BlockKind kind>
  void expand(const BlockMatrix<T, kind>& matrix);
  void refill_coarse(std::size_t level);
  void factorize_last();
  double cycle(std::size_t level, std::span<const T> b, std::span<T> z);
};

template <class T>
NetMultigrid<T>::NetMultigrid() = default;
template <class T>
NetMultigrid<T>::~NetMultigrid() = default;
template <class T>
NetMultigrid<T>::NetMultigrid(NetMultigrid&&) noexcept = default;
template <class T>
NetMultigrid<T>& NetMultigrid<T>::operator=(NetMultigrid&&) noexcept = default;

template <class T>
NetMultigrid<T>::NetMultigrid(Index num_rows, std::span<const Index2> pairs, std::span<const T> strength,
                              std::span<const char> pinned)
    : impl_(std::make_unique<Impl>()) {
  if (pairs.size() != strength.size())
    throw Error(Problem{.what = "a net needs one strength for each pair",
                        .value = std::to_string(strength.size()),
                        .allowed = std::to_string(pairs.size())});
  NetGraph net;
  net.num_rows = num_rows;
  net.pairs.assign(pairs.begin(), pairs.end());
  net.strength.assign(strength.begin(), strength.end());
  net.pinned.assign(num_rows, 0);
  if (!pinned.empty()) std::copy(pinned.begin(), pinned.end(), net.pinned.begin());
  for (;;) {
    auto& level = impl_->levels.emplace_back();
    level.n = net.num_rows;
    const bool first = impl_->levels.size() == 1;
    if (!first) {
      level.matrix = BlockMatrix<T, BlockKind::symmetric>(net.num_rows, net.pairs);
      level.b = padded_vector<T>(net.num_rows);
      level.base.resize(net.num_rows);
      level.x.assign(3 * level.matrix.plane(), T(0));
    }
    level.elements.assign(8 * (net.pairs.size() + net.ground.size()), T(0));
    level.ground = net.ground;
    level.y = padded_vector<T>(net.num_rows);
    if ((net.num_rows <= dense_rows && !first) || impl_->levels.size() == most_levels) break;
    Coarsening<T> next = coarsen<T>(net);
    // Nothing to gain from a coarse net that is hardly smaller, or empty.
    if (next.coarse.num_rows == 0 || 10 * next.coarse.num_rows > 8 * net.num_rows) break;
    level.prolong = SharedRows<T>(next.prolong);
    level.restrict_ = SharedRows<T>(next.restrict_);
    level.sums = SharedRows<T>(next.elements);
    net = std::move(next.coarse);
  }
  const Index last = impl_->levels.back().n;
  if (last <= dense_rows && impl_->levels.size() > 1) {
    impl_->dense.resize(3 * last, 3 * last);
    impl_->factors = Eigen::LLT<Eigen::MatrixXd>(3 * last);
    impl_->dense_x.resize(3 * last);
  }
}

template <class T>
template <BlockKind kind>
void NetMultigrid<T>::Impl::expand(const BlockMatrix<T, kind>& matrix) {
  const BlockPattern& pattern = matrix.pattern();
  constexpr int width = BlockMatrix<T, kind>::width, entries = BlockMatrix<T, kind>::entries;
  T* out = levels[0].elements.data();
  parallel_for(pattern.num_pairs(), elements_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t slot = pattern.slot(static_cast<Index>(p), 0);
      const T* v = matrix.values().data() + pattern.value_of(slot, entries);
      T* b = out + 8 * p;
      if constexpr (kind == BlockKind::spring) {
        const T w0 = v[0], w1 = v[width], w2 = v[2 * width], a = v[3 * width];
        b[0] = a + w0 * w0, b[1] = a + w1 * w1, b[2] = a + w2 * w2;
        b[3] = w0 * w1, b[4] = w0 * w2, b[5] = w1 * w2;
      } else {
        for (int e = 0; e < 6; ++e) b[e] = -v[e * width];
      }
    }
  });
}

/// Values of level + 1 from those of level.
template <class T>
void NetMultigrid<T>::Impl::refill_coarse(std::size_t l) {
  const Level& fine = levels[l];
  Level& coarse = levels[l + 1];
  const SharedRows<T>& sums = fine.sums;
  const BlockPattern& pattern = coarse.matrix.pattern();
  constexpr int width = BlockMatrix<T, BlockKind::symmetric>::width;
  const auto pairs = static_cast<std::size_t>(pattern.num_pairs());
  parallel_for(sums.num_rows(), elements_per_block / 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      const auto row = sums.row(e);
      const T* const first = fine.elements.data() + 8 * static_cast<std::size_t>(row.first);
      const auto term = [&](Index k) {
        const auto entry = sums.entries()[k];
        return entry.weight * load_as<Block8<T>>(first + 8 * static_cast<std::ptrdiff_t>(entry.distance));
      };
      Block8<T> even{}, odd{};
      Index k = row.begin;
      for (; k + 1 < row.end; k += 2) even += term(k), odd += term(k + 1);
      if (k < row.end) even += term(k);
      even += odd;
      std::memcpy(&coarse.elements[8 * e], &even, sizeof even);
      if (e >= pairs) continue;
      for (int side = 0; side < 2; ++side) {
        const std::size_t slot = pattern.slot(static_cast<Index>(e), side);
        T* v = coarse.matrix.values().data() + pattern.value_of(slot, 6);
        for (int c = 0; c < 6; ++c) v[c * width] = -even[c];
      }
    }
  });
  const SharedRows<T>& gather = fine.restrict_;
  parallel_for(coarse.n, rows_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      T sum = 0;
      const auto row = gather.row(i);
      for (Index k = row.begin; k < row.end; ++k)
        sum += gather.entries()[k].weight * fine.base[row.first + gather.entries()[k].distance];
      coarse.base[i] = sum;
    }
  });
  coarse.matrix.set_diagonal_from_rows(coarse.base);
  for (std::size_t g = 0; g < coarse.ground.size(); ++g) {
    const T* b = &coarse.elements[8 * (pairs + g)];
    Matrix3<T> block;
    block << b[0], b[3], b[4], b[3], b[1], b[5], b[4], b[5], b[2];
    coarse.matrix.add_diagonal(coarse.ground[g], block);
  }
}

template <class T>
void NetMultigrid<T>::Impl::factorize_last() {
  const BlockMatrix<T, BlockKind::symmetric>& matrix = levels.back().matrix;
  const BlockPattern& pattern = matrix.pattern();
  dense.setZero();
  for (Index i = 0; i < matrix.num_rows(); ++i)
    dense.template block<3, 3>(3 * i, 3 * i) = matrix.diagonal(i).template cast<double>();
  for (Index p = 0; p < pattern.num_pairs(); ++p) {
    const std::size_t slot = pattern.slot(p, 0);
    const Index i = pattern.columns()[slot], j = pattern.columns()[pattern.slot(p, 1)];
    const Eigen::Matrix3d block = matrix.slot_block(slot).template cast<double>();
    dense.template block<3, 3>(3 * i, 3 * j) += block;
    dense.template block<3, 3>(3 * j, 3 * i) += block;
  }
  factors.compute(dense);
  factored = factors.info() == Eigen::Success;
}

template <class T>
template <BlockKind kind>
void NetMultigrid<T>::update(const BlockMatrix<T, kind>& matrix,
                             std::span<const T> base) requires(kind != BlockKind::general) {
  Impl& impl = *impl_;
  assert(matrix.num_rows() == impl.levels[0].n && base.size() == static_cast<std::size_t>(matrix.num_rows()));
  impl.spring = nullptr;
  impl.symmetric = nullptr;
  if constexpr (kind == BlockKind::spring)
    impl.spring = &matrix;
  else
    impl.symmetric = &matrix;
  impl.levels[0].base.assign(base.begin(), base.end());
  impl.levels[0].x.resize(3 * matrix.plane());
  impl.levels[0].smoother.update(matrix, T(damping));
  if (impl.levels.size() > 1) impl.expand(matrix);
  for (std::size_t l = 0; l + 1 < impl.levels.size(); ++l) {
    impl.refill_coarse(l);
    impl.levels[l + 1].smoother.update(impl.levels[l + 1].matrix, T(damping));
  }
  impl.factored = false;
  if (impl.dense.size() > 0) impl.factorize_last();
}

/// z = V b on this level; returns b.z.
template <class T>
double NetMultigrid<T>::Impl::cycle(std::size_t l, std::span<const T> b, std::span<T> z) {
  Level& level = levels[l];
  const std::size_t size = 3 * static_cast<std::size_t>(level.n);
  const std::span<T> x(level.x), y(level.y.data(), size);
  if (factored && l + 1 == levels.size()) {
    for (std::size_t i = 0; i < size; ++i) dense_x[static_cast<Eigen::Index>(i)] = double(b[i]);
    factors.solveInPlace(dense_x);
    for (std::size_t i = 0; i < size; ++i) z[i] = static_cast<T>(dense_x[static_cast<Eigen::Index>(i)]);
    return dot(b, std::span<const T>(z));
  }
  return with_matrix(l, [&](const auto& a) {
    level.smoother.apply_to_planes(b, a.plane(), x);  // one sweep from zero
    if (l + 1 < levels.size()) {
      Level& coarse = levels[l + 1];
      const std::size_t coarse_size = 3 * static_cast<std::size_t>(coarse.n);
      a.residual_after_jacobi(b, T(damping), x, y);
      restrict_to(level.restrict_, level.y.data(), coarse.b.data());
      cycle(l + 1, std::span<const T>(coarse.b.data(), coarse_size),
            std::span<T>(coarse.y.data(), coarse_size));
      prolong_to(level.prolong, coarse.y.data(), a.plane(), level.x.data());
    }
    // Where the net cannot be coarsened, or the last matrix is not definite in this precision, two sweeps are
    // all.
    return a.jacobi_sweep(level.smoother.values(), T(damping), b, x, z);
  });
}

template <class T>
double NetMultigrid<T>::apply_dot(std::span<const T> r, std::span<T> z) const {
  assert(r.size() == 3 * static_cast<std::size_t>(impl_->levels[0].n) && z.size() == r.size());
  return impl_->cycle(0, r, z);
}

template <class T>
int NetMultigrid<T>::num_levels() const {
  return static_cast<int>(impl_->levels.size());
}

template <class T>
Index NetMultigrid<T>::num_rows(int level) const {
  return impl_->levels[level].n;
}

template <class T>
double NetMultigrid<T>::operator_complexity() const {
  double blocks = 0, first = 0;
  for (std::size_t l = 0; l < impl_->levels.size(); ++l) {
    const auto springs = l == 0 ? impl_->levels[0].elements.size() / 8
                                : static_cast<std::size_t>(impl_->levels[l].matrix.pattern().num_pairs());
    const double count = static_cast<double>(impl_->levels[l].n) + 2 * static_cast<double>(springs);
    if (l == 0) first = count;
    blocks += count;
  }
  return blocks / first;
}

template class NetMultigrid<float>;
template class NetMultigrid<double>;
#define PLENUM_INSTANTIATE(T, kind) \
  template void NetMultigrid<T>::update(const BlockMatrix<T, BlockKind::kind>&, std::span<const T>);
PLENUM_INSTANTIATE(float, spring)
PLENUM_INSTANTIATE(float, symmetric)
PLENUM_INSTANTIATE(double, spring)
PLENUM_INSTANTIATE(double, symmetric)
#undef PLENUM_INSTANTIATE

}  // namespace plenum::inline PLENUM_ABI
