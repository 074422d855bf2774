#include "plenum/solvers/rigid/detail/substeps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// g h^2 / reach at which twenty cubes bear half of what buckles them: their width is 1.155 times their
/// reach.
constexpr Real froude = Real(1.155 * 0.5 * 2.4 / (20 * 20 * 20));

/// Part of its own weight that a body gives or takes at a contact that is one of a stack. Pebbles on a crate
/// are not.
constexpr Real part_of_weight = Real(0.1);

/// Of a tower, whose contacts grow firmer with what they bear, up to ten times (contact_towers.cpp): from
/// this many times a body's weight on that is not enough, and the sub-steps' number grows with the load, at
/// most to twice.
constexpr Real tall = 28, most_of_tower = 4;

/// [rad] that what touches may turn in a sub-step: arms and normals are those of its start.
constexpr Real most_turn = Real(0.5);

/// Times as many sub-steps as least that a spin may ask for.
constexpr int most_for_spin = 4;

}  // namespace

int count_substeps(const Rigid::Model& model, const Rigid::Params& params, const RigidWorkspace& w, Real dt) {
  const int least = params.substeps, most = std::max(least, params.max_substeps);
  const Real gravity = params.gravity.norm(), h = dt / Real(least);
  const auto weighs = [&](Index i) { return std::abs(model.gravity_scale[i]) * gravity; };  // [m/s^2]
  const auto moves = [&](Index i) {
    return i < w.bodies.world() && model.motion[i] == Rigid::Motion::dynamic;
  };
  // The square of the sub-steps that a body asks for.
  const auto wanted = [&](Index i) { return weighs(i) * dt * dt / (froude * model.reach[i]); };
  Real spin = 0;
  for (const ContactInput& c : w.contacts) spin = std::max(spin, c.spin);
  const Real for_spin = std::min(spin * dt / most_turn, Real(most_for_spin * least));
  Real squared = std::max(Real(least * least), for_spin * for_spin);
  const bool any_small = std::any_of(w.active.begin(), w.active.end(), [&](Index i) {
    return model.motion[i] == Rigid::Motion::dynamic &&
           most_of_tower * weighs(i) * dt * dt > squared * froude * model.reach[i];
  });
  if (most == least) return least;
  const auto sub_steps = [&] {
    return std::clamp(static_cast<int>(std::ceil(std::sqrt(squared))), least, most);
  };
  if (!any_small) return sub_steps();
  for (std::size_t k = 0; k < w.contacts.size(); ++k) {
    const ContactInput& c = w.contacts[k];
    if (!moves(c.body_a) || !moves(c.body_b)) continue;
    Real asked = std::max(wanted(c.body_a), wanted(c.body_b));
    if (asked * most_of_tower <= squared) continue;
    if (c.count > 2) {
      const Real k =
          std::min(w.bodies.inertia[c.body_a].inverse_mass, w.bodies.inertia[c.body_b].inverse_mass);
      const Real high = k * c.carries() / (gravity * h * tall);
      asked *= std::clamp(high * high, Real(1), most_of_tower);
    }
    if (asked <= squared) continue;
    const Real impulse = c.presses();
    Real nearest = std::numeric_limits<Real>::max();
    for (int p = 0; p < c.count; ++p) nearest = std::min(nearest, c.points[p].separation);
    const auto matters = [&](Index i) {
      return impulse * w.bodies.inertia[i].inverse_mass > part_of_weight * weighs(i) * h;
    };
    // What a new contact will bear is not known; at once, if bodies fall on each other within the step.
    const bool is_new = w.previous[w.contact_slot[k]] < 0 && nearest <= gravity * dt * dt;
    if (is_new || (matters(c.body_a) && matters(c.body_b))) squared = asked;
  }
  return sub_steps();
}

}}  // namespace plenum::PLENUM_ABI::detail
