#include "plenum/integrate/projective_springs.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "plenum/base/error.h"
#include "plenum/base/parallel.h"

namespace plenum::inline PLENUM_ABI {
namespace {
constexpr std::size_t particles_per_block = 1024;

/// How far the end i of a spring has moved away from the other along its direction at the start; the
/// direction is zero where there is none.
template <class T>
struct Stroke {
  Vector3<T> direction;
  T length;
};
template <class T>
Stroke<T> stroke(std::span<const Vector3<T>> x0, std::span<const Vector3<T>> x, std::size_t i,
                 std::size_t other) {
  const Vector3<T> line = x0[i] - x0[other];
  const T l = line.norm();
  if (!(l > 0)) return {Vector3<T>::Zero(), 0};
  const Vector3<T> n = line / l;
  return {n, n.dot((x[i] - x0[i]) - (x[other] - x0[other]))};
}

}  // namespace

template <class T>
ProjectiveSprings<T>::ProjectiveSprings(std::span<const T> inverse_mass, std::span<const Index2> springs,
                                        std::span<const T> rest_length, std::span<const T> stiffness,
                                        double h, std::span<const T> damping)
    : h_(h), row_begin_(inverse_mass.size() + 1, 0), index_(inverse_mass.size(), -1) {
  const auto n = static_cast<Index>(inverse_mass.size());
  for (std::size_t s = 0; s < springs.size(); ++s) {
    for (int end = 0; end < 2; ++end)
      if (springs[s][end] < 0 || springs[s][end] >= n)
        throw Error(Problem{.key = "springs[" + std::to_string(s) + "]",
                            .what = "joins a particle that does not exist",
                            .value = std::to_string(springs[s][end]),
                            .allowed = "0 to " + std::to_string(n - 1)});
    ++row_begin_[springs[s][0] + 1], ++row_begin_[springs[s][1] + 1];
  }
  for (Index i = 0; i < n; ++i) {
    row_begin_[i + 1] += row_begin_[i];
    mass_.push_back(inverse_mass[i] > 0 ? 1 / inverse_mass[i] : T(0));
    if (inverse_mass[i] > 0) {
      index_[i] = static_cast<Index>(free_.size());
      free_.push_back(i);
    }
  }
  row_springs_.resize(2 * springs.size());
  auto next = row_begin_;
  for (std::size_t s = 0; s < springs.size(); ++s)
    for (int end = 0; end < 2; ++end)
      row_springs_[next[springs[s][end]]++] = {springs[s][1 - end], stiffness[s], rest_length[s],
                                               damping.empty() ? T(0) : damping[s]};
  damped_ = std::any_of(damping.begin(), damping.end(), [](T c) { return c > 0; });
  gradient_.resize(inverse_mass.size());
  packed_.resize(free_.size());

  std::vector<Index2> positions;
  std::vector<T> values;
  for (std::size_t k = 0; k < free_.size(); ++k) {
    positions.push_back({static_cast<Index>(k), static_cast<Index>(k)});
    values.push_back(static_cast<T>(double(mass_[free_[k]]) / (h * h)));
  }
  for (std::size_t s = 0; s < springs.size(); ++s) {
    const Index a = index_[springs[s][0]], b = index_[springs[s][1]];
    const T bound = stiffness[s] + (damping.empty() ? T(0) : static_cast<T>(double(damping[s]) / h));
    if (a >= 0) positions.push_back({a, a}), values.push_back(bound);
    if (b >= 0) positions.push_back({b, b}), values.push_back(bound);
    if (a >= 0 && b >= 0) positions.push_back({a, b}), values.push_back(-bound);
  }
  factors_.analyze(static_cast<Index>(free_.size()), positions);
  if (!factors_.factorize(values) || !factors_.positive_definite())
    throw Error(Problem{.what = "the springs' matrix is not positive definite",
                        .remedy = "give every spring a stiffness of zero or more"});
}

template <class T>
double ProjectiveSprings<T>::value(std::span<const Vector3<T>> y, std::span<const Vector3<T>> x,
                                   std::span<const Vector3<T>> x0) const {
  const bool damped = damped_ && !x0.empty();
  return ordered_sum(x.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Vector3<double> moved = x[i].template cast<double>() - y[i].template cast<double>();
      sum += 0.5 * double(mass_[i]) / (h_ * h_) * moved.squaredNorm();
      for (Index k = row_begin_[i]; k < row_begin_[i + 1]; ++k) {  // half of it counted from either end
        const Spring& s = row_springs_[k];
        const double stretch = double((x[i] - x[s.other]).norm()) - double(s.rest_length);
        sum += 0.25 * double(s.stiffness) * stretch * stretch;
        if (!damped) continue;
        const double moved = double(stroke<T>(x0, x, i, std::size_t(s.other)).length);
        sum += 0.25 * double(s.damping) / h_ * moved * moved;
      }
    }
    return sum;
  });
}

