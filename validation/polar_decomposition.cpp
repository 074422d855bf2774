// The rotation of the polar decomposition against constructed cases: of one matrix, and in lanes, as the
// solvers have it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plenum/math/polar.h"
#include "plenum/math/wide_polar.h"
#include "validation.h"

namespace plenum::validation { namespace {

/// Rotations in lanes that begin at different ones, and the largest error of any lane's.
struct InLanes {
  Matrix3<double> r[detail::wide];

  /// Every lane has the same F; the first begins at `first`, others the farther from it the later they are.
  InLanes(const Matrix3<double>& f, const Quaternion<double>& first) {
    detail::Wide3 columns[3], found[3];
    for (int c = 0; c < 3; ++c)
      columns[c] = {detail::fill(Real(f(0, c))), detail::fill(Real(f(1, c))), detail::fill(Real(f(2, c)))};
    detail::WideQuat q;
    for (int l = 0; l < detail::wide; ++l) {
      const Vector3<double> axis = Vector3<double>(1, l - 2, 0.5 * l).normalized();
      const Quaternion<double> begin = Eigen::AngleAxis<double>(3.0 * l / detail::wide, axis) * first;
      q.x[l] = Real(begin.x()), q.y[l] = Real(begin.y()), q.z[l] = Real(begin.z()), q.w[l] = Real(begin.w());
    }
    detail::wide_polar_rotation(columns, q, found);
    for (int l = 0; l < detail::wide; ++l)
      for (int c = 0; c < 3; ++c) r[l].col(c) = Vector3<double>(found[c].x[l], found[c].y[l], found[c].z[l]);
  }
  /// error(r)
  template <class Error>
  double worst(Error&& error) const {
    double most = 0;
    for (const Matrix3<double>& one : r)
      if (const double now = error(one); !(now <= most)) most = now;
    return most;
  }
};
double largest_of(const Matrix3<double>& m) {
  return m.cwiseAbs().maxCoeff();
}
/// Of what wants to be R^T R = 1.
double error_of_rotation(const Matrix3<double>& r) {
  return largest_of(r.transpose() * r - Matrix3<double>::Identity());
}

/// `wanted`: null if R is not unique; `tolerance`: of R in double.
void add_lanes(Rows& rows, const std::string& name, const Matrix3<double>& f, const Matrix3<double>* wanted,
               double tolerance, const Quaternion<double>& before, const std::string& source) {
  constexpr bool is_float = sizeof(Real) == 4;
  const InLanes lanes(f, before);
  const double rounding = is_float ? 1e-5 : 1e-12;
  rows.at_most(name + ", in lanes: R^T R from the identity", lanes.worst(error_of_rotation), rounding, "1",
               source);
  rows.at_most(name + ", in lanes: determinant from one",
               lanes.worst([](const Matrix3<double>& r) { return std::abs(r.determinant() - 1); }), rounding,
               "1", source);
  // Which holds of every F, also of one that Real rounds so far that it is another's; of none at all S is 0.
  constexpr double tiny = std::numeric_limits<double>::min();
  rows.at_most(name + ", in lanes: R^T F from symmetric, of the largest of F",
               lanes.worst([&](const Matrix3<double>& r) {
                 const Matrix3<double> s = r.transpose() * f;
                 return largest_of(s - s.transpose()) / std::max(largest_of(f), tiny);
               }),
               rounding, "1", "what makes R the rotation of a polar decomposition");
  // Rounding F to float turns R by that over the sum of its two least stretches: of this one by anything.
  if (!wanted || (is_float && name == "huge_stretch_1e6")) return;
  rows.at_most(name + ", in lanes: R from what it is",
               lanes.worst([&](const Matrix3<double>& r) { return largest_of(r - *wanted); }),
               is_float ? 1e-5 : tolerance, "1", source);
  rows.at_most(name + ", in lanes: from itself",
               InLanes(f, Quaternion<double>(lanes.r[0])).worst([&](const Matrix3<double>& r) {
                 return largest_of(r - lanes.r[0]);
               }),
               rounding, "1", source);
}

void run_polar(Rows& rows) {
  const Reference table("polar_decomposition");
  const std::string source = "constructed (polar_decomposition.csv)";
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string& name = table.text(row, "case");
    Matrix3<double> f, wanted;
    const bool is_unique = !table.text(row, "r00").empty();
    for (int k = 0; k < 9; ++k) {
      const std::string place = fmt::format("{}{}", k / 3, k % 3);
      f(k / 3, k % 3) = table.number(row, "f" + place);
      if (is_unique) wanted(k / 3, k % 3) = table.number(row, "r" + place);
    }
    const bool is_single = name == "nearly_singular_1e-8" || name == "huge_stretch_1e6";
    const double tolerance = is_single ? 1e-7 : 1e-12;
    const Quaternion<double> before(Eigen::AngleAxis<double>(0.3, Vector3<double>::UnitY()));
    add_lanes(rows, name, f, is_unique ? &wanted : nullptr, tolerance, before, source);
    const Matrix3<double> r = polar_rotation(f, before).toRotationMatrix();
    rows.at_most(name + ": R^T R from the identity", error_of_rotation(r), 1e-12, "1", source);
    rows.near(name + ": determinant", r.determinant(), 1, 1e-12, "1", source);
    if (!is_unique) continue;
    rows.at_most(name + ": R from what it is", largest_of(r - wanted), tolerance, "1", source);
    const Matrix3<double> again = polar_rotation(f, Quaternion<double>(r)).toRotationMatrix();
    rows.at_most(name + ": from itself", largest_of(again - r), 1e-12, "1", source);
    const Matrix3<double> single =
        polar_rotation(Matrix3<float>(f.cast<float>()), Quaternion<float>(1, 0, 0, 0))
            .toRotationMatrix()
            .cast<double>();
    // Rounding F to float turns R by that over the sum of its two least stretches.
    if (name != "huge_stretch_1e6")
      rows.at_most(name + ": R in float", largest_of(single - wanted), 1e-5, "1", source);
  }
}
const Register register_polar("polar_decomposition/math", Effort::quick, run_polar);

}}  // namespace plenum::validation
