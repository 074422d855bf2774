#pragma once
// Forces between particles of a pair list.
#include <span>

#include "plenum/solvers/particles/lennard_jones.h"
#include "plenum/solvers/particles/pair_list.h"

namespace plenum::inline PLENUM_ABI {

/// Accelerations [N] m/s^2 that particles at x [N] m give each other by the truncated Mie potential; pairs
/// closer than half a sigma push as if half a sigma apart, so that two in one place stay finite. The list
/// must hold all pairs within the cut-off, and its unit be sigma. Sites of the list are brought up to date.
/// Deterministic for any number of threads.
void pair_accelerations(const LennardJones& lj, std::span<const Vec3> x, std::span<const Real> inverse_mass,
                        PairList& list, std::span<Vec3> acceleration);

/// The same, with energies. No tail corrections.
PairEnergy pair_accelerations_and_energy(const LennardJones& lj, std::span<const Vec3> x,
                                         std::span<const Real> inverse_mass, PairList& list,
                                         std::span<Vec3> acceleration);

}  // namespace plenum::inline PLENUM_ABI
