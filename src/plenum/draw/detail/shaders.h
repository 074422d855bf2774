#pragma once
// The GLSL of the renderer, put together from parts.
#include <string>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// The uniform block `Frame` of shaders_common.cpp, std140.
struct FrameBlock {
  float clip_from_world[16];   // column-major, jittered
  float light_from_world[16];  // to metres across, up and away from the key light
  float eye[4];                // w: angle of a pixel [rad]
  float forward[4];            // unit
  float right[4];              // half the picture's width at unit depth
  float up[4];                 // half its height
  float light[4];              // unit, towards the key light; w: tangent of its angular radius
  float shadow[4];  // half extent of the map [m], its depth [m], size of a texel [m], size of the map [px]
  float floor_plane[4];  // height [m], radius it fades over [m], grid spacing [m] or 0, 1 if there is a floor
  float subject[4];      // centre and radius [m]
  float top[4];          // linear display colours of the background; w of top: exposure
  float bottom[4];       // w: 1 with ambient occlusion
  float viewport[4];     // picture [px], occlusion buffer [px]
  float passes[4];  // jitter and shift of the lens [px], seed, coverage below which an impostor's pixel is
                    // left out
};

enum class Pass { shadow, surface, shade, mark };
constexpr int num_passes = 4;
enum class Shape { triangles, spheres, capsules };

/// Sources of the program that draws a shape in a pass.
std::string vertex_source(Shape shape, Pass pass);
std::string fragment_source(Shape shape, Pass pass);

/// A triangle that covers the picture, and what to do with each of its pixels.
std::string screen_vertex_source();
std::string floor_surface_source();  ///< the floor into the surface buffer
std::string backdrop_source();       ///< background, and floor with its shadows
std::string volume_source();         ///< what floats in the air, over all that is solid
std::string liquid_source();         ///< triangles of a liquid, seen from outside
std::string liquid_back_source();    ///< depth of those seen from inside
std::string occlusion_source();      ///< shadow and ambient occlusion from the surface buffer
std::string farthest_source();       ///< greatest depth of blocks of 8 x 8 texels of the surface buffer
std::string smooth_source();         ///< takes the grain out of it
std::string gather_source(bool multisampled);  ///< mean of the samples of each pixel, weighted
std::string finish_source();                   ///< overlay, sRGB, dither

}}  // namespace plenum::PLENUM_ABI::detail
