// Passes over the whole picture: floor, backdrop, occlusion, and the way to the screen.
#include <initializer_list>
#include <string>
#include <string_view>

#include "plenum/draw/detail/shaders.h"
#include "plenum/draw/detail/shaders_common.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

namespace {

const char* const screen_vertex = R"glsl(
out vec2 v_screen;
void main() {
  v_screen = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(v_screen, 0.0, 1.0);
}
)glsl";

// Where the ray of a pixel meets the floor: depth along the view, or -1.
const char* const floor_meeting = R"glsl(
vec3 view_ray(vec2 screen) {  // its depth grows by one with its parameter
  vec2 at = screen - 2.0 * passes.xy / viewport.xy;
  return forward.xyz + at.x * right.xyz + at.y * up.xyz;
}
float floor_depth(vec3 ray) {
  float above = eye.y - floor_plane.x;
  return floor_plane.w > 0.0 && above > 0.0 && ray.y < 0.0 ? -above / ray.y : -1.0;
}
float clip_depth(vec3 x) {
  vec4 c = clip_from_world * vec4(x, 1.0);
  return clamp(0.5 * c.z / c.w + 0.5, 0.0, 1.0);
}
)glsl";

const char* const floor_surface = R"glsl(
in vec2 v_screen;
out vec4 out_surface;
void main() {
  vec3 ray = view_ray(v_screen);
  float t = floor_depth(ray);
  if (t < 0.0) discard;
  gl_FragDepth = clip_depth(eye.xyz + t * ray);
  out_surface = vec4(0.0, 1.0, 0.0, t);
}
)glsl";

const char* const backdrop = R"glsl(
in vec2 v_screen;
out vec4 out_colour;

// Share of a pixel that lines every `spacing` cover, integrated over the pixel's footprint `w`.
float lines(vec2 at, float spacing, float width, vec2 w) {
  vec2 u = at / spacing, d = w / spacing;
  float half_width = 0.5 * width / spacing;
  vec2 off = abs(fract(u - 0.5) - 0.5);
  vec2 cover = clamp((half_width - off) / max(d, 1e-6) + 0.5, 0.0, 1.0) * min(vec2(1.0), 2.0 * half_width / max(d, 1e-6) + 0.5);
  vec2 sharp = 1.0 - smoothstep(0.15, 0.5, d);
  cover = mix(vec2(2.0 * half_width), cover, sharp);
  return max(cover.x, cover.y);
}

void main() {
  // Eased, so that neither end shows where the gradient begins.
  float y = 0.5 * v_screen.y + 0.5;
  vec3 ground = mix(bottom.rgb, top.rgb, smoothstep(0.0, 1.0, y));
  vec3 ray = view_ray(v_screen);
  float t = floor_depth(ray);
  gl_FragDepth = 1.0;
  if (t < 0.0) {
    out_colour = vec4(ground, 1.0);
    return;
  }
  // The floor shows the background's own colour, as if lit evenly by it, times what the subject takes away; so there
  // is no line where it ends.
  vec3 x = eye.xyz + t * ray;
  gl_FragDepth = clip_depth(x);
  float r = length(x.xz - subject.xz) / floor_plane.y;
  float near = 1.0 - smoothstep(0.35, 1.0, r);
  vec2 seen = mix(vec2(1.0), occlusion_at(gl_FragCoord.xy, x, vec3(0.0, 1.0, 0.0)), near);
  vec3 key = key_light * light.y, rest = ambient_light(vec3(0.0, 1.0, 0.0));
  vec3 share = (key * seen.x + rest * seen.y) / (key + rest);
  vec3 colour = tone(untone(ground) * share);
  if (floor_plane.z > 0.0) {
    vec2 w = fwidth(x.xz);
    float spacing = floor_plane.z;
    float faint = lines(x.xz, spacing, 0.012 * spacing, w);
    colour *= 1.0 - 0.13 * faint * near;
  }
  out_colour = vec4(colour, 1.0);
}
)glsl";

