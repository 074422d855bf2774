// The program as its users meet it: arguments, messages, exit status, files.
#include "program.h"

#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>

#include "plenum/io/grid_writer.h"
#include "support/vti_text.h"

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

TEST_F(Program, RunEndsWithOneJsonObjectAndHashesDoNotDependOnThreads) {
  const std::string scene = write("drops.json", drops);
  std::set<std::string> hashes;
  for (const int threads : {1, 2, 3, 5, 8}) {
    const Result r =
        run("run " + quoted(scene) + " --frames 20 --json --quiet --threads " + std::to_string(threads));
    ASSERT_EQ(r.status, 0) << r.err;
    const nlohmann::json j = r.last();
    EXPECT_EQ(j.at("frames"), 20);
    EXPECT_EQ(j.at("hash").get<std::string>().size(), 32u);
    for (const char* key : {"ms_per_frame", "dropped_s", "peak_mib"})
      EXPECT_TRUE(j.at(key).is_number()) << key;
    EXPECT_TRUE(j.at("systems").contains("drops"));
    hashes.insert(j.at("hash"));
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(Program, WhatStartsInsideASolidIsToldOnceByRunAndCheck) {
  const std::string scene = quoted(write("inside.json", R"({"systems": [
    {"type": "obstacle", "name": "stone", "model": {"parts": [{"shape": "sphere", "radius": 0.5}]}},
    {"type": "particles", "name": "dust", "model": {"positions": [[0.1, 0, 0], [0, 0.2, 0], [0, 2, 0]]}}]})"));
  const std::string told =
      "dust: 2 particles start up to 0.4 m deep inside stone, and will be pushed out at no more than 1 m/s; "
      "move the particles or stone";
  const Result ran = run("run " + scene + " --frames 5 --json");
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.last().at("remarks"), nlohmann::json::array({told}));
  const std::size_t at = ran.err.find(told);
  EXPECT_NE(at, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(told, at + 1), std::string::npos) << ran.err;
  const Result checked = run("check " + scene);
  EXPECT_EQ(checked.status, 0);
  EXPECT_NE((checked.out + checked.err).find(told), std::string::npos) << checked.err;
}

TEST_F(Program, AResumedRunHashesAsTheUninterruptedOne) {
  const std::string scene = quoted(write("drops.json", drops));
  const Result whole = run("run " + scene + " --frames 30 --json --quiet");
  ASSERT_EQ(run("run " + scene + " --frames 10 --checkpoint-every 5 --quiet " + out("half")).status, 0);
  const std::string checkpoint = folder / "half" / "checkpoint.plenum";
  EXPECT_TRUE(fs::exists(checkpoint + ".previous"));
  for (const std::string& file : {checkpoint, checkpoint + ".previous"}) {
    const Result resumed = run("run " + scene + " --frames 30 --json --quiet --resume " + quoted(file));
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(resumed.last().at("hash"), whole.last().at("hash"));
  }
  std::string bytes = read(checkpoint);
  bytes[bytes.size() / 2] ^= 1;
  const Result damaged = run("run " + scene + " --resume " + quoted(write("damaged", bytes)));
  EXPECT_EQ(damaged.status, 1);
  EXPECT_NE(damaged.err.find("damaged"), std::string::npos) << damaged.err;
}

TEST_F(Program, BadScenesAreRefusedWithOneSentence) {
  const std::string scene = write(
      "bad.json", std::string(drops).replace(std::string(drops).find("max_particles"), 13, "max_partcles"));
  for (const char* command : {"check", "run"}) {
    const Result r = run(std::string(command) + " " + quoted(scene));
    EXPECT_EQ(r.status, 1);
    EXPECT_NE(r.err.find("bad.json:6"), std::string::npos) << r.err;
    EXPECT_NE(r.err.find("'max_particles'"), std::string::npos) << r.err;
  }
}

TEST_F(Program, PicturesMovieAndExportsAreWritten) {
  const std::string scene = quoted(write("drops.json", drops));
  const Result r = run("run " + scene + " --frames 4 --images --size 160x90 --quality draft --movie " +
                       quoted(folder / "m.mp4") + " --export vtu " + out("pictures"));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(fs::exists(folder / "pictures" / "frame_00004.png"));
  EXPECT_TRUE(fs::exists(folder / "pictures" / "contact_sheet.png"));
  EXPECT_TRUE(fs::exists(folder / "pictures" / "drops_00004.vtu"));
  EXPECT_TRUE(fs::exists(folder / "pictures" / "frames.pvd"));
  EXPECT_TRUE(fs::exists(folder / "m.mp4") || r.err.find("ffmpeg is missing") != std::string::npos);
}

