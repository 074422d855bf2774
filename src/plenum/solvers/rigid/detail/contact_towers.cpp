// Towers: how firm contacts are to be that what stands on them does not buckle.
//
// A column of N cubes of side s whose contacts are springs of frequency omega for their tilting, of
// m s^2/12 omega^2 [N m], buckles by its own weight from N^3 = 0.65 omega^2 s/g cubes on (Greenhill 1881:
// q L^3/EI = 7.84). omega h is bounded in sub-steps of h (sub_steps_part), so a tower's slenderness here is
// the most that any of its contacts has of r^3 g h^2/s, where it bears r times a body's weight; about 1
// buckles.
#include <algorithm>

#include "plenum/solvers/rigid/detail/contact_batch.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Slenderness from which on, and from twice of which on wholly, a tower's contacts are made firmer.
constexpr Real slender = Real(0.4);
/// Then those of faces that have borne r times a body's weight, where r g h^2/s is above this, are as many
/// times firmer, and gone over as often as firm springs need to come to rest.
constexpr Real tall_from = Real(6e-4), firmer = 8, most_firm_of_towers = 10;
/// Times what a contact has borne that counts of what it bears now: a blow makes no tower, but a small one
/// falls before it has long been borne. Firmness grows with that part, over a second: springs that became
/// firm at once in the middle of a tower's sag would throw it up.
constexpr Real at_once = 4;
/// Against what all points of a face have in common, which topples nothing, contacts get firm only as they
/// carry these parts of what they bear: the energy that a spring gains by getting firm is that of its
/// overlap, and a tower that sags while nothing is carried yet would be thrown up.
constexpr Real even_from = Real(0.5), even_to = Real(0.85);

}  // namespace

void ContactSolver::find_towers(std::span<const ContactInput> contacts, const SolverBodies& bodies) {
  firm_of_tower_.clear();
  const Real gains = settings_.gravity * settings_.impulse_time;  // [m/s] that a body's weight gives it
  if (!(gains > 0)) return;
  const auto is_face = [](const ContactInput& c) { return c.count >= 3; };
  // Times the weight of a body: of the heavier, for a heavy load is no tower.
  const auto weights = [&](const ContactInput& c, Real impulse) {
    const Real ka = bodies.inertia[c.body_a].inverse_mass, kb = bodies.inertia[c.body_b].inverse_mass;
    return (ka > 0 && kb > 0 ? std::min(ka, kb) : std::max(ka, kb)) * impulse / gains;
  };
  const auto falls = [&](const ContactInput& c) {  // g h^2/s
    return settings_.gravity * settings_.h * settings_.h / c.size;
  };
  const auto slenderness = [&](const ContactInput& c) {
    if (!is_face(c)) return Real(0);
    const Real carried = c.carries(), r = weights(c, std::clamp(c.presses(), carried, at_once * carried));
    return r * r * r * falls(c);
  };
  const auto is_slender = [&](const ContactInput& c) { return slenderness(c) > slender; };
  if (std::none_of(contacts.begin(), contacts.end(), is_slender)) return;

  towers_.reset(bodies.velocity.size());
  for (const ContactInput& c : contacts)
    if (is_face(c) && bodies.is_movable(c.body_a) && bodies.is_movable(c.body_b))
      towers_.connect(c.body_a, c.body_b);
  const auto tower = [&](const ContactInput& c) {
    return towers_.island(bodies.is_movable(c.body_a) ? c.body_a : c.body_b);
  };
  slenderness_.assign(bodies.velocity.size(), Real(0));
  for (const ContactInput& c : contacts)
    if (is_face(c)) {
      Real& most = slenderness_[tower(c)];
      most = std::max(most, slenderness(c));
    }
  firm_of_tower_.assign(contacts.size(), Real(1)), even_firm_of_tower_.assign(contacts.size(), Real(1));
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    const ContactInput& c = contacts[k];
    if (!is_face(c)) continue;
    const Real bears = c.presses(), known = at_once * c.carries();
    const Real part = std::clamp(slenderness_[tower(c)] / slender - 1, Real(0), Real(1)) *
                      (known < bears ? known / bears : Real(1));
    const Real firm = std::clamp(1 + firmer * (weights(c, c.carries()) * falls(c) / tall_from - 1), Real(1),
                                 most_firm_of_towers);
    firm_of_tower_[k] = 1 + part * (firm - 1);
    const Real carried = bears > 0 ? c.carries() / bears : 0;
    even_firm_of_tower_[k] =
        1 + part * std::clamp((carried - even_from) / (even_to - even_from), Real(0), Real(1)) * (firm - 1);
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
