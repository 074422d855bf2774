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

/// x'' = -omega^2 x - drag v for one particle on a line, as every concept asks for it.
template <class T>
struct Oscillator {
  double omega = 1, drag = 0;
  void a(double, std::span<const T> x, std::span<const T> v, std::span<T> out) const {
    out[0] = static_cast<T>(-omega * omega) * x[0] - static_cast<T>(drag) * v[0];
  }
  bool solve(double, std::span<const T>, std::span<const T>, double cx, double cv, std::span<const T> r,
             std::span<T> out) const {
    out[0] = static_cast<T>(r[0] / (1 + cx * omega * omega + cv * drag));
    return true;
  }
  void drag_product(double, std::span<const T>, std::span<const T>, std::span<const T> u,
                    std::span<T> out) const {
    out[0] = static_cast<T>(-drag) * u[0];
  }
};

/// x'' = -sin x.
template <class T>
struct Pendulum {
  void a(double, std::span<const T> x, std::span<const T>, std::span<T> out) const {
    out[0] = -std::sin(x[0]);
  }
  bool solve(double, std::span<const T> x, std::span<const T>, double cx, double, std::span<const T> r,
             std::span<T> out) const {
    out[0] = static_cast<T>(r[0] / (1 + cx * std::cos(x[0])));
    return true;
  }
  void drag_product(double, std::span<const T>, std::span<const T>, std::span<const T>,
                    std::span<T> out) const {
    out[0] = 0;
  }
};

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
