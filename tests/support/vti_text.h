#pragma once
// VTI files taken apart, by a decoder of their own.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace plenum {

inline std::string value_of(const std::string& xml, const std::string& element,
                            const std::string& attribute) {
  const std::size_t at = xml.find("<" + element + " "), key = xml.find(" " + attribute + "=\"", at);
  const std::size_t begin = key + attribute.size() + 3;
  return xml.substr(begin, xml.find('"', begin) - begin);
}

/// RFC 4648, from the text up to the first character that is no digit.
inline std::string from_base64(const std::string& text, std::size_t at) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (; at < text.size(); ++at) {
    const std::size_t digit = digits.find(text[at]);
    if (digit == std::string::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) count -= 8, bytes += static_cast<char>(bits >> count & 255);
  }
  return bytes;
}

template <class T>
std::vector<T> array_of(const std::string& xml, const std::string& name) {
  const std::size_t tag = xml.find("Name=\"" + name + "\""), key = xml.find("offset=\"", tag) + 8;
  const std::size_t offset = std::stoul(xml.substr(key));
  const std::size_t appended = xml.find("<AppendedData encoding=\"base64\">");
  const std::string bytes = from_base64(xml, xml.find('_', appended) + 1 + offset);
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), 8);
  // What follows belongs to the next array, if the padding did not end it.
  EXPECT_GE(bytes.size(), 8 + size);
  std::vector<T> values(size / sizeof(T));
  std::memcpy(values.data(), bytes.data() + 8, size);
  return values;
}

}  // namespace plenum
