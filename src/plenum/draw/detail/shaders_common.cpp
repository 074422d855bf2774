// GLSL that geometry and screen passes share: the frame block, tone mapping, light.
#include "plenum/draw/detail/shaders_common.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

const char* const glsl_frame = R"glsl(#version 330 core
layout(std140) uniform Frame {
  mat4 clip_from_world;
  mat4 light_from_world;
  vec4 eye;
  vec4 forward;
  vec4 right;
  vec4 up;
  vec4 light;
  vec4 shadow;
  vec4 floor_plane;
  vec4 subject;
  vec4 top;
  vec4 bottom;
  vec4 viewport;
  vec4 passes;
};
)glsl";

const char* const glsl_tone = R"glsl(
// Filmic tone curve on linear light: Narkowicz 2015, "ACES filmic tone mapping curve", and its inverse, the root of
// (2.43 y - 2.51) x^2 + (0.59 y - 0.03) x + 0.14 y = 0.
vec3 tone(vec3 x) { return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0); }
vec3 untone(vec3 y) {
  vec3 a = 2.51 - 2.43 * y, b = 0.59 * y - 0.03;
  return (b + sqrt(b * b + 0.56 * a * y)) / (2.0 * a);
}
)glsl";

const char* const glsl_light = R"glsl(
const vec3 key_light = vec3(1.18, 1.08, 0.95);   // irradiance on a surface that faces it, over pi
const vec3 sky_light = vec3(0.27, 0.29, 0.325);   // from straight above
const vec3 ground_light = vec3(0.19, 0.175, 0.16);  // what the floor sends back up
const vec3 fill_light = vec3(0.085, 0.10, 0.125);  // from beside the camera, opposite the key

// Half a sphere of light, blended between floor and sky by where the surface faces.
vec3 ambient_light(vec3 n) { return mix(ground_light, sky_light, 0.5 + 0.5 * n.y); }

// Light between bright surfaces reaches into corners: Jimenez et al. 2016, "Practical real-time strategies for
// accurate indirect occlusion", eq. 10 (cubic fit in the albedo).
vec3 bounced_occlusion(float visibility, vec3 albedo) {
  vec3 a = 2.0404 * albedo - 0.3324, b = -4.7951 * albedo + 0.6417, c = 2.7552 * albedo + 0.6903;
  return max(vec3(visibility), ((visibility * a + b) * visibility + c) * visibility);
}
)glsl";

const char* const glsl_gather_occlusion = R"glsl(
uniform sampler2D occlusion_map;  // r: key light, g: ambient
uniform sampler2D surface_map;    // normal, depth along the view

// Occlusion of a surface at a pixel, from the four nearest texels of the buffer that lie on the same surface: those
// near its tangent plane and turned its way.
vec2 occlusion_at(vec2 pixel, vec3 x, vec3 n) {
  vec2 at = pixel * viewport.zw / viewport.xy - 0.5;
  ivec2 base = ivec2(floor(at)), last = ivec2(viewport.zw) - 1;
  vec2 f = at - vec2(base);
  // Height over the tangent plane of what a texel shows at a depth z: z (a + b . texel) + c.
  vec2 step = 2.0 / viewport.zw;
  vec2 b = vec2(dot(n, right.xyz), dot(n, up.xyz)) * step;
  vec2 corner = 0.5 * step - 1.0 - 2.0 * passes.xy / viewport.xy;
  float a = dot(n, forward.xyz + corner.x * right.xyz + corner.y * up.xyz);
  float c = dot(n, eye.xyz - x);
  float depth = dot(x - eye.xyz, forward.xyz);
  float tolerance = 1.0 / (0.8 * depth * eye.w * viewport.y / viewport.w);
  // A texel that faces away from the light says nothing of what stands before the light: on a ball of a few pixels
  // most lie next to such ones.
  vec2 sum = vec2(0.0), weights = vec2(0.0), best = vec2(1e30), nearest = vec2(1.0);
  for (int k = 0; k < 4; ++k) {
    ivec2 o = ivec2(k & 1, k >> 1), q = clamp(base + o, ivec2(0), last);
    vec4 s = texelFetch(surface_map, q, 0);
    vec2 occlusion = texelFetch(occlusion_map, q, 0).rg;
    vec2 share = mix(1.0 - f, f, vec2(o));
    float height = (s.w * (a + dot(b, vec2(q))) + c) * tolerance, turned = max(dot(s.xyz, n), 0.0);
    float w = (share.x * share.y + 1e-3) * turned * max(1.0 - height * height, 0.0);
    float miss = abs(height) + 4.0 * (1.0 - turned);
    vec2 counts = vec2(dot(s.xyz, light.xyz) > 0.0 ? 1.0 : 0.0, 1.0);
    sum += w * counts * occlusion;
    weights += w * counts;
    nearest = mix(nearest, occlusion, counts * vec2(lessThan(vec2(miss), best)));
    best = mix(best, min(vec2(miss), best), counts);
  }
  return mix(nearest, sum / max(weights, 1e-3), vec2(greaterThan(weights, vec2(1e-3))));
}
)glsl";

}}  // namespace plenum::PLENUM_ABI::detail
