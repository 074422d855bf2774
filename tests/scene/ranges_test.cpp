// Every number of every solver has a finite range, and what lies beyond it is refused by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plenum/scene/description.h"
#include "support.h"

namespace plenum { namespace {

void expect_ranges(const std::vector<FieldDescription>& fields, const std::string& path) {
  for (const FieldDescription& field : fields) {
    const std::string name = path + "." + field.name;
    expect_ranges(field.fields, name);
    switch (field.kind) {
      case FieldKind::real:
      case FieldKind::vec3:
      case FieldKind::reals:
      case FieldKind::vec3s:
        EXPECT_TRUE(std::isfinite(field.info.min) && std::isfinite(field.info.max)) << name;
        EXPECT_LT(field.info.min, field.info.max) << name;
        EXPECT_LE(std::max(-field.info.min, field.info.max), 1e12) << name;
        break;
      default:
        break;
    }
  }
}

TEST(Ranges, EveryNumberOfEverySolverHasAFiniteRange) {
  for (const SolverEntry& solver : all_solvers()) {
    const auto draft = solver.draft();
    expect_ranges(describe_fields([&](Describer& d) { draft->spec(d); }),
                  solver.name + std::string(".model"));
    expect_ranges(describe_fields([&](Describer& d) { draft->params(d); }),
                  solver.name + std::string(".params"));
  }
  SceneSettings settings;
  expect_ranges(describe_fields([&](Describer& d) { settings.describe(d); }), "scene");
}

TEST(Ranges, VectorsBeyondTheirRangeAreRefusedWithLineKeyValueAndRange) {
  const auto complaint = [](const std::string& model, const std::string& params) {
    const auto all = sentences(check_scene_text(
        "{\"systems\": [\n{\"type\": \"springs\", \"name\": \"n\",\n\"model\": {\"parts\": [{" + model +
            "}]},\n\"params\": {" + params + "}}]}",
        "s.json"));
    return all.empty() ? "" : all.front();
  };
  EXPECT_EQ(complaint("", ""), "");
  EXPECT_EQ(complaint("\"position\": [0, 2e6, 0]", ""),
            "s.json:3: systems[0].model.parts[0].position[1]: is out of range: 2e6 (allowed: -1e6 to 1e6 m)");
  EXPECT_EQ(complaint("\"velocity\": [0, 0, -1e30]", ""),
            "s.json:3: systems[0].model.parts[0].velocity[2]: is out of range: -1e30 (allowed: -100000 to "
            "100000 m/s)");
  EXPECT_EQ(complaint("", "\"gravity\": [1e9, 0, 0]"),
            "s.json:4: systems[0].params.gravity[0]: is out of range: 1e9 (allowed: -10000 to 10000 m/s^2)");
  EXPECT_EQ(complaint("", "\"wind\": [0, 1e9, 0]"),
            "s.json:4: systems[0].params.wind[1]: is out of range: 1e9 (allowed: -10000 to 10000 m/s)");
  EXPECT_NE(complaint("\"rotation\": [0, 4000, 0]", ""), "");
}

}}  // namespace plenum
