// Rigid bodies on the insides of triangles and of edges, between the particles that touch them by themselves:
// what is small, or sharp, beside a triangle would sink into it, and slip through.
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/geometry/nearest_on_triangle.h"
#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/solvers/pbd/detail/parts.h"
#include "plenum/state/bounce.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using D3 = Vector3<double>;

/// Of the triangle's weight, that a point has at least which is that particle's own business.
constexpr Real at_a_corner = Real(0.98);
}  // namespace

/// Triangles that may come to bodies within the step. Those that are small beside the rounding of a body are
/// left out: from particles that are a thickness off, a ball of radius r reaches l^2 / (6 r) into a triangle
/// of side l, and not to its middle. Those that fast bodies may draw out within the step are not small: balls
/// slipped through cloth between particles that the step had found near each other.
void PbdBodies::find_near_faces(const Pbd::Model& model, const Pbd::State& state, const Pbd::Params& params,
                                Real dt) {
  near_faces_.clear();
  if (own_ == 0 || model.surface.empty()) return;
  const std::vector<Vec3>&x = state.particles.x, &v = state.particles.v;
  const Real fall = dt * dt * params.gravity.norm();
  detail::find_parts_of_particles(model, part_of_);
  near_of_.assign(x.size(), -1);
  for (std::size_t b = 0; b < own_; ++b) {
    const Body& body = bodies_[b];
    const Pbd::Body& of = model.bodies[b];
    const Vec3 centre = body.x.cast<Real>();
    const Real speed = Real(body.v.norm() + body.w.norm() * body.reach);
    const Real smallest = std::sqrt(6 * rounding_of(of.shape) * params.thickness);
    for (std::size_t k = 0; k < near_.size(); ++k)
      if (near_[k].body == Index(b)) near_of_[std::size_t(near_[k].particle)] = Index(k);
    for (std::size_t t = 0; t < model.surface.size(); ++t) {
      const Index3& c = model.surface[t];
      const Vec3 &p0 = x[std::size_t(c[0])], &p1 = x[std::size_t(c[1])], &p2 = x[std::size_t(c[2])];
      Aabb box;
      for (const Vec3* const at : {&p0, &p1, &p2}) box.extend(*at);
      // Squares of speeds, of which few need roots.
      const Real apart2 = box.squared_distance(centre),
                 slow = Real(body.reach) + params.thickness + fall + dt * (2 * speed + pbd_sped_up);
      const Real fastest2 = std::max({v[std::size_t(c[0])].squaredNorm(), v[std::size_t(c[1])].squaredNorm(),
                                      v[std::size_t(c[2])].squaredNorm()});
      if (apart2 > slow * slow) {
        const Real within = slow + 2 * dt * std::sqrt(fastest2);
        if (apart2 > within * within) continue;
      }
      const Real longest =
          std::sqrt(std::max({(p1 - p0).squaredNorm(), (p2 - p1).squaredNorm(), (p0 - p2).squaredNorm()}));
      if (longest + dt * (speed + std::sqrt(fastest2)) < smallest) continue;
      if (stay_apart(model.apart, part_of_[std::size_t(c[0])], Index(b))) continue;
      NearFace face{c, Index(b), {}};
      for (int i = 0; i < 3; ++i) face.near[i] = near_of_[std::size_t(c[i])];
      near_faces_.push_back(face);
    }
    for (const Near& near : near_)
      if (near.body == Index(b)) near_of_[std::size_t(near.particle)] = -1;
  }
}

