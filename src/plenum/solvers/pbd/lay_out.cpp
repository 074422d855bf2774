// Constraints of a model as packs, in a workspace.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "plenum/solvers/pbd/detail/tethers.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

using detail::Place;

namespace {

template <class V>
std::span<const Index> flat(const std::vector<V>& of) {
  return of.empty() ? std::span<const Index>() : std::span(of[0].data(), of.size() * V::SizeAtCompileTime);
}

/// Which bending is woven with which distances: the numbers of the edges with it, and which of a model's
/// edges, bends and plates that takes.
struct Weaving {
  std::vector<std::uint8_t> edges, bends, plates;
  std::vector<Index> rods, cells;
  std::vector<Index2> rod_edges, cell_edges;
  explicit Weaving(const Pbd::Model& model)
      : edges(model.edges.size()), bends(model.bends.size()), plates(model.plates.size()) {}
};

/// Which particles [N] are of rows or columns that bend. Cells of these are plates; where there are none,
/// bending is isometric, which woven, or swept one way, gains energy. So do ropes.
std::vector<std::uint8_t> on_rows(const Pbd::Model& model) {
  std::vector<std::uint8_t> out(model.mass.size(), 0);
  for (const Index3& bend : model.bends)
    for (const Index i : bend) out[std::size_t(i)] = 1;
  for (const Pbd::Part& part : model.parts)
    if (part.type == PbdPart::Type::rope)
      std::fill_n(out.begin() + part.first_particle, part.num_particles, std::uint8_t(0));
  return out;
}
template <class Item>
bool are_all(const Item& item, std::span<const std::uint8_t> of) {
  return std::all_of(item.begin(), item.end(), [&](Index i) { return of[std::size_t(i)] != 0; });
}

/// Finds, for each bend and plate in turn, the distances that WovenRodBatch and WovenCellBatch project with
/// it, if they are there, no other has them, and nothing of it is damped. damping and bending_damping [N] s.
Weaving weave(const Pbd::Model& model, std::span<const Real> damping, std::span<const Real> bending_damping) {
  Weaving out(model);
  if (model.bends.empty() && model.plates.empty()) return out;
  using Key = std::pair<std::pair<Index, Index>, Index>;  // the ends, the lesser first, and the edge
  std::vector<Key> keys;
  keys.reserve(model.edges.size());
  for (std::size_t e = 0; e < model.edges.size(); ++e)
    keys.push_back({std::minmax(model.edges[e][0], model.edges[e][1]), Index(e)});
  std::sort(keys.begin(), keys.end());
  const auto edge_of = [&](Index a, Index b) {
    const std::pair<Index, Index> ends = std::minmax(a, b);
    const auto at = std::lower_bound(keys.begin(), keys.end(), Key{ends, 0});
    return at != keys.end() && at->first == ends && !out.edges[std::size_t(at->second)] ? at->second : -1;
  };
  const std::vector<std::uint8_t> of_rows = on_rows(model);
  const auto try_each = [&](const auto& items, Index2 first, Index2 second, std::vector<std::uint8_t>& taken,
                            std::vector<Index>& numbers, std::vector<Index2>& with) {
    for (std::size_t k = 0; k < items.size(); ++k) {
      const auto& item = items[k];
      if (!are_all(item, of_rows)) continue;
      const auto at = std::size_t(item[0]);
      if (damping[at] > 0 || bending_damping[at] > 0) continue;
      const Index e0 = edge_of(item[first[0]], item[first[1]]);
      const Index e1 = edge_of(item[second[0]], item[second[1]]);
      if (e0 < 0 || e1 < 0 || e0 == e1) continue;
      taken[k] = out.edges[std::size_t(e0)] = out.edges[std::size_t(e1)] = 1;
      numbers.push_back(Index(k)), with.push_back(Index2(e0, e1));
    }
  };
  try_each(model.plates, Index2(0, 3), Index2(1, 2), out.plates, out.cells, out.cell_edges);
  try_each(model.bends, Index2(0, 1), Index2(1, 2), out.bends, out.rods, out.rod_edges);
  return out;
}

/// Those that are not woven, and their numbers.
template <class Item>
struct Left {
  std::vector<Item> items;
  std::vector<std::size_t> numbers;
  explicit Left(const std::vector<Item>& all, const std::vector<std::uint8_t>& woven = {}) {
    for (std::size_t k = 0; k < all.size(); ++k)
      if (woven.empty() || !woven[k]) items.push_back(all[k]), numbers.push_back(k);
  }
};

void lay_out_woven(const Pbd::Model& model, const Weaving& weaving, PbdWorkspace& w) {
  const std::vector<std::uint8_t> still(model.mass.size(), 0);
  const auto put = [&](auto& pack, int l, const auto& weights, Real compliance, const Index2& edges) {
    for (int i = 0; i < pack.points; ++i) pack.weight[i][l] = weights[i];
    pack.compliance[l] = compliance;
    for (int k = 0; k < 2; ++k) {
      pack.rest[k][l] = model.rest_length[std::size_t(edges[k])];
      pack.give[k][l] = model.stretch_compliance[std::size_t(edges[k])];
    }
  };
  std::vector<Index3> rods;
  for (const Index b : weaving.rods) rods.push_back(model.bends[std::size_t(b)]);
  w.woven_rods.lay_out(flat(rods), still, {}, [&](auto& pack, int l, std::size_t item) {
    const auto b = std::size_t(weaving.rods[item]);
    put(pack, l, model.bend_weights[b], model.rod_compliance[b], weaving.rod_edges[item]);
  });
  std::vector<Index4> cells;
  for (const Index p : weaving.cells) cells.push_back(model.plates[std::size_t(p)]);
  w.woven_cells.lay_out(flat(cells), still, {}, [&](auto& pack, int l, std::size_t item) {
    const auto p = std::size_t(weaving.cells[item]);
    put(pack, l, model.plate_weights[p], model.plate_compliance[p], weaving.cell_edges[item]);
  });
}

/// What particles are of, which tells how their constraints are swept: grids that bend as plates or not at
/// all, one way.
enum Kind : std::uint8_t { of_grid, of_rope_or_mesh, of_lattice };

std::vector<Kind> kinds_of(const Pbd::Model& model) {
  std::vector<Kind> out(model.mass.size(), of_grid);
  std::vector<std::uint8_t> is_of_grid(model.triangles.size(), 0);
  for (const Pbd::Part& part : model.parts) {
    if (part.cells_x > 0) std::fill_n(is_of_grid.begin() + part.first_triangle, part.num_triangles, 1);
    if (part.type == PbdPart::Type::rope)
      std::fill_n(out.begin() + part.first_particle, part.num_particles, of_rope_or_mesh);
  }
  const auto mark = [&](const auto& item, Kind kind) {
    for (const Index i : item) out[std::size_t(i)] = kind;
  };
  for (std::size_t t = 0; t < model.triangles.size(); ++t)
    if (!is_of_grid[t]) mark(model.triangles[t], of_rope_or_mesh);
  for (const Index4& hinge : model.hinges) mark(hinge, of_rope_or_mesh);
  const std::vector<std::uint8_t> of_rows = on_rows(model);
  for (const Index4& plate : model.plates)
    if (!are_all(plate, of_rows)) mark(plate, of_rope_or_mesh);
  for (const Index4& tetrahedron : model.tetrahedra) mark(tetrahedron, of_lattice);
  return out;
}

/// Slices of solids that are large, for as many threads. Not of cloth, which would stretch by half as much
/// more (200 x 200 cells: 0.14 instead of 0.09), nor where most would lie between two.
template <class Item>
std::vector<Index> sliced(const std::vector<Item>& items, std::size_t num_particles) {
  // Of fewer items, too many packs at the ends of colours are not full.
  const int count = items.size() < 8192 ? 1 : items.size() < 16384 ? 4 : 8;
  if (count == 1) return {};
  std::vector<Index> slices = slices_of(flat(items), int(Item::SizeAtCompileTime), num_particles, count);
  if (std::size_t(std::count(slices.begin(), slices.end(), -1)) > items.size() / 2) slices.clear();
  return slices;
}

/// Those that are not woven, by what all of their particles are of, or the last of these batches; what is of
/// lattices in slices: set(pack, lane, number).
template <class Item, class Batch, class Set>
void lay_out_apart(const Left<Item>& left, std::span<const Kind> kinds, std::span<const Real> damping,
                   std::initializer_list<Batch*> batches, Set&& set) {
  const std::vector<std::uint8_t> still(kinds.size(), 0);
  int last = int(batches.size()) - 1, kind = 0;
  for (Batch* const batch : batches) {
    std::vector<Item> items;
    std::vector<std::size_t> numbers;
    for (std::size_t k = 0; k < left.items.size(); ++k) {
      int least = last;
      for (const Index i : left.items[k]) least = std::min(least, int(kinds[std::size_t(i)]));
      if (least == kind) items.push_back(left.items[k]), numbers.push_back(left.numbers[k]);
    }
    batch->lay_out(
        flat(items), still, damping,
        [&](auto& pack, int l, std::size_t item) { set(pack, l, numbers[item]); },
        kind == of_lattice ? sliced(items, kinds.size()) : std::vector<Index>());
    ++kind;
  }
}

/// Those of `items` that are of closed surfaces, beside `taken`: lays them out, and returns both.
template <class Item, class Batch, class Set>
std::vector<std::uint8_t> lay_out_skins(const std::vector<Item>& items, std::vector<std::uint8_t> taken,
                                        std::span<const Real> damping, const std::vector<Index>& skin_of,
                                        Batch& batch, Set&& set) {
  taken.resize(items.size());
  std::vector<Item> of;
  std::vector<std::size_t> numbers;
  for (std::size_t k = 0; k < items.size() && !skin_of.empty(); ++k)
    if (!taken[k] && skin_of[std::size_t(items[k][0])] >= 0)
      of.push_back(items[k]), numbers.push_back(k), taken[k] = 1;
  const std::vector<std::uint8_t> still(skin_of.size(), 0);
  batch.lay_out(flat(of), still, damping, [&](auto& pack, int l, std::size_t item) {
    set(pack, l, numbers[item]);
    pack.rest[std::size(pack.rest) - 1][l] = 1;
  });
  return taken;
}

/// What keeps things from stretching.
void lay_out_lengths(const Pbd::Model& model, const Weaving& weaving, std::span<const Kind> kinds,
                     std::span<const Real> damping, PbdWorkspace& w) {
  const std::vector<Index>& skin_of = w.skins.of;
  const auto edge = [&](auto& pack, int l, std::size_t e) {
    pack.rest[0][l] = model.rest_length[e];
    pack.compliance[l] = model.stretch_compliance[e];
  };
  const std::vector<std::uint8_t> edges =
      lay_out_skins(model.edges, weaving.edges, damping, skin_of, w.skins.distances, edge);
  lay_out_apart(Left<Index2>(model.edges, edges), kinds, damping,
                {&w.distances, &w.meshes.distances, &w.lattices}, edge);
  const auto strain = [&](auto& pack, int l, std::size_t t) {
    for (int c = 0; c < 4; ++c) pack.rest[c][l] = model.strain_inverse[t][c];
    for (int c = 0; c < 3; ++c) pack.compliance[c][l] = model.strain_compliance[t][c];
  };
  const std::vector<std::uint8_t> strains =
      lay_out_skins(model.strain_triangles, {}, damping, skin_of, w.skins.strains, strain);
  lay_out_apart(Left<Index3>(model.strain_triangles, strains), kinds, damping,
                {&w.strains, &w.meshes.strains}, strain);
  const auto area = [&](auto& pack, int l, std::size_t t) {
    pack.rest[0][l] = model.rest_area[t];
    pack.compliance[l] = model.area_compliance[t];
  };
  const std::vector<std::uint8_t> areas =
      lay_out_skins(model.area_triangles, {}, damping, skin_of, w.skins.areas, area);
  lay_out_apart(Left<Index3>(model.area_triangles, areas), kinds, damping, {&w.areas, &w.meshes.areas}, area);
}

/// What keeps ropes and surfaces from bending, but for what is woven.
void lay_out_bending(const Pbd::Model& model, const Weaving& weaving, std::span<const Kind> kinds,
                     std::span<const Real> damping, PbdWorkspace& w) {
  lay_out_apart(Left<Index4>(model.hinges), kinds, damping, {&w.angles, &w.meshes.angles},
                [&](auto& pack, int l, std::size_t h) {
                  pack.rest[0][l] = model.rest_angle[h];
                  pack.compliance[l] = model.angle_compliance[h];
                });
  lay_out_apart(Left<Index4>(model.plates, weaving.plates), kinds, damping, {&w.plates, &w.meshes.plates},
                [&](auto& pack, int l, std::size_t p) {
                  for (int i = 0; i < 4; ++i) pack.weight[i][l] = model.plate_weights[p][i];
                  pack.compliance[l] = model.plate_compliance[p];
                });
  lay_out_apart(Left<Index3>(model.bends, weaving.bends), kinds, damping, {&w.rods, &w.meshes.rods},
                [&](auto& pack, int l, std::size_t b) {
                  for (int i = 0; i < 3; ++i) pack.weight[i][l] = model.bend_weights[b][i];
                  pack.compliance[l] = model.rod_compliance[b];
                });
}

/// The enclosure that each particle is of, or -1; empty if there are none.
std::vector<Index> skins_of(const Pbd::Model& model) {
  std::vector<Index> out(model.enclosures.empty() ? 0 : model.mass.size(), -1);
  for (std::size_t e = 0; e < model.enclosures.size(); ++e) {
    const Pbd::Part& part = model.parts[std::size_t(model.enclosures[e].part)];
    std::fill_n(out.begin() + part.first_particle, part.num_particles, Index(e));
  }
  return out;
}

}  // namespace

