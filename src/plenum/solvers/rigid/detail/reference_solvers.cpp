#include "plenum/solvers/rigid/detail/reference_solvers.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "plenum/linear/lemke.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

constexpr int sides = 8;
constexpr int turns = 3;
constexpr int instead = 1000;  ///< iterations of Gauss-Seidel

/// Rows and cones of one island.
struct Part {
  std::vector<Index> rows, cones;
};

double bound_of(const VelocityProblem& problem, const FrictionCone& cone) {
  double pressed = 0;
  for (Index k = cone.first; k < cone.first + cone.count; ++k) pressed += problem.rows[k].impulse;
  return cone.coefficient * std::max(pressed, 0.0);
}

void change_to(VelocityProblem& problem, VelocityRow& row, double impulse) {
  problem.push(row, impulse - row.impulse);
  row.impulse = impulse;
}

void relax(VelocityProblem& problem, VelocityRow& row, double lower, double upper) {
  const double k = problem.response(row) + row.softness;
  if (!(k > 0)) return;
  const double wanted = row.impulse + (row.target - problem.rate(row) - row.softness * row.impulse) / k;
  change_to(problem, row, std::clamp(wanted, lower, upper));
}
void relax(VelocityProblem& problem, VelocityRow& row) {
  relax(problem, row, row.lower, row.upper);
}

void relax(VelocityProblem& problem, const FrictionCone& cone) {
  const double most = bound_of(problem, cone);
  if (cone.size == 1) return relax(problem, problem.rows[cone.row], -most, most);
  VelocityRow &one = problem.rows[cone.row], &two = problem.rows[cone.row + 1];
  const RowBody &a = problem.bodies[one.a], &b = problem.bodies[one.b];
  const double m = a.inverse_mass + b.inverse_mass;
  Eigen::Matrix2d k;
  const double coupled = m * one.n.dot(two.n) + one.on_a.dot(a.inverse_inertia * two.on_a) +
                         one.on_b.dot(b.inverse_inertia * two.on_b);
  k << problem.response(one), coupled, coupled, problem.response(two);
  const double stiffest = k.trace();
  if (!(stiffest > 0)) return;
  const Eigen::Vector2d now(one.impulse, two.impulse),
      slip(problem.rate(one) - one.target, problem.rate(two) - two.target);
  // Sticking, if the cone allows; else a step against the slip and back onto the cone, which ends where the
  // slip is normal to it.
  Eigen::Vector2d next = now - (k + 1e-12 * stiffest * Eigen::Matrix2d::Identity()).inverse() * slip;
  if (!(next.norm() <= most)) {
    next = now - slip / stiffest;
    if (const double length = next.norm(); length > most) next *= most / length;
  }
  change_to(problem, one, next[0]);
  change_to(problem, two, next[1]);
}

void relax(VelocityProblem& problem, const Part& part, int iterations) {
  for (const Index k : part.rows) problem.push(problem.rows[k], problem.rows[k].impulse);
  for (int it = 0; it < iterations; ++it) {
    for (const Index k : part.rows)
      if (k < problem.num_joint_rows) relax(problem, problem.rows[k]);
    for (const Index c : part.cones) relax(problem, problem.cones[c]);
    // What keeps bodies apart has the last word.
    for (const Index k : part.rows)
      if (k >= problem.num_joint_rows && k < problem.num_plain) relax(problem, problem.rows[k]);
  }
}