const char* const occlusion_head = R"glsl(
in vec2 v_screen;
uniform sampler2D surface_map;
uniform sampler2D shadow_depth;          // distance from the light over shadow.y
uniform sampler2DShadow shadow_compare;  // the same map
out vec2 out_occlusion;
const float golden_angle = 2.39996323;

// A different turn for each pixel of a 4 x 4 tile, which smooth_source() averages over (ordered dither matrix).
float turn() {
  ivec2 p = ivec2(gl_FragCoord.xy) & 3;
  int b = ((p.x ^ p.y) & 1) * 8 + (p.y & 1) * 4 + (((p.x ^ p.y) >> 1) & 1) * 2 + ((p.y >> 1) & 1);
  return (float(b) + 0.25 * passes.z) / 16.0;
}
// Points spread evenly over the unit disc: Vogel 1979.
vec2 disc_point(int i, int count, float turned) {
  float a = golden_angle * float(i) + 6.2831853 * turned;
  return sqrt((float(i) + 0.5) / float(count)) * vec2(cos(a), sin(a));
}
)glsl";

// Percentage-closer soft shadows: Fernando 2005. The light is far away and fills a cone, so that the
// half-shadow is as wide as the distance to what casts it times the tangent of the cone's angle. The search
// looks more often near its middle, where small and near things cast their shadows from, and counts only what
// lies in the cone.
const char* const key_visibility = R"glsl(
float key_visibility(vec3 x, vec3 n, bool casts) {
  float toward = dot(n, light.xyz);
  if (toward <= 0.0) return 0.0;
  float texel = shadow.z;
  if (casts) x += n * texel * (1.0 + 1.5 * (1.0 - toward));
  vec3 l = (light_from_world * vec4(x, 1.0)).xyz;
  vec2 at = 0.5 * l.xy / shadow.x + 0.5;
  if (any(lessThan(at, vec2(0.0))) || any(greaterThan(at, vec2(1.0)))) return 1.0;
  // How the receiver's distance from the light changes across the map, so that it does not shade itself.
  vec3 m = (light_from_world * vec4(n, 0.0)).xyz;
  vec2 slope = -m.xy / min(m.z, -0.2);
  float to_map = 0.5 / shadow.x;
  float bias = casts ? 0.6 * texel * (1.0 + 0.5 * length(slope)) : 0.0;
  float spin = turn();

  float search = clamp(l.z * light.w, 2.0 * texel, 0.12 * shadow.x);
  float blockers = 0.0, distances = 0.0;
  for (int i = 0; i < SEARCH_TAPS; ++i) {
    float a = golden_angle * float(i) + 6.2831853 * spin;
    float off = (float(i) + 0.5) / float(SEARCH_TAPS);
    off *= off * search;
    vec2 o = off * vec2(cos(a), sin(a));
    float z = texture(shadow_depth, at + to_map * o).r * shadow.y;
    if (z < l.z + dot(slope, o) - bias - 0.05 * off && off <= (l.z - z) * light.w + 2.0 * texel) {
      blockers += 1.0;
      distances += z;
    }
  }
  if (blockers == 0.0) return 1.0;
  float spread = clamp((l.z - distances / blockers) * light.w, 1.2 * texel, search);
  float lit = 0.0;
  for (int i = 0; i < FILTER_TAPS; ++i) {
    vec2 o = spread * disc_point(i, FILTER_TAPS, spin);
    float z = (l.z + dot(slope, o) - bias) / shadow.y;
    lit += texture(shadow_compare, vec3(at + to_map * o, min(z, 0.99999)));
  }
  return lit / float(FILTER_TAPS);
}
)glsl";

