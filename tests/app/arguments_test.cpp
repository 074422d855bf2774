// Every option of every command with values that are wrong: one sentence says where, what, what is allowed,
// what was probably meant; the exit status says whose fault it is, and nothing is written.
#include <set>

#include "program.h"

namespace {

/// What is refused, and what the sentence must say: all of it after "plenum: ", or its beginning if it ends
/// in "...". The status is 2 for the command line's own faults, 1 for what it names.
struct Refused {
  std::string arguments, sentence;
  int status = 2;
};

class Arguments : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    scene = quoted(write("drops.json", drops));
    fs::create_directory(folder / "sub");
    write("file", "kept");
  }

  void expect_refused(const std::vector<Refused>& cases) const {
    const std::set<fs::path> before = files();
    for (const Refused& c : cases) {
      const Result r = run(c.arguments);
      EXPECT_EQ(r.status, c.status) << c.arguments;
      EXPECT_EQ(r.out, "") << c.arguments;
      const bool whole = !c.sentence.ends_with("...");
      const std::string expected =
          "plenum: " + (whole ? c.sentence + "\n" : c.sentence.substr(0, c.sentence.size() - 3));
      EXPECT_EQ(whole ? r.err : r.err.substr(0, expected.size()), expected) << c.arguments;
      EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
      EXPECT_TRUE(r.err.ends_with("\n")) << r.err;
    }
    EXPECT_EQ(files(), before) << "something was written";
    EXPECT_EQ(read(folder / "file"), "kept");
  }

  /// All that lies in the folder, but the output of the program itself.
  std::set<fs::path> files() const {
    std::set<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().filename() != "stdout" && entry.path().filename() != "stderr")
        all.insert(entry.path());
    return all;
  }

  std::string in(const std::string& name) const { return (folder / name).string(); }

  std::string scene;
};

TEST_F(Arguments, WholeNumbers) {
  struct Option {
    std::string command, name, least, most;
  };
  const std::string run_scene = "run " + scene;
  for (const Option& o : {Option{run_scene, "--frames", "0", "10000000"},
                          {run_scene, "--threads", "1", "1024"},
                          {run_scene, "--checkpoint-every", "1", "10000000"},
                          {"view " + scene, "--threads", "1", "1024"},
                          {"view " + scene + " --screenshot x.png", "--frames", "1", "10000000"},
                          {"validate", "--threads", "1", "1024"},
                          {"bench", "--threads", "1", "1024"}}) {
    const std::string start = o.command + " " + o.name,
                      allowed = " (allowed: " + o.least + " to " + o.most + ")";
    const std::string below = std::to_string(std::stoi(o.least) - 1),
                      above = std::to_string(std::stoi(o.most) + 1);
    const std::string not_whole = o.name + ": must be a whole number: ",
                      beyond = o.name + ": is out of range: ";
    expect_refused({{start + " 1.5", not_whole + "1.5" + allowed},
                    {start + " abc", not_whole + "abc" + allowed},
                    {start + " nan", not_whole + "nan" + allowed},
                    {start + " 3x", not_whole + "3x" + allowed},
                    {start + " 1e3", not_whole + "1e3" + allowed},
                    {start + " ''", not_whole + "\"\"" + allowed},
                    {start + " ' 3'", not_whole + " 3" + allowed},
                    {start + "='3\n4'", not_whole + "\"3\\u000a4\"" + allowed},
                    {start + " " + below, beyond + below + allowed},
                    {start + " -99", beyond + "-99" + allowed},
                    {start + " " + above, beyond + above + allowed},
                    {start + " 99999999999999999999999", beyond + "99999999999999999999999" + allowed},
                    {start, o.name + ": needs a value" + allowed},
                    {start + " 3 " + o.name + " 4", o.name + ": is given more than once; give it once"}});
  }
}

TEST_F(Arguments, FramesASecond) {
  const std::string start = "run " + scene + " --fps", allowed = " (allowed: 1 to 10000)";
  for (const std::string value : {"nan", "-nan", "abc", "60fps", "1,5"})
    expect_refused({{start + " " + value, "--fps: must be a finite number: " + value + allowed}});
  for (const std::string value : {"0", "-60", "0.999", "10001", "inf", "-inf", "1e999", "1e-999"})
    expect_refused({{start + " " + value, "--fps: is out of range: " + value + allowed}});
  expect_refused({{start + " ''", "--fps: must be a finite number: \"\"" + allowed},
                  {start, "--fps: needs a value" + allowed}});
  EXPECT_EQ(run("run " + scene + " --frames 1 --quiet --fps 29.97").status, 0);
}

