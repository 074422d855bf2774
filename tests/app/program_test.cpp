// The program as its users meet it: commands, arguments, names, exit status. Each larger command has a file
// of its own.
#include "program.h"

#include <set>
#include <sstream>

namespace {

TEST_F(Program, HelpOfEveryCommandIsCompleteAndSucceeds) {
  const Result general = run("--help");
  EXPECT_EQ(general.status, 0);
  struct Command {
    std::string name;
    std::vector<std::string> takes;
  };
  for (const Command& c :
       {Command{"run",
                {"scene", "--frames", "--fps", "--out", "--images", "--movie", "--export", "--threads",
                 "--checkpoint-every", "--resume", "--set", "--size", "--quality", "--json", "--quiet"}},
        {"view", {"scene", "--threads", "--set", "--screenshot", "--frames"}},
        {"check", {"scene", "--set", "--json"}},
        {"list", {"what solvers|scenes|cases"}},
        {"info", {}},
        {"schema", {}},
        {"validate", {"cases", "--all", "--json", "--threads"}},
        {"bench", {"cases", "--json", "--threads"}}}) {
    EXPECT_NE(general.out.find("\n  " + c.name + " "), std::string::npos) << c.name;
    const Result r = run(c.name + " --help");
    EXPECT_EQ(r.status, 0) << c.name;
    EXPECT_EQ(r.err, "");
    // Each with a clause of explanation after it.
    std::set<std::string> explained;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);)
      for (const std::string& option : c.takes)
        if (line.starts_with("  " + option + " ") && line.size() > 40) explained.insert(option);
    EXPECT_EQ(explained.size(), c.takes.size()) << r.out;
    EXPECT_NE(r.out.find("--help"), std::string::npos);
  }
}

TEST_F(Program, WrongNamesGetTheNearestOne) {
  struct Wrong {
    const char *arguments, *nearest;
  };
  for (const Wrong& w : {Wrong{"rnu flag", "'run'"}, Wrong{"run flag --frame 3", "'--frames'"},
                         Wrong{"run flag --thread=3", "'--threads'"}, Wrong{"run flga", "'flag'"}}) {
    const Result r = run(w.arguments);
    EXPECT_NE(r.status, 0) << w.arguments;
    EXPECT_NE(r.err.find(w.nearest), std::string::npos) << w.arguments << ": " << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

/// Names of the cases that `list cases` tells of for a command.
std::vector<std::string> cases_of(const std::string& list, const std::string& command) {
  std::istringstream lines(list);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, name;
    if (words >> kind >> name && kind == command) names.push_back(name);
  }
  return names;
}

TEST_F(Program, NamesOfCasesSayWhatTheyJudge) {
  // file/solver with a file of validation/reference, else solver/what; none is the beginning of another.
  const fs::path root = PLENUM_SOURCE_DIR;
  const auto is_part = [&](const std::string& name) {
    return fs::is_directory(root / "src/plenum/solvers" / name) ||
           fs::is_directory(root / "src/plenum" / name);
  };
  const std::vector<std::string> names = cases_of(run("list cases").out, "validate");
  ASSERT_GT(names.size(), 10u);
  for (const std::string& name : names) {
    const std::string first = name.substr(0, name.find('/')), second = name.substr(first.size() + 1);
    const bool has_file = fs::exists(root / "validation/reference" / (first + ".csv"));
    EXPECT_TRUE(is_part(has_file ? second : first)) << name;
    for (const std::string& other : names)
      EXPECT_TRUE(other == name || !other.starts_with(name)) << name << " and " << other;
  }
}

TEST_F(Program, BenchPrintsOneObjectForEveryFigure) {
  const std::vector<std::string> names = cases_of(run("list cases").out, "bench");
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  const Result r = run("bench machine collide/box springs/rope --json --threads 1");
  ASSERT_EQ(r.status, 0) << r.err;
  std::istringstream lines(r.out);
  std::set<std::string> shown, figures;
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json figure = nlohmann::json::parse(line);
    EXPECT_EQ(figure.size(), 8u) << line;
    for (const char* key : {"case", "metric", "unit"}) EXPECT_TRUE(figure.at(key).is_string()) << line;
    EXPECT_TRUE(figure.at("value").is_number()) << line;
    EXPECT_EQ(figure.at("threads"), 1);
    const bool has_peer = figure.at("peer").is_string();
    for (const char* key : {"peer_value", "ratio"})
      EXPECT_TRUE(has_peer ? figure.at(key).is_number() : figure.at(key).is_null()) << line;
    const std::string name = figure.at("case"), metric = figure.at("metric");
    EXPECT_TRUE(figures.insert(name + " " + metric).second) << line;
    if (shown.empty()) first = name;
    shown.insert(name);
  }
  EXPECT_EQ(first, "machine/triad");
  std::set<std::string> chosen;
  for (const std::string& name : names)
    if (name == "machine/triad" || name.starts_with("collide/box") || name == "springs/rope")
      chosen.insert(name);
  EXPECT_GT(chosen.size(), 3u);
  EXPECT_EQ(shown, chosen);
  for (const std::string& name : chosen) {
    bool main = name == "machine/triad";
    for (const char* metric : {"ms_per_step", "million_per_s", "wall_s_per_sim_s", "ns_per_item"})
      main = main || figures.contains(name + " " + metric);
    EXPECT_TRUE(main) << name;
  }
}

TEST_F(Program, ViewShowsASceneWithItsPanelInAWindow) {
  const std::string shot = folder / "shot.png";
  const Result r = run("view pendulums --frames 2 --screenshot " + quoted(shot), "xvfb-run -a");
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string png = read(shot);
  ASSERT_GT(png.size(), 24u);
  EXPECT_EQ(png.substr(1, 3), "PNG");
  const auto number = [&](std::size_t at) {  // big-endian, of the header
    std::size_t value = 0;
    for (std::size_t k = 0; k < 4; ++k) value = 256 * value + static_cast<unsigned char>(png[at + k]);
    return value;
  };
  const std::size_t width = number(16), height = number(20);
  EXPECT_GE(width, 640u);
  EXPECT_GE(height, 480u);
  // An empty window compresses a thousandfold; shading and text do not.
  EXPECT_GT(png.size(), width * height / 50);
}

TEST_F(Program, ListSaysOfFilesThatAreNoScenesWhatTheyAre) {
  write("array.json", "[1, 2]");
  write("broken.json", "{");
  write("drops.json", drops);
  ASSERT_EQ(setenv("PLENUM_SCENES", folder.c_str(), 1), 0);
  const Result r = run("list scenes");
  unsetenv("PLENUM_SCENES");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out.find("json.exception"), std::string::npos) << r.out;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 3) << r.out;
}

}  // namespace
