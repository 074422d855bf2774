#include "plenum/scene/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace plenum::inline PLENUM_ABI {

const char* text_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::number:
      return "a number";
    case JsonKind::beyond:
      return "a number beyond all bounds";
    case JsonKind::string:
      return "a text";
    case JsonKind::array:
      return "a list";
    case JsonKind::object:
      return "an object";
  }
  return "";
}

JsonDocument::JsonDocument(std::string text, std::string name, const JsonLimits& limits) : limits_(limits) {
  if (text.size() > limits.max_bytes)
    throw Error(Problem{.file = std::move(name),
                        .what = "is too long",
                        .value = fmt::format("{} bytes", text.size()),
                        .allowed = fmt::format("at most {} bytes", limits.max_bytes)});
  nodes_.emplace_back();  // nobody's child, so that 0 means none
  root_ = parse(add_source(std::move(text), std::move(name), true));
}

std::uint32_t JsonDocument::add_source(std::string text, std::string name, bool has_lines) {
  sources_.push_back({std::move(text), std::move(name), has_lines});
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

JsonValue JsonDocument::add_value(std::string text, std::string name, std::string_view key) {
  if (text.size() > limits_.max_bytes)
    throw Error(Problem{.file = std::move(name), .key = std::string(key), .what = "is too long"});
  const std::size_t nodes = nodes_.size();
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  const bool looks_like_json = first < text.size() && std::strchr("{[\"", text[first]) != nullptr;
  const std::uint32_t source = add_source(text, name, false);
  try {
    return {this, parse(source, key)};
  } catch (const Error& error) {
    // A list or object that is broken deserves its own message; any other word is a text.
    nodes_.resize(nodes);
    const std::string bare = text.substr(std::min(text.size(), text.find_first_not_of("+-")));
    const bool numeric = !bare.empty() && std::isdigit(static_cast<unsigned char>(bare[0])) != 0;
    const bool several = text.find(',') != text.npos;
    if (numeric && several) {
      sources_[source].text = "[" + text + "]";
      return {this, parse(source, key)};
    }
    if (looks_like_json) throw;
  }
  Node node;
  node.kind = JsonKind::string;
  node.source = source;
  node.end = static_cast<std::uint32_t>(text.size());
  nodes_.push_back(node);
  return {this, static_cast<std::uint32_t>(nodes_.size() - 1)};
}

JsonValue JsonDocument::add_object(std::string name) {
  Node node;
  node.kind = JsonKind::object;
  node.source = add_source("{}", std::move(name), false);
  node.end = 1;
  nodes_.push_back(node);
  return {this, static_cast<std::uint32_t>(nodes_.size() - 1)};
}

void JsonDocument::put(JsonValue object, std::string_view key, JsonValue value) {
  if (const auto old = object.find(key)) return replace(*old, value);
  Node& added = nodes_[value.node_];
  added.key_source = add_source(std::string(key), sources_[added.source].name, false);
  added.key_escaped = false;
  added.key_begin = 0;
  added.key_end = static_cast<std::uint32_t>(key.size());
  Node& parent = nodes_[object.node_];
  std::uint32_t* link = &parent.first;
  while (*link != 0) link = &nodes_[*link].next;
  *link = value.node_;
  ++parent.count;
}

void JsonDocument::replace(JsonValue old, JsonValue value) {
  Node& place = nodes_[old.node_];
  Node node = nodes_[value.node_];
  node.next = place.next;
  node.key_source = place.key_source;
  node.key_escaped = place.key_escaped;
  node.key_begin = place.key_begin;
  node.key_end = place.key_end;
  place = node;
}

std::string_view JsonDocument::text(const Node& node) const {
  return std::string_view(sources_[node.source].text).substr(node.begin, node.end - node.begin);
}

std::string JsonDocument::key(const Node& node) const {
  const std::string_view source = sources_[node.key_source].text;
  return decoded(source.substr(node.key_begin, node.key_end - node.key_begin), node.key_escaped);
}

JsonKind JsonValue::kind() const {
  return document_->nodes_[node_].kind;
}
std::size_t JsonValue::size() const {
  return document_->nodes_[node_].count;
}
double JsonValue::number() const {
  return parsed_number(document_->text(document_->nodes_[node_])).value_or(0);
}
bool JsonValue::boolean() const {
  return document_->text(document_->nodes_[node_]) == "true";
}
std::string JsonValue::string() const {
  const auto& node = document_->nodes_[node_];
  return decoded(document_->text(node), node.escaped);
}
std::string JsonValue::key() const {
  return document_->key(document_->nodes_[node_]);
}

std::string JsonValue::written() const {
  switch (kind()) {
    case JsonKind::array:
      return fmt::format("[{} value{}]", size(), size() == 1 ? "" : "s");
    case JsonKind::object:
      return fmt::format("{{{} key{}}}", size(), size() == 1 ? "" : "s");
    case JsonKind::string:
      return '"' + shortened(document_->text(document_->nodes_[node_])) + '"';
    default:
      return shortened(document_->text(document_->nodes_[node_]));
  }
}

std::optional<std::int64_t> JsonValue::whole() const {
  const std::string_view text = document_->text(document_->nodes_[node_]);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const double wide = number();
  constexpr double exact = 9007199254740992.0;  // 2^53: beyond, a double no longer knows its units
  if (std::abs(wide) > exact || wide != std::floor(wide)) return {};
  return static_cast<std::int64_t>(wide);
}

std::optional<JsonValue> JsonValue::first() const {
  const std::uint32_t n = document_->nodes_[node_].first;
  return n == 0 ? std::nullopt : std::optional<JsonValue>({document_, n});
}
std::optional<JsonValue> JsonValue::next() const {
  const std::uint32_t n = document_->nodes_[node_].next;
  return n == 0 ? std::nullopt : std::optional<JsonValue>({document_, n});
}
std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (kind() != JsonKind::object) return {};
  for (auto child = first(); child; child = child->next()) {
    const auto& node = document_->nodes_[child->node_];
    const std::string_view raw = std::string_view(document_->sources_[node.key_source].text)
                                     .substr(node.key_begin, node.key_end - node.key_begin);
    if (node.key_escaped ? child->key() == key : raw == key) return child;
  }
  return {};
}
std::optional<JsonValue> JsonValue::at(std::size_t index) const {
  auto child = first();
  while (child && index-- > 0) child = child->next();
  return child;
}

