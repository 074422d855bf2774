#pragma once
// What one view leaves on the graphics side.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plenum/draw/detail/corners.h"
#include "plenum/draw/detail/gl.h"
#include "plenum/draw/detail/shaders.h"
#include "plenum/geometry/aabb.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// How a batch takes light; colours are linear.
struct Material {
  Vector3<float> front, back;
  float roughness = 0.5f, specular = 0.04f, sheen = 0, through = 0;
};
Material material_of(Look look, int palette);

/// How much marks cover of what is behind them, and where something is before them.
struct MarkOpacity {
  float seen, hidden;
};
/// Of what is drawn over the picture; none for what is part of it.
std::optional<MarkOpacity> opacity_of(Look look, Shape shape);

/// A coloured quantity; which range and map it has is settled when all views are in.
struct Colouring {
  int quantity = -1;     ///< index of the renderer's quantities, -1 for none
  bool is_dyed = false;  ///< by the vertices' own colours
};

struct TriangleBatch {
  GlVertexArray vertex_array = make_vertex_array();
  GlBuffer vertices = make_buffer(), indices = make_buffer();
  GLsizei num_indices = 0;
  Aabb box;  ///< of what is uploaded
  /// Which batch of the picture has what is drawn: this one, or an earlier one of a view of the same arrays.
  std::size_t geometry = 0;
  Pose pose;
  Real scale = 1;
  Material material;
  Colouring colouring;
  std::optional<MarkOpacity> mark;

  TriangleBatch();
  void upload(const DrawMesh& mesh);
};

/// Spheres (2 texels an item) or capsules (3 texels an item).
struct ItemBatch {
  GlBuffer buffer = make_buffer();
  GlTexture texture;
  Shape shape = Shape::spheres;
  int num_items = 0;
  bool throws_shadow = true;
  Material material;
  Colouring colouring;
  std::optional<MarkOpacity> mark;

  ItemBatch();
  void upload(std::span<const float> texels, int count);
};

/// Indices that draw four vertices an item as two triangles; grows as needed.
class QuadIndices {
 public:
  /// Binds a vertex array whose index buffer holds at least `items` quads.
  void bind(int items);

 private:
  GlVertexArray vertex_array_ = make_vertex_array();
  GlBuffer indices_ = make_buffer();
  int capacity_ = 0;
};

}}  // namespace plenum::PLENUM_ABI::detail