// As on a full disk, of which ffmpeg tells and then ends as if all were well.
TEST_F(Program, WhatDoesNotFitIsReportedAndTheOldFileStands) {
  const std::string scene = quoted(write("drops.json", drops)), quota = "prlimit --fsize=2048";
  const fs::path movie = folder / "m.mp4";
  const std::string before = "an older movie";
  write("m.mp4", before);
  const Result film =
      run("run " + scene + " --frames 30 --size 320x180 --quality draft --movie " + quoted(movie), quota);
  if (film.err.find("ffmpeg is missing") == std::string::npos) {
    EXPECT_EQ(film.status, 1) << film.err;
    EXPECT_EQ(read(movie), before);
  }
  const Result kept = run("run " + scene + " --frames 3 --checkpoint-every 1 " + out("kept"), quota);
  EXPECT_EQ(kept.status, 1) << kept.err;
  std::size_t left = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    left += entry.path().string().find(".tmp") != std::string::npos ||
            entry.path().string().find(".part") != std::string::npos;
  EXPECT_EQ(left, 0U);
}

TEST_F(Program, ExportsLoseNothing) {
  // Two wires, made one after the other; beads that are not drawn; names that would meet.
  const std::string wires =
      quoted(write("wires.json", R"({"systems": [{"type": "springs", "name": "w", "model":
    {"parts": [{"type": "points", "points": [[1, 0, 0], [8, 0, 0]], "line_radius": 0.01, "wires": [
      {"shape": "circle", "radius": 1, "axis": [0, 0, 1], "beads": [0]},
      {"shape": "circle", "origin": [5, 0, 0], "radius": 3, "axis": [0, 0, 1], "beads": [1]}]}]}}]})"));
  ASSERT_EQ(run("run " + wires + " --frames 1 --quiet --export obj " + out("wires")).status, 0);
  const auto count = [&](const std::string& file, const std::string& what) {
    std::istringstream text(read(folder / file));
    int n = 0;
    for (std::string line; std::getline(text, line);) n += line.starts_with(what);
    return n;
  };
  for (const char* frame : {"_00000.obj", "_00001.obj"}) {
    EXPECT_EQ(count(std::string("wires/w") + frame, "l "), 64) << frame;
    EXPECT_EQ(count(std::string("wires/w-2") + frame, "l "), 64) << frame;
    EXPECT_NE(read(folder / (std::string("wires/w") + frame)),
              read(folder / (std::string("wires/w-2") + frame)));
    EXPECT_EQ(count(std::string("wires/w-3") + frame, "v "), 2) << frame;  // the beads
  }

  const std::string balls = quoted(write("balls.json", R"({"systems": [
    {"type": "obstacle", "name": "a", "model": {"parts": [{"shape": "sphere"},
      {"shape": "sphere", "position": [3, 0, 0]}]}},
    {"type": "obstacle", "name": "a-2", "model": {"parts": [{"shape": "box"}]}}]})"));
  ASSERT_EQ(run("run " + balls + " --frames 0 --quiet --export obj " + out("balls")).status, 0);
  EXPECT_EQ(count("balls/a_00000.obj", "v "), count("balls/a-3_00000.obj", "v "));
  EXPECT_GT(count("balls/a_00000.obj", "v "), count("balls/a-2_00000.obj", "v "));

  // An object for each body, however many shapes it has; the plane is not drawn.
  const std::string bodies =
      quoted(write("bodies.json", R"({"systems": [{"type": "rigid", "name": "r", "model":
    {"bodies": [{"shapes": [{"shape": "plane"}], "motion": "fixed"},
      {"shapes": [{"shape": "box"}, {"shape": "sphere", "position": [1, 0, 0]}], "position": [0, 1, 0]},
      {"shapes": [{"shape": "box"}], "count_x": 2, "position": [0, 3, 0]}]}}]})"));
  ASSERT_EQ(run("run " + bodies + " --frames 0 --quiet --export obj " + out("bodies")).status, 0);
  EXPECT_EQ(count("bodies/r_00000.obj", "o "), 3);
  for (const char* name : {"o body_1", "o body_2", "o body_3"})
    EXPECT_EQ(count("bodies/r_00000.obj", name), 1) << name;
}

TEST_F(Program, ExportsOfSmokeHoldItsGrid) {
  const std::string scene = quoted(write("smoke.json", R"({"systems": [{"type": "smoke", "name": "s", "model":
    {"cells_x": 8, "cells_y": 6, "cells_z": 4, "spacing": 0.25, "low": [-1, 0, 0.5]}}]})"));
  ASSERT_EQ(run("run " + scene + " --frames 1 --quiet --export vtu " + out("g")).status, 0);
  const std::string vti = read(folder / "g" / "s_00001.vti");
  EXPECT_NE(vti.find("WholeExtent=\"0 8 0 6 0 4\" Origin=\"-1 0 0.5\" Spacing=\"0.25 0.25 0.25\""),
            std::string::npos)
      << vti.substr(0, 400);
  for (const char* name : {"density", "temperature", "velocity_x"})
    EXPECT_NE(vti.find(std::string("Name=\"") + name + "\""), std::string::npos) << name;
  EXPECT_NE(read(folder / "g" / "frames.pvd").find("file=\"s_00001.vti\""), std::string::npos);

  // Grids as VDB, what else there is as PLY, where OpenVDB is installed.
  const std::string mixed = quoted(write("mixed.json", R"({"systems": [
    {"type": "smoke", "name": "s", "model": {"cells_x": 8, "cells_y": 6, "cells_z": 4}},
    {"type": "rigid", "name": "r", "model": {"bodies": [{"shapes": [{"shape": "sphere"}]}]}}]})"));
  const Result vdb = run("run " + mixed + " --frames 1 --quiet --export vdb " + out("vdb"));
  if (!plenum::vdb_available()) {
    EXPECT_EQ(vdb.status, 1);
    EXPECT_NE(vdb.err.find(std::string("--export: ") + plenum::vdb_unavailable_note), std::string::npos)
        << vdb.err;
    EXPECT_FALSE(fs::exists(folder / "vdb"));
    return;
  }
  ASSERT_EQ(vdb.status, 0) << vdb.err;
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder / "vdb"))
    files.insert(entry.path().filename().string());
  EXPECT_EQ(files, (std::set<std::string>{"r_00000.ply", "r_00001.ply", "s_00000.vdb", "s_00001.vdb"}));
}

