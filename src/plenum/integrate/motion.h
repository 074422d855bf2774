#pragma once
// A motion x'' = a(t, x, v) followed by any method of the table, with all that methods carry from one step to
// the next besides x and v: what tests, figures and studies compare methods by. A solver that wants one
// method calls its step.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "plenum/integrate/integrators.h"

namespace plenum::inline PLENUM_ABI {

/// x'' = a(t, x, v) of one degree of freedom, as every method of the table asks for it (SecondOrderProblem).
/// a, by_x, by_v: T(double t, T x, T v), the acceleration and its derivatives.
template <class T, class A, class ByX, class ByV>
class ScalarProblem {
 public:
  ScalarProblem(A a, ByX by_x, ByV by_v) : a_(std::move(a)), by_x_(std::move(by_x)), by_v_(std::move(by_v)) {}
  void a(double t, std::span<const T> x, std::span<const T> v, std::span<T> out) const {
    out[0] = a_(t, x[0], v[0]);
  }
  bool solve(double t, std::span<const T> x, std::span<const T> v, double cx, double cv, std::span<const T> r,
             std::span<T> out) const {
    out[0] = static_cast<T>(r[0] / (1 - cx * by_x_(t, x[0], v[0]) - cv * by_v_(t, x[0], v[0])));
    return std::isfinite(out[0]);
  }
  void drag_product(double t, std::span<const T> x, std::span<const T> v, std::span<const T> u,
                    std::span<T> out) const {
    out[0] = by_v_(t, x[0], v[0]) * u[0];
  }

 private:
  A a_;
  ByX by_x_;
  ByV by_v_;
};

/// ScalarProblem<T> with the callables' types deduced.
template <class T, class A, class ByX, class ByV>
ScalarProblem<T, A, ByX, ByV> scalar_problem(A a, ByX by_x, ByV by_v) {
  return {std::move(a), std::move(by_x), std::move(by_v)};
}
/// x'' = -stiffness x - drag v.
template <class T>
auto linear_problem(double stiffness, double drag = 0) {
  const T k = static_cast<T>(-stiffness), c = static_cast<T>(-drag);
  return scalar_problem<T>([k, c](double, T x, T v) { return k * x + c * v; },
                           [k](double, T, T) { return k; }, [c](double, T, T) { return c; });
}

/// Steps of constant size. The problem (SecondOrderProblem: a, and for implicit methods solve and
/// drag_product) is referred to and must outlive the motion. Allocates in the constructor alone, once the
/// workspace has grown.
template <class T, SecondOrderProblem<T> Problem>
class Motion {
 public:
  /// From x, v [n] at time t, in steps of h.
  Motion(Integrator method, Problem& problem, double t, double h, std::span<const T> x, std::span<const T> v)
      : method_(method), problem_(problem), form_(problem), n_(x.size()), start_(t), h_(h), y_(2 * n_) {
    std::copy(x.begin(), x.end(), y_.begin());
    std::copy(v.begin(), v.end(), y_.begin() + static_cast<std::ptrdiff_t>(n_));
    const std::span<T> at(y_);
    switch (method_) {
      case Integrator::stoermer_verlet:
        carried_.resize(n_);
        stoermer_verlet_start<T>(acceleration(), t, h, x, v, carried_, work_);
        ahead_.resize(2 * n_);
        break;
      case Integrator::leapfrog:
        carried_.assign(v.begin(), v.end());
        leapfrog_start<T>(acceleration(), t, h, x, carried_, work_);
        ahead_.resize(2 * n_);
        break;
      case Integrator::newmark:
        carried_.resize(n_);
        problem_.a(t, at.first(n_), at.last(n_), carried_);
        break;
      case Integrator::bdf2:
        carried_ = y_;
        break;
      default:
        break;
    }
  }

  double time() const { return start_ + static_cast<double>(steps_) * h_; }

  /// One step; of explicit methods the report is that of nothing to solve.
  NewtonReport step() {
    const double t = time();
    const std::span<T> y(y_), x = y.first(n_), v = y.last(n_);
    NewtonReport report;
    switch (method_) {
      case Integrator::stoermer_verlet:
        stoermer_verlet_step<T>(acceleration(), t, h_, x, carried_, work_);
        break;
      case Integrator::leapfrog:
        leapfrog_step<T>(acceleration(), t, h_, x, carried_, work_);
        break;
      case Integrator::newmark:
        report = newmark_step<T>(problem_, t, h_, x, v, carried_, work_);
        break;
      case Integrator::bdf2:  // its first step is the trapezoid's
        report = steps_ == 0 ? trapezoid_step<T>(form_, t, h_, y, work_)
                             : bdf2_step<T>(form_, t, h_, h_, y, carried_, work_);
        break;
      default:
        if (const auto solved = implicit_step<T>(method_, form_, t, h_, y, work_))
          report = *solved;
        else
          explicit_step<T>(method_, acceleration(), t, h_, x, v, work_);
    }
    ++steps_;
    return report;
  }

  /// [n], at time().
  std::span<const T> x() const { return {y_.data(), n_}; }
  /// [n], at time(). Of Stoermer's positions (x(t + h) - x(t - h)) / 2 h, of leapfrog the mean of the
  /// velocities half a step before and after; both look a step ahead, which evaluates the acceleration once
  /// more.
  std::span<const T> v() {
    const std::span<T> y(y_), x = y.first(n_), v = y.last(n_);
    if (steps_ == 0 || ahead_.empty()) return v;
    const std::span<T> next = std::span<T>(ahead_).first(n_), carried = std::span<T>(ahead_).last(n_);
    copy(std::span<const T>(x), next);
    copy(std::span<const T>(carried_), carried);
    if (method_ == Integrator::stoermer_verlet) {
      stoermer_verlet_step<T>(acceleration(), time(), h_, next, carried, work_);
      const T over = static_cast<T>(1 / (2 * h_));
      for (std::size_t k = 0; k < n_; ++k) v[k] = over * (next[k] - carried_[k]);
    } else {
      leapfrog_step<T>(acceleration(), time(), h_, next, carried, work_);
      for (std::size_t k = 0; k < n_; ++k) v[k] = (carried_[k] + carried[k]) / 2;
    }
    return v;
  }

 private:
  auto acceleration() {
    return [this](double t, std::span<const T> x, std::span<const T> v, std::span<T> out) {
      problem_.a(t, x, v, out);
    };
  }

  Integrator method_;
  Problem& problem_;
  FirstOrderForm<T, Problem> form_;
  std::size_t n_;
  double start_, h_;
  long steps_ = 0;
  std::vector<T> y_;        ///< x and v; of leapfrog and Stoermer v is filled by v()
  std::vector<T> carried_;  ///< Stoermer: x a step before; leapfrog: v half a step before; Newmark: the
                            ///< acceleration; BDF2: x and v a step before
  std::vector<T> ahead_;    ///< scratch of v()
  IntegratorWorkspace<T> work_;
};

}  // namespace plenum::inline PLENUM_ABI
