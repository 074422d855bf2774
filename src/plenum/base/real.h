#pragma once
// The scalar of the house, and the small vectors made of it.
//
// `Real` is float unless the library was configured with PLENUM_DOUBLE. Everything lives in an inline
// namespace named for it, so that a float and a double build can never be linked together by mistake.
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

#ifdef PLENUM_DOUBLE
#define PLENUM_ABI f64
#else
#define PLENUM_ABI f32
#endif

namespace plenum::inline PLENUM_ABI {

#ifdef PLENUM_DOUBLE
using Real = double;
#else
using Real = float;
#endif

/// Small vectors and matrices, never aligned beyond their scalar, so that arrays of them are tightly packed
/// and their layout does not depend on processor flags.
template <class T>
using Vector2 = Eigen::Matrix<T, 2, 1, Eigen::DontAlign>;
template <class T>
using Vector3 = Eigen::Matrix<T, 3, 1, Eigen::DontAlign>;
template <class T>
using Vector4 = Eigen::Matrix<T, 4, 1, Eigen::DontAlign>;
template <class T>
using Matrix3 = Eigen::Matrix<T, 3, 3, Eigen::DontAlign>;

using Vec2 = Vector2<Real>;
using Vec3 = Vector3<Real>;
using Vec4 = Vector4<Real>;
using Mat3 = Matrix3<Real>;
using Index = std::int32_t;  ///< of a particle, vertex, edge, ...; at most 2^31 - 1 of each
using Index2 = Eigen::Matrix<Index, 2, 1, Eigen::DontAlign>;
using Index3 = Eigen::Matrix<Index, 3, 1, Eigen::DontAlign>;
using Index4 = Eigen::Matrix<Index, 4, 1, Eigen::DontAlign>;

/// The order of pairs.
inline bool is_before(const Index2& a, const Index2& b) {
  return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

static_assert(sizeof(Vec3) == 3 * sizeof(Real) && alignof(Vec3) == alignof(Real));

}  // namespace plenum::inline PLENUM_ABI