TEST_F(Program, ExportsOfFlatSmokeAndOfLiquidsHoldTheirCells) {
  using Real = plenum::Real;
  const std::string smoke = quoted(write("flat.json", R"({"gravity": [0, 0, 0], "systems": [{"type": "smoke",
    "name": "s", "model": {"cells_x": 8, "cells_y": 6, "cells_z": 1, "spacing": 0.25, "low": [-1, 0, 0]},
    "params": {"sources": [{"shape": "box", "half_extents": [1, 3, 1], "position": [-1, 0, 0], "density": 0.5,
      "rate": 1e6}]}}]})"));
  ASSERT_EQ(run("run " + smoke + " --frames 1 --quiet --export vtu " + out("s")).status, 0);
  const std::string air = read(folder / "s" / "s_00001.vti");
  EXPECT_EQ(plenum::value_of(air, "ImageData", "WholeExtent"), "0 8 0 6 0 1");
  EXPECT_EQ(plenum::value_of(air, "ImageData", "Origin"), "-1 0 0");
  const std::vector<Real> density = plenum::array_of<Real>(air, "density");
  ASSERT_EQ(density.size(), 48u);
  for (std::size_t c = 0; c < density.size(); ++c)
    EXPECT_NEAR(density[c], c % 8 < 4 ? Real(0.5) : Real(0), 1e-5) << c;

  // Beside the particles, or what else is shown of them.
  for (const std::string show : {"particles", "surface", "nothing"})
    for (const int depth : {1, 4}) {
      const std::string water = quoted(write("water.json",
                                             R"({"systems": [{"type": "liquid", "name": "w", "model":
    {"cells_x": 8, "cells_y": 6, "cells_z": )" + std::to_string(depth) +
                                                 R"(, "spacing": 0.25, "low": [-1, 0, 0.5], "show": ")" +
                                                 show + R"(", "jitter": 0, "fill": [{"shape": "box",
     "half_extents": [1, 1, 9], "position": [-1, 0, 0], "velocity": [1, 2, 0]}]}}]})"));
      const std::string name = show + std::to_string(depth);
      ASSERT_EQ(run("run " + water + " --frames 1 --quiet --export vtu " + out(name)).status, 0);
      EXPECT_TRUE(fs::exists(folder / name / "w_00001.vtu"));
      const std::string collection = read(folder / name / "frames.pvd");
      for (const char* file : {"file=\"w_00001.vti\"", "file=\"w_00001.vtu\""})
        EXPECT_NE(collection.find(file), std::string::npos) << file;
      const std::string cells = read(folder / name / "w_00000.vti");
      EXPECT_EQ(plenum::value_of(cells, "ImageData", "WholeExtent"), "0 8 0 6 0 " + std::to_string(depth));
      EXPECT_EQ(plenum::value_of(cells, "ImageData", "Origin"), "-1 0 0.5");
      const std::vector<Real> full = plenum::array_of<Real>(cells, "fullness"),
                              velocity = plenum::array_of<Real>(cells, "velocity");
      ASSERT_EQ(full.size(), 48u * std::size_t(depth));
      ASSERT_EQ(velocity.size(), 3 * full.size());
      // Full are the first four columns, and as many rows.
      for (std::size_t c = 0; c < full.size(); ++c) {
        const std::size_t i = c % 8, j = c / 8 % 6;
        if (i < 3 && j < 3) {
          EXPECT_NEAR(full[c], 1, 1e-5) << c;
        } else if (i > 4 || j > 4) {
          EXPECT_EQ(full[c], 0) << c;
        }
        if (i < 4 && j < 4) {
          EXPECT_NEAR(velocity[3 * c], 1, 1e-5) << c;
          EXPECT_NEAR(velocity[3 * c + 1], 2, 1e-5) << c;
        }
      }
    }
}

