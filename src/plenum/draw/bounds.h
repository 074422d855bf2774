#pragma once
// The bounds of what systems show, for a camera that frames it by itself.
#include "plenum/geometry/aabb.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI {

/// Gathers the bounds of what systems show. Points that are not finite are left out; and so are, of many
/// particles, the few that have flown away from the rest, and of a net or a surface the torn pieces that
/// have.
class BoundsSink final : public DrawableSink {
 public:
  Aabb subject;    ///< everything but obstacles
  Aabb obstacles;  ///< drawables of Look::obstacle

  void triangles(const TriangleView& view) override;
  void spheres(const SphereView& view) override;
  void lines(const LineView& view) override;
  void volume(const VolumeView& view) override;  ///< the whole box: smoke spreads in it
};

}  // namespace plenum::inline PLENUM_ABI
