// Hostile and broken scenes, one test for each kind that is known to have felled such programs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support.h"

namespace plenum { namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, removed with all that is in it.
class Fault : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "plenum-scene-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    outside_ = pattern;
    folder_ = outside_ / "scene";
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(outside_); }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  /// What is said of a scene whose mesh is the file of that name (as it stands in JSON).
  std::string mesh_complaint(const std::string& name, std::vector<std::string> roots = {}) {
    write(folder_ / "s.json", scene_text("", "\"mesh\": {\"file\": \"" + name + "\"}"));
    SceneOptions options = toy_options();
    options.roots = std::move(roots);
    const auto all = sentences(check_scene((folder_ / "s.json").string(), options));
    if (all.empty()) return "";
    const std::string where = (folder_ / "s.json").string() + ":3: systems[0].model.mesh.file: ";
    EXPECT_EQ(all.front().substr(0, where.size()), where) << all.front();
    return all.front().substr(std::min(where.size(), all.front().size()));
  }

  static constexpr const char* triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
  fs::path outside_, folder_;
};

/// The first problem of a scene of the house's own solvers.
std::string house_complaint(const std::string& systems) {
  const auto all = sentences(check_scene_text("{\"systems\": [" + systems + "]}", "s.json"));
  return all.empty() ? "" : all.front();
}

TEST_F(Fault, MeshFilesAreFoundInTheSceneFolderAndInAllowedOnes) {
  write(folder_ / "a.obj", triangle);
  fs::create_directory(folder_ / "models");
  write(folder_ / "models/b.obj", triangle);
  fs::create_directory(outside_ / "shared");
  write(outside_ / "shared/c.obj", triangle);
  fs::create_symlink("models/b.obj", folder_ / "inside.obj");
  fs::create_symlink("../shared/c.obj", folder_ / "shared.obj");
  EXPECT_EQ(mesh_complaint("a.obj"), "");
  EXPECT_EQ(mesh_complaint("./models/b.obj"), "");
  EXPECT_EQ(mesh_complaint("inside.obj"), "");
  EXPECT_EQ(mesh_complaint("c.obj").substr(0, 23), "does not exist: \"c.obj\"");
  EXPECT_EQ(mesh_complaint("c.obj", {(outside_ / "shared").string()}), "");
  EXPECT_EQ(mesh_complaint("shared.obj", {(outside_ / "shared").string()}), "");
}