TEST_F(Program, ExportsOfRigidBodiesAreOneFileAFrameWithTheirVelocities) {
  const std::string scene = quoted(write("rigid.json", R"({"systems": [{"type": "rigid", "name": "r", "model":
    {"bodies": [{"shapes": [{"shape": "box"}], "velocity": [1, 2, 3], "angular_velocity": [0, 0, 2], "count_x": 3},
      {"motion": "fixed", "shapes": [{"shape": "sphere"}, {"shape": "box"}], "position": [0, -5, 0]}]}}]})"));
  ASSERT_EQ(run("run " + scene + " --frames 1 --quiet --export vtu " + out("v")).status, 0);
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder / "v"))
    files.insert(entry.path().filename().string());
  EXPECT_EQ(files, (std::set<std::string>{"frames.pvd", "r_00000.vtu", "r_00001.vtu"}));
  const std::string vtu = read(folder / "v" / "r_00000.vtu");
  for (const char* name : {"body", "velocity", "angular_velocity"})
    EXPECT_NE(vtu.find(std::string("Name=\"") + name + "\""), std::string::npos) << name;

  ASSERT_EQ(run("run " + scene + " --frames 0 --quiet --export ply " + out("p")).status, 0);
  const std::string text = read(folder / "p" / "r_00000.ply");
  const std::size_t data = text.find("end_header\n") + 11;
  std::istringstream header(text.substr(0, data));
  std::size_t count = 0, row = 0, body = 0, velocity = 0, real = 4;
  for (std::string line; std::getline(header, line) && !line.starts_with("element face");) {
    std::sscanf(line.c_str(), "element vertex %zu", &count);
    if (!line.starts_with("property ")) continue;
    if (line.ends_with(" body")) body = row;
    if (line.ends_with(" velocity_0")) velocity = row;
    const bool is_double = line.starts_with("property double ");
    if (is_double) real = 8;
    row += is_double ? 8 : 4;
  }
  ASSERT_GE(text.size(), data + count * row);
  std::set<std::int32_t> bodies;
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t of = -1;
    std::memcpy(&of, text.data() + data + i * row + body, 4);
    bodies.insert(of);
    for (std::size_t c = 0; c < 3; ++c) {
      float single = 0;
      double value = 0;
      const char* const at = text.data() + data + i * row + velocity + c * real;
      if (real == 4)
        std::memcpy(&single, at, 4), value = double(single);
      else
        std::memcpy(&value, at, 8);
      EXPECT_EQ(value, of < 3 ? double(c + 1) : 0.0);
    }
  }
  EXPECT_EQ(bodies, (std::set<std::int32_t>{0, 1, 2, 3}));
}

TEST_F(Program, ExportsOfSoftBodiesHaveTheFieldsOfTheirParticles) {
  const std::string scene =
      quoted(write("soft.json", R"({"gravity": [0, 0, 0], "systems": [{"type": "springs",
    "name": "s", "model": {"parts": [{"cells_x": 2, "cells_z": 2, "velocity": [1, 2, 3]},
      {"type": "soft_body", "mesh": {"shape": "icosphere", "subdivisions": 1}, "spacing": 0.3, "ball_radius": 0.02,
       "position": [0, 3, 0], "velocity": [1, 2, 3]}]}, "params": {"drag": 0}}]})"));
  ASSERT_EQ(run("run " + scene + " --frames 0 --quiet --export vtu " + out("v")).status, 0);
  const auto piece = [&](const std::string& file) {
    const std::string text = read(folder / "v" / file);
    for (const char* name : {"velocity", "mass", "speed"})
      EXPECT_NE(text.find(std::string("Name=\"") + name + "\""), std::string::npos) << file << ": " << name;
    const std::size_t at = text.find("<Piece");
    std::size_t points = 0, cells = 0;
    EXPECT_EQ(std::sscanf(text.c_str() + at, "<Piece NumberOfPoints=\"%zu\" NumberOfCells=\"%zu\"", &points,
                          &cells),
              2);
    return std::pair(points, cells);
  };
  const auto all = piece("s_00000.vtu"), surface = piece("s-2_00000.vtu"), balls = piece("s-3_00000.vtu");
  EXPECT_EQ(surface, std::pair(std::size_t{42}, std::size_t{80}));
  EXPECT_EQ(balls.first, balls.second);
  EXPECT_EQ(all.first, balls.first + 9);   // those of the cloth
  EXPECT_GT(all.second, 8 + balls.first);  // triangles of the cloth, and a few tetrahedra for each particle

  // Weights sum to one, so that what moves as a whole has one velocity everywhere.
  ASSERT_EQ(run("run " + scene + " --frames 0 --quiet --export ply " + out("p")).status, 0);
  for (const std::string file : {"s_00000.ply", "s-2_00000.ply", "s-3_00000.ply"}) {
    const std::string text = read(folder / "p" / file);
    std::istringstream header(text);
    std::size_t count = 0, row = 0, velocity = 0;
    bool of_vertices = false, is_double = false;
    for (std::string line; std::getline(header, line) && line != "end_header";) {
      if (line.starts_with("element "))
        of_vertices = std::sscanf(line.c_str(), "element vertex %zu", &count) == 1;
      if (!of_vertices || !line.starts_with("property ")) continue;
      is_double = line.starts_with("property double ");
      if (line.ends_with(" velocity_0")) velocity = row;
      row += is_double ? 8 : 4;
    }
    ASSERT_GT(velocity, 0u) << file;
    const std::size_t begin = static_cast<std::size_t>(header.tellg());
    for (std::size_t i = 0; i < count; ++i)
      for (int c = 0; c < 3; ++c) {
        const char* const at = text.data() + begin + i * row + velocity;
        double value = 0;
        if (is_double)
          std::memcpy(&value, at + 8 * c, 8);
        else
          value = [&] {
            float f;
            std::memcpy(&f, at + 4 * c, 4);
            return f;
          }();
        ASSERT_NEAR(value, 1 + c, 1e-5) << file << " " << i;
      }
  }
}

