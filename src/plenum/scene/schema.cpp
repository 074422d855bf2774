#include "plenum/scene/schema.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "plenum/scene/description.h"
#include "plenum/scene/layout.h"
#include "plenum/scene/mesh_source.h"
#include "plenum/scene/reader.h"
#include "plenum/scene/scene.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<FieldDescription>;

/// Whole numbers without a fraction, so that they read as people write them.
Json number_json(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return static_cast<std::int64_t>(number);
  return number;
}

Json ranged(const char* type, const Info& info) {
  Json json = {{"type", type}};
  if (std::isfinite(info.min)) json["minimum"] = number_json(info.min);
  if (std::isfinite(info.max)) json["maximum"] = number_json(info.max);
  return json;
}

Json list_of(Json items, std::size_t min, std::size_t max) {
  Json json = {{"type", "array"}, {"items", std::move(items)}};
  if (min > 0) json["minItems"] = min;
  json["maxItems"] = max;
  return json;
}

Json index_json(const Info& info) {
  return ranged("integer", index_info(info));
}

Json object_json(const Fields& fields);

Json value_json(const FieldDescription& field) {
  const Info& info = field.info;
  switch (field.kind) {
    case FieldKind::boolean:
      return {{"type", "boolean"}};
    case FieldKind::integer:
      return ranged("integer", info);
    case FieldKind::real:
      return ranged("number", info);
    case FieldKind::vec3:
      return list_of(ranged("number", info), 3, 3);
    case FieldKind::choice:
      return {{"type", "string"}, {"enum", field.names}};
    case FieldKind::text: {
      Json json = {{"type", "string"}, {"maxLength", max_text_bytes}};
      if (info.required) json["minLength"] = 1;
      return json;
    }
    case FieldKind::reals:
      return list_of(ranged("number", info), 0, info.max_count);
    case FieldKind::vec3s:
      return list_of(list_of(ranged("number", info), 3, 3), 0, info.max_count);
    case FieldKind::indices:
      return list_of(index_json(info), 0, info.max_count);
    case FieldKind::index_pairs:
      return list_of(list_of(index_json(info), 2, 2), 0, info.max_count);
    case FieldKind::mesh:
      return {{"$ref", "#/$defs/mesh"}};
    case FieldKind::object:
      return object_json(field.fields);
    case FieldKind::list:
      return list_of(object_json(field.fields), 0, info.max_count);
  }
  return {};
}

std::string explanation(const FieldDescription& field) {
  std::string text = field.info.doc;
  if (*field.info.unit != 0) text += fmt::format("{}[{}]", text.empty() ? "" : " ", field.info.unit);
  return text;
}

Json field_json(const FieldDescription& field) {
  Json json = value_json(field);
  if (const std::string text = explanation(field); !text.empty()) json["description"] = text;
  if (!field.default_json.empty() && !field.info.required) json["default"] = Json::parse(field.default_json);
  return json;
}

/// Holds when one of the groups of conditions holds. A key that is absent has its default.
Json condition_json(const std::vector<std::vector<Condition>>& applies, const Fields& fields) {
  Json any = Json::array();
  for (const auto& group : applies) {
    Json properties = Json::object(), required = Json::array();
    for (const Condition& condition : group) {
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == condition.key; });
      const bool boolean = field != fields.end() && field->kind == FieldKind::boolean;
      const std::string value = boolean ? condition.value : json_text(condition.value);
      properties[condition.key] = {{"const", Json::parse(value)}};
      if (field == fields.end() || field->default_json != value) required.push_back(condition.key);
    }
    Json one = {{"properties", std::move(properties)}};
    if (!required.empty()) one["required"] = std::move(required);
    any.push_back(std::move(one));
  }
  return any.size() == 1 ? any[0] : Json{{"anyOf", std::move(any)}};
}

/// One field, or one of several of the same name that apply under different conditions.
Json property_json(const std::vector<const FieldDescription*>& variants) {
  Json first = field_json(*variants[0]);
  if (variants.size() == 1) return first;
  const auto same_value = [&](const FieldDescription* v) {
    return value_json(*v) == value_json(*variants[0]);
  };
  std::string texts;
  Json any = Json::array();
  for (const FieldDescription* variant : variants) {
    if (const std::string text = explanation(*variant); !text.empty())
      texts += fmt::format("{}{} {}", texts.empty() ? "" : "; ", text, condition_text(*variant));
    any.push_back(field_json(*variant));
  }
  if (!std::all_of(variants.begin(), variants.end(), same_value)) return {{"anyOf", std::move(any)}};
  if (!texts.empty()) first["description"] = texts;
  return first;
}

