#include "plenum/scene/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>

#include "plenum/geometry/mesh.h"
#include "plenum/scene/description.h"
#include "plenum/scene/paths.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Complains of a mesh at the key that names its file, if there is one; of what is wrong inside of a file by
/// that file's line.
void complain_of_mesh(JsonValue mesh, const std::string& path, const Error& error, ReadContext& context) {
  const std::optional<JsonValue> named = mesh.find("file");
  Problem problem = error.problem();
  if (!problem.file.empty()) {
    problem = {};
    problem.what = fmt::format("is not a mesh that can be read: {}", error.what());
  }
  const Problem place = named.value_or(mesh).problem();
  problem.file = place.file;
  problem.line = place.line;
  problem.key = named ? path + ".file" : path;
  context.add(std::move(problem));
}
void complain_of_mesh(JsonValue mesh, const std::string& path, const std::error_code& code,
                      ReadContext& context) {
  context.add(problem_at(mesh, path, fmt::format("cannot be read ({})", code.message())));
}

std::string element_path(const std::string& list, std::size_t element) {
  return fmt::format("{}[{}]", list, element);
}

void complain_of_range(JsonValue value, const std::string& path, const Info& info, ReadContext& context) {
  Problem problem = problem_at(value, path, "is out of range");
  problem.allowed = range_text(info);
  context.add(std::move(problem));
}

/// Elements of a list, each read by `read(element, path, out)`.
template <class T, class F>
void read_list(JsonValue value, const std::string& path, const Info& info, ReadContext& context,
               std::vector<T>& out, F&& read) {
  if (!expect_kind(value, path, JsonKind::array, context)) return;
  if (value.size() > info.max_count) {
    Problem problem = problem_at(value, path, "has too many entries");
    problem.allowed = fmt::format("at most {}", info.max_count);
    return context.add(std::move(problem));
  }
  std::vector<T> values;
  values.reserve(value.size());
  for (auto element = value.first(); element && !context.full(); element = element->next()) {
    T item{};
    read(*element, element_path(path, values.size()), item);
    values.push_back(item);
  }
  out = std::move(values);
}

/// N entries of a list of fixed length.
template <class F>
bool read_tuple(JsonValue value, const std::string& path, std::size_t length, const char* entries,
                ReadContext& context, F&& read) {
  if (value.kind() != JsonKind::array || value.size() != length) {
    context.add(problem_at(value, path, fmt::format("must be a list of {} {}", length, entries)));
    return false;
  }
  bool good = true;
  std::size_t i = 0;
  for (auto element = value.first(); element; element = element->next(), ++i)
    good &= read(*element, element_path(path, i), i);
  return good;
}

bool read_index(JsonValue value, const std::string& path, const Info& info, ReadContext& context,
                Index& out) {
  std::int64_t wide = 0;
  if (!read_whole(value, path, index_info(info), context, wide)) return false;
  out = static_cast<Index>(wide);
  return true;
}

/// How to give an object the first thing that it chooses; empty if there is none.
std::string choice_in_object(FunctionRef<void(Describer&)> describe, const std::string& word) {
  for (const FieldDescription& field : describe_fields(describe)) {
    if (field.kind != FieldKind::choice) continue;
    if (std::find(field.names.begin(), field.names.end(), word) != field.names.end())
      return fmt::format("write {{\"{}\": \"{}\"}}", field.name, word);
    std::string names;
    for (const std::string& name : field.names) names += (names.empty() ? "" : ", ") + name;
    return fmt::format("write {{\"{}\": ...}} with one of {}", field.name, names);
  }
  return {};
}

}  // namespace

Info index_info(const Info& info) {
  Info narrow = info;
  narrow.min = std::max(info.min, 0.0);
  narrow.max = std::min(info.max, double(std::numeric_limits<Index>::max()));
  return narrow;
}

Problem problem_at(JsonValue value, std::string key, std::string what) {
  Problem problem = value.problem();
  problem.key = std::move(key);
  problem.what = std::move(what);
  problem.value = value.written();
  return problem;
}

