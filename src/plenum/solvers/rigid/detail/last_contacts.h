#pragma once
// What contacts of the last step hand on to those of this one.
#include "plenum/geometry/collide/manifold_reuse.h"
#include "plenum/solvers/rigid/detail/contact_solver.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Cosine of the angle, 8 degrees, within which the normals of two contacts of a pair are of one plane.
inline constexpr Real same_plane_cosine = Real(0.99);

/// Points take over the impulses of the last step's points on the same features. Where features trade places
/// without moving, as the corners of two aligned boxes do, the nearest of those left within `reach` [m].
void inherit(const Rigid::Contacts& old, Index contact, const Manifold& m, Real reach, ContactInput& c);
/// What rolls rolls over from one feature to another: what touches deepest takes over the impulse that none
/// of its points has.
void roll_over(const Rigid::Contacts& old, Index contact, const Manifold& m, ContactInput& c);
/// What rests on points that are all new, as a disc that spins or a slab that slides over uneven ground, goes
/// on with the load that it had, and its middle: else it would fall freely for a sub-step, and not rub in it.
void take_over(const Rigid::Contacts& old, Index contact, const Manifold& m, ContactInput& c);
/// How a pair stood, from what the state keeps of it (Rigid::Contacts::seen), and the other way round.
ManifoldSeen seen_from(const Eigen::Matrix<Real, 8, 1>& s);
Eigen::Matrix<Real, 8, 1> kept_as(const ManifoldSeen& seen);
/// A contact's manifold as it was last found, and how the pair stood.
ManifoldSeen seen_of(const Rigid::Contacts& old, Index contact, Manifold& m);
/// A contact of the last step for each of the manifolds of a pair with a surface: the one that shares most
/// points with it, and where none does the one whose points are nearest. previous [count]; contacts first to
/// end are the pair's, none of which is given twice.
void match(const Rigid::Contacts& old, Index first, Index end, const Manifold* manifolds, int count,
           Index* previous);
/// Where B's centre, in A's frame, is to be for a surface A to be met from the side from which it was met in
/// the last step: above the planes of those contacts, if it is not farther below than `deepest` [m]. A is the
/// first of a pair, or the second where `swap`. False where the centre itself will do.
bool side_of(const Rigid::Contacts& old, Index first, Index end, bool swap, Real room, Real deepest,
             Vec3& centre);
/// Whether a contact of the last step, of those from first to end, pressed along about this normal, in the
/// first collider's frame.
bool has_pressed(const Rigid::Contacts& old, Index first, Index end, const Vec3& normal);

}}  // namespace plenum::PLENUM_ABI::detail
