// Stanford PLY. Source: Turk 1994, "The PLY polygon file format".
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "plenum/io/detail/polygon_soup.h"
#include "plenum/io/detail/text_reader.h"
#include "plenum/io/mesh_reader.h"

namespace plenum::inline PLENUM_ABI {
namespace {

using detail::LineReader;
using detail::next_token;
using detail::PolygonSoup;

enum class Encoding { ascii, little, big };
enum class Type { i8, u8, i16, u16, i32, u32, f32, f64 };

constexpr std::size_t size_of(Type type) {
  constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
  return sizes[static_cast<int>(type)];
}
constexpr bool is_integer(Type type) {
  return type < Type::f32;
}

std::optional<Type> type_named(std::string_view name) {
  constexpr std::array<std::string_view, 8> classic = {"char", "uchar", "short", "ushort",
                                                       "int",  "uint",  "float", "double"};
  constexpr std::array<std::string_view, 8> sized = {"int8",  "uint8",  "int16",   "uint16",
                                                     "int32", "uint32", "float32", "float64"};
  for (std::size_t i = 0; i < classic.size(); ++i)
    if (name == classic[i] || name == sized[i]) return static_cast<Type>(i);
  return std::nullopt;
}

struct Property {
  std::string name;
  Type type;
  std::optional<Type> count_type;  // of a list
};

struct Element {
  std::string name;
  std::uint64_t count;
  std::vector<Property> properties;
};

struct PlyHeader {
  Encoding encoding = Encoding::ascii;
  std::vector<Element> elements;
  std::string_view body;
  std::size_t body_offset = 0;
  int lines = 0;
};

constexpr std::size_t most_elements = 256, most_properties = 1024;  // of a header that means well

PlyHeader parse_header(std::string_view bytes, std::string_view name) {
  PlyHeader header;
  LineReader lines(bytes, name);
  std::string_view line;
  bool has_format = false;
  if (!lines.next(line) || next_token(line) != "ply") lines.fail("does not begin with 'ply'");
  while (true) {
    if (!lines.next(line)) lines.fail("is cut off in its header: end_header is missing");
    const std::string_view keyword = next_token(line);
    if (keyword == "end_header") break;
    if (keyword.empty() || keyword == "comment" || keyword == "obj_info") continue;
    if (keyword == "format") {
      const std::string_view format = next_token(line);
      if (format == "ascii")
        header.encoding = Encoding::ascii;
      else if (format == "binary_little_endian")
        header.encoding = Encoding::little;
      else if (format == "binary_big_endian")
        header.encoding = Encoding::big;
      else
        lines.fail("has an unknown format", format, "ascii, binary_little_endian, binary_big_endian");
      if (const std::string_view version = next_token(line); version != "1.0")
        lines.fail("has an unknown version", version, "1.0");
      has_format = true;
    } else if (keyword == "element") {
      const std::string_view element = next_token(line), count = next_token(line);
      std::int64_t number = 0;
      if (!detail::parse_integer(count, number) || number < 0)
        lines.fail("is not a number of elements", count);
      if (header.elements.size() == most_elements) lines.fail("has too many elements");
      header.elements.push_back({std::string(element), static_cast<std::uint64_t>(number), {}});
    } else if (keyword == "property") {
      if (header.elements.empty()) lines.fail("has a property of no element");
      auto& properties = header.elements.back().properties;
      if (properties.size() == most_properties) lines.fail("has too many properties");
      Property property;
      std::string_view type = next_token(line);
      if (type == "list") {
        const std::string_view count_type = next_token(line);
        property.count_type = type_named(count_type);
        if (!property.count_type || !is_integer(*property.count_type))
          lines.fail("is not a type of list sizes", count_type, "char, uchar, short, ushort, int, uint");
        type = next_token(line);
      }
      const auto known = type_named(type);
      if (!known) lines.fail("is not a type", type, "char, uchar, short, ushort, int, uint, float, double");
      property.type = *known;
      property.name = next_token(line);
      properties.push_back(std::move(property));
    } else {
      lines.fail("is not a line of a PLY header", keyword,
                 "format, element, property, comment, obj_info, end_header");
    }
  }
  if (!has_format) lines.fail("has no format line");
  header.body = lines.rest();
  header.body_offset = bytes.size() - header.body.size();
  header.lines = lines.number();
  return header;
}

/// A number of the body. Integers are exact; what is read as a real has passed through a double.
struct Number {
  double real;
  std::int64_t integer;
};

/// Draws numbers from a binary body; the caller has checked that they are there.
class BinaryBody {
 public:
  BinaryBody(const PlyHeader& header, std::string_view name)
      : rest_(header.body),
        offset_(header.body_offset),
        big_(header.encoding == Encoding::big),
        name_(name) {}

