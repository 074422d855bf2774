// The program plenum: arguments in, exit status out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "arguments.h"
#include "commands.h"
#include "log.h"
#include "plenum/base/error.h"
#include "usage.h"

namespace {

using namespace plenum;
using app::add_choice, app::add_flag, app::add_number, app::add_text, app::add_texts, app::add_whole;

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Real-time physically-based animation: simulate, look, validate, measure."};
  app.name("plenum");
  app.set_version_flag("--version", PLENUM_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer(
      "'plenum COMMAND --help' lists what a command takes. Scenes named without a path are those of the "
      "folder that\n"
      "the environment's PLENUM_SCENES names, or the ones that came with the program ('plenum info').\n"
      "Exit status: 0 done, 1 a file is refused or a run fails, 2 wrong arguments, 130 interrupted.");

  constexpr int most_frames = 10000000, most_threads = 1024;
  const std::string scene_kind = "SCENE", scene_doc = "Scene by name (see 'plenum list scenes') or file";
  const std::string set_doc = "Change a value of the scene; may be given again for another";
  const std::string threads_doc = "Threads; default: the cores";

  app::RunOptions run;
  CLI::App* run_command =
      app.add_subcommand("run", "Simulate a scene; write pictures, a movie, data, checkpoints");
  add_text(*run_command, "scene", scene_kind, scene_doc, run.scene)->required();
  add_whole(*run_command, "--frames", 0, most_frames, "Frames to simulate; default: the scene's duration",
            [&](int value) { run.frames = value; });
  add_number(*run_command, "--fps", 1, 10000, "Frames a second; default: the scene's",
             [&](double value) { run.fps = value; });
  add_text(*run_command, "--out", "FOLDER", "For everything written; default: out/SCENE", run.out);
  add_flag(*run_command, "--images", "Write every frame as a PNG, and a contact sheet", run.images);
  add_text(*run_command, "--movie", "FILE.mp4", "Write a movie, .mp4, .mov or .mkv (by the program ffmpeg)",
           run.movie);
  add_choice(*run_command, "--export", {"obj", "ply", "vtu", "vdb"},
             "Write each frame's geometry and fields; vtu goes with vti of grids, vdb of grids with ply",
             run.export_format);
  add_whole(*run_command, "--threads", 1, most_threads, threads_doc, [&](int value) { run.threads = value; });
  add_whole(*run_command, "--checkpoint-every", 1, most_frames,
            "Save a checkpoint every so many frames; two are kept",
            [&](int value) { run.checkpoint_every = value; });
  add_text(*run_command, "--resume", "FILE", "Continue from a checkpoint of this scene", run.resume);
  add_texts(*run_command, "--set", "PATH=VALUE", set_doc, run.set);
  add_text(*run_command, "--size", "WIDTHxHEIGHT",
           "Pictures' size in pixels, each 16 to 8192; default: " + run.size, run.size);
  add_choice(*run_command, "--quality", {"draft", "normal", "high"}, "Of pictures; default: " + run.quality,
             run.quality);
  add_flag(*run_command, "--json", "End with one JSON object on the last line", run.json);
  add_flag(*run_command, "--quiet", "No progress bar and no table", run.quiet);

  app::ViewOptions view;
  CLI::App* view_command = app.add_subcommand("view", "Open a scene in a window with sliders");
  add_text(*view_command, "scene", scene_kind, scene_doc, view.scene)->required();
  add_whole(*view_command, "--threads", 1, most_threads, threads_doc,
            [&](int value) { view.threads = value; });
  add_texts(*view_command, "--set", "PATH=VALUE", set_doc, view.set);
  CLI::Option* const screenshot = add_text(*view_command, "--screenshot", "FILE.png",
                                           "Write the window after --frames, then close", view.screenshot);
  add_whole(*view_command, "--frames", 1, most_frames,
            fmt::format("Frames before the screenshot; default: {}", view.frames),
            [&](int value) { view.frames = value; })
      ->needs(screenshot);

  app::CheckOptions check;
  CLI::App* check_command = app.add_subcommand(
      "check", "Check a scene file: all that is wrong with it, and what its first frame warns of");
  add_text(*check_command, "scene", scene_kind, scene_doc, check.scene)->required();
  add_texts(*check_command, "--set", "PATH=VALUE", set_doc, check.set);
  add_number(*check_command, "--seconds", 0, 86400,
             fmt::format("Longest time for all of it; 0: any, without the first frame; default: {:g}",
                         check.seconds),
             [&](double value) { check.seconds = value; });
  add_flag(*check_command, "--json", "One JSON object: ok, problems, warnings, first_frame", check.json);

  std::string list_what;
  CLI::App* list_command = app.add_subcommand("list", "List solvers, scenes and cases");
  add_choice(*list_command, "what", {"solvers", "scenes", "cases"}, "What to list; default: all", list_what);

  CLI::App* info_command =
      app.add_subcommand("info", "Show version, precision, compiler, threads and drawing");
  CLI::App* schema_command = app.add_subcommand("schema", "Print the JSON Schema of scene files");

  app::ValidateOptions validate;
  CLI::App* validate_command =
      app.add_subcommand("validate", "Compare with published and closed-form results");
  add_texts(*validate_command, "cases", "CASE", "Beginnings of case names; default: all quick cases",
            validate.cases);
  add_flag(*validate_command, "--all", "Run the long cases too", validate.all);
  add_flag(*validate_command, "--json", "One JSON object a line", validate.json);
  add_whole(*validate_command, "--threads", 1, most_threads, threads_doc,
            [&](int value) { validate.threads = value; });

  app::BenchOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "Measure speed beside the machine's own limits");
  add_texts(*bench_command, "cases", "CASE", "Beginnings of case names; default: all", bench.cases);
  add_flag(*bench_command, "--json", "One JSON object a line", bench.json);
  add_whole(*bench_command, "--threads", 1, most_threads, "Threads; default: measure one and two",
            [&](int value) { bench.threads = value; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app::complain(app::explain(app, error));
    return 2;
  } catch (const Error& error) {
    app::complain(error.what());
    return 2;
  }
  if (*run_command) return app::run(run);
  if (*view_command) return app::view(view);
  if (*check_command) return app::check(check);
  if (*list_command) return app::list(list_what);
  if (*info_command) return app::info();
  if (*schema_command) return app::schema();
  if (*validate_command) return app::validate(validate);
  return app::bench(bench);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // ffmpeg may go away; the write then fails and says so
  std::signal(SIGXFSZ, SIG_IGN);  // so does one beyond the largest file that is allowed
  int status = 1;
  try {
    status = parse_and_run(argc, argv);
  } catch (const plenum::app::UsageError& error) {
    plenum::app::complain(error.what());
    status = 2;
  } catch (const plenum::Error& error) {
    plenum::app::complain(error.what());
  } catch (const std::bad_alloc&) {
    plenum::app::complain("there is not enough memory; make the scene smaller");
  } catch (const std::system_error& error) {
    // Whoever reads the output may have had enough, as head does.
    if (error.code() != std::errc::broken_pipe) plenum::app::complain(error.what());
  } catch (const std::exception& error) {
    plenum::app::complain(error.what());
  }
  errno = 0;
  if (std::fflush(stdout) != 0 && status == 0) {
    if (errno != EPIPE)
      plenum::app::complain(fmt::format("the output cannot be written: {}", std::strerror(errno)));
    return 1;
  }
  return status;
}
