#pragma once
// Packs by colour, and sweeps over them.
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "plenum/base/parallel_evenly.h"
#include "plenum/geometry/graph_colouring.h"
#include "plenum/linear/aligned.h"
#include "plenum/solvers/pbd/detail/damping.h"
#include "plenum/solvers/pbd/detail/wide_places.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

// A pack's `move<at_once>(p, sums, how, previous)` projects its constraints: it moves the particles
// p, or, all at once, adds their ways to the sums. It returns by how much constraints failed to hold.
template <class Pack>
[[gnu::always_inline]] inline void gather_points(const Pack& pack, const Place* places,
                                                 WidePlace (&p)[Pack::points]) {
  for (int i = 0; i < Pack::points; ++i) p[i] = gather_place(places, pack.particle[i]);
}
template <class Pack>
[[gnu::always_inline]] inline void put_points(const Pack& pack, Place* places,
                                              const WidePlace (&p)[Pack::points]) {
  for (int i = 0; i < Pack::points; ++i) put_place(places, pack.particle[i], pack.lanes, p[i]);
}
template <class Pack>
[[gnu::always_inline]] inline void project_one(Pack& pack, Place* places, const Projection& how) {
  WidePlace p[Pack::points];
  gather_points(pack, places, p);
  pack.template move<false>(p, nullptr, how, nullptr);
  put_points(pack, places, p);
}
/// Two packs of a colour, which share no particle. What one waits for, from its loads over a root and two
/// divisions to its stores, is as long as a processor looks ahead; two at a time keep it busy, if what they
/// are in the middle of fits its registers: packs say so (`in_pairs`).
template <class Pack>
[[gnu::always_inline]] inline void project_two(Pack& a, Pack& b, Place* places, const Projection& how) {
  WidePlace p[Pack::points], q[Pack::points];
  gather_points(a, places, p), gather_points(b, places, q);
  a.template move<false>(p, nullptr, how, nullptr);
  b.template move<false>(q, nullptr, how, nullptr);
  put_points(a, places, p), put_points(b, places, q);
}
template <class Pack>
[[gnu::always_inline]] inline Wide project_at_once(Pack& pack, const Place* places, const Projection& how,
                                                   typename Pack::Multipliers& previous) {
  WidePlace p[Pack::points];
  gather_points(pack, places, p);
  PlaceSums<Pack::points> sums(pack.particle, how);
  const Wide residual = pack.template move<true>(p, &sums, how, &previous);
  put_points(pack, how.sums, sums.sum);
  return residual;
}

/// Packs by colour.
template <class Pack>
class Batch {
 public:
  bool empty() const { return packs_.empty(); }
  std::size_t bytes() const { return packs_.size() * sizeof(Pack); }
  /// Constraints, or groups of those that a pack projects together.
  std::size_t size() const {
    std::size_t lanes = 0;
    for (const Pack& pack : packs_) lanes += static_cast<std::size_t>(std::popcount(pack.lanes));
    return lanes;
  }

  /// Lays out `items` [count * points] with fill(pack, lane, item) for what they are besides their particles;
  /// particles that `still` [N] marks may be shared within a colour. Those of a pack are damped alike, each
  /// as its first particle's `damping_time` [N] s says; empty: none is. What is within a slice of
  /// slices_of() is projected one colour after the other by itself, beside the other slices, before what is
  /// between them: a loop over a colour on several threads takes some microseconds, of which that it begins
  /// and ends takes one. Empty: there are none.
  template <class Fill>
  void lay_out(std::span<const Index> items, std::span<const std::uint8_t> still,
               std::span<const Real> damping_time, Fill&& set, std::span<const Index> slice = {}) {
    constexpr auto points = static_cast<std::size_t>(Pack::points);
    packs_.clear(), starts_.assign(1, 0), slices_.assign(1, 0);
    const Index num_slices = slice.empty() ? 0 : *std::max_element(slice.begin(), slice.end()) + 1;
    std::vector<Index> numbers, vertices;
    for (Index s = 0; s <= num_slices; ++s) {
      numbers.clear(), vertices.clear();
      for (std::size_t k = 0; k < items.size() / points; ++k) {
        if (!slice.empty() && slice[k] != (s < num_slices ? s : -1)) continue;
        numbers.push_back(Index(k));
        for (std::size_t i = 0; i < points; ++i) vertices.push_back(items[k * points + i]);
      }
      append(colour_greedily(vertices, Pack::points, still.size(), still), numbers, items, damping_time, set);
      if (s < num_slices) slices_.push_back(starts_.size() - 1);
    }
  }

