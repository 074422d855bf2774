#pragma once
// What the passes draw into.
#include "plenum/draw/detail/gl.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Texture units.
enum Unit {
  unit_surface,
  unit_occlusion,
  unit_shadow,
  unit_compare,
  unit_maps,
  unit_items,
  unit_picture,
  unit_overlay,
  unit_farthest_8,
  unit_farthest_64,
  unit_volume,
  unit_scattered,
  unit_back
};

/// A framebuffer with one colour texture and, if asked for, depth.
struct Target {
  GlFramebuffer framebuffer;
  GlTexture colour, depth;
  int width = 0, height = 0;

  void bind() const {
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glViewport(0, 0, width, height);
  }
};

enum class WithDepth { no, yes };
Target make_target(const char* what, int width, int height, GLenum colour_format, WithDepth with_depth,
                   int samples = 0);
/// Depth alone, as the shadow map needs it; square.
Target make_depth_target(int size);

}}  // namespace plenum::PLENUM_ABI::detail