template <class T>
void ProjectiveSprings<T>::gradient(std::span<const Vector3<T>> y, std::span<const Vector3<T>> x,
                                    std::span<Vector3<T>> g, std::span<const Vector3<T>> x0) const {
  const bool damped = damped_ && !x0.empty();
  const T inverse_h = static_cast<T>(1 / h_);
  const T inverse_square = static_cast<T>(1 / (h_ * h_));
  parallel_for(x.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (index_[i] < 0) {
        g[i].setZero();
        continue;
      }
      Vector3<T> sum = (mass_[i] * inverse_square) * (x[i] - y[i]);
      for (Index k = row_begin_[i]; k < row_begin_[i + 1]; ++k) {
        const Spring& s = row_springs_[k];
        const Vector3<T> d = x[i] - x[s.other];
        const T l = d.norm();
        // k (d - nearest vector of length l0); where d has no direction any will do, and none is taken.
        if (l > 0) sum += (s.stiffness * (1 - s.rest_length / l)) * d;
        if (!damped) continue;
        const Stroke<T> moved = stroke<T>(x0, x, i, std::size_t(s.other));
        sum += (s.damping * inverse_h * moved.length) * moved.direction;
      }
      g[i] = sum;
    }
  });
}

template <class T>
void ProjectiveSprings<T>::precondition(std::span<Vector3<T>> g) {
  for (std::size_t k = 0; k < free_.size(); ++k) packed_[k] = g[free_[k]];
  if (!packed_.empty()) factors_.solve(std::span<T>(packed_[0].data(), 3 * packed_.size()), 3);
  for (std::size_t i = 0; i < g.size(); ++i)
    if (index_[i] < 0) g[i].setZero();
  for (std::size_t k = 0; k < free_.size(); ++k) g[free_[k]] = packed_[k];
}

template <class T>
ProjectiveReport ProjectiveSprings<T>::solve(std::span<const Vector3<T>> y, std::span<Vector3<T>> x,
                                             const ProjectiveOptions& options,
                                             std::span<const Vector3<T>> x0) {
  assert(y.size() == mass_.size() && x.size() == mass_.size());
  const auto norm_of = [&](auto&& item) {
    return std::sqrt(ordered_sum(x.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += item(i).template cast<double>().squaredNorm();
      return sum;
    }));
  };
  ProjectiveReport report;
  double tolerance = 0;
  while (true) {
    gradient(y, x, gradient_, x0);
    report.gradient_norm = norm_of([&](std::size_t i) -> const Vector3<T>& { return gradient_[i]; });
    if (report.iterations == 0) tolerance = options.gradient_tolerance * report.gradient_norm;
    report.converged = report.gradient_norm <= tolerance;
    if (report.converged || report.iterations >= options.max_iterations) break;
    precondition(gradient_);
    ++report.iterations;
    parallel_for(x.size(), particles_per_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) x[i] -= gradient_[i];
    });
  }
  return report;
}

template class ProjectiveSprings<float>;
template class ProjectiveSprings<double>;

}  // namespace plenum::inline PLENUM_ABI
