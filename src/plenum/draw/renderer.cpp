#include "plenum/draw/renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <tuple>

#include "plenum/base/error.h"
#include "plenum/draw/detail/batches.h"
#include "plenum/draw/detail/frame.h"
#include "plenum/draw/detail/liquid.h"
#include "plenum/draw/detail/quantities.h"
#include "plenum/draw/detail/targets.h"
#include "plenum/draw/detail/volume.h"

namespace plenum::inline PLENUM_ABI {

using namespace detail;

struct Renderer::Impl {
  // Programs by shape and pass.
  GlProgram geometry[3][num_passes];
  GlProgram floor_surface, backdrop, volume, farthest, occlusion, smooth, gather, gather_single, finish;
  GlVertexArray no_vertices = make_vertex_array();
  QuadIndices quads;
  GlBuffer frame_buffer = make_buffer();
  GlTexture colour_maps, overlay_texture, white;
  GlSampler compare;

  Target shadow, surface, farthest_8, farthest_64, occluded, smoothed, picture, gathered, encoded;
  Quality built_quality = Quality::normal;
  bool is_built = false;

  // The frame being collected. Batches are reused from frame to frame; the counts say how many are in use.
  Camera camera;
  Style style;
  int width = 0, height = 0;
  std::string caption;
  std::vector<OverlayLabel> labels;
  Aabb casters;
  std::vector<TriangleBatch> triangle_batches;
  /// Batches of arrays that last, by where they are.
  std::map<std::tuple<const Vec3*, const Index3*, const Vec3*>, std::size_t> lasting;
  std::vector<ItemBatch> item_batches;
  std::vector<VolumeBatch> volumes;
  LiquidLayer liquids;
  std::size_t num_triangle_batches = 0, num_item_batches = 0, num_volumes = 0;
  bool any_marks = false;
  Quantities quantities;
  DrawMesh mesh;
  std::vector<float> texels;
  FrameBlock block{};
  StageTimes times;

  std::vector<LegendEntry> overlay_entries;
  std::string overlay_caption;
  std::vector<OverlayLabel> overlay_labels;
  int overlay_width = 0, overlay_height = 0;
  double overlay_covered = 0;
  Overlay overlay;

