#include "plenum/integrate/streamlines.h"

#include <Eigen/Geometry>

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI {
namespace {

/// Parts of the lines' distance: at which a line ends near another, and below which a line is left out.
constexpr Real least_apart = Real(0.5), least_length = 1;
/// Part of the usual speed below which the flow rests; more in space, where lines hide each other.
constexpr Real flat_rests = Real(0.02), solid_rests = Real(0.1);
/// Points of all lines together.
constexpr std::size_t most_points = 400000;

/// Points of lines, found by their places.
class Neighbours {
 public:
  struct Point {
    Vec3 x;
    Index line, order;  ///< order: along the line, from where it began, which is 0
  };
  Neighbours(const GridFlow& flow, Real apart) : low_(flow.low), side_(apart) {
    for (std::size_t a = 0; a < 3; ++a)
      cells_[a] = 1 + static_cast<Index>(static_cast<Real>(flow.shape.cells[a]) * flow.h / apart);
    of_cell_.resize(static_cast<std::size_t>(cells_[0]) * static_cast<std::size_t>(cells_[1]) *
                    static_cast<std::size_t>(cells_[2]));
  }
  void add(const Point& p) {
    const std::array<Index, 3> c = cell_of(p.x);
    of_cell_[index(c[0], c[1], c[2])].push_back(p);
  }
  /// Of what lies in the cell of x, the point added last.
  void remove_last(const Vec3& x) {
    const std::array<Index, 3> c = cell_of(x);
    of_cell_[index(c[0], c[1], c[2])].pop_back();
  }
  /// Whether a point is nearer to x than `distance`, which is at most the side of a cell. Points of `line`
  /// whose order differs by less than `skipped` from `order` do not count.
  bool any_near(const Vec3& x, Real distance, Index line, Index order, Index skipped) const {
    const std::array<Index, 3> c = cell_of(x);
    for (Index k = std::max(c[2] - 1, 0); k <= std::min(c[2] + 1, cells_[2] - 1); ++k)
      for (Index j = std::max(c[1] - 1, 0); j <= std::min(c[1] + 1, cells_[1] - 1); ++j)
        for (Index i = std::max(c[0] - 1, 0); i <= std::min(c[0] + 1, cells_[0] - 1); ++i)
          for (const Point& p : of_cell_[index(i, j, k)])
            if ((p.line != line || std::abs(p.order - order) >= skipped) &&
                (p.x - x).squaredNorm() < distance * distance)
              return true;
    return false;
  }

 private:
  std::array<Index, 3> cell_of(const Vec3& x) const {
    std::array<Index, 3> c;
    for (int a = 0; a < 3; ++a)
      c[static_cast<std::size_t>(a)] = std::clamp(static_cast<Index>((x[a] - low_[a]) / side_), Index(0),
                                                  cells_[static_cast<std::size_t>(a)] - 1);
    return c;
  }
  std::size_t index(Index i, Index j, Index k) const {
    return static_cast<std::size_t>(i) +
           static_cast<std::size_t>(cells_[0]) *
               (static_cast<std::size_t>(j) +
                static_cast<std::size_t>(cells_[1]) * static_cast<std::size_t>(k));
  }

  Vec3 low_;
  Real side_;
  std::array<Index, 3> cells_ = {};
  std::vector<std::vector<Point>> of_cell_;
};

/// Grows lines one after the other.
class Tracer {
 public:
  Tracer(const GridFlow& flow, Real apart)
      : flow_(flow),
        apart_(apart),
        step_(std::min(flow.h / 2, apart / 8)),
        // Two points of a circle that touches itself again are farther apart along it than this.
        skipped_(static_cast<Index>(std::ceil(2 * apart / step_))),
        least_speed_((flow.shape.is_flat() ? flat_rests : solid_rests) * flow.usual_speed()),
        near_(flow, apart) {}

  bool may_start(const Vec3& x) const { return flow_.holds(x) && !near_.any_near(x, apart_, -1, 0, 0); }

  /// A line through x, unless it is too short.
  void grow(const Vec3& x, Streamlines& out) {
    const Index line = static_cast<Index>(out.ends.size());
    forward_.clear(), backward_.clear();
    near_.add({x, line, 0});
    follow(x, 1, line, forward_);
    follow(x, -1, line, backward_);
    if (static_cast<Real>(forward_.size() + backward_.size()) * step_ < least_length * apart_) {
      for (std::size_t k = backward_.size(); k > 0; --k) near_.remove_last(backward_[k - 1]);
      for (std::size_t k = forward_.size(); k > 0; --k) near_.remove_last(forward_[k - 1]);
      near_.remove_last(x);
      return;
    }
    out.x.insert(out.x.end(), backward_.rbegin(), backward_.rend());
    out.x.push_back(x);
    out.x.insert(out.x.end(), forward_.begin(), forward_.end());
    out.ends.push_back(static_cast<Index>(out.x.size()));
  }

 private:
  /// The points that follow x with (1) or against (-1) the flow.
  void follow(const Vec3& x, Real sign, Index line, std::vector<Vec3>& points) {
    Vec3 at = x;
    // Round twice a box at most.
    const Real extent =
        flow_.h * static_cast<Real>(flow_.shape.cells[0] + flow_.shape.cells[1] + flow_.shape.cells[2]);
    const auto most = static_cast<std::size_t>(4 * extent / step_);
    while (points.size() < most) {
      Vec3 next;
      if (!advance(at, sign, next) || !flow_.holds(next)) return;
      const Index order = static_cast<Index>(sign) * (static_cast<Index>(points.size()) + 1);
      if (near_.any_near(next, least_apart * apart_, line, order, skipped_)) return;
      points.push_back(next);
      near_.add({next, line, order});
      at = next;
    }
  }
  bool direction(const Vec3& x, Real sign, Vec3& d) const {
    d = flow_.velocity_at(x);
    const Real speed = d.norm();
    if (!(speed > least_speed_)) return false;
    d *= sign / speed;
    return true;
  }
  /// A step of the classical Runge-Kutta method along the direction of the flow.
  bool advance(const Vec3& x, Real sign, Vec3& next) const {
    Vec3 a, b, c, d;
    if (!direction(x, sign, a) || !direction(x + step_ / 2 * a, sign, b) ||
        !direction(x + step_ / 2 * b, sign, c) || !direction(x + step_ * c, sign, d))
      return false;
    next = x + step_ / 6 * (a + 2 * b + 2 * c + d);
    return true;
  }

  const GridFlow& flow_;
  Real apart_, step_;
  Index skipped_;
  Real least_speed_;
  Neighbours near_;
  std::vector<Vec3> forward_, backward_;
};

}  // namespace

bool GridFlow::holds(const Vec3& x) const {
  std::array<Index, 3> c = {};
  for (int a = 0; a < shape.dimensions(); ++a) {
    const Real at = (x[a] - low[a]) / h;
    const Index n = shape.cells[static_cast<std::size_t>(a)];
    if (!(at >= 0 && at < static_cast<Real>(n))) return false;
    c[static_cast<std::size_t>(a)] = std::min(static_cast<Index>(at), n - 1);
  }
  return fluid.empty() || fluid[shape.index(c[0], c[1], c[2])] != 0;
}

Vec3 GridFlow::velocity_at(const Vec3& x) const {
  Vec3 u = Vec3::Zero();
  for (int c = 0; c < shape.dimensions(); ++c) {
    std::array<Index, 3> at = {};
    std::array<Real, 3> part = {};
    for (int a = 0; a < shape.dimensions(); ++a) {
      const auto axis = static_cast<std::size_t>(a);
      const Real place = std::clamp((x[a] - low[a]) / h - (a == c ? 0 : Real(0.5)), Real(-0.5),
                                    static_cast<Real>(shape.cells[axis]) - (a == c ? 0 : Real(0.5)));
      const Real below = std::floor(place);
      at[axis] = static_cast<Index>(below), part[axis] = place - below;
    }
    const Real* q = velocity[c].data() + shape.index(at[0], at[1], at[2]);
    const auto along_x = [&](std::ptrdiff_t from) { return q[from] + part[0] * (q[from + 1] - q[from]); };
    const auto along_y = [&](std::ptrdiff_t from) {
      const Real first = along_x(from);
      return first + part[1] * (along_x(from + shape.stride(1)) - first);
    };
    Real value = along_y(0);
    if (!shape.is_flat()) value += part[2] * (along_y(shape.stride(2)) - value);
    u[c] = value;
  }
  return u;
}

Real GridFlow::usual_speed() const {
  double sum = 0;
  std::size_t count = 0;
  for (Index k = 0; k < shape.cells[2]; ++k)
    for (Index j = 0; j < shape.cells[1]; ++j)
      for (Index i = 0; i < shape.cells[0]; ++i) {
        if (!fluid.empty() && fluid[shape.index(i, j, k)] == 0) continue;
        const Real squared = velocity_at(centre(i, j, k)).squaredNorm();
        sum += double(squared), count += squared > 0 ? 1 : 0;
      }
  return count > 0 ? static_cast<Real>(std::sqrt(sum / double(count))) : 0;
}

Streamlines evenly_spaced_streamlines(const GridFlow& flow, Real apart) {
  Streamlines lines;
  if (!(apart > 0) || !(flow.usual_speed() > 0)) return lines;
  Tracer tracer(flow, apart);
  std::size_t asked = 0;  // points beside which lines have been sought
  const auto beside = [&] {
    for (; asked < lines.x.size() && lines.x.size() < most_points; ++asked) {
      const Vec3 x = lines.x[asked], u = flow.velocity_at(x);
      if (!(u.norm() > 0)) continue;
      const Vec3 along = u.normalized();
      Vec3 across = flow.shape.is_flat()              ? Vec3(Vec3::UnitZ().cross(along))
                    : std::abs(along.y()) < Real(0.9) ? Vec3(Vec3::UnitY().cross(along).normalized())
                                                      : Vec3(Vec3::UnitX().cross(along).normalized());
      for (int turn = 0; turn < (flow.shape.is_flat() ? 1 : 2); ++turn, across = along.cross(across))
        for (const Real side : {Real(1), Real(-1)}) {
          const Vec3 seed = x + side * Real(1.001) * apart * across;
          if (tracer.may_start(seed)) tracer.grow(seed, lines);
        }
    }
  };
  const auto& n = flow.shape.cells;
  // In the middle first: there lines are longest. Then where none has come.
  const Vec3 middle = flow.centre(n[0] / 2, n[1] / 2, n[2] / 2);
  if (tracer.may_start(middle)) tracer.grow(middle, lines), beside();
  const Index stride = std::max<Index>(1, static_cast<Index>(apart / (2 * flow.h)));
  for (Index k = 0; k < n[2]; k += stride)
    for (Index j = 0; j < n[1]; j += stride)
      for (Index i = 0; i < n[0]; i += stride) {
        if (lines.x.size() >= most_points) return lines;
        const Vec3 seed = flow.centre(i, j, k);
        if (tracer.may_start(seed)) tracer.grow(seed, lines), beside();
      }
  return lines;
}

}  // namespace plenum::inline PLENUM_ABI
