#include "plenum/draw/detail/targets.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

Target make_target(const char* what, int width, int height, GLenum colour_format, WithDepth with_depth,
                   int samples) {
  Target target;
  target.width = width, target.height = height;
  const GLenum kind = samples > 0 ? GL_TEXTURE_2D_MULTISAMPLE : GL_TEXTURE_2D;
  const auto texture = [&](GLenum internal, GLenum format, GLenum type) {
    return samples > 0 ? make_multisample_texture(internal, samples, width, height)
                       : make_texture(internal, width, height, format, type, nullptr, GL_NEAREST);
  };
  target.framebuffer = make_framebuffer();
  glBindFramebuffer(GL_FRAMEBUFFER, target.framebuffer);
  const GLenum format = colour_format == GL_RG8 || colour_format == GL_RG32F ? GL_RG
                        : colour_format == GL_R32F                           ? GL_RED
                                                                             : GL_RGBA;
  const bool bytes = colour_format == GL_RG8 || colour_format == GL_RGBA8;
  target.colour = texture(colour_format, format, bytes ? GL_UNSIGNED_BYTE : GL_FLOAT);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, kind, target.colour, 0);
  if (with_depth == WithDepth::yes) {
    target.depth = texture(GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, kind, target.depth, 0);
  }
  require_complete_framebuffer(what);
  return target;
}

Target make_depth_target(int size) {
  Target target;
  target.width = target.height = size;
  target.framebuffer = make_framebuffer();
  glBindFramebuffer(GL_FRAMEBUFFER, target.framebuffer);
  target.depth =
      make_texture(GL_DEPTH_COMPONENT32F, size, size, GL_DEPTH_COMPONENT, GL_FLOAT, nullptr, GL_NEAREST);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, target.depth, 0);
  glDrawBuffer(GL_NONE);
  glReadBuffer(GL_NONE);
  require_complete_framebuffer("a shadow map");
  return target;
}

}}  // namespace plenum::PLENUM_ABI::detail