  Impl();
  void build_targets();
  void send_block(int pass);
  /// `opacity`: which one of marks'.
  void draw_geometry(Pass pass, float MarkOpacity::*opacity = &MarkOpacity::seen);
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
  void light_volumes();
  void draw_volumes();
  void draw_marks();
  void update_overlay();
  void draw_finish();
  void draw_all(GLuint framebuffer);
};

Renderer::Impl::Impl() {
  if (epoxy_gl_version() < 33 || !epoxy_is_desktop_gl())
    throw Error(Problem{.what = "pictures need OpenGL 3.3",
                        .value = fmt::format("{}.{}", epoxy_gl_version() / 10, epoxy_gl_version() % 10),
                        .remedy = "use Mesa's software renderer (Debian: apt install libgl1-mesa-dri)"});
  const char* const names[3] = {"triangles", "spheres", "capsules"};
  for (const Shape shape : {Shape::triangles, Shape::spheres, Shape::capsules})
    for (const Pass pass : {Pass::shadow, Pass::surface, Pass::shade, Pass::mark})
      geometry[int(shape)][int(pass)] =
          GlProgram(names[int(shape)], vertex_source(shape, pass), fragment_source(shape, pass));
  floor_surface = GlProgram("floor", screen_vertex_source(), floor_surface_source());
  backdrop = GlProgram("backdrop", screen_vertex_source(), backdrop_source());
  volume = GlProgram("volume", screen_vertex_source(), volume_source());
  farthest = GlProgram("farthest", screen_vertex_source(), farthest_source());
  occlusion = GlProgram("occlusion", screen_vertex_source(), occlusion_source());
  smooth = GlProgram("smooth", screen_vertex_source(), smooth_source());
  gather = GlProgram("gather", screen_vertex_source(), gather_source(true));
  gather_single = GlProgram("gather", screen_vertex_source(), gather_source(false));
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
    glUniform1i(program.uniform("farthest_8"), unit_farthest_8);
    glUniform1i(program.uniform("farthest_64"), unit_farthest_64);
    glUniform1i(program.uniform("volume_map"), unit_volume);
    glUniform1i(program.uniform("scattered_map"), unit_scattered);
  };
  for (auto& shape : geometry)
    for (const GlProgram& program : shape) units(program);
  for (const GlProgram* program :
       {&floor_surface, &backdrop, &volume, &farthest, &occlusion, &smooth, &gather, &gather_single, &finish})
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

void Renderer::Impl::build_targets() {
  const Effort effort = effort_of(style.quality);
  if (is_built && picture.width == width && picture.height == height && built_quality == style.quality)
    return;
  is_built = false;
  const int w = std::max(1, width / effort.divide), h = std::max(1, height / effort.divide);
  shadow = make_depth_target(effort.shadow_size);
  surface = make_target("a surface buffer", w, h, GL_RGBA32F, WithDepth::yes);
  const auto eighth = [](int n) { return (n + 7) / 8; };
  farthest_8 = make_target("a depth pyramid", eighth(w), eighth(h), GL_R32F, WithDepth::no);
  farthest_64 = make_target("a depth pyramid", eighth(eighth(w)), eighth(eighth(h)), GL_R32F, WithDepth::no);
  occluded = make_target("an occlusion buffer", w, h, GL_RG8, WithDepth::no);
  smoothed = make_target("an occlusion buffer", w, h, GL_RG8, WithDepth::no);
  picture = make_target("a multisampled picture", width, height, GL_RGBA16F, WithDepth::yes, effort.samples);
  gathered = make_target("a picture", width, height, GL_RGBA16F, WithDepth::no);
  encoded = make_target("a picture", width, height, GL_RGBA8, WithDepth::no);
  built_quality = style.quality;
  is_built = true;
}

void Renderer::Impl::send_block(int pass) {
  const FrameBlock sent = jittered(block, pass, effort_of(style.quality).passes);
  glBindBuffer(GL_UNIFORM_BUFFER, frame_buffer);
  glBufferData(GL_UNIFORM_BUFFER, sizeof sent, &sent, GL_DYNAMIC_DRAW);
  glBindBufferBase(GL_UNIFORM_BUFFER, 0, frame_buffer);
}

void Renderer::Impl::draw_geometry(Pass pass, float MarkOpacity::*opacity) {
  const auto set_material = [&](const GlProgram& program, const Material& m, const Colouring& colouring) {
    if (pass != Pass::shade && pass != Pass::mark) return;
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
    if (colouring.is_dyed) range[3] = 2;
    glUniform4fv(program.uniform("map_range"), 1, range);
  };
  const auto is_drawn = [&](const std::optional<MarkOpacity>& mark) {
    return mark.has_value() == (pass == Pass::mark) && (!mark || (*mark).*opacity > 0);
  };
  if (num_triangle_batches > 0) {
    const GlProgram& program = geometry[int(Shape::triangles)][int(pass)];
    program.use();
    for (std::size_t i = 0; i < num_triangle_batches; ++i) {
      const TriangleBatch& batch = triangle_batches[i];
      if (!is_drawn(batch.mark)) continue;
      if (batch.mark) glUniform1f(program.uniform("opacity"), (*batch.mark).*opacity);
      const Quat& q = batch.pose.rotation;
      const Vec3& x = batch.pose.position;
      glUniform4f(program.uniform("pose_rotation"), float(q.x()), float(q.y()), float(q.z()), float(q.w()));
      glUniform3f(program.uniform("pose_position"), float(x.x()), float(x.y()), float(x.z()));
      glUniform1f(program.uniform("scale"), float(batch.scale));
      set_material(program, batch.material, batch.colouring);
      const TriangleBatch& drawn = triangle_batches[batch.geometry];
      glBindVertexArray(drawn.vertex_array);
      glDrawElements(GL_TRIANGLES, drawn.num_indices, GL_UNSIGNED_INT, nullptr);
    }
  }
  if (num_item_batches > 0) {
    if (pass == Pass::shade) glEnable(GL_SAMPLE_ALPHA_TO_COVERAGE);
    for (std::size_t i = 0; i < num_item_batches; ++i) {
      const ItemBatch& batch = item_batches[i];
      if (!is_drawn(batch.mark) || (pass == Pass::shadow && !batch.throws_shadow)) continue;
      const GlProgram& program = geometry[int(batch.shape)][int(pass)];
      program.use();
      if (batch.mark) glUniform1f(program.uniform("opacity"), (*batch.mark).*opacity);
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
  const float far_away = 1;
  glClearBufferfv(GL_COLOR, 0, nothing);
  glClearBufferfv(GL_DEPTH, 0, &far_away);
  draw_geometry(Pass::surface);
  if (style.floor) {
    floor_surface.use();
    draw_screen();
  }
  if (num_item_batches > 0) {
    glDisable(GL_DEPTH_TEST);
    farthest.use();
    farthest_8.bind();
    bind(unit_surface, GL_TEXTURE_2D, surface.colour);
    glUniform1i(farthest.uniform("again"), 0);
    draw_screen();
    farthest_64.bind();
    bind(unit_surface, GL_TEXTURE_2D, farthest_8.colour);
    glUniform1i(farthest.uniform("again"), 1);
    draw_screen();
    glEnable(GL_DEPTH_TEST);
    bind(unit_farthest_8, GL_TEXTURE_2D, farthest_8.colour);
    bind(unit_farthest_64, GL_TEXTURE_2D, farthest_64.colour);
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
  if (!liquids.empty()) {
    const StageTimer liquid_timer(times, "liquids");
    liquids.draw(picture, surface);
  }
  if (num_volumes > 0) draw_volumes();
  if (any_marks) draw_marks();
  glDisable(GL_MULTISAMPLE);
}

void Renderer::Impl::light_volumes() {
  const StageTimer timer(times, "volumes");
  const Vec3 toward(block.light[0], block.light[1], block.light[2]);
  for (std::size_t i = 0; i < num_volumes; ++i) {
    VolumeBatch& batch = volumes[i];
    batch.lit = light_volume(batch.view, toward);
    const std::array<int, 3>& n = batch.lit.size;
    glActiveTexture(GL_TEXTURE0 + unit_volume);
    if (n[0] == 0) continue;
    batch.texture = make_volume_texture(n[0], n[1], n[2], batch.lit.texels.data());
    if (batch.is_coloured) {
      scattered_texels(batch.view, batch.lit, batch.texels);
      batch.scattered_texture = make_volume_texture(n[0], n[1], n[2], batch.texels.data());
    }
  }
}

void Renderer::Impl::draw_volumes() {
  const StageTimer timer(times, "volumes");
  glDepthMask(GL_FALSE);
  glEnable(GL_BLEND);
  glBlendFunc(GL_ONE, GL_SRC_ALPHA);
  volume.use();
  bind(unit_surface, GL_TEXTURE_2D, surface.colour);
  bind(unit_compare, GL_TEXTURE_2D, shadow.depth);
  glBindSampler(unit_compare, compare);
  // The farther ones first.
  std::vector<const VolumeBatch*> order;
  for (std::size_t i = 0; i < num_volumes; ++i)
    if (volumes[i].lit.size[0] > 0) order.push_back(&volumes[i]);
  const auto distance = [&](const VolumeBatch* v) {
    return (v->lit.box.centre() - camera.eye).squaredNorm();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const VolumeBatch* a, const VolumeBatch* b) { return distance(a) > distance(b); });
  for (const VolumeBatch* v : order) {
    bind(unit_volume, GL_TEXTURE_3D, v->texture);
    bind(unit_scattered, GL_TEXTURE_3D, v->is_coloured ? v->scattered_texture : v->texture);
    glUniform1i(volume.uniform("coloured"), v->is_coloured ? 1 : 0);
    const auto vec3 = [&](const char* name, const Vec3& x) {
      glUniform3f(volume.uniform(name), float(x.x()), float(x.y()), float(x.z()));
    };
    vec3("low", v->lit.box.low);
    vec3("high", v->lit.box.high);
    vec3("albedo", v->view.albedo);
    glUniform1f(volume.uniform("march"),
                float(v->view.spacing) * (style.quality == Quality::draft ? 2.0f : 1.0f));
    for (const bool nearer : {false, true}) {
      glDepthFunc(nearer ? GL_GREATER : GL_LEQUAL);
      glUniform1i(volume.uniform("nearer"), nearer ? 1 : 0);
      draw_screen();
    }
  }
  glDepthFunc(GL_LEQUAL);
  glBindSampler(unit_compare, 0);
  glDisable(GL_BLEND);
  glDepthMask(GL_TRUE);
}

void Renderer::Impl::draw_marks() {
  // First what something hides, then over it what is seen.
  glEnable(GL_BLEND);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
  glDepthMask(GL_FALSE);
  // Tints lie on surfaces, and are to win against these.
  glEnable(GL_POLYGON_OFFSET_FILL);
  glPolygonOffset(-1, -2);
  glDepthFunc(GL_GREATER);
  draw_geometry(Pass::mark, &MarkOpacity::hidden);
  glDepthFunc(GL_LEQUAL);
  draw_geometry(Pass::mark, &MarkOpacity::seen);
  glDisable(GL_POLYGON_OFFSET_FILL);
  glDepthMask(GL_TRUE);
  glDisable(GL_BLEND);
}

void Renderer::Impl::update_overlay() {
  std::vector<LegendEntry> entries;
  if (style.legend) entries = quantities.legend();
  const double covered = std::clamp(static_cast<double>(camera.shift), 0.0, 0.9);
  if (covered == overlay_covered && entries == overlay_entries && caption == overlay_caption &&
      labels == overlay_labels && width == overlay_width && height == overlay_height)
    return;
  overlay = make_overlay(entries, caption, labels, width, height, covered);
  if (overlay.width > 0) {
    glActiveTexture(GL_TEXTURE0 + unit_overlay);
    overlay_texture = make_texture(GL_RGBA8, overlay.width, overlay.height, GL_RGBA, GL_UNSIGNED_BYTE,
                                   overlay.rgba.data(), GL_NEAREST);
  }
  overlay_entries = std::move(entries);
  overlay_caption = caption;
  overlay_labels = labels;
  overlay_width = width, overlay_height = height;
  overlay_covered = covered;
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
  block = frame_block(camera, style, casters, {width, height, surface.width, surface.height});
  update_overlay();
  if (num_volumes > 0) light_volumes();

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
    const bool multisampled = effort_of(style.quality).samples > 0;
    const GlProgram& program = multisampled ? gather : gather_single;
    program.use();
    bind(unit_picture, multisampled ? GL_TEXTURE_2D_MULTISAMPLE : GL_TEXTURE_2D, picture.colour);
    glUniform1f(program.uniform("weight"), 1.0f / float(passes));
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
  r.labels.clear();
  r.casters = {};
  r.num_triangle_batches = r.num_item_batches = r.num_volumes = 0;
  r.liquids.clear();
  r.lasting.clear();
  r.any_marks = false;
  r.quantities.begin_frame();
  r.times = {};
}

void Renderer::triangles(const TriangleView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  // Cloth is smooth all over; solids keep edges sharper than 50 degrees.
  const float crease = view.look == Look::cloth ? float(std::numbers::pi) : 0.87f;
  const std::optional<MarkOpacity> mark = opacity_of(view.look, Shape::triangles);
  const std::size_t number = r.num_triangle_batches;
  std::size_t geometry = number;
  const bool may_share =
      view.lasts && view.colour.values.empty() && view.dyes.empty() && view.look != Look::cloth;
  if (may_share)
    geometry =
        r.lasting.emplace(std::tuple(view.x.data(), view.triangles.data(), view.normals.data()), number)
            .first->second;
  if (geometry == number) {
    build_draw_mesh(view, crease, r.mesh);
    if (r.mesh.indices.empty()) {
      if (may_share) r.lasting.erase({view.x.data(), view.triangles.data(), view.normals.data()});
      return;
    }
  }
  if (number == r.triangle_batches.size()) r.triangle_batches.emplace_back();
  ++r.num_triangle_batches;
  TriangleBatch& batch = r.triangle_batches[number];
  batch.geometry = geometry;
  if (geometry == number) batch.upload(r.mesh);
  if (!mark && geometry == number) {
    for (const std::uint32_t i : r.mesh.indices) {
      const float* p = r.mesh.vertices[i].position;
      r.casters.extend(view.place(Vec3(p[0], p[1], p[2])));
    }
  } else if (!mark) {
    const Aabb& box = r.triangle_batches[geometry].box;
    for (int corner = 0; corner < 8; ++corner)
      r.casters.extend(
          view.place(Vec3((corner & 1 ? box.high : box.low).x(), (corner & 2 ? box.high : box.low).y(),
                          (corner & 4 ? box.high : box.low).z())));
  }
  batch.pose = view.pose;
  batch.scale = view.scale;
  batch.mark = mark;
  r.any_marks |= mark.has_value();
  batch.material = material_of(view.look, view.palette);
  batch.colouring.quantity = r.quantities.note(view.colour, view.x.size());
  batch.colouring.is_dyed = !view.dyes.empty() && view.dyes.size() == view.x.size();
}

void Renderer::spheres(const SphereView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  const bool coloured = !view.x.empty() && view.colour.values.size() >= view.x.size();
  const std::optional<MarkOpacity> mark = opacity_of(view.look, Shape::spheres);
  r.texels.clear();
  for (std::size_t i = 0; i < view.x.size(); ++i) {
    const Vec3& x = view.x[i];
    const Real radius = i < view.radii.size() ? view.radii[i] : view.radius;
    if (!x.allFinite() || !(radius > 0) || !std::isfinite(radius)) continue;
    if (!mark) r.casters.extend(Aabb{x, x}.grown(radius));
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
  batch.throws_shadow = true;
  batch.mark = mark;
  r.any_marks |= mark.has_value();
  batch.upload(r.texels, int(r.texels.size() / 8));
  batch.material = material_of(view.look, view.palette);
  batch.colouring.quantity = r.quantities.note(view.colour, view.x.size());
}

void Renderer::lines(const LineView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  const auto num_points = static_cast<Index>(view.x.size());
  const std::size_t num_values = view.colours_segments ? view.segments.size() : view.x.size();
  const bool coloured = num_points > 0 && view.colour.values.size() >= num_values;
  const std::optional<MarkOpacity> mark = opacity_of(view.look, Shape::capsules);
  r.texels.clear();
  for (std::size_t k = 0; k < view.segments.size(); ++k) {
    const Index2& s = view.segments[k];
    if (s.minCoeff() < 0 || s.maxCoeff() >= num_points) continue;
    const Vec3 &a = view.x[s[0]], &b = view.x[s[1]];
    const Real radius =
        view.radii.size() < view.x.size() ? view.radius : (view.radii[s[0]] + view.radii[s[1]]) / 2;
    if (!a.allFinite() || !b.allFinite() || !(radius > 0) || !std::isfinite(radius)) continue;
    const auto value = [&](int end) {
      return coloured ? float(view.colour.values[view.colours_segments ? k : std::size_t(s[end])]) : 0.0f;
    };
    if (!mark) r.casters.extend(Aabb{a.cwiseMin(b), a.cwiseMax(b)}.grown(radius));
    const float texels[12] = {float(a.x()),
                              float(a.y()),
                              float(a.z()),
                              float(radius),
                              float(b.x()),
                              float(b.y()),
                              float(b.z()),
                              0,
                              value(0),
                              value(1),
                              0,
                              0};
    r.texels.insert(r.texels.end(), texels, texels + 12);
  }
  if (r.texels.empty()) return;
  if (r.num_item_batches == r.item_batches.size()) r.item_batches.emplace_back();
  ItemBatch& batch = r.item_batches[r.num_item_batches++];
  batch.shape = Shape::capsules;
  batch.throws_shadow = view.look != Look::trail;
  batch.mark = mark;
  r.any_marks |= mark.has_value();
  batch.upload(r.texels, int(r.texels.size() / 12));
  batch.material = material_of(view.look, view.palette);
  batch.colouring.quantity = r.quantities.note(view.colour, num_values);
}

void Renderer::volume(const VolumeView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  if (view.shape.is_flat() || view.density.size() < view.shape.size() || !(view.extinction > 0)) return;
  if (r.num_volumes == r.volumes.size()) r.volumes.emplace_back();
  VolumeBatch& batch = r.volumes[r.num_volumes++];
  batch.density.assign(view.density.begin(), view.density.end());
  for (Real& density : batch.density)
    if (!std::isfinite(density)) density = 0;
  batch.view = view;
  batch.view.density = batch.density;
  batch.is_coloured = true;
  for (const std::span<const Real> channel : view.scattered)
    batch.is_coloured = batch.is_coloured && channel.size() >= view.shape.size();
  for (std::size_t c = 0; c < 3; ++c) {
    if (!batch.is_coloured) continue;
    batch.scattered[c].assign(view.scattered[c].begin(), view.scattered[c].end());
    for (Real& part : batch.scattered[c])
      if (!std::isfinite(part)) part = 0;
    batch.view.scattered[c] = batch.scattered[c];
  }
  r.casters.extend(view.low);
  r.casters.extend(view.high());
}

void Renderer::liquid(const LiquidView& view) {
  Impl& r = *impl_;
  const StageTimer timer(r.times, "upload");
  r.liquids.add(view, r.mesh, r.casters);
}

void Renderer::label(const LabelView& view) {
  Impl& r = *impl_;
  const std::optional<Vec2> at = r.camera.project(view.at, Real(r.width) / Real(r.height));
  if (!at) return;
  // To the nearest pixel, so that a label at rest is drawn once.
  r.labels.push_back({.x = std::round((1 + double(at->x())) / 2 * r.width),
                      .y = std::round((1 - double(at->y())) / 2 * r.height),
                      .text = std::string(view.text)});
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
  impl_->quantities.reset();
}
const StageTimes& Renderer::times() const {
  return impl_->times;
}

}  // namespace plenum::inline PLENUM_ABI
