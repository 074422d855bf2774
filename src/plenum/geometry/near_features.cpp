#include "plenum/geometry/near_features.h"

#include <algorithm>

#include "plenum/geometry/adjacency.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t patch_size = 16;      ///< most triangles of a patch
constexpr std::size_t block_size = 32;      ///< pairs of patches that one thread goes through at a time
constexpr std::size_t blocks_at_once = 64;  ///< before their pairs are counted
/// Pairs that there may be of each patch, and besides: in a heap of cloth a patch has some tens.
constexpr std::size_t most_patch_pairs_each = 256, most_patch_pairs_besides = 65536;
constexpr std::size_t sieved = 512;  ///< pairs that are collected before the sieve takes most of them

Aabb box_of(std::span<const Aabb> boxes, Index vertex) {
  return boxes[std::size_t(vertex)];
}
template <class Feature>
Aabb box_of(std::span<const Aabb> boxes, const Feature& feature) {
  Aabb box;
  for (const Index v : feature) box.extend(boxes[std::size_t(v)]);
  return box;
}

bool has_marked(std::span<const std::uint8_t> marks, Index vertex) {
  return marks[std::size_t(vertex)] != 0;
}
template <class Feature>
bool has_marked(std::span<const std::uint8_t> marks, const Feature& feature) {
  return std::any_of(feature.begin(), feature.end(), [&](Index v) { return marks[std::size_t(v)] != 0; });
}

/// Calls found(j) for features j in [begin, end) of a kind whose boxes overlap that of feature i of another.
template <class A, class B, class Found>
void overlapping(const A& as, std::size_t i, const B& bs, std::size_t begin, std::size_t end, Found&& found) {
  using detail::fill, detail::load_wide, detail::wide;
  for (std::size_t j = begin; j < end; j += wide) {
    auto meets = load_wide(&bs.low[0][j]) <= fill(as.high[0][i]);
    meets &= load_wide(&bs.high[0][j]) >= fill(as.low[0][i]);
    for (int c = 1; c < 3; ++c) {
      meets &= load_wide(&bs.low[c][j]) <= fill(as.high[c][i]);
      meets &= load_wide(&bs.high[c][j]) >= fill(as.low[c][i]);
    }
    detail::each_lane(meets, [&](int l) {
      if (j + std::size_t(l) < end) found(j + std::size_t(l));
    });
  }
}

/// Whether the box of feature i overlaps another: of most pairs of patches only the rims are near.
template <class A>
bool is_near(const A& as, std::size_t i, const Aabb& other) {
  bool near = true;
  for (int c = 0; c < 3; ++c) near &= (as.low[c][i] <= other.high[c]) & (as.high[c][i] >= other.low[c]);
  return near;
}

}  // namespace

template <class Feature>
void NearFeatures::Kind<Feature>::make_room() {
  for (int c = 0; c < 3; ++c)
    low[c].assign(of.size() + detail::wide, 0), high[c].assign(of.size() + detail::wide, 0);
  changed.assign(of.size(), 0);
}

/// Marks the features of a patch that have a marked vertex; whether there are any.
template <class Feature>
bool NearFeatures::Kind<Feature>::mark(std::span<const std::uint8_t> vertices, std::size_t patch) {
  bool any = false;
  for (auto f = std::size_t(first[patch]); f < std::size_t(first[patch + 1]); ++f) {
    changed[f] = has_marked(vertices, of[f]);
    any |= changed[f] != 0;
  }
  return any;
}

/// Boxes of the features of a patch, and of the patch.
template <class Feature>
Aabb NearFeatures::Kind<Feature>::fit(std::span<const Aabb> boxes, std::size_t patch) {
  Aabb whole;
  for (auto f = std::size_t(first[patch]); f < std::size_t(first[patch + 1]); ++f) {
    const Aabb box = box_of(boxes, of[f]);
    for (int c = 0; c < 3; ++c) low[c][f] = box.low[c], high[c][f] = box.high[c];
    whole.extend(box);
  }
  return whole;
}

void FeaturePairs::append(const FeaturePairs& more) {
  vertex_face.insert(vertex_face.end(), more.vertex_face.begin(), more.vertex_face.end());
  edge_edge.insert(edge_edge.end(), more.edge_edge.begin(), more.edge_edge.end());
}

void NearFeatures::build(std::size_t num_vertices, std::span<const Index3> triangles) {
  vertices_ = {}, edges_ = {}, faces_ = {};
  const Rows around = vertex_triangles(num_vertices, triangles);
  std::vector<std::uint8_t> taken(triangles.size(), 0), has_vertex(num_vertices, 0);
  // Which triangle's patch an edge is in: the first one's in the order of patches.
  std::vector<std::uint8_t> has_edge;
  const std::vector<Index2> all_edges = unique_edges(triangles);
  has_edge.assign(all_edges.size(), 0);
  const auto number_of = [&](Index a, Index b) {
    const Index2 edge(std::min(a, b), std::max(a, b));
    const auto at = std::lower_bound(
        all_edges.begin(), all_edges.end(), edge,
        [](const Index2& p, const Index2& q) { return p[0] != q[0] ? p[0] < q[0] : p[1] < q[1]; });
    return std::size_t(at - all_edges.begin());
  };
  std::vector<Index> queue;
  for (std::size_t seed = 0; seed < triangles.size(); ++seed) {
    if (taken[seed]) continue;
    // A patch grows from the first triangle that is in none, over neighbours at its vertices, breadth first.
    queue.assign(1, Index(seed));
    taken[seed] = 1;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const Index3& t = triangles[std::size_t(queue[k])];
      if (t[1] != t[2]) faces_.of.push_back(t);
      for (int c = 0; c < 3; ++c) {
        const Index v = t[c], next = t[(c + 1) % 3];
        if (!has_vertex[std::size_t(v)]) has_vertex[std::size_t(v)] = 1, vertices_.of.push_back(v);
        if (v == next) continue;
        std::uint8_t& has = has_edge[number_of(v, next)];
        if (!has) has = 1, edges_.of.push_back({v, next});
      }
      for (const Index v : t)
        for (const Index next : around[std::size_t(v)]) {
          if (taken[std::size_t(next)] || queue.size() >= patch_size) continue;
          taken[std::size_t(next)] = 1;
          queue.push_back(next);
        }
    }
    vertices_.end_patch(), edges_.end_patch(), faces_.end_patch();
  }
  vertices_.make_room(), edges_.make_room(), faces_.make_room();
  patch_box_.resize(faces_.first.size() - 1);
  active_.assign(patch_box_.size(), 1);
}

