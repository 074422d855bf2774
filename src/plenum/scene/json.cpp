#include "plenum/scene/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace plenum::inline PLENUM_ABI {
namespace {

/// Length of the UTF-8 sequence that begins at `at`, or 0 if it is not well-formed (RFC 3629: no overlong
/// forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned a = byte(0), b = byte(1);
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf) return tail(1) ? 2 : 0;
  if (a >= 0xe0 && a <= 0xef) {
    if (!tail(1) || !tail(2) || (a == 0xe0 && b < 0xa0) || (a == 0xed && b >= 0xa0)) return 0;
    return 3;
  }
  if (a >= 0xf0 && a <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3) || (a == 0xf0 && b < 0x90) || (a == 0xf4 && b >= 0x90)) return 0;
    return 4;
  }
  return 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6), put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
  } else {
    put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 63)), put(0x80 | (code >> 6 & 63)),
        put(0x80 | (code & 63));
  }
}

/// Four hexadecimal digits at `at`, or -1.
int hex4(std::string_view s, std::size_t at) {
  if (at + 4 > s.size()) return -1;
  int value = 0;
  const auto [end, error] = std::from_chars(s.data() + at, s.data() + at + 4, value, 16);
  return error == std::errc() && end == s.data() + at + 4 && s[at] != '-' ? value : -1;
}

/// Contents of a string whose escapes are known to be valid.
std::string decoded(std::string_view raw, bool escaped) {
  if (!escaped) return std::string(raw);
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    if (c != 'u') {
      constexpr std::string_view from = "bfnrt", to = "\b\f\n\r\t";
      const std::size_t k = from.find(c);
      out += k == from.npos ? c : to[k];
      continue;
    }
    auto code = static_cast<std::uint32_t>(hex4(raw, i + 1));
    i += 4;
    if (code >= 0xd800 && code < 0xdc00) {
      code = 0x10000 + ((code - 0xd800) << 10) + (static_cast<std::uint32_t>(hex4(raw, i + 3)) - 0xdc00);
      i += 6;
    }
    append_utf8(out, code);
  }
  return out;
}

std::optional<double> parsed_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

}  // namespace

const char* text_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::number:
      return "a number";
    case JsonKind::string:
      return "a text";
    case JsonKind::array:
      return "a list";
    case JsonKind::object:
      return "an object";
  }
  return "";
}

class JsonDocument::Parser {
 public:
  Parser(JsonDocument& document, std::uint32_t source)
      : doc_(document), source_(source), text_(document.sources_[source].text) {}

  /// The whole text as one value.
  std::uint32_t parse_all() {
    check_utf8();
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;
    skip();
    if (at_ == text_.size()) fail("is empty", at_);
    const std::uint32_t root = value(0);
    skip();
    if (at_ != text_.size()) fail("has more text after its end", at_, one(at_));
    return root;
  }

 private:
  [[noreturn]] void fail(std::string what, std::size_t offset, std::string written = {}) const {
    const Source& source = doc_.sources_[source_];
    Problem problem{.file = source.name, .what = std::move(what), .value = std::move(written)};
    if (source.has_lines) {
      const auto begin = text_.begin(), here = begin + static_cast<std::ptrdiff_t>(offset);
      problem.line = 1 + static_cast<int>(std::count(begin, here, '\n'));
      const std::size_t line_begin = offset == 0 ? text_.npos : text_.rfind('\n', offset - 1);
      problem.what +=
          fmt::format(" at column {}", line_begin == text_.npos ? offset + 1 : offset - line_begin);
    }
    throw Error(std::move(problem));
  }

  /// The character at an offset, for messages.
  std::string one(std::size_t offset) const {
    if (offset >= text_.size()) return "the end of the text";
    const auto c = static_cast<unsigned char>(text_[offset]);
    if (c < 0x20 || c == 0x7f) return fmt::format("the character with code {}", c);
    return fmt::format("'{}'", text_.substr(offset, std::max<std::size_t>(1, utf8_length(text_, offset))));
  }

