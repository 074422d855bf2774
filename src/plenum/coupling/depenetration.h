#pragma once
// What begins inside of a solid comes out of it, slowly.
#include <cstdint>
#include <span>
#include <vector>

#include "plenum/coupling/swept_solid.h"
#include "plenum/geometry/overlaps.h"

namespace plenum::inline PLENUM_ABI {

/// [m/s] at which samples are pushed out at most, as physics engines cap it (PhysX, maxDepenetrationVelocity;
/// Box2D, maxContactPushSpeed, 3 m/s). One that is left with all of it rises by 5 cm.
inline constexpr Real push_out_speed = 1;

/// What of a boundary's samples is inside of one body.
struct SamplesInside {
  Index body;
  std::size_t samples = 0;
  Real depth = 0;  ///< [m] of the deepest
};

/// A sample that starts a step inside of a body which it is pushed out of.
struct Buried {
  std::size_t system;  ///< that the body is of
  Index sample, body;
};

/// Whether `sample` is of them with `body`; of one system, in order.
bool is_buried(std::span<const Buried> buried, Index sample, Index body);

/// Appends to `out` the bodies of `b`, where they are now, that have samples of `a` inside of them deeper
/// than what samples keep from solids, or than a quarter of the body's least extent, but for those `spared`.
void find_inside(const Boundary& a, const Boundary& b, std::vector<SamplesInside>& out,
                 std::span<const Buried> spared = {});

/// A solid that lies across faces, or wholly inside of a tetrahedron, between samples.
struct SolidBetween {
  Index body;
  FacesInside faces;  ///< none: it is in a tetrahedron
};

/// Appends to `out` the bodies of `b` that lie between samples of `a`, as deep as find_inside() asks for, but
/// for those that have `samples` inside, and for samples `spared`. overlaps: of a's samples.
void find_between(const Boundary& a, const MeshOverlaps& overlaps, const Boundary& b,
                  std::span<const SamplesInside> samples, std::vector<SolidBetween>& out,
                  std::span<const Buried> spared = {});

/// Pushes samples that are buried out. For each step of a boundary: begin(), add() for every other system
/// that has bodies, find(); supports() before the step, if it takes them; move() after it.
///
/// What hangs together goes one way, the shortest found on which all of it comes out of every solid: samples
/// that go each to its nearest surface tear what they belong to apart. A piece that nothing holds is carried
/// that way, with all its samples and without getting a velocity of its own: it gains the energy of being
/// lifted and no more. What is buried of it rests meanwhile as on a floor across that way, and what a solid
/// sticks in between is carried through the solid after it. Of a piece that something else holds (pins,
/// wires) the buried samples are driven, never faster than what gravity alone stops until they are out, and
/// by no more than a tenth of Samples::reach in a step.
class Depenetration {
 public:
  void begin(const Boundary& a, Real h);
  /// Bodies of the system `system` on their way through the part [s0, s1] of the substep; active(body): those
  /// that samples are pushed out of.
  template <class Active>
  void add(std::size_t system, std::span<const SolidBody> bodies, Real s0, Real s1, Active&& active) {
    sweep(bodies, s0, s1, largest_radius_, swept_);
    for (std::size_t k = 0; k < swept_.size(); ++k)
      solids_.push_back({swept_[k], system, Index(k), active(Index(k))});
  }
  /// Finds what is buried, and which way it is to go.
  void find(const Boundary& a);
  void clear();
  bool empty() const { return buried_.empty(); }

  /// Whether a body of a system has something buried in it.
  bool has(std::size_t system, Index body) const;
  /// What is buried in bodies of a system.
  std::span<const Buried> buried_in(std::size_t system) const;
  /// Appends the supports that buried samples have meanwhile by bodies of a system.
  void supports(const Samples& samples, std::size_t system, std::vector<Support>& out) const;
  /// After the step: carries and holds.
  void move(Boundary& a);
  /// Then: what bodies of a system get in return. Valid until the next call.
  std::span<const BodyImpulse> reactions(std::size_t system);

 private:
  struct Solid {
    SweptSolid swept;
    std::size_t system;
    Index body;
    bool active;
  };
  struct Member {  // a buried sample, by the deepest of the bodies it is in
    Index piece, sample, solid;
    Real depth;   // [m] from where it may be
    Vec3 normal;  // of the nearest surface
  };
  struct Piece {
    std::size_t first, end;                  // in members_
    std::size_t all_first = 0, all_end = 0;  // of its samples in all_, if it is carried
    bool carried;
    Vec3 direction = Vec3::Zero();
    Real way = 0;  // [m] to go
    Real speed = 0;
  };
  Real radius_of(const Samples& samples, Index i) const {
    return samples.radii.empty() ? samples.radius : samples.radii[std::size_t(i)];
  }
  void gather(const Boundary& a);
  Real way_out(const Vec3& x, Real radius, const Vec3& along, Real most) const;
  Real way_of(const Samples& samples, const Piece& piece, const Vec3& along, Real most) const;
  void choose_way(const Samples& samples, Piece& piece) const;
  void let_follow(const Samples& samples, const Piece& piece);

  Real h_ = 0, largest_radius_ = 0;
  std::vector<SweptSolid> swept_;
  std::vector<Solid> solids_;
  std::vector<std::vector<Member>> blocks_;
  std::vector<std::vector<Buried>> buried_blocks_;
  std::vector<Buried> buried_;
  std::vector<Member> members_;
  std::vector<Piece> pieces_;
  Pieces connected_;
  std::vector<Index> piece_of_;  // in pieces_, or -1; of connected_
  std::vector<Index> all_;       // samples of pieces that are carried
  std::vector<SampleImpulse> moves_;
  struct Given {
    std::size_t system;
    BodyImpulse impulse;
  };
  std::vector<Given> given_;
  std::vector<BodyImpulse> reactions_;
};

}  // namespace plenum::inline PLENUM_ABI
