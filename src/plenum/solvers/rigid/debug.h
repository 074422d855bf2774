#pragma once
// What debug drawing shows of rigid bodies, found from model and state alone, so of checkpoints too.
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace rigid {

/// A contact of the last step, where it was found, carried along with `body`. Forces are means over the last
/// sub-step.
struct ContactMark {
  Index body;     ///< that the forces are on: the second of the two, or the first if that alone is dynamic
  int count;      ///< of points
  Vec3 x[4];      ///< [m]
  Real force[4];  ///< [N] of each point along the normal
  Vec3 normal;    ///< unit, towards `body`; zero if it cannot be told any more
  Vec3 centre;    ///< [m] of pressure
  Vec3 friction;  ///< [N]
  bool asleep;
};

/// Contacts between bodies that are awake, then those put aside with bodies that sleep. Normals, which no
/// state holds, are found by collision anew where the bodies were when the step began.
std::vector<ContactMark> contact_marks(const Rigid::Model& model, const Rigid::State& state,
                                       const Rigid::Params& params);

/// For each body the lowest one of its island, which hangs together by contacts and joints; -1: not dynamic.
std::vector<Index> islands(const Rigid::Model& model, const Rigid::State& state);

/// The boxes [K] of colliders that the next step's broad phase works on, if it is as long as the last.
std::vector<Aabb> broad_boxes(const Rigid::Model& model, const Rigid::State& state,
                              const Rigid::Params& params);

/// Lengths and forces that marks are drawn in proportion to: medians over the dynamic bodies.
struct MarkScale {
  Real reach = 1;   ///< [m]
  Real weight = 1;  ///< [N], in the parameters' gravity or else 9.81 m/s^2
};
MarkScale mark_scale(const Rigid::Model& model, const Rigid::State& state, const Rigid::Params& params);

}}  // namespace plenum::PLENUM_ABI::rigid
