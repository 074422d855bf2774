#include "plenum/geometry/collide/surface_cast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "plenum/geometry/collide/detail/advancement.h"
#include "plenum/geometry/collide/detail/surface_source.h"
#include "plenum/geometry/collide/gjk.h"
#include "plenum/geometry/swept_box.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using namespace detail;
using Corners = std::span<const Point>;  // of a triangle, or of a side below a border

constexpr double never = std::numeric_limits<double>::infinity();

Point farthest(Corners x, const Point& d) {
  const Point* best = x.data();
  for (const Point& p : x)
    if (d.dot(p) > d.dot(*best)) best = &p;
  return *best;
}

/// Of a convex set, with a point of it, and a core.
template <class Support>
GjkResult<double> distance_between(Support&& support, const Point& in_it, const Core& core, double relative,
                                   double absolute, double enough) {
  return gjk<double>(
      support, [&](const Point& d) { return core.support(d); }, core.centre() - in_it, relative, absolute,
      enough);
}

bool touches(Corners x, const Core& core) {
  if (core.is_beyond(x.data(), static_cast<int>(x.size()), 0)) return false;
  const double radius = core.radius();
  const auto g =
      distance_between([&](const Point& d) { return farthest(x, d); }, x[0], core, 1e-9, 0, radius);
  return g.overlap || (!(g.lower_bound > radius) && g.distance <= radius);
}

/// Calls visit(corners) for the pieces of a surface, front to back as Bvh::front_to_back(), then those of its
/// sides beside `all`; of those whose boxes have at most `most` by key_of_piece(), a cheaper key().
template <class Source, class Key, class PieceKey, class Visit>
void each_piece(const Source& source, const Aabb& all, const double& most, Key&& key, PieceKey&& key_of_piece,
                Visit&& visit) {
  source.front_to_back(most, key, [&](Index t) {
    Index3 v;
    Vec3 corner[3];
    source.fetch(t, v, corner);
    if (!(key_of_piece(bounds_of(corner)) <= most)) return;
    const Point x[3] = {corner[0].cast<double>(), corner[1].cast<double>(), corner[2].cast<double>()};
    visit(Corners(x));
  });
  source.walls(all, [&](const Point(&x)[4]) {
    Aabb box;
    for (const Point& p : x) box.extend(p.cast<Real>());
    if (key_of_piece(box) <= most) visit(Corners(x));
  });
}

/// A box around the core in the frame that it is placed in, grown by `margin` [m].
SweptBox box_around(const Core& core, double margin) {
  SweptBox box{Point::Zero(), Point::Zero(), Point::Zero()};
  for (int axis = 0; axis < 3; ++axis) {
    const double low = core.support(-Point::Unit(axis))[axis], high = core.support(Point::Unit(axis))[axis];
    box.centre[axis] = 0.5 * (low + high);
    box.half[axis] = 0.5 * (high - low) + core.radius() + margin;
  }
  return box;
}

/// Of coordinates that become single ones and back.
double rounding(const SweptBox& box) {
  return 4 * static_cast<double>(std::numeric_limits<Real>::epsilon()) *
         (box.centre.cwiseAbs() + box.way.cwiseAbs() + box.half).maxCoeff();
}

template <class Source>
bool overlaps(const Source& source, const Core& core) {
  SweptBox box = box_around(core, 0);
  box.half.array() += rounding(box);
  double most = 0;  // and less as soon as one is found
  const auto key = [&](const Aabb& b) { return box.meets(b, 0); };
  each_piece(source, box.whole(), most, key, key, [&](Corners x) {
    if (most == 0 && touches(x, core)) most = -1;
  });
  // What meets no triangle is inside as a whole or not at all.
  return most < 0 || source.is_inside(core.centre());
}

/// A motion as seen from what stands still.
Motion seen_from(const Pose& at, const Sweep& sweep) {
  const Quaternion<double> back = at.rotation.template cast<double>().normalized().conjugate();
  Motion m(sweep, at.position.cast<double>());
  m.p0 = back * m.p0;
  m.velocity = back * m.velocity;
  m.spin = back * m.spin;
  m.q0 = back * m.q0;
  return m;
}

template <class Source>
class Cast {
 public:
  Cast(const Source& source, const Core& core, const Motion& motion, double tolerance, double until)
      : source_(source),
        core_(core),
        motion_(motion),
        still_({{}, Vec3::Zero(), Vec3::Zero()}, Point::Zero()),
        reach_(core.reach()),
        tolerance_(tolerance),
        end_(until) {}

  std::optional<Advance> find() {
    place(0);
    if (overlaps(source_, core_)) {
      const Vec3 centre = core_.centre().template cast<Real>();
      const SignedDistance<Real> d = source_.solid_distance(centre);
      return Advance{0, {0, 0, d.normal.cast<double>(), (centre - d.distance * d.normal).cast<double>()}};
    }
    SweptBox box = box_around(core_, tolerance_);
    if (motion_.spin.squaredNorm() > 0) {
      // However it turns, it is no farther from its origin.
      box.centre = motion_.p0;
      box.half.setConstant(reach_ + core_.radius() + tolerance_);
    }
    box.way = motion_.velocity;
    box.half.array() += rounding(box);
    const auto enters = [&](const Aabb& b) { return box.meets(b, end_); };
    each_piece(
        source_, box.whole(), end_, [&](const Aabb& b) { return enters(b) <= end_ ? reaches(b) : never; },
        enters, [&](Corners x) { meet(x); });
    return first_;
  }

