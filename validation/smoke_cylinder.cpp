// The flow around a cylinder in a channel of Schaefer & Turek 1996, "Benchmark computations of laminar flow
// around a cylinder": steady at Re 20, shedding vortices at Re 100.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "plenum/solvers/smoke/smoke.h"
#include "validation.h"

namespace plenum::validation { namespace {

constexpr double channel_height = 0.41, channel_length = 2.2, viscosity = 1e-3;  // [m], [m], [m^2/s]
constexpr double centre = 0.2, diameter = 0.1;                                   // [m]

class Channel {
 public:
  /// n cells across; `fastest` [m/s] in the middle of what flows in.
  Channel(int n, double fastest) : h_(channel_height / n), mean_(fastest * 2 / 3) {
    Smoke::Spec spec;
    spec.spacing = static_cast<Real>(h_);
    spec.cells_x = static_cast<int>(std::lround(channel_length / h_)), spec.cells_y = n, spec.cells_z = 1;
    spec.low = Vec3(0, 0, -spec.spacing / 2);
    spec.left.kind = GridSide::inflow;
    spec.left.velocity = Vec3(static_cast<Real>(fastest), 0, 0);
    spec.left.profile = Smoke::Side::Profile::parabolic;
    spec.right.kind = GridSide::outflow;
    spec.bottom.kind = spec.top.kind = GridSide::no_slip;
    SmokeShape cylinder;
    cylinder.shape = GridSolid::Kind::cylinder;
    cylinder.radius = static_cast<Real>(diameter / 2);
    cylinder.half_height = Real(0.1);
    cylinder.rotation = Vec3(90, 0, 0);
    cylinder.position = Vec3(static_cast<Real>(centre), static_cast<Real>(centre), 0);
    spec.solids = {cylinder};
    spec.solids_grip = true;
    Smoke::build(spec, model_, state_);
    params_.gravity.setZero();
    params_.viscosity = static_cast<Real>(viscosity);
    params_.air_density = 1;
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i <= spec.cells_x; ++i) {
        const double s = (j + 0.5) / n;
        state_.velocity.along[0][model_.shape.index(i, j, 0)] = static_cast<Real>(4 * fastest * s * (1 - s));
      }
    // A square about the cylinder, by faces.
    const auto face = [&](double x) { return static_cast<Index>(std::lround(x / h_)); };
    low_ = face(centre - 0.09), high_ = face(centre + 0.09);
    dt_ = 0.5 * h_ / (1.4 * fastest);
    momentum_ = momentum();
  }
  double dt() const { return dt_; }

  struct Coefficients {
    double drag, lift;  ///< 2 F / (rho U^2 D) of the mean speed U
  };
  /// What the fluid in the square loses to the cylinder: the momentum that flows in through its sides and
  /// the stress on them, less what stays.
  Coefficients step() {
    Smoke::step(model_, state_, params_, workspace_, static_cast<Real>(dt_));
    const std::array<double, 2> now = momentum();
    std::array<double, 2> force = {(momentum_[0] - now[0]) / dt_, (momentum_[1] - now[1]) / dt_};
    momentum_ = now;
    for (const Index at : {low_, high_}) {
      const double out = at == high_ ? 1 : -1;
      for (Index m = low_; m < high_; ++m) {
        // Faces across x, then across y: a is the component across the face, b the one along it.
        for (int axis = 0; axis < 2; ++axis) {
          const auto a = [&](Index across, Index along) {
            return axis == 0 ? velocity(0, across, along) : velocity(1, along, across);
          };
          const auto b = [&](Index across, Index along) {
            return axis == 0 ? velocity(1, across, along) : velocity(0, along, across);
          };
          const auto p = [&](Index across, Index along) {
            return axis == 0 ? pressure(across, along) : pressure(along, across);
          };
          const double u = a(at, m), v = (b(at - 1, m) + b(at, m) + b(at - 1, m + 1) + b(at, m + 1)) / 4;
          const double along_normal = (a(at + 1, m) - a(at - 1, m)) / (2 * h_),
                       shear = (a(at, m + 1) - a(at, m - 1)) / (2 * h_) +
                               (b(at, m) + b(at, m + 1) - b(at - 1, m) - b(at - 1, m + 1)) / (2 * h_);
          const auto c = static_cast<std::size_t>(axis);
          force[c] -= out * h_ * (u * u + (p(at - 1, m) + p(at, m)) / 2 - 2 * viscosity * along_normal);
          force[1 - c] -= out * h_ * (u * v - viscosity * shear);
        }
      }
    }
    const double unit = mean_ * mean_ * diameter / 2;
    return {force[0] / unit, force[1] / unit};
  }

