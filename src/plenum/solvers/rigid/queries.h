#pragma once
// Questions about where rigid bodies are: rays, moving shapes, overlaps, nearest points.
#include <optional>
#include <vector>

#include "plenum/geometry/bvh.h"
#include "plenum/solvers/rigid/rigid.h"

namespace plenum::inline PLENUM_ABI {

/// The colliders of a state as it was at the last update(), for any number of questions, from any threads.
/// Answers depend on model and state alone; of equally good ones the lowest collider is given.
///
/// Meshes are their triangles, met from both sides, and if closed what is inside of them; height fields are
/// the ground below them down without end, with sides below the border of their rectangle, which overlaps and
/// casts meet, rays and nearest points do not. (Contacts of bodies know fronts alone.)
class RigidQueries {
 public:
  struct Filter {
    std::uint32_t layers = ~0u;  ///< of the colliders that count
    /// Bits of the asker's own layers: colliders that pass through all of them do not count.
    std::uint32_t own_layers = ~0u;
    Index ignored_body = -1;
    bool sensors = false;  ///< whether sensors count, which nothing stops at
  };
  /// What a ray meets, or a moving shape.
  struct Hit {
    Index collider;
    Index body;
    Real t;       ///< of the ray; of a moving shape the fraction of its way, 0 to 1
    Vec3 x;       ///< [m] of the surface met
    Vec3 normal;  ///< unit, out of the collider; of a moving shape and a mesh towards the shape
  };
  struct Nearest {
    Index collider;
    Index body;
    Real distance;  ///< [m] negative inside
    Vec3 x;         ///< [m] of the surface
  };

  RigidQueries() = default;
  RigidQueries(const Rigid::Model& model, const Rigid::State& state) { update(model, state); }
  /// Takes in where the bodies are now. The model must outlive the queries. Allocates nothing once it has met
  /// as many colliders.
  void update(const Rigid::Model& model, const Rigid::State& state);

  /// First collider along a ray, from either side of its surface.
  std::optional<Hit> ray(const Ray& ray, const Filter& filter) const;
  std::optional<Hit> ray(const Ray& r) const { return ray(r, Filter{}); }

  /// First touch of a convex shape (not a plane) that moves from one pose to another, straight and turning at
  /// a constant rate the shorter way: the first moment at which it would overlap(); t = 0 if it starts so. By
  /// conservative advancement: stops at most `tolerance` [m, > 0] before the touch (earlier where it turns so
  /// far so near beside something that a thousand steps do not settle it) and never after it, however small
  /// the shape or long the way. Throws Error for other shapes.
  std::optional<Hit> cast(const Shape& shape, const Pose& from, const Pose& to, Real tolerance,
                          const Filter& filter) const;
  std::optional<Hit> cast(const Shape& shape, const Pose& from, const Pose& to, Real tolerance) const {
    return cast(shape, from, to, tolerance, Filter{});
  }

  /// Colliders, in order, that share a point with a convex shape (not a plane), wherever its centre is; also
  /// those that it is wholly inside of. Throws Error for other shapes.
  void overlap(const Shape& shape, const Pose& pose, std::vector<Index>& colliders,
               const Filter& filter) const;
  void overlap(const Shape& shape, const Pose& pose, std::vector<Index>& colliders) const {
    overlap(shape, pose, colliders, Filter{});
  }

  /// The nearest surface within max_distance [m] of a point; inside of a collider, however deep, counts as
  /// distance 0 for the choice. Open meshes have no inside.
  std::optional<Nearest> nearest(const Vec3& x, Real max_distance, const Filter& filter) const;
  std::optional<Nearest> nearest(const Vec3& x, Real max_distance) const {
    return nearest(x, max_distance, Filter{});
  }

 private:
  bool counts(Index collider, const Filter& filter) const;
  template <class Visit>
  void near(const Aabb& box, Visit&& visit) const;

  const Rigid::Model* model_ = nullptr;
  std::vector<Pose> poses_;                // [K]
  std::vector<Aabb> boxes_;                // of the bounded ones
  std::vector<Index> bounded_, infinite_;  // colliders; planes and height fields are infinite
  Bvh tree_;
  Bvh::Scratch scratch_;
};

}  // namespace plenum::inline PLENUM_ABI