TEST_F(Fault, MeshFilesMustBeRegular) {
  fs::create_directory(folder_ / "folder.obj");
  ASSERT_EQ(mkfifo((folder_ / "fifo.obj").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder_ / "zero.obj");
  fs::create_symlink("loop.obj", folder_ / "loop.obj");
  write(folder_ / "empty.obj", "");
  EXPECT_EQ(mesh_complaint("folder.obj"), "is a folder, not a file: \"folder.obj\"");
  EXPECT_EQ(mesh_complaint("fifo.obj"), "is not a regular file: \"fifo.obj\"");
  EXPECT_EQ(mesh_complaint("zero.obj").substr(0, 45), "is a link that leads out of the scene's folde");
  EXPECT_EQ(mesh_complaint("loop.obj").substr(0, 17), "cannot be reached");
  EXPECT_EQ(mesh_complaint("empty.obj").substr(0, 32), "is not a mesh that can be read: ");
  EXPECT_EQ(mesh_complaint("").substr(0, 17), "must not be empty");
  // Larger than any mesh file may be, without taking a byte of the disk.
  write(folder_ / "huge.obj", "");
  fs::resize_file(folder_ / "huge.obj", (std::uintmax_t{1} << 30) + 1);
  EXPECT_EQ(mesh_complaint("huge.obj"),
            "is too large with 1073741825 bytes: \"huge.obj\" (allowed: at most 1073741824 bytes)");
  // Larger than the budget.
  fs::resize_file(folder_ / "huge.obj", std::uintmax_t{400} << 20);
  EXPECT_NE(sentences(check_scene((folder_ / "s.json").string(), toy_options()))
                .front()
                .find("needs 4800 MiB of memory (allowed: "),
            std::string::npos);
  if (geteuid() != 0) {
    write(folder_ / "secret.obj", triangle);
    fs::permissions(folder_ / "secret.obj", fs::perms::none);
    EXPECT_NE(mesh_complaint("secret.obj").find("cannot be opened"), std::string::npos);
  }
}

TEST_F(Fault, PathsThatLeaveTheSceneFolderAreRefused) {
  write(outside_ / "secret.obj", triangle);
  fs::create_symlink("../secret.obj", folder_ / "link.obj");
  fs::create_directory_symlink("..", folder_ / "up");
  const std::string only = " (allowed: a path relative to the scene's folder, without '..')";
  EXPECT_EQ(mesh_complaint("../secret.obj"), "leaves the scene's folder: \"../secret.obj\"" + only);
  EXPECT_EQ(mesh_complaint("a/../../secret.obj"), "leaves the scene's folder: \"a/../../secret.obj\"" + only);
  EXPECT_EQ(mesh_complaint("../../../../etc/passwd"),
            "leaves the scene's folder: \"../../../../etc/passwd\"" + only);
  EXPECT_EQ(mesh_complaint("/etc/passwd"), "is an absolute path: \"/etc/passwd\"" + only);
  EXPECT_EQ(mesh_complaint("C:/x.obj"), "begins with a drive letter: \"C:/x.obj\"" + only);
  EXPECT_EQ(mesh_complaint("a\\\\x.obj"),
            "has a backslash in a file name: \"a\\\\x.obj\"" + only + "; write '/' between folders");
  EXPECT_EQ(mesh_complaint("file:///etc/passwd"), "is a URL, not a file name: \"file:///etc/passwd\"" + only);
  EXPECT_EQ(mesh_complaint("file:x.obj"), "is a URL, not a file name: \"file:x.obj\"" + only);
  EXPECT_EQ(mesh_complaint("https://a.b/x.obj"), "is a URL, not a file name: \"https://a.b/x.obj\"" + only);
  EXPECT_EQ(mesh_complaint("%2e%2e/secret.obj"),
            "has a percent escape in a file name: \"%2e%2e/secret.obj\"" + only);
  EXPECT_EQ(mesh_complaint("link.obj\\u0000.png"), "has a control character in it: \"link.obj\\u0000.png\"");
  EXPECT_EQ(mesh_complaint("a\\u001b[2Jb.obj"), "has a control character in it: \"a\\u001b[2Jb.obj\"");
  EXPECT_EQ(mesh_complaint("link.obj").substr(0, 45), "is a link that leads out of the scene's folde");
  EXPECT_EQ(mesh_complaint("up/secret.obj").substr(0, 45), "is a link that leads out of the scene's folde");
}

TEST_F(Fault, NothingInAPathIsExpanded) {
  setenv("PLENUM_TEST_FOLDER", folder_.c_str(), 1);
  write(folder_ / "x.obj", triangle);
  for (const char* name :
       {"~/x.obj", "~root/x.obj", "$PLENUM_TEST_FOLDER/x.obj", "${PLENUM_TEST_FOLDER}/x.obj",
        "$(touch made)/x.obj", "`touch made`/x.obj", "x.ob?", "*.obj", "{x,y}.obj"})
    EXPECT_EQ(mesh_complaint(name).substr(0, 16), "does not exist: ") << name;
  EXPECT_FALSE(fs::exists(folder_ / "made"));
  EXPECT_FALSE(fs::exists("made"));
  fs::create_directory(folder_ / "~");
  write(folder_ / "~/x.obj", triangle);
  EXPECT_EQ(mesh_complaint("~/x.obj"), "");  // a folder like any other
}

TEST_F(Fault, SceneFilesMustBeRegular) {
  const auto complaint = [&](const fs::path& path) {
    const auto all = sentences(check_scene(path.string(), toy_options()));
    return all.empty() ? "" : all.front();
  };
  EXPECT_NE(complaint(folder_ / "none.json").find("cannot be opened"), std::string::npos);
  EXPECT_EQ(complaint(folder_), folder_.string() + ": is not a regular file");
  ASSERT_EQ(mkfifo((folder_ / "fifo.json").c_str(), 0600), 0);
  EXPECT_EQ(complaint(folder_ / "fifo.json"), (folder_ / "fifo.json").string() + ": is not a regular file");
  EXPECT_EQ(complaint("/dev/zero"), "/dev/zero: is not a regular file");
  write(folder_ / "huge.json", "{");
  fs::resize_file(folder_ / "huge.json", (std::uintmax_t{64} << 20) + 1);
  EXPECT_EQ(
      complaint(folder_ / "huge.json"),
      (folder_ / "huge.json").string() + ": is too large: 67108865 bytes (allowed: at most 67108864 bytes)");
}

TEST_F(Fault, UnknownMisspeltAndDuplicateKeysOfTheHouse) {
  EXPECT_EQ(
      house_complaint(
          R"({"type": "obstacle", "name": "o", "model": {"parts": [{"shape": "box"}]}, "params": {"fricton": 1}})"),
      "s.json:1: systems[0].params.fricton: is not a key that is known here; did you mean 'friction'?");
  EXPECT_EQ(
      house_complaint(R"({"type": "obstacle", "name": "o", "params": {"friction": 1, "friction": 2}})"),
      "s.json:1: systems[0].params.friction: is a key given twice in one object at column 74: 2; remove it "
      "or the one in line 1");
}

TEST_F(Fault, MaterialsOutOfRangeAreRefusedWithTheRange) {
  const auto particles = [](const char* model) {
    return house_complaint(std::string(R"({"type": "particles", "name": "p", "model": {)") + model + "}}");
  };
  const auto cloth = [](const char* part) {
    return house_complaint(std::string(R"({"type": "springs", "name": "p", "model": {"parts": [{)") + part +
                           "}]}}");
  };
  const auto obstacle = [](const char* params) {
    return house_complaint(
        std::string(
            R"({"type": "obstacle", "name": "p", "model": {"parts": [{"shape": "box"}]}, "params": {)") +
        params + "}}");
  };
  for (const std::string& complaint :
       {particles("\"mass\": 0"), particles("\"mass\": -1"), particles("\"radius\": -1"),
        cloth("\"areal_density\": 0"), cloth("\"areal_density\": -1"), cloth("\"structural_stiffness\": -1"),
        cloth("\"damping_time\": -1"), cloth("\"size_x\": 0"), cloth("\"cells_x\": 0"),
        obstacle("\"friction\": -0.1"), obstacle("\"restitution\": 1.1")}) {
    EXPECT_NE(complaint.find("is out of range: "), std::string::npos) << complaint;
    EXPECT_NE(complaint.find("(allowed: "), std::string::npos) << complaint;
  }
}

TEST_F(Fault, ValuesThatContradictEachOtherAreRefusedAtTheirKey) {
  const auto particles = [](const std::string& params) {
    return house_complaint(R"({"type": "particles", "name": "p", "params": {)" + params + "}}");
  };
  const auto holds = [](const std::string& complaint, const char* part) {
    EXPECT_NE(complaint.find(part), std::string::npos) << complaint;
  };
  holds(particles(R"("pair": {"epsilon": 1, "n": 6, "m": 12})"), "systems[0].params.pair.n: ");
  holds(particles(R"("pair": {"epsilon": 1, "n": 6})"), "systems[0].params.pair.n: ");
  holds(particles(R"("emitters": [{}, {"shape": "mesh"}])"), "systems[0].params.emitters[1].surface: ");
  holds(particles(R"("emitters": [{"direction": [0, 0, 0]}])"), "systems[0].params.emitters[0].direction: ");
  EXPECT_EQ(
      particles(R"("pair": {"epsilon": 1, "n": 12, "m": 6}, "emitters": [{"direction": [0, 0, 1e-9]}])"), "");
  holds(house_complaint(R"({"type": "obstacle", "name": "o", "model": {"parts": [{"shape": "plane"},
        {"shape": "torus", "radius": 1, "minor_radius": 2}]}})"),
        "systems[0].model.parts[1].minor_radius: ");
}

