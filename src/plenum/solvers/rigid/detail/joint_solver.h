#pragma once
// All joints of a step: islands of them, independent of each other and on all threads.
#include <vector>

#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

class JointSolver {
 public:
  /// At the start of a step. Finds islands anew if joints broke or others came.
  void start(const JointScene& scene);
  void begin(const JointScene& scene, SolverBodies& bodies, bool contacts);
  void solve(const JointScene& scene, SolverBodies& bodies);
  void update(const JointScene& scene);
  /// Relaxation: of all, or of those alone whose velocities the next sub-step looks at.
  void relax(const JointScene& scene, SolverBodies& bodies, bool all);
  void collect();
  /// Forces of the step; returns how many joints broke.
  int store(const Rigid::Model& model, double dt, Rigid::Joints& out) const;
  /// Whether no joint is to be solved in this step.
  bool empty() const { return !any_awake_; }
  /// Breaks what carries too much; returns how many broke.
  static int break_joints(const Rigid::Model& model, Rigid::Joints& out);

 private:
  template <class F>
  void each_island(F&& f);  ///< that is awake
  void find_islands(const JointScene& scene);

  std::vector<JointIsland<3>> balls_;
  std::vector<JointIsland<6>> general_;
  bool any_awake_ = false;
  std::vector<Index2> known_;         ///< [J] bodies of the joints that the islands are of
  std::vector<std::uint8_t> broken_;  ///< [J] likewise
  std::vector<std::uint8_t> kind_;    ///< [J] likewise; 3 or 6
};

}}  // namespace plenum::PLENUM_ABI::detail
