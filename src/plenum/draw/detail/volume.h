#pragma once
// What a picture keeps of a volume.
#include <vector>

#include "plenum/draw/detail/gl.h"
#include "plenum/geometry/aabb.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Extinction [1/m] and optical depths of the cells of a volume that hold anything.
struct LitVolume {
  Aabb box;                    ///< [m] around the centres of these cells and a layer around them
  std::array<int, 3> size;     ///< cells
  std::array<Index, 3> first;  ///< the first of these cells
  std::vector<float> texels;   ///< extinction, optical depth towards the key light, and straight up
};

/// Optical depths are had by one sweep over planes away from the light, each looking up the one before where
/// the light comes from. Nothing (size 0) for a volume without any density.
LitVolume light_volume(const VolumeView& view, const Vec3& toward_light);
/// out = scattering coefficients [1/m] of red, green, blue in the cells of `lit`. Between cells these are to
/// be interpolated, and not the albedo, which has no meaning where there is no density.
void scattered_texels(const VolumeView& view, const LitVolume& lit, std::vector<float>& out);

/// One in use in a frame.
struct VolumeBatch {
  VolumeView view;  ///< with `density` in the next
  std::vector<Real> density;
  bool is_coloured = false;  ///< whether it has `scattered`, which `view` views too
  std::array<std::vector<Real>, 3> scattered;
  std::vector<float> texels;  ///< of it
  GlTexture texture, scattered_texture;
  LitVolume lit;
};

}}  // namespace plenum::PLENUM_ABI::detail