bool expect_kind(JsonValue value, const std::string& path, JsonKind kind, ReadContext& context,
                 std::string allowed) {
  if (value.kind() == kind) return true;
  const bool beyond = kind == JsonKind::number && value.kind() == JsonKind::beyond;
  Problem problem = problem_at(
      value, path,
      beyond ? "must be a finite number that a double can hold" : fmt::format("must be {}", text_of(kind)));
  problem.allowed = std::move(allowed);
  context.add(std::move(problem));
  return false;
}

bool read_number(JsonValue value, const std::string& path, const Info& info, ReadContext& context,
                 double& out) {
  if (!expect_kind(value, path, JsonKind::number, context, range_text(info))) return false;
  const double number = value.number();
  if (number < info.min || number > info.max) {
    complain_of_range(value, path, info, context);
    return false;
  }
  out = number;
  return true;
}

bool read_real(JsonValue value, const std::string& path, const Info& info, ReadContext& context, Real& out) {
  double number = 0;
  if (!read_number(value, path, info, context, number)) return false;
  // Compared as doubles, so that a number just beyond the largest Real is not rounded into range first.
  constexpr auto largest = static_cast<double>(std::numeric_limits<Real>::max());
  const Real rounded = std::abs(number) <= largest ? static_cast<Real>(number) : Real(0);
  if (std::abs(number) > largest || (rounded == 0 && number != 0)) {
    Problem problem = problem_at(value, path, "is beyond what a number of this build can hold");
    problem.allowed = fmt::format("0, or sizes from {} to {}",
                                  number_text(static_cast<double>(std::numeric_limits<Real>::denorm_min())),
                                  number_text(largest));
    context.add(std::move(problem));
    return false;
  }
  out = rounded;
  return true;
}

bool read_vec3(JsonValue value, const std::string& path, const Info& info, ReadContext& context, Vec3& out) {
  Vec3 read = out;
  const bool good =
      read_tuple(value, path, 3, "numbers", context,
                 [&](JsonValue element, const std::string& element_path, std::size_t i) {
                   return read_real(element, element_path, info, context, read[static_cast<Eigen::Index>(i)]);
                 });
  if (good) out = read;
  return good;
}

bool read_whole(JsonValue value, const std::string& path, const Info& info, ReadContext& context,
                std::int64_t& out) {
  if (!expect_kind(value, path, JsonKind::number, context, range_text(info))) return false;
  const double number = value.number();
  const std::optional<std::int64_t> whole = value.whole();
  if (number < info.min || number > info.max) {
    complain_of_range(value, path, info, context);
    return false;
  }
  if (!whole) {
    Problem problem = problem_at(value, path, "must be a whole number");
    problem.allowed = range_text(info);
    context.add(std::move(problem));
    return false;
  }
  out = *whole;
  return true;
}

bool read_boolean(JsonValue value, const std::string& path, ReadContext& context, bool& out) {
  if (!expect_kind(value, path, JsonKind::boolean, context)) return false;
  out = value.boolean();
  return true;
}

bool read_choice(JsonValue value, const std::string& path, std::span<const char* const> names,
                 ReadContext& context, int& out) {
  const std::vector<std::string> choices(names.begin(), names.end());
  const std::string given = value.kind() == JsonKind::string ? value.string() : "";
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (value.kind() == JsonKind::string && choices[i] == given) {
      out = static_cast<int>(i);
      return true;
    }
  Problem problem = problem_at(value, path, "is none of the names to choose from");
  for (const std::string& choice : choices) problem.allowed += (problem.allowed.empty() ? "" : ", ") + choice;
  problem.nearest = nearest_name(given, choices);
  context.add(std::move(problem));
  return false;
}

ObjectReader::ObjectReader(JsonValue object, std::string path, ReadContext& context)
    : object_(object), path_(std::move(path)), context_(context) {}

std::string ObjectReader::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::optional<JsonValue> ObjectReader::take(const char* name, bool required) {
  Info info;
  info.required = required;
  return take(name, info);
}

std::optional<JsonValue> ObjectReader::take(const char* name, const Info& info) {
  offered_.emplace_back(name);
  const std::optional<JsonValue> value = object_.find(name);
  if (value) {
    taken_.push_back(*value);
  } else if (info.required && !misread_choice_) {
    Problem problem = problem_at(object_, path_of(name), "is missing");
    problem.value.clear();
    problem.allowed = range_text(info);
    if (*info.doc != 0) problem.what += fmt::format(" ({})", info.doc);
    context_.add(std::move(problem));
  }
  return value;
}

