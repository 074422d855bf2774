#include "plenum/scene/scene.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <new>

#include "plenum/io/checkpoint.h"
#include "plenum/scene/description.h"
#include "plenum/scene/layout.h"
#include "plenum/scene/override.h"
#include "plenum/scene/reader.h"
#include "plenum/scene/view.h"

namespace plenum::inline PLENUM_ABI {

void SceneSettings::describe(Describer& d) {
  d("$schema", schema, {.doc = "where editors find the schema of this file"});
  d("name", name, {.doc = "for titles and lists; that of the file if not given"});
  d("description", description, {.doc = "one or two sentences"});
  d("duration", duration,
    {.unit = "s", .min = 0, .max = 86400, .doc = "simulated when nobody says otherwise"});
  d("budget_mib", budget_mib,
    {.unit = "MiB", .min = 1, .max = 1 << 24, .doc = "memory that the scene may take"});
  d("world", world, {.doc = "time steps"});
  describe_view(d, *this);
  d("debug", debug, {.doc = "what is drawn over the picture to show what solvers do"});
}

int Scene::frames() const {
  return static_cast<int>(std::lround(settings.duration * world.settings().fps));
}

SceneSettings Scene::settings_at(double time) const {
  return plenum::settings_at(settings, keyframes, time);
}

namespace {

constexpr double mib = 1048576;

/// A system between reading and building.
struct SystemRead {
  std::string name, path;
  JsonValue node;
  std::unique_ptr<SystemDraft> draft;
  std::vector<std::pair<JsonValue, Keyframes>> keyframes;
  double triangles = 0;  ///< of meshes to make, as far as they are known
};

/// Whether the path of a key is `whole` or one of something within it: wind[0] and pins.offset are of wind
/// and pins, windows is of neither.
bool is_within(std::string_view key, std::string_view whole) {
  return key.starts_with(whole) &&
         (key.size() == whole.size() || key[whole.size()] == '.' || key[whole.size()] == '[');
}

/// Bytes that budget_mib, the caller, the machine and the limits of this process allow.
double budget_bytes(int budget_mib, std::size_t memory_limit) {
  double bytes = std::min(budget_mib * mib, static_cast<double>(memory_limit));
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) bytes = std::min(bytes, static_cast<double>(pages) * static_cast<double>(page));
  return bytes;
}

/// Everything about one scene's reading.
class SceneReader {
 public:
  SceneReader(JsonDocument& document, const SceneOptions& options, std::vector<std::string> roots)
      : document_(document), options_(options) {
    context_.roots = std::move(roots);
  }

  std::vector<Problem>& problems() { return context_.problems; }

  /// The whole text into settings_ and systems_.
  void read() {
    for (const std::string& option : options_.overrides) {
      try {
        overridden_.push_back(apply_override(document_, option, options_.solvers));
      } catch (const Error& error) {
        context_.add(error.problem());
      }
    }
    const JsonValue root = document_.root();
    if (!expect_kind(root, "", JsonKind::object, context_)) return;
    // The budget counts from the first mesh on, so it is read before everything else.
    if (const auto given = root.find("budget_mib"); given && given->kind() == JsonKind::number)
      settings_.budget_mib = static_cast<int>(std::clamp(given->number(), 1.0, double(1 << 24)));
    context_.budget = MemoryBudget(budget_bytes(settings_.budget_mib, options_.memory_limit));
    ObjectReader reader(root, "", context_);
    const auto describe = [&](Describer& d) { settings_.describe(d); };
    describe(reader);
    if (const auto gravity = reader.take("gravity")) {
      Vec3 value;
      if (read_vec3(*gravity, "gravity", gravity_info, context_, value)) gravity_ = *gravity;
    }
    if (const auto systems = reader.take("systems", true)) read_systems(*systems);
    const auto describe_view = [&](Describer& d) { plenum::describe_view(d, settings_); };
    if (const auto keys = reader.take("keyframes"))
      read_keyframes(*keys, "keyframes", leaves_of_view(settings_), describe_view,
                     "is no value of camera, light or stage", "",
                     [&](JsonValue at, const std::string& own, Keyframes keyframes) {
                       keyframes_.push_back(std::move(keyframes));
                       places_of_keyframes_.emplace_back(own, at);
                     });
    reader.finish(describe);
    check_view(root);
    if (context_.problems.empty() && !check_memory(false)) return;
    make_meshes(context_);
    for (SystemRead& system : systems_) system.triangles = 0;
    if (context_.problems.empty()) check_memory(true);
  }

