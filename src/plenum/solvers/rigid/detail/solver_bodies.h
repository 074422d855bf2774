#pragma once
// Bodies as constraints see them during a step: three rows of eight numbers each, so that eight bodies, or
// sixteen, are gathered by loads and one transpose.
#include <span>

#include "plenum/linear/aligned.h"
#include "plenum/math/pose.h"
#include "plenum/math/wide.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

struct alignas(sizeof(Eight)) BodyVelocity {
  Real v[3], w[3];  ///< [m/s] of the centre of mass, [rad/s]; in the world
  Real spare[2];
};
struct alignas(sizeof(Eight)) BodyInertia {
  Real inverse[6];  ///< [1/(kg m^2)] in the world: xx yy zz xy xz yz
  Real inverse_mass;
  Real enlarged;  ///< not 0: joints have changed the moments in this step
};
/// [1/(kg m^2)] in the world.
inline Eigen::Matrix3d inverse_inertia_of(const BodyInertia& body) {
  const Real* k = body.inverse;
  Eigen::Matrix3d out;
  out << k[0], k[3], k[4], k[3], k[1], k[5], k[4], k[5], k[2];
  return out;
}
/// Since the start of the step.
struct alignas(sizeof(Eight)) BodyMotion {
  Real dx[3];  ///< [m] of the centre of mass
  Real dq[4];  ///< unit quaternion x y z w
  Real spare;
};

/// [N + 1]: the last stands for the world, at rest and immovable. Rows of bodies that are asleep hold
/// nothing.
struct SolverBodies {
  AlignedVector<BodyVelocity> velocity;
  AlignedVector<BodyInertia> inertia;
  AlignedVector<BodyMotion> motion;

  void resize(std::size_t n) {
    if (velocity.size() == n + 1) return;
    velocity.assign(n + 1, BodyVelocity{});
    inertia.assign(n + 1, BodyInertia{});
    motion.assign(n + 1, BodyMotion{{0, 0, 0}, {0, 0, 0, 1}, 0});
  }
  Index world() const { return static_cast<Index>(velocity.size()) - 1; }
  bool is_movable(Index i) const {
    const BodyInertia& k = inertia[i];
    return k.inverse_mass > 0 || k.inverse[0] > 0 || k.inverse[1] > 0 || k.inverse[2] > 0;
  }
};

struct WideVelocity {
  Wide3 v, w;
};
struct WideInertia {
  WideSym3 inverse;
  Wide inverse_mass;
};
struct WideMotion {
  Wide3 dx, u;
  Wide w;
};

template <class Row>
[[gnu::always_inline]] inline void gather_rows(const Row* rows, const Index* index, Wide (&out)[8]) {
  static_assert(sizeof(Row) == sizeof(Eight));
  const auto row = [&](int l) { return reinterpret_cast<const Real*>(rows + index[l]); };
  for (int l = 0; l < 8; ++l) out[l] = join(row(l), row((l + 8) % wide));
  transpose(out);
}
[[gnu::always_inline]] inline WideVelocity gather_velocity(const SolverBodies& bodies, const Index* index) {
  Wide r[8];
  gather_rows(bodies.velocity.data(), index, r);
  return {{r[0], r[1], r[2]}, {r[3], r[4], r[5]}};
}
[[gnu::always_inline]] inline WideInertia gather_inertia(const SolverBodies& bodies, const Index* index) {
  Wide r[8];
  gather_rows(bodies.inertia.data(), index, r);
  return {{r[0], r[1], r[2], r[3], r[4], r[5]}, r[6]};
}
[[gnu::always_inline]] inline WideMotion gather_motion(const SolverBodies& bodies, const Index* index) {
  Wide r[8];
  gather_rows(bodies.motion.data(), index, r);
  return {{r[0], r[1], r[2]}, {r[3], r[4], r[5]}, r[6]};
}
/// Writes the lanes whose bit is set; the bodies of those must be different, and no other thread's.
[[gnu::always_inline]] inline void scatter_velocity(SolverBodies& bodies, const Index* index, unsigned lanes,
                                                    const WideVelocity& a) {
  Wide r[8] = {a.v.x, a.v.y, a.v.z, a.w.x, a.w.y, a.w.z, Wide{}, Wide{}};
  transpose(r);
  const auto put = [&](int l, const Eight& row) {
    if (lanes >> l & 1) std::memcpy(bodies.velocity[index[l]].v, &row, sizeof row);
  };
  for (int l = 0; l < 8; ++l) {
    put(l, half_of<0>(r[l]));
    if (wide > 8) put((l + 8) % wide, half_of<wide / 8 - 1>(r[l]));
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
