#include "plenum/draw/detail/gl.h"

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

GlBuffer make_buffer() {
  GLuint name = 0;
  glGenBuffers(1, &name);
  return GlBuffer(name);
}
GlVertexArray make_vertex_array() {
  GLuint name = 0;
  glGenVertexArrays(1, &name);
  return GlVertexArray(name);
}
GlFramebuffer make_framebuffer() {
  GLuint name = 0;
  glGenFramebuffers(1, &name);
  return GlFramebuffer(name);
}

GlTexture make_texture(GLenum internal_format, int width, int height, GLenum format, GLenum type,
                       const void* data, GLenum filter) {
  GLuint name = 0;
  glGenTextures(1, &name);
  glBindTexture(GL_TEXTURE_2D, name);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexImage2D(GL_TEXTURE_2D, 0, GLint(internal_format), width, height, 0, format, type, data);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GLint(filter));
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GLint(filter));
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  return GlTexture(name);
}

GlTexture make_volume_texture(int width, int height, int depth, const float* rgb) {
  GLuint name = 0;
  glGenTextures(1, &name);
  glBindTexture(GL_TEXTURE_3D, name);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexImage3D(GL_TEXTURE_3D, 0, GL_RGB16F, width, height, depth, 0, GL_RGB, GL_FLOAT, rgb);
  for (const GLenum filter : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER})
    glTexParameteri(GL_TEXTURE_3D, filter, GL_LINEAR);
  for (const GLenum wrap : {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T, GL_TEXTURE_WRAP_R})
    glTexParameteri(GL_TEXTURE_3D, wrap, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_3D, GL_TEXTURE_MAX_LEVEL, 0);
  return GlTexture(name);
}

GlTexture make_multisample_texture(GLenum internal_format, int samples, int width, int height) {
  GLuint name = 0;
  glGenTextures(1, &name);
  glBindTexture(GL_TEXTURE_2D_MULTISAMPLE, name);
  glTexImage2DMultisample(GL_TEXTURE_2D_MULTISAMPLE, samples, internal_format, width, height, GL_TRUE);
  return GlTexture(name);
}

void require_complete_framebuffer(const char* what) {
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    throw Error(Problem{.what = std::string("this OpenGL cannot draw into ") + what,
                        .remedy = "use Mesa's software renderer (Debian: apt install libgl1-mesa-dri) with "
                                  "LIBGL_ALWAYS_SOFTWARE=1"});
}

namespace {
GLuint compile(const char* name, GLenum stage, const std::string& source) {
  const GLuint shader = glCreateShader(stage);
  const char* text = source.c_str();
  glShaderSource(shader, 1, &text, nullptr);
  glCompileShader(shader);
  GLint good = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  if (!good) {
    char log[2048] = "";
    glGetShaderInfoLog(shader, sizeof log, nullptr, log);
    glDeleteShader(shader);
    throw Error(Problem{.what = std::string("the driver refuses the shader ") + name, .value = log});
  }
  return shader;
}
}  // namespace

GlProgram::GlProgram(const char* name, const std::string& vertex_source, const std::string& fragment_source) {
  const GLuint vertex = compile(name, GL_VERTEX_SHADER, vertex_source);
  const GLuint fragment = compile(name, GL_FRAGMENT_SHADER, fragment_source);
  program_ = GlName<delete_program>(glCreateProgram());
  glAttachShader(program_, vertex);
  glAttachShader(program_, fragment);
  glLinkProgram(program_);
  glDeleteShader(vertex);
  glDeleteShader(fragment);
  GLint good = 0;
  glGetProgramiv(program_, GL_LINK_STATUS, &good);
  if (!good) {
    char log[2048] = "";
    glGetProgramInfoLog(program_, sizeof log, nullptr, log);
    throw Error(Problem{.what = std::string("the driver cannot link the program ") + name, .value = log});
  }
  const GLuint block = glGetUniformBlockIndex(program_, "Frame");
  if (block != GL_INVALID_INDEX) glUniformBlockBinding(program_, block, 0);
}

GLint GlProgram::uniform(const char* name) const {
  const auto found = locations_.find(name);
  if (found != locations_.end()) return found->second;
  return locations_[name] = glGetUniformLocation(program_, name);
}

}}  // namespace plenum::PLENUM_ABI::detail
