#pragma once
// Vertices ready for drawing: smooth where the surface is smooth, split where it has an edge.
#include <span>
#include <vector>

#include "plenum/base/real.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

struct DrawVertex {
  float position[3];
  float normal[3];
  float value;
  std::uint8_t dye[4];  ///< sRGB, so that eight bits do
};

struct DrawMesh {
  std::vector<DrawVertex> vertices;
  std::vector<std::uint32_t> indices;  // three a triangle

  // Scratch, kept between frames.
  std::vector<Vector3<float>> face_normals;
  std::vector<std::uint32_t> first_corner, corners, good_triangles;
};

/// Fills `mesh` from a view. Vertices keep the view's normals; without any, normals are the area-weighted
/// means over the triangles around a vertex that meet within `crease` [rad] of the triangle in question
/// (Thuermer and Wuethrich 1998 compare such means), so that a box keeps its edges. Triangles with an index
/// out of range, a point that is not finite or no area are left out.
void build_draw_mesh(const TriangleView& view, float crease, DrawMesh& mesh);

}}  // namespace plenum::PLENUM_ABI::detail
