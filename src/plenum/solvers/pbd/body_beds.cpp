// Rigid bodies on particles that lie on what does not yield, as plates do on a cloth on a table.
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>

#include "plenum/solvers/pbd/detail/bodies.h"

namespace plenum::inline PLENUM_ABI {

using D3 = Vector3<double>;
using M3 = Matrix3<double>;

/// Bodies on particles that lie on what does not yield: where one, or several about a face, bear it as they
/// would one by one, many do not agree on how in as many sweeps as there are. So the face and they touch at
/// four points that are far from each other, as faces of two bodies do; what these press and rub is shared
/// by all.
void PbdBodies::lay_bodies(const PbdParticles& p) {
  laid_.clear();
  for (std::size_t first = 0, last = 0; first < touches_.size(); first = last) {
    while (last < touches_.size() && touches_[last].body == touches_[first].body) ++last;
    lay_body(first, last, p);
  }
}

void PbdBodies::lay_body(std::size_t first, std::size_t last, const PbdParticles& p) {
  constexpr double alike = 0.98, level = 0.1;  // cosine of normals; part of the gap
  const Index on = touches_[first].body;
  const Body& body = bodies_[std::size_t(on)];
  const auto at = [&](const Touch& touch) -> D3 {
    const detail::Place& place = p.places[std::size_t(touch.particle)];
    return p.x0[std::size_t(touch.particle)].cast<double>() +
           D3(double(place.x[0]), double(place.x[1]), double(place.x[2]));
  };
  const auto open = [&](const Touch& touch) {
    return touch.n.dot(at(touch) - body.x - body.q * touch.on) - touch.gap;
  };
  const Touch* deepest = nullptr;
  double least = 0;
  for (std::size_t k = first; k < last; ++k) {
    const Touch& touch = touches_[k];
    if (!(borne(touch, p).dot(touch.n) < -alike)) continue;
    const double depth = open(touch);
    if (depth < least) least = depth, deepest = &touch;
  }
  if (!deepest) return;
  const D3 n = -deepest->n, u = n.unitOrthogonal(), v = n.cross(u);
  Patch patch{};
  patch.n = n;
  patch.friction = deepest->friction, patch.restitution = deepest->restitution;
  patch.first = laid_.size();
  const Touch* corner[4] = {};
  double farthest[4];
  for (std::size_t k = first; k < last; ++k) {
    Touch& touch = touches_[k];
    if (borne(touch, p).isZero(0) || n.dot(touch.n) > -alike || open(touch) - least > level * touch.gap)
      continue;
    laid_.push_back(touch.particle);
    touch.is_laid = true;
    const D3 x = at(touch) - body.x;
    // Turned a little, so that no two of a row of a grid are as far as each other.
    const double along = u.dot(x) + 0.2 * v.dot(x), across = v.dot(x) - 0.2 * u.dot(x);
    const double far[4] = {along, across, -along, -across};
    for (int c = 0; c < 4; ++c)
      if (!corner[c] || far[c] > farthest[c]) corner[c] = &touch, farthest[c] = far[c];
  }
  patch.laid = laid_.size() - patch.first;
  if (patch.laid < 3) {  // they bear it one by one
    laid_.resize(patch.first);
    for (std::size_t k = first; k < last; ++k) touches_[k].is_laid = false;
    return;
  }
  for (int c = 0; c < 4; ++c) {
    bool is_new = true;
    for (int other = 0; other < c; ++other) is_new &= corner[other] != corner[c];
    if (!is_new) continue;
    const Touch& touch = *corner[c];
    Point& point = patch.points[patch.count++];
    point.a = {-1, -1, at(touch).cast<Real>()};
    point.b = {-1, on, touch.on.cast<Real>()};
    point.gap = touch.gap;
    point.approach = touch.approach;
  }
  patches_.push_back(patch);
}

/// As of what does not bend: of(i) of its particles.
template <class Of>
auto PbdBodies::motion_of_bed(const Patch& patch, const PbdParticles& p, Of&& of) const -> BedMotion {
  BedMotion out;
  double mass = 0;
  const auto each = [&](auto&& f) {
    for (std::size_t k = 0; k < patch.laid; ++k) {
      const auto i = std::size_t(laid_[patch.first + k]);
      const detail::Place& place = p.places[i];
      const D3 x = p.x0[i].cast<double>() + D3(double(place.x[0]), double(place.x[1]), double(place.x[2]));
      f(1 / double(place.inverse_mass), x, D3(of(i)));
    }
  };
  each([&](double m, const D3& x, const D3& v) { mass += m, out.centre += m * x, out.mean += m * v; });
  out.centre /= mass, out.mean /= mass;
  D3 moment = D3::Zero();
  M3 inertia = M3::Zero();
  each([&](double m, const D3& x, const D3& v) {
    const D3 r = x - out.centre;
    moment += m * r.cross(v - out.mean);
    inertia += m * (r.squaredNorm() * M3::Identity() - r * r.transpose());
  });
  const Eigen::LDLT<M3> factors(inertia);
  // What lies on a line does not tell how it turns about it.
  if (factors.isPositive() && factors.rcond() > 1e-6) out.spin = factors.solve(moment);
  return out;
}

/// What the particles under a patch do by themselves, once what bears them has held them.
void PbdBodies::find_bed(Patch& patch, const PbdParticles& p) const {
  Bed& bed = patch.bed;
  bed = {};
  double mass = 0;
  for (std::size_t k = 0; k < patch.laid; ++k) {
    const auto i = std::size_t(laid_[patch.first + k]);
    const detail::Place& place = p.places[i];
    const PbdRest& rest = p.rests[i];
    const double m = 1 / double(place.inverse_mass);
    mass += m;
    bed.way +=
        m * (D3(double(place.x[0]), double(place.x[1]), double(place.x[2])) - p.gone[i].cast<double>());
    bed.slid += m * rest.slid.cast<double>(), bed.rubbed += m * rest.rubbed.cast<double>();
    bed.bound += m * double(rest.friction) * double(rest.pushed + rest.load);
    bed.friction_below += m * double(rest.friction);
  }
  bed.yields = 1 / mass;
  bed.friction_below *= bed.yields;
  bed.way = bed.yields * (bed.way + patch.given), bed.slid = bed.yields * (bed.slid + patch.given);
  bed.turn = patch.n.dot(motion_of_bed(patch, p, [&](std::size_t i) -> D3 {
                           const detail::Place& place = p.places[i];
                           return D3(double(place.x[0]), double(place.x[1]), double(place.x[2])) -
                                  p.gone[i].cast<double>();
                         }).spin);
}

/// Friction of a body on a bed, [kg m] on the body, after `rubbed`. A bed is light: by itself it would go
/// with the body, and be taken back by what bears it only when the body has been given next to nothing. So
/// both are found at once. Either what bears the bed holds it, and the body rubs on what does not yield; or
/// it gives all that it can against the bed's way.
///
/// t: across the normal; response [1/kg] and way [m] of the body, bound [kg m] of its friction; pressed
/// [kg m] by the body, on what bears the bed, that the bed's bound does not have yet.
auto PbdBodies::rub_on_bed(const Bed& bed, double pressed, const D3& rubbed,
                           const Eigen::Matrix<double, 3, 2>& t, const M3& response, const D3& way,
                           double bound, bool& slides) -> D3 {
  const auto rub_on = [&](const D3& carried, double yields) {
    const Eigen::Matrix2d k = t.transpose() * (response + yields * M3::Identity()) * t;
    return k.determinant() > 0 ? rub_within(k, t, rubbed, way - carried, bound) : rubbed;
  };
  const D3 on_held = rub_on(bed.way - bed.slid, 0);
  const D3 holds = bed.rubbed - bed.slid / bed.yields + on_held;  // against the bed's way, to stop it
  const double most = std::max(0.0, bed.bound + bed.friction_below * pressed), needed = holds.norm();
  slides = needed > most;
  if (!slides) return on_held;
  const D3 from_below = (most / needed) * holds;
  return rub_on(bed.way + bed.yields * (from_below - bed.rubbed - rubbed), bed.yields);
}

/// [m/s]
auto PbdBodies::velocity_of_bed(const Patch& patch, const PbdParticles& p, Real h) const -> BedMotion {
  return motion_of_bed(patch, p, [&](std::size_t i) { return velocity_on_rest(i, p, h); });
}

/// What lies on particles presses and rubs them.
void PbdBodies::press_laid(const PbdParticles& p) {
  for (Patch& patch : patches_) {
    if (patch.laid == 0) continue;
    double pressed = 0;
    for (int i = 0; i < patch.count; ++i) pressed += patch.points[i].pushed;
    const Vec3 by = (-patch.bed.yields * (patch.rubbed - patch.given)).cast<Real>();
    const Real load = Real(patch.bed.yields * (pressed - patch.pressed));
    for (std::size_t k = 0; k < patch.laid; ++k) {
      const auto i = std::size_t(laid_[patch.first + k]);
      for (int c = 0; c < 3; ++c) p.places[i].x[c] += by[c];
      p.rests[i].slid += by, p.rests[i].load += load;
    }
    patch.given = patch.rubbed, patch.pressed = pressed;
  }
}

}  // namespace plenum::inline PLENUM_ABI