/// Where triangles are nearest to bodies, of those that come too near between their particles, or would go
/// past a body in the substep.
void PbdBodies::touch_faces(const Pbd::Model& model, const Pbd::Params& params, const PbdParticles& p) {
  face_touches_.clear();
  const Real thickness = params.thickness;
  for (const NearFace& face : near_faces_) {
    const Body& body = bodies_[std::size_t(face.body)];
    const Pbd::Body& of = model.bodies[std::size_t(face.body)];
    const Pose in = of.shape_in;
    // What lies on something is borne by it at its particles.
    bool yields = body.inverse_mass > 0, is_borne = false;
    for (int i = 0; i < 3; ++i) {
      const auto at = std::size_t(face.particle[i]);
      yields |= p.places[at].inverse_mass > 0;
      is_borne |= p.rests[at].on != -1;
    }
    if (!yields || is_borne) continue;
    TriangleCorners now, before;
    now.count = before.count = face.particle[1] == face.particle[2] ? 2 : 3;
    SignedDistance<Real> d[3];
    Real longest2 = 0;  // of the particles' ways past the body
    for (int i = 0; i < 3; ++i) {
      if (face.near[i] >= 0) {
        const Near& near = near_[std::size_t(face.near[i])];
        before.x[i] = near.from, now.x[i] = near.at, d[i] = near.distance;
      } else {
        const Anchor at{face.particle[i], -1, Vec3::Zero()};
        before.x[i] = in.to_local(Vec3((body.q0.conjugate() * (start_of(at, p) - body.x0)).cast<Real>()));
        now.x[i] = in.to_local(Vec3((body.q.conjugate() * (place_of(at, p) - body.x)).cast<Real>()));
        d[i] = of.shape.signed_distance(now.x[i]);
      }
      longest2 = std::max(longest2, (now.x[i] - before.x[i]).squaredNorm());
    }
    // Planes across the gradients at the particles are below the distance everywhere.
    Real least = -std::numeric_limits<Real>::infinity();
    for (int i = 0; i < 3; ++i) {
      Real lowest = 0;
      for (int j = 0; j < 3; ++j) lowest = std::min(lowest, d[i].normal.dot(now.x[j] - now.x[i]));
      least = std::max(least, d[i].distance + lowest);
    }
    const Real longest = std::sqrt(longest2);
    if (!(least < std::max(thickness, longest))) continue;
    Vec3 weight, on;
    SignedDistance<Real> here{};
    bool touches = false;
    if (longest > thickness) {
      // Drawn on by what it hangs on, a triangle may be on the other side of the body by now.
      weight = nearest_weights(of.shape, before, thickness);
      const Vec3 from = before.at(weight), to = now.at(weight);
      const SignedDistance<Real> start = of.shape.signed_distance(from);
      const bool begins_inside = !(start.distance > 0);
      if (begins_inside ? start.normal.dot(of.shape.signed_distance(to).normal) < 0
                        : (to - from).norm() > start.distance)
        touches = meets_on_way(of.shape, from, to, start, Real(1e-3) * thickness, here, on);
    }
    if (!touches) {
      weight = nearest_weights(of.shape, now, thickness);
      here = of.shape.signed_distance(now.at(weight));
      on = now.at(weight) - here.distance * here.normal;
      touches = here.distance < thickness;
    }
    if (!touches || weight.maxCoeff() > at_a_corner) continue;
    FaceTouch touch{};
    touch.particle = face.particle, touch.weight = weight.cast<double>(), touch.body = face.body;
    touch.n = (body.q * (in.rotation * here.normal).cast<double>()).normalized();
    touch.on = (in * on).cast<double>();
    touch.friction = std::sqrt(double(params.friction) * double(of.friction));
    touch.restitution = double(std::max(params.restitution, of.restitution));
    touch.gap = double(thickness);
    touch.approach = -approach_of(touch, p);
    face_touches_.push_back(touch);
  }
}

/// [m/s] at which the triangle's point leaves the body along the normal.
double PbdBodies::approach_of(const FaceTouch& touch, const PbdParticles& p) const {
  const Body& body = bodies_[std::size_t(touch.body)];
  D3 v = -body.v - body.w.cross(body.q * touch.on);
  for (int i = 0; i < 3; ++i) v += touch.weight[i] * p.v[std::size_t(touch.particle[i])].cast<double>();
  return touch.n.dot(v);
}

/// [1/kg] by which the two part along the direction, unit, for an impulse.
double PbdBodies::response_of(const FaceTouch& touch, const PbdParticles& p, const D3& along) const {
  const Body& body = bodies_[std::size_t(touch.body)];
  const D3 turn = (body.q * touch.on).cross(along);
  double sum = body.inverse_mass + turn.dot(body.inverse_inertia * turn);
  for (int i = 0; i < 3; ++i)
    sum += touch.weight[i] * touch.weight[i] * double(p.places[std::size_t(touch.particle[i])].inverse_mass);
  return sum;
}

