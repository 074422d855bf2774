// Balloons: the volume of closed surfaces, and the gas in them.
#include "plenum/solvers/pbd/detail/enclosures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "plenum/base/parallel.h"
#include "plenum/elements/closed_surface.h"
#include "plenum/geometry/measures.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Enclosure = Pbd::Model::Enclosure;

constexpr std::size_t vertices_per_block = 256;
/// A projection that changes the volume by more than this part of it, leaves about half its square and is
/// followed by another, but for the last.
constexpr double large_change = 0.01;
constexpr int most_projections = 4;
/// Solids that are farther than this part of their volume from it are inside out, flat, or torn about: their
/// tetrahedra know the way, the whole does not.
constexpr double farthest_change = 0.2;
/// Of its volume at rest, that a balloon's gas fills at least.
constexpr double least_volume = 0.1;
/// Of its volume at rest, the least that a skin is asked to enclose: of nothing, gradients vanish.
constexpr double least_part = 5e-3;

std::span<const Index3> triangles_of(const Pbd::Model& model, const Pbd::Part& part) {
  return std::span(model.triangles)
      .subspan(std::size_t(part.first_triangle), std::size_t(part.num_triangles));
}

Vec3 vector(const detail::Place& place) {
  return Vec3(place.x[0], place.x[1], place.x[2]);
}
const Vec3& vector(const Vec3& place) {
  return place;
}

/// The vertices around each of the sorted `particles`, by following its triangles: of closed manifolds, where
/// each has one fan, or none. False, and nothing appended, if it is none.
bool append_rings(std::span<const Index3> triangles, std::span<const Index> particles, Rows& rings) {
  const auto first_vertex = static_cast<Index>(rings.offsets.size() - 1);
  const auto vertex = [&](Index i) {
    return std::size_t(std::lower_bound(particles.begin(), particles.end(), i) - particles.begin());
  };
  std::vector<std::vector<Index2>> sides(particles.size());  // opposite to each vertex
  for (const Index3& t : triangles) {
    const std::size_t of[3] = {vertex(t[0]), vertex(t[1]), vertex(t[2])};
    for (int c = 0; c < 3; ++c)
      sides[of[c]].push_back(Index2(Index(of[(c + 1) % 3]), Index(of[(c + 2) % 3])));
  }
  const std::size_t items = rings.items.size(), rows = rings.offsets.size();
  for (const std::vector<Index2>& fan : sides) {
    Index at = fan.empty() ? -1 : fan[0][0];
    for (std::size_t k = 0; k < fan.size(); ++k) {
      rings.items.push_back(first_vertex + at);
      const auto next = std::find_if(fan.begin(), fan.end(), [&](const Index2& s) { return s[0] == at; });
      const bool is_round = next != fan.end() && ((*next)[1] == fan[0][0]) == (k + 1 == fan.size());
      if (!is_round) {
        rings.items.resize(items), rings.offsets.resize(rows);
        return false;
      }
      at = (*next)[1];
    }
    rings.offsets.push_back(Index(rings.items.size()));
  }
  return true;
}

/// [m^3] The least that a skin of so many particles may be asked to enclose. It lies in folds, and has cells
/// of about as much as what touches is apart: skins of 162 to 2562 particles, on a plane and asked for five
/// cubes of that each or less, never came to rest; with eight they did.
double least_given(const Enclosure& e, std::size_t particles, Real distance) {
  const double d = double(distance);
  return std::max(least_part * double(e.rest_volume), double(particles) * d * d * d);
}

/// [m^3] What it is given, or what of a gas fills where the skin is slack.
double asked_of(const Enclosure& e, double inflation) {
  if (!e.has_gas) return inflation * double(e.ratio) * double(e.rest_volume);
  return e.outside > 0 ? e.amount * inflation / double(e.outside) : std::numeric_limits<double>::infinity();
}

/// [1/s] By how much of that at rest the size of what is given changes.
constexpr double rate = 1;

