#include "plenum/world/hand.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "plenum/geometry/aabb.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI {
namespace {

Real angular(Real frequency) {
  return Real(2 * std::numbers::pi) * frequency;
}

/// Change of velocity [m/s] by a critically damped spring of the angular frequency w [rad/s] towards what is
/// `away` [m], taken implicitly so that no frame rate makes it unstable:
/// dv = (w^2 h (away - h v) - 2 w h v) / (1 + 2 w h + w^2 h^2).
Vec3 change_by_spring(const Vec3& away, const Vec3& v, Real w, Real h) {
  return (w * w * h * (away - h * v) - 2 * w * h * v) / (1 + 2 * w * h + w * w * h * h);
}

}  // namespace

void Hand::drag(std::span<const std::unique_ptr<System>> systems, std::size_t system, Index sample,
                const Vec3& target, Real frequency, Real radius) {
  const bool taken = grip_.system == static_cast<int>(system) && grip_.body < 0 && grip_.sample == sample;
  grip_.system = static_cast<int>(system);
  grip_.sample = sample, grip_.body = -1;
  grip_.target = target;
  grip_.frequency = frequency;
  if (taken) return;
  grip_.held.clear();
  Boundary* const boundary = systems[system]->boundary();
  const Samples samples = boundary ? boundary->samples() : Samples{};
  if (sample < 0 || static_cast<std::size_t>(sample) >= samples.x.size()) return release();
  const Vec3 centre = samples.x[static_cast<std::size_t>(sample)];
  grip_.target_before = centre;
  if (radius < 0) radius = bounds_of(samples.x).size().norm() / 8;
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    const Vec3 offset = samples.x[i] - centre;
    const auto is = static_cast<Index>(i);
    const Real grip = is == sample ? Real(1) : 1 - offset.norm() / radius;
    if (grip > 0) grip_.held.push_back({is, offset, grip});
  }
  std::erase_if(pins_, [&](const Grip& pin) {
    return pin.system == grip_.system &&
           std::any_of(grip_.held.begin(), grip_.held.end(),
                       [&](const Held& held) { return held.sample == pin.sample; });
  });
}

void Hand::drag_body(std::size_t system, Index body, const Vec3& place, const Vec3& target, Real frequency) {
  grip_.system = static_cast<int>(system);
  grip_.sample = -1, grip_.body = body;
  grip_.place = place;
  grip_.target = target;
  grip_.frequency = frequency;
  std::erase_if(pins_, [&](const Grip& pin) { return pin.system == grip_.system && pin.body == body; });
}

void Hand::stir(const std::optional<Stroke>& stroke) {
  // Moves that come before there was a step are parts of one way.
  const std::optional<Vec3> from =
      stroke_ && stroke && stroke_->number == stroke->number ? std::optional(stroke_->from) : std::nullopt;
  stroke_ = stroke;
  if (from) stroke_->from = *from;
}

void Hand::pin() {
  if (!holds()) return;
  pins_.push_back(grip_);
  release();
}

void Hand::pull(std::span<const std::unique_ptr<System>> systems, FunctionRef<double(std::size_t)> hung_mass,
                Real h) {
  // All of a system's grasps at once: it holds those that it was told of last.
  for (std::size_t s = 0; s < systems.size(); ++s) {
    Boundary* const boundary = systems[s]->boundary();
    if (!boundary) continue;
    if (gust_) boundary->blow(*gust_);
    if (stroke_) boundary->stir(*stroke_);
    grasps_.clear();
    const auto pull_by = [&](Grip& grip) {
      if (grip.system != static_cast<int>(s)) return true;
      const bool holds =
          grip.body >= 0 ? pull_body(grip, *boundary, h) : pull_samples(grip, *boundary, hung_mass, h);
      grip.target_before = grip.target;
      return holds;
    };
    if (!pull_by(grip_)) release();
    std::erase_if(pins_, [&](Grip& pin) { return !pull_by(pin); });
    if (!grasps_.empty()) boundary->grasp(grasps_);
  }
  if (stroke_) stroke_->from = stroke_->to;
}

