#pragma once
// A described structure as data: its fields with defaults, ranges and the conditions under which they apply.
// The schema, the tables of the docs and the suggestions in error messages are made from it.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/base/describe.h"

namespace plenum::inline PLENUM_ABI {

/// A field applies when the field `key` has this value.
struct Condition {
  std::string key, value;
  bool operator==(const Condition&) const = default;
};

enum class FieldKind {
  boolean,
  integer,
  real,
  vec3,
  choice,  // up to here: keyframes can move it
  text,
  reals,
  vec3s,
  indices,
  index_pairs,
  mesh,
  object,
  list
};

struct FieldDescription {
  std::string name;
  FieldKind kind = FieldKind::real;
  Info info;
  std::string default_json;                     ///< empty if the default is a long list, a mesh or an object
  std::vector<std::string> names;               ///< of a choice
  std::vector<FieldDescription> fields;         ///< of an object or a list's elements
  std::vector<std::vector<Condition>> applies;  ///< when all of one group hold; empty: always
};

/// Every field that `describe` names under some condition, in order. A name that means different things under
/// different conditions appears once for each. The structure it describes must be in its default state, for
/// the defaults to be right; it is not changed.
std::vector<FieldDescription> describe_fields(FunctionRef<void(Describer&)> describe);

/// The field at a path such as emitters[0].radius, whatever list entries there are; the first of those that
/// mean different things under different conditions.
std::optional<FieldDescription> find_field(const std::vector<FieldDescription>& fields,
                                           std::string_view path);

/// The entry of a list that a path such as pins[3].offset names, and that is not there.
struct MissingEntry {
  std::string list;  ///< pins
  std::size_t index = 0, size = 0, max_count = 0;
  std::string nearest;  ///< the path with the last entry that is there, or the first
};
/// None if the entries of all lists in the path are among the leaves.
std::optional<MissingEntry> missing_entry(const std::vector<FieldDescription>& fields,
                                          const std::vector<Leaf>& leaves, const std::string& path);

/// Paths of the leaves, and of what the first entry of every empty list would have.
std::vector<std::string> paths_of(const std::vector<FieldDescription>& fields,
                                  const std::vector<Leaf>& leaves);

/// "when shape is box or grid"; empty if it always applies.
std::string condition_text(const FieldDescription& field);

/// "0 to 1e9 N/m", "at least 0", "" if anything goes.
std::string range_text(const Info& info);

}  // namespace plenum::inline PLENUM_ABI
