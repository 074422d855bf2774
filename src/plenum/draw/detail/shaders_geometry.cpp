// Surfaces: triangles as they are; spheres and capsules as quads on which each pixel meets the exact shape.
#include "plenum/draw/detail/shaders.h"
#include "plenum/draw/detail/shaders_common.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

namespace {

const char* const triangles_vertex = R"glsl(
layout(location = 0) in vec3 in_position;
layout(location = 1) in vec3 in_normal;
layout(location = 2) in float in_value;
layout(location = 3) in vec3 in_dye;
uniform vec4 pose_rotation;  // quaternion x y z w
uniform vec3 pose_position;
uniform float scale;
#ifndef PASS_SHADOW
out vec3 v_position;
out vec3 v_normal;
#endif
#ifdef COLOURED
out float v_value;
out vec3 v_dye;
#endif
vec3 rotate(vec4 q, vec3 x) { return x + 2.0 * cross(q.xyz, cross(q.xyz, x) + q.w * x); }
void main() {
  vec3 x = rotate(pose_rotation, scale * in_position) + pose_position;
#ifdef PASS_SHADOW
  vec3 l = (light_from_world * vec4(x, 1.0)).xyz;
  gl_Position = vec4(l.xy / shadow.x, 2.0 * l.z / shadow.y - 1.0, 1.0);
#else
  gl_Position = clip_from_world * vec4(x, 1.0);
  v_position = x;
  v_normal = rotate(pose_rotation, in_normal);
#endif
#ifdef COLOURED
  v_value = in_value;
  v_dye = in_dye;
#endif
}
)glsl";

// Where rays come from: the eye, or far away along the light.
const char* const ray_frame = R"glsl(
#ifdef PASS_SHADOW
vec3 light_right() { return vec3(light_from_world[0].x, light_from_world[1].x, light_from_world[2].x); }
vec3 light_up() { return vec3(light_from_world[0].y, light_from_world[1].y, light_from_world[2].y); }
vec4 project(vec3 x) {
  vec3 l = (light_from_world * vec4(x, 1.0)).xyz;
  return vec4(l.xy / shadow.x, 2.0 * l.z / shadow.y - 1.0, 1.0);
}
vec3 ray_towards(vec3 x) { return -light.xyz; }
// Thinner than a texel of the shadow map they would be dashed.
float least_radius(vec3 x) { return 0.75 * shadow.z; }
float margin(vec3 x) { return 0.0; }
#else
vec4 project(vec3 x) { return clip_from_world * vec4(x, 1.0); }
vec3 ray_towards(vec3 x) { return normalize(x - eye.xyz); }
float pixel_at(vec3 x) { return eye.w * max(dot(x - eye.xyz, forward.xyz), 0.0); }
#ifdef PASS_MARK
// Marks are as thick, and points as large, in small pictures of large scenes as elsewhere.
#ifdef SPHERES
float least_radius(vec3 x) { return pixel_at(x) * max(viewport.y / 280.0, 1.2); }
#else
float least_radius(vec3 x) { return pixel_at(x) * max(viewport.y / 600.0, 0.6); }
#endif
#else
float least_radius(vec3 x) { return 0.6 * pixel_at(x); }
#endif
float margin(vec3 x) { return pixel_at(x); }
#endif
// Factor by which the outline of a sphere, seen in perspective, exceeds its radius.
float outline(vec3 centre, float r) {
#ifdef PASS_SHADOW
  return 1.0;
#else
  vec3 d = centre - eye.xyz;
  return inversesqrt(max(1.0 - r * r / dot(d, d), 0.02));
#endif
}
)glsl";