/// Notes grasps for what holds them itself, and pushes what does not. False if there is nothing to pull.
bool Hand::pull_samples(const Grip& grip, Boundary& boundary, FunctionRef<double(std::size_t)> hung_mass,
                        Real h) {
  const Samples samples = boundary.samples();
  const auto can_move = [&](Index i) {
    return std::size_t(i) < samples.x.size() && samples.inverse_mass[std::size_t(i)] > 0;
  };
  if (!can_move(grip.sample)) return false;
  if (boundary.grasp({})) {
    // So that the hand can hold all that the system moves: rates whose stiffnesses sum to M w^2.
    double all = hung_mass(std::size_t(grip.system)), patch = 0;
    for (const Real inverse_mass : samples.inverse_mass)
      if (inverse_mass > 0) all += 1 / double(inverse_mass);
    for (const SolidBody& body : boundary.bodies())
      if (body.inverse_mass > 0) all += 1 / double(body.inverse_mass);
    for (const Held& held : grip.held)
      if (can_move(held.sample))
        patch +=
            double(held.grip) * double(held.grip) / double(samples.inverse_mass[std::size_t(held.sample)]);
    const Real rate = angular(grip.frequency) * Real(std::sqrt(all / patch));
    for (const Held& held : grip.held)
      if (can_move(held.sample))
        grasps_.push_back(
            {held.sample, grip.target_before + held.offset, grip.target + held.offset, rate * held.grip});
    return true;
  }
  impulses_.clear();
  for (const Held& held : grip.held) {
    if (!can_move(held.sample)) continue;
    const auto i = static_cast<std::size_t>(held.sample);
    const Vec3 away = grip.target + held.offset - samples.x[i];
    const Vec3 dv = change_by_spring(away, samples.v[i], angular(grip.frequency * held.grip), h);
    impulses_.push_back({held.sample, dv / samples.inverse_mass[i], Vec3::Zero()});
  }
  boundary.absorb(impulses_);
  return true;
}

/// False if there is no such body to pull.
bool Hand::pull_body(const Grip& grip, Boundary& boundary, Real h) {
  constexpr Real most = 400;  // [m/s^2] of the hand
  const std::span<const SolidBody> bodies = boundary.bodies();
  if (std::size_t(grip.body) >= bodies.size() || !(bodies[std::size_t(grip.body)].inverse_mass > 0))
    return false;
  const SolidBody& b = bodies[std::size_t(grip.body)];
  const Vec3 point = b.pose * grip.place, v = b.velocity_at(point), r = point - b.centre;
  // The same spring as for samples, of the mass that the body has at this point: K^-1, with K what an
  // impulse there moves it by.
  const Real w = angular(grip.frequency);
  Vec3 dv = change_by_spring(grip.target - point, v, w, h);
  if (dv.norm() > most * h) dv *= most * h / dv.norm();
  Mat3 cross;
  cross << 0, -r.z(), r.y(), r.z(), 0, -r.x(), -r.y(), r.x(), 0;
  const Mat3 k = b.inverse_mass * Mat3::Identity() - cross * b.inverse_inertia * cross;
  const Vec3 impulse = k.inverse() * dv;
  // Turning is damped at the spring's rate; what cannot turn about an axis has nothing to damp.
  const Real part = 1 - 1 / (1 + h * w);
  const Vec3 couple = -part *
                      (b.inverse_inertia + Real(1e-6) * b.inverse_inertia.trace() * Mat3::Identity() +
                       std::numeric_limits<Real>::min() * Mat3::Identity())
                          .inverse() *
                      b.angular_velocity;
  const BodyImpulse pull = {.body = grip.body,
                            .impulse = impulse,
                            .point = point,
                            .couple = b.inverse_inertia.isZero() ? Vec3(Vec3::Zero()) : couple};
  boundary.absorb(std::span<const BodyImpulse>(&pull, 1));
  return true;
}