  /// The world of what was read; problems if it cannot be built.
  std::optional<Scene> build(const std::string& file, const std::string& name) {
    Scene scene;
    if (settings_.name.empty()) settings_.name = name;
    scene.settings = settings_;
    scene.keyframes = keyframes_;
    scene.file = file;
    scene.world = World(settings_.world);
    scene.memory = context_.budget.used();
    for (SystemRead& system : systems_) {
      try {
        scene.world.add(system.draft->build(system.name));
        system.draft.reset();
      } catch (const Error& error) {
        for (const Problem& problem : error.problems()) add_build_error(system, problem);
        continue;
      } catch (const std::bad_alloc&) {
        context_.add(problem_at(system.node, system.path, "there is not enough memory for this system"));
        continue;
      }
      for (auto& [node, keyframes] : system.keyframes) {
        try {
          scene.world.add_keyframes(system.name, std::move(keyframes));
        } catch (const Error& error) {
          Problem problem = error.problem();
          const Problem place = node.problem();
          problem.file = place.file;
          problem.line = place.line;
          context_.add(std::move(problem));
        }
      }
    }
    if (context_.problems.empty())
      for (auto& [system, problem] : scene.world.connect()) add_build_error(systems_[system], problem);
    if (!context_.problems.empty()) return {};
    scene.world.set_identity(identity());
    return scene;
  }

 private:
  /// Views that no picture can be taken with: as the file gives them, and at every keyframe.
  void check_view(JsonValue root) {
    const auto moved = [&](std::string_view key) {
      return std::any_of(keyframes_.begin(), keyframes_.end(),
                         [&](const Keyframes& k) { return k.path == key; });
    };
    for (const ViewFault& fault : faults_of_view(settings_)) {
      if (std::any_of(fault.keys.begin(), fault.keys.end(), moved)) continue;  // never seen
      std::optional<JsonValue> node = root;
      std::string path;
      for (const std::string_view key : fault.keys) {
        const std::size_t dot = key.find('.');
        const auto parent = root.find(key.substr(0, dot));
        const auto given = parent ? parent->find(key.substr(dot + 1)) : std::nullopt;
        if (!given) continue;
        node = given;
        path = key;
      }
      context_.add(problem_at(*node, path.empty() ? std::string(fault.keys.front()) : path, fault.what));
    }
    for (std::size_t k = 0; k < keyframes_.size(); ++k) {
      const std::string& path = keyframes_[k].path;
      const std::vector<double>& times = keyframes_[k].times;
      if (path != "light.direction" && !path.starts_with("camera.")) continue;
      const auto& [own, node] = places_of_keyframes_[k];
      const std::optional<JsonValue> values = node.find("values");
      auto value = values ? values->first() : std::nullopt;
      for (std::size_t i = 0; value && i < times.size() && !context_.full(); ++i, value = value->next())
        for (const ViewFault& fault : faults_of_view(settings_at(settings_, keyframes_, times[i])))
          if (std::find(fault.keys.begin(), fault.keys.end(), path) != fault.keys.end())
            context_.add(problem_at(*value, fmt::format("{}.values[{}]", own, i), fault.what));
    }
  }

  bool expect_list(JsonValue value, const std::string& path, std::size_t most) {
    if (!expect_kind(value, path, JsonKind::array, context_)) return false;
    if (value.size() <= most) return true;
    Problem problem = problem_at(value, path, "has too many entries");
    problem.allowed = fmt::format("at most {}", most);
    context_.add(std::move(problem));
    return false;
  }

  void read_systems(JsonValue list) {
    if (!expect_list(list, "systems", max_systems)) return;
    if (list.size() == 0) return context_.add(problem_at(list, "systems", "must hold at least one system"));
    std::size_t i = 0;
    for (auto node = list.first(); node && !context_.full(); node = node->next(), ++i)
      read_system(*node, fmt::format("systems[{}]", i));
  }