void PbdSkins::shrink(const Pbd::Model& model, const Pbd::State& state, Real inflation, Real distance,
                      Real dt) {
  bool is_other = false;
  for (std::size_t e = 0; e < sizes.size(); ++e) {
    const Pbd::Model::Enclosure& enclosure = model.enclosures[e];
    const double full = double(enclosure.rest_volume);
    given[e] =
        volume_given(model, enclosure, inflated(enclosure, state.inflation[e], inflation, dt), distance);
    if (given[e] < full)
      given[e] =
          std::max(given[e], let_out(enclosure, enclosed_volume(model, enclosure, state.particles.x), dt));
    const Real size = Real(std::cbrt(std::min(given[e] / full, 1.0)));
    is_other |= size != sizes[e], sizes[e] = size;
  }
  if (!is_other) return;
  const auto shrink_one = [&](auto& pack) {
    for (int l = 0; l < detail::wide; ++l)
      if (const Index e = of[std::size_t(pack.particle[0][l])]; e >= 0)
        pack.rest[std::size(pack.rest) - 1][l] = sizes[std::size_t(e)];
  };
  distances.each(shrink_one), strains.each(shrink_one), areas.each(shrink_one);
}

PbdWorkspace& laid_out(Pbd::Workspace& workspace, const Pbd::Model& model, bool weaves) {
  if (!workspace.impl) workspace.impl = std::make_unique<PbdWorkspace>();
  PbdWorkspace& w = *workspace.impl;
  const std::size_t n = model.mass.size();
  if (w.revision == model.revision && w.places.size() == n && w.weaves == weaves) return w;
  // Held particles may be let go: they count as moving.
  const std::vector<std::uint8_t> still(n, 0);
  std::vector<Real> damping(n, 0), bending_damping(n, 0);
  w.is_damped = false;
  for (const Pbd::Part& part : model.parts) {
    std::fill_n(damping.begin() + part.first_particle, part.num_particles, part.damping_time);
    std::fill_n(bending_damping.begin() + part.first_particle, part.num_particles, part.bending_damping_time);
    w.is_damped = w.is_damped || part.damping_time > 0 || part.bending_damping_time > 0;
  }
  for (std::size_t k = 0, whole = n - model.torn_from.size(); whole + k < n; ++k) {
    const auto from = std::size_t(model.torn_from[k]);
    damping[whole + k] = damping[from], bending_damping[whole + k] = bending_damping[from];
  }
  w.middle.assign(w.is_damped ? n : 0, Place{}), w.ways = w.middle;
  const Weaving weaving = weaves ? weave(model, damping, bending_damping) : Weaving(model);
  lay_out_woven(model, weaving, w);
  const std::vector<Kind> kinds = kinds_of(model);
  w.skins.of = skins_of(model), w.skins.sizes.assign(model.enclosures.size(), 1);
  w.skins.given.assign(model.enclosures.size(), 0);
  lay_out_lengths(model, weaving, kinds, damping, w);
  lay_out_bending(model, weaving, kinds, bending_damping, w);
  // Tetrahedra whose volume stays, and those that are solids.
  std::vector<Index> numbers[2];
  std::vector<Index4> of[2];
  for (std::size_t k = 0; k < model.tetrahedra.size(); ++k) {
    const bool is_solid = model.volume_compliance[k] < 0;
    numbers[is_solid].push_back(Index(k)), of[is_solid].push_back(model.tetrahedra[k]);
  }
  w.volumes.lay_out(
      flat(of[0]), still, damping,
      [&](auto& pack, int l, std::size_t item) {
        const auto k = std::size_t(numbers[0][item]);
        pack.rest[0][l] = model.rest_volume[k];
        pack.compliance[l] = model.volume_compliance[k];
      },
      sliced(of[0], n));
  w.solids.lay_out(
      flat(of[1]), still, damping,
      [&](auto& pack, int l, std::size_t item) {
        const auto k = std::size_t(numbers[1][item]);
        for (int c = 0; c < 9; ++c) pack.rest[c][l] = model.rest_inverse[k](c / 3, c % 3);
        // A lambda that is less than rounding beside mu would have a compliance without bound.
        const Real mu = model.lame[k][0], lambda = std::max(model.lame[k][1], Real(1e-6) * mu);
        pack.compliance[0][l] = 1 / (mu * model.rest_volume[k]);
        pack.compliance[1][l] = 1 / (lambda * model.rest_volume[k]);
      },
      sliced(of[1], n));
  w.solid_strains.lay_out(
      flat(model.strain_tetrahedra), still, damping,
      [&](auto& pack, int l, std::size_t t) {
        for (int c = 0; c < 9; ++c) pack.rest[c][l] = model.strain_tet_inverse[t](c / 3, c % 3);
        for (int c = 0; c < 6; ++c) pack.compliance[c][l] = model.strain_tet_compliance[t][std::size_t(c)];
      },
      sliced(model.strain_tetrahedra, n));
  std::vector<std::uint8_t> anchors(n, 0);
  for (const Index2& t : model.tethers) anchors[std::size_t(t[1])] = 1;
  const std::vector<std::uint8_t> gives = detail::tethers_that_give(model);
  std::vector<Index2> ties[2];
  std::vector<Real> lengths[2];
  for (std::size_t t = 0; t < model.tethers.size(); ++t) {
    ties[gives[t]].push_back(model.tethers[t]);
    lengths[gives[t]].push_back(model.tether_length[t]);
  }
  for (const int k : {0, 1})
    (k == 0 ? w.tethers : w.giving_tethers)
        .lay_out(flat(ties[k]), anchors, {},
                 [&](auto& pack, int l, std::size_t t) { pack.length[l] = lengths[k][t]; });
  w.pressed_tethers.lay_out(model);
  w.tet_bodies = tet_bodies_of(model), w.energy_bounds.lay_out(model, w.tet_bodies);
  w.enclosures.lay_out(model, hard_solids_of(model, w.tet_bodies)), w.shapes.lay_out(model);
  w.spins.lay_out(model);
  w.shares.assign(n, 0);
  w.with_batches([&](auto&... batches) { (batches.count(w.shares), ...); });
  w.places.assign(n, Place{});
  w.x0.resize(n), w.v0.resize(n), w.gone.resize(n);
  w.incident = vertex_triangles(n, model.triangles);
  w.air.assign(model.triangles.size(), Vec3::Zero());
  w.revision = model.revision, w.weaves = weaves;
  return w;
}

}  // namespace plenum::inline PLENUM_ABI
