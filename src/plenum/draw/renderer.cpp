#include "plenum/draw/renderer.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "plenum/base/error.h"
#include "plenum/draw/detail/batches.h"
#include "plenum/draw/detail/targets.h"
#include "plenum/draw/legend.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

namespace {

// What a quality asks for.
struct Effort {
  int shadow_size;  // [px] of the shadow map
  int divide;       // the occlusion buffer has 1/divide of the picture's size along each side
  int passes;       // jittered pictures that are averaged
  bool soft, ambient;
};
Effort effort_of(Quality quality) {
  switch (quality) {
    case Quality::draft:
      return {1024, 2, 1, false, false};
    case Quality::normal:
      return {1536, 2, 1, true, true};
    case Quality::high:
      break;
  }
  return {2048, 1, 4, true, true};
}
constexpr int num_samples = 4;

// A quantity that drawables are coloured by.
struct Quantity {
  std::string name, unit;
  ColourMap map = ColourMap::viridis;
  bool is_fixed = false;  // a view gave the range
  bool is_seen = false;   // in this frame
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();

  std::pair<double, double> range() const {
    if (is_fixed) return {low, high};
    auto [a, b] = rounded_range(low, high);
    if (map == ColourMap::cool_warm) b = std::max(std::abs(a), std::abs(b)), a = -b;
    return {a, b};
  }
};

void store(float* out, const Vec3& x, float w) {
  out[0] = float(x.x()), out[1] = float(x.y()), out[2] = float(x.z()), out[3] = w;
}
Vector3<float> linear(Rgb8 c) {
  return {float(linear_from_srgb(c.r / 255.0)), float(linear_from_srgb(c.g / 255.0)),
          float(linear_from_srgb(c.b / 255.0))};
}

// Smallest of ... 1/4, 1/2, 1, 2 ... in quarter octaves that is at least `size`: the shadow map's texels keep
// their size while the subject moves, so that shadow edges do not swim.
double quarter_octave(double size) {
  return std::exp2(std::ceil(4 * std::log2(size)) / 4);
}

double round_spacing(double size) {
  const double power = std::pow(10.0, std::floor(std::log10(size)));
  return size / power < 2 ? power : size / power < 5 ? 2 * power : 5 * power;
}

}  // namespace

struct Renderer::Impl {
  // Programs by shape and pass.
  GlProgram geometry[3][3];
  GlProgram floor_surface, backdrop, occlusion, smooth, gather, finish;
  GlVertexArray no_vertices = make_vertex_array();
  QuadIndices quads;
  GlBuffer frame_buffer = make_buffer();
  GlTexture colour_maps, overlay_texture, white;
  GlSampler compare;

  Target shadow, surface, occluded, smoothed, picture, gathered, encoded;
  Quality built_quality = Quality::normal;
  bool is_built = false;

  // The frame being collected. Batches are reused from frame to frame; the counts say how many are in use.
  Camera camera;
  Style style;
  int width = 0, height = 0;
  std::string caption;
  Aabb casters;
  std::vector<TriangleBatch> triangle_batches;
  std::vector<ItemBatch> item_batches;
  std::size_t num_triangle_batches = 0, num_item_batches = 0;
  std::vector<Quantity> quantities;
  DrawMesh mesh;
  std::vector<float> texels;
  FrameBlock block{};
  StageTimes times;

  std::vector<LegendEntry> overlay_entries;
  std::string overlay_caption;
  int overlay_width = 0, overlay_height = 0;
  Overlay overlay;

  Impl();
  int quantity_of(const ColourBy& colour, std::size_t count);
  void build_targets();
  void fill_block();
  void send_block(int pass);
  void draw_geometry(Pass pass);
  void draw_screen() const {
    glBindVertexArray(no_vertices);
    glDrawArrays(GL_TRIANGLES, 0, 3);
  }
  void bind(int unit, GLenum kind, GLuint texture) const {
    glActiveTexture(GLenum(GL_TEXTURE0 + unit));
    glBindTexture(kind, texture);
  }
  void draw_shadow();
  void draw_surfaces();
  void draw_occlusion();
  void draw_picture();
  void update_overlay();
  void draw_finish();
  void draw_all(GLuint framebuffer);
};

