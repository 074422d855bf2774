#include "plenum/solvers/springs/supports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Part of a unit normal that is new beside those before it; below, the two supports are one.
constexpr Real distinct = Real(0.1);

/// [m/s] below which there is no slip: a thousandth of what free fall gains in 1/60 s, 10 mm in a minute.
constexpr Real still = Real(1.6e-4);

}  // namespace

void SupportSet::Normals::add(const Vec3& n, Index from) {
  if (count == 3) return;
  Vec3 rest = n;
  for (int k = 0; k < count; ++k) rest -= direction[std::size_t(k)].dot(rest) * direction[std::size_t(k)];
  const Real length = rest.norm();
  if (length < distinct) return;
  direction[std::size_t(count)] = rest / length;
  support[std::size_t(count)] = from;
  ++count;
}

Mat3 SupportSet::Normals::free() const {
  Mat3 p = Mat3::Identity();
  for (std::size_t k = 0; k < std::size_t(count); ++k) p -= direction[k] * direction[k].transpose();
  return p;
}

void SupportSet::take(std::span<Support> supports, std::span<const Vec3> x) {
  supports_ = supports;
  particles_.clear();
  start_.clear();
  held_.clear();
  free_.clear();
  target_.clear();
  order_.resize(supports.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](Index a, Index b) {
    return std::pair(supports[std::size_t(a)].sample, a) < std::pair(supports[std::size_t(b)].sample, b);
  });
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const Index sample = supports[std::size_t(order_[k])].sample;
    if (particles_.empty() || particles_.back().sample != sample) {
      particles_.push_back({.sample = sample, .first = Index(k), .end = Index(k)});
      start_.push_back(x[std::size_t(sample)]);
    }
    ++particles_.back().end;
  }
  // How many of them come to act changes from part to part.
  held_.reserve(particles_.size());
  free_.reserve(particles_.size());
  target_.reserve(particles_.size());
  normals_.reserve(particles_.size());
  acts_.assign(supports.size(), Acts::no);
  least_.assign(supports.size(), 0);
  approach_.assign(supports.size(), 0);
  given_.assign(supports.size(), Vec3::Zero());
  drags_.assign(supports.size(), 0);
  Index groups = 0;
  firm_.resize(supports.size());
  for (std::size_t s = 0; s < supports.size(); ++s) {
    firm_[s] = supports[s].mass == std::numeric_limits<Real>::infinity();
    groups = std::max(groups, supports[s].group + 1);
  }
  sharers_.assign(std::size_t(groups), 0);
}

void SupportSet::drag_along(Index s, const Vec3& v, Real pressed) {
  const Support& support = supports_[std::size_t(s)];
  const Vec3 relative = v - ground_of(s);
  const Vec3 slip = relative - support.normal.dot(relative) * support.normal;
  drags_[std::size_t(s)] = support.friction * std::max(pressed, Real(0)) / std::max(slip.norm(), still);
}