using SlowProgram = Program;  // sanitizers, which take memory of their own, skip it
TEST_F(SlowProgram, TheBudgetKnowsWhatTheMethodsTake) {
  // Bounds on both sides of the peak that the run itself reports: half as much again is let through, two
  // thirds are refused. The program itself takes some ten MiB.
  constexpr double program_mib = 10;
  const auto compare = [&](const std::string& systems, const std::string& what) {
    const auto with_budget = [&](int mib) {
      return quoted(write("budget.json",
                          "{\"budget_mib\": " + std::to_string(mib) + ", \"systems\": [" + systems + "]}"));
    };
    const Result r =
        run("run " + with_budget(4096) + " --frames 1 --json --quiet --set world.max_substeps=1");
    ASSERT_EQ(r.status, 0) << what << r.err;
    const double peak = r.last().at("peak_mib").get<double>() - program_mib;
    EXPECT_EQ(run("check " + with_budget(int(1.5 * peak))).status, 0) << what << " peaks at " << peak;
    EXPECT_EQ(run("check " + with_budget(int(peak / 1.5))).status, 1) << what << " peaks at " << peak;
  };
  for (const char* method : {"", R"("preconditioner": "incomplete_cholesky")",
                             R"("preconditioner": "multigrid")", R"("integrator": "local_global")"})
    compare(
        std::string(R"({"type": "springs", "name": "net", "model": {"parts": [{"cells_x": 150, "cells_z": 150,
        "pins": [{"where": "back"}]}]}, "params": {)") +
            method + "}}",
        method);
  compare(R"({"type": "particles", "name": "p", "model": {"max_particles": 1, "blocks": [{"spacing": 0.02}]},
      "params": {"gravity": [0, 0, 0], "pair": {"epsilon": 1e-12, "sigma": 0.02}}})",
          "pairs");
}

TEST_F(Program, AMethodThatDividesTheStepSaysSo) {
  const Result r = run("run flag --frames 0 --set flag.integrator=rk4");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.err.find("flag: each step of "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("implicit"), std::string::npos) << r.err;
  EXPECT_EQ(run("run flag --frames 0").err.find("each step of "), std::string::npos);
}

