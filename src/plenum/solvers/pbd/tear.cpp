// Tearing: cloth opens across sides of its triangles that are drawn out too far (surface_tear.h), and ropes
// snap beside segments that are.
//
// Triangles, and segments of ropes, keep their areas, masses and materials. What is left of everything else
// follows from the whole model and from the particles that the corners of its triangles are now; so it does
// not depend on the order in which things tore, and checkpoints hold no more than these corners and ends.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/geometry/adjacency.h"
#include "plenum/geometry/measures.h"
#include "plenum/geometry/surface_paths.h"
#include "plenum/geometry/surface_tear.h"
#include "plenum/solvers/pbd/detail/pins.h"
#include "plenum/solvers/pbd/detail/rims.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Pbd::Model;
using State = Pbd::State;

/// A tether may be this much shorter than the way along the cloth; paths over edges are some percent too
/// long.
constexpr Real detour = Real(1.1);

bool can_tear(const Model& model, std::size_t part) {
  const PbdPart::Type type = model.parts[part].type;
  // What a wall encloses would come out.
  return (type == PbdPart::Type::cloth || type == PbdPart::Type::mesh_cloth) &&
         std::none_of(model.enclosures.begin(), model.enclosures.end(),
                      [&](const Model::Enclosure& e) { return std::size_t(e.part) == part; });
}

/// [1] The squared length of a side over its square at rest.
Real squared_stretch(const Model& model, const State& state, Index a, Index b) {
  const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
  const Real rest2 = (model.rest_position[j] - model.rest_position[i]).squaredNorm();
  return rest2 > 0 ? (state.particles.x[j] - state.particles.x[i]).squaredNorm() / rest2 : 0;
}

bool is_rope(const Pbd::Part& part) {
  return part.type == PbdPart::Type::rope;
}

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

/// Calls f(a, b) for the sides of triangles that may tear, of triangles from `begin` to `end`; those inside
/// twice.
template <class F>
void each_side(const Model& model, std::size_t begin, std::size_t end, F&& f) {
  for (std::size_t t = begin; t < end; ++t) {
    const Index3& c = model.triangles[t];
    for (int k = 0; k < 3; ++k) f(c[k], c[(k + 1) % 3]);
  }
}

/// Whole cloth is kept, before anything of it tears.
void keep_whole(Model& model) {
  if (model.whole) return;
  const auto whole = std::make_shared<Model>(model);
  whole->torn_from.clear(), whole->torn_corners.clear();
  model.whole = whole;
}

/// An end of a rope's segment, that is to come off its particle.
struct RopeEnd {
  std::size_t part, segment;  ///< of its edges
  int end;
};

/// What a model's cloth and ropes are once they have opened in some places.
struct Opened {
  Model model;
  Particles particles;
  std::vector<Index> divided;      ///< [2 D] pairs of what was divided and the new one
  std::vector<std::size_t> place;  ///< [D] where each was
};

/// Opens a model's ropes at `ends` and then its cloth at `count` places, but for those that `stay` closed;
/// places are counted through.
template <class Open>
Opened opened(const Model& before, const Particles& particles, std::span<const RopeEnd> ends,
              std::size_t count, std::span<const std::uint8_t> stay, Open&& open) {
  Opened out{before, particles, {}, {}};
  Model& model = out.model;
  Particles& p = out.particles;
  const Index size = Index(model.whole->mass.size());
  const auto corners = static_cast<Index>(3 * model.triangles.size());
  std::size_t place = 0;
  const auto divide = [&](Index a) {
    const auto at = static_cast<std::size_t>(a);
    out.divided.push_back(a), out.divided.push_back(Index(p.x.size())), out.place.push_back(place);
    model.torn_from.push_back(a < size ? a : model.torn_from[std::size_t(a - size)]);
    p.x.push_back(Vec3(p.x[at]));
    p.v.push_back(Vec3(p.v[at]));
    p.inverse_mass.push_back(Real(p.inverse_mass[at]));
  };
  std::vector<Index2> torn;  // of ropes
  for (const Index2& c : model.torn_corners)
    if (c[0] >= corners) torn.push_back(c);
  for (const RopeEnd& at : ends) {
    if (!stay[place]) {
      const auto whole_edge = model.whole->parts[at.part].first_edge + Index(at.segment);
      const auto edge = std::size_t(model.parts[at.part].first_edge) + at.segment;
      torn.push_back(Index2(corners + 2 * whole_edge + at.end, Index(p.x.size())));
      divide(model.edges[edge][at.end]);
    }
    ++place;
  }
  SurfaceTear surface(p.x, model.triangles, model.pinned,
                      [&](Index a, Index, std::span<const Index>, std::span<const Index>) { divide(a); });
  for (std::size_t k = 0; k < count; ++k, ++place)
    if (!stay[place]) open(surface, std::as_const(out), k);
  if (out.divided.empty()) return out;
  model.torn_corners.clear();
  for (std::size_t t = 0; t < model.triangles.size(); ++t)
    for (int c = 0; c < 3; ++c)
      if (const Index i = model.triangles[t][c]; i >= size)
        model.torn_corners.push_back(Index2(Index(3 * t) + c, i));
  std::sort(torn.begin(), torn.end(), is_before);
  model.torn_corners.insert(model.torn_corners.end(), torn.begin(), torn.end());
  Pbd::resume(model);
  const auto weigh = [&](std::size_t i) {
    if (p.inverse_mass[i] > 0) p.inverse_mass[i] = 1 / model.mass[i];
  };
  for (std::size_t k = 0; k < model.torn_from.size(); ++k)
    weigh(std::size_t(model.torn_from[k])), weigh(std::size_t(size) + k);
  return out;
}

