#include "plenum/draw/camera.h"

#include <numbers>

namespace plenum::inline PLENUM_ABI {

namespace {
void include(Aabb& box, const Vec3& x, Real radius = 0) {
  if (x.allFinite()) box.extend(Aabb{x, x}.grown(radius));
}
}  // namespace

void BoundsSink::triangles(const TriangleView& view) {
  Aabb& box = view.look == Look::obstacle ? obstacles : subject;
  const auto num_vertices = Index(view.x.size());
  // Only vertices that a triangle uses are seen.
  for (const Index3& t : view.triangles)
    for (int k = 0; k < 3; ++k)
      if (t[k] >= 0 && t[k] < num_vertices) include(box, view.pose * view.x[t[k]]);
}
void BoundsSink::spheres(const SphereView& view) {
  Aabb& box = view.look == Look::obstacle ? obstacles : subject;
  for (std::size_t i = 0; i < view.x.size(); ++i)
    include(box, view.x[i], i < view.radii.size() ? view.radii[i] : view.radius);
}
void BoundsSink::lines(const LineView& view) {
  Aabb& box = view.look == Look::obstacle ? obstacles : subject;
  const auto num_points = Index(view.x.size());
  for (const Index2& s : view.segments)
    for (int k = 0; k < 2; ++k)
      if (s[k] >= 0 && s[k] < num_points) include(box, view.x[s[k]], view.radius);
}

Vec3 Camera::forward() const {
  const Vec3 d = target - eye;
  const Real length = d.norm();
  return length > 0 ? Vec3(d / length) : Vec3(-Vec3::UnitZ());
}
Vec3 Camera::right() const {
  const Vec3 f = forward();
  Vec3 r = f.cross(up);
  if (r.norm() <= Real(1e-6) * up.norm())
    r = f.cross(std::abs(f.y()) < Real(0.9) ? Vec3::UnitY() : Vec3::UnitX());
  return r.normalized();
}

void Camera::orbit(Real yaw, Real pitch) {
  const Vec3 axis = up.normalized();
  Vec3 arm = Eigen::AngleAxis<Real>(yaw, axis) * Vec3(eye - target);
  const Vec3 side = Vec3(Eigen::AngleAxis<Real>(yaw, axis) * right());
  // Angle between the arm and the up axis, kept off both poles.
  const Real polar = std::acos(std::clamp<Real>(arm.normalized().dot(axis), -1, 1));
  const Real wanted = std::clamp<Real>(polar - pitch, Real(0.05), std::numbers::pi_v<Real> - Real(0.05));
  arm = Eigen::AngleAxis<Real>(wanted - polar, side) * arm;
  eye = target + arm;
}
void Camera::pan(Real x, Real y) {
  const Real height = 2 * distance() * std::tan(field_of_view / 2);
  const Vec3 r = right(), move = height * (x * r + y * r.cross(forward()));
  eye += move;
  target += move;
}
void Camera::zoom(Real factor) {
  eye = target + factor * (eye - target);
}

Vec3 Camera::ray(Real x, Real y, Real aspect) const {
  const Vec3 f = forward(), r = right();
  const Real t = std::tan(field_of_view / 2);
  return (f + x * t * aspect * r + y * t * r.cross(f)).normalized();
}

Camera frame(const Aabb& box, Real aspect, const Framing& framing) {
  Aabb subject = box;
  if (subject.empty()) include(subject, Vec3::Zero(), Real(0.5));
  const Real ce = std::cos(framing.elevation), se = std::sin(framing.elevation);
  const Vec3 back(std::sin(framing.azimuth) * ce, se, std::cos(framing.azimuth) * ce);

  Camera camera;
  camera.field_of_view = framing.field_of_view;
  camera.target = subject.centre();
  camera.eye = camera.target + back;
  const Vec3 r = camera.right(), u = r.cross(camera.forward());
  const Real ty = std::tan(framing.field_of_view / 2) / framing.room, tx = ty * aspect;

  // A corner c (relative to the target, b along `back`) is inside the frame when |c.u| <= (d - b) t; the view
  // may also slide sideways, so each axis asks for the smallest distance at which its two sides fit, and the
  // slide that centres them.
  std::array<Vec3, 8> corners;
  for (int k = 0; k < 8; ++k)
    corners[k] = Vec3(k & 1 ? subject.high.x() : subject.low.x(), k & 2 ? subject.high.y() : subject.low.y(),
                      k & 4 ? subject.high.z() : subject.low.z()) -
                 camera.target;
  const auto fit = [&](const Vec3& axis, Real t, Real& slide) {
    Real above = std::numeric_limits<Real>::lowest(), below = above;  // of +-c.axis + b t
    for (const Vec3& c : corners) {
      above = std::max(above, c.dot(axis) + c.dot(back) * t);
      below = std::max(below, -c.dot(axis) + c.dot(back) * t);
    }
    slide = (above - below) / 2;
    return (above + below) / (2 * t);
  };
  Real slide_x = 0, slide_y = 0;
  Real distance = std::max(fit(r, tx, slide_x), fit(u, ty, slide_y));
  const Real size = subject.size().norm();
  distance = std::max({distance, size, Real(1e-4)});
  camera.target += slide_x * r + slide_y * u;
  camera.eye = camera.target + distance * back;
  return camera;
}

FollowCamera::FollowCamera(Real aspect, const Framing& framing, Real memory) noexcept
    : aspect_(aspect), memory_(memory), framing_(framing) {}

Camera FollowCamera::update(const Aabb& box, Real dt) {
  clock_ += dt;
  if (!box.empty()) seen_.push_back({clock_, box});
  std::erase_if(seen_, [&](const Seen& s) { return s.time < clock_ - memory_; });
  Aabb all;
  for (const Seen& s : seen_) all.extend(s.box);
  const Camera wanted = frame(all, aspect_, framing_);
  const Real wanted_distance = wanted.distance();
  if (!started_) {
    started_ = true;
    target_ = wanted.target;
    distance_ = wanted_distance;
  } else if (dt > 0) {
    // Critically damped spring, its exact solution over dt: e(t) = (e0 + (v0 + w e0) t) exp(-w t).
    const Real w = Real(2.5), decay = std::exp(-w * dt);
    const auto approach = [&](auto& value, auto& rate, const auto& goal) {
      const auto error = (value - goal).eval();
      const auto lead = (rate + w * error).eval();
      value = goal + (error + lead * dt) * decay;
      rate = (lead - w * (error + lead * dt)) * decay;
    };
    approach(target_, target_rate_, wanted.target);
    Vector2<Real> d(distance_, 0), rate(distance_rate_, 0);
    approach(d, rate, Vector2<Real>(wanted_distance, 0));
    distance_ = d.x();
    distance_rate_ = rate.x();
  }
  Camera camera = wanted;
  camera.target = target_;
  camera.eye = target_ + distance_ * (wanted.eye - wanted.target).normalized();
  return camera;
}

}  // namespace plenum::inline PLENUM_ABI
