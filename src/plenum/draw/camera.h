#pragma once
// Where the picture is taken from, and how the subject is framed.
#include <array>
#include <optional>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/geometry/aabb.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI {

/// A perspective camera in a world whose y axis points up.
struct Camera {
  Vec3 eye = {3, 2, 4};             ///< [m]
  Vec3 target = Vec3::Zero();       ///< [m]
  Vec3 up = Vec3::UnitY();          ///< need not be unit nor perpendicular to the view
  Real field_of_view = Real(0.55);  ///< [rad] vertical, in (0, pi)
  /// How far right of the picture's middle the target appears, in half widths: a shifted lens, for a picture
  /// whose left is covered.
  Real shift = 0;

  Vec3 forward() const;  ///< unit
  Vec3 right() const;    ///< unit
  Real distance() const { return (target - eye).norm(); }

  /// Turns about the target by `yaw` about the up axis and `pitch` towards it [rad]; stops short of the
  /// poles.
  void orbit(Real yaw, Real pitch);
  /// Moves eye and target along the picture by fractions of its height at the target; +x right, +y up.
  void pan(Real x, Real y);
  /// Multiplies the distance to the target by `factor` > 0.
  void zoom(Real factor);
  /// Unit direction of the ray from the eye through the point (x, y) of the picture, both from -1 (left,
  /// bottom) to 1.
  Vec3 ray(Real x, Real y, Real aspect) const;
  /// Where a point lies on the picture, the inverse of ray(); none for points behind the eye.
  std::optional<Vec2> project(const Vec3& point, Real aspect) const;
};

struct Framing {
  Real azimuth = Real(0.62);        ///< [rad] of the eye about +y, from +z towards +x
  Real elevation = Real(0.30);      ///< [rad] of the eye above the horizontal
  Real field_of_view = Real(0.55);  ///< [rad] vertical
  Real room = Real(1.28);           ///< the subject fills 1/room of the picture
};

/// What a camera that looks in the direction of `framing` must show: how far everything it was given reaches
/// towards the four sides of a picture of `aspect` = width / height. Obstacles need not be seen, and points
/// that are not finite are left out.
class SubjectFrame final : public DrawableSink {
 public:
  explicit SubjectFrame(Real aspect, const Framing& framing = {});

  void triangles(const TriangleView& view) override;
  void spheres(const SphereView& view) override;
  void lines(const LineView& view) override;
  void volume(const VolumeView& view) override;
  void include(const Vec3& x, Real radius = 0);
  /// What another frame, of the same aspect and framing, must show; for a subject at many times.
  void include(const SubjectFrame& other);

  bool empty() const { return nearest_ < farthest_; }
  /// The nearest camera that shows it all with room around it; for an empty frame, one that shows the unit
  /// cube.
  Camera camera() const;

 private:
  Framing framing_;
  Vec3 back_, right_, up_;
  Real slope_x_, slope_y_;  // tangents of half the angles that the subject may fill
  // Supports along (+-right + slope_x back) and (+-up + slope_y back), and extent along back.
  std::array<Real, 4> reach_;
  Real nearest_, farthest_;
};

/// The camera that frames a box.
Camera frame(const Aabb& box, Real aspect, const Framing& framing = {});

/// A camera for a subject whose motion is not known in advance: it holds still while the subject stays inside
/// the picture and moves and widens smoothly, never jerking, when it leaves. The motion is a critically
/// damped spring towards the framing of all that was shown within the last `memory` seconds.
class FollowCamera {
 public:
  explicit FollowCamera(Real memory = 4) noexcept : memory_(memory) {}
  /// The camera at a time `dt` [s] after the last call. Every frame has the same aspect and framing. The
  /// first call jumps.
  Camera update(const SubjectFrame& subject, Real dt);

 private:
  struct Seen {
    Real time;
    SubjectFrame frame;
  };
  Real memory_, clock_ = 0;
  bool started_ = false;
  std::vector<Seen> seen_;
  Vec3 eye_ = Vec3::Zero(), eye_rate_ = Vec3::Zero();
  Vec3 target_ = Vec3::Zero(), target_rate_ = Vec3::Zero();
};

}  // namespace plenum::inline PLENUM_ABI