// Texture units.
enum Unit {
  unit_surface,
  unit_occlusion,
  unit_shadow,
  unit_compare,
  unit_maps,
  unit_items,
  unit_picture,
  unit_overlay
};

Renderer::Impl::Impl() {
  if (epoxy_gl_version() < 33 || !epoxy_is_desktop_gl())
    throw Error(Problem{.what = "pictures need OpenGL 3.3",
                        .value = fmt::format("{}.{}", epoxy_gl_version() / 10, epoxy_gl_version() % 10),
                        .remedy = "use Mesa's software renderer (Debian: apt install libgl1-mesa-dri)"});
  const char* const names[3] = {"triangles", "spheres", "capsules"};
  for (const Shape shape : {Shape::triangles, Shape::spheres, Shape::capsules})
    for (const Pass pass : {Pass::shadow, Pass::surface, Pass::shade})
      geometry[int(shape)][int(pass)] =
          GlProgram(names[int(shape)], vertex_source(shape, pass), fragment_source(shape, pass));
  floor_surface = GlProgram("floor", screen_vertex_source(), floor_surface_source());
  backdrop = GlProgram("backdrop", screen_vertex_source(), backdrop_source());
  occlusion = GlProgram("occlusion", screen_vertex_source(), occlusion_source());
  smooth = GlProgram("smooth", screen_vertex_source(), smooth_source());
  gather = GlProgram("gather", screen_vertex_source(), gather_source());
  finish = GlProgram("finish", screen_vertex_source(), finish_source());

  const auto units = [](const GlProgram& program) {
    program.use();
    glUniform1i(program.uniform("surface_map"), unit_surface);
    glUniform1i(program.uniform("occlusion_map"), unit_occlusion);
    glUniform1i(program.uniform("shadow_depth"), unit_shadow);
    glUniform1i(program.uniform("shadow_compare"), unit_compare);
    glUniform1i(program.uniform("colour_maps"), unit_maps);
    glUniform1i(program.uniform("items"), unit_items);
    glUniform1i(program.uniform("samples_map"), unit_picture);
    glUniform1i(program.uniform("picture"), unit_picture);
    glUniform1i(program.uniform("overlay"), unit_overlay);
  };
  for (auto& shape : geometry)
    for (const GlProgram& program : shape) units(program);
  for (const GlProgram* program : {&floor_surface, &backdrop, &occlusion, &smooth, &gather, &finish})
    units(*program);

  std::vector<float> maps;
  for (int map = 0; map < num_colour_maps; ++map)
    for (int i = 0; i < 256; ++i) {
      const Vector3<double> c = map_colour(ColourMap(map), i / 255.0);
      for (int k = 0; k < 3; ++k) maps.push_back(float(linear_from_srgb(c[k])));
    }
  colour_maps = make_texture(GL_RGB32F, 256, num_colour_maps, GL_RGB, GL_FLOAT, maps.data(), GL_LINEAR);

  GLuint name = 0;
  glGenSamplers(1, &name);
  compare = GlSampler(name);
  glSamplerParameteri(name, GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE);
  glSamplerParameteri(name, GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL);
  glSamplerParameteri(name, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  glSamplerParameteri(name, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  glSamplerParameteri(name, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glSamplerParameteri(name, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);

  glBindBuffer(GL_UNIFORM_BUFFER, frame_buffer);
  glBufferData(GL_UNIFORM_BUFFER, sizeof(FrameBlock), nullptr, GL_DYNAMIC_DRAW);
}

int Renderer::Impl::quantity_of(const ColourBy& colour, std::size_t count) {
  if (colour.values.size() < count || count == 0) return -1;
  std::size_t index = 0;
  while (index < quantities.size() &&
         (quantities[index].name != colour.quantity || quantities[index].unit != colour.unit))
    ++index;
  if (index == quantities.size()) {
    Quantity quantity{.name = std::string(colour.quantity), .unit = std::string(colour.unit)};
    int sequential = 0;
    for (const Quantity& q : quantities) sequential += q.map != ColourMap::cool_warm;
    quantity.map = colour.is_signed      ? ColourMap::cool_warm
                   : sequential % 2 == 0 ? ColourMap::viridis
                                         : ColourMap::cividis;
    quantities.push_back(quantity);
  }
  Quantity& quantity = quantities[index];
  quantity.is_seen = true;
  if (colour.low < colour.high) {
    quantity.is_fixed = true;
    quantity.low = colour.low, quantity.high = colour.high;
  } else if (!quantity.is_fixed) {
    for (std::size_t i = 0; i < count; ++i) {
      const double value = colour.values[i];
      if (!std::isfinite(value)) continue;
      quantity.low = std::min(quantity.low, value);
      quantity.high = std::max(quantity.high, value);
    }
  }
  return static_cast<int>(index);
}

void Renderer::Impl::build_targets() {
  const Effort effort = effort_of(style.quality);
  if (is_built && picture.width == width && picture.height == height && built_quality == style.quality)
    return;
  is_built = false;
  const int w = std::max(1, width / effort.divide), h = std::max(1, height / effort.divide);
  shadow = make_depth_target(effort.shadow_size);
  surface = make_target("a surface buffer", w, h, GL_RGBA32F, WithDepth::yes);
  occluded = make_target("an occlusion buffer", w, h, GL_RG8, WithDepth::no);
  smoothed = make_target("an occlusion buffer", w, h, GL_RG8, WithDepth::no);
  picture = make_target("a multisampled picture", width, height, GL_RGBA16F, WithDepth::yes, num_samples);
  gathered = make_target("a picture", width, height, GL_RGBA16F, WithDepth::no);
  encoded = make_target("a picture", width, height, GL_RGBA8, WithDepth::no);
  built_quality = style.quality;
  is_built = true;
}

void Renderer::Impl::fill_block() {
  const Effort effort = effort_of(style.quality);
  block = {};
  const double aspect = double(width) / height, tangent = std::tan(camera.field_of_view / 2);
  const Vec3 f = camera.forward(), r = camera.right(), u = r.cross(f);
  store(block.eye, camera.eye, float(2 * tangent / height));
  store(block.forward, f, 0);
  store(block.right, r * Real(tangent * aspect), 0);
  store(block.up, u * Real(tangent), 0);

  // The subject as the picture frames it: what casts shadows, but no larger than what can be seen.
  Aabb box = casters;
  if (box.empty()) box = Aabb{camera.target, camera.target}.grown(camera.distance() * Real(0.25));
  const double in_view = camera.distance() * tangent * std::max(1.0, aspect) * 1.5;
  const double radius = std::max(1e-6, std::min<double>(box.size().norm() / 2, in_view));
  store(block.subject, box.centre(), float(radius));

  // Depth range.
  double nearest = 1e30, farthest = 0;
  for (int k = 0; k < 8; ++k) {
    const Vec3 corner(k & 1 ? box.high.x() : box.low.x(), k & 2 ? box.high.y() : box.low.y(),
                      k & 4 ? box.high.z() : box.low.z());
    const double depth = (corner - camera.eye).dot(f);
    nearest = std::min(nearest, depth);
    farthest = std::max(farthest, depth);
  }
  farthest = std::max(1.05 * farthest, 1e-3 * camera.distance());
  nearest = std::clamp(0.95 * nearest, 1e-3 * farthest, 0.9 * farthest);

  // Clip from world, column-major; shifted by the jitter.
  const auto column = [&](int k, const Vec3& x, double w) {
    // x is a direction for w = 0, a point for w = 1.
    const Vec3 d = w == 0 ? Vec3(x) : Vec3(x - camera.eye);
    const double vx = d.dot(r), vy = d.dot(u), vz = d.dot(f);
    float* c = block.clip_from_world + 4 * k;
    c[0] = float(vx / (tangent * aspect));
    c[1] = float(vy / tangent);
    c[2] = float((farthest + nearest) / (farthest - nearest) * vz -
                 (w == 0 ? 0 : 2 * farthest * nearest / (farthest - nearest)));
    c[3] = float(vz);
  };
  column(0, Vec3::UnitX(), 0);
  column(1, Vec3::UnitY(), 0);
  column(2, Vec3::UnitZ(), 0);
  column(3, Vec3::Zero(), 1);

  // The key light's frame.
  Vec3 toward = style.light;
  if (style.light_follows_camera) {
    Vec3 ahead(f.x(), 0, f.z());
    if (ahead.norm() < Real(1e-3)) ahead = Vec3(u.x(), 0, u.z());
    ahead.normalize();
    toward = style.light.x() * ahead.cross(Vec3::UnitY()) + style.light.y() * Vec3::UnitY() -
             style.light.z() * ahead;
  }
  toward = toward.norm() > 0 ? Vec3(toward.normalized()) : Vec3(Vec3::UnitY());
  store(block.light, toward,
        effort.soft ? float(std::tan(std::clamp<double>(style.light_size, 0, 0.7))) : 0.0f);
  const Vec3 lr = Vec3(std::abs(toward.y()) < Real(0.95) ? Vec3(Vec3::UnitY()) : Vec3(Vec3::UnitZ()))
                      .cross(toward)
                      .normalized();
  const Vec3 lu = toward.cross(lr);
  double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30};
  for (int k = 0; k < 8; ++k) {
    const Vec3 corner(k & 1 ? box.high.x() : box.low.x(), k & 2 ? box.high.y() : box.low.y(),
                      k & 4 ? box.high.z() : box.low.z());
    const double at[3] = {corner.dot(lr), corner.dot(lu), -corner.dot(toward)};
    for (int c = 0; c < 3; ++c) low[c] = std::min(low[c], at[c]), high[c] = std::max(high[c], at[c]);
  }
  const double extent =
      quarter_octave(std::max({(high[0] - low[0]) / 2, (high[1] - low[1]) / 2, 1e-6}) * 1.03);
  const double texel = 2 * extent / effort.shadow_size;
  const double cx = texel * std::round((low[0] + high[0]) / 2 / texel),
               cy = texel * std::round((low[1] + high[1]) / 2 / texel);
  const double depth = (high[2] - low[2]) * 1.02 + 1e-6, start = low[2] - 0.01 * depth;
  for (int k = 0; k < 4; ++k) {
    float* c = block.light_from_world + 4 * k;
    const bool point = k == 3;
    c[0] = point ? float(-cx) : float(lr[k]);
    c[1] = point ? float(-cy) : float(lu[k]);
    c[2] = point ? float(-start) : float(-toward[k]);
    c[3] = point ? 1.0f : 0.0f;
  }
  block.shadow[0] = float(extent), block.shadow[1] = float(depth), block.shadow[2] = float(texel);
  block.shadow[3] = float(effort.shadow_size);

  block.floor_plane[0] = float(style.floor_height);
  block.floor_plane[1] = float(std::max(6 * radius, 2.0 * camera.distance()));
  const double spacing = style.grid_spacing > 0 ? double(style.grid_spacing) : round_spacing(radius / 2);
  block.floor_plane[2] = style.grid ? float(spacing) : 0.0f;
  block.floor_plane[3] = style.floor ? 1.0f : 0.0f;
  const Vector3<float> top = linear(style.background_top), bottom = linear(style.background_bottom);
  for (int k = 0; k < 3; ++k) block.top[k] = top[k], block.bottom[k] = bottom[k];
  block.top[3] = float(style.exposure);
  block.bottom[3] = effort.ambient ? 1.0f : 0.0f;
  block.viewport[0] = float(width), block.viewport[1] = float(height);
  block.viewport[2] = float(surface.width), block.viewport[3] = float(surface.height);
  block.passes[3] = effort.soft ? 1.0f : 0.0f;
}

void Renderer::Impl::send_block(int pass) {
  FrameBlock sent = block;
  const int passes = effort_of(style.quality).passes;
  if (passes > 1) {
    // A rotated grid within the pixel, between the hardware's own samples.
    constexpr float shift[4][2] = {
        {-0.0625f, 0.1875f}, {0.1875f, 0.0625f}, {0.0625f, -0.1875f}, {-0.1875f, -0.0625f}};
    sent.passes[0] = shift[pass % 4][0], sent.passes[1] = shift[pass % 4][1];
    sent.passes[2] = float(pass);
    for (int k = 0; k < 4; ++k) {
      float* c = sent.clip_from_world + 4 * k;
      c[0] += 2 * sent.passes[0] / float(width) * c[3];
      c[1] += 2 * sent.passes[1] / float(height) * c[3];
    }
  }
  glBindBuffer(GL_UNIFORM_BUFFER, frame_buffer);
  glBufferData(GL_UNIFORM_BUFFER, sizeof sent, &sent, GL_DYNAMIC_DRAW);
  glBindBufferBase(GL_UNIFORM_BUFFER, 0, frame_buffer);
}

void Renderer::Impl::draw_geometry(Pass pass) {
  const auto set_material = [&](const GlProgram& program, const Material& m, const Colouring& colouring) {
    if (pass != Pass::shade) return;
    glUniform3fv(program.uniform("front_colour"), 1, m.front.data());
    glUniform3fv(program.uniform("back_colour"), 1, m.back.data());
    glUniform4f(program.uniform("material"), m.roughness, m.specular, m.sheen, m.through);
    float range[4] = {0, 0, 1, 0};
    if (colouring.quantity >= 0) {
      const Quantity& q = quantities[colouring.quantity];
      const auto [low, high] = q.range();
      range[0] = (float(q.map) + 0.5f) / num_colour_maps;
      range[1] = float(low);
      range[2] = float(1 / (high - low));
      range[3] = 1;
    }
    glUniform4fv(program.uniform("map_range"), 1, range);
  };
  if (num_triangle_batches > 0) {
    const GlProgram& program = geometry[int(Shape::triangles)][int(pass)];
    program.use();
    for (std::size_t i = 0; i < num_triangle_batches; ++i) {
      const TriangleBatch& batch = triangle_batches[i];
      const Quat& q = batch.pose.rotation;
      const Vec3& x = batch.pose.position;
      glUniform4f(program.uniform("pose_rotation"), float(q.x()), float(q.y()), float(q.z()), float(q.w()));
      glUniform3f(program.uniform("pose_position"), float(x.x()), float(x.y()), float(x.z()));
      set_material(program, batch.material, batch.colouring);
      glBindVertexArray(batch.vertex_array);
      glDrawElements(GL_TRIANGLES, batch.num_indices, GL_UNSIGNED_INT, nullptr);
    }
  }
  if (num_item_batches > 0) {
    if (pass == Pass::shade) glEnable(GL_SAMPLE_ALPHA_TO_COVERAGE);
    for (std::size_t i = 0; i < num_item_batches; ++i) {
      const ItemBatch& batch = item_batches[i];
      const GlProgram& program = geometry[int(batch.shape)][int(pass)];
      program.use();
      set_material(program, batch.material, batch.colouring);
      bind(unit_items, GL_TEXTURE_BUFFER, batch.texture);
      quads.bind(batch.num_items);
      glDrawElements(GL_TRIANGLES, 6 * batch.num_items, GL_UNSIGNED_INT, nullptr);
    }
    glDisable(GL_SAMPLE_ALPHA_TO_COVERAGE);
  }
}

void Renderer::Impl::draw_shadow() {
  const StageTimer timer(times, "shadow map");
  shadow.bind();
  glClear(GL_DEPTH_BUFFER_BIT);
  draw_geometry(Pass::shadow);
}

void Renderer::Impl::draw_surfaces() {
  const StageTimer timer(times, "surfaces");
  surface.bind();
  const float nothing[4] = {0, 0, 0, 1e30f};
  const float farthest = 1;
  glClearBufferfv(GL_COLOR, 0, nothing);
  glClearBufferfv(GL_DEPTH, 0, &farthest);
  draw_geometry(Pass::surface);
  if (style.floor) {
    floor_surface.use();
    draw_screen();
  }
}

void Renderer::Impl::draw_occlusion() {
  const StageTimer timer(times, "occlusion");
  glDisable(GL_DEPTH_TEST);
  bind(unit_surface, GL_TEXTURE_2D, surface.colour);
  bind(unit_shadow, GL_TEXTURE_2D, shadow.depth);
  bind(unit_compare, GL_TEXTURE_2D, shadow.depth);
  glBindSampler(unit_compare, compare);
  occluded.bind();
  occlusion.use();
  draw_screen();
  glBindSampler(unit_compare, 0);

  smoothed.bind();
  smooth.use();
  bind(unit_occlusion, GL_TEXTURE_2D, occluded.colour);
  glUniform1i(smooth.uniform("stride"), 1);
  draw_screen();
  if (block.bottom[3] > 0) {
    occluded.bind();
    bind(unit_occlusion, GL_TEXTURE_2D, smoothed.colour);
    glUniform1i(smooth.uniform("stride"), 3);
    draw_screen();
    std::swap(occluded, smoothed);
  }
  glEnable(GL_DEPTH_TEST);
}

void Renderer::Impl::draw_picture() {
  const StageTimer timer(times, "shading");
  picture.bind();
  glEnable(GL_MULTISAMPLE);
  glClear(GL_DEPTH_BUFFER_BIT);
  bind(unit_surface, GL_TEXTURE_2D, surface.colour);
  bind(unit_occlusion, GL_TEXTURE_2D, smoothed.colour);
  bind(unit_maps, GL_TEXTURE_2D, colour_maps);
  draw_geometry(Pass::shade);
  backdrop.use();
  draw_screen();
  glDisable(GL_MULTISAMPLE);
}

void Renderer::Impl::update_overlay() {
  std::vector<LegendEntry> entries;
  if (style.legend)
    for (const Quantity& q : quantities)
      if (q.is_seen && !q.name.empty()) {
        const auto [low, high] = q.range();
        entries.push_back({q.name, q.unit, low, high, q.map});
      }
  if (entries == overlay_entries && caption == overlay_caption && width == overlay_width &&
      height == overlay_height)
    return;
  overlay = make_overlay(entries, caption, width, height);
  if (overlay.width > 0) {
    glActiveTexture(GL_TEXTURE0 + unit_overlay);
    overlay_texture = make_texture(GL_RGBA8, overlay.width, overlay.height, GL_RGBA, GL_UNSIGNED_BYTE,
                                   overlay.rgba.data(), GL_NEAREST);
  }
  overlay_entries = std::move(entries);
  overlay_caption = caption;
  overlay_width = width, overlay_height = height;
}

void Renderer::Impl::draw_finish() {
  glDisable(GL_DEPTH_TEST);
  finish.use();
  bind(unit_picture, GL_TEXTURE_2D, gathered.colour);
  if (overlay.width > 0) bind(unit_overlay, GL_TEXTURE_2D, overlay_texture);
  glUniform4f(finish.uniform("overlay_place"), float(overlay.x), float(overlay.y), float(overlay.width),
              float(overlay.height));
  draw_screen();
}

void Renderer::Impl::draw_all(GLuint framebuffer) {
  build_targets();
  fill_block();
  update_overlay();

  glDisable(GL_CULL_FACE);
  glDisable(GL_SCISSOR_TEST);
  glDisable(GL_BLEND);
  glDisable(GL_FRAMEBUFFER_SRGB);
  glDisable(GL_STENCIL_TEST);
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  glDepthMask(GL_TRUE);
  glEnable(GL_DEPTH_TEST);
  glDepthFunc(GL_LEQUAL);
  glEnable(GL_DEPTH_CLAMP);
  glClearDepth(1);

  const int passes = effort_of(style.quality).passes;
  for (int pass = 0; pass < passes; ++pass) {
    send_block(pass);
    if (pass == 0) draw_shadow();
    draw_surfaces();
    draw_occlusion();
    draw_picture();

    const StageTimer timer(times, "gather");
    gathered.bind();
    glDisable(GL_DEPTH_TEST);
    if (pass > 0) {
      glEnable(GL_BLEND);
      glBlendFunc(GL_ONE, GL_ONE);
    }
    gather.use();
    bind(unit_picture, GL_TEXTURE_2D_MULTISAMPLE, picture.colour);
    glUniform1f(gather.uniform("weight"), 1.0f / float(passes));
    draw_screen();
    glDisable(GL_BLEND);
    glEnable(GL_DEPTH_TEST);
  }
  const StageTimer timer(times, "finish");
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glViewport(0, 0, width, height);
  draw_finish();
  glDisable(GL_DEPTH_CLAMP);
  glBindVertexArray(0);
  glUseProgram(0);
  glActiveTexture(GL_TEXTURE0);
}

Renderer::Renderer() : impl_(std::make_unique<Impl>()) {}
Renderer::~Renderer() = default;

void Renderer::begin_frame(const Camera& camera, const Style& style, int width, int height) {
  if (width < 1 || height < 1 || width > 8192 || height > 8192)
    throw Error(Problem{.what = "the size of the picture is out of range",
                        .value = fmt::format("{} x {}", width, height),
                        .allowed = "1 to 8192 pixels a side"});
  Impl& r = *impl_;
  r.camera = camera;
  r.style = style;
  r.width = width, r.height = height;
  r.caption.clear();
  r.casters = {};
  r.num_triangle_batches = r.num_item_batches = 0;
  for (Quantity& q : r.quantities) q.is_seen = false;
  r.times = {};
}

void Renderer::triangles(const TriangleView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  // Cloth is smooth all over; solids keep edges sharper than 50 degrees.
  const float crease = view.look == Look::cloth ? float(std::numbers::pi) : 0.87f;
  build_draw_mesh(view, crease, r.mesh);
  if (r.mesh.indices.empty()) return;
  for (const std::uint32_t i : r.mesh.indices) {
    const float* p = r.mesh.vertices[i].position;
    r.casters.extend(view.pose * Vec3(p[0], p[1], p[2]));
  }
  if (r.num_triangle_batches == r.triangle_batches.size()) r.triangle_batches.emplace_back();
  TriangleBatch& batch = r.triangle_batches[r.num_triangle_batches++];
  batch.upload(r.mesh);
  batch.pose = view.pose;
  batch.material = material_of(view.look, view.palette);
  batch.colouring.quantity = r.quantity_of(view.colour, view.x.size());
}

void Renderer::spheres(const SphereView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  const bool coloured = !view.x.empty() && view.colour.values.size() >= view.x.size();
  r.texels.clear();
  for (std::size_t i = 0; i < view.x.size(); ++i) {
    const Vec3& x = view.x[i];
    const Real radius = i < view.radii.size() ? view.radii[i] : view.radius;
    if (!x.allFinite() || !(radius > 0) || !std::isfinite(radius)) continue;
    r.casters.extend(Aabb{x, x}.grown(radius));
    const float texels[8] = {float(x.x()),
                             float(x.y()),
                             float(x.z()),
                             float(radius),
                             coloured ? float(view.colour.values[i]) : 0.0f,
                             0,
                             0,
                             0};
    r.texels.insert(r.texels.end(), texels, texels + 8);
  }
  if (r.texels.empty()) return;
  if (r.num_item_batches == r.item_batches.size()) r.item_batches.emplace_back();
  ItemBatch& batch = r.item_batches[r.num_item_batches++];
  batch.shape = Shape::spheres;
  batch.upload(r.texels, int(r.texels.size() / 8));
  batch.material = material_of(view.look, view.palette);
  batch.colouring.quantity = r.quantity_of(view.colour, view.x.size());
}

void Renderer::lines(const LineView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  if (!(view.radius > 0) || !std::isfinite(view.radius)) return;
  const auto num_points = static_cast<Index>(view.x.size());
  const bool coloured = num_points > 0 && view.colour.values.size() >= view.x.size();
  r.texels.clear();
  for (const Index2& s : view.segments) {
    if (s.minCoeff() < 0 || s.maxCoeff() >= num_points) continue;
    const Vec3 &a = view.x[s[0]], &b = view.x[s[1]];
    if (!a.allFinite() || !b.allFinite()) continue;
    r.casters.extend(Aabb{a.cwiseMin(b), a.cwiseMax(b)}.grown(view.radius));
    const float texels[12] = {float(a.x()),
                              float(a.y()),
                              float(a.z()),
                              float(view.radius),
                              float(b.x()),
                              float(b.y()),
                              float(b.z()),
                              0,
                              coloured ? float(view.colour.values[s[0]]) : 0.0f,
                              coloured ? float(view.colour.values[s[1]]) : 0.0f,
                              0,
                              0};
    r.texels.insert(r.texels.end(), texels, texels + 12);
  }
  if (r.texels.empty()) return;
  if (r.num_item_batches == r.item_batches.size()) r.item_batches.emplace_back();
  ItemBatch& batch = r.item_batches[r.num_item_batches++];
  batch.shape = Shape::capsules;
  batch.upload(r.texels, int(r.texels.size() / 12));
  batch.material = material_of(view.look, view.palette);
  batch.colouring.quantity = r.quantity_of(view.colour, view.x.size());
}

void Renderer::caption(std::string_view text) {
  impl_->caption = text;
}

Image Renderer::finish() {
  Image image;
  finish(image);
  return image;
}

void Renderer::finish(Image& out) {
  Impl& r = *impl_;
  r.build_targets();
  r.draw_all(r.encoded.framebuffer);
  const StageTimer timer(r.times, "read back");
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(r.width) * r.height * 4);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, r.encoded.framebuffer);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, r.width, r.height, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  out.width = r.width, out.height = r.height;
  out.rgb.resize(static_cast<std::size_t>(r.width) * r.height * 3);
  for (int y = 0; y < r.height; ++y) {
    const std::uint8_t* in = &rgba[static_cast<std::size_t>(r.height - 1 - y) * r.width * 4];
    std::uint8_t* to = &out.rgb[static_cast<std::size_t>(y) * r.width * 3];
    for (int x = 0; x < r.width; ++x)
      to[3 * x] = in[4 * x], to[3 * x + 1] = in[4 * x + 1], to[3 * x + 2] = in[4 * x + 2];
  }
}

void Renderer::finish_to_framebuffer(unsigned framebuffer) {
  impl_->draw_all(framebuffer);
}

void Renderer::reset_ranges() {
  impl_->quantities.clear();
}
const StageTimes& Renderer::times() const {
  return impl_->times;
}

}  // namespace plenum::inline PLENUM_ABI