Json object_json(const Fields& fields) {
  Json properties = Json::object(), required = Json::array(), conditions = Json::array();
  struct Named {
    std::string name;
    std::vector<const FieldDescription*> variants;
    std::vector<std::vector<Condition>> applies;  // of all variants
    bool done = false;
  };
  std::vector<Named> names;
  for (const FieldDescription& field : fields) {
    auto named =
        std::find_if(names.begin(), names.end(), [&](const Named& n) { return n.name == field.name; });
    if (named == names.end()) named = names.insert(names.end(), {field.name, {}, {}});
    named->variants.push_back(&field);
    named->applies.insert(named->applies.end(), field.applies.begin(), field.applies.end());
  }
  for (Named& named : names) {
    properties[named.name] = property_json(named.variants);
    if (named.applies.empty()) {
      if (named.variants[0]->info.required) required.push_back(named.name);
      continue;
    }
    if (named.done) continue;  // the first of a group speaks for all of it
    Json forbidden = Json::object(), demanded = Json::array();
    for (Named& other : names) {
      if (other.applies != named.applies) continue;
      other.done = true;
      forbidden[other.name] = false;
      if (other.variants[0]->info.required) demanded.push_back(other.name);
    }
    Json condition = {{"if", condition_json(named.applies, fields)}};
    if (!demanded.empty()) condition["then"] = {{"required", std::move(demanded)}};
    condition["else"] = {{"properties", std::move(forbidden)}};
    conditions.push_back(std::move(condition));
  }
  Json json = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) json["required"] = std::move(required);
  if (!conditions.empty()) json["allOf"] = std::move(conditions);
  return json;
}

Json keyframes_json() {
  Keyframes keyframes;
  Json json = object_json(describe_fields([&](Describer& d) { describe_keyframes(d, keyframes); }));
  json["properties"]["times"] = list_of(ranged("number", keyframe_time_info), 1, max_keyframes);
  json["properties"]["times"]["description"] = "[s], rising";
  const Json vector = list_of({{"type", "number"}}, 3, 3);
  json["properties"]["values"] =
      list_of({{"anyOf", {{{"type", {"number", "boolean", "string"}}}, vector}}}, 1, max_keyframes);
  json["properties"]["values"]["description"] = "one of the parameter's kind for each time";
  json["required"].push_back("times");
  json["required"].push_back("values");
  return json;
}

Json system_json(std::span<const SolverEntry> solvers, Json& definitions) {
  std::string name;
  Json json = object_json(describe_fields([&](Describer& d) { describe_system(d, name); }));
  json["properties"]["name"]["pattern"] = "^[A-Za-z0-9_-]+$";
  json["properties"]["name"]["maxLength"] = 60;
  Json types = Json::array(), alternatives = Json::array();
  for (const SolverEntry& solver : solvers) {
    types.push_back(solver.name);
    const auto draft = solver.draft();
    const std::string model = fmt::format("{}-model", solver.name),
                      params = fmt::format("{}-params", solver.name);
    definitions[model] = object_json(describe_fields([&](Describer& d) { draft->spec(d); }));
    definitions[params] = object_json(describe_fields([&](Describer& d) { draft->params(d); }));
    Json then = {{"description", solver.doc},
                 {"properties",
                  {{"model", {{"$ref", "#/$defs/" + model}}}, {"params", {{"$ref", "#/$defs/" + params}}}}}};
    Json required = Json::array();
    if (definitions[model].contains("required")) required.push_back("model");
    if (definitions[params].contains("required")) required.push_back("params");
    if (!required.empty()) then["required"] = std::move(required);
    alternatives.push_back(
        {{"if", {{"properties", {{"type", {{"const", solver.name}}}}}}}, {"then", std::move(then)}});
  }
  json["properties"]["type"] = {
      {"type", "string"}, {"enum", std::move(types)}, {"description", "the solver"}};
  json["properties"]["model"] = {{"type", "object"}, {"description", "what the system is made of"}};
  json["properties"]["params"] = {{"type", "object"}, {"description", "what may change while it moves"}};
  json["properties"]["keyframes"] = list_of({{"$ref", "#/$defs/keyframes"}}, 0, max_keyframes);
  json["properties"]["keyframes"]["description"] = "parameters that move";
  json["required"].push_back("type");
  json["allOf"] = std::move(alternatives);
  return json;
}

