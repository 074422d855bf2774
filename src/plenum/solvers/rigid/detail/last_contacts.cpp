#include "plenum/solvers/rigid/detail/last_contacts.h"

#include <algorithm>
#include <limits>

namespace plenum::inline PLENUM_ABI { namespace detail {

void inherit(const Rigid::Contacts& old, Index contact, const Manifold& m, Real reach, ContactInput& c) {
  bool given[4] = {}, taken[4] = {};
  const int count = old.count[contact];
  for (int q = 0; q < m.count; ++q)
    for (int o = 0; o < count && !given[q]; ++o)
      if (!taken[o] && old.id[contact][o] == m.points[q].id) {
        c.points[q].impulse = old.impulse[contact][o];
        c.points[q].carried = old.carried[contact][o];
        given[q] = taken[o] = true;
      }
  for (int q = 0; q < m.count; ++q) {
    int nearest = -1;
    Real least = reach * reach;
    for (int o = 0; o < count && !given[q]; ++o) {
      const Real apart = (old.point[4 * std::size_t(contact) + std::size_t(o)] - m.points[q].x).squaredNorm();
      if (!taken[o] && apart < least) least = apart, nearest = o;
    }
    if (nearest < 0) continue;
    c.points[q].impulse = old.impulse[contact][nearest];
    c.points[q].carried = old.carried[contact][nearest];
    taken[nearest] = true;
  }
}

void roll_over(const Rigid::Contacts& old, Index contact, const Manifold& m, ContactInput& c) {
  int deepest = 0;
  for (int q = 0; q < m.count; ++q) {
    if (c.points[q].impulse > 0) return;
    if (m.points[q].separation < m.points[deepest].separation) deepest = q;
  }
  int largest = 0;
  const Real impulse = old.impulse[contact].head(old.count[contact]).maxCoeff(&largest);
  c.points[deepest].impulse = impulse;
  c.points[deepest].carried = old.carried[contact][largest];
}

void take_over(const Rigid::Contacts& old, Index contact, const Manifold& m, ContactInput& c) {
  const Real load = old.impulse[contact].head(old.count[contact]).sum();
  if (m.count < 3 || old.count[contact] < 3 || !(load > 0) || c.presses() > 0 ||
      old.normal[contact].dot(m.normal) < same_plane_cosine)
    return;
  Vec3 pressed = Vec3::Zero(), middle = Vec3::Zero();
  Real carried = 0;
  for (int o = 0; o < old.count[contact]; ++o) {
    pressed += old.impulse[contact][o] / load * old.point[4 * std::size_t(contact) + std::size_t(o)];
    carried += old.carried[contact][o];
  }
  for (int q = 0; q < m.count; ++q) middle += m.points[q].x / static_cast<Real>(m.count);
  // The least impulses with that sum and centre; none pulls.
  const Vec3 u = m.normal.unitOrthogonal(), v = m.normal.cross(u);
  const auto flat = [&](const Vec3& x) { return Vec2(u.dot(x - middle), v.dot(x - middle)); };
  Eigen::Matrix<Real, 2, 2> spread = Eigen::Matrix<Real, 2, 2>::Zero();
  for (int q = 0; q < m.count; ++q) spread += flat(m.points[q].x) * flat(m.points[q].x).transpose();
  if (!(spread.determinant() > Real(1e-4) * spread.trace() * spread.trace())) return;
  const Vec2 tilt = spread.inverse() * flat(pressed);
  Real part[4], sum = 0;
  for (int q = 0; q < m.count; ++q) {
    part[q] = std::max(1 / static_cast<Real>(m.count) + tilt.dot(flat(m.points[q].x)), Real(0));
    sum += part[q];
  }
  for (int q = 0; q < m.count; ++q) {
    c.points[q].impulse = part[q] / sum * load;
    c.points[q].carried = part[q] / sum * carried;
  }
}

ManifoldSeen seen_from(const Eigen::Matrix<Real, 8, 1>& s) {
  return {{s.head<3>(), Quat(s[6], s[3], s[4], s[5])}, s[7]};
}
Eigen::Matrix<Real, 8, 1> kept_as(const ManifoldSeen& seen) {
  Eigen::Matrix<Real, 8, 1> s;
  s << seen.b_in_a.position, seen.b_in_a.rotation.coeffs(), seen.margin;
  return s;
}

ManifoldSeen seen_of(const Rigid::Contacts& old, Index contact, Manifold& m) {
  // A and B barely move against each other then: whatever touches, the normal turns with both.
  m.turns = Manifold::Turns::with_a;
  m.normal = old.normal[contact];
  m.count = old.count[contact];
  for (int q = 0; q < m.count; ++q)
    m.points[q] = {old.point[4 * std::size_t(contact) + std::size_t(q)], old.separation[contact][q],
                   old.id[contact][q]};
  return seen_from(old.seen[contact]);
}

void match(const Rigid::Contacts& old, Index first, Index end, const Manifold* manifolds, int count,
           Index* previous) {
  std::uint32_t taken = 0;
  for (const bool by_id : {true, false})
    for (int s = 0; s < count; ++s) {
      if (previous[s] >= 0) continue;
      int most = 0;
      Real least = std::numeric_limits<Real>::max();
      for (Index c = first; c < std::min(end, first + 32); ++c) {
        if (taken >> (c - first) & 1u) continue;
        int shared = 0;
        Real nearest = std::numeric_limits<Real>::max();
        for (int q = 0; q < manifolds[s].count; ++q)
          for (int o = 0; o < old.count[c]; ++o) {
            shared += old.id[c][o] == manifolds[s].points[q].id;
            nearest = std::min(
                nearest,
                (old.point[4 * std::size_t(c) + std::size_t(o)] - manifolds[s].points[q].x).squaredNorm());
          }
        if (by_id ? shared <= most : nearest >= least) continue;
        most = shared, least = nearest, previous[s] = c;
      }
      if (previous[s] >= 0) taken |= 1u << (previous[s] - first);
    }
}

bool side_of(const Rigid::Contacts& old, Index first, Index end, bool swap, Real room, Real deepest,
             Vec3& centre) {
  bool lifts = false;
  for (Index c = first; c < end; ++c) {
    Vec3 n = old.normal[c], x = old.point[4 * std::size_t(c)];
    x -= Real(0.5) * old.separation[c][0] * (swap ? Vec3(-n) : n);
    if (swap) {
      const Pose then = seen_from(old.seen[c]).b_in_a;
      n = -(then.rotation.conjugate() * n), x = then.to_local(x);
    }
    const Real height = n.dot(centre - x);
    if (height >= 0 || height < -deepest) continue;
    centre += (room - height) * n;
    lifts = true;
  }
  return lifts;
}

bool has_pressed(const Rigid::Contacts& old, Index first, Index end, const Vec3& normal) {
  for (Index c = first; c < end; ++c)
    if (old.impulse[c].head(old.count[c]).maxCoeff() > 0 && old.normal[c].dot(normal) > same_plane_cosine)
      return true;
  return false;
}

}}  // namespace plenum::PLENUM_ABI::detail
