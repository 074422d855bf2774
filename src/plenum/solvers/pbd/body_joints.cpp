// Joints between rigid bodies, all of a mechanism at once.
//
// One after the other, a light body between two joints is turned by each until the other is off, and errors
// reach the end of a chain by the ratio of masses only: a hinge chain of 0.8 kg with 335 kg at its end was
// drawn out by half, and a ball of 1 kg with joints at four of its radii and 300 kg on one of them gained
// energy without bound. With J the joints' gradients, W bodies' inverse masses and moments and alpha~ what
// gives, impulses are those of (J W J^T + alpha~) dl = -C - alpha~ l, factored in the order of its
// tree: as much work as sweeping, for chains and trees (Baraff 1996, "Linear-time dynamics using Lagrange
// multipliers"; for XPBD Mueller et al. 2020, section 3.3, of single constraints).
#include <algorithm>
#include <cmath>
#include <utility>

#include "plenum/base/disjoint_sets.h"
#include "plenum/solvers/pbd/detail/bodies.h"

namespace plenum::inline PLENUM_ABI {

using D3 = Vector3<double>;
using M3 = Matrix3<double>;

namespace {

/// Entries of the factors, of each row and at all, up to one of which a mechanism is solved at once. Chains
/// of hinges have 10 a row, hubs of a hundred joints 45 000; what has many loops, as nets, has more the
/// larger it is, and is swept.
constexpr std::size_t most_fill = 64, least_fill = 100'000;
/// Newton steps of a sweep, and [rad] of turns in one after which there is another.
constexpr int most_steps = 8;
constexpr double settled = 0.01;
/// Part of the diagonal that is added to it where joints close a loop. A chain that is taut between two
/// places has no way left to give as it sags, to first order: a bridge of ten hinges trembled so, at 0.2 m/s,
/// and threw off what lay on it; with this it sags by a hundredth of its length and lies still.
constexpr double regularization = 1e-3;

}  // namespace

/// Whether a way along joints that hang together leads back to where it began, but for several between the
/// same two. What does not move is one place. A tree has one tie less than places.
template <class IsMoved>
bool PbdBodies::closes_loop(std::span<const Joint> joints, IsMoved&& is_moved) const {
  std::vector<Index2> ties;
  std::vector<Index> places;
  const auto place = [&](Index body) { return is_moved(body) ? body : -1; };
  for (const Joint& joint : joints) {
    const Index a = place(joint.a), b = place(joint.b);
    if (a != b) ties.push_back(Index2(std::min(a, b), std::max(a, b)));
    places.push_back(a), places.push_back(b);
  }
  std::sort(ties.begin(), ties.end(), is_before), std::sort(places.begin(), places.end());
  const auto different = [](auto& of) { return std::unique(of.begin(), of.end()) - of.begin(); };
  return different(ties) >= different(places);
}

/// What is wrong, by how much it changes with what: (J, C) at where bodies are now.
auto PbdBodies::state_of(const Pbd::Model& model, const Joint& joint, const PbdParticles& p,
                         double scale) const -> JointState {
  JointState out;
  if (joint.hold >= 0) {
    const Pbd::Hold& hold = model.holds[std::size_t(joint.hold)];
    const double soft = scale * double(hold.compliance);
    out.wrong = -(place_of(hold.a, p) - place_of(hold.b, p) + soft * multipliers_[std::size_t(joint.hold)]);
    out.diagonal = soft * M3::Identity();
    out.turn_a = -cross_of(arm_of(hold.a));
    if (joint.b >= 0) out.turn_b = cross_of(arm_of(hold.b));
    return out;
  }
  const Pbd::Alignment& alignment = model.alignments[std::size_t(joint.alignment)];
  const Misalignment now = misalignment(alignment);
  out.wrong = now.wrong;
  out.turn_a = M3::Identity();
  if (alignment.about_axis) {
    // Nothing is asked about the axis; a row of its own says so.
    const M3 along = now.axis * now.axis.transpose();
    out.turn_a -= along;
    double answer = bodies_[std::size_t(joint.a)].inverse_inertia.trace();
    if (joint.b >= 0) answer += bodies_[std::size_t(joint.b)].inverse_inertia.trace();
    out.diagonal = answer * along;
  }
  if (joint.b >= 0) out.turn_b = -out.turn_a;
  return out;
}

/// Mechanisms: what hangs together by joints of bodies that forces move.
void PbdBodies::find_joints(const Pbd::Model& model, std::vector<Index>& singles) {
  mechanisms_.clear(), loose_alignments_.clear();
  const auto is_moved = [&](Index body) {
    return body >= 0 && (std::size_t(body) >= own_ || !model.bodies[std::size_t(body)].is_led);
  };
  std::vector<Joint> joints;
  for (std::size_t k = 0; k < model.holds.size(); ++k) {
    const Pbd::Hold& hold = model.holds[k];
    if (hold.length == 0 && hold.a.body >= 0 && hold.b.particle < 0)
      joints.push_back({Index(k), -1, hold.a.body, hold.b.body});
  }
  for (std::size_t k = 0; k < model.alignments.size(); ++k)
    joints.push_back({-1, Index(k), model.alignments[k].a, model.alignments[k].b});
  if (joints.empty()) return;
  DisjointSets sets(bodies_.size());
  for (const Joint& joint : joints)
    if (is_moved(joint.a) && is_moved(joint.b)) sets.join(joint.a, joint.b);
  const auto of = [&](const Joint& joint) {
    return sets.find(is_moved(joint.a) || joint.b < 0 ? joint.a : joint.b);
  };
  std::stable_sort(joints.begin(), joints.end(),
                   [&](const Joint& a, const Joint& b) { return of(a) < of(b); });
  std::vector<std::uint8_t> is_solved(model.holds.size(), 0);
  std::vector<std::vector<Index>> at(bodies_.size());  // joints of each body, in a mechanism
  for (std::size_t first = 0, end = 0; first < joints.size(); first = end) {
    while (end < joints.size() && of(joints[end]) == of(joints[first])) ++end;
    Mechanism mechanism;
    mechanism.softened =
        closes_loop(std::span(joints).subspan(first, end - first), is_moved) ? 1 + regularization : 1;
    mechanism.joints.assign(joints.begin() + std::ptrdiff_t(first), joints.begin() + std::ptrdiff_t(end));
    std::vector<Index> moved;
    for (std::size_t j = 0; j < mechanism.joints.size(); ++j)
      for (const Index body : {mechanism.joints[j].a, mechanism.joints[j].b})
        if (is_moved(body)) at[std::size_t(body)].push_back(Index(j)), moved.push_back(body);
    std::sort(moved.begin(), moved.end());
    moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
    std::vector<Index2> positions;
    for (std::size_t j = 0; j < mechanism.joints.size(); ++j)
      for (Index r = 0; r < 3; ++r)
        for (Index c = 0; c <= r; ++c) positions.push_back(Index2(3 * Index(j) + r, 3 * Index(j) + c));
    // Rows of a body's joints in pairs; a hub of many would fill by their square.
    std::size_t pairs = 0;
    for (const Index body : moved) pairs += at[std::size_t(body)].size() * at[std::size_t(body)].size();
    bool is_small = 9 * pairs <= std::max(2 * least_fill, most_fill * 3 * mechanism.joints.size());
    for (const Index body : moved) {
      const std::vector<Index> on = std::exchange(at[std::size_t(body)], {});
      for (std::size_t x = 0; is_small && x < on.size(); ++x)
        for (std::size_t y = 0; y < x; ++y) {
          mechanism.couplings.push_back({body, on[x], on[y]});
          for (Index r = 0; r < 3; ++r)
            for (Index c = 0; c < 3; ++c) positions.push_back(Index2(3 * on[x] + r, 3 * on[y] + c));
        }
    }
    mechanism.bodies = std::move(moved);
    if (is_small && !mechanism.bodies.empty()) {
      const auto rows = Index(3 * mechanism.joints.size());
      mechanism.matrix.analyze(rows, positions);
      mechanism.values.resize(positions.size()), mechanism.right.resize(std::size_t(rows));
      mechanism.states.resize(mechanism.joints.size());
      is_small = mechanism.matrix.fill() <= std::max(least_fill, most_fill * std::size_t(rows));
    }
    if (is_small) {
      for (const Joint& joint : mechanism.joints)
        if (joint.hold >= 0) is_solved[std::size_t(joint.hold)] = 1;
      if (!mechanism.bodies.empty()) mechanisms_.push_back(std::move(mechanism));
    } else {
      for (const Joint& joint : mechanism.joints)
        if (joint.alignment >= 0) loose_alignments_.push_back(joint.alignment);
    }
  }
  std::erase_if(singles, [&](Index k) { return is_solved[std::size_t(k)] != 0; });
  joint_way_.resize(bodies_.size()), joint_turn_.resize(bodies_.size());
}

void PbdBodies::hold_joints(const Pbd::Model& model, Mechanism& m, const PbdParticles& p, double scale) {
  for (int step = 0; step < most_steps; ++step) {
    std::size_t k = 0;
    for (std::size_t j = 0; j < m.joints.size(); ++j) {
      const Joint& joint = m.joints[j];
      JointState& state = m.states[j];
      state = state_of(model, joint, p, scale);
      M3 block = state.diagonal;
      const auto add = [&](Index body, const M3& turn) {
        if (body < 0) return;
        const Body& b = bodies_[std::size_t(body)];
        if (joint.hold >= 0) block += b.inverse_mass * M3::Identity();
        block += turn * b.inverse_inertia * turn.transpose();
      };
      add(joint.a, state.turn_a), add(joint.b, state.turn_b);
      for (int r = 0; r < 3; ++r) {
        for (int c = 0; c <= r; ++c) m.values[k++] = r == c ? m.softened * block(r, c) : block(r, c);
        m.right[3 * j + std::size_t(r)] = state.wrong[r];
      }
    }
    for (const Coupling& coupling : m.couplings) {
      const Joint &x = m.joints[std::size_t(coupling.x)], &y = m.joints[std::size_t(coupling.y)];
      const JointState &of_x = m.states[std::size_t(coupling.x)], &of_y = m.states[std::size_t(coupling.y)];
      const Body& body = bodies_[std::size_t(coupling.body)];
      const bool a_of_x = x.a == coupling.body, a_of_y = y.a == coupling.body;
      M3 block = (a_of_x ? of_x.turn_a : of_x.turn_b) * body.inverse_inertia *
                 (a_of_y ? of_y.turn_a : of_y.turn_b).transpose();
      if (x.hold >= 0 && y.hold >= 0)
        block += (a_of_x == a_of_y ? body.inverse_mass : -body.inverse_mass) * M3::Identity();
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) m.values[k++] = block(r, c);
    }
    m.matrix.factorize(m.values);
    m.matrix.solve(m.right);
    for (const Index body : m.bodies)
      joint_way_[std::size_t(body)].setZero(), joint_turn_[std::size_t(body)].setZero();
    for (std::size_t j = 0; j < m.joints.size(); ++j) {
      const Joint& joint = m.joints[j];
      const D3 impulse(m.right[3 * j], m.right[3 * j + 1], m.right[3 * j + 2]);
      if (!impulse.allFinite()) return;
      if (joint.hold >= 0) {
        multipliers_[std::size_t(joint.hold)] += impulse;
        joint_way_[std::size_t(joint.a)] += impulse;
        if (joint.b >= 0) joint_way_[std::size_t(joint.b)] -= impulse;
      }
      joint_turn_[std::size_t(joint.a)] += m.states[j].turn_a.transpose() * impulse;
      if (joint.b >= 0) joint_turn_[std::size_t(joint.b)] += m.states[j].turn_b.transpose() * impulse;
    }
    double most = 0;
    for (const Index i : m.bodies) {
      const D3 by = bodies_[std::size_t(i)].inverse_inertia * joint_turn_[std::size_t(i)];
      most = std::max(most, by.squaredNorm());
      move(i, joint_way_[std::size_t(i)], by);
    }
    if (!(most > settled * settled)) return;
  }
}

}  // namespace plenum::inline PLENUM_ABI