// Visible share of the hemisphere, cosine-weighted, over the depths on the screen: Jimenez et al. 2016,
// "Practical real-time strategies for accurate indirect occlusion", eq. 5 to 10. In a slice through the view,
// the highest things on both sides bound what is seen; steps grow with distance, and what is far counts less.
const char* const ambient_visibility = R"glsl(
float horizon(vec3 x, vec3 v, vec2 step_px, float lowest, float radius, float shift) {
  ivec2 last = ivec2(viewport.zw) - 1;
  float highest = lowest;  // cosine of the angle to the view
  for (int i = 0; i < HORIZON_STEPS; ++i) {
    float share = (float(i) + shift) / float(HORIZON_STEPS);
    vec2 o = step_px * share * share;
    o += 1.3 * normalize(step_px);
    ivec2 q = ivec2(floor(gl_FragCoord.xy + o));
    if (any(lessThan(q, ivec2(0))) || any(greaterThan(q, last))) break;
    float z = texelFetch(surface_map, q, 0).w;
    if (z >= 1e29) continue;
    vec2 s = (vec2(q) + 0.5) / viewport.zw * 2.0 - 1.0;
    vec3 d = eye.xyz + z * view_ray(s) - x;
    float far = length(d);
    float counts = clamp(2.0 - 2.0 * far / radius, 0.0, 1.0);
    highest = max(highest, mix(lowest, dot(d, v) / far, counts));
  }
  return highest;
}
float ambient_visibility(vec3 x, vec3 n, float depth) {
  float radius = 0.4 * subject.w;
  float reach = min(radius / (depth * eye.w) * viewport.w / viewport.y, 0.3 * viewport.w);
  if (reach < 2.0) return 1.0;
  vec3 v = normalize(eye.xyz - x);
  vec3 across = normalize(right.xyz), upward = normalize(up.xyz);
  x += 0.002 * depth * n;
  float spin = turn(), shift = fract(5.0 * spin + 0.25 * float(int(gl_FragCoord.y) & 3) + 0.1);
  float visible = 0.0, open = 0.0;  // and what would be seen of the same slices if nothing were there
  for (int k = 0; k < 2; ++k) {
    float a = 1.5707963 * (spin + float(k));
    vec2 w = vec2(cos(a), sin(a));
    vec3 t = w.x * across + w.y * upward;
    t = normalize(t - dot(t, v) * v);
    vec3 m = n - dot(n, cross(t, v)) * cross(t, v);  // the normal within the slice
    float share = length(m);
    float gamma = sign(dot(m, t)) * acos(clamp(dot(m, v) / share, -1.0, 1.0));
    float h1 = acos(horizon(x, v, reach * w, cos(gamma + 1.5707963), radius, shift));
    float h0 = -acos(horizon(x, v, -reach * w, cos(gamma - 1.5707963), radius, shift));
    h1 = gamma + min(h1 - gamma, 1.5707963);
    h0 = gamma + max(h0 - gamma, -1.5707963);
    visible += share * 0.25 *
               (2.0 * cos(gamma) - cos(2.0 * h0 - gamma) - cos(2.0 * h1 - gamma) + 2.0 * (h0 + h1) * sin(gamma));
    open += share * (cos(gamma) + gamma * sin(gamma));
  }
  return clamp(visible / open, 0.0, 1.0);
}
)glsl";

const char* const occlusion_main = R"glsl(
void main() {
  vec4 s = texelFetch(surface_map, ivec2(gl_FragCoord.xy), 0);
  if (s.w >= 1e29) {
    out_occlusion = vec2(1.0);
    return;
  }
  vec3 x = eye.xyz + s.w * view_ray(v_screen), n = normalize(s.xyz);
  bool casts = !(floor_plane.w > 0.0 && n.y > 0.9999 && abs(x.y - floor_plane.x) < 1e-3 * subject.w);
  out_occlusion.r = key_visibility(x, n, casts);
  out_occlusion.g = bottom.w > 0.0 ? ambient_visibility(x, n, s.w) : 1.0;
}
)glsl";