// Whether everything within a box around a shape has been covered by surfaces before it: of dense particles
// most are hidden, and their pixels, whose depths are only found by shading, would all be shaded. Greene et
// al. 1993, with two levels of the pyramid.
const char* const hiding = R"glsl(
#ifdef PASS_SHADE
uniform sampler2D farthest_8;   // greatest depth over 8 x 8 texels of the surface buffer
uniform sampler2D farthest_64;  // over 64 x 64
bool hidden_behind(sampler2D farthest, ivec2 low, ivec2 high, float nearest) {
  for (int k = 0; k < 16; ++k) {
    ivec2 q = min(low + ivec2(k & 3, k >> 2), high);
    if (texelFetch(farthest, q, 0).r >= nearest) return false;
  }
  return true;
}
// The ball around c of radius r, and the one around d.
bool hidden(vec3 c, vec3 d, float r) {
  float depth_c = dot(c - eye.xyz, forward.xyz), depth_d = dot(d - eye.xyz, forward.xyz);
  float nearest = min(depth_c, depth_d) - r;
  if (nearest <= r) return false;
  vec2 pixel = 0.5 * viewport.zw;
  vec4 pc = clip_from_world * vec4(c, 1.0), pd = clip_from_world * vec4(d, 1.0);
  vec2 a = (pc.xy / pc.w + 1.0) * pixel, b = (pd.xy / pd.w + 1.0) * pixel;
  vec2 reach = vec2(1.0 + 1.1 * r / (nearest * eye.w) * viewport.w / viewport.y);
  ivec2 last = ivec2(viewport.zw) - 1;
  ivec2 low = clamp(ivec2(floor(min(a, b) - reach)), ivec2(0), last);
  ivec2 high = clamp(ivec2(floor(max(a, b) + reach)), ivec2(0), last);
  ivec2 span = (high >> 3) - (low >> 3);
  if (max(span.x, span.y) < 4) return hidden_behind(farthest_8, low >> 3, high >> 3, nearest);
  span = (high >> 6) - (low >> 6);
  return max(span.x, span.y) < 4 && hidden_behind(farthest_64, low >> 6, high >> 6, nearest);
}
#else
bool hidden(vec3 c, vec3 d, float r) { return false; }
#endif
)glsl";

const char* const spheres_vertex = R"glsl(
uniform samplerBuffer items;  // 2 texels each: centre, radius; value
flat out vec4 v_sphere;       // drawn radius in w
flat out vec2 v_extra;        // true radius over drawn radius, value
out vec3 v_position;
void main() {
  int item = gl_VertexID >> 2, corner = gl_VertexID & 3;
  vec4 s = texelFetch(items, 2 * item);
  float drawn = max(s.w, least_radius(s.xyz));
  vec3 d = ray_towards(s.xyz);
#ifdef PASS_SHADOW
  vec3 u = light_right(), v = light_up();
#else
  vec3 u = normalize(cross(d, up.xyz)), v = cross(u, d);
#endif
  float reach = drawn * outline(s.xyz, drawn) + margin(s.xyz);
  v_position = s.xyz + reach * (((corner & 1) * 2 - 1) * u + ((corner >> 1) * 2 - 1) * v);
  v_sphere = vec4(s.xyz, drawn);
  v_extra = vec2(s.w / drawn, texelFetch(items, 2 * item + 1).x);
  gl_Position = hidden(s.xyz, s.xyz, drawn) ? vec4(0.0, 0.0, 0.0, 1.0) : project(v_position);
}
)glsl";

const char* const capsules_vertex = R"glsl(
uniform samplerBuffer items;  // 3 texels each: one end, radius; the other end; values at both
flat out vec4 v_a;            // end, drawn radius
flat out vec4 v_b;            // end, true radius over drawn radius
flat out vec2 v_values;
out vec3 v_position;
void main() {
  int item = gl_VertexID >> 2, corner = gl_VertexID & 3;
  vec4 a = texelFetch(items, 3 * item), b = texelFetch(items, 3 * item + 1);
  vec3 middle = 0.5 * (a.xyz + b.xyz);
  float drawn = max(a.w, least_radius(middle));
  vec3 axis = b.xyz - a.xyz;
  bool at_b = (corner & 1) != 0;
  vec3 end = at_b ? b.xyz : a.xyz;
  vec3 d = ray_towards(end);
  vec3 side = cross(ray_towards(middle), axis);
  float seen = length(side);  // length of the axis across the view
  if (seen < drawn) {
    // Seen along its axis: the nearer end hides the other.
    side = abs(d.y) < 0.9 ? cross(d, vec3(0.0, 1.0, 0.0)) : cross(d, vec3(1.0, 0.0, 0.0));
    end = dot(axis, d) > 0.0 ? a.xyz : b.xyz;
  }
  side = normalize(side);
  vec3 along = cross(side, d);  // across the view, from a to b
  float reach = drawn * outline(end, drawn) + margin(end);
  float more = seen < drawn ? reach + drawn : reach;
  v_position = end + (at_b ? more : -more) * along + ((corner >> 1) * 2 - 1) * reach * side;
  v_a = vec4(a.xyz, drawn);
  v_b = vec4(b.xyz, a.w / drawn);
  v_values = texelFetch(items, 3 * item + 2).xy;
  gl_Position = hidden(a.xyz, b.xyz, drawn) ? vec4(0.0, 0.0, 0.0, 1.0) : project(v_position);
}
)glsl";