TEST_F(Program, CheckTellsWhatTheFirstFrameWarnsOf) {
  const auto said = [&](const std::string& radius) {
    const Result r =
        run("check " + quoted(write("ball.json", R"({"systems": [
      {"type": "springs", "name": "cloth", "model": {"parts": [{"cells_x": 10, "cells_z": 10}]}},
      {"type": "obstacle", "name": "ball", "model": {"parts": [{"shape": "sphere", "radius": )" +
                                                     radius + R"(, "position": [0, 3, 0]}]}}]})")));
    EXPECT_EQ(r.status, 0);
    return r.err;
  };
  EXPECT_NE(said("0.03").find("cloth: a solid is smaller than the gaps"), std::string::npos);
  EXPECT_EQ(said("0.3"), "");
}

TEST_F(Program, CheckTellsInOneObjectWhatItFound) {
  const auto checked = [&](const std::string& text, int status, const std::string& more = "") {
    const Result r = run("check --json " + more + " " + quoted(write("s.json", text)));
    EXPECT_EQ(r.status, status) << r.err;
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1) << r.out;
    EXPECT_EQ(r.last().at("ok"), status == 0);
    return r.last();
  };
  const std::string net = R"({"systems": [{"type": "springs", "name": "cloth",
      "model": {"parts": [{"cells_x": 10, "cells_z": 10, "pins": [{"where": "back"}]}]}, "params": {)";
  const nlohmann::json good = checked(net + "}}]}", 0);
  EXPECT_TRUE(good.at("problems").empty());
  EXPECT_TRUE(good.at("warnings").empty());
  EXPECT_EQ(good.at("first_frame").at("state"), "good");

  const nlohmann::json warned = checked(net + R"("integrator": "rk4"}}]})", 0);
  ASSERT_EQ(warned.at("warnings").size(), 1u);
  EXPECT_EQ(warned.at("warnings")[0].at("system"), "cloth");
  EXPECT_NE(warned.at("warnings")[0].at("what").get<std::string>().find("implicit"), std::string::npos);

  const nlohmann::json wrong = checked(net + R"("integrator": "rk5", "gravty": 3}}]})", 1);
  ASSERT_EQ(wrong.at("problems").size(), 2u);
  EXPECT_EQ(wrong.at("problems")[1].at("nearest"), "gravity");
  EXPECT_EQ(wrong.at("first_frame").at("state"), "not taken");

  const nlohmann::json untaken = checked(net + "}}]}", 0, "--seconds 0");
  EXPECT_EQ(untaken.at("first_frame").at("state"), "not taken");
}

TEST_F(Program, CheckTellsOfDoubtfulMeshes) {
  write("doubled.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\nf 2 3 4\n");
  const std::string still = quoted(write("still.json", R"({"systems": [
    {"type": "obstacle", "name": "tip", "model": {"parts": [{"shape": "mesh", "mesh": {"file": "doubled.obj"}}]}},
    {"type": "rigid", "name": "floor", "model": {"bodies": [{"motion": "fixed",
      "shapes": [{"shape": "mesh", "mesh": {"file": "doubled.obj"}}]}]}}]})"));
  const Result r = run("check " + still);
  EXPECT_EQ(r.status, 0) << r.err;
  const std::string what =
      R"( has 3 edges of three triangles or more (1-2, 1-3, 2-3) and 1 duplicate triangle (4), )"
      R"(beside which collisions may err; repair it ("repair": true beside a file))";
  EXPECT_NE(r.err.find("tip: model.parts[0].mesh" + what), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("floor: model.bodies[0].shapes[0].mesh" + what), std::string::npos) << r.err;
}

TEST_F(Program, CheckTellsOfAFirstFrameThatIsNotFinite) {
  // Explicit steps at 1e3 times the stable length multiply what moves by their square, 1e6, each time: 64 of
  // them are too much for double precision.
  const std::string scene = quoted(write("wild.json", R"({"world": {"substeps": 64, "max_substeps": 1},
    "systems": [{"type": "springs", "name": "net",
      "model": {"parts": [{"type": "points", "points": [[0, 0, 0], [1, 0, 0]], "springs": [[0, 1]], "mass": 1e-6,
                           "rest_lengths": [0.5], "structural_stiffness": 1e8, "damping_time": 0}]},
      "params": {"integrator": "symplectic_euler"}}]})"));
  const Result told = run("check " + scene);
  EXPECT_EQ(told.status, 1);
  const std::string steps = ", as world.max_substeps has it and fewer than the ";
  const std::string stop = "net: position[0]: is not finite after the first frame; it had warned: unstable: ";
  EXPECT_LT(told.err.find(steps), told.err.find(stop)) << told.err;
  EXPECT_NE(told.err.find(stop), std::string::npos) << told.err;
  const Result r = run("check --json " + scene);
  EXPECT_EQ(r.status, 1);
  EXPECT_FALSE(r.last().at("ok"));
  ASSERT_EQ(r.last().at("problems").size(), 1u);
  EXPECT_EQ(r.last().at("first_frame").at("state"), "not finite");
}

TEST_F(Program, CheckDoesNotWaitForAFrameThatTakesTooLong) {
  // Built at once, but a frame of a thousand implicit steps.
  const std::string scene = quoted(write("slow.json", R"({"world": {"substeps": 1000},
    "systems": [{"type": "springs", "name": "net",
      "model": {"parts": [{"cells_x": 100, "cells_z": 100, "pins": [{"where": "back"}]}]}}]})"));
  const Result r = run("check --json --seconds 1 " + scene);
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.last().at("first_frame").at("state"), "not taken");
  ASSERT_EQ(r.last().at("warnings").size(), 1u);
  EXPECT_NE(
      r.last().at("warnings")[0].at("what").get<std::string>().find("the first frame takes longer than 1 s"),
      std::string::npos);
}

TEST_F(Program, CheckDoesNotWaitForASceneThatTakesTooLongToBuild) {
  const std::string scene = quoted(write("large.json", R"({"systems": [{"type": "springs", "name": "net",
    "model": {"parts": [{"cells_x": 1000, "cells_z": 1000}]}}]})"));
  const Result r = run("check --json --seconds 0.02 " + scene);
  EXPECT_EQ(r.status, 1);
  EXPECT_FALSE(r.last().at("ok"));
  ASSERT_EQ(r.last().at("problems").size(), 1u);
  EXPECT_EQ(r.last().at("problems")[0].at("what"),
            "building the scene takes longer than 0.02 s and was not waited for");
}

