// Shapes at rest: what their maps fit, and what they leave out.
#include "plenum/elements/shape_matching.h"

#include <gtest/gtest.h>

#include <random>

namespace plenum { namespace {

using P = Vector3<double>;

struct Points {
  std::vector<P> x;
  std::vector<double> mass;
  explicit Points(int n, bool flat = false) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> u(-1, 1);
    for (int i = 0; i < n; ++i) {
      x.push_back(P(u(random), u(random), flat ? 0.0 : u(random))), mass.push_back(1.5 + u(random));
    }
  }
};

template <int k>
Eigen::Matrix<double, 3, k> sums(const Points& rest, const MatchedShape<k>& s, std::span<const P> now) {
  Eigen::Matrix<double, 3, k> out = Eigen::Matrix<double, 3, k>::Zero();
  double total = 0;
  for (const double m : rest.mass) total += m;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::array<double, k> q = shape_coordinates<k>((rest.x[i] - s.centre) / s.size, s.means);
    for (int c = 0; c < k; ++c) out.col(c) += rest.mass[i] / total * q[std::size_t(c)] * now[i];
  }
  return out;
}

// Whatever map of its coordinates deforms a shape is found again, wherever it is.
template <int k>
void finds_its_map() {
  const Points rest(40);
  const MatchedShape<k> s = matched_shape<k>(rest.x, rest.mass);
  const Eigen::Matrix<double, 3, k> map = Eigen::Matrix<double, 3, k>::Random();
  std::vector<P> now;
  for (const P& x : rest.x) {
    const std::array<double, k> q = shape_coordinates<k>((x - s.centre) / s.size, s.means);
    now.push_back(P(7, -2, 3) + map * Eigen::Map<const Eigen::Matrix<double, k, 1>>(q.data()));
  }
  EXPECT_LT((sums<k>(rest, s, now) * s.inverse - map).norm(), 1e-11);
}
TEST(ShapeMatching, FindsTheMapThatDeformsAShape) {
  finds_its_map<3>();
  finds_its_map<9>();
}

// Of points that no map fits, the map has the least error: its gradient by every entry is zero.
TEST(ShapeMatching, FitsBest) {
  const Points rest(30);
  const MatchedShape<9> s = matched_shape<9>(rest.x, rest.mass);
  std::vector<P> now;
  for (const P& x : rest.x)
    now.push_back(x + 0.3 * P(std::sin(9 * x.y()), std::cos(7 * x.z()), std::sin(5 * x.x())));
  P centre = P::Zero();
  double total = 0;
  for (std::size_t i = 0; i < now.size(); ++i) centre += rest.mass[i] * now[i], total += rest.mass[i];
  centre /= total;
  const auto error = [&](const Eigen::Matrix<double, 3, 9>& map) {
    double sum = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::array<double, 9> q = shape_coordinates<9>((rest.x[i] - s.centre) / s.size, s.means);
      sum += rest.mass[i] *
             (centre + map * Eigen::Map<const Eigen::Matrix<double, 9, 1>>(q.data()) - now[i]).squaredNorm();
    }
    return sum;
  };
  const Eigen::Matrix<double, 3, 9> best = sums<9>(rest, s, now) * s.inverse;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 9; ++c) {
      Eigen::Matrix<double, 3, 9> more = best, less = best;
      more(r, c) += 1e-4, less(r, c) -= 1e-4;
      EXPECT_NEAR((error(more) - error(less)) / 2e-4, 0, 1e-8);
      EXPECT_GT(error(more), error(best));
    }
}

TEST(ShapeMatching, LeavesOutWhatItsPointsDoNotSpan) {
  const Points flat(20, true);
  EXPECT_LT(matched_shape<3>(flat.x, flat.mass).inverse.col(2).norm(), 1e-12);
  const Points one(1);
  EXPECT_TRUE(matched_shape<9>(one.x, one.mass).inverse.allFinite());
}

}}  // namespace plenum
