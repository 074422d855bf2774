#include "plenum/scene/description.h"

#include <fmt/format.h>

#include <cmath>

#include "plenum/scene/json.h"

namespace plenum::inline PLENUM_ABI {
namespace {

/// Lists the fields that apply when exactly the conditions `held` hold.
class Collector final : public Describer {
 public:
  explicit Collector(const std::vector<Condition>& held) : held_(held) {}
  std::vector<FieldDescription> fields;
  std::vector<Condition> asked;

  bool when(const char* key, const char* value, bool) override {
    const Condition condition{key, value};
    if (std::find(asked.begin(), asked.end(), condition) == asked.end()) asked.push_back(condition);
    return std::find(held_.begin(), held_.end(), condition) != held_.end();
  }

 protected:
  void boolean(const char* name, bool& v, const Info& i) override {
    add(name, FieldKind::boolean, i, v ? "true" : "false");
  }
  void integer(const char* name, std::int64_t& v, const Info& i) override {
    add(name, FieldKind::integer, i, fmt::format("{}", v));
  }
  void real(const char* name, Real& v, const Info& i) override { add(name, FieldKind::real, i, number(v)); }
  void vec3(const char* name, Vec3& v, const Info& i) override { add(name, FieldKind::vec3, i, vector(v)); }
  void choice(const char* name, int& v, std::span<const char* const> names, const Info& i) override {
    const auto n = static_cast<std::size_t>(v);
    add(name, FieldKind::choice, i, n < names.size() ? json_text(names[n]) : "");
    fields.back().names.assign(names.begin(), names.end());
  }
  void text(const char* name, std::string& v, const Info& i) override {
    add(name, FieldKind::text, i, json_text(v));
  }
  void reals(const char* name, std::vector<Real>& v, const Info& i) override {
    add(name, FieldKind::reals, i, list_text(v, [](Real x) { return number(x); }));
  }
  void vec3s(const char* name, std::vector<Vec3>& v, const Info& i) override {
    add(name, FieldKind::vec3s, i, list_text(v, [](const Vec3& x) { return vector(x); }));
  }
  void indices(const char* name, std::vector<Index>& v, const Info& i) override {
    add(name, FieldKind::indices, i, list_text(v, [](Index x) { return fmt::format("{}", x); }));
  }
  void index_pairs(const char* name, std::vector<Index2>& v, const Info& i) override {
    add(name, FieldKind::index_pairs, i,
        list_text(v, [](const Index2& x) { return fmt::format("[{}, {}]", x[0], x[1]); }));
  }
  void mesh(const char* name, TriangleMesh&, const Info& i) override { add(name, FieldKind::mesh, i, ""); }
  void object(const char* name, FunctionRef<void(Describer&)> describe, const Info& i) override {
    add(name, FieldKind::object, i, "");
    fields.back().fields = describe_fields(describe);
  }
  void list(const char* name, std::size_t size, FunctionRef<void(std::size_t)>,
            FunctionRef<void(Describer&, std::size_t)> element, const Info& i) override {
    add(name, FieldKind::list, i, size == 0 ? "[]" : "");
    fields.back().fields = describe_fields([&](Describer& d) { element(d, size); });
  }

 private:
  static std::string number(Real v) {
    // The shortest text that gives this Real again: 0.1 rather than 0.10000000149011612.
    return std::isfinite(v) ? number_text(std::stod(fmt::format("{}", v))) : "";
  }
  static std::string vector(const Vec3& v) {
    return fmt::format("[{}, {}, {}]", number(v[0]), number(v[1]), number(v[2]));
  }
  template <class List, class F>
  static std::string list_text(const List& list, F&& item) {
    if (list.size() > 4) return "";
    std::string text;
    for (const auto& x : list) text += (text.empty() ? "" : ", ") + item(x);
    return "[" + text + "]";
  }
  void add(const char* name, FieldKind kind, const Info& info, std::string value) {
    fields.push_back({name, kind, info, std::move(value), {}, {}, {}});
  }
  const std::vector<Condition>& held_;
};

/// How many entries of a list have leaves.
std::size_t list_size(const std::vector<Leaf>& leaves, const std::string& list) {
  std::size_t size = 0;
  const auto has = [&](std::size_t k) {
    const std::string entry = fmt::format("{}[{}]", list, k);
    return std::any_of(leaves.begin(), leaves.end(),
                       [&](const Leaf& l) { return l.path.starts_with(entry); });
  };
  while (has(size)) ++size;
  return size;
}

/// Appends the paths of the numbers in lists without entries.
void append_empty_lists(const std::vector<FieldDescription>& fields, const std::vector<Leaf>& leaves,
                        const std::string& before, std::vector<std::string>& paths) {
  for (const FieldDescription& field : fields) {
    const std::string path = before + field.name;
    if (field.kind == FieldKind::object) {
      append_empty_lists(field.fields, leaves, path + ".", paths);
    } else if (field.kind == FieldKind::list && list_size(leaves, path) == 0) {
      for (const FieldDescription& of_entry : field.fields)
        if (of_entry.kind < FieldKind::text) paths.push_back(path + "[0]." + of_entry.name);
    }
  }
}

bool says_the_same(const FieldDescription& a, const FieldDescription& b) {
  return a.kind == b.kind && std::string_view(a.info.doc) == b.info.doc &&
         std::string_view(a.info.unit) == b.info.unit && a.info.min == b.info.min &&
         a.info.max == b.info.max && a.info.required == b.info.required;
}

}  // namespace

std::vector<FieldDescription> describe_fields(FunctionRef<void(Describer&)> describe) {
  // Each set of conditions is tried by itself; what it shows beyond its parent set applies under it. A
  // condition that is first asked under a set is nested in it.
  struct Set {
    std::vector<Condition> held;
    std::vector<std::string> shown_before;
    std::vector<Condition> asked_before;
  };
  std::vector<FieldDescription> all;
  std::vector<Set> sets = {{}};
  constexpr std::size_t most_sets = 1000;
  for (std::size_t s = 0; s < sets.size() && s < most_sets; ++s) {
    const Set set = sets[s];
    Collector collector(set.held);
    describe(collector);
    std::vector<std::string> shown;
    std::size_t after = 0;  // new fields are put in behind the one described before them
    for (FieldDescription& field : collector.fields) {
      shown.push_back(field.name);
      const bool is_new =
          std::find(set.shown_before.begin(), set.shown_before.end(), field.name) == set.shown_before.end();
      const auto known = std::find_if(all.begin(), all.end(), [&](const FieldDescription& f) {
        return f.name == field.name && (!is_new || says_the_same(f, field));
      });
      if (known != all.end()) {
        if (is_new) known->applies.push_back(set.held);
        after = static_cast<std::size_t>(known - all.begin()) + 1;
        continue;
      }
      // Behind those of other conditions in the same place.
      while (after < all.size() && !all[after].applies.empty() &&
             all[after].applies[0].size() >= set.held.size() &&
             std::none_of(collector.fields.begin(), collector.fields.end(), [&](const auto& f) {
               return f.name == all[after].name && says_the_same(f, all[after]);
             }))
        ++after;
      if (!set.held.empty()) field.applies.push_back(set.held);
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(after), std::move(field));
      ++after;
    }
    for (const Condition& condition : collector.asked) {
      if (std::find(set.asked_before.begin(), set.asked_before.end(), condition) != set.asked_before.end())
        continue;
      Set next{set.held, shown, collector.asked};
      next.held.push_back(condition);
      sets.push_back(std::move(next));
    }
  }
  return all;
}

