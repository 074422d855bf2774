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

constexpr std::size_t members_per_task = 1024;
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

/// In [0, 1], of what they move by besides `whole`, with which their energy is `most` [J], or as near to it
/// as may be: that of part^2 a + part b + c.
double part_of_own(std::span<const Index> particles, const Pbd::Model& model, const Particles& p,
                   const detail::Motion& whole, double most) {
  using D3 = detail::Motion::D3;
  double a = 0, b = 0, c = 0;
  for (const Index k : particles) {
    const auto i = std::size_t(k);
    if (p.inverse_mass[i] == 0) continue;
    const double m = double(model.mass[i]);
    const D3 with = whole.whole_at(p.x[i]), own = p.v[i].cast<double>() - with;
    a += m * own.squaredNorm() / 2, b += m * own.dot(with), c += m * with.squaredNorm() / 2;
  }
  if (!(a > 0)) return 1;
  return std::clamp((std::sqrt(std::max(0.0, b * b - 4 * a * (c - most))) - b) / (2 * a), 0.0, 1.0);
}

}  // namespace

void PbdEnergyBounds::lay_out(const Pbd::Model& model, std::span<const TetBody> bodies) {
  particle_.clear(), pieces_.clear(), bodies_.clear(), packs_.clear();
  const std::vector<std::uint8_t> is_other = of_other_constraints(model);
  for (const TetBody& of : bodies) {
    if (std::any_of(of.particles.begin(), of.particles.end(),
                    [&](Index i) { return is_other[std::size_t(i)]; }))
      continue;
    Body& body = bodies_.emplace_back();
    body.first = particle_.size(), body.last = body.first + of.particles.size();
    body.first_pack = packs_.size(), body.first_piece = pieces_.size();
    for (std::size_t k = body.first; k < body.last; k += members_per_task)
      pieces_.push_back({k, std::min(body.last, k + members_per_task)});
    body.last_piece = pieces_.size();
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
  tasks_.clear();
  std::size_t members = 0;
  for (std::size_t k = 0; k < pieces_.size(); ++k) {
    if (members % members_per_task == 0 || pieces_[k].last - pieces_[k].first + members > members_per_task)
      tasks_.push_back(k), members = 0;
    members += pieces_[k].last - pieces_[k].first;
  }
  for (std::vector<Vec3>* const of : {&before_, &alone_, &touch_, &paused_}) of->resize(particle_.size());
  sums_.resize(pieces_.size());
}

template <class F>
void PbdEnergyBounds::each_piece(F&& f) const {
  parallel_blocks(tasks_.size(), [&](std::size_t t) {
    const std::size_t end = t + 1 < tasks_.size() ? tasks_[t + 1] : pieces_.size();
    for (std::size_t k = tasks_[t]; k < end; ++k) f(k, pieces_[k].first, pieces_[k].last);
  });
}

void PbdEnergyBounds::Sums::add(const Sums& b) {
  are_several |= b.are_several || (is_held && b.is_held && led != b.led);
  if (b.is_held) led = b.led;
  before += b.before, after += b.after, work += b.work, touch += b.touch, inner += b.inner;
  is_held |= b.is_held;
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
  each_piece([&](std::size_t piece, std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t k = first; k < last; ++k) {
      const auto i = std::size_t(particle_[k]);
      before_[k] = p.v[i], touch_[k].setZero();
      if (p.inverse_mass[i] > 0) sum += double(model.mass[i]) * p.v[i].cast<double>().squaredNorm() / 2;
    }
    sums_[piece].before = sum;
  });
}

void PbdEnergyBounds::note_alone(const Particles& p) {
  each_piece([&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) alone_[k] = p.v[std::size_t(particle_[k])];
  });
}

void PbdEnergyBounds::pause(std::span<const Place> places) {
  each_piece([&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      const Place& at = places[std::size_t(particle_[k])];
      paused_[k] = Vec3(at.x[0], at.x[1], at.x[2]);
    }
  });
}

void PbdEnergyBounds::resume(std::span<const Place> places, Real h, bool is_hand) {
  std::vector<Vec3>& to = is_hand ? alone_ : touch_;
  each_piece([&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      const Place& at = places[std::size_t(particle_[k])];
      to[k] += (Vec3(at.x[0], at.x[1], at.x[2]) - paused_[k]) / h;
    }
  });
}

void PbdEnergyBounds::end_substep(const Pbd::Model& model, Particles& p, std::span<const Place> places,
                                  std::span<Real> stored) {
  using D3 = detail::Motion::D3;
  each_piece([&](std::size_t piece, std::size_t first, std::size_t last) {
    Sums sums;
    sums.before = sums_[piece].before;
    for (std::size_t k = first; k < last; ++k) {
      const auto i = std::size_t(particle_[k]);
      if (p.inverse_mass[i] == 0) {
        sums.are_several |= sums.is_held && sums.led != p.v[i];
        sums.is_held = true, sums.led = p.v[i];
        continue;
      }
      // What a hand has a hold of is as heavy to the solid as its spring makes it, which takes the difference
      // (grasps.cpp).
      const double m = double(model.mass[i]), heavier = double(p.inverse_mass[i] / places[i].inverse_mass);
      const D3 v = p.v[i].cast<double>(), touch = touch_[k].cast<double>();
      const D3 inner = v - alone_[k].cast<double>() - touch, hand = (1 - heavier) * inner;
      sums.after += m * v.squaredNorm() / 2;
      sums.work += m * v.dot(D3((alone_[k] - before_[k]).cast<double>()) + hand);
      sums.touch += m * v.dot(touch), sums.inner += (m * heavier) * inner;
    }
    sums_[piece] = sums;
  });
  for (std::size_t n = 0; n < bodies_.size(); ++n) {
    Body& body = bodies_[n];
    Sums all = sums_[body.first_piece];
    for (std::size_t k = body.first_piece + 1; k < body.last_piece; ++k) all.add(sums_[k]);
    // Pins take what the solid gives to all else; if they go one way, its work is known.
    body.is_led |= all.are_several;
    const double led = all.inner.dot(all.led.cast<double>());
    const double most = all.before + double(stored[n]) + all.work + std::max(all.touch, 0.0) + led;
    double motion = all.after;
    if (!body.is_led && motion > most + rounded * std::max(motion, all.before)) {
      const std::span<const Index> particles =
          std::span(particle_).subspan(body.first, body.last - body.first);
      detail::Motion whole;
      if (all.is_held)
        whole.velocity = all.led.cast<double>();
      else
        whole = detail::motion_of(particles, model, p, 0);
      const double part = part_of_own(particles, model, p, whole, most);
      for (const Index k : particles) {
        const auto i = std::size_t(k);
        if (p.inverse_mass[i] == 0) continue;
        const D3 with = whole.whole_at(p.x[i]);
        p.v[i] = (with + part * (p.v[i].cast<double>() - with)).cast<Real>();
      }
      motion = most;
    }
    // What rounding has lost is not owed.
    stored[n] = Real(std::max(most - motion, 0.0));
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
