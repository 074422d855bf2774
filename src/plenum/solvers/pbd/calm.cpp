// What contradicts itself may not gain by it.
//
// Solids that are crushed: a tetrahedron turned inside out is asked back by its linearized constraints, which
// there know neither how far nor what it may cost: cells between heavy bodies that meet at 5 m/s were shot
// out at 600 m/s, and the body had 22 times the energy of what had crushed it. Elasticity gives back what it
// has been given; what a sweep gives beyond that is error.
//
// Balloons that are emptied: what is enclosed and contact ask opposite things of skins that lie on
// themselves, and where neither is converged, at one to four substeps, these trembled at 0.2 m/s for ever.
// What folds gives its energy to its folds.
#include <algorithm>
#include <cmath>

#include "plenum/solvers/pbd/detail/motion.h"
#include "plenum/solvers/pbd/detail/workspace.h"

namespace plenum::inline PLENUM_ABI {

using detail::Motion;
using detail::motion_of;

namespace {

using D3 = Motion::D3;

/// [s] in which what has crumpled gives up what it moves with in itself, if it gains.
constexpr double folding_time = 0.1;
/// Of what a body moves with in itself on the mean, the most that any of its particles may if it is broken.
constexpr double most_of_mean = 3;

/// Particles of what encloses a volume, one after the other.
struct Skin {
  struct Iterator {
    Index i;
    Index operator*() const { return i; }
    Iterator& operator++() {
      ++i;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return i != other.i; }
  };
  Index first, last;
  Iterator begin() const { return {first}; }
  Iterator end() const { return {last}; }
};
Skin skin_of(const Pbd::Model& model, std::size_t enclosure) {
  const Pbd::Part& part = model.parts[std::size_t(model.enclosures[enclosure].part)];
  return {part.first_particle, part.first_particle + part.num_particles};
}

bool any_inside_out(const TetBody& body, const Pbd::Model& model, const std::vector<Vec3>& x) {
  return std::any_of(body.tetrahedra.begin(), body.tetrahedra.end(), [&](Index k) {
    const Index4& t = model.tetrahedra[std::size_t(k)];
    const Vec3& o = x[std::size_t(t[0])];
    const Vec3 a = x[std::size_t(t[1])] - o, b = x[std::size_t(t[2])] - o, c = x[std::size_t(t[3])] - o;
    return a.dot(b.cross(c)) < 0;
  });
}

bool is_calmed(const TetBody& body, bool is_pressed) {
  return (body.shear_energy > 0 || body.is_lattice) && (is_pressed || body.is_strained);
}

}  // namespace

void note_energies(const Pbd::Model& model, const Pbd::State& state, PbdWorkspace& w, bool is_pressed) {
  for (TetBody& body : w.tet_bodies)
    if (is_calmed(body, is_pressed))
      body.energy = motion_of(body.particles, model, state.particles, body.shear_energy).energy;
}

void note_skins(const Pbd::Model& model, const Pbd::State& state, PbdWorkspace& w) {
  w.skin_energies.resize(model.enclosures.size());
  for (std::size_t e = 0; e < model.enclosures.size(); ++e)
    w.skin_energies[e] = motion_of(skin_of(model, e), model, state.particles, 0).energy;
}

void calm_crumpled(const Pbd::Model& model, Pbd::State& state, PbdWorkspace& w, Real h) {
  if (model.enclosures.empty()) return;
  w.is_crumpled.assign(model.enclosures.size(), 0);
  w.contacts.each_pressed([&](Index a, Index b) {
    const Index of = w.skins.of[std::size_t(a)];
    if (of >= 0 && of == w.skins.of[std::size_t(b)]) w.is_crumpled[std::size_t(of)] = 1;
  });
  Particles& p = state.particles;
  const double kept = std::exp(-double(h) / folding_time);
  for (std::size_t e = 0; e < model.enclosures.size(); ++e) {
    if (!w.is_crumpled[e]) continue;
    const Skin skin = skin_of(model, e);
    const Motion now = motion_of(skin, model, p, 0);
    if (!(now.energy > w.skin_energies[e])) continue;
    const double part = std::sqrt(kept * std::max(0.0, w.skin_energies[e]) / now.energy);
    for (const Index k : skin) {
      const auto i = std::size_t(k);
      if (p.inverse_mass[i] == 0) continue;
      const D3 whole = now.whole_at(p.x[i]);
      p.v[i] = (whole + part * (p.v[i].cast<double>() - whole)).cast<Real>();
    }
  }
}

/// To no more than it had or, if that is more, mu V, what a shear by its own length is worth; and of each
/// particle to some times the mean. Momentum and angular momentum stay. Lengths that do not give store
/// nothing.
void calm_solids(const Pbd::Model& model, Pbd::State& state, PbdWorkspace& w, bool is_pressed) {
  Particles& p = state.particles;
  for (const TetBody& body : w.tet_bodies) {
    if (!is_calmed(body, is_pressed)) continue;
    const Motion now = motion_of(body.particles, model, p, body.shear_energy);
    if (!(now.energy > body.shear_energy) || !any_inside_out(body, model, p.x)) continue;
    const double most = std::max(body.energy, body.shear_energy),
                 part = std::min(1.0, std::sqrt(most / now.energy)),
                 fastest = most_of_mean * std::sqrt(2 * most / now.mass);
    const auto each = [&](auto&& of) {
      for (const Index k : body.particles)
        if (const auto i = std::size_t(k); p.inverse_mass[i] != 0)
          of(i, double(model.mass[i]), D3(p.x[i].cast<double>() - now.centre));
    };
    D3 lost = D3::Zero(), lost_spin = D3::Zero();
    each([&](std::size_t i, double m, const D3& r) {
      const D3 whole = now.whole_at(p.x[i]), own = p.v[i].cast<double>() - whole;
      const double kept = std::min(part, fastest / std::max(own.norm(), 1e-30));
      p.v[i] = (whole + kept * own).cast<Real>();
      lost += (m * (part - kept)) * own, lost_spin += (m * (part - kept)) * r.cross(own);
    });
    lost /= now.mass;
    if (now.turns)
      lost_spin = now.inertia.solve(lost_spin).eval();
    else
      lost_spin.setZero();
    each([&](std::size_t i, double, const D3& r) { p.v[i] += (lost + lost_spin.cross(r)).cast<Real>(); });
  }
}

}  // namespace plenum::inline PLENUM_ABI
