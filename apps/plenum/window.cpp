#include "window.h"

#include <epoxy/gl.h>
// GLFW must not bring its own OpenGL header after epoxy's.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include "plenum/base/error.h"

namespace plenum::app {

struct Window::Impl {
  GLFWwindow* window = nullptr;
  Mouse mouse;
  bool panel_drawn = false;
};

namespace {

/// Quiet colours that go with the studio.
void style_panel() {
  ImGui::StyleColorsLight();
  ImGuiStyle& style = ImGui::GetStyle();
  style.WindowRounding = 6;
  style.FrameRounding = 4;
  style.GrabRounding = 4;
  style.WindowBorderSize = 0;
  style.Colors[ImGuiCol_WindowBg] = ImVec4(0.97f, 0.97f, 0.96f, 0.90f);
  style.Colors[ImGuiCol_TitleBgActive] = ImVec4(0.86f, 0.88f, 0.90f, 1);
  style.Colors[ImGuiCol_FrameBg] = ImVec4(0.88f, 0.89f, 0.90f, 1);
  style.Colors[ImGuiCol_SliderGrab] = ImVec4(0.30f, 0.45f, 0.60f, 1);
}

}  // namespace

Window::Window(const std::string& title, int width, int height) : impl_(std::make_unique<Impl>()) {
  if (!glfwInit())
    throw Error(
        Problem{.what = "no window can be opened: there is no display",
                .remedy = "start an X server or Wayland session, or use 'plenum run SCENE --images'"});
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  impl_->window = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
  if (!impl_->window) {
    glfwTerminate();
    throw Error(
        Problem{.what = "no window with OpenGL 3.3 can be opened",
                .remedy = "install the Debian package libgl1-mesa-dri, or use 'plenum run SCENE --images'"});
  }
  glfwMakeContextCurrent(impl_->window);
  glfwSwapInterval(1);
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;  // the window leaves no files behind
  style_panel();
  ImGui_ImplGlfw_InitForOpenGL(impl_->window, true);
  ImGui_ImplOpenGL3_Init("#version 330 core");
}

Window::~Window() {
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(impl_->window);
  glfwTerminate();
}

bool Window::begin_frame() {
  glfwPollEvents();
  if (glfwWindowShouldClose(impl_->window)) return false;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  impl_->panel_drawn = false;
  const ImGuiIO& io = ImGui::GetIO();
  const Mouse before = impl_->mouse;
  Mouse& m = impl_->mouse;
  m.x = 2 * static_cast<Real>(io.MousePos.x / std::max(io.DisplaySize.x, 1.f)) - 1;
  m.y = 1 - 2 * static_cast<Real>(io.MousePos.y / std::max(io.DisplaySize.y, 1.f));
  if (!ImGui::IsMousePosValid()) m.x = before.x, m.y = before.y;
  m.dx = m.x - before.x;
  m.dy = m.y - before.y;
  m.wheel = static_cast<Real>(io.MouseWheel);
  m.left = io.MouseDown[0];
  m.right = io.MouseDown[1];
  m.middle = io.MouseDown[2];
  m.left_pressed = ImGui::IsMouseClicked(0);
  m.captured_by_panel = io.WantCaptureMouse;
  return true;
}

void Window::end_frame() {
  if (!impl_->panel_drawn) {
    ImGui::Render();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  }
  glfwSwapBuffers(impl_->window);
}

void Window::close() {
  glfwSetWindowShouldClose(impl_->window, GLFW_TRUE);
}

int Window::width() const {
  int w = 1, h = 1;
  glfwGetFramebufferSize(impl_->window, &w, &h);
  return std::max(w, 1);
}

int Window::height() const {
  int w = 1, h = 1;
  glfwGetFramebufferSize(impl_->window, &w, &h);
  return std::max(h, 1);
}

bool Window::pressed(int key) const {
  return !ImGui::GetIO().WantTextInput && ImGui::IsKeyPressed(key, false);
}

Window::Mouse Window::mouse() const {
  return impl_->mouse;
}

Image Window::read_pixels() {
  ImGui::Render();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  impl_->panel_drawn = true;
  Image image(width(), height());
  glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  std::vector<std::uint8_t> rows(image.rgb.size());
  glReadPixels(0, 0, image.width, image.height, GL_RGB, GL_UNSIGNED_BYTE, rows.data());
  const std::size_t stride = static_cast<std::size_t>(image.width) * 3;
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y)  // OpenGL's rows go upwards
    std::copy_n(rows.data() + y * stride, stride,
                image.rgb.data() + (static_cast<std::size_t>(image.height) - 1 - y) * stride);
  return image;
}

}  // namespace plenum::app
