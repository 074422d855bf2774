#include "plenum/solvers/rigid/detail/joined_faces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "plenum/solvers/rigid/detail/flush.h"
#include "plenum/solvers/rigid/detail/workspace.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

/// Part of the size by which points may stand out of a plane and be in it, twice the overlap that is left
/// alone. Both bodies are to be flat: what hovers over a lower part of the other would take the place of what
/// bears it.
constexpr Real same_plane = Real(2e-4);

/// Whether a contact is of flat faces that nothing but their bodies moves.
bool is_of_faces(const ContactInput& c) {
  using Turns = Manifold::Turns;
  const bool flat = c.round_a == 0 && c.round_b == 0 && c.axis_a.isZero(0) && c.axis_b.isZero(0);
  const bool with_faces =
      c.turns == Turns::with_neither || c.turns == Turns::with_a || c.turns == Turns::with_b;
  return flat && with_faces && !c.hard && !c.deep && c.count > 0;
}

/// How heights [m] over a plane go on from those of three points and more: of bodies that lean, as all do on
/// soft contacts that are laden unevenly, what is flat is so aslant.
class Slant {
 public:
  template <class Height>
  Slant(const ContactInput& c, Height&& height) : n_(c.normal), u_(n_.unitOrthogonal()), v_(n_.cross(u_)) {
    for (int p = 0; p < c.count; ++p) {
      middle_ += c.points[p].ra / static_cast<Real>(c.count);
      mean_ += height(c.points[p]) / static_cast<Real>(c.count);
    }
    Eigen::Matrix<Real, 2, 2> spread = Eigen::Matrix<Real, 2, 2>::Zero();
    Vec2 sum = Vec2::Zero();
    for (int p = 0; p < c.count; ++p) {
      const Vec2 x = flat(c.points[p]);
      spread += x * x.transpose(), sum += (height(c.points[p]) - mean_) * x;
    }
    if (spread.determinant() > Real(1e-4) * spread.trace() * spread.trace()) slope_ = spread.inverse() * sum;
  }
  Real at(const ContactInput::Point& p) const { return mean_ + slope_.dot(flat(p)); }

 private:
  Vec2 flat(const ContactInput::Point& p) const { return {u_.dot(p.ra - middle_), v_.dot(p.ra - middle_)}; }
  Vec3 n_, u_, v_, middle_ = Vec3::Zero();
  Real mean_ = 0;
  Vec2 slope_ = Vec2::Zero();
};

/// What contacts in one plane with `lead` have in common with it.
struct LeadPlane {
  const ContactInput& lead;
  Slant of_a, of_b, gap;

  explicit LeadPlane(const ContactInput& c)
      : lead(c),
        of_a(c, [&](const ContactInput::Point& p) { return c.normal.dot(p.ra); }),
        of_b(c, [&](const ContactInput::Point& p) { return c.normal.dot(p.rb); }),
        gap(c, [](const ContactInput::Point& p) { return p.separation; }) {}

  bool has(const ContactInput& other) const {
    if (!(lead.normal.dot(other.normal) > same_normal)) return false;
    const auto rubs = [](const ContactInput& c) {
      return std::tie(c.friction, c.static_friction, c.friction_ratio, c.restitution, c.rolling, c.spinning);
    };
    const bool alike = rubs(lead) == rubs(other) && lead.surface_velocity == other.surface_velocity &&
                       (lead.friction_ratio == 1 || lead.friction_axis == other.friction_axis);
    if (!alike) return false;
    const Real most = same_plane * std::min(lead.size, other.size);
    return std::all_of(other.points, other.points + other.count, [&](const ContactInput::Point& p) {
      return std::abs(lead.normal.dot(p.ra) - of_a.at(p)) <= most &&
             std::abs(lead.normal.dot(p.rb) - of_b.at(p)) <= most &&
             std::abs(p.separation - gap.at(p)) <= most;
    });
  }
};

