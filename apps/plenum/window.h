#pragma once
// A GLFW window with an OpenGL 3.3 core context and Dear ImGui on top.
#include <memory>
#include <string>

#include "plenum/io/image.h"

namespace plenum::app {

class Window {
 public:
  /// Throws Error, with a remedy, when there is no display.
  Window(const std::string& title, int width, int height);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Takes events; false once the window is to close.
  bool begin_frame();
  /// Shows the frame.
  void end_frame();
  void close();
  int width() const;   ///< [px] of the framebuffer
  int height() const;  ///< [px]
  Real aspect() const { return static_cast<Real>(width()) / static_cast<Real>(height()); }
  /// Whether a key of GLFW went down since the last frame, and no text field took it.
  bool pressed(int key) const;

  struct Mouse {
    Real x = 0, y = 0;    ///< from -1 (left, bottom) to 1
    Real dx = 0, dy = 0;  ///< since the last frame
    Real wheel = 0;
    bool left = false, middle = false, right = false, left_pressed = false;
    bool captured_by_panel = false;
  };
  Mouse mouse() const;
  /// What the frame shows, panel included; before end_frame().
  Image read_pixels();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plenum::app
