#pragma once
// Liquids: what light does at their surface and on its way through them.
#include <vector>

#include "plenum/draw/detail/batches.h"
#include "plenum/draw/detail/targets.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// The liquids of a picture. Their nearest surface is drawn over the finished picture of all that is solid,
/// which is what is seen through it. Other layers, of the same or of another liquid, are not seen through it.
class LiquidLayer {
 public:
  LiquidLayer();
  void clear() { num_batches_ = 0; }
  bool empty() const { return num_batches_ == 0; }
  /// Copies a view; `casters` grows by its box.
  void add(const LiquidView& view, DrawMesh& scratch, Aabb& casters);
  /// Over `picture`, whose depths it is tested against and joins. `surface`: depths along the view of what is
  /// solid, in w.
  void draw(const Target& picture, const Target& surface);

 private:
  struct Batch {
    TriangleBatch mesh;
    Vec3 absorption, scattering;
    Real refractive_index;
  };
  void draw_triangles(const GlProgram& program);

  GlProgram front_, back_;
  std::vector<Batch> batches_;
  std::size_t num_batches_ = 0;
  Target behind_, back_depth_;
};

}}  // namespace plenum::PLENUM_ABI::detail
