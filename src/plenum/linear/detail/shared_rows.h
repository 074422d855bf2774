#pragma once
// Sparse rows that say the same of their neighbourhood, kept once.
#include <map>
#include <utility>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/linear/detail/coarsening.h"

namespace plenum::inline PLENUM_ABI {

/// SparseRows of which those with the same weights at the same distances from their first index share a
/// pattern. The coarse nets of a grid need a few hundred patterns for a million weights, so that
/// interpolating and refilling move the numbers and hardly any weights. Entries of row i are [begin(i),
/// end(i)), in order.
template <class T>
class SharedRows {
 public:
  SharedRows() = default;
  explicit SharedRows(const SparseRows<T>& rows) {
    std::map<std::vector<std::pair<Index, T>>, Index> known;
    std::vector<std::pair<Index, T>> key;
    rows_.reserve(rows.num_rows());
    for (Index i = 0; i < rows.num_rows(); ++i) {
      const Index first = rows.begin[i] < rows.begin[i + 1] ? rows.index[rows.begin[i]] : 0;
      key.clear();
      for (Index k = rows.begin[i]; k < rows.begin[i + 1]; ++k)
        key.emplace_back(rows.index[k] - first, rows.weight[k]);
      const auto [at, is_new] = known.try_emplace(key, static_cast<Index>(entries_.size()));
      if (is_new)
        for (const auto& [distance, weight] : key) entries_.push_back({distance, weight});
      rows_.push_back({first, at->second, at->second + static_cast<Index>(key.size())});
    }
  }
  Index num_rows() const { return static_cast<Index>(rows_.size()); }

  struct Entry {
    Index distance;
    T weight;
  };
  struct Row {
    Index first, begin, end;  ///< index of the first entry; entries
  };
  const Row& row(std::size_t i) const { return rows_[i]; }
  const Entry* entries() const { return entries_.data(); }

 private:
  std::vector<Row> rows_;
  std::vector<Entry> entries_;
};

}  // namespace plenum::inline PLENUM_ABI