  /// Least bytes of an item of a type.
  static std::size_t least_size(Type type) { return size_of(type); }
  std::size_t left() const { return rest_.size(); }

  Number next(Type type, const Element& element, std::uint64_t item) {
    const std::size_t size = size_of(type);
    if (rest_.size() < size) fail(element, item, "is cut off");
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < size; ++i)
      bits = bits << 8 | static_cast<unsigned char>(rest_[big_ ? i : size - 1 - i]);
    rest_.remove_prefix(size);
    offset_ += size;
    const auto integer = [](std::int64_t value) { return Number{double(value), value}; };
    switch (type) {
      case Type::i8:
        return integer(static_cast<std::int8_t>(bits));
      case Type::i16:
        return integer(static_cast<std::int16_t>(bits));
      case Type::i32:
        return integer(static_cast<std::int32_t>(bits));
      case Type::u8:
      case Type::u16:
      case Type::u32:
        return integer(static_cast<std::int64_t>(bits));
      case Type::f32:
        return {std::bit_cast<float>(static_cast<std::uint32_t>(bits)), 0};
      case Type::f64:
        return {std::bit_cast<double>(bits), 0};
    }
    return {};
  }
  void skip(Type type, std::size_t count, const Element&, std::uint64_t) {
    rest_.remove_prefix(count * size_of(type));
    offset_ += count * size_of(type);
  }
  [[noreturn]] void fail(const Element& element, std::uint64_t item, const std::string& what,
                         std::string value = {}, std::string allowed = {}) const {
    throw Error(
        Problem{.file = std::string(name_),
                .what = fmt::format("{} {} (byte {}) {}", detail::shown(element.name), item, offset_, what),
                .value = std::move(value),
                .allowed = std::move(allowed)});
  }

 private:
  std::string_view rest_;
  std::size_t offset_;
  bool big_;
  std::string_view name_;
};

/// Draws numbers from an ASCII body, wherever its lines end.
class TextBody {
 public:
  TextBody(const PlyHeader& header, std::string_view name)
      : rest_(header.body), line_(header.lines + 1), name_(name) {}

  static std::size_t least_size(Type) { return 2; }      // a digit and a blank
  std::size_t left() const { return rest_.size() + 1; }  // the last blank may be missing

  Number next(Type type, const Element& element, std::uint64_t item) {
    const std::string_view token = next_word();
    if (token.empty()) fail(element, item, "is cut off");
    Number number{};
    if (is_integer(type)) {
      if (!detail::parse_integer(token, number.integer))
        fail(element, item, "has a value that is not an integer", detail::shown(token));
      number.real = double(number.integer);
    } else {
      Real value;
      if (!detail::parse_real(token, value))
        fail(element, item, "has a value that is not a number", detail::shown(token), detail::finite_range());
      number.real = value;
    }
    return number;
  }
  void skip(Type type, std::size_t count, const Element& element, std::uint64_t item) {
    for (std::size_t i = 0; i < count; ++i) next(type, element, item);
  }
  [[noreturn]] void fail(const Element& element, std::uint64_t item, const std::string& what,
                         std::string value = {}, std::string allowed = {}) const {
    throw Error(Problem{.file = std::string(name_),
                        .line = line_,
                        .what = fmt::format("{} {} {}", detail::shown(element.name), item, what),
                        .value = std::move(value),
                        .allowed = std::move(allowed)});
  }

 private:
  std::string_view next_word() {
    std::size_t begin = 0;
    for (; begin < rest_.size(); ++begin) {
      const char c = rest_[begin];
      if (c == '\n' || (c == '\r' && (begin + 1 == rest_.size() || rest_[begin + 1] != '\n')))
        ++line_;
      else if (!detail::is_blank(c) && c != '\r')
        break;
    }
    std::size_t end = begin;
    while (end < rest_.size() && !detail::is_blank(rest_[end]) && rest_[end] != '\n' && rest_[end] != '\r')
      ++end;
    const std::string_view word = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return word;
  }

