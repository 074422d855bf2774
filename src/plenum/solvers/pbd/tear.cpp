// Tearing: cloth opens across sides of its triangles that are drawn out too far (surface_tear.h), and ropes
// snap beside segments that are.
// What is left of the whole follows from that (remains.cpp).
#include <algorithm>
#include <optional>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/geometry/surface_tear.h"
#include "plenum/solvers/pbd/detail/idle.h"
#include "plenum/solvers/pbd/detail/pins.h"
#include "plenum/solvers/pbd/detail/rims.h"
#include "plenum/solvers/pbd/detail/whole.h"
#include "plenum/solvers/pbd/pbd.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Model = Pbd::Model;
using State = Pbd::State;
using detail::each_segment;
using detail::keep_whole;

/// [1] The squared length of a side over its square at rest.
Real squared_stretch(const Model& model, const State& state, Index a, Index b) {
  const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
  const Real rest2 = (model.rest_position[j] - model.rest_position[i]).squaredNorm();
  return rest2 > 0 ? (state.particles.x[j] - state.particles.x[i]).squaredNorm() / rest2 : 0;
}

/// Calls f(a, b) for the sides of triangles that may tear, of triangles from `begin` to `end`; those inside
/// twice.
template <class F>
void each_side(const Model& model, std::size_t begin, std::size_t end, F&& f) {
  for (std::size_t t = begin; t < end; ++t) {
    const Index3& c = model.triangles[t];
    for (int k = 0; k < 3; ++k) f(c[k], c[(k + 1) % 3]);
  }
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

bool can_tear(const Pbd::Model& model, std::size_t part) {
  const PbdPart::Type type = model.parts[part].type;
  // What a wall encloses would come out.
  return (type == PbdPart::Type::cloth || type == PbdPart::Type::mesh_cloth) &&
         std::none_of(model.enclosures.begin(), model.enclosures.end(),
                      [&](const Pbd::Model::Enclosure& e) { return std::size_t(e.part) == part; });
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
