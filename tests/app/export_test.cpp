// `plenum run --export`: what other programs read of it.
#include "program.h"

#include <cstring>
#include <set>
#include <sstream>

#include "plenum/io/grid_writer.h"
#include "support/vti_text.h"

namespace {

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

}  // namespace