TEST_F(Arguments, Choices) {
  const std::string formats = " (allowed: obj, ply, vtu, vdb)", qualities = " (allowed: draft, normal, high)";
  const std::string none = ": is none of the names to choose from: ";
  expect_refused({
      {"run " + scene + " --export stl", "--export" + none + "stl" + formats},
      {"run " + scene + " --export OBJ", "--export" + none + "OBJ" + formats + "; did you mean 'obj'?"},
      {"run " + scene + " --export vtk", "--export" + none + "vtk" + formats + "; did you mean 'vtu'?"},
      {"run " + scene + " --export ''", "--export" + none + "\"\"" + formats},
      {"run " + scene + " --export", "--export: needs a value" + formats},
      {"run " + scene + " --quality hihg",
       "--quality" + none + "hihg" + qualities + "; did you mean 'high'?"},
      {"run " + scene + " --quality 3", "--quality" + none + "3" + qualities},
      {"list scnes", "what" + none + "scnes (allowed: solvers, scenes, cases); did you mean 'scenes'?"},
      {"list everything", "what" + none + "everything (allowed: solvers, scenes, cases)"},
      {"list ''", "what" + none + "\"\" (allowed: solvers, scenes, cases)"},
  });
}

TEST_F(Arguments, SizesOfPictures) {
  const std::string allowed = " (allowed: WIDTHxHEIGHT, each 16 to 8192); write for instance 1280x720";
  for (const std::string value :
       {"big", "1280", "1280x", "x720", "1280x720x3", "1280*720", "12.5x30", "-640x480", "640x-480", "0x0",
        "15x15", "8193x100", "99999999999x100", "640 x 480"})
    expect_refused({{"run " + scene + " --images --size '" + value + "'",
                     "--size: is not a size of pictures: " + value + allowed}});
  expect_refused({{"run " + scene + " --size ''", "--size: must not be empty: \"\" (allowed: WIDTHxHEIGHT)"},
                  {"run " + scene + " --size", "--size: needs a value (allowed: WIDTHxHEIGHT)"}});
}

TEST_F(Arguments, MoviesAndScreenshots) {
  struct Option {
    std::string start, name, ending, kind, endings;
  };
  for (const Option& o :
       {Option{"run " + scene + " --frames 2 --movie", "--movie", ".mp4", "FILE.mp4", ".mp4, .mov, .mkv"},
        {"view " + scene + " --screenshot", "--screenshot", ".png", "FILE.png", ".png"}}) {
    const std::string not_such = o.name + ": is not the name of such a file: ";
    const std::string allowed = " (allowed: names that end in " + o.endings + "); did you mean '";
    expect_refused({
        {o.start + " " + in("x.txt"), not_such + in("x.txt") + allowed + in("x" + o.ending) + "'?"},
        {o.start + " x", not_such + "x" + allowed + "x" + o.ending + "'?"},
        {o.start + " x.", not_such + "x." + allowed + "x" + o.ending + "'?"},
        {o.start + " " + in("sub"),
         o.name + ": is a folder, not a file: " + in("sub") + "; name a file in it that ends in " + o.ending},
        {o.start + " " + in("new/"), o.name + ": is a folder, not a file: " + in("new/") +
                                         "; name a file in it that ends in " + o.ending},
        {o.start + " " + in("file/x" + o.ending),
         o.name + ": " + in("file") + " is a file, not a folder: " + in("file/x" + o.ending)},
        {o.start + " /proc/x" + o.ending, o.name + ": nothing can be written in /proc (...", 1},
        {o.start + " ''", o.name + ": must not be empty: \"\" (allowed: " + o.kind + ")"},
        {o.start, o.name + ": needs a value (allowed: " + o.kind + ")"},
    });
  }
}