/// Text of a table's cell.
std::string cell(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != text.npos; i += 2) text.insert(i, 1, '\\');
  return text;
}

const char* kind_text(FieldKind kind) {
  switch (kind) {
    case FieldKind::boolean:
      return "true or false";
    case FieldKind::integer:
      return "whole";
    case FieldKind::vec3:
      return "[x, y, z]";
    case FieldKind::text:
      return "text";
    case FieldKind::reals:
      return "list of numbers";
    case FieldKind::vec3s:
      return "list of [x, y, z]";
    case FieldKind::indices:
      return "list of indices";
    case FieldKind::index_pairs:
      return "list of [i, j]";
    case FieldKind::mesh:
      return "mesh";
    case FieldKind::object:
      return "object";
    case FieldKind::list:
      return "list of objects";
    default:
      return "";
  }
}

void append_rows(const Fields& fields, const std::string& prefix, std::string& out) {
  for (const FieldDescription& field : fields) {
    std::string range;
    for (const std::string& name : field.names) range += (range.empty() ? "" : ", ") + name;
    for (const std::string& part : {range_text(field.info), std::string(kind_text(field.kind))}) {
      if (part.empty()) continue;
      if (!range.empty()) range += "; ";
      range += part;
    }
    if (range_text(field.info).empty() && *field.info.unit != 0)
      range += fmt::format("{}{}", range.empty() ? "" : "; ", field.info.unit);
    std::string doc = field.info.doc;
    if (const std::string condition = condition_text(field); !condition.empty())
      doc += (doc.empty() ? "" : "; ") + condition;
    const std::string value = field.info.required          ? "required"
                              : field.default_json.empty() ? ""
                                                           : "`" + field.default_json + "`";
    out +=
        fmt::format("| `{}{}` | {} | {} | {} |\n", prefix, field.name, cell(value), cell(range), cell(doc));
    const bool list = field.kind == FieldKind::list;
    append_rows(field.fields, fmt::format("{}{}{}.", prefix, field.name, list ? "[]" : ""), out);
  }
}

}  // namespace

std::string schema_text(std::span<const SolverEntry> solvers) {
  Json definitions;
  MeshSource mesh;
  definitions["mesh"] = object_json(describe_fields([&](Describer& d) { mesh.describe(d); }));
  definitions["keyframes"] = keyframes_json();
  Json system = system_json(solvers, definitions);
  SceneSettings settings;
  Json scene = object_json(describe_fields([&](Describer& d) { settings.describe(d); }));
  scene["properties"]["gravity"] = list_of(ranged("number", gravity_info), 3, 3);
  scene["properties"]["gravity"]["description"] = fmt::format("{} [{}]", gravity_info.doc, gravity_info.unit);
  scene["properties"]["systems"] = list_of(std::move(system), 1, max_systems);
  scene["properties"]["systems"]["description"] = "what moves, in the order of their steps";
  scene["properties"]["keyframes"] = list_of({{"$ref", "#/$defs/keyframes"}}, 0, max_keyframes);
  scene["properties"]["keyframes"]["description"] = "values of camera, light and stage that move";
  scene["required"].push_back("systems");
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Plenum scene"}};
  json.update(scene);
  json["$defs"] = std::move(definitions);
  return json.dump(2) + "\n";
}

std::string markdown_table(FunctionRef<void(Describer&)> describe) {
  std::string out = "| key | default | allowed | meaning |\n|---|---|---|---|\n";
  append_rows(describe_fields(describe), "", out);
  return out;
}

std::string markdown_table(const SolverEntry& solver) {
  const auto draft = solver.draft();
  return fmt::format("`{}`: {}.\n\n`model`:\n\n{}\n`params`:\n\n{}", solver.name, solver.doc,
                     markdown_table([&](Describer& d) { draft->spec(d); }),
                     markdown_table([&](Describer& d) { draft->params(d); }));
}

}  // namespace plenum::inline PLENUM_ABI
