// What a position-based step reports of how well things keep their lengths and volumes.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

using detail::Place;
using detail::Wide;
using detail::Wide3;

namespace {

constexpr std::size_t block = 4096;
constexpr double warned_error = 0.01;  ///< of an enclosed volume
/// Of a soft body's: what can be seen. A fall takes some hundredths for a few frames.
constexpr double warned_body_error = 0.1;
/// A solid that is so much stiffer against compression than against shear, as with a ratio of Poisson's of
/// 0.488, loses less than a fortieth of its volume to whatever presses it to half its height: a pressure of
/// about mu, over lambda. Held by its tetrahedra alone one of 0.49 that hit the ground lost 1.8 % in a frame.
constexpr Real least_hardness = 40;  ///< lambda over mu

template <class Of>
double largest(std::size_t n, Of&& of) {
  return ordered_reduce(
      n, block, 0.0,
      [&](std::size_t begin, std::size_t end) {
        double most = 0;
        for (std::size_t i = begin; i < end; ++i) most = std::max(most, of(i));
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
}

/// f(points, numbers, lanes) for items `number(k)` of `all`, k from begin to end, as many at a time as are
/// wide: where their points are, and a number of each of `of_each`. The last one fills the lanes left over.
template <int points, class Item, class Number, class F>
void each_wide(std::span<const Item> all, std::span<const Real> of_each, const Place* places,
               std::size_t begin, std::size_t end, Number&& number, F&& f) {
  for (std::size_t k = begin; k < end; k += detail::wide) {
    Index index[points][detail::wide];
    alignas(sizeof(Wide)) Real numbers[detail::wide];
    for (std::size_t l = 0; l < std::size_t(detail::wide); ++l) {
      const std::size_t item = number(std::min(k + l, end - 1));
      for (int i = 0; i < points; ++i) index[i][l] = all[item][i];
      numbers[l] = of_each[item];
    }
    Wide3 x[points];
    for (int i = 0; i < points; ++i) x[i] = detail::gather_place(places, index[i]).x;
    f(x, detail::load_wide(numbers), std::min(std::size_t(detail::wide), end - k));
  }
}
double largest_of(const Wide& a) {
  Real most = a[0];
  for (int l = 1; l < detail::wide; ++l) most = std::max(most, a[l]);
  return double(most);
}

/// The largest length of an edge by what it is at rest, of those that are anything there.
double largest_ratio(const Pbd::Model& model, const Place* places) {
  const double square = ordered_reduce(
      model.edges.size(), block, 0.0,
      [&](std::size_t begin, std::size_t end) {
        Wide most{};
        each_wide<2>(
            std::span(model.edges), std::span(model.rest_length), places, begin, end,
            [](std::size_t k) { return k; },
            [&](const Wide3(&x)[2], const Wide& rest, std::size_t) {
              const Wide3 d = x[1] - x[0];
              most = detail::max(dot(d, d) * detail::inverse_or_nothing(rest * rest), most);
            });
        return largest_of(most);
      },
      [](double a, double b) { return std::max(a, b); });
  return std::sqrt(square);
}

struct Volumes {
  double sum = 0, most = 0;  ///< [m^3]; error as a part of what it is at rest
};
Volumes volumes_of(const TetBody& body, const Pbd::Model& model, const Place* places) {
  return ordered_reduce(
      body.tetrahedra.size(), block, Volumes{},
      [&](std::size_t begin, std::size_t end) {
        double sums[detail::wide] = {};
        Wide most{};
        each_wide<4>(
            std::span(model.tetrahedra), std::span(model.rest_volume), places, begin, end,
            [&](std::size_t k) { return std::size_t(body.tetrahedra[k]); },
            [&](const Wide3(&x)[4], const Wide& rest, std::size_t lanes) {
              const Wide volume = dot(x[1] - x[0], cross(x[2] - x[0], x[3] - x[0])) / detail::fill(6);
              const Wide error = (volume - rest) / rest;
              most = detail::max(detail::max(error, -error), most);
              for (std::size_t l = 0; l < lanes; ++l) sums[l] += double(volume[int(l)]);
            });
        Volumes part{0, largest_of(most)};
        for (const double sum : sums) part.sum += sum;
        return part;
      },
      [](const Volumes& a, const Volumes& b) {
        return Volumes{a.sum + b.sum, std::max(a.most, b.most)};
      });
}

}  // namespace

std::vector<TetBody> tet_bodies_of(const Pbd::Model& model) {
  // Bodies are tetrahedra that share particles: two sides of each tell which do.
  std::vector<Index3> sides;
  sides.reserve(2 * model.tetrahedra.size());
  for (const Index4& t : model.tetrahedra)
    sides.push_back(Index3(t[0], t[1], t[2])), sides.push_back(Index3(t[0], t[1], t[3]));
  const std::vector<Index> body_of_side = triangle_components(model.mass.size(), sides);
  std::vector<TetBody> bodies;
  for (std::size_t k = 0; k < model.tetrahedra.size(); ++k) {
    const auto b = std::size_t(body_of_side[2 * k]);
    if (b >= bodies.size()) bodies.resize(b + 1);
    bodies[b].tetrahedra.push_back(Index(k)), bodies[b].rest_volume += double(model.rest_volume[k]);
    const bool is_solid = model.volume_compliance[k] < 0;
    if (is_solid ? model.lame[k][1] < least_hardness * model.lame[k][0] : model.volume_compliance[k] > 0)
      bodies[b].is_hard = false;
    if (is_solid) bodies[b].shear_energy += double(model.lame[k][0]) * double(model.rest_volume[k]);
    for (const Index i : model.tetrahedra[k]) bodies[b].particles.push_back(i);
  }
  for (TetBody& body : bodies) {
    std::sort(body.particles.begin(), body.particles.end());
    body.particles.erase(std::unique(body.particles.begin(), body.particles.end()), body.particles.end());
  }
  if (bodies.empty()) return bodies;
  std::vector<Index> body_of(model.mass.size(), -1);
  for (std::size_t b = 0; b < bodies.size(); ++b)
    for (const Index i : bodies[b].particles) body_of[std::size_t(i)] = Index(b);
  // Lengths that do not give store nothing.
  for (std::size_t e = 0; e < model.edges.size(); ++e) {
    const Index b = body_of[std::size_t(model.edges[e][0])];
    if (b < 0 || b != body_of[std::size_t(model.edges[e][1])]) continue;
    const double l = double(model.rest_length[e]), compliance = double(model.stretch_compliance[e]);
    bodies[std::size_t(b)].is_lattice = true;
    if (compliance > 0) bodies[std::size_t(b)].shear_energy += l * l / (2 * compliance);
  }
  for (std::size_t u = 0; u < model.strain_tetrahedra.size(); ++u) {
    TetBody& body = bodies[std::size_t(body_of[std::size_t(model.strain_tetrahedra[u][0])])];
    Real softest = 0;
    for (const Real compliance : model.strain_tet_compliance[u]) softest = std::max(softest, compliance);
    body.is_strained = true;
    if (softest > 0) body.shear_energy += 1 / double(softest);
  }
  return bodies;
}

std::vector<PbdSolid> hard_solids_of(const Pbd::Model& model, std::span<const TetBody> bodies) {
  std::vector<PbdSolid> out;
  struct Face {
    Index3 sorted, outward;
  };
  std::vector<Face> faces;
  for (const TetBody& body : bodies) {
    if (!body.is_hard || body.tetrahedra.size() < 2) continue;
    PbdSolid solid;
    // Tetrahedra that change alike by a part of their volume have the energy of one that is as large.
    double stiffness = 0;
    bool yields = true;
    faces.clear();
    for (const Index k : body.tetrahedra) {
      const auto t = std::size_t(k);
      const Index4& c = model.tetrahedra[t];
      for (const Index3& face : {Index3(c[0], c[2], c[1]), Index3(c[0], c[1], c[3]), Index3(c[0], c[3], c[2]),
                                 Index3(c[1], c[2], c[3])}) {
        Index3 sorted = face;
        std::sort(sorted.begin(), sorted.end());
        faces.push_back({sorted, face});
      }
      yields = yields && model.volume_compliance[t] < 0;
      stiffness += double(model.lame[t][1]) * double(model.rest_volume[t]);
    }
    const auto key = [](const Face& f) { return std::tie(f.sorted[0], f.sorted[1], f.sorted[2]); };
    std::sort(faces.begin(), faces.end(), [&](const Face& a, const Face& b) { return key(a) < key(b); });
    for (std::size_t f = 0, end; f < faces.size(); f = end) {
      for (end = f + 1; end < faces.size() && key(faces[end]) == key(faces[f]);) ++end;
      if (end == f + 1) solid.triangles.push_back(faces[f].outward);
    }
    solid.rest_volume = Real(body.rest_volume);
    solid.compliance = yields ? Real(body.rest_volume * body.rest_volume / stiffness) : Real(0);
    out.push_back(std::move(solid));
  }
  return out;
}

void measure(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params, PbdWorkspace& w,
             Report& report) {
  const std::vector<Vec3>& x = state.particles.x;
  parallel_for(x.size(), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      w.places[i] = {{x[i].x(), x[i].y(), x[i].z()}, state.particles.inverse_mass[i]};
  });
  const Place* const places = w.places.data();
  const double by_edges = std::max(0.0, largest_ratio(model, places) - 1);
  const double by_threads = largest(model.strain_triangles.size(), [&](std::size_t t) {
    const Index3& c = model.strain_triangles[t];
    const Vec3 a = x[std::size_t(c[1])] - x[std::size_t(c[0])],
               b = x[std::size_t(c[2])] - x[std::size_t(c[0])];
    const Vec4& d = model.strain_inverse[t];
    return double(std::max((d[0] * a + d[2] * b).norm(), (d[1] * a + d[3] * b).norm())) - 1;
  });
  report.measure("max_stretch", std::max(by_edges, by_threads));
  double enclosed = 0, hard = 0;
  bool is_given = false;
  for (std::size_t k = 0; k < model.enclosures.size(); ++k) {
    const Pbd::Model::Enclosure& e = model.enclosures[k];
    if (e.has_gas) continue;
    const double wanted = w.skins.given[k];
    is_given = true;
    const double error = std::abs(enclosed_volume(model, e, state.particles.x) / wanted - 1);
    enclosed = std::max(enclosed, error);
    if (!(e.compliance > 0) && params.method == Pbd::Method::xpbd) hard = std::max(hard, error);
  }
  if (is_given) report.measure("max_enclosed_error", enclosed);
  if (hard > warned_error)
    report.warn(
        "what presses a balloon has changed its volume by more than a hundredth (the measure "
        "max_enclosed_error): take more substeps");
  if (model.tetrahedra.empty()) return;
  double of_one = 0, of_whole = 0;
  bool any_hard = false;
  for (const TetBody& body : w.tet_bodies) {
    const Volumes volumes = volumes_of(body, model, places);
    of_one = std::max(of_one, volumes.most);
    any_hard = any_hard || body.is_hard;
    if (body.is_hard) of_whole = std::max(of_whole, std::abs(volumes.sum / body.rest_volume - 1));
  }
  report.measure("max_volume_error", of_one);
  if (any_hard) report.measure("max_body_error", of_whole);
  if (of_whole > warned_body_error && params.method == Pbd::Method::xpbd)
    report.warn(
        "what presses a soft body has changed its volume by more than a tenth (the measure "
        "max_body_error): take more substeps, or iterations");
}

}  // namespace plenum::inline PLENUM_ABI