Problem JsonValue::problem() const {
  const auto& node = document_->nodes_[node_];
  const auto& source = document_->sources_[node.source];
  Problem problem{.file = source.name};
  if (source.has_lines) {
    const auto begin = source.text.begin();
    problem.line = 1 + static_cast<int>(std::count(begin, begin + node.begin, '\n'));
  }
  return problem;
}

void append_canonical(JsonValue value, std::string& out) {
  switch (value.kind()) {
    case JsonKind::null:
      out += "null";
      break;
    case JsonKind::boolean:
      out += value.boolean() ? "true" : "false";
      break;
    case JsonKind::beyond:
      out += value.written();  // as it stands; no reader takes it for a value
      break;
    case JsonKind::number:
      out += number_text(value.number() == 0 ? 0.0 : value.number());
      break;
    case JsonKind::string:
      out += json_text(value.string());
      break;
    case JsonKind::array: {
      out += '[';
      for (auto child = value.first(); child; child = child->next()) {
        append_canonical(*child, out);
        out += ',';
      }
      out += ']';
      break;
    }
    case JsonKind::object: {
      std::vector<std::pair<std::string, JsonValue>> members;
      for (auto child = value.first(); child; child = child->next())
        members.emplace_back(child->key(), *child);
      std::sort(members.begin(), members.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      out += '{';
      for (const auto& [key, child] : members) {
        out += json_text(key) + ':';
        append_canonical(child, out);
        out += ',';
      }
      out += '}';
      break;
    }
  }
}

}  // namespace plenum::inline PLENUM_ABI