 private:
  void place(double s) { core_.place(motion_.rotation(s), motion_.position(s)); }

  /// How fast, at most, a slab of thickness `room` between the core and what is still closes until it is
  /// gone. Points at p from the origin approach along n at - n . v - (n x w) . p. As they turn these change
  /// by up to |w| |p| per unit of s, so that c1 s + c2 s^2 of the slab is gone after s, or less if it turns
  /// far.
  double closing_speed(const Point& n, double now, double room) const {
    const double most = closing_along(n, still_, 0, motion_, reach_);
    const Point lever = n.cross(motion_.spin);
    const double turning = lever.norm();
    if (!(turning > 0) || !(room > 0)) return most;
    const double c1 = -n.dot(motion_.velocity) - lever.dot(core_.support(-lever) - motion_.position(now)),
                 c2 = 0.5 * turning * motion_.spin.norm() * reach_;
    // room / s of the positive root.
    return std::min(most, 0.5 * (c1 + std::sqrt(c1 * c1 + 4 * c2 * room)));
  }

  /// The first moment before the best at which the core is within `slack` of a convex set. Before that it
  /// does not touch it.
  template <class Support>
  std::optional<Advance> approach(Support&& support, const Point& in_it, double slack) {
    double now = 0, room = 0;
    const auto measure = [&](double s) -> Gap {
      place(s);
      const auto g = distance_between(support, in_it, core_, 1e-6, 0.01 * slack, never);
      now = s, room = g.lower_bound - core_.radius();
      if (!g.overlap) return {g.distance, g.lower_bound, g.normal, g.a};
      const Point apart = core_.centre() - in_it;
      return {0, 0, apart.norm() > 0 ? Point(apart.normalized()) : Point::UnitY(), g.simplex.v[0].a};
    };
    const auto closing = [&](const Point& n) { return closing_speed(n, now, room); };
    return advance(measure, closing, core_.radius(), slack, end_);
  }

  /// When it may touch what is in a box: more roughly than a triangle, as a box is rough itself.
  double reaches(const Aabb& box) {
    const Point low = box.low.template cast<double>(), high = box.high.template cast<double>();
    const auto hit = approach([&](const Point& d) -> Point { return (d.array() < 0).select(low, high); },
                              0.5 * (low + high), std::max(tolerance_, 0.1 * (high - low).norm()));
    return hit ? hit->s : never;
  }

  void meet(Corners x) {
    auto hit = approach([&](const Point& d) { return farthest(x, d); }, x[0], tolerance_);
    if (!hit || (first_ && hit->s >= first_->s)) return;
    // Within the tolerance t what is round, or long and leans, meets a neighbour's edge before the face that
    // it comes down on, with a normal that leans by about sqrt(2 t / radius): the face's is taken where it
    // separates as well.
    place(hit->s);
    Point m = (x[1] - x[0]).cross(x[2] - x[0]).normalized();
    if (m.dot(hit->gap.normal) < 0) m = -m;
    if (m.dot(hit->gap.normal) > 0 && m.dot(core_.support(-m) - x[0]) - core_.radius() >= -tolerance_)
      hit->gap.normal = m;
    first_ = hit;
    end_ = hit->s;
  }

  const Source& source_;
  Core core_;
  const Motion motion_, still_;
  double reach_, tolerance_, end_;
  std::optional<Advance> first_;
};

/// Calls with(source) for a surface; `other` for what is none.
template <class Result, class With>
Result with_source(const Shape& surface, const Result& other, With&& with) {
  if (const auto* mesh = std::get_if<MeshShape>(&surface.variant())) return with(MeshSource(*mesh));
  if (const auto* field = std::get_if<HeightFieldShape>(&surface.variant()))
    return with(HeightSource(*field));
  return other;
}

}  // namespace

SignedDistance<Real> surface_distance(const Shape& surface, const Vec3& x) {
  return with_source(surface, SignedDistance<Real>{std::numeric_limits<Real>::infinity(), Vec3::UnitY()},
                     [&](const auto& source) { return source.solid_distance(x); });
}

bool overlaps_surface(const Shape& surface, const Pose& at, const Shape& shape, const Pose& pose) {
  auto core = Core::of(shape, Pose{});
  if (!core) return false;
  const Motion place = seen_from(at, {pose, Vec3::Zero(), Vec3::Zero()});
  core->place(place.q0, place.p0);
  return with_source(surface, false, [&](const auto& source) { return overlaps(source, *core); });
}

std::optional<Impact> cast_at_surface(const Shape& surface, const Pose& at, const Shape& shape,
                                      const Sweep& sweep, Real tolerance, Real until) {
  const auto core = Core::of(shape, Pose{});
  if (!core) return std::nullopt;
  const Motion motion = seen_from(at, sweep);
  const auto hit = with_source(surface, std::optional<Advance>(), [&](const auto& source) {
    return Cast(source, *core, motion, static_cast<double>(tolerance), static_cast<double>(until)).find();
  });
  if (!hit) return std::nullopt;
  const Quaternion<double> turn = at.rotation.cast<double>().normalized();
  return Impact{static_cast<Real>(hit->s), (turn * hit->gap.normal).cast<Real>(),
                (turn * hit->gap.x + at.position.cast<double>()).cast<Real>()};
}

}  // namespace plenum::inline PLENUM_ABI
