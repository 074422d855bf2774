#include <algorithm>
#include <numeric>

#include "plenum/geometry/broad/box_pairs.h"

namespace plenum::inline PLENUM_ABI {

void PairSorter::sort(std::size_t n, std::span<const Index2> unsorted, std::vector<Index2>& pairs) {
  starts_.assign(n + 1, 0);
  for (const Index2& p : unsorted) ++starts_[p[0] + 1];
  for (std::size_t k = 0; k < n; ++k) starts_[k + 1] += starts_[k];
  make_room(pairs, unsorted.size());
  pairs.resize(unsorted.size());
  for (std::size_t p = unsorted.size(); p-- > 0;) pairs[--starts_[unsorted[p][0] + 1]] = unsorted[p];
  for (std::size_t k = 0; k < n; ++k) {
    const Index first = starts_[k + 1];
    const Index end = k + 1 < n ? starts_[k + 2] : static_cast<Index>(pairs.size());
    std::sort(pairs.begin() + first, pairs.begin() + end,
              [](const Index2& a, const Index2& b) { return a[1] < b[1]; });
  }
}

void SweepAndPrune::find(const BoxItems& items, PairFilter wanted, std::vector<Index2>& pairs) {
  const std::size_t n = items.boxes.size();
  pairs.clear();
  Vector3<double> sum = Vector3<double>::Zero(), square = sum;
  double count = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (!items.active[k] || !is_bounded(items.boxes[k])) continue;
    const Vector3<double> p = items.boxes[k].centre().cast<double>();
    sum += p, square += p.cwiseProduct(p), count += 1;
  }
  int axis = 0;
  if (count > 0) (square - sum.cwiseProduct(sum) / count).maxCoeff(&axis);
  if (order_.size() != n) {
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), Index(0));
  }
  const auto before = [&](Index a, Index b) {
    const Real la = items.boxes[a].low[axis], lb = items.boxes[b].low[axis];
    return la < lb || (la == lb && a < b);
  };
  // By insertion while little has changed.
  std::size_t budget = 8 * n;
  for (std::size_t k = 1; k < n && budget > 0; ++k) {
    const Index item = order_[k];
    std::size_t to = k;
    while (to > 0 && before(item, order_[to - 1]) && budget > 0) order_[to] = order_[to - 1], --to, --budget;
    order_[to] = item;
  }
  if (budget == 0) std::sort(order_.begin(), order_.end(), before);
  sorted_.resize(n);
  for (std::size_t k = 0; k < n; ++k)
    sorted_[k] = {items.boxes[order_[k]], order_[k], items.active[order_[k]] != 0};

  const int other = (axis + 1) % 3, third = (axis + 2) % 3;
  found_.clear();
  blocks_.gather(n, 64, found_, [&](std::size_t begin, std::size_t end, std::vector<Index2>& list) {
    for (std::size_t s = begin; s < end; ++s) {
      const Entry& a = sorted_[s];
      for (std::size_t t = s + 1; t < n; ++t) {
        const Entry& b = sorted_[t];
        if (b.box.low[axis] > a.box.high[axis]) break;
        if (b.box.low[other] > a.box.high[other] || b.box.high[other] < a.box.low[other] ||
            b.box.low[third] > a.box.high[third] || b.box.high[third] < a.box.low[third])
          continue;
        if ((a.active || b.active) && wanted(a.item, b.item))
          list.push_back({std::min(a.item, b.item), std::max(a.item, b.item)});
      }
    }
  });
  sorter_.sort(n, found_, pairs);
}

}  // namespace plenum::inline PLENUM_ABI