// Light through a volume, marched from the eye: each step takes exp(-sigma dt) of what is behind it and adds
// what it scatters (Kajiya & Von Herzen 1984, "Ray tracing volume densities"). The light that reaches a step
// is stored with the density. Light that is scattered more than once is dimmer and less dimmed: octaves of
// the single scattering, each of half its strength and extinction (Wrenninge, Kulla & Lundqvist 2013, "Oz:
// the great and volumetric").
const char* const volume_main = R"glsl(
in vec2 v_screen;
uniform sampler2D surface_map;
uniform sampler2DShadow shadow_compare;
uniform sampler3D volume_map;  // extinction [1/m], optical depth towards the key light, and towards the sky
uniform vec3 low;
uniform vec3 high;
uniform sampler3D scattered_map;  // scattering [1/m] of red, green, blue
uniform bool coloured;            // whether it holds instead of the albedo
uniform vec3 albedo;
uniform float march;  // [m] length of a step
// Samples of a pixel at an edge of what is solid lie near or far, and what is in between is before the far
// ones only: those pixels are drawn twice, each time to the samples on one side of the middle depth.
uniform bool nearer;
out vec4 out_colour;  // light, and what of the background remains

float lit_by_key(vec3 x) {
  vec3 l = (light_from_world * vec4(x, 1.0)).xyz;
  vec2 at = 0.5 * l.xy / shadow.x + 0.5;
  if (any(lessThan(at, vec2(0.0))) || any(greaterThan(at, vec2(1.0)))) return 1.0;
  return texture(shadow_compare, vec3(at, clamp((l.z - 2.0 * shadow.z) / shadow.y, 0.0, 0.99999)));
}
void main() {
  vec3 ray = view_ray(v_screen);
  vec3 a = (low - eye.xyz) / ray, b = (high - eye.xyz) / ray;
  vec3 first = min(a, b), last = max(a, b);
  float t = max(max(first.x, first.y), max(first.z, 0.0)), end = min(min(last.x, last.y), last.z);
  ivec2 texel = ivec2(gl_FragCoord.xy * viewport.zw / viewport.xy), corner = textureSize(surface_map, 0) - 1;
  float here = texelFetch(surface_map, texel, 0).w, near_one = here, far_one = here;
  for (int k = 0; k < 9; ++k) {
    float w = texelFetch(surface_map, clamp(texel + ivec2(k % 3, k / 3) - 1, ivec2(0), corner), 0).w;
    near_one = min(near_one, w), far_one = max(far_one, w);
  }
  float scale = length(ray), dt = march / scale;
  bool at_edge = min(far_one, end) - near_one > 2.0 * dt;
  if (nearer && !at_edge) discard;
  end = min(end, !at_edge ? here : nearer ? near_one : far_one);
  if (end <= t) discard;
  // What is near is on one surface, within a few steps: the far one may be without end.
  vec4 middle = clip_from_world * vec4(eye.xyz + 0.5 * (near_one + min(far_one, near_one + 8.0 * dt)) * ray, 1.0);
  gl_FragDepth = at_edge ? clamp(0.5 * middle.z / middle.w + 0.5, 0.0, 1.0) : 0.0;
  // The first step is shorter by a share that differs from pixel to pixel, so that steps show no layers.
  ivec2 p = ivec2(gl_FragCoord.xy) & 3;
  int turn = ((p.x ^ p.y) & 1) * 8 + (p.y & 1) * 4 + (((p.x ^ p.y) >> 1) & 1) * 2 + ((p.y >> 1) & 1);
  t += dt * fract((float(turn) + 0.5 + 4.0 * passes.z) / 16.0);
  vec3 light_sum = vec3(0.0);
  float through = 1.0;
  vec3 size = high - low;
  for (int k = 0; k < 1024; ++k) {
    if (t >= end || through < 0.004) break;
    vec3 x = eye.xyz + t * ray;
    vec3 v = textureLod(volume_map, (x - low) / size, 0.0).rgb;
    t += dt;
    if (v.r < 0.01) continue;
    float kept = exp(-v.r * march);
    vec3 key = 0.25 * key_light * lit_by_key(x);  // a phase of 1 / (4 pi) of pi times key_light
    vec3 glow = vec3(0.0);
    float strength = 1.0, dim = 1.0;
    for (int octave = 0; octave < 4; ++octave) {
      glow += strength * (key * exp(-dim * v.g) + 0.5 * sky_light * exp(-dim * v.b));
      strength *= 0.5;
      dim *= 0.5;
    }
    glow += 0.3 * ground_light + 0.5 * fill_light;
    vec3 part = coloured ? min(textureLod(scattered_map, (x - low) / size, 0.0).rgb / v.r, vec3(1.0)) : albedo;
    light_sum += through * (1.0 - kept) * part * glow;
    through *= kept;
  }
  float covered = 1.0 - through;
  if (covered < 1e-4) discard;
  out_colour = vec4(tone(top.w * light_sum / covered) * covered, through);
}
)glsl";