void ObjectReader::finish(FunctionRef<void(Describer&)> describe) {
  std::vector<FieldDescription> described;  // only needed, and then once, if something is wrong
  for (auto member = object_.first(); member && !context_.full(); member = member->next()) {
    if (std::find(taken_.begin(), taken_.end(), *member) != taken_.end()) continue;
    const std::string key = member->key();
    Problem problem = problem_at(*member, path_of(shown_key(key)), "is not a key that is known here");
    problem.value.clear();
    problem.nearest = nearest_name(key, offered_);
    if (described.empty()) described = describe_fields(describe);
    bool elsewhere = false;
    for (const FieldDescription& field : described)
      if (field.name == key && !field.applies.empty()) {
        problem.what = (elsewhere ? problem.what + ", or " : "applies only ") + condition_text(field);
        problem.nearest.clear();
        elsewhere = true;
      }
    if (elsewhere && misread_choice_) continue;  // it may well apply to what was meant
    if (problem.nearest.empty() && !elsewhere)
      for (const std::string& name : offered_)
        problem.allowed += (problem.allowed.empty() ? "" : ", ") + name;
    context_.add(std::move(problem));
  }
}

void ObjectReader::boolean(const char* name, bool& value, const Info& info) {
  if (const auto given = take(name, info)) read_boolean(*given, path_of(name), context_, value);
}
void ObjectReader::integer(const char* name, std::int64_t& value, const Info& info) {
  if (const auto given = take(name, info)) read_whole(*given, path_of(name), info, context_, value);
}
void ObjectReader::real(const char* name, Real& value, const Info& info) {
  if (const auto given = take(name, info)) read_real(*given, path_of(name), info, context_, value);
}
void ObjectReader::vec3(const char* name, Vec3& value, const Info& info) {
  if (const auto given = take(name, info)) read_vec3(*given, path_of(name), info, context_, value);
}
void ObjectReader::choice(const char* name, int& index, std::span<const char* const> names,
                          const Info& info) {
  if (const auto given = take(name, info))
    misread_choice_ |= !read_choice(*given, path_of(name), names, context_, index);
}

void ObjectReader::text(const char* name, std::string& value, const Info& info) {
  const auto given = take(name, info);
  if (!given || !expect_kind(*given, path_of(name), JsonKind::string, context_)) return;
  std::string read = given->string();
  if (read.size() > max_text_bytes) {
    Problem problem = problem_at(*given, path_of(name), "is too long");
    problem.allowed = fmt::format("at most {} bytes", max_text_bytes);
    return context_.add(std::move(problem));
  }
  // Names end up in terminals and in file names.
  if (std::any_of(read.begin(), read.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
      }))
    return context_.add(problem_at(*given, path_of(name), "has a control character in it"));
  if (info.required && read.empty())
    return context_.add(problem_at(*given, path_of(name), "must not be empty"));
  value = std::move(read);
}

void ObjectReader::reals(const char* name, std::vector<Real>& value, const Info& info) {
  if (const auto given = take(name, info))
    read_list(*given, path_of(name), info, context_, value,
              [&](JsonValue v, const std::string& p, Real& x) { read_real(v, p, info, context_, x); });
}
void ObjectReader::vec3s(const char* name, std::vector<Vec3>& value, const Info& info) {
  if (const auto given = take(name, info))
    read_list(*given, path_of(name), info, context_, value, [&](JsonValue v, const std::string& p, Vec3& x) {
      x.setZero();
      read_vec3(v, p, info, context_, x);
    });
}
void ObjectReader::indices(const char* name, std::vector<Index>& value, const Info& info) {
  if (const auto given = take(name, info))
    read_list(*given, path_of(name), info, context_, value,
              [&](JsonValue v, const std::string& p, Index& x) { read_index(v, p, info, context_, x); });
}
void ObjectReader::index_pairs(const char* name, std::vector<Index2>& value, const Info& info) {
  if (const auto given = take(name, info))
    read_list(*given, path_of(name), info, context_, value,
              [&](JsonValue v, const std::string& p, Index2& x) {
                x.setZero();
                read_tuple(v, p, 2, "whole numbers", context_,
                           [&](JsonValue e, const std::string& path, std::size_t i) {
                             return read_index(e, path, info, context_, x[static_cast<Eigen::Index>(i)]);
                           });
              });
}

