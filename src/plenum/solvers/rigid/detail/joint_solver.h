#pragma once
// All joints of a step: islands of them, independent of each other and on all threads.
#include <vector>

#include "plenum/solvers/rigid/detail/joint_island.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

class JointSolver {
 public:
  /// At the start of a step. Finds islands anew if joints broke or others came.
  void start(const JointScene& scene, SolverBodies& bodies);
  void begin(const JointScene& scene, SolverBodies& bodies, bool contacts);
  void solve(const JointScene& scene, SolverBodies& bodies);
  void update(const JointScene& scene, SolverBodies& bodies);
  /// Relaxation: of all, or of those alone whose velocities the next sub-step looks at.
  void relax(const JointScene& scene, SolverBodies& bodies, bool all);
  /// Whether moments of inertia are, or were in the sub-step before, others than the bodies' own.
  bool changed_inertia() const;
  void collect();
  /// Marks islands of groups, by their least bodies, that are strained (ContactSolver::strained_groups).
  void mark_strained(std::span<const std::uint8_t> groups);
  /// Takes from the bodies of these the rates that joints do not allow.
  void keep_strained(const JointScene& scene, SolverBodies& bodies);

  /// Bodies that hang together by joints, for blows that go on through these.
  struct Groups {
    std::vector<Index> of;    ///< [N] the least body of each one's group; -1: in no joint
    std::vector<Index> next;  ///< [N] another body of the group, round and round; -1: in no joint
    std::vector<Real> mass;   ///< [N] [kg] of a group, of its least body; infinity() if anything holds it
  };
  const Groups& groups() const { return groups_; }
  /// A round of absorb(): islands that hold a body marked, which mark more.
  void absorb(const JointScene& scene, SolverBodies& bodies, Real least, std::span<Real> moved);
  double turn_way(double keep);
  void go_way(double step);
  /// Marks the bodies of islands that absorb() has reached since begin_blow().
  void mark_reached(std::span<std::uint8_t> out);
  std::size_t num_reached();  ///< joints of these
  void begin_blow();
  void forget_blow();
  /// Forces of the step; then breaks what carries too much.
  void store(const Rigid::Model& model, double dt, Rigid::Joints& out) const;
  /// Whether no joint is to be solved in this step.
  bool empty() const { return !any_awake_; }
  static void break_joints(const Rigid::Model& model, Rigid::Joints& out);

 private:
  template <class F>
  void on_island(std::size_t i, F&& f);  ///< f(island)
  template <class F>
  void each_island(F&& f);  ///< f(island, i) of those that are awake
  void find_islands(const JointScene& scene);
  template <class F>
  void each_reached(F&& f);
  template <class RootOf>
  void weigh_groups(const JointScene& scene, RootOf&& root_of);

  std::vector<JointIsland<3>> balls_;
  std::vector<JointIsland<6>> general_;
  std::vector<std::uint8_t> strained_;  ///< [islands] see mark_strained()
  std::vector<std::uint8_t> reached_;   ///< [islands] by a blow
  Groups groups_;
  bool any_awake_ = false;
  std::vector<Index2> known_;         ///< [J] bodies of the joints that the islands are of
  std::vector<std::uint8_t> broken_;  ///< [J] likewise
  std::vector<std::uint8_t> kind_;    ///< [J] likewise; 3 or 6
};

}}  // namespace plenum::PLENUM_ABI::detail
