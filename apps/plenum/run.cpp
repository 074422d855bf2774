// plenum run: simulate a scene and write what was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "export.h"
#include "log.h"
#include "pictures.h"
#include "places.h"
#include "plenum/base/error.h"
#include "plenum/io/checkpoint.h"
#include "plenum/io/grid_writer.h"
#include "plenum/io/movie.h"
#include "plenum/scene/json_text.h"
#include "plenum/scene/scene.h"
#include "progress.h"
#include "subject.h"
#include "usage.h"
#include "warnings.h"

namespace plenum::app {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t interrupted = 0;

/// The first signal ends the run after its frame. One that comes a second later or more ends what hangs, a
/// program that writes a movie say; sooner, it is the same one, which some senders give to a process and to
/// its group.
void interrupt(int signal) {
  static volatile std::sig_atomic_t at = 0;  // [s]
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto second = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (interrupted == 0) {
    interrupted = 1;
    at = second;
  } else if (second - at >= 2) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// Of this process alone: getrusage() would count what its parent held before the program began.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

/// The report of the last frame, with what all of them warned of.
nlohmann::ordered_json json_of(const Report& report, const Report& all) {
  nlohmann::ordered_json j = {{"substeps", report.substeps}, {"iterations", report.iterations}};
  for (const Report::Measure& m : report.measures())
    j["measures"][m.name] = {{"value", m.value}, {"unit", m.unit}};
  for (const Report::Warning& w : all.warnings()) j["warnings"][w.sentence()] = w.count;
  for (const StageTimes::Stage& s : report.stages.stages()) j["milliseconds"][s.name] = s.milliseconds;
  return j;
}

/// Sums over the frames, for the table at the end.
struct Totals {
  std::vector<Report> systems;
  StageTimes world;
  double milliseconds = 0;
  int frames = 0;

  void add_systems(const FrameReport& frame) {
    systems.resize(frame.systems.size());
    for (std::size_t i = 0; i < systems.size(); ++i) systems[i].add(frame.systems[i]);
  }
  void add(const FrameReport& frame) {
    add_systems(frame);
    world.add(frame.stages);
    milliseconds += frame.milliseconds;
    ++frames;
  }
};

void print_table(const Totals& totals, World& world, const StageTimes* pictures) {
  const double frames = std::max(totals.frames, 1);
  fmt::print("\n{:<20} {:<24} {:>12}\n", "system", "stage", "ms a frame");
  for (std::size_t i = 0; i < totals.systems.size(); ++i)
    for (const StageTimes::Stage& s : totals.systems[i].stages.stages())
      fmt::print("{:<20} {:<24} {:>12.3f}\n", world.system(i).name(), s.name, s.milliseconds / frames);
  for (const StageTimes::Stage& s : totals.world.stages())
    fmt::print("{:<20} {:<24} {:>12.3f}\n", "world", s.name, s.milliseconds / frames);
  fmt::print("{:<20} {:<24} {:>12.3f}\n", "all", "simulation", totals.milliseconds / frames);
  if (pictures)
    for (const StageTimes::Stage& s : pictures->stages())
      fmt::print("{:<20} {:<24} {:>12.3f}\n", "pictures", s.name, s.milliseconds / (frames + 1));
}

std::pair<int, int> size_of_pictures(const std::string& text) {
  constexpr int least = 16, most = 8192;
  int width = 0, height = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, width);
  const bool has_x = first.ec == std::errc() && first.ptr != end && *first.ptr == 'x';
  const auto second = has_x ? std::from_chars(first.ptr + 1, end, height) : first;
  if (!has_x || second.ec != std::errc() || second.ptr != end || std::min(width, height) < least ||
      std::max(width, height) > most)
    throw UsageError(Problem{.key = "--size",
                             .what = "is not a size of pictures",
                             .value = shortened(text),
                             .allowed = fmt::format("WIDTHxHEIGHT, each {} to {}", least, most),
                             .remedy = "write for instance 1280x720"});
  return {width, height};
}

/// The frame to simulate to.
int last_frame(const RunOptions& options, const Scene& scene) {
  const int frames = options.frames ? *options.frames : scene.frames();
  if (scene.world.frame() > frames)
    throw UsageError(Problem{.key = "--frames",
                             .what = fmt::format("the checkpoint {} stands at frame {} already",
                                                 options.resume, scene.world.frame()),
                             .value = std::to_string(frames),
                             .remedy = "give a later frame, or resume from an earlier checkpoint"});
  return frames;
}

/// Where the subject of a run goes from its beginning (a snapshot, empty if the world stands there) to frame
/// `frames`: as the checkpoint tells that it resumes from, or else as it is found by a simulation.
Subject subject_of_run(World& world, std::int64_t frames, std::span<const std::byte> beginning,
                       bool is_changed, const std::string& name, bool quiet) {
  Subject subject = subject_of(world.memo());
  if (subject.frame >= frames && !is_changed) return subject;
  note(name + ": looking ahead to frame what moves");
  const bool from_beginning = subject.frame < world.frame() && !beginning.empty();
  const auto first = from_beginning ? 0 : static_cast<int>(world.frame());
  Progress progress(static_cast<int>(frames) - first, quiet);
  const auto go_on = [&](double milliseconds) {
    progress.update(static_cast<int>(world.frame()) - first, milliseconds);
    return interrupted == 0;
  };
  if (from_beginning) {
    const std::vector<std::byte> now = world.snapshot();
    world.restore(beginning);
    look_ahead(world, frames, subject, go_on);
    world.restore(now);
  } else {
    look_ahead(world, frames, subject, go_on);
  }
  return subject;
}

}  // namespace

