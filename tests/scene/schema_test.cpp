// The generated schema says yes and no to the same files as the reader.
#include "plenum/scene/schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "plenum/scene/description.h"
#include "support.h"

namespace plenum { namespace {

using Json = nlohmann::json;

/// Whether `value` fits `schema`, by the part of draft 2020-12 that the generated schema uses. Any other
/// keyword is an error of the test.
class Validator {
 public:
  explicit Validator(Json root) : root_(std::move(root)) {}
  bool fits(const Json& value) const { return fits(value, root_); }

 private:
  bool fits(const Json& value, const Json& schema) const {
    if (schema.is_boolean()) return schema.get<bool>();
    bool good = true;
    for (const auto& [keyword, rule] : schema.items()) good = good && keeps(value, schema, keyword, rule);
    return good;
  }

  static bool is(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "number") return value.is_number();
    if (type == "integer")
      return value.is_number_integer() ||
             (value.is_number() && value.get<double>() == std::floor(value.get<double>()));
    throw std::logic_error("unknown type " + type);
  }

  bool keeps(const Json& value, const Json& schema, const std::string& keyword, const Json& rule) const {
    if (keyword == "type") {
      if (rule.is_string()) return is(value, rule);
      return std::any_of(rule.begin(), rule.end(), [&](const Json& type) { return is(value, type); });
    }
    if (keyword == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (keyword == "const") return value == rule;
    if (keyword == "minimum") return !value.is_number() || value.get<double>() >= rule.get<double>();
    if (keyword == "maximum") return !value.is_number() || value.get<double>() <= rule.get<double>();
    if (keyword == "minItems") return !value.is_array() || value.size() >= rule;
    if (keyword == "maxItems") return !value.is_array() || value.size() <= rule;
    if (keyword == "minLength") return !value.is_string() || value.get<std::string>().size() >= rule;
    if (keyword == "maxLength") return !value.is_string() || value.get<std::string>().size() <= rule;
    if (keyword == "pattern")
      return !value.is_string() ||
             std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    if (keyword == "items")
      return !value.is_array() ||
             std::all_of(value.begin(), value.end(), [&](const Json& item) { return fits(item, rule); });
    if (keyword == "required")
      return !value.is_object() || std::all_of(rule.begin(), rule.end(), [&](const Json& key) {
        return value.contains(key.get<std::string>());
      });
    if (keyword == "properties") {
      if (!value.is_object()) return true;
      for (const auto& [key, property] : rule.items())
        if (value.contains(key) && !fits(value[key], property)) return false;
      return true;
    }
    if (keyword == "additionalProperties") {
      if (!value.is_object()) return true;
      for (const auto& [key, member] : value.items())
        if (!schema.at("properties").contains(key) && !fits(member, rule)) return false;
      return true;
    }
    if (keyword == "allOf")
      return std::all_of(rule.begin(), rule.end(), [&](const Json& part) { return fits(value, part); });
    if (keyword == "anyOf")
      return std::any_of(rule.begin(), rule.end(), [&](const Json& part) { return fits(value, part); });
    if (keyword == "if") {
      const char* const branch = fits(value, rule) ? "then" : "else";
      return !schema.contains(branch) || fits(value, schema[branch]);
    }
    if (keyword == "$ref")
      return fits(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))));
    for (const char* note : {"then", "else", "$schema", "$defs", "title", "description", "default"})
      if (keyword == note) return true;
    throw std::logic_error("unknown keyword " + keyword);
  }

  Json root_;
};

bool schema_accepts(const Validator& validator, const std::string& text) {
  return validator.fits(Json::parse(text, nullptr, true, true));
}

