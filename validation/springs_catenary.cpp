// Hanging ropes of springs and of rods against the catenary: as the solver runs them, and as the templates it
// is made of bring them to rest in double.
#include <cmath>
#include <numbers>

#include "hanging_rope.h"
#include "plenum/integrate/minimize.h"
#include "plenum/linear/factorization.h"
#include "plenum/solvers/springs/spring_system.h"
#include "plenum/solvers/springs/springs.h"
#include "rounding.h"
#include "validation.h"

namespace plenum::validation { namespace {

using V = Vector3<double>;

std::span<const V> vectors(std::span<const double> flat) {
  return {reinterpret_cast<const V*>(flat.data()), flat.size() / 3};
}
std::span<V> vectors(std::span<double> flat) {
  return {reinterpret_cast<V*>(flat.data()), flat.size() / 3};
}

/// Slope [deg] of a chain of equal links and weights x at its first point: that of the first two links, each
/// taken at its middle, continued to the point. Along the catenary dy/dx = w s / H, with s the arc length
/// from the lowest point, and so it is from link to link of the chain, where each point adds its weight over
/// H.
template <class V>
double end_slope(const std::vector<V>& x) {
  const auto steepness = [&](std::size_t i) {
    return double(x[i][1] - x[i + 1][1]) / double(x[i + 1][0] - x[i][0]);
  };
  return std::atan(1.5 * steepness(0) - 0.5 * steepness(1)) * 180 / std::numbers::pi;
}

/// n equal links of a chain of length L and weight w L between two level points at distance 1, as springs of
/// EA/(w L) = `stiffness`: its potential, for newton_minimize with a little inertia.
class Chain {
 public:
  Chain(double length, int n, double stiffness) : n_(n), rest_(length / n), k_(stiffness * length / rest_) {
    std::vector<Index2> edges;
    for (Index i = 0; i < n; ++i) edges.push_back(Index2(i, i + 1));
    const std::vector<double> k(edges.size(), k_), l0(edges.size(), rest_), none(edges.size(), 0);
    system_ = SpringSystem<double>(std::size_t(n) + 1, edges, std::span<const double>(k),
                                   std::span<const double>(l0), std::span<const double>(none));
    std::vector<Index2> positions;
    for_each_entry(
        [&](Index row, Index column, int, int, Index, bool) { positions.push_back(Index2(row, column)); });
    factors_.analyze(3 * (n - 1), positions);
    // w = 1, lumped: a whole link's weight on each point, half of one on the ends.
    weight_.assign(std::size_t(n) + 1, rest_);
    weight_.front() = weight_.back() = rest_ / 2;
  }

  double value(std::span<const double> x) {
    double sum = system_.energy(vectors(x), 1.0);
    for (std::size_t i = 0; i < weight_.size(); ++i) sum += weight_[i] * x[3 * i + 1];
    return sum;
  }
  void gradient(std::span<const double> x, std::span<double> out) {
    system_.forces(vectors(x), {}, 1, 0, vectors(out));
    for (std::size_t i = 0; i < weight_.size(); ++i)
      for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = (c == 1 ? weight_[i] : 0.0) - out[3 * i + c];
    hold(out);
  }
  bool solve(std::span<const double> x, double inertia, std::span<const double> r, std::span<double> d) {
    std::vector<double> base(weight_);
    for (double& b : base) b *= inertia;
    system_.assemble(vectors(x), {}, base, 1, 1, 0, {});
    std::vector<double> values;
    for_each_entry([&](Index, Index, int r1, int c1, Index point, bool diagonal) {
      const auto& matrix = system_.matrix();
      values.push_back(diagonal ? matrix.diagonal(point)(r1, c1)
                                : matrix.slot_block(matrix.pattern().slot(point, 0))(r1, c1));
    });
    if (!factors_.factorize(values)) return false;
    std::copy(r.begin(), r.end(), d.begin());
    hold(d);
    factors_.solve(d.subspan(3, d.size() - 6));
    return true;
  }

  /// What the csv compares, in units of d = 1 and w L.
  struct Hanging {
    double sag = 0;         ///< of the middle below the ends
    double horizontal = 0;  ///< tension H / (w L): horizontal part of the springs' forces, their mean
    double end = 0;         ///< tension at the ends / (w L), see below
    double slope = 0;       ///< at the ends [deg], see below
  };

