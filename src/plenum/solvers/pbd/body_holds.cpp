// What holds rigid bodies and particles together in position-based steps: anchors that stay together, or no
// farther apart than a length.
#include <Eigen/Cholesky>

#include <algorithm>

#include "plenum/solvers/pbd/detail/bodies.h"
#include "plenum/solvers/pbd/detail/tethers.h"

namespace plenum::inline PLENUM_ABI {

using D3 = Vector3<double>;
using M3 = Matrix3<double>;

/// XPBD of the anchors' distance, or of all three directions of it at once: (K + alpha~) dl = -d - alpha~ l.
void PbdBodies::hold(const Pbd::Hold& hold, D3& multiplier, const PbdParticles& p, double scale) {
  const D3 apart = place_of(hold.a, p) - place_of(hold.b, p);
  const double soft = scale * double(hold.compliance);
  D3 impulse;
  if (hold.length > 0) {
    const double distance = apart.norm();
    if (!(distance > double(hold.length))) return;
    const D3 n = apart / distance;
    const double answer = response_of(hold.a, p, n) + response_of(hold.b, p, n) + soft;
    if (!(answer > 0)) return;
    impulse = (-(distance - double(hold.length) + soft * n.dot(multiplier)) / answer) * n;
  } else {
    const M3 k = response_of(hold.a, p) + response_of(hold.b, p) + soft * M3::Identity();
    if (!(k.trace() > 0)) return;
    impulse = -k.ldlt().solve(apart + soft * multiplier);
    if (!impulse.allFinite()) return;
  }
  multiplier += impulse;
  push(hold.a, p, impulse);
  push(hold.b, p, D3(-impulse));
}

/// Particles that hang on one body, all at once. One after the other, a body that is lighter than they are
/// follows the last ones, which a lever's length apart turn it at will: eleven of 45 g threw one of 10 g.
///
/// With particles' responses d_i = w_i + alpha~ and errors e_i = x_i - x_b - r_i + alpha~ l_i, and with the
/// way and the turn (u, t) of the body, impulses are l_i = (u + t x r_i - e_i) / d_i, and m u = -sum l_i, I t
/// = -sum r_i x l_i are six equations for (u, t): the Schur complement of the holds' own equations.
void PbdBodies::hold_bundle(const Pbd::Model& model, std::span<const Index> holds, const PbdParticles& p,
                            double scale) {
  const Index on = model.holds[std::size_t(holds.front())].b.body;
  const Body& body = bodies_[std::size_t(on)];
  Matrix6 k = Matrix6::Zero();
  Vector6 right = Vector6::Zero();
  const auto error_of = [&](std::size_t i) {
    const Pbd::Hold& h = model.holds[i];
    return D3(place_of(h.a, p) - place_of(h.b, p) + scale * double(h.compliance) * multipliers_[i]);
  };
  const auto response_of_particle = [&](const Pbd::Hold& h) {
    return double(p.places[std::size_t(h.a.particle)].inverse_mass) + scale * double(h.compliance) +
           least_response * body.inverse_mass;
  };
  for (const Index i : holds) {
    const Pbd::Hold& h = model.holds[std::size_t(i)];
    const double weight = 1 / response_of_particle(h);
    const D3 r = arm_of(h.b), e = error_of(std::size_t(i));
    const M3 cross = cross_of(r);
    k.topLeftCorner<3, 3>().diagonal().array() += weight;
    k.topRightCorner<3, 3>() -= weight * cross;
    k.bottomLeftCorner<3, 3>() += weight * cross;
    k.bottomRightCorner<3, 3>() -= weight * cross * cross;
    right.head<3>() += weight * e;
    right.tail<3>() += weight * r.cross(e);
  }
  k.topLeftCorner<3, 3>().diagonal().array() += 1 / body.inverse_mass;
  k.bottomRightCorner<3, 3>() += body.inverse_inertia.inverse();
  const Vector6 way = k.ldlt().solve(right);
  if (!way.allFinite()) return;
  D3 impulse = D3::Zero();
  for (const Index i : holds) {
    const Pbd::Hold& h = model.holds[std::size_t(i)];
    const D3 given = (way.head<3>() + way.tail<3>().cross(arm_of(h.b)) - error_of(std::size_t(i))) /
                     response_of_particle(h);
    multipliers_[std::size_t(i)] += given;
    push(h.a, p, given);
    impulse -= given;
  }
  move(on, impulse, D3(way.tail<3>()));
}

/// Those of a body that forces move, by bodies; the others are held one after the other.
void PbdBodies::find_bundles(const Pbd::Model& model) {
  singles_.clear(), bundled_.clear(), bundles_.clear();
  std::vector<Index> piece;  // of ropes, if anything has torn
  if (!model.torn_from.empty()) piece = Pbd::rope_pieces(model);
  for (std::size_t k = 0; k < model.holds.size(); ++k) {
    const Pbd::Hold& hold = model.holds[k];
    if (hold.along[0] >= 0 && !piece.empty() &&
        piece[std::size_t(hold.along[0])] != piece[std::size_t(hold.along[1])])
      continue;
    const bool hangs = hold.a.particle >= 0 && hold.b.body >= 0 && hold.length == 0 &&
                       bodies_[std::size_t(hold.b.body)].inverse_mass > 0;
    (hangs ? bundled_ : singles_).push_back(Index(k));
  }
  find_joints(model, singles_);
  const auto body_of = [&](Index k) { return model.holds[std::size_t(k)].b.body; };
  std::sort(bundled_.begin(), bundled_.end(),
            [&](Index a, Index b) { return body_of(a) != body_of(b) ? body_of(a) < body_of(b) : a < b; });
  for (std::size_t first = 0, end = 0; first < bundled_.size(); first = end) {
    while (end < bundled_.size() && body_of(bundled_[end]) == body_of(bundled_[first])) ++end;
    bundles_.push_back(end);
  }
}

void PbdBodies::hold_all(const Pbd::Model& model, const PbdParticles& p, double scale) {
  // Leashes do not give, and have no multiplier to go by.
  D3 none = D3::Zero();
  for (const Pbd::Hold& leash : leashes_) hold(leash, none, p, 0);
  for (const Index k : singles_) hold(model.holds[std::size_t(k)], multipliers_[std::size_t(k)], p, scale);
  std::size_t first = 0;
  for (const std::size_t end : bundles_) {
    hold_bundle(model, std::span(bundled_).subspan(first, end - first), p, scale);
    first = end;
  }
  for (const Index k : loose_alignments_) align(model.alignments[std::size_t(k)]);
  for (Mechanism& mechanism : mechanisms_) hold_joints(model, mechanism, p, scale);
}

/// A tether holds to what stays where it is (detail/packs.h); what hangs on a body that yields is light, and
/// tethers are tied to the body instead, if that is as heavy as all of the part: a light one would be drawn
/// about by all of them, one after the other.
void PbdBodies::find_leashes(const Pbd::Model& model) {
  leashes_.clear();
  if (model.tethers.empty() || model.holds.empty()) return;
  std::vector<double> part_mass(model.mass.size(), 0);  // of the part that a particle is of
  std::vector<std::uint8_t> is_rope(model.mass.size(), 0);
  for (const Pbd::Part& part : model.parts) {
    double sum = 0;
    for (Index i = 0; i < part.num_particles; ++i)
      sum += double(model.mass[std::size_t(part.first_particle + i)]);
    std::fill_n(part_mass.begin() + part.first_particle, part.num_particles, sum);
    if (part.type == PbdPart::Type::rope)
      std::fill_n(is_rope.begin() + part.first_particle, part.num_particles, 1);
  }
  std::vector<const Anchor*> on(model.mass.size(), nullptr);
  for (const Pbd::Hold& hold : model.holds) {
    // Lengths of ropes on bodies of their own system are holds of the model.
    const bool hangs = hold.a.particle >= 0 && hold.b.body >= 0 && hold.length == 0 && hold.compliance == 0;
    if (hangs && (is_carrier(hold.b.body) || !is_rope[std::size_t(hold.a.particle)]))
      on[std::size_t(hold.a.particle)] = &hold.b;
  }
  const auto end = [&](Index particle) {
    const Anchor* const anchor = on[std::size_t(particle)];
    return anchor ? *anchor : Anchor{particle, -1, Vec3::Zero()};
  };
  for (std::size_t k = 0; k < model.tethers.size(); ++k) {
    const Index i = model.tethers[k][0], j = model.tethers[k][1];
    const Anchor a = end(i), b = end(j);
    if (a.body == b.body || tethers_.gives[k]) continue;
    const bool is_heavy =
        b.body >= 0 && part_mass[std::size_t(j)] * bodies_[std::size_t(b.body)].inverse_mass <= 1;
    if (a.body >= 0 || is_heavy) leashes_.push_back({a, b, model.tether_length[k], 0});
  }
}

/// n: unit, from the body to the particle; at: [m] the point that touches, in the body's frame. The body is
/// held, not thrown back; and slides there on what is taut.
void PbdBodies::hold_by_tethers(Index particle, Index on, const D3& n, const D3& at, double friction,
                                const PbdParticles& p) {
  Body& body = bodies_[std::size_t(on)];
  if (body.inverse_mass == 0) return;
  const auto place = [&](Index i) { return place_of({i, -1, Vec3::Zero()}, p); };
  tethers_.each_taut(particle, n, strain_limit_, p.places, place, [&](Index pin, double back) {
    const D3 pin_goes = place(pin) - start_of({pin, -1, Vec3::Zero()}, p);
    const double by = std::min(back, n.dot(body.x - body.x0 - pin_goes)) / body.inverse_mass;
    if (!(by > 0)) return;
    move(on, D3(-by * n), D3::Zero());
    const D3 arm = body.q * at, past = body.x + arm - body.x0 - body.q0 * at - pin_goes;
    const D3 slid = past - n.dot(past) * n;
    const double far = slid.norm();
    if (!(far > 0)) return;
    const D3 along = slid / far, turn = arm.cross(along);
    const double answer = body.inverse_mass + turn.dot(body.inverse_inertia * turn);
    push({-1, on, at.cast<Real>()}, p, D3(-std::min(friction * by, far / answer) * along));
  });
}

}  // namespace plenum::inline PLENUM_ABI
