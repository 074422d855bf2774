// The tables of docs/scene-files.md are those the code generates. With PLENUM_UPDATE_DOCS set in the
// environment the test writes them instead.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plenum/scene/mesh_source.h"
#include "plenum/scene/scene.h"
#include "plenum/scene/schema.h"

namespace plenum { namespace {

/// `text` with everything between the marks of a table replaced.
std::string with_table(const std::string& text, const std::string& name, const std::string& table) {
  const std::string begin = "<!-- table: " + name + " -->\n", end = "<!-- end -->";
  const std::size_t from = text.find(begin);
  if (from == text.npos) throw std::runtime_error("docs/scene-files.md has no place for the table " + name);
  const std::size_t at = from + begin.size(), to = text.find(end, at);
  return text.substr(0, at) + table + text.substr(to);
}

std::string page() {
  std::ifstream file(PLENUM_SOURCE_DIR "/docs/scene-files.md");
  std::stringstream read;
  read << file.rdbuf();
  return read.str();
}

TEST(Docs, TheExampleIsAScene) {
  const std::string text = page();
  const std::size_t begin = text.find("```json\n") + 8;
  const std::string example = text.substr(begin, text.find("```", begin) - begin);
  const Scene scene = load_scene_text(example, "example.json");
  EXPECT_EQ(scene.settings.name, "curtain");
}

TEST(Docs, TablesOfSceneFilesAreThoseOfTheCode) {
  if (sizeof(Real) != sizeof(float)) GTEST_SKIP() << "the docs show the defaults of the usual precision";
  const std::string text = page();
  std::string solvers;
  for (const SolverEntry& solver : all_solvers())
    solvers += std::string("### ") + solver.name + "\n\n" + markdown_table(solver) + "\n";
  SceneSettings settings;
  MeshSource mesh;
  std::string wanted = text;
  wanted = with_table(wanted, "scene", markdown_table([&](Describer& d) { settings.describe(d); }));
  wanted = with_table(wanted, "mesh", markdown_table([&](Describer& d) { mesh.describe(d); }));
  wanted = with_table(wanted, "solvers", solvers);
  const bool update = std::getenv("PLENUM_UPDATE_DOCS") != nullptr;
  if (update) std::ofstream(PLENUM_SOURCE_DIR "/docs/scene-files.md") << wanted;
  EXPECT_TRUE(text == wanted || update)
      << "docs/scene-files.md is out of date; run PLENUM_UPDATE_DOCS=1 build/release/tests/test_scene "
         "--gtest_filter='Docs.*' and commit it";
}

}}  // namespace plenum