// Meeting the exact shape: surface point x, normal n, and how much of the pixel the shape covers.
const char* const triangles_surface = R"glsl(
in vec3 v_position;
in vec3 v_normal;
void surface(out vec3 x, out vec3 n, out float covered, out bool front) {
  x = v_position;
  n = normalize(v_normal);
  front = gl_FrontFacing;
  if (!front) n = -n;
  // Interpolated normals may lean away from the eye at the outline; the surface there is seen edge-on.
  vec3 v = normalize(eye.xyz - x);
  float facing = dot(n, v);
  if (facing < 0.02) n = normalize(n + (0.02 - facing) * v);
  covered = 1.0;
}
)glsl";

const char* const spheres_surface = R"glsl(
flat in vec4 v_sphere;
flat in vec2 v_extra;
in vec3 v_position;
void surface(out vec3 x, out vec3 n, out float covered, out bool front) {
  vec3 d = ray_towards(v_position);
#ifdef PASS_SHADOW
  vec3 across = v_position - v_sphere.xyz;
  float ahead = dot(across, d);
  across -= ahead * d;
#else
  // The point of the ray nearest to the centre, relative to the centre; not by the usual discriminant, which
  // cancels badly for small spheres far away.
  vec3 from = eye.xyz - v_sphere.xyz;
  float ahead = -dot(from, d);
  vec3 across = from + ahead * d;
#endif
  float beside2 = dot(across, across), r = v_sphere.w;
  float inside = max(r * r - beside2, 0.0);
#ifdef PASS_SHADOW
  covered = beside2 <= r * r ? 1.0 : 0.0;
#else
  covered = clamp((r - sqrt(beside2)) / (eye.w * ahead) + 0.5, 0.0, 1.0);
#ifndef PASS_MARK
  covered *= min(v_extra.x * v_extra.x * 1.2, 1.0);
#endif
#endif
  x = v_sphere.xyz + across - sqrt(inside) * d;
  n = normalize(across - sqrt(inside) * d);
  front = true;
}
)glsl";

const char* const capsules_surface = R"glsl(
flat in vec4 v_a;
flat in vec4 v_b;
flat in vec2 v_values;
in vec3 v_position;
float v_along;  // of the point that was met, 0 at a and 1 at b
void surface(out vec3 x, out vec3 n, out float covered, out bool front) {
  vec3 d = ray_towards(v_position);
  // A point of the ray close to the quad keeps the numbers small.
  vec3 o = v_position;
  float r = v_a.w;
  vec3 axis = v_b.xyz - v_a.xyz, from = o - v_a.xyz;
  float aa = max(dot(axis, axis), 1e-30), ad = dot(axis, d), af = dot(axis, from), df = dot(d, from);
  // Nearest approach of ray and axis: minimize |from + t d - s axis| over t and s in [0, 1].
  float across2 = aa - ad * ad;
  float s = across2 > 1e-7 * aa ? clamp((af - ad * df) / across2, 0.0, 1.0) : (ad > 0.0 ? 0.0 : 1.0);
  float t = s * ad - df;
  float beside = length(from + t * d - s * axis);
#ifdef PASS_SHADOW
  covered = beside <= r ? 1.0 : 0.0;
#else
  float pixel = eye.w * dot(o + t * d - eye.xyz, forward.xyz);
  covered = clamp((r - beside) / pixel + 0.5, 0.0, 1.0);
#ifndef PASS_MARK
  covered *= min(v_b.w * 1.2, 1.0);
#endif
#endif
  // First meeting with the round wall, if between the ends; else with the ball at the end it leaves through.
  vec3 from_across = from - (af / aa) * axis, d_across = d - (ad / aa) * axis;
  float qa = max(dot(d_across, d_across), 1e-12), qb = dot(d_across, from_across);
  vec3 miss = from_across - (qb / qa) * d_across;
  float q = max(r * r - dot(miss, miss), 0.0);
  float wall = (-qb - sqrt(q * qa)) / qa;
  float along = (af + wall * ad) / aa;
  if (across2 > 1e-7 * aa && along >= 0.0 && along <= 1.0) {
    t = wall;
  } else {
    along = across2 > 1e-7 * aa ? clamp(along, 0.0, 1.0) : s;
    vec3 c = from - along * axis;
    float b = dot(c, d);
    vec3 m = c - b * d;
    t = -b - sqrt(max(r * r - dot(m, m), 0.0));
  }
  x = o + t * d;
  n = normalize(from + t * d - along * axis);
  v_along = along;
  front = true;
}
)glsl";