  void check_utf8() const {
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t n = utf8_length(text_, i);
      if (n == 0)
        fail("is not UTF-8 text", i, fmt::format("byte 0x{:02x}", static_cast<unsigned char>(text_[i])));
      i += n;
    }
  }

  /// Steps over spaces and comments.
  void skip() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      if (at_ + 1 >= text_.size() || text_[at_] != '/') return;
      if (text_[at_ + 1] == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_ + 1] == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == text_.npos) fail("has a comment without an end", at_);
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::uint32_t add(JsonKind kind, std::size_t begin, std::size_t end, bool escaped = false) {
    if (doc_.nodes_.size() > doc_.limits_.max_values)
      fail(fmt::format("has more than {} values; move large lists into mesh files", doc_.limits_.max_values),
           begin);
    Node node;
    node.kind = kind;
    node.escaped = escaped;
    node.source = source_;
    node.begin = static_cast<std::uint32_t>(begin);
    node.end = static_cast<std::uint32_t>(end);
    doc_.nodes_.push_back(node);
    return static_cast<std::uint32_t>(doc_.nodes_.size() - 1);
  }

  // Recursion is bounded by max_depth.
  std::uint32_t value(int depth) {
    if (at_ >= text_.size()) fail("ends where a value belongs", at_);
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (c == '{') return object(depth + 1);
    if (c == '[') return array(depth + 1);
    if (c == '"') {
      const bool escaped = string();
      return add(JsonKind::string, begin + 1, at_ - 1, escaped);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
      number();
      return add(JsonKind::number, begin, at_);
    }
    std::size_t end = begin;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      ++end;
    const std::string_view word = text_.substr(begin, end - begin);
    at_ = end;
    if (word == "true" || word == "false") return add(JsonKind::boolean, begin, end);
    if (word == "null") return add(JsonKind::null, begin, end);
    at_ = begin;
    not_a_number(begin);
    if (c == '\'') fail("has a text in single quotes; JSON wants double ones", begin);
    if (word.empty()) fail("has something where a value belongs", begin, one(begin));
    fail("has a word where a value belongs; texts stand in double quotes", begin, shortened(word));
  }

  /// Refuses the literals for what is not a finite number by name.
  void not_a_number(std::size_t begin) const {
    std::string word;
    for (std::size_t i = begin; i < text_.size() && i < begin + 12; ++i) {
      const char c = text_[i];
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '+') break;
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const std::string bare = !word.empty() && (word[0] == '-' || word[0] == '+') ? word.substr(1) : word;
    if (bare == "nan" || bare == "inf" || bare == "infinity")
      fail("has a value that is not a finite number", begin, std::string(text_.substr(begin, word.size())));
  }

  void digits(std::size_t begin) {
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ == first) fail("has a malformed number", begin, shortened(text_.substr(begin, at_ + 1 - begin)));
  }

  void number() {
    const std::size_t begin = at_;
    not_a_number(begin);
    take('-');
    if (!take('0'))
      digits(begin);
    else if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
      fail("has a number with a leading zero", begin);
    if (take('.')) digits(begin);
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits(begin);
    }
    const std::string_view written = text_.substr(begin, at_ - begin);
    const std::optional<double> number = parsed_number(written);
    const bool nonzero =
        written.substr(0, written.find_first_of("eE")).find_first_of("123456789") != written.npos;
    if (!number || (*number == 0 && nonzero))
      fail("has a number beyond the range of double precision", begin, shortened(written));
  }

  /// Steps over a string; whether it holds escapes.
  bool string() {
    const std::size_t begin = at_++;
    bool escaped = false;
    for (;; ++at_) {
      if (at_ >= text_.size()) fail("has a text without a closing quote", begin);
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c == '\n') fail("has a text without a closing quote", begin);
      if (c < 0x20) fail("has a control character in a text", at_, one(at_));
      if (c != '\\') continue;
      escaped = true;
      ++at_;
      if (at_ >= text_.size()) fail("has a text without a closing quote", begin);
      if (text_[at_] == 'u') {
        unicode();
      } else if (std::strchr("\"\\/bfnrt", text_[at_]) == nullptr || text_[at_] == 0) {
        fail("has an unknown escape in a text", at_ - 1, fmt::format("\\{}", text_.substr(at_, 1)));
      }
    }
    ++at_;
    return escaped;
  }

  /// \uXXXX, a pair of them for characters beyond U+FFFF; leaves at_ at the last digit.
  void unicode() {
    const std::size_t begin = at_ - 1;
    const int high = hex4(text_, at_ + 1);
    if (high < 0) fail("has a malformed \\u escape", begin);
    at_ += 4;
    if (high >= 0xdc00 && high < 0xe000) fail("has half of a surrogate pair", begin);
    if (high < 0xd800 || high >= 0xe000) return;
    const int low = text_.substr(at_ + 1, 2) == "\\u" ? hex4(text_, at_ + 3) : -1;
    if (low < 0xdc00 || low >= 0xe000) fail("has half of a surrogate pair", begin);
    at_ += 6;
  }

  void check_depth(int depth) const {
    if (depth > doc_.limits_.max_depth)
      fail(fmt::format("is nested deeper than {} levels", doc_.limits_.max_depth), at_);
  }

  /// Appends `child` to a container.
  void link(std::uint32_t parent, std::uint32_t& last, std::uint32_t child) {
    (last == 0 ? doc_.nodes_[parent].first : doc_.nodes_[last].next) = child;
    ++doc_.nodes_[parent].count;
    last = child;
  }

  /// After an element: true if another follows, false at the closing bracket.
  bool more(char close, std::size_t begin, const char* container) {
    skip();
    if (take(',')) {
      const std::size_t comma = at_ - 1;
      skip();
      if (at_ < text_.size() && text_[at_] == close)
        fail(fmt::format("has a comma before the closing '{}'", close), comma);
      return true;
    }
    if (take(close)) return false;
    if (at_ >= text_.size()) fail(fmt::format("has {} without an end", container), begin);
    fail(fmt::format("lacks a ',' or '{}'", close), at_, one(at_));
  }

  std::uint32_t array(int depth) {
    check_depth(depth);
    const std::size_t begin = at_++;
    const std::uint32_t self = add(JsonKind::array, begin, begin + 1);
    std::uint32_t last = 0;
    skip();
    if (take(']')) return self;
    do {
      link(self, last, value(depth));
    } while (more(']', begin, "a list"));
    return self;
  }

  std::uint32_t object(int depth) {
    check_depth(depth);
    const std::size_t begin = at_++;
    const std::uint32_t self = add(JsonKind::object, begin, begin + 1);
    std::uint32_t last = 0;
    skip();
    if (take('}')) return self;
    do {
      const std::size_t key_begin = at_;
      if (at_ >= text_.size()) fail("has an object without an end", begin);
      if (text_[at_] != '"') fail("has something where a key in double quotes belongs", at_, one(at_));
      const bool escaped = string();
      const std::size_t key_end = at_;
      skip();
      if (!take(':')) fail("lacks a ':' after a key", at_, one(at_));
      skip();
      const std::uint32_t child = value(depth);
      Node& node = doc_.nodes_[child];
      node.key_source = source_;
      node.key_escaped = escaped;
      node.key_begin = static_cast<std::uint32_t>(key_begin + 1);
      node.key_end = static_cast<std::uint32_t>(key_end - 1);
      link(self, last, child);
    } while (more('}', begin, "an object"));
    refuse_duplicates(self);
    return self;
  }

  void refuse_duplicates(std::uint32_t object) const {
    struct Key {
      std::string_view text;
      std::uint32_t begin;
    };
    std::deque<std::string> decoded_keys;  // only those with escapes are copied
    std::vector<Key> keys;
    keys.reserve(doc_.nodes_[object].count);
    for (std::uint32_t n = doc_.nodes_[object].first; n != 0; n = doc_.nodes_[n].next) {
      const Node& node = doc_.nodes_[n];
      std::string_view key = text_.substr(node.key_begin, node.key_end - node.key_begin);
      if (node.key_escaped) key = decoded_keys.emplace_back(decoded(key, true));
      keys.push_back({key, node.key_begin});
    }
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return a.text != b.text ? a.text < b.text : a.begin < b.begin;
    });
    for (std::size_t i = 1; i < keys.size(); ++i)
      if (keys[i].text == keys[i - 1].text)
        fail("has the same key twice in one object", keys[i].begin - 1, shortened(json_text(keys[i].text)));
  }

  JsonDocument& doc_;
  std::uint32_t source_;
  std::string_view text_;
  std::size_t at_ = 0;
};