  void read_system(JsonValue node, const std::string& path) {
    if (!expect_kind(node, path, JsonKind::object, context_)) return;
    ObjectReader reader(node, path, context_);
    std::string name;
    const auto describe = [&](Describer& d) { describe_system(d, name); };
    describe(reader);
    if (!name.empty()) check_name(node, path, name);
    const auto type = reader.take("type", true);
    const auto model = reader.take("model"), params = reader.take("params"), keys = reader.take("keyframes");
    reader.finish(describe);
    const SolverEntry* const solver = type ? solver_of(*type, path + ".type") : nullptr;
    if (!solver) return;
    SystemRead system{name, path, node, solver->draft(), {}};
    const std::size_t first_mesh = context_.meshes_to_make.size();
    SystemDraft& draft = *system.draft;
    if (model)
      read_object(*model, path + ".model", context_, [&](Describer& d) { draft.spec(d); });
    else
      read_missing(node, path + ".model", [&](Describer& d) { draft.spec(d); });
    if (params)
      read_object(*params, path + ".params", context_, [&](Describer& d) { draft.params(d); });
    else
      read_missing(node, path + ".params", [&](Describer& d) { draft.params(d); });
    const auto describe_params = [&](Describer& d) { draft.params(d); };
    const std::vector<Leaf> leaves = leaves_of(describe_params);
    if (gravity_ && !(params && params->find("gravity")))
      for (const Leaf& leaf : leaves)
        if (leaf.path == "gravity" && leaf.kind == Leaf::Kind::vec3)
          read_vec3(*gravity_, "gravity", leaf.info, context_, *static_cast<Vec3*>(leaf.value));
    if (keys)
      read_keyframes(*keys, path + ".keyframes", leaves, describe_params, "is no parameter of this system",
                     path + ".params.", [&](JsonValue at, const std::string&, Keyframes keyframes) {
                       system.keyframes.emplace_back(at, std::move(keyframes));
                     });
    for (std::size_t m = first_mesh; m < context_.meshes_to_make.size(); ++m)
      system.triangles += context_.meshes_to_make[m].source.triangles();
    systems_.push_back(std::move(system));
  }

  /// Complains of required values in an object that is not there at all.
  void read_missing(JsonValue parent, const std::string& path, FunctionRef<void(Describer&)> describe) {
    for (const FieldDescription& field : describe_fields(describe)) {
      if (!field.info.required || !field.applies.empty()) continue;
      Problem problem = problem_at(parent, path + "." + field.name, "is missing");
      if (*field.info.doc != 0) problem.what += fmt::format(" ({})", field.info.doc);
      problem.value.clear();
      problem.allowed = range_text(field.info);
      context_.add(std::move(problem));
    }
  }

  void check_name(JsonValue system, const std::string& path, const std::string& name) {
    const JsonValue node = system.find("name").value_or(system);
    const bool plain = name.size() <= 60 && std::all_of(name.begin(), name.end(), [](char c) {
                         return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
                       });
    if (!plain) {
      Problem problem = problem_at(node, path + ".name", "is not a name for a system");
      problem.allowed = "at most 60 letters, digits, '_' and '-'";
      context_.add(std::move(problem));
    }
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
      context_.add(problem_at(node, path + ".name", "is the name of two systems"));
    names_.push_back(name);
  }

  const SolverEntry* solver_of(JsonValue type, const std::string& path) {
    if (!expect_kind(type, path, JsonKind::string, context_)) return nullptr;
    const std::string name = type.string();
    if (const SolverEntry* solver = find_solver(options_.solvers, name)) return solver;
    std::vector<std::string> names;
    Problem problem = problem_at(type, path, "is no solver");
    for (const SolverEntry& solver : options_.solvers) {
      names.emplace_back(solver.name);
      problem.allowed += (problem.allowed.empty() ? "" : ", ") + names.back();
    }
    problem.nearest = nearest_name(name, names);
    context_.add(std::move(problem));
    return nullptr;
  }

