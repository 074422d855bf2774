#include "plenum/solvers/pbd/detail/energy_bounds.h"

#include <algorithm>
#include <cmath>

#include "plenum/base/parallel.h"
#include "plenum/solvers/pbd/detail/motion.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

using detail::Place;
using detail::Wide;
using detail::wide;
using detail::Wide3;

namespace {

constexpr std::size_t members_per_block = 1024;
constexpr std::size_t packs_per_task = 256;
/// [s] in which energy that is neither motion nor stored is forgotten.
constexpr double remembered = 1;
/// Of kinetic energy, what rounding of velocities is far below.
constexpr double rounded = 1e-6;

/// Particles of constraints other than solids, whose energies are not counted.
std::vector<std::uint8_t> of_other_constraints(const Pbd::Model& model) {
  std::vector<std::uint8_t> out(model.mass.size(), 0);
  const auto mark = [&](const auto& items) {
    for (const auto& item : items)
      for (const Index i : item) out[std::size_t(i)] = 1;
  };
  mark(model.edges), mark(model.hinges), mark(model.plates), mark(model.bends), mark(model.strain_triangles);
  mark(model.area_triangles), mark(model.strain_tetrahedra), mark(model.tethers), mark(model.triangles);
  for (std::size_t c = 0; c < model.cluster_members.size(); ++c)
    for (const Index i : model.cluster_members[c]) out[std::size_t(i)] = 1;
  for (std::size_t k = 0; k < model.tetrahedra.size(); ++k)
    if (!(model.volume_compliance[k] < 0))
      for (const Index i : model.tetrahedra[k]) out[std::size_t(i)] = 1;
  return out;
}

}  // namespace

void PbdEnergyBounds::lay_out(const Pbd::Model& model, std::span<const TetBody> bodies) {
  particle_.clear(), blocks_.clear(), bodies_.clear(), packs_.clear();
  const std::vector<std::uint8_t> is_other = of_other_constraints(model);
  for (const TetBody& of : bodies) {
    if (std::any_of(of.particles.begin(), of.particles.end(),
                    [&](Index i) { return is_other[std::size_t(i)]; }))
      continue;
    Body& body = bodies_.emplace_back();
    body = {.first_block = blocks_.size(), .last_block = 0, .first_pack = packs_.size(), .last_pack = 0};
    const std::size_t end = particle_.size() + of.particles.size();
    for (std::size_t k = particle_.size(); k < end; k += members_per_block)
      blocks_.push_back({bodies_.size() - 1, k, std::min(end, k + members_per_block)});
    body.last_block = blocks_.size();
    particle_.insert(particle_.end(), of.particles.begin(), of.particles.end());
    for (std::size_t k = 0; k < of.tetrahedra.size(); k += wide) {
      Pack& pack = packs_.emplace_back();
      pack.mu = pack.lambda = Wide{};
      for (int l = 0; l < wide; ++l) {
        const bool is_left_over = k + std::size_t(l) >= of.tetrahedra.size();
        const auto t = std::size_t(of.tetrahedra[is_left_over ? k : k + std::size_t(l)]);
        for (int i = 0; i < 4; ++i) pack.particle[i][l] = model.tetrahedra[t][i];
        for (int c = 0; c < 9; ++c) pack.rest[c][l] = model.rest_inverse[t](c / 3, c % 3);
        if (is_left_over) continue;
        pack.mu[l] = model.lame[t][0] * model.rest_volume[t];
        pack.lambda[l] = model.lame[t][1] * model.rest_volume[t];
      }
    }
    body.last_pack = packs_.size();
  }
  outer_.resize(particle_.size()), paused_.resize(particle_.size()), sums_.resize(blocks_.size());
}

std::span<const Index> PbdEnergyBounds::particles_of(const Body& body) const {
  const std::size_t first = blocks_[body.first_block].first, last = blocks_[body.last_block - 1].last;
  return std::span(particle_).subspan(first, last - first);
}

