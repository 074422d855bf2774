// Blows without a bounce that go on through joints: see ContactSolver::absorb().
//
// Between two rounds over the contacts the velocities are projected onto those that the joints allow. The
// projection is orthogonal in the measure of kinetic energy, so that joints do no work along any direction
// between two results; the search for the least energy goes along such directions only, and their impulses go
// along with it.
#include <algorithm>
#include <limits>

#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

template <int D>
bool JointIsland<D>::is_reached(std::span<const Real> moved) const {
  return std::any_of(bodies_.begin(), bodies_.end(),
                     [&](const Body& b) { return b.moves && moved[std::size_t(b.index)] > 0; });
}

template <int D>
void JointIsland<D>::absorb(const JointScene& scene, SolverBodies& bodies, Real least,
                            std::span<Real> moved) {
  has_blow_ = true;
  load(bodies);
  for (std::size_t i = 0; i < bodies_.size(); ++i) kept_[i] << bodies_[i].v, bodies_[i].w;
  for (Joint& j : joints_) {
    std::swap(j.impulse, j.blow);
    j.blow_change = -j.impulse;
  }
  project(scene, false);
  for (Joint& j : joints_) {
    j.blow_change += j.impulse;
    std::swap(j.impulse, j.blow);
  }
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const Body& body = bodies_[i];
    if (!body.moves) continue;
    // No point is much farther than twice the radius of gyration from the centre of mass.
    const double reach2 = 4 * body.inertia.maxCoeff() * body.inverse_mass,
                 v2 = (body.v - kept_[i].template head<3>()).squaredNorm(),
                 w2 = (body.w - kept_[i].template tail<3>()).squaredNorm();
    if (v2 + reach2 * w2 > double(least) * double(least)) moved[std::size_t(body.index)] = 1;
  }
  save(bodies);
}

template <int D>
double JointIsland<D>::turn_way(double keep) {
  double most = std::numeric_limits<double>::max();
  for (Joint& j : joints_) {
    j.blow_way = j.blow_change + keep * j.blow_way;
    for (int r = 0; r < D; ++r) {
      const double sign = j.status[r] == RowStatus::at_lower   ? 1
                          : j.status[r] == RowStatus::at_upper ? -1
                                                               : 0;
      if (sign * j.blow_way[r] < 0) most = std::min(most, std::max(0.0, -j.blow[r] / j.blow_way[r]));
    }
  }
  return most;
}

template <int D>
void JointIsland<D>::go_way(double step) {
  for (Joint& j : joints_) j.blow += step * j.blow_way;
}

template <int D>
void JointIsland<D>::forget_blow() {
  has_blow_ = false;
  for (Joint& j : joints_) j.blow = j.blow_change = j.blow_way = Vector::Zero();
}

template <int D>
void JointIsland<D>::mark(std::span<std::uint8_t> out) const {
  for (const Body& body : bodies_)
    if (body.moves) out[std::size_t(body.index)] = 1;
}

template bool JointIsland<3>::is_reached(std::span<const Real>) const;
template bool JointIsland<6>::is_reached(std::span<const Real>) const;
template void JointIsland<3>::absorb(const JointScene&, SolverBodies&, Real, std::span<Real>);
template void JointIsland<6>::absorb(const JointScene&, SolverBodies&, Real, std::span<Real>);
template double JointIsland<3>::turn_way(double);
template double JointIsland<6>::turn_way(double);
template void JointIsland<3>::go_way(double);
template void JointIsland<6>::go_way(double);
template void JointIsland<3>::forget_blow();
template void JointIsland<6>::forget_blow();
template void JointIsland<3>::mark(std::span<std::uint8_t>) const;
template void JointIsland<6>::mark(std::span<std::uint8_t>) const;

}}  // namespace plenum::PLENUM_ABI::detail
