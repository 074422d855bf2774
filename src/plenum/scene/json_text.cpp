#include "plenum/scene/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace plenum::inline PLENUM_ABI {
namespace {

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

}  // namespace

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

int hex4(std::string_view s, std::size_t at) {
  if (at + 4 > s.size()) return -1;
  int value = 0;
  const auto [end, error] = std::from_chars(s.data() + at, s.data() + at + 4, value, 16);
  return error == std::errc() && end == s.data() + at + 4 && s[at] != '-' ? value : -1;
}

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
  const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  if (value == 0 && mantissa.find_first_of("123456789") != mantissa.npos) return {};
  return value;
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

std::string shown_key(std::string_view key) {
  const bool plain = !key.empty() && key.size() <= 60 && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  return plain ? std::string(key) : json_text(shortened(key));
}

}  // namespace plenum::inline PLENUM_ABI
