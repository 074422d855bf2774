// Tearing: springs that are stretched too far break, and cloth opens there.
//
// A spring of cloth that is stretched too far opens the cloth at one of its ends, a: the triangles around a
// beyond the plane through a across the spring get a vertex of their own, and the springs go where their
// triangles go. The spring itself stays, relieved of what pulled at it: triangles never lose what holds them
// together, or they would be drawn out to threads.
// Wherever the triangles around a vertex then hang together by the vertex alone, it is divided too, so that a
// tear that reaches the border, or another tear, comes apart. The plane of separation is that of O'Brien &
// Hodgins 1999, "Graphical modeling and animation of brittle fracture", section 4; triangles are never cut.
#include <algorithm>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Springs::Model;
using State = Springs::State;

bool overstretched(const Model& model, const State& state, std::size_t edge, Real strain) {
  const Index2 e = model.edges[edge];
  const Real limit = model.rest_length[edge] * (1 + strain);
  return model.rest_length[edge] > 0 &&
         (state.particles.x[std::size_t(e[1])] - state.particles.x[std::size_t(e[0])]).squaredNorm() >
             limit * limit;
}

class Tear {
 public:
  Tear(Model& model, State& state) : m_(model), s_(state), first_new_(Index(model.edges.size())) {
    const std::size_t n = m_.mass.size();
    triangles_at_.resize(n);
    edges_at_.resize(n);
    is_pinned_.resize(n, false);
    touched_.resize(n, false);
    for (const Index i : m_.pinned) is_pinned_[std::size_t(i)] = true;
    for (std::size_t t = 0; t < m_.triangles.size(); ++t)
      for (const Index i : m_.triangles[t]) triangles_at_[std::size_t(i)].push_back(Index(t));
    for (std::size_t e = 0; e < m_.edges.size(); ++e)
      for (const Index i : m_.edges[e]) edges_at_[std::size_t(i)].push_back(Index(e));
    removed_.resize(m_.edges.size(), false);
    part_of_.resize(m_.edges.size());
    for (std::size_t p = 0; p < m_.part_edges.size(); ++p)
      std::fill_n(part_of_.begin() + m_.part_edges[p][0], m_.part_edges[p][1], Index(p));
  }

  /// Lets go of a spring, unless cloth has just opened at one of its ends: the cloth there has changed.
  void break_edge(Index edge) {
    const Index2 e = m_.edges[std::size_t(edge)];
    if (touched_[std::size_t(e[0])] || touched_[std::size_t(e[1])]) return;
    if (m_.kind[std::size_t(edge)] == Springs::bend) return remove(edge);
    // The end with more triangles opens first, because the other may be a corner.
    const auto triangles = [&](int end) { return triangles_at_[std::size_t(e[end])].size(); };
    const int end = triangles(1) > triangles(0) ? 1 : 0;
    if (open(e[end], e[1 - end]) || open(e[1 - end], e[end])) return;
    // A side of a piece that has come away on all sides only has to find back to its length.
    const std::vector<Index>& here = triangles_at_[std::size_t(e[0])];
    const bool is_side = std::any_of(here.begin(), here.end(), [&](Index t) { return has(t, e[1]); });
    const bool held = is_pinned_[std::size_t(e[0])] && is_pinned_[std::size_t(e[1])];
    if (!is_side || held) remove(edge);
  }

  bool any() const { return any_; }

  /// Puts the springs that are left, and the halves of divided ones, back in the order of parts.
  void finish() {
    std::vector<Index> order;
    for (std::size_t p = 0; p < m_.part_edges.size(); ++p) {
      const Index first = Index(order.size());
      const auto take = [&](bool bending) {
        const auto consider = [&](Index e) {
          const bool bends = m_.kind[std::size_t(e)] == Springs::bend;
          if (!removed_[std::size_t(e)] && part_of_[std::size_t(e)] == Index(p) && bends == bending)
            order.push_back(e);
        };
        for (Index k = 0; k < m_.part_edges[p][1]; ++k) consider(m_.part_edges[p][0] + k);
        for (Index e = first_new_; e < Index(m_.edges.size()); ++e) consider(e);
      };
      take(false);
      const Index drawn = Index(order.size()) - first;
      take(true);
      new_parts_.push_back(Index3(first, Index(order.size()) - first, drawn));
    }
    const auto reorder = [&](auto& values) {
      const auto old = values;
      values.resize(order.size());
      for (std::size_t k = 0; k < order.size(); ++k) values[k] = old[std::size_t(order[k])];
    };
    reorder(m_.edges);
    reorder(m_.stiffness);
    reorder(m_.rest_length);
    reorder(m_.damping);
    reorder(m_.kind);
    m_.part_edges = new_parts_;
  }

