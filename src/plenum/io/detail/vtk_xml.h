#pragma once
// What VTK's XML files have in common: a tree of elements, and behind it the arrays in base64, each with its
// length in bytes before it. Source: "VTK file formats", VTK user's guide; kitware.github.io/vtk-examples.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plenum/state/field.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

/// Base64 of RFC 4648 over a stream of pieces.
class Base64 {
 public:
  explicit Base64(std::string& out) : out_(out) {}
  void add(const void* data, std::size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) {
      bits_ = bits_ << 8 | p[i];
      if (++count_ == 3) flush();
    }
  }
  void finish() {
    if (count_ == 0) return;
    const int missing = 3 - count_;
    bits_ <<= 8 * missing;
    flush();
    std::fill(out_.end() - missing, out_.end(), '=');
  }

 private:
  void flush() {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int shift = 18; shift >= 0; shift -= 6) out_ += digits[bits_ >> shift & 63];
    bits_ = 0;
    count_ = 0;
  }
  std::string& out_;
  std::uint32_t bits_ = 0;
  int count_ = 0;
};

inline const char* vtk_type(ScalarType type) {
  constexpr const char* names[] = {"Float32", "Float64", "Int32", "Int64", "UInt8", "UInt32", "UInt64"};
  return names[static_cast<int>(type)];
}

inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < ' ' ? '_' : c;
  }
  return result;
}

/// Gathers the XML of a file of VTK and, behind it, the appended arrays.
class VtkXml {
 public:
  void text(std::string_view s) { xml_ += s; }

  void array(std::string_view name, ScalarType type, int components, const void* data, std::size_t count) {
    xml_ += fmt::format(
        "        <DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" format=\"appended\" "
        "offset=\"{}\"/>\n",
        vtk_type(type), escaped(name), components, appended_.size());
    const std::uint64_t bytes = count * std::uint64_t(components) * size_of(type);
    Base64 encoder(appended_);
    encoder.add(&bytes, sizeof bytes);
    encoder.add(data, bytes);
    encoder.finish();
  }
  template <class T>
  void array(std::string_view name, const std::vector<T>& values) {
    array(name, scalar_type_of<T>(), 1, values.data(), values.size());
  }

  std::string finish() {
    xml_ += "  <AppendedData encoding=\"base64\">\n_";
    xml_ += appended_;
    xml_ += "\n  </AppendedData>\n</VTKFile>\n";
    return std::move(xml_);
  }

 private:
  std::string xml_, appended_;
};

inline const char* byte_order() {
  return std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian";
}

}}  // namespace plenum::PLENUM_ABI::detail
