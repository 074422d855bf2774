// GLSL of liquids: one surface that reflects and refracts, and what light meets behind it.
#include "plenum/draw/detail/shaders.h"
#include "plenum/draw/detail/shaders_common.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

const char* const liquid_back = R"glsl(
in vec3 v_position;
out float out_depth;
void main() { out_depth = dot(v_position - eye.xyz, forward.xyz); }
)glsl";

const char* const liquid_front = R"glsl(
in vec3 v_position;
in vec3 v_normal;
uniform sampler2D surface_map;  // depth of what is solid in w
uniform sampler2D back_map;     // depth at which the nearest liquid ends, in r
uniform sampler2D picture;      // what there is without the liquid
uniform vec3 absorption;
uniform vec3 scattering;
uniform float refractive_index;
out vec4 out_colour;

vec2 screen_of(vec3 x) {  // in [0, 1]^2
  vec4 c = clip_from_world * vec4(x, 1.0);
  return 0.5 * c.xy / c.w + 0.5;
}
bool is_on_screen(vec2 at) { return all(greaterThan(at, vec2(0.0))) && all(lessThan(at, vec2(1.0))); }
float solid_depth(vec2 at) { return texelFetch(surface_map, clamp(ivec2(at * viewport.zw), ivec2(0), ivec2(viewport.zw) - 1), 0).w; }
float back_depth(vec2 at) { return texelFetch(back_map, clamp(ivec2(at * viewport.xy), ivec2(0), ivec2(viewport.xy) - 1), 0).r; }
float depth_of(vec3 x) { return dot(x - eye.xyz, forward.xyz); }
// The room: walls as bright as the background at the horizon, darker above, a floor below, and the key light.
vec3 room(vec3 d) {
  vec3 horizon = untone(min(bottom.rgb, vec3(0.97))), zenith = 0.42 * untone(min(top.rgb, vec3(0.97)));
  vec3 light_here = d.y > 0.0 ? mix(horizon, zenith, smoothstep(0.0, 0.9, d.y)) : horizon * mix(1.0, 0.45, smoothstep(0.0, 0.5, -d.y));
  // The key light is a disc; its rim is softened as small ripples would.
  float off = acos(clamp(dot(d, light.xyz), -1.0, 1.0));
  float size = max(light.w, 0.03);
  return light_here + top.w * key_light * (1.0 - smoothstep(0.6 * size, 2.2 * size, off)) / (2.0 * size * size);
}

// How far a ray that starts before all there is on the screen is behind it at p.
float behind_solid(vec3 p) { return depth_of(p) - solid_depth(screen_of(p)); }
float behind_all(vec3 p) {
  vec2 at = screen_of(p);
  return depth_of(p) - min(solid_depth(at), back_depth(at));
}

// What a ray from x meets on the screen, marched in steps that grow and then halved (Sousa, Kasyan & Schulz 2011,
// "Secrets of CryENGINE 3 graphics technology", screen-space reflections); otherwise the room.
vec3 reflected(vec3 x, vec3 d) {
  const int num_steps = 20;
  float reach = 1.5 * subject.w, before = 0.0;
  for (int k = 1; k <= num_steps; ++k) {
    float share = float(k) / float(num_steps), t = reach * share * share;
    vec3 p = x + t * d;
    if (depth_of(p) <= 0.0 || !is_on_screen(screen_of(p))) break;
    float miss = behind_solid(p);
    if (miss > 0.0 && miss < 1.5 * (t - before) + 0.01 * subject.w) {
      for (int halving = 0; halving < 5; ++halving) {
        float middle = 0.5 * (before + t);
        if (behind_solid(x + middle * d) > 0.0) t = middle; else before = middle;
      }
      vec2 at = screen_of(x + t * d);
      // What the ray passed behind is not what it meets.
      if (behind_solid(x + t * d) > 0.02 * subject.w) break;
      vec2 edge = smoothstep(vec2(0.0), vec2(0.08), at) * smoothstep(vec2(0.0), vec2(0.08), 1.0 - at);
      return mix(room(d), untone(min(texture(picture, at).rgb, vec3(0.98))), edge.x * edge.y);
    }
    before = t;
  }
  return room(d);
}

void main() {
  vec3 x = v_position, n = normalize(v_normal), v = normalize(eye.xyz - x);
  float facing = dot(n, v);
  if (facing < 0.02) n = normalize(n + (0.02 - facing) * v);
  float cosine = max(dot(n, v), 0.0);
  // Reflectance after Schlick 1994, with that at normal incidence after Fresnel.
  float f0 = (refractive_index - 1.0) / (refractive_index + 1.0);
  f0 *= f0;
  float reflectance = f0 + (1.0 - f0) * pow(1.0 - cosine, 5.0);

  // The refracted ray (Snell), marched until it meets what is solid or the liquid's end.
  vec3 d = refract(-v, n, 1.0 / refractive_index);
  float depth = depth_of(x);
  vec2 own = gl_FragCoord.xy / viewport.xy;
  float straight = (min(solid_depth(own), back_depth(own)) - depth) / max(dot(-v, forward.xyz), 0.05);
  float reach = min(max(1.6 * straight, 0.02 * subject.w), 6.0 * subject.w);
  const int num_steps = 24;
  vec2 at = own;
  float way = clamp(straight, 0.0, reach), before = 0.0;
  for (int k = 1; k <= num_steps; ++k) {
    float t = reach * float(k) / float(num_steps);
    vec3 p = x + t * d;
    if (!is_on_screen(screen_of(p))) break;
    if (behind_all(p) >= 0.0) {
      float after = t, clear = max(2.0 * before - t, 0.5 * before);
      for (int halving = 0; halving < 6; ++halving) {
        float middle = 0.5 * (before + after);
        if (behind_all(x + middle * d) >= 0.0) after = middle; else before = middle;
      }
      // Where something solid is far before it at once, it passes behind that, and what is just beside is seen.
      way = behind_solid(x + after * d) < 0.015 * subject.w ? after : clear;
      break;
    }
    before = t;
  }
  at = screen_of(x + way * d);
  if (!is_on_screen(at)) at = own;
  // What stands before the liquid is not seen through it.
  if (solid_depth(at) < depth - 0.005 * subject.w) at = own;
  vec3 behind = untone(min(texture(picture, at).rgb, vec3(0.98)));

  // Dimmed on the way, after Beer and Lambert; of what is scattered once, a quarter of the key light and half of the
  // sky's comes back to the eye.
  vec3 extinction = absorption + scattering, kept = exp(-extinction * way);
  vec3 glow = scattering / max(extinction, vec3(1e-6)) * (1.0 - kept) *
              (0.25 * key_light * (0.4 + 0.6 * max(light.y, 0.0)) + 0.5 * sky_light + 0.3 * ground_light);
  vec3 through = behind * kept + top.w * glow;
  vec3 radiance = mix(through, reflected(x, reflect(-v, n)), reflectance);
  out_colour = vec4(tone(radiance), 1.0);
}
)glsl";

}  // namespace

std::string liquid_back_source() {
  return std::string(glsl_frame) + liquid_back;
}
std::string liquid_source() {
  return std::string(glsl_frame) + glsl_tone + glsl_light + liquid_front;
}

}}  // namespace plenum::PLENUM_ABI::detail