const char* const farthest_main = R"glsl(
uniform sampler2D surface_map;  // depth in w, or alone in r
uniform bool again;
out float out_depth;
void main() {
  ivec2 first = 8 * ivec2(gl_FragCoord.xy), size = textureSize(surface_map, 0);
  float farthest = 0.0;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 8; ++i) {
      vec4 s = texelFetch(surface_map, min(first + ivec2(i, j), size - 1), 0);
      farthest = max(farthest, again ? s.r : s.w);
    }
  out_depth = farthest;
}
)glsl";

const char* const smooth_main = R"glsl(
in vec2 v_screen;
uniform sampler2D surface_map;
uniform sampler2D occlusion_map;
uniform int stride;  // 1, and then 3 for the ambient part alone, whose grain is coarser and whose edges are softer
out vec2 out_occlusion;
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy), last = ivec2(viewport.zw) - 1;
  vec4 c = texelFetch(surface_map, at, 0);
  if (c.w >= 1e29) {
    out_occlusion = vec2(1.0);
    return;
  }
  // Height over the tangent plane, as in occlusion_at().
  vec2 step = 2.0 / viewport.zw;
  vec2 slope = vec2(dot(c.xyz, right.xyz), dot(c.xyz, up.xyz)) * step;
  vec2 corner = 0.5 * step - 1.0 - 2.0 * passes.xy / viewport.xy;
  float start = dot(c.xyz, forward.xyz + corner.x * right.xyz + corner.y * up.xyz);
  float own = c.w * (start + dot(slope, vec2(at)));
  float tolerance = 1.0 / (1.5 * float(stride) * c.w * eye.w * viewport.y / viewport.w);
  vec2 sum = vec2(0.0);
  float weights = 0.0;
  for (int j = -2; j < 2; ++j)
    for (int i = -2; i < 2; ++i) {
      ivec2 q = clamp(at + stride * ivec2(i, j) + (stride >> 1), ivec2(0), last);
      vec4 s = texelFetch(surface_map, q, 0);
      float height = (s.w * (start + dot(slope, vec2(q))) - own) * tolerance;
      float w = max(dot(s.xyz, c.xyz), 0.0) * max(1.0 - height * height, 0.0) + 1e-4;
      sum += w * texelFetch(occlusion_map, q, 0).rg;
      weights += w;
    }
  out_occlusion = sum / weights;
  if (stride > 1) out_occlusion.r = texelFetch(occlusion_map, at, 0).r;
}
)glsl";

// Box filter where the samples of a pixel agree; at edges a tent over the neighbours, whose 36 samples give
// finer steps than the pixel's own four.
const char* const gather_main = R"glsl(
uniform sampler2DMS samples_map;
uniform float weight;
out vec4 out_colour;
// Places of the four samples, from the centre of the pixel: the rotated grid that drivers use.
const vec2 places[4] = vec2[4](vec2(-0.125, -0.375), vec2(0.375, -0.125), vec2(-0.375, 0.125), vec2(0.125, 0.375));
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy), last = ivec2(viewport.xy) - 1;
  vec3 a = texelFetch(samples_map, at, 0).rgb, b = texelFetch(samples_map, at, 1).rgb;
  vec3 c = texelFetch(samples_map, at, 2).rgb, d = texelFetch(samples_map, at, 3).rgb;
  vec3 sum = 0.25 * (a + b + c + d);
  vec3 range = max(max(a, b), max(c, d)) - min(min(a, b), min(c, d));
  if (max(range.r, max(range.g, range.b)) > 0.03) {
    sum = vec3(0.0);
    float weights = 0.0;
    for (int k = 0; k < 36; ++k) {
      vec2 o = vec2(float((k >> 2) % 3 - 1), float(k / 12 - 1)) + places[k & 3];
      float w = max(1.0 - abs(o.x), 0.0) * max(1.0 - abs(o.y), 0.0);
      if (w <= 0.0) continue;
      ivec2 q = clamp(at + ivec2((k >> 2) % 3 - 1, k / 12 - 1), ivec2(0), last);
      sum += w * texelFetch(samples_map, q, k & 3).rgb;
      weights += w;
    }
    sum /= weights;
  }
  out_colour = vec4(sum * weight, 1.0);
}
)glsl";

