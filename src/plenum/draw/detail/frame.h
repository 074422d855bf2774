#pragma once
// The numbers of a frame that all shaders share.
#include "plenum/draw/camera.h"
#include "plenum/draw/detail/shaders.h"
#include "plenum/draw/style.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// What a quality asks for.
struct Effort {
  int shadow_size;  ///< [px] of the shadow map
  int divide;       ///< the occlusion buffer has 1/divide of the picture's size along each side
  int samples;      ///< of each pixel, 0 for its centre alone
  int passes;       ///< jittered pictures that are averaged
  bool soft, ambient;
};
Effort effort_of(Quality quality);

/// Sizes [px] of what is drawn into.
struct FrameSize {
  int width, height;                      ///< of the picture
  int occlusion_width, occlusion_height;  ///< of the occlusion buffer
};

/// The block for a picture in which everything drawn lies inside `casters`, possibly empty.
FrameBlock frame_block(const Camera& camera, const Style& style, const Aabb& casters, const FrameSize& size);

/// The block for the `pass`-th of several jittered passes.
FrameBlock jittered(const FrameBlock& block, int pass, int passes);

}}  // namespace plenum::PLENUM_ABI::detail
