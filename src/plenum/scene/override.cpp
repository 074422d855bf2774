#include "plenum/scene/override.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <variant>

#include "plenum/scene/description.h"
#include "plenum/scene/scene.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using Step = std::variant<std::string, std::size_t>;  ///< a key, or the index of an entry

class Override {
 public:
  Override(JsonDocument& document, const std::string& option, std::span<const SolverEntry> solvers)
      : document_(document), origin_("--set " + option), solvers_(solvers) {
    const std::size_t equals = option.find('=');
    if (equals == option.npos || equals == 0)
      fail("has no 'path=value'", {}, {}, "write for example --set world.substeps=4");
    path_ = option.substr(0, equals);
    value_ = option.substr(equals + 1);
  }

  /// Returns the whole path of what it set.
  std::string apply() {
    std::vector<Step> steps = parsed_path();
    // Parsed first, so that a broken value is complained of before the path.
    const JsonValue value = document_.add_value(value_, origin_, path_);
    if (document_.root().kind() != JsonKind::object) return {};  // the reader complains of that
    steps = resolved(steps);
    put(steps, value);
    std::string path;
    for (const Step& step : steps)
      if (const auto* key = std::get_if<std::string>(&step))
        path += (path.empty() ? "" : ".") + *key;
      else
        path += fmt::format("[{}]", std::get<std::size_t>(step));
    return path;
  }

 private:
  [[noreturn]] void fail(std::string what, std::string value = {}, std::string nearest = {},
                         std::string remedy = {}, std::string allowed = {}) const {
    if (!nearest.empty()) allowed.clear();  // the whole list only for want of a better answer
    throw Error(Problem{.file = origin_,
                        .what = std::move(what),
                        .value = std::move(value),
                        .allowed = std::move(allowed),
                        .nearest = std::move(nearest),
                        .remedy = std::move(remedy)});
  }

  std::vector<Step> parsed_path() const {
    std::vector<Step> steps;
    std::size_t at = 0;
    bool need_key = true;
    while (at < path_.size()) {
      if (path_[at] == '[') {
        std::size_t index = 0;
        const char* const begin = path_.data() + at + 1;
        const auto [end, error] = std::from_chars(begin, path_.data() + path_.size(), index);
        if (need_key || error != std::errc() || end == path_.data() + path_.size() || *end != ']')
          fail("has a malformed path", path_);
        steps.emplace_back(index);
        at = static_cast<std::size_t>(end - path_.data()) + 1;
        if (at < path_.size() && path_[at] != '.' && path_[at] != '[') fail("has a malformed path", path_);
      } else {
        if (path_[at] == '.') {
          if (need_key) fail("has a malformed path", path_);
          ++at;
        }
        const std::size_t end = std::min(path_.find_first_of(".[", at), path_.size());
        if (end == at) fail("has a malformed path", path_);
        steps.emplace_back(path_.substr(at, end - at));
        at = end;
      }
      need_key = false;
    }
    if (path_.empty() || path_.back() == '.' || steps.size() > 64) fail("has a malformed path", path_);
    return steps;
  }

  std::optional<JsonValue> find_system(const std::string& name, std::vector<std::string>& names,
                                       std::size_t& index) const {
    const auto systems = document_.root().find("systems");
    if (!systems || systems->kind() != JsonKind::array) return {};
    index = 0;
    for (auto system = systems->first(); system; system = system->next(), ++index) {
      const auto node = system->find("name");
      if (!node || node->kind() != JsonKind::string) continue;
      names.push_back(node->string());
      if (names.back() == name) return system;
    }
    return {};
  }