/// A point of a group: its place in the plane [m].
struct Place {
  std::size_t member;
  int point;
  Real x, y;
};

/// Four of the places, or fewer, that the others hardly reach beyond: the farthest ones along a direction
/// that is fixed in a body, both ways, and those farthest from the line between these.
int corners_of(const std::vector<JoinedFaces::Member>& members, const JoinedFaces::Group& group,
               const Vec3& along, const Vec3& across, Place* out) {
  const auto farthest = [&](auto&& how_far) {
    Place best{0, -1, 0, 0};
    Real most = -std::numeric_limits<Real>::max();
    for (std::size_t m = group.first; m < group.end; ++m) {
      const ContactInput& c = members[m].alone;
      for (int p = 0; p < c.count; ++p) {
        const Place at{m, p, along.dot(c.points[p].rb), across.dot(c.points[p].rb)};
        if (const Real far = how_far(at); far > most) most = far, best = at;
      }
    }
    return best;
  };
  out[0] = farthest([](const Place& at) { return at.x; });
  out[1] = farthest([](const Place& at) { return -at.x; });
  const Real dx = out[1].x - out[0].x, dy = out[1].y - out[0].y;
  const auto beside = [&](const Place& at) { return dx * (at.y - out[0].y) - dy * (at.x - out[0].x); };
  const Real least = Real(1e-4) * (dx * dx + dy * dy);
  int count = 2;
  for (const Real side : {Real(1), Real(-1)}) {
    const Place at = farthest([&](const Place& place) { return side * beside(place); });
    if (side * beside(at) > least) out[count++] = at;
  }
  return count;
}

/// Impulses of the points that do not stand for the group go over to the nearest ones that do.
void take_over(const std::vector<JoinedFaces::Member>& members, const JoinedFaces::Group& group,
               ContactInput& joined) {
  for (std::size_t m = group.first; m < group.end; ++m) {
    const ContactInput& c = members[m].alone;
    for (int p = 0; p < c.count; ++p) {
      const ContactInput::Point& from = c.points[p];
      if (from.impulse == 0 && from.carried == 0) continue;
      int nearest = 0;
      Real least = std::numeric_limits<Real>::max();
      for (int q = 0; q < group.count; ++q) {
        const Real apart = group.member[q] == m && group.point[q] == p
                               ? Real(-1)
                               : (joined.points[q].rb - from.rb).squaredNorm();
        if (apart < least) least = apart, nearest = q;
      }
      joined.points[nearest].impulse += from.impulse;
      joined.points[nearest].carried += from.carried;
    }
  }
}

}  // namespace

