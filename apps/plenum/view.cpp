// plenum view: a window on a scene, with sliders made from the parameters' descriptions.
#define GLFW_INCLUDE_NONE  // the window brings OpenGL, by epoxy
#include <GLFW/glfw3.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "commands.h"
#include "log.h"
#include "pictures.h"
#include "places.h"
#include "plenum/base/error.h"
#include "plenum/draw/renderer.h"
#include "plenum/io/image.h"
#include "plenum/scene/scene.h"
#include "plenum/world/pointer.h"
#include "sliders.h"
#include "subject.h"
#include "usage.h"
#include "warnings.h"
#include "window.h"

namespace plenum::app {
namespace {

using Clock = std::chrono::steady_clock;

class Viewer {
 public:
  explicit Viewer(const ViewOptions& options)
      : options_(options),
        path_(find_scene(options.scene)),
        scene_(load()),
        window_("plenum: " + scene_.settings.name, 1280, 720) {
    renderer_ = std::make_unique<Renderer>();
    look_ahead_for_camera();
    frame_camera(ahead_);
  }

  int loop() {
    auto last = Clock::now();
    for (int frame = 0; window_.begin_frame(); ++frame) {
      const auto now = Clock::now();
      const double elapsed = std::chrono::duration<double>(now - last).count();
      last = now;
      handle_keys();
      handle_mouse(elapsed);
      advance(elapsed);
      draw(elapsed);
      if (!options_.screenshot.empty() && frame + 1 >= options_.frames) {
        write_png(options_.screenshot, window_.read_pixels());
        break;
      }
      window_.end_frame();
    }
    if (scene_.world.dropped_seconds() > 0)
      warn(fmt::format("{:.1f} s were dropped because frames took longer than their time",
                       scene_.world.dropped_seconds()));
    if (failed_) complain(message_);
    return failed_ ? 1 : 0;
  }

 private:
  Scene load() {
    Scene scene = load_scene_with(path_, options_.set);
    scene.world.set_threads(options_.threads);
    return scene;
  }

  void reset() {
    const DebugDraw debug = scene_.settings.debug;
    scene_ = load();
    scene_.settings.debug = debug;
    trails_.clear();
    failed_ = false;
    message_.clear();
    times_.clear();
  }

  /// Finds where the subject will go, so that the first view shows it there too; as far ahead as a user
  /// waits.
  void look_ahead_for_camera() {
    constexpr auto patience = std::chrono::milliseconds(1500);
    Subject subject;
    if (scene_.settings.camera.automatic) {
      const auto start = Clock::now();
      look_ahead(scene_.world, scene_.frames(), subject,
                 [&](double) { return Clock::now() - start < patience; });
    }
    ahead_ = subject.box;
  }

  /// Frames what is there now, as the scene's camera does, and what is in `also`.
  void frame_camera(const Aabb& also = {}) {
    subject_ = bounds_of(scene_.world);
    subject_.extend(also);
    steered_ = false;
    place_camera();
  }
  void place_camera() {
    const auto settings = scene_.settings_at(scene_.world.time()).camera;
    const Real covered = std::max(covered_, Real(0));
    camera_ = camera_of(settings, subject_, (1 - covered) * window_.aspect());
    camera_.shift = covered;
    // What a camera of the scene's own shows is to fit beside the panel, as wide as the window would show it.
    if (!settings.automatic)
      camera_.field_of_view = 2 * std::atan(std::tan(camera_.field_of_view / 2) / (1 - covered));
  }

  void handle_keys() {
    if (window_.pressed(GLFW_KEY_SPACE)) paused_ = !paused_;
    if (window_.pressed(GLFW_KEY_PERIOD)) paused_ = single_step_ = true;
    if (window_.pressed(GLFW_KEY_R)) reset();
    if (window_.pressed(GLFW_KEY_F)) frame_camera();
    if (window_.pressed(GLFW_KEY_D)) switch_marks();
    if (window_.pressed(GLFW_KEY_P)) pointer_.pin(scene_.world);
    if (window_.pressed(GLFW_KEY_U)) scene_.world.unpin();
    if (window_.pressed(GLFW_KEY_1)) pointer_.settings.tool = PointerSettings::Tool::pull;
    if (window_.pressed(GLFW_KEY_2)) pointer_.settings.tool = PointerSettings::Tool::wind;
    if (window_.pressed(GLFW_KEY_3)) pointer_.settings.tool = PointerSettings::Tool::cut;
    if (window_.pressed(GLFW_KEY_ESCAPE)) window_.close();
  }

