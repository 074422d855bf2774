#pragma once
// The parts of a scene file that are no structures of their own, described once for reader, schema and
// tables.
#include "plenum/base/describe.h"
#include "plenum/world/world.h"

namespace plenum::inline PLENUM_ABI {

/// What a system has beside its type, model, params and keyframes.
inline void describe_system(Describer& d, std::string& name) {
  d("name", name, {.doc = "of the system: letters, digits, '_' and '-'", .required = true});
}

/// What keyframes have beside their values.
inline void describe_keyframes(Describer& d, Keyframes& keyframes) {
  d("path", keyframes.path,
    {.doc = "of what moves, such as gravity or emitters[0].rate in a system, camera.azimuth in the scene",
     .required = true});
  d("interpolation", keyframes.interpolation,
    {.doc = "between the times; smooth does not overshoot, step holds a value until the next time"});
}

inline constexpr Info gravity_info{
    .unit = "m/s^2", .min = -1e4, .max = 1e4, .doc = "of every system whose params do not give their own"};
inline constexpr Info keyframe_time_info{.unit = "s", .min = 0, .max = 1e9, .doc = "rising"};

}  // namespace plenum::inline PLENUM_ABI
