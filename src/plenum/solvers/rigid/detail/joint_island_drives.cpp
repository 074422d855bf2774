// How strong motors of no given strength are: as strong as contacts can bear.
//
// A motor that is stronger turns what it drives into what stands in its way, until contacts that would part
// them find no way out or another one, and those and the motor drive each other. Soft contacts of bodies of
// mass m, at a fifth of the sub-steps' rate, bear m x/h^2 at an overlap of about 0.7 x.
#include <algorithm>
#include <limits>
#include <vector>

#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Part of the size of the smaller of a motor's bodies that the contacts of what it drives may be overlapped
/// by. Motors of three times this press arms of a tenth of their length into posts and come out behind.
constexpr double borne_overlap = 0.02;
/// [m/s^2] that a motor may always give what it drives: thirty times its weight on Earth.
constexpr double least_borne = 300;
/// [N] or [N m] of drives that are given none: theirs alone is bounded, who names one has it.
constexpr double any_strength = 0.99e9;

}  // namespace

/// Of each motor what it drives: the lighter of the two sides that the joint parts its bodies into. A side
/// that hangs on something else too, on the world or in a loop, is as heavy as anything.
template <int D>
void JointIsland<D>::find_driven(const JointScene& scene) {
  if (!has_drives_) return;
  constexpr double any = std::numeric_limits<double>::infinity();
  struct Side {
    double mass = 0, moment = 0;  // [kg], [kg m] about the joint, of bodies stretched out
  };
  std::vector<std::vector<Index>> at(bodies_.size());
  for (std::size_t k = 0; k < joints_.size(); ++k)
    for (const Index body : {joints_[k].a, joints_[k].b})
      if (bodies_[std::size_t(body)].moves) at[std::size_t(body)].push_back(static_cast<Index>(k));
  std::vector<double> out(bodies_.size());  // [m] from the joint to the middle of a body, or below 0
  std::vector<Index> queue;
  const auto side_of = [&](Index from, Index without) {
    Side side;
    std::fill(out.begin(), out.end(), -1.0);
    const auto global = [&](Index body) { return std::size_t(bodies_[std::size_t(body)].index); };
    const auto reach = [&](Index body) { return double(scene.model.reach[global(body)]); };
    const auto moves = [&](Index body) {
      return bodies_[std::size_t(body)].moves && bodies_[std::size_t(body)].locks == 0;
    };
    const Joint& motor = joints_[std::size_t(without)];
    const Index other = motor.a == from ? motor.b : motor.a;
    if (!moves(from)) return Side{any, any};
    queue.assign(1, from), out[std::size_t(from)] = reach(from);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Index body = queue[i];
      const double mass = 1 / double(scene.state.frames.inverse_mass[global(body)]);
      side.mass += mass, side.moment += mass * out[std::size_t(body)];
      for (const Index k : at[std::size_t(body)]) {
        if (k == without) continue;
        const Joint& j = joints_[std::size_t(k)];
        const Index next = j.a == body ? j.b : j.a;
        if (!moves(next) || next == other) return Side{any, any};
        if (out[std::size_t(next)] >= 0) continue;
        out[std::size_t(next)] = out[std::size_t(body)] + reach(body) + reach(next);
        queue.push_back(next);
      }
    }
    return side;
  };
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    Joint& j = joints_[k];
    if (!j.has_bounds || j.is_mouse) continue;
    j.driven_mass = j.driven_moment = any;
    for (const Index from : {j.a, j.b}) {
      const Side side = side_of(from, static_cast<Index>(k));
      if (side.mass < j.driven_mass) j.driven_mass = side.mass, j.driven_moment = side.moment;
    }
  }
}

/// What drives may push with in sub-steps of h [s].
template <int D>
void JointIsland<D>::find_strength(const JointScene& scene) {
  if (!has_drives_) return;
  for (Joint& j : joints_) {
    const auto& axes = scene.model.joints[std::size_t(j.joint)].axes;
    for (std::size_t r = 0; r < 6; ++r) {
      j.strength[r] = double(axes[r].strength);
      if (axes[r].drive != rigid::Drive::velocity || j.strength[r] < any_strength) continue;
      const double borne = std::max(borne_overlap * j.size / (scene.h * scene.h), least_borne);  // [m/s^2]
      j.strength[r] = std::min(j.strength[r], borne * (r < 3 ? j.driven_mass : j.driven_moment));
    }
  }
}

template void JointIsland<3>::find_driven(const JointScene&);
template void JointIsland<6>::find_driven(const JointScene&);
template void JointIsland<3>::find_strength(const JointScene&);
template void JointIsland<6>::find_strength(const JointScene&);

}}  // namespace plenum::PLENUM_ABI::detail
