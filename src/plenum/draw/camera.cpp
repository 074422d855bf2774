#include "plenum/draw/camera.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace plenum::inline PLENUM_ABI {

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
  return (f + (x - shift) * t * aspect * r + y * t * r.cross(f)).normalized();
}

std::optional<Vec2> Camera::project(const Vec3& point, Real aspect) const {
  const Vec3 f = forward(), r = right(), to = point - eye;
  const Real depth = to.dot(f), t = std::tan(field_of_view / 2);
  if (!(depth > 0)) return {};
  return Vec2(to.dot(r) / (depth * t * aspect) + shift, to.dot(r.cross(f)) / (depth * t));
}

// A point c lies inside the picture of an eye e when |(c - e) . right| <= slope_x (e - c) . back, that is
// when e is beyond the two planes through c with normals +-right + slope_x back; likewise upwards. So the
// supremum over all points along four directions is all there is to know, and the nearest eye lies on the
// planes.
SubjectFrame::SubjectFrame(Real aspect, const Framing& framing) : framing_(framing) {
  const Real ce = std::cos(framing.elevation), se = std::sin(framing.elevation);
  back_ = Vec3(std::sin(framing.azimuth) * ce, se, std::cos(framing.azimuth) * ce);
  Camera camera;
  camera.eye = back_;
  right_ = camera.right();
  up_ = right_.cross(camera.forward());
  slope_y_ = std::tan(framing.field_of_view / 2) / framing.room;
  slope_x_ = slope_y_ * aspect;
  reach_.fill(std::numeric_limits<Real>::lowest());
  nearest_ = std::numeric_limits<Real>::lowest();
  farthest_ = std::numeric_limits<Real>::max();
}

void SubjectFrame::include(const Vec3& x, Real radius) {
  if (!x.allFinite() || !std::isfinite(radius)) return;
  const Real across = x.dot(right_), upward = x.dot(up_), along = x.dot(back_);
  const Real wide_x = radius * std::sqrt(1 + slope_x_ * slope_x_);
  const Real wide_y = radius * std::sqrt(1 + slope_y_ * slope_y_);
  reach_[0] = std::max(reach_[0], across + slope_x_ * along + wide_x);
  reach_[1] = std::max(reach_[1], -across + slope_x_ * along + wide_x);
  reach_[2] = std::max(reach_[2], upward + slope_y_ * along + wide_y);
  reach_[3] = std::max(reach_[3], -upward + slope_y_ * along + wide_y);
  nearest_ = std::max(nearest_, along + radius);
  farthest_ = std::min(farthest_, along - radius);
}

void SubjectFrame::include(const SubjectFrame& other) {
  for (int k = 0; k < 4; ++k) reach_[k] = std::max(reach_[k], other.reach_[k]);
  nearest_ = std::max(nearest_, other.nearest_);
  farthest_ = std::min(farthest_, other.farthest_);
}

void SubjectFrame::triangles(const TriangleView& view) {
  if (view.look == Look::obstacle) return;
  const auto num_vertices = Index(view.x.size());
  for (const Index3& t : view.triangles)
    for (int k = 0; k < 3; ++k)
      if (t[k] >= 0 && t[k] < num_vertices) include(view.place(view.x[t[k]]));
}
void SubjectFrame::spheres(const SphereView& view) {
  if (view.look == Look::obstacle) return;
  for (std::size_t i = 0; i < view.x.size(); ++i)
    include(view.x[i], i < view.radii.size() ? view.radii[i] : view.radius);
}
void SubjectFrame::lines(const LineView& view) {
  if (view.look == Look::obstacle) return;
  const auto num_points = Index(view.x.size());
  for (const Index2& s : view.segments)
    for (int k = 0; k < 2; ++k)
      if (s[k] >= 0 && s[k] < num_points) include(view.x[s[k]], view.radius);
}

void SubjectFrame::volume(const VolumeView& view) {
  const Vec3 low = view.low, high = view.high();
  for (int k = 0; k < 8; ++k)
    include(Vec3((k & 1 ? high : low).x(), (k & 2 ? high : low).y(), (k & 4 ? high : low).z()));
}

Camera SubjectFrame::camera() const {
  if (empty()) {
    SubjectFrame cube = *this;
    for (int k = 0; k < 8; ++k) cube.include(Vec3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1) / 2);
    return cube.camera();
  }
  Real along = std::max((reach_[0] + reach_[1]) / (2 * slope_x_), (reach_[2] + reach_[3]) / (2 * slope_y_));
  // Never inside the subject, nor on a single point.
  const Real size = std::max(nearest_ - farthest_, Real(1e-3));
  along = std::max(along, nearest_ + Real(0.1) * size);
  Camera camera;
  camera.field_of_view = framing_.field_of_view;
  camera.eye = (reach_[0] - reach_[1]) / 2 * right_ + (reach_[2] - reach_[3]) / 2 * up_ + along * back_;
  camera.target = camera.eye - (along - (nearest_ + farthest_) / 2) * back_;
  return camera;
}

Camera frame(const Aabb& box, Real aspect, const Framing& framing) {
  SubjectFrame subject(aspect, framing);
  if (!box.empty())
    for (int k = 0; k < 8; ++k)
      subject.include(Vec3(k & 1 ? box.high.x() : box.low.x(), k & 2 ? box.high.y() : box.low.y(),
                           k & 4 ? box.high.z() : box.low.z()));
  return subject.camera();
}

Camera FollowCamera::update(const SubjectFrame& subject, Real dt) {
  clock_ += dt;
  seen_.push_back({clock_, subject});
  std::erase_if(seen_, [&](const Seen& s) { return s.time < clock_ - memory_; });
  SubjectFrame all = subject;
  for (const Seen& s : seen_) all.include(s.frame);
  Camera camera = all.camera();
  if (!started_) {
    started_ = true;
    eye_ = camera.eye, target_ = camera.target;
  } else if (dt > 0) {
    // Critically damped spring, its exact solution over dt: e(t) = (e0 + (v0 + w e0) t) exp(-w t).
    const Real w = Real(2.5), decay = std::exp(-w * dt);
    const auto approach = [&](Vec3& value, Vec3& rate, const Vec3& goal) {
      const Vec3 error = value - goal, lead = rate + w * error;
      value = goal + (error + lead * dt) * decay;
      rate = (lead - w * (error + lead * dt)) * decay;
    };
    approach(eye_, eye_rate_, camera.eye);
    approach(target_, target_rate_, camera.target);
  }
  camera.eye = eye_, camera.target = target_;
  return camera;
}

}  // namespace plenum::inline PLENUM_ABI
