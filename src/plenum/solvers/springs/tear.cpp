// Tearing: springs that are stretched too far break, and cloth opens there (surface_tear.h): the triangles
// beyond the break get a vertex of their own, and the springs go where their triangles go. The spring itself
// stays, relieved of what pulled at it: triangles never lose what holds them together, or they would be drawn
// out to threads.
#include <algorithm>
#include <vector>

#include "plenum/base/parallel.h"
#include "plenum/geometry/surface_tear.h"
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
  Tear(Model& model, State& state)
      : m_(model),
        s_(state),
        first_new_(Index(model.edges.size())),
        surface_(state.particles.x, model.triangles, model.pinned,
                 [this](Index a, Index b, std::span<const Index> kept, std::span<const Index> moved) {
                   divided(a, b, kept, moved);
                 }) {
    edges_at_.resize(m_.mass.size());
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
    if (surface_.is_touched(e[0]) || surface_.is_touched(e[1])) return;
    if (m_.kind[std::size_t(edge)] == Springs::bend) return remove(edge);
    if (surface_.open_edge(e[0], e[1])) {
      any_ = true;
      return;
    }
    // A side of a piece that has come away on all sides only has to find back to its length.
    const std::span<const Index> here = surface_.triangles_at(e[0]);
    const bool is_side =
        std::any_of(here.begin(), here.end(), [&](Index t) { return surface_.has(t, e[1]); });
    const bool held = surface_.is_held(e[0]) && surface_.is_held(e[1]);
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

  const Vec3& position(Index i) const { return s_.particles.x[std::size_t(i)]; }
  Index other_end(Index edge, Index i) const {
    const Index2& e = m_.edges[std::size_t(edge)];
    return e[0] == i ? e[1] : e[0];
  }
  static void replace(Index2& ends, Index a, Index b) {
    for (Index& i : ends)
      if (i == a) i = b;
  }

  /// Gives b what its triangles bring: their mass, and the springs that belong to them. A spring along the
  /// opening belongs to both sides: each keeps half of it.
  void divided(Index a, Index b, std::span<const Index> kept, std::span<const Index> moved) {
    const auto at = static_cast<std::size_t>(a), made = static_cast<std::size_t>(b);
    const Real share = m_.mass[at] * Real(moved.size()) / Real(kept.size() + moved.size());
    m_.mass.push_back(share);
    m_.mass[at] -= share;
    s_.particles.x.push_back(Vec3(s_.particles.x[at]));
    s_.particles.v.push_back(Vec3(s_.particles.v[at]));
    s_.velocity_change.push_back(Vec3(s_.velocity_change[at]));
    s_.pressed.push_back(Real(s_.pressed[at]));
    s_.particles.inverse_mass.push_back(1 / share);
    if (s_.particles.inverse_mass[at] > 0) s_.particles.inverse_mass[at] = 1 / m_.mass[at];

    Vec3 apart = Vec3::Zero();  // from the side that stays to the one that goes
    for (const Index t : moved) apart += (surface_.centroid(t) - position(a)) / Real(moved.size());
    for (const Index t : kept) apart -= (surface_.centroid(t) - position(a)) / Real(kept.size());
    const auto touches = [&](std::span<const Index> triangles, Index o) {
      return std::any_of(triangles.begin(), triangles.end(), [&](Index t) { return surface_.has(t, o); });
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

  Model& m_;
  State& s_;
  const Index first_new_;  // springs from here on are halves
  bool any_ = false;
  SurfaceTear surface_;
  std::vector<std::vector<Index>> edges_at_;
  std::vector<bool> removed_;
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
