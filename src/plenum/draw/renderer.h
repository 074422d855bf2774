#pragma once
// Draws what systems show, the same headless and in a window.
#include <memory>

#include "plenum/base/timing.h"
#include "plenum/draw/camera.h"
#include "plenum/draw/style.h"
#include "plenum/io/image.h"
#include "plenum/state/drawables.h"

namespace plenum::inline PLENUM_ABI {

/// Lives in the OpenGL 3.3 core context that is current when it is made, and must be destroyed while that
/// context is current. A frame is begin_frame(), any number of drawables, then one finish:
///
///   HeadlessContext context;
///   Renderer renderer;
///   renderer.begin_frame(camera, style, 1280, 720);
///   world.geometry(renderer);
///   Image image = renderer.finish();
///
/// The same calls give the same pixels on one machine and driver.
class Renderer final : public DrawableSink {
 public:
  /// Throws Error if the context is too old or a shader does not compile.
  Renderer();
  ~Renderer() override;
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  /// width, height [px] in 1 to 8192; Error otherwise.
  void begin_frame(const Camera& camera, const Style& style, int width, int height);

  // What is drawn. Arrays are copied. Triangles, segments or spheres with a point that is not finite or an
  // index out of range are left out.
  void triangles(const TriangleView& view) override;
  void spheres(const SphereView& view) override;
  void lines(const LineView& view) override;
  void volume(const VolumeView& view) override;
  void liquid(const LiquidView& view) override;
  void label(const LabelView& view) override;

  /// A line of text in the upper left corner of the picture, until the next begin_frame().
  void caption(std::string_view text);

  /// Draws and reads the picture back.
  Image finish();
  void finish(Image& out);
  /// Draws into a framebuffer of the context, 0 being the window's, which has the size given to
  /// begin_frame(). Leaves depth test, blending and multisampling off, and no program or vertex array bound.
  void finish_to_framebuffer(unsigned framebuffer = 0);

  /// The range a quantity is coloured over when a view gives none: that of all values seen since the last
  /// reset, rounded outwards, so that colours keep their meaning while it moves.
  void reset_ranges();

  /// Milliseconds of the last frame's stages, as the processor that calls sees them.
  const StageTimes& times() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plenum::inline PLENUM_ABI
