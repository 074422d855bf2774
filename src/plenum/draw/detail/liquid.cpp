#include "plenum/draw/detail/liquid.h"

#include "plenum/draw/detail/shaders.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

LiquidLayer::LiquidLayer()
    : front_("liquid", vertex_source(Shape::triangles, Pass::surface), liquid_source()),
      back_("liquid", vertex_source(Shape::triangles, Pass::surface), liquid_back_source()) {
  front_.use();
  glUniform1i(front_.uniform("surface_map"), unit_surface);
  glUniform1i(front_.uniform("picture"), unit_picture);
  glUniform1i(front_.uniform("back_map"), unit_back);
}

void LiquidLayer::add(const LiquidView& view, DrawMesh& scratch, Aabb& casters) {
  // Liquid is smooth all over.
  build_draw_mesh({.x = view.x, .triangles = view.triangles, .normals = view.normals}, 4, scratch);
  if (scratch.indices.empty()) return;
  if (num_batches_ == batches_.size()) batches_.emplace_back();
  Batch& batch = batches_[num_batches_++];
  batch.mesh.upload(scratch);
  casters.extend(batch.mesh.box);
  batch.absorption = view.absorption.cwiseMax(0);
  batch.scattering = view.scattering.cwiseMax(0);
  batch.refractive_index = std::max(view.refractive_index, Real(1));
}

void LiquidLayer::draw_triangles(const GlProgram& program) {
  glUniform4f(program.uniform("pose_rotation"), 0, 0, 0, 1);
  glUniform3f(program.uniform("pose_position"), 0, 0, 0);
  glUniform1f(program.uniform("scale"), 1);
  for (std::size_t i = 0; i < num_batches_; ++i) {
    const Batch& batch = batches_[i];
    const auto vec3 = [&](const char* name, const Vec3& x) {
      glUniform3f(program.uniform(name), float(x.x()), float(x.y()), float(x.z()));
    };
    vec3("absorption", batch.absorption);
    vec3("scattering", batch.scattering);
    glUniform1f(program.uniform("refractive_index"), float(batch.refractive_index));
    glBindVertexArray(batch.mesh.vertex_array);
    glDrawElements(GL_TRIANGLES, batch.mesh.num_indices, GL_UNSIGNED_INT, nullptr);
  }
}

void LiquidLayer::draw(const Target& picture, const Target& surface) {
  if (behind_.width != picture.width || behind_.height != picture.height) {
    glActiveTexture(GL_TEXTURE0 + unit_picture);
    behind_ =
        make_target("a picture behind a liquid", picture.width, picture.height, GL_RGBA16F, WithDepth::no);
    for (const GLenum filter : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER})
      glTexParameteri(GL_TEXTURE_2D, filter, GL_LINEAR);
    back_depth_ = make_target("a liquid's depth", picture.width, picture.height, GL_RG32F, WithDepth::no);
  }
  // What is seen through it: the mean of each pixel's samples.
  glBindFramebuffer(GL_READ_FRAMEBUFFER, picture.framebuffer);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, behind_.framebuffer);
  glBlitFramebuffer(0, 0, picture.width, picture.height, 0, 0, picture.width, picture.height,
                    GL_COLOR_BUFFER_BIT, GL_NEAREST);

  back_depth_.bind();
  const float nothing[4] = {1e30f, 1e30f, 0, 0};
  glClearBufferfv(GL_COLOR, 0, nothing);
  glEnable(GL_CULL_FACE);
  glCullFace(GL_FRONT);
  glEnable(GL_BLEND);
  glBlendEquation(GL_MIN);
  back_.use();
  draw_triangles(back_);
  glBlendEquation(GL_FUNC_ADD);
  glDisable(GL_BLEND);

  picture.bind();
  glCullFace(GL_BACK);
  front_.use();
  const auto bind = [](int unit, GLuint texture) {
    glActiveTexture(GLenum(GL_TEXTURE0 + unit));
    glBindTexture(GL_TEXTURE_2D, texture);
  };
  bind(unit_surface, surface.colour);
  bind(unit_picture, behind_.colour);
  bind(unit_back, back_depth_.colour);
  draw_triangles(front_);
  glDisable(GL_CULL_FACE);
}

}}  // namespace plenum::PLENUM_ABI::detail