JsonDocument::JsonDocument(std::string text, std::string name, const JsonLimits& limits) : limits_(limits) {
  if (text.size() > limits.max_bytes)
    throw Error(Problem{.file = std::move(name),
                        .what = "is too long",
                        .value = fmt::format("{} bytes", text.size()),
                        .allowed = fmt::format("at most {} bytes", limits.max_bytes)});
  nodes_.emplace_back();  // nobody's child, so that 0 means none
  root_ = Parser(*this, add_source(std::move(text), std::move(name), true)).parse_all();
}

std::uint32_t JsonDocument::add_source(std::string text, std::string name, bool has_lines) {
  sources_.push_back({std::move(text), std::move(name), has_lines});
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

JsonValue JsonDocument::add_value(std::string text, std::string name) {
  if (text.size() > limits_.max_bytes) throw Error(Problem{.file = std::move(name), .what = "is too long"});
  const std::size_t nodes = nodes_.size();
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  const bool looks_like_json = first < text.size() && std::strchr("{[\"", text[first]) != nullptr;
  const std::uint32_t source = add_source(text, name, false);
  try {
    return {this, Parser(*this, source).parse_all()};
  } catch (const Error& error) {
    // A list or object that is broken deserves its own message, and so does a number that is refused; any
    // other word is a text.
    nodes_.resize(nodes);
    const std::string bare = text.substr(std::min(text.size(), text.find_first_not_of("+-")));
    const bool numeric = !bare.empty() && std::isdigit(static_cast<unsigned char>(bare[0])) != 0;
    const bool several = text.find(',') != text.npos;
    if (numeric && several) {
      sources_[source].text = "[" + text + "]";
      return {this, Parser(*this, source).parse_all()};
    }
    std::string lower = bare;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (looks_like_json || lower == "nan" || lower == "inf" || lower == "infinity") throw;
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

std::string shortened(std::string_view s, std::size_t longest) {
  if (s.size() <= longest) return std::string(s);
  std::size_t at = longest - 3;
  while (at > 0 && (static_cast<unsigned char>(s[at]) & 0xc0) == 0x80) --at;
  return std::string(s.substr(0, at)) + "...";
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out.append(1, '\\').append(1, c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string number_text(double number) {
  std::string text = fmt::format("{}", number);
  const std::size_t e = text.find('e');
  if (e == text.npos) {
    const std::size_t zeros = text.size() - 1 - std::min(text.find_last_not_of('0'), text.size() - 1);
    if (zeros < 6 || text.find('.') != text.npos) return text;
    return fmt::format("{}e{}", text.substr(0, text.size() - zeros), zeros);
  }
  std::string exponent = text.substr(e + 1);
  const bool negative = exponent[0] == '-';
  exponent.erase(0, std::min(exponent.find_first_not_of("+-0"), exponent.size() - 1));
  return text.substr(0, e) + (negative ? "e-" : "e") + exponent;
}

void append_canonical(JsonValue value, std::string& out) {
  switch (value.kind()) {
    case JsonKind::null:
      out += "null";
      break;
    case JsonKind::boolean:
      out += value.boolean() ? "true" : "false";
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
