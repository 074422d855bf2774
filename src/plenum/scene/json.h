#pragma once
// JSON text with comments as a flat tree that knows where in the text every value stands, so that every
// complaint about a scene can name its line.
//
// The tree is one array of small nodes in no particular order, linked by index; it is destroyed without
// recursion and numbers and strings are decoded only when asked for.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/base/error.h"
#include "plenum/scene/json_text.h"

namespace plenum::inline PLENUM_ABI {

/// `beyond` is a number that no double holds: NaN, Infinity, 1e999, 1e-999. It is told apart from other
/// numbers so that whoever reads the value refuses it as any other wrong one, by its path and with the
/// allowed range.
enum class JsonKind : std::uint8_t { null, boolean, number, beyond, string, array, object };

/// "a number", "a list", ...
const char* text_of(JsonKind kind);

class JsonDocument;

/// A value of a document, by reference. Valid while the document lives; edits of the document do not move it.
class JsonValue {
 public:
  JsonKind kind() const;
  std::size_t size() const;     ///< of an array or object
  double number() const;        ///< of a number; finite
  bool boolean() const;         ///< of a boolean
  std::string string() const;   ///< decoded, UTF-8, may hold NUL
  std::string key() const;      ///< decoded; of an object's member
  std::string written() const;  ///< as it stands in the text, shortened; "[3 values]" for arrays

  std::optional<std::int64_t> whole() const;  ///< the number if it is whole and fits

  std::optional<JsonValue> first() const;  ///< child of an array or object
  std::optional<JsonValue> next() const;   ///< sibling
  std::optional<JsonValue> find(std::string_view key) const;
  std::optional<JsonValue> at(std::size_t index) const;

  /// A problem with file and line set to this value's, or with the option that gave it in place of the file.
  Problem problem() const;

  bool operator==(const JsonValue& other) const { return node_ == other.node_; }

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t node) : document_(document), node_(node) {}
  const JsonDocument* document_;
  std::uint32_t node_;
};

/// Limits of what is read, so that a hostile file costs bounded time and memory.
struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_values = std::size_t{1} << 22;
  int max_depth = 64;
};

class JsonDocument {
 public:
  /// Parses RFC 8259 JSON with // and /* */ comments and an optional byte order mark. Throws Error, naming
  /// `name`, the line, the path of the key and the text found there, for anything else: invalid UTF-8,
  /// duplicate keys, nesting or size over the limits, trailing commas.
  JsonDocument(std::string text, std::string name, const JsonLimits& limits = {});
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const { return {this, root_}; }

  /// Makes values from a second text, e.g. of a command-line option, whose problems are reported under `name`
  /// without a line and under the path `key`. `text` is JSON, or two or more JSON values with commas between
  /// them for an array, or else stands for itself as a string.
  JsonValue add_value(std::string text, std::string name, std::string_view key);
  JsonValue add_object(std::string name);
  /// Sets or replaces a member; the value takes `key` and its place in the object.
  void put(JsonValue object, std::string_view key, JsonValue value);
  /// Replaces a value where it stands.
  void replace(JsonValue old, JsonValue value);

 private:
  friend class JsonValue;
  class Parser;
  struct Source {
    std::string text, name;
    bool has_lines;
  };
  struct Node {
    JsonKind kind = JsonKind::null;
    bool escaped = false, key_escaped = false;  ///< the text holds escapes
    std::uint32_t source = 0, key_source = 0;
    std::uint32_t begin = 0, end = 0;          ///< in the source, without quotes
    std::uint32_t key_begin = 0, key_end = 0;  ///< in the key's source, without quotes
    std::uint32_t first = 0, next = 0;         ///< nodes; 0 for none (node 0 is nobody's child)
    std::uint32_t count = 0;                   ///< children
  };
  /// The text of a source as a value; `key` is its path in messages.
  std::uint32_t parse(std::uint32_t source, std::string_view key = {});
  std::uint32_t add_source(std::string text, std::string name, bool has_lines);
  std::string_view text(const Node& node) const;
  std::string key(const Node& node) const;

  JsonLimits limits_;
  std::deque<Source> sources_;
  std::vector<Node> nodes_;
  std::uint32_t root_ = 0;
};

/// The value as JSON without comments or spaces, keys in alphabetical order, numbers in their shortest form:
/// equal for files that mean the same.
void append_canonical(JsonValue value, std::string& out);

}  // namespace plenum::inline PLENUM_ABI
