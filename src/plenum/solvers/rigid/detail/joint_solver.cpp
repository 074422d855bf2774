#include "plenum/solvers/rigid/detail/joint_solver.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

std::uint8_t rows_of(const Rigid::Joint& joint) {
  return joint.type == rigid::JointType::ball && !joint.axes[3].is_used() && !joint.axes[4].is_used() &&
                 !(joint.turn_damping > 0)
             ? 3
             : 6;
}

}  // namespace

template <class F>
void JointSolver::on_island(std::size_t i, F&& f) {
  if (i < balls_.size())
    f(balls_[i]);
  else
    f(general_[i - balls_.size()]);
}

template <class F>
void JointSolver::each_island(F&& f) {
  parallel_for(balls_.size() + general_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      on_island(i, [&](auto& island) {
        if (!island.sleeps()) f(island, i);
      });
  });
}

template <class F>
void JointSolver::each_reached(F&& f) {
  for (std::size_t i = 0; i < reached_.size(); ++i)
    if (reached_[i]) on_island(i, f);
}

template <class RootOf>
void JointSolver::weigh_groups(const JointScene& scene, RootOf&& root_of) {
  const std::vector<Rigid::Joint>& joints = scene.model.joints;
  const std::size_t n = scene.model.motion.size();
  groups_.of.assign(n, -1);
  groups_.mass.assign(n, 0);
  groups_.next.assign(n, -1);
  for (std::size_t k = 0; k < joints.size(); ++k) {
    if (broken_[k]) continue;
    const Index roots[] = {root_of(joints[k].a), root_of(joints[k].b)};
    for (const Index body : {joints[k].a, joints[k].b}) {
      const Index root = root_of(body);
      if (root < 0 || groups_.of[std::size_t(body)] >= 0) continue;
      groups_.of[std::size_t(body)] = root;
      Index& first = groups_.next[std::size_t(root)];
      if (first < 0) first = root;
      if (body != root) groups_.next[std::size_t(body)] = first, first = body;
      groups_.mass[std::size_t(root)] += 1 / scene.state.frames.inverse_mass[body];
    }
    if (std::min(roots[0], roots[1]) < 0)
      groups_.mass[std::size_t(std::max(roots[0], roots[1]))] = std::numeric_limits<Real>::infinity();
  }
}

void JointSolver::find_islands(const JointScene& scene) {
  const Rigid::Model& model = scene.model;
  std::vector<Index> parent(model.motion.size());
  std::iota(parent.begin(), parent.end(), Index(0));
  const auto root_of = [&](Index i) {
    while (parent[std::size_t(i)] != i)
      i = parent[std::size_t(i)] = parent[std::size_t(parent[std::size_t(i)])];
    return i;
  };
  const auto moves = [&](Index i) {
    return i >= 0 && model.motion[std::size_t(i)] == rigid::Motion::dynamic;
  };
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const Rigid::Joint& j = model.joints[k];
    if (broken_[k] || !moves(j.a) || !moves(j.b)) continue;
    const Index a = root_of(j.a), b = root_of(j.b);
    parent[std::size_t(std::max(a, b))] = std::min(a, b);
  }
  std::vector<std::pair<Index, Index>> members;  // island's root, joint
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const Rigid::Joint& j = model.joints[k];
    if (!broken_[k]) members.emplace_back(root_of(moves(j.a) ? j.a : j.b), static_cast<Index>(k));
  }
  std::sort(members.begin(), members.end());
  weigh_groups(scene, [&](Index i) { return moves(i) ? root_of(i) : Index(-1); });
  balls_.clear(), general_.clear();
  std::vector<Index> joints;
  for (std::size_t first = 0, end = 0; first < members.size(); first = end) {
    joints.clear();
    bool balls = true;
    for (; end < members.size() && members[end].first == members[first].first; ++end) {
      joints.push_back(members[end].second);
      balls &= kind_[std::size_t(members[end].second)] == 3;
    }
    if (balls)
      balls_.emplace_back().build(scene, joints);
    else
      general_.emplace_back().build(scene, joints);
  }
}

