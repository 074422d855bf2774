#pragma once
// The kernels behind collide(), one per family of pairs. All work in the frame of A, B placed at b_in_a.
#include <limits>

#include "plenum/geometry/collide/manifold.h"
#include "plenum/geometry/convex_hull.h"
#include "plenum/geometry/shape.h"

namespace plenum::inline PLENUM_ABI::detail {

/// Beyond all distances; sums of a few are finite.
inline constexpr Real huge = std::numeric_limits<Real>::max() / 4;

/// A choice between features that are equally good up to this fraction of the smaller shape's least half
/// extent is made by preference (faces before edges, A before B, the last choice before all), so that it does
/// not change back and forth while a pair rests. The reported depth is at most four such fractions above the
/// least, but for flat_preference.
constexpr Real preference = Real(1e-3);

/// A face that touched last is kept without looking at other axes while the deepest point is over it and it
/// is no deeper than this fraction of the least half extent: it is then a local minimum of the depth, and
/// where points spread over the face, the one that a body at rest should stay with. count: points of the
/// manifold.
constexpr Real steady_depth(int count) {
  return count >= 3 ? Real(0.05) : Real(0.01);
}

/// Of the least half extent: how much deeper a face may be than two edges that meet almost flat on it and yet
/// be preferred, if it has two points or more. What lies on a face at a thousandth of a radian and juts out
/// over its border is least deep along the normal of two edges that cross there, in one point. Held there
/// alone, it turns about that point, into the face, before the next step looks. (Gregorius 2015, "Robust
/// contact creation for physics simulations", GDC, prefers faces by a part of the depth.)
constexpr Real flat_preference = Real(0.02);
/// Cosine above which the normal of two edges is nearly that of a face: 0.1 rad.
constexpr Real nearly_flat = Real(0.995);

/// False where rounding or preference left no point; then collide_cores() answers.
bool collide_boxes(const Vec3& half_a, const Vec3& half_b, const Pose& b_in_a, Real margin,
                   ManifoldCache& cache, Manifold& m);

/// Separating axes of boxes and hulls. False as above.
bool collide_polyhedra(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, ManifoldCache& cache,
                       Manifold& m);

/// Any two convex shapes but planes, by GJK, EPA and clipping of the features that face each other.
void collide_cores(const Shape& a, const Shape& b, const Pose& b_in_a, Real margin, ManifoldCache& cache,
                   Manifold& m);

/// A plane and any other convex shape.
void collide_plane(const Shape& b, const Pose& b_in_plane, Real margin, Manifold& m);

/// Two capsules.
void collide_capsules(const CapsuleShape& a, const CapsuleShape& b, const Pose& b_in_a, Real margin,
                      Manifold& m);

}  // namespace plenum::inline PLENUM_ABI::detail