/// impulse: [kg m] on the triangle, and its opposite on the body.
void PbdBodies::part(const FaceTouch& touch, const PbdParticles& p, const D3& impulse) {
  if (!impulse.allFinite()) return;
  for (int i = 0; i < 3; ++i) push({touch.particle[i], -1, Vec3::Zero()}, p, D3(touch.weight[i] * impulse));
  push({-1, touch.body, touch.on.cast<Real>()}, p, D3(-impulse));
}

/// A push leads no particle farther past the plane than the point lacked at first, and all of a substep none
/// that is past it. Where others hold two of them, the third would go the farther the less of its weight the
/// point has: solids between heavy bodies, with triangles that stuck through these, were drawn out to forty
/// times their size.
void PbdBodies::hold_apart(FaceTouch& touch, const PbdParticles& p) {
  const Body& body = bodies_[std::size_t(touch.body)];
  const D3 on = body.x + body.q * touch.on;
  D3 past_plane;  // [m] of the particles
  for (int i = 0; i < 3; ++i)
    past_plane[i] = touch.n.dot(place_of({touch.particle[i], -1, Vec3::Zero()}, p) - on) - touch.gap;
  const double wrong = touch.weight.dot(past_plane), answer = response_of(touch, p, touch.n);
  if (!(wrong < 0) && touch.pushed == 0) return;
  if (!(answer > 0)) return;
  if (touch.lacked == 0) touch.lacked = -wrong;
  double by = std::max(-wrong / answer, -touch.pushed);
  for (int i = 0; i < 3 && by > 0; ++i) {
    const double yields = touch.weight[i] * double(p.places[std::size_t(touch.particle[i])].inverse_mass);
    const double past = past_plane[i] > 0 ? touch.pushed * yields : past_plane[i];
    if (yields > 0) by = std::min(by, std::max(0.0, touch.lacked - past) / yields);
  }
  if (!std::isfinite(by)) return;
  touch.pushed += by;
  part(touch, p, D3(by * touch.n));
}

/// Takes what has slid in the substep back, within Coulomb's bound, as particles' touches do.
void PbdBodies::rub(FaceTouch& touch, const PbdParticles& p) {
  if (touch.pushed == 0 && touch.rubbed.isZero(0)) return;
  const Body& body = bodies_[std::size_t(touch.body)];
  D3 slid = body.x0 + body.q0 * touch.on - body.x - body.q * touch.on;
  for (int i = 0; i < 3; ++i) {
    const Anchor at{touch.particle[i], -1, Vec3::Zero()};
    slid += touch.weight[i] * (place_of(at, p) - start_of(at, p));
  }
  slid -= touch.n.dot(slid) * touch.n;
  const double length = slid.norm();
  if (!(length > 0)) return;
  const double answer = response_of(touch, p, D3(slid / length)), bound = touch.friction * touch.pushed;
  if (!(answer > 0)) return;
  D3 rubbed = touch.rubbed - slid / answer;
  if (rubbed.norm() > bound) rubbed *= bound / rubbed.norm();
  const D3 more = rubbed - touch.rubbed;
  touch.rubbed = rubbed;
  part(touch, p, more);
}

/// Section 3.6: what touches parts at what it bounces with.
void PbdBodies::slow(const FaceTouch& touch, const PbdParticles& p, Real h) {
  const double answer = response_of(touch, p, touch.n);
  if (!(touch.pushed > 0) || !(answer > 0)) return;
  const bool bounced = bounces(Real(touch.approach), Real(touch.restitution), h);
  const D3 impulse =
      ((bounced ? touch.restitution * touch.approach : 0) - approach_of(touch, p)) / answer * touch.n;
  if (!impulse.allFinite()) return;
  for (int i = 0; i < 3; ++i)
    change_velocity({touch.particle[i], -1, Vec3::Zero()}, p, D3(touch.weight[i] * impulse));
  change_velocity({-1, touch.body, touch.on.cast<Real>()}, p, D3(-impulse));
}

}  // namespace plenum::inline PLENUM_ABI
