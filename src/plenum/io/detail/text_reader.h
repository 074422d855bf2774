#pragma once
// Lines, tokens and numbers of a text file.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "plenum/base/error.h"
#include "plenum/base/real.h"

namespace plenum::inline PLENUM_ABI::detail {

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/// A token for a message: cut, with what is not printable replaced.
inline std::string shown(std::string_view token) {
  constexpr std::size_t most = 40;
  std::string result;
  for (const char c : token.substr(0, most)) result += c >= 32 && c < 127 ? c : '?';
  if (token.size() > most) result += "...";
  return result;
}

/// Removes the next token from the front of a line; empty at its end.
inline std::string_view next_token(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && is_blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !is_blank(line[end])) ++end;
  const std::string_view token = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return token;
}

/// A finite number of any size that Real can hold; numbers too small become zero. False if it is not one.
inline bool parse_real(std::string_view token, Real& value) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-') token.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (end != token.data() + token.size() || token.empty()) return false;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small for a double: the exponent, or leading zeros, tell.
    const std::size_t exponent = token.find_first_of("eE");
    const std::size_t digit = token.find_first_of("123456789");
    const bool small = exponent != std::string_view::npos
                           ? token.substr(exponent + 1, 1) == "-"
                           : token.substr(0, digit).find('.') != std::string_view::npos;
    if (!small) return false;
    number = 0;
  } else if (error != std::errc()) {
    return false;
  }
  if (!(std::abs(number) <= double(std::numeric_limits<Real>::max()))) return false;
  value = static_cast<Real>(number);
  return true;
}

inline bool parse_integer(std::string_view token, std::int64_t& value) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-') token.remove_prefix(1);
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return !token.empty() && error == std::errc() && end == token.data() + token.size();
}

/// Walks through the lines of a text: LF, CRLF or CR ends them, a byte order mark is skipped.
class LineReader {
 public:
  LineReader(std::string_view bytes, std::string_view name) : rest_(bytes), name_(name) {
    if (rest_.substr(0, 3) == "\xEF\xBB\xBF") rest_.remove_prefix(3);
  }
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    std::size_t end = rest_.find_first_of("\r\n");
    ++number_;
    if (end == std::string_view::npos) {
      line = rest_;
      rest_ = {};
      return true;
    }
    line = rest_.substr(0, end);
    if (rest_[end] == '\r' && end + 1 < rest_.size() && rest_[end + 1] == '\n') ++end;
    rest_.remove_prefix(end + 1);
    return true;
  }
  int number() const { return number_; }
  std::string_view rest() const { return rest_; }
  [[noreturn]] void fail(std::string what, std::string_view token = {}, std::string allowed = {}) const {
    throw Error(Problem{.file = std::string(name_),
                        .line = number_,
                        .what = std::move(what),
                        .value = shown(token),
                        .allowed = std::move(allowed)});
  }

 private:
  std::string_view rest_, name_;
  int number_ = 0;
};

/// The range of numbers Real holds, for messages.
inline std::string finite_range() {
  return fmt::format("finite, up to {:.3g} in size", std::numeric_limits<Real>::max());
}

}  // namespace plenum::inline PLENUM_ABI::detail