 private:
  void remove(Index edge) {
    removed_[std::size_t(edge)] = true;
    any_ = true;
  }

  /// Opens cloth at `a`, across the spring that pulls it towards `other`: the triangles beyond get a vertex
  /// of their own. False if a is held or has none there.
  bool open(Index a, Index other) {
    if (is_pinned_[std::size_t(a)]) return false;
    const Vec3 normal = position(other) - position(a);
    std::vector<Index> far_side;
    for (const Index t : triangles_at_[std::size_t(a)])
      if (!has(t, other) && (centroid(t) - position(a)).dot(normal) < 0) far_side.push_back(t);
    if (far_side.empty() || far_side.size() == triangles_at_[std::size_t(a)].size()) return false;
    const std::vector<Index> around = neighbours(a);
    const Index b = divide(a, far_side);
    separate_fans(a);
    separate_fans(b);
    for (const Index i : around) separate_fans(i);
    return any_ = true;
  }

  const Vec3& position(Index i) const { return s_.particles.x[std::size_t(i)]; }
  Vec3 centroid(Index t) const {
    const Index3& c = m_.triangles[std::size_t(t)];
    return (position(c[0]) + position(c[1]) + position(c[2])) / 3;
  }
  bool has(Index t, Index i) const { return (m_.triangles[std::size_t(t)].array() == i).any(); }
  Index other_end(Index edge, Index i) const {
    const Index2& e = m_.edges[std::size_t(edge)];
    return e[0] == i ? e[1] : e[0];
  }
  static bool holds(const std::vector<Index>& list, Index value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }
  static void replace(Index2& ends, Index a, Index b) {
    for (Index& i : ends)
      if (i == a) i = b;
  }
  std::vector<Index> neighbours(Index i) const {
    std::vector<Index> found;
    for (const Index t : triangles_at_[std::size_t(i)])
      for (const Index j : m_.triangles[std::size_t(t)])
        if (j != i && !holds(found, j)) found.push_back(j);
    return found;
  }

  /// Gives some of the triangles around `a` a vertex of their own, b, and the springs that belong to them. A
  /// spring along the opening belongs to both sides: each keeps half of it. Returns b.
  Index divide(const Index a, const std::vector<Index>& moved) {
    const auto at = static_cast<std::size_t>(a), made = m_.mass.size();
    const Index b = Index(made);
    const Real share = m_.mass[at] * Real(moved.size()) / Real(triangles_at_[at].size());
    m_.mass.push_back(share);
    m_.mass[at] -= share;
    s_.particles.x.push_back(Vec3(s_.particles.x[at]));
    s_.particles.v.push_back(Vec3(s_.particles.v[at]));
    s_.velocity_change.push_back(Vec3(s_.velocity_change[at]));
    s_.pressed.push_back(Real(s_.pressed[at]));
    s_.particles.inverse_mass.push_back(1 / share);
    if (s_.particles.inverse_mass[at] > 0) s_.particles.inverse_mass[at] = 1 / m_.mass[at];
    is_pinned_.push_back(false);
    touched_.push_back(true);
    touched_[at] = true;
    triangles_at_.push_back(moved);
    std::erase_if(triangles_at_[at], [&](Index t) { return holds(moved, t); });
    const std::vector<Index>& kept = triangles_at_[at];
    for (const Index t : moved)
      for (Index& i : m_.triangles[std::size_t(t)])
        if (i == a) i = b;

    Vec3 apart = Vec3::Zero();  // from the side that stays to the one that goes
    for (const Index t : moved) apart += (centroid(t) - position(a)) / Real(moved.size());
    for (const Index t : kept) apart -= (centroid(t) - position(a)) / Real(kept.size());
    const auto touches = [&](const std::vector<Index>& triangles, Index o) {
      return std::any_of(triangles.begin(), triangles.end(), [&](Index t) { return has(t, o); });
    };
    const std::vector<Index> springs = edges_at_[at];
    edges_at_[at].clear();
    edges_at_.emplace_back();
    for (const Index e : springs) {
      const Index o = other_end(e, a);
      const bool of_moved = touches(moved, o), of_kept = touches(kept, o);
      if (of_moved && of_kept) {
        edges_at_[at].push_back(e);
        halve(e, a, b);
      } else if (of_moved || (!of_kept && (position(o) - position(a)).dot(apart) > 0)) {
        replace(m_.edges[std::size_t(e)], a, b);
        edges_at_[made].push_back(e);
      } else {
        edges_at_[at].push_back(e);
      }
    }
    return b;
  }

