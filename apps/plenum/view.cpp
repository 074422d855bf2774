// plenum view: a window on a scene, with sliders made from the parameters' descriptions.
#include <GLFW/glfw3.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "commands.h"
#include "pictures.h"
#include "plenum/base/error.h"
#include "plenum/draw/renderer.h"
#include "plenum/io/image.h"
#include "plenum/scene/scene.h"
#include "sliders.h"
#include "window.h"

namespace plenum::app {
namespace {

using Clock = std::chrono::steady_clock;

/// The sample under the pointer, if one is near enough to its ray.
struct Pick {
  std::size_t system = 0;
  Index sample = 0;
  Vec3 x = Vec3::Zero();
};

std::optional<Pick> pick(World& world, const Camera& camera, const Vec3& ray, Real pixel_angle) {
  std::optional<Pick> best;
  Real best_angle = 14 * pixel_angle;  // [rad] fourteen pixels
  for (std::size_t s = 0; s < world.size(); ++s) {
    const Boundary* boundary = world.system(s).boundary();
    if (!boundary) continue;
    const Samples samples = boundary->samples();
    for (std::size_t i = 0; i < samples.x.size(); ++i) {
      if (!(samples.inverse_mass[i] > 0)) continue;
      const Vec3 d = samples.x[i] - camera.eye;
      const Real along = d.dot(ray);
      if (!(along > 0)) continue;
      const Real angle = std::atan2(d.cross(ray).norm(), along);
      if (angle >= best_angle) continue;
      best_angle = angle;
      best = Pick{s, static_cast<Index>(i), samples.x[i]};
    }
  }
  return best;
}

class Viewer {
 public:
  explicit Viewer(const ViewOptions& options)
      : options_(options),
        path_(find_scene(options.scene)),
        scene_(load()),
        window_("plenum: " + scene_.settings.name, 1280, 720) {
    renderer_ = std::make_unique<Renderer>();
    frame_camera();
  }

  int loop() {
    auto last = Clock::now();
    for (int frame = 0; window_.begin_frame(); ++frame) {
      const auto now = Clock::now();
      const double elapsed = std::chrono::duration<double>(now - last).count();
      last = now;
      handle_keys();
      handle_mouse();
      advance(elapsed);
      draw(elapsed);
      if (!options_.screenshot.empty() && frame + 1 >= options_.frames) {
        write_png(options_.screenshot, window_.read_pixels());
        break;
      }
      window_.end_frame();
    }
    return failed_ ? 1 : 0;
  }

 private:
  Scene load() {
    Scene scene = load_scene(path_, {.overrides = options_.set});
    scene.world.set_threads(options_.threads);
    return scene;
  }

  void reset() {
    scene_ = load();
    failed_ = false;
    message_.clear();
    times_.clear();
  }

  void frame_camera() {
    camera_ = camera_of(scene_.settings.camera, bounds_of(scene_.world), window_.aspect());
  }

  void handle_keys() {
    if (window_.pressed(GLFW_KEY_SPACE)) paused_ = !paused_;
    if (window_.pressed(GLFW_KEY_PERIOD)) paused_ = single_step_ = true;
    if (window_.pressed(GLFW_KEY_R)) reset();
    if (window_.pressed(GLFW_KEY_F)) frame_camera();
    if (window_.pressed(GLFW_KEY_ESCAPE)) window_.close();
  }

  void handle_mouse() {
    const Window::Mouse mouse = window_.mouse();
    const Vec3 ray = camera_.ray(mouse.x, mouse.y, window_.aspect());
    if (mouse.captured_by_panel) return;
    if (mouse.left_pressed) {
      const Real pixel = camera_.field_of_view / static_cast<Real>(window_.height());
      grabbed_ = pick(scene_.world, camera_, ray, pixel);
    }
    if (!mouse.left) {
      grabbed_.reset();
      scene_.world.release();
    }
    if (grabbed_) {
      // The target moves in the plane through the sample's first place that faces the camera.
      const Vec3 forward = camera_.forward();
      const Real depth = (grabbed_->x - camera_.eye).dot(forward);
      const Real along = ray.dot(forward);
      if (along > Real(1e-3))
        scene_.world.drag(grabbed_->system, grabbed_->sample, camera_.eye + ray * (depth / along));
    } else if (mouse.left) {
      camera_.orbit(-mouse.dx * Real(2.5), mouse.dy * Real(2.5));
    } else if (mouse.right || mouse.middle) {
      camera_.pan(-mouse.dx / 2, -mouse.dy / 2);
    }
    if (mouse.wheel != 0) camera_.zoom(std::pow(Real(0.9), mouse.wheel));
  }

  void advance(double elapsed) {
    if (failed_) return;
    const auto start = Clock::now();
    if (!options_.screenshot.empty() || single_step_) {
      last_ = scene_.world.step_frame();
      ++stepped_;
    } else if (!paused_) {
      stepped_ += scene_.world.advance(elapsed, last_);
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
    Style style = style_of(scene_, options_.screenshot.empty() ? "draft" : "normal");
    renderer_->begin_frame(camera_, style, window_.width(), window_.height());
    draw_world(scene_.world, *renderer_);
    renderer_->finish_to_framebuffer(0);
    const double mean = times_.empty() ? 0
                                       : std::accumulate(times_.begin(), times_.end(), 0.0) /
                                             static_cast<double>(times_.size());
    PanelActions actions = panel(scene_, {.time = scene_.world.time(),
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
    if (actions.frame_camera) frame_camera();
  }

  ViewOptions options_;
  std::string path_;
  Scene scene_;
  Window window_;
  std::unique_ptr<Renderer> renderer_;
  Camera camera_;
  std::optional<Pick> grabbed_;
  FrameReport last_;
  std::vector<double> times_;
  std::string message_;
  std::int64_t stepped_ = 0;
  bool paused_ = false, single_step_ = false, failed_ = false;
};

}  // namespace

int view(const ViewOptions& options) {
  return Viewer(options).loop();
}

}  // namespace plenum::app
