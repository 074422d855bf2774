// Impulses of a pile at rest, against the direct solution of its complementarity problem.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "plenum/linear/lemke.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum { namespace {

using rigid::BodySpec;
using rigid::Form;
using rigid::Motion;
using Vec = Vector3<double>;

/// A frictionless bin with balls of many sizes above it: such packings have as many contacts as degrees of
/// freedom (Moukarzel 1998, "Isostatic phase transition and instability in stiff granular materials"), so
/// that their impulses are unique.
rigid::Spec balls_in_a_bin(int balls, unsigned seed) {
  rigid::Spec spec;
  const auto wall = [&](const Vec3& half_extents, const Vec3& position) {
    BodySpec body;
    body.motion = Motion::fixed;
    body.shapes[0].half_extents = half_extents;
    body.position = position;
    body.friction = 0;
    spec.bodies.push_back(body);
  };
  wall(Vec3(2, Real(0.5), 2), Vec3(0, Real(-0.5), 0));
  for (const Real side : {Real(-1), Real(1)}) {
    wall(Vec3(Real(0.5), 3, 2), Vec3(side * Real(1.05), 3, 0));
    wall(Vec3(2, 3, Real(0.5)), Vec3(0, 3, side * Real(1.05)));
  }
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int k = 0; k < balls; ++k) {
    BodySpec body;
    body.shapes[0].shape = Form::sphere;
    body.shapes[0].radius = static_cast<Real>(0.2 + 0.05 * uniform(random));
    body.position = Vec3(static_cast<Real>(0.25 * uniform(random)), static_cast<Real>(0.3 + 0.55 * k),
                         static_cast<Real>(0.25 * uniform(random)));
    body.friction = 0;
    spec.bodies.push_back(body);
  }
  return spec;
}

/// Lets a pile of 14 balls come to rest and compares the impulses that hold it. false if there are many that
/// would.
bool compare_with_the_direct_solution(unsigned seed) {
  const rigid::Spec spec = balls_in_a_bin(14, seed);
  Rigid::Model model;
  Rigid::State state;
  Rigid::Params params;
  Rigid::Workspace workspace;
  Rigid::build(spec, model, state);
  params.linear_damping = Real(0.5);
  params.sleeping = false;  // the last step is looked at
  constexpr double dt = 1.0 / 60;
  for (int step = 0; step < 2400; ++step) Rigid::step(model, state, params, workspace, Real(dt));
  const auto& x = state.frames.x;
  const auto is_ball = [&](Index body) { return model.motion[std::size_t(body)] == Motion::dynamic; };

  // J from the balls' centres alone, and what the solver says of each contact.
  std::vector<Eigen::RowVectorXd> rows;
  std::vector<double> impulse;
  const auto n = static_cast<Eigen::Index>(x.size());
  for (std::size_t k = 0; k < state.contacts.pair.size(); ++k) {
    const Index a = model.colliders[std::size_t(state.contacts.pair[k][0])].body,
                b = model.colliders[std::size_t(state.contacts.pair[k][1])].body;
    Vec normal;  // from a to b
    double gap = 0;
    const auto radius = [&](Index body) { return double(spec.bodies[std::size_t(body)].shapes[0].radius); };
    if (is_ball(a) && is_ball(b)) {
      normal = (x[std::size_t(b)] - x[std::size_t(a)]).cast<double>();
      gap = normal.norm() - radius(a) - radius(b);
      normal.normalize();
    } else {
      const BodySpec& wall = spec.bodies[std::size_t(a)];
      const Vec from = (x[std::size_t(b)] - wall.position).cast<double>();
      const Vec beyond = from.cwiseAbs() - wall.shapes[0].half_extents.cast<double>();
      Eigen::Index axis = 0;
      gap = beyond.maxCoeff(&axis) - radius(b);
      normal = Vec::Unit(axis) * (from[axis] > 0 ? 1 : -1);
    }
    if (gap > 1e-3) continue;
    Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(3 * n);
    if (is_ball(a)) row.segment<3>(3 * a) = -normal.transpose();
    if (is_ball(b)) row.segment<3>(3 * b) = normal.transpose();
    rows.push_back(row);
    impulse.push_back(double(state.contacts.impulse[k][0]));
  }
  EXPECT_GE(rows.size(), 28u);
  const auto m = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixXd j(m, 3 * n);
  for (Eigen::Index r = 0; r < m; ++r) j.row(r) = rows[std::size_t(r)];
  Eigen::VectorXd inverse_mass(3 * n), fall = Eigen::VectorXd::Zero(3 * n);
  double weight = 0;  // [N s] of all, in a sub-step
  for (Eigen::Index i = 0; i < n; ++i) {
    inverse_mass.segment<3>(3 * i).setConstant(double(state.frames.inverse_mass[std::size_t(i)]));
    if (!is_ball(Index(i))) continue;
    fall[3 * i + 1] = -9.81 * dt / params.substeps;
    weight += 9.81 * dt / params.substeps / inverse_mass[3 * i];
  }
  Eigen::VectorXd expected;
  EXPECT_TRUE(lemke(j * inverse_mass.asDiagonal() * j.transpose(), j * fall, expected).solved);
  // They are unique where the rows that press are independent (Cottle, Pang & Stone 1992, "The linear
  // complementarity problem", theorem 3.1.7: the velocities are in any case).
  Eigen::MatrixXd pressing(0, 3 * n);
  for (Eigen::Index r = 0; r < m; ++r)
    if (expected[r] > 1e-6 * weight || impulse[std::size_t(r)] > 1e-6 * weight) {
      pressing.conservativeResize(pressing.rows() + 1, Eigen::NoChange);
      pressing.row(pressing.rows() - 1) = j.row(r);
    }
  const Eigen::VectorXd singular = pressing.jacobiSvd().singularValues();
  if (pressing.rows() > pressing.cols() || singular.minCoeff() < 1e-3 * singular.maxCoeff()) return false;
  double worst = 0;
  for (Eigen::Index r = 0; r < m; ++r)
    worst = std::max(worst, std::abs(expected[r] - impulse[std::size_t(r)]));
  // Impulses differ by what speeds are left, of which 1 % of g h would change a frame's picture by a
  // micrometre.
  EXPECT_LT(worst, 0.01 * weight);
  return true;
}

TEST(RigidComplementarity, AFrictionlessPileCarriesTheImpulsesOfTheDirectSolution) {
  int compared = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    compared += compare_with_the_direct_solution(seed);
  }
  EXPECT_GE(compared, 3);
}

}  // namespace
}  // namespace plenum