  /// Why what `describe` names has no value at `path` that keyframes could move. `prefix` leads in the file
  /// to the paths of leaves.
  Problem no_leaf(JsonValue node, const std::string& own, const std::string& path,
                  const std::vector<Leaf>& leaves, FunctionRef<void(Describer&)> describe,
                  const char* unknown, const std::string& prefix) {
    Problem problem = problem_at(node, own + ".path", unknown);
    const std::string parent = path.substr(0, path.rfind('.') + 1);
    const std::vector<FieldDescription> fields = describe_fields(describe);
    const std::optional<FieldDescription> field = find_field(fields, path);
    if (path == "camera.automatic") {
      problem.what = "decides which values a camera has, and cannot be moved by keyframes";
      problem.remedy = "set it once, and move camera.azimuth and the like, or camera.eye and the like";
    } else if (const auto missing = field ? missing_entry(fields, leaves, path) : std::nullopt) {
      problem.what = "names an entry that is not there";
      problem.allowed = missing->size == 0 ? "none, it is empty" : fmt::format("0 to {}", missing->size - 1);
      if (missing->size > 0 && missing->nearest != path) problem.nearest = missing->nearest;
      if (missing->index < missing->max_count)
        problem.remedy = fmt::format("give {}{} {} {}", prefix, missing->list, missing->index + 1,
                                     missing->index == 0 ? "entry" : "entries");
    } else if (field && !field->applies.empty() &&
               std::any_of(leaves.begin(), leaves.end(),
                           [&](const Leaf& l) { return l.path.starts_with(parent); })) {
      const Condition& condition = field->applies.front().back();
      problem.what = "applies only " + condition_text(*field);
      problem.remedy = fmt::format("set {}{} to {}", parent, condition.key, condition.value);
    } else {
      problem.nearest = nearest_name(path, paths_of(fields, leaves));
    }
    return problem;
  }