  /// Where ways are counted from; places are positions [m].
  void begin(const Place* places) {
    parallel_for(packs_.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) packs_[k].begin(places);
    });
  }

  /// f(pack) of each, in parallel.
  template <class F>
  void each(F&& f) {
    parallel_for(packs_.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) f(packs_[k]);
    });
  }

  /// One sweep, colour by colour (Gauss-Seidel).
  void sweep(Place* places, const Projection& how) {
    sweep_with(how.is_back,
               [&](std::size_t first, std::size_t last) { project_all(first, last, places, how); });
  }
  /// Likewise of damping: takes its part from the ways [N] of a substep, with their inverse masses.
  void damp(Place* ways, const Damping& how, bool is_back) {
    damped_.resize(packs_.size());
    sweep_with(is_back, [&](std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) {
        const Pack& pack = packs_[k];
        if (!(pack.damping_time > 0)) continue;
        WidePlace way[Pack::points];
        gather_points(pack, ways, way);
        pack.damp(way, how, damped_[k].given);
        put_points(pack, ways, way);
      }
    });
  }

  /// All at once: adds the ways of particles, whose masses in `places` are shares, to how.sums. Returns by
  /// how much constraints fail to hold, the sum of |C + alpha~ lambda|^2 over their responses.
  double sweep_at_once(Place* places, const Projection& how) {
    previous_.resize(packs_.size());
    const auto add = [&](std::size_t begin, std::size_t end) {
      Wide sum{};
      for (std::size_t k = begin; k < end; ++k) sum += project_at_once(packs_[k], places, how, previous_[k]);
      double of_lanes = 0;
      for (int l = 0; l < wide; ++l) of_lanes += static_cast<double>(sum[l]);
      return of_lanes;
    };
    double residual = ordered_sum(slices_.size() - 1, 1, [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t c = slices_[begin]; c < slices_[end]; ++c) sum += add(starts_[c], starts_[c + 1]);
      return sum;
    });
    for (std::size_t c = slices_.back(); c + 1 < starts_.size(); ++c)
      residual += ordered_sum(
          starts_[c + 1] - starts_[c], packs_per_block,
          [&](std::size_t begin, std::size_t end) { return add(starts_[c] + begin, starts_[c] + end); });
    return residual;
  }
  /// Adds to those of each particle [N] how many constraints share it.
  void count(std::span<Real> shares) const {
    for (const Pack& pack : packs_)
      for (int l = 0; l < wide; ++l)
        for (int i = 0; i < Pack::points && (pack.lanes >> l & 1) != 0; ++i)
          shares[static_cast<std::size_t>(pack.particle[i][l])] += Pack::count;
  }

 private:
  /// Appends those of the items that `numbers` tells, by their colours.
  template <class Fill>
  void append(const Colouring& colours, std::span<const Index> numbers, std::span<const Index> items,
              std::span<const Real> damping_time, Fill&& set) {
    constexpr auto points = static_cast<std::size_t>(Pack::points);
    for (Index c = 0; c < colours.num_colours(); ++c) {
      const auto first = static_cast<std::size_t>(colours.starts[std::size_t(c)]),
                 last = static_cast<std::size_t>(colours.starts[std::size_t(c) + 1]);
      const auto item_at = [&](std::size_t k) { return std::size_t(numbers[std::size_t(colours.order[k])]); };
      const auto damping_at = [&](std::size_t k) {
        return damping_time.empty() ? Real(0)
                                    : damping_time[static_cast<std::size_t>(items[item_at(k) * points])];
      };
      for (std::size_t k = first, end; k < last; k = end) {
        Pack& pack = packs_.emplace_back();
        pack = Pack{};
        pack.damping_time = damping_at(k);
        for (end = k + 1; end < std::min(last, k + wide) && damping_at(end) == pack.damping_time;) ++end;
        for (std::size_t l = 0; l < std::size_t(wide); ++l) {
          // Lanes left over repeat the last constraint, and write nothing.
          const bool holds = k + l < end;
          const std::size_t item = item_at(holds ? k + l : end - 1);
          for (std::size_t i = 0; i < points; ++i) pack.particle[i][l] = items[item * points + i];
          set(pack, int(l), item);
          pack.lanes |= unsigned(holds) << l;
        }
      }
      starts_.push_back(packs_.size());
    }
  }
  /// f(first, last) of the packs of each colour of each slice, and then of those between, in blocks; or back.
  template <class F>
  [[gnu::always_inline]] void sweep_with(bool is_back, F&& f) {
    const auto between = [&] {
      sweep_colours(slices_.back(), starts_.size() - 1, is_back, [&](std::size_t first, std::size_t last) {
        parallel_for_evenly(last - first, packs_per_block,
                            [&](std::size_t begin, std::size_t end) { f(first + begin, first + end); });
      });
    };
    if (is_back) between();
    parallel_blocks(slices_.size() - 1,
                    [&](std::size_t k) { sweep_colours(slices_[k], slices_[k + 1], is_back, f); });
    if (!is_back) between();
  }
  template <class F>
  void sweep_colours(std::size_t begin, std::size_t end, bool is_back, F&& f) {
    for (std::size_t n = begin; n < end; ++n) {
      const std::size_t c = is_back ? begin + end - 1 - n : n;
      f(starts_[c], starts_[c + 1]);
    }
  }
  [[gnu::always_inline]] void project_all(std::size_t first, std::size_t last, Place* places,
                                          const Projection& how) {
    for (std::size_t k = first; k < last; ++k) {
      Pack& pack = packs_[k];
      if constexpr (Pack::in_pairs)
        if (k + 1 < last) {
          project_two(pack, packs_[++k], places, how);
          continue;
        }
      project(pack, places, how);
    }
  }
  [[gnu::always_inline]] static void project(Pack& pack, Place* places, const Projection& how) {
    if constexpr (requires { &Pack::project; })
      pack.project(places, how);
    else
      project_one(pack, places, how);
  }

  static constexpr std::size_t packs_per_block = 16;
  AlignedVector<Pack> packs_;
  template <class P>
  struct Rates {};
  template <class P>
  requires(P::rates > 0) struct Rates<P> {
    Wide given[P::rates];
  };
  AlignedVector<Rates<Pack>> damped_;                   ///< multipliers of damping; once wanted
  AlignedVector<typename Pack::Multipliers> previous_;  ///< of each pack, before the last sweep; once wanted
  std::vector<std::size_t> starts_ = {0};               ///< [colours + 1]
  std::vector<std::size_t> slices_ = {0};               ///< [slices + 1] colours of each; others follow
};

}}  // namespace plenum::PLENUM_ABI::detail