int run(const RunOptions& options) {
  if (options.quiet) be_quiet();
  const auto start = std::chrono::steady_clock::now();
  const auto [width, height] = size_of_pictures(options.size);
  const std::string folder =
      options.out.empty() ? "out/" + fs::path(options.scene).stem().string() : options.out;
  const bool wants_pictures = options.images || !options.movie.empty();
  // Without ffmpeg there are frames instead of a movie.
  const bool images = options.images || (!options.movie.empty() && !movie_available());
  const bool writes = images || !options.export_format.empty() || options.checkpoint_every > 0;
  if (options.export_format == "vdb" && !vdb_available())
    throw Error(Problem{.key = "--export", .what = vdb_unavailable_note});
  if (writes) check_folder(folder, "--out");
  if (!options.movie.empty()) check_file(options.movie, movie_endings, "--movie");
  std::vector<std::string> overrides = options.set;
  if (options.fps) overrides.push_back(fmt::format("world.fps={}", *options.fps));
  Scene scene = load_scene_with(find_scene(options.scene), overrides);
  World& world = scene.world;
  world.set_threads(options.threads);
  const double fps = static_cast<double>(world.settings().fps);
  // An automatic camera frames the whole run, also what was before the part that is resumed.
  const bool automatic = wants_pictures && scene.settings.camera.automatic;
  std::vector<std::byte> beginning;
  std::vector<std::string> changed;
  if (!options.resume.empty()) {
    if (automatic) beginning = world.snapshot();
    changed = world.restore(read_regular_file(options.resume), options.resume);
    for (const std::string& change : changed) note("changed since the checkpoint: " + change);
  }
  const int frames = last_frame(options, scene);

  std::unique_ptr<Pictures> pictures;
  if (wants_pictures)
    pictures = std::make_unique<Pictures>(scene, Pictures::Options{.folder = folder,
                                                                   .images = images,
                                                                   .movie = options.movie,
                                                                   .width = width,
                                                                   .height = height,
                                                                   .quality = options.quality,
                                                                   .fps = fps});
  // Only now, when nothing that is asked for can be refused any more.
  if (writes) make_folder(folder);
  if (!options.movie.empty() && fs::path(options.movie).has_parent_path())
    make_folder(fs::path(options.movie).parent_path());
  std::unique_ptr<Exporter> exporter;
  if (!options.export_format.empty()) exporter = std::make_unique<Exporter>(folder, options.export_format);
  const auto show = [&] {
    if (pictures) pictures->add(world);
    if (exporter) exporter->add(world);
  };

  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, interrupt);
  if (automatic) {
    const Subject subject =
        subject_of_run(world, frames, beginning, !changed.empty(), scene.settings.name, options.quiet);
    world.set_memo(memo_of(subject));
    pictures->set_subject(subject.box);
  }
  const int threads = options.threads > 0 ? options.threads : num_cores();
  note(fmt::format("{}: {} {} of 1/{:g} s, {} {}", scene.settings.name, frames,
                   frames == 1 ? "frame" : "frames", fps, threads, threads == 1 ? "thread" : "threads"));
  print(first_warnings(world));
  Totals totals;
  totals.systems.resize(world.size());
  std::vector<Warning> remarks;
  FrameReport last;
  last.systems.resize(world.size());
  const std::string checkpoint = folder + "/checkpoint.plenum";
  {
    const auto first = static_cast<int>(world.frame());
    Progress progress(std::max(frames - first, 0), options.quiet);
    show();
    while (world.frame() < frames && interrupted == 0) {
      last = world.step_frame();
      for (const Warning& remark : remarks_of(last, world)) remarks.push_back(remark);
      if (!last.ok) break;
      totals.add(last);
      show();
      if (options.checkpoint_every > 0 && world.frame() % options.checkpoint_every == 0)
        write_file_safely(checkpoint, world.snapshot(), true);
      progress.update(static_cast<int>(world.frame()) - first, last.milliseconds);
    }
  }
  if (!last.ok) totals.add_systems(last);
  std::vector<Warning> warnings = remarks;
  append_warnings(totals.systems, world, warnings);
  print(warnings);
  if (!last.ok) {
    make_folder(folder);
    const std::string good = folder + "/last_good.plenum";
    write_file_safely(good, world.snapshot());
    complain(fmt::format("{}; frame {} is saved in {}: --resume goes on from it, with other values by --set",
                         last.not_finite.sentence(), world.frame(), good));
  }
  if (interrupted != 0) warn(fmt::format("interrupted at frame {}", world.frame()));

  std::vector<std::string> written;
  if (pictures) written = pictures->finish();
  if (exporter) written.push_back(exporter->finish());
  if (options.checkpoint_every > 0 && fs::exists(checkpoint))
    written.push_back(fmt::format("checkpoint       {}", checkpoint));
  if (!options.quiet && !options.json) {
    for (const std::string& line : written) fmt::print("{}\n", line);
    if (!writes && options.movie.empty())
      fmt::print("nothing is written without --images, --movie FILE.mp4, --export or --checkpoint-every\n");
    print_table(totals, world, pictures ? &pictures->times() : nullptr);
    fmt::print("{} {} in {:.1f} s, hash {}\n", totals.frames, totals.frames == 1 ? "frame" : "frames",
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
               world.hash().hex());
  }
  if (options.json) {
    nlohmann::ordered_json j = {{"scene", scene.settings.name},
                                {"frames", world.frame()},
                                {"hash", world.hash().hex()},
                                {"ms_per_frame", totals.milliseconds / std::max(totals.frames, 1)},
                                {"dropped_s", world.dropped_seconds()},
                                {"peak_mib", peak_mib()},
                                {"ok", last.ok && interrupted == 0}};
    for (std::size_t i = 0; i < world.size(); ++i)
      j["systems"][world.system(i).name()] = json_of(last.systems[i], totals.systems[i]);
    for (const Warning& remark : remarks) j["remarks"].push_back(remark.sentence());
    fmt::print("{}\n", j.dump());
  }
  return !last.ok ? 1 : interrupted != 0 ? 130 : 0;
}

}  // namespace plenum::app