/// The change of the multiplier that takes a surface to where it holds, if its volume were linear in it.
double change_of(const Enclosure& e, double volume, double response, double multiplier, double inflation,
                 double least, const detail::Projection& how) {
  if (!(response > 0)) return 0;
  if (!e.has_gas) {
    const double error = volume - std::max(least, asked_of(e, inflation));
    const double soft = double(e.compliance) * double(how.compliance_scale);
    return -double(how.part) * (error + soft * multiplier) / (response + soft);
  }
  const double outside = double(e.outside), amount = std::max(e.amount * inflation, outside * least);
  double wanted;
  if (how.compliance_scale > 0) {
    // The multiplier is h^2 p, and what it moves response times that.
    wanted =
        gas_volume(volume - response * multiplier, response / double(how.compliance_scale), amount, outside);
  } else {
    // Without compliances, as much as would not press at all.
    wanted = outside > 0 ? amount / outside : volume;
  }
  return double(how.part) * (wanted - volume) / response;
}

}  // namespace

void PbdEnclosures::append(const Enclosure& enclosure, std::size_t number, bool is_solid,
                           std::span<const Index> particles, std::span<const Index3> triangles) {
  if (!append_rings(triangles, particles, rings_)) return;
  const std::size_t first = particle_.size(), last = first + particles.size();
  particle_.insert(particle_.end(), particles.begin(), particles.end());
  Surface& s = surfaces_.emplace_back(Surface{enclosure, number, is_solid, blocks_.size(), 0});
  for (std::size_t v = first; v < last; v += vertices_per_block)
    blocks_.push_back({surfaces_.size() - 1, v, std::min(last, v + vertices_per_block), 0, 0});
  s.last_block = blocks_.size();
}

void PbdEnclosures::lay_out(const Pbd::Model& model, std::span<const PbdSolid> solids) {
  surfaces_.clear(), blocks_.clear(), particle_.clear(), rings_ = {};
  std::vector<Index> particles;
  for (std::size_t k = 0; k < model.enclosures.size(); ++k) {
    const Enclosure& e = model.enclosures[k];
    const Pbd::Part& part = model.parts[std::size_t(e.part)];
    particles.resize(std::size_t(part.num_particles));
    std::iota(particles.begin(), particles.end(), part.first_particle);
    append(e, k, false, particles, triangles_of(model, part));
  }
  for (const PbdSolid& solid : solids) {
    particles.clear();
    for (const Index3& t : solid.triangles) particles.insert(particles.end(), t.begin(), t.end());
    std::sort(particles.begin(), particles.end());
    particles.erase(std::unique(particles.begin(), particles.end()), particles.end());
    append({.rest_volume = solid.rest_volume, .compliance = solid.compliance}, 0, true, particles,
           solid.triangles);
  }
  share_.resize(particle_.size());
  for (const Surface& s : surfaces_) {
    const std::size_t first = blocks_[s.first_block].first, last = blocks_[s.last_block - 1].last;
    double sum = 0;
    for (std::size_t v = first; v < last; ++v) sum += double(model.mass[std::size_t(particle_[v])]);
    for (std::size_t v = first; v < last; ++v)
      share_[v] = Real(double(model.mass[std::size_t(particle_[v])]) / sum);
  }
  start_.resize(particle_.size()), at_.resize(particle_.size()), gradient_.resize(particle_.size());
  set_distance(0);
  impulse_.assign(surfaces_.empty() ? 0 : model.mass.size(), Vec3::Zero());
}

void PbdEnclosures::set_distance(Real distance) {
  for (Surface& s : surfaces_) {
    const std::size_t first = blocks_[s.first_block].first, last = blocks_[s.last_block - 1].last;
    s.least = s.is_solid ? 0 : least_given(s.enclosure, last - first, distance);
  }
}

void PbdEnclosures::begin(std::span<const Vec3> x0) {
  for (const Surface& s : surfaces_) {
    const std::size_t first = blocks_[s.first_block].first, last = blocks_[s.last_block - 1].last;
    const Vec3& origin = x0[std::size_t(particle_[first])];
    for (std::size_t v = first; v < last; ++v) start_[v] = x0[std::size_t(particle_[v])] - origin;
  }
}

void PbdEnclosures::reset() {
  for (Surface& s : surfaces_) s.multiplier = 0, s.left = s.least;
}

