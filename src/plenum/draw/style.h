#pragma once
// The look of a picture: light, background, floor, quality.
#include "plenum/base/real.h"
#include "plenum/io/image.h"

namespace plenum::inline PLENUM_ABI {

enum class Quality {
  draft,   ///< hard shadows, no ambient occlusion, one sample a pixel: for a first look
  normal,  ///< soft shadows and ambient occlusion at half resolution, 4 samples a pixel
  high,    ///< the same at full resolution, averaged over four jittered passes: 16 samples a pixel
};

struct Style {
  Quality quality = Quality::normal;
  Vec3 light = {Real(-0.60), Real(0.70), Real(0.32)};  ///< towards the key light; need not be unit
  bool light_follows_camera =
      true;                       ///< `light` is relative to the camera's azimuth (x right, z to the viewer)
  Real light_size = Real(0.075);  ///< [rad] half the angle the key light fills; 0 is a point
  Real exposure = 1;              ///< factor on all light that falls on the subject, > 0
  bool floor = true;              ///< a floor that catches shadows and melts into the background
  Real floor_height = 0;          ///< [m] along y
  bool grid = false;              ///< faint lines on the floor
  Real grid_spacing = 0;          ///< [m] between them; 0: a round number that suits the picture
  Rgb8 background_top = {186, 193, 200};     ///< shown as given, top row
  Rgb8 background_bottom = {235, 234, 231};  ///< shown as given where nothing falls on the floor, bottom row
  bool legend = true;                        ///< names quantity and unit of coloured fields
};

/// The palette's colours of subjects, in sRGB; cyclic, negative indices too.
Rgb8 palette_colour(int index);

/// The colours of marks (MarkColour in state/debug_draw.h), in sRGB; cyclic.
Rgb8 mark_colour(int index);

}  // namespace plenum::inline PLENUM_ABI