  /// Takes half of spring e from a to b.
  void halve(Index e, Index a, Index b) {
    const auto k = static_cast<std::size_t>(e);
    m_.stiffness[k] /= 2;
    m_.damping[k] /= 2;
    Index2 twin = m_.edges[k];
    replace(twin, a, b);
    for (const Index i : twin) edges_at_[std::size_t(i)].push_back(Index(m_.edges.size()));
    m_.edges.push_back(twin);
    m_.stiffness.push_back(Real(m_.stiffness[k]));
    m_.rest_length.push_back(Real(m_.rest_length[k]));
    m_.damping.push_back(Real(m_.damping[k]));
    m_.kind.push_back(std::uint8_t(m_.kind[k]));
    removed_.push_back(bool(removed_[k]));
    part_of_.push_back(Index(part_of_[k]));
  }

  /// Divides a vertex whose triangles do not all hang together by their sides.
  void separate_fans(Index i) {
    for (;;) {
      const std::vector<Index>& here = triangles_at_[std::size_t(i)];
      if (here.size() < 2) return;
      std::vector<Index> fan = {here[0]};
      for (std::size_t k = 0; k < fan.size(); ++k)
        for (const Index t : here)
          if (!holds(fan, t) && share_side(fan[k], t)) fan.push_back(t);
      if (fan.size() == here.size()) return;
      std::vector<Index> rest;
      for (const Index t : here)
        if (!holds(fan, t)) rest.push_back(t);
      i = divide(i, rest);  // and look at what went in turn
    }
  }
  bool share_side(Index t, Index u) const {
    int shared = 0;
    for (const Index i : m_.triangles[std::size_t(t)]) shared += has(u, i);
    return shared >= 2;
  }

  Model& m_;
  State& s_;
  const Index first_new_;  // springs from here on are halves
  bool any_ = false;
  std::vector<std::vector<Index>> triangles_at_, edges_at_;
  std::vector<bool> is_pinned_, touched_, removed_;
  std::vector<Index> part_of_;
  std::vector<Index3> new_parts_;
};

}  // namespace

bool Springs::edit(Model& model, State& state, const Params& params, Workspace&) {
  const Real strain = params.tear_strain;
  if (!(strain > 0) || model.edges.empty()) return false;
  const double count = ordered_sum(model.edges.size(), 8192, [&](std::size_t begin, std::size_t end) {
    std::size_t over = 0;
    for (std::size_t e = begin; e < end; ++e) over += overstretched(model, state, e, strain);
    return static_cast<double>(over);
  });
  if (count == 0) return false;
  std::vector<std::pair<Real, Index>> torn;
  for (std::size_t e = 0; e < model.edges.size(); ++e)
    if (overstretched(model, state, e, strain)) torn.push_back({-Springs::strain(model, state, e), Index(e)});
  std::sort(torn.begin(), torn.end());  // the most stretched first, ties by number
  Tear tear(model, state);
  for (const auto& [minus_strain, edge] : torn) tear.break_edge(edge);
  if (!tear.any()) return false;
  tear.finish();
  update(model);
  return true;
}

}  // namespace plenum::inline PLENUM_ABI