Hand::Pins Hand::pins() const {
  Pins out;
  for (const Grip& pin : pins_) {
    for (const std::int64_t number : {std::int64_t(pin.system), std::int64_t(pin.sample),
                                      std::int64_t(pin.body), std::int64_t(pin.held.size())})
      out.what.push_back(number);
    for (const Vec3* const x : {&pin.place, &pin.target, &pin.target_before})
      for (int c = 0; c < 3; ++c) out.where.push_back(double((*x)[c]));
    out.where.push_back(double(pin.frequency));
    for (const Held& held : pin.held) {
      out.samples.push_back(held.sample);
      for (int c = 0; c < 3; ++c) out.held.push_back(double(held.offset[c]));
      out.held.push_back(double(held.grip));
    }
  }
  return out;
}

bool Hand::set_pins(const Pins& pins, std::size_t num_systems) {
  const std::size_t count = pins.what.size() / 4, num_held = pins.samples.size();
  if (pins.what.size() != 4 * count || pins.where.size() != 10 * count || pins.held.size() != 4 * num_held)
    return false;
  const auto is_number = [](std::int64_t k, std::int64_t end) { return k >= 0 && k < end; };
  constexpr std::int64_t most = std::numeric_limits<Index>::max();
  std::vector<Grip> made(count);
  std::size_t next = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t* const what = &pins.what[4 * k];
    const double* const where = &pins.where[10 * k];
    const bool of_sample = is_number(what[1], most), of_body = is_number(what[2], most);
    if (!is_number(what[0], std::int64_t(num_systems)) || of_sample == of_body || !(where[9] > 0) ||
        what[3] < 0 || std::uint64_t(what[3]) > num_held - next)
      return false;
    Grip& pin = made[k];
    pin.system = int(what[0]), pin.sample = of_sample ? Index(what[1]) : -1,
    pin.body = of_body ? Index(what[2]) : -1;
    Vec3* const x[] = {&pin.place, &pin.target, &pin.target_before};
    for (int c = 0; c < 9; ++c) (*x[c / 3])[c % 3] = Real(where[c]);
    pin.frequency = Real(where[9]);
    for (const std::size_t end = next + std::size_t(what[3]); next < end; ++next) {
      const double* const held = &pins.held[4 * next];
      if (!is_number(pins.samples[next], most) || !(held[3] > 0 && held[3] <= 1)) return false;
      pin.held.push_back({Index(pins.samples[next]), Vector3<double>(held[0], held[1], held[2]).cast<Real>(),
                          Real(held[3])});
    }
  }
  if (next != num_held) return false;
  pins_ = std::move(made);
  return true;
}

void Hand::show_pins(std::span<const std::unique_ptr<System>> systems, DrawableSink& sink) const {
  for (const Grip& pin : pins_) {
    const Boundary* const boundary = systems[std::size_t(pin.system)]->boundary();
    if (!boundary) continue;
    const Samples samples = boundary->samples();
    const std::span<const SolidBody> bodies = boundary->bodies();
    Vec3 held = pin.target;
    Aabb box;
    if (pin.body >= 0) {
      if (std::size_t(pin.body) >= bodies.size()) continue;
      const SolidBody& body = bodies[std::size_t(pin.body)];
      held = body.pose * pin.place, box = body.shape->bounds();
    } else {
      if (std::size_t(pin.sample) >= samples.x.size()) continue;
      held = samples.x[std::size_t(pin.sample)], box = bounds_of(samples.x);
    }
    constexpr Real part = Real(0.012);  // of what it holds
    const Real radius = part * box.size().norm();
    sink.spheres(
        {.x = std::span(&pin.target, 1), .radius = radius, .look = Look::mark, .palette = mark_yellow});
    const Vec3 ends[] = {pin.target, held};
    const Index2 segment(0, 1);
    sink.lines({.x = ends,
                .segments = std::span(&segment, 1),
                .radius = radius / 4,
                .look = Look::mark,
                .palette = mark_yellow});
  }
}

}  // namespace plenum::inline PLENUM_ABI