void join_faces(const Rigid::Model& model, const Rigid::State& state, RigidWorkspace& w) {
  JoinedFaces& f = w.joined_faces;
  f.candidates.clear(), f.members.clear(), f.groups.clear();
  const auto has_several = [&](Index body) { return model.first[body + 1] - model.first[body] > 1; };
  bool any = w.manifolds.size() > w.pairs.size();
  for (std::size_t i = 0; i < model.motion.size() && !any; ++i) any = has_several(static_cast<Index>(i));
  if (!any) return;
  for (std::size_t k = 0; k < w.contacts.size(); ++k) {
    const Index slot = w.contact_slot[k], pair = w.pair_of[slot];
    const Index a = model.colliders[w.pairs[pair][0]].body, b = model.colliders[w.pairs[pair][1]].body;
    const bool of_several =
        has_several(a) || has_several(b) || w.first_slot[pair + 1] - w.first_slot[pair] > 1;
    if (of_several && is_of_faces(w.contacts[k])) f.candidates.push_back({a, b, static_cast<Index>(k)});
  }
  if (f.candidates.size() < 2) return;
  std::sort(f.candidates.begin(), f.candidates.end(),
            [](const JoinedFaces::Candidate& p, const JoinedFaces::Candidate& q) {
              return std::tie(p.body_a, p.body_b, p.contact) < std::tie(q.body_a, q.body_b, q.contact);
            });
  for (std::size_t first = 0; first < f.candidates.size(); ++first) {
    const JoinedFaces::Candidate from = f.candidates[first];
    if (from.contact < 0) continue;  // one with another
    const ContactInput lead = w.contacts[from.contact];
    if (lead.count < 3) continue;
    const LeadPlane plane(lead);
    JoinedFaces::Group group{f.members.size(), 0, 0, {}, {}};
    f.members.push_back({from.contact, lead});
    for (std::size_t k = first + 1; k < f.candidates.size(); ++k) {
      JoinedFaces::Candidate& other = f.candidates[k];
      if (other.body_a != from.body_a || other.body_b != from.body_b) break;
      if (other.contact < 0 || !plane.has(w.contacts[other.contact])) continue;
      f.members.push_back({other.contact, w.contacts[other.contact]});
      w.contacts[other.contact].count = 0;
      other.contact = -1;
    }
    group.end = f.members.size();
    if (group.end - group.first == 1) {
      f.members.pop_back();
      continue;
    }
    // An axis of the second body, the least along the normal, turned aside: no side of a box is along it.
    const Mat3 axes = state.frames.rotation(from.body_b).toRotationMatrix();
    int least = 0;
    (lead.normal.transpose() * axes).cwiseAbs().minCoeff(&least);
    const Vec3 side = (axes.col(least) - lead.normal.dot(axes.col(least)) * lead.normal).normalized();
    const Vec3 along = Real(0.8) * side + Real(0.6) * lead.normal.cross(side);
    Place corners[4];
    group.count = corners_of(f.members, group, along, lead.normal.cross(along), corners);
    ContactInput& joined = w.contacts[from.contact];
    joined.count = group.count;
    for (int q = 0; q < group.count; ++q) {
      group.member[q] = corners[q].member, group.point[q] = corners[q].point;
      joined.points[q] = f.members[corners[q].member].alone.points[corners[q].point];
      joined.points[q].impulse = joined.points[q].carried = 0;
    }
    joined.friction_impulse.setZero(), joined.twist_impulse = 0;
    for (std::size_t m = group.first; m < group.end; ++m) {
      joined.friction_impulse += f.members[m].alone.friction_impulse;
      joined.twist_impulse += f.members[m].alone.twist_impulse;
      joined.jointed |= f.members[m].alone.jointed;
    }
    take_over(f.members, group, joined);
    f.groups.push_back(group);
  }
}

void part_faces(RigidWorkspace& w) {
  JoinedFaces& f = w.joined_faces;
  for (const JoinedFaces::Group& group : f.groups) {
    const Index lead = f.members[group.first].contact;
    const ContactInput joined = w.contacts[lead];
    bool presses = joined.bounced;
    for (int q = 0; q < group.count; ++q) presses |= joined.points[q].impulse > 0;
    for (std::size_t m = group.first; m < group.end; ++m) {
      ContactInput& c = w.contacts[f.members[m].contact];
      c = f.members[m].alone;
      for (int p = 0; p < c.count; ++p) c.points[p].impulse = c.points[p].carried = 0;
      c.friction_impulse.setZero(), c.twist_impulse = 0;
      c.bounced = presses;
      if (f.members[m].contact != lead)
        w.gifts[f.members[m].contact] = {Vec3::Zero(), Vec3::Zero(), Vec3::Zero()};
    }
    for (int q = 0; q < group.count; ++q) {
      const JoinedFaces::Member& from = f.members[group.member[q]];
      ContactInput::Point& to = w.contacts[from.contact].points[group.point[q]];
      to.impulse = joined.points[q].impulse, to.carried = joined.points[q].carried;
    }
    ContactInput& first = w.contacts[f.members[group.first].contact];
    first.friction_impulse = joined.friction_impulse, first.twist_impulse = joined.twist_impulse;
  }
}

}}  // namespace plenum::PLENUM_ABI::detail
