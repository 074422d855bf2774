// GLSL of liquids: one surface that reflects and refracts, and what light meets behind it.
#include "plenum/draw/detail/shaders.h"
#include "plenum/draw/detail/shaders_common.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

const char* const liquid_back = R"glsl(
in vec3 v_position;
out vec2 out_depth;  // the least of each is kept: the nearest depth, and less the farthest
void main() {
  float depth = dot(v_position - eye.xyz, forward.xyz);
  out_depth = vec2(depth, -depth);
}
)glsl";

const char* const liquid_front = R"glsl(
in vec3 v_position;
in vec3 v_normal;
uniform sampler2D surface_map;  // depth of what is solid in w
uniform sampler2D back_map;     // depth at which the nearest liquid ends, in r, and less that of the last, in g
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
vec2 back_depths(vec2 at) {  // at which the nearest liquid ends and the last one does
  vec2 d = texelFetch(back_map, clamp(ivec2(at * viewport.xy), ivec2(0), ivec2(viewport.xy) - 1), 0).rg;
  return vec2(d.r, d.r < 1e29 ? -d.g : 1e30);
}
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
// The same of what is solid and of the nearest liquid's end, or of the last one's.
float behind_all(vec3 p, bool last) {
  vec2 at = screen_of(p), liquid = back_depths(at);
  return depth_of(p) - min(solid_depth(at), last ? liquid.y : liquid.x);
}

// Where a ray from x, which is before what behind_all() looks at after a way and behind it after another, comes to it.
float crossing(vec3 x, vec3 d, float before, float after, bool last) {
  for (int halving = 0; halving < 6; ++halving) {
    float middle = 0.5 * (before + after);
    if (behind_all(x + middle * d, last) >= 0.0) after = middle; else before = middle;
  }
  return after;
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
  float straight = (min(solid_depth(own), back_depths(own).x) - depth) / max(dot(-v, forward.xyz), 0.05);
  float reach = min(max(1.6 * straight, 0.02 * subject.w), 6.0 * subject.w);
  const int num_steps = 24;
  vec2 at = own;
  float way = clamp(straight, 0.0, reach), before = 0.0;
  bool is_behind_wave = false;
  float beside = -1.0;  // the way to where the ray comes to pass behind something solid
  // What is straight behind may be near while the ray goes by it, as below a body that floats: it is followed to
  // what is behind there.
  float begun = 0.0;
  for (int k = 1, round = 0; k <= num_steps; ++k) {
    float t = mix(begun, reach, float(k) / float(num_steps));
    vec3 p = x + t * d;
    if (!is_on_screen(screen_of(p))) break;
    if (k == num_steps && round < 2 && behind_all(p, is_behind_wave) < 0.0) {
      float beyond = -behind_all(p, is_behind_wave) / max(dot(d, forward.xyz), 0.05);
      begun = before = t, reach = min(t + max(1.3 * beyond, 0.02 * subject.w), 6.0 * subject.w);
      if (!(reach > t)) break;
      k = 0, ++round;
      continue;
    }
    if (is_behind_wave && behind_all(p, false) < 0.0) is_behind_wave = false;
    if (behind_all(p, is_behind_wave) >= 0.0) {
      float clear = max(2.0 * before - t, 0.5 * before);
      way = crossing(x, d, before, t, is_behind_wave);
      vec3 end = x + way * d;
      float solid = behind_solid(end);
      // Where the nearest liquid ends far before the ray at once, that is a wave between it and the eye, and the ray
      // goes on behind: to the last end of liquid there.
      if (!is_behind_wave && solid < 0.0 && behind_all(end, false) > 0.015 * subject.w) {
        is_behind_wave = true;
        before = way;
        if (behind_all(p, true) < 0.0) continue;
        way = crossing(x, d, before, t, true);
        solid = behind_solid(x + way * d);
      }
      // Where something solid is far before it at once, it passes behind that, and what is just beside is seen.
      if (solid >= 0.015 * subject.w) beside = clear;
      break;
    }
    before = t;
  }
  at = screen_of(x + (beside < 0.0 ? way : beside) * d);
  // What stands before the liquid is not seen through it.
  bool elsewhere = beside >= 0.0;
  if (!is_on_screen(at) || solid_depth(at) < depth - 0.005 * subject.w) at = own, elsewhere = true;
  // What is seen instead of what the ray meets is as far as it is: else an edge of it is seen as if through nothing.
  if (elsewhere) way = max(way, (min(solid_depth(at), back_depths(at).x) - depth) / max(dot(d, forward.xyz), 0.05));
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