std::vector<Part> islands_of(const VelocityProblem& problem) {
  std::vector<Index> parent(problem.bodies.size());
  std::iota(parent.begin(), parent.end(), Index(0));
  const auto root_of = [&](Index i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  const auto home = [&](const VelocityRow& row) {
    return root_of(problem.bodies[row.a].moves() ? row.a : row.b);
  };
  for (const VelocityRow& row : problem.rows) {
    if (!problem.bodies[row.a].moves() || !problem.bodies[row.b].moves()) continue;
    const Index a = root_of(row.a), b = root_of(row.b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<Index> part_of(problem.bodies.size(), -1);
  std::vector<Part> parts;
  const auto part = [&](const VelocityRow& row) -> Part& {
    Index& at = part_of[home(row)];
    if (at < 0) at = static_cast<Index>(parts.size()), parts.emplace_back();
    return parts[at];
  };
  for (std::size_t k = 0; k < problem.rows.size(); ++k)
    part(problem.rows[k]).rows.push_back(static_cast<Index>(k));
  for (std::size_t c = 0; c < problem.cones.size(); ++c)
    part(problem.rows[problem.cones[c].row]).cones.push_back(static_cast<Index>(c));
  return parts;
}

bool is_free(const VelocityRow& row) {
  return std::isinf(row.lower) && std::isinf(row.upper);
}

/// Sides of a bounded pair of rows, or of a single one: impulses along directions in the rows, all at least
/// 0, and their sum at most a bound.
struct Group {
  Index row;
  Index cone;    ///< -1: a drive
  double start;  ///< [rad] of the first side of a cone of two rows
  bool round;    ///< whether it is such a cone
  int count() const { return round ? sides : 2; }
};

/// Impulses of a part's rows; false if there are none.
bool solve(VelocityProblem& problem, const Part& part) {
  // Places of the rows here: without bounds first.
  std::vector<Index> equal, bounded;
  std::vector<bool> in_cone(problem.rows.size(), false);
  for (const Index c : part.cones)
    for (Index r = 0; r < problem.cones[c].size; ++r) in_cone[problem.cones[c].row + r] = true;
  for (const Index k : part.rows) (is_free(problem.rows[k]) && !in_cone[k] ? equal : bounded).push_back(k);
  std::vector<Index> order = equal;
  order.insert(order.end(), bounded.begin(), bounded.end());
  const auto n = static_cast<Eigen::Index>(order.size()), e = static_cast<Eigen::Index>(equal.size());
  std::vector<Index> place(problem.rows.size(), -1);
  for (Eigen::Index k = 0; k < n; ++k) place[order[k]] = static_cast<Index>(k);

  Eigen::MatrixXd a(n, n);
  Eigen::VectorXd q(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const VelocityRow& row = problem.rows[order[i]];
    q[i] = problem.rate(row) - row.target;
    for (Eigen::Index j = 0; j < n; ++j) {
      const VelocityRow& other = problem.rows[order[j]];
      double sum = i == j ? row.softness : 0;
      const auto add = [&](Index body, double sign, const Vector3<double>& on, const Vector3<double>& by) {
        const RowBody& k = problem.bodies[body];
        sum += sign * (k.inverse_mass * row.n.dot(other.n) + on.dot(k.inverse_inertia * by));
      };
      if (row.a == other.a) add(row.a, 1, row.on_a, other.on_a);
      if (row.b == other.b) add(row.b, 1, row.on_b, other.on_b);
      if (row.a == other.b) add(row.a, -1, row.on_a, other.on_b);
      if (row.b == other.a) add(row.b, -1, row.on_b, other.on_a);
      a(i, j) = sum;
    }
  }
  // Rows without bounds are eliminated; where they depend on each other, the smallest impulses act.
  const Eigen::Index m = n - e;
  Eigen::MatrixXd inner = a.topLeftCorner(e, e);
  inner.diagonal() *= 1 + 1e-10;
  const Eigen::LDLT<Eigen::MatrixXd> factors(inner);
  Eigen::MatrixXd held = Eigen::MatrixXd::Zero(e, m);
  Eigen::VectorXd alone = Eigen::VectorXd::Zero(e);
  if (e > 0) alone = factors.solve(q.head(e));
  if (e > 0 && m > 0) held = factors.solve(a.topRightCorner(e, m));
  Eigen::MatrixXd schur = a.bottomRightCorner(m, m);
  Eigen::VectorXd rest = q.tail(m);
  if (e > 0 && m > 0) {
    schur -= a.bottomLeftCorner(m, e) * held;
    rest -= a.bottomLeftCorner(m, e) * alone;
  }

  std::vector<Index> pushing;  // rows with one bound
  std::vector<Group> groups;
  for (const Index k : bounded) {
    if (in_cone[k]) continue;
    if (problem.rows[k].lower == 0)
      pushing.push_back(k);
    else
      groups.push_back({k, -1, 0, false});
  }
  for (const Index c : part.cones) groups.push_back({problem.cones[c].row, c, 0, problem.cones[c].size == 2});
  Eigen::VectorXd impulse = Eigen::VectorXd::Zero(m);
  const auto u = static_cast<Eigen::Index>(pushing.size()), g = static_cast<Eigen::Index>(groups.size());
  for (int turn = 0; m > 0 && turn < turns; ++turn) {
    Eigen::Index b = 0;
    for (const Group& group : groups) b += group.count();
    if (u + b + g > most_unknowns) return false;
    Eigen::MatrixXd along = Eigen::MatrixXd::Zero(m, u + b);  // impulses of the rows for each unknown
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(u + b + g, u + b + g);
    Eigen::VectorXd vector = Eigen::VectorXd::Zero(u + b + g);
    for (Eigen::Index k = 0; k < u; ++k) along(place[pushing[k]] - e, k) = 1;
    Eigen::Index at = u;
    for (Eigen::Index k = 0; k < g; ++k) {
      const Group& group = groups[k];
      const Eigen::Index row = place[group.row] - e, bound = u + b + k;
      const int count = group.count();
      for (int s = 0; s < count; ++s, ++at) {
        const double angle = group.start + 2 * std::numbers::pi * s / count;
        along(row, at) = std::cos(angle);
        if (group.round) along(row + 1, at) = std::sin(angle);
        matrix(at, bound) = 1, matrix(bound, at) = -1;
      }
      if (group.cone < 0) {
        vector[bound] = problem.rows[group.row].upper;
        continue;
      }
      const FrictionCone& cone = problem.cones[group.cone];
      for (Index p = cone.first; p < cone.first + cone.count; ++p) {
        const auto here = std::find(pushing.begin(), pushing.end(), p) - pushing.begin();
        matrix(bound, here) = cone.coefficient;
      }
    }
    matrix.topLeftCorner(u + b, u + b) = along.transpose() * schur * along;
    vector.head(u + b) = along.transpose() * rest;
    Eigen::VectorXd z;
    if (!lemke(matrix, vector, z).solved) return false;
    impulse = along * z.head(u + b);
    if (turn + 1 == turns || part.cones.empty()) break;
    // A side against the slip that is left.
    const Eigen::VectorXd slip = schur * impulse + rest;
    for (Group& group : groups) {
      if (!group.round) continue;
      const Eigen::Index row = place[group.row] - e;
      if (std::hypot(slip[row], slip[row + 1]) > 1e-9) group.start = std::atan2(-slip[row + 1], -slip[row]);
    }
  }
  const Eigen::VectorXd free = m > 0 ? Eigen::VectorXd(-(alone + held * impulse)) : Eigen::VectorXd(-alone);
  for (Eigen::Index k = 0; k < n; ++k) {
    VelocityRow& row = problem.rows[order[k]];
    row.impulse = k < e ? free[k] : impulse[k - e];
    problem.push(row, row.impulse);
  }
  return true;
}

}  // namespace

void solve_by_gauss_seidel(int iterations, VelocityProblem& problem) {
  Part all;
  all.rows.resize(problem.rows.size()), all.cones.resize(problem.cones.size());
  std::iota(all.rows.begin(), all.rows.end(), Index(0));
  std::iota(all.cones.begin(), all.cones.end(), Index(0));
  relax(problem, all, iterations);
}

DirectReport solve_directly(VelocityProblem& problem) {
  DirectReport report;
  for (const Part& part : islands_of(problem)) {
    // A cone of n rows has `sides`, or 2, and a bound.
    std::size_t unknowns = part.rows.size();
    for (const Index c : part.cones)
      unknowns += std::size_t((problem.cones[c].size == 2 ? sides : 2) + 1 - problem.cones[c].size);
    report.largest = std::max(report.largest, static_cast<int>(unknowns));
    if (static_cast<int>(part.rows.size()) <= most_unknowns && solve(problem, part)) continue;
    ++report.refused;
    relax(problem, part, instead);
  }
  return report;
}

}}  // namespace plenum::PLENUM_ABI::detail