TEST_F(Fault, PinsThatHoldNothingAreRefused) {
  // Three particles at x = 0, 1, 2 of the part, which is placed 10 m above.
  const auto complaint = [](const std::string& pin) {
    return house_complaint(R"({"type": "springs", "name": "n", "model": {"parts": [{"type": "points",
      "points": [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "position": [0, 10, 0], "pins": [{"where": "last"}, {)" +
                           pin + "}]}]}}");
  };
  const std::string key = "s.json:2: systems[0].model.parts[0].pins[1]";
  EXPECT_EQ(complaint(R"("where": "box", "box_min": [0.8, 9.9, -1], "box_max": [1, 10, 1])"), "");
  EXPECT_EQ(complaint(R"("where": "box", "box_min": [1.2, 6.7, -1], "box_max": [1.3, 7, 1])"),
            key +
                ": its box holds no particle of the part: [1.2, 6.7, -1] to [1.3, 7, 1]; the nearest one, "
                "particle 1 at [1, 10, 0] in the world, is 3.01 m outside: move the box or make it larger");
  EXPECT_EQ(complaint(R"("where": "box", "box_min": [0, 10, 0], "box_max": [2, 9, 0])"),
            key + ".box_min: must not be greater than box_max in any direction: [0, 10, 0]");
  EXPECT_EQ(complaint(""), key + ".indices: names no particle; list those to be held");
  EXPECT_EQ(complaint(R"("where": "all", "group": 1)"), "");
  EXPECT_EQ(complaint(R"("indices": [2], "group": 1)"),
            key +
                ": holds no particle that pins before it do not hold already; put it before them, hold other "
                "particles, or leave it out");
}

TEST_F(Fault, MotionsOfPinsThatThereAreNotAreRefused) {
  const auto complaint = [](const std::string& pins, const std::string& params, const std::string& path) {
    return house_complaint(
        R"({"type": "springs", "name": "n", "model": {"parts": [{"pins": [)" + pins +
        R"(]}]}, "params": {"pins": [)" + params + "]}" +
        (path.empty() ? ""
                      : R"(, "keyframes": [{"path": ")" + path + R"(", "times": [0], "values": [true]}])") +
        "}");
  };
  const std::string left = R"({"where": "left"})", right = R"({"where": "right", "group": 2})";
  const std::string both = left + ", " + right;
  EXPECT_EQ(complaint(both, "{}, {}, {\"released\": true}", ""), "");
  EXPECT_EQ(complaint(both, "{}, {}, {}, {}", "pins[2].released"), "");
  EXPECT_EQ(complaint("", "{}", ""), "");
  EXPECT_EQ(complaint(both, "{}, {\"offset\": [0, 1, 0]}", ""),
            "s.json:1: systems[0].params.pins[1]: moves nothing, since no pin is of group 1; give pins this "
            "group, or move one that they are of: 0, 2");
  EXPECT_EQ(
      complaint("", "{\"released\": true}", ""),
      "s.json:1: systems[0].params.pins[0]: moves nothing, since no pin is of group 0; give a part pins "
      "of this group");
  EXPECT_EQ(complaint(right, "{}, {}, {}", "pins[1].released"),
            "s.json:1: n.pins[1].released: moves nothing, since no pin is of group 1; give pins this group, "
            "or move one that they are of: 2");
}

TEST_F(Fault, KeyframesOfEntriesThatAreNotThereAreRefused) {
  const auto complaint = [](const std::string& path, const std::string& pins) {
    return house_complaint(
        R"({"type": "springs", "name": "n", "model": {"parts": [{"pins": [{"where": "all", "group": 1}]}]}, )"
        R"("params": {"pins": [)" +
        pins + R"(]}, "keyframes": [{"path": ")" + path + R"(", "times": [0], "values": [[0, 1, 0]]}]})");
  };
  const std::string key = "s.json:1: systems[0].keyframes[0].path: ";
  const auto missing = [&](const std::string& path) {
    return key + "names an entry that is not there: \"" + path;
  };
  EXPECT_EQ(complaint("pins[1].offset", "{}, {}"), "");
  EXPECT_EQ(complaint("pins[3].offset", "{}, {}"),
            missing("pins[3].offset\" (allowed: 0 to 1); did you mean 'pins[1].offset'?; give "
                    "systems[0].params.pins 4 entries"));
  EXPECT_EQ(complaint("pins[3].offset", ""), missing("pins[3].offset\" (allowed: none, it is empty); give "
                                                     "systems[0].params.pins 4 entries"));
  EXPECT_EQ(complaint("pins[256].offset", "{}"),
            missing("pins[256].offset\" (allowed: 0 to 0); did you mean 'pins[0].offset'?"));
  EXPECT_EQ(complaint("pins[3].ofset", ""),
            key + "is no parameter of this system: \"pins[3].ofset\"; did you mean 'pins[0].offset'?");
  EXPECT_EQ(complaint("pins[x].offset", "{}"),
            key + "is no parameter of this system: \"pins[x].offset\"; did you mean 'pins[0].offset'?");
}

TEST_F(Fault, TimeStepsAndCountsOutOfRangeAreRefused) {
  for (const char* extra :
       {"\"world\": {\"fps\": 0}", "\"world\": {\"fps\": -60}", "\"world\": {\"fps\": 1e-300}",
        "\"world\": {\"fps\": 1e9}", "\"world\": {\"substeps\": 0}", "\"world\": {\"substeps\": 1000000000}",
        "\"world\": {\"substeps\": 18446744073709551616}", "\"world\": {\"max_substeps\": 0}",
        "\"duration\": -1"}) {
    const std::string complaint = first_complaint(scene_text(extra));
    EXPECT_NE(complaint.find("is out of range: "), std::string::npos) << extra << complaint;
    EXPECT_NE(complaint.find("(allowed: "), std::string::npos) << complaint;
  }
  for (const std::string value : {"NaN", "-Infinity", "1e999", "-1e999", "1e-999"})
    EXPECT_EQ(first_complaint(scene_text("\"world\": {\"fps\": " + value + "}")),
              "s.json:1: world.fps: must be a finite number that a double can hold: " + value +
                  " (allowed: 1 to 10000 1/s)");
}

TEST_F(Fault, BombsCostLittle) {
  std::string keys = "{";
  for (int i = 0; i < 1000000; ++i) keys += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":0";
  EXPECT_EQ(complaints(keys + "}").size(), 100u);
  EXPECT_EQ(
      first_complaint(std::string(100000, '[')),
      "s.json:1: [0][0][0][0][0][0][0][0]...[0][0][0][0]: is nested deeper than 64 levels at column 65: " +
          std::string(27, '[') + "...");
  EXPECT_EQ(first_complaint("{\"name\": \"" + std::string(30000000, 'x') + "\"}").substr(0, 29),
            "s.json:1: name: is too long: ");
  std::string zeros = "[0";
  for (int i = 0; i < 5000000; ++i) zeros += ",0";
  EXPECT_NE(first_complaint(zeros + "]").find("has more than 4194304 values"), std::string::npos);
  EXPECT_NE(first_complaint("{\"systems\": [" + std::string(20000000, '1') + "]}"), "");
}

TEST_F(Fault, ScenesIncludeNothingAndNamesAreUnique) {
  EXPECT_EQ(first_complaint(scene_text("\"include\": \"s.json\"")).substr(0, 50),
            "s.json:1: include: is not a key that is known here");
  EXPECT_EQ(
      house_complaint(
          R"({"type": "obstacle", "name": "a", "model": {"parts": [{"shape": "box"}]}}, {"type": "obstacle", "name": "a", "model": {"parts": [{"shape": "box"}]}})"),
      "s.json:1: systems[1].name: is the name of two systems: \"a\"");
  EXPECT_EQ(house_complaint(R"({"type": "obstacle", "name": ""})"),
            "s.json:1: systems[0].name: must not be empty: \"\"");
}

TEST_F(Fault, ASoftBodyFromABrokenMeshIsRefusedWithItsRepair) {
  // A cube whose last face is flipped.
  write(folder_ / "cube.obj", R"(v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 1 4 8 5
)");
  const auto complaint = [&](const std::string& repair) {
    write(folder_ / "s.json", R"({"systems": [{"type": "springs", "name": "s", "model": {"parts": [
      {"type": "soft_body", "spacing": 0.5, "mesh": {"file": "cube.obj")" +
                                  repair + "}}]}}]}");
    const auto all = sentences(check_scene((folder_ / "s.json").string(), {}));
    return all.empty() ? "" : all.front();
  };
  EXPECT_EQ(
      complaint(""),
      (folder_ / "s.json").string() +
          ":2: systems[0].model.parts[0].mesh: does not enclose a volume cleanly: it has 4 edges with a "
          "flipped triangle (0-3, 0-4, 3-7, 4-7); repair it (\"repair\": true beside a file)");
  EXPECT_EQ(complaint(R"(, "repair": true)"), "");
}

TEST_F(Fault, RequestsBeyondMemoryAreRefusedBeforeTheyAreMade) {
  struct rusage before {
  }, after{};
  getrusage(RUSAGE_SELF, &before);
  for (
      const char* system :
      {R"({"type": "particles", "name": "p", "model": {"max_particles": 100000000000}})",
       R"({"type": "particles", "name": "p", "model": {"blocks": [{"low": [-1e4, -1e4, -1e4], "high": [1e4, 1e4, 1e4], "spacing": 0.001}]}})",
       R"({"type": "springs", "name": "s", "model": {"parts": [{"type": "cloth", "cells_x": 100000, "cells_z": 100000}]}})",
       R"({"type": "obstacle", "name": "o", "model": {"parts": [{"shape": "mesh", "mesh": {"shape": "box", "cells_x": 10000, "cells_y": 10000, "cells_z": 10000}}]}})"})
    EXPECT_NE(house_complaint(system), "") << system;
  // The mesh by itself would fit, with its distance field and all that distances need it does not.
  EXPECT_NE(
      house_complaint(
          R"({"type": "obstacle", "name": "o", "model": {"parts": [{"shape": "mesh", "resolution": 512, "mesh": {"shape": "icosphere", "subdivisions": 9}}]}})")
          .find("systems[0]: the scene needs "),
      std::string::npos);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024);  // [KiB]
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool shadowed = true;
#elif defined(__has_feature)
constexpr bool shadowed = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool shadowed = false;
#endif

TEST_F(Fault, TheBudgetIsNoMoreThanTheProcessMayHave) {
  if (shadowed) GTEST_SKIP() << "sanitizers take more address space than the limit";
  struct rlimit old {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  struct rlimit tight = old;
  tight.rlim_cur = rlim_t{512} << 20;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const auto count = std::to_string((std::size_t{2} << 30) / (2 * sizeof(Vec3)));
  const std::string complaint = first_complaint(scene_text("", "\"count\": " + count));
  setrlimit(RLIMIT_AS, &old);
  EXPECT_EQ(complaint,
            "s.json:2: systems[0]: the scene needs 2048 MiB of memory, 2048 of them for 'one' (allowed: 512 "
            "MiB); make "
            "that system smaller; there is no more to be had here");
}

}}  // namespace plenum
