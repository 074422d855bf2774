#pragma once
// Motions that the tests of the integrators follow, and the loop that does.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "plenum/integrate/motion.h"

namespace plenum {

template <class T>
constexpr double epsilon = double(std::numeric_limits<T>::epsilon());

/// x'' = -omega^2 x - drag v.
template <class T>
auto oscillator(double omega = 1, double drag = 0) {
  return linear_problem<T>(omega * omega, drag);
}

/// x'' = -sin x.
template <class T>
auto pendulum() {
  return scalar_problem<T>([](double, T x, T) { return -std::sin(x); },
                           [](double, T x, T) { return -std::cos(x); }, [](double, T, T) { return T(0); });
}

/// Advances x'' = a by `steps` steps of any method of the table, reporting (x, v) at whole steps.
template <class T, class Problem>
void advance(Integrator method, Problem problem, double h, int steps, std::span<T> x, std::span<T> v,
             const std::function<void(int)>& at_step = {}) {
  Motion<T, Problem> motion(method, problem, 0, h, x, v);
  for (int i = 1; i <= steps; ++i) {
    EXPECT_TRUE(motion.step().converged) << info(method).name;
    if (!at_step && i < steps) continue;
    copy(motion.x(), x);
    copy(motion.v(), v);
    if (at_step) at_step(i);
  }
}

}  // namespace plenum