void SupportSet::begin(std::span<const Vec3> x, std::span<const Vec3> v, std::span<const Real> inverse_mass,
                       std::span<const Real> pressed, const Vec3& gravity, Real elapsed, Real h, bool rods) {
  slack_ = Real(0.02 * 9.81) * h;
  for (std::size_t p = 0; p < particles_.size(); ++p) {
    Particle& particle = particles_[p];
    particle.friction = Friction::none;
    particle.push.setZero();
    particle.drag = 0;
    const auto i = std::size_t(particle.sample);
    for (Index k = particle.first; k < particle.end; ++k) {
      const auto s = std::size_t(order_[std::size_t(k)]);
      const Support& support = supports_[s];
      const Vec3& n = support.normal;
      const Real gap = std::max(support.gap + n.dot(x[i] - start_[p] - elapsed * support.velocity), Real(0));
      least_[s] = n.dot(support.velocity) - gap / h;
      // On the parabola that free flight in implicit steps keeps to (coupling/contact.cpp): v + h g / 2.
      const Real weight = -n.dot(gravity), approach = n.dot(support.velocity - v[i]) + h / 2 * weight;
      approach_[s] = std::sqrt(std::max(approach * std::abs(approach) + 2 * weight * gap, Real(0)));
      if (!firm_[s]) least_[s] -= n.dot(support.impulse) / share(Index(s));
      const bool pressing = gap <= still * h || ((pressed[i] > 0 || support.restitution > 0) &&
                                                 n.dot(v[i] + h * gravity) < least_[s]);
      acts_[s] = pressing || n.dot(v[i]) < least_[s] ? Acts::yes : Acts::no;
      if (!acts(Index(s))) continue;
      if (!firm_[s]) {
        drag_along(Index(s), v[i], h * pressed[i]);
        continue;
      }
      if (particle.friction != Friction::none || !(support.friction > 0)) continue;
      const Vec3 relative = v[i] - support.velocity;
      const Real along = n.dot(relative);
      const Vec3 slip = relative - along * n;
      const Real speed = slip.norm();
      // A first guess: what pressed before, or what its own weight and fall take to stop.
      const Real stop = std::max(-n.dot(h * gravity) - along, Real(0)) / inverse_mass[i];
      const Real grip = support.friction * std::max(stop, h * pressed[i]);
      particle.friction = speed <= 2 * still && !rods ? Friction::sticks : Friction::slides;
      if (particle.friction == Friction::sticks) continue;
      const Vec3 falling = h * (gravity - n.dot(gravity) * n);
      const bool ends = (slip + falling).norm() <= inverse_mass[i] * grip;
      slide(particle, ends ? slip : Vec3(slip + falling), ends, grip);
    }
  }
  rebuild();
}

Vec3 SupportSet::friction_of(const Particle& particle, const Vec3& slip) {
  const Vec3 along = along_push(particle);
  return particle.push - particle.drag * (slip - slip.dot(along) * along);
}

void SupportSet::slide(Particle& particle, const Vec3& slip, bool ends, Real most) const {
  const Real speed = slip.norm();
  particle.push = ends || !(speed > still) ? Vec3(Vec3::Zero()) : Vec3(-most / speed * slip);
  particle.drag = most / std::max(speed, still);
}

void SupportSet::rebuild() {
  held_.clear();
  free_.clear();
  target_.clear();
  normals_.clear();
  std::fill(sharers_.begin(), sharers_.end(), 0);
  for (std::size_t s = 0; s < supports_.size(); ++s)
    if (yields(Index(s))) ++sharers_[std::size_t(supports_[s].group)];
  for (Particle& particle : particles_) {
    Normals normals;
    for (Index k = particle.first; k < particle.end; ++k) {
      const Index s = order_[std::size_t(k)];
      if (acts(s) && firm_[std::size_t(s)]) normals.add(supports_[std::size_t(s)].normal, s);
    }
    particle.held = -1;
    if (normals.count == 0) {
      particle.friction = Friction::none;
      particle.push.setZero();
      continue;
    }
    // The velocity along the normals that ends on every surface.
    Vec3 target = Vec3::Zero();
    for (std::size_t k = 0; k < std::size_t(normals.count); ++k) {
      const auto s = std::size_t(normals.support[k]);
      const Vec3 &direction = normals.direction[k], &n = supports_[s].normal;
      target += (least_[s] - n.dot(target)) / n.dot(direction) * direction;
    }
    Mat3 free = normals.free();
    if (particle.friction == Friction::sticks) {
      target += free * supports_[std::size_t(normals.support[0])].velocity;
      free.setZero();
    }
    particle.held = Index(held_.size());
    held_.push_back(particle.sample);
    free_.push_back(free);
    target_.push_back(target);
    normals_.push_back(normals);
  }
}

template <class With>
Vec3 SupportSet::divide(const Normals& normals, Vec3 impulse, With&& with) const {
  // Each direction but those before it is across all normals before its own.
  for (auto k = std::size_t(normals.count); k-- > 0;) {
    const auto s = std::size_t(normals.support[k]);
    const Vec3 &direction = normals.direction[k], &n = supports_[s].normal;
    const Real j = impulse.dot(direction) / n.dot(direction);
    impulse -= j * n;
    with(s, j);
  }
  return impulse;
}