std::optional<FieldDescription> find_field(const std::vector<FieldDescription>& fields,
                                           std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view step = path.substr(0, dot), name = step.substr(0, step.find('['));
  for (const FieldDescription& field : fields) {
    if (field.name != name) continue;
    if (dot == path.npos) return field;
    if (auto found = find_field(field.fields, path.substr(dot + 1))) return found;
  }
  return {};
}

std::optional<MissingEntry> missing_entry(const std::vector<FieldDescription>& fields,
                                          const std::vector<Leaf>& leaves, const std::string& path) {
  constexpr std::size_t most_digits = 9;
  for (std::size_t open = path.find('['); open != path.npos; open = path.find('[', open + 1)) {
    const std::string list = path.substr(0, open);
    const std::size_t close = path.find(']', open), digits = close - open - 1;
    const std::optional<FieldDescription> field = find_field(fields, list);
    if (close == path.npos || digits == 0 || digits > most_digits || !field || field->kind != FieldKind::list)
      return {};
    const std::string number = path.substr(open + 1, digits);
    if (number.find_first_not_of("0123456789") != number.npos) return {};
    const auto entry = [&](std::size_t k) { return fmt::format("{}[{}]", list, k); };
    const std::size_t index = std::stoul(number), size = list_size(leaves, list);
    if (index >= size)
      return MissingEntry{list, index, size, field->info.max_count,
                          entry(size == 0 ? 0 : size - 1) + path.substr(close + 1)};
  }
  return {};
}

std::vector<std::string> paths_of(const std::vector<FieldDescription>& fields,
                                  const std::vector<Leaf>& leaves) {
  std::vector<std::string> paths;
  for (const Leaf& leaf : leaves) paths.push_back(leaf.path);
  append_empty_lists(fields, leaves, "", paths);
  return paths;
}

std::string condition_text(const FieldDescription& field) {
  // Groups of one condition on the same key read as a list of its values.
  std::vector<std::pair<std::string, std::vector<std::string>>> parts;  // "shape is", {"box", "grid"}
  for (const auto& group : field.applies) {
    std::string all;
    for (const Condition& c : group) {
      if (&c == &group.back()) break;
      all += c.key + " is " + c.value + " and ";
    }
    all += group.back().key + " is";
    if (parts.empty() || parts.back().first != all) parts.push_back({all, {}});
    parts.back().second.push_back(group.back().value);
  }
  std::string text;
  for (const auto& [is, values] : parts) {
    text += (text.empty() ? "when " : ", or ") + is;
    for (std::size_t v = 0; v < values.size(); ++v)
      text += (v == 0 ? " " : v + 1 == values.size() ? " or " : ", ") + values[v];
  }
  return text;
}

std::string range_text(const Info& info) {
  const bool low = std::isfinite(info.min), high = std::isfinite(info.max);
  std::string text;
  if (low && high)
    text = number_text(info.min) + " to " + number_text(info.max);
  else if (low)
    text = "at least " + number_text(info.min);
  else if (high)
    text = "at most " + number_text(info.max);
  if (!text.empty() && *info.unit != 0) text += std::string(" ") + info.unit;
  return text;
}

}  // namespace plenum::inline PLENUM_ABI