  /// Keyframes of `leaves`, the numbers of what `describe` names, whose paths in the file begin with
  /// `prefix`; add(node, its path, keyframes) takes them.
  template <class Add>
  void read_keyframes(JsonValue list, const std::string& path, const std::vector<Leaf>& leaves,
                      FunctionRef<void(Describer&)> describe_leaves, const char* unknown,
                      const std::string& prefix, Add&& add) {
    if (!expect_list(list, path, max_keyframes)) return;
    std::vector<std::string> used;
    std::size_t i = 0;
    for (auto node = list.first(); node && !context_.full(); node = node->next(), ++i) {
      const std::string own = fmt::format("{}[{}]", path, i);
      if (!expect_kind(*node, own, JsonKind::object, context_)) continue;
      const std::size_t problems = context_.problems.size();
      Keyframes keyframes;
      ObjectReader reader(*node, own, context_);
      const auto describe = [&](Describer& d) { describe_keyframes(d, keyframes); };
      describe(reader);
      const auto times = reader.take("times", true), values = reader.take("values", true);
      reader.finish(describe);
      if (keyframes.path.rfind("params.", 0) == 0) keyframes.path.erase(0, 7);
      if (context_.problems.size() != problems) continue;
      const JsonValue path_node = node->find("path").value_or(*node);
      const auto leaf =
          std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& l) { return l.path == keyframes.path; });
      if (leaf == leaves.end()) {
        context_.add(no_leaf(path_node, own, keyframes.path, leaves, describe_leaves, unknown, prefix));
        continue;
      }
      if (std::find(used.begin(), used.end(), keyframes.path) != used.end()) {
        context_.add(problem_at(path_node, own + ".path", "has keyframes twice"));
        continue;
      }
      used.push_back(keyframes.path);
      if (leaf->is_discrete()) keyframes.interpolation = Keyframes::Interpolation::step;
      read_times(*times, own + ".times", keyframes);
      read_values(*values, own + ".values", (times->kind() == JsonKind::array ? *times : *values).size(),
                  *leaf, keyframes);
      const std::string whole = prefix + keyframes.path;
      const bool is_overridden =
          std::any_of(overridden_.begin(), overridden_.end(),
                      [&](const std::string& o) { return is_within(o, whole) || is_within(whole, o); });
      if (context_.problems.size() == problems && !is_overridden) add(*node, own, std::move(keyframes));
    }
  }

  void read_times(JsonValue list, const std::string& path, Keyframes& keyframes) {
    if (!expect_list(list, path, max_keyframes)) return;
    if (list.size() == 0) return context_.add(problem_at(list, path, "must hold at least one time"));
    for (auto node = list.first(); node && !context_.full(); node = node->next()) {
      const std::string own = fmt::format("{}[{}]", path, keyframes.times.size());
      double time = 0;
      if (!read_number(*node, own, keyframe_time_info, context_, time)) return;
      if (!keyframes.times.empty() && !(time > keyframes.times.back())) {
        Problem problem = problem_at(*node, own, "does not come after the time before it");
        problem.allowed = "more than " + number_text(keyframes.times.back()) + " s";
        return context_.add(std::move(problem));
      }
      keyframes.times.push_back(time);
    }
  }

  void read_values(JsonValue list, const std::string& path, std::size_t expected, const Leaf& leaf,
                   Keyframes& keyframes) {
    if (!expect_list(list, path, max_keyframes)) return;
    std::size_t k = 0;
    for (auto node = list.first(); node && !context_.full(); node = node->next(), ++k) {
      const std::string own = fmt::format("{}[{}]", path, k);
      switch (leaf.kind) {
        case Leaf::Kind::boolean: {
          bool value = false;
          if (!read_boolean(*node, own, context_, value)) return;
          keyframes.values.push_back(value ? 1 : 0);
          break;
        }
        case Leaf::Kind::integer:
        case Leaf::Kind::small_integer: {
          std::int64_t value = 0;
          if (!read_whole(*node, own, leaf.info, context_, value)) return;
          keyframes.values.push_back(static_cast<double>(value));
          break;
        }
        case Leaf::Kind::choice: {
          int value = 0;
          if (!read_choice(*node, own, leaf.names, context_, value)) return;
          keyframes.values.push_back(value);
          break;
        }
        case Leaf::Kind::real: {
          Real value = 0;
          if (!read_real(*node, own, leaf.info, context_, value)) return;
          keyframes.values.push_back(node->number());
          break;
        }
        case Leaf::Kind::vec3: {
          Vec3 value = Vec3::Zero();
          if (!read_vec3(*node, own, leaf.info, context_, value)) return;
          for (int c = 0; c < 3; ++c) keyframes.values.push_back(static_cast<double>(value[c]));
          break;
        }
      }
    }
    if (k != expected) {
      Problem problem = problem_at(list, path, "must hold one value for each time");
      problem.allowed = fmt::format("{} values", expected);
      context_.add(std::move(problem));
    }
  }

  /// Whether the systems fit into the budget, which is then taken if so asked for. Before meshes are made the
  /// least that is known of them counts.
  bool check_memory(bool take) {
    double most = -1, sum = 0;
    const SystemRead* largest = nullptr;
    for (const SystemRead& system : systems_) {
      const double bytes = static_cast<double>(system.draft->memory()) +
                           system.triangles * static_cast<double>(system.draft->memory_per_triangle());
      sum += bytes;
      if (bytes > most) most = bytes, largest = &system;
    }
    if (!largest || (take ? context_.budget.take(sum) : context_.budget.fits(sum))) return true;
    Problem problem =
        problem_at(largest->node, largest->path,
                   fmt::format("the scene needs {:.0f} MiB of memory, {:.0f} of them for '{}'",
                               (context_.budget.used() + sum) / mib, most / mib, largest->name));
    problem.value.clear();
    problem.allowed = fmt::format("{:.0f} MiB", context_.budget.limit() / mib);
    problem.remedy = context_.budget.limit() < settings_.budget_mib * mib
                         ? "make that system smaller; there is no more to be had here"
                         : "make that system smaller or raise budget_mib";
    context_.add(std::move(problem));
    return false;
  }

  /// An error of build(), at the deepest value of the file that its key names.
  void add_build_error(const SystemRead& system, Problem problem) {
    JsonValue node = system.node;
    const bool of_params = problem.key.starts_with("params.");
    if (const auto model = node.find("model"); model && !of_params) node = *model;
    std::string_view rest = problem.key;
    while (!rest.empty()) {
      std::optional<JsonValue> child;
      if (rest[0] == '[') {
        std::size_t index = 0, i = 1;
        for (; i < rest.size() && rest[i] >= '0' && rest[i] <= '9' && index < (1u << 30); ++i)
          index = 10 * index + static_cast<std::size_t>(rest[i] - '0');
        if (node.kind() == JsonKind::array) child = node.at(index);
        rest.remove_prefix(std::min(i + 1, rest.size()));
      } else {
        const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
        child = node.find(rest.substr(0, end));
        rest.remove_prefix(end);
      }
      if (!rest.empty() && rest[0] == '.') rest.remove_prefix(1);
      if (!child) break;
      node = *child;
    }
    const Problem place = node.problem();
    problem.key = system.path + (of_params ? "" : ".model") + (problem.key.empty() ? "" : "." + problem.key);
    problem.file = place.file;
    problem.line = place.line;
    context_.add(std::move(problem));
  }

  /// A digest of what decides which arrays the systems have and what they mean: names, types and models, and
  /// their meshes. Parameters and the like may change between a checkpoint and its resumption.
  std::string identity() {
    std::string text;
    for (const SystemRead& system : systems_)
      for (const char* key : {"name", "type", "model"}) {
        text += key;
        if (const auto node = system.node.find(key)) append_canonical(*node, text);
        text += '\n';
      }
    text += context_.meshes.digest().hex();
    Hasher hasher;
    hasher.add(text.data(), text.size());
    return hasher.digest().hex();
  }

  JsonDocument& document_;
  const SceneOptions& options_;
  ReadContext context_;
  SceneSettings settings_;
  std::optional<JsonValue> gravity_;  ///< of the whole scene
  std::vector<std::string> names_;
  std::vector<Keyframes> keyframes_;  // of camera, light and stage
  std::vector<std::pair<std::string, JsonValue>> places_of_keyframes_;
  std::vector<SystemRead> systems_;
  std::vector<std::string> overridden_;  ///< whole paths of what --set gave
};