TEST(Schema, AgreesWithTheReader) {
  const Validator validator(Json::parse(schema_text(toy_solvers())));
  const std::string texts[] = {
      scene_text(),
      "[]",
      "{}",
      "{\"systems\": []}",
      "{\"systems\": [{\"type\": \"toy\", \"name\": \"a\"}]}",
      "{\"systems\": [{\"type\": \"toy\", \"name\": \"a\", \"model\": {}}]}",
      "{\"systems\": [{\"type\": \"toy\", \"name\": \"a\", \"model\": {\"needed\": 1}}]}",
      "{\"systems\": [{\"type\": \"tony\", \"name\": \"a\", \"model\": {\"needed\": 1}}]}",
      "{\"systems\": [{\"type\": \"toy\", \"name\": \"a b\", \"model\": {\"needed\": 1}}]}",
      "{\"systems\": [{\"type\": \"toy\", \"name\": \"\", \"model\": {\"needed\": 1}}]}",
      scene_text("\"$schema\": \"scene.schema.json\""),
      scene_text("\"gravity\": [0, 0, 0]"),
      scene_text("\"gravity\": [0, 0]"),
      scene_text("\"gravity\": [0, 0, 1e5]"),
      scene_text("\"wrold\": {}"),
      scene_text("\"world\": {\"fps\": 30}"),
      scene_text("\"world\": {\"fps\": 0}"),
      scene_text("\"duration\": \"long\""),
      scene_text("\"camera\": {\"margin\": 1}"),
      scene_text("\"camera\": {\"automatic\": true, \"margin\": 1}"),
      scene_text("\"camera\": {\"automatic\": false, \"margin\": 1}"),
      scene_text("\"camera\": {\"automatic\": false, \"eye\": [1, 1, 1]}"),
      scene_text("\"camera\": {\"eye\": [1, 1, 1]}"),
      scene_text("\"camera\": {\"automatic\": \"false\", \"eye\": [1, 1, 1]}"),
      scene_text("", "\"count\": 7.0"),
      scene_text("", "\"count\": 7.5"),
      scene_text("", "\"count\": 0"),
      scene_text("", "\"shape\": \"brick\", \"half_extents\": [1, 1, 1]"),
      scene_text("", "\"shape\": \"ball\", \"half_extents\": [1, 1, 1]"),
      scene_text("", "\"half_extents\": [1, 1, 1]"),
      scene_text("", "\"radius\": 2"),
      scene_text("", "\"shape\": \"ball\", \"radius\": 2"),
      scene_text("", "\"shape\": \"brick\", \"radius\": 2"),
      scene_text("", "\"shape\": \"cone\""),
      scene_text("", "\"label\": 3"),
      scene_text("", "\"label\": \"\""),
      scene_text("", "\"positions\": []"),
      scene_text("", "\"positions\": [[1, 2, 3], [1, 2]]"),
      scene_text("", "\"positions\": [[1, 2, 3]]"),
      scene_text("", "\"masses\": [1, 2, 3, 4]"),
      scene_text("", "\"masses\": [1, 2, 3, 4, 5]"),
      scene_text("", "\"masses\": [-1]"),
      scene_text("", "\"edges\": [[0, 1]]"),
      scene_text("", "\"edges\": [[0, 1, 2]]"),
      scene_text("", "\"edges\": [[0, -1]]"),
      scene_text("", "\"parts\": [{\"mass\": 2}, {}]"),
      scene_text("", "\"parts\": [{\"mass\": 0}]"),
      scene_text("", "\"parts\": [{\"pins\": [0, 1]}]"),
      scene_text("", "\"parts\": [{\"pins\": [0.5]}]"),
      scene_text("", "\"parts\": [{\"pin\": [0]}]"),
      scene_text("", "\"mesh\": {\"shape\": \"box\", \"half_extents\": [1, 1, 1], \"cells_x\": 2}"),
      scene_text("", "\"mesh\": {\"shape\": \"box\", \"radius\": 1}"),
      scene_text("", "\"mesh\": {\"shape\": \"icosphere\", \"radius\": 1}"),
      scene_text("", "\"mesh\": {\"shape\": \"cone\", \"radius\": 1, \"segments\": 8}"),
      scene_text("", "\"mesh\": {\"shape\": \"torus\", \"segments\": 8, \"cap_rings\": 3}"),
      scene_text("", "\"mesh\": {}"),
      scene_text("", "", "\"stiffness\": 5"),
      scene_text("", "", "\"stiffness\": -5"),
      scene_text("", "", "\"stiffness\": \"5\""),
      scene_text("", "", "\"active\": 1"),
      scene_text("", "", "\"nested\": {\"mass\": 1}"),
      scene_text("", "", "\"nested\": {\"max\": 1}"),
      scene_text("", "", "", "\"keyframes\": []"),
      scene_text("", "", "", "\"keyframes\": [{\"path\": \"stiffness\", \"times\": [0], \"values\": [1]}]"),
      scene_text("", "", "",
                 "\"keyframes\": [{\"path\": \"gravity\", \"times\": [0], \"values\": [[0, 1, 0]]}]"),
      scene_text("", "", "", "\"keyframes\": [{\"path\": \"stiffness\", \"times\": [0]}]"),
      scene_text("", "", "", "\"keyframes\": [{\"path\": \"stiffness\", \"times\": [-1], \"values\": [1]}]"),
      scene_text("", "", "", "\"keyframes\": [{\"path\": \"stiffness\", \"times\": [], \"values\": []}]"),
      scene_text("", "", "", "\"keyframes\": [{\"times\": [0], \"values\": [1]}]"),
  };
  int accepted = 0;
  for (const std::string& text : texts) {
    EXPECT_EQ(schema_accepts(validator, text), first_complaint(text).empty())
        << text << first_complaint(text);
    accepted += first_complaint(text).empty();
  }
  EXPECT_GT(accepted, 20);
}

