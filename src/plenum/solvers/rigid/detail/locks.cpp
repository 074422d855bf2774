#include "plenum/solvers/rigid/detail/locks.h"

#include <Eigen/LU>

#include "plenum/integrate/free_rotation.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

template <class T>
Eigen::Matrix<T, 3, 3> schur(Eigen::Matrix<T, 3, 3> k, std::uint8_t locks) {
  // One axis after another: a Schur complement of a Schur complement is one.
  for (int c = 0; c < 3; ++c) {
    if (!(locks >> (3 + c) & 1)) continue;
    const Eigen::Matrix<T, 3, 1> column = k.col(c);
    if (column[c] > 0) k -= column * column.transpose() / column[c];
    k.row(c).setZero();
    k.col(c).setZero();
  }
  return k;
}

}  // namespace

Mat3 turning_freely(const Mat3& inverse_inertia, std::uint8_t locks) {
  return schur<double>(inverse_inertia.cast<double>(), locks).cast<Real>();
}

void turn_with_locks(Quaternion<double>& q, const Vector3<double>& inertia, std::uint8_t locks,
                     Vector3<double>& w, double h) {
  using M3 = Matrix3<double>;
  const M3 r = q.toRotationMatrix();
  const Vector3<double> momentum = r * inertia.cwiseProduct(r.transpose() * w);
  const auto velocity = [&](const Quaternion<double>& at) -> Vector3<double> {
    const M3 m = at.toRotationMatrix();
    return schur<double>(m * inertia.cwiseInverse().asDiagonal() * m.transpose(), locks) * momentum;
  };
  const Vector3<double> middle = velocity(turned<double>(q, Vector3<double>(h / 2 * w)));
  q = turned<double>(q, Vector3<double>(h * middle));
  w = velocity(q);
}

}}  // namespace plenum::PLENUM_ABI::detail