const char* const gather_single_main = R"glsl(
uniform sampler2D samples_map;
uniform float weight;
out vec4 out_colour;
void main() { out_colour = vec4(texelFetch(samples_map, ivec2(gl_FragCoord.xy), 0).rgb * weight, 1.0); }
)glsl";

const char* const finish_main = R"glsl(
in vec2 v_screen;
uniform sampler2D picture;
uniform sampler2D overlay;   // sRGB-coded colour and coverage, rows from the top
uniform vec4 overlay_place;  // x, y from the top left, width, height [px]; width 0 for none
out vec4 out_colour;

vec3 srgb(vec3 x) { return mix(1.055 * pow(x, vec3(1.0 / 2.4)) - 0.055, 12.92 * x, lessThanEqual(x, vec3(0.0031308))); }
// Evenly distributed over [0, 1): three rounds of the integer mixer of Jarzynski and Olano 2020 (pcg3d).
vec3 noise(uvec3 v) {
  v = v * 1664525u + 1013904223u;
  v.x += v.y * v.z; v.y += v.z * v.x; v.z += v.x * v.y;
  v ^= v >> 16u;
  v.x += v.y * v.z; v.y += v.z * v.x; v.z += v.x * v.y;
  return vec3(v >> 8u) / 16777216.0;
}
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  vec3 c = srgb(clamp(texelFetch(picture, at, 0).rgb, 0.0, 1.0));
  // Half a step of noise keeps slow gradients from showing bands.
  c += (noise(uvec3(at, 7u)) - 0.5) / 255.0;
  ivec2 q = ivec2(at.x, int(viewport.y) - 1 - at.y) - ivec2(overlay_place.xy);
  if (all(greaterThanEqual(q, ivec2(0))) && all(lessThan(q, ivec2(overlay_place.zw)))) {
    vec4 o = texelFetch(overlay, q, 0);
    c = mix(c, o.rgb, o.a);
  }
  out_colour = vec4(c, 1.0);
}
)glsl";

/// The source of a shader, from its parts. (Long sums of strings GCC 12 warns of, wrongly.)
std::string source_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace

std::string screen_vertex_source() {
  return source_of({glsl_frame, screen_vertex});
}
std::string floor_surface_source() {
  return source_of({glsl_frame, floor_meeting, floor_surface});
}
std::string backdrop_source() {
  return source_of({glsl_frame, glsl_tone, glsl_light, glsl_gather_occlusion, floor_meeting, backdrop});
}
std::string occlusion_source() {
  return source_of({glsl_frame, "#define SEARCH_TAPS 12\n#define FILTER_TAPS 16\n#define HORIZON_STEPS 4\n",
                    floor_meeting, occlusion_head, key_visibility, ambient_visibility, occlusion_main});
}
std::string volume_source() {
  return source_of({glsl_frame, glsl_tone, glsl_light, floor_meeting, volume_main});
}
std::string farthest_source() {
  return source_of({glsl_frame, farthest_main});
}
std::string smooth_source() {
  return source_of({glsl_frame, smooth_main});
}
std::string gather_source(bool multisampled) {
  return source_of({glsl_frame, multisampled ? gather_main : gather_single_main});
}
std::string finish_source() {
  return source_of({glsl_frame, finish_main});
}

}}  // namespace plenum::PLENUM_ABI::detail
