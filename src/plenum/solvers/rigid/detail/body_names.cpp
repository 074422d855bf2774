#include "plenum/solvers/rigid/detail/body_names.h"

#include <charconv>
#include <optional>

#include "plenum/base/error.h"

namespace plenum::inline PLENUM_ABI { namespace detail {
namespace {

std::optional<Index> whole_number(std::string_view text) {
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

BodyNames::BodyNames(const rigid::Spec& assembled) {
  for (std::size_t kind = 0; kind < assembled.bodies.size(); ++kind) {
    const rigid::BodySpec& body = assembled.bodies[kind];
    const Index count = body.count_x * body.count_y * body.count_z;
    if (!body.name.empty() && groups_.insert({body.name, {kind, total_, count}}).second)
      names_.push_back(body.name);
    of_kinds_.push_back(body.name);
    total_ += count;
  }
}

BodyNames::Call BodyNames::call(const std::string& text) const {
  const std::size_t bracket = text.rfind('[');
  if (bracket == std::string::npos || text.back() != ']') return {};
  const auto place = whole_number(std::string_view(text).substr(bracket + 1, text.size() - bracket - 2));
  const auto group = groups_.find(text.substr(0, bracket));
  if (!place || group == groups_.end() || *place < 0 || *place >= group->second.count) return {};
  return {&group->second, *place};
}

Index BodyNames::find(const std::string& key, const std::string& text) const {
  if (text.empty()) return -1;
  if (const auto group = groups_.find(text); group != groups_.end()) {
    const Index count = group->second.count;
    if (count > 1)
      throw Error(Problem{
          .key = key,
          .what = "names " + std::to_string(count) + " bodies",
          .value = text,
          .allowed = "one of them: " + text + "[0] to " + text + "[" + std::to_string(count - 1) + "]"});
    return group->second.first;
  }
  if (const Call found = call(text); found.group) return found.group->first + found.place;
  if (const auto number = whole_number(text); number && *number >= 0 && *number < total_) return *number;
  throw Error(Problem{.key = key,
                      .what = "names no body",
                      .value = text,
                      .allowed = "a body's name, or 0 to " + std::to_string(total_ - 1),
                      .nearest = nearest_name(text, names_)});
}

std::string BodyNames::shared_by(std::size_t kind) const {
  const std::string& name = of_kinds_[kind];
  if (name.empty()) return {};
  const Group& named = groups_.at(name);
  if (named.kind != kind) return "another body";
  if (const Call other = call(name); other.group)
    return "body " + std::to_string(other.place) + " of `" + of_kinds_[other.group->kind] + "`";
  const auto number = whole_number(name);
  if (number && *number >= 0 && *number < total_ && *number != named.first) return "the body of that number";
  return {};
}

void check_names(const rigid::Spec& given, const rigid::Spec& assembled) {
  const BodyNames names(assembled);
  Refusals refusals;
  const auto check = [&](std::size_t kind, const std::string& key) {
    const std::string other = names.shared_by(kind);
    if (other.empty()) return true;
    refusals.keep(Problem{.key = key + ".name",
                          .what = "calls a body as " + other + " is called",
                          .value = assembled.bodies[kind].name,
                          .allowed = "a name of its own, as joints find bodies by it"});
    return false;
  };
  const std::size_t own = given.bodies.size();
  for (std::size_t k = 0; k < own; ++k) check(k, "bodies[" + std::to_string(k) + "]");
  std::size_t first = own;
  for (std::size_t j = 0; j < given.assemblies.size(); ++j) {
    const auto count = static_cast<std::size_t>(given.assemblies[j].num_bodies());
    // One complaint for all bodies of an assembly.
    for (std::size_t k = first; k < first + count; ++k)
      if (!check(k, "assemblies[" + std::to_string(j) + "]")) break;
    first += count;
  }
  refusals.refuse();
}

}}  // namespace plenum::PLENUM_ABI::detail