/// Puts what is held where its pins hold it, pieces a little apart: the next step would lead them there
/// through whatever is in between.
void go_to_pins(const Model& model, const Pbd::Params& params, Particles& particles) {
  for (std::size_t p = 0; p < model.pinned.size(); ++p)
    if (const auto i = std::size_t(model.pinned[p]); particles.inverse_mass[i] == 0)
      particles.x[i] = detail::place_of_pin(model, params, p, 1);
}

/// Opens a model's ropes at `ends` and its cloth at `count` places, open(surface, opened, k) each, and moves
/// the state along. True if anything opened. Where nothing may cross, what could not come apart without that
/// waits for a later step.
template <class Open>
bool tear(Model& model, State& state, const Pbd::Params& params, std::span<const RopeEnd> ends,
          std::size_t count, Open&& open) {
  const bool may_cross = params.contact != Pbd::Contact::conservative;
  keep_whole(model);
  std::vector<std::uint8_t> stay(ends.size() + count, 0);
  for (;;) {
    Opened next = opened(model, state.particles, ends, count, stay, open);
    if (next.divided.empty()) return false;
    go_to_pins(next.model, params, next.particles);
    const std::vector<std::uint8_t> crosses =
        detail::part_rims(next.model, next.particles.x, next.divided, may_cross);
    bool any = false;
    for (std::size_t d = 0; d < next.place.size(); ++d)
      if (crosses[2 * d] | crosses[2 * d + 1]) stay[next.place[d]] = 1, any = true;
    if (any) continue;  // each time fewer places are left
    model = std::move(next.model), state.particles = std::move(next.particles);
    return true;
  }
}

/// Calls f(part, segment, edge) for the segments of ropes in their order.
template <class F>
void each_segment(const Model& model, F&& f) {
  for (std::size_t part = 0; part < model.parts.size(); ++part) {
    const Pbd::Part& of = model.parts[part];
    for (std::size_t k = 0; is_rope(of) && k < std::size_t(of.num_edges); ++k)
      f(part, k, model.edges[std::size_t(of.first_edge) + k]);
  }
}

/// The end of a segment at which it can come off: where the rope goes on and nothing holds it; of two the
/// one whose other segment is drawn out more.
std::optional<RopeEnd> free_end(const Model& model, const State& state, std::size_t part,
                                std::size_t segment) {
  const Pbd::Part& of = model.parts[part];
  const auto first = std::size_t(of.first_edge);
  const Index2& edge = model.edges[first + segment];
  std::optional<RopeEnd> best;
  Real most = 0;
  for (int end = 0; end < 2; ++end) {
    if (end == 0 ? segment == 0 : segment + 1 == std::size_t(of.num_edges)) continue;
    const std::size_t other = end == 0 ? segment - 1 : segment + 1;
    const bool goes_on = model.edges[first + other][1 - end] == edge[end];
    if (!goes_on || state.particles.inverse_mass[std::size_t(edge[end])] == 0) continue;
    const Real strain = Pbd::strain(model, state, first + other);
    if (!best || strain > most) best = RopeEnd{part, segment, end}, most = strain;
  }
  return best;
}

/// Where ropes snap: of each piece the segment that is drawn out most, as it takes the load off all others.
std::vector<RopeEnd> snapping(const Model& model, const State& state, Real tear_strain) {
  std::vector<RopeEnd> out;
  Index last = -1;  // the particle at which the piece so far ends
  std::optional<RopeEnd> worst;
  Real most = tear_strain;
  const auto end_piece = [&] {
    if (worst) out.push_back(*worst);
    worst.reset(), most = tear_strain;
  };
  each_segment(model, [&](std::size_t part, std::size_t segment, const Index2& edge) {
    if (edge[0] != last) end_piece();
    last = edge[1];
    const Real strain = Pbd::strain(model, state, std::size_t(model.parts[part].first_edge) + segment);
    if (!(strain > most)) return;
    if (const auto at = free_end(model, state, part, segment)) worst = at, most = strain;
  });
  end_piece();
  return out;
}

}  // namespace