void JointSolver::start(const JointScene& scene, SolverBodies& bodies) {
  const std::vector<Rigid::Joint>& joints = scene.model.joints;
  const std::vector<std::uint8_t>& broken = scene.state.joints.broken;
  bool same = known_.size() == joints.size() && broken_ == broken;
  for (std::size_t k = 0; k < joints.size() && same; ++k)
    same = known_[k][0] == joints[k].a && known_[k][1] == joints[k].b && kind_[k] == rows_of(joints[k]);
  if (!same) {
    known_.clear(), kind_.clear();
    for (const Rigid::Joint& j : joints) known_.push_back({j.a, j.b}), kind_.push_back(rows_of(j));
    broken_ = broken;
    find_islands(scene);
  }
  parallel_for(balls_.size() + general_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      on_island(i, [&](auto& island) { island.start(scene, bodies); });
  });
  const auto is_awake = [](const auto& island) { return !island.sleeps(); };
  any_awake_ = std::any_of(balls_.begin(), balls_.end(), is_awake) ||
               std::any_of(general_.begin(), general_.end(), is_awake);
}

void JointSolver::begin(const JointScene& scene, SolverBodies& bodies, bool contacts) {
  each_island([&](auto& island, std::size_t) { island.begin(scene, bodies, contacts); });
}
void JointSolver::solve(const JointScene& scene, SolverBodies& bodies) {
  each_island([&](auto& island, std::size_t) { island.solve(scene, bodies); });
}
void JointSolver::update(const JointScene& scene, SolverBodies& bodies) {
  each_island([&](auto& island, std::size_t) { island.update(scene, bodies); });
}
void JointSolver::relax(const JointScene& scene, SolverBodies& bodies, bool all) {
  each_island([&](auto& island, std::size_t) {
    if (all || island.has_bounds() || island.may_conflict()) island.relax(scene, bodies);
  });
}
bool JointSolver::changed_inertia() const {
  const auto changed = [](const auto& island) { return !island.sleeps() && island.changed_inertia(); };
  return std::any_of(balls_.begin(), balls_.end(), changed) ||
         std::any_of(general_.begin(), general_.end(), changed);
}
void JointSolver::collect() {
  each_island([](auto& island, std::size_t) { island.collect(); });
}

void JointSolver::mark_strained(std::span<const std::uint8_t> groups) {
  strained_.assign(balls_.size() + general_.size(), 0);
  for (std::size_t i = 0; i < strained_.size(); ++i)
    on_island(i, [&](const auto& island) {
      const Index body = island.a_body();
      strained_[i] = body >= 0 && groups[std::size_t(groups_.of[std::size_t(body)])];
    });
}

void JointSolver::keep_strained(const JointScene& scene, SolverBodies& bodies) {
  each_island([&](auto& island, std::size_t i) {
    if (strained_[i]) island.relax(scene, bodies);
  });
}

void JointSolver::begin_blow() {
  reached_.assign(balls_.size() + general_.size(), 0);
}
void JointSolver::absorb(const JointScene& scene, SolverBodies& bodies, Real least, std::span<Real> moved) {
  // Of no body do two islands ask: what moves is in one.
  each_island([&](auto& island, std::size_t i) {
    if (!reached_[i] && !island.is_reached(moved)) return;
    reached_[i] = 1;
    island.absorb(scene, bodies, least, moved);
  });
}
double JointSolver::turn_way(double keep) {
  double most = std::numeric_limits<double>::max();
  each_reached([&](auto& island) { most = std::min(most, island.turn_way(keep)); });
  return most;
}
void JointSolver::go_way(double step) {
  each_reached([&](auto& island) { island.go_way(step); });
}
void JointSolver::mark_reached(std::span<std::uint8_t> out) {
  each_reached([&](auto& island) { island.mark(out); });
}
std::size_t JointSolver::num_reached() {
  std::size_t n = 0;
  each_reached([&](const auto& island) { n += island.size(); });
  return n;
}
void JointSolver::forget_blow() {
  each_reached([](auto& island) { island.forget_blow(); });
}

void JointSolver::store(const Rigid::Model& model, double dt, Rigid::Joints& out) const {
  const auto store = [&](const auto& island) {
    if (!island.sleeps()) island.store(dt, out);
  };
  std::for_each(balls_.begin(), balls_.end(), store);
  std::for_each(general_.begin(), general_.end(), store);
  break_joints(model, out);
}

void JointSolver::break_joints(const Rigid::Model& model, Rigid::Joints& out) {
  out.just_broken.clear();
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const Rigid::Joint& joint = model.joints[k];
    if (out.broken[k]) out.force[k].setZero(), out.torque[k].setZero();
    if (out.broken[k] || !((joint.break_force > 0 && out.force[k].norm() > joint.break_force) ||
                           (joint.break_torque > 0 && out.torque[k].norm() > joint.break_torque)))
      continue;
    out.broken[k] = 1;
    out.just_broken.push_back(static_cast<Index>(k));
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