TEST(Schema, AcceptsEverySceneOfTheHouse) {
  const Validator validator(Json::parse(schema_text()));
  for (const auto& entry : std::filesystem::directory_iterator(PLENUM_SOURCE_DIR "/scenes")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_TRUE(schema_accepts(validator, text.str())) << entry.path();
  }
}

TEST(Schema, CarriesUnitsRangesDefaultsAndExplanations) {
  const Json schema = Json::parse(schema_text(toy_solvers()));
  const Json stiffness = schema["$defs"]["toy-params"]["properties"]["stiffness"];
  EXPECT_EQ(stiffness, Json::parse(R"({"type": "number", "minimum": 0, "maximum": 1000000000,
                                       "description": "of its springs [N/m]", "default": 10})"));
  EXPECT_EQ(schema["$defs"]["toy-model"]["required"], Json::parse("[\"needed\"]"));
  EXPECT_EQ(schema["properties"]["world"]["properties"]["fps"]["default"], 60);
}

TEST(Schema, ConditionsNameChoicesThatExist) {
  // Else the field could never be given.
  const std::function<void(const std::vector<FieldDescription>&)> check = [&](const auto& fields) {
    for (const FieldDescription& field : fields) {
      for (const auto& group : field.applies)
        for (const Condition& condition : group) {
          const auto key = std::find_if(fields.begin(), fields.end(),
                                        [&](const auto& f) { return f.name == condition.key; });
          ASSERT_NE(key, fields.end()) << field.name << ": no field " << condition.key;
          const std::vector<std::string> names =
              key->kind == FieldKind::boolean ? std::vector<std::string>{"true", "false"} : key->names;
          EXPECT_NE(std::find(names.begin(), names.end(), condition.value), names.end())
              << field.name << ": " << condition.key << " is never " << condition.value;
        }
      check(field.fields);
    }
  };
  for (const SolverEntry& solver : all_solvers()) {
    const auto draft = solver.draft();
    check(describe_fields([&](Describer& d) { draft->spec(d); }));
    check(describe_fields([&](Describer& d) { draft->params(d); }));
  }
}

TEST(Tables, ShowDefaultsRangesAndConditions) {
  const std::string table = markdown_table(toy_solvers()[0]);
  EXPECT_NE(table.find("| `stiffness` | `10` | 0 to 1e9 N/m | of its springs |\n"), table.npos) << table;
  EXPECT_NE(table.find("| `radius` | `1` | 0 to 10 m | of the ball; when shape is ball |\n"), table.npos);
  EXPECT_NE(table.find("| `needed` | required | at least 1 | a value that must be given |\n"), table.npos);
  EXPECT_NE(table.find("| `parts[].mass` | `1` | 1e-6 to 1e6 kg | of a part |\n"), table.npos);
  EXPECT_NE(table.find("| `mode` | `\"ball\"` | ball, brick |  |\n"), table.npos);
}

}}  // namespace plenum
