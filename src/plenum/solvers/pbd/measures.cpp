// What a position-based step reports of how well things keep their lengths and volumes.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "plenum/base/parallel.h"
#include "plenum/geometry/topology.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {
namespace {

constexpr std::size_t block = 4096;
constexpr double warned_error = 0.01;  ///< of an enclosed volume
/// Of a soft body's: what can be seen. A fall takes some hundredths for a few frames.
constexpr double warned_body_error = 0.1;
/// A solid that is so much stiffer against compression than against shear loses less than a hundredth of its
/// volume to whatever presses it to half its height: a pressure of about mu, over lambda.
constexpr Real least_hardness = 100;  ///< lambda over mu

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

/// [m^3] Of a tetrahedron.
double volume_of(const Pbd::Model& model, const Pbd::State& state, std::size_t k) {
  const Index4 t = model.tetrahedra[k];
  const std::vector<Vec3>& x = state.particles.x;
  const Vec3& o = x[std::size_t(t[0])];
  const Vec3 a = x[std::size_t(t[1])] - o, b = x[std::size_t(t[2])] - o, c = x[std::size_t(t[3])] - o;
  return double(a.dot(b.cross(c))) / 6;
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

void measure(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params,
             const PbdWorkspace& w, Report& report) {
  const double by_edges =
      largest(model.edges.size(), [&](std::size_t e) { return double(Pbd::strain(model, state, e)); });
  const double by_threads = largest(model.strain_triangles.size(), [&](std::size_t t) {
    const Index3& c = model.strain_triangles[t];
    const std::vector<Vec3>& x = state.particles.x;
    const Vec3 a = x[std::size_t(c[1])] - x[std::size_t(c[0])],
               b = x[std::size_t(c[2])] - x[std::size_t(c[0])];
    const Vec4& d = model.strain_inverse[t];
    return double(std::max((d[0] * a + d[2] * b).norm(), (d[1] * a + d[3] * b).norm())) - 1;
  });
  report.measure("max_stretch", std::max(by_edges, by_threads));
  double enclosed = 0, hard = 0;
  bool is_given = false;
  for (const Pbd::Model::Enclosure& e : model.enclosures) {
    const double wanted = double(params.inflation) * double(e.ratio) * double(e.rest_volume);
    if (e.has_gas || !(wanted > 0)) continue;
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
  struct Volumes {
    double sum = 0, most = 0;  ///< [m^3]; error as a part of what it is at rest
  };
  double of_one = 0, of_whole = 0;
  bool any_hard = false;
  for (const TetBody& body : w.tet_bodies) {
    const Volumes volumes = ordered_reduce(
        body.tetrahedra.size(), block, Volumes{},
        [&](std::size_t begin, std::size_t end) {
          Volumes part;
          for (std::size_t k = begin; k < end; ++k) {
            const auto t = std::size_t(body.tetrahedra[k]);
            const double volume = volume_of(model, state, t);
            part.sum += volume;
            part.most = std::max(part.most, std::abs(volume / double(model.rest_volume[t]) - 1));
          }
          return part;
        },
        [](const Volumes& a, const Volumes& b) {
          return Volumes{a.sum + b.sum, std::max(a.most, b.most)};
        });
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