bool NearFeatures::find(std::span<const Aabb> boxes, std::span<const std::uint8_t> changed, Sieve sieve,
                        FeaturePairs& out, std::size_t most) {
  is_partial_ = !changed.empty();
  parallel_for(patch_box_.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      active_[p] = 1;
      if (is_partial_) {
        const bool vertices = vertices_.mark(changed, p), edges = edges_.mark(changed, p);
        active_[p] = faces_.mark(changed, p) || edges || vertices;
      }
      if (!active_[p]) continue;
      patch_box_[p] = faces_.fit(boxes, p);
      vertices_.fit(boxes, p);
      patch_box_[p].extend(edges_.fit(boxes, p));
    }
  });
  const std::size_t most_patch_pairs = most_patch_pairs_each * patch_box_.size() + most_patch_pairs_besides;
  if (!tree_.find_at_most(
          most_patch_pairs, {patch_box_, active_}, [](Index, Index) { return true; }, patch_pairs_))
    return false;
  for (std::size_t p = 0; p < patch_box_.size(); ++p)
    if (active_[p]) patch_pairs_.push_back({Index(p), Index(p)});
  const std::size_t blocks = (patch_pairs_.size() + block_size - 1) / block_size;
  found_.resize(std::max(found_.size(), std::min(blocks, blocks_at_once)));
  const auto search = [&](std::size_t b, Block& block) {
    // Few at a time: all that overlap may be a hundred times as many as what is left of them.
    auto& [found, kept] = block;
    found.clear(), kept.clear();
    const std::size_t end = std::min(patch_pairs_.size(), (b + 1) * block_size);
    for (std::size_t k = b * block_size; k < end; ++k) {
      pair_patches(patch_pairs_[k], found);
      if (found.size() < sieved && k + 1 < end) continue;
      sieve(found);
      kept.append(found);
      found.clear();
    }
  };
  for (std::size_t first = 0; first < blocks; first += blocks_at_once) {
    const std::size_t count = std::min(blocks_at_once, blocks - first);
    parallel_blocks(count, [&](std::size_t b) { search(first + b, found_[b]); });
    for (std::size_t b = 0; b < count; ++b) out.append(found_[b].kept);
    if (out.size() > most) return false;
  }
  return true;
}

/// found(a, b) for features of two patches whose boxes overlap; of one kind and one patch, each pair once.
template <class A, class B, class Found>
void NearFeatures::pair_all(const Kind<A>& as, const Kind<B>& bs, const Index2& patches,
                            Found&& found) const {
  const bool once = std::is_same_v<A, B> && patches[0] == patches[1];
  const Aabb &box_a = patch_box_[std::size_t(patches[0])], &box_b = patch_box_[std::size_t(patches[1])];
  const std::size_t begin_a = as.begin_of(patches[0]), end_a = as.end_of(patches[0]),
                    begin_b = bs.begin_of(patches[1]), end_b = bs.end_of(patches[1]);
  for (std::size_t i = begin_a; i < end_a; ++i) {
    if ((is_partial_ && !as.changed[i]) || !is_near(as, i, box_b)) continue;
    overlapping(as, i, bs, once && !is_partial_ ? i + 1 : begin_b, end_b, [&](std::size_t j) {
      if (!once || i < j)
        found(as.of[i], bs.of[j]);
      else if (!bs.changed[j])
        found(as.of[j], bs.of[i]);
    });
  }
  if (!is_partial_ || once) return;
  for (std::size_t j = begin_b; j < end_b; ++j) {
    if (!bs.changed[j] || !is_near(bs, j, box_a)) continue;
    overlapping(bs, j, as, begin_a, end_a, [&](std::size_t i) {
      if (!as.changed[i]) found(as.of[i], bs.of[j]);
    });
  }
}

void NearFeatures::pair_patches(const Index2& pair, FeaturePairs& out) const {
  const auto vertex_face = [&](Index v, const Index3& f) {
    if (v != f[0] && v != f[1] && v != f[2]) out.vertex_face.push_back({v, f[0], f[1], f[2]});
  };
  pair_all(vertices_, faces_, pair, vertex_face);
  if (pair[0] != pair[1]) pair_all(vertices_, faces_, {pair[1], pair[0]}, vertex_face);
  pair_all(edges_, edges_, pair, [&](const Index2& e, const Index2& f) {
    if (e[0] != f[0] && e[0] != f[1] && e[1] != f[0] && e[1] != f[1])
      out.edge_edge.push_back({e[0], e[1], f[0], f[1]});
  });
}

}  // namespace plenum::inline PLENUM_ABI
