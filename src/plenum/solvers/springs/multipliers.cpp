#include "plenum/solvers/springs/multipliers.h"

#include <algorithm>
#include <limits>

namespace plenum::inline PLENUM_ABI {

namespace {

/// Entries of factors for each entry of the matrix, beyond which conjugate gradients with the diagonal alone
/// cost less memory; chains and trees have fewer than one.
constexpr std::size_t most_fill = 32;

}  // namespace

template <class T>
Multipliers<T>::Multipliers(std::size_t num_points, ConstraintSet<T> set) : set_(std::move(set)) {
  for (const Index2& rod : set_.rods) row_.push_back({rod[0], rod[1], Vector::Zero(), 0, 0});
  for (const Index bead : set_.beads)
    for (int k = 0; k < 2; ++k) row_.push_back({-1, bead, Vector::Zero(), 0, 0});
  std::vector<std::vector<Index>> rows_at(num_points);
  for (std::size_t r = 0; r < row_.size(); ++r)
    for (const Index i : {row_[r].first, row_[r].second})
      if (i >= 0) rows_at[std::size_t(i)].push_back(Index(r));
  place_.assign(num_points, -1);
  for (std::size_t i = 0; i < num_points; ++i) {
    if (rows_at[i].empty()) continue;
    place_[i] = Index(points_.size());
    points_.push_back(Index(i));
  }
  for (Row& row : row_) {
    if (row.first >= 0) row.first_at = place_[std::size_t(row.first)];
    row.second_at = place_[std::size_t(row.second)];
  }
  weight_.resize(points_.size());
  sum_.resize(points_.size());
  confined_at_.assign(points_.size(), -1);
  row_begin_ = {0};
  for (std::size_t r = 0; r < row_.size(); ++r) {
    for (const Index i : {row_[r].first, row_[r].second}) {
      if (i < 0) continue;
      for (const Index other : rows_at[std::size_t(i)])
        if (other != Index(r)) {
          const auto sign_at = [&](Index row) { return row_[std::size_t(row)].second == i ? 1.0 : -1.0; };
          entries_.push_back({other, place_[std::size_t(i)], sign_at(Index(r)) * sign_at(other), 0});
        }
    }
    row_begin_.push_back(entries_.size());
  }
  for (auto* v : {&diagonal_, &rhs_, &lambda_}) v->resize(row_.size());
  pcg_.resize(row_.size());
  if (empty()) return;
  std::vector<Index2> positions;
  for (std::size_t r = 0; r < row_.size(); ++r) positions.push_back({Index(r), Index(r)});
  for (std::size_t r = 0; r < row_.size(); ++r)
    for (std::size_t e = row_begin_[r]; e < row_begin_[r + 1]; ++e)
      if (entries_[e].column < Index(r)) positions.push_back({Index(r), entries_[e].column});
  factors_.analyze(Index(row_.size()), positions);
  factored_ = factors_.fill() <= most_fill * positions.size();
  if (factored_)
    coupled_.resize(positions.size());
  else
    factors_ = {};
}

template <class T>
void Multipliers<T>::evaluate(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v,
                              bool keep_gradients) {
  const auto velocity = [&](Index i) -> Vector {
    return v.empty() ? Vector(Vector::Zero()) : v[std::size_t(i)].template cast<double>();
  };
  const auto position = [&](Index i) -> Vector { return x[std::size_t(i)].template cast<double>(); };
  const auto fill = [&](Row& row, const ConstraintTerm<double>& term) {
    row.value = term.value, row.curvature = term.curvature;
    if (!keep_gradients) row.gradient = term.gradient;
  };
  for (std::size_t r = 0; r < set_.rods.size(); ++r) {
    const Index i = set_.rods[r][0], j = set_.rods[r][1];
    fill(row_[r], distance_constraint<double>(position(j) - position(i), velocity(j) - velocity(i),
                                              double(set_.rod_length[r])));
  }
  for (std::size_t b = 0; b < set_.beads.size(); ++b) {
    const Index i = set_.beads[b];
    const auto terms = wire_constraints<double>(
        set_.wires[std::size_t(set_.bead_wire[b])].template cast<double>(), position(i), velocity(i));
    for (std::size_t k = 0; k < 2; ++k) fill(row_[set_.rods.size() + 2 * b + k], terms[k]);
  }
}

template <class T>
double Multipliers<T>::rate_of(const Row& row, std::span<const Vector3<T>> v) const {
  double rate = row.gradient.dot(v[std::size_t(row.second)].template cast<double>());
  if (row.first >= 0) rate -= row.gradient.dot(v[std::size_t(row.first)].template cast<double>());
  return rate;
}

template <class T>
void Multipliers<T>::confine(std::span<const Index> points, std::span<const Matrix3<T>> free) {
  if (place_.empty() || (points.empty() && free_.empty())) return;
  std::fill(confined_at_.begin(), confined_at_.end(), -1);
  free_.clear();
  for (std::size_t k = 0; k < points.size(); ++k) {
    const Index at = place_[std::size_t(points[k])];
    if (at < 0) continue;
    confined_at_[std::size_t(at)] = Index(free_.size());
    free_.push_back(free[k].template cast<double>());
  }
}

template <class T>
void Multipliers<T>::couple(std::span<const T> inverse_mass) {
  for (std::size_t k = 0; k < points_.size(); ++k) weight_[k] = double(inverse_mass[std::size_t(points_[k])]);
  for (std::size_t r = 0; r < row_.size(); ++r) {
    const Row& row = row_[r];
    diagonal_[r] = weight_[std::size_t(row.second_at)] * row.gradient.dot(freed(row.second_at, row.gradient));
    if (row.first >= 0)
      diagonal_[r] +=
          weight_[std::size_t(row.first_at)] * row.gradient.dot(freed(row.first_at, row.gradient));
    // Below this a constraint is at right angles to all that contact leaves free, but for rounding.
    const double whole =
        weight_[std::size_t(row.second_at)] + (row.first >= 0 ? weight_[std::size_t(row.first_at)] : 0);
    if (diagonal_[r] < 1e-6 * whole * row.gradient.squaredNorm()) diagonal_[r] = 0;
  }
  for (std::size_t r = 0; r < row_.size(); ++r) {
    const Row& row = row_[r];
    for (std::size_t e = row_begin_[r]; e < row_begin_[r + 1]; ++e) {
      Entry& entry = entries_[e];
      entry.value = diagonal_[r] > 0 && diagonal_[std::size_t(entry.column)] > 0
                        ? entry.sign * weight_[std::size_t(entry.at)] *
                              freed(entry.at, row.gradient).dot(row_[std::size_t(entry.column)].gradient)
                        : 0;
    }
  }
  if (!factored_) return;
  std::copy(diagonal_.begin(), diagonal_.end(), coupled_.begin());
  std::size_t k = row_.size();
  for (std::size_t r = 0; r < row_.size(); ++r)
    for (std::size_t e = row_begin_[r]; e < row_begin_[r + 1]; ++e)
      if (entries_[e].column < Index(r)) coupled_[k++] = entries_[e].value;
  redundant_ = factors_.factorize(coupled_) > 0;
}

template <class T>
int Multipliers<T>::solve() {
  for (std::size_t r = 0; r < row_.size(); ++r) {
    // A constraint between points that cannot move, or with no direction, is left alone.
    if (!(diagonal_[r] > 0)) rhs_[r] = 0;
    lambda_[r] = 0;
  }
  const auto multiply = [&](std::span<const double> p, std::span<double> q) {
    for (std::size_t r = 0; r < row_.size(); ++r) {
      double sum = diagonal_[r] * p[r];
      for (std::size_t e = row_begin_[r]; e < row_begin_[r + 1]; ++e)
        sum += entries_[e].value * p[std::size_t(entries_[e].column)];
      q[r] = sum;
    }
  };
  const auto divide = [&](std::span<const double> p, std::span<double> q) {
    if (factored_) {
      std::copy(p.begin(), p.end(), q.begin());
      return factors_.solve(q);
    }
    for (std::size_t r = 0; r < row_.size(); ++r) q[r] = diagonal_[r] > 0 ? p[r] / diagonal_[r] : 0;
  };
  return pcg<double>(
             multiply, divide, std::span<const double>(rhs_), std::span<double>(lambda_), pcg_,
             {.relative_tolerance = redundant_ ? 1e-9 : 1e-13,
              // With its factors it converges in a few or has no solution.
              .max_iterations =
                  factored_ ? 20 : 20 + 4 * static_cast<int>(std::min<std::size_t>(row_.size(), 1000))})
      .iterations;
}

template <class T>
void Multipliers<T>::apply(std::span<Vector3<T>> out, bool weighted) {
  for (Vector& sum : sum_) sum.setZero();
  for (std::size_t r = 0; r < row_.size(); ++r) {
    const Row& row = row_[r];
    const Vector impulse = lambda_[r] * row.gradient;
    sum_[std::size_t(row.second_at)] += impulse;
    if (row.first >= 0) sum_[std::size_t(row.first_at)] -= impulse;
  }
  for (std::size_t k = 0; k < points_.size(); ++k) {
    Vector3<T>& to = out[std::size_t(points_[k])];
    const Vector change = weighted         ? Vector(weight_[k] * freed(Index(k), sum_[k]))
                          : weight_[k] > 0 ? sum_[k]
                                           : Vector(Vector::Zero());
    to = (to.template cast<double>() + change).template cast<T>();
  }
}

template <class T>
int Multipliers<T>::solve_and_apply(std::span<const T> inverse_mass, std::span<Vector3<T>> out,
                                    std::span<Vector3<T>> also) {
  couple(inverse_mass);
  const int iterations = solve();
  apply(out);
  if (!also.empty()) apply(also);
  return iterations;
}

template <class T>
int Multipliers<T>::accelerate(std::span<const Vector3<T>> x, std::span<const Vector3<T>> v,
                               std::span<const T> inverse_mass, double rate, std::span<Vector3<T>> a) {
  if (empty()) return 0;
  evaluate(x, v);
  for (std::size_t r = 0; r < row_.size(); ++r)
    rhs_[r] = -(rate_of(row_[r], a) + row_[r].curvature + 2 * rate * rate_of(row_[r], v) +
                rate * rate * row_[r].value);
  return solve_and_apply(inverse_mass, a);
}

template <class T>
double Multipliers<T>::project(std::span<const Vector3<T>> before, std::span<Vector3<T>> x,
                               std::span<const T> inverse_mass, int max_steps, std::span<Vector3<T>> moved) {
  if (empty()) return 0;
  double extent = 0;
  for (const Row& row : row_)
    for (const Index i : {row.first, row.second})
      if (i >= 0) extent = std::max(extent, double(x[std::size_t(i)].cwiseAbs().maxCoeff()));
  const double rounding = 2 * double(std::numeric_limits<T>::epsilon()) * extent;
  const auto movable = [&](const Row& row) {
    return inverse_mass[std::size_t(row.second)] > 0 ||
           (row.first >= 0 && inverse_mass[std::size_t(row.first)] > 0);
  };
  if (!before.empty()) evaluate(before, {});
  double last = std::numeric_limits<double>::infinity();
  for (int step = 0;; ++step) {
    evaluate(x, {}, !before.empty());
    double error = 0;
    for (const Row& row : row_)
      if (movable(row)) error = std::max(error, std::abs(row.value));
    // Within sight of the rounding error, a step that gains nothing is the last.
    if (error <= rounding || step == max_steps || (error < 16 * rounding && error > 0.5 * last)) return error;
    last = error;
    for (std::size_t r = 0; r < row_.size(); ++r) rhs_[r] = -row_[r].value;
    solve_and_apply(inverse_mass, x, moved);
  }
}

template <class T>
void Multipliers<T>::project_velocities(std::span<const Vector3<T>> x, std::span<const T> inverse_mass,
                                        std::span<Vector3<T>> v) {
  if (empty()) return;
  evaluate(x, {});
  for (std::size_t r = 0; r < row_.size(); ++r) rhs_[r] = -rate_of(row_[r], v);
  solve_and_apply(inverse_mass, v);
}

template <class T>
double Multipliers<T>::largest_error(std::span<const Vector3<T>> x) {
  evaluate(x, {});
  double error = 0;
  for (const Row& row : row_) error = std::max(error, std::abs(row.value));
  return error;
}

template <class T>
void Multipliers<T>::prepare_filter(std::span<const Vector3<T>> x, std::span<const T> weight) {
  evaluate(x, {});
  couple(weight);
}

template <class T>
void Multipliers<T>::filter(std::span<Vector3<T>> y) {
  for (std::size_t r = 0; r < row_.size(); ++r) rhs_[r] = -rate_of(row_[r], y);
  solve();
  apply(y);
}

template <class T>
void Multipliers<T>::filter_dual(std::span<Vector3<T>> y) {
  for (std::size_t r = 0; r < row_.size(); ++r) {
    const Row& row = row_[r];
    const auto weighted = [&](Index point, Index at) -> Vector {
      return weight_[std::size_t(at)] * freed(at, y[std::size_t(point)].template cast<double>());
    };
    Vector difference = weighted(row.second, row.second_at);
    if (row.first >= 0) difference -= weighted(row.first, row.first_at);
    rhs_[r] = -row.gradient.dot(difference);
  }
  solve();
  apply(y, false);
}

template <class T>
void Multipliers<T>::rod_stiffness(std::span<T> out) const {
  // lambda along the gradient pushes; C has the second derivative I / L by either end.
  for (std::size_t r = 0; r < set_.rods.size(); ++r)
    out[r] = static_cast<T>(std::max(0.0, -lambda_[r] / double(set_.rod_length[r])));
}

template class Multipliers<float>;
template class Multipliers<double>;

}  // namespace plenum::inline PLENUM_ABI
