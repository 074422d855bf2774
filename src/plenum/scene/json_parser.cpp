// The parser of JSON with comments, by recursive descent of bounded depth.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "plenum/scene/json.h"

namespace plenum::inline PLENUM_ABI {

class JsonDocument::Parser {
 public:
  Parser(JsonDocument& document, std::uint32_t source, std::string_view key)
      : doc_(document), source_(source), text_(document.sources_[source].text), root_key_(key) {}

  /// The whole text as one value.
  std::uint32_t parse_all() {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") at_ = 3;
    skip();
    if (at_ == text_.size()) fail("is empty", at_);
    const std::uint32_t root = value(0);
    skip();
    if (at_ != text_.size()) fail_at_character("has more text after its end");
    return root;
  }

 private:
  /// A step from a container to what it holds.
  struct Step {
    bool is_key = false, escaped = false;
    std::size_t begin = 0, end = 0;  ///< of the key in the text, without quotes
    std::size_t index = 0;           ///< in a list
  };

  std::string key_of(const Step& step) const {
    return decoded(text_.substr(step.begin, step.end - step.begin), step.escaped);
  }

  /// Where the parser stands: systems[0].params.stiffness. Of many steps the first and the last few.
  std::string path() const {
    constexpr std::size_t first = 8, last = 4;
    std::string path(root_key_);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_.size() > first + last && i == first) {
        path += "...";
        i = steps_.size() - last;
      }
      if (steps_[i].is_key)
        path.append(path.empty() ? "" : ".").append(shown_key(key_of(steps_[i])));
      else
        path += fmt::format("[{}]", steps_[i].index);
    }
    return path;
  }

  int line_of(std::size_t offset) const {
    return 1 + static_cast<int>(
                   std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
  }

  /// The text from an offset to the end of its line, shortened.
  std::string rest_of_line(std::size_t offset) const {
    std::size_t end = offset;
    while (end < text_.size() && end < offset + 40 && static_cast<unsigned char>(text_[end]) >= 0x20) {
      const std::size_t length = utf8_length(text_, end);
      if (length == 0) break;
      end += length;
    }
    return shortened(text_.substr(offset, end - offset), 30);
  }

  [[noreturn]] void fail(std::string what, std::size_t offset, std::string written = {},
                         std::string remedy = {}) const {
    const Source& source = doc_.sources_[source_];
    Problem problem{.file = source.name,
                    .key = path(),
                    .what = std::move(what),
                    .value = std::move(written),
                    .remedy = std::move(remedy)};
    if (source.has_lines) {
      problem.line = line_of(offset);
      const std::size_t line_begin = offset == 0 ? text_.npos : text_.rfind('\n', offset - 1);
      problem.what +=
          fmt::format(" at column {}", line_begin == text_.npos ? offset + 1 : offset - line_begin);
    }
    throw Error(std::move(problem));
  }

  /// Refuses the character that comes next.
  [[noreturn]] void fail_at_character(std::string what) const {
    check_utf8(at_);
    fail(std::move(what), at_, one(at_));
  }

  /// The character at an offset, for messages.
  std::string one(std::size_t offset) const {
    if (offset >= text_.size()) return "the end of the text";
    const auto c = static_cast<unsigned char>(text_[offset]);
    if (c < 0x20 || c == 0x7f) return fmt::format("the character with code {}", c);
    return fmt::format("'{}'", text_.substr(offset, std::max<std::size_t>(1, utf8_length(text_, offset))));
  }

  /// Length of the character at an offset, or 1 at the end; refuses what is not UTF-8.
  std::size_t check_utf8(std::size_t offset) const {
    if (offset >= text_.size()) return 1;
    const std::size_t length = utf8_length(text_, offset);
    if (length == 0)
      fail("is not UTF-8 text", offset,
           fmt::format("byte 0x{:02x}", static_cast<unsigned char>(text_[offset])));
    return length;
  }

  /// Steps over spaces and comments.
  void skip() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      if (at_ + 1 >= text_.size() || text_[at_] != '/') return;
      const std::size_t begin = at_;
      std::size_t end = 0;
      if (text_[at_ + 1] == '/') {
        end = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_ + 1] == '*') {
        end = text_.find("*/", at_ + 2);
        if (end == text_.npos) fail("has a comment without an end", begin, rest_of_line(begin));
        end += 2;
      } else {
        return;
      }
      while (at_ < end) at_ += check_utf8(at_);
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
      const JsonKind kind = number();  // moves at_
      return add(kind, begin, at_);
    }
    std::size_t end = begin;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      ++end;
    const std::string_view word = text_.substr(begin, end - begin);
    at_ = end;
    if (word == "true" || word == "false") return add(JsonKind::boolean, begin, end);
    if (word == "null") return add(JsonKind::null, begin, end);
    at_ = begin;
    if (const std::size_t length = not_finite(begin)) {
      at_ += length;
      return add(JsonKind::beyond, begin, at_);
    }
    if (c == '\'') fail("has a text in single quotes; JSON wants double ones", begin, rest_of_line(begin));
    if (word.empty()) fail_at_character("has something where a value belongs");
    fail("has a word where a value belongs; texts stand in double quotes", begin, shortened(word));
  }

  /// Length of a word for what is not a finite number (NaN, -Infinity, +inf), or 0. JSON has no such words,
  /// but programs write them; they are read so that their reader can say where they stand and what is
  /// allowed.
  std::size_t not_finite(std::size_t begin) const {
    std::string word;
    std::size_t end = begin;
    if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
    const std::size_t sign = end - begin;
    for (; end < text_.size() && end < begin + 12; ++end) {
      const auto c = static_cast<unsigned char>(text_[end]);
      if (!std::isalnum(c) && c != '_') break;
      word += static_cast<char>(std::tolower(c));
    }
    return word == "nan" || word == "inf" || word == "infinity" ? sign + word.size() : 0;
  }

  void digits(std::size_t begin) {
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ == first) {
      check_utf8(at_);
      fail("has a malformed number", begin, rest_of_line(begin));
    }
  }

  /// Steps over a number; its kind.
  JsonKind number() {
    const std::size_t begin = at_;
    if (const std::size_t length = not_finite(begin)) {
      at_ += length;
      return JsonKind::beyond;
    }
    take('-');
    if (!take('0'))
      digits(begin);
    else if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
      fail("has a number with a leading zero", begin, rest_of_line(begin));
    if (take('.')) digits(begin);
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits(begin);
    }
    return parsed_number(text_.substr(begin, at_ - begin)) ? JsonKind::number : JsonKind::beyond;
  }

  /// Steps over a string; whether it holds escapes.
  bool string() {
    const std::size_t begin = at_++;
    bool escaped = false;
    const auto fail_open = [&] { fail("has a text without a closing quote", begin, rest_of_line(begin)); };
    while (true) {
      if (at_ >= text_.size()) fail_open();
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c == '\n') fail_open();
      if (c < 0x20) fail("has a control character in a text", at_, one(at_));
      if (c != '\\') {
        at_ += check_utf8(at_);
        continue;
      }
      escaped = true;
      ++at_;
      if (at_ >= text_.size()) fail_open();
      if (text_[at_] == 'u') {
        unicode();
      } else if (std::strchr("\"\\/bfnrt", text_[at_]) == nullptr || text_[at_] == 0) {
        fail("has an unknown escape in a text", at_ - 1,
             fmt::format("\\{}", text_.substr(at_, check_utf8(at_))));
      }
      ++at_;
    }
    ++at_;
    return escaped;
  }

  /// \uXXXX, a pair of them for characters beyond U+FFFF; leaves at_ at the last digit.
  void unicode() {
    const std::size_t begin = at_ - 1;
    const int high = hex4(text_, at_ + 1);
    if (high < 0) fail("has a malformed \\u escape", begin, escape_at(begin));
    at_ += 4;
    if (high >= 0xdc00 && high < 0xe000) fail("has half of a surrogate pair", begin, escape_at(begin));
    if (high < 0xd800 || high >= 0xe000) return;
    const int low = text_.substr(at_ + 1, 2) == "\\u" ? hex4(text_, at_ + 3) : -1;
    if (low < 0xdc00 || low >= 0xe000) fail("has half of a surrogate pair", begin, escape_at(begin));
    at_ += 6;
  }

  /// An escape of up to six characters as it stands, for messages.
  std::string escape_at(std::size_t begin) const {
    std::size_t end = begin;
    while (end < text_.size() && end < begin + 6 && text_[end] != '"' && text_[end] >= 0x20) ++end;
    return std::string(text_.substr(begin, end - begin));
  }

  void check_depth(int depth) const {
    if (depth > doc_.limits_.max_depth)
      fail(fmt::format("is nested deeper than {} levels", doc_.limits_.max_depth), at_, rest_of_line(at_));
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
        fail(fmt::format("has a comma before the closing '{}'", close), comma, {}, "remove the comma");
      return true;
    }
    if (take(close)) return false;
    if (at_ >= text_.size())
      fail(fmt::format("has {} without an end", container), begin, rest_of_line(begin));
    fail_at_character(fmt::format("lacks a ',' or '{}'", close));
  }

  std::uint32_t array(int depth) {
    check_depth(depth);
    const std::size_t begin = at_++;
    const std::uint32_t self = add(JsonKind::array, begin, begin + 1);
    std::uint32_t last = 0;
    skip();
    if (take(']')) return self;
    do {
      steps_.push_back({.index = doc_.nodes_[self].count});
      link(self, last, value(depth));
      steps_.pop_back();
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
      if (at_ >= text_.size()) fail("has an object without an end", begin, rest_of_line(begin));
      if (text_[at_] != '"') fail_at_character("has something where a key in double quotes belongs");
      const bool escaped = string();
      const std::size_t key_end = at_;
      steps_.push_back({.is_key = true, .escaped = escaped, .begin = key_begin + 1, .end = key_end - 1});
      skip();
      if (!take(':')) fail_at_character("lacks a ':' after its key");
      skip();
      const std::uint32_t child = value(depth);
      steps_.pop_back();
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

  void refuse_duplicates(std::uint32_t object) {
    struct Member {
      std::string_view key;
      std::uint32_t node, begin;
    };
    std::deque<std::string> decoded_keys;  // only those with escapes are copied
    std::vector<Member> members;
    members.reserve(doc_.nodes_[object].count);
    for (std::uint32_t n = doc_.nodes_[object].first; n != 0; n = doc_.nodes_[n].next) {
      const Node& node = doc_.nodes_[n];
      std::string_view key = text_.substr(node.key_begin, node.key_end - node.key_begin);
      if (node.key_escaped) key = decoded_keys.emplace_back(decoded(key, true));
      members.push_back({key, n, node.key_begin});
    }
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return a.key != b.key ? a.key < b.key : a.begin < b.begin;
    });
    for (std::size_t i = 1; i < members.size(); ++i) {
      if (members[i].key != members[i - 1].key) continue;
      const Node& second = doc_.nodes_[members[i].node];
      steps_.push_back(
          {.is_key = true, .escaped = second.key_escaped, .begin = second.key_begin, .end = second.key_end});
      fail("is a key given twice in one object", members[i].begin - 1,
           JsonValue(&doc_, members[i].node).written(),
           doc_.sources_[source_].has_lines
               ? fmt::format("remove it or the one in line {}", line_of(members[i - 1].begin))
               : "remove one of the two");
    }
  }

  JsonDocument& doc_;
  std::uint32_t source_;
  std::string_view text_;
  std::string_view root_key_;  ///< path of the whole value
  std::vector<Step> steps_;    ///< from the root to the value being read
  std::size_t at_ = 0;
};

std::uint32_t JsonDocument::parse(std::uint32_t source, std::string_view key) {
  return Parser(*this, source, key).parse_all();
}

}  // namespace plenum::inline PLENUM_ABI