std::vector<Index> Pbd::rope_pieces(const Model& model) {
  std::vector<Index> piece(model.mass.size(), -1);
  Index last = -1, pieces = 0;
  each_segment(model, [&](std::size_t, std::size_t, const Index2& edge) {
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
  keep_whole(model);
  Remains(model).make();
  update(model);
}

bool Pbd::edit(Model& model, State& state, const Params& params, Workspace&) {
  if (!(params.tear_strain > 0) || model.rest_position.size() != model.mass.size()) return false;
  const Real most = (1 + params.tear_strain) * (1 + params.tear_strain);
  std::vector<std::pair<Real, Index2>> torn;
  for (std::size_t part = 0; part < model.parts.size(); ++part) {
    if (!can_tear(model, part)) continue;
    const auto first = std::size_t(model.parts[part].first_triangle),
               count = std::size_t(model.parts[part].num_triangles);
    const std::size_t over = ordered_reduce(
        count, 4096, std::size_t(0),
        [&](std::size_t begin, std::size_t end) {
          std::size_t found = 0;
          each_side(model, first + begin, first + end,
                    [&](Index a, Index b) { found += squared_stretch(model, state, a, b) > most; });
          return found;
        },
        [](std::size_t a, std::size_t b) { return a + b; });
    if (over == 0) continue;
    each_side(model, first, first + count, [&](Index a, Index b) {
      const Real stretch = squared_stretch(model, state, a, b);
      if (stretch > most) torn.push_back({-stretch, Index2(std::min(a, b), std::max(a, b))});
    });
  }
  const std::vector<RopeEnd> snaps = snapping(model, state, params.tear_strain);
  if (torn.empty() && snaps.empty()) return false;
  // The most stretched first, ties by number.
  std::sort(torn.begin(), torn.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : is_before(a.second, b.second);
  });
  return tear(model, state, params, snaps, torn.size(),
              [&](SurfaceTear& surface, const Opened&, std::size_t k) {
                const Index2& side = torn[k].second;
                // Where cloth has just opened, it has changed.
                if (!surface.is_touched(side[0]) && !surface.is_touched(side[1]))
                  surface.open_edge(side[0], side[1]);
              });
}

bool Pbd::open(Model& model, State& state, const Params& params, const CutSector& cut) {
  const Vec3 normal = cut.from.cross(cut.to);
  if (model.rest_position.size() != model.mass.size() || !(normal.norm() > 0)) return false;
  const std::vector<Vec3>& x = state.particles.x;
  const auto side_of = [&](const Vec3& p) { return normal.dot(p - cut.eye); };
  // Between the directions, and before the eye.
  const auto is_cut = [&](const Vec3& p) {
    const Vec3 d = p - cut.eye;
    return cut.from.cross(d).dot(normal) >= 0 && d.cross(cut.to).dot(normal) >= 0;
  };
  std::vector<Index> along;  // particles beyond sides that are crossed
  for (std::size_t part = 0; part < model.parts.size(); ++part) {
    if (!can_tear(model, part)) continue;
    const auto first = std::size_t(model.parts[part].first_triangle),
               count = std::size_t(model.parts[part].num_triangles);
    each_side(model, first, first + count, [&](Index a, Index b) {
      const Real da = side_of(x[std::size_t(a)]), db = side_of(x[std::size_t(b)]);
      if ((da >= 0) == (db >= 0)) return;
      const Vec3& at = x[std::size_t(a)];
      if (is_cut(at + da / (da - db) * (x[std::size_t(b)] - at))) along.push_back(da >= 0 ? a : b);
    });
  }
  std::vector<RopeEnd> snaps;
  Index cut_off = -1;  // a particle at which the segment before has come off
  each_segment(model, [&](std::size_t part, std::size_t segment, const Index2& edge) {
    const Real da = side_of(x[std::size_t(edge[0])]), db = side_of(x[std::size_t(edge[1])]);
    if ((da >= 0) == (db >= 0)) return;
    const Vec3& at = x[std::size_t(edge[0])];
    if (!is_cut(at + da / (da - db) * (x[std::size_t(edge[1])] - at))) return;
    const auto end = free_end(model, state, part, segment);
    if (!end || (end->end == 0 && edge[0] == cut_off)) return;
    snaps.push_back(*end);
    if (end->end == 1) cut_off = edge[1];
  });
  if (along.empty() && snaps.empty()) return false;
  std::sort(along.begin(), along.end());
  along.erase(std::unique(along.begin(), along.end()), along.end());
  return tear(model, state, params, snaps, along.size(),
              [&](SurfaceTear& surface, const Opened& now, std::size_t k) {
                surface.open(along[k], [&](Index t) {
                  const Index3& c = now.model.triangles[std::size_t(t)];
                  return std::all_of(c.begin(), c.end(),
                                     [&](Index j) { return side_of(now.particles.x[std::size_t(j)]) >= 0; });
                });
              });
}

void Pbd::model_fields(Model& model, FieldVisitor& visit) {
  visit({"torn_from", "", Centring::edge}, model.torn_from);
  visit({"torn_corners", "", Centring::edge}, model.torn_corners);
}

}  // namespace plenum::inline PLENUM_ABI