SupportSet::Verdict SupportSet::review(std::span<const Vec3> v, std::span<const Vec3> on_held,
                                       std::span<const Real> inverse_mass) {
  // By so much of itself the friction of what slides may be off.
  constexpr Real close = Real(0.1);
  bool unsettled = false, friction = false;
  for (Particle& particle : particles_) {
    const auto i = std::size_t(particle.sample);
    if (particle.held >= 0) {
      const auto held = std::size_t(particle.held);
      const Real slack = slack_ / inverse_mass[i];  // [N s]
      Real most = 0;
      const Vec3 across = divide(normals_[held], on_held[held], [&](std::size_t s, Real j) {
        most += supports_[s].friction * std::max(j, Real(0));
        if (j >= -slack || acts_[s] == Acts::always) return;
        acts_[s] = Acts::released;
        unsettled = true;
      });
      if (particle.friction == Friction::sticks) {
        if (across.norm() > most + slack) {
          particle.friction = Friction::slides;
          particle.push = most / across.norm() * across;
          friction = true;
        }
      } else if (particle.friction == Friction::slides) {
        const auto s = std::size_t(normals_[held].support[0]);
        const Vec3 slip = free_[held] * (v[i] - supports_[s].velocity);
        const Particle before = particle;
        // Without friction it would be as much faster as that takes away; what friction would drive is at
        // rest.
        const Vec3 had = friction_of(before, slip);
        const bool driven = slip.dot(before.push) > 0;
        const bool ends = driven || slip.norm() + inverse_mass[i] * had.norm() <= inverse_mass[i] * most;
        slide(particle, driven ? Vec3(Vec3::Zero()) : slip, ends, most);
        const Vec3 change = friction_of(particle, slip) - had;
        friction = friction || change.norm() > close * most + slack;
      }
    }
    for (Index k = particle.first; k < particle.end; ++k) {
      const auto s = std::size_t(order_[std::size_t(k)]);
      if (!yields(Index(s))) continue;
      const Real over = least_[s] - supports_[s].normal.dot(v[i]), had = drags_[s];
      drag_along(Index(s), v[i], share(Index(s)) * over);
      friction = friction || std::abs(drags_[s] - had) > close * std::max(drags_[s], had);
      if (over >= -slack_ || acts_[s] == Acts::always) continue;
      acts_[s] = Acts::released;
      unsettled = true;
    }
  }
  unsettled = hold_passing(v) || unsettled;
  if (unsettled || friction) rebuild();
  return unsettled ? Verdict::unsettled : friction ? Verdict::friction : Verdict::settled;
}

bool SupportSet::hold_passing(std::span<const Vec3> v) {
  bool any = false;
  for (Particle& particle : particles_) {
    const Vec3& here = v[std::size_t(particle.sample)];
    for (Index k = particle.first; k < particle.end; ++k) {
      const auto s = std::size_t(order_[std::size_t(k)]);
      const Support& support = supports_[s];
      if (acts(Index(s)) || support.normal.dot(here) >= least_[s] - slack_) continue;
      acts_[s] = acts_[s] == Acts::released ? Acts::always : Acts::yes;
      any = true;
      if (!firm_[s]) continue;
      if (particle.friction == Friction::none && support.friction > 0) particle.friction = Friction::slides;
    }
  }
  return any;
}

bool SupportSet::catch_passing(std::span<const Vec3> v) {
  if (!hold_passing(v)) return false;
  rebuild();
  return true;
}

void SupportSet::settle(std::span<const Vec3> v) {
  for (Particle& particle : particles_) {
    if (particle.held < 0 || particle.friction != Friction::slides || particle.push == Vec3::Zero()) continue;
    const auto held = std::size_t(particle.held);
    const Vec3& ground = supports_[std::size_t(normals_[held].support[0])].velocity;
    const Vec3 slip = free_[held] * (v[std::size_t(particle.sample)] - ground);
    particle.drag = particle.push.norm() / std::max(slip.norm(), still);
    particle.push.setZero();
  }
}

double SupportSet::work(std::span<const Vec3> on_held, std::span<const Vec3> v) const {
  double sum = 0;
  for (std::size_t held = 0; held < held_.size(); ++held) {
    const Vec3& here = v[std::size_t(held_[held])];
    const Vec3 across = divide(normals_[held], on_held[held], [&](std::size_t s, Real j) {
      sum += double(std::max(j, Real(0)) * supports_[s].normal.dot(here));
    });
    sum += double(across.dot(here));
  }
  for_each_friction([&](Index particle, const Mat3& drag, const Vec3& impulse) {
    const Vec3& here = v[std::size_t(particle)];
    sum += double(here.dot(impulse - drag * here));
  });
  return sum;
}

