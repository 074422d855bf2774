#pragma once
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

extern const char* const glsl_frame;             // #version and the uniform block; first in every shader
extern const char* const glsl_tone;              // tone(), untone()
extern const char* const glsl_light;             // the lights and ambient_light(), bounced_occlusion()
extern const char* const glsl_gather_occlusion;  // occlusion_at()

}}  // namespace plenum::PLENUM_ABI::detail