void ObjectReader::mesh(const char* name, TriangleMesh& value, const Info& info) {
  const auto given = take(name, info);
  if (!given) return;
  const std::string path = path_of(name);
  if (given->kind() == JsonKind::string) {
    Problem problem = problem_at(*given, path, "must be an object");
    const auto kinds = names_of(MeshKind{});
    const bool is_shape = std::find(kinds.begin(), kinds.end(), given->string()) != kinds.end();
    problem.remedy = fmt::format("write {{\"{}\": {}}}", is_shape ? "shape" : "file", given->written());
    return context_.add(std::move(problem));
  }
  const std::size_t problems = context_.problems.size();
  MeshSource source;
  read_object(*given, path, context_, [&](Describer& d) { source.describe(d); });
  if (context_.problems.size() != problems || context_.full()) return;
  std::string file;
  try {
    std::size_t bytes_of_file = 0;
    if (source.shape == MeshKind::file) {
      file = resolve_file(source.file, context_.roots, max_mesh_file);
      bytes_of_file = std::filesystem::file_size(file);
    }
    const double bytes = source.memory(bytes_of_file);
    if (!context_.budget.take(bytes)) {
      Problem problem = problem_at(*given, path, fmt::format("needs {:.0f} MiB of memory", bytes / 1048576));
      problem.value.clear();
      problem.allowed = fmt::format("{:.0f} MiB for the whole scene", context_.budget.limit() / 1048576);
      problem.remedy = "make it coarser or raise budget_mib";
      return context_.add(std::move(problem));
    }
    value = {};
    context_.meshes_to_make.push_back({&value, std::move(source), std::move(file), *given, path});
  } catch (const Error& error) {
    complain_of_mesh(*given, path, error, context_);
  } catch (const std::filesystem::filesystem_error& error) {
    complain_of_mesh(*given, path, error.code(), context_);
  }
}

void make_meshes(ReadContext& context) {
  for (const MeshToMake& m : context.meshes_to_make) {
    if (context.full()) break;
    try {
      *m.mesh = make_mesh(m.source, m.file);
      context.meshes.add(m.mesh->x.data(), m.mesh->x.size() * sizeof(Vec3));
      context.meshes.add(m.mesh->triangles.data(), m.mesh->triangles.size() * sizeof(Index3));
    } catch (const Error& error) {
      complain_of_mesh(m.value, m.path, error, context);
    } catch (const std::filesystem::filesystem_error& error) {
      complain_of_mesh(m.value, m.path, error.code(), context);
    }
  }
  context.meshes_to_make.clear();
}

void ObjectReader::object(const char* name, FunctionRef<void(Describer&)> fields, const Info& info) {
  if (const auto given = take(name, info)) read_object(*given, path_of(name), context_, fields);
}

void ObjectReader::list(const char* name, std::size_t, FunctionRef<void(std::size_t)> resize,
                        FunctionRef<void(Describer&, std::size_t)> element, const Info& info) {
  const auto given = take(name, info);
  if (!given || !expect_kind(*given, path_of(name), JsonKind::array, context_)) return;
  if (given->size() > info.max_count) {
    Problem problem = problem_at(*given, path_of(name), "has too many entries");
    problem.allowed = fmt::format("at most {}", info.max_count);
    return context_.add(std::move(problem));
  }
  resize(0);  // entries of the default list are replaced, not merged
  resize(given->size());
  std::size_t e = 0;
  for (auto child = given->first(); child && !context_.full(); child = child->next(), ++e)
    read_object(*child, element_path(path_of(name), e), context_, [&](Describer& d) { element(d, e); });
}

void read_object(JsonValue value, const std::string& path, ReadContext& context,
                 FunctionRef<void(Describer&)> describe) {
  if (value.kind() != JsonKind::object) {
    Problem problem = problem_at(value, path, fmt::format("must be {}", text_of(JsonKind::object)));
    // A word alone may be meant for what the object chooses.
    if (value.kind() == JsonKind::string) problem.remedy = choice_in_object(describe, value.string());
    context.add(std::move(problem));
    return;
  }
  ObjectReader reader(value, path, context);
  describe(reader);
  reader.finish(describe);
}

}  // namespace plenum::inline PLENUM_ABI
