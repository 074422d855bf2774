#include "plenum/solvers/rigid/detail/block_ldlt.h"

#include <algorithm>

namespace plenum::inline PLENUM_ABI { namespace detail {

void BlockPattern::analyze(Index n, std::span<const Index2> positions) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::vector<Index>> columns(size);
  for (const Index2& at : positions) {
    assert(at[0] > at[1] && at[1] >= 0 && at[0] < n);
    columns[std::size_t(at[1])].push_back(at[0]);
  }
  // A column's rows also stand in the column of the first of them, its parent in the elimination tree (Liu
  // 1990).
  for (std::size_t j = 0; j < size; ++j) {
    std::vector<Index>& rows = columns[j];
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    if (rows.size() > 1) {
      std::vector<Index>& parent = columns[std::size_t(rows.front())];
      parent.insert(parent.end(), rows.begin() + 1, rows.end());
    }
  }
  column_begin.assign(1, 0);
  row.clear();
  for (const std::vector<Index>& rows : columns) {
    row.insert(row.end(), rows.begin(), rows.end());
    column_begin.push_back(static_cast<Index>(row.size()));
  }
  updates.clear();
  update_begin.assign(1, 0);
  for (Index j = 0; j < n; ++j) {
    const Index begin = column_begin[std::size_t(j)], end = column_begin[std::size_t(j) + 1];
    for (Index s = begin; s < end; ++s) {
      updates.push_back({s, s, -1 - row[std::size_t(s)]});
      for (Index t = s + 1; t < end; ++t)
        updates.push_back({s, t, find(row[std::size_t(t)], row[std::size_t(s)])});
    }
    update_begin.push_back(static_cast<Index>(updates.size()));
  }
}

Index BlockPattern::find(Index r, Index column) const {
  const auto begin = row.begin() + column_begin[std::size_t(column)],
             end = row.begin() + column_begin[std::size_t(column) + 1];
  const auto at = std::lower_bound(begin, end, r);
  assert(at != end && *at == r);
  return static_cast<Index>(at - row.begin());
}

}}  // namespace plenum::PLENUM_ABI::detail
