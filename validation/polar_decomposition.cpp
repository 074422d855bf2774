// The rotation of the polar decomposition against constructed cases.
#include <fmt/format.h>

#include <cmath>

#include "plenum/math/polar.h"
#include "validation.h"

namespace plenum::validation { namespace {

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
    const Quaternion<double> before(Eigen::AngleAxis<double>(0.3, Vector3<double>::UnitY()));
    const Matrix3<double> r = polar_rotation(f, before).toRotationMatrix();
    rows.at_most(name + ": R^T R from the identity",
                 (r.transpose() * r - Matrix3<double>::Identity()).cwiseAbs().maxCoeff(), 1e-12, "1", source);
    rows.near(name + ": determinant", r.determinant(), 1, 1e-12, "1", source);
    if (!is_unique) continue;
    const bool is_single = name == "nearly_singular_1e-8" || name == "huge_stretch_1e6";
    rows.at_most(name + ": R from what it is", (r - wanted).cwiseAbs().maxCoeff(), is_single ? 1e-7 : 1e-12,
                 "1", source);
    const Matrix3<double> again = polar_rotation(f, Quaternion<double>(r)).toRotationMatrix();
    rows.at_most(name + ": from itself", (again - r).cwiseAbs().maxCoeff(), 1e-12, "1", source);
    const Matrix3<double> single =
        polar_rotation(Matrix3<float>(f.cast<float>()), Quaternion<float>(1, 0, 0, 0))
            .toRotationMatrix()
            .cast<double>();
    // Rounding F to float turns R by that over the sum of its two least stretches.
    if (name != "huge_stretch_1e6")
      rows.at_most(name + ": R in float", (single - wanted).cwiseAbs().maxCoeff(), 1e-5, "1", source);
  }
}
const Register register_polar("polar_decomposition/math", Effort::quick, run_polar);

}}  // namespace plenum::validation