 private:
  double velocity(int c, Index i, Index j) const {
    return static_cast<double>(state_.velocity[c][model_.shape.index(i, j, 0)]);
  }
  double pressure(Index i, Index j) const {
    return static_cast<double>(state_.pressure[model_.shape.index(i, j, 0)]);
  }
  std::array<double, 2> momentum() const {
    std::array<double, 2> sum = {0, 0};
    for (Index across = low_; across <= high_; ++across)
      for (Index along = low_; along < high_; ++along) {
        const double part = across == low_ || across == high_ ? 0.5 : 1;
        const auto open = [&](int c, Index i, Index j) {
          return static_cast<double>(model_.open[c][model_.shape.index(i, j, 0)]);
        };
        sum[0] += part * open(0, across, along) * velocity(0, across, along);
        sum[1] += part * open(1, along, across) * velocity(1, along, across);
      }
    return {sum[0] * h_ * h_, sum[1] * h_ * h_};
  }

  Smoke::Model model_;
  Smoke::State state_;
  Smoke::Params params_;
  Smoke::Workspace workspace_;
  double h_, mean_, dt_;
  Index low_, high_;
  std::array<double, 2> momentum_;
};

/// Row of a case's quantity.
std::size_t row_of(const Reference& reference, const std::string& number, const std::string& quantity) {
  for (std::size_t r = 0; r < reference.size(); ++r)
    if (reference.text(r, "case") == number && reference.text(r, "quantity") == quantity) return r;
  return reference.find("quantity", quantity + " of " + number);
}

/// Asked of the finest grid: what is published, to 5 %.
void compare(Rows& rows, const std::string& number, const std::string& quantity, int n, bool is_asked,
             double measured) {
  const Reference reference("schaefer_turek_cylinder");
  const double published = reference.number(row_of(reference, number, quantity), "precise");
  const std::string label = quantity + ", " + number + ", " + std::to_string(n) + " cells across, " +
                            std::to_string(static_cast<int>(std::lround(n * diameter / channel_height))) +
                            " to the diameter";
  const std::string source = "Schaefer & Turek 1996; FeatFlow";
  if (is_asked)
    rows.near(label, measured, published, 0.05 * published, "1", source + "; to 5 %");
  else
    rows.report(label, measured, "1", source);
}

void steady(Rows& rows) {
  for (const int n : {41, 82, 164}) {
    Channel channel(n, 0.3);
    Channel::Coefficients last{};
    for (double t = 0; t < 4; t += channel.dt()) last = channel.step();
    compare(rows, "2D-1", "Cd", n, n == 164, last.drag);
    compare(rows, "2D-1", "Cl", n, false, last.lift);
  }
}

void shedding(Rows& rows) {
  for (const int n : {41, 82, 164}) {
    Channel channel(n, 1.5);
    double most_drag = 0, most_lift = 0, before = 0;
    std::vector<double> rising;  // [s] when the lift passes zero upwards
    constexpr double end = 5, from = 3.5;
    for (double t = 0; t < end; t += channel.dt()) {
      const Channel::Coefficients c = channel.step();
      if (t > from) {
        most_drag = std::max(most_drag, c.drag), most_lift = std::max(most_lift, c.lift);
        if (before < 0 && c.lift >= 0) rising.push_back(t - channel.dt() * c.lift / (c.lift - before));
      }
      before = c.lift;
    }
    const double strouhal = rising.size() < 2 ? 0
                                              : static_cast<double>(rising.size() - 1) /
                                                    (rising.back() - rising.front()) * diameter / 1.0;
    compare(rows, "2D-2", "Cd_max", n, n == 164, most_drag);
    compare(rows, "2D-2", "St", n, n == 164, strouhal);
    rows.report("Cl_max, published 0.99 to 1.01, " + std::to_string(n) + " cells across", most_lift, "1",
                "Schaefer & Turek 1996");
  }
}

void cylinder(Rows& rows) {
  steady(rows);
  shedding(rows);
}
const Register register_cylinder("schaefer_turek_cylinder/smoke", Effort::thorough, cylinder);

}}  // namespace plenum::validation
