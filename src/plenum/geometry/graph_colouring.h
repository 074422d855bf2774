#pragma once
// Colours of constraints: those of one colour share no vertex, and may be solved at the same time. And slices
// of what they hold together, whose insides share none.
#include <span>
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

/// Items in order of their colour, those of each in increasing order.
struct Colouring {
  std::vector<Index> order;   ///< [items]
  std::vector<Index> starts;  ///< [colours + 1] of each colour in `order`
  Index num_colours() const { return static_cast<Index>(starts.size()) - 1; }
};

/// Colours items greedily in their order, each with the first colour that none of its vertices has yet; at
/// most as many colours as the largest number of items that meet one, over all vertices of an item, plus one.
/// items [count * points] < num_vertices: the vertices of each item in turn. Vertices that `still` [N] marks
/// do not count: what does not move may be shared. Empty: none is.
Colouring colour_greedily(std::span<const Index> items, int points, std::size_t num_vertices,
                          std::span<const std::uint8_t> still = {});

/// Slices of about as many vertices each, [items]: which of `slices` all vertices of an item are in, or -1 of
/// those that lie between two. Vertices follow each other by their distance, in items, from one that is far
/// from others (breadth-first: Cuthill & McKee 1969, "Reducing the bandwidth of sparse symmetric matrices"),
/// so that slices of a bar lie across it.
std::vector<Index> slices_of(std::span<const Index> items, int points, std::size_t num_vertices, int slices);

}  // namespace plenum::inline PLENUM_ABI