  /// All marks off, or those on again that were; if there were none, the usual ones.
  void switch_marks() {
    DebugDraw& debug = scene_.settings.debug;
    if (debug.any()) {
      marks_ = debug;
      debug = {.force_scale = debug.force_scale};
    } else {
      debug = marks_;
    }
  }

  void handle_mouse(double elapsed) {
    const Window::Mouse mouse = window_.mouse();
    const PointerRay ray{camera_.eye, camera_.ray(mouse.x, mouse.y, window_.aspect()), camera_.forward()};
    // Also where it is let go over the panel.
    if (!mouse.left && pointer_.holds()) pointer_.release(scene_.world);
    if (mouse.captured_by_panel) return;
    if (mouse.left_pressed) {
      const Real pixel = camera_.field_of_view / static_cast<Real>(window_.height());
      pointer_.press(scene_.world, ray, 14 * pixel);
    }
    if (pointer_.holds()) {
      pointer_.move(scene_.world, ray, elapsed);
    } else if (mouse.left) {
      camera_.orbit(-mouse.dx * Real(2.5), mouse.dy * Real(2.5));
      steered_ = true;
    } else if (mouse.right || mouse.middle) {
      camera_.pan(-mouse.dx / 2, -mouse.dy / 2);
      steered_ = true;
    }
    if (mouse.wheel != 0) {
      camera_.zoom(std::pow(Real(0.9), mouse.wheel));
      steered_ = true;
    }
  }

  void advance(double elapsed) {
    if (failed_) return;
    const auto start = Clock::now();
    if (!options_.screenshot.empty() || single_step_) {
      last_ = scene_.world.step_frame();
      ++stepped_;
      print(remarks_of(last_, scene_.world));
    } else if (!paused_) {
      const int frames = scene_.world.advance(elapsed, last_);
      stepped_ += frames;
      if (frames > 0) print(remarks_of(last_, scene_.world));
    } else {
      return;
    }
    single_step_ = false;
    if (!last_.ok) {
      failed_ = true;
      message_ = last_.not_finite.sentence();
    }
    times_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (times_.size() > 120) times_.erase(times_.begin());
  }

  void draw(double elapsed) {
    // Keyframes lead the camera until the user takes it.
    if (!steered_ && !scene_.keyframes.empty()) place_camera();
    const Style style =
        style_of(scene_.settings_at(scene_.world.time()), options_.screenshot.empty() ? "draft" : "normal");
    renderer_->begin_frame(camera_, style, window_.width(), window_.height());
    draw_world(scene_.world, trails_, *renderer_);
    draw_marks(scene_.world, scene_.settings.debug, *renderer_);
    renderer_->finish_to_framebuffer(0);
    const double mean = times_.empty() ? 0
                                       : std::accumulate(times_.begin(), times_.end(), 0.0) /
                                             static_cast<double>(times_.size());
    PanelActions actions = panel(scene_, pointer_.settings,
                                 {.time = scene_.world.time(),
                                  .frame = scene_.world.frame(),
                                  .simulate_milliseconds = mean,
                                  .frames_per_second = elapsed > 0 ? 1 / elapsed : 0,
                                  .dropped_seconds = scene_.world.dropped_seconds(),
                                  .paused = paused_,
                                  .message = message_,
                                  .report = last_});
    if (actions.pause) paused_ = !paused_;
    if (actions.step) paused_ = single_step_ = true;
    if (actions.reset) reset();
    // The subject keeps to what the panel leaves free.
    const bool first = covered_ < 0;
    covered_ = actions.covered;
    camera_.shift = covered_;
    if (first) frame_camera(ahead_);
    if (actions.frame_camera) frame_camera();
  }

  ViewOptions options_;
  std::string path_;
  Scene scene_;
  Window window_;
  std::unique_ptr<Renderer> renderer_;
  Trails trails_;
  Camera camera_;
  Aabb ahead_;            // where the subject goes
  Aabb subject_;          // that the camera was framed for
  bool steered_ = false;  // the user has moved the camera
  Real covered_ = -1;     // share of the width under the panel; negative: not laid out yet
  Pointer pointer_;
  FrameReport last_;
  std::vector<double> times_;
  std::string message_;
  DebugDraw marks_{.shapes = true, .contacts = true, .joints = true};  // that key D brings
  std::int64_t stepped_ = 0;
  bool paused_ = false, single_step_ = false, failed_ = false;
};

}  // namespace

int view(const ViewOptions& options) {
  constexpr std::array<const char*, 1> endings = {".png"};
  if (!options.screenshot.empty()) check_file(options.screenshot, endings, "--screenshot");
  return Viewer(options).loop();
}

}  // namespace plenum::app
