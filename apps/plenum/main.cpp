// The program plenum: arguments in, exit status out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "commands.h"
#include "plenum/base/error.h"

namespace {

using namespace plenum;

/// Every option of an application and of its chosen subcommands, and the subcommands' names.
void names_of(const CLI::App& app, std::vector<std::string>& options, std::vector<std::string>& commands) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
}

/// One sentence for an argument that CLI11 refused, with the nearest option or command.
std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> options, commands;
  names_of(app, options, commands);
  for (const CLI::App* chosen : app.get_subcommands()) {
    std::vector<std::string> nested;
    names_of(*chosen, options, nested);
  }
  std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error)) {
    for (int i = 1; i < argc; ++i) {
      std::string word = argv[i];
      word = word.substr(0, word.find('='));
      const bool is_option = word.starts_with("-");
      const auto& known = is_option ? options : commands;
      if (std::find(known.begin(), known.end(), word) != known.end()) {
        continue;
      }
      if (!is_option && i > 1) continue;
      if (is_option && word.size() == 2 && word == "-h") continue;
      const std::string nearest = nearest_name(word, known);
      return sentence({.what = is_option ? "unknown option" : "unknown command",
                       .value = word,
                       .nearest = nearest,
                       .remedy = nearest.empty() ? "see 'plenum --help'" : ""});
    }
  }
  return text;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Real-time physically-based animation: simulate, look, validate, measure."};
  app.name("plenum");
  app.set_version_flag("--version", PLENUM_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  app::RunOptions run;
  CLI::App* run_command =
      app.add_subcommand("run", "Simulate a scene; write pictures, a movie, data, checkpoints");
  run_command->add_option("scene", run.scene, "Scene by name (see 'plenum list scenes') or file")->required();
  run_command->add_option("--frames", run.frames, "Frames to simulate; default: the scene's duration")
      ->check(CLI::Range(0, 10000000));
  run_command->add_option("--fps", run.fps, "Frames a second; default: the scene's")
      ->check(CLI::Range(1.0, 10000.0));
  run_command->add_option("--out", run.out, "Folder for everything written; default: out/SCENE");
  run_command->add_flag("--images", run.images, "Write every frame as a PNG, and a contact sheet");
  run_command->add_option("--movie", run.movie, "Write a movie (mp4, by the program ffmpeg)");
  run_command->add_option("--export", run.export_format, "Write each frame's geometry and fields")
      ->check(CLI::IsMember({"obj", "ply", "vtu"}));
  run_command->add_option("--threads", run.threads, "Threads; default: the cores")
      ->check(CLI::Range(1, 1024));
  run_command
      ->add_option("--checkpoint-every", run.checkpoint_every,
                   "Save a checkpoint every N frames; two are kept")
      ->check(CLI::Range(1, 10000000));
  run_command->add_option("--resume", run.resume, "Continue from a checkpoint");
  run_command->add_option("--set", run.set, "Change a value of the scene: path.to.param=value")->take_all();
  run_command->add_option("--size", run.size, "Pictures' size in pixels")->capture_default_str();
  run_command->add_option("--quality", run.quality, "Of pictures")
      ->check(CLI::IsMember({"draft", "normal", "high"}))
      ->capture_default_str();
  run_command->add_flag("--json", run.json, "End with one JSON object on the last line");
  run_command->add_flag("--quiet", run.quiet, "No progress bar and no table");

  app::ViewOptions view;
  CLI::App* view_command = app.add_subcommand("view", "Open a scene in a window with sliders");
  view_command->add_option("scene", view.scene, "Scene by name or file")->required();
  view_command->add_option("--threads", view.threads, "Threads; default: the cores")
      ->check(CLI::Range(1, 1024));
  view_command->add_option("--set", view.set, "Change a value of the scene: path.to.param=value")->take_all();
  view_command->add_option("--screenshot", view.screenshot,
                           "Write the window to a PNG after --frames, then close");
  view_command->add_option("--frames", view.frames, "Frames before the screenshot")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();

  std::string check_scene;
  std::vector<std::string> check_set;
  bool check_json = false;
  CLI::App* check_command = app.add_subcommand("check", "Check a scene file without simulating it");
  check_command->add_option("scene", check_scene, "Scene by name or file")->required();
  check_command->add_option("--set", check_set, "Change a value of the scene: path.to.param=value")
      ->take_all();
  check_command->add_flag("--json", check_json, "One JSON object for each problem");

  std::string list_what;
  CLI::App* list_command = app.add_subcommand("list", "List solvers, scenes and cases");
  list_command->add_option("what", list_what, "solvers, scenes or cases; default: all")
      ->check(CLI::IsMember({"solvers", "scenes", "cases"}));

  CLI::App* info_command =
      app.add_subcommand("info", "Show version, precision, processor, threads and drawing");
  CLI::App* schema_command = app.add_subcommand("schema", "Print the JSON Schema of scene files");

  app::ValidateOptions validate;
  CLI::App* validate_command =
      app.add_subcommand("validate", "Compare with published and closed-form results");
  validate_command->add_option("cases", validate.cases, "Beginnings of case names; default: all quick cases");
  validate_command->add_flag("--all", validate.all, "Run the long cases too");
  validate_command->add_flag("--json", validate.json, "One JSON object a line");
  validate_command->add_option("--threads", validate.threads, "Threads; default: the cores")
      ->check(CLI::Range(1, 1024));

  app::BenchOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "Measure speed beside the machine's own limits");
  bench_command->add_option("cases", bench.cases, "Beginnings of case names; default: all");
  bench_command->add_flag("--json", bench.json, "One JSON object a line");
  bench_command->add_option("--threads", bench.threads, "Threads; default: measure one and two")
      ->check(CLI::Range(1, 1024));

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "plenum: {}\n", explain(app, error, argc, argv));
    return 2;
  }
  if (*run_command) return app::run(run);
  if (*view_command) return app::view(view);
  if (*check_command) return app::check(check_scene, check_set, check_json);
  if (*list_command) return app::list(list_what);
  if (*info_command) return app::info();
  if (*schema_command) return app::schema();
  if (*validate_command) return app::validate(validate);
  return app::bench(bench);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // ffmpeg may go away; the write then fails and says so
  try {
    return parse_and_run(argc, argv);
  } catch (const plenum::Error& error) {
    fmt::print(stderr, "plenum: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "plenum: there is not enough memory; make the scene smaller\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "plenum: {}\n", error.what());
  }
  return 1;
}