  /// Lets the chain sink from a triangle to where it hangs: long steps of backward Euler that forget their
  /// velocity.
  ///
  /// A chain of n links with its weight on the points is not the catenary at its ends: the end link pulls
  /// with H across and (w L / 2)(1 - 1/n) up, the catenary's tension half a link away from the end, and lies
  /// in that direction; both are off by O(1/n). Two quantities compare to second order. One is the force on
  /// the support, which carries the end point's half link of weight besides the end link's force: its
  /// vertical part is w L / 2 as the catenary's. The other is the slope continued to the support.
  Hanging hang() {
    const double side = rest_ * n_ / 2, depth = std::sqrt(side * side - 0.25);
    std::vector<V> x(std::size_t(n_) + 1);
    for (int i = 0; i <= n_; ++i)
      x[std::size_t(i)] = V(double(i) / n_, -depth * (1 - std::abs(2.0 * i / n_ - 1)), 0);
    const std::span<double> flat(x[0].data(), 3 * x.size());
    std::vector<double> mass(flat.size()), target(flat.size());
    for (std::size_t k = 0; k < mass.size(); ++k) mass[k] = weight_[k / 3];
    IntegratorWorkspace<double> work;
    for (double h = 0.1; h < 1e5; h *= 1.2) {
      std::copy(flat.begin(), flat.end(), target.begin());
      IncrementalPotential<double, Chain> objective(*this, mass, target, h);
      newton_minimize<double>(
          objective, flat, work,
          {.max_iterations = 60, .gradient_tolerance = 1e-10, .absolute_tolerance = 1e-10});
    }
    Hanging result;
    result.sag = -x[std::size_t(n_) / 2][1];
    std::vector<V> pull(static_cast<std::size_t>(n_));  // of link i on point i, towards the next
    for (std::size_t i = 0; i < pull.size(); ++i) {
      const V along = x[i + 1] - x[i];
      pull[i] = k_ * (1 - rest_ / along.norm()) * along;
      result.horizontal += pull[i][0] / n_;
    }
    // w = 1, so that w L = L.
    const double total = rest_ * n_;
    result.end = std::hypot(pull[0][0], pull[0][1] - weight_[0]) / total;
    result.horizontal /= total;
    result.slope = end_slope(x);
    return result;
  }

 private:
  /// Entries of the matrix of the points that are not held: f(row, column, row and column in the block,
  /// point, whether on the block diagonal). Of diagonal blocks one triangle; spring i joins points i and i
  /// + 1.
  template <class F>
  void for_each_entry(const F& f) const {
    for (Index i = 1; i < n_; ++i)
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
          if (c <= r) f(3 * (i - 1) + r, 3 * (i - 1) + c, r, c, i, true);
          if (i + 1 < n_) f(3 * (i - 1) + r, 3 * i + c, r, c, i, false);
        }
  }
  static void hold(std::span<double> y) {
    for (std::size_t c = 0; c < 3; ++c) y[c] = y[y.size() - 3 + c] = 0;
  }
  int n_;
  double rest_, k_;
  std::vector<double> weight_;
  SpringSystem<double> system_;
  Factorization<double> factors_;
};

/// Of a rope of length L between level points at distance 1.
struct ElasticCatenary {
  double horizontal = 0;  ///< tension H / (w L)
  double sag = 0;
  double end = 0;    ///< tension at the ends / (w L)
  double slope = 0;  ///< at the ends [deg]

