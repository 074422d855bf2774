#pragma once
// Scratch memory of a net's steps.
#include <span>
#include <vector>

#include "plenum/linear/jacobi.h"
#include "plenum/linear/pcg.h"
#include "plenum/solvers/springs/detail/spring_system.h"
#include "plenum/solvers/springs/springs.h"

namespace plenum::inline PLENUM_ABI {

struct SpringsWorkspace {
  Index revision = -1;  ///< of the model this was laid out for
  SpringSystem<Real> system;
  std::vector<Vec3> x0;    ///< [N] m at the start of the step
  std::vector<Real> base;  ///< [N] kg on the diagonal
  std::vector<Vec3> rhs;   ///< [N]
  PcgWorkspace<Real> pcg;
  BlockJacobiPreconditioner<Real> block_jacobi;
};

/// Views of a vector of Vec3 as flat numbers, [3 N].
inline std::span<Real> flat(std::vector<Vec3>& v) {
  return {reinterpret_cast<Real*>(v.data()), 3 * v.size()};
}
inline std::span<const Real> flat(const std::vector<Vec3>& v) {
  return {reinterpret_cast<const Real*>(v.data()), 3 * v.size()};
}

}  // namespace plenum::inline PLENUM_ABI