const char* const shadow_main = R"glsl(
void main() {
#ifdef IMPOSTOR
  vec3 x, n;
  float covered;
  bool front;
  surface(x, n, covered, front);
  if (covered <= 0.0) discard;
  gl_FragDepth = clamp((light_from_world * vec4(x, 1.0)).z / shadow.y, 0.0, 1.0);
#endif
}
)glsl";

const char* const surface_main = R"glsl(
out vec4 out_surface;
void main() {
  vec3 x, n;
  float covered;
  bool front;
  surface(x, n, covered, front);
#ifdef IMPOSTOR
  if (covered < 0.4) discard;
  vec4 c = project(x);
  gl_FragDepth = clamp(0.5 * c.z / c.w + 0.5, 0.0, 1.0);
#endif
  out_surface = vec4(n, dot(x - eye.xyz, forward.xyz));
}
)glsl";

// The colour of a batch, or that of the number that stands at a place.
const char* const albedo = R"glsl(
#ifdef TRIANGLES
in float v_value;
in vec3 v_dye;
#endif
uniform vec3 front_colour;
uniform vec3 back_colour;
uniform vec4 map_range;  // row of the colour map's texture, low, 1 / (high - low), 1 if coloured by it, 2 by dyes
uniform sampler2D colour_maps;
vec3 colour_of(bool front) {
  if (map_range.w <= 0.0) return front ? front_colour : back_colour;
#if defined(TRIANGLES)
  if (map_range.w > 1.5) return mix(v_dye / 12.92, pow((v_dye + 0.055) / 1.055, vec3(2.4)), step(0.04045, v_dye));
  float value = v_value;
#elif defined(SPHERES)
  float value = v_extra.y;
#else
  float value = mix(v_values.x, v_values.y, v_along);
#endif
  float u = clamp((value - map_range.y) * map_range.z, 0.0, 1.0);
  vec3 colour = texture(colour_maps, vec2((u * 255.0 + 0.5) / 256.0, map_range.x)).rgb;
  return front ? colour : 0.8 * colour;
}
)glsl";

// Marks: colours without light, laid over the finished picture. Tints keep a little shade, for the form.
const char* const mark_main = R"glsl(
uniform float opacity;
out vec4 out_colour;
void main() {
  vec3 x, n;
  float covered;
  bool front;
  surface(x, n, covered, front);
#ifdef IMPOSTOR
  if (covered <= 0.0) discard;
  vec4 c = project(x);
  gl_FragDepth = clamp(0.5 * c.z / c.w + 0.5, 0.0, 1.0);
#endif
  vec3 colour = colour_of(true);
#ifdef TRIANGLES
  colour *= 0.7 + 0.3 * dot(n, light.xyz);
#endif
  out_colour = vec4(colour, covered * opacity);
}
)glsl";

const char* const shade_main = R"glsl(
uniform vec4 material;   // roughness, specular reflectance at normal incidence, sheen, light let through
out vec4 out_colour;

// Microfacet lobe: Trowbridge and Reitz 1975 (GGX) distribution, height-correlated Smith visibility in the
// approximation of Hammon 2017, eq. 22, Fresnel after Schlick 1994.
float specular_lobe(vec3 n, vec3 v, vec3 l, float roughness, float f0) {
  vec3 h = normalize(v + l);
  float nl = max(dot(n, l), 1e-3), nv = max(dot(n, v), 1e-3), nh = dot(n, h), vh = max(dot(v, h), 0.0);
  float a = roughness * roughness, a2 = a * a, k = nh * nh * (a2 - 1.0) + 1.0;
  float distribution = a2 / (k * k);  // times pi, as light is irradiance over pi
  float visibility = 0.5 / mix(2.0 * nl * nv, nl + nv, a);
  return distribution * visibility * (f0 + (1.0 - f0) * pow(1.0 - vh, 5.0)) * nl;
}

