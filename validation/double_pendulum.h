#pragma once
// How errors grow in a planar double pendulum: point masses of 1 kg on massless rods of 1 m.
#include <algorithm>
#include <array>
#include <cmath>

#include "rounding.h"

namespace plenum::validation {

/// By how much errors in an angle [rad] and in a rate [rad/s] made on the way may have grown in an angle.
struct Growth {
  double of_angle = 0, of_rate = 0;  ///< rad/rad, rad per rad/s
};

/// The pendulum in its angles, by the classical Runge-Kutta method in double.
class DoublePendulum {
 public:
  using Vector = std::array<double, 4>;  ///< theta1, theta2, omega1, omega2

  explicit DoublePendulum(const Vector& start) : y(start) {}

  void advance(double time) {
    const int steps = static_cast<int>(std::lround(time / 1e-3));
    for (int k = 0; k < steps; ++k) {
      const double h = time / steps;
      const Vector k1 = rate(y), k2 = rate(sum(y, h / 2, k1)), k3 = rate(sum(y, h / 2, k2)),
                   k4 = rate(sum(y, h, k3));
      for (std::size_t i = 0; i < 4; ++i) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
  }

  /// From the start until `time` [s]: the largest sum over the two angles, or the two rates, disturbed at any
  /// of `moments` times before, of the changes in the worse of both angles. By differences.
  static Growth growth(const Vector& start, double time, int moments) {
    Growth worst;
    for_each_moment(start, time, moments, [&](const Vector&, const Changes& change) {
      for (std::size_t i = 0; i < 2; ++i) {
        worst.of_angle = std::max(worst.of_angle, std::abs(change[0][i]) + std::abs(change[1][i]));
        worst.of_rate = std::max(worst.of_rate, std::abs(change[2][i]) + std::abs(change[3][i]));
      }
    });
    return worst;
  }

  /// What rounding in `steps` steps leaves in each of y after `time` [s], by numbers with `epsilon`. Every
  /// step rounds positions, up to 1 m and 2 m from the pivot, and the speeds of that moment, and so angles
  /// and rates of rods of 1 m by as much; what a step did has grown until the end by what the pendulum makes
  /// of it. The errors of the steps are independent: their squares add up, as rounding_of() has it.
  static Vector rounding(const Vector& start, double time, int steps, double epsilon) {
    constexpr int moments = 20;
    Vector squares{};
    for_each_moment(start, time, moments, [&](const Vector& at, const Changes& change) {
      const double first = std::abs(at[2]), second = first + std::abs(at[3]);
      const Vector size = {1, 2, first, second};
      for (std::size_t d = 0; d < 4; ++d)
        for (std::size_t i = 0; i < 4; ++i) squares[i] += std::pow(size[d] * change[d][i], 2) / moments;
    });
    for (double& s : squares) s = rounding_of(steps, epsilon) * std::sqrt(s);
    return squares;
  }

  Vector y;

 private:
  using Changes = std::array<Vector, 4>;  ///< [disturbed][result]

  /// use(y, changes) at each of `moments` times before `time` [s]: what becomes of little disturbances there.
  template <class Use>
  static void for_each_moment(const Vector& start, double time, int moments, const Use& use) {
    DoublePendulum before(start);
    for (int m = 0; m < moments; ++m) {
      DoublePendulum plain = before;
      plain.advance(time * (moments - m) / moments);
      Changes change;
      for (std::size_t d = 0; d < 4; ++d) {
        constexpr double little = 1e-6;
        DoublePendulum disturbed = before;
        disturbed.y[d] += little;
        disturbed.advance(time * (moments - m) / moments);
        for (std::size_t i = 0; i < 4; ++i) change[d][i] = (disturbed.y[i] - plain.y[i]) / little;
      }
      use(before.y, change);
      before.advance(time / moments);
    }
  }
  static Vector sum(Vector a, double h, const Vector& b) {
    for (std::size_t i = 0; i < 4; ++i) a[i] += h * b[i];
    return a;
  }
  /// From the Lagrangian, e.g. Landau & Lifshitz, "Mechanics", section 5, problem 1.
  static Vector rate(const Vector& y) {
    constexpr double g = 9.81;
    const double s = std::sin(y[0] - y[1]), c = std::cos(y[0] - y[1]), below = 2 - c * c;
    const double push1 = -s * y[3] * y[3] - 2 * g * std::sin(y[0]);
    const double push2 = s * y[2] * y[2] - g * std::sin(y[1]);
    return {y[2], y[3], (push1 - c * push2) / below, (2 * push2 - c * push1) / below};
  }
};

}  // namespace plenum::validation
