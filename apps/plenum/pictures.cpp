#include "pictures.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "log.h"
#include "plenum/draw/headless.h"
#include "plenum/draw/palette_sink.h"
#include "plenum/draw/renderer.h"
#include "plenum/io/image.h"
#include "plenum/io/movie.h"
#include "subject.h"

namespace plenum::app {

namespace fs = std::filesystem;

namespace {

constexpr Real radians = Real(3.14159265358979 / 180);

Rgb8 rgb8(const Vec3& srgb) {
  const auto byte = [](Real x) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(x, Real(0), Real(1)) * 255));
  };
  return {byte(srgb.x()), byte(srgb.y()), byte(srgb.z())};
}

Framing framing_of(const SceneCamera& camera) {
  Framing framing;
  framing.azimuth = camera.azimuth * radians;
  framing.elevation = camera.elevation * radians;
  framing.field_of_view = camera.field_of_view * radians;
  framing.room = 1 + camera.margin;
  return framing;
}

}  // namespace

Camera camera_of(const SceneCamera& wanted, const Aabb& box, Real aspect) {
  if (wanted.automatic) return frame(box, aspect, framing_of(wanted));
  Camera camera;
  camera.eye = wanted.eye;
  camera.target = wanted.target;
  camera.up = wanted.up;
  camera.field_of_view = wanted.field_of_view * radians;
  return camera;
}

Style style_of(const SceneSettings& settings, const std::string& quality) {
  Style style;
  style.quality = quality == "draft" ? Quality::draft : quality == "high" ? Quality::high : Quality::normal;
  const SceneLight& light = settings.light;
  style.light = light.direction;
  style.light_follows_camera = light.follows_camera;
  style.light_size = light.size * radians;
  style.exposure = light.exposure;
  const SceneStage& stage = settings.stage;
  style.floor = stage.floor;
  style.floor_height = stage.floor_height;
  style.grid = stage.grid;
  style.grid_spacing = stage.grid_spacing;
  style.background_top = rgb8(stage.background_top);
  style.background_bottom = rgb8(stage.background_bottom);
  style.legend = stage.legend;
  return style;
}

void draw_world(World& world, DrawableSink& sink) {
  PaletteSink coloured(sink);
  for (std::size_t i = 0; i < world.size(); ++i) {
    coloured.next_system();
    world.system(i).geometry(coloured);
  }
}

void draw_world(World& world, Trails& trails, DrawableSink& sink) {
  TrailSink trailed(trails, sink, world.time());
  draw_world(world, trailed);
}

void draw_marks(World& world, const DebugDraw& wanted, DrawableSink& sink) {
  world.show_pins(sink);
  if (!wanted.any()) return;
  for (std::size_t i = 0; i < world.size(); ++i) world.system(i).debug(wanted, sink);
}

std::string name_of_frame(std::int64_t frame) {
  return fmt::format("frame_{:05d}.png", frame);
}

int remove_frames_after(const std::string& folder, std::int64_t last) {
  constexpr std::string_view head = "frame_", tail = ".png";
  std::vector<fs::path> later;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() < head.size() + tail.size()) continue;
    std::int64_t frame = 0;
    std::from_chars(name.data() + head.size(), name.data() + name.size() - tail.size(), frame);
    // The name must be exactly the one we give, and the picture one of ours.
    if (frame > last && name == name_of_frame(frame) && is_png_of_plenum(entry.path()))
      later.push_back(entry.path());
  }
  int removed = 0;
  for (const fs::path& path : later) removed += fs::remove(path, error) ? 1 : 0;
  return removed;
}

struct Pictures::Impl {
  Impl(const Scene& s, const Options& o) : scene(s), options(o) {
    if (!o.movie.empty()) {
      if (movie_available()) {
        movie.emplace(o.movie, MovieOptions{.frames_per_second = o.fps});
        if (const int width = o.width / 2 * 2, height = o.height / 2 * 2;
            width != o.width || height != o.height)
          warn(fmt::format("the movie is {} x {}, cropped from {} x {}: its encoding needs even sizes", width,
                           height, o.width, o.height));
      } else {
        warn(movie_unavailable_note);
      }
    }
  }
  const Scene& scene;
  Options options;
  HeadlessContext context;
  Renderer renderer;
  Trails trails;
  std::optional<Aabb> box;  // of the subject, found before the first picture
  FrameCollector collector;
  std::optional<MovieWriter> movie;
  Image image;
  StageTimes times;
  int frames = 0;
  std::int64_t last_frame = 0;

  Real aspect() const { return static_cast<Real>(options.width) / static_cast<Real>(options.height); }
};

Pictures::Pictures(const Scene& scene, const Options& options)
    : impl_(std::make_unique<Impl>(scene, options)) {}
Pictures::~Pictures() = default;

void Pictures::set_subject(const Aabb& box) {
  impl_->box = box;
}

void Pictures::add(World& world) {
  Impl& p = *impl_;
  {
    const StageTimer timer(p.times, "draw");
    if (!p.box) p.box = bounds_of(world);
    const SceneSettings settings = p.scene.settings_at(world.time());
    p.renderer.begin_frame(camera_of(settings.camera, *p.box, p.aspect()),
                           style_of(settings, p.options.quality), p.options.width, p.options.height);
    draw_world(world, p.trails, p.renderer);
    draw_marks(world, settings.debug, p.renderer);
    p.renderer.finish(p.image);
  }
  const StageTimer timer(p.times, "write pictures");
  if (p.options.images) {
    // By the world's frame, so that a resumed run goes on where the first one stopped.
    p.last_frame = world.frame();
    write_png(fs::path(p.options.folder) / name_of_frame(p.last_frame), p.image);
    p.collector.add(p.image, fmt::format("{:.2f} s", world.time()));
  }
  if (p.movie) p.movie->add(p.image);
  ++p.frames;
}

std::vector<std::string> Pictures::finish() {
  Impl& p = *impl_;
  std::vector<std::string> lines;
  if (p.options.images && p.frames > 0) {
    lines.push_back(fmt::format("{} frames       {}/frame_*.png", p.frames, p.options.folder));
    const std::string sheet = p.options.folder + "/contact_sheet.png";
    write_png(sheet, p.collector.sheet());
    lines.push_back(fmt::format("contact sheet    {}", sheet));
    if (const int removed = remove_frames_after(p.options.folder, p.last_frame); removed > 0)
      warn(
          fmt::format("removed {} later frames that a longer run had left in {}", removed, p.options.folder));
  }
  if (p.movie && p.frames > 0) {
    p.movie->finish();
    lines.push_back(fmt::format("movie            {}", p.options.movie));
  }
  return lines;
}

const StageTimes& Pictures::times() const {
  return impl_->times;
}

}  // namespace plenum::app