  /// Steps from the root: names of systems become indices, and short forms are completed.
  std::vector<Step> resolved(const std::vector<Step>& steps) const {
    const std::string& first = std::get<std::string>(steps[0]);  // a path begins with a key
    std::vector<std::string> names;
    std::size_t index = 0;
    std::size_t after = 1;  // steps used up by the system's name
    std::optional<JsonValue> system;
    if (first == "systems" && steps.size() > 1 && std::holds_alternative<std::string>(steps[1])) {
      const std::string& name = std::get<std::string>(steps[1]);
      system = find_system(name, names, index);
      after = 2;
      if (!system) fail("names no system", name, nearest_name(name, names), {}, joined(names));
    } else {
      system = find_system(first, names, index);
      if (!system) {
        check_root_key(first, names);
        return steps;
      }
    }
    if (steps.size() == after) fail("names a whole system; name a value in it", path_);
    std::vector<Step> full = {Step("systems"), Step(index)};
    if (const auto* key = std::get_if<std::string>(&steps[after]))
      if (const std::string part = part_of(*system, *key); !part.empty()) full.emplace_back(part);
    full.insert(full.end(), steps.begin() + static_cast<std::ptrdiff_t>(after), steps.end());
    return full;
  }

  /// Whether the first key is one of the scene's; those of an unknown system would be reported as unknown
  /// keys without the systems among the suggestions.
  void check_root_key(const std::string& key, std::vector<std::string> names) const {
    std::vector<std::string> keys = {"gravity", "systems", "keyframes"};
    SceneSettings settings;
    for (const FieldDescription& field : describe_fields([&](Describer& d) { settings.describe(d); }))
      keys.push_back(field.name);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
    names.insert(names.end(), keys.begin(), keys.end());
    fail("names neither a system nor a key of the scene", key, nearest_name(key, names), {}, joined(names));
  }

  /// "params" or "model" if a system's key is to be looked up there; empty if it is one of the system's own.
  std::string part_of(JsonValue system, const std::string& key) const {
    const std::vector<std::string> own = {"name", "type", "model", "params", "keyframes"};
    if (std::find(own.begin(), own.end(), key) != own.end()) return {};
    const auto type = system.find("type");
    const SolverEntry* const solver =
        type && type->kind() == JsonKind::string ? find_solver(solvers_, type->string()) : nullptr;
    if (!solver) return "params";  // the reader complains of the type
    const auto draft = solver->draft();
    std::vector<std::string> candidates = own;
    for (const FieldDescription& field : describe_fields([&](Describer& d) { draft->params(d); })) {
      if (field.name == key) return "params";
      candidates.push_back(field.name);
    }
    for (const FieldDescription& field : describe_fields([&](Describer& d) { draft->spec(d); })) {
      if (field.name == key) return "model";
      candidates.push_back(field.name);
    }
    fail(fmt::format("names no parameter of a system of type '{}'", solver->name), key,
         nearest_name(key, candidates), {}, joined(candidates));
  }

  void put(const std::vector<Step>& steps, JsonValue value) {
    JsonValue node = document_.root();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool last = i + 1 == steps.size();
      if (const auto* index = std::get_if<std::size_t>(&steps[i])) {
        if (node.kind() != JsonKind::array)
          fail("names an entry of what the file does not give as a list", path_, {}, "give the whole list");
        const auto entry = node.at(*index);
        if (!entry)
          fail("names an entry that is not there", path_, {}, {},
               node.size() == 0 ? "none" : fmt::format("0 to {}", node.size() - 1));
        if (last) return document_.replace(*entry, value);
        node = *entry;
        continue;
      }
      const std::string& key = std::get<std::string>(steps[i]);
      if (node.kind() != JsonKind::object) fail("names a key of what is no object", path_);
      if (last) return document_.put(node, key, value);
      auto child = node.find(key);
      if (!child) {
        document_.put(node, key, document_.add_object(origin_));
        child = node.find(key);
      }
      node = *child;
    }
  }

  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  JsonDocument& document_;
  std::string origin_, path_, value_;
  std::span<const SolverEntry> solvers_;
};

}  // namespace

std::string apply_override(JsonDocument& document, const std::string& option,
                           std::span<const SolverEntry> solvers) {
  return Override(document, option, solvers).apply();
}

}  // namespace plenum::inline PLENUM_ABI