double PbdEnergyBounds::stored_by(const Body& body, std::span<const Vec3> x0,
                                  std::span<const Vec3> gone) const {
  return ordered_reduce(
      body.last_pack - body.first_pack, packs_per_task, 0.0,
      [&](std::size_t begin, std::size_t end) {
        double sum = 0;
        for (std::size_t k = begin; k < end; ++k) {
          const Pack& pack = packs_[body.first_pack + k];
          const auto gather = [](std::span<const Vec3> from, const Index* index) {
            Wide3 out;
            for (int l = 0; l < wide; ++l) {
              const Vec3& a = from[std::size_t(index[l])];
              out.x[l] = a.x(), out.y[l] = a.y(), out.z[l] = a.z();
            }
            return out;
          };
          Wide3 x[4];
          x[0] = Wide3{};
          const Wide3 first = gather(x0, pack.particle[0]);
          for (int i = 1; i < 4; ++i) x[i] = gather(x0, pack.particle[i]) - first;
          if (!gone.empty()) {
            const Wide3 way = gather(gone, pack.particle[0]);
            for (int i = 1; i < 4; ++i) x[i] += gather(gone, pack.particle[i]) - way;
          }
          const Wide energy = detail::solid_energy(x, pack.rest, pack.mu, pack.lambda);
          for (int l = 0; l < wide; ++l) sum += double(energy[l]);
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

void PbdEnergyBounds::begin_step(std::vector<Real>& stored, std::span<const Vec3> x0) {
  for (Body& body : bodies_) body.is_led = false;
  if (stored.size() == bodies_.size()) return;
  stored.resize(bodies_.size());
  for (std::size_t b = 0; b < bodies_.size(); ++b) stored[b] = Real(stored_by(bodies_[b], x0, {}));
}

void PbdEnergyBounds::begin_substep(const Pbd::Model& model, const Particles& p) {
  parallel_blocks(blocks_.size(), [&](std::size_t b) {
    Sums& out = sums_[b];
    out.motion = 0;
    for (std::size_t k = blocks_[b].first; k < blocks_[b].last; ++k) {
      const auto i = std::size_t(particle_[k]);
      outer_[k] = -p.v[i];
      if (p.inverse_mass[i] > 0)
        out.motion += double(model.mass[i]) * p.v[i].cast<double>().squaredNorm() / 2;
    }
  });
  for (Body& body : bodies_) {
    body.motion = 0;
    for (std::size_t b = body.first_block; b < body.last_block; ++b) body.motion += sums_[b].motion;
  }
}

void PbdEnergyBounds::note_alone(const Particles& p) {
  parallel_for(particle_.size(), members_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) outer_[k] += p.v[std::size_t(particle_[k])];
  });
}

void PbdEnergyBounds::pause(std::span<const Place> places) {
  parallel_for(particle_.size(), members_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Place& at = places[std::size_t(particle_[k])];
      paused_[k] = Vec3(at.x[0], at.x[1], at.x[2]);
    }
  });
}

void PbdEnergyBounds::resume(std::span<const Place> places, Real h) {
  parallel_for(particle_.size(), members_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Place& at = places[std::size_t(particle_[k])];
      outer_[k] += (Vec3(at.x[0], at.x[1], at.x[2]) - paused_[k]) / h;
    }
  });
}

void PbdEnergyBounds::end_substep(const Pbd::Model& model, Particles& p, std::span<const Place> places,
                                  std::span<Real> stored) {
  using D3 = detail::Motion::D3;
  parallel_blocks(blocks_.size(), [&](std::size_t b) {
    Sums sums{};
    for (std::size_t k = blocks_[b].first; k < blocks_[b].last; ++k) {
      const auto i = std::size_t(particle_[k]);
      if (p.inverse_mass[i] == 0) {
        sums.is_held = true, sums.is_led |= p.v[i] != Vec3::Zero();
        continue;
      }
      sums.is_led |= places[i].inverse_mass < gripped * p.inverse_mass[i];
      const double m = double(model.mass[i]);
      const D3 v = p.v[i].cast<double>();
      sums.motion += m * v.squaredNorm() / 2, sums.work += m * v.dot(outer_[k].cast<double>());
    }
    sums_[b] = sums;
  });
  for (std::size_t n = 0; n < bodies_.size(); ++n) {
    Body& body = bodies_[n];
    Sums all{};
    for (std::size_t b = body.first_block; b < body.last_block; ++b) {
      const Sums& s = sums_[b];
      all.motion += s.motion, all.work += s.work, all.is_held |= s.is_held, all.is_led |= s.is_led;
    }
    body.is_led |= all.is_led;
    const double most = body.motion + double(stored[n]) + all.work;
    double motion = all.motion;
    if (!body.is_led && motion > most + rounded * std::max(motion, body.motion)) {
      const std::span<const Index> particles = particles_of(body);
      detail::Motion now = detail::motion_of(particles, model, p, 0);
      if (all.is_held) now.velocity.setZero(), now.spin.setZero(), now.energy = motion;
      const double whole = motion - now.energy, own = std::max(0.0, most - whole),
                   part = now.energy > own ? std::sqrt(own / now.energy) : 1;
      for (const Index k : particles) {
        const auto i = std::size_t(k);
        if (p.inverse_mass[i] == 0) continue;
        const D3 with = now.whole_at(p.x[i]);
        p.v[i] = (with + part * (p.v[i].cast<double>() - with)).cast<Real>();
      }
      motion = std::min(motion, whole + own);
    }
    stored[n] = Real(most - motion);
  }
}

void PbdEnergyBounds::end_step(std::span<Real> stored, std::span<const Vec3> x0, std::span<const Vec3> gone,
                               Real dt) {
  const double kept = std::exp(-double(dt) / remembered);
  for (std::size_t n = 0; n < bodies_.size(); ++n) {
    const double now = stored_by(bodies_[n], x0, gone), most = double(stored[n]);
    if (!(most <= now))
      stored[n] = Real(now + kept * (most - now));
    else if (bodies_[n].is_led)
      stored[n] = Real(now);
  }
}

}  // namespace plenum::inline PLENUM_ABI
