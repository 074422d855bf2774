#pragma once
// A step without sub-steps, for the solvers that stand beside the default one: velocities of the whole step
// first, then drift, which is removed by velocities that separate what overlaps and are forgotten after.
#include "plenum/solvers/rigid/detail/reference_solvers.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

class WholeStep {
 public:
  struct Settings {
    bool directly;               ///< or by Gauss-Seidel
    int iterations;              ///< of that
    int substeps;                ///< of the default solver, in whose unit, a sub-step's, impulses are kept
    Real restitution_threshold;  ///< [m/s]
  };
  /// Velocities of the bodies after the step of scene.h [s]; impulses of the contacts, in/out.
  DirectReport solve(const JointScene& scene, const Settings& settings, std::span<ContactInput> contacts,
                     SolverBodies& bodies);
  /// After solve(): velocities, over the step, that take back overlap and gaps; those of body i.
  const RowBody& separating(Index i) const { return problem_.bodies[i]; }
  /// What each contact gave. out [C]
  void given(std::span<ContactGift> out) const;
  /// What the joints carried, and where those that wind have turned to.
  void store(const JointScene& scene, Rigid::Joints& out) const;

 private:
  void separate(const Settings& settings, std::span<const ContactInput> contacts, double h);

  VelocityProblem problem_;
  std::vector<ContactGift> gifts_;               ///< [C]
  std::vector<Vector3<double>> force_, torque_;  ///< [J] N s, N m s
};

}}  // namespace plenum::PLENUM_ABI::detail
