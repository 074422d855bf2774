#pragma once
// Reads JSON objects into described structures, and says of everything that does not fit where it stands,
// what is wrong, what is allowed and what was probably meant.
#include <string>
#include <string_view>
#include <vector>

#include "plenum/base/describe.h"
#include "plenum/base/error.h"
#include "plenum/base/hash.h"
#include "plenum/scene/json.h"
#include "plenum/scene/mesh_source.h"

namespace plenum::inline PLENUM_ABI {

/// What a scene may take, counted before it is taken.
class MemoryBudget {
 public:
  explicit MemoryBudget(double bytes) : limit_(bytes) {}
  double limit() const { return limit_; }
  double used() const { return used_; }
  bool fits(double bytes) const { return used_ + bytes <= limit_; }
  /// Whether `bytes` more fit; then they are taken.
  bool take(double bytes) {
    if (!fits(bytes)) return false;
    used_ += bytes;
    return true;
  }

 private:
  double limit_, used_ = 0;
};

/// A mesh that is described, but not made yet.
struct MeshToMake {
  TriangleMesh* mesh;
  MeshSource source;
  std::string file;  ///< that it is read from, found and allowed
  JsonValue value;   ///< where it stands
  std::string path;
};

/// What all readers of one scene share.
struct ReadContext {
  std::vector<std::string> roots;  ///< folders that hold mesh files
  MemoryBudget budget{1e9};
  std::vector<Problem> problems;
  std::vector<MeshToMake> meshes_to_make;  ///< of which the budget has been taken
  Hasher meshes;                           ///< of all meshes made, in order

  static constexpr std::size_t max_problems = 100;
  bool full() const { return problems.size() >= max_problems; }
  void add(Problem problem) {
    if (!full()) problems.push_back(std::move(problem));
  }
};

/// Longest text value.
inline constexpr std::size_t max_text_bytes = 10000;

/// Indices are whole numbers from 0 on.
Info index_info(const Info& info);

/// A problem of `value`, known by the path `key`.
Problem problem_at(JsonValue value, std::string key, std::string what);

/// Fills what `describe` names from the members of one JSON object. Members that are absent keep their
/// values.
class ObjectReader final : public Describer {
 public:
  /// `path` names the object in messages: "" for the whole file, or e.g. "systems[0].params".
  ObjectReader(JsonValue object, std::string path, ReadContext& context);

  /// The member `name`, which its owner reads by itself.
  std::optional<JsonValue> take(const char* name, bool required = false);
  /// Complains about members that nobody asked for. `describe` is what was read, for suggestions.
  void finish(FunctionRef<void(Describer&)> describe);

  std::string path_of(std::string_view name) const;

 protected:
  void boolean(const char* name, bool& value, const Info&) override;
  void integer(const char* name, std::int64_t& value, const Info&) override;
  void real(const char* name, Real& value, const Info&) override;
  void vec3(const char* name, Vec3& value, const Info&) override;
  void choice(const char* name, int& index, std::span<const char* const> names, const Info&) override;
  void text(const char* name, std::string& value, const Info&) override;
  void reals(const char* name, std::vector<Real>& value, const Info&) override;
  void vec3s(const char* name, std::vector<Vec3>& value, const Info&) override;
  void indices(const char* name, std::vector<Index>& value, const Info&) override;
  void index_pairs(const char* name, std::vector<Index2>& value, const Info&) override;
  void mesh(const char* name, TriangleMesh& value, const Info&) override;
  void object(const char* name, FunctionRef<void(Describer&)> fields, const Info&) override;
  void list(const char* name, std::size_t size, FunctionRef<void(std::size_t)> resize,
            FunctionRef<void(Describer&, std::size_t)> element, const Info&) override;

 private:
  std::optional<JsonValue> take(const char* name, const Info& info);

  JsonValue object_;
  std::string path_;
  ReadContext& context_;
  std::vector<std::string> offered_;
  std::vector<JsonValue> taken_;
  /// A choice is none of its names: which keys apply, and are missing, is not known.
  bool misread_choice_ = false;
};

/// Makes the meshes of context.meshes_to_make. Readers leave them empty, so that what all else needs may be
/// counted first.
void make_meshes(ReadContext& context);

/// Reads an object and complains about unknown keys.
void read_object(JsonValue value, const std::string& path, ReadContext& context,
                 FunctionRef<void(Describer&)> describe);

// One value each; false after a complaint.
bool read_number(JsonValue value, const std::string& path, const Info& info, ReadContext& context,
                 double& out);
/// Also refuses what a Real cannot hold.
bool read_real(JsonValue value, const std::string& path, const Info& info, ReadContext& context, Real& out);
bool read_vec3(JsonValue value, const std::string& path, const Info& info, ReadContext& context, Vec3& out);
bool read_whole(JsonValue value, const std::string& path, const Info& info, ReadContext& context,
                std::int64_t& out);
bool read_boolean(JsonValue value, const std::string& path, ReadContext& context, bool& out);
bool read_choice(JsonValue value, const std::string& path, std::span<const char* const> names,
                 ReadContext& context, int& out);
/// Complains unless the value is of a kind. `allowed` is its range, if it has one.
bool expect_kind(JsonValue value, const std::string& path, JsonKind kind, ReadContext& context,
                 std::string allowed = {});

}  // namespace plenum::inline PLENUM_ABI
