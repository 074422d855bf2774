#include "plenum/linear/lemke.h"

#include <gtest/gtest.h>

#include <random>

#include "support/algebra.h"

namespace plenum { namespace {

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, std::mt19937& random) {
  std::normal_distribution<double> normal;
  return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); });
}

void expect_complementary(const Eigen::MatrixXd& m, const Eigen::VectorXd& q, const Eigen::VectorXd& z) {
  const Eigen::VectorXd w = m * z + q;
  const double scale = 1 + q.norm() + m.norm() * z.norm();
  EXPECT_GE(z.minCoeff(), 0);
  EXPECT_GE(w.minCoeff(), -1e-10 * scale);
  EXPECT_NEAR(z.dot(w), 0, 1e-10 * scale * (1 + z.norm()));
}

TEST(Lemke, FindsTheOneSolutionOfADefiniteProblem) {
  std::mt19937 random(3);
  for (const Eigen::Index n : {1, 2, 5, 20, 60})
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Eigen::MatrixXd j = random_matrix(n, n + 2, random);
      const Eigen::MatrixXd m = j * j.transpose();
      // A solution made beforehand: some of z and the others of w are positive.
      Eigen::VectorXd z = random_matrix(n, 1, random), w = (-z).cwiseMax(0);
      z = z.cwiseMax(0);
      Eigen::VectorXd found;
      const LemkeReport report = lemke(m, w - m * z, found);
      ASSERT_TRUE(report.solved);
      const double condition = plenum_test::condition_number(m);
      EXPECT_LT((found - z).norm(), 1e-12 * condition * (1 + z.norm())) << n;
    }
}

TEST(Lemke, SolvesRedundantContacts) {
  // More rows than degrees of freedom, as a box on four corners: M is singular, z is not unique, M z is.
  std::mt19937 random(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Eigen::MatrixXd j = random_matrix(12, 6, random);
    const Eigen::MatrixXd m = j * j.transpose();
    const Eigen::VectorXd q = j * random_matrix(6, 1, random);  // consistent: impulses can stop it
    Eigen::VectorXd z;
    ASSERT_TRUE(lemke(m, q, z).solved);
    expect_complementary(m, q, z);
  }
  // Exact ties throughout: a plate on four equal legs, pressed down.
  Eigen::MatrixXd plate(4, 3);
  plate << 1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1;
  Eigen::VectorXd z;
  const Eigen::MatrixXd m = plate * plate.transpose();
  const Eigen::VectorXd q = -Eigen::VectorXd::Ones(4);
  ASSERT_TRUE(lemke(m, q, z).solved);
  expect_complementary(m, q, z);
  EXPECT_NEAR(z.sum(), 1, 1e-12);
}

TEST(Lemke, SurvivesTiesThatRoundingBreaks) {
  // Many times the same few directions, of bodies whose masses differ by a thousand.
  std::mt19937 random(5);
  std::uniform_int_distribution<int> pick(-1, 1);
  int solved = 0;
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Eigen::MatrixXd j = Eigen::MatrixXd::NullaryExpr(40, 8, [&] { return 0.3 * pick(random); });
    Eigen::VectorXd inverse_mass(8);
    inverse_mass << 1, 1, 1, 1e-3, 1e-3, 3, 0.7, 0.1;
    const Eigen::MatrixXd m = j * inverse_mass.asDiagonal() * j.transpose();
    const Eigen::VectorXd q = j * random_matrix(8, 1, random);
    Eigen::VectorXd z;
    if (!lemke(m, q, z).solved) continue;
    ++solved;
    const Eigen::VectorXd w = m * z + q;
    EXPECT_GE(z.minCoeff(), 0);
    EXPECT_LT(w.cwiseMin(z).cwiseAbs().maxCoeff(), 1e-5 * (1 + z.maxCoeff())) << repeat;
  }
  EXPECT_EQ(solved, 100);
}

TEST(Lemke, SolvesAFrictionProblemThatIsNotSymmetric) {
  // Stewart & Trinkle 1996: a unit mass at 3 m/s along x presses on a floor with mu = 0.5 and an impulse of 2
  // downwards. Friction of 1 leaves it 2 m/s. Unknown: normal impulse, friction along +x and -x, slip speed.
  constexpr double mu = 0.5, down = 2, along = 3;
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(4, 4);
  m(0, 0) = 1;
  m.block(1, 1, 2, 2) << 1, -1, -1, 1;
  m(1, 3) = m(2, 3) = 1;
  m(3, 0) = mu, m(3, 1) = m(3, 2) = -1;
  Eigen::VectorXd q(4), z;
  q << -down, along, -along, 0;
  ASSERT_TRUE(lemke(m, q, z).solved);
  EXPECT_NEAR(z[0], down, 1e-12);
  EXPECT_NEAR(z[1] - z[2], -mu * down, 1e-12);
  EXPECT_NEAR(z[3], along - mu * down, 1e-12);
}

TEST(Lemke, SaysWhenThereIsNoSolution) {
  Eigen::MatrixXd m(2, 2);
  m << 0, 0, 0, 1;
  Eigen::VectorXd q(2), z;
  q << -1, 1;  // the first row cannot be lifted
  EXPECT_FALSE(lemke(m, q, z).solved);
  EXPECT_EQ(z.norm(), 0);
  EXPECT_TRUE(lemke(m, Eigen::VectorXd::Ones(2), z).solved);
  EXPECT_TRUE(lemke(Eigen::MatrixXd(0, 0), Eigen::VectorXd(0), z).solved);
}

}  // namespace
}  // namespace plenum