void main() {
  vec3 x, n;
  float covered;
  bool front;
  surface(x, n, covered, front);
#ifdef IMPOSTOR
  if (covered <= passes.w) discard;
  vec4 c = project(x);
  gl_FragDepth = clamp(0.5 * c.z / c.w + 0.5, 0.0, 1.0);
#endif
  vec3 albedo = colour_of(front);
  vec3 v = normalize(eye.xyz - x), l = light.xyz;
  vec2 seen = occlusion_at(gl_FragCoord.xy, x, n);

  float nl = dot(n, l), nv = max(dot(n, v), 0.0);
  vec3 open = bounced_occlusion(seen.y, albedo);
  vec3 key = key_light * seen.x;
  vec3 fill_from = normalize(right.xyz * 0.9 * sign(-dot(l, right.xyz) + 1e-4) + up.xyz * 0.35 - forward.xyz * 0.45);
  vec3 fill = fill_light * max(0.5 + 0.5 * dot(n, fill_from), 0.0);
  vec3 diffuse = key * max(nl, 0.0) + (ambient_light(n) + fill) * open;
  // Thin cloth glows a little where the light is behind it.
  diffuse += material.w * key_light * max(-nl, 0.0);
  // A colour that stands for a number must be found again in the legend, so it gives up half of its light and shade.
  if (map_range.w > 0.0) diffuse = mix(diffuse, vec3(0.85 * sqrt(seen.y)), 0.5);
  vec3 radiance = albedo * diffuse;

  // Rounded highlights of the key light, and the broad reflection of the room at grazing angles.
  if (nl > 0.0) radiance += key * specular_lobe(n, v, l, material.x, material.y);
  float grazing = pow(1.0 - nv, 5.0) * (1.0 - material.x);
  radiance += seen.y * (material.y + (1.0 - material.y) * grazing) * 0.35 * ambient_light(reflect(-v, n));
  // Fibres standing off the cloth catch light at its outline.
  float fuzz = pow(1.0 - nv, 3.0);
  radiance += material.z * fuzz * mix(vec3(1.0), albedo, 0.65) * (ambient_light(n) * seen.y + 0.35 * key * max(nl, 0.0));
  out_colour = vec4(tone(radiance * top.w), covered);
}
)glsl";

const char* defines_of(Shape shape) {
  return shape == Shape::triangles ? "#define TRIANGLES\n"
         : shape == Shape::spheres ? "#define SPHERES\n#define IMPOSTOR\n"
                                   : "#define CAPSULES\n#define IMPOSTOR\n";
}
const char* defines_of(Pass pass) {
  return pass == Pass::shadow    ? "#define PASS_SHADOW\n"
         : pass == Pass::surface ? "#define PASS_SURFACE\n"
         : pass == Pass::shade   ? "#define PASS_SHADE\n#define COLOURED\n"
                                 : "#define PASS_MARK\n#define COLOURED\n";
}

}  // namespace

std::string vertex_source(Shape shape, Pass pass) {
  std::string source = std::string(glsl_frame) + defines_of(shape) + defines_of(pass);
  if (shape == Shape::triangles) return source + triangles_vertex;
  return source + ray_frame + hiding + (shape == Shape::spheres ? spheres_vertex : capsules_vertex);
}

std::string fragment_source(Shape shape, Pass pass) {
  std::string source = std::string(glsl_frame) + defines_of(shape) + defines_of(pass);
  if (shape == Shape::triangles && pass == Pass::shadow) return source + shadow_main;
  source += ray_frame;
  source += shape == Shape::triangles ? triangles_surface
            : shape == Shape::spheres ? spheres_surface
                                      : capsules_surface;
  if (pass == Pass::shadow) return source + shadow_main;
  if (pass == Pass::surface) return source + surface_main;
  if (pass == Pass::mark) return source + albedo + mark_main;
  return source + albedo + glsl_tone + glsl_light + glsl_gather_occlusion + shade_main;
}

}}  // namespace plenum::PLENUM_ABI::detail