TEST_F(Arguments, FoldersToWriteTo) {
  for (const std::string wish : {"--images", "--export vtu", "--checkpoint-every 1"}) {
    const std::string start = "run " + scene + " --frames 2 " + wish + " --out";
    expect_refused({
        {start + " " + in("file"), "--out: " + in("file") + " is a file, not a folder: " + in("file")},
        {start + " " + in("file/deep/er"),
         "--out: " + in("file") + " is a file, not a folder: " + in("file/deep/er")},
        {start + " /proc/new", "--out: nothing can be written in /proc (...", 1},
        {start + " /dev/null", "--out: /dev/null is a file, not a folder: /dev/null"},
        {start + " ''", "--out: must not be empty: \"\" (allowed: FOLDER)"},
        {start, "--out: needs a value (allowed: FOLDER)"},
    });
  }
  if (geteuid() == 0) return;  // root may write everywhere
  fs::permissions(folder / "sub", fs::perms::owner_read | fs::perms::owner_exec);
  expect_refused({{"run " + scene + " --images --out " + in("sub/new"),
                   "--out: nothing can be written in " + in("sub") +
                       " (Permission denied): " + in("sub/new") + "; choose another place",
                   1}});
  fs::permissions(folder / "sub", fs::perms::owner_all);
}

TEST_F(Arguments, CheckpointsToResumeFrom) {
  ASSERT_EQ(run("run " + scene + " --frames 4 --checkpoint-every 2 --quiet " + out("done")).status, 0);
  const std::string checkpoint = in("done/checkpoint.plenum"), start = "run " + scene + " --resume";
  expect_refused({
      {start + " " + in("none"), in("none") + ": cannot be opened: No such file or directory", 1},
      {start + " " + in("sub"), in("sub") + ": is not a regular file", 1},
      {start + " /dev/zero", "/dev/zero: is not a regular file", 1},
      {start + " " + in("file"), in("file") + ": is too short to be a checkpoint...", 1},
      {start + " ''", "--resume: must not be empty: \"\" (allowed: FILE)"},
      {start, "--resume: needs a value (allowed: FILE)"},
      {start + " " + checkpoint + " --frames 3",
       "--frames: the checkpoint " + checkpoint +
           " stands at frame 4 already: 3; give a later frame, or resume from an earlier checkpoint"},
  });
}

TEST_F(Arguments, ValuesOfTheScene) {
  for (const std::string command : {"run ", "view ", "check "}) {
    const std::string start = command + scene + " --set";
    expect_refused({
        {start + " drops.linear_drag=-1",
         "--set drops.linear_drag=-1: systems[1].params.linear_drag: is out of range: -1 (allowed: ..."},
        {start + " drops.linear_drag=nan",
         "--set drops.linear_drag=nan: systems[1].params.linear_drag: must be a finite number that a double "
         "can hold: nan ..."},
        {start + " drops.linear_darg=1",
         "--set drops.linear_darg=1: names no parameter of a system of type 'particles': linear_darg; did "
         "you mean 'linear_drag'?"},
        {start + " ''", "--set: must not be empty: \"\" (allowed: PATH=VALUE)"},
        {start, "--set: needs a value (allowed: PATH=VALUE)"},
        {start + " drops.linear_drag",
         "--set drops.linear_drag: has no 'path=value'; write for example --set world.substeps=4"},
    });
  }
  // One value for each --set: what follows is the scene.
  EXPECT_EQ(run("run --frames 1 --quiet --set drops.linear_drag=0.1 --set world.substeps=2 " + scene).status,
            0);
}

TEST_F(Arguments, Scenes) {
  write("broken.json", "{\"systems\": [");
  for (const std::string command : {"run", "view", "check"})
    expect_refused({
        {command, command + ": no scene is given (allowed: SCENE); see 'plenum " + command + " --help'"},
        {command + " ''", "scene: must not be empty: \"\" (allowed: SCENE)"},
        {command + " flga", "no such scene: flga; did you mean 'flag'?; see 'plenum list scenes'"},
        {command + " qqqqqq", "no such scene: qqqqqq; see 'plenum list scenes'"},
        {command + " " + in("no-such-scene-here.json"),
         "no such scene file: " + in("no-such-scene-here.json") + "; see 'plenum list scenes'"},
        {command + " " + in("sub"),
         "is a folder, not a scene file: " + in("sub") + "; name a file in it that ends in .json"},
        {command + " /dev/zero", "/dev/zero: is not a regular file", 1},
        {command + " " + in("broken.json"),
         in("broken.json") + ":1: systems[0]: ends where a value belongs...", 1},
        {command + " " + scene + " " + scene,
         "unexpected argument: " + in("drops.json") + "; see 'plenum " + command + " --help'"},
    });
  expect_refused({{"run " + scene + " frames 3", "unexpected argument: frames; did you mean '--frames'?"}});
}