/// Options first, then the lines of the file.
void sort_problems(std::vector<Problem>& problems) {
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
}

struct Loaded {
  std::optional<Scene> scene;
  std::vector<Problem> problems;
};

Loaded load(std::string text, const std::string& file, const std::string& name,
            std::vector<std::string> roots, const SceneOptions& options) {
  Loaded loaded;
  try {
    JsonDocument document(std::move(text), name);
    SceneReader reader(document, options, std::move(roots));
    reader.read();
    if (reader.problems().empty() && options.before_build) options.before_build();
    if (reader.problems().empty())
      loaded.scene = reader.build(file, std::filesystem::path(name).stem().string());
    loaded.problems = std::move(reader.problems());
  } catch (const Error& error) {
    loaded.problems.push_back(error.problem());
  } catch (const std::bad_alloc&) {
    loaded.problems.push_back({.file = name, .what = "there is not enough memory to read this scene"});
  }
  sort_problems(loaded.problems);
  return loaded;
}

Loaded load_file(const std::string& file, const SceneOptions& options) {
  std::string text;
  try {
    const std::vector<std::byte> bytes = read_regular_file(file, JsonLimits{}.max_bytes);
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } catch (const Error& error) {
    return {{}, {error.problem()}};
  }
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::vector<std::string> roots = {folder.empty() ? "." : folder.string()};
  roots.insert(roots.end(), options.roots.begin(), options.roots.end());
  return load(std::move(text), file, file, std::move(roots), options);
}

Scene scene_or_throw(Loaded loaded) {
  if (!loaded.scene) throw Error(loaded.problems.front());
  return std::move(*loaded.scene);
}

}  // namespace

Scene load_scene(const std::string& file, const SceneOptions& options) {
  return scene_or_throw(load_file(file, options));
}
Scene load_scene_text(std::string text, const std::string& name, const SceneOptions& options) {
  return scene_or_throw(load(std::move(text), {}, name, options.roots, options));
}
std::vector<Problem> check_scene(const std::string& file, const SceneOptions& options,
                                 std::optional<Scene>* built) {
  Loaded loaded = load_file(file, options);
  if (built) *built = std::move(loaded.scene);
  return std::move(loaded.problems);
}
std::vector<Problem> check_scene_text(std::string text, const std::string& name,
                                      const SceneOptions& options) {
  return load(std::move(text), {}, name, options.roots, options).problems;
}

}  // namespace plenum::inline PLENUM_ABI