TEST_F(Program, ParticlesAreNotToldOfMethodsTheyDoNotHave) {
  const Result r =
      run("check " + quoted(write("gas.json", R"({"systems": [{"type": "particles", "name": "gas",
    "model": {"mass": 1e-9, "blocks": [{"lattice": "fcc", "spacing": 0.16}]},
    "params": {"gravity": [0, 0, 0], "pair": {"epsilon": 0.001, "sigma": 0.1}}}]})")));
  EXPECT_NE(r.err.find("gas: each step of "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("epsilon"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("implicit"), std::string::npos) << r.err;
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

TEST_F(Program, LookingAheadCanBeInterrupted) {
  const std::string scene = write("drops.json", drops);
  const std::string command = "timeout -s INT 1 " + quoted(PLENUM_BINARY_DIR "/bin/plenum") + " run " +
                              quoted(scene) + " --frames 10000000 --images --size 32x18 --quality draft " +
                              out("ahead") + " >" + quoted(folder / "stdout") + " 2>" +
                              quoted(folder / "stderr");
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 124);
  EXPECT_NE(read(folder / "stderr").find("interrupted at frame"), std::string::npos)
      << read(folder / "stderr");
}

TEST_F(Program, AShorterRunRemovesTheFramesOfALongerOneAndNothingElse) {
  const std::string scene = quoted(write("drops.json", drops));
  const fs::path pictures = folder / "pictures";
  const auto frames = [&](int count, const std::string& more = "") {
    return run("run " + scene + " --images --size 32x18 --quality draft --frames " + std::to_string(count) +
               " " + more + " " + out("pictures"));
  };
  ASSERT_EQ(frames(6).status, 0);
  // What looks like a later frame but is not one of ours: of another program, another name, a link, a folder.
  const std::string theirs = "\x89PNG\r\n\x1a\nof somebody else";
  const std::vector<std::string> others = {"frame_00007.png", "frame_7.png",      "frame_00006.png.bak",
                                           "frame_00006.jpg", "other_00006.png",  "frame_000006.png",
                                           "frame_-0006.png", "xframe_00006.png", "frame_.png"};
  for (const std::string& name : others) write("pictures/" + name, theirs);
  fs::copy_file(pictures / "frame_00006.png", pictures / "frame_00006 (copy).png");
  fs::copy_file(pictures / "frame_00006.png", folder / "elsewhere.png");
  fs::create_symlink(folder / "elsewhere.png", pictures / "frame_00008.png");
  fs::create_directory(pictures / "frame_00009.png");
  std::set<std::string> before;
  for (const auto& entry : fs::directory_iterator(pictures)) before.insert(entry.path().filename());

  const Result shorter = frames(3);
  ASSERT_EQ(shorter.status, 0) << shorter.err;
  EXPECT_NE(shorter.err.find("plenum: warning: removed 3 later frames that a longer run had left in " +
                             pictures.string() + "\n"),
            std::string::npos)
      << shorter.err;
  for (const char* gone : {"frame_00004.png", "frame_00005.png", "frame_00006.png"}) before.erase(gone);
  std::set<std::string> after;
  for (const auto& entry : fs::directory_iterator(pictures)) after.insert(entry.path().filename());
  EXPECT_EQ(after, before);
  for (const std::string& name : others) EXPECT_EQ(read(pictures / name), theirs) << name;
  EXPECT_TRUE(fs::exists(folder / "elsewhere.png"));
  EXPECT_EQ(frames(3).err.find("later frames"), std::string::npos);
}

TEST_F(Program, AResumedRunGoesOnWithTheNumbersOfItsFrames) {
  const std::string scene = quoted(write("drops.json", drops));
  const std::string common = "run " + scene + " --images --size 32x18 --quality draft --checkpoint-every 2 " +
                             out("pictures") + " --frames ";
  ASSERT_EQ(run(common + "2").status, 0);
  const auto first = fs::last_write_time(folder / "pictures" / "frame_00001.png");
  const std::string checkpoint = quoted(folder / "pictures" / "checkpoint.plenum");
  ASSERT_EQ(run(common + "4 --resume " + checkpoint).status, 0);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "pictures"))
    if (entry.path().filename().string().starts_with("frame_")) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"frame_00000.png", "frame_00001.png", "frame_00002.png",
                                          "frame_00003.png", "frame_00004.png"}));
  EXPECT_EQ(fs::last_write_time(folder / "pictures" / "frame_00001.png"), first);  // the first part stands
}

TEST_F(Program, AResumedRunIsFramedAsTheWholeOne) {
  const std::string scene = quoted(write("drops.json", drops));
  const auto frames = [&](const std::string& folder_name, const std::string& more) {
    const Result r = run("run " + scene + " --size 64x36 --quality draft " + out(folder_name) + " " + more);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.err;
  };
  frames("whole", "--images --frames 20");
  // Of a run that had pictures, and of one that had none.
  for (const std::string images : {"--images", ""}) {
    const std::string name = "half" + images;
    frames(name, images + " --frames 20 --checkpoint-every 12");
    const std::string said =
        frames(name, "--images --frames 20 --resume " + quoted(folder / name / "checkpoint.plenum"));
    EXPECT_EQ(said.find("looking ahead") == std::string::npos, images == "--images") << said;
    EXPECT_EQ(said.find("frame    20/20") == std::string::npos, images == "--images")
        << said;  // its progress
    for (const char* file : {"frame_00012.png", "frame_00020.png"})
      EXPECT_EQ(read(folder / name / file), read(folder / "whole" / file)) << images << file;
  }
}