void SupportSet::finish(std::span<const Vec3> on_held, std::span<const Vec3> v) {
  std::fill(given_.begin(), given_.end(), Vec3(Vec3::Zero()));
  pressed_.assign(particles_.size(), 0);
  for (std::size_t p = 0; p < particles_.size(); ++p) {
    const Particle& particle = particles_[p];
    const auto i = std::size_t(particle.sample);
    for (Index k = particle.first; k < particle.end; ++k) {
      const Index s = order_[std::size_t(k)];
      if (!yields(s)) continue;
      const Vec3& n = supports_[std::size_t(s)].normal;
      const Real j = share(s) * (least_[std::size_t(s)] - n.dot(v[i]));
      const Vec3 slip = v[i] - ground_of(s);
      given_[std::size_t(s)] = j * n - drag_with(s) * (slip - n.dot(slip) * n);
      pressed_[p] += std::max(j, Real(0));
    }
    if (particle.held < 0) continue;
    const auto held = std::size_t(particle.held);
    const Normals& normals = normals_[held];
    Vec3 across = divide(normals, on_held[held], [&](std::size_t s, Real j) {
      given_[s] += j * supports_[s].normal;
      pressed_[p] += std::max(j, Real(0));
    });
    const auto first = std::size_t(normals.support[0]);
    if (particle.friction == Friction::slides) {
      const Vec3 slip = free_[held] * (v[i] - supports_[first].velocity);
      across = friction_of(particle, slip);
    }
    given_[first] += across;
  }
}

bool SupportSet::bounces_off(Index s, Real h) const {
  return acts(s) && firm_[std::size_t(s)] &&
         bounces(approach_[std::size_t(s)], supports_[std::size_t(s)].restitution, h);
}

bool SupportSet::struck(Real h) const {
  for (std::size_t s = 0; s < supports_.size(); ++s)
    if (bounces_off(Index(s), h)) return true;
  return false;
}

void SupportSet::strike(std::span<const Vec3> v, const Vec3& gravity, Real h) {
  for (Particle& particle : particles_) {
    particle.friction = Friction::none;
    const Vec3& here = v[std::size_t(particle.sample)];
    for (Index k = particle.first; k < particle.end; ++k) {
      const auto s = std::size_t(order_[std::size_t(k)]);
      const Support& support = supports_[s];
      acts_[s] = bounces_off(Index(s), h) ? Acts::yes : Acts::no;
      least_[s] =
          support.normal.dot(support.velocity - here - h / 2 * gravity) + support.restitution * approach_[s];
    }
  }
  rebuild();
}

double SupportSet::work_of_motion() const {
  double sum = 0;
  for (std::size_t s = 0; s < supports_.size(); ++s) sum += double(given_[s].dot(supports_[s].velocity));
  return sum;
}

double SupportSet::work_of_motion(std::span<const Vec3> on_held) const {
  double sum = 0;
  for (std::size_t held = 0; held < held_.size(); ++held)
    divide(normals_[held], on_held[held],
           [&](std::size_t s, Real j) { sum += double(j * supports_[s].normal.dot(supports_[s].velocity)); });
  return sum;
}

void SupportSet::add_jump(std::span<const Vec3> on_held, Real share) {
  for (std::size_t held = 0; held < held_.size(); ++held)
    divide(normals_[held], on_held[held],
           [&](std::size_t s, Real j) { given_[s] += share * j * supports_[s].normal; });
}

void SupportSet::accept(Real h, std::span<Real> pressed) {
  for (std::size_t s = 0; s < supports_.size(); ++s) {
    supports_[s].impulse += given_[s];
    supports_[s].yielded = supports_[s].yielded || yields(Index(s));
  }
  std::fill(pressed.begin(), pressed.end(), Real(0));
  for (std::size_t p = 0; p < particles_.size(); ++p)
    pressed[std::size_t(particles_[p].sample)] = pressed_[p] / h;
}

}  // namespace plenum::inline PLENUM_ABI