/// Of the surfaces that are not settled.
template <class P>
void PbdEnclosures::find_gradients(std::span<const P> places) {
  parallel_blocks(blocks_.size(), [&](std::size_t k) {
    const Block& block = blocks_[k];
    if (surfaces_[block.surface].settled) return;
    for (std::size_t v = block.first; v < block.last; ++v)
      at_[v] = start_[v] + vector(places[std::size_t(particle_[v])]);
  });
  parallel_blocks(blocks_.size(), [&](std::size_t k) {
    Block& block = blocks_[k];
    const Surface& s = surfaces_[block.surface];
    if (s.settled) return;
    block.volume = block.response = 0;
    const Vec3 origin = at_[blocks_[s.first_block].first];
    for (std::size_t v = block.first; v < block.last; ++v) {
      const Vec3& x = at_[v];
      const Vec3 g =
          volume_gradient<Vec3>(x, rings_[v], [&](Index j) -> const Vec3& { return at_[std::size_t(j)]; });
      gradient_[v] = g;
      // Each triangle's volume is counted at its three corners.
      block.volume += double(g.dot(x - origin)) / 3;
      if constexpr (std::is_same_v<P, detail::Place>)
        block.response += double(places[std::size_t(particle_[v])].inverse_mass) * double(g.squaredNorm());
    }
  });
  for (Surface& s : surfaces_) {
    if (s.settled) continue;
    s.volume = s.response = 0;
    for (std::size_t k = s.first_block; k < s.last_block; ++k)
      s.volume += blocks_[k].volume, s.response += blocks_[k].response;
  }
}

void PbdEnclosures::inflate(std::span<const Real> inflation) {
  for (Surface& s : surfaces_)
    if (!s.is_solid) s.inflation = double(inflation[s.number]);
}

void PbdEnclosures::let_out(std::span<const Vec3> gone, Real h) {
  bool any = false;
  for (Surface& s : surfaces_) {
    s.settled = s.is_solid || asked_of(s.enclosure, s.inflation) >= double(s.enclosure.rest_volume);
    any |= !s.settled;
  }
  if (!any) return;
  find_gradients(gone);
  for (Surface& s : surfaces_)
    if (!s.settled) s.left = std::max(s.left, plenum::let_out(s.enclosure, s.volume, h));
}

std::span<const Vec3> PbdEnclosures::weigh(std::span<const Vec3> gone, const Pbd::Params& params, Real h) {
  const auto weighs = [&](const Surface& s) {
    return !s.is_solid && (params.air_density > 0 || (s.inflation != 1 && s.enclosure.filling > 0));
  };
  bool any = false;
  for (Surface& s : surfaces_) s.settled = !weighs(s), any |= !s.settled;
  if (!any || params.gravity == Vec3::Zero()) return {};
  find_gradients(gone);
  std::fill(impulse_.begin(), impulse_.end(), Vec3::Zero());
  parallel_blocks(blocks_.size(), [&](std::size_t k) {
    const Block& block = blocks_[k];
    const Surface& s = surfaces_[block.surface];
    if (s.settled) return;
    // What is outside presses the more the lower, and so does what is inside; particles bear so much of the
    // latter as there is with an inflation of 1. The pressures that a crumpled wall would need for a weight
    // have no bound as it encloses nothing: what is beyond that of a tenth of its volume hangs on particles
    // by their masses.
    const double more = (s.inflation - 1) * double(s.enclosure.filling), volume = std::max(0.0, s.volume),
                 density = more / std::max(volume, least_volume * double(s.enclosure.rest_volume));
    const Real heavier = Real(double(params.air_density) - density), left = Real(more - density * volume);
    const Vec3& origin = at_[blocks_[s.first_block].first];
    // With the gradients g_i of the volume, sum g_i (a . x_i) = V a: the sum of these is a weight.
    for (std::size_t v = block.first; v < block.last; ++v) {
      Vec3& impulse = impulse_[std::size_t(particle_[v])];
      impulse = (h * left * share_[v]) * params.gravity;
      if (s.volume > 0) impulse -= (h * heavier * params.gravity.dot(at_[v] - origin)) * gradient_[v];
    }
  });
  return impulse_;
}

