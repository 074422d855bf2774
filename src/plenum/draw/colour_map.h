#pragma once
// Colours for numbers: maps in which equal steps of the number look equally large.
#include "plenum/base/real.h"
#include "plenum/io/image.h"

namespace plenum::inline PLENUM_ABI {

enum class ColourMap : int {
  viridis,    ///< for magnitudes; van der Walt and Smith 2015
  cividis,    ///< for magnitudes, much the same to the colour-blind; Nunez et al. 2018
  cool_warm,  ///< for signed fields, grey at zero; Moreland 2009
};
constexpr int num_colour_maps = 3;

/// Colour at u in [0, 1] (clamped), as sRGB components in [0, 1].
Vector3<double> map_colour(ColourMap map, double u);

}  // namespace plenum::inline PLENUM_ABI