  /// EA/(w L) = `stiffness`. With s the unstretched length from the lowest point, the tension there is T =
  /// sqrt(H^2
  /// + (w s)^2) along (H, w s), and the rope is stretched to 1 + T/EA (Irvine 1981, "Cable structures",
  /// section 1.4):
  ///   dx/ds = H/EA + H/T,  dy/ds = w s/EA + w s/T.
  ElasticCatenary(double length, double stiffness) {
    const auto span = [&](double h) { return length * h * (1 / stiffness + 2 * std::asinh(0.5 / h)); };
    double low = 1e-6, high = 1e3;
    for (int k = 0; k < 200; ++k) {
      const double middle = (low + high) / 2;
      (span(middle) < 1 ? low : high) = middle;
    }
    horizontal = low;
    end = std::hypot(low, 0.5);
    sag = length * (0.125 / stiffness + end - low);
    slope = std::atan(0.5 / low) * 180 / std::numbers::pi;
  }
};

/// The solver's rope of springs, at rest.
void judge_rope(Rows& rows, const Reference& reference, std::size_t row, const HangingRope& rope) {
  const std::vector<Vec3> x = rope.hang();
  const auto at = [&](std::size_t i) -> V { return x[i].cast<double>(); };
  const std::size_t n = std::size_t(rope.links);
  const double rest = rope.length / rope.links;
  const bool as_in_table = rope.stiffness >= 1e7;
  const ElasticCatenary exact(rope.length, rope.stiffness);

  // What the table allows, and what rounding adds: every link is off by that of its ends, and the rope by
  // their sum.
  constexpr double epsilon = std::numeric_limits<Real>::epsilon();
  const double extent = std::max(1.0, exact.sag);
  const double rounding = extent * rounding_of(rope.links, epsilon), little = 1e-6;
  const ElasticCatenary longer(rope.length + little, rope.stiffness);
  const double part = rope.links == 32 ? 5e-3 : 5e-4;
  const std::string named =
      " at L/d = " + reference.text(row, "L_over_d") + ", " + std::to_string(rope.links) +
      " springs, EA/(w L) = " + (as_in_table ? "1e7" : std::to_string(int(rope.stiffness))) + ", " +
      names_of(rope.integrator)[std::size_t(rope.integrator)] +
      (sizeof(Real) == sizeof(float) ? ", float" : ", double");
  const auto near = [&](const char* quantity, double measured, double ElasticCatenary::*member,
                        const char* column, double own_rounding, const char* unit) {
    const double expected = as_in_table ? reference.number(row, column) : exact.*member;
    const double change = std::abs(longer.*member - exact.*member) / little;
    rows.near(quantity + named, measured, expected, part * expected + change * rounding + own_rounding, unit,
              as_in_table ? "catenary.csv, y = a cosh(x/a)" : "elastic catenary: Irvine 1981, section 1.4");
  };
  near("sag/d", -at(n / 2)[1], &ElasticCatenary::sag, "sag_over_d", 0, "1");
  near("slope at the end", end_slope(x), &ElasticCatenary::slope, "end_slope_deg", 0, "deg");
  // Tensions are told by the springs' lengths: EA over their length times what rounding leaves of that. Where
  // it leaves nothing there is nothing to judge.
  const double of_mean = rope.stiffness * rounding / rope.length,
               of_one = rope.stiffness * rounding_of(1, epsilon);
  if (of_mean > exact.horizontal) return;
  double horizontal = 0;
  V first = V::Zero();
  for (std::size_t i = n; i-- > 0;) {
    const V along = at(i + 1) - at(i);
    first = rope.stiffness * (along.norm() / rest - 1) * along.normalized();
    horizontal += first[0] / double(n);
  }
  near("H/(w L)", horizontal, &ElasticCatenary::horizontal, "H_over_wL", of_mean, "1");
  near("tension at the end/(w L)", std::hypot(first[0], first[1] - 0.5 / double(n)), &ElasticCatenary::end,
       "Tend_over_wL", of_one, "1");
}

void run(Rows& rows) {
  const Reference reference("catenary");
  const char* const source = "catenary.csv, y = a cosh(x/a)";
  for (std::size_t row = 0; row < reference.size(); ++row) {
    const double length = reference.number(row, "L_over_d");
    for (const int n : {32, 128}) {
      const Chain::Hanging chain = Chain(length, n, 1e7).hang();
      const std::string at = " at L/d = " + reference.text(row, "L_over_d") + ", " + std::to_string(n) +
                             " springs, templates in double";
      const auto near = [&](const char* quantity, double measured, const char* column, const char* unit) {
        const double expected = reference.number(row, column);
        rows.near(quantity + at, measured, expected, (n == 32 ? 5e-3 : 5e-4) * expected, unit, source);
      };
      near("sag/d", chain.sag, "sag_over_d", "1");
      near("H/(w L)", chain.horizontal, "H_over_wL", "1");
      near("tension at the end/(w L)", chain.end, "Tend_over_wL", "1");
      near("slope at the end", chain.slope, "end_slope_deg", "deg");
    }
  }
  // As scenes run it, stepped until it rests. The table's stiffness asks for sub-steps in which float can
  // tell it.
  using Method = Springs::Integrator;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    const double length = reference.number(row, "L_over_d");
    for (const int n : {32, 128}) {
      judge_rope(
          rows, reference, row,
          {.links = n, .length = length, .substeps = n == 32 ? 8 : 24, .stiffness = 1e7, .seconds = 10});
      judge_rope(rows, reference, row, {.links = n, .length = length, .stiffness = 100});
    }
    for (const Method method : {Method::backward_euler, Method::local_global})
      judge_rope(rows, reference, row, {.length = length, .stiffness = 100, .integrator = method});
  }
  for (const char* const length : {"1.05", "1.5", "3"}) {
    const std::size_t row = reference.find("L_over_d", length);
    const double sag = reference.number(row, "sag_over_d"), slope = reference.number(row, "end_slope_deg");
    for (const int substeps : {1, 8}) {
      const std::vector<Vec3> x =
          HangingRope{.length = reference.number(row, "L_over_d"), .substeps = substeps}.hang();
      const std::string at = std::string(" at L/d = ") + length + ", 32 rods at " +
                             std::to_string(60 * substeps) + " Hz" +
                             (sizeof(Real) == sizeof(float) ? ", float" : ", double");
      rows.near("sag/d" + at, -double(x[16][1]), sag, 5e-3 * sag, "1", source);
      rows.near("slope at the end" + at, end_slope(x), slope, 5e-3 * slope, "deg", source);
    }
  }
}

const Register register_catenary("catenary/springs", Effort::quick, run);

}  // namespace
}  // namespace plenum::validation
