#include "plenum/draw/detail/frame.h"

#include <algorithm>
#include <cmath>

namespace plenum::inline PLENUM_ABI { namespace detail {

Effort effort_of(Quality quality) {
  switch (quality) {
    case Quality::draft:
      return {1024, 2, 0, 1, false, false};
    case Quality::normal:
      return {1536, 2, 4, 1, true, true};
    case Quality::high:
      break;
  }
  return {2048, 1, 4, 4, true, true};
}

namespace {

void store(float* out, const Vec3& x, double w) {
  out[0] = float(x.x()), out[1] = float(x.y()), out[2] = float(x.z()), out[3] = float(w);
}

Vec3 corner_of(const Aabb& box, int k) {
  return {k & 1 ? box.high.x() : box.low.x(), k & 2 ? box.high.y() : box.low.y(),
          k & 4 ? box.high.z() : box.low.z()};
}

// The smallest of ... 1/4, 1/2, 1, 2 ... in quarter octaves that is at least `size`: the shadow map's texels
// keep their size while the subject moves, so that shadow edges do not swim.
double quarter_octave(double size) {
  return std::exp2(std::ceil(4 * std::log2(size)) / 4);
}

double round_spacing(double size) {
  const double power = std::pow(10.0, std::floor(std::log10(size)));
  return size / power < 2 ? power : size / power < 5 ? 2 * power : 5 * power;
}

// Unit, towards the key light.
Vec3 towards_light(const Camera& camera, const Style& style) {
  Vec3 toward = style.light;
  if (style.light_follows_camera) {
    const Vec3 f = camera.forward(), u = camera.right().cross(f);
    Vec3 ahead(f.x(), 0, f.z());
    if (ahead.norm() < Real(1e-3)) ahead = Vec3(u.x(), 0, u.z());
    ahead.normalize();
    toward = style.light.x() * ahead.cross(Vec3::UnitY()) + style.light.y() * Vec3::UnitY() -
             style.light.z() * ahead;
  }
  return toward.norm() > 0 ? Vec3(toward.normalized()) : Vec3(Vec3::UnitY());
}

// Clip from world, column-major, for depths from `nearest` to `farthest` along the view.
void fill_clip(const Camera& camera, double aspect, double nearest, double farthest, float* clip_from_world) {
  const double tangent = std::tan(camera.field_of_view / 2);
  const Vec3 f = camera.forward(), r = camera.right(), u = r.cross(f);
  for (int k = 0; k < 4; ++k) {
    const bool point = k == 3;
    const Vec3 d = point ? Vec3(-camera.eye) : Vec3(Vec3::Unit(k));
    float* c = clip_from_world + 4 * k;
    c[0] = float(d.dot(r) / (tangent * aspect) + camera.shift * d.dot(f));
    c[1] = float(d.dot(u) / tangent);
    c[2] = float(((farthest + nearest) * d.dot(f) - (point ? 2 * farthest * nearest : 0)) /
                 (farthest - nearest));
    c[3] = float(d.dot(f));
  }
}

// The key light's frame, in metres across, up and away from the light, and the map that covers `box`.
void fill_light(const Vec3& toward, const Aabb& box, int map_size, FrameBlock& block) {
  const Vec3 aside = std::abs(toward.y()) < Real(0.95) ? Vec3(Vec3::UnitY()) : Vec3(Vec3::UnitZ());
  const Vec3 right = aside.cross(toward).normalized(), up = toward.cross(right);
  double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30};
  for (int k = 0; k < 8; ++k) {
    const Vec3 corner = corner_of(box, k);
    const double at[3] = {corner.dot(right), corner.dot(up), -corner.dot(toward)};
    for (int c = 0; c < 3; ++c) low[c] = std::min(low[c], at[c]), high[c] = std::max(high[c], at[c]);
  }
  const double extent =
      quarter_octave(std::max({(high[0] - low[0]) / 2, (high[1] - low[1]) / 2, 1e-6}) * 1.03);
  const double texel = 2 * extent / map_size;
  const double cx = texel * std::round((low[0] + high[0]) / 2 / texel);
  const double cy = texel * std::round((low[1] + high[1]) / 2 / texel);
  const double depth = (high[2] - low[2]) * 1.02 + 1e-6, start = low[2] - 0.01 * depth;
  for (int k = 0; k < 3; ++k) {
    float* c = block.light_from_world + 4 * k;
    c[0] = float(right[k]), c[1] = float(up[k]), c[2] = float(-toward[k]), c[3] = 0;
  }
  float* c = block.light_from_world + 12;
  c[0] = float(-cx), c[1] = float(-cy), c[2] = float(-start), c[3] = 1;
  block.shadow[0] = float(extent), block.shadow[1] = float(depth), block.shadow[2] = float(texel);
  block.shadow[3] = float(map_size);
}

}  // namespace

FrameBlock frame_block(const Camera& camera, const Style& style, const Aabb& casters, const FrameSize& size) {
  const Effort effort = effort_of(style.quality);
  FrameBlock block{};
  const double aspect = double(size.width) / size.height, tangent = std::tan(camera.field_of_view / 2);
  const double distance = camera.distance();
  const Vec3 f = camera.forward(), r = camera.right(), u = r.cross(f);
  store(block.eye, camera.eye, 2 * tangent / size.height);
  store(block.forward, f, 0);
  store(block.right, r * Real(tangent * aspect), 0);
  store(block.up, u * Real(tangent), 0);

  // The subject is what casts shadows, but no more of it than the picture may show: one stray particle must
  // not spoil the shadows of the rest.
  const double in_view = 1.5 * distance * tangent * std::max(1.0, aspect);
  const Aabb around = Aabb{camera.target, camera.target}.grown(Real(2.5 * in_view));
  Aabb box{casters.low.cwiseMax(around.low), casters.high.cwiseMin(around.high)};
  if (box.empty()) box = Aabb{camera.target, camera.target}.grown(Real(0.25 * distance));
  const double radius = std::max(1e-6, std::min<double>(box.size().norm() / 2, in_view));
  store(block.subject, box.centre(), radius);

  // Depths reach over all there is, within what 24 bits resolve; what is beyond is clamped.
  double nearest = 1e30, farthest = 0;
  for (int k = 0; k < 8; ++k) {
    const double depth = (corner_of(casters.empty() ? box : casters, k) - camera.eye).dot(f);
    nearest = std::min(nearest, depth);
    farthest = std::max(farthest, depth);
  }
  farthest = std::clamp(1.05 * farthest, 1e-3 * distance, 200 * distance);
  nearest = std::clamp(0.95 * nearest, 1e-4 * farthest, 0.9 * farthest);
  fill_clip(camera, aspect, nearest, farthest, block.clip_from_world);

  const Vec3 toward = towards_light(camera, style);
  store(block.light, toward, effort.soft ? std::tan(std::clamp<double>(style.light_size, 0, 0.7)) : 0.0);
  fill_light(toward, box, effort.shadow_size, block);

  const double spacing = style.grid_spacing > 0 ? double(style.grid_spacing) : round_spacing(radius / 2);
  block.floor_plane[0] = float(style.floor_height);
  block.floor_plane[1] = float(std::max(6 * radius, 2 * distance));
  block.floor_plane[2] = style.grid ? float(spacing) : 0.0f;
  block.floor_plane[3] = style.floor ? 1.0f : 0.0f;
  const auto linear = [](float* out, Rgb8 c) {
    out[0] = float(linear_from_srgb(c.r / 255.0));
    out[1] = float(linear_from_srgb(c.g / 255.0));
    out[2] = float(linear_from_srgb(c.b / 255.0));
  };
  linear(block.top, style.background_top);
  linear(block.bottom, style.background_bottom);
  block.top[3] = float(style.exposure);
  block.bottom[3] = effort.ambient ? 1.0f : 0.0f;
  block.viewport[0] = float(size.width), block.viewport[1] = float(size.height);
  block.viewport[2] = float(size.occlusion_width), block.viewport[3] = float(size.occlusion_height);
  block.passes[0] = float(camera.shift * size.width / 2);
  block.passes[3] = effort.samples > 0 ? 0.0f : 0.5f;
  return block;
}

FrameBlock jittered(const FrameBlock& block, int pass, int passes) {
  FrameBlock out = block;
  if (passes < 2) return out;
  // A rotated grid within the pixel, between the hardware's own samples.
  constexpr float shift[4][2] = {
      {-0.0625f, 0.1875f}, {0.1875f, 0.0625f}, {0.0625f, -0.1875f}, {-0.1875f, -0.0625f}};
  const float x = shift[pass % 4][0], y = shift[pass % 4][1];
  out.passes[0] += x, out.passes[1] += y;
  out.passes[2] = float(pass);
  for (int k = 0; k < 4; ++k) {
    float* c = out.clip_from_world + 4 * k;
    c[0] += 2 * x / block.viewport[0] * c[3];
    c[1] += 2 * y / block.viewport[1] * c[3];
  }
  return out;
}

}}  // namespace plenum::PLENUM_ABI::detail
