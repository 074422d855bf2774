#include "plenum/draw/headless.h"

// epoxy/gl.h must come before epoxy/egl.h.
#include <epoxy/gl.h>

#include <epoxy/egl.h>

#include <dlfcn.h>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI {

struct HeadlessContext::Impl {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;

  ~Impl() {
    if (display == EGL_NO_DISPLAY) return;
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
    eglTerminate(display);
    eglReleaseThread();
  }
};

namespace {
[[noreturn]] void no_opengl(const char* what) {
  throw Error(Problem{
      .what = std::string("pictures without a window need OpenGL 3.3 through EGL, but ") + what,
      .remedy = "install Mesa's software renderer (Debian: apt install libegl1 libgl1 libgl1-mesa-dri), or "
                "run without images"});
}

bool can_open(const char* library) {
  void* handle = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle) ::dlclose(handle);
  return handle != nullptr;
}

}  // namespace

HeadlessContext::HeadlessContext() : impl_(std::make_unique<Impl>()) {
  // libepoxy ends the process when it cannot open these, so ask first.
  if (!can_open("libEGL.so.1")) no_opengl("libEGL.so.1 is missing");
  if (!can_open("libOpenGL.so.0") && !can_open("libGL.so.1")) no_opengl("libGL.so.1 is missing");
  Impl& egl = *impl_;
  if (!epoxy_has_egl_extension(EGL_NO_DISPLAY, "EGL_MESA_platform_surfaceless"))
    no_opengl("this EGL has no surfaceless platform");
  egl.display = eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr);
  EGLint major = 0, minor = 0;
  if (egl.display == EGL_NO_DISPLAY || !eglInitialize(egl.display, &major, &minor)) {
    egl.display = EGL_NO_DISPLAY;
    no_opengl("EGL finds no driver");
  }
  if (!eglBindAPI(EGL_OPENGL_API)) no_opengl("this EGL offers no desktop OpenGL");
  const EGLint wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (!eglChooseConfig(egl.display, wanted, &config, 1, &count)) count = 0;
  const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION,
                               3,
                               EGL_CONTEXT_MINOR_VERSION,
                               3,
                               EGL_CONTEXT_OPENGL_PROFILE_MASK,
                               EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                               EGL_NONE};
  egl.context =
      eglCreateContext(egl.display, count > 0 ? config : EGLConfig(nullptr), EGL_NO_CONTEXT, attributes);
  if (egl.context == EGL_NO_CONTEXT) no_opengl("its driver offers no OpenGL 3.3 core context");
  make_current();
}

HeadlessContext::~HeadlessContext() = default;

void HeadlessContext::make_current() {
  if (!eglMakeCurrent(impl_->display, EGL_NO_SURFACE, EGL_NO_SURFACE, impl_->context))
    no_opengl("its context cannot be used without a surface");
}

std::string HeadlessContext::description() const {
  const auto text = [](GLenum name) {
    const GLubyte* words = glGetString(name);
    return words ? std::string(reinterpret_cast<const char*>(words)) : std::string("unknown");
  };
  return text(GL_RENDERER) + ", " + text(GL_VERSION);
}

}  // namespace plenum::inline PLENUM_ABI