double PbdEnclosures::project(std::span<detail::Place> places, const detail::Projection& how, unsigned which,
                              double held) {
  bool any = false;
  double follow = 0;
  for (Surface& s : surfaces_) {
    // Classic stiffness is by sweeps, over tetrahedra.
    const unsigned kind = s.is_solid ? solids : s.enclosure.has_gas ? gases : volumes;
    s.settled = (which & kind) == 0 || (s.is_solid && how.part < 1);
    any |= !s.settled;
  }
  if (!any) return follow;
  for (int k = 0; k < most_projections; ++k) {
    find_gradients(std::span<const detail::Place>(places));
    for (Surface& s : surfaces_) {
      if (s.settled) continue;
      const bool is_far = s.is_solid && std::abs(s.volume - double(s.enclosure.rest_volume)) >
                                            farthest_change * double(s.enclosure.rest_volume);
      if (is_far) {
        s.settled = true;
        continue;
      }
      s.change = change_of(s.enclosure, s.volume, s.response, s.multiplier, s.inflation, s.left, how);
      const double by = std::abs(s.change * s.response), of = std::abs(s.volume);
      double& off = s.enclosure.has_gas ? off_.gases : off_.volumes;
      if (k == 0 && of > 0) off = std::max(off, by / of);
      const bool is_open = held >= 0 && !s.is_solid && s.change < 0;
      if (is_open || (k == 0 && !(by > held * of))) {
        s.settled = true;
        continue;
      }
      if (k == 0) {
        const double part = s.is_solid && held > 0 && of > 0 ? std::min(by / (held * of) - 1, 1.0) : 1.0;
        s.change *= part, follow = std::max(follow, part);
      }
      s.multiplier += s.change;
    }
    parallel_blocks(blocks_.size(), [&](std::size_t b) {
      const Block& block = blocks_[b];
      const Surface& s = surfaces_[block.surface];
      if (s.settled) return;
      for (std::size_t v = block.first; v < block.last; ++v) {
        detail::Place& p = places[std::size_t(particle_[v])];
        const Vec3 dx = (p.inverse_mass * Real(s.change)) * gradient_[v];
        for (int c = 0; c < 3; ++c) p.x[c] += dx[c];
      }
    });
    bool settled = true;
    for (Surface& s : surfaces_) {
      if (s.settled) continue;
      s.settled = how.part < 1 || !(std::abs(s.change * s.response) > large_change * std::abs(s.volume));
      settled &= s.settled;
    }
    if (settled) break;
  }
  return follow;
}

double volume_given(const Pbd::Model& model, const Enclosure& e, Real inflation, Real distance) {
  const Pbd::Part& part = model.parts[std::size_t(e.part)];
  const double least = least_given(e, std::size_t(part.num_particles), distance);
  return std::max(least, asked_of(e, double(inflation)));
}

Real inflated(const Enclosure& e, Real inflation, Real wanted, Real h) {
  const double full = e.has_gas ? 1 : double(e.ratio), size = std::cbrt(double(inflation) * full),
               there = std::cbrt(double(wanted) * full), way = rate * double(h);
  if (std::abs(there - size) <= way) return wanted;
  return Real(std::pow(there > size ? size + way : size - way, 3) / full);
}

std::vector<Real> inflation_at(const Pbd::Model& model, std::span<const Vec3> x, Real wanted) {
  std::vector<Real> out(model.enclosures.size(), wanted);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const Enclosure& e = model.enclosures[k];
    const double full = double(e.rest_volume) * (e.has_gas ? 1 : double(e.ratio)),
                 held = std::max(0.0, enclosed_volume(model, e, x)) / full;
    out[k] = std::min(wanted, Real(held));
  }
  return out;
}

double let_out(const Enclosure& e, double volume, Real h) {
  const double full = double(e.rest_volume), size = std::cbrt(std::max(0.0, volume) / full);
  return full * std::pow(std::max(0.0, size - rate * double(h)), 3);
}

double enclosed_volume(const Pbd::Model& model, const Enclosure& enclosure, std::span<const Vec3> x) {
  return enclosed_volume(x, triangles_of(model, model.parts[std::size_t(enclosure.part)]));
}

}  // namespace plenum::inline PLENUM_ABI
