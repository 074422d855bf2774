#pragma once
// How joints call bodies: by name, by name[k] of the k-th of a grid, or by number.
#include <string>
#include <unordered_map>
#include <vector>

#include "plenum/solvers/rigid/spec.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

class BodyNames {
 public:
  explicit BodyNames(const rigid::Spec& assembled);
  /// -1 for the world. Throws Error at `key` for what calls no body.
  Index find(const std::string& key, const std::string& text) const;
  /// What else is called as the bodies of a kind are, as "the number of another body"; empty if nothing is.
  std::string shared_by(std::size_t kind) const;

 private:
  struct Group {
    std::size_t kind;
    Index first, count;
  };
  /// The group and place that name[k] calls.
  struct Call {
    const Group* group = nullptr;
    Index place = 0;
  };
  Call call(const std::string& text) const;

  std::unordered_map<std::string, Group> groups_;  ///< the first of each name
  std::vector<std::string> of_kinds_;
  std::vector<std::string> names_;
  Index total_ = 0;
};

/// Throws Error where two bodies of the specification with its assemblies built are called alike.
void check_names(const rigid::Spec& given, const rigid::Spec& assembled);

}}  // namespace plenum::PLENUM_ABI::detail