TEST_F(Arguments, CasesThatSelectNothing) {
  for (const std::string command : {"validate", "bench"})
    expect_refused({
        {command + " ''", "cases: must not be empty: \"\" (allowed: CASE)"},
        {command + " nothing_of_the_kind",
         "no case begins with: nothing_of_the_kind; see 'plenum list cases'"},
    });
  expect_refused(
      {{"validate catenry", "no case begins with: catenry; did you mean 'catenary'?..."},
       {"bench sprngs", "no case begins with: sprngs; did you mean 'springs'?..."},
       {"bench machine/tried", "no case begins with: machine/tried; did you mean 'machine/triad'?..."}});
}

TEST_F(Arguments, UnknownOptionsAndCommands) {
  const std::string commands = " (allowed: run, view, check, list, info, schema, validate, bench)";
  expect_refused({
      {"", "no command is given" + commands},
      {"rnu flag", "unknown command: rnu; did you mean 'run'?"},
      {"''", "unknown command: \"\"" + commands},
      {"qqqqqqqqqq", "unknown command: qqqqqqqqqq" + commands},
      {"--verison", "unknown option: --verison; did you mean '--version'?"},
      {"run --frame 3 " + scene, "unknown option: --frame; did you mean '--frames'?"},
      {"run " + scene + " --thread=3", "unknown option: --thread; did you mean '--threads'?"},
      {"run " + scene + " --qqqqqqqqq", "unknown option: --qqqqqqqqq; see 'plenum run --help'"},
      {"run " + scene + " -x", "unknown option: -x; see 'plenum run --help'"},
      {"run " + scene + " --json=5", "--json: takes no value; leave out the '='"},
      {"run " + scene + " --images=yes", "--images: takes no value; leave out the '='"},
      {"view " + scene + " --frames 3", "--frames: has an effect only with --screenshot"},
      {"view " + scene + " --jsn", "unknown option: --jsn; see 'plenum view --help'"},
      {"check " + scene + " --jsn", "unknown option: --jsn; did you mean '--json'?"},
      {"info now", "unexpected argument: now; see 'plenum info --help'"},
      {"schema --jsn", "unknown option: --jsn; see 'plenum schema --help'"},
      {"list scenes solvers", "unexpected argument: solvers; see 'plenum list --help'"},
      {"validate --al", "unknown option: --al; did you mean '--all'?"},
      {"bench --thread 1", "unknown option: --thread; did you mean '--threads'?"},
  });
}

TEST_F(Arguments, ScenesFolderOfTheEnvironment) {
  ASSERT_EQ(setenv("PLENUM_SCENES", in("none").c_str(), 1), 0);
  for (const std::string command : {"list", "run flag", "check flag", "info"}) {
    const Result r = run(command);
    EXPECT_EQ(r.status, 1) << command;
    EXPECT_EQ(r.err, "plenum: the environment's PLENUM_SCENES: is not a folder: " + in("none") +
                         "; name a folder of scenes, or unset it\n");
  }
  ASSERT_EQ(setenv("PLENUM_SCENES", folder.c_str(), 1), 0);
  EXPECT_EQ(run("check drops").status, 0);
  unsetenv("PLENUM_SCENES");
}

TEST_F(Arguments, OutputThatGoesNowhereIsTold) {
  const auto into = [&](const std::string& command, const std::string& to) {
    const int status = std::system((quoted(PLENUM_BINARY_DIR "/bin/plenum") + " " + command + " " + to +
                                    " 2>" + quoted(folder / "stderr"))
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  for (const std::string& command : {std::string("schema"), "run " + scene + " --frames 1 --json --quiet"}) {
    EXPECT_NE(into(command, ">/dev/full"), 0) << command;
    EXPECT_NE(read(folder / "stderr").find("No space left"), std::string::npos) << read(folder / "stderr");
  }
  into("schema", "| true");  // whoever reads may stop: no complaint
  EXPECT_EQ(read(folder / "stderr"), "");
}

}  // namespace
