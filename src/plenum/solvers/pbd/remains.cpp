// What is left of a whole model as it has torn.
//
// Triangles, and segments of ropes, keep their areas, masses and materials. What is left of everything else
// follows from the whole model and from the particles that the corners of its triangles are now; so it does
// not depend on the order in which things tore, and checkpoints hold no more than these corners and ends.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/surface_paths.h"
#include "plenum/solvers/pbd/detail/rims.h"
#include "plenum/solvers/pbd/detail/whole.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Pbd::Model;
using detail::is_rope;

/// A tether may be this much shorter than the way along the cloth; paths over edges are some percent too
/// long.
constexpr Real detour = Real(1.1);

/// What is left of a whole model, constraint by constraint.
class Remains {
 public:
  explicit Remains(Model& model)
      : m_(model),
        whole_(*model.whole),
        size_(whole_.mass.size()),
        is_split_(size_, 0),
        incident_(vertex_triangles(size_, whole_.triangles)),
        ends_(whole_.edges),
        segment_after_(size_, -1) {
    for (const Index from : m_.torn_from) is_split_[std::size_t(from)] = 1;
    is_near_ = is_split_;
    for (const Index3& t : whole_.triangles)
      if (is_split_[std::size_t(t[0])] | is_split_[std::size_t(t[1])] | is_split_[std::size_t(t[2])])
        for (const Index i : t) is_near_[std::size_t(i)] = 1;
  }

  void make() {
    m_.triangles = whole_.triangles;
    const auto first_end = static_cast<Index>(3 * whole_.triangles.size());
    for (const Index2& c : m_.torn_corners)
      if (const Index end = c[0] - first_end; end < 0)
        m_.triangles[std::size_t(c[0] / 3)][c[0] % 3] = c[1];
      else
        ends_[std::size_t(end / 2)][end % 2] = c[1];
    for (const Pbd::Part& part : whole_.parts)
      for (Index e = part.first_edge; is_rope(part) && e < part.first_edge + part.num_edges; ++e)
        segment_after_[std::size_t(whole_.edges[std::size_t(e)][0])] = e;
    particles();
    pins();
    distances();
    quads(whole_.hinges, m_.hinges, whole_.rest_angle, m_.rest_angle, whole_.angle_compliance,
          m_.angle_compliance);
    quads(whole_.plates, m_.plates, whole_.plate_weights, m_.plate_weights, whole_.plate_compliance,
          m_.plate_compliance);
    bends();
    corners(whole_.strain_triangles, m_.strain_triangles);
    corners(whole_.area_triangles, m_.area_triangles);
    tethers();
  }

 private:
  template <class Particles>
  bool is_near(const Particles& of) const {
    return std::any_of(of.begin(), of.end(), [&](Index i) { return is_near_[std::size_t(i)] != 0; });
  }
  bool has(Index t, Index i) const { return (whole_.triangles[std::size_t(t)].array() == i).any(); }
  /// The particle that corner i of the whole triangle t is now.
  Index now(Index t, Index i) const {
    const Index3& corners = whole_.triangles[std::size_t(t)];
    for (int c = 0; c < 3; ++c)
      if (corners[c] == i) return m_.triangles[std::size_t(t)][c];
    return i;
  }

  /// Masses go where the areas of triangles go, and the lengths of ropes' segments.
  void particles() {
    const std::size_t count = size_ + m_.torn_from.size();
    m_.mass = whole_.mass, m_.rest_position = whole_.rest_position;
    std::vector<double> area(count, 0), whole_area(size_, 0);
    const std::vector<Real> areas = triangle_areas(whole_.rest_position, whole_.triangles);
    for (std::size_t t = 0; t < areas.size(); ++t)
      for (int c = 0; c < 3; ++c) {
        area[std::size_t(m_.triangles[t][c])] += double(areas[t]);
        whole_area[std::size_t(whole_.triangles[t][c])] += double(areas[t]);
      }
    for (const Index e : segment_after_)
      for (int c = 0; e >= 0 && c < 2; ++c) {
        const double length = double(whole_.rest_length[std::size_t(e)]);
        area[std::size_t(ends_[std::size_t(e)][c])] += length;
        whole_area[std::size_t(whole_.edges[std::size_t(e)][c])] += length;
      }
    for (std::size_t k = 0; k < m_.torn_from.size(); ++k) {
      const auto from = static_cast<std::size_t>(m_.torn_from[k]);
      const Real share = Real(double(whole_.mass[from]) * area[size_ + k] / whole_area[from]);
      m_.mass.push_back(share);
      m_.mass[from] -= share;
      m_.rest_position.push_back(whole_.rest_position[from]);
    }
  }

