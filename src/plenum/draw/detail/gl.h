#pragma once
// OpenGL objects that free themselves, and programs that say what is wrong with them.
#include <epoxy/gl.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// An OpenGL name and how to delete it.
template <auto Delete>
class GlName {
 public:
  GlName() = default;
  explicit GlName(GLuint name) : name_(name) {}
  GlName(GlName&& other) noexcept : name_(std::exchange(other.name_, 0)) {}
  GlName& operator=(GlName&& other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  ~GlName() {
    if (name_) Delete(name_);
  }
  operator GLuint() const { return name_; }  // NOLINT: implicit by intent

 private:
  GLuint name_ = 0;
};
inline void delete_buffer(GLuint n) {
  glDeleteBuffers(1, &n);
}
inline void delete_texture(GLuint n) {
  glDeleteTextures(1, &n);
}
inline void delete_framebuffer(GLuint n) {
  glDeleteFramebuffers(1, &n);
}
inline void delete_vertex_array(GLuint n) {
  glDeleteVertexArrays(1, &n);
}
inline void delete_sampler(GLuint n) {
  glDeleteSamplers(1, &n);
}
inline void delete_program(GLuint n) {
  glDeleteProgram(n);
}

using GlBuffer = GlName<delete_buffer>;
using GlTexture = GlName<delete_texture>;
using GlFramebuffer = GlName<delete_framebuffer>;
using GlVertexArray = GlName<delete_vertex_array>;
using GlSampler = GlName<delete_sampler>;

GlBuffer make_buffer();
GlVertexArray make_vertex_array();
GlFramebuffer make_framebuffer();

/// A texture without mipmaps, clamped to its edge. `filter` is GL_NEAREST or GL_LINEAR.
GlTexture make_texture(GLenum internal_format, int width, int height, GLenum format, GLenum type,
                       const void* data, GLenum filter);
/// A texture of three dimensions of RGB floats, linear, clamped to its edge.
GlTexture make_volume_texture(int width, int height, int depth, const float* rgb);
GlTexture make_multisample_texture(GLenum internal_format, int samples, int width, int height);

/// Throws Error with `what` if the bound framebuffer is not complete.
void require_complete_framebuffer(const char* what);

/// A linked program. Uniforms it does not use are ignored.
class GlProgram {
 public:
  GlProgram() = default;
  /// `name` appears in the Error of a failed compilation.
  GlProgram(const char* name, const std::string& vertex_source, const std::string& fragment_source);
  void use() const { glUseProgram(program_); }
  GLint uniform(const char* name) const;

 private:
  GlName<delete_program> program_;
  mutable std::unordered_map<std::string, GLint> locations_;
};

}}  // namespace plenum::PLENUM_ABI::detail