  std::string_view rest_;
  int line_;
  std::string_view name_;
};

/// Reads the items of one element; vertices and faces go to the soup, all else is passed over.
template <class Body>
void read_element(Body& body, const Element& element, PolygonSoup& soup) {
  if (element.properties.empty()) return;
  std::size_t least = 0;
  for (const Property& property : element.properties)
    least += Body::least_size(property.count_type ? *property.count_type : property.type);
  if (element.count > body.left() / least)
    body.fail(element, 0, "of this many cannot be there: the file is cut off or its header is wrong",
              fmt::format("{}", element.count), fmt::format("at most {}", body.left() / least));
  const bool is_vertex = element.name == "vertex", is_face = element.name == "face";
  std::array<std::size_t, 3> axis{};
  std::size_t corners = element.properties.size();
  if (is_vertex) {
    for (int k = 0; k < 3; ++k) {
      const auto at = std::find_if(
          element.properties.begin(), element.properties.end(),
          [&](const Property& p) { return !p.count_type && p.name.size() == 1 && p.name[0] == "xyz"[k]; });
      if (at == element.properties.end()) body.fail(element, 0, fmt::format("has no property {}", "xyz"[k]));
      axis[k] = static_cast<std::size_t>(at - element.properties.begin());
    }
    if (element.count > detail::most_items) body.fail(element, 0, "are too many");
    soup.x.reserve(element.count);
  }
  if (is_face) {
    for (std::size_t i = 0; i < element.properties.size(); ++i) {
      const Property& p = element.properties[i];
      if (!p.count_type || (p.name != "vertex_indices" && p.name != "vertex_index")) continue;
      if (!is_integer(p.type)) body.fail(element, 0, "has vertex numbers that are not integers");
      corners = i;
    }
    if (corners == element.properties.size() && element.count > 0)
      body.fail(element, 0, "has no list vertex_indices");
    soup.reserve(element.count, 3 * std::min<std::size_t>(element.count, body.left() / 3));
  }
  std::vector<double> values(element.properties.size());
  for (std::uint64_t item = 0; item < element.count; ++item) {
    for (std::size_t i = 0; i < element.properties.size(); ++i) {
      const Property& property = element.properties[i];
      if (!property.count_type) {
        values[i] = body.next(property.type, element, item).real;
        continue;
      }
      const std::int64_t size = body.next(*property.count_type, element, item).integer;
      if (size < 0) body.fail(element, item, "has a list of negative size", fmt::format("{}", size));
      if (std::uint64_t(size) > body.left() / Body::least_size(property.type))
        body.fail(element, item, "has a list longer than the rest of the file", fmt::format("{}", size),
                  fmt::format("at most {}", body.left() / Body::least_size(property.type)));
      if (i != corners) {
        body.skip(property.type, std::size_t(size), element, item);
        continue;
      }
      if (size < 3) body.fail(element, item, "has fewer than three corners", fmt::format("{}", size));
      for (std::int64_t c = 0; c < size; ++c) {
        const std::int64_t vertex = body.next(property.type, element, item).integer;
        if (vertex < 0) body.fail(element, item, "names a negative vertex", fmt::format("{}", vertex));
        soup.add_corner(vertex);
      }
      soup.end_polygon(static_cast<int>(std::min<std::uint64_t>(item, detail::most_items)));
    }
    if (is_vertex) {
      Vec3 p;
      for (int k = 0; k < 3; ++k) {
        const double value = values[axis[k]];
        if (!(std::abs(value) <= double(std::numeric_limits<Real>::max())))
          body.fail(element, item, "has a coordinate that is out of range", fmt::format("{}", value),
                    detail::finite_range());
        p[k] = static_cast<Real>(value);
      }
      soup.x.push_back(p);
    }
  }
}

}  // namespace

TriangleMesh parse_ply(std::string_view bytes, std::string_view name) {
  const PlyHeader header = parse_header(bytes, name);
  PolygonSoup soup;
  const auto read = [&](auto&& body) {
    for (const Element& element : header.elements) read_element(body, element, soup);
  };
  if (header.encoding == Encoding::ascii)
    read(TextBody(header, name));
  else
    read(BinaryBody(header, name));
  return soup.to_mesh(name, 0, false);
}

}  // namespace plenum::inline PLENUM_ABI