  /// Each piece of what is held is held, a little apart from the others: where it lay at rest, into its
  /// triangles there.
  void pins() {
    m_.pinned = whole_.pinned, m_.pin_group = whole_.pin_group, m_.pin_position = whole_.pin_position;
    std::vector<Index> pin_of(size_, -1);
    for (std::size_t p = 0; p < whole_.pinned.size(); ++p) pin_of[std::size_t(whole_.pinned[p])] = Index(p);
    std::vector<std::vector<std::size_t>> pieces(whole_.pinned.size());  // pins of each
    for (std::size_t k = 0; k < m_.torn_from.size(); ++k) {
      const Index p = pin_of[std::size_t(m_.torn_from[k])];
      if (p < 0) continue;
      if (pieces[std::size_t(p)].empty()) pieces[std::size_t(p)].push_back(std::size_t(p));
      pieces[std::size_t(p)].push_back(m_.pinned.size());
      m_.pinned.push_back(Index(size_ + k));
      m_.pin_group.push_back(whole_.pin_group[std::size_t(p)]);
      m_.pin_position.push_back(whole_.pin_position[std::size_t(p)]);
    }
    if (m_.pinned.size() == whole_.pinned.size()) return;
    const Rows around = vertex_triangles(m_.mass.size(), m_.triangles);
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (pieces[p].empty()) continue;
      const Index group = whole_.pin_group[p];
      // Of a carrier, in its frame.
      const Quat turn = group < 0 ? m_.rides[std::size_t(-1 - group)].hung.conjugate() : Quat::Identity();
      Vec3 common = Vec3::Zero();
      for (const std::size_t q : pieces[p]) {
        const auto i = std::size_t(m_.pinned[q]);
        const Vec3 way = detail::inward(m_.rest_position, m_.triangles, around[i], m_.pinned[q]);
        m_.pin_position[q] += detail::parted * whole_.shortest_edge * (turn * way);
        common += m_.mass[i] * way;
      }
      common *= detail::parted * whole_.shortest_edge / whole_.mass[std::size_t(whole_.pinned[p])];
      for (const std::size_t q : pieces[p]) m_.pin_position[q] -= turn * common;
    }
  }

  /// What a side of whole triangles is now: one or two pairs of particles, each with its share of the
  /// triangles.
  struct Side {
    Index2 ends;
    Real share;
  };
  struct Sides {
    std::array<Side, 2> of;
    int count = 0;
    const Side* begin() const { return of.data(); }
    const Side* end() const { return of.data() + count; }
  };
  Sides side(Index a, Index b) const {
    Sides out;
    for (const Index t : incident_[std::size_t(a)]) {
      if (!has(t, b)) continue;
      const Index2 ends(now(t, a), now(t, b));
      if (out.count == 1 && out.of[0].ends != ends)
        out.of[0].share = Real(0.5), out.of[out.count++] = {ends, Real(0.5)};
      else if (out.count == 0)
        out.of[out.count++] = {ends, 1};
    }
    return out;
  }

  /// Two whole triangles of four particles that share a side and still do; what the particles are now.
  template <class Particles>
  std::optional<Particles> joined(Index t, Index u, const Particles& of) const {
    Particles out = of;
    for (Index& i : out) {
      const bool of_t = has(t, i), of_u = has(u, i);
      if (of_t && of_u && now(t, i) != now(u, i)) return std::nullopt;
      i = of_t ? now(t, i) : now(u, i);
    }
    return out;
  }

  /// Sides are shared out between what they have come to be; diagonals across two triangles hold while these
  /// hang together.
  void distances() {
    m_.edges.clear(), m_.rest_length.clear(), m_.stretch_compliance.clear();
    const auto put = [&](const Index2& ends, std::size_t e, Real share) {
      m_.edges.push_back(ends);
      m_.rest_length.push_back(whole_.rest_length[e]);
      m_.stretch_compliance.push_back(whole_.stretch_compliance[e] / share);
    };
    std::size_t e = 0;
    const auto put_until = [&](std::size_t end) {
      for (; e < end; ++e) {
        const Index2& ends = whole_.edges[e];
        if (!is_near(ends) || segment_after_[std::size_t(ends[0])] == Index(e)) {
          put(ends_[e], e, 1);
          continue;
        }
        const Sides sides = side(ends[0], ends[1]);
        for (const Side& s : sides) put(s.ends, e, s.share);
        if (sides.count > 0) continue;
        if (const auto now = across(ends)) put(*now, e, 1);
      }
    };
    for (std::size_t p = 0; p < whole_.parts.size(); ++p) {
      const Pbd::Part& part = whole_.parts[p];
      put_until(std::size_t(part.first_edge));
      m_.parts[p].first_edge = Index(m_.edges.size());
      put_until(std::size_t(part.first_edge + part.num_edges));
      m_.parts[p].num_edges = Index(m_.edges.size()) - m_.parts[p].first_edge;
    }
    put_until(whole_.edges.size());
  }
  /// A diagonal between the far corners of two triangles, if these hang together.
  std::optional<Index2> across(const Index2& ends) const {
    for (const Index t : incident_[std::size_t(ends[0])])
      for (const Index u : incident_[std::size_t(ends[1])]) {
        Index2 shared(-1, -1);
        int count = 0;
        for (const Index i : whole_.triangles[std::size_t(t)])
          if (has(u, i) && count < 2) shared[count++] = i;
        if (count < 2) continue;
        const bool hang = now(t, shared[0]) == now(u, shared[0]) && now(t, shared[1]) == now(u, shared[1]);
        return hang ? std::optional(Index2(now(t, ends[0]), now(u, ends[1]))) : std::nullopt;
      }
    return std::nullopt;
  }

  /// Constraints on two triangles that share a side: hinges, and cells that twist.
  template <class A, class B>
  void quads(const std::vector<Index4>& from, std::vector<Index4>& to, const std::vector<A>& from_a,
             std::vector<A>& to_a, const std::vector<B>& from_b, std::vector<B>& to_b) const {
    to.clear(), to_a.clear(), to_b.clear();
    for (std::size_t k = 0; k < from.size(); ++k) {
      const std::optional<Index4> now = is_near(from[k]) ? quad(from[k]) : from[k];
      if (!now) continue;
      to.push_back(*now), to_a.push_back(from_a[k]), to_b.push_back(from_b[k]);
    }
  }
  std::optional<Index4> quad(const Index4& of) const {
    // Its triangles have their corners among the four.
    std::array<Index, 2> found = {-1, -1};
    int count = 0;
    for (const Index i : of)
      for (const Index t : incident_[std::size_t(i)]) {
        const Index3& c = whole_.triangles[std::size_t(t)];
        const bool inside = std::all_of(c.begin(), c.end(), [&](Index j) { return (of.array() == j).any(); });
        if (!inside || t == found[0] || t == found[1]) continue;
        if (count < 2) found[std::size_t(count)] = t;
        ++count;
      }
    return count == 2 ? joined(found[0], found[1], of) : std::nullopt;
  }

  /// Rows and columns bend where two sides in a row still have their middle in common.
  void bends() {
    m_.bends.clear(), m_.bend_weights.clear(), m_.rod_compliance.clear();
    for (std::size_t k = 0; k < whole_.bends.size(); ++k) {
      const Index3& of = whole_.bends[k];
      const auto put = [&](const Index3& now, Real share) {
        m_.bends.push_back(now);
        m_.bend_weights.push_back(whole_.bend_weights[k]);
        m_.rod_compliance.push_back(whole_.rod_compliance[k] / share);
      };
      if (!is_near(of)) {
        put(of, 1);
        continue;
      }
      const Index before = segment_after_[std::size_t(of[0])], after = segment_after_[std::size_t(of[1])];
      if (before >= 0 && after >= 0) {  // of a rope
        const Index2 &a = ends_[std::size_t(before)], &b = ends_[std::size_t(after)];
        if (a[1] == b[0]) put(Index3(a[0], a[1], b[1]), 1);
        continue;
      }
      for (const Side& a : side(of[0], of[1]))
        for (const Side& b : side(of[1], of[2]))
          if (a.ends[1] == b.ends[0])
            put(Index3(a.ends[0], a.ends[1], b.ends[1]), std::min(a.share, b.share));
    }
  }

  void corners(const std::vector<Index3>& from, std::vector<Index3>& to) const {
    to = from;
    for (Index3& of : to) {
      if (!is_near(of)) continue;
      for (const Index t : incident_[std::size_t(of[0])])
        if (has(t, of[1]) && has(t, of[2])) {
          of = Index3(now(t, of[0]), now(t, of[1]), now(t, of[2]));
          break;
        }
    }
  }

  /// Tethers hold while a way along what is left of the cloth is as short as they are, nearly.
  void tethers() {
    m_.tethers.clear(), m_.tether_length.clear();
    if (whole_.tethers.empty()) return;
    std::vector<std::vector<Index>> copies(size_);
    for (std::size_t k = 0; k < m_.torn_from.size(); ++k)
      copies[std::size_t(m_.torn_from[k])].push_back(Index(size_ + k));
    // Pins that hang together by triangles are one, as they were when tethers were tied.
    std::vector<Index> group(size_, -1);
    std::vector<std::vector<Index>> sources;
    for (const Index2& tether : whole_.tethers) group[std::size_t(tether[1])] = -2;
    for (std::size_t i = 0; i < size_; ++i) {
      if (group[i] != -2) continue;
      std::vector<Index> members = {Index(i)};
      group[i] = Index(sources.size());
      for (std::size_t open = 0; open < members.size(); ++open)
        for (const Index t : incident_[std::size_t(members[open])])
          for (const Index j : whole_.triangles[std::size_t(t)])
            if (group[std::size_t(j)] == -2) group[std::size_t(j)] = group[i], members.push_back(j);
      for (std::size_t k = 0, own = members.size(); k < own; ++k) {
        const std::vector<Index>& more = copies[std::size_t(members[k])];
        members.insert(members.end(), more.begin(), more.end());
      }
      sources.push_back(std::move(members));
    }
    const std::vector<Index> piece = Pbd::rope_pieces(m_);
    const SurfacePaths paths(m_.rest_position, m_.triangles);
    std::vector<SurfacePaths::Distances> far;
    for (const std::vector<Index>& from : sources) far.push_back(paths.from(from));
    for (std::size_t k = 0; k < whole_.tethers.size(); ++k) {
      const Index2& tether = whole_.tethers[k];
      const Real length = whole_.tether_length[k];
      const std::vector<Real>& distance = far[std::size_t(group[std::size_t(tether[1])])].distance;
      const auto put = [&](Index i) {
        // Ropes have no triangles, and but one way along them.
        const bool is_of_rope = piece[std::size_t(i)] >= 0;
        if (is_of_rope ? piece[std::size_t(i)] != piece[std::size_t(tether[1])]
                       : !(distance[std::size_t(i)] <= detour * length))
          return;
        m_.tethers.push_back(Index2(i, tether[1]));
        m_.tether_length.push_back(length);
      };
      put(tether[0]);
      for (const Index copy : copies[std::size_t(tether[0])]) put(copy);
    }
  }

  Model& m_;
  const Model& whole_;
  const std::size_t size_;              ///< particles of the whole
  std::vector<std::uint8_t> is_split_;  ///< [size_] particles that there is more than one of now
  std::vector<std::uint8_t> is_near_;   ///< [size_] and those that share a triangle with one
  Rows incident_;                       ///< triangles of the whole
  std::vector<Index2> ends_;            ///< of the whole's edges, as far as these are of ropes, now
  std::vector<Index> segment_after_;    ///< [size_] the rope's edge that begins at each particle, or -1
};

}  // namespace

void detail::keep_whole(Model& model) {
  if (model.whole) return;
  const auto whole = std::make_shared<Model>(model);
  whole->torn_from.clear(), whole->torn_corners.clear();
  model.whole = whole;
}

std::vector<Index> Pbd::rope_pieces(const Model& model) {
  std::vector<Index> piece(model.mass.size(), -1);
  Index last = -1, pieces = 0;
  detail::each_segment(model, [&](std::size_t, std::size_t, const Index2& edge) {
    pieces += edge[0] != last;
    last = edge[1];
    for (const Index i : edge) piece[std::size_t(i)] = pieces;
  });
  return piece;
}

void Pbd::resume(Model& model) {
  if (model.torn_from.empty()) {
    if (!model.whole) return;
    Model whole = *model.whole;
    whole.guests = std::move(model.guests), whole.rides = std::move(model.rides);
    whole.revision = model.revision + 1;
    model = std::move(whole);
    return;
  }
  detail::keep_whole(model);
  Remains(model).make();
  update(model);
}

}  // namespace plenum::inline PLENUM_ABI