TEST_F(Program, ParametersMayChangeWhereARunIsResumed) {
  const std::string scene = quoted(write("drops.json", drops));
  ASSERT_EQ(run("run " + scene + " --frames 10 --checkpoint-every 10 --quiet " + out("half")).status, 0);
  const std::string resume =
      "run " + scene + " --frames 20 --json --resume " + quoted(folder / "half" / "checkpoint.plenum");
  const Result same = run(resume),
               changed = run(resume + " --set drops.linear_drag=0.01 --set world.substeps=2");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_EQ(same.err.find("changed since the checkpoint"), std::string::npos) << same.err;
  EXPECT_EQ(changed.status, 0) << changed.err;
  EXPECT_NE(changed.err.find("changed since the checkpoint: drops.linear_drag: 0.01, was 0\n"),
            std::string::npos)
      << changed.err;
  EXPECT_NE(changed.last().at("hash"), same.last().at("hash"));
  const Result model = run(resume + " --set drops.radius=0.03");
  EXPECT_EQ(model.status, 1);
  EXPECT_NE(model.err.find("models or meshes of the systems differ"), std::string::npos) << model.err;
  EXPECT_NE(model.err.find("params"), std::string::npos) << model.err;
}

TEST_F(Program, SetChangesAParameterAndRefusesStrangers) {
  const std::string scene = quoted(write("drops.json", drops));
  const auto hash = [&](const std::string& set) {
    return run("run " + scene + " --frames 5 --json --quiet " + set).last().at("hash");
  };
  EXPECT_NE(hash(""), hash("--set systems.drops.params.gravity=[0,-1,0]"));
  const Result r = run("run " + scene + " --set systems.drops.params.gravty=[0,-1,0]");
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("'gravity'"), std::string::npos) << r.err;
}

TEST_F(Program, OutputThatCannotBeWrittenIsToldAndFails) {
  const std::string scene = quoted(write("drops.json", drops));
  const std::string file = write("file", "");
  for (const std::string& place : {std::string("/proc/plenum"), file + "/below"}) {
    const Result r = run("run " + scene + " --frames 2 --export ply --quiet --out " + quoted(place));
    EXPECT_NE(r.status, 0) << place;
    EXPECT_NE(r.err.find(place), std::string::npos) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
  const Result r = run("run " + scene + " --frames 2 --quiet --checkpoint-every 1 --out /dev/full");
  EXPECT_NE(r.status, 0);
  EXPECT_NE(r.err, "");
}

TEST_F(Program, ADiskThatFillsUpIsToldAndLeavesNoHalfFiles) {
  // A limit on the size of files stands for the full disk: both make write() fall short.
  const std::string scene = write("drops.json", drops);
  const std::string command = "cd " + quoted(folder) + "; ulimit -f 4; trap '' XFSZ; exec " +
                              quoted(PLENUM_BINARY_DIR "/bin/plenum") + " run " + quoted(scene) +
                              " --frames 3 --checkpoint-every 1 --export ply --quiet --out full 2>stderr";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_NE(read(folder / "stderr"), "");
  for (const auto& entry : fs::directory_iterator(folder / "full"))
    EXPECT_EQ(entry.path().string().find("tmp"), std::string::npos) << entry.path();
}

TEST_F(Program, AnEndlessRunStopsWhenItIsInterrupted) {
  const std::string scene = write("drops.json", drops);
  const Result refused = run("run " + quoted(scene) + " --frames 2000000000");
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.err.find("is out of range"), std::string::npos) << refused.err;
  const Result r = [&] {
    const std::string command = "timeout -s INT 2 " + quoted(PLENUM_BINARY_DIR "/bin/plenum") + " run " +
                                quoted(scene) + " --frames 10000000 --json --quiet >" +
                                quoted(folder / "stdout") + " 2>" + quoted(folder / "stderr");
    const int status = std::system(command.c_str());
    return Result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(folder / "stdout"),
                  read(folder / "stderr")};
  }();
  EXPECT_EQ(r.status, 124);  // timeout's own: it had to ask
  EXPECT_NE(r.err.find("interrupted"), std::string::npos) << r.err;
  EXPECT_GT(r.last().at("frames"), 0);  // and the run still ended in order
}

TEST_F(Program, DebugDrawingChangesPicturesAndNothingElse) {
  const std::string boxes = write("boxes.json", R"({"systems": [{"type": "rigid", "name": "boxes", "model": {
    "bodies": [{"motion": "fixed", "shapes": [{"shape": "plane"}]},
               {"shapes": [{"shape": "box"}], "count_y": 2, "position": [0, 1.05, 0]}]}}]})");
  const auto show = [&](const std::string& name, const std::string& options) {
    const Result r = run("run " + quoted(boxes) + " --images --size 160x90 --quality draft --quiet --json " +
                         "--checkpoint-every 30 --out " + quoted(folder / name) + options);
    EXPECT_EQ(r.status, 0) << r.err;
    return std::pair(r.last().at("hash").get<std::string>(), read(folder / name / "frame_00030.png"));
  };
  const auto plain = show("plain", " --frames 30");
  const auto marked = show("marked", " --frames 30 --set debug.contacts=true --set debug.joints=true");
  EXPECT_EQ(plain.first, marked.first);
  EXPECT_FALSE(plain.second == marked.second);
  // A checkpoint knows all that is drawn.
  const auto resumed = show("resumed", " --frames 30 --set debug.contacts=true --set debug.joints=true " +
                                           ("--resume " + quoted(folder / "plain" / "checkpoint.plenum")));
  EXPECT_EQ(resumed.first, marked.first);
  EXPECT_TRUE(resumed.second == marked.second);
}

}  // namespace
