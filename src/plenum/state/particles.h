#pragma once
// Point masses: the state shared by particle systems, mass-spring nets, cloth and every deformable solid.
#include <vector>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI {

struct Particles {
  std::vector<Vec3> x;             ///< [N] m
  std::vector<Vec3> v;             ///< [N] m/s
  std::vector<Real> inverse_mass;  ///< [N] 1/kg, >= 0; 0: moved by nobody but its keyframes

  std::size_t size() const { return x.size(); }
  void resize(std::size_t n) {
    x.resize(n, Vec3::Zero());
    v.resize(n, Vec3::Zero());
    inverse_mass.resize(n, Real(1));
  }
};

}  // namespace plenum::inline PLENUM_ABI
